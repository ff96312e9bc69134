/* compute/stats/accuracy.h -- how well random features give back a kernel: |Z Z' - K| / |K| in the
 * Frobenius norm, over an even sample of the rows. */
#ifndef GPDESK_ACCURACY_H
#define GPDESK_ACCURACY_H

#include "compute/backend.h"
#include "compute/ctl.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

struct accuracy;
/* The exact matrix K (float64, lower triangle) of at most `most` rows; kernel (bound), hp and rows
 * must outlive it.  O(most^2).  NULL and *err on failure. */
struct accuracy *accuracy_new(const struct kernel *, const double *hp, const struct source *rows,
                              size_t most, struct pool *, const struct ctl *, struct err *err);
void accuracy_free(struct accuracy *); /* NULL is fine */
/* The error with M features (even) drawn at a seed, in double precision.  O(n^2 M). */
enum status accuracy_error(const struct accuracy *, size_t M, uint64_t seed,
                           const struct backend_ops *, double *out, struct err *err);

#endif
