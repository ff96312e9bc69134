/* tests/bench/bench_windows.c -- features of sequences: sums over windows beside the same number of
 * vector features, and beside dense random filters by BLAS.
 *
 *   bench_windows [--rows FILE] [--level LEVEL]
 *
 * 256 sequences of 100 letters out of 20, windows of 9.  "feature": one sine or cosine of one
 * window. Sequences of one family (5 letters of one changed) share most windows, others none. Then:
 * from which size of a window structured filters win over dense ones, whether cost grows with
 * length alone, and what tuning by fastconv costs beside conv. */
#include "report.h"

#include "compute/linalg/blas.h"
#include "compute/kernels/layers/fastconv.h"
#include "compute/features/fop.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, POSITIONS = 100, LETTERS = 20, WIDTH = 9, WINDOWS = POSITIONS - WIDTH + 1 };

struct set {
    struct source_array src;
    struct featmap *fm;
    struct fop *f;
    double *x;
    float *z;
    size_t rows, M;
};

/* d numbers a row; letters 0: a row is a vector. */
static void set_open(struct set *s, const char *kernel, size_t M, size_t d, size_t letters)
{
    static const double l = 2.0;
    struct kernel k;
    struct err err = { 0 };
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_SYMBOLS, letters, 0 } } };

    if (kernel_parse(kernel, &k, NULL, &err) != ST_OK ||
        kernel_bind_rows(&k, &rows, NULL, &err) != ST_OK)
        report_die(err.msg);
    source_array_init(&s->src, s->x, s->rows, d, d);
    if (letters > 0)
        s->src.base.layout = rows;
    s->M = M;
    s->fm = featmap_new(&k, d, M, 3, &err);
    s->f = s->fm ? fop_new(backend_cpu(), s->fm, &s->src.base, &(struct fop_opts){0}, &err) : NULL;
    if (!s->f || fop_set(s->f, &l, &err) != ST_OK)
        report_die(err.msg);
    s->z = report_need(s->rows * (M + 16), sizeof *s->z);
}

static void set_close(struct set *s)
{
    fop_free(s->f);
    featmap_free(s->fm);
    free(s->z);
    free(s->x);
}

static void run_tile(void *ctx)
{
    struct set *s = ctx;

    fop_tile(s->f, 0, s->rows, s->z, s->M + 16, NULL);
}

/* Windows of 8 rows at a time, `d` numbers each. */
struct dense { size_t rows, windows, d, M; float *x, *w, *p; };

static void dense_open(struct dense *n)
{
    n->x = report_need(8 * n->windows * n->d, sizeof(float));
    n->w = report_need(n->M / 2 * n->d, sizeof(float));
    n->p = report_need(8 * n->windows * n->M / 2, sizeof(float));
    for (size_t i = 0; i < 8 * n->windows * n->d; i++)
        n->x[i] = (float)(i % 20 == 3);
    for (size_t i = 0; i < n->M / 2 * n->d; i++)
        n->w[i] = (float)rng_normal(1, rng_stream(RNG_TEST, 4), i);
}

static void dense_close(struct dense *n)
{
    free(n->x);
    free(n->w);
    free(n->p);
}

/* Projections alone: no sines, no sums over windows. */
static void run_dense(void *ctx)
{
    struct dense *n = ctx;

    for (size_t r = 0; r < n->rows; r += 8)
        blas_sgemm1(true, false, n->M / 2, 8 * n->windows, n->d, 1.0F, n->w, n->d, n->x, n->d, 0.0F,
                    n->p, n->M / 2);
}

static double *sequences(size_t rows, size_t positions, size_t letters, bool family)
{
    const size_t d = 1 + positions;
    double *x = report_need(rows * d, sizeof *x);

    for (size_t r = 0; r < rows; r++) {
        x[r * d] = (double)positions;
        for (size_t p = 0; p < positions; p++)
            x[r * d + 1 + p] = (double)rng_below(1, rng_stream(RNG_TEST, 1), family ? p : r * d + p,
                                                 (uint32_t)letters);
        for (size_t c = 0; family && c < 5; c++)
            x[r * d + 1 + rng_below(1, rng_stream(RNG_TEST, 2), r * 5 + c, (uint32_t)positions)] =
                (double)rng_below(1, rng_stream(RNG_TEST, 3), r * 5 + c, (uint32_t)letters);
    }
    return x;
}

static void bench(size_t M)
{
    const size_t d = WIDTH * LETTERS;
    struct set other = { .x = sequences(ROWS, POSITIONS, LETTERS, false), .rows = ROWS };
    struct set family = { .x = sequences(ROWS, POSITIONS, LETTERS, true), .rows = ROWS };
    struct set vector = { .x = report_need(ROWS * d, sizeof(double)), .rows = ROWS };
    struct dense dense = { ROWS, WINDOWS, d, M, NULL, NULL, NULL };
    char what[100];
    double t[4];

    for (size_t i = 0; i < ROWS * d; i++)
        vector.x[i] = rng_normal(1, rng_stream(RNG_TEST, 4), i);
    set_open(&other, "conv(rbf,width=9)", M, 1 + POSITIONS, LETTERS);
    set_open(&family, "conv(rbf,width=9)", M, 1 + POSITIONS, LETTERS);
    set_open(&vector, "rbf", M, d, 0);
    dense_open(&dense);
    report_times(
        REPORT_THREAD, 4,
        (struct report_job[]){
            {run_tile, &other}, {run_tile, &family}, {run_tile, &vector}, {run_dense, &dense}},
        t);
    const double features = (double)ROWS * (double)M, each = features * WINDOWS;
    const double base = 1e9 * t[2] / features;
    snprintf(what, sizeof what, "conv f32 100 x 20 width 9, M=%zu, unlike sequences", M);
    report_row(&(struct report_row){.section = "windows",
                                    .what = what,
                                    .value = 1e9 * t[0] / each,
                                    .unit = "ns/feature",
                                    .baseline = base,
                                    .baseline_name = "vector features",
                                    .sense = REPORT_LONGER,
                                    .floor = 1.3,
                                    .goal = 1.0,
                                    .rate = 1e-9 * each / t[0],
                                    .rate_unit = "Gfeature/s",
                                    .limit = 1e-9 * features / t[2],
                                    .limit_name = "vector features"});
    report_row(&(struct report_row){.section = "windows",
                                    .what = "the same, against dense filters",
                                    .value = t[0] * 1e3,
                                    .unit = "ms",
                                    .baseline = t[3] * 1e3,
                                    .baseline_name = "sgemm, no sines",
                                    .sense = REPORT_FASTER,
                                    .floor = 1.0});
    snprintf(what, sizeof what, "conv f32 100 x 20 width 9, M=%zu, one family", M);
    report_row(&(struct report_row){.section = "windows",
                                    .what = what,
                                    .value = 1e9 * t[1] / each,
                                    .unit = "ns/feature",
                                    .baseline = base,
                                    .baseline_name = "vector features",
                                    .sense = REPORT_LONGER,
                                    .floor = 1.3,
                                    .goal = 0.6,
                                    .rate = 1e-9 * each / t[1],
                                    .rate_unit = "Gfeature/s",
                                    .limit = 1e-9 * features / t[2],
                                    .limit_name = "vector features"});
}

/* Structured filters with their sines and sums over windows, beside the products alone of dense
 * ones: where windows of width x letters numbers begin to win.  Below 64 it is dense filters that
 * win, by design (convdense). */
static void bench_sizes(void)
{
    static const struct { size_t width, letters;
    } at[] = {
        {2, 4}, {8, 4}, {3, 20}, {16, 4}, {4, 20}, {6, 20}, {9, 20}, {16, 20}, {25, 20},
    };
    enum { FEW = 64, M = 4096 };

    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        const size_t d = at[i].width * at[i].letters;
        struct set s = { .x = sequences(FEW, POSITIONS, at[i].letters, false), .rows = FEW };
        struct dense dense = { FEW, POSITIONS - at[i].width + 1, d, M, NULL, NULL, NULL };
        char kernel[40], what[100];
        double t[2];
        snprintf(kernel, sizeof kernel, "conv(rbf,width=%zu)", at[i].width);
        set_open(&s, kernel, M, 1 + POSITIONS, at[i].letters);
        dense_open(&dense);
        report_times(REPORT_THREAD, 2, (struct report_job[]){{run_tile, &s}, {run_dense, &dense}},
                     t);
        snprintf(what, sizeof what, "conv f32 %zu letters width %zu (%zu), M=%d", at[i].letters,
                 at[i].width, d, M);
        report_row(&(struct report_row){.section = "windows",
                                        .what = what,
                                        .value = t[0] * 1e3,
                                        .unit = "ms",
                                        .baseline = t[1] * 1e3,
                                        .baseline_name = "sgemm, no sines",
                                        .sense = REPORT_FASTER,
                                        .floor = d >= 64 ? 1.0 : 0.0});
        dense_close(&dense);
        set_close(&s);
    }
}

/* As many letters in ever longer sequences: a window costs the same. */
static void bench_lengths(void)
{
    static const size_t length[] = { 100, 1000, 10000, 50000 };
    enum { ALL = 50000, M = 1024, LENGTHS = sizeof length / sizeof length[0] };
    struct set s[LENGTHS];
    struct report_job job[LENGTHS];
    double t[LENGTHS], each[LENGTHS];

    for (size_t i = 0; i < LENGTHS; i++) {
        s[i] = (struct set){ .rows = ALL / length[i] };
        s[i].x = sequences(s[i].rows, length[i], LETTERS, false);
        set_open(&s[i], "conv(rbf,width=9)", M, 1 + length[i], LETTERS);
        job[i] = (struct report_job){ run_tile, &s[i] };
    }
    report_times(REPORT_THREAD, LENGTHS, job, t);
    for (size_t i = 0; i < LENGTHS; i++) {
        const double windows = (double)s[i].rows * (double)(length[i] - WIDTH + 1);
        char what[100];
        each[i] = 1e9 * t[i] / (windows * M);
        snprintf(what, sizeof what, "conv f32 width 9, M=%d, length %zu", M, length[i]);
        report_row(&(struct report_row){.section = "windows",
                                        .what = what,
                                        .value = each[i],
                                        .unit = "ns/feature",
                                        .baseline = i ? each[0] : 0.0,
                                        .baseline_name = "length 100",
                                        .sense = i ? REPORT_LONGER : REPORT_FIGURE,
                                        .floor = i ? 1.3 : 0.0});
        set_close(&s[i]);
    }
}

/* Tuning. */

enum { TROWS = 512, TM = 512, FILTERS = 512, EVALUATIONS = 20 };
struct tuning { struct set s; const double *letters; double y[TROWS], best; bool filters; };

/* The values of all filters, once; then the likelihood at each lengthscale: what a tuning does. */
static void run_tuning(void *ctx)
{
    static const double amp[2] = { 0.05, 50.0 }, noise[2] = { 1e-3, 10.0 };
    struct tuning *u = ctx;
    struct err err = { 0 };

    if (u->filters) {
        const struct layer layer = {.ops = &layer_fastconv,
                                           .width = WIDTH,
                                           .filters = FILTERS,
                                           .channels = LETTERS,
                                           .symbols = true};
        struct fastconv *f = fastconv_new(&layer, 4, &err);
        if (!f)
            report_die(err.msg);
        for (size_t i = 0; i < TROWS; i++)
            fastconv_row(f, u->letters + i * (1 + POSITIONS), u->s.x + i * FILTERS, NULL);
        fastconv_free(f);
    }
    u->best = INFINITY;
    for (size_t e = 0; e < EVALUATIONS; e++) {
        const double l = (u->filters ? 10.0 : 0.5) * pow(1.25, (double)e);
        double value, a, n, grad;
        if (nmll_features(
                u->s.f,
                &(struct nmll_ask){
                    .y = u->y,
                    .hp = &l,
                    .nhp = 1,
                    .scale = NMLL_BEST,
                    .within = &(struct nmll_bounds){{amp[0], amp[1]}, {noise[0], noise[1]}}},
                &(struct nmll_told){.value = &value, .amplitude = &a, .noise = &n, .grad = &grad},
                NULL, &err) != ST_OK)
            report_die(err.msg);
        u->best = fmin(u->best, value);
    }
}

/* One family; y is smooth in the letters. */
static void bench_tuning(void)
{
    double *x = sequences(TROWS, POSITIONS, LETTERS, true), t[2];
    struct tuning conv = { .s = { .x = x, .rows = TROWS }, .letters = x };
    struct tuning fast = {
        .s = {.x = report_need((size_t)TROWS * FILTERS, sizeof(double)), .rows = TROWS},
        .letters = x,
        .filters = true};

    for (size_t i = 0; i < TROWS; i++) {
        double sum = 0.0;
        for (size_t p = 0; p < POSITIONS; p++)
            sum += 0.3 * sin((double)p + x[i * (1 + POSITIONS) + 1 + p]);
        conv.y[i] = fast.y[i] = sum;
    }
    set_open(&conv.s, "conv(rbf,width=9)", TM, 1 + POSITIONS, LETTERS);
    set_open(&fast.s, "rbf", TM, FILTERS, 0);
    report_times(REPORT_THREAD, 2, (struct report_job[]){{run_tuning, &fast}, {run_tuning, &conv}},
                 t);
    report_row(&(struct report_row){.section = "windows",
                                    .what = "tuning by fastconv, 512 filters, 20 evaluations",
                                    .value = t[0],
                                    .unit = "s",
                                    .baseline = t[1],
                                    .baseline_name = "by conv",
                                    .sense = REPORT_FASTER,
                                    .floor = 1.0});
    printf("    least likelihoods: %.1f by fastconv, %.1f by conv\n", fast.best, conv.best);
    free(fast.s.x);
    fast.s.x = NULL;
    set_close(&fast.s);
    set_close(&conv.s);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    struct err err;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else if (strcmp(argv[i], "--level") == 0 && i + 1 < argc) {
            if (cpu_force_level(argv[++i], &err) != ST_OK)
                report_die(err.msg);
        } else {
            fprintf(stderr, "bench_windows [--rows FILE] [--level LEVEL]\n");
            return 2;
        }
    }
    blas_init();
    report_open(path);
    report_head();
    report_rounds = 3;
    bench(4096);
    bench(16384);
    bench_sizes();
    bench_lengths();
    bench_tuning();
    return report_close();
}
