/* compute/stats/diagnose.c -- a forecast of a fit's cost by rank, and leave-one-out residuals
 * (diagnose.h). */
#include "compute/stats/diagnose.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"
#include "compute/models/fit.h"
#include "compute/models/model_forecast.h"
#include "compute/models/model_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 2048 }; /* rows */
/* If the fit's search for the noise ratio would take one core longer than this, the advice uses the
 * given ratio. */
static const double search_seconds = 20.0;
static const double gram_rate = 90e9; /* operations per second of one core in a Gram matrix */

void diagnose_advice_free(struct advice *a)
{
    spectrum_free(&a->spectrum);
    memset(a, 0, sizeof *a);
}

struct work {
    const struct source *src;
    const struct fit_opts *o;
    const struct backend_ops *be;
    struct pool *pool;
    const struct ctl *ctl;
    size_t t;
    double *y;          /* t vectors of n, times the row factors */
    struct model model; /* kernel, seed and sizes, from which model_open draws the map */
};

/* The weighted targets, and a model from which model_open draws the map. */
static enum status begin(struct work *w, const double *y, struct err *err)
{
    const size_t n = w->src->n;
    const double *s = w->src->row_scale;

    w->t = w->o->targets ? w->o->targets : 1;
    w->y = mem_calloc(w->t * n, sizeof *w->y, "the targets", err);
    if (w->y == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < w->t * n; i++)
        w->y[i] = s ? s[i % n] * y[i] : y[i];
    w->model = (struct model){ .kind = model_kind_usual(false), .kernel = w->o->kernel,
                               .seed = w->o->seed, .d = w->src->d, .M = w->o->features, .t = w->t,
                               .precision = w->o->precision };
    memcpy(w->model.hp, w->o->hp, sizeof w->model.hp);
    return ST_OK;
}

/* The ratio that the fit will move to, by the same search (model_refine.c). */
static enum status search_ratio(struct work *w, struct advice *a, struct err *err)
{
    const bool rows = model_refine_by_rows(w->src->n, a->M);
    const size_t M = rows || a->M < AUTO_VARIANCE ? a->M : AUTO_VARIANCE;
    const struct fop_opts fo = {.pool = w->pool,
                                .ctl = w->ctl,
                                .precision = w->o->precision,
                                .row_scale = w->src->row_scale};
    struct model_map z = { .f = NULL };
    struct phase_ctl phase;
    struct gram_factor g = { .ratio = a->ratio,
                             .b = mem_calloc((w->t + 1) * M, sizeof *g.b, "Z'y", err) };
    enum status rc = g.b ? model_open(&w->model, M, w->src, &fo, w->be, &z, err) : ST_NOMEM;
    const struct ctl *ctl = model_phase(&phase, w->ctl, PHASE_NOISE);

    g.diag = g.b ? g.b + w->t * M : NULL;
    if (rc == ST_OK && rows)
        rc = model_refine_rows(z.f, w->t, w->y, &g.ratio, ctl, err);
    else if (rc == ST_OK)
        rc = model_factor(z.f, w->t, w->y, &g, ctl, err);
    if (rc == ST_OK && g.jitter > 0.0)
        a->left = true;
    else if (rc == ST_OK && !rows)
        rc = model_refine_factor(&z, w->t, w->y, &g, ctl, err);
    if (rc == ST_OK && !a->left) {
        a->ratio = g.ratio;
        a->refined = true;
    }
    free(g.L);
    free(g.b);
    model_close(&z);
    return rc;
}

/* The rows of the sketch: those asked for, or 0 for all where that is possible, or the usual. */
static size_t rows_of(const struct work *w, size_t asked)
{
    if (!model_kind_of(w->o)->draws)
        return asked ? asked : SAMPLE;

    const struct spectrum_ask all = { .mem_limit = w->o->mem_limit, .exact = true };

    return asked ? asked : spectrum_exact(w->src->n, w->o->features, &all) ? 0 : SAMPLE;
}

/* That of S K1 S of the exact kernel. */
static enum status sketch_kernel(struct work *w, const struct spectrum_ask *ask, struct advice *a,
                                 struct spectrum *half, struct err *err)
{
    double *X = exact_inputs(w->src, err);
    const struct exact_rows rows = { .k = &w->o->kernel, .hp = w->o->hp, .X = X, .n = w->src->n,
                                     .d = w->src->d, .row_scale = w->src->row_scale,
                                     .pool = w->pool };
    struct exact_system *system = NULL;
    enum status rc = X ? exact_system_open(w->be, &rows, &system, err) : err_status(err);

    if (rc == ST_OK) {
        const struct linop A = exact_system_linop(system, a->ratio);
        rc = spectrum_system(&A, ask, &a->spectrum, half, w->ctl, err);
    }
    exact_system_close(system);
    free(X);
    return rc;
}

/* That of Z'Z. */
static enum status sketch_features(struct work *w, const struct spectrum_ask *ask,
                                   struct advice *a, struct spectrum *half, struct err *err)
{
    const struct fop_opts fo = {.pool = w->pool,
                                .ctl = w->ctl,
                                .precision = w->o->precision,
                                .row_scale = w->src->row_scale};
    struct model_map z = { .f = NULL };
    enum status rc = model_open(&w->model, a->M, w->src, &fo, w->be, &z, err);

    if (rc == ST_OK)
        rc = spectrum_sample(z.f, ask, &a->spectrum, half, w->ctl, err);
    model_close(&z);
    return rc;
}

/* The spectrum of a sample of rows, and with `half` that from half of it. */
static enum status sketch(struct work *w, size_t sample, struct advice *a, struct spectrum *half,
                          struct err *err)
{
    const struct spectrum_ask ask = { w->t, w->y, sample, w->o->mem_limit, sample == 0 };

    ctl_tell(w->ctl, PHASE_SKETCH, 0, 1, NAN);
    const enum status rc = (a->M ? sketch_features : sketch_kernel)(w, &ask, a, half, err);
    ctl_tell(w->ctl, PHASE_SKETCH, 1, 1, NAN);
    a->sample = a->spectrum.sample;
    return rc;
}

/* The table over ranks from the spectrum. */
static enum status table(struct work *w, const struct fit_plan *plan, const struct spectrum *half,
                         const size_t *ranks, size_t count, struct advice *a, struct err *err)
{
    struct rank_choice c;

    ctl_tell(w->ctl, PHASE_RANKS, 0, 1, NAN);
    const struct rank_question q = { .d = w->src->d, .o = w->o, .plan = plan, .ratio = a->ratio,
                                     .solves = a->solves, .ranks = ranks, .count = count };
    const enum status rc = model_rank_table(&a->spectrum, half->groups ? half : NULL, &q, w->pool,
                                            &c, w->ctl, err);
    if (rc != ST_OK)
        return rc;
    ctl_tell(w->ctl, PHASE_RANKS, 1, 1, NAN);
    a->rows = c.n;
    a->best = c.best;
    memcpy(a->row, c.at, sizeof a->row);
    return ST_OK;
}

/* The same for an exact kernel, whose iterations are counted on a sample of its rows
 * (model_forecast.h), with ranks of at most a quarter of it. */
static enum status kernel_table(struct work *w, const struct diagnose_ask *ask, struct advice *a,
                                struct err *err)
{
    const struct fit_opts *o = w->o;
    const struct precond_ops *pre =
        o->precond ? precond_find(o->precond, err) : &precond_pchol;
    const size_t n = w->src->n, m = ask->sample ? ask->sample : FORECAST_ROWS,
                 most = o->maxit ? o->maxit : 500;
    size_t ladder[RANK_GUESSES] = { 0 }, count = 1, rows;

    if (pre == NULL)
        return ST_NOT_FOUND;
    for (size_t i = 0; i < ask->count; i++) {
        const size_t r = ask->ranks[i], all = m < n ? m : n;
        if (4 * r <= all)
            continue;
        err_set(err, ST_RANGE, "rank=%zu: a sample of %zu rows tells ranks up to %zu", r, all,
                all / 4);
        if (4 * r <= n)
            err_hint(err, "advise model=exact rank=%zu rows=%zu", r, 4 * r);
        else
            err_hint(err, "advise model=exact rank=%zu", n / 4);
        return ST_RANGE;
    }
    for (size_t r = RANK_LEAST; 4 * r <= (m < n ? m : n) && count < RANK_GUESSES; r *= 2)
        ladder[count++] = r;
    const struct forecast_ask q = { .rows = w->src, .y = w->y, .opts = o, .ratio = a->ratio,
                                    .precond = pre, .ranks = ask->ranks ? ask->ranks : ladder,
                                    .count = ask->ranks ? ask->count : count,
                                    .sample = ask->sample, .most = 4 * most };
    const enum status rc =
        model_forecast(&q, &(struct tools){ w->be, w->pool, w->ctl }, a->row, &rows, err);
    if (rc != ST_OK)
        return rc;
    while (a->ways < ADVICE_WAYS &&
           model_products_stepping(o, n, w->src->d, a->ways, &a->way[a->ways]))
        a->ways++;
    a->direct_seconds = exact_seconds_of(n, exact_op_pair(&o->kernel, w->src->d));
    a->direct_bytes = 8.0 * (double)n * (double)n;
    a->rows = q.count;
    for (size_t i = 0; i < a->rows; i++) {
        struct rank_guess *g = &a->row[i], *best = &a->row[a->best];
        model_products_cost(o, n, w->src->d, (double)a->solves, g);
        const bool ends = g->iterations <= (double)most, held = best->iterations <= (double)most;
        if (ends != held ? ends : ends ? g->seconds < best->seconds
                                       : g->iterations < best->iterations)
            a->best = i;
    }
    return ST_OK;
}

static enum status diagnose(const struct diagnose_ask *ask, bool whole, const struct tools *tools,
                            struct advice *a, struct err *err)
{
    const struct source *src = ask->rows;
    const struct fit_opts *o = ask->opts;
    struct work w = { .src = src, .o = o, .be = tools->be, .pool = tools->pool,
                      .ctl = tools->ctl };
    struct spectrum half = { 0 };
    struct fit_plan plan = { .plan = PLAN_AUTO };
    char note[256];
    const bool draws = model_kind_of(o)->draws;
    const size_t M = draws ? o->features : 0, Mv = M < AUTO_VARIANCE ? M : AUTO_VARIANCE;

    *a = (struct advice){ .n = src->n, .M = M, .solves = ask->solves ? ask->solves : 1 };
    a->given = a->ratio = model_ratio(o->amplitude, o->noise);
    enum status rc = begin(&w, ask->y, err);
    if (rc == ST_OK && draws)
        rc = model_plan_make(src->n, src->d, o, pool_threads(w.pool), &plan, note, err);
    if (rc == ST_OK && whole && draws && !o->keep_scale) {
        a->left = (double)src->n * (double)Mv * (double)Mv / gram_rate > search_seconds;
        if (!a->left)
            rc = search_ratio(&w, a, err);
    }
    if (rc == ST_OK)
        rc = sketch(&w, rows_of(&w, ask->sample), a, whole && draws ? &half : NULL, err);
    if (rc != ST_OK && draws && kernel_draws_none(&o->kernel))
        err_hint(err, "spectrum model=exact");
    if (rc == ST_OK) {
        a->effective_dimension = spectrum_dimension(&a->spectrum, a->ratio);
        a->kernel_dimension = spectrum_kernel_dimension(&a->spectrum, a->ratio);
        a->direct_seconds = plan.seconds_direct; /* 0 for an exact kernel, whose table has it */
        a->direct_bytes = plan.bytes_direct;
        a->search_seconds = plan.seconds_search;
    }
    if (rc == ST_OK && whole)
        rc = draws ? table(&w, &plan, &half, ask->ranks, ask->count, a, err)
                   : kernel_table(&w, ask, a, err);
    spectrum_free(&half);
    free(w.y);
    if (rc != ST_OK)
        diagnose_advice_free(a);
    return rc;
}

enum status diagnose_advise(const struct diagnose_ask *ask, const struct tools *tools,
                            struct advice *a, struct err *err)
{
    return diagnose(ask, true, tools, a, err);
}

/* Measured like the rates of model_plan.c: operations per second of the reduction to tridiagonal
 * form, of products in double and of a Cholesky factor. */
static const double tridiag_rate = 12e9, product_rate = 50e9, factor_rate = 45e9;

/* Seconds for a rank of the table: a fit to measurements from 600 to 32,000 rows, 1024 to 4096
 * features and ratios of noise to amplitude from 0.1 to 0.001, of which five in six are within a
 * factor of 2. The small systems have up to about 3000 modes, and are iterated the more often the
 * smaller the noise is, up to the cap of the count. */
static double rank_seconds(size_t n, const struct fit_opts *o)
{
    const double modes = fmin(fmin((double)n, (double)o->features), 3000.0),
                 ratio = sqrt(model_ratio(o->amplitude, o->noise)),
                 iterations = fmin(2000.0, 30.0 / fmax(ratio, 1e-6));

    return 0.025 * pow(modes / 1024.0, 1.7) * pow(iterations / 775.0, 1.25);
}

/* For an exact kernel: the spectrum of a sample, and iterations on a smaller one and on its halves
 * for each rank.  Iterations are taken to go with the inverse of the noise; within a factor of 2 of
 * what was measured for 13 of 16 systems (airfoil, concrete, kin40k, protein; 824 to 10,000 rows,
 * noise of 0.1 to 0.01), and at most 3.4 times too high where neighbours are far apart. */
static struct diagnose_cost exact_cost(size_t n, const struct fit_opts *o,
                                       const struct diagnose_ask *ask, bool ranked)
{
    static const double reduce_rate = 22e9, step_rate = 20e9, steps = 15.0;
    const size_t asked = ask->sample, m = asked && asked < n ? asked : n < SAMPLE ? n : SAMPLE,
                 part = asked ? m : n < FORECAST_ROWS ? n : FORECAST_ROWS;
    const double M = (double)m, P = (double)part, most = o->maxit ? (double)o->maxit : 500.0,
                 ratio = sqrt(model_ratio(o->amplitude, o->noise));
    struct diagnose_cost c = { exact_seconds(m) + M * M * M / reduce_rate, exact_seconds(n), 0.0 };
    size_t ranks = ask->count;

    if (!ranked)
        return c;
    if (ranks == 0) { /* the usual ladder, which begins with none */
        ranks = 1;
        for (size_t r = RANK_LEAST; 4 * r <= part && ranks < RANK_GUESSES; r *= 2)
            ranks++;
    }
    /* Two operations an entry, and in both halves together half as many again. */
    c.steps = (double)ranks * fmin(4.0 * most, steps / fmax(ratio, 1e-6));
    c.advice += exact_seconds(part) + c.steps * 3.0 * P * P / step_rate;
    return c;
}

struct diagnose_cost diagnose_cost(size_t n, const struct fit_opts *o,
                                   const struct diagnose_ask *ask, bool ranked)
{
    enum { BY_ROWS = 6, EXACT_MOST = 4000 }; /* factors of a search; rows of an exact fit */
    const struct spectrum_ask all = { .rows = ask->sample, .mem_limit = o->mem_limit,
                                      .exact = true };
    const double N = (double)n, M = (double)o->features, Mv = fmin(M, AUTO_VARIANCE);
    const double ladder = 2.0 * log2(fmax(64.0, M) / 32.0); /* the usual ranks */
    struct diagnose_cost c = { 0.0, 0.0, 0.0 };
    struct fit_plan p = { .plan = PLAN_AUTO };
    char note[256];

    if (model_kind_of(o)->exact)
        return exact_cost(n, o, ask, ranked);
    if (model_plan_make(n, 1, o, 1, &p, note, NULL) != ST_OK)
        return c;
    c.fit = fmin(p.seconds_direct, fmin(fmin(p.seconds_store, p.seconds_half),
                                        fmin(p.seconds_regenerate, p.seconds_formed)));
    if (n <= EXACT_MOST)
        c.fit = fmin(c.fit, (1.0 / 3.0 + (o->keep_scale ? 0 : BY_ROWS)) * N * N * N / factor_rate);
    if (spectrum_exact(n, o->features, &all)) {
        c.advice = N * M * M / gram_rate + 4.0 / 3.0 * M * M * M / tridiag_rate;
    } else {
        const double m = fmin(N, ask->sample ? (double)ask->sample : SAMPLE);
        const double parts = m < N ? 1.0 + 1.0 / 8.0 + 1.0 / 64.0 : 1.0;
        c.advice = m * m * M / product_rate + parts * 4.0 / 3.0 * m * m * m / tridiag_rate;
    }
    if (ranked)
        c.advice += rank_seconds(n, o) * (ask->count ? (double)ask->count : ladder);
    if (ranked && !o->keep_scale && N * Mv * Mv / gram_rate <= search_seconds)
        c.advice += p.seconds_search; /* the same as that of the fit */
    return c;
}

enum status diagnose_spectrum(const struct diagnose_ask *ask, const struct tools *tools,
                              struct advice *a, struct err *err)
{
    return diagnose(ask, false, tools, a, err);
}

/* With A = L L': a by two triangular solves, the diagonal of A^-1 by dpotri.  No pass over m fits
 * is needed, and nothing cancels. */
enum status diagnose_loo(const struct exact_rows *rows, const double *y, double ratio, double *e,
                         double *sd, double *work, const struct ctl *ctl, struct err *err)
{
    const size_t m = rows->n;
    double jitter = 0.0;
    enum status rc = exact_factor(rows, ratio, work, &jitter, ctl, err);

    for (size_t i = 0; i < m; i++)
        e[i] = rows->row_scale ? rows->row_scale[i] * y[i] : y[i];
    if (rc == ST_OK)
        rc = blas_dtrsm(rows->pool, false, m, 1, work, m, e, m, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(rows->pool, true, m, 1, work, m, e, m, err);
    if (rc == ST_OK)
        rc = blas_dpotri(rows->pool, m, work, m, err);
    for (size_t i = 0; rc == ST_OK && i < m; i++) {
        e[i] /= work[i * m + i];
        if (sd)
            sd[i] = 1.0 / sqrt(work[i * m + i]);
    }
    return rc;
}
