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

enum { ROWS = 64 }; /* of a task */

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

/* Of a product N(f; mean, var) Phi(f)^power: the logarithm of its integral, the slope of that in
 * the mean and how fast the slope falls, and its variance as a share of var. */
struct tilted { double logz, slope, fall, share; };
static struct tilted tilted_closed(double mean, double var)
{
    const double z = mean / sqrt(1.0 + var), r = hazard(z);
    const double fall = r * (z + r) / (1.0 + var);

    return (struct tilted){ log_cdf(z), r / sqrt(1.0 + var), fall, 1.0 - var * fall };
}

/* The logarithm of the product, without the constant of the normal density. */
static double log_product(double f, double mean, double var, double power)
{
    return power * log_cdf(f) - 0.5 * (f - mean) * (f - mean) / var;
}

/* Its greatest value is between the mean and mean + power var N / Phi; the logarithm is concave. */
static double product_mode(double mean, double var, double power)
{
    double low = mean, high = mean + power * var * hazard(mean), f = mean;

    for (int i = 0; i < 60 && high - low > 1e-8 * sqrt(var); i++) {
        const double h = hazard(f), slope = power * h - (f - mean) / var;
        const double next = f + slope / (power * h * (h + f) + 1.0 / var);
        if (slope > 0.0)
            low = f;
        else
            high = f;
        f = next > low && next < high ? next : 0.5 * (low + high);
    }
    return f;
}

/* A power below 1 has no closed form.  The trapezoidal rule in t with f = centre + scale sinh t has
 * small steps where Phi bends, near 0, and long ones in the tail of a wide normal density.  The
 * product falls from its mode on at least as that density does, and below 0 as Phi^power, too. */
static struct tilted tilted_power(double mean, double var, double power)
{
    enum { NODES = 200 };
    const double sd = sqrt(var), mode = product_mode(mean, var, power);
    const double high = mode + 9.0 * sd;
    const double low = fmax(mode - 9.0 * sd, fmin(mode, 0.0) - 9.0 / sqrt(0.6 * power));
    const double h = hazard(mode), near = 1.0 / sqrt(power * h * (h + mode) + 1.0 / var);
    const bool wide = mode > 0.0 && var > 1.0 && low < 6.0;
    const double centre = wide ? 0.0 : mode, scale = wide ? 1.0 : near;
    const double t0 = asinh((low - centre) / scale), t1 = asinh((high - centre) / scale);
    const double top = log_product(mode, mean, var, power), step = (t1 - t0) / NODES;
    double mass = 0.0, slope = 0.0, square = 0.0, bend = 0.0, away = 0.0, spread = 0.0;

    for (size_t i = 0; i <= NODES; i++) {
        const double t = t0 + step * (double)i, f = centre + scale * sinh(t), r = hazard(f);
        const double at = step * scale * cosh(t) * exp(log_product(f, mean, var, power) - top);
        mass += at;
        slope += at * r;
        square += at * r * r;
        bend += at * r * (r + f);
        away += at * (f - mode);
        spread += at * (f - mode) * (f - mode);
    }
    slope /= mass;
    away /= mass;
    return (struct tilted){
        .logz = top + log(mass) - 0.5 * log(2.0 * M_PI * var), .slope = power * slope,
        .fall = power * bend / mass - power * power * (square / mass - slope * slope),
        .share = (spread / mass - away * away) / var,
    };
}

/* The cavity of a row: the posterior without one site, and what its likelihood makes of it.  A
 * weight of 1 or more counts equal sites, of which one is left out, as if the row had been seen as
 * often; one below 1 is the power of the only site's likelihood.  (Power EP with the power 1/weight
 * at most 1: beyond that, cavities of rows that others contradict have no variance.)  A row whose
 * prior variance is 0, as of one without words, has the value 0 (beyond the level) whatever its
 * site. */
struct cavity { double sites, tau, mean; struct tilted of; };

/* A sweep under way. */
struct sweep {
    struct latent *l;
    double *nu, *mean, *var, *work; /* n of each: site means times precision; the posterior */
    struct cavity *at;              /* n */
    double damping, change;
    double level; /* the mean of the prior: sites are of the function beyond it */
};

static void cavity_task(void *ctx, size_t task, size_t worker)
{
    const struct sweep *s = ctx;
    const struct latent *l = s->l;
    const size_t end = (task + 1) * ROWS < l->n ? (task + 1) * ROWS : l->n;

    (void)worker;
    for (size_t i = task * ROWS; i < end; i++) {
        const double weight = l->weight ? l->weight[i] : 1.0;
        struct cavity *c = &s->at[i];
        if (s->var[i] == 0.0) {
            *c = (struct cavity){ .sites = weight, .tau = INFINITY };
            c->of = tilted_closed(l->y[i] * s->level, 0.0);
            continue;
        }
        c->sites = fmax(weight, 1.0);
        c->tau = fmax(1.0 / s->var[i] - l->tau[i] / c->sites, LATENT_TAU_LEAST);
        c->mean = (s->mean[i] / s->var[i] - s->nu[i] / c->sites) / c->tau;
        const double mean = l->y[i] * (c->mean + s->level);
        c->of = weight < 1.0 ? tilted_power(mean, 1.0 / c->tau, weight)
                             : tilted_closed(mean, 1.0 / c->tau);
    }
}

/* log Z_EP at the present sites (16.6). */
static double evidence(const struct sweep *s)
{
    const struct latent *l = s->l;
    const size_t n = l->n;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const struct cavity *c = &s->at[i];
        const double tau = l->tau[i] / c->sites, nu = s->nu[i] / c->sites; /* of one site */
        double site = c->of.logz;
        if (!isinf(c->tau))
            site += 0.5 * log1p(tau / c->tau) + 0.5 * nu * (s->mean[i] - nu / (c->tau + tau)) +
                    0.5 * c->mean * c->tau * (tau * c->mean - 2.0 * nu) / (tau + c->tau);
        sum += c->sites * site - latent_half(l, i);
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
        const struct cavity *c = &s->at[i];
        const struct tilted *of = &c->of;
        double tau = c->sites * of->fall / of->share;
        const double nu = c->sites * (l->y[i] * of->slope + c->mean * of->fall) / of->share;
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
        pool_run(l->pool, (l->n + ROWS - 1) / ROWS, cavity_task, s);
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

    s.at = work ? mem_calloc(l->n, sizeof *s.at, "the sites", err) : NULL;
    if (s.at == NULL) {
        free(work);
        return ST_NOMEM;
    }
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
    free(s.at);
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
