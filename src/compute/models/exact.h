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

/* LIMIT with the memory and time that n rows would need, when `matrices` n x n matrices exceed
 * mem_limit bytes (0: none). */
enum status exact_allowed(size_t n, size_t matrices, size_t mem_limit, struct err *);
/* Seconds of one core for the matrix of n rows and its Cholesky factor, from sizes alone; and where
 * a kernel value takes `pair` seconds (exact_op_pair). */
double exact_seconds(size_t n);
double exact_seconds_of(size_t n, double pair);
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
/* The same for W = (P Q' + Q P') / 2 with P and Q of k vectors (n x k), which is made tile by
 * tile. */
enum status exact_contract_low(const struct exact_rows *, size_t k, const double *P,
                               const double *Q, double *sum, const struct ctl *, struct err *);
/* C (n x m) <- the cross-covariances k(x_i, xt_t), a column for each of m test rows Xt (m x d). */
void exact_cross(const struct exact_rows *, const double *Xt, size_t m, double *C);
/* The same for rows of `wide` numbers, d or more: sequences can be longer than those of X. */
void exact_cross_wide(const struct exact_rows *, const double *Xt, size_t wide, size_t m,
                      double *C);
/* K <- the lower Cholesky factor of S K1 S + (ratio + jitter) I.  *jitter is 0, or where rounding
 * has left the matrix indefinite the least of 1e-12 + 1e-14 n, a hundred times that, and so on,
 * that makes the factorisation succeed; NOT_PD when 1e-4 does not suffice. */
enum status exact_factor(const struct exact_rows *, double ratio, double *K, double *jitter,
                         const struct ctl *, struct err *);

/* Products with a kernel matrix that is not stored. */
#include "compute/models/exact_op.h"

#endif
