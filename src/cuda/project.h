/* cuda/project.h -- products of 16 x 16 by 16 x 8 halves on matrix units (PTX mma.m16n8k16), their
 * emulation, and the features made of them.
 *
 * Of lane l, g = l / 4 and q = l % 4.  A: register r (two halves, i = 0, 1) is row g + 8 (r % 2),
 * column 2 q + i + 8 (r / 2).  B: register r is row 2 q + i + 8 r, column g.  C: number r is row g
 * + 8 (r / 2), column 2 q + r % 2 (PTX ISA 8.0, 9.7.13.4.8). */
#ifndef GPDESK_CUDA_PROJECT_H
#define GPDESK_CUDA_PROJECT_H

#include "cuda/kernels.h"

#if DEVICE_CODE
DEV void project_mma(float *c, const uint32_t *a, const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#define MMA(lanes, c, ci, a, ai, b, bi) project_mma(&c[0][ci], &a[0][ai], &b[0][bi])
#else
typedef float emu_floats __attribute__((vector_size(16)));
typedef int32_t emu_words __attribute__((vector_size(16)));
/* half_value() of the lower (i = 0) or upper halves of four words, without branches. */
static inline emu_floats emu_halves(emu_words w, int i)
{
    const emu_words h = w >> 16 * i & 0xffff, e = h & 0x7c00, bits = (h & 0x7fff) << 13;
    const emu_words small = (emu_words)(__builtin_convertvector(h & 0x3ff, emu_floats) * 0x1p-24f);
    /* Comparisons give -1 or 0.  The largest exponent is that of infinity and of NaN. */
    const emu_words value = bits + (112 << 23) + ((e == 0x7c00) & 112 << 23);

    return (emu_floats)(((e == 0) & small) | ((e != 0) & value) | (h & 0x8000) << 16);
}
static inline emu_words emu_load(const uint32_t *w, size_t step)
{
    return (emu_words){(int32_t)w[0], (int32_t)w[step], (int32_t)w[2 * step],
                       (int32_t)w[3 * step]};
}
/* For one warp; x + lane * step is what a lane holds. */
static inline void emu_mma(float *c, size_t cs, const uint32_t *a, size_t as, const uint32_t *b,
                           size_t bs)
{
    emu_floats A[32][2]; /* of each lane, for i = 0, 1 */
    emu_floats B[16][2]; /* columns 0 to 3, and 4 to 7 */

    for (size_t l = 0; l < 32; l++)
        for (int i = 0; i < 2; i++)
            A[l][i] = emu_halves(emu_load(&a[l * as], 1), i);
    for (size_t k = 0; k < 16; k += 2)
        for (size_t four = 0; four < 2; four++) {
            const uint32_t *first = &b[(16 * four + k % 8 / 2) * bs + k / 8];
            const emu_words w = emu_load(first, 4 * bs);
            B[k][four] = emu_halves(w, 0);
            B[k + 1][four] = emu_halves(w, 1);
        }
    for (size_t row = 0; row < 16; row++) {
        /* Lanes 4 (row % 8) and the next three hold two columns each. */
        float *c0 = &c[row % 8 * 4 * cs + row / 8 * 2], *c1 = c0 + cs;
        float *c2 = c1 + cs, *c3 = c2 + cs;
        emu_floats left = { c0[0], c0[1], c1[0], c1[1] }, right = { c2[0], c2[1], c3[0], c3[1] };
#pragma GCC unroll 16
        for (size_t k = 0; k < 16; k++) {
            const float x = A[row % 8 * 4 + k % 8 / 2][k % 2][row / 8 + k / 8 * 2];
            left += x * B[k][0];
            right += x * B[k][1];
        }
        c0[0] = left[0], c0[1] = left[1], c1[0] = left[2], c1[1] = left[3];
        c2[0] = right[0], c2[1] = right[1], c3[0] = right[2], c3[1] = right[3];
    }
}
#define MMA(lanes, c, ci, a, ai, b, bi)                                                            \
    for (int warp_ = 0; warp_ < (lanes); warp_ += 32)                                              \
        emu_mma(&c[warp_][ci], sizeof c[0] / sizeof c[0][0], &a[warp_][ai],                        \
                sizeof a[0] / sizeof a[0][0], &b[warp_][bi], sizeof b[0] / sizeof b[0][0])
#endif

/* The order of data; also used to prepare W. */

/* The row within the block of half h of a lane. */
BOTH size_t project_row(int l, int h)
{
    return (size_t)(l / 32 * 16 + l % 32 / 4 + 8 * h);
}

/* Input i (0, 1; the others are 8 further on) of a lane in group s of sixteen. */
BOTH int project_k(int l, int s, int i)
{
    return 16 * s + 2 * (l % 4) + i % 2 + 8 * (i / 2);
}

/* Frequencies come by 32: two sixteens of two tiles each.  A lane q of a row's four has two
 * neighbours of a tile, from project_freq on: four columns.  What the four lanes store at once are
 * then whole sectors of 32 bytes in every layout (of rows of halves, two times 16): rows (lanes 0
 * and 2, 1 and 3 are neighbours) and sweeps (0 and 1, 2 and 3 are neighbours there, since the next
 * thread's columns begin 16 frequencies further on). */
BOTH size_t project_sixteens(size_t mf)
{
    return (mf + 31) / 32 * 2;
}

BOTH size_t project_freq(int sixteen, int t, int q)
{
    return (size_t)(sixteen / 2 * 32 + q % 2 * 16 + (sixteen % 2 * 2 + t) * 4 + q / 2 * 2);
}

/* The group of sixteen that contains frequency f; the word in it for inputs k, k + 1 (k even, below
 * 16); lo: 0, 1. */
BOTH int project_sixteen(int f)
{
    return f / 32 * 2 + f % 16 / 8;
}

BOTH int project_word(int f, int k, int lo)
{
    const int t = f % 8 / 4, q = f % 4 / 2 * 2 + f % 32 / 16, n = 2 * q + f % 2,
              lane = n * 4 + k % 8 / 2;

    return (t * 32 + lane) * 4 + 2 * lo + k / 8;
}

/* Parts of the kernel. */

DEV float project_input(const struct project_args *a, size_t row, int k)
{
    if (k >= a->d || row >= a->rows)
        return 0.0F;
    const size_t at = row * a->ldx + (size_t)(a->first + k);
    const float x = a->x64 ? (float)((const double *)a->x)[at] : ((const float *)a->x)[at];
    return x * (float)a->inv[k];
}

/* The power of two that scales the largest number of a row to 1 .. 2. */
DEV float project_down(float most)
{
    return most > 1e-30F && most < 1e30F ? ldexpf(1.0F, -ilogbf(most)) : 1.0F;
}

/* The words of a lane for both tiles: hi, hi, lo, lo of each. */
DEV void project_load(const uint32_t *W, int lane, uint32_t b[8])
{
    UNROLL
    for (int t = 0; t < 2; t++) {
        const uint32_t *w = W + (t * 32 + lane) * 4;
        VECTOR(w);
#if DEVICE_CODE
        const uint4 v = __ldg((const uint4 *)w);
        b[4 * t] = v.x, b[4 * t + 1] = v.y, b[4 * t + 2] = v.z, b[4 * t + 3] = v.w;
#else
        for (int i = 0; i < 4; i++)
            b[4 * t + i] = w[i];
#endif
    }
}

/* The scales of two neighbouring frequencies, the first one even. */
DEV void project_scales(const float *scale, size_t freq, float to[2])
{
#if DEVICE_CODE
    const float2 v = __ldg((const float2 *)(scale + freq));
    to[0] = v.x, to[1] = v.y;
#else
    to[0] = scale[freq], to[1] = scale[freq + 1];
#endif
}

/* The factor of the features of a row. */
DEV double project_gain(const struct project_args *a, size_t row)
{
    const int plain = a->to.form == FORM_F32 || a->to.form == FORM_F64;

    return plain && row < a->rows ? a->to.out * (a->to.factor ? a->to.factor[row] : 1.0) : 1.0;
}

/* Stores one column, at the end or if it is not aligned. at: its position in the row. */
DEV void project_one(const struct dev_out *to, size_t at, double c, float z)
{
    if (to->form == FORM_F32 || to->form == FORM_SWEEP32)
        ((float *)to->z)[at] = (float)c * z;
    else if (to->form == FORM_F64)
        ((double *)to->z)[at] = c * (double)z;
    else
        ((uint16_t *)to->z)[at] = half_of(z);
}

/* The position of a column in a row, for sweeps and for other layouts. */
DEV size_t project_place(const struct dev_out *to, size_t col)
{
    return to->form == FORM_SWEEP32   ? sweep_place(to->shape, 4, col)
           : to->form == FORM_SWEEP16 ? sweep_place(to->shape, 8, col)
                                      : col;
}

DEV size_t project_start(const struct dev_out *to, size_t row)
{
    return row *
           (to->form == FORM_SWEEP32 || to->form == FORM_SWEEP16 ? sweep_row(to->shape) : to->ld);
}

/* Stores four neighbouring columns, from that of frequency freq on. place: position of the first
 * one in a row. gain: the factor of the row, once more in double for rows of doubles. */
DEV void project_put(const struct project_args *a, size_t row, size_t freq, size_t place,
                     float gain, const float z[4])
{
    const struct dev_out *to = &a->to;
    const size_t col = a->col0 + 2 * freq, start = project_start(to, row), at = start + place;

    if (freq + 2 > a->mf || col % 4 != 0 || to->ld % 4 != 0) {
        for (int i = 0; i < 4 && freq + (size_t)(i / 2) < a->mf; i++)
            project_one(to, start + project_place(to, col + (size_t)i), project_gain(a, row), z[i]);
        return;
    }
    if (to->form == FORM_SWEEP16 || to->form == FORM_F16) {
        put_four((uint16_t *)to->z + at, z);
        return;
    }
    if (to->form == FORM_F64) {
        const double c = project_gain(a, row);
        double *p = (double *)to->z + at;
        VECTOR(p);
#if DEVICE_CODE
        *(double2 *)p = make_double2(c * (double)z[0], c * (double)z[1]);
        *(double2 *)(p + 2) = make_double2(c * (double)z[2], c * (double)z[3]);
#else
        for (int i = 0; i < 4; i++)
            p[i] = c * (double)z[i];
#endif
        return;
    }
    float *p = (float *)to->z + at;
    VECTOR(p);
#if DEVICE_CODE
    *(float4 *)p = make_float4(gain * z[0], gain * z[1], gain * z[2], gain * z[3]);
#else
    for (int i = 0; i < 4; i++)
        p[i] = gain * z[i];
#endif
}

#define KS 2
#define PS(name) name##_2
#include "cuda/project_body.h"
#undef KS
#undef PS
#define KS 4
#define PS(name) name##_4
#include "cuda/project_body.h"
#undef KS
#undef PS
#define KS 6
#define PS(name) name##_6
#include "cuda/project_body.h"
#undef KS
#undef PS
#define KS 8
#define PS(name) name##_8
#include "cuda/project_body.h"
#undef KS
#undef PS

#endif
