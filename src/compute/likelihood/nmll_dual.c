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
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double features_most = 512e6; /* bytes: fop_outer forms Z as a whole */

bool nmll_is_dual(size_t n, size_t M)
{
    return n < M && 8.0 * (double)n * (double)M <= features_most;
}

enum status nmll_dual_matrix(struct fop *f, double *K, const struct ctl *ctl, struct err *err)
{
    return fop_outer(f, false, K, ctl, err);
}

/* The gradient by share/doc/methods.md 5.4 with d(Z Z') = dZ Z' + Z dZ':
 *   1/2 tr(S d(Z Z')) = sum of (S Z) o dZ,  S = sum over targets of A^-1 - alpha alpha' / beta^2,
 * A = K1 + ratio I, alpha = A^-1 y (n), at amplitude 1 (6.15).  A (n x n, lower triangle) is
 * overwritten by S; S Z is n x M.  O(n^3 + n^2 M). */
static enum status dual_gradient(struct fop *f, const struct nmll_ask *q, double ratio, double *A,
                                 const struct nmll_told *out, const struct ctl *ctl,
                                 struct err *err)
{
    struct pool *pool = fop_pool(f);
    const size_t n = fop_rows(f), t = q->t ? q->t : 1;
    const double *amplitude = out->amplitude;
    struct nmll_chol p = { .pool = pool, .M = n, .t = t, .ratio = ratio, .g = q->y, .invert = true,
                           .w = mem_calloc(t * n, sizeof *p.w, "the weights", err) };
    enum status rc = p.w ? nmll_chol(&p, A, ctl, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < n; j++)
        for (size_t i = j; i < n; i++) {
            double ww = 0.0;
            for (size_t k = 0; k < t; k++)
                ww += p.w[k * n + i] * p.w[k * n + j] / (amplitude[k] * amplitude[k]);
            A[j + i * n] = A[i + j * n] = (double)t * A[i + j * n] - ww;
        }
    memset(out->grad, 0, q->nhp * sizeof *out->grad);
    if (rc == ST_OK)
        rc = fop_outer_back(f, A, q->nhp, out->grad, ctl, err);
    free(p.w);
    return rc;
}

enum status nmll_dual_best(struct fop *f, const struct nmll_ask *q, const struct nmll_told *out,
                           const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), t = q->t ? q->t : 1;
    const bool gradient = out->grad != NULL;
    struct nmll_eig eig = { 0 };
    double ratio = 0.0, *A = NULL, yty[TARGETS_MOST] = { 0.0 };
    double *K = mem_aligned(n * n, sizeof *K, "the kernel matrix", err);
    const struct nmll_system s = { .n = n, .M = n, .t = t, .G = K, .b = q->y, .yty = yty,
                                   .dual = true };
    enum status rc = K ? fop_outer(f, gradient, K, ctl, err) : ST_NOMEM;

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
        rc = dual_gradient(f, q, ratio, A, out, ctl, err);
    nmll_eig_free(&eig);
    free(A);
    free(K);
    return rc;
}
