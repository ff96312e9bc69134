/* compute/cpu/simd_avx512.c -- the loops with AVX-512 (F, DQ, VL, BW).  Only the functions below
 * are compiled for them: everything included above the pragma stays fit for any x86-64. */
#include "compute/cpu/simd.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#endif

#define LEVEL simd_avx512
#define LEVEL_NAME "avx512"
#define LEVEL_TILES simd_amx
#define LEVEL_TILES_NAME "amx"
#define VEC_BYTES 64
#define LANES32 16
#define LANES64 8
#define MOST_BITS 4
#define LEVEL_ROWS 1
#define LEVEL_SIGNS(v) _mm512_movepi32_mask((__m512i)(v))
#define LEVEL_LEAST8(a, b) _mm512_min_epu8((__m512i)(a), (__m512i)(b))
#define PAIRS_ROWS 4
#define LEVEL_TWICE32(p) ((f32_vec)_mm512_broadcast_f32x8(_mm256_load_ps(p)))
#define LEVEL_TWICE64(p) ((f64_vec)_mm512_broadcast_f64x4(_mm256_load_pd(p)))
#define LEVEL_NARROW(from, to)                                                                   \
    _mm256_storeu_si256((__m256i *)(void *)(to),                                                 \
                        _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#define LEVEL_WIDEN(from, to)                                                                    \
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from))))

#include "compute/cpu/simd_level.h"

/* Exact for every t; the parity comes from 1.5 2^23 + t and is arbitrary beyond 2^22. */
INLINE void f32_reduce(f32_vec t, f32_vec *r, f32_ivec *parity)
{
    *r = (f32_vec)_mm512_reduce_ps((__m512)t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    *parity = (f32_ivec)(t + 12582912.0F);
}

INLINE void f64_reduce(f64_vec t, f64_vec *r, f64_ivec *parity)
{
    *r = (f64_vec)_mm512_reduce_pd((__m512d)t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    *parity = (f64_ivec)(t + 6755399441055744.0);
}

INLINE f32_vec f32_root(f32_vec a)
{
    return (f32_vec)_mm512_sqrt_ps((__m512)a);
}

INLINE f32_vec f32_least(f32_vec a, f32_vec b)
{
    return (f32_vec)_mm512_min_ps((__m512)a, (__m512)b);
}

/* c0 + x (c1 + x (c2 + x c3)) with the four numbers of each lane's part. */
INLINE f32_vec f32_cubic(const float *table, f32_ivec part, f32_vec x)
{
    const __m512i at = (__m512i)(part << 2);
    const f32_vec c0 = (f32_vec)_mm512_i32gather_ps(at, table, 4),
                  c1 = (f32_vec)_mm512_i32gather_ps(at, table + 1, 4),
                  c2 = (f32_vec)_mm512_i32gather_ps(at, table + 2, 4),
                  c3 = (f32_vec)_mm512_i32gather_ps(at, table + 3, 4);

    return c0 + x * (c1 + x * (c2 + x * c3));
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int simd_avx512_is_for_x86_64; /* ISO C wants a declaration */
#endif
