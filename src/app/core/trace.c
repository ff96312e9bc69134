/* app/core/trace.c -- analyses a convergence trace. See trace.h. */
#include "app/core/trace.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* The name of a run's solver, as far as it is known: a run that was killed has no figures. */
static const char *solver_of(const struct run *r)
{
    return r->info.solver[0] ? r->info.solver : r->last.method ? r->last.method : r->fit.solver;
}

bool trace_estimated(const struct run *r)
{
    return r->kind == RUN_FIT && solver_estimates(solver_of(r));
}

const char *trace_word(const struct run *r)
{
    const char *name = solver_of(r);
    const struct solver_ops *s = solver_is_free(name) ? NULL : solver_find(name, NULL);

    return !s || !s->dual ? "recursive" : trace_estimated(r) ? "estimate" : "look-ahead";
}

const struct trace_point *trace_look(const struct run *r)
{
    for (size_t i = r->kind == RUN_FIT ? r->ntrace : 0; i-- > 0;)
        if (!isnan(r->trace[i].error_k))
            return &r->trace[i];
    return NULL;
}

static double measured(const struct trace_point *t, bool estimated)
{
    return estimated ? t->value2 : t->value;
}

double trace_residual(const struct run *r, size_t i)
{
    return measured(&r->trace[i], trace_estimated(r));
}

double trace_last(const struct run *r)
{
    const bool estimated = trace_estimated(r);

    for (size_t i = r->ntrace; i-- > 0;)
        if (!isnan(measured(&r->trace[i], estimated)))
            return measured(&r->trace[i], estimated);
    return r->ntrace ? r->trace[r->ntrace - 1].value : NAN;
}

/* Least-squares line of log10(residual) against the iteration, over points [from, n). */
struct line { double slope, icept, r2, se; };

static bool line_fit(const struct trace_point *t, size_t from, size_t n, bool estimated,
                     struct line *out)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    size_t m = 0;

    for (size_t i = from; i < n; i++) {
        const double value = measured(&t[i], estimated);
        if (!(value > 0) || !isfinite(value))
            continue;
        const double x = t[i].step, y = log10(value);
        sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
        m++;
    }
    if (m < 5)
        return false;
    const double dx = sxx - sx * sx / (double)m, dy = syy - sy * sy / (double)m;
    const double dxy = sxy - sx * sy / (double)m;
    if (!(dx > 0))
        return false;
    out->slope = dxy / dx;
    out->icept = (sy - out->slope * sx) / (double)m;
    out->r2 = dy > 0 ? dxy * dxy / (dx * dy) : 1.0;
    const double rss = fmax(0.0, dy - out->slope * dxy);
    out->se = m > 2 ? sqrt(rss / (double)(m - 2) / dx) : 0.0;
    return true;
}

/* The smallest Ritz value half-way over the newest one; NaN where none was computed. */
static double ritz_falls(const struct trace_point *t, size_t n)
{
    size_t now = n, then;

    while (now > 0 && !(t[now - 1].ritz > 0.0))
        now--;
    if (now == 0)
        return NAN;
    for (then = now; then > 0; then--)
        if (t[then - 1].ritz > 0.0 && 2 * t[then - 1].step <= t[now - 1].step)
            return t[then - 1].ritz / t[now - 1].ritz;
    return INFINITY; /* too early */
}

/* The range of the forecast of conjugate gradients, from how much the smallest Ritz value fell over
 * the latter half: it falls to a quarter as long as it has not found the end of the spectrum. Until
 * then the residual falls faster than it will later, and there is no upper end.  The factors are
 * those of tests/bench/forecast.sh. */
static void by_ritz(double falls, double last, struct trace_fit *out)
{
    enum { EARLY = 3 };
    const double left = out->forecast - last;

    out->more = !(falls < EARLY);
    out->lo = last + left / (out->more ? 3.0 : 2.5); /* a residual that rests can fall at once */
    out->hi = out->more ? INFINITY : last + left * 2.0;
}

/* The point from which a line is fitted: half of them are left out if there are enough. */
static size_t fit_from(const struct trace_point *t, size_t n, bool estimated)
{
    size_t have = 0, seen = 0, i = 0;

    if (!estimated)
        return n >= 20 ? n / 2 : 0;
    for (size_t j = 0; j < n; j++)
        have += !isnan(t[j].value2);
    for (; have >= 10 && i < n && seen < have / 2; i++)
        seen += !isnan(t[i].value2);
    return i;
}

void trace_fit(const struct trace_point *t, size_t n, double target, bool estimated,
               struct trace_fit *out)
{
    struct line l;

    *out = (struct trace_fit){ NAN, NAN, NAN, NAN, NAN, false };
    if (n < 5 || !line_fit(t, fit_from(t, n, estimated), n, estimated, &l))
        return;
    out->rate = pow(10.0, l.slope);
    out->r2 = l.r2;
    if (!(l.slope < 0) || !(target > 0))
        return;
    while (estimated && isnan(t[n - 1].value2)) /* there are five that are not */
        n--;
    const double last = t[n - 1].step, left = log10(measured(&t[n - 1], estimated) / target);
    if (left <= 0) {
        out->forecast = out->lo = out->hi = last;
        return;
    }
    out->forecast = last + left / -l.slope;
    out->lo = last + left / (-l.slope + 2 * l.se);
    out->hi = -l.slope > 2 * l.se ? last + left / (-l.slope - 2 * l.se) : INFINITY;
    const double falls = ritz_falls(t, n);
    if (falls > 0.0)
        by_ritz(falls, last, out);
}

void trace_fit_run(const struct run *r, struct trace_fit *out)
{
    trace_fit(r->trace, r->ntrace, r->trace_target, trace_estimated(r), out);
}

/* A further point; NULL: no memory. */
static struct trace_point *add_point(struct trace_point **to, size_t *n, size_t *cap,
                                     const struct tick *t, double seconds, struct err *err)
{
    void *p = *to;
    const enum status rc = mem_grow(&p, cap, *n + 1, sizeof **to, "trace", err);

    *to = p;
    if (rc != ST_OK)
        return NULL;
    struct trace_point *q = &(*to)[(*n)++];
    *q = (struct trace_point){ .step = (uint32_t)t->done, .seconds = (float)seconds,
                               .value = t->value, .value2 = t->value2, .sampled = t->sampled };
    for (size_t i = 0; i < 6; i++)
        q->point[i] = t->point && i < t->npoint ? t->point[i] : NAN;
    return q;
}

bool trace_sampled(const struct run *r, size_t i)
{
    const size_t at = r->trace[i].step;

    return r->tune.trace && at > 0 && at <= r->tune.ntrace ? r->tune.trace[at - 1].subsampled
                                                           : r->trace[i].sampled;
}

enum status trace_append_learned(struct run *r, const struct tick *t, double seconds,
                                 struct err *err)
{
    return add_point(&r->learned, &r->nlearned, &r->caplearned, t, seconds, err) ? ST_OK
                                                                                 : ST_NOMEM;
}

enum status trace_append(struct run *r, const struct tick *t, double seconds, struct err *err)
{
    struct trace_point *q = add_point(&r->trace, &r->ntrace, &r->captrace, t, seconds, err);

    if (!q)
        return ST_NOMEM;
    if (phase_kind(t->phase) == PHASE_RESIDUAL) {
        q->passes = t->passes;
        q->ritz = t->ritz;
        q->seconds = (float)fmax(0.0, seconds - t->apart);
        if (t->measured) {
            q->error_k = t->error_k;
            q->error_k2 = t->error_k2;
            q->rmse = t->rmse;
        }
    }
    return ST_OK;
}

enum status trace_append_round(struct run *r, const struct tick *t, struct err *err)
{
    const double round[MODEL_ROUND] = { (double)t->done, t->value, t->value2, t->passes };
    const enum status rc = mem_grow((void **)&r->rounds, &r->caprounds,
                                    (r->nrounds + 1) * MODEL_ROUND, sizeof *r->rounds, "rounds",
                                    err);

    if (rc == ST_OK)
        memcpy(r->rounds + MODEL_ROUND * r->nrounds++, round, sizeof round);
    return rc;
}
