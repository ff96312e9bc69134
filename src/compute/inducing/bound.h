/* compute/inducing/bound.h -- the marginal likelihood of a Gaussian process whose function is known
 * through its values at m inducing points only (share/doc/methods.md 22; Quinonero-Candela &
 * Rasmussen 2005; Titsias 2009).
 *
 * At amplitude 1, with the row factors S, K1 = S K S and Q1 = K_xz K_zz^-1 K_zx, the targets are
 * y ~ N(0, beta^2 (Q1 + Lambda)), ratio = noise^2 / amplitude^2:
 *   VFE   Lambda = ratio I, and tr(K1 - Q1) / (2 ratio) is added to the NMLL: the result is never
 *         below the NMLL of the full model
 *   FITC  Lambda = diag(K1 - Q1) + ratio I
 *   DTC   Lambda = ratio I
 * All three have the best amplitude in closed form, because the term of the trace depends on the
 * ratio alone.  For VFE and DTC one reduction of an m x m matrix serves all ratios. */
#ifndef GPDESK_BOUND_H
#define GPDESK_BOUND_H

#include "compute/ctl.h"
#include "compute/inducing/columns.h"
#include "compute/likelihood/nmll.h"

enum bound_approx { BOUND_VFE, BOUND_FITC, BOUND_DTC };
extern const char *const bound_approx_words[]; /* "vfe", "fitc", "dtc"; NULL ends */

/* The system at given points.  V (n x m) = S K_xz L^-T with L L' = K_zz + jitter I (lower,
 * leading dimension m), so that Q1 = V V'; missed (n) = diag(K1 - Q1), at least 0, and their sum;
 * G = V'V, b = V'y (t vectors of m) and yty of each target. */
struct bound {
    enum bound_approx approx;
    size_t n, m, t;
    struct pool *pool;
    const double *y; /* t vectors of n, multiplied by the row factors; borrowed */
    double *L, jitter, *V, *missed, trace, *G, *b, yty[TARGETS_MOST];
};
/* The caller sets approx, m, t and y, and frees it (bound_free) when all went well.  Z: m points
 * (m x d).  O(n m^2).  NOT_PD where the kernel is not finite; CANCELLED. */
enum status bound_make(const struct columns_of *, const double *Z, struct bound *,
                       const struct ctl *, struct err *);
void bound_free(struct bound *);
/* L <- the factor of K_zz + jitter I of the rows of `points` (m x m), jitter in units of the mean
 * diagonal the least of 0, 1e-12 + 1e-14 m, a hundred times that, ... with which it exists. */
enum status bound_points(const struct columns_of *points, double *L, double *jitter, struct err *);

/* What follows at one ratio: F (m x m, lower) with F F' = I + V' Lambda^-1 V, u = (F F')^-1
 * V' Lambda^-1 y (t vectors of m), c = y' (Q1 + Lambda)^-1 y of each target, and
 * log|Q1 + Lambda|. */
struct bound_at { double ratio, *F, *u, c[TARGETS_MOST], logdet; };
enum status bound_at(const struct bound *, double ratio, struct bound_at *, struct err *);
void bound_at_free(struct bound_at *);
/* Lambda of row i. */
static inline double bound_lambda(const struct bound *b, double ratio, size_t i)
{
    return b->approx == BOUND_FITC ? ratio + b->missed[i] : ratio;
}
/* The negative logarithm of the likelihood that follows: of VFE a bound of the full model's. */
double bound_value(const struct bound *, const struct bound_at *, const double *amplitude);
/* Where it is least within bounds: value, amplitude, noise and effdim of nmll_told.  NOT_PD where
 * rounding leaves no ratio a value. */
enum status bound_best(const struct bound *, const struct nmll_bounds *, const struct nmll_told *,
                       struct err *);
/* Of each row, left out at fixed points: alpha = (Q1 + Lambda)^-1 y (t vectors of n) and own (n) =
 * the diagonal of (Q1 + Lambda)^-1. */
enum status bound_left_out(const struct bound *, const struct bound_at *, double *alpha,
                           double *own, struct err *);
/* grad (kernel_nhp, then the derivatives in log amplitude and log noise at one target) of
 * bound_value at fixed points, amplitudes and noise. */
enum status bound_slope(const struct columns_of *, const double *Z, const struct bound *,
                        const struct bound_at *, const double *amplitude, double *grad,
                        const struct ctl *, struct err *);

#endif
