/* compute/models/tuning_sparse.c -- how a sparse model is tuned: its bound, or the likelihood of
 * FITC or DTC, with amplitude and noise at their best (compute/inducing/bound.h), at points that
 * stay as they are until the search asks for others. */
#include "base/mem.h"
#include "compute/models/sparse_level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH_ROWS = 5000 }; /* the most rows that a search uses */

static struct tuning_sizes sparse_sizes(const struct kernel *k, size_t n, size_t d, size_t features,
                                        size_t rows)
{
    (void)k;
    (void)d;
    (void)features;
    return sparse_level_sizes(n, rows, SEARCH_ROWS);
}

static enum status sparse_allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    (void)n;
    (void)features;
    (void)mem_limit;
    (void)err;
    return ST_OK;
}

/* The best value, amplitudes and noises with given points. */
static enum status best_with(const struct tuning_level *l, const struct nmll_ask *ask,
                             const struct select_points *p, double *value, double *amplitude,
                             double *noise, struct err *err)
{
    const struct columns_of rows = sparse_level_rows(l, ask->hp);
    const struct nmll_told told = { .value = value, .amplitude = amplitude, .noise = noise };
    struct bound b = { .approx = l->task->inducing->approx, .m = p->m, .t = ask->t ? ask->t : 1,
                       .y = ask->y };
    enum status rc = bound_make(&rows, p->Z, &b, l->task->on.ctl, err);

    if (rc == ST_OK)
        rc = bound_best(&b, ask->within, &told, err);
    bound_free(&b);
    return rc;
}

/* Points at a kernel setting, judged at the best amplitude and noise with the points `by`, or where
 * there are none with random ones. */
static enum status choose(struct tuning_level *l, const struct nmll_ask *ask,
                          const struct select_points *by, struct select_points *out,
                          struct err *err)
{
    const struct columns_of rows = sparse_level_rows(l, ask->hp);
    const size_t t = ask->t ? ask->t : 1;
    struct select_opts o = *l->task->inducing;
    double value, amplitude[TARGETS_MOST] = { 0 }, noise[TARGETS_MOST] = { 0 };
    struct select_job job = { .rows = &rows, .src = l->src, .y = ask->y, .t = t,
                              .amplitude = amplitude, .ratio = 1.0, .o = &o,
                              .seed = l->task->seed, .mem_limit = l->task->mem_limit,
                              .ctl = l->task->on.ctl, .out = out };
    const struct select_ops *ops = o.ops;
    enum status rc = ST_OK;

    for (size_t j = 0; j < t; j++)
        amplitude[j] = 1.0;
    if (by == NULL) {
        o.ops = ops && ops->judged ? select_at(0) : ops;
        rc = select_points(&job, err);
        if (rc != ST_OK || !ops || !ops->judged)
            return rc;
        o.ops = ops;
        by = out;
    }
    if (ops && ops->judged)
        rc = best_with(l, ask, by, &value, amplitude, noise, err);
    if (by == out)
        select_points_free(out);
    if (rc == ST_OK && ops && ops->judged)
        job.ratio = noise[0] * noise[0] / (amplitude[0] * amplitude[0]);
    return rc == ST_OK ? select_points(&job, err) : rc;
}

/* Rows and points of a level, once. */
static enum status sparse_open(struct tuning_level *l, const struct nmll_ask *ask, struct err *err)
{
    if (l->held != NULL)
        return ST_OK;
    struct sparse_level *h = sparse_level_open(l, err);
    enum status rc = h ? choose(l, ask, NULL, &h->points, err) : err_status(err);
    if (rc == ST_OK && ctl_stopped(l->task->on.ctl)) /* half of a choice is none to compare with */
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc != ST_OK)
        sparse_level_close(l);
    return rc;
}

/* The amplitudes and the ratio that are asked for, and the value there. */
static enum status scale_of(const struct bound *b, const struct nmll_ask *ask,
                            const struct nmll_told *told, struct bound_at *at, struct err *err)
{
    const size_t t = b->t;
    double amplitude[TARGETS_MOST] = { 0 }, noise[TARGETS_MOST] = { 0 }, value, effdim = NAN;
    const struct nmll_told own = { .value = &value, .amplitude = amplitude, .noise = noise,
                                   .effdim = told->effdim ? &effdim : NULL };
    enum status rc = ST_OK;
    double ratio = ask->scale == NMLL_GIVEN
                       ? ask->noise * ask->noise / (ask->amplitude * ask->amplitude)
                       : ask->ratio;

    if (ask->scale == NMLL_BEST) {
        rc = bound_best(b, ask->within, &own, err);
        ratio = noise[0] * noise[0] / (amplitude[0] * amplitude[0]);
    }
    if (rc == ST_OK)
        rc = bound_at(b, ratio, at, err);
    if (rc != ST_OK)
        return rc;
    for (size_t j = 0; ask->scale == NMLL_GIVEN && j < t; j++) {
        amplitude[j] = ask->amplitude;
        noise[j] = ask->noise;
    }
    for (size_t j = 0; ask->scale == NMLL_RATIO && j < t; j++) {
        amplitude[j] = fmin(fmax(sqrt(at->c[j] / (double)b->n), ask->within->amplitude[0]),
                            ask->within->amplitude[1]);
        noise[j] = amplitude[j] * sqrt(ratio);
    }
    if (told->value)
        *told->value = bound_value(b, at, amplitude);
    if (told->effdim)
        *told->effdim = effdim;
    memcpy(told->amplitude, amplitude, t * sizeof *amplitude);
    memcpy(told->noise, noise, t * sizeof *noise);
    return ST_OK;
}

static enum status sparse_best(struct tuning_level *l, const struct nmll_ask *ask,
                               const struct nmll_told *told, struct err *err)
{
    const size_t t = ask->t ? ask->t : 1, nhp = ask->nhp;
    double a[TARGETS_MOST], s[TARGETS_MOST], grad[KERNEL_MAX_HP + 2];
    struct nmll_told all = *told;
    struct bound b = { .approx = l->task->inducing->approx, .t = t, .y = ask->y };
    struct bound_at at = { 0 };
    enum status rc = sparse_open(l, ask, err);

    if (rc != ST_OK)
        return rc;
    all.amplitude = told->amplitude ? told->amplitude : a;
    all.noise = told->noise ? told->noise : s;
    const struct sparse_level *h = l->held;
    const struct columns_of rows = sparse_level_rows(l, ask->hp);
    b.m = h->points.m;
    rc = bound_make(&rows, h->points.Z, &b, l->task->on.ctl, err);
    if (rc == ST_OK)
        rc = scale_of(&b, ask, &all, &at, err);
    if (rc == ST_OK && told->grad) {
        rc = bound_slope(&rows, h->points.Z, &b, &at, all.amplitude, grad, l->task->on.ctl, err);
        memcpy(told->grad, grad, nhp * sizeof *grad);
        if (ask->scale == NMLL_GIVEN)
            memcpy(told->grad + nhp, grad + nhp, 2 * sizeof *grad);
        else if (ask->scale == NMLL_RATIO) /* amplitudes follow the ratio freely */
            told->grad[nhp] = grad[nhp + 1];
    }
    bound_at_free(&at);
    bound_free(&b);
    return rc;
}

/* Points of the setting; they are kept if the value there is better than with those before. */
static enum status sparse_again(struct tuning_level *l, const struct nmll_ask *ask, bool *moved,
                                struct err *err)
{
    struct sparse_level *h = l->held;
    struct select_points points = { 0 };
    double before, after, a[TARGETS_MOST] = { 0 }, s[TARGETS_MOST] = { 0 };

    *moved = false;
    if (h == NULL || !l->task->inducing->ops || l->task->inducing->ops->drawn)
        return ST_OK;
    enum status rc = best_with(l, ask, &h->points, &before, a, s, err);
    if (rc == ST_OK)
        rc = choose(l, ask, &h->points, &points, err);
    if (rc == ST_OK)
        rc = best_with(l, ask, &points, &after, a, s, err);
    if (rc == ST_OK && after < before - 1e-6 * fabs(before)) {
        select_points_free(&h->points);
        h->points = points;
        *moved = true;
        return ST_OK;
    }
    select_points_free(&points);
    return rc;
}

const struct model_tuning sparse_tuning = {
    .in_double = true,
    .sizes = sparse_sizes,
    .allowed = sparse_allowed,
    .best = sparse_best,
    .at = sparse_best,
    .again = sparse_again,
    .no_errors = "is for feature models, method=bayes or grid",
    .no_probes = "nmll=approx estimates the marginal likelihood of features; a sparse model has "
                 "its bound",
    .close = sparse_level_close,
};
