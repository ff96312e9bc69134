/* compute/cpu/simd_avx2.c -- the loops with AVX2, FMA and F16C.  Only the functions below are
 * compiled for them: everything included above the pragma stays fit for any x86-64. */
#include "compute/cpu/simd.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

#define LEVEL simd_avx2
#define LEVEL_NAME "avx2"
#define VEC_BYTES 32
#define LEVEL_SIGNS(v) _mm256_movemask_ps((__m256)(v))
#define LEVEL_LEAST8(a, b) _mm256_min_epu8((__m256i)(a), (__m256i)(b))
#define LANES32 8
#define LANES64 4
#define MOST_BITS 3
#define PAIRS_ROWS 2
#define LEVEL_TWICE32(p)                                                                         \
    ((f32_vec)_mm256_broadcast_ps((const __m128 *)(const void *)(p)))
#define LEVEL_TWICE64(p)                                                                         \
    ((f64_vec)_mm256_broadcast_pd((const __m128d *)(const void *)(p)))
#define LEVEL_NARROW(from, to)                                                                   \
    _mm_storeu_si128((__m128i *)(void *)(to),                                                    \
                     _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#define LEVEL_WIDEN(from, to)                                                                    \
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from))))

#include "compute/cpu/simd_level.h"

/* Exact for every t; the parity comes from 1.5 2^23 + t and is arbitrary beyond 2^22. */
INLINE void f32_reduce(f32_vec t, f32_vec *r, f32_ivec *parity)
{
    *r = t - (f32_vec)_mm256_round_ps((__m256)t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    *parity = (f32_ivec)(t + 12582912.0F);
}

INLINE void f64_reduce(f64_vec t, f64_vec *r, f64_ivec *parity)
{
    *r = t - (f64_vec)_mm256_round_pd((__m256d)t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    *parity = (f64_ivec)(t + 6755399441055744.0);
}

INLINE f32_vec f32_root(f32_vec a)
{
    return (f32_vec)_mm256_sqrt_ps((__m256)a);
}

INLINE f32_vec f32_least(f32_vec a, f32_vec b)
{
    return (f32_vec)_mm256_min_ps((__m256)a, (__m256)b);
}

/* c0 + x (c1 + x (c2 + x c3)) with the four numbers of each lane's part. */
INLINE f32_vec f32_cubic(const float *table, f32_ivec part, f32_vec x)
{
    const __m256i at = (__m256i)(part << 2);
    const f32_vec c0 = (f32_vec)_mm256_i32gather_ps(table, at, 4),
                  c1 = (f32_vec)_mm256_i32gather_ps(table + 1, at, 4),
                  c2 = (f32_vec)_mm256_i32gather_ps(table + 2, at, 4),
                  c3 = (f32_vec)_mm256_i32gather_ps(table + 3, at, 4);

    return c0 + x * (c1 + x * (c2 + x * c3));
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int simd_avx2_is_for_x86_64; /* ISO C wants a declaration */
#endif
