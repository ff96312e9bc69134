/* tests/compute/check_calibration.c -- variances and intervals by rows kept aside: golden factor
 * and densities, conformal quantiles by hand, the coverage that split conformal prediction
 * promises, temperatures and prediction sets of classes, and models that are copied. */
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/likelihood/temperature.h"
#include "compute/models/model.h"
#include "compute/rng.h"
#include "compute/stats/calibration.h"
#include "compute/stats/crossfit.h"
#include "compute/stats/metrics.h"
#include "compute/stats/spread.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double nlpd(size_t n, const double *e, const double *v, double factor)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += 0.5 * log(2.0 * M_PI * factor * v[i]) + 0.5 * e[i] * e[i] / (factor * v[i]);
    return sum / (double)n;
}

START_TEST(golden_factor_and_densities)
{
    size_t n, c;
    double *data = support_golden("recal_data", &n, &c), e[64], v[64];
    struct calibration k;

    ck_assert_uint_le(n, 64);
    for (size_t i = 0; i < n; i++)
        e[i] = data[3 * i + 2] - data[3 * i], v[i] = data[3 * i + 1];
    ck_assert_int_eq(calibration_of(n, e, v, CALIBRATION_SCALE, 0.5, &k, NULL), ST_OK);
    ck_assert(support_close(k.factor, support_golden_scalar("recal_scalars", "alpha"), 1e-12));
    ck_assert(reach_is_normal(&k.reach));
    ck_assert(support_close(nlpd(n, e, v, 1.0),
                            support_golden_scalar("recal_scalars", "nlpd_before"), 1e-12));
    ck_assert(support_close(nlpd(n, e, v, k.factor),
                            support_golden_scalar("recal_scalars", "nlpd_after"), 1e-12));
    ck_assert_double_lt(nlpd(n, e, v, k.factor), nlpd(n, e, v, 1.02 * k.factor));
    ck_assert_double_lt(nlpd(n, e, v, k.factor), nlpd(n, e, v, 0.98 * k.factor));
    free(data);
}
END_TEST

/* |e| of 1 to 9 with unit variances, in disorder and with signs: of ten ranks 90 % is the ninth. */
START_TEST(quantiles_by_hand)
{
    const double e[] = { 3, -9, 1, 7, -2, 8, -5, 4, 6 }, ties[] = { 2, 2, -2, 2, 1, 2, -2, 2, 2 };
    double v[9];
    struct calibration k;
    struct err err = { 0 };

    for (size_t i = 0; i < 9; i++)
        v[i] = 4.0; /* |z| is 0.5 to 4.5 */
    ck_assert_int_eq(calibration_of(9, e, v, CALIBRATION_CONFORMAL, 0.9, &k, NULL), ST_OK);
    ck_assert_double_eq(k.factor, 1.0);
    ck_assert_double_eq(reach_at(&k.reach, 0.5), 2.5);
    ck_assert_double_eq(reach_at(&k.reach, 0.8), 4.0);
    ck_assert_double_eq(reach_at(&k.reach, 0.9), 4.5);
    /* the tenth of nine does not exist: as much further as a normal distribution's */
    ck_assert(support_close(reach_at(&k.reach, 0.95),
                            4.5 * reach_at(NULL, 0.95) / reach_at(NULL, 0.9), 1e-12));
    ck_assert_int_eq(calibration_of(8, e, v, CALIBRATION_CONFORMAL, 0.9, &k, &err), ST_RANGE);
    ck_assert(strstr(err.msg, "at least 9") != NULL);
    ck_assert_int_eq(calibration_of(9, e, v, CALIBRATION_CONFORMAL, 0.95, &k, NULL), ST_RANGE);
    ck_assert_int_eq(calibration_of(9, ties, v, CALIBRATION_CONFORMAL, 0.9, &k, NULL), ST_OK);
    ck_assert_double_eq(reach_at(&k.reach, 0.5), 1.0);
    ck_assert_double_eq(reach_at(&k.reach, 0.9), 1.0);
    /* both: the intervals are the same, the sd is another */
    ck_assert_int_eq(calibration_of(9, e, v, CALIBRATION_BOTH, 0.9, &k, NULL), ST_OK);
    ck_assert(support_close(k.factor, 285.0 / 9.0 / 4.0, 1e-14));
    ck_assert(support_close(reach_at(&k.reach, 0.9) * sqrt(k.factor), 4.5, 1e-14));
}
END_TEST

START_TEST(errors_without_a_scale_are_refused)
{
    const double zero[9] = { 0.0 }, e[9] = { 0, 0, 0, 0, 0, 0, 1, 2, 3 },
                 none[9] = { NAN, 1, 1, 1, 1, 1, 1, 1, 1 };
    double v[9];
    struct calibration k;

    for (size_t i = 0; i < 9; i++)
        v[i] = 1.0;
    ck_assert_int_eq(calibration_of(9, zero, v, CALIBRATION_SCALE, 0.9, &k, NULL), ST_RANGE);
    ck_assert_int_eq(calibration_of(9, none, v, CALIBRATION_SCALE, 0.9, &k, NULL), ST_RANGE);
    ck_assert_int_eq(calibration_of(9, e, v, CALIBRATION_CONFORMAL, 0.9, &k, NULL), ST_RANGE);
    ck_assert_int_eq(calibration_of(9, e, v, CALIBRATION_SCALE, 0.9, &k, NULL), ST_OK);
}
END_TEST

/* Errors with heavy tails whose size depends on the row: with n calibration rows a new row is
 * inside with probability ceil((n + 1) p)/(n + 1), here 90/100; 400 repetitions of 200 new rows
 * each, whose share scatters by about sqrt(.9 .1 (1/100 + 1/200)) = .037: 4 standard errors. */
START_TEST(new_rows_are_inside_as_often_as_promised)
{
    enum { N = 99, NEW = 200, REPEATS = 400 };
    double e[N], v[N], inside = 0.0;
    uint64_t at = 0;
    struct calibration k;

    for (size_t r = 0; r < REPEATS; r++) {
        for (size_t i = 0; i < N + NEW; i++) {
            const double s = 0.2 + rng_uniform(5, 1, at), g = rng_normal(5, 2, at),
                         x = s * s * g * fabs(g);
            at++;
            if (i < N)
                e[i] = x, v[i] = s;
            if (i + 1 == N)
                ck_assert_int_eq(calibration_of(N, e, v, CALIBRATION_BOTH, 0.9, &k, NULL), ST_OK);
            if (i >= N)
                inside += fabs(x) <= reach_at(&k.reach, 0.9) * sqrt(k.factor * s);
        }
    }
    ck_assert_double_eq_tol(inside / (REPEATS * NEW), 0.9, 4.0 * 0.037 / sqrt(REPEATS));
}
END_TEST

/* Without variances p is the softmax of the logits over T; the optimum of two decimals more than
 * the golden one was found with has the same log loss. */
START_TEST(golden_temperature)
{
    size_t n, K, one;
    double *f = support_golden("cal_logits", &n, &K), *label = support_golden("cal_labels", &n,
                                                                              &one);
    double *mean = calloc(2 * n * K, sizeof *mean);
    struct temperature t;
    struct temperature_rows rows = { .of = likelihood_linked("dirichlet"), .n = n, .classes = K,
                                     .mean = mean, .var = mean + n * K, .label = label };

    for (size_t i = 0; i < n * K; i++)
        mean[i % K * n + i / K] = f[i];
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_OK);
    ck_assert(support_close(t.best, support_golden_scalar("cal_scalars", "T_opt"), 1e-6));
    ck_assert(support_close(t.before, support_golden_scalar("cal_scalars", "nll_T1"), 1e-12));
    ck_assert(support_close(t.after, support_golden_scalar("cal_scalars", "nll_Topt"), 1e-12));
    ck_assert(!t.at_bound);
    for (size_t i = 0; i < n * K; i++) /* three times the logits: three times the temperature */
        mean[i] *= 3.0;
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_OK);
    ck_assert(support_close(t.best, 3.0 * support_golden_scalar("cal_scalars", "T_opt"), 1e-6));
    rows.n = TEMPERATURE_ROWS - 1;
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_RANGE);
    free(f);
    free(label);
    free(mean);
}
END_TEST

/* One function of two classes.  By the logistic function m of k rows with the latent value a have
 * class 1: the best T is a/log(m/(k - m)).  By the normal distribution function Phi(a/T) = m/k.
 * Rows that are all as predicted have none, and are taken for right with probability (k + 1)/(k +
 * 2). */
START_TEST(temperature_of_two_classes)
{
    enum { k = 40, m = 31 };
    double mean[k], var[k] = { 0.0 }, label[k], p[k];
    const double z = 0.755415026360469; /* Phi(z) = 31/40 */
    struct temperature t;
    struct temperature_rows rows = { .of = likelihood_linked("logit"), .n = k, .classes = 2,
                                     .mean = mean, .var = var, .label = label };

    for (size_t i = 0; i < k; i++)
        mean[i] = 2.5, label[i] = i < m;
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_OK);
    ck_assert(support_close(t.best, 2.5 / log((double)m / (k - m)), 1e-6));
    rows.of = likelihood_linked("probit");
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_OK);
    ck_assert(support_close(t.best, 2.5 / z, 1e-5));
    ck_assert_int_eq(temperature_apply(&rows, t.best, p, NULL), ST_OK);
    ck_assert_double_eq_tol(p[0], (double)m / k, 1e-6);
    for (size_t i = 0; i < k; i++)
        label[i] = 1.0;
    rows.of = likelihood_linked("logit");
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_OK);
    ck_assert(t.at_bound); /* then p = (k + 1)/(k + 2) */
    ck_assert(support_close(t.best, 2.5 / log(k + 1.0), 1e-6));
    ck_assert(support_close(t.after, -log((k + 1.0) / (k + 2.0)), 1e-6));
    label[3] = 2.0;
    ck_assert_int_eq(temperature_find(&rows, &t, NULL), ST_RANGE);
}
END_TEST

/* Nine rows, so that 90 % is the ninth of them and 80 % the eighth; at equal values all of them
 * are inside. */
START_TEST(sets_by_hand)
{
    const double lack[9] = { 0.25, 0.5, 0.125, 0.75, 0.0, 0.5, 1.0, 0.5, 0.25 };
    double v[9], reach;
    struct err err = { 0 };

    memcpy(v, lack, sizeof v); /* 0 .125 .25 .25 .5 .5 .5 .75 1 */
    ck_assert_int_eq(calibration_sets(9, v, 0.9, &reach, NULL), ST_OK);
    ck_assert_double_eq(reach, 1.0);
    ck_assert(calibration_holds(0.0, reach));
    ck_assert_int_eq(calibration_sets(9, v, 0.8, &reach, NULL), ST_OK);
    ck_assert_double_eq(reach, 0.75);
    ck_assert(calibration_holds(0.25, reach) && !calibration_holds(0.2499, reach));
    for (int k = 5; k <= 7; k++) { /* ten ranks: the fifth to the seventh are equal */
        ck_assert_int_eq(calibration_sets(9, v, 0.1 * k, &reach, NULL), ST_OK);
        ck_assert_double_eq(reach, 0.5);
    }
    size_t inside = 0;
    for (size_t i = 0; i < 9; i++)
        inside += calibration_holds(1.0 - lack[i], reach);
    ck_assert_uint_eq(inside, 7);
    ck_assert_int_eq(calibration_sets(8, v, 0.9, &reach, &err), ST_RANGE);
    ck_assert(strstr(err.msg, "at least 9") != NULL);
    v[0] = NAN;
    ck_assert_int_eq(calibration_sets(9, v, 0.9, &reach, NULL), ST_RANGE);
    for (size_t i = 0; i < 9; i++) /* rows without any doubt: the sets still are there */
        v[i] = 0.0;
    ck_assert_int_eq(calibration_sets(9, v, 0.9, &reach, NULL), ST_OK);
    ck_assert(reach > 0.0 && calibration_holds(1.0, reach) && !calibration_holds(0.999, reach));
}
END_TEST

/* A copy of a model of three classes shares its factors, also when the first is gone. */
START_TEST(copies_of_classes)
{
    enum { N = 45, C = 3 };
    double X[N], y[N], mean[2][N * C], var[2][N * C], set[KERNEL_MAX_HP];
    struct source_array src;
    struct fit_opts o = { .likelihood = likelihood_linked("dirichlet"), .features = 16, .seed = 3,
                          .amplitude = 1.0, .noise = 1.0, .labels = { C, 0.01 },
                          .solver = "auto", .precision = PREC_DOUBLE };
    struct fit_info info;
    struct model *m = NULL;
    const struct tools on = { backend_cpu(), NULL, NULL };
    struct err err = { 0 };

    ck_assert_int_eq(kernel_parse("rbf", &o.kernel, set, NULL), ST_OK);
    o.hp[0] = 0.8;
    for (size_t i = 0; i < N; i++) {
        X[i] = 2.0 * rng_normal(7, 1, i);
        y[i] = X[i] < -0.5 ? 0.0 : X[i] < 0.7 ? 1.0 : 2.0;
    }
    source_array_init(&src, X, N, 1, 1);
    ck_assert_msg(model_fit(&src.base, y, &o, &on, &m, &info, NULL, &err) == ST_OK, "%s", err.msg);
    struct model *c = model_copy(m, NULL), *d = model_copy(c, NULL);
    ck_assert(c && d && c->factors == m->factors && d->factors == m->factors);
    ck_assert_int_eq(model_predict(m, &src.base, mean[0], var[0], &on, NULL), ST_OK);
    model_unref(m);
    model_unref(c);
    ck_assert_int_eq(model_predict(d, &src.base, mean[1], var[1], &on, NULL), ST_OK);
    ck_assert(memcmp(mean[0], mean[1], sizeof mean[0]) == 0);
    ck_assert(memcmp(var[0], var[1], sizeof var[0]) == 0);
    ck_assert_int_eq(model_variance(d, &src.base, 0, &on, NULL, NULL), ST_OK); /* its own now */
    ck_assert_int_eq(model_predict(d, &src.base, mean[1], var[1], &on, NULL), ST_OK);
    ck_assert(d->lender == NULL && memcmp(var[0], var[1], sizeof var[0]) == 0);
    model_unref(d);
}
END_TEST

/* A copy predicts the same bits; with another amplitude the same means and other variances. */
START_TEST(copies_of_models)
{
    static const char *const solvers[] = { "exact", "direct", "sparse" };
    enum { N = 30 };
    double X[N], y[N], mean[2][N], var[2][N], set[KERNEL_MAX_HP];
    struct source_array src;
    struct fit_opts o = { .solver = solvers[_i], .features = 16, .seed = 3, .amplitude = 0.8,
                          .noise = 0.3, .keep_scale = true, .inducing = { .m = 7 } };
    struct fit_info info;
    struct model *m = NULL;
    const struct tools on = { backend_cpu(), NULL, NULL };

    ck_assert_int_eq(kernel_parse("rbf", &o.kernel, set, NULL), ST_OK);
    o.hp[0] = 1.3;
    if (o.inducing.ops == NULL)
        ck_assert_int_eq(select_parse("random", &o.inducing, NULL), ST_OK);
    o.inducing.m = 7;
    for (size_t i = 0; i < N; i++) {
        X[i] = 3.0 * rng_normal(7, 1, i);
        y[i] = sin(X[i]) + 0.2 * rng_normal(7, 2, i);
    }
    source_array_init(&src, X, N, 1, 1);
    ck_assert_int_eq(model_fit(&src.base, y, &o, &on, &m, &info, NULL, NULL), ST_OK);
    struct model *c = model_copy(m, NULL);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(model_predict(m, &src.base, mean[0], var[0], &on, NULL), ST_OK);
    model_unref(m);
    ck_assert_int_eq(model_predict(c, &src.base, mean[1], var[1], &on, NULL), ST_OK);
    ck_assert(memcmp(mean[0], mean[1], sizeof mean[0]) == 0);
    ck_assert(memcmp(var[0], var[1], sizeof var[0]) == 0);
    c->amplitude = c->amplitudes[0] = 2.0 * c->amplitude;
    c->noise = c->noises[0] = 2.0 * c->noise;
    ck_assert_int_eq(model_predict(c, &src.base, mean[1], var[1], &on, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        ck_assert(support_close(mean[1][i], mean[0][i], 1e-12));
        ck_assert(support_close(var[1][i], 4.0 * var[0][i], 1e-10));
    }
    model_unref(c);
}
END_TEST

/* Errors e = exp(x) g with normal g have the scale exp(x), at which the mean of (e/s)^2 is 1.  log
 * |g| has the variance pi^2/8, so that with 2000 rows and some ten effective dimensions the
 * regression has a standard error of 0.08 where there are fewest; twice the errors have twice the
 * scale. */
START_TEST(local_scales_follow_errors)
{
    enum { N = 2000 };
    static double x[N], e[2 * N], s[2 * N], y[2 * N];
    struct source_array src;
    struct fit_info info;
    struct model *m;
    const struct tools on = { backend_cpu(), NULL, NULL };
    struct fit_opts o = { .solver = "direct", .features = 32, .rtol = 1e-8, .maxit = 1, .seed = 5,
                          .precision = PREC_DOUBLE, .amplitude = 1.0, .noise = 1.0,
                          .keep_scale = true, .targets = 2 };
    double worst = 0.0, square = 0.0;

    ck_assert_int_eq(kernel_parse("rbf", &o.kernel, o.hp, NULL), ST_OK);
    o.hp[0] = 1.0;
    for (size_t i = 0; i < N; i++) {
        x[i] = 2.0 * rng_uniform(5, 3, i) - 1.0;
        e[i] = exp(x[i]) * rng_normal(5, 4, i);
        e[N + i] = 2.0 * e[i];
        y[i] = e[i], y[N + i] = e[N + i];
    }
    source_array_init(&src, x, N, 1, 1);
    ck_assert_int_eq(model_fit(&src.base, y, &o, &on, &m, &info, NULL, NULL), ST_OK);
    ck_assert_int_eq(spread_fit(m, &src.base, e, &on, NULL), ST_OK);
    ck_assert_int_eq(spread_at(m, &src.base, s, &on, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        worst = fmax(worst, fabs(log(s[i]) - x[i]));
        square += e[i] * e[i] / (s[i] * s[i]) / N;
        ck_assert_double_eq_tol(s[N + i] / s[i], 2.0, 1e-6);
    }
    ck_assert_double_le(worst, 0.15);
    ck_assert_double_eq_tol(square, 1.0, 1e-9);
    struct model *c = model_copy(m, NULL);
    spread_multiply(c, 1, 3.0);
    ck_assert_int_eq(spread_at(c, &src.base, y, &on, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        ck_assert(y[i] == s[i]);
        ck_assert_double_eq_tol(y[N + i] / s[N + i], 3.0, 1e-12);
    }
    model_unref(c);
    model_unref(m);
}
END_TEST

/* With as many folds as rows (jackknife+, Barber et al. 2021) mu_i is a fit without row i, and an
 * interval is that of the 37th of the 40 values mu_i(x) + R_i, and of R_i - mu_i(x), sorted. */
enum { FEW = 40 };

static struct model *without(const struct source_array *all, const double *y, size_t skip,
                             const struct fit_opts *o, const struct tools *on)
{
    struct source_subset src;
    struct fit_info info;
    struct model *m = NULL;
    size_t idx[FEW], n = 0;
    double own[FEW];

    for (size_t i = 0; i < FEW; i++)
        if (i != skip)
            idx[n++] = i;
    for (size_t i = 0; i < n; i++)
        own[i] = y[idx[i]];
    source_subset_init(&src, &all->base, idx, n);
    ck_assert_int_eq(model_fit(&src.base, own, o, on, &m, &info, NULL, NULL), ST_OK);
    return m;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

START_TEST(folds_of_single_rows_are_the_jackknife)
{
    enum { T = 7, RANK = 37 }; /* ceil(41 x 0.9) */
    static const char *const solvers[] = { "exact", "direct" };
    double x[FEW], y[2 * FEW], xt[T], mean[T], s[T], loo[FEW], one[1], mu[FEW][T];
    struct source_array src, test, row;
    struct fit_info info;
    struct model *m;
    struct calibration of[2];
    const struct tools on = { backend_cpu(), NULL, NULL };
    struct fit_opts o = { .solver = solvers[_i], .features = 16, .rtol = 1e-8, .maxit = 1,
                          .seed = 5, .precision = PREC_DOUBLE, .amplitude = 1.0, .noise = 0.4,
                          .keep_scale = true, .targets = 2 };
    const struct crossfit all = { .folds = FEW, .seed = 3, .level = 0.9, .o = &o },
                          more = { .folds = FEW + 1, .seed = 3, .level = 0.9, .o = &o };

    ck_assert_int_eq(kernel_parse("rbf", &o.kernel, o.hp, NULL), ST_OK);
    o.hp[0] = 0.7;
    for (size_t i = 0; i < FEW; i++) {
        x[i] = 4.0 * rng_uniform(5, 6, i) - 2.0;
        y[i] = sin(2.0 * x[i]) + 0.4 * rng_normal(5, 7, i);
        y[FEW + i] = x[i] + 0.2 * rng_normal(5, 8, i);
    }
    for (size_t i = 0; i < T; i++)
        xt[i] = 0.7 * (double)i - 2.1;
    source_array_init(&src, x, FEW, 1, 1);
    source_array_init(&test, xt, T, 1, 1);
    ck_assert_int_eq(model_fit(&src.base, y, &o, &on, &m, &info, NULL, NULL), ST_OK);
    ck_assert_int_eq(crossfit_fit(m, &src.base, y, &more, &on, of, NULL), ST_RANGE);
    model_unref(m);
    o.targets = 1;
    struct model *own = NULL;
    ck_assert_int_eq(model_fit(&src.base, y, &o, &on, &own, &info, NULL, NULL), ST_OK);
    ck_assert_int_eq(crossfit_fit(own, &src.base, y, &all, &on, of, NULL), ST_OK);
    for (size_t i = 0; i < FEW; i++) {
        struct model *less = without(&src, y, i, &o, &on);
        source_array_init(&row, x + i, 1, 1, 1);
        ck_assert_int_eq(model_predict(less, &row.base, one, NULL, &on, NULL), ST_OK);
        loo[i] = fabs(y[i] - one[0]);
        ck_assert_int_eq(model_predict(less, &test.base, mu[i], NULL, &on, NULL), ST_OK);
        model_unref(less);
    }
    double square = 0.0;
    for (size_t i = 0; i < FEW; i++)
        square += loo[i] * loo[i] / FEW;
    ck_assert(support_close(of[0].factor, square, 1e-9));
    ck_assert_int_eq(model_predict(own, &test.base, mean, NULL, &on, NULL), ST_OK);
    ck_assert_int_eq(crossfit_at(own, &test.base, mean, s, &on, NULL), ST_OK);
    for (size_t t = 0; t < T; t++) {
        double above[FEW], below[FEW];
        for (size_t i = 0; i < FEW; i++) {
            above[i] = mu[i][t] + loo[i];
            below[i] = loo[i] - mu[i][t];
        }
        qsort(above, FEW, sizeof *above, by_size);
        qsort(below, FEW, sizeof *below, by_size);
        const double half = fmax(above[RANK - 1] - mean[t], below[RANK - 1] + mean[t]);
        ck_assert(support_close(s[t] * reach_at(&own->reach[0], 0.9), half, 1e-9));
    }
    model_unref(own);
}
END_TEST

/* Every allocation of a local scale and of fits of folds fails once. */
START_TEST(short_memory_is_an_error)
{
    enum { N = 60 };
    double x[N], y[N], s[N];
    struct source_array src;
    struct fit_info info;
    struct model *m;
    struct calibration of[1];
    const struct tools on = { backend_cpu(), NULL, NULL };
    struct fit_opts o = { .solver = "direct", .features = 16, .rtol = 1e-8, .maxit = 1, .seed = 5,
                          .precision = PREC_DOUBLE, .amplitude = 1.0, .noise = 0.4,
                          .keep_scale = true };
    const struct crossfit ask = { .folds = 3, .seed = 3, .level = 0.9, .o = &o };
    size_t failures = 0;

    ck_assert_int_eq(kernel_parse("rbf", &o.kernel, o.hp, NULL), ST_OK);
    o.hp[0] = 1.0;
    for (size_t i = 0; i < N; i++) {
        x[i] = 2.0 * rng_uniform(5, 3, i) - 1.0;
        y[i] = x[i] + rng_normal(5, 4, i);
    }
    source_array_init(&src, x, N, 1, 1);
    ck_assert_int_eq(model_fit(&src.base, y, &o, &on, &m, &info, NULL, NULL), ST_OK);
    for (size_t i = 1; i < 100; i++) {
        struct err err = { 0 };
        struct model *c = model_copy(m, NULL);
        mem_fail_after_for_tests(i);
        enum status rc = _i ? crossfit_fit(c, &src.base, y, &ask, &on, of, &err)
                            : spread_fit(c, &src.base, y, &on, &err);
        if (rc == ST_OK)
            rc = _i ? crossfit_at(c, &src.base, y, s, &on, &err)
                    : spread_at(c, &src.base, s, &on, &err);
        mem_fail_after_for_tests(0);
        ck_assert_msg(rc == ST_OK || rc == ST_NOMEM, "%zu: %s", i, err.msg);
        failures += rc == ST_NOMEM;
        model_unref(c);
    }
    ck_assert(failures > 10);
    model_unref(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("calibration");
    TCase *tc = tcase_create("rows kept aside");

    tcase_add_test(tc, golden_factor_and_densities);
    tcase_add_test(tc, quantiles_by_hand);
    tcase_add_test(tc, errors_without_a_scale_are_refused);
    tcase_add_test(tc, new_rows_are_inside_as_often_as_promised);
    tcase_add_test(tc, golden_temperature);
    tcase_add_test(tc, temperature_of_two_classes);
    tcase_add_test(tc, sets_by_hand);
    tcase_add_test(tc, copies_of_classes);
    tcase_add_loop_test(tc, copies_of_models, 0, 3);
    tcase_add_test(tc, local_scales_follow_errors);
    tcase_add_loop_test(tc, short_memory_is_an_error, 0, 2);
    tcase_add_loop_test(tc, folds_of_single_rows_are_the_jackknife, 0, 2);
    suite_add_tcase(s, tc);
    return support_run(s);
}
