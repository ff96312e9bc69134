/* tests/cuda/operators.c -- all operations of an operator on the device against the processor
 * backend: every kind of kernel, precision and storage, other orders of threads, streams, little
 * memory, and calls that fail (pair.h).
 *
 * With -DON_DEVICE the same comparisons, and larger ones, of the module itself. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "pair.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/features/fop_rows.h"
#include "compute/likelihood/nmll.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/preconds/precond.h"
#include "compute/solvers/solver.h"
#include "emulated_device.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All operations of both, and how far apart they may be.  Single precision: phases of some tens of
 * radians lose their last bits, features differ by up to about 1e-5, and a
 * feature that is a power or a product of others by a few times that. */
static void compare(const struct job *j, double tol)
{
    enum { KMOST = 13 };
    struct pair p = pair_open(j);
    const size_t n = p.n, M = p.M, ld = M + 3;
    double *P = normals(5, KMOST * M), *V = normals(6, KMOST * n);
    double *a = mem_calloc(KMOST * (n > M ? n : M), sizeof *a, "results", NULL);
    double *b = mem_calloc(KMOST * (n > M ? n : M), sizeof *b, "results", NULL);
    double *za = mem_calloc(n * ld, sizeof *za, "rows", NULL);
    double *zb = mem_calloc(n * ld, sizeof *zb, "rows", NULL);
    static const size_t ks[] = { 1, 2, 3, 4, 7, 13 };

    ok(fop_tile64(p.cpu, 0, n, za, ld, &fail));
    ok(fop_tile64(p.dev, 0, n, zb, ld, &fail));
    ck_assert_double_le(apart(n * ld, zb, za), 1e-12);
    float *f = mem_calloc(n * M, sizeof *f, "rows", NULL);
    ok(fop_tile(p.dev, 1, n, f, M, &fail));
    for (size_t r = 1; r < n; r++)
        for (size_t c = 0; c < M; c++)
            zb[(r - 1) * M + c] = za[r * ld + c] - (double)f[(r - 1) * M + c];
    ck_assert_msg(norm((n - 1) * M, zb) <= fmax(tol, 1e-7) * norm(n * ld, za),
                  "%s: rows of features, %g", j->kernel, norm((n - 1) * M, zb) / norm(n * ld, za));
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        const size_t k = ks[i];
        const char *what[] = { "pass", "exact pass", "Z P", "Z'V" };
        for (int op = 0; op < 4; op++) {
            struct fop *of[] = { p.cpu, p.dev };
            double *to[] = { a, b };
            for (int o = 0; o < 2; o++) {
                if (op == 0)
                    ok(fop_pass(of[o], k, P, to[o], NULL, &fail));
                else if (op == 1)
                    ok(fop_pass_exact(of[o], k, P, to[o], NULL, &fail));
                else if (op == 2)
                    ok(fop_zp(of[o], k, P, to[o], NULL, &fail));
                else
                    ok(fop_ztv(of[o], k, V, to[o], NULL, &fail));
            }
            const size_t len = k * (op == 2 ? n : M);
            const double most = op == 0 && j->half ? fmax(tol, 1e-4) : tol;
            ck_assert_msg(apart(len, b, a) <= most, "%s: %s of %zu, %g", j->kernel, what[op], k,
                          apart(len, b, a));
        }
    }
    double *Ga = mem_calloc(M * M, sizeof *Ga, "Gram", NULL);
    double *Gb = mem_calloc(M * M, sizeof *Gb, "Gram", NULL);
    double ya[2], yb[2];
    ok(fop_gram_of(p.cpu, 2, V, Ga, a, ya, NULL, &fail));
    ok(fop_gram_of(p.dev, 2, V, Gb, b, yb, NULL, &fail));
    ck_assert_double_le(apart(M * M, Gb, Ga), tol);
    ck_assert_double_le(apart(2 * M, b, a), tol);
    ck_assert(ya[0] == yb[0] && ya[1] == yb[1]);
    ok(fop_sketch(p.cpu, 9, P, a, NULL, &fail));
    ok(fop_sketch(p.dev, 9, P, b, NULL, &fail));
    ck_assert_double_le(apart(9 * M, b, a), tol);
    /* Features rounded to float16, to half a unit in 2^11: some 2e-4 of each, in each product. */
    ok(fop_sketch_rough(p.dev, 9, P, b, NULL, &fail));
    ck_assert_msg(apart(9 * M, b, a) <= fmax(tol, 4e-4), "%s: rough sketch, %g", j->kernel,
                  apart(9 * M, b, a));
    for (size_t i = 0; i < 9; i++) /* and symmetric: P' (G P) */
        for (size_t l = 0; l < i; l++) {
            double u = 0.0, v = 0.0, size = norm(M, P + i * M) * norm(M, b + l * M);
            for (size_t q = 0; q < M; q++) {
                u += P[i * M + q] * b[l * M + q];
                v += P[l * M + q] * b[i * M + q];
            }
            ck_assert_double_le(fabs(u - v), 2e-6 * size);
        }
    double ga[KERNEL_MAX_HP] = { 0 }, gb[KERNEL_MAX_HP] = { 0 };
    ok(fop_tile64(p.dev, 0, n, zb, M, &fail));
    ok(fop_grad(p.cpu, 0, n, zb, zb, M, ga, &fail)); /* given B, derivatives are the processor's */
    ok(fop_grad(p.dev, 0, n, zb, zb, M, gb, &fail));
    ck_assert_double_le(apart(kernel_nhp(&p.k), gb, ga), 1e-12);
    ck_assert(!fop_lost(p.dev, NULL));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(P), free(V), free(a), free(b), free(za), free(zb), free(f), free(Ga), free(Gb);
}

/* The gradient's sum over all rows, B = Z S + T V', against the processor's way back from B. */
static void compare_back(const struct job *j, double tol)
{
    enum { K = 3 };
    struct pair p = pair_open(j);
    const size_t n = p.n, M = p.M, nhp = kernel_nhp(&p.k);
    double *S = normals(40, M * M), *T = normals(41, K * n), *V = normals(42, K * M);
    double *Z = mem_calloc(n * M, sizeof *Z, "rows", NULL),
           *B = mem_calloc(n * M, sizeof *B, "B", NULL);

    for (size_t i = 0; i < M; i++)
        for (size_t l = 0; l < i; l++)
            S[i * M + l] = S[l * M + i];
    ok(fop_tile64(p.cpu, 0, n, Z, M, &fail));
    for (int how = 0; how < 3; how++) { /* S and vectors; S alone; vectors alone */
        double a[KERNEL_MAX_HP] = { 0 }, b[KERNEL_MAX_HP] = { 0 }, size = 0.0;
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < M; c++) {
                double s = 0.0;
                for (size_t q = 0; how < 2 && q < M; q++)
                    s += Z[r * M + q] * S[q * M + c];
                for (size_t q = 0; how != 1 && q < K; q++)
                    s += T[q * n + r] * V[q * M + c];
                B[r * M + c] = s;
                size += s * s;
            }
        ok(fop_grad(p.cpu, 0, n, Z, B, M, a, &fail));
        const struct fop_slope back = { how < 2 ? S : NULL, T, V, how != 1 ? K : 0, nhp };
        ok(fop_back(p.dev, &back, b, NULL, &fail));
        /* Sums of n M terms of either sign: what they may lose is a share of their size. */
        const double most =
            tol * (norm(nhp, a) + 0.1 * sqrt(size) * norm(n * M, Z) / sqrt((double)n));
        for (size_t h = 0; h < nhp; h++)
            ck_assert_msg(fabs(a[h] - b[h]) <= most,
                          "%s, %d: hyperparameter %zu, %g, not %g (of %g)", j->kernel, how, h, b[h],
                          a[h], most);
    }
    ck_assert(!fop_lost(p.dev, NULL));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(S), free(T), free(V), free(Z), free(B);
}

static const struct job jobs[] = {
    {.kernel = "rbf", .n = 70, .d = 5, .M = 64},
    {.kernel = "matern(nu=5/2)", .n = 67, .d = 90, .M = 300},
    {.kernel = "matern(nu=3/2,ard)", .n = 33, .d = 7, .M = 130},
    {.kernel = "matern(nu=1/2)", .n = 40, .d = 6, .M = 96},
    {.kernel = "cauchy", .n = 40, .d = 40, .M = 150},
    {.kernel = "rq(alpha=1)", .n = 40, .d = 300, .M = 1030},
    {.kernel = "periodic", .n = 40, .d = 3, .M = 100},
    {.kernel = "linear", .n = 40, .d = 12, .M = 12},
    {.kernel = "poly(degree=3)", .n = 40, .d = 9, .M = 100},
    {.kernel = "arccos", .n = 40, .d = 9, .M = 100},
    {.kernel = "erf", .n = 40, .d = 9, .M = 100},
    {.kernel = "rbf + matern(nu=5/2) + linear", .n = 40, .d = 4, .M = 200},
    {.kernel = "rbf * periodic + constant", .n = 40, .d = 4, .M = 151 + 1},
    {.kernel = "linear * rbf(ard)", .n = 40, .d = 4, .M = 128},
    {.kernel = "conv(rbf,width=3)", .n = 24, .d = 13, .M = 96, .channels = 5},
    {.kernel = "periodic(inputs=1:2) + matern(nu=3/2,ard=2,inputs=2:3)", .n = 30, .d = 5, .M = 72},
    {.kernel = "rbf(inputs=2:4)", .n = 30, .d = 5, .M = 72},
    {.kernel = "rbf(ard=2,inputs=2:3) * conv(cauchy,width=5) * linear(inputs=1:2)",
     .n = 20,
     .d = 16,
     .M = 64,
     .channels = 4,
     .flat = 3},
    {.kernel = "convdense(matern(nu=5/2),width=3)", .n = 24, .d = 13, .M = 96, .channels = 5},
    {.kernel = "convdense(rbf,width=3) * rbf + linear",
     .n = 20,
     .d = 16,
     .M = 96,
     .channels = 5,
     .flat = 3},
    {.kernel = "conv(rbf,width=3) * rbf + linear",
     .n = 20,
     .d = 16,
     .M = 96,
     .channels = 5,
     .flat = 3},
    {.kernel = "poly(inputs=2:3) * conv(rbf,width=4) + periodic",
     .n = 20,
     .d = 16,
     .M = 96,
     .channels = 5,
     .flat = 3},
    {.kernel = "graph(matern(nu=5/2))", .n = 24, .d = 9, .M = 70, .channels = 4},
    {.kernel = "conv(rbf,width=3) + rbf * convdense(cauchy,width=2) + graphpoly(degree=2)",
     .n = 20,
     .d = 25,
     .M = 96,
     .channels = 5,
     .flat = 3,
     .two = true},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static double tolerance(const struct job *j)
{
    return j->precision == PREC_DOUBLE ? 1e-11 : 2e-5;
}

START_TEST(made_anew)
{
    compare(&jobs[_i], tolerance(&jobs[_i]));
}
END_TEST

START_TEST(derivatives)
{
    struct job j = jobs[_i / 2];

    j.precision = _i % 2 ? PREC_DOUBLE : PREC_FLOAT;
    j.weighted = _i % 4 > 1;
    j.store = _i % 3 == 0;
    compare_back(&j, tolerance(&j));
}
END_TEST

START_TEST(in_double)
{
    struct job j = jobs[_i];

    j.precision = PREC_DOUBLE;
    j.weighted = _i % 2;
    j.store = _i % 3 == 0;
    compare(&j, tolerance(&j));
}
END_TEST

START_TEST(stored)
{
    struct job j = jobs[_i];

    j.store = true;
    j.weighted = _i % 2 == 0;
    compare(&j, tolerance(&j));
}
END_TEST

START_TEST(stored_half)
{
    struct job j = jobs[_i];
    struct kernel k;

    ck_assert_int_eq(kernel_parse(j.kernel, &k, NULL, NULL), ST_OK);
    if (!(kernel_half_error(&k) < 1.0) || j.channels)
        return;
    j.store = j.half = true;
    compare(&j, tolerance(&j));
}
END_TEST

#ifndef ON_DEVICE
/* More columns than a cluster holds; clusters of several blocks; every source of features. */
START_TEST(wide)
{
    static const char *const clusters[] = { "8", "1" };
    struct job j = { .kernel = "rbf", .n = 21, .d = 40, .M = 16500, .store = _i / 2 % 3 > 0,
                     .half = _i / 2 % 3 == 2, .weighted = _i / 2 % 2 };
    struct pair p;

    setenv("GPDESK_EMU_CLUSTER", clusters[_i % 2], 1);
    p = pair_open(&j);
    double *P = normals(5, 3 * j.M), *a = normals(6, 3 * j.M), *b = normals(7, 3 * j.M);
    ok(fop_pass(p.cpu, 3, P, a, NULL, &fail));
    ok(fop_pass(p.dev, 3, P, b, NULL, &fail));
    ck_assert_double_le(apart(3 * j.M, b, a), j.half ? 1e-4 : 2e-5);
    ok(fop_zp(p.cpu, 1, P, a, NULL, &fail));
    ok(fop_zp(p.dev, 1, P, b, NULL, &fail));
    ck_assert_double_le(apart(j.n, b, a), 2e-5);
    ok(fop_ztv(p.cpu, 1, P, a, NULL, &fail));
    ok(fop_ztv(p.dev, 1, P, b, NULL, &fail));
    ck_assert_double_le(apart(j.M, b, a), 2e-5);
    pair_close(&p);
    free(P), free(a), free(b);
}
END_TEST

/* A barrier that is missing shows when threads run in another order. */
START_TEST(any_order_of_threads)
{
    struct job j = jobs[_i];
    double *first = NULL, *P = normals(5, 4 * j.M);

    for (int store = 0; store < 2; store++)
        for (emu_order = 0; emu_order < 3; emu_order++) {
            double *w = mem_calloc(2 * 4 * j.M, sizeof *w, "results", NULL);
            j.store = store;
            struct pair p = pair_open(&j);
            ok(fop_pass(p.dev, 4, P, w, NULL, &fail));
            ok(fop_pass(p.dev, 1, P, w + 4 * j.M, NULL, &fail));
            struct solve_info info;
            ok(solver_find("cg", NULL)
                   ->solve(SOLVE_RIDGE(p.dev, 0.7), 1, P, w + 5 * j.M,
                           &(struct solve_opts){.maxit = 4}, NULL, &info, &fail));
            solve_info_free(&info);
            pair_close(&p);
            if (emu_order)
                ck_assert_mem_eq(w, first, 6 * j.M * sizeof *w);
            else {
                free(first);
                first = w;
            }
            if (emu_order)
                free(w);
        }
    free(first);
    free(P);
}
END_TEST

/* Inputs that do not fit stream through two buffers: the same bits.  The kernel reads 8 inputs; the
 * others are there to be moved. */
START_TEST(streaming)
{
    struct job j = { .kernel = "matern(nu=5/2,inputs=1:8)", .n = 30000, .d = 600, .M = 64 };
    static const char *const memory[] = { "1000000000", "120000000" }; /* inputs: 72 MB */
    enum { READ = 8 };
    double *w[2], *P = normals(5, j.M), *t[2], *x = mem_calloc(j.n * j.d, sizeof *x, "rows", NULL);

    for (size_t r = 0; r < j.n; r++)
        for (size_t c = 0; c < READ; c++)
            x[r * j.d + c] = normal(1, r * READ + c);
    for (int i = 0; i < 2; i++) {
        setenv("GPDESK_EMU_MEMORY", memory[i], 1);
        w[i] = normals(6, j.M);
        t[i] = normals(7, j.n);
        struct err err = { 0 };
        struct source_array src;
        struct kernel k;
        ck_assert_int_eq(kernel_parse(j.kernel, &k, NULL, &err), ST_OK);
        source_array_init(&src, x, j.n, j.d, j.d);
        struct featmap *fm = featmap_new(&k, j.d, j.M, 11, &err);
        const struct fop_opts o = { 0 };
        struct fop *f = fop_new(gpdesk_backend(), fm, &src.base, &o, &err);
        ck_assert_msg(f != NULL, "%s", err.msg);
        const double hp = 20.0;
        ok(fop_set(f, &hp, &fail));
        const size_t before = emulated_used();
        ck_assert_int_eq(before > 70000000, i == 0);
        ok(fop_pass(f, 1, P, w[i], NULL, &fail));
        ok(fop_zp(f, 1, P, t[i], NULL, &fail));
        fop_free(f);
        featmap_free(fm);
    }
    ck_assert_double_le(apart(j.M, w[1], w[0]), 1e-6); /* launches are cut elsewhere */
    ck_assert_mem_eq(t[0], t[1], j.n * sizeof *t[0]);
    for (int i = 0; i < 2; i++)
        free(w[i]), free(t[i]);
    free(P), free(x);
}
END_TEST

START_TEST(out_of_memory)
{
    struct job j = { .kernel = "rbf", .n = 2000, .d = 4, .M = 1024 };
    struct pair p = pair_open(&j); /* this much is there */
    struct err err = { 0 };
    const struct fop_opts o = { .store = true };

    setenv("GPDESK_EMU_MEMORY", "7000000", 1);
    ck_assert_ptr_null(fop_new(gpdesk_backend(), p.fm, &p.src->base, &o, &err));
    ck_assert_int_eq(err.code, ST_NOMEM);
    ck_assert_ptr_nonnull(strstr(err.msg, "2000 x 1024"));
    ck_assert_msg(strstr(err.msg, "takes 7.8 MB") != NULL, "%s", err.msg);
    ck_assert_ptr_nonnull(strstr(err.hint, "regenerate"));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    /* In the middle, too. */
    setenv("GPDESK_EMU_MEMORY", "1500000", 1);
    p = pair_open(&(struct job){ .kernel = "rbf", .n = 300, .d = 4, .M = 512 });
    double *G = mem_calloc(512 * 512, sizeof *G, "Gram", NULL);
    ck_assert_int_eq(fop_gram(p.dev, NULL, G, NULL, NULL, NULL, &err), ST_NOMEM);
    ck_assert_ptr_nonnull(strstr(err.msg, "the device has no 2.0 MB for the Gram matrix"));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(G);
}
END_TEST

/* A device that fails in the middle of a solve: the processor goes on from the last iterate. */
START_TEST(device_lost)
{
    struct job j = { .kernel = "matern(nu=5/2)", .n = 400, .d = 4, .M = 128, .store = _i == 1,
                     .half = _i == 2 };
    struct solve_info ia = { 0 }, ib = { 0 };
    struct err err = { 0 };
    char at[24];

    j.store |= j.half;
    struct pair p = pair_open(&j);
    double *b = normals(5, j.M), *xa = normals(6, j.M), *xb = normals(6, j.M);
    const struct solve_opts o = { .rtol = 1e-5, .maxit = 400 };
    const struct solver_ops *cg = solver_find("cg", &err);
    ok(cg->solve(SOLVE_RIDGE(p.cpu, 1.0), 1, b, xa, &o, NULL, &ia, &fail));
    snprintf(at, sizeof at, "%zu", emulated_launches() + 60);
    setenv("GPDESK_EMU_LOST", at, 1);
    ok(cg->solve(SOLVE_RIDGE(p.dev, 1.0), 1, b, xb, &o, NULL, &ib, &fail));
    unsetenv("GPDESK_EMU_LOST");
    ck_assert(fop_lost(p.dev, &err));
    ck_assert_int_eq(err.code, ST_BACKEND);
    ck_assert_int_eq(ib.why, OUT_RTOL);
    ck_assert_double_le(apart(j.M, xb, xa), 1e-4);
    ck_assert_uint_gt(ib.iterations, 20); /* not all before, not all after */
    solve_info_free(&ia);
    solve_info_free(&ib);
    pair_close(&p);
    free(b), free(xa), free(xb);
}
END_TEST


/* Everything that asks the device, once; out: numbers of it all.  The first failure ends it. */
enum { ASKED = 12 };
static enum status ask_all(int kind, double *out, struct err *err)
{
    enum { N = 70, M = 32, D = 3 };
    const bool store = kind > 0, dbl = kind == 2;
    struct pool *pool = pool_new(1, NULL);
    struct source_array src;
    struct kernel k;
    size_t from[KERNEL_MAX_HP], its;
    double *x = normals(1, N * D), *y = normals(2, N), *b = normals(3, 3 * M),
           *sol = normals(4, 3 * M), se;
    double hp[KERNEL_MAX_HP], g[KERNEL_MAX_HP + 2], *G = normals(5, N * N), d[N], e[N];
    struct precond *pre = NULL;
    struct exact_op *op = NULL;
    struct solve_info info[3] = { { 0 } };
    const struct backend_dense *dense = gpdesk_backend()->dense;

    ck_assert_int_eq(kernel_parse("matern(nu=5/2)", &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind(&k, D, from, NULL), ST_OK);
    source_array_init(&src, x, N, D, D);
    hp[0] = 1.3;
    struct featmap *fm = featmap_new(&k, D, M, 11, NULL);
    const struct fop_opts o = { .pool = pool, .store = store, .half = kind == 1,
                                .precision = dbl ? PREC_DOUBLE : PREC_FLOAT };
    struct fop *f = fop_new(gpdesk_backend(), fm, &src.base, &o, err);
    enum status rc = f ? fop_set(f, hp, err) : err->code;
    if (rc == ST_OK)
        rc = nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = 1, .amplitude = 1.1, .noise = 0.4},
            &(struct nmll_told){.value = &out[0], .grad = g}, NULL, err),
        out[1] = g[0];
    const struct nmll_slq_opts slq = { .rank = 8, .probes = 12, .rtol = 1e-5, .probe_rtol = 1e-3 };
    if (rc == ST_OK)
        rc = nmll_slq(
            f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = 1, .amplitude = 1.1, .noise = 0.4}, &slq,
            &(struct nmll_told){.value = &out[2], .se = &se, .grad = g, .iterations = &its}, NULL,
            err),
        out[3] = g[0];
    for (int i = 0; rc == ST_OK && i < 2; i++) {
        const struct precond_opts po = { .rank = 8, .lam2 = 0.3 };
        rc = precond_find(i ? "gram" : "srht2", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &pre,
                                                             err);
        if (rc == ST_OK)
            precond_set_noise(pre, 0.3);
        const struct solve_opts so = { .rtol = 1e-5, .maxit = 80, .pre = pre };
        if (rc == ST_OK)
            rc = solver_find("pcg", NULL)
                     ->solve(SOLVE_RIDGE(f, 0.3), 3, b, sol, &so, NULL, info, err);
        out[4 + i] = norm(3 * M, sol);
        for (size_t c = 0; c < 3; c++)
            solve_info_free(&info[c]);
        precond_free(pre);
        pre = NULL;
    }
    if (rc == ST_OK)
        rc = fop_zp(f, 1, sol, y, NULL, err), out[6] = norm(N, y);
    if (rc == ST_OK)
        rc = exact_op_open(
            gpdesk_backend(),
            &(struct exact_rows){.k = &k, .hp = hp, .X = x, .n = N, .d = D, .pool = pool}, &op,
            err);
    if (rc == ST_OK)
        rc = exact_op_apply(op, N, NULL, 1, y, d, NULL, err), out[7] = norm(N, d);
    exact_op_close(op);
    exact_cross(&(struct exact_rows){ .k = &k, .hp = hp, .X = x, .n = N, .d = D }, x, N, G);
    for (size_t i = 0; i < N; i++)
        G[i + i * N] += 1.0;
    blas_on(dense); /* what fails there the processor does */
    if (rc == ST_OK)
        rc = blas_dpotrf(pool, N, G, N, NULL, NULL, err);
    if (rc == ST_OK)
        rc = blas_dpotri(pool, N, G, N, err);
    if (rc == ST_OK)
        rc = blas_tridiag(pool, N, G, N, d, e, 1, y, N, err);
    out[8] = norm(N, d);
    double a = 1.0, s = 0.5;
    for (size_t i = 0; i < N; i++)
        y[i] = normal(2, i);
    if (rc == ST_OK)
        rc = nmll_exact(
            &k, &src.base,
            &(struct nmll_ask){.y = y,
                               .hp = hp,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{0.1, 10.0}, {0.01, 1.0}}},
            &(struct nmll_told){.value = &out[9], .amplitude = &a, .noise = &s}, pool, NULL, err),
        out[10] = a, out[11] = s;
    blas_on(NULL);
    fop_free(f);
    featmap_free(fm);
    pool_free(pool);
    free(x), free(y), free(b), free(sol), free(G);
    return rc;
}

/* Each call of a device fails, once or for good, and each request for memory: nothing is lost of
 * the host's or of the device's, and either the figures come, from the processor if need be, or an
 * error that says what there was no room for.  GPDESK_EMU_SOME: how many of the calls are tried,
 * evenly spread (8). */
START_TEST(every_call_fails)
{
    static const char *const ways[] = { "GPDESK_EMU_FAIL", "GPDESK_EMU_ONCE", "GPDESK_EMU_NOMEM" };
    const int way = _i % 3, kind = _i / 3;
    const bool memory = way == 2;
    double good[ASKED], out[ASKED];
    struct err err = { 0 };
    char at[24];

    setenv("GPDESK_EMU_DENSE", "16", 1);
    const size_t before = memory ? emulated_requests() : emulated_calls();
    ck_assert_msg(ask_all(kind, good, &err) == ST_OK, "%s", err.msg);
    const size_t calls = (memory ? emulated_requests() : emulated_calls()) - before;
    const char *asked = getenv("GPDESK_EMU_SOME");
    const size_t wanted = asked ? strtoull(asked, NULL, 10) : 8,
                 some = wanted < calls ? wanted : calls;
    ck_assert_uint_gt(calls, memory ? 20 : 200);
    for (size_t q = 0; q < some; q++) {
        const size_t n = q * calls / some + 1,
                     now = memory ? emulated_requests() : emulated_calls();
        snprintf(at, sizeof at, "%zu", now + n);
        setenv(ways[way], at, 1);
        err_clear(&err);
        const enum status rc = ask_all(kind, out, &err);
        unsetenv(ways[way]);
        ck_assert_msg(rc == ST_OK || (memory && rc == ST_NOMEM), "%s %zu of %zu: %s", ways[way], n,
                      calls, err.msg);
        if (rc != ST_OK)
            ck_assert_msg(strstr(err.msg, "the device has no ") != NULL, "%s", err.msg);
        for (int i = 0; rc == ST_OK && i < ASKED;
             i++) /* solutions to 1e-5; features in float32 and halves */
            ck_assert_msg(fabs(out[i] - good[i]) <= 2e-3 * fabs(good[i]) + 2e-3,
                          "%s %zu of %zu: %d is %g, not %g", ways[way], n, calls, i, out[i],
                          good[i]);
        ck_assert_msg(emulated_used() == 0, "%s %zu of %zu: %zu bytes", ways[way], n, calls,
                      emulated_used());
    }
}
END_TEST

/* A transform that is too wide for shared memory takes memory of the device: the same bits. */
START_TEST(little_shared_memory)
{
    struct job j = { .kernel = "matern(nu=5/2,ard) * linear", .n = 90, .d = 5, .M = 128 };
    double *P = normals(5, j.M), w[2][128], grad[2][KERNEL_MAX_HP];
    size_t nhp = 0;

    for (int i = 0; i < 2; i++) {
        setenv("GPDESK_EMU_SHARED", i ? "64" : "100000", 1);
        struct pair p = pair_open(&j);
        nhp = kernel_nhp(&p.k);
        memset(grad[i], 0, sizeof grad[i]);
        ok(fop_pass(p.dev, 1, P, w[i], NULL, &fail));
        ok(fop_back(p.dev, &(struct fop_slope){ NULL, P, P, 1, nhp }, grad[i], NULL, &fail));
        ck_assert(!fop_lost(p.dev, NULL));
        pair_close(&p);
    }
    ck_assert_mem_eq(w[0], w[1], sizeof w[0]);
    ck_assert_mem_eq(grad[0], grad[1], nhp * sizeof grad[0][0]);
    ck_assert_uint_eq(emulated_used(), 0);
    free(P);
}
END_TEST

/* Sums of float32 products where double ones are slow. */
START_TEST(slow_double)
{
    setenv("GPDESK_EMU_DOUBLE", "0", 1);
    compare(&jobs[1], tolerance(&jobs[1]));
    compare(&jobs[JOBS - 1], tolerance(&jobs[JOBS - 1]));
}
END_TEST

START_TEST(devices)
{
    const struct backend_ops *be = gpdesk_backend();
    struct backend_device d;
    struct err err = { 0 };
    char why[64];

    ck_assert_uint_eq(be->abi, BACKEND_ABI);
    ck_assert_uint_eq(be->devices(why, sizeof why), 2);
    ck_assert_int_eq(be->describe(1, &d, &err), ST_OK);
    ck_assert_str_eq(d.name, "emulated device");
    ck_assert_int_eq(be->use(1, &err), ST_OK);
    ck_assert_int_eq(be->use(2, &err), ST_NOT_FOUND);
    ck_assert_str_eq(err.msg, "there is no CUDA device 2: the last one is 1");
}
END_TEST

#endif

START_TEST(stopping)
{
    struct cancel cancel = { true };
    const struct ctl ctl = { .cancel = &cancel };
    struct pair p = pair_open(&jobs[0]);
    double *P = normals(5, p.M), *w = normals(6, p.M * p.M);
    struct err err = { 0 };

    ck_assert_int_eq(fop_pass(p.dev, 1, P, w, &ctl, &err), ST_CANCELLED);
    ck_assert_int_eq(fop_gram(p.dev, NULL, w, NULL, NULL, &ctl, &err), ST_CANCELLED);
    atomic_store(&cancel.stop, false);
    ck_assert_int_eq(fop_pass(p.dev, 1, P, w, &ctl, &err), ST_OK);
    pair_close(&p);
    free(P), free(w);
}
END_TEST

#ifdef ON_DEVICE
/* Sizes of real work: many tiles, clusters of several blocks, each store; and the same bits again.
 */
static const struct job large[] = {
    { .kernel = "rbf", .n = 20000, .d = 8, .M = 4096 },
    { .kernel = "matern(nu=5/2)", .n = 6000, .d = 90, .M = 32768 },
    { .kernel = "matern(nu=3/2)", .n = 5000, .d = 300, .M = 8192 },
    { .kernel = "rbf", .n = 3000, .d = 700, .M = 2048 },
    { .kernel = "rbf * periodic + linear", .n = 20000, .d = 6, .M = 2048 },
    { .kernel = "matern(nu=1/2)", .n = 20000, .d = 20, .M = 2048 },
};
enum { LARGE = sizeof large / sizeof *large };

START_TEST(large_jobs)
{
    struct job j = large[_i / 4];

    j.store = _i % 4 > 0;
    j.half = _i % 4 == 2 && _i / 4 < 4;
    j.weighted = _i % 4 == 3;
    struct pair p = pair_open(&j);
    double *P = normals(5, 13 * j.M), *V = normals(6, 2 * j.n);
    double *a = mem_calloc(13 * j.M + 2 * j.n, sizeof *a, "results", NULL);
    double *b = mem_calloc(13 * j.M + 2 * j.n, sizeof *b, "results", NULL);
    for (size_t k = 1; k <= 13; k += k == 4 ? 9 : k == 1 ? 1 : 2) { /* 1, 2, 4, 13 */
        ok(fop_pass(p.cpu, k, P, a, NULL, &fail));
        ok(fop_pass(p.dev, k, P, b, NULL, &fail));
        ck_assert_msg(apart(k * j.M, b, a) <= (j.half ? 1e-4 : 2e-5), "%s: pass of %zu, %g",
                      j.kernel, k, apart(k * j.M, b, a));
        ok(fop_pass(p.dev, k, P, a, NULL, &fail));
        ck_assert_mem_eq(a, b, k * j.M * sizeof *a); /* the same sums in the same order */
    }
    ok(fop_zp(p.cpu, 2, P, a, NULL, &fail));
    ok(fop_zp(p.dev, 2, P, b, NULL, &fail));
    ck_assert_double_le(apart(2 * j.n, b, a), 2e-5);
    ok(fop_ztv(p.cpu, 2, V, a, NULL, &fail));
    ok(fop_ztv(p.dev, 2, V, b, NULL, &fail));
    ck_assert_double_le(apart(2 * j.M, b, a), 2e-5);
    ok(fop_sketch(p.cpu, 12, P, a, NULL, &fail));
    ok(fop_sketch(p.dev, 12, P, b, NULL, &fail));
    ck_assert_double_le(apart(12 * j.M, b, a), 2e-5);
    ok(fop_sketch_rough(p.dev, 12, P, b, NULL, &fail));
    ck_assert_double_le(apart(12 * j.M, b, a), 4e-4);
    ck_assert_msg(!fop_lost(p.dev, &fail), "%s", fail.msg);
    pair_close(&p);
    free(P), free(V), free(a), free(b);
}
END_TEST
#endif

void operators_add(TCase *t)
{
    tcase_add_loop_test(t, made_anew, 0, JOBS);
    tcase_add_loop_test(t, derivatives, 0, 2 * JOBS);
    tcase_add_loop_test(t, in_double, 0, JOBS);
    tcase_add_loop_test(t, stored, 0, JOBS);
    tcase_add_loop_test(t, stored_half, 0, JOBS);
#ifndef ON_DEVICE
    tcase_add_loop_test(t, wide, 0, 6);
    tcase_add_loop_test(t, any_order_of_threads, 0, JOBS);
    tcase_add_test(t, streaming);
    tcase_add_test(t, out_of_memory);
    tcase_add_loop_test(t, device_lost, 0, 3);
    tcase_add_loop_test(t, every_call_fails, 0, 9);
    tcase_add_test(t, slow_double);
    tcase_add_test(t, little_shared_memory);
    tcase_add_test(t, devices);
#else
    if (!getenv("GPDESK_CUDA_SMALL"))
        tcase_add_loop_test(t, large_jobs, 0, 4 * LARGE);
#endif
    tcase_add_test(t, stopping);
}
