/* compute/solvers/batch.c -- products with a few rows of Z at a time (batch.h).
 *
 * The operator makes the products, for every kernel, backend, plan and precision. */
#include "compute/solvers/batch.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"

#include <stdlib.h>
#include <string.h>

enum {
    USUAL = 512,       /* rows of a batch by default (the order of magnitude of the paper) */
    SAMPLE = 512,      /* rows whose leverage is computed */
};

static size_t block_rows(size_t want)
{
    return want >= 128 ? 16 : want >= 32 ? 4 : 1; /* at least eight independent blocks */
}

void batch_free(struct batch *s)
{
    free(s->order);
    fop_blocks_free(s->products);
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
    *s = (struct batch){ .f = f, .rows = rows, .k = k, .M = fop_cols(f) };
    s->blocks = (fop_rows(f) + s->rows - 1) / s->rows;
    s->per = per < s->blocks ? per : s->blocks;
    s->count = s->blocks / s->per;
    s->order = mem_calloc(s->blocks, sizeof *s->order, "order of batches", err);
    s->products = s->order ? fop_blocks_new(f, rows, s->per, k, err) : NULL;
    if (!s->products) {
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

enum status batch_pass_at(struct batch *s, const size_t *blocks, const double *P, double *W,
                          struct err *err)
{
    const double scale = (double)s->blocks / (double)s->per;
    const enum status rc = fop_blocks_pass(s->products, blocks, P, W, err);

    for (size_t j = 0; rc == ST_OK && j < s->k * s->M; j++)
        W[j] *= scale;
    return rc;
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
