/* app/core/progress.c -- see progress.h. */
#include "app/core/progress.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

void progress_free(struct progress *p)
{
    free(p->point);
    *p = (struct progress){ 0 };
}

/* If a point cannot be stored for lack of memory, the forecast only becomes coarser. */
static void keep_point(struct progress *p, const struct tick *t, double seconds)
{
    if (mem_grow((void **)&p->point, &p->cappoint, p->npoint + 1, sizeof *p->point, "progress",
                 NULL) != ST_OK)
        return;
    p->point[p->npoint++] = (struct trace_point){ .step = (uint32_t)t->done,
                                                  .seconds = (float)seconds,
                                                  .value = t->value,
                                                  .value2 = t->value2,
                                                  .ritz = t->ritz };
}

void progress_tick(struct progress *p, const struct tick *t, double seconds)
{
    const bool over = p->phase && t->done < p->tick.done; /* a second pass is timed afresh */

    if (over || p->phase != t->phase) {
        p->phase = t->phase;
        p->phase_at = seconds;
        p->phase_done = (double)t->done;
        p->nrecent = p->npoint = 0;
    }
    p->recent[p->nrecent++ % PROGRESS_RECENT] = seconds;
    if (phase_kind(t->phase) == PHASE_RESIDUAL && t->value > 0.0)
        keep_point(p, t, seconds);
    p->tick = *t;
    p->tick.point = NULL;
    p->tick_at = seconds;
}

static double share_of(const struct tick *t)
{
    if (phase_kind(t->phase) == PHASE_RESIDUAL && !t->counted && t->target > 0.0 &&
        t->target < 1.0 && t->value > 0.0)
        return fmin(1.0, fmax(0.0, log(t->value) / log(t->target)));
    return t->total ? (double)t->done / (double)t->total : NAN;
}

/* Evaluations on all rows, or with gradients, take a hundred times as long as those of the first
 * search of a tuning. So only the last few count, and the current one takes at least as long as it
 * has already taken. */
static double rate_of(const struct progress *p, double now)
{
    const double steps = (double)p->tick.done - p->phase_done, t = p->tick_at - p->phase_at;
    const size_t n = p->nrecent < PROGRESS_RECENT ? p->nrecent : PROGRESS_RECENT;

    if (phase_kind(p->phase) != PHASE_SEARCH || n < 2)
        return steps > 0.0 && t > 0.0 ? steps / t : NAN;
    const double first = p->recent[(p->nrecent - n) % PROGRESS_RECENT];
    const double each = (p->tick_at - first) / (double)(n - 1);
    const double unfinished = isnan(now) ? 0.0 : now - p->tick_at;
    return 1.0 / fmax(fmax(each, unfinished), 1e-6);
}

void progress_view(const struct progress *p, double now, struct progress_view *v)
{
    enum {
        STRAIGHT = 90
    }; /* percentage of the scatter that the line must explain before a time is reported */
    const struct tick *t = &p->tick;
    double todo = t->total ? (double)t->total - (double)t->done : NAN;

    v->share = share_of(t);
    v->rate = rate_of(p, now);
    trace_fit(p->point, p->npoint, t->target, solver_estimates(t->method), &v->fit);
    if (phase_kind(p->phase) == PHASE_RESIDUAL && !t->counted)
        todo = v->fit.r2 * 100 >= STRAIGHT && !v->fit.more
                   ? fmax(0.0, v->fit.forecast - (double)t->done) : NAN;
    v->left = todo / v->rate;
}
