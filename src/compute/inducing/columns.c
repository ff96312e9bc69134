/* compute/inducing/columns.c -- see columns.h.  Kernels with loops over tiles prepare all rows in
 * tiles that stay, at the first call and as far as that takes little memory; otherwise the points
 * are prepared anew in each call.  All other kernels go pair by pair. */
#include "compute/inducing/columns.h"

#include "base/mem.h"
#include "compute/kernels/kernel_tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, FEW = 8 }; /* rows of a task; rows of a group that can change */
/* Numbers of rows up to which tiles are kept: a tile of words takes some 500 bytes for each. */
static const double KEPT_NUMBERS = 1e6;

struct columns {
    struct columns_of of;
    size_t each, groups;       /* rows of a tile; tiles */
    bool kept;
    struct kernel_tile **tile; /* NULL: none are kept, or not yet */
};

static struct kernel_tile *tile_of(const struct columns *c, size_t g)
{
    const size_t r0 = g * c->each, left = c->of.n - r0;

    return kernel_tile_new(c->of.k, c->of.hp, c->of.d, left < c->each ? left : c->each,
                           c->of.X + r0 * c->of.d, c->of.d);
}

static void make_task(void *ctx, size_t g, size_t worker)
{
    struct columns *c = ctx;

    (void)worker;
    c->tile[g] = tile_of(c, g);
}

struct columns *columns_new(const struct columns_of *of, bool few, struct err *err)
{
    struct columns *c = mem_calloc(1, sizeof *c, "columns of the kernel", err);

    if (c == NULL)
        return NULL;
    c->of = *of;
    c->each = few ? FEW : KERNEL_TILE;
    c->groups = (of->n + c->each - 1) / c->each;
    c->kept = kernel_tile_has(of->k) && (few || (double)of->n * (double)of->d <= KEPT_NUMBERS);
    return c;
}

static enum status prepare(struct columns *c, struct err *err)
{
    c->tile = mem_calloc(c->groups + 1, sizeof *c->tile, "columns of the kernel", err);
    if (c->tile == NULL)
        return ST_NOMEM;
    pool_run(c->of.pool, c->groups, make_task, c);
    return ST_OK;
}

void columns_free(struct columns *c)
{
    if (c == NULL)
        return;
    for (size_t g = 0; c->tile && g < c->groups; g++)
        kernel_tile_free(c->tile[g]);
    free(c->tile);
    free(c);
}

void columns_put(struct columns *c, size_t i)
{
    const size_t g = i / c->each;

    if (c->tile == NULL)
        return;
    kernel_tile_free(c->tile[g]);
    c->tile[g] = tile_of(c, g);
}

struct columns_job {
    const struct columns *c;
    const struct kernel_tile *points; /* of at most KERNEL_TILE points; or NULL */
    size_t p;
    const double *Z;
    double *out;
    int failed;
};

/* By the tile of its rows: its values come as points x rows. */
static void kept_task(void *ctx, size_t g, size_t worker)
{
    struct columns_job *job = ctx;
    const struct columns *c = job->c;
    const size_t r0 = g * c->each, n = c->of.n, d = c->of.d;
    const size_t rows = n - r0 < c->each ? n - r0 : c->each;
    double value[KERNEL_TILE * KERNEL_TILE];

    (void)worker;
    if (c->tile[g] == NULL) {
        __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (size_t j = 0; j < job->p; j += KERNEL_TILE) {
        const size_t some = job->p - j < KERNEL_TILE ? job->p - j : KERNEL_TILE;
        kernel_tile_values(c->tile[g], some, job->Z + j * d, d, value, KERNEL_TILE);
        for (size_t i = 0; i < some; i++)
            for (size_t r = 0; r < rows; r++)
                job->out[r0 + r + (j + i) * n] = value[i + r * KERNEL_TILE];
    }
}

/* A block of rows against a tile of points, or pair by pair. */
static void block_task(void *ctx, size_t task, size_t worker)
{
    const struct columns_job *job = ctx;
    const struct columns_of *of = &job->c->of;
    const size_t r0 = task * BLOCK, n = of->n, d = of->d;
    const size_t r1 = r0 + BLOCK < n ? r0 + BLOCK : n;

    (void)worker;
    if (job->points != NULL) {
        kernel_tile_values(job->points, r1 - r0, of->X + r0 * d, d, job->out + r0, n);
        return;
    }
    for (size_t j = 0; j < job->p; j++)
        for (size_t i = r0; i < r1; i++)
            job->out[i + j * n] =
                kernel_exact(of->k, of->hp, d, of->X + i * d, job->Z + j * d, NULL);
}

static enum status by_points(struct columns_job *job, struct err *err)
{
    const struct columns_of *of = &job->c->of;
    const size_t blocks = (of->n + BLOCK - 1) / BLOCK, p = job->p;
    const double *Z = job->Z;
    double *out = job->out;

    for (size_t j = 0; j < p; j += KERNEL_TILE) {
        const size_t some = p - j < KERNEL_TILE ? p - j : KERNEL_TILE;
        struct kernel_tile *tile =
            kernel_tile_new(of->k, of->hp, of->d, some, Z + j * of->d, of->d);
        if (tile == NULL)
            return err_set(err, ST_NOMEM, "out of memory for kernel values");
        job->points = tile;
        job->out = out + j * of->n;
        pool_run(of->pool, blocks, block_task, job);
        kernel_tile_free(tile);
    }
    return ST_OK;
}

static enum status values(const struct columns *c, size_t p, const double *Z, double *out,
                          struct err *err)
{
    struct columns_job job = { .c = c, .p = p, .Z = Z, .out = out };
    const size_t n = c->of.n;
    enum status rc = ST_OK;

    if (c->tile != NULL)
        pool_run(c->of.pool, c->groups, kept_task, &job);
    else if (kernel_tile_has(c->of.k))
        rc = by_points(&job, err);
    else
        pool_run(c->of.pool, (n + BLOCK - 1) / BLOCK, block_task, &job);
    if (rc == ST_OK && job.failed)
        rc = err_set(err, ST_NOMEM, "out of memory for kernel values");
    for (size_t j = 0; c->of.row_scale && j < p; j++)
        for (size_t i = 0; i < n; i++)
            out[i + j * n] *= c->of.row_scale[i];
    return rc;
}

enum status columns_at(struct columns *c, size_t p, const double *Z, double *out, struct err *err)
{
    const enum status rc = c->kept && c->tile == NULL ? prepare(c, err) : ST_OK;

    return rc == ST_OK ? values(c, p, Z, out, err) : rc;
}

enum status columns_once(const struct columns_of *of, size_t p, const double *Z, double *out,
                         struct err *err)
{
    const struct columns c = { .of = *of };

    return values(&c, p, Z, out, err);
}

struct own_job { const struct columns_of *of; double *out; };

static void own_task(void *ctx, size_t task, size_t worker)
{
    const struct own_job *job = ctx;
    const struct columns_of *of = job->of;
    const size_t r0 = task * BLOCK, r1 = r0 + BLOCK < of->n ? r0 + BLOCK : of->n;

    (void)worker;
    for (size_t i = r0; i < r1; i++) {
        const double *x = of->X + i * of->d, s = of->row_scale ? of->row_scale[i] : 1.0;
        job->out[i] = s * s * kernel_exact(of->k, of->hp, of->d, x, x, NULL);
    }
}

void columns_own(const struct columns_of *of, double *out)
{
    struct own_job job = { of, out };

    pool_run(of->pool, (of->n + BLOCK - 1) / BLOCK, own_task, &job);
}
