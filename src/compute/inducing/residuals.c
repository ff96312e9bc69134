/* compute/inducing/residuals.c -- see residuals.h.
 *
 * Rounding: r'r and r'P r are carried along by differences, and lose the digits by which they have
 * fallen.  A gain rests on r'r/d, which matters where d is small, too: r'r counts only as far as it
 * is surely there, and never for less than the part of row j itself. */
#include "compute/inducing/residuals.h"

#include "base/mem.h"
#include "compute/inducing/word_counts.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURELY 1e-13 /* of the first r'r: more than what is lost to rounding */
enum { BLOCK = 64 };

struct residuals {
    size_t n, t;
    const double *y, *scale;   /* row factors S, or NULL */
    struct pool *pool;
    struct word_counts *words; /* or */
    double *K;                 /* S K1, n x n */
    double *d, *norm, *first, *through; /* n each: d, r'r, r'r of the empty set, r'P r */
    double *ry;                /* n x t: r'P y */
    double *x, *out;           /* n x 2 each: q and P q, and their products with K1 S */
};

void residuals_free(struct residuals *r)
{
    if (r == NULL)
        return;
    word_counts_free(r->words);
    free(r->K);
    free(r->d);
    free(r);
}

static double scale_of(const struct residuals *r, size_t i)
{
    return r->scale ? r->scale[i] : 1.0;
}

/* A block of columns of S K1 times x. */
static void products_task(void *ctx, size_t task, size_t worker)
{
    const struct residuals *r = ctx;
    const size_t n = r->n, j0 = task * BLOCK, some = n - j0 < BLOCK ? n - j0 : BLOCK;

    (void)worker;
    blas_dgemv1(true, n, some, 1.0, r->K + j0 * n, n, r->x, 0.0, r->out + j0);
    blas_dgemv1(true, n, some, 1.0, r->K + j0 * n, n, r->x + n, 0.0, r->out + n + j0);
}

static void products(struct residuals *r)
{
    if (r->words)
        word_counts_products(r->words, r->x, r->out);
    else
        pool_run(r->pool, (r->n + BLOCK - 1) / BLOCK, products_task, r);
}

static void norms_task(void *ctx, size_t task, size_t worker)
{
    const struct residuals *r = ctx;
    const size_t n = r->n, j0 = task * BLOCK, j1 = j0 + BLOCK < n ? j0 + BLOCK : n;

    (void)worker;
    for (size_t j = j0; j < j1; j++)
        r->norm[j] = blas_ddot(n, r->K + j * n, r->K + j * n);
}

/* Without points r is a column of S K1, and P = I/ratio. */
static enum status begin(struct residuals *r, const struct basis *b, struct err *err)
{
    const size_t n = r->n;
    enum status rc = ST_OK;

    if (r->words)
        rc = word_counts_norms(r->words, r->norm, err);
    else
        pool_run(r->pool, (n + BLOCK - 1) / BLOCK, norms_task, r);
    for (size_t k = 0; k < r->t; k++) {
        memcpy(r->x, r->y + k * n, n * sizeof *r->x);
        memset(r->x + n, 0, n * sizeof *r->x);
        products(r);
        for (size_t j = 0; j < n; j++)
            r->ry[j + k * n] = r->out[j] / b->of.ratio;
    }
    for (size_t j = 0; j < n; j++) {
        r->d[j] = b->own[j] / (scale_of(r, j) * scale_of(r, j));
        r->first[j] = r->norm[j];
        r->through[j] = r->norm[j] / b->of.ratio;
    }
    return rc;
}

enum status residuals_new(const struct basis *b, double bytes, bool pairs, struct residuals **out,
                          struct err *err)
{
    const size_t n = b->n, t = b->of.t;
    struct residuals *r = mem_calloc(1, sizeof *r, "residuals of all rows", err);

    *out = NULL;
    if (r == NULL)
        return ST_NOMEM;
    *r = (struct residuals){ .n = n, .t = t, .y = b->of.y, .scale = b->of.rows->row_scale,
                             .pool = b->of.rows->pool };
    enum status rc = word_counts_new(b->of.rows, bytes, &r->words, err);
    if (rc == ST_OK && r->words == NULL && (!pairs || 8.0 * (double)n * (double)n > bytes)) {
        residuals_free(r);
        return ST_OK;
    }
    if (rc == ST_OK && r->words == NULL) {
        r->K = mem_aligned(n * n, sizeof *r->K, "residuals of all rows", err);
        rc = r->K ? columns_once(b->of.rows, n, b->of.rows->X, r->K, err) : ST_NOMEM;
    }
    if (rc == ST_OK) {
        r->d = mem_calloc(n, (8 + t) * sizeof *r->d, "residuals of all rows", err);
        rc = r->d ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        r->norm = r->d + n;
        r->first = r->norm + n;
        r->through = r->first + n;
        r->x = r->through + n;
        r->out = r->x + 2 * n;
        r->ry = r->out + 2 * n;
        rc = begin(r, b, err);
    }
    if (rc == ST_OK)
        *out = r;
    else
        residuals_free(r);
    return rc;
}

void residuals_try(const struct residuals *r, const struct basis *b, size_t row,
                   struct basis_try *t)
{
    if (r->words)
        word_counts_column(r->words, row, t->q);
    else
        memcpy(t->q, r->K + row * r->n, r->n * sizeof *t->q);
    basis_row(b, row, t);
}

/* With q the point's column, step = q/s its coordinate in each row, g = V'q and h = C g of the set
 * before: e = r'q and f = r'P q of each row, c = q'P q and 1 + c = s/ratio. */
void residuals_added(struct residuals *r, const struct basis *b, const struct basis_try *t)
{
    const size_t n = r->n, m = b->m - 1;
    const double ratio = b->of.ratio, c = (t->s - ratio) / ratio;
    double *vg = r->out, *vh = r->out + n;
    double beta[TARGETS_MOST];

    for (size_t k = 0; k < r->t; k++)
        beta[k] = (t->qy[k] - blas_ddot(m, t->h, b->b + k * b->most)) / ratio;
    memcpy(r->x, t->q, n * sizeof *r->x);
    memcpy(r->x + n, t->q, n * sizeof *r->x);
    if (m > 0)
        blas_dgemv1(false, n, m, -1.0, b->V, n, t->h, 1.0, r->x + n);
    blas_dscal(n, 1.0 / ratio, r->x + n);
    products(r);
    if (m > 0) { /* V g and V h, the latter from P q */
        double *w = r->x;
        blas_dgemv1(false, n, m, 1.0, b->V, n, t->g, 0.0, w);
        for (size_t j = 0; j < n; j++) {
            vg[j] -= w[j] / scale_of(r, j);
            vh[j] -= (t->q[j] - ratio * r->x[j + n]) / scale_of(r, j);
        }
    }
    for (size_t j = 0; j < n; j++) {
        const double step = t->q[j] / scale_of(r, j), e = vg[j], f = vh[j], p = f - step * c;
        r->d[j] -= step * step;
        r->norm[j] += step * (step * t->gamma - 2.0 * e);
        r->through[j] += step * (step * c - 2.0 * f) - p * p / (1.0 + c);
        for (size_t k = 0; k < r->t; k++)
            r->ry[j + k * n] -= beta[k] * (step + p / (1.0 + c));
    }
}

bool residuals_spanned(const struct residuals *r, const struct basis *b, size_t j)
{
    const double s = scale_of(r, j);

    return !(r->d[j] > BASIS_SPANNED * b->own[j] / (s * s));
}

double residuals_change(const struct residuals *r, const struct basis *b, size_t j)
{
    const double ratio = b->of.ratio, d = r->d[j], part = scale_of(r, j) * d;
    const double most = fmax(r->norm[j], part * part);
    const double norm = fmax(r->norm[j] - SURELY * r->first[j], part * part);
    const double through = fmin(fmax(r->through[j], 0.0), most / ratio);
    double sum = 0.5 * (double)r->t *
                 (log1p(through / d) - (b->of.bound ? norm / (d * ratio) : 0.0));

    for (size_t k = 0; k < r->t; k++) {
        const double e = r->ry[j + k * r->n] / b->of.amplitude[k];
        sum -= e * e / (2.0 * (d + through));
    }
    return isfinite(sum) ? sum : INFINITY;
}
