/* tests/check_features.c -- random numbers, pool, kernels, drawn feature maps and the operator. */
#include "tests/support.h"

#include "base/buf.h"
#include "compute/backend.h"
#include "compute/fop.h"
#include "compute/interp.h"
#include "compute/kernel.h"
#include "compute/pool.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers -------------------------------------------------------------------------- */

/* Known answers of Random123's own distribution (kat_vectors, philox4x32 10). */
START_TEST(test_philox_known_answers)
{
    uint32_t r[4];

    rng_u32x4(0, 0, 0, r);
    ck_assert_uint_eq(r[0], 0x6627e8d5);
    ck_assert_uint_eq(r[1], 0xe169c58d);
    ck_assert_uint_eq(r[2], 0xbc57ac4c);
    ck_assert_uint_eq(r[3], 0x9b00dbd8);
    rng_u32x4(UINT64_MAX, UINT64_MAX, UINT64_MAX, r);
    ck_assert_uint_eq(r[0], 0x408f276d);
    ck_assert_uint_eq(r[1], 0x41c83b0e);
    ck_assert_uint_eq(r[2], 0xa20bc7c6);
    ck_assert_uint_eq(r[3], 0x6d5451fd);
}
END_TEST

/* Means and variances within 5 standard errors of 200,000 draws. */
static void moments(double (*draw)(uint64_t), double mean, double var, double fourth)
{
    const size_t n = 200000;
    double s = 0.0, ss = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double v = draw(i) - mean;
        s += v;
        ss += v * v;
    }
    ck_assert_double_le(fabs(s / (double)n), 5.0 * sqrt(var / (double)n));
    ck_assert_double_le(fabs(ss / (double)n - var), 5.0 * sqrt((fourth - var * var) / (double)n));
}

static double draw_uniform(uint64_t i) { return rng_uniform(3, rng_stream(RNG_TEST, 0), i); }
static double draw_normal(uint64_t i) { return rng_normal(3, rng_stream(RNG_TEST, 0), i); }
static double draw_exp(uint64_t i) { return rng_exponential(3, rng_stream(RNG_TEST, 0), i); }
static double draw_chi2(uint64_t i) { return rng_chi2(3, rng_stream(RNG_TEST, 0), i, 32.0); }
static double draw_chi1(uint64_t i) { return rng_chi2(3, rng_stream(RNG_TEST, 0), i, 1.0); }

START_TEST(test_moments)
{
    moments(draw_uniform, 0.5, 1.0 / 12.0, 1.0 / 80.0);
    moments(draw_normal, 0.0, 1.0, 3.0);
    moments(draw_exp, 1.0, 1.0, 9.0);
    moments(draw_chi2, 32.0, 64.0, 12.0 * 32.0 * (32.0 + 4.0)); /* 12 k (k + 4) */
    moments(draw_chi1, 1.0, 2.0, 60.0);
}
END_TEST

START_TEST(test_below_and_permutation)
{
    size_t count[7] = { 0 }, perm[100], seen[100] = { 0 };

    for (uint64_t i = 0; i < 70000; i++)
        count[rng_below(1, rng_stream(RNG_TEST, 1), i, 7)]++;
    for (int i = 0; i < 7; i++) /* 5 standard deviations of a binomial */
        ck_assert_double_le(fabs((double)count[i] - 10000.0), 5.0 * sqrt(70000.0 * 6.0 / 49.0));
    rng_permutation(1, rng_stream(RNG_TEST, 2), 100, perm);
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_lt(perm[i], 100);
        seen[perm[i]]++;
    }
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(seen[i], 1);
}
END_TEST

/* ---- pool ------------------------------------------------------------------------------------ */

static void pool_mark(void *ctx, size_t task, size_t worker)
{
    ck_assert_uint_lt(worker, 3);
    ((unsigned char *)ctx)[task]++;
}

START_TEST(test_pool_runs_each_task_once)
{
    struct pool *p = pool_new(3, NULL);
    unsigned char done[1000];

    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(pool_threads(p), 3);
    for (size_t n = 0; n <= 1000; n += 37) {
        memset(done, 0, sizeof done);
        pool_run(p, n, pool_mark, done);
        for (size_t i = 0; i < 1000; i++)
            ck_assert_uint_eq(done[i], i < n);
    }
    pool_free(p);
    ck_assert_uint_eq(pool_threads(NULL), 1);
    memset(done, 0, sizeof done);
    pool_run(NULL, 5, pool_mark, done);
    ck_assert_uint_eq(done[4], 1);
    pool_free(NULL);
}
END_TEST

/* ---- kernel expressions ---------------------------------------------------------------------- */

static struct kernel parsed(const char *text, double hp[KERNEL_MAX_HP])
{
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, hp, &err) == ST_OK, "%s: %s", text, err.msg);
    return k;
}

START_TEST(test_kernel_text)
{
    static const struct { const char *in, *out; double l; } good[] = {
        { "rbf", "rbf", NAN },
        { " rbf ( l = 0.3 ) ", "rbf", 0.3 },
        { "rbf(lengthscale=3e-1)", "rbf", 0.3 },
        { "matern", "matern(nu=5/2)", NAN },
        { "matern(nu=1.5)", "matern(nu=3/2)", NAN },
        { "matern(nu=3/2,l=2)", "matern(nu=3/2)", 2.0 },
        { "matern(l=1/4, nu=0.5)", "matern(nu=1/2)", 0.25 },
        { "cauchy()", "cauchy", NAN },
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double hp[KERNEL_MAX_HP];
        const struct kernel k = parsed(good[i].in, hp);
        struct buf b = { 0 };
        kernel_print(&k, &b);
        ck_assert_str_eq(buf_str(&b), good[i].out);
        buf_free(&b);
        ck_assert(isnan(good[i].l) ? isnan(hp[0]) : hp[0] == good[i].l);
    }
    static const struct { const char *in; enum status code; const char *part; } bad[] = {
        { "", ST_USAGE, "name of a kernel" },
        { "rbg", ST_NOT_FOUND, "rbg" },
        { "rbf(", ST_USAGE, "ends too early" },
        { "rbf(l", ST_USAGE, "\"=\"" },
        { "rbf(l=)", ST_USAGE, "number" },
        { "rbf(l=1", ST_USAGE, "ends too early" },
        { "rbf(l=-1)", ST_RANGE, "outside" },
        { "rbf(l=nan)", ST_USAGE, "number" },
        { "rbf(l=1/0)", ST_USAGE, "other than 0" },
        { "rbf(nu=1)", ST_NOT_FOUND, "nu" },
        { "matern(nu=2)", ST_RANGE, "nu=2" },
        { "rbf rbf", ST_USAGE, "position 5" },
        { "rbf + cauchy", ST_UNSUPPORTED, "rbf and cauchy" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct kernel k;
        struct err err = { 0 };
        ck_assert_msg(kernel_parse(bad[i].in, &k, NULL, &err) == bad[i].code, "%s: %s", bad[i].in,
                      err.msg);
        ck_assert_msg(strstr(err.msg, bad[i].part) != NULL, "%s: %s", bad[i].in, err.msg);
    }
    struct err err = { 0 };
    ck_assert_ptr_null(kernel_find("matrn", &err));
    ck_assert_str_eq(err.hint, "kernel matern");
}
END_TEST

/* ---- exact kernels --------------------------------------------------------------------------- */

static const struct { const char *golden, *text; } kernels[] = {
    { "rbf", "rbf" },
    { "mat12", "matern(nu=1/2)" },
    { "mat32", "matern(nu=3/2)" },
    { "mat52", "matern(nu=5/2)" },
    { "cauchy", "cauchy" },
};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };
static const struct { const char *name; double s; } scales[] = { { "s0p7", 0.7 }, { "s1p5", 1.5 } };
static const int golden_d[] = { 1, 3, 10, 20 };

START_TEST(test_kernel_exact)
{
    const struct kernel k = parsed(kernels[_i].text, NULL);

    for (size_t di = 0; di < 4; di++)
        for (size_t si = 0; si < 2; si++) {
            char name[80];
            size_t n, d, kn, km;
            snprintf(name, sizeof name, "kern_X_d%d", golden_d[di]);
            double *X = support_golden(name, &n, &d);
            snprintf(name, sizeof name, "kern_K_%s_d%d_%s", kernels[_i].golden, golden_d[di],
                     scales[si].name);
            double *K = support_golden(name, &kn, &km);
            const double l = 1.0 / scales[si].s;
            ck_assert(kn == n && km == n);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    const double v = kernel_exact(&k, &l, d, X + i * d, X + j * d, NULL);
                    ck_assert_msg(support_close(v, K[i * n + j], 1e-12), "%s %zu %zu: %.17g %.17g",
                                  name, i, j, v, K[i * n + j]);
                }
            free(X);
            free(K);
        }
}
END_TEST

/* Central differences: error h^2/6 times a third derivative below 10, plus rounding 1e-16/h. */
START_TEST(test_kernel_gradient)
{
    const struct kernel k = parsed(kernels[_i].text, NULL);
    const double x[3] = { 0.3, -1.0, 0.4 }, y[3] = { 0.9, 0.2, -0.7 }, h = 1e-5;

    for (double l = 0.2; l < 5.0; l *= 1.7) {
        const double up = l * exp(h), down = l * exp(-h);
        double grad;
        kernel_exact(&k, &l, 3, x, y, &grad);
        const double fd = (kernel_exact(&k, &up, 3, x, y, NULL) -
                           kernel_exact(&k, &down, 3, x, y, NULL)) / (2.0 * h);
        ck_assert_double_le(fabs(grad - fd), 2e-9);
    }
}
END_TEST

/* ---- feature maps ---------------------------------------------------------------------------- */

/* E[z.z'] = k: rms and largest error within the Monte-Carlo bounds of the golden README; the
 * diagonal is exact because cos^2 + sin^2 = 1. */
START_TEST(test_features_approximate_kernel)
{
    enum { M = 8192, MF = M / 2 };
    const struct kernel k = parsed(kernels[_i].text, NULL);

    for (size_t di = 0; di < 4; di++) {
        char name[80];
        size_t n, d, kn, km;
        snprintf(name, sizeof name, "kern_X_d%d", golden_d[di]);
        double *X = support_golden(name, &n, &d);
        snprintf(name, sizeof name, "kern_K_%s_d%d_s0p7", kernels[_i].golden, golden_d[di]);
        double *K = support_golden(name, &kn, &km);
        struct featmap *fm = featmap_new(&k, d, M, 7, NULL);
        double *Z = calloc(n * M + interp_work(fm), sizeof *Z), sum = 0.0;
        const double l = 1.0 / 0.7;
        for (size_t i = 0; i < n; i++)
            interp_row(fm, &l, X + i * d, Z + i * M, NULL, 0, Z + n * M);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double v = -K[i * n + j];
                for (size_t c = 0; c < M; c++)
                    v += Z[i * M + c] * Z[j * M + c];
                ck_assert_double_le(fabs(v), i == j ? 1e-12 : 4.5 / sqrt(MF));
                sum += i == j ? 0.0 : v * v;
            }
        ck_assert_double_le(sqrt(sum / (double)(n * (n - 1))), 1.0 / sqrt(MF));
        featmap_free(fm);
        free(X);
        free(K);
        free(Z);
    }
}
END_TEST

static struct featmap *golden_map(void)
{
    size_t three, D, mf, one;
    double *signs = support_golden("sorf_signs", &three, &D);
    double *chi = support_golden("sorf_chi", &mf, &one);
    int8_t s[3 * 16];
    const struct kernel k = parsed("rbf", NULL);

    ck_assert(three == 3 && D == 16 && mf == 16);
    for (size_t i = 0; i < 3 * D; i++)
        s[i] = (int8_t)signs[i];
    struct featmap *fm = featmap_given(&k, 11, D, mf, s, chi, NULL);
    ck_assert_ptr_nonnull(fm);
    free(signs);
    free(chi);
    return fm;
}

/* The golden columns are [16 cos, 16 sin]; ours interleave. */
START_TEST(test_sorf_golden)
{
    struct featmap *fm = golden_map();
    size_t n, d, zn, zm;
    double *X = support_golden("sorf_x", &n, &d), *Z = support_golden("sorf_rbf_features", &zn, &zm);
    struct source_array src;
    const struct fop_opts opts = { .precision = PREC_DOUBLE };
    const struct backend_ops *be = backend_cpu();
    const double l = 1.0 / 0.8;
    double z[5 * 32];

    ck_assert(n == 5 && d == 11 && zn == 5 && zm == 32);
    source_array_init(&src, X, n, d, d);
    void *state = be->open(fm, &src.base, &opts, NULL);
    ck_assert_ptr_nonnull(state);
    ck_assert(be->set(state, &l, NULL) == ST_OK);
    ck_assert(be->tile64(state, 0, n, z, 32, NULL) == ST_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < 16; j++) {
            ck_assert(support_close(z[i * 32 + 2 * j], Z[i * 32 + j], 1e-12));
            ck_assert(support_close(z[i * 32 + 2 * j + 1], Z[i * 32 + 16 + j], 1e-12));
        }
    be->close(state);
    featmap_free(fm);
    free(X);
    free(Z);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("features");
    TCase *t = tcase_create("all");

    support_need("golden/README.md");
    tcase_set_timeout(t, 300);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_philox_known_answers);
    tcase_add_test(t, test_moments);
    tcase_add_test(t, test_below_and_permutation);
    tcase_add_test(t, test_pool_runs_each_task_once);
    tcase_add_test(t, test_kernel_text);
    tcase_add_loop_test(t, test_kernel_exact, 0, N_KERNELS);
    tcase_add_loop_test(t, test_kernel_gradient, 0, N_KERNELS);
    tcase_add_loop_test(t, test_features_approximate_kernel, 0, N_KERNELS);
    tcase_add_test(t, test_sorf_golden);
    return support_run(s);
}
