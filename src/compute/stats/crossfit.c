/* compute/stats/crossfit.c -- see crossfit.h.
 *
 * With folds k, mu_k the mean of the fit without fold k and R_i = |y_i - mu_k(i)(x_i)| of the n
 * training rows, CV+ (Barber, Candes, Ramdas & Tibshirani 2021) is the interval from the
 * floor((n + 1)(1 - p))-th value of mu_k(i)(x) - R_i to the ceil((n + 1) p)-th of mu_k(i)(x) + R_i.
 * As fits of folds have the features, or the rows, of the model, their weights are further targets
 * of it, and one pass predicts them all.
 *
 * model.cv: the number of rows of each fold; then for each target the errors, fold by fold, each
 * in ascending order. */
#include "compute/stats/crossfit.h"

#include "base/mem.h"
#include "compute/pool.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, HALVINGS = 80 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static size_t rows_of(const struct model *m)
{
    double n = 0.0;

    for (size_t k = 0; k < m->ncv; k++)
        n += m->cv[k];
    return (size_t)n;
}

/* Fits. */

/* A fold: its rows, those of the others, and what is gathered from them. */
struct fold {
    const struct source *train; /* all rows, their targets, and how they are fitted */
    const double *all;
    const struct fit_opts *o;
    size_t nin, nout, *in, *out;
    double *y, *scale, *mean;
};

static void fold_free(struct fold *f)
{
    free(f->in);
    free(f->y);
    free(f->scale);
    free(f->mean);
}

static enum status fold_new(size_t n, size_t t, struct fold *f, struct err *err)
{
    f->in = mem_calloc(2 * n, sizeof *f->in, "a fold", err);
    f->y = mem_calloc(t, n * sizeof *f->y, "a fold", err);
    f->scale = mem_calloc(n, sizeof *f->scale, "a fold", err);
    f->mean = mem_calloc(t, n * sizeof *f->mean, "a fold", err);
    f->out = f->in ? f->in + n : NULL;
    return f->in && f->y && f->scale && f->mean ? ST_OK : ST_NOMEM;
}

/* The weights of the fit without fold k go to their places, errors of its rows to e. */
static enum status fit_fold(struct model *m, size_t k, struct fold *f, const struct tools *on,
                            double *e, struct err *err)
{
    const struct source *train = f->train;
    const double *y = f->all;
    const size_t n = train->n, t = m->t;
    struct source_subset in, out;
    struct model *part = NULL;
    struct fit_info info;

    source_subset_init(&in, train, f->in, f->nin);
    source_subset_init(&out, train, f->out, f->nout);
    for (size_t i = 0; i < f->nin; i++) {
        for (size_t j = 0; j < t; j++)
            f->y[j * f->nin + i] = y[j * n + f->in[i]];
        if (train->row_scale)
            f->scale[i] = train->row_scale[f->in[i]];
    }
    in.base.row_scale = train->row_scale ? f->scale : NULL;
    out.base.row_scale = NULL;
    enum status rc = model_fit(&in.base, f->y, f->o, on, &part, &info, NULL, err);
    if (rc == ST_OK && ctl_stopped(on->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = model_predict(part, &out.base, f->mean, NULL, on, err);
    for (size_t j = 0; rc == ST_OK && j < t; j++) {
        double *w = m->cv_w + (k * t + j) * m->M;
        for (size_t i = 0; i < part->M; i++)
            w[m->kind->draws ? i : f->in[i]] = part->w[j * part->M + i];
        for (size_t i = 0; i < f->nout; i++) {
            const size_t row = f->out[i];
            const double scale = train->row_scale ? train->row_scale[row] : 1.0;
            e[j * n + i] = fabs(y[j * n + row] - f->mean[j * f->nout + i]) * scale;
        }
    }
    model_unref(part);
    return rc;
}

static enum status refuse(const struct model *m, const struct crossfit *c, size_t n,
                          struct err *err)
{
    if (kernel_learns(&m->kernel) || m->kind->classes || !(m->kind->draws || m->kind->exact)) {
        err_named(err, ST_UNSUPPORTED, "calibration-method",
                  "method=cv+ is for random features and the exact kernel, whose fits of all folds "
                  "have one basis");
        err_hint(err, "calibrate method=conformal share=0.1");
        return ST_UNSUPPORTED;
    }
    if (c->folds * m->t > TARGETS_MOST || c->folds > n) {
        err_set(err, ST_RANGE, "folds=%zu: at most %zu with %zu target%s and %zu rows", c->folds,
                n < TARGETS_MOST / m->t ? n : TARGETS_MOST / m->t, m->t, m->t == 1 ? "" : "s", n);
        err_hint(err, "calibrate method=cv+ folds=5");
        return ST_RANGE;
    }
    return ST_OK;
}

/* What the errors of each target say; then they are sorted, fold by fold. */
static enum status conclude(struct model *m, size_t n, double level, struct calibration *of,
                            struct err *err)
{
    double *ones = mem_calloc(n, sizeof *ones, "calibration rows", err);
    enum status rc = ones ? ST_OK : ST_NOMEM;

    for (size_t i = 0; ones && i < n; i++)
        ones[i] = 1.0;
    for (size_t j = 0; rc == ST_OK && j < m->t; j++) {
        double *e = m->cv + m->ncv + j * n;
        rc = calibration_of(n, e, ones, CALIBRATION_BOTH, level, &of[j], err);
        if (rc != ST_OK)
            err_hint(err, "calibrate method=cv+ with more training rows, or a lower level=");
        m->reach[j] = of[j].reach;
        for (size_t k = 0; k < m->ncv; e += (size_t)m->cv[k++])
            qsort(e, (size_t)m->cv[k], sizeof *e, ascending);
    }
    free(ones);
    return rc;
}

enum status crossfit_fit(struct model *m, const struct source *train, const double *y,
                         const struct crossfit *c, const struct tools *on, struct calibration *of,
                         struct err *err)
{
    const size_t n = train->n;
    struct fit_opts o = *c->o;
    struct fold f = { .train = train, .all = y, .o = &o };
    enum status rc = refuse(m, c, n, err);
    size_t *order = rc == ST_OK ? mem_calloc(n + 1, sizeof *order, "folds", err) : NULL, done = 0;

    o.kind = m->kind;
    memcpy(o.hp, m->hp, sizeof o.hp);
    o.amplitude = m->amplitude;
    o.noise = m->noise;
    o.keep_scale = true;
    o.variance = VAR_NONE;
    o.samples = 0;
    o.start = o.against = NULL;
    o.start_rows = NULL;
    o.seed = m->seed;
    o.targets = m->t;
    o.features = m->kind->draws ? m->M : o.features;
    o.precision = m->precision;
    if (rc == ST_OK)
        rc = order ? fold_new(n, m->t, &f, err) : ST_NOMEM;
    if (rc == ST_OK) {
        m->cv = mem_calloc(c->folds + m->t * n, sizeof *m->cv, "errors of folds", err);
        m->cv_w = mem_calloc(c->folds * m->t, m->M * sizeof *m->cv_w, "weights of folds", err);
        rc = m->cv && m->cv_w ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        m->ncv = c->folds;
        m->ncv_errors = c->folds + m->t * n;
        m->cv_level = c->level;
        rng_permutation(c->seed, rng_stream(RNG_FOLDS, UINT32_MAX), n, order);
    }
    for (size_t k = 0; rc == ST_OK && k < c->folds; k++) {
        f.nin = f.nout = 0;
        for (size_t i = 0; i < n; i++) /* in the order of the rows */
            *(order[i] % c->folds == k ? &f.out[f.nout++] : &f.in[f.nin++]) = i;
        m->cv[k] = (double)f.nout;
        ctl_tell(on->ctl, PHASE_FOLDS, k, c->folds, NAN);
        rc = fit_fold(m, k, &f, on, m->cv + c->folds + done, err);
        done += f.nout;
    }
    if (rc == ST_OK)
        rc = conclude(m, n, c->level, of, err);
    fold_free(&f);
    free(order);
    return rc;
}

/* Intervals. */

/* How many of n ascending values are at most that. */
static size_t up_to(size_t n, const double *v, double most)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (v[mid] <= most)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct asked {
    const struct model *m;
    size_t n, rows, rank;
    const double *mean, *folds; /* of the model (t x n), of the fits (ncv t x n) */
    double *s;
};

/* The rank-th value of sign mu_k + R over all folds and rows, from above. */
static double ranked(const struct asked *a, size_t j, size_t i, double sign)
{
    const struct model *m = a->m;
    const double *all = m->cv + m->ncv + j * a->rows;
    double lo = INFINITY, hi = -INFINITY;

    for (size_t k = 0, at = 0; k < m->ncv; at += (size_t)m->cv[k++]) {
        const double mu = sign * a->folds[(k * m->t + j) * a->n + i];
        lo = fmin(lo, mu);
        if (m->cv[k] > 0.0)
            hi = fmax(hi, mu + all[at + (size_t)m->cv[k] - 1]);
    }
    for (size_t step = 0; step < HALVINGS; step++) {
        const double mid = lo + 0.5 * (hi - lo);
        size_t count = 0;
        if (!(mid > lo && mid < hi))
            break;
        for (size_t k = 0, at = 0; k < m->ncv; at += (size_t)m->cv[k++])
            count += up_to((size_t)m->cv[k], all + at,
                           mid - sign * a->folds[(k * m->t + j) * a->n + i]);
        if (count >= a->rank)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

static void interval_task(void *ctx, size_t task, size_t worker)
{
    const struct asked *a = ctx;
    const struct model *m = a->m;
    const size_t i1 = (task + 1) * ROWS < a->n ? (task + 1) * ROWS : a->n;

    (void)worker;
    for (size_t j = 0; j < m->t; j++)
        for (size_t i = task * ROWS; i < i1; i++) {
            const double mean = a->mean[j * a->n + i];
            const double above = ranked(a, j, i, 1.0) - mean, below = ranked(a, j, i, -1.0) + mean;
            a->s[j * a->n + i] =
                fmax(fmax(above, below), 0.0) / reach_at(&m->reach[j], m->cv_level);
        }
}

enum status crossfit_at(const struct model *m, const struct source *src, const double *mean,
                        double *s, const struct tools *on, struct err *err)
{
    struct model folds;
    struct asked a = { .m = m, .n = src->n, .rows = rows_of(m), .mean = mean, .s = s };
    double *all = mem_calloc(m->ncv * m->t, (src->n + 1) * sizeof *all, "means of folds", err);

    if (all == NULL)
        return ST_NOMEM;
    model_alias(m, &folds);
    folds.t = m->ncv * m->t;
    folds.w = m->cv_w;
    folds.spread = NULL;
    const enum status rc = model_predict(&folds, src, all, NULL, on, err);
    a.folds = all;
    a.rank = (size_t)ceil((double)(a.rows + 1) * m->cv_level - 1e-9);
    if (rc == ST_OK)
        pool_run(on->pool, (src->n + ROWS - 1) / ROWS, interval_task, &a);
    free(all);
    return rc;
}
