/* tests/compute/check_diagnose.c -- left-one-out residuals against fits without the row; advice
 * against fits, dense formulas and itself on other threads; the parts of a sum of kernels against
 * elimination. */
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/stats/diagnose.h"
#include "compute/models/exact.h"
#include "compute/stats/parts.h"
#include "compute/rng.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 700, D = 3 };
struct prob { double X[N * D], y[N]; struct source_array src; };

static struct prob *prob_new(void)
{
    struct prob *p = malloc(sizeof *p);

    for (size_t i = 0; i < N * D; i++)
        p->X[i] = rng_normal(31, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < N; i++) {
        const double *x = p->X + i * D;
        p->y[i] = sin(2.0 * x[0]) + x[1] * x[2] + 0.1 * rng_normal(31, rng_stream(RNG_TEST, 2), i);
    }
    source_array_init(&p->src, p->X, N, D, D);
    return p;
}

static struct fit_opts options(const char *kernel, size_t features)
{
    struct fit_opts o = { .solver = "pcg", .features = features, .rtol = 1e-6, .maxit = 500,
                          .seed = 3, .amplitude = 1.0, .noise = 0.1, .keep_scale = true,
                          .variance = VAR_NONE };
    double set[KERNEL_MAX_HP];

    ck_assert_int_eq(kernel_parse(kernel, &o.kernel, set, NULL), ST_OK);
    o.hp[0] = 1.0;
    return o;
}

/* Row i removed, the others fitted by a dense solve, row i predicted: to rounding. */
START_TEST(left_one_out)
{
    enum { R = 30 };
    struct prob *p = prob_new();
    const struct fit_opts o = options("matern(nu=3/2)", 2);
    double e[R], sd[R], root[R], s[R], work[R * R], X[R * D], y[R], K[R * R], c[R], a[R], jitter;
    const double ratio = 0.02;

    for (size_t i = 0; i < R; i++)
        root[i] = _i ? 0.5 + (double)(i % 4) : 1.0;
    const struct exact_rows rows = { .k = &o.kernel, .hp = o.hp, .X = p->X, .n = R, .d = D,
                                     .row_scale = _i ? root : NULL };
    ck_assert_int_eq(diagnose_loo(&rows, p->y, ratio, e, sd, work, NULL, NULL), ST_OK);
    for (size_t i = 0; i < R; i++) {
        size_t n = 0;
        double mean = 0.0, var = root[i] * root[i] + ratio;
        for (size_t j = 0; j < R; j++)
            if (j != i) {
                memcpy(X + n * D, p->X + j * D, D * sizeof *X);
                s[n] = root[j];
                y[n++] = root[j] * p->y[j];
            }
        ck_assert_int_eq(
            exact_factor(
                &(struct exact_rows){
                    .k = &o.kernel, .hp = o.hp, .X = X, .n = n, .d = D, .row_scale = s},
                ratio, K, &jitter, NULL, NULL),
            ST_OK);
        exact_cross(&(struct exact_rows){.k = &o.kernel, .hp = o.hp, .X = X, .n = n, .d = D},
                    p->X + i * D, 1, c);
        for (size_t j = 0; j < n; j++)
            a[j] = root[i] * s[j] * c[j];
        ck_assert_int_eq(blas_dtrsm(NULL, false, n, 1, K, n, a, n, NULL), ST_OK);
        var -= blas_ddot(n, a, a);
        ck_assert_int_eq(blas_dtrsm(NULL, true, n, 1, K, n, a, n, NULL), ST_OK);
        mean = blas_ddot(n, a, y);
        ck_assert_double_eq_tol(e[i], root[i] * p->y[i] - mean, 1e-9);
        ck_assert_double_eq_tol(sd[i], sqrt(var), 1e-9);
    }
    free(p);
}
END_TEST

static struct advice advise(const struct prob *p, const struct fit_opts *o, const size_t *ranks,
                            size_t count, size_t sample, struct pool *pool)
{
    struct advice a;
    struct err err = { 0 };

    const struct diagnose_ask ask = { .rows = &p->src.base, .y = p->y, .opts = o, .ranks = ranks,
                                      .count = count, .solves = 1, .sample = sample };
    const struct tools tools = { backend_cpu(), pool, NULL };
    ck_assert_msg(diagnose_advise(&ask, &tools, &a, &err) == ST_OK, "%s", err.msg);
    return a;
}

/* A table over given ranks against fits with these: within a factor of 1.5, from half of the rows
 * (measured: 0.87 to 1.2). */
START_TEST(advice_holds)
{
    static const char *const kernels[] = { "rbf", "matern(nu=3/2)" };
    static const size_t ranks[] = { 0, 16, 48, 128 };
    struct prob *p = prob_new();
    struct fit_opts o = options(kernels[_i], 512);
    struct advice a = advise(p, &o, ranks, 4, N / 2, NULL);

    ck_assert_uint_eq(a.rows, 4);
    ck_assert_uint_eq(a.sample, N / 2);
    ck_assert(!a.refined && a.ratio == a.given);
    for (size_t i = 0; i < 4; i++) {
        struct fit_info info;
        struct model *m = NULL;
        ck_assert_uint_eq(a.row[i].rank, ranks[i]);
        ck_assert(a.row[i].low <= a.row[i].iterations && a.row[i].iterations <= a.row[i].high);
        if (i)
            ck_assert_double_lt(a.row[i].iterations, a.row[i - 1].iterations);
        o.solver = ranks[i] ? "pcg" : "cg";
        o.rank = ranks[i];
        ck_assert_int_eq(model_fit(&p->src.base, p->y, &o,
                                   &(struct tools){backend_cpu(), NULL, NULL}, &m, &info, NULL,
                                   NULL),
                         ST_OK);
        model_unref(m);
        ck_assert_msg(fabs(log(a.row[i].iterations / (double)info.iterations)) < log(1.5),
                      "%s rank %zu: %g expected, %zu taken", kernels[_i], ranks[i],
                      a.row[i].iterations, info.iterations);
    }
    diagnose_advice_free(&a);
    free(p);
}
END_TEST

/* The effective dimension of few features, and what they say that any number would have: between
 * that and the one of 4096 features, nearly the kernel. */
START_TEST(dimension_of_the_kernel)
{
    struct prob *p = prob_new();
    struct fit_opts few = options("rbf", 256), many = options("rbf", 4096);
    few.noise = many.noise = 0.5;
    struct advice a = advise(p, &few, NULL, 0, 0, NULL), b = advise(p, &many, NULL, 0, 0, NULL);

    ck_assert_double_lt(a.effective_dimension, 0.95 * b.effective_dimension);
    ck_assert_double_gt(a.kernel_dimension, 1.03 * a.effective_dimension);
    ck_assert_double_lt(a.kernel_dimension, b.effective_dimension);
    ck_assert_double_lt(b.kernel_dimension, 1.02 * b.effective_dimension);
    ck_assert_double_le(b.effective_dimension, b.kernel_dimension);
    diagnose_advice_free(&a);
    diagnose_advice_free(&b);
    free(p);
}
END_TEST

START_TEST(same_advice_for_any_thread_count)
{
    struct prob *p = prob_new();
    const struct fit_opts o = options("matern(nu=5/2)", 256);
    struct advice first = { 0 };

    for (size_t threads = 1; threads <= 3; threads++) {
        struct pool *pool = pool_new(threads, NULL);
        struct advice a = advise(p, &o, NULL, 0, 300, pool);
        if (threads == 1) {
            first = a;
        } else {
            ck_assert_uint_eq(a.rows, first.rows);
            ck_assert_uint_eq(a.best, first.best);
            for (size_t i = 0; i < a.rows; i++)
                ck_assert(a.row[i].iterations == first.row[i].iterations &&
                          a.row[i].low == first.row[i].low &&
                          a.row[i].seconds == first.row[i].seconds);
            ck_assert(a.effective_dimension == first.effective_dimension);
            diagnose_advice_free(&a);
        }
        pool_free(pool);
    }
    diagnose_advice_free(&first);
    free(p);
}
END_TEST

/* A stop is one, and leaves nothing behind. */
START_TEST(advice_stops)
{
    struct prob *p = prob_new();
    const struct fit_opts o = options("rbf", 256);
    struct cancel cancel = { 0 };
    const struct ctl ctl = { .cancel = &cancel };
    struct advice a;

    cancel.stop = true;
    const struct diagnose_ask ask = { .rows = &p->src.base, .y = p->y, .opts = &o, .solves = 1 };
    const struct tools tools = { backend_cpu(), NULL, &ctl };
    ck_assert_int_eq(diagnose_advise(&ask, &tools, &a, NULL), ST_CANCELLED);
    ck_assert_ptr_null(a.spectrum.lam);
    free(p);
}
END_TEST

/* X = A^-1 B by elimination in long double; A (n x n, positive definite) and B (n x k) go. */
static void eliminate(size_t n, size_t k, long double *A, long double *B)
{
    for (size_t p = 0; p < n; p++)
        for (size_t i = 0; i < n; i++) {
            const long double f = i == p ? 0 : A[i * n + p] / A[p * n + p];
            for (size_t j = p; j < n; j++)
                A[i * n + j] -= f * A[p * n + j];
            for (size_t j = 0; j < k; j++)
                B[i * k + j] -= f * B[p * k + j];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            B[i * k + j] /= A[i * n + i];
}

/* The covariance of product p of rbf + linear + constant (with_rbf), or of linear + constant. */
static double part_covariance(bool with_rbf, size_t p, const double *x, const double *y)
{
    double r2 = 0, xy = 0;

    for (size_t i = 0; i < D; i++) {
        r2 += (x[i] - y[i]) * (x[i] - y[i]);
        xy += x[i] * y[i];
    }
    const double k[] = { exp(-r2 / (2 * 0.9 * 0.9)), xy, 1 }, w[] = { 1, 0.7, 0.4 };
    if (with_rbf)
        return 1.3 * 1.3 * w[p] * w[p] * k[p];
    return 1.3 * 1.3 * (p ? 0.7 * 0.7 : 1) * k[p + 1];
}

/* Mean and variance of each product (share/doc/methods.md 13.3) against elimination: an exact model
 * (_i = 0), and features of linear and constant, which are the kernel itself.  What remains of the
 * other products is below 1e-6 of the one in question, over the square root of its weight. */
START_TEST(parts_of_a_sum)
{
    enum { R = 20, T = 5 };
    struct prob *p = prob_new();
    const bool exact = _i == 0;
    struct fit_opts o = options(exact ? "rbf + linear + constant" : "linear + constant", 4);
    const double hp[2][3] = { { 0.9, 0.7, 0.4 }, { 0.7 } };
    const struct tools tools = { backend_cpu(), NULL, NULL };
    size_t first[KERNEL_MAX_TERMS];
    struct model *m = NULL;
    struct fit_info info;
    struct err err = { 0 };

    memcpy(o.hp, hp[_i], sizeof hp[_i]);
    o.solver = exact ? "exact" : "direct";
    o.amplitude = 1.3;
    o.noise = 0.3;
    o.precision = PREC_DOUBLE;
    o.variance = VAR_ALL;
    p->src.base.n = R;
    const double *x = p->X + R * D; /* rows that the model has not seen */
    ck_assert_msg(model_fit(&p->src.base, p->y, &o, &tools, &m, &info, NULL, &err) == ST_OK, "%s",
                  err.msg);
    const size_t n = parts_count(&m->kernel, first);
    ck_assert_uint_eq(n, exact ? 3 : 2);
    for (size_t q = 0; q < n; q++) {
        long double A[R * R], B[R * (T + 1)];
        double c[R * T], mean[T], var[T];
        struct model_part part;
        for (size_t i = 0; i < R; i++) {
            for (size_t j = 0; j < R; j++) {
                A[i * R + j] = i == j ? 0.3 * 0.3 : 0;
                for (size_t s = 0; s < n; s++)
                    A[i * R + j] += part_covariance(exact, s, p->X + i * D, p->X + j * D);
            }
            B[i * (T + 1) + T] = p->y[i];
            for (size_t j = 0; j < T; j++)
                B[i * (T + 1) + j] = c[i * T + j] =
                    part_covariance(exact, q, p->X + i * D, x + j * D);
        }
        eliminate(R, T + 1, A, B);
        parts_of(m, first, n, q, &part);
        ck_assert_int_eq(parts_predict(&part, 0, T, x, mean, var, &tools, &err), ST_OK);
        for (size_t j = 0; j < T; j++) {
            double want = 0, left = part_covariance(exact, q, x + j * D, x + j * D);
            for (size_t i = 0; i < R; i++) {
                want += c[i * T + j] * (double)B[i * (T + 1) + T];
                left -= c[i * T + j] * (double)B[i * (T + 1) + j];
            }
            ck_assert_double_eq_tol(mean[j], want, 1e-5);
            ck_assert_double_eq_tol(var[j], left, 1e-5);
        }
    }
    model_unref(m);
    free(p);
}
END_TEST

/* The forecast of what advice itself costs.  Of an exact kernel it counts the iterations on the
 * sample: what the table of 700 rows, which are their own sample, then took is within a factor of
 * 4; neither features nor rows beyond the samples change it. */
START_TEST(cost_counts_the_work)
{
    static const struct { const char *kernel; double noise; } c[] = {
        { "rbf", 0.1 }, { "rbf", 0.03 }, { "rbf", 0.01 },
        { "matern(nu=3/2)", 0.1 }, { "matern(nu=3/2)", 0.03 }, { "matern(nu=3/2)", 0.01 } };
    struct prob *p = prob_new();
    struct fit_opts o = options(c[_i].kernel, 512);
    const struct diagnose_ask ask = { .rows = &p->src.base, .y = p->y, .opts = &o };
    double taken = 0.0;

    o.solver = "pcg";
    o.kind = model_kind_named("exact");
    ck_assert_ptr_nonnull(o.kind);
    o.noise = c[_i].noise;
    const struct diagnose_cost cost = diagnose_cost(N, &o, &ask, true);
    struct advice a = advise(p, &o, NULL, 0, 0, NULL);
    ck_assert_uint_eq(a.sample, N);
    for (size_t i = 0; i < a.rows; i++)
        taken += a.row[i].iterations;
    ck_assert_msg(fabs(log(cost.steps / taken)) < log(4.0), "%s, noise %g: %g expected, %g taken",
                  c[_i].kernel, c[_i].noise, cost.steps, taken);
    ck_assert_double_eq_tol(cost.fit, exact_seconds(N), 1e-12);
    ck_assert_double_gt(cost.advice, diagnose_cost(N, &o, &ask, false).advice);
    o.features = 8192;
    ck_assert_double_eq(diagnose_cost(N, &o, &ask, true).advice, cost.advice);
    ck_assert_double_eq(diagnose_cost(4000, &o, &ask, true).advice,
                        diagnose_cost(40000, &o, &ask, true).advice);
    /* One rank and none, as `rank=64` asks for them, instead of the ladder 0, 16, 32, 64, 128. */
    const struct diagnose_ask two = { .rows = &p->src.base, .y = p->y, .opts = &o, .count = 2 };
    ck_assert_uint_eq(a.rows, 5);
    ck_assert_double_eq_tol(5.0 * diagnose_cost(N, &o, &two, true).steps, 2.0 * cost.steps, 1e-9);
    diagnose_advice_free(&a);
    free(p);
}
END_TEST

/* The seconds of a fit that searches for its noise ratio contain that search: for each ratio a
 * factor of M columns and M^2 operations for each sampled row, which no core does faster than 1e11
 * a second.  A sample has at most 2048 rows. */
START_TEST(search_is_counted)
{
    struct prob *p = prob_new();
    struct fit_opts o = options("rbf", 256);
    const double M = 256, least = 3.0 * (N * M * M + M * M * M / 3.0) / 1e11;
    struct advice a = advise(p, &o, NULL, 0, 0, NULL);
    const double without = a.direct_seconds;

    ck_assert(a.search_seconds == 0.0);
    diagnose_advice_free(&a);
    o.keep_scale = false;
    a = advise(p, &o, NULL, 0, 0, NULL);
    ck_assert_double_gt(a.search_seconds, least);
    ck_assert_double_gt(a.direct_seconds, without + least);
    ck_assert_double_gt(a.search_seconds + without, a.direct_seconds); /* which shares Z'Z */
    diagnose_advice_free(&a);
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("diagnose");
    TCase *t = tcase_create("diagnose");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, blas_init, NULL);
    tcase_add_loop_test(t, left_one_out, 0, 2); /* all weights 1, and others */
    tcase_add_loop_test(t, advice_holds, 0, 2);
    tcase_add_test(t, dimension_of_the_kernel);
    tcase_add_test(t, same_advice_for_any_thread_count);
    tcase_add_test(t, advice_stops);
    tcase_add_loop_test(t, parts_of_a_sum, 0, 2);
    tcase_add_test(t, search_is_counted);
    tcase_add_loop_test(t, cost_counts_the_work, 0, 6);
    suite_add_tcase(s, t);
    return support_run(s);
}
