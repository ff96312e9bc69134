/* compute/exact.c -- exact kernel matrices by tiles over the pool, and their factor. */
#include "compute/exact.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 64 }; /* columns of a task: fixed, so that no sum depends on the thread count */

enum status exact_allowed(size_t n, size_t matrices, size_t mem_limit, struct err *err)
{
    const double bytes = 8.0 * (double)n * (double)n * (double)matrices;
    char mem[32], time[32], rows[32];

    if (n <= EXACT_MAX_ROWS && (mem_limit == 0 || bytes <= (double)mem_limit))
        return ST_OK;
    mem_format(mem, sizeof mem, bytes);
    text_count(rows, sizeof rows, n);
    text_seconds(time, sizeof time, (double)n * (double)n * (double)n / 3.0 / 80e9);
    err_named(err, ST_LIMIT, "exact-size",
              "an exact GP on %s rows needs %s and about %s for each factorisation", rows, mem,
              time);
    err_hint(err, "fit solver=pcg features=8192");
    return ST_LIMIT;
}

double *exact_inputs(const struct source *src, struct err *err)
{
    double *X = mem_aligned(src->n * src->d + 1, sizeof *X, "the inputs", err);

    if (X != NULL && src->rows(src, 0, src->n, X, err) != ST_OK) {
        free(X);
        X = NULL;
    }
    return X;
}

struct matrix_job {
    const struct kernel *k;
    const double *hp, *X, *row_scale;
    size_t n, d, nhp;
    double diag;
    double *K;
    const double *W;
    double *part; /* tasks x nhp */
    const struct ctl *ctl;
};

static double factor(const struct matrix_job *m, size_t i, size_t j)
{
    return m->row_scale ? m->row_scale[i] * m->row_scale[j] : 1.0;
}

static void matrix_task(void *ctx, size_t task, size_t worker)
{
    const struct matrix_job *m = ctx;
    const size_t n = m->n, d = m->d, j0 = task * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;

    (void)worker;
    if (ctl_stopped(m->ctl))
        return;
    for (size_t j = j0; j < j1; j++) {
        const double *xj = m->X + j * d;
        m->K[j + j * n] = factor(m, j, j) * kernel_exact(m->k, m->hp, d, xj, xj, NULL) + m->diag;
        for (size_t i = j + 1; i < n; i++)
            m->K[i + j * n] = factor(m, i, j) *
                              kernel_exact(m->k, m->hp, d, m->X + i * d, xj, NULL);
    }
}

enum status exact_matrix(const struct kernel *k, const double *hp, const double *X, size_t n,
                         size_t d, const double *row_scale, double diag, double *K,
                         struct pool *pool, const struct ctl *ctl, struct err *err)
{
    struct matrix_job m = { .k = k, .hp = hp, .X = X, .row_scale = row_scale, .n = n, .d = d,
                            .diag = diag, .K = K, .ctl = ctl };

    pool_run(pool, (n + TILE - 1) / TILE, matrix_task, &m);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

static void contract_task(void *ctx, size_t task, size_t worker)
{
    const struct matrix_job *m = ctx;
    const size_t n = m->n, d = m->d, j0 = task * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;
    double grad[KERNEL_MAX_HP], *part = m->part + task * m->nhp;

    (void)worker;
    if (ctl_stopped(m->ctl))
        return;
    for (size_t j = j0; j < j1; j++)
        for (size_t i = j; i < n; i++) {
            const double w = m->W[i + j * n] * factor(m, i, j) * (i == j ? 1.0 : 2.0);
            kernel_exact(m->k, m->hp, d, m->X + i * d, m->X + j * d, grad);
            for (size_t h = 0; h < m->nhp; h++)
                part[h] += w * grad[h];
        }
}

enum status exact_contract(const struct kernel *k, const double *hp, const double *X, size_t n,
                           size_t d, const double *row_scale, const double *W, double *sum,
                           struct pool *pool, const struct ctl *ctl, struct err *err)
{
    const size_t tasks = (n + TILE - 1) / TILE, nhp = kernel_nhp(k);
    struct matrix_job m = { .k = k, .hp = hp, .X = X, .row_scale = row_scale, .n = n, .d = d,
                            .nhp = nhp, .W = W, .ctl = ctl };

    m.part = mem_calloc(tasks * (nhp ? nhp : 1), sizeof *m.part, "partial sums", err);
    if (m.part == NULL)
        return ST_NOMEM;
    pool_run(pool, tasks, contract_task, &m);
    for (size_t h = 0; h < nhp; h++) {
        sum[h] = 0.0;
        for (size_t t = 0; t < tasks; t++)
            sum[h] += m.part[t * nhp + h];
    }
    free(m.part);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

struct cross_job {
    const struct kernel *k;
    const double *hp, *X, *Xt;
    size_t n, d, m;
    double *C;
};

static void cross_task(void *ctx, size_t task, size_t worker)
{
    const struct cross_job *c = ctx;
    const size_t t1 = (task + 1) * 8 < c->m ? (task + 1) * 8 : c->m;

    (void)worker;
    for (size_t t = task * 8; t < t1; t++)
        for (size_t i = 0; i < c->n; i++)
            c->C[i + t * c->n] = kernel_exact(c->k, c->hp, c->d, c->X + i * c->d,
                                              c->Xt + t * c->d, NULL);
}

void exact_cross(const struct kernel *k, const double *hp, const double *X, size_t n, size_t d,
                 const double *Xt, size_t m, double *C, struct pool *pool)
{
    struct cross_job c = { .k = k, .hp = hp, .X = X, .Xt = Xt, .n = n, .d = d, .m = m, .C = C };

    pool_run(pool, (m + 7) / 8, cross_task, &c);
}

enum status exact_factor(const struct kernel *k, const double *hp, const double *X, size_t n,
                         size_t d, const double *row_scale, double ratio, double *K,
                         double *jitter, struct pool *pool, const struct ctl *ctl, struct err *err)
{
    *jitter = 0.0;
    for (;;) {
        enum status rc = exact_matrix(k, hp, X, n, d, row_scale, ratio + *jitter, K, pool,
                                      ctl, err);
        if (rc == ST_OK)
            rc = blas_dpotrf(pool, n, K, n, ctl, NULL, err);
        if (rc != ST_NOT_PD || *jitter >= 1e-4)
            return rc;
        *jitter = *jitter > 0.0 ? *jitter * 100.0 : 1e-14 * (double)n + 1e-12;
    }
}
