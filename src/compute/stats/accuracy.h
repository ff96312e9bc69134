/* compute/stats/accuracy.h -- how well random features reproduce a kernel: |Z Z' - K1|_F / |K1|_F
 * over an evenly spaced sample of the rows (share/doc/methods.md 3.12 gives the expected size of an
 * entry of the difference). */
#ifndef GPDESK_ACCURACY_H
#define GPDESK_ACCURACY_H

#include "compute/backend.h"
#include "compute/ctl.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

struct accuracy;
/* Computes the exact matrix K1 (float64, lower triangle) of at most `most` rows, O(most^2).  The
 * caller owns the result; kernel (bound), hp and rows are borrowed.  NULL and *err on failure. */
struct accuracy *accuracy_new(const struct kernel *, const double *hp, const struct source *rows,
                              size_t most, struct pool *, const struct ctl *, struct err *err);
void accuracy_free(struct accuracy *); /* NULL is fine */
/* *out: the error with M features (even) drawn at a seed, in double precision.  O(n^2 M). */
enum status accuracy_error(const struct accuracy *, size_t M, uint64_t seed,
                           const struct backend_ops *, double *out, struct err *err);

#endif
