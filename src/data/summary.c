/* data/summary.c -- columns in numbers: moments, quantiles, a histogram, distinct values; and
 * inputs that seem to give the target away. */
#include "data/dataset.h"

#include "data/radix_sort.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sorted numbers. */

/* Linear interpolation between order statistics, the default of NumPy. */
static double quantile(const double *v, size_t n, double p)
{
    double at = p * (double)(n - 1);
    size_t i = (size_t)at;
    double rest = at - (double)i;
    return i + 1 < n && rest > 0.0 ? v[i] + rest * (v[i + 1] - v[i]) : v[i];
}

static void summarise_sorted(const double *v, size_t n, struct col_summary *s)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    s->mean = sum / (double)n;
    s->unique = 1;
    for (size_t i = 0; i < n; i++) {
        squares += (v[i] - s->mean) * (v[i] - s->mean);
        s->unique += i > 0 && v[i] != v[i - 1];
    }
    s->sd = v[0] == v[n - 1] ? 0.0 : sqrt(squares / (double)n);
    s->min = s->bin_lo = v[0];
    s->max = s->bin_hi = v[n - 1];
    s->q25 = quantile(v, n, 0.25);
    s->median = quantile(v, n, 0.5);
    s->q75 = quantile(v, n, 0.75);
    if (s->bin_lo == s->bin_hi) {
        s->bin_lo -= 0.5;
        s->bin_hi += 0.5;
    }
    const double width = s->bin_hi - s->bin_lo;
    for (size_t i = 0; i < n; i++) {
        double share = (v[i] - s->bin_lo) / width * 20.0;
        s->bins[share < 19.0 ? (size_t)share : 19]++;
    }
}

/* Distinct cells. */

struct cell { const char *bytes; size_t n; };

static int by_bytes(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    const size_t n = x->n < y->n ? x->n : y->n;
    const int order = n > 0 ? memcmp(x->bytes, y->bytes, n) : 0;

    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

/* A cell's word, or its content if it has no word. Returns false if it is missing. */
static bool take_cell(const struct column *c, size_t row, struct cell *cell)
{
    if (column_missing(c, row))
        return false;
    if (c->type == COL_HELD && c->cells->word == NULL) {
        cell->bytes = c->cells->beside(c, row, &cell->n);
        return true;
    }
    cell->bytes = column_word(c, row);
    cell->n = strlen(cell->bytes);
    return true;
}

static enum status summarise_text(const struct column *c, const size_t *rows, size_t n,
                                  struct col_summary *s, struct err *err)
{
    struct cell *list = mem_calloc(n, sizeof *list, "a summary", err);
    if (list == NULL)
        return ST_NOMEM;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        m += take_cell(c, rows != NULL ? rows[i] : i, &list[m]);
    qsort(list, m, sizeof *list, by_bytes);
    for (size_t i = 0; i < m; i++)
        s->unique += i == 0 || by_bytes(&list[i], &list[i - 1]) != 0;
    s->missing = n - m;
    free(list);
    return ST_OK;
}

enum status column_summary(const struct table *t, size_t col, const size_t *rows, size_t n,
                           struct col_summary *s, struct err *err)
{
    const struct column *c = &t->col[col];
    n = rows != NULL ? n : t->n;
    *s = (struct col_summary){ .n = n, .unique_exact = true, .mean = NAN, .sd = NAN, .min = NAN,
                               .q25 = NAN, .median = NAN, .q75 = NAN, .max = NAN };
    if (c->type == COL_TEXT || c->type == COL_HELD)
        return summarise_text(c, rows, n, s, err);
    double *v = mem_calloc(n, sizeof *v, "a summary", err);
    if (v == NULL)
        return ST_NOMEM;
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = rows != NULL ? rows[i] : i;
        if (c->type == COL_REAL ? !isnan(column_at(c, row)) : c->code[row] != UINT32_MAX)
            v[m++] = c->type == COL_REAL ? column_at(c, row) : (double)c->code[row];
    }
    s->missing = n - m;
    spill_used(t->n * sizeof *v);
    enum status rc = m > 0 ? radix_sort(v, m, err) : ST_OK;
    if (rc == ST_OK && m > 0)
        summarise_sorted(v, m, s);
    free(v);
    return rc;
}

/* What may give the target away. */

enum { LEAK_ROWS = 20000, LEAK_GLANCE = 2000 }; /* rows examined; rows examined quickly */

struct pair {
    double x, y;
};

static int by_x(const void *a, const void *b)
{
    const struct pair *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

static double value_of(const struct column *c, size_t row)
{
    if (c->type == COL_REAL)
        return column_at(c, row);
    return c->type == COL_CATEGORY && c->code[row] != UINT32_MAX ? (double)c->code[row]
                                                                 : (double)NAN;
}

/* Sorted pairs of values from rows where both are known; at most `most` of n, evenly spaced. */
static size_t take_pairs(const struct column *x, const struct column *y, size_t n, size_t most,
                         struct pair *p)
{
    size_t step = n / most + 1, m = 0;
    for (size_t i = 0; i < n; i += step) {
        p[m] = (struct pair){ value_of(x, i), column_at(y, i) };
        m += !isnan(p[m].x) && !isnan(p[m].y);
    }
    /* The steps are smaller than what the system maps around each. */
    spill_used(n * sizeof(double));
    qsort(p, m, sizeof *p, by_x);
    return m;
}

enum leak { LEAK_NONE, LEAK_EQUAL, LEAK_LINEAR, LEAK_ORDER, LEAK_LEVELS };

/* True if Pearson's correlation is one up to rounding. */
static bool is_linear(const struct pair *p, size_t m)
{
    double mx = 0.0, my = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (size_t i = 0; i < m; i++) {
        mx += p[i].x / (double)m;
        my += p[i].y / (double)m;
    }
    for (size_t i = 0; i < m; i++) {
        xx += (p[i].x - mx) * (p[i].x - mx);
        yy += (p[i].y - my) * (p[i].y - my);
        xy += (p[i].x - mx) * (p[i].y - my);
    }
    return xx > 0.0 && yy > 0.0 && fabs(xy) / sqrt(xx * yy) > 1.0 - 1e-10;
}

static enum leak judge(const struct pair *p, size_t m, bool category)
{
    bool equal = true, up = true, down = true, function = true;
    size_t xs = m > 0;
    for (size_t i = 0; i < m; i++) {
        equal = equal && p[i].x == p[i].y;
        if (i == 0)
            continue;
        bool same = p[i].x == p[i - 1].x;
        xs += !same;
        function = function && (!same || p[i].y == p[i - 1].y);
        up = up && p[i].y >= p[i - 1].y && (same || p[i].y > p[i - 1].y);
        down = down && p[i].y <= p[i - 1].y && (same || p[i].y < p[i - 1].y);
    }
    if (m < 20 || xs < 2)
        return LEAK_NONE;
    if (category)
        return function && xs * 4 < m ? LEAK_LEVELS : LEAK_NONE;
    return equal ? LEAK_EQUAL : is_linear(p, m) ? LEAK_LINEAR
         : (up || down) && function && xs > 10 ? LEAK_ORDER : LEAK_NONE;
}

static void say_leak(const struct dataset *d, size_t col, enum leak leak, struct buf *notes)
{
    static const char *const words[] = {
        [LEAK_EQUAL] = "equals the target",
        [LEAK_LINEAR] = "is the target in other units",
        [LEAK_ORDER] = "orders the rows exactly as the target does",
        [LEAK_LEVELS] = "determines the target: each of its levels has one value of it",
    };
    if (leak == LEAK_NONE)
        return;
    buf_printf(notes, "warning[leak]: %s '", d->role[col] == ROLE_ID ? "identifier" : "input");
    text_safe(notes, d->table->col[col].name, 40);
    buf_printf(notes, "' %s: it may give the target away (cols NAME role=skip leaves it out)\n",
               words[leak]);
}

static enum status shared_rows(const struct dataset *d, struct buf *notes, struct err *err)
{
    if (d->split.part == NULL || d->split.count[PART_TEST] == 0)
        return ST_OK;
    if (table_is_out(d->table)) {
        buf_puts(notes, "note[leaks]: the table is on disk: test rows that equal a training row "
                        "were not looked for\n");
        return ST_OK;
    }
    bool *use = mem_calloc(d->table->ncols, sizeof *use, "columns", err);
    if (use == NULL)
        return ST_NOMEM;
    for (size_t j = 0; j < d->table->ncols; j++)
        use[j] = d->role[j] == ROLE_INPUT || d->role[j] == ROLE_TARGET;
    int64_t repeated, shared;
    enum status rc = table_repeats(d->table, use, d->split.part, NULL, &repeated, &shared, err);
    if (rc == ST_OK && shared > 0) {
        char a[32], b[32];
        text_count(a, sizeof a, (uint64_t)shared);
        text_count(b, sizeof b, d->split.count[PART_TEST]);
        buf_printf(notes, "warning[leak]: %s of %s test rows equal a training row, target "
                   "included\n", a, b);
    }
    free(use);
    return rc;
}

enum status summary_leaks(const struct dataset *d, bool whole, struct buf *notes, struct err *err)
{
    const struct table *t = d->table;
    const size_t most = whole ? LEAK_ROWS : LEAK_GLANCE;
    if (dataset_target(d) == SIZE_MAX)
        return ST_OK;
    struct pair *p = mem_calloc(most + 1, sizeof *p, "a summary", err);
    if (p == NULL)
        return ST_NOMEM;
    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        enum leak found = LEAK_NONE;
        if ((d->role[j] != ROLE_INPUT && d->role[j] != ROLE_ID) || c->type == COL_TEXT ||
            c->type == COL_HELD)
            continue;
        for (size_t y = 0; y < t->ncols && found == LEAK_NONE;
             y++) { /* with several targets one is enough */
            if (d->role[y] != ROLE_TARGET || t->col[y].type != COL_REAL)
                continue;
            const size_t m = take_pairs(c, &t->col[y], t->n, most, p);
            found = judge(p, m, c->type == COL_CATEGORY);
        }
        say_leak(d, j, found, notes);
    }
    free(p);
    return whole ? shared_rows(d, notes, err) : ST_OK;
}
