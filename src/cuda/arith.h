/* cuda/arith.h -- arithmetic of the device kernels: half precision, sines of angles in turns,
 * indices of the sweep layout. It is also compiled for the host and tested there. */
#ifndef GPDESK_CUDA_ARITH_H
#define GPDESK_CUDA_ARITH_H

#include "cuda/port.h"

/* Half precision. */

#if DEVICE_CODE
DEV uint16_t half_of(float x)
{
    return __half_as_ushort(__float2half_rn(x));
}

DEV float half_value(uint16_t h)
{
    return __half2float(__ushort_as_half(h));
}
#else
/* Rounds to IEEE 754 binary16: to nearest, ties to even. */
static inline uint16_t half_of(float x)
{
    union { float f; uint32_t u; } v = { x };
    const uint32_t sign = v.u >> 16 & 0x8000u, a = v.u & 0x7fffffffu;

    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (a >= 0x477ff000u) /* 65520 and above becomes infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) { /* below 2^-14: in units of 2^-24, rounded by the float adder itself */
        union { float f; uint32_t u; } r = { 0.5f };
        v.u = a;
        r.f += v.f;
        return (uint16_t)(sign | (r.u - 0x3f000000u));
    }
    return (uint16_t)(sign | ((a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13));
}

static inline float half_value(uint16_t h)
{
    const uint32_t e = h >> 10 & 31u, m = h & 0x3ffu;
    union { uint32_t u; float f; } v;

    v.u = e == 31u ? 0x7f800000u | m << 13 : (e + 112u) << 23 | m << 13;
    if (e == 0)
        v.f = (float)m * 0x1p-24f;
    return h & 0x8000u ? -v.f : v.f;
}
#endif

/* lo and hi as the two halves of a word. */
DEV uint32_t two_halves(float lo, float hi)
{
#if DEVICE_CODE
    const __half2 h = __floats2half2_rn(lo, hi);
    return *(const uint32_t *)&h;
#else
    return (uint32_t)half_of(lo) | (uint32_t)half_of(hi) << 16;
#endif
}

/* Loads four neighbouring numbers at once. */
DEV void get_four(const float *from, float *to)
{
    VECTOR(from);
#if DEVICE_CODE
    const float4 v = *(const float4 *)from;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
#else
    for (int i = 0; i < 4; i++)
        to[i] = from[i];
#endif
}

/* Stores eight neighbouring numbers at once, or four (aligned to 8 bytes). */
DEV void put_eight(uint16_t *to, const float *z)
{
    VECTOR(to);
#if DEVICE_CODE
    *(uint4 *)to = make_uint4(two_halves(z[0], z[1]), two_halves(z[2], z[3]),
                              two_halves(z[4], z[5]), two_halves(z[6], z[7]));
#else
    for (int i = 0; i < 8; i++)
        to[i] = half_of(z[i]);
#endif
}

DEV void put_four(uint16_t *to, const float *z)
{
#if DEVICE_CODE
    *(uint2 *)to = make_uint2(two_halves(z[0], z[1]), two_halves(z[2], z[3]));
#else
    VECTOR(2 * (uintptr_t)to);
    for (int i = 0; i < 4; i++)
        to[i] = half_of(z[i]);
#endif
}

/* x = hi + lo to 22 bits, if |x| is above about 1e-4 and at most 65504. */
DEV void split_half(float x, uint16_t *hi, uint16_t *lo)
{
    *hi = half_of(x);
    *lo = half_of(x - half_value(*hi));
}

/* Sines of angles in turns. */

/* sin and cos of 2 pi t. t - rint(t) is exact for every t, so the functions of the remainder need
 * no reduction. fast: uses the special-function units, with an absolute error below 1e-6. */
DEV void turns_f32(float t, int fast, float *sine, float *cosine)
{
    const float r = t - rintf(t);
#if DEVICE_CODE
    if (fast) {
        *sine = __sinf(6.283185307f * r);
        *cosine = __cosf(6.283185307f * r);
    } else {
        sincospif(2.0f * r, sine, cosine);
    }
#else
    (void)fast;
    *sine = (float)sin(6.283185307179586477 * (double)r);
    *cosine = (float)cos(6.283185307179586477 * (double)r);
#endif
}

DEV void turns_f64(double t, double *sine, double *cosine)
{
    const double r = t - rint(t);
#if DEVICE_CODE
    sincospi(2.0 * r, sine, cosine);
#else
    *sine = sin(6.283185307179586477 * r);
    *cosine = cos(6.283185307179586477 * r);
#endif
}

/* The layout of sweeps. */

/* Rows of features as a sweep reads them. Columns are divided into slices, one for each block of a
 * cluster. In a slice, thread t owns the SWEEP_COLS columns from SWEEP_COLS t on. What the threads
 * of a warp load together is contiguous: 16 bytes of each thread, then the next 16 of each. width:
 * how many numbers fit into 16 bytes. */
enum { SWEEP_COLS = 32, SWEEP_THREADS = 256, SWEEP_CLUSTER = 8 };
struct sweep_shape { int slices, threads; };

BOTH size_t sweep_row(struct sweep_shape s) /* numbers in a row */
{
    return (size_t)s.slices * (size_t)s.threads * SWEEP_COLS;
}

/* In 32 bits, as column indices are: a 64-bit division takes a hundred instructions. */
BOTH size_t sweep_place(struct sweep_shape s, int width, size_t col)
{
    const uint32_t threads = (uint32_t)s.threads, per = threads * SWEEP_COLS, w = (uint32_t)width;
    const uint32_t slice = (uint32_t)col / per, in = (uint32_t)col - slice * per;
    const uint32_t t = in / SWEEP_COLS, e = in % SWEEP_COLS;

    return (size_t)slice * per + (e / w * w * threads + t * w + e % w);
}

#endif
