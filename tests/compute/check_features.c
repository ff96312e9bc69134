/* tests/compute/check_features.c -- random numbers, pool, kernels, drawn feature maps and the
 * operator. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/compute/problem.h"
#include "tests/support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"
#include "base/limits.h"
#include "compute/linalg/blas.h"
#include "compute/features/fop.h"
#include "compute/features/interp.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"
#include "compute/rng.h"
#include "compute/cpu/simd.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random numbers. */

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

/* Pool. */

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

/* A task that calls pool_run on its own pool: each inner task runs once, as the worker of the outer
 * one, and afterwards the pool works as before. */
struct nest { struct pool *pool; unsigned char *done; size_t task, worker; };

static void pool_inner(void *ctx, size_t task, size_t worker)
{
    const struct nest *n = ctx;

    ck_assert_uint_eq(worker, n->worker);
    n->done[40 * n->task + task]++;
}

static void pool_outer(void *ctx, size_t task, size_t worker)
{
    struct nest n = *(struct nest *)ctx;

    n.task = task;
    n.worker = worker;
    pool_run(n.pool, 40, pool_inner, &n);
}

/* A trace records the tasks of outer jobs alone, all of them in the calling thread, and what they
 * say that they move; the pool answers with the threads of the trace, and works on without one. */
static void pool_mover(void *ctx, size_t task, size_t worker)
{
    pool_inner(ctx, task, worker);
    pool_moved(100.0 + (double)task);
}

START_TEST(test_pool_trace)
{
    unsigned char done[25 * 40] = { 0 };
    struct nest n = { .pool = pool_new(3, NULL), .done = done };
    struct pool_task task[30];
    struct pool_trace trace = { .task = task, .room = 30, .threads = 16 };

    pool_moved(1.0);
    pool_trace_for_tests(n.pool, &trace);
    ck_assert_uint_eq(pool_threads(n.pool), 16);
    pool_run(n.pool, 5, pool_mover, &n);
    pool_run(n.pool, 24, pool_outer, &n);
    pool_run(n.pool, 9, pool_mover, &n);
    pool_trace_for_tests(n.pool, NULL);
    ck_assert_uint_eq(pool_threads(n.pool), 3);
    ck_assert_uint_eq(trace.used, 38);
    ck_assert_uint_eq(trace.jobs, 3);
    for (size_t i = 0; i < 30; i++) {
        const bool outer = i >= 5 && i < 29;
        ck_assert_str_eq(task[i].name, outer ? "pool_outer" : "pool_mover");
        ck_assert_uint_eq(task[i].job, i < 5 ? 0 : outer ? 1 : 2);
        ck_assert_double_eq(task[i].bytes, outer ? 0.0 : 100.0 + (double)(i < 5 ? i : i - 29));
        ck_assert_double_le(task[i].start, task[i].end);
        ck_assert_double_le(i ? task[i - 1].end : 0.0, task[i].start);
    }
    ck_assert_uint_eq(done[39], 1);
    pool_run(n.pool, 25, pool_outer, &n);
    ck_assert_uint_eq(done[24 * 40 + 39], 1);
    pool_free(n.pool);
}
END_TEST

START_TEST(test_pool_runs_within_its_tasks)
{
    unsigned char done[25 * 40] = { 0 };
    struct nest n = { .pool = pool_new(3, NULL), .done = done };

    ck_assert_ptr_nonnull(n.pool);
    pool_run(n.pool, 25, pool_outer, &n);
    for (size_t i = 0; i < sizeof done; i++)
        ck_assert_uint_eq(done[i], 1);
    pool_run(n.pool, 100, pool_mark, done);
    ck_assert_uint_eq(done[99], 2);
    ck_assert_uint_eq(done[100], 1);
    pool_free(n.pool);
}
END_TEST

/* Kernel expressions. */

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
        { "rbf(ard)", "rbf(ard)", NAN },
        { "rq", "rq(alpha=1)", NAN },
        { "rq(alpha=5/2, l=3)", "rq(alpha=5/2)", 3.0 },
        { "rbf( ard = 5, l=2 )", "rbf(ard=5)", 2.0 },
        { "matern(ard,nu=3/2)", "matern(nu=3/2,ard)", NAN },
        { "rbf(l=2)*periodic+linear", "rbf * periodic + linear", 2.0 },
        { "poly(degree=3, l=2)", "poly(degree=3,c=1)", 2.0 },
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
        { "rq(alpha=0)", ST_RANGE, "alpha" },
        { "rbf(ard=)", ST_USAGE, "number of inputs" },
        { "rbf(ard=0)", ST_USAGE, "number of inputs" },
        { "rbf(ard=2.5)", ST_USAGE, "number of inputs" },
        { "rbf(ard=9999)", ST_LIMIT, "at most" },
        { "rbf(l=1", ST_USAGE, "ends too early" },
        { "rbf(l=-1)", ST_RANGE, "outside" },
        { "rbf(l=nan)", ST_USAGE, "number" },
        { "rbf(l=1/0)", ST_USAGE, "other than 0" },
        { "rbf(nu=1)", ST_NOT_FOUND, "nu" },
        { "matern(nu=3)", ST_RANGE, "nu=3" },
#ifndef HAVE_GSL
        { "matern(nu=2)", ST_RANGE, "GNU Scientific Library" },
#endif
        { "rbf rbf", ST_USAGE, "position 5" },
        { "rbf + ", ST_USAGE, "ends too early" },
        { "rbf - linear", ST_USAGE, "position 5" },
        { "rbf(weight=2)", ST_USAGE, "first summand" },
        { "rbf + linear(weight=-1)", ST_RANGE, "weight" },
        { "linear(ard)", ST_USAGE, "no lengthscale" },
        { "poly(degree=2.5)", ST_RANGE, "degree" },
        { "rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf", ST_LIMIT, "at most 8" },
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

/* Exact kernels. */

static const struct { const char *golden, *text; } kernels[] = {
    { "rbf", "rbf" },
    { "mat12", "matern(nu=1/2)" },
    { "mat32", "matern(nu=3/2)" },
    { "mat52", "matern(nu=5/2)" },
    { "cauchy", "cauchy" },
    { "cauchy", "rq(alpha=1)" }, /* of shape 1 */
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

/* Feature maps. */

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
        double *Z = calloc(n * M + interp_work_for_tests(fm), sizeof *Z), sum = 0.0;
        const double l = 1.0 / 0.7;
        for (size_t i = 0; i < n; i++)
            interp_row_for_tests(fm, &l, X + i * d, Z + i * M, NULL, 0, Z + n * M);
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
    struct featmap *fm = featmap_given_for_tests(&k, 11, D, mf, s, chi, NULL);
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
    double *X = support_golden("sorf_x", &n, &d),
           *Z = support_golden("sorf_rbf_features", &zn, &zm);
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

/* The operator. */

START_TEST(test_products)
{
    struct problem p = problem_new(shapes[_i].kernel, shapes[_i].n, shapes[_i].d, shapes[_i].M,
                                   sqrt((double)shapes[_i].d));

    for (int store = 0; store < 2; store++) {
        check_products(&p, PREC_FLOAT, store);
        check_products(&p, PREC_DOUBLE, store);
    }
    problem_free(&p);
}
END_TEST

/* Rows as float, as double and by the interpreter; unit length of every row. */
START_TEST(test_tiles)
{
    struct problem p = problem_new(shapes[_i].kernel, shapes[_i].n, shapes[_i].d, shapes[_i].M,
                                   sqrt((double)shapes[_i].d));
    const size_t n = p.n, M = p.M, ld = M + 3;
    double *z64 = calloc(n * ld, sizeof *z64);
    float *z32 = calloc(n * ld, sizeof *z32);

    for (int prec = 0; prec < 2; prec++) {
        struct fop *f = problem_fop(&p, NULL, prec ? PREC_DOUBLE : PREC_FLOAT, false);
        const size_t cut = n / 3; /* two calls: the second starts inside a tile */
        ck_assert(fop_tile64(f, 0, cut, z64, ld, NULL) == ST_OK);
        ck_assert(fop_tile64(f, cut, n, z64 + cut * ld, ld, NULL) == ST_OK);
        ck_assert(fop_tile(f, 0, cut, z32, ld, NULL) == ST_OK);
        ck_assert(fop_tile(f, cut, n, z32 + cut * ld, ld, NULL) == ST_OK);
        const double c = p.fm->term[0].out;
        for (size_t i = 0; i < n; i++) {
            double len = 0.0, len32 = 0.0;
            for (size_t j = 0; j < M; j++) {
                const double z = z64[i * ld + j], y = (double)z32[i * ld + j];
                /* heavy tails: phases up to 1e6 keep 1e-10 of a radian in double */
                ck_assert_double_le(fabs(z - p.Z[i * M + j]), 2e-10 * c);
                ck_assert_double_le(fabs(z - y), 2e-5 * c);
                len += z * z;
                len32 += y * y;
            }
            ck_assert_double_le(fabs(len - 1.0), 1e-13);
            ck_assert_double_le(fabs(len32 - 1.0), 1e-6);
            ck_assert(z64[i * ld + M] == 0.0 && z32[i * ld + M] == 0.0F); /* nothing past a row */
        }
        fop_free(f);
    }
    free(z64);
    free(z32);
    problem_free(&p);
}
END_TEST

/* dZ/dlog l against central differences of the interpreter: the error is h^2/6 of a third
 * derivative, which grows like |p|^3. */
START_TEST(test_derivative)
{
    static const char *const names[] = { "rbf", "matern(nu=3/2)", "matern(nu=1/2)", "cauchy" };
    const double h = 1e-6;
    struct problem p = problem_new(names[_i], 20, 4, 200, 2.0);
    const size_t n = p.n, M = p.M;
    double *dz = malloc(n * M * sizeof *dz), *lo = malloc(2 * M * sizeof *lo), *hi = lo + M;
    double *work = malloc(interp_work_for_tests(p.fm) * sizeof *work);
    float *df = malloc(n * M * sizeof *df);
    struct fop *f = problem_fop(&p, NULL, PREC_DOUBLE, false);
    const struct fop_opts opts = { .precision = PREC_FLOAT };
    void *state = backend_cpu()->open(p.fm, &p.src.base, &opts, NULL);

    ck_assert(backend_cpu()->set(state, &p.l, NULL) == ST_OK);
    ck_assert(fop_dtile(f, 0, 0, n, dz, M, NULL) == ST_OK);
    ck_assert(backend_cpu()->dtile32(state, 0, 0, n, df, M, NULL) == ST_OK);
    for (size_t i = 0; i < n; i++) {
        const double up = p.l * exp(h), down = p.l * exp(-h);
        interp_row_for_tests(p.fm, &up, p.X + i * p.d, hi, NULL, 0, work);
        interp_row_for_tests(p.fm, &down, p.X + i * p.d, lo, NULL, 0, work);
        for (size_t j = 0; j < M; j++) {
            const double fd = (hi[j] - lo[j]) / (2.0 * h), d = dz[i * M + j];
            const double scale = fabs(fd) / p.fm->term[0].out + 1.0; /* about |p| */
            if (scale > 1e3)
                continue; /* differences say nothing there */
            ck_assert_double_le(fabs(d - fd), (1e-9 + h * h * scale * scale * scale) * scale);
            ck_assert_double_le(fabs((double)df[i * M + j] - d), 3e-5 * scale);
        }
    }
    backend_cpu()->close(state);
    fop_free(f);
    free(dz);
    free(df);
    free(lo);
    free(work);
    problem_free(&p);
}
END_TEST

/* The same bits from 1, 2, 3 and 8 threads, stored or made anew, in any product. */
START_TEST(test_same_bits)
{
    static const size_t threads[] = { 1, 2, 3, 8 };
    const size_t n = 1500, M = 600, L = 40;
    const enum precision precision = _i ? PREC_DOUBLE : PREC_FLOAT;
    struct problem p = problem_new("matern(nu=3/2)", n, 7, M, 2.0);
    const size_t len = 2 * RHS * M + n + 2 * M * M + M * L + M + 1;
    double *P = normals(RHS * M, 102), *y = normals(n, 103), *Om = normals(M * L, 104);
    double *first = calloc(len, sizeof *first), *out = calloc(len, sizeof *out);

    for (size_t i = 0; i < 8; i++) {
        struct pool *pool = pool_new(threads[i / 2], NULL);
        struct fop *f = problem_fop(&p, pool, precision, i % 2 == 1);
        double *o = i == 0 ? first : out, *at = o;
        for (int twice = 0; twice < 2; twice++) { /* the second reads what the first stored */
            at = o;
            ck_assert(fop_pass(f, 1, P, at, NULL, NULL) == ST_OK);
            at += M;
            ck_assert(fop_pass(f, 3, P, at, NULL, NULL) == ST_OK);
            at += 3 * M;
            ck_assert(fop_pass(f, RHS, P, at, NULL, NULL) == ST_OK);
            at += RHS * M;
            ck_assert(fop_zp(f, 1, P, at, NULL, NULL) == ST_OK);
            at += n;
        }
        ck_assert(fop_gram(f, y, at, at + M * M, at + M * M + M, NULL, NULL) == ST_OK);
        at += M * M + M + 1;
        ck_assert(fop_dgram(f, 0, at, NULL, NULL) == ST_OK);
        at += M * M;
        ck_assert(fop_sketch(f, L, Om, at, NULL, NULL) == ST_OK);
        at += M * L;
        ck_assert_uint_le((size_t)(at - o), len);
        ck_assert_msg(i == 0 || memcmp(first, out, len * sizeof *out) == 0,
                      "%zu threads, %s: other bits", threads[i / 2],
                      i % 2 ? "stored" : "made anew");
        fop_free(f);
        pool_free(pool);
    }
    free(P);
    free(y);
    free(Om);
    free(first);
    free(out);
    problem_free(&p);
}
END_TEST

/* Blocks of rows of 256 MB or of 8 MB: the sums are the same, chunk after chunk. */
START_TEST(test_same_bits_of_any_block)
{
    const size_t n = 4100, M = 600, L = 40, len = 2 * M * M + M * L + M + 1;
    const enum precision precision = _i ? PREC_DOUBLE : PREC_FLOAT;
    struct problem p = problem_new("matern(nu=3/2)", n, 7, M, 2.0);
    double *y = normals(n, 103), *Om = normals(M * L, 104);
    double *out[2] = { calloc(len, sizeof(double)), calloc(len, sizeof(double)) };

    for (int small = 0; small < 2; small++) {
        double *at = out[small];
        limits_enter(limits_of(small ? (size_t)64 << 20 : 0, 0));
        ck_assert_uint_eq(limits_block_bytes(), (size_t)(small ? 8 : 256) << 20);
        struct fop *f = problem_fop(&p, NULL, precision, false);
        ck_assert(fop_gram(f, y, at, at + M * M, at + M * M + M, NULL, NULL) == ST_OK);
        at += M * M + M + 1;
        ck_assert(fop_dgram(f, 0, at, NULL, NULL) == ST_OK);
        at += M * M;
        ck_assert(fop_sketch(f, L, Om, at, NULL, NULL) == ST_OK);
        fop_free(f);
    }
    limits_enter(limits_of(0, 0));
    ck_assert(out[0][1] != 0.0);
    ck_assert(memcmp(out[0], out[1], len * sizeof(double)) == 0);
    free(out[0]);
    free(out[1]);
    free(y);
    free(Om);
    problem_free(&p);
}
END_TEST

/* Gram, its derivative and a sketch against plain loops over the interpreter's rows. */
START_TEST(test_matrix_products)
{
    const size_t n = 700, M = 300, L = 17;
    const enum precision precision = _i ? PREC_DOUBLE : PREC_FLOAT;
    const double tol = tolerance(precision);
    struct problem p = problem_new("rbf", n, 5, M, 1.5);
    struct fop *f = problem_fop(&p, NULL, precision, false);
    double *y = normals(n, 105), *Om = normals(M * L, 106), *G = malloc(M * M * sizeof *G);
    double *C = malloc(M * M * sizeof *C), *Y = malloc(M * L * sizeof *Y),
           *zty = malloc(M * sizeof *y);
    double *G0 = calloc(M * M, sizeof *G0), *C0 = calloc(M * M, sizeof *C0);
    double *Y0 = calloc(M * L, sizeof *Y0), *zty0 = calloc(M, sizeof *zty0);
    double *dz = malloc((2 * M + interp_work_for_tests(p.fm)) * sizeof *dz), yty, yy = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double *z = p.Z + i * M;
        interp_row_for_tests(p.fm, &p.l, p.X + i * p.d, dz + M, dz, 0, dz + 2 * M);
        for (size_t a = 0; a < M; a++)
            for (size_t b = 0; b < M; b++) {
                G0[b * M + a] += z[a] * z[b];
                C0[b * M + a] += z[a] * dz[b];
            }
        for (size_t a = 0; a < M; a++)
            zty0[a] += z[a] * y[i];
        yy += y[i] * y[i];
    }
    for (size_t c = 0; c < L; c++)
        for (size_t b = 0; b < M; b++)
            for (size_t a = 0; a < M; a++)
                Y0[c * M + a] += G0[b * M + a] * Om[c * M + b];
    ck_assert(fop_gram(f, y, G, zty, &yty, NULL, NULL) == ST_OK);
    ck_assert(fop_dgram(f, 0, C, NULL, NULL) == ST_OK);
    ck_assert(fop_sketch(f, L, Om, Y, NULL, NULL) == ST_OK);
    assert_near(M * M, G, G0, tol, "gram");
    assert_near(M, zty, zty0, tol, "zty");
    assert_near(M * M, C, C0, tol, "dgram");
    assert_near(M * L, Y, Y0, tol, "sketch");
    ck_assert_double_le(fabs(yty - yy), 1e-12 * yy);
    for (size_t a = 0; a < M; a++)
        for (size_t b = 0; b < a; b++)
            ck_assert(G[a * M + b] == G[b * M + a]);
    fop_free(f);

    struct fop *g =
        fop_dense_for_tests(p.Z, n, M, M, NULL, NULL); /* the same from a given matrix */
    ck_assert(fop_gram(g, y, G, zty, &yty, NULL, NULL) == ST_OK);
    ck_assert(fop_sketch(g, L, Om, Y, NULL, NULL) == ST_OK);
    assert_near(M * M, G, G0, 1e-13, "dense gram");
    assert_near(M * L, Y, Y0, 1e-12, "dense sketch");
    fop_free(g);
    free(y), free(Om), free(G), free(C), free(Y), free(zty);
    free(G0), free(C0), free(Y0), free(zty0), free(dz);
    problem_free(&p);
}
END_TEST

/* Z'Z formed once: the same products from it, the same bits for any thread count, until new
 * hyperparameters. */
START_TEST(test_formed)
{
    static const size_t threads[] = { 1, 2, 3, 8 };
    const size_t n = 400, M = _i ? 700 : 40, L = 9; /* several tiles, the last ones not full; one */
    struct problem p = problem_new("matern(nu=3/2)", n, 3, M, 1.3);
    double *P = normals(RHS * M, 101), *W0 = malloc(RHS * M * sizeof *W0), *y = normals(n, 7);
    double *W = malloc(RHS * M * sizeof *W), *first = malloc(RHS * M * sizeof *first);
    double *G = malloc(M * M * sizeof *G), *zty = malloc(2 * M * sizeof *zty);
    size_t ld;

    for (size_t i = 0; i < 4; i++) {
        struct pool *pool = pool_new(threads[i], NULL);
        struct fop *f = problem_fop(&p, pool, PREC_DOUBLE, false);
        ck_assert_ptr_null(fop_formed(f, &ld));
        ck_assert(fop_pass(f, RHS, P, W0, NULL, NULL) == ST_OK);
        ck_assert(fop_gram(f, y, G, zty, NULL, NULL, NULL) == ST_OK);
        ck_assert(fop_form(f, NULL, NULL) == ST_OK);
        const double *A = fop_formed(f, &ld);
        for (size_t j = 0; j < M; j++)
            ck_assert(memcmp(A + j * ld, G + j * M, M * sizeof *G) == 0);
        ck_assert(fop_pass(f, 1, P, W, NULL, NULL) == ST_OK);
        assert_near(M, W, W0, 1e-12, "pass");
        ck_assert(fop_pass(f, RHS, P, W, NULL, NULL) == ST_OK);
        assert_near(RHS * M, W, W0, 1e-12, "pass");
        if (i == 0)
            memcpy(first, W, RHS * M * sizeof *W);
        ck_assert(memcmp(first, W, RHS * M * sizeof *W) == 0);
        ck_assert(fop_sketch(f, L, P, W, NULL, NULL) == ST_OK);
        assert_near(L * M, W, W0, 1e-12, "sketch");
        ck_assert(fop_gram(f, y, G, zty + M, NULL, NULL, NULL) == ST_OK);
        assert_near(M, zty + M, zty, 1e-12, "zty");
        for (size_t j = 0; j < M; j++)
            ck_assert(memcmp(A + j * ld, G + j * M, M * sizeof *G) == 0);
        const double l = 0.4;
        ck_assert(fop_set(f, &l, NULL) == ST_OK);
        ck_assert_ptr_null(fop_formed(f, &ld));
        ck_assert(fop_pass(f, 1, P, W, NULL, NULL) == ST_OK);
        double apart = 0.0;
        for (size_t j = 0; j < M; j++)
            apart += fabs(W[j] - W0[j]);
        ck_assert_double_gt(apart, 0.1 * norm(M, W0));
        fop_free(f);
        pool_free(pool);
    }
    free(P), free(W0), free(y), free(W), free(first), free(G), free(zty);
    problem_free(&p);
}
END_TEST

/* Factors of rows, as roots of weights: everything is as if they had been multiplied into Z. */
START_TEST(test_row_scale)
{
    const size_t n = 300, M = 130, L = 5;
    const enum precision precision = _i ? PREC_DOUBLE : PREC_FLOAT;
    const double tol = tolerance(precision);
    struct problem p = problem_new("matern(nu=5/2)", n, 4, M, 1.7);
    double *scale = malloc(n * sizeof *scale), *y = normals(n, 105), *Om = normals(M * L, 106);
    double *dZ = malloc(n * M * sizeof *dZ), *z = malloc(n * M * sizeof *z);
    double *G = malloc(M * M * sizeof *G), *G0 = calloc(M * M, sizeof *G0);
    double *C0 = calloc(M * M, sizeof *C0), *Y0 = calloc(M * L, sizeof *Y0);
    double *zty = malloc(M * sizeof *zty), *zty0 = calloc(M, sizeof *zty0);
    double *row = malloc((M + interp_work_for_tests(p.fm)) * sizeof *row);
    float *zf = malloc(n * M * sizeof *zf);

    for (size_t i = 0; i < n; i++) { /* down to 0: a row that does not count */
        scale[i] = i % 7 == 3 ? 0.0 : 0.1 + 3.0 * rng_uniform(2, rng_stream(RNG_TEST, 9), i);
        interp_row_for_tests(p.fm, &p.l, p.X + i * p.d, row, dZ + i * M, 0, row + M);
        for (size_t a = 0; a < M; a++) {
            p.Z[i * M + a] *= scale[i];
            dZ[i * M + a] *= scale[i];
        }
    }
    p.scale = scale;
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < M; a++) {
            zty0[a] += p.Z[i * M + a] * y[i];
            for (size_t b = 0; b < M; b++) {
                G0[b * M + a] += p.Z[i * M + a] * p.Z[i * M + b];
                C0[b * M + a] += p.Z[i * M + a] * dZ[i * M + b];
            }
        }
    for (size_t c = 0; c < L; c++)
        for (size_t b = 0; b < M; b++)
            for (size_t a = 0; a < M; a++)
                Y0[c * M + a] += G0[b * M + a] * Om[c * M + b];
    check_products(&p, precision, false);
    check_products(&p, precision, true);
    struct fop *f = problem_fop(&p, NULL, precision, false);
    ck_assert(fop_gram(f, y, G, zty, NULL, NULL, NULL) == ST_OK);
    assert_near(M * M, G, G0, tol, "gram");
    assert_near(M, zty, zty0, tol, "zty");
    ck_assert(fop_dgram(f, 0, G, NULL, NULL) == ST_OK);
    assert_near(M * M, G, C0, tol, "dgram");
    ck_assert(fop_sketch(f, L, Om, G, NULL, NULL) == ST_OK);
    assert_near(M * L, G, Y0, tol, "sketch");
    ck_assert(fop_dtile(f, 0, 5, n, z, M, NULL) == ST_OK); /* from the middle of a tile */
    assert_near((n - 5) * M, z, dZ + 5 * M, 1e-11, "dtile");
    ck_assert(fop_tile64(f, 5, n, z, M, NULL) == ST_OK);
    assert_near((n - 5) * M, z, p.Z + 5 * M, 1e-11, "tile64");
    ck_assert(fop_tile(f, 5, n, zf, M, NULL) == ST_OK);
    for (size_t i = 0; i < (n - 5) * M; i++)
        z[i] = (double)zf[i];
    assert_near((n - 5) * M, z, p.Z + 5 * M, 3e-5, "tile");
    fop_free(f);
    free(scale), free(y), free(Om), free(dZ), free(z), free(G), free(G0), free(C0), free(Y0);
    free(zty), free(zty0), free(row), free(zf);
    problem_free(&p);
}
END_TEST

/* Other shapes: against the formula, the limit of large alpha, and features within Monte-Carlo
 * bounds (4 / sqrt(frequencies) at the most of 190 pairs). */
START_TEST(test_rational_quadratic)
{
    enum { N = 20, D = 4, M = 8192 };
    static const double alpha[] = { 0.3, 2.0, 1000.0 };
    double *x = normals(N * D, 17), *Z = malloc(N * M * sizeof *Z);
    const double l = 1.4;
    struct source_array src;

    source_array_init(&src, x, N, D, D);
    for (int a = 0; a < 3; a++) {
        const struct fop_opts fo = { .precision = PREC_DOUBLE };
        struct kernel k = parsed("rq", NULL);
        k.term[0].params[0] = alpha[a];
        struct featmap *fm = featmap_new(&k, D, M, 3, NULL);
        struct fop *f = fop_new(backend_cpu(), fm, &src.base, &fo, NULL);
        ck_assert(fop_set(f, &l, NULL) == ST_OK && fop_tile64(f, 0, N, Z, M, NULL) == ST_OK);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < i; j++) {
                double r2 = 0.0, dot = 0.0;
                for (size_t c = 0; c < D; c++)
                    r2 += (x[i * D + c] - x[j * D + c]) * (x[i * D + c] - x[j * D + c]);
                for (size_t c = 0; c < M; c++)
                    dot += Z[i * M + c] * Z[j * M + c];
                const double v = kernel_exact(&k, &l, D, x + i * D, x + j * D, NULL);
                const double want = pow(1.0 + r2 / (2.0 * alpha[a] * l * l), -alpha[a]);
                ck_assert_double_eq_tol(v, want, 1e-11);
                if (a == 2) /* its first correction is r^4 / (8 alpha l^4) of it */
                    ck_assert_double_eq_tol(v, exp(-r2 / (2.0 * l * l)), 2e-3);
                ck_assert_double_eq_tol(dot, want, 4.0 / sqrt(M / 2));
            }
        fop_free(f);
        featmap_free(fm);
    }
    free(x), free(Z);
}
END_TEST

/* A lengthscale for each input is one lengthscale over inputs divided by them: features, products
 * and exact values, in both precisions, on every level. */
START_TEST(test_ard_is_scaling)
{
    enum { N = 100, D = 7, M = 256 };
    static const char *const text[] = { "rbf", "matern(nu=1/2)", "matern(nu=5/2)", "cauchy" };
    const double l[D] = { 0.3, 1.0, 7.0, 40.0, 0.9, 2.0, 1000.0 }, one = 1.0;
    double *x = normals(N * D, 301), *u = malloc(N * D * sizeof *u), *P = normals(M, 302);
    double *Z = malloc(2 * N * M * sizeof *Z), W[2][M], hp[KERNEL_MAX_HP];
    struct source_array src[2];
    size_t from[KERNEL_MAX_HP];

    for (size_t i = 0; i < N * D; i++)
        u[i] = x[i] / l[i % D];
    source_array_init(&src[0], x, N, D, D);
    source_array_init(&src[1], u, N, D, D);
    for (int which = 0; which < 4; which++)
        for (int precision = 0; precision < 2; precision++) {
            const struct fop_opts fo = { .precision = precision ? PREC_DOUBLE : PREC_FLOAT };
            struct kernel k[2] = { parsed(text[which], hp), parsed(text[which], hp) };
            k[0].term[0].ard = KERNEL_ARD;
            ck_assert(kernel_bind(&k[0], D, from, NULL) == ST_OK);
            ck_assert_uint_eq(kernel_nhp(&k[0]), D);
            ck_assert(kernel_bind(&k[0], D + 1, from, NULL) == ST_SHAPE);
            for (int i = 0; i < 2; i++) {
                struct featmap *fm = featmap_new(&k[i], D, M, 9, NULL);
                struct fop *f = fop_new(backend_cpu(), fm, &src[i].base, &fo, NULL);
                ck_assert(fop_set(f, i ? &one : l, NULL) == ST_OK);
                ck_assert(fop_tile64(f, 0, N, Z + i * N * M, M, NULL) == ST_OK);
                ck_assert(fop_pass(f, 1, P, W[i], NULL, NULL) == ST_OK);
                fop_free(f);
                featmap_free(fm);
            }
            assert_near(N * M, Z, Z + N * M, which == 1 ? 1e-8 : 1e-12, "ard rows");
            assert_near(M, W[0], W[1], precision ? 1e-9 : 2e-2, "ard pass");
            for (size_t i = 1; i < 20; i++)
                ck_assert_double_eq_tol(kernel_exact(&k[0], l, D, x, x + i * D, NULL),
                                        kernel_exact(&k[1], &one, D, u, u + i * D, NULL), 1e-14);
        }
    free(x), free(u), free(P), free(Z);
}
END_TEST

START_TEST(test_dense_operator)
{
    struct problem p = problem_new("rbf", 200, 3, 64, 1.0);
    struct pool *pool = pool_new(2, NULL);
    struct fop *f = fop_dense_for_tests(p.Z, p.n, p.M, p.M, pool, NULL);
    double *P = normals(2 * p.M, 107), *T = malloc(2 * p.n * sizeof *T), *W = malloc(2 * p.M * 8);
    double *T0 = malloc(2 * p.n * sizeof *T), *W0 = malloc(2 * p.M * sizeof *W);
    float z[64];

    plain_products(&p, 2, P, T0, W0);
    ck_assert(fop_pass(f, 2, P, W, NULL, NULL) == ST_OK);
    assert_near(2 * p.M, W, W0, 1e-13, "pass");
    ck_assert(fop_zp(f, 2, P, T, NULL, NULL) == ST_OK);
    assert_near(2 * p.n, T, T0, 1e-13, "zp");
    ck_assert(fop_ztv(f, 2, T0, W, NULL, NULL) == ST_OK);
    assert_near(2 * p.M, W, W0, 1e-13, "ztv");
    ck_assert(fop_tile(f, 3, 4, z, 64, NULL) == ST_OK);
    ck_assert(z[5] == (float)p.Z[3 * 64 + 5]);
    ck_assert(fop_set(f, &p.l, NULL) == ST_STATE);
    fop_free(f);
    pool_free(pool);
    free(P), free(T), free(W), free(T0), free(W0);
    problem_free(&p);
}
END_TEST

/* Accuracy, stopping, failing. */

/* 6,000 rows of 2 inputs at a long lengthscale: eigenvalues from about n down to nothing, the case
 * in which float32 sums over long chunks made Z'Z + lam2 I indefinite.  Float chunks must keep
 * every eigenvalue within 1e-7 n of the float64 product's. */
START_TEST(test_gram_of_small_noise)
{
    const size_t n = 6000, M = 256;
    struct problem p = problem_new("rbf", n, 2, M, 3.0);
    double *G = malloc(M * M * sizeof *G), *w[2];

    for (int i = 0; i < 2; i++) {
        struct fop *f = problem_fop(&p, NULL, i ? PREC_DOUBLE : PREC_FLOAT, false);
        w[i] = malloc(M * sizeof *w[i]);
        ck_assert(fop_gram(f, NULL, G, NULL, NULL, NULL, NULL) == ST_OK);
        ck_assert(blas_dsyevd(M, G, M, w[i], false, NULL) == ST_OK);
        fop_free(f);
    }
    ck_assert_double_gt(w[1][M - 1], 0.5 * (double)n); /* ill-conditioned indeed: */
    ck_assert_double_le(fabs(w[1][0]), 1e-10 * (double)n);
    for (size_t i = 0; i + 1 < M; i++) /* the largest also feels the rounding of the features */
        ck_assert_double_le(fabs(w[0][i] - w[1][i]), (i < M / 2 ? 1e-7 : 1e-6) * (double)n);
    free(G);
    free(w[0]);
    free(w[1]);
    problem_free(&p);
}
END_TEST

/* Tiles of the result with a rest at the edge: both triangles against sums by hand, the same bits
 * for any number of threads and any size of a block of rows. */
START_TEST(test_wide_gram)
{
    static const size_t threads[] = { 1, 3, 2 };
    const size_t n = 700, M = 2336, some = 37;
    struct problem p = problem_new("rbf", n, 3, M, 1.5);
    double *G = malloc(M * M * sizeof *G), *first = malloc(M * M * sizeof *G),
           *Z = malloc(n * M * sizeof *Z);

    for (size_t q = 0; q < 3; q++) {
        struct pool *pool = pool_new(threads[q], NULL);
        limits_enter(limits_of(q == 2 ? (size_t)64 << 20 : 0, 0));
        struct fop *f = problem_fop(&p, pool, PREC_DOUBLE, false);
        memset(G, 0xff, M * M * sizeof *G);
        ck_assert(fop_gram(f, NULL, G, NULL, NULL, NULL, NULL) == ST_OK);
        if (q == 0) {
            memcpy(first, G, M * M * sizeof *G);
            ck_assert(fop_tile64(f, 0, n, Z, M, NULL) == ST_OK);
        }
        ck_assert_msg(memcmp(first, G, M * M * sizeof *G) == 0, "%zu threads", threads[q]);
        fop_free(f);
        pool_free(pool);
    }
    limits_enter(limits_of(0, 0));
    for (size_t i = 0; i < M; i += some)
        for (size_t j = 0; j < M; j += some) {
            double sum = 0.0;
            for (size_t r = 0; r < n; r++)
                sum += Z[r * M + i] * Z[r * M + j];
            ck_assert_double_le(fabs(G[i + j * M] - sum), 1e-13 * (double)n);
        }
    size_t unlike = 0;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < i; j++)
            unlike += G[i + j * M] != G[j + i * M];
    ck_assert_uint_eq(unlike, 0);
    free(G);
    free(first);
    free(Z);
    problem_free(&p);
}
END_TEST

/* Small results are summed over segments of rows: the sums by hand, and the same bits for any
 * number of threads and any memory allowed, at sizes that are no multiple of anything.  L: a
 * sketch, too. */
static const struct { size_t n, M, L; enum precision precision; } segmented[] = {
    { 1793, 512, 37, PREC_FLOAT },  { 5003, 512, 0, PREC_DOUBLE }, { 16411, 1024, 0, PREC_FLOAT },
    { 9001, 202, 150, PREC_FLOAT }, { 2999, 60, 60, PREC_DOUBLE },
};

/* The transpose (M x n) of Z (n x M), in which a column's numbers are neighbours. */
static double *transpose(size_t n, size_t M, const double *Z)
{
    double *T = malloc(n * M * sizeof *T);

    ck_assert_ptr_nonnull(T);
    for (size_t r0 = 0; r0 < n; r0 += 64)
        for (size_t j = 0; j < M; j++)
            for (size_t r = r0; r < n && r < r0 + 64; r++)
                T[j * n + r] = Z[r * M + j];
    return T;
}

/* The sum over n rows of the products of two columns. */
static double column_product(size_t n, const double *a, const double *b)
{
    double sum = 0.0;

    for (size_t r = 0; r < n; r++)
        sum += a[r] * b[r];
    return sum;
}

/* G, Z'y and y'y, C = Z'dZ and the sketch, one after the other. */
static void segmented_products(struct fop *f, size_t L, const double *y, const double *Om,
                               double *out)
{
    const size_t M = fop_cols(f);
    double *C = out + M * M + M + 1;

    for (int twice = 0; twice < 2; twice++) /* the second in the workspace of the first */
        ck_assert(fop_gram(f, y, out, out + M * M, out + M * M + M, NULL, NULL) == ST_OK);
    ck_assert(fop_dgram(f, 0, C, NULL, NULL) == ST_OK);
    if (L)
        ck_assert(fop_sketch(f, L, Om, C + M * M, NULL, NULL) == ST_OK);
}

START_TEST(test_segments)
{
    static const size_t threads[] = { 1, 2, 3, 5, 16, 2 };
    const size_t n = segmented[_i].n, M = segmented[_i].M, L = segmented[_i].L, d = 5;
    const struct fop_opts opts = { .precision = segmented[_i].precision };
    const double tol = opts.precision == PREC_FLOAT ? 2e-6 : 1e-12, l = 1.7;
    const size_t len = 2 * M * M + M + 1 + M * L;
    double *X = normals(n * d, 113), *y = normals(n, 114), *Om = normals(M * L + 1, 115);
    double *first = calloc(len, sizeof *first), *out = calloc(len, sizeof *out);
    double *Z = malloc(2 * n * M * sizeof *Z), *dZ = Z + n * M, hp[KERNEL_MAX_HP];
    const struct kernel k = parsed("rbf", hp);
    struct featmap *fm = featmap_new(&k, d, M, 5, NULL);
    struct source_array src;

    source_array_init(&src, X, n, d, d);
    for (size_t q = 0; q < sizeof threads / sizeof threads[0]; q++) {
        struct pool *pool = pool_new(threads[q], NULL);
        struct fop_opts own = opts;
        own.pool = pool;
        limits_enter(limits_of(q == 5 ? (size_t)48 << 20 : 0, 0));
        struct fop *f = fop_new(backend_cpu(), fm, &src.base, &own, NULL);
        ck_assert(fop_set(f, &l, NULL) == ST_OK);
        segmented_products(f, L, y, Om, q ? out : first);
        ck_assert_msg(q == 0 || memcmp(first, out, len * sizeof *out) == 0,
                      "%zu threads: other bits", threads[q]);
        if (q == 0) {
            ck_assert(fop_tile64(f, 0, n, Z, M, NULL) == ST_OK);
            ck_assert(fop_dtile(f, 0, 0, n, dZ, M, NULL) == ST_OK);
        }
        fop_free(f);
        pool_free(pool);
    }
    limits_enter(limits_of(0, 0));
    const double scale = (double)n / (double)M, root = sqrt((double)n);
    const double *C = first + M * M + M + 1;
    double *T = transpose(n, M, Z), *dT = transpose(n, M, dZ);
    for (size_t i = 0; i < M; i += 13)
        for (size_t j = 0; j < M; j += 17) {
            ck_assert_double_le(
                fabs(first[i + j * M] - column_product(n, T + i * n, T + j * n)), tol * scale);
            ck_assert_double_eq(first[i + j * M], first[j + i * M]);
            ck_assert_double_le(fabs(C[i + j * M] - column_product(n, T + i * n, dT + j * n)),
                                20.0 * tol * scale);
        }
    for (size_t j = 0; j < M; j += 7)
        ck_assert_double_le(fabs(first[M * M + j] - column_product(n, T + j * n, y)), tol * root);
    for (size_t c = 0; c < L; c += 5)
        for (size_t j = 0; j < M; j += 11) { /* column c of G Omega */
            double sum = 0.0;
            for (size_t i = 0; i < M; i++)
                sum += first[i + j * M] * Om[c * M + i];
            ck_assert_double_le(fabs(C[M * M + c * M + j] - sum), 20.0 * tol * scale);
        }
    free(X), free(y), free(Om), free(first), free(out), free(Z), free(T), free(dT);
    featmap_free(fm);
}
END_TEST

static enum status broken_rows(const struct source *s, size_t r0, size_t r1, double *x,
                               struct err *err)
{
    memset(x, 0, (r1 - r0) * s->d * sizeof *x);
    return r1 > 500 ? err_set(err, ST_IO, "row 500 cannot be read") : ST_OK;
}

START_TEST(test_failing_source)
{
    struct problem p = problem_new("rbf", 800, 2, 64, 1.0);
    struct pool *pool = pool_new(2, NULL);
    double *G = malloc(64 * 64 * sizeof *G), P[64] = { 0 }, W[64];
    struct err err = { 0 };

    p.src.base.rows = broken_rows;
    for (int store = 0; store < 2; store++) {
        struct fop *f = problem_fop(&p, pool, PREC_FLOAT, store);
        ck_assert(fop_pass(f, 1, P, W, NULL, &err) == ST_IO);
        ck_assert_str_eq(err.msg, "row 500 cannot be read");
        ck_assert(fop_gram(f, NULL, G, NULL, NULL, NULL, &err) == ST_IO);
        ck_assert(fop_tile64(f, 499, 501, G, 64, &err) == ST_IO);
        fop_free(f);
    }
    free(G);
    pool_free(pool);
    problem_free(&p);
}
END_TEST

START_TEST(test_stop)
{
    struct problem p = problem_new("rbf", 800, 2, 64, 1.0);
    struct fop *f = problem_fop(&p, NULL, PREC_FLOAT, true);
    struct cancel cancel;
    const struct ctl ctl = { .cancel = &cancel };
    double *G = malloc(64 * 64 * sizeof *G), *P = normals(64, 108), W[64], again[64];

    atomic_init(&cancel.stop, true);
    ck_assert(fop_pass(f, 1, P, W, &ctl, NULL) == ST_CANCELLED);
    ck_assert(fop_gram(f, NULL, G, NULL, NULL, &ctl, NULL) == ST_CANCELLED);
    ck_assert(fop_sketch(f, 1, P, W, &ctl, NULL) == ST_CANCELLED);
    atomic_store(&cancel.stop, false);
    ck_assert(fop_pass(f, 1, P, W, &ctl, NULL) == ST_OK); /* not from features half stored */
    ck_assert(fop_pass(f, 1, P, again, &ctl, NULL) == ST_OK);
    ck_assert(memcmp(W, again, sizeof W) == 0);
    free(G);
    free(P);
    fop_free(f);
    problem_free(&p);
}
END_TEST

/* Each allocation in turn fails: an error, no crash, nothing leaked (under the sanitizers). */
START_TEST(test_memory_runs_out)
{
    struct problem p = problem_new("matern(nu=1/2)", 100, 2, 64, 1.0);
    const struct fop_opts opts = { .precision = PREC_FLOAT, .store = true };
    double *G = malloc(64 * 64 * sizeof *G), *P = normals(RHS * 64, 109), W[RHS * 64];
    bool all = false;

    for (size_t i = 1; !all; i++) {
        struct err err = { 0 };
        enum status rc = ST_OK;
        ck_assert_uint_lt(i, 1000);
        mem_fail_after_for_tests(i);
        struct featmap *fm = featmap_new(&p.fm->kernel, 2, 64, 5, &err);
        struct fop *f = fm ? fop_new(backend_cpu(), fm, &p.src.base, &opts, &err) : NULL;
        if (f && rc == ST_OK)
            rc = fop_pass(f, RHS, P, W, NULL, &err);
        if (f && rc == ST_OK)
            rc = fop_gram(f, NULL, G, NULL, NULL, NULL, &err);
        if (f && rc == ST_OK)
            rc = fop_dgram(f, 0, G, NULL, &err);
        all = f && rc == ST_OK;
        mem_fail_after_for_tests(0);
        ck_assert(all || err.code == ST_NOMEM);
        fop_free(f);
        featmap_free(fm);
    }
    free(G);
    free(P);
    problem_free(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("features");
    TCase *t = tcase_create("all");

    blas_init(); /* as the program does: no threads of its own */
    support_need("golden/README.md");
    tcase_set_timeout(t, 300);
    suite_add_tcase(s, t);
    tcase_add_test(t, test_philox_known_answers);
    tcase_add_test(t, test_moments);
    tcase_add_test(t, test_below_and_permutation);
    tcase_add_test(t, test_pool_runs_each_task_once);
    tcase_add_test(t, test_pool_runs_within_its_tasks);
    tcase_add_test(t, test_pool_trace);
    tcase_add_test(t, test_kernel_text);
    tcase_add_loop_test(t, test_kernel_exact, 0, N_KERNELS);
    tcase_add_loop_test(t, test_kernel_gradient, 0, N_KERNELS);
    tcase_add_test(t, test_rational_quadratic);
    tcase_add_loop_test(t, test_features_approximate_kernel, 0, N_KERNELS);
    tcase_add_test(t, test_sorf_golden);
    tcase_add_loop_test(t, test_products, 0, N_SHAPES);
    tcase_add_loop_test(t, test_tiles, 0, N_SHAPES);
    tcase_add_loop_test(t, test_derivative, 0, 4);
    tcase_add_loop_test(t, test_same_bits, 0, 2);
    tcase_add_loop_test(t, test_same_bits_of_any_block, 0, 2);
    tcase_add_loop_test(t, test_matrix_products, 0, 2);
    tcase_add_loop_test(t, test_formed, 0, 2);
    tcase_add_loop_test(t, test_row_scale, 0, 2);
    tcase_add_test(t, test_ard_is_scaling);
    tcase_add_test(t, test_dense_operator);
    tcase_add_test(t, test_gram_of_small_noise);
    tcase_add_test(t, test_wide_gram);
    tcase_add_loop_test(t, test_segments, 0, sizeof segmented / sizeof segmented[0]);
    tcase_add_test(t, test_failing_source);
    tcase_add_test(t, test_stop);
    tcase_add_test(t, test_memory_runs_out);
    return support_run(s);
}
