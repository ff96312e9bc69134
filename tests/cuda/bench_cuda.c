/* tests/cuda/bench_cuda.c -- how fast the CUDA backend is, against cuBLAS and the device's memory
 * in the same run.  A table on stdout (what, time, what it is compared with, ratio, what the ratio
 * or time is to be at least and at best), and the same as JSON where GPDESK_BENCH_JSON names a
 * file.
 *
 *   bench_cuda [rows [features]]      500000 32768
 *
 * Times of ours are from call to result, medians of 9 where they are short; those of peers are of
 * events on the device.  What does not fit into the device's memory is left out by name. */
#include "base/mem.h"
#include "compute/backend_load.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"
#include "compute/models/exact_op.h"
#include "compute/features/fop_rows.h"
#include "compute/models/model.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"
#include "tests/cuda/bench_peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct backend_ops *device;
static struct pool *pool;
static struct err err;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(enum status rc, const char *what)
{
    if (rc == ST_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, err.msg);
    exit(1);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static FILE *json;
static bool first_line = true;

/* floor, aim: ratios to reach, or seconds where there is no peer; 0: none. */
static void line(const char *what, double s, const char *peer, double other, double floor,
                 double aim)
{
    const double got = peer ? other / s : s;
    const char *verdict = floor <= 0.0                            ? ""
                          : peer ? (got >= aim ? "aim" : got >= floor ? "floor" : "MISSED")
                                 : (got <= aim ? "aim" : got <= floor ? "floor" : "MISSED");

    if (s < 1.0)
        printf("%-44s %10.3f ms", what, 1e3 * s);
    else
        printf("%-44s %10.3f s ", what, s);
    if (peer)
        printf("  %-26s %10.3f ms  x %-6.2f", peer, 1e3 * other, got);
    if (floor > 0.0)
        printf("  %s%g .. %g%s: %s", peer ? "x " : "", floor, aim, peer ? "" : " s", verdict);
    printf("\n");
    fflush(stdout);
    if (!json)
        return;
    fprintf(json, "%s\n    {\"what\": \"%s\", \"seconds\": %.9g", first_line ? "" : ",", what, s);
    if (peer)
        fprintf(json, ", \"peer\": \"%s\", \"peer_seconds\": %.9g, \"ratio\": %.4g", peer, other,
                got);
    if (floor > 0.0)
        fprintf(json, ", \"floor\": %g, \"aim\": %g, \"verdict\": \"%s\"", floor, aim, verdict);
    fprintf(json, "}");
    fflush(json);
    first_line = false;
}

/* Room on the device for so many bytes, with some to spare; else said. */
static bool room(const char *what, double bytes)
{
    struct backend_device d;

    must(device->describe(0, &d, &err), "the device");
    if (bytes < 0.9 * (double)d.free)
        return true;
    printf("%-44s left out: %.0f GB, %.0f are free\n", what, 1e-9 * bytes, 1e-9 * (double)d.free);
    return false;
}

struct op { struct featmap *fm; struct fop *f; };

static struct op op_open(const char *kernel, const struct source *src, size_t M, bool store,
                         bool half)
{
    const struct fop_opts o = { .pool = pool, .store = store, .half = half };
    struct op p = { 0 };
    struct kernel k;
    const double hp = sqrt((double)src->d);

    must(kernel_parse(kernel, &k, NULL, &err), kernel);
    p.fm = featmap_new(&k, src->d, M, 1, &err);
    p.f = p.fm ? fop_new(device, p.fm, src, &o, &err) : NULL;
    if (!p.f)
        must(err.code, kernel);
    must(fop_set(p.f, &hp, &err), kernel);
    return p;
}

static void op_close(struct op *p)
{
    if (fop_lost(p->f, &err))
        must(err.code, "the device");
    fop_free(p->f);
    featmap_free(p->fm);
}

enum kind { PASS, ZP };

static double timed(struct fop *f, enum kind kind, size_t k, const double *P, double *W, double *T)
{
    double s[10];

    for (int i = 0; i < 10; i++) { /* the first one warms up, and fills the store */
        const double start = now();
        if (kind == PASS)
            must(fop_pass(f, k, P, W, NULL, &err), "pass");
        else
            must(fop_zp(f, k, P, T, NULL, &err), "Z P");
        s[i] = now() - start;
    }
    qsort(s + 1, 9, sizeof *s, ascending);
    return s[5];
}

/* Seconds of an iteration, from two solves that end at different ones. */
static double iteration(struct fop *f, const struct precond *pre, const double *b, double *x)
{
    const struct solver_ops *pcg = solver_find("pcg", &err);
    double s[2];

    for (int i = 0; i < 3; i++) { /* the first one fills the store */
        const struct solve_opts o = { .rtol = 1e-30, .maxit = i == 2 ? 30 : 10, .check_every = 1000,
                                      .pre = pre };
        struct solve_info info;
        const double start = now();
        must(pcg->solve(SOLVE_RIDGE(f, 0.09), 1, b, x, &o, NULL, &info, &err), "pcg");
        s[i == 2] = now() - start;
        solve_info_free(&info);
    }
    return (s[1] - s[0]) / 20.0;
}

/* Features made and stored: a pass that has to fill the store, less one that has not. */
static double filling(struct fop *f, double hp, const double *P, double *W)
{
    double s[5];

    for (int i = 0; i < 5; i++) {
        must(fop_set(f, &hp, &err), "set");
        const double start = now();
        must(fop_pass(f, 1, P, W, NULL, &err), "pass");
        const double middle = now();
        must(fop_pass(f, 1, P, W, NULL, &err), "pass");
        s[i] = (middle - start) - (now() - middle);
    }
    qsort(s + 1, 4, sizeof *s, ascending);
    return s[2];
}

static void passes(const struct source *src, size_t M)
{
    static const struct { const char *name; bool store, half; double size, floor, aim; } ways[] = {
        { "stored in float16", true, true, 2.0, 2.0, 3.5 },
        { "stored in float32", true, false, 4.0, 0.0, 0.0 },
        { "made anew", false, false, 0.0, 1.2, 2.5 },
    };
    const double numbers = (double)src->n * (double)M;
    double *P = mem_calloc(8 * M, sizeof *P, "vectors", NULL);
    double *W = mem_calloc(8 * M, sizeof *W, "vectors", NULL);
    double *T = mem_calloc(src->n, sizeof *T, "vectors", NULL);
    const bool fits = room("two cublasSgemv, float32", 4.0 * numbers);
    const double gemv = fits ? peer_two_gemv(src->n, M) : 0.0, write = peer_write(src->n, M);
    const char *peer = fits ? "two cublasSgemv, float32" : NULL;
    char what[64];

    for (size_t i = 0; i < 8 * M; i++)
        P[i] = rng_normal(1, RNG_TEST, i);
    for (size_t i = 0; i < 3; i++) {
        snprintf(what, sizeof what, "features, %s", ways[i].name);
        if (!room(what, ways[i].size * numbers))
            continue;
        struct op p = op_open("rbf", src, M, ways[i].store, ways[i].half);
        snprintf(what, sizeof what, "an iteration of PCG, %s", ways[i].name);
        line(what, iteration(p.f, NULL, P, W), peer, gemv, fits ? ways[i].floor : 0.0, ways[i].aim);
        snprintf(what, sizeof what, "Z'(Z p), %s", ways[i].name);
        line(what, timed(p.f, PASS, 1, P, W, T), peer, gemv, 0.0, 0.0);
        snprintf(what, sizeof what, "Z'(Z P) of 8, %s", ways[i].name);
        line(what, timed(p.f, PASS, 8, P, W, T), fits ? "8 times two cublasSgemv" : NULL,
             8.0 * gemv, 0.0, 0.0);
        if (i == 1) /* no more than 1.5 and 1.1 times the time of writing them */
            line("features of 90 (128) inputs, stored in float32",
                 filling(p.f, sqrt((double)src->d), P, W), "writing them in float32", write,
                 1 / 1.5, 1 / 1.1);
        op_close(&p);
    }
    free(P), free(W), free(T);
}

static void sketches(const struct source *src, size_t M, size_t L)
{
    double *O = mem_calloc(M * L, sizeof *O, "test matrix", NULL);
    double *Y = mem_calloc(M * L, sizeof *Y, "sketch", NULL),
           *W = mem_calloc(M, sizeof *W, "x", NULL);
    struct op p = op_open("rbf", src, M, false, false);
    struct precond *pre = NULL;
    double best[3] = { INFINITY, INFINITY, INFINITY };
    char what[64];

    for (size_t i = 0; i < M * L; i++)
        O[i] = rng_normal(2, RNG_TEST, i) / sqrt((double)M);
    for (int i = 0; i < 9; i++) {
        const double start = now();
        if (i % 3 == 0)
            must(fop_sketch(p.f, L, O, Y, NULL, &err), "sketch");
        else if (i % 3 == 1)
            must(fop_sketch_rough(p.f, L, O, Y, NULL, &err), "sketch");
        precond_free(i % 3 == 2 ? pre : NULL);
        if (i % 3 == 2)
            must(precond_find("srht", &err)
                     ->build(SOLVE_RIDGE(p.f, 0.0), &(struct precond_opts){.rank = L}, NULL, &pre,
                             &err),
                 "preconditioner");
        best[i % 3] = fmin(best[i % 3], now() - start);
    }
    const double gemm = peer_two_gemm(src->n, M, L);
    snprintf(what, sizeof what, "Z'(Z Omega), rank %zu, single precision", L);
    line(what, best[0], "two cublasSgemm, float32", gemm, 0.0, 0.0);
    snprintf(what, sizeof what, "Z'(Z Omega), rank %zu, as preconditioners", L);
    line(what, best[1], "two cublasSgemm, float32", gemm, 3.0, 8.0);
    snprintf(what, sizeof what, "a preconditioner of rank %zu, all of it", L);
    line(what, best[2], "two cublasSgemm, float32", gemm, 3.0, 8.0);
    precond_set_noise(pre, 0.09);
    snprintf(what, sizeof what, "an iteration with it, made anew");
    line(what, iteration(p.f, pre, O, W), NULL, 0.0, 0.0, 0.0);
    precond_free(pre);
    op_close(&p);
    free(O), free(Y), free(W);
}

static void grams(const struct source_array *src, size_t n, size_t M)
{
    struct source_array some = *src;
    double *G = mem_calloc(M * M, sizeof *G, "Gram", NULL), best = INFINITY;
    char what[64];

    some.base.n = n;
    struct op p = op_open("rbf", &some.base, M, false, false);
    for (int i = 0; i < 3; i++) {
        const double start = now();
        must(fop_gram(p.f, NULL, G, NULL, NULL, NULL, &err), "gram");
        best = fmin(best, now() - start);
    }
    snprintf(what, sizeof what, "Z'Z, %zu x %zu, features included", n, M);
    line(what, best, "cublasSsyrk, float32", peer_syrk(n, M), 0.0, 0.0);
    op_close(&p);
    free(G);
}

/* Factorisations of blas.h: here and there, both ways of the copy included. */
static void factorisations(size_t n)
{
    double *A = mem_aligned(n * n, sizeof *A, "matrix", NULL),
           *B = mem_aligned(n * n, sizeof *B, "m", NULL);
    double *d = mem_calloc(4 * n, sizeof *d, "vectors", NULL), s[2][3];
    static const char *const names[] = { "Cholesky factor", "tridiagonal form", "eigenvectors" };
    char what[64], peer[64];

    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            A[j * n + i] = i == j ? (double)n : cos((double)(i * j % 1013));
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < j; i++)
            A[j * n + i] = A[i * n + j];
    for (int o = 0; o < 3; o++) { /* there once more: the first one starts cuSOLVER */
        blas_on(o ? device->dense : NULL);
        for (int what_of = 0; what_of < 3; what_of++) {
            memcpy(B, A, n * n * sizeof *B);
            const double start = now();
            if (what_of == 0)
                must(blas_dpotrf(pool, n, B, n, NULL, NULL, &err), "potrf");
            else if (what_of == 1)
                must(blas_tridiag(pool, n, B, n, d, d + n, 1, d + 2 * n, n, &err), "tridiag");
            else
                must(blas_dsyevd(n, B, n, d, true, &err), "syevd");
            s[o > 0][what_of] = now() - start;
        }
    }
    for (int i = 0; i < 3; i++) {
        snprintf(what, sizeof what, "%s of %zu, copies included", names[i], n);
        snprintf(peer, sizeof peer, "on %zu cores", pool_threads(pool));
        line(what, s[1][i], peer, s[0][i], 0.0, 0.0);
    }
    blas_on(NULL);
    free(A), free(B), free(d);
}

/* The gradient of the marginal likelihood in all hyperparameters, with the matrix and without
 * (probes), and the factor of Z'Z that stays there with the iterations that it leaves. */
static void gradients(const struct source_array *src, size_t n, size_t M)
{
    struct source_array some = *src;
    double *S = mem_calloc(M * M, sizeof *S, "matrix", NULL), grad[KERNEL_MAX_HP] = { 0 };
    double *T = mem_calloc(17 * n, sizeof *T, "vectors", NULL),
           *V = mem_calloc(17 * M, sizeof *V, "v", NULL);
    double best[3] = { INFINITY, INFINITY, INFINITY };
    char what[80];

    some.base.n = n;
    struct op p = op_open("rbf", &some.base, M, false, false);
    for (size_t i = 0; i < M; i++)
        S[i * M + i] = 1.0;
    for (size_t i = 0; i < 17 * n; i++)
        T[i] = rng_normal(5, RNG_TEST, i);
    for (size_t i = 0; i < 17 * M; i++)
        V[i] = rng_normal(6, RNG_TEST, i);
    const struct fop_slope by_gram = { S, T, V, 1, kernel_nhp(&p.k) },
                           by_probes = { NULL, T, V, 17, kernel_nhp(&p.k) };
    for (int i = 0; i < 9; i++) {
        const double start = now();
        if (i % 3 == 0)
            must(fop_back(p.f, &by_gram, grad, NULL, &err), "gradient");
        else if (i % 3 == 1)
            must(fop_back(p.f, &by_probes, grad, NULL, &err), "gradient");
        else
            must(fop_factor(p.f, 0.09, NULL, &err), "factor");
        best[i % 3] = fmin(best[i % 3], now() - start);
    }
    snprintf(what, sizeof what, "gradient, %zu x %zu, by the Gram", n, M);
    line(what, best[0], "cublasSsyrk, float32", peer_syrk(n, M), 0.0, 0.0);
    snprintf(what, sizeof what, "gradient, %zu x %zu, by 16 probes", n, M);
    line(what, best[1], NULL, 0.0, 0.0, 0.0);
    snprintf(what, sizeof what, "factor of Z'Z that stays, %zu x %zu", n, M);
    line(what, best[2], "cublasSsyrk, float32", peer_syrk(n, M), 0.0, 0.0);
    struct precond *pre = NULL;
    must(precond_find("gram", &err)
             ->build(SOLVE_RIDGE(p.f, 0.0), &(struct precond_opts){.lam2 = 0.09}, NULL, &pre, &err),
         "preconditioner");
    line("an iteration with it", iteration(p.f, pre, V, V + M), NULL, 0.0, 0.0, 0.0);
    precond_free(pre);
    op_close(&p);
    free(S), free(T), free(V);
}

/* A product with the exact kernel matrix of n rows, without it. */
static void exact_products(const struct source_array *src, size_t n)
{
    const size_t d = src->base.d;
    double *V = mem_calloc(n, sizeof *V, "vectors", NULL),
           *W = mem_calloc(n, sizeof *W, "vectors", NULL);
    double best = INFINITY;
    const double hp = sqrt((double)d);
    struct kernel k;
    struct exact_op *op;
    char what[80];

    for (size_t i = 0; i < n; i++)
        V[i] = rng_normal(7, RNG_TEST, i);
    must(kernel_parse("matern(nu=3/2)", &k, NULL, &err), "kernel");
    must(exact_op_open(
             device,
             &(struct exact_rows){.k = &k, .hp = &hp, .X = src->x, .n = n, .d = d, .pool = pool},
             &op, &err),
         "exact kernel");
    for (int i = 0; i < 3; i++) {
        const double start = now();
        must(exact_op_apply(op, n, NULL, 1, V, W, NULL, &err), "exact kernel");
        best = fmin(best, now() - start);
    }
    snprintf(what, sizeof what, "K v of %zu rows, K never stored", n);
    line(what, best, NULL, 0.0, 0.0, 0.0);
    exact_op_close(op);
    free(V), free(W);
}

/* Stochastic dual descent on the exact kernel of the first n rows and d inputs for a target and 64
 * functions: batches of 512 rows, of `whole` steps as many as `steps`, by which the time is
 * multiplied (its start, the largest eigenvalue, too).  floor, aim: seconds. */
static void descents(const struct source_array *src, const double *y, size_t n, size_t d,
                     size_t steps, size_t whole, double floor, double aim)
{
    enum { VECTORS = 65 };
    const size_t all = src->base.d;
    double *X = mem_aligned(n * d, sizeof *X, "rows", &err),
           *B = mem_calloc(2 * VECTORS, n * sizeof *B, "vectors", &err), hp[KERNEL_MAX_HP];
    struct solve_info info[VECTORS];
    struct exact_system *s = NULL;
    size_t from[KERNEL_MAX_HP];
    struct kernel k;
    char what[80];

    must(X && B ? ST_OK : ST_NOMEM, "rows");
    for (size_t i = 0; i < n * d; i++)
        X[i] = src->x[i / d * all + i % d];
    for (size_t i = 0; i < VECTORS * n; i++)
        B[i] = i < n ? y[i] : rng_normal(8, RNG_TEST, i);
    must(kernel_parse("matern(nu=3/2,ard)", &k, NULL, &err), "kernel");
    must(kernel_bind(&k, d, from, &err), "kernel");
    for (size_t i = 0; i < d; i++)
        hp[i] = 2.0 * sqrt((double)d);
    const struct exact_rows rows = { .k = &k, .hp = hp, .X = X, .n = n, .d = d, .pool = pool };
    must(exact_system_open(device, &rows, &s, &err), "exact kernel");
    const struct linop A = exact_system_linop(s, 0.01);
    const struct solve_opts o = { .rtol = 1e-12, .maxit = steps, .seed = 9 };
    const double start = now();
    must(solver_find("sdd", &err)->solve(&A, VECTORS, B, B + VECTORS * n, &o, NULL, info, &err),
         "dual descent");
    const double took = (now() - start) * (double)whole / (double)steps;
    snprintf(what, sizeof what, "sdd, %zu x %zu, %d vectors, %zu steps", n, d, VECTORS, whole);
    line(what, took, NULL, 0.0, floor, aim);
    printf("  %zu steps were made%s; residual %.2g, halved %zu times\n", info[0].iterations,
           exact_op_there(exact_system_op(s), NULL) ? "" : " WITHOUT THE DEVICE",
           info[0].residual, info[0].halved);
    for (size_t c = 0; c < VECTORS; c++)
        solve_info_free(&info[c]);
    exact_system_close(s);
    free(X), free(B);
}

static void start_json(const char *device_name, size_t n, size_t d, size_t M)
{
    const char *file = getenv("GPDESK_BENCH_JSON");

    json = file && *file ? fopen(file, "w") : NULL;
    if (json)
        fprintf(json,
                "{\"device\": \"%s\", \"rows\": %zu, \"inputs\": %zu, \"features\": %zu,\n  "
                "\"lines\": [",
                device_name, n, d, M);
}

static void whole_fit(const struct source *src, const double *y, size_t M)
{
    struct fit_opts o = {.features = M,
                         .rtol = 1e-6,
                         .maxit = 500,
                         .variance = VAR_NONE,
                         .seed = 1,
                         .amplitude = 1.0,
                         .noise = 0.3,
                         .keep_scale = true};
    struct fit_info info;
    struct model *m = NULL;

    must(kernel_parse("rbf", &o.kernel, NULL, &err), "kernel");
    o.hp[0] = sqrt((double)src->d);
    o.solver = "pcg";
    model_on(&o, device, pool_threads(pool)); /* as the program plans for it */
    blas_on(device->dense);
    const double start = now();
    must(model_fit(src, y, &o, &(struct tools){device, pool, NULL}, &m, &info, NULL, &err), "fit");
    const double s = now() - start;
    line("whole fit, rank chosen, rtol 1e-6", s, NULL, 0.0, 10.0, 2.0);
    printf("  rank %zu, %zu iterations, residual %.1e; features %.2f precond %.2f solve %.2f "
           "variance %.2f s\n",
           info.rank, info.iterations, info.true_residual, info.seconds.features,
           info.seconds.precond, info.seconds.solve, info.seconds.variance);
    printf("  %s\n", info.plan_note);
    if (*info.warning)
        printf("  warning[%s]: %s\n", info.warning_name, info.warning);
    fflush(stdout);
    model_unref(m);
}

struct made { struct source_array *src; double *x; };

static void make_row(void *ctx, size_t task, size_t worker)
{
    const struct source_array *a = ((struct made *)ctx)->src;
    const size_t r0 = task * 1000, d = a->base.d;

    (void)worker;
    for (size_t i = r0 * d; i < (r0 + 1000) * d && i < a->base.n * d; i++)
        ((struct made *)ctx)->x[i] = rng_normal(3, RNG_TEST, i);
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 500000, d = 90;
    const size_t M = argc > 2 ? strtoul(argv[2], NULL, 10) : 32768;
    const char *why = peer_open();
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct backend_device info;

    device = why ? NULL : backend_module(&why);
    if (!device) {
        printf("bench_cuda skipped: %s\n", why);
        return 0;
    }
    must(device->describe(0, &info, &err), "the device");
    printf("%s, %.1f of %.1f GB free; %ld cores\n%zu rows x %zu inputs, %zu features\n", info.name,
           1e-9 * (double)info.free, 1e-9 * (double)info.memory, cores, n, d, M);
    blas_init();
    pool = pool_new(cores > 0 && cores < 64 ? (size_t)cores : 2, &err);
    double *x = mem_aligned(n * d, sizeof *x, "rows", &err);
    double *y = mem_calloc(n, sizeof *y, "targets", &err);
    struct source_array src;
    must(x && y && pool ? ST_OK : ST_NOMEM, "rows");
    source_array_init(&src, x, n, d, d);
    struct made made = { &src, x };
    pool_run(pool, (n + 999) / 1000, make_row, &made);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 8; j++)
            y[i] += sin((double)(j + 1) * 0.4 * x[i * d + j]) / 2.0;
        y[i] += 0.3 * rng_normal(4, RNG_TEST, i);
    }
    start_json(info.name, n, d, M);
    whole_fit(&src.base, y, M); /* what matters most first */
    passes(&src.base, M);
    sketches(&src.base, M, M < 8192 ? M / 8 : 1024);
    grams(&src, n < 36000 ? n : 36000, 4096);
    gradients(&src, n < 36000 ? n : 36000, 4096);
    exact_products(&src, n < 50000 ? n : 50000);
    /* As pol, whole (authors, A100: 113 s); and as song, a part of it (185 minutes). */
    descents(&src, y, n < 13500 ? n : 13500, 26, 100000, 100000, 113.0, 5.0);
    descents(&src, y, n, d, 1000, 100000, 11100.0, 70.0);
    factorisations(2048);
    factorisations(4096);
    if (json) {
        fprintf(json, "\n  ]}\n");
        fclose(json);
    }
    free(x), free(y);
    pool_free(pool);
    return 0;
}
