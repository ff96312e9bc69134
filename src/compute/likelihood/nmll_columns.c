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

enum status nmll_columns(struct nmll_columns *c, struct pool *pool, struct err *err)
{
    static const double log2pi = 1.8378770664093454836;
    const size_t n = c->n, q = c->q;
    const double s2 = exp(c->log_noise), ratio = exp(c->log_noise - c->log_scale);
    double logdet, trace = 0.0, quad = 0.0, rest = 0.0, ww = 0.0;
    enum status rc = invert(n, q, c->F, ratio, c->inverse, &logdet, pool, err);
    double *v = rc == ST_OK ? mem_aligned(n + q, sizeof *v, "residuals", err) : NULL;

    if (!v)
        return rc == ST_OK ? ST_NOMEM : rc;
    blas_dgemv1(false, q, n, 1.0, c->F, q, c->y, 0.0, v + n);
    blas_dsymv1(true, q, c->inverse, q, v + n, c->w);
    blas_dgemv1(true, q, n, -1.0, c->F, q, c->w, 0.0, v);
    for (size_t i = 0; i < n; i++) { /* v = y - F w */
        v[i] += c->y[i];
        quad += c->y[i] * v[i];
        rest += v[i] * v[i];
    }
    for (size_t j = 0; j < q; j++) {
        trace += c->inverse[j + j * q];
        ww += c->w[j] * c->w[j];
    }
    c->effdim = (double)q - ratio * trace;
    c->nmll = 0.5 * (quad / s2 + logdet + ((double)n - (double)q) * log(ratio) +
                     (double)n * (c->log_scale + log2pi));            /* (23.5) */
    c->dnoise = 0.5 * ((double)n - c->effdim - rest / s2);            /* (23.7) */
    c->dscale = 0.5 * (c->effdim - ww * exp(-c->log_scale));
    if (c->dF) { /* (23.6) */
        rc = blas_dgemm(pool, false, false, q, n, q, 1.0, c->inverse, q, c->F, q, 0.0, c->dF, q,
                        err);
        for (size_t i = 0; rc == ST_OK && i < n; i++)
            blas_daxpy(q, -v[i] / s2, c->w, c->dF + i * q);
    }
    free(v);
    return rc;
}
