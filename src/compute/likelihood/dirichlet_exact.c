/* compute/likelihood/dirichlet_exact.c -- see dirichlet_exact.h (share/doc/methods.md 17.15). */
#include "compute/likelihood/dirichlet_exact.h"

#include "base/mem.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_own(const struct dirichlet_exact *d, size_t i, size_t c)
{
    return d->labels[i] == (double)c;
}

static double weight_of(const struct dirichlet_exact *d, size_t i)
{
    return d->weight ? d->weight[(size_t)d->labels[i]] : 1.0;
}

/* The noise variance of row i in the regression of class c. */
static double noise_of(const struct dirichlet_exact *d, size_t i, size_t c,
                       const struct dirichlet_value of[2])
{
    return of[is_own(d, i, c)].var / weight_of(d, i);
}

double dirichlet_exact_mean(const struct dirichlet_exact *d, size_t c)
{
    struct dirichlet_value of[2];
    double own = 0.0, all = 0.0;

    dirichlet_values(d->alpha, of);
    for (size_t i = 0; i < d->n; i++) {
        own += is_own(d, i, c) ? weight_of(d, i) : 0.0;
        all += weight_of(d, i);
    }
    own /= all;
    return own * of[1].y + (1.0 - own) * of[0].y;
}

/* L L' = K + D / beta^2 + jitter I, with the least jitter that rounding needs. */
static enum status factor(const struct dirichlet_exact *d, size_t c, double amplitude,
                          const struct dirichlet_value of[2], double *L, struct err *err)
{
    const size_t n = d->n;
    const double b2 = amplitude * amplitude, most = 1e-4;
    double least = INFINITY;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, noise_of(d, i, c, of) / b2);

    for (double jitter = 0.0;; jitter = jitter > 0.0 ? 100.0 * jitter : 1e-12 + 1e-14 * (double)n) {
        memcpy(L, d->K, n * n * sizeof *L);
        for (size_t i = 0; i < n; i++)
            L[i + i * n] += noise_of(d, i, c, of) / b2 + jitter;
        enum status rc = blas_dpotrf(d->pool, n, L, n, d->ctl, NULL, err);
        if (rc == ST_OK && jitter <= most)
            rc = blas_sound(d->pool, n, L, n, 0.5 * (least + jitter), err);
        if (jitter > most || rc != ST_NOT_PD)
            return rc;
        err_clear(err);
    }
}

enum status dirichlet_exact_at(const struct dirichlet_exact *d, size_t c, double amplitude,
                               double *L, double *w, double *value, struct err *err)
{
    const size_t n = d->n;
    const double mean = dirichlet_exact_mean(d, c);
    struct dirichlet_value of[2];
    double quad, logdet = 0.0;

    dirichlet_values(d->alpha, of);
    enum status rc = factor(d, c, amplitude, of, L, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        w[i] = of[is_own(d, i, c)].y - mean;
    if (rc == ST_OK)
        rc = blas_dtrsm(d->pool, false, n, 1, L, n, w, n, err);
    if (rc != ST_OK)
        return rc;
    quad = blas_ddot(n, w, w);
    for (size_t i = 0; i < n; i++)
        logdet += 2.0 * log(L[i + i * n]);
    *value = nmll_from_terms((double)n, quad, logdet, amplitude);
    return blas_dtrsm(d->pool, true, n, 1, L, n, w, n, err);
}

struct search { const struct dirichlet_exact *d; size_t c; double *L, *w; };

static enum status value_at(void *ctx, double amplitude, double *value, struct err *err)
{
    const struct search *s = ctx;

    return dirichlet_exact_at(s->d, s->c, amplitude, s->L, s->w, value, err);
}

enum status dirichlet_exact_best(const struct dirichlet_exact *d, size_t c, const double within[2],
                                 double *L, double *w, double *amplitude, struct err *err)
{
    struct search s = { d, c, L, w };

    return nmll_search_amplitude(value_at, &s, within, amplitude, err);
}

/* The sum over the classes, and its gradient by
 *   dNMLL / dK = (A_c^-1 - w_c w_c' / beta_c^2) / 2, summed over the classes. */
struct sums {
    struct exact_rows rows;
    struct dirichlet_exact d;
    double *L, *W, *w; /* n x n; n x n, or NULL without a gradient; n */
    double value, log_amplitude, scale;
};

static enum status add_slope(struct sums *s, size_t c, double amplitude, struct err *err)
{
    const size_t n = s->d.n;
    const double b2 = amplitude * amplitude, mean = dirichlet_exact_mean(&s->d, c);
    struct dirichlet_value of[2];
    enum status rc = blas_dpotri(s->d.pool, n, s->L, n, err);

    if (rc != ST_OK)
        return rc;
    dirichlet_values(s->d.alpha, of);
    s->scale += (double)n;
    for (size_t i = 0; i < n; i++) {
        const double noise = noise_of(&s->d, i, c, of) / b2;
        s->scale -= noise * (s->L[i + i * n] - s->w[i] * s->w[i] / b2);
        s->scale -= s->w[i] * (of[is_own(&s->d, i, c)].y - mean) / b2;
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            s->W[i + j * n] += 0.5 * (s->L[i + j * n] - s->w[i] * s->w[j] / b2);
    return ST_OK;
}

static enum status add_class(struct sums *s, size_t c, const struct nmll_ask *q, double start,
                             struct err *err)
{
    double amplitude = q->scale == NMLL_BEST ? start : q->amplitude, value = 0.0;
    enum status rc = q->scale == NMLL_BEST
                         ? dirichlet_exact_best(&s->d, c, q->within->amplitude, s->L, s->w,
                                                &amplitude, err)
                         : ST_OK;

    if (rc == ST_OK)
        rc = dirichlet_exact_at(&s->d, c, amplitude, s->L, s->w, &value, err);
    s->value += value;
    s->log_amplitude += log(amplitude);
    return rc == ST_OK && s->W ? add_slope(s, c, amplitude, err) : rc;
}

static enum status answer(struct sums *s, const struct nmll_ask *q, const struct nmll_told *out,
                          struct err *err)
{
    const size_t C = s->d.classes, nhp = q->nhp;
    const double start = out->amplitude && out->amplitude[0] > 0.0 ? out->amplitude[0] : 1.0;
    enum status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < C; c++)
        rc = add_class(s, c, q, start, err);
    if (rc == ST_OK && out->grad)
        rc = exact_contract(&s->rows, s->W, out->grad, s->d.ctl, err);
    if (rc != ST_OK)
        return rc;
    if (out->value)
        *out->value = s->value;
    if (out->grad && q->scale == NMLL_GIVEN) {
        out->grad[nhp] = s->scale;
        out->grad[nhp + 1] = 0.0;
    }
    if (out->amplitude)
        out->amplitude[0] = exp(s->log_amplitude / (double)C);
    if (out->noise)
        out->noise[0] = q->within ? q->within->noise[0] : q->noise;
    if (out->effdim)
        *out->effdim = NAN;
    return ST_OK;
}

enum status dirichlet_exact_nmll(const struct kernel *k, const struct source *src,
                                 const struct dirichlet_exact *of, const struct nmll_ask *q,
                                 const struct nmll_told *out, struct err *err)
{
    const size_t n = src->n, matrices = out->grad ? 3 : 2;
    struct sums s = { .d = *of };
    double *X = exact_inputs(src, err);
    double *K = X ? mem_aligned(matrices * n * n, sizeof *K, "the kernel matrix", err) : NULL;

    s.w = K ? mem_calloc(n, sizeof *s.w, "weights", err) : NULL;
    enum status rc = s.w ? ST_OK : err_status(err);
    if (rc == ST_OK) {
        s.rows = (struct exact_rows){ .k = k, .hp = q->hp, .X = X, .n = n, .d = src->d,
                                      .pool = of->pool };
        s.d.n = n;
        s.d.K = K;
        s.L = K + n * n;
        s.W = out->grad ? K + 2 * n * n : NULL;
        if (s.W)
            memset(s.W, 0, n * n * sizeof *s.W);
        rc = exact_matrix(&s.rows, 0.0, K, of->ctl, err);
    }
    if (rc == ST_OK)
        rc = answer(&s, q, out, err);
    free(s.w);
    free(K);
    free(X);
    return rc;
}
