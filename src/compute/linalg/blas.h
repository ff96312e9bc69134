/* compute/linalg/blas.h -- all of the program's linear algebra, by CBLAS and LAPACKE.  Ranges of
 * int are checked and info codes become statuses.  Work is cut into fixed tiles over our own pool
 * with single-threaded BLAS inside, so that any number of threads gives the same bits.  Matrices
 * are column-major unless said otherwise (a symmetric matrix is the same either way).  With a NULL
 * pool everything runs in the calling thread.
 *
 * blas.c has the calls of the libraries and the products, blas_factor.c the tiled factorisations,
 * blas_tridiag.c the tridiagonal reduction.  All methods are backward stable (Golub & Van Loan,
 * Matrix Computations (2013)). */
#ifndef GPDESK_BLAS_H
#define GPDESK_BLAS_H

#include "base/status.h"
#include "compute/ctl.h"
#include "compute/pool.h"

#include <stdbool.h>
#include <stddef.h>

/* Ends the threads of BLAS.  Call before anything else.  (A processor that the library does not
 * know gets the kernels for its instructions when the program is loaded, unless OPENBLAS_CORETYPE
 * is set.) */
void blas_init(void);
/* Whether the limit on the address space (ulimit -v) has room for OpenBLAS: it maps 128 MiB
 * for each thread that multiplies, its own of the start included, and tries for ever where it
 * cannot. */
enum status blas_room(size_t threads, struct err *);
const char *blas_describe(void);    /* library, core type, threading flavour */
bool blas_flavour_ok_for_tests(struct err *); /* false for the OpenMP flavour (breaks fork) */
/* Process-wide: the backend that factorises large matrices (NULL: none).  dpotrf, dpotri, dsyevd
 * and tridiag then try it first. */
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
/* Completes a symmetric matrix: copies the entries below the diagonal in rows i0 .. i0 + ni and
 * columns j0 .. j0 + nj to their places above it. */
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

/* Cholesky factor A = L L' (n x n), in place in the lower triangle, over fixed tiles.  NOT_PD names
 * the pivot (*pivot, if not NULL, is its index from 0); CANCELLED when ctl stops it, which is asked
 * once for each block of columns.  The strict upper triangle is not touched. */
enum status blas_dpotrf(struct pool *, size_t n, double *A, size_t lda, const struct ctl *,
                        size_t *pivot, struct err *);
/* X := L^-1 X or L^-T X for n x k X, tiled. */
enum status blas_dtrsm(struct pool *, bool trans, size_t n, size_t k, const double *L, size_t ldl,
                       double *X, size_t ldx, struct err *);
/* The same (X := L^-1 X) in the calling thread, for a task among others of a multiple of
 * BLAS_COLUMNS columns: with the same bits for a column however many its task has, which with the
 * kernels of OpenBLAS holds for such multiples, and not for all widths.  blas_task_columns: of
 * `k` columns over so many threads a task should have that many, up to four times BLAS_COLUMNS,
 * because L is read once for each task. */
enum { BLAS_COLUMNS = 64 };
size_t blas_task_columns(size_t k, size_t threads);
enum status blas_dtrsm_task(size_t n, size_t k, const double *L, size_t ldl, double *X, size_t ldx,
                            struct err *);
/* X := X L^-1 or X L^-T for m x n X and n x n L, tiled over rows. */
enum status blas_dtrsm_right(struct pool *, bool trans, size_t m, size_t n, const double *L,
                             size_t ldl, double *X, size_t ldx, struct err *);
/* Inverse of A from its Cholesky factor, lower triangle in place; the strict upper triangle is not
 * touched. */
enum status blas_dpotri(struct pool *, size_t n, double *A, size_t lda, struct err *);
/* sum[j] = the sum of the squares of column j of L^-1 (n x n), which has no cancellation: the
 * diagonal of the inverse of L L'.  CANCELLED when ctl stops it.  It holds n numbers for each of
 * so many columns. */
enum status blas_inverse_squares(struct pool *, size_t n, const double *L, size_t ldl, double *sum,
                                 const struct ctl *, struct err *);
size_t blas_inverse_columns(size_t n);
/* NOT_PD where a pivot of the factor L (n x n), or an eigenvalue of L L', is found below `least`.
 * A matrix without negative eigenvalues that had more than that added to its diagonal has neither,
 * so that rounding has made it indefinite by about as much.  The pivots alone do not show it: all
 * of them may be large at an eigenvalue that is next to none.  Eight triangular solves. */
enum status blas_sound(struct pool *, size_t n, const double *L, size_t ldl, double least,
                       struct err *err);
/* Symmetric eigenproblem A = U diag(w) U' (n x n), w ascending.  Reads the lower triangle, which is
 * overwritten; with want_vectors U (columns) overwrites A.  Single-threaded. */
enum status blas_dsyevd(size_t n, double *A, size_t lda, double *w, bool want_vectors,
                        struct err *);
/* Its p largest eigenvalues w, ascending, and their vectors V (n x p).  A is overwritten.  For few
 * of them less than half of the time of blas_dsyevd. */
enum status blas_dsyevr(size_t n, size_t p, double *A, size_t lda, double *w, double *V,
                        size_t ldv, struct err *err);
/* The smallest and the largest eigenvalue of the symmetric tridiagonal matrix with diagonal d (n)
 * and off-diagonal e (n-1), by bisection: about 120 n divisions, whatever n is.  NaN for n = 0. */
enum status blas_tridiag_ends(size_t n, const double *d, const double *e, double *least,
                              double *most, struct err *);
/* A = Q T Q' with T tridiagonal: d (n) and e (n-1) of T, and b := Q'b for k vectors.  Reads the
 * lower triangle; all of A is overwritten.  4 n^3 / 3 operations. */
enum status blas_tridiag(struct pool *, size_t n, double *A, size_t lda, double *d, double *e,
                         size_t k, double *b, size_t ldb, struct err *err);
/* Thin QR: A (m x n, m >= n) is replaced by Q, which is orthonormal to rounding, also when A does
 * not have full rank.  Signs of columns are not defined. */
enum status blas_dqr(struct pool *, size_t m, size_t n, double *A, size_t lda, struct err *);
/* Thin SVD of A (m x n, m >= n): U overwrites A, s descending. */
enum status blas_dsvd_for_tests(struct pool *, size_t m, size_t n, double *A, size_t lda, double *s,
                                struct err *);

#endif
