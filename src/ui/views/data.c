/* ui/views/data.c -- view 1: the table as it was read, a column's summary, or its shape. */
#include "ui/view.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 11, SAMPLE = 200000 };    /* columns of a cell; rows a summary looks at */

struct data_state {
    size_t row, col;                    /* first row on show; column under the cursor */
    size_t first;                       /* first column on show */
    bool plot;
    const struct table *of;             /* what the cached summary is of */
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
    if (c->type == COL_REAL) {
        if (isnan(column_at(c, i)))
            snprintf(out, len, "%s", missing);
        else
            snprintf(out, len, "%.7g", column_at(c, i));
    } else {
        const char *s = c->type == COL_TEXT ? c->text[i]
                      : c->code[i] == UINT32_MAX ? NULL : c->level[c->code[i]];
        struct buf b = { 0 };
        text_safe(&b, s ? s : missing, CELL - 1);
        snprintf(out, len, "%s", buf_str(&b));
        buf_free(&b);
    }
}

/* The summary of a column, cached; of a regular sample of the rows when there are very many, so
 * that moving the cursor never waits. */
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
        buf_puts(b, c->bins[i] ? glyph.spark[k > 7 ? 7 : k] : " ");
    }
}

static const char *type_name(const struct column *c)
{
    return c->type == COL_REAL ? (c->integers ? "whole" : "real")
         : c->type == COL_CATEGORY ? "category" : "text";
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
    buf_printf(&b, "%s %s, %s missing", type_name(col), role_name(d->role[s->col]),
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
    }
    buf_free(&b);
}

static void draw_table(struct view *v, const struct canvas *c, const struct dataset *d)
{
    static const char *const part[] = { "train", "valid", "test" };
    struct data_state *s = v->state;
    const struct table *t = d->table;
    char a[64];
    int foot = c->h >= 7 ? 3 : 0, rows = c->h - 1 - foot, left = 0;
    text_count(a, sizeof a, t->n);
    int numw = (int)strlen(a) < 4 ? 4 : (int)strlen(a);
    if (rows < 1)
        return;
    v->page = rows;
    if (s->row + (size_t)rows > t->n)
        s->row = t->n > (size_t)rows ? t->n - (size_t)rows : 0;
    left = numw + 2 + (d->split.part ? 6 : 0);
    size_t fit = c->w > left + CELL ? (size_t)((c->w - left) / CELL) : 1;
    if (s->col >= t->ncols)
        s->col = t->ncols - 1;
    if (s->col < s->first)
        s->first = s->col;
    if (s->col >= s->first + fit)
        s->first = s->col - fit + 1;
    draw_field(c, 0, 0, numw, true, theme_attr(R_DIM), "row");
    if (d->split.part)
        draw_text(c, 0, numw + 2, theme_attr(R_DIM), "part");
    for (size_t j = s->first; j < t->ncols && j < s->first + fit; j++) {
        int x = left + (int)(j - s->first) * CELL;
        struct buf b = { 0 };
        if (d->role[j] == ROLE_TARGET)
            buf_puts(&b, glyph.arrow);
        else if (d->role[j] != ROLE_INPUT)
            buf_puts(&b, "#");
        text_safe(&b, t->col[j].name, CELL - 2);
        draw_field(c, 0, x, CELL - 1, true,
                   theme_attr(j == s->col ? R_SELECT : R_COLUMN), buf_str(&b));
        buf_free(&b);
    }
    for (int i = 0; i < rows && s->row + (size_t)i < t->n; i++) {
        size_t r = s->row + (size_t)i;
        text_count(a, sizeof a, r + 1);
        draw_field(c, i + 1, 0, numw, true, theme_attr(R_DIM), a);
        if (d->split.part)
            draw_text(c, i + 1, numw + 2, theme_attr(R_DIM), part[d->split.part[r] % 3]);
        for (size_t j = s->first; j < t->ncols && j < s->first + fit; j++) {
            cell_text(&t->col[j], r, a, sizeof a);
            enum role role = d->role[j] == ROLE_TARGET ? R_ACCENT
                           : d->role[j] == ROLE_INPUT ? R_TEXT : R_DIM;
            draw_field(c, i + 1, left + (int)(j - s->first) * CELL, CELL - 1,
                       t->col[j].type == COL_REAL, theme_attr(role), a);
        }
    }
    if (foot) {
        draw_fill(c, c->h - 3, 0, c->w, theme_attr(R_RULE), glyph.h);
        struct canvas in = draw_inner(c, c->h - 2, 0, 2, c->w);
        draw_summary(v, &in, d);
    }
}

static void data_draw(struct view *v, const struct canvas *c)
{
    struct data_state *s = v->state;
    const struct dataset *d = current(v);
    if (!d || !d->table || d->table->ncols == 0) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No data yet. Type  open FILE.csv target=NAME  or  demo co2  below.");
        return;
    }
    if (s->plot || v->second) {
        struct plot_request q = { v->desk, "columns", NULL, 0, 0, false };
        uint64_t stamp = (uint64_t)(uintptr_t)d->table * 31 + (uint64_t)(uintptr_t)d->split.part;
        plotpane_draw(v->plot, c, 1, stamp, plot_request_make, &q, desk_now());
    } else {
        draw_table(v, c, d);
    }
}

static bool data_key(struct view *v, int key)
{
    struct data_state *s = v->state;
    const struct dataset *d = current(v);
    if (!d)
        return false;
    size_t page = v->page > 1 ? (size_t)v->page - 1 : 1, n = d->table->n;
    switch (key) {
    case 'p': s->plot = !s->plot; return true;
    case 'k': case UK_UP: s->row -= s->row > 0; return true;
    case 'j': case UK_DOWN: s->row++; return true;
    case 'h': case UK_LEFT: s->col -= s->col > 0; return true;
    case 'l': case UK_RIGHT: s->col += s->col + 1 < d->table->ncols; return true;
    case UK_PGUP: s->row -= s->row > page ? page : s->row; return true;
    case UK_PGDN: s->row += page; return true;
    case 'g': case UK_HOME: s->row = 0; return true;
    case 'G': case UK_END: s->row = n; return true;
    case 's': desk_exec(v->desk, "summary"); return true;
    default: return false;
    }
}

void data_show_plot(struct view *v)
{
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
        plot_verdict(v, b);
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

static const struct keyhelp keys[] = {
    { "arrows, hjkl", "rows and columns" },
    { "g G", "first row, last row" },
    { "p", "table or shape of the columns" },
    { "s", "summary of all columns (runs: summary)" },
    { NULL, NULL }
};
const struct view_ops view_data = {
    '1', "Data", "Data",
    "The table as it was read. The heading shows each column's role: an arrow marks the target, # a "
    "column that is not an input. NA is a missing cell. Below stands a summary of the column under "
    "the cursor with a small histogram. Change roles and types with: cols NAME role=target, "
    "cols NAME type=category.",
    keys, sizeof(struct data_state), data_draw, data_key, data_verdict, data_title, false,
};
