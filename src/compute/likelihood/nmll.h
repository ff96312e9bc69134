/* compute/likelihood/nmll.h -- the negative log marginal likelihood (NMLL) of a Gaussian process,
 * with its gradient (share/doc/methods.md 5, 6, 10).
 *
 * Units: targets are standardised, logarithms are natural, the NMLL is in nats and contains all
 * constants.  The model is y ~ N(0, beta^2 (K1 + ratio I)) with ratio = noise^2 / amplitude^2 and
 * K1 = Z Z' at amplitude 1, or the exact kernel matrix.  Amplitude and noise are standard
 * deviations.  Hyperparameters are passed on their natural scale; gradients are with respect to
 * their logarithms.
 *
 * Weights of rows (source.h): everything refers to S y and S Z, or S K1 S.  The caller passes y
 * already multiplied by the row factors, and the NMLL of y itself is the value returned here less
 * the sum of their logarithms, for each target.
 *
 * Several targets: where a count t appears, y holds t vectors of n, one after the other, with
 * y_j ~ N(0, beta_j^2 (K1 + ratio I)).  All share one kernel and one ratio; the value is the sum
 * over the targets.  Amplitude and noise have t entries each, all pairs with the same ratio. */
#ifndef GPDESK_NMLL_H
#define GPDESK_NMLL_H

#include "compute/features/fop.h"

/* Bounds of the search for amplitude and noise (standard deviations).  Equal bounds fix a value. */
struct nmll_bounds { double amplitude[2], noise[2]; };

/* The spectrum at one kernel setting.  Once it is made, the NMLL at any amplitude and noise costs
 * O(M) (share/doc/methods.md 6.8, 6.11).  On a device where a dozen Cholesky factors take less time
 * than the spectrum, it costs one factor instead (`there`). */
struct nmll_eig {
    size_t n, M, t;  /* rows, columns (dual: M == n), targets */
    bool dual;       /* true: of K1 (n x n) and y; false: of Z'Z (M x M) and Z'y */
    double *yty;     /* t */
    double *d, *e;   /* tridiagonal form, or (e == NULL) the eigenvalues, clipped at 0 */
    double *g;       /* t x M: Q' Z'y (dual: Q' y), Q the orthogonal matrix of the reduction */
    double floor;    /* below this ratio rounding dominates, and the NMLL is +inf (nmll.c) */
    double missed;   /* the trace of what a bound leaves out of K1 (compute/inducing/bound.h): the
                      * value of each target has missed / (2 ratio) more; 0: it is no bound */
    struct nmll_there *there; /* factors on a device (then d and e are NULL), or NULL */
};
/* A symmetric matrix G (lower triangle, leading dimension M) with its right-hand sides: the Gram
 * matrix Z'Z with b = Z'y (t vectors of M) and yty = y'y of each target, or with `dual` the kernel
 * matrix (M == n) with b = y. */
struct nmll_system {
    size_t n, M, t;
    double *G;
    const double *b, *yty;
    bool dual;
};
/* Reduces s->G, which is destroyed.  want_eigen: diagonalise fully (eigenvalues for display and for
 * nmll_loo), else stop at the tridiagonal form.  O(M^3).  Fails with NOMEM, RANGE (t) or the status
 * of LAPACK; *out is then empty.  The caller frees *out with nmll_eig_free. */
enum status nmll_eig_make(struct pool *, const struct nmll_system *, bool want_eigen,
                          struct nmll_eig *out, struct err *);
void nmll_eig_free(struct nmll_eig *);
/* The NMLL at one amplitude and noise for all targets (share/doc/methods.md 6.2).  It is +inf where
 * rounding has made the Gram matrix indefinite by about the noise ratio. */
double nmll_eig_at(const struct nmll_eig *, double amplitude, double noise);
/* The NMLL at a ratio with the best amplitude of each target (out: t of them) in closed form,
 * without bounds (share/doc/methods.md 6.4, 6.5).  +inf, and NaN amplitudes, as for nmll_eig_at. */
double nmll_eig_profile(const struct nmll_eig *, double ratio, double *amplitude);
/* The least NMLL within bounds, and the amplitudes and noises (t of each) where it is reached, by a
 * one-dimensional search over the log ratio: a grid, then golden sections in the best bracket.
 * With factors on a device the search starts from the amplitude and noise passed in, if
 * positive. */
double nmll_eig_best(const struct nmll_eig *, const struct nmll_bounds *, double *amplitude,
                     double *noise);
/* The effective dimension, sum of ev / (ev + ratio) (share/doc/methods.md 6.7); M where the ratio
 * has no value. */
double nmll_eig_effdim(const struct nmll_eig *, double ratio);

/* The question: at which kernel setting, for which targets, at which amplitude and noise. */
struct nmll_ask {
    size_t t;         /* number of targets; 0 means one */
    const double *y;  /* t vectors of n */
    const double *hp; /* nhp kernel hyperparameters; nhp 0: the operator stays as it is set */
    size_t nhp;
    /* How amplitude and noise are treated, and which entries follow the nhp of the gradient:
     *   GIVEN   one target at `amplitude` and `noise`; then log amplitude and log noise.
     *   RATIO   at `ratio`; each target has its best amplitude within bounds, and the noise that
     *           goes with it; then log sqrt(ratio).
     *   BEST    where the NMLL is least within bounds; nothing more.  By the envelope theorem the
     *           total derivative there is the partial one at fixed amplitude and noise, on a bound
     *           too. */
    enum nmll_scale { NMLL_GIVEN, NMLL_RATIO, NMLL_BEST } scale;
    double amplitude, noise, ratio;
    const struct nmll_bounds *within;
};
/* The answer: where to put the results.  NULL members are not computed. */
struct nmll_told {
    double *value;             /* nats */
    double *amplitude, *noise; /* t of each.  With BEST they are read first: where positive, a
                                * search by factors on a device starts there */
    double *grad;              /* nhp derivatives in log hp, then what the scale adds */
    double *effdim;            /* with BEST, or with a gradient; else NaN */
    bool *limited;             /* true, and no gradient is made, when rounding of the Gram matrix
                                * rules out noise ratios near or below the best one; features in
                                * double precision would find a better optimum */
    double *se;                /* nmll_slq: standard error of the value over the probes.  It is that
                                * of the log determinant; the rest is exact to rtol */
    size_t *iterations;        /* nmll_slq: the largest number of iterations of any column */
    double *mse;               /* nmll_loo: the least mean squared error */
};
/* The NMLL of a feature operator.  GIVEN takes one Cholesky factor and returns NOT_PD when the Gram
 * matrix is numerically indefinite; BEST takes the spectrum.  O(n M^2 + M^3).  With fewer rows than
 * columns BEST works on Z Z' in double precision (nmll_dual.c). */
enum status nmll_features(struct fop *, const struct nmll_ask *, const struct nmll_told *,
                          const struct ctl *, struct err *);
/* The same for several settings that do not depend on each other, all with scale BEST and without
 * gradients, as nmll_features has them to the bit; rows n >= columns.  Each has a status of its own
 * (`each`): ST_OK, NOT_PD or what else its spectrum met.  Holds a Gram matrix for each. */
enum status nmll_features_ahead(struct fop *, size_t count, const struct nmll_ask *,
                                const struct nmll_told *, enum status *each, const struct ctl *,
                                struct err *);
/* The NMLL without the Gram matrix, by stochastic Lanczos quadrature (share/doc/methods.md 10):
 * preconditioned conjugate gradients on Z'y and on random probes, O(n M) an iteration.  Scale GIVEN
 * or RATIO.  The probes depend on the seed alone, so that differences between settings are far more
 * accurate than each value.  Targets are further columns of the same solve.  NOT_PD when a column
 * breaks down, CANCELLED when ctl stops it. */
struct nmll_slq_opts {
    size_t rank, probes;
    double rtol;       /* relative residual of the solve with the data */
    double probe_rtol; /* relative residual of the probes; 0: 1e-2 */
    uint64_t seed;
    double *terms;     /* out, or NULL: for each probe its estimate of the log determinant's part of
                        * the value, in nats, less log|P|.  nmll_slq_difference takes those of two
                        * settings with one seed */
    double error, most; /* error > 0: the standard error wanted, in nats.  Further probes with fewer
                         * steps are added (for the value, not for the gradient) until it is reached
                         * or they have cost `most` times as much as the first ones */
    size_t *used;          /* out, or NULL: the number of probes in the end */
    struct precond **kept; /* NULL, or in: the preconditioner of a nearby setting (or a NULL one),
                            * which halves the work of building this one; out: this setting's, which
                            * the caller owns */
    bool unit_for_tests;   /* probe i is sqrt(M) e_i: M of them are complete, and nothing is left to
                            * chance */
};
enum status nmll_slq(struct fop *, const struct nmll_ask *, const struct nmll_slq_opts *,
                     const struct nmll_told *, const struct ctl *, struct err *);
/* The same for the exact kernel on those rows (share/doc/methods.md 10.7): products with K1 + ratio
 * I, O(n^2) an iteration, preconditioned by columns of K1.  hp of the question is that of the rows.
 * store: K1 is kept for the iterations, n x n floats. */
struct exact_rows;
enum status nmll_slq_exact(const struct backend_ops *, const struct exact_rows *, bool store,
                           const struct nmll_ask *, const struct nmll_slq_opts *,
                           const struct nmll_told *, const struct ctl *, struct err *);
/* The standard error of the difference of two values, from their terms with the same probes
 * (share/doc/methods.md 10.6).  It is far smaller than that of each value, because most of the
 * error is common.  NaN for fewer than two probes. */
double nmll_slq_difference(size_t probes, const double *a, const double *b);
/* Another objective: the mean squared leave-one-out error (share/doc/methods.md 6.9; of several
 * targets the geometric mean of theirs).  With `valid` (an operator of the same map over other
 * rows, yvalid their targets; else NULL) it is the mean squared error of predicting those.  Both
 * are taken at the noise ratio within bounds where they are least, on at most 4096 rows spread
 * evenly over the data.  Amplitudes are the likeliest at that ratio, and value is the NMLL there
 * (+inf: none). Scale BEST; deterministic; O(n M^2 + M^3) for a full eigendecomposition, of the n x
 * n matrix where there are fewer rows than columns. */
enum status nmll_loo(struct fop *, const struct nmll_ask *, struct fop *valid, const double *yvalid,
                     const struct nmll_told *, const struct ctl *, struct err *);
/* The NMLL of the exact kernel on the rows of a source, any scale; BEST has no gradient.  O(n^3)
 * time and n x n doubles, checked against the limits (limits.h) before they are allocated. */
enum status nmll_exact(const struct kernel *, const struct source *, const struct nmll_ask *,
                       const struct nmll_told *, struct pool *, const struct ctl *, struct err *);

/* The negative logarithm of the approximate evidence of two classes (likelihood.h) under the exact
 * kernel; one target of -1 and +1.  Scales GIVEN and BEST, with a gradient; the noise has no part
 * in it.  O(n^3) a sweep and 4 n x n doubles. */
struct likelihood_ops;
enum status nmll_classes(const struct likelihood_ops *, const struct kernel *,
                         const struct source *, const struct nmll_ask *, const struct nmll_told *,
                         struct pool *, const struct ctl *, struct err *);

/* True when a feature operator of n rows and M columns is better served by Z Z' (n x n): n < M, and
 * Z fits in the memory set aside for it. */
bool nmll_is_dual(size_t n, size_t M);
/* K <- Z Z' (n x n, both triangles) in double precision. */
enum status nmll_dual_matrix(struct fop *, double *K, const struct ctl *, struct err *);

/* For tests: the spectrum of an operator at its current hyperparameters, with one target. */
enum status nmll_eig_for_tests(struct fop *, const double *y, bool want_eigen, const struct ctl *,
                               struct nmll_eig *out, struct err *);

#endif
