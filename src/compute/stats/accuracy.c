/* compute/stats/accuracy.c -- the relative error |Z Z' - K1|_F / |K1|_F of random features
 * (accuracy.h).  Both matrices are n x n; sums run over the lower triangle, entries below the
 * diagonal counted twice. */
#include "compute/stats/accuracy.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>

struct accuracy {
    const struct kernel *kernel;
    const double *hp;
    struct source_subset src;
    size_t *row; /* of the sample */
    double *X, *K;
    struct pool *pool;
};

void accuracy_free(struct accuracy *a)
{
    if (!a)
        return;
    free(a->K), free(a->X), free(a->row);
    free(a);
}

struct accuracy *accuracy_new(const struct kernel *k, const double *hp, const struct source *rows,
                              size_t most, struct pool *pool, const struct ctl *ctl,
                              struct err *err)
{
    const size_t n = rows->n < most ? rows->n : most;
    struct accuracy *a = mem_calloc(1, sizeof *a, "a kernel matrix", err);

    if (!a)
        return NULL;
    a->kernel = k;
    a->hp = hp;
    a->pool = pool;
    a->row = mem_calloc(n + 1, sizeof *a->row, "rows", err);
    for (size_t i = 0; a->row && i < n; i++)
        a->row[i] = (size_t)((double)i * (double)rows->n / (double)n);
    if (a->row) {
        source_subset_init(&a->src, rows, a->row, n);
        a->X = exact_inputs(&a->src.base, err);
    }
    a->K = a->X ? mem_aligned(n * n, sizeof *a->K, "a kernel matrix", err) : NULL;
    const struct exact_rows of = { .k = k, .hp = hp, .X = a->X, .n = n, .d = rows->d,
                                   .pool = pool };
    if (a->K && exact_matrix(&of, 0, a->K, ctl, err) == ST_OK)
        return a;
    accuracy_free(a);
    return NULL;
}

enum status accuracy_error(const struct accuracy *a, size_t M, uint64_t seed,
                           const struct backend_ops *backend, double *out, struct err *err)
{
    const size_t n = a->src.base.n;
    const struct fop_opts fo = { .pool = a->pool, .precision = PREC_DOUBLE };
    struct featmap *fm = featmap_new(a->kernel, a->src.base.d, M, seed, err);
    struct fop *fop = fm ? fop_new(backend, fm, &a->src.base, &fo, err) : NULL;
    double *Z = fop ? mem_aligned(n * M, sizeof *Z, "features", err) : NULL;
    double *A = Z ? mem_aligned(n * n, sizeof *A, "a kernel matrix", err) : NULL, num = 0, den = 0;
    enum status rc = A ? fop_set(fop, a->hp, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = fop_tile64(fop, 0, n, Z, M, err);
    if (rc == ST_OK) /* A = Z Z'; row-major Z is the column-major transpose */
        rc = blas_dgemm(a->pool, true, false, n, n, M, 1, Z, M, Z, M, 0, A, n, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const double w = i == j ? 1 : 2, k = a->K[j * n + i], d = A[j * n + i] - k;
            num += w * d * d;
            den += w * k * k;
        }
    *out = sqrt(num / den);
    free(A), free(Z);
    fop_free(fop);
    featmap_free(fm);
    return rc;
}
