/* compute/models/model_refine.c -- the noise ratio that suits a fit's own features.
 *
 * Tuning with few features counts as noise what those features miss.  A fit with more of them is
 * then smoothed too much and overstates its uncertainty.  A fit with fewer features than those that
 * were tuned, or after an exact tuning, needs more noise, often by many powers of ten.  With the
 * kernel's hyperparameters fixed, the ratio is moved to the best prediction of left-out rows, on a
 * sample of the training rows: errors and variances (up to one factor)
 *   e_i = r_i / (1 - h_i),  1 / (1 - h_i),   h_i = z_i' A1^-1 z_i = |L^-1 z_i|^2,
 * A1 = L L' (M x M), in closed form (Allen 1974; share/doc/methods.md 6.9, 6.10).  With fewer rows
 * than columns they come from the n x n matrix of the rows,
 *   e_i = [C y]_i / C_ii,  1 / C_ii,   C = (Z Z' + ratio I)^-1,
 * where nothing cancels: 1 - h_i = ratio C_ii would be lost in rounding as soon as the features
 * pass through the rows, and those errors would look small.
 *
 * The criterion is the mean continuous ranked probability score at the amplitude at which mean z^2
 * is 1 (11.4, 6.17), which sees means and variances.  Tried on 21 sets with 1024 features
 * (tests/bench/coverage.md): the squared error alone ignores the variances (road3d_sample loses 0.2
 * of NLPD, yacht 0.57), the density alone gives up the means for rows that are repeated (wine: R2
 * of -1).  The likelihood is not used because the kernel is never quite right, and a fit is made
 * for prediction.  Generalised cross-validation is not used because leverages are far from equal on
 * real inputs: on pol and protein it undersmooths (RMSE 0.270 against 0.240).  For several targets,
 * which share the ratio, the geometric mean of the scores counts, so that their units do not
 * matter.  A smaller ratio than the tuned one is taken only where it gains more than the standard
 * error of the score, because new rows are never quite like those left out (after the
 * one-standard-error rule of Breiman et al. 1984).  An iterative fit judges by the factor that its
 * variances need anyway, at up to 4096 columns: most of the way from the 2048 of a tuning.  A
 * direct fit with twice as many columns or more judges by one pair of its own of every two, four,
 * ..., whose products are the kernel's divided by that number: a look costs an eighth, or less. */
#include "compute/models/model_impl.h"

#include "base/mem.h"
#include "compute/likelihood/nmll.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 2048 }; /* sampled rows */
/* Ratios tried at most; where the matrix is of order LARGE or more, LOOKS_LARGE of them. */
enum { LOOKS_MOST = 16, LOOKS_LARGE = 10, LARGE = 2048 };
/* In the log ratio: the first step; the widest gap beside the best ratio that a parabola bridges;
 * the distance at which the search ends; the ends of the search, which are those of a tuning at its
 * usual bounds (noise of 1e-4 at amplitude 50, noise of 10 at amplitude 0.05). */
static const double first_step = 0.8;
static const double widest = 1.6;
static const double close_enough = 0.25;
static const double ends[2] = { -26.2, 10.6 };
/* A rise of the score by less is none: towards less noise than the features can pass through the
 * rows with, the errors no longer change. */
static const double flat = 1e-3;

/* The search: up and down by steps that double, then halves of wide gaps, then parabolas. */

struct look { double x, f, se; }; /* log ratio; score there and its standard error */
struct search { size_t n, most; double start; struct look at[LOOKS_MOST]; };

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

/* The largest ratio tried. */
static const struct look *search_top(const struct search *s)
{
    const struct look *top = &s->at[0];

    for (size_t i = 1; i < s->n; i++)
        if (s->at[i].x > top->x)
            top = &s->at[i];
    return top;
}

/* The minimum of the parabola through b and its neighbours l and r, or the middle of a wide gap
 * beside b; false when b is the minimum, well enough. */
static bool between(const struct look *l, const struct look *b, const struct look *r, double *next)
{
    const double below = b->x - l->x, above = r->x - b->x;

    if (fmax(below, above) > widest + 1e-9) {
        *next = above > below ? b->x + 0.5 * above : b->x - 0.5 * below;
        return true;
    }
    if (!isfinite(l->f) || !isfinite(r->f)) /* next to the ratios that rounding allows */
        return false;
    const double den = below * (r->f - b->f) + above * (l->f - b->f);
    *next = b->x -
            0.5 * (below * below * (r->f - b->f) - above * above * (l->f - b->f)) / den;
    return den > 1e-9 && fabs(*next - b->x) > close_enough;
}

/* The next log ratio to evaluate.  False when the best one (*best) is known well enough. */
static bool search_next(struct search *s, double *next, double *best)
{
    const struct look *l, *r, *b = search_best(s, &l, &r), *top = search_top(s);

    *best = b->x;
    if (s->n >= s->most)
        return false;
    if (top->x < ends[1] && (top == b || !(top->f >= b->f + flat))) {
        *next = fmin(top->x + (top->x - s->start) + first_step, ends[1]);
        return true;
    }
    if (l == NULL && b->x > ends[0]) {
        *next = fmax(b->x - (s->start - b->x) - first_step, ends[0]);
        return true;
    }
    return l != NULL && r != NULL && between(l, b, r, next);
}

/* Scores. */

/* The features of the sample are made once; each ratio solves for their leverages. */
struct sample {
    struct pool *pool;
    size_t n, M, m, t;         /* rows of the data, columns, rows of the sample, targets */
    size_t every;              /* one pair of columns of that many is taken */
    size_t strip;              /* rows of a task */
    double *Z, *V, *y, *w, *e; /* z_i (m x M); L^-1 z_i (m x M); targets (t x m); weights (t x M);
                                * squared errors (t x m), then 1 - h_i (m) */
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

/* The column of all that is column j of those taken. */
static size_t taken(size_t every, size_t j)
{
    return j / 2 * 2 * every + j % 2;
}

/* Row r of the data, as entry i of the sample; `all` has room for a row. */
static enum status sample_one(const struct sample_fill *fill, size_t r, size_t i, double *all)
{
    const struct sample *s = fill->s;
    double *z = s->every == 1 ? s->Z + i * s->M : all;
    const enum status rc = fop_tile64(fill->f, r, r + 1, z, fop_cols(fill->f), NULL);

    for (size_t j = 0; rc == ST_OK && s->every > 1 && j < s->M; j++)
        s->Z[i * s->M + j] = z[taken(s->every, j)];
    return rc;
}

static void sample_rows(void *ctx, size_t task, size_t worker)
{
    const struct sample_fill *j = ctx;
    struct sample *s = j->s;
    double *all = s->every > 1 ? mem_calloc(fop_cols(j->f), sizeof *all, "a row of features", NULL)
                               : NULL;

    (void)worker;
    for (size_t i = task * s->strip; i < (task + 1) * s->strip && i < s->m; i++) {
        const size_t r = sample_row(s, i);
        const enum status rc = all || s->every == 1 ? sample_one(j, r, i, all) : ST_NOMEM;
        for (size_t q = 0; q < s->t; q++)
            s->y[q * s->m + i] = j->y[q * s->n + r];
        if (rc != ST_OK)
            s->rc[task] = rc;
    }
    free(all);
}

/* Chooses the sample and makes its features once; one pair of columns of `every` is taken. */
static enum status sample_make(struct sample *s, struct fop *f, size_t every, size_t t,
                               const double *y, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f) / every, m = n < SAMPLE ? n : SAMPLE;
    const size_t strip = blas_task_columns(m, pool_threads(fop_pool(f)));
    const size_t strips = (m + strip - 1) / strip;
    struct sample_fill fill = { s, f, y };

    *s = (struct sample){ .pool = fop_pool(f), .n = n, .M = M, .m = m, .t = t, .every = every,
                          .strip = strip };
    s->Z = mem_aligned(m * M, sizeof *s->Z, "a sample's features", err);
    s->V = s->Z ? mem_aligned(m * M, sizeof *s->V, "a sample's features", err) : NULL;
    s->y = s->V ? mem_calloc(t * m, sizeof *s->y, "a sample's targets", err) : NULL;
    s->w = s->y ? mem_calloc(t * M, sizeof *s->w, "the weights", err) : NULL;
    s->e = s->w ? mem_calloc((t + 1) * m, sizeof *s->e, "a sample's errors", err) : NULL;
    s->rc = s->e ? mem_calloc(strips, sizeof *s->rc, "a sample's errors", err) : NULL;
    if (s->rc == NULL)
        return ST_NOMEM;
    pool_run(s->pool, strips, sample_rows, &fill);
    for (size_t k = 0; k < strips; k++)
        if (s->rc[k] != ST_OK)
            return err_set(err, s->rc[k], "the features of a sample could not be made");
    return ST_OK;
}

/* e_i^2 for a task of sampled rows and all targets, and 1 - h_i, kept above 1e-6. */
static void sample_errors(void *ctx, size_t task, size_t worker)
{
    struct sample *s = ctx;
    const size_t i0 = task * s->strip, M = s->M;
    const size_t i1 = i0 + s->strip < s->m ? i0 + s->strip : s->m;

    (void)worker;
    memcpy(s->V + i0 * M, s->Z + i0 * M, (i1 - i0) * M * sizeof *s->V);
    s->rc[task] = blas_dtrsm_task(M, i1 - i0, s->L, M, s->V + i0 * M, M, NULL);
    for (size_t i = i0; i < i1; i++) {
        const double left = fmax(1.0 - blas_ddot(M, s->V + i * M, s->V + i * M), 1e-6);
        s->e[s->t * s->m + i] = left;
        for (size_t q = 0; q < s->t; q++) {
            const double r = s->y[q * s->m + i] - blas_ddot(M, s->Z + i * M, s->w + q * M);
            const double e = r / left;
            s->e[q * s->m + i] = e * e;
        }
    }
}

/* The continuous ranked probability score of a normal distribution (share/doc/methods.md 11.4) at
 * an error e of its mean. */
static double ranked(double e, double sd)
{
    const double z = e / sd;

    return sd * (z * erf(z * 0.70710678118654752) + 0.79788456080286536 * exp(-0.5 * z * z) -
                 0.56418958354775629);
}

/* The look at the squared errors e (t x m) of m rows whose left-out variances are one factor over c
 * (m), at the factor with which mean z^2 is 1: twice the log of the mean continuous ranked
 * probability score, averaged over the targets, and its standard error by the delta method. */
static void look_at(size_t m, size_t t, const double *e, const double *c, struct look *l)
{
    const double rows = (double)m, targets = (double)t;

    l->f = l->se = 0.0;
    for (size_t q = 0; q < t; q++, e += m) {
        double z2 = 0.0, sum = 0.0, sq = 0.0;
        for (size_t i = 0; i < m; i++)
            z2 += c[i] * e[i] / rows;
        for (size_t i = 0; i < m; i++)
            sum += ranked(sqrt(e[i]), sqrt(z2 / c[i]));
        const double mean = sum / rows;
        for (size_t i = 0; i < m && mean > 0.0; i++) {
            const double d = ranked(sqrt(e[i]), sqrt(z2 / c[i])) - mean;
            sq += d * d;
        }
        l->f += 2.0 * log(mean) / targets;
        l->se += mean > 0.0 ? 2.0 * sqrt(sq) / (rows * mean) / targets : 0.0;
    }
}

/* The score at one ratio from the factor L of A1 and b = Z'y (t x M). */
static enum status sample_score(struct sample *s, const double *L, const double *b, struct look *l,
                                struct err *err)
{
    const size_t strips = (s->m + s->strip - 1) / s->strip;

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
    look_at(s->m, s->t, s->e, s->e + s->t * s->m, l);
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

/* A way to score ratios: `score` fills f and se of a look, NOT_PD where rounding is as large as the
 * noise. */
struct scorer {
    enum status (*score)(void *ctx, double ratio, struct look *, const struct ctl *, struct err *);
    void *ctx;
};

/* Searches from s->start; *best is the log ratio to take. */
static enum status search_run(struct search *s, const struct scorer *by, double *best,
                              const struct ctl *ctl, struct err *err)
{
    double next = s->start;
    enum status rc = ST_OK;

    while (rc == ST_OK) {
        struct look *l = &s->at[s->n++];
        *l = (struct look){ next, INFINITY, 0.0 };
        model_step(ctl, PHASE_NOISE_SEARCH, s->n - 1);
        rc = by->score(by->ctx, s->n > 1 ? model_round(exp(next)) : exp(next), l, ctl, err);
        if (rc == ST_NOT_PD) { /* too little noise for this precision: the score is infinite */
            l->f = INFINITY;
            err_clear(err);
            rc = ST_OK;
        }
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
        if (rc == ST_OK && !search_next(s, &next, best))
            break;
    }
    *best = settled(s, *best);
    return rc;
}

static size_t looks_most(size_t order)
{
    return order < LARGE ? LOOKS_MOST : LOOKS_LARGE;
}

/* By the factor of the Gram matrix. */
struct by_factor { struct sample *sample; struct gram_factor *g; double at; };

static enum status factor_score(void *ctx, double ratio, struct look *l, const struct ctl *ctl,
                                struct err *err)
{
    struct by_factor *b = ctx;
    enum status rc = ST_OK;

    if (ratio != b->at) {
        b->at = ratio;
        rc = model_refactor(b->sample->pool, b->sample->M, b->g->L, b->g->diag, ratio, 0.0, ctl,
                            err);
    }
    return rc == ST_OK ? sample_score(b->sample, b->g->L, b->g->b, l, err) : rc;
}

size_t model_refine_every(size_t M)
{
    size_t every = 1;

    while (M / (2 * every) >= AUTO_VARIANCE && M % (4 * every) == 0)
        every *= 2;
    return every;
}

/* The same for a map; 1 where columns are not draws like each other. */
static size_t thinned(const struct model_map *z)
{
    for (size_t i = 0; i < z->map->nterms; i++)
        if (!z->map->term[i].paired && !featmap_is_hashed(&z->map->term[i]))
            return 1;
    return model_refine_every(fop_cols(z->f));
}

bool model_refine_thins(const struct model_map *z)
{
    return thinned(z) > 1;
}

/* The parts of a factor that belong to columns taken, with that of their own in place of L. */
static enum status thin_factor(const struct gram_factor *g, size_t M, size_t every, size_t t,
                               struct gram_factor *thin, struct err *err)
{
    const size_t m = M / every;
    double *b = mem_calloc((t + 1) * m, sizeof *b, "columns of a Gram matrix", err);

    thin->b = b;
    thin->L = b ? mem_aligned(m * m, sizeof *thin->L, "columns of a Gram matrix", err) : NULL;
    if (!thin->L)
        return ST_NOMEM;
    thin->diag = b + t * m;
    for (size_t j = 0; j < m; j++) {
        const double *from = g->L + taken(every, j) * M;
        thin->diag[j] = g->diag[taken(every, j)];
        for (size_t q = 0; q < t; q++)
            b[q * m + j] = g->b[q * M + taken(every, j)];
        for (size_t i = 0; i < j; i++)
            thin->L[i + j * m] = from[taken(every, i)];
    }
    return ST_OK;
}

/* The search by the factor of some columns, at 1/every of the ratio: *best is the ratio for all. */
static enum status refine_thin(const struct model_map *z, size_t every, size_t t, const double *y,
                               const struct gram_factor *g, double *best, const struct ctl *ctl,
                               struct err *err)
{
    const size_t M = fop_cols(z->f);
    const double start = *best, shift = log((double)every);
    struct search s = { .start = start - shift, .most = looks_most(M / every) };
    struct gram_factor thin = { .L = NULL };
    struct sample sample = { 0 };
    struct by_factor by = { &sample, &thin, NAN };
    enum status rc = thin_factor(g, M, every, t, &thin, err);

    if (rc == ST_OK)
        rc = sample_make(&sample, z->f, every, t, y, err);
    if (rc == ST_OK)
        rc = search_run(&s, &(struct scorer){ factor_score, &by }, best, ctl, err);
    *best = *best == s.start ? start : *best + shift;
    sample_free(&sample);
    free(thin.L);
    free(thin.b);
    return rc;
}

/* The search by the factor of all columns; *at is the ratio that L is the factor at in the end. */
static enum status refine_all(struct fop *f, size_t t, const double *y, struct gram_factor *g,
                              double *best, double *at, const struct ctl *ctl, struct err *err)
{
    struct search s = { .start = *best, .most = looks_most(fop_cols(f)) };
    struct sample sample = { 0 };
    struct by_factor by = { &sample, g, exp(s.start) };
    enum status rc = sample_make(&sample, f, 1, t, y, err);

    if (rc == ST_OK)
        rc = search_run(&s, &(struct scorer){ factor_score, &by }, best, ctl, err);
    *at = by.at;
    sample_free(&sample);
    return rc;
}

enum status model_refine_factor(const struct model_map *z, size_t t, const double *y,
                                struct gram_factor *g, const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(z->f), every = thinned(z);
    const double ratio = g->ratio, jitter = g->jitter;
    const double start = log(ratio + jitter); /* that L is the factor at */
    double best = start, at = g->unmade ? NAN : exp(start);
    enum status rc = every > 1 ? refine_thin(z, every, t, y, g, &best, ctl, err)
                               : refine_all(z->f, t, y, g, &best, &at, ctl, err);

    do {
        g->ratio = best != start ? model_round(exp(best)) : ratio;
        g->jitter = best != start ? 0.0 : jitter;
        if (rc == ST_OK && at != (best != start ? g->ratio : exp(start)))
            rc = model_refactor(fop_pool(z->f), M, g->L, g->diag, g->ratio, g->jitter, ctl, err);
        g->unmade = g->unmade && rc != ST_OK;
        if (rc != ST_NOT_PD || best >= start)
            return rc;
        /* All columns do not allow what some did. */
        best = fmin(best + first_step, start);
        at = NAN;
        err_clear(err);
        rc = ST_OK;
    } while (true);
}

/* By the matrix of the rows, whose strict upper triangle keeps Z Z' as in a gram_factor. */
struct by_rows {
    struct pool *pool;
    size_t n, t;
    const double *y;                /* t x n */
    double *K, *diag, *inverse, *a; /* n x n; n; the diagonal of C (n); C y, then e^2 (t x n) */
};

static enum status rows_score(void *ctx, double ratio, struct look *l, const struct ctl *ctl,
                              struct err *err)
{
    struct by_rows *r = ctx;
    const size_t n = r->n;
    double effdim;
    enum status rc = model_refactor(r->pool, n, r->K, r->diag, ratio, 0.0, ctl, err);

    memcpy(r->a, r->y, r->t * n * sizeof *r->a);
    if (rc == ST_OK)
        rc = blas_dtrsm(r->pool, false, n, r->t, r->K, n, r->a, n, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(r->pool, true, n, r->t, r->K, n, r->a, n, err);
    if (rc == ST_OK)
        rc = model_effdim(r->pool, n, r->K, ratio, &effdim, r->inverse, ctl, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < r->t * n; i++) {
        const double e = r->a[i] / r->inverse[i % n];
        r->a[i] = e * e;
    }
    look_at(n, r->t, r->a, r->inverse, l);
    return ST_OK;
}

bool model_refine_by_rows(size_t n, size_t M)
{
    return n <= AUTO_VARIANCE && nmll_is_dual(n, M);
}

enum status model_refine_rows(struct fop *f, size_t t, const double *y, double *ratio,
                              const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f);
    struct by_rows r = { .pool = fop_pool(f), .n = n, .t = t, .y = y };
    struct search s = { .start = log(*ratio), .most = looks_most(n) };
    double best = s.start;

    r.K = mem_aligned(n * n, sizeof *r.K, "the kernel matrix", err);
    r.diag = r.K ? mem_calloc((2 + t) * n, sizeof *r.diag, "left-out errors", err) : NULL;
    enum status rc = r.diag ? nmll_dual_matrix(f, r.K, ctl, err) : ST_NOMEM;
    if (rc == ST_OK) {
        r.inverse = r.diag + n;
        r.a = r.inverse + n;
        for (size_t i = 0; i < n; i++)
            r.diag[i] = r.K[i + i * n];
        rc = search_run(&s, &(struct scorer){ rows_score, &r }, &best, ctl, err);
    }
    if (rc == ST_OK && best != s.start)
        *ratio = model_round(exp(best));
    free(r.K);
    free(r.diag);
    return rc;
}
