/* data/table.c -- tables and the columns they are built from: distinct strings, levels in sorted
 * order, an exact count of repeated rows. */
#include "data/table.h"

#include "data/checksum.h"
#include "data/formats/import.h"
#include "data/radix_sort.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Creating and freeing. */

struct table *table_new(const char *path, size_t ncols, struct err *err)
{
    struct table *t = mem_calloc(1, sizeof *t, "a table", err);
    if (t == NULL)
        return NULL;
    t->refs = 1;
    t->cuts = spill_cut();
    t->ncols = ncols;
    t->path = mem_strdup(path, err);
    t->decisions = mem_strdup("", err);
    t->notes = mem_strdup("", err);
    t->col = mem_calloc(ncols, sizeof *t->col, "a table's columns", err);
    if (t->path == NULL || t->decisions == NULL || t->notes == NULL || t->col == NULL) {
        table_unref(t);
        return NULL;
    }
    return t;
}

struct table *table_ref(struct table *t)
{
    if (t != NULL)
        __atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
    return t;
}

void table_column_clear(struct column *c)
{
    free(c->name);
    if (c->lent) {
        *c = (struct column){ 0 };
        return;
    }
    spill_free(c->v);
    mapped_array_unref(c->in);
    spill_free(c->code);
    free(c->level);
    free(c->text);
    free(c->arena);
    if (c->cells != NULL)
        c->cells->free(c);
    *c = (struct column){ 0 };
}

void table_unref(struct table *t)
{
    if (t == NULL || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t j = 0; t->col != NULL && j < t->ncols; j++)
        table_column_clear(&t->col[j]);
    free(t->col);
    free(t->path);
    free(t->kept);
    free(t->decisions);
    free(t->notes);
    table_unref(t->base);
    free(t);
}

struct table *table_derive(struct table *base, size_t more, struct err *err)
{
    struct table *t = table_new(base->path, base->ncols + more, err);

    if (t == NULL)
        return NULL;
    free(t->decisions);
    free(t->notes);
    t->decisions = mem_strdup(base->decisions, err);
    t->notes = mem_strdup(base->notes, err);
    bool good = t->decisions != NULL && t->notes != NULL;
    for (size_t j = 0; j < base->ncols && good; j++) {
        char *name = mem_strdup(base->col[j].name, err);
        good = name != NULL;
        t->col[j] = base->col[j];
        t->col[j].name = name;
        t->col[j].lent = true;
    }
    if (!good) {
        table_unref(t);
        return NULL;
    }
    t->base = table_ref(base);
    t->file_size = base->file_size;
    memcpy(t->checksum, base->checksum, sizeof t->checksum);
    t->n = base->n;
    t->missing = base->missing;
    t->duplicates = base->duplicates;
    t->targets = more == 0 ? base->targets : 0;
    t->parsed = base->parsed;
    t->cuts = base->cuts;
    t->first_line = base->first_line;
    t->seconds = base->seconds;
    return t;
}

enum status table_add_notes(struct table *t, const struct buf *notes, struct err *err)
{
    struct buf all = { 0 };

    buf_printf(&all, "%s%s", t->notes, buf_str(notes));
    char *s = notes->failed ? NULL : buf_take(&all);
    if (s == NULL) {
        buf_free(&all);
        return err_nomem(err, 64, "notes");
    }
    free(t->notes);
    t->notes = s;
    return ST_OK;
}

size_t table_find(const struct table *t, const char *name)
{
    for (size_t j = 0; j < t->ncols; j++)
        if (strcmp(t->col[j].name, name) == 0)
            return j;
    return SIZE_MAX;
}

const char *table_column_text(const struct column *c, size_t row, struct buf *room)
{
    if (c->type != COL_HELD || c->cells->print == NULL)
        return column_word(c, row);
    if (column_missing(c, row))
        return NULL;
    buf_clear(room);
    c->cells->print(c, row, room);
    return buf_str(room);
}

const char *table_column_glance(const struct column *c, size_t row, size_t width, struct buf *out)
{
    enum { BEFORE = 2 }; /* common letters that are shown before the first difference */
    const bool words = c->type != COL_HELD || c->cells->word != NULL;
    const char *w = words ? column_word(c, row) : NULL;
    const size_t alike = c->type == COL_HELD && c->cells->alike != NULL ? c->cells->alike(c) : 0,
                 skip = alike > BEFORE ? alike - BEFORE : 0;

    if (!words)
        return table_column_text(c, row, out);
    buf_clear(out);
    if (w != NULL && skip > 0 && strlen(w) > width)
        buf_printf(out, "..%s", w + skip);
    else if (w != NULL)
        buf_puts(out, w);
    return w != NULL ? buf_str(out) : NULL;
}

void table_cell(const struct table *t, size_t row, size_t col, struct buf *out)
{
    const struct column *c = &t->col[col];
    if (column_missing(c, row))
        return;
    if (c->type == COL_REAL)
        buf_json_double(out, column_at(c, row));
    else if (c->type == COL_HELD && c->cells->print != NULL)
        c->cells->print(c, row, out);
    else
        buf_puts(out, column_word(c, row));
}

void table_where(const struct table *t, const struct column *c, size_t row, struct buf *out)
{
    const size_t line = c->type == COL_HELD && c->cells->line != NULL ? c->cells->line(c, row) : 0;
    const char *name = NULL;

    for (size_t j = 0; name == NULL && j < t->ncols; j++)
        if (t->col[j].type == COL_TEXT)
            name = column_word(&t->col[j], row);
    buf_printf(out, "row %zu", row + 1);
    if (name != NULL) {
        buf_puts(out, " ('");
        text_safe(out, name, 40);
        buf_puts(out, "'");
    }
    if (line > 0)
        buf_printf(out, "%sline %zu", name != NULL ? ", " : " (", line);
    if (name != NULL || line > 0)
        buf_puts(out, ")");
}

size_t table_bytes(const struct table *t)
{
    size_t bytes = sizeof *t + t->ncols * sizeof *t->col;
    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        const bool again = j > 0 && c->in == t->col[j - 1].in;
        bytes += c->in ? (again ? 0 : mapped_array_bytes(c->in))
                       : c->type == COL_CATEGORY ? t->n * sizeof *c->code : t->n * 8;
        bytes += c->cells != NULL ? c->cells->bytes(c, t->n) : 0;
        if (c->type == COL_TEXT && c->arena != NULL)
            for (size_t i = 0; i < t->n; i++)
                bytes += c->text[i] != NULL ? strlen(c->text[i]) + 1 : 0;
    }
    return bytes;
}

bool table_is_out(const struct table *t)
{
    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].in || spill_is_out(t->col[j].v) || spill_is_out(t->col[j].code) ||
            (t->col[j].type == COL_HELD && t->col[j].cells->is_out != NULL &&
             t->col[j].cells->is_out(&t->col[j])))
            return true;
    return false;
}

enum status table_check(const struct table *t, size_t first, size_t last, struct err *err)
{
    const struct mapped_array *before = NULL;

    for (size_t j = 0; j < t->ncols; j++) {
        const struct mapped_array *in = t->col[j].in;
        const enum status rc =
            in && in != before ? mapped_array_check(in, first, last, err) : ST_OK;
        if (rc != ST_OK)
            return rc;
        before = in;
    }
    return ST_OK;
}

/* Distinct strings. */

static size_t intern_place(const struct intern *in, const char *s, size_t len)
{
    size_t mask = in->nslot - 1;
    size_t i = checksum_add(0, s, len) & mask;
    for (; in->slot[i] != 0; i = (i + 1) & mask) {
        const char *t = in->text + in->at[in->slot[i] - 1];
        if (strncmp(t, s, len) == 0 && t[len] == '\0')
            break;
    }
    return i;
}

static enum status intern_widen(struct intern *in, struct err *err)
{
    if (in->n * 2 < in->nslot)
        return ST_OK;
    size_t nslot = in->nslot == 0 ? 64 : in->nslot * 2;
    uint32_t *slot = mem_calloc(nslot, sizeof *slot, "a column's levels", err);
    if (slot == NULL)
        return ST_NOMEM;
    free(in->slot);
    in->slot = slot;
    in->nslot = nslot;
    for (size_t k = 0; k < in->n; k++) {
        const char *s = in->text + in->at[k];
        in->slot[intern_place(in, s, strlen(s))] = (uint32_t)k + 1;
    }
    return ST_OK;
}

enum status table_intern_code(struct intern *in, const char *s, size_t len, uint32_t *code,
                        struct err *err)
{
    if (in->n > 0) {
        const char *t = in->text + in->at[in->last];
        if (strncmp(t, s, len) == 0 && t[len] == '\0') {
            *code = in->last;
            return ST_OK;
        }
    }
    enum status rc = intern_widen(in, err);
    if (rc != ST_OK)
        return rc;
    size_t i = intern_place(in, s, len);
    if (in->slot[i] == 0) {
        if (in->n >= UINT32_MAX - 2)
            return err_set(err, ST_FORMAT, "a column has more than 4 billion distinct words");
        void *text = in->text, *at = in->at;
        rc = mem_grow(&text, &in->cap, in->len + len + 1, 1, "a column's levels", err);
        in->text = text;
        if (rc == ST_OK)
            rc = mem_grow(&at, &in->capat, in->n + 1, sizeof *in->at, "a column's levels", err);
        in->at = at;
        if (rc != ST_OK)
            return rc;
        memcpy(in->text + in->len, s, len);
        in->text[in->len + len] = '\0';
        in->at[in->n] = in->len;
        in->len += len + 1;
        in->slot[i] = (uint32_t)++in->n;
    }
    *code = in->last = in->slot[i] - 1;
    return ST_OK;
}

void table_intern_free(struct intern *in)
{
    free(in->text);
    free(in->at);
    free(in->slot);
    *in = (struct intern){ 0 };
}

/* Growing columns. */

enum status table_grow_reserve(struct grow *g, size_t n, struct err *err)
{
    void *p;
    enum status rc;
    switch (g->type) {
    case COL_REAL:
        p = g->v;
        rc = spill_grow(&p, &g->capv, n, sizeof *g->v, "a column of numbers", err);
        g->v = p;
        return rc;
    case COL_CATEGORY:
        p = g->code;
        rc = spill_grow(&p, &g->capcode, n, sizeof *g->code, "a column of categories", err);
        g->code = p;
        return rc;
    case COL_TEXT:
        p = g->off;
        rc = mem_grow(&p, &g->capoff, n, sizeof *g->off, "a column of text", err);
        g->off = p;
        return rc;
    case COL_HELD: /* made from words by kind_make */
        break;
    }
    return ST_OK;
}

enum status table_grow_text(struct grow *g, size_t row, const char *s, size_t len, struct err *err)
{
    void *p = g->text;
    enum status rc = mem_grow(&p, &g->cap, g->len + len + 1, 1, "a column of text", err);
    g->text = p;
    if (rc != ST_OK)
        return rc;
    memcpy(g->text + g->len, s, len);
    g->text[g->len + len] = '\0';
    g->off[row] = g->len;
    g->len += len + 1;
    return ST_OK;
}

static void finish_real(struct grow *g, size_t n, struct column *c)
{
    c->v = g->v;
    g->v = NULL;
    c->integers = true;
    for (size_t i = 0; i < n; i++) {
        if (isnan(c->v[i]))
            c->missing++;
        else if (c->v[i] != nearbyint(c->v[i]))
            c->integers = false;
    }
    spill_used(n * sizeof *c->v);
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted levels do not depend on the order of rows. */
static enum status finish_levels(struct grow *g, size_t n, struct column *c, struct err *err)
{
    struct intern *in = &g->levels;
    uint32_t *to = mem_calloc(in->n, sizeof *to, "a column's levels", err);
    c->level = mem_calloc(in->n, sizeof *c->level, "a column's levels", err);
    if (to == NULL || c->level == NULL) {
        free(to);
        return ST_NOMEM;
    }
    c->nlevels = in->n;
    for (size_t k = 0; k < in->n; k++)
        c->level[k] = in->text + in->at[k];
    qsort(c->level, c->nlevels, sizeof *c->level, by_string);
    for (size_t k = 0; k < c->nlevels; k++)
        to[in->slot[intern_place(in, c->level[k], strlen(c->level[k]))] - 1] = (uint32_t)k;
    c->code = g->code;
    g->code = NULL;
    for (size_t i = 0; i < n; i++) {
        if (c->code[i] == UINT32_MAX)
            c->missing++;
        else
            c->code[i] = to[c->code[i]];
    }
    c->arena = in->text;
    in->text = NULL;
    free(to);
    return ST_OK;
}

static void finish_text(struct grow *g, size_t n, struct column *c)
{
    _Static_assert(sizeof(size_t) == sizeof(char *), "offsets become pointers in place");
    c->arena = g->text;
    c->text = (char **)(void *)g->off;
    for (size_t i = 0; i < n; i++) {
        size_t at;
        memcpy(&at, &c->text[i], sizeof at);
        c->text[i] = at == SIZE_MAX ? NULL : c->arena + at;
        c->missing += at == SIZE_MAX;
    }
    g->text = NULL;
    g->off = NULL;
}

enum status table_grow_finish(struct grow *g, size_t n, struct column *c, struct err *err)
{
    enum status rc = table_grow_reserve(g, n > 0 ? n : 1, err); /* so that no array is NULL */
    if (rc != ST_OK)
        return rc;
    c->type = g->type;
    if (g->type == COL_REAL)
        finish_real(g, n, c);
    else if (g->type == COL_CATEGORY)
        rc = finish_levels(g, n, c, err);
    else
        finish_text(g, n, c);
    table_grow_free(g);
    return rc;
}

void table_grow_free(struct grow *g)
{
    spill_free(g->v);
    spill_free(g->code);
    table_intern_free(&g->levels);
    free(g->off);
    free(g->text);
    *g = (struct grow){ .type = g->type };
}

enum status table_column_to_text(struct column *c, size_t n, struct err *err)
{
    c->text = mem_calloc(n > 0 ? n : 1, sizeof *c->text, "a column of text", err);
    if (c->text == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        c->text[i] = c->code[i] == UINT32_MAX ? NULL : c->level[c->code[i]];
    spill_free(c->code);
    free(c->level);
    c->code = NULL;
    c->level = NULL;
    c->nlevels = 0;
    c->type = COL_TEXT;
    return ST_OK;
}

/* Repeated rows. */

struct row_key {
    uint64_t hash;
    size_t row;
};

static double plain_zero(double x)
{
    return isnan(x) ? (double)NAN : x + 0.0; /* -0.0 equals 0.0, and all missing cells are equal */
}

/* Adds two independent checksums of some bytes of a row. */
static uint64_t hash_bytes(uint64_t hash, const void *p, size_t len)
{
    uint32_t crc = checksum_add((uint32_t)(hash >> 32), p, len);
    uint32_t adler = checksum_adler((uint32_t)hash, p, len);
    return (uint64_t)crc << 32 | adler;
}

/* Numbers and codes are gathered first, because checksums are fast on many bytes at a time. */
static uint64_t hash_row(const struct table *t, const bool *use, size_t row)
{
    enum { GATHER = 64 };
    double cell[GATHER];
    size_t n = 0;
    uint64_t hash = 1;
    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        if (use != NULL && !use[j])
            continue;
        if (c->type == COL_TEXT || c->type == COL_HELD) {
            const char *s = column_word(c, row) != NULL ? column_word(c, row) : "";
            hash = hash_bytes(hash, s, strlen(s) + 1);
            if (c->cells != NULL && c->cells->beside != NULL) {
                size_t len;
                const void *p = c->cells->beside(c, row, &len);
                hash = hash_bytes(hash, p, len);
            }
            continue;
        }
        cell[n++] = c->type == COL_REAL ? plain_zero(column_at(c, row)) : (double)c->code[row];
        if (n == GATHER) {
            hash = hash_bytes(hash, cell, sizeof cell);
            n = 0;
        }
    }
    return hash_bytes(hash, cell, n * sizeof *cell);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Compares what cells hold besides their words. */
static int compare_beside(const struct column *c, size_t a, size_t b)
{
    size_t n, m;

    if (c->type != COL_HELD || c->cells->beside == NULL)
        return 0;
    const void *p = c->cells->beside(c, a, &n), *q = c->cells->beside(c, b, &m);
    const int order = n > 0 && m > 0 ? memcmp(p, q, n < m ? n : m) : 0;
    return order != 0 ? order : (n > m) - (n < m);
}

static int compare_cell(const struct column *c, size_t a, size_t b)
{
    if (c->type == COL_REAL) {
        double x = plain_zero(column_at(c, a)), y = plain_zero(column_at(c, b));
        return memcmp(&x, &y, sizeof x);
    }
    if (c->type == COL_CATEGORY)
        return (c->code[a] > c->code[b]) - (c->code[a] < c->code[b]);
    const char *x = column_word(c, a), *y = column_word(c, b);
    const int order = x == NULL || y == NULL ? (x != NULL) - (y != NULL) : strcmp(x, y);
    return order != 0 ? order : compare_beside(c, a, b);
}

struct comparison {
    const struct table *t;
    const bool *use; /* columns to compare; NULL: all */
};

static int compare_rows(const struct comparison *c, size_t a, size_t b)
{
    int order = 0;
    for (size_t j = 0; j < c->t->ncols && order == 0; j++)
        if (c->use == NULL || c->use[j])
            order = compare_cell(&c->t->col[j], a, b);
    return order;
}

static int by_hash_then_row(const void *a, const void *b, void *comparison)
{
    const struct row_key *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return compare_rows(comparison, x->row, y->row);
}

/* Groups the keys by the top byte of their hash, so that sorting can be stopped between groups and
 * stays in the cache. first: 257 bounds. */
static void spread_keys(const struct row_key *key, size_t n, struct row_key *out, size_t *first)
{
    size_t next[256];
    memset(first, 0, 257 * sizeof *first);
    for (size_t i = 0; i < n; i++)
        first[(key[i].hash >> 56) + 1]++;
    for (size_t b = 0; b < 256; b++) {
        first[b + 1] += first[b];
        next[b] = first[b];
    }
    for (size_t i = 0; i < n; i++)
        out[next[key[i].hash >> 56]++] = key[i];
}

/* Equal rows are adjacent in k[0..m): counts the repeated ones and, if there are parts, those of
 * part 2 that equal a row of part 0. */
static void count_groups(const struct comparison *c, const struct row_key *k, size_t m,
                         const uint8_t *part, int64_t *repeated, int64_t *shared)
{
    for (size_t i = 0, j; i < m; i = j) {
        size_t in[3] = { 0 };
        for (j = i; j < m && (j == i || (k[j].hash == k[i].hash &&
                                         compare_rows(c, k[j].row, k[i].row) == 0)); j++)
            in[part != NULL ? part[k[j].row] : 0]++;
        *repeated += (int64_t)(j - i - 1);
        if (in[0] > 0)
            *shared += (int64_t)in[2];
    }
}

/* The numeric column with the most distinct values in a sample; SIZE_MAX if none has enough. */
static size_t sharpest_column(const struct table *t, const bool *use)
{
    enum { SAMPLE = 512 };
    size_t best = SIZE_MAX, most = SAMPLE / 2, step = t->n / SAMPLE;
    double v[SAMPLE];
    for (size_t j = 0; j < t->ncols && step > 0 && most < SAMPLE; j++) {
        const struct column *c = &t->col[j];
        if (c->type != COL_REAL || c->missing > 0 || (use != NULL && !use[j]))
            continue;
        for (size_t i = 0; i < SAMPLE; i++)
            v[i] = column_at(c, i * step);
        qsort(v, SAMPLE, sizeof *v, by_value);
        size_t distinct = 1;
        for (size_t i = 1; i < SAMPLE; i++)
            distinct += v[i] != v[i - 1];
        if (distinct > most) {
            most = distinct;
            best = j;
        }
    }
    return best;
}

/* Rows that may equal another one: those whose value in that column occurs more than once. With
 * measured numbers few rows remain, which saves the rest of the work. */
static enum status candidates(const struct table *t, const bool *use, struct row_key *key,
                              size_t *m, struct err *err)
{
    size_t sharp = sharpest_column(t, use), again = 0;
    double *v = sharp != SIZE_MAX ? mem_calloc(t->n, sizeof *v, "repeated rows", err) : NULL;
    if (sharp != SIZE_MAX && v == NULL)
        return ST_NOMEM;
    enum status rc = ST_OK;
    if (v != NULL) {
        for (size_t i = 0; i < t->n; i++)
            v[i] = column_at(&t->col[sharp], i);
        rc = radix_sort(v, t->n, err);
        for (size_t i = 1; i < t->n; i++) /* v[0..again): the repeated values */
            if (v[i] == v[i - 1] && (again == 0 || v[again - 1] != v[i]))
                v[again++] = v[i];
    }
    *m = 0;
    for (size_t i = 0; i < t->n && rc == ST_OK; i++) {
        const double x = v != NULL ? column_at(&t->col[sharp], i) : 0.0;
        if (v == NULL || (again > 0 && bsearch(&x, v, again, sizeof *v, by_value)))
            key[(*m)++] = (struct row_key){ 0, i };
    }
    free(v);
    return rc;
}

enum status table_repeats(const struct table *t, const bool *use, const uint8_t *part,
                          const struct ctl *ctl, int64_t *repeated, int64_t *shared,
                          struct err *err)
{
    enum { STEP = 1 << 14 };
    struct comparison c = { t, use };
    size_t first[257], n = 0;
    *repeated = *shared = 0;
    struct row_key *key = mem_calloc(t->n, sizeof *key, "repeated rows", err), *sorted = NULL;
    enum status rc = key == NULL ? ST_NOMEM : candidates(t, use, key, &n, err);
    if (rc == ST_OK && (sorted = mem_calloc(n, sizeof *sorted, "repeated rows", err)) == NULL)
        rc = ST_NOMEM;
    for (size_t k0 = 0; k0 < n && rc == ST_OK; k0 += STEP) {
        size_t k1 = k0 + STEP < n ? k0 + STEP : n;
        for (size_t k = k0; k < k1; k++)
            key[k].hash = hash_row(t, use, key[k].row);
        if (ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "counting repeated rows was stopped");
    }
    if (rc == ST_OK)
        spread_keys(key, n, sorted, first);
    for (size_t b = 0; b < 256 && rc == ST_OK; b++) {
        struct row_key *k = sorted + first[b];
        size_t m = first[b + 1] - first[b];
        qsort_r(k, m, sizeof *k, by_hash_then_row, &c);
        count_groups(&c, k, m, part, repeated, shared);
        if (ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "counting repeated rows was stopped");
    }
    free(key);
    free(sorted);
    return rc;
}

enum status table_finish(struct table *t, const struct ctl *ctl, struct err *err)
{
    t->missing = 0;
    for (size_t j = 0; j < t->ncols; j++)
        t->missing += t->col[j].missing;
    ctl_tell(ctl, PHASE_READ_REPEATED, 0, 0, NAN);
    int64_t shared;
    t->duplicates = -1;
    if (t->n > (size_t)100 << 20 || (table_is_out(t) && !spill_fits((double)table_bytes(t))))
        return ST_OK; /* the keys would need as much memory as the data */
    return table_repeats(t, NULL, NULL, ctl, &t->duplicates, &shared, err);
}
