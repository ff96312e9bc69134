/* app/core/run.h -- a tuning or a fit: what was asked for, how it went, and what it produced. */
#ifndef GPDESK_RUN_H
#define GPDESK_RUN_H

#include "compute/models/model.h"
#include "compute/stats/metrics.h"
#include "compute/tuners/tune.h"
#include "data/dataset.h"

enum run_kind { RUN_TUNE, RUN_FIT };
enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_DONE, RUN_STOPPED, RUN_FAILED };
const char *run_state_name(enum run_state);

/* A point of a run's trace. For a solver: step is the iteration, value the recursive residual
 * (or an estimate from batches: trace.h),
 * value2 the true residual (NaN if not computed), passes the passes over the data (NaN in old
 * sessions), error_k, error_k2 and rmse those of a fit watched against another (ctl.h; NaN: no
 * look), ritz the smallest Ritz value of conjugate gradients (0 or NaN: not computed there).
 * For a search: step is the evaluation, value the objective, value2 the best objective
 * so far, point the hyperparameters, amplitude and noise. */
struct trace_point {
    uint32_t step;
    float seconds;
    bool sampled; /* of a search that runs (trace_sampled) */
    double value, value2;
    union {
        struct { double passes, ritz, error_k, error_k2, rmse; };
        double point[6];
    };
};

/* Predictions for rows of the training dataset or of new data, in units of the target. */
struct prediction {
    /* n rows, t targets: each array below but row holds t vectors of n values */
    enum part part; size_t n, t;
    size_t *row; double *y, *mean, *sd_latent, *sd;   /* y is NaN where it is unknown */
    /* in units of the training sd; var includes the noise variance */
    double *y_scaled, *mean_scaled, *var_scaled;
    struct reach *reach; /* t: those of the model; NULL: of the normal distribution */
    /* Of several classes: their probabilities, `classes` vectors of n; y and mean are then numbers
     * of classes, observed and likeliest, and mean_scaled is the probability of the latter. */
    size_t classes; double *prob;
    double *taken; /* of two classes: the one that a rule chose (decision.h); NULL: no rule */
};
/* The class that was chosen in row i: of two the second one, where no rule says otherwise, from a
 * probability (the mean) of 0.5 on. */
double run_prediction_class(const struct prediction *, size_t i);
void run_prediction_free(struct prediction *); /* Frees the arrays that it holds. */
/* A copy of the prediction of one target, which the caller frees. */
enum status run_prediction_copy(const struct prediction *one, struct prediction *out,
                                struct err *);

/* Simple models beside which a score is read: the training mean with the training sd, and ridge
 * regression on the same inputs (scoring/scoring_baseline.c). */
enum { BASELINE_MEAN = 0, BASELINE_RIDGE, BASELINES };
extern const char *const run_baseline_words[BASELINES + 1]; /* NULL at the end */
/* Their scores at the rows of a run's score. */
struct run_baseline {
    bool have[BASELINES];
    char why[120];        /* why there is no ridge regression; "": there is one */
    size_t inputs;        /* of the ridge regression, */
    double lambda;        /* and its parameter */
    size_t targets;
    struct metrics of[];  /* BASELINES x (scaled, raw) x targets */
};
/* Empty, with room for so many targets; the caller frees it. NULL: NOMEM. */
struct run_baseline *run_baseline_new(size_t targets, struct err *);

struct run {
    char id[16];                 /* "r7" for a fit, "t2" for a tuning */
    enum run_kind kind; enum run_state state;
    struct dataset *data;        /* a snapshot; NULL if the session could not find the file */
    char *dataset_name, *kernel_text, *command; /* in canonical form */
    struct encoding enc; bool has_enc;
    struct fit_opts fit; struct fit_info info; /* for RUN_FIT */
    struct model *model;         /* for RUN_FIT, once it is done */
    /* for RUN_TUNE; the start points are borrowed from the run */
    struct tune_opts topt; struct tune_result tune;
    struct solve_info solve;     /* amplitude and noise as the solver used them (alpha, beta) */
    struct trace_point *trace; size_t ntrace, captrace;
    /* A fit whose map was learned anew (calibrate): the steps of that, as those of a search. */
    struct trace_point *learned; size_t nlearned, caplearned;
    /* A sparse fit: the rounds of its choice so far, as model.rounds has them in the end. */
    double *rounds; size_t nrounds, caprounds;
    double trace_target;         /* the requested relative residual */
    struct tick last;            /* the newest tick; its point is NULL */
    double started, ended;       /* monotonic seconds; `created` has the wall-clock time */
    int64_t created;             /* seconds since 1970 (Unix time) */
    bool has_score; struct metrics score_scaled, score_raw; enum part score_part; size_t score_rows;
    /* scores of the targets after the first: scaled, then raw */
    struct metrics (*more)[2]; size_t nmore;
    struct run_baseline *baseline; /* NULL: none was asked for, or the session is an older one */
    /* from the last score or check */
    struct prediction train_pred, test_pred; bool has_train, has_test;
    char *note; bool star, dropped; /* dropped: it is in the bin */
    size_t serial;               /* creation order, from 0 */
    struct err failure;          /* for RUN_FAILED */
    char verdict[256];           /* one sentence for tables and views */
};

void run_free(struct run *);
/* Scores of target j, in units of its training sd or (raw) in its own units. NULL if there are
 * none. */
const struct metrics *run_metrics(const struct run *, size_t j, bool raw);
/* Those of a simple model, from target j on: in memory they stand one after another. NULL if there
 * are none. */
const struct metrics *run_baseline(const struct run *, size_t which, size_t j, bool raw);
/* The number of targets of a run; the index of a target by name (NULL: the first). If there is no
 * such target, NOT_FOUND lists their names. */
size_t run_targets(const struct run *);
enum status run_target(const struct run *, const char *name, size_t *j, struct err *);
/* UNSUPPORTED for a model of several classes, which has a function for each: what looks at one
 * function, or writes it, asks here first. */
enum status run_one_function(const struct run *, struct err *);
/* The kind of model that a fit has or was to have, or that a tuning was for. */
const struct model_ops *run_model_kind(const struct run *);
/* For titles: " of NAME" if a run has several targets, otherwise "". */
const char *run_suffix(const struct run *, size_t j, char *out, size_t len);
/* True if the run was cancelled, by a key, `stop` or the end of the program.  A fit that ended at
 * its limit of iterations was not. */
bool run_interrupted(const struct run *);

#endif
