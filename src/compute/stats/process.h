/* compute/stats/process.h -- a Gaussian process of one input on a grid of g points: its prior
 * covariance, its posterior given rows, and functions drawn from it (share/doc/methods.md 5).  It
 * uses dense float64 factors and is meant for pictures.
 *
 * Matrices are column-major.  A covariance is g x g and has amplitude 1, so that the variance of
 * the function is amplitude^2 times its diagonal. */
#ifndef GPDESK_PROCESS_H
#define GPDESK_PROCESS_H

#include "compute/kernels/kernel.h"

/* hp: natural scale.  Noise and amplitude are standard deviations. */
struct process { struct kernel k; double hp[KERNEL_MAX_HP]; double amplitude, noise; };
struct process_rows { const double *x, *y; size_t n; };
/* nmll: that of the rows, in nats; inside: how many rows lie within their own 95 % bands of the
 * noisy target; jitter: what exact_factor added to the diagonal. */
struct process_fit { double nmll, jitter; size_t inside; };

/* The smallest distance at which the correlation is one half; NaN when the kernel is not a function
 * of the distance, or when that distance exceeds 1000. */
double process_half_distance(const struct kernel *, const double *hp);
/* cov(i, j) <- k(at_i, at_j), O(g^2). */
void process_prior(const struct process *, size_t g, const double *at, double *cov);
/* Conditions on the rows: mean (g) of the function, and cov, which holds the prior covariance on
 * entry and the posterior one on return.  O(n^3 + n^2 g + n g^2) time, 2 n^2 + n g doubles
 * (Rasmussen & Williams 2006, equations 2.23 to 2.30). */
enum status process_condition(const struct process *, const struct process_rows *, size_t g,
                              const double *at, double *mean, double *cov,
                              struct process_fit *out, struct err *err);
/* Draws `count` functions (sample: count x g, row-major): mean + amplitude root z with cov = root
 * root'.  The same seed gives the same z whatever the kernel, so that moving a slider bends the
 * curves instead of replacing them.  A jitter of up to 1e-4 of the largest variance makes cov
 * positive definite. */
enum status process_sample(const struct process *, size_t g, const double *mean, const double *cov,
                           uint64_t seed, size_t count, double *sample, struct err *err);

#endif
