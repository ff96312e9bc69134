/* compute/models/exact.h -- the exact kernel matrix and its Cholesky factor
 * (share/doc/methods.md 5): the reference for every approximation, and the best choice for small
 * data.  O(n^2) memory, O(n^3) time, all in float64.  Matrices are column-major with leading
 * dimension n; symmetric ones hold their lower triangle. */
#ifndef GPDESK_EXACT_H
#define GPDESK_EXACT_H

#include "compute/ctl.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"
#include "compute/features/source.h"

/* Above this an exact GP is refused: 10,000 rows are 0.8 GB a matrix and minutes a search. */
enum { EXACT_MAX_ROWS = 10000 };

/* LIMIT with the memory and time that n rows would need, when there are more than
 * EXACT_MAX_ROWS or when `matrices` n x n matrices exceed mem_limit bytes (0: none). */
enum status exact_allowed(size_t n, size_t matrices, size_t mem_limit, struct err *);
/* All rows of a source as a row-major n x d array; the caller frees it. */
double *exact_inputs(const struct source *, struct err *);
/* The rows of an exact kernel matrix: kernel k at hyperparameters hp, X with n rows of d inputs
 * (row-major), and the n row factors S of source.h (NULL: 1).  Everything is borrowed. */
struct exact_rows {
    const struct kernel *k;
    const double *hp, *X;
    size_t n, d;
    const double *row_scale;
    struct pool *pool;
};
/* K <- the lower triangle of S K1 S + diag I (n x n), K1_ij = k(x_i, x_j) at amplitude 1. */
enum status exact_matrix(const struct exact_rows *, double diag, double *K, const struct ctl *,
                         struct err *);
/* sum[h] <- sum_ij W_ij s_i s_j dK1_ij / dlog hp[h] for every h < nhp; W (n x n) is symmetric, its
 * lower triangle is given. */
enum status exact_contract(const struct exact_rows *, const double *W, double *sum,
                           const struct ctl *, struct err *);
/* C (n x m) <- the cross-covariances k(x_i, xt_t), a column for each of m test rows Xt (m x d). */
void exact_cross(const struct exact_rows *, const double *Xt, size_t m, double *C);
/* Products with K1 that is never stored.  Sums of products of kernels of a distance are computed on
 * the backend's device in single precision (backend.h).  All other kernels, and those of a backend
 * without a device or with a lost one, are computed on the CPU in double precision, which takes
 * long.  Kernel, hp and X are borrowed and must outlive it; row factors are not applied. */
struct backend_ops;
struct exact_op;
enum status exact_op_open(const struct backend_ops *, const struct exact_rows *,
                          struct exact_op **out, struct err *);
void exact_op_close(struct exact_op *);
/* True when the products are computed on the device.  *why (may be NULL) receives the error of a
 * device that was lost. */
bool exact_op_there(const struct exact_op *, struct err *why);
/* W (m x k) <- K1(Y, X) V for k vectors V (n x k); Y has m rows of d inputs, NULL: X itself. */
enum status exact_op_apply(struct exact_op *, size_t m, const double *Y, size_t k, const double *V,
                           double *W, const struct ctl *, struct err *);
/* K <- the lower Cholesky factor of S K1 S + (ratio + jitter) I.  *jitter is 0, or where rounding
 * has left the matrix indefinite the least of 1e-12 + 1e-14 n, a hundred times that, and so on,
 * that makes the factorisation succeed; NOT_PD when 1e-4 does not suffice. */
enum status exact_factor(const struct exact_rows *, double ratio, double *K, double *jitter,
                         const struct ctl *, struct err *);

#endif
