/* compute/linalg/blas.h -- the one door to CBLAS and LAPACKE: int ranges checked, info codes turned
 * into statuses, work cut into fixed tiles over our own pool with single-threaded BLAS inside, so
 * that any thread count gives the same bits.  Matrices here are column-major unless said otherwise
 * (a symmetric matrix is the same either way).  A NULL pool runs everything in the caller.
 *
 * blas.c holds the door itself and the products, blas_factor.c the tiled factorisations,
 * blas_tridiag.c the tridiagonal reduction. */
#ifndef GPDESK_BLAS_H
#define GPDESK_BLAS_H

#include "base/status.h"
#include "compute/ctl.h"
#include "compute/pool.h"

#include <stdbool.h>
#include <stddef.h>

void blas_init(void);               /* no BLAS threads; call at start, before any other */
const char *blas_describe(void);    /* library, core type, threading flavour */
bool blas_flavour_ok_for_tests(struct err *); /* false for the OpenMP flavour (breaks fork) */
/* Process-wide: who factorises large matrices (struct backend_dense; NULL: nobody else).  dpotrf,
 * dpotri, dsyevd and tridiag then ask it first. */
struct backend_dense;
void blas_on(const struct backend_dense *);

/* C (m x n) = alpha op(A) op(B) + beta C, column-major, tiled over the pool.  C may be
 * uninitialised when beta is 0.  C must not overlap A or B. */
enum status blas_dgemm(struct pool *, bool ta, bool tb, size_t m, size_t n, size_t k, double alpha,
                       const double *A, size_t lda, const double *B, size_t ldb, double beta,
                       double *C, size_t ldc, struct err *);
/* G (n x n, both triangles) = A'A for A (m x n). */
enum status blas_dgram(struct pool *, size_t m, size_t n, const double *A, size_t lda, double *G,
                       size_t ldg, struct err *);
/* The other triangle of a symmetric matrix: what lies below the diagonal in rows i0 .. i0 + ni of
 * columns j0 .. j0 + nj is copied to its place above. */
void blas_mirror(size_t i0, size_t ni, size_t j0, size_t nj, double *G, size_t ldg);
/* Single-threaded products for use inside pool tasks. */
void blas_sgemm1(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *A,
                 size_t lda, const float *B, size_t ldb, float beta, float *C, size_t ldc);
void blas_dgemm1(bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, const double *A,
                 size_t lda, const double *B, size_t ldb, double beta, double *C, size_t ldc);
/* Lower (or upper) triangle of C = alpha A'A + beta C (trans; A k x n) or alpha A A' (A n x k). */
void blas_ssyrk1(bool lower, bool trans, size_t n, size_t k, float alpha, const float *A,
                 size_t lda, float beta, float *C, size_t ldc);
void blas_dsyrk1(bool lower, bool trans, size_t n, size_t k, double alpha, const double *A,
                 size_t lda, double beta, double *C, size_t ldc);
void blas_sgemv1_for_tests(bool ta, size_t m, size_t n, float alpha, const float *A, size_t lda,
                           const float *x, float beta, float *y);
void blas_dgemv1(bool ta, size_t m, size_t n, double alpha, const double *A, size_t lda,
                 const double *x, double beta, double *y);
/* y = A x for symmetric A (n x n), of which one triangle is read. */
void blas_dsymv1(bool lower, size_t n, const double *A, size_t lda, const double *x, double *y);
double blas_ddot(size_t n, const double *x, const double *y);
double blas_dnrm2(size_t n, const double *x);
void blas_daxpy(size_t n, double a, const double *x, double *y);
void blas_dscal(size_t n, double a, double *x);

/* A = L L' in place in the lower triangle, blocked over fixed tiles; NOT_PD names the pivot (and
 * *pivot its index, 0-based, when not NULL), CANCELLED when ctl says so (asked once per block of
 * columns).  The strict upper triangle is not touched. */
enum status blas_dpotrf(struct pool *, size_t n, double *A, size_t lda, const struct ctl *,
                        size_t *pivot, struct err *);
/* X := L^-1 X or L^-T X for n x k X, tiled. */
enum status blas_dtrsm(struct pool *, bool trans, size_t n, size_t k, const double *L, size_t ldl,
                       double *X, size_t ldx, struct err *);
/* X := X L^-1 or X L^-T for m x n X and n x n L, tiled over rows. */
enum status blas_dtrsm_right(struct pool *, bool trans, size_t m, size_t n, const double *L,
                             size_t ldl, double *X, size_t ldx, struct err *);
/* Inverse of A from its Cholesky factor, lower triangle in place; the strict upper triangle is not
 * touched. */
enum status blas_dpotri(struct pool *, size_t n, double *A, size_t lda, struct err *);
/* Symmetric eigenproblem, ascending values; reads the lower triangle, which is destroyed; vectors
 * overwrite A when want_vectors.  Single-threaded. */
enum status blas_dsyevd(size_t n, double *A, size_t lda, double *w, bool want_vectors,
                        struct err *);
/* A = Q T Q' (lower triangle in; all of A is destroyed): d (n), e (n-1), and b := Q' b for k
 * vectors. */
enum status blas_tridiag(struct pool *, size_t n, double *A, size_t lda, double *d, double *e,
                         size_t k, double *b, size_t ldb, struct err *err);
/* Thin QR: A (m x n, m >= n) is replaced by Q, orthonormal to rounding also when A is not of full
 * rank.  Column signs are not defined. */
enum status blas_dqr(struct pool *, size_t m, size_t n, double *A, size_t lda, struct err *);
/* Thin SVD of A (m x n, m >= n): U overwrites A, s descending. */
enum status blas_dsvd_for_tests(struct pool *, size_t m, size_t n, double *A, size_t lda, double *s,
                                struct err *);

#endif
