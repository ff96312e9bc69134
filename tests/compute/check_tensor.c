/* tests/compute/check_tensor.c -- features of tanimotodp: quantiles, prefactors and sketches by the
 * golden files; the means of products of features against the truncated series, with and
 * without its residual; every level against the interpreter; rows without counts and rows beyond
 * the largest one. */
#include "tests/support.h"
#include "tests/compute/counts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/features/circular.h"
#include "compute/features/fop.h"
#include "compute/features/interp.h"
#include "compute/features/tensor.h"
#include "compute/gamma.h"
#include "compute/pool.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Golden files. */

START_TEST(golden_quantiles)
{
    size_t n, cols;
    double *v = support_golden("gamma_inv_cdf", &n, &cols);

    ck_assert(cols == 3);
    for (size_t i = 0; i < n; i++) {
        const double *q = v + 3 * i;
        ck_assert_msg(fabs(gamma_log_quantile(q[0], q[1]) - log(q[2])) <= 1e-9, "%g %g", q[0],
                      q[1]);
    }
    free(v);
}
END_TEST

/* P(x) = x^s / Gamma(s + 1) (1 + O(x)): where x is tiny, its logarithm is known.  Gamma(1, 1) is
 * the exponential distribution. */
START_TEST(quantiles_of_other_shapes)
{
    static const double shapes[] = { 1e-9, 1e-6, 1e-3, 0.02 }, p[] = { 1e-12, 1e-3, 0.3, 0.5 };

    for (size_t s = 0; s < 4; s++)
        for (size_t i = 0; i < 4; i++) {
            const double want = (log(p[i]) + lgamma(shapes[s] + 1.0)) / shapes[s];
            if (want < -40.0)
                ck_assert(fabs(gamma_log_quantile(shapes[s], p[i]) / want - 1.0) <= 1e-13);
        }
    for (double u = 1e-12; u < 1.0; u += 0.0999)
        ck_assert(fabs(exp(gamma_log_quantile(1.0, u)) / -log1p(-u) - 1.0) <= 1e-12);
    for (double s = 1e-4; s < 1e5; s *= 10.0) /* P rises, up to rounding */
        for (double u = 0.05, was = -INFINITY; u < 1.0; u += 0.05) {
            const double y = gamma_log_quantile(s, u);
            ck_assert(y > was);
            was = y;
        }
}
END_TEST

/* The square of the norm of a row. */
static double square(const double *row, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += row[i] * row[i];
    return sum;
}

START_TEST(golden_prefactor)
{
    static const char *const name[] = { "tdp_prefactor_r1", "tdp_prefactor_r3" };
    const double tolerance[] = { 6e-7, 2e-8 }; /* of the products: 5.1e-7, 1.4e-8 (its README) */
    double zeta = support_golden_scalar("tdp_scalars", "zeta"),
           u = support_golden_scalar("tdp_scalars", "u");
    size_t n, d, rows, points;
    const size_t r = _i ? 3 : 1;
    double *x = support_golden("tdp_inputs_scaled", &n, &d),
           *want = support_golden(name[_i], &rows, &points),
           *got = mem_calloc(n * points, sizeof *got, "features", NULL);

    ck_assert(rows == n && points == (size_t)support_golden_scalar("tdp_scalars", "M"));
    for (size_t i = 0; i < n; i++) {
        tensor_prefactor_for_tests(r, zeta, u, points, square(x + i * d, d), got + i * points);
        for (size_t j = 0; j < points; j++)
            ck_assert(fabs(got[i * points + j] / want[i * points + j] - 1.0) <= 1e-8);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double dot = 0.0;
            for (size_t p = 0; p < points; p++)
                dot += got[i * points + p] * got[j * points + p];
            const double sum = square(x + i * d, d) + square(x + j * d, d);
            ck_assert(fabs(dot * pow(sum, (double)r) - 1.0) <= tolerance[_i]);
        }
    free(x), free(want), free(got);
}
END_TEST

START_TEST(golden_sketch)
{
    enum { DEGREE = 3 };
    size_t n, d, rows, m, copies, places;
    double *x = support_golden("tdp_inputs_scaled", &n, &d),
           *hash = support_golden("tsketch_hash", &copies, &places),
           *sign = support_golden("tsketch_sign", &copies, &places),
           *want = support_golden("tsketch_out", &rows, &m), out[64];

    ck_assert(rows == n && places == d && copies == DEGREE && m <= 64);
    for (size_t i = 0; i < n; i++) {
        tensor_sketch_for_tests(DEGREE, m, d, x + i * d, hash, sign, out);
        for (size_t j = 0; j < m; j++)
            ck_assert(fabs(out[j] - want[i * m + j]) <= 1e-10 * (1.0 + fabs(want[i * m + j])));
    }
    free(x), free(hash), free(sign), free(want);
}
END_TEST

/* Convolutions by transforms against sums, for lengths of all sorts. */
START_TEST(circular_products)
{
    static const size_t lengths[] = { 1, 2, 3, 7, 16, 60, 129 };
    const size_t m = lengths[_i];
    double x[129], y[129], out[129];
    struct circular *c = circular_new(m, NULL);
    double *work = mem_calloc(circular_work(c), sizeof *work, "work", NULL);

    for (size_t i = 0; i < m; i++) {
        x[i] = rng_normal(3, rng_stream(RNG_TEST, 0), i);
        y[i] = rng_normal(3, rng_stream(RNG_TEST, 1), i);
    }
    circular_product(c, x, y, out, work);
    for (size_t b = 0; b < m; b++) {
        double sum = 0.0;
        for (size_t i = 0; i < m; i++)
            sum += x[i] * y[(b + m - i) % m];
        ck_assert(fabs(sum - out[b]) <= 1e-13 * (double)m);
    }
    circular_free(c);
    free(work);
}
END_TEST

/* Expectations. */

enum { GOLDEN = 8, WIDE = 1 + 2 * 64 };

/* The golden rows of counts; `step` is the distance of their places. */
static void golden_rows(double step, double x[GOLDEN * WIDE])
{
    size_t n, places;
    double *v = support_golden("tan_counts", &n, &places);

    ck_assert(n == GOLDEN && places <= 64);
    for (size_t i = 0; i < n; i++)
        counts_write(v + i * places, places, step, x + i * WIDE);
    free(v);
}

static struct source_array source_of(const double *x, size_t n, size_t d, size_t flat)
{
    struct source_array s;

    source_array_init(&s, x, n, d, d);
    s.base.layout = (struct row_layout){
        .flat = flat, .nparts = 1, .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } }
    };
    return s;
}

/* Bound to rows, with the norms of those. */
static struct kernel bound(const char *text, const struct source_array *s)
{
    struct kernel k = counts_kernel(text, s->base.layout.flat);

    ck_assert_int_eq(tensor_norms(&k, &s->base, NULL), ST_OK);
    return k;
}

/* What features stand for, from the exact value k = t/(1 - t): the sum of t^r for r up to R, or
 * with the residual the last of these times 1 + the others. */
static double truncated(double k, size_t R, enum layer_bias bias)
{
    const double t = k / (1.0 + k);
    double sum = 0.0;

    for (size_t r = 1; r < R; r++)
        sum += pow(t, (double)r);
    return sum + pow(t, (double)R) * (bias == BIAS_SKETCH ? 1.0 + sum : 1.0);
}

/* The mean over seeds of products of features: within 4.5 standard errors (28 pairs, 6 kernels),
 * each of them from the sample, plus the error of the prefactor, 3e-5 at most. */
START_TEST(means)
{
    static const char *const text[] = {
        "tanimotodp",
        "tanimotodp(power=1)",
        "tanimotodp(terms=1)",
        "tanimotodp(power=1,terms=2,shares=1,bias=sketch)",
        "tanimotodp(power=0.7,terms=5,shares=0)",
        "tanimotodp(terms=3,shares=-2,bias=sketch)",
    };
    enum { SEEDS = 400, COLUMNS = 48 };
    double x[GOLDEN * WIDE], sum[GOLDEN][GOLDEN] = { { 0 } }, two[GOLDEN][GOLDEN] = { { 0 } };

    golden_rows(60000001.0, x);
    const struct source_array s = source_of(x, GOLDEN, WIDE, 0);
    const struct kernel k = bound(text[_i], &s);
    const struct layer *l = &k.term[0].layer;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        double z[GOLDEN][COLUMNS];
        struct featmap *map = featmap_new(&k, WIDE, COLUMNS, seed, NULL);
        double *work = mem_calloc(interp_work_for_tests(map), sizeof *work, "work", NULL);
        for (size_t i = 0; i < GOLDEN; i++)
            interp_row_for_tests(map, NULL, x + i * WIDE, z[i], NULL, 0, work);
        for (size_t i = 0; i < GOLDEN; i++)
            for (size_t j = 0; j <= i; j++) {
                double dot = 0.0;
                for (size_t c = 0; c < COLUMNS; c++)
                    dot += z[i][c] * z[j][c];
                sum[i][j] += dot / SEEDS;
                two[i][j] += dot * dot / SEEDS;
            }
        featmap_free(map);
        free(work);
    }
    for (size_t i = 0; i < GOLDEN; i++)
        for (size_t j = 0; j <= i; j++) {
            const double exact = kernel_exact(&k, NULL, WIDE, x + i * WIDE, x + j * WIDE, NULL);
            const bool empty = x[i * WIDE] == 0.0 && x[j * WIDE] == 0.0;
            const double want = empty ? 1.0 : truncated(exact, l->terms, l->bias);
            const double se = sqrt(fmax(0.0, two[i][j] - sum[i][j] * sum[i][j]) / SEEDS);
            ck_assert_msg(fabs(sum[i][j] - want) <= 4.5 * se + 3e-5, "%s: %zu %zu: %g, %g +- %g",
                          text[_i], i, j, sum[i][j], want, se);
        }
}
END_TEST

/* rms error of a term of m columns at norms of 1 at most: 0.8 / sqrt(m) (README of the golden
 * files); truncation at R terms takes up to 2^-R. */
START_TEST(errors)
{
    enum { COLUMNS = 4096 };
    double x[GOLDEN * WIDE], *z[GOLDEN], sum = 0.0;

    golden_rows(3.0, x);
    const struct source_array s = source_of(x, GOLDEN, WIDE, 0);
    const struct kernel k = bound("tanimotodp(bias=none)", &s);
    struct featmap *map = featmap_new(&k, WIDE, COLUMNS, 4, NULL);
    double *work = mem_calloc(interp_work_for_tests(map), sizeof *work, "work", NULL);
    for (size_t i = 0; i < GOLDEN; i++) {
        z[i] = mem_calloc(COLUMNS, sizeof **z, "features", NULL);
        interp_row_for_tests(map, NULL, x + i * WIDE, z[i], NULL, 0, work);
    }
    for (size_t i = 0; i < GOLDEN; i++)
        for (size_t j = 0; j < i; j++) {
            double dot = 0.0;
            for (size_t c = 0; c < COLUMNS; c++)
                dot += z[i][c] * z[j][c];
            const double exact = kernel_exact(&k, NULL, WIDE, x + i * WIDE, x + j * WIDE, NULL);
            sum += pow(dot - truncated(exact, 4, BIAS_NONE), 2.0) / 28.0;
            ck_assert(exact - truncated(exact, 4, BIAS_NONE) <= 0.0625 + 1e-12);
        }
    double bound_of = 0.0;
    for (size_t r = 1; r <= 4; r++)
        bound_of += 0.64 / (double)tensor_share_for_tests(&k.term[0].layer, COLUMNS, r);
    ck_assert_msg(sum <= bound_of, "%g, %g", sqrt(sum), sqrt(bound_of));
    for (size_t i = 0; i < GOLDEN; i++)
        free(z[i]);
    featmap_free(map);
    free(work);
}
END_TEST

/* Shares of all columns but one: whole, at least 1, and near r^p of them. */
START_TEST(shares)
{
    struct layer l = { .terms = 0 };

    for (l.terms = 1; l.terms <= TENSOR_TERMS_MOST; l.terms++)
        for (l.shares = -4.0; l.shares <= 4.0; l.shares += 0.5)
            for (size_t mf = tensor_least(&l); mf < 3000; mf = mf < 40 ? mf + 1 : 3 * mf) {
                double all = 0.0;
                size_t used = 0;
                for (size_t r = 1; r <= l.terms; r++)
                    all += pow((double)r, l.shares);
                for (size_t r = 1; r <= l.terms; r++) {
                    const size_t m = tensor_share_for_tests(&l, mf, r);
                    const double want = pow((double)r, l.shares) / all * ((double)mf - 1.0);
                    ck_assert(m >= 1);
                    ck_assert(mf < 300 || r == 1 || m == 1 || fabs((double)m - want) <= 1.0 ||
                              want < 1.0);
                    used += m;
                }
                ck_assert(used == mf - 1);
            }
}
END_TEST

/* Rows of all sorts. */

enum { N = 150, PLACES = 40, FLAT = 2, D = FLAT + 1 + 2 * PLACES, M = 66 };

static void make(double *x)
{
    double v[PLACES];

    for (size_t i = 0; i < N; i++) {
        for (size_t p = 0; p < PLACES; p++) {
            const double u = rng_uniform(7, rng_stream(RNG_TEST, 1), i * PLACES + p),
                         w = rng_uniform(7, rng_stream(RNG_TEST, 2), i * PLACES + p);
            v[p] = i % 50 == 3 || (i % 50 != 4 && u > 0.4) ? 0.0
                   : i % 7 == 0                           ? 20.0 * w + 0.1
                                                          : 1.0 + floor(30.0 * w * w * w);
        }
        x[i * D] = rng_normal(7, rng_stream(RNG_TEST, 3), 2 * i);
        x[i * D + 1] = rng_normal(7, rng_stream(RNG_TEST, 3), 2 * i + 1);
        counts_write(v, PLACES, 110127366.0, x + i * D + FLAT); /* up to 2^32 - 1 */
    }
}

static const char *const expressions[] = {
    "tanimotodp",
    "tanimotodp(power=1,bias=sketch)",
    "tanimotodp(power=2,bias=normalize) + tanimotodp(power=0.3,terms=2)",
    "tanimotodp + rbf(inputs=1:2)",
    "tanimotodp * rbf(inputs=1:2) + linear(inputs=1:1)",
    "tanimotodp(bias=sketch) * rbf(inputs=1:1) * linear(inputs=2:2) + tanimoto",
};
enum { EXPRESSIONS = sizeof expressions / sizeof expressions[0] };
static const char *const levels[] = { "portable", "avx2", "avx512", "amx" };

/* Rows of features, in both precisions, and products with them against the interpreter; features of
 * a row do not depend on its neighbours. */
static void against_interpreter(const char *text, const double *x, const double *row_scale,
                                struct pool *pool)
{
    const struct source_array src = source_of(x, N, D, FLAT);
    const struct kernel k = bound(text, &src);
    struct featmap *map = featmap_new(&k, D, M, 9, NULL);
    struct fop_opts o = { .precision = PREC_DOUBLE, .pool = pool, .row_scale = row_scale };
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &o, NULL);
    double *work = mem_calloc(interp_work_for_tests(map), sizeof *work, "work", NULL),
           *Z = mem_calloc(N * M, sizeof *Z, "Z", NULL), *got = mem_calloc(N * M, sizeof *got, "Z",
                                                                           NULL);
    float *narrow = mem_calloc(N * M, sizeof *narrow, "Z", NULL);
    double hp[KERNEL_MAX_HP], p[M], t[N], one[M];

    o.precision = PREC_FLOAT;
    struct fop *g = fop_new(backend_cpu(), map, &src.base, &o, NULL);
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = 0.8 + 0.1 * (double)(h % 3);
    for (size_t j = 0; j < M; j++)
        p[j] = rng_normal(7, rng_stream(RNG_TEST, 4), j);
    ck_assert(fop_set(f, hp, NULL) == ST_OK && fop_set(g, hp, NULL) == ST_OK);
    ck_assert_int_eq(fop_tile64(f, 0, N, got, M, NULL), ST_OK);
    ck_assert_int_eq(fop_tile(g, 0, N, narrow, M, NULL), ST_OK);
    ck_assert_int_eq(fop_zp(f, 1, p, t, NULL, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        double dot = 0.0;
        interp_row_for_tests(map, hp, x + i * D, Z + i * M, NULL, 0, work);
        for (size_t j = 0; j < M; j++) {
            const double want = Z[i * M + j] * (row_scale ? row_scale[i] : 1.0);
            ck_assert_msg(fabs(got[i * M + j] - want) <= 1e-12, "%s at %s: row %zu, %zu: %g, %g",
                          text, cpu_level(), i, j, got[i * M + j], want);
            ck_assert(fabs((double)narrow[i * M + j] - want) <= 4e-6 * (1.0 + fabs(want)));
            dot += want * p[j];
        }
        ck_assert(fabs(t[i] - dot) <= 1e-11);
        ck_assert_int_eq(fop_tile64(f, i, i + 1, one, M, NULL), ST_OK);
        ck_assert(memcmp(one, got + i * M, sizeof one) == 0);
    }
    fop_free(f);
    fop_free(g);
    featmap_free(map);
    free(work), free(Z), free(got), free(narrow);
}

START_TEST(every_level)
{
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL), scale[N];
    struct pool *two = pool_new(2, NULL);

    make(x);
    for (size_t i = 0; i < N; i++)
        scale[i] = 1.0 + 0.01 * (double)(i % 7);
    if (cpu_force_level(levels[_i], NULL) == ST_OK)
        for (size_t e = 0; e < EXPRESSIONS; e++)
            against_interpreter(expressions[e], x, e == 3 ? scale : NULL, e % 2 ? two : NULL);
    pool_free(two);
    free(x);
}
END_TEST

/* Columns of one row. */
static void columns(const struct kernel *k, const double *x, size_t d, size_t cols, double *z)
{
    struct featmap *map = featmap_new(k, d, cols, 21, NULL);
    double *work = mem_calloc(interp_work_for_tests(map), sizeof *work, "work", NULL);

    interp_row_for_tests(map, NULL, x, z, NULL, 0, work);
    featmap_free(map);
    free(work);
}

/* A row without counts has a column of its own; normalised rows have length 1; a row that is longer
 * than all others counts as the row of the largest norm in its direction. */
START_TEST(special_rows)
{
    enum { COLS = 40 };
    double x[GOLDEN * WIDE], z[COLS], of[COLS], longer[WIDE];
    size_t many;

    golden_rows(7.0, x);
    const struct source_array s = source_of(x, GOLDEN, WIDE, 0);
    const struct kernel k = bound("tanimotodp(power=1)", &s),
                        n = bound("tanimotodp(power=1,bias=normalize)", &s);
    for (size_t i = 0; i < GOLDEN; i++) {
        double sum = 0.0;
        columns(&n, x + i * WIDE, WIDE, COLS, z);
        for (size_t c = 0; c < COLS; c++)
            sum += z[c] * z[c];
        ck_assert(fabs(sum - 1.0) <= 1e-12);
        ck_assert(z[0] == (x[i * WIDE] == 0.0 ? 1.0 : 0.0));
    }
    const double largest = k.term[0].layer.largest; /* of the last row */
    memcpy(longer, x, sizeof longer);
    double norm = 0.0;
    for (size_t i = 0; i < (size_t)x[0]; i++)
        norm += x[2 + 2 * i] * x[2 + 2 * i];
    for (size_t i = 0; i < (size_t)x[0]; i++)
        longer[2 + 2 * i] = x[2 + 2 * i] * largest / sqrt(norm);
    columns(&k, longer, WIDE, COLS, of);
    const struct source_array one = source_of(longer, 1, WIDE, 0);
    ck_assert_int_eq(tensor_longer(&k, &one.base, &many, NULL), ST_OK);
    ck_assert_uint_eq(many, 0);
    for (double by = 1.5; by < 1e160; by *= 1e50) {
        double far[WIDE];
        memcpy(far, longer, sizeof far);
        for (size_t i = 0; i < (size_t)x[0]; i++)
            far[2 + 2 * i] *= by;
        columns(&k, far, WIDE, COLS, z);
        for (size_t c = 0; c < COLS; c++)
            ck_assert(fabs(z[c] - of[c]) <= 1e-12);
        const struct source_array them = source_of(far, 1, WIDE, 0);
        ck_assert_int_eq(tensor_longer(&k, &them.base, &many, NULL), ST_OK);
        ck_assert_uint_eq(many, 1);
    }
}
END_TEST

/* Norms are those of the rows that have counts, and survive as text. */
START_TEST(norms_as_text)
{
    double x[GOLDEN * WIDE], most = 0.0, least = INFINITY;
    size_t n, places;
    double *v = support_golden("tan_counts", &n, &places);
    struct buf text = { 0 }, again = { 0 };

    golden_rows(1.0, x);
    for (size_t i = 0; i < n; i++) {
        const double sum = square(v + i * places, places);
        most = fmax(most, sum);
        least = sum > 0.0 ? fmin(least, sum) : least;
    }
    const struct source_array s = source_of(x, GOLDEN, WIDE, 0);
    const struct kernel k = bound("tanimotodp(power=1,terms=3,shares=-1/2,bias=sketch)", &s);
    ck_assert(fabs(k.term[0].layer.largest / sqrt(most) - 1.0) <= 1e-15);
    ck_assert(fabs(k.term[0].layer.zeta / (least / most) - 1.0) <= 1e-15);
    kernel_print(&k, &text);
    struct kernel back = counts_kernel(buf_str(&text), 0);
    kernel_print(&back, &again);
    ck_assert_str_eq(buf_str(&text), buf_str(&again));
    ck_assert(back.term[0].layer.largest == k.term[0].layer.largest);
    ck_assert(back.term[0].layer.zeta == k.term[0].layer.zeta);
    kernel_unbind(&back);
    buf_clear(&again);
    kernel_print(&back, &again);
    ck_assert_str_eq(buf_str(&again), "tanimotodp(power=1,terms=3,shares=-0.5,bias=sketch)");
    back = counts_kernel("tanimotodp", 0);
    ck_assert_ptr_null(featmap_new(&back, WIDE, 40, 1, NULL)); /* without norms none are drawn */
    buf_free(&text), buf_free(&again);
    free(v);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tensor");
    TCase *t = tcase_create("golden");

    tcase_add_test(t, golden_quantiles);
    tcase_add_test(t, quantiles_of_other_shapes);
    tcase_add_loop_test(t, golden_prefactor, 0, 2);
    tcase_add_test(t, golden_sketch);
    tcase_add_test(t, norms_as_text);
    suite_add_tcase(s, t);
    t = tcase_create("features");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, circular_products, 0, 7);
    tcase_add_loop_test(t, means, 0, 6);
    tcase_add_test(t, errors);
    tcase_add_test(t, shares);
    tcase_add_loop_test(t, every_level, 0, 4);
    tcase_add_test(t, special_rows);
    suite_add_tcase(s, t);
    return support_run(s);
}
