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
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 128 };

/* Sum of (a Z P - R W') o dZ over the rows of an operator; W NULL: without R W'. */
struct back {
    const struct dirichlet *d;
    struct fop *f;
    size_t n, M, C, nhp;
    double a;
    const double *P, *W, *mean; /* M x M; C x M and the means of the classes */
    double *part;               /* nhp sums of each task */
    enum status *rc;
};

/* B -= R W' for a tile. */
static void subtract(const struct back *b, size_t r0, size_t rows, const double *Z, double *T,
                     double *B)
{
    const struct dirichlet_value *of = b->d->of;

    blas_dgemm1(true, false, b->C, rows, b->M, 1.0, b->W, b->M, Z, b->M, 0.0, T, b->C);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < b->C; c++) {
            const struct dirichlet_value *v = &of[b->d->rows.labels[r0 + i] == (double)c];
            const double s = b->d->scale ? b->d->scale[r0 + i] : 1.0;
            T[i * b->C + c] = (s * (v->y - b->mean[c]) - T[i * b->C + c]) / v->var;
        }
    blas_dgemm1(false, false, b->M, rows, b->C, -1.0, b->W, b->M, T, b->C, 1.0, B, b->M);
}

static void back_task(void *ctx, size_t task, size_t worker)
{
    const struct back *b = ctx;
    const size_t M = b->M, r0 = task * TILE, rows = r0 + TILE < b->n ? TILE : b->n - r0;

    (void)worker;
    if (ctl_stopped(b->d->rows.on.ctl))
        return;
    double *Z = mem_aligned(rows * (2 * M + b->C), sizeof *Z, "a tile of features", NULL);
    double *B = Z + rows * M;
    b->rc[task] = Z ? fop_tile64(b->f, r0, r0 + rows, Z, M, NULL) : ST_NOMEM;
    if (b->rc[task] == ST_OK) {
        blas_dgemm1(false, false, M, rows, M, b->a, b->P, M, Z, M, 0.0, B, M);
        if (b->W)
            subtract(b, r0, rows, Z, B + rows * M, B);
        b->rc[task] = fop_grad(b->f, r0, r0 + rows, Z, B, M, b->part + task * b->nhp, NULL);
    }
    free(Z);
}

/* Adds the sum to grad, the parts in the order of the tasks. */
static enum status back(struct back *b, double *grad, struct err *err)
{
    const size_t tasks = (fop_rows(b->f) + TILE - 1) / TILE;
    enum status rc = ST_OK;

    b->n = fop_rows(b->f);
    b->part = mem_calloc(tasks * b->nhp + 1, sizeof *b->part, "partial sums", err);
    b->rc = b->part ? mem_calloc(tasks, sizeof *b->rc, "partial sums", err) : NULL;
    if (b->rc == NULL)
        rc = ST_NOMEM;
    else
        pool_run(b->d->rows.on.pool, tasks, back_task, b);
    if (rc == ST_OK && ctl_stopped(b->d->rows.on.ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    for (size_t k = 0; rc == ST_OK && k < tasks; k++) {
        if (b->rc[k] != ST_OK)
            rc = err_set(err, b->rc[k], "the gradient of a tile of rows could not be computed");
        for (size_t h = 0; h < b->nhp; h++)
            grad[h] += b->part[k * b->nhp + h];
    }
    free(b->part);
    free(b->rc);
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
    struct back b = { .d = d, .f = d->own, .M = M, .nhp = q->nhp, .P = s->L,
                      .a = d->of[0].var / d->of[1].var - 1.0 };
    return rc == ST_OK && d->own ? back(&b, grad, err) : rc;
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
    struct back b = { .d = d, .f = d->all, .M = d->M, .C = C, .nhp = q->nhp, .a = 1.0, .P = s->P,
                      .W = s->W, .mean = s->mean };
    if (rc == ST_OK && out->grad)
        rc = back(&b, out->grad, err);
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
