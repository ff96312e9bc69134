/* app/core/progress.h -- how far long work is, how fast it goes and how long it still takes.
 * Computed here alone, from the ticks of a job: the job line, records of progress and the screen
 * show the same figures. */
#ifndef GPDESK_PROGRESS_H
#define GPDESK_PROGRESS_H

#include "app/core/trace.h"
#include "compute/ctl.h"

enum { PROGRESS_RECENT = 4 };

/* What the ticks of one job have told; zero-initialised.  The owner guards it by a lock. */
struct progress {
    struct tick tick;           /* the newest; its `point` is NULL */
    double tick_at;             /* seconds since the start of the job */
    enum phase phase;           /* the phase in hand, since when, and at which count it began */
    double phase_at, phase_done;
    double recent[PROGRESS_RECENT]; /* times of its last ticks, a ring */
    size_t nrecent;
    struct trace_point *point;  /* residuals of the phase, for the forecast */
    size_t npoint, cappoint;
};
void progress_free(struct progress *);
void progress_tick(struct progress *, const struct tick *, double seconds);

struct progress_view {
    double
        share; /* of the phase that is done, 0 to 1; a residual counts in decades; NaN: unknown */
    double rate;  /* steps per second; NaN: unknown */
    double left;  /* seconds to the end of the phase; NaN: unknown */
    struct trace_fit fit; /* of the residuals; all NaN for other phases */
};
/* now: seconds since the start of a running job; NaN: it does not run. */
void progress_view(const struct progress *, double now, struct progress_view *);

#endif
