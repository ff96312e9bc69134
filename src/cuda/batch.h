/* cuda/batch.h -- how much work goes into one launch: so much that its predicted time stays under
 * BATCH_SECONDS.  Two launches are on their way at most, so that a stop is heard within 100 ms.
 * Counts by lanes and clock, not measurements; tests/check_cuda_host.c. */
#ifndef GPDESK_CUDA_BATCH_H
#define GPDESK_CUDA_BATCH_H

#include "cuda/device.h"

static const double BATCH_SECONDS = 0.03;

/* Units a second: frequencies of fused loops, and of the interpreter of steps; flops of products.
 */
enum batch_rate { BATCH_FUSED, BATCH_STEPS, BATCH_HALF, BATCH_SINGLE, BATCH_DOUBLE };

static inline double batch_rate(const struct device_info *i, enum batch_rate what)
{
    const double slots = 128.0 * (double)(i->sms > 0 ? i->sms : 1) * (i->hz > 0.0 ? i->hz : 1.4e9);

    switch (what) {
    case BATCH_FUSED:
        return 0.7 * slots / 47.0; /* issue slots of a frequency (performance counts) */
    case BATCH_STEPS: return 0.7 * slots / 47.0 / 16.0;
    case BATCH_HALF: return 8.0 * slots;         /* half of 1024 products a clock */
    case BATCH_SINGLE: return 1.6 * slots;
    default: return (i->fast_double ? 0.7 : 1.0 / 40.0) * slots;
    }
}

/* Seconds of a tridiagonal form of n x n doubles, and of a Cholesky factor.  Half of the form is
 * products with a vector, which memory bounds (the lower triangle once for each column; some 20
 * GB/s of a multiprocessor), and each column is some four launches one after the other; a factor is
 * products, and a few launches for each 256 columns. */
static inline double batch_tridiagonal(const struct device_info *i, size_t n)
{
    const double m = (double)n, bytes = 4.0 / 3.0 * m * m * m, flops = 2.0 / 3.0 * m * m * m;

    return 20e-6 * m + bytes / (20e9 * (double)(i->sms > 0 ? i->sms : 1)) +
           flops / batch_rate(i, BATCH_DOUBLE);
}

static inline double batch_cholesky(const struct device_info *i, size_t n)
{
    const double m = (double)n;

    return 40e-6 + 100e-6 * m / 256.0 + m * m * m / 3.0 / (0.5 * batch_rate(i, BATCH_DOUBLE));
}

/* How many of so many seconds each fit beside `fixed`: least at least, most at most. */
static inline size_t batch_count(double fixed, double each, size_t least, size_t most)
{
    const double fit = (BATCH_SECONDS - fixed) / each;
    const size_t n = !(fit > (double)least) ? least : fit > (double)most ? most : (size_t)fit;

    return n < most ? n : most;
}

#endif
