/* compute/nmll.h -- negative log marginal likelihood (methods.md B).
 *
 * Everywhere: y scaled, natural log, all constants included.  The model is y ~ N(0, beta^2 (K1 +
 * ratio I)), ratio = noise^2 / amplitude^2. */
#ifndef GPDESK_NMLL_H
#define GPDESK_NMLL_H

#include "compute/fop.h"

/* The spectrum at one kernel setting: after it, every amplitude and noise costs O(M). */
struct nmll_eig {
    size_t n, M;     /* rows, columns */
    double yty;
    double *d, *e;   /* tridiagonal form of Z'Z, or (e == NULL) its eigenvalues, clipped at 0 */
    double *g;       /* Q' Z'y */
};
/* want_eigen: diagonalise fully (for display), else tridiagonal only. */
enum status nmll_eig_build(struct fop *, const double *y, bool want_eigen, const struct ctl *,
                           struct nmll_eig *out, struct err *);
void nmll_eig_free(struct nmll_eig *);
/* NMLL at given amplitude and noise (standard deviations). */
double nmll_eig_at(const struct nmll_eig *, double amplitude, double noise);
/* Best amplitude in closed form at a noise ratio (methods.md B.3). */
double nmll_eig_profile(const struct nmll_eig *, double ratio, double *amplitude);
/* Best (amplitude, noise) within bounds by a one-dimensional search over the ratio. */
double nmll_eig_best(const struct nmll_eig *, const double amp_bounds[2],
                     const double noise_bounds[2], double *amplitude, double *noise);
/* sum ev/(ev + ratio): effective dimension. */
double nmll_eig_effdim(const struct nmll_eig *, double ratio);

/* NMLL and its gradient in log hp[0..nhp), log amplitude, log noise (nhp + 2 entries; NULL: value
 * only) in feature space by one Cholesky. NOT_PD when the Gram is indefinite. */
enum status nmll_features(struct fop *, const double *y, const double *hp, size_t nhp,
                          double amplitude, double noise, double *value, double *grad,
                          const struct ctl *, struct err *);
/* The same for the exact kernel on n rows (n x n memory). */
enum status nmll_exact(const struct kernel *, const struct source *, const double *y,
                       const double *hp, double amplitude, double noise, double *value,
                       double *grad, struct pool *, const struct ctl *, struct err *);

#endif
