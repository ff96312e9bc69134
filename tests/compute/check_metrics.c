/* tests/compute/check_metrics.c -- scores against the golden values and closed forms. */
#include "compute/stats/metrics.h"

#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct data {
    size_t n;
    double *mean, *sd, *y, *var;
};

static struct data golden_data(void)
{
    struct data d;
    size_t c;
    double *all = support_golden("met_data", &d.n, &c);
    d.mean = malloc(4 * d.n * sizeof *d.mean);
    d.sd = d.mean + d.n, d.y = d.sd + d.n, d.var = d.y + d.n;
    for (size_t i = 0; i < d.n; i++) {
        d.mean[i] = all[3 * i], d.sd[i] = all[3 * i + 1], d.y[i] = all[3 * i + 2];
        d.var[i] = d.sd[i] * d.sd[i];
    }
    free(all);
    return d;
}

static void same(double got, const char *key)
{
    const double want = support_golden_scalar("met_scalars", key);
    ck_assert_msg(support_close(got, want, 1e-10), "%s: %.17g, golden %.17g", key, got, want);
}

START_TEST(golden_scores)
{
    struct data d = golden_data();
    struct metrics m;
    ck_assert_int_eq(metrics_compute(d.n, d.y, d.mean, d.var, NULL, &m, NULL), ST_OK);
    same(m.rmse, "rmse"), same(m.mae, "mae"), same(m.r2, "r2"), same(m.nlpd, "nlpd");
    same(m.crps, "crps"), same(m.spearman, "spearman"), same(m.pearson, "pearson");
    same(m.mean_z2, "mean_z2"), same(m.coverage50, "coverage_0.5");
    same(m.coverage90, "coverage_0.9"), same(m.coverage95, "coverage_0.95");
    /* the best constant variance is the mean squared error of these rows */
    ck_assert_double_eq_tol(m.nlpd_constant, 0.5 * log(2.0 * M_PI * M_E * m.rmse * m.rmse), 1e-12);
    free(d.mean);
}
END_TEST

START_TEST(golden_calibration)
{
    struct data d = golden_data();
    static const double levels[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95 };
    double share[10], area = 0.0, ks, rho, *err = malloc(d.n * sizeof *err), new_sd[40];
    metrics_coverage(d.n, d.y, d.mean, d.var, NULL, 10, levels, share);
    for (size_t i = 0; i < 10; i++) {
        char key[32];
        snprintf(key, sizeof key, "coverage_%g", levels[i]);
        same(share[i], key);
        area += fabs(share[i] - levels[i]) / 10.0;
    }
    same(area, "miscal_area_mean_abs");
    same(metrics_interval_score_for_tests(d.n, d.y, d.mean, d.var, 0.9), "interval_score_90");
    for (size_t i = 0; i < d.n; i++)
        err[i] = fabs(d.y[i] - d.mean[i]);
    ck_assert_int_eq(metrics_spearman(d.n, d.sd, err, &rho, NULL), ST_OK);
    same(rho, "spearman_sd_abserr");
    for (size_t i = 0; i < 40; i++)
        new_sd[i] = 1.3 * d.sd[i];
    ck_assert_int_eq(metrics_ks(40, d.sd + 40, 40, new_sd, &ks, NULL), ST_OK);
    same(ks, "ks_stat_first40_vs_scaled");
    free(d.mean), free(err);
}
END_TEST

START_TEST(golden_bins)
{
    struct data d = golden_data();
    size_t r, c;
    double *want = support_golden("met_binned", &r, &c), sd[8], mae[8], rmse[8];
    const struct metrics_bins bins = { sd, mae, rmse };
    ck_assert_uint_eq(metrics_bins(d.n, d.y, d.mean, d.var, 8, &bins, NULL), 8);
    for (size_t k = 0; k < 8; k++) {
        ck_assert(support_close(sd[k], want[k * c], 1e-10));
        ck_assert(support_close(mae[k], want[k * c + 1], 1e-10));
        ck_assert(support_close(rmse[k], want[k * c + 2], 1e-10));
    }
    free(d.mean), free(want);
}
END_TEST

/* ence_8 of the golden file from 8 bins by hand, and the structure's own from 10. */
START_TEST(golden_ence)
{
    struct data d = golden_data();
    struct metrics m;
    size_t r, c;
    double *bins = support_golden("met_binned", &r, &c), sd[10], mae[10], rmse[10], ence = 0.0;
    double rmv[10] = { 0 };
    size_t rank[80];
    ck_assert_uint_eq(d.n, 80);
    for (size_t i = 0; i < d.n; i++) {
        rank[i] = 0;
        for (size_t j = 0; j < d.n; j++)
            rank[i] += d.sd[j] < d.sd[i] || (d.sd[j] == d.sd[i] && j < i);
    }
    for (size_t nb = 8; nb <= 10; nb += 2) {
        memset(rmv, 0, sizeof rmv);
        ence = 0.0;
        for (size_t i = 0; i < d.n; i++)
            rmv[rank[i] * nb / d.n] += d.var[i] * (double)nb / (double)d.n;
        metrics_bins(d.n, d.y, d.mean, d.var, nb, &(struct metrics_bins){ sd, mae, rmse }, NULL);
        for (size_t k = 0; k < nb; k++)
            ence += fabs(sqrt(rmv[k]) - rmse[k]) / sqrt(rmv[k]) / (double)nb;
        if (nb == 8)
            same(ence, "ence_8");
    }
    ck_assert_int_eq(metrics_compute(d.n, d.y, d.mean, d.var, NULL, &m, NULL), ST_OK);
    ck_assert_double_eq_tol(m.ence, ence, 1e-12);
    free(d.mean), free(bins);
}
END_TEST

START_TEST(golden_ties)
{
    size_t n, c;
    double *x = support_golden("spearman_ties", &n, &c), a[16], b[16], rho;
    for (size_t i = 0; i < n; i++)
        a[i] = x[2 * i], b[i] = x[2 * i + 1];
    ck_assert_int_eq(metrics_spearman(n, a, b, &rho, NULL), ST_OK);
    ck_assert_double_eq_tol(rho, support_golden_scalar("spearman_ties_value", "spearman"), 1e-12);
    for (size_t i = 0; i < n; i++)
        b[i] = 0.1; /* no rank correlation, though the sums of its rounding are not 0 */
    ck_assert_int_eq(metrics_spearman(n, a, b, &rho, NULL), ST_OK);
    ck_assert(isnan(rho));
    free(x);
}
END_TEST

static enum status classes(size_t n, const double *y, const double *mean, double *roc, double *pr)
{
    struct metrics m;
    const enum status rc = metrics_compute(n, y, mean, NULL, NULL, &m, NULL);
    *roc = m.auroc, *pr = m.auprc;
    return rc;
}

START_TEST(golden_classes)
{
    size_t n, c;
    double *x = support_golden("auprc_data", &n, &c), score[64], label[64], roc, pr, pairs = 0.0;
    double both = 0.0;
    ck_assert_uint_le(n, 64);
    for (size_t i = 0; i < n; i++)
        score[i] = x[2 * i], label[i] = x[2 * i + 1];
    ck_assert_int_eq(classes(n, label, score, &roc, &pr), ST_OK);
    ck_assert_double_eq_tol(pr, support_golden_scalar("auprc_scalars", "average_precision"), 1e-12);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (label[i] > label[j]) {
                both += 1.0;
                pairs += score[i] > score[j] ? 1.0 : score[i] == score[j] ? 0.5 : 0.0;
            }
    ck_assert_double_eq_tol(roc, pairs / both, 1e-12);
    free(x);
}
END_TEST

/* All means equal: chance; a perfect order and its reverse; any two values; no two values. */
START_TEST(two_values)
{
    const double y[4] = { -3.0, 7.0, -3.0, 7.0 }, same[4] = { 1.0, 1.0, 1.0, 1.0 };
    const double good[4] = { 0.0, 2.0, 1.0, 3.0 }, bad[4] = { 3.0, 0.0, 2.0, 1.0 };
    const double three[4] = { 0.0, 1.0, 2.0, 1.0 };
    double roc, pr;
    ck_assert_int_eq(classes(4, y, same, &roc, &pr), ST_OK);
    ck_assert(roc == 0.5 && pr == 0.5);
    ck_assert_int_eq(classes(4, y, good, &roc, &pr), ST_OK);
    ck_assert(roc == 1.0 && pr == 1.0);
    ck_assert_int_eq(classes(4, y, bad, &roc, &pr), ST_OK);
    ck_assert(roc == 0.0);
    ck_assert_double_eq_tol(pr, (1.0 / 3.0 + 2.0 / 4.0) / 2.0, 1e-15);
    ck_assert_int_eq(classes(4, three, good, &roc, &pr), ST_OK);
    ck_assert(isnan(roc) && isnan(pr));
    ck_assert_int_eq(classes(4, same, good, &roc, &pr), ST_OK);
    ck_assert(isnan(roc) && isnan(pr));
}
END_TEST

/* Published quantiles: Abramowitz & Stegun, table 26.5, and one of the far tail
 * (Phi(-37.5) = 4.60535300958e-308). */
START_TEST(normal_distribution)
{
    static const struct {
        double p, z;
    } known[] = { { 0.5, 0.0 }, { 0.75, 0.67448975019608174 }, { 0.9, 1.2815515655446004 },
                  { 0.95, 1.6448536269514722 }, { 0.975, 1.9599639845400545 },
                  { 0.999, 3.0902323061678132 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert_double_eq_tol(metrics_normal_quantile(known[i].p), known[i].z, 1e-13);
        ck_assert_double_eq_tol(metrics_normal_quantile(1.0 - known[i].p), -known[i].z, 2e-13);
        ck_assert_double_eq_tol(metrics_normal_cdf(known[i].z), known[i].p, 1e-15);
    }
    for (double z = -37.0; z < 8.0; z += 0.01) {
        const double p = metrics_normal_cdf(z);
        /* one unit in the last place of p moves z by eps p / density */
        const double sharp = z > 0.0 ? 4e-16 / (exp(-0.5 * z * z) * 0.3989) : 1e-13;
        ck_assert_double_eq_tol(metrics_normal_quantile(p), z, 1e-13 + sharp);
    }
    ck_assert(isinf(metrics_normal_quantile(0.0)) && metrics_normal_quantile(0.0) < 0.0);
    ck_assert(isinf(metrics_normal_quantile(1.0)));
    ck_assert(isnan(metrics_normal_quantile(1.5)) && isnan(metrics_normal_quantile(NAN)));
}
END_TEST

START_TEST(degenerate_inputs)
{
    double y[3] = { 2.0, 2.0, 2.0 }, mean[3] = { 1.0, 2.0, 3.0 }, var[3] = { 1.0, 1.0, 1.0 };
    struct metrics m;
    struct err err = { 0 };
    ck_assert_int_eq(metrics_compute(3, y, mean, NULL, NULL, &m, NULL), ST_OK);
    ck_assert(isnan(m.r2) && isnan(m.spearman) && isnan(m.nlpd) && isnan(m.coverage95));
    ck_assert_double_eq_tol(m.mae, 2.0 / 3.0, 1e-15);
    ck_assert_int_eq(metrics_compute(0, y, mean, var, NULL, &m, &err), ST_RANGE);
    var[1] = 0.0;
    ck_assert_int_eq(metrics_compute(3, y, mean, var, NULL, &m, &err), ST_RANGE);
    ck_assert_ptr_nonnull(strstr(err.msg, "row 2"));
    mean[2] = NAN;
    ck_assert_int_eq(metrics_compute(3, y, mean, NULL, NULL, &m, &err), ST_RANGE);
    /* one row, fewer rows than bins */
    ck_assert_int_eq(metrics_compute(1, y, y, y, NULL, &m, NULL), ST_OK);
    ck_assert_double_eq(m.coverage50, 1.0);
    for (size_t nth = 1; nth <= 3; nth++) {
        mem_fail_after_for_tests(nth);
        ck_assert_int_eq(metrics_compute(2, y, y, y, NULL, &m, &err), ST_NOMEM);
        mem_fail_after_for_tests(0);
    }
}
END_TEST

/* For normal data with the right variance: mean z^2 = 1, coverage as named, NLPD the entropy. */
/* A posterior of three points on a line, kernel exp(-d^2), by hand through the 2 x 2 system of the
 * two that are left when the first is taken away. */
START_TEST(left_out_variance_is_that_of_the_smaller_model)
{
    const double noise2 = 0.3, x[3] = { 0.0, 0.7, 1.9 };
    double K[3][3], inv[3][3], det;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            K[i][j] = exp(-(x[i] - x[j]) * (x[i] - x[j])) + (i == j ? noise2 : 0.0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inv[j][i] = K[(i + 1) % 3][(j + 1) % 3] * K[(i + 2) % 3][(j + 2) % 3] -
                        K[(i + 1) % 3][(j + 2) % 3] * K[(i + 2) % 3][(j + 1) % 3];
    det = K[0][0] * inv[0][0] + K[0][1] * inv[1][0] + K[0][2] * inv[2][0];
    double v = 1.0; /* of all three rows, at the first */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            v -= (K[0][i] - (i == 0 ? noise2 : 0.0)) * inv[i][j] / det *
                 (K[0][j] - (j == 0 ? noise2 : 0.0));
    const double b = K[0][1], c = K[0][2], d2 = K[1][1] * K[2][2] - K[1][2] * K[1][2];
    const double left =
        1.0 + noise2 - (b * b * K[2][2] - 2 * b * c * K[1][2] + c * c * K[1][1]) / d2;
    ck_assert_double_eq_tol(metrics_left_out_variance(v + noise2, noise2), left, 1e-12);
    ck_assert_double_eq(metrics_left_out_variance(2.5, 0.0), 2.5);
    ck_assert(isfinite(metrics_left_out_variance(2.0, 1.0)));
}
END_TEST

START_TEST(honest_predictions_look_honest)
{
    enum { n = 40000 };
    struct splitmix s;
    struct metrics m;
    double *y = malloc(3 * n * sizeof *y), *mean = y + n, *var = mean + n, entropy = 0.0;
    splitmix_init(&s, 3);
    for (size_t i = 0; i < n; i++) {
        mean[i] = splitmix_normal(&s);
        var[i] = 0.1 + splitmix_uniform(&s);
        y[i] = mean[i] + sqrt(var[i]) * splitmix_normal(&s);
        entropy += 0.5 * log(2.0 * M_PI * M_E * var[i]) / n;
    }
    ck_assert_int_eq(metrics_compute(n, y, mean, var, NULL, &m, NULL), ST_OK);
    /* four standard errors: sqrt(2/n), sqrt(p(1-p)/n), sqrt(1/(2n)) */
    ck_assert_double_eq_tol(m.mean_z2, 1.0, 4.0 * sqrt(2.0 / n));
    ck_assert_double_eq_tol(m.coverage50, 0.5, 4.0 * 0.5 / sqrt(n));
    ck_assert_double_eq_tol(m.coverage95, 0.95, 4.0 * sqrt(0.95 * 0.05 / n));
    ck_assert_double_eq_tol(m.nlpd, entropy, 4.0 * sqrt(0.5 / n));
    ck_assert_double_lt(m.nlpd, m.nlpd_constant);
    ck_assert_double_lt(m.ence, 0.05);
    free(y);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, normal_distribution);
    tcase_add_test(t, degenerate_inputs);
    tcase_add_test(t, two_values);
    tcase_add_test(t, left_out_variance_is_that_of_the_smaller_model);
    tcase_add_test(t, honest_predictions_look_honest);
    if (support_shared("golden/met_data.csv")) {
        tcase_add_test(t, golden_scores);
        tcase_add_test(t, golden_calibration);
        tcase_add_test(t, golden_bins);
        tcase_add_test(t, golden_ence);
        tcase_add_test(t, golden_ties);
        tcase_add_test(t, golden_classes);
    }
    suite_add_tcase(s, t);
    return support_run(s);
}
