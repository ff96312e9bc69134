/* compute/preconds/precond_impl.h -- what a preconditioner is made of: for precond.c and preconds/
 * only. */
#ifndef GPDESK_PRECOND_IMPL_H
#define GPDESK_PRECOND_IMPL_H

#include "compute/preconds/precond.h"

#include "base/mem.h"

/* P = diag(d) + lam2 I where diag is given, the Nystrom form of methods.md C.2 where U is, L L'
 * where `whole` is, else I. */
struct precond {
    const struct precond_ops *ops;
    size_t M, L;
    double lam2;
    double *diag; /* M */
    double *U;    /* M x L, orthonormal columns */
    double *ev;   /* L, descending, >= 0 */
    struct whole *whole; /* preconds/gram.c: a factor of all of A; NULL */
    struct mem_spares *spares; /* of L x k, for as many applications at a time as there are */
};

/* The registry: a row for each, in the order in which help lists them. */
#define PRECOND_ROWS(row) \
    row(precond_none)     \
    row(precond_jacobi)   \
    row(precond_gauss)    \
    row(precond_srht)     \
    row(precond_srht2)    \
    row(precond_pchol)    \
    row(precond_gram)

#define PRECOND_DECLARED(name) extern const struct precond_ops name;
PRECOND_ROWS(PRECOND_DECLARED)
#undef PRECOND_DECLARED

struct precond *precond_new(const struct precond_ops *ops, size_t M, struct err *err);
/* Of `whole`: Y := P^-1 Y or (root) L Y; and whether a device has its factor for the present lam2.
 */
void precond_whole_free(struct whole *);
enum status precond_whole_apply(const struct precond *, struct pool *, bool root, size_t k,
                                double *Y, struct err *);
double precond_whole_logdet(const struct precond *);
bool precond_whole_there(const struct precond *);
enum status precond_check_rank(size_t L, size_t M, struct err *err);
/* Gives p (of precond_new) eigenvalues and vectors of B B', B M x L, used up. */
enum status precond_from_root(struct precond *p, struct pool *, size_t L, double *B, struct err *);

#endif
