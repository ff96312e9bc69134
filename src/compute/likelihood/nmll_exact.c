/* compute/likelihood/nmll_exact.c -- the NMLL of the exact kernel (share/doc/methods.md 5.3, 5.4;
 * Rasmussen & Williams 2006, algorithm 2.1 and equation 5.9): one Cholesky factor of K1 + ratio I
 * (n x n) with the gradient, or the best amplitude and noise from the tridiagonal form of K1
 * (6.8).  The amplitude is kept out of the matrix: Ky = beta^2 (K1 + ratio I). */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>

/* 1/2 tr((Ky^-1 - alpha alpha') dKy), summed over the targets (share/doc/methods.md 5.4, 5.5).  On
 * entry K is V = (K1 + ratio I)^-1 (lower triangle); it is overwritten by the weights
 * S = sum over targets of V - w w' / beta^2 with w = V y, which exact_contract sums with dK1.  In
 * log beta dKy = 2 Ky less twice the noise term, in log sigma dKy = 2 sigma^2 I:
 *   tr((Ky^-1 - alpha alpha') Ky)        = n - y'w / beta^2                      (total)
 *   tr((Ky^-1 - alpha alpha') sigma^2 I) = ratio (tr V - w'w / beta^2)           (noisy). */
static enum status exact_gradient(const struct exact_rows *r, const struct nmll_ask *q,
                                  const struct nmll_chol *p, const double *amplitude, double *K,
                                  double *grad, const struct ctl *ctl, struct err *err)
{
    const size_t n = r->n, t = p->t, nhp = kernel_nhp(r->k);
    const double ratio = p->ratio;
    double total = 0.0, noisy = 0.0;

    for (size_t j = 0; j < t; j++) {
        const double b2 = amplitude[j] * amplitude[j];
        total += (double)n - p->quad[j] / b2;
        noisy += ratio * p->trace - ratio * p->wtw[j] / b2;
    }
    if (q->scale == NMLL_GIVEN) {
        grad[nhp] = total - noisy;
        grad[nhp + 1] = noisy;
    } else {
        grad[nhp] =
            noisy + nmll_moving_scale(t, (double)n, p->quad, ratio, q->within, amplitude);
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double ww = 0.0;
            for (size_t k = 0; k < t; k++)
                ww += p->w[k * n + i] * p->w[k * n + j] / (amplitude[k] * amplitude[k]);
            K[i + j * n] = (double)t * K[i + j * n] - ww;
        }
    const enum status rc = exact_contract(r, K, grad, ctl, err);
    for (size_t h = 0; h < nhp; h++)
        grad[h] *= 0.5;
    return rc;
}

/* Scales GIVEN and RATIO: one Cholesky factor at the ratio, which is backward stable.  The
 * quadratic form y' w is a sum over the factor and does not cancel. */
static enum status exact_at(struct exact_rows *r, double *K, const struct nmll_ask *q,
                            const struct nmll_told *out, const struct ctl *ctl, struct err *err)
{
    const size_t n = r->n, t = q->t ? q->t : 1;
    const bool given = q->scale == NMLL_GIVEN;
    const double ratio =
        given ? q->noise * q->noise / (q->amplitude * q->amplitude) : q->ratio;
    const double *amplitude = given ? &q->amplitude : out->amplitude;
    struct nmll_chol p = { .pool = r->pool, .M = n, .t = t, .ratio = ratio, .g = q->y,
                           .invert = out->grad != NULL,
                           .w = mem_calloc(t * n, sizeof *p.w, "the weights", err) };
    enum status rc = p.w ? exact_matrix(r, ratio, K, ctl, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = nmll_chol(&p, K, ctl, err);
    if (out->effdim != NULL)
        *out->effdim = rc == ST_OK && out->grad != NULL ? (double)n - ratio * p.trace : NAN;
    if (rc == ST_OK && !given)
        nmll_pick_scale(t, (double)n, p.quad, ratio, q->within, out->amplitude, out->noise);
    if (rc == ST_OK) {
        *out->value = 0.0;
        for (size_t j = 0; j < t; j++)
            *out->value += nmll_from_terms((double)n, p.quad[j], p.logdet, amplitude[j]);
    }
    if (rc == ST_OK && out->grad != NULL)
        rc = exact_gradient(r, q, &p, amplitude, K, out->grad, ctl, err);
    free(p.w);
    return rc;
}

/* Scale BEST: the tridiagonal form of K1 (or factors on a device), then the search over ratios. */
static enum status exact_best(struct exact_rows *r, double *K, const struct nmll_ask *q,
                              const struct nmll_told *out, const struct ctl *ctl, struct err *err)
{
    const size_t n = r->n, t = q->t ? q->t : 1;
    double yty[TARGETS_MOST] = { 0.0 };
    const struct nmll_system s = { .n = n, .M = n, .t = t, .G = K, .b = q->y, .yty = yty,
                                   .dual = true };
    struct nmll_eig eig = { 0 };
    enum status rc = exact_matrix(r, 0.0, K, ctl, err);

    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    for (size_t j = 0; rc == ST_OK && j < t && j < TARGETS_MOST; j++)
        yty[j] = blas_ddot(n, q->y + j * n, q->y + j * n);
    if (rc == ST_OK)
        rc = nmll_eig_search(r->pool, &s, q->within, out, ctl, &eig, err);
    if (rc == ST_OK) {
        if (out->effdim != NULL)
            *out->effdim = nmll_eig_effdim(&eig, out->noise[0] * out->noise[0] /
                                                     (out->amplitude[0] * out->amplitude[0]));
        if (!isfinite(*out->value))
            rc = err_set(err, ST_NOT_PD,
                         "the kernel matrix is too inexact for any noise in bounds");
    }
    nmll_eig_free(&eig);
    return rc;
}

/* RANGE unless the ratio is positive and finite and the number of targets is allowed. */
static enum status exact_check(const struct nmll_ask *q, struct err *err)
{
    const double ratio = q->scale == NMLL_GIVEN
                             ? q->noise * q->noise / (q->amplitude * q->amplitude)
                             : q->ratio;
    const size_t t = q->t ? q->t : 1;

    if (q->scale == NMLL_BEST)
        return ST_OK;
    if (q->scale == NMLL_GIVEN && (!(ratio > 0.0) || !isfinite(ratio)))
        return err_set(err, ST_RANGE, "amplitude %g and noise %g must be positive", q->amplitude,
                       q->noise);
    if (!(ratio > 0.0) || !isfinite(ratio) || t > TARGETS_MOST)
        return err_set(err, ST_RANGE, "noise ratio %g must be positive, targets 1 to %d", ratio,
                       TARGETS_MOST);
    return ST_OK;
}

enum status nmll_exact(const struct kernel *k, const struct source *src, const struct nmll_ask *q,
                       const struct nmll_told *out, struct pool *pool, const struct ctl *ctl,
                       struct err *err)
{
    const size_t n = src->n;
    enum status rc = exact_check(q, err);

    if (rc != ST_OK)
        return rc;
    double *X = exact_inputs(src, err);
    double *K = X ? mem_aligned(n * n, sizeof *K, "the kernel matrix", err) : NULL;
    struct exact_rows rows = { .k = k, .hp = q->hp, .X = X, .n = n, .d = src->d,
                               .row_scale = src->row_scale, .pool = pool };
    if (K == NULL)
        rc = err_status(err);
    else if (q->scale == NMLL_BEST)
        rc = exact_best(&rows, K, q, out, ctl, err);
    else
        rc = exact_at(&rows, K, q, out, ctl, err);
    free(X);
    free(K);
    return rc;
}
