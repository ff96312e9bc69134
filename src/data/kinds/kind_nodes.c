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
#include "data/kinds/sequence.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of the nodes of training rows: (x - mean) / sd. flag: it is 0 in a table without such a
 * number. */
struct node_number { char *name; bool flag; double mean, sd; };
/* What an encoding keeps about a column (enc_held.state). */
struct nodes_state {
    bool series; /* positions have a meaning */
    size_t n;
    struct node_number *node;
};
/* What it finds in another table (encode_group.map). */
struct nodes_map {
    size_t *from;     /* where each number of the encoding is in the table; SIZE_MAX: nowhere */
    size_t *position; /* of each column of a series, counted from 0 */
    size_t *channel;  /* for each column its number; SIZE_MAX: the number of nodes */
};
/* By enc_col.number: the values of a series; the number of nodes, and means of numbers. */
enum { NUMBER_VALUE, NUMBER_POOL };
static const struct kind_number numbers[] = { { "letter", true }, { "pool", false }, { NULL, 0 } };

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

/* Mean and standard deviation of the numbers over all nodes of the training rows. Flags (levels of
 * a category, descriptions of atoms) share one standard deviation, that of all of them together;
 * nodes that are not centred share one factor for all numbers. */
static enum status fit_positions(struct encoding_fitting *f, struct enc_held *held,
                                 const struct column *c)
{
    const struct nodes *o = c->held;
    struct nodes_state *s = held->state;
    const enum layer_norm norm = held->layer.norm;
    double flags = 0.0, length = 0.0;
    size_t n = 0;

    s->series = o->series;
    held->layer.symbols = false;
    s->node = mem_calloc(o->d, sizeof *s->node, "numbers of nodes", f->err);
    double *square =
        s->node != NULL ? mem_calloc(o->d, sizeof *square, "numbers of nodes", f->err) : NULL;
    if (square == NULL)
        return ST_NOMEM;
    s->n = held->layer.channels = o->d;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < f->n; i++) {
            const double *v = nodes_at(o, f->rows[i]);
            const size_t m = nodes_count(o, f->rows[i]);
            n += pass == 0 ? m : 0;
            for (size_t k = 0; k < m * o->d; k++) {
                struct node_number *e = &s->node[k % o->d];
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
        struct node_number *e = &s->node[k];
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

static void state_free(void *state)
{
    struct nodes_state *s = state;

    for (size_t k = 0; s->node != NULL && k < s->n; k++)
        free(s->node[k].name);
    free(s->node);
}

static enum status state_copy(void *to, const void *from, struct err *err)
{
    const struct nodes_state *s = from;
    struct nodes_state *c = to;

    c->series = s->series;
    c->node = mem_calloc(s->n, sizeof *c->node, "an encoding", err);
    if (c->node == NULL)
        return ST_NOMEM;
    for (c->n = 0; c->n < s->n; c->n++) {
        c->node[c->n] = s->node[c->n];
        c->node[c->n].name = mem_strdup(s->node[c->n].name, err);
        if (c->node[c->n].name == NULL)
            return ST_NOMEM;
    }
    return ST_OK;
}

/* Writes the nodes of a row as vectors: row_layout.h. */
static void positions(const struct enc_held *e, const struct column *c, const void *map, size_t row,
                      size_t room, double *x)
{
    const struct nodes *o = c->held;
    const struct node_number *node = ((const struct nodes_state *)e->state)->node;
    const size_t *from = map != NULL ? ((const struct nodes_map *)map)->from : NULL;
    const size_t per = e->layer.channels, d = o->d;
    const double *v = nodes_at(o, row);
    size_t len = nodes_count(o, row);

    len = len > room ? room : len;
    *x++ = (double)len;
    for (size_t p = 0; p < len; p++, x += per) {
        double norm = 0.0;
        for (size_t k = 0; k < per; k++) {
            const double u = from == NULL          ? v[p * d + k]
                             : from[k] == SIZE_MAX ? 0.0
                                                   : v[p * d + from[k]];
            x[k] = (u - node[k].mean) / node[k].sd;
            norm += x[k] * x[k];
        }
        for (size_t k = 0; e->layer.norm == NORM_UNIT && norm > 0.0 && k < per; k++)
            x[k] /= sqrt(norm);
    }
    spill_used(len * d * sizeof *v);
}

static bool ordered(const void *state)
{
    return ((const struct nodes_state *)state)->series;
}

static size_t length(const struct column *c, size_t row)
{
    return nodes_count(c->held, row);
}

static size_t longest(const struct column *c)
{
    return nodes_of(c)->longest;
}

/* Mean and sd of one number over all training rows, as group g has it. */
static enum status fit_pool(struct encoding_fitting *f, const struct column *c, const char *level,
                            unsigned number, size_t position, size_t k)
{
    struct enc_col *e = encoding_column_cell(f, &kind_nodes, c, number, level);
    double sum = 0.0, squares = 0.0, first = 0.0;
    const struct nodes *o = c->held;
    const size_t d = o->d;

    if (e == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        const size_t m = nodes_count(o, f->rows[i]);
        const double *v = nodes_at(o, f->rows[i]);
        double u = number == NUMBER_VALUE ? v[position * d + k] : k == SIZE_MAX ? (double)m : 0.0;
        for (size_t p = 0; number == NUMBER_POOL && k != SIZE_MAX && p < m; p++)
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

/* Nodes for kernels of columns: their number and the means of their numbers; for stretches of a
 * series, which have equal lengths, the values themselves. */
static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    const struct nodes *o = c->held;
    struct enc_held *held;
    enum status rc = positions_fit(f, &kind_nodes, c, NULL, &held);
    char word[48];

    for (size_t p = 0; rc == ST_OK && o->series && p < o->longest; p++)
        for (size_t k = 0; rc == ST_OK && k < o->d; k++) {
            snprintf(word, sizeof word, "%zu#%zu", p + 1, k + 1);
            rc = fit_pool(f, c, word, NUMBER_VALUE, p, k);
        }
    if (o->series || rc != ST_OK)
        return rc;
    rc = fit_pool(f, c, "", NUMBER_POOL, 0, SIZE_MAX);
    for (size_t k = 0; rc == ST_OK && k < o->d; k++)
        rc = fit_pool(f, c, o->name[k], NUMBER_POOL, 0, k);
    if (rc == ST_OK)
        buf_printf(f->notes,
                   "note[pool]: the nodes of a row are read as their number and the means of their "
                   "%zu numbers "
                   "(kernel graph(rbf) compares them one by one)\n",
                   o->d);
    return rc;
}

static void unmap(void *map)
{
    struct nodes_map *m = map;

    if (m == NULL)
        return;
    free(m->from);
    free(m->position);
    free(m->channel);
    free(m);
}

/* Finds which number of the encoding each column reads. */
static void map_columns(const struct encoding *e, const struct encode_group *g, struct nodes_map *m)
{
    const struct nodes_state *s = g->held->state;

    for (size_t k = 0; k < g->n; k++) {
        const struct enc_col *col = &e->col[g->first + k];
        char *end = NULL;
        if (col->number == NUMBER_VALUE) {
            m->position[k] = strtoul(col->level, &end, 10) - 1;
            m->channel[k] = strtoul(end + 1, NULL, 10) - 1;
            continue;
        }
        m->channel[k] = SIZE_MAX;
        for (size_t c = 0; *col->level != '\0' && c < s->n; c++)
            if (strcmp(s->node[c].name, col->level) == 0)
                m->channel[k] = c;
    }
}

/* Finds where each number of the encoding's nodes is in this table. */
static enum status map(const struct encoding *e, struct encode_group *g, struct err *err)
{
    const struct nodes *o = g->c->held;
    const struct nodes_state *s = g->held->state;
    const size_t n = s->n;
    struct nodes_map *m = g->map = mem_calloc(1, sizeof *m, "numbers of nodes", err);
    char name[64];

    positions_map(g);
    if (m == NULL)
        return ST_NOMEM;
    m->from = mem_calloc(n, sizeof *m->from, "numbers of nodes", err);
    m->channel = mem_calloc(g->n + 1, sizeof *m->channel, "numbers of nodes", err);
    m->position = mem_calloc(g->n + 1, sizeof *m->position, "numbers of nodes", err);
    if (m->from == NULL || m->channel == NULL || m->position == NULL)
        return ST_NOMEM;
    for (size_t k = 0; k < n; k++) {
        size_t j = k < o->d && strcmp(o->name[k], s->node[k].name) == 0 ? k : 0;
        while (j < o->d && strcmp(o->name[j], s->node[k].name) != 0)
            j++;
        m->from[k] = j < o->d ? j : SIZE_MAX;
        if (j == o->d && !s->node[k].flag)
            return err_named(err, ST_STATE, "column",
                             "the nodes have no number %s, which the model reads",
                             text_quoted(s->node[k].name, name, sizeof name));
    }
    for (size_t j = 0; j < o->d; j++) { /* a word that was never seen would count as no word */
        size_t k = j < n && strcmp(o->name[j], s->node[j].name) == 0 ? j : 0;
        while (o->flag[j] && k < n && strcmp(o->name[j], s->node[k].name) != 0)
            k++;
        if (o->flag[j] && k == n)
            return err_named(err, ST_STATE, "unseen",
                             "nodes have %s, which never occurs in the training rows",
                             text_quoted(o->name[j], name, sizeof name));
    }
    if (!g->windows && !g->filters)
        map_columns(e, g, m);
    return ST_OK;
}

/* Writes means over the nodes, or the values of a series at its positions, for kernels of
 * columns. */
static void encode_nodes(const struct encoding *e, const struct encode_group *g, size_t row,
                         double *x, size_t *cut)
{
    const struct nodes *o = g->c->held;
    const struct nodes_map *map = g->map;
    const size_t m = nodes_count(o, row), d = o->d;
    const double *v = nodes_at(o, row);

    for (size_t k = 0; k < g->n; k++) {
        const struct enc_col *col = &e->col[g->first + k];
        const size_t p = map->position[k], channel = map->channel[k],
                     from = channel == SIZE_MAX ? SIZE_MAX : map->from[channel];
        double sum = 0.0;
        if (col->number == NUMBER_VALUE)
            sum = p < m && from != SIZE_MAX ? v[p * d + from] : col->mean;
        else if (channel == SIZE_MAX)
            sum = (double)m;
        for (size_t q = 0; col->number == NUMBER_POOL && from != SIZE_MAX && q < m; q++)
            sum += v[q * d + from] / (double)m;
        x[g->first + k] = encoding_column_value(col, sum, cut);
    }
    spill_used(m * d * sizeof *v);
}

/* Storage. */

static const char *const norm_word[] = { "standard", "unit", "raw" };

static const char *alphabet(const void *state)
{
    (void)state;
    return "o"; /* as in the words of cells */
}

static void write_json(struct buf *b, const struct enc_held *held)
{
    const struct nodes_state *s = held->state;

    buf_printf(b, ",\"series\":%s,\"norm\":\"%s\"", s->series ? "true" : "false",
               norm_word[held->layer.norm]);
    for (size_t i = 0; i < s->n; i++) {
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
    struct node_number *n = into;
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

/* Reads the numbers of nodes, one for each channel; the channels are stored before them. */
static enum status take_nodes(struct json_reader *r, struct enc_held *held)
{
    struct nodes_state *s = held->state;
    size_t n = 0;

    if (held->layer.channels == 0 || !json_take(r, '['))
        return json_wrong(r, "a list was expected");
    s->node = mem_calloc(held->layer.channels, sizeof *s->node, "an encoding", r->err);
    if (s->node == NULL)
        return ST_NOMEM;
    s->n = held->layer.channels;
    while (!json_take(r, ']')) {
        if (n == s->n || (n > 0 && !json_take(r, ',')))
            return json_wrong(r, "numbers of nodes are too many");
        const enum status rc = json_object(r, node_member, &s->node[n]);
        if (rc != ST_OK)
            return rc;
        if (s->node[n].name == NULL || !(s->node[n].sd > 0.0))
            return json_wrong(r, "a number of nodes is incomplete");
        n++;
    }
    return n == s->n ? ST_OK : json_wrong(r, "numbers of nodes are missing");
}

static enum status member(struct json_reader *r, const char *key, struct enc_held *held, bool *mine)
{
    struct nodes_state *s = held->state;
    unsigned k = 0;

    if (strcmp(key, "alphabet") == 0) {
        char *word = NULL;
        const enum status rc = json_string(r, &word);
        free(word);
        return rc;
    }
    if (strcmp(key, "series") == 0)
        return json_bool(r, &s->series);
    if (strcmp(key, "norm") == 0) {
        const enum status rc = json_word(r, norm_word, 3, &k);
        held->layer.norm = rc == ST_OK ? (enum layer_norm)k : NORM_STANDARD;
        return rc;
    }
    if (strcmp(key, "nodes") == 0 && s->node == NULL)
        return take_nodes(r, held);
    *mine = false;
    return ST_OK;
}

/* The channels are stored before what they count, and do not change afterwards. */
static const char *check(struct enc_held *held)
{
    const struct nodes_state *s = held->state;

    held->layer.symbols = false;
    return s->node != NULL && s->n == held->layer.channels ? NULL : "numbers of nodes are missing";
}

static bool suits(const struct enc_held *held, const struct enc_col *col)
{
    size_t position, k;

    if (col->number != NUMBER_VALUE)
        return true;
    return held != NULL && positions_level(col->level, &position, &k) && k <= held->layer.channels;
}

/* Looking at rows. */

static enum status coding(const struct column *c, const char *word, struct err *err)
{
    return strcmp(word, "onehot") == 0
               ? ST_OK
               : err_set(err, ST_STATE,
                         "encoding=%.60s is for sequences of letters; '%.40s' holds sets of nodes",
                         word, c->name);
}

static enum status variants(const struct column *c, size_t row, struct row_variants *v,
                            struct err *err)
{
    *v = (struct row_variants){
        .positions = nodes_count(c->held, row), .choices = 1, .leaves_out = true };
    return v->positions >= 2
               ? ST_OK
               : err_set(err, ST_STATE, "row %zu has one node: nothing is left without it",
                         row + 1);
}

static enum status vary(const struct column *c, size_t row, const struct row_variants *v,
                        struct column *to, struct err *err)
{
    (void)v;
    return nodes_leave_out(c->held, row, to, err);
}

/* Describing. */

static void words(const struct column *c, struct buf *out)
{
    const struct nodes *o = c->held;

    buf_printf(out, "sets of %zu", o->shortest);
    if (o->longest > o->shortest)
        buf_printf(out, " to %zu", o->longest);
    buf_printf(out, " nodes of %zu number%s", o->d, o->d == 1 ? "" : "s");
}

static void measure(const struct column *c, struct buf *out)
{
    kind_note_lengths(nodes_of(c)->shortest, nodes_of(c)->longest, "node", out);
}

static const struct import_option options[] = {
    { .name = "graph", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 2,
      .field = offsetof(struct import_opts, graph),
      .help = "if rows are nodes: the column with the graph of each node" },
    { .name = "describe", .type = IMPORT_CHOICE, .flags = IMPORT_NEW_DATA, .place = 3,
      .choices = "neighbours", .field = offsetof(struct import_opts, describe),
      .help = "describe atoms (element, x, y, z) by their neighbours" },
    { .name = "lengths", .type = IMPORT_PATH, .flags = IMPORT_NEW_DATA, .place = 4,
      .field = offsetof(struct import_opts, lengths),
      .help = "for an NPY array of rows, nodes, numbers: a file with the number of nodes of each "
              "row" },
    { .name = "window", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 5,
      .field = offsetof(struct import_opts, window),
      .help = "add the values of a column before each row as an input: temp:24" },
    { .name = NULL },
};

const struct row_kind kind_nodes = {
    .name = "nodes",
    .whole = "set of nodes",
    .part = "node",
    .several = "sets of nodes",
    .cells = &nodes_cells,
    .rows = ROWS_NUMBERS | ROWS_VECTORS,
    .sole = true,
    .options = options,
    .guess = sequence_is_labels,
    .claims = sequence_is_labels,
    .make = nodes_labels,
    .note = nodes_note,
    .gather = gather,
    .fit = fit,
    .numbers = numbers,
    .coding = coding,
    .state_bytes = sizeof(struct nodes_state),
    .state_free = state_free,
    .state_copy = state_copy,
    .length = length,
    .longest = longest,
    .ordered = ordered,
    .fit_positions = fit_positions,
    .positions = positions,
    .map = map,
    .unmap = unmap,
    .judge = positions_judge,
    .encode = encode_nodes,
    .mark = "series",
    .alphabet = alphabet,
    .write = write_json,
    .member = member,
    .check = check,
    .suits = suits,
    .words = words,
    .example = "node_labels\nCl O\nCl Cl O\nN\nCl N O O\nO O\nN Cl Cl\n",
    .measure = measure,
    .reopen = "graph=COLUMN (describe=, lengths=, window=)",
    .variants = variants,
    .vary = vary,
};
