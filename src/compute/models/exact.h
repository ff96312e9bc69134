/* compute/models/exact.h -- the exact kernel matrix and its Cholesky factor: the oracle of every
 * approximation, and for small data the honest choice.  O(n^2) memory, O(n^3) time, all float64.
 * Matrices are column-major with ld = n; symmetric ones hold their lower triangle. */
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
/* The rows between which an exact kernel is taken: kernel k at hp, X with n rows of d inputs
 * (row-major), and the n row factors S of source.h (NULL: 1).  Everything is lent. */
struct exact_rows {
    const struct kernel *k;
    const double *hp, *X;
    size_t n, d;
    const double *row_scale;
    struct pool *pool;
};
/* Lower triangle of S K1 S + diag I, K1_ij = k(x_i, x_j) at amplitude 1. */
enum status exact_matrix(const struct exact_rows *, double diag, double *K, const struct ctl *,
                         struct err *);
/* sum_ij W_ij s_i s_j dK1_ij / d log hp[h] for every h < nhp; W symmetric, lower triangle given. */
enum status exact_contract(const struct exact_rows *, const double *W, double *sum,
                           const struct ctl *, struct err *);
/* Cross-covariances k(x_i, xt_t): column t (length n, ld = n) for m test rows. */
void exact_cross(const struct exact_rows *, const double *Xt, size_t m, double *C);
/* K1 without storing it: sums of products of kernels of a distance where the backend is, in single
 * precision (backend.h); all other kernels, and those of a backend that has none or is lost, by the
 * processor in double, which takes long.  Kernel, hp and X must outlive it; row factors are not
 * applied. */
struct backend_ops;
struct exact_op;
enum status exact_op_open(const struct backend_ops *, const struct exact_rows *,
                          struct exact_op **out, struct err *);
void exact_op_close(struct exact_op *);
/* Are its products made where the backend is?  why: what a device that is lost said (may be NULL).
 */
bool exact_op_there(const struct exact_op *, struct err *why);
/* W[c] = K1(Y, X) V[c] for k vectors; Y: m rows, NULL: X itself. */
enum status exact_op_apply(struct exact_op *, size_t m, const double *Y, size_t k, const double *V,
                           double *W, const struct ctl *, struct err *);
/* Lower Cholesky factor of S K1 S + (ratio + jitter) I into K.  jitter starts at 0 and grows from
 * 1e-12 n-fold until the factorisation succeeds; NOT_PD when 1e-4 does not suffice. */
enum status exact_factor(const struct exact_rows *, double ratio, double *K, double *jitter,
                         const struct ctl *, struct err *);

#endif
