/* compute/likelihood/nmll_impl.h -- what nmll.c, nmll_dual.c and nmll_loo.c share. */
#ifndef GPDESK_NMLL_IMPL_H
#define GPDESK_NMLL_IMPL_H

#include "compute/likelihood/nmll.h"

/* What one factorisation of A1 leaves for value and gradient, for t targets. */
struct nmll_chol {
    double logdet, trace;                         /* log|A1|, tr A1^-1 */
    double quad[TARGETS_MOST], wtw[TARGETS_MOST]; /* g'w, w'w */
    double *w;                                    /* t x M */
};
/* A1 (lower, in place) becomes its inverse when `invert`, its factor otherwise; g: t vectors. */
enum status nmll_chol(struct pool *, size_t M, double *A, double ratio, size_t t, const double *g,
                      bool invert, struct nmll_chol *, const struct ctl *, struct err *);

/* When G is positive semidefinite every pivot of G + ratio I is at least the ratio.  One that falls
 * short by this share says that rounding has made G indefinite by as much as the noise: such a
 * point has no value, and near it a spurious one that no search must find. */
static const double nmll_pivot_share = 0.75;

/* G (M x M, lower) and t vectors g where factors are made: log|G + ratio I|, g'(G + ratio I)^-1 g
 * and tr (G + ratio I)^-1 (NULL: not wanted) at one ratio after another.  NULL: the tridiagonal
 * form is quicker, or there is no room.  False: no value at this ratio, or nmll_there_said says
 * what failed. */
enum { NMLL_FACTORS = 18 }; /* that a search takes, about: 17 from starts of every kind */
struct nmll_there *nmll_there_new(size_t M, const double *G, size_t t, const double *g,
                                  const struct ctl *);
void nmll_there_free(struct nmll_there *);
bool nmll_there_moments(struct nmll_there *, size_t M, size_t t, double ratio, double *logdet,
                        double *quad, double *trace);
enum status nmll_there_said(const struct nmll_there *, struct err *err);
size_t nmll_there_factors(const struct nmll_there *); /* so far */
/* The least value of f in [lo, hi], from `start` on (not finite: the middle), and where; with some
 * dozen values, for a function with one valley, or whose best one holds the start or a point
 * between. */
double nmll_search_few(double (*f)(void *, double), void *ctx, double lo, double hi, double start,
                       double *at);

/* From c = y' (K1 + ratio I)^-1 y and the log determinant of K1 + ratio I, of one target. */
double nmll_from_terms(double n, double c, double logdet, double amplitude);
/* The best amplitude when amplitude and noise = s amplitude both have bounds: the objective has one
 * minimum in the amplitude, so clamping is exact. */
double nmll_best_amplitude(double n, double c, double s, const double ab[2], const double nb[2]);
/* That of t targets at one ratio, and the noise with it. */
void nmll_pick_scale(size_t t, double n, const double *c, double ratio, const double ab[2],
                     const double nb[2], double *amplitude, double *noise);
/* What a change of log sqrt(ratio) does to the NMLL through the amplitudes, of which only those
 * move to first order that a bound of the noise holds. */
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
