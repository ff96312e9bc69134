/* compute/preconds/precond_impl.h -- the parts of a preconditioner, for src/compute/preconds
 * only. */
#ifndef GPDESK_PRECOND_IMPL_H
#define GPDESK_PRECOND_IMPL_H

#include "compute/preconds/precond.h"

#include "base/mem.h"

/* P is diag(d) + lam2 I when diag is set, the Nystrom form of share/doc/methods.md 8.5 when U is
 * set, the form of ops->own when the row has one, and otherwise I. */
struct precond {
    const struct precond_ops *ops;
    size_t M, L;
    double lam2;
    double *diag; /* M */
    double *U;    /* M x L, orthonormal columns */
    double *ev;   /* L, descending, >= 0 */
    struct whole *whole; /* gram.c: a factor of all of A; else NULL */
    struct mem_spares *spares; /* workspace (L x k), one for each application under way */
};

/* P = I with lam2 = 1.  The caller owns it (precond_free); NULL when memory is short. */
struct precond *precond_new(const struct precond_ops *ops, size_t M, struct err *err);
/* The operations of a preconditioner with a form of its own. */
struct precond_own {
    void (*free)(struct precond *); /* frees that form, not the struct */
    /* Y := P^-1 Y, or with root Y := S Y where S S' = P, for k vectors of M. */
    enum status (*apply)(const struct precond *, struct pool *, bool root, size_t k, double *Y,
                         struct err *);
    double (*logdet)(const struct precond *);
    bool (*there)(const struct precond *); /* a device has the factor for the current lam2 */
};
enum status precond_check_rank(size_t L, size_t M, struct err *err);
/* Gives p (from precond_new) the eigenvalues and eigenvectors of B B' (B is M x L, overwritten). */
enum status precond_from_root(struct precond *p, struct pool *, size_t L, double *B, struct err *);

#endif
