/* cuda/tiles.c -- what the driver does over tiles of rows: resident or streamed inputs, rows of
 * features, sweeps, matrix products. Everything that a device does goes through device.h.
 *
 * With float features, up to SWEEPS right-hand sides go through the sweeps of sweep.h. More
 * right-hand sides, and everything in double precision, go through matrix products by tiles of
 * rows. */
#include "cuda/backend_impl.h"

#include "base/mem.h"
#include "cuda/batch.h"
#include "cuda/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEPS = 12,              /* number of right-hand sides from which products are faster */
    PRODUCT_ROWS = 4096,      /* largest number of rows of a tile of a product */
    FLOAT_ROWS = 256,         /* rows whose products are summed in float32 */
};

enum status tiles_room(struct cuda *c, struct room *r, size_t bytes, const char *what,
                            struct err *err)
{
    if (bytes <= r->bytes)
        return ST_OK;
    device_free(c->dev, r->at);
    *r = (struct room){ NULL, 0 };
    c->moves++;
    const enum status rc = device_alloc(c->dev, &r->at, bytes, what, err);
    if (rc == ST_OK)
        r->bytes = bytes;
    return rc;
}

/* If shared memory is too small, device memory replaces it. */
enum status tiles_scratch(struct cuda *c, struct room *r, struct steps_grid g,
                          struct steps_args *a, struct err *err)
{
    a->scratch = NULL;
    if (g.smem <= c->info.shared)
        return ST_OK;
    const enum status rc = tiles_room(c, r, (size_t)g.blocks * (size_t)g.chunks * g.smem,
                                      "a wide transform", err);
    a->scratch = r->at;
    a->scratch_bytes = g.smem;
    return rc;
}

/* Rows. */

struct reading {
    struct cuda *c;
    size_t r0, r1;
    char *to;
    struct err *errs; /* for each task */
    double *temp;     /* for each worker */
    int failed;
};

static void read_rows(void *ctx, size_t task, size_t worker)
{
    struct reading *s = ctx;
    const struct cuda *c = s->c;
    const size_t r0 = s->r0 + task * READ_ROWS;
    const size_t r1 = r0 + READ_ROWS < s->r1 ? r0 + READ_ROWS : s->r1, at = (r0 - s->r0) * c->d;
    double *x = c->prog.x64 ? (double *)(void *)s->to + at : s->temp + worker * READ_ROWS * c->d;

    if (c->src->rows(c->src, r0, r1, x, &s->errs[task]) != ST_OK) {
        __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (size_t i = 0; !c->prog.x64 && i < (r1 - r0) * c->d; i++)
        ((float *)(void *)s->to)[at + i] = (float)x[i];
}

/* Reads rows into host memory, in the precision of the device. */
static enum status read_chunk(struct cuda *c, size_t r0, size_t r1, void *to, struct err *err)
{
    const size_t tasks = (r1 - r0 + READ_ROWS - 1) / READ_ROWS;
    const size_t workers = c->opts.threads;
    struct reading s = { .c = c, .r0 = r0, .r1 = r1, .to = to };

    s.errs = mem_calloc(tasks, sizeof *s.errs, "reading rows", err);
    s.temp = workers > 1 && !c->prog.x64
                 ? mem_aligned(workers * READ_ROWS * c->d, sizeof *s.temp, "rows", err) : c->temp;
    enum status rc = s.errs && (s.temp || c->prog.x64) ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        c->opts.run(c->opts.pool, tasks, read_rows, &s);
    for (size_t i = 0; rc == ST_OK && s.failed && i < tasks; i++)
        if (s.errs[i].code != ST_OK) {
            rc = s.errs[i].code;
            if (err)
                *err = s.errs[i];
        }
    if (s.temp != c->temp)
        free(s.temp);
    free(s.errs);
    return rc;
}

/* Sends a chunk: it is read while the device works on the previous one, and copied once the one
 * before that is finished. */
static enum status send_chunk(struct cuda *c, size_t r0, size_t r1, void *to, struct err *err)
{
    const int slot = (int)(c->next & 1);
    enum status rc = device_after(c->dev, slot, -1, err);

    if (rc == ST_OK)
        rc = read_chunk(c, r0, r1, c->stage[slot], err);
    if (rc == ST_OK)
        rc = device_after(c->dev, 2 + slot, STREAM_COPY, err);
    if (rc == ST_OK)
        rc = device_upload(c->dev, STREAM_COPY, to, c->stage[slot], (r1 - r0) * c->d * c->xsize,
                           err);
    if (rc == ST_OK)
        rc = device_mark(c->dev, slot, STREAM_COPY, err);
    if (rc == ST_OK)
        rc = device_after(c->dev, slot, STREAM_WORK, err);
    c->next++;
    return rc;
}

enum status tiles_stopped(const struct ctl *ctl, struct err *err)
{
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped while passing over the rows")
                            : ST_OK;
}

/* Sends all inputs, once. */
static enum status fill_inputs(struct cuda *c, const struct ctl *ctl, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t r = 0; rc == ST_OK && !c->x_there && r < c->n; r += c->chunk) {
        const size_t end = r + c->chunk < c->n ? r + c->chunk : c->n;
        rc = tiles_stopped(ctl, err);
        if (rc == ST_OK)
            rc = send_chunk(c, r, end, (char *)c->x[0] + r * c->d * c->xsize, err);
    }
    c->x_there = rc == ST_OK;
    return rc;
}

enum status tiles_over(struct cuda *c, size_t r0, size_t r1, size_t most, tile_fn *fn,
                              void *ctx, const struct ctl *ctl, struct err *err)
{
    const size_t chunk = c->resident ? r1 - r0 : c->chunk;
    enum status rc = c->resident ? fill_inputs(c, ctl, err) : ST_OK;

    for (size_t at = r0; rc == ST_OK && at < r1; at += chunk) {
        const size_t end = at + chunk < r1 ? at + chunk : r1;
        const int slot = (int)(c->next & 1);
        char *x = c->resident ? (char *)c->x[0] + at * c->d * c->xsize : (char *)c->x[slot];
        if (!c->resident)
            rc = send_chunk(c, at, end, x, err);
        for (size_t r = at; rc == ST_OK && r < end; r += most) {
            const size_t e = r + most < end ? r + most : end;
            const int turn = 4 + (int)(c->turn++ & 1);
            if (!c->recording)
                rc = device_after(c->dev, turn, -1,
                                  /* At most two tiles are queued, because a stop waits for them. */
                                  err);
            if (rc == ST_OK)
                rc = tiles_stopped(ctl, err);
            if (rc == ST_OK)
                rc = fn(c, ctx, r, e, x + (r - at) * c->d * c->xsize, err);
            if (rc == ST_OK && !c->recording)
                rc = device_mark(c->dev, turn, STREAM_WORK, err);
        }
        if (rc == ST_OK && !c->resident)
            rc = device_mark(c->dev, 2 + slot, STREAM_WORK, err);
    }
    return rc;
}

/* Features. */

/* A grid of steps. If one block needs more than the shared memory, it has few blocks. */
static struct steps_grid steps_few(const struct cuda *c, struct steps_args *a)
{
    struct steps_grid g = steps_grid(a);
    const size_t chunks = 2 * (size_t)c->info.sms / (size_t)g.blocks + 1;

    if (g.smem <= c->info.shared || (size_t)g.chunks <= chunks)
        return g;
    a->per = (int)((a->rows + chunks - 1) / chunks);
    return steps_grid(a);
}

/* Computes rows r0..r1-1 of all terms. */
enum status tiles_rows(struct cuda *c, size_t r0, size_t r1, const void *x, void *z,
                             enum dev_form form, size_t ld, struct err *err)
{
    const struct program *p = &c->prog;
    const bool sweeps = form == FORM_SWEEP32 || form == FORM_SWEEP16;
    const size_t row = sweeps ? sweep_row(p->shape) : ld;
    const bool half = form == FORM_SWEEP16 || form == FORM_F16;
    const size_t size = half ? 2 : form == FORM_F64 ? 8 : 4;
    enum status rc = ST_OK;

    if (p->cols < row) /* some columns belong to no term */
        rc = device_zero(c->dev, z, (r1 - r0) * row * size, err);

    for (size_t i = 0; rc == ST_OK && i < p->nterms; i++) {
        const size_t blocks = p->term[i].copied ? 1 : (size_t)p->term[i].nb;
        struct steps_args a = { .term = p->term[i], .x = x, .x64 = p->x64, .ldx = c->d,
                                .rows = r1 - r0, .wide = p->wide[i] };
        a.per = (r1 - r0) * blocks > 65536 ? 8 : 1;
        a.to = (struct dev_out){ .z = z, .form = form, .ld = ld, .shape = p->shape,
                                 .out = p->out[i],
                                 .factor = c->factor ? (const double *)c->factor + r0 : NULL };
        if (p->dense[i].ks && !p->wide[i]) {
            struct project_args d = p->dense[i];
            d.x = x, d.x64 = p->x64, d.ldx = c->d, d.rows = r1 - r0, d.to = a.to;
            rc = device_project(c->dev, &d, err);
        } else if (p->term[i].copied || p->term[i].mf) {
            rc = tiles_scratch(c, &c->scratch, steps_few(c, &a), &a, err);
            if (rc == ST_OK)
                rc = device_steps(c->dev, &a, err);
        }
    }
    return rc;
}

/* Frequencies of a row, counting those of windows. */
static double row_work(const struct cuda *c)
{
    const double windows = c->prog.windows ? (double)c->d : 1.0;

    return (double)c->M * windows;
}

size_t tiles_height(const struct cuda *c, size_t bytes)
{
    const size_t fit = c->tile_bytes / bytes > 16 ? c->tile_bytes / bytes : 16;
    size_t rows = batch_count(0.0, row_work(c) / batch_rate(&c->info, BATCH_STEPS), 16, fit);

    rows = rows / 16 * 16;
    return rows < c->to - c->from ? rows : c->to - c->from;
}

/* Sweeps. */

/* Puts P into the layout of sweeps, times the factors of the columns. */
static enum status send_P(struct cuda *c, const double *P, int K, struct err *err)
{
    const size_t width = sweep_row(c->prog.shape), bytes = (size_t)K * width * sizeof(float);
    enum status rc = tiles_room(c, &c->P, bytes, "right-hand sides", err);

    if (rc == ST_OK && bytes > c->host_bytes) {
        free(c->host);
        c->host = mem_aligned(bytes, 1, "right-hand sides", err);
        c->host_bytes = c->host ? bytes : 0;
        rc = c->host ? ST_OK : ST_NOMEM;
    }
    if (rc != ST_OK)
        return rc;
    float *p = (float *)(void *)c->host;
    memset(p, 0, bytes);
    for (size_t k = 0; k < (size_t)K; k++)
        for (size_t j = 0; j < c->M; j++)
            p[k * width + sweep_place(c->prog.shape, 4, j)] =
                (float)(P[k * c->M + j] * c->prog.column[j]);
    return device_upload(c->dev, STREAM_WORK, c->P.at, p, bytes, err);
}

/* Does the same with P on the device. */
static enum status place_P(struct cuda *c, const double *P, int K, struct err *err)
{
    struct layout_args a = { .shape = c->prog.shape, .K = K, .M = c->M, .P = P,
                             .out = c->prog.d_column };
    const enum status rc = tiles_room(c, &c->P, (size_t)K * sweep_row(a.shape) * sizeof(float),
                                    "right-hand sides", err);

    a.to = c->P.at;
    return rc == ST_OK ? device_layout(c->dev, &a, err) : rc;
}

/* One launch over the rows that `args` refers to, or one launch for each slice. */
static enum status launch(struct cuda *c, struct sweep *s, struct sweep_args a, struct err *err)
{
    enum status rc = ST_OK;

    if (!s->split)
        return device_sweep(c->dev, s->from, s->K, c->blocks, &a, err);
    struct sweep_args up = a, down = a;
    up.down = up.square = 0;
    up.T = c->T.at;
    up.factor = s->W ? NULL : a.factor;
    down.up = 0;
    down.V = a.up ? c->T.at : a.V;
    down.T = NULL;
    for (int i = 0; rc == ST_OK && a.up && i < c->prog.shape.slices; i++) {
        up.slice0 = i;
        up.add = i > 0;
        rc = device_sweep(c->dev, s->from, s->K, 1, &up, err);
    }
    down.keep = 0;
    for (int i = 0; rc == ST_OK && a.down && i < c->prog.shape.slices; i++) {
        down.slice0 = i;
        rc = device_sweep(c->dev, s->from, s->K, 1, &down, err);
    }
    return rc;
}

/* The inputs of a tile as the fused loop reads them. */
static enum status pad_tile(struct cuda *c, size_t rows, const void *x, const float **out,
                            struct err *err)
{
    struct pad_args a = c->prog.pad;
    const enum status rc =
        tiles_room(c, &c->pad, rows * (size_t)a.D * sizeof(float), "inputs", err);

    a.x = x, a.ldx = c->d, a.rows = rows, a.to = c->pad.at;
    *out = a.to;
    return rc == ST_OK ? device_pad(c->dev, &a, err) : rc;
}

static enum status sweep_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                              struct err *err)
{
    struct sweep *s = ctx;
    struct sweep_args a = s->args;
    const size_t row = sweep_row(c->prog.shape);
    const bool storing = c->store && !c->filled && !(s->exact && c->half);
    char *at = c->store ? (char *)c->store + r0 * row * (c->half ? 2 : 4) : NULL;
    enum status rc = ST_OK;

    a.row0 = r0;
    a.rows = r1 - r0;
    if (s->from == FROM_CHAIN) {
        a.chain = c->prog.fused;
        rc = pad_tile(c, r1 - r0, x, &a.chain.x, err);
        return rc == ST_OK ? launch(c, s, a, err) : rc;
    }
    if (storing) { /* fill the store for the next sweep */
        rc = tiles_rows(c, r0, r1, x, at, c->half ? FORM_SWEEP16 : FORM_SWEEP32, 0, err);
        a.z = at;
    } else {
        rc = tiles_room(c, &c->tile, (r1 - r0) * row * 4, "a tile of features", err);
        if (rc == ST_OK)
            rc = tiles_rows(c, r0, r1, x, c->tile.at, FORM_SWEEP32, 0, err);
        a.z = c->tile.at;
    }
    return rc == ST_OK ? launch(c, s, a, err) : rc;
}

/* The fused loop itself fills the half-precision store of a plain chain. */
static enum status keep_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                             struct err *err)
{
    struct sweep_args a = { .shape = c->prog.shape, .chain = c->prog.fused, .row0 = r0,
                            .rows = r1 - r0, .n = c->n, .clusters = c->clusters, .keep = 1 };
    enum status rc = pad_tile(c, r1 - r0, x, &a.chain.x, err);

    (void)ctx;
    a.z_out = (uint16_t *)c->store + r0 * sweep_row(c->prog.shape);
    if (rc == ST_OK && c->blocks == c->prog.shape.slices)
        return device_sweep(c->dev, FROM_CHAIN, 1, c->blocks, &a, err);
    for (a.slice0 = 0; rc == ST_OK && a.slice0 < c->prog.shape.slices; a.slice0++)
        rc = device_sweep(c->dev, FROM_CHAIN, 1, 1, &a, err);
    return rc;
}

static size_t fused_rows(const struct cuda *c)
{
    const size_t fit = c->tile_bytes / ((size_t)c->prog.fused.D * sizeof(float)),
                 most = fit > 64 ? fit : 64, n = c->to - c->from;

    return batch_count(0.0, row_work(c) / batch_rate(&c->info, BATCH_FUSED), 64,
                       most < n ? most : n);
}

bool tiles_plain(const struct cuda *c, size_t k)
{
    if (c->opts.precision == PREC_DOUBLE || (k >= SWEEPS && !c->store))
        return false;
    return c->store ? c->filled
                    : c->prog.chain && c->resident && c->x_there && fused_rows(c) >= c->n;
}

/* Makes the features of a tile of the store. */
static enum status fill_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                             struct err *err)
{
    (void)ctx;
    if (c->opts.precision == PREC_DOUBLE)
        return tiles_rows(c, r0, r1, x, (double *)c->store + r0 * c->M, FORM_F64, c->M, err);
    return tiles_rows(c, r0, r1, x,
                      (char *)c->store + r0 * sweep_row(c->prog.shape) * (c->half ? 2 : 4),
                      c->half ? FORM_SWEEP16 : FORM_SWEEP32, 0, err);
}

/* Fills the store with all rows before they are summed, where that is faster, or where parts of
 * them will be. */
static enum status fill_first(struct cuda *c, const struct ctl *ctl, struct err *err)
{
    const bool keep = c->half && c->prog.chain;
    const size_t rows = keep ? fused_rows(c) : tiles_height(c, c->M * sizeof(double));
    enum status rc = ST_OK;

    if (c->filled || !(keep || c->ranged))
        return ST_OK;
    rc = tiles_over(c, 0, c->n, rows, keep ? keep_tile : fill_tile, NULL, ctl, err);
    if (rc == ST_OK)
        rc = device_wait(c->dev, err);
    c->filled = rc == ST_OK;
    return rc;
}

/* Sweeps one to four right-hand sides over the rows of sums. */
static enum status sweep_rows(struct cuda *c, struct sweep *s, const struct ctl *ctl,
                              struct err *err)
{
    const bool stored = c->store && !(s->exact && c->half);
    enum status rc = stored ? fill_first(c, ctl, err) : ST_OK;

    if (rc == ST_OK && stored && c->filled) {
        s->from = c->half ? FROM_HALF : FROM_FLOAT;
        struct sweep_args a = s->args;
        a.z = (char *)c->store + c->from * sweep_row(a.shape) * (c->half ? 2 : 4);
        a.row0 = c->from;
        a.rows = c->to - c->from;
        rc = tiles_stopped(ctl, err);
        return rc == ST_OK ? launch(c, s, a, err) : rc;
    }
    if (rc != ST_OK)
        return rc;
    s->from = stored ? (c->half ? FROM_HALF : FROM_FLOAT) : c->prog.chain ? FROM_CHAIN : FROM_FLOAT;
    const size_t rows = s->from == FROM_CHAIN ? fused_rows(c)
                                              : tiles_height(c, sweep_row(c->prog.shape) * 4);
    rc = tiles_over(c, c->from, c->to, rows, sweep_tile, s, ctl, err);
    if (rc == ST_OK && stored)
        rc = device_wait(c->dev, err);
    if (rc == ST_OK && stored)
        c->filled = true;
    return rc;
}

/* Rows of K vectors of n, to the device or back. */
static enum status send_rows(struct cuda *c, int K, const double *V, struct err *err)
{
    const size_t rows = c->to - c->from;
    enum status rc = ST_OK;

    if (rows == c->n)
        return device_upload(c->dev, STREAM_WORK, c->V.at, V, (size_t)K * rows * sizeof *V, err);
    for (size_t k = 0; rc == ST_OK && k < (size_t)K; k++)
        rc = device_upload(c->dev, STREAM_WORK, (double *)c->V.at + k * c->n + c->from,
                           V + k * c->n + c->from, rows * sizeof *V, err);
    return rc;
}

static enum status fetch_rows(struct cuda *c, int K, double *T, struct err *err)
{
    const size_t rows = c->to - c->from;
    enum status rc = ST_OK;

    if (rows == c->n)
        return device_download(c->dev, T, c->T.at, (size_t)K * rows * sizeof *T, err);
    for (size_t k = 0; rc == ST_OK && k < (size_t)K; k++)
        rc = device_download(c->dev, T + k * c->n + c->from,
                             (double *)c->T.at + k * c->n + c->from, rows * sizeof *T, err);
    return rc;
}

static enum status sweep_round(struct cuda *c, struct sweep *s, size_t at, const struct ctl *ctl,
                               struct err *err)
{
    const size_t K = (size_t)s->K, width = sweep_row(c->prog.shape), n8 = c->n * K * sizeof(double);
    const size_t part = (size_t)c->clusters * K * width * sizeof(double);
    const size_t w = K * c->M * sizeof(double);
    enum status rc = ST_OK;

    double *const to = s->there ? s->W + at * c->M : NULL;
    s->split = c->blocks != c->prog.shape.slices;
    if (s->up && s->there)
        rc = place_P(c, s->P + at * c->M, s->K, err);
    else if (s->up)
        rc = send_P(c, s->P + at * c->M, s->K, err);
    if (rc == ST_OK && !s->up)
        rc = tiles_room(c, &c->V, n8, "right-hand sides", err);
    if (rc == ST_OK && !s->up)
        rc = send_rows(c, s->K, s->V + at * c->n, err);
    if (rc == ST_OK && (s->T || (s->split && s->up)))
        rc = tiles_room(c, &c->T, n8, "products with the rows", err);
    if (rc == ST_OK && s->W)
        rc = tiles_room(c, &c->part, part, "partial sums", err);
    if (rc == ST_OK && s->W && !to)
        rc = tiles_room(c, &c->W, w, "results", err);
    if (rc == ST_OK && s->W)
        rc = device_zero(c->dev, c->part.at, part, err);
    if (rc != ST_OK)
        return rc;
    s->args = (struct sweep_args){ .shape = c->prog.shape, .n = c->n, .clusters = c->clusters,
                                   .up = s->up, .down = s->W != NULL,
                                   .square = s->up && s->W != NULL, .P = c->P.at, .V = c->V.at,
                                   .T = s->T ? c->T.at : NULL, .factor = c->factor,
                                   .part = c->part.at };
    rc = sweep_rows(c, s, ctl, err);
    struct merge_args m = { .shape = c->prog.shape, .clusters = c->clusters, .K = s->K, .M = c->M,
                            .part = c->part.at, .out = c->prog.d_column, .W = to ? to : c->W.at };
    if (rc == ST_OK && s->W)
        rc = device_merge(c->dev, &m, err);
    if (rc == ST_OK && s->W && !to)
        rc = device_download(c->dev, s->W + at * c->M, c->W.at, w, err);
    if (rc == ST_OK && s->T)
        rc = fetch_rows(c, s->K, s->T + at * c->n, err);
    return rc;
}

/* Products by tiles of rows. */

static size_t product_rows(const struct cuda *c, bool dbl, size_t k, bool gram)
{
    const size_t bytes = (c->M + k) * (dbl ? 8 : 4), rows = tiles_height(c, bytes);
    const double M = (double)c->M, flops = 4.0 * M * (double)k + (gram ? M * M : 0.0);
    const size_t most = rows < PRODUCT_ROWS ? rows : PRODUCT_ROWS;

    return batch_count(0.0, flops / batch_rate(&c->info, dbl ? BATCH_DOUBLE : BATCH_SINGLE), 16,
                       most);
}

/* t (rows x k) of a tile, as doubles in c->left: from P, or from V. Factors of rows are already in
 * the features of a product. */
static enum status product_up(struct cuda *c, struct product *p, const void *z, size_t r0,
                              size_t rows, struct err *err)
{
    enum status rc = ST_OK;

    if (p->up) {
        if (p->dbl)
            return device_dgemm(c->dev, true, false, rows, p->k, c->M, z, c->M, p->P,
                                c->M, 0.0, c->left.at, rows, err);
        return device_sgemm(c->dev, true, false, rows, p->k, c->M, z, c->M, p->P, c->M,
                            0.0F, c->right.at, rows, err);
    }
    for (size_t i = 0; i < p->k; i++)
        memcpy(p->temp + i * rows, p->V + i * c->n + r0, rows * sizeof *p->temp);
    rc = device_upload(c->dev, STREAM_WORK, c->left.at, p->temp, rows * p->k * sizeof(double), err);
    if (rc == ST_OK)
        rc = device_wait(c->dev, err); /* temp is reused for the next tile */
    if (rc == ST_OK && !p->dbl)
        rc = device_narrow(c->dev, rows * p->k, c->left.at, c->right.at, err);
    return rc;
}

static enum status product_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                                struct err *err)
{
    struct product *p = ctx;
    const size_t rows = r1 - r0;
    const bool stored = c->store && c->opts.precision == PREC_DOUBLE;
    void *z = stored ? (double *)c->store + r0 * c->M : c->tile.at;
    enum status rc = stored && c->filled
                         ? ST_OK
                         : tiles_rows(c, r0, r1, x, z, p->dbl ? FORM_F64 : FORM_F32, c->M, err);

    if (rc == ST_OK && p->k)
        rc = product_up(c, p, z, r0, rows, err);
    if (rc == ST_OK && p->k && p->T) {
        if (!p->dbl) {
            rc = device_zero(c->dev, c->left.at, rows * p->k * sizeof(double), err);
            if (rc == ST_OK)
                rc = device_add(c->dev, rows * p->k, c->right.at, c->left.at, err);
        }
        if (rc == ST_OK)
            rc = device_download(c->dev, p->temp, c->left.at, rows * p->k * sizeof(double), err);
        for (size_t i = 0; rc == ST_OK && i < p->k; i++)
            memcpy(p->T + i * c->n + r0, p->temp + i * rows, rows * sizeof *p->temp);
    }
    if (rc == ST_OK && p->k && p->W && p->dbl)
        rc = device_dgemm(c->dev, false, false, c->M, p->k, rows, z, c->M, c->left.at,
                          rows, 1.0, p->W, c->M, err);
    if (rc == ST_OK && p->k && p->W && !p->dbl) {
        rc = device_sgemm(c->dev, false, false, c->M, p->k, rows, z, c->M, c->right.at,
                          rows, 0.0F, c->sums.at, c->M, err);
        if (rc == ST_OK)
            rc = device_add(c->dev, c->M * p->k, c->sums.at, p->W, err);
    }
    if (rc == ST_OK && p->G && p->dbl)
        rc = device_dsyrk(c->dev, c->M, rows, z, c->M, 1.0, p->G, c->M, err);
    for (size_t r = 0; rc == ST_OK && p->G && !p->dbl && r < rows; r += FLOAT_ROWS) {
        const size_t some = rows - r < FLOAT_ROWS ? rows - r : FLOAT_ROWS;
        rc = device_ssyrk(c->dev, c->M, some, (const float *)z + r * c->M, c->M, 0.0F,
                          c->sums.at, c->M, err);
        if (rc == ST_OK)
            rc = device_add(c->dev, c->M * c->M, c->sums.at, p->G, err);
    }
    return rc;
}

static enum status product_rooms(struct cuda *c, const struct product *p, size_t rows,
                                 struct err *err)
{
    const size_t size = p->dbl ? 8 : 4, sums = p->dbl ? 0 : (p->G ? c->M : p->k) * c->M * 4;
    enum status rc = tiles_room(c, &c->tile, rows * c->M * size, "a tile of features", err);

    if (rc == ST_OK && p->k)
        rc = tiles_room(c, &c->left, rows * p->k * 8, "products with the rows", err);
    if (rc == ST_OK && p->k && !p->dbl)
        rc = tiles_room(c, &c->right, rows * p->k * 4, "products with the rows", err);
    return rc == ST_OK && sums ? tiles_room(c, &c->sums, sums, "sums of a tile", err) : rc;
}

/* Copies the M x k right factor to the device, in the precision of the product. */
static enum status product_P(struct cuda *c, struct product *p, const double *P, struct err *err)
{
    const size_t numbers = c->M * p->k;
    p->P = P;
    if (p->there && p->dbl)
        return ST_OK;
    enum status rc = tiles_room(c, &c->P, numbers * (p->dbl ? 8 : 4), "right-hand sides", err);

    p->P = c->P.at;
    if (rc == ST_OK && p->dbl)
        return device_upload(c->dev, STREAM_WORK, c->P.at, P, numbers * 8, err);
    if (rc == ST_OK && p->there)
        return device_narrow(c->dev, numbers, P, c->P.at, err);
    if (rc == ST_OK)
        rc = tiles_room(c, &c->out, numbers * 8, "right-hand sides", err);
    if (rc == ST_OK)
        rc = device_upload(c->dev, STREAM_WORK, c->out.at, P, numbers * 8, err);
    return rc == ST_OK ? device_narrow(c->dev, numbers, c->out.at, c->P.at, err) : rc;
}

enum status tiles_product(struct cuda *c, struct product *p, const double *P, double *W,
                               const struct ctl *ctl, struct err *err)
{
    const size_t rows = product_rows(c, p->dbl, p->k, p->G != NULL), bytes = c->M * p->k * 8;
    const bool stored = c->store && c->opts.precision == PREC_DOUBLE;
    enum status rc = product_rooms(c, p, rows, err);

    if (rc == ST_OK && stored)
        rc = fill_first(c, ctl, err);
    if (rc == ST_OK && p->k) {
        p->temp = mem_aligned(rows * p->k, sizeof *p->temp, "products with the rows", err);
        rc = p->temp ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && P)
        rc = product_P(c, p, P, err);
    if (rc == ST_OK && W && !p->there)
        rc = tiles_room(c, &c->W, bytes, "results", err);
    p->W = p->there ? W : W ? c->W.at : NULL;
    if (rc == ST_OK && W)
        rc = device_zero(c->dev, p->W, bytes, err);
    if (rc == ST_OK)
        rc = tiles_over(c, c->from, c->to, rows, product_tile, p, ctl, err);
    c->filled |= rc == ST_OK && stored;
    if (rc == ST_OK && W && !p->there)
        rc = device_download(c->dev, W, p->W, bytes, err);
    free(p->temp);
    p->temp = NULL;
    return rc;
}

/* The interface. */

enum status tiles_run(struct cuda *c, struct sweep *s, const struct ctl *ctl,
                      struct err *err)
{
    enum status rc = ST_OK;
    const bool stored = c->store && !(s->exact && c->half);
    if (c->opts.precision == PREC_DOUBLE || (s->k >= SWEEPS && !stored)) {
        struct product p = { .dbl = c->opts.precision == PREC_DOUBLE, .there = s->there, .k = s->k,
                             .up = s->up, .T = s->T, .V = s->V };
        rc = tiles_product(c, &p, s->P, s->W, ctl, err);
    } else {
        for (size_t at = 0; rc == ST_OK && at < s->k; at += (size_t)s->K) {
            const size_t left = s->k - at;
            s->K = left >= 4 ? 4 : left >= 2 ? 2 : 1;
            rc = sweep_round(c, s, at, ctl, err);
        }
    }
    if (rc != ST_OK)
        device_wait(c->dev, NULL); /* nothing of the host is read any more */
    return rc;
}
