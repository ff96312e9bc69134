/* app/runs/scoring_impl.h -- the inputs and outputs of a scoring job, shared by the files of
 * scoring. */
#ifndef GPDESK_SCORING_IMPL_H
#define GPDESK_SCORING_IMPL_H

#include "app/runs/predict_columns.h"
#include "app/runs/scoring.h"
#include "base/text.h"
#include "data/kinds/distance.h"

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
    bool chosen;                         /* and whether columns= says so */
    char *ids;                           /* names of id=; NULL: not given */
    bool *id;                            /* the columns of its table that they name; or NULL */
    char *no_y;                          /* why there is no observed value; NULL: there is one */
    size_t observed;                     /* rows with an observed value of every target */
    struct import_opts import;
    char *sep_missing;                   /* storage for import.missing and import.types */
    char *types, *dates, *table;
    struct prediction pred, train;       /* train: a sample of the training rows */
    struct row_drift drift;              /* check: of kinds that tell distances */
    struct metrics scaled[TARGETS_MOST], raw[TARGETS_MOST]; /* one for each target */
    size_t target;                       /* for check: the target */
    bool have_metrics;
    size_t missing_cells, unseen_levels, dropped, cut, written;
    struct strange_rows strange; /* of new data */
    struct buf notes;                    /* about the steps that new data went through */
    struct buf text;                     /* for predict without out=: the first rows */
    size_t nfolds; struct metrics *fold; /* for folds: raw metrics of each fold, target by target */
    double latent99;                     /* predict: fit_info.left_out_latent99 */
    size_t unlike;                       /* predict: rows beyond it */
    double seconds;
    char run[16];
};

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
/* 1 if the latent variance of prediction i is larger than that of 99 of 100 training rows, each
 * predicted from the others; else 0. NaN where the fit does not know. */
double scoring_unlike(const struct scoring *, size_t i);
/* Scores as text and JSON, and notes about the rows. Defined in scoring_tell.c. */
void scoring_tell_counts(struct workspace *, const struct scoring *);
void scoring_tell_json(struct rec *, size_t targets, const struct metrics *raw,
                       const struct metrics *scaled);
void scoring_tell_table(struct rec *, const struct encoding *, const struct metrics *raw,
                        const struct metrics *scaled);
void scoring_tell_text(struct rec *, const struct metrics *raw, const struct metrics *scaled);
/* Reports failure or cancellation of a job that makes no run. Returns true if there was one. */
bool scoring_ended_early(struct workspace *, struct job *, enum status rc, const struct err *);
/* Moves a prediction. The one it replaces is freed, and src is left empty. */
void scoring_move_prediction(struct prediction *dst, bool *has, struct prediction *src);
/* The end of `check`: reports one sentence for each finding. Defined in scoring_check.c. */
void scoring_check_done(struct workspace *, struct job *, enum status rc, const struct err *);

#endif
