/* compute/likelihood/nmll_impl.h -- functions that the files of the likelihood share.  Shapes and
 * units are those of nmll.h; matrices are column-major with their lower triangle. */
#ifndef GPDESK_NMLL_IMPL_H
#define GPDESK_NMLL_IMPL_H

#include "compute/likelihood/nmll.h"

/* One Cholesky factorisation of A1 = G + ratio I (M x M) with t right-hand sides g, and the terms
 * of value and gradient that follow from it. */
struct nmll_chol {
    struct pool *pool;
    size_t M, t;
    double ratio;
    const double *g;
    bool invert; /* A1 is overwritten by its inverse, else by its factor */
    double *w;   /* t x M, allocated by the caller; out: A1^-1 g */
    double logdet, trace;                         /* out: log|A1|, tr A1^-1 (0 without invert) */
    double quad[TARGETS_MOST], wtw[TARGETS_MOST]; /* out: g'w, w'w */
};
/* Factorises A1 (lower triangle, leading dimension M) in place.  NOT_PD when a pivot or an
 * eigenvalue fails the test of nmll_pivot_share (blas_sound). */
enum status nmll_chol(struct nmll_chol *, double *A1, const struct ctl *, struct err *);

/* When G is positive semidefinite every pivot of G + ratio I is at least the ratio (a pivot is a
 * Schur complement, whose smallest eigenvalue is not below that of the matrix).  A pivot below this
 * share of the ratio shows that rounding has made G indefinite by about as much as the noise.  Such
 * a point has no value: near it the terms of the NMLL cancel and leave a spurious optimum. */
static const double nmll_pivot_share = 0.75;

/* Cholesky factors on a device (nmll_factors.c).  nmll_there_new copies G (M x M, lower triangle)
 * and t vectors g to the device; it returns NULL where the tridiagonal form is quicker or memory is
 * short.  nmll_there_moments gives log|G + ratio I|, g'(G + ratio I)^-1 g of each vector and
 * tr (G + ratio I)^-1 (trace NULL: not wanted); it returns false where the ratio has no value or
 * the device failed, and nmll_there_said then tells which: its status is ST_OK in the first
 * case. */
enum { NMLL_FACTORS = 18 }; /* factors that one search takes: 17 were counted from many starts */
struct nmll_there *nmll_there_new(size_t M, const double *G, size_t t, const double *g,
                                  const struct ctl *);
void nmll_there_free(struct nmll_there *);
bool nmll_there_moments(struct nmll_there *, size_t M, size_t t, double ratio, double *logdet,
                        double *quad, double *trace);
enum status nmll_there_said(const struct nmll_there *, struct err *err);
/* The least value of f in [lo, hi], and in *at where it is, with about a dozen evaluations from
 * `start` on (not finite: from the middle).  f should have one minimum, or its best one should lie
 * in the valley of the start or of one of three fixed points of the range. */
double nmll_search_few(double (*f)(void *, double), void *ctx, double lo, double hi, double start,
                       double *at);
/* The same over the logarithm of an amplitude, within bounds and from *amplitude on if that is
 * positive; `at_one` leaves what else it computes in ctx.  NOT_PD, where rounding leaves
 * no factor, counts as infinity; any other status ends the search and is returned. */
enum status nmll_search_amplitude(enum status (*at_one)(void *ctx, double amplitude, double *value,
                                                        struct err *err),
                                  void *ctx, const double within[2], double *amplitude,
                                  struct err *err);

/* The NMLL of one target from c = y' (K1 + ratio I)^-1 y and logdet = log|K1 + ratio I| (n x n):
 * c / (2 beta^2) + logdet / 2 + (n / 2) log(2 pi beta^2) (share/doc/methods.md 6.2). */
double nmll_from_terms(double n, double c, double logdet, double amplitude);
/* The best amplitude of each of t targets at one ratio, and the noise that goes with it. */
void nmll_pick_scale(size_t t, double n, const double *c, double ratio, const struct nmll_bounds *,
                     double *amplitude, double *noise);
/* The part of dNMLL / dlog sqrt(ratio) that comes from the amplitudes.  A free amplitude
 * contributes nothing (the NMLL is stationary in it), nor does one on its own bound (it does not
 * move); one held by a bound of the noise moves as 1 / sqrt(ratio) (share/doc/methods.md 6.14). */
double nmll_moving_scale(size_t t, double n, const double *c, double ratio,
                         const struct nmll_bounds *, const double *amplitude);
/* The NMLL with an amplitude and a noise for each target, all with one ratio. */
double nmll_eig_each(const struct nmll_eig *, const double *amplitude, const double *noise);

/* The Gram matrix Z'Z (M x M), Z'y (t vectors of M) and y'y (t) of an operator at its current
 * hyperparameters.  The caller frees *G and *b, after an error too. */
enum status nmll_gram(struct fop *, size_t t, const double *y, double **G, double **b, double *yty,
                      const struct ctl *, struct err *);
/* The least NMLL within bounds, with its amplitude and noise, into value, amplitude and noise of
 * nmll_told, by factors on a device or by the tridiagonal form, whichever is quicker.  When the
 * device fails, the CPU reduces G, which it destroys.  The caller frees *q. */
enum status nmll_eig_search(struct pool *, const struct nmll_system *, const struct nmll_bounds *,
                            const struct nmll_told *, const struct ctl *, struct nmll_eig *q,
                            struct err *);
/* True when ratios a little below `ratio` are ruled out by rounding and not by the bounds. */
bool nmll_eig_limited(const struct nmll_eig *, double ratio, const struct nmll_bounds *);

/* nmll_features with scale BEST through Z Z', at the operator's current hyperparameters. */
enum status nmll_dual_best(struct fop *, const struct nmll_ask *, const struct nmll_told *,
                           const struct ctl *, struct err *);

#endif
