/* app/runs/scoring/calibrating.h -- calibrate: variances and intervals by rows that were kept
 * aside (compute/stats/calibration.h). */
#ifndef GPDESK_CALIBRATING_H
#define GPDESK_CALIBRATING_H

#include "app/core/workspace.h"
#include "compute/stats/calibration.h"

struct calibrating_ask {
    enum calibration_way way;
    double level;
    /* By the validation rows of the run's own split if rows and share are 0; else the fit is made
     * anew without that many of its training rows, drawn by the seed, and calibrated by these. */
    size_t rows; double share;
    size_t folds; /* method=cv+ takes all training rows instead */
    uint64_t seed;
};
/* Queues a job for a new run; the outcome arrives as a result record. */
enum status calibrating_start(struct workspace *, struct run *, const struct calibrating_ask *,
                              const char *line, struct err *);
/* What a calibrated run adds to the record of its score: "calibration" {"method", "rows", "factor",
 * "quantile"}, and the intervals of its level: "interval_level", the share of the rows inside, and
 * the mean width in units of the target, of each target. */
struct prediction;
void calibrating_score_json(struct rec *, const struct run *, const struct prediction *);
void calibrating_score_text(struct rec *, const struct run *, const struct prediction *);

#endif
