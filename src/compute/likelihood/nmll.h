/* compute/likelihood/nmll.h -- negative log marginal likelihood (share/doc/methods.md 5, 6, 10).
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

/* Where amplitude and noise are looked for, standard deviations; equal bounds fix a value. */
struct nmll_bounds { double amplitude[2], noise[2]; };

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
/* A symmetric matrix (lower triangle, ld = M) and what goes with it: the Gram with b = Z'y (t
 * vectors of M) and yty = y'y of each target, or with `dual` the kernel matrix with b = y. */
struct nmll_system {
    size_t n, M, t;
    double *G;
    const double *b, *yty;
    bool dual;
};
/* want_eigen: diagonalise fully (for display), else tridiagonal only.  G is destroyed. */
enum status nmll_eig_make(struct pool *, const struct nmll_system *, bool want_eigen,
                          struct nmll_eig *out, struct err *);
void nmll_eig_free(struct nmll_eig *);
/* NMLL at given amplitude and noise (standard deviations), the same for all targets; +inf where the
 * arithmetic fails: where rounding has made the Gram indefinite by about the noise ratio. */
double nmll_eig_at(const struct nmll_eig *, double amplitude, double noise);
/* Best amplitudes (t) in closed form at a noise ratio (share/doc/methods.md 6.4). */
double nmll_eig_profile(const struct nmll_eig *, double ratio, double *amplitude);
/* Best (amplitude, noise), t of each, within bounds by a one-dimensional search over the ratio: a
 * grid on the log scale, then golden sections in the best bracket. */
double nmll_eig_best(const struct nmll_eig *, const struct nmll_bounds *, double *amplitude,
                     double *noise);
/* sum ev/(ev + ratio): effective dimension. */
double nmll_eig_effdim(const struct nmll_eig *, double ratio);

/* What is asked of one kernel setting. */
struct nmll_ask {
    size_t t; /* targets; 0: one */
    const double *y;
    const double *hp; /* nhp of them; nhp 0: the operator stays as it is set */
    size_t nhp;
    /* How amplitude and noise are treated:
     *   GIVEN   one target, at `amplitude` and `noise`; the gradient ends with their two
     * logarithms; RATIO   at `ratio`, each target with its best amplitude within bounds, and the
     * noise with it; the gradient ends with log sqrt(ratio); BEST    where the NMLL is least within
     * bounds; the gradient is that in the hyperparameters, which by the envelope theorem is the
     * partial one there, also on a bound. */
    enum nmll_scale { NMLL_GIVEN, NMLL_RATIO, NMLL_BEST } scale;
    double amplitude, noise, ratio;
    const struct nmll_bounds *within;
};
/* Where the answers go; NULL: not wanted. */
struct nmll_told {
    double *value;
    double *amplitude, *noise; /* t of each; of BEST also in: where to begin looking, if positive
                                * (used where factors are made on a device) */
    double *grad;              /* in log hp, then as the scale says */
    double *effdim;            /* with BEST, or with a gradient; else NaN */
    bool *limited;             /* set, and no gradient made, when rounding of the Gram forbids noise
                                * ratios near or below the best one: double precision features would
                                * find a better one */
    double *se;                /* by probes: standard error of the value over them (of the log
                                * determinant; the rest is exact to rtol) */
    size_t *iterations;        /* by probes: most of any column */
    double *mse;               /* of nmll_loo: the error that is least */
};
/* In feature space, scale GIVEN (one Cholesky; NOT_PD when the Gram is indefinite) or BEST (the
 * spectrum).  With fewer rows than columns BEST is done through Z Z' in double precision
 * (nmll_dual.c). */
enum status nmll_features(struct fop *, const struct nmll_ask *, const struct nmll_told *,
                          const struct ctl *, struct err *);
/* Without the Gram, by preconditioned CG on Z'y and random probes: O(n M) an iteration; scale GIVEN
 * or RATIO.  The probes depend on the seed alone, so that differences between settings are far more
 * exact than each value.  Targets are further columns of the same solve. */
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
enum status nmll_slq(struct fop *, const struct nmll_ask *, const struct nmll_slq_opts *,
                     const struct nmll_told *, const struct ctl *, struct err *);
/* Standard error of the difference of two values from their terms: of the same probes, and so far
 * less than that of each value. */
double nmll_slq_difference(size_t probes, const double *a, const double *b);
/* Another objective: the mean squared leave-one-out error (Allen 1974; of several targets the
 * geometric mean of theirs), or with valid (an operator of the same map over other rows, yvalid
 * their targets; else NULL) that of predicting those, at the noise ratio within bounds where it is
 * least, on at most 4096 rows spread over the data; amplitudes are the likeliest at that ratio,
 * value the NMLL there (+inf: none).  Scale BEST; deterministic; O(n M^2 + M^3), a full
 * eigendecomposition.  With fewer rows than columns, n x n. */
enum status nmll_loo(struct fop *, const struct nmll_ask *, struct fop *valid, const double *yvalid,
                     const struct nmll_told *, const struct ctl *, struct err *);
/* The exact kernel on the rows of a source (n x n memory), any scale; BEST has no gradient. */
enum status nmll_exact(const struct kernel *, const struct source *, const struct nmll_ask *,
                       const struct nmll_told *, struct pool *, const struct ctl *, struct err *);

/* For tests: the spectrum of an operator as it is set, with one target. */
enum status nmll_eig_for_tests(struct fop *, const double *y, bool want_eigen, const struct ctl *,
                               struct nmll_eig *out, struct err *);

#endif
