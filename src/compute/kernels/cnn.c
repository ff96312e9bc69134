/* compute/kernels/cnn.c -- a kernel of images whose features are learned: phi(x).phi(y), where phi
 * is a convolutional network (net.h; share/doc/methods.md 23.13).  A tuning learns its weights; its
 * features are the outputs of the net, which the operator makes of each row (features/learned.c).
 *
 * shape= and channels= are packed into one number each: sides and planes of at most NET_SIDE_MOST,
 * rows first, 4096 apart; channels of at most NET_CHANNELS_MOST, the first layer's first, 1024
 * apart.  The shape 0 is a square of one number a pixel. */
#include "base/buf.h"
#include "compute/kernels/kernels.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SIDES = 4096.0, CHANNELS = 1024.0;

/* Parses at most `most` whole numbers from 1 to `limit` between separators; returns how many. */
static size_t read_list(const char **at, char between, size_t most, size_t limit, size_t *v)
{
    const char *p = *at;
    size_t n = 0;

    while (n < most && isdigit((unsigned char)*p)) {
        char *end;
        v[n] = strtoul(p, &end, 10);
        if (v[n] == 0 || v[n] > limit)
            return 0;
        p = end;
        n++;
        if (*p != between)
            break;
        p++;
    }
    *at = p;
    return n > 0 && p[-1] != between ? n : 0;
}

static double pack(size_t n, const size_t *v, double apart)
{
    double sum = 0.0;

    for (size_t i = n; i-- > 0;)
        sum = sum * apart + (double)v[i];
    return sum;
}

static size_t unpack(double packed, double apart, size_t most, size_t *v)
{
    size_t n = 0;

    for (; n < most && packed > 0.0; n++) {
        v[n] = (size_t)fmod(packed, apart);
        packed = floor(packed / apart);
    }
    return n;
}

static bool shape_read(const char **at, double *v)
{
    static const char square[] = "square";
    size_t side[3] = { 0, 0, 1 };

    if (strncmp(*at, square, sizeof square - 1) == 0) {
        *at += sizeof square - 1;
        return *v = 0.0, true;
    }
    const bool good = read_list(at, 'x', 3, NET_SIDE_MOST, side) >= 2;
    *v = pack(3, side, SIDES);
    return good;
}

static void shape_write(double v, struct buf *out)
{
    size_t side[3] = { 0, 0, 0 };

    if (unpack(v, SIDES, 3, side) == 0) {
        buf_puts(out, "square");
        return;
    }
    buf_printf(out, "%zux%zu", side[0], side[1]);
    if (side[2] > 1)
        buf_printf(out, "x%zu", side[2]);
}

static bool channels_read(const char **at, double *v)
{
    size_t channel[NET_BLOCKS_MOST];
    const size_t n = read_list(at, ':', NET_BLOCKS_MOST, NET_CHANNELS_MOST, channel);

    *v = pack(n, channel, CHANNELS);
    return n > 0 && **at != ':';
}

static void channels_write(double v, struct buf *out)
{
    size_t channel[NET_BLOCKS_MOST];
    const size_t n = unpack(v, CHANNELS, NET_BLOCKS_MOST, channel);

    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%zu", i ? ":" : "", channel[i]);
}

static const struct kparam_text shape_text = { shape_read, shape_write };
static const struct kparam_text channels_text = { channels_read, channels_write };

static const struct kparam cnn_params[] = {
    { "shape", 0.0, 1e15, 0.0, "rows x columns of the image, 28x28, or x numbers of a pixel, "
      "28x28x3; square: as many rows as columns", NULL, NULL, &shape_text },
    { "channels", 1.0, 1e15, 16.0 + 32.0 * 1024.0, "channels of each convolution, 1 to 512, at "
      "most four: 16:32", NULL, NULL, &channels_text },
    { "out", 1.0, NET_OUT_MOST, 64.0, "features, 1 to 1024", kernel_learned_whole, NULL, NULL },
    { "norm", 0.0, 2.0, 1.0, "layer, batch or none: of each convolution", NULL,
      kernel_learned_norms, NULL },
    { "rows", 0.0, 1.0, 0.0, "plain or unit: features of length 1", NULL,
      kernel_learned_lengths, NULL },
    { 0 },
};

static struct net_shape cnn_shape(const double *p, size_t inputs)
{
    struct net_shape s = { .inputs = inputs, .out = (size_t)p[2], .norm = (enum net_norm)p[3],
                           .unit_rows = p[4] != 0.0 };
    size_t side[3] = { 0, 0, 1 };

    if (unpack(p[0], SIDES, 3, side) == 0)
        side[0] = side[1] = (size_t)round(sqrt((double)inputs));
    s.image = (struct net_image){ .rows = side[0], .cols = side[1], .planes = side[2] };
    s.depth = unpack(p[1], CHANNELS, NET_BLOCKS_MOST, s.image.channel);
    return s;
}

/* The most nearly square image of so many pixels. */
static size_t nearly_square(size_t inputs)
{
    size_t rows = (size_t)sqrt((double)inputs);

    while (rows > 1 && inputs % rows != 0)
        rows--;
    return rows ? rows : 1;
}

static enum status cnn_fits(const double *p, size_t inputs, struct err *err)
{
    const struct net_shape s = cnn_shape(p, inputs);
    const struct net_image *m = &s.image;
    const size_t all = m->rows * m->cols * m->planes, least = (size_t)1 << s.depth;

    if (all != inputs) {
        const size_t rows = nearly_square(inputs);
        if (p[0] == 0.0)
            err_named(err, ST_SHAPE, "image", "cnn reads a square image, and %zu inputs are none: "
                      "shape= says how many rows and columns it has", inputs);
        else
            err_named(err, ST_SHAPE, "image", "cnn reads images of %zu x %zu x %zu = %zu numbers, "
                      "and the data have %zu inputs", m->rows, m->cols, m->planes, all, inputs);
        err_hint(err, "kernel cnn(shape=%zux%zu)  |  kernel mlp  |  cols NAME role=skip", rows,
                 inputs / rows);
        return ST_SHAPE;
    }
    if (m->rows < least || m->cols < least) {
        err_named(err, ST_SHAPE, "image", "cnn halves an image of %zu x %zu %zu times, which takes "
                  "at least %zu x %zu", m->rows, m->cols, s.depth, least, least);
        err_hint(err, m->rows < 2 || m->cols < 2 ? "kernel mlp" : "kernel cnn(channels=16)  (one "
                 "convolution)  |  kernel mlp");
        return ST_SHAPE;
    }
    return ST_OK;
}

static const struct hparam none[] = { { 0 } };
static const char *const examples[] = { "cnn(shape=28x28,channels=16:32,out=64)",
                                        "cnn(shape=32x32x3,channels=16:32:64)", NULL };

const struct kernel_ops kernel_cnn = {
    .name = "cnn",
    .title = "Learned features of images",
    .formula = "phi(x).phi(y), phi a convolutional network learned by tune",
    .cite = "LeCun et al. 1998; Wilson et al. 2016; methods.md 23.13",
    .params = cnn_params,
    .hparams = none,
    .learns = true,
    .shape = cnn_shape,
    .fits = cnn_fits,
    .examples = examples,
    .recipe = kernel_learned_recipe,
};
