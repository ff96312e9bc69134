/* compute/stats/process.c -- prior and posterior of a Gaussian process on a grid (process.h;
 * share/doc/methods.md 5.1 to 5.3): L L' = K1 + ratio I (n x n), mean = C'a, cov -= C'C with
 * C = L^-1 k(X, at) (n x g), a = L^-1 y. */
#include "compute/stats/process.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/rng.h"
#include "compute/stats/reach.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_FUNCTION = 100 };

double process_half_distance(const struct kernel *k, const double *hp)
{
    const double zero = 0.0, top = kernel_exact(k, hp, 1, &zero, &zero, NULL);
    double lo = 0.0, hi = 1e-3;

    if (!kernel_of_distance(k))
        return NAN;
    while (hi < 1e3 && kernel_exact(k, hp, 1, &zero, &hi, NULL) > 0.5 * top)
        lo = hi, hi *= 1.05;
    if (hi >= 1e3)
        return NAN;
    for (int i = 0; i < 60; i++) {
        const double mid = 0.5 * (lo + hi);
        if (kernel_exact(k, hp, 1, &zero, &mid, NULL) > 0.5 * top)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static struct exact_rows rows_at(const struct process *p, const double *x, size_t n)
{
    return (struct exact_rows){ .k = &p->k, .hp = p->hp, .X = x, .n = n, .d = 1 };
}

void process_prior(const struct process *p, size_t g, const double *at, double *cov)
{
    const struct exact_rows rows = rows_at(p, at, g);

    exact_cross(&rows, at, g, cov);
}

/* The lower Cholesky factor of a covariance that may be singular to rounding.  The jitter grows
 * tenfold until the factor exists, up to 1e-4 of the largest variance, which no picture shows. */
static enum status root_of(size_t g, const double *cov, double *root, struct err *err)
{
    double top = 0.0;

    for (size_t j = 0; j < g; j++)
        top = fmax(top, cov[j * g + j]);
    for (double e = 1e-12;; e *= 10.0) {
        memcpy(root, cov, g * g * sizeof *root);
        for (size_t j = 0; j < g; j++)
            root[j * g + j] += e * fmax(top, 1e-300);
        const enum status rc = blas_dpotrf(NULL, g, root, g, NULL, NULL, err);
        if (rc != ST_NOT_PD || e > 1e-4)
            return rc;
    }
}

/* Counts the rows within their own 95 % bands; L is the factor of the rows' covariance with noise
 * (n x n), a = L^-1 y. */
static enum status count_inside(const struct process *p, const struct process_rows *r,
                                const double *L, const double *a, struct process_fit *out,
                                struct err *err)
{
    const size_t n = r->n;
    const double ratio = p->noise * p->noise / (p->amplitude * p->amplitude);
    const struct exact_rows rows = rows_at(p, r->x, n);
    double *own = mem_calloc(n * n, sizeof *own, "a draw", err);
    double *prior = own ? mem_calloc(n, sizeof *prior, "a draw", err) : NULL;
    enum status rc = prior ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        exact_cross(&rows, r->x, n, own);
        for (size_t i = 0; i < n; i++)
            prior[i] = own[i * n + i];
        rc = blas_dtrsm(NULL, false, n, n, L, n, own, n, err);
    }
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const double m = blas_ddot(n, own + i * n, a);
        const double v = fmax(0.0, prior[i] - blas_ddot(n, own + i * n, own + i * n)) + ratio;
        out->inside += fabs(r->y[i] - m) <= reach_at(NULL, 0.95) * p->amplitude * sqrt(v);
    }
    free(own), free(prior);
    return rc;
}

enum status process_condition(const struct process *p, const struct process_rows *r, size_t g,
                              const double *at, double *mean, double *cov,
                              struct process_fit *out, struct err *err)
{
    const size_t n = r->n;
    const double b2 = p->amplitude * p->amplitude, ratio = p->noise * p->noise / b2;
    const struct exact_rows rows = rows_at(p, r->x, n);
    double *L = mem_calloc(n * n, sizeof *L, "a draw", err);
    double *C = mem_calloc(n * g, sizeof *C, "a draw", err);
    double *a = mem_calloc(n, sizeof *a, "a draw", err);
    enum status rc = L && C && a ? ST_OK : ST_NOMEM;

    *out = (struct process_fit){ 0 };
    if (rc == ST_OK)
        rc = exact_factor(&rows, ratio, L, &out->jitter, NULL, err);
    if (rc == ST_OK) {
        memcpy(a, r->y, n * sizeof *a);
        rc = blas_dtrsm(NULL, false, n, 1, L, n, a, n, err);
    }
    if (rc == ST_OK) {
        out->nmll = 0.5 * blas_ddot(n, a, a) / b2 + 0.5 * (double)n * log(2.0 * M_PI * b2);
        for (size_t i = 0; i < n; i++)
            out->nmll += log(L[i * n + i]);
        exact_cross(&rows, at, g, C);
        rc = blas_dtrsm(NULL, false, n, g, L, n, C, n, err);
    }
    for (size_t j = 0; rc == ST_OK && j < g; j++)
        mean[j] = blas_ddot(n, C + j * n, a);
    if (rc == ST_OK)
        rc = blas_dgemm(NULL, true, false, g, g, n, -1.0, C, n, C, n, 1.0, cov, g, err);
    if (rc == ST_OK)
        rc = count_inside(p, r, L, a, out, err);
    free(L), free(C), free(a);
    return rc;
}

enum status process_sample(const struct process *p, size_t g, const double *mean, const double *cov,
                           uint64_t seed, size_t count, double *sample, struct err *err)
{
    double *root = mem_calloc(g * g, sizeof *root, "a draw", err);
    double *z = mem_calloc(g, sizeof *z, "a draw", err);
    enum status rc = root && z ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && count)
        rc = root_of(g, cov, root, err);
    for (size_t f = 0; rc == ST_OK && f < count; f++) {
        for (size_t i = 0; i < g; i++)
            z[i] = rng_normal(seed, rng_stream(RNG_DRAW, (uint32_t)(STREAM_FUNCTION + f)), i);
        for (size_t j = 0; j < g; j++) {
            double sum = 0.0;
            for (size_t i = 0; i <= j; i++)
                sum += root[i * g + j] * z[i];
            sample[f * g + j] = mean[j] + p->amplitude * sum;
        }
    }
    free(root), free(z);
    return rc;
}
