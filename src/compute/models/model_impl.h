/* compute/models/model_impl.h -- what model.c (the fitted thing, its predictions), model_plan.c
 * (what a fit will cost), model_fit.c and model_refine.c share. */
#ifndef GPDESK_MODEL_IMPL_H
#define GPDESK_MODEL_IMPL_H

#include "compute/models/model.h"
#include "compute/preconds/precond.h"

enum {
    AUTO_VARIANCE = 4096, /* features for the variance where the fit itself leaves no factor */
    RANK_FIRST = 1024,    /* the rank that memory is planned for: M / 8, at most this */
    RANK_LEAST = 16,      /* the least rank that is looked at */
    RANK_MOST = 3000,     /* the most that is chosen (methods.md C.3) */
};

/* What a fit will do, decided from sizes alone. */
struct fit_plan {
    enum plan plan;
    bool exact;
    bool products;      /* exact: by conjugate gradients, the kernel matrix never stored */
    bool half;              /* plan STORE, in float16 */
    bool formed;            /* plan DIRECT with a solver that iterates: on Z'Z, formed once */
    size_t threads;
    size_t rank;            /* of the preconditioner at the start */
    size_t Mv;              /* features for the variance; 0: none */
    double bytes;           /* at the peak */
    double device_store, device_half; /* of the device's memory: stored features */
    double bytes_store, bytes_half, bytes_regenerate, bytes_formed, bytes_direct;
    /* Of one core. */
    double seconds_store, seconds_half, seconds_regenerate, seconds_formed, seconds_direct;
};
enum status model_plan_make(size_t n, size_t d, const struct fit_opts *, size_t threads,
                            struct fit_plan *, char note[256], struct err *);

/* Seconds of one core: a preconditioner of rank r (0: none) by `sketches` passes, and an iteration
 * with it; and bytes at the peak with it. */
void model_plan_costs(size_t n, size_t d, const struct fit_opts *, const struct fit_plan *,
                      size_t rank, int sketches, double *build, double *iteration,
                      double *bytes);

/* Bytes at the peak with that rank, for the plan's threads. */
double model_plan_bytes(size_t n, size_t d, const struct fit_opts *, const struct fit_plan *,
                        size_t rank);

/* The choice of a rank from evidence: model_rank.c. */
struct rank_choice {
    size_t rows, n, best;  /* rows of the sample; guesses; the one with the least seconds */
    bool none;             /* 0, no preconditioner, may be chosen */
    struct rank_guess at[RANK_GUESSES]; /* ascending ranks, at[0].rank == 0 */
};
/* y: o->targets vectors.  From the eigenvalues of a sample of rows: iterations and seconds by rank,
 * for `solves` solves ahead.  The same choice for any thread count. */
enum status model_rank_choose(struct fop *, const double *y, size_t d, const struct fit_opts *,
                              const struct fit_plan *, double ratio, size_t solves,
                              struct rank_choice *, const struct ctl *, struct err *);
/* The same table for a spectrum at hand, over given ranks (0: no preconditioner) or (NULL) the
 * ladder that the choice goes over; half (NULL: none) widens the ranges by how much it differs. */
struct spectrum;
enum status model_rank_table(const struct spectrum *, const struct spectrum *half, size_t d,
                             const struct fit_opts *, const struct fit_plan *, double ratio,
                             size_t solves, const size_t *ranks, size_t count, struct pool *,
                             struct rank_choice *, const struct ctl *, struct err *);
/* Iterations of conjugate gradients to rtol, at most maxit, with a preconditioner of this rank (0:
 * none) by `passes` sketches, and the ratio of its last eigenvalue to lam2. */
enum status model_rank_iterations(const struct spectrum *, double lam2, size_t rank, int passes,
                                  double rtol, size_t maxit, double *iterations, double *ratio,
                                  struct err *);

/* Lower Cholesky factor of Zv'Zv + (ratio + jitter) I into *L (Mv x Mv, the caller frees), for the
 * operator as set; y not NULL: also b = Z'y (Mv), for t vectors y.  jitter > 0: rounding had made
 * the Gram indefinite at this ratio. */
enum status model_factor(struct fop *, size_t t, const double *y, double ratio, double **L,
                         double *b, double *diag, double *jitter, const struct ctl *,
                         struct err *);
/* The same factor at another ratio: the strict upper triangle of L still holds the Gram's, diag (M,
 * filled by model_factor; may be NULL there) its diagonal.  NOT_PD: rounding is as large as the
 * noise. */
enum status model_refactor(struct pool *, size_t M, double *L, const double *diag, double ratio,
                           double jitter, const struct ctl *, struct err *);

/* noise^2 / amplitude^2, rounded to 40 bits: a common factor of both, and a session's round trip,
 * leave it the same to the last bit. */
double model_round(double);
double model_ratio(double amplitude, double noise);

/* Moves *ratio to the one that predicts best by leave-one-out errors of the t targets (their
 * geometric mean) at these features, kernel hyperparameters fixed (model_refine.c).  L, at *ratio,
 * is refactored on the way.  Nothing changes where precision forbids. */
enum status model_refine_factor(struct fop *, size_t t, const double *y, double *L,
                                const double *diag, const double *b, double *ratio,
                                double *jitter, const struct ctl *, struct err *);
/* M - ratio tr A^-1 from the factor of A: |L^-1|_F^2 by blocks of columns, M^3 / 3. */
enum status model_effdim(struct pool *, size_t M, const double *L, double ratio, double *effdim,
                         const struct ctl *, struct err *);
/* The same for the first half of the columns, rescaled, from the Gram that the upper triangle of L
 * still holds.  When it is much less, the effective dimension is still growing with the features:
 * they, and not the data, limit the variance. */
enum status model_effdim_half(struct pool *, size_t M, const double *L, double ratio,
                              double *effdim, const struct ctl *, struct err *);
/* Draws the model's map at Mv columns over a source and opens it; row_scale: of the source where it
 * trains, NULL where it predicts; features are kept as said, STORE_AUTO: not at all. */
enum status model_open(const struct model *, size_t Mv, const struct source *,
                       const double *row_scale, enum precision, enum storing,
                       const struct backend_ops *, struct pool *, struct featmap **,
                       struct fop **, struct err *);
/* An exact factor of S K1 S + ratio I, or t weights against it (NULL: not there), into those of
 * K1 + ratio S^-2, which predict without the row factors.  Nothing without row factors. */
void model_exact_unscale(size_t n, size_t t, const double *row_scale, double *L, double *w);

/* Where iterations begin (model_start.c).  Whether s has the very features of m, so that its
 * weights are the start; whether it can be one at all (NULL can), else STATE; and weights for the
 * columns of f (t x M, the caller frees) from what s predicts of the rows of src: P^-1 Z'f.  pre
 * NULL: Z'f. */
bool model_start_same(const struct model *s, const struct model *m);
enum status model_start_check(const struct model *s, const struct source *src, size_t targets,
                              struct err *);
enum status model_start_project(const struct model *s, const struct source *src, struct fop *f,
                                const struct precond *pre, const struct backend_ops *,
                                struct pool *, const struct ctl *, double **w0, struct err *);

/* The same ticks under another phase: a fit says what it is for, not which product it is in. */
struct phase_ctl { struct ctl ctl; const struct ctl *outer; enum phase phase; };
const struct ctl *model_phase(struct phase_ctl *, const struct ctl *outer, enum phase);
/* Work without a count that follows its passes, under its own name: "factor", "noise search" (done:
 * looks so far). */
void model_step(const struct ctl *, enum phase, size_t done);

#endif
