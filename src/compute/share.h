/* compute/share.h -- the rows of one process among several that sum over all rows together.
 *
 * Rows are cut into at most SHARE_SEGMENTS segments, by their number alone.  Each process has
 * neighbouring segments, adds up each of its segments by itself, and then adds those sums by fold.h
 * with units that all processes agree on: so the bits of a sum do not depend on the number of
 * processes or threads.  A sum with fewer segments joins neighbours, a power of two at a time; then
 * a process must have whole ones of these. */
#ifndef GPDESK_SHARE_H
#define GPDESK_SHARE_H

#include "base/status.h"

#include <stddef.h>

enum {
    SHARE_SEGMENTS = 64, /* a power of two */
    SHARE_ROWS = 128     /* segments begin at multiples of it */
};

/* NULL in place of a share: all rows are here. */
struct share {
    size_t n;      /* rows of all processes */
    size_t r0, r1; /* the rows of this one, in the count of all */
    /* Collective: x[j] becomes the largest of the x[j] of all processes, or their exact sum of
     * folded terms.  All processes call them in the same order with the same n.  An error is one
     * for all of them. */
    enum status (*most)(void *ctx, size_t n, double *x, struct err *);
    enum status (*sum)(void *ctx, size_t n, double *x, struct err *);
    void *ctx;
};

/* The first row of segment s of `of`, a power of two up to SHARE_SEGMENTS; for s = of it is n.
 * Segments may be empty. */
static inline size_t share_row(size_t n, size_t s, size_t of)
{
    const size_t units = (n + SHARE_ROWS - 1) / SHARE_ROWS, row = units * s / of * SHARE_ROWS;

    return row < n ? row : n;
}

#endif
