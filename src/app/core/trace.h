/* app/core/trace.h -- reading a convergence trace: rate, fit quality, forecast. */
#ifndef GPDESK_TRACE_H
#define GPDESK_TRACE_H

#include "app/core/workspace.h"

struct trace_fit {
    double rate;        /* factor per iteration: residual ~ rate^it; NaN: unknown */
    double r2;          /* of log residual against iteration, over the latter half */
    double forecast;    /* iteration at which the target is reached; NaN: never or unknown */
    double lo, hi;      /* its range, from the scatter of the slope */
};
/* From the recursive residuals of a cg trace.  Unknown before 5 points. */
void trace_fit(const struct trace_point *t, size_t n, double target, struct trace_fit *out);
/* Appends a point to a run (main thread). */
enum status trace_append(struct run *, const struct tick *, double seconds, struct err *);

#endif
