/* cuda/backend.c -- a device as a backend (compute/backend.h): opening and closing, and the rows of
 * its table of operations.
 *
 * An operator is used by one thread at a time. Tiles may be requested by any task, so they take its
 * lock. */
#include "compute/backend.h"

#include "base/mem.h"
#include "cuda/backend_impl.h"
#include "cuda/batch.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const size_t stage_bytes = (size_t)32 << 20; /* of inputs being uploaded */
static const size_t tile_most = (size_t)256 << 20;  /* bytes of a tile of features */

/* Opening. */

static void cuda_close(void *state)
{
    struct cuda *c = state;
    struct room *rooms[] = { &c->P, &c->V, &c->T, &c->part, &c->W, &c->tile, &c->left, &c->right,
                             &c->sums, &c->out, &c->scratch, &c->pad, &c->chol };

    if (c->dev) {
        device_wait(c->dev, NULL);
        program_free(&c->prog);
        for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
            device_free(c->dev, rooms[i]->at);
        device_free(c->dev, c->x[0]);
        device_free(c->dev, c->x[1]);
        device_free(c->dev, c->store);
        device_free(c->dev, c->factor);
        device_unpinned(c->dev, c->stage[0]);
        device_unpinned(c->dev, c->stage[1]);
        device_close(c->dev);
    }
    free(c->temp);
    free(c->host);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Memory kept free for workspace when the large arrays are allocated. */
static size_t spare(const struct cuda *c)
{
    const size_t eighth = c->info.memory / 8, most = (size_t)2 << 30;

    return eighth < most ? eighth : most;
}

static enum status too_large(const struct cuda *c, double bytes, struct err *err)
{
    char need[24], have[24], all[24];

    mem_format(need, sizeof need, bytes);
    mem_format(have, sizeof have, (double)c->info.free);
    mem_format(all, sizeof all, (double)c->info.memory);
    err_named(err, ST_NOMEM, "memory",
              "storing %zu x %zu features takes %s; the device has %s free of "
              "%s",
              c->n, c->M, need, have, all);
    err_hint(err, "fit plan=regenerate, or plan=store store=float16, or fewer features");
    return ST_NOMEM;
}

/* Allocates the features first, as asked. The inputs stay on the device if half of the rest has
 * room for them. */
static enum status lay_out(struct cuda *c, struct err *err)
{
    const size_t numbers = c->n * sweep_row(c->prog.shape);
    const size_t bytes = c->opts.precision == PREC_DOUBLE ? 8 * c->n * c->M
                         : c->opts.half                   ? 2 * numbers
                                                          : 4 * numbers;
    const bool storing = c->opts.store;
    const size_t inputs = c->n * c->d * c->xsize;
    enum status rc = ST_OK;

    if (storing && (double)bytes + (double)spare(c) > (double)c->info.free)
        return too_large(c, (double)bytes, err);
    const size_t left = c->info.free - (storing ? bytes : 0);
    c->resident = inputs <= left / 2;
    c->chunk = stage_bytes / (c->d * c->xsize) / READ_ROWS * READ_ROWS;
    c->chunk = c->chunk < READ_ROWS ? READ_ROWS : c->chunk;
    c->chunk = c->chunk < c->n ? c->chunk : c->n;
    if (storing) {
        c->half = c->opts.half;
        rc = device_alloc(c->dev, &c->store, bytes, "stored features", err);
        if (rc == ST_OK) /* the columns after the last one are read, too */
            rc = device_zero(c->dev, c->store, bytes, err);
    }
    for (size_t i = 0; rc == ST_OK && i < (c->resident ? 1 : 2); i++)
        rc = device_alloc(c->dev, &c->x[i], c->resident ? inputs : c->chunk * c->d * c->xsize,
                          "inputs", err);
    for (size_t i = 0; rc == ST_OK && i < 2; i++)
        rc = device_pinned(c->dev, &c->stage[i], c->chunk * c->d * c->xsize, err);
    if (rc == ST_OK && c->opts.row_scale) {
        rc = device_alloc(c->dev, &c->factor, c->n * sizeof(double), "row factors", err);
        if (rc == ST_OK)
            rc = device_upload(c->dev, STREAM_WORK, c->factor, c->opts.row_scale,
                               c->n * sizeof(double), err);
    }
    if (rc == ST_OK)
        rc = device_wait(c->dev, err);
    if (rc == ST_OK) /* the rest is for tiles, and for what they are multiplied with */
        rc = device_describe(c->dev, &c->info, err);
    c->tile_bytes = c->info.free / 8 < tile_most ? c->info.free / 8 : tile_most;
    return rc;
}

/* Chooses enough clusters for two blocks on every multiprocessor. */
static void share_rows(struct cuda *c)
{
    const size_t slices = (size_t)c->prog.shape.slices;

    c->blocks = slices <= (size_t)c->info.cluster ? (int)slices : 1;
    c->clusters = 2 * c->info.sms / c->blocks;
    if (c->clusters < 1)
        c->clusters = 1;
}

static enum status cuda_start(struct cuda *c, size_t device, struct err *err)
{
    enum status rc = device_open(device, &c->dev, err);

    if (rc == ST_OK)
        rc = device_describe(c->dev, &c->info, err);
    if (rc == ST_OK)
        rc = program_new(&c->prog, c->dev, c->fm, c->opts.precision == PREC_DOUBLE, err);
    if (rc != ST_OK)
        return rc;
    c->xsize = c->prog.x64 ? sizeof(double) : sizeof(float);
    c->temp = c->prog.x64 ? NULL : mem_aligned(READ_ROWS * c->d, sizeof(double), "rows", err);
    if (!c->temp && !c->prog.x64)
        return ST_NOMEM;
    share_rows(c);
    return lay_out(c, err);
}

/* Features of counts and words draw for these as they occur, which no kernel here does. */
static bool cuda_serves(const struct featmap *fm)
{
    bool all = true;

    for (size_t i = 0; i < fm->nterms; i++)
        all &= !featmap_is_counts(&fm->term[i]);
    return all;
}

static void *cuda_open(const struct featmap *fm, const struct source *src,
                       const struct fop_opts *opts, struct err *err)
{
    struct cuda *c = mem_calloc(1, sizeof *c, "feature operator", err);

    if (!c)
        return NULL;
    *c = (struct cuda){ .fm = fm, .src = src, .opts = *opts, .n = src->n, .M = fm->M, .d = src->d,
                        .to = src->n };
    pthread_mutex_init(&c->lock, NULL);
    double *hp = mem_calloc(KERNEL_MAX_HP, sizeof *hp, "hyperparameters", err);
    enum status rc = hp ? cuda_start(c, chosen_device(), err) : ST_NOMEM;
    for (size_t i = 0; hp && i < KERNEL_MAX_HP; i++)
        hp[i] = 1.0;
    if (rc == ST_OK)
        rc = program_set(&c->prog, hp, err);
    free(hp);
    if (rc != ST_OK) {
        cuda_close(c);
        return NULL;
    }
    return c;
}

static enum status cuda_set(void *state, const double *hp, struct err *err)
{
    struct cuda *c = state;

    for (size_t i = 0; i < c->prog.nhp; i++)
        if (!(hp[i] > 0.0 && isfinite(hp[i])))
            return err_set(err, ST_RANGE, "hyperparameter %zu is %g; it must be positive", i + 1,
                           hp[i]);
    c->filled = c->factored = false;
    c->moves++;
    return program_set(&c->prog, hp, err);
}

/* Rows. */

struct rows_wanted { char *z; size_t r0, size; enum dev_form form; };

static enum status wanted_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                               struct err *err)
{
    const struct rows_wanted *w = ctx;

    return tiles_rows(c, r0, r1, x, w->z + (r0 - w->r0) * c->M * w->size, w->form, c->M, err);
}

static enum status some_rows(struct cuda *c, size_t r0, size_t r1, char *z, size_t ld, size_t size,
                             struct err *err)
{
    const size_t most = tiles_height(c, c->M * size);
    const enum dev_form form = size == sizeof(double) ? FORM_F64 : FORM_F32;
    char *rows = NULL;
    enum status rc = ST_OK;

    pthread_mutex_lock(&c->lock);
    for (size_t r = r0; rc == ST_OK && r < r1; r += most) {
        const size_t e = r + most < r1 ? r + most : r1, bytes = (e - r) * c->M * size;
        char *to = z + (r - r0) * ld * size;
        rc = tiles_room(c, &c->out, bytes, "a tile of features", err);
        if (rc == ST_OK && ld != c->M && !rows)
            rc = (rows = mem_aligned(most * c->M, size, "a tile of features", err)) ? ST_OK
                                                                                   : ST_NOMEM;
        struct rows_wanted w = { c->out.at, r, size, form };
        if (rc == ST_OK)
            rc = tiles_over(c, r, e, e - r, wanted_tile, &w, NULL, err);
        if (rc == ST_OK)
            rc = device_download(c->dev, rows ? rows : to, c->out.at, bytes, err);
        for (size_t i = 0; rc == ST_OK && rows && i < e - r; i++)
            memcpy(to + i * ld * size, rows + i * c->M * size, c->M * size);
    }
    pthread_mutex_unlock(&c->lock);
    free(rows);
    return rc;
}

static enum status cuda_tile(void *state, size_t r0, size_t r1, float *z, size_t ld,
                             struct err *err)
{
    return some_rows(state, r0, r1, (char *)z, ld, sizeof *z, err);
}

/* Rows in double precision of an operator in single precision, as on the CPU: computed from the
 * original inputs, which the device does not keep. */
static enum status double_tile(struct cuda *c, size_t r0, size_t r1, double *z, size_t ld,
                               struct err *err)
{
    const size_t rows = r1 - r0;
    bool was[KERNEL_MAX_TERMS];
    double *x = mem_aligned(rows * (c->d + c->M), sizeof *x, "a tile of features", err);
    enum status rc = x ? c->src->rows(c->src, r0, r1, x, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = tiles_room(c, &c->out, rows * c->M * sizeof *x, "a tile of features", err);
    if (rc == ST_OK)
        rc = tiles_room(c, &c->left, rows * c->d * sizeof *x, "inputs", err);
    if (rc == ST_OK)
        rc = device_upload(c->dev, STREAM_WORK, c->left.at, x, rows * c->d * sizeof *x, err);
    memcpy(was, c->prog.wide, sizeof was);
    for (size_t i = 0; i < c->prog.nterms; i++)
        c->prog.wide[i] = true;
    c->prog.x64 = true;
    if (rc == ST_OK)
        rc = tiles_rows(c, r0, r1, c->left.at, c->out.at, FORM_F64, c->M, err);
    c->prog.x64 = false;
    memcpy(c->prog.wide, was, sizeof was);
    if (rc == ST_OK)
        rc = device_download(c->dev, x, c->out.at, rows * c->M * sizeof *x, err);
    for (size_t i = 0; rc == ST_OK && i < rows; i++)
        memcpy(z + i * ld, x + i * c->M, c->M * sizeof *x);
    device_wait(c->dev, NULL);
    free(x);
    return rc;
}

static enum status cuda_tile64(void *state, size_t r0, size_t r1, double *z, size_t ld,
                               struct err *err)
{
    struct cuda *c = state;
    const size_t most = tiles_height(c, (c->M + c->d) * sizeof *z);
    enum status rc = ST_OK;

    if (c->opts.precision == PREC_DOUBLE)
        return some_rows(c, r0, r1, (char *)z, ld, sizeof *z, err);
    pthread_mutex_lock(&c->lock);
    const bool kept = c->prog.x64; /* they are already double */
    for (size_t r = r0; rc == ST_OK && r < r1; r += most)
        rc = double_tile(c, r, r + most < r1 ? r + most : r1, z + (r - r0) * ld, ld, err);
    c->prog.x64 = kept;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static enum status run(void *state, struct sweep *s, const struct ctl *ctl, struct err *err)
{
    struct cuda *c = state;

    if (s->k == 0)
        return ST_OK;
    pthread_mutex_lock(&c->lock);
    const enum status rc = tiles_run(c, s, ctl, err);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static enum status cuda_pass(void *state, size_t k, const double *P, double *W,
                             const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .k = k, .up = true, .P = P, .W = W };

    return run(state, &s, ctl, err);
}

static enum status cuda_pass_exact(void *state, size_t k, const double *P, double *W,
                                   const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .k = k, .up = true, .exact = true, .P = P, .W = W };

    return run(state, &s, ctl, err);
}

static enum status cuda_zp(void *state, size_t k, const double *P, double *T,
                           const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .k = k, .up = true, .exact = true, .P = P, .T = T };

    return run(state, &s, ctl, err);
}

static enum status cuda_ztv(void *state, size_t k, const double *V, double *W,
                            const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .k = k, .exact = true, .V = V, .W = W };

    return run(state, &s, ctl, err);
}

static void cuda_range(void *state, size_t r0, size_t r1)
{
    struct cuda *c = state;

    pthread_mutex_lock(&c->lock);
    c->from = r0, c->to = r1;
    c->ranged |= r1 - r0 < c->n;
    pthread_mutex_unlock(&c->lock);
}

static void cuda_unhalve(void *state)
{
    struct cuda *c = state;

    pthread_mutex_lock(&c->lock);
    if (c->half) {
        device_wait(c->dev, NULL);
        device_free(c->dev, c->store);
        c->store = NULL;
        c->half = c->filled = false;
        c->moves++;
    }
    pthread_mutex_unlock(&c->lock);
}

/* Also in single precision the products are computed in double where the device is fast at that:
 * the sums are then those of the features as they are. */
static enum status cuda_gram(void *state, size_t ny, const double *y, double *G, size_t ld,
                             double *zty, const struct ctl *ctl, struct err *err)
{
    struct cuda *c = state;
    struct product p = { .k = y && zty ? ny : 0, .V = y };
    struct room g = { NULL, 0 };

    p.dbl = c->opts.precision == PREC_DOUBLE || c->info.fast_double;
    pthread_mutex_lock(&c->lock);
    enum status rc = tiles_room(c, &g, c->M * c->M * sizeof(double), "the Gram matrix", err);
    p.G = g.at;
    if (rc == ST_OK)
        rc = device_zero(c->dev, g.at, c->M * c->M * sizeof(double), err);
    if (rc == ST_OK)
        rc = tiles_product(c, &p, NULL, p.k ? zty : NULL, ctl, err);
    if (rc == ST_OK)
        rc = device_mirror(c->dev, c->M, g.at, c->M, err);
    for (size_t j = 0, some = ld == c->M ? c->M : 1; rc == ST_OK && j < c->M; j += some)
        rc = device_download(c->dev, G + j * ld, (double *)g.at + j * c->M,
                             some * c->M * sizeof(double), err);
    device_wait(c->dev, NULL);
    device_free(c->dev, g.at);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static enum status cuda_sketch(void *state, size_t L, const double *Omega, double *Y, bool rough,
                               const struct ctl *ctl, struct err *err)
{
    struct cuda *c = state;
    const size_t numbers = c->M * L, bytes = numbers * sizeof(double);
    void *there = NULL;

    pthread_mutex_lock(&c->lock);
    enum status rc = device_alloc(c->dev, &there, 2 * bytes, "a sketch", err);
    double *O = there;
    if (rc == ST_OK)
        rc = device_upload(c->dev, STREAM_WORK, O, Omega, bytes, err);
    if (rc == ST_OK)
        rc = ranges_sketch(c, L, O, O + numbers, rough, ctl, err);
    if (rc == ST_OK)
        rc = device_download(c->dev, Y, O + numbers, bytes, err);
    device_wait(c->dev, NULL);
    device_free(c->dev, there);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Devices. */

static int cuda_probe(char *why, size_t len)
{
    return device_count(why, len) > 0 ? 2 : 0;
}

static enum status cuda_describe(size_t i, struct backend_device *out, struct err *err)
{
    struct device *dev = NULL;
    struct device_info info;
    enum status rc = device_open(i == SIZE_MAX ? chosen_device() : i, &dev, err);

    if (rc == ST_OK)
        rc = device_describe(dev, &info, err);
    if (rc == ST_OK) {
        memcpy(out->name, info.name, sizeof out->name);
        out->memory = info.memory;
        out->free = info.free;
    }
    device_close(dev);
    return rc;
}

static enum status cuda_use(size_t i, struct err *err)
{
    char why[256] = "";
    const size_t n = device_count(why, sizeof why);

    if (n == 0)
        return err_set(err, ST_BACKEND, "%s", why);
    if (i >= n)
        return err_set(err, ST_NOT_FOUND, "there is no CUDA device %zu: the last one is %zu", i,
                       n - 1);
    chosen_set(i);
    return ST_OK;
}

static const struct backend_ops cuda_ops = {
    .abi = BACKEND_ABI,
    .name = "cuda",
    .summary = "an NVIDIA device: fused loops over rows, cuBLAS for products",
    .probe = cuda_probe,
    .serves = cuda_serves,
    .open = cuda_open,
    .close = cuda_close,
    .set = cuda_set,
    .pass = cuda_pass,
    .pass_exact = cuda_pass_exact,
    .unhalve = cuda_unhalve,
    .zp = cuda_zp,
    .ztv = cuda_ztv,
    .range = cuda_range,
    .tile = cuda_tile,
    .tile64 = cuda_tile64,
    .back = gradients_back,
    .gram = cuda_gram,
    .sketch = cuda_sketch,
    .nystrom = ranges_build,
    .factor = factor_make,
    .cg = &cg_ops,
    .dense = &dense_ops,
    .exact = &exact_ops,
    .nets = &affine_ops,
    .devices = device_count,
    .describe = cuda_describe,
    .use = cuda_use,
};

__attribute__((visibility("default"))) const struct backend_ops *gpdesk_backend(void);
const struct backend_ops *gpdesk_backend(void)
{
    return &cuda_ops;
}
