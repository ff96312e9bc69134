/* compute/cpu/bits_wide.c -- population counts in vector registers, each function compiled for the
 * instructions that it names: bits.c calls it only where the processor has them.  Shuffles look up
 * the counts of half bytes (Mula, Kurz & Lemire, "Faster population counts using AVX2
 * instructions", 2018). */
#include "compute/cpu/bits.h"

#ifdef __x86_64__
#include <immintrin.h>

#define WITH(features) __attribute__((target(features)))
#define AVX2 WITH("avx2")
#define AVX512 WITH("avx512f,avx512bw,avx512vl,avx512dq")
#define COUNTING WITH("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq")

/* The set bits of each byte, and of each 64-bit word. */
AVX2 static inline __m256i bytes_avx2(__m256i v)
{
    const __m256i table =
        _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                         2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);

    return _mm256_add_epi8(
        _mm256_shuffle_epi8(table, _mm256_and_si256(v, low)),
        _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), low)));
}

AVX512 static inline __m512i bytes_avx512(__m512i v)
{
    const __m512i table = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i low = _mm512_set1_epi8(15);

    return _mm512_add_epi8(
        _mm512_shuffle_epi8(table, _mm512_and_si512(v, low)),
        _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(v, 4), low)));
}

AVX2 static void differ_avx2(size_t lines, const uint64_t *const a[BITS_BLOCK],
                             const uint64_t *const b[BITS_BLOCK], uint64_t *out)
{
    for (size_t i = 0; i < BITS_BLOCK; i++) {
        __m256i sum[BITS_BLOCK];
        for (size_t j = 0; j < BITS_BLOCK; j++)
            sum[j] = _mm256_setzero_si256();
        for (size_t w = 0; w < lines * BITS_LINE; w += 4) {
            const __m256i x = _mm256_load_si256((const __m256i *)(const void *)(a[i] + w));
            for (size_t j = 0; j < BITS_BLOCK; j++) {
                const __m256i y = _mm256_load_si256((const __m256i *)(const void *)(b[j] + w));
                const __m256i n = bytes_avx2(_mm256_xor_si256(x, y));
                sum[j] = _mm256_add_epi64(sum[j], _mm256_sad_epu8(n, _mm256_setzero_si256()));
            }
        }
        for (size_t j = 0; j < BITS_BLOCK; j++) {
            uint64_t s[4];
            _mm256_storeu_si256((__m256i *)(void *)s, sum[j]);
            out[BITS_BLOCK * i + j] = s[0] + s[1] + s[2] + s[3];
        }
    }
}

/* Bytes are added up in bytes while they have room: 31 words of 8 bits. */
AVX2 static void share_avx2(size_t lines, const uint64_t *x, const uint64_t *y, double *out)
{
    enum { PARTS = BITS_ROWS / 4, ROOM = 31 };
    __m256i all[PARTS];

    for (size_t c = 0; c < PARTS; c++)
        all[c] = _mm256_setzero_si256();
    for (size_t w = 0; w < lines * BITS_LINE; w += ROOM) {
        const size_t end = w + ROOM < lines * BITS_LINE ? w + ROOM : lines * BITS_LINE;
        __m256i sum[PARTS];
        for (size_t c = 0; c < PARTS; c++)
            sum[c] = _mm256_setzero_si256();
        for (size_t i = w; i < end; i++) {
            const __m256i v = _mm256_set1_epi64x((long long)x[i]);
            const __m256i *row = (const __m256i *)(const void *)(y + i * BITS_ROWS);
            for (size_t c = 0; c < PARTS; c++)
                sum[c] = _mm256_add_epi8(
                    sum[c], bytes_avx2(_mm256_and_si256(v, _mm256_load_si256(row + c))));
        }
        for (size_t c = 0; c < PARTS; c++)
            all[c] =
                _mm256_add_epi64(all[c], _mm256_sad_epu8(sum[c], _mm256_setzero_si256()));
    }
    for (size_t c = 0; c < PARTS; c++) {
        uint64_t s[4];
        _mm256_storeu_si256((__m256i *)(void *)s, all[c]);
        for (size_t r = 0; r < 4; r++)
            out[4 * c + r] = (double)(int64_t)s[r];
    }
}

AVX2 static void pack_avx2(size_t lines, const uint8_t *byte, uint64_t *x)
{
    for (size_t w = 0; w < lines * BITS_LINE; w++) {
        const __m256i *at = (const __m256i *)(const void *)(byte + 64 * w);
        const __m256i low = _mm256_slli_epi16(_mm256_load_si256(at), 7),
                      high = _mm256_slli_epi16(_mm256_load_si256(at + 1), 7);
        x[w] = (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
               (uint32_t)_mm256_movemask_epi8(low);
    }
}

#define DIFFER_512(name, with, count)                                                              \
    with static void name(size_t lines, const uint64_t *const a[BITS_BLOCK],                       \
                          const uint64_t *const b[BITS_BLOCK], uint64_t *out)                      \
    {                                                                                              \
        __m512i sum[BITS_BLOCK][BITS_BLOCK];                                                       \
        _Pragma("GCC unroll 4") for (size_t i = 0; i < BITS_BLOCK; i++)                            \
            _Pragma("GCC unroll 4") for (size_t j = 0; j < BITS_BLOCK; j++)                        \
                sum[i][j] = _mm512_setzero_si512();                                                \
        for (size_t l = 0; l < lines; l++) {                                                       \
            __m512i y[BITS_BLOCK];                                                                 \
            _Pragma("GCC unroll 4") for (size_t j = 0; j < BITS_BLOCK; j++)                        \
                y[j] = _mm512_load_si512(b[j] + l * BITS_LINE);                                    \
            _Pragma("GCC unroll 4") for (size_t i = 0; i < BITS_BLOCK; i++)                        \
            {                                                                                      \
                const __m512i x = _mm512_load_si512(a[i] + l * BITS_LINE);                         \
                _Pragma("GCC unroll 4") for (size_t j = 0; j < BITS_BLOCK; j++)                    \
                    sum[i][j] = _mm512_add_epi64(sum[i][j], count(_mm512_xor_si512(x, y[j])));     \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 4") for (size_t i = 0; i < BITS_BLOCK; i++)                            \
            _Pragma("GCC unroll 4") for (size_t j = 0; j < BITS_BLOCK; j++)                        \
                out[BITS_BLOCK * i + j] = (uint64_t)_mm512_reduce_add_epi64(sum[i][j]);            \
    }

AVX512 static inline __m512i count_bytes(__m512i v)
{
    return _mm512_sad_epu8(bytes_avx512(v), _mm512_setzero_si512());
}

DIFFER_512(differ_avx512, AVX512, count_bytes)
DIFFER_512(differ_counting, COUNTING, _mm512_popcnt_epi64)

AVX512 static void pack_avx512(size_t lines, const uint8_t *byte, uint64_t *x)
{
    for (size_t w = 0; w < lines * BITS_LINE; w++) {
        const __m512i v = _mm512_load_si512(byte + 64 * w);
        x[w] = _mm512_test_epi8_mask(v, v);
    }
}

AVX512 static void share_avx512(size_t lines, const uint64_t *x, const uint64_t *y, double *out)
{
    enum { ROOM = 31 };
    __m512i all[2] = { _mm512_setzero_si512(), _mm512_setzero_si512() };

    for (size_t w = 0; w < lines * BITS_LINE; w += ROOM) {
        const size_t end = w + ROOM < lines * BITS_LINE ? w + ROOM : lines * BITS_LINE;
        __m512i sum[2] = { _mm512_setzero_si512(), _mm512_setzero_si512() };
        for (size_t i = w; i < end; i++) {
            const __m512i v = _mm512_set1_epi64((long long)x[i]);
            for (size_t c = 0; c < 2; c++)
                sum[c] = _mm512_add_epi8(
                    sum[c], bytes_avx512(_mm512_and_si512(
                                v, _mm512_load_si512(y + i * BITS_ROWS + c * BITS_LINE))));
        }
        for (size_t c = 0; c < 2; c++)
            all[c] = _mm512_add_epi64(all[c], _mm512_sad_epu8(sum[c], _mm512_setzero_si512()));
    }
    for (size_t c = 0; c < 2; c++)
        _mm512_storeu_pd(out + c * BITS_LINE, _mm512_cvtepi64_pd(all[c]));
}

COUNTING static void share_counting(size_t lines, const uint64_t *x, const uint64_t *y,
                                    double *out)
{
    __m512i sum[2] = { _mm512_setzero_si512(), _mm512_setzero_si512() };

    for (size_t i = 0; i < lines * BITS_LINE; i++) {
        const __m512i v = _mm512_set1_epi64((long long)x[i]);
        for (size_t c = 0; c < 2; c++)
            sum[c] = _mm512_add_epi64(
                sum[c], _mm512_popcnt_epi64(_mm512_and_si512(
                            v, _mm512_load_si512(y + i * BITS_ROWS + c * BITS_LINE))));
    }
    for (size_t c = 0; c < 2; c++)
        _mm512_storeu_pd(out + c * BITS_LINE, _mm512_cvtepi64_pd(sum[c]));
}

const struct bits_loops bits_wide_avx2 = { "avx2", differ_avx2, share_avx2, pack_avx2 };
const struct bits_loops bits_wide_avx512 = { "avx512", differ_avx512, share_avx512,
                                              pack_avx512 };
const struct bits_loops bits_wide_counting = { "vpopcntdq", differ_counting, share_counting,
                                                pack_avx512 };
#endif
