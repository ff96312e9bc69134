/* data/prepare_rows.c -- see prepare_rows.h. */
#include "data/prepare_rows.h"

#include "data/json.h"
#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *step, const char *verb)
{
    const size_t n = strlen(verb);

    return strncmp(step, verb, n) == 0 && step[n] == ' ' && step[n + 1] == '{';
}

bool prepare_rows_adds(const char *step)
{
    return begins(step, "row");
}

bool prepare_rows_is(const char *step)
{
    return begins(step, "ask") || begins(step, "failed") || prepare_rows_adds(step);
}

/* The name of a column as a member, and back. */
static const char prefix[] = "column:";

static const char *member_column(const char *key)
{
    if (strcmp(key, "id") == 0)
        return NULL;
    return strncmp(key, prefix, sizeof prefix - 1) == 0 ? key + sizeof prefix - 1 : key;
}

bool prepare_rows_in_words(const struct column *c)
{
    return c->type != COL_HELD || c->cells->word == NULL || c->cells->beside == NULL;
}

void prepare_rows_cell(struct buf *b, const struct column *c, size_t row)
{
    struct buf room = { 0 }, name = { 0 };
    const char *text = c->type == COL_REAL ? NULL : table_column_text(c, row, &room);

    if (c->type == COL_REAL ? isfinite(column_at(c, row)) : text != NULL) {
        const bool marked = strcmp(c->name, "id") == 0 ||
                            strncmp(c->name, prefix, sizeof prefix - 1) == 0;
        buf_printf(&name, "%s%s", marked ? prefix : "", c->name);
        buf_putc(b, ',');
        json_write_string(b, buf_str(&name));
        buf_putc(b, ':');
        if (c->type == COL_REAL)
            buf_json_double(b, column_at(c, row));
        else
            json_write_string(b, text);
        b->failed |= name.failed || room.failed;
    }
    buf_free(&room);
    buf_free(&name);
}

/* Reading. */

/* One cell of an object. */
struct cell { char *column, *text; double number; };
struct cells { struct cell *at; size_t n, cap; char *id; };

static void cells_free(struct cells *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->at[i].column);
        free(c->at[i].text);
    }
    free(c->at);
    free(c->id);
    *c = (struct cells){ 0 };
}

static enum status take_cell(struct json_reader *r, const char *key, void *into)
{
    struct cells *c = into;
    const char *column = member_column(key);

    if (column == NULL)
        return c->id == NULL ? json_string(r, &c->id) : json_wrong(r, "one id");
    enum status rc = mem_grow((void **)&c->at, &c->cap, c->n + 1, sizeof *c->at, "cells", r->err);
    if (rc != ST_OK)
        return rc;
    struct cell *one = &c->at[c->n];
    *one = (struct cell){ .column = mem_strdup(column, r->err), .number = NAN };
    if (one->column == NULL)
        return ST_NOMEM;
    c->n++;
    json_blanks(r);
    return *r->p == '"' ? json_string(r, &one->text) : json_number(r, &one->number);
}

static enum status read_cells(const char *object, struct cells *out, struct err *err)
{
    struct json_reader r = { .p = object, .start = object, .err = err };
    enum status rc = json_object(&r, take_cell, out);

    if (rc == ST_OK && (out->id == NULL || *r.p != '\0'))
        rc = err_set(err, ST_FORMAT, "a row of the steps is not complete: %.60s", object);
    if (rc != ST_OK)
        cells_free(out);
    return rc;
}

static const struct cell *cell_of(const struct cells *c, const char *column)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->at[i].column, column) == 0)
            return &c->at[i];
    return NULL;
}

char *prepare_rows_id(const char *step)
{
    const char *object = strchr(step, '{');
    struct cells c = { 0 };
    char *id = NULL;

    if (object != NULL && read_cells(object, &c, NULL) == ST_OK) {
        id = c.id;
        c.id = NULL;
    }
    cells_free(&c);
    return id;
}

char *prepare_rows_text(const char *object, const char *column)
{
    struct cells c = { 0 };
    struct buf b = { 0 };
    char *text = NULL;

    if (read_cells(object, &c, NULL) != ST_OK)
        return NULL;
    const struct cell *cell = cell_of(&c, column);
    if (cell != NULL && cell->text != NULL)
        buf_puts(&b, cell->text);
    else if (cell != NULL)
        buf_json_double(&b, cell->number);
    if (cell != NULL)
        text = buf_take(&b);
    buf_free(&b);
    cells_free(&c);
    return text;
}

static enum status known_cell(const struct dataset *d, const struct cell *c, struct err *err)
{
    char name[48];
    enum status rc = dataset_find_column(d->table, c->column, err);

    if (rc != ST_OK)
        return rc;
    const size_t j = table_find(d->table, c->column);
    text_quoted(c->column, name, sizeof name);
    if (d->role[j] == ROLE_TARGET)
        return err_set(err, ST_USAGE, "the column %s is the target, which is to be measured", name);
    if ((d->table->col[j].type == COL_REAL) == (c->text == NULL))
        return ST_OK;
    return err_set(err, ST_USAGE, "the column %s has %s", name,
                   c->text == NULL ? "words, not numbers" : "numbers, not words");
}

enum status prepare_rows_known(const struct dataset *d, const char *object, struct err *err)
{
    struct cells c = { 0 };
    enum status rc = read_cells(object, &c, err);

    for (size_t i = 0; rc == ST_OK && i < c.n; i++)
        rc = known_cell(d, &c.at[i], err);
    cells_free(&c);
    return rc;
}

/* Appending. */

static enum status add_numbers(const struct column *c, size_t n, const struct cells *cells,
                               size_t k, struct column *to, struct err *err)
{
    to->v = spill_array(n + k, sizeof *to->v, "a column of numbers", err);
    if (to->v == NULL)
        return ST_NOMEM;
    to->integers = c->integers;
    for (size_t i = 0; i < n; i++)
        to->v[i] = column_at(c, i);
    for (size_t i = 0; i < k; i++) {
        const struct cell *one = cell_of(&cells[i], c->name);
        const double v = to->v[n + i] = one != NULL ? one->number : NAN;
        to->missing += isnan(v);
        to->integers = to->integers && (isnan(v) || v == nearbyint(v));
    }
    to->missing += c->missing;
    return ST_OK;
}

/* The texts of the new cells of a column, one after the other in *arena, and a pointer to each
 * (NULL: missing). */
static enum status new_words(const struct column *c, const struct cells *cells, size_t k,
                             const char **word, char **arena, struct err *err)
{
    struct buf all = { 0 };
    size_t at = 0;

    for (size_t i = 0; i < k; i++) {
        const struct cell *one = cell_of(&cells[i], c->name);
        if (one != NULL && one->text != NULL)
            buf_putn(&all, one->text, strlen(one->text) + 1);
    }
    *arena = buf_take(&all);
    buf_free(&all);
    if (*arena == NULL)
        return err_nomem(err, 64, "cells");
    for (size_t i = 0; i < k; i++) {
        const struct cell *one = cell_of(&cells[i], c->name);
        word[i] = one != NULL && one->text != NULL ? *arena + at : NULL;
        at += word[i] != NULL ? strlen(one->text) + 1 : 0;
    }
    return ST_OK;
}

/* Old levels keep their codes; the strings of the old ones belong to the table that lends them. */
static enum status add_categories(const struct column *c, size_t n, const char *const *word,
                                  size_t k, struct column *to, struct err *err)
{
    to->code = spill_array(n + k, sizeof *to->code, "a column of categories", err);
    to->level = mem_calloc(c->nlevels + k, sizeof *to->level, "levels", err);
    if (to->code == NULL || to->level == NULL)
        return ST_NOMEM;
    memcpy(to->code, c->code, n * sizeof *to->code);
    if (c->nlevels > 0)
        memcpy(to->level, c->level, c->nlevels * sizeof *to->level);
    to->nlevels = c->nlevels;
    to->missing = c->missing;
    for (size_t i = 0; i < k; i++) {
        size_t level = 0;
        while (word[i] != NULL && level < to->nlevels && strcmp(to->level[level], word[i]) != 0)
            level++;
        if (word[i] != NULL && level == to->nlevels)
            to->level[to->nlevels++] = (char *)(uintptr_t)word[i];
        to->code[n + i] = word[i] != NULL ? (uint32_t)level : UINT32_MAX;
        to->missing += word[i] == NULL;
    }
    return ST_OK;
}

static enum status add_texts(const struct column *c, size_t n, const char *const *word, size_t k,
                             struct column *to, struct err *err)
{
    to->text = mem_calloc(n + k, sizeof *to->text, "a column of text", err);
    if (to->text == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n + k; i++) {
        const char *w = i < n ? column_word(c, i) : word[i - n];
        to->text[i] = (char *)(uintptr_t)w;
        to->missing += w == NULL;
    }
    return ST_OK;
}

/* The texts of n cells, one after the other: of a kind that prints its cells and keeps no words. */
static enum status print_cells(const struct column *c, size_t n, char **text, char **arena,
                               struct err *err)
{
    struct buf all = { 0 };
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        struct buf room = { 0 };
        const char *s = table_column_text(c, i, &room);
        if (s != NULL)
            buf_putn(&all, s, strlen(s) + 1);
        all.failed |= room.failed;
        buf_free(&room);
    }
    *arena = all.len > 0 || all.failed ? buf_take(&all) : mem_strdup("", err);
    buf_free(&all);
    if (*arena == NULL)
        return err_nomem(err, 64, "cells");
    for (size_t i = 0; i < n; i++) {
        text[i] = column_missing(c, i) ? NULL : *arena + at;
        at += text[i] != NULL ? strlen(text[i]) + 1 : 0;
    }
    return ST_OK;
}

/* A column of a special kind is made again from the words that it keeps, or from its texts. */
static enum status add_held(const struct column *c, size_t n, const char *const *word, size_t k,
                            struct column *to, struct err *err)
{
    struct column words = { .type = COL_TEXT, .name = c->name };
    struct table only = { .refs = 1, .path = (char[]){ "" }, .n = n + k, .ncols = 1,
                          .col = &words };
    char name[64], *arena = NULL;

    if (!prepare_rows_in_words(c)) {
        err_set(err, ST_UNSUPPORTED, "rows with %s in column %s cannot be added one by one",
                kind_of(c)->several, text_quoted(c->name, name, sizeof name));
        err_hint(err, "open FILE, with the measured rows in it");
        return ST_UNSUPPORTED;
    }
    enum status rc = add_texts(c, n, word, k, &words, err);
    if (rc == ST_OK && c->cells->word == NULL)
        rc = print_cells(c, n, words.text, &arena, err);
    if (rc == ST_OK)
        rc = kind_make(&only, 0, kind_type(c), to, err);
    free(words.text);
    free(arena);
    return rc;
}

static enum status add_cells(const struct column *c, size_t n, const struct cells *cells, size_t k,
                             struct column *to, struct err *err)
{
    char *name = to->name, *arena = NULL;
    const char **word = NULL;
    enum status rc = ST_OK;

    *to = (struct column){ .type = c->type };
    if (c->type == COL_REAL) {
        rc = add_numbers(c, n, cells, k, to, err);
    } else {
        word = mem_calloc(k, sizeof *word, "cells", err);
        rc = word != NULL ? new_words(c, cells, k, word, &arena, err) : ST_NOMEM;
        if (rc == ST_OK)
            rc = c->type == COL_CATEGORY ? add_categories(c, n, word, k, to, err)
                 : c->type == COL_TEXT   ? add_texts(c, n, word, k, to, err)
                                         : add_held(c, n, word, k, to, err);
    }
    free(word);
    if (c->type == COL_HELD)
        free(arena);
    else
        to->arena = arena;
    to->name = name;
    to->date = c->date;
    to->named = c->named;
    return rc;
}

static enum status append(struct table *from, const struct cells *cells, size_t k,
                          struct table **out, struct err *err)
{
    struct table *t = table_derive(from, 0, err);
    enum status rc = t == NULL ? ST_NOMEM : from->n ? table_check(from, 0, from->n - 1, err)
                                                    : ST_OK;

    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++)
        rc = add_cells(&from->col[j], from->n, cells, k, &t->col[j], err);
    if (rc == ST_OK) {
        t->n = from->n + k;
        rc = table_finish(t, NULL, err);
    }
    if (rc == ST_OK)
        *out = t;
    else
        table_unref(t);
    return rc;
}

enum status prepare_rows_append(struct table *from, const char *const *step, size_t n,
                                struct table **out, struct err *err)
{
    struct cells *cells = mem_calloc(n, sizeof *cells, "rows", err);
    enum status rc = cells != NULL ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < n; i++)
        rc = read_cells(strchr(step[i], '{'), &cells[i], err);
    if (rc == ST_OK)
        rc = append(from, cells, n, out, err);
    for (size_t i = 0; cells != NULL && i < n; i++)
        cells_free(&cells[i]);
    free(cells);
    return rc;
}

/* Steps. */

enum status prepare_rows_without(const char *steps, char **out, struct err *err)
{
    struct buf b = { 0 };

    for (const char *p = steps; p != NULL && *p != '\0';) {
        const size_t len = strcspn(p, "\n");
        if (!prepare_rows_is(p)) {
            buf_puts(&b, b.len > 0 ? "\n" : "");
            buf_putn(&b, p, len);
        }
        p += len + (p[len] == '\n');
    }
    *out = b.len > 0 || b.failed ? buf_take(&b) : NULL;
    const enum status rc = b.failed ? err_nomem(err, strlen(steps), "steps") : ST_OK;
    buf_free(&b);
    return rc;
}

void prepare_rows_free(struct prepare_rows *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->at[i].id);
        free(r->at[i].cells);
        free(r->at[i].measured);
    }
    free(r->at);
    *r = (struct prepare_rows){ 0 };
}

size_t prepare_rows_pending(const struct prepare_rows *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->at[i].state == ROWS_PENDING;
    return n;
}

size_t prepare_rows_last(const struct prepare_rows *r)
{
    unsigned long last = 0, k;
    char more;

    for (size_t i = 0; i < r->n; i++)
        if (sscanf(r->at[i].id, "s%9lu%c", &k, &more) == 1 && k > last)
            last = k;
    return last;
}

/* Takes over one step; object is its copy, which is freed if it is not kept. */
static enum status take_step(struct prepare_rows *r, const char *step, char *object,
                             struct err *err)
{
    struct cells c = { 0 };
    enum status rc = read_cells(object, &c, err);
    struct prepare_rows_asked *found = NULL;

    for (size_t i = 0; rc == ST_OK && i < r->n; i++)
        if (strcmp(r->at[i].id, c.id) == 0)
            found = &r->at[i];
    if (rc == ST_OK && begins(step, "ask") && found == NULL) {
        rc = mem_grow((void **)&r->at, &r->cap, r->n + 1, sizeof *r->at, "proposals", err);
        if (rc == ST_OK) {
            r->at[r->n++] = (struct prepare_rows_asked){ .id = c.id, .cells = object };
            c.id = NULL;
            object = NULL;
        }
    } else if (rc == ST_OK && found != NULL && begins(step, "failed")) {
        found->state = ROWS_FAILED;
    } else if (rc == ST_OK && found != NULL && prepare_rows_adds(step) && !found->measured) {
        found->state = ROWS_MEASURED;
        found->measured = object;
        object = NULL;
    }
    free(object);
    cells_free(&c);
    return rc;
}

enum status prepare_rows_read(const char *steps, struct prepare_rows *out, struct err *err)
{
    enum status rc = ST_OK;

    *out = (struct prepare_rows){ 0 };
    for (const char *p = steps; rc == ST_OK && p != NULL && *p != '\0';) {
        const size_t len = strcspn(p, "\n");
        if (prepare_rows_is(p)) {
            const char *brace = memchr(p, '{', len);
            char *object = strndup(brace, len - (size_t)(brace - p));
            rc = object != NULL ? take_step(out, p, object, err) : err_nomem(err, len, "a step");
        }
        p += len + (p[len] == '\n');
    }
    if (rc != ST_OK)
        prepare_rows_free(out);
    return rc;
}
