/* cuda/exact.c -- products with an exact kernel matrix on the current device (struct
 * backend_exact), by the tiles of radial.h. */
#include "cuda/backend_impl.h"

#include "base/mem.h"
#include "cuda/batch.h"

#include <stdlib.h>
#include <string.h>

struct exact_there {
    struct device *dev;
    struct device_info info;
    struct radial_args args;   /* X, inv, table and related arrays */
    /* d numbers: subtracted from all rows, so that single precision keeps their digits. */
    double *centre;
    void *held[3];
    struct room Y, V, part, out;
    size_t turn;
};

static void exact_close(void *state)
{
    struct exact_there *e = state;

    if (e->dev) {
        void *const all[] = {e->held[0], e->held[1], e->held[2], e->Y.at,
                             e->V.at,    e->part.at, e->out.at};
        device_wait(e->dev, NULL);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            device_free(e->dev, all[i]);
        device_close(e->dev);
    }
    free(e->centre);
    free(e);
}

static enum status exact_room(struct exact_there *e, struct room *r, size_t bytes, const char *what,
                              struct err *err)
{
    if (bytes <= r->bytes)
        return ST_OK;
    device_free(e->dev, r->at);
    *r = (struct room){ NULL, 0 };
    const enum status rc = device_alloc(e->dev, &r->at, bytes, what, err);
    r->bytes = rc == ST_OK ? bytes : 0;
    return rc;
}

/* Uploads rows minus the centre, in single precision. */
static enum status send_rows(struct exact_there *e, size_t n, const double *X, void *to,
                             struct err *err)
{
    const size_t d = (size_t)e->args.d;
    float *x = mem_aligned(n * d, sizeof *x, "inputs", err);
    enum status rc = x ? ST_OK : ST_NOMEM;

    for (size_t i = 0; x && i < n * d; i++)
        x[i] = (float)(X[i] - e->centre[i % d]);
    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, to, x, n * d * sizeof *x, err);
    if (rc == ST_OK)
        rc = device_wait(e->dev, err);
    free(x);
    return rc;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of some rows in each input, which a few distant rows do not move. */
static void find_centre(struct exact_there *e, const double *X)
{
    enum { SOME = 501 };
    const size_t n = e->args.n, d = (size_t)e->args.d, some = n < SOME ? n : SOME;
    double at[SOME];

    for (size_t i = 0; i < d; i++) {
        for (size_t q = 0; q < some; q++)
            at[q] = X[q * n / some * d + i];
        qsort(at, some, sizeof *at, ascending);
        e->centre[i] = at[some / 2];
    }
}

static enum status exact_start(struct exact_there *e, const struct backend_radial *k,
                               const double *X, struct err *err)
{
    const size_t d = k->d, n = e->args.n;
    const size_t bytes[] = { n * d * 4, k->factors * d * 4, k->factors * BACKEND_TABLE * 16 };
    enum status rc = device_open(chosen_device(), &e->dev, err);

    if (rc == ST_OK)
        rc = device_describe(e->dev, &e->info, err);
    e->centre = mem_calloc(d, sizeof *e->centre, "inputs", err);
    if (rc == ST_OK && !e->centre)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        find_centre(e, X);
    for (int i = 0; rc == ST_OK && i < 3; i++)
        rc = device_alloc(e->dev, &e->held[i], bytes[i], "an exact kernel", err);
    e->args.X = e->held[0], e->args.inv = e->held[1], e->args.table = e->held[2];
    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, e->held[1], k->inv, bytes[1], err);
    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, e->held[2], k->table, bytes[2], err);
    return rc == ST_OK ? send_rows(e, n, X, e->held[0], err) : rc;
}

static void *exact_open(const struct backend_radial *k, size_t n, const double *X, struct err *err)
{
    struct exact_there *e = mem_calloc(1, sizeof *e, "an exact kernel", err);

    if (!e)
        return NULL;
    e->args = (struct radial_args){ .n = n, .d = (int)k->d, .factors = (int)k->factors };
    for (size_t f = 0; f < k->factors; f++) {
        e->args.begins[f] = k->weight[f] != 0.0F;
        e->args.ends[f] = f + 1 == k->factors || k->weight[f + 1] != 0.0F;
        e->args.weight[f] = k->weight[f];
        for (size_t i = 0; i < k->d; i++)
            if (k->inv[f * k->d + i] != 0.0F) {
                e->args.from[f] = e->args.to[f] ? e->args.from[f] : (int)i;
                e->args.to[f] = (int)i + 1;
            }
    }
    if (exact_start(e, k, X, err) == ST_OK)
        return e;
    exact_close(e);
    return NULL;
}

/* The product for some rows of Y and K vectors. */
static enum status exact_some(struct exact_there *e, struct radial_args a, double *W, size_t m,
                              struct err *err)
{
    const size_t slots = (size_t)a.K * a.m, blocks = (a.m + RADIAL_ROWS - 1) / RADIAL_ROWS;
    const size_t tiles = (a.n + RADIAL_ROWS - 1) / RADIAL_ROWS;
    size_t chunks =
        4 * (size_t)e->info.sms / blocks + 1; /* enough blocks to keep the device busy */

    chunks = chunks < tiles ? chunks : tiles;
    a.chunks = (int)chunks;
    enum status rc = exact_room(e, &e->part, chunks * slots * sizeof(double), "partial sums", err);
    if (rc == ST_OK)
        rc = exact_room(e, &e->out, slots * sizeof(double), "results", err);
    a.part = e->part.at;
    if (rc == ST_OK)
        rc = device_radial(e->dev, &a, err);
    const struct back_sum_args s = { chunks, slots, a.part, e->out.at };
    if (rc == ST_OK)
        rc = device_back_sum(e->dev, &s, err);
    for (int k = 0; rc == ST_OK && k < a.K; k++)
        rc = device_download(e->dev, W + (size_t)k * m, s.out + (size_t)k * a.m, a.m * sizeof *W,
                             err);
    return rc;
}

static enum status exact_apply(void *state, size_t m, const double *Y, size_t k, const double *V,
                               double *W, const struct ctl *ctl, struct err *err)
{
    struct exact_there *e = state;
    struct radial_args a = e->args;
    const size_t n = a.n, d = (size_t)a.d;
    /* Issue slots per pair: three for each input of each factor, and about thirty for a table. */
    const double each = (double)n * (double)a.factors * (3.0 * (double)d + 30.0) /
                        (47.0 * batch_rate(&e->info, BATCH_FUSED));
    const size_t rows = batch_count(0.0, each, RADIAL_ROWS, m > RADIAL_ROWS ? m : RADIAL_ROWS);
    enum status rc = exact_room(e, &e->V, n * RADIAL_MOST * sizeof *V, "right-hand sides", err);

    if (rc == ST_OK && Y)
        rc = exact_room(e, &e->Y, m * d * sizeof(float), "inputs", err);
    if (rc == ST_OK && Y)
        rc = send_rows(e, m, Y, e->Y.at, err);
    a.V = e->V.at;
    for (size_t at = 0; rc == ST_OK && at < k; at += (size_t)a.K) {
        a.K = k - at < RADIAL_MOST ? (int)(k - at) : RADIAL_MOST;
        rc = device_upload(e->dev, STREAM_WORK, e->V.at, V + at * n, (size_t)a.K * n * sizeof *V,
                           err);
        for (size_t r = 0; rc == ST_OK && r < m; r += rows) {
            a.m = m - r < rows ? m - r : rows;
            a.Y = (Y ? (const float *)e->Y.at : a.X) + r * d;
            rc = tiles_stopped(ctl, err);
            if (rc == ST_OK)
                rc = exact_some(e, a, W + at * m + r, m, err);
        }
    }
    if (rc != ST_OK)
        device_wait(e->dev, NULL);
    return rc;
}

const struct backend_exact exact_ops = {
    .open = exact_open, .close = exact_close, .apply = exact_apply};
