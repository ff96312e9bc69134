/* compute/rng.h -- counter-based random numbers: Philox4x32-10 (Salmon et al. 2011), through
 * Random123.  A draw is a pure function of (seed, stream, index): the same on any thread, chunk or
 * device. */
#ifndef GPDESK_RNG_H
#define GPDESK_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Streams never overlap.  Each purpose has its own, so that a further draw in one place changes no
 * other.  The upper 32 bits are the purpose; the lower 32 bits are free for its use (term, block,
 * probe, restart). */
enum rng_purpose {
    RNG_SIGNS = 1, RNG_CHI = 2, RNG_RADIAL = 3, RNG_SKETCH = 4, RNG_PROBE = 5, RNG_SPLIT = 6,
    RNG_FOLDS = 7, RNG_TUNE = 8, RNG_SAMPLE = 9, RNG_KMEANS = 10, RNG_DEMO = 11, RNG_PCA = 12,
    RNG_DRAW = 13, RNG_BATCH = 14, RNG_SHUFFLE = 15, RNG_DENSE = 16, RNG_EFFECTS = 17,
    RNG_HASH = 18, RNG_TENSOR = 19, RNG_JOINT = 20,
    RNG_FUNCTION = 24, RNG_SUGGEST = 25, RNG_TRUTH = 26, RNG_SOFTMAX = 27,
    RNG_INDUCING = 40, RNG_NET = 41, RNG_NET_ROWS = 42, RNG_SVM = 45, RNG_HELD = 46, RNG_LEAST = 47,
    RNG_TRACE = 48, RNG_TEST = 99
};
static inline uint64_t rng_stream(enum rng_purpose p, uint32_t sub)
{
    return (uint64_t)p << 32 | sub;
}

/* 128 random bits, and 64 of them. */
void rng_u32x4(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]);
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index); /* in (0,1), never 0 or 1 */
/* Standard normal N(0, 1), and exponential with mean 1. */
double rng_normal(uint64_t seed, uint64_t stream, uint64_t index);
double rng_exponential(uint64_t seed, uint64_t stream, uint64_t index);
/* Gamma(shape, 1) for any shape > 0 (Marsaglia & Tsang 2000); index below 2^48.  chi-square(dof) is
 * 2 Gamma(dof / 2, 1). */
double rng_gamma(uint64_t seed, uint64_t stream, uint64_t index, double shape);
static inline double rng_chi2(uint64_t seed, uint64_t stream, uint64_t index, double dof)
{
    return 2.0 * rng_gamma(seed, stream, index, 0.5 * dof);
}
uint64_t rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n); /* unbiased, < n */
/* A random permutation of 0..n-1 in out (Fisher-Yates). */
void rng_permutation(uint64_t seed, uint64_t stream, size_t n, size_t *out);

#endif
