/* compute/models/model_refine.c -- the noise ratio that suits a fit's own features.
 *
 * Tuning with few features counts as noise what those features miss.  A fit with more of them is
 * then smoothed too much and overstates its uncertainty.  With the kernel's hyperparameters fixed,
 * the ratio is moved to the least leave-one-out error on a sample of the training rows,
 *   e_i = r_i / (1 - h_i),   h_i = z_i' A1^-1 z_i = |L^-1 z_i|^2,  A1 = L L' (M x M),
 * which ridge regression has in closed form (Allen 1974; share/doc/methods.md 6.9).
 *
 * Why this criterion: the likelihood is not used because the kernel is never quite right, and a fit
 * is made for prediction.  Generalised cross-validation is not used because leverages are far from
 * equal on real inputs: on pol and protein it undersmooths (RMSE 0.270 against 0.240).  For several
 * targets, which share the ratio, the geometric mean of the squared errors counts, so that their
 * units do not matter.  A smaller ratio than the tuned one is taken only where it gains more than
 * the standard error of the score, because new rows are never quite like those left out (after the
 * one-standard-error rule of Breiman et al. 1984).  An iterative fit judges by the factor that its
 * variances need anyway, at up to 4096 columns: most of the way from the 2048 of a tuning. */
#include "compute/models/model_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_MOST = 8, SAMPLE = 2048, STRIP = 64 }; /* ratios tried; sampled rows; rows of a task */
/* In the log ratio: the first step; the farthest distance from the given ratio (a factor of 13, or
 * 3.7 in the noise); the distance at which the search ends. */
static const double first_step = 0.8;
static const double farthest = 2.6;
static const double close_enough = 0.25;

/* The search: downhill by steps, then parabolas. */

struct look { double x, f, se; }; /* log ratio; score there and its standard error */
struct search { size_t n; double start; struct look at[LOOKS_MOST]; };

/* The best ratio tried, and its neighbours on either side (NULL: none yet). */
static const struct look *search_best(const struct search *s, const struct look **left,
                                      const struct look **right)
{
    const struct look *best = &s->at[0];

    for (size_t i = 1; i < s->n; i++)
        if (s->at[i].f < best->f)
            best = &s->at[i];
    *left = *right = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct look *l = &s->at[i];
        if (l->x < best->x && (*left == NULL || l->x > (*left)->x))
            *left = l;
        if (l->x > best->x && (*right == NULL || l->x < (*right)->x))
            *right = l;
    }
    return best;
}

/* The next log ratio to evaluate: a step downhill, or the minimum of the parabola through the best
 * point and its neighbours.  False when the best one (*best) is known well enough. */
static bool search_next(struct search *s, double *next, double *best)
{
    const struct look *l, *r, *b = search_best(s, &l, &r);
    const double lo = s->start - farthest, hi = s->start + farthest;

    *best = b->x;
    if (s->n >= LOOKS_MOST)
        return false;
    if (r == NULL && b->x < hi) {
        *next = fmin(b->x + first_step, hi);
    } else if (l == NULL && b->x > lo) {
        *next = fmax(b->x - first_step, lo);
    } else if (l == NULL || r == NULL || !isfinite(l->f) || !isfinite(r->f)) {
        return false; /* at the end of the range, or of the ratios that rounding allows */
    } else {
        const double d1 = b->x - l->x, d2 = r->x - b->x;
        const double den = d1 * (r->f - b->f) + d2 * (l->f - b->f);
        *next = b->x - 0.5 * (d1 * d1 * (r->f - b->f) - d2 * d2 * (l->f - b->f)) / den;
        if (!(den > 1e-9))
            return false;
    }
    return fabs(*next - b->x) > close_enough;
}

/* Scores. */

/* The features of the sample are made once; each ratio solves for their leverages. */
struct sample {
    struct pool *pool;
    size_t n, M, m, t;         /* rows of the data, columns, rows of the sample, targets */
    double *Z, *V, *y, *w, *e; /* z_i (m x M); L^-1 z_i (m x M); targets (t x m); weights (t x M);
                                * squared errors (t x m) */
    const double *L;
    enum status *rc;           /* of each task */
};

static void sample_free(struct sample *s)
{
    free(s->Z);
    free(s->V);
    free(s->y);
    free(s->w);
    free(s->e);
    free(s->rc);
}

/* The row of sample entry i; the sample is spread evenly over the data. */
static size_t sample_row(const struct sample *s, size_t i)
{
    return (size_t)((double)i * (double)s->n / (double)s->m);
}

struct sample_fill { struct sample *s; struct fop *f; const double *y; };

static void sample_rows(void *ctx, size_t task, size_t worker)
{
    const struct sample_fill *j = ctx;
    struct sample *s = j->s;

    (void)worker;
    for (size_t i = task * STRIP; i < (task + 1) * STRIP && i < s->m; i++) {
        const size_t r = sample_row(s, i);
        const enum status rc = fop_tile64(j->f, r, r + 1, s->Z + i * s->M, s->M, NULL);
        for (size_t q = 0; q < s->t; q++)
            s->y[q * s->m + i] = j->y[q * s->n + r];
        if (rc != ST_OK)
            s->rc[task] = rc;
    }
}

/* Chooses the sample and makes its features once. */
static enum status sample_make(struct sample *s, struct fop *f, size_t t, const double *y,
                               struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), m = n < SAMPLE ? n : SAMPLE;
    const size_t strips = (m + STRIP - 1) / STRIP;
    struct sample_fill fill = { s, f, y };

    *s = (struct sample){ .pool = fop_pool(f), .n = n, .M = M, .m = m, .t = t };
    s->Z = mem_aligned(m * M, sizeof *s->Z, "a sample's features", err);
    s->V = s->Z ? mem_aligned(m * M, sizeof *s->V, "a sample's features", err) : NULL;
    s->y = s->V ? mem_calloc(t * m, sizeof *s->y, "a sample's targets", err) : NULL;
    s->w = s->y ? mem_calloc(t * M, sizeof *s->w, "the weights", err) : NULL;
    s->e = s->w ? mem_calloc(t * m, sizeof *s->e, "a sample's errors", err) : NULL;
    s->rc = s->e ? mem_calloc(strips, sizeof *s->rc, "a sample's errors", err) : NULL;
    if (s->rc == NULL)
        return ST_NOMEM;
    pool_run(s->pool, strips, sample_rows, &fill);
    for (size_t k = 0; k < strips; k++)
        if (s->rc[k] != ST_OK)
            return err_set(err, s->rc[k], "the features of a sample could not be made");
    return ST_OK;
}

/* e_i^2 for a task of sampled rows and all targets; 1 - h_i is kept above 1e-6. */
static void sample_errors(void *ctx, size_t task, size_t worker)
{
    struct sample *s = ctx;
    const size_t i0 = task * STRIP, i1 = i0 + STRIP < s->m ? i0 + STRIP : s->m, M = s->M;

    (void)worker;
    memcpy(s->V + i0 * M, s->Z + i0 * M, (i1 - i0) * M * sizeof *s->V);
    s->rc[task] = blas_dtrsm(NULL, false, M, i1 - i0, s->L, M, s->V + i0 * M, M, NULL);
    for (size_t i = i0; i < i1; i++) {
        const double h = blas_ddot(M, s->V + i * M, s->V + i * M);
        for (size_t q = 0; q < s->t; q++) {
            const double r = s->y[q * s->m + i] - blas_ddot(M, s->Z + i * M, s->w + q * M);
            const double e = r / fmax(1.0 - h, 1e-6);
            s->e[q * s->m + i] = e * e;
        }
    }
}

/* Adds to l->f the log of a target's mean squared error, divided by t, and to l->se its standard
 * error by the delta method: se(log mean) = se(mean) / mean. */
static void sample_add(const struct sample *s, size_t q, struct look *l)
{
    const double *e = s->e + q * s->m, m = (double)s->m;
    double sum = 0.0, sq = 0.0;

    for (size_t i = 0; i < s->m; i++)
        sum += e[i];
    const double mean = sum / m;
    for (size_t i = 0; i < s->m; i++)
        sq += (e[i] - mean) * (e[i] - mean);
    l->f += log(mean) / (double)s->t;
    l->se += mean > 0.0 ? sqrt(sq) / (m * mean) / (double)s->t : 0.0;
}

/* The score at one ratio: the log of the mean squared leave-one-out error, averaged over targets,
 * from the factor L of A1 and b = Z'y (t x M). */
static enum status sample_score(struct sample *s, const double *L, const double *b, struct look *l,
                                struct err *err)
{
    const size_t strips = (s->m + STRIP - 1) / STRIP;

    memcpy(s->w, b, s->t * s->M * sizeof *b);
    enum status rc = blas_dtrsm(s->pool, false, s->M, s->t, L, s->M, s->w, s->M, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(s->pool, true, s->M, s->t, L, s->M, s->w, s->M, err);
    if (rc != ST_OK)
        return rc;
    s->L = L;
    pool_run(s->pool, strips, sample_errors, s);
    for (size_t t = 0; t < strips; t++)
        if (s->rc[t] != ST_OK)
            return err_set(err, s->rc[t], "the leverages of a sample could not be computed");
    l->f = l->se = 0.0;
    for (size_t q = 0; q < s->t; q++)
        sample_add(s, q, l);
    return ST_OK;
}

/* The result of the search: the best log ratio, or the start when the best is smaller and gains no
 * more than the standard error of its score. */
static double settled(const struct search *s, double best)
{
    for (size_t i = 1; i < s->n; i++)
        if (s->at[i].x == best)
            return best > s->start || s->at[0].f - s->at[i].f > s->at[i].se ? best : s->start;
    return s->start;
}

enum status model_refine_factor(struct fop *f, size_t t, const double *y, struct gram_factor *g,
                                const struct ctl *ctl, struct err *err)
{
    struct search s = { .start = log(g->ratio) };
    struct sample sample = { 0 };
    struct pool *pool = fop_pool(f);
    const size_t M = fop_cols(f);
    double at = g->ratio, next = s.start, best = s.start;

    if (g->jitter > 0.0) /* rounding limits the ratio already */
        return ST_OK;
    enum status rc = sample_make(&sample, f, t, y, err);
    while (rc == ST_OK) {
        struct look *l = &s.at[s.n++];
        *l = (struct look){ next, INFINITY, 0.0 };
        model_step(ctl, PHASE_NOISE_SEARCH, s.n - 1);
        if (s.n > 1) {
            at = model_round(exp(next));
            rc = model_refactor(pool, M, g->L, g->diag, at, 0.0, ctl, err);
        }
        if (rc == ST_OK)
            rc = sample_score(&sample, g->L, g->b, l, err);
        if (rc == ST_NOT_PD) { /* too little noise for this precision: the score stays infinite */
            err_clear(err);
            rc = ST_OK;
        }
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
        if (rc == ST_OK && !search_next(&s, &next, &best))
            break;
    }
    best = settled(&s, best);
    if (best != s.start)
        g->ratio = model_round(exp(best));
    if (rc == ST_OK && at != g->ratio)
        rc = model_refactor(pool, M, g->L, g->diag, g->ratio, 0.0, ctl, err);
    sample_free(&sample);
    return rc;
}
