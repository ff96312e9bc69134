/* tests/bench/bench_tanimoto.c -- exact values and features of the kernels of counts beside those
 * that were published for them (../shared/data/README.md, note 13; Tripp et al. 2023).
 *
 *   gzip -dc ../shared/data/guacamol/fingerprints.csv.gz | bench_tanimoto exact
 *   gzip -dc .. | bench_tanimoto mse REFERENCE TRIALS MOST [PART PARTS]
 *   gzip -dc .. | bench_tanimoto variance FEATURES
 *   gzip -dc .. | bench_tanimoto prefactor TRIALS MOST
 *
 * exact: values of pairs, mean and norm of the matrices of the first 1000 molecules; fails where
 * one is not the published one to all its digits.  mse: for each line of the reference with at most
 * MOST features, the mean and the standard deviation over TRIALS seeds of the mean squared error of
 * that matrix, as CSV, ending in whether the mean is within 4 of the published standard deviations
 * or 5 % of the published mean; of every PARTS-th line the PART-th.
 *
 * The other two make what share/examples/tanimoto_figures.sh draws beside that, as CSV.  variance:
 * of the values of single features of `tanimoto` for pairs of molecules, by their similarity,
 * beside theorem 3.1 (figure 1, right).  prefactor: the mean squared error of the features of
 * (|x|^2 + |y|^2)^-r, norms scaled to at most 1, by their number (figure 2, right), and of MOST of
 * them by the shape and rate of their gamma distribution as factors of those of lemma 4.6 (left).
 */
#include "report.h"

#include "compute/backend.h"
#include "compute/features/fop.h"
#include "compute/features/tensor.h"
#include "compute/gamma.h"
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

/* Variances of single features. */

enum { PAIRED = 40, BINS = 20 };

/* Mean and variance over M features of the values for each pair of the first rows, into bins of
 * their similarity. */
static void one_variance(const char *text, const double *x, const double *K, size_t M,
                         const char *name)
{
    struct source_array s;
    struct kernel k;
    double sum[BINS] = { 0 }, want[BINS] = { 0 }, at[BINS] = { 0 };
    size_t n[BINS] = { 0 };
    float *Z = report_need(PAIRED * M, sizeof *Z);
    const bool gauss = strstr(text, "gauss") != NULL;

    make_kernel(&k, text, x);
    open_rows(&s, x);
    struct featmap *map = featmap_new(&k, D, M, 0, &err);
    struct fop *f = map ? fop_new(backend_cpu(), map, &s.base, &(struct fop_opts){ 0 }, &err)
                        : NULL;
    if (f == NULL)
        report_die(err.msg);
    must(fop_tile(f, 0, PAIRED, Z, M, &err));
    for (size_t i = 0; i < PAIRED; i++)
        for (size_t j = 0; j < i; j++) {
            const double T = K[i + j * N];
            double a = 0.0, q = 0.0;
            for (size_t m = 0; m < M; m++) {
                const double v = (double)M * (double)Z[i * M + m] * (double)Z[j * M + m];
                a += v / (double)M;
                q += v * v / (double)M;
            }
            const size_t b = (size_t)fmin(T * BINS, BINS - 1);
            n[b]++;
            at[b] += T;
            sum[b] += q - a * a;
            want[b] += gauss ? 1.0 + 2.0 * T - T * T : 1.0 - T * T;
        }
    for (size_t b = 0; b < BINS; b++)
        if (n[b] > 0)
            printf("%s,%.4f,%zu,%.5f,%.5f\n", name, at[b] / (double)n[b], n[b],
                   sum[b] / (double)n[b], want[b] / (double)n[b]);
    fop_free(f);
    featmap_free(map);
    free(Z);
}

/* Prefactors.  The error is a mean over all pairs of molecules, of which those with the same norms
 * are one term with its weight. */

struct norms { double a[N], weight[N]; size_t n; double zeta; };

static void find_norms(const double *x, bool root, struct norms *to)
{
    double most = 0.0, least = INFINITY;

    *to = (struct norms){ 0 };
    for (size_t i = 0; i < N; i++) {
        const double *row = x + i * D;
        double a = 0.0;
        size_t k = 0;
        for (size_t p = 0; p < (size_t)row[0]; p++)
            a += root ? row[2 + 2 * p] : row[2 + 2 * p] * row[2 + 2 * p];
        most = fmax(most, a);
        least = fmin(least, a);
        while (k < to->n && to->a[k] != a)
            k++;
        to->a[k] = a;
        to->weight[k] += 1.0 / N;
        to->n += k == to->n;
    }
    to->zeta = least / most;
    for (size_t k = 0; k < to->n; k++)
        to->a[k] /= most;
}

/* The logarithm of the i-th of M features at the squared norm a, for any shape and rate (methods
 * 4.15; methods of the paper, equation 9). */
static double feature_log(size_t r, double shape, double rate, double lng, double a, size_t M)
{
    const double g = exp(lng);

    return 0.5 * (lgamma(shape) - shape * log(rate) - lgamma((double)r)) -
           (a - 0.5 * rate) * g + 0.5 * ((double)r - shape) * lng - 0.5 * log((double)M);
}

/* factor[2]: of the shape and the rate of lemma 4.6; 1, 1 is what the program uses. */
static double prefactor_error(const struct norms *w, size_t r, const double factor[2], size_t M,
                              double u)
{
    const double shape = factor[0] * (double)r * w->zeta,
                 rate = factor[1] * 2.0 * w->zeta * w->zeta;
    const bool ours = factor[0] == 1.0 && factor[1] == 1.0;
    double *z = report_need(w->n * M, sizeof *z), error = 0.0;

    for (size_t i = 0; i < M && !ours; i++) {
        const double at = fmod(u + (double)(i + 1) / (double)M, 1.0);
        const double lng = gamma_log_quantile(shape, fmin(fmax(at, 1e-12), 1.0 - 1e-12)) -
                           log(rate);
        for (size_t k = 0; k < w->n; k++)
            z[k * M + i] = exp(feature_log(r, shape, rate, lng, w->a[k], M));
    }
    for (size_t k = 0; k < w->n && ours; k++)
        tensor_prefactor_for_tests(r, w->zeta, u, M, w->a[k], z + k * M);
    for (size_t k = 0; k < w->n; k++)
        for (size_t l = 0; l <= k; l++) {
            const double e = blas_ddot(M, z + k * M, z + l * M) -
                             pow(w->a[k] + w->a[l], -(double)r);
            error += e * e * w->weight[k] * w->weight[l] * (k == l ? 1.0 : 2.0);
        }
    free(z);
    return error;
}

static double start_of(int trial)
{
    return fmod(0.5 + 0.61803398875 * trial, 1.0);
}

static void prefactors(const char *name, const double *x, bool root, int trials, size_t most)
{
    static const double factors[] = { 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0 };
    enum { F = sizeof factors / sizeof *factors };
    struct norms w;

    find_norms(x, root, &w);
    for (size_t r = 1; r <= 3; r += 2) {
        for (double m = 10.0; m <= 1.01 * (double)most; m *= sqrt(10.0))
            for (int t = 0; t < trials; t++)
                printf("count,%s,%zu,%.0f,1,1,%.5g\n", name, r, m,
                       prefactor_error(&w, r, (double[2]){ 1.0, 1.0 }, (size_t)(m + 0.5),
                                       start_of(t)));
        for (size_t i = 0; i < F * F; i++) {
            const double f[2] = { factors[i / F], factors[i % F] };
            printf("shape,%s,%zu,%zu,%g,%g,%.5g\n", name, r, most, f[0], f[1],
                   prefactor_error(&w, r, f, most, start_of(0)));
        }
        fflush(stdout);
    }
}

/* True if the line asks for one of the figures. */
static bool figures(int argc, char **argv, const double *counts, const double *bits)
{
    if (argc == 3 && strcmp(argv[1], "variance") == 0) {
        const size_t M = (size_t)atol(argv[2]) / 2 * 2;
        puts("features,similarity,pairs,variance,theorem");
        one_variance("tanimoto", counts, matrix("tanimoto", counts), M, "signs counts");
        one_variance("tanimoto", bits, matrix("tanimoto", bits), M, "signs bits");
        one_variance("tanimoto(xi=gauss)", counts, matrix("tanimoto", counts), M, "normal counts");
        one_variance("tanimoto(xi=gauss)", bits, matrix("tanimoto", bits), M, "normal bits");
        return true;
    }
    if (argc != 4 || strcmp(argv[1], "prefactor") != 0)
        return false;
    puts("part,fingerprint,r,features,shape,rate,mse");
    prefactors("counts", counts, true, atoi(argv[2]), (size_t)atol(argv[3]));
    prefactors("bits", bits, false, atoi(argv[2]), (size_t)atol(argv[3]));
    return true;
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
    if (figures(argc, argv, counts, bits))
        return 0;
    FILE *f = argc >= 5 && strcmp(argv[1], "mse") == 0 ? fopen(argv[2], "r") : NULL;
    if (f == NULL)
        report_die("usage: bench_tanimoto exact | mse REFERENCE TRIALS MOST [PART PARTS] | "
                   "variance FEATURES | prefactor TRIALS MOST");
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
