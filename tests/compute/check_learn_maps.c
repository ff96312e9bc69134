/* tests/compute/check_learn_maps.c -- expressions of maps that learn: products, sums with random
 * features, kernels behind a map.  Golden products; features and values against the parts that they
 * are made of; the gradient of the whole likelihood by differences; the same bits for any number of
 * threads. */
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/likelihood/dirichlet_columns.h"
#include "compute/likelihood/nmll_columns.h"
#include "compute/rng.h"
#include "compute/tuners/learn.h"
#include "compute/tuners/learn_maps.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct kernel parse(const char *text)
{
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, NULL, &err) == ST_OK, "%s: %s", text, err.msg);
    return k;
}

static double *room(size_t n)
{
    double *v = calloc(n + 1, sizeof *v);

    ck_assert_ptr_nonnull(v);
    return v;
}

/* The features of n rows of d inputs by the operator. */
static double *features(const struct kernel *k, const double *hp, size_t n, size_t d, size_t M,
                        const double *X)
{
    struct source_array src;
    double *z = room(n * M);
    const struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct err err = { 0 };

    source_array_init(&src, X, n, d, d);
    struct featmap *fm = featmap_new(k, d, M, 3, &err);
    ck_assert_msg(fm != NULL, "%s", err.msg);
    struct fop *op = fop_new(backend_cpu(), fm, &src.base, &fo, &err);
    ck_assert_msg(op != NULL, "%s", err.msg);
    ck_assert_int_eq(fop_set(op, hp, &err), ST_OK);
    ck_assert_int_eq(fop_tile64(op, 0, n, z, M, NULL), ST_OK);
    fop_free(op);
    featmap_free(fm);
    return z;
}

/* A net whose features are its inputs from `first` on: x = max(x, 0) - max(-x, 0). */
static const struct net *identity(size_t inputs, size_t first, size_t out)
{
    const struct net_shape s = { .inputs = inputs, .width = 2 * out, .depth = 1, .out = out };
    struct net_layer l[NET_DEPTH_MOST + 1];
    float *w = calloc(net_layers(&s, l), sizeof *w);

    ck_assert_ptr_nonnull(w);
    for (size_t j = 0; j < out; j++)
        for (size_t sign = 0; sign < 2; sign++) {
            const size_t hidden = 2 * j + sign;
            if (first + j < inputs)
                w[l[0].w + first + j + hidden * l[0].in] = sign ? -1.0f : 1.0f;
            w[l[1].w + hidden + j * l[1].in] = sign ? -1.0f : 1.0f;
        }
    const struct net *net = net_keep(&s, w, NULL);
    free(w);
    return net;
}

/* The golden factors as inputs, B before A, of which a map with an even number of outputs takes a
 * column of zeros, too. */
START_TEST(golden_products)
{
    size_t n, qa, qb, q;
    double *A = support_golden("fm_prod_A", &n, &qa), *B = support_golden("fm_prod_B", &n, &qb);
    double *K = support_golden("fm_prod_K", &q, &q);
    double *P = support_golden("fm_prod_features", &n, &q);
    double *X = room(n * (qa + qb));
    struct kernel k = parse("mlp(width=8,depth=1,out=4,norm=none) * "
                            "mlp(width=8,depth=1,out=4,norm=none)");

    ck_assert_uint_eq(qa, 3);
    ck_assert_uint_eq(qb, 4);
    for (size_t i = 0; i < n; i++) {
        memcpy(X + i * (qa + qb), B + i * qb, qb * sizeof *X);
        memcpy(X + i * (qa + qb) + qb, A + i * qa, qa * sizeof *X);
    }
    k.term[0].net = identity(qa + qb, qb, 4);
    k.term[1].net = identity(qa + qb, 0, 4);
    ck_assert_uint_eq(kernel_learned_features(&k), 16);
    double *z = features(&k, NULL, n, qa + qb, 16, X);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 16; j++) { /* single precision */
            const double want = j < q ? P[i * q + j] : 0.0;
            ck_assert_double_eq_tol(z[i * 16 + j], want, 1e-6 * (1.0 + fabs(want)));
        }
        for (size_t j = 0; j < n; j++)
            ck_assert_double_eq_tol(kernel_exact(&k, NULL, qa + qb, X + i * (qa + qb),
                                                 X + j * (qa + qb), NULL),
                                    K[i * n + j], 1e-5 * (1.0 + fabs(K[i * n + j])));
    }
    free(A);
    free(B);
    free(K);
    free(P);
    free(X);
    free(z);
}
END_TEST

enum { N = 37, D = 4, MANY = 2500 }; /* D: an image of 2 x 2, too */
static double X[MANY * D], Y[MANY];

static void problem(void)
{
    for (size_t i = 0; i < MANY * D; i++)
        X[i] = rng_normal(5, rng_stream(RNG_TEST, 3), i);
    for (size_t i = 0; i < MANY; i++)
        Y[i] = sin(2.0 * X[i * D]) + 0.5 * X[i * D + 1] * X[i * D + 2] +
               0.1 * rng_normal(5, rng_stream(RNG_TEST, 4), i);
}

/* A kernel behind a map has the features and the value that it has on the coordinates. */
START_TEST(behind_a_map_a_kernel_reads_coordinates)
{
    enum { M = 64 };
    const double hp = 0.7;
    struct kernel inner = parse("matern(nu=5/2)");
    struct kernel k = parse("mlp(matern(nu=5/2),width=4,depth=1,out=2,norm=none)");
    double c[N * 2];

    problem();
    k.term[0].net = identity(D, 1, 2);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < 2; j++)
            c[i * 2 + j] = (double)(float)X[i * D + 1 + j];
    double *z = features(&k, &hp, N, D, M, X), *want = features(&inner, &hp, N, 2, M, c);
    for (size_t i = 0; i < N * M; i++)
        ck_assert_double_eq_tol(z[i], want[i], 1e-7);
    for (size_t i = 1; i < N; i++) {
        double grad, wanted;
        const double v = kernel_exact(&k, &hp, D, X, X + i * D, &grad);
        ck_assert_double_eq_tol(v, kernel_exact(&inner, &hp, 2, c, c + i * 2, &wanted), 1e-6);
        ck_assert_double_eq_tol(grad, wanted, 1e-6);
    }
    free(z);
    free(want);
}
END_TEST

/* An expression and all of its parameters on N rows. */
struct whole {
    struct kernel k;
    struct learn_maps m;
    size_t classes, more;
    float x[N * D];
    double y[N], *theta, *grad, *F, *dF, *w, *inverse;
};

static double value(struct whole *o, bool slope)
{
    double *own = o->theta + o->m.count, *gown = o->grad + o->m.count, mean[3], nmll;

    ck_assert_int_eq(learn_maps_forward(&o->m, o->theta, N, o->x, true, o->F, NULL), ST_OK);
    if (o->classes) {
        struct dirichlet_columns c = { .n = N, .q = o->m.q, .classes = o->classes, .F = o->F,
                                       .labels = o->y, .log_scale = own, .alpha = 0.01, .w = o->w,
                                       .mean = mean, .inverse = o->inverse,
                                       .dF = slope ? o->dF : NULL, .dscale = gown };
        ck_assert_int_eq(dirichlet_columns(&c, NULL, NULL), ST_OK);
        nmll = c.nmll;
    } else {
        struct nmll_columns c = { .n = N, .q = o->m.q, .F = o->F, .y = o->y, .log_scale = own[0],
                                  .log_noise = own[1], .w = o->w, .inverse = o->inverse,
                                  .dF = slope ? o->dF : NULL };
        ck_assert_int_eq(nmll_columns(&c, NULL, NULL), ST_OK);
        nmll = c.nmll;
    }
    if (slope)
        ck_assert_int_eq(learn_maps_back(&o->m, o->dF, o->grad, NULL), ST_OK);
    return nmll / N;
}

static void whole_open(struct whole *o, const char *text, size_t classes)
{
    const struct tune_opts opts = { .seed = 12 };

    memset(o, 0, sizeof *o);
    problem();
    o->k = parse(text);
    o->classes = classes;
    o->more = classes ? classes : 2;
    for (size_t i = 0; i < N * D; i++)
        o->x[i] = (float)X[i];
    for (size_t i = 0; i < N; i++)
        o->y[i] = classes ? (double)(i % classes) : Y[i];
    ck_assert_int_eq(learn_maps_open(&o->m, &o->k, D, 40, 2, NULL), ST_OK);
    ck_assert_int_eq(learn_maps_room(&o->m, N, NULL, NULL), ST_OK);
    const size_t q = o->m.q;
    o->theta = room(o->m.count + o->more);
    o->grad = room(o->m.count + o->more);
    o->F = room(N * q);
    o->dF = room(N * q);
    o->w = room(q * (classes + 1));
    o->inverse = room(q * q * (classes + 1));
    learn_maps_begin(&o->m, &opts, o->theta);
    for (size_t i = 0; i < o->more; i++)
        o->theta[o->m.count + i] = classes || i == 0 ? 0.3 : -1.5;
}

static void whole_close(struct whole *o)
{
    double *all[] = { o->theta, o->grad, o->F, o->dF, o->w, o->inverse };

    learn_maps_close(&o->m);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* The derivative along the gradient in parameters from `from` to `to` - 1, whose own length it is.
 * Differences are rough: short steps lose digits to the single precision of the nets, long ones
 * step over the bends of max(a, 0).  One of the steps has to come near. */
static void compare_along(struct whole *o, const double *g, size_t from, size_t to, double most)
{
    static const double steps[] = { 4e-3, 1e-3, 2.5e-4, 6e-5 };
    double size = 0.0, near = INFINITY, slope = NAN;

    for (size_t i = from; i < to; i++)
        size += g[i] * g[i];
    size = sqrt(size);
    if (size < 1e-4 * most)
        return;
    double *was = room(o->m.count);
    memcpy(was, o->theta, o->m.count * sizeof *was);
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        double sides[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = from; i < to; i++)
                o->theta[i] = was[i] + (side ? steps[s] : -steps[s]) * g[i] / size;
            sides[side] = value(o, false);
        }
        const double got = (sides[1] - sides[0]) / (2.0 * steps[s]);
        if (fabs(got - size) < near) {
            near = fabs(got - size);
            slope = got;
        }
    }
    memcpy(o->theta, was, o->m.count * sizeof *was);
    free(was);
    ck_assert_msg(near <= 0.005 * size + 5e-4 * most,
                  "parameters %zu to %zu: %.6g by differences, %.6g", from, to - 1, slope, size);
}

static const char *const expressions[] = {
    "mlp(width=6,depth=2,out=4)",
    "mlp(width=6,depth=2,out=3)", /* odd numbers of features have a column of zeros beside */
    "mlp(width=6,depth=1,out=3) * mlp(width=5,depth=1,out=3,norm=none) + mlp(rbf,width=4,out=1)",
    "mlp(width=6,depth=1,out=2,norm=none) * mlp(width=5,depth=2,out=4) * mlp(width=4,out=2)",
    "mlp(width=6,depth=1,out=4,rows=unit) + rbf",
    "mlp(width=6,depth=3,out=4,norm=batch)",
    "mlp(width=6,depth=2,out=2,norm=batch,rows=unit) * mlp(width=4,out=2) + rbf",
    "mlp(rbf,width=6,depth=1,out=2,norm=batch)",
    "rbf(ard=4) + mlp(width=6,depth=1,out=4) * mlp(width=4,depth=1,out=2) + linear",
    "mlp(rbf,width=6,depth=2,out=4)",
    "mlp(matern(nu=5/2),width=6,depth=1,out=2,norm=none)",
    "mlp(rq,width=6,depth=1,out=2,rows=unit)",
    "mlp(periodic,width=6,depth=1,out=2)",
    "mlp(arccos,width=6,depth=1,out=2)",
    "mlp(poly,width=6,depth=1,out=2)",
    "mlp(erf,width=6,depth=1,out=2)",
    "mlp(linear,width=6,depth=1,out=2) + mlp(rbf,width=4,out=2)",
    "cnn(shape=2x2,channels=3,out=4)",
    "cnn(shape=2x2,channels=5,out=4,norm=batch)",
    "cnn(shape=2x2,channels=3,out=2,norm=none) * mlp(width=4,out=2) + rbf",
    "cnn(rbf,shape=2x2,channels=4,out=2,norm=batch,rows=unit)",
};
enum { EXPRESSIONS = sizeof expressions / sizeof *expressions };

/* Every matrix and vector of every layer, and every hyperparameter. */
START_TEST(gradients_are_differences)
{
    struct whole o;
    double most = 0.0;

    whole_open(&o, expressions[_i / 2], _i % 2 ? 3 : 0);
    value(&o, true);
    double *g = room(o.m.count);
    memcpy(g, o.grad, o.m.count * sizeof *g);
    for (size_t i = 0; i < o.m.count; i++)
        most = fmax(most, fabs(g[i]));
    size_t from = 0;
    for (size_t t = 0; t < o.k.nterms; t++) {
        struct net_layer l[NET_DEPTH_MOST + 1];
        if (!kterm_learns(&o.k.term[t]))
            continue;
        const struct net_shape s = kernel_learned_shape(&o.k, t, D);
        const size_t n = net_layers(&s, l);
        for (size_t i = 0; i <= s.depth; i++) {
            compare_along(&o, g, from + l[i].w, from + l[i].b, most);
            compare_along(&o, g, from + l[i].b, from + l[i].b + l[i].out, most);
            if (l[i].gain == SIZE_MAX)
                continue;
            compare_along(&o, g, from + l[i].gain, from + l[i].shift, most);
            compare_along(&o, g, from + l[i].shift, from + l[i].shift + l[i].out, most);
        }
        from += n;
    }
    ck_assert_uint_eq(from, o.m.weights);
    for (size_t h = o.m.weights; h < o.m.count; h++)
        compare_along(&o, g, h, h + 1, most);
    free(g);
    whole_close(&o);
}
END_TEST

static void learn(const char *text, size_t threads, struct tune_result *r)
{
    struct source_array src;
    const struct kernel k = parse(text);
    struct pool *pool = pool_new(threads, NULL);
    const struct tune_opts o = { .steps = 8, .subsets = 2, .seed = 7, .features = 40 };
    struct err err = { 0 };

    problem();
    source_array_init(&src, X, MANY, D, D);
    const struct tools on = { backend_cpu(), pool, NULL };
    const enum status rc = tune_run(&k, &src.base, Y, &o, &on, r, &err);
    ck_assert_msg(rc == ST_OK, "%s: %s", text, err.msg);
    pool_free(pool);
}

START_TEST(any_number_of_threads_learns_the_same_bits)
{
    struct tune_result one, more;
    const char *text = expressions[_i % EXPRESSIONS];

    learn(text, 1, &one);
    learn(text, 2 + (size_t)_i / EXPRESSIONS, &more);
    ck_assert_int_eq(memcmp(&one.nets, &more.nets, sizeof one.nets), 0);
    ck_assert_int_eq(memcmp(one.best.hp, more.best.hp, one.nhp * sizeof *one.best.hp), 0);
    ck_assert_double_eq(one.best.nmll, more.best.nmll);
    ck_assert_double_lt(one.best.nmll, one.trace[0].nmll);
    tune_result_free(&one);
    tune_result_free(&more);
}
END_TEST

/* What has no features is refused, what has them is printed as it is read. */
START_TEST(expressions_are_read_and_refused)
{
    static const char *const good[] = {
        "mlp(width=512,depth=2,out=8,norm=layer,rows=plain) * "
        "mlp(width=512,depth=2,out=8,norm=layer,rows=plain) + rbf",
        "mlp(matern(nu=5/2),width=512,depth=2,out=4,norm=layer,rows=plain)",
    };
    static const char *const bad[] = { "mlp * rbf", "rbf * mlp", "mlp(rbf) * mlp", "mlp(mlp)",
                                       "mlp * mlp", "conv(rbf) + mlp", "mlp(rbf(ard))",
                                       "mlp on x1", "mlp(rbf) on x1" };
    struct kernel k;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct buf text = { 0 };
        k = parse(good[i]);
        kernel_print(&k, &text);
        ck_assert_str_eq(buf_str(&text), good[i]);
        buf_free(&text);
    }
    k = parse("mlp(matern,out=6) + rbf");
    ck_assert_uint_eq(kernel_learned_shape(&k, 0, 3).out, 6);
    ck_assert_uint_eq(kernel_learned_features(&k), 0);
    k = parse("mlp(rbf(l=2),depth=3)");
    ck_assert_uint_eq(kernel_learned_shape(&k, 0, 3).out, 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = { 0 };
        ck_assert_msg(kernel_parse(bad[i], &k, NULL, &err) == ST_UNSUPPORTED, "%s", bad[i]);
        ck_assert_str_eq(err.name, "learned");
        ck_assert_msg(*err.hint != '\0', "%s", bad[i]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("learn_maps");
    TCase *t = tcase_create("learn_maps");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, golden_products);
    tcase_add_test(t, behind_a_map_a_kernel_reads_coordinates);
    tcase_add_loop_test(t, gradients_are_differences, 0, 2 * EXPRESSIONS);
    tcase_add_loop_test(t, any_number_of_threads_learns_the_same_bits, 0, 2 * EXPRESSIONS);
    tcase_add_test(t, expressions_are_read_and_refused);
    suite_add_tcase(s, t);
    return support_run(s);
}
