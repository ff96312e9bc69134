/* compute/likelihood/nmll_features.c -- value and gradient of the NMLL in feature space, by one
 * Cholesky factor at a given amplitude and noise, or at the best ones by the spectrum
 * (share/doc/methods.md 6.2 to 6.8; nmll.c has the formula of the value).
 *
 *   dNMLL / dlog hp_i = -(r' D_i w) / noise^2 + tr(A1^-1 Z' D_i)                          (6.6)
 *   r = y - Z w (n),  w = A1^-1 Z'y (M),  D_i = dZ / dlog hp_i (n x M),
 * summed over the targets; Z, D_i, A1 and w are all those of amplitude 1.  In the logarithms of
 * amplitude beta and noise sigma
 *   dNMLL / dlog beta  = -w'w / beta^2 + M - ratio tr A1^-1,
 *   dNMLL / dlog sigma = -r'r / sigma^2 + (n - M) + ratio tr A1^-1                        (6.13)
 *   r'r = y'y - b'w - ratio w'w,  b = Z'y.
 * Source: Parkinson & Wang, S7, with the correction that Z Z' takes the place of K.
 *
 * There are two ways to 6.6.  For one or two hyperparameters, Z'D_i (M x M) is summed over the rows
 * and the trace taken: n M^2 for each.  For more, the derivative of the NMLL in Z itself,
 *   B = t Z A1^-1 - sum over targets of r w' / sigma^2  (n x M),                          (6.12)
 * is made tile by tile, and the gradient is sum of B o D_i: two products of n M^2 for any number of
 * hyperparameters (reverse accumulation). */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* tr(S C) = sum over i >= j of S_ij (C_ij + C_ji), the diagonal once; S is symmetric with its lower
 * triangle given, C is full, both are M x M column-major.  The sum runs over blocks because C is
 * read along rows as well as columns. */
struct trace_job { size_t M; const double *S, *C; double *part; };
enum { TRACE_COLS = 64 };
/* The share of tr(S C) from columns j0 .. j1 of S, in tiles of rows. */
static void trace_task(void *ctx, size_t task, size_t worker)
{
    const struct trace_job *t = ctx;
    const size_t M = t->M, j0 = task * TRACE_COLS, j1 = j0 + TRACE_COLS < M ? j0 + TRACE_COLS : M;
    double sum = 0.0;

    (void)worker;
    for (size_t i0 = j0; i0 < M; i0 += TRACE_COLS) {
        const size_t i1 = i0 + TRACE_COLS < M ? i0 + TRACE_COLS : M;
        for (size_t j = j0; j < j1; j++) {
            if (i0 == j0)
                sum += t->S[j + j * M] * t->C[j + j * M];
            for (size_t i = i0 == j0 ? j + 1 : i0; i < i1; i++)
                sum += t->S[i + j * M] * (t->C[i + j * M] + t->C[j + i * M]);
        }
    }
    t->part[task] = sum;
}
/* *out = tr(S C); the shares of all tasks are added in order. */
static enum status trace_product(struct pool *pool, size_t M, const double *S, const double *C,
                                 double *out, struct err *err)
{
    const size_t tasks = (M + TRACE_COLS - 1) / TRACE_COLS;
    struct trace_job t = { M, S, C, mem_calloc(tasks, sizeof(double), "partial sums", err) };

    if (t.part == NULL)
        return ST_NOMEM;
    pool_run(pool, tasks, trace_task, &t);
    *out = 0.0;
    for (size_t i = 0; i < tasks; i++)
        *out += t.part[i];
    free(t.part);
    return ST_OK;
}

/* The gradient for all hyperparameters at once. */

enum { FEW_HP = 2 }; /* up to so many hyperparameters, one at a time is quicker */

/* S <- a S with both triangles, from the lower one. */
static void fill_upper(size_t M, double a, double *S)
{
    for (size_t j = 0; j < M; j++) {
        S[j + j * M] *= a;
        for (size_t i = j + 1; i < M; i++)
            S[j + i * M] = S[i + j * M] *= a;
    }
}

/* Input and output of a gradient: y (t x n), Ainv = A1^-1 (lower triangle) and w = A1^-1 Z'y
 * (t x M), all at amplitude 1; the noise of each target; grad (nhp). */
struct slope {
    struct fop *f;
    size_t t, nhp;
    const double *y, *w, *noise;
    double *Ainv, *grad; /* Ainv may become full and scaled */
    const struct ctl *ctl;
};

/* The gradient in two products of n M^2, whatever the number of hyperparameters.  r (t x n
 * residuals) is overwritten. */
static enum status back_gradient(const struct slope *s, double *r, struct err *err)
{
    const struct fop_slope back = {.S = s->Ainv, .T = r, .V = s->w, .k = s->t, .nhp = s->nhp};
    const size_t n = fop_rows(s->f);

    for (size_t j = 0; j < s->t; j++)
        blas_dscal(n, -1.0 / (s->noise[j] * s->noise[j]), r + j * n);
    fill_upper(fop_cols(s->f), (double)s->t, s->Ainv);
    memset(s->grad, 0, s->nhp * sizeof *s->grad);
    return fop_back(s->f, &back, s->grad, s->ctl, err);
}

/* grad[0 .. nhp) by share/doc/methods.md 6.6: by one or two Z'D_i where that is quicker, else by
 * 6.12. */
static enum status hp_gradient(const struct slope *s, struct err *err)
{
    struct fop *f = s->f;
    const size_t n = fop_rows(f), M = fop_cols(f), t = s->t, nhp = s->nhp;
    const bool few = nhp == 0 || (nhp <= FEW_HP && fop_slopes_apart(f));
    double *r = mem_calloc(t * n, sizeof *r, "the residual", err);
    double *C = r && few ? mem_aligned(M * M, sizeof *C, "the gradient's matrix", err) : NULL;
    enum status rc = r && (C || !few) ? fop_zp(f, t, s->w, r, s->ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < t * n; i++)
        r[i] = s->y[i] - r[i];
    if (rc == ST_OK && !few)
        rc = back_gradient(s, r, err);
    for (size_t h = 0; few && rc == ST_OK && h < nhp; h++) {
        double rzw = 0.0, tr = 0.0;
        rc = fop_dgram(f, h, C, s->ctl, err);
        if (rc == ST_OK)
            rc = trace_product(fop_pool(f), M, s->Ainv, C, &tr, err);
        s->grad[h] = (double)t * tr;
        for (size_t j = 0; rc == ST_OK && j < t; j++) {
            rc = fop_slope_form(f, h, r + j * n, s->w + j * M, &rzw, err);
            s->grad[h] -= rzw / (s->noise[j] * s->noise[j]);
        }
        if (rc == ST_OK && ctl_stopped(s->ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
    }
    free(r);
    free(C);
    return rc;
}

/* Scale GIVEN: one Cholesky factor of A1.  y'y - b'w cancels when the noise is small; the result is
 * refused (NOT_PD) when rounding makes it negative or fails the test of pivots in nmll_chol. */
static enum status features_given(struct fop *f, const struct nmll_ask *q,
                                  const struct nmll_told *out, const struct ctl *ctl,
                                  struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f);
    const double b2 = q->amplitude * q->amplitude, ratio = q->noise * q->noise / b2;
    double *G = NULL, *b = NULL, *grad = out->grad, yty = 0.0;
    struct nmll_chol p = { .pool = fop_pool(f), .M = M, .t = 1, .ratio = ratio,
                           .invert = grad != NULL };

    if (!(q->amplitude > 0.0) || !(q->noise > 0.0) || !(ratio > 0.0) || !isfinite(ratio))
        return err_set(err, ST_RANGE, "amplitude %g and noise %g must be positive", q->amplitude,
                       q->noise);
    enum status rc = q->nhp > 0 ? fop_set(f, q->hp, err) : ST_OK;
    if (rc == ST_OK)
        rc = nmll_gram(f, 1, q->y, &G, &b, &yty, ctl, err);
    if (rc == ST_OK && (p.w = mem_calloc(M, sizeof *p.w, "the weights", err)) == NULL)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < M; i++)
        G[i + i * M] += ratio;
    p.g = b;
    if (rc == ST_OK)
        rc = nmll_chol(&p, G, ctl, err);
    if (out->effdim != NULL)
        *out->effdim = rc == ST_OK && grad != NULL ? (double)M - ratio * p.trace : NAN;
    if (rc == ST_OK) {
        const double c = (yty - p.quad[0]) / ratio;
        *out->value = nmll_from_terms(
            (double)n, c, p.logdet + ((double)n - (double)M) * log(ratio), q->amplitude);
        if (!(c > 0.0))
            rc = err_set(err, ST_NOT_PD, "the Gram matrix is indefinite at noise ratio %.3g",
                         ratio);
    }
    if (rc == ST_OK && grad != NULL) {
        const double rr = yty - p.quad[0] - ratio * p.wtw[0]; /* r'r (6.3), without a pass */
        const struct slope s = { .f = f, .t = 1, .nhp = q->nhp, .y = q->y, .w = p.w,
                                 .noise = &q->noise, .Ainv = G, .grad = grad, .ctl = ctl };
        grad[q->nhp] = -p.wtw[0] / b2 + (double)M - ratio * p.trace;
        grad[q->nhp + 1] =
            -rr / (q->noise * q->noise) + ((double)n - (double)M) + ratio * p.trace;
        rc = hp_gradient(&s, err);
    }
    free(G);
    free(b);
    free(p.w);
    return rc;
}

/* The gradient in the hyperparameters at the best amplitude and noise (the envelope theorem leaves
 * no other term).  A is the Gram matrix, overwritten. */
static enum status best_gradient(struct fop *f, const struct nmll_ask *q, double *A,
                                 const double *b, const struct nmll_told *out,
                                 const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f), t = q->t ? q->t : 1;
    const double ratio = out->noise[0] * out->noise[0] / (out->amplitude[0] * out->amplitude[0]);
    struct nmll_chol p = { .pool = fop_pool(f), .M = M, .t = t, .ratio = ratio, .g = b,
                           .invert = true,
                           .w = mem_calloc(t * M, sizeof *p.w, "the weights", err) };
    enum status rc = p.w ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < M; i++)
        A[i + i * M] += ratio;
    if (rc == ST_OK)
        rc = nmll_chol(&p, A, ctl, err);
    if (rc == ST_OK) {
        const struct slope s = { .f = f, .t = t, .nhp = q->nhp, .y = q->y, .w = p.w,
                                 .noise = out->noise, .Ainv = A, .grad = out->grad, .ctl = ctl };
        rc = hp_gradient(&s, err);
    }
    free(p.w);
    return rc;
}

/* Value, amplitude, noise, effective dimension and whether rounding limits them, from a Gram
 * matrix, which the spectrum overwrites. */
static enum status best_of(struct pool *pool, const struct nmll_system *s,
                           const struct nmll_ask *q, const struct nmll_told *out,
                           const struct ctl *ctl, struct err *err)
{
    struct nmll_eig eig = { 0 };
    enum status rc = nmll_eig_search(pool, s, q->within, out, ctl, &eig, err);

    if (rc == ST_OK) {
        const double ratio =
            out->noise[0] * out->noise[0] / (out->amplitude[0] * out->amplitude[0]);
        if (out->effdim != NULL)
            *out->effdim = nmll_eig_effdim(&eig, ratio);
        if (out->limited != NULL)
            *out->limited = !isfinite(*out->value) || nmll_eig_limited(&eig, ratio, q->within);
        if (!isfinite(*out->value))
            rc = err_set(err, ST_NOT_PD, "the Gram matrix is too inexact for any noise in bounds");
    }
    nmll_eig_free(&eig);
    return rc;
}

/* Scale BEST: the spectrum gives the best ratio, then one Cholesky factor there the gradient. */
static enum status features_best(struct fop *f, const struct nmll_ask *q,
                                 const struct nmll_told *out, const struct ctl *ctl,
                                 struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), t = q->t ? q->t : 1;
    double *G = NULL, *A = NULL, *b = NULL, yty[TARGETS_MOST];
    const bool gradient = out->grad != NULL;
    enum status rc = q->nhp > 0 ? fop_set(f, q->hp, err) : ST_OK;

    *out->value = INFINITY;
    if (out->limited != NULL)
        *out->limited = false;
    if (rc == ST_OK && nmll_is_dual(n, M))
        return nmll_dual_best(f, q, out, ctl, err);
    if (rc == ST_OK)
        rc = nmll_gram(f, t, q->y, &G, &b, yty, ctl, err);
    if (rc == ST_OK && gradient) { /* the reduction overwrites G, and the gradient needs it again */
        A = mem_aligned(M * M, sizeof *A, "the Gram matrix", err);
        rc = A ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && gradient)
        memcpy(A, G, M * M * sizeof *A);
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = best_of(fop_pool(f),
                     &(struct nmll_system){ .n = n, .M = M, .t = t, .G = G, .b = b, .yty = yty },
                     q, out, ctl, err);
    /* Where rounding limits the value, the caller may try double precision first. */
    if (rc == ST_OK && gradient && !(out->limited != NULL && *out->limited))
        rc = best_gradient(f, q, A, b, out, ctl, err);
    free(G);
    free(A);
    free(b);
    return rc;
}

/* Settings of which the Gram matrices are made one after the other, each by all threads, and the
 * spectra side by side. */
struct ahead {
    struct pool *pool;
    size_t n, M;
    const struct nmll_ask *ask;
    const struct nmll_told *told;
    enum status *each;
    const struct ctl *ctl;
    double **G, **b, *yty; /* of each; TARGETS_MOST of each */
};

static void ahead_one(void *ctx, size_t i, size_t worker)
{
    const struct ahead *a = ctx;
    const struct nmll_ask *q = &a->ask[i];

    (void)worker;
    a->each[i] = best_of(a->pool,
                         &(struct nmll_system){ .n = a->n, .M = a->M, .t = q->t ? q->t : 1,
                                                .G = a->G[i], .b = a->b[i],
                                                .yty = a->yty + i * TARGETS_MOST },
                         q, &a->told[i], a->ctl, NULL);
}

enum status nmll_features_ahead(struct fop *f, size_t count, const struct nmll_ask *ask,
                                const struct nmll_told *told, enum status *each,
                                const struct ctl *ctl, struct err *err)
{
    struct ahead a = { .pool = fop_pool(f), .n = fop_rows(f), .M = fop_cols(f), .ask = ask,
                       .told = told, .each = each, .ctl = ctl,
                       .G = mem_calloc(2 * count, sizeof *a.G, "Gram matrices", err),
                       .yty = mem_calloc(count, TARGETS_MOST * sizeof *a.yty, "Gram matrices",
                                         err) };
    enum status rc = a.G && a.yty ? ST_OK : ST_NOMEM;

    a.b = a.G ? a.G + count : NULL;
    for (size_t i = 0; rc == ST_OK && i < count; i++) {
        *told[i].value = INFINITY;
        rc = fop_set(f, ask[i].hp, err);
        if (rc == ST_OK)
            rc = nmll_gram(f, ask[i].t ? ask[i].t : 1, ask[i].y, &a.G[i], &a.b[i],
                           a.yty + i * TARGETS_MOST, ctl, err);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
    }
    if (rc == ST_OK)
        pool_run(a.pool, count, ahead_one, &a);
    for (size_t i = 0; a.G && i < 2 * count; i++)
        free(a.G[i]);
    free(a.G);
    free(a.yty);
    return rc;
}

enum status nmll_features(struct fop *f, const struct nmll_ask *q, const struct nmll_told *out,
                          const struct ctl *ctl, struct err *err)
{
    switch (q->scale) {
    case NMLL_GIVEN: return features_given(f, q, out, ctl, err);
    case NMLL_BEST: return features_best(f, q, out, ctl, err);
    case NMLL_RATIO: break;
    }
    return err_set(err, ST_INTERNAL, "features are asked for their best noise ratio");
}
