/* compute/models/exact_stored.c -- a kernel matrix kept in memory by tiles (exact_stored.h). */
#include "compute/models/exact_stored.h"

#include "base/mem.h"
#include "compute/cpu/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = PAIRS_GROUP * PAIRS_COLS };
static const float half_most = 65504.0F; /* the largest number of float16 */

static size_t tiles_of(size_t n)
{
    return (n + PAIRS_COLS - 1) / PAIRS_COLS;
}

static size_t groups_of(size_t n)
{
    return (n + PAIRS_GROUP - 1) / PAIRS_GROUP;
}

double exact_stored_bytes(size_t n, bool half)
{
    return (half ? 2.0 : 4.0) * TILE * (double)tiles_of(n) * (double)groups_of(n);
}

struct exact_stored *exact_stored_new(size_t n, bool half, struct err *err)
{
    struct exact_stored *s = mem_calloc(1, sizeof *s, "a kernel matrix", err);

    if (s == NULL)
        return NULL;
    s->n = n;
    s->tiles = tiles_of(n);
    s->half = half;
    s->values = mem_aligned(groups_of(n) * s->tiles, TILE * (half ? 2 : sizeof(float)),
                            "a kernel matrix", err);
    if (s->values != NULL)
        return s;
    free(s);
    return NULL;
}

void exact_stored_free(struct exact_stored *s)
{
    if (s != NULL)
        free(s->values);
    free(s);
}

/* The place of row r in tile t. */
static size_t place(const struct exact_stored *s, size_t t, size_t r)
{
    return (r / PAIRS_GROUP * s->tiles + t) * TILE + r % PAIRS_GROUP * PAIRS_COLS;
}

/* Sets *beyond where a value has no float16. */
static void put_half(struct exact_stored *s, const struct simd *simd, size_t cols,
                     const float *K, uint16_t *to)
{
    float most = 0.0F;

    for (size_t j = 0; j < cols; j++)
        most = fabsf(K[j]) <= most ? most : fabsf(K[j]);
    if (!(most <= half_most))
        atomic_store(&s->beyond, true);
    simd->narrow(cols, K, to);
}

void exact_stored_put(struct exact_stored *s, const struct simd *simd, size_t t, size_t r0,
                      size_t rows, size_t cols, const float *K)
{
    const size_t at = place(s, t, r0);

    for (size_t r = 0; r < PAIRS_GROUP; r++) {
        float *single = s->half ? NULL : (float *)s->values + at + r * PAIRS_COLS;
        uint16_t *half = s->half ? (uint16_t *)s->values + at + r * PAIRS_COLS : NULL;
        if (r >= rows)
            memset(half ? (void *)half : single, 0, PAIRS_COLS * (half ? 2 : sizeof *single));
        else if (half)
            put_half(s, simd, cols, K + r * PAIRS_COLS, half);
        else
            memcpy(single, K + r * PAIRS_COLS, cols * sizeof *single);
    }
}

const float *exact_stored_get(const struct exact_stored *s, const struct simd *simd, size_t t,
                              size_t r0, size_t rows, const size_t *at, size_t cols, float *to)
{
    if (!s->half && at == NULL)
        return (const float *)s->values + place(s, t, r0);
    for (size_t r = 0; r < rows; r++) {
        const size_t from = place(s, t, at ? at[r] : r0 + r);
        if (s->half)
            simd->widen(cols, (const uint16_t *)s->values + from, to + r * PAIRS_COLS);
        else
            memcpy(to + r * PAIRS_COLS, (const float *)s->values + from, cols * sizeof *to);
    }
    return to;
}
