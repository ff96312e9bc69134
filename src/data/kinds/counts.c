/* data/kinds/counts.c -- see counts.h. */
#include "data/kinds/counts.h"

#include "data/formats/import.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells. */

void counts_clear(struct counts *s)
{
    spill_free(s->at);
    spill_free(s->count);
    free(s->missing);
    *s = (struct counts){ 0 };
}

static void free_cells(struct column *c)
{
    if (c->held != NULL)
        counts_clear(c->held);
    free(c->held);
}

static bool cell_missing(const struct column *c, size_t row)
{
    return counts_of(c)->missing[row];
}

static void cell_print(const struct column *c, size_t row, struct buf *out)
{
    const struct counts *s = c->held;

    if (s->missing[row])
        return;
    if (counts_places(s, row) == 0)
        buf_puts(out, "0:0");
    for (size_t k = s->at[row]; k < s->at[row + 1]; k++) {
        buf_printf(out, "%s%lu:", k > s->at[row] ? " " : "", (unsigned long)s->count[k].place);
        buf_json_double(out, s->count[k].value);
    }
}

static const void *cell_beside(const struct column *c, size_t row, size_t *bytes)
{
    const struct counts *s = c->held;

    *bytes = counts_places(s, row) * sizeof *s->count;
    return s->count + s->at[row];
}

/* Room for n rows with `places` places. */
static struct counts *counts_new(size_t n, size_t places, struct err *err)
{
    struct counts *s = mem_calloc(1, sizeof *s, "counts", err);
    struct column c = { .held = s };

    if (s == NULL)
        return NULL;
    s->at = spill_array(n + 1, sizeof *s->at, "counts", err);
    s->count = s->at ? spill_array(places + 1, sizeof *s->count, "counts", err) : NULL;
    s->missing = s->count ? mem_calloc(n + 1, sizeof *s->missing, "counts", err) : NULL;
    if (s->missing != NULL)
        return s;
    free_cells(&c);
    return NULL;
}

/* Enters in an empty column what is known of its n rows. */
static void measure(struct counts *s, size_t n, struct column *to)
{
    s->shortest = SIZE_MAX;
    s->whole = true;
    for (size_t i = 0; i < n; i++) {
        const size_t places = counts_places(s, i);
        to->missing += s->missing[i];
        if (s->missing[i])
            continue;
        s->shortest = places < s->shortest ? places : s->shortest;
        s->longest = places > s->longest ? places : s->longest;
    }
    for (size_t k = 0; k < s->at[n]; k++) {
        s->whole = s->whole && s->count[k].value == floor(s->count[k].value);
        s->most = fmax(s->most, s->count[k].value);
    }
    s->shortest = s->shortest == SIZE_MAX ? 0 : s->shortest;
    spill_used(s->at[n] * sizeof *s->count + n * sizeof *s->at);
}

/* Copies rows into an empty column; row NULL: the first n. */
static enum status take_cells(const struct column *c, const size_t *row, size_t n,
                              struct column *to, struct err *err)
{
    const struct counts *from = c->held;
    size_t places = 0;

    for (size_t i = 0; i < n; i++)
        places += counts_places(from, row != NULL ? row[i] : i);
    struct counts *s = to->held = counts_new(n, places, err);
    to->type = COL_HELD;
    to->cells = &counts_cells;
    if (s == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const size_t r = row != NULL ? row[i] : i, k = counts_places(from, r);
        memcpy(s->count + s->at[i], from->count + from->at[r], k * sizeof *s->count);
        s->missing[i] = from->missing[r];
        s->at[i + 1] = s->at[i] + k;
    }
    measure(s, n, to);
    return ST_OK;
}

static enum status copy_cells(const struct column *c, size_t n, struct column *to, struct err *err)
{
    return take_cells(c, NULL, n, to, err);
}

static size_t cells_bytes(const struct column *c, size_t n)
{
    const struct counts *s = c->held;

    return s->at[n] * sizeof *s->count + n * (sizeof *s->at + 1);
}

static size_t row_bytes(const struct column *c)
{
    const struct counts *s = c->held;

    return s->longest / 2 * sizeof *s->count + sizeof *s->at;
}

static bool cells_out(const struct column *c)
{
    return spill_is_out(counts_of(c)->count);
}

const struct cell_ops counts_cells = {
    .missing = cell_missing,
    .print = cell_print,
    .beside = cell_beside,
    .take = take_cells,
    .copy = copy_cells,
    .free = free_cells,
    .bytes = cells_bytes,
    .row_bytes = row_bytes,
    .is_out = cells_out,
};

/* Reading. */

/* What may be wrong with a cell. */
enum wrong { GOOD, NO_PAIR, PLACE_LARGE, PLACE_AGAIN, PLACE_ORDER, NO_VALUE, NEGATIVE, INFINITE };
static const char *const wrong_words[] = {
    [NO_PAIR] = "a pair like 33:4 was expected",
    [PLACE_LARGE] = "a place is above 4294967295",
    [PLACE_AGAIN] = "a place stands there twice",
    [PLACE_ORDER] = "a place is below the one before it",
    [NO_VALUE] = "a value of 0 or more was expected after the colon",
    [NEGATIVE] = "a value is below 0",
    [INFINITE] = "a value is not finite",
};

/* A cell while it is read.  at: where the next pair begins, or what is wrong. */
struct cell {
    const char *at;
    bool first;
    uint32_t place;
    double value;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static enum wrong read_place(struct cell *c)
{
    uint64_t place = 0;
    const char *s = c->at;

    if (!isdigit((unsigned char)*s))
        return NO_PAIR;
    for (; isdigit((unsigned char)*s); s++) {
        place = 10 * place + (uint64_t)(*s - '0');
        if (place > UINT32_MAX)
            return PLACE_LARGE;
    }
    if (*s != ':')
        return NO_PAIR;
    if (!c->first && place <= c->place)
        return place == c->place ? PLACE_AGAIN : PLACE_ORDER;
    c->at = s + 1;
    c->place = (uint32_t)place;
    c->first = false;
    return GOOD;
}

static enum wrong read_value(struct cell *c)
{
    const size_t len = strcspn(c->at, " \t");
    char word[64] = { 0 };

    if (*c->at == '-')
        return NEGATIVE;
    if (scan_not_finite(c->at, len))
        return INFINITE;
    if (len == 0 || len + 16 > sizeof word || *c->at == '+')
        return NO_VALUE;
    memcpy(word, c->at, len);
    if (!scan_number_all(word, len, '.', &c->value))
        return NO_VALUE;
    if (!isfinite(c->value))
        return INFINITE;
    c->at += len;
    return GOOD;
}

/* Reads the next pair.  *end: there was none. */
static enum wrong next_pair(struct cell *c, bool *end)
{
    while (is_blank(*c->at))
        c->at++;
    *end = *c->at == '\0';
    const enum wrong w = *end ? GOOD : read_place(c);
    return *end || w != GOOD ? w : read_value(c);
}

/* Reads a cell: *pairs counts those that it has, *places those with a value above 0, which go to
 * `count` (NULL: nowhere). */
static enum wrong read_cell(struct cell *c, size_t *pairs, size_t *places, struct count *count)
{
    bool end;
    enum wrong w = next_pair(c, &end);

    for (*pairs = *places = 0; w == GOOD && !end; w = next_pair(c, &end)) {
        ++*pairs;
        if (!(c->value > 0.0))
            continue;
        if (count != NULL)
            count[*places] = (struct count){ .place = c->place, .value = c->value };
        ++*places;
    }
    return w;
}

/* True if a word has anything but blanks. */
static bool is_cell(const char *w)
{
    return w != NULL && w[strspn(w, " \t")] != '\0';
}

bool counts_guess(const struct table *t, size_t j)
{
    const struct column *c = &t->col[j];
    bool several = false;

    if (c->missing == t->n)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        const char *w = column_word(c, i);
        struct cell cell = { .at = w, .first = true };
        size_t pairs, places;
        if (w != NULL && (read_cell(&cell, &pairs, &places, NULL) != GOOD || pairs == 0))
            return false;
        several |= w != NULL && pairs > 1;
    }
    return several;
}

static enum status bad_cell(const struct table *t, const struct column *c, size_t row,
                            const struct cell *cell, enum wrong w, struct err *err)
{
    struct buf where = { 0 }, word = { 0 };

    table_where(t, c, row, &where);
    text_safe(&word, cell->at, 24);
    err_named(err, ST_FORMAT, "counts", "%s, column '%.40s', character %zu ('%s'): %s",
              buf_str(&where), c->name, (size_t)(cell->at - column_word(c, row)) + 1,
              buf_str(&word), wrong_words[w]);
    err_hint(err, "types=%.40s=text", c->name);
    buf_free(&where);
    buf_free(&word);
    return ST_FORMAT;
}

enum status counts_make(const struct table *t, size_t j, struct column *to, struct err *err)
{
    const struct column *c = &t->col[j];
    size_t all = 0, pairs, places;

    for (size_t i = 0; i < t->n; i++) {
        struct cell cell = { .at = column_word(c, i), .first = true };
        if (!is_cell(cell.at))
            continue;
        const enum wrong w = read_cell(&cell, &pairs, &places, NULL);
        if (w != GOOD)
            return bad_cell(t, c, i, &cell, w, err);
        all += places;
    }
    struct counts *s = counts_new(t->n, all, err);
    if (s == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < t->n; i++) {
        struct cell cell = { .at = column_word(c, i), .first = true };
        places = 0;
        s->missing[i] = !is_cell(cell.at);
        if (!s->missing[i])
            read_cell(&cell, &pairs, &places, s->count + s->at[i]);
        s->at[i + 1] = s->at[i] + places;
    }
    *to = (struct column){ .type = COL_HELD, .held = s, .cells = &counts_cells };
    measure(s, t->n, to);
    return ST_OK;
}

enum status counts_gather(size_t n, const size_t *from, const size_t *places,
                          const struct count *count, const bool *missing, struct column *to,
                          struct err *err)
{
    size_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += places[i];
    struct counts *s = counts_new(n, all, err);
    if (s == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (places[i] > 0)
            memcpy(s->count + s->at[i], count + from[i], places[i] * sizeof *count);
        s->missing[i] = missing[i];
        s->at[i + 1] = s->at[i] + places[i];
    }
    *to = (struct column){ .type = COL_HELD, .held = s, .cells = &counts_cells };
    measure(s, n, to);
    return ST_OK;
}

/* Leaving out. */

enum status counts_leave_out(const struct counts *s, size_t row, struct column *to,
                             struct err *err)
{
    const size_t n = counts_places(s, row), rows = n + 1;
    const struct count *own = s->count + s->at[row];
    struct count *all = mem_calloc(rows * rows, sizeof *all, "counts", err);
    size_t *from = all ? mem_calloc(2 * rows, sizeof *from, "counts", err) : NULL;
    bool *missing = from ? mem_calloc(rows, sizeof *missing, "counts", err) : NULL;
    enum status rc = missing ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < rows; i++) {
        from[i] = i * rows;
        for (size_t k = 0; k < n; k++)
            if (i == 0 || k != i - 1)
                all[i * rows + from[rows + i]++] = own[k];
    }
    if (rc == ST_OK)
        rc = counts_gather(rows, from, from + rows, all, missing, to, err);
    free(all);
    free(from);
    free(missing);
    return rc;
}

char *counts_names(const struct counts *s, size_t row, struct err *err)
{
    struct buf out = { 0 };

    for (size_t k = s->at[row]; k < s->at[row + 1]; k++)
        buf_printf(&out, "%s%lu", out.len > 0 ? "\n" : "", (unsigned long)s->count[k].place);
    char *names = buf_take(&out);
    if (names == NULL)
        err_nomem(err, 0, "names");
    return names;
}
