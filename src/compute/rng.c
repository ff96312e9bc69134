/* compute/rng.c -- draws as pure functions of (seed, stream, index): Philox4x32-10 of
 * Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
 *
 * The seed is the key; index and stream form the 128-bit counter.  Draws by rejection (gamma,
 * rng_below) count attempts in the upper 16 bits of the index, so that indices must stay below
 * 2^48. */
#include "compute/rng.h"

#include <Random123/philox.h>

#include <math.h>

void rng_u32x4(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4])
{
    const philox4x32_key_t key = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
    const philox4x32_ctr_t ctr = { { (uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                                     (uint32_t)(stream >> 32) } };
    const philox4x32_ctr_t r = philox4x32(ctr, key);

    for (int i = 0; i < 4; i++)
        out[i] = r.v[i];
}

/* The middle of one of 2^52 equal cells of (0,1): never 0, never 1. */
static double unit(uint32_t lo, uint32_t hi)
{
    const uint64_t u = ((uint64_t)hi << 32 | lo) >> 12;

    return ((double)u + 0.5) * 0x1p-52;
}

/* Box & Muller 1958: sqrt(-2 log u) cos(2 pi v) for u, v uniform.  Only one of the pair is used,
 * because draws are cheap. */
static double normal_of(const uint32_t r[4])
{
    return sqrt(-2.0 * log(unit(r[0], r[1]))) * cos(6.283185307179586477 * unit(r[2], r[3]));
}

uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t r[4];

    rng_u32x4(seed, stream, index, r);
    return (uint64_t)r[1] << 32 | r[0];
}

double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t r[4];

    rng_u32x4(seed, stream, index, r);
    return unit(r[0], r[1]);
}

double rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t r[4];

    rng_u32x4(seed, stream, index, r);
    return normal_of(r);
}

/* The inverse of the distribution function: -log u. */
double rng_exponential(uint64_t seed, uint64_t stream, uint64_t index)
{
    return -log(rng_uniform(seed, stream, index));
}

/* Marsaglia & Tsang 2000, "A simple method for generating gamma variables": d v with v = (1 + c
 * x)^3, x normal, d = a - 1/3, c = 1 / sqrt(9 d), accepted if log u < x^2 / 2 + d - d v + d log v.
 * Below shape 1 it is gamma(shape + 1) U^(1/shape).  An attempt fails with a probability under 5
 * %. */
double rng_gamma(uint64_t seed, uint64_t stream, uint64_t index, double shape)
{
    const double a = shape < 1.0 ? shape + 1.0 : shape;
    const double d = a - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    const double boost = shape < 1.0 ? pow(rng_uniform(seed, stream, index), 1.0 / shape) : 1.0;

    for (uint64_t attempt = 1;; attempt++) {
        uint32_t r[4], s[4];

        rng_u32x4(seed, stream, index | (2 * attempt - 1) << 48, r);
        rng_u32x4(seed, stream, index | (2 * attempt) << 48, s);
        const double x = normal_of(r), t = 1.0 + c * x, v = t * t * t;
        if (v > 0.0 && log(unit(s[0], s[1])) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v * boost;
    }
}

/* Lemire, ACM Trans. Model. Comput. Simul. 29 (2019): the upper half of the 128-bit product u n,
 * after rejection of the few u that would make some results likelier than others. */
uint64_t rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n)
{
    const uint64_t reject = -n % n; /* 2^64 mod n */

    for (uint64_t attempt = 0;; attempt++) {
        const uint64_t u = rng_u64(seed, stream, index | attempt << 48);
        const unsigned __int128 m = (unsigned __int128)u * n;
        if ((uint64_t)m >= reject)
            return (uint64_t)(m >> 64);
    }
}

void rng_permutation(uint64_t seed, uint64_t stream, size_t n, size_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const size_t j = (size_t)rng_below(seed, stream, i, i + 1);
        if (j != i)
            out[i] = out[j]; /* the "inside-out" form of Fisher & Yates */
        out[j] = i;
    }
}
