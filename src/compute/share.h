/* compute/share.h -- the rows of one process among several that sum over all rows together.
 *
 * Rows are cut into at most SHARE_SEGMENTS segments, by their number alone.  Each process has
 * neighbouring segments, adds up each of its segments by itself, and then adds those sums by fold.h
 * with units that all processes agree on: so the bits of a sum do not depend on the number of
 * processes or threads.  A sum with fewer segments joins neighbours, a power of two at a time, but
 * none joins more than to share_segments(n, SHARE_JOINED) of them: processes that begin and end
 * with segments of that cut have whole ones in every sum (share_fits). */
#ifndef GPDESK_SHARE_H
#define GPDESK_SHARE_H

#include "base/status.h"
#include "compute/pool.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SHARE_SEGMENTS = 64, /* a power of two */
    SHARE_ROWS = 128,    /* segments begin at multiples of it */
    SHARE_JOINED = 1024, /* the rows of segments that a sum may join neighbours to */
};

/* NULL in place of a share: all rows are here. */
struct share {
    size_t n;      /* rows of all processes */
    size_t r0, r1; /* the rows of this one, in the count of all */
    /* Collective: x[j] becomes the largest of the x[j] of all processes, or their exact sum of
     * folded terms.  All processes call them in the same order with the same n.  An error is one
     * for all of them: a process that fails or is stopped by itself returns without calling, and
     * whoever runs the processes then has to end the calls of the others with an error. */
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

/* The most segments that have about `rows` rows or more: a power of two up to SHARE_SEGMENTS. */
static inline size_t share_segments(size_t n, size_t rows)
{
    size_t of = SHARE_SEGMENTS;

    while (of > 1 && n / of < rows)
        of /= 2;
    return of;
}

/* True when these rows are whole segments, at least one, in every sum. */
bool share_fits(size_t n, size_t r0, size_t r1);

/* The rows of all processes, where n are here; and the first of those here. */
static inline size_t share_rows(const struct share *share, size_t n)
{
    return share ? share->n : n;
}

static inline size_t share_from(const struct share *share)
{
    return share ? share->r0 : 0;
}

/* The rows of segment s of `of` that are here, counted from the first one here: all of them or,
 * with *r0 = *r1, none.  n: the rows here. */
static inline void share_part(const struct share *share, size_t n, size_t s, size_t of, size_t *r0,
                              size_t *r1)
{
    const size_t from = share_from(share), all = share_rows(share, n);
    const size_t a = share_row(all, s, of), b = share_row(all, s + 1, of);
    const bool here = a >= from && a < from + n;

    *r0 = here ? a - from : 0;
    *r1 = here ? b - from : 0;
}

/* Collective calls that do nothing where all rows are here. */
enum status share_most(const struct share *, size_t n, double *x, struct err *);
enum status share_sum(const struct share *, size_t n, double *x, struct err *);
/* share_sum of a matrix of M x L numbers in columns of ldc; `lower`: of its lower triangle
 * alone. */
enum status share_sum_matrix(const struct share *, size_t M, size_t L, bool lower, double *C,
                             size_t ldc, struct err *);

/* sum[j] = the sum of part[i n + j] over `parts` parts i here and those of all other processes, at
 * most `count` together: by one fold or, with `both`, two. */
struct share_parts { size_t count, parts, n; const double *part; bool both; };
enum status share_fold(const struct share *, struct pool *, const struct share_parts *, double *sum,
                       struct err *);
/* The same by two folds, where bound[j] is expected to hold for all terms of sum j, so that one
 * collective call is enough; where it does not hold somewhere, as share_fold.  All processes have
 * the same bounds, which are overwritten.  work: 2 n + 1 numbers. */
enum status share_fold_within(const struct share *, struct pool *, const struct share_parts *,
                              double *bound, double *work, double *sum, struct err *);

#endif
