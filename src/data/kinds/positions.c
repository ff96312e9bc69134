/* data/kinds/positions.c -- see positions.h. */
#include "data/kinds/positions.h"

#include "data/kinds/letters.h"
#include "data/page_use.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/kernels/layers/layer_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t length_of(const struct column *c, size_t row)
{
    return c->seq->at[row + 1] - c->seq->at[row] - 1;
}

size_t positions_numbers(const struct enc_sequence *s)
{
    return s->value != NULL || s->node != NULL ? s->layer.channels : 1;
}

void positions_codes(const struct enc_sequence *e, uint8_t code[256])
{
    sequence_alphabet_codes(
        e->order, e->value != NULL || e->kmer > 0 ? strlen(e->order) : e->layer.channels, code);
}

/* Positions that a row needs: a window of the layer, in words of kmer letters. */
static size_t least_of(size_t kmer, const struct layer *layer)
{
    return (kmer > 0 ? kmer - 1 : 0) + (layer->ops != NULL ? layer->width : 1);
}

/* Fitting. */

enum status positions_fit(struct encoding_fitting *f, const struct row_kind *kind,
                          const struct column *c)
{
    struct enc_sequence *s = &f->e->seq;

    if (s->column != NULL)
        return ST_OK;
    s->column = mem_strdup(c->name, f->err);
    s->layer = f->d->kernel.layer;
    s->layer.positions = c->seq->longest;
    s->seed = 0;
    memcpy(s->order, c->seq->order, sizeof s->order);
    return s->column != NULL ? kind->fit_positions(f, c) : ST_NOMEM;
}

enum status positions_fit_windows(struct encoding_fitting *f, const struct row_kind *kind,
                                  const struct column *c)
{
    const enum status rc = positions_fit(f, kind, c);

    f->e->seq.inputs = 1 + c->seq->longest * positions_numbers(&f->e->seq);
    return rc;
}

/* Sums of the filters' values over the training rows, around the first row's: mean and square of F
 * filters, first their values there.  All three are zero on entry. */
static enum status sum_filters(struct encoding_fitting *f, const struct row_kind *kind,
                               const struct column *c, double *phi)
{
    const struct enc_sequence *s = &f->e->seq;
    const size_t F = s->layer.filters, room = c->seq->longest;
    double *mean = phi + F, *square = mean + F, *first = square + F;
    struct layer_map *conv = layer_map_new(&s->layer, s->seed, f->err);
    double *x =
        conv ? mem_calloc(room * positions_numbers(s) + 1, sizeof *x, "a sequence", f->err) : NULL;
    enum status rc = x != NULL ? ST_OK : ST_NOMEM;
    uint8_t code[256];

    positions_codes(s, code);
    for (size_t i = 0; i < f->n && rc == ST_OK; i++) {
        kind->positions(s, c, code, NULL, f->rows[i], room, x);
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
                                  const struct column *c)
{
    enum status rc = positions_fit(f, kind, c);
    const size_t F = f->e->seq.layer.filters;
    double *phi = rc == ST_OK ? mem_calloc(4 * F, sizeof *phi, "filters", f->err) : NULL;
    const double *mean = phi ? phi + F : NULL, *square = phi ? mean + F : NULL,
                 *first = phi ? square + F : NULL;
    size_t dead = 0;

    if (rc == ST_OK)
        rc = phi != NULL ? sum_filters(f, kind, c, phi) : ST_NOMEM;
    for (size_t j = 0; j < F && rc == ST_OK; j++) {
        struct enc_col *e = encoding_column_add(f, c->name, ENC_FILTER);
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
                         "no filter tells the training rows apart: all have the "
                         "same sequence");
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
    const size_t len = length_of(c, row);

    for (size_t j = 0; id == NULL && j < t->ncols; j++) /* a record's own name, where it has one */
        if (t->col[j].type == COL_TEXT)
            id = column_word(&t->col[j], row);
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
                           const struct column *c, const size_t *train, size_t n, bool *drop)
{
    const size_t least = least_of(letters_kmer(f->d->coding), &f->d->kernel.layer);
    size_t lost = 0, first = 0;

    for (size_t i = 0; i < n; i++) {
        if (length_of(c, train[i]) >= least)
            continue;
        if (f->d->missing != MISSING_DROP)
            return positions_too_short(kind, f->d->table, c, train[i], least, f->err);
        drop[i] = true;
        first = lost++ == 0 ? train[i] : first;
    }
    if (lost > 0 && least > 1)
        buf_printf(
            f->notes,
            "note[short]: %zu training sequence%s shorter than a window of %zu, first in row %zu\n",
            lost, lost == 1 ? " is" : "s are", least, first + 1);
    return ST_OK;
}

/* Applying. */

enum status positions_map(const struct encoding *e, struct encode_group *g, struct err *err)
{
    const bool nodes = e->seq.node != NULL;
    char name[64];

    g->least = least_of(e->seq.kmer, &e->seq.layer);
    if (g->c->type == COL_REAL) {
        err_named(err, ST_STATE, "column",
                  "column %s holds numbers here but sequences in the training data",
                  text_quoted(g->c->name, name, sizeof name));
        return ST_STATE;
    }
    if (nodes == (g->c->type == COL_SEQUENCE && g->c->seq->nodes != NULL))
        return ST_OK;
    err_named(err, ST_STATE, "column", "column %s holds %s here but %s in the training data",
              text_quoted(g->c->name, name, sizeof name), nodes ? "words" : "sets of nodes",
              nodes ? "sets of nodes" : "sequences");
    err_hint(err,
             nodes ? "predict FILE graph=COLUMN, as the training file was opened" : "predict FILE");
    return ST_STATE;
}

/* The longest among some rows of a column (NULL: the first n). */
static size_t longest_of(const struct column *c, const size_t *rows, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t len = length_of(c, rows != NULL ? rows[i] : i);
        most = len > most ? len : most;
    }
    return most;
}

enum status positions_map_windows(const struct encoding *e, const size_t *rows, size_t n,
                                  struct encode_group *g, struct err *err)
{
    const size_t per = positions_numbers(&e->seq);

    positions_codes(&e->seq, g->code);
    g->room = longest_of(g->c, rows, n);
    if (g->windows) {
        g->room = g->room < (e->seq.inputs - 1) / per ? (e->seq.inputs - 1) / per : g->room;
        return ST_OK;
    }
    g->conv = layer_map_new(&e->seq.layer, e->seq.seed, err);
    double *x =
        g->conv != NULL ? mem_calloc(g->room * per + 1, sizeof *x, "a sequence", err) : NULL;
    enum status rc = x != NULL ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && n > 0) {
        g->row->positions(&e->seq, g->c, g->code, g->from, rows != NULL ? rows[0] : 0, g->room, x);
        rc = layer_map_refer(g->conv, x, err);
    }
    free(x);
    return rc;
}

void positions_free(struct encode_group *g)
{
    layer_map_free(g->conv);
    g->conv = NULL;
}

enum cell_state positions_judge(const struct encoding *e, const struct encode_group *g, size_t row)
{
    (void)e;
    return length_of(g->c, row) < g->least ? CELL_SHORT : CELL_THERE;
}

enum status positions_encode(const struct encoding *e, const struct encode_group *g, size_t row,
                             double *x, size_t *cut, struct err *err)
{
    if (g->windows) {
        g->row->positions(&e->seq, g->c, g->code, g->from, row, g->room, x + g->first);
        return ST_OK;
    }
    double *w = mem_calloc(g->room * positions_numbers(&e->seq) + 1, sizeof *w, "a sequence", err);
    if (w == NULL)
        return ST_NOMEM;
    g->row->positions(&e->seq, g->c, g->code, g->from, row, g->room, w);
    const enum status rc = layer_map_apply(g->conv, w, x + g->first, err);
    for (size_t k = 0; k < g->n; k++)
        x[g->first + k] = encoding_column_value(&e->col[g->first + k], x[g->first + k], cut);
    free(w);
    return rc;
}
