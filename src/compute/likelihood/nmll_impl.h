/* compute/likelihood/nmll_impl.h -- what the files of the likelihood share. */
#ifndef GPDESK_NMLL_IMPL_H
#define GPDESK_NMLL_IMPL_H

#include "compute/likelihood/nmll.h"

/* One factorisation of A1 (M x M) at a ratio, with t vectors g, and what it leaves for value and
 * gradient. */
struct nmll_chol {
    struct pool *pool;
    size_t M, t;
    double ratio;
    const double *g;
    bool invert; /* A1 becomes its inverse, else its factor */
    double *w;   /* t x M, made by the caller; out: A1^-1 g */
    double logdet, trace;                         /* out: log|A1|, tr A1^-1 (with invert) */
    double quad[TARGETS_MOST], wtw[TARGETS_MOST]; /* out: g'w, w'w */
};
/* A1: lower triangle, in place. */
enum status nmll_chol(struct nmll_chol *, double *A1, const struct ctl *, struct err *);

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
/* The least value of f in [lo, hi], from `start` on (not finite: the middle), and where; with some
 * dozen values, for a function with one valley, or whose best one holds the start or a point
 * between. */
double nmll_search_few(double (*f)(void *, double), void *ctx, double lo, double hi, double start,
                       double *at);

/* From c = y' (K1 + ratio I)^-1 y and the log determinant of K1 + ratio I, of one target. */
double nmll_from_terms(double n, double c, double logdet, double amplitude);
/* The best amplitude when amplitude and noise = s amplitude both have bounds: the objective has one
 * minimum in the amplitude, so clamping is exact. */
double nmll_best_amplitude(double n, double c, double s, const struct nmll_bounds *);
/* That of t targets at one ratio, and the noise with it. */
void nmll_pick_scale(size_t t, double n, const double *c, double ratio, const struct nmll_bounds *,
                     double *amplitude, double *noise);
/* What a change of log sqrt(ratio) does to the NMLL through the amplitudes, of which only those
 * move to first order that a bound of the noise holds. */
double nmll_moving_scale(size_t t, double n, const double *c, double ratio,
                         const struct nmll_bounds *, const double *amplitude);
/* The value with an amplitude and a noise for each target. */
double nmll_eig_each(const struct nmll_eig *, const double *amplitude, const double *noise);

/* The Gram, Z'y and y'y of the operator as it is set; G is M x M, b t vectors of M (the caller
 * frees both, also after an error), yty t long. */
enum status nmll_gram(struct fop *, size_t t, const double *y, double **G, double **b, double *yty,
                      const struct ctl *, struct err *);
/* Value, amplitude and noise of `told` at their best by whichever is quicker, a device's factors or
 * the tridiagonal form; what fails on the device the processor does, from G, which it destroys. The
 * caller frees *q. */
enum status nmll_eig_search(struct pool *, const struct nmll_system *, const struct nmll_bounds *,
                            const struct nmll_told *, const struct ctl *, struct nmll_eig *q,
                            struct err *);
/* True when what rounding forbids is near the best ratio. */
bool nmll_eig_limited(const struct nmll_eig *, double ratio, const struct nmll_bounds *);

/* Whether a feature operator of n rows and M columns is worked on through Z Z' (n x n). */
bool nmll_is_dual(size_t n, size_t M);
enum status nmll_dual_matrix(struct fop *, double *K, const struct ctl *, struct err *);
/* nmll_features of scale BEST for an operator as it is set. */
enum status nmll_dual_best(struct fop *, const struct nmll_ask *, const struct nmll_told *,
                           const struct ctl *, struct err *);

#endif
