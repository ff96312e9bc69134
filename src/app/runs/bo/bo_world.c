/* app/runs/bo/bo_world.c -- what bo measures: see bo_impl.h.  Where there is no pool, the world is
 * a table that grows by the rows that are measured. */
#include "app/runs/bo/bo_impl.h"

#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/models/truth.h"
#include "compute/rng.h"
#include "data/candidates.h"
#include "data/expr.h"
#include "data/row_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_POOL = 1u << 31 }; /* beside those of data/candidates.c */

struct bo_world {
    const struct bo *g;
    uint64_t seed;
    struct dataset *d;
    size_t *row, n, measured; /* rows with a value, the measured ones first */
    double *u;                /* the utility of each row of the table, in units of the target */
    double top;               /* of the last row of the pool's best 1 % */
    struct encoding inputs;   /* fitted on the pool */
    double mean[BO_DIMS_MOST], sd[BO_DIMS_MOST]; /* of inputs spread evenly over their ranges */
    struct truth *truth;
    struct expr *formula;
};

/* The pool of the current data: the rows with a value of the target, in a random order. */

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

static enum status shuffle(struct bo_world *w, struct err *err)
{
    const struct table *t = w->d->table;
    const struct column *y = &t->col[dataset_target(w->d)];
    size_t *order = mem_calloc(t->n + 1, sizeof *order, "rows", err);
    double *sorted = order ? mem_calloc(t->n + 1, sizeof *sorted, "rows", err) : NULL;

    if (sorted) {
        rng_permutation(w->seed, rng_stream(RNG_SUGGEST, STREAM_POOL), t->n, order);
        for (size_t i = 0; i < t->n; i++) {
            w->u[order[i]] = bo_rounds_utility(w->g, column_at(y, order[i]));
            if (isfinite(w->u[order[i]])) {
                sorted[w->n] = w->u[order[i]];
                w->row[w->n++] = order[i];
            }
        }
        qsort(sorted, w->n, sizeof *sorted, descending);
        w->top = w->n ? sorted[(w->n + 99) / 100 - 1] : NAN;
    }
    free(order);
    free(sorted);
    return sorted ? ST_OK : ST_NOMEM;
}

/* The encoding of the inputs, fitted on the whole pool or on evenly spread rows of the ranges. */
static enum status take_inputs(struct bo_world *w, const struct bo_rows *spread, struct err *err)
{
    if (w->g->kind == BO_TABLE)
        return encoding_fit(w->d, w->row, w->n, &w->inputs, NULL, err);
    for (size_t j = 0; j < w->g->dims; j++) {
        const struct column *c = &spread->t->col[j];
        double sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < spread->t->n; i++)
            sum += c->v[i];
        w->mean[j] = sum / (double)spread->t->n;
        for (size_t i = 0; i < spread->t->n; i++)
            squares += (c->v[i] - w->mean[j]) * (c->v[i] - w->mean[j]);
        w->sd[j] = sqrt(squares / (double)spread->t->n);
    }
    return ST_OK;
}

static enum status open_pool(struct bo_world *w, struct err *err)
{
    const size_t n = w->g->data->table->n;

    w->d = dataset_ref(w->g->data);
    w->row = mem_calloc(n + 1, sizeof *w->row, "rows", err);
    w->u = w->row ? mem_calloc(n + 1, sizeof *w->u, "rows", err) : NULL;
    enum status rc = w->u ? shuffle(w, err) : ST_NOMEM;
    if (rc == ST_OK && w->n <= w->g->start) {
        rc = err_set(err, ST_STATE, "%zu rows have a value of the target, and start=%zu of them "
                                    "leave none to choose from", w->n, w->g->start);
        err_hint(err, "bo table start=%zu", w->n / 10 + 2);
    }
    w->measured = w->g->start;
    return rc == ST_OK ? take_inputs(w, NULL, err) : rc;
}

/* A draw or a formula. */

/* A table with the columns of the data of bo and room for all rows that will be measured. */
static enum status grow_table(struct bo_world *w, struct err *err)
{
    const struct dataset *from = w->g->data;
    const size_t most = w->g->start + w->g->rounds * w->g->batch + 1;
    struct table *t = table_new("bo", from->table->ncols, err);

    if (!t)
        return ST_NOMEM;
    for (size_t j = 0; j < t->ncols; j++) {
        struct column *c = &t->col[j];
        c->type = COL_REAL;
        c->named = true;
        c->name = mem_strdup(from->table->col[j].name, err);
        c->v = c->name ? spill_array(most, sizeof *c->v, "measured rows", err) : NULL;
        if (!c->v) {
            table_unref(t);
            return ST_NOMEM;
        }
    }
    w->d = dataset_snapshot(from, err);
    w->row = w->d ? mem_calloc(most, sizeof *w->row, "measured rows", err) : NULL;
    w->u = w->row ? mem_calloc(most, sizeof *w->u, "measured rows", err) : NULL;
    if (!w->u) {
        table_unref(t);
        return ST_NOMEM;
    }
    table_unref(w->d->table);
    w->d->table = t;
    return ST_OK;
}

/* The values of the drawn function at rows of a table. */
static enum status drawn(const struct bo_world *w, const struct table *t, const size_t *row,
                         size_t n, double *y, const struct tools *on, struct err *err)
{
    const struct ctl quiet = { .cancel = on->ctl ? on->ctl->cancel : NULL };
    const struct tools still = { on->be, on->pool, &quiet };
    const size_t d = w->g->dims;
    double *x = mem_calloc(n + 1, d * sizeof *x, "measured rows", err);
    struct source_array src;

    if (!x)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = column_at(&t->col[j], row[i]);
    source_array_init(&src, x, n, d, d);
    const enum status rc = truth_values(w->truth, &src.base, y, &still, err);
    free(x);
    return rc;
}

static enum status no_value(const struct bo_world *w, const struct table *t, size_t row,
                            struct err *err)
{
    struct buf at = { 0 }, faults = { 0 };

    for (size_t j = 0; j < w->g->dims; j++) {
        buf_printf(&at, "%s%s=", j ? " " : "", t->col[j].name);
        buf_json_double(&at, column_at(&t->col[j], row));
    }
    expr_faults(w->formula, &faults);
    err_named(err, ST_RANGE, "formula", "the formula has no value at %.120s: %.120s",
              buf_str(&at), faults.len ? buf_str(&faults) : "it is not finite");
    err_hint(err, "bo ... %s=LOW..HIGH where it has values", t->col[0].name);
    buf_free(&at);
    buf_free(&faults);
    return ST_RANGE;
}

/* The values of the formula; every one of them is needed. */
static enum status computed(const struct bo_world *w, const struct table *t, const size_t *row,
                            size_t n, double *y, struct err *err)
{
    double block[EXPR_BLOCK];
    enum status rc = expr_bind(w->formula, t, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        rc = expr_rows(w->formula, row[i], 1, NULL, block, NULL, err);
        if (rc == ST_OK && !isfinite(block[0]))
            rc = no_value(w, t, row[i], err);
        y[i] = rc == ST_OK ? block[0] : NAN;
    }
    return rc;
}

/* Measures rows of a table and appends them to that of the world. */
static enum status append(struct bo_world *w, const struct table *t, const size_t *row, size_t n,
                          const struct tools *on, struct err *err)
{
    struct table *to = w->d->table;
    const size_t d = w->g->dims;
    double *y = to->col[d].v + to->n;
    enum status rc = w->truth ? drawn(w, t, row, n, y, on, err) : computed(w, t, row, n, y, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const size_t at = to->n + i;
        y[i] += w->g->noise * truth_noise(w->seed, at);
        for (size_t j = 0; j < d; j++)
            to->col[j].v[at] = column_at(&t->col[j], row[i]);
        w->u[at] = bo_rounds_utility(w->g, y[i]);
        w->row[at] = at;
    }
    if (rc == ST_OK)
        w->measured = w->n = to->n += n;
    return rc;
}

static enum status open_function(struct bo_world *w, const struct tools *on, struct err *err)
{
    const struct bo *g = w->g;
    struct bo_rows start = { 0 };
    size_t *all = NULL;
    enum status rc = grow_table(w, err);

    if (rc == ST_OK && g->kind == BO_DRAW)
        rc = truth_new(&g->fit.kernel, g->fit.hp, g->dims, w->seed, &w->truth, err);
    if (rc == ST_OK && g->kind == BO_FORMULA)
        rc = expr_parse(args_text(g->a, "of"), &w->formula, err);
    if (rc == ST_OK)
        rc = bo_world_rows(w, 0, true, g->start, &start, err);
    if (rc == ST_OK) {
        all = mem_calloc(start.n + 1, sizeof *all, "rows", err);
        rc = all ? ST_OK : ST_NOMEM;
    }
    for (size_t i = 0; rc == ST_OK && i < start.n; i++)
        all[i] = i;
    if (rc == ST_OK)
        rc = take_inputs(w, &start, err);
    if (rc == ST_OK)
        rc = bo_world_measure(w, &start, all, start.n, on, err);
    bo_world_rows_free(&start);
    free(all);
    return rc;
}

enum status bo_world_open(const struct bo *g, uint64_t seed, const struct tools *on,
                          struct bo_world **out, struct err *err)
{
    struct bo_world *w = mem_calloc(1, sizeof *w, "a search", err);

    *out = NULL;
    if (!w)
        return ST_NOMEM;
    w->g = g;
    w->seed = seed;
    w->top = NAN;
    const enum status rc = g->kind == BO_TABLE ? open_pool(w, err) : open_function(w, on, err);
    if (rc == ST_OK)
        *out = w;
    else
        bo_world_close(w);
    return rc;
}

void bo_world_close(struct bo_world *w)
{
    if (!w)
        return;
    dataset_unref(w->d);
    encoding_free(&w->inputs);
    truth_free(w->truth);
    expr_free(w->formula);
    free(w->row);
    free(w->u);
    free(w);
}

const struct dataset *bo_world_data(const struct bo_world *w, const size_t **rows, size_t *n)
{
    *rows = w->row;
    *n = w->measured;
    return w->d;
}

enum status bo_world_encoding(struct bo_world *w, struct encoding *out, struct err *err)
{
    struct encoding now = { 0 };
    enum status rc = encoding_fit(w->d, w->row, w->measured, &now, NULL, err);

    if (rc == ST_OK && w->g->kind == BO_TABLE) {
        rc = encoding_copy(out, &w->inputs, err);
        if (rc == ST_OK)
            out->ymean = now.ymean, out->ysd = now.ysd, out->yown = now.yown;
        encoding_free(&now);
        return rc;
    }
    for (size_t j = 0; rc == ST_OK && w->g->kind == BO_FORMULA && j < now.ncol; j++) {
        struct enc_col *c = &now.col[j];
        const size_t at = table_find(w->d->table, c->column);
        c->constant = !(w->sd[at] > 0.0);
        c->mean = w->mean[at];
        c->sd = c->constant ? 1.0 : w->sd[at];
        c->limit = 0.0;
    }
    *out = now;
    return rc;
}

/* Rows to choose from. */

/* Drops the rows that were measured, or are there twice, and all beyond the first `most`. */
static enum status drop_measured(const struct bo_world *w, size_t most, struct bo_rows *c,
                                 struct err *err)
{
    const struct table *had = w->d->table;
    size_t col[BO_DIMS_MOST + 1], kept = 0;
    struct row_set *s = row_set_new(had->n + c->n, err);

    if (!s)
        return ST_NOMEM;
    for (size_t j = 0; j < w->g->dims; j++)
        col[j] = j;
    col[w->g->dims] = SIZE_MAX;
    for (size_t i = 0; i < had->n; i++)
        row_set_add(s, had, col, i);
    for (size_t i = 0; i < c->n && kept < most; i++)
        if (row_set_add(s, c->t, col, c->row[i]))
            c->row[kept++] = c->row[i];
    c->n = kept;
    row_set_free(s);
    return ST_OK;
}

/* Rows of the ranges: those of the line, or 0..1 for each input of a draw. */
static enum status make_rows(const struct bo_world *w, size_t round, bool at_random, size_t most,
                             struct bo_rows *c, struct err *err)
{
    const struct bo *g = w->g;
    char (*word)[64] = mem_calloc(g->dims, sizeof *word, "ranges", err);
    const char **range = word ? mem_calloc(g->dims, sizeof *range, "ranges", err) : NULL;
    struct buf told = { 0 };
    enum status rc = range ? ST_OK : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < g->dims; j++) {
        snprintf(word[j], sizeof word[j], "%s=0..1", g->data->table->col[j].name);
        range[j] = g->kind == BO_DRAW ? word[j] : args_many_at(g->a, "column", j);
    }
    const struct candidates_from from = { .d = w->d, .range = range, .nrange = g->dims,
                                          .utility = at_random ? NULL : w->u, .most = most,
                                          .seed = w->seed + ((uint64_t)round << 32) };
    if (rc == ST_OK)
        rc = candidates_make(&from, &c->t, &told, err);
    free(range);
    free(word);
    buf_free(&told);
    return rc;
}

enum status bo_world_rows(const struct bo_world *w, size_t round, bool at_random, size_t count,
                          struct bo_rows *c, struct err *err)
{
    const size_t left = w->n - w->measured;

    *c = (struct bo_rows){ .n = 0 };
    if (w->g->kind == BO_TABLE) {
        c->n = at_random && count < left ? count : left;
        c->row = mem_calloc(c->n + 1, sizeof *c->row, "rows", err);
        if (!c->row)
            return ST_NOMEM;
        memcpy(c->row, w->row + w->measured, c->n * sizeof *c->row);
        c->t = table_ref(w->d->table);
        return ST_OK;
    }
    /* Where the ranges have few values, some of these are measured. */
    const size_t most = at_random && w->g->candidates < 4 * count ? 4 * count : w->g->candidates;
    enum status rc = make_rows(w, round, at_random, most, c, err);
    if (rc != ST_OK)
        return rc;
    c->n = c->t->n;
    c->row = mem_calloc(c->n + 1, sizeof *c->row, "rows", err);
    if (!c->row)
        return ST_NOMEM;
    /* All combinations of few values stand in order. */
    rng_permutation(w->seed, rng_stream(RNG_SUGGEST, STREAM_POOL | (uint32_t)round), c->n, c->row);
    return drop_measured(w, at_random ? count : SIZE_MAX, c, err);
}

void bo_world_rows_free(struct bo_rows *c)
{
    table_unref(c->t);
    free(c->row);
    *c = (struct bo_rows){ .n = 0 };
}

/* Inputs that can take any value. */

/* The interval of a column of the data, where it is one without steps. */
static bool interval(const struct bo_world *w, size_t at, double *lo, double *hi)
{
    *lo = 0.0, *hi = 1.0;
    if (w->g->kind != BO_FORMULA)
        return w->g->kind == BO_DRAW;
    const char *text = strchr(args_many_at(w->g->a, "column", at), '=') + 1,
               *dots = strstr(text, "..");
    return dots && !strchr(text, '/') && text_double(text, (size_t)(dots - text), lo) &&
           text_double(dots + 2, strlen(dots + 2), hi);
}

bool bo_world_ranges(const struct bo_world *w, const struct encoding *enc, double *lo, double *hi)
{
    bool any = false;

    for (size_t j = 0; j < enc->ncol && j < BO_DIMS_MOST && w->g->kind != BO_TABLE; j++) {
        const struct enc_col *c = &enc->col[j];
        double a, b;
        lo[j] = hi[j] = 0.0;
        if (!interval(w, table_find(w->d->table, c->column), &a, &b))
            continue;
        lo[j] = (a - c->mean) / c->sd;
        hi[j] = (b - c->mean) / c->sd;
        any = true;
    }
    return any;
}

void bo_world_move(const struct bo_world *w, const struct encoding *enc, const struct bo_rows *c,
                   size_t i, const double *x)
{
    for (size_t j = 0; j < enc->ncol; j++) {
        const struct enc_col *e = &enc->col[j];
        const size_t at = table_find(c->t, e->column);
        double a, b;
        if (interval(w, table_find(w->d->table, e->column), &a, &b))
            c->t->col[at].v[c->row[i]] = fmin(fmax(e->mean + e->sd * x[j], a), b);
    }
}

/* Measuring. */

enum status bo_world_measure(struct bo_world *w, const struct bo_rows *c, const size_t *i, size_t n,
                             const struct tools *on, struct err *err)
{
    size_t *row = mem_calloc(n + 1, sizeof *row, "rows", err);
    enum status rc = row ? ST_OK : ST_NOMEM;

    for (size_t k = 0; rc == ST_OK && k < n; k++)
        row[k] = c->row[i[k]];
    if (rc == ST_OK && w->g->kind != BO_TABLE)
        rc = append(w, c->t, row, n, on, err);
    for (size_t k = 0; rc == ST_OK && w->g->kind == BO_TABLE && k < n; k++)
        for (size_t at = w->measured; at < w->n; at++)
            if (w->row[at] == row[k]) {
                w->row[at] = w->row[w->measured];
                w->row[w->measured++] = row[k];
                break;
            }
    free(row);
    return rc;
}

void bo_world_score(const struct bo_world *w, double *best, double *found)
{
    const struct column *y = &w->d->table->col[dataset_target(w->d)];
    size_t all = 0, hits = 0, at = w->measured ? w->row[0] : SIZE_MAX;

    for (size_t i = 0; i < w->n; i++) {
        const bool top = w->u[w->row[i]] >= w->top;
        all += top;
        hits += top && i < w->measured;
        if (i < w->measured && w->u[w->row[i]] > w->u[at])
            at = w->row[i];
    }
    *best = at == SIZE_MAX ? NAN : column_at(y, at);
    *found = w->g->kind == BO_TABLE && all ? (double)hits / (double)all : NAN;
}
