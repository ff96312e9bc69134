/* cuda/descent.c -- stochastic dual descent with rows, vectors and batches on the device (struct
 * backend_descent): a step is three launches, and steps follow one another without a host in
 * between.  The product reads its vectors in halves, of which a step makes those anew that still
 * move; they keep their scale during a run, which is therefore short at first (level_args). */
#include "cuda/exact.h"

#include "base/mem.h"
#include "cuda/batch.h"
#include "cuda/descent.h"
#include "cuda/many.h"

#include <stdlib.h>
#include <string.h>

enum { HELD = 12, QUEUED = 16 /* steps prepared while others run */ };
static const double STILL = 1e-14; /* a velocity of which no more is left counts as none */

struct descent {
    struct exact_there *e;
    struct descent_args step;
    struct many_args many;
    struct pack_args pack;
    struct level_args level;
    void *held[HELD];
    struct room batches, squares;
    struct descent_entry *entries; /* of a run */
    size_t room;                   /* steps for which there are entries */
    uint32_t *met, *newest;        /* by coordinate: the last step, and its latest entry there */
    size_t t, most;                /* most: steps of the next run, by the scale of the vectors */
};

static void descent_close(void *state)
{
    struct descent *d = state;
    struct device *dev = d->e->dev;

    device_wait(dev, NULL);
    for (size_t i = 0; i < HELD; i++)
        device_free(dev, d->held[i]);
    device_free(dev, d->batches.at);
    device_free(dev, d->squares.at);
    free(d->entries);
    free(d->met);
    free(d);
}

/* Fills the arguments of the launches from what is held. */
static void descent_place(struct descent *d, const struct backend_path *p, const double *table)
{
    const struct exact_there *e = d->e;
    const size_t n = e->args.n, kn = p->k * n;
    double *w = d->held[0], *levels = d->held[6];
    uint32_t still = 1;

    while (still < p->coasts - 1 && table[still] > STILL)
        still++;
    d->step = (struct descent_args){
        .n = n, .m = p->batch, .k = (int)p->k, .coasts = (int)p->coasts, .lam2 = p->lam2,
        .rho = p->rho, .newest = p->newest, .row = p->row ? d->held[1] : NULL, .B = d->held[2],
        .coast = d->held[3], .w = w, .v = w + kn, .a = p->averaged ? w + 2 * kn : NULL,
        .last = d->held[4], .E = d->held[5] };
    d->level = (struct level_args){ .n = n, .V = w, .row = d->step.row,
                                    .other = (double)e->many.up, .up = levels,
                                    .back = levels + MANY_MOST };
    d->pack = (struct pack_args){
        .n = n, .K = (int)p->k, .eights = many_eights((int)p->k), .V = w, .v = w + kn,
        .row = d->step.row, .up = levels, .lever = p->rho * p->rho / (1.0 - p->rho),
        .power = d->held[7], .powers = still, .last = d->step.last, .to = d->held[8] };
    d->many = e->many;
    d->many.r.K = (int)p->k;
    d->many.r.m = p->batch;
    d->many.rows = d->many.cols;
    d->many.V = d->held[8];
    d->many.back = d->level.back;
}

static enum status descent_start(struct descent *d, const struct backend_path *p, double *table,
                                 struct err *err)
{
    struct exact_there *e = d->e;
    const size_t n = e->args.n, kn = p->k * n;
    const size_t bytes[] = { 3 * kn * 8, n * 8,         kn * 8, p->coasts * 32,
                             n * 4,      p->k * p->batch * 8, 2 * MANY_MOST * 8, p->coasts * 8,
                             exact_packed(e, (int)p->k) };
    const void *from[] = { NULL, p->row, p->B, p->coast, NULL, NULL, NULL, table, NULL };
    enum status rc = ST_OK;

    for (size_t m = 0; m < p->coasts; m++)
        table[m] = p->coast[4 * m];
    for (size_t i = 0; rc == ST_OK && i < sizeof bytes / sizeof *bytes; i++) {
        rc = device_alloc(e->dev, &d->held[i], bytes[i], "a descent", err);
        if (rc == ST_OK && from[i])
            rc = device_upload(e->dev, STREAM_WORK, d->held[i], from[i], bytes[i], err);
    }
    if (rc == ST_OK)
        rc = device_wait(e->dev, err);
    if (rc == ST_OK)
        descent_place(d, p, table);
    return rc;
}

static void *descent_open(void *exact, const struct backend_path *p, struct err *err)
{
    struct exact_there *e = exact;
    const size_t n = e->args.n;
    struct descent *d = p->k <= MANY_MOST && p->coasts > 1
                            ? mem_calloc(1, sizeof *d, "a descent", err) : NULL;
    double *table = d ? mem_calloc(p->coasts, sizeof *table, "a descent", err) : NULL;

    if (!d)
        return NULL;
    d->e = e;
    d->met = table ? mem_calloc(n, 2 * sizeof *d->met, "a descent", err) : NULL;
    d->newest = d->met ? d->met + n : NULL;
    const enum status rc = d->met ? descent_start(d, p, table, err) : ST_NOMEM;
    free(table);
    if (rc == ST_OK)
        return d;
    descent_close(d);
    return NULL;
}

/* k vectors of n to one list with the k numbers of a coordinate beside each other, or back. */
static void turn(size_t n, size_t k, const double *from, double *to, bool back)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < k; c++)
            to[back ? i * k + c : c * n + i] = from[back ? c * n + i : i * k + c];
}

static enum status descent_put(void *state, size_t t, const double *w, const double *v,
                               const double *a, const size_t *last, struct err *err)
{
    struct descent *d = state;
    struct device *dev = d->e->dev;
    const size_t n = d->step.n, k = (size_t)d->step.k;
    const double *const from[] = { w, v, a };
    double *const to[] = { d->step.w, d->step.v, d->step.a };
    double *host = mem_calloc(n, k * sizeof *host, "a descent", err);
    enum status rc = host ? ST_OK : ST_NOMEM;

    for (int i = 0; rc == ST_OK && i < 3; i++) {
        if (!to[i])
            continue;
        turn(n, k, from[i], host, false);
        rc = device_upload(dev, STREAM_WORK, to[i], host, n * k * sizeof *host, err);
        if (rc == ST_OK)
            rc = device_wait(dev, err);
    }
    for (size_t i = 0; i < n; i++)
        d->met[i] = (uint32_t)last[i];
    if (rc == ST_OK)
        rc = device_upload(dev, STREAM_WORK, d->step.last, d->met, n * sizeof *d->met, err);
    if (rc == ST_OK)
        rc = device_wait(dev, err);
    d->t = t;
    d->most = 1;
    free(host);
    return rc;
}

static enum status descent_get(void *state, double *w, double *v, double *a, size_t *last,
                               struct err *err)
{
    struct descent *d = state;
    const size_t n = d->step.n, k = (size_t)d->step.k;
    double *const to[] = { w, v, a };
    const double *const from[] = { d->step.w, d->step.v, d->step.a };
    double *host = mem_calloc(n, 3 * k * sizeof *host, "a descent", err);
    enum status rc = host ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < 3; i++)
        if (from[i])
            rc = device_download(d->e->dev, host + i * n * k, from[i], n * k * sizeof *host, err);
    for (size_t i = 0; rc == ST_OK && i < 3; i++) /* all or nothing */
        if (from[i])
            turn(n, k, host + i * n * k, to[i], true);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        last[i] = d->met[i];
    free(host);
    return rc;
}

/* The entries of a batch, of step t. */
static void descent_entries(struct descent *d, uint32_t t, const size_t *at,
                            struct descent_entry *to)
{
    for (uint32_t j = 0; j < d->step.m; j++) {
        const size_t i = at[j];
        const bool again = d->met[i] == t;
        to[j] = (struct descent_entry){ .at = (uint32_t)i, .next = DESCENT_LAST, .first = !again };
        to[j].gap = again ? to[d->newest[i]].gap : t - d->met[i];
        if (again)
            to[d->newest[i]].next = j;
        d->met[i] = t;
        d->newest[i] = j;
    }
}

static enum status descent_room(struct descent *d, size_t steps, struct err *err)
{
    const size_t m = d->step.m;
    enum status rc = ST_OK;

    if (steps > d->room) {
        free(d->entries);
        d->room = 0;
        d->entries = mem_calloc(steps, m * sizeof *d->entries, "batches", err);
        if (!d->entries)
            return ST_NOMEM;
        d->room = steps;
    }
    rc = exact_room(d->e, &d->batches, steps * m * sizeof *d->entries, "batches", err);
    if (rc == ST_OK)
        rc = exact_room(d->e, &d->squares, steps * (size_t)d->step.k * 8, "batches", err);
    return rc == ST_OK ? exact_room(d->e, &d->e->at, steps * m * sizeof(uint32_t), "indices", err)
                       : rc;
}

/* Queues step s of a run. */
static enum status descent_queue(struct descent *d, size_t s, struct err *err)
{
    const size_t m = d->step.m;
    struct device *dev = d->e->dev;
    enum status rc;

    d->pack.t = (uint32_t)d->t;
    d->pack.all = s == 0;
    d->many.r.at = (const uint32_t *)d->e->at.at + s * m;
    d->step.batch = (const struct descent_entry *)d->batches.at + s * m;
    d->step.square = (double *)d->squares.at + s * (size_t)d->step.k;
    d->step.t = (uint32_t)++d->t;
    rc = device_pack(dev, &d->pack, err);
    if (rc == ST_OK)
        rc = exact_many(d->e, &d->many, err);
    d->step.part = d->many.r.part;
    d->step.chunks = d->many.r.chunks;
    return rc == ST_OK ? device_descent(dev, &d->step, err) : rc;
}

static enum status descent_run(void *state, size_t steps, const size_t *at, double length,
                               double *square, size_t *done, const struct ctl *ctl,
                               struct err *err)
{
    struct descent *d = state;
    struct device *dev = d->e->dev;
    const size_t m = d->step.m, k = (size_t)d->step.k;
    const double each = exact_counted(d->e, m, (int)k < 8 ? 8 : (int)k) + 10e-6;
    size_t some = batch_count(0.0, each, 1, steps);

    if (some > d->most) {
        some = d->most;
        d->most *= 2;
    }
    uint32_t *list = mem_calloc(some * m, sizeof *list, "batches", err);
    enum status rc = list ? tiles_stopped(ctl, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = descent_room(d, some, err);
    if (rc == ST_OK)
        rc = device_level(dev, (int)k, &d->level, err);
    d->step.length = length;
    for (size_t s = 0; rc == ST_OK && s < some; s++) {
        const size_t now = some - s < QUEUED ? some - s : QUEUED;
        for (size_t q = s; s % QUEUED == 0 && q < s + now; q++) {
            descent_entries(d, (uint32_t)(d->t + 1 + q - s), at + q * m, d->entries + q * m);
            for (size_t j = 0; j < m; j++)
                list[q * m + j] = (uint32_t)at[q * m + j];
        }
        if (s % QUEUED == 0)
            rc = device_upload(dev, STREAM_WORK, (struct descent_entry *)d->batches.at + s * m,
                               d->entries + s * m, now * m * sizeof *d->entries, err);
        if (rc == ST_OK && s % QUEUED == 0)
            rc = device_upload(dev, STREAM_WORK, (uint32_t *)d->e->at.at + s * m, list + s * m,
                               now * m * sizeof *list, err);
        if (rc == ST_OK)
            rc = descent_queue(d, s, err);
    }
    if (rc == ST_OK)
        rc = device_download(dev, square, d->squares.at, some * k * sizeof *square, err);
    else
        device_wait(dev, NULL);
    *done = rc == ST_OK ? some : 0;
    free(list);
    return rc;
}

const struct backend_descent descent_ops = {
    .open = descent_open, .close = descent_close, .put = descent_put, .get = descent_get,
    .run = descent_run };
