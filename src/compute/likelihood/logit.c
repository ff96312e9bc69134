/* compute/likelihood/logit.c -- two classes with P(y | f) = 1 / (1 + exp(-y f)), by Laplace's
 * method: the Gaussian at the mode of the posterior (Rasmussen & Williams 2006, section 3.4;
 * share/doc/methods.md 16.7 to 16.10). */
#include "compute/likelihood/likelihood.h"

#include "base/mem.h"
#include "compute/likelihood/latent.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double f)
{
    return f >= 0.0 ? 1.0 / (1.0 + exp(-f)) : exp(f) / (1.0 + exp(f));
}

/* log(1 / (1 + exp(-t))). */
static double log_sigmoid(double t)
{
    return t >= 0.0 ? -log1p(exp(-t)) : t - log1p(exp(t));
}

/* E sigmoid(f) for f ~ N(mean, var) by the trapezoidal rule in standard units.  The integrand is
 * analytic up to the poles of the sigmoid at distance pi / sd, so that steps of half a unit of f,
 * and at most a quarter of an sd, leave an error below 1e-15. */
static double logit_probability(double mean, double var)
{
    const double sd = sqrt(var), step = fmin(0.25, 0.5 / fmax(sd, 1e-6)), reach = 9.0;
    const long most = (long)ceil(reach / step);
    double sum = 0.0, mass = 0.0;

    for (long k = -most; k <= most; k++) {
        const double z = (double)k * step, w = exp(-0.5 * z * z);
        sum += w * sigmoid(mean + sd * z);
        mass += w;
    }
    return sum / mass;
}

/* The search for the mode: f = K alpha, Psi = sum w log p - alpha'f / 2 is to be maximal, with
 * weights w of the rows: as if each had been seen w times. */
struct mode {
    struct latent *l;
    double *f, *diag, *b, *next; /* n of each */
};

static double weight_of(const struct latent *l, size_t i)
{
    return l->weight ? l->weight[i] : 1.0;
}

static double psi_of(const struct mode *m, const double *alpha, const double *f)
{
    double sum = -0.5 * blas_ddot(m->l->n, alpha, f);

    for (size_t i = 0; i < m->l->n; i++)
        sum += weight_of(m->l, i) * log_sigmoid(m->l->y[i] * f[i]);
    return sum;
}

/* w d log p / df. */
static double slope_at(const struct latent *l, size_t i, double f)
{
    return weight_of(l, i) * (0.5 * (l->y[i] + 1.0) - sigmoid(f));
}

/* W = -w d2 log p / df2 as the sites, and the factor of B there. */
static enum status sites(struct mode *m, const struct ctl *ctl, struct err *err)
{
    struct latent *l = m->l;

    l->held = 0;
    for (size_t i = 0; i < l->n; i++) {
        const double p = sigmoid(m->f[i]), w = weight_of(l, i) * p * (1.0 - p);
        l->held += !(w > LATENT_TAU_LEAST);
        l->tau[i] = fmax(w, LATENT_TAU_LEAST);
    }
    return latent_factor(l, m->diag, ctl, err);
}

/* next <- (K^-1 + W)^-1 (W f + slope) as weights: b - S B^-1 S K b with b = W f + slope (16.7). */
static enum status newton(struct mode *m, struct err *err)
{
    struct latent *l = m->l;
    const size_t n = l->n;

    for (size_t i = 0; i < n; i++)
        m->b[i] = l->tau[i] * m->f[i] + slope_at(l, i, m->f[i]);
    blas_dsymv1(true, n, l->K, n, m->b, m->next);
    for (size_t i = 0; i < n; i++)
        m->next[i] *= sqrt(l->tau[i]);
    enum status rc = blas_dtrsm(l->pool, false, n, 1, l->B, n, m->next, n, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, true, n, 1, l->B, n, m->next, n, err);
    for (size_t i = 0; i < n; i++)
        m->next[i] = m->b[i] - sqrt(l->tau[i]) * m->next[i];
    return rc;
}

/* Goes to the new weights, or half of the way as often as Psi would fall; returns the new Psi. */
static double step_to(struct mode *m, double psi)
{
    struct latent *l = m->l;
    const size_t n = l->n;
    double value = -INFINITY;

    for (int half = 0; half < 30; half++) {
        blas_dsymv1(true, n, l->K, n, m->next, m->b);
        value = psi_of(m, m->next, m->b);
        if (value >= psi - 1e-12 * fabs(psi))
            break;
        for (size_t i = 0; i < n; i++)
            m->next[i] = 0.5 * (m->next[i] + l->alpha[i]);
    }
    memcpy(l->alpha, m->next, n * sizeof *l->alpha);
    memcpy(m->f, m->b, n * sizeof *m->f);
    return value;
}

static enum status climb(struct mode *m, const struct ctl *ctl, struct err *err)
{
    struct latent *l = m->l;
    const double enough = l->tolerance > 0.0 ? l->tolerance : 10.0 * LATENT_TOLERANCE;
    double psi = psi_of(m, l->alpha, m->f);
    enum status rc = ST_OK;

    l->converged = false;
    for (l->sweeps = 0; rc == ST_OK && !l->converged && l->sweeps < LATENT_SWEEPS; l->sweeps++) {
        rc = sites(m, ctl, err);
        if (rc == ST_OK)
            rc = newton(m, err);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
        if (rc != ST_OK)
            return rc;
        const double value = step_to(m, psi), gain = fabs(value - psi); /* of second order */
        l->converged = gain <= enough * enough * (1.0 + fabs(psi));
        psi = value;
    }
    if (rc == ST_OK)
        rc = sites(m, ctl, err);
    l->evidence = psi;
    for (size_t i = 0; rc == ST_OK && i < l->n; i++)
        l->evidence -= log(l->B[i + i * l->n]);
    return rc;
}

/* The mode moves with K, and W with the mode: with s_i = 1/2 Sigma_ii d3 log p_i / df3 that part of
 * the slope is s' (I - K R) dK g, R = S B^-1 S, so that u = s - R K s (16.9). */
static enum status moving_mode(struct mode *m, struct err *err)
{
    struct latent *l = m->l;
    const size_t n = l->n;

    for (size_t i = 0; i < n; i++) {
        const double p = sigmoid(m->f[i]);
        l->u[i] = 0.5 * m->diag[i] * weight_of(l, i) * p * (1.0 - p) * (2.0 * p - 1.0);
        l->g[i] = slope_at(l, i, m->f[i]);
    }
    blas_dsymv1(true, n, l->K, n, l->u, m->b);
    for (size_t i = 0; i < n; i++)
        m->b[i] *= sqrt(l->tau[i]);
    enum status rc = blas_dtrsm(l->pool, false, n, 1, l->B, n, m->b, n, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, true, n, 1, l->B, n, m->b, n, err);
    for (size_t i = 0; i < n; i++)
        l->u[i] -= sqrt(l->tau[i]) * m->b[i];
    return rc;
}

static enum status logit_posterior(struct latent *l, const struct ctl *ctl, struct err *err)
{
    double *work = mem_calloc(4 * l->n, sizeof *work, "the mode", err);
    struct mode m = { .l = l, .f = work, .diag = work + l->n, .b = work + 2 * l->n,
                      .next = work + 3 * l->n };

    if (work == NULL)
        return ST_NOMEM;
    memset(l->alpha, 0, l->n * sizeof *l->alpha);
    enum status rc = climb(&m, ctl, err);
    if (rc == ST_OK && l->u != NULL)
        rc = moving_mode(&m, err);
    free(work);
    return rc;
}

const struct likelihood_ops logit_likelihood = {
    .name = "bernoulli",
    .link = "logit",
    .title = "two classes, by the logistic function",
    .method = "Laplace's method",
    .classes = true,
    .posterior = logit_posterior,
    .probability = logit_probability,
};
