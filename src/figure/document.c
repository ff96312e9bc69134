/* figure/document.c -- see document.h. */
#include "figure/document.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *copy(struct document *d, const char *text)
{
    char *s = text ? mem_strdup(text, NULL) : NULL;

    d->failed |= text && !s;
    return s;
}

struct document *document_new(const char *title, const char *headline, const char *made_by,
                              struct err *err)
{
    struct document *d = mem_calloc(1, sizeof *d, "a report", err);

    if (!d)
        return NULL;
    d->title = copy(d, title);
    d->headline = copy(d, headline);
    d->made_by = copy(d, made_by);
    return d;
}

static void table_free(struct document_table *t)
{
    for (size_t i = 0; i < t->ncols; i++)
        free(t->head[i]);
    for (size_t i = 0; i < t->n; i++)
        free(t->cell[i]);
    free(t->cell);
}

void document_free(struct document *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n; i++) {
        struct document_block *b = &d->block[i];
        free(b->text);
        free(b->name);
        table_free(&b->table);
        figure_free(b->figure);
    }
    free(d->block);
    free(d->title);
    free(d->headline);
    free(d->made_by);
    free(d);
}

/* A new block at the end, or NULL. */
static struct document_block *add(struct document *d, enum document_kind kind, const char *text)
{
    void *p = d->block;

    if (mem_grow(&p, &d->cap, d->n + 1, sizeof *d->block, "a report", NULL) != ST_OK) {
        d->failed = true;
        return NULL;
    }
    d->block = p;
    d->block[d->n] = (struct document_block){ .kind = kind, .text = copy(d, text) };
    return &d->block[d->n++];
}

void document_add(struct document *d, enum document_kind kind, const char *text)
{
    add(d, kind, text);
}

void document_figure(struct document *d, const char *name, const char *title, struct figure *f)
{
    struct document_block *b = add(d, DOCUMENT_FIGURE, title);

    if (b) {
        b->name = copy(d, name);
        b->figure = f;
    } else {
        figure_free(f);
    }
}

/* Tables. */

/* The table that was begun last; NULL if there was no memory for one. */
static struct document_table *last_table(struct document *d)
{
    return d->n > 0 && d->block[d->n - 1].kind == DOCUMENT_TABLE ? &d->block[d->n - 1].table : NULL;
}

void document_table(struct document *d, const char *caption)
{
    add(d, DOCUMENT_TABLE, caption);
}

void document_column(struct document *d, enum document_column kind, const char *head)
{
    struct document_table *t = last_table(d);

    if (!t || t->ncols == DOCUMENT_COLUMNS)
        return;
    t->head[t->ncols] = copy(d, head);
    t->column[t->ncols++] = kind;
}

void document_cell(struct document *d, const char *text)
{
    struct document_table *t = last_table(d);
    void *p = t ? t->cell : NULL;

    if (!t || mem_grow(&p, &t->cap, t->n + 1, sizeof *t->cell, "a report", NULL) != ST_OK) {
        d->failed = true;
        return;
    }
    t->cell = p;
    t->cell[t->n] = copy(d, text ? text : "");
    t->n += t->cell[t->n] != NULL;
}

void document_cell_number(struct document *d, double v)
{
    char text[40] = "";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    document_cell(d, text);
}

void document_facts(struct document *d)
{
    document_table(d, NULL);
    document_column(d, DOCUMENT_NAME, NULL);
    document_column(d, DOCUMENT_TEXT, NULL);
}

void document_fact(struct document *d, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    document_cell(d, name);
    document_cell(d, text);
}

void document_fact_count(struct document *d, const char *name, size_t n)
{
    char text[32];

    text_count(text, sizeof text, n);
    document_fact(d, name, text);
}

size_t document_char(const char *s, uint32_t *point)
{
    const size_t n = text_decode(s, point);
    const uint32_t u = *point;
    const bool control = n == 0 || u == UINT32_MAX || (u < 32 && u != '\n' && u != '\t') ||
                         (u >= 0x7f && u < 0xa0) || (u & 0xfffe) == 0xfffe ||
                         (u >= 0x202a && u <= 0x202e) ||
                         (u >= 0x2066 && u <= 0x2069); /* overrides of direction */

    if (control)
        *point = 0xfffd;
    return n ? n : 1;
}
