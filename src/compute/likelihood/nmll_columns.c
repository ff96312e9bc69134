/* compute/likelihood/nmll_columns.c -- see nmll_columns.h.  Gram matrices are in float64: learned
 * features are few and unbounded, and the ratio of noise to amplitude gets small. */
#include "compute/likelihood/nmll_columns.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over rows go by segments, cut by the number of rows alone and added in order, so that any
 * number of threads has the same bits. */
enum { SEGMENTS = 16, SEGMENT_LEAST = 1024, NARROW = 256 };

struct segments {
    size_t n, q, count;
    const double *F, *y, *w;
    double s2, *dF, *v, *part; /* part: the numbers that each has summed, one after another */
};

static size_t segments_of(size_t n)
{
    const size_t some = n / SEGMENT_LEAST;

    return some < 1 ? 1 : some > SEGMENTS ? SEGMENTS : some;
}

static void add_parts(size_t count, size_t each, double *part)
{
    for (size_t g = 1; g < count; g++)
        for (size_t i = 0; i < each; i++)
            part[i] += part[g * each + i];
}

static void gram_task(void *ctx, size_t g, size_t worker)
{
    const struct segments *s = ctx;
    const size_t q = s->q, r0 = s->n * g / s->count, r1 = s->n * (g + 1) / s->count;

    (void)worker;
    blas_dgemm1(false, true, q, q, r1 - r0, 1.0, s->F + r0 * q, q, s->F + r0 * q, q, 0.0,
                s->part + g * q * q, q);
}

/* G <- F'F; a wide one is split by its own tiles. */
static enum status gram(size_t n, size_t q, const double *F, double *G, struct pool *pool,
                        struct err *err)
{
    struct segments s = { .n = n, .q = q, .count = segments_of(n), .F = F };

    if (q > NARROW || s.count == 1)
        return blas_dgemm(pool, false, true, q, q, n, 1.0, F, q, F, q, 0.0, G, q, err);
    s.part = mem_aligned(s.count * q * q, sizeof *s.part, "sums over rows", err);
    if (!s.part)
        return ST_NOMEM;
    pool_run(pool, s.count, gram_task, &s);
    add_parts(s.count, q * q, s.part);
    memcpy(G, s.part, q * q * sizeof *G);
    free(s.part);
    return ST_OK;
}

/* inverse <- (F'F + ratio I)^-1, both triangles; *logdet: of the matrix. */
static enum status invert(size_t n, size_t q, const double *F, double ratio, double *inverse,
                          double *logdet, struct pool *pool, struct err *err)
{
    enum status rc = gram(n, q, F, inverse, pool, err);

    for (size_t j = 0; rc == ST_OK && j < q; j++) {
        inverse[j + j * q] += ratio;
        if (!isfinite(inverse[j + j * q]))
            rc = err_set(err, ST_NOT_PD, "the learned features are not finite");
    }
    if (rc == ST_OK)
        rc = blas_dpotrf(pool, q, inverse, q, NULL, NULL, err);
    *logdet = 0.0;
    for (size_t j = 0; rc == ST_OK && j < q; j++)
        *logdet += 2.0 * log(inverse[j + j * q]);
    if (rc == ST_OK)
        rc = blas_dpotri(pool, q, inverse, q, err);
    if (rc == ST_OK)
        blas_mirror(0, q, 0, q, inverse, q);
    return rc;
}

/* F'y of a segment. */
static void project_task(void *ctx, size_t g, size_t worker)
{
    const struct segments *s = ctx;
    const size_t q = s->q, r0 = s->n * g / s->count, r1 = s->n * (g + 1) / s->count;

    (void)worker;
    blas_dgemv1(false, q, r1 - r0, 1.0, s->F + r0 * q, q, s->y + r0, 0.0, s->part + g * q);
}

/* v = y - F w of a segment, y'v and v'v of its rows, and what v adds to dF. */
static void residual_task(void *ctx, size_t g, size_t worker)
{
    const struct segments *s = ctx;
    const size_t q = s->q, r0 = s->n * g / s->count, r1 = s->n * (g + 1) / s->count;
    double *sums = s->part + 2 * g;

    (void)worker;
    sums[0] = sums[1] = 0.0;
    blas_dgemv1(true, q, r1 - r0, -1.0, s->F + r0 * q, q, s->w, 0.0, s->v + r0);
    for (size_t i = r0; i < r1; i++) {
        s->v[i] += s->y[i];
        sums[0] += s->y[i] * s->v[i];
        sums[1] += s->v[i] * s->v[i];
        if (s->dF)
            blas_daxpy(q, -s->v[i] / s->s2, s->w, s->dF + i * q);
    }
}

/* Adds what one target has: its NMLL without log|A| and what belongs to that, and to dF the part of
 * its residuals; v has room for n numbers, and SEGMENTS (q + 2) of sums. */
struct one { const double *y; double *w, s2, log_scale, rest, ww; };

static void add_target(struct nmll_columns *c, struct one *o, double *v, struct pool *pool)
{
    static const double log2pi = 1.8378770664093454836;
    const size_t n = c->n, q = c->q;
    struct segments s = { .n = n, .q = q, .count = segments_of(n), .F = c->F, .y = o->y, .w = o->w,
                          .s2 = o->s2, .dF = c->dF, .v = v, .part = v + n };

    pool_run(pool, s.count, project_task, &s);
    add_parts(s.count, q, s.part);
    blas_dsymv1(true, q, c->inverse, q, s.part, o->w);
    pool_run(pool, s.count, residual_task, &s);
    add_parts(s.count, 2, s.part);
    o->rest += s.part[1];
    for (size_t j = 0; j < q; j++)
        o->ww += o->w[j] * o->w[j];
    c->nmll += 0.5 * (s.part[0] / o->s2 + (double)n * (o->log_scale + log2pi));
}

/* Of rows of equal weight. */
static enum status of_rows(struct nmll_columns *c, struct pool *pool, struct err *err)
{
    const size_t n = c->n, q = c->q, t = c->targets ? c->targets : 1;
    const double log_ratio = c->log_scales ? c->log_ratio : c->log_noise - c->log_scale;
    const double ratio = exp(log_ratio), each = (double)t;
    double logdet, trace = 0.0;
    enum status rc = invert(n, q, c->F, ratio, c->inverse, &logdet, pool, err);
    const size_t room = n + SEGMENTS * (q + 2);
    double *v = rc == ST_OK ? mem_aligned(room, sizeof *v, "residuals", err) : NULL;

    if (!v)
        return rc == ST_OK ? ST_NOMEM : rc;
    if (c->dF) /* (23.6) */
        rc = blas_dgemm(pool, false, false, q, n, q, each, c->inverse, q, c->F, q, 0.0, c->dF, q,
                        err);
    for (size_t j = 0; j < q; j++)
        trace += c->inverse[j + j * q];
    c->effdim = (double)q - ratio * trace;
    c->nmll = 0.5 * each * (logdet + ((double)n - (double)q) * log(ratio)); /* (23.5) */
    c->dnoise = 0.0;
    for (size_t j = 0; rc == ST_OK && j < t; j++) {
        struct one o = { .y = c->y + j * n, .w = c->w + j * q,
                         .log_scale = c->log_scales ? c->log_scales[j] : c->log_scale };
        o.s2 = c->log_scales ? exp(o.log_scale + log_ratio) : exp(c->log_noise);
        add_target(c, &o, v, pool);
        const double dnoise = 0.5 * ((double)n - c->effdim - o.rest / o.s2); /* (23.7) */
        const double dscale = 0.5 * (c->effdim - o.ww * exp(-o.log_scale));
        c->dnoise += dnoise;
        c->dscale = dscale;
        if (c->dscales) /* at a fixed ratio the noise moves with the amplitude (23.14) */
            c->dscales[j] = dscale + dnoise;
    }
    free(v);
    return rc;
}

/* Features and targets times the roots of the weights, and the way back (23.15). */
enum status nmll_columns(struct nmll_columns *c, struct pool *pool, struct err *err)
{
    const size_t n = c->n, q = c->q, t = c->targets ? c->targets : 1;

    if (!c->scale)
        return of_rows(c, pool, err);
    double *F = mem_aligned(n * (q + t), sizeof *F, "weighted rows", err);
    if (!F)
        return ST_NOMEM;
    double *y = F + n * q;
    for (size_t i = 0; i < n * q; i++)
        F[i] = c->scale[i / q] * c->F[i];
    for (size_t i = 0; i < n * t; i++)
        y[i] = c->scale[i % n] * c->y[i];
    struct nmll_columns own = *c;
    own.F = F;
    own.y = y;
    const enum status rc = of_rows(&own, pool, err);
    own.F = c->F;
    own.y = c->y;
    *c = own;
    for (size_t i = 0; i < n; i++)
        c->nmll -= (double)t * log(c->scale[i]);
    for (size_t i = 0; rc == ST_OK && c->dF && i < n * q; i++)
        c->dF[i] *= c->scale[i / q];
    free(F);
    return rc;
}
