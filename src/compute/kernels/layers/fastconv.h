/* compute/kernels/layers/fastconv.h -- the filters of fastconv(..): a sequence becomes
 * numbers phi_j = max(0, max over its windows of w_j . window), w_j drawn as the frequencies of rbf
 * features are (normal, structured orthogonal).  No hyperparameters: made once. */
#ifndef GPDESK_FASTCONV_H
#define GPDESK_FASTCONV_H

#include "compute/kernels/layers/layer.h"

struct fastconv;

/* layer: width, filters, channels and symbols count.  The same arguments give the same filters. */
struct fastconv *fastconv_new(const struct layer *, uint64_t seed, struct err *err);
/* With given filters (filters x width * channels, copied): golden tests. */
struct fastconv *fastconv_given_for_tests(const struct layer *, const double *filters,
                                          struct err *err);
void fastconv_free(struct fastconv *); /* NULL is fine */
/* Projections of the windows of this row (source.h) are kept: rows that share some with it, at the
 * same places, are cheaper; none becomes different. */
enum status fastconv_refer(struct fastconv *, const double *row, struct err *err);
/* phi: `filters` numbers.  Zeros for a row shorter than a window.  From any thread. */
enum status fastconv_row(const struct fastconv *, const double *row, double *phi, struct err *err);

#endif
