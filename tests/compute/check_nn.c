/* tests/compute/check_nn.c -- Gaussian processes on nearest rows: the exact one where all rows are
 * near, NumPy's figures where they are not, ties, repeated rows, sequences and counts, weights,
 * several targets, threads, and a stop. */
#include "counts.h"
#include "fits.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/models/nearest.h"
#include "compute/pool.h"
#include "compute/rng.h"
#include "compute/linalg/blas.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Figures of NumPy: rows i = 1 .. 120 and 5 rows to predict, kernel rbf, 11 neighbours by
 * np.lexsort((i, -k)), np.linalg.solve of their system, with weights 1 and 1 + (i % 3) / 2. */
enum { ROWS = 120, NEW = 5, NEAR = 11 };
static const double numpy[2][NEW][2] = {
    { { 0.452185631392317, 0.107334852343602 },
      { -0.502816396914714, 0.0224026982282197 },
      { 0.90336043781434, 0.0164144593186941 },
      { 0.984985567408557, 0.0502238747179145 },
      { 0.445462916702565, 0.0420467220779919 } },
    { { 0.423776328977562, 0.100397589279307 },
      { -0.550579082838391, 0.0161325652634925 },
      { 0.89058436092787, 0.0138708237462555 },
      { 0.978246277507201, 0.0457711627185939 },
      { 0.432294693709374, 0.024187679074019 } },
};
/* Every row from the 11 nearest of the others, at noise^2 / amplitude^2 = 0.05 / 1.7: the square
 * root of the mean of e^2 / v, and the mean NLPD there. */
static const double numpy_amplitude = 0.742670051106551, numpy_nlpd = -0.305486399171854;

static void numpy_row(double i, double *x)
{
    x[0] = sin(1.3 * i);
    x[1] = cos(0.7 * i + 0.4);
    x[2] = sin(0.11 * i * i);
}

struct small { double X[3 * ROWS], y[ROWS], Xt[3 * NEW], scale[ROWS];
               struct source_array src, test; };

static void make_small(struct small *s)
{
    for (size_t r = 0; r < ROWS; r++) {
        const double i = (double)r + 1.0, *x = s->X + 3 * r;
        numpy_row(i, s->X + 3 * r);
        s->y[r] = sin(3 * x[0]) + x[1] * x[2] + 0.1 * cos(17.0 * i);
        s->scale[r] = sqrt(1.0 + 0.5 * (double)((r + 1) % 3));
    }
    for (size_t r = 0; r < NEW; r++)
        numpy_row((double)r + 201.5, s->Xt + 3 * r);
    source_array_init(&s->src, s->X, ROWS, 3, 3);
    source_array_init(&s->test, s->Xt, NEW, 3, 3);
}

static struct fit_opts nn_options(const char *kernel, double neighbours)
{
    struct fit_opts o = options(kernel, "nn", 0);

    o.solver_params[0] = neighbours;
    ck_assert_int_eq(kernel_bind(&o.kernel, D, (size_t[KERNEL_MAX_HP]){ 0 }, NULL), ST_OK);
    return o;
}

static void predict(const struct model *m, const struct source *test, struct pool *pool,
                    double *mean, double *var)
{
    struct err err = { 0 };
    const struct tools on = { backend_cpu(), pool, NULL };

    ck_assert_msg(model_predict(m, test, mean, var, &on, &err) == ST_OK, "%s", err.msg);
}

START_TEST(predictions_are_those_of_numpy)
{
    struct small s;
    struct fit_info info;
    struct fit_opts o = nn_options("rbf", NEAR);
    double mean[NEW], var[NEW];

    make_small(&s);
    if (_i)
        s.src.base.row_scale = s.scale;
    o.hp[0] = 0.8;
    o.amplitude = sqrt(1.7);
    o.noise = sqrt(0.05);
    struct model *m = fit(&s.src.base, s.y, &o, NULL, &info);
    predict(m, &s.test.base, NULL, mean, var);
    for (size_t i = 0; i < NEW; i++) {
        ck_assert_double_eq_tol(mean[i], numpy[_i][i][0], 1e-9);
        ck_assert_double_eq_tol(var[i], numpy[_i][i][1], 1e-9);
    }
    ck_assert_uint_eq(info.neighbours, NEAR);
    model_unref(m);
}
END_TEST

START_TEST(left_out_rows_give_the_amplitude)
{
    struct small s;
    struct fit_info info, other;
    struct fit_opts o = nn_options("rbf", NEAR);

    make_small(&s);
    o.hp[0] = 0.8;
    o.amplitude = sqrt(1.7);
    o.noise = sqrt(0.05);
    o.keep_scale = false;
    o.keep_ratio = true;
    o.scale = SCALE_LIKELIEST;
    struct model *m = fit(&s.src.base, s.y, &o, NULL, &info);
    ck_assert_double_eq_tol(m->amplitude, numpy_amplitude, 1e-9);
    ck_assert_double_eq_tol(info.left_out_nlpd, numpy_nlpd, 1e-9);
    ck_assert_uint_eq(info.left_out_rows, ROWS);
    model_unref(m);
    /* A free ratio is a least one: its neighbours on either side are no better. */
    o.keep_ratio = false;
    m = fit(&s.src.base, s.y, &o, NULL, &info);
    ck_assert(info.left_out_nlpd < numpy_nlpd + 1e-12);
    o.keep_ratio = true;
    for (int way = -1; way <= 1; way += 2) {
        o.amplitude = m->amplitude;
        o.noise = m->noise * pow(1.5, 0.5 * way);
        struct model *beside = fit(&s.src.base, s.y, &o, NULL, &other);
        ck_assert(other.left_out_nlpd > info.left_out_nlpd - 1e-6);
        model_unref(beside);
    }
    model_unref(m);
}
END_TEST

/* With as many neighbours as rows: the exact model. */
static const char *const all_kernels[] = {
    "rbf", "matern(nu=3/2,ard)", "rbf + linear", "rbf * periodic", "poly(degree=2)",
    "rbf(inputs=1:2) * matern(nu=5/2,inputs=3:3) + linear",
};

START_TEST(all_rows_are_the_exact_model)
{
    struct prob *p = prob_make();
    struct fit_info info;
    struct fit_opts o = nn_options(all_kernels[_i], 20000);
    double mean[2][T], var[2][T];

    for (size_t h = 0; h < kernel_nhp(&o.kernel); h++)
        o.hp[h] = 0.8 + 0.1 * (double)h;
    p->src.base.n = 200;
    for (size_t k = 0; k < 2; k++) {
        o.solver = k ? "exact" : "nn";
        struct model *m = fit(&p->src.base, p->y, &o, NULL, &info);
        predict(m, &p->test.base, NULL, mean[k], var[k]);
        model_unref(m);
    }
    for (size_t i = 0; i < T; i++) {
        ck_assert_double_eq_tol(mean[0][i], mean[1][i], 1e-8);
        ck_assert_double_eq_tol(var[0][i], var[1][i], 1e-8);
    }
    free(p);
}
END_TEST

/* Neighbours by correlations of all pairs, for kernels that tiles compute in single and in double
 * precision. */
static int by_correlation(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] > y[0] ? -1 : x[0] < y[0] ? 1 : x[1] < y[1] ? -1 : 1;
}

static void check_nearest(const struct exact_rows *r, size_t rows, const double *Y,
                          const size_t *without, size_t m)
{
    struct nearest *s = NULL;
    double *all = malloc(r->n * 2 * sizeof *all);
    size_t *at = calloc(NEAREST_GROUP * m, sizeof *at);

    ck_assert_int_eq(nearest_open(r, &s, NULL), ST_OK);
    struct nearest_room *room = nearest_room_new(s, m, NULL);
    const size_t n = nearest_find(s, room, rows, Y, r->d, without, at);
    for (size_t t = 0; t < rows; t++) {
        const double *y = Y + t * r->d;
        size_t count = 0;
        for (size_t i = 0; i < r->n; i++) {
            const double *x = r->X + i * r->d;
            if (without && without[t] == i)
                continue;
            all[2 * count] = kernel_exact(r->k, r->hp, r->d, x, y, NULL) *
                             (1.0 / sqrt(kernel_exact(r->k, r->hp, r->d, x, x, NULL)));
            all[2 * count++ + 1] = (double)i;
        }
        qsort(all, count, 2 * sizeof *all, by_correlation);
        ck_assert_uint_eq(n, count < m ? count : m);
        for (size_t i = 0; i < n; i++) {
            bool there = false;
            for (size_t j = 0; j < n; j++)
                there |= at[t * m + j] == (size_t)all[2 * i + 1];
            ck_assert_msg(there, "row %zu: neighbour %zu, row %.0f, is missing", t, i,
                          all[2 * i + 1]);
            ck_assert(i == 0 || at[t * m + i] > at[t * m + i - 1]);
        }
    }
    nearest_room_free(room);
    nearest_close(s);
    free(all), free(at);
}

START_TEST(neighbours_are_the_most_correlated)
{
    struct prob *p = prob_make();
    const struct fit_opts o = nn_options(all_kernels[_i], 1);
    double hp[KERNEL_MAX_HP];
    static const size_t without[5] = { 0, 1, 2, 3, 4 };

    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = 0.7;
    const struct exact_rows r = { .k = &o.kernel, .hp = hp, .X = p->X, .n = N, .d = D };
    check_nearest(&r, 12, p->Xt, NULL, 40);
    check_nearest(&r, 1, p->Xt, NULL, 1);
    check_nearest(&r, 5, p->X, without, 40);
    check_nearest(&r, 5, p->X, without, N);
    free(p);
}
END_TEST

START_TEST(ties_go_by_row_number)
{
    const struct fit_opts o = nn_options("matern(nu=5/2)", 1);
    const double hp[1] = { 1.0 };
    double X[600], Y[1] = { 0.0 };

    for (size_t i = 0; i < 600; i++) /* every distance 120 times, and most rows far away */
        X[i] = (double)(i % 5) - 2.0;
    const struct exact_rows r = { .k = &o.kernel, .hp = hp, .X = X, .n = 600, .d = 1 };
    check_nearest(&r, 1, Y, NULL, 7);
    check_nearest(&r, 1, Y, NULL, 130);
    check_nearest(&r, 1, Y, (const size_t[]){ 7 }, 130);
}
END_TEST

START_TEST(repeated_rows_and_hardly_any_noise)
{
    struct small s;
    struct fit_info info;
    struct fit_opts o = nn_options("rbf", 20);
    double mean[NEW], var[NEW];

    make_small(&s);
    for (size_t i = 40; i < ROWS; i++)
        memcpy(s.X + 3 * i, s.X + 3 * (i % 40), 3 * sizeof *s.X);
    o.noise = 1e-7;
    struct model *m = fit(&s.src.base, s.y, &o, NULL, &info);
    predict(m, &s.test.base, NULL, mean, var);
    for (size_t i = 0; i < NEW; i++) {
        ck_assert(isfinite(mean[i]));
        ck_assert(var[i] >= 0.0 && var[i] <= 1.0);
    }
    model_unref(m);
}
END_TEST

/* Rows of symbols of unequal lengths, and of counts. */
enum { PARTS = 90, LONG = 14, PLACES = 60 };

static void check_parts(const struct kernel *k, double *x, size_t d,
                        const struct row_layout *layout)
{
    struct source_array src, test;
    struct fit_info info;
    struct fit_opts o = { .solver = "nn", .kernel = *k, .amplitude = 1.0, .noise = 0.3,
                          .keep_scale = true, .seed = 3 };
    double y[PARTS], mean[2][PARTS], var[2][PARTS];

    for (size_t i = 0; i < PARTS; i++)
        y[i] = 0.1 * x[i * d] + sin((double)i);
    for (size_t h = 0; h < kernel_nhp(k); h++)
        o.hp[h] = 1.3;
    source_array_init(&src, x, 70, d, d);
    source_array_init(&test, x + 70 * d, PARTS - 70, d, d);
    src.base.layout = test.base.layout = *layout;
    for (size_t i = 0; i < 2; i++) {
        o.solver = i ? "exact" : "nn";
        struct model *m = fit(&src.base, y, &o, NULL, &info);
        predict(m, &test.base, NULL, mean[i], var[i]);
        model_unref(m);
    }
    for (size_t i = 0; i + 70 < PARTS; i++) {
        ck_assert_double_eq_tol(mean[0][i], mean[1][i], 1e-8);
        ck_assert_double_eq_tol(var[0][i], var[1][i], 1e-8);
    }
    const struct exact_rows r = { .k = k, .hp = o.hp, .X = x, .n = 70, .d = d };
    check_nearest(&r, 12, x + 70 * d, NULL, 9);
}

START_TEST(sequences_have_neighbours)
{
    static const char *const texts[] = { "conv(rbf,width=3)", "spectrum(n=2)",
                                         "wd(n=3)" };
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_SYMBOLS, 4, 0 } } };
    const size_t d = 1 + LONG;
    double *x = mem_calloc(PARTS, d * sizeof *x, "rows", NULL);
    struct kernel k;
    struct err err = { 0 };

    for (size_t i = 0; i < PARTS; i++) {
        const bool fixed = _i == 2;
        x[i * d] = fixed ? LONG : (double)(5 + rng_below(5, RNG_TEST, i, LONG - 4));
        for (size_t p = 0; p < LONG; p++)
            x[i * d + 1 + p] = (double)rng_below(6, RNG_TEST, i * LONG + p, 4);
    }
    ck_assert_msg(kernel_parse(texts[_i], &k, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(kernel_bind_rows(&k, &rows, NULL, &err) == ST_OK, "%s", err.msg);
    check_parts(&k, x, d, &rows);
    free(x);
}
END_TEST

START_TEST(counts_have_neighbours)
{
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } } };
    const struct kernel k = counts_kernel("tanimoto", 0);
    const size_t d = 1 + 2 * PLACES;
    double *x = mem_calloc(PARTS, d * sizeof *x, "rows", NULL), v[PLACES];

    for (size_t i = 0; i < PARTS; i++) {
        for (size_t p = 0; p < PLACES; p++)
            v[p] = rng_uniform(7, RNG_TEST, i * PLACES + p) < 0.2
                       ? 1.0 + (double)rng_below(8, RNG_TEST, i * PLACES + p, 5)
                       : 0.0;
        counts_write(v, PLACES, 10737418.0, x + i * d);
    }
    check_parts(&k, x, d, &rows);
    free(x);
}
END_TEST

START_TEST(threads_and_other_rows_change_no_bit)
{
    struct prob *p = prob_make();
    double mean[3][2 * T], var[3][2 * T], alone[2], spread[2], y[2 * N];
    struct source_array one;

    for (size_t i = 0; i < N; i++) { /* two targets */
        y[i] = p->y[i];
        y[N + i] = cos(p->y[i]) + p->X[i * D];
    }
    for (size_t k = 0; k < 3; k++) {
        struct pool *pool = pool_new(k + 1, NULL);
        struct fit_info info;
        struct fit_opts o = nn_options("matern(nu=3/2)", 33);
        o.targets = 2;
        o.keep_scale = false;
        o.scale = SCALE_LEFT_OUT;
        struct model *m = fit(&p->src.base, y, &o, pool, &info);
        predict(m, &p->test.base, pool, mean[k], var[k]);
        ck_assert(memcmp(mean[k], mean[0], sizeof mean[0]) == 0);
        ck_assert(memcmp(var[k], var[0], sizeof var[0]) == 0);
        for (size_t i = 0; i < T; i += 37) {
            source_array_init(&one, p->Xt + i * D, 1, D, D);
            predict(m, &one.base, pool, alone, spread);
            ck_assert(alone[0] == mean[0][i] && alone[1] == mean[0][T + i]);
            ck_assert(spread[0] == var[0][i] && spread[1] == var[0][T + i]);
        }
        model_unref(m);
        pool_free(pool);
    }
    free(p);
}
END_TEST

/* Every allocation of a fit and a prediction fails once: an error, and no model or crash. */
START_TEST(short_memory_is_an_error)
{
    struct small s;
    struct fit_info info;
    struct fit_opts o = nn_options("rbf", NEAR);
    const struct tools on = { backend_cpu(), NULL, NULL };
    double mean[NEW], var[NEW];
    size_t failures = 0;

    make_small(&s);
    s.src.base.row_scale = s.scale;
    for (size_t i = 1; i < 80; i++) {
        struct model *m = NULL;
        struct err err = { 0 };
        mem_fail_after_for_tests(i);
        enum status rc = model_fit(&s.src.base, s.y, &o, &on, &m, &info, NULL, &err);
        if (rc == ST_OK)
            rc = model_predict(m, &s.test.base, mean, var, &on, &err);
        mem_fail_after_for_tests(0);
        ck_assert(rc == ST_OK || rc == ST_NOMEM);
        failures += rc == ST_NOMEM;
        model_unref(m);
    }
    ck_assert(failures > 15);
}
END_TEST

struct stopper { struct cancel cancel; size_t ticks, at; };

static void stop_at(void *ctx, const struct tick *t)
{
    struct stopper *s = ctx;

    (void)t;
    if (++s->ticks == s->at)
        atomic_store(&s->cancel.stop, true);
}

START_TEST(fits_and_predictions_can_be_stopped)
{
    struct prob *p = prob_make();
    struct stopper s = { .at = 3 };
    const struct ctl ctl = { .cancel = &s.cancel, .tick = stop_at, .ctx = &s };
    const struct tools on = { backend_cpu(), NULL, &ctl };
    struct fit_opts o = nn_options("rbf", 50);
    struct fit_info info;
    struct model *m = NULL;
    double mean[T], var[T];

    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &on, &m, &info, NULL, NULL), ST_CANCELLED);
    ck_assert_ptr_null(m);
    m = fit(&p->src.base, p->y, &o, NULL, &info);
    s = (struct stopper){ .at = 2 };
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var, &on, NULL), ST_CANCELLED);
    ck_assert_uint_eq(s.ticks, 2);
    model_unref(m);
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nn");
    TCase *t = tcase_create("nn");
    const int kernels = sizeof all_kernels / sizeof *all_kernels;

    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, predictions_are_those_of_numpy, 0, 2);
    tcase_add_test(t, left_out_rows_give_the_amplitude);
    tcase_add_loop_test(t, all_rows_are_the_exact_model, 0, kernels);
    tcase_add_loop_test(t, neighbours_are_the_most_correlated, 0, kernels);
    tcase_add_test(t, ties_go_by_row_number);
    tcase_add_test(t, repeated_rows_and_hardly_any_noise);
    tcase_add_loop_test(t, sequences_have_neighbours, 0, 3);
    tcase_add_test(t, counts_have_neighbours);
    tcase_add_test(t, threads_and_other_rows_change_no_bit);
    tcase_add_test(t, short_memory_is_an_error);
    tcase_add_test(t, fits_and_predictions_can_be_stopped);
    suite_add_tcase(s, t);
    return support_run(s);
}
