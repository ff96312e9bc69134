/* tests/bench/bench_tanimoto.c -- exact values and features of the kernels of counts beside those
 * that were published for them (../shared/data/README.md, note 13; Tripp et al. 2023).
 *
 *   gzip -dc ../shared/data/guacamol/fingerprints.csv.gz | bench_tanimoto exact
 *   gzip -dc .. | bench_tanimoto mse REFERENCE TRIALS MOST [PART PARTS]
 *
 * exact: values of pairs, mean and norm of the matrices of the first 1000 molecules; fails where
 * one is not the published one to all its digits.  mse: for each line of the reference with at most
 * MOST features, the mean and the standard deviation over TRIALS seeds of the mean squared error of
 * that matrix, as CSV, ending in whether the mean is within 4 of the published standard deviations
 * or 5 % of the published mean; of every PARTS-th line the PART-th. */
#include "report.h"

#include "compute/backend.h"
#include "compute/features/fop.h"
#include "compute/features/tensor.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, PLACES = 160, D = 1 + 2 * PLACES };

static struct err err;

static void must(enum status rc)
{
    if (rc != ST_OK)
        report_die(err.msg);
}

/* The second fingerprint of each line of the file, as rows of counts or of bits. */
static void read_rows(double *counts, double *bits)
{
    char line[16384];

    if (!fgets(line, sizeof line, stdin))
        report_die("no fingerprints on the standard input");
    for (size_t i = 0; i < N && fgets(line, sizeof line, stdin); i++) {
        double *x = counts + i * D, *b = bits + i * D;
        const char *at = strchr(line, ',');
        unsigned place, count;
        int read;
        for (at++; sscanf(at, "%u:%u%n", &place, &count, &read) == 2; at += read) {
            const size_t n = (size_t)x[0]++;
            if (n == PLACES)
                report_die("a row has too many places");
            x[1 + 2 * n] = b[1 + 2 * n] = place;
            x[2 + 2 * n] = count;
            b[2 + 2 * n] = 1.0;
            b[0] = x[0];
        }
    }
}

static void open_rows(struct source_array *s, const double *x)
{
    source_array_init(s, x, N, D, D);
    s->base.layout = (struct row_layout){ .nparts = 1,
                                          .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } } };
}

static void make_kernel(struct kernel *k, const char *text, const double *x)
{
    struct source_array s;

    open_rows(&s, x);
    must(kernel_parse(text, k, NULL, &err));
    must(kernel_bind_rows(k, &s.base.layout, NULL, &err));
    must(tensor_norms(k, &s.base, &err));
}

static double *matrix(const char *text, const double *x)
{
    double *K = report_need((size_t)N * N, sizeof *K);
    struct kernel k;

    make_kernel(&k, text, x);
    for (size_t j = 0; j < N; j += KERNEL_TILE) {
        const size_t n = N - j < KERNEL_TILE ? N - j : KERNEL_TILE;
        struct kernel_tile *t = kernel_tile_new(&k, NULL, D, n, x + j * D, D);
        if (t == NULL)
            report_die("no memory for a tile");
        kernel_tile_values(t, N, x, D, K + j * N, N);
        kernel_tile_free(t);
    }
    return K;
}

/* Exact values. */

struct known { const char *name, *text; bool bits; double at01, at02, at10_500, mean, frobenius; };
static const struct known known[] = {
    { "T_MM count", "tanimoto", false, 0.2340425532, 0.0653594771, 0.0082644628, 0.1638562671,
      176.04982628 },
    { "T_DP count", "tanimotodp(power=1)", false, 0.5876777251, 0.0938166311, 0.0065075922,
      0.3452878556, 374.90657688 },
    { "T_MM binary", "tanimoto", true, 0.1250000000, 0.0804597701, 0.0156250000, 0.1244950086,
      134.11870082 },
    { "T_DP binary", "tanimotodp(power=1)", true, 0.1250000000, 0.0804597701, 0.0156250000,
      0.1244950086, 134.11870082 },
};

/* Published values have ten digits, norms eight after the point. */
static bool same(const char *of, const char *what, double got, double want, double within)
{
    const bool ok = fabs(got - want) <= within;

    printf("%-12s %-10s %.10f  published %.10f  %s\n", of, what, got, want, ok ? "ok" : "WRONG");
    return ok;
}

static bool exact_values(const double *counts, const double *bits)
{
    bool ok = true;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known *w = &known[i];
        double *K = matrix(w->text, w->bits ? bits : counts), sum = 0.0, square = 0.0;
        for (size_t j = 0; j < (size_t)N * N; j++) {
            sum += K[j];
            square += K[j] * K[j];
        }
        ok &= same(w->name, "K[0,1]", K[1], w->at01, 1e-9);
        ok &= same(w->name, "K[0,2]", K[2], w->at02, 1e-9);
        ok &= same(w->name, "K[10,500]", K[10 * N + 500], w->at10_500, 1e-9);
        ok &= same(w->name, "mean", sum / ((double)N * N), w->mean, 1e-9);
        ok &= same(w->name, "frobenius", sqrt(square), w->frobenius, 1e-8);
        free(K);
    }
    return ok;
}

/* Errors of features. */

static double error_of(const struct kernel *k, const double *x, const double *K, size_t M,
                       uint64_t seed)
{
    struct source_array s;
    float *Z = report_need(N * M, sizeof *Z), *G = report_need((size_t)N * N, sizeof *G);
    double sum = 0.0;

    open_rows(&s, x);
    struct featmap *map = featmap_new(k, D, M, seed, &err);
    struct fop *f = map ? fop_new(backend_cpu(), map, &s.base, &(struct fop_opts){ 0 }, &err)
                        : NULL;
    if (f == NULL)
        report_die(err.msg);
    must(fop_tile(f, 0, N, Z, M, &err));
    blas_ssyrk1(true, true, N, M, 1.0F, Z, M, 0.0F, G, N);
    for (size_t j = 0; j < N; j++)
        for (size_t i = j; i < N; i++) {
            const double e = (double)G[i + j * N] - K[i + j * N];
            sum += e * e * (i == j ? 1.0 : 2.0);
        }
    fop_free(f);
    featmap_free(map);
    free(Z);
    free(G);
    return sum / ((double)N * N);
}

/* The expression of a variant: "Rademacher", "Gaussian" or "tdp_none_p-1.0_R4".  The dot products
 * of counts are those of their square roots (appendix F.1 of the paper): without them the terms
 * that R = 1 leaves out alone would make errors larger than the published ones. */
static void expression(const char *variant, bool bits, char *out, size_t len)
{
    char bias[40];
    double p;
    int R;

    if (sscanf(variant, "tdp_%39[a-z]_p%lf_R%d", bias, &p, &R) != 3 &&
        sscanf(variant, "tdp_%39[a-z]_error_p%lf_R%d", bias, &p, &R) != 3) {
        snprintf(out, len, "tanimoto(xi=%s)", variant[0] == 'G' ? "gauss" : "signs");
        return;
    }
    snprintf(out, len, "tanimotodp(power=%s,terms=%d,shares=%g,bias=%s)", bits ? "1" : "0.5", R, p,
             bias);
}

/* A line of the reference.  True if its errors are alike. */
static bool one_line(char *line, const double *const x[2], double *const K[2][2], int trials,
                     size_t most)
{
    char kernel[8], finger[8], variant[40], text[160];
    double mean, sd, sum = 0.0, square = 0.0;
    size_t M;
    struct kernel k;

    if (sscanf(line, "%7[a-z],%7[a-z],%39[^,],%zu,%lf,%lf", kernel, finger, variant, &M, &mean,
               &sd) != 6)
        report_die("a line of the reference is wrong");
    const bool bits = finger[0] == 'b', tdp = strcmp(kernel, "tdp") == 0;
    if (M > most)
        return true;
    expression(variant, bits, text, sizeof text);
    make_kernel(&k, text, x[bits]);
    for (int i = 0; i < trials; i++) {
        const double e = error_of(&k, x[bits], K[bits][tdp], M, (uint64_t)i);
        sum += e;
        square += e * e;
    }
    const double ours = sum / trials;
    const bool ok = fabs(ours - mean) <= fmax(4.0 * sd, 0.05 * mean);
    printf("%s,%s,%s,%zu,%.6g,%.3g,%.6g,%.3g,%s\n", kernel, finger, variant, M, mean, sd, ours,
           sqrt(fmax(0.0, square / trials - ours * ours)), ok ? "ok" : "apart");
    fflush(stdout);
    return ok;
}

int main(int argc, char **argv)
{
    double *counts = report_need((size_t)N * D, sizeof *counts),
           *bits = report_need((size_t)N * D, sizeof *bits);
    const double *const x[2] = { counts, bits };
    char line[256];
    bool ok = true;

    blas_init();
    read_rows(counts, bits);
    if (argc == 2 && strcmp(argv[1], "exact") == 0)
        return exact_values(counts, bits) ? 0 : 1;
    FILE *f = argc >= 5 && strcmp(argv[1], "mse") == 0 ? fopen(argv[2], "r") : NULL;
    if (f == NULL)
        report_die("usage: bench_tanimoto exact | mse REFERENCE TRIALS MOST [PART PARTS]");
    double *const K[2][2] = {
        { matrix("tanimoto", counts), matrix("tanimotodp(power=0.5)", counts) },
        { matrix("tanimoto", bits), matrix("tanimotodp(power=1)", bits) },
    };
    const long part = argc > 6 ? atol(argv[5]) : 0, parts = argc > 6 ? atol(argv[6]) : 1;
    if (!fgets(line, sizeof line, f))
        report_die("an empty reference");
    for (long i = 0; fgets(line, sizeof line, f); i++)
        if (i % parts == part)
            ok &= one_line(line, x, K, atoi(argv[3]), (size_t)atol(argv[4]));
    fclose(f);
    return ok ? 0 : 1;
}
