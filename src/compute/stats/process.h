/* compute/stats/process.h -- a Gaussian process of one input on a grid of places: its covariance,
 * the same given rows, and functions drawn from it.  All by dense float64 factors: for pictures.
 *
 * Matrices are column-major; a covariance is g x g for g places and has amplitude 1, so that the
 * variance of the function is amplitude^2 times its diagonal. */
#ifndef GPDESK_PROCESS_H
#define GPDESK_PROCESS_H

#include "compute/kernels/kernel.h"

/* hp: natural scale.  Noise and amplitude are standard deviations. */
struct process { struct kernel k; double hp[KERNEL_MAX_HP]; double amplitude, noise; };
struct process_rows { const double *x, *y; size_t n; };
/* nmll: of the rows, in nats; inside: rows within their own 95 % bands of the noisy target;
 * jitter: what the factorisation needed on the diagonal. */
struct process_fit { double nmll, jitter; size_t inside; };

/* The distance at which a correlation that begins at 1 first falls to a half; NaN where the kernel
 * is no function of the distance, or does not fall by 1000. */
double process_half_distance(const struct kernel *, const double *hp);
/* cov(i, j) = k(at_i, at_j).  O(g^2). */
void process_prior(const struct process *, size_t g, const double *at, double *cov);
/* Given the rows: mean (g) of the function, and cov, which holds the prior's, less what the rows
 * tell.  O(n^3 + n^2 g + n g^2) time, 2 n^2 + n g numbers of memory (Rasmussen & Williams 2006,
 * (2.23) to (2.30)). */
enum status process_condition(const struct process *, const struct process_rows *, size_t g,
                              const double *at, double *mean, double *cov,
                              struct process_fit *out, struct err *err);
/* count functions (sample: count rows of g): mean + amplitude root z, cov = root root', the same z
 * for the same seed whatever the kernel, so that a moved slider bends the curves instead of
 * replacing them.  Jitter up to 1e-4 of the largest variance makes cov positive definite. */
enum status process_sample(const struct process *, size_t g, const double *mean, const double *cov,
                           uint64_t seed, size_t count, double *sample, struct err *err);

#endif
