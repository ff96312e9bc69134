/* cuda/radial.h -- products with an exact kernel matrix that is never stored: tiles of distances,
 * the kernel as a function of them, and the product with up to RADIAL_MOST vectors, in one
 * kernel.
 *
 * Distances are sums of squared differences, not differences of squares, so that nearby points keep
 * their digits. A kernel of one distance is a table of cubics over v = r / (1 + r) (backend.h). A
 * block of threads has RADIAL_ROWS rows and goes over the columns by tiles; each thread has 4 x 4
 * pairs of a tile. */
#ifndef GPDESK_CUDA_RADIAL_H
#define GPDESK_CUDA_RADIAL_H

#include "cuda/kernels.h"

enum { RADIAL_THREADS = 256, RADIAL_PITCH = RADIAL_DEPTH + 1 };
/* Bytes of shared memory: two tiles of inputs, or sums of 16 threads for each row. */
#define RADIAL_SMEM (2 * RADIAL_ROWS * RADIAL_PITCH * (int)sizeof(double))

/* A closed form at squared distance s (struct backend_closed). */
DEV float radial_closed(int form, float p1, float p2, float s)
{
    if (form == RADIAL_GAUSS)
        return exp2f(-s);
    if (form == RADIAL_POWER)
        return exp2f(-p1 * log2f(1.0f + s));
    const float a = fminf(sqrtf(s), 1e4f); /* infinitely far is 0, not infinity times 0 */
    return (1.0f + a * (p1 + a * p2)) * exp2f(-a);
}

/* The kernel of factor f at squared distance r2. */
DEV float radial_value(const struct radial_args *a, int f, float r2)
{
    if (a->form[f] != RADIAL_CUBICS)
        return radial_closed(a->form[f], a->p1[f], a->p2[f], r2);
    const float r = sqrtf(r2), v = r / (1.0f + r) * (float)RADIAL_TABLE;
    /* If r is infinite, v is not a number. */
    const int i = v < (float)RADIAL_TABLE ? (int)v : RADIAL_TABLE - 1;
    const float t = v < (float)RADIAL_TABLE ? v - (float)i : 1.0f;
    const float *c = a->table + ((size_t)f * RADIAL_TABLE + (size_t)i) * 4;

    return c[0] + t * (c[1] + t * (c[2] + t * c[3]));
}

/* The value of the whole kernel at inputs y and row j of X, one pair alone. */
DEV float radial_pair(const struct radial_args *a, const float *y, size_t j)
{
    const float *x = a->X + j * (size_t)a->d;
    float val = 0.0f, all = 0.0f;

    for (int f = 0; f < a->factors; f++) {
        float r2 = 0.0f;
        for (int i = a->from[f]; i < a->to[f]; i++) {
            const float w = a->inv[f * a->d + i], u = y[i] * w - x[i] * w;
            r2 += u * u;
        }
        const float k = radial_value(a, f, r2);
        all = a->begins[f] ? a->weight[f] * k : all * k;
        val += a->ends[f] ? all : 0.0f;
    }
    return val;
}

/* Loads inputs i0.. of RADIAL_ROWS rows from `row` on, scaled for factor f.  at: their places in x;
 * NULL: they are in order. */
DEV void radial_load(const struct radial_args *a, int f, const float *x, const uint32_t *at,
                     size_t row, size_t rows, int i0, float *to)
{
    LANES(t, RADIAL_THREADS)
        for (int e = t; e < RADIAL_ROWS * RADIAL_DEPTH; e += RADIAL_THREADS) {
            const size_t r = row + (size_t)(e / RADIAL_DEPTH);
            const int i = i0 + e % RADIAL_DEPTH;
            const size_t place = r < rows && at ? at[r] : r;
            to[e / RADIAL_DEPTH * RADIAL_PITCH + e % RADIAL_DEPTH] =
                r < rows && i < a->d ? x[place * (size_t)a->d + (size_t)i] * a->inv[f * a->d + i]
                                     : 0.0f;
        }
}

/* Sums of the rows of a block over the columns of a chunk, for K vectors: part[chunk][k][row]. */
DEV void radial_block(const struct radial_args *a, int block, int chunk, double *smem)
{
    float *xs = (float *)smem, *ys = xs + RADIAL_ROWS * RADIAL_PITCH;
    const size_t row0 = (size_t)block * RADIAL_ROWS;
    const size_t tiles = (a->n + RADIAL_ROWS - 1) / RADIAL_ROWS;
    const size_t first = tiles * (size_t)chunk / (size_t)a->chunks;
    const size_t end = tiles * (size_t)(chunk + 1) / (size_t)a->chunks;
    OWN(double, sum, 4 * RADIAL_MOST);
    OWN(float, val, 16);
    OWN(float, all, 16);
    OWN(float, r2, 16);

    LANES(t, RADIAL_THREADS)
        UNROLL
        for (int i = 0; i < 4 * RADIAL_MOST; i++)
            sum[ME(t)][i] = 0.0;
    for (size_t tile = first; tile < end; tile++) {
        const size_t col0 = tile * RADIAL_ROWS;
        LANES(t, RADIAL_THREADS)
            UNROLL
            for (int i = 0; i < 16; i++)
                val[ME(t)][i] = 0.0f;
        for (int f = 0; f < a->factors; f++) {
            LANES(t, RADIAL_THREADS)
                UNROLL
                for (int i = 0; i < 16; i++)
                    r2[ME(t)][i] = 0.0f;
            for (int i0 = a->from[f]; i0 < a->to[f]; i0 += RADIAL_DEPTH) {
                SYNC();
                radial_load(a, f, a->at ? a->X : a->Y, a->at, row0, a->m, i0, ys);
                radial_load(a, f, a->X, NULL, col0, a->n, i0, xs);
                SYNC();
                LANES(t, RADIAL_THREADS)
                    for (int e = 0; e < RADIAL_DEPTH; e++)
                        UNROLL
                        for (int i = 0; i < 16; i++) {
                            const float u = ys[(t / 16 + 16 * (i / 4)) * RADIAL_PITCH + e] -
                                            xs[(t % 16 + 16 * (i % 4)) * RADIAL_PITCH + e];
                            r2[ME(t)][i] += u * u;
                        }
            }
            LANES(t, RADIAL_THREADS)
                UNROLL
                for (int i = 0; i < 16; i++) {
                    const float k = radial_value(a, f, r2[ME(t)][i]);
                    all[ME(t)][i] = a->begins[f] ? a->weight[f] * k : all[ME(t)][i] * k;
                    if (a->ends[f])
                        val[ME(t)][i] += all[ME(t)][i];
                }
        }
        LANES(t, RADIAL_THREADS)
            UNROLL
            for (int i = 0; i < 16; i++) {
                const size_t col = col0 + (size_t)(t % 16 + 16 * (i % 4));
                UNROLL
                for (int k = 0; k < RADIAL_MOST; k++) /* not K: sums stay in registers */
                    if (k < a->K && col < a->n)
                        sum[ME(t)][i / 4 * RADIAL_MOST + k] += (double)val[ME(t)][i] *
                                                               a->V[(size_t)k * a->n + col];
            }
    }
    UNROLL
    for (int k = 0; k < RADIAL_MOST; k++) {
        if (k >= a->K)
            continue;
        SYNC();
        LANES(t, RADIAL_THREADS)
            UNROLL
            for (int i = 0; i < 4; i++)
                smem[(t / 16 + 16 * i) * 16 + t % 16] = sum[ME(t)][i * RADIAL_MOST + k];
        SYNC();
        LANES(t, RADIAL_THREADS)
            if (t < RADIAL_ROWS && row0 + (size_t)t < a->m) {
                double s = 0.0;
                for (int i = 0; i < 16; i++)
                    s += smem[t * 16 + i];
                a->part[((size_t)chunk * (size_t)a->K + (size_t)k) * a->m + row0 + (size_t)t] = s;
            }
    }
}

#endif
