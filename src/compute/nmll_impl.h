/* compute/nmll_impl.h -- what nmll.c, nmll_dual.c and nmll_loo.c share. */
#ifndef GPDESK_NMLL_IMPL_H
#define GPDESK_NMLL_IMPL_H

#include "compute/nmll.h"

/* What one factorisation of A1 leaves for value and gradient. */
struct nmll_chol {
    double quad, logdet, wtw, trace; /* g'w, log|A1|, w'w, tr A1^-1 */
    double *w;                       /* M */
};
/* A1 (lower, in place) becomes its inverse when `invert`, its factor otherwise. */
enum status nmll_chol(struct pool *, size_t M, double *A, double ratio, const double *g,
                      bool invert, struct nmll_chol *, const struct ctl *, struct err *);

/* Whether a feature operator of n rows and M columns is worked on through Z Z' (n x n). */
bool nmll_is_dual(size_t n, size_t M);
enum status nmll_dual_matrix(struct fop *, double *K, const struct ctl *, struct err *);
/* nmll_features_best for an operator as it is set. */
enum status nmll_dual_best(struct fop *, const double *y, size_t nhp, const double amp_bounds[2],
                           const double noise_bounds[2], double *value, double *amplitude,
                           double *noise, double *grad, double *effdim, const struct ctl *,
                           struct err *);

#endif
