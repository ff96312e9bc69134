/* compute/features/tensor.h -- random features of the kernel tanimotodp (share/doc/methods.md 4.14
 * to 4.17; Tripp et al. 2023, section 4): a sum of terms tau^r, tau = a.b / (a.a + b.b), of which
 * the first few have features.  Those of a term are a TensorSketch (Pham & Pagh 2013) of r copies
 * of a row and of the features of (a.a + b.b)^-r, which follow from its norm alone.
 *
 * Rows are scaled by the largest norm of the training rows, which the kernel keeps (layer.h); a
 * longer row is shortened to it. */
#ifndef GPDESK_TENSOR_H
#define GPDESK_TENSOR_H

#include "compute/cpu/tensor_loops.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"

#include <stddef.h>
#include <stdint.h>

enum { TENSOR_TERMS_MOST = 8 };

/* The smallest number of columns for a layer; the columns of term r (1 to l->terms) of mf in all,
 * of which one is for rows without counts. */
size_t tensor_least(const struct layer *);
size_t tensor_share_for_tests(const struct layer *, size_t mf, size_t r);

/* The features of a layer drawn with mf columns; power: what counts are raised to.  NULL and *err:
 * no memory, or the kernel does not know its norms. */
struct tensor *tensor_new(const struct layer *, double power, size_t mf, uint64_t seed,
                          uint64_t stream, struct err *err);
void tensor_free(struct tensor *); /* NULL is fine */
/* The predicted bytes of one with mf columns. */
double tensor_bytes(const struct layer *, size_t mf);

/* Where the columns of rows go, times `out`: row i at i * ld of z64 or, if that is NULL, of z32. */
struct tensor_to { double out, *z64; float *z32; size_t ld; };
/* The columns of n <= TENSOR_ROWS_MOST rows of counts, ldx apart, each of at most d numbers.  room:
 * tensor_room bytes, aligned to 64.  loops NULL: plain ones. */
enum { TENSOR_ROWS_MOST = 128 };
size_t tensor_room(const struct tensor *, size_t d);
void tensor_rows(const struct tensor *, const struct tensor_loops *loops, size_t n,
                 const double *x, size_t ldx, size_t d, const struct tensor_to *to, void *room);

/* Sets the norms of all layers of a kernel that need them and do not know them, from the rows that
 * have counts. */
enum status tensor_norms(struct kernel *, const struct source *, struct err *err);
/* How many rows are longer than the largest norm of a layer: they are shortened. */
enum status tensor_longer(const struct kernel *, const struct source *, size_t *rows,
                          struct err *err);

/* The features of (a + b)^-r at the squared norm a, n of them (4.15). */
void tensor_prefactor_for_tests(size_t r, double zeta, double u, size_t n, double a, double *out);
/* The TensorSketch of degree r into m numbers, of a dense row of n numbers: in copy l place i goes
 * to hash[l n + i] with sign[l n + i]. */
void tensor_sketch_for_tests(size_t r, size_t m, size_t n, const double *row, const double *hash,
                             const double *sign, double *out);

#endif
