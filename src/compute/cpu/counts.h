/* compute/cpu/counts.h -- rows of small counts compared with COUNTS_ROWS others side by side
 * (share/doc/methods.md 4.6): the loops of each vector level. */
#ifndef GPDESK_COUNTS_H
#define GPDESK_COUNTS_H

#include <stddef.h>
#include <stdint.h>

enum { COUNTS_ROWS = 64, COUNTS_MOST = UINT8_MAX };

struct counts_loops {
    /* least[j] <- sum over n places of the lesser of value[i] and table[index[i] * COUNTS_ROWS +
     * j]; the values sum to COUNTS_MOST at most.  table is aligned to 64 bytes. */
    void (*least)(size_t n, const uint32_t *index, const uint8_t *value, const uint8_t *table,
                  uint8_t least[COUNTS_ROWS]);
    /* out[j] <- least[j] / (sum + sums[j] - least[j]); 1 where nothing is counted. */
    void (*ratio)(double sum, const double sums[COUNTS_ROWS], const double least[COUNTS_ROWS],
                  double out[COUNTS_ROWS]);
};

#endif
