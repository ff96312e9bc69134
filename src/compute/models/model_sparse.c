/* compute/models/model_sparse.c -- a Gaussian process that keeps m inducing points instead of its n
 * training rows (share/doc/methods.md 22; compute/inducing).  With V, Lambda, L and F of
 * inducing/bound.h and k the m covariances of a new row with the points, v = L^-1 k:
 *   mean = k'w,   w = L'^-1 (F F')^-1 V' Lambda^-1 y,
 *   var_f = amplitude^2 (k(x, x) - |v|^2 + |F^-1 v|^2).
 * The model's X are the points, and its L is F; the factor of the points is made again from them
 * where variances are asked for. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/inducing/bound.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/functions.h"
#include "compute/models/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_SECONDS 80e-9 /* a kernel value in double precision */
#define FLOPS 20e9         /* of one core in products with m columns */
#define TILED_NUMBERS 1e6  /* numbers of all rows up to which their tiles stay, */
#define TILE_BYTES 520.0   /* and what a tile of words takes for each at most */

/* Where the ratio is searched. */
static const struct nmll_bounds anywhere = { .amplitude = { 1e-2, 1e2 }, .noise = { 1e-4, 1e2 } };
/* A choice that depends on the noise is made again where that has moved by more than this factor,
 * on the variance's scale, at most so often in all. */
static const double MOVED = 2.0;
enum { CHOICES = 3 };

/* What a fit holds beside the model. */
struct sparse_fit {
    double *X;
    struct columns_of rows;
    struct select_points points;
    struct bound bound;
    struct bound_at at;
};

/* Plan. */

static enum status sparse_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                               struct fit_plan *p, char note[256], struct err *err)
{
    const double rows = (double)n, m = (double)select_count(&o->inducing, n);
    char way[SELECT_TEXT_MAX], mem[24], time[32];

    if (o->inducing.m == 0)
        return err_set(err, ST_RANGE, "inducing=0: a sparse model keeps at least one point");
    if (o->samples > 0 || o->variance == VAR_SAMPLES) {
        err_set(err, ST_UNSUPPORTED, "a sparse fit has a factor for its variances and functions: "
                                     "it solves for no samples=");
        err_hint(err, "fit solver=sparse, then predict samples=4");
        return ST_UNSUPPORTED;
    }
    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->Mv = o->variance == VAR_NONE ? 0 : (size_t)m;
    /* V and what a choice of points or the left-out rows hold beside it */
    p->bytes = 8.0 * (3.0 * rows * m + 6.0 * m * m + rows * ((double)d + 8.0)) +
               (double)threads * MODEL_BLAS_PACK;
    if (kernel_tile_has(&o->kernel) && rows * (double)d <= TILED_NUMBERS)
        p->bytes += TILE_BYTES * rows * (double)d; /* of tiles that stay (inducing/columns.c) */
    if (o->mem_limit && p->bytes > (double)o->mem_limit) {
        mem_format(mem, sizeof mem, p->bytes);
        err_set(err, ST_LIMIT, "%.0f inducing points of %zu rows need %s", m, n, mem);
        err_hint(err, "fit solver=sparse inducing=%.0f", fmax(1.0, floor(m / 4.0)));
        return ST_LIMIT;
    }
    select_print(&o->inducing, way, sizeof way);
    mem_format(mem, sizeof mem, p->bytes);
    text_seconds(time, sizeof time, (rows * m * PAIR_SECONDS + 4.0 * rows * m * m / FLOPS) /
                                        (double)(threads ? threads : 1));
    snprintf(note, 256, "sparse: %.0f inducing points of %zu rows by select=%s, approx=%s; %s, "
                        "about %s once they are chosen", m, n, way,
             bound_approx_words[o->inducing.approx], mem, time);
    return ST_OK;
}

static size_t sparse_size(const struct fit_opts *o, size_t n)
{
    return select_count(&o->inducing, n);
}

/* The choice of points. */

/* The value at the amplitude and noise in force, and with the best ones; the latter become those in
 * force where they are free. */
struct judged_at { double value, best, amplitude[TARGETS_MOST], ratio; };

static enum status judge(struct fit *ft, const struct bound *b, double ratio,
                         struct judged_at *out, struct err *err)
{
    double noise[TARGETS_MOST];
    const struct nmll_told told = { .value = &out->best, .amplitude = out->amplitude,
                                    .noise = noise };
    const double *given = ft->m->amplitudes;
    const bool here = ft->o->keep_ratio && !ft->o->keep_scale; /* the amplitude alone may follow */
    struct bound_at at;
    enum status rc = ST_OK;

    out->ratio = ratio;
    memcpy(out->amplitude, given, ft->t * sizeof *given);
    if (!here)
        rc = bound_best(b, &anywhere, &told, err);
    if (rc == ST_OK && !here)
        out->ratio = model_round(noise[0] * noise[0] / (out->amplitude[0] * out->amplitude[0]));
    if (rc == ST_OK)
        rc = bound_at(b, ratio, &at, err);
    if (rc != ST_OK)
        return rc;
    out->value = bound_value(b, &at, given);
    if (here) {
        for (size_t j = 0; j < ft->t; j++)
            out->amplitude[j] = sqrt(at.c[j] / (double)b->n);
        out->best = bound_value(b, &at, out->amplitude);
    }
    bound_at_free(&at);
    return ST_OK;
}

/* The amplitude and noise at which points are judged: those given, or the likeliest with random
 * points. */
static enum status first_scale(struct fit *ft, struct sparse_fit *s, struct judged_at *at,
                               struct err *err)
{
    struct select_opts random = ft->o->inducing;
    struct select_points points = { 0 };
    struct bound b = { .approx = random.approx, .t = ft->t, .y = ft->y };

    at->ratio = ft->ratio;
    memcpy(at->amplitude, ft->m->amplitudes, ft->t * sizeof *at->amplitude);
    if (!ft->free_scale || ft->o->inducing.ops == NULL || !ft->o->inducing.ops->judged)
        return ST_OK;
    random.ops = select_at(0);
    struct select_job job = { .rows = &s->rows, .src = ft->src, .y = ft->y, .t = ft->t,
                              .amplitude = at->amplitude, .ratio = ft->ratio, .o = &random,
                              .seed = ft->o->seed, .out = &points };
    enum status rc = select_points(&job, err);
    b.m = points.m;
    if (rc == ST_OK)
        rc = bound_make(&s->rows, points.Z, &b, NULL, err);
    if (rc == ST_OK)
        rc = judge(ft, &b, ft->ratio, at, err);
    bound_free(&b);
    select_points_free(&points);
    return rc;
}

/* Keeps the rounds in the model, too. */
struct watched { struct ctl ctl; const struct ctl *outer; struct model *m; size_t cap; };

static void watch_tick(void *ctx, const struct tick *t)
{
    struct watched *w = ctx;
    struct model *m = w->m;

    ctl_tick(w->outer, t);
    if (t->phase != PHASE_INDUCING ||
        mem_grow((void **)&m->rounds, &w->cap, (m->nrounds + 1) * MODEL_ROUND, sizeof *m->rounds,
                 "rounds of the choice", NULL) != ST_OK)
        return;
    double *r = m->rounds + MODEL_ROUND * m->nrounds++;
    r[0] = (double)t->done;
    r[1] = t->value;
    r[2] = t->value2;
    r[3] = t->passes;
}

/* One choice at an amplitude and ratio; its system is made and judged. */
static enum status choose_once(struct fit *ft, struct sparse_fit *s, const struct judged_at *at,
                               struct judged_at *next, bool *stopped, struct err *err)
{
    struct select_points points = { 0 };
    struct bound b = { .approx = ft->o->inducing.approx, .t = ft->t, .y = ft->y };
    struct watched w = { .outer = ft->on.ctl, .m = ft->m,
                         .cap = ft->m->nrounds * MODEL_ROUND };
    w.ctl = (struct ctl){ .cancel = ft->on.ctl ? ft->on.ctl->cancel : NULL, .tick = watch_tick,
                          .ctx = &w };
    struct select_job job = { .rows = &s->rows, .src = ft->src, .y = ft->y, .t = ft->t,
                              .amplitude = at->amplitude, .ratio = at->ratio,
                              .o = &ft->o->inducing, .seed = ft->o->seed,
                              .mem_limit = ft->o->mem_limit, .ctl = &w.ctl, .out = &points };
    enum status rc = select_points(&job, err);

    *stopped = job.stopped;
    b.m = points.m;
    if (rc == ST_OK)
        rc = bound_make(&s->rows, points.Z, &b, NULL, err);
    if (rc == ST_OK)
        rc = judge(ft, &b, ft->ratio, next, err);
    if (rc != ST_OK || (s->points.m > 0 && next->best > ft->info->objective)) {
        bound_free(&b); /* the points before were as good */
        select_points_free(&points);
        return rc;
    }
    ft->info->objective = next->best;
    bound_free(&s->bound);
    select_points_free(&s->points);
    s->bound = b;
    s->points = points;
    return ST_OK;
}

/* Points, again where the noise has moved since; the ratio in force becomes the best one if it is
 * free. */
static enum status choose(struct fit *ft, struct sparse_fit *s, struct err *err)
{
    const struct select_ops *ops = ft->o->inducing.ops;
    struct fit_info *info = ft->info;
    struct judged_at at = { .ratio = ft->ratio }, next;
    bool stopped = false;
    enum status rc = first_scale(ft, s, &at, err);

    for (info->choices = 0; rc == ST_OK && info->choices < CHOICES && !stopped;) {
        rc = choose_once(ft, s, &at, &next, &stopped, err);
        info->choices++;
        const double moved = fabs(log(next.ratio / at.ratio));
        if (rc != ST_OK || !ft->free_scale || !ops || !ops->judged || !(moved > log(MOVED)))
            break;
        at = next;
    }
    if (rc == ST_OK)
        rc = judge(ft, &s->bound, ft->ratio, &next, err);
    if (rc != ST_OK)
        return rc;
    info->bound_given = -next.value;
    info->objective_best = -next.best;
    info->noise_best = next.amplitude[0] * sqrt(next.ratio);
    if (ft->free_scale)
        ft->ratio = next.ratio;
    if (stopped)
        info->why = OUT_CANCELLED;
    return ST_OK;
}

/* Fit. */

/* The model takes the points over; there may be fewer than planned. */
static void take_points(struct model *m, struct select_points *p)
{
    m->M = p->m;
    m->X = p->Z;
    m->origin = p->origin;
    *p = (struct select_points){ 0 };
}

static enum status sparse_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double t0 = fit_now();
    struct sparse_fit *s = ft->sparse = mem_calloc(1, sizeof *s, "the sparse fit", err);

    if (s == NULL || (s->X = exact_inputs(ft->src, err)) == NULL)
        return err_status(err);
    s->rows = (struct columns_of){ .k = &m->kernel, .hp = m->hp, .X = s->X, .n = ft->src->n,
                                   .d = m->d, .row_scale = ft->src->row_scale,
                                   .pool = ft->on.pool };
    m->approx = ft->o->inducing.approx;
    info->why = OUT_DIRECT;
    info->residual = info->true_residual = NAN;
    enum status rc = choose(ft, s, err);
    info->seconds.precond = fit_now() - t0;
    if (rc != ST_OK)
        return rc;
    const double t1 = fit_now();
    info->skipped = s->points.skipped;
    info->inducing = s->points.m;
    take_points(m, &s->points);
    for (size_t i = 0; i < m->M; i++)
        info->outside += m->origin[i] < 0.0;
    rc = bound_at(&s->bound, ft->ratio, &s->at, err);
    if (rc == ST_OK) {
        memcpy(m->w, s->at.u, ft->t * m->M * sizeof *m->w);
        rc = blas_dtrsm(ft->on.pool, true, m->M, ft->t, s->bound.L, m->M, m->w, m->M, err);
    }
    if (rc == ST_OK && ft->plan.Mv > 0) {
        double trace = 0.0; /* of (F F')^-1: each direction counts 1 less its entry */
        m->L = mem_aligned(m->M * m->M, sizeof *m->L, "the variance factor", err);
        if (m->L == NULL)
            return ST_NOMEM;
        memcpy(m->L, s->at.F, m->M * m->M * sizeof *m->L);
        m->Mv = m->M;
        rc = model_effdim(ft->on.pool, m->M, m->L, 1.0, &trace, NULL, NULL, err);
        info->effective_dimension = trace;
    }
    info->seconds.solve = fit_now() - t1;
    if (s->bound.jitter > 0.0)
        fit_warn(info, "jitter", "the kernel matrix of the inducing points is singular in double "
                                 "precision: %.2g of its mean diagonal was added",
                 s->bound.jitter);
    return rc;
}

/* rr from the residuals y - V u, and c of the bound (inducing/bound.h). */
static enum status sparse_moments(struct fit *ft, double *rr, double *c, struct err *err)
{
    const struct sparse_fit *s = ft->sparse;
    const size_t n = s->bound.n;
    double *r = mem_calloc(ft->t, n * sizeof *r, "the residuals", err);

    if (r == NULL)
        return ST_NOMEM;
    memcpy(r, ft->y, ft->t * n * sizeof *r);
    const enum status rc = blas_dgemm(ft->on.pool, false, false, n, ft->t, s->bound.m, -1.0,
                                      s->bound.V, n, s->at.u, s->bound.m, 1.0, r, n, err);
    for (size_t j = 0; j < ft->t; j++) {
        rr[j] = blas_ddot(n, r + j * n, r + j * n);
        c[j] = s->at.c[j];
    }
    free(r);
    return rc;
}

/* e_i = alpha_i / P_ii is the residual of row i from the others at fixed points, with the variance
 * 1 / P_ii; under VFE and DTC the predictive variance of a row has what the points miss of it on
 * top.  ft->residual <- their squares over the variances, ft->inverse <- the variances of the
 * function alone. */
static enum status left_out_rows(struct fit *ft, struct err *err)
{
    const struct sparse_fit *s = ft->sparse;
    const size_t n = s->bound.n;
    const double *scale = ft->src->row_scale;

    ft->residual = mem_calloc(ft->t, n * sizeof *ft->residual, "left-out residuals", err);
    ft->inverse = ft->residual ? mem_calloc(n, sizeof *ft->inverse, "left-out variances", err)
                               : NULL;
    const enum status rc = ft->inverse ? bound_left_out(&s->bound, &s->at, ft->residual,
                                                        ft->inverse, err)
                                       : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const double more = ft->m->approx == BOUND_FITC ? 0.0 : s->bound.missed[i];
        const double own = ft->inverse[i], var = 1.0 / own + more, f = scale ? scale[i] : 1.0;
        ft->inverse[i] = fmax(var - ft->ratio, 0.0) / (f * f);
        for (size_t j = 0; j < ft->t; j++) {
            const double e = ft->residual[i + j * n] / own;
            ft->residual[i + j * n] = e * e / var;
        }
    }
    return rc;
}

static enum status sparse_left_out(struct fit *ft, struct left_out *out, struct err *err)
{
    const size_t n = ft->src->n;

    if (ft->inverse == NULL)
        return err_set(err, ST_NOMEM, "out of memory for left-out residuals");
    out->m = n;
    out->z2 = mem_calloc(ft->t * n, sizeof *out->z2, "left-out residuals", err);
    out->latent = out->z2 ? mem_calloc(n, sizeof *out->latent, "left-out variances", err) : NULL;
    if (out->latent == NULL)
        return ST_NOMEM;
    memcpy(out->z2, ft->residual, ft->t * n * sizeof *out->z2);
    memcpy(out->latent, ft->inverse, n * sizeof *out->latent);
    return ST_OK;
}

/* The bound is that at the amplitude and noise of the end. */
static void sparse_end(struct fit *ft, enum status rc)
{
    struct sparse_fit *s = ft->sparse;
    struct fit_info *info = ft->info;

    if (s == NULL)
        return;
    if (rc == ST_OK) {
        info->objective = -bound_value(&s->bound, &s->at, ft->m->amplitudes);
        info->bound = ft->m->approx == BOUND_VFE ? info->objective : NAN;
    }
    if (rc == ST_OK && ft->m->L && left_out_rows(ft, NULL) != ST_OK) {
        free(ft->inverse);
        ft->inverse = NULL;
    }
    bound_at_free(&s->at);
    bound_free(&s->bound);
    select_points_free(&s->points);
    free(s->X);
    free(s);
    ft->sparse = NULL;
}

/* A noise that was given may belong to another model: a full one explains with its function what
 * the points miss, and the bound then falls without limit. */
static void sparse_check(struct fit *ft)
{
    struct fit_info *info = ft->info;
    const double lost = info->objective_best - info->bound_given;

    if (!ft->free_scale && lost > 0.1 * (double)(ft->src->n * ft->t))
        fit_warn(info, "sparse-noise",
                 "at the given noise %.3g the %s is %.6g; with these points it would be %.6g at "
                 "noise %.3g: the noise of another model does not suit a sparse one (try: tune "
                 "solver=sparse, or fit without noise= after a tuning)",
                 ft->o->noise, ft->m->approx == BOUND_VFE ? "bound" : "log likelihood",
                 info->bound_given, info->objective_best, info->noise_best);
}

/* Variances. */

/* F again from the training rows and the model's points. */
static enum status sparse_variance(struct model *m, const struct source *train, size_t Mv,
                                   const struct tools *on, double *effdim, struct err *err)
{
    struct bound b = { .approx = m->approx, .m = m->M };
    struct bound_at at = { 0 };
    double *X = train->d == m->d ? exact_inputs(train, err) : NULL;

    (void)Mv;
    if (train->d != m->d)
        return err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, train->d);
    const struct columns_of rows = { .k = &m->kernel, .hp = m->hp, .X = X, .n = train->n,
                                     .d = m->d, .row_scale = train->row_scale, .pool = on->pool };
    enum status rc = X ? bound_make(&rows, m->X, &b, on->ctl, err) : err_status(err);
    if (rc == ST_OK)
        rc = bound_at(&b, model_ratio(m->amplitude, m->noise), &at, err);
    if (rc == ST_OK && effdim != NULL)
        rc = model_effdim(on->pool, m->M, at.F, 1.0, effdim, NULL, on->ctl, err);
    if (rc == ST_OK) {
        free(m->L);
        m->L = at.F;
        m->Mv = m->M;
        at.F = NULL;
    }
    bound_at_free(&at);
    bound_free(&b);
    free(X);
    return rc;
}

/* Predictions. */

static bool sparse_suits(const struct model *m, const struct source *src, struct err *err)
{
    if (src->d == m->d || (src->d > m->d && kernel_reads_windows(&m->kernel)))
        return true;
    err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, src->d);
    return false;
}

/* Mean and variance of a tile of rows; p->held is L, the factor of the points. */
static enum status sparse_tile(const struct prediction *p, size_t r0, size_t r1, double *work,
                               struct err *err)
{
    const struct model *m = p->m;
    const size_t n = m->M, rows = r1 - r0, d = p->src->d;
    double *Xt = work, *C = work + MODEL_TILE * d, missed[MODEL_TILE];
    enum status rc = p->src->rows(p->src, r0, r1, Xt, err);

    if (rc != ST_OK)
        return rc;
    const struct exact_rows points = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n,
                                       .d = m->d };
    exact_cross_wide(&points, Xt, d, rows, C);
    for (size_t j = 0; j < m->t; j++)
        for (size_t i = 0; i < rows; i++)
            p->mean[j * p->n + r0 + i] = blas_ddot(n, C + i * n, m->w + j * n);
    if (p->varf == NULL)
        return ST_OK;
    memset(C + rows * n, 0, (MODEL_TILE - rows) * n * sizeof *C);
    rc = blas_dtrsm(NULL, false, n, MODEL_TILE, p->held, n, C, n, err);
    for (size_t i = 0; rc == ST_OK && i < rows; i++) {
        const double *x = Xt + i * d, prior = kernel_exact(&m->kernel, m->hp, m->d, x, x, NULL);
        missed[i] = fmax(prior - blas_ddot(n, C + i * n, C + i * n), 0.0);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm(NULL, false, n, MODEL_TILE, m->L, n, C, n, err);
    for (size_t i = 0; rc == ST_OK && i < rows; i++)
        for (size_t j = 0; j < m->t; j++)
            p->varf[j * p->n + r0 + i] = m->amplitudes[j] * m->amplitudes[j] *
                                         (missed[i] + blas_ddot(n, C + i * n, C + i * n));
    return rc;
}

double *model_sparse_factor(const struct model *m, struct pool *pool, struct err *err)
{
    double *L = mem_aligned(m->M * m->M, sizeof *L, "the factor of the points", err), jitter;
    const struct columns_of points = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M,
                                       .d = m->d, .pool = pool };

    if (L && bound_points(&points, L, &jitter, err) != ST_OK) {
        free(L);
        L = NULL;
    }
    return L;
}

static enum status sparse_predict(struct prediction *p, struct err *err)
{
    double *L = p->varf ? model_sparse_factor(p->m, p->on.pool, err) : NULL;

    if (p->varf && L == NULL)
        return err_status(err);
    p->tile = sparse_tile;
    p->held = L;
    p->work_len = MODEL_TILE * (p->src->d + p->m->M) + 8;
    const enum status rc = model_tiles(p, err);
    free(L);
    return rc;
}

const struct model_ops sparse_model = {
    .name = "sparse",
    .solver = "sparse",
    .words = "inducing points",
    .cite = "inducing points: Titsias 2009; Snelson & Ghahramani 2006",
    .alone = true,
    .points = true,
    .keeps_inputs = true,
    .size = sparse_size,
    .plan = sparse_plan,
    .fit = sparse_fit,
    .moments = sparse_moments,
    .end = sparse_end,
    .check = sparse_check,
    .left_out = sparse_left_out,
    .variance = sparse_variance,
    .suits = sparse_suits,
    .predict = sparse_predict,
    .average = model_average_sparse,
    .functions = functions_sparse,
    .tuning = &sparse_tuning,
};
