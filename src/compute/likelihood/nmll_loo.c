/* compute/likelihood/nmll_loo.c -- the leave-one-out error of a feature model, or its error on
 * other rows, as an objective for tuning (share/doc/methods.md 6.9, 6.16).
 *
 * With A1 = Z'Z + ratio I, h_i = z_i' A1^-1 z_i and r = y - Z A1^-1 Z'y, the prediction of row i
 * from all other rows has the error e_i = r_i / (1 - h_i) (Allen 1974).  One eigendecomposition
 * gives it for every ratio, in O(M) for each row:
 *   rows >= columns:  Z'Z = U diag(ev) U', v_i = U' z_i, g = U'Z'y:
 *                     h_i = sum_j v_ij^2 / (ev_j + ratio),  r_i = y_i - sum_j v_ij g_j / (ev_j +
 *                     ratio)
 *   rows < columns:   Z Z' = Q diag(ev) Q':  e_i = [S y]_i / S_ii,  S = Q diag(1/(ev + ratio)) Q'
 * On rows kept for validation the error is y - z' A1^-1 Z'y, with v = U' z as above.  All terms of
 * h_i are positive; 1 - h_i is kept above 1e-9.
 *
 * Several targets count by the geometric mean of their errors, so that the logarithms add as those
 * of likelihoods do.  The likelihood asks whether the data could have come from the model, this
 * objective how well the model predicts.  The two differ with few features, whose kernel is not
 * quite the one meant. */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOO_ROWS = 4096, LOO_TILE = 64, GRID = 48 }; /* sampled rows; rows of a task; log ratios */

struct loo {
    struct nmll_eig q;
    size_t n, m, k, T;     /* rows, rows of the sample, eigenvalues, targets */
    double *V;             /* k x m, a column for each sampled row: v_i, or a row of Q */
    double *y, *s, *sums;  /* T x m targets; k: 1 / (ev + ratio); T sums of e^2 for each tile */
    double *t;             /* T x k: g_j / (ev_j + ratio) */
    struct pool *pool;
    struct fop *f, *valid; /* valid: the rows to predict; NULL: those of f, each left out in turn */
    const double *U;       /* M x M eigenvectors, while V is made */
    enum status *rc;       /* of each tile */
    const struct nmll_bounds *in;
    bool bounded;          /* accept only ratios whose likeliest amplitude and noise are in
                            * bounds */
};

static void loo_free(struct loo *l)
{
    nmll_eig_free(&l->q);
    free(l->V);
    free(l->y);
    free(l->s);
    free(l->sums);
    free(l->t);
    free(l->rc);
}

/* The row of sample entry i: every (n / m)-th row. */
static size_t sample_row(const struct loo *l, size_t i)
{
    const size_t n = l->valid ? fop_rows(l->valid) : l->n;

    return l->m == n ? i : (size_t)((double)i * (double)n / (double)l->m);
}

static size_t tiles_of(size_t m)
{
    return (m + LOO_TILE - 1) / LOO_TILE;
}

/* v_i = U' z_i (k) for a tile of sampled rows. */
static void project_tile(void *ctx, size_t task, size_t worker)
{
    struct loo *l = ctx;
    const size_t i0 = task * LOO_TILE, i1 = i0 + LOO_TILE < l->m ? i0 + LOO_TILE : l->m;
    const size_t M = l->k;
    double *Z = mem_aligned((i1 - i0) * M, sizeof *Z, "a sample's features", NULL);

    (void)worker;
    l->rc[task] = Z ? ST_OK : ST_NOMEM;
    for (size_t i = i0; i < i1 && l->rc[task] == ST_OK; i++) {
        const size_t r = sample_row(l, i);
        l->rc[task] = fop_tile64(l->valid ? l->valid : l->f, r, r + 1, Z + (i - i0) * M, M, NULL);
    }
    if (l->rc[task] == ST_OK)
        blas_dgemm1(true, false, M, i1 - i0, M, 1.0, l->U, M, Z, M, 0.0, l->V + i0 * M, M);
    free(Z);
}

/* The sum of e_i^2 over a tile of sampled rows, for each target (equations at the top). */
static void error_tile(void *ctx, size_t task, size_t worker)
{
    struct loo *l = ctx;
    const size_t i0 = task * LOO_TILE, i1 = i0 + LOO_TILE < l->m ? i0 + LOO_TILE : l->m;
    double sum[TARGETS_MOST] = { 0.0 };

    (void)worker;
    for (size_t i = i0; i < i1; i++) {
        const double *v = l->V + i * l->k;
        double h = 0.0;
        for (size_t j = 0; j < l->k; j++)
            h += v[j] * v[j] * l->s[j];
        for (size_t q = 0; q < l->T; q++) {
            const double *t = l->t + q * l->k, y = l->y[q * l->m + i];
            double p = 0.0;
            for (size_t j = 0; j < l->k; j++)
                p += v[j] * t[j];
            const double e = l->valid ? y - p : l->q.dual ? p / h : (y - p) / fmax(1.0 - h, 1e-9);
            sum[q] += e * e;
        }
    }
    memcpy(l->sums + task * l->T, sum, l->T * sizeof *sum);
}

/* True when the likeliest amplitude of each target at a ratio (share/doc/methods.md 6.4), and the
 * noise that goes with it, lie within bounds.  The error of prediction alone may be least at almost
 * no noise, where no amplitude within bounds explains the data. */
static bool explained(const struct loo *l, double ratio)
{
    double amp[TARGETS_MOST];
    bool within = true;

    nmll_eig_profile(&l->q, ratio, amp);
    for (size_t q = 0; q < l->T; q++) {
        const double noise = amp[q] * sqrt(ratio);
        within = within && amp[q] >= l->in->amplitude[0] && amp[q] <= l->in->amplitude[1] &&
                 noise >= l->in->noise[0] && noise <= l->in->noise[1];
    }
    return within;
}

/* The mean squared error at a ratio (of several targets the geometric mean); +inf below the ratio
 * that rounding allows.  Tiles are added in order: the same bits for any number of threads. */
static double loo_mse(struct loo *l, double ratio)
{
    double logs = 0.0, sum = 0.0;

    if (ratio < l->q.floor || (l->bounded && !explained(l, ratio)))
        return INFINITY;
    for (size_t j = 0; j < l->k; j++) {
        l->s[j] = 1.0 / (l->q.d[j] + ratio);
        for (size_t q = 0; q < l->T; q++)
            l->t[q * l->k + j] = l->s[j] * l->q.g[q * l->k + j];
    }
    pool_run(l->pool, tiles_of(l->m), error_tile, l);
    for (size_t q = 0; q < l->T; q++) {
        sum = 0.0;
        for (size_t t = 0; t < tiles_of(l->m); t++)
            sum += l->sums[t * l->T + q];
        logs += log(sum / (double)l->m);
    }
    return l->T == 1 ? sum / (double)l->m : exp(logs / (double)l->T);
}

/* The log ratio in [lo, hi] of least error: a grid, then golden sections in the best bracket. */
static double loo_search(struct loo *l, double lo, double hi, double *mse)
{
    static const double golden = 0.61803398874989484820;
    const int steps = hi > lo ? GRID : 0;
    double at = lo;

    *mse = INFINITY;
    for (int i = 0; i <= steps; i++) {
        const double x = steps ? lo + (hi - lo) * i / steps : lo, f = loo_mse(l, exp(x));
        if (f < *mse) {
            *mse = f;
            at = x;
        }
    }
    if (!steps || !isfinite(*mse))
        return at;
    double a = fmax(lo, at - (hi - lo) / steps), b = fmin(hi, at + (hi - lo) / steps);
    double x1 = b - golden * (b - a), x2 = a + golden * (b - a);
    double f1 = loo_mse(l, exp(x1)), f2 = loo_mse(l, exp(x2));
    while (b - a > 1e-4) {
        if (f1 < f2) {
            b = x2, x2 = x1, f2 = f1;
            f1 = loo_mse(l, exp(x1 = b - golden * (b - a)));
        } else {
            a = x1, x1 = x2, f1 = f2;
            f2 = loo_mse(l, exp(x2 = a + golden * (b - a)));
        }
    }
    if (fmin(f1, f2) < *mse) {
        *mse = fmin(f1, f2);
        at = f1 < f2 ? x1 : x2;
    }
    return at;
}

/* Allocates everything of the sample and copies its targets. */
static enum status loo_alloc(struct loo *l, const double *y, struct err *err)
{
    const size_t n = l->valid ? fop_rows(l->valid) : l->n;

    l->y = mem_calloc(l->T * l->m, sizeof *l->y, "a sample's targets", err);
    l->s = l->y ? mem_calloc(l->k, sizeof *l->s, "the spectrum", err) : NULL;
    l->t = l->s ? mem_calloc(l->T * l->k, sizeof *l->t, "the spectrum", err) : NULL;
    l->sums = l->t ? mem_calloc(l->T * tiles_of(l->m), sizeof *l->sums, "partial sums", err) : NULL;
    l->rc = l->sums ? mem_calloc(tiles_of(l->m), sizeof *l->rc, "partial sums", err) : NULL;
    l->V = l->rc ? mem_aligned(l->m * l->k, sizeof *l->V, "a sample's features", err) : NULL;
    if (l->V == NULL)
        return ST_NOMEM;
    for (size_t q = 0; q < l->T; q++)
        for (size_t i = 0; i < l->m; i++)
            l->y[q * l->m + i] = y[q * n + sample_row(l, i)];
    return ST_OK;
}

/* Makes the spectrum with its eigenvectors, and V. */
static enum status loo_build(struct loo *l, struct fop *f, const double *y, const double *yvalid,
                             const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), rows = l->valid ? fop_rows(l->valid) : n;
    const bool dual = !l->valid && nmll_is_dual(n, M);
    double *G = NULL, *b = NULL, yty[TARGETS_MOST] = { 0.0 };
    enum status rc;

    l->n = n;
    l->k = dual ? n : M;
    l->m = dual || rows < LOO_ROWS ? rows : LOO_ROWS;
    l->f = f;
    l->pool = fop_pool(f);
    if (dual) {
        G = mem_aligned(n * n, sizeof *G, "the kernel matrix", err);
        for (size_t q = 0; q < l->T; q++)
            yty[q] = blas_ddot(n, y + q * n, y + q * n);
        rc = G ? nmll_dual_matrix(f, G, ctl, err) : ST_NOMEM;
    } else {
        b = mem_calloc(l->T * M, sizeof *b, "Z'y", err);
        G = b ? mem_aligned(M * M, sizeof *G, "the Gram matrix", err) : NULL;
        rc = G ? fop_gram_of(f, l->T, y, G, b, yty, ctl, err) : ST_NOMEM;
    }
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = nmll_eig_make(l->pool,
                           &(struct nmll_system){ .n = n, .M = l->k, .t = l->T, .G = G,
                                                  .b = dual ? y : b, .yty = yty, .dual = dual },
                           true, &l->q, err);
    if (rc == ST_OK)
        rc = loo_alloc(l, l->valid ? yvalid : y, err);
    if (rc == ST_OK && dual) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                l->V[j + i * n] = G[i + j * n];
    } else if (rc == ST_OK) {
        l->U = G;
        pool_run(l->pool, tiles_of(l->m), project_tile, l);
        for (size_t t = 0; t < tiles_of(l->m); t++)
            if (l->rc[t] != ST_OK)
                rc = err_set(err, l->rc[t], "the features of a sample could not be made");
    }
    free(G);
    free(b);
    return rc;
}

enum status nmll_loo(struct fop *f, const struct nmll_ask *ask, struct fop *valid,
                     const double *yvalid, const struct nmll_told *out, const struct ctl *ctl,
                     struct err *err)
{
    const struct nmll_bounds *in = ask->within;
    const size_t t = ask->t ? ask->t : 1;
    struct loo l = { .in = in, .bounded = true, .valid = valid, .T = t };
    double *amplitude = out->amplitude, *noise = out->noise, *mse = out->mse;
    enum status rc = t > TARGETS_MOST ? err_set(err, ST_RANGE, "%zu targets; 1 to %d are possible",
                                                t, TARGETS_MOST)
                     : ask->nhp > 0   ? fop_set(f, ask->hp, err)
                                      : ST_OK;

    if (rc == ST_OK && valid && ask->nhp > 0)
        rc = fop_set(valid, ask->hp, err);

    *mse = *out->value = INFINITY;
    if (rc == ST_OK)
        rc = loo_build(&l, f, ask->y, yvalid, ctl, err);
    if (rc == ST_OK) {
        const double lowest = 2.0 * log(in->noise[0] / in->amplitude[1]);
        const double highest = 2.0 * log(in->noise[1] / in->amplitude[0]);
        double at = loo_search(&l, lowest, highest, mse);
        l.bounded = isfinite(*mse);
        if (!l.bounded) /* no ratio passes, as when amplitude or noise is fixed: search them all */
            at = loo_search(&l, lowest, highest, mse);
        const double ratio = exp(at), s = exp(0.5 * at);
        const double lo = fmax(in->amplitude[0], in->noise[0] / s);
        const double hi = fmax(fmin(in->amplitude[1], in->noise[1] / s), lo);
        nmll_eig_profile(&l.q, ratio, amplitude); /* the likeliest, then clamped to the bounds */
        for (size_t q = 0; q < t; q++) {
            amplitude[q] =
                fmin(fmax(isfinite(amplitude[q]) ? amplitude[q] : in->amplitude[0], lo), hi);
            noise[q] = fmin(fmax(s * amplitude[q], in->noise[0]), in->noise[1]);
        }
        *out->value = nmll_eig_each(&l.q, amplitude, noise);
        if (out->effdim != NULL)
            *out->effdim = nmll_eig_effdim(&l.q, ratio);
        if (!isfinite(*mse))
            rc = err_set(err, ST_NOT_PD, "the Gram matrix is too inexact for any noise in bounds");
    }
    loo_free(&l);
    return rc;
}
