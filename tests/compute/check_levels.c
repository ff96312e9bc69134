/* tests/compute/check_levels.c -- the operator at every level of the processor's vector code, and
 * features in half precision: against plain loops, whatever the level. */
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

static const char *const levels[] = { "portable", "avx2", "avx512", "amx" };
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

/* Check forks: a level forced here is gone with the test.  false: not on this machine. */
static bool at_level(int i)
{
    struct err err = { 0 };
    const enum status rc = cpu_force_level(levels[i], &err);

    ck_assert(rc == ST_OK || rc == ST_UNSUPPORTED || rc == ST_NOT_FOUND);
    ck_assert(rc != ST_OK || strcmp(cpu_level(), levels[i]) == 0);
    return rc == ST_OK;
}

/* Gram and Z'dZ against plain loops over the interpreter's rows, at sizes on both sides of the
 * edges of blocks (32 columns, 32 and 256 rows) and of several tiles of the result.  Matrix units
 * round features to 2^-18 of their size: twice that in a product. */
static void check_gram(size_t n, size_t M)
{
    struct problem p = problem_new("rbf", n, 3, M, 1.5);
    struct fop *f = problem_fop(&p, NULL, PREC_FLOAT, false);
    double *y = normals(n, 105), *G = malloc(M * M * sizeof *G), *G0 = calloc(M * M, sizeof *G0);
    double *zty = malloc(M * sizeof *zty), *zty0 = calloc(M, sizeof *zty0);
    double *C0 = calloc(M * M, sizeof *C0),
           *row = malloc((2 * M + interp_work_for_tests(p.fm)) * 8);

    for (size_t i = 0; i < n; i++) {
        const double *z = p.Z + i * M;
        interp_row_for_tests(p.fm, &p.l, p.X + i * p.d, row + M, row, 0, row + 2 * M);
        for (size_t b = 0; b < M; b++) {
            zty0[b] += z[b] * y[i];
            for (size_t a = 0; a < M; a++) {
                G0[b * M + a] += z[a] * z[b];
                C0[b * M + a] += z[a] * row[b];
            }
        }
    }
    ck_assert(fop_gram(f, y, G, zty, NULL, NULL, NULL) == ST_OK);
    assert_near(M * M, G, G0, 8e-6, "gram");
    assert_near(M, zty, zty0, 1e-5, "zty");
    ck_assert(fop_dgram(f, 0, G, NULL, NULL) == ST_OK);
    assert_near(M * M, G, C0, 1e-5, "dgram");
    ck_assert(fop_gram(f, NULL, G, NULL, NULL, NULL, NULL) == ST_OK); /* the workspace again */
    assert_near(M * M, G, G0, 8e-6, "gram");
    for (size_t a = 0; a < M; a++)
        for (size_t b = 0; b < a; b++)
            ck_assert(G[a * M + b] == G[b * M + a]);
    fop_free(f);
    free(y), free(G), free(G0), free(zty), free(zty0), free(C0), free(row);
    problem_free(&p);
}

START_TEST(test_level_gram)
{
    if (!at_level(_i))
        return;
    check_gram(1, 2);
    check_gram(33, 30);
    check_gram(300, 34);
    check_gram(700, 290);
    check_gram(257, 520);
}
END_TEST

/* One right-hand side over stored features, whose way up and way back go in one loop over four
 * places where the shape allows it: the bits of features made anew, for any number of threads. */
static void check_flow(const char *kernel, size_t n, size_t d, size_t M, enum precision precision)
{
    const struct kernel k = parsed(kernel, NULL);
    struct featmap *fm = featmap_new(&k, d, M, 5, NULL);
    double *X = normals(n * d, 100), *P = normals(M, 101), *W = malloc(2 * M * sizeof *W);
    double hp[KERNEL_MAX_HP];
    struct source_array src;

    ck_assert_ptr_nonnull(fm);
    source_array_init(&src, X, n, d, d);
    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        hp[i] = 1.0 + 0.1 * (double)i;
    for (size_t threads = 0; threads <= 3; threads++) {
        struct pool *pool = threads ? pool_new(threads, NULL) : NULL;
        const struct fop_opts opts = { .pool = pool, .precision = precision, .store = threads > 0 };
        struct fop *f = fop_new(backend_cpu(), fm, &src.base, &opts, NULL);
        ck_assert_ptr_nonnull(f);
        ck_assert(fop_set(f, hp, NULL) == ST_OK);
        for (int twice = 0; twice < 2; twice++) { /* the second reads what the first stored */
            double *w = W + (threads ? M : 0);
            memset(w, 0, M * sizeof *w);
            ck_assert(fop_pass(f, 1, P, w, NULL, NULL) == ST_OK);
            ck_assert(norm(M, w) > 0.0);
            ck_assert_msg(memcmp(W, w, M * sizeof *w) == 0,
                          "%s, %zu rows, %zu features, %zu threads", kernel, n, M, threads);
        }
        fop_free(f);
        pool_free(pool);
    }
    featmap_free(fm);
    free(X);
    free(P);
    free(W);
}

START_TEST(test_level_flow)
{
    if (!at_level(_i))
        return;
    for (int dbl = 0; dbl < 2; dbl++) {
        const enum precision precision = dbl ? PREC_DOUBLE : PREC_FLOAT;
        check_flow("rbf", 900, 8, 8192, precision);  /* rows of a tile: 16 */
        check_flow("rbf", 700, 100, 8192, precision);
        check_flow("rbf", 2300, 5, 4096, precision); /* 32 */
        check_flow("rbf", 4500, 5, 1024, precision); /* 128 */
        check_flow("rbf + matern(nu=3/2)", 1100, 6, 8192, precision);
        check_flow("rbf", 300, 6, 5000, precision);  /* no four places alike */
        check_flow("rbf + matern(nu=3/2)", 250, 6, 12544, precision); /* the way back goes ahead */
    }
}
END_TEST

START_TEST(test_level_products)
{
    if (!at_level(_i))
        return;
    for (size_t s = 0; s < N_SHAPES; s++) {
        struct problem p = problem_new(shapes[s].kernel, shapes[s].n, shapes[s].d, shapes[s].M,
                                       sqrt((double)shapes[s].d));
        check_products(&p, PREC_FLOAT, false);
        check_products(&p, PREC_FLOAT, true);
        check_products(&p, PREC_DOUBLE, false);
        problem_free(&p);
    }
}
END_TEST

/* The value of a float16 by its definition. */
static double half_value(uint16_t h)
{
    const int e = h >> 10 & 31, m = h & 1023;
    const double v = e == 0 ? ldexp(m, -24) : e < 31 ? ldexp(1024 + m, e - 25) : m ? NAN : INFINITY;

    return h & 0x8000 ? -v : v;
}

static void check_narrow(size_t n, const float *x)
{
    uint16_t *h = malloc(n * sizeof *h), *portable = malloc(n * sizeof *h);

    cpu_simd_now()->narrow(n, x, h);
    simd_portable.narrow(n, x, portable);
    ck_assert(memcmp(h, portable, n * sizeof *h) == 0);
    for (size_t i = 0; i < n; i++) {
        const double v = half_value(h[i]), off = fabs((double)x[i] - v);
        ck_assert_int_eq(h[i] >> 15, signbit(x[i]) != 0);
        if (fabs((double)x[i]) >= 65520.0) { /* half of the way past the largest number */
            ck_assert_msg(isinf(v), "%.9g became %.9g", (double)x[i], v);
            continue;
        }
        for (int step = -1; step <= 1;
             step += 2) { /* no neighbour is nearer, or as near and even */
            const uint16_t next = (uint16_t)((h[i] & 0x7fff) + step);
            const double far = fabs((double)x[i] - copysign(half_value(next), v));
            if (!(next & 0x8000) && (next & 0x7c00) != 0x7c00)
                ck_assert_msg(off < far || (off <= far && !(h[i] & 1)), "%.9g became %.9g",
                              (double)x[i], v);
        }
    }
    free(h);
    free(portable);
}

START_TEST(test_level_half)
{
    enum { N = 65536 };
    uint16_t *h = malloc((N + 5) * sizeof *h), *back = malloc(N * sizeof *back);
    float *x = malloc((N + 5) * sizeof *x);

    for (size_t i = 0; i < N; i++)
        h[i] = (uint16_t)i;
    if (at_level(_i)) {
        cpu_simd_now()->widen(N, h, x);
        cpu_simd_now()->narrow(N, x, back);
        for (size_t i = 0; i < N; i++) {
            const double v = half_value(h[i]);
            ck_assert(isnan(v) ? isnan(x[i]) != 0 : (double)x[i] == v);
            ck_assert(isnan(v) || back[i] == h[i]);
        }
        for (size_t i = 0; i + 1 < 0x7c00; i++) { /* in the middle of neighbours, and beside it */
            const float mid =
                (float)(0.5 * (half_value((uint16_t)i) + half_value((uint16_t)(i + 1))));
            x[3 * (i % 20000)] = mid;
            x[3 * (i % 20000) + 1] = nextafterf(mid, 0.0F);
            x[3 * (i % 20000) + 2] = -nextafterf(mid, 1e9F);
            if (i % 20000 == 19999 || i + 2 == 0x7c00)
                check_narrow(3 * (i % 20000 + 1), x);
        }
        for (size_t i = 0; i < N; i++)
            x[i] =
                (float)ldexp(rng_uniform(3, rng_stream(RNG_TEST, 60), i) - 0.5, (int)(i % 60) - 40);
        check_narrow(N, x);
        check_narrow(13, x + 1); /* no whole vector, not aligned */
    }
    free(h);
    free(back);
    free(x);
}
END_TEST

/* Passes over features in float16: those of the rounded matrix, whoever fills the store and with
 * any number of threads; all else as if nothing were rounded. */
static void check_half(const char *kernel, size_t n, size_t d, size_t M)
{
    struct problem p = problem_new(kernel, n, d, M, sqrt((double)d));
    const struct fop_opts opts = { .precision = PREC_FLOAT, .store = true, .half = true };
    double *P = normals(RHS * M, 101), *V = normals(n, 102), *W = malloc(RHS * M * sizeof *W);
    double *W32 = malloc(RHS * M * sizeof *W), *again = malloc(RHS * M * sizeof *W);
    double *T = malloc(RHS * n * sizeof *T), *T32 = malloc(RHS * n * sizeof *T);
    double *first = malloc(3 * M * sizeof *first);
    static const size_t ks[] = { 1, 3, 9, RHS };
    struct fop *plain = problem_fop(&p, NULL, PREC_FLOAT, false);

    for (size_t threads = 1; threads <= 3; threads++) {
        struct fop_opts o = opts;
        o.pool = threads > 1 ? pool_new(threads, NULL) : NULL;
        struct fop *f = fop_new(backend_cpu(), p.fm, &p.src.base, &o, NULL);
        ck_assert(f && fop_half(f) && fop_set(f, &p.l, NULL) == ST_OK);
        if (threads == 2) /* filled on another way */
            ck_assert(fop_ztv(f, 1, V, again, NULL, NULL) == ST_OK);
        for (size_t i = 0; i < 4; i++) {
            const size_t k = ks[i];
            ck_assert(fop_pass(f, k, P, W, NULL, NULL) == ST_OK);
            ck_assert(fop_pass(f, k, P, again, NULL, NULL) == ST_OK);
            ck_assert(memcmp(W, again, k * M * sizeof *W) == 0);
            ck_assert(fop_pass(plain, k, P, W32, NULL, NULL) == ST_OK);
            for (size_t c = 0; c < k; c++) { /* |Z| <= sqrt(n), |E| <= error sqrt(n) */
                double off = 0.0;
                for (size_t j = c * M; j < (c + 1) * M; j++)
                    off += (W[j] - W32[j]) * (W[j] - W32[j]);
                const double bound =
                    2.001 * kernel_half_error(&p.fm->kernel) * (double)n * norm(M, P + c * M);
                ck_assert_msg(sqrt(off) <= bound && sqrt(off) > 1e-5 * bound, "%zu: %.3g of %.3g",
                              c, sqrt(off), bound);
            }
            ck_assert(fop_pass_exact(f, k, P, W, NULL, NULL) == ST_OK);
            /* Many vectors go over stacks of tiles, which an operator with float16 does not. */
            if (k < 8)
                ck_assert(memcmp(W, W32, k * M * sizeof *W) == 0);
            else
                assert_near(k * M, W, W32, 1e-6, "exact passes beside float16");
            ck_assert(fop_zp(f, k, P, T, NULL, NULL) == ST_OK);
            ck_assert(fop_zp(plain, k, P, T32, NULL, NULL) == ST_OK);
            ck_assert(memcmp(T, T32, k * n * sizeof *T) == 0);
        }
        ck_assert(fop_pass(f, 3, P, again, NULL, NULL) == ST_OK);
        if (threads == 1)
            memcpy(first, again, 3 * M * sizeof *first);
        ck_assert(memcmp(first, again, 3 * M * sizeof *first) == 0);
        fop_unhalve(f);
        ck_assert(!fop_half(f) && fop_pass(f, 3, P, W, NULL, NULL) == ST_OK);
        ck_assert(fop_pass(plain, 3, P, W32, NULL, NULL) == ST_OK);
        ck_assert(memcmp(W, W32, 3 * M * sizeof *W) == 0);
        fop_free(f);
        pool_free(o.pool);
    }
    fop_free(plain);
    free(P), free(V), free(W), free(W32), free(again), free(first), free(T), free(T32);
    problem_free(&p);
}

START_TEST(test_level_half_store)
{
    if (!at_level(_i))
        return;
    check_half("rbf", 700, 3, 130);
    check_half("matern(nu=1/2)", 150, 40, 1026);
    check_half("rbf", 60, 600, 4096);
}
END_TEST

/* With 64 frequencies the factor of the features is 1/8: rows of a tile are those stored over 8,
 * bit for bit, and can be rounded here. */
START_TEST(test_half_is_the_rounded_matrix)
{
    enum { N = 300, M = 128 };
    struct problem p = problem_new("cauchy", N, 4, M, 2.0);
    const struct fop_opts opts = { .precision = PREC_FLOAT, .store = true, .half = true };
    struct fop *f = fop_new(backend_cpu(), p.fm, &p.src.base, &opts, NULL);
    float *z = malloc(N * M * sizeof *z);
    uint16_t *h = malloc(N * M * sizeof *h);
    double *Z = malloc(N * M * sizeof *Z), *P = normals(3 * M, 103), W[3 * M], want[3 * M];

    ck_assert(f && fop_set(f, &p.l, NULL) == ST_OK && fop_tile(f, 0, N, z, M, NULL) == ST_OK);
    for (size_t i = 0; i < N * M; i++)
        z[i] *= 8.0F;
    simd_portable.narrow(N * M, z, h);
    for (size_t i = 0; i < N * M; i++)
        Z[i] = half_value(h[i]) / 8.0;
    struct fop *dense = fop_dense_for_tests(Z, N, M, M, NULL, NULL);
    ck_assert(fop_pass(f, 3, P, W, NULL, NULL) == ST_OK);
    ck_assert(fop_pass(dense, 3, P, want, NULL, NULL) == ST_OK);
    assert_near(3 * M, W, want, 1e-6, "the rounded matrix");
    fop_free(f);
    fop_free(dense);
    free(z), free(h), free(Z), free(P);
    problem_free(&p);
}
END_TEST

START_TEST(test_half_is_refused)
{
    static const char *const others[] = {"linear", "poly", "erf", "rbf * periodic", "rbf + linear"};
    struct fop_opts opts = { .precision = PREC_FLOAT, .store = true, .half = true };
    struct problem p = problem_new("rbf", 30, 2, 64, 1.0);

    for (size_t i = 0; i <= sizeof others / sizeof *others; i++) {
        struct kernel k;
        struct err err = { 0 };
        opts.precision = i ? PREC_FLOAT : PREC_DOUBLE;
        ck_assert(kernel_parse(i ? others[i - 1] : "rbf", &k, NULL, NULL) == ST_OK);
        struct featmap *fm = featmap_new(&k, 2, 64, 7, NULL);
        ck_assert_ptr_null(fop_new(backend_cpu(), fm, &p.src.base, &opts, &err));
        ck_assert_int_eq(err.code, ST_UNSUPPORTED);
        featmap_free(fm);
    }
    problem_free(&p);
}
END_TEST

/* Against long double libm; half turns up to 2^20 in float, 2^40 in double.  The bound is four
 * roundings at magnitude 1 (three products and the sum where nothing is fused); beyond the range
 * nothing leaves [-1, 1]. */
static void check_sincos(const struct simd_real *r, bool dbl)
{
    enum { N = 4096 };
    _Alignas(64) double t[N], s[N], c[N];
    float *tf = (float *)t, *sf = (float *)s, *cf = (float *)c;

    for (int e = -20; e <= (dbl ? 40 : 20); e++) {
        for (size_t i = 0; i < N; i++) {
            const double v = ldexp(2.0 * rng_uniform(1, rng_stream(RNG_TEST, 9), i) - 1.0, e);
            if (dbl)
                t[i] = v;
            else
                tf[i] = (float)v;
        }
        r->sincospi(N, t, s, c);
        for (size_t i = 0; i < N; i++) {
            const long double pi = 3.14159265358979323846264338327950288L;
            const long double v = dbl ? t[i] : tf[i], q = fmodl(v, 2.0L) * pi;
            const double es = fabs((double)((dbl ? s[i] : (double)sf[i]) - sinl(q)));
            const double ec = fabs((double)((dbl ? c[i] : (double)cf[i]) - cosl(q)));
            const double bound = dbl ? 2.0 * DBL_EPSILON : 2.0 * FLT_EPSILON;
            ck_assert_msg(es <= bound && ec <= bound, "%Lg half turns: %g %g", v, es, ec);
        }
    }
    for (size_t i = 0; i < N; i++) {
        const double v = ldexp(rng_normal(1, rng_stream(RNG_TEST, 10), i), (int)(i % 80));
        if (dbl)
            t[i] = v;
        else
            tf[i] = (float)v;
    }
    r->sincospi(N, t, s, c);
    for (size_t i = 0; i < N; i++)
        ck_assert(fabs(dbl ? s[i] : (double)sf[i]) <= 1.0 + 4e-7 &&
                  fabs(dbl ? c[i] : (double)cf[i]) <= 1.0 + 4e-7);
}

START_TEST(test_level_sincos)
{
    if (!at_level(_i))
        return;
    check_sincos(&cpu_simd_now()->f32, false);
    check_sincos(&cpu_simd_now()->f64, true);
}
END_TEST

/* The golden transform in every lane; and H H x = n x for all sizes up to 2^13. */
START_TEST(test_level_fht)
{
    size_t rows, n;
    double *in = support_golden("fht_in", &rows, &n);
    double *want = support_golden("fht_out_unnormalised", &rows, &n);
    _Alignas(64) double v[16 * 8];

    if (at_level(_i)) {
        const struct simd_real *r = &cpu_simd_now()->f64;
        ck_assert(n == 16 && r->lanes <= 8);
        for (size_t i = 0; i < 16 * r->lanes; i++)
            v[i] = in[(i % r->lanes) % rows * n + i / r->lanes];
        r->fht(v, 16);
        for (size_t i = 0; i < 16 * r->lanes; i++)
            ck_assert(support_close(v[i], want[(i % r->lanes) % rows * n + i / r->lanes], 1e-12));
        for (size_t size = 2; size <= 8192; size *= 2) {
            const size_t lanes = cpu_simd_now()->f32.lanes;
            float *w = aligned_alloc(64, (size * lanes * sizeof *w + 63) / 64 * 64);
            for (size_t i = 0; i < size * lanes; i++)
                w[i] = (float)((i * 2654435761U >> 7) % 17) - 8.0F; /* small integers: exact */
            cpu_simd_now()->f32.fht(w, size);
            cpu_simd_now()->f32.fht(w, size);
            for (size_t i = 0; i < size * lanes; i++)
                ck_assert(w[i] == (float)size * ((float)((i * 2654435761U >> 7) % 17) - 8.0F));
            free(w);
        }
    }
    free(in);
    free(want);
}
END_TEST

/* What three rounds of signs and transforms make of an input, before lengthscale and row lengths:
 * by each level's transform of one row. */
START_TEST(test_rotation_golden)
{
    size_t n, d, r, D;
    double *x = support_golden("sorf_x", &n, &d), *want = support_golden("sorf_HDHDHDx", &r, &D);
    double *signs = support_golden("sorf_signs", &r, &D);
    _Alignas(64) double v[16];

    ck_assert(n == 5 && d == 11 && r == 3 && D == 16);
    for (size_t i = 0; at_level(_i) && i < n; i++) {
        for (size_t j = 0; j < D; j++)
            v[j] = j < d ? x[i * d + j] : 0.0;
        for (size_t q = 0; q < 3; q++) {
            for (size_t j = 0; j < D; j++)
                v[j] *= signs[q * D + j] / 4.0; /* 1/sqrt(D) */
            cpu_simd_now()->f64.fht_row(v, D);
        }
        for (size_t j = 0; j < D; j++)
            ck_assert(support_close(v[j], want[i * D + j], 1e-12));
    }
    free(x), free(want), free(signs);
}
END_TEST

/* A plain loop over one row: every sum of small integers is exact in any order. */
static void plain_fht(size_t n, double *v)
{
    for (size_t h = 1; h < n; h *= 2)
        for (size_t i = 0; i < n; i++)
            if (!(i & h)) {
                const double a = v[i], b = v[i + h];
                v[i] = a + b;
                v[i + h] = a - b;
            }
}

START_TEST(test_level_fht_row)
{
    enum { MOST = 1 << 20 };
    double *v = aligned_alloc(64, MOST * sizeof *v), *w = aligned_alloc(64, MOST * sizeof *w);
    float *f = aligned_alloc(64, MOST * sizeof *f);

    for (size_t n = 1; at_level(_i) && n <= MOST; n *= 2) {
        for (size_t i = 0; i < n; i++) {
            v[i] = (double)((i * 2654435761U >> 7) % 17) - 8.0;
            f[i] = (float)v[i];
            w[i] = v[i];
        }
        plain_fht(n, v);
        cpu_simd_now()->f64.fht_row(w, n);
        cpu_simd_now()->f32.fht_row(f, n);
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(w[i] == v[i] && (double)f[i] == v[i], "entry %zu of %zu", i, n);
    }
    free(v);
    free(w);
    free(f);
}
END_TEST

/* H D3 H D2 H D1 x, at its scale (half turns), against plain transforms of one row. */
static void plain_turns(const struct fm_term *t, size_t block, const double *x, double *v)
{
    for (size_t i = 0; i < t->D; i++)
        v[i] = i < t->d ? x[i] : 0.0;
    for (size_t row = 0; row < 3; row++) {
        for (size_t i = 0; i < t->D; i++)
            v[i] *= t->signs[(row * t->nb + block) * t->D + i];
        plain_fht(t->D, v);
    }
    for (size_t i = 0; i < t->D; i++)
        v[i] *= t->scale[block * t->D + i] * M_1_PI;
}

/* Not all of the lanes hold rows, the last block is not whole, and there may be fewer inputs than
 * the transforms are wide.  A rounding for each of 3 log2 D stages, of numbers of size 1.  Phases
 * of heavy tails come reduced. */
static void check_turns(const struct simd_real *r, const char *kernel, size_t d, size_t D, size_t n,
                        size_t mf)
{
    const size_t L = r->lanes;
    const double eps = r->size == sizeof(double) ? DBL_EPSILON : FLT_EPSILON;
    const double most = eps * (24.0 + 8.0 * log2((double)D));
    struct simd_term term;
    struct kernel k;
    double *chi = malloc(mf * sizeof *chi), *X = normals(n * d, 106), *v = malloc(D * sizeof *v);
    int8_t *signs = malloc(6 * D);
    for (size_t i = 0; i < 6 * D; i++) /* of one block the first half */
        signs[i] = rng_uniform(1, rng_stream(RNG_TEST, 107), i) < 0.5 ? -1 : 1;
    for (size_t j = 0; j < mf; j++)
        chi[j] = 2.0 + (double)(j % 7);
    ck_assert(kernel_parse(kernel, &k, NULL, NULL) == ST_OK);
    struct featmap *fm = featmap_given_for_tests(&k, d, D, mf, signs, chi, NULL);
    ck_assert(fm && r->prepare(&term, &fm->term[0], NULL) == ST_OK);
    for (size_t j = 0; j < d; j++) {
        term.inv[j] = 1.0 / sqrt((double)d);
        if (term.wide)
            term.wide->inv[j] = term.inv[j];
    }
    void *scratch = aligned_alloc(64, (r->scratch(&term) + 63) / 64 * 64);
    void *to = aligned_alloc(64, 2 * D * L * r->size);
    r->turns(&term, &(struct simd_inputs){X, d, n}, to, scratch);
    for (size_t row = 0; row < n; row++) {
        double *x = X + row * d;
        for (size_t j = 0; j < d; j++)
            x[j] /= sqrt((double)d);
        for (size_t b = 0; b < fm->term[0].nb; b++) {
            plain_turns(&fm->term[0], b, x, v);
            for (size_t j = 0; j < D && b * D + j < mf; j++) {
                const size_t at = (b * D + j) * L + row;
                double off =
                    (r->size == sizeof(double) ? ((double *)to)[at] : ((float *)to)[at]) - v[j];
                if (term.wide)
                    off -= 2.0 * rint(0.5 * off);
                if (!(fabs(off) < most))
                    ck_abort_msg(
                        "%s of %zu inputs, width %zu, row %zu, frequency %zu of block %zu: off by "
                        "%g",
                        kernel, d, D, row, j, b, off);
            }
        }
    }
    simd_term_free(&term);
    featmap_free(fm);
    free(chi), free(X), free(v), free(signs), free(scratch), free(to);
}

static void check_turns_usual(const struct simd_real *r, const char *kernel, size_t d, size_t D)
{
    check_turns(r, kernel, d, D, r->lanes < 3 || D < 1024 ? r->lanes - 1 : 3, D + D / 2 + 1);
}

START_TEST(test_level_turns)
{
    for (size_t D = 2; at_level(_i) && D <= 16384; D *= 2) {
        check_turns_usual(&cpu_simd_now()->f32, "rbf", D - D / 8, D);
        check_turns_usual(&cpu_simd_now()->f64, "rbf", D, D);
        if (D < 32 || D > 4096)
            check_turns_usual(&cpu_simd_now()->f32, "rbf", D / 2, D);
        if (D % 3 == 1)
            check_turns_usual(&cpu_simd_now()->f32, "matern(nu=1/2)", D - 1, D);
    }
}
END_TEST

/* One block of a wide term may go a row at a time: tiles of any number of rows, inputs that end
 * inside a vector, inside a group of vectors and at the width, widths of more inputs than one
 * transform has. */
START_TEST(test_level_turns_by_row)
{
    for (size_t D = 2048; at_level(_i) && D <= 16384; D *= 2)
        for (int dbl = D > 2048 ? 0 : 1; dbl < (D > 8192 ? 1 : 2); dbl++) {
            const struct simd_real *r = dbl ? &cpu_simd_now()->f64 : &cpu_simd_now()->f32;
            check_turns(r, "rbf", D, D, 1, D);
            check_turns(r, "rbf", D - 1, D, r->lanes < 5 ? r->lanes : 5, D - 300);
            check_turns(r, "rbf", D / 2 + 40, D, D > 4096 ? 2 : r->lanes, D);
            check_turns(r, "rbf", D / 2, D, 2, D);
        }
    if (at_level(_i))
        check_turns(&cpu_simd_now()->f32, "matern(nu=1/2)", 4000, 4096, 2, 4096);
}
END_TEST

/* The phases of a row do not depend on the rows beside it, nor on what a workspace was used for
 * before, with one lengthscale or several. */
START_TEST(test_level_rows_alone)
{
    enum { D = 8192, INPUTS = 5003 };
    struct kernel k;
    double *X = normals(SIMD_LANES_MOST * INPUTS, 111);

    ck_assert(kernel_parse("rbf", &k, NULL, NULL) == ST_OK);
    struct featmap *fm = featmap_new(&k, INPUTS, 2 * D, 3, NULL);
    for (int dbl = 0; at_level(_i) && dbl < 4; dbl++) {
        const struct simd_real *r = dbl % 2 ? &cpu_simd_now()->f64 : &cpu_simd_now()->f32;
        const size_t L = r->lanes, one = r->size;
        struct simd_term t;
        ck_assert(r->prepare(&t, &fm->term[0], NULL) == ST_OK);
        for (size_t j = 0; j < INPUTS; j++)
            t.inv[j] = dbl < 2 ? 0.5 : 1.0 / (1.0 + (double)(j % 5));
        const size_t bytes = (r->scratch(&t) + 63) / 64 * 64;
        char *scratch = aligned_alloc(64, bytes), *all = aligned_alloc(64, D * L * one);
        char *alone = aligned_alloc(64, D * L * one);
        memset(scratch, 0xff, bytes); /* not a number */
        r->turns(&t, &(struct simd_inputs){X, INPUTS, L}, all, scratch);
        for (size_t row = 0; row < L; row += 3) {
            memset(scratch, 0xff, bytes);
            r->turns(&t, &(struct simd_inputs){X + row * INPUTS, INPUTS, 1}, alone, scratch);
            size_t apart = 0;
            for (size_t j = 0; j < D; j++) {
                apart += memcmp(alone + j * L * one, all + (j * L + row) * one, one) != 0;
                for (size_t lane = 1; lane < L; lane++) /* lanes without a row: phases of zeros */
                    apart += one == 4 ? ((float *)(void *)alone)[j * L + lane] != 0.0F
                                      : ((double *)(void *)alone)[j * L + lane] != 0.0;
            }
            ck_assert_msg(apart == 0, "row %zu: %zu phases are not those of the row alone", row,
                          apart);
        }
        free(scratch), free(all), free(alone);
        simd_term_free(&t);
    }
    featmap_free(fm);
    free(X);
}
END_TEST

/* One-hot windows, whose inputs are written one by one, against the same inputs as a row. */
static void check_wide_windows(size_t level, const size_t CHANNELS)
{
    enum { WIDTH = 40, COLS = 2 * 2048 };
    const size_t D = WIDTH * CHANNELS;
    const uint32_t first[] = { 0, 1 };
    const uint8_t lane = 0;
    struct kernel k;
    double at[WIDTH], *x = calloc(D, sizeof *x);
    const double *const rows[] = { at };

    for (size_t q = 0; q < WIDTH; q++) {
        at[q] = (double)(q * 7 % (CHANNELS + 1)); /* one symbol is none of the channels */
        if (at[q] < (double)CHANNELS)
            x[q * CHANNELS + (size_t)at[q]] = 1.0;
    }
    ck_assert(kernel_parse("rbf", &k, NULL, NULL) == ST_OK);
    struct featmap *fm = featmap_new(&k, D, COLS, 3, NULL);
    for (int dbl = 0; at_level(level) && dbl < 2; dbl++) {
        const struct simd_real *r = dbl ? &cpu_simd_now()->f64 : &cpu_simd_now()->f32;
        const size_t L = r->lanes;
        struct simd_term t;
        ck_assert(r->prepare(&t, &fm->term[0], NULL) == ST_OK);
        for (size_t j = 0; j < D; j++)
            t.inv[j] = 0.5;
        void *scratch = aligned_alloc(64, (r->scratch(&t) + 63) / 64 * 64);
        void *sum = calloc(COLS, r->size), *want = calloc(COLS, r->size);
        const struct simd_windows w = {
            .n = 1,
            .width = WIDTH,
            .channels = CHANNELS,
            .symbols = true,
            .at = rows,
            .rows = 1,
            .first = first,
            .lane = &lane,
            .x = malloc(L * D * sizeof(double)),
            .turned = aligned_alloc(64, L * (2 * t.D + SIMD_TURNED_PAD) * r->size)};
        r->windows(&t, &w, sum, COLS, scratch);
        r->rows(&t, &(struct simd_inputs){x, D, 1}, 1.0, want, NULL, COLS, scratch);
        ck_assert_mem_eq(sum, want, COLS * r->size);
        free(scratch), free(sum), free(want), free(w.x), free(w.turned);
        simd_term_free(&t);
    }
    featmap_free(fm);
    free(x);
}

START_TEST(test_level_wide_windows)
{
    check_wide_windows((size_t)_i, 33); /* parts of 2048 entries; 4096, of which rows go alone */
    check_wide_windows((size_t)_i, 66);
}
END_TEST

/* The tile's transforms of many entries go through parts that fit the cache. */
START_TEST(test_level_fht_large)
{
    enum { MOST = 1 << 14 };
    double *want = aligned_alloc(64, MOST * sizeof *want);
    float *v = aligned_alloc(64, MOST * SIMD_LANES_MOST * sizeof *v);

    for (size_t n = 256; at_level(_i) && n <= MOST; n *= 8) {
        const size_t lanes = cpu_simd_now()->f32.lanes;
        for (size_t i = 0; i < n * lanes; i++)
            v[i] = (float)((i * 2654435761U >> 7) % 17) - 8.0F;
        for (size_t i = 0; i < n; i++)
            want[i] = (double)v[i * lanes + lanes - 1];
        plain_fht(n, want);
        cpu_simd_now()->f32.fht(v, n);
        for (size_t i = 0; i < n; i++)
            ck_assert_msg((double)v[i * lanes + lanes - 1] == want[i], "entry %zu of %zu", i, n);
    }
    free(want);
    free(v);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("levels");
    TCase *t = tcase_create("all");

    blas_init(); /* as the program does: no threads of its own */
    support_need("golden/README.md");
    tcase_set_timeout(t, 300);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, test_level_products, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_flow, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_gram, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_sincos, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_fht, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_half, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_half_store, 0, N_LEVELS);
    tcase_add_test(t, test_half_is_the_rounded_matrix);
    tcase_add_test(t, test_half_is_refused);
    tcase_add_loop_test(t, test_level_fht_row, 0, N_LEVELS);
    if (support_shared("golden/sorf_HDHDHDx.csv"))
        tcase_add_loop_test(t, test_rotation_golden, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_fht_large, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_turns, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_turns_by_row, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_rows_alone, 0, N_LEVELS);
    tcase_add_loop_test(t, test_level_wide_windows, 0, N_LEVELS);
    return support_run(s);
}
