/* cuda/many.h -- products of an exact kernel matrix, which is never stored, with up to MANY_MOST
 * vectors at once: distances, the kernel as a function of them, and the product in one kernel, the
 * product and where possible the distances on matrix units (mma of project.h).
 *
 * A warp owns 16 rows and goes over the columns by tiles of MANY_COLS.  It makes the numbers of its
 * 16 x 32 pairs where the matrix units leave results: number r of tile t of lane l belongs to row
 * l / 4 + 8 (r / 2) and column 8 t + 2 (l % 4) + r % 2.  Two such tiles of eight columns are a
 * lane's part of the left factor of the next product, without an exchange between lanes (Dao and
 * others, FlashAttention, 2022, keep their product of products in registers likewise).  Values and
 * vectors are hi + lo in half precision, some 22 bits; three of the four products count.  Sums are
 * single precision over MANY_FLUSH tiles, beyond them double.
 *
 * Distances.  In general they are sums of squared differences, as in radial.h.  One factor with a
 * closed form of finite slope takes |x - y|^2 = |x|^2 + |y|^2 - 2 x'y on matrix units.  That loses
 * the digits of near rows if x'y is rounded; here it is not where it matters: an entry is h + l, h
 * a whole number of units, and the unit such that no row's norm exceeds 2048 of them.  Products
 * and sums of whole numbers below 2^24 are exact in any order (the splitting of Ozaki and others,
 * 2012), so that |h - g|^2 has no error, and only the rest, a thousandth of it, is rounded.  The
 * error is below many_error(ks) times the square of the largest norm, and the slope of the kernel
 * decides whether this is small enough (cuda/exact.c).
 *
 * Shapes: X n x d, rows m x d by rows; vectors K, as pack_one leaves them; part[chunk][k][row]. */
#ifndef GPDESK_CUDA_MANY_H
#define GPDESK_CUDA_MANY_H

#include "cuda/project.h"
#include "cuda/radial.h"

enum { MANY_PITCH = MANY_DEPTH + 1, MANY_SMEM = (MANY_ROWS + MANY_COLS) * MANY_PITCH * 4 };

/* No row's norm exceeds MANY_UNITS; with the halves by which whole numbers are off, that is below
 * 2048.  A bound of the error of |x - y|^2 over the square of the largest norm: 2 h'l + l'l is at
 * most `size` units squared; -2 times the product of two rows is rounded 3 ks times by 2^-23 of it,
 * the two norms once by 2^-24, and their sums twice more. */
enum { MANY_UNITS = 1900 };
static inline double many_error(int ks)
{
    const double size = MANY_UNITS * sqrt(16.0 * ks) + 4.0 * ks;

    return (6.0 * ks + 5.0) * ldexp(size, -23) / ((double)MANY_UNITS * MANY_UNITS);
}

/* x units as h + l: h a whole number, l of 11 bits. */
DEV void many_split(float x, float *h, uint16_t *l)
{
    *h = rintf(x);
    *l = half_of(x - *h);
}

/* Input i of a row in units; 0 beyond the last. */
DEV float many_input(const float *x, const float *inv, int from, int inputs, float unit, int i)
{
    return i < inputs ? x[from + i] * (inv[from + i] * unit) : 0.0f;
}

/* Row `row` of ready_args; rows from n to the next multiple of MANY_COLS are 0. */
DEV void ready_one(const struct ready_args *a, size_t row)
{
    const float *x = a->x + row * (size_t)a->d;
    double low = 0.0;
    float high = 0.0f;
    uint32_t *to = a->to ? a->to + row / 8 * (size_t)a->ks * 128 : a->to;

    for (int i = 0; i < 16 * a->ks; i += 2) {
        float h[2];
        uint16_t l[2];
        for (int q = 0; q < 2; q++) {
            const float u = row < a->n ? many_input(x, a->inv, a->from, a->inputs, a->unit, i + q)
                                       : 0.0f;
            many_split(u, &h[q], &l[q]);
            const double rest = (double)half_value(l[q]);
            high += h[q] * h[q];
            low += rest * (2.0 * (double)h[q] + rest);
        }
        if (!to)
            continue;
        /* Lane 4 (row % 8) + pair % 4 of the units has inputs 2 q, 2 q + 1 and 8 further on. */
        const int lane = (int)(row % 8) * 4 + i % 8 / 2, r = i % 16 / 8;
        uint32_t *word = to + i / 16 * 128 + lane * 4 + r;
        word[0] = two_halves(h[0], h[1]);
        word[2] = (uint32_t)l[0] | (uint32_t)l[1] << 16;
    }
    a->norms.high[row] = high;
    a->norms.low[row] = (float)low;
}

/* Coordinate j of vector c, as it is to be packed. */
DEV float pack_value(const struct pack_args *a, size_t j, int c)
{
    if (j >= a->n || c >= a->K)
        return 0.0f;
    double x = a->V[(size_t)c * a->n + j];
    if (a->v && a->t - a->last[j] < a->powers)
        x -= a->lever * a->power[a->t - a->last[j]] * a->v[(size_t)c * a->n + j];
    return (float)(a->up[c] * (a->row ? a->row[j] : 1.0) * x);
}

/* Word 32 (eights g + e) + lane of four: rows 16 g.. and vectors 8 e.. */
DEV void pack_one(const struct pack_args *a, size_t at)
{
    const size_t lane = at % 32, e = at / 32 % (size_t)a->eights, g = at / 32 / (size_t)a->eights;
    const int c = (int)(8 * e + lane / 4);
    uint32_t *word = a->to + at * 4;
    int still = !a->all;

    for (int i = 0; still && i < 4; i++) {
        const size_t j = 16 * g + 2 * (lane % 4) + (size_t)(i % 2 + 8 * (i / 2));
        still = j >= a->n || a->t - a->last[j] > a->powers;
    }
    if (still)
        return;
    for (int r = 0; r < 2; r++) {
        const size_t j = 16 * g + 2 * (lane % 4) + (size_t)(8 * r);
        uint16_t hi[2], lo[2];
        for (int i = 0; i < 2; i++)
            split_half(pack_value(a, j + (size_t)i, c), &hi[i], &lo[i]);
        word[r] = (uint32_t)hi[0] | (uint32_t)hi[1] << 16;
        word[2 + r] = (uint32_t)lo[0] | (uint32_t)lo[1] << 16;
    }
}

/* Vector c of level_args by a block of MANY_THREADS; smem: as many doubles. */
DEV void level_block(const struct level_args *a, int c, double *smem)
{
    LANES(t, MANY_THREADS) {
        double most = 0.0;
        for (size_t j = (size_t)t; j < a->n; j += MANY_THREADS)
            most = fmax(most, fabs(a->V[(size_t)c * a->n + j] * (a->row ? a->row[j] : 1.0)));
        smem[t] = most;
    }
    SYNC();
    LANES(t, MANY_THREADS)
        if (t == 0) {
            double most = 0.0;
            for (int i = 0; i < MANY_THREADS; i++)
                most = fmax(most, smem[i]);
            a->up[c] = most > 1e-290 && most < 1e290 ? ldexp(16.0, -ilogb(most)) : 1.0;
            a->back[c] = 1.0 / (a->up[c] * a->other);
        }
}

/* Value e of values_args. */
DEV void values_one(const struct values_args *a, size_t e)
{
    const size_t i = e / a->r.n, j = e % a->r.n;

    a->to[e] = radial_pair(&a->r, a->r.X + (size_t)a->r.at[i] * (size_t)a->r.d, j);
}

/* Parts of the kernel. */

/* Four words of a lane. */
DEV void many_load(const uint32_t *from, uint32_t to[4])
{
    VECTOR(from);
#if DEVICE_CODE
    const uint4 v = __ldg((const uint4 *)from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
#else
    for (int i = 0; i < 4; i++)
        to[i] = from[i];
#endif
}

/* Inputs of row i of those asked for. */
DEV const float *many_row(const struct many_args *a, size_t i)
{
    return a->r.at ? a->r.X + (size_t)a->r.at[i] * (size_t)a->r.d
                   : a->r.Y + i * (size_t)a->r.d;
}

/* Inputs i0.. of all rows of the block and of a tile of columns, over their lengthscales. */
DEV void many_fetch(const struct many_args *a, int f, size_t row0, size_t col0, int i0, float *to)
{
    const float *inv = a->r.inv + f * a->r.d;

    LANES(t, MANY_THREADS)
        for (int e = t; e < (MANY_ROWS + MANY_COLS) * MANY_DEPTH; e += MANY_THREADS) {
            const size_t r = (size_t)(e / MANY_DEPTH), col = col0 + r - MANY_ROWS;
            const int i = i0 + e % MANY_DEPTH;
            float x = 0.0f;
            if (i < a->r.to[f] && r < MANY_ROWS && row0 + r < a->r.m)
                x = many_row(a, row0 + r)[i] * inv[i];
            if (i < a->r.to[f] && r >= MANY_ROWS && col < a->r.n)
                x = a->r.X[col * (size_t)a->r.d + (size_t)i] * inv[i];
            to[r * MANY_PITCH + (size_t)(e % MANY_DEPTH)] = x;
        }
}

/* Adds the squared differences of MANY_DEPTH inputs to a lane's 16 numbers. */
DEV void many_differences(const float *smem, int l, float *s)
{
    const float *rows = smem + project_row(l, 0) * MANY_PITCH;
    const float *cols = smem + (MANY_ROWS + 2 * (l % 4)) * MANY_PITCH;

    for (int e = 0; e < MANY_DEPTH; e++)
        UNROLL
        for (int i = 0; i < 16; i++) {
            const float u = rows[i % 4 / 2 * 8 * MANY_PITCH + e] -
                            cols[(i / 4 * 8 + i % 2) * MANY_PITCH + e];
            s[i] += u * u;
        }
}

/* A lane's values, times `up`, from its squared distances of one factor. */
DEV void many_values(const struct many_args *a, int f, const float *s, float *all, float *val)
{
    UNROLL
    for (int i = 0; i < 16; i++) {
        const float k = radial_value(&a->r, f, s[i]);
        all[i] = a->r.begins[f] ? a->up * a->r.weight[f] * k : all[i] * k;
        if (a->r.ends[f])
            val[i] += all[i];
    }
}

/* The left factor of columns 16 kk.. of a tile, hi and lo, from a lane's values. */
DEV void many_left(const float *val, int kk, uint32_t *hi, uint32_t *lo)
{
    UNROLL
    for (int r = 0; r < 4; r++) {
        uint16_t h[2], l[2];
        UNROLL
        for (int i = 0; i < 2; i++)
            split_half(val[4 * (2 * kk + r / 2) + 2 * (r % 2) + i], &h[i], &l[i]);
        hi[r] = (uint32_t)h[0] | (uint32_t)h[1] << 16;
        lo[r] = (uint32_t)l[0] | (uint32_t)l[1] << 16;
    }
}

/* The inputs of a lane's two rows in halves, the left factor of distances. */
DEV void many_inputs(const struct many_args *a, size_t row0, int l, int ks, uint32_t *high,
                     uint32_t *low)
{
    for (int r = 0; r < 4; r++) {
        const size_t row = row0 + project_row(l, r % 2);
        float h[2];
        uint16_t rest[2];
        for (int i = 0; i < 2; i++) {
            const int k = project_k(l, ks, i + 2 * (r / 2));
            const float u = row < a->r.m ? many_input(many_row(a, row), a->r.inv, a->r.from[0],
                                                      a->r.to[0] - a->r.from[0], a->unit, k)
                                         : 0.0f;
            many_split(u, &h[i], &rest[i]);
        }
        high[r] = two_halves(h[0], h[1]);
        low[r] = (uint32_t)rest[0] | (uint32_t)rest[1] << 16;
    }
}

/* Squared distances from products of whole parts (s) and the other products (low); norms: high and
 * low of the lane's two rows. */
DEV void many_distances(const struct many_args *a, size_t col0, int l, const float *norms,
                        const float *low, float *s)
{
    const float back = 1.0f / (a->unit * a->unit);

    UNROLL
    for (int i = 0; i < 16; i++) {
        const size_t col = col0 + (size_t)(i / 4 * 8 + 2 * (l % 4) + i % 2);
        const int h = i % 4 / 2;
        const float whole = norms[h] + a->cols.high[col] - 2.0f * s[i]; /* exact */
        const float rest = norms[2 + h] + a->cols.low[col] - 2.0f * low[i];
        s[i] = fmaxf(whole + rest, 0.0f) * back;
    }
}

#define NV 1
#define KS 0
#define MB(name) name##_1_0
#include "cuda/many_body.h"
#define NV 1
#define KS 2
#define MB(name) name##_1_2
#include "cuda/many_body.h"
#define NV 1
#define KS 4
#define MB(name) name##_1_4
#include "cuda/many_body.h"
#define NV 1
#define KS 8
#define MB(name) name##_1_8
#include "cuda/many_body.h"
#define NV 3
#define KS 0
#define MB(name) name##_3_0
#include "cuda/many_body.h"
#define NV 3
#define KS 2
#define MB(name) name##_3_2
#include "cuda/many_body.h"
#define NV 3
#define KS 4
#define MB(name) name##_3_4
#include "cuda/many_body.h"
#define NV 3
#define KS 8
#define MB(name) name##_3_8
#include "cuda/many_body.h"
#define NV 9
#define KS 0
#define MB(name) name##_9_0
#include "cuda/many_body.h"
#define NV 9
#define KS 2
#define MB(name) name##_9_2
#include "cuda/many_body.h"
#define NV 9
#define KS 4
#define MB(name) name##_9_4
#include "cuda/many_body.h"
#define NV 9
#define KS 8
#define MB(name) name##_9_8
#include "cuda/many_body.h"

/* Eights of vectors of a launch with K of them, and its place in the tables of kernels below. */
static inline int many_eights(int K)
{
    return K <= 8 ? 1 : K <= 24 ? 3 : 9;
}

static inline int many_which(const struct many_args *a)
{
    const int k = many_eights(a->r.K), v = k == 1 ? 0 : k == 3 ? 1 : 2;

    return 4 * v + (a->ks == 0 ? 0 : a->ks == 2 ? 1 : a->ks == 4 ? 2 : 3);
}

#endif
