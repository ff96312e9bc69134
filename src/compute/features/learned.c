/* compute/features/learned.c -- see learned.h (share/doc/methods.md 23). */
#include "compute/features/learned.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Kept features are at most this share of the memory of the machine. */
static const double KEPT_MOST = 0.1;

struct learned_rows {
    struct source base;
    const struct source *of;
    const struct kernel *kernel;
    size_t out;  /* numbers of a row behind its inputs */
    float *kept; /* n x out; NULL: made for each call */
};

/* Rows r0 to r1 - 1 with their features, at most NET_GROUP of them. */
static enum status make_rows(const struct learned_rows *l, size_t r0, size_t r1, double *x,
                             struct err *err)
{
    const size_t d = l->of->d, wide = l->base.d, n = r1 - r0;
    enum status rc = l->of->rows(l->of, r0, r1, x, err);

    for (size_t r = n; rc == ST_OK && r-- > 1;) /* apart, from the last on */
        memmove(x + r * wide, x + r * d, d * sizeof *x);
    return rc == ST_OK ? kernel_learned_rows(l->kernel, n, x, wide, x + d, wide, err) : rc;
}

static enum status all_rows(const struct source *s, size_t r0, size_t r1, double *x,
                            struct err *err)
{
    const struct learned_rows *l = (const struct learned_rows *)(const void *)s;
    const size_t out = l->out, d = l->of->d;
    enum status rc = ST_OK;

    if (!l->kept) {
        for (size_t r = r0; rc == ST_OK && r < r1; r += NET_GROUP)
            rc = make_rows(l, r, r + NET_GROUP < r1 ? r + NET_GROUP : r1, x + (r - r0) * s->d, err);
        return rc;
    }
    rc = l->of->rows(l->of, r0, r1, x, err);
    for (size_t r = r1 - r0; rc == ST_OK && r-- > 0;) {
        memmove(x + r * s->d, x + r * d, d * sizeof *x);
        for (size_t j = 0; j < out; j++)
            x[r * s->d + d + j] = (double)l->kept[(r0 + r) * out + j];
    }
    return rc;
}

struct fill { struct learned_rows *l; enum status *rc; struct err *err; };

static void fill_task(void *ctx, size_t task, size_t worker)
{
    struct fill *f = ctx;
    struct learned_rows *l = f->l;
    const size_t r0 = task * NET_GROUP, end = r0 + NET_GROUP, out = l->out;
    const size_t r1 = end < l->base.n ? end : l->base.n;
    double *x = mem_aligned((r1 - r0) * l->base.d, sizeof *x, "rows", &f->err[task]);

    (void)worker;
    f->rc[task] = x ? make_rows(l, r0, r1, x, &f->err[task]) : ST_NOMEM;
    for (size_t r = 0; f->rc[task] == ST_OK && r < r1 - r0; r++)
        for (size_t j = 0; j < out; j++)
            l->kept[(r0 + r) * out + j] = (float)x[r * l->base.d + l->of->d + j];
    free(x);
}

static enum status fill_all(struct learned_rows *l, struct pool *pool, struct err *err)
{
    const size_t tasks = (l->base.n + NET_GROUP - 1) / NET_GROUP;
    struct fill f = { l, mem_calloc(tasks + 1, sizeof *f.rc, "features", err),
                      mem_calloc(tasks + 1, sizeof *f.err, "features", err) };
    enum status rc = f.rc && f.err ? ST_OK : ST_NOMEM;

    if (rc == ST_OK)
        pool_run(pool, tasks, fill_task, &f);
    for (size_t t = 0; rc == ST_OK && t < tasks; t++)
        if (f.rc[t] != ST_OK) {
            rc = f.rc[t];
            if (err)
                *err = f.err[t];
        }
    free(f.rc);
    free(f.err);
    return rc;
}

struct learned_rows *learned_rows_new(const struct kernel *k, const struct source *src,
                                      struct pool *pool, struct err *err)
{
    if (kernel_learned_ready(k, src->d, err) != ST_OK)
        return NULL;
    struct learned_rows *l = mem_calloc(1, sizeof *l, "rows of learned features", err);
    if (!l)
        return NULL;
    *l = (struct learned_rows){ .base = *src, .of = src, .kernel = k,
                                 .out = kernel_learned_numbers(k) };
    l->base.d = src->d + l->out;
    l->base.rows = all_rows;
    const double bytes = (double)src->n * (double)l->out * sizeof *l->kept;
    if (src->n == 0 || bytes > KEPT_MOST * (double)mem_physical())
        return l;
    l->kept = mem_aligned(src->n * l->out, sizeof *l->kept, "learned features", err);
    if (!l->kept || fill_all(l, pool, err) != ST_OK) {
        learned_rows_free(l);
        return NULL;
    }
    return l;
}

const struct source *learned_rows_source(const struct learned_rows *l)
{
    return &l->base;
}

void learned_rows_free(struct learned_rows *l)
{
    if (!l)
        return;
    free(l->kept);
    free(l);
}
