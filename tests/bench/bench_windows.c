/* tests/bench/bench_windows.c -- features of sequences: sums over windows beside the same number of
 * vector features, and beside dense random filters by BLAS.
 *
 *   bench_windows [--rows FILE] [--level LEVEL]
 *
 * 2,000 sequences of 100 letters out of 20, windows of 9.  "feature": one sine or cosine of one window.
 * Sequences of one family (5 letters of one changed) share most windows, others none. */
#include "report.h"

#include "compute/blas.h"
#include "compute/fop.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 256, POSITIONS = 100, LETTERS = 20, WIDTH = 9, WINDOWS = POSITIONS - WIDTH + 1 };

struct set { struct source_array src; struct featmap *fm; struct fop *f; double *x; float *z; size_t M; };

static void set_open(struct set *s, const char *kernel, size_t M, size_t d)
{
    static const double l = 2.0;
    struct kernel k;
    struct err err = { 0 };

    if (kernel_parse(kernel, &k, NULL, &err) != ST_OK || kernel_bind_rows(&k, LETTERS, true, 0, &err) != ST_OK)
        report_die(err.msg);
    source_array_init(&s->src, s->x, ROWS, d, d);
    if (kernel_reads_windows(&k)) {
        s->src.base.row = ROW_SYMBOLS;
        s->src.base.channels = LETTERS;
    }
    s->M = M;
    s->fm = featmap_new(&k, d, M, 3, &err);
    s->f = s->fm ? fop_new(backend_cpu(), s->fm, &s->src.base, &(struct fop_opts){ 0 }, &err) : NULL;
    if (!s->f || fop_set(s->f, &l, &err) != ST_OK)
        report_die(err.msg);
    s->z = report_need(ROWS * (M + 16), sizeof *s->z);
}

static void run_tile(void *ctx)
{
    struct set *s = ctx;

    fop_tile(s->f, 0, ROWS, s->z, s->M + 16, NULL);
}

struct dense { size_t M; float *x, *w, *p; };

/* Projections alone: no sines, no sums over windows. */
static void run_dense(void *ctx)
{
    struct dense *d = ctx;

    for (size_t r = 0; r < ROWS; r += 8)
        blas_sgemm1(true, false, d->M / 2, 8 * WINDOWS, WIDTH * LETTERS, 1.0F, d->w, WIDTH * LETTERS, d->x,
                    WIDTH * LETTERS, 0.0F, d->p, d->M / 2);
}

static double *sequences(bool family)
{
    const size_t d = 1 + POSITIONS;
    double *x = report_need(ROWS * d, sizeof *x);

    for (size_t r = 0; r < ROWS; r++) {
        x[r * d] = POSITIONS;
        for (size_t p = 0; p < POSITIONS; p++)
            x[r * d + 1 + p] = (double)rng_below(1, rng_stream(RNG_TEST, 1), family ? p : r * d + p, LETTERS);
        for (size_t c = 0; family && c < 5; c++)
            x[r * d + 1 + rng_below(1, rng_stream(RNG_TEST, 2), r * 5 + c, POSITIONS)] =
                (double)rng_below(1, rng_stream(RNG_TEST, 3), r * 5 + c, LETTERS);
    }
    return x;
}

static void bench(size_t M)
{
    const size_t d = WIDTH * LETTERS;
    struct set other = { .x = sequences(false) }, family = { .x = sequences(true) };
    struct set vector = { .x = report_need(ROWS * d, sizeof(double)) };
    struct dense dense = { .M = M };
    char what[100];
    double t[4];

    for (size_t i = 0; i < ROWS * d; i++)
        vector.x[i] = rng_normal(1, rng_stream(RNG_TEST, 4), i);
    set_open(&other, "conv(rbf,width=9)", M, 1 + POSITIONS);
    set_open(&family, "conv(rbf,width=9)", M, 1 + POSITIONS);
    set_open(&vector, "rbf", M, d);
    dense.x = report_need(8 * WINDOWS * d, sizeof(float));
    dense.w = report_need(M / 2 * d, sizeof(float));
    dense.p = report_need(8 * WINDOWS * M / 2, sizeof(float));
    for (size_t i = 0; i < 8 * WINDOWS * d; i++)
        dense.x[i] = (float)(i % 20 == 3);
    for (size_t i = 0; i < M / 2 * d; i++)
        dense.w[i] = (float)vector.x[i % (ROWS * d)];
    report_times(REPORT_THREAD, 4, (struct report_job[]){ { run_tile, &other }, { run_tile, &family },
                                                          { run_tile, &vector }, { run_dense, &dense } }, t);
    const double features = (double)ROWS * (double)M, each = features * WINDOWS;
    const double base = 1e9 * t[2] / features;
    snprintf(what, sizeof what, "conv f32 100 x 20 width 9, M=%zu, unlike sequences", M);
    report_row(&(struct report_row){ .section = "windows", .what = what, .value = 1e9 * t[0] / each,
        .unit = "ns/feature", .baseline = base, .baseline_name = "vector features", .sense = REPORT_LONGER,
        .floor = 1.3, .goal = 1.0, .rate = 1e-9 * each / t[0], .rate_unit = "Gfeature/s",
        .limit = 1e-9 * features / t[2], .limit_name = "vector features" });
    report_row(&(struct report_row){ .section = "windows", .what = "the same, against dense filters",
        .value = t[0] * 1e3, .unit = "ms", .baseline = t[3] * 1e3, .baseline_name = "sgemm, no sines",
        .sense = REPORT_FASTER, .floor = 1.0 });
    snprintf(what, sizeof what, "conv f32 100 x 20 width 9, M=%zu, one family", M);
    report_row(&(struct report_row){ .section = "windows", .what = what, .value = 1e9 * t[1] / each,
        .unit = "ns/feature", .baseline = base, .baseline_name = "vector features", .sense = REPORT_LONGER,
        .floor = 1.3, .goal = 0.6, .rate = 1e-9 * each / t[1], .rate_unit = "Gfeature/s",
        .limit = 1e-9 * features / t[2], .limit_name = "vector features" });
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
    return report_close();
}
