/* tests/bench/bench_compute.c -- how fast the inner loops run, beside an obvious baseline on the
 * same data in the same run and beside what the machine can do.
 *
 *   bench_compute [--rows FILE] [--threads N] [--level portable|avx2|avx512|amx] [--only PART]
 *                 [--ffht LIBRARY]
 *
 * PART: transforms sines features pass stored products.  LIBRARY (or GPDESK_FFHT): FFHT with the
 * loops of ffht_loops.c as peers.py builds it, timed in turn with ours.
 *
 * "feature": one sine or cosine entry of Z.  Baselines are single-threaded BLAS or a plain C loop;
 * a published one (marked *) is a figure measured elsewhere: xGPR's loop, and FFHT where no library
 * is given (2,000 rows; one core of a Zen 4 server). */
#include "report.h"

#include "compute/linalg/blas.h"
#include "compute/features/fop.h"
#include "compute/rng.h"
#include "compute/cpu/simd.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t threads;
static double fma32, fma64; /* GFLOP/s of one thread in registers */
static double sgemm_rate, dgemm_rate;

static double *normals(size_t n, uint32_t sub)
{
    double *v = report_need(n, sizeof *v);

    for (size_t i = 0; i < n; i++)
        v[i] = rng_normal(1, rng_stream(RNG_TEST, sub), i);
    return v;
}

static void fill_floats(size_t n, float *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(rng_uniform(1, rng_stream(RNG_TEST, 50), i % 4096) - 0.5);
}

/* Matrix products of BLAS. */

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
    const double flops = 2e-9 * pow((double)g.n, 3.0);

    g.a = report_need(g.n * g.n, 8);
    g.b = report_need(g.n * g.n, 8);
    g.c = report_need(g.n * g.n, 8);
    fma32 = report_fma(false);
    fma64 = report_fma(true);
    fill_floats(g.n * g.n, g.a);
    fill_floats(g.n * g.n, g.b);
    const double s = report_time(REPORT_THREAD, run_sgemm, &g);
    memset(g.a, 0, g.n * g.n * 8);
    memset(g.b, 0, g.n * g.n * 8);
    const double d = report_time(REPORT_THREAD, run_dgemm, &g);
    sgemm_rate = flops / s;
    dgemm_rate = flops / d;
    report_row(&(struct report_row){.section = "machine",
                                    .what = "sgemm, n=1536",
                                    .value = s * 1e3,
                                    .unit = "ms",
                                    .rate = sgemm_rate,
                                    .rate_unit = "GFLOP/s",
                                    .limit = fma32,
                                    .limit_name = "fused multiply-adds in registers"});
    report_row(&(struct report_row){.section = "machine",
                                    .what = "dgemm, n=1536",
                                    .value = d * 1e3,
                                    .unit = "ms",
                                    .rate = dgemm_rate,
                                    .rate_unit = "GFLOP/s",
                                    .limit = fma64,
                                    .limit_name = "fused multiply-adds in registers"});
    free(g.a);
    free(g.b);
    free(g.c);
}

/* FFHT. */

/* As ffht_loops.c has them; NULL: no library was given. */
static struct {
    void (*rows)(float *v, size_t rows, int bits);
    void (*project)(const float *x, size_t rows, int bits, size_t blocks, const float *signs,
                    const float *scale, float *out);
} peer;

static void peer_open(const char *path)
{
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!path)
        return;
    if (lib) { /* POSIX's way to a function, which ISO C has no conversion for */
        *(void **)(void *)&peer.rows = dlsym(lib, "ffht_rows");
        *(void **)(void *)&peer.project = dlsym(lib, "ffht_project");
    }
    if (!peer.rows || !peer.project)
        report_die(dlerror());
}

/* Transforms. */

struct fht { size_t n, rows; float *v; bool lanes; int bits; };

static void run_fht(void *ctx)
{
    const struct fht *f = ctx;
    const struct simd_real *real = &cpu_simd_now()->f32;
    const size_t step = f->lanes ? real->lanes : 1;

    for (size_t r = 0; r < f->rows; r += step)
        (f->lanes ? real->fht : real->fht_row)(f->v + r * f->n, f->n);
}

/* The plain loop gets what the compiler can make of it; for a processor with wider vectors it makes
 * the same. */
#if defined __GNUC__ && !defined __clang__
__attribute__((optimize("O3")))
#endif
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

static void run_ffht(void *ctx)
{
    const struct fht *f = ctx;

    peer.rows(f->v, f->rows, f->bits);
}

/* ns per element of FFHT (Zen 4, one core, data in cache), by log2 of the size. */
static double ffht(size_t bits)
{
    static const double ns[] = { [6] = 0.274, [8] = 0.277, [10] = 0.311, [12] = 0.334, [14] = 0.372,
                                 [16] = 0.418, [18] = 0.442, [20] = 0.482 };

    return bits < sizeof ns / sizeof ns[0] ? ns[bits] : 0.0;
}

/* How many times as fast as a plain C loop the published pair was, 8.3 to 13 up to 2^15 entries of
 * a hot row, where the floor of 8 and the goal of 12 are from, and less beyond; of rows that come
 * from memory nothing is published: no floor. */
static double plain_floor(size_t bits, size_t rows)
{
    static const double beyond[] = { [16] = 6.3, [18] = 6.1, [20] = 5.3 };

    if (rows > 16)
        return 0.0;
    return bits <= 15 ? 8.0 : bits < sizeof beyond / sizeof beyond[0] ? beyond[bits] : 0.0;
}

static void fht_rows(size_t bits, size_t rows, const char *words)
{
    struct fht f = {
        .n = (size_t)1 << bits, .rows = rows, .lanes = rows > 1 && bits < 10, .bits = (int)bits};
    const size_t bytes = f.n * rows * sizeof *f.v;
    const double per = 1e9 / (double)(f.n * rows);
    const double add = 2.0 * (double)bits / fma32, move = 8.0 / report_scale(bytes);
    double t[3] = { 0.0 };
    char what[80];

    f.v = report_need(f.n * rows, sizeof *f.v); /* zeros: repeats must not overflow */
    report_times(REPORT_THREAD, peer.rows ? 3 : 2,
                 (struct report_job[]){{run_fht, &f}, {run_plain_fht, &f}, {run_ffht, &f}}, t);
    const double beside = peer.rows ? t[2] * per : rows > 16 ? 0.0 : ffht(bits);
    snprintf(what, sizeof what, "FHT f32 2^%zu, %s", bits, words);
    struct report_row r = { .section = "transforms", .what = what, .value = t[0] * per,
        .unit = "ns/element", .baseline = t[1] * per, .baseline_name = "plain C loop",
        .sense = REPORT_FASTER, .floor = plain_floor(bits, rows),
        .goal = rows > 16 || bits > 15 ? 0.0 : 12.0, .rate = 1.0 / (t[0] * per),
        .rate_unit = "Gelement/s", .limit = 1.0 / fmax(add, move),
        .limit_name = add > move ? "vector operations" : "scaling these bytes in place" };
    report_row(&r);
    if (beside > 0.0) {
        r.baseline = beside;
        r.baseline_name = "FFHT";
        r.published = !peer.rows;
        r.floor = bits <= 13 ? 1.4 : 1.0;
        r.goal = bits <= 13 ? 2.5 : 1.3;
        report_row(&r);
    }
    free(f.v);
}

static void bench_transforms(void)
{
    for (size_t bits = 6; bits <= 10; bits += 2)
        fht_rows(bits, 16, "16 rows in lanes, hot");
    for (size_t bits = 10; bits <= 20; bits += 2)
        fht_rows(bits, 1, "one row, hot");
    for (size_t bits = 6; bits <= 12; bits += 3)
        fht_rows(bits, 2000, "2000 rows");
}

/* Sines. */

enum { PAIRS = 4096, SINES32 = 17, SINES64 = 25 }; /* vector operations of a pair */
struct sc { bool dbl; void *t, *s, *c; };

static void run_sincos(void *ctx)
{
    const struct sc *x = ctx;

    (x->dbl ? &cpu_simd_now()->f64 : &cpu_simd_now()->f32)->sincospi(PAIRS, x->t, x->s, x->c);
}

static void run_libm(void *ctx)
{
    const struct sc *x = ctx;

    for (size_t j = 0; j < PAIRS; j++) {
        if (x->dbl)
            sincos(((double *)x->t)[j], (double *)x->s + j, (double *)x->c + j);
        else
            sincosf(((float *)x->t)[j], (float *)x->s + j, (float *)x->c + j);
    }
}

static void bench_sines(void)
{
    for (int dbl = 0; dbl < 2; dbl++) {
        struct sc x = { dbl, report_need(PAIRS, 8), report_need(PAIRS, 8), report_need(PAIRS, 8) };
        const double per = 1e9 / PAIRS;
        double t[2];
        for (size_t i = 0; i < PAIRS; i++) {
            const double v = 40.0 * rng_uniform(1, rng_stream(RNG_TEST, 51), i) - 20.0;
            if (dbl)
                ((double *)x.t)[i] = v;
            else
                ((float *)x.t)[i] = (float)v;
        }
        report_times(REPORT_THREAD, 2, (struct report_job[]){{run_sincos, &x}, {run_libm, &x}}, t);
        report_row(&(struct report_row){ .section = "sines",
            .what = dbl ? "sine and cosine, f64" : "sine and cosine, f32", .value = t[0] * per,
            .unit = "ns/pair", .baseline = t[1] * per, .baseline_name = "libm, scalar",
            .sense = REPORT_FASTER, .rate = (dbl ? SINES64 : SINES32) / (t[0] * per),
            .rate_unit = "Goperation/s", .limit = (dbl ? fma64 : fma32) / 2.0,
            .limit_name = "vector operations" });
        free(x.t);
        free(x.s);
        free(x.c);
    }
}

/* Projections. */

struct proj {
    const struct simd_real *real;
    struct simd_term term;
    size_t n, d, out; /* rows, inputs, frequencies */
    double *X;
    void *scratch, *a, *b, *c;
};

static void run_turns(void *ctx)
{
    struct proj *p = ctx;
    const size_t lanes = p->real->lanes;

    for (size_t r = 0; r + lanes <= p->n; r += lanes)
        p->real->turns(&p->term, &(struct simd_inputs){p->X + r * p->d, p->d, lanes}, p->c,
                       p->scratch);
}

static void run_features(void *ctx)
{
    struct proj *p = ctx;
    const size_t lanes = p->real->lanes;

    for (size_t r = 0; r + lanes <= p->n; r += lanes)
        p->real->gen(&p->term, &(struct simd_inputs){p->X + r * p->d, p->d, lanes}, p->c, lanes,
                     &(struct simd_up){.k = 0}, p->scratch);
}

static void run_dense(void *ctx)
{
    struct proj *p = ctx;

    if (p->real->size == sizeof(float))
        blas_sgemm1(true, false, p->out, p->n, p->d, 1.0F, p->a, p->d, p->b, p->d, 0.0F, p->c,
                    p->out);
    else
        blas_dgemm1(true, false, p->out, p->n, p->d, 1.0, p->a, p->d, p->b, p->d, 0.0, p->c,
                    p->out);
}

/* The product, then sines by the vector loops above (faster than the libraries they stand for). */
static void run_dense_sines(void *ctx)
{
    struct proj *p = ctx;

    run_dense(p);
    for (size_t i = 0; i + PAIRS <= p->n * p->out; i += PAIRS)
        p->real->sincospi(PAIRS, (float *)p->c + i, p->b, (float *)p->b + PAIRS);
}

static void proj_open(struct proj *p, size_t n, size_t d, size_t out, bool dbl)
{
    struct kernel k;
    struct err err;

    *p = (struct proj){ .n = n, .d = d, .out = out };
    p->real = dbl ? &cpu_simd_now()->f64 : &cpu_simd_now()->f32;
    kernel_parse("rbf", &k, NULL, NULL);
    struct featmap *fm = featmap_new(&k, d, 2 * out, 7, &err);
    if (!fm || p->real->prepare(&p->term, &fm->term[0], &err) != ST_OK)
        report_die(err.msg);
    featmap_free(fm);
    for (size_t i = 0; i < d; i++)
        p->term.inv[i] = 1.0 / sqrt((double)d);
    const size_t lanes = p->real->lanes, tile = 2 * out * lanes;
    p->X = normals(n * d, 54);
    p->scratch = report_need(p->real->scratch(&p->term), 1);
    p->a = report_need(d * out, p->real->size);
    p->b = report_need(d * n > 2 * PAIRS ? d * n : 2 * PAIRS, p->real->size);
    p->c = report_need(n * out > tile ? n * out : tile, p->real->size);
    for (int i = 0; !dbl && i < 2; i++)
        fill_floats(i ? d * out : d * n, i ? p->a : p->b);
}

static void proj_close(struct proj *p)
{
    simd_term_free(&p->term);
    free(p->X);
    free(p->scratch);
    free(p->a);
    free(p->b);
    free(p->c);
}

/* Butterflies of a frequency: three transforms, the first over the inputs alone. */
static double butterflies(const struct proj *p)
{
    return log2((double)p->term.dp) * (double)p->term.dp / (double)p->term.D +
           2.0 * log2((double)p->term.D);
}

static void projection_row(struct proj *p, const double *t, double floor, double goal)
{
    const bool dbl = p->real->size == sizeof(double);
    char what[80];

    snprintf(what, sizeof what, "projection %s, %zu rows %zu -> %zu", dbl ? "f64" : "f32", p->n,
             p->d, p->out);
    report_row(&(struct report_row){ .section = "projections", .what = what, .value = t[0] * 1e3,
        .unit = "ms", .baseline = t[1] * 1e3, .baseline_name = dbl ? "dgemm" : "sgemm",
        .sense = REPORT_FASTER, .floor = floor, .goal = goal,
        .rate = 1e-9 * (double)(p->n * p->out) * (butterflies(p) + 1.0) / t[0],
        .rate_unit = "Goperation/s", .limit = (dbl ? fma64 : fma32) / 2.0,
        .limit_name = "vector operations" });
}

static void feature_row(struct proj *p, double t, double baseline, const char *name, bool published,
                        double floor, double goal)
{
    const bool dbl = p->real->size == sizeof(double);
    const double each = butterflies(p) + 1.0 + (dbl ? SINES64 : SINES32);
    char what[80];

    snprintf(what, sizeof what, "features %s, %zu rows %zu -> %zu", dbl ? "f64" : "f32", p->n, p->d,
             2 * p->out);
    report_row(&(struct report_row){ .section = "features", .what = what, .value = t * 1e3,
        .unit = "ms", .baseline = baseline * 1e3, .baseline_name = name, .published = published,
        .sense = REPORT_FASTER, .floor = floor, .goal = goal,
        .rate = 1e-9 * (double)(p->n * p->out) * each / t, .rate_unit = "Goperation/s",
        .limit = (dbl ? fma64 : fma32) / 2.0, .limit_name = "vector operations" });
}

/* FFHT and loops over signs on the same sizes: every input is a row of D numbers. */
struct loops { size_t rows, blocks; int bits; float *x, *signs, *scale, *out; };

static void run_loops(void *ctx)
{
    const struct loops *l = ctx;

    peer.project(l->x, l->rows, l->bits, l->blocks, l->signs, l->scale, l->out);
}

static void loops_open(struct loops *l, const struct proj *p)
{
    const size_t D = p->term.D;

    *l = (struct loops){ .rows = p->n, .blocks = p->out / D };
    while ((size_t)1 << l->bits < D)
        l->bits++;
    l->x = report_need(l->rows * D, sizeof *l->x);
    l->signs = report_need(3 * p->out, sizeof *l->signs);
    l->scale = report_need(p->out, sizeof *l->scale);
    l->out = report_need(l->rows * p->out, sizeof *l->out);
    fill_floats(l->rows * D, l->x);
    for (size_t i = 0; i < 3 * p->out; i++)
        l->signs[i] = rng_below(1, rng_stream(RNG_TEST, 55), i, 2) ? 1.0F : -1.0F;
    for (size_t i = 0; i < p->out; i++)
        l->scale[i] = 1.0F;
}

static void loops_close(struct loops *l)
{
    free(l->x);
    free(l->signs);
    free(l->scale);
    free(l->out);
}

/* 128 inputs: the projection beside FFHT's, the features beside xGPR's. */
static void bench_lanes(void)
{
    struct loops l = { 0 };
    struct proj p;
    double t[3] = { 0.0 };

    proj_open(&p, 2000, 128, 4096, false);
    if (peer.rows)
        loops_open(&l, &p);
    report_times(REPORT_THREAD, peer.rows ? 3 : 2,
                 (struct report_job[]){{run_turns, &p}, {run_features, &p}, {run_loops, &l}}, t);
    projection_row(&p, (double[]){ t[0], 0.0 }, 0.0, 0.0);
    report_row(&(struct report_row){.section = "projections",
                                    .what = "the same",
                                    .value = t[0] * 1e3,
                                    .unit = "ms",
                                    .baseline = peer.rows ? t[2] * 1e3 : 9.3,
                                    .baseline_name = "FFHT and sign loops",
                                    .published = !peer.rows,
                                    .sense = REPORT_FASTER,
                                    .floor = 3.0,
                                    .goal = 5.0});
    feature_row(&p, t[1], 0.0491, "xGPR, as built", true, 8.0, 13.0);
    feature_row(&p, t[1], 0.0459, "xGPR, tuned", true, 8.0, 13.0);
    loops_close(&l);
    proj_close(&p);
}

static void bench_features(void)
{
    struct proj p;
    double t[3];

    for (int dbl = 0; dbl < 2; dbl++) {
        proj_open(&p, 2000, 1024, 8192, dbl);
        report_times(REPORT_THREAD, 3, (struct report_job[]){ { run_turns, &p }, { run_dense, &p },
                                                      { run_features, &p } }, t);
        projection_row(&p, t, 15.0, 25.0);
        feature_row(&p, t[2], dbl ? 0.347 : 0.106, "xGPR, as built", true, dbl ? 0.0 : 4.0,
                    dbl ? 0.0 : 7.0);
        proj_close(&p);
    }
    const size_t usual = report_rounds;
    report_rounds = 1;
    for (int dbl = 0; dbl < 2; dbl++) { /* the product takes seconds */
        proj_open(&p, dbl ? 512 : 2000, 8192, 8192, dbl);
        report_times(REPORT_THREAD, 2, (struct report_job[]){{run_turns, &p}, {run_dense, &p}}, t);
        projection_row(&p, t, 80.0, 140.0);
        proj_close(&p);
    }
    report_rounds = usual;
    bench_lanes();
    for (size_t d = 8; d <= 16; d += 8) {
        proj_open(&p, 2000, d, 4096, false);
        report_times(REPORT_THREAD, 2,
                     (struct report_job[]){{run_features, &p}, {run_dense_sines, &p}}, t);
        feature_row(&p, t[0], t[1], "sgemm, vector sines", false, d == 16 ? 1.5 : 0.0,
                    d == 16 ? 2.5 : 0.0);
        proj_close(&p);
    }
}

/* Passes. */

struct work {
    size_t n, d, M, k, L;
    double *X, *P, *W, *y;
    struct source_array src;
    struct featmap *fm;
    struct pool *pool;
    struct fop *f;
};

static void work_open(struct work *w, const char *kernel, size_t nthreads, enum precision precision,
                      enum storing store)
{
    const struct fop_opts opts = { .precision = precision, .store = store != STORE_AUTO,
                                   .half = store == STORE_FLOAT16,
                                   .pool = w->pool = pool_new(nthreads, NULL) };
    double hp[KERNEL_MAX_HP];
    struct kernel k;
    struct err err;

    kernel_parse(kernel, &k, NULL, NULL);
    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        hp[i] = sqrt((double)w->d);
    w->k = 1;
    w->X = normals(w->n * w->d, 52);
    w->P = normals(32 * w->M, 53);
    w->W = report_need(32 * w->M, sizeof *w->W);
    source_array_init(&w->src, w->X, w->n, w->d, w->d);
    w->fm = featmap_new(&k, w->d, w->M, 7, &err);
    w->f = w->fm ? fop_new(backend_cpu(), w->fm, &w->src.base, &opts, &err) : NULL;
    if (!w->f || fop_set(w->f, hp, &err) != ST_OK)
        report_die(err.msg);
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

static void run_pass17(void *ctx)
{
    struct work *w = ctx;

    fop_pass(w->f, 17, w->P, w->W, NULL, NULL);
}

/* Vector operations of a fused pass, a feature: half a pair's butterflies, scale and sines; then
 * two multiply-adds and a share of the sum over the lanes. */
static double pass_operations(size_t d, double sines)
{
    double dp = 1.0;

    while (dp < (double)d)
        dp *= 2.0;
    const double D = dp < 32.0 ? 32.0 : dp;
    return 0.5 * (log2(dp) * dp / D + 2.0 * log2(D) + 1.0 + sines) + 2.0 + 4.0;
}

/* 2, 4, 8 ... and all. */
static size_t more_threads(size_t n)
{
    return n < threads && 2 * n > threads ? threads : 2 * n;
}

/* As many runs of one thread at once, each with its own rows and features: what the machine grants
 * so many threads that have nothing to do with each other. */
struct copies { struct pool *pool; size_t n; struct work *w; };

static void run_copy(void *ctx, size_t task, size_t worker)
{
    const struct copies *c = ctx;

    (void)worker;
    run_pass(&c->w[task]);
}

static void run_copies(void *ctx)
{
    struct copies *c = ctx;

    pool_run(c->pool, c->n, run_copy, c);
}

static void copies_open(struct copies *c, const struct work *one, const char *kernel, size_t n)
{
    *c = (struct copies){ .n = n, .pool = pool_new(n, NULL), .w = report_need(n, sizeof *c->w) };
    for (size_t i = 0; i < n; i++) {
        c->w[i] = (struct work){ .n = one->n, .d = one->d, .M = one->M };
        work_open(&c->w[i], kernel, 1, PREC_FLOAT, STORE_AUTO);
    }
}

static void copies_close(struct copies *c)
{
    for (size_t i = 0; i < c->n; i++)
        work_close(&c->w[i]);
    pool_free(c->pool);
    free(c->w);
}

static void scaling_rows(struct work *one, const char *kernel, size_t n)
{
    struct work many = { .n = one->n, .d = one->d, .M = one->M };
    struct copies copies;
    const struct report_job jobs[] = {{run_pass, &many}, {run_pass, one}, {run_copies, &copies}};
    char what[100];
    double t[3];

    work_open(&many, kernel, n, PREC_FLOAT, STORE_AUTO);
    copies_open(&copies, one, kernel, n);
    report_times(REPORT_WALL, 3, jobs, t);
    const double granted = (double)n * t[1] / t[2];
    snprintf(what, sizeof what, "the same, %zu threads, wall time", n);
    report_row(&(struct report_row){ .section = "pass", .what = what, .threads = n,
        .value = t[0] * 1e3, .unit = "ms", .baseline = t[1] * 1e3, .baseline_name = "1 thread",
        .sense = REPORT_FASTER, .floor = 0.9 * (double)n, .goal = 0.975 * (double)n,
        .rate = t[1] / t[0], .rate_unit = "threads", .limit = granted,
        .limit_name = "as many runs of one thread at once" });
    snprintf(what, sizeof what, "the same beside %zu runs of one thread at once", n);
    report_row(&(struct report_row){ .section = "pass", .what = what, .threads = n,
        .value = t[0] * 1e3, .unit = "ms", .baseline = t[2] * 1e3 / (double)n,
        .baseline_name = "their time, shared", .sense = REPORT_FASTER, .floor = 0.9, .goal = 0.975,
        .rate = granted, .rate_unit = "threads", .limit = (double)n, .limit_name = "threads" });
    report_times(REPORT_PROCESS, 2, jobs, t);
    report_row(&(struct report_row){.section = "pass",
                                    .what = "their processor time",
                                    .threads = n,
                                    .value = t[0] * 1e3,
                                    .unit = "ms",
                                    .baseline = t[1] * 1e3,
                                    .baseline_name = "1 thread",
                                    .sense = REPORT_LONGER});
    copies_close(&copies);
    work_close(&many);
}

static void bench_pass(const char *kernel, size_t d, size_t M, enum precision precision)
{
    const bool dbl = precision == PREC_DOUBLE, probed = d == 128;
    struct work w = { .n = (size_t)60000000 / M, .d = d, .M = M };
    char what[100];
    double t[2];

    work_open(&w, kernel, 1, precision, STORE_AUTO);
    report_times(REPORT_THREAD, 2, (struct report_job[]){{run_pass, &w}, {run_pass17, &w}}, t);
    const double rate = 1e-9 * (double)w.n * (double)M / t[0];
    snprintf(what, sizeof what, "pass %s %s d=%zu M=%zu, made anew", kernel, dbl ? "f64" : "f32", d,
             M);
    report_row(&(struct report_row){.section = "pass",
                                    .what = what,
                                    .value = rate,
                                    .unit = "Gfeature/s",
                                    .sense = REPORT_ABSOLUTE,
                                    .floor = probed ? 2.5 : 0.0,
                                    .goal = probed ? 3.6 : 0.0,
                                    .by_cycles = probed,
                                    .rate = rate * pass_operations(d, dbl ? SINES64 : SINES32),
                                    .rate_unit = "Goperation/s",
                                    .limit = (dbl ? fma64 : fma32) / 2.0,
                                    .limit_name = "vector operations"});
    report_row(&(struct report_row){.section = "pass",
                                    .what = "the same, 16 probes and a solve",
                                    .value = t[1] * 1e3,
                                    .unit = "ms",
                                    .baseline = t[0] * 1e3,
                                    .baseline_name = "one right-hand side",
                                    .sense = REPORT_LONGER,
                                    .floor = 5.0,
                                    .goal = 3.5,
                                    .rate = 4e-9 * 17.0 * (double)w.n * (double)M / t[1],
                                    .rate_unit = "GFLOP/s",
                                    .limit = dbl ? fma64 : fma32,
                                    .limit_name = "fused multiply-adds in registers"});
    for (size_t n = 2; !dbl && n <= threads; n = more_threads(n))
        scaling_rows(&w, kernel, n);
    work_close(&w);
}

/* Stored features. */

struct gemv { size_t n, M; float *Z, *p, *t, *w; };

static void run_gemv(void *ctx)
{
    struct gemv *g = ctx;

    blas_sgemv1_for_tests(true, g->M, g->n, 1.0F, g->Z, g->M, g->p, 0.0F, g->t);
    blas_sgemv1_for_tests(false, g->M, g->n, 1.0F, g->Z, g->M, g->t, 0.0F, g->w);
}

/* One pass over features stored in w, against OpenBLAS. */
static void stored_row(struct work *w)
{
    const size_t M = w->M;
    struct gemv g = { w->n, M, report_need(w->n * M, 4), report_need(M, 4), report_need(w->n, 4),
                      report_need(M, 4) };
    const double per = 1e9 / ((double)w->n * (double)M), bytes = 4.0 * (double)w->n * (double)M;
    char what[100];
    double t[2];

    fill_floats(M, g.p);
    report_times(REPORT_THREAD, 2, (struct report_job[]){ { run_pass, w }, { run_gemv, &g } }, t);
    snprintf(what, sizeof what, "pass f32 M=%zu, stored", M);
    report_row(&(struct report_row){ .section = "stored", .what = what, .value = t[0] * per,
        .unit = "ns/feature", .baseline = t[1] * per, .baseline_name = "two sgemv",
        .sense = REPORT_FASTER, .floor = 1.5, .goal = 2.3, .rate = 1e-9 * bytes / t[0],
        .rate_unit = "GB/s", .limit = report_read(NULL, (size_t)bytes),
        .limit_name = "reading these bytes" });
    free(g.Z), free(g.p), free(g.t), free(g.w);
}

/* alone: the row of float32 and no more. */
static void bench_stored(size_t d, size_t M, bool alone)
{
    struct work w = { .n = (size_t)64000000 / M, .d = d, .M = M }, many = w;
    const double per = 1e9 / ((double)w.n * (double)M), bytes = 4.0 * (double)w.n * (double)M;
    char what[100];
    double t[2];

    work_open(&w, "rbf", 1, PREC_FLOAT, STORE_FLOAT32);
    stored_row(&w);
    if (alone) {
        work_close(&w);
        return;
    }
    struct work half = { .n = w.n, .d = d, .M = M }, anew = half;
    work_open(&half, "rbf", 1, PREC_FLOAT, STORE_FLOAT16);
    work_open(&anew, "rbf", 1, PREC_FLOAT, STORE_AUTO);
    double h[3];
    report_times(REPORT_THREAD, 3, (struct report_job[]){ { run_pass, &half }, { run_pass, &w },
                                                          { run_pass, &anew } }, h);
    report_row(&(struct report_row){ .section = "stored", .what = "the same, stored in float16",
        .value = h[0] * per, .unit = "ns/feature", .baseline = h[1] * per,
        .baseline_name = "stored in float32", .sense = REPORT_FASTER, .rate = 0.5e-9 * bytes / h[0],
        .rate_unit = "GB/s", .limit = report_read(NULL, (size_t)bytes / 2),
        .limit_name = "reading these bytes" });
    report_row(&(struct report_row){.section = "stored",
                                    .what = "the same beside features made anew",
                                    .value = h[0] * per,
                                    .unit = "ns/feature",
                                    .baseline = h[2] * per,
                                    .baseline_name = "made anew",
                                    .sense = REPORT_FASTER});
    work_close(&half);
    work_close(&anew);
    if (threads > 1) {
        work_open(&many, "rbf", threads, PREC_FLOAT, STORE_FLOAT32);
        report_times(REPORT_WALL, 2, (struct report_job[]){{run_pass, &many}, {run_pass, &w}}, t);
        snprintf(what, sizeof what, "the same, %zu threads, wall time", threads);
        report_row(&(struct report_row){ .section = "stored", .what = what, .threads = threads,
            .value = t[0] * per, .unit = "ns/feature", .baseline = t[1] * per,
            .baseline_name = "1 thread", .sense = REPORT_FASTER, .rate = 1e-9 * bytes / t[0],
            .rate_unit = "GB/s", .limit = report_read(many.pool, (size_t)bytes),
            .limit_name = "reading these bytes" });
        work_close(&many);
    }
    work_close(&w);
}

/* Matrix products. */

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

/* The bare product: Z as one matrix, float32 (or float64) sums over all of its rows. */
struct syrk { bool dbl; size_t n, M; void *Z, *C; };

static void run_syrk(void *ctx)
{
    const struct syrk *s = ctx;

    if (s->dbl)
        blas_dsyrk1(true, false, s->M, s->n, 1.0, s->Z, s->M, 0.0, s->C, s->M);
    else
        blas_ssyrk1(true, false, s->M, s->n, 1.0F, s->Z, s->M, 0.0F, s->C, s->M);
}

static void run_syrk_filled(void *ctx)
{
    const struct syrk *s = ctx;

    run_syrk(ctx);
    blas_mirror(0, s->M, 0, s->M, s->C, s->M);
}

/* The rate counts n M^2 (one triangle); making the features is in our time and not in the other. */
static void bench_gram(size_t n, size_t M, enum precision precision)
{
    struct work w = { .n = n, .d = 8, .M = M }, many = w;
    struct syrk s = { .dbl = precision == PREC_DOUBLE, .n = n, .M = M };
    const double flops = 1e-9 * (double)n * (double)M * (double)M;
    char what[100];
    double t[3];

    s.Z = report_need(n * M, s.dbl ? 8 : 4);
    s.C = report_need(M * M, s.dbl ? 8 : 4);
    if (!s.dbl)
        fill_floats(n * M, s.Z);
    work_open(&w, "rbf", 1, precision, STORE_AUTO);
    w.y = report_need(M * M, sizeof *w.y);
    report_times(REPORT_THREAD, s.dbl ? 3 : 2,
                 (struct report_job[]){{run_gram, &w}, {run_syrk, &s}, {run_syrk_filled, &s}}, t);
    snprintf(what, sizeof what, "Gram %s n=%zu M=%zu", s.dbl ? "f64" : "f32", n, M);
    report_row(&(struct report_row){ .section = "dense", .what = what, .value = t[0] * 1e3,
        .unit = "ms", .baseline = t[1] * 1e3, .baseline_name = s.dbl ? "dsyrk" : "ssyrk",
        .sense = REPORT_LONGER, .floor = 1.1, .goal = 1.03, .rate = flops / t[0],
        .rate_unit = "GFLOP/s", .limit = strcmp(cpu_level(), "amx") == 0 && !s.dbl ? 0.0
                                         : s.dbl ? fma64 : fma32,
        .limit_name = "fused multiply-adds in registers" });
    if (s.dbl)
        report_row(&(struct report_row){.section = "dense",
                                        .what = "the same beside both triangles",
                                        .value = t[0] * 1e3,
                                        .unit = "ms",
                                        .baseline = t[2] * 1e3,
                                        .baseline_name = "dsyrk, triangle copied",
                                        .sense = REPORT_LONGER,
                                        .floor = 1.1,
                                        .goal = 1.03});
    if (threads > 1) {
        work_open(&many, "rbf", threads, precision, STORE_AUTO);
        many.y = w.y;
        report_times(REPORT_WALL, 2, (struct report_job[]){{run_gram, &many}, {run_gram, &w}}, t);
        snprintf(what, sizeof what, "the same, %zu threads, wall time", threads);
        report_row(&(struct report_row){ .section = "dense", .what = what, .threads = threads,
            .value = t[0] * 1e3, .unit = "ms", .baseline = t[1] * 1e3, .baseline_name = "1 thread",
            .sense = REPORT_FASTER, .rate = flops / t[0], .rate_unit = "GFLOP/s" });
        work_close(&many);
    }
    free(w.y);
    free(s.Z);
    free(s.C);
    work_close(&w);
}

static void bench_sketch(size_t n, size_t M, size_t L)
{
    struct work w = { .n = n, .d = 8, .M = M, .L = L };
    char what[100];

    work_open(&w, "rbf", 1, PREC_FLOAT, STORE_AUTO);
    w.y = report_need(2 * M * L, sizeof *w.y);
    const double t = report_time(REPORT_THREAD, run_sketch, &w),
                 rate = 4e-9 * (double)(n * M * L) / t;
    snprintf(what, sizeof what, "sketch Z'(Z Omega) f32 n=%zu M=%zu L=%zu", n, M, L);
    report_row(&(struct report_row){ .section = "dense", .what = what, .value = rate,
        .unit = "GFLOP/s", .baseline = sgemm_rate, .baseline_name = "sgemm, n=1536",
        .sense = REPORT_HIGHER, .rate = rate, .rate_unit = "GFLOP/s", .limit = fma32,
        .limit_name = "fused multiply-adds in registers" });
    free(w.y);
    work_close(&w);
}

static bool wanted(const char *only, const char *part)
{
    return !only || strcmp(only, part) == 0;
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL, *ffht_library = getenv("GPDESK_FFHT");
    const long online = sysconf(_SC_NPROCESSORS_ONLN);

    threads = online > 0 ? (size_t)online : 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = (size_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--ffht") == 0 && i + 1 < argc)
            ffht_library = argv[++i];
        else if (strcmp(argv[i], "--level") == 0 && i + 1 < argc) {
            struct err err;
            if (cpu_force_level(argv[++i], &err) != ST_OK)
                report_die(err.msg);
        } else {
            fprintf(stderr,
                    "bench_compute [--rows FILE] [--threads N] [--level LEVEL] [--only PART] "
                    "[--ffht LIBRARY]\n");
            return 2;
        }
    }
    peer_open(ffht_library);
    blas_init();
    report_open(path);
    printf("level %s, %s\n", cpu_level(), blas_describe());
    report_head();
    bench_limits();
    if (wanted(only, "transforms"))
        bench_transforms();
    if (wanted(only, "sines"))
        bench_sines();
    if (wanted(only, "features"))
        bench_features();
    if (wanted(only, "pass")) {
        bench_pass("rbf", 8, 8192, PREC_FLOAT);
        bench_pass("rbf", 128, 8192, PREC_FLOAT);
        bench_pass("matern(nu=1/2)", 8, 8192, PREC_FLOAT);
        bench_pass("rbf", 8, 8192, PREC_DOUBLE);
    }
    if (wanted(only, "stored")) {
        bench_stored(8, 8192, false);
        for (size_t M = 2048; M <= 16384; M *= M == 4096 ? 4 : 2)
            bench_stored(8, M, true);
    }
    if (wanted(only, "products")) {
        report_rounds = 3;
        bench_gram(8192, 2048, PREC_FLOAT);
        bench_gram(4096, 2048, PREC_DOUBLE);
        bench_sketch(8192, 8192, 512);
    }
    return report_close();
}
