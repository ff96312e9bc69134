/* compute/features/learned.c -- see learned.h (share/doc/methods.md 23). */
#include "compute/features/learned.h"

#include "base/mem.h"

#include <pthread.h>
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
    const struct backend_nets *nets;
    void *there[KERNEL_MAX_TERMS]; /* the net of each kernel on a device; NULL: the processor */
    pthread_mutex_t lock;          /* of what follows */
    bool lost;
    struct err why;
};

/* Rows of the net of kernel t on the device: NOMEM, or what the device says. */
static enum status device_rows(const struct learned_rows *l, size_t t, size_t n, const double *x,
                               size_t stride, double *f, size_t ld, struct err *err)
{
    const size_t d = l->of->d, q = l->kernel->term[t].net->shape.out;
    float *in = mem_aligned(n * (d + q), sizeof *in, "features of rows", err);
    float *out = in + n * d;

    if (!in)
        return ST_NOMEM;
    for (size_t r = 0; r < n; r++)
        for (size_t j = 0; j < d; j++)
            in[r * d + j] = (float)x[r * stride + j];
    const enum status rc = l->nets->rows(l->there[t], n, in, out, err);
    for (size_t r = 0; rc == ST_OK && r < n; r++)
        for (size_t j = 0; j < q; j++)
            f[r * ld + j] = (double)out[r * q + j];
    free(in);
    return rc;
}

static bool lose(struct learned_rows *l, const struct err *err)
{
    pthread_mutex_lock(&l->lock);
    if (!l->lost && err)
        l->why = *err;
    const bool was = l->lost;
    l->lost |= err != NULL;
    pthread_mutex_unlock(&l->lock);
    return was;
}

bool learned_rows_lost(struct learned_rows *l, struct err *why)
{
    const bool lost = lose(l, NULL);

    if (lost && why)
        *why = l->why;
    return lost;
}

static enum status some_rows(void *ctx, size_t t, size_t n, const double *x, size_t stride,
                             double *f, size_t ld, struct err *err)
{
    struct learned_rows *l = ctx;
    struct err why = { 0 };

    if (l->there[t] && !lose(l, NULL)) {
        const enum status rc = device_rows(l, t, n, x, stride, f, ld, &why);
        if (rc == ST_OK)
            return rc;
        if (rc == ST_BACKEND)
            lose(l, &why);
    }
    return net_rows(l->kernel->term[t].net, n, x, stride, f, ld, err);
}

/* The nets on the device: where it has no room, the processor keeps the map. */
static void open_there(struct learned_rows *l)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    struct err err = { 0 };

    for (size_t t = 0; l->nets && t < l->kernel->nterms; t++) {
        const struct net *net = l->kernel->term[t].net;
        if (!kterm_learns(&l->kernel->term[t]) || lose(l, NULL))
            continue;
        net_layers(&net->shape, layer);
        l->there[t] = l->nets->open(
            &(struct backend_net){ &net->shape, layer, net->w, net->count }, &err);
        if (!l->there[t] && err.code == ST_BACKEND)
            lose(l, &err);
        err_clear(&err);
    }
}

/* Rows r0 to r1 - 1 with their features, at most NET_GROUP of them. */
static enum status make_rows(struct learned_rows *l, size_t r0, size_t r1, double *x,
                             struct err *err)
{
    const size_t d = l->of->d, wide = l->base.d, n = r1 - r0;
    enum status rc = l->of->rows(l->of, r0, r1, x, err);

    for (size_t r = n; rc == ST_OK && r-- > 1;) /* apart, from the last on */
        memmove(x + r * wide, x + r * d, d * sizeof *x);
    const struct kernel_maker by = { some_rows, l };
    return rc == ST_OK ? kernel_learned_rows_by(l->kernel, &by, n, x, wide, x + d, wide, err) : rc;
}

static enum status all_rows(const struct source *s, size_t r0, size_t r1, double *x,
                            struct err *err)
{
    /* The rows are the same for every caller; that their device was lost is noted. */
    struct learned_rows *l = (struct learned_rows *)(uintptr_t)s;
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
                                      const struct backend_nets *nets, struct pool *pool,
                                      struct err *err)
{
    if (kernel_learned_ready(k, src->d, err) != ST_OK)
        return NULL;
    struct learned_rows *l = mem_calloc(1, sizeof *l, "rows of learned features", err);
    if (!l)
        return NULL;
    *l = (struct learned_rows){ .base = *src, .of = src, .kernel = k,
                                 .out = kernel_learned_numbers(k), .nets = nets };
    pthread_mutex_init(&l->lock, NULL);
    open_there(l);
    l->base.d = src->d + l->out;
    l->base.name = 0;
    l->base.places = NULL; /* they are of the inputs alone */
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
    for (size_t t = 0; t < KERNEL_MAX_TERMS; t++)
        if (l->there[t])
            l->nets->close(l->there[t]);
    pthread_mutex_destroy(&l->lock);
    free(l->kept);
    free(l);
}
