/* tests/bench/bench_compute.c -- how fast the inner loops run, beside an obvious baseline on the same
 * data in the same run and beside what the machine can do.
 *
 *   bench_compute [--json FILE] [--threads N] [--level portable|avx2|avx512|amx] [--only PART]
 *
 * PART: limits fht sincos features pass stored products.
 *
 * Times are the best of several repeats: of the thread's CPU time for one thread, which other work on
 * the machine disturbs least, of wall time for several.
 * "feature": one sine or cosine entry of Z. Baselines are single-threaded BLAS or a plain C loop. */
#include "base/buf.h"
#include "base/mem.h"
#include "compute/blas.h"
#include "compute/fop.h"
#include "compute/rng.h"
#include "compute/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct buf json;
static size_t threads = 2;
static int repeats = 7;
static double sgemm_peak, dgemm_peak; /* GFLOP/s of one thread */

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_by(clockid_t clock, void (*fn)(void *), void *ctx)
{
    double least = HUGE_VAL;

    fn(ctx);
    for (int i = 0; i < repeats; i++) {
        const double t0 = now(clock);
        fn(ctx);
        const double t = now(clock) - t0;
        least = t < least ? t : least;
    }
    return least;
}

/* Best time of fn(ctx) in seconds: of the calling thread, or by the clock on the wall. */
static double best(void (*fn)(void *), void *ctx)
{
    return best_by(CLOCK_THREAD_CPUTIME_ID, fn, ctx);
}

static double best_wall(void (*fn)(void *), void *ctx)
{
    return best_by(CLOCK_MONOTONIC, fn, ctx);
}

/* One line of the table and one object of the JSON.  baseline: value of the baseline in the same
 * unit, 0: none; limit: fraction of the named limit, 0: none. */
static void row(const char *what, double value, const char *unit, double baseline,
                const char *baseline_name, double ratio, double limit)
{
    char b[64] = "-", l[16] = "-";

    if (baseline > 0.0)
        snprintf(b, sizeof b, "%.4g (%s)", baseline, baseline_name);
    if (limit > 0.0)
        snprintf(l, sizeof l, "%.0f%%", 100.0 * limit);
    printf("%-46s %9.4g %-14s %-34s %7.2f %6s\n", what, value, unit, b, ratio, l);
    fflush(stdout);
    buf_puts(&json, json.len > 1 ? ",\n  {\"row\":" : "\n  {\"row\":");
    buf_json_string(&json, what);
    buf_puts(&json, ",\"value\":");
    buf_json_double(&json, value);
    buf_puts(&json, ",\"unit\":");
    buf_json_string(&json, unit);
    buf_puts(&json, ",\"baseline\":");
    buf_json_double(&json, baseline > 0.0 ? baseline : NAN);
    buf_puts(&json, ",\"ratio\":");
    buf_json_double(&json, ratio > 0.0 ? ratio : NAN);
    buf_puts(&json, ",\"of_limit\":");
    buf_json_double(&json, limit > 0.0 ? limit : NAN);
    buf_putc(&json, '}');
}

static void *need(size_t count, size_t size)
{
    struct err err;
    void *p = mem_aligned(count, size, "benchmark", &err);

    if (!p) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    memset(p, 0, count * size);
    return p;
}

static double *normals(size_t n, uint32_t sub)
{
    double *v = need(n, sizeof *v);

    for (size_t i = 0; i < n; i++)
        v[i] = rng_normal(1, rng_stream(RNG_TEST, sub), i);
    return v;
}

static void fill_floats(size_t n, float *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(rng_uniform(1, rng_stream(RNG_TEST, 50), i % 4096) - 0.5);
}

/* ---- what the machine can do ----------------------------------------------------------------- */

struct gemm { size_t n; void *a, *b, *c; };

static void run_sgemm(void *ctx)
{
    const struct gemm *g = ctx;

    blas_sgemm1(false, true, g->n, g->n, g->n, 1.0F, g->a, g->n, g->b, g->n, 0.0F, g->c, g->n);
}

static void run_dgemm(void *ctx)
{
    const struct gemm *g = ctx;

    blas_dgemm1(false, true, g->n, g->n, g->n, 1.0, g->a, g->n, g->b, g->n, 0.0, g->c, g->n);
}

static void bench_limits(void)
{
    struct gemm g = { .n = 1536 };
    const double flops = 2.0 * pow((double)g.n, 3.0);

    g.a = need(g.n * g.n, 8);
    g.b = need(g.n * g.n, 8);
    g.c = need(g.n * g.n, 8);
    fill_floats(g.n * g.n, g.a);
    fill_floats(g.n * g.n, g.b);
    sgemm_peak = flops / best(run_sgemm, &g) * 1e-9;
    memset(g.a, 0, g.n * g.n * 8);
    memset(g.b, 0, g.n * g.n * 8);
    dgemm_peak = flops / best(run_dgemm, &g) * 1e-9;
    row("sgemm, n=1536, 1 thread", sgemm_peak, "GFLOP/s", 0, "", 0, 0);
    row("dgemm, n=1536, 1 thread", dgemm_peak, "GFLOP/s", 0, "", 0, 0);
    free(g.a);
    free(g.b);
    free(g.c);
}

/* ---- transforms ------------------------------------------------------------------------------ */

struct fht { size_t n, rows; float *v; };

static void run_fht(void *ctx)
{
    const struct fht *f = ctx;
    const size_t lanes = simd_now()->f32.lanes;

    for (size_t r = 0; r < f->rows; r += lanes)
        simd_now()->f32.fht(f->v + r * f->n, f->n);
}

static void run_plain_fht(void *ctx)
{
    const struct fht *f = ctx;

    for (size_t r = 0; r < f->rows; r++) {
        float *v = f->v + r * f->n;
        for (size_t h = 1; h < f->n; h *= 2)
            for (size_t i = 0; i < f->n; i += 2 * h)
                for (size_t j = i; j < i + h; j++) {
                    const float a = v[j], b = v[j + h];
                    v[j] = a + b;
                    v[j + h] = a - b;
                }
    }
}

static void bench_fht(void)
{
    for (size_t n = 32; n <= 8192; n *= 4) {
        struct fht f = { .n = n, .rows = 2000 };
        char what[64];
        f.v = need(f.n * f.rows, sizeof *f.v); /* zeros: repeats must not overflow */
        const double per = 1e9 / (double)(f.n * f.rows), t = best(run_fht, &f) * per;
        const double plain = best(run_plain_fht, &f) * per;
        snprintf(what, sizeof what, "FHT f32, 2000 rows of %zu, in lanes", n);
        row(what, t, "ns/element", plain, "plain C loop", plain / t, 0);
        free(f.v);
    }
}

enum { PAIRS = 4096 };
struct sc { bool dbl; void *t, *s, *c; };

static void run_sincos(void *ctx)
{
    const struct sc *x = ctx;

    for (int i = 0; i < 64; i++)
        (x->dbl ? &simd_now()->f64 : &simd_now()->f32)->sincospi(PAIRS, x->t, x->s, x->c);
}

static void run_libm(void *ctx)
{
    const struct sc *x = ctx;

    for (int i = 0; i < 64; i++)
        for (size_t j = 0; j < PAIRS; j++) {
            if (x->dbl)
                sincos(((double *)x->t)[j], (double *)x->s + j, (double *)x->c + j);
            else
                sincosf(((float *)x->t)[j], (float *)x->s + j, (float *)x->c + j);
        }
}

static void bench_sincos(void)
{
    for (int dbl = 0; dbl < 2; dbl++) {
        struct sc x = { dbl, need(PAIRS, 8), need(PAIRS, 8), need(PAIRS, 8) };
        for (size_t i = 0; i < PAIRS; i++) {
            const double v = 40.0 * rng_uniform(1, rng_stream(RNG_TEST, 51), i) - 20.0;
            if (dbl)
                ((double *)x.t)[i] = v;
            else
                ((float *)x.t)[i] = (float)v;
        }
        const double per = 1e9 / (64.0 * PAIRS), t = best(run_sincos, &x) * per;
        const double libm = best(run_libm, &x) * per;
        row(dbl ? "sin and cos f64" : "sin and cos f32", t, "ns/pair", libm, "libm, scalar", libm / t,
            0);
        free(x.t);
        free(x.s);
        free(x.c);
    }
}

/* ---- projections ----------------------------------------------------------------------------- */

struct proj {
    const struct simd_real *real;
    struct simd_term term;
    size_t n, d, M;
    double *X;
    void *scratch, *a, *b, *c;
};

static void run_features(void *ctx)
{
    struct proj *p = ctx;
    const size_t lanes = p->real->lanes;

    for (size_t r = 0; r + lanes <= p->n; r += lanes)
        p->real->gen(&p->term, p->X + r * p->d, p->d, lanes, p->c, lanes, 0, NULL, 0, NULL, 0,
                     p->scratch);
}

static void run_dense_projection(void *ctx)
{
    struct proj *p = ctx;

    if (p->real->size == sizeof(float))
        blas_sgemm1(true, false, p->M / 2, p->n, p->d, 1.0F, p->a, p->d, p->b, p->d, 0.0F, p->c,
                    p->M / 2);
    else
        blas_dgemm1(true, false, p->M / 2, p->n, p->d, 1.0, p->a, p->d, p->b, p->d, 0.0, p->c,
                    p->M / 2);
}

/* 2000 rows of d inputs to `out` frequencies, sines and cosines included; the baseline multiplies
 * by a dense matrix and takes no sine. */
static void bench_features(size_t d, size_t out, bool dbl)
{
    struct proj p = { .n = 2000, .d = d, .M = 2 * out };
    struct kernel k;
    struct err err;
    char what[80];

    p.real = dbl ? &simd_now()->f64 : &simd_now()->f32;
    kernel_parse("rbf", &k, NULL, NULL);
    struct featmap *fm = featmap_new(&k, d, p.M, 7, &err);
    if (!fm || p.real->prepare(&p.term, &fm->term[0], &err) != ST_OK) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    for (size_t i = 0; i < d; i++)
        p.term.inv[i] = 1.0 / sqrt((double)d);
    p.X = normals(p.n * d, 54);
    p.scratch = need(p.real->scratch(&p.term), 1);
    p.a = need(d * out, 8);
    p.b = need(d * p.n, 8);
    p.c = need(p.n * out > p.M * 16 ? p.n * out : p.M * 16, 8);
    if (!dbl) {
        fill_floats(d * out, p.a);
        fill_floats(d * p.n, p.b);
    }
    const double t = best(run_features, &p) * 1e3, dense = best(run_dense_projection, &p) * 1e3;
    snprintf(what, sizeof what, "features %s 2000 x %zu -> %zu, 1 thread", dbl ? "f64" : "f32", d,
             out);
    row(what, t, "ms", dense, dbl ? "dgemm, no sines" : "sgemm, no sines", dense / t, 0);
    simd_term_free(&p.term);
    featmap_free(fm);
    free(p.X);
    free(p.scratch);
    free(p.a);
    free(p.b);
    free(p.c);
}

/* ---- passes ---------------------------------------------------------------------------------- */

struct work {
    size_t n, d, M, k, L;
    double *X, *P, *W, *y;
    struct source_array src;
    struct featmap *fm;
    struct pool *pool;
    struct fop *f;
};

static void work_open(struct work *w, const char *kernel, size_t nthreads, enum precision precision,
                      bool store)
{
    const struct fop_opts opts = { .precision = precision, .store = store,
                                   .pool = w->pool = pool_new(nthreads, NULL) };
    const double l = sqrt((double)w->d);
    struct kernel k;
    struct err err;

    kernel_parse(kernel, &k, NULL, NULL);
    w->k = 1;
    w->X = normals(w->n * w->d, 52);
    w->P = normals(16 * w->M, 53);
    w->W = need(16 * w->M, sizeof *w->W);
    source_array_init(&w->src, w->X, w->n, w->d, w->d);
    w->fm = featmap_new(&k, w->d, w->M, 7, &err);
    w->f = w->fm ? fop_new(backend_cpu(), w->fm, &w->src.base, &opts, &err) : NULL;
    if (!w->f || fop_set(w->f, &l, &err) != ST_OK) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
}

static void work_close(struct work *w)
{
    fop_free(w->f);
    featmap_free(w->fm);
    pool_free(w->pool);
    free(w->X);
    free(w->P);
    free(w->W);
}

static void run_pass(void *ctx)
{
    struct work *w = ctx;

    fop_pass(w->f, w->k, w->P, w->W, NULL, NULL);
}

static void bench_pass(const char *kernel, size_t d, size_t M, enum precision precision)
{
    struct work w = { .n = (size_t)100000000 / M, .d = d, .M = M };
    char what[100];
    const double feats = (double)w.n * (double)M * 1e-9;

    work_open(&w, kernel, 1, precision, false);
    const double one = best(run_pass, &w);
    snprintf(what, sizeof what, "pass %s %s d=%zu M=%zu, made anew, 1 thread", kernel,
             precision == PREC_DOUBLE ? "f64" : "f32", d, M);
    row(what, feats / one, "Gfeature/s", 0, "", 0, 0);
    w.k = 16;
    const double sixteen = best(run_pass, &w);
    row("the same, 16 right-hand sides", sixteen * 1e3, "ms", one * 1e3, "1 right-hand side",
        sixteen / one, 0);
    work_close(&w);
    if (precision == PREC_DOUBLE || threads < 2)
        return;
    work_open(&w, kernel, threads, precision, false);
    const double many = best_wall(run_pass, &w);
    snprintf(what, sizeof what, "the same, %zu threads, wall time", threads);
    row(what, feats / many, "Gfeature/s", feats / one, "1 thread", one / many,
        one / many / (double)threads);
    work_close(&w);
}

struct gemv { size_t n, M; float *Z, *p, *t, *w; };

static void run_gemv(void *ctx)
{
    struct gemv *g = ctx;

    blas_sgemv1(true, g->M, g->n, 1.0F, g->Z, g->M, g->p, 0.0F, g->t);
    blas_sgemv1(false, g->M, g->n, 1.0F, g->Z, g->M, g->t, 0.0F, g->w);
}

static void bench_stored(size_t d, size_t M)
{
    struct work w = { .n = (size_t)100000000 / M, .d = d, .M = M };
    struct gemv g = { w.n, M, need(w.n * M, 4), need(M, 4), need(w.n, 4), need(M, 4) };
    const double per = 1e9 / ((double)w.n * (double)M);
    char what[100];

    fill_floats(M, g.p);
    const double two = best(run_gemv, &g) * per;
    free(g.Z), free(g.p), free(g.t), free(g.w);
    work_open(&w, "rbf", 1, PREC_FLOAT, true);
    const double t = best(run_pass, &w) * per;
    snprintf(what, sizeof what, "pass f32 M=%zu, stored, 1 thread", M);
    row(what, t, "ns/feature", two, "two sgemv", two / t, 0);
    work_close(&w);
    work_open(&w, "rbf", threads, PREC_FLOAT, true);
    const double many = best_wall(run_pass, &w) * per;
    snprintf(what, sizeof what, "the same, %zu threads, wall time", threads);
    row(what, many, "ns/feature", t, "1 thread", t / many, 0);
    work_close(&w);
}

/* ---- matrix products ------------------------------------------------------------------------- */

static void run_gram(void *ctx)
{
    struct work *w = ctx;

    fop_gram(w->f, NULL, w->y, NULL, NULL, NULL, NULL);
}

static void run_sketch(void *ctx)
{
    struct work *w = ctx;

    fop_sketch(w->f, w->L, w->y, w->y + w->M * w->L, NULL, NULL);
}

/* The rate counts n M^2 (one triangle), features included in the time. */
static void bench_gram(size_t n, size_t M, enum precision precision)
{
    struct work w = { .n = n, .d = 8, .M = M };
    const double peak = precision == PREC_DOUBLE ? dgemm_peak : sgemm_peak;
    const double flops = (double)n * (double)M * (double)M * 1e-9;
    char what[100];

    for (size_t th = 1; th <= threads; th += threads > 1 ? threads - 1 : 1) {
        work_open(&w, "rbf", th, precision, false);
        w.y = need(M * M, sizeof *w.y);
        const double rate = flops / (th > 1 ? best_wall : best)(run_gram, &w);
        snprintf(what, sizeof what, "Gram %s n=%zu M=%zu, %zu thread%s",
                 precision == PREC_DOUBLE ? "f64" : "f32", n, M, th, th > 1 ? "s, wall time" : "");
        row(what, rate, "GFLOP/s", peak * (double)th, "threads x gemm", rate / peak / (double)th,
            rate / peak / (double)th);
        free(w.y);
        work_close(&w);
    }
}

static void bench_sketch(size_t n, size_t M, size_t L)
{
    struct work w = { .n = n, .d = 8, .M = M, .L = L };
    char what[100];

    work_open(&w, "rbf", 1, PREC_FLOAT, false);
    w.y = need(2 * M * L, sizeof *w.y);
    const double rate = 4e-9 * (double)n * (double)M * (double)L / best(run_sketch, &w);
    snprintf(what, sizeof what, "sketch Z'(Z Omega) f32 n=%zu M=%zu L=%zu, 1 thread", n, M, L);
    row(what, rate, "GFLOP/s", sgemm_peak, "sgemm", rate / sgemm_peak, rate / sgemm_peak);
    free(w.y);
    work_close(&w);
}

static void write_json(const char *path)
{
    FILE *f = fopen(path, "w");

    buf_puts(&json, "\n]\n");
    if (!f || fputs(buf_str(&json), f) < 0 || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static bool wanted(const char *only, const char *part)
{
    return !only || strcmp(only, part) == 0;
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = (size_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--level") == 0 && i + 1 < argc) {
            struct err err;
            if (cpu_force_level(argv[++i], &err) != ST_OK) {
                fprintf(stderr, "%s\n", err.msg);
                return 2;
            }
        } else {
            fprintf(stderr, "bench_compute [--json FILE] [--threads N] [--level LEVEL]\n");
            return 2;
        }
    }
    blas_init();
    buf_putc(&json, '[');
    printf("level %s, %s\n", cpu_level(), blas_describe());
    printf("%-46s %9s %-14s %-34s %7s %6s\n", "what", "value", "unit", "baseline", "ratio",
           "of limit");
    bench_limits();
    if (wanted(only, "fht"))
        bench_fht();
    if (wanted(only, "sincos"))
        bench_sincos();
    if (wanted(only, "features")) {
        bench_features(8, 4096, false);
        bench_features(16, 4096, false);
        bench_features(128, 4096, false);
        bench_features(1024, 8192, false);
        bench_features(1024, 8192, true);
    }
    if (wanted(only, "pass")) {
        bench_pass("rbf", 8, 8192, PREC_FLOAT);
        bench_pass("rbf", 100, 8192, PREC_FLOAT);
        bench_pass("matern(nu=1/2)", 8, 8192, PREC_FLOAT);
        bench_pass("rbf", 8, 8192, PREC_DOUBLE);
    }
    if (wanted(only, "stored"))
        bench_stored(8, 8192);
    if (wanted(only, "products")) {
        repeats = 3;
        bench_gram(8192, 2048, PREC_FLOAT);
        bench_gram(8192, 4096, PREC_FLOAT);
        bench_gram(4096, 2048, PREC_DOUBLE);
        bench_sketch(8192, 8192, 512);
    }
    if (path)
        write_json(path);
    buf_free(&json);
    return 0;
}
