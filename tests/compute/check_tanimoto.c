/* tests/compute/check_tanimoto.c -- the kernels tanimoto and tanimotodp: exact values against the
 * golden files and against sums over all places; tiles, matrices, cross-covariances and products
 * against values pair by pair; expressions as text. */
#include "tests/support.h"
#include "tests/compute/counts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/features/featmap.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/models/exact.h"
#include "compute/pool.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Golden files. */

static void golden(const char *name, const char *text, bool binary)
{
    const struct kernel k = counts_kernel(text, 0);
    size_t n, places, r, c;
    double *v = support_golden("tan_counts", &n, &places), *K = support_golden(name, &r, &c);
    const size_t d = 1 + 2 * places;
    double *x = mem_calloc(n * d, sizeof *x, "rows", NULL), out[64];

    ck_assert(r == n && c == n && n <= 8);
    for (size_t i = 0; binary && i < n * places; i++)
        v[i] = v[i] > 0.0;
    for (size_t i = 0; i < n; i++)
        counts_write(v + i * places, places, 268435455.0, x + i * d); /* up to 4026531825 */
    struct kernel_tile *t = kernel_tile_new(&k, NULL, d, n, x, d);
    kernel_tile_values(t, n, x, d, out, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            ck_assert(fabs(kernel_exact(&k, NULL, d, x + i * d, x + j * d, NULL) - K[i * n + j]) <=
                      1e-12);
            ck_assert(fabs(out[i + j * n] - K[i * n + j]) <= 1e-12);
        }
    kernel_tile_free(t);
    free(v), free(K), free(x);
}

START_TEST(golden_counts)
{
    golden("tan_tmm", "tanimoto", false);
}
END_TEST

START_TEST(golden_binary)
{
    golden("tan_tmm_binary", "tanimoto", true);
    golden("tan_tmm_binary", "tanimotodp", true); /* the same where counts are 0 or 1 */
}
END_TEST

START_TEST(golden_dot_products)
{
    golden("tan_tdp_sqrt", "tanimotodp", false);
    golden("tan_tdp_sqrt", "tanimotodp(power=1/2)", false);
    golden("tan_tdp_raw", "tanimotodp(power=1)", false);
}
END_TEST

/* Rows (2, 1) and (1, 0), both times s: 2^2p / (2^2p + 1 + 1 - 2^p) with 2^p for 2 1 and so on.
 * Dividing both by one number changes nothing, even where squares leave the range of a double. */
START_TEST(dot_products_of_any_size)
{
    static const double sizes[] = { 1.0, 3.0, 5e-324, 1e-300, 1e-90, 1e90, 1e307 };
    static const double powers[] = { 0.5, 1.0, 0.75, 2.0 };
    const double empty[] = { 0.0, 0.0, 0.0 };

    for (size_t p = 0; p < sizeof powers / sizeof *powers; p++) {
        char text[64];
        snprintf(text, sizeof text, "tanimotodp(power=%g)", powers[p]);
        const struct kernel k = counts_kernel(text, 0);
        const double a = pow(2.0, powers[p]), value = a / (a * a + 1.0 + 1.0 - a);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const double s = sizes[i], x[] = { 2.0, 3.0, 2.0 * s, 4294967295.0, s },
                         y[] = { 1.0, 3.0, s };
            /* a few roundings */
            ck_assert(fabs(kernel_exact(&k, NULL, 5, x, y, NULL) - value) <= 1e-14);
            ck_assert(fabs(kernel_exact(&k, NULL, 5, y, x, NULL) - value) <= 1e-14);
            ck_assert(kernel_exact(&k, NULL, 5, x, x, NULL) == 1.0);
            ck_assert(kernel_exact(&k, NULL, 5, x, empty, NULL) == 0.0);
            ck_assert(kernel_exact(&k, NULL, 5, empty, y, NULL) == 0.0);
        }
        ck_assert(kernel_exact(&k, NULL, 5, empty, empty, NULL) == 1.0);
    }
}
END_TEST

/* Rows of all sorts. */

enum { N = 150, PLACES = 400, FLAT = 2, D = FLAT + 1 + 2 * PLACES };

/* Two numbers, then counts: of all rows but a few that are empty, full or equal; whole ones up to
 * some hundred, or tiny and large ones. */
static void make(bool whole, double *v, double *x)
{
    for (size_t i = 0; i < N; i++) {
        double *own = v + i * PLACES;
        for (size_t p = 0; p < PLACES; p++) {
            const double u = rng_uniform(7, rng_stream(RNG_TEST, 1), i * PLACES + p),
                         w = rng_uniform(7, rng_stream(RNG_TEST, 2), i * PLACES + p);
            const bool there = i % 50 == 3 ? false : i % 50 == 4 ? true : u < 0.08;
            own[p] = !there ? 0.0 : whole ? 1.0 + floor(pow(10.0, 2.7 * w)) : pow(10.0, 16 * w - 8);
        }
        if (i % 50 == 5)
            memcpy(own, own - PLACES, PLACES * sizeof *own);
        x[i * D] = rng_normal(7, rng_stream(RNG_TEST, 3), 2 * i);
        x[i * D + 1] = rng_normal(7, rng_stream(RNG_TEST, 3), 2 * i + 1);
        counts_write(own, PLACES, 10737418.0, x + i * D + FLAT);
    }
}

static double slow(const double *a, const double *b)
{
    double least = 0.0, most = 0.0;

    for (size_t p = 0; p < PLACES; p++) {
        least += fmin(a[p], b[p]);
        most += fmax(a[p], b[p]);
    }
    return most > 0.0 ? least / most : 1.0;
}

START_TEST(values_are_sums_over_places)
{
    const struct kernel k = counts_kernel("tanimoto", FLAT);
    double *v = mem_calloc(N * PLACES, sizeof *v, "counts", NULL),
           *x = mem_calloc(N * D, sizeof *x, "rows", NULL);

    make(_i == 0, v, x);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            const double got = kernel_exact(&k, NULL, D, x + i * D, x + j * D, NULL);
            /* 400 additions of positive numbers: 400 roundings */
            ck_assert(fabs(got - slow(v + i * PLACES, v + j * PLACES)) <= 400 * 2.3e-16);
            ck_assert(got == kernel_exact(&k, NULL, D, x + j * D, x + i * D, NULL));
            ck_assert(i != j || got == 1.0);
        }
    free(v), free(x);
}
END_TEST

static const char *const expressions[] = {
    "tanimoto",
    "tanimoto * rbf(inputs=1:2)",
    "tanimoto + rbf(inputs=1:1) + tanimoto * linear(inputs=2:2)",
    "matern(nu=5/2,inputs=1:2) + rbf(inputs=1:1) * tanimoto",
    "tanimotodp",
    "tanimotodp(power=0.75) * rbf(inputs=1:2)",
};
enum { EXPRESSIONS = sizeof expressions / sizeof expressions[0] };

/* Everything that goes by tile has the values of pairs; with whole counts bit for bit. */
static void tiles(const struct kernel *k, bool whole, struct pool *pool)
{
    double *v = mem_calloc(N * PLACES, sizeof *v, "counts", NULL),
           *x = mem_calloc(N * D, sizeof *x, "rows", NULL), hp[KERNEL_MAX_HP], s[N], w[2 * N];
    double *K = mem_calloc(N * N, sizeof *K, "a matrix", NULL),
           *C = mem_calloc(N * N, sizeof *C, "a matrix", NULL), W[2 * N];
    const struct exact_rows r = { .k = k, .hp = hp, .X = x, .n = N, .d = D, .row_scale = s,
                                  .pool = pool };
    const double tol = whole ? 0.0 : 1e-13;
    struct exact_op *op;

    make(whole, v, x);
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = 0.7 + 0.1 * (double)(h % 3);
    for (size_t i = 0; i < 2 * N; i++)
        w[i] = rng_normal(7, rng_stream(RNG_TEST, 4), i);
    for (size_t i = 0; i < N; i++)
        s[i] = 1.0 + 0.01 * (double)i;
    ck_assert_int_eq(exact_matrix(&r, 0.25, K, NULL, NULL), ST_OK);
    exact_cross(&r, x, N, C);
    ck_assert_int_eq(exact_op_open(NULL, &r, &op, NULL), ST_OK);
    ck_assert_int_eq(exact_op_apply(op, 0, NULL, 2, w, W, NULL, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        double sum[2] = { 0.0 }, size = 0.0;
        for (size_t j = 0; j < N; j++) {
            const double one = kernel_exact(k, hp, D, x + i * D, x + j * D, NULL);
            ck_assert(fabs(C[j + i * N] - one) <= tol * (1.0 + fabs(one)));
            if (i >= j)
                ck_assert(fabs(K[i + j * N] - s[i] * s[j] * one - (i == j ? 0.25 : 0.0)) <=
                          (tol + 1e-15) * (1.0 + s[i] * s[j] * fabs(one)));
            sum[0] += one * w[j];
            sum[1] += one * w[N + j];
            size += fabs(one) * (fabs(w[j]) + fabs(w[N + j]));
        }
        ck_assert(fabs(W[i] - sum[0]) <= (tol + 1e-14) * size);
        ck_assert(fabs(W[N + i] - sum[1]) <= (tol + 1e-14) * size);
    }
    exact_op_close(op);
    free(v), free(x), free(K), free(C);
}

START_TEST(tiles_are_pairs)
{
    const struct kernel k = counts_kernel(expressions[_i], FLAT);
    struct pool *two = pool_new(2, NULL);

    ck_assert(kernel_tile_has(&k));
    tiles(&k, true, NULL);
    tiles(&k, false, two);
    pool_free(two);
}
END_TEST

/* Rows of products have the same bits whichever are asked for. */
START_TEST(rows_of_products)
{
    enum { SOME = 70 };
    const struct kernel k = counts_kernel("tanimoto", FLAT);
    double *v = mem_calloc(N * PLACES, sizeof *v, "counts", NULL),
           *x = mem_calloc(N * D, sizeof *x, "rows", NULL), w[N], all[N], some[SOME];
    const struct exact_rows r = { .k = &k, .X = x, .n = N, .d = D };
    struct exact_op *op;
    size_t at[SOME];

    make(true, v, x);
    for (size_t i = 0; i < N; i++)
        w[i] = rng_normal(7, rng_stream(RNG_TEST, 4), i);
    for (size_t i = 0; i < SOME; i++)
        at[i] = (i * 37) % N;
    ck_assert_int_eq(exact_op_open(NULL, &r, &op, NULL), ST_OK);
    ck_assert_int_eq(exact_op_apply(op, 0, NULL, 1, w, all, NULL, NULL), ST_OK);
    ck_assert_int_eq(exact_op_rows(op, SOME, at, 1, w, some, NULL, NULL), ST_OK);
    for (size_t i = 0; i < SOME; i++)
        ck_assert(some[i] == all[at[i]]);
    exact_op_close(op);
    free(v), free(x);
}
END_TEST

/* Values on both sides of what a byte holds, in rows whose sums are beyond it, at every level of
 * the vector code and in tiles that are not full: the bits of pairs.  Places reach 2^32 - 1. */
START_TEST(levels_are_pairs)
{
    static const char *const levels[] = { "portable", "avx2", "avx512" };
    static const double most[] = { 1.0, 5.0, 255.0, 256.0 };
    const struct kernel k = counts_kernel(_i < 12 ? "tanimoto" : "tanimotodp", 0);
    enum { ROWS = 90, WIDE = 1 + 2 * PLACES };
    double *v = mem_calloc(PLACES, sizeof *v, "counts", NULL),
           *x = mem_calloc(ROWS * WIDE, sizeof *x, "rows", NULL),
           *out = mem_calloc(ROWS * KERNEL_TILE, sizeof *out, "values", NULL);

    if (cpu_force_level(levels[_i / 4 % 3], NULL) == ST_OK) {
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t p = 0; p < PLACES; p++) {
                const double u = rng_uniform(8, rng_stream(RNG_TEST, 1), i * PLACES + p),
                             w = rng_uniform(8, rng_stream(RNG_TEST, 2), i * PLACES + p);
                v[p] = i == 7 || u > (i == 8 ? 1.0 : 0.3) ? 0.0
                       : w > 0.9 ? most[_i % 4] : 1.0 + floor(w * most[_i % 4]);
            }
            counts_write(v, PLACES, _i % 2 ? 10764205.0 : 7.0, x + i * WIDE);
        }
        for (size_t j0 = 0; j0 < ROWS; j0 += KERNEL_TILE) {
            const size_t rows = ROWS - j0 < KERNEL_TILE ? ROWS - j0 : KERNEL_TILE;
            struct kernel_tile *tile = kernel_tile_new(&k, NULL, WIDE, rows, x + j0 * WIDE, WIDE);
            kernel_tile_values(tile, ROWS, x, WIDE, out, ROWS);
            for (size_t j = 0; j < rows; j++)
                for (size_t i = 0; i < ROWS; i++)
                    ck_assert(out[i + j * ROWS] == kernel_exact(&k, NULL, WIDE, x + i * WIDE,
                                                                x + (j0 + j) * WIDE, NULL));
            kernel_tile_free(tile);
        }
    }
    free(v), free(x), free(out);
}
END_TEST

/* A stored matrix has the values of pairs, rounded to single precision: its columns, read back by
 * products with unit vectors. */
START_TEST(stored_values_are_pairs)
{
    const struct kernel k = counts_kernel("tanimoto * rbf + tanimoto", FLAT);
    double *v = mem_calloc(N * PLACES, sizeof *v, "counts", NULL),
           *x = mem_calloc(N * D, sizeof *x, "rows", NULL), unit[N], column[N];
    const double hp[] = { 1.3, 0.7 };
    const struct exact_rows r = { .k = &k, .hp = hp, .X = x, .n = N, .d = D };
    struct exact_op *op;

    make(_i == 0, v, x);
    ck_assert_uint_eq(kernel_nhp(&k), 2);
    ck_assert_int_eq(exact_op_open(NULL, &r, &op, NULL), ST_OK);
    ck_assert_int_eq(exact_op_store(op, false, NULL, NULL), ST_OK);
    for (size_t j = 0; j < N; j += 7) {
        memset(unit, 0, sizeof unit);
        unit[j] = 1.0;
        ck_assert_int_eq(exact_op_apply(op, 0, NULL, 1, unit, column, NULL, NULL), ST_OK);
        for (size_t i = 0; i < N; i++)
            ck_assert(column[i] == (double)(float)kernel_exact(&k, hp, D, x + i * D, x + j * D,
                                                               NULL));
    }
    exact_op_close(op);
    free(v), free(x);
}
END_TEST

/* Text. */

START_TEST(expressions_as_text)
{
    static const char *const same[] = { "tanimoto", "tanimoto + rbf on temp", "tanimoto on ligand",
                                        "tanimoto(xi=gauss)",
                                        "tanimoto on ligand * matern(nu=5/2) on temp,ph",
                                        "tanimoto(flat=3)", "tanimotodp(power=0.5)",
                                        "tanimoto on a * tanimoto on b", "tanimoto(part=2/3)",
                                        "tanimoto on a * conv(rbf,width=9,average=sqrt) on b",
                                        "tanimotodp(power=0.75) on ligand + tanimoto on ligand" };
    static const char *const bad[] = { "tanimoto(rbf)",  "tanimoto(width=3)",
                                       "conv(tanimoto)", "tanimoto rbf",
                                       "tanimotodp(power=0)", "tanimotodp(power=1/0)",
                                       "tanimotodp(power=3)", "tanimotodp(degree=2)",
                                       "tanimoto(xi=2)" };
    struct err err = { 0 };
    struct kernel k;

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct buf b = { 0 };
        ck_assert_msg(kernel_parse(same[i], &k, NULL, &err) == ST_OK, "%s: %s", same[i], err.msg);
        kernel_print(&k, &b);
        ck_assert_str_eq(buf_str(&b), same[i]);
        buf_free(&b);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(kernel_parse(bad[i], &k, NULL, &err) != ST_OK, "%s", bad[i]);
    ck_assert_int_eq(kernel_parse("tanimoto", &k, NULL, NULL), ST_OK);
    ck_assert_uint_eq(kernel_nhp(&k), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tanimoto");
    TCase *tc = tcase_create("tanimoto");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, golden_counts);
    tcase_add_test(tc, golden_binary);
    tcase_add_test(tc, golden_dot_products);
    tcase_add_test(tc, dot_products_of_any_size);
    tcase_add_loop_test(tc, values_are_sums_over_places, 0, 2);
    tcase_add_loop_test(tc, tiles_are_pairs, 0, EXPRESSIONS);
    tcase_add_test(tc, rows_of_products);
    tcase_add_loop_test(tc, levels_are_pairs, 0, 14);
    tcase_add_loop_test(tc, stored_values_are_pairs, 0, 2);
    tcase_add_test(tc, expressions_as_text);
    suite_add_tcase(s, tc);
    return support_run(s);
}
