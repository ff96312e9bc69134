/* app/runs/replaying.h -- bo table: the current data as if most of its rows were not measured yet,
 * chosen round by round as `suggest` does, as a background job. */
#ifndef GPDESK_REPLAYING_H
#define GPDESK_REPLAYING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* Queues the job with the arguments of `bo` (app/commands/cmd_suggest.c). */
enum status replaying_start(struct workspace *, const struct args *, struct err *);

#endif
