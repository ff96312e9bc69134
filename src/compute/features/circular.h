/* compute/features/circular.h -- circular convolutions of two dense vectors of any length. */
#ifndef GPDESK_CIRCULAR_H
#define GPDESK_CIRCULAR_H

#include "base/status.h"

#include <stddef.h>

/* What convolutions of vectors of m numbers need.  NULL and *err: no memory. */
struct circular *circular_new(size_t m, struct err *err);
void circular_free(struct circular *);          /* NULL is fine */
size_t circular_work(const struct circular *); /* numbers of workspace */
/* out[b] <- sum over i of x[i] y[(b - i) mod m]; out may be x or y. */
void circular_product(const struct circular *, const double *x, const double *y, double *out,
                      double *work);

#endif
