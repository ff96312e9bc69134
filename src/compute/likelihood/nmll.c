/* compute/likelihood/nmll.c -- the negative log marginal likelihood (NMLL) from a spectrum
 * (share/doc/methods.md 6.2 to 6.8, 6.11), and the functions that all its forms share.
 *
 * Everything is computed at amplitude 1 with A1 = Z1'Z1 + ratio I (M x M), g = Z1'y (M) and
 * ratio = noise^2 / amplitude^2:
 *   2 NMLL = (y'y - g' A1^-1 g) / noise^2 + (n - M) log ratio + log|A1| + n log(2 pi amplitude^2)
 * (Parkinson & Wang, equation 5 with lambda = noise; share/doc/methods.md 6.2).  The Gram matrix is
 * reduced to tridiagonal form once.  A full eigendecomposition costs twice as much and is needed
 * only for display and for nmll_loo.  Then log|A1| and the quadratic form follow from the L D L'
 * factorisation of a shifted tridiagonal matrix, in O(M) for each amplitude and noise.
 *
 * Several targets share the kernel and the ratio.  One factorisation serves them all; each has its
 * own quadratic form and hence its own amplitude, and their values add. */
#include "compute/likelihood/nmll.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/likelihood/nmll_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LOG_2PI = 1.8378770664093454836;

/* The spectrum: reduction of the matrix, and the smallest ratio that rounding allows. */

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

/* The number of eigenvalues of the tridiagonal form T below x.  By Sylvester's law of inertia it is
 * the number of negative pivots in the L D L' factorisation of T - x I, which is backward stable
 * for counting (Golub & Van Loan, Matrix Computations (2013), section 8.4). */
static size_t count_below(const struct nmll_eig *q, double x)
{
    size_t below = 0;
    double delta = 1.0;

    for (size_t i = 0; i < q->M; i++) {
        delta = q->d[i] - x - (i ? q->e[i - 1] * (q->e[i - 1] / delta) : 0.0);
        if (delta == 0.0)
            delta = -DBL_MIN; /* a zero pivot counts as negative; the next one is then huge */
        below += delta < 0.0;
    }
    return below;
}

/* A Gram matrix has no negative eigenvalue, so the most negative one tells how far rounding has
 * moved all of them.  At ratios of that size the terms y'y - g'A1^-1 g and log|A1| cancel and their
 * sum is meaningless: a spurious optimum at a noise of 1e-3 was found there.  Ten times as much is
 * safe, because no eigenvalue of G + ratio I is then wrong by more than a tenth. */
static const double floor_factor = 10.0;

/* The smallest ratio with a value: floor_factor times the most negative eigenvalue of T, which is
 * found to 2 % by bisection between its Gershgorin bound and 0.  O(M) a step; 0 where T has no
 * negative eigenvalue (share/doc/methods.md, below 6.8). */
static double ratio_floor(const struct nmll_eig *q)
{
    double lo = 0.0, hi = 0.0;

    if (q->e == NULL || count_below(q, 0.0) == 0)
        return 0.0;
    for (size_t i = 0; i < q->M; i++) { /* Gershgorin: no eigenvalue lies below any d - |e| - |e| */
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

/* G = U diag(d) U', eigenvalues ascending, g = U'b.  G is overwritten by U (columns). */
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

enum status nmll_eig_make(struct pool *pool, const struct nmll_system *s, bool want_eigen,
                          struct nmll_eig *out, struct err *err)
{
    const size_t M = s->M, t = s->t;
    enum status rc;

    *out = (struct nmll_eig){ .n = s->n, .M = M, .t = t, .dual = s->dual };
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
    memcpy(out->yty, s->yty, t * sizeof *s->yty);
    if (want_eigen) {
        rc = eig_full(out, s->G, s->b, err);
    } else {
        memcpy(out->g, s->b, t * M * sizeof *s->b);
        rc = blas_tridiag(pool, M, s->G, M, out->d, out->e, t, out->g, M, err);
        if (rc == ST_OK)
            out->floor = ratio_floor(out);
    }
    if (rc != ST_OK)
        nmll_eig_free(out);
    return rc;
}

/* nmll_eig_make by factors on a device, which leaves G unchanged.  False when there is no device,
 * or the spectrum is quicker. */
static bool eig_there(const struct nmll_system *s, const struct ctl *ctl, struct nmll_eig *out)
{
    const size_t t = s->t;

    *out = (struct nmll_eig){ .n = s->n, .M = s->M, .t = t, .dual = s->dual };
    out->there = t && t <= TARGETS_MOST ? nmll_there_new(s->M, s->G, t, s->b, ctl) : NULL;
    out->yty = out->there ? mem_calloc(t, sizeof *out->yty, "the spectrum", NULL) : NULL;
    if (out->yty) {
        memcpy(out->yty, s->yty, t * sizeof *s->yty);
        return true;
    }
    nmll_eig_free(out);
    return false;
}

/* A sum of logarithms with one call of log: the product is kept as mantissa times a power of two,
 * renormalised before it can overflow or underflow.  Each product has a relative error of one
 * rounding, so that the sum has an absolute error of M roundings. */
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

/* log|A1|, g' A1^-1 g of each target (quad, t of them) and tr A1^-1 (NULL: not wanted) at a ratio.
 * With T + ratio I = L Delta L' (share/doc/methods.md 6.8, 6.11):
 *   delta_i = d_i + ratio - e_(i-1)^2 / delta_(i-1),  u_i = g_i - (e_(i-1) / delta_(i-1)) u_(i-1),
 *   log|A1| = sum log delta_i,  g' A1^-1 g = sum u_i^2 / delta_i,
 *   tr A1^-1 = d log|A1| / d ratio = sum delta'_i / delta_i.
 * The factorisation needs no pivoting because A1 is positive definite.  False when it is not, or
 * when a pivot is so small that only rounding has kept it positive (nmll_pivot_share). */
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
        if (q->e != NULL && i > 0) { /* ddelta is the derivative of delta_i in the ratio */
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

/* At amplitude 1: c = y' (K1 + ratio I)^-1 y of each target and *logdet = log|K1 + ratio I| (n x
 * n). From the M x M spectrum they are, by the identities of Woodbury and of Sylvester,
 *   c = (y'y - g' A1^-1 g) / ratio,  log|K1 + ratio I| = log|A1| + (n - M) log ratio.
 * False where they have no value, or cancellation leaves c <= 0. */
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

/* What all targets have more because a bound leaves part of K1 out. */
static double eig_missed(const struct nmll_eig *q, double ratio)
{
    return 0.5 * (double)q->t * q->missed / ratio;
}

double nmll_eig_each(const struct nmll_eig *q, const double *amplitude, const double *noise)
{
    const double ratio = noise[0] * noise[0] / (amplitude[0] * amplitude[0]);
    double c[TARGETS_MOST], logdet, sum = eig_missed(q, ratio);

    if (!eig_terms(q, ratio, c, &logdet))
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

/* amplitude^2 = c / n (share/doc/methods.md 6.4), at which the NMLL becomes 6.5. */
double nmll_eig_profile(const struct nmll_eig *q, double ratio, double *amplitude)
{
    double c[TARGETS_MOST], logdet, sum = eig_missed(q, ratio);

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

/* M - ratio tr A1^-1 (share/doc/methods.md 6.7). */
double nmll_eig_effdim(const struct nmll_eig *q, double ratio)
{
    double logdet, quad[TARGETS_MOST], trace;

    if (!eig_moments(q, ratio, &logdet, quad, &trace))
        return (double)q->M;
    return (double)q->M - ratio * trace;
}

/* The best amplitude of one target at s = sqrt(ratio), when amplitude and noise = s amplitude both
 * have bounds.  The NMLL has a single minimum in the amplitude, at sqrt(c / n)
 * (share/doc/methods.md 6.4), so that clamping it to the bounds is exact. */
static double best_amplitude(double n, double c, double s, const struct nmll_bounds *in)
{
    const double lo = fmax(in->amplitude[0], in->noise[0] / s),
                 hi = fmin(in->amplitude[1], in->noise[1] / s);

    return fmin(fmax(sqrt(c / n), lo), fmax(hi, lo));
}

/* The NMLL at a log ratio with the best amplitude of each target within bounds (out: amplitude, t
 * of them, finite also where the value is +inf). */
static double best_at_ratio(const struct nmll_eig *q, double log_ratio,
                            const struct nmll_bounds *in, double *amplitude)
{
    const double s = exp(0.5 * log_ratio);
    double c[TARGETS_MOST], logdet, sum = eig_missed(q, s * s);

    for (size_t j = 0; j < q->t; j++)
        amplitude[j] = fmin(fmax(in->amplitude[0], in->noise[0] / s), in->amplitude[1]);
    if (!eig_terms(q, s * s, c, &logdet))
        return INFINITY;
    for (size_t j = 0; j < q->t; j++) {
        amplitude[j] = best_amplitude((double)q->n, c[j], s, in);
        sum += nmll_from_terms((double)q->n, c[j], logdet, amplitude[j]);
    }
    return sum;
}

/* The least value over log ratios in [lo, hi]: a grid of 73 points, because the NMLL may have
 * more than one minimum in the ratio, then golden sections in the bracket of the best point. */
static double search_all(const struct nmll_eig *q, double lo, double hi,
                         const struct nmll_bounds *in, double *where)
{
    enum { GRID = 72 };
    static const double golden = 0.61803398874989484820;
    double best = INFINITY, at = lo, a[TARGETS_MOST];
    const size_t steps = hi > lo ? GRID : 0;

    for (size_t i = 0; i <= steps; i++) {
        const double x = steps ? lo + (hi - lo) * (double)i / (double)steps : lo;
        const double f = best_at_ratio(q, x, in, a);
        if (f < best) {
            best = f;
            at = x;
        }
    }
    if (steps && isfinite(best)) {
        const double h = (hi - lo) / (double)steps;
        double x0 = fmax(lo, at - h), x3 = fmin(hi, at + h);
        double x1 = x3 - golden * (x3 - x0), x2 = x0 + golden * (x3 - x0);
        double f1 = best_at_ratio(q, x1, in, a), f2 = best_at_ratio(q, x2, in, a);
        while (x3 - x0 > 1e-9 * (1.0 + fabs(x1))) {
            if (f1 < f2) {
                x3 = x2, x2 = x1, f2 = f1;
                x1 = x3 - golden * (x3 - x0);
                f1 = best_at_ratio(q, x1, in, a);
            } else {
                x0 = x1, x1 = x2, f1 = f2;
                x2 = x0 + golden * (x3 - x0);
                f2 = best_at_ratio(q, x2, in, a);
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

struct at_ratio { const struct nmll_eig *q; const struct nmll_bounds *in; };

static double value_at_ratio(void *ctx, double log_ratio)
{
    const struct at_ratio *r = ctx;
    double a[TARGETS_MOST];

    return best_at_ratio(r->q, log_ratio, r->in, a);
}

double nmll_eig_best(const struct nmll_eig *q, const struct nmll_bounds *in, double *amplitude,
                     double *noise)
{
    const double lo = 2.0 * log(in->noise[0] / in->amplitude[1]),
                 hi = 2.0 * log(in->noise[1] / in->amplitude[0]);
    struct at_ratio r = {q, in};
    double at, best;

    if (q->there) {
        const double start =
            amplitude[0] > 0.0 && noise[0] > 0.0 ? 2.0 * log(noise[0] / amplitude[0]) : NAN;
        best = nmll_search_few(value_at_ratio, &r, lo, hi, start, &at);
    } else {
        best = search_all(q, lo, hi, in, &at);
    }
    for (size_t j = 0; j < q->t; j++)
        amplitude[j] = in->amplitude[0];
    if (isfinite(best))
        best_at_ratio(q, at, in, amplitude);
    for (size_t j = 0; j < q->t; j++)
        noise[j] = fmin(fmax(exp(0.5 * at) * amplitude[j], in->noise[0]), in->noise[1]);
    return best;
}

/* The search by factors on a device or by the tridiagonal form. */

/* True when rounding leaves a ratio its value.  Without a spectrum ratio_floor is unknown; that the
 * factor at a tenth of the ratio still exists says the same. */
static bool there_is_safe(const struct nmll_eig *q, double ratio)
{
    double logdet, quad[TARGETS_MOST];

    return nmll_there_moments(q->there, q->M, q->t, ratio / floor_factor, &logdet, quad, NULL);
}

enum status nmll_eig_search(struct pool *pool, const struct nmll_system *s,
                            const struct nmll_bounds *in, const struct nmll_told *out,
                            const struct ctl *ctl, struct nmll_eig *q, struct err *err)
{
    double *value = out->value, *amplitude = out->amplitude, *noise = out->noise;

    if (eig_there(s, ctl, q)) {
        *value = nmll_eig_best(q, in, amplitude, noise);
        const bool safe = isfinite(*value) &&
                          there_is_safe(q, noise[0] * noise[0] / (amplitude[0] * amplitude[0]));
        const enum status rc = nmll_there_said(q->there, err);
        if (rc == ST_CANCELLED || (rc == ST_OK && safe))
            return rc;
        nmll_eig_free(q); /* the tridiagonal form tells where rounding begins, and needs no
                           * device */
    }
    const enum status rc = nmll_eig_make(pool, s, false, q, err);
    if (rc == ST_OK)
        *value = nmll_eig_best(q, in, amplitude, noise);
    return rc;
}

/* Rounding limits the answer when the ratios that it rules out begin within this distance of the
 * best log ratio: a factor of 4, or of 2 in the noise. */
static const double wall_near = 1.4;

bool nmll_eig_limited(const struct nmll_eig *q, double ratio, const struct nmll_bounds *in)
{
    const double less = log(ratio) - wall_near, lowest = 2.0 * log(in->noise[0] / in->amplitude[1]);
    double amplitude[TARGETS_MOST];

    if (less <= lowest)
        return false;
    return !isfinite(best_at_ratio(q, less, in, amplitude)) ||
           (q->there && !there_is_safe(q, exp(less)));
}

/* Functions that all forms of the likelihood share. */

enum status nmll_gram(struct fop *f, size_t t, const double *y, double **G, double **b,
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

enum status nmll_eig_for_tests(struct fop *f, const double *y, bool want_eigen,
                               const struct ctl *ctl, struct nmll_eig *out, struct err *err)
{
    double *G = NULL, *b = NULL, yty = 0.0;

    *out = (struct nmll_eig){ 0 };
    enum status rc = nmll_gram(f, 1, y, &G, &b, &yty, ctl, err);
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK) {
        const struct nmll_system s = { .n = fop_rows(f), .M = fop_cols(f), .t = 1, .G = G, .b = b,
                                       .yty = &yty };
        rc = nmll_eig_make(fop_pool(f), &s, want_eigen, out, err);
    }
    free(G);
    free(b);
    return rc;
}

/* A = L L': log|A| = 2 sum log L_ii, w = L'^-1 L^-1 g, and with invert A^-1 by dpotri.  Cholesky
 * factors of positive definite matrices are backward stable without pivoting. */
enum status nmll_chol(struct nmll_chol *p, double *A, const struct ctl *ctl, struct err *err)
{
    struct pool *pool = p->pool;
    const size_t M = p->M, t = p->t;
    const double ratio = p->ratio, *g = p->g;
    enum status rc = blas_dpotrf(pool, M, A, M, ctl, NULL, err);

    if (rc != ST_OK)
        return rc;
    rc = blas_sound(pool, M, A, M, nmll_pivot_share * ratio, err);
    if (rc == ST_NOT_PD)
        err_set(err, rc, "rounding in the %zu x %zu matrix is as large as the noise (ratio %.3g)",
                M, M, ratio);
    if (rc != ST_OK)
        return rc;
    p->logdet = 0.0;
    for (size_t i = 0; i < M; i++)
        p->logdet += 2.0 * log(A[i + i * M]);
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
    if (p->invert) {
        rc = blas_dpotri(pool, M, A, M, err);
        for (size_t i = 0; rc == ST_OK && i < M; i++)
            p->trace += A[i + i * M];
    }
    return rc;
}

void nmll_pick_scale(size_t t, double n, const double *c, double ratio,
                     const struct nmll_bounds *in, double *amplitude, double *noise)
{
    const double s = sqrt(ratio);

    for (size_t j = 0; j < t; j++) {
        amplitude[j] = best_amplitude(n, c[j], s, in);
        noise[j] = s * amplitude[j];
    }
}

double nmll_moving_scale(size_t t, double n, const double *c, double ratio,
                         const struct nmll_bounds *in, const double *amplitude)
{
    const double s = sqrt(ratio);
    double sum = 0.0;

    /* dNMLL / dlog amplitude = n - c / amplitude^2 at a fixed ratio, and a held amplitude is
     * bound / s, so that dlog amplitude / dlog s = -1 (share/doc/methods.md 6.14). */
    for (size_t j = 0; j < t; j++) {
        const double free = sqrt(c[j] / n);
        const bool held = (free < in->noise[0] / s && in->noise[0] / s >= in->amplitude[0]) ||
                          (free > in->noise[1] / s && in->noise[1] / s <= in->amplitude[1]);
        if (held)
            sum -= n - c[j] / (amplitude[j] * amplitude[j]);
    }
    return sum;
}
