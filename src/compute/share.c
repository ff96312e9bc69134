/* compute/share.c -- sums over the rows of several processes (share.h). */
#include "compute/share.h"

#include "base/mem.h"
#include "compute/fold.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIP = 256,      /* sums that are folded at a time, so that all parts' are in cache */
    STRIPS = 4,       /* strips of a task */
    PACKED = 1 << 18, /* numbers of a matrix that go into one collective call */
};

static bool begins(size_t n, size_t row)
{
    const size_t of = share_segments(n, SHARE_JOINED);

    for (size_t s = 0; s <= of; s++)
        if (share_row(n, s, of) == row)
            return true;
    return false;
}

bool share_fits(size_t n, size_t r0, size_t r1)
{
    return r0 < r1 && r1 <= n && begins(n, r0) && begins(n, r1);
}

enum status share_most(const struct share *share, size_t n, double *x, struct err *err)
{
    return share ? share->most(share->ctx, n, x, err) : ST_OK;
}

enum status share_sum(const struct share *share, size_t n, double *x, struct err *err)
{
    return share ? share->sum(share->ctx, n, x, err) : ST_OK;
}

/* Copies columns j0 to j1 - 1 of a matrix to `packed`, or back; returns how many numbers. */
struct matrix { size_t M, ldc; bool lower; double *C; };
static size_t pack(const struct matrix *m, size_t j0, size_t j1, double *packed, bool back)
{
    size_t at = 0;

    for (size_t j = j0; j < j1; j++) {
        const size_t top = m->lower ? j : 0, rows = m->M - top;
        double *c = m->C + j * m->ldc + top;
        if (packed)
            memcpy(back ? c : packed + at, back ? packed + at : c, rows * sizeof *c);
        at += rows;
    }
    return at;
}

enum status share_sum_matrix(const struct share *share, size_t M, size_t L, bool lower, double *C,
                             size_t ldc, struct err *err)
{
    const struct matrix m = { M, ldc, lower, C };
    const size_t step = PACKED / M ? PACKED / M : 1;
    double *packed = share ? mem_aligned(step * M, sizeof *packed, "a sum of processes", err)
                           : NULL;
    enum status rc = share && !packed ? ST_NOMEM : ST_OK;

    for (size_t j = 0, to; share && rc == ST_OK && j < L; j = to) {
        to = j + step < L ? j + step : L;
        rc = share_sum(share, pack(&m, j, to, packed, false), packed, err);
        if (rc == ST_OK)
            pack(&m, j, to, packed, true);
    }
    free(packed);
    return rc;
}

/* Units, sums and what they leave, of all n sums; without a share of a strip. */
struct folding {
    const struct share_parts *of;
    double *unit, *sum, *rest;
};

static void strip_units(const struct share_parts *of, size_t j, size_t n, double *unit)
{
    memset(unit, 0, n * sizeof *unit);
    for (size_t i = 0; i < of->parts; i++)
        fold_bound(n, of->part + i * of->n + j, unit);
}

static void strip_sums(const struct share_parts *of, size_t j, size_t n, const double *unit,
                       double *sum, double *rest)
{
    memset(sum, 0, n * sizeof *sum);
    if (of->both)
        memset(rest, 0, n * sizeof *rest);
    for (size_t i = 0; i < of->parts; i++)
        if (of->both)
            fold_add_both(n, of->count, of->part + i * of->n + j, unit, sum, rest);
        else
            fold_add(n, of->part + i * of->n + j, unit, sum);
}

static void units_task(void *ctx, size_t task, size_t worker)
{
    const struct folding *f = ctx;
    const size_t end = (task + 1) * STRIPS * STRIP, to = end < f->of->n ? end : f->of->n;

    (void)worker;
    for (size_t j = task * STRIPS * STRIP; j < to; j += STRIP)
        strip_units(f->of, j, to - j < STRIP ? to - j : STRIP, f->unit + j);
}

static void sums_task(void *ctx, size_t task, size_t worker)
{
    const struct folding *f = ctx;
    const size_t end = (task + 1) * STRIPS * STRIP, to = end < f->of->n ? end : f->of->n;

    (void)worker;
    for (size_t j = task * STRIPS * STRIP; j < to; j += STRIP)
        strip_sums(f->of, j, to - j < STRIP ? to - j : STRIP, f->unit + j, f->sum + j,
                   f->rest + j);
}

/* All at once, where all rows are here. */
static void whole_task(void *ctx, size_t task, size_t worker)
{
    const struct folding *f = ctx;
    const size_t end = (task + 1) * STRIPS * STRIP, to = end < f->of->n ? end : f->of->n;
    double unit[STRIP], rest[STRIP];

    (void)worker;
    for (size_t j = task * STRIPS * STRIP; j < to; j += STRIP) {
        const size_t n = to - j < STRIP ? to - j : STRIP;
        strip_units(f->of, j, n, unit);
        fold_units(n, f->of->count, unit);
        strip_sums(f->of, j, n, unit, f->sum + j, rest);
        for (size_t i = 0; f->of->both && i < n; i++)
            f->sum[j + i] += rest[i];
    }
}

enum status share_fold(const struct share *share, struct pool *pool, const struct share_parts *of,
                       double *sum, struct err *err)
{
    const size_t n = of->n, tasks = (n + STRIPS * STRIP - 1) / (STRIPS * STRIP);
    struct folding f = { .of = of, .sum = sum };

    if (!share) {
        pool_run(pool, tasks, whole_task, &f);
        return ST_OK;
    }
    double *room = mem_aligned(3 * n, sizeof *room, "sums of processes", err);
    if (!room)
        return ST_NOMEM;
    f.unit = room;
    f.sum = room + n;
    f.rest = room + 2 * n;
    pool_run(pool, tasks, units_task, &f);
    enum status rc = share_most(share, n, f.unit, err);
    if (rc == ST_OK) {
        fold_units(n, of->count, f.unit);
        pool_run(pool, tasks, sums_task, &f);
        rc = share_sum(share, of->both ? 2 * n : n, f.sum, err);
    }
    for (size_t j = 0; rc == ST_OK && j < n; j++)
        sum[j] = of->both ? f.sum[j] + f.rest[j] : f.sum[j];
    free(room);
    return rc;
}

struct within { struct folding f; atomic_bool beyond; };

static void within_task(void *ctx, size_t task, size_t worker)
{
    struct within *w = ctx;
    const struct share_parts *of = w->f.of;
    const size_t end = (task + 1) * STRIPS * STRIP, to = end < of->n ? end : of->n;

    (void)worker;
    for (size_t j = task * STRIPS * STRIP; j < to; j += STRIP) {
        const size_t n = to - j < STRIP ? to - j : STRIP;
        memset(w->f.sum + j, 0, n * sizeof *w->f.sum);
        memset(w->f.rest + j, 0, n * sizeof *w->f.rest);
        for (size_t i = 0; i < of->parts; i++)
            if (fold_add_within(n, of->count, of->part + i * of->n + j, w->f.unit + j,
                                w->f.sum + j, w->f.rest + j))
                atomic_store(&w->beyond, true);
    }
}

enum status share_fold_within(const struct share *share, struct pool *pool,
                              const struct share_parts *of, double *bound, double *work,
                              double *sum, struct err *err)
{
    const size_t n = of->n, tasks = (n + STRIPS * STRIP - 1) / (STRIPS * STRIP);
    struct within w = { .f = { of, bound, work, work + n } };

    fold_units(n, of->count, bound);
    pool_run(pool, tasks, within_task, &w);
    work[2 * n] = w.beyond; /* how many say so, in the end */
    const enum status rc = share_sum(share, 2 * n + 1, work, err);
    if (rc == ST_OK && work[2 * n] != 0.0)
        return share_fold(share, pool, of, sum, err);
    for (size_t j = 0; rc == ST_OK && j < n; j++)
        sum[j] = work[j] + work[n + j];
    return rc;
}
