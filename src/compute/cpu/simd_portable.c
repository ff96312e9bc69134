/* compute/cpu/simd_portable.c -- the loops for any processor: vectors of 16 bytes, which compilers
 * split where the machine has none. */
#include "compute/cpu/simd.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define LEVEL simd_portable
#define LEVEL_NAME "portable"
#define VEC_BYTES 16
#define LANES32 4
#define LANES64 2
#define MOST_BITS 3
#define PAIRS_ROWS 2
#ifdef __SSE__
#define LEVEL_SIGNS(v) _mm_movemask_ps((__m128)(v))
#endif

#include "compute/cpu/simd_level.h"

/* Adding 1.5 2^23 rounds to the nearest integer, whose parity is then the lowest bit. Beyond 2^22
 * half turns a float holds no phase: those are taken as 0.  With excess precision (387) the trick
 * fails, and lanes are rounded one by one. */
INLINE void f32_reduce(f32_vec t, f32_vec *r, f32_ivec *parity)
{
#if FLT_EVAL_METHOD == 0
    const f32_vec magic = (f32_vec){ 0 } + 12582912.0F, m = t + magic;
    const f32_ivec fits = (t > -4194304.0F) & (t < 4194304.0F);

    *r = (f32_vec)((f32_ivec)(t - (m - magic)) & fits);
    *parity = (f32_ivec)m;
#else
    for (int i = 0; i < LANES32; i++) {
        const double n = nearbyint((double)t[i]);
        (*r)[i] = (float)((double)t[i] - n);
        (*parity)[i] = fmod(n, 2.0) != 0.0;
    }
#endif
}

INLINE void f64_reduce(f64_vec t, f64_vec *r, f64_ivec *parity)
{
#if FLT_EVAL_METHOD == 0
    const f64_vec magic = (f64_vec){ 0 } + 6755399441055744.0, m = t + magic;
    const f64_ivec fits = (t > -2251799813685248.0) & (t < 2251799813685248.0);

    *r = (f64_vec)((f64_ivec)(t - (m - magic)) & fits);
    *parity = (f64_ivec)m;
#else
    for (int i = 0; i < LANES64; i++) {
        const double n = nearbyint(t[i]);
        (*r)[i] = t[i] - n;
        (*parity)[i] = fmod(n, 2.0) != 0.0;
    }
#endif
}

INLINE f32_vec f32_root(f32_vec a)
{
#ifdef __SSE__
    return (f32_vec)_mm_sqrt_ps((__m128)a);
#else
    f32_vec y = { 0 };

    for (int i = 0; i < LANES32; i++)
        y[i] = sqrtf(a[i]);
    return y;
#endif
}

INLINE f32_vec f32_least(f32_vec a, f32_vec b)
{
    const f32_ivec less = a < b;

    return (f32_vec)(((f32_ivec)a & less) | ((f32_ivec)b & ~less));
}

/* c0 + x (c1 + x (c2 + x c3)) with the four numbers of each lane's part. */
INLINE f32_vec f32_cubic(const float *table, f32_ivec part, f32_vec x)
{
    f32_vec y = { 0 };

    for (int i = 0; i < LANES32; i++) {
        const float *c = table + 4 * (size_t)part[i];
        y[i] = c[0] + x[i] * (c[1] + x[i] * (c[2] + x[i] * c[3]));
    }
    return y;
}
