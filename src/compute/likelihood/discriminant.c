/* compute/likelihood/discriminant.c -- see discriminant.h. */
#include "compute/likelihood/discriminant.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct likelihood_ops discriminant_likelihood = {
    .name = "discriminant",
    .link = "discriminant",
    .title = "several classes, by normal densities with one covariance",
    .method = "a factor of the covariance",
    .classes = true,
    .several = true,
};

/* An operator over some of the rows, with factors of rows (or NULL). */
static struct fop *operator(const struct dirichlet_rows *r, const struct source *src,
                            const double *scale, enum status *rc, struct err *err)
{
    const struct fop_opts fo = {
        .pool = r->on.pool, .ctl = r->on.ctl, .precision = r->precision, .row_scale = scale};
    struct fop *f = fop_new(r->on.be, r->map, src, &fo, err);

    *rc = f ? fop_set(f, r->hp, err) : err_status(err);
    return f;
}

/* Z'UZ, by the square roots of the weights. */
static enum status all_rows(struct discriminant *d, double *scale, struct err *err)
{
    enum status rc;

    for (size_t i = 0; i < d->n; i++)
        scale[i] = d->rows.weight ? sqrt(d->rows.weight[(size_t)d->rows.labels[i]]) : 1.0;
    struct fop *f = operator(&d->rows, d->rows.src, d->rows.weight ? scale : NULL, &rc, err);
    if (rc == ST_OK)
        rc = fop_gram(f, NULL, d->A, NULL, NULL, d->rows.on.ctl, err);
    fop_free(f);
    return rc;
}

/* The mean of class c, and what it takes from A; row and ones: n each. */
static enum status one_class(struct discriminant *d, size_t c, size_t *row, const double *ones,
                             struct err *err)
{
    const double u = d->rows.weight ? d->rows.weight[c] : 1.0;
    double *mean = d->mean + c * d->M;
    struct source_subset own;
    enum status rc;
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (d->rows.labels[i] == (double)c)
            row[n++] = i;
    d->size[c] = u * (double)n;
    d->all += d->size[c];
    if (n == 0)
        return ST_OK; /* its mean stays 0 */
    source_subset_init(&own, d->rows.src, row, n);
    struct fop *f = operator(&d->rows, &own.base, NULL, &rc, err);
    if (rc == ST_OK)
        rc = fop_ztv(f, 1, ones, mean, d->rows.on.ctl, err);
    fop_free(f);
    blas_dscal(d->M, 1.0 / (double)n, mean);
    for (size_t j = 0; rc == ST_OK && j < d->M; j++)
        blas_daxpy(d->M, -d->size[c] * mean[j], mean, d->A + j * d->M);
    return rc;
}

enum status discriminant_open(struct discriminant *d, const struct dirichlet_rows *rows,
                              struct err *err)
{
    enum status rc = dirichlet_labels(rows, err);

    *d = (struct discriminant){ .rows = *rows, .n = rows->src->n, .M = rows->map->M,
                                .C = rows->classes };
    if (rc != ST_OK)
        return rc;
    d->A = mem_aligned(2 * d->M * d->M, sizeof *d->A, "the covariance", err);
    d->mean = d->A ? mem_calloc((d->M + 1) * d->C, sizeof *d->mean, "means of classes", err) : NULL;
    double *work = d->mean ? mem_calloc(d->n + 1, sizeof *work, "rows", err) : NULL;
    size_t *row = work ? mem_calloc(d->n + 1, sizeof *row, "rows of a class", err) : NULL;
    rc = row ? all_rows(d, work, err) : ST_NOMEM;
    if (rc == ST_OK) {
        d->L = d->A + d->M * d->M;
        d->size = d->mean + d->M * d->C;
    }
    for (size_t i = 0; row && i < d->n; i++)
        work[i] = 1.0;
    for (size_t c = 0; rc == ST_OK && c < d->C; c++)
        rc = one_class(d, c, row, work, err);
    free(work);
    free(row);
    return rc;
}

void discriminant_close(struct discriminant *d)
{
    free(d->A);
    free(d->mean);
    *d = (struct discriminant){ .A = NULL };
}

enum status discriminant_at(struct discriminant *d, double lambda, double *W, double *constant,
                            struct err *err)
{
    const size_t M = d->M;
    struct pool *pool = d->rows.on.pool;

    memcpy(d->L, d->A, M * M * sizeof *d->L);
    for (size_t j = 0; j < M; j++)
        d->L[j + j * M] += lambda;
    enum status rc = blas_dpotrf(pool, M, d->L, M, d->rows.on.ctl, NULL, err);
    if (rc == ST_OK)
        rc = blas_sound(pool, M, d->L, M, 0.5 * lambda, err);
    if (rc == ST_NOT_PD)
        err_set(err, rc, "rounding is larger than the prior precision %g", lambda);
    if (rc != ST_OK)
        return rc;
    memcpy(W, d->mean, d->C * M * sizeof *W);
    rc = blas_dtrsm(pool, false, M, d->C, d->L, M, W, M, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(pool, true, M, d->C, d->L, M, W, M, err);
    if (rc != ST_OK)
        return rc;
    blas_dscal(d->C * M, d->all, W);
    for (size_t c = 0; c < d->C; c++)
        constant[c] = -0.5 * blas_ddot(M, d->mean + c * M, W + c * M);
    return ST_OK;
}
