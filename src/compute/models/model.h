/* compute/models/model.h -- a fitted Gaussian process: how it is fitted, and its predictions of
 * mean and variance (share/doc/methods.md 5.2, 6.1).  A model is immutable once fitted and shared
 * by reference.  Targets y are standardised and predictions are in the same scaled units; the
 * program converts them back.
 *
 * Several targets share the kernel, the features and the ratio of noise to amplitude: there is one
 * matrix with a right-hand side for each target, and each has its own amplitude in closed form
 * (share/doc/methods.md 6.4).  Vectors of targets, weights and predictions follow one another. */
#ifndef GPDESK_MODEL_H
#define GPDESK_MODEL_H

#include "compute/backend.h"
#include "compute/inducing/select.h"
#include "compute/kernels/kernel.h"
#include "compute/likelihood/likelihood.h"
#include "compute/solvers/solver.h"
#include "compute/stats/reach.h"
#include "compute/tools.h"

/* How the amplitude follows the data at a ratio of noise to amplitude: not at all; the likeliest
 * one (share/doc/methods.md 6.4); or the one at which left-out errors have the predicted variance
 * on average (6.17), and intervals then reach as far as left-out errors do (6.20). */
enum scale_rule { SCALE_GIVEN, SCALE_LIKELIEST, SCALE_LEFT_OUT };
struct model_ops;
enum variance_mode { VAR_AUTO, VAR_ALL, VAR_NONE, VAR_COUNT, VAR_SAMPLES };

/* The words of enum plan and enum storing, in their order; NULL ends. */
extern const char *const model_plan_words[], *const model_store_words[];

struct fit_opts {
    const struct model_ops *kind; /* of the model; NULL: random features, but for a solver that
                                   * asks for another kind */
    /* What the targets are; NULL: numbers with Gaussian noise.  One of classes has a kind of model
     * of its own, and targets of -1 and +1. */
    const struct likelihood_ops *likelihood;
    struct source_labels labels; /* of several classes, whose y is one vector of labels */
    const char *solver;      /* solver_find: "auto" "exact" and the registry's */
    double solver_params[SOLVER_MAX_PARAMS]; /* of its own table; 0: default */
    const char *precond;     /* precond_find; NULL: the default ("srht2") */
    size_t features, rank;   /* rank 0: chosen by the rule, reported */
    double rtol; size_t maxit;
    enum variance_mode variance; size_t variance_count;
    size_t samples;          /* functions of the posterior that are solved for beside y; 0: none */
    enum plan plan; enum storing store; enum precision precision;
    size_t mem_limit;        /* bytes; 0: none */
    bool device_exact;       /* the device computes products with exact kernels */
    size_t device_free;      /* bytes free on the device that makes and holds features (model_on);
                              * 0: the CPU does */
    size_t device_cores;     /* cores of the host beside that device */
    /* Products of conjugate gradients on an exact kernel, without and with the preconditioner, as a
     * sample of the rows forecasts them (model_forecast.h); 0: counted from sizes alone.  A fit
     * enters them itself. */
    double products[2];
    uint64_t seed;
    size_t targets;          /* vectors in y; 0: one */
    struct select_opts inducing; /* solver=sparse: the points, and how they are chosen */
    double cost;             /* solver=svm: C, the price of errors; else 0 */
    struct kernel kernel; double hp[KERNEL_MAX_HP];
    double amplitude, noise; /* of every target */
    /* Tuning with fewer features counts as noise what those features miss.  By default a fit
     * therefore moves the noise ratio to the one that predicts best with its own features
     * (leave-one-out errors, kernel hyperparameters fixed), and amplitude and noise to the
     * likeliest there; an exact fit does only the latter.  With keep_scale amplitude and noise stay
     * as they are, as when the user has set them. */
    bool keep_scale;
    /* The ratio of noise to amplitude stays and the amplitude may follow the data, as when a
     * stopped fit continues. */
    bool keep_ratio;
    /* SCALE_LEFT_OUT: the amplitude then moves to the one at which left-out residuals have the
     * predicted variance on average; otherwise it stays the likeliest.  rescale.h enters all three
     * members by a word. */
    enum scale_rule scale;
    /* Where iterations start: a model with the same inputs and number of targets (else STATE).  If
     * it has the same features (kernel but for its hyperparameters, number, seed), from its
     * weights; otherwise from its predictions of the training rows, projected on the new features
     * (model_start.c).  The latter saves iterations only at loose tolerances: the last digits lie
     * in directions about which the start has no information (share/doc/solvers.md).  An exact
     * kernel has a weight for each row: rows that the start has, too, begin at its weights and all
     * others at 0.  Borrowed; NULL: start from zero. */
    const struct model *start;
    /* The training rows of `start`, as the source encodes rows (start->M x start->d), by which they
     * are found again; NULL: start->X.  Borrowed. */
    const double *start_rows;
    /* An exact kernel on products: at looks on the way, the distance of the weights from those of
     * this model, which solves the same system (else STATE), and the errors of held-out rows are
     * reported (model_watch.c).  ytest: targets vectors of test->n, scaled.  Borrowed; NULL:
     * none. */
    const struct model *against;
    const struct source *test; const double *ytest;
    /* softmax and discriminant: training rows that the kernel's maps have not seen, by which the
     * amplitude is chosen.  Borrowed; NULL: rows are drawn. */
    const size_t *unseen; size_t nunseen;
};
/* What a preconditioner of some rank would give and cost, predicted from the spectrum of a sample
 * of rows; rank 0 means no preconditioner.  Seconds are those of one core, computed from sizes, and
 * are meant for comparison only. */
enum { RANK_GUESSES = 20 };
struct rank_guess {
    size_t rank;
    double ratio;                 /* last eigenvalue of the preconditioner over the noise ratio */
    double iterations, low, high; /* expected iterations, and their range */
    double build, iteration, seconds;    /* seconds = build + solves x iterations x iteration */
    double bytes;                        /* at the peak */
    bool capped;                         /* iterations reach the most that is counted */
    bool more; /* low is all that is known: there is no upper end (high is then infinite) */
};
/* Another way to the weights of an exact kernel, by the name of its solver; of one core. */
enum { ADVICE_WAYS = 4 };
struct advice_way { char name[16]; double seconds, bytes; };
/* The description and the figures of a fit; plain data that a session can store. */
struct fit_info {
    char solver[16], precond[16], plan[16];
    bool half;                   /* plan store, in float16 */
    bool bits;                   /* features as bits */
    bool stored;                 /* exact kernel: its matrix was stored, in float32 */
    enum outcome why;
    size_t features, rank, iterations, variance_features, rows, inputs;
    double residual, true_residual, ratio, effective_dimension; /* residuals of the worst target */
    bool float_limit;
    double passes;               /* the solver's passes over the data, checks included */
    size_t batch;                /* rows of a step of a dual descent; 0: none, or all */
    double step, step_limit;     /* its n beta, and the longest stable one; 0: none */
    double momentum;             /* of its velocity */
    double lambda1;              /* largest eigenvalue of K1 over n; 0: not computed */
    double evidence;             /* classes: the logarithm of the approximate evidence; else NaN */
    double level;                /* as that of the model */
    size_t halved;               /* how often the solver halved its step because it diverged */
    /* The condition number of P^-1 A from the coefficients of conjugate gradients (a lower bound),
     * with the extreme Ritz values (share/doc/methods.md 10.1), and that of A from the spectrum of
     * the preconditioner (an upper bound).  NaN: unknown. */
    double condition, ritz_min, ritz_max, condition_plain;
    /* A sparse fit: its points, how many of them are no training rows, candidates that the others
     * span; how often they were chosen; the bound of the log likelihood (VFE; NaN: it has none),
     * or what FITC and DTC have in its place, at the model's likeliest amplitude; the latter at the
     * given amplitude and noise, and with the best ones, whose noise is noise_best. */
    size_t inducing, outside, skipped, choices;
    double bound, objective, bound_given, objective_best, noise_best;
    /* solver=nn: its neighbours, and the mean negative logarithm of the density of left-out rows at
     * their best amplitude (share/doc/methods.md 24). */
    size_t neighbours;
    double left_out_nlpd;
    /* A support vector machine: its support vectors, how many of them have the largest weight that
     * C allows, C, the sigmoid of its probabilities (stats/platt.h), and the log loss of these on
     * the rows left out for it; else 0. */
    size_t support, bounded;
    double cost, sigmoid_a, sigmoid_b, sigmoid_loss;
    bool means_only;             /* the plan has no variances */
    bool not_there;          /* a device was there, but has no form of the kernel */
    size_t samples;              /* functions solved for beside the targets */
    double samples_residual;     /* relative residual of the worst of them; NaN: none, or direct */
    bool warm, projected;        /* started from another model; from its projected predictions */
    double start_residual;       /* relative residual of the start (1: started from zero) */
    size_t start_rows;           /* exact kernel: rows that began at the start's weights */
    size_t resumed;              /* steps of the run that the solver went on from; 0: it did not */
    bool rank_chosen;            /* the fit chose the rank itself (model_rank.c) */
    double rank_iterations, rank_seconds; /* predicted for that rank; NaN: no prediction */
    size_t rank_rows, nguess;    /* rows of the sample; of guess[] (not kept in sessions) */
    struct rank_guess guess[RANK_GUESSES];
    double amplitude, noise;     /* of the model's first target */
    double scale;                /* amplitude over the given amplitude; 1 under keep_scale */
    double likeliest_low, likeliest_high; /* where the likeliest one lies; NaN: unknown */
    /* Left-out rows of the first target: their number (0: unknown), the mean of their squared
     * errors over predicted variances at the amplitude that the likelihood or the user chose and at
     * the final one, the standard error of the latter, and the share inside the 95 % interval. */
    size_t left_out_rows;
    double left_out_before, left_out_z2, left_out_z2_se, left_out_coverage95;
    /* How many sd the 95 % interval of the first target reaches, and the share of left-out rows
     * within 1.96 sd.  NaN: unknown. */
    double reach95, left_out_within196;
    /* The latent variance at amplitude 1 that 99 of 100 left-out rows do not exceed: a new row
     * beyond it is unlike the training rows.  NaN: unknown. */
    double left_out_latent99;
    double train_rmse;           /* scaled units, over all targets */
    /* Iterations and residuals of each target (NaN: none). */
    size_t targets;
    struct { double iterations, residual, true_residual; } target[TARGETS_MOST];
    /* sums: of several processes that share the rows, the seconds that sums took between them. */
    struct { double features, precond, solve, variance, total, sums; } seconds;
    size_t ranks;                /* those processes; 0: there was one */
    /* Bytes of this fit, inputs not counted: predicted at the start, and again once a rank was
     * chosen.  Both are within a tenth of what it takes (tests/bench/bench_memory.c). */
    size_t predicted_bytes, peak_bytes;
    /* A model that was calibrated (stats/calibration.h): in which way, by how many rows, for which
     * level, the factor of all its variances, and how many sd its interval of that level reaches
     * (of the first target).  Rows 0: it was not. */
    char calibration[16];
    size_t calibration_rows;
    double calibration_level, calibration_factor, calibration_reach;
    /* Of classes instead: the temperature, and what a class of a prediction set may lack of
     * probability 1; 0: none. */
    double calibration_temperature, calibration_set;
    char plan_note[256];     /* which plan, and what the others would have cost */
    char warning[256];       /* variance starvation, float limit...; empty: none */
    char warning_name[32];
};
struct model_ops;
struct model {
    int refs;                    /* atomic; use model_ref / model_unref */
    const struct model_ops *kind;
    const struct likelihood_ops *likelihood; /* of classes: what makes probabilities; else NULL */
    struct kernel kernel; double hp[KERNEL_MAX_HP];
    double amplitude, noise;     /* beta and sigma of the first target, scaled units */
    uint64_t seed;
    size_t d, M, t;              /* inputs; features (exact: training rows); targets */
    double amplitudes[TARGETS_MOST], noises[TARGETS_MOST]; /* of each target, all with one ratio */
    struct reach reach[TARGETS_MOST]; /* of each target: how far its intervals reach */
    double *w;                   /* t x M: weights at amplitude 1 (exact: (K1 + ratio I)^-1 y; nn:
                                  * the targets y) */
    /* For variances: the lower Cholesky factor of Zv'Zv + ratio I (exact: of K1 + ratio I),
     * column-major Mv x Mv.  NULL: none is kept (model_variance recomputes it), or VAR_NONE. */
    size_t Mv; double *L;
    /* Several classes: a factor like L for each (t x M x M, share/doc/methods.md 17.3).  NULL: they
     * have to be made again (model_variance). */
    double *factors;
    struct model *lender; /* a copy has the factors of this one, to which it holds a reference */
    /* Classes that were calibrated: their latent functions are divided by it; 0: by 1.  And their
     * prediction sets: what a class may lack of probability 1 (stats/calibration.h); 0: none. */
    double temperature, set_reach;
    double level;                /* two classes, sparse: the mean of the prior; else 0 */
    /* Functions of the posterior that the fit solved for (share/doc/methods.md 5.11, 6.19), S x M
     * at amplitude 1, so that one set serves all targets; their random numbers follow from the
     * seed.  NULL with S 0. */
    size_t S; double *a;
    double *X;                   /* exact: training inputs; sparse: the points; svm: the support
                                  * vectors; M x d row-major; else NULL */
    /* A local scale of errors (stats/spread.h): t x (nspread + 1) weights; NULL: the sd of a row is
     * that of the function and the noise.  one_spread: one scale for all rows, nspread is 0. */
    size_t nspread; double *spread, spread_hp[KERNEL_MAX_HP]; bool one_spread;
    /* Intervals from folds (stats/crossfit.h) at a level: how many, their weights (ncv x t x M) and
     * errors (ncv + t x training rows); 0: none. */
    size_t ncv, ncv_errors; double cv_level, *cv_w, *cv;
    size_t neighbours;           /* nn: training rows that predict a row; else 0 */
    double *row_scale;           /* nn: square roots of the weights of rows (M); NULL: all 1 */
    double *origin;              /* sparse, svm: the training row that each is, or -1 (M) */
    enum bound_approx approx;    /* sparse */
    enum precision precision;
    /* What lets the solver go on as if it had not been stopped (struct solve_opts); NULL: only the
     * weights are there to start from. */
    double *state; size_t nstate;
    /* sparse: the rounds in which its points were chosen, MODEL_ROUND numbers each: how many, the
     * bound of the set, the best so far, the share of moves that were accepted. */
    double *rounds; size_t nrounds;
};
enum { MODEL_ROUND = 4 };
/* A kind of model: its row in the registry.  The program asks these members, never which kind a
 * model is.  fit.h and model_impl.h describe fits and predictions under way. */
struct fit;
struct fit_plan;
struct prediction;
struct averaging;
struct model_tuning;
struct left_out;
struct functions;
struct model_ops {
    const char *name; /* "features", "exact": the name in sessions, and the reported plan and solver
                       * of a kind without features */
    const char *solver; /* the value of solver= that is this kind's own; NULL: it has none */
    const struct solver_param *params; /* of that solver, in brackets behind it; NULL: none */
    const char *words;  /* "random features", "exact kernel": what it computes with */
    const char *cite;   /* the method and its source, for the methods paragraph of a report */
    bool classes;       /* its targets are classes, predictions those of the latent function */
    bool several;       /* of several classes, with a latent function each */
    const struct likelihood_ops *of; /* several classes: by which likelihood; else NULL */
    bool point;         /* its functions have no variances, unless a fit asks for them (Mv > 0) */
    bool iterates;      /* classes: a stopped fit can go on from its weights */
    bool alone;         /* no solver but its own serves it */
    bool points;        /* keeps inducing points: it takes inducing=, approx= and select= */
    bool margin;        /* separates classes at the price C of errors: it takes C=, and has neither
                         * evidence nor variances; what it keeps are support vectors, no points */
    bool exact;         /* uses the kernel itself, without approximation */
    bool local;         /* makes a factor anew for each predicted row: it keeps none */
    bool draws;         /* has random features, in pairs, whose number can be set */
    bool keeps_inputs;  /* keeps inputs (model.X), in sessions too */
    bool keeps_rows;    /* they are all training rows, which is all that variances are made of */
    size_t (*size)(const struct fit_opts *, size_t n); /* number of weights of one target */
    enum status (*plan)(const struct fit_opts *, size_t n, size_t d, size_t threads,
                        struct fit_plan *, char note[256], struct err *);
    /* Enters into the options what a sample of the rows tells of the cost; NULL: nothing. */
    enum status (*sample)(const struct fit *, struct fit_opts *, struct err *);
    /* `fit` fills the weights, and L where the solver made it.  `moments` then gives for each
     * target rr = |y - mean|^2 over the training rows and c = y' (K1 + ratio I)^-1 y; NULL:
     * amplitude and noise stay as they are.  `end` is
     * called last, whatever rc was, and frees what the fit held. */
    enum status (*fit)(struct fit *, struct err *);
    enum status (*moments)(struct fit *, double *rr, double *c, struct err *);
    void (*end)(struct fit *, enum status rc);
    void (*check)(struct fit *); /* adds warnings about the finished model; NULL: none */
    /* Left-out residuals of a fit that has the factor for the variances (compute/models/fit.h);
     * NULL: it has none. */
    enum status (*left_out)(struct fit *, struct left_out *, struct err *);
    enum status (*variance)(struct model *, const struct source *train, size_t Mv,
                            const struct tools *, double *effdim, struct err *);
    /* FORMAT where arrays of a session, trained on that many rows, make no model; NULL: the common
     * checks suffice. */
    enum status (*loaded)(const struct model *, size_t rows, struct err *);
    bool (*suits)(const struct model *, const struct source *, struct err *); /* else SHAPE */
    enum status (*predict)(struct prediction *, struct err *);
    enum status (*average)(struct averaging *, struct err *); /* NULL: not supported */
    /* Draws functions from the posterior (compute/models/functions.h); NULL: it cannot. */
    enum status (*functions)(const struct model *, struct functions *, const struct tools *,
                             struct err *);
    /* The functions that the fit solved for, without the mean and at amplitude 1. */
    enum status (*solved)(const struct model *, struct functions *, struct err *);
    /* Of two classes: the probability of +1 at a predicted mean; NULL: that of the likelihood. */
    double (*probability)(const struct model *, double mean);
    /* What the mean has for a row without any covariance; NULL: 0. */
    double (*constant)(const struct model *);
    /* How the fit ended, in a sentence; NULL: what the solver or the likelihood says. */
    void (*verdict)(const struct fit_info *, char *out, size_t n);
    const struct model_tuning *tuning; /* how its hyperparameters are found (tuning.h) */
};
/* The registry of kinds of model, a row for each.  The first one serves every solver= that does not
 * ask for another kind. */
#define MODEL_KINDS(row) \
    row(features_model)  \
    row(exact_model)     \
    row(classes_model)   \
    row(sparse_model)    \
    row(sparse_classes_model) \
    row(dirichlet_model) \
    row(dirichlet_exact_model) \
    row(softmax_model) \
    row(discriminant_model) \
    row(nn_model) \
    row(svm_model)

#define MODEL_DECLARED(name) extern const struct model_ops name;
MODEL_KINDS(MODEL_DECLARED)
#undef MODEL_DECLARED
const struct model_ops *model_kind_at(size_t i);              /* NULL past the end */
/* The kind that a fit with these options will have. */
const struct model_ops *model_kind_of(const struct fit_opts *);
const struct model_ops *model_kind_by(const char *solver); /* that a solver asks for; NULL: any */
/* The kind whose own solver a text names, as nn(neighbours=50); NULL: none. */
const struct model_ops *model_kind_own(const char *text);
const struct model_ops *model_kind_named(const char *name);   /* NULL: there is no such kind */
/* The first kind that uses the kernel itself, or that does not: what few rows, and many, get unless
 * the user names a kind. */
const struct model_ops *model_kind_usual(bool exact);
const struct model_ops *model_kind_points(void); /* the first one that keeps inducing points */

/* Thread-safe reference counts; the last unref frees the model.  NULL is fine for both. */
struct model *model_ref(struct model *);
void model_unref(struct model *);
/* Copies a model for a caller who changes numbers in it: all arrays are still those of `m`, which
 * has to outlive the copy; refs is 0.  Meanwhile others may take and give back references. */
void model_alias(const struct model *m, struct model *copy);
/* A copy with one reference, which the caller may still change before it hands it on; without the
 * state of a solver, but with that of classes, whose factors it shares.  NULL: NOMEM. */
struct model *model_copy(struct model *, struct err *);
/* True if it predicts variances as it is: by a factor, by functions that its fit solved for, by
 * factors that it makes for each row, or because they are 0. */
static inline bool model_has_variance(const struct model *m)
{
    return m->L || m->S > 0 || m->factors || m->kind->local || (m->kind->point && m->Mv == 0);
}

/* Enters into the options, for plans, where features are made and held: on the backend's current
 * device if it has one, else on the CPU. */
void model_on(struct fit_opts *, const struct backend_ops *, size_t threads);
/* The plan that a fit would take and its bytes at the peak, for `dry` and for refusing a fit before
 * it starts.  LIMIT when memory does not suffice, with a hint. */
enum status model_plan(size_t n, size_t d, const struct fit_opts *, size_t threads,
                       enum plan *plan, size_t *bytes, char note[256], struct err *);
/* Fits a model.  y: opts->targets vectors of n, scaled.  Reports progress in phases (phase.h).  A
 * solve that is stopped early still returns a model, from its best iterate.  RANGE for a constant
 * or non-finite y.  The caller owns *out (model_unref) and, if it passes one, *trace
 * (solve_info_free). */
enum status model_fit(const struct source *, const double *y, const struct fit_opts *,
                      const struct tools *, struct model **out, struct fit_info *,
                      struct solve_info *trace, struct err *);
/* The predictive mean and the latent variance var_f, without noise (n for each target, one target
 * after the other, in scaled units; varf NULL: mean only).  share/doc/methods.md 5.2, 6.1.  SHAPE
 * when the inputs do not suit the model, STATE when variances are asked for and it has no
 * factor. */
enum status model_predict(const struct model *, const struct source *, double *mean, double *varf,
                          const struct tools *, struct err *);
/* Of one function of two classes: the probabilities of +1 (p, n) at its predicted means and
 * variances, at the model's temperature.  A kind with a `probability` reads no variances. */
void model_probabilities(const struct model *, size_t n, const double *mean, const double *var,
                         double *p);
/* The variances of averages of the function (without noise): rows g each .. (g + 1) each - 1 of the
 * source are group g, and var[j (n / each) + g] is that of the mean of target j over them, jointly
 * for all rows (share/doc/methods.md 14.2).  Errors as model_predict; STATE without a factor. */
enum status model_average(const struct model *, const struct source *, size_t each, double *var,
                          const struct tools *, struct err *);
/* Rebuilds the factor for the variances from the training data, as after a session was opened
 * without one.  The result has the same bits as that of the fit.  effdim may be NULL. */
enum status model_variance(struct model *, const struct source *train, size_t Mv,
                           const struct tools *, double *effdim, struct err *);

/* By how much, relatively, standard deviations of a model by features would change if L were
 * rounded to single precision: the most of a few random rows, others for each part = 0, 1, ...;
 * INFINITY if there is no answer. */
double model_single_loss(const struct model *, unsigned part);

#endif
