/* compute/likelihood/nmll_columns.c -- see nmll_columns.h.  Gram matrices are in float64: learned
 * features are few and unbounded, and the ratio of noise to amplitude gets small. */
#include "compute/likelihood/nmll_columns.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>

/* inverse <- (F'F + ratio I)^-1, both triangles; *logdet: of the matrix. */
static enum status invert(size_t n, size_t q, const double *F, double ratio, double *inverse,
                          double *logdet, struct pool *pool, struct err *err)
{
    enum status rc = blas_dgemm(pool, false, true, q, q, n, 1.0, F, q, F, q, 0.0, inverse, q, err);

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

/* Adds what one target has: its NMLL without log|A| and what belongs to that, and to dF the part of
 * its residuals; v has room for n + q numbers. */
struct one { const double *y; double *w, s2, log_scale, rest, ww; };

static void add_target(struct nmll_columns *c, struct one *o, double *v)
{
    static const double log2pi = 1.8378770664093454836;
    const size_t n = c->n, q = c->q;
    double quad = 0.0;

    blas_dgemv1(false, q, n, 1.0, c->F, q, o->y, 0.0, v + n);
    blas_dsymv1(true, q, c->inverse, q, v + n, o->w);
    blas_dgemv1(true, q, n, -1.0, c->F, q, o->w, 0.0, v);
    for (size_t i = 0; i < n; i++) { /* v = y - F w */
        v[i] += o->y[i];
        quad += o->y[i] * v[i];
        o->rest += v[i] * v[i];
    }
    for (size_t j = 0; j < q; j++)
        o->ww += o->w[j] * o->w[j];
    c->nmll += 0.5 * (quad / o->s2 + (double)n * (o->log_scale + log2pi));
    for (size_t i = 0; c->dF && i < n; i++)
        blas_daxpy(q, -v[i] / o->s2, o->w, c->dF + i * q);
}

/* Of rows of equal weight. */
static enum status of_rows(struct nmll_columns *c, struct pool *pool, struct err *err)
{
    const size_t n = c->n, q = c->q, t = c->targets ? c->targets : 1;
    const double log_ratio = c->log_scales ? c->log_ratio : c->log_noise - c->log_scale;
    const double ratio = exp(log_ratio), each = (double)t;
    double logdet, trace = 0.0;
    enum status rc = invert(n, q, c->F, ratio, c->inverse, &logdet, pool, err);
    double *v = rc == ST_OK ? mem_aligned(n + q, sizeof *v, "residuals", err) : NULL;

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
        add_target(c, &o, v);
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
