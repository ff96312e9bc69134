/* cuda/affine.h -- what stands between the products of a learned map (compute/kernels/net.h;
 * share/doc/methods.md 23): the pixels that a convolution reads, shifts and norms of rows, and the
 * largest of neighbouring pixels.  The products themselves are those of the library. */
#ifndef GPDESK_CUDA_AFFINE_H
#define GPDESK_CUDA_AFFINE_H

#include "cuda/kernels.h"

/* What each part goes over: numbers of patches, rows, numbers of pooled images. */
static inline size_t affine_numbers(enum affine_part part, const struct affine_args *a)
{
    const size_t pooled = (size_t)(a->rows / 2) * (size_t)(a->cols / 2) * (size_t)a->out;

    return part == AFFINE_PATCHES ? a->n * (size_t)a->places * 9 * (size_t)a->planes
           : part == AFFINE_POOL  ? a->n * pooled
                                  : a->n;
}

/* Number i of the 3 x 3 pixels of each place beside each other, zeros outside the image. */
DEV void affine_patch_one(const struct affine_args *a, size_t i)
{
    const size_t wide = 9 * (size_t)a->planes, cols = (size_t)a->cols;
    const size_t place = i / wide, k = i % wide, r = place / (size_t)a->places;
    const size_t in = place % (size_t)a->places, line = k / (3 * (size_t)a->planes);
    const size_t y = in / cols + line, x = in % cols + k / (size_t)a->planes % 3;
    const int inside = y > 0 && y <= (size_t)a->rows && x > 0 && x <= cols;
    const size_t at = r * (size_t)a->places + (inside ? (y - 1) * cols + x - 1 : 0);

    a->to[i] = inside ? a->x[at * (size_t)a->planes + k % (size_t)a->planes] : 0.0f;
}

/* The sum of the numbers of all threads, in smem[0]. */
DEV void affine_total(double *smem)
{
    for (int half = AFFINE_THREADS / 2; half > 0; half /= 2) {
        SYNC();
        LANES(t, AFFINE_THREADS)
            if (t < half)
                smem[t] += smem[t + half];
    }
    SYNC();
}

/* The mean of row z, or of the squares of its differences from `centre`. */
DEV double affine_mean(const float *z, size_t n, int squares, double centre, double *smem)
{
    LANES(t, AFFINE_THREADS) {
        double sum = 0.0;
        for (size_t j = (size_t)t; j < n; j += AFFINE_THREADS) {
            const double v = (double)z[j] - centre;
            sum += squares ? v * v : v;
        }
        smem[t] = sum;
    }
    affine_total(smem);
    const double mean = smem[0] / (double)n;
    SYNC();
    return mean;
}

/* One row behind its product: shifts; its norm; then, but for images, whose pixels are compared
 * first, gain, shift and ReLU.  The last layer has shifts alone, and with `unit` length 1. */
DEV void affine_row_block(const struct affine_args *a, size_t row, double *smem)
{
    const size_t out = (size_t)a->out, n = out * (size_t)a->places;
    float *z = a->to + row * n;
    double mean = 0.0, scale = 1.0;

    LANES(t, AFFINE_THREADS)
        for (size_t j = (size_t)t; j < n; j += AFFINE_THREADS) {
            const float v = z[j] + a->b[j % out];
            z[j] = a->mean ? (v - a->mean[j % out]) * a->rstd[j % out] : v;
        }
    SYNC();
    if (a->standardise) {
        mean = affine_mean(z, n, 0, 0.0, smem);
        scale = 1.0 / sqrt(affine_mean(z, n, 1, mean, smem) + a->eps);
    } else if (a->unit) {
        const double square = affine_mean(z, n, 1, 0.0, smem) * (double)n;
        scale = square > 0.0 ? 1.0 / sqrt(square) : 0.0;
    }
    LANES(t, AFFINE_THREADS)
        for (size_t j = (size_t)t; j < n; j += AFFINE_THREADS) {
            float v = (float)(((double)z[j] - mean) * scale);
            if (a->activate) {
                v = a->gain ? a->gain[j % out] * v + a->shift[j % out] : v;
                v = v > 0.0f ? v : 0.0f;
            }
            z[j] = v;
        }
}

/* Number i of the pooled images: the largest of 2 x 2 pixels, where it is above 0. */
DEV void affine_pool_one(const struct affine_args *a, size_t i)
{
    const size_t out = (size_t)a->out, cols = (size_t)a->cols, across = cols / 2;
    const size_t up = (size_t)a->rows / 2, j = i % out, place = i / out, r = place / (up * across);
    const size_t y = place / across % up, x = place % across;
    const float *z = a->x + (r * (size_t)a->places + 2 * y * cols + 2 * x) * out + j;
    float most = 0.0f;

    for (size_t k = 0; k < 4; k++) {
        float v = z[(k / 2 * cols + k % 2) * out];
        v = a->gain ? a->gain[j] * v + a->shift[j] : v;
        most = v > most ? v : most;
    }
    a->to[i] = most;
}

#endif
