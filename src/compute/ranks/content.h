/* compute/ranks/content.h -- a sum of numbers by which equal blocks of rows are recognised: their
 * bits as the coefficients of a polynomial at a fixed point, modulo the prime 2^61 - 1 (Carter &
 * Wegman, Universal classes of hash functions, 1979).  Two different blocks of m numbers have the
 * same sum by accident with probability m / 2^61.  It is no protection against intent. */
#ifndef GPDESK_CONTENT_H
#define GPDESK_CONTENT_H

#include "compute/features/source.h"
#include "compute/pool.h"

#include <stddef.h>
#include <stdint.h>

/* The segments of rows of which each has a sum of its own, share_segments(n, SHARE_JOINED); the one
 * that begins at a row. */
size_t content_segments(size_t n);
size_t content_segment(size_t n, size_t row);
/* The sums of the segments of rows r0 to r1 - 1 of n, each row of d numbers. */
void content_of_rows(struct pool *, size_t n, size_t r0, size_t r1, size_t d, const double *x,
                     uint64_t *sum);
/* The same for all rows of a source. */
enum status content_of_source(struct pool *, const struct source *, uint64_t *sum, struct err *);

#endif
