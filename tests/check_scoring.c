/* tests/check_scoring.c -- scores in the target's own units against numerical integration of the
 * forecast densities; the reading of convergence traces; predictions written as CSV. */
#include "app/runs/scoring/scoring.h"
#include "app/core/condition.h"
#include "app/core/measures.h"
#include "app/core/trace.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400 };

/* A prediction in scaled units with honest sd, and its observations, in raw units too. */
static void forecast(struct prediction *p, const struct encoding *enc)
{
    struct splitmix g;

    splitmix_init(&g, 11);
    memset(p, 0, sizeof *p);
    p->n = N;
    p->y = calloc(N, sizeof(double)), p->mean = calloc(N, sizeof(double));
    p->sd = calloc(N, sizeof(double)), p->y_scaled = calloc(N, sizeof(double));
    p->mean_scaled = calloc(N, sizeof(double)), p->var_scaled = calloc(N, sizeof(double));
    for (size_t i = 0; i < N; i++) {
        p->mean_scaled[i] = splitmix_normal(&g);
        p->var_scaled[i] = 0.05 + 0.2 * splitmix_uniform(&g);
        p->y_scaled[i] = p->mean_scaled[i] + sqrt(p->var_scaled[i]) * splitmix_normal(&g);
        const double t = enc->ymean + enc->ysd * p->y_scaled[i];
        p->y[i] = enc->yscale == Y_LOG ? exp(t) : t;
    }
    encoding_unscale(enc, N, p->mean_scaled, p->var_scaled, p->mean, p->sd);
}

/* Density and distribution function of forecast i at y, in raw units. */
static double density(const struct encoding *e, const struct prediction *p, size_t i, double y)
{
    const double m = e->ymean + e->ysd * p->mean_scaled[i], s = e->ysd * sqrt(p->var_scaled[i]);
    const double t = e->yscale == Y_LOG ? log(y) : y, z = (t - m) / s;

    return exp(-0.5 * z * z) / (s * sqrt(2 * M_PI)) / (e->yscale == Y_LOG ? y : 1.0);
}

/* CRPS = integral of (F(t) - [t >= y])^2 over t, by the trapezoid rule on a fine grid. */
static double crps_numeric(const struct encoding *e, const struct prediction *p, size_t i)
{
    const double m = e->ymean + e->ysd * p->mean_scaled[i], s = e->ysd * sqrt(p->var_scaled[i]);
    double sum = 0;
    const size_t steps = 40000;
    const double lo = m - 12 * s, hi = m + 12 * s, h = (hi - lo) / (double)steps;
    const double ty = e->yscale == Y_LOG ? log(p->y[i]) : p->y[i];

    for (size_t k = 0; k <= steps; k++) { /* substitution t = exp(u) under log */
        const double u = lo + h * (double)k, F = 0.5 * erfc(-(u - m) / s / sqrt(2.0));
        const double d = F - (u >= ty), jac = e->yscale == Y_LOG ? exp(u) : 1.0;
        sum += (k == 0 || k == steps ? 0.5 : 1.0) * d * d * jac * h;
    }
    return sum;
}

static void score_against_integrals(enum y_scale scale, double ymean, double ysd)
{
    struct encoding enc = { .yscale = scale, .ymean = ymean, .ysd = ysd };
    struct prediction p;
    struct metrics sc, raw;
    double nlpd = 0, crps = 0, se = 0, ae = 0, tsd = ysd;

    forecast(&p, &enc);
    ck_assert_int_eq(scoring_metrics(&enc, &p, &sc, &raw, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        nlpd -= log(density(&enc, &p, i, p.y[i])) / N;
        crps += crps_numeric(&enc, &p, i) / N;
        se += (p.y[i] - p.mean[i]) * (p.y[i] - p.mean[i]) / N;
        ae += fabs(p.y[i] - p.mean[i]) / N;
    }
    if (scale == Y_LOG)
        tsd = exp(ymean + ysd * ysd / 2) * sqrt(exp(ysd * ysd) - 1);
    ck_assert(support_close(raw.nlpd, nlpd, 1e-10));
    ck_assert(support_close(raw.crps, crps, 1e-3)); /* the step at y costs the grid O(h) */
    ck_assert(support_close(raw.rmse, sqrt(se), 1e-12));
    ck_assert(support_close(raw.mae, ae, 1e-12));
    ck_assert(support_close(sc.rmse * tsd, raw.rmse, 1e-12));
    ck_assert(support_close(sc.nlpd, raw.nlpd - log(tsd), 1e-12));
    ck_assert_double_le(raw.nlpd_constant, INFINITY);
    ck_assert_double_ge(raw.coverage95, 0.90);
    ck_assert_double_le(raw.coverage95, 0.985);
    run_prediction_free(&p);
}

START_TEST(standard_scores_match_integrals)
{
    score_against_integrals(Y_STANDARD, 40.0, 7.0);
}
END_TEST

START_TEST(log_scores_match_integrals)
{
    score_against_integrals(Y_LOG, 2.0, 0.6);
}
END_TEST

/* No constant variance does better on these rows than the one reported. */
START_TEST(constant_bound_is_the_best_constant)
{
    struct encoding enc = { .yscale = Y_STANDARD, .ymean = 1.0, .ysd = 3.0 };
    struct prediction p;
    struct metrics sc, raw;

    forecast(&p, &enc);
    ck_assert_int_eq(scoring_metrics(&enc, &p, &sc, &raw, NULL), ST_OK);
    double best = INFINITY;
    for (double v = 0.01; v < 2; v *= 1.001) {
        double nl = 0;
        for (size_t i = 0; i < N; i++) {
            const double e = p.y_scaled[i] - p.mean_scaled[i];
            nl += (0.5 * log(2 * M_PI * v) + 0.5 * e * e / v) / N;
        }
        best = fmin(best, nl);
    }
    ck_assert_double_le(sc.nlpd_constant, best + 1e-12);
    ck_assert_double_ge(sc.nlpd_constant, best - 1e-6);
    run_prediction_free(&p);
}
END_TEST

START_TEST(trace_of_a_geometric_decay)
{
    struct trace_point t[60] = { 0 };
    struct trace_fit f;

    for (size_t i = 0; i < 60; i++)
        t[i].step = (uint32_t)i, t[i].value = pow(0.9, (double)i);
    trace_fit(t, 60, 1e-6, false, &f);
    ck_assert_double_eq_tol(f.rate, 0.9, 1e-9);
    ck_assert_double_eq_tol(f.r2, 1.0, 1e-9);
    ck_assert_double_eq_tol(f.forecast, log(1e-6) / log(0.9), 1e-6);
    trace_fit(t, 4, 1e-6, false, &f); /* too few points: unknown, not a guess */
    ck_assert(isnan(f.rate) && isnan(f.forecast));
}
END_TEST

/* Estimates fall by a tenth an iteration and mean nothing; the true residuals, one in six points,
 * fall by a fiftieth. */
START_TEST(trace_of_estimates)
{
    struct trace_point t[80] = { 0 };
    struct trace_fit f;

    for (size_t i = 0; i < 80; i++) {
        t[i].step = (uint32_t)i, t[i].value = pow(0.9, (double)i);
        t[i].value2 = i % 6 ? NAN : 3.0 * pow(0.98, (double)i);
    }
    trace_fit(t, 80, 1e-6, true, &f);
    ck_assert_double_eq_tol(f.rate, 0.98, 1e-9);
    ck_assert_double_eq_tol(f.forecast, log(1e-6 / 3.0) / log(0.98), 1e-6);
    trace_fit(t, 24, 1e-6, true, &f); /* four true ones */
    ck_assert(isnan(f.rate) && isnan(f.forecast));

    struct run r = { .kind = RUN_FIT, .trace = t, .ntrace = 80, .trace_target = 1e-6 };
    r.last.method = "sdd";
    ck_assert(trace_estimated(&r));
    ck_assert_str_eq(trace_word(&r), "estimate");
    ck_assert_double_eq(trace_residual(&r, 78), t[78].value2);
    ck_assert(isnan(trace_residual(&r, 79)));
    ck_assert_double_eq(trace_last(&r), t[78].value2);
    snprintf(r.info.solver, sizeof r.info.solver, "pcg");
    ck_assert_str_eq(trace_word(&r), "recursive");
    ck_assert_double_eq(trace_last(&r), t[79].value);
}
END_TEST

/* A residual that falls by a tenth an iteration is expected at the target after log(target) /
 * log(0.9) of them.  A smallest Ritz value that falls like 1/it^2, to a quarter over the latter
 * half, has not found the end of the spectrum: there is no upper end; where it rests, there is. */
START_TEST(trace_with_ritz_values)
{
    struct trace_point t[60] = { 0 };
    struct trace_fit f;
    const double all = log(1e-6) / log(0.9);

    for (int rests = 0; rests < 2; rests++) {
        for (size_t i = 0; i < 60; i++) {
            t[i].step = (uint32_t)i, t[i].value = pow(0.9, (double)i);
            t[i].ritz = i >= 8 && i % 4 == 0 ? rests ? 1e-3 : 1.0 / (double)(i * i) : 0.0;
        }
        trace_fit(t, 60, 1e-6, false, &f);
        ck_assert_double_eq_tol(f.forecast, all, 1e-6);
        ck_assert_double_gt(f.lo, 59.0);
        ck_assert_double_lt(f.lo, all);
        ck_assert(f.more == !rests);
        ck_assert(rests ? f.hi > all && isfinite(f.hi) : isinf(f.hi));
    }
}
END_TEST

/* One matrix has three condition numbers; none is ever 0. */
START_TEST(condition_in_words)
{
    char words[80];
    struct run r = { .kind = RUN_FIT, .state = RUN_STOPPED }; /* after a kill: all figures 0 */
    static const char *const names[] = { "condition", "condition_plain", "ritz_min", "ritz_max" };

    condition_words(words, sizeof words, CONDITION_SEEN, 784000.0);
    ck_assert_str_eq(words, "at least 784000 (seen by the iteration)");
    condition_words(words, sizeof words, CONDITION_ESTIMATED, 1.28e9);
    ck_assert_str_eq(words, "about 1.28e+09 (by the spectrum)");
    condition_words(words, sizeof words, CONDITION_BOUND, 8.08e10);
    ck_assert_str_eq(words, "at most 8.08e+10 (largest eigenvalue over noise)");
    static const double unknown[] = { 0.0, -1.0, 0.5, NAN, INFINITY };
    for (size_t i = 0; i < 5; i++) {
        condition_words(words, sizeof words, CONDITION_SEEN, unknown[i]);
        ck_assert_str_eq(words, "not known");
    }
    for (size_t i = 0; i < 4; i++)
        ck_assert(isnan(measure_number(measure_find(names[i], RUN_FIT), &r, 0)));
    r.info.condition = 1712.0;
    ck_assert(measure_number(measure_find("condition", RUN_FIT), &r, 0) == 1712.0);
}
END_TEST

START_TEST(trace_that_stalls_or_breaks)
{
    struct trace_point t[40] = { 0 };
    struct trace_fit f;

    for (size_t i = 0; i < 40; i++)
        t[i].step = (uint32_t)i, t[i].value = 1e-3;
    trace_fit(t, 40, 1e-6, false, &f);
    ck_assert(isnan(f.forecast));
    for (size_t i = 0; i < 40; i++)
        t[i].value = i % 2 ? NAN : -1.0;
    trace_fit(t, 40, 1e-6, false, &f);
    ck_assert(isnan(f.rate));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scoring");
    TCase *t = tcase_create("scores");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, standard_scores_match_integrals);
    tcase_add_test(t, log_scores_match_integrals);
    tcase_add_test(t, constant_bound_is_the_best_constant);
    tcase_add_test(t, trace_of_a_geometric_decay);
    tcase_add_test(t, trace_of_estimates);
    tcase_add_test(t, trace_with_ritz_values);
    tcase_add_test(t, condition_in_words);
    tcase_add_test(t, trace_that_stalls_or_breaks);
    suite_add_tcase(s, t);
    return support_run(s);
}
