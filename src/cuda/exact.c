/* cuda/exact.c -- products with an exact kernel matrix on the current device (struct
 * backend_exact): with few vectors by the tiles of radial.h, whose sums are double throughout, with
 * many on matrix units (many.h).  Rows stay on the device, and vectors where they are asked to. */
#include "cuda/exact.h"

#include "base/mem.h"
#include "cuda/batch.h"
#include "cuda/many.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = RADIAL_MOST };
/* Distances are made on matrix units where this bounds what it changes in values. */
static const double VALUE_ERROR = 5e-6;

static void exact_close(void *state)
{
    struct exact_there *e = state;

    if (e->dev) {
        void *const all[] = { e->Y.at,   e->V.at,      e->at.at,     e->part.at,  e->out.at,
                              e->own.at, e->levels.at, e->packed.at, e->norms.at, e->values.at };
        device_wait(e->dev, NULL);
        for (size_t i = 0; i < EXACT_HELD; i++)
            device_free(e->dev, e->held[i]);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            device_free(e->dev, all[i]);
        device_close(e->dev);
    }
    free(e->centre);
    free(e->inv);
    free(e);
}

enum status exact_room(struct exact_there *e, struct room *r, size_t bytes, const char *what,
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

/* The largest norm of a row over the lengthscales of the only factor. */
static double largest_norm(const struct exact_there *e, const float *inv, size_t n,
                           const double *X)
{
    const size_t d = (size_t)e->args.d;
    double most = 0.0;

    for (size_t r = 0; r < n; r++) {
        double sum = 0.0;
        for (size_t i = 0; i < d; i++) {
            const double x = (X[r * d + i] - e->centre[i]) * (double)inv[i];
            sum += x * x;
        }
        if (!isfinite(sum))
            return INFINITY;
        most = fmax(most, sum);
    }
    return sqrt(most);
}

/* Decides whether matrix units make distances, and prepares the rows for them. */
static enum status exact_units(struct exact_there *e, const struct backend_radial *k,
                               const float *inv, const double *X, struct err *err)
{
    const int inputs = e->args.to[0] - e->args.from[0];
    const int ks = inputs <= 32 ? 2 : inputs <= 64 ? 4 : 8;
    const size_t n = e->args.n, padded = (n + MANY_COLS - 1) / MANY_COLS * MANY_COLS;
    struct many_args *m = &e->many;

    m->r = e->args;
    float most = 0.0F;
    for (size_t f = 0; f < k->factors; f++)
        most += fabsf(k->weight[f]);
    m->up = most > 0.0F ? ldexpf(1.0F, 12 - ilogbf(most)) : 1.0F; /* values up to 2^13 */
    if (k->factors > 1 || k->closed[0].slope <= 0.0 || inputs < 1 || inputs > MANY_INPUTS)
        return ST_OK;
    e->largest = largest_norm(e, inv, n, X);
    const double e2 = many_error(ks) * e->largest * e->largest;
    if (!(e->largest > 1e-15) || !(k->closed[0].slope * e2 <= VALUE_ERROR))
        return ST_OK;
    m->unit = (float)(0.999 * MANY_UNITS / e->largest);
    enum status rc = device_alloc(e->dev, &e->held[3], 2 * padded * sizeof(float), "norms", err);
    if (rc == ST_OK)
        rc = device_alloc(e->dev, &e->held[4], padded * (size_t)ks * 64, "inputs in halves", err);
    m->cols = (struct many_norms){ e->held[3], (float *)e->held[3] + padded };
    m->X16 = e->held[4];
    m->ks = rc == ST_OK ? ks : 0;
    const struct ready_args a = { .n = n, .x = e->args.X, .inv = e->args.inv, .d = e->args.d,
                                  .from = e->args.from[0], .inputs = inputs, .ks = ks,
                                  .unit = m->unit, .norms = m->cols, .to = e->held[4] };
    return rc == ST_OK ? device_ready(e->dev, &a, err) : rc;
}

/* Inverse lengthscales, multiplied by the scale of the closed form if there is one. */
static float *scaled_inputs(const struct backend_radial *k, struct err *err)
{
    float *inv = mem_calloc(k->factors * k->d, sizeof *inv, "an exact kernel", err);

    for (size_t i = 0; inv && i < k->factors * k->d; i++) {
        const struct backend_closed *c = &k->closed[i / k->d];
        inv[i] = c->form == BACKEND_NONE ? k->inv[i] : (float)((double)k->inv[i] * c->scale);
    }
    return inv;
}

static enum status exact_start(struct exact_there *e, const struct backend_radial *k,
                               const double *X, struct err *err)
{
    const size_t d = k->d, n = e->args.n;
    const size_t bytes[] = { n * d * 4, k->factors * d * 4, k->factors * BACKEND_TABLE * 16 };
    enum status rc = device_open(chosen_device(), &e->dev, err);
    float *inv = rc == ST_OK ? scaled_inputs(k, err) : NULL;

    if (rc == ST_OK)
        rc = device_describe(e->dev, &e->info, err);
    e->centre = mem_calloc(d, sizeof *e->centre, "inputs", err);
    if (rc == ST_OK && (!e->centre || !inv))
        rc = ST_NOMEM;
    if (rc == ST_OK)
        find_centre(e, X);
    for (int i = 0; rc == ST_OK && i < 3; i++)
        rc = device_alloc(e->dev, &e->held[i], bytes[i], "an exact kernel", err);
    e->args.X = e->held[0], e->args.inv = e->held[1], e->args.table = e->held[2];
    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, e->held[1], inv, bytes[1], err);
    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, e->held[2], k->table, bytes[2], err);
    if (rc == ST_OK)
        rc = send_rows(e, n, X, e->held[0], err);
    if (rc == ST_OK)
        rc = exact_units(e, k, inv, X, err);
    e->inv = inv;
    return rc;
}

static void *exact_open(const struct backend_radial *k, size_t n, const double *X, struct err *err)
{
    struct exact_there *e = k->factors <= RADIAL_FACTORS && n <= UINT32_MAX
                                ? mem_calloc(1, sizeof *e, "an exact kernel", err) : NULL;

    if (!e)
        return NULL;
    e->args = (struct radial_args){ .n = n, .d = (int)k->d, .factors = (int)k->factors };
    for (size_t f = 0; f < k->factors; f++) {
        e->args.begins[f] = k->weight[f] != 0.0F;
        e->args.ends[f] = f + 1 == k->factors || k->weight[f + 1] != 0.0F;
        e->args.weight[f] = k->weight[f];
        e->args.form[f] = (int)k->closed[f].form;
        e->args.p1[f] = (float)k->closed[f].p1;
        e->args.p2[f] = (float)k->closed[f].p2;
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

/* Products. */

double exact_counted(const struct exact_there *e, size_t rows, int K)
{
    /* Issue slots per pair: three for each input of each factor, about thirty for a table; on
     * matrix units 24 for all of this and halves, and 12 for each eight vectors. */
    const double units = K > FEW ? 12.0 * (double)many_eights(K) : 2.0 * K;
    const double pair = e->many.ks && K > FEW ? 24.0 + 4.0 * e->many.ks
                                              : (double)e->args.factors * (3.0 * e->args.d + 30.0);

    return (double)rows * (double)e->args.n * (pair + units) /
           (47.0 * batch_rate(&e->info, BATCH_FUSED));
}

/* Chunks of columns, so that there are enough blocks to keep the device busy. */
static int chunks_for(const struct exact_there *e, size_t blocks, size_t tiles, size_t each)
{
    const size_t chunks = each * (size_t)e->info.sms / blocks + 1;

    return (int)(chunks < tiles ? chunks : tiles);
}

size_t exact_packed(const struct exact_there *e, int K)
{
    return (e->args.n + MANY_COLS - 1) / MANY_COLS * MANY_COLS * 8 * (size_t)many_eights(K) * 4;
}

enum status exact_many(struct exact_there *e, struct many_args *a, struct err *err)
{
    const size_t slots = (size_t)a->r.K * a->r.m;

    a->r.chunks = chunks_for(e, (a->r.m + MANY_ROWS - 1) / MANY_ROWS,
                             (a->r.n + MANY_COLS - 1) / MANY_COLS, 1);
    const enum status rc = exact_room(e, &e->part, (size_t)a->r.chunks * slots * sizeof(double),
                                      "partial sums", err);
    a->r.part = e->part.at;
    return rc == ST_OK ? device_many(e->dev, a, err) : rc;
}

/* What is asked for, and where it is on the device. */
struct ask {
    size_t m, k;
    const float *Y;       /* NULL: rows `at` */
    const uint32_t *at;
    const double *host, *V; /* vectors of the host, or of the device */
    double *W;
    bool alike;           /* the norm of no row exceeds that of a row of X by much */
    const struct ctl *ctl;
};

/* The sums of the chunks of some rows, to vectors of q->m from row r on. */
static enum status exact_sums(struct exact_there *e, const struct ask *q,
                              const struct radial_args *a, size_t first, size_t r,
                              struct err *err)
{
    const size_t slots = (size_t)a->K * a->m;
    enum status rc = exact_room(e, &e->out, slots * sizeof(double), "results", err);
    const struct back_sum_args s = { (size_t)a->chunks, slots, a->part, e->out.at };

    if (rc == ST_OK)
        rc = device_back_sum(e->dev, &s, err);
    for (size_t k = 0; rc == ST_OK && k < (size_t)a->K; k++)
        rc = device_download(e->dev, q->W + (first + k) * q->m + r, s.out + k * a->m,
                             a->m * sizeof *q->W, err);
    return rc;
}

/* The product for some rows and at most FEW vectors. */
static enum status exact_few(struct exact_there *e, struct radial_args *a, struct err *err)
{
    const size_t slots = (size_t)a->K * a->m;

    a->chunks = chunks_for(e, (a->m + RADIAL_ROWS - 1) / RADIAL_ROWS,
                           (a->n + RADIAL_ROWS - 1) / RADIAL_ROWS, 4);
    const enum status rc = exact_room(e, &e->part, (size_t)a->chunks * slots * sizeof(double),
                                      "partial sums", err);
    a->part = e->part.at;
    return rc == ST_OK ? device_radial(e->dev, a, err) : rc;
}

/* Packs K vectors of the device for many.h. */
static enum status exact_pack(struct exact_there *e, struct many_args *a, const double *V,
                              struct err *err)
{
    const int K = a->r.K;
    enum status rc = exact_room(e, &e->packed, exact_packed(e, K), "vectors in halves", err);

    if (rc == ST_OK)
        rc = exact_room(e, &e->levels, 2 * MANY_MOST * sizeof(double), "vectors in halves", err);
    double *up = e->levels.at, *back = rc == ST_OK ? up + MANY_MOST : NULL;
    const struct level_args l = { .n = a->r.n, .V = V, .other = (double)a->up, .up = up,
                                  .back = back };
    const struct pack_args p = { .n = a->r.n, .K = K, .eights = many_eights(K), .all = 1, .V = V,
                                 .up = up, .to = e->packed.at };
    if (rc == ST_OK)
        rc = device_level(e->dev, K, &l, err);
    if (rc == ST_OK)
        rc = device_pack(e->dev, &p, err);
    a->V = e->packed.at;
    a->back = back;
    return rc;
}

/* Norms of rows that are not those of X. */
static enum status exact_norms(struct exact_there *e, struct many_args *a, const struct ask *q,
                               struct err *err)
{
    const size_t padded = (q->m + MANY_COLS - 1) / MANY_COLS * MANY_COLS;
    enum status rc = ST_OK;

    a->rows = a->cols;
    if (!q->alike)
        a->ks = 0;
    if (q->at || q->Y == e->args.X || a->ks == 0)
        return ST_OK;
    rc = exact_room(e, &e->norms, 2 * padded * sizeof(float), "norms", err);
    a->rows = (struct many_norms){ e->norms.at, (float *)e->norms.at + padded };
    const struct ready_args r = { .n = q->m, .x = q->Y, .inv = e->args.inv, .d = e->args.d,
                                  .from = e->args.from[0],
                                  .inputs = e->args.to[0] - e->args.from[0], .ks = a->ks,
                                  .unit = a->unit, .norms = a->rows };
    return rc == ST_OK ? device_ready(e->dev, &r, err) : rc;
}

/* All rows with K vectors V of the device, the first of which is number `first`. */
static enum status exact_group(struct exact_there *e, const struct ask *q, const double *V, int K,
                               size_t first, struct err *err)
{
    const size_t d = (size_t)e->args.d, most = q->m > MANY_ROWS ? q->m : MANY_ROWS;
    const size_t rows = batch_count(0.0, exact_counted(e, 1, K), MANY_ROWS, most);
    const bool few = K <= FEW;
    struct many_args a = e->many;
    enum status rc = ST_OK;

    a.r.K = K;
    a.r.V = V;
    if (!few)
        rc = exact_pack(e, &a, V, err);
    if (rc == ST_OK && !few)
        rc = exact_norms(e, &a, q, err);
    const struct many_norms norms = a.rows;
    for (size_t r = 0; rc == ST_OK && r < q->m; r += rows) {
        a.r.m = q->m - r < rows ? q->m - r : rows;
        a.r.at = q->at ? q->at + r : NULL;
        a.r.Y = q->at ? NULL : q->Y + r * d;
        if (!few && a.ks && !q->at)
            a.rows = (struct many_norms){ norms.high + r, norms.low + r };
        rc = tiles_stopped(q->ctl, err);
        if (rc == ST_OK)
            rc = few ? exact_few(e, &a.r, err) : exact_many(e, &a, err);
        if (rc == ST_OK)
            rc = exact_sums(e, q, &a.r, first, r, err);
    }
    return rc;
}

static enum status exact_ask(struct exact_there *e, struct ask *q, struct err *err)
{
    const size_t n = e->args.n, wide = q->k < MANY_MOST ? q->k : MANY_MOST;
    enum status rc = ST_OK;

    if (!q->host && q->k != e->k)
        return err_set(err, ST_INTERNAL, "%zu vectors stay on the device, not %zu", e->k, q->k);
    if (q->host)
        rc = exact_room(e, &e->own, n * wide * sizeof *q->V, "right-hand sides", err);
    for (size_t at = 0, K; rc == ST_OK && at < q->k; at += K) {
        const double *V = q->host ? e->own.at : (const double *)e->V.at + at * n;
        const size_t left = q->k - at;
        K = left <= MANY_MOST ? left : MANY_MOST;
        if (q->host)
            rc = device_upload(e->dev, STREAM_WORK, e->own.at, q->host + at * n, K * n * sizeof *V,
                               err);
        if (rc == ST_OK)
            rc = exact_group(e, q, V, (int)K, at, err);
    }
    if (rc != ST_OK)
        device_wait(e->dev, NULL);
    return rc;
}

static enum status exact_hold(void *state, size_t k, const double *V, struct err *err)
{
    struct exact_there *e = state;
    const size_t bytes = k * e->args.n * sizeof *V;
    enum status rc = exact_room(e, &e->V, bytes, "right-hand sides", err);

    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, e->V.at, V, bytes, err);
    if (rc == ST_OK)
        rc = device_wait(e->dev, err); /* V is the caller's again */
    e->k = rc == ST_OK ? k : 0;
    return rc;
}

static enum status exact_apply(void *state, size_t m, const double *Y, size_t k, const double *V,
                               double *W, const struct ctl *ctl, struct err *err)
{
    struct exact_there *e = state;
    const size_t d = (size_t)e->args.d;
    struct ask q = { .m = Y ? m : e->args.n, .k = k, .Y = e->args.X, .host = V, .W = W,
                     .alike = true, .ctl = ctl };
    enum status rc = ST_OK;

    if (Y) {
        rc = exact_room(e, &e->Y, m * d * sizeof(float), "inputs", err);
        if (rc == ST_OK)
            rc = send_rows(e, m, Y, e->Y.at, err);
        q.Y = e->Y.at;
        q.alike = e->many.ks == 0 || largest_norm(e, e->inv, m, Y) <= e->largest;
    }
    return rc == ST_OK ? exact_ask(e, &q, err) : rc;
}

enum status exact_list(struct exact_there *e, size_t m, const size_t *at, struct err *err)
{
    uint32_t *list = mem_calloc(m + 1, sizeof *list, "indices", err);
    enum status rc = list ? exact_room(e, &e->at, m * sizeof *list + 4, "indices", err) : ST_NOMEM;

    for (size_t i = 0; list && i < m; i++)
        list[i] = (uint32_t)at[i];
    if (rc == ST_OK)
        rc = device_upload(e->dev, STREAM_WORK, e->at.at, list, m * sizeof *list, err);
    if (rc == ST_OK)
        rc = device_wait(e->dev, err);
    free(list);
    return rc;
}

static enum status exact_rows_at(void *state, size_t m, const size_t *at, size_t k,
                                 const double *V, double *W, const struct ctl *ctl,
                                 struct err *err)
{
    struct exact_there *e = state;
    enum status rc = exact_list(e, m, at, err);
    struct ask q = { .m = m, .k = k, .at = e->at.at, .host = V, .W = W, .alike = true,
                     .ctl = ctl };

    return rc == ST_OK ? exact_ask(e, &q, err) : rc;
}

/* Columns come as rows, some at a time. */
static enum status exact_columns(void *state, size_t m, const size_t *at, double *C,
                                 const struct ctl *ctl, struct err *err)
{
    struct exact_there *e = state;
    const size_t n = e->args.n;
    const size_t some = batch_count(0.0, 8.0 * exact_counted(e, 1, 1), 1, m > 0 ? m : 1);
    float *back = mem_calloc(some * n, sizeof *back, "columns of a kernel", err);
    enum status rc = back ? exact_list(e, m, at, err) : ST_NOMEM;
    struct values_args a = { .r = e->args };

    if (rc == ST_OK)
        rc = exact_room(e, &e->values, some * n * sizeof *back, "columns of a kernel", err);
    a.to = e->values.at;
    for (size_t c = 0; rc == ST_OK && c < m; c += some) {
        a.r.m = m - c < some ? m - c : some;
        a.r.at = (const uint32_t *)e->at.at + c;
        rc = tiles_stopped(ctl, err);
        if (rc == ST_OK)
            rc = device_values(e->dev, &a, err);
        if (rc == ST_OK)
            rc = device_download(e->dev, back, a.to, a.r.m * n * sizeof *back, err);
        for (size_t i = 0; rc == ST_OK && i < a.r.m * n; i++)
            C[c * n + i] = (double)back[i];
    }
    if (rc != ST_OK)
        device_wait(e->dev, NULL);
    free(back);
    return rc;
}

const struct backend_exact exact_ops = {
    .open = exact_open, .close = exact_close, .hold = exact_hold, .apply = exact_apply,
    .rows = exact_rows_at, .columns = exact_columns,
    .descent = &descent_ops };
