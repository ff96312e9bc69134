/* compute/likelihood/dirichlet_exact.h -- several classes as regressions under the exact
 * kernel: those of dirichlet.h without random features (share/doc/methods.md 17.15).
 *
 * With the kernel matrix K (n x n, at amplitude 1), amplitude beta of a class, and its known noise
 * variances D = diag(v_own in rows of the class, v_off in all others):
 *   A = K + D / beta^2 = L L',  mean + k'w,  w = A^-1 (y - mean),
 *   variance of the function  beta^2 (k(x, x) - |L^-1 k|^2).
 * A class takes a Cholesky factor, n^3 / 3 operations, and as much memory as K. */
#ifndef GPDESK_DIRICHLET_EXACT_H
#define GPDESK_DIRICHLET_EXACT_H

#include "compute/kernels/kernel.h"
#include "compute/likelihood/dirichlet.h"

/* What the regressions of all classes share; all is borrowed.  K: its lower triangle. */
struct dirichlet_exact {
    size_t n, classes;
    const double *K, *labels;
    double alpha;
    const double *weight; /* of the rows of each class, as in struct dirichlet_rows; NULL: 1 */
    struct pool *pool;
    const struct ctl *ctl;
};
/* The mean of the targets of class c, which is added to the predictions. */
double dirichlet_exact_mean(const struct dirichlet_exact *, size_t c);
/* Class c at an amplitude: its factor L (n x n, lower triangle), weights w (n) and negative log
 * marginal likelihood in nats, with all constants.  NOT_PD when rounding is larger than D. */
enum status dirichlet_exact_at(const struct dirichlet_exact *, size_t c, double amplitude,
                               double *L, double *w, double *value, struct err *);
/* The likeliest amplitude within bounds, near the one passed in; L and w are work space. */
enum status dirichlet_exact_best(const struct dirichlet_exact *, size_t c, const double within[2],
                                 double *L, double *w, double *amplitude, struct err *);

/* The sum over all classes as dirichlet_nmll gives it, at the hyperparameters of nmll_ask. */
enum status dirichlet_exact_nmll(const struct kernel *, const struct source *,
                                 const struct dirichlet_exact *, const struct nmll_ask *,
                                 const struct nmll_told *, struct err *);

#endif
