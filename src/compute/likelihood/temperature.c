/* compute/likelihood/temperature.c -- see temperature.h. */
#include "compute/likelihood/temperature.h"

#include "base/mem.h"
#include "compute/likelihood/dirichlet.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/stats/class_scores.h"

#include <math.h>
#include <stdlib.h>

enum status temperature_apply(const struct temperature_rows *r, double temperature, double *p,
                              struct err *err)
{
    const double t = temperature > 0.0 ? temperature : 1.0;

    if (r->of->several)
        return dirichlet_softmax(r->pool, r->n, r->classes, r->mean, r->var, t, p, err);
    for (size_t i = 0; i < r->n; i++)
        p[i] = r->of->probability(r->mean[i] / t, r->var[i] / (t * t));
    return ST_OK;
}

/* The mean log loss over the logarithm of the temperature. */
struct search {
    const struct temperature_rows *r;
    double *p;
    double soft; /* the probability that a row's class is another one than was seen */
    size_t evaluations;
    enum status rc;
    struct err *err;
};

static double loss_of(const struct search *s, size_t i)
{
    const struct temperature_rows *r = s->r;
    const size_t seen = (size_t)r->label[i];
    double sum = 0.0;

    for (size_t c = 0; c < r->classes; c++) {
        const double share = c == seen ? 1.0 - s->soft : s->soft / (double)(r->classes - 1);
        const double p = r->of->several ? s->p[c * r->n + i] : c ? s->p[i] : 1.0 - s->p[i];
        sum -= share > 0.0 ? share * log(fmax(p, CLASS_SCORES_CLIP)) : 0.0;
    }
    return sum;
}

static double loss_at(void *ctx, double log_temperature)
{
    struct search *s = ctx;
    const struct temperature_rows *r = s->r;
    double sum = 0.0;

    if (s->rc == ST_OK)
        s->rc = temperature_apply(r, exp(log_temperature), s->p, s->err);
    if (s->rc == ST_OK && ctl_stopped(r->ctl))
        s->rc = err_set(s->err, ST_CANCELLED, "stopped");
    if (s->rc != ST_OK)
        return INFINITY;
    for (size_t i = 0; i < r->n; i++)
        sum += loss_of(s, i);
    ctl_tell(r->ctl, PHASE_TEMPERATURE, ++s->evaluations, 0, sum / (double)r->n);
    return sum / (double)r->n;
}

/* The minimum of the parabola through three near points: the search ends within 1e-4 of it. */
static double polish(struct search *s, double at, double value)
{
    const double h = 3e-4, up = loss_at(s, at + h), down = loss_at(s, at - h);
    const double step = 0.5 * h * (down - up) / (up - 2.0 * value + down);

    return fabs(step) <= h && loss_at(s, at + step) <= value + 1e-12 ? at + step : at;
}

static enum status check(const struct temperature_rows *r, struct err *err)
{
    if (r->n < TEMPERATURE_ROWS) {
        err_named(err, ST_RANGE, "few-calibration-rows",
                  "%zu calibration rows are too few for a temperature: at least %d", r->n,
                  TEMPERATURE_ROWS);
        err_hint(err, "calibrate rows=%d", 10 * TEMPERATURE_ROWS);
        return ST_RANGE;
    }
    for (size_t i = 0; i < r->n; i++)
        if (!(r->label[i] >= 0.0 && r->label[i] < (double)r->classes))
            return err_set(err, ST_RANGE, "calibration row %zu has class %g, not 0 to %zu", i + 1,
                           r->label[i], r->classes - 1);
    return ST_OK;
}

enum status temperature_find(const struct temperature_rows *r, struct temperature *t,
                             struct err *err)
{
    struct search s = { .r = r, .rc = check(r, err), .err = err };
    const double lo = log(TEMPERATURE_LEAST), hi = log(TEMPERATURE_MOST);
    double at = 0.0;

    if (s.rc != ST_OK)
        return s.rc;
    s.p = mem_calloc(r->n, r->classes * sizeof *s.p, "probabilities", err);
    if (s.p == NULL)
        return ST_NOMEM;
    t->before = loss_at(&s, 0.0);
    t->after = nmll_search_few(loss_at, &s, lo, hi, 0.0, &at);
    t->at_bound = at < lo + 1e-3 || at > hi - 1e-3 || loss_at(&s, lo) <= t->after;
    if (t->at_bound && at < 0.0) {
        s.soft = 1.0 / ((double)r->n + 2.0);
        t->after = nmll_search_few(loss_at, &s, lo, hi, 0.0, &at);
    }
    if (!t->at_bound || s.soft > 0.0)
        at = polish(&s, at, t->after);
    s.soft = 0.0;
    t->after = loss_at(&s, at);
    t->best = exp(at);
    free(s.p);
    return s.rc;
}
