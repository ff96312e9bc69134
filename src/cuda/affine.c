/* cuda/affine.c -- learned maps on the device (struct backend_nets): the weights stay there, rows
 * go through them in chunks, each layer as one product of matrices and the kernels of affine.h. */
#include "base/mem.h"
#include "cuda/backend_impl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const size_t work_most = (size_t)256 << 20; /* bytes of a chunk of rows, with its work */
static const double NORM_EPS = 1e-5;               /* as in kernels/net.c */
enum { CHUNK_MOST = 8192 };

/* One piece of memory for `most` rows each. */
enum { AT_IN, AT_A, AT_B, AT_PATCHES, AT_OUT, PLACES };
struct affine {
    struct device *dev;
    struct net_shape shape;
    struct net_layer layer[NET_DEPTH_MOST + 1];
    float *w, *at[PLACES];
    size_t each[PLACES], most; /* numbers of a row; rows of a chunk */
    pthread_mutex_t lock;
};

static void affine_close(void *state)
{
    struct affine *f = state;

    if (f->dev) {
        device_wait(f->dev, NULL);
        device_free(f->dev, f->w);
        for (int i = 0; i < PLACES; i++)
            device_free(f->dev, f->at[i]);
        device_close(f->dev);
    }
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* The rows of a chunk, and memory for them. */
static enum status lay_out(struct affine *f, struct err *err)
{
    struct device_info info;
    enum status rc = device_describe(f->dev, &info, err);
    size_t all = 0;

    f->each[AT_IN] = f->shape.inputs;
    f->each[AT_OUT] = f->shape.out;
    for (size_t i = 0; i < f->shape.depth; i++) {
        const struct net_layer *l = &f->layer[i];
        const size_t pixels = l->rows ? l->places * l->in : 0;
        f->each[AT_A] = l->makes > f->each[AT_A] ? l->makes : f->each[AT_A];
        f->each[AT_PATCHES] = pixels > f->each[AT_PATCHES] ? pixels : f->each[AT_PATCHES];
    }
    f->each[AT_B] = f->each[AT_A];
    for (int i = 0; i < PLACES; i++)
        all += f->each[i] * sizeof(float);
    if (rc != ST_OK)
        return rc;
    const size_t room = info.free / 8 < work_most ? info.free / 8 : work_most;
    f->most = room / all < 1 ? 1 : room / all < CHUNK_MOST ? room / all : CHUNK_MOST;
    for (int i = 0; rc == ST_OK && i < PLACES; i++) {
        void *to = NULL;
        if (f->each[i])
            rc = device_alloc(f->dev, &to, f->most * f->each[i] * sizeof(float),
                              "rows of a learned map", err);
        f->at[i] = to;
    }
    return rc;
}

static void *affine_open(const struct backend_net *net, struct err *err)
{
    struct affine *f = mem_calloc(1, sizeof *f, "a learned map", err);
    void *w = NULL;

    if (!f)
        return NULL;
    f->shape = *net->shape;
    memcpy(f->layer, net->layer, (net->shape->depth + 1) * sizeof *net->layer);
    pthread_mutex_init(&f->lock, NULL);
    enum status rc = device_open(chosen_device(), &f->dev, err);
    if (rc == ST_OK)
        rc = device_alloc(f->dev, &w, net->count * sizeof(float), "a learned map", err);
    f->w = w;
    if (rc == ST_OK)
        rc = device_upload(f->dev, STREAM_WORK, w, net->w, net->count * sizeof(float), err);
    if (rc == ST_OK)
        rc = lay_out(f, err);
    if (rc == ST_OK)
        rc = device_wait(f->dev, err);
    if (rc == ST_OK)
        return f;
    affine_close(f);
    return NULL;
}

static const float *part(const struct affine *f, size_t at)
{
    return at == SIZE_MAX ? NULL : f->w + at;
}

/* Layer i of m rows, which are at *from; then they are there as what it gives on. */
static enum status layer(struct affine *f, size_t i, size_t m, float **from, struct err *err)
{
    const struct net_layer *l = &f->layer[i];
    const bool last = i == f->shape.depth, image = l->rows > 0;
    float *const other = *from == f->at[AT_A] ? f->at[AT_B] : f->at[AT_A];
    float *const to = last ? f->at[AT_OUT] : other, *read = *from;
    struct affine_args a = { .n = m, .out = (int)l->out, .places = (int)l->places,
                             .rows = (int)l->rows, .cols = (int)l->cols, .planes = (int)(l->in / 9),
                             .standardise = !last && f->shape.norm == NET_LAYER,
                             .activate = !last && !image, .unit = last && f->shape.unit_rows,
                             .eps = NORM_EPS, .b = f->w + l->b, .gain = part(f, l->gain),
                             .shift = part(f, l->shift), .mean = part(f, l->mean),
                             .rstd = part(f, l->rstd), .x = *from, .to = f->at[AT_PATCHES] };
    enum status rc = image ? device_affine(f->dev, AFFINE_PATCHES, &a, err) : ST_OK;

    read = image ? f->at[AT_PATCHES] : read;
    if (rc == ST_OK)
        rc = device_sgemm(f->dev, true, false, l->out, m * l->places, l->in, f->w + l->w, l->in,
                          read, l->in, 0.0F, to, l->out, err);
    a.to = to;
    if (rc == ST_OK)
        rc = device_affine(f->dev, AFFINE_ROWS, &a, err);
    *from = to;
    if (rc != ST_OK || !image)
        return rc;
    a.x = to;
    a.to = to == f->at[AT_A] ? f->at[AT_B] : f->at[AT_A];
    *from = a.to;
    return device_affine(f->dev, AFFINE_POOL, &a, err);
}

static enum status affine_rows(void *state, size_t n, const float *x, float *to, struct err *err)
{
    struct affine *f = state;
    const size_t d = f->shape.inputs, q = f->shape.out;
    enum status rc = ST_OK;

    pthread_mutex_lock(&f->lock);
    for (size_t r = 0; rc == ST_OK && r < n; r += f->most) {
        const size_t m = n - r < f->most ? n - r : f->most;
        float *at = f->at[AT_IN];
        rc = device_upload(f->dev, STREAM_WORK, at, x + r * d, m * d * sizeof *x, err);
        for (size_t i = 0; rc == ST_OK && i <= f->shape.depth; i++)
            rc = layer(f, i, m, &at, err);
        if (rc == ST_OK)
            rc = device_download(f->dev, to + r * q, at, m * q * sizeof *to, err);
    }
    if (rc != ST_OK)
        device_wait(f->dev, NULL); /* the rows are the caller's again */
    pthread_mutex_unlock(&f->lock);
    return rc;
}

const struct backend_nets affine_ops = { affine_open, affine_close, affine_rows };
