/* app/runs/alike.c -- see alike.h.  A task takes 64 rows of a, which a tile of the kernel prepares,
 * past all rows of b; what it finds is its own until all have ended. */
#include "app/runs/alike.h"

#include "base/mem.h"
#include "compute/kernels/kernel_tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct task_found {
    struct alike_pairs pairs;
    enum status rc;
    struct err err;
};
struct comparing {
    const struct alike_ask *ask;
    const struct alike_rows *b;
    const struct ctl *ctl;
    struct kernel kernel;
    size_t wide; /* numbers of a row */
    double *nearest;
    struct task_found *found;
    size_t tasks, first; /* first: of the tasks that are running */
};

static size_t widest(const struct counts *c)
{
    return 1 + COUNTS_CHANNELS * (c->longest > 0 ? c->longest : 1);
}

/* Row i as kernels read it (row_layout.h). */
static void write_row(const struct alike_rows *r, size_t i, double *x)
{
    const struct counts *c = r->counts;
    const size_t row = r->row[i], n = counts_places(c, row);

    *x++ = (double)n;
    for (size_t k = 0; k < n; k++) {
        *x++ = (double)c->count[c->at[row] + k].place;
        *x++ = c->count[c->at[row] + k].value;
    }
}

static enum status add(struct alike_pairs *p, size_t a, size_t b, double s, struct err *err)
{
    const enum status rc = mem_grow((void **)&p->at, &p->cap, p->n + 1, sizeof *p->at, "pairs",
                                    err);

    if (rc == ST_OK)
        p->at[p->n++] = (struct alike_pair){ a, b, s };
    return rc;
}

/* One value of rows a and b. */
static enum status take(struct comparing *c, struct task_found *f, size_t a, size_t b, double s)
{
    const struct alike_ask *ask = c->ask;
    const bool within = ask->b == NULL;

    if (c->b->counts == ask->a->counts && c->b->row[b] == ask->a->row[a])
        return ST_OK;
    if (c->nearest != NULL && s > c->nearest[a])
        c->nearest[a] = s;
    if (s < ask->least || (within && b < a))
        return ST_OK;
    f->pairs.alike++;
    f->pairs.equal += s == 1.0;
    return ask->keep == NULL || ask->keep(ask->ctx, a, b, s) ? add(&f->pairs, a, b, s, &f->err)
                                                            : ST_OK;
}

static void work(void *ctx, size_t task, size_t worker)
{
    struct comparing *c = ctx;
    struct task_found *f = &c->found[c->first + task];
    const size_t a0 = (c->first + task) * KERNEL_TILE, wide = c->wide,
                 some = c->ask->a->n - a0 < KERNEL_TILE ? c->ask->a->n - a0 : KERNEL_TILE;
    double *x = mem_calloc(2 * KERNEL_TILE * wide + KERNEL_TILE * KERNEL_TILE, sizeof *x, "rows",
                           &f->err),
           *y = x ? x + KERNEL_TILE * wide : NULL, *v = x ? y + KERNEL_TILE * wide : NULL;
    const double hp[1] = { 1.0 };

    (void)worker;
    for (size_t i = 0; x != NULL && i < some; i++)
        write_row(c->ask->a, a0 + i, y + i * wide);
    struct kernel_tile *tile = x ? kernel_tile_new(&c->kernel, hp, wide, some, y, wide) : NULL;
    f->rc = tile != NULL ? ST_OK : ST_NOMEM;
    for (size_t b0 = 0; f->rc == ST_OK && b0 < c->b->n; b0 += KERNEL_TILE) {
        const size_t m = c->b->n - b0 < KERNEL_TILE ? c->b->n - b0 : KERNEL_TILE;
        if (ctl_stopped(c->ctl))
            f->rc = err_set(&f->err, ST_CANCELLED, "stopped");
        if (c->ask->b == NULL && c->nearest == NULL && b0 + m <= a0)
            continue;
        for (size_t i = 0; f->rc == ST_OK && i < m; i++)
            write_row(c->b, b0 + i, x + i * wide);
        if (f->rc == ST_OK)
            kernel_tile_values(tile, m, x, wide, v, KERNEL_TILE);
        for (size_t j = 0; f->rc == ST_OK && j < some; j++)
            for (size_t i = 0; f->rc == ST_OK && i < m; i++)
                f->rc = take(c, f, a0 + j, b0 + i, v[i + j * KERNEL_TILE]);
    }
    kernel_tile_free(tile);
    free(x);
}

/* Some tasks at a time, so that this thread tells of them. */
static void run_tasks(struct comparing *c)
{
    const size_t some = 8 * pool_threads(c->ask->pool);

    for (; c->first < c->tasks && !ctl_stopped(c->ctl); c->first += some) {
        const size_t m = c->tasks - c->first < some ? c->tasks - c->first : some;
        ctl_tell(c->ctl, PHASE_ROWS, c->first, c->tasks, (double)NAN);
        pool_run(c->ask->pool, m, work, c);
    }
}

static enum status bind(struct comparing *c, struct err *err)
{
    const struct row_layout rows = {
        .nparts = 1,
        .part[0] = { .rows = ROWS_COUNTS, .channels = COUNTS_CHANNELS,
                     .positions = c->b->counts->longest } };
    double *set = mem_calloc(KERNEL_MAX_HP, sizeof *set, "a kernel", err);
    enum status rc = set != NULL ? kernel_parse("tanimoto", &c->kernel, set, err) : ST_NOMEM;

    free(set);
    return rc == ST_OK ? kernel_bind_rows(&c->kernel, &rows, NULL, err) : rc;
}

/* Puts together what the tasks have found. */
static enum status merge(struct comparing *c, enum status rc, struct alike_pairs *out,
                         struct err *err)
{

    for (size_t t = 0; t < c->tasks; t++) {
        struct task_found *f = &c->found[t];
        if (rc == ST_OK && f->rc != ST_OK) {
            rc = f->rc;
            *err = f->err;
        }
        for (size_t k = 0; rc == ST_OK && k < f->pairs.n; k++)
            rc = add(out, f->pairs.at[k].a, f->pairs.at[k].b, f->pairs.at[k].similarity, err);
        out->alike += f->pairs.alike;
        out->equal += f->pairs.equal;
        free(f->pairs.at);
    }
    return rc;
}

enum status alike_compare(const struct alike_ask *ask, struct alike_pairs *pairs, double *nearest,
                          const struct ctl *ctl, struct err *err)
{
    struct comparing c = { .ask = ask, .b = ask->b ? ask->b : ask->a, .ctl = ctl,
                           .nearest = nearest };
    struct err local;

    err = err != NULL ? err : &local;
    *pairs = (struct alike_pairs){ 0 };
    c.wide = widest(ask->a->counts) > widest(c.b->counts) ? widest(ask->a->counts)
                                                          : widest(c.b->counts);
    c.tasks = (ask->a->n + KERNEL_TILE - 1) / KERNEL_TILE;
    c.found = mem_calloc(c.tasks + 1, sizeof *c.found, "pairs", err);
    enum status rc = c.found != NULL ? bind(&c, err) : ST_NOMEM;
    for (size_t i = 0; nearest != NULL && i < ask->a->n; i++)
        nearest[i] = 0.0;
    if (rc == ST_OK)
        run_tasks(&c);
    if (rc == ST_OK && c.first < c.tasks)
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (c.found != NULL)
        rc = merge(&c, rc, pairs, err);
    free(c.found);
    if (rc != ST_OK) {
        free(pairs->at);
        *pairs = (struct alike_pairs){ 0 };
    }
    return rc;
}
