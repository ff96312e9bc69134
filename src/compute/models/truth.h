/* compute/models/truth.h -- a function drawn from the prior of a kernel, as the truth that a search
 * for its best input is to find (share/doc/methods.md 15.9).  Its features and weights come from a
 * stream of their own: a model that shared its features with the truth would know too much. */
#ifndef GPDESK_TRUTH_H
#define GPDESK_TRUTH_H

#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/tools.h"

enum { TRUTH_FEATURES = 5000 };

struct truth;
/* Draws a function of d inputs at these hyperparameters and amplitude 1.  The same arguments give
 * the same function.  The caller owns *out (truth_free). */
enum status truth_new(const struct kernel *, const double *hp, size_t d, uint64_t seed,
                      struct truth **out, struct err *);
void truth_free(struct truth *); /* NULL is fine */
/* f <- its values at the rows of a source of d inputs (src->n).  A value does not depend on the
 * other rows or on the number of threads. */
enum status truth_values(const struct truth *, const struct source *, double *f,
                         const struct tools *, struct err *);
/* The noise of measurement i: a standard normal. */
double truth_noise(uint64_t seed, size_t i);

#endif
