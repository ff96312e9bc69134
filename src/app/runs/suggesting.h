/* app/runs/suggesting.h -- suggest: the rows to measure next, chosen by a fitted model from a file
 * or from ranges of the inputs, as a background job. */
#ifndef GPDESK_SUGGESTING_H
#define GPDESK_SUGGESTING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* The words of by=, for the row of the command. */
#define SUGGESTING_RULES "thompson|ei|ucb|mean|sd"

/* Queues the job with the arguments of `suggest` (app/commands/cmd_suggest.c). */
enum status suggesting_start(struct workspace *, struct run *, const struct args *, struct err *);

/* The same for `pick`: rows of a pool or of the test part, and nothing is remembered of them. */
enum status suggesting_pick(struct workspace *, struct run *, const struct args *, struct err *);

#endif
