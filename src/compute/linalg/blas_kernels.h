/* compute/linalg/blas_kernels.h -- LAPACK on one tile, single-threaded and without checks, for
 * blas_factor.c and blas_tridiag.c; blas.c implements it. */
#ifndef GPDESK_BLAS_KERNELS_H
#define GPDESK_BLAS_KERNELS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

static inline size_t blas_tiles(size_t n, size_t t)
{
    return (n + t - 1) / t;
}
/* Task t of the lower triangle of a grid of tiles: t = i (i + 1) / 2 + j, j <= i. */
void blas_lower_tile(size_t t, size_t *i, size_t *j);
/* RANGE when the lower triangle (square) or the whole of A holds NaN or infinity. */
enum status blas_finite(bool lower, size_t m, size_t n, const double *A, size_t lda,
                        struct err *err);
/* Every argument fits BLAS's int; else LIMIT. */
enum status blas_fits(size_t a, size_t b, size_t c, struct err *);
/* Cholesky of the lower triangle: 0, or 1 + the index of the pivot that is not positive. */
size_t blas_potrf1(size_t n, double *A, size_t lda);
void blas_trsm1(bool right, bool trans, size_t m, size_t n, double alpha, const double *L,
                size_t ldl, double *X, size_t ldx); /* lower triangular L */
void blas_trmm1(bool trans, size_t m, size_t n, const double *L, size_t ldl, double *X,
                size_t ldx);                        /* X := op(L) X */
void blas_trsv1(bool trans, size_t n, const double *L, size_t ldl, double *x);
void blas_trtri1(size_t n, double *L, size_t ldl);  /* lower, non-unit */
void blas_lauum1(size_t n, double *L, size_t ldl);  /* lower: L := L'L */
enum status blas_house_qr1(size_t m, size_t n, double *A, size_t lda, struct err *);
/* Householder vectors below the diagonal of A, R on and above it; n <= 64. */
enum status blas_reflectors1(size_t m, size_t n, double *A, size_t lda, double *tau,
                             struct err *err);
/* The triangular factor T (zeros below its diagonal) of I - V T V'. */
void blas_larft1(size_t m, size_t k, const double *V, size_t ldv, const double *tau, double *T,
                 size_t ldt);
double blas_larfg1(size_t n, double *alpha, double *x); /* returns tau */
void blas_dger1(size_t m, size_t n, double alpha, const double *x, const double *y, double *A,
                size_t lda);
void blas_syr21(size_t n, double alpha, const double *x, const double *y, double *A,
                size_t lda); /* lower triangle: A += alpha (x y' + y x') */
enum status blas_sytrd1(size_t n, double *A, size_t lda, double *d, double *e, size_t k, double *b,
                        size_t ldb, struct err *err);
enum status blas_gesdd1(size_t m, size_t n, double *A, size_t lda, double *s, double *Vt,
                        size_t ldvt, struct err *); /* U overwrites A; Vt n x n */

/* The backend of blas_on if it serves matrices of size n, else NULL. */
const struct backend_dense *blas_elsewhere(size_t n);
/* True when rc is a final answer of that backend.  Otherwise the CPU has to do the work; err is
 * then cleared. */
bool blas_answered(enum status rc, struct err *);

#endif
