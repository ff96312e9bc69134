/* app/runs/sweep_measures.h -- which figures (app/core/measures.h) the table and the plots of a
 * sweep show of each point. */
#ifndef GPDESK_SWEEP_MEASURES_H
#define GPDESK_SWEEP_MEASURES_H

#include "app/core/measures.h"
#include "app/core/workspace.h"
#include "app/runs/sweep.h"

enum { SWEEP_MEASURES = 8 }; /* at least as many as there are columns */

/* The run that point i made: the last of its kind before the next point began; NULL: none yet. */
const struct run *sweep_run(const struct workspace *, const struct sweep *, size_t i);
/* Whether its runs have that figure: tunings have no scores, fits no likelihood. */
bool sweep_measures_has(const struct sweep *, const struct measure *);
/* The figure that `show=` names. */
const struct measure *sweep_measures_shown(const struct sweep *);
/* NaN where the run does not have it; of several targets the mean. */
double sweep_measured(const struct run *, const struct measure *);

#endif
