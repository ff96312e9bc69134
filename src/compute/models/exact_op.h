/* compute/models/exact_op.h -- products with the exact kernel matrix K1 (n x n, amplitude 1), which
 * is never stored (share/doc/methods.md 5.7 to 5.9); included by exact.h.
 *
 * Sums of products of kernels of a distance or of a scalar product (exact_form.h) are computed in
 * single precision, with sums over tiles of columns in double: on the backend's device if it has
 * one for this kernel (backend.h), else in vector code on the CPU.  All other kernels are computed
 * pair by pair in double precision, which takes a hundred times as long. */
#ifndef GPDESK_EXACT_OP_H
#define GPDESK_EXACT_OP_H

#include "base/status.h"
#include "compute/ctl.h"

#include <stdbool.h>
#include <stddef.h>

struct backend_ops;
struct exact_rows;
struct kernel;
struct exact_op;
/* Kernel, hp and X are borrowed and must outlive the operator; row factors are not applied.  On the
 * CPU the packed rows take 4 bytes for each number that a kernel of the expression reads.  An
 * operator serves one caller at a time. */
enum status exact_op_open(const struct backend_ops *, const struct exact_rows *,
                          struct exact_op **out, struct err *);
void exact_op_close(struct exact_op *); /* NULL is fine */
/* True when the products are computed on the device.  *why (may be NULL) receives the error of a
 * device that was lost. */
bool exact_op_there(const struct exact_op *, struct err *why);
/* True when they are computed in single precision, there or in vector code. */
bool exact_op_single(const struct exact_op *);
/* W (m x k) <- K1(Y, X) V for k vectors V (n x k), each contiguous; Y has m rows of d inputs, NULL:
 * X itself.  A row of W has the same bits whichever rows are asked for with it, and on any number
 * of threads. */
enum status exact_op_apply(struct exact_op *, size_t m, const double *Y, size_t k, const double *V,
                           double *W, const struct ctl *, struct err *);
/* The same for rows at[0] .. at[m - 1] of X, in any order and as often as they are named: rows of
 * K1 V. */
enum status exact_op_rows(struct exact_op *, size_t m, const size_t *at, size_t k, const double *V,
                          double *W, const struct ctl *, struct err *);
/* C (n x m) <- columns at[0] .. at[m - 1] of K1, always on the CPU. */
enum status exact_op_columns(struct exact_op *, size_t m, const size_t *at, double *C,
                             const struct ctl *, struct err *);
/* Seconds of one core of the CPU, counted from sizes: for a product of `rows` rows with k vectors,
 * and for one pair of rows of d inputs before there is an operator. */
double exact_op_seconds(const struct exact_op *, size_t rows, size_t k);
double exact_op_cost(const struct kernel *, size_t d, size_t k);

#endif
