/* app/core/run.h -- a tuning or a fit: what it was asked for, how it went, and what it left. */
#ifndef GPDESK_RUN_H
#define GPDESK_RUN_H

#include "compute/models/model.h"
#include "compute/stats/metrics.h"
#include "compute/tuners/tune.h"
#include "data/dataset.h"

enum run_kind { RUN_TUNE, RUN_FIT };
enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_DONE, RUN_STOPPED, RUN_FAILED };
const char *run_state_name(enum run_state);

/* A point of a run's trace. Of a solver: step = iteration, value = recursive residual, value2 =
 * true residual (NaN where it was not computed), passes = passes over the data (NaN in old
 * sessions). Of a search: step = evaluation, value = objective, value2 = the best so far, point
 * = hyperparameters, amplitude, noise. */
struct trace_point {
    uint32_t step;
    float seconds;
    double value, value2;
    union {
        double passes;
        double point[6];
    };
};

struct prediction {      /* of rows of the training dataset or of new data, units of the target */
    enum part part; size_t n, t; /* rows, targets: t vectors of n below, but for row */
    size_t *row; double *y, *mean, *sd_latent, *sd;   /* y NaN when unknown */
    double *y_scaled, *mean_scaled, *var_scaled;      /* var includes the noise */
};
void run_prediction_free(struct prediction *); /* what it holds */

struct run {
    char id[16];                 /* "r7", "t2" */
    enum run_kind kind; enum run_state state;
    struct dataset *data;        /* snapshot; NULL when the session could not find the file */
    char *dataset_name, *kernel_text, *command; /* canonical */
    struct encoding enc; bool has_enc;
    struct fit_opts fit; struct fit_info info; /* RUN_FIT */
    struct model *model;         /* RUN_FIT, once done */
    struct tune_opts topt; struct tune_result tune; /* RUN_TUNE (start points into the run) */
    struct solve_info solve;     /* alpha, beta of the run */
    struct trace_point *trace; size_t ntrace, captrace;
    double trace_target;         /* rtol */
    struct tick last;            /* newest tick (point NULL) */
    double started, ended;       /* seconds, monotonic while running; wall time in created */
    int64_t created;             /* unix time */
    bool has_score; struct metrics score_scaled, score_raw; enum part score_part; size_t score_rows;
    struct metrics (*more)[2]; size_t nmore; /* of the targets after the first: scaled, raw */
    struct prediction train_pred, test_pred; bool has_train, has_test; /* of the last score/check */
    char *note; bool star, dropped; /* dropped: in the bin */
    size_t serial;               /* in the order of creation, from 0 */
    struct err failure;          /* RUN_FAILED */
    char verdict[256];           /* one sentence for the tables and views */
};

void run_free(struct run *);
/* Scores of target j: scaled[0] and raw[1]; NULL: none. */
const struct metrics *run_metrics(const struct run *, size_t j, bool raw);
/* How many targets a run has; the index of one by name, NULL the first (NOT_FOUND names them). */
size_t run_targets(const struct run *);
enum status run_target(const struct run *, const char *name, size_t *j, struct err *);
/* " of NAME" where a run has several targets, else "": for titles. */
const char *run_suffix(const struct run *, size_t j, char *out, size_t len);

#endif
