/* compute/models/exact_stored.h -- the values of an exact kernel matrix K1 (n x n) kept in memory,
 * in float32 or float16, in the order in which a product reads them (share/doc/methods.md 5.9).
 *
 * Groups of PAIRS_GROUP rows lie one after the other, each as tiles of PAIRS_COLS columns
 * (pairs.h).  A tile in float32 is read where it lies. */
#ifndef GPDESK_EXACT_STORED_H
#define GPDESK_EXACT_STORED_H

#include "base/status.h"
#include "compute/cpu/simd.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct exact_stored {
    size_t n, tiles;
    bool half;
    atomic_bool beyond; /* a value was too large for float16 */
    void *values;
};
double exact_stored_bytes(size_t n, bool half);
/* Allocates room for all values.  The caller frees it, also by exact_stored_free(NULL). */
struct exact_stored *exact_stored_new(size_t n, bool half, struct err *err);
void exact_stored_free(struct exact_stored *);
/* Keeps `cols` columns of tile t for `rows` rows from r0, a multiple of PAIRS_GROUP. */
void exact_stored_put(struct exact_stored *, const struct simd *, size_t t, size_t r0,
                      size_t rows, size_t cols, const float *K);
/* Tile t of `rows` rows, which are at[0], at[1], ..., or with at NULL r0, r0 + 1, ... with r0 a
 * multiple of PAIRS_GROUP; in `to` (PAIRS_GROUP x PAIRS_COLS), or where it lies. */
const float *exact_stored_get(const struct exact_stored *, const struct simd *, size_t t,
                              size_t r0, size_t rows, const size_t *at, size_t cols, float *to);

#endif
