/* compute/models/model_impl.h -- functions that the files of this folder share: factors, plans,
 * the choice of a rank, predictions in tiles.  Shapes and units are those of model.h. */
#ifndef GPDESK_MODEL_IMPL_H
#define GPDESK_MODEL_IMPL_H

#include "compute/models/model.h"
#include "compute/preconds/precond.h"

#define MODEL_BLAS_PACK 3e6 /* bytes that BLAS packs for a thread */

enum {
    AUTO_VARIANCE = 4096, /* features for the variance when the fit leaves no factor, and one with
                           * all of them would take longer than the fit */
    RANK_FIRST = 1024,    /* memory is planned for a rank of M / 8, at most this */
    RANK_LEAST = 16,      /* the smallest rank that is considered */
    RANK_MOST = 3000,     /* the largest rank that is considered */
};

/* What a fit will do, decided from sizes alone. */
struct fit_plan {
    enum plan plan;
    const struct solver_ops *solver; /* exact kernel: works on products, the matrix is never
                                      * stored; NULL: a Cholesky factor, or features */
    bool half;              /* plan STORE with features in float16 */
    bool bits;              /* features are signs, which are kept as bits in any plan */
    bool formed;            /* plan DIRECT with an iterative solver: on Z'Z, formed once */
    size_t threads;
    size_t rank;            /* of the preconditioner that memory is planned for */
    size_t Mv;              /* features for the variance; 0: none */
    size_t iterative_Mv;    /* the same of an iterative fit */
    double bytes;           /* at the peak */
    double device_store, device_half; /* bytes of stored features on the device */
    double bytes_store, bytes_half, bytes_regenerate, bytes_formed, bytes_direct;
    /* Seconds of one core. */
    double seconds_store, seconds_half, seconds_regenerate, seconds_formed, seconds_direct;
    double seconds_search; /* of these, those of an iterative fit's search for its noise ratio */
};
enum status model_plan_make(size_t n, size_t d, const struct fit_opts *, size_t threads,
                            struct fit_plan *, char note[256], struct err *);

/* Predicted costs of a preconditioner of some rank (0: none) built in `sketches` passes: seconds of
 * one core to build it and for an iteration with it, and bytes at the peak. */
struct rank_cost { double build, iteration, bytes; };
struct rank_cost model_plan_costs(size_t n, size_t d, const struct fit_opts *,
                                  const struct fit_plan *, size_t rank, int sketches);

/* Bytes at the peak with a preconditioner of that rank, for the plan's threads. */
double model_plan_bytes(size_t n, size_t d, const struct fit_opts *, const struct fit_plan *,
                        size_t rank);

/* The choice of a rank from the spectrum of a sample (model_rank.c). */
struct rank_choice {
    size_t rows, n, best;  /* rows of the sample; entries of at; index of the best one */
    bool none;             /* rank 0, no preconditioner, may be chosen */
    struct rank_guess at[RANK_GUESSES]; /* ascending ranks, at[0].rank == 0 */
};
/* What a rank is chosen for: d inputs, a fit and its plan, the noise ratio, the number of solves it
 * will serve, and the ranks to compare (count of them; 0 means no preconditioner), or NULL for a
 * ladder of ranks. */
struct rank_question {
    size_t d;
    const struct fit_opts *o;
    const struct fit_plan *plan;
    double ratio;
    size_t solves;
    const size_t *ranks;
    size_t count;
};
/* Predicts iterations and seconds for each rank from the eigenvalues of a sample of rows, and
 * chooses.  y: o->targets vectors.  The choice is the same for any number of threads. */
enum status model_rank_choose(struct fop *, const double *y, const struct rank_question *,
                              struct rank_choice *, const struct ctl *, struct err *);
/* The same table for a given spectrum.  `half`, the spectrum from half of the sample (NULL: none),
 * widens the ranges of iterations by how much its counts differ. */
struct spectrum;
enum status model_rank_table(const struct spectrum *, const struct spectrum *half,
                             const struct rank_question *, struct pool *, struct rank_choice *,
                             const struct ctl *, struct err *);
/* Counts the iterations of conjugate gradients to rtol, at most maxit, on a diagonal system with
 * the spectrum s + lam2 and a preconditioner of this rank (0: none) made by `passes` sketches;
 * *ratio is that of its last eigenvalue to lam2. */
struct rank_system {
    const struct spectrum *s;
    double lam2, rtol;
    size_t maxit;
    int passes;
    const struct ctl *ctl; /* CANCELLED when it stops; NULL: never */
};
enum status model_rank_iterations_for_tests(const struct rank_system *, size_t rank,
                                            double *iterations, double *ratio, struct err *);

/* The lower Cholesky factor of Zv'Zv + (ratio + jitter) I, with Z'y and the diagonal of Zv'Zv. */
struct gram_factor {
    double ratio;     /* in; model_refine_factor changes it */
    double *b, *diag; /* in: where Z'y (t x Mv) and the diagonal (Mv) go; NULL: not wanted */
    double *L;        /* out: Mv x Mv, the caller frees it; its strict upper triangle keeps the Gram
                       * matrix */
    double jitter;    /* out: > 0 where rounding had made the Gram matrix indefinite at the ratio */
    bool unmade;      /* out: L is still the Gram matrix itself, both triangles */
};
/* The Gram matrix alone, in L, with b and diag (NULL: not wanted); model_refine_factor makes the
 * factor, once the ratio is known.  Without y the operator's formed matrix is taken, if there is
 * one (fop_take_formed). */
enum status model_gram(struct fop *, size_t t, const double *y, struct gram_factor *,
                       const struct ctl *, struct err *);
/* For an operator at its current hyperparameters and t vectors y (NULL where b is).  NOT_PD when no
 * jitter up to 1e-4 n suffices. */
enum status model_factor(struct fop *, size_t t, const double *y, struct gram_factor *,
                         const struct ctl *, struct err *);
/* The same factor at another ratio, from the Gram matrix that the strict upper triangle of L and
 * diag (M, filled by model_factor) still hold.  NOT_PD when rounding is as large as the noise. */
enum status model_refactor(struct pool *, size_t M, double *L, const double *diag, double ratio,
                           double jitter, const struct ctl *, struct err *);

/* noise^2 / amplitude^2 rounded to 40 bits, so that a common factor of both, or a round trip
 * through a session file, does not change its last bit. */
double model_round(double);
double model_ratio(double amplitude, double noise);

/* The noise ratio with the best left-out score (CRPS, geometric mean over the t targets) with
 * these features, kernel hyperparameters fixed (model_refine.c).
 * model_refine_by_rows: true where the n x n matrix of the rows gives it, in double precision:
 * fewer rows than the M columns of the model, and no more than AUTO_VARIANCE.
 * model_refine_rows: moves *ratio there, without a factor.
 * model_refine_factor: moves the ratio of a factor (with b and diag) there, and factorises L at it;
 * a factor with jitter keeps ratio and jitter if that is best, and has no jitter otherwise.  With
 * 2 AUTO_VARIANCE columns or more the search takes some of them (model_refine_thins), and the
 * factor may be one that is unmade: NOT_PD where rounding leaves it none at the best ratio.
 * model_refine_every: of how many pairs of M columns it takes one, if they are draws like each
 * other: a power of two that leaves AUTO_VARIANCE columns at least. */
struct model_map;
bool model_refine_by_rows(size_t n, size_t M);
size_t model_refine_every(size_t M);
bool model_refine_thins(const struct model_map *);
enum status model_refine_rows(struct fop *, size_t t, const double *y, double *ratio,
                              const struct ctl *, struct err *);
enum status model_refine_factor(const struct model_map *, size_t t, const double *y,
                                struct gram_factor *, const struct ctl *, struct err *);
/* The effective dimension M - ratio tr A^-1 from the factor L of A (share/doc/methods.md 6.7).
 * tr A^-1 = |L^-1|_F^2 is summed over blocks of columns of L^-1, M^3 / 3 operations; its terms, the
 * diagonal of A^-1, go to `inverse` (M; NULL: not wanted).  Where they are not wanted, with 4096
 * columns or more, it is estimated by random vectors, if that leaves a standard error of 0.2 % of
 * the effective dimension or less. */
enum status model_effdim(struct pool *, size_t M, const double *L, double ratio, double *effdim,
                         double *inverse, const struct ctl *, struct err *);
/* The effective dimension with the first half of the columns, rescaled by sqrt 2, from the Gram
 * matrix in the upper triangle of L.  When it is much smaller, the effective dimension still grows
 * with the number of features: the features, and not the data, limit the variance. */
enum status model_effdim_half(struct pool *, size_t M, const double *L, double ratio,
                              double *effdim, const struct ctl *, struct err *);
/* A feature map and the operator on it.  model_open draws the model's map with `columns` columns
 * and opens the operator over a source.  row_scale of the options is that of the source for
 * training, and NULL for prediction.  The caller closes it. */
struct model_map {
    struct featmap *map;
    struct fop *f;
};
enum status model_open(const struct model *, size_t columns, const struct source *,
                       const struct fop_opts *, const struct backend_ops *, struct model_map *,
                       struct err *);
void model_close(struct model_map *);

/* A prediction under way: mean, and varf unless it is NULL, of n rows for each target. */
struct prediction {
    const struct model *m;
    const struct source *src;
    size_t n;
    double *mean, *varf;
    struct tools on;
    /* For kinds that work tile by tile: the function that fills rows [r0, r1), the length of its
     * workspace in doubles, and its operator, if it has one. */
    enum status (*tile)(const struct prediction *, size_t r0, size_t r1, double *work,
                        struct err *);
    size_t work_len;
    struct fop *f;
    const double *held; /* what a kind makes once for all tiles */
};
/* Rows are handled in tiles of fixed size, the last one padded, so that the bits of a row depend
 * neither on the number of threads nor on how a caller cuts the rows into such tiles. */
enum { MODEL_TILE = 64 };
enum status model_tiles(const struct prediction *, struct err *);

/* Variances of averages under way (model_average): those of `groups` groups of `each` rows.  c
 * holds for each group the mean of what the factor L is for, features or covariances (groups x Mv,
 * 0 at first); prior is free for the kind's use (groups); var is the result. */
struct averaging {
    const struct model *m;
    const struct source *src;
    size_t each, groups;
    double *c, *prior, *var;
    struct tools on;
    struct fop *f;
};
enum status model_average_features(struct averaging *, struct err *);
enum status model_average_exact(struct averaging *, struct err *);
enum status model_average_sparse(struct averaging *, struct err *);

/* A sparse model's factor L of K_zz (M x M), made from its points; the caller frees it. */
double *model_sparse_factor(const struct model *, struct pool *, struct err *);

/* Bytes that left-out residuals take beside the factor of the variances, which have Mv features and
 * the mean M (model_left_out.c). */
double model_left_out_bytes(double n, double M, double Mv, double threads);

/* The plan of a model on features (model_plan.c). */
enum status model_plan_features(const struct fit_opts *, size_t n, size_t d, size_t threads,
                                struct fit_plan *, char note[256], struct err *);

/* The start of the iterations (model_start.c).  model_start_same: true when s has the same features
 * as m, or the same exact kernel but for its hyperparameters, so that its weights are the start.
 * model_start_rows: for each of the M rows of m->X, the row of X (s->M x s->d) with the same
 * inputs, or SIZE_MAX, in *from, which the caller frees, and their number; rows that are there
 * several times are taken in their order.  model_start_check: STATE unless s can be a start (NULL
 * can).  model_start_project: weights for the columns of f (t x M, the caller frees them) from the
 * predictions f of s at the rows of src, w0 = P^-1 Z'f; pre NULL: Z'f. */
bool model_start_same(const struct model *s, const struct model *m);
enum status model_start_rows(const struct model *s, const double *X, const struct model *m,
                             size_t **from, size_t *found, struct err *err);
enum status model_start_check(const struct model *s, const struct source *src, size_t targets,
                              struct err *);
enum status model_start_project(const struct model *s, const struct source *src, struct fop *f,
                                const struct precond *pre, const struct tools *, double **w0,
                                struct err *);

/* A ctl that passes ticks on under another phase: a fit reports its purpose, not the product that
 * is running. */
struct phase_ctl { struct ctl ctl; const struct ctl *outer; enum phase phase; };
const struct ctl *model_phase(struct phase_ctl *, const struct ctl *outer, enum phase);
/* Reports work that has no count of passes under its own phase: a factorisation, or the search for
 * the noise ratio (done: ratios tried so far). */
void model_step(const struct ctl *, enum phase, size_t done);

#endif
