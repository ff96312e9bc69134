/* tests/compute/check_windows.c -- kernels over windows of sequences: exact values against the
 * golden files, features against exact values and against the slow interpreter, derivatives,
 * lengths, order. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/kernels/layers/fastconv.h"
#include "compute/kernels/layers/windows.h"
#include "compute/features/fop.h"
#include "compute/features/interp.h"
#include "compute/models/model.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers, then one sequence. */
static struct row_layout rows_of(size_t channels, bool symbols, size_t flat)
{
    const unsigned rows = symbols ? ROWS_SYMBOLS : ROWS_VECTORS;

    return (struct row_layout){ .flat = flat, .nparts = 1, .part = { { rows, channels, 0 } } };
}

static struct kernel parsed(const char *text, size_t channels, bool symbols)
{
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, NULL, &err) == ST_OK, "%s: %s", text, err.msg);
    const struct row_layout rows = rows_of(channels, symbols, 0);
    ck_assert_int_eq(kernel_bind_rows(&k, &rows, NULL, &err), ST_OK);
    return k;
}

/* Data. */

struct rows { struct source_array src; double *x; size_t n, d; };

static void rows_free(struct rows *r) { free(r->x); }

/* The golden sequences: 7 of up to 12 positions of 4 numbers. */
static struct rows golden_rows(void)
{
    size_t r, c, n, one;
    double *x = support_golden("conv_seqs", &r, &c),
           *len = support_golden("conv_lengths", &n, &one);
    struct rows g = { .n = n, .d = 1 + 12 * 4 };

    ck_assert_uint_eq(r, 12 * n);
    ck_assert_uint_eq(c, 4);
    g.x = mem_calloc(n, g.d * sizeof *g.x, "rows", NULL);
    for (size_t i = 0; i < n; i++) {
        g.x[i * g.d] = len[i];
        memcpy(g.x + i * g.d + 1, x + i * 48, 48 * sizeof *x);
    }
    free(x);
    free(len);
    source_array_init(&g.src, g.x, n, g.d, g.d);
    g.src.base.layout = rows_of(4, false, 0);
    return g;
}

/* n rows of symbols: `changes` letters of one sequence changed, and lengths from the least on; some
 * symbols stand for none. */
static struct rows drawn_rows(size_t n, size_t least, size_t most, size_t channels, size_t changes)
{
    struct rows g = { .n = n, .d = 1 + most };
    const uint32_t s = RNG_TEST;

    g.x = mem_calloc(n, g.d * sizeof *g.x, "rows", NULL);
    for (size_t i = 0; i < n; i++) {
        double *x = g.x + i * g.d;
        x[0] = (double)(least + rng_below(5, rng_stream(s, 0), i, most - least + 1));
        for (size_t p = 0; p < most; p++)
            x[1 + p] = (double)rng_below(5, rng_stream(s, 1), p, channels);
        for (size_t c = 0; c < changes; c++)
            x[1 + rng_below(5, rng_stream(s, 2), i * changes + c, most)] =
                (double)rng_below(5, rng_stream(s, 3), i * changes + c, channels + 1);
    }
    source_array_init(&g.src, g.x, n, g.d, g.d);
    g.src.base.layout = rows_of(channels, true, 0);
    return g;
}

/* The same rows with the vectors written out. */
static struct rows written_out(const struct rows *of, size_t channels)
{
    struct rows g = { .n = of->n, .d = 1 + (of->d - 1) * channels };

    g.x = mem_calloc(g.n, g.d * sizeof *g.x, "rows", NULL);
    for (size_t i = 0; i < g.n; i++) {
        g.x[i * g.d] = of->x[i * of->d];
        for (size_t p = 0; p + 1 < of->d; p++)
            if (of->x[i * of->d + 1 + p] < (double)channels)
                g.x[i * g.d + 1 + p * channels + (size_t)of->x[i * of->d + 1 + p]] = 1.0;
    }
    source_array_init(&g.src, g.x, g.n, g.d, g.d);
    g.src.base.layout = rows_of(channels, false, 0);
    return g;
}

/* Exact values. */

static const struct { const char *golden, *text; } gold[] = {
    { "conv_K_rbf_none", "conv(rbf,width=3,average=none)" },
    { "conv_K_rbf_sqrt", "conv(rbf,width=3)" },
    { "conv_K_rbf_full", "conv(rbf,width=3,average=full)" },
    { "conv_K_mat52_none", "conv(matern(nu=5/2),width=3,average=none)" },
    { "conv_K_mat52_sqrt", "conv(matern(nu=5/2),width=3,average=sqrt)" },
    { "conv_K_mat52_full", "conv(matern(nu=5/2),width=3,average=full)" },
    { "conv_K_rbf_none", "convdense(rbf,width=3,average=none)" },
    { "conv_K_mat52_sqrt", "convdense(matern(nu=5/2),width=3)" },
    { "conv_K_mat52_full", "convdense(matern(nu=5/2),width=3,average=full)" },
};
enum { GOLD = sizeof gold / sizeof gold[0] };

START_TEST(golden_exact)
{
    struct rows g = golden_rows();
    size_t r, c;
    double *K = support_golden(gold[_i].golden, &r, &c), l = 1.0 / 0.6;
    const struct kernel k = parsed(gold[_i].text, 4, false);

    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++) {
            const double v = kernel_exact(&k, &l, g.d, g.x + i * g.d, g.x + j * g.d, NULL);
            ck_assert_msg(support_close(v, K[i * c + j], 1e-12), "%s %zu %zu: %.17g, not %.17g",
                          gold[_i].golden, i, j, v, K[i * c + j]);
        }
    free(K);
    rows_free(&g);
}
END_TEST

START_TEST(golden_graph) /* windows of one position: a set of nodes */
{
    static const char *const name[] = { "graph_K_rbf_none", "graph_K_rbf_sqrt" };
    struct rows g = golden_rows();
    size_t r, c;
    double *K = support_golden(name[_i], &r, &c), l = 1.0 / 0.6;
    const struct kernel k = parsed(_i ? "graph(rbf)" : "graph(rbf,average=none)", 4, false);

    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++)
            ck_assert(support_close(kernel_exact(&k, &l, g.d, g.x + i * g.d, g.x + j * g.d, NULL),
                                    K[i * c + j], 1e-12));
    free(K);
    rows_free(&g);
}
END_TEST

START_TEST(golden_graphpoly) /* unit nodes squared, raw nodes cubed, summed over all pairs */
{
    static const struct { const char *golden, *text; } poly[] = {
        { "graph_K_poly2_unit", "graphpoly(degree=2,average=none)" },
        { "graph_K_poly3", "graphpoly(degree=3,norm=raw,average=none)" },
    };
    struct rows g = golden_rows();
    size_t r, c;
    double *K = support_golden(poly[_i].golden, &r, &c);
    const struct kernel k = parsed(poly[_i].text, 4, false);

    ck_assert_uint_eq(kernel_nhp(&k), 0);
    for (size_t i = 0; _i == 0 && i < g.n; i++) /* scaling is the encoder's */
        for (size_t p = 0; p < (size_t)g.x[i * g.d]; p++) {
            double *v = g.x + i * g.d + 1 + 4 * p, norm = 0.0;
            for (size_t e = 0; e < 4; e++)
                norm += v[e] * v[e];
            for (size_t e = 0; e < 4; e++)
                v[e] /= sqrt(norm);
        }
    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++) {
            const double v = kernel_exact(&k, NULL, g.d, g.x + i * g.d, g.x + j * g.d, NULL);
            ck_assert_msg(support_close(v, K[i * c + j], 1e-12), "%s %zu %zu: %.17g, not %.17g",
                          poly[_i].golden, i, j, v, K[i * c + j]);
        }
    free(K);
    rows_free(&g);
}
END_TEST

START_TEST(golden_letters)
{
    size_t n, r, c;
    char **word = support_golden_strings("onehot_strings", &n);
    double *K = support_golden("onehot_conv_K_w3_s1_none", &r, &c), l = 1.0, x[6][33] = { { 0 } };
    const struct kernel k = parsed("conv(rbf,width=3,average=none)", 4, true);

    for (size_t i = 0; i < n; i++) {
        x[i][0] = (double)strlen(word[i]);
        for (size_t p = 0; word[i][p]; p++)
            x[i][1 + p] = (double)(strchr("ACGT", word[i][p]) - "ACGT");
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            ck_assert(
                support_close(kernel_exact(&k, &l, 33, x[i], x[j], NULL), K[i * c + j], 1e-12));
    support_strings_free(word);
    free(K);
}
END_TEST

/* Symbols and the vectors they stand for; derivative against differences. */
START_TEST(exact_forms_agree)
{
    struct rows s = drawn_rows(6, 7, 30, 5, 6), v = written_out(&s, 5);
    const struct kernel ks = parsed("conv(matern(nu=3/2),width=4)", 5, true),
                        kv = parsed("conv(matern(nu=3/2),width=4)", 5, false);
    const double l = 1.3, h = 1e-5;

    for (size_t i = 0; i < s.n; i++)
        for (size_t j = 0; j < s.n; j++) {
            double grad;
            const double *x = s.x + i * s.d, *y = s.x + j * s.d;
            const double a = kernel_exact(&ks, &l, s.d, x, y, &grad);
            const double up = l * exp(h), down = l * exp(-h);
            ck_assert(support_close(kernel_exact(&kv, &l, v.d, v.x + i * v.d, v.x + j * v.d, NULL),
                                    a, 1e-13));
            /* central difference: third derivative times h^2 / 6, and rounding over h */
            ck_assert(support_close((kernel_exact(&ks, &up, s.d, x, y, NULL) -
                                     kernel_exact(&ks, &down, s.d, x, y, NULL)) / (2.0 * h), grad,
                                    1e-8));
        }
    rows_free(&s);
    rows_free(&v);
}
END_TEST

/* Features. */

static const char *const texts[] = {"conv(rbf,width=5)",
                                    "conv(matern(nu=5/2),width=3,average=none)",
                                    "conv(cauchy,width=9,average=full)",
                                    "conv(matern(nu=1/2),width=4)",
                                    "conv(rbf,width=1)",
                                    "convdense(rbf,width=5)",
                                    "convdense(matern(nu=5/2),width=3,average=none)",
                                    "convdense(cauchy,width=9,average=full)",
                                    "convdense(matern(nu=1/2),width=4)",
                                    "convdense(rq,width=1)"};
enum { TEXTS = sizeof texts / sizeof texts[0] };

struct op { struct featmap *fm; struct fop *f; struct pool *pool; };

static struct op op_new(const struct kernel *k, const struct source *s, size_t M,
                        enum precision precision, size_t threads, bool store, double l)
{
    struct err err = { 0 };
    struct op o = { .fm = featmap_new(k, s->d, M, 11, &err), .pool = pool_new(threads, NULL) };
    double hp[KERNEL_MAX_HP];

    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        hp[i] = l;
    ck_assert_msg(o.fm != NULL, "%s", err.msg);
    o.f = fop_new(backend_cpu(), o.fm, s,
                  &(struct fop_opts){.pool = o.pool, .precision = precision, .store = store}, &err);
    ck_assert_msg(o.f != NULL, "%s", err.msg);
    ck_assert_int_eq(fop_set(o.f, hp, &err), ST_OK);
    return o;
}

static void op_free(struct op *o)
{
    fop_free(o->f);
    featmap_free(o->fm);
    pool_free(o->pool);
}

/* Both precisions against the interpreter, features and derivatives. */
START_TEST(rows_match_interpreter)
{
    struct rows s = drawn_rows(37, 3, 40, 5, 4), v = written_out(&s, 5);
    const size_t M = 150;
    const double l = 0.9;

    for (int form = 0; form < 2; form++) {
        const struct rows *g = form ? &v : &s;
        const struct kernel k = parsed(texts[_i], 5, form == 0);
        struct op o = op_new(&k, &g->src.base, M, PREC_FLOAT, 1, false, l);
        double *work = mem_calloc(interp_work_for_tests(o.fm), sizeof *work, "work", NULL);
        double *z = mem_calloc(2 * M, sizeof *z, "row", NULL), *dz = z + M;
        double *Z = mem_calloc(g->n * M, sizeof *Z, "rows", NULL),
               *dZ = mem_calloc(g->n * M, 8, "", NULL);
        float *F = mem_calloc(g->n * M, sizeof *F, "rows", NULL);
        ck_assert_int_eq(fop_tile64(o.f, 0, g->n, Z, M, NULL), ST_OK);
        ck_assert_int_eq(fop_tile(o.f, 0, g->n, F, M, NULL), ST_OK);
        ck_assert(fop_has_dtile(o.f));
        ck_assert_int_eq(fop_dtile(o.f, 0, 0, g->n, dZ, M, NULL), ST_OK);
        for (size_t i = 0; i < g->n; i++) {
            interp_row_for_tests(o.fm, &l, g->x + i * g->d, z, dz, 0, work);
            const double size =
                sqrt(2.0 / (double)M) * (double)windows_count(&k.term[0].layer, g->x + i * g->d) *
                windows_factor(&k.term[0].layer, windows_count(&k.term[0].layer, g->x + i * g->d));
            for (size_t j = 0; j < M; j++) {
                ck_assert_double_le(fabs(Z[i * M + j] - z[j]), 1e-9 * size + 1e-15);
                ck_assert_double_le(fabs(dZ[i * M + j] - dz[j]), 1e-6 * (size + fabs(dz[j])));
                ck_assert_double_le(fabs((double)F[i * M + j] - z[j]), 3e-5 * size + 1e-12);
            }
        }
        free(work);
        free(z);
        free(Z);
        free(dZ);
        free(F);
        op_free(&o);
    }
    rows_free(&s);
    rows_free(&v);
}
END_TEST

/* Z Z' within the Monte Carlo error of the golden README: rms 1.0 / sqrt(Mf) under full averaging,
 * where k(x, x) <= 1. */
START_TEST(features_near_exact)
{
    struct rows g = golden_rows();
    static const char *const full[] = {"conv(rbf,width=3,average=full)",
                                       "conv(matern(nu=5/2),width=3,average=full)",
                                       "conv(cauchy,width=3,average=full)",
                                       "convdense(rbf,width=3,average=full)",
                                       "convdense(matern(nu=5/2),width=3,average=full)",
                                       "convdense(cauchy,width=3,average=full)"};
    const struct kernel k = parsed(full[_i], 4, false);
    const size_t M = 4096;
    const double l = 1.0 / 0.6;
    struct op o = op_new(&k, &g.src.base, M, PREC_DOUBLE, 1, false, l);
    double *Z = mem_calloc(g.n * M, sizeof *Z, "rows", NULL), sum = 0.0;

    ck_assert_int_eq(fop_tile64(o.f, 0, g.n, Z, M, NULL), ST_OK);
    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++) {
            double dot = 0.0;
            for (size_t c = 0; c < M; c++)
                dot += Z[i * M + c] * Z[j * M + c];
            dot -= kernel_exact(&k, &l, g.d, g.x + i * g.d, g.x + j * g.d, NULL);
            sum += dot * dot;
        }
    ck_assert_double_le(sqrt(sum / (double)(g.n * g.n)), 1.0 / sqrt(0.5 * (double)M));
    free(Z);
    op_free(&o);
    rows_free(&g);
}
END_TEST

/* A row's bits do not depend on the rows around it, on the threads, or on where tiles are cut. */
START_TEST(bits_do_not_depend)
{
    struct rows g = drawn_rows(211, 9, 60, 20, 3);
    const struct kernel k = parsed(_i ? "convdense(rbf,width=9)" : "conv(rbf,width=9)", 20, true);
    const size_t M = 1024, n = g.n;
    struct op one = op_new(&k, &g.src.base, M, PREC_FLOAT, 1, false, 2.0);
    struct op two = op_new(&k, &g.src.base, M, PREC_FLOAT, 2, true, 2.0);
    float *a = mem_calloc(n * M, sizeof *a, "rows", NULL),
          *b = mem_calloc(M, sizeof *b, "row", NULL);
    double *p = mem_calloc(9 * M, sizeof *p, "p", NULL),
           *w1 = mem_calloc(9 * M, sizeof *w1, "w", NULL);
    double *w2 = mem_calloc(9 * M, sizeof *w2, "w", NULL);

    ck_assert_int_eq(fop_tile(one.f, 0, n, a, M, NULL), ST_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(fop_tile(one.f, i, i + 1, b, M, NULL), ST_OK);
        ck_assert_int_eq(memcmp(a + i * M, b, M * sizeof *b), 0);
    }
    for (size_t i = 0; i < 9 * M; i++)
        p[i] = rng_normal(7, rng_stream(RNG_TEST, 4), i);
    for (size_t k2 = 1; k2 <= 9; k2 += 8) {
        ck_assert_int_eq(fop_pass(one.f, k2, p, w1, NULL, NULL), ST_OK);
        for (int again = 0; again < 2; again++) { /* filling Z, then from Z */
            ck_assert_int_eq(fop_pass(two.f, k2, p, w2, NULL, NULL), ST_OK);
            ck_assert_int_eq(memcmp(w1, w2, k2 * M * sizeof *w1), 0);
        }
        for (size_t c = 0; c < k2;
             c++) /* against the rows themselves: float32 sums of 1024 columns */
            for (size_t j = 0; j < M; j += 97) {
                double sum = 0.0, size = 0.0;
                for (size_t i = 0; i < n; i++) {
                    double t = 0.0;
                    for (size_t q = 0; q < M; q++)
                        t += (double)a[i * M + q] * p[c * M + q];
                    sum += t * (double)a[i * M + j];
                    size += fabs(t * (double)a[i * M + j]);
                }
                ck_assert_double_le(fabs(w1[c * M + j] - sum), 1e-4 * size + 1e-9);
            }
    }
    free(a);
    free(b);
    free(p);
    free(w1);
    free(w2);
    op_free(&one);
    op_free(&two);
    rows_free(&g);
}
END_TEST

/* grad of sum B o Z(l) against differences of it. */
START_TEST(gradient)
{
    struct rows g = drawn_rows(45, 4, 30, 6, 5);
    const struct kernel k = parsed(texts[_i], 6, true);
    const size_t M = 128;
    const double l = 1.4, h = 1e-6;
    double value[2], grad = 0.0, size = 0.0;
    double *B = mem_calloc(g.n * M, sizeof *B, "B", NULL),
           *Z = mem_calloc(g.n * M, sizeof *Z, "Z", NULL);
    struct op o = op_new(&k, &g.src.base, M, PREC_DOUBLE, 1, false, l);

    for (size_t i = 0; i < g.n * M; i++)
        B[i] = rng_normal(7, rng_stream(RNG_TEST, 5), i);
    ck_assert_int_eq(fop_tile64(o.f, 0, g.n, Z, M, NULL), ST_OK);
    ck_assert_int_eq(fop_grad(o.f, 0, g.n, Z, B, M, &grad, NULL), ST_OK);
    for (int side = 0; side < 2; side++) {
        const double at = l * exp(side ? -h : h);
        ck_assert_int_eq(fop_set(o.f, &at, NULL), ST_OK);
        ck_assert_int_eq(fop_tile64(o.f, 0, g.n, Z, M, NULL), ST_OK);
        value[side] = size = 0.0;
        for (size_t i = 0; i < g.n * M; i++) {
            value[side] += B[i] * Z[i];
            size += fabs(B[i] * Z[i]);
        }
    }
    /* rounding of the sums over h, and (heavy tails) third derivatives of large phases */
    const double bound = (strstr(texts[_i], "nu=1/2") ? 1e-3 : 1e-7) * size;
    ck_assert_double_le(fabs((value[0] - value[1]) / (2.0 * h) - grad), bound);
    free(B);
    free(Z);
    op_free(&o);
    rows_free(&g);
}
END_TEST

/* Sums and products with kernels of numbers. */

static const char *const mixed[] = {
    "conv(rbf,width=3) + rbf(inputs=1:2) + linear(inputs=1:3)",
    "conv(matern(nu=5/2),width=4) * rbf(inputs=1:3)",
    "rbf(ard=2,inputs=2:3) * conv(cauchy,width=5) * linear(inputs=1:2) + "
    "conv(rbf,width=2,average=full)",
    "poly(inputs=2:3) * conv(rbf,width=4)",
    "convdense(rbf,width=3) + conv(rbf,width=4) + linear(inputs=1:3)",
    "convdense(matern(nu=5/2),width=4) * rbf(inputs=1:3)",
    "linear(inputs=1:2) * convdense(cauchy,width=5) + rbf(inputs=2:2)",
    "graphpoly(degree=2,average=none) + linear(inputs=1:3)",
    "graphpoly(degree=3) * rbf(inputs=1:3)",
    "graphpoly(degree=2) * linear(inputs=2:2)",
    "spectrum(n=1..2) + rbf(inputs=1:2)",
    "conv(rbf,width=2) + spectrum(n=3,norm=cosine) * rbf(inputs=1:3) + wd(n=2)",
    "spectrum(n=1..2) * linear(inputs=2:3) + spectrum(n=4)",
    "periodic(inputs=1:2) + conv(rbf,width=1) * matern(nu=1/2,inputs=3:3) + "
    "matern(nu=3/2,ard=2,inputs=2:3)",
};
enum { MIXED = sizeof mixed / sizeof mixed[0], FLAT = 3 };

/* The same sequences with FLAT numbers before each. */
static struct rows with_numbers(const struct rows *of)
{
    struct rows g = { .n = of->n, .d = of->d + FLAT };

    g.x = mem_calloc(g.n, g.d * sizeof *g.x, "rows", NULL);
    for (size_t i = 0; i < g.n; i++) {
        for (size_t j = 0; j < FLAT; j++)
            g.x[i * g.d + j] = rng_normal(9, rng_stream(RNG_TEST, 8), i * FLAT + j);
        memcpy(g.x + i * g.d + FLAT, of->x + i * of->d, of->d * sizeof *g.x);
    }
    source_array_init(&g.src, g.x, g.n, g.d, g.d);
    g.src.base.layout = of->src.base.layout;
    g.src.base.layout.flat = FLAT;
    return g;
}

static struct kernel mixed_kernel(int i, bool symbols, double hp[KERNEL_MAX_HP])
{
    struct kernel k = parsed(mixed[i], 5, symbols);

    const struct row_layout rows = rows_of(5, symbols, FLAT), more = rows_of(5, symbols, FLAT + 1);
    ck_assert_int_eq(kernel_bind_rows(&k, &rows, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&k, &more, NULL, NULL), ST_SHAPE);
    for (size_t h = 0; h < kernel_nhp(&k); h++)
        hp[h] = 0.7 + 0.13 * (double)h;
    return k;
}

/* The interpreter in double, and rounded; sums of squares of rows are the value of the kernel at i,
 * i. */
START_TEST(mixed_rows)
{
    struct rows s = drawn_rows(21, 5, 25, 5, 4), v = written_out(&s, 5);
    const size_t M = 310;
    double hp[KERNEL_MAX_HP];

    for (int form = 0; form < (strstr(mixed[_i], "wd") || strstr(mixed[_i], "spectrum") ? 1 : 2);
         form++) {
        struct rows g = with_numbers(form ? &v : &s);
        const struct kernel k = mixed_kernel(_i, form == 0, hp);
        struct op o = op_new(&k, &g.src.base, M, PREC_FLOAT, 1, false, 1.0);
        double *work = mem_calloc(interp_work_for_tests(o.fm), sizeof *work, "work", NULL);
        double *z = mem_calloc(M, sizeof *z, "row", NULL),
               *Z = mem_calloc(g.n * M, sizeof *Z, "rows", NULL);
        double *p = mem_calloc(M, sizeof *p, "p", NULL), *w = mem_calloc(M, sizeof *w, "w", NULL);
        double *want = mem_calloc(M, sizeof *want, "w", NULL);
        float *F = mem_calloc(g.n * M, sizeof *F, "rows", NULL);
        ck_assert_int_eq(source_suits(&g.src.base, &k, NULL), ST_OK);
        ck_assert_int_eq(fop_set(o.f, hp, NULL), ST_OK);
        ck_assert_int_eq(fop_tile64(o.f, 0, g.n, Z, M, NULL), ST_OK);
        ck_assert_int_eq(fop_tile(o.f, 0, g.n, F, M, NULL), ST_OK);
        for (size_t j = 0; j < M; j++)
            p[j] = rng_normal(7, rng_stream(RNG_TEST, 9), j);
        for (size_t i = 0; i < g.n; i++) {
            double size = 0.0, t = 0.0;
            interp_row_for_tests(o.fm, hp, g.x + i * g.d, z, NULL, 0, work);
            for (size_t j = 0; j < M; j++)
                size = fmax(size, fabs(z[j]));
            for (size_t j = 0; j < M; j++) {
                ck_assert_double_le(fabs(Z[i * M + j] - z[j]), 1e-9 * size);
                ck_assert_double_le(fabs((double)F[i * M + j] - z[j]), 3e-5 * size);
                t += z[j] * p[j];
            }
            for (size_t j = 0; j < M; j++)
                want[j] += z[j] * t;
        }
        ck_assert_int_eq(fop_pass(o.f, 1, p, w, NULL, NULL), ST_OK);
        double most = 0.0;
        for (size_t j = 0; j < M; j++)
            most = fmax(most, fabs(want[j]));
        for (size_t j = 0; j < M; j++)
            ck_assert_double_le(fabs(w[j] - want[j]), 2e-4 * most);
        free(work), free(z), free(Z), free(p), free(w), free(want), free(F);
        op_free(&o);
        rows_free(&g);
    }
    rows_free(&s);
    rows_free(&v);
}
END_TEST

/* Z Z' against the exact kernel, whose derivatives are those of differences. */
START_TEST(mixed_exact)
{
    struct rows s = drawn_rows(8, 5, 14, 5, 6), g = with_numbers(&s);
    const size_t M = 16384;
    double hp[KERNEL_MAX_HP], grad[KERNEL_MAX_HP], sum = 0.0, all = 0.0;
    const struct kernel k = mixed_kernel(_i, true, hp);
    struct op o = op_new(&k, &g.src.base, M, PREC_DOUBLE, 2, false, 1.0);
    double *Z = mem_calloc(g.n * M, sizeof *Z, "rows", NULL);

    ck_assert_int_eq(fop_set(o.f, hp, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(o.f, 0, g.n, Z, M, NULL), ST_OK);
    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++) {
            const double *x = g.x + i * g.d, *y = g.x + j * g.d;
            const double v = kernel_exact(&k, hp, g.d, x, y, grad);
            double dot = 0.0;
            for (size_t c = 0; c < M; c++)
                dot += Z[i * M + c] * Z[j * M + c];
            sum += (dot - v) * (dot - v);
            all += kernel_exact(&k, hp, g.d, x, x, NULL) * kernel_exact(&k, hp, g.d, y, y, NULL);
            for (size_t h = 0; h < kernel_nhp(&k); h++) {
                double at[KERNEL_MAX_HP], side[2];
                for (int up = 0; up < 2; up++) {
                    memcpy(at, hp, sizeof at);
                    at[h] *= exp(up ? 1e-5 : -1e-5);
                    side[up] = kernel_exact(&k, at, g.d, x, y, NULL);
                }
                ck_assert(support_close((side[1] - side[0]) / 2e-5, grad[h], 1e-6));
            }
        }
    /* a product of three factors: 3 / sqrt(Mf), each sum has half of the columns or a third */
    ck_assert_double_le(sqrt(sum / all), 3.0 / sqrt((double)M / 6.0));
    free(Z);
    op_free(&o);
    rows_free(&s);
    rows_free(&g);
}
END_TEST

/* grad of sum B o Z against differences of it, with row factors. */
START_TEST(mixed_gradient)
{
    struct rows s = drawn_rows(45, 5, 30, 5, 5), g = with_numbers(&s);
    const size_t M = 140;
    double hp[KERNEL_MAX_HP], grad[KERNEL_MAX_HP] = { 0 }, factor[45];
    const struct kernel k = mixed_kernel(_i, true, hp);
    struct err err = { 0 };
    struct featmap *fm = featmap_new(&k, g.d, M, 11, &err);
    ck_assert_msg(fm != NULL, "%s", err.msg);
    struct pool *pool = pool_new(1, NULL);
    for (size_t i = 0; i < 45; i++)
        factor[i] = 0.5 + 0.02 * (double)i;
    struct fop *f = fop_new(
        backend_cpu(), fm, &g.src.base,
        &(struct fop_opts){.pool = pool, .precision = PREC_DOUBLE, .row_scale = factor}, &err);
    double *B = mem_calloc(g.n * M, sizeof *B, "B", NULL),
           *Z = mem_calloc(g.n * M, sizeof *Z, "Z", NULL);

    for (size_t i = 0; i < g.n * M; i++)
        B[i] = rng_normal(7, rng_stream(RNG_TEST, 5), i);
    ck_assert_int_eq(fop_set(f, hp, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(f, 0, g.n, Z, M, NULL), ST_OK);
    ck_assert_int_eq(fop_grad(f, 0, g.n, Z, B, M, grad, NULL), ST_OK);
    for (size_t h = 0; h < kernel_nhp(&k); h++) {
        double at[KERNEL_MAX_HP], value[2], size = 0.0;
        for (int side = 0; side < 2; side++) {
            memcpy(at, hp, sizeof at);
            at[h] *= exp(side ? 1e-6 : -1e-6);
            ck_assert_int_eq(fop_set(f, at, NULL), ST_OK);
            ck_assert_int_eq(fop_tile64(f, 0, g.n, Z, M, NULL), ST_OK);
            value[side] = size = 0.0;
            for (size_t i = 0; i < g.n * M; i++) {
                value[side] += B[i] * Z[i];
                size += fabs(B[i] * Z[i]);
            }
        }
        /* rounding of the sums over the step; matern(nu=1/2) has large phases */
        ck_assert_msg(fabs((value[1] - value[0]) / 2e-6 - grad[h]) <=
                          (_i == MIXED - 1 ? 1e-3 : 1e-7) * size,
                      "%s: %zu: %g, not %g", mixed[_i], h, grad[h], (value[1] - value[0]) / 2e-6);
    }
    fop_free(f);
    featmap_free(fm);
    pool_free(pool);
    free(B);
    free(Z);
    rows_free(&s);
    rows_free(&g);
}
END_TEST

/* The likelihood. */

/* What the tuner descends along: kernels over windows and nodes alone (-2) and in sums and products
 * (one of the mixed ones), and the kernel of the values of fastconv's filters (-1). */
static const struct { int mixed; const char *text;
} tuned[] = {
    {-2, "conv(rbf,width=3)"},
    {-2, "conv(matern(nu=5/2),width=4,average=full)"},
    {-2, "convdense(rbf,width=2)"},
    {-2, "convdense(cauchy,width=3)"},
    {-2, "graph(rbf,average=none)"},
    {-2, "graphpoly(degree=3)"},
    {-1, "rbf"},
    {-1, "matern(nu=5/2)"},
    {-1, "rbf(ard=6)"},
    {0, NULL},
    {1, NULL},
    {2, NULL},
    {4, NULL},
    {7, NULL},
    {8, NULL},
};
enum { TUNED = sizeof tuned / sizeof tuned[0], TN = 60, TM = 48, FILTERS = 6 };

/* Values of a few random filters, as the encoding makes them. */
static struct rows filtered(const struct rows *of)
{
    const struct layer layer = {
        .ops = &layer_fastconv, .width = 3, .filters = FILTERS, .channels = 5, .symbols = true};
    struct fastconv *f = fastconv_new(&layer, 4, NULL);
    struct rows g = { .n = of->n, .d = FILTERS };

    g.x = mem_calloc(g.n, g.d * sizeof *g.x, "rows", NULL);
    for (size_t i = 0; i < g.n; i++)
        ck_assert_int_eq(fastconv_row(f, of->x + i * of->d, g.x + i * g.d, NULL), ST_OK);
    fastconv_free(f);
    source_array_init(&g.src, g.x, g.n, g.d, g.d);
    return g;
}

struct likelihood {
    const struct kernel *k;
    struct fop *f;
    const struct rows *rows;
    const double *y;
};

/* at: the kernel's hyperparameters, then amplitude and noise.  exact: the kernel itself, else
 * features. */
static double likelihood_at(const struct likelihood *p, bool exact, const double *at, double *grad)
{
    const size_t nhp = kernel_nhp(p->k);
    double v = NAN;

    if (exact)
        ck_assert_int_eq(
            nmll_exact(
                p->k, &p->rows->src.base,
                &(struct nmll_ask){.y = p->y, .hp = at, .amplitude = at[nhp], .noise = at[nhp + 1]},
                &(struct nmll_told){.value = &v, .grad = grad}, NULL, NULL, NULL),
            ST_OK);
    else
        ck_assert_int_eq(
            nmll_features(
                p->f,
                &(struct nmll_ask){
                    .y = p->y, .hp = at, .nhp = nhp, .amplitude = at[nhp], .noise = at[nhp + 1]},
                &(struct nmll_told){.value = &v, .grad = grad}, NULL, NULL),
            ST_OK);
    return v;
}

/* The gradient in the logarithms of all hyperparameters against central differences. */
static void check_slopes(const struct likelihood *p, bool exact, const double *at, double *grad,
                         const char *text)
{
    const size_t n = kernel_nhp(p->k) + 2;
    const double h = 1e-5;

    likelihood_at(p, exact, at, grad);
    for (size_t i = 0; i < n; i++) {
        double to[KERNEL_MAX_HP + 2], side[2];
        for (int up = 0; up < 2; up++) {
            memcpy(to, at, n * sizeof *to);
            to[i] *= exp(up ? h : -h);
            side[up] = likelihood_at(p, exact, to, NULL);
        }
        const double slope = (side[1] - side[0]) / (2.0 * h);
        /* truncation h^2 / 6 of the third derivative, rounding eps |f| / h */
        ck_assert_msg(fabs(slope - grad[i]) <= 1e-5 * (1.0 + fabs(grad[i])),
                      "%s, %s, %zu: %.9g, not %.9g", text, exact ? "exact" : "features", i, grad[i],
                      slope);
    }
}

/* Without the Gram: each trace is a mean over probes, of which SEEDS lots tell the error of their
 * mean. */
static void check_probes(const struct likelihood *p, const double *at, const double *grad,
                         const char *text)
{
    enum { SEEDS = 16 };
    struct nmll_slq_opts o = { .rank = 24, .probes = 200, .rtol = 1e-9 };
    const size_t n = kernel_nhp(p->k);
    double probed[SEEDS][KERNEL_MAX_HP + 2], value, se;

    for (size_t s = 0; s < SEEDS; s++) {
        o.seed = s + 1;
        ck_assert_int_eq(
            nmll_slq(p->f,
                     &(struct nmll_ask){
                         .y = p->y, .hp = at, .nhp = n, .amplitude = at[n], .noise = at[n + 1]},
                     &o, &(struct nmll_told){.value = &value, .se = &se, .grad = probed[s]}, NULL,
                     NULL),
            ST_OK);
        ck_assert_double_le(fabs(value - likelihood_at(p, false, at, NULL)),
                            4.0 * se + 1e-9 * fabs(value));
    }
    for (size_t i = 0; i < n + 2; i++) {
        double mean = 0.0, var = 0.0;
        for (size_t s = 0; s < SEEDS; s++)
            mean += probed[s][i] / SEEDS;
        for (size_t s = 0; s < SEEDS; s++)
            var += (probed[s][i] - mean) * (probed[s][i] - mean) / (SEEDS * (SEEDS - 1.0));
        /* Student's t of 15; what the solves leave (1e-2 of a probe's) is far less */
        ck_assert_msg(fabs(mean - grad[i]) <= 5.0 * sqrt(var) + 1e-6,
                      "%s, probes, %zu: %g +- %g, not %g", text, i, mean, sqrt(var), grad[i]);
        ck_assert_msg(sqrt(var) <= 0.05 * TN, "%s, probes, %zu: %g +- %g", text, i, mean,
                      sqrt(var)); /* 0.05 a row */
    }
}

START_TEST(likelihood_gradient)
{
    const int which = tuned[_i].mixed;
    struct rows s = drawn_rows(TN, 5, 20, 5, 5), g = which == -2   ? s
                                                     : which == -1 ? filtered(&s)
                                                                   : with_numbers(&s);
    double at[KERNEL_MAX_HP + 2], grad[KERNEL_MAX_HP + 2], y[TN];
    const char *text = tuned[_i].text ? tuned[_i].text : mixed[which];
    struct kernel k = { 0 };
    struct err err = { 0 };

    if (which == -1)
        ck_assert_int_eq(kernel_parse(text, &k, at, &err), ST_OK);
    else
        k = which >= 0 ? mixed_kernel(which, true, at) : parsed(text, 5, true);
    const size_t n = kernel_nhp(&k);
    for (size_t i = 0; i < n; i++)
        at[i] = 0.9 + 0.13 * (double)i;
    at[n] = 1.1;
    at[n + 1] = 0.4;
    for (size_t i = 0; i < TN; i++)
        y[i] = 0.3 * s.x[i * s.d + 2] + 0.2 * rng_normal(3, rng_stream(RNG_TEST, 6), i);
    struct featmap *fm = featmap_new(&k, g.d, TM, 11, &err);
    ck_assert_msg(fm != NULL, "%s", err.msg);
    struct likelihood p = {
        &k,
        fop_new(backend_cpu(), fm, &g.src.base, &(struct fop_opts){.precision = PREC_DOUBLE}, &err),
        &g, y};
    ck_assert_ptr_nonnull(p.f);
    check_slopes(&p, true, at, grad, text);
    check_slopes(&p, false, at, grad, text);
    check_probes(&p, at, grad, text);
    fop_free(p.f);
    featmap_free(fm);
    if (which != -2)
        rows_free(&g);
    rows_free(&s);
}
END_TEST

/* Models. */

/* With many features the model is the exact one; rows longer than any of training can be predicted.
 */
START_TEST(model_near_exact)
{
    struct rows g = drawn_rows(120, 6, 20, 4, 9), wide = { .n = g.n, .d = g.d + 7 };
    const size_t n = g.n;
    double y[120], mean[120], var[120], exact[120], evar[120];
    struct fit_opts o = {.solver = "auto",
                         .features = 1024,
                         .rtol = 1e-8,
                         .maxit = 500,
                         .variance = VAR_ALL,
                         .seed = 3,
                         .hp = {1.5},
                         .amplitude = 1.0,
                         .noise = 0.3,
                         .keep_scale = true,
                         .precision = PREC_DOUBLE,
                         .kernel = parsed("conv(rbf,width=3)", 4, true)};
    struct model *m = NULL, *e = NULL;
    struct fit_info info;
    struct err err = { 0 };
    double off = 0.0, voff = 0.0;

    for (size_t i = 0; i < n; i++) {
        y[i] = 0.1 * rng_normal(3, rng_stream(RNG_TEST, 6), i) - 0.5;
        for (size_t p = 1; p <= (size_t)g.x[i * g.d]; p++)
            y[i] += 0.1 * (g.x[i * g.d + p] == 2.0);
    }
    wide.x = mem_calloc(n, wide.d * sizeof *wide.x, "rows", NULL);
    for (size_t i = 0; i < n; i++)
        memcpy(wide.x + i * wide.d, g.x + i * g.d, g.d * sizeof *g.x);
    source_array_init(&wide.src, wide.x, n, wide.d, wide.d);
    wide.src.base.layout = rows_of(4, true, 0);
    ck_assert_msg(model_fit(&g.src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &m,
                            &info, NULL, &err) == ST_OK,
                  "%s", err.msg);
    o.solver = "exact";
    ck_assert_msg(model_fit(&g.src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &e,
                            &info, NULL, &err) == ST_OK,
                  "%s", err.msg);
    ck_assert_int_eq(model_predict(m, &wide.src.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, &err),
                     ST_OK);
    ck_assert_int_eq(model_predict(e, &g.src.base, exact, evar,
                                   &(struct tools){backend_cpu(), NULL, NULL}, &err),
                     ST_OK);
    for (size_t i = 0; i < n; i++) {
        off = fmax(off, fabs(mean[i] - exact[i]));
        voff = fmax(voff, fabs(var[i] - evar[i]) / evar[i]);
    }
    ck_assert_double_le(off, 0.06); /* 0.027 and 0.051 measured; 1 / sqrt(Mf) = 0.044 */
    ck_assert_double_le(voff, 0.12);
    /* places beyond the end of every sequence change nothing */
    ck_assert_int_eq(model_predict(e, &wide.src.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, &err),
                     ST_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert_double_eq_tol(mean[i], exact[i], 1e-12);
        ck_assert_double_eq_tol(var[i], evar[i], 1e-12);
    }
    /* flat rows, other letters: refused in words */
    wide.src.base.layout = (struct row_layout){ 0 };
    ck_assert_int_eq(model_predict(m, &wide.src.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, &err),
                     ST_SHAPE);
    model_unref(m);
    model_unref(e);
    rows_free(&g);
    rows_free(&wide);
}
END_TEST

/* The static layer. */

START_TEST(golden_fastconv)
{
    struct rows g = golden_rows();
    size_t F, d, r, c;
    double *filters = support_golden("fastconv_filters", &F, &d);
    double *want = support_golden("fastconv_features", &r, &c), phi[16], x[7][16];
    double *K = support_golden("fastconv_then_rbf_K", &r, &r), l = 1.0 / 0.3;
    const struct layer layer = {
        .ops = &layer_fastconv, .width = 3, .filters = F, .channels = 4};
    struct fastconv *f = fastconv_given_for_tests(&layer, filters, NULL);
    struct kernel k;

    ck_assert_int_eq(kernel_parse("rbf", &k, NULL, NULL), ST_OK);
    ck_assert_uint_eq(c, F);
    for (size_t i = 0; i < g.n; i++) {
        ck_assert_int_eq(fastconv_row(f, g.x + i * g.d, phi, NULL), ST_OK);
        for (size_t j = 0; j < F; j++) {
            ck_assert(support_close(phi[j], want[i * c + j], 1e-12));
            x[i][j] = phi[j];
        }
    }
    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++)
            ck_assert(
                support_close(kernel_exact(&k, &l, F, x[i], x[j], NULL), K[i * g.n + j], 1e-12));
    fastconv_free(f);
    free(filters);
    free(want);
    free(K);
    rows_free(&g);
}
END_TEST

/* Drawn filters: projections of a window are those of a map of the same seed; a reference row
 * changes nothing; a short row is all zeros. */
START_TEST(drawn_filters)
{
    struct rows g = drawn_rows(20, 2, 50, 20, 3);
    const struct layer layer = {
        .ops = &layer_fastconv, .width = 9, .filters = 70, .channels = 20, .symbols = true};
    struct fastconv *f = fastconv_new(&layer, 4, NULL), *with = fastconv_new(&layer, 4, NULL);
    double a[70], b[70], sum = 0.0, square = 0.0;
    size_t n = 0;

    ck_assert_int_eq(fastconv_refer(with, g.x, NULL), ST_OK);
    for (size_t i = 0; i < g.n; i++) {
        ck_assert_int_eq(fastconv_row(f, g.x + i * g.d, a, NULL), ST_OK);
        ck_assert_int_eq(fastconv_row(with, g.x + i * g.d, b, NULL), ST_OK);
        ck_assert_int_eq(memcmp(a, b, sizeof a), 0);
        for (size_t j = 0; j < 70; j++)
            ck_assert(g.x[i * g.d] < 9.0 ? a[j] == 0.0 : a[j] >= 0.0);
    }
    /* one window: max(0, v), v normal of variance 9: half are zero, E v^2 = 4.5 */
    for (size_t i = 0; i < g.n; i++) {
        double x[10] = { 9.0 };
        for (size_t p = 0; p < 9; p++)
            x[1 + p] = (double)rng_below(9, rng_stream(RNG_TEST, 7), i * 9 + p, 20);
        ck_assert_int_eq(fastconv_row(f, x, a, NULL), ST_OK);
        for (size_t j = 0; j < 70; j++, n++) {
            sum += a[j] > 0.0;
            square += a[j] * a[j];
        }
    }
    ck_assert_double_le(fabs(sum / (double)n - 0.5), 5.0 * 0.5 / sqrt(70.0));
    ck_assert_double_le(fabs(square / (double)n - 4.5), 5.0 * 4.5 * sqrt(5.0 / 70.0));
    fastconv_free(f);
    fastconv_free(with);
    rows_free(&g);
}
END_TEST

/* Words. */

START_TEST(reading_and_printing)
{
    static const struct { const char *text, *canonical;
    } good[] = {
        {"conv(rbf)", "conv(rbf,width=9,average=sqrt)"},
        {"conv", "conv(rbf,width=9,average=sqrt)"},
        {" conv ( matern ( nu = 3/2 , l=2 ) , average=none, width=5 ) ",
         "conv(matern(nu=3/2),width=5,average=none)"},
        {"graph", "graph(rbf,average=sqrt)"},
        {"graph(matern(nu=5/2),average=none,channels=4)",
         "graph(matern(nu=5/2),average=none,channels=4)"},
        {"graphpoly", "graphpoly(degree=2,norm=unit,average=sqrt)"},
        {"graphpoly ( average=none , degree=4,norm=raw,channels=3 ) + rbf on n",
         "graphpoly(degree=4,norm=raw,average=none,channels=3) + rbf on n"},
        {"graph(rbf,norm=unit) + graphpoly(degree=3)",
         "graph(rbf,norm=unit,average=sqrt) + graphpoly(degree=3,norm=unit,average=sqrt)"},
        {"conv(cauchy,width=3,symbols=21)", "conv(cauchy,width=3,average=sqrt,symbols=21)"},
        {"convdense", "convdense(rbf,width=9,average=sqrt)"},
        {"convdense(cauchy,width=2,average=full,symbols=4)+conv(rbf,symbols=4)",
         "convdense(cauchy,width=2,average=full,symbols=4) + "
         "conv(rbf,width=9,average=sqrt,symbols=4)"},
        {"conv(rbf,channels=24)", "conv(rbf,width=9,average=sqrt,channels=24)"},
        {"fastconv(rbf + linear(weight=0.1), filters=100)",
         "fastconv(rbf + linear,width=9,filters=100)"},
        {"conv(rbf)+rbf on temp,ph", "conv(rbf,width=9,average=sqrt) + rbf on temp,ph"},
        {"linear on \"a b\",x* * conv * rbf(l=2)  on  y + graph(cauchy)",
         "linear on \"a b\",x* * conv(rbf,width=9,average=sqrt) * rbf on y + "
         "graph(cauchy,average=sqrt)"},
        {"conv(rbf) on a * conv(rbf) on b",
         "conv(rbf,width=9,average=sqrt) on a * conv(rbf,width=9,average=sqrt) on b"},
        {"conv(rbf) + fastconv(rbf)",
         "conv(rbf,width=9,average=sqrt) + fastconv(rbf,width=9,filters=512)"},
        {"fastconv(rbf) on a + fastconv(rbf) on b",
         "fastconv(rbf,width=9,filters=512) on a + fastconv(rbf,width=9,filters=512) on b"},
        {"fastconv(rbf) + fastconv(linear,width=5)",
         "fastconv(rbf,width=9,filters=512) + fastconv(linear,width=5,filters=512)"},
        {"conv(rbf,symbols=4,flat=2,part=1/2) + conv(rbf,symbols=5,flat=2,part=2/2)",
         "conv(rbf,width=9,average=sqrt,symbols=4,flat=2,part=1/2) + "
         "conv(rbf,width=9,average=sqrt,symbols=5,flat=2,part=2/2)"},
        {"matern(nu=5/2,ard=2,inputs=3:4) on x + conv(rbf,flat=4)",
         "matern(nu=5/2,ard=2,inputs=3:4) on x + conv(rbf,width=9,average=sqrt,flat=4)"},
        {"linear + fastconv(rbf * linear) * rbf on x + rbf",
         "linear + fastconv(rbf * linear,width=9,filters=512) * rbf on x + rbf"},
        {"fastconv(rbf + linear(weight=0.1)) on x + linear",
         "fastconv(rbf + linear,width=9,filters=512) on x + linear"},
        {"conv on x", "conv(rbf,width=9,average=sqrt) on x"},
        {"fastconv(matern(nu=5/2,ard))", "fastconv(matern(nu=5/2,ard),width=9,filters=512)"},
    };
    static const struct { const char *text; enum status rc;
    } bad[] = {
        {"conv rbf", ST_USAGE},
        {"conv(", ST_USAGE},
        {"conv()", ST_USAGE},
        {"conv(rbf", ST_USAGE},
        {"conv(rbf,width=0)", ST_RANGE},
        {"conv(rbf,width=2.5)", ST_RANGE},
        {"conv(rbf,filters=3)", ST_NOT_FOUND},
        {"conv(rbf,average=mean)", ST_USAGE},
        {"conv(linear)", ST_UNSUPPORTED},
        {"conv(rbf + matern)", ST_UNSUPPORTED},
        {"conv(rbf(ard))", ST_UNSUPPORTED},
        {"fastconv(rbf + linear) * rbf", ST_UNSUPPORTED},
        {"conv(conv(rbf))", ST_UNSUPPORTED},
        {"rbf * fastconv(rbf + linear)", ST_UNSUPPORTED},
        {"fastconv(rbf on x)", ST_UNSUPPORTED},
        {"rbf on", ST_USAGE},
        {"rbf on x,", ST_USAGE},
        {"rbf on \"x", ST_USAGE},
        {"rbf(inputs=3)", ST_USAGE},
        {"rbf(inputs=4:2)", ST_USAGE},
        {"conv(rbf,symbols=4) + conv(rbf,symbols=5)", ST_USAGE},
        {"conv(rbf,symbols=4,channels=4)", ST_USAGE},
        {"graph(rbf,width=2)", ST_NOT_FOUND},
        {"graph(linear)", ST_UNSUPPORTED},
        {"conv(rbf)x", ST_USAGE},
        {"rbf,width=3", ST_USAGE},
        {"graphpoly(degree=5)", ST_RANGE},
        {"graphpoly(degree=1)", ST_RANGE},
        {"graphpoly(rbf)", ST_USAGE},
        {"graphpoly(norm=standard)", ST_USAGE},
        {"conv(rbf,part=0/2)", ST_USAGE},
        {"conv(rbf,part=3/2)", ST_USAGE},
        {"conv(rbf,part=1/1)", ST_USAGE},
        {"conv(rbf,part=1/9)", ST_USAGE},
        {"conv(rbf,part=1)", ST_USAGE},
        {"conv(rbf,part=1/2) + conv(rbf)", ST_USAGE},
        {"conv(rbf,part=1/2) + conv(rbf,part=2/3)", ST_USAGE},
        {"power(degree=2)", ST_NOT_FOUND},
        {"graphpoly(degree=2", ST_USAGE},
    };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct kernel k, again;
        struct buf b = { 0 }, c = { 0 };
        struct err err = { 0 };
        ck_assert_msg(kernel_parse(good[i].text, &k, NULL, &err) == ST_OK, "%s", err.msg);
        kernel_print(&k, &b);
        ck_assert_str_eq(buf_str(&b), good[i].canonical);
        ck_assert_int_eq(kernel_parse(buf_str(&b), &again, NULL, &err), ST_OK);
        kernel_print(&again, &c);
        ck_assert_str_eq(buf_str(&c), good[i].canonical);
        buf_free(&b);
        buf_free(&c);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct kernel k;
        struct err err = { 0 };
        const enum status rc = kernel_parse(bad[i].text, &k, NULL, &err);
        ck_assert_msg(rc == bad[i].rc, "%s: %d, %s", bad[i].text, (int)rc, err.msg);
        ck_assert(err.msg[0] != '\0');
    }
    struct kernel k = parsed("conv(rbf,width=3)", 4, true);
    const struct row_layout more = rows_of(21, true, 0), vectors = rows_of(4, false, 0),
                            same = rows_of(4, true, 9);
    ck_assert_int_eq(kernel_bind_rows(&k, &more, NULL, NULL), ST_SHAPE);
    ck_assert_int_eq(kernel_bind_rows(&k, &vectors, NULL, NULL), ST_SHAPE);
    ck_assert_int_eq(kernel_bind_rows(&k, &same, NULL, NULL), ST_OK);
}
END_TEST

/* Windows of few letters or numbers get dense filters, and are printed so; others, graphs and what
 * is dense already stay. */
START_TEST(choice_of_filters)
{
    static const struct {
        const char *text;
        size_t channels;
        bool symbols;
        const char *printed;
    } c[] = {
        {"conv(rbf,width=5)", 4, true, "convdense(rbf,width=5,average=sqrt,symbols=4)"},
        {"conv(rbf,width=9)", 4, true, "conv(rbf,width=9,average=sqrt,symbols=4)"},
        {"conv(rbf,width=3)", 21, true, "convdense(rbf,width=3,average=sqrt,symbols=21)"},
        {"conv(rbf,width=4)", 21, true, "conv(rbf,width=4,average=sqrt,symbols=21)"},
        {"conv(rbf,width=4)", 4, false, "convdense(rbf,width=4,average=sqrt,channels=4)"},
        {"conv(rbf,width=5)", 4, false, "conv(rbf,width=5,average=sqrt,channels=4)"},
        {"graph(rbf)", 4, false, "graph(rbf,average=sqrt,channels=4)"},
        {"graphpoly(degree=2)", 4, false, "graphpoly(degree=2,norm=unit,average=sqrt,channels=4)"},
        {"convdense(rbf,width=40)", 4, false, "convdense(rbf,width=40,average=sqrt,channels=4)"},
        {"rbf + conv(rbf,width=9) + conv(rbf,width=2)", 4, true,
         "rbf + conv(rbf,width=9,average=sqrt,symbols=4) + "
         "convdense(rbf,width=2,average=sqrt,symbols=4)"},
    };

    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct kernel k = parsed(c[i].text, c[i].channels, c[i].symbols), again;
        struct buf b = { 0 };
        const size_t n = kernel_choose_filters(&k);
        kernel_print(&k, &b);
        ck_assert_str_eq(buf_str(&b), c[i].printed);
        ck_assert_uint_eq(n, strstr(c[i].printed, "dense") && !strstr(c[i].text, "dense"));
        ck_assert_uint_eq(kernel_choose_filters(&k), 0);
        ck_assert_int_eq(kernel_parse(buf_str(&b), &again, NULL, NULL), ST_OK); /* as saved */
        ck_assert_ptr_eq(again.term[k.nterms - 1].layer.ops, k.term[k.nterms - 1].layer.ops);
        kernel_unbind(&k); /* for other rows the choice is open again */
        kernel_unbind(&again);
        ck_assert_int_eq(k.term[k.nterms - 1].layer.ops == &layer_convdense,
                         strstr(c[i].text, "dense") != NULL);
        ck_assert_int_eq(again.term[k.nterms - 1].layer.ops == &layer_convdense,
                         strstr(c[i].printed, "dense") != NULL);
        buf_free(&b);
    }
}
END_TEST

/* What a map holds, predicted: 65,536 features of nodes of 18,000 numbers under 50 MB, dense
 * filters not. */
/* Resident bytes of this process; 0: not told here. */
static double resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;

    if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* 65,536 features of nodes of 18,000 numbers (the paper's largest descriptors): by prediction, and
 * as measured. */
START_TEST(bytes_of_a_map)
{
    struct kernel k = parsed("graph(rbf)", 18000, false);
    const double before = resident();
    struct featmap *fm = featmap_new(&k, 1 + 20 * 18000, 65536, 7, NULL);
    const double took = resident() - before;

    ck_assert_ptr_nonnull(fm);
    ck_assert_double_le(featmap_bytes(&k, 1 + 20 * 18000, 65536), 50e6);
    ck_assert_double_le(took, 50e6);
    featmap_free(fm);
    k = parsed("graphpoly(degree=2)", 18000, false);
    ck_assert_double_le(featmap_bytes(&k, 1 + 20 * 18000, 65536), 50e6);
    k = parsed("convdense(rbf,width=1)", 18000, false);
    ck_assert_double_ge(featmap_bytes(&k, 1 + 20 * 18000, 65536), 32768.0 * 18000.0 * 8.0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("windows");
    TCase *t = tcase_create("windows");

    blas_init(); /* as the program does: no threads of its own */
    tcase_set_timeout(t, 60.0);
    tcase_add_loop_test(t, golden_exact, 0, GOLD);
    tcase_add_loop_test(t, golden_graph, 0, 2);
    tcase_add_loop_test(t, golden_graphpoly, 0, 2);
    tcase_add_test(t, golden_letters);
    tcase_add_test(t, exact_forms_agree);
    tcase_add_loop_test(t, rows_match_interpreter, 0, TEXTS);
    tcase_add_loop_test(t, features_near_exact, 0, 6);
    tcase_add_loop_test(t, bits_do_not_depend, 0, 2);
    tcase_add_loop_test(t, gradient, 0, TEXTS);
    tcase_add_loop_test(t, mixed_rows, 0, MIXED);
    tcase_add_loop_test(t, mixed_exact, 0, MIXED);
    tcase_add_loop_test(t, mixed_gradient, 0, MIXED);
    tcase_add_loop_test(t, likelihood_gradient, 0, TUNED);
    tcase_add_test(t, model_near_exact);
    tcase_add_test(t, golden_fastconv);
    tcase_add_test(t, drawn_filters);
    tcase_add_test(t, reading_and_printing);
    tcase_add_test(t, choice_of_filters);
    tcase_add_test(t, bytes_of_a_map);
    suite_add_tcase(s, t);
    return support_run(s);
}
