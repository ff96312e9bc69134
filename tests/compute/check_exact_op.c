/* tests/compute/check_exact_op.c -- products with an exact kernel matrix, computed or stored, at
 * every level of the processor's vector code: golden matrices, kernel_exact for every kernel, rows
 * that coincide or lie far from 0, any size, the same bits on any number of threads. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "compute/backend.h"
#include "base/mem.h"
#include "compute/models/exact.h"
#include "compute/rng.h"
#include "tests/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const levels[] = { "portable", "avx2", "avx512" };
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* Check forks: a level forced here is gone with the test.  False: not on this machine. */
static bool at_level(int i)
{
    return cpu_force_level(levels[i], NULL) == ST_OK;
}

static double normal(uint32_t stream, uint64_t i)
{
    return rng_normal(3, rng_stream(RNG_TEST, stream), i);
}

static void ok(enum status rc, const struct err *err)
{
    ck_assert_msg(rc == ST_OK, "%s", err->msg);
}

/* An operator with all that it borrows. */
struct setting {
    struct kernel k;
    double hp[KERNEL_MAX_HP], *X;
    struct exact_rows rows;
    struct exact_op *op;
    struct pool *pool;
};

static void setting_open(struct setting *s, const char *text, size_t n, size_t d, double *X,
                         size_t threads)
{
    struct err err = { 0 };
    size_t from[KERNEL_MAX_HP];

    ok(kernel_parse(text, &s->k, NULL, &err), &err);
    ok(kernel_bind(&s->k, d, from, &err), &err);
    s->X = X;
    s->pool = threads > 1 ? pool_new(threads, &err) : NULL;
    s->rows = (struct exact_rows){ .k = &s->k, .hp = s->hp, .X = X, .n = n, .d = d,
                                   .pool = s->pool };
    ok(exact_op_open(backend_cpu(), &s->rows, &s->op, &err), &err);
}

static void setting_close(struct setting *s)
{
    exact_op_close(s->op);
    pool_free(s->pool);
}

/* The whole matrix as columns, n x n. */
static double *columns(const struct setting *s)
{
    const size_t n = s->rows.n;
    double *C = malloc(n * n * sizeof *C);
    size_t *at = malloc(n * sizeof *at);
    struct err err = { 0 };

    for (size_t i = 0; i < n; i++)
        at[i] = i;
    ok(exact_op_columns(s->op, n, at, C, NULL, &err), &err);
    free(at);
    return C;
}

/* Golden. */

/* pairs: computed pair by pair, in double precision; more: a second hyperparameter; scale: the
 * golden value over that of the kernel (check_kernels.c). */
static const struct {
    const char *golden, *after, *text;
    double l;
    bool pairs;
    double more, scale;
} gold[] = {
    { "arccos1", "", "arccos", 0.5 / 1.2, true, 0.0, 0.25 },
    { "erf", "", "erf", 1.0 / 1.2, true, 0.5, 1.0 },
    { "rbf", "_s0p7", "rbf", 1.0 / 0.7, false, 0.0, 1.0 },
    { "rbf", "_s1p5", "rbf", 1.0 / 1.5, false, 0.0, 1.0 },
    { "mat12", "_s0p7", "matern(nu=1/2)", 1.0 / 0.7, false, 0.0, 1.0 },
    { "mat12", "_s1p5", "matern(nu=1/2)", 1.0 / 1.5, false, 0.0, 1.0 },
    { "mat32", "_s0p7", "matern(nu=3/2)", 1.0 / 0.7, false, 0.0, 1.0 },
    { "mat32", "_s1p5", "matern(nu=3/2)", 1.0 / 1.5, false, 0.0, 1.0 },
    { "mat52", "_s0p7", "matern(nu=5/2)", 1.0 / 0.7, false, 0.0, 1.0 },
    { "mat52", "_s1p5", "matern(nu=5/2)", 1.0 / 1.5, false, 0.0, 1.0 },
    { "cauchy", "_s0p7", "cauchy", 1.0 / 0.7, false, 0.0, 1.0 },
    { "cauchy", "_s1p5", "cauchy", 1.0 / 1.5, false, 0.0, 1.0 },
    { "poly2c1", "", "poly(degree=2,c=1)", 1.0, false, 0.0, 1.0 },
    { "poly3c0", "", "poly(degree=3,c=0)", 1.0, false, 0.0, 1.0 },
    { "linear", "", "linear", 1.0, false, 0.0, 1.0 },
};
enum { GOLD = sizeof gold / sizeof gold[0] };

/* 12 rows and fewer: one tile that is mostly empty.  Scalar products up to 20 have the error of
 * their floats, and their cubes three times that. */
static void golden_one(int which, int d_named)
{
    char name[80];
    size_t n, d, r, c;
    struct setting s;

    snprintf(name, sizeof name, "kern_X_d%d", d_named);
    double *X = support_golden(name, &n, &d);
    snprintf(name, sizeof name, "kern_K_%s_d%d%s", gold[which].golden, d_named,
             gold[which].after);
    double *K = support_golden(name, &r, &c);
    const bool pairs = gold[which].pairs;
    const double scale = gold[which].scale, rounding = pairs ? 1e-10 : 1e-6;
    s.hp[0] = gold[which].l;
    s.hp[1] = gold[which].more;
    setting_open(&s, gold[which].text, n, d, X, 1);
    ck_assert(exact_op_single(s.op) == !pairs);
    double *C = columns(&s);
    for (size_t i = 0; i < n * n; i++)
        ck_assert_msg(fabs(C[i] * scale - K[i]) <= rounding * (1.0 + fabs(K[i])),
                      "%s, %zu: %.9g for %.9g", name, i, C[i] * scale, K[i]);
    setting_close(&s);
    free(X), free(K), free(C);
}

START_TEST(golden_matrices)
{
    static const int dims[] = { 1, 3, 10, 20 };

    for (int level = 0; level < LEVELS; level++)
        for (int at = 0; at < 4 && at_level(level); at++)
            golden_one(_i, dims[at]);
}
END_TEST

/* Groups of inputs. */
START_TEST(golden_groups)
{
    size_t n, d, r, c;
    double *X = support_golden("kern_X_d10", &n, &d),
           *K = support_golden("kern_K_miniard_d10", &r, &c);

    for (int level = 0; level < LEVELS; level++) {
        struct setting s = { .hp = { 1.0 / 0.4, 1.0 / 1.1, 1.0 / 2.0 } };
        if (!at_level(level))
            continue;
        setting_open(&s, "rbf(ard=1x4:2x3:3x3)", n, d, X, 1);
        double *C = columns(&s);
        for (size_t i = 0; i < n * n; i++)
            ck_assert(fabs(C[i] - K[i]) <= 1e-6);
        setting_close(&s);
        free(C);
    }
    free(X), free(K);
}
END_TEST

/* Every kernel. */

static const struct { const char *text; bool single; } list[] = {
    { "rbf", true },
    { "matern(nu=1/2)", true },
    { "matern(nu=3/2,ard)", true },
    { "matern(nu=5/2)", true },
    { "cauchy", true },
    { "rq(alpha=0.05)", true },
    { "rq(alpha=0.7,ard)", true },
    { "rq(alpha=1000)", true },
    { "periodic", true },
    { "periodic(ard)", true },
    { "linear", true },
    { "constant", true },
    { "poly(degree=4,c=0.5)", true },
    { "poly(degree=2,ard)", true },
    { "rbf(ard=1x2:2:1x2)", true },
    { "rbf(ard=1x2:2:1x2,inputs=3:4)", true },
    { "rbf + matern(nu=3/2)", true },
    { "rbf * matern(nu=5/2,ard)", true },
    { "rbf * cauchy * rq + matern(nu=1/2) * periodic + constant * rbf + linear", true },
    { "rbf(ard=2,inputs=2:3) * matern(nu=3/2,inputs=4:5) + cauchy", true },
    { "linear(inputs=1:2) + periodic(inputs=3:3) * rbf", true },
    { "arccos", false },
    { "erf", false },
    { "rbf + arccos", false },
#ifdef HAVE_GSL
    { "matern(nu=2)", true },
    { "matern(nu=7/4) * rbf + constant", true },
#endif
};
enum { LIST = sizeof list / sizeof list[0], D = 5 };

/* Rows that coincide, almost coincide, and lie far away from all others, all of them far from 0. */
static double *awkward(size_t n, double offset, uint32_t stream)
{
    double *X = malloc(n * D * sizeof *X);

    for (size_t i = 0; i < n * D; i++)
        X[i] = normal(stream, i);
    for (size_t i = 0; i < D && n > 6; i++) {
        X[D + i] = X[i];
        X[2 * D + i] = X[i] + 1e-4;
        X[3 * D + i] += 1000.0;
        X[4 * D + i] = X[3 * D + i] + 1e-3 * X[5 * D + i];
        X[(n - 1) * D + i] = X[i];
    }
    for (size_t i = 0; i < n * D; i++)
        X[i] += offset;
    return X;
}

/* Hyperparameters near 1; a period that the far rows are whole numbers of would be no test. */
static void hyperparameters(double *hp)
{
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = exp(0.3 * normal(64, h));
}

/* Each value against kernel_exact, within 1e-5 of the two rows' own (for stationary kernels: of
 * 1). */
static void check_values(const char *text, bool single, size_t n, double offset)
{
    struct setting s;
    double *X = awkward(n, offset, 20);

    hyperparameters(s.hp);
    setting_open(&s, text, n, D, X, 1);
    ck_assert_int_eq(exact_op_single(s.op), single);
    double *C = columns(&s), *diag = malloc(n * sizeof *diag);
    for (size_t i = 0; i < n; i++)
        diag[i] = kernel_exact(&s.k, s.hp, D, X + i * D, X + i * D, NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double v = kernel_exact(&s.k, s.hp, D, X + i * D, X + j * D, NULL);
            ck_assert_msg(fabs(C[i * n + j] - v) <= 1e-5 * sqrt(diag[i] * diag[j]),
                          "%s (%zu, %zu), offset %g, %s: %.9g for %.9g", text, i, j, offset,
                          cpu_level(), C[i * n + j], v);
        }
    setting_close(&s);
    free(X), free(C), free(diag);
}

START_TEST(values_of_every_kernel)
{
    for (int level = 0; level < LEVELS; level++)
        for (int at = 0; at < 2 && at_level(level); at++)
            check_values(list[_i].text, list[_i].single, 75, at ? 1000.0 : 0.0);
}
END_TEST

/* No kernel of the registry is left out above: each one alone. */
START_TEST(registry)
{
    const struct kernel_ops *ops;

    for (size_t i = 0; (ops = kernel_at(i)) != NULL; i++)
        if (!ops->learns) /* a model by its features is exact: check_learn */
            check_values(ops->name, ops->closed || ops->exact, 20, 0.0);
}
END_TEST

/* Products. */

/* Of rows in any order, as often as they are named, against sums of kernel_exact, beside a
 * tolerance for single precision: of values, vectors, and sums of at most PAIRS_COLS terms. */
static void check_product(const char *text, size_t n, size_t m, size_t k)
{
    struct setting s;
    struct err err = { 0 };
    double *X = awkward(n, 0.0, 21), *V = malloc(k * n * sizeof *V),
           *W = malloc(k * m * sizeof *W);
    size_t *at = malloc(m * sizeof *at);

    hyperparameters(s.hp);
    setting_open(&s, text, n, D, X, 1);
    for (size_t i = 0; i < k * n; i++)
        V[i] = normal(22, i);
    for (size_t r = 0; r < m; r++)
        at[r] = r < 3 ? n - 1 : rng_u64(5, 0, r) % n;
    ok(exact_op_rows(s.op, m, at, k, V, W, NULL, &err), &err);
    double *K = malloc(n * sizeof *K);
    for (size_t r = 0; r < m; r++) {
        for (size_t i = 0; i < n; i++)
            K[i] = kernel_exact(&s.k, s.hp, D, X + at[r] * D, X + i * D, NULL);
        for (size_t c = 0; c < k; c++) {
            double sum = 0.0, size = 0.0;
            for (size_t i = 0; i < n; i++) {
                sum += K[i] * V[c * n + i];
                size += fabs(K[i] * V[c * n + i]);
            }
            ck_assert_msg(fabs(W[c * m + r] - sum) <= 4e-6 * size + 1e-6,
                          "%s, n %zu, k %zu, row %zu of vector %zu, %s: %.9g for %.9g", text, n, k,
                          r, c, cpu_level(), W[c * m + r], sum);
        }
    }
    setting_close(&s);
    free(X), free(V), free(W), free(at), free(K);
}

/* Sizes on both sides of the edges of groups, blocks, panels and tiles; vectors alone, in units and
 * both. */
START_TEST(products)
{
    static const size_t n[] = { 1, 63, 64, 65, 255, 256, 257, 700 },
                        m[] = { 1, 11, 12, 13, 47, 48, 49, 100 },
                        k[] = { 1, 8, 9, 16, 24, 25, 49, 65 };

    for (int level = 0; level < LEVELS; level++)
        for (size_t i = 0; i < 8 && at_level(level); i++) {
            check_product("matern(nu=3/2,ard)", n[i], m[(i + 3) % 8], k[i]);
            check_product("rbf + cauchy", n[7 - i], m[i], k[(i + 2) % 8]);
        }
    check_product("arccos", 65, 9, 2);
}
END_TEST

/* The same bits for a row, whether it is asked for by index, in the whole product or as new inputs,
 * on 1, 2 and 3 threads; and the same values in columns. */
START_TEST(same_bits)
{
    static const char *const of[] = { "matern(nu=3/2,ard)", "rbf * linear + constant", "erf" };
    enum { N = 300, M = 70, K = 30 };
    struct err err = { 0 };
    double *X = awkward(N, 0.0, 23), *V = malloc(K * N * sizeof *V), *Y = malloc(M * D * 8),
           *all = malloc(K * N * sizeof *all), *again = malloc(K * N * sizeof *again),
           *some = malloc(K * M * sizeof *some), *first = malloc(N * 8), *column = malloc(N * 8);
    size_t at[M];

    for (size_t i = 0; i < K * N; i++)
        V[i] = normal(24, i);
    for (size_t r = 0; r < M; r++) {
        at[r] = (r * 37 + 5) % N;
        memcpy(Y + r * D, X + at[r] * D, D * sizeof *Y);
    }
    for (size_t threads = 1; threads <= 3; threads++) {
        struct setting s;
        hyperparameters(s.hp);
        setting_open(&s, of[_i], N, D, X, threads);
        ok(exact_op_apply(s.op, N, NULL, K, V, threads == 1 ? all : again, NULL, &err), &err);
        if (threads > 1)
            ck_assert_mem_eq(all, again, K * N * sizeof *all);
        for (int how = 0; how < 2; how++) {
            if (how)
                ok(exact_op_apply(s.op, M, Y, K, V, some, NULL, &err), &err);
            else
                ok(exact_op_rows(s.op, M, at, K, V, some, NULL, &err), &err);
            for (size_t c = 0; c < K; c++)
                for (size_t r = 0; r < M; r++)
                    ck_assert_mem_eq(&some[c * M + r], &all[c * N + at[r]], sizeof *some);
        }
        ok(exact_op_columns(s.op, 1, at + 1, threads == 1 ? first : column, NULL, &err), &err);
        if (threads > 1)
            ck_assert_mem_eq(first, column, N * sizeof *first);
        setting_close(&s);
    }
    free(X), free(V), free(Y), free(all), free(again), free(some), free(first), free(column);
}
END_TEST

/* Stored in float32, the bits are those of computed products in vector code, and within single
 * precision where values are computed pair by pair.  In float16 a value is off by at most 2^-11 of
 * itself.  Both the same on any number of threads, for the whole product and chosen rows.  Sizes on
 * both sides of the edges of groups, blocks, panels and tiles. */
static void check_stored(const char *text, bool half, size_t n, size_t threads, double bound,
                         double *kept)
{
    enum { M = 70, K = 19 };
    struct setting s;
    struct err err = { 0 };
    double *X = awkward(n, 0.0, 28), *V = malloc(K * n * sizeof *V), *W = malloc(K * n * sizeof *W),
           *some = malloc(K * M * sizeof *some), *all = malloc(K * n * sizeof *all), *C;
    size_t at[M];

    for (size_t i = 0; i < K * n; i++)
        V[i] = normal(29, i);
    for (size_t r = 0; r < M; r++)
        at[r] = (r * 37 + 5) % n;
    hyperparameters(s.hp);
    setting_open(&s, text, n, D, X, threads);
    const bool formed = exact_op_single(s.op);
    C = columns(&s);
    ok(exact_op_apply(s.op, n, NULL, K, V, W, NULL, &err), &err);
    ok(exact_op_store(s.op, half, NULL, &err), &err);
    ck_assert(exact_op_single(s.op));
    ck_assert_int_eq(exact_op_rounds(s.op), half || !formed);
    ok(exact_op_apply(s.op, n, NULL, K, V, all, NULL, &err), &err);
    for (size_t c = 0; c < K; c++)
        for (size_t r = 0; r < n; r++) {
            double size = 0.0;
            for (size_t i = 0; i < n; i++)
                size += fabs(C[r * n + i] * V[c * n + i]);
            ck_assert_msg(fabs(all[c * n + r] - W[c * n + r]) <= bound * size,
                          "%s, n %zu, row %zu: %.9g for %.9g", text, n, r, all[c * n + r],
                          W[c * n + r]);
        }
    ok(exact_op_rows(s.op, M, at, K, V, some, NULL, &err), &err);
    for (size_t c = 0; c < K; c++)
        for (size_t r = 0; r < M; r++)
            ck_assert_mem_eq(&some[c * M + r], &all[c * n + at[r]], sizeof *some);
    if (threads > 1)
        ck_assert_mem_eq(kept, all, K * n * sizeof *all);
    else
        memcpy(kept, all, K * n * sizeof *all);
    ok(exact_op_anew(s.op, K, V, all, NULL, &err), &err);
    ck_assert_mem_eq(all, W, K * n * sizeof *W);
    setting_close(&s);
    free(X), free(V), free(W), free(some), free(all), free(C);
}

START_TEST(stored)
{
    static const size_t n[] = { 9, 64, 257, 301 };
    static const struct { const char *text; double bound; } of[] = {
        { "matern(nu=3/2,ard)", 0.0 },
        { "rbf * cauchy + constant", 0.0 },
        { "erf", 4e-6 }, /* as in check_product */
    };
    double *kept = malloc(19 * 301 * sizeof *kept);

    for (int level = 0; level < LEVELS; level++)
        for (size_t i = 0; i < 4 && at_level(level); i++)
            for (int half = 0; half < 2; half++)
                for (size_t threads = 1; threads <= 3; threads++)
                    check_stored(of[_i].text, half, n[i], threads,
                                 half ? 0x1p-11 + 4e-6 : of[_i].bound, kept);
    free(kept);
}
END_TEST

/* Values beyond float16 are refused, a request to stop ends the filling, memory may be short; after
 * each, products are computed as before. */
START_TEST(stored_fails)
{
    enum { N = 300 };
    struct cancel cancel = { true };
    const struct ctl stop = { .cancel = &cancel };
    struct err err = { 0 };
    double *X = awkward(N, 0.0, 25), *V = malloc(N * sizeof *V), W[N], again[N];
    struct setting s;

    for (size_t i = 0; i < N; i++)
        V[i] = normal(30, i);
    hyperparameters(s.hp);
    setting_open(&s, "poly(degree=4,c=0.5)", N, D, X, 2);
    ok(exact_op_apply(s.op, N, NULL, 1, V, W, NULL, &err), &err);
    ck_assert_int_eq(exact_op_store(s.op, true, NULL, &err), ST_RANGE);
    ck_assert(strstr(err.hint, "float32") != NULL);
    ck_assert_int_eq(exact_op_store(s.op, false, &stop, &err), ST_CANCELLED);
    mem_fail_after_for_tests(2);
    ck_assert_int_eq(exact_op_store(s.op, false, NULL, &err), ST_NOMEM);
    mem_fail_after_for_tests(0);
    ck_assert(!exact_op_rounds(s.op));
    err_clear(&err);
    ok(exact_op_apply(s.op, N, NULL, 1, V, again, NULL, &err), &err);
    ck_assert_mem_eq(W, again, sizeof W);
    setting_close(&s);
    free(X), free(V);
}
END_TEST

/* A sum over many tiles loses no more than one over a tile: 20,000 rows at distance 0 and vectors
 * of ones. */
START_TEST(sums_over_tiles)
{
    enum { N = 20000 };
    struct setting s = { .hp = { 1.0 } };
    struct err err = { 0 };
    double *X = calloc(N, sizeof *X), *V = malloc(N * sizeof *V), W[2];

    for (size_t i = 0; i < N; i++)
        V[i] = 1.0 / 3.0;
    setting_open(&s, "rbf", N, 1, X, 1);
    ok(exact_op_rows(s.op, 2, (const size_t[]){ 0, N - 1 }, 1, V, W, NULL, &err), &err);
    ck_assert_double_eq_tol(W[0], N / 3.0, 1e-6 * N / 3.0);
    ck_assert_double_eq(W[0], W[1]);
    setting_close(&s);
    free(X), free(V);
}
END_TEST

/* Stopped on request, in vector code and pair by pair. */
START_TEST(stops)
{
    enum { N = 400 };
    struct cancel cancel = { true };
    const struct ctl ctl = { .cancel = &cancel };
    struct setting s;
    struct err err = { 0 };
    double *X = awkward(N, 0.0, 25), *V = calloc(N, sizeof *V), *W = malloc(N * sizeof *W);
    const size_t at[] = { 0, 3 };

    hyperparameters(s.hp);
    setting_open(&s, _i ? "erf" : "rbf", N, D, X, 2);
    ck_assert_int_eq(exact_op_apply(s.op, N, NULL, 1, V, W, &ctl, &err), ST_CANCELLED);
    ck_assert_int_eq(exact_op_rows(s.op, 2, at, 1, V, W, &ctl, &err), ST_CANCELLED);
    ck_assert_int_eq(exact_op_columns(s.op, 1, at, W, &ctl, &err), ST_CANCELLED);
    setting_close(&s);
    free(X), free(V), free(W);
}
END_TEST

/* Every request for memory may fail, at the opening and in products. */
START_TEST(memory_fails)
{
    enum { N = 100 };
    double *X = awkward(N, 0.0, 26), V[N] = { 1.0 }, W[N];
    const size_t at[] = { 7, 7 };
    bool done = false;

    for (size_t fail = 1; !done; fail++) {
        struct setting s;
        struct err err = { 0 };
        size_t from[KERNEL_MAX_HP];
        hyperparameters(s.hp);
        ok(kernel_parse("rbf(ard) * matern(nu=3/2) + rq", &s.k, NULL, &err), &err);
        ok(kernel_bind(&s.k, D, from, &err), &err);
        s.rows = (struct exact_rows){ .k = &s.k, .hp = s.hp, .X = X, .n = N, .d = D };
        mem_fail_after_for_tests(fail);
        enum status rc = exact_op_open(backend_cpu(), &s.rows, &s.op, &err);
        if (rc == ST_OK)
            rc = exact_op_rows(s.op, 2, at, 1, V, W, NULL, &err);
        done = rc == ST_OK;
        ck_assert(done || rc == ST_NOMEM);
        mem_fail_after_for_tests(0);
        exact_op_close(s.op);
    }
    free(X);
}
END_TEST

/* Costs grow with rows, vectors and inputs, and pair by pair costs most. */
START_TEST(seconds)
{
    struct setting s;
    double *X = awkward(100, 0.0, 27);

    hyperparameters(s.hp);
    setting_open(&s, "rbf", 100, D, X, 1);
    const double one = exact_op_seconds(s.op, 10, 1);
    ck_assert_double_gt(one, 0.0);
    ck_assert_double_eq_tol(exact_op_seconds(s.op, 20, 1), 2.0 * one, 1e-12 * one);
    ck_assert_double_gt(exact_op_seconds(s.op, 10, 64), one);
    setting_close(&s);
    setting_open(&s, "arccos", 100, D, X, 1);
    ck_assert_double_gt(exact_op_seconds(s.op, 10, 1), 10.0 * one);
    setting_close(&s);
    free(X);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("exact_op");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, values_of_every_kernel, 0, LIST);
    tcase_add_test(t, registry);
    tcase_add_test(t, products);
    tcase_add_loop_test(t, same_bits, 0, 3);
    tcase_add_loop_test(t, stored, 0, 3);
    tcase_add_test(t, stored_fails);
    tcase_add_test(t, sums_over_tiles);
    tcase_add_loop_test(t, stops, 0, 2);
    tcase_add_test(t, memory_fails);
    tcase_add_test(t, seconds);
    if (support_shared("golden/kern_X_d1.csv")) {
        tcase_add_loop_test(t, golden_matrices, 0, GOLD);
        tcase_add_test(t, golden_groups);
    }
    suite_add_tcase(s, t);
    return support_run(s);
}
