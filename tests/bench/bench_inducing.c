/* tests/bench/bench_inducing.c -- inducing points of strings and of two classes, in seconds and in
 * units of a product of two 1024 x 1024 matrices by BLAS, in turn with it on one thread.
 *
 *   bench_inducing [--rows FILE]
 *
 * 10,000 steps of annealing, 1,000 strings of 100 letters, 100 points; greedy(subset=20), 23,027
 * strings of 8 letters, 100 points; 20 sweeps of expectation propagation, 40,000 rows of 3 numbers,
 * 100 points; and the fit of two classes of 2,000 strings of 60 letters with 50 points beside one
 * with all rows. */
#include "report.h"

#include "compute/inducing/sites.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"
#include "compute/models/model.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DGEMM = 1024 };

static struct err err;

static void must(enum status rc)
{
    if (rc != ST_OK)
        report_die(err.msg);
}

/* Rows of letters, or (letters 0) of so many numbers; targets -1 and +1, by the count of the word
 * AC or a curved function of the numbers, with noise. */
struct rows {
    struct kernel k;
    double hp[KERNEL_MAX_HP], *X, *y;
    size_t n, d;
    struct source_array src;
    struct columns_of of;
};

static void rows_open(struct rows *r, const char *kernel, size_t n, size_t letters, size_t numbers)
{
    const struct row_layout dna = { .nparts = 1, .part = { { ROWS_SYMBOLS, 4, 0 } } };
    const uint64_t stream = rng_stream(RNG_TEST, 19);

    *r = (struct rows){ .n = n, .d = letters ? 1 + letters : numbers, .hp = { 1.0 } };
    r->X = report_need(n * r->d, sizeof *r->X);
    r->y = report_need(n, sizeof *r->y);
    for (size_t i = 0; i < n; i++) {
        double *x = r->X + i * r->d, sum = 0.0;
        x[0] = (double)letters;
        for (size_t j = letters ? 1 : 0; j < r->d; j++)
            x[j] = letters ? (double)rng_below(1, stream, i * r->d + j, 4)
                           : rng_normal(1, stream, i * r->d + j);
        for (size_t j = 1; j + 1 < r->d; j++)
            sum += letters ? (x[j] == 0.0 && x[j + 1] == 1.0) - 1.0 / 16.0
                           : 0.5 * sin(2.0 * x[j]) * x[j + 1];
        r->y[i] = sum + 0.5 * rng_normal(2, stream, i) > 0.0 ? 1.0 : -1.0;
    }
    must(kernel_parse(kernel, &r->k, NULL, &err));
    if (letters)
        must(kernel_bind_rows(&r->k, &dna, NULL, &err));
    source_array_init(&r->src, r->X, n, r->d, r->d);
    if (letters)
        r->src.base.layout = dna;
    r->of = (struct columns_of){ .k = &r->k, .hp = r->hp, .X = r->X, .n = n, .d = r->d };
}

static void rows_close(struct rows *r)
{
    free(r->X);
    free(r->y);
}

/* What all is measured in. */
struct gemm { double *A, *B, *C; };
static struct gemm gemm;

static void run_gemm(void *ctx)
{
    struct gemm *g = ctx;

    blas_dgemm1(false, false, DGEMM, DGEMM, DGEMM, 1.0, g->A, DGEMM, g->B, DGEMM, 0.0, g->C, DGEMM);
}

/* In turn with the product; must: seconds that were asked for. */
static void beside_gemm(const char *what, void (*fn)(void *), void *ctx, double by, double must_s)
{
    double t[2];

    report_times(REPORT_THREAD, 2, (struct report_job[]){ { fn, ctx }, { run_gemm, &gemm } }, t);
    report_row(&(struct report_row){ .section = "inducing", .what = what, .value = by * t[0],
        .unit = "s", .sense = REPORT_BELOW, .floor = must_s });
    report_row(&(struct report_row){ .section = "inducing", .what = "the same, in such products",
        .value = by * t[0], .unit = "s", .baseline = t[1], .baseline_name = "dgemm 1024x1024x1024",
        .sense = REPORT_LONGER });
}

struct choice { struct rows *rows; const char *way; size_t m; };

static void run_choice(void *ctx)
{
    const struct choice *c = ctx;
    const double amplitude = 1.0;
    struct select_opts o = { .m = c->m };
    struct select_points out = { 0 };

    must(select_parse(c->way, &o, &err));
    struct select_job job = { .rows = &c->rows->of, .src = &c->rows->src.base, .y = c->rows->y,
                              .t = 1, .amplitude = &amplitude, .ratio = 20.0, .o = &o, .seed = 1,
                              .out = &out };
    must(select_points(&job, &err));
    select_points_free(&out);
}

/* Sweeps until the sites stay, with the covariances that they need. */
struct sweeps { struct rows *rows; size_t m, made; };

static void run_sweeps(void *ctx)
{
    struct sweeps *w = ctx;
    struct sites s = { 0 };

    must(sites_make(&w->rows->of, w->rows->X, w->m, &probit_likelihood, w->rows->y, &s, NULL,
                    &err));
    must(sites_at(&s, 2.0, 0.0, NULL, &err));
    w->made = s.l.sweeps;
    sites_free(&s);
}

struct fitted { struct rows *rows; const char *solver, *way; };

static void run_fit(void *ctx)
{
    const struct fitted *f = ctx;
    struct fit_opts o = { .kernel = f->rows->k, .solver = f->solver, .amplitude = 0.1, .noise = 1.0,
                          .keep_scale = true, .targets = 1, .likelihood = &probit_likelihood,
                          .seed = 1, .inducing = { .m = 50, .approx = BOUND_FITC } };
    struct model *m = NULL;
    struct fit_info info;

    must(select_parse(f->way, &o.inducing, &err));
    must(model_fit(&f->rows->src.base, f->rows->y, &o, &(struct tools){ 0 }, &m, &info, NULL,
                   &err));
    model_unref(m);
}

static void two_classes(void)
{
    struct rows r;
    double t[3];

    rows_open(&r, "spectrum(n=3)", 2000, 60, 0);
    struct fitted all = { &r, "auto", "random" }, random = { &r, "sparse", "random" },
                  greedy = { &r, "sparse", "greedy" };
    report_times(REPORT_THREAD, 3, (struct report_job[]){ { run_fit, &all }, { run_fit, &random },
                                                          { run_fit, &greedy } }, t);
    for (int i = 1; i < 3; i++)
        report_row(&(struct report_row){ .section = "inducing",
            .what = i == 1 ? "two classes, 2,000 strings, 50 random points"
                           : "two classes, 2,000 strings, 50 greedy points",
            .value = t[i], .unit = "s", .baseline = t[0], .baseline_name = "all rows",
            .sense = REPORT_FASTER, .floor = 40.0 });
    rows_close(&r);
}

int main(int argc, char **argv)
{
    struct rows strings, eight, numbers;

    blas_init();
    report_open(argc > 2 && !strcmp(argv[1], "--rows") ? argv[2] : NULL);
    report_head();
    report_rounds = 1;
    gemm = (struct gemm){ report_need(DGEMM * DGEMM, sizeof(double)),
                          report_need(DGEMM * DGEMM, sizeof(double)),
                          report_need(DGEMM * DGEMM, sizeof(double)) };
    for (size_t i = 0; i < DGEMM * DGEMM; i++)
        gemm.A[i] = gemm.B[i] = (double)(i % 1009) / 1009.0;
    rows_open(&strings, "spectrum(n=5)", 1000, 100, 0);
    beside_gemm("10,000 steps of annealing, n=1,000, m=100", run_choice,
                &(struct choice){ &strings, "anneal(steps=10000)", 100 }, 1.0, 10.0);
    rows_open(&eight, "spectrum(n=4)", 23027, 8, 0);
    beside_gemm("greedy(subset=20) by words, n=23,027, m=100", run_choice,
                &(struct choice){ &eight, "greedy(subset=20)", 100 }, 1.0, 20.0);
    rows_open(&numbers, "rbf", 40000, 0, 3);
    beside_gemm("greedy(subset=20) by rbf, n=40,000, m=100", run_choice,
                &(struct choice){ &numbers, "greedy(subset=20)", 100 }, 1.0, 0.0);
    struct sweeps w = { &numbers, 100, 0 };
    run_sweeps(&w);
    beside_gemm("20 sweeps of EP, n=40,000, m=100", run_sweeps, &w, 20.0 / (double)w.made, 20.0);
    two_classes();
    rows_close(&strings);
    rows_close(&eight);
    rows_close(&numbers);
    free(gemm.A), free(gemm.B), free(gemm.C);
    return report_close();
}
