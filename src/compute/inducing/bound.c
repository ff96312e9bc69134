/* compute/inducing/bound.c -- see bound.h.  Everything goes through B = I + V' Lambda^-1 V, whose
 * smallest eigenvalue is 1 (share/doc/methods.md 22.4). */
#include "compute/inducing/bound.h"

#include "base/mem.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bound_approx_words[] = { "vfe", "fitc", "dtc", NULL };

enum status bound_points(const struct columns_of *of, double *L, double *jitter, struct err *err)
{
    const size_t m = of->n;

    *jitter = 0.0;
    for (;;) {
        double scale = 0.0;
        enum status rc = columns_once(of, m, of->X, L, err);
        for (size_t i = 0; i < m; i++)
            scale += L[i + i * m] / (double)m;
        if (rc == ST_OK && !isfinite(scale))
            return err_set(err, ST_NOT_PD, "the kernel of the inducing points is not finite");
        for (size_t i = 0; i < m; i++)
            L[i + i * m] += *jitter * scale;
        if (rc == ST_OK)
            rc = blas_dpotrf(of->pool, m, L, m, NULL, NULL, err);
        if (rc != ST_NOT_PD || *jitter >= 1e-4)
            return rc;
        err_clear(err);
        *jitter = *jitter > 0.0 ? *jitter * 100.0 : 1e-14 * (double)m + 1e-12;
    }
}

void bound_free(struct bound *b)
{
    free(b->L);
    free(b->V);
    free(b->missed);
    free(b->G);
    free(b->b);
    *b = (struct bound){ 0 };
}

/* missed = diag(K1) - diag(V V'), in rows order; rounding can make it negative. */
static void missed_of(struct bound *b)
{
    for (size_t j = 0; j < b->m; j++)
        for (size_t i = 0; i < b->n; i++)
            b->missed[i] -= b->V[i + j * b->n] * b->V[i + j * b->n];
    b->trace = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        b->missed[i] = fmax(b->missed[i], 0.0);
        b->trace += b->missed[i];
    }
}

static enum status allocate(struct bound *b, struct err *err)
{
    b->L = mem_aligned(b->m * b->m, sizeof *b->L, "the inducing points", err);
    b->V = b->L ? mem_aligned(b->n * b->m, sizeof *b->V, "their covariances", err) : NULL;
    b->missed = b->V ? mem_calloc(b->n, sizeof *b->missed, "their residuals", err) : NULL;
    b->G = b->missed ? mem_aligned(b->m * b->m, sizeof *b->G, "their Gram matrix", err) : NULL;
    b->b = b->G ? mem_aligned(b->t * b->m + 1, sizeof *b->b, "their targets", err) : NULL;
    return b->b ? ST_OK : ST_NOMEM;
}

enum status bound_make(const struct columns_of *of, const double *Z, struct bound *b,
                       const struct ctl *ctl, struct err *err)
{
    const size_t n = of->n, m = b->m, t = b->t;
    const struct columns_of points = { .k = of->k, .hp = of->hp, .X = Z, .n = m, .d = of->d,
                                       .pool = of->pool };

    b->n = n;
    b->pool = of->pool;
    enum status rc = allocate(b, err);
    if (rc == ST_OK)
        rc = bound_points(&points, b->L, &b->jitter, err);
    if (rc == ST_OK)
        rc = columns_once(of, m, Z, b->V, err);
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = blas_dtrsm_right(of->pool, true, n, m, b->L, m, b->V, n, err);
    if (rc == ST_OK) {
        columns_own(of, b->missed);
        missed_of(b);
        if (!isfinite(b->trace))
            rc = err_set(err, ST_NOT_PD, "the kernel is not finite at a training row");
    }
    if (rc == ST_OK)
        rc = blas_dgram(of->pool, n, m, b->V, n, b->G, m, err);
    if (rc == ST_OK)
        rc = blas_dgemm(of->pool, true, false, m, t, n, 1.0, b->V, n, b->y, n, 0.0, b->b, m, err);
    for (size_t j = 0; rc == ST_OK && j < t; j++)
        b->yty[j] = blas_ddot(n, b->y + j * n, b->y + j * n);
    if (rc != ST_OK)
        bound_free(b);
    return rc;
}

/* At one ratio. */

void bound_at_free(struct bound_at *a)
{
    free(a->F);
    free(a->u);
    *a = (struct bound_at){ 0 };
}

/* FITC: F <- I + V' Lambda^-1 V and u <- V' Lambda^-1 y; yly <- y' Lambda^-1 y. */
static enum status weighted(const struct bound *b, struct bound_at *a, double *yly, struct err *err)
{
    const size_t n = b->n, m = b->m, t = b->t;
    double *W = mem_aligned(n * (m + t), sizeof *W, "weighted covariances", err);

    if (W == NULL)
        return ST_NOMEM;
    double *y = W + n * m;
    for (size_t i = 0; i < n; i++) {
        const double s = 1.0 / sqrt(bound_lambda(b, a->ratio, i));
        for (size_t j = 0; j < m; j++)
            W[i + j * n] = s * b->V[i + j * n];
        for (size_t j = 0; j < t; j++)
            y[i + j * n] = s * b->y[i + j * n];
    }
    enum status rc = blas_dgram(b->pool, n, m, W, n, a->F, m, err);
    if (rc == ST_OK)
        rc = blas_dgemm(b->pool, true, false, m, t, n, 1.0, W, n, y, n, 0.0, a->u, m, err);
    for (size_t j = 0; j < t; j++)
        yly[j] = blas_ddot(n, y + j * n, y + j * n);
    free(W);
    return rc;
}

enum status bound_at(const struct bound *b, double ratio, struct bound_at *a, struct err *err)
{
    const size_t m = b->m, t = b->t;
    double yly[TARGETS_MOST];
    enum status rc = ST_OK;

    *a = (struct bound_at){ .ratio = ratio };
    a->F = mem_aligned(m * m, sizeof *a->F, "the inducing points", err);
    a->u = a->F ? mem_aligned(t * m + 1, sizeof *a->u, "their weights", err) : NULL;
    if (a->u == NULL)
        rc = ST_NOMEM;
    else if (b->approx == BOUND_FITC)
        rc = weighted(b, a, yly, err);
    for (size_t i = 0; rc == ST_OK && b->approx != BOUND_FITC && i < m * m; i++)
        a->F[i] = b->G[i] / ratio;
    for (size_t i = 0; rc == ST_OK && b->approx != BOUND_FITC && i < t * m; i++)
        a->u[i] = b->b[i] / ratio;
    for (size_t j = 0; rc == ST_OK && b->approx != BOUND_FITC && j < t; j++)
        yly[j] = b->yty[j] / ratio;
    for (size_t i = 0; rc == ST_OK && i < m; i++)
        a->F[i + i * m] += 1.0;
    if (rc == ST_OK)
        rc = blas_dpotrf(b->pool, m, a->F, m, NULL, NULL, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(b->pool, false, m, t, a->F, m, a->u, m, err);
    for (size_t j = 0; rc == ST_OK && j < t; j++)
        a->c[j] = yly[j] - blas_ddot(m, a->u + j * m, a->u + j * m);
    if (rc == ST_OK)
        rc = blas_dtrsm(b->pool, true, m, t, a->F, m, a->u, m, err);
    for (size_t i = 0; rc == ST_OK && i < b->n; i++)
        a->logdet += log(bound_lambda(b, ratio, i));
    for (size_t i = 0; rc == ST_OK && i < m; i++)
        a->logdet += 2.0 * log(a->F[i + i * m]);
    if (rc != ST_OK)
        bound_at_free(a);
    return rc;
}

double bound_value(const struct bound *b, const struct bound_at *a, const double *amplitude)
{
    double sum = b->approx == BOUND_VFE ? 0.5 * (double)b->t * b->trace / a->ratio : 0.0;

    for (size_t j = 0; j < b->t; j++)
        sum += nmll_from_terms((double)b->n, a->c[j], a->logdet, amplitude[j]);
    return sum;
}

/* The best ratio. */

struct ratio_search {
    const struct bound *b;
    const struct nmll_bounds *in;
    double amplitude[TARGETS_MOST], noise[TARGETS_MOST];
};

/* FITC: the value at a log ratio with the best amplitudes. */
static double fitc_value(void *ctx, double log_ratio)
{
    struct ratio_search *s = ctx;
    struct bound_at a;
    double value = INFINITY;

    if (bound_at(s->b, exp(log_ratio), &a, NULL) != ST_OK)
        return value;
    nmll_pick_scale(s->b->t, (double)s->b->n, a.c, a.ratio, s->in, s->amplitude, s->noise);
    value = bound_value(s->b, &a, s->amplitude);
    bound_at_free(&a);
    return isfinite(value) ? value : INFINITY;
}

static enum status fitc_best(const struct bound *b, const struct nmll_bounds *in,
                             const struct nmll_told *told, struct err *err)
{
    struct ratio_search s = { .b = b, .in = in };
    const double lo = 2.0 * log(in->noise[0] / in->amplitude[1]),
                 hi = 2.0 * log(in->noise[1] / in->amplitude[0]);
    double at;

    *told->value = nmll_search_few(fitc_value, &s, lo, hi, NAN, &at);
    if (!isfinite(fitc_value(&s, at)))
        return err_set(err, ST_NOT_PD, "no noise within bounds has a value at these points");
    for (size_t j = 0; j < b->t; j++) {
        told->amplitude[j] = s.amplitude[j];
        told->noise[j] = s.noise[j];
    }
    return ST_OK;
}

enum status bound_best(const struct bound *b, const struct nmll_bounds *in,
                       const struct nmll_told *told, struct err *err)
{
    struct nmll_eig eig = { 0 };

    if (told->effdim)
        *told->effdim = NAN;
    if (b->approx == BOUND_FITC)
        return fitc_best(b, in, told, err);
    double *G = mem_aligned(b->m * b->m, sizeof *G, "the Gram matrix", err);
    if (G == NULL)
        return ST_NOMEM;
    memcpy(G, b->G, b->m * b->m * sizeof *G);
    const struct nmll_system s = { .n = b->n, .M = b->m, .t = b->t, .G = G, .b = b->b,
                                   .yty = b->yty };
    enum status rc = nmll_eig_make(b->pool, &s, false, &eig, err);
    if (rc == ST_OK) {
        eig.missed = b->approx == BOUND_VFE ? b->trace : 0.0;
        *told->value = nmll_eig_best(&eig, in, told->amplitude, told->noise);
        if (told->effdim)
            *told->effdim = nmll_eig_effdim(&eig, told->noise[0] * told->noise[0] /
                                                      (told->amplitude[0] * told->amplitude[0]));
        if (!isfinite(*told->value))
            rc = err_set(err, ST_NOT_PD, "no noise within bounds has a value at these points");
    }
    nmll_eig_free(&eig);
    free(G);
    return rc;
}

/* The gradient.  With P = (Q1 + Lambda)^-1, alpha_j = P y_j, W = t P - sum alpha alpha' / beta^2
 * and D the diagonal matrix t / ratio (VFE), diag(W) (FITC) or 0 (DTC), the NMLL changes by
 *   1/2 <W - D, dQ1> + 1/2 sum D_i dK1_ii,   dQ1 = dK_xz A' + A dK_zx - A dK_zz A',  A = V L^-1,
 * thus by <E, dK_xz> - 1/2 <A'E, dK_zz> + 1/2 sum D_i dK1_ii with E = (W - D) A
 * (share/doc/methods.md 22.7). */
struct slope {
    const struct columns_of *of;
    const double *Z, *E, *AE, *D;
    size_t m, nhp;
    double *part; /* tasks x nhp, added in the order of tasks */
    const struct ctl *ctl;
};
enum { SLOPE_ROWS = 128 };

static void slope_task(void *ctx, size_t task, size_t worker)
{
    const struct slope *s = ctx;
    const struct columns_of *of = s->of;
    const size_t n = of->n, d = of->d, r0 = task * SLOPE_ROWS;
    const size_t r1 = r0 + SLOPE_ROWS < n ? r0 + SLOPE_ROWS : n;
    double grad[KERNEL_MAX_HP], *part = s->part + task * s->nhp;

    (void)worker;
    if (ctl_stopped(s->ctl))
        return;
    for (size_t i = r0; i < r1; i++) {
        const double f = of->row_scale ? of->row_scale[i] : 1.0, *x = of->X + i * d;
        for (size_t j = 0; j < s->m; j++) {
            kernel_exact(of->k, of->hp, d, x, s->Z + j * d, grad);
            for (size_t h = 0; h < s->nhp; h++)
                part[h] += f * s->E[i + j * n] * grad[h];
        }
        if (s->D[i] == 0.0)
            continue;
        kernel_exact(of->k, of->hp, d, x, x, grad);
        for (size_t h = 0; h < s->nhp; h++)
            part[h] += 0.5 * f * f * s->D[i] * grad[h];
    }
}

/* Adds all parts, and those of pairs of points. */
static enum status slope_sum(struct slope *s, double *grad, struct err *err)
{
    const size_t tasks = (s->of->n + SLOPE_ROWS - 1) / SLOPE_ROWS, m = s->m, d = s->of->d;
    double one[KERNEL_MAX_HP];

    memset(grad, 0, s->nhp * sizeof *grad);
    if (s->nhp == 0)
        return ST_OK;
    s->part = mem_calloc(tasks * s->nhp, sizeof *s->part, "the gradient", err);
    if (s->part == NULL)
        return ST_NOMEM;
    pool_run(s->of->pool, tasks, slope_task, s);
    for (size_t k = 0; k < tasks; k++)
        for (size_t h = 0; h < s->nhp; h++)
            grad[h] += s->part[k * s->nhp + h];
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            kernel_exact(s->of->k, s->of->hp, d, s->Z + i * d, s->Z + j * d, one);
            for (size_t h = 0; h < s->nhp; h++)
                grad[h] -= 0.5 * s->AE[i + j * m] * one[h];
        }
    free(s->part);
    return ctl_stopped(s->ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

/* P_ii and alpha (t vectors of n): P = Lambda^-1 - U U', U = Lambda^-1 V F'^-1 (n x m, U is
 * overwritten by V first). */
static enum status inverse_of(const struct bound *b, const struct bound_at *a, double *U,
                              double *alpha, double *own, struct err *err)
{
    const size_t n = b->n, m = b->m, t = b->t;

    memcpy(alpha, b->y, t * n * sizeof *alpha);
    enum status rc = blas_dgemm(b->pool, false, false, n, t, m, -1.0, b->V, n, a->u, m, 1.0, alpha,
                                n, err);
    memcpy(U, b->V, n * m * sizeof *U);
    if (rc == ST_OK)
        rc = blas_dtrsm_right(b->pool, true, n, m, a->F, m, U, n, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const double lambda = bound_lambda(b, a->ratio, i);
        own[i] = 1.0 / lambda;
        for (size_t j = 0; j < m; j++) {
            U[i + j * n] /= lambda;
            own[i] -= U[i + j * n] * U[i + j * n];
        }
        for (size_t j = 0; j < t; j++)
            alpha[i + j * n] /= lambda;
    }
    return rc;
}

enum status bound_left_out(const struct bound *b, const struct bound_at *a, double *alpha,
                           double *own, struct err *err)
{
    double *U = mem_aligned(b->n * b->m, sizeof *U, "left-out residuals", err);
    const enum status rc = U ? inverse_of(b, a, U, alpha, own, err) : ST_NOMEM;

    free(U);
    return rc;
}

/* E <- (W - D) A, from A in E, U and alpha; D is filled. */
struct weights { const double *U, *alpha; double *E, *D, *work; };
static enum status slope_weights(const struct bound *b, const struct bound_at *a,
                                 const double *amplitude, const struct weights *w,
                                 struct err *err)
{
    const size_t n = b->n, m = b->m, t = b->t;
    const double *U = w->U, *alpha = w->alpha;
    double *E = w->E, *D = w->D, *UA = w->work, *ya = w->work + m * m; /* m x m, t x m */
    enum status rc = blas_dgemm(b->pool, true, false, m, m, n, 1.0, U, n, E, n, 0.0, UA, m, err);

    if (rc == ST_OK)
        rc = blas_dgemm(b->pool, true, false, t, m, n, 1.0, alpha, n, E, n, 0.0, ya, t, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        const double lambda = bound_lambda(b, a->ratio, i);
        double own = (double)t * D[i]; /* diag(W), from P_ii in D */
        for (size_t k = 0; k < t; k++)
            own -= alpha[i + k * n] * alpha[i + k * n] / (amplitude[k] * amplitude[k]);
        D[i] = b->approx == BOUND_VFE    ? (double)t / a->ratio
               : b->approx == BOUND_FITC ? own
                                         : 0.0;
        for (size_t j = 0; j < m; j++)
            E[i + j * n] *= (double)t / lambda - D[i];
    }
    rc = blas_dgemm(b->pool, false, false, n, m, m, -(double)t, U, n, UA, m, 1.0, E, n, err);
    for (size_t k = 0; rc == ST_OK && k < t; k++)
        for (size_t j = 0; j < m; j++)
            blas_daxpy(n, -ya[k + j * t] / (amplitude[k] * amplitude[k]), alpha + k * n, E + j * n);
    return rc;
}

/* The derivative in log ratio at fixed amplitudes: ratio / 2 tr W, less the trace's term. */
static double slope_ratio(const struct bound *b, const struct bound_at *a, const double *amplitude,
                          const double *alpha, const double *own)
{
    double sum = 0.0;

    for (size_t i = 0; i < b->n; i++) {
        sum += (double)b->t * own[i];
        for (size_t k = 0; k < b->t; k++)
            sum -= alpha[i + k * b->n] * alpha[i + k * b->n] / (amplitude[k] * amplitude[k]);
    }
    return 0.5 * a->ratio * sum -
           (b->approx == BOUND_VFE ? 0.5 * (double)b->t * b->trace / a->ratio : 0.0);
}

enum status bound_slope(const struct columns_of *of, const double *Z, const struct bound *b,
                        const struct bound_at *a, const double *amplitude, double *grad,
                        const struct ctl *ctl, struct err *err)
{
    const size_t n = b->n, m = b->m, t = b->t, nhp = kernel_nhp(of->k);
    double *A = mem_aligned(2 * n * m + (t + 1) * n + 2 * m * m + t * m, sizeof *A,
                            "the gradient", err);
    double quad = 0.0;

    if (A == NULL)
        return ST_NOMEM;
    double *U = A + n * m, *alpha = U + n * m, *D = alpha + t * n, *AE = D + n, *work = AE + m * m;
    double *E = mem_aligned(n * m, sizeof *E, "the gradient", err);
    enum status rc = E ? inverse_of(b, a, U, alpha, D, err) : ST_NOMEM;
    memcpy(A, b->V, n * m * sizeof *A);
    if (rc == ST_OK)
        rc = blas_dtrsm_right(b->pool, false, n, m, b->L, m, A, n, err);
    if (rc == ST_OK) {
        memcpy(E, A, n * m * sizeof *E);
        grad[nhp + 1] = 2.0 * slope_ratio(b, a, amplitude, alpha, D);
        for (size_t k = 0; k < t; k++)
            quad += a->c[k] / (amplitude[k] * amplitude[k]);
        grad[nhp] = (double)(n * t) - quad - grad[nhp + 1];
        rc = slope_weights(b, a, amplitude, &(struct weights){ U, alpha, E, D, work }, err);
    }
    if (rc == ST_OK)
        rc = blas_dgemm(b->pool, true, false, m, m, n, 1.0, A, n, E, n, 0.0, AE, m, err);
    struct slope s = { .of = of, .Z = Z, .E = E, .AE = AE, .D = D, .m = m, .nhp = nhp, .ctl = ctl };
    if (rc == ST_OK)
        rc = slope_sum(&s, grad, err);
    free(E);
    free(A);
    return rc;
}
