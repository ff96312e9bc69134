/* ui/views/data.c -- view 1: the table as it was read, the summary of a column, or its
 * distribution. */
#include "ui/views/figures.h"

#include "data/calendar.h"
#include "data/kinds/kind.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 11, SAMPLE = 200000 };  /* columns of a cell; number of rows that a summary samples */

struct data_state {
    size_t row, col;                    /* first visible row; column under the cursor */
    size_t at;                          /* row under the cursor */
    size_t *order; size_t norder;       /* sorted rows; NULL: the order of the file */
    const struct table *ordered;        /* the table that `order` belongs to */
    int sort;                           /* column + 1; negative: descending */
    size_t first;                       /* first visible column */
    bool plot;
    const struct table *of;             /* the table that the cached summary belongs to */
    size_t of_col;
    bool have, sampled;
    struct col_summary sum;
};

static struct dataset *current(const struct view *v)
{
    const struct workspace *ws = v->desk->ws;
    return ws->cur < ws->ndata ? ws->data[ws->cur] : NULL;
}

static void cell_text(const struct column *c, size_t i, char *out, size_t len)
{
    const char *missing = "NA";
    struct buf word = { 0 }, b = { 0 };
    if (c->type == COL_REAL && isnan(column_at(c, i))) {
        buf_puts(&b, missing);
    } else if (c->type == COL_REAL && c->date) {
        calendar_print(column_at(c, i), &b);
    } else if (c->type == COL_REAL) {
        buf_printf(&b, "%.7g", column_at(c, i));
    } else {
        const char *s = table_column_glance(c, i, CELL - 1, &word);
        text_safe(&b, s ? s : missing, CELL - 1);
    }
    snprintf(out, len, "%s", buf_str(&b));
    buf_free(&word);
    buf_free(&b);
}

/* The cached summary of a column. For very many rows it is of a regular sample, so that moving the
 * cursor never waits. */
static const struct col_summary *summary(struct data_state *s, const struct dataset *d, size_t col)
{
    if (s->of == d->table && s->of_col == col)
        return s->have ? &s->sum : NULL;
    size_t n = d->table->n, *rows = NULL;
    s->of = d->table;
    s->of_col = col;
    s->sampled = n > SAMPLE;
    if (s->sampled) {
        rows = malloc(SAMPLE * sizeof *rows);
        if (!rows)
            return s->have = false, NULL;
        for (size_t i = 0; i < SAMPLE; i++)
            rows[i] = (size_t)((double)i * (double)n / SAMPLE);
        n = SAMPLE;
    }
    struct err err;
    s->have = column_summary(d->table, col, rows, n, &s->sum, &err) == ST_OK;
    free(rows);
    return s->have ? &s->sum : NULL;
}

static void spark(const struct col_summary *c, struct buf *b)
{
    size_t top = 1;
    for (size_t i = 0; i < 20; i++)
        top = c->bins[i] > top ? c->bins[i] : top;
    for (size_t i = 0; i < 20; i++) {
        size_t k = c->bins[i] * 8 / top;
        buf_puts(b, c->bins[i] ? theme_glyph.spark[k > 7 ? 7 : k] : " ");
    }
}

static const char *type_name(const struct column *c)
{
    return c->type == COL_REAL && c->integers ? "whole" : kind_type(c);
}

static void draw_summary(struct view *v, const struct canvas *c, const struct dataset *d)
{
    struct data_state *s = v->state;
    const struct column *col = &d->table->col[s->col];
    struct buf b = { 0 };
    char a[6][32];
    text_safe(&b, col->name, 30);
    int x = draw_text(c, 0, 1, theme_attr(R_COLUMN), buf_str(&b)) + 2;
    buf_clear(&b);
    buf_printf(&b, "%s %s, %s missing", type_name(col), dataset_role_name(d->role[s->col]),
               (text_count(a[0], sizeof a[0], col->missing), a[0]));
    const struct col_summary *m = summary(s, d, s->col);
    if (col->type == COL_CATEGORY) {
        text_count(a[0], sizeof a[0], col->nlevels);
        buf_printf(&b, ", %s levels", a[0]);
    } else if (m) {
        text_count(a[0], sizeof a[0], m->unique);
        buf_printf(&b, ", %s%s distinct", m->unique_exact ? "" : "about ", a[0]);
    }
    if (s->sampled) {
        text_count(a[0], sizeof a[0], SAMPLE);
        buf_printf(&b, "  (of a sample of %s rows)", a[0]);
    }
    draw_text(c, 0, x, theme_attr(R_TEXT), buf_str(&b));
    buf_clear(&b);
    if (m && col->type == COL_REAL) {
        const double q[6] = { m->mean, m->sd, m->min, m->median, m->max, 0 };
        for (size_t i = 0; i < 5; i++)
            snprintf(a[i], sizeof a[i], "%.6g", q[i]);
        buf_printf(&b, "mean %s  sd %s  min %s  median %s  max %s", a[0], a[1], a[2], a[3], a[4]);
        int used = draw_text(c, 1, 1, theme_attr(R_TEXT), buf_str(&b));
        buf_clear(&b);
        spark(m, &b);
        if (c->w - used > 26)
            draw_text(c, 1, used + 4, theme_attr(R_ACCENT), buf_str(&b));
    } else if (col->type == COL_CATEGORY) {
        buf_puts(&b, "levels: ");
        for (size_t i = 0; i < col->nlevels && b.len < 160; i++) {
            buf_puts(&b, i ? ", " : "");
            text_safe(&b, col->level[i], 20);
        }
        draw_text(c, 1, 1, theme_attr(R_TEXT), buf_str(&b));
    } else if (kind_of(col)->measure) {
        kind_of(col)->measure(col, &b);
        draw_text(c, 1, 1, theme_attr(R_TEXT), buf_str(&b));
    }
    buf_free(&b);
}

/* Sorted rows. */

static size_t row_at(const struct data_state *s, size_t i)
{
    return s->order && i < s->norder ? s->order[i] : i;
}

static void forget_order(struct data_state *s)
{
    free(s->order);
    s->order = NULL;
    s->norder = 0;
    s->sort = 0;
    s->ordered = NULL;
}

struct key { double x; const char *s; size_t row; };

static int by_key(const void *a, const void *b)
{
    const struct key *p = a, *q = b;
    int c = p->s && q->s ? strcmp(p->s, q->s) : p->s || q->s ? (p->s ? -1 : 1)
          : isnan(p->x) || isnan(q->x) ? isnan(p->x) - isnan(q->x) : p->x < q->x ? -1 : p->x > q->x;
    return c ? c : p->row < q->row ? -1 : 1;
}

static struct key key_of(const struct column *c, size_t i)
{
    struct key k = { NAN, NULL, i };
    if (c->type == COL_REAL)
        k.x = column_at(c, i);
    else
        k.s = column_word(c, i);
    return k;
}

/* Sorts tables that are small enough to be sorted between two keys. */
static void sort_rows(struct view *v, const struct dataset *d)
{
    struct data_state *s = v->state;
    const struct table *t = d->table;
    const int by =
        s->ordered == t && s->sort == (int)s->col + 1 ? -((int)s->col + 1) : (int)s->col + 1;
    const bool off = s->ordered == t && s->sort == -((int)s->col + 1);
    forget_order(s);
    if (off)
        return;
    if (t->n > SAMPLE) {
        logbook_add(&v->desk->log, LOG_NOTE,
                    "tables of more than 200,000 rows are shown in their own "
                    "order; summary and plot columns say how values lie");
        return;
    }
    struct key *k = malloc((t->n + 1) * sizeof *k);
    s->order = malloc((t->n + 1) * sizeof *s->order);
    if (k && s->order) {
        for (size_t i = 0; i < t->n; i++)
            k[i] = key_of(&t->col[s->col], i);
        qsort(k, t->n, sizeof *k, by_key);
        for (size_t i = 0; i < t->n; i++)
            s->order[i] = k[by > 0 ? i : t->n - 1 - i].row;
        s->norder = t->n;
        s->ordered = t;
        s->sort = by;
        s->at = s->row = 0;
    }
    free(k);
}

/* The cursor and the order may be those of a table that is gone: commands change the data while the
 * view is hidden or shows a plot.  NULL: there is no cell to be at. */
static const struct dataset *settled(const struct view *v)
{
    struct data_state *s = v->state;
    const struct dataset *d = current(v);
    const struct table *t = d ? d->table : NULL;

    if (!t || t->ncols == 0)
        return NULL;
    if (s->ordered && (s->ordered != t || s->norder != t->n))
        forget_order(s);
    if (s->at >= t->n)
        s->at = t->n ? t->n - 1 : 0;
    if (s->row >= t->n)
        s->row = s->at;
    if (s->col >= t->ncols)
        s->col = t->ncols - 1;
    if (s->first > s->col)
        s->first = s->col;
    return d;
}

/* Keeps the current cell visible, given the rows of the page and the columns that fit. */
static void keep_in_view(struct data_state *s, const struct table *t, size_t rows, size_t fit)
{
    if (s->at < s->row)
        s->row = s->at;
    if (s->at >= s->row + rows)
        s->row = s->at - rows + 1;
    if (s->row + rows > t->n)
        s->row = t->n > rows ? t->n - rows : 0;
    if (s->col < s->first)
        s->first = s->col;
    if (s->col >= s->first + fit)
        s->first = s->col - fit + 1;
}

/* Draws the heading of a column: an arrow before the target, # before a column that is no input, <
 * or > if it is sorted by. */
static void draw_head(const struct data_state *s, const struct canvas *c, const struct dataset *d,
                      size_t j, int x)
{
    struct buf b = { 0 };
    if (d->role[j] == ROLE_TARGET)
        buf_puts(&b, theme_glyph.arrow);
    else if (d->role[j] != ROLE_INPUT)
        buf_puts(&b, "#");
    text_safe(&b, d->table->col[j].name, CELL - 2);
    if (abs(s->sort) == (int)j + 1)
        buf_puts(&b, s->sort > 0 ? "<" : ">");
    draw_field(c, 0, x, CELL - 1, true, theme_attr(j == s->col ? R_SELECT : R_COLUMN), buf_str(&b));
    buf_free(&b);
}

static void draw_cell(const struct view *v, const struct canvas *c, const struct dataset *d,
                      size_t row, size_t j, bool on, int y, int x)
{
    const struct data_state *s = v->state;
    const struct column *col = &d->table->col[j];
    char a[64];
    enum role role = d->role[j] == ROLE_TARGET  ? R_ACCENT
                     : d->role[j] == ROLE_INPUT ? R_TEXT
                                                : R_DIM;
    cell_text(col, row, a, sizeof a);
    if (on && j == s->col && v->desk->focus == FOCUS_VIEW)
        role = R_SELECT;
    draw_field(c, y, x, CELL - 1, col->type == COL_REAL, theme_attr(role), a);
}

static void draw_table(struct view *v, const struct canvas *c, const struct dataset *d)
{
    struct data_state *s = v->state;
    const struct table *t = d->table;
    char a[64];
    const int foot = c->h >= 7 ? 3 : 0, rows = c->h - 1 - foot;
    text_count(a, sizeof a, t->n);
    const int numw = (int)strlen(a) < 4 ? 4 : (int)strlen(a),
              left = numw + 2 + (d->split.part ? 6 : 0);
    const size_t fit = c->w > left + CELL ? (size_t)((c->w - left) / CELL) : 1;
    if (rows < 1)
        return;
    v->page = rows;
    keep_in_view(s, t, (size_t)rows, fit);
    draw_field(c, 0, 0, numw, true, theme_attr(R_DIM), "row");
    if (d->split.part)
        draw_text(c, 0, numw + 2, theme_attr(R_DIM), "part");
    for (size_t j = s->first; j < t->ncols && j < s->first + fit; j++)
        draw_head(s, c, d, j, left + (int)(j - s->first) * CELL);
    for (int i = 0; i < rows && s->row + (size_t)i < t->n; i++) {
        const size_t r = row_at(s, s->row + (size_t)i);
        const bool on = s->row + (size_t)i == s->at;
        text_count(a, sizeof a, r + 1);
        draw_field(c, i + 1, 0, numw, true, theme_attr(on ? R_TEXT : R_DIM), a);
        if (d->split.part)
            draw_text(c, i + 1, numw + 2, theme_attr(R_DIM),
                      dataset_part_words[d->split.part[r] % PART_LEFT]);
        for (size_t j = s->first; j < t->ncols && j < s->first + fit; j++)
            draw_cell(v, c, d, r, j, on, i + 1, left + (int)(j - s->first) * CELL);
    }
    if (foot) {
        draw_fill(c, c->h - 3, 0, c->w, theme_attr(R_RULE), theme_glyph.h);
        struct canvas in = draw_inner(c, c->h - 2, 0, 2, c->w);
        draw_summary(v, &in, d);
    }
}

static void data_draw(struct view *v, const struct canvas *c)
{
    struct data_state *s = v->state;
    const struct dataset *d = settled(v);
    if (!d) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No data yet. Type  open FILE.csv target=NAME  or  demo co2  below.");
        return;
    }
    if (s->plot || v->second) {
        struct figures_request q = { v->desk, "columns", NULL, NULL, false };
        uint64_t stamp = (uint64_t)(uintptr_t)d->table * 31 + (uint64_t)(uintptr_t)d->split.part;
        plotpane_draw(v->plot, c, 1, stamp, figures_make, &q, desk_now());
    } else {
        draw_table(v, c, d);
    }
}

static bool data_act(struct view *v, enum act act)
{
    struct data_state *s = v->state;
    const struct dataset *d = settled(v);
    if (!d)
        return false;
    size_t page = v->page > 1 ? (size_t)v->page - 1 : 1, n = d->table->n;
    switch (act) {
    case ACT_PLOT_HERE: s->plot = !s->plot; return true;
    case ACT_UP: s->at -= s->at > 0; return true;
    case ACT_DOWN: s->at += s->at + 1 < n; return true;
    case ACT_LEFT: s->col -= s->col > 0; return true;
    case ACT_RIGHT: s->col += s->col + 1 < d->table->ncols; return true;
    case ACT_PGUP: s->at -= s->at > page ? page : s->at; return true;
    case ACT_PGDN: s->at = s->at + page < n ? s->at + page : n ? n - 1 : 0; return true;
    case ACT_TOP: s->at = 0; return true;
    case ACT_END: s->at = n ? n - 1 : 0; return true;
    case ACT_SORT: sort_rows(v, d); return true;
    default: return false;
    }
}

/* Finds the next cell, downwards or upwards, whose text contains the word, among rows that are near
 * enough. */
static bool data_find(struct view *v, const char *what, int dir)
{
    struct data_state *s = v->state;
    const struct dataset *d = settled(v);
    if (!d || s->plot)
        return false;
    for (size_t j = 0; j < d->table->ncols; j++)     /* column names first */
        if (strcasecmp(d->table->col[j].name, what) == 0 && s->col != j) {
            s->col = j;
            return true;
        }
    const size_t n = d->table->n, most = n < 50000 ? n : 50000;
    for (size_t k = 1; k < most; k++) {
        const size_t i = dir > 0 ? (s->at + k) % n : (s->at + n - k) % n;
        for (size_t j = 0; j < d->table->ncols && j < 64; j++) {
            char a[64];
            struct buf room = { 0 };
            const struct column *c = &d->table->col[j];
            const char *word = c->type == COL_REAL /* the whole text, not the part that is shown */
                                   ? NULL : table_column_text(c, row_at(s, i), &room);
            if (!word)
                cell_text(c, row_at(s, i), a, sizeof a);
            const bool found = strcasestr(word ? word : a, what) != NULL;
            buf_free(&room);
            if (found) {
                s->at = i;
                s->col = j;
                return true;
            }
        }
    }
    return false;
}

/* Copies the visible part of the table as CSV: as many rows as the pane shows. */
static bool data_copy(struct view *v, bool all, struct buf *b)
{
    struct data_state *s = v->state;
    const struct dataset *d = settled(v);
    struct buf cell = { 0 };
    if (!d)
        return false;
    if (s->plot || v->second)
        return figures_copy(v, all, b);
    const struct table *t = d->table;
    if (!all) {
        /* The whole text, not the part that fits into the pane. */
        table_cell(t, row_at(s, s->at), s->col, b);
        return true;
    }
    for (size_t j = 0; j < t->ncols; j++) {
        buf_puts(b, j ? "," : "");
        text_csv(b, t->col[j].name);
    }
    for (int i = 0; i < v->page && s->row + (size_t)i < t->n; i++)
        for (size_t j = 0; j < t->ncols; j++) {
            buf_clear(&cell);
            table_cell(t, row_at(s, s->row + (size_t)i), j, &cell);
            buf_puts(b, j ? "," : "\n");
            text_csv(b, buf_str(&cell));
        }
    buf_putc(b, '\n');
    buf_free(&cell);
    return true;
}

static void data_click(struct view *v, int row, int col)
{
    struct data_state *s = v->state;
    const struct dataset *d = settled(v);
    char a[32];
    if (!d || s->plot)
        return;
    text_count(a, sizeof a, d->table->n);
    const int left = (strlen(a) < 4 ? 4 : (int)strlen(a)) + 2 + (d->split.part ? 6 : 0);
    if (row > 0 && row <= v->page && s->row + (size_t)row - 1 < d->table->n)
        s->at = s->row + (size_t)row - 1;
    if (col >= left && s->first + (size_t)((col - left) / CELL) < d->table->ncols)
        s->col = s->first + (size_t)((col - left) / CELL);
}

static void data_plot(const struct view *v, struct buf *b)
{
    (void)v;
    buf_puts(b, "columns");
}

static void data_show(struct view *v, const char *plot, const char *run)
{
    (void)plot, (void)run;
    ((struct data_state *)v->state)->plot = true;
}

static void data_verdict(struct view *v, struct buf *b)
{
    struct data_state *s = v->state;
    const struct dataset *d = current(v);
    char a[4][32];
    if (!d)
        return;
    if (s->plot) {
        figures_verdict(v, b);
        return;
    }
    size_t inputs = 0;
    for (size_t j = 0; j < d->table->ncols; j++)
        inputs += d->role[j] == ROLE_INPUT;
    text_count(a[0], sizeof a[0], d->table->n);
    text_safe(b, d->name, 30);
    buf_printf(b, ": %s rows, %zu input%s", a[0], inputs, inputs == 1 ? "" : "s");
    if (d->split.part) {
        for (size_t i = 0; i < 3; i++)
            text_count(a[i], sizeof a[i], d->split.count[i]);
        buf_printf(b, "; train %s, test %s", a[PART_TRAIN], a[PART_TEST]);
        if (d->split.count[PART_VALID])
            buf_printf(b, ", valid %s", a[PART_VALID]);
        if (d->split.count[PART_LEFT])
            buf_printf(b, ", %zu set aside", d->split.count[PART_LEFT]);
    } else {
        buf_puts(b, "; no split yet, all rows train");
    }
    if (d->table->missing) {
        text_count(a[3], sizeof a[3], d->table->missing);
        buf_printf(b, "; %s cells missing", a[3]);
    }
    buf_putc(b, '.');
}

static void data_title(struct view *v, struct buf *b)
{
    struct data_state *s = v->state;
    const struct dataset *d = current(v);
    if (!d)
        return;
    buf_puts(b, ": ");
    text_safe(b, d->name, 30);
    if (s->plot || v->second)
        buf_puts(b, ", shape of the columns");
}

static const struct keyrow keys[] = {
    {"p", ACT_PLOT_HERE, "plot", "the table, or the shape of its columns", NULL, 0},
    {"s", ACT_SORT, "sort", "sort the rows by the column; again: reversed; again: as read",
     NULL, 0},
    {"S", ACT_NONE, "summary", "summary of all columns", "summary", 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
static void data_close(struct view *v)
{
    forget_order(v->state);
}

const struct view_ops data_view = {
    .tab = "Data",
    .title = "Data",
    .about = "The table as it was read. The heading shows each column's role: an arrow marks the "
             "target, # a column that is not an input. NA is a missing cell. Below stands a "
             "summary of the column under the cursor with a small histogram. Change roles and "
             "types with: cols NAME role=target, cols NAME type=category.",
    .keys = keys,
    .kinds = KIND_TABLE,
    .news = VIEW_NEWS_DATA,
    .beside = VIEW_DATA,
    .plots = "columns",
    .state_size = sizeof(struct data_state),
    .draw = data_draw,
    .act = data_act,
    .verdict = data_verdict,
    .title_more = data_title,
    .plot_words = data_plot,
    .show = data_show,
    .find = data_find,
    .copy = data_copy,
    .click = data_click,
    .close = data_close,
};
