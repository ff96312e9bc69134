/* tests/check_figure.c -- figures without any child process: ranges, ticks, thinning, the text
 * picture, words, numbers, and what is handed to gnuplot. */
#include "figure/figure.h"
#include "figure/figure_layout.h"
#include "base/buf.h"
#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct err err;

static struct figure *figure_of(enum mark m, size_t n, const double *x, const double *y, bool xlog,
                                bool ylog)
{
    struct figure *f = figure_new("test", "", &err);

    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(figure_add(f, "", m, n, x, y, &err));
    f->x.log = xlog;
    f->y.log = ylog;
    return f;
}

/* Ranges and ticks. */

static void check_ticks(const struct ticks *t, double lo, double hi)
{
    ck_assert_uint_ge(t->n, 1);
    for (size_t i = 0; i < t->n; i++) {
        const double slack = 1e-6 * fmax(fabs(lo), fabs(hi));
        ck_assert_msg(t->at[i] >= lo - slack && t->at[i] <= hi + slack, "%g in %g..%g", t->at[i],
                      lo, hi);
        if (i > 0)
            ck_assert_double_gt(t->at[i], t->at[i - 1]);
        /* The words read back as the value (commas apart). */
        char plain[32];
        size_t k = 0;
        for (const char *s = t->text[i]; *s != '\0'; s++)
            if (*s != ',')
                plain[k++] = *s;
        plain[k] = '\0';
        char *end;
        const double v = strtod(plain, &end);
        ck_assert_int_eq(*end, '\0');
        ck_assert_msg(fabs(v - t->at[i]) <= 1e-4 * (hi - lo) + 1e-6 * fabs(v), "%s is %.12g",
                      t->text[i], t->at[i]);
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(t->text[i], t->text[j]);
    }
}

START_TEST(ranges_hold_the_data_and_ticks_read_true)
{
    struct splitmix g;
    splitmix_init(&g, 5);
    for (int round = 0; round < 3000; round++) {
        double x[6], y[6];
        const double sx = pow(10, floor(20 * splitmix_uniform(&g)) - 10);
        const double sy = pow(10, floor(20 * splitmix_uniform(&g)) - 10);
        const double off = round % 3 == 0 ? 100 * sy * splitmix_normal(&g) : 0;
        const bool ylog = round % 4 == 0, xlog = round % 5 == 0;
        for (size_t i = 0; i < 6; i++) {
            x[i] = xlog ? sx * exp(3 * splitmix_normal(&g)) : sx * splitmix_normal(&g);
            y[i] = ylog ? sy * exp(6 * splitmix_normal(&g)) : off + sy * splitmix_normal(&g);
        }
        struct figure *f = figure_of(MARK_POINTS, 6, x, y, xlog, ylog);
        struct figure_scale sc;
        figure_scale(f, 2 + (size_t)round % 9, 2 + (size_t)round % 7, &sc);
        ck_assert(sc.xlo < sc.xhi && sc.ylo < sc.yhi);
        for (size_t i = 0; i < 6; i++) {
            const double u = figure_place(x[i], sc.xlo, sc.xhi, xlog);
            const double v = figure_place(y[i], sc.ylo, sc.yhi, ylog);
            ck_assert(u >= -1e-6 && u <= 1 + 1e-6 && v >= -1e-6 && v <= 1 + 1e-6);
        }
        check_ticks(&sc.xt, sc.xlo, sc.xhi);
        check_ticks(&sc.yt, sc.ylo, sc.yhi);
        figure_free(f);
    }
}
END_TEST

START_TEST(ranges_for_whole_numbers)
{
    const double y[] = { 3, 1, 2 };
    struct figure *f = figure_of(MARK_LINE, 3, NULL, y, false, false);
    f->x.whole = true;
    struct figure_scale sc;
    figure_scale(f, 12, 5, &sc);
    for (size_t i = 0; i < sc.xt.n; i++) /* no iteration 0.5 */
        ck_assert_double_eq(sc.xt.at[i], floor(sc.xt.at[i]));
    figure_free(f);
}
END_TEST

START_TEST(ranges_given_are_kept)
{
    const double y[] = { 3, 1, 2 };
    struct figure *f = figure_of(MARK_LINE, 3, NULL, y, false, false);
    f->y.lo = -7.5;
    f->y.hi = 0.25;
    struct figure_scale sc;
    figure_scale(f, 4, 4, &sc);
    ck_assert_double_eq(sc.ylo, -7.5);
    ck_assert_double_eq(sc.yhi, 0.25);
    f->y.log = true; /* -7.5 cannot be: chosen instead */
    figure_scale(f, 4, 4, &sc);
    ck_assert(sc.ylo > 0 && sc.ylo < sc.yhi);
    figure_free(f);
}
END_TEST

START_TEST(dropped_values_are_counted)
{
    const double y[] = { 1, 0, -1, NAN, INFINITY, 10 };
    struct figure *f = figure_of(MARK_LINE, 6, NULL, y, false, true);
    ck_assert_uint_eq(figure_dropped_for_tests(f), 4);
    f->y.log = false;
    ck_assert_uint_eq(figure_dropped_for_tests(f), 2);
    f->x.log = true; /* x = 0 */
    ck_assert_uint_eq(figure_dropped_for_tests(f), 3);
    figure_free(f);
}
END_TEST

/* Thinning. */

START_TEST(thinning_keeps_extremes_ends_and_gaps)
{
    enum { N = 100000 };
    double *y = calloc(N, sizeof *y);
    for (size_t i = 0; i < N; i++)
        y[i] = sin((double)i * 0.001);
    y[12345] = 50;
    y[77777] = -60;
    for (size_t i = 40000; i < 45000; i++)
        y[i] = NAN;
    for (int xlog = 0; xlog < 2; xlog++) {
        struct figure *f = figure_of(MARK_LINE, N, NULL, y, xlog, false);
        ck_assert_int_eq(figure_thin(f, 1000, &err), ST_OK);
        const struct series *s = &f->s[0];
        ck_assert_uint_le(s->n, 1100);
        double lo = 0, hi = 0;
        bool gap = false;
        for (size_t i = 0; i < s->n; i++) {
            lo = fmin(lo, s->y[i]);
            hi = fmax(hi, s->y[i]);
            gap = gap || (isnan(s->y[i]) && s->x[i] >= 40000 && s->x[i] < 45000);
            if (i > 0)
                ck_assert_double_gt(s->x[i], s->x[i - 1]);
            if (isfinite(s->y[i])) /* values are the given ones, at their places */
                ck_assert_double_eq(s->y[i], y[(size_t)s->x[i]]);
        }
        ck_assert_double_eq(lo, -60);
        ck_assert_double_eq(hi, 50);
        ck_assert(gap);
        ck_assert_double_eq(s->x[0], 0);
        ck_assert_double_eq(s->x[s->n - 1], N - 1);
        figure_free(f);
    }
    free(y);
}
END_TEST

START_TEST(thinning_a_cloud_keeps_its_shape)
{
    enum { N = 100000 };
    double *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
    int *class = calloc(N, sizeof *class);
    struct splitmix g;
    splitmix_init(&g, 8);
    for (size_t i = 0; i < N; i++) {
        class[i] = (int)(i % 3);
        x[i] = splitmix_normal(&g) + 10 * class[i];
        y[i] = splitmix_normal(&g);
    }
    x[500] = 99;
    struct figure *f = figure_of(MARK_POINTS, N, x, y, false, false);
    ck_assert_int_eq(figure_classes(&f->s[0], class, &err), ST_OK);
    ck_assert_int_eq(figure_thin(f, 4000, &err), ST_OK);
    const struct series *s = &f->s[0];
    ck_assert_uint_le(s->n, 4000);
    ck_assert_uint_ge(s->n, 400);
    double hi = 0;
    size_t each[3] = { 0 };
    for (size_t i = 0; i < s->n; i++) {
        hi = fmax(hi, s->x[i]);
        each[s->group[i]]++;
        if (s->x[i] < 90) /* classes travel with their points */
            ck_assert_double_lt(fabs(s->x[i] - 10 * s->group[i]), 6);
    }
    ck_assert_double_eq(hi, 99);
    for (int k = 0; k < 3; k++)
        ck_assert_uint_gt(each[k], s->n / 6);
    figure_free(f);
    free(x);
    free(y);
    free(class);
}
END_TEST

/* Histograms. */

START_TEST(histogram_counts_everything_once)
{
    struct splitmix g;
    splitmix_init(&g, 3);
    double v[3001];
    for (size_t i = 0; i < 3000; i++)
        v[i] = splitmix_normal(&g);
    v[3000] = 1e9; /* must not squeeze all others into one cell */
    v[7] = NAN;
    double lo = NAN, hi = NAN;
    const size_t bins = figure_bins(3001, v, &lo, &hi);
    ck_assert(bins >= 5 && bins <= 60 && hi < 100 && lo < -1 && hi > 1);
    struct figure *f = figure_new("h", "", &err);
    const struct figure_cells cells = { lo, hi, bins };
    struct series *s = figure_histogram(f, "v", MARK_BARS, 3001, v, &cells, false, &err);
    ck_assert_ptr_nonnull(s);
    double sum = 0;
    size_t filled = 0;
    for (size_t i = 0; i < s->n; i++) {
        sum += s->y[i];
        filled += s->y[i] > 0;
        size_t direct = 0; /* counted the slow way */
        const double half = (s->x[1] - s->x[0]) / 2;
        for (size_t k = 0; k < 3001; k++)
            direct += v[k] > s->x[i] - half && v[k] < s->x[i] + half;
        if (i > 0 && i + 1 < s->n)
            ck_assert_double_eq(s->y[i], (double)direct);
    }
    ck_assert_double_eq(sum, 3000);
    ck_assert_uint_gt(filled, bins / 2);
    ck_assert_ptr_nonnull(strstr(s->title, "beyond"));
    double whole[] = { 1, 2, 2, 3, 3, 3, 4, 4 };
    lo = hi = NAN;
    ck_assert_uint_eq(figure_bins(8, whole, &lo, &hi), 4);
    ck_assert_double_eq(lo, 0.5);
    ck_assert_double_eq(hi, 4.5);
    const double none[] = { NAN, INFINITY };
    lo = hi = NAN;
    ck_assert_uint_ge(figure_bins(2, none, &lo, &hi), 1);
    ck_assert(lo < hi);
    lo = hi = NAN;
    const double same[] = { 7.5, 7.5, 7.5 };
    ck_assert_uint_ge(figure_bins(3, same, &lo, &hi), 1);
    ck_assert(lo < 7.5 && hi > 7.5);
    figure_free(f);
}
END_TEST

/* The text picture. */

struct page {
    char *s, *line[256];
    size_t n;
};

static struct page page_of(const struct figure *f, size_t w, size_t h, bool utf8)
{
    struct buf b = { 0 };
    struct page p = { 0 };

    figure_text(f, w, h, utf8, &b);
    p.s = buf_take(&b);
    ck_assert_ptr_nonnull(p.s);
    for (char *at = p.s; *at != '\0';) {
        char *end = strchr(at, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        p.line[p.n++] = at;
        at = end + 1;
    }
    ck_assert_uint_eq(p.n, h);
    return p;
}

static double comma_number(const char *s)
{
    char t[32];
    size_t k = 0;

    for (; *s != '\0' && k < 30 && strchr("0123456789.,e+-", *s) != NULL; s++)
        if (*s != ',')
            t[k++] = *s;
    t[k] = '\0';
    return strtod(t, NULL);
}

/* Reads the picture as its reader would: the numbers along the axes give the scale, every mark must
 * lie on y = slope x + icept within a cell. */
static void line_is_drawn(size_t w, size_t h, double slope, double icept)
{
    double x[50], y[50];
    for (size_t i = 0; i < 50; i++) {
        x[i] = (double)i * 2;
        y[i] = slope * x[i] + icept;
    }
    struct figure *f = figure_of(MARK_LINE, 50, x, y, false, false);
    struct page p = page_of(f, w, h, false);
    const double ylo = fmin(y[0], y[49]), yhi = fmax(y[0], y[49]);
    double row_v[2] = { 0 }, col_v[2] = { 0 }, at_row[2] = { 0 }, at_col[2] = { 0 };
    size_t rows = 0, cols = 0, bottom = 0, bar = 0;
    for (size_t k = 0; k < p.n; k++) {
        char *plus = strchr(p.line[k], '+');
        char *pipe = strchr(p.line[k], '|');
        if (plus != NULL && strchr(plus, '-') != NULL && strspn(p.line[k], " ") == (size_t)(plus -
            p.line[k]))
            bottom = k;
        else if (pipe != NULL && bottom == 0) {
            bar = (size_t)(pipe - p.line[k]);
            const size_t from = strspn(p.line[k], " ");
            if (from < bar) {
                row_v[rows > 0] = comma_number(p.line[k] + from);
                at_row[rows > 0] = (double)k;
                rows++;
            }
        }
    }
    ck_assert_uint_gt(bottom, 3);
    ck_assert_uint_ge(rows, 2);
    /* Numbers along y bracket the data, to a row. */
    const double per_row = (row_v[0] - row_v[1]) / (at_row[1] - at_row[0]);
    ck_assert_double_gt(per_row, 0);
    ck_assert_double_ge(row_v[0] + per_row * 1.01, yhi);
    ck_assert_double_le(row_v[1] - per_row * 1.01, ylo);
    const char *axis = p.line[bottom], *num = p.line[bottom + 1];
    for (size_t c = bar + 1; axis[c] != '\0'; c++) {
        if (axis[c] != '|')
            continue;
        for (size_t k = c > 3 ? c - 3 : 0; k <= c && k < strlen(num); k++)
            if (isdigit((unsigned char)num[k]) && (k == 0 || num[k - 1] == ' ')) {
                col_v[cols > 0] = comma_number(num + k);
                at_col[cols > 0] = (double)c;
                cols++;
                break;
            }
    }
    ck_assert_uint_ge(cols, 2);
    const double per_col = (col_v[1] - col_v[0]) / (at_col[1] - at_col[0]);
    size_t marks = 0;
    for (size_t k = 0; k < bottom; k++)
        for (size_t c = bar + 1; c < strlen(p.line[k]); c++)
            if (p.line[k][c] == '*') {
                const double xv = col_v[0] + ((double)c - at_col[0]) * per_col;
                const double yv = row_v[0] - ((double)k - at_row[0]) * per_row;
                const double away = fabs(yv - (slope * xv + icept));
                ck_assert_msg(away <= 1.6 * per_row + 1.6 * fabs(slope) * per_col,
                              "%zux%zu: a mark at %g, %g is off the line by %g", w, h, xv, yv,
                              away);
                marks++;
            }
    ck_assert_uint_ge(marks, (size_t)((double)w * 0.6));
    free(p.s);
    figure_free(f);
}

START_TEST(text_line_lies_on_the_line)
{
    static const size_t size[][2] = { { 78, 14 }, { 118, 20 }, { 40, 10 }, { 200, 60 } };
    for (size_t i = 0; i < 4; i++) {
        line_is_drawn(size[i][0], size[i][1], 1, 0);
        line_is_drawn(size[i][0], size[i][1], -250, 30000);
        line_is_drawn(size[i][0], size[i][1], 0.003, -0.1);
    }
}
END_TEST

START_TEST(text_names_its_curves)
{
    const double y[] = { 1, 1e-2, 1e-4, 1e-6 }, z[] = { 1, 1e-1, 1e-2, 1e-3 };
    for (int utf8 = 0; utf8 < 2; utf8++) {
        struct figure *f = figure_of(MARK_LINE, 4, NULL, y, false, true);
        figure_label(f, "iteration", "relative residual", &err);
        figure_add(f, "r7 rank=512", MARK_LINE, 4, NULL, z, &err);
        figure_add_hline(f, "target rtol", 1e-6, &err);
        struct page p = page_of(f, 78, 14, utf8);
        bool seen[5] = { false };
        for (size_t k = 0; k < p.n; k++) {
            seen[0] = seen[0] || strstr(p.line[k], "r7 rank=512") != NULL;
            seen[1] = seen[1] || strstr(p.line[k], "target rtol") != NULL;
            seen[2] = seen[2] || strstr(p.line[k], "iteration") != NULL;
            seen[3] = seen[3] || strstr(p.line[k], "relative residual") != NULL;
            seen[4] = seen[4] || strstr(p.line[k], "1e-06") != NULL;
        }
        for (int k = 0; k < 5; k++)
            ck_assert_msg(seen[k], "utf8 %d, %d", utf8, k);
        free(p.s);
        figure_free(f);
    }
}
END_TEST

/* Three clouds beside each other in braille, without colour: the sign of each class, and of no
 * other, stands in its third of the plot. */
START_TEST(text_tells_classes_apart)
{
    enum { EACH = 60, CLASSES = 3 };
    double x[CLASSES * EACH], y[CLASSES * EACH];
    int class[CLASSES * EACH];
    struct splitmix g;
    splitmix_init(&g, 5);
    for (size_t i = 0; i < CLASSES * EACH; i++) {
        class[i] = (int)(i % CLASSES);
        x[i] = 20.0 * class[i] + splitmix_normal(&g);
        y[i] = splitmix_normal(&g);
    }
    struct figure *f = figure_new("pca", "clusters", &err);
    struct series *s = figure_add(f, "cluster", MARK_POINTS, CLASSES * EACH, x, y, &err);
    ck_assert_int_eq(figure_classes(s, class, &err), ST_OK);
    const struct figure_style style = { .utf8 = true, .colors = 256 };
    struct frame fr;
    size_t seen[CLASSES] = { 0 };
    ck_assert_int_eq(figure_frame(f, 100, 24, &style, &fr, &err), ST_OK);
    for (size_t at = 0; at < fr.w * 21; at++) { /* less the axis */
        static const char signs[] = "*+o";
        static const size_t from[] = { 1, 40, 78 }, upto[] = { 20, 65, 100 };
        const size_t col = at % fr.w;
        const char *sign = fr.cell[at].ch[1] == '\0' ? strchr(signs, fr.cell[at].ch[0]) : NULL;
        if (!sign || *sign == 0 || (col < 20 && at / fr.w > 17)) /* the key's */
            continue;
        const size_t k = (size_t)(sign - signs);
        seen[k]++;
        ck_assert_msg(col > from[k] && col < upto[k], "%c in column %zu", *sign, col);
    }
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_msg(seen[k] > 5, "class %zu: %zu signs", k, seen[k]);
    frame_free(&fr);
    figure_free(f);
}
END_TEST

/* Twelve clouds: in braille each has a sign of its own, in SVG a shape of its own, whatever the
 * colour. */
START_TEST(twelve_classes_have_twelve_signs)
{
    enum { EACH = 30, CLASSES = 12 };
    static const char signs[] = "*+ox#@%&ABCD";
    double x[CLASSES * EACH], y[CLASSES * EACH];
    int class[CLASSES * EACH];
    struct splitmix g;
    splitmix_init(&g, 6);
    for (size_t i = 0; i < CLASSES * EACH; i++) {
        class[i] = (int)(i % CLASSES);
        x[i] = 10.0 * (class[i] % 4) + splitmix_normal(&g);
        y[i] = 10.0 * (class[i] / 4) + splitmix_normal(&g);
    }
    struct figure *f = figure_new("pca", "clusters", &err);
    struct series *s = figure_add(f, "cluster", MARK_POINTS, CLASSES * EACH, x, y, &err);
    ck_assert_int_eq(figure_classes(s, class, &err), ST_OK);
    const struct figure_style style = { .utf8 = true, .colors = 256 };
    struct frame fr;
    size_t seen[CLASSES] = { 0 }, shapes = 0;
    ck_assert_int_eq(figure_frame(f, 120, 40, &style, &fr, &err), ST_OK);
    for (size_t at = 0; at < fr.w * fr.h; at++) {
        const char *sign = fr.cell[at].ch[1] == '\0' ? strchr(signs, fr.cell[at].ch[0]) : NULL;
        if (sign && *sign)
            seen[sign - signs]++;
    }
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_msg(seen[k] > 2, "class %zu: %zu signs", k, seen[k]);
    frame_free(&fr);
    struct buf b = { 0 };
    figure_svg(f, 800, 480, false, &b);
    /* the first element of each class's group, without its numbers and colours */
    char kind[CLASSES][64];
    for (const char *p = b.s; shapes < CLASSES && (p = strstr(p, "<g fill=")); p++) {
        const char *end = strchr(p, '\n');
        char word[64];
        size_t n = 0;
        if (end == NULL || end[-1] != '>' || end[1] != '<')
            continue;
        const bool hollow = !strncmp(p, "<g fill=\"none\"", 14);
        word[n++] = hollow ? 'h' : 'f';
        for (const char *q = end + 1; *q != '\n' && n + 1 < sizeof word; q++)
            if (strchr("<circleathMvhlmz", *q))
                word[n++] = *q;
        word[n] = '\0';
        bool known = false;
        for (size_t k = 0; k < shapes; k++)
            known |= !strcmp(kind[k], word);
        if (!known && (strstr(word, "circle") || strstr(word, "ath") || strstr(word, "rect")))
            snprintf(kind[shapes++], sizeof kind[0], "%s", word);
    }
    ck_assert_uint_ge(shapes, CLASSES);
    buf_free(&b);
    figure_free(f);
}
END_TEST

START_TEST(text_bars_have_their_heights)
{
    const double x[] = { 0.5, 1.5, 2.5, 3.5 }, y[] = { 2, 8, 4, 0 };
    struct figure *f = figure_of(MARK_BARS, 4, x, y, false, false);
    struct page p = page_of(f, 60, 20, false);
    size_t tall[60] = { 0 };
    for (size_t k = 0; k < p.n; k++)
        for (size_t c = 0; c < strlen(p.line[k]); c++)
            tall[c] += p.line[k][c] == '*';
    size_t distinct[4] = { 0 }, last = 0;
    for (size_t c = 0, k = 0; c < 60; c++) {
        if (tall[c] > 0 && tall[c] != last && k < 4)
            distinct[k++] = tall[c];
        last = tall[c];
    }
    ck_assert_uint_eq(distinct[3], 0); /* three bars: the empty one is not there */
    ck_assert_double_eq_tol((double)distinct[1] / (double)distinct[0], 4, 1.4);
    ck_assert_double_eq_tol((double)distinct[1] / (double)distinct[2], 2, 0.4);
    free(p.s);
    figure_free(f);
}
END_TEST

/* Every shape of data and screen: nothing crashes, every line has its width. */
START_TEST(text_survives_everything)
{
    const double bad[] = { NAN, INFINITY, -INFINITY, 0, -1, DBL_MAX, -DBL_MAX, DBL_MIN, 1, 1 };
    static const size_t size[][2] = { { 0, 0 },   { 1, 1 },  { 5, 2 },   { 20, 5 }, { 30, 8 },
                                      { 78, 14 }, { 3, 40 }, { 120, 3 }, { 21, 6 } };
    for (int m = MARK_LINE; m <= MARK_VLINE; m++)
        for (int kind = 0; kind < 6; kind++)
            for (int mode = 0; mode < 8; mode++)
                for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
                    double x[10], y[10];
                    for (size_t i = 0; i < 10; i++) {
                        x[i] = kind == 0 ? bad[i] : kind == 5 ? 3 : (double)i;
                        y[i] = kind <= 1 ? bad[9 - i] : kind == 2 ? NAN : kind == 3 ? 0 : 5;
                    }
                    const size_t n = kind == 4 ? 0 : m >= MARK_HLINE ? 1 : 10;
                    struct figure *f = figure_of((enum mark)m, n, x, y, mode & 1, mode & 2);
                    if (m == MARK_BAND) {
                        figure_add_band(f, "band \xe6\x97\xa5\xe6\x9c\xac", n, x, y, x, &err);
                    }
                    f->next = figure_empty("e", "nothing \x1b[2J here: try fit", &err);
                    struct frame fr;
                    const struct figure_style st = { .utf8 = mode & 4, .colors = mode & 1 ? 256 : 8,
                                                     .dark = mode & 2 };
                    ck_assert_int_eq(figure_frame(f, size[k][0], size[k][1], &st, &fr, &err),
                                     ST_OK);
                    ck_assert_uint_eq(fr.w, size[k][0]);
                    ck_assert_uint_eq(fr.h, size[k][1]);
                    for (size_t i = 0; i < fr.w * fr.h; i++)
                        for (const char *c = fr.cell[i].ch; *c != '\0'; c++)
                            ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f &&
                                      (st.utf8 || (unsigned char)*c < 0x7f));
                    frame_free(&fr);
                    struct buf b = { 0 };
                    if (k == 0) {
                        figure_describe(f, &b);
                        figure_svg(f, 300, 200, false, &b);
                        figure_csv(f, &b);
                        ck_assert(!b.failed);
                        ck_assert_ptr_null(strstr(b.s, "\x1b"));
                    }
                    buf_free(&b);
                    figure_free(f);
                }
}
END_TEST

START_TEST(memory_failures_are_told)
{
    const double y[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    for (size_t after = 1; after < 60; after++) {
        mem_fail_after_for_tests(after);
        struct figure *f = figure_new("f", "t", &err);
        if (f != NULL) {
            figure_add(f, "a", MARK_LINE, 8, NULL, y, &err);
            figure_add_band(f, "b", 8, NULL, y, y, &err);
            figure_label(f, "x", "y", &err);
            struct frame fr;
            const struct figure_style st = { .utf8 = true };
            figure_frame(f, 60, 12, &st, &fr, &err);
            frame_free(&fr);
            struct figure *c = figure_copy(f, &err);
            figure_free(c);
            struct buf b = { 0 };
            figure_gnuplot(f, "set term svg size 400,300", "x", false, false, &b);
            figure_svg(f, 300, 200, true, &b);
            figure_describe(f, &b);
            buf_free(&b);
        }
        figure_free(f);
        mem_fail_after_for_tests(0);
    }
}
END_TEST

/* Numbers. */

START_TEST(csv_reads_back_exactly)
{
    const double x[] = { 0.1, 1e-300, -3, 1.0 / 3 }, y[] = { NAN, 2e22, M_PI, -0.0 };
    struct figure *f = figure_new("c", "", &err);
    figure_add(f, "a \"quoted\", name\nof two lines", MARK_LINE, 4, x, y, &err);
    struct buf b = { 0 };
    figure_csv(f, &b);
    ck_assert_int_eq(strncmp(b.s, "panel,series,x,y,y2,class\n", 26), 0);
    ck_assert_ptr_nonnull(strstr(b.s, "1,\"a \"\"quoted\"\", name\nof two lines\",0.1,,,\n"));
    const char *p = b.s;
    for (size_t i = 0; i < 4; i++) {
        p = strstr(p, "lines\",");
        ck_assert_ptr_nonnull(p);
        char *end;
        p += 7;
        ck_assert_double_eq(strtod(p, &end), x[i]);
        ck_assert_int_eq(*end, ',');
        if (i > 0)
            ck_assert_double_eq(strtod(end + 1, NULL), y[i]);
    }
    buf_free(&b);
    figure_free(f);
}
END_TEST

/* Words. */

static char *words_of(struct figure *f)
{
    struct buf b = { 0 };

    figure_describe(f, &b);
    figure_free(f);
    char *s = buf_take(&b);
    ck_assert_ptr_nonnull(s);
    return s;
}

static void has(const char *words, const char *part)
{
    ck_assert_msg(strstr(words, part) != NULL, "\"%s\" is not in: %s", part, words);
}

/* The first number after a phrase. */
static double after(const char *words, const char *phrase)
{
    has(words, phrase);
    const char *p = strstr(words, phrase) + strlen(phrase);
    p += strcspn(p, "-0123456789");
    return strtod(p, NULL);
}

START_TEST(words_for_a_line)
{
    double x[101], y[101];
    for (size_t i = 0; i < 101; i++) {
        x[i] = (double)i;
        y[i] = 2 * x[i] + 1;
    }
    struct figure *f = figure_of(MARK_LINE, 101, x, y, false, false);
    figure_label(f, "step", "value (ppm)", &err);
    figure_add_hline(f, "limit", 41, &err);
    char *s = words_of(f);
    has(s, "starts at 1 (step 0), ends at 201 (step 100)");
    has(s, "rises throughout: 2 per step");
    has(s, "crosses limit (41) near step 20.");
    ck_assert_ptr_null(strstr(s, "knee"));
    ck_assert_ptr_null(strstr(s, "plateau"));
    free(s);
}
END_TEST

START_TEST(words_for_a_decay)
{
    double y[80];
    for (size_t i = 0; i < 80; i++)
        y[i] = pow(0.9, (double)i);
    struct figure *f = figure_of(MARK_LINE, 80, NULL, y, false, true);
    figure_label(f, "iteration", "residual", &err);
    figure_add_hline(f, "rtol", 1e-6, &err);
    figure_add_hline(f, "coarse", 1e-2, &err);
    char *s = words_of(f);
    has(s, "falls throughout: x0.9 per iteration");
    has(s, "does not reach rtol");
    ck_assert_double_eq_tol(after(s, "ends at "), pow(0.9, 79), 1e-6);
    ck_assert_double_eq_tol(after(s, "crosses coarse (0.01) near "), log(0.01) / log(0.9), 0.1);
    ck_assert_double_eq_tol(after(s, "rtol (1e-06): ends "), pow(0.9, 79) / 1e-6, 1);
    free(s);
}
END_TEST

START_TEST(words_for_knees_and_plateaus)
{
    double y[100];
    for (size_t i = 0; i < 100; i++) /* slope -10 until 40, then level */
        y[i] = i < 40 ? 400 - 10 * (double)i : 0.01 * (double)(i % 3);
    char *s = words_of(figure_of(MARK_LINE, 100, NULL, y, false, false));
    ck_assert_double_eq_tol(after(s, "knee near x"), 40, 4);
    ck_assert_double_eq_tol(after(s, "plateau near"), 0, 1);
    ck_assert_double_eq_tol(after(strstr(s, "plateau"), "from x"), 40, 4);
    free(s);
    for (size_t i = 0; i < 100; i++)
        y[i] = 7;
    s = words_of(figure_of(MARK_LINE, 100, NULL, y, false, false));
    has(s, "constant");
    free(s);
}
END_TEST

START_TEST(words_for_clouds)
{
    struct splitmix g;
    splitmix_init(&g, 4);
    double x[400], y[400];
    for (size_t i = 0; i < 400; i++) {
        x[i] = splitmix_uniform(&g) * 10;
        y[i] = x[i] + 0.1 * splitmix_normal(&g);
    }
    y[17] = 25;
    x[17] = 5;
    struct figure *f = figure_of(MARK_POINTS, 400, x, y, false, false);
    f->square = true;
    char *s = words_of(f);
    has(s, "400 points");
    ck_assert_double_gt(after(s, "correlation"), 0.9);
    has(s, "1 outlier; farthest: 25 at");
    ck_assert_double_eq_tol(after(s, "half of the points lie within "), 0.1 * 0.6745, 0.015);
    free(s);
}
END_TEST

START_TEST(words_for_histograms)
{
    enum { N = 20000 };
    double *v = calloc(N, sizeof *v);
    for (size_t i = 0; i < N; i++) /* exponential with mean 1, by its quantiles */
        v[i] = -log(1 - ((double)i + 0.5) / N);
    double lo = NAN, hi = NAN;
    const size_t bins = figure_bins(N, v, &lo, &hi);
    struct figure *f = figure_new("h", "", &err);
    const struct figure_cells cells = { lo, hi, bins };
    figure_histogram(f, "e", MARK_BARS, N, v, &cells, true, &err);
    char *s = words_of(f);
    ck_assert_double_eq_tol(after(s, "median "), log(2), 0.03);
    ck_assert_double_eq_tol(after(s, "5 % above "), log(20), 0.1);
    ck_assert_double_lt(after(s, "mode "), 0.2);
    has(s, "longer tail on the right");
    free(s);
    free(v);
}
END_TEST

START_TEST(words_for_nothing)
{
    char *s = words_of(figure_empty("residual", "no fit yet: try fit", &err));
    has(s, "no fit yet: try fit");
    free(s);
    const double y[] = { -1, 0, NAN };
    s = words_of(figure_of(MARK_LINE, 3, NULL, y, false, true));
    has(s, "no values to draw");
    has(s, "3 values left out");
    free(s);
}
END_TEST

/* Gnuplot text. */

static const char *const hostile[] = {
    "`touch X`", "'; system('touch X') #", "'''", "a'\nsystem('touch X')\n'", "\"`x`\"",
    "GPX7Q\nsystem('touch X')\nGPX7Q", "\x1b]0;x\x07", "\xc2\x9b", "\xff\xfe\xc3", "\xed\xa0\x80",
    "\xf4\x90\x80\x80", "\xc0\xa7; !x", "%s%n", "\r\n", "\xe2\x80\xa8line", "\\'",
};

START_TEST(quotes_hold)
{
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct buf b = { 0 };
        figure_gnuplot_quote(&b, hostile[i]);
        ck_assert_uint_ge(b.len, 2);
        ck_assert_int_eq(b.s[0], '\'');
        ck_assert_int_eq(b.s[b.len - 1], '\'');
        for (size_t k = 1; k + 1 < b.len; k++) {
            const unsigned char c = (unsigned char)b.s[k];
            ck_assert(c >= 0x20 && c != 0x7f && c != '\'');
            ck_assert(!(c == 0xc2 && (unsigned char)b.s[k + 1] < 0xa0));
        }
        buf_free(&b);
    }
}
END_TEST

/* A small reader of gnuplot's grammar: outside quoted strings only characters that our commands
 * use, inside data blocks only numbers, every block and string closed. */
static void check_commands(const char *s)
{
    bool block = false, quoted = false;

    for (const char *p = s; *p != '\0';) {
        const char *end = strchr(p, '\n');
        ck_assert_msg(end != NULL, "every line ends");
        const size_t n = (size_t)(end - p);
        if (block) {
            if (n == 5 && memcmp(p, "GPX7Q", 5) == 0)
                block = false;
            else
                for (size_t i = 0; i < n; i++)
                    ck_assert_msg(strchr("0123456789.eE+- Na", p[i]) != NULL, "%.*s", (int)n, p);
        } else {
            for (size_t i = 0; i < n; i++) {
                if (p[i] == '\'')
                    quoted = !quoted;
                else if (!quoted)
                    ck_assert_msg(p[i] >= ' ' && strchr("`\"@!|;{}", p[i]) == NULL, "%.*s", (int)n,
                                  p);
                else
                    ck_assert((unsigned char)p[i] >= 0x20);
            }
            ck_assert_msg(!quoted, "a string ends on its line: %.*s", (int)n, p);
            block = n > 8 && p[0] == '$' && memcmp(end - 8, "<< GPX7Q", 8) == 0;
        }
        p = end + 1;
    }
    ck_assert(!block);
}

START_TEST(commands_hold_no_text_outside_quotes)
{
    const double x[] = { 0, 1, NAN, 3, 1e308 }, y[] = { -1, INFINITY, 2, 3, -INFINITY };
    const int class[] = { 0, 1, 2, -1, 50 };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        for (int mode = 0; mode < 8; mode++) {
            struct figure *f = figure_new(hostile[i], hostile[i], &err);
            figure_label(f, hostile[i], hostile[i], &err);
            for (int m = MARK_LINE; m <= MARK_VLINE; m++)
                if (m != MARK_BAND)
                    figure_add(f, hostile[i], (enum mark)m, m >= MARK_HLINE ? 1 : 5, x, y, &err);
            figure_add_band(f, hostile[i], 5, x, y, x, &err);
            figure_classes(figure_add(f, hostile[i], MARK_POINTS, 5, x, y, &err), class, &err);
            f->y.log = mode & 1;
            const double z[] = { 1, NAN, INFINITY, 0, -1, 2 };
            figure_add_cells(f, hostile[i], &(struct figure_surface){ 2, 3, x, x + 1, z }, &err);
            const char *const two[] = { hostile[i], "a`b'c\\_^{}" };
            if (mode & 2)
                ck_assert_int_eq(figure_names(&f->x, 2, two, &err), ST_OK);
            if (mode & 4) {
                f->next = figure_empty("n", hostile[i], &err);
                f->across = 2;
            }
            struct buf b = { 0 };
            figure_gnuplot(f, "set term svg size 800,480", hostile[i], false, mode & 2, &b);
            ck_assert(!b.failed);
            check_commands(b.s);
            buf_free(&b);
            figure_free(f);
        }
}
END_TEST

/* Surfaces and names. */

enum { NX = 41, NY = 31 };

static void bowl(bool log, double *x, double *y, double *z)
{
    for (size_t i = 0; i < NX; i++)
        x[i] = log ? pow(10, -2 + 4.0 * (double)i / (NX - 1)) : -2 + 4.0 * (double)i / (NX - 1);
    for (size_t j = 0; j < NY; j++)
        y[j] = log ? pow(10, -1.5 + 3.0 * (double)j / (NY - 1)) : -1.5 + 3.0 * (double)j / (NY - 1);
    for (size_t j = 0; j < NY; j++)
        for (size_t i = 0; i < NX; i++) {
            const double u = log ? log10(x[i]) : x[i], v = log ? log10(y[j]) : y[j];
            z[j * NX + i] = u * u + v * v;
        }
}

/* The contour of u^2 + v^2 at r^2 is a circle; the error of a chord over a cell of h = 0.1 is at
 * most h^2 / 4 in u^2 + v^2 for each direction. */
START_TEST(contours_of_a_bowl_are_circles)
{
    static double x[NX], y[NY], z[NX * NY];
    for (int log = 0; log < 2; log++)
        for (double r = 0.35; r < 1.5; r += 0.37) {
            struct figure *f = figure_new("bowl", "", &err);
            bowl(log, x, y, z);
            f->x.log = f->y.log = log;
            const struct figure_surface of = { NX, NY, x, y, z };
            struct series *s = figure_add_contour(f, "", &of, r * r, &err);
            ck_assert_ptr_nonnull(s);
            ck_assert_uint_gt(s->n, 30);
            size_t gaps = 0;
            double length = 0;
            for (size_t i = 0; i < s->n; i++) {
                if (isnan(s->x[i])) {
                    gaps++;
                    continue;
                }
                const double u = log ? log10(s->x[i]) : s->x[i], v = log ? log10(s->y[i]) : s->y[i];
                ck_assert_double_le(fabs(u * u + v * v - r * r), 0.0051);
                if (i > 0 && !isnan(s->x[i - 1])) {
                    const double a = log ? log10(s->x[i - 1]) : s->x[i - 1];
                    const double b = log ? log10(s->y[i - 1]) : s->y[i - 1];
                    length += hypot(u - a, v - b);
                }
            }
            ck_assert_uint_eq(3 * gaps, s->n); /* segments of two points */
            ck_assert_double_le(fabs(length - 2 * M_PI * r), 0.02 * 2 * M_PI * r);
            figure_free(f);
        }
}
END_TEST

START_TEST(a_surface_is_shaded_by_its_height)
{
    static double x[NX], y[NY], z[NX * NY];
    struct figure *f = figure_new("slope", "", &err);
    struct figure_scale sc;
    struct buf b = { 0 };

    bowl(false, x, y, z);
    for (size_t j = 0; j < NY; j++)
        for (size_t i = 0; i < NX; i++)
            z[j * NX + i] = (double)i; /* rises to the right */
    const struct figure_surface of = { NX, NY, x, y, z };
    ck_assert_ptr_nonnull(figure_add_cells(f, "height", &of, &err));
    figure_scale(f, 8, 8, &sc);
    ck_assert_double_eq_tol(sc.xlo, -2.05, 1e-9); /* to the edges of the cells, no further */
    ck_assert_double_eq_tol(sc.xhi, 2.05, 1e-9);
    ck_assert_double_eq_tol(sc.yhi, 1.55, 1e-9);
    ck_assert_uint_eq(figure_dropped_for_tests(f), 0);
    figure_describe(f, &b);
    ck_assert_ptr_nonnull(
        strstr(b.s, "a surface of 41 x 31 values; lowest 0 at -2, -1.5; highest 40 at 2, -1.5."));
    buf_clear(&b);
    figure_csv(f, &b);
    ck_assert_ptr_nonnull(strstr(b.s, "1,height,-2,-1.5,0,\n"));
    ck_assert_ptr_nonnull(strstr(b.s, "1,height,2,1.5,40,\n"));
    /* Dots of the text picture, in quarters from the left. */
    const struct figure_style st = { .utf8 = true };
    struct frame fr;
    ck_assert_int_eq(figure_frame(f, 60, 20, &st, &fr, &err), ST_OK);
    size_t dots[4] = { 0 }, cells = 0;
    for (size_t r = 3; r < 16; r++)
        for (size_t c = 12; c < 52; c++) {
            const unsigned char *p = (const unsigned char *)fr.cell[r * fr.w + c].ch;
            const unsigned bits = p[0] == 0xe2 ? (unsigned)(p[1] & 3) << 6 | (p[2] & 63u) : 0;
            dots[(c - 12) / 10] += (size_t)__builtin_popcount(bits);
            cells++;
        }
    for (int q = 0; q < 3; q++)
        ck_assert_uint_gt(dots[q + 1], dots[q] + cells / 8);
    frame_free(&fr);
    buf_free(&b);
    figure_free(f);
}
END_TEST

/* Raised left of the middle, lowered right of it, one cell of nothing between: without a colour the
 * two are told apart in the frame, in the file and in words, and each word of the axis is there. */
START_TEST(a_signed_surface_is_told_without_colour)
{
    enum { W = 21, H = 21 };
    static double x[W], y[H], z[W * H];
    static char word[H][2];
    const char *name[H];
    struct figure *f = figure_new("row", "", &err);
    struct figure_scale sc;
    struct buf b = { 0 };
    size_t strokes = 0, seen[2][2] = { { 0, 0 }, { 0, 0 } };

    for (size_t i = 0; i < W; i++)
        x[i] = (double)i;
    for (size_t j = 0; j < H; j++) {
        y[j] = (double)j;
        word[j][0] = (char)('A' + j);
        name[j] = word[j];
        for (size_t i = 0; i < W; i++)
            z[j * W + i] = i < 10 ? 2.0 : i > 10 ? i == 20 ? -0.1 : -1.0 : 0.0;
    }
    const struct figure_surface of = { W, H, x, y, z };
    ck_assert_int_eq(figure_add_signed(f, "up", "down", &of, &err), ST_OK);
    ck_assert_int_eq(figure_names(&f->y, H, name, &err), ST_OK);
    figure_scale(f, 8, 24, &sc);
    ck_assert_uint_eq(sc.yt.n, H);
    /* One scale for both: half as dark as the other. */
    ck_assert_double_eq(figure_shade(&f->s[0], 0, 0, 0), 1.0);
    ck_assert_double_eq(figure_shade(&f->s[1], 11, 0, 0), -0.5);
    ck_assert(isnan(figure_shade(&f->s[0], 10, 0, 0)) && isnan(figure_shade(&f->s[1], 10, 0, 0)));
    for (int utf8 = 0; utf8 < 2; utf8++) {
        const struct figure_style st = { .utf8 = utf8 };
        struct frame fr;
        ck_assert_int_eq(figure_frame(f, 70, 40, &st, &fr, &err), ST_OK);
        for (size_t r = 4; r < 34; r++)
            for (size_t c = 6; c < 42; c++) {
                const char ch = fr.cell[r * fr.w + c].ch[0];
                seen[utf8][0] += ch == '+';
                seen[utf8][1] += ch == '-';
            }
        frame_free(&fr);
        ck_assert_uint_gt(seen[utf8][0], 300);
        ck_assert_uint_gt(seen[utf8][1], 200);
    }
    figure_svg(f, 800, 480, false, &b);
    char stroke[32];
    snprintf(stroke, sizeof stroke, "stroke=\"#%06x\"/>\n",
             figure_rgb(-1, false)); /* half as dark as the darkest: the text's */
    for (const char *p = b.s; (p = strstr(p, stroke)) != NULL; p++)
        strokes++;
    ck_assert_uint_eq(strokes, 9 * H); /* not those of a twentieth of the largest */
    buf_clear(&b);
    figure_gnuplot(f, "set term svg size 800,480", "x.svg", false, false, &b);
    ck_assert_ptr_nonnull(strstr(b.s, "$h1 << "));
    ck_assert_ptr_null(strstr(b.s, "$h0 << "));
    buf_clear(&b);
    figure_describe(f, &b);
    ck_assert_ptr_nonnull(strstr(b.s, "up: a surface of 21 x 21 values; highest 2 at 0, A."));
    ck_assert_ptr_nonnull(strstr(b.s, "down: a surface of 21 x 21 values; lowest -1 at 11, A."));
    buf_free(&b);
    figure_free(f);
}
END_TEST

START_TEST(names_stand_at_their_bars)
{
    const double y[] = { 3, 1, 2 };
    const char *const name[] = { "apples", "pears", "a very long name of a fruit" };
    struct figure *f = figure_of(MARK_BARS, 3, NULL, y, false, false), *copy;
    struct figure_scale sc;
    struct buf b = { 0 };

    ck_assert_int_eq(figure_names(&f->x, 3, name, &err), ST_OK);
    copy = figure_copy(f, &err);
    figure_free(f);
    figure_scale(copy, 8, 8, &sc);
    ck_assert_uint_eq(sc.xt.n, 3);
    ck_assert_str_eq(sc.xt.text[1], "pears");
    ck_assert_double_eq(sc.xt.at[1], 1);
    ck_assert_str_eq(sc.xt.text[2], "a very long na~");
    figure_scale(copy, 2, 8, &sc); /* no room: every second */
    ck_assert_uint_eq(sc.xt.n, 2);
    ck_assert_double_eq(sc.xt.at[1], 2);
    figure_describe(copy, &b);
    ck_assert_ptr_nonnull(strstr(b.s, "apples 3, pears 1, a very long name of a"));
    buf_clear(&b);
    figure_text(copy, 70, 16, false, &b);
    ck_assert_ptr_nonnull(strstr(b.s, "apples"));
    buf_free(&b);
    figure_free(copy);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("figure");
    const struct {
        const char *name;
        const TTest *test[9];
    } group[] = {
        {.name = "range",
         .test = {ranges_hold_the_data_and_ticks_read_true, ranges_for_whole_numbers,
                  ranges_given_are_kept, dropped_values_are_counted}},
        {.name = "thin",
         .test = {thinning_keeps_extremes_ends_and_gaps, thinning_a_cloud_keeps_its_shape}},
        {.name = "histogram", .test = {histogram_counts_everything_once}},
        {.name = "text",
         .test = {text_line_lies_on_the_line, text_names_its_curves, text_tells_classes_apart,
                  twelve_classes_have_twelve_signs, text_bars_have_their_heights,
                  text_survives_everything, memory_failures_are_told}},
        {.name = "csv", .test = {csv_reads_back_exactly}},
        {.name = "words",
         .test = {words_for_a_line, words_for_a_decay, words_for_knees_and_plateaus,
                  words_for_clouds, words_for_histograms, words_for_nothing}},
        {.name = "surfaces",
         .test = {contours_of_a_bowl_are_circles, a_surface_is_shaded_by_its_height,
                  a_signed_surface_is_told_without_colour, names_stand_at_their_bars}},
        {.name = "commands", .test = {quotes_hold, commands_hold_no_text_outside_quotes}},
    };
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_set_timeout(tc, 60);
        for (size_t j = 0; j < 8 && group[i].test[j]; j++)
            tcase_add_test(tc, group[i].test[j]);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
