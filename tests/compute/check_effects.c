/* tests/compute/check_effects.c -- partial dependence, the variance of averages, permutations and
 * interactions, against closed forms and dense matrices that are made here. */
#include "fits.h"

#include "compute/backend.h"
#include "compute/features/fop.h"
#include "compute/models/model_impl.h"
#include "compute/rng.h"
#include "compute/stats/effects.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, PLACES = 3 };

static struct tools tools(void)
{
    return (struct tools){ backend_cpu(), NULL, NULL };
}

/* x = A^-1 b by elimination with pivoting (n x n, row-major); destroys A. */
static void eliminate(size_t n, double *A, double *b)
{
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k; i < n; i++)
            best = fabs(A[i * n + k]) > fabs(A[best * n + k]) ? i : best;
        for (size_t j = 0; j < n; j++) {
            const double t = A[k * n + j];
            A[k * n + j] = A[best * n + j];
            A[best * n + j] = t;
        }
        const double t = b[k];
        b[k] = b[best];
        b[best] = t;
        for (size_t i = k + 1; i < n; i++) {
            const double f = A[i * n + k] / A[k * n + k];
            for (size_t j = k; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= A[k * n + j] * b[j];
        b[k] /= A[k * n + k];
    }
}

/* The first n rows of the problem with targets 2 x0 - x1 + 0.1 noise. */
static void linear_targets(const struct prob *p, size_t n, double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 2.0 * p->X[i * D] - p->X[i * D + 1] +
               0.1 * rng_normal(5, rng_stream(RNG_TEST, 7), i);
}

/* Ridge regression: w = (X'X + ratio I)^-1 X'y. */
static void ridge(const struct prob *p, const double *y, size_t n, double ratio, double w[D])
{
    double A[D * D] = { 0 };

    memset(w, 0, D * sizeof *w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < D; j++) {
            w[j] += p->X[i * D + j] * y[i];
            for (size_t k = 0; k < D; k++)
                A[j * D + k] += p->X[i * D + j] * p->X[i * D + k];
        }
    for (size_t j = 0; j < D; j++)
        A[j * D + j] += ratio;
    eliminate(D, A, w);
}

static struct effects_ask ask_of(const struct model *m, const struct source *like, const double *x,
                                 size_t n, const struct tools *on)
{
    return (struct effects_ask){ .m = m, .rows = { like, x, n }, .on = on };
}

/* The effect of an input of a linear kernel is a line with the slope of ridge regression. */
START_TEST(the_effect_of_a_linear_kernel_is_its_slope)
{
    struct prob *p = prob_make();
    const struct tools on = tools();
    double y[60], w[D], each[PLACES * ROWS], mean[PLACES] = { 0 };
    const size_t from[PLACES] = { 20, 31, 42 };
    const bool moves[D] = { true, false, false };
    struct source_array src;
    struct fit_info info;
    struct fit_opts o = options("linear", _i ? "direct" : "exact", _i ? D + 1 : 0);

    o.precision = PREC_DOUBLE;
    linear_targets(p, 60, y);
    source_array_init(&src, p->X, 60, D, D);
    struct model *m = fit(&src.base, y, &o, NULL, &info);
    ridge(p, y, 60, model_ratio(m->amplitude, m->noise), w);
    const struct effects_ask q = ask_of(m, &src.base, p->Xt, ROWS, &on);
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, NULL, NULL), ST_OK);
    for (size_t v = 0; v < PLACES; v++)
        for (size_t i = 0; i < ROWS; i++) {
            mean[v] += each[v * ROWS + i] / ROWS;
            const double want = w[0] * p->X[from[v] * D] + w[1] * p->Xt[i * D + 1] +
                                w[2] * p->Xt[i * D + 2];
            ck_assert_double_le(fabs(each[v * ROWS + i] - want), 1e-9);
        }
    for (size_t v = 1; v < PLACES; v++)
        ck_assert_double_le(fabs((mean[v] - mean[0]) / (p->X[from[v] * D] - p->X[from[0] * D]) -
                                 w[0]),
                            1e-8);
    model_unref(m);
    free(p);
}
END_TEST

/* Ridge regression is linear in the targets, so that the difference of two functions is that of
 * the targets' difference. */
START_TEST(the_difference_of_two_functions)
{
    struct prob *p = prob_make();
    const struct tools on = tools();
    double y[120], apart[60], w[D], each[PLACES * ROWS];
    const size_t from[PLACES] = { 20, 31, 42 };
    const bool moves[D] = { false, true, true };
    struct source_array src;
    struct fit_info info;
    struct fit_opts o = options("linear", _i ? "direct" : "exact", _i ? D + 1 : 0);

    o.precision = PREC_DOUBLE;
    o.targets = 2;
    linear_targets(p, 60, y);
    for (size_t i = 0; i < 60; i++) {
        y[60 + i] = sin((double)i) - 2.0 * p->X[i * D + 1];
        apart[i] = y[60 + i] - y[i];
    }
    source_array_init(&src, p->X, 60, D, D);
    struct model *m = fit(&src.base, y, &o, NULL, &info);
    ridge(p, apart, 60, model_ratio(m->amplitude, m->noise), w);
    struct effects_ask q = ask_of(m, &src.base, p->Xt, ROWS, &on);
    q.target = 1, q.less = true, q.other = 0;
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, NULL, NULL), ST_OK);
    for (size_t v = 0; v < PLACES; v++)
        for (size_t i = 0; i < ROWS; i++)
            ck_assert_double_le(fabs(each[v * ROWS + i] - w[0] * p->Xt[i * D] -
                                     w[1] * p->X[from[v] * D + 1] - w[2] * p->X[from[v] * D + 2]),
                                1e-9);
    model_unref(m);
    free(p);
}
END_TEST

/* The rows of an effect: the sample with input 1 of each place. */
static void moved(const struct prob *p, const size_t *from, double *x)
{
    memcpy(x, p->Xt, ROWS * D * sizeof *x);
    for (size_t i = 0; i < ROWS; i++)
        x[i * D + 1] = p->X[*from * D + 1];
}

/* Exact: 1'(Kss - Ks (K + r I)^-1 Ks') 1 / n^2, of kernel values alone. */
static double exact_truth(const struct model *m, const struct prob *p, size_t n, const double *x)
{
    double *A = calloc(n * n, sizeof *A), *c = calloc(n, sizeof *c), *b = calloc(n, sizeof *b);
    double prior = 0.0, q = 0.0;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            A[i * n + j] = kernel_exact(&m->kernel, m->hp, D, p->X + i * D, p->X + j * D, NULL) +
                           (i == j) * model_ratio(m->amplitude, m->noise);
        for (size_t s = 0; s < ROWS; s++)
            c[i] += kernel_exact(&m->kernel, m->hp, D, p->X + i * D, x + s * D, NULL) / ROWS;
        b[i] = c[i];
    }
    for (size_t s = 0; s < ROWS; s++)
        for (size_t t = 0; t < ROWS; t++)
            prior += kernel_exact(&m->kernel, m->hp, D, x + s * D, x + t * D, NULL) /
                     (ROWS * ROWS);
    eliminate(n, A, b);
    for (size_t i = 0; i < n; i++)
        q += c[i] * b[i];
    free(A);
    free(b);
    free(c);
    return m->amplitude * m->amplitude * (prior - q);
}

/* Features: noise^2 zbar' (Z'Z + r I)^-1 zbar, with Z from the map itself. */
static double features_truth(const struct model *m, const struct prob *p, size_t n,
                             const double *x)
{
    const size_t M = m->Mv;
    const struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct source_array all;
    struct model_map z = { .f = NULL };
    double *X = malloc((n + ROWS) * D * sizeof *X), *Z = malloc((n + ROWS) * M * sizeof *Z),
           *A = calloc(M * M, sizeof *A), *c = calloc(M, sizeof *c), *b = calloc(M, sizeof *b);
    double q = 0.0;

    memcpy(X, p->X, n * D * sizeof *X);
    memcpy(X + n * D, x, ROWS * D * sizeof *X);
    source_array_init(&all, X, n + ROWS, D, D);
    ck_assert_int_eq(model_open(m, M, &all.base, &fo, backend_cpu(), &z, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(z.f, 0, n + ROWS, Z, M, NULL), ST_OK);
    model_close(&z);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < M; j++)
            for (size_t k = 0; k < M; k++)
                A[j * M + k] += Z[i * M + j] * Z[i * M + k];
    for (size_t j = 0; j < M; j++) {
        A[j * M + j] += model_ratio(m->amplitude, m->noise);
        for (size_t s = 0; s < ROWS; s++)
            c[j] += Z[(n + s) * M + j] / ROWS;
        b[j] = c[j];
    }
    eliminate(M, A, b);
    for (size_t j = 0; j < M; j++)
        q += c[j] * b[j];
    free(X);
    free(Z);
    free(A);
    free(b);
    free(c);
    return m->noise * m->noise * q;
}

/* The band is that of the joint posterior: exact, by features, and with fewer features for the
 * variance than for the mean. */
START_TEST(the_band_is_that_of_the_joint_posterior)
{
    static const struct { const char *solver; size_t features, count; } how[] = {
        { "exact", 0, 0 }, { "direct", 64, 0 }, { "direct", 128, 32 }
    };
    struct prob *p = prob_make();
    const struct tools on = tools();
    enum { SMALL = 40 };
    double each[PLACES * ROWS], var[PLACES], x[ROWS * D], rows[PLACES * ROWS];
    const size_t from[PLACES] = { 7, 100, 300 };
    const bool moves[D] = { false, true, false };
    struct source_array src;
    struct fit_info info;
    struct fit_opts o = options("rbf", how[_i].solver, how[_i].features);

    o.precision = PREC_DOUBLE;
    o.variance = how[_i].count ? VAR_COUNT : VAR_AUTO;
    o.variance_count = how[_i].count;
    source_array_init(&src, p->X, SMALL, D, D);
    struct model *m = fit(&src.base, p->y, &o, NULL, &info);
    const struct effects_ask q = ask_of(m, &src.base, p->Xt, ROWS, &on);
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, var, NULL), ST_OK);
    for (size_t v = 0; v < PLACES; v++) {
        double alone[ROWS], mean[ROWS], widest = 0.0;
        struct source_array one;
        moved(p, &from[v], x);
        const double want = _i ? features_truth(m, p, SMALL, x) : exact_truth(m, p, SMALL, x);
        ck_assert_msg(near_rel(var[v], want, 1e-8), "%g, not %g", var[v], want);
        source_array_init(&one, x, ROWS, D, D);
        ck_assert_int_eq(model_predict(m, &one.base, mean, alone, &on, NULL), ST_OK);
        for (size_t i = 0; i < ROWS; i++) {
            ck_assert_double_le(fabs(mean[i] - each[v * ROWS + i]), 1e-12);
            widest = fmax(widest, alone[i]);
        }
        ck_assert_double_le(var[v], widest); /* an average is no less certain than its parts */
    }
    /* the same bits with threads */
    struct pool *pool = pool_new(3, NULL);
    const struct tools threads = { backend_cpu(), pool, NULL };
    struct effects_ask r = q;
    double again[PLACES];
    r.on = &threads;
    ck_assert_int_eq(effects_curve(&r, moves, p->X, from, PLACES, rows, again, NULL), ST_OK);
    ck_assert_mem_eq(again, var, sizeof var);
    ck_assert_mem_eq(rows, each, sizeof each);
    pool_free(pool);
    model_unref(m);
    free(p);
}
END_TEST

/* Over random permutations of input j of a linear model with weights w and residuals e the mean
 * squared error rises by 2 w_j^2 var(x_j) + 2 w_j cov(e, x_j) on average, moments over the rows. */
START_TEST(importance_has_its_closed_form)
{
    enum { TIMES = 400 };
    struct prob *p = prob_make();
    const struct tools on = tools();
    double y[T], train[60], w[D], mean[T], xbar = 0.0, var = 0.0, cov = 0.0, sum = 0.0, sq = 0.0;
    double *perm = malloc(TIMES * T * sizeof *perm);
    const bool moves[D] = { true, false, false };
    struct source_array src;
    struct fit_info info;
    struct fit_opts o = options("linear", "exact", 0);

    linear_targets(p, 60, train);
    source_array_init(&src, p->X, 60, D, D);
    struct model *m = fit(&src.base, train, &o, NULL, &info);
    ridge(p, train, 60, model_ratio(m->amplitude, m->noise), w);
    const struct effects_ask q = ask_of(m, &src.base, p->Xt, T, &on);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, NULL, &on, NULL), ST_OK);
    ck_assert_int_eq(effects_permuted(&q, moves, TIMES, 9, rng_stream(RNG_TEST, 50), perm, NULL),
                     ST_OK);
    for (size_t i = 0; i < T; i++) {
        y[i] = mean[i] + 0.3 * rng_normal(6, rng_stream(RNG_TEST, 8), i);
        xbar += p->Xt[i * D] / T;
    }
    for (size_t i = 0; i < T; i++) {
        var += (p->Xt[i * D] - xbar) * (p->Xt[i * D] - xbar) / T;
        cov += (p->Xt[i * D] - xbar) * (y[i] - mean[i]) / T;
    }
    for (size_t t = 0; t < TIMES; t++) {
        struct effects_rise one;
        effects_rise(T, 1, y, mean, perm + t * T, &one);
        sum += one.mse / TIMES;
        sq += one.mse * one.mse / TIMES;
    }
    const double want = 2.0 * w[0] * w[0] * var + 2.0 * w[0] * cov;
    ck_assert_double_le(fabs(sum - want), 4.0 * sqrt((sq - sum * sum) / TIMES));
    struct effects_rise r;
    effects_rise(T, TIMES, y, mean, perm, &r);
    ck_assert(near_rel(r.mse, sum, 1e-10));
    ck_assert(near_rel(r.rise, r.permuted - r.rmse, 1e-12));
    /* the standard error, by leaving out one row after the other */
    double left[T], jack = 0.0, among = 0.0;
    for (size_t i = 0; i < T; i++) {
        double a = 0.0, b = 0.0;
        for (size_t k = 0; k < T; k++)
            for (size_t t = 0; k != i && t < TIMES; t++) {
                a += (y[k] - mean[k]) * (y[k] - mean[k]) / ((T - 1.0) * TIMES);
                b += (y[k] - perm[t * T + k]) * (y[k] - perm[t * T + k]) / ((T - 1.0) * TIMES);
            }
        left[i] = sqrt(b) - sqrt(a);
        among += left[i] / T;
    }
    for (size_t i = 0; i < T; i++)
        jack += (left[i] - among) * (left[i] - among) * (T - 1.0) / T;
    ck_assert_msg(near_rel(r.se, sqrt(jack), 0.03), "%g, not %g", r.se, sqrt(jack));
    /* a column that the model does not read has no importance at all */
    effects_rise(T, 1, y, mean, mean, &r);
    ck_assert(r.rise == 0.0 && r.se == 0.0);
    model_unref(m);
    free(perm);
    free(p);
}
END_TEST

/* H of a + b + c ab at the points of a centred grid with variances s and t: c^2 s t of s + t +
 * c^2 s t. */
START_TEST(interactions_have_their_closed_form)
{
    enum { SIDE = 5 };
    double both[SIDE * SIDE], a[SIDE * SIDE], b[SIDE * SIDE], h, part;
    const double c[] = { 0.0, 0.5, 3.0 };

    for (size_t i = 0; i < SIDE * SIDE; i++) {
        a[i] = (double)(i % SIDE) - 2.0;
        b[i] = 3.0 * ((double)(i / SIDE) - 2.0);
        both[i] = 7.0 + a[i] + b[i] + c[_i] * a[i] * b[i];
        a[i] += 1.0; /* constants do not count */
    }
    const double s = 2.0, t = 18.0, own = c[_i] * c[_i] * s * t;
    effects_interaction(SIDE * SIDE, both, a, b, &h, &part);
    ck_assert_double_le(fabs(h - sqrt(own / (s + t + own))), 1e-12);
    ck_assert_double_le(fabs(part - sqrt(own)), 1e-12);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        both[i] = a[i] = b[i] = 0.1;
    effects_interaction(SIDE * SIDE, both, a, b, &h, &part);
    ck_assert(isnan(h));
}
END_TEST

START_TEST(it_can_be_stopped)
{
    struct prob *p = prob_make();
    struct cancel cancel = { false };
    const struct ctl ctl = { .cancel = &cancel };
    const struct tools on = { backend_cpu(), NULL, &ctl }, fine = tools();
    double each[PLACES * ROWS], var[PLACES];
    const size_t from[PLACES] = { 1, 2, 3 };
    const bool moves[D] = { true, true, false };
    struct fit_info info;
    struct err err = { 0 };
    struct fit_opts o = options("rbf", "direct", 64);

    struct model *m = fit(&p->src.base, p->y, &o, NULL, &info);
    struct effects_ask q = ask_of(m, &p->src.base, p->Xt, ROWS, &on);
    atomic_store(&cancel.stop, true);
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, var, &err), ST_CANCELLED);
    q.on = &fine;
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, var, &err), ST_OK);
    model_unref(m);
    o.variance = VAR_NONE; /* without a factor there is no band */
    m = fit(&p->src.base, p->y, &o, NULL, &info);
    q.m = m;
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, NULL, &err), ST_OK);
    ck_assert_int_eq(effects_curve(&q, moves, p->X, from, PLACES, each, var, &err),
                     m->L ? ST_OK : ST_STATE);
    model_unref(m);
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("effects");
    TCase *t = tcase_create("effects");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_effect_of_a_linear_kernel_is_its_slope, 0, 2);
    tcase_add_loop_test(t, the_difference_of_two_functions, 0, 2);
    tcase_add_loop_test(t, the_band_is_that_of_the_joint_posterior, 0, 3);
    tcase_add_test(t, importance_has_its_closed_form);
    tcase_add_loop_test(t, interactions_have_their_closed_form, 0, 3);
    tcase_add_test(t, it_can_be_stopped);
    suite_add_tcase(s, t);
    return support_run(s);
}
