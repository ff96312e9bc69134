/* data/encoding_json.c -- writes an encoding as JSON and reads it back exactly (json.h). Each kind
 * of rows handles its own state. The whole is checked after reading. */
#include "data/dataset.h"
#include "data/json.h"
#include "data/kinds/kind.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of columns. Numbers of a kind (ENC_CELL) have the words of that kind. */
static const char *const kind_word[] = { "real", "level", "missing", "filter" };
enum { KIND_WORDS = sizeof kind_word / sizeof *kind_word, HELD_MOST = 65536 };

/* The kernel itself stores the rest: average, lengthscale. */
static void write_held(struct buf *b, const struct enc_held *h)
{
    const struct layer_ops *layer = layer_family(&h->layer);

    buf_puts(b, "{\"column\":");
    json_write_string(b, h->column);
    if (h->kind->mark == NULL) {
        buf_puts(b, ",\"kind\":");
        json_write_string(b, h->kind->name);
    }
    if (h->kind->alphabet != NULL) {
        buf_puts(b, ",\"alphabet\":");
        json_write_string(b, h->kind->alphabet(h->state));
    }
    buf_printf(b, ",\"layer\":\"%s\"", layer != NULL ? layer->name : "none");
    json_write_number(b, "width", (double)h->layer.width);
    json_write_number(b, "filters", (double)h->layer.filters);
    json_write_number(b, "channels", (double)h->layer.channels);
    json_write_number(b, "positions", (double)h->layer.positions);
    json_write_number(b, "seed", (double)h->seed);
    json_write_number(b, "inputs", (double)h->inputs);
    if (h->kind->write != NULL)
        h->kind->write(b, h);
    buf_putc(b, '}');
}

/* Of several classes, and of two of which one is the positive one. */
static void write_classes(struct buf *b, const struct encoding *e)
{
    if (e->rule != NULL) {
        buf_puts(b, ",\"rule\":");
        json_write_string(b, e->rule);
    }
    if (e->balanced)
        json_write_number(b, "balanced", 1.0);
    if (e->alpha == 0.0) {
        buf_puts(b, ",\"negative\":");
        json_write_string(b, e->classes[0]);
        buf_puts(b, ",\"positive\":");
        json_write_string(b, e->classes[1]);
        return;
    }
    json_write_number(b, "alpha", e->alpha);
    for (size_t c = 0; c < e->nclasses; c++) {
        buf_puts(b, c > 0 ? "," : ",\"classes\":[");
        json_write_string(b, e->classes[c]);
    }
    buf_putc(b, ']');
}

char *encoding_to_json(const struct encoding *e, struct err *err)
{
    struct buf b = { 0 };
    buf_puts(&b, "{\"target\":");
    if (e->target != NULL)
        json_write_string(&b, e->target);
    else
        buf_puts(&b, "null");
    if (e->weight != NULL) {
        buf_puts(&b, ",\"weight\":");
        json_write_string(&b, e->weight);
    }
    if (e->steps != NULL) {
        buf_puts(&b, ",\"steps\":");
        json_write_string(&b, e->steps);
    }
    buf_printf(&b, ",\"yscale\":\"%s\",\"missing\":\"%s\"", encoding_yscale_words[e->yscale],
               encoding_missing_words[e->missing]);
    json_write_number(&b, "ymean", e->ymean);
    json_write_number(&b, "ysd", e->ysd);
    if (e->nclasses > 0)
        write_classes(&b, e);
    if (e->yscale != Y_STANDARD) /* only if the number differs */
        json_write_number(&b, "yown", e->yown);
    for (size_t k = 0; k < e->nheld; k++) { /* a list, if there are several */
        buf_puts(&b, k > 0 ? "," : e->nheld == 1 ? ",\"sequence\":" : ",\"sequences\":[");
        write_held(&b, &e->held[k]);
        buf_puts(&b, k > 0 && k + 1 == e->nheld ? "]" : "");
    }
    for (size_t j = 0; j < e->nmore; j++) {
        buf_puts(&b, j > 0 ? ",{\"name\":" : ",\"more\":[{\"name\":");
        json_write_string(&b, e->more[j].name);
        json_write_number(&b, "mean", e->more[j].mean);
        json_write_number(&b, "sd", e->more[j].sd);
        if (e->yscale != Y_STANDARD)
            json_write_number(&b, "own", e->more[j].own);
        buf_puts(&b, j + 1 < e->nmore ? "}" : "}]");
    }
    for (size_t t = 0; t < e->nparts; t++)
        buf_printf(&b, "%s%zu,%zu%s", t > 0 ? "," : ",\"parts\":[", e->part[t].first, e->part[t].n,
                   t + 1 < e->nparts ? "" : "]");
    for (size_t t = 0; e->nheld > 1 && t < e->nparts; t++)
        buf_printf(&b, "%s%zu%s", t > 0 ? "," : ",\"reads\":[", e->part[t].held,
                   t + 1 < e->nparts ? "" : "]");
    buf_puts(&b, ",\"columns\":[");
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        const struct enc_col *c = &e->col[j];
        buf_puts(&b, j > 0 ? ",{\"column\":" : "{\"column\":");
        json_write_string(&b, c->column);
        buf_printf(&b, ",\"kind\":\"%s\"",
                   c->kind == ENC_CELL ? c->of->numbers[c->number].word : kind_word[c->kind]);
        if (c->level != NULL) {
            buf_puts(&b, ",\"level\":");
            json_write_string(&b, c->level);
        }
        json_write_number(&b, "mean", c->mean);
        json_write_number(&b, "sd", c->sd);
        json_write_number(&b, "fill", c->fill);
        json_write_number(&b, "limit", c->limit);
        buf_printf(&b, ",\"constant\":%s}", c->constant ? "true" : "false");
    }
    buf_puts(&b, "]}");
    char *s = buf_take(&b);
    if (s == NULL)
        err_nomem(err, 64 * e->d, "an encoding");
    return s;
}

/* Reading: just the shape above, members in any order. */

/* The kind of column that a word stands for. Several kinds of rows may use the same word for their
 * numbers; which one it is becomes clear when everything has been read (find_kinds). */
static enum status take_kind(struct json_reader *r, struct enc_col *c)
{
    char *word = NULL;
    enum status rc = json_string(r, &word);
    size_t k = 0;

    while (rc == ST_OK && k < KIND_WORDS && strcmp(word, kind_word[k]) != 0)
        k++;
    c->kind = k < KIND_WORDS ? (enum enc_kind)k : ENC_CELL;
    c->of = NULL;
    for (size_t i = 0; rc == ST_OK && c->kind == ENC_CELL && c->of == NULL && kind_at(i); i++)
        if (kind_number_find(kind_at(i), word, &c->number))
            c->of = kind_at(i);
    free(word);
    return rc == ST_OK && c->kind == ENC_CELL && c->of == NULL ? json_wrong(r, "an unknown word")
                                                               : rc;
}

static enum status column_member(struct json_reader *r, const char *key, void *into)
{
    struct enc_col *c = into;
    if (strcmp(key, "column") == 0 && c->column == NULL)
        return json_string(r, &c->column);
    if (strcmp(key, "level") == 0 && c->level == NULL)
        return json_string(r, &c->level);
    if (strcmp(key, "kind") == 0)
        return take_kind(r, c);
    if (strcmp(key, "mean") == 0)
        return json_number(r, &c->mean);
    if (strcmp(key, "sd") == 0)
        return json_number(r, &c->sd);
    if (strcmp(key, "fill") == 0)
        return json_number(r, &c->fill);
    if (strcmp(key, "limit") == 0)
        return json_number(r, &c->limit);
    if (strcmp(key, "constant") == 0)
        return json_bool(r, &c->constant);
    return json_wrong(r, "an unknown or repeated member");
}

/* The kind of rows whose state is read, by its name or by its members. */
struct marks {
    const struct row_kind *kind;
    bool named;
};

static enum status mark_member(struct json_reader *r, const char *key, void *into)
{
    struct marks *m = into;
    char *name = NULL;

    if (strcmp(key, "kind") == 0 && !m->named) {
        const enum status rc = json_string(r, &name);
        m->kind = rc == ST_OK ? kind_find(name) : NULL;
        m->named = true;
        free(name);
        return rc == ST_OK && m->kind == NULL ? json_wrong(r, "an unknown word") : rc;
    }
    for (size_t i = 0; !m->named && kind_at(i) != NULL && kind_at(i) != m->kind; i++)
        if (kind_at(i)->mark != NULL && strcmp(kind_at(i)->mark, key) == 0)
            m->kind = kind_at(i); /* the first of the two */
    return json_skip(r);
}

static enum status take_layer(struct json_reader *r, struct layer *l)
{
    char *name;
    const enum status rc = json_string(r, &name);

    if (rc != ST_OK)
        return rc;
    const bool none = strcmp(name, "none") == 0;
    l->ops = none ? NULL : layer_find(name);
    free(name);
    return none || (l->ops && !l->ops->family) ? ST_OK : json_wrong(r, "an unknown word");
}

static enum status held_member(struct json_reader *r, const char *key, void *into)
{
    struct enc_held *h = into;
    size_t seed = 0;
    bool mine = true;

    if (strcmp(key, "kind") == 0)
        return json_skip(r); /* it has been examined already */
    if (strcmp(key, "column") == 0 && h->column == NULL)
        return json_string(r, &h->column);
    if (strcmp(key, "layer") == 0)
        return take_layer(r, &h->layer);
    if (strcmp(key, "width") == 0)
        return json_count(r, KERNEL_WIDTH_MOST, &h->layer.width);
    if (strcmp(key, "filters") == 0)
        return json_count(r, KERNEL_FILTERS_MOST, &h->layer.filters);
    if (strcmp(key, "channels") == 0)
        return json_count(r, 65536, &h->layer.channels);
    if (strcmp(key, "positions") == 0)
        return json_count(r, 1e9, &h->layer.positions);
    if (strcmp(key, "seed") == 0) {
        const enum status rc = json_count(r, 9e15, &seed);
        h->seed = seed;
        return rc;
    }
    if (strcmp(key, "inputs") == 0)
        return json_count(r, 1e9, &h->inputs);
    const enum status rc = h->kind->member != NULL ? h->kind->member(r, key, h, &mine) : ST_OK;
    return h->kind->member != NULL && mine ? rc : json_wrong(r, "an unknown or repeated member");
}

static enum status take_held(struct json_reader *r, struct encoding *e)
{
    struct marks m = { .kind = NULL };
    struct json_reader look = *r;
    enum status rc = json_object(&look, mark_member, &m);
    void *p = e->held;
    size_t cap = e->nheld;

    if (rc != ST_OK || m.kind == NULL)
        return rc != ST_OK ? rc : json_wrong(r, "it does not say of which kind its rows are");
    rc = mem_grow(&p, &cap, e->nheld + 1, sizeof *e->held, "an encoding", r->err);
    e->held = p;
    if (rc != ST_OK)
        return rc;
    struct enc_held *h = &e->held[e->nheld++];
    *h = (struct enc_held){ 0 };
    h->kind = m.kind;
    h->state = h->kind->state_bytes > 0
                   ? mem_calloc(1, h->kind->state_bytes, "an encoding", r->err)
                   : NULL;
    return h->state != NULL || h->kind->state_bytes == 0 ? json_object(r, held_member, h)
                                                         : ST_NOMEM;
}

/* Several of them. */
static enum status take_helds(struct json_reader *r, struct encoding *e)
{
    enum status rc = ST_OK;

    if (e->nheld > 0 || !json_take(r, '['))
        return json_wrong(r, "a list was expected");
    while (rc == ST_OK && !json_take(r, ']')) {
        if (e->nheld > 0 && !json_take(r, ','))
            return json_wrong(r, "a comma was expected");
        if (e->nheld == HELD_MOST)
            return json_wrong(r, "there are too many sequences");
        rc = take_held(r, e);
    }
    return rc == ST_OK && e->nheld == 0 ? json_wrong(r, "a list is empty") : rc;
}

/* For each kernel, which of them it reads. */
static enum status take_reads(struct json_reader *r, struct encoding *e)
{
    size_t n = 0;

    if (!json_take(r, '['))
        return json_wrong(r, "a list was expected");
    for (; !json_take(r, ']'); n++) {
        if (n > 0 && !json_take(r, ','))
            return json_wrong(r, "a comma was expected");
        if (n == KERNEL_MAX_TERMS)
            return json_wrong(r, "there are too many parts");
        const enum status rc = json_count(r, 1e9, &e->part[n].held);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

static enum status take_columns(struct json_reader *r, struct encoding *e)
{
    size_t cap = 0;
    if (e->col != NULL || !json_take(r, '['))
        return json_wrong(r, "a list was expected");
    while (!json_take(r, ']')) {
        if (e->ncol > 0 && !json_take(r, ','))
            return json_wrong(r, "a comma was expected");
        void *p = e->col;
        enum status rc = mem_grow(&p, &cap, e->ncol + 1, sizeof *e->col, "an encoding", r->err);
        e->col = p;
        if (rc != ST_OK)
            return rc;
        struct enc_col *c = &e->col[e->ncol++];
        *c = (struct enc_col){ 0 };
        rc = json_object(r, column_member, c);
        if (rc != ST_OK)
            return rc;
        if (c->column == NULL ||
            (c->kind == ENC_LEVEL || c->kind == ENC_CELL) != (c->level != NULL) ||
            !(c->sd > 0.0) || c->limit < 0.0)
            return json_wrong(r, "a column is incomplete");
    }
    return ST_OK;
}

static enum status target_member(struct json_reader *r, const char *key, void *into)
{
    struct enc_target *t = into;
    if (strcmp(key, "name") == 0 && t->name == NULL)
        return json_string(r, &t->name);
    if (strcmp(key, "mean") == 0)
        return json_number(r, &t->mean);
    if (strcmp(key, "sd") == 0)
        return json_number(r, &t->sd);
    if (strcmp(key, "own") == 0)
        return json_number(r, &t->own);
    return json_wrong(r, "an unknown or repeated member");
}

/* Targets after the first. */
static enum status take_more(struct json_reader *r, struct encoding *e)
{
    size_t cap = 0;
    if (e->more != NULL || !json_take(r, '['))
        return json_wrong(r, "a list was expected");
    while (!json_take(r, ']')) {
        if (e->nmore > 0 && !json_take(r, ','))
            return json_wrong(r, "a comma was expected");
        if (e->nmore + 1 >= TARGET_COLUMNS_MOST)
            return json_wrong(r, "there are too many targets");
        void *p = e->more;
        enum status rc = mem_grow(&p, &cap, e->nmore + 1, sizeof *e->more, "an encoding", r->err);
        e->more = p;
        if (rc != ST_OK)
            return rc;
        struct enc_target *t = &e->more[e->nmore++];
        *t = (struct enc_target){ .sd = 0.0 };
        rc = json_object(r, target_member, t);
        if (rc == ST_OK && (t->name == NULL || !(t->sd > 0.0)))
            rc = json_wrong(r, "a target is incomplete");
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

/* For each kernel its first column, and their number. */
static enum status take_parts(struct json_reader *r, struct encoding *e)
{
    if (e->nparts != 0 || !json_take(r, '['))
        return json_wrong(r, "a list was expected");
    while (!json_take(r, ']')) {
        size_t pair[2] = { 0 };
        if (e->nparts == KERNEL_MAX_TERMS)
            return json_wrong(r, "there are too many parts");
        for (size_t i = 0; i < 2; i++) {
            if ((e->nparts > 0 || i > 0) && !json_take(r, ','))
                return json_wrong(r, "a comma was expected");
            const enum status rc = json_count(r, 1e9, &pair[i]);
            if (rc != ST_OK)
                return rc;
        }
        e->part[e->nparts].first = pair[0];
        e->part[e->nparts++].n = pair[1];
    }
    return e->nparts > 0 ? ST_OK : json_wrong(r, "a list is empty");
}

/* One more class. */
static enum status take_class(struct json_reader *r, struct encoding *e)
{
    const enum status rc = json_string(r, &e->classes[e->nclasses]);

    e->nclasses += rc == ST_OK;
    return rc;
}

/* The list of classes, or the first of two. */
static enum status take_classes(struct json_reader *r, struct encoding *e, bool list)
{
    e->classes = mem_calloc(TARGETS_MOST, sizeof *e->classes, "classes", r->err);
    if (e->classes == NULL)
        return ST_NOMEM;
    if (!list)
        return take_class(r, e);
    enum status rc = json_take(r, '[') ? ST_OK : json_wrong(r, "classes are no list");
    do {
        if (rc == ST_OK && e->nclasses == TARGETS_MOST)
            rc = json_wrong(r, "there are too many classes");
        if (rc == ST_OK)
            rc = take_class(r, e);
    } while (rc == ST_OK && json_take(r, ','));
    return rc != ST_OK || json_take(r, ']') ? rc : json_wrong(r, "the list of classes has no end");
}

static enum status encoding_member(struct json_reader *r, const char *key, void *into)
{
    struct encoding *e = into;
    unsigned k = 0;
    enum status rc;
    if (strcmp(key, "target") == 0 && e->target == NULL) {
        json_blanks(r);
        if (strncmp(r->p, "null", 4) != 0)
            return json_string(r, &e->target);
        r->p += 4;
        return ST_OK;
    }
    if (strcmp(key, "weight") == 0 && e->weight == NULL)
        return json_string(r, &e->weight);
    if (strcmp(key, "steps") == 0 && e->steps == NULL)
        return json_string(r, &e->steps);
    if (strcmp(key, "classes") == 0 || strcmp(key, "negative") == 0)
        return e->nclasses == 0 ? take_classes(r, e, key[0] == 'c')
                                : json_wrong(r, "classes are there twice");
    if (strcmp(key, "positive") == 0)
        return e->nclasses == 1 ? take_class(r, e) : json_wrong(r, "positive without negative");
    if (strcmp(key, "alpha") == 0)
        return json_number(r, &e->alpha);
    if (strcmp(key, "rule") == 0 && e->rule == NULL)
        return json_string(r, &e->rule);
    if (strcmp(key, "balanced") == 0) {
        double one = 0.0;
        rc = json_number(r, &one);
        e->balanced = one == 1.0;
        return rc;
    }
    if (strcmp(key, "yscale") == 0) {
        rc = json_word(r, encoding_yscale_words, Y_NONE + 1, &k);
        e->yscale = rc == ST_OK ? (enum y_scale)k : Y_STANDARD;
        return rc;
    }
    if (strcmp(key, "missing") == 0) {
        rc = json_word(r, encoding_missing_words, MISSING_DROP + 1, &k);
        e->missing = rc == ST_OK ? (enum missing_policy)k : MISSING_ERROR;
        return rc;
    }
    if (strcmp(key, "ymean") == 0)
        return json_number(r, &e->ymean);
    if (strcmp(key, "ysd") == 0)
        return json_number(r, &e->ysd);
    if (strcmp(key, "yown") == 0)
        return json_number(r, &e->yown);
    if (strcmp(key, "more") == 0)
        return take_more(r, e);
    if (strcmp(key, "parts") == 0)
        return take_parts(r, e);
    if (strcmp(key, "columns") == 0)
        return take_columns(r, e);
    if (strcmp(key, "sequence") == 0 && e->nheld == 0)
        return take_held(r, e);
    if (strcmp(key, "sequences") == 0)
        return take_helds(r, e);
    if (strcmp(key, "reads") == 0)
        return take_reads(r, e);
    return json_wrong(r, "an unknown or repeated member");
}

/* The kind of each column: a number belongs to the kind of what the encoding keeps about its
 * source, if that has a number of this name, otherwise to a kind that needs no state. */
static enum status find_kinds(struct json_reader *r, struct encoding *e)
{
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        struct enc_col *c = &e->col[j];
        const struct enc_held *h = encoding_held(e, c);
        if (c->kind != ENC_CELL) {
            c->of = c->kind == ENC_FILTER ? h->kind : &kind_columns;
            continue;
        }
        const char *word = c->of->numbers[c->number].word;
        c->of = h != NULL && kind_number_find(h->kind, word, &c->number) ? h->kind : NULL;
        for (size_t i = 0; c->of == NULL && kind_at(i) != NULL; i++)
            if ((kind_at(i)->stateless || kind_at(i)->state_bytes == 0) &&
                kind_number_find(kind_at(i), word, &c->number))
                c->of = kind_at(i);
        if (c->of == NULL || (c->of->suits != NULL && !c->of->suits(h, c)))
            return json_wrong(r, "numbers of a kind of rows are not as it has them");
    }
    return ST_OK;
}

/* Windows read a part of a row; filters fill as many columns as there are filters. */
static enum status check_held(struct json_reader *r, const struct encoding *e, struct enc_held *h)
{
    size_t filters = 0;

    h->layer.symbols = (h->kind->rows & ROWS_SYMBOLS) != 0;
    const char *wrong = h->kind->check != NULL ? h->kind->check(h) : NULL;
    if (wrong != NULL)
        return json_wrong(r, wrong);
    if (!h->layer.ops) /* only numbers */
        return !h->layer.symbols && e->ncol > 0 && h->inputs == 0
                   ? ST_OK
                   : json_wrong(r, "a sequence is incomplete");
    if (h->layer.width == 0 || h->layer.channels == 0 || h->kind->positions == NULL)
        return json_wrong(r, "a sequence is incomplete");
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++)
        filters += e->col[j].kind == ENC_FILTER && encoding_held(e, &e->col[j]) == h;
    if (layer_kind(&h->layer) == LAYER_NUMBERS)
        return filters > 0 && h->layer.filters > 0 && filters % h->layer.filters == 0 &&
                       h->inputs == 0
                   ? ST_OK
                   : json_wrong(r, "filters are missing");
    return (e->ncol > 0 && e->nparts == 0) || h->inputs < 2 ||
                   (!h->layer.symbols && (h->inputs - 1) % h->layer.channels != 0)
               ? json_wrong(r, "a sequence is incomplete")
               : ST_OK;
}

/* Checks all that is kept about columns, and which of it the parts read. */
static enum status check_helds(struct json_reader *r, struct encoding *e)
{
    enum status rc = ST_OK;
    size_t parts = 0;

    for (size_t k = 0; rc == ST_OK && k < e->nheld; k++)
        rc = e->held[k].column != NULL ? ST_OK : json_wrong(r, "a sequence is incomplete");
    for (size_t k = 0; rc == ST_OK && k < e->nheld; k++) {
        rc = check_held(r, e, &e->held[k]);
        parts += e->held[k].inputs > 0;
    }
    for (size_t j = 0; rc == ST_OK && e->col != NULL && j < e->ncol; j++)
        if (e->col[j].kind == ENC_FILTER && encoding_held(e, &e->col[j]) == NULL)
            rc = json_wrong(r, "filters without a sequence");
    if (rc == ST_OK && (parts > ROW_PARTS_MOST || (parts > 1 && e->nparts == 0)))
        rc = json_wrong(r, "there are too many sequences");
    for (size_t t = 0; rc == ST_OK && t < e->nparts; t++)
        if (e->part[t].held >= (e->nheld > 0 ? e->nheld : 1))
            rc = json_wrong(r, "a part lies beyond the sequences");
    if (rc == ST_OK && e->ncol == 0) {
        free(e->col);
        e->col = NULL;
    }
    return rc;
}

/* True if the parts are consecutive ranges of columns, or equal. */
static bool parts_there(const struct encoding *e)
{
    for (size_t t = 0; t < e->nparts; t++)
        if (e->part[t].n > e->ncol || e->part[t].first > e->ncol - e->part[t].n)
            return false;
    return true;
}

static bool part_begins(const struct encoding *e, size_t j)
{
    for (size_t t = 0; t < e->nparts; t++)
        if (e->part[t].n > 0 && e->part[t].first == j)
            return true;
    return false;
}

/* The levels of one column must be consecutive and sorted, because encode() searches them. */
static enum status check_order(struct json_reader *r, const struct encoding *e)
{
    for (size_t j = 1; e->col != NULL && j < e->ncol; j++) {
        const struct enc_col *a = &e->col[j - 1], *b = &e->col[j];
        bool same = strcmp(a->column, b->column) == 0 && !part_begins(e, j);
        if (same && (a->kind >= ENC_FILTER || b->kind >= ENC_FILTER)) {
            if (a->kind != b->kind || a->number != b->number)
                return json_wrong(r, "columns are out of order");
            continue;
        }
        if (same && (a->kind == ENC_MISSING || b->kind == ENC_REAL ||
                     (b->kind == ENC_LEVEL && a->kind != ENC_LEVEL) ||
                     (b->kind == ENC_LEVEL && strcmp(a->level, b->level) >= 0)))
            return json_wrong(r, "columns are out of order");
    }
    return ST_OK;
}

enum status encoding_from_json(const char *json, struct encoding *out, struct err *err)
{
    struct json_reader r = { json, json, err };
    *out = (struct encoding){ .ysd = 0.0 };
    enum status rc = json_object(&r, encoding_member, out);
    json_blanks(&r);
    if (rc == ST_OK)
        rc = check_helds(&r, out);
    if (rc == ST_OK)
        rc = find_kinds(&r, out);
    if (rc == ST_OK)
        encoding_width(out);
    if (rc == ST_OK && !parts_there(out))
        rc = json_wrong(&r, "parts lie beyond the columns");
    if (rc == ST_OK && (out->nclasses == 1 || (out->nclasses > 2 && !(out->alpha > 0.0)) ||
                        (out->nclasses == 0 && out->alpha != 0.0) ||
                        (out->nclasses > 0 && out->nmore > 0) || out->alpha < 0.0))
        rc = json_wrong(&r, "the classes are incomplete");
    if (rc == ST_OK && (*r.p != '\0' || out->d == 0 || !(out->ysd > 0.0) ||
                        (out->nmore > 0 && out->target == NULL)))
        rc = json_wrong(&r, "it is incomplete");
    if (rc == ST_OK)
        rc = check_order(&r, out);
    if (rc != ST_OK)
        encoding_free(out);
    return rc;
}
