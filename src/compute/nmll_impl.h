/* compute/nmll_impl.h -- what nmll.c, nmll_dual.c and nmll_loo.c share. */
#ifndef GPDESK_NMLL_IMPL_H
#define GPDESK_NMLL_IMPL_H

#include "compute/nmll.h"

/* What one factorisation of A1 leaves for value and gradient, for t targets. */
struct nmll_chol {
    double logdet, trace;                         /* log|A1|, tr A1^-1 */
    double quad[TARGETS_MOST], wtw[TARGETS_MOST]; /* g'w, w'w */
    double *w;                                    /* t x M */
};
/* A1 (lower, in place) becomes its inverse when `invert`, its factor otherwise; g: t vectors. */
enum status nmll_chol(struct pool *, size_t M, double *A, double ratio, size_t t, const double *g,
                      bool invert, struct nmll_chol *, const struct ctl *, struct err *);

/* From c = y' (K1 + ratio I)^-1 y and the log determinant of K1 + ratio I, of one target. */
double nmll_from_terms(double n, double c, double logdet, double amplitude);
/* The best amplitude when amplitude and noise = s amplitude both have bounds: the objective has one
 * minimum in the amplitude, so clamping is exact. */
double nmll_best_amplitude(double n, double c, double s, const double ab[2], const double nb[2]);
/* That of t targets at one ratio, and the noise with it. */
void nmll_pick_scale(size_t t, double n, const double *c, double ratio, const double ab[2],
                     const double nb[2], double *amplitude, double *noise);
/* What a change of log sqrt(ratio) does to the NMLL through the amplitudes, of which only those move
 * to first order that a bound of the noise holds. */
double nmll_moving_scale(size_t t, double n, const double *c, double ratio, const double ab[2],
                         const double nb[2], const double *amplitude);

/* Whether a feature operator of n rows and M columns is worked on through Z Z' (n x n). */
bool nmll_is_dual(size_t n, size_t M);
enum status nmll_dual_matrix(struct fop *, double *K, const struct ctl *, struct err *);
/* nmll_features_best for an operator as it is set. */
enum status nmll_dual_best(struct fop *, size_t t, const double *y, size_t nhp,
                           const double amp_bounds[2], const double noise_bounds[2], double *value,
                           double *amplitude, double *noise, double *grad, double *effdim,
                           const struct ctl *, struct err *);

#endif
