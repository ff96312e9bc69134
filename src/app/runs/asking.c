/* app/runs/asking.c -- see asking.h. */
#include "app/runs/asking.h"

#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/json.h"
#include "data/kinds/kind.h"
#include "data/prepare.h"
#include "data/prepare_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t asking_next(const struct workspace *ws, const struct prepare_rows *asked)
{
    const size_t last = prepare_rows_last(asked);

    return (last > ws->asked ? last : ws->asked) + 1;
}

void asking_made(struct workspace *ws, size_t last)
{
    if (last > ws->asked)
        ws->asked = last;
}

/* Rows by their values: x=5 solvent=water. */

/* The column that a pair NAME=VALUE names: no target, and not named before. */
static enum status pair_column(const struct dataset *d, const char *pair, size_t len, bool *given,
                               size_t *out, struct err *err)
{
    struct buf name = { 0 };
    size_t j = SIZE_MAX;

    buf_putn(&name, pair, len);
    enum status rc = name.failed ? err_nomem(err, len, "a name")
                                 : dataset_find_column(d->table, buf_str(&name), err);
    if (rc == ST_OK)
        j = table_find(d->table, buf_str(&name));
    buf_free(&name);
    if (rc != ST_OK)
        return rc;
    *out = j;
    if (d->role[j] == ROLE_TARGET) {
        rc = err_set(err, ST_USAGE, "%.60s is the target, which is to be measured",
                     d->table->col[j].name);
        err_hint(err, "ask without it, then tell its value");
    } else if (given[j]) {
        rc = err_set(err, ST_USAGE, "%.60s is there twice", d->table->col[j].name);
    }
    given[j] = true;
    return rc;
}

/* One value as a cell of the step; an empty one is missing. */
static enum status write_cell(const struct dataset *d, const char *pair, bool *given,
                              struct buf *step, struct err *err)
{
    const size_t len = strcspn(pair, "=");
    const char *value = pair + len + (pair[len] == '=');
    char *text = (char *)(uintptr_t)value, word[48];
    struct column one = { .type = COL_TEXT, .text = &text };
    double v = NAN;
    size_t j;
    const enum status rc = pair_column(d, pair, len, given, &j, err);

    if (rc != ST_OK || *value == '\0')
        return rc;
    if (d->table->col[j].type == COL_REAL) {
        one = (struct column){ .type = COL_REAL, .v = &v };
        if (!text_double(value, strlen(value), &v) || !isfinite(v))
            return err_set(err, ST_USAGE, "%.60s has numbers, and %s is none",
                           d->table->col[j].name, text_quoted(value, word, sizeof word));
    }
    one.name = d->table->col[j].name;
    prepare_rows_cell(step, &one, 0);
    return ST_OK;
}

/* The step of one row from the pairs of the line.  Every input is named, so that none is missing
 * by mistake. */
static enum status from_pairs(const struct dataset *d, const struct args *a, size_t id,
                              struct buf *steps, struct err *err)
{
    const size_t n = d->table->ncols;
    bool *given = mem_calloc(n + 1, sizeof *given, "columns", err);
    enum status rc = given ? ST_OK : ST_NOMEM;

    buf_printf(steps, "ask {\"id\":\"s%zu\"", id);
    for (size_t i = 0; rc == ST_OK && i < args_many(a, "column"); i++)
        rc = write_cell(d, args_many_at(a, "column", i), given, steps, err);
    buf_putc(steps, '}');
    for (size_t j = 0; rc == ST_OK && j < n; j++)
        if (d->role[j] == ROLE_INPUT && !given[j]) {
            rc = err_set(err, ST_USAGE, "the row has no value of the input %.60s",
                         d->table->col[j].name);
            err_hint(err, "ask ... %.60s=VALUE, or %.60s= where it is not known",
                     d->table->col[j].name, d->table->col[j].name);
        }
    free(given);
    return rc;
}

/* Rows as a script has them: [{"id":"s1","x":0.5},..]. */
static enum status from_list(const char *list, struct buf *steps, struct err *err)
{
    struct json_reader r = { .p = list, .start = list };
    enum status rc = json_take(&r, '[') ? ST_OK : ST_FORMAT;

    while (rc == ST_OK) {
        json_blanks(&r);
        const char *from = r.p;
        rc = *from == '{' ? json_skip(&r) : ST_FORMAT;
        if (rc != ST_OK)
            break;
        buf_puts(steps, steps->len ? "\nask " : "ask ");
        buf_putn(steps, from, (size_t)(r.p - from));
        json_blanks(&r);
        if (json_take(&r, ']'))
            break;
        rc = json_take(&r, ',') ? ST_OK : ST_FORMAT;
    }
    if (rc == ST_OK && !*r.p)
        return ST_OK;
    err_set(err, ST_USAGE, "the list of rows cannot be read from character %zu on: it is to be "
                           "like [{\"id\":\"s1\",\"x\":0.5}]", (size_t)(r.p - list) + 1);
    err_hint(err, "ask x=0.5 solvent=water");
    return ST_USAGE;
}

/* Ids of the rows: sN, and of none that is there. */
static enum status check_ids(const struct prepare_rows *had, const struct prepare_rows *more,
                             struct err *err)
{
    char word[48], want[32];

    for (size_t i = 0; i < more->n; i++) {
        const char *id = more->at[i].id;
        const struct prepare_rows one = { .at = &more->at[i], .n = 1 };
        snprintf(want, sizeof want, "s%zu", prepare_rows_last(&one));
        if (strcmp(want, id) != 0 || !strcmp(id, "s0"))
            return err_set(err, ST_USAGE, "the id %s is not s1, s2 and so on",
                           text_quoted(id, word, sizeof word));
        for (size_t k = 0; k < had->n; k++)
            if (!strcmp(had->at[k].id, id))
                return err_set(err, ST_STATE, "there is a proposal %s already", id);
    }
    return ST_OK;
}

/* Would the rows fit into the table?  Their columns are there, and their cells of its kinds. */
static enum status try_rows(const struct dataset *d, const struct prepare_rows *more,
                            struct err *err)
{
    const char **step = mem_calloc(more->n + 1, sizeof *step, "rows", err);
    struct buf all = { 0 };
    struct table *t = NULL;
    enum status rc = step ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < more->n; i++) {
        rc = prepare_rows_known(d, more->at[i].cells, err);
        buf_printf(&all, "row %s", more->at[i].cells);
        buf_putc(&all, '\0');
    }
    if (rc == ST_OK && all.failed)
        rc = err_nomem(err, all.len, "rows");
    const char *at = buf_str(&all);
    for (size_t i = 0; rc == ST_OK && i < more->n; i++, at += strlen(at) + 1)
        step[i] = at;
    if (rc == ST_OK)
        rc = prepare_rows_append(d->table, step, more->n, &t, err);
    table_unref(t);
    buf_free(&all);
    free(step);
    return rc;
}

static void tell(struct workspace *ws, const struct dataset *d, const struct prepare_rows *more)
{
    struct prepare_rows now = { 0 };
    struct rec rec;

    if (prepare_rows_read(d->steps, &now, NULL) != ST_OK)
        now = (struct prepare_rows){ 0 };
    const size_t pending = prepare_rows_pending(&now);
    rec_init(&rec, REC_RESULT, "ask");
    rec_str(&rec, "dataset", d->name);
    rec_int(&rec, "count", (int64_t)more->n);
    rec_int(&rec, "pending", (int64_t)pending);
    rec_array(&rec, "rows");
    for (size_t i = 0; i < more->n; i++) {
        rec_item(&rec);
        rec_str(&rec, "id", more->at[i].id);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_text(&rec, "%s", more->at[0].id);
    if (more->n > 1)
        rec_text(&rec, " to %s", more->at[more->n - 1].id);
    rec_text(&rec, " wait%s for a measurement; %zu pending\n  tell %s=VALUE",
             more->n > 1 ? "" : "s", pending, more->at[0].id);
    ws_emit(ws, &rec);
    prepare_rows_free(&now);
}

enum status asking_run(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    struct prepare_rows had = { 0 }, more = { 0 };
    struct buf steps = { 0 };
    enum status rc = d ? prepare_rows_read(d->steps, &had, err) : err->code;

    if (rc == ST_OK && !args_text(a, "rows") == !args_many(a, "column")) {
        rc = err_set(err, ST_USAGE, "ask takes the values of a row");
        err_hint(err, "ask x=0.5 solvent=water");
    }
    if (rc == ST_OK)
        rc = args_text(a, "rows") ? from_list(args_text(a, "rows"), &steps, err)
                                  : from_pairs(d, a, asking_next(ws, &had), &steps, err);
    if (rc == ST_OK && steps.failed)
        rc = err_nomem(err, steps.len, "rows");
    if (rc == ST_OK)
        rc = prepare_rows_read(buf_str(&steps), &more, err);
    if (rc == ST_OK)
        rc = check_ids(&had, &more, err);
    if (rc == ST_OK)
        rc = try_rows(d, &more, err);
    if (rc == ST_OK)
        rc = prepare_dataset(d, buf_str(&steps), NULL, NULL, err);
    if (rc == ST_OK) {
        asking_made(ws, prepare_rows_last(&more));
        tell(ws, d, &more);
        ws->serial++;
    }
    prepare_rows_free(&had);
    prepare_rows_free(&more);
    buf_free(&steps);
    return rc;
}
