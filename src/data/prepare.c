/* data/prepare.c -- applies the steps of prepare.h. Every step makes a new table to which the
 * unchanged columns are lent (table_derive), so that earlier states stay as they were. */
#include "data/prepare.h"

#include "data/expr.h"
#include "data/formats/import.h"
#include "data/kinds/kind.h"
#include "data/molecules/molecule_step.h"
#include "data/page_use.h"
#include "data/prepare_rows.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_WIDTH = 60 };

/* A table while steps are applied to it. */
struct state {
    struct table *t;         /* a reference */
    bool *use;               /* new data: the rows that stay; NULL: all */
    bool fresh;              /* the table is new data for an encoding */
    struct dataset *d;       /* whose roles, groups and split follow; may be NULL */
    const struct encoding *e; /* new data: what they are for */
    const struct ctl *ctl;
    struct buf *notes;       /* may be NULL */
    struct buf lacking;      /* new data: what could not be computed, as "NAME: column OLD" lines */
    struct err *err;
};

static void become(struct state *s, struct table *t)
{
    table_unref(s->t);
    s->t = t;
}

/* Reading steps. */

static bool begins(const char *step, const char *verb)
{
    const size_t n = strlen(verb);
    return strncmp(step, verb, n) == 0 && step[n] == ' ';
}

struct pairs { char **from, **to; size_t n, cap; };

static void pairs_free(struct pairs *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->from[i]);
        free(p->to[i]);
    }
    free(p->from);
    free(p->to);
    *p = (struct pairs){ 0 };
}

static enum status pairs_add(struct pairs *p, const char *from, const char *to, struct err *err)
{
    size_t cap = p->cap;
    enum status rc = mem_grow((void **)&p->from, &cap, p->n + 1, sizeof *p->from, "names", err);
    if (rc == ST_OK)
        rc = mem_grow((void **)&p->to, &p->cap, p->n + 1, sizeof *p->to, "names", err);
    if (rc != ST_OK)
        return rc;
    p->from[p->n] = mem_strdup(from, err);
    p->to[p->n] = mem_strdup(to, err);
    if (p->from[p->n] != NULL && p->to[p->n] != NULL) {
        p->n++;
        return ST_OK;
    }
    free(p->from[p->n]);
    free(p->to[p->n]);
    return ST_NOMEM;
}

/* "OLD=NEW, OLD=NEW"; blanks between pairs do as well. */
static enum status read_pairs(const char *p, struct pairs *out, struct err *err)
{
    struct buf from = { 0 }, to = { 0 };
    enum status rc = ST_OK;

    p += strspn(p, " ");
    while (*p != '\0' && rc == ST_OK) {
        buf_clear(&from);
        buf_clear(&to);
        rc = expr_name(&p, "=,", &from, err);
        if (rc == ST_OK && *p != '=') {
            rc = err_set(err, ST_USAGE, "= and a new name were expected behind %.60s",
                         buf_str(&from));
            err_hint(err, "rename OLD=NEW   |   rename \"old name\"=new");
        }
        p += rc == ST_OK;
        if (rc == ST_OK)
            rc = expr_name(&p, ", ", &to, err);
        p += strspn(p, ", ");
        if (rc == ST_OK)
            rc = pairs_add(out, buf_str(&from), buf_str(&to), err);
    }
    buf_free(&from);
    buf_free(&to);
    return rc;
}

/* Renaming. */

static enum status check_name(const char *name, struct err *err)
{
    if (*name == '\0')
        return err_set(err, ST_USAGE, "a column needs a name of one letter or more");
    return strlen(name) <= IMPORT_MAX_NAME
               ? ST_OK
               : err_set(err, ST_USAGE, "a name of %zu bytes; the limit is %zu", strlen(name),
                         IMPORT_MAX_NAME);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum status check_distinct(const struct table *t, struct err *err)
{
    char **name = mem_calloc(t->ncols, sizeof *name, "names", err);
    enum status rc = name != NULL ? ST_OK : ST_NOMEM;
    char word[64];

    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++)
        name[j] = t->col[j].name;
    if (rc == ST_OK)
        qsort(name, t->ncols, sizeof *name, by_name);
    for (size_t j = 1; rc == ST_OK && j < t->ncols; j++)
        if (strcmp(name[j - 1], name[j]) == 0)
            rc = err_named(err, ST_USAGE, "duplicate-column", "two columns would be named %s",
                           text_quoted(name[j], word, sizeof word));
    free(name);
    return rc;
}

/* The column that a split follows keeps its place. */
static enum status rename_split(struct state *s, const struct pairs *p)
{
    char **column = s->d != NULL ? &s->d->split.column : NULL;

    for (size_t i = 0; column != NULL && *column != NULL && i < p->n; i++)
        if (strcmp(*column, p->from[i]) == 0) {
            char *name = mem_strdup(p->to[i], s->err);
            if (name == NULL)
                return ST_NOMEM;
            free(*column);
            *column = name;
            break;
        }
    return ST_OK;
}

static enum status apply_rename(struct state *s, const char *list)
{
    struct pairs p = { 0 };
    enum status rc = read_pairs(list, &p, s->err);
    struct table *t = rc == ST_OK ? table_derive(s->t, 0, s->err) : NULL;

    if (rc == ST_OK && t == NULL)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < p.n; i++) {
        const size_t j = table_find(s->t, p.from[i]); /* in the old table: all at once */
        if (j == SIZE_MAX)
            continue; /* a file may have the new names already, or lack the target */
        char *name = mem_strdup(p.to[i], s->err);
        if (name == NULL) {
            rc = ST_NOMEM;
            break;
        }
        free(t->col[j].name);
        t->col[j].name = name;
        t->col[j].named = true;
    }
    if (rc == ST_OK)
        rc = check_distinct(t, s->err);
    if (rc == ST_OK)
        rc = rename_split(s, &p);
    pairs_free(&p);
    if (rc == ST_OK)
        become(s, t);
    else
        table_unref(t);
    return rc;
}

/* Rows. */

static enum status keep_category(const struct column *c, const size_t *row, size_t n,
                                 struct column *to, struct err *err)
{
    uint32_t *level = mem_calloc(c->nlevels, sizeof *level, "levels", err);

    to->code = spill_array(n, sizeof *to->code, "a column of categories", err);
    to->level = mem_calloc(c->nlevels, sizeof *to->level, "levels", err);
    if (level == NULL || to->code == NULL || to->level == NULL) {
        free(level);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++)
        if (c->code[row[i]] != UINT32_MAX)
            level[c->code[row[i]]] = 1;
    for (size_t k = 0; k < c->nlevels; k++) /* levels without a row go; the order stays */
        if (level[k] != 0) {
            to->level[to->nlevels] = c->level[k];
            level[k] = (uint32_t)to->nlevels++;
        }
    for (size_t i = 0; i < n; i++) {
        const uint32_t code = c->code[row[i]];
        to->code[i] = code == UINT32_MAX ? code : level[code];
        to->missing += code == UINT32_MAX;
    }
    free(level);
    return ST_OK;
}

static enum status keep_real(const struct column *c, const size_t *row, size_t n,
                             struct column *to, struct err *err)
{
    to->v = spill_array(n, sizeof *to->v, "a column of numbers", err);
    if (to->v == NULL)
        return ST_NOMEM;
    to->integers = true;
    for (size_t i = 0; i < n; i++) {
        to->v[i] = column_at(c, row[i]);
        to->missing += isnan(to->v[i]);
        to->integers = to->integers && (isnan(to->v[i]) || to->v[i] == nearbyint(to->v[i]));
    }
    return ST_OK;
}

static enum status keep_text(const struct column *c, const size_t *row, size_t n,
                             struct column *to, struct err *err)
{
    to->text = mem_calloc(n, sizeof *to->text, "a column of text", err);
    if (to->text == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *word = column_word(c, row[i]);
        to->text[i] = (char *)(uintptr_t)word; /* of the table that is kept as the base */
        to->missing += word == NULL;
    }
    return ST_OK;
}

/* A column of a special kind copies its cells, or is made again from the words that it keeps. */
static enum status keep_held(const struct column *c, const size_t *row, size_t n,
                             struct column *to, struct err *err)
{
    struct column words = { .type = COL_TEXT, .name = c->name };
    struct table only = { .refs = 1, .path = (char[]){ "" }, .n = n, .ncols = 1, .col = &words };
    char name[64];

    if (c->cells->take != NULL)
        return c->cells->take(c, row, n, to, err);
    if (c->cells->word == NULL)
        return err_set(err, ST_UNSUPPORTED, "rows with %s in column %s cannot be left out",
                       kind_of(c)->several, text_quoted(c->name, name, sizeof name));
    enum status rc = keep_text(c, row, n, &words, err);
    if (rc == ST_OK)
        rc = kind_make(&only, 0, kind_type(c), to, err);
    free(words.text);
    return rc;
}

static enum status keep_column(const struct column *c, const size_t *row, size_t n,
                               struct column *to, struct err *err)
{
    char *name = to->name;
    enum status rc;

    *to = (struct column){ .type = c->type };
    if (c->type == COL_HELD)
        rc = keep_held(c, row, n, to, err);
    else if (c->type == COL_CATEGORY)
        rc = keep_category(c, row, n, to, err);
    else
        rc = c->type == COL_REAL ? keep_real(c, row, n, to, err) : keep_text(c, row, n, to, err);
    to->name = name;
    to->date = c->date;
    to->named = c->named;
    spill_used(n * page_use_row_bytes(c));
    return rc;
}

static struct table *keep_rows(struct table *from, const size_t *row, size_t n, struct err *err)
{
    struct table *t = table_derive(from, 0, err);
    enum status rc = t != NULL ? table_check(from, 0, from->n - 1, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++)
        rc = keep_column(&from->col[j], row, n, &t->col[j], err);
    if (rc == ST_OK) {
        t->n = n;
        t->first_line = 0;
        rc = table_finish(t, NULL, err);
    }
    if (rc == ST_OK)
        return t;
    table_unref(t);
    return NULL;
}

/* Rows of the split follow the table. */
static enum status keep_split(struct split *p, const size_t *row, size_t n, struct err *err)
{
    uint8_t *part = p->part != NULL ? mem_calloc(n, 1, "the split", err) : NULL;
    uint32_t *fold = p->fold != NULL ? mem_calloc(n, sizeof *fold, "the folds", err) : NULL;

    if ((p->part != NULL && part == NULL) || (p->fold != NULL && fold == NULL)) {
        free(part);
        free(fold);
        return ST_NOMEM;
    }
    memset(p->count, 0, sizeof p->count);
    for (size_t i = 0; i < n; i++) {
        if (part != NULL)
            part[i] = p->part[row[i]];
        if (fold != NULL)
            fold[i] = p->fold[row[i]];
        p->count[part != NULL ? part[i] : PART_TRAIN]++;
    }
    free(p->part);
    free(p->fold);
    p->part = part;
    p->fold = fold;
    return ST_OK;
}

/* k further rows train; among folds they are dealt out in turn. */
static enum status grow_split(struct split *p, size_t n, size_t k, struct err *err)
{
    uint8_t *part = p->part != NULL ? mem_calloc(n + k, 1, "the split", err) : NULL;
    uint32_t *fold = p->fold != NULL ? mem_calloc(n + k, sizeof *fold, "the folds", err) : NULL;

    if ((p->part != NULL && part == NULL) || (p->fold != NULL && fold == NULL)) {
        free(part);
        free(fold);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n + k; i++) {
        if (part != NULL)
            part[i] = i < n ? p->part[i] : PART_TRAIN;
        if (fold != NULL)
            fold[i] = i < n ? p->fold[i] : (uint32_t)(i % p->nfolds);
    }
    p->count[PART_TRAIN] += k;
    free(p->part);
    free(p->fold);
    p->part = part;
    p->fold = fold;
    return ST_OK;
}

/* Applies consecutive steps that add rows, all at once; *end: behind them. */
static enum status apply_rows(struct state *s, const char *steps, const char **end)
{
    size_t n = 0, cap = 0;
    char **step = NULL;
    struct table *t = NULL;
    enum status rc = ST_OK;

    while (rc == ST_OK && prepare_rows_adds(steps)) {
        const size_t len = strcspn(steps, "\n");
        rc = mem_grow((void **)&step, &cap, n + 1, sizeof *step, "steps", s->err);
        if (rc == ST_OK && (step[n] = strndup(steps, len)) == NULL)
            rc = err_nomem(s->err, len, "a step");
        n += rc == ST_OK;
        steps += len + (steps[len] == '\n');
    }
    *end = steps;
    if (rc == ST_OK && !s->fresh)
        rc = prepare_rows_append(s->t, (const char *const *)step, n, &t, s->err);
    if (rc == ST_OK && t != NULL)
        rc = molecule_step_keep(s->t, t, s->err);
    if (rc == ST_OK && t != NULL && s->d != NULL)
        rc = grow_split(&s->d->split, s->t->n, n, s->err);
    if (rc == ST_OK && t != NULL)
        become(s, t);
    else
        table_unref(t);
    for (size_t i = 0; i < n; i++)
        free(step[i]);
    free(step);
    return rc;
}

/* Evaluates a condition in every row: which rows to keep, and where it was missing. */
static enum status find_rows(struct state *s, struct expr *e, size_t *row, size_t *n,
                             size_t *missing, size_t *first)
{
    double hit[EXPR_BLOCK];
    enum status rc = ST_OK;

    *n = *missing = 0;
    for (size_t i0 = 0; i0 < s->t->n && rc == ST_OK; i0 += EXPR_BLOCK) {
        const size_t m = s->t->n - i0 < EXPR_BLOCK ? s->t->n - i0 : EXPR_BLOCK;
        rc = expr_rows(e, i0, m, s->use, hit, NULL, s->err);
        for (size_t i = 0; i < m && rc == ST_OK; i++) {
            if (s->use != NULL && !s->use[i0 + i])
                continue;
            if (isnan(hit[i]) && (*missing)++ == 0)
                *first = i0 + i;
            if (hit[i] == 1.0)
                row[(*n)++] = i0 + i;
        }
    }
    return rc;
}

static void note_where(struct state *s, const struct expr *e, const char *text, size_t left,
                       size_t missing, size_t first)
{
    if (s->notes == NULL)
        return;
    buf_printf(s->notes, "note[where]: %zu row%s left out by ", left, left == 1 ? " is" : "s are");
    text_safe(s->notes, text, NOTE_WIDTH);
    buf_puts(s->notes, "\n");
    if (missing == 0)
        return;
    buf_printf(s->notes, "note[where]: in %zu of them the condition has no value, first in ",
               missing);
    table_where(s->t, &s->t->col[0], first, s->notes);
    buf_puts(s->notes, ": a cell is missing");
    struct buf faults = { 0 };
    expr_faults(e, &faults);
    if (faults.len > 0)
        buf_printf(s->notes, ", or %s", buf_str(&faults));
    buf_puts(s->notes, " (add: or NAME is missing)\n");
    buf_free(&faults);
}

static enum status no_rows(const char *text, struct err *err)
{
    char word[64];

    err_named(err, ST_STATE, "no-rows", "no row has %s, so nothing would be left",
              text_quoted(text, word, sizeof word));
    err_hint(err, "summary   (shows the range of every column)");
    return ST_STATE;
}

static enum status take_rows(struct state *s, struct expr *e, const char *text)
{
    size_t n, missing, first = 0, before = 0;
    size_t *row = mem_calloc(s->t->n + 1, sizeof *row, "row numbers", s->err);
    enum status rc = row != NULL ? find_rows(s, e, row, &n, &missing, &first) : ST_NOMEM;

    for (size_t i = 0; i < s->t->n; i++)
        before += s->use == NULL || s->use[i];
    if (rc == ST_OK && n == 0)
        rc = no_rows(text, s->err);
    if (rc == ST_OK && (n < before || !s->fresh))
        note_where(s, e, text, before - n, missing, first);
    if (rc == ST_OK && s->fresh && n < before) {
        if (s->use == NULL)
            s->use = mem_calloc(s->t->n, sizeof *s->use, "row numbers", s->err);
        if (s->use == NULL)
            rc = ST_NOMEM;
        if (rc == ST_OK)
            memset(s->use, 0, s->t->n * sizeof *s->use);
        for (size_t i = 0; i < n && rc == ST_OK; i++)
            s->use[row[i]] = true;
    } else if (rc == ST_OK && n < before) {
        struct table *t = keep_rows(s->t, row, n, s->err);
        rc = t == NULL ? s->err->code : s->d != NULL ? keep_split(&s->d->split, row, n, s->err)
                                                     : ST_OK;
        if (rc == ST_OK)
            become(s, t);
        else
            table_unref(t);
    }
    free(row);
    return rc;
}

/* For new data: true if the step cannot be applied because the table lacks a column. */
static bool passed_over(struct state *s, const struct expr *e, const char *name, const char *text)
{
    if (!s->fresh || expr_absent(e) == NULL)
        return false;
    if (name != NULL) {
        buf_printf(&s->lacking, "%s\n", name);
        text_safe(&s->lacking, text, NOTE_WIDTH);
        buf_putc(&s->lacking, '\n');
        text_safe(&s->lacking, expr_absent(e), NOTE_WIDTH);
        buf_putc(&s->lacking, '\n');
    } else if (s->notes != NULL) {
        buf_puts(s->notes, "note[where]: the file has no column ");
        text_safe(s->notes, expr_absent(e), NOTE_WIDTH);
        buf_puts(s->notes, ", so no row is left out by ");
        text_safe(s->notes, text, NOTE_WIDTH);
        buf_putc(s->notes, '\n');
    }
    err_clear(s->err);
    return true;
}

static enum status apply_where(struct state *s, const char *text)
{
    struct expr *e = NULL;
    enum status rc = expr_parse(text, &e, s->err);

    if (rc == ST_OK)
        rc = expr_bind(e, s->t, s->err);
    if (rc == ST_OK && expr_type(e) != EXPR_TRUTH) {
        rc = err_set(s->err, ST_USAGE, "where needs a condition such as x > 1");
        err_hint(s->err, "where price > 0 and make != 'bmw'");
    }
    if (rc == ST_OK)
        rc = take_rows(s, e, text);
    else if (e != NULL && passed_over(s, e, NULL, text))
        rc = ST_OK;
    expr_free(e);
    return rc;
}

/* Columns. */

static enum status compute_numbers(struct state *s, struct expr *e, struct column *to)
{
    const size_t n = s->t->n;
    enum status rc = ST_OK;

    to->type = COL_REAL;
    to->v = spill_array(n, sizeof *to->v, "a column of numbers", s->err);
    to->integers = true;
    if (to->v == NULL)
        return ST_NOMEM;
    for (size_t i0 = 0; i0 < n && rc == ST_OK; i0 += EXPR_BLOCK) {
        const size_t m = n - i0 < EXPR_BLOCK ? n - i0 : EXPR_BLOCK;
        rc = expr_rows(e, i0, m, s->use, to->v + i0, NULL, s->err);
        for (size_t i = i0; i < i0 + m && rc == ST_OK; i++) {
            to->missing += isnan(to->v[i]);
            to->integers = to->integers && (isnan(to->v[i]) || to->v[i] == nearbyint(to->v[i]));
        }
        spill_used(m * sizeof *to->v);
    }
    return rc;
}

static enum status compute_words(struct state *s, struct expr *e, struct column *to)
{
    struct grow g = { .type = COL_CATEGORY };
    const char *word[EXPR_BLOCK];
    const size_t n = s->t->n;
    enum status rc = table_grow_reserve(&g, n + 1, s->err);

    for (size_t i0 = 0; i0 < n && rc == ST_OK; i0 += EXPR_BLOCK) {
        const size_t m = n - i0 < EXPR_BLOCK ? n - i0 : EXPR_BLOCK;
        rc = expr_rows(e, i0, m, s->use, NULL, word, s->err);
        for (size_t i = 0; i < m && rc == ST_OK; i++)
            if (word[i] == NULL || *word[i] == '\0')
                g.code[i0 + i] = UINT32_MAX;
            else
                rc = table_intern_code(&g.levels, word[i], strlen(word[i]), &g.code[i0 + i],
                                       s->err);
    }
    if (rc == ST_OK)
        rc = table_grow_finish(&g, n, to, s->err);
    table_grow_free(&g);
    return rc;
}

static bool uses_target(const struct dataset *d, const struct table *t, const struct expr *e)
{
    const char *name;

    for (size_t i = 0; (name = expr_column(e, i)) != NULL; i++) {
        const size_t j = table_find(t, name);
        if (j != SIZE_MAX && d->role[j] == ROLE_TARGET)
            return true;
    }
    return false;
}

/* Roles and groups of a dataset whose table gets one more column. */
static enum status add_role(struct state *s, const struct expr *e, const char *name)
{
    struct dataset *d = s->d;
    const size_t n = s->t->ncols;
    char word[64];

    if (dataset_grow(d, n, 1, s->err) != ST_OK)
        return ST_NOMEM;
    d->role[n] = uses_target(d, s->t, e) ? ROLE_SKIP : ROLE_INPUT;
    if (d->role[n] == ROLE_SKIP && s->notes != NULL)
        buf_printf(s->notes, "note[let]: %s is computed from the target, so it is not an input "
                   "(cols NAME role=target)\n", text_quoted(name, word, sizeof word));
    return ST_OK;
}

static void note_let(struct state *s, const struct expr *e, const char *name,
                     const struct column *made)
{
    struct buf faults = { 0 };
    char word[64];

    expr_faults(e, &faults);
    if (s->notes != NULL && made->missing > 0 && faults.len > 0)
        buf_printf(s->notes, "note[let]: %s is missing after %s\n",
                   text_quoted(name, word, sizeof word), buf_str(&faults));
    buf_free(&faults);
}

/* Puts the computed column into a new table. */
static enum status put_column(struct state *s, const struct expr *e, const char *name,
                              struct column *made)
{
    const size_t at = table_find(s->t, name);
    struct table *t = table_derive(s->t, at == SIZE_MAX, s->err);
    enum status rc = t != NULL ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && at != SIZE_MAX && s->d != NULL && s->d->role[at] == ROLE_TARGET &&
        made->type != COL_REAL)
        rc = err_set(s->err, ST_STATE, "the target would hold words");
    if (rc == ST_OK && at == SIZE_MAX && s->d != NULL)
        rc = add_role(s, e, name);
    made->name = rc == ST_OK ? mem_strdup(name, s->err) : NULL;
    made->named = true;
    if (rc == ST_OK && made->name == NULL)
        rc = ST_NOMEM;
    if (rc != ST_OK) {
        table_unref(t);
        return rc;
    }
    struct column *c = &t->col[at == SIZE_MAX ? s->t->ncols : at];
    t->missing += made->missing - c->missing;
    table_column_clear(c);
    *c = *made;
    *made = (struct column){ 0 };
    become(s, t);
    return ST_OK;
}

static enum status apply_let(struct state *s, const char *text)
{
    struct buf name = { 0 };
    struct column made = { 0 };
    struct expr *e = NULL;
    enum status rc = expr_name(&text, "=", &name, s->err);

    text += *text == '=';
    if (rc == ST_OK)
        rc = check_name(buf_str(&name), s->err);
    if (rc == ST_OK)
        rc = expr_parse(text, &e, s->err);
    if (rc == ST_OK)
        rc = expr_bind(e, s->t, s->err);
    if (rc == ST_OK) {
        rc = expr_type(e) == EXPR_WORD ? compute_words(s, e, &made) : compute_numbers(s, e, &made);
        if (rc == ST_OK)
            note_let(s, e, buf_str(&name), &made);
        if (rc == ST_OK)
            rc = put_column(s, e, buf_str(&name), &made);
    } else if (e != NULL && passed_over(s, e, buf_str(&name), text)) {
        rc = ST_OK;
    }
    table_column_clear(&made);
    expr_free(e);
    buf_free(&name);
    return rc;
}

static enum status apply_type(struct state *s, const char *text)
{
    struct buf name = { 0 };
    enum status rc = expr_name(&text, "=", &name, s->err);
    const char *type = text + (*text == '=') + strspn(text + (*text == '='), " ");
    const size_t j = rc == ST_OK ? table_find(s->t, buf_str(&name)) : SIZE_MAX;
    struct column made = { 0 };
    struct table *t = NULL;

    if (rc == ST_OK && j != SIZE_MAX && strcmp(kind_type(&s->t->col[j]), type) != 0) {
        rc = dataset_convert(s->t, j, type, &made, s->err);
        t = rc == ST_OK ? table_derive(s->t, 0, s->err) : NULL;
        if (rc == ST_OK && t == NULL)
            rc = ST_NOMEM;
        if (rc == ST_OK) {
            made.name = t->col[j].name;
            made.named = t->col[j].named;
            t->missing += made.missing - t->col[j].missing;
            t->col[j] = made;
            made = (struct column){ 0 };
            become(s, t);
        }
    }
    table_column_clear(&made);
    buf_free(&name);
    return rc;
}

/* True if a condition or a computation follows, for which types matter. */
static bool computes_later(const char *steps)
{
    return begins(steps, "where") || begins(steps, "let") || strstr(steps, "\nwhere ") != NULL ||
           strstr(steps, "\nlet ") != NULL;
}

/* Molecules. */

/* Columns of the names that the table has are replaced, the others are added at its end. */
static enum status put_made(struct state *s, struct column *made, size_t n)
{
    size_t more = 0, at[MOLECULE_STEP_COLUMNS];

    for (size_t k = 0; k < n; k++)
        more += (at[k] = table_find(s->t, made[k].name)) == SIZE_MAX;
    struct table *t = table_derive(s->t, more, s->err);
    enum status rc = t == NULL      ? ST_NOMEM
                     : s->d != NULL ? dataset_grow(s->d, s->t->ncols, more, s->err)
                                    : ST_OK;
    if (rc != ST_OK) {
        table_unref(t);
        return rc;
    }
    for (size_t k = 0, next = s->t->ncols; k < n; k++) {
        if (s->d != NULL && at[k] == SIZE_MAX && made[k].type != COL_REAL)
            s->d->role[next] = ROLE_SKIP; /* words are no input */
        struct column *c = &t->col[at[k] != SIZE_MAX ? at[k] : next++];
        t->missing += made[k].missing - c->missing;
        table_column_clear(c);
        *c = made[k];
        made[k] = (struct column){ 0 };
    }
    become(s, t);
    return ST_OK;
}

static enum status apply_molecules(struct state *s, const char *text)
{
    struct column made[MOLECULE_STEP_COLUMNS] = { { 0 } };
    struct molecule_step step = { 0 };
    struct buf name = { 0 };
    size_t n = 0;
    enum status rc = expr_name(&text, "=", &name, s->err);

    text += *text == '=';
    if (rc == ST_OK)
        rc = molecule_step_read(text, &step, s->err);
    const size_t j = rc == ST_OK ? table_find(s->t, buf_str(&name)) : SIZE_MAX;
    if (rc == ST_OK && s->e != NULL && !computes_later(s->e->steps))
        molecule_step_needed(&step, buf_str(&name), s->e);
    if (rc == ST_OK && j == SIZE_MAX && !s->fresh)
        rc = dataset_find_column(s->t, buf_str(&name), s->err);
    if (rc == ST_OK && j != SIZE_MAX && s->t->col[j].type == COL_REAL)
        rc = err_named(s->err, ST_STATE, "smiles", "column %.60s holds numbers and no SMILES",
                       buf_str(&name));
    if (rc == ST_OK && j != SIZE_MAX)
        rc = molecule_step_run(s->t, j, &step, s->ctl, made, &n, s->notes, s->err);
    if (rc == ST_OK && n > 0)
        rc = put_made(s, made, n);
    for (size_t k = 0; k < n; k++)
        table_column_clear(&made[k]);
    buf_free(&name);
    return rc;
}

/* Steps. */

static enum status apply_one(struct state *s, const char *step)
{
    if (begins(step, "rename"))
        return apply_rename(s, step + 7);
    if (begins(step, "where"))
        return apply_where(s, step + 6);
    if (begins(step, "let"))
        return apply_let(s, step + 4);
    if (begins(step, "type"))
        return apply_type(s, step + 5);
    if (begins(step, "molecules"))
        return apply_molecules(s, step + 10);
    return err_set(s->err, ST_FORMAT, "an unknown step of preparation: %.60s", step);
}

static enum status apply_all(struct state *s, const char *steps)
{
    enum status rc = ST_OK;

    while (*steps != '\0' && rc == ST_OK) {
        const size_t len = strcspn(steps, "\n");
        if (prepare_rows_adds(steps)) {
            rc = apply_rows(s, steps, &steps);
            continue;
        }
        char *step = strndup(steps, len);
        if (step == NULL)
            return err_nomem(s->err, len, "a step");
        if (!prepare_rows_is(step) &&
            !(s->fresh && begins(step, "type") && !computes_later(steps)))
            rc = apply_one(s, step);
        free(step);
        steps += len + (steps[len] == '\n');
    }
    return rc;
}

enum status prepare_table(struct table **t, const char *steps, const struct ctl *ctl,
                          struct buf *notes, struct err *err)
{
    struct state s = { .t = table_ref(*t), .ctl = ctl, .notes = notes, .err = err };
    const enum status rc = apply_all(&s, steps);

    if (rc == ST_OK) {
        table_unref(*t);
        *t = s.t;
    } else {
        table_unref(s.t);
    }
    return rc;
}

enum status prepare_dataset(struct dataset *d, const char *steps, const struct ctl *ctl,
                            struct buf *notes, struct err *err)
{
    struct dataset *c = dataset_snapshot(d, err);
    struct buf all = { 0 };

    if (c == NULL)
        return ST_NOMEM;
    struct state s = { .t = table_ref(c->table), .d = c, .ctl = ctl, .notes = notes, .err = err };
    enum status rc = apply_all(&s, steps);
    molecule_step_add(c->steps != NULL ? c->steps : "", steps, &all);
    char *text = buf_take(&all);
    if (rc == ST_OK && text == NULL)
        rc = err_nomem(err, 64, "a step");
    /* Groups are counted by the columns of the table, so the two change together. */
    table_unref(c->table);
    c->table = s.t;
    if (rc != ST_OK) {
        free(text);
        dataset_unref(c);
        return rc;
    }
    free(c->steps);
    c->steps = text;
    if (c->split.part == NULL && c->split.fold == NULL)
        c->split.count[PART_TRAIN] = c->table->n;
    dataset_exchange(d, c);
    dataset_unref(c);
    return ST_OK;
}

/* Names the input that could not be computed, if the encoding needs one. */
static enum status check_lacking(const struct encoding *e, const struct table *t,
                                 const char *lacking, struct err *err)
{
    const char *p = lacking;

    while (*p != '\0') {
        const char *name = p, *text = name + strcspn(name, "\n") + 1,
                   *column = text + strcspn(text, "\n") + 1;
        const size_t len = (size_t)(text - name) - 1;
        p = column + strcspn(column, "\n") + 1;
        for (size_t j = 0; j < e->ncol; j++)
            if (strlen(e->col[j].column) == len && strncmp(e->col[j].column, name, len) == 0 &&
                table_find(t, e->col[j].column) == SIZE_MAX)
                return err_named(err, ST_NOT_FOUND, "no-column",
                                 "input %.*s is computed as%s%.*s, and the file has no column %.*s",
                                 (int)(len < 60 ? len : 60), name, *text == ' ' ? "" : " ",
                                 (int)strcspn(text, "\n"), text, (int)strcspn(column, "\n"),
                                 column);
    }
    return ST_OK;
}

enum status prepare_new_data(const struct encoding *e, struct table **t, size_t **rows, size_t *n,
                             const struct ctl *ctl, struct buf *notes, struct err *err)
{
    struct state s = { .t = table_ref(*t), .fresh = true, .e = e, .ctl = ctl, .notes = notes,
                       .err = err };

    *rows = NULL;
    *n = (*t)->n;
    struct buf names = { 0 };
    enum status rc = molecule_step_renames(s.t, e, &names) ? apply_rename(&s, buf_str(&names))
                                                           : ST_OK;
    buf_free(&names);
    if (rc == ST_OK && e->steps != NULL)
        rc = apply_all(&s, e->steps);
    if (rc == ST_OK && s.lacking.failed)
        rc = err_nomem(err, 64, "a step");
    if (rc == ST_OK)
        rc = check_lacking(e, s.t, buf_str(&s.lacking), err);
    if (rc == ST_OK && s.use != NULL) {
        *rows = mem_calloc(s.t->n + 1, sizeof **rows, "row numbers", err);
        *n = 0;
        for (size_t i = 0; *rows != NULL && i < s.t->n; i++)
            if (s.use[i])
                (*rows)[(*n)++] = i;
        rc = *rows != NULL ? ST_OK : ST_NOMEM;
    }
    buf_free(&s.lacking);
    free(s.use);
    if (rc != ST_OK) {
        table_unref(s.t);
        return rc;
    }
    table_unref(*t);
    *t = s.t;
    return ST_OK;
}

/* Where a column comes from. */

/* If this step computes `column`: true, and *one says whether from one column alone (which may be
 * the earlier one of its name), which then replaces the text of out. */
static bool computes(const char *step, const char *column, bool *one, struct buf *out)
{
    struct buf name = { 0 };
    struct err ignored;
    struct expr *e = NULL;
    const char *only = NULL, *p = begins(step, "let") ? step + 4 : NULL;
    const bool here = p != NULL && expr_name(&p, "=", &name, &ignored) == ST_OK && *p == '=' &&
                      strcmp(buf_str(&name), column) == 0;

    *one = here && expr_parse(p + 1, &e, &ignored) == ST_OK;
    for (size_t i = 0; *one && expr_column(e, i) != NULL; i++) {
        *one = only == NULL || strcmp(only, expr_column(e, i)) == 0;
        only = expr_column(e, i);
    }
    *one = *one && only != NULL;
    if (*one) {
        buf_clear(out);
        buf_puts(out, only);
    }
    expr_free(e);
    buf_free(&name);
    return here;
}

/* The name of a column after this step, or with `back` before it, which replaces the text of
 * name. */
static void follow_names(const char *step, bool back, struct buf *name)
{
    struct pairs p = { 0 };
    struct err ignored;

    if (begins(step, "rename") && read_pairs(step + 7, &p, &ignored) == ST_OK)
        for (size_t k = 0; k < p.n; k++)
            if (strcmp(back ? p.to[k] : p.from[k], buf_str(name)) == 0) {
                buf_clear(name);
                buf_puts(name, back ? p.from[k] : p.to[k]);
                break;
            }
    pairs_free(&p);
}

/* Replaces the name of a column at some step by its name after all of the steps that follow. */
static void follow_on(const char *steps, struct buf *name)
{
    while (*steps != '\0') {
        const size_t len = strcspn(steps, "\n");
        char *step = strndup(steps, len);
        if (step != NULL)
            follow_names(step, false, name);
        free(step);
        steps += len + (steps[len] == '\n');
    }
}

bool prepare_origin(const char *steps, const char *column, struct buf *out)
{
    struct buf at = { 0 }, from = { 0 };
    bool found = false, more = steps != NULL;
    size_t end = more ? strlen(steps) : 0;

    buf_puts(&at, column);
    while (more && end > 0) { /* from the last step back to the first */
        size_t first = end;
        while (first > 0 && steps[first - 1] != '\n')
            first--;
        char *step = strndup(steps + first, end - first);
        bool one = false;
        if (step != NULL && computes(step, buf_str(&at), &one, &from)) {
            more = one;
            if (one && strcmp(buf_str(&from), buf_str(&at)) != 0) {
                found = true;
                buf_clear(&at);
                buf_puts(&at, buf_str(&from));
                buf_clear(out);
                follow_on(steps + end, &from);
                buf_puts(out, buf_str(&from));
            }
        } else if (step != NULL) {
            follow_names(step, true, &at);
        }
        free(step);
        end = first > 0 ? first - 1 : 0;
    }
    buf_free(&at);
    buf_free(&from);
    return found;
}

/* Writing steps. */

/* A step is one line, so line ends become blanks, or escapes inside quotes. */
static void write_line(struct buf *out, const char *text)
{
    char quote = '\0';

    for (const char *p = text; *p != '\0'; p++) {
        if (quote != '\0' && *p == '\\' && p[1] != '\0' && p[1] != '\n' && p[1] != '\r') {
            buf_putc(out, *p++);
            buf_putc(out, *p);
            continue;
        }
        if (strchr("\"'`", *p) != NULL && (quote == '\0' || quote == *p))
            quote = quote == '\0' ? *p : '\0';
        if (*p == '\n' || *p == '\r')
            buf_puts(out, quote == '\0' ? " " : *p == '\n' ? "\\n" : "\\r");
        else
            buf_putc(out, *p);
    }
}

static void write_pair(struct buf *out, const char *from, const char *to)
{
    buf_puts(out, out->len > 0 ? "," : "rename ");
    expr_write_name(out, from);
    buf_putc(out, '=');
    expr_write_name(out, to);
}

enum status prepare_write_names(const struct table *t, const char *names, struct buf *out,
                                struct err *err)
{
    struct buf name = { 0 };
    const char *p = names;
    size_t j = 0;
    enum status rc = ST_OK;

    for (; *p != '\0' && rc == ST_OK; j++) {
        buf_clear(&name);
        rc = expr_name(&p, ",", &name, err);
        if (rc == ST_OK)
            rc = check_name(buf_str(&name), err);
        if (rc == ST_OK && *p != '\0' && *p++ != ',')
            rc = err_set(err, ST_USAGE, "a comma was expected before %.60s", p - 1);
        if (rc == ST_OK && j < t->ncols)
            write_pair(out, t->col[j].name, buf_str(&name));
    }
    buf_free(&name);
    if (rc == ST_OK && j != t->ncols) {
        err_set(err, ST_USAGE, "%zu name%s for %zu column%s", j, j == 1 ? "" : "s", t->ncols,
                t->ncols == 1 ? "" : "s");
        err_hint(err, "cols lists the columns; rename OLD=NEW changes one name");
        rc = ST_USAGE;
    }
    return rc;
}

enum status prepare_write_rename(const struct table *t, const char *pairs, struct buf *out,
                                 struct err *err)
{
    struct pairs p = { 0 };
    enum status rc = read_pairs(pairs, &p, err);

    for (size_t i = 0; i < p.n && rc == ST_OK; i++) {
        rc = check_name(p.to[i], err);
        if (rc == ST_OK)
            rc = dataset_find_column(t, p.from[i], err);
        for (size_t k = 0; k < i && rc == ST_OK; k++)
            if (strcmp(p.from[k], p.from[i]) == 0)
                rc = err_set(err, ST_USAGE, "%.60s is renamed twice", p.from[i]);
        if (rc == ST_OK)
            write_pair(out, p.from[i], p.to[i]);
    }
    if (rc == ST_OK && p.n == 0)
        rc = err_set(err, ST_USAGE, "rename needs OLD=NEW");
    pairs_free(&p);
    return rc;
}

enum status prepare_write_where(const char *expression, struct buf *out, struct err *err)
{
    struct expr *e = NULL;
    const enum status rc = expr_parse(expression, &e, err);

    expr_free(e);
    buf_puts(out, "where ");
    write_line(out, expression);
    return rc;
}

enum status prepare_write_let(const char *definition, struct buf *out, struct err *err)
{
    struct buf name = { 0 };
    struct expr *e = NULL;
    const char *p = definition;
    enum status rc = expr_name(&p, "=", &name, err);

    if (rc == ST_OK && *p != '=') {
        rc = err_set(err, ST_USAGE, "let needs NAME = EXPRESSION");
        err_hint(err, "let bmi = weight/height^2");
    }
    p += rc == ST_OK;
    if (rc == ST_OK)
        rc = check_name(buf_str(&name), err);
    if (rc == ST_OK)
        rc = expr_parse(p, &e, err);
    if (rc == ST_OK) {
        buf_puts(out, "let ");
        expr_write_name(out, buf_str(&name));
        buf_puts(out, " = ");
        write_line(out, p + strspn(p, " \t\r\n"));
    }
    expr_free(e);
    buf_free(&name);
    return rc;
}
