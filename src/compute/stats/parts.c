/* compute/stats/parts.c -- the products of a kernel that is a sum (parts.h; share/doc/methods.md
 * 13.3).  With k = sum_p w_p^2 k_p the mean of product p is beta^2 w_p^2 k_p(x, X) alpha, with the
 * weights alpha = Ky^-1 y of the whole model; in feature space it is the sum of z_j w_j over the
 * columns j of p. */
#include "compute/stats/parts.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Factors on the weights of the product in question and of the others.  What remains of the others
 * is below 1e-6 of it. */
static const double magnify = 1e6, vanish = 1e-9;

size_t parts_count(const struct kernel *k, size_t *first)
{
    size_t n = 0;

    for (size_t t = 0; t < k->nterms; t++)
        if (kernel_place(k, t).first)
            first[n++] = t;
    return n;
}

void parts_of(const struct model *m, const size_t *first, size_t n, size_t which,
              struct model_part *p)
{
    model_alias(m, &p->m);
    p->scale = which ? magnify : 1;
    for (size_t i = 1; i < n; i++) {
        const size_t w = kernel_place(&m->kernel, first[i]).weight;
        p->m.hp[w] *= i == which ? magnify : vanish;
    }
}

enum status parts_whole(const struct model *m, size_t target, size_t n, const double *x,
                        double *mean, double *var, const struct tools *tools, struct err *err)
{
    struct source_array src;
    double *all = mem_calloc(2 * n * m->t + 1, sizeof *all, "a prediction", err);

    if (!all)
        return ST_NOMEM;
    source_array_init(&src, x, n, m->d, m->d);
    const enum status rc =
        model_predict(m, &src.base, all, var ? all + n * m->t : NULL, tools, err);
    memcpy(mean, all + target * n, n * sizeof *mean);
    if (var)
        memcpy(var, all + (m->t + target) * n, n * sizeof *var);
    free(all);
    return rc;
}

/* beta^2 (k_p(x, x) - |L^-1 k_p(X, x)|^2), L the factor of the whole kernel matrix: the covariance
 * matrix of all parts at the row is conditioned on the same data.  Clamped at 0. */
static enum status exact_variance(const struct model_part *p, size_t target, size_t n,
                                  const double *x, double *var, struct pool *pool,
                                  struct err *err)
{
    const struct model *m = &p->m;
    const double s2 = p->scale * p->scale, b2 = m->amplitudes[target] * m->amplitudes[target];
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M,
                                     .d = m->d, .pool = pool };
    double *C = mem_aligned(m->M * n, sizeof *C, "covariances", err);
    enum status rc = C ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        exact_cross(&rows, x, n, C);
        blas_dscal(m->M * n, 1 / s2, C);
        rc = blas_dtrsm(pool, false, m->M, n, m->L, m->M, C, m->M, err);
    }
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const double prior =
            kernel_exact(&m->kernel, m->hp, m->d, x + i * m->d, x + i * m->d, NULL) / s2;
        var[i] = fmax(0, b2 * (prior - blas_ddot(m->M, C + i * m->M, C + i * m->M)));
    }
    free(C);
    return rc;
}

enum status parts_predict(const struct model_part *p, size_t target, size_t n, const double *x,
                          double *mean, double *var, const struct tools *tools, struct err *err)
{
    const bool exact = p->m.kind->exact;
    const double by = exact ? p->scale * p->scale : p->scale;
    const double constant = p->m.kind->constant ? p->m.kind->constant(&p->m) : 0.0;
    enum status rc = parts_whole(&p->m, target, n, x, mean, exact ? NULL : var, tools, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++)
        mean[i] = (mean[i] - constant) / by;
    if (rc == ST_OK && var && exact)
        return exact_variance(p, target, n, x, var, tools->pool, err);
    for (size_t i = 0; rc == ST_OK && var && i < n; i++)
        var[i] /= by * by;
    return rc;
}
