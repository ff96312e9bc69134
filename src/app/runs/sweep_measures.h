/* app/runs/sweep_measures.h -- what the table and the plots of a sweep show of each
 * point. */
#ifndef GPDESK_SWEEP_MEASURES_H
#define GPDESK_SWEEP_MEASURES_H

#include "app/core/workspace.h"
#include "app/runs/sweep.h"

enum sweep_measure {
    SWEEP_RMSE, SWEEP_NLPD, SWEEP_COVERAGE, SWEEP_NMLL, SWEEP_EFFDIM, SWEEP_ITERATIONS,
    SWEEP_SECONDS, SWEEP_MEASURES
};
/* JSON key, head of the column, word of show=, label of the axis. */
struct sweep_measure_row { const char *key, *head, *show, *axis; };
extern const struct sweep_measure_row sweep_measures[SWEEP_MEASURES];
/* The run that point i made: the last of its kind before the next point began; NULL: none yet. */
const struct run *sweep_run(const struct workspace *, const struct sweep *, size_t i);
/* NaN where the run does not have it. */
double sweep_measured(const struct run *, enum sweep_measure);

#endif
