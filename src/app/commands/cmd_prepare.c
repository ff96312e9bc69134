/* app/commands/cmd_prepare.c -- preparing a table: names, rename, where, let, season. Each command
 * writes steps (data/prepare.h), which sessions keep and fitted models apply to new data. */
#include "app/commands/commands.h"
#include "app/commands/data_words.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "data/calendar.h"
#include "data/expr.h"
#include "data/prepare.h"
#include "base/text.h"

#include <string.h>

enum { NAMES_SHOWN = 12, TIMES_LOOKED = 10000 };

/* "age, bmi, sex and 3 more" */
static void names_text(const struct table *t, struct buf *out)
{
    for (size_t j = 0; j < t->ncols && j < NAMES_SHOWN; j++) {
        buf_puts(out, j ? ", " : "");
        text_safe(out, t->col[j].name, 24);
    }
    if (t->ncols > NAMES_SHOWN)
        buf_printf(out, " and %zu more (cols)", t->ncols - NAMES_SHOWN);
}

/* Applies steps to the current data and reports what it is now. */
static enum status apply(struct workspace *ws, const char *verb, enum status written,
                         struct buf *steps, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    struct buf notes = { 0 };
    struct rec r;
    enum status rc = !d ? err->code : written;

    if (rc == ST_OK && steps->failed)
        rc = err_nomem(err, 64, "a step");
    if (rc == ST_OK)
        rc = prepare_dataset(d, buf_str(steps), NULL, &notes, err);
    if (rc == ST_OK) {
        const struct table *t = d->table;
        rec_init(&r, REC_RESULT, verb);
        rec_str(&r, "dataset", d->name);
        rec_int(&r, "rows", (int64_t)t->n);
        rec_int(&r, "columns", (int64_t)t->ncols);
        rec_int(&r, "inputs", (int64_t)data_words_inputs(d));
        data_words_target_json(&r, d);
        rec_int(&r, "missing", (int64_t)t->missing);
        rec_str(&r, "steps", d->steps);
        rec_safe(&r, d->name);
        rec_text(&r, "  %zu rows x %zu columns: ", t->n, t->ncols);
        names_text(t, &r.text);
        rec_text(&r, "; target ");
        data_words_target(d, &r.text);
        ws_emit(ws, &r);
        ws_tell_lines(ws, buf_str(&notes));
    }
    buf_free(&notes);
    buf_free(steps);
    return rc;
}

/* Names of the columns in the current kernel follow a renaming, which leaves the number and the
 * order of the columns as they were. */
struct renaming { const struct table *was, *is; };

static const char *new_name(void *ctx, const char *name)
{
    const struct renaming *r = ctx;
    const size_t j = table_find(r->was, name);

    return j == SIZE_MAX ? NULL : r->is->col[j].name;
}

static void rename_in_kernel(struct workspace *ws, const struct renaming *r)
{
    const struct kernel *k = &ws->kernel;
    bool pattern = false;

    if (!kernel_parse_rename(&ws->kernel, new_name, (void *)r)) {
        ws_tell(ws, REC_WARNING, NULL, "kernel", "kernel rbf on COLUMN",
                "the kernel reads columns by their old names: it has no room for the new ones");
        return;
    }
    for (size_t t = 0; t < k->nterms; t++)
        pattern |= strchr(k->term[t].on, '*') != NULL;
    if (pattern)
        ws_tell(ws, REC_NOTE, NULL, "kernel", "kernel", "the kernel reads columns by a pattern, "
                "which may match other columns now");
}

/* Renames columns, and their names in the kernel. */
static enum status apply_names(struct workspace *ws, const char *verb, enum status written,
                               struct buf *steps, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    struct table *was = d ? table_ref(d->table) : NULL;
    const enum status rc = apply(ws, verb, written, steps, err);

    if (rc == ST_OK && was)
        rename_in_kernel(ws, &(struct renaming){ was, d->table });
    table_unref(was);
    return rc;
}

static enum status cmd_names(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    struct buf steps = { 0 };

    return apply_names(ws, "names",
                 d ? prepare_write_names(d->table, args_text(a, "list"), &steps, err) : err->code,
                 &steps, err);
}

static enum status cmd_rename(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    struct buf steps = { 0 };

    return apply_names(ws, "rename",
                 d ? prepare_write_rename(d->table, args_text(a, "pairs"), &steps, err) : err->code,
                 &steps, err);
}

static enum status cmd_where(struct workspace *ws, const struct args *a, struct err *err)
{
    struct buf steps = { 0 };

    return apply(ws, "where", prepare_write_where(args_text(a, "expr"), &steps, err), &steps, err);
}

static enum status cmd_let(struct workspace *ws, const struct args *a, struct err *err)
{
    struct buf steps = { 0 };

    return apply(ws, "let", prepare_write_let(args_text(a, "definition"), &steps, err), &steps,
                 err);
}

/* Season: sine and cosine of a share of the year, the week or the day. */

static void write_season(struct buf *steps, const char *column, const char *period)
{
    static const char *const waves[] = { "sin", "cos" };

    for (size_t w = 0; w < 2; w++) {
        struct buf name = { 0 };
        buf_printf(&name, "%s_%s_%s", column, period, waves[w]);
        buf_puts(steps, steps->len ? "\nlet " : "let ");
        expr_write_name(steps, buf_str(&name));
        buf_printf(steps, " = %s(2*pi()*%sshare(", waves[w], period);
        expr_write_name(steps, column);
        buf_puts(steps, "))");
        buf_free(&name);
    }
}

/* True if the column has dates with times of day; years with a fraction have none. Of a long
 * column, evenly spaced rows are looked at: where times are given, few of them are midnight. */
static bool has_times(const struct table *t, size_t col)
{
    const size_t n = t->n < TIMES_LOOKED ? t->n : TIMES_LOOKED;

    for (size_t i = 0; t->col[col].date && i < n; i++)
        if (calendar_timed(column_at(&t->col[col], (size_t)((double)i * (double)t->n / (double)n))))
            return true;
    return false;
}

/* The column of dates that is meant: the named one, or the only one. */
static enum status date_column(const struct table *t, const char *name, size_t *col,
                               struct err *err)
{
    size_t n = 0;

    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].date && n++ == 0)
            *col = j;
    if (name)
        *col = table_find(t, name);
    if (name && *col == SIZE_MAX)
        return dataset_find_column(t, name, err);
    if (name ? t->col[*col].type == COL_REAL : n == 1) /* numbers are taken for years */
        return ST_OK;
    if (name)
        err_named(err, ST_STATE, "no-date", "column %.60s holds words, not dates", name);
    else
        err_named(err, ST_STATE, "no-date", n ? "several columns hold dates"
                                              : "no column holds dates");
    err_hint(err, n ? "season NAME" : "open FILE types=NAME=date  |  season NAME  (years)");
    return ST_STATE;
}

static enum status cmd_season(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    const char *period = args_text(a, "period");
    size_t col = 0;
    struct buf steps = { 0 };
    enum status rc = d ? date_column(d->table, args_text(a, "column"), &col, err) : err->code;

    if (rc == ST_OK) {
        const char *name = d->table->col[col].name;
        const bool all = !period || !strcmp(period, "all");
        if (!period || all || !strcmp(period, "year"))
            write_season(&steps, name, "year");
        if (period && (all || !strcmp(period, "week")))
            write_season(&steps, name, "week");
        if (period ? all || !strcmp(period, "day") : has_times(d->table, col))
            write_season(&steps, name, "day");
    }
    return apply(ws, "season", rc, &steps, err);
}

const struct command cmd_prepare_rows[] = {
    {"names",
     "data",
     "Name all columns, in their order",
     "names x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,y",
     {{"list", ARG_TEXT, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "a name for each column, with commas between them: age,bmi,\"blood pressure\""}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_names,
     "For files without a header, or with a wrong one. New data may have the old names or the\n"
     "new ones."},
    {"rename",
     "data",
     "Rename columns",
     "rename x1=width",
     {{"pairs", ARG_TEXT, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "OLD=NEW, and more of these; names with blanks in double quotes"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_rename,
     "All names change at once, so rename a=b b=a exchanges two."},
    {"where",
     "data",
     "Keep the rows for which a condition holds",
     "where x1 > 0.1 and not x2 > 0.9",
     {{"expr", ARG_EXPR, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "the condition: price > 0 and make != 'bmw'; functions: {functions}"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_where,
     "From loose to tight: or; and; not; = != < <= > >= and is missing, is not missing; + -;\n"
     "* /; minus; ^. Words are in single quotes, names with blanks in double quotes, dates are\n"
     "compared as words: date >= '2001-05'. A row for which the condition has no value, because\n"
     "a cell is missing, is left out and counted. Remaining rows keep their part of the split.\n"
     "predict leaves out rows of new data in the same way, if the file has the columns."},
    {"let",
     "data",
     "Compute a column from others",
     "let product = x1 * x2",
     {{"definition", ARG_EXPR, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "NAME = EXPRESSION: bmi = weight/height^2 (operators and functions: help where)"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_let,
     "The column is an input, unless it is computed from the target. A column of this name is\n"
     "replaced. Where the expression has no value (division by zero, log of a negative number, a\n"
     "missing cell), the result is missing; the rows are counted, and the first is named. predict\n"
     "computes the column for new data. Conditions give 1 and 0."},
    {"season",
     "data",
     "Add seasons of a column of dates as inputs",
     "season year",
     {{"column", ARG_COLUMN, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "column of dates, or of years with a fraction (default: the only column of dates)"},
      {"period", ARG_CHOICE, ARGF_POS, NULL, 0, 0, "year|week|day|all", NULL,
       "length of the season (default: year; also day, if the dates have times)"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_season,
     "Try demo co2; season year. Dates are read as years with a fraction: this is the trend.\n"
     "season adds sine and cosine of the share of the period, so that its end is near its\n"
     "beginning. It writes let commands."},
    {.name = NULL},
};
