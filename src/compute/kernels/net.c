/* compute/kernels/net.c -- learned feature maps: their blocks of parameters, the map of rows to
 * features, and the way back from derivatives of features to those of parameters
 * (share/doc/methods.md 23.1 to 23.4). */
#include "compute/kernels/net.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <endian.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const double NORM_EPS = 1e-5;

#define REAL float
#define WORD int32_t
#define NET(name) net_##name
#define NET_FORWARD net_forward
#define NET_BACK net_back
#define PASS net_pass
#define GEMM blas_sgemm1
#include "compute/kernels/net_real.h"
#undef REAL
#undef WORD
#undef NET
#undef NET_FORWARD
#undef NET_BACK
#undef PASS
#undef GEMM
#define REAL double
#define WORD int64_t
#define NET(name) net_##name##64
#define NET_FORWARD net_forward64_for_tests
#define NET_BACK net_back64_for_tests
#define PASS net_pass64
#define GEMM blas_dgemm1
#include "compute/kernels/net_real.h"

size_t net_layers(const struct net_shape *s, struct net_layer layer[NET_DEPTH_MOST + 1])
{
    size_t at = 0;

    for (size_t i = 0; i <= s->depth; i++) {
        struct net_layer *l = &layer[i];
        const bool last = i == s->depth;
        *l = (struct net_layer){ .in = i ? s->width : s->inputs,
                                 .out = last ? s->out : s->width,
                                 .gain = SIZE_MAX, .shift = SIZE_MAX, .w = at,
                                 .mean = SIZE_MAX, .rstd = SIZE_MAX };
        l->b = at + l->in * l->out;
        at = l->b + l->out;
        if (s->norm != NET_NONE && !last) {
            l->gain = at;
            l->shift = at + l->out;
            at += 2 * l->out;
        }
        if (s->norm == NET_BATCH && !last) {
            l->mean = at;
            l->rstd = at + l->out;
            at += 2 * l->out;
        }
    }
    return at;
}

bool net_same_shape(const struct net_shape *a, const struct net_shape *b)
{
    return a->inputs == b->inputs && a->width == b->width && a->depth == b->depth &&
           a->out == b->out && a->norm == b->norm && a->unit_rows == b->unit_rows;
}

size_t net_hat_size(const struct net_shape *s, size_t n)
{
    return s->depth * s->width * n;
}

size_t net_rstd_size(const struct net_shape *s, size_t n)
{
    return (s->depth + 1) * n;
}

size_t net_work_size(const struct net_shape *s, size_t n)
{
    return 3 * s->width * n + n;
}

/* The table of blocks.  Tunings add to it on the worker thread while the main thread looks. */

static struct kept { struct net net; struct kept *next; } *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { HEAD = 6 }; /* numbers before the weights in the bytes of a block */

static uint64_t sum_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++) /* Fowler, Noll & Vo, 1a */
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void write_head(const struct net_shape *s, unsigned char out[HEAD * sizeof(uint32_t)])
{
    const size_t v[HEAD] = { s->inputs, s->width, s->depth, s->out, s->norm, s->unit_rows };

    for (size_t i = 0; i < HEAD; i++) {
        const uint32_t u = htole32((uint32_t)v[i]);
        memcpy(out + i * sizeof u, &u, sizeof u);
    }
}

static void write_weights(size_t n, const float *w, unsigned char *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, w + i, sizeof u);
        u = htole32(u);
        memcpy(out + i * sizeof u, &u, sizeof u);
    }
}

/* The checksum of a block is that of its bytes. */
static uint64_t sum_of(const struct net_shape *s, size_t n, const float *w)
{
    unsigned char head[HEAD * sizeof(uint32_t)], part[256 * sizeof(uint32_t)];
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    write_head(s, head);
    h = sum_bytes(h, head, sizeof head);
    for (size_t i = 0; i < n; i += 256) {
        const size_t m = n - i < 256 ? n - i : 256;
        write_weights(m, w + i, part);
        h = sum_bytes(h, part, m * sizeof(uint32_t));
    }
    return h;
}

static const struct net *find(uint64_t sum)
{
    for (const struct kept *k = blocks; k; k = k->next)
        if (k->net.sum == sum)
            return &k->net;
    return NULL;
}

const struct net *net_find(uint64_t sum)
{
    pthread_mutex_lock(&lock);
    const struct net *net = find(sum);
    pthread_mutex_unlock(&lock);
    return net;
}

const struct net *net_keep(const struct net_shape *s, const float *w, struct err *err)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t n = net_layers(s, layer);
    const uint64_t sum = sum_of(s, n, w);

    pthread_mutex_lock(&lock);
    const struct net *net = find(sum);
    struct kept *k = net ? NULL : mem_calloc(1, sizeof *k, "a learned map", err);
    float *own = k ? mem_aligned(n, sizeof *own, "a learned map", err) : NULL;
    if (own) {
        memcpy(own, w, n * sizeof *own);
        *k = (struct kept){ { *s, n, sum, own }, blocks };
        blocks = k;
        net = &k->net;
    } else {
        free(k);
    }
    pthread_mutex_unlock(&lock);
    return net;
}

size_t net_bytes(const struct net *net)
{
    return (HEAD + net->count) * sizeof(uint32_t);
}

void net_write(const struct net *net, unsigned char *out)
{
    write_head(&net->shape, out);
    write_weights(net->count, net->w, out + HEAD * sizeof(uint32_t));
}

static bool sound(const struct net_shape *s)
{
    return s->inputs > 0 && s->width > 0 && s->width <= NET_WIDTH_MOST && s->depth > 0 &&
           s->depth <= NET_DEPTH_MOST && s->out > 0 && s->out <= NET_OUT_MOST &&
           s->norm <= NET_BATCH;
}

static bool read_head(const unsigned char *bytes, size_t n, struct net_shape *s)
{
    uint32_t v[HEAD];

    if (n < sizeof v)
        return false;
    memcpy(v, bytes, sizeof v);
    for (size_t i = 0; i < HEAD; i++)
        v[i] = le32toh(v[i]);
    *s = (struct net_shape){ v[0], v[1], v[2], v[3], (enum net_norm)v[4], v[5] != 0 };
    return sound(s);
}

size_t net_length(const unsigned char *bytes, size_t n)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    struct net_shape s;

    if (!read_head(bytes, n, &s))
        return n;
    const size_t all = (HEAD + net_layers(&s, layer)) * sizeof(uint32_t);
    return all < n ? all : n;
}

const struct net *net_read(const unsigned char *bytes, size_t n, uint64_t sum, struct err *err)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t head = HEAD * sizeof(uint32_t);
    const struct net *net = NULL;
    struct net_shape s;

    if (!read_head(bytes, n, &s) || net_layers(&s, layer) != n / sizeof(uint32_t) - HEAD ||
        sum_bytes(UINT64_C(0xcbf29ce484222325), bytes, n) != sum) {
        err_named(err, ST_FORMAT, "weights",
                  "the weights %016llx of a learned map are damaged: their checksum is another",
                  (unsigned long long)sum);
        err_hint(err, "tune, then fit");
        return NULL;
    }
    const size_t count = n / sizeof(uint32_t) - HEAD;
    float *w = mem_aligned(count, sizeof *w, "a learned map", err);
    for (size_t i = 0; w && i < count; i++) {
        uint32_t u;
        memcpy(&u, bytes + head + i * sizeof u, sizeof u);
        u = le32toh(u);
        memcpy(w + i, &u, sizeof u);
    }
    if (w)
        net = net_keep(&s, w, err);
    free(w);
    return net;
}

/* Batch norms. */

void net_batch_sums(const struct net_shape *s, const float *w, size_t i, size_t n,
                    const struct net_pass *p, double *sums)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t one = s->width * n;
    float *z = p->hat + i * one, *before = p->hat + (i - (i > 0)) * one;

    net_layers(s, layer);
    if (i > 0) {
        net_centre(&layer[i - 1], w, n, before);
        net_activate(&layer[i - 1], w, n, before, p->work);
    }
    net_linear(&layer[i], w, n, i ? p->work : p->x, z);
    memset(sums, 0, 2 * s->width * sizeof *sums);
    for (size_t r = 0; r < n; r++, z += s->width)
        for (size_t j = 0; j < s->width; j++) {
            sums[j] += (double)z[j];
            sums[s->width + j] += (double)z[j] * (double)z[j];
        }
}

void net_batch_set(const struct net_shape *s, size_t i, size_t n, const double *sums, float *w)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    net_layers(s, layer);
    for (size_t j = 0; j < s->width; j++) {
        const double mean = sums[j] / (double)n;
        const double var = fmax(sums[s->width + j] / (double)n - mean * mean, 0.0);
        w[layer[i].mean + j] = (float)mean;
        w[layer[i].rstd + j] = (float)(1.0 / sqrt(var + NORM_EPS));
    }
}

void net_batch_unit(const struct net_shape *s, size_t n, const struct net_pass *p, float *df)
{
    net_unit_back(s, n, p, df);
}

void net_batch_back(const struct net_shape *s, const float *w, const struct net_step *t,
                    float *grad)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t n = t->n, width = s->width;

    net_layers(s, layer);
    const struct net_layer *l = &layer[t->i], *below = &layer[t->i - (t->i > 0)];
    const float *hat = t->i ? t->p->hat + (t->i - 1) * width * n : NULL;
    if (t->i)
        net_activate(below, w, n, hat, t->p->work);
    net_linear_back(l, n, t->i ? t->p->work : t->p->x, t->dz, grad);
    if (t->i == 0)
        return;
    const float *gain = w + below->gain, *shift = w + below->shift;
    float *dgain = grad + below->gain, *dshift = grad + below->shift, *e = t->e;
    blas_sgemm1(false, false, l->in, n, l->out, 1, w + l->w, l->in, t->dz, l->out, 0, e, l->in);
    memset(dgain, 0, width * sizeof *dgain);
    memset(dshift, 0, width * sizeof *dshift);
    for (size_t r = 0; r < n; r++, e += width, hat += width)
        for (size_t j = 0; j < width; j++) {
            const float g = gain[j] * hat[j] + shift[j] > 0 ? e[j] : 0;
            dgain[j] += g * hat[j];
            dshift[j] += g;
            e[j] = g * gain[j];
        }
}

void net_batch_centre(const struct net_shape *s, const float *w, const struct net_step *t,
                      const double *grad)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const float *hat = t->p->hat + (t->i - 1) * s->width * t->n;
    float *e = t->e;

    net_layers(s, layer);
    const struct net_layer *l = &layer[t->i - 1];
    for (size_t r = 0; r < t->n; r++, e += s->width, hat += s->width)
        for (size_t j = 0; j < s->width; j++) {
            const double gain = (double)w[l->gain + j];
            e[j] = (e[j] - (float)(gain * grad[l->shift + j]) -
                    hat[j] * (float)(gain * grad[l->gain + j])) * w[l->rstd + j];
        }
}

/* Rows. */

enum status net_rows(const struct net *net, size_t n, const double *x, size_t stride, double *f,
                     size_t ld, struct err *err)
{
    const struct net_shape *s = &net->shape;
    const size_t all = n * (s->inputs + s->out) + net_work_size(s, n);
    float *work = mem_aligned(all, sizeof *work, "features of rows", err);
    float *in = work, *out = work + n * s->inputs;

    if (!work)
        return ST_NOMEM;
    for (size_t r = 0; r < n; r++)
        for (size_t j = 0; j < s->inputs; j++)
            in[r * s->inputs + j] = (float)x[r * stride + j];
    net_forward(s, net->w, n, &(struct net_pass){ .x = in, .f = out, .work = out + n * s->out });
    for (size_t r = 0; r < n; r++)
        for (size_t j = 0; j < s->out; j++)
            f[r * ld + j] = out[r * s->out + j];
    free(work);
    return ST_OK;
}

double net_value(const struct net *net, const double *x, const double *y)
{
    const size_t d = net->shape.inputs, q = net->shape.out;
    double *both = mem_aligned(2 * (d + q), sizeof *both, "a value of a learned kernel", NULL);
    double *f = both + 2 * d, sum = 0.0;

    if (!both)
        return NAN;
    memcpy(both, x, d * sizeof *both);
    memcpy(both + d, y, d * sizeof *both);
    if (net_rows(net, 2, both, d, f, q, NULL) != ST_OK)
        sum = NAN;
    for (size_t j = 0; !isnan(sum) && j < q; j++)
        sum += f[j] * f[q + j];
    free(both);
    return sum;
}
