/* tests/compute/check_spectrum.c -- the kernels spectrum, mismatch, gappy and wd: exact values
 * against the golden files and against a count of equal words by comparing all of them; tiles
 * against pairs; features; expressions as text; the longest words. */
#include "tests/support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/interp.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 4, MOST = 40, D = 1 + MOST };

static enum status bind_letters(struct kernel *k, size_t letters, struct err *err)
{
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_SYMBOLS, letters, 0 } } };

    return kernel_bind_rows(k, &rows, NULL, err);
}

static struct kernel parsed(const char *text, size_t letters)
{
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, NULL, &err) == ST_OK, "%s: %s", text, err.msg);
    ck_assert_msg(bind_letters(&k, letters, &err) == ST_OK, "%s", err.msg);
    return k;
}

static void write_row(const char *letters, double *x)
{
    x[0] = (double)strlen(letters);
    for (size_t i = 0; letters[i]; i++)
        x[1 + i] = (double)(strchr("ACGT", letters[i]) - "ACGT");
}

START_TEST(golden)
{
    size_t n, r, c;
    char **s = support_golden_strings("spectrum_strings", &n), text[64], name[64];
    double *x = mem_calloc(n * D, sizeof *x, "rows", NULL), *out;

    for (size_t i = 0; i < n; i++)
        write_row(s[i], x + i * D);
    out = mem_calloc(n * n, sizeof *out, "values", NULL);
    for (int order = 1; order <= 5; order++) {
        snprintf(text, sizeof text, "spectrum(n=%d%s)", order, _i ? ",norm=cosine" : "");
        snprintf(name, sizeof name, "spectrum_K%s_n%d", _i ? "cos" : "", order);
        double *K = support_golden(name, &r, &c);
        ck_assert(r == n && c == n);
        const struct kernel k = parsed(text, LETTERS);
        struct kernel_tile *t = kernel_tile_new(&k, NULL, D, n, x, D);
        kernel_tile_values(t, n, x, D, out, n);
        for (size_t i = 0; i < n * n; i++) {
            const double got = kernel_exact(&k, NULL, D, x + i / n * D, x + i % n * D, NULL);
            ck_assert_msg(fabs(got - K[i]) <= 1e-14, "%s: %.17g, golden %.17g", name, got, K[i]);
            ck_assert(out[i % n * n + i / n] == got);
        }
        kernel_tile_free(t);
        free(K);
    }
    support_strings_free(s);
    free(x), free(out);
}
END_TEST

/* Pairs of equal words of n letters, each compared letter by letter; none of them unknown. */
static double slow(const double *x, const double *y, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i + n <= (size_t)x[0]; i++)
        for (size_t j = 0; j + n <= (size_t)y[0]; j++) {
            size_t k = 0;
            while (k < n && x[1 + i + k] == y[1 + j + k] && x[1 + i + k] < LETTERS)
                k++;
            sum += k == n;
        }
    return sum;
}

enum { N = 100 };

/* Of proteins the last symbol stands for all letters outside the alphabet: words hold the others
 * alone, whatever the kernel, so that its values are those of as many letters without it. */
START_TEST(other_letters_make_no_words)
{
    static const char *const kernels[] = { "spectrum(n=1..3)", "spectrum(n=2,norm=cosine)",
                                           "mismatch(n=3,m=1)", "gappy(n=1,gap=2)", "wd(n=4)",
                                           "wd(n=2,shift=1,norm=cosine)" };
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_SYMBOLS, 4, 0, 1 } } };
    const struct kernel plain = parsed(kernels[_i], 3);
    struct kernel k, again;
    struct buf text = { 0 };
    double x[40 * D];

    ck_assert_int_eq(kernel_parse(kernels[_i], &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&k, &rows, NULL, NULL), ST_OK);
    kernel_print(&k, &text);
    ck_assert_msg(strstr(buf_str(&text), "symbols=3+1") != NULL, "%s", buf_str(&text));
    ck_assert_int_eq(kernel_parse(buf_str(&text), &again, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&again, &rows, NULL, NULL), ST_OK);
    for (size_t i = 0; i < 40; i++) {
        x[i * D] = (double)(i % 20);
        for (size_t j = 1; j < D; j++)
            x[i * D + j] = (double)rng_below(6, rng_stream(RNG_TEST, 7), i * D + j, 4);
    }
    for (size_t i = 0; i < 40 * 40; i++) {
        const double *p = x + i / 40 * D, *q = x + i % 40 * D;
        const double want = kernel_exact(&plain, NULL, D, p, q, NULL);
        ck_assert(kernel_exact(&k, NULL, D, p, q, NULL) == want);
        ck_assert(kernel_exact(&again, NULL, D, p, q, NULL) == want);
    }
    /* As sessions of earlier versions have it: what is bound to all four stays so. */
    buf_clear(&text);
    const struct kernel four = parsed(kernels[_i], 4);
    kernel_print(&four, &text);
    ck_assert_int_eq(kernel_parse(buf_str(&text), &again, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&again, &rows, NULL, NULL), ST_OK);
    ck_assert_uint_eq(again.term[0].layer.others, 0);
    buf_free(&text);
    ck_assert_int_eq(kernel_parse("spectrum(n=2,symbols=20+2)", &k, NULL, NULL), ST_RANGE);
    ck_assert_int_ne(kernel_parse("conv(rbf,width=2,symbols=20+1)", &k, NULL, NULL), ST_OK);
}
END_TEST

/* Rows of 0 to MOST letters, an eighth of them outside the alphabet in every fourth row; equal
 * ones, and one of a single letter. */
static void make(double *x)
{
    for (size_t i = 0; i < N; i++) {
        double *row = x + i * D;
        row[0] = (double)rng_below(5, rng_stream(RNG_TEST, 1), i, MOST + 1);
        for (size_t j = 1; j < D; j++) {
            const uint64_t at = i * D + j;
            row[j] = (double)rng_below(5, rng_stream(RNG_TEST, 2), at, LETTERS);
            if (i % 4 == 1 && rng_below(5, rng_stream(RNG_TEST, 3), at, 8) == 0)
                row[j] = LETTERS;
            if (i == 7)
                row[j] = 2.0;
        }
        if (i % 9 == 8)
            memcpy(row, row - D, D * sizeof *row);
    }
}

static const struct range { const char *text; size_t from, to; bool cosine; } ranges[] = {
    { "spectrum(n=3)", 3, 3, false },
    { "spectrum(n=1..5)", 1, 5, false },
    { "spectrum(n=2..3,norm=cosine)", 2, 3, true },
};

START_TEST(values_are_counts_of_equal_words)
{
    const struct range *g = &ranges[_i];
    const struct kernel k = parsed(g->text, LETTERS);
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL), own[N] = { 0 },
           *out = mem_calloc(N * KERNEL_TILE, sizeof *out, "values", NULL);

    make(x);
    for (size_t i = 0; i < N; i++)
        for (size_t n = g->from; n <= g->to; n++)
            own[i] += slow(x + i * D, x + i * D, n);
    for (size_t first = 0; first < N; first += KERNEL_TILE) {
        const size_t rows = N - first < KERNEL_TILE ? N - first : KERNEL_TILE;
        struct kernel_tile *t = kernel_tile_new(&k, NULL, D, rows, x + first * D, D);
        kernel_tile_values(t, N, x, D, out, N);
        for (size_t j = 0; j < rows; j++)
            for (size_t i = 0; i < N; i++) {
                double want = 0.0;
                for (size_t n = g->from; n <= g->to; n++)
                    want += slow(x + i * D, x + (first + j) * D, n);
                if (g->cosine && want > 0.0)
                    want /= sqrt(own[i] * own[first + j]);
                ck_assert(out[i + j * N] == want);
                ck_assert(kernel_exact(&k, NULL, D, x + i * D, x + (first + j) * D, NULL) == want);
            }
        kernel_tile_free(t);
    }
    free(x), free(out);
}
END_TEST

/* As slow, but that a word also equals its reverse complement; c(w) c(w') over classes of words is
 * the number of pairs of windows in one class. */
static double slow_strands(const double *x, const double *y, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i + n <= (size_t)x[0]; i++)
        for (size_t j = 0; j + n <= (size_t)y[0]; j++) {
            size_t same = 0, turned = 0, known = 0;
            for (size_t k = 0; k < n; k++) {
                const double a = x[1 + i + k], b = y[1 + j + k], c = y[1 + j + n - 1 - k];
                known += a < LETTERS && b < LETTERS;
                same += a == b;
                turned += a == LETTERS - 1 - c;
            }
            sum += known == n && (same == n || turned == n);
        }
    return sum;
}

START_TEST(both_strands)
{
    const struct kernel k = parsed("spectrum(n=1..4,strands=both)", LETTERS);
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL),
           *out = mem_calloc(N * KERNEL_TILE, sizeof *out, "values", NULL);

    make(x);
    struct kernel_tile *t = kernel_tile_new(&k, NULL, D, KERNEL_TILE, x, D);
    kernel_tile_values(t, N, x, D, out, N);
    for (size_t j = 0; j < KERNEL_TILE; j++)
        for (size_t i = 0; i < N; i++) {
            double want = 0.0;
            for (size_t n = 1; n <= 4; n++)
                want += slow_strands(x + i * D, x + j * D, n);
            ck_assert(out[i + j * N] == want);
            ck_assert(kernel_exact(&k, NULL, D, x + i * D, x + j * D, NULL) == want);
        }
    kernel_tile_free(t);
    free(x), free(out);
}
END_TEST

/* Pairs of words of n letters in two sequences, and the words within m letters of both, counted by
 * comparing all c^n words with each of them. */
static double slow_mismatch(const double *x, const double *y, size_t n, size_t m)
{
    size_t all = 1;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        all *= LETTERS;
    for (size_t w = 0; w < all; w++) {
        double count[2] = { 0.0, 0.0 };
        for (int s = 0; s < 2; s++) {
            const double *z = s ? y : x;
            for (size_t i = 0; i + n <= (size_t)z[0]; i++) {
                size_t known = 0, differ = 0;
                for (size_t k = 0, rest = w; k < n; k++, rest /= LETTERS) {
                    known += z[i + n - k] < LETTERS;
                    differ += z[i + n - k] != (double)(rest % LETTERS);
                }
                count[s] += known == n && differ <= m;
            }
        }
        sum += count[0] * count[1];
    }
    return sum;
}

/* Pairs of two words of n letters with the same number of letters, 0 to gap, between them. */
static double slow_gappy(const double *x, const double *y, size_t n, size_t gap)
{
    double sum = 0.0;

    for (size_t g = 0; g <= gap; g++)
        for (size_t i = 0; i + 2 * n + g <= (size_t)x[0]; i++)
            for (size_t j = 0; j + 2 * n + g <= (size_t)y[0]; j++) {
                bool same = true;
                for (size_t k = 0; k < 2 * n + g; k++)
                    same &= (k >= n && k < n + g) ||
                            (x[1 + i + k] == y[1 + j + k] && x[1 + i + k] < LETTERS);
                sum += same;
            }
    return sum;
}

/* Each kernel against a slow count; `much` false: mismatch(n,m), true: gappy(n,gap).  Values are
 * sums of whole numbers; by cosine they are divided once. */
static const struct slow { const char *text; bool gappy, cosine; size_t n, m; } slows[] = {
    { "mismatch(n=3,m=1)", false, false, 3, 1 },
    { "mismatch(n=4,m=2,norm=cosine)", false, true, 4, 2 },
    { "mismatch(n=3,m=0)", false, false, 3, 0 },
    { "mismatch(n=2,m=2)", false, false, 2, 2 },
    { "gappy(n=2,gap=2)", true, false, 2, 2 },
    { "gappy(n=1,gap=5,norm=cosine)", true, true, 1, 5 },
    { "gappy(n=3,gap=0)", true, false, 3, 0 },
};

START_TEST(words_that_differ_and_pairs)
{
    const struct slow *s = &slows[_i];
    const struct kernel k = parsed(s->text, LETTERS);
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL),
           *out = mem_calloc(N * KERNEL_TILE, sizeof *out, "values", NULL);
    double (*slowly)(const double *, const double *, size_t, size_t) =
        s->gappy ? slow_gappy : slow_mismatch;
    enum { SOME = 24 };

    make(x);
    struct kernel_tile *t = kernel_tile_new(&k, NULL, D, SOME, x, D);
    kernel_tile_values(t, SOME, x, D, out, N);
    for (size_t j = 0; j < SOME; j++)
        for (size_t i = j; i < SOME; i++) {
            const double *a = x + i * D, *b = x + j * D;
            double want = slowly(a, b, s->n, s->m);
            if (s->cosine && want > 0.0)
                want /= sqrt(slowly(a, a, s->n, s->m) * slowly(b, b, s->n, s->m));
            ck_assert_msg(out[i + j * N] == want && out[j + i * N] == want, "%s: %zu, %zu: %g",
                          s->text, i, j, want);
            ck_assert(kernel_exact(&k, NULL, D, a, b, NULL) == want);
        }
    kernel_tile_free(t);
    free(x), free(out);
}
END_TEST

/* mismatch(n,m=0) is spectrum(n), gappy(n,gap=0) is spectrum(2n). */
START_TEST(identities)
{
    static const char *const pair[][2] = {
        { "mismatch(n=4,m=0)", "spectrum(n=4)" },
        { "mismatch(n=5,m=0,norm=cosine,strands=both)",
          "spectrum(n=5,norm=cosine,strands=both)" },
        { "gappy(n=2,gap=0)", "spectrum(n=4)" },
        { "gappy(n=1,gap=0,norm=cosine,strands=both)",
          "spectrum(n=2,norm=cosine,strands=both)" },
    };
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL);
    const struct kernel a = parsed(pair[_i][0], LETTERS), b = parsed(pair[_i][1], LETTERS);

    make(x);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            ck_assert(kernel_exact(&a, NULL, D, x + i * D, x + j * D, NULL) ==
                      kernel_exact(&b, NULL, D, x + i * D, x + j * D, NULL));
    free(x);
}
END_TEST

/* Both strands: a sequence and its reverse complement are the same. */
START_TEST(a_strand_and_the_other)
{
    static const char *const texts[] = { "mismatch(n=4,m=1,strands=both)",
                                         "gappy(n=2,gap=3,strands=both)" };
    const struct kernel k = parsed(texts[_i], LETTERS);
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL), back[D];

    make(x);
    for (size_t i = 0; i < 24; i++) {
        const size_t length = (size_t)x[i * D];
        back[0] = x[i * D];
        for (size_t a = 0; a < length; a++) {
            const double letter = x[i * D + length - a];
            back[1 + a] = letter < LETTERS ? LETTERS - 1 - letter : letter;
        }
        for (size_t j = 0; j < 24; j++)
            ck_assert(kernel_exact(&k, NULL, D, back, x + j * D, NULL) ==
                      kernel_exact(&k, NULL, D, x + i * D, x + j * D, NULL));
    }
    free(x);
}
END_TEST

/* spectrum(n) is conv(rbf,width=n,average=none) in the limit of a small lengthscale: windows that
 * differ have a squared distance of 2 or more, exp(-1 / l^2) = 4e-44 at l = 0.1. */
START_TEST(limit_of_windows)
{
    const struct kernel words = parsed("spectrum(n=3)", LETTERS),
                        windows = parsed("conv(rbf,width=3,average=none)", LETTERS);
    const double l = 0.1;
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL);

    make(x);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = x + i * D, *b = x + j * D;
            bool known = a[0] >= 3.0 && b[0] >= 3.0; /* conv has no rows without a window */
            for (size_t k = 1; k < D; k++)           /* windows with other letters count there */
                known &= a[k] < LETTERS && b[k] < LETTERS;
            if (known)
                ck_assert(support_close(kernel_exact(&windows, &l, D, a, b, NULL),
                                        kernel_exact(&words, NULL, D, a, b, NULL), 1e-12));
        }
    free(x);
}
END_TEST

/* Words of 1 to n letters at the same place, or up to `shift` off, each compared letter by
 * letter. */
static double slow_places(const double *x, const double *y, size_t n, size_t shift)
{
    double sum = 0.0;

    for (size_t k = 1; k <= n; k++)
        for (size_t i = 0; i + k <= (size_t)x[0]; i++)
            for (size_t j = i > shift ? i - shift : 0; j <= i + shift && j + k <= (size_t)y[0];
                 j++) {
                size_t same = 0;
                while (same < k && x[1 + i + same] == y[1 + j + same] && x[1 + i + same] < LETTERS)
                    same++;
                const double off = (double)(i > j ? i - j : j - i) / (double)(shift + 1);
                sum += same == k ? (1.0 - off) * 2.0 * (double)(n - k + 1) / (double)(n * (n + 1))
                                 : 0.0;
            }
    return sum;
}

START_TEST(words_at_the_same_place)
{
    static const struct { const char *text; size_t n, shift; bool cosine; } all[] = {
        { "wd", 6, 0, false }, { "wd(n=1)", 1, 0, false }, { "wd(n=40)", 40, 0, false },
        { "wd(n=4,shift=1)", 4, 1, false }, { "wd(n=3,shift=7)", 3, 7, false },
        { "wd(n=5,shift=2,norm=cosine)", 5, 2, true },
    };
    const struct kernel k = parsed(all[_i].text, LETTERS);
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL);

    make(x);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            const double *a = x + i * D, *b = x + j * D;
            const size_t n = all[_i].n, shift = all[_i].shift;
            const double got = kernel_exact(&k, NULL, D, a, b, NULL);
            double want = slow_places(a, b, n, shift);
            if (all[_i].cosine && want > 0.0)
                want /= sqrt(slow_places(a, a, n, shift) * slow_places(b, b, n, shift));
            /* at most 1800 additions of positive numbers */
            ck_assert_msg(fabs(got - want) <= 1800 * 2.3e-16 * (1.0 + want), "%.17g %.17g", got,
                          want);
        }
    free(x);
}
END_TEST

/* All words of mebibytes of one letter: counts beyond 32 bits. */
START_TEST(long_rows_count_in_64_bits)
{
    const size_t length = 1 << 20;
    const struct kernel k = parsed("spectrum(n=2)", LETTERS);
    double *x = mem_calloc(length + 1, sizeof *x, "a row", NULL);
    const double words = (double)length - 1.0;

    x[0] = (double)length;
    ck_assert(kernel_exact(&k, NULL, length + 1, x, x, NULL) == words * words);
    free(x);
}
END_TEST

START_TEST(expressions_as_text)
{
    static const struct { const char *given, *printed; } all[] = {
        { "spectrum", "spectrum(n=3)" },
        { "spectrum(n=5)", "spectrum(n=5)" },
        { "spectrum( n = 1..5 , norm=cosine )", "spectrum(n=1..5,norm=cosine)" },
        { "spectrum(n=4..4)", "spectrum(n=4)" },
        { "wd", "wd(n=6)" },
        { "wd(shift=2,norm=cosine,n=4)", "wd(n=4,shift=2,norm=cosine)" },
        { "mismatch", "mismatch(n=5,m=1)" },
        { "mismatch(m=0,n=3,strands=both)", "mismatch(n=3,m=0,strands=both)" },
        { "gappy(gap=0)", "gappy(n=2,gap=0)" },
        { "spectrum(n=2) + rbf on t", "spectrum(n=2) + rbf on t" },
    };
    static const char *const wrong[] = { "spectrum(n=0)", "spectrum(n=5..1)", "spectrum(n=1.5)",
                                         "spectrum(n=1..)", "spectrum(n=1...3)", "spectrum(n=x)",
                                         "spectrum(n=99999999999999999999)", "spectrum(rbf)",
                                         "mismatch(m=-1)", "mismatch(m=0.5)", "gappy(n=0)",
                                         "gappy(n=1..2)", "mismatch(gap=1)" };
    struct kernel k;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct buf b = { 0 };
        ck_assert_int_eq(kernel_parse(all[i].given, &k, NULL, NULL), ST_OK);
        kernel_print(&k, &b);
        ck_assert_str_eq(buf_str(&b), all[i].printed);
        buf_free(&b);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err err = { 0 };
        ck_assert_msg(kernel_parse(wrong[i], &k, NULL, &err) != ST_OK, "%s", wrong[i]);
        ck_assert(*err.msg);
    }
}
END_TEST

/* A leading 1 and n digits are below 2^64: 31 letters of 4, 14 of 20, 63 of 2 and of 1.  Within
 * three letters of a word of five of 20 there are 1 + 95 + 3610 + 68590 words, more than 65,536;
 * pairs of 15 letters of 4 and three gaps take 62 bits. */
START_TEST(longest_words)
{
    static const struct { const char *name, *more; size_t letters, most; } all[] = {
        { "spectrum", "", 4, 31 }, { "spectrum", "", 20, 14 }, { "spectrum", "", 2, 63 },
        { "spectrum", "", 1, 63 }, { "mismatch", ",m=1", 4, 31 }, { "mismatch", ",m=3", 20, 4 },
        { "gappy", ",gap=2", 4, 15 }, { "gappy", ",gap=0", 20, 7 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[64];
        struct kernel k;
        struct err err = { 0 };
        snprintf(text, sizeof text, "%s(n=%zu%s)", all[i].name, all[i].most, all[i].more);
        parsed(text, all[i].letters);
        snprintf(text, sizeof text, "%s(n=%zu%s)", all[i].name, all[i].most + 1, all[i].more);
        ck_assert_int_eq(kernel_parse(text, &k, NULL, NULL), ST_OK);
        ck_assert_int_eq(bind_letters(&k, all[i].letters, &err), ST_LIMIT);
        snprintf(text, sizeof text, "at most %zu", all[i].most);
        ck_assert_msg(strstr(err.msg, text) != NULL, "%s", err.msg);
    }
}
END_TEST

/* z.z' of features that are words is the kernel; hashed, it is within 4 standard errors of its mean
 * over seeds.  Most columns are fewer than words, so that many meet. */
static const struct columns { const char *text; size_t words; } columns[] = {
    { "spectrum(n=3)", 64 },
    { "spectrum(n=1..3)", 84 },
    { "spectrum(n=2..3,norm=cosine,strands=both)", 42 },
    { "spectrum(n=1..5,strands=both)", 692 },
    { "spectrum(n=6,strands=both)", 2080 },
    { "mismatch(n=3,m=1)", 64 },
    { "mismatch(n=4,m=1,norm=cosine,strands=both)", 136 },
    { "gappy(n=2,gap=1)", 512 },
    { "gappy(n=1,gap=2,strands=both)", 30 },
    { "wd(n=3)", 84 * MOST },
    { "wd(n=2,shift=3,norm=cosine)", 20 * (MOST + 3) },
};
enum { ROWS = 12, HASHED = 8, SEEDS = 2000 };

/* The values of all pairs of ROWS rows by M features. */
static void by_features(const struct kernel *k, size_t M, uint64_t seed, const double *x,
                        double *out)
{
    struct err err = { 0 };
    struct featmap *fm = featmap_new(k, D, M, seed, &err);

    ck_assert_msg(fm != NULL, "%s", err.msg);
    double *work = mem_calloc(interp_work_for_tests(fm), sizeof *work, "work", NULL),
           *z = mem_calloc(ROWS * M, sizeof *z, "features", NULL);
    for (size_t i = 0; i < ROWS; i++)
        interp_row_for_tests(fm, NULL, x + i * D, z + i * M, NULL, 0, work);
    for (size_t i = 0; i < ROWS * ROWS; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < M; j++)
            out[i] += z[i / ROWS * M + j] * z[i % ROWS * M + j];
    }
    free(work), free(z);
    featmap_free(fm);
}

START_TEST(features_of_words)
{
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_SYMBOLS, LETTERS, MOST } } };
    double *x = mem_calloc(N * D, sizeof *x, "rows", NULL), got[ROWS * ROWS], want[ROWS * ROWS];
    double sum[ROWS * ROWS] = { 0 }, squares[ROWS * ROWS] = { 0 };
    struct kernel k;

    make(x);
    ck_assert(kernel_parse(columns[_i].text, &k, NULL, NULL) == ST_OK);
    ck_assert(kernel_bind_rows(&k, &rows, NULL, NULL) == ST_OK);
    for (size_t i = 0; i < ROWS * ROWS; i++)
        want[i] = kernel_exact(&k, NULL, D, x + i / ROWS * D, x + i % ROWS * D, NULL);
    by_features(&k, columns[_i].words, 1, x, got);
    for (size_t i = 0; i < ROWS * ROWS; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= 1e-12 * (1.0 + want[i]), "%s: %.17g, not %.17g",
                      columns[_i].text, got[i], want[i]);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        by_features(&k, HASHED, seed, x, got);
        for (size_t i = 0; i < ROWS * ROWS; i++) {
            sum[i] += got[i] - want[i];
            squares[i] += (got[i] - want[i]) * (got[i] - want[i]);
        }
    }
    for (size_t i = 0; i < ROWS * ROWS; i++)
        ck_assert_msg(fabs(sum[i]) <= 4.0 * sqrt(squares[i]) + 1e-9, "%s: %g off by %g",
                      columns[_i].text, want[i], sum[i] / SEEDS);
    free(x);
}
END_TEST

/* With strands=both each word of six letters has the column of its reverse complement, and no other
 * word has it: 64 columns of palindromes, 2016 of two words. */
START_TEST(columns_of_both_strands)
{
    enum { WORDS = 4096, CLASSES = 2080 };
    const struct row_layout rows = { .nparts = 1, .part = { { ROWS_SYMBOLS, LETTERS, MOST } } };
    static double z[CLASSES], work[8 * CLASSES];
    size_t at[WORDS], used[CLASSES] = { 0 }, palindromes = 0;
    struct kernel k;

    ck_assert(kernel_parse("spectrum(n=6,strands=both)", &k, NULL, NULL) == ST_OK);
    ck_assert(kernel_bind_rows(&k, &rows, NULL, NULL) == ST_OK);
    struct featmap *fm = featmap_new(&k, D, CLASSES, 1, NULL);
    ck_assert(fm != NULL && interp_work_for_tests(fm) <= sizeof work / sizeof *work);
    for (size_t w = 0; w < WORDS; w++) {
        double x[D] = { 6.0 }, sum = 0.0;
        for (size_t i = 0; i < 6; i++)
            x[1 + i] = (double)(w >> (10 - 2 * i) & 3);
        interp_row_for_tests(fm, NULL, x, z, NULL, 0, work);
        for (size_t j = 0; j < CLASSES; j++) {
            at[w] = z[j] == 1.0 ? j : at[w];
            sum += fabs(z[j]);
        }
        ck_assert(sum == 1.0);
        used[at[w]]++;
    }
    for (size_t w = 0; w < WORDS; w++) {
        size_t back = 0;
        for (size_t i = 0; i < 6; i++)
            back = back * 4 + (3 - (w >> 2 * i & 3));
        palindromes += back == w;
        ck_assert(at[back] == at[w] && used[at[w]] == (back == w ? 1 : 2));
    }
    ck_assert_uint_eq(palindromes, 64);
    featmap_free(fm);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spectrum");
    TCase *t = tcase_create("spectrum");

    tcase_add_loop_test(t, golden, 0, 2);
    tcase_add_test(t, both_strands);
    tcase_add_loop_test(t, other_letters_make_no_words, 0, 6);
    tcase_add_loop_test(t, values_are_counts_of_equal_words, 0, sizeof ranges / sizeof *ranges);
    tcase_add_loop_test(t, words_at_the_same_place, 0, 6);
    tcase_add_loop_test(t, words_that_differ_and_pairs, 0, sizeof slows / sizeof *slows);
    tcase_add_loop_test(t, identities, 0, 4);
    tcase_add_loop_test(t, a_strand_and_the_other, 0, 2);
    tcase_add_test(t, limit_of_windows);
    tcase_add_test(t, long_rows_count_in_64_bits);
    tcase_add_test(t, expressions_as_text);
    tcase_add_test(t, longest_words);
    tcase_add_loop_test(t, features_of_words, 0, sizeof columns / sizeof *columns);
    tcase_add_test(t, columns_of_both_strands);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return support_run(s);
}
