/* compute/cpu/simd_amx.c -- products of float32 blocks on the matrix units of recent x86-64
 * processors (AMX: 16 x 16 x 32 products of bfloat16, summed in float32).
 *
 * A number is rounded to two bfloat16 parts, z = h + l, |error| <= 2^-18 |z|, and all four products
 * of parts are summed.  The result is the exact product of the rounded blocks but for the float32
 * sums, so that Z'Z is still a Gram matrix.  The units do 16 times the arithmetic of AVX-512, for 4
 * times the work.
 *
 * A block of at most 256 rows is packed by groups of 16 columns and steps of 32 rows into tiles of
 * 1 KiB, parts h and l side by side.  "right" tiles hold pairs of rows (line: row pair; word: the
 * pair in one column), "left" ones their transpose. */
#include "compute/cpu/simd.h"

#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#pragma clang attribute push(                                                                      \
    __attribute__((target("amx-tile,amx-bf16,avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))),      \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#endif

enum {
    SIDE = 16, STEP = 32,      /* columns and rows of a tile */
    WORDS = 256,               /* 32-bit words of a tile */
    STEPS = SIMD_TILES_ROWS / STEP,
    GROUP = STEPS * 2 * WORDS, /* words of a group of columns */
    EDGE = 2 * SIDE,           /* columns of one block of the result, either way */
};

static size_t tiles_bytes(size_t cols)
{
    return (cols + EDGE - 1) / EDGE * EDGE / SIDE * GROUP * sizeof(uint32_t);
}

/* Rounds to the nearest bfloat16, ties to even; upper 16 bits of each word. */
static inline __m512i round_up_half(__m512 z)
{
    const __m512i u = _mm512_castps_si512(z), odd = _mm512_srli_epi32(u, 16);
    const __m512i half = _mm512_add_epi32(_mm512_and_si512(odd, _mm512_set1_epi32(1)),
                                          _mm512_set1_epi32(0x7fff));
    return _mm512_and_si512(_mm512_add_epi32(u, half), _mm512_set1_epi32((int)0xffff0000));
}

/* Parts of 16 numbers; z becomes their sum, which a float holds exactly. */
static inline void split(__m512 *z, __m512i *h, __m512i *l)
{
    *h = round_up_half(*z);
    *l = round_up_half(_mm512_sub_ps(*z, _mm512_castsi512_ps(*h)));
    *z = _mm512_add_ps(_mm512_castsi512_ps(*h), _mm512_castsi512_ps(*l));
}

/* Interleaves rows i and i + n of a list of 2 n: perfect shuffles, see simd_real.h. */
static inline void shuffle_words(__m512i *a)
{
    const __m512i lo = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i hi = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                         31);
    __m512i b[SIDE];

#pragma GCC unroll 16
    for (int i = 0; i < SIDE / 2; i++) {
        b[2 * i] = _mm512_permutex2var_epi32(a[i], lo, a[i + SIDE / 2]);
        b[2 * i + 1] = _mm512_permutex2var_epi32(a[i], hi, a[i + SIDE / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i++)
        a[i] = b[i];
}

static void transpose_tile(const uint32_t *in, uint32_t *out)
{
    __m512i a[SIDE];

#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i++)
        a[i] = _mm512_load_si512(in + i * SIDE);
    shuffle_words(a);
    shuffle_words(a);
    shuffle_words(a);
    shuffle_words(a);
#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i++)
        _mm512_store_si512(out + i * SIDE, a[i]);
}

/* The right tiles h and l (2 * WORDS) of at most 32 rows and 16 columns. */
static void pack_step(size_t rows, __mmask16 cols, float *z, size_t ld, uint32_t *out)
{
    for (size_t r = 0; r < STEP; r += 2) {
        __m512i h[2], l[2];
        for (size_t i = 0; i < 2; i++) {
            __m512 v = _mm512_setzero_ps();
            if (r + i < rows)
                v = _mm512_maskz_loadu_ps(cols, z + (r + i) * ld);
            split(&v, &h[i], &l[i]);
            if (r + i < rows)
                _mm512_mask_storeu_ps(z + (r + i) * ld, cols, v);
        }
        _mm512_store_si512(out + r / 2 * SIDE, _mm512_or_si512(_mm512_srli_epi32(h[0], 16), h[1]));
        _mm512_store_si512(out + WORDS + r / 2 * SIDE,
                           _mm512_or_si512(_mm512_srli_epi32(l[0], 16), l[1]));
    }
}

static void tiles_pack(size_t rows, size_t cols, float *z, size_t ld, void *left, void *right)
{
    const size_t groups = tiles_bytes(cols) / (GROUP * sizeof(uint32_t));
    uint32_t step[2 * WORDS] __attribute__((aligned(64)));

    for (size_t s = 0; s * STEP < rows; s++)
        for (size_t g = 0; g < groups; g++) {
            const size_t at = g * GROUP + s * 2 * WORDS, j = g * SIDE;
            const size_t have = j < cols ? cols - j : 0;
            uint32_t *out = right ? (uint32_t *)right + at : step;
            pack_step(rows - s * STEP, have >= SIDE ? 0xffff : (__mmask16)((1U << have) - 1),
                      z + s * STEP * ld + (have ? j : 0), ld, out);
            if (left) {
                transpose_tile(out, (uint32_t *)left + at);
                transpose_tile(out + WORDS, (uint32_t *)left + at + WORDS);
            }
        }
}

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} __attribute__((packed));

/* A block of the result in float32 that is being added to the sums. */
struct pending {
    float *in;    /* in[j * EDGE + i] */
    size_t mi, nj;
    double *C;
    size_t ldc;
    bool fresh; /* the sums so far count as 0 */
};

static inline __attribute__((always_inline)) __m512d sum_of(const struct pending *p, __mmask8 m,
                                                            const double *c, __m512d v)
{
    return _mm512_add_pd(p->fresh ? _mm512_setzero_pd() : _mm512_maskz_loadu_pd(m, c), v);
}

static inline __attribute__((always_inline)) void merge(const struct pending *p, size_t j0,
                                                        size_t j1)
{
    if (p->nj == EDGE && p->mi == EDGE) { /* masks cost more than they look */
        for (size_t j = j0; j < j1; j++) {
            double *c = p->C + j * p->ldc;
#pragma GCC unroll 4
            for (size_t i = 0; i < EDGE; i += 8) {
                const __m512d v = _mm512_cvtps_pd(_mm256_load_ps(p->in + j * EDGE + i));
                _mm512_storeu_pd(c + i, sum_of(p, 0xff, c + i, v));
            }
        }
        return;
    }
    for (size_t j = j0; j < j1 && j < p->nj; j++)
        for (size_t i = 0; i < p->mi; i += 8) {
            const __mmask8 m = p->mi - i >= 8 ? 0xff : (__mmask8)((1U << (p->mi - i)) - 1);
            double *c = p->C + j * p->ldc + i;
            const __m512d v = _mm512_cvtps_pd(_mm256_load_ps(p->in + j * EDGE + i));
            _mm512_mask_storeu_pd(c, m, sum_of(p, m, c, v));
        }
}

/* Data that will be needed next are prefetched to the second-level cache, a share with each
 * step. */
struct ahead { const char *left, *right; }; /* NULL: nothing */
enum { SHARE = 8 };                         /* cache lines of either */

static inline __attribute__((always_inline)) void fetch(struct ahead *a)
{
    if (!a->left)
        return;
#pragma GCC unroll 8
    for (int i = 0; i < SHARE; i++) {
        _mm_prefetch(a->left + 64 * i, _MM_HINT_T1);
        _mm_prefetch(a->right + 64 * i, _MM_HINT_T1);
    }
    a->left += 64 * SHARE;
    a->right += 64 * SHARE;
}

/* Four tiles of the result, 32 x 32, into out; meanwhile the block before is merged. */
static inline __attribute__((always_inline)) void block(size_t steps, const uint32_t *l,
                                                        const uint32_t *r, float *out,
                                                        const struct pending *before,
                                                        struct ahead *ahead)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t s = 0; s < steps; s++, l += 2 * WORDS, r += 2 * WORDS) {
        _tile_loadd(4, l, 64);
        _tile_loadd(6, r, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, r + GROUP, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, l + GROUP, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(6, r + WORDS, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, r + GROUP + WORDS, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        merge(before, s * (EDGE / STEPS), (s + 1) * (EDGE / STEPS));
        fetch(ahead);
        _tile_loadd(4, l + WORDS, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, l + GROUP + WORDS, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(6, r, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(7, r + GROUP, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    merge(before, steps * (EDGE / STEPS), EDGE);
    _tile_stored(0, out, EDGE * sizeof *out);
    _tile_stored(1, out + SIDE, EDGE * sizeof *out);
    _tile_stored(2, out + SIDE * EDGE, EDGE * sizeof *out);
    _tile_stored(3, out + SIDE * EDGE + SIDE, EDGE * sizeof *out);
}

static void tiles_product(const struct simd_product *p, double *C, size_t ldc)
{
    const size_t i0 = p->i0, mi = p->mi, j0 = p->j0, nj = p->nj;
    const uint32_t *right = p->right, *left = p->left;
    float out[2][EDGE * EDGE] __attribute__((aligned(64)));
    struct tile_config config = { .palette = 1 };
    struct ahead ahead = { 0 };
    struct pending before = { .in = out[1], .nj = 0 };
    const size_t steps = (p->rows + STEP - 1) / STEP;

    for (int i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = SIDE;
    }
    if (p->next_right)
        ahead = (struct ahead){
            (const char *)((const uint32_t *)p->next_left + j0 / SIDE * GROUP),
            (const char *)((const uint32_t *)p->next_right + i0 / SIDE * GROUP)};
    _tile_loadconfig(&config);
    for (size_t j = 0; j < nj; j += EDGE)
        for (size_t i = p->lower && j0 + j > i0 ? j0 + j - i0 : 0; i < mi; i += EDGE) {
            float *to = before.in == out[0] ? out[1] : out[0];
            block(steps, left + (j0 + j) / SIDE * GROUP, right + (i0 + i) / SIDE * GROUP, to,
                  &before, &ahead);
            before = (struct pending){ to, mi - i < EDGE ? mi - i : EDGE,
                                       nj - j < EDGE ? nj - j : EDGE, C + j * ldc + i, ldc,
                                       p->fresh };
        }
    merge(&before, 0, EDGE);
    _tile_release();
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const struct simd_tiles simd_amx_tiles = { tiles_bytes, tiles_pack, tiles_product };

/* True when the CPU has matrix units and the kernel lets this process use them, which takes one
 * request on Linux. */
bool simd_amx_usable(void)
{
#ifdef __linux__
    enum { REQUEST = 0x1023, TILE_DATA = 18, BF16 = 1 << 22, TILES = 1 << 24, OSXSAVE = 1 << 27 };
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE))
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & BF16) || !(d & TILES))
        return false;
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}
#else
typedef int simd_amx_is_for_x86_64; /* ISO C wants a declaration */
#endif
