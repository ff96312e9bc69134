/* compute/features/gram.c -- products W = A P with a symmetric matrix (M x M) at the speed of
 * memory.
 *
 * The lower triangle is cut into square tiles that fit the second-level cache.  A tile A_ij is read
 * once and used twice, W_i += A_ij P_j and W_j += A_ij' P_i.  Tiles are distributed in order over a
 * fixed number of tasks, each with sums of its own, which are added in order at the end. */
#include "compute/features/gram.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"

#include <stdlib.h>
#include <string.h>

enum {
    TILE = 256,
    TASKS_MOST = 32,
    PAD = 8,      /* numbers between columns, so that columns are not a power of two apart */
    MERGE = 512,  /* entries that one task adds up */
};

static size_t tile_count(size_t M)
{
    const size_t down = (M + TILE - 1) / TILE;

    return down * (down + 1) / 2;
}

static size_t task_count(size_t M)
{
    return tile_count(M) < TASKS_MOST ? tile_count(M) : TASKS_MOST;
}

size_t gram_bytes(size_t M, size_t k)
{
    return ((M + PAD) * M + task_count(M) * M * k) * sizeof(double);
}

enum status gram_new(struct gram **out, size_t M, struct err *err)
{
    struct gram *g = *out = mem_calloc(1, sizeof *g, "the Gram matrix", err);

    if (!g)
        return ST_NOMEM;
    *g = (struct gram){ .M = M, .ld = M + PAD };
    g->A = mem_aligned(M * g->ld, sizeof *g->A, "the Gram matrix", err);
    if (!g->A) {
        gram_free(g);
        *out = NULL;
        return ST_NOMEM;
    }
    return ST_OK;
}

double *gram_take(struct gram *g)
{
    double *A = g->A;

    for (size_t j = 1; j < g->M; j++)
        memmove(A + j * g->M, A + j * g->ld, g->M * sizeof *A);
    g->A = NULL;
    gram_free(g);
    return A;
}

void gram_free(struct gram *g)
{
    if (!g)
        return;
    free(g->A);
    free(g->part);
    free(g);
}

struct product {
    const struct gram *g;
    size_t k, tasks;
    const double *P;
    double *W;
};

/* y (m x k) += A x, or A' x. */
static void times(const struct gram *g, bool trans, size_t m, size_t n, size_t k, const double *A,
                  const double *x, double *y)
{
    if (k == 1)
        blas_dgemv1(trans, m, n, 1.0, A, g->ld, x, 1.0, y);
    else
        blas_dgemm1(trans, false, trans ? n : m, k, trans ? m : n, 1.0, A, g->ld, x, g->M, 1.0, y,
                    g->M);
}

/* The products of one task's tiles with all right-hand sides. */
static void product_task(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const struct gram *g = p->g;
    const size_t M = g->M, tiles = tile_count(M);
    double *y = g->part + task * M * p->k;

    (void)worker;
    memset(y, 0, M * p->k * sizeof *y);
    for (size_t t = tiles * task / p->tasks; t < tiles * (task + 1) / p->tasks; t++) {
        size_t i, j;
        blas_lower_tile(t, &i, &j);
        i *= TILE, j *= TILE;
        const size_t mi = M - i < TILE ? M - i : TILE, nj = M - j < TILE ? M - j : TILE;
        const double *A = g->A + i + j * g->ld;
        times(g, false, mi, nj, p->k, A, p->P + j, y + i);
        if (i != j)
            times(g, true, mi, nj, p->k, A, p->P + i, y + j);
    }
}

/* W = the sum over tasks, in order, for MERGE entries. */
static void merge_task(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const size_t M = p->g->M, a = task * MERGE, n = M - a < MERGE ? M - a : MERGE;

    (void)worker;
    for (size_t c = 0; c < p->k; c++) {
        double *w = p->W + c * M + a;
        for (size_t t = 0; t < p->tasks; t++) {
            const double *y = p->g->part + (t * p->k + c) * M + a;
            for (size_t i = 0; i < n; i++)
                w[i] = (t ? w[i] : 0.0) + y[i];
        }
    }
}

enum status gram_apply(struct gram *g, struct pool *pool, size_t k, const double *P, double *W,
                       struct err *err)
{
    struct product p = { g, k, task_count(g->M), P, W };

    if (k == 0)
        return ST_OK;
    if (k > g->kcap) {
        free(g->part);
        g->kcap = 0;
        g->part = mem_aligned(p.tasks * g->M, k * sizeof *g->part, "partial products", err);
        if (!g->part)
            return ST_NOMEM;
        g->kcap = k;
    }
    pool_run(pool, p.tasks, product_task, &p);
    pool_run(pool, (g->M + MERGE - 1) / MERGE, merge_task, &p);
    return ST_OK;
}
