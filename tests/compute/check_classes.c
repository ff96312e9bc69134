/* tests/compute/check_classes.c -- likelihoods of two classes: golden posteriors and evidences, one
 * and two rows by quadrature, gradients by differences, threads. */
#include "support.h"

#include "compute/inducing/sites.h"
#include "compute/kernels/kernel.h"
#include "compute/likelihood/latent.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll.h"
#include "compute/models/exact.h"
#include "compute/pool.h"
#include "compute/stats/class_scores.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A posterior with room for its results. */
struct room { struct latent l; double *all; };

static struct room room_of(size_t n, const double *K, const double *y, struct pool *pool)
{
    double *all = calloc(2 * n * n + 4 * n, sizeof *all);

    ck_assert_ptr_nonnull(all);
    return (struct room){
        .all = all,
        .l = { .pool = pool, .n = n, .K = K, .y = y, .B = all, .V = all + n * n,
               .tau = all + 2 * n * n, .alpha = all + 2 * n * n + n, .u = all + 2 * n * n + 2 * n,
               .g = all + 2 * n * n + 3 * n },
    };
}

/* K = 2 exp(-r^2/2) between rows of two inputs. */
static double golden_kernel(const double *a, const double *b)
{
    const double dx = a[0] - b[0], dy = a[1] - b[1];
    return 2.0 * exp(-0.5 * (dx * dx + dy * dy));
}

static double *golden_matrix(const double *X, size_t n)
{
    double *K = calloc(n * n, sizeof *K);

    for (size_t i = 0; i < n * n; i++)
        K[i] = golden_kernel(X + i / n * 2, X + i % n * 2);
    return K;
}

/* Mean, variance and probability of the test rows by the definition, with a dense solve of
 * (K + S^-2) by Gauss elimination. */
static void predict(const struct latent *l, const struct likelihood_ops *of, const double *X,
                    const double *x, double out[3])
{
    const size_t n = l->n;
    double *A = calloc(n * (n + 1), sizeof *A), mean = 0.0, var = golden_kernel(x, x);

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            A[i * (n + 1) + j] = l->K[i * n + j] + (i == j ? 1.0 / l->tau[i] : 0.0);
        A[i * (n + 1) + n] = golden_kernel(X + 2 * i, x);
    }
    for (size_t p = 0; p < n; p++)
        for (size_t i = 0; i < n; i++) {
            const double f = i == p ? 0.0 : A[i * (n + 1) + p] / A[p * (n + 1) + p];
            for (size_t j = p; f != 0.0 && j <= n; j++)
                A[i * (n + 1) + j] -= f * A[p * (n + 1) + j];
        }
    for (size_t i = 0; i < n; i++) {
        const double k = golden_kernel(X + 2 * i, x);
        mean += k * l->alpha[i];
        var -= k * A[i * (n + 1) + n] / A[i * (n + 1) + i];
    }
    out[0] = mean;
    out[1] = var;
    out[2] = of->probability(mean, var);
    free(A);
}

static void golden(const char *link, const char *evidence, const char *predictions,
                   struct room *r, double **X, double **K, double **y)
{
    size_t n, d, m, c;
    const struct likelihood_ops *of = likelihood_find("bernoulli", link, NULL);
    *X = support_golden("cls_X", &n, &d);
    *y = support_golden("cls_y", &n, &c);
    *K = golden_matrix(*X, n);
    double *Xt = support_golden("cls_Xtest", &m, &d), *want = support_golden(predictions, &m, &c);

    *r = room_of(n, *K, *y, NULL);
    r->l.tolerance = 1e-10;
    ck_assert_int_eq(of->posterior(&r->l, NULL, NULL), ST_OK);
    ck_assert(r->l.converged);
    ck_assert_double_eq_tol(r->l.evidence, support_golden_scalar("cls_scalars", evidence), 1e-8);
    for (size_t i = 0; i < m; i++) {
        double got[3];
        predict(&r->l, of, *X, Xt + 2 * i, got);
        for (size_t j = 0; j < 3; j++)
            ck_assert_double_eq_tol(got[j], want[3 * i + j], 1e-8);
    }
    free(Xt), free(want);
}

START_TEST(golden_probit)
{
    double *X, *K, *y;
    struct room r;
    size_t n, c;

    golden("probit", "ep_logZ", "ep_pred", &r, &X, &K, &y);
    double *sites = support_golden("ep_sites", &n, &c);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(r.l.tau[i], sites[2 * i], 1e-8);
    /* an independent estimate of the exact evidence, to the error of EP (../shared/methods.md) */
    ck_assert_double_eq_tol(r.l.evidence,
                            support_golden_scalar("cls_scalars", "importance_sampled_logZ"), 0.04);
    free(sites), free(r.all), free(X), free(K), free(y);
}
END_TEST

START_TEST(golden_logit)
{
    double *X, *K, *y;
    struct room r;
    size_t n, c;

    golden("logit", "laplace_logZ", "laplace_pred", &r, &X, &K, &y);
    double *mode = support_golden("laplace_mode", &n, &c);
    for (size_t i = 0; i < n; i++) {
        double f = 0.0;
        for (size_t j = 0; j < n; j++)
            f += K[i * n + j] * r.l.alpha[j];
        ck_assert_double_eq_tol(f, mode[i], 1e-8);
    }
    free(mode), free(r.all), free(X), free(K), free(y);
}
END_TEST

/* One row: EP is exact, Z = Phi(0) = 1/2 for any variance; two rows: the integral on a grid. */
START_TEST(few_rows)
{
    const double K1[] = { 3.0 }, y[] = { 1.0, -1.0 }, K2[] = { 2.0, 0.7, 0.7, 1.5 };
    const struct likelihood_ops *of = likelihood_find("bernoulli", NULL, NULL);
    struct room r = room_of(1, K1, y, NULL);

    ck_assert_str_eq(of->link, "probit");
    ck_assert_int_eq(of->posterior(&r.l, NULL, NULL), ST_OK);
    ck_assert_double_eq_tol(r.l.evidence, log(0.5), 1e-12);
    free(r.all);
    r = room_of(2, K2, y, NULL);
    ck_assert_int_eq(of->posterior(&r.l, NULL, NULL), ST_OK);
    const double det = K2[0] * K2[3] - K2[1] * K2[2], h = 0.02;
    double z = 0.0;
    for (double a = -10.0; a < 10.0; a += h)
        for (double b = -10.0; b < 10.0; b += h)
            z += exp(-0.5 * (K2[3] * a * a - 2.0 * K2[1] * a * b + K2[0] * b * b) / det) * 0.25 *
                 erfc(-y[0] * a * M_SQRT1_2) * erfc(-y[1] * b * M_SQRT1_2);
    z *= h * h / (2.0 * M_PI * sqrt(det));
    ck_assert_double_eq_tol(r.l.evidence, log(z), 2e-3); /* EP's own error */
    free(r.all);
}
END_TEST

/* A row whose function is 0 with certainty, such as one without words, has probability 1/2 and
 * changes no other row, by both links and at inducing points. */
START_TEST(rows_without_a_function)
{
    const double y[] = { 1.0, -1.0, 1.0, -1.0 }, K2[] = { 2.0, 0.7, 0.7, 1.5 };
    const double K4[] = { 2.0, 0.7, 0.0, 0.0, 0.7, 1.5, 0.0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0 };
    const double X[] = { 1.0, 0.5, -0.7, 1.2, 0.0, 0.0, 0.0, 0.0 };

    for (size_t link = 0; link < 2; link++) {
        const struct likelihood_ops *of =
            likelihood_find("bernoulli", link ? "logit" : "probit", NULL);
        struct room two = room_of(2, K2, y, NULL), four = room_of(4, K4, y, NULL);
        ck_assert_int_eq(of->posterior(&two.l, NULL, NULL), ST_OK);
        ck_assert_int_eq(of->posterior(&four.l, NULL, NULL), ST_OK);
        ck_assert(four.l.converged);
        ck_assert_double_eq_tol(four.l.evidence, two.l.evidence + 2.0 * log(0.5), 1e-9);
        for (size_t i = 0; i < 2; i++)
            ck_assert_double_eq_tol(four.l.alpha[i], two.l.alpha[i], 1e-7);
        free(two.all);
        free(four.all);
    }
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    double hp[KERNEL_MAX_HP];
    struct kernel k;
    struct sites s[2];
    ck_assert_int_eq(kernel_parse("linear", &k, hp, NULL), ST_OK);
    for (size_t i = 0; i < 2; i++) {
        const struct columns_of rows = { .k = &k, .hp = hp, .X = X, .n = i ? 4 : 2, .d = 2 };
        ck_assert_int_eq(sites_make(&rows, X, 1, of, y, &s[i], NULL, NULL), ST_OK);
        s[i].low.levelled = false;
        ck_assert_int_eq(sites_at(&s[i], 1.3, 1e-10, NULL, NULL), ST_OK);
    }
    ck_assert_double_eq_tol(s[1].l.evidence, s[0].l.evidence + 2.0 * log(0.5), 1e-9);
    ck_assert_double_eq_tol(s[1].l.nu[1], s[0].l.nu[1], 1e-7);
    sites_free(&s[0]);
    sites_free(&s[1]);
}
END_TEST

/* Far in the tails nothing is lost: strongly contradicting rows have finite sites. */
START_TEST(tails)
{
    const double K[] = { 1e4, 1e4 - 1e-3, 1e4 - 1e-3, 1e4 }, y[] = { 1.0, -1.0 };

    for (size_t i = 0; i < 2; i++) {
        const struct likelihood_ops *of =
            likelihood_find("bernoulli", i ? "logit" : "probit", NULL);
        struct room r = room_of(2, K, y, NULL);
        ck_assert_int_eq(of->posterior(&r.l, NULL, NULL), ST_OK);
        ck_assert(isfinite(r.l.evidence) && r.l.evidence < log(0.25) + 1e-9);
        for (size_t j = 0; j < 2; j++)
            ck_assert(r.l.tau[j] >= LATENT_TAU_LEAST && isfinite(r.l.alpha[j]));
        free(r.all);
        ck_assert_double_eq_tol(of->probability(0.0, 7.0), 0.5, 1e-15);
        ck_assert_double_eq_tol(of->probability(2.0, 3.0) + of->probability(-2.0, 3.0), 1.0, 1e-14);
        ck_assert(of->probability(-300.0, 1.0) >= 0.0 && of->probability(300.0, 1.0) <= 1.0);
    }
}
END_TEST

/* d NMLL / d log hp and d log amplitude against central differences. */
START_TEST(gradient)
{
    const struct likelihood_ops *of =
        likelihood_find("bernoulli", _i ? "logit" : "probit", NULL);
    enum { N = 40, D = 3 };
    double X[N * D], y[N], hp[KERNEL_MAX_HP], grad[KERNEL_MAX_HP + 2] = { 0 };
    struct splitmix s;
    struct kernel k;
    struct source_array src;
    struct err err = { 0 };

    splitmix_init(&s, 5);
    for (size_t i = 0; i < N * D; i++)
        X[i] = splitmix_normal(&s);
    for (size_t i = 0; i < N; i++)
        y[i] = X[i * D] + 0.5 * splitmix_normal(&s) > 0.0 ? 1.0 : -1.0;
    ck_assert_int_eq(kernel_parse("rbf(l=1.3) + matern(nu=3/2,l=0.8)", &k, hp, &err), ST_OK);
    for (size_t h = 0; h < kernel_nhp(&k); h++) { /* weights of the terms */
        char name[KERNEL_NAME_MAX];
        struct hparam info;
        kernel_hp_info(&k, h, name, &info);
        hp[h] = isnan(hp[h]) ? info.init : hp[h];
    }
    source_array_init(&src, X, N, D, D);
    double value;
    struct nmll_ask ask = { .t = 1, .y = y, .hp = hp, .nhp = kernel_nhp(&k), .scale = NMLL_GIVEN,
                            .amplitude = 1.7, .noise = 0.1 };
    struct nmll_told told = { .value = &value, .grad = grad };
    ck_assert_int_eq(nmll_classes(of, &k, &src.base, &ask, &told, NULL, NULL, &err), ST_OK);
    told.grad = NULL;
    for (size_t h = 0; h <= ask.nhp; h++) {
        double *at = h < ask.nhp ? &hp[h] : &ask.amplitude, was = *at, up, down;
        *at = was * exp(1e-4);
        told.value = &up;
        ck_assert_int_eq(nmll_classes(of, &k, &src.base, &ask, &told, NULL, NULL, &err), ST_OK);
        *at = was * exp(-1e-4);
        told.value = &down;
        ck_assert_int_eq(nmll_classes(of, &k, &src.base, &ask, &told, NULL, NULL, &err), ST_OK);
        *at = was;
        ck_assert_double_eq_tol(grad[h], (up - down) / 2e-4, 1e-5 * (1.0 + fabs(grad[h])));
    }
    ck_assert_double_eq(grad[ask.nhp + 1], 0.0);
}
END_TEST

/* A row of weight 2 is the row twice, and by the mode a row of weight 1 is two of weight 1/2: the
 * same evidence, and the same function. */
enum { WEIGHED = 24, REPEATED = 36, HALVED = 72 };
static void repeats(double X[2 * HALVED], double y[HALVED], double weight[3][HALVED])
{
    enum { N = WEIGHED, ALL = REPEATED };
    struct splitmix s;

    splitmix_init(&s, 11);
    for (size_t i = 0; i < 2 * N; i++)
        X[i] = splitmix_normal(&s);
    for (size_t i = 0; i < HALVED; i++) { /* the first ALL - N rows come again, then all do */
        const size_t once = i < ALL ? i : i - ALL, from = once < N ? once : once - N;
        X[2 * i] = X[2 * from];
        X[2 * i + 1] = X[2 * from + 1];
        y[i] = i < N ? X[2 * i] + 0.7 * splitmix_normal(&s) > 0.3 ? 1.0 : -1.0 : y[from];
        weight[0][i] = i < ALL - N ? 2.0 : 1.0;
        weight[1][i] = 1.0;
        weight[2][i] = 0.5;
    }
}

START_TEST(weights_are_repeats)
{
    static const size_t rows[3] = { WEIGHED, REPEATED, HALVED };
    const struct likelihood_ops *of = likelihood_find("bernoulli", _i ? "logit" : "probit", NULL);
    const size_t sets = _i ? 3 : 2;
    double X[2 * HALVED], y[HALVED], weight[3][HALVED], *K[3];
    struct room r[3];

    repeats(X, y, weight);
    for (size_t q = 0; q < sets; q++) {
        K[q] = golden_matrix(X, rows[q]);
        r[q] = room_of(rows[q], K[q], y, NULL);
        r[q].l.weight = q == 1 ? NULL : weight[q];
        r[q].l.tolerance = 1e-10;
        ck_assert_int_eq(of->posterior(&r[q].l, NULL, NULL), ST_OK);
        ck_assert(r[q].l.converged);
        ck_assert_double_eq_tol(r[q].l.evidence, r[0].l.evidence, 1e-8);
    }
    for (double x = -2.0; x < 2.5; x += 0.5) {
        const double at[2] = { x, 0.3 - x };
        double one[3], again[3];
        predict(&r[0].l, of, X, at, one);
        for (size_t q = 1; q < sets; q++) {
            predict(&r[q].l, of, X, at, again);
            for (size_t j = 0; j < 3; j++)
                ck_assert_double_eq_tol(one[j], again[j], 1e-8);
        }
    }
    for (size_t q = 0; q < sets; q++)
        free(r[q].all), free(K[q]);
}
END_TEST

/* The integral of N(f; mean, var) Phi(y f)^w, with mean and variance of the product, by a plain sum
 * over a fine grid. */
static double product(double mean, double var, double y, double w, double *m, double *v)
{
    const double sd = sqrt(var), from = mean - 14.0 * sd, h = fmin(0.01 * sd, 0.01);
    double z = 0.0;

    *m = *v = 0.0;
    for (double f = from; f < mean + 14.0 * sd; f += h) {
        const double at = h * exp(-0.5 * (f - mean) * (f - mean) / var) *
                          pow(0.5 * erfc(-y * f * M_SQRT1_2), w);
        z += at;
        *m += at * (f - mean);
        *v += at * (f - mean) * (f - mean);
    }
    *v = *v / z - *m / z * (*m / z);
    *m = mean + *m / z;
    return z / sqrt(2.0 * M_PI * var);
}

/* A weight below 1 is a power of the likelihood.  Rows that have nothing in common have the product
 * of their integrals as evidence. */
START_TEST(weights_of_rows_alone)
{
    enum { N = 5 };
    const double scale[N] = { 1e-3, 0.5, 3.0, 100.0, 1e4 }, w[N] = { 0.5, 0.9, 0.6, 0.51, 0.7 };
    const double y[N] = { 1, -1, 1, -1, 1 };
    double K[N * N] = { 0.0 }, want = 0.0, m, v;

    for (size_t i = 0; i < N; i++) {
        K[i * (N + 1)] = scale[i];
        want += log(product(0.0, scale[i], y[i], w[i], &m, &v));
    }
    struct room r = room_of(N, K, y, NULL);
    r.l.weight = w;
    ck_assert_int_eq(likelihood_linked("probit")->posterior(&r.l, NULL, NULL), ST_OK);
    ck_assert(r.l.converged);
    ck_assert_double_eq_tol(r.l.evidence, want, 1e-8);
    free(r.all);
}
END_TEST

/* Rows with few in common and with many, narrow and wide: without its own site each has a cavity
 * whose product with the power of its likelihood has the posterior's mean and variance. */
START_TEST(weights_match_moments)
{
    enum { N = WEIGHED };
    static const double amplitudes[4] = { 0.05, 1.0, 30.0, 1000.0 };
    double X[2 * HALVED], y[HALVED], weight[3][HALVED], work[4 * N], m, v;

    repeats(X, y, weight);
    double *K = golden_matrix(X, N);
    for (size_t i = 0; i < N * N; i++)
        K[i] *= amplitudes[_i];
    struct room r = room_of(N, K, y, NULL);
    for (size_t i = 0; i < N; i++)
        weight[0][i] = y[i] > 0.0 ? 1.7 : 0.55 + 0.01 * (double)i;
    r.l.weight = weight[0];
    r.l.tolerance = 1e-11;
    r.l.nu = work;
    ck_assert_int_eq(likelihood_linked("probit")->posterior(&r.l, NULL, NULL), ST_OK);
    ck_assert(r.l.converged);
    double *const mean = work + N, *const var = work + 2 * N;
    ck_assert_int_eq(latent_moments(&r.l, work, mean, var, work + 3 * N, NULL, NULL), ST_OK);
    for (size_t i = 0; i < N; i++)
        if (y[i] < 0.0) {
            const double tau = 1.0 / var[i] - r.l.tau[i];
            product((mean[i] / var[i] - work[i]) / tau, 1.0 / tau, y[i], weight[0][i], &m, &v);
            ck_assert_double_eq_tol(m / sqrt(var[i]), mean[i] / sqrt(var[i]), 1e-7);
            ck_assert_double_eq_tol(v / var[i], 1.0, 1e-7);
        }
    free(r.all), free(K);
}
END_TEST

/* The same at inducing points, of which each row is one: the level and the mean of the directions
 * are those of the repeats, too. */
START_TEST(weights_are_repeats_at_points)
{
    static const size_t rows[2] = { WEIGHED, REPEATED };
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    double X[2 * HALVED], y[HALVED], weight[3][HALVED], hp[KERNEL_MAX_HP];
    struct sites s[2];
    struct kernel k;

    repeats(X, y, weight);
    ck_assert_int_eq(kernel_parse("rbf(l=1)", &k, hp, NULL), ST_OK);
    for (size_t q = 0; q < 2; q++) {
        const struct columns_of all = { .k = &k, .hp = hp, .X = X, .n = rows[q], .d = 2 };
        ck_assert_int_eq(sites_make(&all, X, WEIGHED, of, y, &s[q], NULL, NULL), ST_OK);
        s[q].l.weight = q == 1 ? NULL : weight[q];
        ck_assert_int_eq(sites_at(&s[q], 1.7, 1e-10, NULL, NULL), ST_OK);
        ck_assert(s[q].l.converged);
        ck_assert_double_eq_tol(s[q].l.evidence, s[0].l.evidence, 1e-6);
        ck_assert_double_eq_tol(s[q].l.level, s[0].l.level, 1e-6);
        for (size_t j = 0; j < WEIGHED; j++)
            ck_assert_double_eq_tol(s[q].low.u[j], s[0].low.u[j], 1e-6);
    }
    for (size_t q = 0; q < 2; q++)
        sites_free(&s[q]);
}
END_TEST

START_TEST(balanced_weights)
{
    const double y[8] = { 1, -1, -1, -1, 1, -1, -1, -1 }, one[3] = { 1, 1, 1 };
    double w[8];

    latent_balance(8, y, w);
    for (size_t i = 0; i < 8; i++) /* 8/2 over 2 rows and over 6 */
        ck_assert_double_eq_tol(w[i], y[i] > 0.0 ? 2.0 : 4.0 / 6.0, 1e-15);
    latent_balance(3, one, w);
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq(w[i], 1.0);
}
END_TEST

/* The best amplitude within bounds is no worse than any of a grid. */
START_TEST(best_amplitude)
{
    size_t n, d, c;
    double *X = support_golden("cls_X", &n, &d), *y = support_golden("cls_y", &n, &c);
    double hp[KERNEL_MAX_HP], value, amplitude = 0.0, noise;
    const struct likelihood_ops *of = likelihood_find("bernoulli", _i ? "logit" : "probit", NULL);
    const struct nmll_bounds within = { { 0.05, 20.0 }, { 0.1, 0.1 } };
    struct kernel k;
    struct source_array src;

    ck_assert_int_eq(kernel_parse("rbf(l=1)", &k, hp, NULL), ST_OK);
    source_array_init(&src, X, n, d, d);
    struct nmll_ask ask = { .t = 1, .y = y, .hp = hp, .nhp = 1, .scale = NMLL_BEST,
                            .within = &within };
    struct nmll_told told = { .value = &value, .amplitude = &amplitude, .noise = &noise };
    ck_assert_int_eq(nmll_classes(of, &k, &src.base, &ask, &told, NULL, NULL, NULL), ST_OK);
    ask.scale = NMLL_GIVEN;
    ask.noise = 0.1;
    for (double a = 0.05; a < 20.0; a *= 1.3) {
        double other;
        told = (struct nmll_told){ .value = &other };
        ask.amplitude = a;
        ck_assert_int_eq(nmll_classes(of, &k, &src.base, &ask, &told, NULL, NULL, NULL), ST_OK);
        ck_assert_double_ge(other, value - 1e-4);
    }
    free(X), free(y);
}
END_TEST

/* The same bits with one thread and with three. */
START_TEST(threads)
{
    enum { N = 150 };
    double X[2 * N], y[N];
    struct splitmix s;

    splitmix_init(&s, 9);
    for (size_t i = 0; i < 2 * N; i++)
        X[i] = splitmix_normal(&s);
    for (size_t i = 0; i < N; i++)
        y[i] = X[2 * i] * X[2 * i + 1] > 0.0 ? 1.0 : -1.0;
    double *K = golden_matrix(X, N);
    struct pool *pool = pool_new(3, NULL);
    for (size_t i = 0; i < 2; i++) {
        const struct likelihood_ops *of =
            likelihood_find("bernoulli", i ? "logit" : "probit", NULL);
        struct room a = room_of(N, K, y, NULL), b = room_of(N, K, y, pool);
        ck_assert_int_eq(of->posterior(&a.l, NULL, NULL), ST_OK);
        ck_assert_int_eq(of->posterior(&b.l, NULL, NULL), ST_OK);
        ck_assert_mem_eq(a.all, b.all, (2 * N * N + 4 * N) * sizeof *a.all);
        free(a.all), free(b.all);
    }
    pool_free(pool);
    free(K);
}
END_TEST

/* With all rows as inducing points and no level the posterior is that of the full model: golden
 * evidence and sites.  The points' factor may have a jitter of 1e-12, which moves them by less than
 * 1e-6. */
START_TEST(all_rows_as_points)
{
    size_t n, d, c;
    double *X = support_golden("cls_X", &n, &d), *y = support_golden("cls_y", &n, &c);
    double *want = support_golden("ep_sites", &n, &c), hp[KERNEL_MAX_HP];
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    struct kernel k;
    struct sites s;

    ck_assert_int_eq(kernel_parse("rbf(l=1)", &k, hp, NULL), ST_OK);
    const struct columns_of rows = { .k = &k, .hp = hp, .X = X, .n = n, .d = d };
    ck_assert_int_eq(sites_make(&rows, X, n, of, y, &s, NULL, NULL), ST_OK);
    s.low.levelled = false;
    ck_assert_int_eq(sites_at(&s, M_SQRT2, 1e-10, NULL, NULL), ST_OK);
    ck_assert_double_eq_tol(s.l.evidence, support_golden_scalar("cls_scalars", "ep_logZ"), 1e-6);
    for (size_t i = 0; i < n; i++) {
        ck_assert_double_eq_tol(s.l.tau[i], want[2 * i], 1e-6);
        ck_assert_double_eq_tol(s.l.nu[i], want[2 * i + 1], 1e-6);
    }
    sites_free(&s);
    free(want), free(X), free(y);
}
END_TEST

/* Lower Cholesky factor in place (n x n, by rows). */
static void cholesky(size_t n, double *A)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double s = A[i * n + j];
            for (size_t k = 0; k < j; k++)
                s -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(s) : s / A[j * n + j];
        }
}

/* log N(nu / sqrt(tau); 0, I + S K S) without its constant, K the prior of FITC with the points of
 * Z but the one left out. */
static double fixed_evidence(size_t n, const double *X, const double *tau, const double *nu,
                             size_t m, const double *Z, size_t without)
{
    enum { N = WEIGHED, M = 5 };
    double zz[M * M], A[M * N], B[N * N], value = 0.0, r[N];
    size_t own = 0, of[M];

    ck_assert(n == N && m <= M);
    for (size_t j = 0; j < m; j++)
        if (j != without)
            of[own++] = j;
    for (size_t i = 0; i < own * own; i++)
        zz[i] = golden_kernel(Z + 2 * of[i / own], Z + 2 * of[i % own]);
    cholesky(own, zz);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < own; j++) {
            double s = golden_kernel(X + 2 * i, Z + 2 * of[j]);
            for (size_t k = 0; k < j; k++)
                s -= zz[j * own + k] * A[k * n + i];
            A[j * n + i] = s / zz[j * own + j];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double q = i == j ? golden_kernel(X, X) : 0.0;
            for (size_t k = 0; k < own && i != j; k++)
                q += A[k * n + i] * A[k * n + j];
            B[i * n + j] = (i == j) + sqrt(tau[i] * tau[j]) * q;
        }
    cholesky(n, B);
    for (size_t i = 0; i < n; i++) {
        r[i] = nu[i] / sqrt(tau[i]);
        for (size_t k = 0; k < i; k++)
            r[i] -= B[i * n + k] * r[k];
        r[i] /= B[i * n + i];
        value -= 0.5 * r[i] * r[i] + log(B[i * n + i]);
    }
    return value;
}

/* What a point is worth: the evidence of the sites that stay as they are, and nearly that of a
 * posterior without the point. */
START_TEST(points_are_weighed)
{
    enum { N = WEIGHED, M = 5 };
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    double X[2 * HALVED], y[HALVED], weight[3][HALVED], hp[KERNEL_MAX_HP], loss[M], Z[2 * M];
    struct sites all, less;
    struct kernel k;

    repeats(X, y, weight);
    ck_assert_int_eq(kernel_parse("rbf(l=1)", &k, hp, NULL), ST_OK);
    const struct columns_of rows = { .k = &k, .hp = hp, .X = X, .n = N, .d = 2 };
    ck_assert_int_eq(sites_make(&rows, X, M, of, y, &all, NULL, NULL), ST_OK);
    all.l.weight = weight[0];
    ck_assert_int_eq(sites_at(&all, M_SQRT2, 1e-10, NULL, NULL), ST_OK);
    ck_assert_int_eq(sites_weigh(&rows, X, &all, loss, NULL, NULL), ST_OK);
    const double whole = fixed_evidence(N, X, all.l.tau, all.l.nu, M, X, SIZE_MAX);
    for (size_t i = 0; i < M; i++) {
        const double one = fixed_evidence(N, X, all.l.tau, all.l.nu, M, X, i);
        ck_assert_double_eq_tol(loss[i], whole - one, 1e-6);
        for (size_t j = 0, to = 0; j < 2 * M; j++)
            if (j / 2 != i)
                Z[to++] = X[j];
        ck_assert_int_eq(sites_make(&rows, Z, M - 1, of, y, &less, NULL, NULL), ST_OK);
        less.l.weight = weight[0];
        ck_assert_int_eq(sites_at(&less, M_SQRT2, 1e-10, NULL, NULL), ST_OK);
        ck_assert_double_eq_tol(loss[i], all.l.evidence - less.l.evidence, 0.3);
        sites_free(&less);
    }
    sites_free(&all);
}
END_TEST

/* The sum of log Phi(y b / sqrt(1 + v)), and its derivative in b. */
static double alone(size_t n, const double *y, const double *v, double b, double *slope)
{
    double sum = 0.0;

    *slope = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double s = y[i] / sqrt(1.0 + v[i]), p = 0.5 * erfc(-b * s * M_SQRT1_2);
        sum += log(p);
        *slope += s * exp(-0.5 * b * b * s * s) / sqrt(2.0 * M_PI) / p;
    }
    return sum;
}

/* Rows that have nothing in common, one of them without a variance: the evidence at a level is a
 * product of normal distribution functions, whose largest value a bisection finds.  Expectation
 * propagation is exact here. */
START_TEST(level_of_rows_alone)
{
    enum { N = 9 };
    const double y[N] = { 1, -1, 1, 1, 1, -1, 1, 1, 1 };
    const double v[N] = { 0.3, 2.0, 1.0, 4.0, 0.0, 0.7, 9.0, 0.1, 2.5 }, none[N] = { 0 };
    double out[3 * N], W[N], F[1], u[1], low = -9.0, high = 9.0, slope;
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    struct latent_low prior = { .m = 1, .V = none, .missed = v, .amplitude = 1.0, .W = W, .F = F,
                                .u = u, .levelled = true };
    struct latent l = { .n = N, .low = &prior, .y = y, .tau = out, .alpha = out + N,
                        .nu = out + 2 * N, .tolerance = 1e-12 };

    for (size_t i = 0; i < 100; i++) {
        const double b = 0.5 * (low + high);
        alone(N, y, v, b, &slope);
        *(slope > 0.0 ? &low : &high) = b;
    }
    ck_assert_int_eq(of->posterior(&l, NULL, NULL), ST_OK);
    ck_assert(l.converged);
    ck_assert_double_gt(low, 0.5);
    ck_assert_double_eq_tol(l.level, low, 1e-8);
    ck_assert_double_eq_tol(l.evidence, alone(N, y, v, low, &slope), 1e-9);
    prior.levelled = false;
    ck_assert_int_eq(of->posterior(&l, NULL, NULL), ST_OK);
    ck_assert_double_eq(l.level, 0.0);
    ck_assert_double_eq_tol(l.evidence, N * log(0.5), 1e-9);
}
END_TEST

/* A constant in the kernel does what the level does, once its amplitude is large: the same sites,
 * up to the uncertainty of the constant itself, which falls with the rows. */
START_TEST(level_is_a_constant)
{
    enum { N = 600, M = 12 };
    double X[N], y[N], V[N * (M + 1)], missed[N], all[N * (M + 4) + (M + 1) * (M + 2)];
    double mean[2][N], slope = 0.0;
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    struct splitmix random;

    splitmix_init(&random, 4);
    for (size_t i = 0; i < N; i++) {
        X[i] = splitmix_normal(&random);
        y[i] = 1.2 + sin(3.0 * X[i]) + splitmix_normal(&random) > 0.0 ? 1.0 : -1.0;
        missed[i] = 0.1;
        for (size_t j = 0; j < M; j++)
            V[i + j * N] = sin((double)(j + 1) * X[i]) / (double)(j + 1);
        V[i + M * N] = 20.0;
    }
    for (size_t with = 0; with < 2; with++) { /* the level, then the constant */
        const size_t m = with ? M + 1 : M;
        struct latent_low prior = { .m = m, .V = V, .missed = missed, .amplitude = 1.0,
                                    .levelled = !with };
        struct latent l = { .n = N, .low = &prior, .y = y };
        double *W = calloc(N * m, sizeof *W);
        prior.W = W;
        prior.u = all;
        prior.F = all + m;
        l.tau = prior.F + m * m;
        l.alpha = l.tau + N;
        l.nu = l.alpha + N;
        ck_assert_int_eq(of->posterior(&l, NULL, NULL), ST_OK);
        ck_assert(l.converged);
        if (!with)
            ck_assert_double_gt(l.level, 0.5);
        for (size_t i = 0; i < N; i++)
            mean[with][i] = (l.nu[i] - l.alpha[i]) / l.tau[i] + l.level;
        for (size_t i = 0; !with && i < N; i++)
            slope += l.alpha[i];
        free(W);
    }
    ck_assert_double_eq_tol(slope, 0.0, 1e-4); /* the evidence is stationary in the level */
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(mean[0][i], mean[1][i], 0.03);
}
END_TEST

/* Fewer points than rows: the slope in lengthscales and amplitude against central differences, and
 * the same bits with one thread and with three. */
START_TEST(few_points)
{
    enum { N = 150, D = 2, M = 12 };
    double X[N * D], y[N], hp[KERNEL_MAX_HP], grad[KERNEL_MAX_HP + 2];
    const struct likelihood_ops *of = likelihood_find("bernoulli", "probit", NULL);
    struct pool *pool = pool_new(3, NULL);
    struct splitmix random;
    struct kernel k;
    struct sites s[2];

    splitmix_init(&random, 9);
    for (size_t i = 0; i < N * D; i++)
        X[i] = splitmix_normal(&random);
    for (size_t i = 0; i < N; i++)
        y[i] = X[2 * i] * X[2 * i + 1] + 0.3 * splitmix_normal(&random) > 0.6 ? 1.0 : -1.0;
    ck_assert_int_eq(kernel_parse("rbf(l=1.2)", &k, hp, NULL), ST_OK);
    struct columns_of rows = { .k = &k, .hp = hp, .X = X, .n = N, .d = D };
    for (size_t i = 0; i < 2; i++) {
        rows.pool = i ? pool : NULL;
        ck_assert_int_eq(sites_make(&rows, X, M, of, y, &s[i], NULL, NULL), ST_OK);
        ck_assert_int_eq(sites_at(&s[i], 1.7, 1e-10, NULL, NULL), ST_OK);
        ck_assert(s[i].l.converged);
    }
    ck_assert_mem_eq(s[0].l.tau, s[1].l.tau, 3 * N * sizeof(double)); /* and alpha and nu */
    ck_assert_mem_eq(s[0].low.F, s[1].low.F, M * M * sizeof(double));
    ck_assert_int_eq(sites_slope(&rows, X, &s[0], grad, NULL, NULL), ST_OK);
    for (size_t h = 0; h < 2; h++) {
        double value[2];
        for (size_t up = 0; up < 2; up++) {
            struct sites t;
            const double f = exp(up ? 1e-4 : -1e-4), was = hp[0];
            hp[0] *= h == 0 ? f : 1.0;
            ck_assert_int_eq(sites_make(&rows, X, M, of, y, &t, NULL, NULL), ST_OK);
            ck_assert_int_eq(sites_at(&t, h == 1 ? 1.7 * f : 1.7, 1e-10, NULL, NULL), ST_OK);
            value[up] = -t.l.evidence;
            hp[0] = was;
            sites_free(&t);
        }
        ck_assert_double_eq_tol(grad[h], (value[1] - value[0]) / 2e-4,
                                1e-5 * (1.0 + fabs(grad[h])));
    }
    ck_assert_double_eq(grad[2], 0.0);
    sites_free(&s[0]);
    sites_free(&s[1]);
    pool_free(pool);
}
END_TEST

/* Average precision, calibration and Brier score of the golden rows, which have ties. */
START_TEST(golden_scores)
{
    size_t n, c;
    double *d = support_golden("auprc_data", &n, &c), y[64], p[64];
    struct metrics m;

    ck_assert_uint_le(n, 64);
    for (size_t i = 0; i < n; i++) {
        p[i] = d[2 * i];
        y[i] = d[2 * i + 1];
    }
    ck_assert_int_eq(class_scores(n, y, p, NULL, &m, NULL), ST_OK);
    ck_assert(support_close(m.auprc, support_golden_scalar("auprc_scalars", "average_precision"),
                            1e-12));
    ck_assert(support_close(m.calibration_ad,
                            support_golden_scalar("auprc_scalars", "calib_AD_unweighted_10bins"),
                            1e-12));
    ck_assert(support_close(m.brier, support_golden_scalar("auprc_scalars", "brier"), 1e-12));
    free(d);
}
END_TEST

/* By hand: ties, a probability of 1/2, the log loss of certainty, and constant scores. */
START_TEST(scores_by_hand)
{
    const double y[] = { 1, 0, 1, 0 }, p[] = { 0.5, 0.5, 0.9, 0.2 },
                 same[] = { 0.3, 0.3, 0.3, 0.3 }, sure[] = { 0, 1, 1, 0 };
    struct metrics m;

    ck_assert_int_eq(class_scores(4, y, p, NULL, &m, NULL), ST_OK);
    ck_assert_uint_eq(m.clipped, 0);
    ck_assert_double_eq_tol(m.accuracy, 0.75, 1e-15); /* at 1/2 the positive class is the answer */
    ck_assert_double_eq_tol(m.auroc, 0.875, 1e-15);   /* 3 of 4 pairs, and a tie */
    ck_assert_double_eq_tol(m.log_loss, -(2 * log(0.5) + log(0.9) + log(0.8)) / 4, 1e-15);
    ck_assert_double_eq_tol(m.brier, (0.25 + 0.25 + 0.01 + 0.04) / 4, 1e-15);
    ck_assert_double_eq_tol(m.ece, (2 * 0.0 + 0.1 + 0.2) / 4, 1e-15);
    ck_assert_double_eq_tol(m.calibration_ad, (0.0 + 0.1 + 0.2) / 3, 1e-15);
    ck_assert(isnan(m.rmse) && isnan(m.nlpd) && isnan(m.coverage95));
    ck_assert_int_eq(class_scores(4, y, same, NULL, &m, NULL), ST_OK);
    ck_assert_double_eq_tol(m.auprc, m.base_rate, 1e-15);
    ck_assert_int_eq(class_scores(4, y, sure, NULL, &m, NULL), ST_OK);
    ck_assert_double_eq_tol(m.log_loss, -log(CLASS_SCORES_CLIP) / 2, 1e-9);
    ck_assert_uint_eq(m.clipped, 2);
    ck_assert_int_eq(class_scores(4, p, y, NULL, &m, NULL), ST_RANGE);
}
END_TEST

/* The tests of honesty have mean 0 and sd 1 when y is drawn with p, and see p pulled outwards. */
START_TEST(honesty)
{
    enum { N = 400, TIMES = 400 };
    static double y[N], p[N], far[N];
    double sum = 0.0, square = 0.0, outward = 0.0;
    struct splitmix s;

    splitmix_init(&s, 31);
    for (int t = 0; t < TIMES; t++) {
        for (size_t i = 0; i < N; i++) {
            p[i] = splitmix_uniform(&s);
            y[i] = splitmix_uniform(&s) < p[i];
            far[i] = p[i] * p[i] * p[i] / (p[i] * p[i] * p[i] + pow(1.0 - p[i], 3.0));
        }
        const double z = class_scores_honesty(N, y, p).spread_z;
        sum += z;
        square += z * z;
        outward += class_scores_honesty(N, y, far).spread_z / TIMES;
    }
    ck_assert_double_lt(fabs(sum / TIMES), 4.0 / sqrt(TIMES));
    ck_assert_double_lt(fabs(square / TIMES - 1.0), 4.0 * sqrt(2.0 / TIMES));
    ck_assert_double_gt(outward, 4.0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("classes");
    TCase *tc = tcase_create("classes");

    tcase_add_test(tc, golden_probit);
    tcase_add_test(tc, golden_logit);
    tcase_add_test(tc, few_rows);
    tcase_add_test(tc, rows_without_a_function);
    tcase_add_test(tc, tails);
    tcase_add_loop_test(tc, gradient, 0, 2);
    tcase_add_loop_test(tc, weights_are_repeats, 0, 2);
    tcase_add_test(tc, weights_are_repeats_at_points);
    tcase_add_test(tc, weights_of_rows_alone);
    tcase_add_loop_test(tc, weights_match_moments, 0, 4);
    tcase_add_test(tc, balanced_weights);
    tcase_add_loop_test(tc, best_amplitude, 0, 2);
    tcase_add_test(tc, threads);
    tcase_add_test(tc, all_rows_as_points);
    tcase_add_test(tc, points_are_weighed);
    tcase_add_test(tc, level_of_rows_alone);
    tcase_add_test(tc, level_is_a_constant);
    tcase_add_test(tc, few_points);
    tcase_add_test(tc, golden_scores);
    tcase_add_test(tc, scores_by_hand);
    tcase_add_test(tc, honesty);
    suite_add_tcase(s, tc);
    return support_run(s);
}
