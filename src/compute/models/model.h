/* compute/models/model.h -- a fitted Gaussian process: fit, mean, variance. Immutable once fitted,
 * shared by reference.  y is scaled; outputs are in scaled units (the program turns them back).
 *
 * Several targets share kernel, features and the ratio of noise to amplitude: one matrix, a
 * right-hand side for each, and each with its own amplitude in closed form (share/doc/methods.md
 * 6.4).  Vectors of targets, weights and predictions then come one after the other. */
#ifndef GPDESK_MODEL_H
#define GPDESK_MODEL_H

#include "compute/backend.h"
#include "compute/kernels/kernel.h"
#include "compute/solvers/solver.h"
#include "compute/tools.h"

enum variance_mode { VAR_AUTO, VAR_ALL, VAR_NONE, VAR_COUNT };

struct fit_opts {
    const char *solver;      /* solver_find: "auto" "exact" and the registry's */
    double solver_params[SOLVER_MAX_PARAMS]; /* of its own table; 0: default */
    const char *precond;     /* precond_find; NULL: the default ("srht2") */
    size_t features, rank;   /* rank 0: chosen by the rule, reported */
    double rtol; size_t maxit;
    enum variance_mode variance; size_t variance_count;
    enum plan plan; enum storing store; enum precision precision;
    size_t mem_limit;        /* bytes; 0: none */
    bool device_exact;       /* that device has products with exact kernels */
    size_t device_free; /* bytes free on the device that makes and holds features, as model_on */
    size_t device_cores;     /* found them; 0: this processor does.  Cores: of the host beside it */
    uint64_t seed;
    size_t targets;          /* vectors in y; 0: one */
    struct kernel kernel; double hp[KERNEL_MAX_HP];
    double amplitude, noise; /* of every target */
    /* A tuning at fewer features counts what those missed as noise.  So by default the noise ratio
     * moves to the one that predicts best at this fit's own features (leave-one-out errors, kernel
     * hyperparameters fixed), and amplitude and noise to the likeliest there; an exact fit does the
     * latter only.  keep_scale: they stay as they are, as when the user has set them. */
    bool keep_scale;
    /* The ratio of noise to amplitude stays, the amplitude may follow the data: a stopped fit that
     * goes on. */
    bool keep_ratio;
    /* Where iterations start: a model of the same inputs and number of targets (else STATE).  Of
     * the same features (kernel but for its hyperparameters, number, seed) its weights; of others
     * what it predicts of the training rows, projected on these (model_start.c).  The latter saves
     * steps only where few digits are wanted: the last ones are in directions that the start knew
     * nothing of (share/doc/solvers.md).  Lent; NULL: zero. */
    const struct model *start;
};
/* What a rank would give and cost, by the spectrum of a sample of rows; rank 0: no preconditioner.
 * Seconds are of one core, by sizes, and only good for comparison. */
enum { RANK_GUESSES = 20 };
struct rank_guess {
    size_t rank;
    double ratio, iterations, low,
        high; /* of the last eigenvalue to the noise; expected, and range */
    double build, iteration, seconds;    /* seconds: build + solves x iterations x iteration */
    double bytes;                        /* at the peak */
    bool capped;                         /* as many as are allowed, or more */
};
/* Plain, storable description and numbers of a fit. */
struct fit_info {
    char solver[16], precond[16], plan[16];
    bool half;                   /* plan store, in float16 */
    enum outcome why;
    size_t features, rank, iterations, variance_features, rows, inputs;
    double residual, true_residual, ratio, effective_dimension; /* residuals: of the worst target */
    bool float_limit;
    double passes;               /* of the solver over the data, those of checks included */
    size_t halved;               /* times that the solver's step was halved because it diverged */
    /* Of P^-1 A, from the coefficients of conjugate gradients (from below), with the extreme Ritz
     * values; of A, from the preconditioner's spectrum (from above).  NaN: unknown. */
    double condition, ritz_min, ritz_max, condition_plain;
    bool warm, projected;        /* started from another model; from its predictions, */
    double start_residual;       /* with this relative residual (1: from zero) */
    bool rank_chosen;            /* the rank is the fit's own choice, from evidence: */
    double rank_iterations, rank_seconds; /* predicted with it; NaN: no prediction */
    size_t rank_rows, nguess;    /* rows of the sample; of the table (not kept in sessions) */
    struct rank_guess guess[RANK_GUESSES];
    double amplitude, noise;     /* of the model (its first target) */
    double scale;                /* amplitude over the one given; 1 under keep_scale */
    double train_rmse;           /* scaled units, over all targets */
    /* Each target's: iterations, residuals (NaN: none). */
    size_t targets;
    struct { double iterations, residual, true_residual; } target[TARGETS_MOST];
    struct { double features, precond, solve, variance, total; } seconds;
    /* Of this fit, beside the inputs: as predicted at the start, and once a rank was chosen; within
     * a tenth of what it takes (tests/bench/bench_memory.c). */
    size_t predicted_bytes, peak_bytes;
    char plan_note[256];     /* which plan, and what the others would have cost */
    char warning[256];       /* variance starvation, float limit...; empty: none */
    char warning_name[32];
};
struct model_ops;
struct model {
    int refs;                    /* atomic; use model_ref / model_unref */
    const struct model_ops *kind;
    struct kernel kernel; double hp[KERNEL_MAX_HP];
    double amplitude, noise;     /* beta, sqrt(lam2), scaled units; of the first target */
    uint64_t seed;
    size_t d, M, t;              /* inputs; features (exact: training rows); targets */
    double amplitudes[TARGETS_MOST], noises[TARGETS_MOST]; /* of each; one ratio */
    double *w;                   /* t x M: weights at amplitude 1 (exact: alpha) */
    /* Variance: lower Cholesky factor of Zv'Zv + ratio I (exact: of K1 + ratio I), column-major
     * Mv x Mv; NULL: none kept (recomputed from data) or VAR_NONE. */
    size_t Mv; double *L;
    double *X;                   /* exact: training inputs, M x d row-major; else NULL */
    enum precision precision;
};
/* A kind of model: its row in the registry.  What the program asks of a kind is one of these
 * members, never which kind it is.  fit.h and model_impl.h have what fits and predictions are made
 * of. */
struct fit;
struct fit_plan;
struct prediction;
struct model_ops {
    const char *name; /* "features", "exact": in sessions, and as plan and solver of a kind without
                       * features */
    const char *solver; /* the word of solver= that asks for it; NULL: that of no other kind */
    bool exact;         /* the kernel itself: no approximation of it */
    bool draws;         /* has random features, in pairs; a number of them can be asked for */
    bool keeps_inputs;  /* keeps the training inputs (model.X), also in sessions */
    size_t (*size)(const struct fit_opts *, size_t n); /* weights of a target */
    enum status (*plan)(const struct fit_opts *, size_t n, size_t d, size_t threads,
                        struct fit_plan *, char note[256], struct err *);
    /* Fills weights, and L where it is at hand; then, by target, the squared residuals of the
     * training rows and y' (K1 + ratio I)^-1 y; then `end`, whatever rc was, frees what the fit
     * held. */
    enum status (*fit)(struct fit *, struct err *);
    enum status (*moments)(struct fit *, double *rr, double *c, struct err *);
    void (*end)(struct fit *, enum status rc);
    void (*check)(struct fit *); /* warns of what the finished model shows; NULL: nothing */
    enum status (*variance)(struct model *, const struct source *train, size_t Mv,
                            const struct tools *, double *effdim, struct err *);
    bool (*suits)(const struct model *, const struct source *, struct err *); /* else SHAPE */
    enum status (*predict)(struct prediction *, struct err *);
};
/* The registry of kinds of model: a row for each; the first is that of a solver= that asks for no
 * other kind. */
#define MODEL_KINDS(row) \
    row(features_model)  \
    row(exact_model)

#define MODEL_DECLARED(name) extern const struct model_ops name;
MODEL_KINDS(MODEL_DECLARED)
#undef MODEL_DECLARED
const struct model_ops *model_kind_at(size_t i);              /* NULL past the end */
const struct model_ops *model_kind_of(const char *solver);    /* that a word of solver= asks for */

struct model *model_ref(struct model *);
void model_unref(struct model *);

/* Says where features are made and held, for plans: on the backend's device in use, if it has any.
 */
void model_on(struct fit_opts *, const struct backend_ops *, size_t threads);
/* Bytes that a fit would need at its peak, and the plan it would take; for `dry` and for refusing
 * before the start. */
enum status model_plan(size_t n, size_t d, const struct fit_opts *, size_t threads,
                       enum plan *plan, size_t *bytes, char note[256], struct err *);
/* y: opts->targets vectors of n, scaled.  Ticks "features" "precond" "cg" "variance".  An early
 * stop still returns a model; a constant y is RANGE. */
enum status model_fit(const struct source *, const double *y, const struct fit_opts *,
                      const struct tools *, struct model **out, struct fit_info *,
                      struct solve_info *trace, struct err *);
/* mean and latent variance (n of each target, one target after the other; varf NULL: mean only),
 * scaled units.  STATE when variance is asked and the model keeps no factor. */
enum status model_predict(const struct model *, const struct source *, double *mean, double *varf,
                          const struct tools *, struct err *);
/* Rebuilds the variance factor from the training data (after a resume without one): same bits. */
enum status model_variance(struct model *, const struct source *train, size_t Mv,
                           const struct tools *, double *effdim, struct err *);

#endif
