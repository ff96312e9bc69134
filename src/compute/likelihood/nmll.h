/* compute/likelihood/nmll.h -- negative log marginal likelihood (methods.md B).
 *
 * Everywhere: y scaled, natural log, all constants included.  The model is y ~ N(0, beta^2 (K1 +
 * ratio I)), ratio = noise^2 / amplitude^2, K1 = Z Z' at amplitude 1 (or the exact kernel matrix).
 * With weights of rows (source.h) all is of S y and S Z, or S K1 S: y comes multiplied by the row
 * factors, and the likelihood of y itself is the value less the sum of their logarithms.
 * Hyperparameters are natural-scale values; gradients are in their logarithms.
 *
 * Where there is a t, y is t targets, one vector of n after the other: y_j ~ N(0, beta_j^2 (K1 +
 * ratio I)) with one kernel and one ratio for all, and the value is the sum over them; amplitude
 * and noise (t each) have that ratio. */
#ifndef GPDESK_NMLL_H
#define GPDESK_NMLL_H

#include "compute/features/fop.h"

/* The spectrum at one kernel setting: after it, every amplitude and noise costs O(M), or on a
 * device one Cholesky factor where a dozen of those take less time than the spectrum. */
struct nmll_eig {
    size_t n, M, t;  /* rows, columns (dual: M == n), targets */
    bool dual;       /* of K1 (n x n) and y, instead of Z'Z (M x M) and Z'y */
    double *yty;     /* t */
    double *d, *e;   /* tridiagonal form, or (e == NULL) the eigenvalues, clipped at 0 */
    double *g;       /* t x M: Q' Z'y (dual: Q' y) */
    double floor;    /* ratios below it have no value: rounding has moved eigenvalues that far */
    struct nmll_there *there; /* a factor for each ratio, on a device (d, e NULL); or NULL */
};
/* want_eigen: diagonalise fully (for display), else tridiagonal only. */
enum status nmll_eig_build(struct fop *, const double *y, bool want_eigen, const struct ctl *,
                           struct nmll_eig *out, struct err *);
/* From a symmetric matrix, given and destroyed (lower triangle, ld = M): the Gram with b = Z'y, or
 * with `dual` the kernel matrix with b = y. */
enum status nmll_eig_from(struct pool *, size_t n, size_t M, double *G, const double *b,
                          double yty, bool dual, bool want_eigen, struct nmll_eig *out,
                          struct err *);
enum status nmll_eig_of(struct pool *, size_t n, size_t M, double *G, size_t t, const double *b,
                        const double *yty, bool dual, bool want_eigen, struct nmll_eig *out,
                        struct err *err);
void nmll_eig_free(struct nmll_eig *);
/* NMLL at given amplitude and noise (standard deviations), the same for all targets; +inf where the
 * arithmetic fails: where rounding has made the Gram indefinite by about the noise ratio. */
double nmll_eig_at(const struct nmll_eig *, double amplitude, double noise);
double nmll_eig_each(const struct nmll_eig *, const double *amplitude, const double *noise);
/* Best amplitudes (t) in closed form at a noise ratio (methods.md B.3). */
double nmll_eig_profile(const struct nmll_eig *, double ratio, double *amplitude);
/* Best (amplitude, noise), t of each, within bounds by a one-dimensional search over the ratio: a
 * grid on the log scale, then golden sections in the best bracket.  Equal bounds fix a value. */
double nmll_eig_best(const struct nmll_eig *, const double amp_bounds[2],
                     const double noise_bounds[2], double *amplitude, double *noise);
/* sum ev/(ev + ratio): effective dimension. */
double nmll_eig_effdim(const struct nmll_eig *, double ratio);

/* NMLL and its gradient in log hp[0..nhp), log amplitude, log noise (nhp + 2 entries; NULL: value
 * only) in feature space by one Cholesky. NOT_PD when the Gram is indefinite.  effdim (may be NULL)
 * comes with a gradient only, else NaN. */
enum status nmll_features(struct fop *, const double *y, const double *hp, size_t nhp,
                          double amplitude, double noise, double *value, double *grad,
                          double *effdim, const struct ctl *, struct err *);
/* The least NMLL over amplitude and noise within bounds at one kernel setting, where it lies, and
 * (grad not NULL: nhp entries) its gradient in log hp.  amplitude[0] and noise[0] say where to
 * begin looking, if they are positive (used where factors are made on a device; otherwise the whole
 * range is looked at).  By the envelope theorem that is the partial gradient at the best amplitude
 * and noise, also where these lie on a bound.  With fewer rows than columns all is done through Z
 * Z' in double precision (nmll_dual.c).  *limited (may be NULL) is set, and no gradient made, when
 * rounding of the Gram forbids noise ratios near or below the best one: double precision features
 * would find a better one. */
enum status nmll_features_best(struct fop *, size_t t, const double *y, const double *hp,
                               size_t nhp, const double amp_bounds[2], const double noise_bounds[2],
                               double *value, double *amplitude, double *noise, double *grad,
                               double *effdim, bool *limited, const struct ctl *, struct err *);
/* The NMLL and its gradient (nhp + 2 entries as in nmll_features; NULL: value only) without the
 * Gram, by preconditioned CG on Z'y and random probes: O(n M) an iteration.  *se: standard error of
 * the value over the probes (of the log determinant; the rest is exact to rtol).  The probes depend
 * on the seed alone, so that differences between settings are far more exact than each value.
 * *iterations: most of any column.  se, iterations may be NULL. */
struct nmll_slq_opts {
    size_t rank, probes;
    double rtol;       /* of the solve with the data */
    double probe_rtol; /* of the probes'; 0: 1e-2 */
    uint64_t seed;
    double *terms; /* probes entries, or NULL; out: each probe's share of the value in nats, whose
                    * differences between two settings of one seed tell the error of the
                    * difference (nmll_slq_difference) */
    double error, most;    /* 0, or the standard error wanted of the value, in nats: then further
                            * probes that take fewer steps (for the value alone, not its gradient),
                            * until it is reached or they have cost `most` times the first ones */
    size_t *used;          /* probes in the end; NULL: not wanted */
    struct precond *
        *kept; /* in: that of a setting nearby, or one that is NULL; out: this one's, the
                * caller's to free: half a preconditioner's work.  NULL: not wanted */
};
/* Standard error of the difference of two values from their terms: of the same probes, and so far
 * less than that of each value. */
double nmll_slq_difference(size_t probes, const double *a, const double *b);
enum status nmll_features_slq(struct fop *, const double *y, const double *hp, size_t nhp,
                              double amplitude, double noise, const struct nmll_slq_opts *,
                              double *value, double *se, double *grad, size_t *iterations,
                              const struct ctl *, struct err *);
/* The same for t targets at a noise ratio, each with its best amplitude within bounds, and the
 * noise with it; grad: nhp entries, then that in log sqrt(ratio).  The targets are further columns
 * of the same solve. */
enum status nmll_features_slq_at(struct fop *, size_t t, const double *y, const double *hp,
                                 size_t nhp, double ratio, const double amp_bounds[2],
                                 const double noise_bounds[2], const struct nmll_slq_opts *,
                                 double *value, double *se, double *amplitude, double *noise,
                                 double *grad, size_t *iterations, const struct ctl *,
                                 struct err *);
/* Another objective: the mean squared leave-one-out error (Allen 1974; of several targets the
 * geometric mean of theirs), or with valid (an operator of the same map over other rows, yvalid
 * their targets; else NULL) that of predicting those, at the noise ratio within bounds where it is
 * least, on at most 4096 rows spread over the data; *amplitude is the likeliest at that ratio,
 * *nmll the value there (+inf: none).  Deterministic; O(n M^2 + M^3), a full eigendecomposition.
 * With fewer rows than columns, n x n. */
enum status nmll_features_loo(struct fop *, size_t t, const double *y, struct fop *valid,
                              const double *yvalid, const double *hp, size_t nhp,
                              const double amp_bounds[2], const double noise_bounds[2],
                              double *mse, double *nmll, double *amplitude, double *noise,
                              double *effdim, const struct ctl *, struct err *);
/* The same as nmll_features for the exact kernel on n rows (n x n memory). */
enum status nmll_exact(const struct kernel *, const struct source *, const double *y,
                       const double *hp, double amplitude, double noise, double *value,
                       double *grad, double *effdim, struct pool *, const struct ctl *,
                       struct err *);
/* The same for t targets at a noise ratio, each with its best amplitude within bounds, and the
 * noise with it; grad: nhp entries, then that in log sqrt(ratio). */
enum status nmll_exact_at(const struct kernel *, const struct source *, size_t t, const double *y,
                          const double *hp, double ratio, const double amp_bounds[2],
                          const double noise_bounds[2], double *value, double *amplitude,
                          double *noise, double *grad, double *effdim, struct pool *,
                          const struct ctl *, struct err *err);
/* The same as nmll_features_best for the exact kernel, value only, by a tridiagonal reduction. */
enum status nmll_exact_best(const struct kernel *, const struct source *, size_t t,
                            const double *y, const double *hp, const double amp_bounds[2],
                            const double noise_bounds[2], double *value, double *amplitude,
                            double *noise, double *effdim, struct pool *, const struct ctl *,
                            struct err *);

#endif
