/* compute/cpu/bits.h -- population counts of many words: of columns of signs (cpu_bits.c) and of
 * rows of bits (kernels/layers/tanimoto.c).  All give the same whole numbers. */
#ifndef GPDESK_BITS_H
#define GPDESK_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Words come in lines of BITS_LINE, aligned to 64 bytes. */
enum { BITS_LINE = 8, BITS_BLOCK = 4, BITS_ROWS = 16 };

struct bits_loops {
    const char *name;
    /* out[4 i + j] <- how many bits differ between `lines` lines at a[i] and at b[j], i and j
     * below BITS_BLOCK. */
    void (*differ)(size_t lines, const uint64_t *const a[BITS_BLOCK],
                   const uint64_t *const b[BITS_BLOCK], uint64_t out[BITS_BLOCK * BITS_BLOCK]);
    /* out[r] <- how many bits `lines` lines at x share with those of row r of BITS_ROWS rows: word
     * w of line l of row r is y[(l * BITS_LINE + w) * BITS_ROWS + r]. */
    void (*share)(size_t lines, const uint64_t *x, const uint64_t *y, double out[BITS_ROWS]);
    /* Bit i of the lines at x <- byte[i], which is 0 or 1; byte is aligned to 64 bytes. */
    void (*pack)(size_t lines, const uint8_t *byte, uint64_t *x);
};
/* Those of the vector level in use (cpu_level in backend.h): with AVX-512 by VPOPCNTDQ where the
 * processor has it, otherwise by shuffles of bytes. */
const struct bits_loops *bits_now(void);
/* Loops in vector registers (bits_wide.c), for processors that have the instructions. */
extern const struct bits_loops bits_wide_avx2, bits_wide_avx512, bits_wide_counting;
/* All that this processor can run, and NULL past the last. */
const struct bits_loops *bits_at_for_tests(size_t i);

#endif
