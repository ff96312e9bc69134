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
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The gradient for one hyperparameter at a time. */

struct hp_grad {
    size_t M, ihp, rows;
    struct fop *f;
    const double *w, *r;
    double *part;        /* r' D w of each tile, added in the order of tiles: the same bits for any
                          * number of threads */
    enum status *rc;
};

enum { GRAD_ROWS = 128 };

/* r' D w over one tile of rows: D (rows x M) is made, used and freed. */
static void hp_tile(void *ctx, size_t task, size_t worker)
{
    struct hp_grad *h = ctx;
    const size_t r0 = task * GRAD_ROWS, M = h->M;
    const size_t r1 = r0 + GRAD_ROWS < h->rows ? r0 + GRAD_ROWS : h->rows;
    struct err err;
    double *dz = mem_aligned((r1 - r0) * M, sizeof *dz, "a tile of derivatives", &err);

    (void)worker;
    h->part[task] = 0.0;
    if (dz == NULL) {
        h->rc[task] = ST_NOMEM;
        return;
    }
    h->rc[task] = fop_dtile(h->f, h->ihp, r0, r1, dz, M, &err);
    if (h->rc[task] == ST_OK)
        for (size_t i = r0; i < r1; i++)
            h->part[task] += h->r[i] * blas_ddot(M, dz + (i - r0) * M, h->w);
    free(dz);
}

/* *out = r' D_ihp w over all rows; O(n M). */
static enum status residual_form(struct fop *f, size_t ihp, const double *r, const double *w,
                                 double *out, struct err *err)
{
    const size_t n = fop_rows(f), tiles = (n + GRAD_ROWS - 1) / GRAD_ROWS;
    struct hp_grad h = { .M = fop_cols(f), .ihp = ihp, .f = f, .w = w, .r = r, .rows = n };

    h.part = mem_calloc(tiles, sizeof *h.part, "partial sums", err);
    h.rc = h.part ? mem_calloc(tiles, sizeof *h.rc, "partial sums", err) : NULL;
    enum status rc = h.rc ? ST_OK : ST_NOMEM;
    if (rc == ST_OK) {
        pool_run(fop_pool(f), tiles, hp_tile, &h);
        *out = 0.0;
        for (size_t t = 0; t < tiles; t++) {
            *out += h.part[t];
            if (h.rc[t] != ST_OK && rc == ST_OK)
                rc = err_set(err, h.rc[t], "the features' derivatives could not be computed");
        }
    }
    free(h.part);
    free(h.rc);
    return rc;
}

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

/* Rows of a tile, its largest number of elements, and up to how many hyperparameters the way of one
 * at a time is quicker. */
enum { BACK_ROWS = 192, BACK_MOST = 1 << 20, FEW_HP = 2 };

struct back {
    struct fop *f;
    size_t n, M, nhp, t, rows;  /* rows: of a tile */
    const double *Ainv, *w; /* A1^-1, full symmetric M x M; weights, t x M */
    const double *r;        /* residuals over the noise variance, t x n */
    const float *Ainv32;    /* A1^-1 in single precision where features are; else NULL */
    double *part;           /* nhp sums of each task */
    enum status *rc;
    const struct ctl *ctl;
};

/* B <- t Z A1^-1 for a tile (rows x M), in the precision of the features.  Single precision loses
 * nothing where features are single: an element of B is then as accurate as they are, and the sum
 * over all elements is more accurate. */
static enum status back_product(const struct back *b, size_t rows, const double *Z, double *B)
{
    const size_t M = b->M, all = rows * M;

    if (b->Ainv32 == NULL) {
        blas_dgemm1(false, false, M, rows, M, (double)b->t, b->Ainv, M, Z, M, 0.0, B, M);
        return ST_OK;
    }
    float *z = mem_aligned(2 * all, sizeof *z, "a tile of features", NULL), *p = z + all;
    if (z == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < all; i++)
        z[i] = (float)Z[i];
    blas_sgemm1(false, false, M, rows, M, (float)b->t, b->Ainv32, M, z, M, 0.0f, p, M);
    for (size_t i = 0; i < all; i++)
        B[i] = (double)p[i];
    free(z);
    return ST_OK;
}

/* The matrix B of share/doc/methods.md 6.12 for a tile of rows, and sum of B o D_i for each
 * hyperparameter i into part. */
static void back_task(void *ctx, size_t task, size_t worker)
{
    struct back *b = ctx;
    const size_t M = b->M, r0 = task * b->rows;
    const size_t rows = r0 + b->rows < b->n ? b->rows : b->n - r0;

    (void)worker;
    if (ctl_stopped(b->ctl))
        return;
    double *Z = mem_aligned(2 * rows * M, sizeof *Z, "a tile of features", NULL), *B = Z + rows * M;
    b->rc[task] = Z ? fop_tile64(b->f, r0, r0 + rows, Z, M, NULL) : ST_NOMEM;
    if (b->rc[task] == ST_OK)
        b->rc[task] = back_product(b, rows, Z, B);
    if (b->rc[task] == ST_OK) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < b->t; j++)
                blas_daxpy(M, -b->r[j * b->n + r0 + i], b->w + j * M, B + i * M);
        b->rc[task] = fop_grad(b->f, r0, r0 + rows, Z, B, M, b->part + task * b->nhp, NULL);
    }
    free(Z);
}

/* S <- a S with both triangles, from the lower one. */
static void fill_upper(size_t M, double a, double *S)
{
    for (size_t j = 0; j < M; j++) {
        S[j + j * M] *= a;
        for (size_t i = j + 1; i < M; i++)
            S[j + i * M] = S[i + j * M] *= a;
    }
}

/* Completes A1^-1 from its lower triangle, and makes a copy in single precision (*single, the
 * caller frees it) where the features are in single precision. */
static enum status back_inverse(struct back *b, double *Ainv, float **single, struct err *err)
{
    const size_t M = b->M;

    fill_upper(M, 1.0, Ainv);
    b->Ainv = Ainv;
    if (fop_precision(b->f) != PREC_FLOAT)
        return ST_OK;
    b->Ainv32 = *single = mem_aligned(M * M, sizeof **single, "the gradient's matrix", err);
    for (size_t i = 0; *single && i < M * M; i++)
        (*single)[i] = (float)Ainv[i];
    return *single ? ST_OK : ST_NOMEM;
}

/* Input and output of a gradient: y (t x n), Ainv = A1^-1 (lower triangle) and w = A1^-1 Z'y
 * (t x M), all at amplitude 1; the noise of each target; grad (nhp). */
struct slope {
    struct fop *f;
    size_t t, nhp;
    const double *y, *w, *noise;
    double *Ainv, *grad; /* Ainv becomes full, and may be scaled */
    const struct ctl *ctl;
};

/* The gradient in two products of n M^2, whatever the number of hyperparameters.  r (t x n
 * residuals) is overwritten. */
static enum status back_gradient(const struct slope *s, double *r, struct err *err)
{
    struct fop *f = s->f;
    const size_t n = fop_rows(f), M = fop_cols(f), nhp = s->nhp;
    const size_t most = BACK_MOST / M > 64 ? BACK_MOST / M : 64,
                 rows = most < BACK_ROWS ? most : BACK_ROWS;
    const size_t tasks = (n + rows - 1) / rows;
    struct back b = {.f = f,
                     .n = n,
                     .M = M,
                     .nhp = nhp,
                     .t = s->t,
                     .rows = rows,
                     .w = s->w,
                     .r = r,
                     .ctl = s->ctl};
    float *single = NULL;
    enum status rc = back_inverse(&b, s->Ainv, &single, err);

    if (rc != ST_OK)
        return rc;
    b.part = mem_calloc(tasks * nhp, sizeof *b.part, "partial sums", err);
    b.rc = b.part ? mem_calloc(tasks, sizeof *b.rc, "partial sums", err) : NULL;
    if (b.rc == NULL) {
        free(b.part);
        free(single);
        return ST_NOMEM;
    }
    for (size_t j = 0; j < s->t; j++)
        blas_dscal(n, 1.0 / (s->noise[j] * s->noise[j]), r + j * n);
    pool_run(fop_pool(f), tasks, back_task, &b);
    memset(s->grad, 0, nhp * sizeof *s->grad);
    for (size_t i = 0; rc == ST_OK && i < tasks; i++) {
        if (b.rc[i] != ST_OK)
            rc = err_set(err, b.rc[i], "the features' derivatives could not be computed");
        for (size_t h = 0; h < nhp; h++)
            s->grad[h] += b.part[i * nhp + h];
    }
    if (rc == ST_OK && ctl_stopped(s->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    free(b.part);
    free(b.rc);
    free(single);
    return rc;
}

/* The gradient on the device that holds the features.  UNSUPPORTED when there is none; the lower
 * triangle of Ainv is then as before, and the caller uses the CPU. */
static enum status device_gradient(const struct slope *s, struct err *err)
{
    struct fop *f = s->f;

    if (!fop_has_back(f))
        return ST_UNSUPPORTED;
    const size_t n = fop_rows(f), M = fop_cols(f), t = s->t;
    double *r = mem_aligned(t * (n + M), sizeof *r, "the residual", err);
    double *V = r ? r + t * n : NULL;
    enum status rc = r ? fop_zp(f, t, s->w, r, s->ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < t * n; i++)
        r[i] = s->y[i] - r[i];
    for (size_t j = 0; rc == ST_OK && j < t; j++)
        for (size_t i = 0; i < M; i++)
            V[j * M + i] = -s->w[j * M + i] / (s->noise[j] * s->noise[j]);
    if (rc == ST_OK) {
        memset(s->grad, 0, s->nhp * sizeof *s->grad);
        fill_upper(M, (double)t, s->Ainv);
        rc = fop_back(f, s->Ainv, t, r, V, s->grad, s->ctl, err);
        if (rc == ST_UNSUPPORTED)
            fill_upper(M, 1.0 / (double)t, s->Ainv);
    }
    free(r);
    return rc;
}

/* grad[0 .. nhp) by share/doc/methods.md 6.6: on a device, else by one or two Z'D_i, else by
 * 6.12. */
static enum status hp_gradient(const struct slope *s, struct err *err)
{
    struct fop *f = s->f;
    const size_t n = fop_rows(f), M = fop_cols(f), t = s->t, nhp = s->nhp;
    const enum status there = nhp ? device_gradient(s, err) : ST_UNSUPPORTED;
    const bool few = nhp == 0 || (nhp <= FEW_HP && fop_has_dtile(f));
    if (there != ST_UNSUPPORTED)
        return there;
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
            rc = residual_form(f, h, r + j * n, s->w + j * M, &rzw, err);
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

/* Scale BEST: the spectrum gives the best ratio, then one Cholesky factor there the gradient. */
static enum status features_best(struct fop *f, const struct nmll_ask *q,
                                 const struct nmll_told *out, const struct ctl *ctl,
                                 struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), t = q->t ? q->t : 1;
    double *G = NULL, *A = NULL, *b = NULL, yty[TARGETS_MOST];
    bool gradient = out->grad != NULL;
    struct nmll_eig eig = { 0 };
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
    const struct nmll_system s = { .n = n, .M = M, .t = t, .G = G, .b = b, .yty = yty };
    if (rc == ST_OK)
        rc = nmll_eig_search(fop_pool(f), &s, q->within, out, ctl, &eig, err);
    if (rc == ST_OK) {
        const double ratio =
            out->noise[0] * out->noise[0] / (out->amplitude[0] * out->amplitude[0]);
        if (out->effdim != NULL)
            *out->effdim = nmll_eig_effdim(&eig, ratio);
        if (out->limited != NULL) {
            *out->limited = !isfinite(*out->value) || nmll_eig_limited(&eig, ratio, q->within);
            gradient = gradient && !*out->limited; /* the caller may try double precision first */
        }
        if (!isfinite(*out->value))
            rc = err_set(err, ST_NOT_PD, "the Gram matrix is too inexact for any noise in bounds");
    }
    if (rc == ST_OK && gradient)
        rc = best_gradient(f, q, A, b, out, ctl, err);
    nmll_eig_free(&eig);
    free(G);
    free(A);
    free(b);
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
