/* data/encoding_json.c -- an encoding as JSON and back, exactly: numbers with the digits that read
 * back to the same value, names byte for byte (a byte that is not UTF-8 travels as a lone low
 * surrogate, \udc80 to \udcff).  What is read comes from a session file and is not believed. */
#include "data/dataset.h"
#include "data/kinds/letters.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_word[] = { "real", "level", "missing", "letter",
                                       "filter", "pool" };
static const char *const norm_word[] = { "standard", "unit", "raw" };
static const char *const yscale_word[] = { "standard", "log", "none" };
static const char *const missing_word[] = { "error", "mean", "median", "drop" };

/* Writing. */

/* Bytes of the UTF-8 character at s, 0 when there is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
             : s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

static void write_string(struct buf *b, const char *s)
{
    buf_putc(b, '"');
    for (const unsigned char *p = (const unsigned char *)s; *p != '\0';) {
        size_t n = utf8_length(p);
        if (n == 0)
            buf_printf(b, "\\udc%02x", *p);
        else if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)
            buf_printf(b, "\\u%04x", *p);
        else
            buf_putn(b, (const char *)p, n);
        p += n == 0 ? 1 : n;
    }
    buf_putc(b, '"');
}

static void write_number(struct buf *b, const char *key, double x)
{
    buf_printf(b, ",\"%s\":", key);
    buf_json_double(b, x);
}


/* The kernel itself says the rest: average, lengthscale. */
static void write_sequence(struct buf *b, const struct encoding *e)
{
    const struct enc_sequence *s = &e->seq;

    buf_puts(b, ",\"sequence\":{\"column\":");
    write_string(b, s->column);
    buf_puts(b, ",\"alphabet\":");
    write_string(b, s->order);
    buf_printf(b, ",\"layer\":\"%s\"", layer_family(&s->layer) ? layer_family(&s->layer)->name : "none");
    write_number(b, "width", (double)s->layer.width);
    write_number(b, "filters", (double)s->layer.filters);
    write_number(b, "channels", (double)s->layer.channels);
    write_number(b, "positions", (double)s->layer.positions);
    write_number(b, "seed", (double)s->seed);
    write_number(b, "inputs", (double)s->inputs);
    if (s->kmer > 0)
        write_number(b, "kmer", (double)s->kmer);
    for (size_t i = 0; s->value != NULL && i < strlen(s->order) * s->layer.channels; i++) {
        buf_puts(b, i > 0 ? "," : ",\"values\":[");
        buf_json_double(b, s->value[i]);
    }
    buf_puts(b, s->value != NULL ? "]" : "");
    if (s->node != NULL)
        buf_printf(b, ",\"series\":%s,\"norm\":\"%s\"", s->series ? "true" : "false",
                   norm_word[s->layer.norm]);
    for (size_t i = 0; s->node != NULL && i < s->layer.channels; i++) {
        buf_puts(b, i > 0 ? ",{\"name\":" : ",\"nodes\":[{\"name\":");
        write_string(b, s->node[i].name);
        write_number(b, "mean", s->node[i].mean);
        write_number(b, "sd", s->node[i].sd);
        buf_printf(b, ",\"flag\":%s}", s->node[i].flag ? "true" : "false");
    }
    buf_puts(b, s->node != NULL ? "]" : "");
    buf_putc(b, '}');
}

char *encoding_to_json(const struct encoding *e, struct err *err)
{
    struct buf b = { 0 };
    buf_puts(&b, "{\"target\":");
    if (e->target != NULL)
        write_string(&b, e->target);
    else
        buf_puts(&b, "null");
    if (e->weight != NULL) {
        buf_puts(&b, ",\"weight\":");
        write_string(&b, e->weight);
    }
    buf_printf(&b, ",\"yscale\":\"%s\",\"missing\":\"%s\"", yscale_word[e->yscale],
               missing_word[e->missing]);
    write_number(&b, "ymean", e->ymean);
    write_number(&b, "ysd", e->ysd);
    if (e->seq.column != NULL)
        write_sequence(&b, e);
    for (size_t j = 0; j < e->nmore; j++) {
        buf_puts(&b, j > 0 ? ",{\"name\":" : ",\"more\":[{\"name\":");
        write_string(&b, e->more[j].name);
        write_number(&b, "mean", e->more[j].mean);
        write_number(&b, "sd", e->more[j].sd);
        buf_puts(&b, j + 1 < e->nmore ? "}" : "}]");
    }
    for (size_t t = 0; t < e->nparts; t++)
        buf_printf(&b, "%s%zu,%zu%s", t > 0 ? "," : ",\"parts\":[", e->part[t].first, e->part[t].n,
                   t + 1 < e->nparts ? "" : "]");
    buf_puts(&b, ",\"columns\":[");
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        const struct enc_col *c = &e->col[j];
        buf_puts(&b, j > 0 ? ",{\"column\":" : "{\"column\":");
        write_string(&b, c->column);
        buf_printf(&b, ",\"kind\":\"%s\"", kind_word[c->kind]);
        if (c->level != NULL) {
            buf_puts(&b, ",\"level\":");
            write_string(&b, c->level);
        }
        write_number(&b, "mean", c->mean);
        write_number(&b, "sd", c->sd);
        write_number(&b, "fill", c->fill);
        write_number(&b, "limit", c->limit);
        buf_printf(&b, ",\"constant\":%s}", c->constant ? "true" : "false");
    }
    buf_puts(&b, "]}");
    char *s = buf_take(&b);
    if (s == NULL)
        err_nomem(err, 64 * e->d, "an encoding");
    return s;
}

/* Reading: just the shape above, members in any order. */

struct reader {
    const char *p, *start;
    struct err *err;
};

static enum status wrong(struct reader *r, const char *what)
{
    return err_named(r->err, ST_FORMAT, "encoding", "the stored encoding is damaged at byte %zu: "
                     "%s", (size_t)(r->p - r->start), what);
}

static void blanks(struct reader *r)
{
    while (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r')
        r->p++;
}

static bool take(struct reader *r, char c)
{
    blanks(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static bool hex4(const char *s, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = s[i];
        unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 16;
        if (v == 16)
            return false;
        *out = *out * 16 + v;
    }
    return true;
}

static void put_utf8(struct buf *b, unsigned c)
{
    if (c < 0x80) {
        buf_putc(b, (char)c);
    } else if (c < 0x800) {
        buf_putc(b, (char)(0xc0 | c >> 6));
        buf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_putc(b, (char)(0xe0 | c >> 12));
        buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else {
        buf_putc(b, (char)(0xf0 | c >> 18));
        buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
        buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_putc(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* \uXXXX behind the u: a character, a pair of surrogates, or a raw byte. */
static bool take_escape(struct reader *r, struct buf *b)
{
    unsigned c, low;
    if (!hex4(r->p, &c) || c == 0)
        return false;
    r->p += 4;
    if (c >= 0xdc80 && c <= 0xdcff) {
        buf_putc(b, (char)(c & 0xff));
        return true;
    }
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->p[0] != '\\' || r->p[1] != 'u' || !hex4(r->p + 2, &low) || low < 0xdc00 ||
            low > 0xdfff)
            return false;
        r->p += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c < 0xe000) {
        return false;
    }
    put_utf8(b, c);
    return true;
}

static enum status take_string(struct reader *r, char **out)
{
    struct buf b = { 0 };
    bool good = take(r, '"');
    while (good && *r->p != '"') {
        static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
        const char *k;
        if ((unsigned char)*r->p < 0x20) {
            good = false;
        } else if (*r->p != '\\') {
            buf_putc(&b, *r->p++);
        } else if (r->p[1] == 'u') {
            r->p += 2;
            good = take_escape(r, &b);
        } else if (r->p[1] != '\0' && (k = strchr(letters, r->p[1])) != NULL) {
            buf_putc(&b, means[k - letters]);
            r->p += 2;
        } else {
            good = false;
        }
    }
    if (!good) {
        buf_free(&b);
        return wrong(r, "a string was expected");
    }
    r->p++;
    *out = buf_take(&b);
    return *out != NULL ? ST_OK : err_nomem(r->err, 64, "an encoding");
}

static enum status take_number(struct reader *r, double *x)
{
    blanks(r);
    size_t len = strspn(r->p, "+-.0123456789eE");
    if (len == 0 || len > 64 || !text_double(r->p, len, x) || !isfinite(*x))
        return wrong(r, "a number was expected");
    r->p += len;
    return ST_OK;
}

static enum status take_word(struct reader *r, const char *const *words, size_t n, unsigned *out)
{
    char *s;
    enum status rc = take_string(r, &s);
    if (rc != ST_OK)
        return rc;
    for (*out = 0; *out < n && strcmp(words[*out], s) != 0;)
        ++*out;
    free(s);
    return *out < n ? ST_OK : wrong(r, "an unknown word");
}

static enum status take_bool(struct reader *r, bool *x)
{
    blanks(r);
    *x = strncmp(r->p, "true", 4) == 0;
    if (!*x && strncmp(r->p, "false", 5) != 0)
        return wrong(r, "true or false was expected");
    r->p += *x ? 4 : 5;
    return ST_OK;
}

/* Reads a member's value into whatever is being filled. */
typedef enum status member_fn(struct reader *r, const char *key, void *into);

static enum status take_object(struct reader *r, member_fn *member, void *into)
{
    if (!take(r, '{'))
        return wrong(r, "an object was expected");
    for (bool first = true; !take(r, '}'); first = false) {
        char *key = NULL;
        if (!first && !take(r, ','))
            return wrong(r, "a comma was expected");
        enum status rc = take_string(r, &key);
        if (rc == ST_OK && !take(r, ':'))
            rc = wrong(r, "a colon was expected");
        if (rc == ST_OK)
            rc = member(r, key, into);
        free(key);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

static enum status column_member(struct reader *r, const char *key, void *into)
{
    struct enc_col *c = into;
    unsigned k;
    if (strcmp(key, "column") == 0 && c->column == NULL)
        return take_string(r, &c->column);
    if (strcmp(key, "level") == 0 && c->level == NULL)
        return take_string(r, &c->level);
    if (strcmp(key, "kind") == 0) {
        enum status rc = take_word(r, kind_word, sizeof kind_word / sizeof *kind_word, &k);
        c->kind = rc == ST_OK ? (enum enc_kind)k : ENC_REAL;
        return rc;
    }
    if (strcmp(key, "mean") == 0)
        return take_number(r, &c->mean);
    if (strcmp(key, "sd") == 0)
        return take_number(r, &c->sd);
    if (strcmp(key, "fill") == 0)
        return take_number(r, &c->fill);
    if (strcmp(key, "limit") == 0)
        return take_number(r, &c->limit);
    if (strcmp(key, "constant") == 0)
        return take_bool(r, &c->constant);
    return wrong(r, "an unknown or repeated member");
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

static enum status take_count(struct reader *r, double most, size_t *n)
{
    double x = 0.0;
    const enum status rc = take_number(r, &x);

    if (rc == ST_OK && !(x >= 0.0 && x <= most && x == floor(x)))
        return wrong(r, "a whole number was expected");
    *n = (size_t)x;
    return rc;
}

static enum status take_values(struct reader *r, struct enc_sequence *s)
{
    enum { MOST = SEQUENCE_LETTERS_MOST * 256 };
    size_t n = 0;

    s->value = mem_calloc(MOST, sizeof *s->value, "an encoding", r->err);
    if (s->value == NULL)
        return ST_NOMEM;
    if (!take(r, '['))
        return wrong(r, "a list was expected");
    while (!take(r, ']')) {
        if (n == MOST || (n > 0 && !take(r, ',')))
            return wrong(r, "a comma was expected");
        const enum status rc = take_number(r, &s->value[n++]);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
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

static enum status node_member(struct reader *r, const char *key, void *into)
{
    struct enc_node *n = into;
    if (strcmp(key, "name") == 0 && n->name == NULL)
        return take_string(r, &n->name);
    if (strcmp(key, "mean") == 0)
        return take_number(r, &n->mean);
    if (strcmp(key, "sd") == 0)
        return take_number(r, &n->sd);
    if (strcmp(key, "flag") == 0)
        return take_bool(r, &n->flag);
    return wrong(r, "an unknown or repeated member");
}

/* Numbers of nodes, as many as there are channels, which stand before. */
static enum status take_nodes(struct reader *r, struct enc_sequence *s)
{
    size_t n = 0;

    if (s->layer.channels == 0 || !take(r, '['))
        return wrong(r, "a list was expected");
    s->node = mem_calloc(s->layer.channels, sizeof *s->node, "an encoding", r->err);
    if (s->node == NULL)
        return ST_NOMEM;
    while (!take(r, ']')) {
        if (n == s->layer.channels || (n > 0 && !take(r, ',')))
            return wrong(r, "numbers of nodes are too many");
        const enum status rc = take_object(r, node_member, &s->node[n]);
        if (rc != ST_OK)
            return rc;
        if (s->node[n].name == NULL || !(s->node[n].sd > 0.0))
            return wrong(r, "a number of nodes is incomplete");
        n++;
    }
    return n == s->layer.channels ? ST_OK : wrong(r, "numbers of nodes are missing");
}

static enum status sequence_member(struct reader *r, const char *key, void *into)
{
    struct encoding *e = into;
    struct enc_sequence *s = &e->seq;
    char *order = NULL;
    size_t seed = 0;
    unsigned k = 0;

    if (strcmp(key, "column") == 0 && s->column == NULL)
        return take_string(r, &s->column);
    if (strcmp(key, "alphabet") == 0) {
        enum status rc = take_string(r, &order);
        if (rc == ST_OK && strlen(order) > SEQUENCE_LETTERS_MOST)
            rc = wrong(r, "an alphabet is too long");
        if (rc == ST_OK)
            strcpy(s->order, order);
        free(order);
        return rc;
    }
    if (strcmp(key, "layer") == 0) {
        char *name;
        const enum status rc = take_string(r, &name);
        if (rc != ST_OK)
            return rc;
        const bool none = strcmp(name, "none") == 0;
        s->layer.ops = none ? NULL : layer_find(name);
        free(name);
        return none || (s->layer.ops && !s->layer.ops->family) ? ST_OK
                                                               : wrong(r, "an unknown word");
    }
    if (strcmp(key, "width") == 0)
        return take_count(r, KERNEL_WIDTH_MOST, &s->layer.width);
    if (strcmp(key, "filters") == 0)
        return take_count(r, KERNEL_FILTERS_MOST, &s->layer.filters);
    if (strcmp(key, "channels") == 0)
        return s->node != NULL || s->value != NULL
                   ? wrong(r, "channels stand before what they count")
                   : take_count(r, 65536, &s->layer.channels);
    if (strcmp(key, "kmer") == 0)
        return take_count(r, LETTERS_KMER_MOST, &s->kmer);
    if (strcmp(key, "series") == 0)
        return take_bool(r, &s->series);
    if (strcmp(key, "norm") == 0) {
        const enum status rc = take_word(r, norm_word, 3, &k);
        s->layer.norm = rc == ST_OK ? (enum layer_norm)k : NORM_STANDARD;
        return rc;
    }
    if (strcmp(key, "nodes") == 0 && s->node == NULL)
        return take_nodes(r, s);
    if (strcmp(key, "positions") == 0)
        return take_count(r, 1e9, &s->layer.positions);
    if (strcmp(key, "seed") == 0) {
        const enum status rc = take_count(r, 9e15, &seed);
        s->seed = seed;
        return rc;
    }
    if (strcmp(key, "values") == 0 && s->value == NULL && s->node == NULL)
        return take_values(r, s);
    if (strcmp(key, "inputs") == 0)
        return take_count(r, 1e9, &e->seq.inputs);
    return wrong(r, "an unknown or repeated member");
}

static enum status take_columns(struct reader *r, struct encoding *e)
{
    size_t cap = 0;
    if (e->col != NULL || !take(r, '['))
        return wrong(r, "a list was expected");
    while (!take(r, ']')) {
        if (e->ncol > 0 && !take(r, ','))
            return wrong(r, "a comma was expected");
        void *p = e->col;
        enum status rc = mem_grow(&p, &cap, e->ncol + 1, sizeof *e->col, "an encoding", r->err);
        e->col = p;
        if (rc != ST_OK)
            return rc;
        struct enc_col *c = &e->col[e->ncol++];
        *c = (struct enc_col){ 0 };
        rc = take_object(r, column_member, c);
        if (rc != ST_OK)
            return rc;
        if (c->column == NULL ||
            (c->kind == ENC_LEVEL || c->kind == ENC_LETTER || c->kind == ENC_POOL) !=
                (c->level != NULL) ||
            (c->kind == ENC_LETTER && !letter_word(c->level)) || !(c->sd > 0.0) || c->limit < 0.0)
            return wrong(r, "a column is incomplete");
    }
    return ST_OK;
}

static enum status target_member(struct reader *r, const char *key, void *into)
{
    struct enc_target *t = into;
    if (strcmp(key, "name") == 0 && t->name == NULL)
        return take_string(r, &t->name);
    if (strcmp(key, "mean") == 0)
        return take_number(r, &t->mean);
    if (strcmp(key, "sd") == 0)
        return take_number(r, &t->sd);
    return wrong(r, "an unknown or repeated member");
}

/* Targets after the first. */
static enum status take_more(struct reader *r, struct encoding *e)
{
    size_t cap = 0;
    if (e->more != NULL || !take(r, '['))
        return wrong(r, "a list was expected");
    while (!take(r, ']')) {
        if (e->nmore > 0 && !take(r, ','))
            return wrong(r, "a comma was expected");
        if (e->nmore + 1 >= TARGETS_MOST)
            return wrong(r, "there are too many targets");
        void *p = e->more;
        enum status rc = mem_grow(&p, &cap, e->nmore + 1, sizeof *e->more, "an encoding", r->err);
        e->more = p;
        if (rc != ST_OK)
            return rc;
        struct enc_target *t = &e->more[e->nmore++];
        *t = (struct enc_target){ .sd = 0.0 };
        rc = take_object(r, target_member, t);
        if (rc == ST_OK && (t->name == NULL || !(t->sd > 0.0)))
            rc = wrong(r, "a target is incomplete");
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

/* Of each kernel: its first column, and how many. */
static enum status take_parts(struct reader *r, struct encoding *e)
{
    if (e->nparts != 0 || !take(r, '['))
        return wrong(r, "a list was expected");
    while (!take(r, ']')) {
        size_t pair[2] = { 0 };
        if (e->nparts == KERNEL_MAX_TERMS)
            return wrong(r, "there are too many parts");
        for (size_t i = 0; i < 2; i++) {
            if ((e->nparts > 0 || i > 0) && !take(r, ','))
                return wrong(r, "a comma was expected");
            const enum status rc = take_count(r, 1e9, &pair[i]);
            if (rc != ST_OK)
                return rc;
        }
        e->part[e->nparts++] = (struct enc_part){ pair[0], pair[1] };
    }
    return e->nparts > 0 ? ST_OK : wrong(r, "a list is empty");
}

static enum status encoding_member(struct reader *r, const char *key, void *into)
{
    struct encoding *e = into;
    unsigned k = 0;
    enum status rc;
    if (strcmp(key, "target") == 0 && e->target == NULL) {
        blanks(r);
        if (strncmp(r->p, "null", 4) != 0)
            return take_string(r, &e->target);
        r->p += 4;
        return ST_OK;
    }
    if (strcmp(key, "weight") == 0 && e->weight == NULL)
        return take_string(r, &e->weight);
    if (strcmp(key, "yscale") == 0) {
        rc = take_word(r, yscale_word, 3, &k);
        e->yscale = rc == ST_OK ? (enum y_scale)k : Y_STANDARD;
        return rc;
    }
    if (strcmp(key, "missing") == 0) {
        rc = take_word(r, missing_word, 4, &k);
        e->missing = rc == ST_OK ? (enum missing_policy)k : MISSING_ERROR;
        return rc;
    }
    if (strcmp(key, "ymean") == 0)
        return take_number(r, &e->ymean);
    if (strcmp(key, "ysd") == 0)
        return take_number(r, &e->ysd);
    if (strcmp(key, "more") == 0)
        return take_more(r, e);
    if (strcmp(key, "parts") == 0)
        return take_parts(r, e);
    if (strcmp(key, "columns") == 0)
        return take_columns(r, e);
    if (strcmp(key, "sequence") == 0 && e->seq.column == NULL)
        return take_object(r, sequence_member, e);
    return wrong(r, "an unknown or repeated member");
}

/* Windows read a row of symbols, filters fill as many columns as there are. */
static enum status check_sequence(struct reader *r, struct encoding *e)
{
    const struct enc_sequence *s = &e->seq;
    const size_t letters = strlen(s->order), wide = s->layer.width * s->layer.channels;
    size_t filters = 0;

    for (size_t j = 0; e->col != NULL && j < e->ncol; j++)
        filters += e->col[j].kind == ENC_FILTER;
    e->seq.layer.symbols = s->value == NULL && s->node == NULL;
    if (s->value != NULL && s->layer.channels > 256)
        return wrong(r, "numbers of letters are too many");
    for (size_t j = 0; j < e->ncol; j++)
        if (e->col[j].kind == ENC_POOL && s->node == NULL)
            return wrong(r, "means without nodes");
    if (!channels_there(e))
        return wrong(r, "letters without numbers");
    if (s->column == NULL)
        return filters > 0 ? wrong(r, "filters without a sequence") : ST_OK;
    size_t least = letters, most = letters + 1;
    for (size_t i = 1; i < s->kmer && least <= LETTERS_WORDS_MOST; i++)
        least = most = least * letters;
    if (letters == 0 || s->layer.channels == 0 ||
        (s->kmer > 0 && (s->value != NULL || s->node != NULL)) ||
        (e->seq.layer.symbols && (s->layer.channels < least || s->layer.channels > most)))
        return wrong(r, "a sequence is incomplete");
    if (!s->layer.ops) /* letters by position, with numbers */
        return !e->seq.layer.symbols && filters == 0 && e->ncol > 0 && s->inputs == 0
                   ? ST_OK
                   : wrong(r, "a sequence is incomplete");
    if (wide == 0)
        return wrong(r, "a sequence is incomplete");
    if (layer_kind(&s->layer) == LAYER_NUMBERS)
        return filters == s->layer.filters && filters > 0 && s->inputs == 0
                   ? ST_OK
                   : wrong(r, "filters are missing");
    if ((e->ncol > 0 && e->nparts == 0) || filters > 0 || e->seq.inputs < 2 ||
        (!e->seq.layer.symbols && (e->seq.inputs - 1) % s->layer.channels != 0))
        return wrong(r, "a sequence is incomplete");
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
static enum status check_order(struct reader *r, const struct encoding *e)
{
    for (size_t j = 1; e->col != NULL && j < e->ncol; j++) {
        const struct enc_col *a = &e->col[j - 1], *b = &e->col[j];
        bool same = strcmp(a->column, b->column) == 0 && !part_begins(e, j);
        if (same && (a->kind == ENC_LETTER || a->kind == ENC_FILTER || b->kind == ENC_LETTER ||
                     b->kind == ENC_FILTER || a->kind == ENC_POOL || b->kind == ENC_POOL)) {
            if (a->kind != b->kind)
                return wrong(r, "columns are out of order");
            continue;
        }
        if (same && (a->kind == ENC_MISSING || b->kind == ENC_REAL ||
                     (b->kind == ENC_LEVEL && a->kind != ENC_LEVEL) ||
                     (b->kind == ENC_LEVEL && strcmp(a->level, b->level) >= 0)))
            return wrong(r, "columns are out of order");
    }
    return ST_OK;
}

enum status encoding_from_json(const char *json, struct encoding *out, struct err *err)
{
    struct reader r = { json, json, err };
    *out = (struct encoding){ .ysd = 0.0 };
    enum status rc = take_object(&r, encoding_member, out);
    blanks(&r);
    if (rc == ST_OK)
        rc = check_sequence(&r, out);
    out->d = out->ncol + out->seq.inputs;
    if (rc == ST_OK && !parts_there(out))
        rc = wrong(&r, "parts lie beyond the columns");
    if (rc == ST_OK && (*r.p != '\0' || out->d == 0 || !(out->ysd > 0.0) ||
                        (out->nmore > 0 && out->target == NULL)))
        rc = wrong(&r, "it is incomplete");
    if (rc == ST_OK)
        rc = check_order(&r, out);
    if (rc != ST_OK)
        encoding_free(out);
    return rc;
}
