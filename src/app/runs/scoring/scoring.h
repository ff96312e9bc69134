/* app/runs/scoring/scoring.h -- predictions as background jobs: score, check, and predictions for
 * new files. Each function queues a job. */
#ifndef GPDESK_SCORING_H
#define GPDESK_SCORING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* How to score. */
struct scoring_how {
    enum { BASELINE_AUTO, BASELINE_YES, BASELINE_NO } baseline; /* AUTO: unless it costs much */
    bool tune; /* folds: tune again in each of them */
};
/* score: predicts one part of the run's own dataset. */
enum status scoring_score(struct workspace *, struct run *, enum part, const struct scoring_how *,
                          const char *line, struct err *);
/* score folds: refits with the run's settings on the training rows of each fold, and with `tune`
 * repeats the tuning of the run there. STATE if there was none. */
enum status scoring_folds(struct workspace *, struct run *, const struct scoring_how *,
                          const char *line, struct err *);
/* check: makes the same predictions for target j and examines their calibration, outliers, shift
 * and uncertainty. */
enum status scoring_check(struct workspace *, struct run *, size_t j, const char *line,
                          struct err *);
/* What `check` says about target j from the last score of a run: at most SCORING_FINDINGS
 * sentences, which it counts. Distances between rows are left out, because they need the data. 0
 * without predictions or without variances. */
enum { SCORING_FINDINGS = 8, SCORING_TEXT = 640 };
struct scoring_finding { const char *name; bool ok; char text[SCORING_TEXT]; };
size_t scoring_findings(const struct run *, size_t j, struct scoring_finding *out);
/* predict: writes predictions for the rows of the file `path` (NULL: the test rows) as CSV. */
struct scoring_out {
    const char *path; /* NULL: show the first rows on the screen */
    bool guard;       /* write text cells with text_csv_guarded */
    const char *columns; /* names of predict_columns.h separated by commas; NULL: the default */
    const char *ids;     /* columns of the table that identify rows; NULL: those with role id */
    size_t samples;      /* functions drawn from the posterior, */
    uint64_t seed;       /* by this seed */
    const char *quantiles;     /* "5,50,95"; NULL: none */
    bool has_above; double above; /* the chance to exceed this value */
};
enum status scoring_predict(struct workspace *, struct run *, const char *path,
                            const struct scoring_out *, const struct import_opts *,
                            const char *line, struct err *);
/* For a job: computes the factor for variances where the session did not keep it (model.L), from
 * the training inputs of the model, or from the data (NULL: not loaded). */
enum status scoring_factor(struct model *, const struct dataset *, struct encoding *, struct job *,
                           struct err *);
/* The standard deviations of new measurements (t vectors, scaled units, of weight 1) at rows of a
 * source where the model is calibrated row by row (method=local or cv+), in whose place stand those
 * of the function and the noise elsewhere: then *sd is NULL.  mean: t vectors of the model's means
 * there, or NULL. */
enum status scoring_local(const struct model *, const struct source *, const double *mean,
                          const struct tools *, double **sd, struct err *);
/* The prediction of target j alone. It borrows the arrays and must not be freed. */
struct prediction scoring_prediction(const struct prediction *, size_t j);
/* Scores of one target (enc from encoding_for), in scaled units and in those of the target.
 * Densities are converted too, also for log targets. */
enum status scoring_metrics(const struct encoding *, const struct prediction *,
                            struct metrics *scaled, struct metrics *raw, struct err *);
/* What the last score of a run found for simple models at the same rows: the member "baseline", as
 * in the record of `score` (null: none was asked for); and for target j, in its own units, "mean
 * RMSE 1.9, NLPD 2;  ridge RMSE 0.4, NLPD 0.4" ("" if there are none). */
void scoring_run_baseline_json(struct rec *, const struct run *);
void scoring_run_baseline_words(struct buf *, const struct run *, size_t j);
/* A phrase about scored intervals, those at 50 % included, which may well differ from those at
 * 95 %. It begins with "honest" if the judgement of compute/stats/judgement.h is that they hold. */
const char *scoring_coverage_words(const struct metrics *);

#endif
