/* app/runs/scoring/scoring_impl.h -- the inputs and outputs of a scoring job, shared by the files
 * of scoring. */
#ifndef GPDESK_SCORING_IMPL_H
#define GPDESK_SCORING_IMPL_H

#include "app/runs/scoring/repeats.h"
#include "app/runs/scoring/domain.h"
#include "app/runs/scoring/predict_columns.h"
#include "app/runs/scoring/scoring.h"
#include "base/text.h"
#include "data/kinds/distance.h"

/* The scores of the simple models (run.h) while a job computes them. */
struct baseline {
    bool asked;                          /* false: baseline=no */
    struct {
        bool have;
        struct metrics scaled[TARGETS_MOST], raw[TARGETS_MOST];
    } of[BASELINES];
    char why[120];                       /* why there is no ridge regression */
    size_t inputs;                       /* of the ridge regression, */
    double lambda, seconds;              /* its parameter, and what it took */
};

/* What predict writes behind its columns (scoring_functions.c). */
enum { SCORING_QUANTILES = 32 };
struct scoring_more {
    size_t samples;                      /* functions drawn from the posterior */
    uint64_t seed;
    double *sample;                      /* targets x samples x rows, units of the target */
    double quantile[SCORING_QUANTILES];  /* in percent */
    size_t nquantiles;
    bool has_above;
    double above;                        /* units of the target */
};
enum scoring_what { DO_SCORE, DO_FOLDS, DO_CHECK, DO_PREDICT };

struct scoring {
    enum scoring_what what;
    struct dataset *data;
    struct model *model;
    struct encoding enc;
    struct fit_opts fit;                 /* for folds */
    enum part part;
    char *path, *out;
    text_csv_fn *csv;                    /* how text is written into cells */
    struct predict_columns columns;      /* what predict writes, */
    struct scoring_more more;            /* and behind that, */
    bool chosen;                         /* and whether columns= says so */
    char *ids;                           /* names of id=; NULL: not given */
    bool *id;                            /* the columns of its table that they name; or NULL */
    char *no_y;                          /* why there is no observed value; NULL: there is one */
    size_t new_class;                    /* rows of classes that the model does not know, */
    char new_name[64];                   /* and one of these classes */
    size_t observed;                     /* rows with an observed value of every target */
    struct import_opts import;
    char *sep_missing;                   /* storage for import.missing and import.types */
    char *types, *dates, *table;
    struct prediction pred, train;       /* train: a sample of the training rows */
    size_t ndrift, ndomain;
    struct row_drift drift[DOMAIN_COLUMNS]; /* check: of kinds that tell distances, */
    struct domain domain[DOMAIN_COLUMNS];   /* and of those that tell similarities */
    struct metrics scaled[TARGETS_MOST], raw[TARGETS_MOST]; /* one for each target */
    struct repeats repeats; bool have_repeats; /* check: of classes, in the training rows */
    size_t target;                       /* for check: the target */
    bool have_metrics;
    size_t missing_cells, unseen_levels, dropped, cut, shortened, written;
    struct strange_rows strange; /* of new data */
    struct buf notes;                    /* about the steps that new data went through */
    struct buf text;                     /* for predict without out=: the first rows */
    size_t nfolds; struct metrics *fold; /* for folds: raw metrics of each fold, target by target */
    struct scoring_how how;
    struct baseline baseline, *fold_baseline; /* of the score; of each fold */
    struct run_baseline *keep;                /* room for what the run keeps of them, */
    struct metrics (*keep_more)[2];           /* and of further targets */
    struct tune_opts topt;               /* folds with how.tune: the tuning to repeat */
    double latent99;                     /* predict: fit_info.left_out_latent99 */
    size_t unlike;                       /* predict: rows beyond it */
    size_t formulas;                     /* predict: cells written that a spreadsheet may run */
    double seconds;
    char run[16];
};

/* For every job that predicts with a run: STATE unless it has a model, or its data are loaded;
 * takes model, data, encoding and name of the run into an empty *s, whose owner frees them; on the
 * worker thread, rebuilds the factor for variances that a session does not keep. */
enum status scoring_need_model(const struct run *, struct err *);
enum status scoring_need_data(const struct run *, struct err *);
enum status scoring_take(struct scoring *s, struct run *, struct err *);
enum status scoring_need_factor(struct scoring *, struct job *, struct err *);
/* Scores of every target, in scaled units and in those of the target. Defined in
 * scoring_units.c. */
enum status scoring_all_metrics(const struct encoding *, const struct prediction *,
                                struct metrics *scaled, struct metrics *raw, struct err *);
/* Writes s->pred to s->out as CSV, together with the table's columns that have role id in the
 * training data, if that data is loaded. On a full disk or after a crash the earlier file is still
 * there. Defined in scoring_csv.c. */
enum status scoring_csv_write(const struct scoring *, const struct table *, struct err *);
void scoring_csv_head(struct buf *, const struct scoring *, const struct table *);
void scoring_csv_row(struct buf *, const struct scoring *, const struct table *, size_t i);
/* USAGE for a file name that promises a format other than CSV, because only CSV is written. */
enum status scoring_csv_name(const char *out, struct err *);
/* Percentages into m->quantile; RANGE. Draws the functions of samples= at encoded rows, those of
 * s->pred. Writes the cells of prediction i (SIZE_MAX: their names), each with a comma before it,
 * and the members of the record. Defined in scoring_functions.c. */
enum status scoring_functions_quantiles(const char *list, struct scoring_more *m, struct err *);
enum status scoring_functions_draw(struct scoring *, const struct encoded *, struct job *,
                                   struct err *);
void scoring_functions_cells(struct buf *, const struct scoring *, size_t i);
void scoring_functions_json(struct rec *, const struct scoring *);
/* 1 if the latent variance of prediction i is larger than that of 99 of 100 training rows, each
 * predicted from the others; else 0. NaN where the fit does not know. */
double scoring_unlike(const struct scoring *, size_t i);
/* Scores as text and JSON, and notes about the rows. Defined in scoring_tell.c. fresh: the model
 * was not fitted to these rows, which can judge its intervals therefore. */
void scoring_tell_counts(struct workspace *, const struct scoring *);
void scoring_tell_json(struct rec *, size_t targets, const struct metrics *raw,
                       const struct metrics *scaled);
void scoring_tell_table(struct rec *, const struct encoding *, const struct metrics *raw,
                        const struct metrics *scaled);
void scoring_tell_text(struct rec *, const struct metrics *raw, const struct metrics *scaled,
                       bool fresh);
/* Two classes and several: the members "classes", "rule", "error", "confusion" (for each class how
 * many of its rows were taken for each), "recall" and "precision".  Of several the text of a score
 * and the findings of `check`; of two a line about the rule, if there is one.  Defined in
 * scoring_labels.c. */
void scoring_labels_rule(struct rec *, const struct encoding *, const struct metrics *);
void scoring_labels_json(struct rec *, const struct encoding *, const struct prediction *);
/* A line for rows whose probability is clipped in the log loss, if there are any. */
void scoring_tell_clipped(struct rec *, const struct metrics *);
void scoring_labels_text(struct rec *, const struct encoding *, const struct prediction *,
                         const struct metrics *);
size_t scoring_labels_findings(const struct scoring *, struct scoring_finding *);
/* Of two classes and of several: the finding about equal inputs of different classes, 0 or 1 of
 * them; the members of the record of `check`. */
size_t scoring_labels_conflicts(const struct scoring *, struct scoring_finding *);
void scoring_labels_check_json(struct rec *, const struct scoring *);
/* Predictions of encoded rows with the values that scores and files need. */
enum status scoring_rows(const struct model *, const struct encoding *, const struct encoded *,
                         struct job *, struct prediction *, struct err *);
/* The latent functions of a model of classes at encoded rows: means, then variances, a vector of
 * e->n for each function.  The caller frees *mean, also after a failure. */
enum status scoring_latent(const struct model *, const struct encoded *, struct job *,
                           double **mean, struct err *);
/* The scores of the simple models at the rows of a prediction, trained on those rows of s->data.
 * CANCELLED, NOMEM and IO are errors; baseline.why tells of any other. Defined in
 * scoring_baseline.c. */
struct baseline_ask {
    const size_t *train; size_t n;
    const struct encoding *enc;
    const struct prediction *at;
};
enum status scoring_baselines(const struct scoring *, struct job *, const struct baseline_ask *,
                              struct baseline *, struct err *);
void scoring_baseline_json(struct rec *, size_t targets, const struct baseline *);
void scoring_baseline_text(struct rec *, size_t targets, const struct baseline *);
/* Moves them into the run; those of an earlier score go. Without memory, the run has none. */
void scoring_baseline_keep(struct run *, struct scoring *);
/* The settings of the tuning that a fit took its hyperparameters from, to repeat it; STATE: there
 * is none to repeat. */
enum status scoring_take_tuning(const struct workspace *, const struct run *, struct tune_opts *,
                                struct err *);
/* `score folds`. Repeats that tuning (s->topt) on other rows, for a fit of them. Defined in
 * scoring_folds.c. */
enum status scoring_folds_tune(const struct scoring *, struct job *, const struct encoded *train,
                               struct fit_opts *, struct err *);
enum status scoring_folds_work(struct job *, struct err *);
void scoring_folds_done(struct workspace *, struct job *, enum status rc, const struct err *);
/* Reports failure or cancellation of a job that makes no run. Returns true if there was one. */
bool scoring_ended_early(struct workspace *, struct job *, enum status rc, const struct err *);
/* Moves a prediction. The one it replaces is freed, and src is left empty. */
void scoring_move_prediction(struct prediction *dst, bool *has, struct prediction *src);
/* The end of `check`: reports one sentence for each finding. Defined in scoring_check.c. */
void scoring_check_done(struct workspace *, struct job *, enum status rc, const struct err *);

#endif
