/* tests/compute/check_learn.c -- maps that learn: golden features, likelihood and gradient, central
 * differences for every norm and kind of rows, several targets and rows of unequal weight against
 * the kernel matrix, the same bits for any number of threads, blocks of weights and their
 * checksums. */
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/likelihood/dirichlet_columns.h"
#include "compute/likelihood/nmll_columns.h"
#include "compute/rng.h"
#include "compute/tuners/learn.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A net in double precision with all that its two ways need. */
struct twin {
    struct net_shape s;
    size_t n, count, classes; /* classes 0: y is a target of numbers; else y is labels */
    double *theta, *x, *y, *f, *hat, *rstd, *work, *df, *grad, *v, *inverse;
};

static double *room(size_t n)
{
    double *v = calloc(n + 1, sizeof *v);

    ck_assert_ptr_nonnull(v);
    return v;
}

static void twin_open(struct twin *t)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    t->count = net_layers(&t->s, layer);
    t->f = room(t->n * t->s.out);
    t->df = room(t->n * t->s.out);
    t->hat = room(net_hat_size(&t->s, t->n));
    t->rstd = room(net_rstd_size(&t->s, t->n));
    t->work = room(net_work_size(&t->s, t->n));
    t->grad = room(t->count + 2 + t->classes);
    t->v = room(t->s.out * (t->classes + 1));
    t->inverse = room(t->s.out * t->s.out * (t->classes + 1));
}

static void twin_close(struct twin *t)
{
    double *all[] = { t->theta, t->x, t->y, t->f, t->hat, t->rstd, t->work, t->df, t->grad, t->v,
                      t->inverse };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* How many parameters of the likelihood follow those of the net. */
static size_t more(const struct twin *t)
{
    return t->classes ? t->classes : 2;
}

static double value_of_classes(struct twin *t, bool slope)
{
    double mean[8];
    struct dirichlet_columns c = { .n = t->n, .q = t->s.out, .classes = t->classes, .F = t->f,
                                   .labels = t->y, .log_scale = t->theta + t->count,
                                   .alpha = 0.01, .w = t->v, .mean = mean,
                                   .inverse = t->inverse, .dF = slope ? t->df : NULL,
                                   .dscale = slope ? t->grad + t->count : NULL };

    ck_assert_uint_le(t->classes, 8);
    ck_assert_int_eq(dirichlet_columns(&c, NULL, NULL), ST_OK);
    return c.nmll;
}

static double value_of_numbers(struct twin *t, bool slope)
{
    struct nmll_columns c = { .n = t->n, .q = t->s.out, .F = t->f, .y = t->y,
                              .log_scale = t->theta[t->count],
                              .log_noise = t->theta[t->count + 1], .w = t->v,
                              .inverse = t->inverse, .dF = slope ? t->df : NULL };

    ck_assert_int_eq(nmll_columns(&c, NULL, NULL), ST_OK);
    if (slope) {
        t->grad[t->count] = c.dscale;
        t->grad[t->count + 1] = c.dnoise;
    }
    return c.nmll;
}

/* The NMLL at t->theta; with `slope` its gradient too. */
static double value(struct twin *t, bool slope)
{
    const struct net_pass64 p = { t->x, t->f, t->hat, t->rstd, t->work };

    net_forward64_for_tests(&t->s, t->theta, t->n, &p);
    const double nmll = t->classes ? value_of_classes(t, slope) : value_of_numbers(t, slope);
    if (slope)
        net_back64_for_tests(&t->s, t->theta, t->n, &p, t->df, t->grad);
    return nmll;
}

static double largest(size_t n, const double *v)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(v[i]));
    return most;
}

START_TEST(golden_features_likelihood_and_gradient)
{
    struct twin t = { .s = { .inputs = 3, .width = 5, .depth = 2, .out = 4, .norm = NET_LAYER } };
    size_t d, n, one;

    t.theta = support_golden("fm_theta", &n, &one);
    t.x = support_golden("fm_X", &t.n, &d);
    t.y = support_golden("fm_y", &n, &one);
    double *f = support_golden("fm_features", &n, &one), *g = support_golden("fm_grad", &n, &d);
    twin_open(&t);
    ck_assert_uint_eq(t.count + 2, n);
    ck_assert_double_eq_tol(value(&t, true), support_golden_scalar("fm_scalars", "nmll"), 1e-9);
    for (size_t i = 0; i < t.n * t.s.out; i++)
        ck_assert_double_eq_tol(t.f[i], f[i], 1e-10 * (1.0 + fabs(f[i])));
    const double most = largest(n, g);
    for (size_t i = 0; i < n; i++) /* the README: differences, accurate to about 1e-7 of the max */
        ck_assert_double_eq_tol(t.grad[i], g[i], 3e-7 * most);
    free(f);
    free(g);
    twin_close(&t);
}
END_TEST

/* Every parameter against central differences: an error of h^2 and one of eps / h. */
static void compare_differences(struct twin *t)
{
    const double h = 1e-6;

    value(t, true);
    const double most = largest(t->count + more(t), t->grad);
    for (size_t i = 0; i < t->count + more(t); i++) {
        const double was = t->theta[i];
        t->theta[i] = was + h;
        const double up = value(t, false);
        t->theta[i] = was - h;
        const double down = value(t, false);
        t->theta[i] = was;
        ck_assert_double_eq_tol(t->grad[i], (up - down) / (2.0 * h), 1e-6 * most);
    }
}

/* Of classes the third has one row, and the fourth none. */
START_TEST(gradients_are_differences)
{
    static const struct net_shape shapes[] = {
        { .inputs = 2, .width = 6, .depth = 1, .out = 2, .norm = NET_LAYER },
        { .inputs = 2, .width = 6, .depth = 1, .out = 2 },
        { .inputs = 3, .width = 4, .depth = 3, .out = 4, .norm = NET_LAYER, .unit_rows = true },
        { .inputs = 3, .width = 5, .depth = 2, .out = 2, .unit_rows = true },
        { .inputs = 30, .depth = 2, .out = 2, .norm = NET_LAYER, .image = { 5, 6, 1, { 3, 5 } } },
        { .inputs = 24, .depth = 1, .out = 4, .image = { 4, 2, 3, { 6 } } },
        { .inputs = 9, .depth = 1, .out = 2, .norm = NET_LAYER, .unit_rows = true,
          .image = { 3, 3, 1, { 4 } } },
    };
    struct twin t = { .s = shapes[_i / 2], .n = 17, .classes = _i % 2 ? 4 : 0 };

    twin_open(&t);
    t.theta = room(t.count + more(&t));
    t.x = room(t.n * t.s.inputs);
    t.y = room(t.n);
    for (size_t i = 0; i < t.count + more(&t); i++)
        t.theta[i] = 0.7 * rng_normal(3, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < t.n * t.s.inputs; i++)
        t.x[i] = rng_normal(3, rng_stream(RNG_TEST, 2), i);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = !t.classes ? sin(3.0 * t.x[i * t.s.inputs]) : i == 5 ? 2.0 : (double)(i % 2);
    compare_differences(&t);
    twin_close(&t);
}
END_TEST

/* A row whose features are all zero has no direction: it stays zero, and nothing is lost by it. */
START_TEST(a_row_of_zeros_stays_zero)
{
    const struct net_shape s = { .inputs = 1, .width = 1, .depth = 1, .out = 2,
                                 .unit_rows = true };
    const double theta[] = { 1.0, 0.0, 1.0, 2.0, 0.0, 0.0 }, x[] = { -1.0, 2.0 };
    double f[4], hat[2], rstd[4], work[16], df[4] = { 1.0, 1.0, 1.0, 1.0 }, grad[6];

    const struct net_pass64 p = { x, f, hat, rstd, work };
    net_forward64_for_tests(&s, theta, 2, &p);
    ck_assert_double_eq(f[0], 0.0);
    ck_assert_double_eq(f[1], 0.0);
    ck_assert_double_eq_tol(f[2], 1.0 / sqrt(5.0), 1e-15);
    net_back64_for_tests(&s, theta, 2, &p, df, grad);
    for (size_t i = 0; i < 6; i++)
        ck_assert(isfinite(grad[i]));
}
END_TEST

/* The NMLL of targets with covariance amplitude^2 F F' + diag(noise^2 / weight), by the kernel
 * matrix, each target with its own amplitude at one ratio of noise to it. */
enum { WROWS = 19, WCOLS = 4, WTARGETS = 3 };

static double by_matrix(size_t targets, const double *F, const double *y, const double *scale,
                        const double *log_scales, double log_ratio)
{
    static double K[WROWS][WROWS];
    double sum = 0.0;

    for (size_t t = 0; t < targets; t++) {
        double z[WROWS];
        for (size_t i = 0; i < WROWS; i++)
            for (size_t j = 0; j < WROWS; j++) {
                K[i][j] = i == j ? exp(log_ratio) / (scale[i] * scale[i]) : 0.0;
                for (size_t k = 0; k < WCOLS; k++)
                    K[i][j] += F[i * WCOLS + k] * F[j * WCOLS + k];
                K[i][j] *= exp(log_scales[t]);
            }
        for (size_t i = 0; i < WROWS; i++) { /* K = L L', z = L^-1 y, by rows */
            for (size_t j = 0; j <= i; j++) {
                for (size_t k = 0; k < j; k++)
                    K[i][j] -= K[i][k] * K[j][k];
                K[i][j] = i == j ? sqrt(K[i][i]) : K[i][j] / K[j][j];
            }
            z[i] = y[t * WROWS + i];
            for (size_t k = 0; k < i; k++)
                z[i] -= K[i][k] * z[k];
            z[i] /= K[i][i];
            sum += 0.5 * z[i] * z[i] + log(K[i][i]) + 0.5 * log(2.0 * M_PI);
        }
    }
    return sum;
}

/* One target and several, rows of equal weight and others. */
START_TEST(targets_and_weights_have_the_likelihood_of_their_matrix)
{
    const size_t targets = _i % 2 ? WTARGETS : 1;
    const double h = 1e-5;
    double F[WROWS * WCOLS], y[WROWS * WTARGETS], scale[WROWS], dF[WROWS * WCOLS];
    double at[WTARGETS + 1] = { 0.3, -0.8, 1.1, -1.7 }, w[WTARGETS * WCOLS], d[WTARGETS];
    double inverse[WCOLS * WCOLS];

    for (size_t i = 0; i < WROWS * WCOLS; i++)
        F[i] = rng_normal(3, rng_stream(RNG_TEST, 5), i);
    for (size_t i = 0; i < WROWS * WTARGETS; i++)
        y[i] = rng_normal(3, rng_stream(RNG_TEST, 6), i);
    for (size_t i = 0; i < WROWS; i++)
        scale[i] = _i < 2 ? 1.0 : 0.2 + rng_uniform(3, rng_stream(RNG_TEST, 7), i);
    struct nmll_columns c = { .n = WROWS, .q = WCOLS, .targets = targets, .F = F, .y = y,
                              .scale = _i < 2 ? NULL : scale, .w = w, .inverse = inverse,
                              .dF = dF, .log_scale = at[0], .log_noise = at[0] + at[WTARGETS] };
    if (targets > 1) {
        c.log_scales = at;
        c.log_ratio = at[WTARGETS];
        c.dscales = d;
    }
    ck_assert_int_eq(nmll_columns(&c, NULL, NULL), ST_OK);
    const double is = by_matrix(targets, F, y, scale, at, at[WTARGETS]);
    ck_assert_double_eq_tol(c.nmll, is, 1e-10 * fabs(is));
    for (size_t i = 0; i < WROWS * WCOLS; i++) {
        const double was = F[i];
        F[i] = was + h;
        const double up = by_matrix(targets, F, y, scale, at, at[WTARGETS]);
        F[i] = was - h;
        const double down = by_matrix(targets, F, y, scale, at, at[WTARGETS]);
        F[i] = was;
        ck_assert_double_eq_tol(dF[i], (up - down) / (2.0 * h), 1e-6 * (1.0 + fabs(dF[i])));
    }
    for (size_t i = 0; i <= WTARGETS; i++) {
        double side[2];
        if (i >= targets && i < WTARGETS)
            continue;
        for (int s = 0; s < 2; s++) { /* one target: amplitude and noise apart, not their ratio */
            const double was = at[i], other = at[WTARGETS];
            at[i] = was + (s ? -h : h);
            at[WTARGETS] -= targets == 1 && i == 0 ? at[0] - was : 0.0;
            side[s] = by_matrix(targets, F, y, scale, at, at[WTARGETS]);
            at[WTARGETS] = other;
            at[i] = was;
        }
        const double slope = (side[0] - side[1]) / (2.0 * h);
        const double got = i == WTARGETS ? c.dnoise : targets > 1 ? d[i] : c.dscale;
        ck_assert_double_eq_tol(got, slope, 1e-6 * (1.0 + fabs(slope)));
    }
}
END_TEST

/* Rows that are repeated, many enough for sums by segments, have the likelihood of rows that weigh
 * as much, but for that of the repetitions; any number of threads has the same bits. */
START_TEST(many_rows_have_the_likelihood_of_few_with_weights)
{
    enum { REPEATS = 300, ROWS = WROWS * REPEATS };
    const double h = 1e-5, at[WTARGETS] = { 0.3, -0.8, 1.1 }, log_ratio = 3.0;
    double few[WROWS * WCOLS], few_y[WROWS * WTARGETS], scale[WROWS], w[WTARGETS * WCOLS];
    double inverse[WCOLS * WCOLS], d[WTARGETS];
    double *F = calloc(ROWS * WCOLS, sizeof *F), *y = calloc(ROWS * WTARGETS, sizeof *y);
    double *dF[2] = { calloc(ROWS * WCOLS, sizeof *F), calloc(ROWS * WCOLS, sizeof *F) };
    struct nmll_columns c = { 0 };
    double nmll[2];

    for (size_t i = 0; i < WROWS * WCOLS; i++)
        few[i] = rng_normal(3, rng_stream(RNG_TEST, 5), i);
    for (size_t i = 0; i < WROWS * WTARGETS; i++)
        few_y[i] = rng_normal(3, rng_stream(RNG_TEST, 6), i);
    for (size_t i = 0; i < WROWS; i++)
        scale[i] = sqrt(REPEATS);
    for (size_t i = 0; i < ROWS * WCOLS; i++)
        F[i] = few[i % (WROWS * WCOLS)];
    for (size_t i = 0; i < ROWS * WTARGETS; i++)
        y[i] = few_y[i / ROWS * WROWS + i % ROWS % WROWS];
    for (size_t t = 0; t < 2; t++) {
        struct pool *pool = pool_new(t ? 3 : 1, NULL);
        c = (struct nmll_columns){ .n = ROWS, .q = WCOLS, .targets = WTARGETS, .F = F, .y = y,
                                   .w = w, .inverse = inverse, .dF = dF[t], .log_scales = at,
                                   .log_ratio = log_ratio, .dscales = d };
        ck_assert_int_eq(nmll_columns(&c, pool, NULL), ST_OK);
        nmll[t] = c.nmll;
        pool_free(pool);
    }
    ck_assert(nmll[0] == nmll[1]);
    ck_assert_mem_eq(dF[0], dF[1], ROWS * WCOLS * sizeof *F);
    double is = by_matrix(WTARGETS, few, few_y, scale, at, log_ratio);
    for (size_t t = 0; t < WTARGETS; t++)
        is += 0.5 * WROWS * ((REPEATS - 1) * (log(2.0 * M_PI) + at[t] + log_ratio) + log(REPEATS));
    ck_assert_double_eq_tol(nmll[0], is, 1e-10 * fabs(is));
    for (size_t i = 0; i < WROWS * WCOLS; i++) {
        const double was = few[i], got = REPEATS * dF[0][i + WROWS * WCOLS * (i % REPEATS)];
        few[i] = was + h;
        const double up = by_matrix(WTARGETS, few, few_y, scale, at, log_ratio);
        few[i] = was - h;
        const double down = by_matrix(WTARGETS, few, few_y, scale, at, log_ratio);
        few[i] = was;
        ck_assert_double_eq_tol(got, (up - down) / (2.0 * h), 1e-5 * (1.0 + fabs(got)));
    }
    free(F), free(y), free(dF[0]), free(dF[1]);
}
END_TEST

/* Rows of a function that a map has to learn. */
enum { N = 3000, D = 3 };
static double X[N * D], Y[N];

static void problem(void)
{
    for (size_t i = 0; i < N * D; i++)
        X[i] = rng_normal(5, rng_stream(RNG_TEST, 3), i);
    for (size_t i = 0; i < N; i++)
        Y[i] = sin(2.0 * X[i * D]) + 0.5 * X[i * D + 1] * X[i * D + 2] +
               0.1 * rng_normal(5, rng_stream(RNG_TEST, 4), i);
}

static void learn(size_t threads, struct cancel *cancel, struct tune_result *r)
{
    struct source_array src;
    struct kernel k;
    struct pool *pool = pool_new(threads, NULL);
    const struct tune_opts o = { .steps = 30, .rate = 0.01, .subsets = 2, .seed = 7 };
    struct ctl ctl = { .cancel = cancel };

    problem();
    source_array_init(&src, X, N, D, D);
    ck_assert_int_eq(kernel_parse("mlp(width=24,depth=2,out=8)", &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(tune_run(&k, &src.base, Y, &o, &(struct tools){ backend_cpu(), pool, &ctl }, r,
                              NULL), ST_OK);
    pool_free(pool);
}

START_TEST(any_number_of_threads_learns_the_same_bits)
{
    struct tune_result one, more;

    learn(1, NULL, &one);
    learn((size_t)_i, NULL, &more);
    ck_assert_ptr_nonnull(one.nets.of[0]);
    ck_assert_uint_eq(one.nets.of[0]->sum, more.nets.of[0]->sum);
    ck_assert_double_eq(one.best.nmll, more.best.nmll);
    ck_assert_double_eq(one.best.noise, more.best.noise);
    ck_assert_double_lt(one.best.nmll, one.trace[0].nmll);
    tune_result_free(&one);
    tune_result_free(&more);
}
END_TEST

/* What the operator makes of rows are the features of the net, and the exact value their product;
 * the NMLL that the tuning reports is that of the kernel matrix. */
START_TEST(the_operator_has_the_features_that_were_learned)
{
    enum { ROWS = 40, Q = 8 };
    struct tune_result r;
    struct source_array src;
    struct kernel k;
    double z[ROWS * Q], f[ROWS * Q];

    learn(2, NULL, &r);
    ck_assert_int_eq(kernel_parse("mlp(width=24,depth=2,out=8)", &k, NULL, NULL), ST_OK);
    kernel_learned_take(&k, &r.nets);
    source_array_init(&src, X, ROWS, D, D);
    struct featmap *fm = featmap_new(&k, D, Q, 1, NULL);
    ck_assert_ptr_nonnull(fm);
    const struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct fop *op = fop_new(backend_cpu(), fm, &src.base, &fo, NULL);
    ck_assert_ptr_nonnull(op);
    ck_assert_int_eq(fop_tile64(op, 0, ROWS, z, Q, NULL), ST_OK);
    ck_assert_int_eq(net_rows(r.nets.of[0], ROWS, X, D, f, Q, NULL), ST_OK);
    for (size_t i = 0; i < ROWS * Q; i++) /* single precision, kept once more in it */
        ck_assert_double_eq_tol(z[i], f[i], 1e-6 * (1.0 + fabs(f[i])));
    double dot = 0.0;
    for (size_t j = 0; j < Q; j++)
        dot += f[j] * f[3 * Q + j];
    ck_assert_double_eq_tol(kernel_exact(&k, NULL, D, X, X + 3 * D, NULL), dot,
                            1e-5 * (1.0 + fabs(dot)));
    fop_free(op);
    featmap_free(fm);
    tune_result_free(&r);
}
END_TEST

START_TEST(a_block_is_refused_when_a_bit_of_it_changed)
{
    const struct net_shape s =
        _i ? (struct net_shape){ .inputs = 18, .depth = 1, .out = 2, .norm = NET_BATCH,
                                 .image = { 2, 3, 3, { 2 } } }
           : (struct net_shape){ .inputs = 2, .width = 3, .depth = 1, .out = 2, .norm = NET_LAYER };
    struct net_layer layer[NET_DEPTH_MOST + 1];
    float w[128];
    struct err err = { 0 };
    const size_t n = net_layers(&s, layer);

    for (size_t i = 0; i < n; i++)
        w[i] = (float)i / 7.0f;
    const struct net *net = net_keep(&s, w, NULL);
    ck_assert_ptr_nonnull(net);
    ck_assert_ptr_eq(net_keep(&s, w, NULL), net);
    ck_assert_ptr_eq(net_find(net->sum), net);
    unsigned char *bytes = malloc(net_bytes(net));
    net_write(net, bytes);
    ck_assert_ptr_eq(net_read(bytes, net_bytes(net), net->sum, NULL), net);
    for (size_t i = 0; i < net_bytes(net); i += 5) {
        bytes[i] ^= 1;
        ck_assert_ptr_null(net_read(bytes, net_bytes(net), net->sum, &err));
        bytes[i] ^= 1;
    }
    ck_assert_str_eq(err.name, "weights");
    ck_assert_ptr_null(net_read(bytes, net_bytes(net) - 4, net->sum, &err));
    free(bytes);
}
END_TEST

START_TEST(expressions_name_their_weights)
{
    struct kernel k, again;
    struct buf text = { 0 };
    struct tune_result r;
    struct err err = { 0 };

    learn(1, NULL, &r);
    ck_assert_int_eq(kernel_parse("mlp(width=24,out=8)", &k, NULL, NULL), ST_OK);
    kernel_learned_take(&k, &r.nets);
    kernel_print(&k, &text);
    ck_assert_int_eq(kernel_parse(buf_str(&text), &again, NULL, NULL), ST_OK);
    ck_assert_ptr_eq(again.term[0].net, r.nets.of[0]);
    buf_free(&text);
    ck_assert_int_eq(kernel_parse("mlp(weights=0123456789abcdef)", &k, NULL, &err), ST_NOT_FOUND);
    ck_assert_str_eq(err.name, "weights");
    ck_assert_int_eq(kernel_parse("mlp * rbf", &k, NULL, &err), ST_UNSUPPORTED);
    ck_assert_str_eq(err.name, "learned");
    ck_assert_int_eq(kernel_parse("mlp(norm=group)", &k, NULL, &err), ST_USAGE);
    ck_assert_int_eq(kernel_parse("mlp", &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_learned_ready(&k, 3, &err), ST_STATE);
    struct featmap *fm = featmap_new(&k, 3, 64, 1, NULL);
    struct source_array src;
    source_array_init(&src, X, N, D, D);
    const struct fop_opts fo = { .precision = PREC_DOUBLE };
    err = (struct err){ 0 };
    ck_assert_ptr_null(fop_new(backend_cpu(), fm, &src.base, &fo, &err));
    ck_assert_int_eq(err.code, ST_STATE);
    featmap_free(fm);
    tune_result_free(&r);
}
END_TEST

struct stopper { struct cancel cancel; size_t after; };

static void stop_after(void *ctx, const struct tick *t)
{
    struct stopper *s = ctx;

    atomic_store(&s->cancel.stop, t->done >= s->after);
}

/* A tuning of very many steps that is stopped early has looked at the rows kept aside, which bound
 * the noise: without a look, few rows are learned by heart, and the likelihood of all of them is
 * much lower than that of one constant and one variance (1.42 a row for scaled targets). */
START_TEST(a_stop_long_before_the_end_keeps_a_model_of_use)
{
    enum { FEW = 240 };
    struct source_array src;
    struct kernel k;
    struct tune_result r;
    struct stopper stop = { .after = 400 };
    const struct ctl ctl = { &stop.cancel, stop_after, &stop };
    const struct tune_opts o = { .steps = 1000000, .seed = 7 };

    problem();
    source_array_init(&src, X, FEW, D, D);
    ck_assert_int_eq(kernel_parse("mlp(width=64,out=16)", &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(tune_run(&k, &src.base, Y, &o, &(struct tools){ backend_cpu(), NULL, &ctl },
                              &r, NULL), ST_OK);
    ck_assert_int_eq(r.why, TUNE_CANCELLED);
    ck_assert_uint_eq(r.evaluations, 400);
    ck_assert_uint_eq(r.aside.rows, FEW / 10);
    ck_assert_uint_gt(r.aside.step, 0);
    ck_assert_double_lt(r.best.nmll / FEW, 1.42);
    tune_result_free(&r);
}
END_TEST

START_TEST(a_rate_that_diverges_is_halved)
{
    struct source_array src;
    struct kernel k;
    struct tune_result r;
    const struct tune_opts o = { .steps = 40, .rate = 30.0, .subsets = 2, .seed = 7 };

    problem();
    source_array_init(&src, X, N, D, D);
    ck_assert_int_eq(kernel_parse("mlp(width=24,depth=2,out=8,norm=none)", &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(tune_run(&k, &src.base, Y, &o, &(struct tools){ backend_cpu(), NULL, NULL },
                              &r, NULL), ST_OK);
    ck_assert_uint_gt(r.halved, 0);
    ck_assert(isfinite(r.best.nmll));
    ck_assert_ptr_nonnull(strstr(r.verdict, "the rate was halved"));
    tune_result_free(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("learn");
    TCase *t = tcase_create("learn");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, golden_features_likelihood_and_gradient);
    tcase_add_loop_test(t, gradients_are_differences, 0, 14);
    tcase_add_test(t, a_row_of_zeros_stays_zero);
    tcase_add_loop_test(t, targets_and_weights_have_the_likelihood_of_their_matrix, 0, 4);
    tcase_add_test(t, many_rows_have_the_likelihood_of_few_with_weights);
    tcase_add_loop_test(t, any_number_of_threads_learns_the_same_bits, 2, 4);
    tcase_add_test(t, the_operator_has_the_features_that_were_learned);
    tcase_add_loop_test(t, a_block_is_refused_when_a_bit_of_it_changed, 0, 2);
    tcase_add_test(t, expressions_name_their_weights);
    tcase_add_test(t, a_stop_long_before_the_end_keeps_a_model_of_use);
    tcase_add_test(t, a_rate_that_diverges_is_halved);
    suite_add_tcase(s, t);
    return support_run(s);
}
