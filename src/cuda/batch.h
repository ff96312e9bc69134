/* cuda/batch.h -- how much work goes into one launch: its predicted time stays below BATCH_SECONDS.
 * At most two launches are queued, so that a request to stop takes effect within 100 ms. The
 * predictions count lanes and clock cycles and measure nothing (tests/check_cuda_host.c). */
#ifndef GPDESK_CUDA_BATCH_H
#define GPDESK_CUDA_BATCH_H

#include "cuda/device.h"

static const double BATCH_SECONDS = 0.03;

/* Units per second: frequencies of fused loops and of the step interpreter; flops of products. */
enum batch_rate { BATCH_FUSED, BATCH_STEPS, BATCH_HALF, BATCH_SINGLE, BATCH_DOUBLE };

static inline double batch_rate(const struct device_info *i, enum batch_rate what)
{
    const double slots = 128.0 * (double)(i->sms > 0 ? i->sms : 1) * (i->hz > 0.0 ? i->hz : 1.4e9);

    switch (what) {
    case BATCH_FUSED:
        return 0.7 * slots / 47.0; /* issue slots per frequency, from performance counters */
    case BATCH_STEPS: return 0.7 * slots / 47.0 / 16.0;
    case BATCH_HALF: return 8.0 * slots;         /* half of 1024 products per clock cycle */
    case BATCH_SINGLE: return 1.6 * slots;
    default: return (i->fast_double ? 0.7 : 1.0 / 40.0) * slots;
    }
}

/* Seconds for the tridiagonal form of an n x n matrix of doubles, and for a Cholesky factor. Half
 * of the tridiagonal form is matrix-vector products, which are limited by memory (the lower
 * triangle once for each column; about 20 GB/s per multiprocessor), and each column needs about
 * four consecutive launches. A Cholesky factor is matrix products, and a few launches for each 256
 * columns. */
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

/* How many items of `each` seconds fit beside `fixed` seconds: at least `least`, at most `most`. */
static inline size_t batch_count(double fixed, double each, size_t least, size_t most)
{
    const double fit = (BATCH_SECONDS - fixed) / each;
    const size_t n = !(fit > (double)least) ? least : fit > (double)most ? most : (size_t)fit;

    return n < most ? n : most;
}

#endif
