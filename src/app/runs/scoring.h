/* app/runs/scoring.h -- predictions as background jobs: score, check, and predictions of new files.
 */
#ifndef GPDESK_SCORING_H
#define GPDESK_SCORING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* score on a part of the run's own dataset. */
enum status scoring_score(struct workspace *, struct run *, enum part, const char *line,
                          struct err *);
/* score folds: refits the run's settings on each fold's training rows. */
enum status scoring_folds(struct workspace *, struct run *, const char *line, struct err *);
/* check: the same predictions, of target j, read for calibration, outliers, shift and starvation.
 */
enum status scoring_check(struct workspace *, struct run *, size_t j, const char *line,
                          struct err *);
/* predict: rows of the file `path` (NULL: the test rows) to a CSV. */
struct scoring_out {
    const char *path; /* NULL: the first rows, on screen */
    bool guard;       /* cells of text are written by text_csv_guarded */
};
enum status scoring_predict(struct workspace *, struct run *, const char *path,
                            const struct scoring_out *, const struct import_opts *,
                            const char *line, struct err *);
/* The prediction of target j alone: lent, not to be freed. */
struct prediction scoring_prediction(const struct prediction *, size_t j);
/* Of one target (enc by encoding_for).  Scores in scaled and in the target's units, densities
 * included (log targets too). */
enum status scoring_metrics(const struct encoding *, const struct prediction *,
                            struct metrics *scaled, struct metrics *raw, struct err *);
/* Shares of n targets inside the 50 and 95 % intervals in words, beyond what chance does to n rows:
 * the two ends may well differ.  They begin with "honest" where the 95 % interval is that. */
const char *scoring_coverage_words(size_t n, double half, double most);

#endif
