/* data/kinds/kind_counts.c -- rows of counts: fingerprints of molecules, words of a text.
 *
 * The kernel tanimoto reads the places with their values, so that memory grows with the counts that
 * there are; kernels of columns read a number for each place that occurs in a training row. */
#include "data/kinds/kind.h"

#include "data/encode_group.h"
#include "data/encoding_column.h"
#include "data/kinds/counts.h"
#include "data/kinds/positions.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MOST = 4096 }; /* that kernels of columns read */
static const struct kind_number numbers[] = { { "place", true }, { NULL, 0 } };

static void note(const struct table *t, const struct column *c, struct buf *notes)
{
    const struct counts *s = c->held;

    buf_puts(notes, "note[counts]: column '");
    text_safe(notes, c->name, 40);
    buf_puts(notes, "' holds counts at ");
    kind_note_lengths(s->shortest, s->longest, "place", notes);
    buf_printf(notes, ", values up to %g (kernel tanimoto compares them)\n", s->most);
    kind_note_empty(t, c, "list of counts", "cell", notes);
}

/* For the kernel tanimoto. */

static size_t length(const struct column *c, size_t row)
{
    return counts_places(c->held, row);
}

/* A row in which all is 0 takes room, too. */
static size_t longest(const struct column *c)
{
    return counts_of(c)->longest > 0 ? counts_of(c)->longest : 1;
}

static enum status fit_positions(struct encoding_fitting *f, struct enc_held *held,
                                 const struct column *c)
{
    (void)f, (void)c;
    held->layer.symbols = false;
    held->layer.channels = COUNTS_CHANNELS;
    return ST_OK;
}

static const char *check(struct enc_held *held)
{
    held->layer.symbols = false;
    return held->layer.channels == COUNTS_CHANNELS ? NULL : "counts have two numbers each";
}

/* Writes the places of a row with their values: row_layout.h. */
static void positions(const struct enc_held *e, const struct column *c, const void *map, size_t row,
                      size_t room, double *x)
{
    const struct counts *s = c->held;
    const size_t at = s->at[row], n = counts_places(s, row) < room ? counts_places(s, row) : room;

    (void)e, (void)map;
    *x++ = (double)n;
    for (size_t k = 0; k < n; k++) {
        *x++ = (double)s->count[at + k].place;
        *x++ = s->count[at + k].value;
    }
    spill_used(n * sizeof *s->count);
}

static enum cell_state judge(const struct encoding *e, const struct encode_group *g, size_t row)
{
    (void)e;
    return !column_missing(g->c, row) ? CELL_THERE : g->windows ? CELL_SHORT : CELL_MISSING;
}

/* For kernels of columns. */

static int by_place(const void *a, const void *b)
{
    const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;

    return (p > q) - (p < q);
}

/* The places of the training rows, each once, in ascending order; the caller frees them. */
static uint32_t *places_of(const struct encoding_fitting *f, const struct counts *s, size_t *n)
{
    size_t all = 0, k = 0;

    for (size_t i = 0; i < f->n; i++)
        all += counts_places(s, f->rows[i]);
    uint32_t *place = mem_calloc(all + 1, sizeof *place, "places", f->err);
    *n = 0;
    if (place == NULL)
        return NULL;
    for (size_t i = 0; i < f->n; i++)
        for (size_t c = s->at[f->rows[i]]; c < s->at[f->rows[i] + 1]; c++)
            place[k++] = s->count[c].place;
    qsort(place, all, sizeof *place, by_place);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || place[i] != place[i - 1])
            place[(*n)++] = place[i];
    return place;
}

/* Adds a column for each place; mean and square (n of each, 0 on entry): sums over the training
 * rows. */
static enum status add_places(struct encoding_fitting *f, const struct column *c,
                              const uint32_t *place, size_t n, double *mean, double *square)
{
    const struct counts *s = c->held;

    for (size_t i = 0; i < f->n; i++)
        for (size_t k = s->at[f->rows[i]]; k < s->at[f->rows[i] + 1]; k++) {
            const struct count one = s->count[k];
            const uint32_t *at = bsearch(&one.place, place, n, sizeof *place, by_place);
            mean[at - place] += one.value;
            square[at - place] += one.value * one.value;
        }
    for (size_t k = 0; k < n; k++) {
        char word[16];
        snprintf(word, sizeof word, "%lu", (unsigned long)place[k]);
        struct enc_col *e = encoding_column_cell(f, kind_of(c), c, 0, word);
        if (e == NULL)
            return ST_NOMEM;
        e->mean = e->fill = mean[k] / (double)f->n;
        const double v = square[k] / (double)f->n - e->mean * e->mean;
        e->constant = !(v > 1e-12 * (1.0 + e->mean * e->mean));
        e->sd = e->constant ? 1.0 : sqrt(v);
        e->limit = ENCODING_COLUMN_CUT * 10.0;
    }
    return ST_OK;
}

static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    size_t n;
    uint32_t *place = places_of(f, c->held, &n);
    enum status rc = place != NULL ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && n > PLACES_MOST) {
        rc = err_named(f->err, ST_LIMIT, "places",
                       "the training rows of '%.40s' have counts at %zu places; kernels of columns "
                       "read %d at most", c->name, n, PLACES_MOST);
        err_hint(f->err, "kernel tanimoto");
    }
    if (rc == ST_OK && n == 0)
        rc = err_named(f->err, ST_STATE, "inputs", "no training row of '%.40s' has a count",
                       c->name);
    double *sum = rc == ST_OK ? mem_calloc(2 * n, sizeof *sum, "places", f->err) : NULL;
    if (rc == ST_OK)
        rc = sum != NULL ? add_places(f, c, place, n, sum, sum + n) : ST_NOMEM;
    if (rc == ST_OK)
        buf_printf(f->notes,
                   "note[places]: the counts of a row are read as %zu numbers, one for each place "
                   "that occurs (kernel tanimoto compares them as counts)\n", n);
    free(place);
    free(sum);
    return rc;
}

static bool suits(const struct enc_held *held, const struct enc_col *col)
{
    const size_t digits = strspn(col->level, "0123456789");

    (void)held;
    return digits > 0 && digits < 11 && col->level[digits] == '\0';
}

/* Finds the place of each column. */
static enum status map(const struct encoding *e, struct encode_group *g, struct err *err)
{
    if (g->windows)
        return ST_OK;
    uint32_t *place = g->map = mem_calloc(g->n + 1, sizeof *place, "places", err);
    if (place == NULL)
        return ST_NOMEM;
    for (size_t k = 0; k < g->n; k++)
        place[k] = (uint32_t)strtoul(e->col[g->first + k].level, NULL, 10);
    return ST_OK;
}

/* Columns and the places of a row are in the same order. */
static void encode_counts(const struct encoding *e, const struct encode_group *g, size_t row,
                          double *x, size_t *cut)
{
    const struct counts *s = g->c->held;
    const uint32_t *place = g->map;
    const bool missing = s->missing[row];
    size_t at = s->at[row];

    for (size_t k = 0; k < g->n; k++) {
        const struct enc_col *col = &e->col[g->first + k];
        while (at < s->at[row + 1] && s->count[at].place < place[k])
            at++;
        const bool has = at < s->at[row + 1] && s->count[at].place == place[k];
        const double v = missing ? col->fill : has ? s->count[at].value : 0.0;
        x[g->first + k] = encoding_column_value(col, v, cut);
    }
    spill_used(counts_places(s, row) * sizeof *s->count);
}

static enum status coding(const struct column *c, const char *word, struct err *err)
{
    return strcmp(word, "onehot") == 0
               ? ST_OK
               : err_set(err, ST_STATE,
                         "encoding=%.60s is for sequences of letters; '%.40s' holds counts", word,
                         c->name);
}

/* Describing. */

static void words(const struct column *c, struct buf *out)
{
    buf_puts(out, "counts at ");
    kind_note_lengths(counts_of(c)->shortest, counts_of(c)->longest, "place", out);
}

static void measure(const struct column *c, struct buf *out)
{
    kind_note_lengths(counts_of(c)->shortest, counts_of(c)->longest, "place", out);
    buf_printf(out, ", values up to %g", counts_of(c)->most);
}

/* Examining rows. */

static enum status variants(const struct column *c, size_t row, struct row_variants *v,
                            struct err *err)
{
    *v = (struct row_variants){
        .positions = counts_places(c->held, row), .choices = 1, .leaves_out = true };
    if (v->positions == 0)
        return err_set(err, ST_STATE, "row %zu has no places: there is nothing to leave out",
                       row + 1);
    v->names = counts_names(c->held, row, err);
    return v->names != NULL ? ST_OK : ST_NOMEM;
}

static enum status vary(const struct column *c, size_t row, const struct row_variants *v,
                        struct column *to, struct err *err)
{
    (void)v;
    return counts_leave_out(c->held, row, to, err);
}

const struct row_kind kind_counts = {
    .name = "counts",
    .whole = "list of counts",
    .part = "place",
    .several = "lists of counts",
    .cells = &counts_cells,
    .rows = ROWS_NUMBERS | ROWS_COUNTS,
    .sole = true,
    .hollow = true,
    .guess = counts_guess,
    .make = counts_make,
    .adopt = counts_make,
    .note = note,
    .fit = fit,
    .numbers = numbers,
    .coding = coding,
    .length = length,
    .longest = longest,
    .fit_positions = fit_positions,
    .positions = positions,
    .map = map,
    .unmap = free,
    .judge = judge,
    .encode = encode_counts,
    .check = check,
    .suits = suits,
    .words = words,
    .example = "counts\n3:1 80:2\n3:1 7:4\n80:300\n3:0.5 9:1 4294967295:2\n0:0\n7:1 9:2 80:1\n",
    .measure = measure,
    .variants = variants,
    .vary = vary,
};
