/* cuda/project.h -- products of 16 x 16 by 16 x 8 halves on matrix units (PTX mma.m16n8k16), their
 * emulation, and the features made of them.
 *
 * Of lane l, g = l / 4 and q = l % 4.  A: register r (two halves, i = 0, 1) is row g + 8 (r % 2), column
 * 2 q + i + 8 (r / 2).  B: register r is row 2 q + i + 8 r, column g.  C: number r is row g + 8 (r / 2),
 * column 2 q + r % 2 (PTX ISA 8.0, 9.7.13.4.8). */
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
static inline float emu_half(uint32_t word, int i)
{
    return half_value((uint16_t)(i ? word >> 16 : word & 0xffffu));
}
/* Of one warp; x + lane * step is what a lane has. */
static inline void emu_mma(float *c, size_t cs, const uint32_t *a, size_t as, const uint32_t *b, size_t bs)
{
    float A[16][16], B[16][8];

    for (size_t l = 0; l < 32; l++) {
        const size_t g = l / 4, q = l % 4;
        for (int i = 0; i < 2; i++) {
            for (size_t r = 0; r < 4; r++)
                A[g + 8 * (r % 2)][2 * q + (size_t)i + 8 * (r / 2)] = emu_half(a[l * as + r], i);
            for (size_t r = 0; r < 2; r++)
                B[2 * q + (size_t)i + 8 * r][g] = emu_half(b[l * bs + r], i);
        }
    }
    for (size_t l = 0; l < 32; l++)
        for (size_t r = 0; r < 4; r++) {
            const size_t row = l / 4 + 8 * (r / 2), col = 2 * (l % 4) + r % 2;
            for (size_t k = 0; k < 16; k++)
                c[l * cs + r] += A[row][k] * B[k][col];
        }
}
#define MMA(lanes, c, ci, a, ai, b, bi)                                                            \
    for (int warp_ = 0; warp_ < (lanes); warp_ += 32)                                              \
        emu_mma(&c[warp_][ci], sizeof c[0] / sizeof c[0][0], &a[warp_][ai],                        \
                sizeof a[0] / sizeof a[0][0], &b[warp_][bi], sizeof b[0] / sizeof b[0][0])
#endif

/* ---- where things lie; also for those who prepare W ---- */

/* Row of the block of a lane's half h. */
BOTH size_t project_row(int l, int h)
{
    return (size_t)(l / 32 * 16 + l % 32 / 4 + 8 * h);
}

/* Input i (0, 1, then 8 further on) of a lane in the s-th sixteen. */
BOTH int project_k(int l, int s, int i)
{
    return 16 * s + 2 * (l % 4) + i % 2 + 8 * (i / 2);
}

/* Word of W, of a sixteen of frequencies and a sixteen of inputs, in which frequency f and inputs k, k + 1 (k
 * even) lie; lo: 0 or 1.  Column n of tile t is frequency 4 (n / 2) + 2 t + n % 2, so that a lane gets four
 * neighbours of the two tiles. */
BOTH int project_word(int f, int k, int lo)
{
    const int t = f / 2 % 2, n = f / 4 * 2 + f % 2, lane = n * 4 + k % 8 / 2;

    return (t * 32 + lane) * 4 + 2 * lo + k / 8;
}

/* ---- parts of the kernel ---- */

DEV float project_input(const struct project_args *a, size_t row, int k)
{
    if (k >= a->d || row >= a->rows)
        return 0.0F;
    const size_t at = row * a->ldx + (size_t)(a->first + k);
    const float x = a->x64 ? (float)((const double *)a->x)[at] : ((const float *)a->x)[at];
    return x * (float)a->inv[k];
}

/* The power of two that brings a row's largest number to 1 .. 2. */
DEV float project_down(float most)
{
    return most > 1e-30F && most < 1e30F ? ldexpf(1.0F, -ilogbf(most)) : 1.0F;
}

/* A lane's words of both tiles: hi, hi, lo, lo of each. */
DEV void project_load(const uint32_t *W, int lane, uint32_t b[8])
{
    UNROLL
    for (int t = 0; t < 2; t++) {
        const uint32_t *w = W + (t * 32 + lane) * 4;
#if DEVICE_CODE
        const uint4 v = __ldg((const uint4 *)w);
        b[4 * t] = v.x, b[4 * t + 1] = v.y, b[4 * t + 2] = v.z, b[4 * t + 3] = v.w;
#else
        for (int i = 0; i < 4; i++)
            b[4 * t + i] = w[i];
#endif
    }
}

/* Eight neighbouring columns, from that of frequency freq on. */
DEV void project_put(const struct project_args *a, size_t row, size_t freq, const float z[8])
{
    const struct dev_out *to = &a->to;
    const size_t col = a->col0 + 2 * freq, sweep = row * sweep_row(to->shape);
    const int plain = to->form == FORM_F32 || to->form == FORM_F64;
    const double c = plain ? to->out * (to->factor ? to->factor[row] : 1.0) : 1.0;
    const int whole = freq + 4 <= a->mf && col % 8 == 0 && to->ld % 8 == 0;

    if (!whole) { /* at the end, or not in line */
        for (int i = 0; i < 8 && freq + (size_t)(i / 2) < a->mf; i++) {
            const size_t at = to->form == FORM_SWEEP32   ? sweep + sweep_place(to->shape, 4, col + (size_t)i)
                              : to->form == FORM_SWEEP16 ? sweep + sweep_place(to->shape, 8, col + (size_t)i)
                                                         : row * to->ld + col + (size_t)i;
            if (to->form == FORM_F32 || to->form == FORM_SWEEP32)
                ((float *)to->z)[at] = (float)c * z[i];
            else if (to->form == FORM_F64)
                ((double *)to->z)[at] = c * (double)z[i];
            else
                ((uint16_t *)to->z)[at] = half_of(z[i]);
        }
        return;
    }
    if (to->form == FORM_SWEEP16 || to->form == FORM_F16) {
        uint16_t *p = (uint16_t *)to->z + (to->form == FORM_F16 ? row * to->ld + col
                                                               : sweep + sweep_place(to->shape, 8, col));
        uint16_t h[8];
        UNROLL
        for (int i = 0; i < 8; i++)
            h[i] = half_of(z[i]);
#if DEVICE_CODE
        *(uint4 *)p = make_uint4(h[0] | h[1] << 16, h[2] | h[3] << 16, h[4] | h[5] << 16,
                                 h[6] | h[7] << 16);
#else
        for (int i = 0; i < 8; i++)
            p[i] = h[i];
#endif
        return;
    }
    UNROLL
    for (int q = 0; q < 8; q += 4) {
        const size_t at = to->form == FORM_SWEEP32 ? sweep + sweep_place(to->shape, 4, col + (size_t)q)
                                                   : row * to->ld + col + (size_t)q;
        if (to->form == FORM_F64) {
            UNROLL
            for (int i = 0; i < 4; i++)
                ((double *)to->z)[at + (size_t)i] = c * (double)z[q + i];
            continue;
        }
        float *p = (float *)to->z + at;
#if DEVICE_CODE
        *(float4 *)p = make_float4((float)c * z[q], (float)c * z[q + 1], (float)c * z[q + 2],
                                   (float)c * z[q + 3]);
#else
        for (int i = 0; i < 4; i++)
            p[i] = (float)c * z[q + i];
#endif
    }
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
