/* data/encode.c -- applies an encoding to the rows of a table. Its columns are found by name, each
 * kind of rows maps what it needs (kinds/kind.h), rows are kept or dropped, and the numbers are
 * computed now or when they are asked for. */
#include "data/classes.h"
#include "data/encode_group.h"
#include "data/encode_places.h"
#include "data/page_use.h"
#include "data/kinds/kind.h"
#include "data/kinds/positions.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHECK_ROWS = 8192,  /* for tables on disk: rows between checks of their files */
    PLACED_ROWS = 1024, /* fewer rows are sent faster than their files are opened elsewhere */
};
static _Atomic uint64_t names; /* of sources so far */

/* One call of encode(). */
struct pass {
    const struct encoding *e;
    const struct table *t;
    const size_t *rows; /* NULL: all rows */
    size_t n;
    struct encode_group *g; /* those of ng columns of the table */
    size_t ng, wide; /* wide: numbers of a row */
    const struct column *y[TARGETS_MOST], *w; /* w NULL: no weights */
    struct encoded *out;
    struct err *err;
};

/* Groups. */

/* Takes cells of the kind that training had, or words that can be converted to it. */
static enum status take_cells(struct pass *p, struct encode_group *g)
{
    const struct row_kind *kind = g->row;
    const bool words = g->c->type == COL_TEXT || g->c->type == COL_CATEGORY;
    char name[64];

    if (g->c->cells == kind->cells)
        return ST_OK;
    if (words && kind->adopt != NULL) {
        g->own = mem_calloc(1, sizeof *g->own, kind->several, p->err);
        if (g->own == NULL)
            return ST_NOMEM;
        g->c = g->own;
        return kind->adopt(p->t, g->col, g->own, p->err);
    }
    err_named(p->err, ST_STATE, "column", "column %s holds %s here but %s in the training data",
              text_quoted(g->c->name, name, sizeof name),
              g->c->type == COL_REAL ? "numbers"
              : words                ? "words"
                                     : kind_of(g->c)->several,
              kind->several);
    if (kind->reopen != NULL)
        err_hint(p->err, "predict FILE %s, as the training file was opened", kind->reopen);
    else if (g->c->type != COL_REAL)
        err_hint(p->err, "predict FILE");
    return ST_STATE;
}

/* likely: where the column is if the tables agree, so that wide tables need not be searched. */
static enum status map_group(struct pass *p, size_t likely, struct encode_group *g)
{
    const struct encoding *e = p->e;
    const struct table *t = p->t;
    const char *column = g->windows ? g->held->column : e->col[g->first].column;
    char name[64];

    if (!g->windows)
        g->held = encoding_held(e, &e->col[g->first]);
    g->row = g->windows ? g->held->kind : e->col[g->first].of;
    g->col = likely < t->ncols && strcmp(t->col[likely].name, column) == 0 ? likely
                                                                           : table_find(t, column);
    if (g->col == SIZE_MAX) {
        err_named(p->err, ST_STATE, "column", "the data has no column %s, which the model reads",
                  text_quoted(column, name, sizeof name));
        if (g->row->reopen != NULL)
            err_hint(p->err, "predict FILE %s, as the training file was opened", g->row->reopen);
        else
            err_hint(p->err, "give the file's columns the names of the training data");
        return ST_STATE;
    }
    g->c = &t->col[g->col];
    g->empty = g->c->missing == t->n;
    enum status rc = g->row->cells != NULL ? take_cells(p, g) : ST_OK;
    if (rc == ST_OK && g->row->map != NULL)
        rc = g->row->map(e, g, p->err);
    return rc == ST_OK && (g->windows || g->filters)
               ? positions_map_windows(p->rows, p->n, g, p->err)
               : rc;
}

static void free_groups(struct encode_group *g, size_t n)
{
    for (size_t k = 0; g != NULL && k < n; k++) {
        if (g[k].row != NULL && g[k].row->unmap != NULL)
            g[k].row->unmap(g[k].map);
        if (g[k].own != NULL)
            table_column_clear(g[k].own);
        free(g[k].own);
        positions_free(&g[k]);
    }
    free(g);
}

/* True if a part of the kernel begins at column j. */
static bool part_begins(const struct encoding *e, size_t j)
{
    for (size_t t = 0; t < e->nparts; t++)
        if (e->part[t].n > 0 && e->part[t].first == j)
            return true;
    return false;
}

/* The parts of a row behind its numbers, one after the other, each with room for its longest cell.
 * Several are preceded by the places where they begin. */
static enum status make_parts(struct pass *p)
{
    const struct encoding *e = p->e;
    const struct row_layout rows = encoding_layout(e);
    size_t at = row_layout_head(&rows), k = 0;
    enum status rc = ST_OK;

    for (size_t h = 0; h < e->nheld && rc == ST_OK; h++) {
        if (e->held[h].inputs == 0)
            continue;
        struct encode_group *g = &p->g[p->ng++];
        *g = (struct encode_group){ .held = &e->held[h], .first = at, .flag = SIZE_MAX,
                                    .windows = true, .told = SIZE_MAX };
        if (rows.nparts > 1)
            g->told = rows.flat + k++;
        rc = map_group(p, p->ng > 1 ? p->g[p->ng - 2].col + 1 : 0, g);
        at += 1 + g->room * positions_numbers(g->held);
    }
    p->wide = rows.nparts > 0 ? at : e->ncol;
    return rc;
}

static enum status make_groups(struct pass *p)
{
    const struct encoding *e = p->e;
    size_t runs = 1 + e->nheld; /* groups of columns with one name, and the parts after them */
    for (size_t j = 1; j < e->ncol; j++)
        runs += strcmp(e->col[j].column, e->col[j - 1].column) != 0 || part_begins(e, j);
    struct encode_group *g = p->g = mem_calloc(runs, sizeof *g, "an encoding", p->err);
    if (g == NULL)
        return ST_NOMEM;
    enum status rc = ST_OK;
    for (size_t j = 0; j < e->ncol && rc == ST_OK;) {
        struct encode_group *k = &g[p->ng++];
        *k = (struct encode_group){ .first = j, .flag = SIZE_MAX };
        const char *column = e->col[j].column;
        do {
            if (e->col[j].kind == ENC_MISSING)
                k->flag = j;
            else
                k->n++;
            k->filters |= e->col[j].kind == ENC_FILTER;
            j++;
        } while (j < e->ncol && strcmp(e->col[j].column, column) == 0 && !part_begins(e, j));
        rc = map_group(p, p->ng > 1 ? g[p->ng - 2].col + 1 : 0, k);
    }
    return rc == ST_OK ? make_parts(p) : rc;
}

/* Writes the numbers of a group for one row. */
static enum status encode_group(const struct encoding *e, const struct encode_group *g, size_t row,
                                double *x, size_t *cut, struct err *err)
{
    if (g->windows || g->filters)
        return positions_encode(e, g, row, x, cut, err);
    g->row->encode(e, g, row, x, cut);
    return ST_OK;
}

/* Bytes from one row of the table to the next, over all columns that are read. */
static size_t groups_bytes(const struct encode_group *g, size_t n)
{
    size_t bytes = 0;

    for (size_t k = 0; k < n; k++)
        if (k == 0 || g[k].c->in == NULL || g[k].c->in != g[k - 1].c->in ||
            mapped_array_stride(g[k].c->in) <= sizeof(double))
            bytes += page_use_row_bytes(g[k].c);
    return bytes;
}

/* Choosing the rows. */

static enum status policy_error(const struct table *t, size_t col, size_t row, bool unseen,
                                struct err *err)
{
    char name[64], value[64];
    struct buf cell = { 0 };
    text_quoted(t->col[col].name, name, sizeof name);
    table_cell(t, row, col, &cell);
    if (unseen)
        err_named(err, ST_STATE, "unseen", "row %zu: %s in column %s never occurs in the training "
                  "rows", row + 1, text_quoted(buf_str(&cell), value, sizeof value), name);
    else
        err_named(err, ST_STATE, "missing", "row %zu: column %s is missing", row + 1, name);
    err_hint(err, "missing mean  |  missing median  |  missing drop");
    buf_free(&cell);
    return ST_STATE;
}

static enum cell_state state_of_cell(const struct encoding *e, const struct encode_group *g,
                                     size_t row)
{
    if (g->row->judge != NULL)
        return g->row->judge(e, g, row);
    return column_missing(g->c, row) ? CELL_MISSING : CELL_THERE;
}

/* Counts what a cell is and decides whether its row is dropped. An error if the policy says so. */
static enum status judge_cell(struct pass *p, const struct encode_group *g, size_t row, bool *drop)
{
    const enum missing_policy policy = p->e->missing;

    switch (state_of_cell(p->e, g, row)) {
    case CELL_THERE:
        return ST_OK;
    case CELL_SHORT: /* such rows have no mean */
        if (policy != MISSING_DROP)
            return positions_too_short(g->row, p->t, g->c, row, g->least, p->err);
        p->out->missing_cells++;
        break;
    case CELL_MISSING:
        p->out->missing_cells++;
        if (policy == MISSING_ERROR)
            return policy_error(p->t, g->col, row, false, p->err);
        break;
    case CELL_UNSEEN:
        p->out->unseen_levels += policy != MISSING_DROP; /* otherwise the row is dropped */
        if (policy == MISSING_ERROR)
            return policy_error(p->t, g->col, row, true, p->err);
        break;
    }
    *drop = *drop || policy == MISSING_DROP;
    return ST_OK;
}

/* Decides which rows stay, and counts what is reported. */
static enum status judge_rows(struct pass *p)
{
    struct encoded *out = p->out;
    const size_t width = groups_bytes(p->g, p->ng) + (1 + out->t) * sizeof(double);

    for (size_t i = 0; i < p->n; i++) {
        size_t row = p->rows != NULL ? p->rows[i] : i;
        bool drop = false;
        if (i > 0 && i % PAGE_USE_PIECE == 0)
            spill_used(p->rows != NULL
                           ? page_use_touched(p->rows + i - PAGE_USE_PIECE, PAGE_USE_PIECE, width)
                           : PAGE_USE_PIECE * width);
        for (size_t k = 0; k < p->ng; k++) {
            const enum status rc = judge_cell(p, &p->g[k], row, &drop);
            if (rc != ST_OK)
                return rc;
        }
        for (size_t k = 0; k < out->t; k++) {
            if (!column_missing(p->y[k], row))
                continue;
            if (p->e->missing == MISSING_ERROR)
                return policy_error(p->t, (size_t)(p->y[k] - p->t->col), row, false, p->err);
            drop = true;
        }
        drop = drop || (p->w != NULL && p->e->missing == MISSING_DROP &&
                        isnan(column_at(p->w, row)));
        if (drop)
            out->dropped++;
        else
            out->row[out->n++] = row;
    }
    return ST_OK;
}

/* Targets and weights. */

/* Classes: their numbers; of two under a bernoulli likelihood -1 and +1, raw 0 and 1. */
static enum status encode_classes(const struct encoding *e, const struct column *y, double *scaled,
                                  double *raw, struct encoded *out, struct err *err)
{
    char name[64];

    for (size_t i = 0; i < out->n; i++) {
        raw[i] = classes_label(e, y, out->row[i]);
        scaled[i] = e->alpha > 0.0 ? raw[i] : 2.0 * raw[i] - 1.0;
        if (!isnan(raw[i]))
            continue;
        err_named(err, ST_STATE, "classes",
                  "the target %s is none of its %zu classes (%.40s, %.40s, ...) in row %zu",
                  text_quoted(e->target, name, sizeof name), e->nclasses, e->classes[0],
                  e->classes[1], out->row[i] + 1);
        err_hint(err, "fit again with these rows, or leave them out: where ...");
        return ST_STATE;
    }
    return ST_OK;
}

static enum status encode_target(const struct encoding *e, const struct column *y, double *scaled,
                                 double *raw, struct encoded *out, struct err *err)
{
    if (e->nclasses > 0)
        return encode_classes(e, y, scaled, raw, out, err);
    for (size_t i = 0; i < out->n; i++) {
        double v = raw[i] = column_at(y, out->row[i]);
        if (e->yscale == Y_LOG && !(v > 0.0)) {
            char name[64];
            err_named(err, ST_STATE, "log", "the target %s is %.6g in row %zu: it has no logarithm",
                      text_quoted(e->target, name, sizeof name), v, out->row[i] + 1);
            err_hint(err, "scale y=standard");
            return ST_STATE;
        }
        scaled[i] = ((e->yscale == Y_LOG ? log(v) : v) - e->ymean) / e->ysd;
        page_use_step(out->row, i, page_use_row_bytes(y) + 3 * sizeof v);
    }
    return ST_OK;
}

static enum status encode_targets(const struct encoding *e, const struct column *const *y,
                                  struct encoded *out, struct err *err)
{
    enum status rc = ST_OK;
    out->y = spill_array(out->t * out->n, sizeof *out->y, "targets", err);
    out->yraw = spill_array(out->t * out->n, sizeof *out->yraw, "targets", err);
    if (out->y == NULL || out->yraw == NULL)
        return ST_NOMEM;
    for (size_t k = 0; k < out->t && rc == ST_OK; k++) {
        const struct encoding one = encoding_for(e, k);
        rc = encode_target(&one, y[k], out->y + k * out->n, out->yraw + k * out->n, out, err);
    }
    return rc;
}

/* Finds the columns of the targets: all of them or none. */
static enum status find_targets(const struct encoding *e, const struct table *t,
                                const struct column **y, size_t *n, struct err *err)
{
    char name[64];
    *n = encoding_targets(e);
    for (size_t k = 0; k < encoding_targets(e); k++) {
        const char *target = encoding_for(e, k).target;
        const size_t j = target != NULL ? table_find(t, target) : SIZE_MAX;
        y[k] = j != SIZE_MAX ? &t->col[j] : NULL;
        if (j == SIZE_MAX)
            *n = 0;
    }
    for (size_t k = 0; k < *n; k++)
        if (y[k]->type != COL_REAL && e->nclasses == 0) {
            err_named(err, ST_STATE, "column", "the target %s holds words here",
                             text_quoted(y[k]->name, name, sizeof name));
            err_hint(err, "open FILE types=NAME=real  shows the cell that is not a number");
            return ST_STATE;
        }
    return ST_OK;
}

static enum status encode_weights(const struct encoding *e, const struct column *w,
                                  struct encoded *out, struct err *err)
{
    out->row_scale = spill_array(out->n, sizeof *out->row_scale, "weights", err);
    if (out->row_scale == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < out->n; i++) {
        const double v = column_at(w, out->row[i]);
        if (!(v > 0.0) || !isfinite(v)) {
            char name[64];
            err_named(err, ST_STATE, "weight", "the weight %s is %s%.6g in row %zu; weights are "
                      "numbers above 0", text_quoted(e->weight, name, sizeof name),
                      isnan(v) ? "missing: " : "", v, out->row[i] + 1);
            err_hint(err,
                     isnan(v) ? "missing drop  |  cols NAME role=skip" : "cols NAME role=skip");
            return ST_STATE;
        }
        out->row_scale[i] = sqrt(v);
        page_use_step(out->row, i, page_use_row_bytes(w) + 2 * sizeof v);
    }
    return ST_OK;
}

/* The rows. */

static enum status encoded_rows(const struct source *s, size_t r0, size_t r1, double *x,
                                struct err *err)
{
    /* Base is the first member, so out may be moved. */
    const struct encoded *e = (const struct encoded *)s;
    size_t cut;

    if (e->x != NULL) {
        if (r1 > r0)
            memcpy(x, e->x + r0 * s->d, (r1 - r0) * s->d * sizeof *x);
        return ST_OK;
    }
    for (size_t a = r0, b; a < r1; a = b) {
        b = a + PAGE_USE_PIECE < r1 ? a + PAGE_USE_PIECE : r1;
        for (size_t k = 0; k < e->ngroup; k++)
            for (size_t i = a; i < b; i++) {
                const enum status rc = encode_group(e->enc, &e->group[k], e->row[i],
                                                    x + (i - r0) * s->d, &cut, err);
                if (rc != ST_OK)
                    return rc;
            }
        spill_used(page_use_touched(e->row + a, b - a, groups_bytes(e->group, e->ngroup)));
        const size_t p = e->row[a], q = e->row[b - 1];
        const enum status rc = spill_cut() != e->table->cuts || p / CHECK_ROWS != q / CHECK_ROWS ||
                                       p % CHECK_ROWS == 0
                                   ? page_use_check(e->table, p < q ? p : q, p < q ? q : p, err)
                                   : ST_OK;
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

static bool is_anew(const struct enc_col *c)
{
    return c->kind == ENC_CELL && c->of->numbers[c->number].anew;
}

/* Rows of letters and similar kinds are quickly computed again, and would take far more room than
 * the cells. */
static bool made_anew(const struct encoding *e)
{
    return encoding_layout(e).nparts > 0 ||
           (e->d > 256 && (is_anew(&e->col[0]) || is_anew(&e->col[e->ncol - 1])));
}

static enum status make_room(const struct encoding *e, size_t n, struct encoded *out,
                             struct err *err)
{
    double bytes = (double)n * (double)e->d * sizeof(double);
    if (bytes > 0.9 * (double)mem_physical() && spill_fits(bytes) && !made_anew(e)) {
        char need[32], have[32];
        mem_format(need, sizeof need, bytes);
        mem_format(have, sizeof have, (double)mem_physical());
        err_named(err, ST_NOMEM, "memory", "%zu rows of %zu encoded inputs need %s; the machine "
                  "has %s", n, e->d, need, have);
        err_hint(err, "cols NAME role=skip  for categories of very many levels");
        return ST_NOMEM;
    }
    out->row = spill_array(n, sizeof *out->row, "row numbers", err);
    return out->row != NULL ? ST_OK : ST_NOMEM;
}

static enum status fill_matrix(const struct encoding *e, const struct encode_group *g, size_t ng,
                               struct encoded *out, struct err *err)
{
    const bool keep = spill_fits((double)out->n * (double)e->d * sizeof(double)) && !made_anew(e);
    if (e->ncol == 0) /* nothing to count */
        return ST_OK;
    ng -= encoding_layout(e).nparts;
    double *block =
        keep ? NULL : mem_calloc(PAGE_USE_PIECE * e->d, sizeof *block, "encoded inputs", err);
    out->x = keep ? spill_array(out->n * e->d, sizeof *out->x, "encoded inputs", err) : NULL;
    if (out->x == NULL && block == NULL)
        return ST_NOMEM;
    /* Goes over all rows once, even if only to count. */
    for (size_t r0 = 0; r0 < out->n; r0 += PAGE_USE_PIECE) {
        size_t r1 = r0 + PAGE_USE_PIECE < out->n ? r0 + PAGE_USE_PIECE : out->n;
        double *x = keep ? out->x + r0 * e->d : block;
        for (size_t k = 0; k < ng; k++)
            for (size_t i = r0; i < r1; i++)
                if (encode_group(e, &g[k], out->row[i], x + (i - r0) * e->d, &out->cut, err) !=
                    ST_OK) {
                    free(block);
                    return ST_NOMEM;
                }
        spill_used(page_use_touched(out->row + r0, r1 - r0, groups_bytes(g, ng)));
    }
    free(block);
    return ST_OK;
}

static enum status find_weight(struct pass *p)
{
    const struct encoding *e = p->e;
    const size_t j = e->weight != NULL ? table_find(p->t, e->weight) : SIZE_MAX;
    char name[64];

    p->w = j != SIZE_MAX ? &p->t->col[j] : NULL;
    return p->w != NULL && p->w->type != COL_REAL
               ? err_named(p->err, ST_STATE, "column", "the weight %s holds words here",
                           text_quoted(e->weight, name, sizeof name))
               : ST_OK;
}

/* Everything except the source. */
static enum status run_pass(struct pass *p, bool want_y)
{
    const struct encoding *e = p->e;
    struct encoded *out = p->out;
    enum status rc = p->n > 0 ? page_use_check(p->t, 0, p->t->n - 1, p->err) : ST_OK;

    if (rc == ST_OK)
        rc = make_groups(p);
    if (rc == ST_OK && want_y)
        rc = find_targets(e, p->t, p->y, &out->t, p->err);
    if (rc == ST_OK)
        rc = find_weight(p);
    if (rc == ST_OK)
        rc = make_room(e, p->n, out, p->err);
    if (rc == ST_OK)
        rc = judge_rows(p);
    for (size_t k = 0; rc == ST_OK && !want_y && k < p->ng; k++)
        if (p->g[k].row->count_strange != NULL)
            rc = p->g[k].row->count_strange(e, &p->g[k], out, p->err);
    if (rc == ST_OK)
        rc = fill_matrix(e, p->g, p->ng, out, p->err);
    if (rc == ST_OK && out->t > 0)
        rc = encode_targets(e, p->y, out, p->err);
    if (rc == ST_OK && p->w != NULL)
        rc = encode_weights(e, p->w, out, p->err);
    if (rc == ST_OK && p->n > 0)
        rc = page_use_check(p->t, 0, p->t->n - 1, p->err);
    return rc;
}

enum status encode(const struct encoding *e, const struct table *t, const size_t *rows, size_t n,
                   bool want_y, struct encoded *out, struct err *err)
{
    struct pass p = { .e = e, .t = t, .rows = rows, .n = rows != NULL ? n : t->n, .out = out,
                      .err = err };

    *out = (struct encoded){ 0 };
    const enum status rc = run_pass(&p, want_y);
    out->table = t;
    if (rc == ST_OK && out->n >= PLACED_ROWS)
        out->places = encode_places(e, t, p.g, p.ng, out->row);
    if (rc == ST_OK && out->x == NULL) {
        out->enc = e;
        out->group = p.g;
        out->ngroup = p.ng;
    } else {
        free_groups(p.g, p.ng);
    }
    if (rc != ST_OK) {
        encode_free(out);
        return rc;
    }
    out->base = (struct source){
        .n = out->n,
        .d = p.wide,
        .rows = encoded_rows,
        .row_scale = out->row_scale,
        .layout = encoding_layout(e),
        .name = atomic_fetch_add(&names, 1) + 1,
        .places = out->places,
    };
    return ST_OK;
}

void encode_free(struct encoded *e)
{
    spill_free(e->x);
    spill_free(e->y);
    spill_free(e->yraw);
    spill_free(e->row_scale);
    spill_free(e->row);
    encode_places_free(e->places);
    free_groups(e->group, e->ngroup);
    *e = (struct encoded){ 0 };
}
