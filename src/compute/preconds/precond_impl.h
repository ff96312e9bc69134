/* compute/preconds/precond_impl.h -- what a preconditioner is made of: for precond.c and preconds/
 * only. */
#ifndef GPDESK_PRECOND_IMPL_H
#define GPDESK_PRECOND_IMPL_H

#include "compute/preconds/precond.h"

#include "base/mem.h"

/* P = diag(d) + lam2 I where diag is given, the Nystrom form of share/doc/methods.md 8.5 where U
 * is, that of ops->own where the row has one, else I. */
struct precond {
    const struct precond_ops *ops;
    size_t M, L;
    double lam2;
    double *diag; /* M */
    double *U;    /* M x L, orthonormal columns */
    double *ev;   /* L, descending, >= 0 */
    struct whole *whole; /* gram.c: a factor of all of A; NULL */
    struct mem_spares *spares; /* of L x k, for as many applications at a time as there are */
};

struct precond *precond_new(const struct precond_ops *ops, size_t M, struct err *err);
/* The operations of a preconditioner that has a form of its own. */
struct precond_own {
    void (*free)(struct precond *); /* frees that form, not the struct */
    /* Y := P^-1 Y, or (root) S Y with S S' = P, for k vectors of M. */
    enum status (*apply)(const struct precond *, struct pool *, bool root, size_t k, double *Y,
                         struct err *);
    double (*logdet)(const struct precond *);
    bool (*there)(const struct precond *); /* a device has its factor for the present lam2 */
};
enum status precond_check_rank(size_t L, size_t M, struct err *err);
/* Gives p (of precond_new) eigenvalues and vectors of B B', B M x L, used up. */
enum status precond_from_root(struct precond *p, struct pool *, size_t L, double *B, struct err *);

#endif
