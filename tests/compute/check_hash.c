/* tests/compute/check_hash.c -- features of tanimoto: hashes against the golden file, how often two
 * rows are equal, the variances of both kinds of symbols, features of every level against the
 * interpreter, products and Gram matrices from bits against plain sums. */
#include "tests/support.h"
#include "tests/compute/counts.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/cpu/bits.h"
#include "compute/cpu/simd.h"
#include "compute/features/fop.h"
#include "compute/features/hash.h"
#include "compute/features/interp.h"
#include "compute/pool.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The eight inputs of the golden files; their places are `step` apart. */
enum { GOLDEN = 8, MANY = 64, GOLDEN_D = 1 + 2 * MANY };

static size_t golden_rows(double step, double x[GOLDEN * GOLDEN_D])
{
    size_t n, places;
    double *v = support_golden("tan_counts", &n, &places);

    ck_assert(n == GOLDEN && places <= MANY);
    for (size_t i = 0; i < n; i++)
        counts_write(v + i * places, places, step, x + i * GOLDEN_D);
    free(v);
    return places;
}

START_TEST(golden_hashes)
{
    double x[GOLDEN * GOLDEN_D];
    const size_t places = golden_rows(1.0, x);
    size_t hashes, cols, rows, wide;
    double *r = support_golden("ioffe_r", &hashes, &cols),
           *c = support_golden("ioffe_c", &hashes, &cols),
           *b = support_golden("ioffe_beta", &hashes, &cols),
           *want = support_golden("ioffe_hash", &rows, &wide);

    ck_assert(rows == hashes && cols == places && wide == 2 * GOLDEN);
    for (size_t h = 0; h < hashes; h++)
        for (size_t i = 0; i < GOLDEN; i++) {
            const double *row = x + i * GOLDEN_D;
            struct hash_draw draw[MANY];
            double t = -1.0;
            for (size_t j = 0; j < (size_t)row[0]; j++) {
                const size_t at = h * cols + (size_t)row[1 + 2 * j];
                draw[j] = (struct hash_draw){ r[at], log(c[at]), b[at] };
            }
            const size_t least = hash_least_for_tests(row, draw, &t);
            ck_assert(want[h * wide + 2 * i] ==
                      (least == SIZE_MAX ? -1.0 : row[1 + 2 * least]));
            ck_assert(want[h * wide + 2 * i + 1] == t);
        }
    free(r), free(c), free(b), free(want);
}
END_TEST

/* The draws of a term, without the sign that features keep. */
static struct fm_term term_of(struct featmap **map, const char *text, size_t M, uint64_t seed)
{
    const struct kernel k = counts_kernel(text, 0);

    *map = featmap_new(&k, GOLDEN_D, M, seed, NULL);
    ck_assert_ptr_nonnull(*map);
    return (*map)->term[0];
}

/* P(hash equal) = tanimoto, within 4 standard errors of each pair (methods.md H.2). */
START_TEST(equal_as_often_as_alike)
{
    enum { HASHES = 20000 };
    double x[GOLDEN * GOLDEN_D], equal[GOLDEN][GOLDEN] = { { 0 } };
    const struct kernel k = counts_kernel("tanimoto", 0);
    struct featmap *map;
    const struct fm_term t = term_of(&map, "tanimoto", 64, 11);

    golden_rows(40000001.0, x);
    for (size_t h = 0; h < HASHES; h++) {
        double place[GOLDEN], bin[GOLDEN];
        for (size_t i = 0; i < GOLDEN; i++) {
            const double *row = x + i * GOLDEN_D;
            struct hash_draw draw[MANY];
            for (size_t j = 0; j < (size_t)row[0]; j++)
                draw[j] = hash_draw_for_tests(&t, h, (uint32_t)row[1 + 2 * j]);
            bin[i] = -1.0;
            const size_t least = hash_least_for_tests(row, draw, &bin[i]);
            place[i] = least == SIZE_MAX ? -1.0 : row[1 + 2 * least];
        }
        for (size_t i = 0; i < GOLDEN; i++)
            for (size_t j = 0; j < GOLDEN; j++)
                equal[i][j] += place[i] == place[j] && bin[i] == bin[j];
    }
    for (size_t i = 0; i < GOLDEN; i++)
        for (size_t j = 0; j < GOLDEN; j++) {
            const double p = kernel_exact(&k, NULL, GOLDEN_D, x + i * GOLDEN_D, x + j * GOLDEN_D,
                                          NULL);
            ck_assert_msg(fabs(equal[i][j] / HASHES - p) <= 4.0 * sqrt(p * (1.0 - p) / HASHES),
                          "%zu %zu: %g, %g", i, j, equal[i][j] / HASHES, p);
        }
    featmap_free(map);
}
END_TEST

/* r and c of Gamma(2, 1): mean 2 and variance 2; b uniform.  Over 10^5 draws within 4 standard
 * errors (of the variance of Gamma(2, 1): sqrt(20 / n), its fourth central moment being 24). */
START_TEST(draws_have_their_distributions)
{
    enum { DRAWS = 100000 };
    struct featmap *map;
    const struct fm_term t = term_of(&map, "tanimoto", 64, 3);
    double sum[3] = { 0 }, square[3] = { 0 }, cross[3] = { 0 };

    for (size_t i = 0; i < DRAWS; i++) {
        const struct hash_draw d = hash_draw_for_tests(&t, i / 100, (uint32_t)(i % 100 * 42949672));
        const double v[3] = { d.r - 2.0, exp(d.lnc) - 2.0, d.b - 0.5 };
        for (int j = 0; j < 3; j++) {
            sum[j] += v[j] / DRAWS;
            square[j] += v[j] * v[j] / DRAWS;
            cross[j] += v[j] * v[(j + 1) % 3] / DRAWS;
        }
    }
    const double one = 4.0 / sqrt(DRAWS);
    for (int j = 0; j < 2; j++) {
        ck_assert(fabs(sum[j]) <= one * sqrt(2.0));
        ck_assert(fabs(square[j] - 2.0) <= one * sqrt(20.0));
    }
    ck_assert(fabs(sum[2]) <= one * sqrt(1.0 / 12.0));
    ck_assert(fabs(square[2] - 1.0 / 12.0) <= one * sqrt(1.0 / 180.0));
    ck_assert(fabs(cross[0]) <= one * 2.0);
    ck_assert(fabs(cross[1]) <= one * sqrt(2.0 / 12.0));
    ck_assert(fabs(cross[2]) <= one * sqrt(2.0 / 12.0));
    featmap_free(map);
}
END_TEST

/* Products of features: their mean is tanimoto, their variance 1 - T^2 with signs and 1 + 2 T - T^2
 * with normal numbers, within 4 standard errors (those of the variance from the samples). */
START_TEST(means_and_variances)
{
    enum { FEATURES = 20000 };
    static const char *const text[] = { "tanimoto", "tanimoto(xi=gauss)" };
    double x[GOLDEN * GOLDEN_D], *z[GOLDEN];
    const struct kernel k = counts_kernel("tanimoto", 0);
    struct featmap *map;
    const struct fm_term t = term_of(&map, text[_i], 64, 5);

    golden_rows(1.0, x);
    for (size_t i = 0; i < GOLDEN; i++) {
        z[i] = mem_calloc(FEATURES, sizeof **z, "features", NULL);
        for (size_t j = 0; j < FEATURES; j++)
            z[i][j] = hash_value(&t, j, x + i * GOLDEN_D);
    }
    for (size_t i = 0; i < GOLDEN; i++)
        for (size_t j = 0; j < i; j++) {
            const double T = kernel_exact(&k, NULL, GOLDEN_D, x + i * GOLDEN_D, x + j * GOLDEN_D,
                                          NULL);
            const double want = _i == 0 ? 1.0 - T * T : 1.0 + 2.0 * T - T * T;
            double mean = 0.0, two = 0.0, four = 0.0;
            for (size_t f = 0; f < FEATURES; f++) {
                const double e = z[i][f] * z[j][f] - T;
                mean += e / FEATURES;
                two += e * e / FEATURES;
                four += e * e * e * e / FEATURES;
            }
            ck_assert_msg(fabs(mean) <= 4.0 * sqrt(want / FEATURES) + 1e-12, "%zu %zu: %g", i, j,
                          mean);
            ck_assert_msg(fabs(two - want) <= 4.0 * sqrt((four - two * two) / FEATURES) + 1e-9,
                          "%zu %zu: %g, %g", i, j, two, want);
        }
    for (size_t i = 0; i < GOLDEN; i++)
        free(z[i]);
    featmap_free(map);
}
END_TEST

/* Rows of all sorts. */

enum { N = 200, PLACES = 90, FLAT = 2, D = FLAT + 1 + 2 * PLACES, M = 66 };

static void make(double *x)
{
    double v[PLACES];

    for (size_t i = 0; i < N; i++) {
        for (size_t p = 0; p < PLACES; p++) {
            const double u = rng_uniform(7, rng_stream(RNG_TEST, 1), i * PLACES + p),
                         w = rng_uniform(7, rng_stream(RNG_TEST, 2), i * PLACES + p);
            v[p] = i % 50 == 3 || (i % 50 != 4 && u > 0.2) ? 0.0
                   : i % 7 == 0 ? pow(10.0, 600.0 * w - 300.0) : 1.0 + floor(300.0 * w * w * w);
        }
        x[i * D] = rng_normal(7, rng_stream(RNG_TEST, 3), 2 * i);
        x[i * D + 1] = rng_normal(7, rng_stream(RNG_TEST, 3), 2 * i + 1);
        counts_write(v, PLACES, 48258791.0, x + i * D + FLAT); /* up to 2^32 - 1 */
    }
}

static struct source_array source(const double *x)
{
    struct source_array s;

    source_array_init(&s, x, N, D, D);
    s.base.layout = (struct row_layout){
        .flat = FLAT, .nparts = 1, .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } }
    };
    return s;
}

static const char *const expressions[] = {
    "tanimoto",
    "tanimoto(xi=gauss)",
    "tanimoto + tanimoto(xi=gauss)",
    "tanimoto + rbf(inputs=1:2)",
    "tanimoto * rbf(inputs=1:2) + linear(inputs=1:1)",
    "tanimoto * rbf(inputs=1:1) * linear(inputs=2:2) + tanimoto",
};
enum { EXPRESSIONS = sizeof expressions / sizeof expressions[0] };
static const char *const levels[] = { "portable", "avx2", "avx512", "amx" };

/* Rows of features, products with them and the Gram matrix, against the interpreter: of signs all
 * is exact in float64 but for roundings of sums; rows have the same bits at each level. */
static void against_interpreter(const char *text, const double *x, const double *row_scale,
                                struct pool *pool)
{
    const struct kernel k = counts_kernel(text, FLAT);
    struct source_array src = source(x);
    struct featmap *map = featmap_new(&k, D, M, 9, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base,
                            &(struct fop_opts){ .precision = PREC_DOUBLE, .pool = pool,
                                                .row_scale = row_scale }, NULL);
    double *work = mem_calloc(interp_work_for_tests(map), sizeof *work, "work", NULL),
           *Z = mem_calloc(N * M, sizeof *Z, "Z", NULL), *T = mem_calloc(N, sizeof *T, "T", NULL),
           *G = mem_calloc(M * M, sizeof *G, "G", NULL), *got = mem_calloc(N * M, sizeof *Z, "Z",
                                                                           NULL);
    double hp[KERNEL_MAX_HP], p[M], w[M], y[N], zty[M], yty;

    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = 0.8 + 0.1 * (double)(h % 3);
    ck_assert_int_eq(fop_set(f, hp, NULL), ST_OK);
    for (size_t j = 0; j < M; j++)
        p[j] = rng_normal(7, rng_stream(RNG_TEST, 4), j);
    for (size_t i = 0; i < N; i++)
        y[i] = rng_normal(7, rng_stream(RNG_TEST, 5), i);
    ck_assert_int_eq(fop_tile64(f, 0, N, got, M, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        interp_row_for_tests(map, hp, x + i * D, Z + i * M, NULL, 0, work);
        for (size_t j = 0; j < M; j++) {
            Z[i * M + j] *= row_scale ? row_scale[i] : 1.0;
            ck_assert_msg(fabs(got[i * M + j] - Z[i * M + j]) <= 1e-12, "%s at %s: row %zu, %zu",
                          text, cpu_level(), i, j);
        }
    }
    ck_assert_int_eq(fop_zp(f, 1, p, T, NULL, NULL), ST_OK);
    ck_assert_int_eq(fop_pass(f, 1, p, w, NULL, NULL), ST_OK);
    ck_assert_int_eq(fop_gram(f, y, G, zty, &yty, NULL, NULL), ST_OK);
    for (size_t i = 0; i < N; i++) {
        double t = 0.0;
        for (size_t j = 0; j < M; j++)
            t += Z[i * M + j] * p[j];
        ck_assert(fabs(T[i] - t) <= 1e-11);
        T[i] = t;
    }
    for (size_t a = 0; a < M; a++) {
        double one = 0.0, of = 0.0;
        for (size_t b = 0; b < M; b++) {
            double g = 0.0;
            for (size_t i = 0; i < N; i++)
                g += Z[i * M + a] * Z[i * M + b];
            ck_assert_msg(fabs(G[a + b * M] - g) <= 1e-11 * N, "%s: %zu %zu", text, a, b);
        }
        for (size_t i = 0; i < N; i++) {
            one += Z[i * M + a] * T[i];
            of += Z[i * M + a] * y[i];
        }
        ck_assert(fabs(w[a] - one) <= 1e-10);
        ck_assert(fabs(zty[a] - of) <= 1e-10);
    }
    fop_free(f);
    featmap_free(map);
    free(work), free(Z), free(T), free(G), free(got);
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

/* Many rows, whose Gram matrix in float32 is that of float64 bit for bit: counts of bits. */
START_TEST(grams_are_whole_numbers)
{
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL), G[2][M * M], zty[M], yty;
    const struct kernel k = counts_kernel("tanimoto", FLAT);
    struct source_array src = source(x);
    struct featmap *map = featmap_new(&k, D, M, 9, NULL);
    const double y[N] = { 1.0 };

    make(x);
    for (int i = 0; i < 2; i++) {
        struct fop *f = fop_new(backend_cpu(), map, &src.base,
                                &(struct fop_opts){ .precision = i ? PREC_DOUBLE : PREC_FLOAT,
                                                    .store = i }, NULL);
        ck_assert_int_eq(fop_gram(f, y, G[i], zty, &yty, NULL, NULL), ST_OK);
        fop_free(f);
    }
    for (size_t i = 0; i < M * M; i++) {
        const double whole = G[0][i] * M;
        ck_assert(G[0][i] == G[1][i]);
        ck_assert(fabs(whole - round(whole)) <= 1e-11 && fmod(round(whole), 2.0) == 0.0);
    }
    featmap_free(map);
    free(x);
}
END_TEST

/* Loops over bits against words one by one; 1 to 40 lines, so that sums of bytes would overflow. */
START_TEST(bits_are_counted)
{
    enum { LINES = 40, WORDS = LINES * BITS_LINE };
    uint64_t *at = mem_aligned(BITS_ROWS * WORDS, sizeof *at, "bits", NULL);
    uint8_t *byte = mem_aligned(WORDS, 64, "bytes", NULL);

    for (size_t w = 0; w < BITS_ROWS * WORDS; w++)
        at[w] = w % 5 == 4 ? UINT64_MAX : rng_u64(7, rng_stream(RNG_TEST, 6), w);
    for (size_t i = 0; bits_at_for_tests(i); i++)
        for (size_t lines = 1; lines <= LINES; lines += 13) {
            const uint64_t *a[BITS_BLOCK], *b[BITS_BLOCK];
            uint64_t differ[BITS_BLOCK * BITS_BLOCK];
            double share[BITS_ROWS];
            uint64_t packed[WORDS] __attribute__((aligned(64)));
            for (size_t q = 0; q < BITS_BLOCK; q++) {
                a[q] = at + q * WORDS;
                b[q] = at + (q + 5) * WORDS;
            }
            bits_at_for_tests(i)->differ(lines, a, b, differ);
            for (size_t q = 0; q < BITS_BLOCK; q++)
                for (size_t p = 0; p < BITS_BLOCK; p++) {
                    uint64_t sum = 0;
                    for (size_t bit = 0; bit < 64 * lines * BITS_LINE; bit++)
                        sum += (a[q][bit / 64] ^ b[p][bit / 64]) >> (bit % 64) & 1;
                    ck_assert_uint_eq(differ[BITS_BLOCK * q + p], sum);
                }
            bits_at_for_tests(i)->share(lines, at, at, share);
            for (size_t r = 0; r < BITS_ROWS; r++) {
                uint64_t sum = 0;
                for (size_t bit = 0; bit < 64 * lines * BITS_LINE; bit++)
                    sum += (at[bit / 64] & at[bit / 64 * BITS_ROWS + r]) >> (bit % 64) & 1;
                ck_assert(share[r] == (double)sum);
            }
            for (size_t bit = 0; bit < 64 * lines * BITS_LINE; bit++)
                byte[bit] = at[bit / 64] >> (bit % 64) & 1;
            bits_at_for_tests(i)->pack(lines, byte, packed);
            ck_assert(memcmp(packed, at, lines * BITS_LINE * sizeof *at) == 0);
        }
    free(at), free(byte);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hash");
    TCase *tc = tcase_create("hash");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, golden_hashes);
    tcase_add_test(tc, equal_as_often_as_alike);
    tcase_add_test(tc, draws_have_their_distributions);
    tcase_add_loop_test(tc, means_and_variances, 0, 2);
    tcase_add_loop_test(tc, every_level, 0, 4);
    tcase_add_test(tc, grams_are_whole_numbers);
    tcase_add_test(tc, bits_are_counted);
    suite_add_tcase(s, tc);
    return support_run(s);
}
