/* compute/cpu/bits.c -- population counts by words, and the choice of loops (bits.h). */
#include "compute/cpu/bits.h"

#include "compute/cpu/simd.h"

#include <string.h>

static void differ_words(size_t lines, const uint64_t *const a[BITS_BLOCK],
                         const uint64_t *const b[BITS_BLOCK], uint64_t *out)
{
    for (size_t i = 0; i < BITS_BLOCK; i++)
        for (size_t j = 0; j < BITS_BLOCK; j++) {
            uint64_t sum = 0;
            for (size_t w = 0; w < lines * BITS_LINE; w++)
                sum += (uint64_t)__builtin_popcountll(a[i][w] ^ b[j][w]);
            out[BITS_BLOCK * i + j] = sum;
        }
}

static void share_words(size_t lines, const uint64_t *x, const uint64_t *y, double *out)
{
    uint32_t sum[BITS_ROWS] = { 0 };

    for (size_t w = 0; w < lines * BITS_LINE; w++)
        for (size_t r = 0; r < BITS_ROWS; r++)
            sum[r] += (uint32_t)__builtin_popcountll(x[w] & y[w * BITS_ROWS + r]);
    for (size_t r = 0; r < BITS_ROWS; r++)
        out[r] = sum[r];
}

/* The product moves bit 0 of byte i to bit 56 + i. */
static void pack_words(size_t lines, const uint8_t *byte, uint64_t *x)
{
    for (size_t w = 0; w < lines * BITS_LINE; w++) {
        x[w] = 0;
        for (size_t i = 0; i < 64; i += 8) {
            uint64_t eight = 0;
            for (size_t b = 0; b < 8; b++)
                eight |= (uint64_t)byte[w * 64 + i + b] << (8 * b);
            x[w] |= (eight * UINT64_C(0x0102040810204080) >> 56) << i;
        }
    }
}

static const struct bits_loops words = { "words", differ_words, share_words, pack_words };

/* The loops of a level and all narrower ones, widest first. */
static const struct bits_loops *loops_at(const char *level, size_t i)
{
    const struct bits_loops *all[4];
    size_t n = 0;

#ifdef __x86_64__
    const int wide = !strcmp(level, "avx512") || !strcmp(level, "amx");
    if (wide && __builtin_cpu_supports("avx512vpopcntdq"))
        all[n++] = &bits_wide_counting;
    if (wide)
        all[n++] = &bits_wide_avx512;
    if (wide || !strcmp(level, "avx2"))
        all[n++] = &bits_wide_avx2;
#endif
    (void)level;
    all[n++] = &words;
    return i < n ? all[i] : NULL;
}

const struct bits_loops *bits_now(void)
{
    return loops_at(cpu_simd_now()->name, 0);
}

const struct bits_loops *bits_at_for_tests(size_t i)
{
    return loops_at(cpu_simd_now()->name, i);
}
