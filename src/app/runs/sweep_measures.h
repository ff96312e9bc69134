/* app/runs/sweep_measures.h -- which figures (app/core/measures.h) the table and the plots of a
 * sweep show for each point. */
#ifndef GPDESK_SWEEP_MEASURES_H
#define GPDESK_SWEEP_MEASURES_H

#include "app/core/measures.h"
#include "app/core/workspace.h"
#include "app/runs/sweep.h"

enum { SWEEP_MEASURES = 10 }; /* at least the number of columns */

/* The run of point i: the last of its kind before the next point began; NULL if there is none
 * yet. */
const struct run *sweep_run(const struct workspace *, const struct sweep *, size_t i);
/* True if its runs can have that figure: tunings have no scores, and fits no likelihood. */
bool sweep_measures_has(const struct sweep *, const struct measure *);
/* The figure named by `show=`. */
const struct measure *sweep_measures_shown(const struct sweep *);
/* NaN if the run does not have it; with several targets, their mean. */
double sweep_measured(const struct run *, const struct measure *);

#endif
