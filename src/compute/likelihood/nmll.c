/* compute/likelihood/nmll.c -- negative log marginal likelihood in feature space (methods.md B.2 to
 * B.4) and for the exact kernel (B.1).
 *
 * Everything is written at amplitude 1 with A1 = Z1'Z1 + ratio I, ratio = noise^2 / amplitude^2:
 *   2 NMLL = (y'y - g' A1^-1 g) / noise^2 + (n - M) log ratio + log|A1| + n log(2 pi amplitude^2)
 * with g = Z1'y.  The Gram is reduced to tridiagonal form once (a full eigendecomposition costs
 * twice as much and is only needed for display); then log|A1| and the quadratic form follow from an
 * L D L' factorisation of a shifted tridiagonal matrix, O(M) for each amplitude and noise.
 *
 * Several targets share the kernel and the ratio: one factorisation serves all, each has its own
 * quadratic form and with it its own amplitude, and the values add up. */
#include "compute/likelihood/nmll.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/likelihood/nmll_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LOG_2PI = 1.8378770664093454836;

/* The spectrum. */

void nmll_eig_free(struct nmll_eig *eig)
{
    if (eig == NULL)
        return;
    free(eig->d);
    free(eig->e);
    free(eig->g);
    free(eig->yty);
    nmll_there_free(eig->there);
    *eig = (struct nmll_eig){ 0 };
}

/* How many eigenvalues of the tridiagonal form lie below x: negative pivots of T - x I. */
static size_t count_below(const struct nmll_eig *q, double x)
{
    size_t below = 0;
    double delta = 1.0;

    for (size_t i = 0; i < q->M; i++) {
        delta = q->d[i] - x - (i ? q->e[i - 1] * (q->e[i - 1] / delta) : 0.0);
        if (delta == 0.0)
            delta = -DBL_MIN; /* the limit from above, as good as any */
        below += delta < 0.0;
    }
    return below;
}

/* A Gram has no negative eigenvalue; how far rounding has pushed one says how far it has moved all
 * of them.  Close to that the terms y'y - g'A^-1 g and log|A| cancel into anything: a spurious
 * optimum of noise 1e-3 was found there.  Ten times as much is safe: no eigenvalue of G + ratio I
 * is then wrong by more than a tenth. */
static const double floor_factor = 10.0;

static double ratio_floor(const struct nmll_eig *q)
{
    double lo = 0.0, hi = 0.0;

    if (q->e == NULL || count_below(q, 0.0) == 0)
        return 0.0;
    for (size_t i = 0; i < q->M; i++) { /* Gershgorin */
        const double left = i ? fabs(q->e[i - 1]) : 0.0;
        const double right = i + 1 < q->M ? fabs(q->e[i]) : 0.0;
        lo = fmin(lo, q->d[i] - left - right);
    }
    for (int k = 0; k < 100 && hi - lo > -0.02 * lo; k++) {
        const double mid = 0.5 * (lo + hi);
        if (count_below(q, mid) > 0)
            hi = mid;
        else
            lo = mid;
    }
    return -floor_factor * lo;
}

static enum status eig_full(struct nmll_eig *out, double *G, const double *b, struct err *err)
{
    const size_t M = out->M;
    enum status rc = blas_dsyevd(M, G, M, out->d, true, err);

    if (rc != ST_OK)
        return rc;
    out->floor = -floor_factor * fmin(M ? out->d[0] : 0.0, 0.0);
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < out->t; j++)
            out->g[j * M + i] = blas_ddot(M, G + i * M, b + j * M);
        out->d[i] = fmax(out->d[i], 0.0);
    }
    return ST_OK;
}

enum status nmll_eig_from(struct pool *pool, size_t n, size_t M, double *G, const double *b,
                          double yty, bool dual, bool want_eigen, struct nmll_eig *out,
                          struct err *err)
{
    return nmll_eig_of(pool, n, M, G, 1, b, &yty, dual, want_eigen, out, err);
}

enum status nmll_eig_of(struct pool *pool, size_t n, size_t M, double *G, size_t t,
                        const double *b, const double *yty, bool dual, bool want_eigen,
                        struct nmll_eig *out, struct err *err)
{
    enum status rc;

    *out = (struct nmll_eig){ .n = n, .M = M, .t = t, .dual = dual };
    if (t == 0 || t > TARGETS_MOST)
        return err_set(err, ST_RANGE, "%zu targets; 1 to %d are possible", t, TARGETS_MOST);
    out->yty = mem_calloc(t, sizeof *out->yty, "the spectrum", err);
    out->d = out->yty ? mem_calloc(M, sizeof *out->d, "the spectrum", err) : NULL;
    out->g = out->d ? mem_calloc(t * M, sizeof *out->g, "the spectrum", err) : NULL;
    if (out->g != NULL && !want_eigen)
        out->e = mem_calloc(M, sizeof *out->e, "the spectrum", err);
    if (out->g == NULL || (!want_eigen && out->e == NULL)) {
        nmll_eig_free(out);
        return ST_NOMEM;
    }
    memcpy(out->yty, yty, t * sizeof *yty);
    if (want_eigen) {
        rc = eig_full(out, G, b, err);
    } else {
        memcpy(out->g, b, t * M * sizeof *b);
        rc = blas_tridiag(pool, M, G, M, out->d, out->e, t, out->g, M, err);
        if (rc == ST_OK)
            out->floor = ratio_floor(out);
    }
    if (rc != ST_OK)
        nmll_eig_free(out);
    return rc;
}

/* The same without a spectrum, where factors are made on a device, and quicker: G stays as it is.
 * False: they are not. */
static bool eig_there(size_t n, size_t M, const double *G, size_t t, const double *b,
                      const double *yty, bool dual, const struct ctl *ctl, struct nmll_eig *out)
{
    *out = (struct nmll_eig){ .n = n, .M = M, .t = t, .dual = dual };
    out->there = t && t <= TARGETS_MOST ? nmll_there_new(M, G, t, b, ctl) : NULL;
    out->yty = out->there ? mem_calloc(t, sizeof *out->yty, "the spectrum", NULL) : NULL;
    if (out->yty) {
        memcpy(out->yty, yty, t * sizeof *yty);
        return true;
    }
    nmll_eig_free(out);
    return false;
}

/* The Gram, Z'y and y'y of the operator as it is set; G is M x M, b t vectors of M, yty t long. */
static enum status gram_alloc(struct fop *f, size_t t, const double *y, double **G, double **b,
                              double *yty, const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f);

    if (t == 0 || t > TARGETS_MOST)
        return err_set(err, ST_RANGE, "%zu targets; 1 to %d are possible", t, TARGETS_MOST);
    *b = mem_calloc(t * M, sizeof **b, "Z'y", err);
    *G = *b ? mem_aligned(M * M, sizeof **G, "the Gram matrix", err) : NULL;
    if (*G == NULL)
        return ST_NOMEM;
    return fop_gram_of(f, t, y, *G, *b, yty, ctl, err);
}

enum status nmll_eig_build(struct fop *f, const double *y, bool want_eigen, const struct ctl *ctl,
                           struct nmll_eig *out, struct err *err)
{
    double *G = NULL, *b = NULL, yty = 0.0;

    *out = (struct nmll_eig){ 0 };
    enum status rc = gram_alloc(f, 1, y, &G, &b, &yty, ctl, err);
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = nmll_eig_from(fop_pool(f), fop_rows(f), fop_cols(f), G, b, yty, false, want_eigen,
                           out, err);
    free(G);
    free(b);
    return rc;
}

/* Sum of logarithms without a logarithm per term: the product is kept as mantissa and exponent. */
struct logsum { double mant; long expo; };
static void logsum_mul(struct logsum *s, double x)
{
    s->mant *= x;
    if (s->mant > 1e100 || s->mant < 1e-100) {
        int k;
        s->mant = frexp(s->mant, &k);
        s->expo += k;
    }
}
static double logsum_value(const struct logsum *s)
{
    return log(s->mant) + (double)s->expo * 0.69314718055994530942;
}

/* log|A1|, g' A1^-1 g of each target and tr A1^-1 at a ratio; false when A1 is not positive
 * definite there, or only by accident. */
static bool eig_moments(const struct nmll_eig *q, double ratio, double *logdet, double *quad,
                        double *trace)
{
    struct logsum ls = { 1.0, 0 };
    double tr = 0.0, delta = 1.0, ddelta = 0.0, u[TARGETS_MOST] = { 0.0 };
    bool finite = true;

    if (q->there)
        return nmll_there_moments(q->there, q->M, q->t, ratio, logdet, quad, trace);
    if (ratio < q->floor)
        return false;
    memset(quad, 0, q->t * sizeof *quad);
    for (size_t i = 0; i < q->M; i++) {
        double l = 0.0;
        if (q->e != NULL && i > 0) { /* delta_i and its derivative in the ratio */
            l = q->e[i - 1] / delta;
            ddelta = 1.0 + l * l * ddelta;
            delta = q->d[i] + ratio - l * q->e[i - 1];
        } else {
            ddelta = 1.0;
            delta = q->d[i] + ratio;
        }
        if (!(delta > nmll_pivot_share * ratio) || !isfinite(delta))
            return false;
        logsum_mul(&ls, delta);
        for (size_t j = 0; j < q->t; j++) {
            u[j] = q->g[j * q->M + i] - l * u[j];
            quad[j] += u[j] * u[j] / delta;
        }
        tr += ddelta / delta;
    }
    *logdet = logsum_value(&ls);
    if (trace != NULL)
        *trace = tr;
    for (size_t j = 0; j < q->t; j++)
        finite = finite && isfinite(quad[j]);
    return isfinite(*logdet) && finite;
}

/* At amplitude 1: c = y' (K1 + ratio I)^-1 y of each target and the log determinant of
 * K1 + ratio I. */
static bool eig_terms(const struct nmll_eig *q, double ratio, double *c, double *logdet)
{
    bool good = true;

    if (!(ratio > 0.0) || !eig_moments(q, ratio, logdet, c, NULL))
        return false;
    for (size_t j = 0; j < q->t; j++) {
        if (!q->dual)
            c[j] = (q->yty[j] - c[j]) / ratio;
        good = good && c[j] > 0.0 && isfinite(c[j]);
    }
    if (!q->dual)
        *logdet += ((double)q->n - (double)q->M) * log(ratio);
    return good;
}

double nmll_from_terms(double n, double c, double logdet, double amplitude)
{
    const double b2 = amplitude * amplitude;
    return 0.5 * (c / b2 + logdet + n * (LOG_2PI + log(b2)));
}

double nmll_eig_each(const struct nmll_eig *q, const double *amplitude, const double *noise)
{
    double c[TARGETS_MOST], logdet, sum = 0.0;

    if (!eig_terms(q, noise[0] * noise[0] / (amplitude[0] * amplitude[0]), c, &logdet))
        return INFINITY;
    for (size_t j = 0; j < q->t; j++)
        sum += nmll_from_terms((double)q->n, c[j], logdet, amplitude[j]);
    return sum;
}

double nmll_eig_at(const struct nmll_eig *q, double amplitude, double noise)
{
    double a[TARGETS_MOST], s[TARGETS_MOST];

    for (size_t j = 0; j < q->t; j++) {
        a[j] = amplitude;
        s[j] = noise;
    }
    return nmll_eig_each(q, a, s);
}

double nmll_eig_profile(const struct nmll_eig *q, double ratio, double *amplitude)
{
    double c[TARGETS_MOST], logdet, sum = 0.0;

    for (size_t j = 0; j < q->t; j++)
        amplitude[j] = NAN;
    if (!eig_terms(q, ratio, c, &logdet))
        return INFINITY;
    for (size_t j = 0; j < q->t; j++) {
        amplitude[j] = sqrt(c[j] / (double)q->n);
        sum += nmll_from_terms((double)q->n, c[j], logdet, amplitude[j]);
    }
    return sum;
}

double nmll_eig_effdim(const struct nmll_eig *q, double ratio)
{
    double logdet, quad[TARGETS_MOST], trace;

    if (!eig_moments(q, ratio, &logdet, quad, &trace))
        return (double)q->M;
    return (double)q->M - ratio * trace;
}

double nmll_best_amplitude(double n, double c, double s, const double ab[2], const double nb[2])
{
    const double lo = fmax(ab[0], nb[0] / s), hi = fmin(ab[1], nb[1] / s);

    return fmin(fmax(sqrt(c / n), lo), fmax(hi, lo));
}

static double best_at_ratio(const struct nmll_eig *q, double log_ratio, const double ab[2],
                            const double nb[2], double *amplitude)
{
    const double s = exp(0.5 * log_ratio);
    double c[TARGETS_MOST], logdet, sum = 0.0;

    for (size_t j = 0; j < q->t; j++)
        amplitude[j] = fmin(fmax(ab[0], nb[0] / s), ab[1]);
    if (!eig_terms(q, s * s, c, &logdet))
        return INFINITY;
    for (size_t j = 0; j < q->t; j++) {
        amplitude[j] = nmll_best_amplitude((double)q->n, c[j], s, ab, nb);
        sum += nmll_from_terms((double)q->n, c[j], logdet, amplitude[j]);
    }
    return sum;
}

/* Everywhere: a grid, then golden sections in the best bracket. */
static double search_all(const struct nmll_eig *q, double lo, double hi, const double ab[2],
                         const double nb[2], double *where)
{
    enum { GRID = 72 };
    static const double golden = 0.61803398874989484820;
    double best = INFINITY, at = lo, a[TARGETS_MOST];
    const size_t steps = hi > lo ? GRID : 0;

    for (size_t i = 0; i <= steps; i++) {
        const double x = steps ? lo + (hi - lo) * (double)i / (double)steps : lo;
        const double f = best_at_ratio(q, x, ab, nb, a);
        if (f < best) {
            best = f;
            at = x;
        }
    }
    if (steps && isfinite(best)) {
        const double h = (hi - lo) / (double)steps;
        double x0 = fmax(lo, at - h), x3 = fmin(hi, at + h);
        double x1 = x3 - golden * (x3 - x0), x2 = x0 + golden * (x3 - x0);
        double f1 = best_at_ratio(q, x1, ab, nb, a), f2 = best_at_ratio(q, x2, ab, nb, a);
        while (x3 - x0 > 1e-9 * (1.0 + fabs(x1))) {
            if (f1 < f2) {
                x3 = x2, x2 = x1, f2 = f1;
                x1 = x3 - golden * (x3 - x0);
                f1 = best_at_ratio(q, x1, ab, nb, a);
            } else {
                x0 = x1, x1 = x2, f1 = f2;
                x2 = x0 + golden * (x3 - x0);
                f2 = best_at_ratio(q, x2, ab, nb, a);
            }
        }
        if (fmin(f1, f2) < best) {
            best = fmin(f1, f2);
            at = f1 < f2 ? x1 : x2;
        }
    }
    *where = at;
    return best;
}

struct at_ratio { const struct nmll_eig *q; const double *ab, *nb; };

static double value_at_ratio(void *ctx, double log_ratio)
{
    const struct at_ratio *r = ctx;
    double a[TARGETS_MOST];

    return best_at_ratio(r->q, log_ratio, r->ab, r->nb, a);
}

double nmll_eig_best(const struct nmll_eig *q, const double ab[2], const double nb[2],
                     double *amplitude, double *noise)
{
    const double lo = 2.0 * log(nb[0] / ab[1]), hi = 2.0 * log(nb[1] / ab[0]);
    struct at_ratio r = { q, ab, nb };
    double at, best;

    if (q->there) {
        const double start =
            amplitude[0] > 0.0 && noise[0] > 0.0 ? 2.0 * log(noise[0] / amplitude[0]) : NAN;
        best = nmll_search_few(value_at_ratio, &r, lo, hi, start, &at);
    } else {
        best = search_all(q, lo, hi, ab, nb, &at);
    }
    for (size_t j = 0; j < q->t; j++)
        amplitude[j] = ab[0];
    if (isfinite(best))
        best_at_ratio(q, at, ab, nb, amplitude);
    for (size_t j = 0; j < q->t; j++)
        noise[j] = fmin(fmax(exp(0.5 * at) * amplitude[j], nb[0]), nb[1]);
    return best;
}

/* Value and gradient in feature space. */

struct hp_grad {
    size_t M, ihp, rows;
    struct fop *f;
    const double *w, *r;
    double *part;        /* per tile: r' dZ w */
    enum status *rc;
};

enum { GRAD_ROWS = 128 };

/* r' (dZ/dlog hp) w over one tile of rows. */
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

enum status nmll_chol(struct pool *pool, size_t M, double *A, double ratio, size_t t,
                      const double *g, bool invert, struct nmll_chol *p, const struct ctl *ctl,
                      struct err *err)
{
    enum status rc = blas_dpotrf(pool, M, A, M, ctl, NULL, err);

    if (rc != ST_OK)
        return rc;
    p->logdet = 0.0;
    for (size_t i = 0; i < M; i++) {
        const double l = A[i + i * M];
        if (l * l < nmll_pivot_share * ratio)
            return err_set(err, ST_NOT_PD, "rounding in the %zu x %zu matrix is as large as the "
                           "noise (ratio %.3g)", M, M, ratio);
        p->logdet += 2.0 * log(l);
    }
    memcpy(p->w, g, t * M * sizeof *g);
    rc = blas_dtrsm(pool, false, M, t, A, M, p->w, M, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(pool, true, M, t, A, M, p->w, M, err);
    if (rc != ST_OK)
        return rc;
    for (size_t j = 0; j < t; j++) {
        p->quad[j] = blas_ddot(M, g + j * M, p->w + j * M);
        p->wtw[j] = blas_ddot(M, p->w + j * M, p->w + j * M);
    }
    p->trace = 0.0;
    if (invert) {
        rc = blas_dpotri(pool, M, A, M, err);
        for (size_t i = 0; rc == ST_OK && i < M; i++)
            p->trace += A[i + i * M];
    }
    return rc;
}

/* tr(S C), S symmetric with its lower triangle given, C full, both M x M column-major; by blocks,
 * because C is read along rows as well as columns. */
struct trace_job { size_t M; const double *S, *C; double *part; };
enum { TRACE_COLS = 64 };
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
            for (size_t i = i0 == j0 ? j + 1 : i0; i < i1; i++) /* S_ij (C_ij + C_ji) */
                sum += t->S[i + j * M] * (t->C[i + j * M] + t->C[j + i * M]);
        }
    }
    t->part[task] = sum;
}
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

/* All hyperparameters at once. */

enum { BACK_ROWS = 192, BACK_MOST = 1 << 20, FEW_HP = 2 };

struct back {
    struct fop *f;
    size_t n, M, nhp, t, rows;  /* rows: of a tile */
    const double *Ainv, *w,
        *r; /* full symmetric M x M; t weights; residuals over the noise variance */
    const float *Ainv32;        /* Ainv where features are single; else NULL */
    double *part;               /* per task: nhp */
    enum status *rc;
    const struct ctl *ctl;
};

/* t Z A^-1 for a tile, in the precision of the features: an element of it is as good as they are,
 * and the sum over all elements better. */
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

/* B = t Z A^-1 - sum of r w' / noise^2 for a tile of rows, and its sum with all dZ_i. */
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

/* The whole matrix from its lower triangle, times a. */
static void fill_upper(size_t M, double a, double *S)
{
    for (size_t j = 0; j < M; j++) {
        S[j + j * M] *= a;
        for (size_t i = j + 1; i < M; i++)
            S[j + i * M] = S[i + j * M] *= a;
    }
}

/* Both triangles from the lower one, and in single precision too where the features are. */
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

/* The gradient of hp_gradient in two products of n M^2, whatever the number of hyperparameters.  r
 * is destroyed; Ainv becomes full. */
static enum status back_gradient(struct fop *f, size_t t, size_t nhp, double *Ainv,
                                 const double *w, double *r, const double *noise, double *grad,
                                 const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f);
    const size_t most = BACK_MOST / M > 64 ? BACK_MOST / M : 64,
                 rows = most < BACK_ROWS ? most : BACK_ROWS;
    const size_t tasks = (n + rows - 1) / rows;
    struct back b = {
        .f = f, .n = n, .M = M, .nhp = nhp, .t = t, .rows = rows, .w = w, .r = r, .ctl = ctl};
    float *single = NULL;
    enum status rc = back_inverse(&b, Ainv, &single, err);

    if (rc != ST_OK)
        return rc;
    b.part = mem_calloc(tasks * nhp, sizeof *b.part, "partial sums", err);
    b.rc = b.part ? mem_calloc(tasks, sizeof *b.rc, "partial sums", err) : NULL;
    if (b.rc == NULL) {
        free(b.part);
        free(single);
        return ST_NOMEM;
    }
    for (size_t j = 0; j < t; j++)
        blas_dscal(n, 1.0 / (noise[j] * noise[j]), r + j * n);
    pool_run(fop_pool(f), tasks, back_task, &b);
    memset(grad, 0, nhp * sizeof *grad);
    for (size_t i = 0; rc == ST_OK && i < tasks; i++) {
        if (b.rc[i] != ST_OK)
            rc = err_set(err, b.rc[i], "the features' derivatives could not be computed");
        for (size_t h = 0; h < nhp; h++)
            grad[h] += b.part[i * nhp + h];
    }
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    free(b.part);
    free(b.rc);
    free(single);
    return rc;
}

/* hp_gradient where the features are, on a device; UNSUPPORTED: there is none, and Ainv is as it
 * was. */
static enum status device_gradient(struct fop *f, size_t t, const double *y, size_t nhp,
                                   double *Ainv, const double *w, const double *noise, double *grad,
                                   const struct ctl *ctl, struct err *err)
{
    if (!fop_has_back(f))
        return ST_UNSUPPORTED;
    const size_t n = fop_rows(f), M = fop_cols(f);
    double *r = mem_aligned(t * (n + M), sizeof *r, "the residual", err);
    double *V = r ? r + t * n : NULL;
    enum status rc = r ? fop_zp(f, t, w, r, ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < t * n; i++)
        r[i] = y[i] - r[i];
    for (size_t j = 0; rc == ST_OK && j < t; j++)
        for (size_t i = 0; i < M; i++)
            V[j * M + i] = -w[j * M + i] / (noise[j] * noise[j]);
    if (rc == ST_OK) {
        memset(grad, 0, nhp * sizeof *grad);
        fill_upper(M, (double)t, Ainv);
        rc = fop_back(f, Ainv, t, r, V, grad, ctl, err);
        if (rc == ST_UNSUPPORTED)
            fill_upper(M, 1.0 / (double)t, Ainv);
    }
    free(r);
    return rc;
}

/* dNMLL/dlog hp_i = -(r' Zd w)/lam2 + tr(A^-1 Z' Zd) (B.2), for every i, summed over t targets of
 * noise[j] each; Ainv is A1^-1 (lower), w the weights at amplitude 1, so that Zd w and A^-1 Z'Zd
 * are those of amplitude 1 too. */
static enum status hp_gradient(struct fop *f, size_t t, const double *y, size_t nhp, double *Ainv,
                               const double *w, const double *noise, double *grad,
                               const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f);
    const enum status there = nhp ? device_gradient(f, t, y, nhp, Ainv, w, noise, grad, ctl, err)
                                  : ST_UNSUPPORTED;
    const bool few = nhp == 0 || (nhp <= FEW_HP && fop_has_dtile(f));
    if (there != ST_UNSUPPORTED)
        return there;
    double *r = mem_calloc(t * n, sizeof *r, "the residual", err);
    double *C = r && few ? mem_aligned(M * M, sizeof *C, "the gradient's matrix", err) : NULL;
    enum status rc = r && (C || !few) ? fop_zp(f, t, w, r, ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < t * n; i++)
        r[i] = y[i] - r[i];
    if (rc == ST_OK && !few)
        rc = back_gradient(f, t, nhp, Ainv, w, r, noise, grad, ctl, err);
    for (size_t h = 0; few && rc == ST_OK && h < nhp; h++) {
        double rzw = 0.0, tr = 0.0;
        rc = fop_dgram(f, h, C, ctl, err);
        if (rc == ST_OK)
            rc = trace_product(fop_pool(f), M, Ainv, C, &tr, err);
        grad[h] = (double)t * tr;
        for (size_t j = 0; rc == ST_OK && j < t; j++) {
            rc = residual_form(f, h, r + j * n, w + j * M, &rzw, err);
            grad[h] -= rzw / (noise[j] * noise[j]);
        }
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
    }
    free(r);
    free(C);
    return rc;
}

enum status nmll_features(struct fop *f, const double *y, const double *hp, size_t nhp,
                          double amplitude, double noise, double *value, double *grad,
                          double *effdim, const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f);
    const double b2 = amplitude * amplitude, ratio = noise * noise / b2;
    double *G = NULL, *b = NULL, yty = 0.0;
    struct nmll_chol p = { .w = NULL };

    if (!(amplitude > 0.0) || !(noise > 0.0) || !(ratio > 0.0) || !isfinite(ratio))
        return err_set(err, ST_RANGE, "amplitude %g and noise %g must be positive", amplitude,
                       noise);
    enum status rc = nhp > 0 ? fop_set(f, hp, err) : ST_OK;
    if (rc == ST_OK)
        rc = gram_alloc(f, 1, y, &G, &b, &yty, ctl, err);
    if (rc == ST_OK && (p.w = mem_calloc(M, sizeof *p.w, "the weights", err)) == NULL)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < M; i++)
        G[i + i * M] += ratio;
    if (rc == ST_OK)
        rc = nmll_chol(fop_pool(f), M, G, ratio, 1, b, grad != NULL, &p, ctl, err);
    if (effdim != NULL)
        *effdim = rc == ST_OK && grad != NULL ? (double)M - ratio * p.trace : NAN;
    if (rc == ST_OK) {
        const double c = (yty - p.quad[0]) / ratio;
        *value = nmll_from_terms((double)n, c,
                                 p.logdet + ((double)n - (double)M) * log(ratio), amplitude);
        if (!(c > 0.0))
            rc = err_set(err, ST_NOT_PD, "the Gram matrix is indefinite at noise ratio %.3g",
                         ratio);
    }
    if (rc == ST_OK && grad != NULL) {
        const double rr = yty - p.quad[0] - ratio * p.wtw[0]; /* r'r, r = y - Z w */
        grad[nhp] = -p.wtw[0] / b2 + (double)M - ratio * p.trace;
        grad[nhp + 1] = -rr / (noise * noise) + ((double)n - (double)M) + ratio * p.trace;
        rc = hp_gradient(f, 1, y, nhp, G, p.w, &noise, grad, ctl, err);
    }
    free(G);
    free(b);
    free(p.w);
    return rc;
}

/* Whether rounding leaves a ratio its value (ratio_floor), by a factor at a tenth of it. */
static bool there_is_safe(const struct nmll_eig *q, double ratio)
{
    double logdet, quad[TARGETS_MOST];

    return nmll_there_moments(q->there, q->M, q->t, ratio / floor_factor, &logdet, quad, NULL);
}

/* Amplitude and noise by whichever is quicker; what fails on the device the processor does, from G,
 * which it destroys.  *q is freed by the caller. */
static enum status eig_and_best(struct pool *pool, size_t n, size_t M, double *G, size_t t,
                                const double *b, const double *yty, bool dual, const double ab[2],
                                const double nb[2], double *value, double *amplitude, double *noise,
                                const struct ctl *ctl, struct nmll_eig *q, struct err *err)
{
    if (eig_there(n, M, G, t, b, yty, dual, ctl, q)) {
        *value = nmll_eig_best(q, ab, nb, amplitude, noise);
        const bool safe = isfinite(*value) &&
                          there_is_safe(q, noise[0] * noise[0] / (amplitude[0] * amplitude[0]));
        const enum status rc = nmll_there_said(q->there, err);
        if (rc == ST_CANCELLED || (rc == ST_OK && safe))
            return rc;
        nmll_eig_free(q); /* the form knows where rounding begins */
    }
    const enum status rc = nmll_eig_of(pool, n, M, G, t, b, yty, dual, false, q, err);
    if (rc == ST_OK)
        *value = nmll_eig_best(q, ab, nb, amplitude, noise);
    return rc;
}

/* Rounding limits the answer when what it forbids is this near the best log ratio. */
static const double wall_near = 1.4;

static bool rounding_limits(const struct nmll_eig *q, double ratio, const double ab[2],
                            const double nb[2])
{
    const double less = log(ratio) - wall_near, lowest = 2.0 * log(nb[0] / ab[1]);
    double amplitude[TARGETS_MOST];

    if (less <= lowest)
        return false;
    return !isfinite(best_at_ratio(q, less, ab, nb, amplitude)) ||
           (q->there && !there_is_safe(q, exp(less)));
}

enum status nmll_features_best(struct fop *f, size_t t, const double *y, const double *hp,
                               size_t nhp, const double ab[2], const double nb[2], double *value,
                               double *amplitude, double *noise, double *grad, double *effdim,
                               bool *limited, const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f);
    double *G = NULL, *A = NULL, *b = NULL, yty[TARGETS_MOST], ratio = 0.0;
    struct nmll_eig q = { 0 };
    struct nmll_chol p = { .w = NULL };
    enum status rc = nhp > 0 ? fop_set(f, hp, err) : ST_OK;

    *value = INFINITY;
    if (limited != NULL)
        *limited = false;
    if (rc == ST_OK && nmll_is_dual(n, M))
        return nmll_dual_best(f, t, y, nhp, ab, nb, value, amplitude, noise, grad, effdim, ctl,
                              err);
    if (rc == ST_OK)
        rc = gram_alloc(f, t, y, &G, &b, yty, ctl, err);
    if (rc == ST_OK && grad != NULL) { /* the reduction destroys its input */
        A = mem_aligned(M * M, sizeof *A, "the Gram matrix", err);
        p.w = A ? mem_calloc(t * M, sizeof *p.w, "the weights", err) : NULL;
        rc = p.w ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && grad != NULL)
        memcpy(A, G, M * M * sizeof *A);
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = eig_and_best(fop_pool(f), n, M, G, t, b, yty, false, ab, nb, value, amplitude, noise,
                          ctl, &q, err);
    if (rc == ST_OK) {
        ratio = noise[0] * noise[0] / (amplitude[0] * amplitude[0]);
        if (effdim != NULL)
            *effdim = nmll_eig_effdim(&q, ratio);
        if (limited != NULL && (*limited = !isfinite(*value) || rounding_limits(&q, ratio, ab, nb)))
            grad = NULL; /* not worth its time: the caller may want more digits */
        if (!isfinite(*value))
            rc = err_set(err, ST_NOT_PD, "the Gram matrix is too inexact for any noise in bounds");
    }
    for (size_t i = 0; rc == ST_OK && grad != NULL && i < M; i++)
        A[i + i * M] += ratio;
    if (rc == ST_OK && grad != NULL)
        rc = nmll_chol(fop_pool(f), M, A, ratio, t, b, true, &p, ctl, err);
    if (rc == ST_OK && grad != NULL)
        rc = hp_gradient(f, t, y, nhp, A, p.w, noise, grad, ctl, err);
    nmll_eig_free(&q);
    free(G);
    free(A);
    free(b);
    free(p.w);
    return rc;
}

/* The exact kernel. */

void nmll_pick_scale(size_t t, double n, const double *c, double ratio, const double ab[2],
                     const double nb[2], double *amplitude, double *noise)
{
    const double s = sqrt(ratio);

    for (size_t j = 0; j < t; j++) {
        amplitude[j] = nmll_best_amplitude(n, c[j], s, ab, nb);
        noise[j] = s * amplitude[j];
    }
}

double nmll_moving_scale(size_t t, double n, const double *c, double ratio, const double ab[2],
                         const double nb[2], const double *amplitude)
{
    const double s = sqrt(ratio);
    double sum = 0.0;

    for (size_t j = 0; j < t;
         j++) { /* dV/dlog amplitude = n - c / amplitude^2; amplitude ~ 1 / s */
        const double free = sqrt(c[j] / n);
        const bool held = (free < nb[0] / s && nb[0] / s >= ab[0]) ||
                          (free > nb[1] / s && nb[1] / s <= ab[1]);
        if (held)
            sum -= n - c[j] / (amplitude[j] * amplitude[j]);
    }
    return sum;
}

/* One factorisation for t targets.  Without bounds (ab NULL) amplitude and noise are as given, and
 * grad ends with their two derivatives (of one target); with them they are found at the ratio, and
 * grad ends with that in the logarithm of noise over amplitude. */
static enum status exact_value(const struct kernel *k, const struct source *src, size_t t,
                               const double *y, const double *hp, double ratio, const double *ab,
                               const double *nb, double *amplitude, double *noise, double *value,
                               double *grad, double *effdim, struct pool *pool,
                               const struct ctl *ctl, struct err *err)
{
    const size_t n = src->n, nhp = kernel_nhp(k);
    struct nmll_chol p = { .w = NULL };
    double *X = NULL, *K = NULL;
    enum status rc = exact_allowed(n, 1, 0, err);

    if (rc != ST_OK)
        return rc;
    X = exact_inputs(src, err);
    p.w = X ? mem_calloc(t * n, sizeof *p.w, "the weights", err) : NULL;
    K = p.w ? mem_aligned(n * n, sizeof *K, "the kernel matrix", err) : NULL;
    rc = K ? exact_matrix(&(struct exact_rows){.k = k,
                                               .hp = hp,
                                               .X = X,
                                               .n = n,
                                               .d = src->d,
                                               .row_scale = src->row_scale,
                                               .pool = pool},
                          ratio, K, ctl, err)
           : ST_NOMEM;
    if (rc == ST_OK)
        rc = nmll_chol(pool, n, K, ratio, t, y, grad != NULL, &p, ctl, err);
    if (effdim != NULL)
        *effdim = rc == ST_OK && grad != NULL ? (double)n - ratio * p.trace : NAN;
    if (rc == ST_OK && ab != NULL)
        nmll_pick_scale(t, (double)n, p.quad, ratio, ab, nb, amplitude, noise);
    *value = rc == ST_OK ? 0.0 : *value;
    for (size_t j = 0; rc == ST_OK && j < t; j++)
        *value += nmll_from_terms((double)n, p.quad[j], p.logdet, amplitude[j]);
    if (rc == ST_OK &&
        grad != NULL) { /* 1/2 tr((Ky^-1 - alpha alpha') dKy), Ky = b2 (K1 + ratio I) */
        double total = 0.0, noisy = 0.0; /* total: tr of all, dKy = Ky */
        for (size_t j = 0; j < t; j++) {
            const double b2 = amplitude[j] * amplitude[j];
            total += (double)n - p.quad[j] / b2;
            noisy += ratio * p.trace - ratio * p.wtw[j] / b2;
        }
        grad[nhp] = ab == NULL ? total - noisy
                               : noisy + nmll_moving_scale(t, (double)n, p.quad, ratio, ab, nb,
                                                           amplitude);
        if (ab == NULL)
            grad[nhp + 1] = noisy;
        for (size_t j = 0; j < n; j++)
            for (size_t i = j; i < n; i++) {
                double ww = 0.0;
                for (size_t q = 0; q < t; q++)
                    ww += p.w[q * n + i] * p.w[q * n + j] / (amplitude[q] * amplitude[q]);
                K[i + j * n] = (double)t * K[i + j * n] - ww;
            }
        rc = exact_contract(&(struct exact_rows){.k = k,
                                                 .hp = hp,
                                                 .X = X,
                                                 .n = n,
                                                 .d = src->d,
                                                 .row_scale = src->row_scale,
                                                 .pool = pool},
                            K, grad, ctl, err);
        for (size_t h = 0; h < nhp; h++)
            grad[h] *= 0.5;
    }
    free(X);
    free(K);
    free(p.w);
    return rc;
}

enum status nmll_exact(const struct kernel *k, const struct source *src, const double *y,
                       const double *hp, double amplitude, double noise, double *value,
                       double *grad, double *effdim, struct pool *pool, const struct ctl *ctl,
                       struct err *err)
{
    const double ratio = noise * noise / (amplitude * amplitude);

    if (!(ratio > 0.0) || !isfinite(ratio))
        return err_set(err, ST_RANGE, "amplitude %g and noise %g must be positive", amplitude,
                       noise);
    return exact_value(k, src, 1, y, hp, ratio, NULL, NULL, &amplitude, &noise, value, grad,
                       effdim, pool, ctl, err);
}

enum status nmll_exact_at(const struct kernel *k, const struct source *src, size_t t,
                          const double *y, const double *hp, double ratio, const double ab[2],
                          const double nb[2], double *value, double *amplitude, double *noise,
                          double *grad, double *effdim, struct pool *pool, const struct ctl *ctl,
                          struct err *err)
{
    if (!(ratio > 0.0) || !isfinite(ratio) || t == 0 || t > TARGETS_MOST)
        return err_set(err, ST_RANGE, "noise ratio %g must be positive, targets 1 to %d", ratio,
                       TARGETS_MOST);
    return exact_value(k, src, t, y, hp, ratio, ab, nb, amplitude, noise, value, grad, effdim, pool,
                       ctl, err);
}

enum status nmll_exact_best(const struct kernel *k, const struct source *src, size_t t,
                            const double *y, const double *hp, const double ab[2],
                            const double nb[2], double *value, double *amplitude, double *noise,
                            double *effdim, struct pool *pool, const struct ctl *ctl,
                            struct err *err)
{
    const size_t n = src->n;
    struct nmll_eig q = { 0 };
    double yty[TARGETS_MOST] = { 0.0 };
    enum status rc = exact_allowed(n, 1, 0, err);

    if (rc != ST_OK)
        return rc;
    double *X = exact_inputs(src, err);
    double *K = X ? mem_aligned(n * n, sizeof *K, "the kernel matrix", err) : NULL;
    rc = K ? exact_matrix(&(struct exact_rows){.k = k,
                                               .hp = hp,
                                               .X = X,
                                               .n = n,
                                               .d = src->d,
                                               .row_scale = src->row_scale,
                                               .pool = pool},
                          0.0, K, ctl, err)
           : ST_NOMEM;
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    for (size_t j = 0; rc == ST_OK && j < t && j < TARGETS_MOST; j++)
        yty[j] = blas_ddot(n, y + j * n, y + j * n);
    if (rc == ST_OK)
        rc = eig_and_best(pool, n, n, K, t, y, yty, true, ab, nb, value, amplitude, noise, ctl, &q,
                          err);
    if (rc == ST_OK) {
        if (effdim != NULL)
            *effdim = nmll_eig_effdim(&q, noise[0] * noise[0] / (amplitude[0] * amplitude[0]));
        if (!isfinite(*value))
            rc = err_set(err, ST_NOT_PD,
                         "the kernel matrix is too inexact for any noise in bounds");
    }
    nmll_eig_free(&q);
    free(X);
    free(K);
    return rc;
}
