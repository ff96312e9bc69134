/* compute/models/exact_system.c -- A = S K1 S + lam2 I as a linear operator (exact_system.h).  Both
 * multiplications by S and the term lam2 X are in double precision; products with K1 are those of
 * exact.h. */
#include "compute/models/exact_system.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"

#include <stdlib.h>
#include <string.h>

struct exact_system {
    const struct backend_ops *be;
    struct exact_op *op;
    struct exact_rows r;
    double lam2;
    struct mem_spares spares; /* S X */
};

/* X, or S X (n x k) in *own, which the caller gives back; NULL when memory is short. */
static const double *scaled(struct exact_system *s, size_t k, const double *X, double **own,
                            struct err *err)
{
    const size_t n = s->r.n;

    *own = NULL;
    if (!s->r.row_scale)
        return X;
    *own = mem_spare_take(&s->spares, n * k * sizeof **own, "the weighted vectors", err);
    for (size_t i = 0; *own && i < n * k; i++)
        (*own)[i] = s->r.row_scale[i % n] * X[i];
    return *own;
}

static double factor(const struct exact_system *s, size_t i)
{
    return s->r.row_scale ? s->r.row_scale[i] : 1.0;
}

/* Y (n x k) <- S K1 S X + lam2 X; anew: from values that are computed, even if they are stored. */
static enum status times(struct exact_system *s, double lam2, bool anew, size_t k, const double *X,
                         double *Y, const struct ctl *ctl, struct err *err)
{
    const size_t n = s->r.n;
    double *own;
    const double *from = scaled(s, k, X, &own, err);
    const enum status rc = !from  ? ST_NOMEM
                           : anew ? exact_op_anew(s->op, k, from, Y, ctl, err)
                                  : exact_op_apply(s->op, n, NULL, k, from, Y, ctl, err);

    for (size_t i = 0; rc == ST_OK && i < k * n; i++)
        Y[i] = factor(s, i % n) * Y[i] + lam2 * X[i];
    mem_spare_give(&s->spares, own);
    return rc;
}

static enum status system_apply(void *ctx, size_t k, const double *X, double *AX,
                                const struct ctl *ctl, struct err *err)
{
    struct exact_system *s = ctx;
    return times(s, s->lam2, false, k, X, AX, ctl, err);
}

static enum status system_exact(void *ctx, size_t k, const double *X, double *AX,
                                const struct ctl *ctl, struct err *err)
{
    struct exact_system *s = ctx;
    return times(s, s->lam2, true, k, X, AX, ctl, err);
}

static enum status system_product(void *ctx, size_t k, const double *X, double *GX,
                                  const struct ctl *ctl, struct err *err)
{
    return times(ctx, 0.0, false, k, X, GX, ctl, err);
}

static enum status system_rows(void *ctx, size_t m, const size_t *at, size_t k, const double *X,
                               double *W, const struct ctl *ctl, struct err *err)
{
    struct exact_system *s = ctx;
    double *own;
    const double *from = scaled(s, k, X, &own, err);
    const enum status rc = from ? exact_op_rows(s->op, m, at, k, from, W, ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < k * m; i++)
        W[i] *= factor(s, at[i % m]);
    mem_spare_give(&s->spares, own);
    return rc;
}

static enum status system_columns(void *ctx, size_t m, const size_t *at, double *C,
                                  const struct ctl *ctl, struct err *err)
{
    struct exact_system *s = ctx;
    const size_t n = s->r.n;
    const enum status rc = exact_op_columns(s->op, m, at, C, ctl, err);

    for (size_t c = 0; rc == ST_OK && s->r.row_scale && c < m; c++)
        for (size_t i = 0; i < n; i++)
            C[c * n + i] *= s->r.row_scale[i] * s->r.row_scale[at[c]];
    return rc;
}

/* By the same loops as all products: those of an operator over these rows alone. */
static enum status system_block(void *ctx, size_t m, const size_t *at, double *C,
                                const struct ctl *ctl, struct err *err)
{
    const struct exact_system *s = ctx;
    const size_t d = s->r.d;
    double *X = mem_calloc(m, (d + 1) * sizeof *X, "a block", err);
    size_t *all = X ? mem_calloc(m, sizeof *all, "a block", err) : NULL;
    struct exact_rows r = s->r;
    struct exact_op *op = NULL;

    r.X = X;
    r.n = m;
    for (size_t j = 0; all && j < m; j++) {
        memcpy(X + j * d, s->r.X + at[j] * d, d * sizeof *X);
        all[j] = j;
    }
    enum status rc = all ? exact_op_open(s->be, &r, &op, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = exact_op_columns(op, m, all, C, ctl, err);
    for (size_t c = 0; rc == ST_OK && s->r.row_scale && c < m; c++)
        for (size_t i = 0; i < m; i++)
            C[c * m + i] *= s->r.row_scale[at[i]] * s->r.row_scale[at[c]];
    exact_op_close(op);
    free(all);
    free(X);
    return rc;
}

static enum status system_diagonal(void *ctx, double *diag, const struct ctl *ctl, struct err *err)
{
    const struct exact_system *s = ctx;
    const struct exact_rows *r = &s->r;

    for (size_t i = 0; i < r->n; i++) {
        const double *x = r->X + i * r->d;
        diag[i] = factor(s, i) * factor(s, i) * kernel_exact(r->k, r->hp, r->d, x, x, NULL);
    }
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

/* S Z Z'S X with fresh random features Z of K1. */
static enum status system_sketch(void *ctx, size_t m, uint64_t draw, size_t k, const double *X,
                                 double *Y, const struct ctl *ctl, struct err *err)
{
    const struct exact_system *s = ctx;
    const struct exact_rows *r = &s->r;
    const struct fop_opts fo = { .pool = r->pool, .row_scale = r->row_scale };
    struct source_array src;

    if (kernel_reads_windows(r->k)) {
        err_set(err, ST_UNSUPPORTED, "solver=sgd is for kernels of columns, this one reads "
                                     "sequences");
        err_hint(err, "fit model=exact solver=sdd");
        return ST_UNSUPPORTED;
    }
    source_array_init(&src, r->X, r->n, r->d, r->d);
    struct featmap *map = featmap_new(r->k, r->d, m, draw, err);
    struct fop *f = map ? fop_new(s->be, map, &src.base, &fo, err) : NULL;
    double *T = f ? mem_calloc(k * fop_cols(f), sizeof *T, "random features", err) : NULL;
    enum status rc = T ? fop_set(f, r->hp, err) : err_status(err);

    if (rc == ST_OK)
        rc = fop_ztv(f, k, X, T, ctl, err);
    if (rc == ST_OK)
        rc = fop_zp(f, k, T, Y, ctl, err);
    free(T);
    fop_free(f);
    featmap_free(map);
    return rc;
}

static double system_seconds(const void *ctx, size_t rows, size_t k)
{
    const struct exact_system *s = ctx;
    return exact_op_seconds(s->op, rows, k);
}

enum status exact_system_open(const struct backend_ops *be, const struct exact_rows *r,
                              struct exact_system **out, struct err *err)
{
    struct exact_system *s = mem_calloc(1, sizeof *s, "an exact system", err);

    *out = NULL;
    if (s == NULL)
        return ST_NOMEM;
    s->be = be;
    s->r = *r;
    const enum status rc = exact_op_open(be, r, &s->op, err);
    if (rc == ST_OK)
        *out = s;
    else
        free(s);
    return rc;
}

enum status exact_system_store(struct exact_system *s, bool half, const struct ctl *ctl,
                               struct err *err)
{
    return exact_op_store(s->op, half, ctl, err);
}

void exact_system_close(struct exact_system *s)
{
    if (s == NULL)
        return;
    exact_op_close(s->op);
    mem_spares_free(&s->spares);
    free(s);
}

struct linop exact_system_linop(struct exact_system *s, double lam2)
{
    void *there;
    const struct backend_descent *descent = exact_op_descent(s->op, &there);

    s->lam2 = lam2;
    return (struct linop){ .n = s->r.n, .apply = system_apply, .descent = descent, .there = there,
                           .row = s->r.row_scale,
                           .exact = exact_op_rounds(s->op) ? system_exact : NULL, .ctx = s,
                           .pool = s->r.pool, .lam2 = lam2, .single = exact_op_single(s->op),
                           .product = system_product, .rows = system_rows,
                           .columns = system_columns, .block = system_block,
                           .diagonal = system_diagonal, .sketch = system_sketch,
                           .seconds = system_seconds };
}

struct exact_op *exact_system_op(const struct exact_system *s)
{
    return s->op;
}
