/* compute/solvers/batch.c -- products with a few rows of Z at a time (batch.h).
 *
 * The rows are the operator's tiles, so that they exist for every kernel, backend, plan and
 * precision.  Blocks are distributed over a fixed number of groups whose sums are added in order,
 * so that the result does not depend on the number of threads. */
#include "compute/solvers/batch.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/cpu/simd.h"

#include <stdlib.h>
#include <string.h>

enum {
    USUAL = 512,       /* rows of a batch by default (the order of magnitude of the paper) */
    GROUPS_MOST = 16,
    MERGE_COLS = 512,
    SAMPLE = 512,      /* rows whose leverage is computed */
};

static size_t block_rows(size_t want)
{
    return want >= 128 ? 16 : want >= 32 ? 4 : 1; /* at least eight independent blocks */
}

static size_t number_bytes(const struct batch *s)
{
    return fop_precision(s->f) == PREC_DOUBLE ? sizeof(double) : sizeof(float);
}

void batch_free(struct batch *s)
{
    free(s->order);
    free(s->part);
    free(s->z);
    free(s->t);
    free(s->w);
    free(s->p);
    free(s->rc);
    *s = (struct batch){ .f = NULL };
}

enum status batch_new(struct batch *s, struct fop *f, size_t want, size_t k, struct err *err)
{
    const size_t n = fop_rows(f);

    want = want ? want : USUAL;
    want = want < n ? want : n;
    return batch_new_of(s, f, block_rows(want), want / block_rows(want), k, err);
}

enum status batch_new_of(struct batch *s, struct fop *f, size_t rows, size_t per, size_t k,
                         struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), threads = pool_threads(fop_pool(f));

    *s = (struct batch){ .f = f, .rows = rows, .k = k, .M = M };
    s->blocks = (n + s->rows - 1) / s->rows;
    s->per = per < s->blocks ? per : s->blocks;
    s->count = s->blocks / s->per;
    s->groups = s->per < GROUPS_MOST ? s->per : GROUPS_MOST;
    const size_t size = number_bytes(s);
    s->order = mem_calloc(s->blocks, sizeof *s->order, "order of batches", err);
    s->part = s->order ? mem_aligned(s->groups * k, M * sizeof *s->part, "sums of a batch", err)
                       : NULL;
    s->z = s->part ? mem_aligned(threads * s->rows, M * size, "features of a batch", err) : NULL;
    s->t = s->z ? mem_aligned(threads * s->rows, k * size, "features of a batch", err) : NULL;
    s->w = s->t ? mem_aligned(threads * k, M * size, "sums of a batch", err) : NULL;
    s->p = s->w ? mem_aligned(k, M * size, "right-hand sides of a batch", err) : NULL;
    s->rc = s->p ? mem_calloc(s->groups, sizeof *s->rc, "sums of a batch", err) : NULL;
    if (!s->rc) {
        batch_free(s);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < s->blocks; i++)
        s->order[i] = i;
    return ST_OK;
}

size_t batch_size(const struct batch *s)
{
    return s->per * s->rows;
}

void batch_shuffle(struct batch *s, uint64_t seed, size_t epoch)
{
    rng_permutation(seed, rng_stream(RNG_BATCH, (uint32_t)epoch), s->blocks, s->order);
}

/* part (k x M) += z'(z P) over one block of rows, z m x M. */
static enum status block_products(struct batch *s, size_t block, size_t worker, double *part)
{
    const size_t r0 = block * s->rows, n = fop_rows(s->f), M = s->M, k = s->k;
    const size_t r1 = r0 + s->rows < n ? r0 + s->rows : n, m = r1 - r0;
    const size_t size = number_bytes(s);
    void *z = s->z + worker * s->rows * M * size, *t = s->t + worker * s->rows * k * size;
    void *w = s->w + worker * k * M * size, *p = s->p;

    if (size == sizeof(double)) { /* row-major z is column-major z' */
        const enum status rc = fop_tile64(s->f, r0, r1, z, M, NULL);
        if (rc != ST_OK)
            return rc;
        blas_dgemm1(true, false, m, k, M, 1.0, z, M, p, M, 0.0, t, m);
        blas_dgemm1(false, false, M, k, m, 1.0, z, M, t, m, 1.0, part, M);
        return ST_OK;
    }
    const enum status rc = fop_tile(s->f, r0, r1, z, M, NULL);
    if (rc != ST_OK)
        return rc;
    blas_sgemm1(true, false, m, k, M, 1.0F, z, M, p, M, 0.0F, t, m);
    blas_sgemm1(false, false, M, k, m, 1.0F, z, M, t, m, 0.0F, w, M);
    cpu_simd_now()->add(M * k, w, part);
    return ST_OK;
}

static void group_products(void *ctx, size_t g, size_t worker)
{
    struct batch *s = ctx;
    double *part = s->part + g * s->k * s->M;

    memset(part, 0, s->k * s->M * sizeof *part);
    s->rc[g] = ST_OK;
    for (size_t i = s->per * g / s->groups; i < s->per * (g + 1) / s->groups; i++)
        if (s->rc[g] == ST_OK)
            s->rc[g] = block_products(s, s->at[i], worker, part);
}

/* W = (blocks / per) times the sum over groups, in order. */
static void merge_columns(void *ctx, size_t task, size_t worker)
{
    const struct batch *s = ctx;
    const size_t all = s->k * s->M, j0 = task * MERGE_COLS;
    const size_t j1 = j0 + MERGE_COLS < all ? j0 + MERGE_COLS : all;
    const double scale = (double)s->blocks / (double)s->per;

    (void)worker;
    for (size_t g = 0; g < s->groups; g++)
        for (size_t j = j0; j < j1; j++)
            s->W[j] = (g ? s->W[j] : 0.0) + s->part[g * all + j];
    for (size_t j = j0; j < j1; j++)
        s->W[j] *= scale;
}

enum status batch_pass_at(struct batch *s, const size_t *blocks, const double *P, double *W,
                          struct err *err)
{
    const size_t all = s->k * s->M;
    struct pool *pool = fop_pool(s->f);

    s->at = blocks;
    s->W = W;
    if (number_bytes(s) == sizeof(double))
        memcpy(s->p, P, all * sizeof *P);
    else
        for (size_t j = 0; j < all; j++)
            ((float *)(void *)s->p)[j] = (float)P[j];
    pool_run(pool, s->groups, group_products, s);
    for (size_t g = 0; g < s->groups; g++)
        if (s->rc[g] != ST_OK)
            return err_set(err, s->rc[g], "the features of a batch could not be made");
    pool_run(pool, (all + MERGE_COLS - 1) / MERGE_COLS, merge_columns, s);
    return ST_OK;
}

enum status batch_pass(struct batch *s, size_t i, const double *P, double *W, struct err *err)
{
    return batch_pass_at(s, s->order + i * s->per, P, W, err);
}

enum status batch_leverage(struct fop *f, const struct precond *pre, double *most,
                           struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), m = n < SAMPLE ? n : SAMPLE;
    double *z = mem_aligned(2 * m, M * sizeof *z, "a sample's features", err);
    enum status rc = z ? ST_OK : ST_NOMEM;

    *most = 0.0;
    for (size_t i = 0; rc == ST_OK && i < m; i++) { /* rows spread evenly */
        const size_t r = (size_t)((double)i * (double)n / (double)m);
        rc = fop_tile64(f, r, r + 1, z + i * M, M, err);
    }
    if (rc == ST_OK && pre)
        rc = precond_apply(pre, fop_pool(f), m, z, z + m * M, err);
    for (size_t i = 0; rc == ST_OK && i < m; i++) {
        const double *a = z + i * M, l = blas_ddot(M, a, pre ? a + m * M : a);
        *most = l > *most ? l : *most;
    }
    free(z);
    return rc;
}
