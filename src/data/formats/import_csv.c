/* data/formats/import_csv.c -- the CSV reader: reads every row by the plan that import_csv_sniff.c
 * made.
 *
 * It makes one pass over a window of the file. A record that the window cuts off is read again from
 * its start after the refill. Nothing about a row counts before its line end was seen, so that
 * reading it twice changes nothing. Numbers are read in place; all other cells take the general
 * path. */
#include "data/formats/import_csv.h"

#include "data/formats/format.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note_skipped(struct csv_skipped *s, size_t line)
{
    if (s->n < 3)
        s->line[s->n] = line;
    s->n++;
}

/* Reading every row. */

struct reader {
    struct inbuf *in;
    const struct import_opts *opts;
    const struct csv_plan *plan;
    struct grow *col;
    enum csv_kind *kind; /* KIND_EMPTY until there is a value */
    bool *date;
    size_t n, room, told; /* rows; reserved rows; rows that spill_used has been told about */
    size_t line;         /* line where the record begins, from 1 */
    size_t first;        /* line of the first row */
    size_t newlines;     /* line ends inside the quotes of this record */
    char *scratch;
    size_t capscratch;
    struct csv_skipped blank, comment;
    double *mark;        /* missing marks that are numbers: -99 */
    size_t nmark;
    unsigned late;       /* usual marks of missing cells that the sample did not have: bits */
    size_t not_utf8;     /* line of the first cell that is not valid UTF-8 */
    size_t budget;       /* in bytes */
    struct err *err;
};

static enum status bad_cell(struct reader *r, size_t col, const struct csv_cell *cell,
                            const char *name, const char *expected)
{
    char where[120], value[80], key[80];
    csv_column_words(r->plan, col, where, sizeof where);
    csv_column_key(r->plan, col, key, sizeof key);
    csv_cell_words(cell->s, cell->len, value, sizeof value);
    err_named(r->err, ST_FORMAT, name, "%s line %zu, %s: %s %s", stream_name(r->in->st), r->line,
              where, value, expected);
    bool plain = csv_plain_word(cell->s, cell->len);
    if (strcmp(name, "not-finite") == 0 && plain)
        err_hint(r->err, "open FILE missing=%.*s", (int)cell->len, cell->s);
    else if (plain)
        err_hint(r->err, "open FILE missing=%.*s  or  open FILE types=%s=category",
                 (int)cell->len, cell->s, key);
    else
        err_hint(r->err, "open FILE types=%s=category", key);
    return ST_FORMAT;
}

/* For a record that is cut off by the end of the file: true if the file was truncated while it was
 * read. */
static bool changed(struct reader *r)
{
    struct table scratch = { 0 };

    if (!r->in->eof)
        return false;
    err_clear(r->err);
    return stream_finish(r->in->st, &scratch, r->err) == ST_IO;
}

static enum status ragged(struct reader *r, size_t found, bool more)
{
    if (changed(r))
        return ST_IO;
    err_named(r->err, ST_FORMAT, "ragged", "%s line %zu has %s%zu cells, the others have %zu",
              stream_name(r->in->st), r->line, more ? "more than " : "", found, r->plan->ncols);
    err_hint(r->err, "correct the line; put quotes around cells that contain the separator; or "
                     "set sep=");
    return ST_FORMAT;
}

static enum status broken_quote(struct reader *r, size_t col, enum csv_end how)
{
    char where[120];
    if (changed(r))
        return ST_IO;
    csv_column_words(r->plan, col, where, sizeof where);
    err_named(r->err, ST_FORMAT, "quote", how == CSV_UNCLOSED
              ? "%s line %zu, %s: the quote opened here is never closed"
              : "%s line %zu, %s: more text follows the closing quote",
              stream_name(r->in->st), r->line, where);
    err_hint(r->err, "inside a quoted cell a quote is written twice");
    return ST_FORMAT;
}

/* If the sample had no value for a column, its first value decides its kind. */
static enum status settle_kind(struct reader *r, size_t col, const struct csv_cell *cell)
{
    double x;
    struct grow *g = &r->col[col];
    if (scan_number_marked(cell->s, cell->len, r->plan->dec, r->plan->thousands, &x)) {
        r->kind[col] = KIND_REAL;
        return ST_OK;
    }
    r->date[col] = scan_date(cell->s, cell->len, &x); /* order[col] is DATE_YMD */
    r->kind[col] = r->date[col] ? KIND_DATE : KIND_CATEGORY;
    if (r->date[col])
        return ST_OK;
    table_grow_free(g);
    g->type = COL_CATEGORY;
    enum status rc = table_grow_reserve(g, r->room, r->err);
    for (size_t i = 0; rc == ST_OK && i < r->n; i++)
        g->code[i] = UINT32_MAX;
    return rc;
}

/* Strict UTF-8: no overlong forms, no surrogates, at most U+10FFFF. */
static bool is_utf8(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + len;
    while (p < end) {
        if (*p < 0x80) {
            p++;
            continue;
        }
        size_t n = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
        if (*p < 0xc2 || *p > 0xf4 || (size_t)(end - p) <= n)
            return false;
        unsigned char lo = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
        unsigned char hi = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
        if (p[1] < lo || p[1] > hi)
            return false;
        for (size_t i = 2; i <= n; i++)
            if ((p[i] & 0xc0) != 0x80)
                return false;
        p += n + 1;
    }
    return true;
}

static enum status store_word(struct reader *r, size_t col, const struct csv_cell *cell)
{
    struct grow *g = &r->col[col];
    if (cell->len > IMPORT_MAX_CELL) {
        char where[120];
        csv_column_words(r->plan, col, where, sizeof where);
        return err_named(r->err, ST_FORMAT, "limit", "%s line %zu, %s: a cell of %zu bytes; the "
                         "limit is %zu", stream_name(r->in->st), r->line, where, cell->len,
                         IMPORT_MAX_CELL);
    }
    if (memchr(cell->s, '\0', cell->len) != NULL)
        return bad_cell(r, col, cell, "binary", "holds a zero byte: not text");
    if (r->not_utf8 == 0 && !is_utf8(cell->s, cell->len))
        r->not_utf8 = r->line;
    if (r->kind[col] == KIND_TEXT)
        return table_grow_text(g, r->n, cell->s, cell->len, r->err);
    return table_intern_code(&g->levels, cell->s, cell->len, &g->code[r->n], r->err);
}

/* A usual mark that only comes after the sample: in a column of numbers it has no other meaning. */
static bool late_mark(struct reader *r, const struct csv_cell *cell)
{
    const int k = r->plan->marks_given ? -1 : csv_find_mark(cell->s, cell->len);

    r->late |= k >= 0 ? 1u << k : 0u;
    return k >= 0;
}

/* Stores any cell by the general path. */
static enum status store_cell(struct reader *r, size_t col, const struct csv_cell *cell)
{
    struct grow *g = &r->col[col];
    if (cell->len == 0 || csv_is_mark(r->plan, cell->s, cell->len)) {
        if (g->type == COL_REAL)
            g->v[r->n] = NAN;
        else if (g->type == COL_CATEGORY)
            g->code[r->n] = UINT32_MAX;
        else
            g->off[r->n] = SIZE_MAX;
        return ST_OK;
    }
    if (r->kind[col] == KIND_EMPTY) {
        enum status rc = settle_kind(r, col, cell);
        if (rc != ST_OK)
            return rc;
    }
    if (r->kind[col] == KIND_CATEGORY || r->kind[col] == KIND_TEXT)
        return store_word(r, col, cell);
    if (g->type == COL_REAL && late_mark(r, cell)) {
        g->v[r->n] = NAN;
        return ST_OK;
    }
    if (r->kind[col] == KIND_DATE) {
        if (scan_date_as(cell->s, cell->len, r->plan->order[col], &g->v[r->n]))
            return ST_OK;
        return bad_cell(r, col, cell, "cell", "is no date in the form of the cells before");
    }
    if (r->kind[col] == KIND_PERCENT) {
        if (csv_cell_percent(cell, r->plan->dec, r->plan->thousands, &g->v[r->n]) &&
            isfinite(g->v[r->n]))
            return ST_OK;
        return bad_cell(r, col, cell, "cell", "is no percentage, as the cells before");
    }
    if (scan_number_marked(cell->s, cell->len, r->plan->dec, r->plan->thousands, &g->v[r->n])) {
        if (isfinite(g->v[r->n]))
            return ST_OK;
        return bad_cell(r, col, cell, "not-finite", "is too large for a number");
    }
    if (scan_not_finite(cell->s, cell->len))
        return bad_cell(r, col, cell, "not-finite", "is not a finite number");
    return bad_cell(r, col, cell, "cell",
                    r->plan->forced[col] ? "is not a number, as types= says"
                                         : "is not a number, as the cells before");
}

/* Reads the number at *p if the column is numeric and the cell contains nothing else. */
static inline bool fast_number(const struct reader *r, size_t col, const char **p, const char *end,
                               enum csv_end *how)
{
    const char sep = r->plan->sep;
    const char *s = *p;
    while (*s == ' ' && sep != ' ')
        s++;
    double x;
    const char *e = scan_number(s, r->plan->dec, &x);
    if (e == NULL || e >= end || !(x - x == 0.0))
        return false;
    if (*e == sep) {
        *p = e + 1;
        *how = CSV_SEP;
    } else if (*e == '\n') {
        *p = e + 1;
        *how = CSV_LINE;
    } else if (*e == '\r' && e + 1 < end && e[1] == '\n') {
        *p = e + 2;
        *how = CSV_LINE;
    } else {
        return false;
    }
    for (size_t i = 0; i < r->nmark; i++)
        if (x == r->mark[i]) {
            *p = s; /* it may be a missing mark */
            return false;
        }
    r->col[col].v[r->n] = x;
    return true;
}

/* Reads the cells of one record. *how is CSV_MORE if the window is too short. */
static enum status read_record(struct reader *r, const char **p, const char *end,
                               enum csv_end *how)
{
    const size_t ncols = r->plan->ncols;
    const bool eof = r->in->eof;
    r->newlines = 0;
    for (size_t j = 0;; j++) {
        if (j == ncols)
            return ragged(r, ncols, true);
        if (r->kind[j] != KIND_REAL || !fast_number(r, j, p, end, how)) {
            struct csv_cell cell;
            *how = csv_cell(p, end, eof, r->plan->sep, r->scratch, &cell);
            if (*how == CSV_MORE)
                return ST_OK;
            if (*how == CSV_UNCLOSED || *how == CSV_JUNK)
                return broken_quote(r, j, *how);
            enum status rc = store_cell(r, j, &cell);
            if (rc != ST_OK)
                return rc;
            r->newlines += cell.newlines;
        }
        if (*how == CSV_LINE)
            return j + 1 == ncols ? ST_OK : ragged(r, j + 1, false);
    }
}

/* Moves past a blank or comment line at *p. MORE if its end is not in the window. */
static enum csv_end skip_line(struct reader *r, const char **p, const char *end, bool *skipped)
{
    const char *s = *p;
    *skipped = false;
    bool comment = *s == '#';
    const char *q = comment ? s : csv_cell_blanks(s, end, r->plan->sep);
    if (comment)
        while (q < end && *q != '\n' && *q != '\r')
            q++;
    if (q == end && !r->in->eof)
        return CSV_MORE;
    if (q < end && *q != '\n' && *q != '\r')
        return CSV_LINE;
    if (csv_cell_end(&q, end, r->in->eof, r->plan->sep) == CSV_MORE)
        return CSV_MORE;
    if (comment)
        note_skipped(&r->comment, r->line);
    else if (q > s)
        note_skipped(&r->blank, r->line);
    *skipped = true;
    *p = q;
    return CSV_LINE;
}

static enum status too_big(struct reader *r, double bytes, const char *how)
{
    char need[32], have[32];
    mem_format(need, sizeof need, bytes);
    mem_format(have, sizeof have, (double)r->budget);
    err_named(r->err, ST_NOMEM, "memory", "%s needs %s %s of memory as a table; the limit is %s",
              stream_name(r->in->st), how, need, have);
    err_hint(r->err, "a smaller file, or start with --mem");
    return ST_NOMEM;
}

static enum status make_room(struct reader *r, size_t want)
{
    double bytes = (double)want * 8.0 * (double)r->plan->ncols;
    if (bytes > (double)r->budget && !spill_active()) {
        want = r->n + 1;
        bytes = (double)want * 8.0 * (double)r->plan->ncols;
        if (bytes > (double)r->budget)
            return too_big(r, bytes, "more than");
        size_t most = r->budget / 8 / r->plan->ncols;
        want = most > want ? most : want;
    }
    enum status rc = ST_OK;
    for (size_t j = 0; j < r->plan->ncols && rc == ST_OK; j++)
        rc = table_grow_reserve(&r->col[j], want, r->err);
    r->room = want;
    return rc;
}

/* From time to time, counts the text against the memory budget, too. */
static enum status check_text(struct reader *r)
{
    double bytes = spill_active() ? 0.0 : (double)r->n * 8.0 * (double)r->plan->ncols;
    for (size_t j = 0; j < r->plan->ncols; j++)
        bytes += (double)r->col[j].len + (double)r->col[j].levels.len;
    return bytes > (double)r->budget ? too_big(r, bytes, "more than") : ST_OK;
}

/* Reads more of the file; the record at the start of the window is read again. */
static enum status more(struct reader *r)
{
    spill_used((r->n - r->told) * 8 * r->plan->ncols);
    r->told = r->n;
    enum status rc = stream_inbuf_fill(r->in, IMPORT_MAX_LINE, r->err);
    if (rc == ST_LIMIT) {
        err_named(r->err, ST_FORMAT, "limit", "%s line %zu is longer than %zu bytes, the limit "
                  "for one line", stream_name(r->in->st), r->line, IMPORT_MAX_LINE);
        err_hint(r->err, "is it a table? look for a quote that is never closed");
        return ST_FORMAT;
    }
    if (rc == ST_OK && r->capscratch < r->in->cap) {
        void *s = r->scratch;
        rc = mem_grow(&s, &r->capscratch, r->in->cap, 1, "a file's window", r->err);
        r->scratch = s;
    }
    return rc == ST_OK ? check_text(r) : rc;
}

static enum status read_rows(struct reader *r)
{
    struct inbuf *in = r->in;
    bool header = r->plan->header;
    /* With many columns few rows are reserved at first, because each array touches a page. */
    const size_t share = 1000000 / r->plan->ncols, first = share < 16 ? 16
                                                         : share > 1024 ? 1024 : share;
    enum status rc = more(r);
    while (rc == ST_OK) {
        const char *p = in->b + in->pos, *end = in->b + in->len;
        if (p == end && in->eof)
            return ST_OK;
        if (r->n == r->room && (rc = make_room(r, r->n == 0 ? first : r->n * 2)) != ST_OK)
            return rc;
        bool skipped = false;
        enum csv_end how = CSV_LINE;
        if (p == end)
            how = CSV_MORE;
        else if (*p == '#' || *p == '\n' || *p == '\r' || *p == ' ' || *p == '\t')
            how = skip_line(r, &p, end, &skipped);
        if (how != CSV_MORE && !skipped) {
            if (header) { /* the plan has taken the names */
                struct csv_cell cell;
                r->newlines = 0;
                do {
                    how = csv_cell(&p, end, in->eof, r->plan->sep, r->scratch, &cell);
                    r->newlines += cell.newlines;
                } while (how == CSV_SEP);
            } else {
                rc = read_record(r, &p, end, &how);
            }
        }
        if (rc != ST_OK)
            break;
        if (how == CSV_MORE) {
            rc = more(r);
            continue;
        }
        in->pos = (size_t)(p - in->b);
        if (r->n == 0 && !skipped && !header)
            r->first = r->line;
        r->line += 1 + (skipped ? 0 : r->newlines);
        r->n += !skipped && !header;
        header = header && skipped;
    }
    return rc;
}

/* The table. */

static void say_skipped(struct buf *notes, const char *name, const struct csv_skipped *s,
                        const char *what)
{
    if (s->n == 0)
        return;
    buf_printf(notes, "note[%s]: %zu %s line%s skipped (line %zu", name, s->n, what,
               s->n == 1 ? "" : "s", s->line[0]);
    for (size_t i = 1; i < 3 && i < s->n; i++)
        buf_printf(notes, ", %zu", s->line[i]);
    buf_puts(notes, s->n > 3 ? ", ...)\n" : ")\n");
}

static const char *sep_words(char sep)
{
    return sep == ',' ? "comma" : sep == ';' ? "semicolon" : sep == '\t' ? "tab"
         : sep == ' ' ? "blank" : sep == '|' ? "bar" : NULL;
}

static void say_decisions(const struct reader *r, struct buf *out)
{
    const struct csv_plan *p = r->plan;
    if (sep_words(p->sep) != NULL)
        buf_puts(out, sep_words(p->sep));
    else
        buf_printf(out, "separator '%c'", p->sep);
    buf_printf(out, ", %s%s", p->header ? "header" : "no header", buf_str(&p->why));
    buf_printf(out, ", %s, decimal %s, %s", p->quotes ? "quotes" : "no quotes",
               p->dec == ','  ? p->thousands ? "comma, marks for thousands" : "comma"
               : p->thousands ? "point, marks for thousands"
                              : "point",
               r->not_utf8 > 0 ? "not UTF-8" : "UTF-8");
    if (p->bom)
        buf_puts(out, " with BOM");
    if (p->crlf)
        buf_puts(out, ", CRLF");
    if (*stream_packing(r->in->st) != '\0')
        buf_printf(out, ", %s", stream_packing(r->in->st));
}

static void say_marks(const struct reader *r, const struct table *t, struct buf *notes)
{
    const struct csv_plan *p = r->plan;
    if (p->marks_given || (p->nmark == 0 && r->late == 0))
        return;
    buf_puts(notes, "note[missing]: read as missing:");
    for (size_t i = 0; i < p->nmark; i++)
        buf_printf(notes, "%s %s", i > 0 ? "," : "", p->mark[i]);
    for (int k = 0; r->late >> k != 0; k++)
        if (r->late & 1u << k)
            buf_printf(notes, "%s %s", notes->s[notes->len - 1] == ':' ? "" : ",",
                       csv_usual_mark(k));
    size_t columns = 0, cells = 0;
    for (size_t j = 0; j < t->ncols; j++) {
        columns += t->col[j].missing > 0;
        cells += t->col[j].missing;
    }
    buf_printf(notes, " (with empty cells %zu in %zu column%s); other marks: open FILE missing=\n",
               cells, columns, columns == 1 ? "" : "s");
}

/* Columns without names, each with its first cell, so that a reader can tell which is which. */
static void say_made_up(const struct table *t, struct buf *notes)
{
    enum { SHOWN = 16, CELL = 12 };
    struct buf cell = { 0 };

    buf_printf(notes, "note[names]: no header: the columns are named %s..%s (row 1:",
               t->col[0].name, t->col[t->ncols - 1].name);
    for (size_t j = 0; j < t->ncols && j < SHOWN; j++) {
        buf_clear(&cell);
        table_cell(t, 0, j, &cell);
        buf_printf(notes, "%s %s=", j > 0 ? "," : "", t->col[j].name);
        text_safe(notes, cell.len > 0 ? buf_str(&cell) : "missing", CELL);
    }
    buf_puts(notes, t->ncols > SHOWN ? ", ..); " : "); ");
    buf_puts(notes, "to name them: names A,B,..\n");
    buf_free(&cell);
}

/* True if a whole number is too large for its neighbours to be told from it. */
static bool beyond_exact(const struct column *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fabs(column_at(c, i)) > 0x1p53 && fabs(column_at(c, i)) < 1e19)
            return true;
    return false;
}

static void say_columns(const struct reader *r, const struct table *t, struct buf *notes)
{
    static const char *const dates[] = { "ISO dates", "dates with the day first",
                                         "dates with the month first", "dates" };
    size_t made_up = 0, empty = 0;
    char where[120];
    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        made_up += !c->named;
        empty += c->missing == t->n;
        csv_column_words(r->plan, j, where, sizeof where);
        if (c->date)
            buf_printf(notes, "note[date]: %s holds %s: read as years (season NAME adds the season "
                       "as inputs)\n", where, dates[r->plan->order[j]]);
        if (r->kind[j] == KIND_PERCENT)
            buf_printf(notes, "note[percent]: %s holds percentages: 12 %% is read as 12\n", where);
        if (c->type == COL_REAL && c->integers && beyond_exact(c, t->n))
            buf_printf(notes, "note[rounded]: %s holds whole numbers beyond 2^53, which are "
                       "rounded; to keep them as codes: open FILE types=NAME=category\n", where);
    }
    if (r->plan->unclear > 0) {
        csv_column_words(r->plan, (size_t)r->plan->unclear - 1, where, sizeof where);
        buf_printf(notes, "note[date]: %s holds dates that may have the day or the month first, so "
                   "they are words: open FILE dates=dmy, or dates=mdy\n", where);
    }
    if (r->plan->marked > 0) {
        csv_column_words(r->plan, (size_t)r->plan->marked - 1, where, sizeof where);
        buf_printf(notes, "note[thousands]: %s holds cells such as 1,234 as words: open FILE "
                   "thousands=comma, or decimal=comma\n", where);
    }
    if (r->plan->renamed.len > 0)
        buf_printf(notes, "note[duplicate-column]: names that occur twice got a number: %s (rename "
                   "OLD=NEW)\n", buf_str(&r->plan->renamed));
    if (!r->plan->header)
        say_made_up(t, notes);
    else if (made_up > 0)
        buf_printf(notes, "note[names]: %zu column%s without a name got one (%s)\n", made_up,
                   made_up == 1 ? "" : "s", "x and the column's number");
    if (empty > 0)
        buf_printf(notes, "note[empty]: %zu column%s no value at all\n", empty,
                   empty == 1 ? " holds" : "s hold");
}

/* True if the file itself uses names of the form that would be made up. */
static bool uses_such_names(const struct csv_plan *plan)
{
    for (size_t j = 0; j < plan->ncols; j++) {
        const char *name = plan->name[j];
        if (name != NULL && name[0] == 'x' && name[1] >= '0' && name[1] <= '9')
            return true;
    }
    return false;
}

/* Makes up the name "x3", or "x3_" and so on if the file already has it. */
static char *made_up_name(const struct csv_plan *plan, size_t col, bool careful, struct err *err)
{
    struct buf b = { 0 };
    buf_printf(&b, "x%zu", col + 1);
    for (size_t j = 0; careful && j < plan->ncols; j++)
        if (plan->name[j] != NULL && strcmp(plan->name[j], buf_str(&b)) == 0) {
            buf_putc(&b, '_');
            j = (size_t)-1;
        }
    char *name = buf_take(&b);
    if (name == NULL)
        err_nomem(err, 16, "a column's name");
    return name;
}

static enum status fill_table(struct reader *r, struct table *t)
{
    const bool careful = uses_such_names(r->plan);
    t->n = r->n;
    for (size_t j = 0; j < t->ncols; j++) {
        struct column *c = &t->col[j];
        const char *given = r->plan->name[j];
        enum status rc = table_grow_finish(&r->col[j], r->n, c, r->err);
        if (rc != ST_OK)
            return rc;
        c->named = given != NULL;
        c->name = given != NULL ? mem_strdup(given, r->err)
                                : made_up_name(r->plan, j, careful, r->err);
        if (c->name == NULL)
            return ST_NOMEM;
        c->date = r->date[j] && c->type == COL_REAL;
        if (c->type == COL_CATEGORY && !r->plan->forced[j] && c->nlevels > 10 &&
            c->nlevels > (t->n - c->missing) / 2 &&
            (rc = table_column_to_text(c, t->n, r->err)) != ST_OK)
            return rc;
    }
    struct buf line = { 0 }, notes = { 0 };
    t->first_line = r->line == r->first + r->n ? r->first : 0;
    say_decisions(r, &line);
    say_skipped(&notes, "comments", &r->comment, "comment (#)");
    say_skipped(&notes, "blank-lines", &r->blank, "blank");
    say_marks(r, t, &notes);
    say_columns(r, t, &notes);
    if (r->plan->leading_zeros)
        buf_puts(&notes, "note[zeros]: numbers with leading zeros are read as numbers; codes: "
                         "open FILE types=NAME=category\n");
    if (r->not_utf8 > 0)
        buf_printf(&notes, "note[utf8]: line %zu is the first that is not UTF-8; its bytes are "
                   "kept as they are\n", r->not_utf8);
    free(t->decisions);
    free(t->notes);
    t->decisions = buf_take(&line);
    t->notes = buf_take(&notes);
    return t->decisions == NULL || t->notes == NULL ? err_nomem(r->err, 256, "notes") : ST_OK;
}

/* Reports in advance that a plain file cannot fit; otherwise reserves rows. */
static enum status plan_room(struct reader *r)
{
    uint64_t size = stream_size(r->in->st);
    if (size == 0 || *stream_packing(r->in->st) != '\0' || r->plan->rows == 0)
        return ST_OK;
    double rows = (double)size / r->plan->row_bytes, bytes = rows * 8.0 * (double)r->plan->ncols;
    if (bytes > 1.2 * (double)r->budget && !spill_active())
        return too_big(r, bytes, "about");
    return rows > 1024.0 ? make_room(r, (size_t)(rows * 1.02) + 16) : ST_OK;
}

static enum status reader_init(struct reader *r)
{
    size_t m = r->plan->ncols;
    r->line = 1 + r->opts->skiplines;
    r->budget = r->opts->mem_limit > 0 ? r->opts->mem_limit : mem_physical();
    r->col = mem_calloc(m, sizeof *r->col, "columns", r->err);
    r->kind = mem_calloc(m, sizeof *r->kind, "columns", r->err);
    r->date = mem_calloc(m, sizeof *r->date, "columns", r->err);
    r->mark = mem_calloc(r->plan->nmark, sizeof *r->mark, "marks", r->err);
    if (r->col == NULL || r->kind == NULL || r->date == NULL || r->mark == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < r->plan->nmark; i++)
        r->nmark += scan_number_marked(r->plan->mark[i], strlen(r->plan->mark[i]), r->plan->dec,
                                       r->plan->thousands, &r->mark[r->nmark]);
    for (size_t j = 0; j < m; j++) {
        r->kind[j] = r->plan->kind[j];
        r->date[j] = r->kind[j] == KIND_DATE;
        r->col[j].type = r->kind[j] == KIND_CATEGORY ? COL_CATEGORY
                       : r->kind[j] == KIND_TEXT     ? COL_TEXT
                                                     : COL_REAL;
    }
    return plan_room(r);
}

static void reader_free(struct reader *r)
{
    for (size_t j = 0; r->col != NULL && j < r->plan->ncols; j++)
        table_grow_free(&r->col[j]);
    free(r->col);
    free(r->kind);
    free(r->date);
    free(r->mark);
    free(r->scratch);
}

/* Moves past lines above the table, whatever they hold. */
static enum status skip_lines(struct inbuf *in, size_t lines, struct err *err)
{
    for (size_t k = 0; k < lines;) {
        const char *nl = memchr(in->b + in->pos, '\n', in->len - in->pos);
        if (nl != NULL) {
            in->pos = (size_t)(nl + 1 - in->b);
            in->skipped = ++k;
            continue;
        }
        if (in->eof)
            break;
        in->pos = in->len; /* the rest of a line that the window cuts off */
        const enum status rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, err);
        if (rc != ST_OK)
            return rc;
    }
    if (in->pos == in->len && !in->eof) {
        const enum status rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, err);
        if (rc != ST_OK)
            return rc;
    }
    return lines > 0 && in->pos == in->len
               ? err_named(err, ST_FORMAT, "empty", "%s has no more than %zu lines",
                           stream_name(in->st), lines)
               : ST_OK;
}

static enum status read_csv(struct inbuf *in, const struct import_opts *opts,
                            const struct ctl *ctl, struct table *t, struct err *err)
{
    (void)ctl; /* the stream checks it */
    struct csv_plan plan = { 0 };
    struct reader r = { .in = in, .opts = opts, .plan = &plan, .err = err };
    enum status rc = skip_lines(in, opts->skiplines, err);
    if (rc == ST_OK)
        rc = csv_sniff(in, opts, &plan, err);
    if (rc == ST_OK) {
        free(t->col);
        t->col = mem_calloc(plan.ncols, sizeof *t->col, "columns", err);
        t->ncols = t->col != NULL ? plan.ncols : 0;
        rc = t->col != NULL ? reader_init(&r) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = read_rows(&r);
    if (rc == ST_OK && r.n == 0) {
        err_named(err, ST_FORMAT, "empty", "%s has no rows below its header", stream_name(in->st));
        err_hint(err, "open FILE header=no, when the first line is data");
        rc = ST_FORMAT;
    }
    if (rc == ST_OK)
        rc = fill_table(&r, t);
    reader_free(&r);
    csv_plan_free(&plan);
    return rc;
}

enum status import_csv_text(const struct inbuf *in, const struct buf *csv, const char *what,
                            const struct import_opts *opts, const struct ctl *ctl, struct table *t,
                            struct err *err)
{
    struct import_opts o = *opts;
    struct stream *st = stream_memory(stream_name(in->st), buf_str(csv), csv->len, err);
    struct inbuf text = { .st = st };

    if (st == NULL)
        return err->code;
    o.sep = ',';
    o.header = 1;
    o.skiplines = 0;
    enum status rc = stream_inbuf_fill(&text, IMPORT_MAX_LINE, err);
    if (rc == ST_OK)
        rc = read_csv(&text, &o, ctl, t, err);
    stream_inbuf_free(&text);
    stream_close(st);
    char *decisions = rc == ST_OK ? mem_strdup(what, err) : NULL;
    if (rc == ST_OK && decisions == NULL)
        rc = ST_NOMEM;
    if (rc == ST_OK) {
        free(t->decisions);
        t->decisions = decisions;
    }
    return rc;
}

static const struct import_option options[] = {
    { "sep", IMPORT_MARK, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 10, NULL, NULL,
      "say one character, or tab, space, comma, semicolon", offsetof(struct import_opts, sep),
      "delimiter: one character, tab or semicolon" },
    { "skiplines", IMPORT_COUNT, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 9, NULL, NULL,
      "say how many lines stand above the table: 0 to 1000000",
      offsetof(struct import_opts, skiplines), "lines to leave out above the table" },
    { "header", IMPORT_SWITCH, IMPORT_CELLS | IMPORT_PARSES, 11, NULL, NULL, NULL,
      offsetof(struct import_opts, header), "whether the first line has names (default: "
                                            "recognised)" },
    { "decimal", IMPORT_MARK, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 13,
      ".|,|point|comma", ".,", "say . or , (or point, comma)",
      offsetof(struct import_opts, decimal), "decimal mark" },
    { "thousands", IMPORT_MARK, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 14, NULL, ".,'_ ",
      "say point, comma, space or ', and not what decimal= is",
      offsetof(struct import_opts, thousands),
      "thousands separator: point, comma or space (default: recognised from cells like 1.234,50)" },
    { "missing", IMPORT_TEXT, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 12, NULL, NULL, NULL,
      offsetof(struct import_opts, missing), "words that mark missing cells: NA,?,-" },
    { "dates", IMPORT_CHOICE, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 16, "ymd|dmy|mdy",
      NULL, NULL, offsetof(struct import_opts, dates),
      "order of day, month and year in dates (default: recognised, if a day is above 12)" },
    { "types", IMPORT_TEXT, IMPORT_CELLS | IMPORT_NEW_DATA | IMPORT_PARSES, 15, NULL, NULL, NULL,
      offsetof(struct import_opts, types),
      "types of columns: zip=category,x7=real,dna=sequence" },
    { .name = NULL },
};

const struct format import_csv_format = {
    .name = "CSV, TSV", .read = read_csv, .text = true, .options = options };
