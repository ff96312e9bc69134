/* app/core/trace.h -- analyses a convergence trace: rate, quality of the fit, forecast. */
#ifndef GPDESK_TRACE_H
#define GPDESK_TRACE_H

#include "app/core/workspace.h"

struct trace_fit {
    double rate;        /* factor per iteration: residual ~ rate^iteration; NaN: unknown */
    double r2;          /* R^2 of log residual against iteration, over the latter half */
    double forecast;    /* iteration at which the target is reached; NaN: never, or unknown */
    double lo, hi;      /* its range, by the Ritz values, else by the slope's standard error */
    bool more;          /* the smallest Ritz value is still falling: more than lo, hi is infinite */
};
/* Fits the recursive residuals of a conjugate-gradient trace. With fewer than 5 points the result
 * is unknown (NaN). */
void trace_fit(const struct trace_point *t, size_t n, double target, struct trace_fit *out);
/* Appends a point to the run's trace. Main thread only. */
enum status trace_append(struct run *, const struct tick *, double seconds, struct err *);

#endif
