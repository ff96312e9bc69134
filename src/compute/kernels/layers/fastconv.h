/* compute/kernels/layers/fastconv.h -- the filters of fastconv(..) (share/doc/methods.md 4.4): a
 * sequence becomes the numbers phi_j = max(0, max over its windows of f_j . window).  The filters
 * f_j are drawn like the frequencies of rbf features (normal, structured orthogonal).  There are no
 * hyperparameters, so that the numbers are computed once. */
#ifndef GPDESK_FASTCONV_H
#define GPDESK_FASTCONV_H

#include "compute/kernels/layers/layer.h"

struct fastconv;

/* Draws the filters.  Of the layer width, filters, channels and symbols matter.  The same arguments
 * give the same filters.  The caller owns the result; NULL and *err on failure. */
struct fastconv *fastconv_new(const struct layer *, uint64_t seed, struct err *err);
/* For the golden tests: with given filters (filters x (width * channels), copied). */
struct fastconv *fastconv_given_for_tests(const struct layer *, const double *filters,
                                          struct err *err);
void fastconv_free(struct fastconv *); /* NULL is fine */
/* Keeps the projections of the windows of this row (source.h).  Rows with the same windows at the
 * same positions then cost less; no result changes. */
enum status fastconv_refer(struct fastconv *, const double *row, struct err *err);
/* phi <- `filters` numbers; zeros for a row shorter than a window.  Thread-safe. */
enum status fastconv_row(const struct fastconv *, const double *row, double *phi, struct err *err);

#endif
