/* tests/compute/check_cnn.c -- maps of images: their features against those of the definition,
 * pixel by pixel, and by hand; what is kept of many rows; expressions that are read, printed and
 * refused.  (Gradients: check_learn.c, check_learn_maps.c.) */
#include "compute/kernels/net.h"
#include "compute/rng.h"
#include "compute/tuners/learn_maps.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *room(size_t n)
{
    double *v = calloc(n + 1, sizeof *v);

    ck_assert_ptr_nonnull(v);
    return v;
}

static double normal(uint64_t stream, size_t i)
{
    return rng_normal(3, rng_stream(RNG_TEST, stream), i);
}

/* A pixel of an image of `planes` numbers each; 0 outside. */
static double pixel(const double *h, size_t rows, size_t cols, size_t planes, long y, long x,
                    size_t c)
{
    if (y < 0 || x < 0 || y >= (long)rows || x >= (long)cols)
        return 0.0;
    return h[((size_t)y * cols + (size_t)x) * planes + c];
}

/* Numbers standardised: of all together (layer), or by means and deviations that are given. */
static void norm_by_definition(const struct net_shape *s, const struct net_layer *l,
                               const double *w, double *a)
{
    double mean = 0.0, var = 0.0;

    for (size_t i = 0; i < l->makes; i++)
        mean += a[i] / (double)l->makes;
    for (size_t i = 0; i < l->makes; i++)
        var += (a[i] - mean) * (a[i] - mean) / (double)l->makes;
    for (size_t i = 0; i < l->makes; i++) {
        const size_t c = i % l->out;
        if (s->norm == NET_LAYER)
            a[i] = (a[i] - mean) / sqrt(var + 1e-5);
        else if (s->norm == NET_BATCH)
            a[i] = (a[i] - w[l->mean + c]) * w[l->rstd + c];
        if (s->norm != NET_NONE)
            a[i] = w[l->gain + c] * a[i] + w[l->shift + c];
    }
}

/* One block (23.13): b + sum of weights times the nine pixels around, norm, ReLU, the largest of
 * four.  h becomes what it gives. */
static void block_by_definition(const struct net_shape *s, const struct net_layer *l,
                                const double *w, double *h)
{
    const size_t planes = l->in / 9, cols = l->cols / 2;
    double *a = room(l->makes);

    for (size_t i = 0; i < l->makes; i++) {
        const size_t c = i % l->out, x = i / l->out % l->cols, y = i / l->out / l->cols;
        a[i] = w[l->b + c];
        for (size_t k = 0; k < l->in; k++)
            a[i] += w[l->w + c * l->in + k] *
                    pixel(h, l->rows, l->cols, planes, (long)(y + k / planes / 3) - 1,
                          (long)(x + k / planes % 3) - 1, k % planes);
    }
    norm_by_definition(s, l, w, a);
    for (size_t i = 0; i < l->gives; i++) {
        const size_t c = i % l->out, x = i / l->out % cols, y = i / l->out / cols;
        double most = 0.0;
        for (size_t k = 0; k < 4; k++)
            most = fmax(most, a[((2 * y + k / 2) * l->cols + 2 * x + k % 2) * l->out + c]);
        h[i] = most;
    }
    free(a);
}

static void row_by_definition(const struct net_shape *s, const double *w, const double *x,
                              double *f)
{
    struct net_layer l[NET_DEPTH_MOST + 1];
    double length = 0.0, *h;

    net_layers(s, l);
    h = room(s->inputs + l[s->depth].before);
    memcpy(h, x, s->inputs * sizeof *h);
    for (size_t i = 0; i < s->depth; i++)
        block_by_definition(s, &l[i], w, h);
    const struct net_layer *last = &l[s->depth];
    for (size_t j = 0; j < s->out; j++) {
        f[j] = w[last->b + j];
        for (size_t k = 0; k < last->in; k++)
            f[j] += w[last->w + j * last->in + k] * h[k];
        length += f[j] * f[j];
    }
    for (size_t j = 0; s->unit_rows && j < s->out; j++)
        f[j] /= sqrt(length);
    free(h);
}

static const struct net_shape shapes[] = {
    { .inputs = 30, .depth = 2, .out = 4, .norm = NET_LAYER, .image = { 5, 6, 1, { 3, 5 } } },
    { .inputs = 48, .depth = 2, .out = 2, .image = { 4, 4, 3, { 8, 6 } } },
    { .inputs = 77, .depth = 1, .out = 6, .norm = NET_BATCH, .image = { 7, 11, 1, { 7 } } },
    { .inputs = 512, .depth = 4, .out = 2, .norm = NET_LAYER, .unit_rows = true,
      .image = { 16, 16, 2, { 4, 5, 6, 7 } } },
    { .inputs = 784, .depth = 2, .out = 64, .norm = NET_LAYER, .image = { 28, 28, 1, { 16, 32 } } },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, N = 23 };

/* In double precision to 1e-12, in single to 1e-5; rows by themselves are those of many. */
START_TEST(features_are_those_of_the_definition)
{
    const struct net_shape *s = &shapes[_i];
    struct net_layer l[NET_DEPTH_MOST + 1];
    const size_t count = net_layers(s, l), q = s->out;
    double *w = room(count), *x = room(N * s->inputs), *f = room(N * q), *want = room(q);
    double *work = room(net_work_size(s, N)), *g = room(N * q);
    float *single = calloc(count, sizeof *single);

    for (size_t i = 0; i < count; i++)
        w[i] = (double)(single[i] = (float)(0.4 * normal(1, i)));
    for (size_t i = 0; i < N * s->inputs; i++)
        x[i] = (double)(float)normal(2, i);
    net_forward64_for_tests(s, w, N, &(struct net_pass64){ .x = x, .f = f, .work = work });
    const struct net *net = net_keep(s, single, NULL);
    ck_assert_int_eq(net_rows(net, N, x, s->inputs, g, q, NULL), ST_OK);
    double most = 0.0;
    for (size_t i = 0; i < N * q; i++)
        most = fmax(most, fabs(f[i]));
    for (size_t r = 0; r < N; r++) {
        row_by_definition(s, w, x + r * s->inputs, want);
        for (size_t j = 0; j < q; j++) {
            ck_assert_double_eq_tol(f[r * q + j], want[j], 1e-12 * most);
            ck_assert_double_eq_tol(g[r * q + j], want[j], 1e-5 * most);
        }
    }
    free(w), free(x), free(f), free(want), free(work), free(g), free(single);
}
END_TEST

/* An image (1 2; 3 4) under a filter of its middle and its right neighbour: 1 + 2, 2, 3 + 4, 4. */
START_TEST(a_convolution_by_hand)
{
    const struct net_shape s = { .inputs = 4, .depth = 1, .out = 2, .image = { 2, 2, 1, { 1 } } };
    const double x[] = { 1.0, 2.0, 3.0, 4.0 };
    double w[] = { 0, 0, 0, 0, 1, 1, 0, 0, 0, /* shift */ 0.5, /* affine */ 2, -1, /* and */ 0, 1 };
    double f[2], *all = room(net_work_size(&s, 1));
    struct net_layer l[NET_DEPTH_MOST + 1];

    ck_assert_uint_eq(net_layers(&s, l), sizeof w / sizeof *w);
    net_forward64_for_tests(&s, w, 1, &(struct net_pass64){ .x = x, .f = f, .work = all });
    ck_assert_double_eq(f[0], 2 * 7.5);
    ck_assert_double_eq(f[1], 1 - 7.5);
    w[9] = -8; /* below 0 everywhere: the ReLU leaves nothing */
    net_forward64_for_tests(&s, w, 1, &(struct net_pass64){ .x = x, .f = f, .work = all });
    ck_assert_double_eq(f[0], 0.0);
    ck_assert_double_eq(f[1], 1.0);
    free(all);
}
END_TEST

/* What the way back needs is made again where it is not kept, to the same bits. */
START_TEST(rows_that_are_not_kept_have_the_same_gradient)
{
    enum { ROWS = 200, INPUTS = 784 };
    static float x[ROWS * INPUTS];
    struct kernel k;
    struct pool *pool = pool_new((size_t)_i + 1, NULL);
    double *theta[2], *grad[2], *F[2], *dF;

    ck_assert_int_eq(kernel_parse("cnn(channels=16:8,out=4)", &k, NULL, NULL), ST_OK);
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = (float)normal(4, i);
    for (size_t again = 0; again < 2; again++) {
        struct learn_maps m;
        ck_assert_int_eq(learn_maps_open(&m, &k, INPUTS, 0, 1, NULL), ST_OK);
        ck_assert_uint_lt(m.group, ROWS / 2);
        const double all = learn_maps_bytes(&m, ROWS, 1);
        m.kept_most = again ? 0 : m.kept_most;
        ck_assert(!again || learn_maps_bytes(&m, ROWS, 1) < 0.7 * all);
        ck_assert_int_eq(learn_maps_room(&m, ROWS, pool, NULL), ST_OK);
        theta[again] = room(m.count);
        grad[again] = room(m.count);
        F[again] = room(ROWS * m.q);
        dF = room(ROWS * m.q);
        learn_maps_begin(&m, &(struct tune_opts){ .seed = 5 }, theta[again]);
        ck_assert_int_eq(learn_maps_forward(&m, theta[again], ROWS, x, true, F[again], NULL),
                         ST_OK);
        for (size_t i = 0; i < ROWS * m.q; i++)
            dF[i] = sin((double)i);
        ck_assert_int_eq(learn_maps_back(&m, dF, grad[again], NULL), ST_OK);
        ck_assert_mem_eq(grad[0], grad[again], m.count * sizeof *grad[0]);
        ck_assert_mem_eq(F[0], F[again], ROWS * m.q * sizeof *F[0]);
        learn_maps_close(&m);
        free(dF);
    }
    for (size_t i = 0; i < 2; i++)
        free(theta[i]), free(grad[i]), free(F[i]);
    pool_free(pool);
}
END_TEST

START_TEST(expressions_are_read_and_printed)
{
    static const char *const text[][2] = {
        { "cnn", "cnn(shape=square,channels=16:32,out=64,norm=layer,rows=plain)" },
        { "cnn(shape=28x28,channels=8)",
          "cnn(shape=28x28,channels=8,out=64,norm=layer,rows=plain)" },
        { "cnn(channels=1:2:3:512,shape=4095x1x3,norm=batch)",
          "cnn(shape=4095x1x3,channels=1:2:3:512,out=64,norm=batch,rows=plain)" },
        { "cnn(rbf,shape=8x4x1)",
          "cnn(rbf,shape=8x4,channels=16:32,out=4,norm=layer,rows=plain)" },
    };
    static const char *const bad[] = { "cnn(shape=28)", "cnn(shape=28x)", "cnn(shape=0x4)",
        "cnn(shape=4x4x4x4)", "cnn(shape=9999x2)", "cnn(channels=)", "cnn(channels=16:)",
        "cnn(channels=1:2:3:4:5)", "cnn(channels=1000)", "cnn(shape=oval)" };

    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct kernel k;
        struct buf out = { 0 };
        struct err err = { 0 };
        ck_assert_msg(kernel_parse(text[i][0], &k, NULL, &err) == ST_OK, "%s", err.msg);
        kernel_print(&k, &out);
        ck_assert_str_eq(buf_str(&out), text[i][1]);
        buf_free(&out);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kernel k;
        struct err err = { 0 };
        ck_assert_msg(kernel_parse(bad[i], &k, NULL, &err) == ST_USAGE, "%s", bad[i]);
    }
}
END_TEST

START_TEST(shapes_have_to_fit)
{
    static const struct { const char *text; size_t inputs; const char *says; } rows[] = {
        { "cnn", 784, NULL },
        { "cnn(shape=2x4,channels=16)", 8, NULL },
        { "cnn(shape=8x4x3) + mlp", 96, NULL },
        { "cnn", 10, "a square image, and 10 inputs are none" },
        { "cnn(shape=28x28)", 10, "images of 28 x 28 x 1 = 784 numbers, and the data have 10" },
        { "mlp + cnn(rbf,shape=28x28x3)", 784, "28 x 28 x 3 = 2352 numbers" },
        { "cnn", 9, "halves an image of 3 x 3 2 times, which takes at least 4 x 4" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kernel k;
        struct err err = { 0 };
        ck_assert_int_eq(kernel_parse(rows[i].text, &k, NULL, NULL), ST_OK);
        ck_assert_int_eq(kernel_learned_fits(&k, rows[i].inputs, &err),
                         rows[i].says ? ST_SHAPE : ST_OK);
        if (!rows[i].says)
            continue;
        ck_assert_str_eq(err.name, "image");
        ck_assert_msg(strstr(err.msg, rows[i].says) != NULL, "%s", err.msg);
        ck_assert(*err.hint != '\0');
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cnn");
    TCase *t = tcase_create("cnn");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, features_are_those_of_the_definition, 0, SHAPES);
    tcase_add_test(t, a_convolution_by_hand);
    tcase_add_loop_test(t, rows_that_are_not_kept_have_the_same_gradient, 0, 3);
    tcase_add_test(t, expressions_are_read_and_printed);
    tcase_add_test(t, shapes_have_to_fit);
    suite_add_tcase(s, t);
    return support_run(s);
}
