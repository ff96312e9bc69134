/* app/runs/cliffs.c -- see cliffs.h.  All pairs are compared in tiles (alike.h); those that differ
 * by the threshold are kept, and ordered by |difference| over 1 - similarity, the slope between the
 * two rows.  Pairs that the counts cannot tell apart have no slope and are counted apart. */
#include "app/runs/cliffs.h"

#include "app/core/job.h"
#include "app/core/ws_tell.h"
#include "app/runs/alike.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles_column.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 28 };

struct cliffs {
    struct dataset *data;
    size_t column, target, count;
    double similar, difference, sd;
    double noise;    /* sd of the difference of two measurements, by the last fit; NaN: unknown */
    char run[16];    /* this fit; "": none */
    size_t *row, n;  /* rows with counts and a target */
    struct alike_pairs pairs;
    size_t equal_differ, molecules;
    double seconds;
};

static void cliffs_free(struct job *job)
{
    struct cliffs *c = job->arg;

    if (!c)
        return;
    dataset_unref(c->data);
    free(c->row);
    free(c->pairs.at);
    free(c);
    job->arg = NULL;
}

static double target_at(const struct cliffs *c, size_t i)
{
    return column_at(&c->data->table->col[c->target], c->row[i]);
}

static bool differs(const void *ctx, size_t a, size_t b, double similarity)
{
    const struct cliffs *c = ctx;

    (void)similarity;
    return fabs(target_at(c, a) - target_at(c, b)) >= c->difference;
}

static double slope(const struct cliffs *c, const struct alike_pair *p)
{
    return fabs(target_at(c, p->a) - target_at(c, p->b)) / (1.0 - p->similarity);
}

struct sloped { struct alike_pair pair; double slope; };

static int by_slope(const void *a, const void *b)
{
    const struct sloped *x = a, *y = b;

    if (x->slope != y->slope)
        return x->slope < y->slope ? 1 : -1;
    if (x->pair.a != y->pair.a)
        return x->pair.a > y->pair.a ? 1 : -1;
    return (x->pair.b > y->pair.b) - (x->pair.b < y->pair.b);
}

/* Leaves the pairs with a slope, the steepest first, and counts the others and the rows. */
static enum status order(struct cliffs *c, struct err *err)
{
    struct sloped *s = mem_calloc(c->pairs.n + 1, sizeof *s, "pairs", err);
    bool *in = s ? mem_calloc(c->n + 1, sizeof *in, "rows", err) : NULL;
    size_t n = 0;

    for (size_t k = 0; in && k < c->pairs.n; k++) {
        const struct alike_pair *p = &c->pairs.at[k];
        if (p->similarity < 1.0)
            s[n++] = (struct sloped){ *p, slope(c, p) };
        else
            c->equal_differ++;
    }
    if (in)
        qsort(s, n, sizeof *s, by_slope);
    for (size_t k = 0; in && k < n; k++) {
        c->pairs.at[k] = s[k].pair;
        c->molecules += !in[s[k].pair.a];
        in[s[k].pair.a] = true;
        c->molecules += !in[s[k].pair.b];
        in[s[k].pair.b] = true;
    }
    c->pairs.n = n;
    const bool good = in != NULL;
    free(s);
    free(in);
    return good ? ST_OK : ST_NOMEM;
}

/* Rows with counts and a target, and the sd of the target over them. */
static enum status find_rows(struct cliffs *c, struct err *err)
{
    const struct table *t = c->data->table;
    double mean = 0.0, square = 0.0;

    c->row = mem_calloc(t->n + 1, sizeof *c->row, "rows", err);
    if (!c->row)
        return ST_NOMEM;
    for (size_t i = 0; i < t->n; i++)
        if (!column_missing(&t->col[c->column], i) && !isnan(column_at(&t->col[c->target], i)))
            c->row[c->n++] = i;
    for (size_t i = 0; i < c->n; i++)
        mean += target_at(c, i) / (double)c->n;
    for (size_t i = 0; i < c->n; i++)
        square += (target_at(c, i) - mean) * (target_at(c, i) - mean) / (double)c->n;
    c->sd = sqrt(square);
    if (c->n < 2)
        return err_named(err, ST_STATE, "no-rows", "fewer than two rows have counts and a target");
    return ST_OK;
}

static enum status cliffs_work(struct job *job, struct err *err)
{
    struct cliffs *c = job->arg;
    const double t0 = job_now();
    enum status rc = find_rows(c, err);

    if (isnan(c->difference))
        c->difference = c->sd;
    const struct alike_rows rows = { counts_of(&c->data->table->col[c->column]), c->row, c->n };
    const struct alike_ask ask = { .a = &rows, .least = c->similar, .keep = differs, .ctx = c,
                                   .pool = job->pool };
    if (rc == ST_OK)
        rc = alike_compare(&ask, &c->pairs, NULL, &job->ctl, err);
    if (rc == ST_OK)
        rc = order(c, err);
    c->seconds = job_now() - t0;
    return rc;
}

/* A row by a column of text, or its SMILES. */
static const char *name_of(const struct cliffs *c, size_t row)
{
    const struct table *t = c->data->table;
    const char *name = NULL;

    for (size_t j = 0; j < t->ncols && !name; j++)
        name = t->col[j].type == COL_TEXT ? column_word(&t->col[j], row) : NULL;
    return name ? name
           : smiles_column_is(&t->col[c->column]) ? column_word(&t->col[c->column], row) : "";
}

static void pair_record(const struct cliffs *c, const struct alike_pair *p, struct rec *r)
{
    const size_t a = c->row[p->a], b = c->row[p->b];
    const double more = target_at(c, p->b) - target_at(c, p->a);

    rec_item(r);
    rec_int(r, "row", (int64_t)a + 1);
    rec_int(r, "other", (int64_t)b + 1);
    rec_str(r, "name", name_of(c, a));
    rec_str(r, "other_name", name_of(c, b));
    rec_num(r, "similarity", p->similarity);
    rec_num(r, "difference", more);
    rec_num(r, "slope", slope(c, p));
    rec_num(r, "noise", c->noise / (1.0 - p->similarity));
    rec_close(r);
    rec_text(r, "\n  %9.4g  %10.3f  %10.4g  %6zu  %6zu  ", slope(c, p), p->similarity, more, a + 1,
             b + 1);
    text_safe(&r->text, name_of(c, a), SHOWN);
    rec_text(r, " / ");
    text_safe(&r->text, name_of(c, b), SHOWN);
}

static void cliffs_tell(struct workspace *ws, const struct cliffs *c)
{
    const struct table *t = c->data->table;
    struct rec r;

    rec_init(&r, REC_RESULT, "cliffs");
    rec_str(&r, "dataset", c->data->name);
    rec_str(&r, "column", t->col[c->column].name);
    rec_str(&r, "target", t->col[c->target].name);
    rec_int(&r, "rows", (int64_t)c->n);
    rec_num(&r, "similar", c->similar);
    rec_num(&r, "difference", c->difference);
    rec_int(&r, "pairs", (int64_t)c->pairs.alike);
    rec_int(&r, "equal", (int64_t)c->pairs.equal);
    rec_int(&r, "equal_differ", (int64_t)c->equal_differ);
    rec_int(&r, "found", (int64_t)c->pairs.n);
    rec_int(&r, "molecules", (int64_t)c->molecules);
    rec_num(&r, "noise", c->noise);
    rec_text(&r,
             "%zu of %zu pairs of rows that are at least %.3g alike differ by %.4g or more: %zu "
             "rows", c->pairs.n, c->pairs.alike - c->pairs.equal, c->similar, c->difference,
             c->molecules);
    if (c->pairs.n)
        rec_text(&r, "\n  %9s  %10s  %10s  %6s  %6s", "slope", "similarity", "difference", "row",
                 "other");
    rec_array(&r, "cliffs");
    for (size_t k = 0; k < c->pairs.n && k < c->count; k++)
        pair_record(c, &c->pairs.at[k], &r);
    rec_array_close(&r);
    rec_num(&r, "seconds", c->seconds);
    if (c->pairs.n)
        rec_text(&r, "\n  slope: |difference| over 1 - similarity, the steepest first");
    if (isfinite(c->noise))
        rec_text(&r, "\n  by the noise of %s two measurements of one row differ by %.3g (sd)",
                 c->run, c->noise);
    if (c->pairs.equal)
        rec_text(&r, "\n  apart: %zu pairs have equal counts; %zu of them differ so much",
                 c->pairs.equal, c->equal_differ);
    ws_emit(ws, &r);
}

static void cliffs_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    if (rc == ST_CANCELLED)
        ws_note(ws, "stopped", "the pairs were not compared to the end");
    else if (rc != ST_OK)
        ws_error(ws, err, job->line);
    else
        cliffs_tell(ws, job->arg);
}

/* The column that is named, or the input with counts. */
static enum status find_column(const struct dataset *d, const char *name, size_t *j,
                               struct err *err)
{
    const struct table *t = d->table;
    char word[64];

    *j = name ? table_find(t, name) : 0;
    if (name && *j == SIZE_MAX)
        return dataset_find_column(t, name, err);
    while (!name && *j < t->ncols && (d->role[*j] != ROLE_INPUT ||
                                      !(kind_of(&t->col[*j])->rows & ROWS_COUNTS)))
        ++*j;
    if (*j < t->ncols && kind_of(&t->col[*j])->rows & ROWS_COUNTS)
        return ST_OK;
    if (name)
        err_named(err, ST_STATE, "counts", "column %s holds no counts and no molecules",
                  text_quoted(name, word, sizeof word));
    else
        err_named(err, ST_STATE, "counts", "no input holds counts or molecules");
    err_hint(err, "cols NAME type=smiles  |  cols NAME type=counts");
    return ST_STATE;
}

/* The noise of the last fit of this target, as the sd of a difference. */
static void find_noise(struct workspace *ws, struct cliffs *c)
{
    const struct run *r = *ws->last_fit ? ws_run(ws, ws->last_fit, NULL) : NULL;
    const char *name = c->data->table->col[c->target].name;

    c->noise = NAN;
    if (!r || !r->model || r->enc.yscale == Y_LOG || !r->enc.target ||
        strcmp(r->enc.target, name) != 0)
        return;
    c->noise = sqrt(2.0) * r->info.noise * r->enc.ysd;
    snprintf(c->run, sizeof c->run, "%s", r->id);
}

enum status cliffs_start(struct workspace *ws, const struct dataset *d,
                         const struct cliffs_opts *o, const char *line, struct err *err)
{
    static const struct job_ops ops = { "cliffs", cliffs_work, cliffs_done, NULL, cliffs_free };
    size_t column;
    enum status rc = find_column(d, o->column, &column, err);

    if (rc == ST_OK && (dataset_target(d) == SIZE_MAX ||
                        d->table->col[dataset_target(d)].type != COL_REAL)) {
        rc = err_named(err, ST_STATE, "no-target", "cliffs need a target of numbers");
        err_hint(err, "cols NAME role=target");
    }
    if (rc != ST_OK)
        return rc;
    struct cliffs *c = mem_calloc(1, sizeof *c, "a job", err);
    if (!c)
        return ST_NOMEM;
    *c = (struct cliffs){ .data = dataset_snapshot(d, err), .column = column,
                          .target = dataset_target(d), .count = o->count, .similar = o->similar,
                          .difference = o->difference };
    if (!c->data) {
        free(c);
        return ST_NOMEM;
    }
    find_noise(ws, c);
    return ws_submit(ws, &ops, "cliffs", c, line, err);
}
