/* app/runs/advise.h -- predicts the cost of a fit at each rank of its preconditioner, and learns
 * from what fits then cost. */
#ifndef GPDESK_ADVISE_H
#define GPDESK_ADVISE_H

#include "app/core/advise_state.h"
#include "app/core/workspace.h"
#include "compute/stats/diagnose.h"

struct advise_opts { const size_t *rank; size_t nrank, solves, rows; bool plain; };
/* Queues the job. Its table arrives as a result record. */
enum status advise_start(struct workspace *, struct dataset *, const struct fit_opts *,
                         const struct advise_opts *, const char *line, struct err *);
/* Called when a fit has ended: compares its iterations with the prediction and corrects later
 * advice. */
void advise_learn(struct workspace *, const struct run *);
struct figure *advise_figure(struct workspace *, struct run *, const struct args *, struct err *);

#endif
