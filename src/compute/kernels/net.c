/* compute/kernels/net.c -- learned feature maps: their blocks of parameters, the map of rows to
 * features, and the way back from derivatives of features to those of parameters
 * (share/doc/methods.md 23.1 to 23.4). */
#include "compute/kernels/net.h"

#include "base/fnv.h"
#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <endian.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const double NORM_EPS = 1e-5;

/* Pixels go to matrix products in chunks of about this many numbers, which caches hold. */
enum { PATCHES = 65536, GROUP_NUMBERS = 1 << 20, GROUP_LEAST = 8 };

/* The layers; returns the most numbers that one of them makes or gives of a row. */
static size_t net_widest(const struct net_shape *s, struct net_layer layer[NET_DEPTH_MOST + 1])
{
    size_t most = 0;

    net_layers(s, layer);
    for (size_t i = 0; i < s->depth; i++)
        most = layer[i].makes > most ? layer[i].makes : most;
    return most;
}

/* The rows of a chunk of a convolution. */
static size_t patch_rows(const struct net_layer *l)
{
    const size_t each = l->places * l->in;

    return each < PATCHES ? PATCHES / each : 1;
}

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

static size_t layer_numbers(const struct net_shape *s, const struct net_layer *l, bool last,
                            size_t at)
{
    const bool norm = s->norm != NET_NONE && !last;

    return at + l->in * l->out + l->out + (norm ? 2 * l->out : 0) +
           (norm && s->norm == NET_BATCH ? 2 * l->out : 0);
}

/* Layer i as far as its sizes go; `from` is the layer before. */
static struct net_layer layer_sizes(const struct net_shape *s, size_t i,
                                    const struct net_layer *from)
{
    const struct net_image *m = &s->image;
    const bool last = i == s->depth, image = m->rows && !last;
    struct net_layer l = { .gain = SIZE_MAX, .shift = SIZE_MAX, .mean = SIZE_MAX, .rstd = SIZE_MAX,
                           .places = 1, .out = last ? s->out : image ? m->channel[i] : s->width };

    l.reads = i ? from->gives : s->inputs;
    l.in = l.reads;
    l.before = i ? from->before + from->makes : 0;
    if (image) {
        l.rows = m->rows >> i;
        l.cols = m->cols >> i;
        l.places = l.rows * l.cols;
        l.in = 9 * (i ? m->channel[i - 1] : m->planes);
    }
    l.makes = l.places * l.out;
    l.gives = image ? (l.rows / 2) * (l.cols / 2) * l.out : l.makes;
    return l;
}

size_t net_layers(const struct net_shape *s, struct net_layer layer[NET_DEPTH_MOST + 1])
{
    size_t at = 0;

    for (size_t i = 0; i <= s->depth; i++) {
        struct net_layer *l = &layer[i];
        const bool last = i == s->depth;
        *l = layer_sizes(s, i, i ? l - 1 : NULL);
        l->w = at;
        l->b = at + l->in * l->out;
        if (s->norm != NET_NONE && !last) {
            l->gain = l->b + l->out;
            l->shift = l->gain + l->out;
        }
        if (s->norm == NET_BATCH && !last) {
            l->mean = l->shift + l->out;
            l->rstd = l->mean + l->out;
        }
        at = layer_numbers(s, l, last, at);
    }
    return at;
}

bool net_same_shape(const struct net_shape *a, const struct net_shape *b)
{
    return a->inputs == b->inputs && a->width == b->width && a->depth == b->depth &&
           a->out == b->out && a->norm == b->norm && a->unit_rows == b->unit_rows &&
           memcmp(&a->image, &b->image, sizeof a->image) == 0;
}

size_t net_hat_size(const struct net_shape *s, size_t n)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    net_layers(s, layer);
    return layer[s->depth].before * n;
}

size_t net_rstd_size(const struct net_shape *s, size_t n)
{
    return (s->depth + 1) * n;
}

size_t net_work_size(const struct net_shape *s, size_t n)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    size_t all = 3 * net_widest(s, layer) * n + n, most = 0;

    for (size_t i = 0; i < s->depth; i++)
        if (layer[i].rows) {
            const size_t room = patch_rows(&layer[i]) * layer[i].places * layer[i].in;
            most = room > most ? room : most;
        }
    return all + most;
}

size_t net_group(const struct net_shape *s)
{
    const size_t each = net_hat_size(s, 1), rows = GROUP_NUMBERS / each;

    return s->image.rows == 0 || rows > NET_GROUP ? NET_GROUP
           : rows < GROUP_LEAST                   ? GROUP_LEAST
                                                  : rows;
}

/* The table of blocks.  Tunings add to it on the worker thread while the main thread looks. */

static struct kept { struct net net; struct kept *next; } *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Numbers before the weights in the bytes of a block; and those of an image behind them, where the
 * width is 0. */
enum { HEAD = 6, IMAGE = 3 + NET_BLOCKS_MOST };

static size_t head_bytes(const struct net_shape *s)
{
    return (s->image.rows ? HEAD + IMAGE : HEAD) * sizeof(uint32_t);
}

static void write_head(const struct net_shape *s,
                       unsigned char out[(HEAD + IMAGE) * sizeof(uint32_t)])
{
    const struct net_image *m = &s->image;
    size_t v[HEAD + IMAGE] = { s->inputs, s->width, s->depth, s->out, s->norm, s->unit_rows,
                               m->rows, m->cols, m->planes };

    memcpy(v + HEAD + 3, m->channel, sizeof m->channel);
    for (size_t i = 0; i < head_bytes(s) / sizeof(uint32_t); i++) {
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
    unsigned char head[(HEAD + IMAGE) * sizeof(uint32_t)], part[256 * sizeof(uint32_t)];
    uint64_t h = FNV_START;

    write_head(s, head);
    h = fnv_bytes(h, head, head_bytes(s));
    for (size_t i = 0; i < n; i += 256) {
        const size_t m = n - i < 256 ? n - i : 256;
        write_weights(m, w + i, part);
        h = fnv_bytes(h, part, m * sizeof(uint32_t));
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
    return head_bytes(&net->shape) + net->count * sizeof(uint32_t);
}

void net_write(const struct net *net, unsigned char *out)
{
    write_head(&net->shape, out);
    write_weights(net->count, net->w, out + head_bytes(&net->shape));
}

static bool sound_image(const struct net_shape *s)
{
    const struct net_image *m = &s->image;
    bool good = m->rows > 0 && m->rows <= NET_SIDE_MOST && m->cols <= NET_SIDE_MOST &&
                m->planes > 0 && m->planes <= NET_SIDE_MOST && s->depth <= NET_BLOCKS_MOST &&
                s->inputs == m->rows * m->cols * m->planes && m->rows >> s->depth > 0 &&
                m->cols >> s->depth > 0;

    for (size_t i = 0; good && i < NET_BLOCKS_MOST; i++)
        good = i < s->depth ? m->channel[i] > 0 && m->channel[i] <= NET_CHANNELS_MOST
                            : m->channel[i] == 0;
    return good;
}

static bool sound(const struct net_shape *s)
{
    return s->inputs > 0 && s->width <= NET_WIDTH_MOST && s->depth > 0 &&
           s->depth <= NET_DEPTH_MOST && s->out > 0 && s->out <= NET_OUT_MOST &&
           s->norm <= NET_BATCH && (s->width > 0 || sound_image(s));
}

static bool read_head(const unsigned char *bytes, size_t n, struct net_shape *s)
{
    uint32_t v[HEAD + IMAGE] = { 0 };
    const size_t all = n < sizeof v ? HEAD : HEAD + IMAGE;

    if (n < HEAD * sizeof *v)
        return false;
    memcpy(v, bytes, all * sizeof *v);
    for (size_t i = 0; i < all; i++)
        v[i] = le32toh(v[i]);
    *s = (struct net_shape){ v[0], v[1], v[2], v[3], (enum net_norm)v[4], v[5] != 0, { 0 } };
    if (s->width == 0)
        s->image = (struct net_image){ v[6], v[7], v[8], { v[9], v[10], v[11], v[12] } };
    return sound(s);
}

size_t net_length(const unsigned char *bytes, size_t n)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    struct net_shape s;

    if (!read_head(bytes, n, &s))
        return n;
    const size_t all = head_bytes(&s) + net_layers(&s, layer) * sizeof(uint32_t);
    return all < n ? all : n;
}

const struct net *net_read(const unsigned char *bytes, size_t n, uint64_t sum, struct err *err)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const struct net *net = NULL;
    struct net_shape s;
    const bool whole = read_head(bytes, n, &s);
    const size_t head = whole ? head_bytes(&s) : 0;

    if (!whole || n < head || net_layers(&s, layer) != (n - head) / sizeof(uint32_t) ||
        fnv_bytes(FNV_START, bytes, n) != sum) {
        err_named(err, ST_FORMAT, "weights",
                  "the weights %016llx of a learned map are damaged: their checksum is another",
                  (unsigned long long)sum);
        err_hint(err, "tune, then fit");
        return NULL;
    }
    const size_t count = (n - head) / sizeof(uint32_t);
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
    const size_t one = net_widest(s, layer) * n;
    const struct net_layer *l = &layer[i], *below = &layer[i - (i > 0)];
    float *z = p->hat + l->before * n, *before = p->hat + below->before * n;

    if (i > 0) {
        net_centre(below, w, n, before);
        net_give(below, w, n, before, p->work);
    }
    net_linear(l, w, n, i ? p->work : p->x, z, p->work + 3 * one + n);
    memset(sums, 0, 2 * l->out * sizeof *sums);
    for (size_t r = 0; r < n * l->places; r++, z += l->out)
        for (size_t j = 0; j < l->out; j++) {
            sums[j] += (double)z[j];
            sums[l->out + j] += (double)z[j] * (double)z[j];
        }
}

void net_batch_set(const struct net_shape *s, size_t i, size_t n, const double *sums, float *w)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    net_layers(s, layer);
    const struct net_layer *l = &layer[i];
    for (size_t j = 0; j < l->out; j++) {
        const double all = (double)n * (double)l->places, mean = sums[j] / all;
        const double var = fmax(sums[l->out + j] / all - mean * mean, 0.0);
        w[l->mean + j] = (float)mean;
        w[l->rstd + j] = (float)(1.0 / sqrt(var + NORM_EPS));
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
    const size_t n = t->n, one = net_widest(s, layer) * n;
    const struct net_layer *below = &layer[t->i - (t->i > 0)];
    const float *hat = t->p->hat + below->before * n, *gain = w + below->gain;
    const float *shift = w + below->shift;
    float *h = t->p->work, *dh = below->rows ? h + one : t->e, *e = t->e;

    if (t->i)
        net_give(below, w, n, hat, h);
    net_linear_back(&layer[t->i], w, n, t->i ? h : t->p->x, t->dz, grad, t->i ? dh : NULL,
                    h + 3 * one + n);
    if (t->i == 0)
        return;
    if (below->rows)
        net_pool_back(below, w, n, hat, dh, e);
    float *dgain = grad + below->gain, *dshift = grad + below->shift;
    memset(dgain, 0, below->out * sizeof *dgain);
    memset(dshift, 0, below->out * sizeof *dshift);
    for (size_t r = 0; r < n * below->places; r++, e += below->out, hat += below->out)
        for (size_t j = 0; j < below->out; j++) {
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
    float *e = t->e;

    net_layers(s, layer);
    const struct net_layer *l = &layer[t->i - 1];
    const float *hat = t->p->hat + l->before * t->n;
    for (size_t r = 0; r < t->n * l->places; r++, e += l->out, hat += l->out)
        for (size_t j = 0; j < l->out; j++) {
            const double gain = (double)w[l->gain + j] / (double)l->places;
            e[j] = (e[j] - (float)(gain * grad[l->shift + j]) -
                    hat[j] * (float)(gain * grad[l->gain + j])) * w[l->rstd + j];
        }
}

/* Rows. */

enum status net_rows(const struct net *net, size_t n, const double *x, size_t stride, double *f,
                     size_t ld, struct err *err)
{
    const struct net_shape *s = &net->shape;
    const size_t group = net_group(s), most = n < group ? n : group;
    const size_t all = most * (s->inputs + s->out) + net_work_size(s, most);
    float *work = mem_aligned(all, sizeof *work, "features of rows", err);
    float *in = work, *out = work + most * s->inputs;

    if (!work)
        return ST_NOMEM;
    for (size_t r0 = 0; r0 < n; r0 += most) {
        const size_t m = n - r0 < most ? n - r0 : most;
        for (size_t r = 0; r < m; r++)
            for (size_t j = 0; j < s->inputs; j++)
                in[r * s->inputs + j] = (float)x[(r0 + r) * stride + j];
        net_forward(s, net->w, m,
                    &(struct net_pass){ .x = in, .f = out, .work = out + most * s->out });
        for (size_t r = 0; r < m; r++)
            for (size_t j = 0; j < s->out; j++)
                f[(r0 + r) * ld + j] = out[r * s->out + j];
    }
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
