/* app/runs/restarts.h -- several tunings started by one line, each a run of its own from another
 * starting point, and the choice among them. Main thread only. */
#ifndef GPDESK_RESTARTS_H
#define GPDESK_RESTARTS_H

#include "app/core/workspace.h"

enum { RESTARTS_MOST = 32 };
struct restarts; /* shared by the jobs of the line; counted references */
struct restarts *restarts_new(struct err *);
struct restarts *restarts_ref(struct restarts *);
void restarts_unref(struct restarts *);
/* Adds a run, in the order of the queue; records that a run has ended. rc other than OK: it has no
 * result, and err says why. */
void restarts_add(struct restarts *, const char *run);
void restarts_ended(struct restarts *, enum status rc, const struct err *err);
bool restarts_over(const struct restarts *);
/* The i-th run of r's line that has not ended, including r itself; NULL if i is past the end. */
struct run *restarts_left(struct workspace *, const struct run *r, size_t i);
/* The run with the least objective; a value from all rows is preferred to an estimate. NULL if no
 * run has a result. */
struct run *restarts_best(struct workspace *, const struct restarts *);
/* The best run of r's line once all have ended. NULL if none has a result or r is not a restart. */
struct run *restarts_best_of(struct workspace *, const struct run *r);
/* Why no run has a result: the first failure; OK if all of them were stopped. */
const struct err *restarts_failure(const struct restarts *);
/* Reports the table of all runs with the best one marked. */
void restarts_tell(struct workspace *, const struct restarts *);

#endif
