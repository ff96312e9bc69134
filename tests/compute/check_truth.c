/* tests/compute/check_truth.c -- the functions that `bo draw` searches: their moments are those of
 * the prior, and they have no features in common with functions that a model draws; and the climb
 * from the best candidates of such a function. */
#include "compute/backend.h"
#include "compute/models/functions.h"
#include "compute/models/propose.h"
#include "compute/models/truth.h"
#include "compute/rng.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = 3 };

static struct kernel parse(const char *text, double *hp)
{
    struct kernel k;
    double set[KERNEL_MAX_HP];
    size_t from[KERNEL_MAX_HP];

    ck_assert_int_eq(kernel_parse(text, &k, set, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind(&k, D, from, NULL), ST_OK);
    for (size_t i = 0; i < kernel_nhp(&k); i++)
        hp[i] = set[from[i]];
    return k;
}

static void points(size_t n, double *x)
{
    for (size_t i = 0; i < n * D; i++)
        x[i] = rng_uniform(5, rng_stream(RNG_TEST, 1), i);
}

static void values(const struct kernel *k, const double *hp, uint64_t seed,
                   const struct source *src, struct pool *pool, double *f)
{
    const struct tools on = { .be = backend_cpu(), .pool = pool };
    struct truth *t;
    struct err err = { 0 };

    ck_assert_msg(truth_new(k, hp, D, seed, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(truth_values(t, src, f, &on, &err) == ST_OK, "%s", err.msg);
    truth_free(t);
}

/* Means and covariances over S seeds are those of the prior, within 4 standard errors: sqrt(C_ii /
 * S) and sqrt((C_ii C_jj + C_ij^2) / S).  2500 frequencies add at most 1 / sqrt(2500 S) to the
 * covariances, far below. */
START_TEST(test_moments)
{
    static const char *const kernels[] = { "matern(nu=3/2,l=0.4)", "rbf(ard,l=0.6)" };
    enum { N = 6, S = 400 };
    double x[N * D], hp[KERNEL_MAX_HP], *F = malloc(S * N * sizeof *F);
    const struct kernel k = parse(kernels[_i], hp);
    struct source_array src;

    ck_assert_ptr_nonnull(F);
    points(N, x);
    source_array_init(&src, x, N, D, D);
    for (size_t s = 0; s < S; s++)
        values(&k, hp, 100 + s, &src.base, NULL, F + s * N);
    for (size_t i = 0; i < N; i++) {
        double mean = 0.0;
        for (size_t s = 0; s < S; s++)
            mean += F[s * N + i] / S;
        ck_assert_msg(fabs(mean) < 4.0 / sqrt(S), "mean %g of row %zu", mean, i);
        for (size_t j = 0; j <= i; j++) {
            const double C = kernel_exact(&k, hp, D, x + i * D, x + j * D, NULL);
            double c = 0.0;
            for (size_t s = 0; s < S; s++)
                c += F[s * N + i] * F[s * N + j] / S;
            ck_assert_msg(fabs(c - C) < 4.0 * sqrt((1.0 + C * C) / S),
                          "%s: covariance %g of rows %zu and %zu, not %g", kernels[_i], c, i, j, C);
        }
    }
    free(F);
}
END_TEST

/* A row has the same bits alone, among others and with several threads. */
START_TEST(test_same_bits)
{
    enum { N = 200 };
    double x[N * D], a[N], b[N], c[1], hp[KERNEL_MAX_HP];
    const struct kernel k = parse("matern(nu=5/2,l=0.3)", hp);
    struct pool *pool = pool_new(3, NULL);
    struct source_array all, one;

    points(N, x);
    source_array_init(&all, x, N, D, D);
    source_array_init(&one, x + 7 * D, 1, D, D);
    values(&k, hp, 1, &all.base, NULL, a);
    values(&k, hp, 1, &all.base, pool, b);
    values(&k, hp, 1, &one.base, NULL, c);
    ck_assert(!memcmp(a, b, sizeof a));
    ck_assert(fabs(a[7] - c[0]) < 1e-12);
    values(&k, hp, 2, &all.base, NULL, b);
    ck_assert(fabs(a[7] - b[7]) > 1e-6);
    pool_free(pool);
}
END_TEST

/* A truth and the functions that a model draws at the same seed are independent: over 300 rows that
 * are nearly independent themselves, their correlation is below 4.5 / sqrt(300).  The model has a
 * single row, far away, so that its functions are those of the prior. */
START_TEST(test_not_the_models)
{
    enum { N = 300 };
    double x[N * D], a[N], b[N], hp[KERNEL_MAX_HP], far[2 * D], y[2] = { -1.0, 1.0 };
    const struct kernel k = parse("rbf(l=0.05)", hp);
    const struct tools on = { .be = backend_cpu() };
    struct source_array src, train;

    points(N, x);
    source_array_init(&src, x, N, D, D);
    for (size_t i = 0; i < 2 * D; i++)
        far[i] = 1000.0 + (double)i;
    source_array_init(&train, far, 2, D, D);
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct fit_opts o = { .solver = "exact", .variance = VAR_ALL, .precision = PREC_DOUBLE,
                              .kernel = k, .amplitude = 1.0, .noise = 0.1, .keep_scale = true,
                              .seed = seed, .targets = 1, .hp = { hp[0] } };
        struct model *m = NULL;
        struct fit_info info;
        struct functions *f = NULL;
        double ab = 0.0, aa = 0.0, bb = 0.0;
        ck_assert_int_eq(model_fit(&train.base, y, &o, &on, &m, &info, NULL, NULL), ST_OK);
        ck_assert_int_eq(functions_new(m, &(struct functions_key){ .seed = seed, .count = 1 }, &on,
                                       &f, NULL), ST_OK);
        ck_assert_int_eq(functions_values(f, &src.base, b, &on, NULL), ST_OK);
        values(&k, hp, seed, &src.base, NULL, a);
        for (size_t i = 0; i < N; i++)
            ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
        ck_assert_msg(fabs(ab) < 4.5 / sqrt(N) * sqrt(aa * bb), "correlation %g",
                      ab / sqrt(aa * bb));
        functions_free(f);
        model_unref(m);
    }
}
END_TEST

/* Each proposal stands in the box, where its function is at least as high as at any candidate
 * (functions_values, 1e-6), and higher on average.  An input with equal ends stays where it was,
 * and a kernel without gradients leaves the proposals at their rows. */
START_TEST(test_climb)
{
    enum { N = 40, C = 300, COUNT = 6 };
    double x[(N + C) * D], y[N], mean[C], varf[C], at[COUNT * D], hp[KERNEL_MAX_HP], gain = 0.0,
        lo[D] = { 0.0, 0.0, 0.0 }, hi[D] = { 1.0, 1.0, 0.0 };
    static const char *const kernels[] = { "matern(nu=3/2,l=0.3)", "rbf(l=0.4)",
                                           "matern(nu=1/2,l=0.3)" };
    const struct kernel k = parse(kernels[_i], hp);
    const struct tools on = { .be = backend_cpu() };
    struct source_array train, pool, there;
    struct fit_opts o = { .solver = "exact", .variance = VAR_ALL, .precision = PREC_DOUBLE,
                          .kernel = k, .amplitude = 1.0, .noise = 0.01, .keep_scale = true,
                          .seed = 4, .targets = 1, .hp = { hp[0] } };
    size_t row[COUNT];
    struct proposed p = { .mean = mean, .varf = varf, .row = row, .x = at };
    struct propose_opts po = { .by = PROPOSE_THOMPSON, .goal = { .goal = GOAL_MAX },
                               .count = COUNT, .seed = 6, .lo = lo, .hi = hi };
    struct model *m = NULL;
    struct fit_info info;
    struct functions *f = NULL;
    double F[COUNT * C], G[COUNT * COUNT];

    points(N + C, x);
    source_array_init(&train, x, N, D, D);
    source_array_init(&pool, x + N * D, C, D, D);
    source_array_init(&there, at, COUNT, D, D);
    values(&k, hp, 1, &train.base, NULL, y);
    ck_assert_int_eq(model_fit(&train.base, y, &o, &on, &m, &info, NULL, NULL), ST_OK);
    ck_assert_int_eq(propose(m, &pool.base, &po, &on, &p, NULL), ST_OK);
    ck_assert_uint_eq(p.n, COUNT);
    ck_assert_int_eq(functions_new(m, &(struct functions_key){ .seed = 6, .count = COUNT }, &on, &f,
                                   NULL), ST_OK);
    ck_assert_int_eq(functions_values(f, &pool.base, F, &on, NULL), ST_OK);
    ck_assert_int_eq(functions_values(f, &there.base, G, &on, NULL), ST_OK);
    for (size_t s = 0; s < COUNT; s++) {
        double best = -INFINITY;
        for (size_t i = 0; i < C; i++)
            best = F[s * C + i] > best ? F[s * C + i] : best;
        gain += (G[s * COUNT + s] - best) / COUNT;
        for (size_t j = 0; j < 2; j++)
            ck_assert(at[s * D + j] >= 0.0 && at[s * D + j] <= 1.0);
        ck_assert(at[s * D + 2] == x[(N + row[s]) * D + 2]);
        if (_i == 2)
            ck_assert(!memcmp(at + s * D, x + (N + row[s]) * D, D * sizeof *at));
        ck_assert_msg(G[s * COUNT + s] > F[s * C + row[s]] - 1e-6, "function %zu fell", s);
    }
    ck_assert_msg(_i == 2 || gain > 0.01, "the climbs gain %g", gain);
    functions_free(f);
    model_unref(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("truth");
    TCase *tc = tcase_create("truth");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_moments, 0, 2);
    tcase_add_test(tc, test_same_bits);
    tcase_add_test(tc, test_not_the_models);
    tcase_add_loop_test(tc, test_climb, 0, 3);
    suite_add_tcase(s, tc);
    return support_run(s);
}
