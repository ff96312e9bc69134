/* data/encoding_json.c -- an encoding as JSON and back, exactly (json.h).  Each kind of rows writes
 * and reads what it has to say of sequences; what is read is checked as a whole at the end. */
#include "data/dataset.h"
#include "data/json.h"
#include "data/kinds/kind.h"
#include "data/kinds/letters.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_word[] = { "real", "level", "missing", "letter",
                                       "filter", "pool" };
static const char *const yscale_word[] = { "standard", "log", "none" };
static const char *const missing_word[] = { "error", "mean", "median", "drop" };

/* The kernel itself says the rest: average, lengthscale. */
static void write_sequence(struct buf *b, const struct encoding *e)
{
    const struct enc_sequence *s = &e->seq;

    buf_puts(b, ",\"sequence\":{\"column\":");
    json_write_string(b, s->column);
    buf_puts(b, ",\"alphabet\":");
    json_write_string(b, s->order);
    const struct layer_ops *layer = layer_family(&s->layer);
    buf_printf(b, ",\"layer\":\"%s\"", layer != NULL ? layer->name : "none");
    json_write_number(b, "width", (double)s->layer.width);
    json_write_number(b, "filters", (double)s->layer.filters);
    json_write_number(b, "channels", (double)s->layer.channels);
    json_write_number(b, "positions", (double)s->layer.positions);
    json_write_number(b, "seed", (double)s->seed);
    json_write_number(b, "inputs", (double)s->inputs);
    for (size_t k = 0; kind_at(k) != NULL; k++)
        if (kind_at(k)->write != NULL && kind_at(k)->encodes(e, ENC_LETTER, false))
            kind_at(k)->write(b, s);
    buf_putc(b, '}');
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
    buf_printf(&b, ",\"yscale\":\"%s\",\"missing\":\"%s\"", yscale_word[e->yscale],
               missing_word[e->missing]);
    json_write_number(&b, "ymean", e->ymean);
    json_write_number(&b, "ysd", e->ysd);
    if (e->yscale != Y_STANDARD) /* where it is another number */
        json_write_number(&b, "yown", e->yown);
    if (e->seq.column != NULL)
        write_sequence(&b, e);
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
    buf_puts(&b, ",\"columns\":[");
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        const struct enc_col *c = &e->col[j];
        buf_puts(&b, j > 0 ? ",{\"column\":" : "{\"column\":");
        json_write_string(&b, c->column);
        buf_printf(&b, ",\"kind\":\"%s\"", kind_word[c->kind]);
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

static enum status column_member(struct json_reader *r, const char *key, void *into)
{
    struct enc_col *c = into;
    unsigned k;
    if (strcmp(key, "column") == 0 && c->column == NULL)
        return json_string(r, &c->column);
    if (strcmp(key, "level") == 0 && c->level == NULL)
        return json_string(r, &c->level);
    if (strcmp(key, "kind") == 0) {
        enum status rc = json_word(r, kind_word, sizeof kind_word / sizeof *kind_word, &k);
        c->kind = rc == ST_OK ? (enum enc_kind)k : ENC_REAL;
        return rc;
    }
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

/* "39V": a position from 1, one letter; with numbers for letters "39#2". */
static bool letter_word(const char *s)
{
    const size_t digits = strspn(s, "0123456789");

    if (digits > 0 && s[digits] == '#' && s[digits + 1] != '\0') {
        const size_t more = strspn(s + digits + 1, "0123456789");
        return digits < 10 && *s != '0' && s[digits + 1] != '0' && more < 10 &&
               s[digits + 1 + more] == '\0';
    }
    return digits > 0 && digits < 10 && *s != '0' && s[digits] != '\0' && s[digits + 1] == '\0';
}

/* Letters by position stand with or without numbers, as the encoding has them. */
static bool channels_there(const struct encoding *e)
{
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        const char *s = e->col[j].level;
        if (e->col[j].kind != ENC_LETTER)
            continue;
        const size_t digits = strspn(s, "0123456789");
        const bool number = s[digits + 1] != '\0';
        if (number != (e->seq.value != NULL || e->seq.node != NULL) ||
            (number && strtoul(s + digits + 1, NULL, 10) > e->seq.layer.channels))
            return false;
    }
    return true;
}

static enum status sequence_member(struct json_reader *r, const char *key, void *into)
{
    struct encoding *e = into;
    struct enc_sequence *s = &e->seq;
    char *order = NULL;
    size_t seed = 0;

    if (strcmp(key, "column") == 0 && s->column == NULL)
        return json_string(r, &s->column);
    if (strcmp(key, "alphabet") == 0) {
        enum status rc = json_string(r, &order);
        if (rc == ST_OK && strlen(order) > SEQUENCE_LETTERS_MOST)
            rc = json_wrong(r, "an alphabet is too long");
        if (rc == ST_OK)
            strcpy(s->order, order);
        free(order);
        return rc;
    }
    if (strcmp(key, "layer") == 0) {
        char *name;
        const enum status rc = json_string(r, &name);
        if (rc != ST_OK)
            return rc;
        const bool none = strcmp(name, "none") == 0;
        s->layer.ops = none ? NULL : layer_find(name);
        free(name);
        return none || (s->layer.ops && !s->layer.ops->family) ? ST_OK
                                                               : json_wrong(r, "an unknown word");
    }
    if (strcmp(key, "width") == 0)
        return json_count(r, KERNEL_WIDTH_MOST, &s->layer.width);
    if (strcmp(key, "filters") == 0)
        return json_count(r, KERNEL_FILTERS_MOST, &s->layer.filters);
    if (strcmp(key, "channels") == 0)
        return s->node != NULL || s->value != NULL
                   ? json_wrong(r, "channels stand before what they count")
                   : json_count(r, 65536, &s->layer.channels);
    if (strcmp(key, "positions") == 0)
        return json_count(r, 1e9, &s->layer.positions);
    if (strcmp(key, "seed") == 0) {
        const enum status rc = json_count(r, 9e15, &seed);
        s->seed = seed;
        return rc;
    }
    if (strcmp(key, "inputs") == 0)
        return json_count(r, 1e9, &e->seq.inputs);
    for (size_t i = 0; kind_at(i) != NULL; i++) {
        bool mine = true;
        const enum status rc = kind_at(i)->member != NULL ? kind_at(i)->member(r, key, s, &mine)
                                                          : (mine = false, ST_OK);
        if (mine)
            return rc;
    }
    return json_wrong(r, "an unknown or repeated member");
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
            (c->kind == ENC_LEVEL || c->kind == ENC_LETTER || c->kind == ENC_POOL) !=
                (c->level != NULL) ||
            (c->kind == ENC_LETTER && !letter_word(c->level)) || !(c->sd > 0.0) || c->limit < 0.0)
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
        if (e->nmore + 1 >= TARGETS_MOST)
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

/* Of each kernel: its first column, and how many. */
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
        e->part[e->nparts++] = (struct enc_part){ pair[0], pair[1] };
    }
    return e->nparts > 0 ? ST_OK : json_wrong(r, "a list is empty");
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
    if (strcmp(key, "yscale") == 0) {
        rc = json_word(r, yscale_word, 3, &k);
        e->yscale = rc == ST_OK ? (enum y_scale)k : Y_STANDARD;
        return rc;
    }
    if (strcmp(key, "missing") == 0) {
        rc = json_word(r, missing_word, 4, &k);
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
    if (strcmp(key, "sequence") == 0 && e->seq.column == NULL)
        return json_object(r, sequence_member, e);
    return json_wrong(r, "an unknown or repeated member");
}

/* Windows read a row of symbols, filters fill as many columns as there are. */
static enum status check_sequence(struct json_reader *r, struct encoding *e)
{
    const struct enc_sequence *s = &e->seq;
    const size_t letters = strlen(s->order), wide = s->layer.width * s->layer.channels;
    size_t filters = 0;

    for (size_t j = 0; e->col != NULL && j < e->ncol; j++)
        filters += e->col[j].kind == ENC_FILTER;
    e->seq.layer.symbols = s->value == NULL && s->node == NULL;
    if (s->value != NULL && s->layer.channels > 256)
        return json_wrong(r, "numbers of letters are too many");
    for (size_t j = 0; j < e->ncol; j++)
        if (e->col[j].kind == ENC_POOL && s->node == NULL)
            return json_wrong(r, "means without nodes");
    if (!channels_there(e))
        return json_wrong(r, "letters without numbers");
    if (s->column == NULL)
        return filters > 0 ? json_wrong(r, "filters without a sequence") : ST_OK;
    size_t least = letters, most = letters + 1;
    for (size_t i = 1; i < s->kmer && least <= LETTERS_WORDS_MOST; i++)
        least = most = least * letters;
    if (letters == 0 || s->layer.channels == 0 ||
        (s->kmer > 0 && (s->value != NULL || s->node != NULL)) ||
        (e->seq.layer.symbols && (s->layer.channels < least || s->layer.channels > most)))
        return json_wrong(r, "a sequence is incomplete");
    if (!s->layer.ops) /* letters by position, with numbers */
        return !e->seq.layer.symbols && filters == 0 && e->ncol > 0 && s->inputs == 0
                   ? ST_OK
                   : json_wrong(r, "a sequence is incomplete");
    if (wide == 0)
        return json_wrong(r, "a sequence is incomplete");
    if (layer_kind(&s->layer) == LAYER_NUMBERS)
        return filters == s->layer.filters && filters > 0 && s->inputs == 0
                   ? ST_OK
                   : json_wrong(r, "filters are missing");
    if ((e->ncol > 0 && e->nparts == 0) || filters > 0 || e->seq.inputs < 2 ||
        (!e->seq.layer.symbols && (e->seq.inputs - 1) % s->layer.channels != 0))
        return json_wrong(r, "a sequence is incomplete");
    if (e->ncol == 0) {
        free(e->col);
        e->col = NULL;
    }
    return ST_OK;
}

/* Parts are runs of columns that follow one another or are the same. */
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

/* Levels of one column stand together and in order: encode() searches them. */
static enum status check_order(struct json_reader *r, const struct encoding *e)
{
    for (size_t j = 1; e->col != NULL && j < e->ncol; j++) {
        const struct enc_col *a = &e->col[j - 1], *b = &e->col[j];
        bool same = strcmp(a->column, b->column) == 0 && !part_begins(e, j);
        if (same && (a->kind == ENC_LETTER || a->kind == ENC_FILTER || b->kind == ENC_LETTER ||
                     b->kind == ENC_FILTER || a->kind == ENC_POOL || b->kind == ENC_POOL)) {
            if (a->kind != b->kind)
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
        rc = check_sequence(&r, out);
    out->d = out->ncol + out->seq.inputs;
    if (rc == ST_OK && !parts_there(out))
        rc = json_wrong(&r, "parts lie beyond the columns");
    if (rc == ST_OK && (*r.p != '\0' || out->d == 0 || !(out->ysd > 0.0) ||
                        (out->nmore > 0 && out->target == NULL)))
        rc = json_wrong(&r, "it is incomplete");
    if (rc == ST_OK)
        rc = check_order(&r, out);
    if (rc != ST_OK)
        encoding_free(out);
    return rc;
}
