/* compute/likelihood/nmll_dual.c -- the NMLL of feature models with fewer rows than columns,
 * through the n x n kernel matrix K1 = Z Z' instead of the M x M Gram matrix, in double precision
 * throughout (share/doc/methods.md 5.3, 6.15).
 *
 * It is cheaper by (M / n)^2.  Nor does the quadratic form y' (K1 + ratio I)^-1 y cancel: it is a
 * sum of positive terms, where the Gram matrix gives it as the difference of y'y and b'w.  Z Z' has
 * full rank in general, while Z'Z has M - n eigenvalues that are zero but for rounding, so that
 * rounding sets no floor under the noise ratio worth mentioning. */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32 };                        /* of a task */
static const double features_most = 512e6; /* bytes: Z is formed as a whole here */

bool nmll_is_dual(size_t n, size_t M)
{
    return n < M && 8.0 * (double)n * (double)M <= features_most;
}

/* A job over all rows, in tasks of ROWS: either Z is written, or sum of W o D_i is taken for each
 * hyperparameter i, D_i = dZ / dlog hp_i. */
struct rows_job {
    struct fop *f;
    size_t n, M;
    double *Z;         /* n x M row-major, written; or NULL, and */
    const double *Zof; /* the same, read */
    const double *W;   /* n x M row-major */
    size_t nhp;
    double *part;      /* tasks x nhp sums, added in the order of tasks */
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

/* Runs a rows_job over all tasks; sum (nhp; NULL: none) receives the sums of W o D_i in the
 * order of tasks. */
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

/* Makes *Z (n x M row-major, the caller frees it) and K = Z Z' (n x n, both triangles). */
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

/* The gradient by share/doc/methods.md 5.4 with d(Z Z') = dZ Z' + Z dZ':
 *   1/2 tr(S d(Z Z')) = sum of (S Z) o dZ,  S = sum over targets of A^-1 - alpha alpha' / beta^2,
 * A = K1 + ratio I, alpha = A^-1 y (n), at amplitude 1 (6.15).  A (n x n, lower triangle) is
 * overwritten by S; S Z is n x M.  O(n^3 + n^2 M). */
static enum status dual_gradient(struct fop *f, const struct nmll_ask *q, double ratio, double *A,
                                 const double *Z, const struct nmll_told *out,
                                 const struct ctl *ctl, struct err *err)
{
    struct pool *pool = fop_pool(f);
    const size_t n = fop_rows(f), M = fop_cols(f), t = q->t ? q->t : 1;
    const double *amplitude = out->amplitude;
    struct nmll_chol p = { .pool = pool, .M = n, .t = t, .ratio = ratio, .g = q->y, .invert = true,
                           .w = mem_calloc(t * n, sizeof *p.w, "the weights", err) };
    double *W = p.w ? mem_aligned(n * M, sizeof *W, "the gradient's weights", err) : NULL;
    enum status rc = W ? nmll_chol(&p, A, ctl, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < n; j++)
        for (size_t i = j; i < n; i++) {
            double ww = 0.0;
            for (size_t k = 0; k < t; k++)
                ww += p.w[k * n + i] * p.w[k * n + j] / (amplitude[k] * amplitude[k]);
            A[j + i * n] = A[i + j * n] = (double)t * A[i + j * n] - ww;
        }
    if (rc == ST_OK)
        rc = blas_dgemm(pool, false, false, M, n, n, 1.0, Z, M, A, n, 0.0, W, M, err);
    memset(out->grad, 0, q->nhp * sizeof *out->grad);
    if (rc == ST_OK && q->nhp > 0) {
        struct rows_job j = { .f = f, .n = n, .M = M, .nhp = q->nhp, .Zof = Z, .W = W };
        rc = rows_run(&j, out->grad, ctl, err);
    }
    free(p.w);
    free(W);
    return rc;
}

enum status nmll_dual_best(struct fop *f, const struct nmll_ask *q, const struct nmll_told *out,
                           const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), t = q->t ? q->t : 1;
    const bool gradient = out->grad != NULL;
    struct nmll_eig eig = { 0 };
    double ratio = 0.0, *Z = NULL, *A = NULL, yty[TARGETS_MOST] = { 0.0 };
    double *K = mem_aligned(n * n, sizeof *K, "the kernel matrix", err);
    const struct nmll_system s = { .n = n, .M = n, .t = t, .G = K, .b = q->y, .yty = yty,
                                   .dual = true };
    enum status rc = K ? dual_make(f, &Z, K, ctl, err) : ST_NOMEM;

    if (rc == ST_OK && gradient) { /* the reduction overwrites K, and the gradient needs it again */
        A = mem_aligned(n * n, sizeof *A, "the kernel matrix", err);
        rc = A ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && gradient)
        memcpy(A, K, n * n * sizeof *A);
    for (size_t j = 0; rc == ST_OK && j < t && j < TARGETS_MOST; j++)
        yty[j] = blas_ddot(n, q->y + j * n, q->y + j * n);
    if (rc == ST_OK)
        rc = nmll_eig_make(fop_pool(f), &s, false, &eig, err);
    if (rc == ST_OK) {
        *out->value = nmll_eig_best(&eig, q->within, out->amplitude, out->noise);
        ratio = out->noise[0] * out->noise[0] / (out->amplitude[0] * out->amplitude[0]);
        if (out->effdim != NULL)
            *out->effdim = nmll_eig_effdim(&eig, ratio);
        if (!isfinite(*out->value))
            rc = err_set(err, ST_NOT_PD,
                         "the kernel matrix is too inexact for any noise in bounds");
    }
    for (size_t i = 0; rc == ST_OK && gradient && i < n; i++)
        A[i + i * n] += ratio;
    if (rc == ST_OK && gradient)
        rc = dual_gradient(f, q, ratio, A, Z, out, ctl, err);
    nmll_eig_free(&eig);
    free(Z);
    free(A);
    free(K);
    return rc;
}
