/* compute/likelihood/nmll_dirichlet.c -- the negative log marginal likelihood of several classes as
 * regressions, summed over the classes, and its gradient (share/doc/methods.md 17.4, 17.6).
 *
 * With P = sum of A_c^-1 over the classes, rows Zc of class c, weights W of all classes and
 * R_ic = (y_ic - mean_c - z_i'w_c) / v_ic, the derivative by the features is
 *   dNMLL/dZ = Z P + (v_off / v_own - 1) Zc A_c^-1 - R W',
 * so that each class needs its own rows once and all rows are needed once.  With weights of rows, Z
 * and the residuals are those of the rows times the square roots of the weights. */
#include "compute/likelihood/dirichlet.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* T (C vectors of n) = -R, the factor of W' in the derivative: from T = Z W. */
static void residuals(const struct dirichlet *d, const double *mean, double *T)
{
    for (size_t c = 0; c < d->rows.classes; c++)
        for (size_t i = 0; i < d->n; i++) {
            const struct dirichlet_value *v = &d->of[d->rows.labels[i] == (double)c];
            const double s = d->scale ? d->scale[i] : 1.0, at = T[c * d->n + i];
            T[c * d->n + i] = (at - s * (v->y - mean[c])) / v->var;
        }
}

/* grad += the sum of (Z P - R W') o dZ over all rows. */
static enum status back_all(const struct dirichlet *d, const double *P, const double *W,
                            const double *mean, size_t nhp, double *grad, struct err *err)
{
    const size_t C = d->rows.classes;
    double *T = mem_aligned(d->n * C, sizeof *T, "residuals of classes", err);
    enum status rc = T ? fop_zp(d->all, C, W, T, d->rows.on.ctl, err) : ST_NOMEM;

    if (rc == ST_OK) {
        residuals(d, mean, T);
        rc = fop_back(d->all, &(struct fop_slope){ P, T, W, C, nhp }, grad, d->rows.on.ctl, err);
    }
    free(T);
    return rc;
}

/* What the classes leave behind for the gradient. */
struct sums {
    double *L, *P, *W, *mean; /* M x M; M x M; C x M; C */
    double value, log_amplitude, scale; /* scale: the derivative by the log of the amplitude */
};

/* Adds one class, which was taken, at its amplitude. */
static enum status add_class(const struct dirichlet *d, size_t c, const struct nmll_ask *q,
                             double start, struct sums *s, double *grad, struct err *err)
{
    const size_t M = d->M;
    double *w = s->W + c * M, value = 0.0, trace = 0.0;
    double amplitude = q->scale == NMLL_BEST ? start : q->amplitude;
    enum status rc = q->scale == NMLL_BEST
                         ? dirichlet_best(d, q->within->amplitude, s->L, w, &amplitude, err)
                         : ST_OK;

    if (rc == ST_OK)
        rc = dirichlet_at(d, amplitude, s->L, w, &value, err);
    s->mean[c] = d->mean;
    s->value += value;
    s->log_amplitude += log(amplitude);
    if (rc != ST_OK || grad == NULL)
        return rc;
    rc = blas_dpotri(d->rows.on.pool, M, s->L, M, err);
    blas_mirror(0, M, 0, M, s->L, M);
    for (size_t i = 0; i < M; i++)
        trace += s->L[i + i * M];
    const double rho = d->of[0].var / (amplitude * amplitude);
    s->scale += (double)M - rho * trace - rho * blas_ddot(M, w, w) / d->of[0].var;
    blas_daxpy(M * M, 1.0, s->L, s->P);
    if (rc != ST_OK || !d->own)
        return rc;
    blas_dscal(M * M, d->of[0].var / d->of[1].var - 1.0, s->L);
    return fop_back(d->own, &(struct fop_slope){ .S = s->L, .nhp = q->nhp }, grad, d->rows.on.ctl,
                    err);
}

static enum status answer(struct dirichlet *d, const struct nmll_ask *q,
                          const struct nmll_told *out, struct sums *s, struct err *err)
{
    const size_t C = d->rows.classes;
    const double start = out->amplitude && out->amplitude[0] > 0.0 ? out->amplitude[0] : 1.0;
    enum status rc = ST_OK;

    for (size_t h = 0; out->grad && h < q->nhp; h++)
        out->grad[h] = 0.0;
    for (size_t c = 0; rc == ST_OK && c < C; c++) {
        rc = dirichlet_take(d, c, err);
        if (rc == ST_OK)
            rc = add_class(d, c, q, start, s, out->grad, err);
    }
    if (rc == ST_OK && out->grad)
        rc = back_all(d, s->P, s->W, s->mean, q->nhp, out->grad, err);
    if (rc != ST_OK)
        return rc;
    if (out->value)
        *out->value = s->value;
    if (out->grad && q->scale == NMLL_GIVEN) {
        out->grad[q->nhp] = s->scale;
        out->grad[q->nhp + 1] = 0.0;
    }
    if (out->amplitude)
        out->amplitude[0] = exp(s->log_amplitude / (double)C);
    if (out->noise)
        out->noise[0] = q->within ? q->within->noise[0] : q->noise;
    if (out->effdim)
        *out->effdim = NAN;
    return ST_OK;
}

enum status dirichlet_nmll(const struct dirichlet_rows *rows, const struct nmll_ask *q,
                           const struct nmll_told *out, struct err *err)
{
    struct dirichlet d;
    struct sums s = { .value = 0.0 };
    enum status rc = dirichlet_open(&d, rows, err);
    const size_t M = d.M;

    if (rc == ST_OK) {
        s.L = mem_aligned(2 * M * M, sizeof *s.L, "the factor of a class", err);
        s.W = s.L ? mem_calloc(rows->classes, (M + 1) * sizeof *s.W, "the weights", err) : NULL;
        rc = s.W ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        s.P = s.L + M * M;
        memset(s.P, 0, M * M * sizeof *s.P);
        s.mean = s.W + rows->classes * M;
        rc = answer(&d, q, out, &s, err);
    }
    free(s.L);
    free(s.W);
    dirichlet_close(&d);
    return rc;
}
