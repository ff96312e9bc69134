/* app/runs/restarts.h -- several tunings by one line, each a run of its own from another start, and
 * which of them counts.  Main thread only. */
#ifndef GPDESK_RESTARTS_H
#define GPDESK_RESTARTS_H

#include "app/core/workspace.h"

enum { RESTARTS_MOST = 32 };
struct restarts; /* shared by the jobs */
struct restarts *restarts_new(struct err *);
struct restarts *restarts_ref(struct restarts *);
void restarts_unref(struct restarts *);
/* One more run, in the order of the queue; one more has ended, without a result when rc is not OK
 * (err: why). */
void restarts_add(struct restarts *, const char *run);
void restarts_ended(struct restarts *, enum status rc, const struct err *err);
bool restarts_over(const struct restarts *);
/* The runs of r's line that have not ended, by their order, r among them; i from 0, NULL: no more.
 */
struct run *restarts_left(struct workspace *, const struct run *r, size_t i);
/* The run with the least score: one on all rows before an estimate; NULL: none has a result. */
struct run *restarts_best(struct workspace *, const struct restarts *);
/* Of the line of r, once it is over; NULL: none has a result, or r is no restart. */
struct run *restarts_best_of(struct workspace *, const struct run *r);
/* Why none has one: the first failure; OK: all of them were stopped. */
const struct err *restarts_failure(const struct restarts *);
/* The table of them all, the best marked. */
void restarts_tell(struct workspace *, const struct restarts *);

#endif
