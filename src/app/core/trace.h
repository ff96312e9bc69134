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
/* Fits the residuals of a trace of iterations: where they are estimates from batches (estimated),
 * the true ones alone. With fewer than 5 points the result is unknown (NaN). */
void trace_fit(const struct trace_point *t, size_t n, double target, bool estimated,
               struct trace_fit *out);
/* The same for a run's own trace and target. */
void trace_fit_run(const struct run *, struct trace_fit *out);
/* True if the residuals of a run's trace between two true ones are estimates from batches; what
 * they are, in a word or two: "recursive", "estimate". */
bool trace_estimated(const struct run *);
const char *trace_word(const struct run *);
/* The residual by which a run is measured at point i: NaN where a point has only an estimate. */
double trace_residual(const struct run *, size_t i);
/* That of the newest point that has one; the newest estimate where none has. */
double trace_last(const struct run *);
/* True if point i of a search is an estimate from a sample of the rows, or from fewer columns; such
 * values are not compared with those of all rows. */
bool trace_sampled(const struct run *, size_t i);
/* The newest point at which a fit was compared with another one (against=); NULL: none. */
const struct trace_point *trace_look(const struct run *);
/* Appends a point to the run's trace, or to the steps of a map that it learns anew. Main thread
 * only. */
enum status trace_append(struct run *, const struct tick *, double seconds, struct err *);
enum status trace_append_round(struct run *, const struct tick *, struct err *); /* of a choice */
enum status trace_append_learned(struct run *, const struct tick *, double seconds, struct err *);

#endif
