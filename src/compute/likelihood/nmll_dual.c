/* compute/likelihood/nmll_dual.c -- feature models with fewer rows than columns: the n x n kernel
 * matrix K1 = Z Z' instead of the M x M Gram, in double precision throughout.  Cheaper by (M /
 * n)^2, and full of rank, so that rounding sets no floor under the noise ratio. */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32 };
static const double features_most = 512e6; /* bytes of Z, formed as a whole here */

bool nmll_is_dual(size_t n, size_t M)
{
    return n < M && 8.0 * (double)n * (double)M <= features_most;
}

struct rows_job {
    struct fop *f;
    size_t n, M;
    double *Z;       /* n x M row-major, written; or */
    const double *Zof;
    const double *W; /* n x M row-major: part[task * nhp + i] = sum of W o dZ_i */
    size_t nhp;
    double *part;
    enum status *rc;
};

static void rows_task(void *ctx, size_t task, size_t worker)
{
    struct rows_job *j = ctx;
    const size_t r0 = task * ROWS, r1 = r0 + ROWS < j->n ? r0 + ROWS : j->n, M = j->M;

    (void)worker;
    if (j->Z != NULL) {
        j->rc[task] = fop_tile64(j->f, r0, r1, j->Z + r0 * M, M, NULL);
        return;
    }
    j->rc[task] = fop_grad(j->f, r0, r1, j->Zof + r0 * M, j->W + r0 * M, M,
                           j->part + task * j->nhp, NULL);
}

static enum status rows_run(struct rows_job *j, double *sum, const struct ctl *ctl,
                            struct err *err)
{
    const size_t tasks = (j->n + ROWS - 1) / ROWS;
    enum status rc = ST_OK;

    j->part = mem_calloc(tasks * (j->nhp + 1), sizeof *j->part, "partial sums", err);
    j->rc = j->part ? mem_calloc(tasks, sizeof *j->rc, "partial sums", err) : NULL;
    if (j->rc == NULL)
        rc = ST_NOMEM;
    else
        pool_run(fop_pool(j->f), tasks, rows_task, j);
    for (size_t t = 0; rc == ST_OK && t < tasks; t++) {
        if (j->rc[t] != ST_OK)
            rc = err_set(err, j->rc[t], "the features could not be made");
        for (size_t h = 0; sum != NULL && h < j->nhp; h++)
            sum[h] += j->part[t * j->nhp + h];
    }
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    free(j->part);
    free(j->rc);
    return rc;
}

/* *Z (the caller frees) and K = Z Z', both triangles. */
static enum status dual_make(struct fop *f, double **Z, double *K, const struct ctl *ctl,
                             struct err *err)
{
    struct rows_job j = { .f = f, .n = fop_rows(f), .M = fop_cols(f) };

    j.Z = *Z = mem_aligned(j.n * j.M, sizeof **Z, "the features", err);
    enum status rc = *Z ? rows_run(&j, NULL, ctl, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = blas_dgram(fop_pool(f), j.M, j.n, *Z, j.M, K, j.n, err);
    return rc;
}

enum status nmll_dual_matrix(struct fop *f, double *K, const struct ctl *ctl, struct err *err)
{
    double *Z = NULL;
    const enum status rc = dual_make(f, &Z, K, ctl, err);

    free(Z);
    return rc;
}

/* 1/2 tr((A^-1 - alpha alpha' / b2) d(Z Z')) = sum of (S Z) o dZ with S the bracket, summed over
 * the targets. */
static enum status dual_gradient(struct fop *f, size_t t, const double *y, double *A,
                                 const double *Z, size_t nhp, double ratio, const double *amplitude,
                                 double *grad, const struct ctl *ctl, struct err *err)
{
    struct pool *pool = fop_pool(f);
    const size_t n = fop_rows(f), M = fop_cols(f);
    struct nmll_chol p = { .w = mem_calloc(t * n, sizeof *p.w, "the weights", err) };
    double *W = p.w ? mem_aligned(n * M, sizeof *W, "the gradient's weights", err) : NULL;
    enum status rc = W ? nmll_chol(pool, n, A, ratio, t, y, true, &p, ctl, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < n; j++)
        for (size_t i = j; i < n; i++) {
            double ww = 0.0;
            for (size_t q = 0; q < t; q++)
                ww += p.w[q * n + i] * p.w[q * n + j] / (amplitude[q] * amplitude[q]);
            A[j + i * n] = A[i + j * n] = (double)t * A[i + j * n] - ww;
        }
    if (rc == ST_OK)
        rc = blas_dgemm(pool, false, false, M, n, n, 1.0, Z, M, A, n, 0.0, W, M, err);
    memset(grad, 0, nhp * sizeof *grad);
    if (rc == ST_OK && nhp > 0) {
        struct rows_job j = { .f = f, .n = n, .M = M, .nhp = nhp, .Zof = Z, .W = W };
        rc = rows_run(&j, grad, ctl, err);
    }
    free(p.w);
    free(W);
    return rc;
}

enum status nmll_dual_best(struct fop *f, size_t t, const double *y, size_t nhp,
                           const double ab[2], const double nb[2], double *value,
                           double *amplitude, double *noise, double *grad, double *effdim,
                           const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f);
    struct nmll_eig q = { 0 };
    double ratio = 0.0, *Z = NULL, *A = NULL, yty[TARGETS_MOST] = { 0.0 };
    double *K = mem_aligned(n * n, sizeof *K, "the kernel matrix", err);
    enum status rc = K ? dual_make(f, &Z, K, ctl, err) : ST_NOMEM;

    if (rc == ST_OK && grad != NULL) { /* the reduction destroys its input */
        A = mem_aligned(n * n, sizeof *A, "the kernel matrix", err);
        rc = A ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && grad != NULL)
        memcpy(A, K, n * n * sizeof *A);
    for (size_t j = 0; rc == ST_OK && j < t && j < TARGETS_MOST; j++)
        yty[j] = blas_ddot(n, y + j * n, y + j * n);
    if (rc == ST_OK)
        rc = nmll_eig_of(fop_pool(f), n, n, K, t, y, yty, true, false, &q, err);
    if (rc == ST_OK) {
        *value = nmll_eig_best(&q, ab, nb, amplitude, noise);
        ratio = noise[0] * noise[0] / (amplitude[0] * amplitude[0]);
        if (effdim != NULL)
            *effdim = nmll_eig_effdim(&q, ratio);
        if (!isfinite(*value))
            rc = err_set(err, ST_NOT_PD,
                         "the kernel matrix is too inexact for any noise in bounds");
    }
    for (size_t i = 0; rc == ST_OK && grad != NULL && i < n; i++)
        A[i + i * n] += ratio;
    if (rc == ST_OK && grad != NULL)
        rc = dual_gradient(f, t, y, A, Z, nhp, ratio, amplitude, grad, ctl, err);
    nmll_eig_free(&q);
    free(Z);
    free(A);
    free(K);
    return rc;
}
