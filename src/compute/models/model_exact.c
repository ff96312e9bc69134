/* compute/models/model_exact.c -- the exact kernel: weights and variances by a Cholesky factor of
 * K1 + ratio I = L L' (n x n; Rasmussen & Williams 2006, algorithm 2.1; share/doc/methods.md 5.1,
 * 5.2), or weights alone by a solver on products with K1 (model_products.c).
 *
 * With K1 at amplitude 1, w = (K1 + ratio I)^-1 y (n) and k the n covariances with a new row:
 *   mean = k'w,   var_f = amplitude^2 (k(x, x) - |L^-1 k|^2).
 * Rounding can make the difference slightly negative near a training row; it is clamped at 0. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"
#include "compute/models/functions.h"
#include "compute/models/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCTS_FROM = 4000 }; /* training rows */

/* The training rows of a model. */
static struct exact_rows rows_of(const struct model *m, const double *row_scale, struct pool *pool)
{
    return (struct exact_rows){ .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M, .d = m->d,
                                .row_scale = row_scale, .pool = pool };
}

/* Plan. */

/* The plan of an exact fit: a Cholesky factor for solver=exact, which needs the memory for the
 * matrix; otherwise the solver that is asked for, or the cheapest of all (model_products.c). */
/* What features would cost instead, for a kernel of which they cost accuracy: "" for others. */
static const char *features_instead(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                    char out[160])
{
    enum { FEATURES = 4096 };
    struct fit_opts with = *o;
    struct fit_plan p = { .plan = PLAN_AUTO };
    char note[256], mem[24], time[32];

    *out = '\0';
    if (!kernel_is_flat(&o->kernel) || kernel_draws_none(&o->kernel))
        return out;
    with.kind = NULL;
    with.solver = "auto";
    with.plan = PLAN_AUTO;
    with.store = STORE_AUTO;
    with.features = FEATURES;
    if (model_plan_features(&with, n, d, threads, &p, note, NULL) != ST_OK)
        return out;
    mem_format(mem, sizeof mem, p.bytes);
    text_seconds(time, sizeof time, p.seconds_direct / (double)(threads ? threads : 1));
    const bool series = o->kernel.term[0].layer.terms > 0; /* measured: tests/bench/molecules.md */
    snprintf(out, 160, "; features=%d would take %s, about %s, and miss a similarity by %s %.3f",
             FEATURES, mem, time, series ? "about" : "up to",
             (series ? 1.4 : 1.0) / sqrt((double)FEATURES));
    return out;
}

static enum status exact_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                              struct fit_plan *p, char note[256], struct err *err)
{
    const bool own = (o->solver && strcmp(o->solver, exact_model.solver) == 0) ||
                     (o->plan == PLAN_DIRECT && solver_is_free(o->solver));
    char mem[24], time[32], words[160];
    enum status rc = exact_allowed(n, 1, o->mem_limit, err);

    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->Mv = o->variance == VAR_NONE || o->variance == VAR_SAMPLES ? 0 : n;
    p->bytes = 8.0 * (double)n * (double)n + 8.0 * (double)n * (double)d +
               (p->Mv ? 8.0 * 256.0 * (double)n : 0.0) + (double)threads * MODEL_BLAS_PACK;
    if (!own) {
        const bool factor = rc == ST_OK;
        err_clear(err);
        return model_products_plan(o, n, d, factor, p, note, err);
    }
    if (rc != ST_OK)
        return rc;
    mem_format(mem, sizeof mem, p->bytes);
    text_seconds(time, sizeof time,
                 (exact_seconds_of(n, exact_op_pair(&o->kernel, d)) +
                  (p->Mv ? exact_seconds_of(n, 0.0) : 0.0)) / /* the diagonal of the inverse */
                     (double)(threads ? threads : 1));
    snprintf(note, 256, "exact: Cholesky of %zu rows in %s, about %s%s", n, mem, time,
             features_instead(o, n, d, threads, words));
    return ST_OK;
}

/* Fit. */

/* Turns the factor L of S K1 S + ratio I, and t vectors of weights for it (NULL: none), into those
 * of K1 + ratio S^-2, which predict without row factors: L <- S^-1 L, w <- S w.  Nothing to do
 * without row factors. */
static void unscale(size_t n, size_t t, const double *row_scale, double *L, double *w)
{
    for (size_t i = 0; row_scale && w && i < t * n; i++)
        w[i] *= row_scale[i % n];
    for (size_t j = 0; row_scale && L && j < n; j++)
        for (size_t i = j; i < n; i++)
            L[i + j * n] /= row_scale[i];
}

/* The diagonal of (S K1 S + ratio I)^-1 from the factor S^-1 L, whose inverse has s_i^2 times as
 * much: for a factor that was made after the fit. */
static enum status lost_inverse(struct fit *ft, struct err *err)
{
    const size_t n = ft->src->n;
    const double *s = ft->src->row_scale;
    double effdim;

    ft->inverse = mem_calloc(n, sizeof *ft->inverse, "the inverse's diagonal", err);
    if (ft->inverse == NULL)
        return ST_NOMEM;
    const enum status rc = model_effdim(ft->on.pool, n, ft->m->L, ft->ratio, &effdim, ft->inverse,
                                        ft->on.ctl, err);
    for (size_t i = 0; s && i < n; i++)
        ft->inverse[i] /= s[i] * s[i];
    return rc;
}

/* e_i = w_i / C_ii and v_i = 1 / C_ii with C = (S K1 S + ratio I)^-1 (share/doc/methods.md 5.6); w
 * has been multiplied by S since. */
static enum status exact_left_out(struct fit *ft, struct left_out *out, struct err *err)
{
    const size_t n = ft->src->n;
    const double *s = ft->src->row_scale;

    const enum status rc = ft->inverse ? ST_OK : lost_inverse(ft, err);
    if (rc != ST_OK)
        return rc;
    out->m = n;
    out->z2 = mem_calloc(ft->t * n, sizeof *out->z2, "left-out residuals", err);
    out->latent = out->z2 ? mem_calloc(n, sizeof *out->latent, "left-out variances", err) : NULL;
    if (out->latent == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        out->latent[i] = (1.0 / ft->inverse[i] - ft->ratio) / (s ? s[i] * s[i] : 1.0);
    for (size_t j = 0; j < ft->t * n; j++) {
        const double w = s ? ft->m->w[j] / s[j % n] : ft->m->w[j];
        out->z2[j] = w * w / ft->inverse[j % n];
    }
    return ST_OK;
}

/* The functions of the fit by the factor L of S K1 S + ratio I. */
static enum status solve_functions(struct fit *ft, const double *L, struct err *err)
{
    struct model *m = ft->m;
    const size_t n = m->M;
    enum status rc = functions_sides_exact(m, ft->src->row_scale, ft->ratio, m->a, &ft->on, err);

    if (rc == ST_OK)
        rc = blas_dtrsm(ft->on.pool, false, n, m->S, L, n, m->a, n, err);
    return rc == ST_OK ? blas_dtrsm(ft->on.pool, true, n, m->S, L, n, m->a, n, err) : rc;
}

/* Weights by the Cholesky factor, w = L'^-1 L^-1 y; the factor is kept for the variances. */
static enum status fit_matrix(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const size_t n = m->M;
    struct phase_ctl phase;
    double t = fit_now(), jitter = 0.0;

    m->X = exact_inputs(ft->src, err);
    double *K = m->X ? mem_aligned(n * n, sizeof *K, "the kernel matrix", err) : NULL;
    if (K == NULL)
        return err_status(err);
    const struct exact_rows rows = rows_of(m, ft->src->row_scale, ft->on.pool);
    enum status rc = exact_factor(&rows, ft->ratio, K, &jitter,
                                  model_phase(&phase, ft->on.ctl, PHASE_SOLVE), err);
    if (rc == ST_OK) {
        memcpy(m->w, ft->y, ft->t * n * sizeof *m->w);
        rc = blas_dtrsm(ft->on.pool, false, n, ft->t, K, n, m->w, n, err);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm(ft->on.pool, true, n, ft->t, K, n, m->w, n, err);
    if (rc == ST_OK && m->S)
        rc = solve_functions(ft, K, err);
    info->seconds.solve = fit_now() - t;
    t = fit_now();
    if (rc == ST_OK && ft->plan.Mv > 0) {
        ft->inverse = mem_calloc(n, sizeof *ft->inverse, "the inverse's diagonal", err);
        rc = !ft->inverse ? ST_NOMEM
                          : model_effdim(ft->on.pool, n, K, ft->ratio + jitter,
                                         &info->effective_dimension, ft->inverse, ft->on.ctl, err);
        m->L = K;
        m->Mv = n;
        K = NULL;
    }
    free(K);
    info->seconds.variance = fit_now() - t;
    info->why = OUT_DIRECT;
    info->residual = info->true_residual = NAN;
    if (jitter > 0.0)
        fit_warn(info, "jitter",
                 "the kernel matrix is singular in double precision: %.2g was added "
                 "to its diagonal (noise variance over amplitude squared is %.2g)",
                 jitter, ft->ratio);
    return rc;
}

static enum status exact_fit(struct fit *ft, struct err *err)
{
    return ft->plan.solver ? model_products_fit(ft, err) : fit_matrix(ft, err);
}

/* For each target: the residual y - K1 w is ratio w, and c = y' (K1 + ratio I)^-1 y = y'w. */
static enum status exact_moments(struct fit *ft, double *rr, double *c, struct err *err)
{
    const size_t n = ft->src->n;

    if (ft->system)
        return model_products_moments(ft, rr, c, err);
    for (size_t j = 0; j < ft->t; j++) {
        const double *w = ft->m->w + j * n;
        rr[j] = ft->ratio * ft->ratio * blas_ddot(n, w, w);
        c[j] = blas_ddot(n, ft->y + j * n, w);
    }
    return ST_OK;
}

static void exact_end(struct fit *ft, enum status rc)
{
    exact_system_close(ft->system);
    ft->system = NULL;
    if (rc == ST_OK)
        unscale(ft->m->M, ft->t, ft->src->row_scale, ft->m->L, ft->m->w);
    if (rc == ST_OK && ft->m->S)
        unscale(ft->m->M, ft->m->S, ft->src->row_scale, NULL, ft->m->a);
}

static size_t exact_size(const struct fit_opts *o, size_t n)
{
    (void)o;
    return n;
}

/* Variances. */

/* The factor L of K1 + ratio S^-2 from the training rows; Mv does not apply. */
static enum status exact_variance(struct model *m, const struct source *train, size_t Mv,
                                  const struct tools *on, double *effdim, struct err *err)
{
    const struct exact_rows rows = rows_of(m, train->row_scale, on->pool);
    double jitter;

    (void)Mv;
    if (train->n != m->M)
        return err_set(err, ST_SHAPE, "the model has %zu training rows, the data %zu", m->M,
                       train->n);
    double *K = mem_aligned(m->M * m->M, sizeof *K, "the kernel matrix", err);
    const double ratio = model_ratio(m->amplitude, m->noise);
    enum status rc = K ? exact_factor(&rows, ratio, K, &jitter, on->ctl, err) : ST_NOMEM;

    if (rc == ST_OK && effdim != NULL)
        rc = model_effdim(on->pool, m->M, K, ratio + jitter, effdim, NULL, on->ctl, err);
    if (rc != ST_OK) {
        free(K);
        return rc;
    }
    unscale(m->M, m->t, train->row_scale, K, NULL);
    free(m->L);
    m->L = K;
    m->Mv = m->M;
    return ST_OK;
}

/* Predictions. */

static bool exact_suits(const struct model *m, const struct source *src, struct err *err)
{
    if (src->d == m->d || (src->d > m->d && kernel_reads_windows(&m->kernel)))
        return true;
    err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, src->d);
    return false;
}

/* Mean and variance of a tile of rows: C (n x rows) is k of each row, then L^-1 k. */
static enum status exact_tile(const struct prediction *p, size_t r0, size_t r1, double *work,
                              struct err *err)
{
    const struct model *m = p->m;
    const size_t n = m->M, rows = r1 - r0, d = p->src->d;
    double *Xt = work, *C = work + MODEL_TILE * d;
    enum status rc = p->src->rows(p->src, r0, r1, Xt, err);

    if (rc != ST_OK)
        return rc;
    const struct exact_rows train = rows_of(m, NULL, NULL);
    exact_cross_wide(&train, Xt, d, rows, C);
    for (size_t j = 0; j < m->t; j++)
        for (size_t i = 0; i < rows; i++)
            p->mean[j * p->n + r0 + i] = blas_ddot(n, C + i * n, m->w + j * n);
    if (p->varf == NULL || m->L == NULL)
        return ST_OK;
    memset(C + rows * n, 0, (MODEL_TILE - rows) * n * sizeof *C);
    rc = blas_dtrsm(NULL, false, n, MODEL_TILE, m->L, n, C, n, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < rows; i++) {
        const double *x = Xt + i * d, prior = kernel_exact(&m->kernel, m->hp, m->d, x, x, NULL);
        const double v = fmax(prior - blas_ddot(n, C + i * n, C + i * n), 0.0);
        for (size_t j = 0; j < m->t; j++)
            p->varf[j * p->n + r0 + i] = m->amplitudes[j] * m->amplitudes[j] * v;
    }
    return ST_OK;
}

/* Where nothing but means is kept, products are faster for many rows; few are summed in double
 * precision, and so are sequences that are longer than those of the training rows. */
static enum status exact_predict(struct prediction *p, struct err *err)
{
    const struct backend_ops *be = p->on.be;
    const bool means = p->m->L == NULL && be != NULL && p->src->d == p->m->d;
    enum status rc;

    p->tile = exact_tile;
    p->work_len = MODEL_TILE * (p->src->d + p->m->M) + 8;
    if (means && (be->exact != NULL || p->m->M > PRODUCTS_FROM))
        rc = model_products_predict(p, err);
    else
        rc = model_tiles(p, err);
    return rc == ST_OK && p->varf && p->m->L == NULL
               ? functions_spread(p->m, p->src, p->varf, &p->on, err) : rc;
}

/* Tuning: an evaluation at a given amplitude and noise takes one Cholesky factor, the best ones a
 * reduction to tridiagonal form, which takes several times as long and has no gradient. */

enum { SEARCH_ROWS = 1000, PROBE_RANK = 256 };

/* By probes: the most work for a final value, in evaluations; and the relative residual of y, with
 * which c = y'w is within 1e-8 |y|^2 / ratio, since its error is of second order. */
static const double SHARPEN_MOST = 6.0, EXACT_RTOL = 1e-4;

/* Rows that are asked for are all that is used: n^3 for all others would be the whole cost. */
static struct tuning_sizes exact_sizes(const struct kernel *k, size_t n, size_t d, size_t features,
                                       size_t rows)
{
    const size_t all = rows && rows < n ? rows : n, low = all < SEARCH_ROWS ? all : SEARCH_ROWS;

    (void)k;
    (void)d;
    (void)features;
    return (struct tuning_sizes){ .rows = low, .cols = low, .all_cols = all,
                                  .all_rows = all };
}

static enum status exact_tunes(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    const enum status rc = exact_allowed(n, 1, mem_limit, err);

    (void)features;
    if (rc != ST_OK)
        err_hint(err, "tune solver=exact rows=3000, or tune solver=exact nmll=approx (without the "
                      "matrix)");
    return rc;
}

static enum status exact_value(struct tuning_level *l, const struct nmll_ask *ask,
                               const struct nmll_told *told, struct err *err)
{
    return nmll_exact(l->task->kernel, l->src, ask, told, l->task->on.pool, l->task->on.ctl, err);
}

static void exact_probes_note(size_t n, size_t mem_limit, char note[256])
{
    char rows[24], kept[24], mem[24], time[32];

    text_count(rows, sizeof rows, n);
    mem_format(kept, sizeof kept, exact_op_stored_bytes(n, false));
    mem_format(mem, sizeof mem, 8.0 * (double)n * (double)n);
    text_seconds(time, sizeof time, 3.0 * exact_seconds(n)); /* the gradient needs the inverse */
    snprintf(note, 256,
             "a value of %s rows takes hundreds of products with their kernel matrix (%s); with a "
             "Cholesky factor (nmll=exact) %s and about %s of one core",
             rows, exact_op_keeps(n, mem_limit) ? kept : "never kept", mem, time);
}

/* By products with K1 (share/doc/methods.md 10.7). */
static enum status exact_probes(struct tuning_level *l, const struct nmll_ask *ask,
                                const struct nmll_told *told, const struct tuning_probes *p,
                                struct err *err)
{
    const struct tuning_task *task = l->task;
    const bool store = exact_op_keeps(l->n, task->mem_limit);
    double *X = exact_inputs(l->src, err);
    const struct exact_rows rows = { .k = task->kernel, .hp = ask->hp, .X = X, .n = l->n,
                                     .d = l->src->d, .row_scale = l->src->row_scale,
                                     .pool = task->on.pool };

    *p->rank = p->given ? p->given : PROBE_RANK;
    *p->other = false;
    const struct nmll_slq_opts so = { .rank = *p->rank, .probes = p->n, .rtol = EXACT_RTOL,
                                      .probe_rtol = TUNING_PROBE_RTOL, .seed = task->seed,
                                      .terms = p->terms, .error = p->error, .most = SHARPEN_MOST,
                                      .used = p->used };
    const enum status rc = X ? nmll_slq_exact(task->on.be, &rows, store, ask, &so, told,
                                              task->on.ctl, err)
                             : err_status(err);
    free(X);
    return rc;
}

static void exact_close(struct tuning_level *l)
{
    (void)l; /* an evaluation frees its matrix */
}

static const struct model_tuning exact_tuning = {
    .joint = true,
    .in_double = true,
    .sizes = exact_sizes,
    .allowed = exact_tunes,
    .best = exact_value,
    .at = exact_value,
    .no_errors = "is for feature models, method=bayes or grid",
    .probes = exact_probes,
    .probes_note = exact_probes_note,
    .close = exact_close,
};

const struct model_ops exact_model = {
    .name = "exact",
    .solver = "exact",
    .words = "exact kernel",
    .cite = "exact Gaussian process regression: Rasmussen & Williams 2006, chapter 2",
    .exact = true,
    .keeps_inputs = true,
    .keeps_rows = true,
    .size = exact_size,
    .plan = exact_plan,
    .sample = model_products_sample,
    .fit = exact_fit,
    .moments = exact_moments,
    .end = exact_end,
    .left_out = exact_left_out,
    .variance = exact_variance,
    .suits = exact_suits,
    .predict = exact_predict,
    .average = model_average_exact,
    .functions = functions_exact,
    .solved = functions_exact_solved,
    .tuning = &exact_tuning,
};
