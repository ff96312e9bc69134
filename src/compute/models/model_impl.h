/* compute/models/model_impl.h -- what a kind of model is (struct model_ops), and what the files of
 * this folder share: factors, plans, ranks, predictions in tiles. */
#ifndef GPDESK_MODEL_IMPL_H
#define GPDESK_MODEL_IMPL_H

#include "compute/models/model.h"
#include "compute/preconds/precond.h"

#define MODEL_BLAS_PACK 3e6 /* bytes that BLAS packs for a thread */

enum {
    AUTO_VARIANCE = 4096, /* features for the variance where the fit itself leaves no factor */
    RANK_FIRST = 1024,    /* the rank that memory is planned for: M / 8, at most this */
    RANK_LEAST = 16,      /* the least rank that is looked at */
    RANK_MOST = 3000,     /* the most that is chosen (share/doc/methods.md 8.8) */
};

/* What a fit will do, decided from sizes alone. */
struct fit_plan {
    enum plan plan;
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
struct rank_cost { double build, iteration, bytes; };
struct rank_cost model_plan_costs(size_t n, size_t d, const struct fit_opts *,
                                  const struct fit_plan *, size_t rank, int sketches);

/* Bytes at the peak with that rank, for the plan's threads. */
double model_plan_bytes(size_t n, size_t d, const struct fit_opts *, const struct fit_plan *,
                        size_t rank);

/* The choice of a rank from evidence: model_rank.c. */
struct rank_choice {
    size_t rows, n, best;  /* rows of the sample; guesses; the one with the least seconds */
    bool none;             /* 0, no preconditioner, may be chosen */
    struct rank_guess at[RANK_GUESSES]; /* ascending ranks, at[0].rank == 0 */
};
/* What a rank is chosen for: d inputs, a fit and its plan, the noise ratio, so many solves ahead,
 * and the ranks to look at (count of them; 0: no preconditioner), or NULL: a ladder. */
struct rank_question {
    size_t d;
    const struct fit_opts *o;
    const struct fit_plan *plan;
    double ratio;
    size_t solves;
    const size_t *ranks;
    size_t count;
};
/* y: o->targets vectors.  Iterations and seconds by rank, from the eigenvalues of a sample of rows.
 * The choice is the same for any thread count. */
enum status model_rank_choose(struct fop *, const double *y, const struct rank_question *,
                              struct rank_choice *, const struct ctl *, struct err *);
/* The same table for a spectrum at hand; half (NULL: none) widens the ranges by how much it
 * differs. */
struct spectrum;
enum status model_rank_table(const struct spectrum *, const struct spectrum *half,
                             const struct rank_question *, struct pool *, struct rank_choice *,
                             const struct ctl *, struct err *);
/* Iterations of conjugate gradients to rtol, at most maxit, on a system of this spectrum + lam2
 * with a preconditioner of this rank (0: none) by `passes` sketches, and the ratio of its last
 * eigenvalue to lam2. */
struct rank_system { const struct spectrum *s; double lam2, rtol; size_t maxit; int passes; };
enum status model_rank_iterations_for_tests(const struct rank_system *, size_t rank,
                                            double *iterations, double *ratio, struct err *);

/* A lower Cholesky factor of Zv'Zv + (ratio + jitter) I and what came with it. */
struct gram_factor {
    double ratio;     /* in; model_refine_factor moves it */
    double *b, *diag; /* in: where Z'y (t x Mv) and the Gram's diagonal (Mv) go; NULL: not wanted */
    double *L;        /* out: Mv x Mv, the caller frees */
    double jitter;    /* out: > 0 where rounding had made the Gram indefinite at this ratio */
};
/* For the operator as set and t vectors y (NULL where b is). */
enum status model_factor(struct fop *, size_t t, const double *y, struct gram_factor *,
                         const struct ctl *, struct err *);
/* The same factor at another ratio: the strict upper triangle of L still holds the Gram's, diag (M,
 * filled by model_factor) its diagonal.  NOT_PD: rounding is as large as the
 * noise. */
enum status model_refactor(struct pool *, size_t M, double *L, const double *diag, double ratio,
                           double jitter, const struct ctl *, struct err *);

/* noise^2 / amplitude^2, rounded to 40 bits: a common factor of both, and a session's round trip,
 * leave it the same to the last bit. */
double model_round(double);
double model_ratio(double amplitude, double noise);

/* Moves the ratio of a factor (with b and diag) to the one that predicts best by leave-one-out
 * errors of the t targets (their geometric mean) at these features, kernel hyperparameters fixed
 * (model_refine.c).  L is refactored on the way.  Nothing changes where precision forbids. */
enum status model_refine_factor(struct fop *, size_t t, const double *y, struct gram_factor *,
                                const struct ctl *, struct err *);
/* M - ratio tr A^-1 from the factor of A: |L^-1|_F^2 by blocks of columns, M^3 / 3. */
enum status model_effdim(struct pool *, size_t M, const double *L, double ratio, double *effdim,
                         const struct ctl *, struct err *);
/* The same for the first half of the columns, rescaled, from the Gram that the upper triangle of L
 * still holds.  When it is much less, the effective dimension is still growing with the features:
 * they, and not the data, limit the variance. */
enum status model_effdim_half(struct pool *, size_t M, const double *L, double ratio,
                              double *effdim, const struct ctl *, struct err *);
/* A map and the operator on it.  model_open draws the model's map at so many columns over a source
 * and opens it; row_scale of the options is that of the source where it trains, NULL where it
 * predicts. */
struct model_map {
    struct featmap *map;
    struct fop *f;
};
enum status model_open(const struct model *, size_t columns, const struct source *,
                       const struct fop_opts *, const struct backend_ops *, struct model_map *,
                       struct err *);
void model_close(struct model_map *);

/* A prediction under way: mean, and varf where it is not NULL, of n rows for each target. */
struct prediction {
    const struct model *m;
    const struct source *src;
    size_t n;
    double *mean, *varf;
    struct tools on;
    /* Of a kind that works tile by tile: what fills rows [r0, r1), and how many numbers its work
     * has; f: its operator, if it has one. */
    enum status (*tile)(const struct prediction *, size_t r0, size_t r1, double *work,
                        struct err *);
    size_t work_len;
    struct fop *f;
};
/* Rows are handled in fixed tiles, the last one padded, so that a row's bits depend neither on the
 * thread count nor on how a caller cuts the rows into tiles of this size. */
enum { MODEL_TILE = 64 };
enum status model_tiles(const struct prediction *, struct err *);

/* The plan of a model on features (model_plan.c). */
enum status model_plan_features(const struct fit_opts *, size_t n, size_t d, size_t threads,
                                struct fit_plan *, char note[256], struct err *);

/* Where iterations begin (model_start.c).  Whether s has the very features of m, so that its
 * weights are the start; whether it can be one at all (NULL can), else STATE; and weights for the
 * columns of f (t x M, the caller frees) from what s predicts of the rows of src: P^-1 Z'f.  pre
 * NULL: Z'f. */
bool model_start_same(const struct model *s, const struct model *m);
enum status model_start_check(const struct model *s, const struct source *src, size_t targets,
                              struct err *);
enum status model_start_project(const struct model *s, const struct source *src, struct fop *f,
                                const struct precond *pre, const struct tools *, double **w0,
                                struct err *);

/* The same ticks under another phase: a fit says what it is for, not which product it is in. */
struct phase_ctl { struct ctl ctl; const struct ctl *outer; enum phase phase; };
const struct ctl *model_phase(struct phase_ctl *, const struct ctl *outer, enum phase);
/* Work without a count that follows its passes, under its own name: "factor", "noise search" (done:
 * looks so far). */
void model_step(const struct ctl *, enum phase, size_t done);

#endif
