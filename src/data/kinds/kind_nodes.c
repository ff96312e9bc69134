/* data/kinds/kind_nodes.c -- sets of nodes with numbers for each: graphs, molecules, stretches of a
 * time series.
 *
 * Kernels of columns read how many nodes there are and the means of their numbers, or the values of
 * a series at each position; kernels over windows read the vectors of the nodes. */
#include "data/kinds/kind.h"

#include "data/encode_group.h"
#include "data/encoding_column.h"
#include "data/json.h"
#include "data/kinds/nodes.h"
#include "data/kinds/positions.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are nodes become graphs; a column of numbers becomes its past values. */
static enum status gather(struct table **t, const struct import_opts *opts, const struct ctl *ctl,
                          struct err *err)
{
    enum status rc = ST_OK;

    if ((opts->describe != NULL && opts->graph == NULL) ||
        (opts->lengths != NULL && (*t)->depth == 0)) {
        err_set(err, ST_USAGE,
                opts->lengths != NULL
                    ? "lengths= belongs to an array of rows, nodes and numbers: this file "
                      "has no three dimensions"
                    : "describe= belongs to graph=COLUMN: the rows are atoms");
        return ST_USAGE;
    }
    if ((*t)->depth > 0)
        rc = nodes_fold(t, (*t)->depth, opts, ctl, err);
    if (rc == ST_OK && opts->graph != NULL)
        rc = nodes_gather(t, opts, ctl, err);
    return rc == ST_OK && opts->window != NULL ? nodes_window(*t, opts, err) : rc;
}

/* Means and deviations of the numbers over all nodes of training rows.  Flags (a category's levels,
 * descriptions of atoms) share one deviation, that of all of them together; nodes that are not
 * centred one factor for all numbers. */
static enum status fit_positions(struct encoding_fitting *f, const struct column *c)
{
    const struct nodes *o = c->seq->nodes;
    struct enc_sequence *s = &f->e->seq;
    const enum layer_norm norm = f->d->kernel.layer.norm;
    double flags = 0.0, length = 0.0;
    size_t n = 0;

    s->series = o->series;
    s->layer.norm = norm;
    s->layer.symbols = false;
    s->node = mem_calloc(o->d, sizeof *s->node, "numbers of nodes", f->err);
    double *square =
        s->node != NULL ? mem_calloc(o->d, sizeof *square, "numbers of nodes", f->err) : NULL;
    if (square == NULL)
        return ST_NOMEM;
    s->layer.channels = o->d;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < f->n; i++) {
            const double *v = nodes_at(c->seq, f->rows[i]);
            const size_t m = c->seq->at[f->rows[i] + 1] - c->seq->at[f->rows[i]] - 1;
            n += pass == 0 ? m : 0;
            for (size_t k = 0; k < m * o->d; k++) {
                struct enc_node *e = &s->node[k % o->d];
                const double u = v[k] - (pass == 0 ? 0.0 : e->mean);
                *(pass == 0 ? &e->mean : &square[k % o->d]) += pass == 0 ? u : u * u;
            }
            spill_used(m * o->d * sizeof *v);
        }
        for (size_t k = 0; pass == 0 && k < o->d; k++)
            s->node[k].mean /= (double)(n > 0 ? n : 1);
    }
    for (size_t k = 0; k < o->d; k++) {
        square[k] /= (double)(n > 0 ? n : 1);
        flags += o->flag[k] ? square[k] : 0.0;
        length += square[k] + s->node[k].mean * s->node[k].mean;
    }
    enum status rc = ST_OK;
    for (size_t k = 0; k < o->d && rc == ST_OK; k++) {
        struct enc_node *e = &s->node[k];
        const double v = o->flag[k] ? flags : square[k];
        e->flag = o->flag[k];
        e->name = mem_strdup(o->name[k], f->err);
        rc = e->name != NULL ? ST_OK : ST_NOMEM;
        e->sd = norm == NORM_STANDARD ? (v > 1e-20 * (1.0 + e->mean * e->mean) ? sqrt(v) : 1.0)
                                      : length > 0.0 ? sqrt(length) : 1.0;
        e->mean = norm == NORM_STANDARD ? e->mean : 0.0;
    }
    free(square);
    return rc;
}

/* The nodes of a row as vectors: source.h.  from: where each number stands in this table's nodes,
 * SIZE_MAX: nowhere. */
static void positions(const struct enc_sequence *e, const struct column *c,
                      const uint8_t code[256], const size_t *from, size_t row, size_t room,
                      double *x)
{
    const struct sequences *s = c->seq;
    const size_t per = e->layer.channels, d = s->nodes->d;
    const double *v = nodes_at(s, row);
    size_t len = s->at[row + 1] - s->at[row] - 1;

    (void)code;
    len = len > room ? room : len;
    *x++ = (double)len;
    for (size_t p = 0; p < len; p++, x += per) {
        double norm = 0.0;
        for (size_t k = 0; k < per; k++) {
            const double u = from == NULL          ? v[p * d + k]
                             : from[k] == SIZE_MAX ? 0.0
                                                   : v[p * d + from[k]];
            x[k] = (u - e->node[k].mean) / e->node[k].sd;
            norm += x[k] * x[k];
        }
        for (size_t k = 0; e->layer.norm == NORM_UNIT && norm > 0.0 && k < per; k++)
            x[k] /= sqrt(norm);
    }
    spill_used(len * d * sizeof *v);
}

/* One number of all training rows, as group g has it: mean, deviation. */
static enum status fit_pool(struct encoding_fitting *f, const struct column *c, const char *level,
                            enum enc_kind kind, size_t position, size_t k)
{
    struct enc_col *e = encoding_column_add(f, c->name, kind);
    double sum = 0.0, squares = 0.0, first = 0.0;
    const size_t d = c->seq->nodes->d;

    if (e == NULL || (e->level = mem_strdup(level, f->err)) == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        const size_t m = c->seq->at[f->rows[i] + 1] - c->seq->at[f->rows[i]] - 1;
        const double *v = nodes_at(c->seq, f->rows[i]);
        double u = kind == ENC_LETTER ? v[position * d + k] : k == SIZE_MAX ? (double)m : 0.0;
        for (size_t p = 0; kind == ENC_POOL && k != SIZE_MAX && p < m; p++)
            u += v[p * d + k] / (double)m;
        first = i == 0 ? u : first;
        sum += u - first;
        squares += (u - first) * (u - first);
    }
    const double m = sum / (double)f->n, var = squares / (double)f->n - m * m;
    e->mean = e->fill = first + m;
    e->constant = !(var > 1e-18 * (1.0 + e->mean * e->mean));
    e->sd = e->constant ? 1.0 : sqrt(var);
    e->limit = ENCODING_COLUMN_CUT * 10.0;
    return ST_OK;
}

/* Nodes for kernels of columns: how many they are and the means of their numbers; of stretches of a
 * series, which are all as long, the values themselves. */
static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    const struct nodes *o = c->seq->nodes;
    enum status rc = positions_fit(f, &kind_nodes, c);
    char word[48];

    if (f->d->kernel.layer.ops == NULL)
        f->e->seq.layer.ops = NULL;
    for (size_t p = 0; rc == ST_OK && o->series && p < c->seq->longest; p++)
        for (size_t k = 0; rc == ST_OK && k < o->d; k++) {
            snprintf(word, sizeof word, "%zu#%zu", p + 1, k + 1);
            rc = fit_pool(f, c, word, ENC_LETTER, p, k);
        }
    if (o->series || rc != ST_OK)
        return rc;
    rc = fit_pool(f, c, "", ENC_POOL, 0, SIZE_MAX);
    for (size_t k = 0; rc == ST_OK && k < o->d; k++)
        rc = fit_pool(f, c, o->name[k], ENC_POOL, 0, k);
    if (rc == ST_OK)
        buf_printf(f->notes,
                   "note[pool]: the nodes of a row are read as their number and the means of their "
                   "%zu numbers "
                   "(kernel graph(rbf) compares them one by one)\n",
                   o->d);
    return rc;
}

static bool encodes(const struct encoding *e, enum enc_kind kind, bool windows)
{
    return e->seq.node != NULL &&
           (windows || kind == ENC_LETTER || kind == ENC_FILTER || kind == ENC_POOL);
}

/* Where each number of the encoding's nodes stands in this table's. */
static enum status map_nodes(const struct encoding *e, struct encode_group *g, struct err *err)
{
    const struct nodes *o = g->c->seq->nodes;
    const size_t n = e->seq.layer.channels;
    char name[64];

    g->from = mem_calloc(n, sizeof *g->from, "numbers of nodes", err);
    g->channel =
        g->windows ? NULL : mem_calloc(g->n + 1, sizeof *g->channel, "numbers of nodes", err);
    g->position =
        g->windows ? NULL : mem_calloc(g->n + 1, sizeof *g->position, "numbers of nodes", err);
    if (g->from == NULL || (!g->windows && (g->channel == NULL || g->position == NULL)))
        return ST_NOMEM;
    for (size_t k = 0; k < n; k++) {
        size_t j = k < o->d && strcmp(o->name[k], e->seq.node[k].name) == 0 ? k : 0;
        while (j < o->d && strcmp(o->name[j], e->seq.node[k].name) != 0)
            j++;
        g->from[k] = j < o->d ? j : SIZE_MAX;
        if (j == o->d && !e->seq.node[k].flag)
            return err_named(err, ST_STATE, "column",
                             "the nodes have no number %s, which the model reads",
                             text_quoted(e->seq.node[k].name, name, sizeof name));
    }
    for (size_t j = 0; j < o->d; j++) { /* a word that was never seen would count as none */
        size_t k = j < n && strcmp(o->name[j], e->seq.node[j].name) == 0 ? j : 0;
        while (o->flag[j] && k < n && strcmp(o->name[j], e->seq.node[k].name) != 0)
            k++;
        if (o->flag[j] && k == n)
            return err_named(err, ST_STATE, "unseen",
                             "nodes have %s, which never occurs in the training rows",
                             text_quoted(o->name[j], name, sizeof name));
    }
    for (size_t k = 0; !g->windows && g->kind != ENC_FILTER && k < g->n; k++) {
        const char *level = e->col[g->first + k].level;
        char *end = NULL;
        if (g->kind == ENC_LETTER) {
            g->position[k] = strtoul(level, &end, 10) - 1;
            g->channel[k] = strtoul(end + 1, NULL, 10) - 1;
            continue;
        }
        g->channel[k] = SIZE_MAX;
        for (size_t c = 0; *level != '\0' && c < n; c++)
            if (strcmp(e->seq.node[c].name, level) == 0)
                g->channel[k] = c;
    }
    return ST_OK;
}

static enum status map(const struct encoding *e, const struct table *t, struct encode_group *g,
                       struct err *err)
{
    const enum status rc = positions_map(e, g, err);

    (void)t;
    return rc == ST_OK ? map_nodes(e, g, err) : rc;
}

/* Means over the nodes, or the values of a series at its positions, for kernels of columns. */
static void encode_nodes(const struct encoding *e, const struct encode_group *g, size_t row,
                         double *x, size_t *cut)
{
    const struct sequences *s = g->c->seq;
    const size_t m = s->at[row + 1] - s->at[row] - 1, d = s->nodes->d;
    const double *v = nodes_at(s, row);

    for (size_t k = 0; k < g->n; k++) {
        double sum = 0.0;
        const size_t from = g->channel[k] == SIZE_MAX ? SIZE_MAX : g->from[g->channel[k]];
        if (g->kind == ENC_LETTER)
            sum = g->position[k] < m && from != SIZE_MAX ? v[g->position[k] * d + from]
                                                         : e->col[g->first + k].mean;
        else if (g->channel[k] == SIZE_MAX)
            sum = (double)m;
        for (size_t p = 0; g->kind == ENC_POOL && from != SIZE_MAX && p < m; p++)
            sum += v[p * d + from] / (double)m;
        x[g->first + k] = encoding_column_value(&e->col[g->first + k], sum, cut);
    }
    spill_used(m * d * sizeof *v);
}

/* Storage. */

static const char *const norm_word[] = { "standard", "unit", "raw" };

static void write_json(struct buf *b, const struct enc_sequence *s)
{
    buf_printf(b, ",\"series\":%s,\"norm\":\"%s\"", s->series ? "true" : "false",
               norm_word[s->layer.norm]);
    for (size_t i = 0; i < s->layer.channels; i++) {
        buf_puts(b, i > 0 ? ",{\"name\":" : ",\"nodes\":[{\"name\":");
        json_write_string(b, s->node[i].name);
        json_write_number(b, "mean", s->node[i].mean);
        json_write_number(b, "sd", s->node[i].sd);
        buf_printf(b, ",\"flag\":%s}", s->node[i].flag ? "true" : "false");
    }
    buf_putc(b, ']');
}

static enum status node_member(struct json_reader *r, const char *key, void *into)
{
    struct enc_node *n = into;
    if (strcmp(key, "name") == 0 && n->name == NULL)
        return json_string(r, &n->name);
    if (strcmp(key, "mean") == 0)
        return json_number(r, &n->mean);
    if (strcmp(key, "sd") == 0)
        return json_number(r, &n->sd);
    if (strcmp(key, "flag") == 0)
        return json_bool(r, &n->flag);
    return json_wrong(r, "an unknown or repeated member");
}

/* Numbers of nodes, as many as there are channels, which stand before. */
static enum status take_nodes(struct json_reader *r, struct enc_sequence *s)
{
    size_t n = 0;

    if (s->layer.channels == 0 || !json_take(r, '['))
        return json_wrong(r, "a list was expected");
    s->node = mem_calloc(s->layer.channels, sizeof *s->node, "an encoding", r->err);
    if (s->node == NULL)
        return ST_NOMEM;
    while (!json_take(r, ']')) {
        if (n == s->layer.channels || (n > 0 && !json_take(r, ',')))
            return json_wrong(r, "numbers of nodes are too many");
        const enum status rc = json_object(r, node_member, &s->node[n]);
        if (rc != ST_OK)
            return rc;
        if (s->node[n].name == NULL || !(s->node[n].sd > 0.0))
            return json_wrong(r, "a number of nodes is incomplete");
        n++;
    }
    return n == s->layer.channels ? ST_OK : json_wrong(r, "numbers of nodes are missing");
}

static enum status member(struct json_reader *r, const char *key, struct enc_sequence *s,
                          bool *mine)
{
    unsigned k = 0;

    if (strcmp(key, "series") == 0)
        return json_bool(r, &s->series);
    if (strcmp(key, "norm") == 0) {
        const enum status rc = json_word(r, norm_word, 3, &k);
        s->layer.norm = rc == ST_OK ? (enum layer_norm)k : NORM_STANDARD;
        return rc;
    }
    if (strcmp(key, "nodes") == 0 && s->node == NULL)
        return take_nodes(r, s);
    *mine = false;
    return ST_OK;
}

/* Wording. */

static void words(const struct column *c, struct buf *out)
{
    const struct sequences *s = c->seq;

    buf_printf(out, "sets of %zu", s->shortest);
    if (s->longest > s->shortest)
        buf_printf(out, " to %zu", s->longest);
    buf_printf(out, " nodes of %zu number%s", s->nodes->d, s->nodes->d == 1 ? "" : "s");
}

static void measure(const struct column *c, struct buf *out)
{
    sequence_lengths(c->seq, "nodes", out);
}

static const struct import_option options[] = {
    { .name = "graph", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 2,
      .field = offsetof(struct import_opts, graph),
      .help = "rows are nodes: the column that says of which graph" },
    { .name = "describe", .type = IMPORT_CHOICE, .flags = IMPORT_NEW_DATA, .place = 3,
      .choices = "neighbours", .field = offsetof(struct import_opts, describe),
      .help = "atoms (element, x, y, z): each by those around it" },
    { .name = "lengths", .type = IMPORT_PATH, .flags = IMPORT_NEW_DATA, .place = 4,
      .field = offsetof(struct import_opts, lengths),
      .help = "NPY of rows, nodes, numbers: the file with the nodes of each row" },
    { .name = "window", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 5,
      .field = offsetof(struct import_opts, window),
      .help = "a column's values before each row as one input more: temp:24" },
    { .name = NULL },
};

const struct row_kind kind_nodes = {
    .name = "nodes",
    .whole = "set",
    .part = "node",
    .cells = &nodes_cells,
    .options = options,
    .type = "sequence",
    .guess = sequence_is_labels,
    .claims = sequence_is_labels,
    .make = nodes_labels,
    .note = nodes_note,
    .gather = gather,
    .fit = fit,
    .fit_positions = fit_positions,
    .positions = positions,
    .encodes = encodes,
    .map = map,
    .judge = positions_judge,
    .encode = encode_nodes,
    .write = write_json,
    .member = member,
    .words = words,
    .measure = measure,
};
