/* compute/models/model_fit.c -- the course of a fit, whatever the kind of model: checks, row
 * weights, plan, fit, scale, variances, left-out residuals, and what is reported. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "compute/pool.h"
#include "compute/stats/judgement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RANGE for targets that are not finite or constant, and for scales and hyperparameters that are
 * not positive. */
static enum status check(const struct source *src, const double *y, const struct fit_opts *o,
                         struct err *err)
{
    const size_t targets = o->targets ? o->targets : 1;

    if (targets > TARGETS_MOST)
        return err_set(err, ST_RANGE, "%zu targets; at most %d are possible", targets,
                       TARGETS_MOST);
    for (size_t j = 0; j < targets; j++, y += src->n) {
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < src->n; i++) {
            if (!isfinite(y[i]))
                return err_set(err, ST_RANGE, "target of training row %zu is %g", i + 1, y[i]);
            lo = fmin(lo, y[i]);
            hi = fmax(hi, y[i]);
        }
        if (src->n < 2 || !(hi > lo))
            return err_named(err, ST_RANGE, "constant-target",
                             "the target is constant on the %zu training rows: nothing to learn",
                             src->n);
    }
    if (!(o->amplitude > 0.0) || !(o->noise > 0.0) || !isfinite(o->amplitude) ||
        !isfinite(o->noise))
        return err_set(err, ST_RANGE, "amplitude=%g and noise=%g must be positive", o->amplitude,
                       o->noise);
    for (size_t i = 0; i < kernel_nhp(&o->kernel); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam hp;
        kernel_hp_info(&o->kernel, i, name, &hp);
        if (!(o->hp[i] > 0.0) || !isfinite(o->hp[i]))
            return err_set(err, ST_RANGE, "%s=%g must be positive", name, o->hp[i]);
    }
    return ST_OK;
}

/* Applies weights of rows: with S = diag(sqrt(weight)) the fit is that of S y on S Z, and Z comes
 * multiplied from its source (share/doc/methods.md 1).  *own: S y, the caller frees it. */
static enum status weigh(struct fit *ft, double **own, struct err *err)
{
    const size_t n = ft->src->n;
    const double *s = ft->src->row_scale;

    ft->weights = (double)n;
    if (s == NULL)
        return ST_OK;
    *own = mem_calloc(ft->t * n, sizeof **own, "the weighted targets", err);
    if (*own == NULL)
        return ST_NOMEM;
    ft->weights = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(s[i] > 0.0) || !isfinite(s[i]))
            return err_set(err, ST_RANGE, "the weight of training row %zu is %g", i + 1,
                           s[i] * s[i]);
        for (size_t j = 0; j < ft->t; j++)
            (*own)[j * n + i] = s[i] * ft->y[j * n + i];
        ft->weights += s[i] * s[i];
    }
    ft->y = *own;
    return ST_OK;
}

/* Allocates the model and copies what the options fix. */
static enum status fit_new(struct fit *ft, struct err *err)
{
    struct model *m = mem_calloc(1, sizeof *m, "the model", err);

    if (m == NULL)
        return ST_NOMEM;
    m->refs = 1;
    m->kind = ft->kind;
    m->kernel = ft->o->kernel;
    memcpy(m->hp, ft->o->hp, sizeof m->hp);
    m->amplitude = ft->o->amplitude;
    m->noise = ft->o->noise;
    m->t = ft->t;
    for (size_t j = 0; j < m->t; j++) {
        m->amplitudes[j] = m->amplitude;
        m->noises[j] = m->noise;
    }
    m->seed = ft->o->seed;
    m->precision = ft->o->precision;
    m->d = ft->src->d;
    m->M = ft->kind->size(ft->o, ft->src->n);
    ft->m = m;
    m->S = ft->o->samples;
    m->w = mem_calloc(m->t * m->M, sizeof *m->w, "the weights", err);
    if (m->w && m->S)
        m->a = mem_calloc(m->S, m->M * sizeof *m->a, "the functions", err);
    if (m->w && ft->kind->draws)
        ft->b = mem_calloc(m->t * m->M, sizeof *ft->b, "Z'y", err);
    return m->w && (m->a || !m->S) && (ft->b || !ft->kind->draws) ? ST_OK : ST_NOMEM;
}

/* The amplitude and noise of the first target, as those of the model and of the report. */
static void show_scale(struct fit *ft)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;

    m->amplitude = info->amplitude = m->amplitudes[0];
    m->noise = info->noise = m->noises[0];
    info->scale = m->amplitude / ft->o->amplitude;
}

/* The likeliest amplitude of each target at the ratio in force, amplitude^2 = c / n with
 * c = y' (K1 + ratio I)^-1 y (share/doc/methods.md 6.4); where an unfinished solve only bounds c
 * (9.18), the value between the bounds that is nearest to the given one.  The weights w do not
 * depend on it. */
static enum status fit_scale(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    double all = 0.0, rr[TARGETS_MOST], c[TARGETS_MOST];

    if (ft->kind->moments == NULL) {
        ft->info->train_rmse = NAN;
        show_scale(ft);
        return ST_OK;
    }
    const enum status rc = ft->kind->moments(ft, rr, c, err);

    if (rc != ST_OK)
        return rc;
    for (size_t j = 0; j < ft->t; j++) {
        const double n = (double)ft->src->n, low = sqrt(c[j] / n),
                     high = sqrt((c[j] + ft->slack[j]) / n),
                     amplitude = fmin(fmax(ft->o->amplitude, low), high);
        all += rr[j];
        if (j == 0) {
            ft->info->likeliest_low = low;
            ft->info->likeliest_high = high;
        }
        if (ft->free_scale && isfinite(amplitude) && amplitude > 0.0) {
            m->amplitudes[j] = amplitude;
            m->noises[j] = amplitude * sqrt(ft->ratio);
        }
    }
    ft->info->train_rmse = sqrt(all / (ft->weights * (double)ft->t));
    show_scale(ft);
    return ST_OK;
}

/* Makes the factor for the variances when the solver left none.  A stop here loses only the
 * variances. */
static enum status fit_variance(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double t = fit_now();
    enum status rc = ST_OK;

    if (ft->plan.Mv > 0 && m->L == NULL) {
        if (info->why == OUT_CANCELLED)
            rc = ST_CANCELLED;
        else
            rc = model_variance(m, ft->src, ft->plan.Mv, &ft->on, &info->effective_dimension, err);
        if (rc == ST_CANCELLED) {
            err_clear(err);
            rc = ST_OK;
            fit_warn(info, "no-variance",
                     "stopped before the variances: the model predicts means");
        }
        info->seconds.variance += fit_now() - t;
    }
    info->variance_features = ft->kind->draws ? m->Mv : 0;
    if (rc == ST_OK && ft->kind->check)
        ft->kind->check(ft);
    return rc;
}

/* How many times its standard error a share of left-out rows has to be away from its level to move
 * an interval, and the scale, half of the way (tests/bench/coverage.md). */
static const double reach_doubt = 1.0, scale_doubt = M_SQRT2;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value that so many of 100 values do not exceed; sorts them. */
static double quantile(size_t n, double *v, size_t percent)
{
    qsort(v, n, sizeof *v, ascending);
    return n ? v[(percent * n + 99) / 100 - 1] : NAN;
}

/* The factor of the variances by left-out residuals, m values of z^2 in ascending order
 * (share/doc/methods.md 6.17): their mean, below 1 only as far as its standard error allows,
 * because a few large errors decide it and new rows may have more of them; and where 95 % of z^2
 * reach further than that, half of the way to where a cautious interval would reach, on the
 * logarithmic scale.  The interval itself then follows by 6.20. */
static double scale_factor(const struct judged *left_out, size_t m, const double *z2,
                           double variance)
{
    const double mean =
        left_out->z2 >= 1.0 ? left_out->z2 : fmin(1.0, left_out->z2 + left_out->z2_se);
    const struct reach r = reach_left_out(m, z2, mean * variance, scale_doubt);

    return mean * fmax(1.0, reach_at(&r, 0.95) / reach_at(NULL, 0.95));
}

/* Takes the left-out residuals of a target (m squares over variances at amplitude 1), sorts them
 * and moves its amplitude by that factor, under that rule.  Ratio and weights stay, and so do the
 * means. */
static void scale_target(struct fit *ft, size_t target, const struct left_out *out)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    double *z2 = out->z2 + target * out->m;
    double *amplitude = &m->amplitudes[target];

    qsort(z2, out->m, sizeof *z2, ascending);
    const struct judged before = judgement_squares(out->m, z2, *amplitude * *amplitude, NULL);
    const double factor = scale_factor(&before, out->m, z2, *amplitude * *amplitude);

    if (ft->free_scale && ft->o->scale == SCALE_LEFT_OUT && isfinite(factor) && factor > 0.0) {
        *amplitude *= sqrt(factor);
        m->noises[target] = *amplitude * sqrt(ft->ratio);
        m->reach[target] = reach_left_out(out->m, z2, *amplitude * *amplitude, reach_doubt);
    }
    if (target > 0)
        return;
    const double variance = *amplitude * *amplitude;
    const struct judged after = judgement_squares(out->m, z2, variance, &m->reach[0]);
    info->reach95 = reach_at(&m->reach[0], 0.95);
    info->left_out_within196 = judgement_squares(out->m, z2, variance, NULL).coverage95;
    info->left_out_rows = out->m;
    info->left_out_before = before.z2;
    info->left_out_z2 = after.z2;
    info->left_out_z2_se = after.z2_se;
    info->left_out_coverage95 = after.coverage95;
}

/* Compares left-out residuals with their predicted variances, and lets amplitude and noise follow
 * them.  A fit that was stopped, or has no variances, keeps the likeliest ones. */
static enum status fit_left_out(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct left_out out = { 0 };
    const double t = fit_now();

    if ((m->L == NULL && !ft->kind->local) || ft->kind->left_out == NULL || ctl_stopped(ft->on.ctl))
        return ST_OK;
    const enum status rc = ft->kind->left_out(ft, &out, err);
    for (size_t j = 0; rc == ST_OK && j < ft->t; j++)
        scale_target(ft, j, &out);
    if (rc == ST_OK)
        ft->info->left_out_latent99 = quantile(out.m, out.latent, 99);
    free(out.z2);
    free(out.latent);
    show_scale(ft);
    ft->info->seconds.variance += fit_now() - t;
    return rc;
}

/* Fills info with what is known before the fit; figures that a fit may not have are NaN. */
static void describe(struct fit *ft)
{
    struct fit_info *info = ft->info;

    info->rows = ft->src->n;
    info->inputs = ft->src->d;
    info->features = ft->kind->draws ? ft->o->features : 0;
    info->targets = ft->t;
    info->half = ft->plan.half;
    info->bits = ft->plan.bits;
    info->stored = !ft->kind->draws && ft->plan.plan == PLAN_STORE && !ft->plan.half;
    info->means_only = ft->plan.Mv == 0 && ft->o->samples == 0;
    info->samples = ft->o->samples;
    info->samples_residual = NAN;
    for (size_t j = 0; j < ft->t; j++)
        info->target[j].iterations = info->target[j].residual = info->target[j].true_residual = NAN;
    info->ratio = info->effective_dimension = info->evidence = NAN;
    info->left_out_before = info->left_out_z2 = info->left_out_z2_se = NAN;
    info->left_out_coverage95 = info->left_out_latent99 = info->left_out_nlpd = NAN;
    info->reach95 = info->left_out_within196 = NAN;
    info->likeliest_low = info->likeliest_high = NAN;
    info->rank_iterations = info->rank_seconds = NAN;
    info->condition = info->condition_plain = info->ritz_min = info->ritz_max = NAN;
    info->residual = info->true_residual = NAN;
    info->predicted_bytes = info->peak_bytes = (size_t)ft->plan.bytes;
    snprintf(info->plan, sizeof info->plan, "%s",
             ft->kind->draws ? model_plan_words[ft->plan.plan] : ft->kind->name);
    snprintf(info->solver, sizeof info->solver, "%s", ft->kind->name);
}

/* The fit by the kind of model, then amplitude and noise, then the variances. */
static enum status run(struct fit *ft, struct err *err)
{
    enum status rc = fit_new(ft, err);

    if (rc != ST_OK)
        return rc;
    describe(ft);
    ft->ratio = model_ratio(ft->o->amplitude, ft->o->noise);
    ft->free_scale = !ft->o->keep_scale;
    rc = ft->kind->fit(ft, err);
    if (rc == ST_OK)
        rc = fit_scale(ft, err);
    ft->kind->end(ft, rc);
    if (rc == ST_OK)
        rc = fit_variance(ft, err);
    return rc == ST_OK ? fit_left_out(ft, err) : rc;
}

/* What several processes have done so far; nothing where there is one. */
static struct backend_spent spent_by(const struct tools *on)
{
    struct backend_spent s = { 0 };

    if (on->be && on->be->spent)
        on->be->spent(&s);
    return s;
}

static void ranks_told(struct fit_info *info, const struct backend_spent *before,
                       const struct tools *on)
{
    const struct backend_spent now = spent_by(on);

    if (now.work == before->work)
        return;
    info->ranks = now.ranks;
    info->seconds.sums = now.sums - (now.work > before->work ? before->sums : 0.0);
}

enum status model_fit(const struct source *src, const double *y, const struct fit_opts *o,
                      const struct tools *on, struct model **out, struct fit_info *info,
                      struct solve_info *trace, struct err *err)
{
    struct solve_info own = { 0 };
    double *weighted = NULL;
    struct fit ft = { .kind = model_kind_of(o), .o = o, .src = src, .y = y, .on = *on,
                      .info = info, .trace = trace ? trace : &own,
                      .t = o->labels.classes ? o->labels.classes
                           : o->targets        ? o->targets
                                               : 1 };
    const double start = fit_now();
    const struct backend_spent before = spent_by(on);
    struct fit_opts known = *o;

    *out = NULL;
    *info = (struct fit_info){ .why = OUT_RUNNING };
    *ft.trace = (struct solve_info){ .why = OUT_DIRECT };
    enum status rc = source_suits(src, &o->kernel, err);
    if (rc == ST_OK)
        rc = check(src, y, o, err);
    if (rc == ST_OK)
        rc = model_start_check(o->start, src, ft.t, err);
    if (rc == ST_OK)
        rc = weigh(&ft, &weighted, err);
    ft.o = o = &known;
    if (rc == ST_OK && ft.kind->sample)
        rc = ft.kind->sample(&ft, &known, err);
    if (rc == ST_OK)
        rc = model_plan_make(src->n, src->d, o, pool_threads(on->pool), &ft.plan, info->plan_note,
                             err);
    if (rc == ST_OK && o->against && !ft.plan.solver) {
        rc = err_set(err, ST_UNSUPPORTED,
                     "against= watches a solver that works on products with the exact kernel");
        err_hint(err, "fit model=exact solver=pcg against=RUN");
    }
    if (rc == ST_OK)
        rc = run(&ft, err);
    free(ft.b);
    free(ft.residual);
    free(ft.inverse);
    free(weighted);
    solve_info_free(&own);
    info->seconds.total = fit_now() - start;
    ranks_told(info, &before, on);
    if (rc != ST_OK) {
        model_unref(ft.m);
        if (trace != NULL)
            solve_info_free(trace);
        return rc;
    }
    *out = ft.m;
    return ST_OK;
}
