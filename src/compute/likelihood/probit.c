/* compute/likelihood/probit.c -- two classes with P(y | f) = Phi(y f), by expectation propagation
 * (Rasmussen & Williams 2006, section 3.6; share/doc/methods.md 16.2 to 16.6).
 *
 * All sites are updated together from one factor of B = I + S K S, damped, because then a sweep is
 * matrix products and its result depends neither on threads nor on the order of rows. */
#include "compute/likelihood/likelihood.h"

#include "base/mem.h"
#include "compute/likelihood/latent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAMPING_LEAST 0.05

/* exp(x^2) erfc(x) for x >= 0.  The rounding of x^2 matters in the exponent: it is carried
 * along. */
static double erfcx_of(double x)
{
    if (x < 25.0) {
        const double square = x * x;
        return exp(square) * (1.0 + fma(x, x, -square)) * erfc(x);
    }
    const double r = 1.0 / (2.0 * x * x); /* the asymptotic series; its next term is below 1e-16 */
    const double tail = 1.0 - 7.0 * r * (1.0 - 9.0 * r * (1.0 - 11.0 * r));
    return (1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * tail))) / (x * sqrt(M_PI));
}

/* N(z) / Phi(z), without a quotient of numbers that vanish. */
static double hazard(double z)
{
    return z < 0.0 ? sqrt(2.0 / M_PI) / erfcx_of(-z * M_SQRT1_2)
                   : sqrt(2.0 / M_PI) * exp(-0.5 * z * z) / erfc(-z * M_SQRT1_2);
}

static double log_cdf(double z)
{
    return z < 0.0 ? log(0.5 * erfcx_of(-z * M_SQRT1_2)) - 0.5 * z * z
                   : log1p(-0.5 * erfc(z * M_SQRT1_2));
}

static double probit_probability(double mean, double var)
{
    return 0.5 * erfc(-mean / sqrt(2.0 * (1.0 + var)));
}

/* A sweep under way. */
struct sweep {
    struct latent *l;
    double *nu, *mean, *var, *work; /* n of each: site means times precision; the posterior */
    double damping, change;
    double level; /* the mean of the prior: sites are of the function beyond it */
};

/* The cavity of row i: the posterior without its own site.  A row whose prior variance is 0, as of
 * one without words, has the value 0 (beyond the level) whatever its site. */
struct cavity { double tau, mean, var, z; };
static struct cavity cavity_of(const struct sweep *s, size_t i)
{
    const struct latent *l = s->l;

    if (s->var[i] == 0.0)
        return (struct cavity){ .tau = INFINITY, .z = l->y[i] * s->level };
    struct cavity c = { .tau = fmax(1.0 / s->var[i] - l->tau[i], LATENT_TAU_LEAST) };

    c.mean = (s->mean[i] / s->var[i] - s->nu[i]) / c.tau;
    c.var = 1.0 / c.tau;
    c.z = l->y[i] * (c.mean + s->level) / sqrt(1.0 + c.var);
    return c;
}

/* log Z_EP at the present sites (16.6). */
static double evidence(const struct sweep *s)
{
    const struct latent *l = s->l;
    const size_t n = l->n;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const struct cavity c = cavity_of(s, i);
        const double tau = l->tau[i], nu = s->nu[i];
        if (isinf(c.tau)) {
            sum += log_cdf(c.z) - latent_half(l, i);
            continue;
        }
        sum += log_cdf(c.z) + 0.5 * log1p(tau / c.tau) - latent_half(l, i) +
               0.5 * nu * (s->mean[i] - nu / (c.tau + tau)) +
               0.5 * c.mean * c.tau * (tau * c.mean - 2.0 * nu) / (tau + c.tau);
    }
    return sum;
}

/* Moves every site towards the one that matches the moments of its tilted distribution (16.4), by
 * the share `damping`, and notes the largest wanted change. */
static void update(struct sweep *s)
{
    struct latent *l = s->l;

    s->change = 0.0;
    l->held = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct cavity c = cavity_of(s, i);
        const double r = hazard(c.z), q = r * (c.z + r) / (1.0 + c.var);
        double tau = q / (1.0 - c.var * q);
        const double nu = (l->y[i] * r / sqrt(1.0 + c.var) + c.mean * q) / (1.0 - c.var * q);
        if (!(tau > LATENT_TAU_LEAST)) {
            tau = LATENT_TAU_LEAST;
            l->held++;
        }
        s->change = fmax(s->change, fabs(tau - l->tau[i]) / (1.0 + l->tau[i]));
        s->change = fmax(s->change, fabs(nu - s->nu[i]) / (1.0 + fabs(s->nu[i])));
        l->tau[i] += s->damping * (tau - l->tau[i]);
        s->nu[i] += s->damping * (nu - s->nu[i]);
    }
}

/* Moves the sites, and the level towards the likeliest one at those before. */
static enum status move(struct sweep *s, struct err *err)
{
    const struct latent *l = s->l;
    double slope = 0.0, fall = 0.0;
    enum status rc = ST_OK;

    if (l->low && l->low->levelled && l->sweeps > 0) /* at first no site tells anything */
        rc = latent_level(l, s->work, &slope, &fall, err);
    update(s);
    if (rc != ST_OK || !(fall > 0.0))
        return rc;
    const double step = s->damping * slope / fall;
    s->change = fmax(s->change, slope * slope / fall); /* twice what the evidence gains by it */
    s->level += step;
    for (size_t i = 0; i < l->n; i++) /* what sites say of the function with its level stays */
        s->nu[i] -= step * l->tau[i];
    return ST_OK;
}

/* Sweeps until no site wants to move.  Where the wanted change grows, sites overshoot: the
 * share of it that they move is halved; where it falls, that grows again. */
static enum status iterate(struct sweep *s, const struct ctl *ctl, struct err *err)
{
    struct latent *l = s->l;
    const double enough = l->tolerance > 0.0 ? l->tolerance : LATENT_TOLERANCE;
    double last = INFINITY;
    enum status rc = ST_OK;

    for (l->sweeps = 0; rc == ST_OK; l->sweeps++) {
        rc = latent_moments(l, s->nu, s->mean, s->var, s->work, ctl, err);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
        if (rc != ST_OK)
            break;
        l->evidence = evidence(s);
        if (l->sweeps > 0 && (s->change < enough || l->sweeps == LATENT_SWEEPS))
            break;
        rc = move(s, err);
        s->damping = s->change > last ? fmax(0.5 * s->damping, DAMPING_LEAST)
                                      : fmin(1.1 * s->damping, 1.0);
        last = s->change;
    }
    l->converged = rc == ST_OK && s->change < enough;
    return rc;
}

static enum status probit_posterior(struct latent *l, const struct ctl *ctl, struct err *err)
{
    double *work = mem_calloc(4 * l->n, sizeof *work, "the sites", err);
    struct sweep s = { .l = l, .nu = l->nu ? l->nu : work, .mean = work + l->n,
                       .var = work + 2 * l->n,
                       .work = work + 3 * l->n, .damping = 1.0 };

    if (work == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < l->n; i++) {
        l->tau[i] = LATENT_TAU_LEAST;
        s.nu[i] = 0.0;
    }
    const enum status rc = iterate(&s, ctl, err);
    l->level = s.level;
    if (l->u != NULL) { /* sites are stationary: the evidence moves with K alone */
        memset(l->u, 0, l->n * sizeof *l->u);
        memset(l->g, 0, l->n * sizeof *l->g);
    }
    free(work);
    return rc;
}

const struct likelihood_ops probit_likelihood = {
    .name = "bernoulli",
    .link = "probit",
    .title = "two classes, by the normal distribution function",
    .method = "expectation propagation",
    .classes = true,
    .low = true,
    .posterior = probit_posterior,
    .probability = probit_probability,
};
