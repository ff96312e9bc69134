/* compute/cpu/hash_loops.h -- least keys of rows of counts (features/hash.h): the loops of each
 * vector level. */
#ifndef GPDESK_HASH_LOOPS_H
#define GPDESK_HASH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_LANES = 16 };

struct hash_loops {
    /* Bit f of signs[i] <- the lowest bit of the least of the keys at pair[j] * HASH_LANES + f, j
     * from first[i] to first[i + 1] - 1, for n rows.  key is aligned to 64 bytes. */
    void (*signs)(size_t n, const uint32_t *first, const uint32_t *pair, const float *key,
                  uint16_t *signs);
    /* z[r] <- -1 or 1 by bit r of the bits (1 for -1), from the first on; n a multiple of 16. */
    void (*columns32)(size_t n, const uint16_t *bits, float *z);
    void (*columns64)(size_t n, const uint16_t *bits, double *z);
};

#endif
