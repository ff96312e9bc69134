/* compute/likelihood/latent.h -- the Gaussian approximation of the posterior of a latent function,
 * as a likelihood fills it (likelihood.h), and what all of these share: the factor of B = I + S K S
 * and the weights of a gradient (share/doc/methods.md 16.2, 16.8, 16.9). */
#ifndef GPDESK_LATENT_H
#define GPDESK_LATENT_H

#include "compute/ctl.h"
#include "compute/pool.h"

#include <stdbool.h>
#include <stddef.h>

/* A prior of m directions and of what each row has on its own, at m inducing points: K =
 * amplitude^2 (V V' + diag(missed)) is never formed (share/doc/methods.md 16.15). */
struct latent_low {
    size_t m;
    const double *V, *missed; /* n x m, and n */
    double amplitude;
    bool levelled;  /* the mean of the prior is `level`, the likeliest one, and not 0 */
    double *W;      /* workspace, n x m */
    double *F, *u;  /* out: F F' = I + amplitude^2 V' S V (m x m, lower), and the mean of the m
                     * directions */
};

/* A posterior of n latent values under a prior with covariance K, and its evidence. */
struct latent {
    struct pool *pool;
    size_t n;
    const double *K; /* n x n, both triangles: covariances, amplitude included */
    struct latent_low *low; /* in the place of K, B and V, or NULL */
    double *nu;          /* NULL, or out: n site means times precision, where sites have means */
    const double *y; /* n: -1 or +1 */
    const double *weight; /* n factors of the rows' log likelihoods, as if each row had been seen
                           * so many times; NULL: 1 */
    double *tau, *alpha; /* out: n of each, allocated by the caller */
    double *B;           /* out: the lower Cholesky factor of I + S K S (n x n, by columns) */
    double *V;           /* workspace, n x n.  After a call of `posterior` it is free for others */
    double level;        /* out: the mean of the prior; 0 unless low->levelled */
    double tolerance;    /* sites that want to move less than this, relatively, are converged; 0:
                          * LATENT_TOLERANCE */
    double evidence;     /* out: the logarithm of the approximate evidence, in nats */
    size_t sweeps, held; /* out: passes over all rows; sites with a precision held at the least */
    bool converged;      /* out: false where LATENT_SWEEPS were not enough */
    /* NULL, or out: n of each, for the gradient of the evidence (latent_slope) beyond that of a
     * posterior whose sites are stationary: u and g of 16.9. */
    double *u, *g;
};
enum { LATENT_SWEEPS = 100 };
#define LATENT_TOLERANCE 1e-8
#define LATENT_TAU_LEAST 1e-10 /* no site precision is smaller, so that S has an inverse */

/* B <- the Cholesky factor of I + S K S, and V <- B^-1 S K (n x n), at the present tau.  diag (n):
 * the posterior variances K_ii - |V_i|^2. */
enum status latent_factor(struct latent *, double *diag, const struct ctl *, struct err *);
/* The posterior at the sites tau and nu: mean and var (n of each), and alpha with mean = K alpha.
 * `work` (n) is overwritten. */
enum status latent_moments(struct latent *, const double *nu, double *mean, double *var,
                           double *work, const struct ctl *, struct err *);
/* The slope of the evidence in the level, and how fast that falls, at the sites of the last call of
 * latent_moments (low): the step to the likeliest level is their quotient.  `work`: n. */
enum status latent_level(const struct latent *, double *work, double *slope, double *fall,
                         struct err *);
/* The share of row i in 1/2 log|I + S K S|; these add up to it. */
double latent_half(const struct latent *, size_t i);
/* Weights that sum to n, and for both classes to the same: n / 2 over the rows of the class; 1
 * where one class has no row. */
void latent_balance(size_t n, const double *y, double *weight);
/* W (n x n, lower triangle; may be V) <- the symmetric weights with d evidence / d theta =
 * sum_ij W_ij dK_ij / d theta, from the results of `posterior` with u and g; B is overwritten. */
enum status latent_slope(struct latent *, double *W, struct err *);

#endif
