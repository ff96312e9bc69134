/* data/kinds/positions.c -- see positions.h. */
#include "data/kinds/positions.h"

#include "data/page_use.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/kernels/layers/layer_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t positions_numbers(const struct enc_held *s)
{
    return s->layer.symbols ? 1 : s->layer.channels;
}

/* The number of positions that a row needs: a window of the layer, and what its last position needs
 * beyond itself. */
static size_t least_of(const struct row_kind *kind, const char *coding, const void *state,
                       size_t width)
{
    return (kind->beyond != NULL ? kind->beyond(coding, state) : 0) + (width > 0 ? width : 1);
}

/* True if a row has too few positions; of a hollow kind, if its cell is missing. */
static bool lacks(const struct row_kind *kind, const struct column *c, size_t row, size_t least)
{
    return kind->hollow ? column_missing(c, row) : kind->length(c, row) < least;
}

/* Fitting. */

/* True if what is kept serves this layer, too: it reads the same numbers in the same way.  Kernels
 * of columns read any. */
static bool serves(const struct enc_held *h, const struct layer *layer)
{
    if (layer == NULL)
        return true;
    if (h->layer.ops == NULL)
        return h->layer.norm == layer->norm;
    return layer_same_numbers(&h->layer, layer) && h->layer.norm == layer->norm;
}

/* Enters a layer that reads what is kept. */
static void take_layer(struct enc_held *h, const struct layer *layer)
{
    if (h->layer.ops == NULL)
        h->layer.ops = layer->ops;
    h->layer.width =
        layer_least(layer) > h->layer.width ? layer_least(layer) : h->layer.width;
    h->layer.filters = layer->filters;
    h->layer.norm = layer->norm;
}

/* Only DNA and RNA have two strands: the letters ACGT or ACGU, one at each position. */
static enum status check_strands(const struct encoding_fitting *f, const struct enc_held *h,
                                 const struct layer *layer)
{
    const char *letters = h->kind->alphabet != NULL ? h->kind->alphabet(h->state) : "";
    char name[64];

    if (layer == NULL || layer->strands == 0 ||
        (h->layer.channels == 4 &&
         (strcmp(letters, "ACGT") == 0 || strcmp(letters, "ACGU") == 0)))
        return ST_OK;
    err_named(f->err, ST_STATE, "strands",
              "strands=both is for DNA and RNA, and column %s has other letters or positions",
              text_quoted(h->column, name, sizeof name));
    err_hint(f->err, "kernel %s  |  cols NAME encoding=onehot", layer->ops->example);
    return ST_STATE;
}

enum status positions_fit(struct encoding_fitting *f, const struct row_kind *kind,
                          const struct column *c, const struct layer *layer,
                          struct enc_held **held)
{
    struct enc_held *h = NULL;

    for (size_t k = 0; h == NULL && k < f->e->nheld; k++)
        if (strcmp(f->e->held[k].column, c->name) == 0 && serves(&f->e->held[k], layer))
            h = &f->e->held[k];
    const bool fresh = h == NULL;
    if (fresh)
        h = encoding_column_keep(f, kind, c);
    *held = h;
    if (h == NULL)
        return ST_NOMEM;
    if (layer != NULL)
        take_layer(h, layer);
    h->layer.positions = kind->longest(c);
    const enum status rc = fresh ? kind->fit_positions(f, h, c) : ST_OK;
    return rc == ST_OK ? check_strands(f, h, layer) : rc;
}

/* Notes rows that are shorter than all words. */
static void note_wordless(const struct encoding_fitting *f, const struct row_kind *kind,
                          const struct column *c, const struct layer *layer)
{
    const size_t least = layer->ops->words->least(layer);
    size_t n = 0, first = 0;

    for (size_t i = 0; i < f->n; i++)
        if (kind->length(c, f->rows[i]) < least && n++ == 0)
            first = f->rows[i];
    if (n > 0)
        buf_printf(f->notes,
                   "note[short]: %zu training %s%s shorter than the words of %s, %zu letters, "
                   "first in row %zu: they have no words, so that their kernel values are 0\n",
                   n, n == 1 ? kind->whole : kind->several, n == 1 ? " is" : " are",
                   layer->ops->name, least, first + 1);
}

enum status positions_fit_windows(struct encoding_fitting *f, const struct row_kind *kind,
                                  const struct column *c, const struct layer *layer, size_t *at)
{
    struct enc_held *h;
    const enum status rc = positions_fit(f, kind, c, layer, &h);

    if (rc != ST_OK)
        return rc;
    if (layer->ops->words != NULL)
        note_wordless(f, kind, c, layer);
    h->inputs = 1 + kind->longest(c) * positions_numbers(h);
    *at = (size_t)(h - f->e->held);
    return ST_OK;
}

/* Sums of the filters' values over the training rows, relative to those of the first row: mean and
 * square for F filters, with the values of the first row. All three arrays are zero on entry. */
static enum status sum_filters(struct encoding_fitting *f, const struct row_kind *kind,
                               const struct column *c, const struct enc_held *s, double *phi)
{
    const size_t F = s->layer.filters, room = kind->longest(c);
    double *mean = phi + F, *square = mean + F, *first = square + F;
    struct layer_map *conv = layer_map_new(&s->layer, s->seed, f->err);
    double *x =
        conv ? mem_calloc(room * positions_numbers(s) + 1, sizeof *x, "a sequence", f->err) : NULL;
    enum status rc = x != NULL ? ST_OK : ST_NOMEM;

    for (size_t i = 0; i < f->n && rc == ST_OK; i++) {
        kind->positions(s, c, NULL, f->rows[i], room, x);
        if (i == 0)
            rc = layer_map_refer(conv, x, f->err);
        if (rc == ST_OK)
            rc = layer_map_apply(conv, x, phi, f->err);
        for (size_t j = 0; j < F && rc == ST_OK; j++) {
            if (i == 0)
                first[j] = phi[j];
            mean[j] += phi[j] - first[j];
            square[j] += (phi[j] - first[j]) * (phi[j] - first[j]);
        }
        page_use_step(f->rows, i, page_use_row_bytes(c));
    }
    free(x);
    layer_map_free(conv);
    return rc;
}

enum status positions_fit_filters(struct encoding_fitting *f, const struct row_kind *kind,
                                  const struct column *c, const struct layer *layer)
{
    struct enc_held *held;
    enum status rc = positions_fit(f, kind, c, layer, &held);
    const size_t F = layer->filters;
    double *phi = rc == ST_OK ? mem_calloc(4 * F, sizeof *phi, "filters", f->err) : NULL;
    const double *mean = phi ? phi + F : NULL, *square = phi ? mean + F : NULL,
                 *first = phi ? square + F : NULL;
    size_t dead = 0;

    if (rc == ST_OK)
        rc = phi != NULL ? sum_filters(f, kind, c, held, phi) : ST_NOMEM;
    for (size_t j = 0; j < F && rc == ST_OK; j++) {
        struct enc_col *e = encoding_column_add(f, kind, c, ENC_FILTER);
        if (e == NULL) {
            rc = ST_NOMEM;
            break;
        }
        const double m = mean[j] / (double)f->n, v = square[j] / (double)f->n - m * m;
        e->mean = e->fill = first[j] + m;
        e->constant = !(v > 1e-12 * (1.0 + e->mean * e->mean));
        e->sd = e->constant ? 1.0 : sqrt(v);
        e->limit = ENCODING_COLUMN_CUT * 10.0;
        dead += e->constant;
    }
    free(phi);
    if (rc == ST_OK && dead == F)
        return err_named(f->err, ST_STATE, "inputs",
                         "no filter tells the training rows apart: all have the same %s",
                         kind->whole);
    if (rc == ST_OK && dead > 0)
        buf_printf(
            f->notes,
            "note[filters]: %zu of %zu filters have one value on all training rows and count "
            "as 0\n",
            dead, F);
    return rc;
}

enum status positions_too_short(const struct row_kind *kind, const struct table *t,
                                const struct column *c, size_t row, size_t width, struct err *err)
{
    char name[64];
    const char *id = NULL;
    const size_t len = kind->length(c, row);

    for (size_t j = 0; id == NULL && j < t->ncols; j++) /* the name of the record, if it has one */
        if (t->col[j].type == COL_TEXT)
            id = column_word(&t->col[j], row);
    if (kind->hollow) {
        err_named(err, ST_STATE, "missing", "row %zu: column %s is missing, and %s have no mean",
                  row + 1, text_quoted(c->name, name, sizeof name), kind->several);
        err_hint(err, "missing drop");
        return ST_STATE;
    }
    err_named(err, ST_STATE, "short", "row %zu%s%.40s%s: the %s has %zu %ss, a window %zu", row + 1,
              id != NULL ? " (" : "", id != NULL ? text_quoted(id, name, sizeof name) : "",
              id != NULL ? ")" : "", kind->whole, len, kind->part, width);
    if (len > 0 && kind->shorter_width)
        err_hint(err, "kernel conv(rbf,width=%zu)  |  missing drop", len);
    else
        err_hint(err, "missing drop");
    return ST_STATE;
}

enum status positions_lost(struct encoding_fitting *f, const struct row_kind *kind,
                           const struct column *c, size_t width, const size_t *train, size_t n,
                           bool *drop)
{
    const size_t least = least_of(kind, f->d->coding, NULL, width);
    size_t lost = 0, first = 0;

    for (size_t i = 0; i < n; i++) {
        if (!lacks(kind, c, train[i], least))
            continue;
        if (f->d->missing != MISSING_DROP)
            return positions_too_short(kind, f->d->table, c, train[i], least, f->err);
        drop[i] = true;
        first = lost++ == 0 ? train[i] : first;
    }
    if (lost > 0 && least > 1 && !kind->hollow)
        buf_printf(
            f->notes,
            "note[short]: %zu training %s%s shorter than a window of %zu, first in row %zu\n",
            lost, lost == 1 ? kind->whole : kind->several, lost == 1 ? " is" : " are", least,
            first + 1);
    return ST_OK;
}

/* Applying. */

void positions_map(struct encode_group *g)
{
    const struct enc_held *h = g->held;

    g->least = least_of(g->row, NULL, h != NULL ? h->state : NULL, h != NULL ? h->layer.width : 0);
}

/* The longest of some rows of a column (NULL: the first n). */
static size_t longest_of(const struct encode_group *g, const size_t *rows, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t len = g->row->length(g->c, rows != NULL ? rows[i] : i);
        most = len > most ? len : most;
    }
    return most;
}

enum status positions_map_windows(const size_t *rows, size_t n, struct encode_group *g,
                                  struct err *err)
{
    const struct enc_held *h = g->held;
    const size_t per = positions_numbers(h);

    g->room = longest_of(g, rows, n);
    if (g->windows) {
        g->room = g->room < (h->inputs - 1) / per ? (h->inputs - 1) / per : g->room;
        return ST_OK;
    }
    g->conv = layer_map_new(&h->layer, h->seed, err);
    double *x =
        g->conv != NULL ? mem_calloc(g->room * per + 1, sizeof *x, "a sequence", err) : NULL;
    enum status rc = x != NULL ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && n > 0) {
        g->row->positions(h, g->c, g->map, rows != NULL ? rows[0] : 0, g->room, x);
        rc = layer_map_refer(g->conv, x, err);
    }
    free(x);
    return rc;
}

/* Reads digits without leading zeros, at most nine. Returns their number, 0 if there are none. */
static size_t take_count(const char *s, size_t *n)
{
    const size_t digits = strspn(s, "0123456789");

    *n = strtoul(s, NULL, 10);
    return digits < 10 && *s != '0' ? digits : 0;
}

bool positions_level(const char *level, size_t *position, size_t *number)
{
    *number = 0;
    const size_t n = take_count(level, position);
    const size_t m = n > 0 && level[n] == '#' ? take_count(level + n + 1, number) : 0;

    return m > 0 && level[n + 1 + m] == '\0';
}

void positions_free(struct encode_group *g)
{
    layer_map_free(g->conv);
    g->conv = NULL;
}

enum cell_state positions_judge(const struct encoding *e, const struct encode_group *g, size_t row)
{
    (void)e;
    return g->row->length(g->c, row) < g->least ? CELL_SHORT : CELL_THERE;
}

enum status positions_encode(const struct encoding *e, const struct encode_group *g, size_t row,
                             double *x, size_t *cut, struct err *err)
{
    if (g->windows) {
        if (g->told != SIZE_MAX)
            x[g->told] = (double)g->first;
        g->row->positions(g->held, g->c, g->map, row, g->room, x + g->first);
        return ST_OK;
    }
    double *w = mem_calloc(g->room * positions_numbers(g->held) + 1, sizeof *w, "a sequence", err);
    if (w == NULL)
        return ST_NOMEM;
    g->row->positions(g->held, g->c, g->map, row, g->room, w);
    const enum status rc = layer_map_apply(g->conv, w, x + g->first, err);
    for (size_t k = 0; k < g->n; k++)
        x[g->first + k] = encoding_column_value(&e->col[g->first + k], x[g->first + k], cut);
    free(w);
    return rc;
}
