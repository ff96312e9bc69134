/* compute/models/model_forecast.c -- see model_forecast.h. */
#include "compute/models/model_forecast.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/rng.h"
#include "compute/solvers/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sample as a system: K (m x m, both triangles). */
struct dense { size_t m; double *K, lam2; struct pool *pool; };

static enum status times(const struct dense *d, double lam2, size_t k, const double *X, double *Y)
{
    const enum status rc = blas_dgemm(d->pool, false, false, d->m, k, d->m, 1.0, d->K, d->m, X,
                                      d->m, 0.0, Y, d->m, NULL);

    blas_daxpy(k * d->m, lam2, X, Y);
    return rc;
}

static enum status dense_apply(void *ctx, size_t k, const double *X, double *Y,
                               const struct ctl *ctl, struct err *err)
{
    const struct dense *d = ctx;

    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : times(d, d->lam2, k, X, Y);
}

static enum status dense_product(void *ctx, size_t k, const double *X, double *Y,
                                 const struct ctl *ctl, struct err *err)
{
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : times(ctx, 0.0, k, X, Y);
}

static enum status dense_columns(void *ctx, size_t c, const size_t *at, double *C,
                                 const struct ctl *ctl, struct err *err)
{
    const struct dense *d = ctx;

    for (size_t j = 0; j < c; j++)
        memcpy(C + j * d->m, d->K + at[j] * d->m, d->m * sizeof *C);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

static enum status dense_diagonal(void *ctx, double *diag, const struct ctl *ctl, struct err *err)
{
    const struct dense *d = ctx;

    (void)ctl, (void)err;
    for (size_t i = 0; i < d->m; i++)
        diag[i] = d->K[i + i * d->m];
    return ST_OK;
}

static struct linop linop_of(struct dense *d)
{
    return (struct linop){ .n = d->m, .apply = dense_apply, .ctx = d, .pool = d->pool,
                           .lam2 = d->lam2, .product = dense_product, .columns = dense_columns,
                           .diagonal = dense_diagonal };
}

/* Random rows of the source, their kernel matrix, and k right-hand sides.  Rows that are spread
 * evenly would be further apart than others where neighbours in the table are near. */
struct sample { size_t m, k; double *K, *b; };

static enum status sample_new(const struct forecast_ask *q, const struct tools *on,
                              struct sample *s, struct err *err)
{
    const struct source *src = q->rows;
    const size_t n = src->n, m = s->m, d = src->d, t = q->opts->targets ? q->opts->targets : 1;
    double *X = mem_calloc(m, (d + 1) * sizeof *X, "a sample of rows", err);

    size_t *order = X ? mem_calloc(n, sizeof *order, "a sample of rows", err) : NULL;

    s->k = t + (q->opts->samples > 0);
    s->b = order ? mem_calloc(m, s->k * sizeof *s->b, "a sample of rows", err) : NULL;
    s->K = s->b ? mem_aligned(m * m, sizeof *s->K, "the matrix of a sample", err) : NULL;
    enum status rc = s->K ? ST_OK : ST_NOMEM;
    const struct exact_rows r = { .k = &q->opts->kernel, .hp = q->opts->hp, .X = X, .n = m, .d = d,
                                  .row_scale = src->row_scale ? X + m * d : NULL,
                                  .pool = on->pool };
    if (order)
        rng_permutation(q->opts->seed, rng_stream(RNG_SKETCH, 10), n, order);
    for (size_t j = 0; rc == ST_OK && j < m; j++) {
        const size_t i = order[j];
        rc = src->rows(src, i, i + 1, X + j * d, err);
        if (src->row_scale)
            X[m * d + j] = src->row_scale[i];
        for (size_t c = 0; c < t; c++)
            s->b[c * m + j] = q->y[c * n + i];
        if (s->k > t)
            s->b[t * m + j] = rng_normal(q->opts->seed, rng_stream(RNG_SKETCH, 9), j);
    }
    if (rc == ST_OK)
        rc = exact_matrix(&r, 0.0, s->K, on->ctl, err);
    for (size_t j = 0; rc == ST_OK && j < m; j++)
        for (size_t i = 0; i < j; i++)
            s->K[i + j * m] = s->K[j + i * m];
    free(order);
    free(X);
    return rc;
}

/* The first half of the sample, or the second. */
static enum status sample_half(const struct sample *s, size_t which, struct sample *h,
                               struct err *err)
{
    const size_t m = s->m / 2, at = which * m;

    *h = (struct sample){ .m = m, .k = s->k };
    h->b = mem_calloc(m, s->k * sizeof *h->b, "a sample of rows", err);
    h->K = h->b ? mem_aligned(m * m, sizeof *h->K, "the matrix of a sample", err) : NULL;
    if (h->K == NULL)
        return ST_NOMEM;
    for (size_t j = 0; j < m; j++) {
        for (size_t c = 0; c < s->k; c++)
            h->b[c * m + j] = s->b[c * s->m + at + j];
        for (size_t i = 0; i < m; i++)
            h->K[i + j * m] = s->K[at + i + (at + j) * s->m];
    }
    return ST_OK;
}

static void sample_free(struct sample *s)
{
    free(s->K);
    free(s->b);
}

/* *count: iterations on a sample with a preconditioner of that rank, `most` where it has not ended;
 * *ratio: the preconditioner's last eigenvalue over the noise. */
static enum status iterate(const struct forecast_ask *q, const struct sample *s, size_t rank,
                           const struct tools *on, double *count, double *ratio, struct err *err)
{
    const double part = (double)s->m / (double)q->rows->n, rtol = q->opts->rtol;
    struct dense d = { .m = s->m, .K = s->K, .lam2 = part * q->ratio, .pool = on->pool };
    const struct ctl quiet = { .cancel = on->ctl ? on->ctl->cancel : NULL };
    const struct linop A = linop_of(&d);
    const struct precond_opts po = { .rank = rank, .seed = q->opts->seed, .lam2 = d.lam2 };
    struct solve_opts so = { .rtol = rtol > 0.0 ? rtol : 1e-6, .maxit = q->most };
    struct precond *pre = NULL;
    double *x = mem_calloc(s->k, s->m * sizeof *x, "a forecast", err);
    struct solve_info *info = x ? mem_calloc(s->k, sizeof *info, "a forecast", err) : NULL;
    enum status rc = info ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && rank)
        rc = q->precond->build(&A, &po, &quiet, &pre, err);
    *count = 0.0;
    *ratio = NAN;
    if (rc == ST_OK && pre) {
        precond_set_noise(pre, d.lam2);
        *ratio = precond_ratio(pre);
    }
    so.pre = pre;
    if (rc == ST_OK)
        rc = cg_solve(&A, s->k, s->b, x, &so, &quiet, info, err);
    if (rc == ST_OK && ctl_stopped(&quiet))
        rc = err_set(err, ST_CANCELLED, "stopped");
    for (size_t c = 0; info && c < s->k; c++) {
        *count = fmax(*count, info[c].why == OUT_RTOL ? (double)info[c].iterations
                                                      : (double)q->most);
        solve_info_free(&info[c]);
    }
    precond_free(pre);
    free(info);
    free(x);
    return rc;
}

/* The iterations on n rows from those on m and m / 2 of them (share/doc/methods.md 9.16): each
 * doubling of the rows adds to their logarithm, and the next one 0.8 times as much.  Nine fits of
 * 4000 rows (pol, bike, protein; samples of 1000) took 0.8 to 1.6 times as many. */
static void extend(double n, double m, double all, double half, size_t most, struct rank_guess *g)
{
    static const double falls = 0.8, apart = 1.6;
    const double power = fmin(1.0, fmax(0.15, log2(all / fmax(1.0, half)))), far = log2(n / m);

    g->iterations = all * exp2(power * falls * (1.0 - pow(falls, far)) / (1.0 - falls));
    g->low = far > 0.0 ? fmax(all, g->iterations / apart) : all;
    g->high = far > 0.0 ? apart * g->iterations : all;
    g->more = all >= (double)most;
    g->capped = g->more || g->iterations >= (double)most;
    if (g->more)
        g->high = INFINITY;
}

enum status model_forecast(const struct forecast_ask *q, const struct tools *on,
                           struct rank_guess *at, size_t *rows, struct err *err)
{
    const size_t n = q->rows->n, want = q->sample ? q->sample : FORECAST_ROWS;
    struct sample s = { .m = want < n ? want : n }, h[2] = { { 0 } };
    double all, half[2], ratio;

    *rows = s.m;
    if (q->precond->factored) {
        err_set(err, ST_UNSUPPORTED, "precond=%s is for features: an exact kernel has no Z'Z",
                q->precond->name);
        err_hint(err, "precond=%s", precond_pchol.name);
        return ST_UNSUPPORTED;
    }
    enum status rc = sample_new(q, on, &s, err);
    for (size_t w = 0; rc == ST_OK && w < 2; w++)
        rc = sample_half(&s, w, &h[w], err);
    for (size_t i = 0; rc == ST_OK && i < q->count; i++) {
        struct rank_guess *g = &at[i];
        *g = (struct rank_guess){ .rank = q->ranks[i], .ratio = NAN, .more = true,
                                  .high = INFINITY };
        ctl_tell(on->ctl, PHASE_RANKS, i, q->count, NAN);
        if (4 * g->rank > s.m)
            continue;
        rc = iterate(q, &s, g->rank, on, &all, &g->ratio, err);
        for (size_t w = 0; rc == ST_OK && w < 2; w++)
            rc = iterate(q, &h[w], g->rank, on, &half[w], &ratio, err);
        if (rc == ST_OK)
            extend((double)n, (double)s.m, all, sqrt(half[0] * half[1]), q->most, g);
    }
    if (rc == ST_OK)
        ctl_tell(on->ctl, PHASE_RANKS, q->count, q->count, NAN);
    sample_free(&s);
    sample_free(&h[0]);
    sample_free(&h[1]);
    return rc;
}
