/* compute/models/exact_op.h -- products with the exact kernel matrix K1 (n x n, amplitude 1), whose
 * values are computed for each product, or once and stored (share/doc/methods.md 5.7 to 5.9);
 * included by exact.h.
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
/* Steps of a dual descent on that device, for *there, which is valid as long as the operator; NULL:
 * there are none. */
struct backend_descent;
const struct backend_descent *exact_op_descent(const struct exact_op *, void **there);
/* True when they are computed in single precision, there or in vector code. */
bool exact_op_single(const struct exact_op *);
/* Computes all values of K1, on the CPU, and keeps them for products with rows of X: in float32, or
 * rounded to float16 (half).  In float32 products keep their bits where they are computed in vector
 * code, and round to single precision where that is done pair by pair.  RANGE for values that
 * float16 does not have; after a failure products are computed as before. */
enum status exact_op_store(struct exact_op *, bool half, const struct ctl *, struct err *);
/* True if what is stored is coarser than the values that a product would compute. */
bool exact_op_rounds(const struct exact_op *);
/* W (n x k) <- K1 V from values that are computed, even where they are stored. */
enum status exact_op_anew(struct exact_op *, size_t k, const double *V, double *W,
                          const struct ctl *, struct err *);
/* W (m x k) <- K1(Y, X) V for k vectors V (n x k), each contiguous; Y has m rows of d inputs, NULL:
 * X itself.  A row of W has the same bits whichever rows are asked for with it, and on any number
 * of threads. */
enum status exact_op_apply(struct exact_op *, size_t m, const double *Y, size_t k, const double *V,
                           double *W, const struct ctl *, struct err *);
/* The same for rows at[0] .. at[m - 1] of X, in any order and as often as they are named: rows of
 * K1 V. */
enum status exact_op_rows(struct exact_op *, size_t m, const size_t *at, size_t k, const double *V,
                          double *W, const struct ctl *, struct err *);
/* C (n x m) <- columns at[0] .. at[m - 1] of K1. */
enum status exact_op_columns(struct exact_op *, size_t m, const size_t *at, double *C,
                             const struct ctl *, struct err *);
/* Seconds of one core of the CPU, counted from sizes: for a product of `rows` rows with k vectors,
 * and for one pair of rows of d inputs before there is an operator. */
double exact_op_seconds(const struct exact_op *, size_t rows, size_t k);
double exact_op_cost(const struct kernel *, size_t d, size_t k);
/* Seconds of one core for a value in double precision, as a Cholesky factor takes it. */
double exact_op_pair(const struct kernel *, size_t d);
/* Bytes of stored values of n rows, and seconds of one core to read one and multiply it with k
 * vectors. */
double exact_op_stored_bytes(size_t n, bool half);
/* True if those in float32 take at most half of the memory allowed (0: half of the machine's). */
bool exact_op_keeps(size_t n, size_t mem_limit);
double exact_op_stored_cost(bool half, size_t k);

#endif
