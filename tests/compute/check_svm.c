/* tests/compute/check_svm.c -- support vector machines: the conditions of optimality and the gap of
 * duality by sums of their own, closed forms, the sigmoid, threads, stops.  Without LIBSVM only the
 * sigmoid is tested. */
#include "support.h"

#include "compute/models/classes/csvc.h"
#include "compute/models/model.h"
#include "compute/pool.h"
#include "compute/stats/platt.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 90, D = 2, T = 40 };

/* Two classes that overlap, with K = 2.25 exp(-r^2/2). */
struct prob { double X[N * D], Xt[T * D], y[N], K[N * N]; size_t all[N]; };

static double covariance(const double *a, const double *b)
{
    const double dx = a[0] - b[0], dy = a[1] - b[1];
    return 2.25 * exp(-0.5 * (dx * dx + dy * dy));
}

static struct prob *prob_make(void)
{
    struct prob *p = calloc(1, sizeof *p);
    struct splitmix s;

    ck_assert_ptr_nonnull(p);
    splitmix_init(&s, 17);
    for (size_t i = 0; i < N; i++) {
        p->X[2 * i] = splitmix_normal(&s);
        p->X[2 * i + 1] = splitmix_normal(&s);
        p->y[i] = p->X[2 * i] * p->X[2 * i + 1] + 0.5 * splitmix_normal(&s) > 0.2 ? 1.0 : -1.0;
        p->all[i] = i;
    }
    for (size_t i = 0; i < T * D; i++)
        p->Xt[i] = splitmix_normal(&s);
    for (size_t i = 0; i < N * N; i++)
        p->K[i] = covariance(p->X + i / N * D, p->X + i % N * D);
    return p;
}

static double decision(const struct prob *p, const double *coef, double rho, size_t i)
{
    double f = -rho;

    for (size_t j = 0; j < N; j++)
        f += coef[j] * p->K[i * N + j];
    return f;
}

/* 0 <= alpha <= C, y'alpha = 0, and margins on the right side of 1; the dual is as large as the
 * primal, which proves that both are optimal. */
START_TEST(optimality)
{
    static const double prices[] = { 0.01, 0.7, 30.0 };
    const double C = prices[_i];
    struct prob *p = prob_make();
    double coef[N], sum = 0.0, dual = 0.0, primal = 0.0;
    struct csvc *c = csvc_new(N, p->K, p->y, NULL);
    struct csvc_end end;

    ck_assert_int_eq(csvc_train(c, C, N, p->all, coef, &end, NULL, NULL), ST_OK);
    ck_assert_uint_gt(end.iterations, 0);
    for (size_t i = 0; i < N; i++) {
        const double f = decision(p, coef, end.rho, i), alpha = p->y[i] * coef[i];
        const double margin = p->y[i] * f;
        ck_assert(alpha >= 0.0 && alpha <= C);
        ck_assert(alpha > 0.0 || margin >= 1.0 - 1e-3);
        ck_assert(alpha == C || margin >= 1.0 - 1e-3);
        ck_assert(alpha == 0.0 || margin <= 1.0 + 1e-3);
        ck_assert_double_eq_tol(f, csvc_value(c, coef, end.rho, i), 1e-12 * (1.0 + C));
        sum += coef[i];
        dual += alpha - 0.5 * coef[i] * (f + end.rho);
        primal += 0.5 * coef[i] * (f + end.rho) + C * fmax(0.0, 1.0 - margin);
    }
    ck_assert_double_eq_tol(sum, 0.0, 1e-10 * C);
    ck_assert_double_eq_tol(primal, dual, 1e-3 * dual);
    csvc_free(c);
    free(p);
}
END_TEST

/* Rows at -1 and +1 under k(a, b) = a b: alpha = min(C, 1/2) for both, f = 2 alpha x. */
START_TEST(two_rows)
{
    const double K[] = { 1, -1, -1, 1 }, y[] = { -1, 1 };
    const size_t rows[] = { 0, 1 };
    struct csvc *c = csvc_new(2, K, y, NULL);

    for (int i = 0; i < 2; i++) {
        const double C = i ? 0.2 : 3.0, alpha = fmin(C, 0.5);
        double coef[2];
        struct csvc_end end;
        ck_assert_int_eq(csvc_train(c, C, 2, rows, coef, &end, NULL, NULL), ST_OK);
        ck_assert_double_eq_tol(coef[0], -alpha, 1e-6);
        ck_assert_double_eq_tol(coef[1], alpha, 1e-6);
        ck_assert_double_eq_tol(end.rho, 0.0, 1e-6);
        ck_assert_double_eq_tol(csvc_value(c, coef, end.rho, 1), 2.0 * alpha, 1e-6);
    }
    csvc_free(c);
}
END_TEST

/* A training on some rows is that of their own matrix: the others do not count. */
START_TEST(subset)
{
    enum { M = 40 };
    struct prob *p = prob_make();
    double K[M * M], y[M], coef[N], own[M];
    size_t some[M], first[M];
    struct csvc_end a, b;

    for (size_t i = 0; i < M; i++) {
        some[i] = 2 * i + 5;
        first[i] = i;
        y[i] = p->y[some[i]];
    }
    for (size_t i = 0; i < M * M; i++)
        K[i] = p->K[some[i / M] * N + some[i % M]];
    struct csvc *c = csvc_new(N, p->K, p->y, NULL), *d = csvc_new(M, K, y, NULL);
    ck_assert_int_eq(csvc_train(c, 2.0, M, some, coef, &a, NULL, NULL), ST_OK);
    ck_assert_int_eq(csvc_train(d, 2.0, M, first, own, &b, NULL, NULL), ST_OK);
    ck_assert_double_eq(a.rho, b.rho);
    for (size_t i = 0, at = 0; i < N; i++) {
        const bool in = at < M && some[at] == i;
        ck_assert_double_eq(coef[i], in ? own[at] : 0.0);
        at += in;
    }
    csvc_free(c);
    csvc_free(d);
    free(p);
}
END_TEST

/* At the likeliest sigmoid sum (t - p) = 0 and sum f (t - p) = 0; the function is convex. */
START_TEST(sigmoid)
{
    enum { M = 500 };
    static const double spread[] = { 1.0, 1e-3, 300.0 };
    double f[M], y[M], up = 0.0;
    struct splitmix s;

    splitmix_init(&s, 4);
    for (size_t i = 0; i < M; i++) {
        const double x = splitmix_normal(&s);
        y[i] = splitmix_uniform(&s) < 1.0 / (1.0 + exp(1.0 - 2.0 * x)) ? 1.0 : -1.0;
        f[i] = spread[_i] * x;
        up += y[i] > 0.0;
    }
    const struct platt p = platt_fit(M, f, y);
    double first = 0.0, second = 0.0;
    for (size_t i = 0; i < M; i++) {
        const double t = y[i] > 0.0 ? (up + 1.0) / (up + 2.0) : 1.0 / (M - up + 2.0);
        const double q = 1.0 / (1.0 + exp(p.a * f[i] + p.b));
        ck_assert_double_eq_tol(q, platt_probability(&p, f[i]), 1e-14);
        first += t - q;
        second += (t - q) * f[i] / spread[_i];
    }
    ck_assert_double_eq_tol(first, 0.0, 1e-8);
    ck_assert_double_eq_tol(second, 0.0, 1e-8);
    ck_assert_double_lt(fabs(p.a * spread[_i] + 2.0), 0.5); /* about the truth: a -2, b 1 */
    ck_assert_double_lt(fabs(p.b - 1.0), 0.5);
}
END_TEST

/* Two values of f: the probability at each is the mean of the targets there. */
START_TEST(sigmoid_by_hand)
{
    const double f[] = { 2, 2, 2, -1, -1, -1, -1 }, y[] = { 1, 1, -1, -1, -1, -1, 1 };
    const double high = 4.0 / 5.0, low = 1.0 / 6.0;
    const double at2 = (2.0 * high + low) / 3.0, at1 = (high + 3.0 * low) / 4.0;
    struct platt p = platt_fit(7, f, y);

    ck_assert_double_eq_tol(platt_probability(&p, 2.0), at2, 1e-10);
    ck_assert_double_eq_tol(platt_probability(&p, -1.0), at1, 1e-10);
    ck_assert_double_eq_tol(p.a, (log(1.0 / at2 - 1.0) - log(1.0 / at1 - 1.0)) / 3.0, 1e-9);
    ck_assert_double_eq_tol(platt_loss(7, f, y, &p),
                            -(2.0 * log(at2) + log(1.0 - at2) + 3.0 * log(1.0 - at1) + log(at1)) /
                                7.0, 1e-9);
    /* Separated classes, equal values, and values far apart have finite sigmoids. */
    const double far[] = { 1e4, 1e4, 1e4, -1e4, -1e4, -1e4, -1e4 }, same[7] = { 0 };
    const double apart[] = { 1, 1, 1, -1, -1, -1, -1 };
    p = platt_fit(7, far, apart);
    ck_assert_double_eq_tol(platt_probability(&p, 1e4), 4.0 / 5.0, 1e-9);
    ck_assert_double_eq_tol(platt_probability(&p, -1e4), 1.0 / 6.0, 1e-9);
    p = platt_fit(7, same, apart);
    ck_assert_double_eq_tol(platt_probability(&p, 0.0), (3.0 * 4.0 / 5.0 + 4.0 / 6.0) / 7.0, 1e-9);
    p = (struct platt){ -1.0, 0.0 };
    ck_assert(platt_probability(&p, 1e5) == 1.0 && platt_probability(&p, -1e5) == 0.0);
}
END_TEST

static struct fit_opts options(double amplitude)
{
    struct fit_opts o = { .likelihood = likelihood_linked("probit"), .solver = "svm", .cost = 2.0,
                          .amplitude = amplitude, .noise = 1.0, .keep_scale = true, .seed = 3 };

    ck_assert_int_eq(kernel_parse("rbf(l=1)", &o.kernel, o.hp, NULL), ST_OK);
    return o;
}

/* The model predicts sum coef k - rho of a training on all rows; with one thread, two and three it
 * has the same bits; amplitude^2 C alone decides. */
START_TEST(model)
{
    struct prob *p = prob_make();
    struct source_array train, test;
    double coef[N], mean[3][T], first[8];
    struct csvc_end end;
    struct csvc *c = csvc_new(N, p->K, p->y, NULL);

    source_array_init(&train, p->X, N, D, D);
    source_array_init(&test, p->Xt, T, D, D);
    ck_assert_int_eq(csvc_train(c, 2.0, N, p->all, coef, &end, NULL, NULL), ST_OK);
    for (size_t threads = 1; threads <= 3; threads++) {
        struct pool *pool = pool_new(threads, NULL);
        const struct tools on = { .pool = pool };
        const struct fit_opts o = options(1.5);
        struct model *m;
        struct fit_info info;
        ck_assert_int_eq(model_fit(&train.base, p->y, &o, &on, &m, &info, NULL, NULL), ST_OK);
        ck_assert_ptr_eq(m->kind, &svm_model);
        ck_assert_uint_eq(m->M, info.support);
        for (size_t i = 0, k = 0; i < N; i++)
            if (coef[i] != 0.0) {
                ck_assert_double_eq(m->origin[k], (double)i);
                ck_assert_double_eq_tol(m->w[k++], 2.25 * coef[i], 1e-5);
            }
        ck_assert_int_eq(model_predict(m, &test.base, mean[threads - 1], NULL, &on, NULL), ST_OK);
        for (size_t i = 0; i < T; i++) {
            double f = -end.rho;
            for (size_t j = 0; j < N; j++)
                f += coef[j] * covariance(p->X + j * D, p->Xt + i * D);
            ck_assert_double_eq_tol(mean[threads - 1][i], f, 1e-5);
        }
        ck_assert(m->kind->probability(m, 50.0) > 0.9 && m->kind->probability(m, -50.0) < 0.1);
        if (threads == 1)
            memcpy(first, m->state, m->nstate * sizeof *first);
        ck_assert_mem_eq(first, m->state, m->nstate * sizeof *first);
        ck_assert_mem_eq(mean[0], mean[threads - 1], sizeof mean[0]);
        double var[T];
        ck_assert_int_eq(model_predict(m, &test.base, mean[2], var, &on, NULL), ST_STATE);
        model_unref(m);
        pool_free(pool);
    }
    struct fit_opts o = options(3.0);
    struct model *m;
    struct fit_info info;
    o.cost = 0.5;
    ck_assert_int_eq(model_fit(&train.base, p->y, &o, &(struct tools){ 0 }, &m, &info, NULL, NULL),
                     ST_OK);
    ck_assert_int_eq(model_predict(m, &test.base, mean[1], NULL, &(struct tools){ 0 }, NULL),
                     ST_OK);
    for (size_t i = 0; i < T; i++)
        ck_assert_double_eq_tol(mean[0][i], mean[1][i], 2e-3);
    model_unref(m);
    csvc_free(c);
    free(p);
}
END_TEST

static void stop_at_third(void *ctx, const struct tick *t)
{
    if (t->phase == PHASE_FOLDS && t->done == 2)
        atomic_store(&((struct cancel *)ctx)->stop, true);
}

/* A stop within a training, which spoils the rows, and between two. */
START_TEST(stops)
{
    struct prob *p = prob_make();
    struct cancel cancel = { .stop = true };
    const struct ctl within = { .cancel = &cancel },
                     between = { .cancel = &cancel, .tick = stop_at_third, .ctx = &cancel };
    struct csvc *c = csvc_new(N, p->K, p->y, NULL);
    struct source_array train;
    const struct fit_opts o = options(1.5);
    double coef[N];
    struct csvc_end end;
    struct model *m = NULL;
    struct fit_info info;

    ck_assert_int_eq(csvc_train(c, 1e6, N, p->all, coef, &end, &within, NULL), ST_CANCELLED);
    ck_assert_int_eq(csvc_train(c, 1.0, N, p->all, coef, &end, &within, NULL), ST_CANCELLED);
    csvc_free(c);
    cancel.stop = false;
    source_array_init(&train, p->X, N, D, D);
    ck_assert_int_eq(model_fit(&train.base, p->y, &o, &(struct tools){ .ctl = &between }, &m, &info,
                               NULL, NULL), ST_CANCELLED);
    ck_assert_ptr_null(m);
    free(p);
}
END_TEST

/* A class of one row has no left-out value, which is told; one of three has three folds. */
START_TEST(small_classes)
{
    struct prob *p = prob_make();
    struct source_array train;
    const struct fit_opts o = options(1.0);
    struct model *m;
    struct fit_info info;

    source_array_init(&train, p->X, N, D, D);
    for (size_t few = 1; few <= 3; few += 2) {
        for (size_t i = 0; i < N; i++)
            p->y[i] = i < few ? 1.0 : -1.0;
        ck_assert_int_eq(model_fit(&train.base, p->y, &o, &(struct tools){ 0 }, &m, &info, NULL,
                                   NULL), ST_OK);
        ck_assert(few > 1 || strcmp(info.warning_name, "platt") == 0);
        ck_assert(isfinite(m->state[1]) && isfinite(m->state[2]));
        model_unref(m);
    }
    free(p);
}
END_TEST

/* Who has no two classes is told what to do. */
START_TEST(refusals)
{
    struct prob *p = prob_make();
    struct source_array train;
    struct fit_opts o = options(1.0);
    struct model *m;
    struct fit_info info;
    struct err err = { 0 };

    source_array_init(&train, p->X, N, D, D);
    o.likelihood = NULL;
    ck_assert_int_eq(model_fit(&train.base, p->y, &o, &(struct tools){ 0 }, &m, &info, NULL, &err),
                     ST_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "two classes"));
    o.likelihood = likelihood_linked("probit");
    enum plan plan;
    size_t bytes;
    char note[256];
    ck_assert_int_eq(model_plan(20000, D, &o, 1, &plan, &bytes, note, &err), ST_LIMIT);
    o.mem_limit = 1 << 20;
    ck_assert_int_eq(model_plan(5000, D, &o, 1, &plan, &bytes, note, &err), ST_LIMIT);
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("svm");
    TCase *tc = tcase_create("svm");

    tcase_add_loop_test(tc, sigmoid, 0, 3);
    tcase_add_test(tc, sigmoid_by_hand);
    if (csvc_here()) {
        tcase_add_loop_test(tc, optimality, 0, 3);
        tcase_add_test(tc, two_rows);
        tcase_add_test(tc, subset);
        tcase_add_test(tc, model);
        tcase_add_test(tc, stops);
        tcase_add_test(tc, small_classes);
        tcase_add_test(tc, refusals);
    }
    suite_add_tcase(s, tc);
    return support_run(s);
}
