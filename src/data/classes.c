/* data/classes.c -- the two classes of a target. See classes.h. */
#include "data/classes.h"

#include "data/dataset.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = TARGETS_MOST, SHOWN = 8 }; /* different values that are counted; that are named */

/* Different values of a column with how often each occurs. */
struct counts {
    size_t n;
    bool more; /* there are others that were not counted */
    char *level[KEPT];
    size_t count[KEPT];
};

static void counts_free(struct counts *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->level[i]);
}

/* Counts one cell; false: no memory. */
static bool count_cell(struct counts *c, const char *cell)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->level[i], cell) == 0) {
            c->count[i]++;
            return true;
        }
    if (c->n == KEPT) {
        c->more = true;
        return true;
    }
    c->level[c->n] = mem_strdup(cell, NULL);
    if (c->level[c->n] == NULL)
        return false;
    c->count[c->n++] = 1;
    return true;
}

/* The rows of each level of a category. */
static bool count_levels(const struct table *t, const struct column *y, struct counts *c)
{
    size_t *rows = mem_calloc(y->nlevels + 1, sizeof *rows, "classes", NULL);
    bool good = rows != NULL;

    for (size_t i = 0; good && i < t->n; i++)
        if (y->code[i] < y->nlevels)
            rows[y->code[i]]++;
    for (size_t k = 0; good && k < y->nlevels && !c->more; k++) {
        if (rows[k] == 0)
            continue;
        good = count_cell(c, y->level[k]);
        if (good && !c->more)
            c->count[c->n - 1] = rows[k];
    }
    free(rows);
    return good;
}

/* Runs over equal numbers are counted at once: the text of a cell is made when it changes. */
static bool count_column(const struct table *t, size_t col, struct counts *c)
{
    const struct column *y = &t->col[col];
    struct buf cell = { 0 };
    size_t last = SIZE_MAX;
    bool good = true;

    if (y->type == COL_CATEGORY)
        return count_levels(t, y, c);
    for (size_t i = 0; good && i < t->n && !c->more; i++) {
        if (column_missing(y, i))
            continue;
        if (last != SIZE_MAX && y->type == COL_REAL && column_at(y, i) == column_at(y, last)) {
            good = count_cell(c, buf_str(&cell));
            continue;
        }
        buf_clear(&cell);
        table_cell(t, i, col, &cell);
        last = i;
        good = count_cell(c, buf_str(&cell));
    }
    buf_free(&cell);
    return good;
}

/* Most frequent first; equal ones in the order in which they occur. */
static void sort_counts(struct counts *c)
{
    for (size_t i = 1; i < c->n; i++)
        for (size_t j = i; j > 0 && c->count[j] > c->count[j - 1]; j--) {
            char *level = c->level[j];
            const size_t count = c->count[j];
            c->level[j] = c->level[j - 1], c->count[j] = c->count[j - 1];
            c->level[j - 1] = level, c->count[j - 1] = count;
        }
}

static void print_counts(const struct counts *c, struct buf *out)
{
    for (size_t i = 0; i < c->n && i < SHOWN; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        text_safe(out, c->level[i], 40);
        buf_printf(out, " (%zu)", c->count[i]);
    }
    buf_puts(out, c->n > SHOWN || c->more ? ", ..." : "");
}

void classes_counts(const struct table *t, size_t col, struct buf *out)
{
    struct counts c = { .n = 0 };

    if (count_column(t, col, &c)) {
        sort_counts(&c);
        print_counts(&c, out);
    }
    counts_free(&c);
}

static enum status not_two(const struct dataset *d, size_t col, const struct counts *c,
                           struct err *err)
{
    char name[64];
    struct buf list = { 0 };

    print_counts(c, &list);
    if (c->more)
        err_named(err, ST_STATE, "classes", "the target %s has more than %d different values: %s",
                  text_quoted(d->table->col[col].name, name, sizeof name), KEPT, buf_str(&list));
    else
        err_named(err, ST_STATE, "classes",
                  "two classes need a target of exactly two values; %s has %zu: %s",
                  text_quoted(d->table->col[col].name, name, sizeof name), c->n, buf_str(&list));
    err_hint(err, c->n > 2 && c->n <= SHOWN ? "where %.60s!='%.40s'  |  likelihood gaussian"
                                            : "likelihood gaussian  |  cols NAME role=target",
             d->table->col[col].name, c->n > 0 ? c->level[c->n - 1] : "");
    buf_free(&list);
    return ST_STATE;
}

/* Which of two values is the positive one: 0 or 1 of the counts, or 2: `positive` is neither. */
static size_t positive_of(const struct dataset *d, const struct column *y, const struct counts *c)
{
    if (d->positive != NULL)
        return strcmp(c->level[0], d->positive) == 0 ? 0
               : strcmp(c->level[1], d->positive) == 0 ? 1 : 2;
    if (y->type == COL_REAL)
        return strtod(c->level[0], NULL) > strtod(c->level[1], NULL) ? 0 : 1;
    return 1; /* sorted: the rarer one */
}

static enum status take_levels(const struct dataset *d, size_t col, struct counts *c,
                               char *level[2], struct err *err)
{
    const struct column *y = &d->table->col[col];
    char name[64], word[64];

    sort_counts(c);
    if (c->n != 2 || c->more)
        return not_two(d, col, c, err);
    const size_t positive = positive_of(d, y, c);
    if (positive == 2) {
        struct buf list = { 0 };
        print_counts(c, &list);
        err_named(err, ST_STATE, "classes", "positive=%s is no value of %s, which has %s",
                  text_quoted(d->positive, word, sizeof word),
                  text_quoted(y->name, name, sizeof name), buf_str(&list));
        err_hint(err, "likelihood bernoulli positive=%.60s", c->level[1]);
        buf_free(&list);
        return ST_STATE;
    }
    level[0] = mem_strdup(c->level[1 - positive], err);
    level[1] = mem_strdup(c->level[positive], err);
    if (level[0] != NULL && level[1] != NULL)
        return ST_OK;
    free(level[0]), free(level[1]);
    level[0] = level[1] = NULL;
    return ST_NOMEM;
}

static enum status one_target(const struct dataset *d, struct err *err)
{
    if (dataset_targets(d) == 1)
        return ST_OK;
    err_named(err, ST_STATE, "classes", dataset_targets(d) > 1
              ? "classes are one target; the data has %zu"
              : "the data has no target", dataset_targets(d));
    err_hint(err, "cols NAME role=target  |  likelihood gaussian");
    return ST_STATE;
}

static enum status not_several(const struct dataset *d, size_t col, const struct counts *c,
                               struct err *err)
{
    char name[64];
    struct buf list = { 0 };

    print_counts(c, &list);
    err_named(err, ST_STATE, "classes", c->more
              ? "the target %s has more than %d different values: %s"
              : "the target %s has fewer than two of at most %d different values: %s",
              text_quoted(d->table->col[col].name, name, sizeof name), TARGETS_MOST,
              buf_str(&list));
    err_hint(err, "likelihood gaussian  |  cols NAME role=target");
    buf_free(&list);
    return ST_STATE;
}

enum status classes_find(const struct dataset *d, char *level[2], struct err *err)
{
    const size_t col = dataset_target(d);
    struct counts c = { .n = 0 };
    enum status rc = one_target(d, err);

    level[0] = level[1] = NULL;
    if (rc == ST_OK)
        rc = count_column(d->table, col, &c) ? ST_OK : err_nomem(err, 64, "the classes");
    if (rc == ST_OK)
        rc = take_levels(d, col, &c, level, err);
    counts_free(&c);
    return rc;
}

/* Different numbers, up to CLASSES_FEW. */
static void count_numbers(const struct table *t, const struct column *y, struct classes_look *look)
{
    double seen[CLASSES_FEW];

    for (size_t i = 0; i < t->n && !look->more; i++) {
        const double v = column_at(y, i);
        size_t k = 0;
        while (k < look->levels && seen[k] != v)
            k++;
        if (isnan(v) || k < look->levels)
            continue;
        look->more = look->levels == CLASSES_FEW;
        if (!look->more)
            seen[look->levels++] = v;
    }
}

enum status classes_look(const struct dataset *d, struct classes_look *look, struct err *err)
{
    const size_t col = dataset_targets(d) == 1 ? dataset_target(d) : SIZE_MAX;
    const struct column *y = col != SIZE_MAX ? &d->table->col[col] : NULL;
    struct counts c = { .n = 0 };
    enum status rc = ST_OK;

    *look = (struct classes_look){ .levels = 0 };
    if (!y || y->type == COL_HELD)
        return ST_OK;
    look->words = y->type != COL_REAL;
    look->whole = y->type == COL_REAL && y->integers;
    if (look->whole)
        count_numbers(d->table, y, look);
    if (!look->words)
        return ST_OK;
    rc = count_column(d->table, col, &c) ? ST_OK : err_nomem(err, 64, "the classes");
    look->levels = c.n;
    look->more = c.more;
    counts_free(&c);
    return rc;
}

/* For qsort: words by their bytes, numbers by their values. */
static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_value(const void *a, const void *b)
{
    const double x = strtod(*(char *const *)a, NULL), y = strtod(*(char *const *)b, NULL);

    return x < y ? -1 : x > y;
}

enum status classes_list(const struct dataset *d, char ***level, size_t *n, struct err *err)
{
    const size_t col = dataset_target(d);
    struct counts c = { .n = 0 };
    enum status rc = one_target(d, err);

    *level = NULL;
    *n = 0;
    if (rc == ST_OK && !count_column(d->table, col, &c))
        rc = err_nomem(err, 64, "the classes");
    if (rc == ST_OK && (c.n < 2 || c.more)) {
        sort_counts(&c);
        rc = not_several(d, col, &c, err);
    }
    if (rc == ST_OK)
        *level = mem_calloc(c.n, sizeof **level, "the classes", err);
    if (*level == NULL) {
        counts_free(&c);
        return rc == ST_OK ? ST_NOMEM : rc;
    }
    memcpy(*level, c.level, c.n * sizeof **level); /* they are handed on */
    *n = c.n;
    qsort(*level, *n, sizeof **level,
          d->table->col[col].type == COL_REAL ? by_value : by_bytes);
    return ST_OK;
}

static int number_against(const void *v, const void *level)
{
    const double x = *(const double *)v, y = strtod(*(char *const *)level, NULL);

    return x < y ? -1 : x > y;
}

static int word_against(const void *word, const void *level)
{
    return strcmp(word, *(char *const *)level);
}

double classes_label(const struct encoding *e, const struct column *c, size_t row)
{
    char *const *at = NULL;
    struct buf room = { 0 };

    if (column_missing(c, row))
        return NAN;
    const double v = c->type == COL_REAL ? column_at(c, row) : NAN;
    const char *word = c->type == COL_REAL ? NULL : table_column_text(c, row, &room);
    const void *key = c->type == COL_REAL ? (const void *)&v : word;
    int (*against)(const void *, const void *) = c->type == COL_REAL ? number_against
                                                                       : word_against;
    if (key && e->alpha > 0.0)
        at = bsearch(key, e->classes, e->nclasses, sizeof *e->classes, against);
    for (size_t k = 0; key && e->alpha == 0.0 && k < e->nclasses && !at; k++) /* in no order */
        at = against(key, &e->classes[k]) == 0 ? &e->classes[k] : NULL;
    buf_free(&room);
    return at ? (double)(at - e->classes) : NAN;
}
