/* tests/bench/bench_products.c -- products with an exact kernel matrix: a pair of rows, and a step
 * of 512 rows of 13,500 with 26 inputs (the sizes of the data set pol); and the same from stored
 * values.
 *
 *   bench_products [--cpu LEVEL]      at this level of the processor's vector code */
#include "report.h"

#include "compute/backend.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/features/fop.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/rng.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 13500, INPUTS = 26, STEP = 512, SAMPLES = 64 };

static struct err err;

static void must(enum status rc)
{
    if (rc != ST_OK)
        report_die(err.msg);
}

/* A kernel over n rows of d standard normal inputs, of which m are asked for with k vectors. */
struct products {
    struct kernel k;
    double hp[KERNEL_MAX_HP], *X, *V, *W;
    size_t n, d, m, vectors, *at;
    struct exact_op *op;
};

static void open_products(struct products *p, const char *kernel, size_t n, size_t d, size_t m,
                          size_t vectors)
{
    size_t from[KERNEL_MAX_HP];

    *p = (struct products){ .n = n, .d = d, .m = m, .vectors = vectors };
    p->X = report_need(n * d, sizeof *p->X);
    p->V = report_need(n * vectors, sizeof *p->V);
    p->W = report_need(m * vectors, sizeof *p->W);
    p->at = report_need(m, sizeof *p->at);
    for (size_t i = 0; i < n * d; i++)
        p->X[i] = rng_normal(1, rng_stream(RNG_TEST, 0), i);
    for (size_t i = 0; i < n * vectors; i++)
        p->V[i] = rng_normal(1, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < m; i++)
        p->at[i] = rng_u64(1, rng_stream(RNG_TEST, 2), i) % n;
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        p->hp[h] = 1.0 + sqrt((double)d);
    must(kernel_parse(kernel, &p->k, NULL, &err));
    must(kernel_bind(&p->k, d, from, &err));
    must(exact_op_open(
        backend_cpu(),
        &(struct exact_rows){.k = &p->k, .hp = p->hp, .X = p->X, .n = n, .d = d}, &p->op, &err));
}

static void close_products(struct products *p)
{
    exact_op_close(p->op);
    free(p->X), free(p->V), free(p->W), free(p->at);
}

static void run_rows(void *ctx)
{
    const struct products *p = ctx;

    must(exact_op_rows(p->op, p->m, p->at, p->vectors, p->V, p->W, NULL, &err));
}

/* One row after the other in double precision, for fewer rows. */
enum { FEW = 2 };
static void run_plain(void *ctx)
{
    const struct products *p = ctx;

    for (size_t r = 0; r < FEW; r++) {
        double sum = 0.0;
        for (size_t i = 0; i < p->n; i++)
            sum += p->V[i] * kernel_exact(&p->k, p->hp, p->d, p->X + p->at[r] * p->d,
                                          p->X + i * p->d, NULL);
        p->W[r] = sum;
    }
}

/* A pair with one vector.  `operations` of a pair: floating point operations, counted by hand. */
static void pair(const char *kernel, size_t d, double operations, double floor, double goal)
{
    struct products p;
    char what[80];
    double t[2];

    open_products(&p, kernel, ROWS, d, STEP, 1);
    report_times(REPORT_THREAD, 2, (struct report_job[]){ { run_rows, &p }, { run_plain, &p } }, t);
    const double ns = 1e9 * t[0] / (double)(p.n * p.m), plain = 1e9 * t[1] / (double)(p.n * FEW);
    snprintf(what, sizeof what, "pair of rows, %s, d=%zu", kernel, d);
    report_row(&(struct report_row){ .section = "products", .what = what, .value = ns, .unit = "ns",
        .sense = floor > 0.0 ? REPORT_BELOW : REPORT_FIGURE, .floor = floor, .goal = goal,
        .rate = operations / ns, .rate_unit = "GFLOP/s", .limit = report_fma(false),
        .limit_name = "fused multiply-adds in registers" });
    report_row(&(struct report_row){ .section = "products", .what = "the same beside kernel_exact",
        .value = ns, .unit = "ns", .baseline = plain, .baseline_name = "pair by pair",
        .sense = REPORT_FASTER });
    close_products(&p);
}

static void run_whole(void *ctx)
{
    const struct products *p = ctx;

    must(exact_op_apply(p->op, p->n, NULL, p->vectors, p->V, p->W, NULL, &err));
}

/* A whole product from stored values, which no cache holds, beside one that computes them. */
static void stored(bool half, size_t d)
{
    struct products made, kept;
    char what[80];
    double t[2];

    open_products(&made, "matern(nu=3/2,ard)", ROWS, d, ROWS, 1);
    open_products(&kept, "matern(nu=3/2,ard)", ROWS, d, ROWS, 1);
    must(exact_op_store(kept.op, half, NULL, &err));
    report_times(REPORT_THREAD, 2,
                 (struct report_job[]){ { run_whole, &kept }, { run_whole, &made } }, t);
    const double pairs = (double)ROWS * ROWS, ns = 1e9 * t[0] / pairs;
    snprintf(what, sizeof what, "pair of rows, stored in %s", half ? "float16" : "float32");
    report_row(&(struct report_row){ .section = "products", .what = what, .value = ns, .unit = "ns",
        .baseline = 1e9 * t[1] / pairs,
        .baseline_name = d == 8 ? "computed, d=8" : "computed, d=26", .sense = REPORT_FASTER });
    close_products(&made);
    close_products(&kept);
}

/* The product of 512 x 13,500 stored values with the vectors, by BLAS. */
struct gemm { float *K, *V, *W; size_t vectors; };
static void run_gemm(void *ctx)
{
    const struct gemm *g = ctx;
    const int k = (int)g->vectors;

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, STEP, k, ROWS, 1.0F, g->K, ROWS, g->V, k,
                0.0F, g->W, k);
}

static void step(size_t vectors, double floor, double goal)
{
    struct gemm g = { .K = report_need(STEP * ROWS, sizeof(float)), .vectors = vectors,
                      .V = report_need(vectors * ROWS, sizeof(float)),
                      .W = report_need(vectors * STEP, sizeof(float)) };
    struct products p;
    char what[80];
    double t[2];

    for (size_t i = 0; i < STEP * ROWS; i++)
        g.K[i] = (float)(i % 1009) / 1009.0F;
    for (size_t i = 0; i < vectors * ROWS; i++)
        g.V[i] = (float)(i % 997) / 997.0F;
    open_products(&p, "matern(nu=3/2,ard)", ROWS, INPUTS, STEP, vectors);
    report_times(REPORT_THREAD, 2, (struct report_job[]){ { run_rows, &p }, { run_gemm, &g } }, t);
    snprintf(what, sizeof what, "512 rows of K by 13,500 x %zu", vectors);
    report_row(&(struct report_row){ .section = "products", .what = what, .value = 1e3 * t[0],
        .unit = "ms", .sense = REPORT_BELOW, .floor = floor, .goal = goal });
    report_row(&(struct report_row){ .section = "products", .what = "the same beside a stored K",
        .value = 1e3 * t[0], .unit = "ms", .baseline = 1e3 * t[1], .baseline_name = "sgemm",
        .sense = REPORT_LONGER });
    printf("  counted: %.2f ms\n", 1e3 * exact_op_seconds(p.op, STEP, vectors));
    close_products(&p);
    free(g.K), free(g.V), free(g.W);
}

/* Rows of counts: `places` of 1024, with values up to `most`; a tile of them beside a merge of two
 * lists for each pair.  floor and goal: nanoseconds of a pair. */
enum { COUNTED = 2000 };
struct counted { struct kernel k; size_t d; double *X, *out; };

static void run_tiles(void *ctx)
{
    const struct counted *c = ctx;

    for (size_t r = 0; r + KERNEL_TILE <= COUNTED; r += KERNEL_TILE) {
        struct kernel_tile *t =
            kernel_tile_new(&c->k, NULL, c->d, KERNEL_TILE, c->X + r * c->d, c->d);
        kernel_tile_values(t, COUNTED, c->X, c->d, c->out, COUNTED);
        kernel_tile_free(t);
    }
}

static void run_merges(void *ctx)
{
    const struct counted *c = ctx;

    for (size_t r = 0; r < KERNEL_TILE; r++)
        for (size_t i = 0; i < COUNTED; i++)
            c->out[r * COUNTED + i] =
                kernel_exact(&c->k, NULL, c->d, c->X + i * c->d, c->X + r * c->d, NULL);
}

static void counted(size_t places, size_t most, double floor, double goal)
{
    struct counted c = { .d = 1 + 2 * 4 * places };
    char what[80];
    double t[2];

    c.X = report_need(COUNTED * c.d, sizeof *c.X);
    c.out = report_need(COUNTED * KERNEL_TILE, sizeof *c.out);
    for (size_t r = 0; r < COUNTED; r++) {
        double *x = c.X + r * c.d;
        size_t n = 0;
        for (size_t p = 0; p < 1024 && n < 4 * places; p++)
            if (rng_u64(1, rng_stream(RNG_TEST, 3), r * 1024 + p) % 1024 < places) {
                x[1 + 2 * n] = (double)p;
                x[2 + 2 * n++] = 1.0 + (double)(rng_u64(1, rng_stream(RNG_TEST, 4), p + r) % most);
            }
        x[0] = (double)n;
    }
    must(kernel_parse("tanimoto", &c.k, NULL, &err));
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } } };
    must(kernel_bind_rows(&c.k, &rows, NULL, &err));
    report_times(REPORT_THREAD, 2, (struct report_job[]){ { run_tiles, &c }, { run_merges, &c } },
                 t);
    const double tiles = (double)(COUNTED / KERNEL_TILE),
                 ns = 1e9 * t[0] / (tiles * KERNEL_TILE * COUNTED),
                 plain = 1e9 * t[1] / ((double)KERNEL_TILE * COUNTED);
    snprintf(what, sizeof what, "pair of rows, tanimoto, %zu places, values to %zu", places, most);
    report_row(&(struct report_row){ .section = "products", .what = what, .value = ns, .unit = "ns",
        .sense = REPORT_BELOW, .floor = floor, .goal = goal });
    report_row(&(struct report_row){ .section = "products", .what = "the same beside a merge",
        .value = ns, .unit = "ns", .baseline = plain, .baseline_name = "pair by pair",
        .sense = REPORT_FASTER });
    free(c.X), free(c.out);
}

/* Features of tanimoto for as many rows as hiv has: nanoseconds for one of a row with 24 places; a
 * pass, and the Gram matrix, for an entry and a row. */
enum { HASHED = 41913, FEATURES = 1024 };
struct hashed { struct featmap *map; struct source_array src; struct fop *f; double *G, *z, *w; };

static void run_hashes(void *ctx)
{
    struct hashed *h = ctx;

    fop_free(h->f);
    h->f = fop_new(backend_cpu(), h->map, &h->src.base, &(struct fop_opts){ 0 }, &err);
    must(h->f ? fop_pass(h->f, 1, h->z, h->w, NULL, &err) : ST_NOMEM);
}

static void run_pass(void *ctx)
{
    struct hashed *h = ctx;

    must(fop_pass(h->f, 1, h->z, h->w, NULL, &err));
}

static void run_gram(void *ctx)
{
    struct hashed *h = ctx;

    must(fop_gram(h->f, NULL, h->G, NULL, NULL, NULL, &err));
}

static void hashed(void)
{
    struct hashed h = { .G = report_need(FEATURES * FEATURES, sizeof *h.G),
                        .z = report_need(FEATURES, sizeof *h.z),
                        .w = report_need(FEATURES, sizeof *h.w) };
    const size_t places = 24, d = 1 + 2 * places;
    double *X = report_need(HASHED * d, sizeof *X), t[3];
    struct kernel k;

    for (size_t r = 0; r < HASHED; r++) {
        double *x = X + r * d;
        x[0] = (double)places;
        for (size_t i = 0; i < places; i++) { /* some places are far more common than others */
            const double u = rng_uniform(1, rng_stream(RNG_TEST, 5), r * places + i);
            x[1 + 2 * i] = (double)(i * 42) + floor(42.0 * u * u * u);
            x[2 + 2 * i] = 1.0 + (double)(rng_u64(1, rng_stream(RNG_TEST, 6), r + i * HASHED) % 5);
        }
    }
    must(kernel_parse("tanimoto", &k, NULL, &err));
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } } };
    must(kernel_bind_rows(&k, &rows, NULL, &err));
    source_array_init(&h.src, X, HASHED, d, d);
    h.src.base.layout = rows;
    h.map = featmap_new(&k, d, FEATURES, 1, &err);
    must(h.map ? ST_OK : err.code);
    run_hashes(&h);
    report_times(REPORT_THREAD, 3, (struct report_job[]){ { run_hashes, &h }, { run_pass, &h },
                                                          { run_gram, &h } }, t);
    const double all = (double)HASHED * FEATURES;
    report_row(&(struct report_row){ .section = "products", .what = "hash of a row of 24 places",
        .value = 1e9 * (t[0] - t[1]) / all, .unit = "ns", .sense = REPORT_BELOW, .floor = 6.0,
        .goal = 4.0 });
    report_row(&(struct report_row){ .section = "products", .what = "pass over bits, an entry",
        .value = 1e9 * t[1] / all, .unit = "ns" });
    report_row(&(struct report_row){ .section = "products",
        .what = "Gram matrix of bits, a product", .value = 2e9 * t[2] / all / FEATURES,
        .unit = "ns" });
    fop_free(h.f);
    featmap_free(h.map);
    free(h.G), free(h.z), free(h.w), free(X);
}

int main(int argc, char **argv)
{
    blas_init();
    if (argc == 3 && strcmp(argv[1], "--cpu") == 0)
        must(cpu_force_level(argv[2], &err));
    else if (argc != 1) {
        fprintf(stderr, "usage: bench_products [--cpu LEVEL]\n");
        return 2;
    }
    report_open(NULL);
    /* Of each entry a difference, a square and a sum; root 6, exponential 20, the rest. */
    pair("matern(nu=3/2,ard)", 26, 3.0 * 26.0 + 30.0, 1.3, 0.8);
    pair("rbf", 8, 3.0 * 8.0 + 22.0, 0.6, 0.35);
    pair("rq(alpha=2,ard)", 8, 3.0 * 8.0 + 50.0, 0.0, 0.0);
    pair("periodic", 8, 3.0 * 16.0 + 22.0, 0.0, 0.0);
    stored(false, 8);
    stored(false, 26);
    stored(true, 26);
    step(1, 9.0, 4.0);
    step(SAMPLES, 20.0, 14.0);
    step(SAMPLES + 1, 0.0, 0.0);
    counted(48, 1, 12.5, 4.2);
    counted(24, 5, 50.0, 12.5);
    counted(24, 255, 50.0, 12.5);
    hashed();
    return report_close();
}
