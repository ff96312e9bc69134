/* tests/cuda/bench_cuda.c -- how fast the CUDA backend is, against cuBLAS and the device's memory in the
 * same run.  A table on stdout: what, seconds, what it is compared with, ratio.
 *
 *   bench_cuda [rows [features]]      500000 32768
 *
 * Times of ours are from call to result, medians of 9; those of peers are of events on the device. */
#include "base/mem.h"
#include "compute/backend_load.h"
#include "compute/blas.h"
#include "compute/fop.h"
#include "compute/model.h"
#include "compute/rng.h"
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

static void line(const char *what, double s, const char *peer, double other)
{
    printf("%-46s %10.3f ms", what, 1e3 * s);
    if (peer)
        printf("   %-28s %10.3f ms   x %.2f", peer, 1e3 * other, other / s);
    printf("\n");
    fflush(stdout);
}

struct op { struct featmap *fm; struct fop *f; };

static struct op op_open(const char *kernel, const struct source *src, size_t M, bool store, bool half)
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

static void passes(const struct source *src, size_t M)
{
    static const struct { const char *name; bool store, half; } ways[] = {
        { "stored in float16", true, true },
        { "stored in float32", true, false },
        { "made anew", false, false },
    };
    double *P = mem_calloc(8 * M, sizeof *P, "vectors", NULL);
    double *W = mem_calloc(8 * M, sizeof *W, "vectors", NULL);
    double *T = mem_calloc(src->n, sizeof *T, "vectors", NULL);
    const double gemv = peer_two_gemv(src->n, M), write = peer_write(src->n, M);
    char what[64];

    for (size_t i = 0; i < 8 * M; i++)
        P[i] = rng_normal(1, RNG_TEST, i);
    for (size_t i = 0; i < 3; i++) {
        struct op p = op_open("rbf", src, M, ways[i].store, ways[i].half);
        snprintf(what, sizeof what, "Z'(Z p), %s", ways[i].name);
        line(what, timed(p.f, PASS, 1, P, W, T), "two cublasSgemv, float32", gemv);
        snprintf(what, sizeof what, "Z'(Z P) of 8, %s", ways[i].name);
        line(what, timed(p.f, PASS, 8, P, W, T), "8 times two cublasSgemv", 8.0 * gemv);
        if (i == 2)
            line("features made and multiplied, Z p", timed(p.f, ZP, 1, P, W, T),
                 "writing them in float32", write);
        op_close(&p);
    }
    free(P), free(W), free(T);
}

static void sketches(const struct source *src, size_t M, size_t L)
{
    double *O = mem_calloc(M * L, sizeof *O, "test matrix", NULL);
    double *Y = mem_calloc(M * L, sizeof *Y, "sketch", NULL);
    struct op p = op_open("rbf", src, M, false, false);
    double best = INFINITY;

    for (size_t i = 0; i < M * L; i++)
        O[i] = rng_normal(2, RNG_TEST, i) / sqrt((double)M);
    for (int i = 0; i < 3; i++) {
        const double start = now();
        must(fop_sketch(p.f, L, O, Y, NULL, &err), "sketch");
        best = fmin(best, now() - start);
    }
    line("Z'(Z Omega), rank 1024, single precision", best, NULL, 0.0);
    best = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double start = now();
        must(fop_sketch_rough(p.f, L, O, Y, NULL, &err), "sketch");
        best = fmin(best, now() - start);
    }
    line("Z'(Z Omega), rank 1024, for a preconditioner", best, "two cublasSgemm, float32", peer_two_gemm(src->n, M, L));
    op_close(&p);
    free(O), free(Y);
}

static void grams(const struct source *src, size_t n, size_t M)
{
    struct source some = *src;
    double *G = mem_calloc(M * M, sizeof *G, "Gram", NULL), best = INFINITY;

    some.n = n;
    struct op p = op_open("rbf", &some, M, false, false);
    for (int i = 0; i < 3; i++) {
        const double start = now();
        must(fop_gram(p.f, NULL, G, NULL, NULL, NULL, &err), "gram");
        best = fmin(best, now() - start);
    }
    line("Z'Z, 36000 x 4096, features included", best, "cublasSsyrk, float32", peer_syrk(n, M));
    op_close(&p);
    free(G);
}

static void whole_fit(const struct source *src, const double *y, size_t M)
{
    struct fit_opts o = { .features = M, .rtol = 1e-6, .maxit = 500, .variance = VAR_NONE, .seed = 1,
                          .amplitude = 1.0, .noise = 0.3, .keep_scale = true };
    struct fit_info info;
    struct model *m = NULL;

    must(kernel_parse("rbf", &o.kernel, NULL, &err), "kernel");
    o.hp[0] = sqrt((double)src->d);
    o.solver = "pcg";
    const double start = now();
    must(model_fit(src, y, &o, device, pool, NULL, &m, &info, NULL, &err), "fit");
    const double s = now() - start;
    printf("%-46s %10.3f s    rank %zu, %zu iterations, residual %.1e; precond %.2f solve %.2f s\n",
           "whole fit, rank chosen, rtol 1e-6", s, info.rank, info.iterations, info.true_residual,
           info.seconds.precond, info.seconds.solve);
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
    passes(&src.base, M);
    sketches(&src.base, M, 1024);
    grams(&src.base, n < 36000 ? n : 36000, 4096);
    whole_fit(&src.base, y, M);
    free(x), free(y);
    pool_free(pool);
    return 0;
}
