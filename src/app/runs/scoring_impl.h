/* app/runs/scoring_impl.h -- what the files of scoring share: the job's own inputs and outputs. */
#ifndef GPDESK_SCORING_IMPL_H
#define GPDESK_SCORING_IMPL_H

#include "app/runs/scoring.h"
#include "base/text.h"
#include "data/kinds/distance.h"

enum scoring_what { DO_SCORE, DO_FOLDS, DO_CHECK, DO_PREDICT };

struct scoring {
    enum scoring_what what;
    struct dataset *data;
    struct model *model;
    struct encoding enc;
    struct fit_opts fit;                 /* folds */
    enum part part;
    char *path, *out;
    text_csv_fn *csv;                    /* how text is written into cells */
    struct import_opts import;
    char *sep_missing;                   /* storage behind import.missing / types */
    char *types;
    struct prediction pred, train;       /* train: a sample of the training rows */
    struct row_drift drift;              /* check: of kinds that tell distances */
    struct metrics scaled[TARGETS_MOST], raw[TARGETS_MOST]; /* of each target */
    size_t target;                       /* check: which */
    bool have_metrics;
    size_t missing_cells, unseen_levels, dropped, cut, written;
    struct strange_rows strange; /* of new data */
    struct buf text;                     /* predict without out=: the first rows */
    size_t nfolds; struct metrics *fold; /* folds: raw metrics of each, target by target */
    double seconds;
    char run[16];
};

/* Scores of every target, in scaled units and in those of the target (scoring_units.c). */
enum status scoring_all_metrics(const struct encoding *, const struct prediction *,
                                struct metrics *scaled, struct metrics *raw, struct err *);
/* s->pred as CSV, with the columns of the table that have the role id in the training data, if that
 * is loaded (scoring_csv.c).  Writes s->out; a full disk or a crash leaves the earlier file. */
enum status scoring_csv_write(const struct scoring *, const struct table *, struct err *);
void scoring_csv_head(struct buf *, const struct scoring *, const struct table *);
void scoring_csv_row(struct buf *, const struct scoring *, const struct table *, size_t i);
/* Only CSV is written: USAGE for a name that says another format, and would be believed. */
enum status scoring_csv_name(const char *out, struct err *);
/* Scores in words and JSON, and what the rows were like (scoring_tell.c). */
void scoring_tell_counts(struct workspace *, const struct scoring *);
const char *scoring_part_name(enum part);
void scoring_tell_json(struct rec *, size_t targets, const struct metrics *raw,
                       const struct metrics *scaled);
void scoring_tell_table(struct rec *, const struct encoding *, const struct metrics *raw,
                        const struct metrics *scaled);
void scoring_tell_text(struct rec *, const struct metrics *raw, const struct metrics *scaled);
/* Failure and cancel of jobs that make no run: told; true then. */
bool scoring_ended_early(struct workspace *, struct job *, enum status rc, const struct err *);
/* Hands a prediction over; the old one of the place is freed, the source is left empty. */
void scoring_move_prediction(struct prediction *dst, bool *has, struct prediction *src);
/* The end of `check`: one sentence for each finding (scoring_check.c). */
void scoring_check_done(struct workspace *, struct job *, enum status rc, const struct err *);

#endif
