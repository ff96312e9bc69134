/* app/runs/verdict.h -- why a fit ended, how far it is from its target, and what to do next. */
#ifndef GPDESK_VERDICT_H
#define GPDESK_VERDICT_H

#include "app/core/workspace.h"

/* Writes the verdict of a fit into the run, from its figures and trace. */
void verdict_write(struct run *);
/* True when all steps of a solver have been made whose steps are planned, and which seldom reaches
 * a tolerance before. */
bool verdict_planned(const struct fit_info *);

#endif
