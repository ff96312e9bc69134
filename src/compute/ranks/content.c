/* compute/ranks/content.c -- see content.h. */
#include "compute/ranks/content.h"

#include "base/mem.h"
#include "compute/share.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 4, ROWS_AT_ONCE = 256 /* a multiple of it */ };
/* A sum that is being made; zeros before the first number. */
struct content { uint64_t lane[LANES], count; };
#define PRIME (((uint64_t)1 << 61) - 1)
#define POINT 0x0b4d5fe8a1c3972bu /* of the polynomial, below PRIME */
#define HALF 0x13a9c5d20e7f4863u  /* the factor of a number's upper half, below PRIME */

/* p modulo the prime, but for a multiple of it: below 2^61 + 8. */
static uint64_t fold(unsigned __int128 p)
{
    const uint64_t s = ((uint64_t)p & PRIME) + (uint64_t)(p >> 61);

    return (s & PRIME) + (s >> 61);
}

/* Both halves of a number count, since the prime is smaller than a number. */
static uint64_t next(uint64_t h, uint64_t w)
{
    const uint64_t both = (w & UINT32_MAX) + fold((unsigned __int128)(w >> 32) * HALF);

    return fold((unsigned __int128)(h + both) * POINT);
}

/* Every call but the last has a multiple of LANES numbers. */
static void add(struct content *c, size_t n, const double *x)
{
    uint64_t h[LANES], w[LANES];
    size_t i = 0;

    memcpy(h, c->lane, sizeof h);
    for (; i + LANES <= n; i += LANES) {
        memcpy(w, x + i, sizeof w);
        for (size_t l = 0; l < LANES; l++)
            h[l] = next(h[l], w[l]);
    }
    for (size_t l = 0; i < n; i++, l++) {
        memcpy(w, x + i, sizeof *w);
        h[l] = next(h[l], w[0]);
    }
    memcpy(c->lane, h, sizeof h);
    c->count += n;
}

static uint64_t end_of(const struct content *c)
{
    uint64_t h = next(0, c->count);

    for (size_t l = 0; l < LANES; l++)
        h = next(h, c->lane[l]);
    return h % PRIME;
}

size_t content_segments(size_t n)
{
    return share_segments(n, SHARE_JOINED);
}

size_t content_segment(size_t n, size_t row)
{
    const size_t of = content_segments(n);
    size_t s = 0;

    while (s < of && share_row(n, s, of) < row)
        s++;
    return s;
}

/* Rows r0 to r1 - 1: those at x, else those of a source. */
struct job {
    const double *x;
    const struct source *src;
    size_t n, r0, first, d;
    uint64_t *sum;
    atomic_bool failed;
    struct err err;
};

static enum status add_segment(const struct job *j, size_t a, size_t b, struct content *c,
                               struct err *err)
{
    if (j->x) {
        add(c, (b - a) * j->d, j->x + (a - j->r0) * j->d);
        return ST_OK;
    }
    double *x = mem_calloc(ROWS_AT_ONCE * j->d, sizeof *x, "rows for other processes", err);
    enum status rc = x ? ST_OK : ST_NOMEM;
    for (size_t r = a, to; rc == ST_OK && r < b; r = to) {
        to = r + ROWS_AT_ONCE < b ? r + ROWS_AT_ONCE : b;
        rc = j->src->rows(j->src, r, to, x, err);
        if (rc == ST_OK)
            add(c, (to - r) * j->d, x);
    }
    free(x);
    return rc;
}

static void segment_task(void *ctx, size_t task, size_t worker)
{
    struct job *j = ctx;
    const size_t of = content_segments(j->n), s = j->first + task;
    struct content c = { .count = 0 };
    struct err err = { 0 };

    (void)worker;
    if (add_segment(j, share_row(j->n, s, of), share_row(j->n, s + 1, of), &c, &err) == ST_OK)
        j->sum[task] = end_of(&c);
    else if (!atomic_exchange(&j->failed, true))
        j->err = err;
}

void content_of_rows(struct pool *pool, size_t n, size_t r0, size_t r1, size_t d, const double *x,
                     uint64_t *sum)
{
    const size_t first = content_segment(n, r0);
    struct job j = { .x = x, .n = n, .r0 = r0, .first = first, .d = d, .sum = sum };

    pool_run(pool, content_segment(n, r1) - first, segment_task, &j);
}

enum status content_of_source(struct pool *pool, const struct source *src, uint64_t *sum,
                              struct err *err)
{
    struct job j = { .src = src, .n = src->n, .d = src->d, .sum = sum };

    pool_run(pool, content_segments(src->n), segment_task, &j);
    if (atomic_load(&j.failed) && err)
        *err = j.err;
    return atomic_load(&j.failed) ? j.err.code : ST_OK;
}
