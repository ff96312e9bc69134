/* data/kinds/nodes.c -- see nodes.h. */
#include "data/kinds/nodes.h"

#include "data/formats/import.h"
#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    /* Neighbours of an atom, nearest first (Parkinson & Wang 2023, Online Methods). */
    NEIGHBOURS = 15,
    KINDS_MOST = 64,     /* kinds of atoms */
    NUMBERS_MOST = 65536, /* numbers of a node */
};

/* NULL is allowed. */
static void free_nodes(struct nodes *o)
{
    if (!o)
        return;
    for (size_t j = 0; o->name && j < o->d; j++)
        free(o->name[j]);
    free(o->name);
    free(o->flag);
    spill_free(o->v);
    spill_free(o->at);
    spill_free(o->marks);
    free(o);
}
void nodes_note(const struct table *t, const struct column *c, struct buf *notes)
{
    const struct nodes *o = c->held;

    buf_puts(notes, "note[nodes]: column '");
    text_safe(notes, c->name, 40);
    buf_printf(notes, "' holds sets of %zu to %zu nodes, each with %zu number%s (%s%s)\n",
               o->shortest, o->longest, o->d, o->d == 1 ? "" : "s", o->name[0],
               o->d > 1 ? ", .." : "");
    if (!o->series) /* the first rows of a series have none, which is reported elsewhere */
        kind_note_empty(t, c, "set", "node", notes);
}

static struct nodes *nodes_new(size_t n, size_t d, struct err *err)
{
    struct nodes *o = mem_calloc(1, sizeof *o, "nodes", err);

    if (!o)
        return NULL;
    o->n = n;
    o->d = d;
    o->name = mem_calloc(d, sizeof *o->name, "nodes", err);
    o->flag = o->name ? mem_calloc(d, sizeof *o->flag, "nodes", err) : NULL;
    o->v = o->flag ? spill_array(n * d + 1, sizeof *o->v, "nodes", err) : NULL;
    if (o->v)
        return o;
    free_nodes(o);
    return NULL;
}

static enum status set_name(struct nodes *o, size_t j, const char *a, const char *b, bool flag,
                            struct err *err)
{
    struct buf text = { 0 };

    buf_puts(&text, a);
    buf_puts(&text, b);
    o->name[j] = buf_take(&text);
    o->flag[j] = flag;
    return o->name[j] ? ST_OK : err_nomem(err, 64, "a name");
}

/* Makes a column of sets: len[i] nodes in row i. Their numbers, which are consecutive, are moved
 * in. */
static enum status make_column(struct nodes *o, const size_t *len, size_t n, const char *name,
                               struct column *to, struct err *err)
{
    *to = (struct column){ .type = COL_HELD, .named = true, .held = o, .cells = &nodes_cells };
    o->at = spill_array(n + 1, sizeof *o->at, "nodes", err);
    o->marks = spill_array(o->n + n, 1, "nodes", err);
    to->name = mem_strdup(name, err);
    if (!o->at || !o->marks || !to->name)
        return ST_NOMEM;
    o->shortest = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        memset(o->marks + o->at[i], 'o', len[i]);
        o->marks[o->at[i] + len[i]] = '\0';
        o->at[i + 1] = o->at[i] + len[i] + 1;
        to->missing += len[i] == 0;
        if (len[i] == 0)
            continue;
        o->shortest = len[i] < o->shortest ? len[i] : o->shortest;
        o->longest = len[i] > o->longest ? len[i] : o->longest;
    }
    o->shortest = o->longest == 0 ? 0 : o->shortest;
    return ST_OK;
}

/* A set without nodes, with the names of another one. */
static struct nodes *nodes_like(const struct nodes *from, size_t n, struct err *err)
{
    struct nodes *o = nodes_new(n, from->d, err);
    bool good = o != NULL;

    for (size_t j = 0; good && j < from->d; j++)
        good = set_name(o, j, from->name[j], "", from->flag[j], err) == ST_OK;
    if (good) {
        o->series = from->series;
        return o;
    }
    free_nodes(o);
    return NULL;
}

static enum status copy_cells(const struct column *c, size_t n, struct column *to, struct err *err)
{
    const struct nodes *from = c->held;
    struct nodes *o = nodes_like(from, from->n, err);
    size_t *len = o ? mem_calloc(n + 1, sizeof *len, "nodes", err) : NULL;

    for (size_t i = 0; len && i < n; i++)
        len[i] = nodes_count(from, i);
    if (!len) {
        free_nodes(o);
        return ST_NOMEM;
    }
    memcpy(o->v, from->v, from->n * from->d * sizeof *o->v);
    const enum status rc = make_column(o, len, n, "", to, err);
    free(to->name);
    to->name = NULL;
    free(len);
    return rc;
}

static enum status take_cells(const struct column *c, const size_t *row, size_t n,
                              struct column *to, struct err *err)
{
    const struct nodes *from = c->held;
    size_t all = 0, k = 0;

    for (size_t i = 0; i < n; i++)
        all += nodes_count(from, row[i]);
    struct nodes *o = nodes_like(from, all, err);
    size_t *len = o ? mem_calloc(n + 1, sizeof *len, "nodes", err) : NULL;
    if (!len) {
        free_nodes(o);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        len[i] = nodes_count(from, row[i]);
        memcpy(o->v + k * o->d, nodes_at(from, row[i]), len[i] * o->d * sizeof *o->v);
        k += len[i];
    }
    const enum status rc = make_column(o, len, n, "", to, err);
    free(to->name);
    to->name = NULL;
    free(len);
    return rc;
}

enum status nodes_leave_out(const struct nodes *of, size_t row, struct column *to, struct err *err)
{
    const size_t m = nodes_count(of, row), d = of->d, rows = 1 + m;
    const double *v = nodes_at(of, row);
    struct nodes *o = nodes_like(of, rows * m, err);
    size_t *len = o ? mem_calloc(rows, sizeof *len, "nodes", err) : NULL;
    double mean = 0.0;

    if (!len) {
        free_nodes(o);
        return ST_NOMEM;
    }
    for (size_t k = 0; k < m * d; k++)
        mean += v[k] / (double)(m * d);
    o->n = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t p = 0; p < m; p++) {
            if (i == p + 1 && !of->series)
                continue;
            for (size_t k = 0; k < d; k++)
                o->v[o->n * d + k] = i == p + 1 ? mean : v[p * d + k];
            o->n++;
            len[i]++;
        }
    const enum status rc = make_column(o, len, rows, "", to, err);
    free(to->name);
    to->name = NULL;
    free(len);
    return rc;
}

/* Cells. */

static void free_cells(struct column *c)
{
    free_nodes(c->held);
}

static const char *cell_word(const struct column *c, size_t row)
{
    const struct nodes *o = c->held;

    return nodes_count(o, row) > 0 ? o->marks + o->at[row] : NULL;
}

static const void *cell_numbers(const struct column *c, size_t row, size_t *bytes)
{
    const struct nodes *o = c->held;

    *bytes = nodes_count(o, row) * o->d * sizeof(double);
    return nodes_at(o, row);
}

static size_t cells_bytes(const struct column *c, size_t n)
{
    const struct nodes *o = c->held;

    return o->at[n] + o->n * o->d * sizeof(double);
}

static size_t row_bytes(const struct column *c)
{
    return nodes_of(c)->longest / 2 + sizeof *nodes_of(c)->at;
}

static bool cells_out(const struct column *c)
{
    return spill_is_out(nodes_of(c)->marks);
}

const struct cell_ops nodes_cells = {
    .word = cell_word,
    .beside = cell_numbers,
    .take = take_cells,
    .copy = copy_cells,
    .free = free_cells,
    .bytes = cells_bytes,
    .row_bytes = row_bytes,
    .is_out = cells_out,
};

/* The graph of each node. */

struct gather {
    const struct table *t;
    const struct import_opts *opts;
    const struct ctl *ctl;
    size_t id;          /* its column */
    struct intern ids;
    uint32_t *graph;    /* of each node */
    size_t *len,
        *order; /* nodes of each graph; rows ordered by graph, and within a graph as in the file */
    bool *target;       /* columns of the graph, not of its nodes */
    struct buf notes;
    struct err *err;
};

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The distinct words of a column of lists, sorted; copies that the caller frees. */
static enum status find_labels(const struct table *t, size_t j, char **word, size_t *n,
                               struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < t->n; i++)
        for (const char *w = column_word(&t->col[j], i); w && *w;
             w += strcspn(w, " "), w += *w == ' ') {
            const size_t len = strcspn(w, " ");
            size_t k = 0;
            while (k < *n && (strncmp(word[k], w, len) != 0 || word[k][len] != '\0'))
                k++;
            if (k < *n)
                continue;
            if (*n == NODES_LABELS_MOST) {
                err_named(err, ST_FORMAT, "alphabet",
                          "row %zu: column '%.40s' has more than %d different labels: no nodes",
                          i + 1, t->col[j].name, NODES_LABELS_MOST);
                err_hint(err, "types=%.40s=text", t->col[j].name);
                return ST_FORMAT;
            }
            word[*n] = mem_calloc(len + 1, 1, "a label", err);
            if (!word[*n])
                return ST_NOMEM;
            memcpy(word[(*n)++], w, len);
        }
    qsort(word, *n, sizeof *word, by_word);
    return ST_OK;
}

static void fill_labels(const struct table *t, size_t j, char *const *word, size_t n, double *v,
                        size_t *len)
{
    for (size_t i = 0; i < t->n; i++)
        for (const char *w = column_word(&t->col[j], i); w && *w;
             w += strcspn(w, " "), w += *w == ' ') {
            const size_t m = strcspn(w, " ");
            for (size_t k = 0; k < n; k++)
                v[k] = strncmp(word[k], w, m) == 0 && word[k][m] == '\0';
            v += n;
            len[i]++;
        }
}

enum status nodes_labels(const struct table *t, size_t j, struct column *to, struct err *err)
{
    char *word[NODES_LABELS_MOST] = { NULL };
    size_t n = 0, nodes = 0;
    enum status rc = find_labels(t, j, word, &n, err);
    size_t *len = rc == ST_OK ? mem_calloc(t->n + 1, sizeof *len, "nodes", err) : NULL;

    for (size_t i = 0; len && i < t->n; i++) {
        const char *w = column_word(&t->col[j], i);
        for (; w && *w; w += strcspn(w, " "), w += *w == ' ')
            nodes++;
    }
    struct nodes *o = len ? nodes_new(nodes, n, err) : NULL;
    rc = rc == ST_OK && !o ? ST_NOMEM : rc;
    for (size_t k = 0; rc == ST_OK && k < n; k++)
        rc = set_name(o, k, "label=", word[k], true, err);
    if (rc == ST_OK) {
        fill_labels(t, j, word, n, o->v, len);
        rc = make_column(o, len, t->n, t->col[j].name, to, err);
        free(to->name); /* the caller sets the name */
        to->name = NULL;
    } else {
        free_nodes(o);
    }
    for (size_t k = 0; k < n; k++)
        free(word[k]);
    free(len);
    return rc;
}

static const char *graph_name(const struct gather *g, size_t graph)
{
    return g->ids.text + g->ids.at[graph];
}

static enum status find_graphs(struct gather *g)
{
    const struct table *t = g->t;
    struct buf cell = { 0 };
    enum status rc = ST_OK;
    size_t *next = NULL;

    g->graph = mem_calloc(t->n + 1, sizeof *g->graph, "graphs", g->err);
    g->order = g->graph ? mem_calloc(t->n + 1, sizeof *g->order, "graphs", g->err) : NULL;
    rc = g->order ? ST_OK : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < t->n; i++) {
        buf_clear(&cell);
        table_cell(t, i, g->id, &cell);
        if (cell.len == 0) {
            rc = err_named(g->err, ST_FORMAT, "graph",
                           "row %zu: column '%.40s' is empty, so the graph of this node is unknown",
                           i + 1, t->col[g->id].name);
            break;
        }
        rc = table_intern_code(&g->ids, buf_str(&cell), cell.len, &g->graph[i], g->err);
        if (rc == ST_OK && i % 65536 == 0 && ctl_stopped(g->ctl))
            rc = err_set(g->err, ST_CANCELLED, "stopped while reading");
    }
    buf_free(&cell);
    if (rc == ST_OK)
        g->len = mem_calloc(g->ids.n + 1, sizeof *g->len, "graphs", g->err);
    next = rc == ST_OK ? mem_calloc(g->ids.n + 1, sizeof *next, "graphs", g->err) : NULL;
    if (rc == ST_OK && (!g->len || !next))
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < t->n; i++)
        g->len[g->graph[i]]++;
    for (size_t k = 1; rc == ST_OK && k < g->ids.n; k++)
        next[k] = next[k - 1] + g->len[k - 1];
    for (size_t i = 0; rc == ST_OK && i < t->n; i++)
        g->order[next[g->graph[i]]++] = i;
    free(next);
    return rc;
}

/* Finds columns named as targets in the table of nodes. */
static enum status find_targets(struct gather *g)
{
    g->target = mem_calloc(g->t->ncols + 1, sizeof *g->target, "columns", g->err);
    if (!g->target)
        return ST_NOMEM;
    for (const char *p = g->opts->target; p && *p;) {
        const size_t n = strcspn(p, ",");
        for (size_t j = 0; j < g->t->ncols; j++)
            if (strlen(g->t->col[j].name) == n && memcmp(g->t->col[j].name, p, n) == 0 &&
                j != g->id)
                g->target[j] = true;
        p += n + (p[n] == ',');
    }
    return ST_OK;
}

/* A number of the graph: all of its nodes must have the same. */
static enum status take_target(struct gather *g, size_t j, struct column *to)
{
    const struct column *c = &g->t->col[j];
    size_t at = 0;

    if (c->type != COL_REAL)
        return err_named(g->err, ST_FORMAT, "graph", "the target '%.40s' holds words", c->name);
    to->type = COL_REAL;
    to->named = true;
    to->name = mem_strdup(c->name, g->err);
    to->v = spill_array(g->ids.n + 1, sizeof *to->v, "targets", g->err);
    if (!to->name || !to->v)
        return ST_NOMEM;
    for (size_t k = 0; k < g->ids.n; at += g->len[k++]) {
        to->v[k] = column_at(c, g->order[at]);
        to->missing += isnan(to->v[k]);
        for (size_t i = 1; i < g->len[k]; i++) {
            const double v = column_at(c, g->order[at + i]);
            if (v == to->v[k] || (isnan(v) && isnan(to->v[k])))
                continue;
            err_named(g->err, ST_FORMAT, "graph",
                      "row %zu: graph '%.40s' has the target %.6g here and %.6g in row %zu: "
                      "a graph has one",
                      g->order[at + i] + 1, graph_name(g, k), v, to->v[k], g->order[at] + 1);
            return ST_FORMAT;
        }
    }
    return ST_OK;
}

/* Numbers of the nodes. */

static bool is_number(const struct gather *g, size_t j)
{
    const enum col_type type = g->t->col[j].type;

    return j != g->id && !g->target[j] && (type == COL_REAL || type == COL_CATEGORY);
}

static enum status node_missing(const struct gather *g, size_t j, size_t row)
{
    err_named(g->err, ST_FORMAT, "missing",
              "row %zu: '%.40s' of a node of graph '%.40s' is missing", row + 1, g->t->col[j].name,
              graph_name(g, g->graph[row]));
    err_hint(g->err, "correct the cell, or leave the column out with types=%.40s=text",
             g->t->col[j].name);
    return ST_FORMAT;
}

/* Numbers unchanged; a category as one number for each level. */
static enum status take_numbers(struct gather *g, struct nodes **out)
{
    const struct table *t = g->t;
    size_t d = 0, f = 0;
    enum status rc = ST_OK;

    for (size_t j = 0; j < t->ncols; j++)
        d += !is_number(g, j) ? 0 : t->col[j].type == COL_CATEGORY ? t->col[j].nlevels : 1;
    if (d == 0 || d > NUMBERS_MOST) {
        err_named(g->err, ST_FORMAT, "graph",
                  d == 0 ? "no column of numbers or categories is left for the nodes"
                         : "%zu numbers of a node: too many",
                  d);
        return ST_FORMAT;
    }
    struct nodes *o = *out = nodes_new(t->n, d, g->err);
    if (!o)
        return ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        const bool words = c->type == COL_CATEGORY;
        const size_t own = !is_number(g, j) ? 0 : words ? c->nlevels : 1;
        for (size_t k = 0; rc == ST_OK && k < own; k++)
            rc = words ? set_name(o, f + k, c->name, "=", true, g->err)
                       : set_name(o, f, c->name, "", false, g->err);
        for (size_t k = 0; rc == ST_OK && words && k < own; k++) {
            struct buf b = { 0 };
            buf_printf(&b, "%s%s", o->name[f + k], c->level[k]);
            free(o->name[f + k]);
            o->name[f + k] = buf_take(&b);
            rc = o->name[f + k] ? ST_OK : err_nomem(g->err, 64, "a name");
        }
        for (size_t i = 0; rc == ST_OK && own > 0 && i < t->n; i++) {
            const size_t row = g->order[i];
            if (words ? c->code[row] == UINT32_MAX : isnan(column_at(c, row)))
                rc = node_missing(g, j, row);
            else if (words)
                o->v[i * d + f + c->code[row]] = 1.0;
            else
                o->v[i * d + f] = column_at(c, row);
        }
        f += own;
        if (own == 0 && j != g->id && !g->target[j])
            buf_printf(&g->notes, "note[skip]: column '%.40s' of the nodes holds text: left out\n",
                       c->name);
    }
    spill_used(t->n * d * sizeof *o->v);
    return rc;
}

/* The neighbourhood of an atom. */

static size_t column_called(const struct table *t, const char *const *names)
{
    for (; *names; names++)
        for (size_t j = 0; j < t->ncols; j++)
            if (strcasecmp(t->col[j].name, *names) == 0)
                return j;
    return SIZE_MAX;
}

/* Of: the kind of each row. */
struct atoms { size_t kind, xyz[3]; struct intern kinds; uint32_t *of; };

static enum status find_atoms(struct gather *g, struct atoms *a)
{
    static const char *const elements[] = {
        "element", "atom", "symbol", "type", "species", "kind", "z_number", "atomic_number", NULL};
    static const char *const axes[3][2] = { { "x", NULL }, { "y", NULL }, { "z", NULL } };
    struct buf cell = { 0 };
    enum status rc = ST_OK;

    a->kind = column_called(g->t, elements);
    for (size_t i = 0; i < 3; i++) {
        a->xyz[i] = column_called(g->t, axes[i]);
        if (a->kind == SIZE_MAX || a->xyz[i] == SIZE_MAX || g->t->col[a->xyz[i]].type != COL_REAL)
            return err_named(g->err, ST_FORMAT, "graph",
                             "describe=neighbours reads columns element, x, y, z: %s is "
                             "not there, or holds no numbers",
                             a->kind == SIZE_MAX ? "element" : axes[i][0]);
        for (size_t r = 0; r < g->t->n; r++)
            if (isnan(column_at(&g->t->col[a->xyz[i]], r)))
                return node_missing(g, a->xyz[i], r);
    }
    a->of = mem_calloc(g->t->n + 1, sizeof *a->of, "atoms", g->err);
    rc = a->of ? ST_OK : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < g->t->n; i++) {
        buf_clear(&cell);
        table_cell(g->t, i, a->kind, &cell);
        rc = cell.len == 0
                 ? node_missing(g, a->kind, i)
                 : table_intern_code(&a->kinds, buf_str(&cell), cell.len, &a->of[i], g->err);
        if (rc == ST_OK && a->kinds.n > KINDS_MOST)
            rc = err_named(g->err, ST_FORMAT, "graph",
                           "column '%.40s' has more than %d kinds of atoms",
                           g->t->col[a->kind].name, KINDS_MOST);
    }
    buf_free(&cell);
    return rc;
}

struct near { double r2; size_t row; };

static int by_distance(const void *a, const void *b)
{
    const struct near *x = a, *y = b;

    return x->r2 != y->r2 ? (x->r2 > y->r2) - (x->r2 < y->r2)
                          : (x->row > y->row) - (x->row < y->row);
}

/* Describes one atom: its kind and, for the first, second, ... neighbour, one number for each kind,
 * 1 / distance^6. */
static enum status describe_atom(const struct gather *g, const struct atoms *a, const size_t *rows,
                                 size_t n, size_t which, struct near *near, double *out)
{
    const size_t K = a->kinds.n;
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        double r2 = 0.0;
        for (size_t e = 0; e < 3; e++) {
            const struct column *c = &g->t->col[a->xyz[e]];
            const double u = column_at(c, rows[i]) - column_at(c, rows[which]);
            r2 += u * u;
        }
        if (i == which)
            continue;
        if (!(r2 > 1e-6))
            return err_named(g->err, ST_FORMAT, "graph",
                             "rows %zu and %zu: two atoms of graph '%.40s' are in one place",
                             rows[i] + 1, rows[which] + 1, graph_name(g, g->graph[rows[i]]));
        near[m++] = (struct near){ r2, rows[i] };
    }
    qsort(near, m, sizeof *near, by_distance);
    out[a->of[rows[which]]] = 1.0;
    for (size_t i = 0; i < m && i < NEIGHBOURS; i++)
        out[(i + 1) * K + a->of[near[i].row]] = 1.0 / (near[i].r2 * near[i].r2 * near[i].r2);
    return ST_OK;
}

static enum status describe(struct gather *g, struct nodes **out)
{
    struct atoms a = { 0 };
    enum status rc = find_atoms(g, &a);
    const size_t K = a.kinds.n, d = K * (NEIGHBOURS + 1);
    size_t most = 0, at = 0;

    for (size_t k = 0; k < g->ids.n; k++)
        most = g->len[k] > most ? g->len[k] : most;
    struct near *near = rc == ST_OK ? mem_calloc(most + 1, sizeof *near, "atoms", g->err) : NULL;
    struct nodes *o = *out = near ? nodes_new(g->t->n, d, g->err) : NULL;
    if (rc == ST_OK && !o)
        rc = ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < d; j++) {
        char word[32] = "";
        if (j >= K)
            snprintf(word, sizeof word, "%zu:", j / K);
        rc = set_name(o, j, word, a.kinds.text + a.kinds.at[j % K], true, g->err);
    }
    for (size_t k = 0; rc == ST_OK && k < g->ids.n; at += g->len[k++]) {
        for (size_t i = 0; rc == ST_OK && i < g->len[k]; i++)
            rc = describe_atom(g, &a, g->order + at, g->len[k], i, near, o->v + (at + i) * d);
        if (rc == ST_OK && k % 1024 == 0 && ctl_stopped(g->ctl))
            rc = err_set(g->err, ST_CANCELLED, "stopped while reading");
    }
    if (rc == ST_OK)
        buf_printf(&g->notes,
                   "note[describe]: each of %zu atoms by its kind (%zu) and its %d nearest atoms' "
                   "kinds, over "
                   "the sixth power of their distance: %zu numbers\n",
                   g->t->n, K, NEIGHBOURS, d);
    free(near);
    free(a.of);
    table_intern_free(&a.kinds);
    return rc;
}

/* The table of graphs. */

/* The names of the graphs, as text. */
static enum status take_ids(const struct gather *g, struct column *to)
{
    struct grow names = { .type = COL_TEXT };
    enum status rc = table_grow_reserve(&names, g->ids.n + 1, g->err);

    for (size_t k = 0; rc == ST_OK && k < g->ids.n; k++)
        rc = table_grow_text(&names, k, graph_name(g, k), strlen(graph_name(g, k)), g->err);
    if (rc == ST_OK)
        rc = table_grow_finish(&names, g->ids.n, to, g->err);
    table_grow_free(&names);
    to->named = true;
    to->name = rc == ST_OK ? mem_strdup(g->t->col[g->id].name, g->err) : NULL;
    return rc == ST_OK && !to->name ? ST_NOMEM : rc;
}

/* Moves what a table says about its file to the table that replaces it. */
static void take_origin(struct table *from, struct table *to, const char *how)
{
    struct buf line = { 0 };

    to->file_size = from->file_size;
    memcpy(to->checksum, from->checksum, sizeof to->checksum);
    to->seconds = from->seconds;
    buf_printf(&line, "%s%s%s", from->decisions, *from->decisions ? ", " : "", how);
    char *words = buf_take(&line);
    if (words) {
        free(to->decisions);
        to->decisions = words;
    }
    free(to->notes);
    to->notes = from->notes;
    from->notes = NULL;
}

static enum status gather_columns(struct gather *g, struct table *to)
{
    struct nodes *o = NULL;
    enum status rc = take_ids(g, &to->col[0]);
    const char *name = table_find(g->t, "nodes") == SIZE_MAX ? "nodes" : "set";

    if (rc == ST_OK)
        rc = g->opts->describe ? describe(g, &o) : take_numbers(g, &o);
    if (rc == ST_OK)
        rc = make_column(o, g->len, g->ids.n, name, &to->col[1], g->err);
    else
        free_nodes(o);
    for (size_t j = 0, at = 2; rc == ST_OK && j < g->t->ncols; j++)
        if (g->target[j])
            rc = take_target(g, j, &to->col[at++]);
    if (rc == ST_OK)
        nodes_note(to, &to->col[1], &g->notes);
    return rc == ST_OK ? table_add_notes(to, &g->notes, g->err) : rc;
}

enum status nodes_gather(struct table **t, const struct import_opts *opts, const struct ctl *ctl,
                         struct err *err)
{
    struct gather g = {
        .t = *t, .opts = opts, .ctl = ctl, .id = table_find(*t, opts->graph), .err = err};
    struct table *to = NULL;
    size_t targets = 0;
    enum status rc = ST_OK;

    if (g.id == SIZE_MAX) {
        err_set(err, ST_NOT_FOUND, "graph=%.60s: the file has no such column", opts->graph);
        err_hint(err, "its columns: %.60s, ..", (*t)->ncols ? (*t)->col[0].name : "none");
        return ST_NOT_FOUND;
    }
    if (opts->describe && strcmp(opts->describe, "neighbours") != 0)
        return err_set(err, ST_USAGE, "describe=%.40s: neighbours is what there is",
                       opts->describe);
    rc = find_graphs(&g);
    if (rc == ST_OK)
        rc = find_targets(&g);
    for (size_t j = 0; rc == ST_OK && j < (*t)->ncols; j++)
        targets += g.target[j];
    if (rc == ST_OK)
        to = table_new((*t)->path, 2 + targets, err);
    if (rc == ST_OK && !to)
        rc = ST_NOMEM;
    if (rc == ST_OK) {
        to->n = g.ids.n;
        take_origin(*t, to, "one row a node");
        rc = gather_columns(&g, to);
    }
    for (size_t j = 0; rc == ST_OK && j < to->ncols; j++)
        to->missing += to->col[j].missing;
    if (rc == ST_OK) {
        table_unref(*t);
        *t = to;
    } else {
        table_unref(to);
    }
    free(g.graph);
    free(g.order);
    free(g.len);
    free(g.target);
    table_intern_free(&g.ids);
    buf_free(&g.notes);
    return rc;
}

/* Arrays of three dimensions. */

/* The number of nodes of each row: from the file of lengths, or all. */
static enum status take_lengths(const struct table *t, size_t nodes, const char *file,
                                const struct ctl *ctl, size_t *len, struct err *err)
{
    const struct import_opts o = { .header = -1 };
    struct table *of = NULL;
    enum status rc = file ? import_table(file, &o, ctl, &of, err) : ST_OK;

    if (rc == ST_OK && file && (of->ncols != 1 || of->n != t->n || of->col[0].type != COL_REAL))
        rc = err_named(err, ST_FORMAT, "lengths",
                       "%.200s has %zu rows of %zu columns; one number for each of %zu rows is "
                       "needed",
                       file, of->n, of->ncols, t->n);
    for (size_t i = 0; rc == ST_OK && i < t->n; i++) {
        const double v = file ? column_at(&of->col[0], i) : (double)nodes;
        if (!(v >= 0.0 && v <= (double)nodes && v == floor(v)))
            rc = err_named(err, ST_FORMAT, "lengths",
                           "%.200s, row %zu: %.6g nodes; the array has room for 0 to %zu", file,
                           i + 1, v, nodes);
        else
            len[i] = (size_t)v;
    }
    table_unref(of);
    return rc;
}

enum status nodes_fold(struct table **tp, size_t d, const struct import_opts *opts,
                       const struct ctl *ctl, struct err *err)
{
    struct table *t = *tp;
    const size_t wide = t->ncols - t->targets, nodes = d ? wide / d : 0;
    size_t *len = mem_calloc(t->n + 1, sizeof *len, "lengths", err), total = 0, at = 0;
    struct buf notes = { 0 };
    enum status rc = len ? take_lengths(t, nodes, opts->lengths, ctl, len, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < t->n; i++)
        total += len[i];
    struct nodes *o = rc == ST_OK ? nodes_new(total, d, err) : NULL;
    struct table *to = o ? table_new(t->path, 1 + t->targets, err) : NULL;
    if (rc == ST_OK && !to)
        rc = ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < d; j++) {
        char word[32];
        snprintf(word, sizeof word, "f%zu", j + 1);
        rc = set_name(o, j, word, "", false, err);
    }
    for (size_t i = 0; rc == ST_OK && i < t->n; at += len[i++])
        for (size_t k = 0; rc == ST_OK && k < len[i] * d; k++) {
            o->v[at * d + k] = column_at(&t->col[k], i);
            if (isnan(o->v[at * d + k]))
                rc = err_named(err, ST_FORMAT, "missing",
                               "row %zu: number %zu of node %zu is missing", i + 1, k % d + 1,
                               k / d + 1);
        }
    if (rc == ST_OK) {
        to->n = t->n;
        take_origin(t, to, "three dimensions");
        rc = make_column(o, len, t->n, "nodes", &to->col[0], err);
        o = NULL;
    }
    if (rc == ST_OK) {
        for (size_t j = 0; j < t->targets; j++) { /* moved, together with their names */
            to->col[1 + j] = t->col[wide + j];
            t->col[wide + j] = (struct column){ 0 };
        }
        to->targets = t->targets;
        to->missing = to->col[0].missing;
        nodes_note(to, &to->col[0], &notes);
        rc = table_add_notes(to, &notes, err);
    }
    free_nodes(o);
    free(len);
    buf_free(&notes);
    table_unref(rc == ST_OK ? t : to);
    if (rc == ST_OK)
        *tp = to;
    return rc;
}

/* Stretches of a time series. */

static enum status window_words(const char *words, char name[256], size_t *width, size_t *lag,
                                struct err *err)
{
    const char *colon = strrchr(words, ':'), *before = colon;
    unsigned long last = 0;

    *width = colon ? strtoul(colon + 1, NULL, 10) : 0;
    *lag = 1;
    for (const char *p = colon; p && p > words && before == colon; p--) /* column:width:ahead */
        if (p[-1] == ':')
            before = p - 1;
    if (before != colon && strspn(before + 1, "0123456789") == (size_t)(colon - before - 1) &&
        colon > before + 1) {
        last = *width;
        *width = strtoul(before + 1, NULL, 10);
        *lag = last;
        colon = before;
    }
    if (!colon || colon == words || (size_t)(colon - words) >= 256 || *width < 1 ||
        *width > 100000 || *lag < 1) {
        err_set(err, ST_USAGE,
                "window=%.60s: a column and how many rows before each, as in window=temp:24; or "
                "window=temp:24:7 for those that end 7 rows before",
                words);
        return ST_USAGE;
    }
    memcpy(name, words, (size_t)(colon - words));
    name[colon - words] = '\0';
    return ST_OK;
}

enum status nodes_window(struct table *t, const struct import_opts *opts, struct err *err)
{
    char name[256];
    size_t width, lag;
    enum status rc = window_words(opts->window, name, &width, &lag, err);
    const size_t j = rc == ST_OK ? table_find(t, name) : SIZE_MAX, skip = width + lag - 1;
    struct buf notes = { 0 };

    if (rc != ST_OK)
        return rc;
    if (j == SIZE_MAX || t->col[j].type != COL_REAL)
        return err_set(err, j == SIZE_MAX ? ST_NOT_FOUND : ST_STATE, "window=%.60s: %s",
                       opts->window,
                       j == SIZE_MAX ? "there is no such column" : "the column holds no numbers");
    struct column *col = mem_calloc(t->ncols + 1, sizeof *col, "columns", err);
    size_t *len = col ? mem_calloc(t->n + 1, sizeof *len, "windows", err) : NULL, rows = 0,
           gaps = 0;
    for (size_t i = skip; len && i < t->n; i++) {
        bool whole = true;
        for (size_t k = 0; k < width && whole; k++)
            whole = !isnan(column_at(&t->col[j], i - skip + k));
        len[i] = whole ? width : 0;
        rows += whole;
        gaps += !whole;
    }
    struct nodes *o = len ? nodes_new(rows * width, 1, err) : NULL;
    if (!o) {
        free(col);
        free(len);
        return ST_NOMEM;
    }
    o->series = true;
    for (size_t i = skip, at = 0; i < t->n; i++)
        for (size_t k = 0; k < len[i]; k++)
            o->v[at++] = column_at(&t->col[j], i - skip + k);
    memcpy(col, t->col, t->ncols * sizeof *col);
    free(t->col);
    t->col = col;
    rc = set_name(o, 0, name, "", false, err);
    struct buf title = { 0 };
    buf_printf(&title, "%s_before", name);
    if (rc == ST_OK)
        rc = make_column(o, len, t->n, buf_str(&title), &t->col[t->ncols], err);
    if (rc == ST_OK) {
        t->missing += t->col[t->ncols++].missing;
        buf_printf(&notes,
                   "note[window]: '%s' holds the %zu values of '%s' from %zu to %zu rows before "
                   "each; %zu rows at "
                   "the start have none%s (missing drop leaves them out)\n",
                   buf_str(&title), width, name, skip, lag, skip < t->n ? skip : t->n,
                   gaps ? ", nor those behind a missing cell" : "");
        rc = table_add_notes(t, &notes, err);
    }
    buf_free(&title);
    buf_free(&notes);
    free(len);
    return rc;
}
