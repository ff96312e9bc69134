/* compute/likelihood/nmll_factors.c -- the best amplitude and noise by Cholesky factors on a
 * device: one factor of G + ratio I (M x M) for each noise ratio tried, in place of one tridiagonal
 * form for all of them (nmll.c).  The terms are those of share/doc/methods.md 6.2.
 *
 * A device is quick at products of matrices and slow at the reduction to tridiagonal form, half of
 * whose work is products with a vector: by operation count a reduction at M = 4096 takes as long as
 * some 34 factors on an H200.  The search over the ratio therefore has to manage with few values.
 * It starts at the best ratio of the last evaluation and proceeds by parabolas (Brent, Algorithms
 * for Minimization without Derivatives (1973), chapter 5). */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas_kernels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct nmll_there {
    const struct backend_dense *by;
    void *kept;            /* G and g on the device; owned, freed by by->drop */
    double *diag;          /* M: the diagonal of the last factor */
    const struct ctl *ctl;
    enum status rc;        /* of the first factor that failed otherwise than by NOT_PD */
    struct err why;
};

struct nmll_there *nmll_there_new(size_t M, const double *G, size_t t, const double *g,
                                  const struct ctl *ctl)
{
    const struct backend_dense *by = blas_elsewhere(M);

    if (!by || !by->keep || !by->pays(M, NMLL_FACTORS))
        return NULL;
    struct nmll_there *w = mem_calloc(1, sizeof *w, "the spectrum", NULL);
    if (!w)
        return NULL;
    *w = (struct nmll_there){
        .by = by, .ctl = ctl, .diag = mem_calloc(M, sizeof(double), "the spectrum", NULL)};
    w->kept = w->diag ? by->keep(M, G, t, g, &w->why) : NULL;
    if (w->kept)
        return w;
    nmll_there_free(w);
    return NULL;
}

void nmll_there_free(struct nmll_there *w)
{
    if (!w)
        return;
    if (w->kept)
        w->by->drop(w->kept);
    free(w->diag);
    free(w);
}

enum status nmll_there_said(const struct nmll_there *w, struct err *err)
{
    if (w->rc == ST_CANCELLED && err)
        *err = w->why;
    return w->rc;
}

/* log|G + ratio I| = 2 sum log L_ii; the device computes quad and trace.  The test of pivots is
 * that of nmll_chol. */
bool nmll_there_moments(struct nmll_there *w, size_t M, size_t t, double ratio, double *logdet,
                        double *quad, double *trace)
{
    double sum = 0.0;
    bool good = true;

    if (w->rc != ST_OK)
        return false;
    const enum status rc = w->by->at(w->kept, ratio, w->diag, quad, trace, w->ctl, &w->why);
    if (rc != ST_OK) {
        w->rc = rc == ST_NOT_PD ? ST_OK : rc;
        return false;
    }
    for (size_t i = 0; i < M; i++) {
        const double l = w->diag[i];
        if (!(l * l > nmll_pivot_share * ratio) || !isfinite(l))
            return false;
        sum += log(l);
    }
    *logdet = 2.0 * sum;
    for (size_t j = 0; j < t; j++)
        good = good && isfinite(quad[j]);
    return good && isfinite(*logdet);
}

/* The search: three points x with values v, ascending in x, of a function on [lo, hi]. */

struct few { double (*f)(void *, double); void *ctx; double lo, hi, x[3], v[3]; };

static double value(const struct few *s, double x)
{
    return s->f(s->ctx, x);
}

/* Goes downhill from x by steps that double, until x[0] < x[1] < x[2] have the least value in the
 * middle, or the end of the range has it. */
static void bracket(struct few *s, double x)
{
    double h = 0.7;

    s->x[1] = x;
    s->v[1] = value(s, x);
    for (int side = 0; side < 3; side += 2) {
        s->x[side] = side ? fmin(x + h, s->hi) : fmax(x - h, s->lo);
        s->v[side] = s->x[side] == x ? INFINITY : value(s, s->x[side]);
    }
    for (;;) {
        const bool none =
            s->v[1] == INFINITY && s->x[2] < s->hi; /* +inf at small ratios: go to larger ones */
        const int side = s->v[0] < s->v[1] ? 0 : s->v[2] < s->v[1] || none ? 2 : 1;
        if (side == 1)
            return;
        h *= 2.0;
        const double next = side ? fmin(s->x[2] + h, s->hi) : fmax(s->x[0] - h, s->lo);
        const double end = s->x[side];
        s->x[2 - side] = s->x[1];
        s->v[2 - side] = s->v[1];
        s->x[1] = end;
        s->v[1] = s->v[side];
        s->x[side] = next;
        s->v[side] = next == end ? INFINITY : value(s, next);
    }
}

/* The next point inside the bracket: the minimum of the parabola through the three points, or,
 * where that is no number, is outside, or is closer than `least` to the middle, a point on the
 * longer side (0.382 = 1 - 1/golden ratio of it). */
static double between(const struct few *s, double least)
{
    const double a = s->x[1] - s->x[0], b = s->x[1] - s->x[2];
    const double fa = s->v[1] - s->v[0], fb = s->v[1] - s->v[2], q = a * fb - b * fa;
    const double longer = -b > a ? s->x[1] + 0.382 * -b : s->x[1] - 0.382 * a;
    const double at = s->x[1] - 0.5 * (a * a * fb - b * b * fa) / q;

    if (!isfinite(at) || q == 0.0 || at <= s->x[0] || at >= s->x[2])
        return longer;
    if (fabs(at - s->x[1]) < least) /* step into the longer side, so that the bracket shrinks */
        return s->x[1] + (-b > a ? least : -least);
    return at;
}

/* Shrinks the bracket to some 1e-4 in the log ratio.  Every second step bisects the longer side
 * when the last two have not halved the bracket, which bounds the number of steps. */
static void narrow(struct few *s)
{
    static const double close = 2e-5; /* in log ratio; the error of the value goes as its square */
    double was = s->x[2] - s->x[0];

    for (int i = 0; i < 60 && s->x[2] - s->x[0] > 4.0 * close; i++) {
        double x = between(s, close);
        const double now = s->x[2] - s->x[0];
        if (i % 2 == 1) { /* parabolas gain little at a corner, where a bound begins to hold */
            if (now > 0.5 * was)
                x = s->x[2] - s->x[1] > s->x[1] - s->x[0] ? 0.5 * (s->x[1] + s->x[2])
                                                          : 0.5 * (s->x[0] + s->x[1]);
            was = now;
        }
        const double v = value(s, x);
        const bool right = x > s->x[1], better = v < s->v[1];
        const int end = right == better ? 0 : 2; /* the better of the two becomes the middle */
        s->v[end] = better ? s->v[1] : v;
        s->x[end] = better ? s->x[1] : x;
        if (better) {
            s->x[1] = x;
            s->v[1] = v;
        }
    }
}

struct amplitudes {
    enum status (*value)(void *ctx, double amplitude, double *value, struct err *err);
    void *ctx;
    enum status rc;
    struct err *err;
};

static double value_of_log(void *ctx, double log_amplitude)
{
    struct amplitudes *a = ctx;
    double v = INFINITY;

    if (a->rc == ST_OK)
        a->rc = a->value(a->ctx, exp(log_amplitude), &v, a->err);
    if (a->rc == ST_OK)
        return v;
    if (a->rc == ST_NOT_PD) {
        err_clear(a->err);
        a->rc = ST_OK;
    }
    return INFINITY;
}

enum status nmll_search_amplitude(enum status (*at_one)(void *ctx, double amplitude, double *value,
                                                        struct err *err),
                                  void *ctx, const double within[2], double *amplitude,
                                  struct err *err)
{
    struct amplitudes a = { .value = at_one, .ctx = ctx, .err = err };
    const double lo = log(within[0]), hi = log(within[1]);
    double at = lo;

    if (hi > lo)
        nmll_search_few(value_of_log, &a, lo, hi, *amplitude > 0.0 ? log(*amplitude) : NAN, &at);
    *amplitude = exp(at);
    return a.rc;
}

double nmll_search_few(double (*f)(void *, double), void *ctx, double lo, double hi, double start,
                       double *at)
{
    static const double posts[] = { 0.1, 0.4, 0.75 };
    struct few s = { .f = f, .ctx = ctx, .lo = lo, .hi = hi };
    double best = INFINITY, where = start;

    start = isfinite(start) ? fmin(fmax(start, lo), hi) : 0.5 * (lo + hi);
    if (!(hi > lo)) {
        *at = lo;
        return value(&s, lo);
    }
    bracket(&s, start);
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) { /* look for a second valley */
        const double x = lo + posts[i] * (hi - lo),
                     v = x > s.x[0] && x < s.x[2] ? INFINITY : value(&s, x);
        if (v < best) {
            best = v;
            where = x;
        }
    }
    if (best < s.v[1])
        bracket(&s, where);
    if (isfinite(s.v[1]))
        narrow(&s);
    *at = s.x[1];
    return s.v[1];
}
