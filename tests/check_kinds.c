/* tests/check_kinds.c -- every kind of rows in the registry, by the example of its own row: its
 * cells are read, printed and copied, an encoding of them equals one computed here, or at least
 * says of equal cells the same and of others something else, and a session predicts the same bits
 * after it was opened again.  A new kind is taken up by itself. */
#include "data/dataset.h"
#include "data/kinds/kind.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 6, MOST = 16 };

static char *dir;

static void setup(void)
{
    dir = support_tmpdir();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", dir, 1), 0);
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", dir, 1), 0);
}

static void teardown(void)
{
    support_rmdir(dir);
}

static const struct row_kind *kind_or_end(int i)
{
    const struct row_kind *kind = kind_at((size_t)i);

    ck_assert_msg(kind->example != NULL, "%s has no example", kind->name);
    return kind;
}

/* Line i of the example; 0 is the name of the column. */
static char *line_of(const struct row_kind *kind, size_t i)
{
    const char *s = kind->example;

    while (i-- > 0)
        s += strcspn(s, "\n") + 1;
    char *line = strndup(s, strcspn(s, "\n"));
    ck_assert_ptr_nonnull(line);
    return line;
}

static size_t cells_of(const struct row_kind *kind)
{
    size_t n = 0;

    for (const char *s = kind->example; *s != '\0'; s++)
        n += *s == '\n';
    ck_assert_msg(n > 3 && n <= MOST, "%s has too few or too many examples", kind->name);
    return n - 1;
}

/* The cells again and again, beside a target; cell NULL: those of the example. */
static const char *write_file(const struct row_kind *kind, const struct table *cell)
{
    const char *path = support_path(dir, "kind.csv");
    const size_t n = cells_of(kind);
    char *name = line_of(kind, 0);
    struct splitmix r;
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    splitmix_init(&r, 5);
    fprintf(f, "%s,y\n", name);
    for (size_t i = 0; i < TIMES * n; i++) {
        struct buf b = { 0 };
        char *line = line_of(kind, 1 + i % n);
        if (cell != NULL)
            table_cell(cell, i, 0, &b);
        fprintf(f, "%s,%.6f\n", cell != NULL ? buf_str(&b) : line,
                (double)(i % n) + splitmix_normal(&r));
        free(line);
        buf_free(&b);
    }
    ck_assert_int_eq(fclose(f), 0);
    free(name);
    return path;
}

static struct table *read_file(const char *path)
{
    struct table *t = NULL;
    struct err err = { 0 };

    ck_assert_msg(import_file(path, NULL, NULL, &t, &err) == ST_OK, "%s", err.msg);
    return t;
}

static void same_cells(const struct table *a, const struct column *c, const struct column *d)
{
    for (size_t i = 0; i < a->n; i++) {
        struct buf x = { 0 }, y = { 0 };
        const char *s = table_column_text(c, i, &x), *u = table_column_text(d, i, &y);
        ck_assert((s == NULL) == (u == NULL) && column_missing(c, i) == column_missing(d, i));
        ck_assert(s == NULL || strcmp(s, u) == 0);
        if (c->type == COL_HELD && c->cells->beside != NULL) {
            size_t n, m;
            const void *p = c->cells->beside(c, i, &n), *q = d->cells->beside(d, i, &m);
            ck_assert(n == m && memcmp(p, q, n) == 0);
        }
        buf_free(&x);
        buf_free(&y);
    }
}

/* Does the text of a cell say all that it holds? */
static bool is_printed(const struct row_kind *kind)
{
    return kind->cells == NULL || kind->cells->print != NULL || kind->spelled;
}

START_TEST(cells_are_read_and_printed)
{
    const struct row_kind *kind = kind_or_end(_i);
    struct table *t = read_file(write_file(kind, NULL));
    struct err err = { 0 };

    ck_assert_str_eq(kind_of(&t->col[0])->name, kind->name);
    if (is_printed(kind)) {
        for (size_t i = 0; i < cells_of(kind); i++) {
            struct buf b = { 0 };
            char *line = line_of(kind, 1 + i);
            table_cell(t, i, 0, &b);
            ck_assert_str_eq(buf_str(&b), line);
            free(line);
            buf_free(&b);
        }
        struct table *u = read_file(write_file(kind, t));
        ck_assert_ptr_eq(kind_of(&u->col[0]), kind);
        same_cells(t, &t->col[0], &u->col[0]);
        table_unref(u);
    }
    if (kind->cells != NULL) {
        struct column copy = { 0 };
        ck_assert_int_eq(kind->cells->copy(&t->col[0], t->n, &copy, &err), ST_OK);
        ck_assert(copy.missing == t->col[0].missing && copy.cells == kind->cells);
        ck_assert_uint_eq(kind->cells->bytes(&copy, t->n), kind->cells->bytes(&t->col[0], t->n));
        same_cells(t, &t->col[0], &copy);
        table_column_clear(&copy);
    }
    table_unref(t);
}
END_TEST

/* The numbers of a cell as they should be, in the order of the encoding's columns; false: not known
 * here. */
static bool expected(const struct row_kind *kind, const struct enc_col *c, const char *const *cell,
                     size_t n, size_t row, double *x)
{
    double v[MOST], mean = 0.0, var = 0.0;

    for (size_t i = 0; i < n; i++) {
        size_t words = 1, these = 0;
        for (const char *s = cell[i]; *s != '\0'; s++)
            words += *s == ' ';
        if (kind == &kind_columns) { /* the level's indicator */
            v[i] = strcmp(cell[i], c->level) == 0;
        } else if (kind == &kind_letters) { /* "3K": is the third letter a K? */
            char *letter;
            const size_t p = strtoul(c->level, &letter, 10) - 1;
            v[i] = p < strlen(cell[i]) && cell[i][p] == *letter;
        } else if (kind == &kind_nodes) { /* how many; or the share of a label */
            const char *label = strchr(c->level, '=');
            const size_t len = label != NULL ? strlen(label + 1) : 0;
            for (const char *s = cell[i]; label != NULL; s += strcspn(s, " ") + 1) {
                these += strcspn(s, " ") == len && strncmp(s, label + 1, len) == 0;
                if (s[strcspn(s, " ")] == '\0')
                    break;
            }
            v[i] = label != NULL ? (double)these / (double)words : (double)words;
        } else {
            return false;
        }
        mean += v[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        var += (v[i] - mean) * (v[i] - mean) / (double)n;
    if (kind == &kind_columns) { /* one sd for all levels: sum p (1 - p), each cell is one */
        const double p = 1.0 / (double)n;
        *x = (v[row] - p) / sqrt((double)n * p * (1.0 - p));
    } else if (kind == &kind_letters) {
        *x = v[row];
    } else {
        *x = (v[row] - mean) / sqrt(var);
    }
    return true;
}

static void same_numbers(const struct encoding *e, const struct table *t, const double *x, size_t d)
{
    struct encoded f;
    struct err err = { 0 };
    size_t row[TIMES * MOST];

    for (size_t i = 0; i < t->n; i++)
        row[i] = t->n - 1 - i; /* in another order */
    ck_assert_int_eq(encode(e, t, row, t->n, false, &f, &err), ST_OK);
    ck_assert(f.n == t->n && f.base.d == d);
    for (size_t i = 0; i < t->n; i++) {
        double y[256];
        ck_assert_uint_le(d, 256);
        ck_assert_int_eq(f.base.rows(&f.base, i, i + 1, y, &err), ST_OK);
        ck_assert(memcmp(y, x + row[i] * d, d * sizeof *x) == 0);
    }
    encode_free(&f);
}

START_TEST(encodings_say_what_cells_hold)
{
    const struct row_kind *kind = kind_or_end(_i);
    struct table *t = read_file(write_file(kind, NULL));
    struct err err = { 0 };
    struct dataset *d = dataset_new(t, "kind", "y", &err);
    const size_t n = cells_of(kind);
    size_t train[TIMES * MOST];
    struct encoding e, again, copy;
    struct encoded f;
    char *cell[MOST];

    ck_assert_ptr_nonnull(d);
    for (size_t i = 0; i < t->n; i++)
        train[i] = i;
    for (size_t i = 0; i < n; i++)
        cell[i] = line_of(kind, 1 + i);
    ck_assert_msg(encoding_fit(d, train, t->n, &e, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_int_eq(encode(&e, t, NULL, t->n, false, &f, &err), ST_OK);
    ck_assert_uint_eq(f.n, t->n);
    const size_t wide = f.base.d;
    double *x = calloc(t->n * wide, sizeof *x);
    ck_assert_ptr_nonnull(x);
    ck_assert_int_eq(f.base.rows(&f.base, 0, t->n, x, &err), ST_OK);
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = 0; k < i; k++) /* equal cells have equal numbers, others have others */
            ck_assert_int_eq(memcmp(x + i * wide, x + k * wide, wide * sizeof *x) == 0,
                             i % n == k % n);
        for (size_t j = 0; j < wide; j++) {
            double want;
            ck_assert_ptr_eq(e.col[j].of, kind);
            if (expected(kind, &e.col[j], (const char *const *)cell, n, i % n, &want))
                ck_assert_msg(support_close(x[i * wide + j], want, 1e-12),
                              "%s row %zu, %s: %.17g is not %.17g", kind->name, i, e.col[j].level,
                              x[i * wide + j], want);
        }
    }
    char *json = encoding_to_json(&e, &err), *twice;
    ck_assert_msg(encoding_from_json(json, &again, &err) == ST_OK, "%s", err.msg);
    twice = encoding_to_json(&again, &err);
    ck_assert_str_eq(json, twice);
    ck_assert_int_eq(encoding_copy(&copy, &again, &err), ST_OK);
    same_numbers(&e, t, x, wide);
    same_numbers(&again, t, x, wide);
    encoding_free(&again);
    same_numbers(&copy, t, x, wide);
    encoding_free(&copy);
    free(json);
    free(twice);
    free(x);
    for (size_t i = 0; i < n; i++)
        free(cell[i]);
    encode_free(&f);
    encoding_free(&e);
    dataset_unref(d);
    table_unref(t);
}
END_TEST

static void predict(const char *session, const char *kernel, const char *out)
{
    struct desk desk;
    struct err err = { 0 };
    char line[512];

    ck_assert_int_eq(desk_open(&desk, support_path(dir, session), &err), ST_OK);
    if (kernel != NULL) {
        snprintf(line, sizeof line, "open %s target=y; kernel %s; fit %s",
                 support_path(dir, "kind.csv"), kernel,
                 strcmp(kernel, "tanimoto") == 0 ? "model=exact" : "features=64");
        ck_assert_msg(desk_run(&desk, line), "%s: %s", line, buf_str(&desk.said));
    }
    snprintf(line, sizeof line, "predict %s out=%s", support_path(dir, "kind.csv"),
             support_path(dir, out));
    ck_assert_msg(desk_run(&desk, line), "%s: %s", line, buf_str(&desk.said));
    desk_close(&desk);
}

static char *text_of(const char *name)
{
    FILE *f = fopen(support_path(dir, name), "r");
    struct buf b = { 0 };

    ck_assert_ptr_nonnull(f);
    for (int c; (c = getc(f)) != EOF;)
        buf_putc(&b, (char)c);
    fclose(f);
    return buf_take(&b);
}

START_TEST(sessions_predict_the_same)
{
    const struct row_kind *kind = kind_or_end(_i);
    const bool positions = (kind->rows & (ROWS_SYMBOLS | ROWS_VECTORS)) != 0;
    const bool counts = (kind->rows & ROWS_COUNTS) != 0;
    const char *const kernels[] = { "rbf", counts ? "tanimoto" : "conv(rbf,width=1)" };

    (void)write_file(kind, NULL);
    for (size_t k = 0; k < (positions || counts ? 2 : 1); k++) {
        char session[32];
        snprintf(session, sizeof session, "s%zu.gpd", k);
        predict(session, kernels[k], "a.csv");
        predict(session, NULL, "b.csv");
        char *a = text_of("a.csv"), *b = text_of("b.csv");
        ck_assert_uint_gt(strlen(a), 40);
        ck_assert_str_eq(a, b);
        free(a);
        free(b);
    }
}
END_TEST

/* The word of each type and of each number tells kinds apart. */
START_TEST(words_are_of_one_kind)
{
    for (size_t i = 0; kind_at(i) != NULL; i++) {
        const struct row_kind *a = kind_at(i);
        ck_assert_ptr_eq(kind_find(a->name), a);
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(a->name, kind_at(k)->name);
            ck_assert(a->cells == NULL || a->cells != kind_at(k)->cells);
        }
        /* letters and series share a word of old; all others are their own */
        for (size_t m = 0; a->mark == NULL && a->numbers != NULL && a->numbers[m].word; m++)
            for (size_t k = 0; kind_at(k) != NULL; k++) {
                unsigned number;
                ck_assert(k == i || !kind_number_find(kind_at(k), a->numbers[m].word, &number));
            }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kinds");
    TCase *tc = tcase_create("kinds");
    int n = 0;

    while (kind_at((size_t)n) != NULL)
        n++;
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, cells_are_read_and_printed, 0, n);
    tcase_add_loop_test(tc, encodings_say_what_cells_hold, 0, n);
    tcase_add_loop_test(tc, sessions_predict_the_same, 0, n);
    tcase_add_test(tc, words_are_of_one_kind);
    suite_add_tcase(s, tc);
    return support_run(s);
}
