/* app/core/progress.h -- how far a long job is, how fast it proceeds and how long it still
 * takes.
 *
 * These are computed only here, from the ticks of a job, so that the job line, progress records and
 * the screen all show the same values. */
#ifndef GPDESK_PROGRESS_H
#define GPDESK_PROGRESS_H

#include "app/core/trace.h"
#include "compute/ctl.h"

enum { PROGRESS_RECENT = 4 };

/* What is known from the ticks of one job; starts as all zeros. The owner guards it with a lock. */
struct progress {
    struct tick tick;           /* the newest tick; its `point` is NULL */
    double tick_at;             /* seconds since the start of the job */
    enum phase phase;       /* the current phase, when it began, and the count at which it began */
    double phase_at, phase_done;
    double recent[PROGRESS_RECENT]; /* durations of its last ticks, as a ring buffer */
    size_t nrecent;
    struct trace_point *point;  /* residuals of the phase, for the forecast */
    size_t npoint, cappoint;
};
void progress_free(struct progress *);
void progress_tick(struct progress *, const struct tick *, double seconds);

struct progress_view {
    double
        /* part of the phase that is done, 0 to 1; residuals count in decades; NaN: unknown */
        share;
    double rate;  /* steps per second; NaN: unknown */
    double left;  /* seconds to the end of the phase; NaN: unknown */
    struct trace_fit fit; /* fit to the residuals; all NaN in other phases */
};
/* now: seconds since the job started; NaN if it is not running. */
void progress_view(const struct progress *, double now, struct progress_view *);

#endif
