/* app/runs/bo/bo.h -- bo: the loop of fitting, proposing and measuring without a person, as a
 * background job; on the current data as if most rows were not measured, on a function drawn from
 * the prior of the kernel, or on a formula. */
#ifndef GPDESK_BO_H
#define GPDESK_BO_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* Queues the job with the arguments of `bo` (app/commands/cmd_suggest.c). */
enum status bo_start(struct workspace *, const struct args *, struct err *);

#endif
