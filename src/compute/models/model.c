/* compute/models/model.c -- a fitted Gaussian process: reference counts, Cholesky factors of
 * A1 = Z1'Z1 + ratio I (M x M; share/doc/methods.md 6.1) with their effective dimension (6.7), and
 * predictions in tiles of rows. */
#include "compute/models/model.h"

#include "base/mem.h"
#include "compute/likelihood/temperature.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"
#include "compute/models/model_impl.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct model *model_ref(struct model *m)
{
    if (m != NULL)
        __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

void model_alias(const struct model *m, struct model *copy)
{
    const size_t first = offsetof(struct model, kind); /* behind refs */

    memcpy((char *)copy + first, (const char *)m + first, sizeof *m - first);
    copy->refs = 0;
}

void model_unref(struct model *m)
{
    if (m == NULL || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(m->w);
    free(m->L);
    if (m->lender)
        model_unref(m->lender);
    else
        free(m->factors);
    free(m->a);
    free(m->X);
    free(m->row_scale);
    free(m->spread);
    free(m->cv_w);
    free(m->cv);
    free(m->origin);
    free(m->rounds);
    free(m->state);
    free(m);
}

double model_round(double x)
{
    int e;
    const double m = frexp(x, &e);

    return ldexp(nearbyint(ldexp(m, 40)), e - 40);
}

double model_ratio(double amplitude, double noise)
{
    return model_round(noise * noise / (amplitude * amplitude));
}

/* Phases. */

static void phase_tick(void *ctx, const struct tick *t)
{
    const struct phase_ctl *p = ctx;
    struct tick own = *t;

    own.phase = p->phase;
    ctl_tick(p->outer, &own);
}

const struct ctl *model_phase(struct phase_ctl *p, const struct ctl *outer, enum phase phase)
{
    *p = (struct phase_ctl){ .outer = outer, .phase = phase };
    p->ctl = (struct ctl){ .cancel = outer ? outer->cancel : NULL, .tick = phase_tick, .ctx = p };
    return &p->ctl;
}

void model_step(const struct ctl *ctl, enum phase phase, size_t done)
{
    ctl_tick(ctl, &(struct tick){.phase = phase,
                                 .method = phase_word(phase),
                                 .done = done,
                                 .value = NAN,
                                 .value2 = NAN,
                                 .target = NAN,
                                 .passes = NAN});
}

/* The factor. */

enum status model_open(const struct model *m, size_t columns, const struct source *src,
                       const struct fop_opts *fo, const struct backend_ops *be, struct model_map *z,
                       struct err *err)
{
    z->f = NULL;
    z->map = featmap_new(&m->kernel, src->d, columns, m->seed, err);
    if (z->map == NULL)
        return err_status(err);
    z->f = fop_new(be, z->map, src, fo, err);
    enum status rc = z->f != NULL ? fop_set(z->f, m->hp, err) : err_status(err);
    if (rc != ST_OK)
        model_close(z);
    return rc;
}

void model_close(struct model_map *z)
{
    fop_free(z->f);
    featmap_free(z->map);
    *z = (struct model_map){ .f = NULL };
}

enum { RESTORE = 512, EDGE = 64 }; /* edge of a task's tile, and of a block for the caches */

struct restore { double *G; const double *diag; size_t M; double plus; };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Puts a tile of the Gram matrix back into the lower triangle (M x M column-major), from the upper
 * triangle that dpotrf leaves alone, with diag + plus on the diagonal. */
static void restore_tile(void *ctx, size_t task, size_t worker)
{
    const struct restore *s = ctx;
    const size_t M = s->M;
    size_t ti, tj;

    (void)worker;
    blas_lower_tile(task, &ti, &tj);
    const size_t i1 = least(M, (ti + 1) * RESTORE), j1 = least(M, (tj + 1) * RESTORE);
    for (size_t jb = tj * RESTORE; jb < j1; jb += EDGE)
        for (size_t ib = ti == tj ? jb : ti * RESTORE; ib < i1; ib += EDGE)
            for (size_t j = jb; j < least(j1, jb + EDGE); j++)
                for (size_t i = ib > j ? ib : j + 1; i < least(i1, ib + EDGE); i++)
                    s->G[i + j * M] = s->G[j + i * M];
    for (size_t i = ti * RESTORE; ti == tj && i < i1; i++)
        s->G[i + i * M] = s->diag[i] + s->plus;
}

/* L L' = G + (ratio + jitter) I. */
enum status model_refactor(struct pool *pool, size_t M, double *L, const double *diag,
                           double ratio, double jitter, const struct ctl *ctl, struct err *err)
{
    const size_t t = blas_tiles(M, RESTORE);
    struct restore back = { L, diag, M, ratio + jitter };

    pool_run(pool, t * (t + 1) / 2, restore_tile, &back);
    enum status rc = blas_dpotrf(pool, M, L, M, ctl, NULL, err);
    return rc == ST_OK ? blas_sound(pool, M, L, M, 0.5 * ratio, err) : rc;
}

enum status model_gram(struct fop *f, size_t t, const double *y, struct gram_factor *g,
                       const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f);
    double *formed = y ? NULL : fop_take_formed(f);

    g->jitter = 0.0;
    g->L = formed ? formed : mem_aligned(M * M, sizeof *g->L, "the Gram matrix", err);
    enum status rc = formed  ? ST_OK
                     : g->L ? fop_gram_of(f, t, y, g->L, g->b, NULL, ctl, err)
                            : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && g->diag && i < M; i++)
        g->diag[i] = g->L[i + i * M];
    g->unmade = rc == ST_OK;
    if (rc != ST_OK) {
        free(g->L);
        g->L = NULL;
    }
    return rc;
}

/* Where rounding leaves G + ratio I indefinite, a jitter is added: half of the ratio, or 1e-10 n
 * (an entry of G is at most about n), then ten times more each time, up to 1e-4 n. */
enum status model_factor(struct fop *f, size_t t, const double *y, struct gram_factor *g,
                         const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f);
    const double n = (double)fop_rows(f);
    double *own = g->diag ? NULL : mem_calloc(M, sizeof *own, "the Gram's diagonal", err);
    const double *diag = g->diag ? g->diag : own;
    enum status rc = diag ? model_gram(f, t, y, g, ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && own && i < M; i++)
        own[i] = g->L[i + i * M];
    model_step(ctl, PHASE_FACTOR, 0);
    while (rc == ST_OK) {
        rc = model_refactor(fop_pool(f), M, g->L, diag, g->ratio, g->jitter, ctl, err);
        if (rc != ST_NOT_PD || g->jitter > 1e-4 * n)
            break;
        g->jitter = g->jitter > 0.0 ? g->jitter * 10.0 : fmax(0.5 * g->ratio, 1e-10 * n);
        err_clear(err);
        rc = ST_OK;
    }
    g->unmade = false;
    if (rc != ST_OK) {
        free(g->L);
        g->L = NULL;
    }
    free(own);
    return rc;
}

/* From ESTIMATED columns on tr A^-1 is the mean of |L^-1 v|^2 over PROBES vectors v of signs
 * (Hutchinson 1990; share/doc/methods.md 6.25): M^2 operations each instead of M^3 / 3. */
enum { ESTIMATED = 4096, PROBES = 128 };
static const double effdim_se = 2e-3; /* of the effective dimension: if more, the whole is taken */

struct probes { double *V, *square; size_t M; };

static void probe_signs(void *ctx, size_t k, size_t worker)
{
    const struct probes *p = ctx;
    const uint64_t stream = rng_stream(RNG_TRACE, (uint32_t)k);
    double *v = p->V + k * p->M;

    (void)worker;
    for (size_t i = 0; i < p->M; i += 64) {
        const uint64_t bits = rng_u64(0, stream, i / 64);
        for (size_t j = i; j < least(p->M, i + 64); j++)
            v[j] = bits >> (j - i) & 1 ? 1.0 : -1.0;
    }
}

static void probe_squares(void *ctx, size_t k, size_t worker)
{
    const struct probes *p = ctx;

    (void)worker;
    p->square[k] = blas_ddot(p->M, p->V + k * p->M, p->V + k * p->M);
}

/* The effective dimension by probes; *se: its standard error. */
static enum status effdim_estimate(struct pool *pool, size_t M, const double *L, double ratio,
                                   double *effdim, double *se, struct err *err)
{
    struct probes p = { .M = M };
    double mean = 0.0, sq = 0.0;

    p.V = mem_aligned(M * PROBES, sizeof *p.V, "probes of a trace", err);
    p.square = p.V ? mem_calloc(PROBES, sizeof *p.square, "probes of a trace", err) : NULL;
    enum status rc = p.square ? ST_OK : ST_NOMEM;
    if (rc == ST_OK) {
        pool_run(pool, PROBES, probe_signs, &p);
        rc = blas_dtrsm(pool, false, M, PROBES, L, M, p.V, M, err);
    }
    if (rc == ST_OK)
        pool_run(pool, PROBES, probe_squares, &p);
    for (size_t k = 0; rc == ST_OK && k < PROBES; k++)
        mean += p.square[k] / PROBES;
    for (size_t k = 0; rc == ST_OK && k < PROBES; k++)
        sq += (p.square[k] - mean) * (p.square[k] - mean);
    *effdim = (double)M - ratio * mean;
    *se = ratio * sqrt(sq / (PROBES - 1.0) / PROBES);
    free(p.V);
    free(p.square);
    return rc;
}

enum status model_effdim(struct pool *pool, size_t M, const double *L, double ratio,
                         double *effdim, double *inverse, const struct ctl *ctl, struct err *err)
{
    double trace = 0.0, se = INFINITY;
    enum status rc = M < ESTIMATED || inverse
                         ? ST_OK : effdim_estimate(pool, M, L, ratio, effdim, &se, err);

    if (rc != ST_OK || se <= effdim_se * *effdim)
        return rc;
    double *own = inverse ? NULL : mem_calloc(M, sizeof *own, "the inverse's diagonal", err);
    double *diagonal = inverse ? inverse : own;
    rc = diagonal ? blas_inverse_squares(pool, M, L, M, diagonal, ctl, err) : ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < M; j++)
        trace += diagonal[j];
    free(own);
    *effdim = (double)M - ratio * trace;
    return rc;
}

struct halved { const double *L; double *H; size_t M, h; double ratio; };

/* H = 2 G_half + ratio I, some rows of its lower triangle, G_half the leading block of the Gram
 * matrix: half of the columns with the normalisation of a map of that many (3.1).  Its off-diagonal
 * entries stand in the upper triangle of L; G_ii + ratio is the sum of squares of row i of L. */
static void halved_rows(void *ctx, size_t task, size_t worker)
{
    const struct halved *s = ctx;
    const size_t M = s->M, h = s->h, i0 = task * EDGE, i1 = least(h, i0 + EDGE);
    double g[EDGE] = { 0.0 }; /* G_ii + ratio */

    (void)worker;
    for (size_t k = 0; k < i1; k++)
        for (size_t i = k > i0 ? k : i0; i < i1; i++)
            g[i - i0] += s->L[i + k * M] * s->L[i + k * M];
    for (size_t j = 0; j < i1; j++)
        for (size_t i = j < i0 ? i0 : j + 1; i < i1; i++)
            s->H[i + j * h] = 2.0 * s->L[j + i * M];
    for (size_t i = i0; i < i1; i++)
        s->H[i + i * h] = 2.0 * g[i - i0] - s->ratio;
}

enum status model_effdim_half(struct pool *pool, size_t M, const double *L, double ratio,
                              double *effdim, const struct ctl *ctl, struct err *err)
{
    const size_t h = M / 2;
    double *H = mem_aligned(h * h, sizeof *H, "the Gram of half the features", err);
    struct halved all = { L, H, M, h, ratio };

    if (H == NULL)
        return ST_NOMEM;
    pool_run(pool, blas_tiles(h, EDGE), halved_rows, &all);
    enum status rc = blas_dpotrf(pool, h, H, h, ctl, NULL, err);
    if (rc == ST_OK)
        rc = model_effdim(pool, h, H, ratio, effdim, NULL, ctl, err);
    free(H);
    return rc;
}

/* Variances and predictions, through the functions of the kind of model. */

enum status model_variance(struct model *m, const struct source *train, size_t Mv,
                           const struct tools *on, double *effdim, struct err *err)
{
    struct phase_ctl phase;
    const struct tools own = { on->be, on->pool, model_phase(&phase, on->ctl, PHASE_VARIANCE) };

    return m->kind->variance(m, train, Mv, &own, effdim, err);
}

struct tiles {
    const struct prediction *p;
    double *work;               /* per worker */
    int failed;
    struct err *errs;           /* per worker */
};

static void tile_task(void *ctx, size_t task, size_t worker)
{
    struct tiles *s = ctx;
    const struct prediction *p = s->p;
    const size_t r0 = task * MODEL_TILE, r1 = r0 + MODEL_TILE < p->n ? r0 + MODEL_TILE : p->n;

    if (__atomic_load_n(&s->failed, __ATOMIC_RELAXED) || ctl_stopped(p->on.ctl))
        return;
    if (p->tile(p, r0, r1, s->work + worker * p->work_len, &s->errs[worker]) != ST_OK)
        __atomic_store_n(&s->failed, (int)worker + 1, __ATOMIC_RELAXED);
}

enum status model_tiles(const struct prediction *p, struct err *err)
{
    const size_t threads = pool_threads(p->on.pool);
    struct tiles s = { .p = p };

    s.work = mem_aligned(threads * p->work_len, sizeof *s.work, "prediction tiles", err);
    s.errs = s.work ? mem_calloc(threads, sizeof *s.errs, "error slots", err) : NULL;
    enum status rc = s.errs ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        pool_run(p->on.pool, (p->n + MODEL_TILE - 1) / MODEL_TILE, tile_task, &s);
    if (rc == ST_OK && s.failed) {
        const struct err *e = &s.errs[s.failed - 1];
        if (err != NULL)
            *err = *e;
        rc = e->code != ST_OK ? e->code : ST_INTERNAL;
    }
    if (rc == ST_OK && ctl_stopped(p->on.ctl))
        rc = err_set(err, ST_CANCELLED, "stopped while predicting");
    free(s.work);
    free(s.errs);
    return rc;
}

void model_probabilities(const struct model *m, size_t n, const double *mean, const double *var,
                         double *p)
{
    const struct temperature_rows rows = { .of = m->likelihood, .n = n, .classes = 2,
                                           .mean = mean, .var = var };

    if (m->kind->probability == NULL)
        temperature_apply(&rows, m->temperature, p, NULL);
    for (size_t i = 0; m->kind->probability && i < n; i++)
        p[i] = m->kind->probability(m, mean[i]);
}

enum status model_predict(const struct model *m, const struct source *src, double *mean,
                          double *varf, const struct tools *on, struct err *err)
{
    struct phase_ctl phase;
    struct prediction p = { .m = m, .src = src, .n = src->n, .mean = mean, .varf = varf,
                            .on = { on->be, on->pool,
                                    model_phase(&phase, on->ctl, PHASE_PREDICT) } };
    const enum status rc = source_suits(src, &m->kernel, err);

    if (rc != ST_OK)
        return rc;
    if (!m->kind->suits(m, src, err))
        return ST_SHAPE;
    if (varf != NULL && !model_has_variance(m))
        return err_set(err, ST_STATE, "this model keeps no variances");
    return src->n == 0 ? ST_OK : m->kind->predict(&p, err);
}
