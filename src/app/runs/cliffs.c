/* app/runs/cliffs.c -- see cliffs.h.  All pairs are compared in tiles (alike.h); those that differ
 * by the threshold are kept, and ordered by |difference| over 1 - similarity, the slope between the
 * two rows.  Pairs that the counts cannot tell apart have no slope and are counted apart. */
#include "app/runs/cliffs.h"

#include "app/core/job.h"
#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/alike.h"
#include "app/runs/molecules/molecule_list.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles_column.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of pairs that are no cliffs a plot draws a sample: at most so many are kept. */
enum { SHOWN = 28, LABELLED = 4, LABEL = 14, OTHERS_MOST = 4000, OTHERS_TRIED = 2000000 };
enum { CLIFFS = 18 }; /* which draws of the purpose RNG_SAMPLE these are */

struct cliffs {
    struct dataset *data;
    size_t column, target, count;
    double similar, difference, sd;
    double noise;    /* sd of the difference of two measurements, by the last fit; NaN: unknown */
    char run[16];    /* this fit; "": none */
    size_t *row, n;  /* rows with counts and a target */
    struct alike_pairs pairs; /* those that have a slope */
    /* Alike pairs that differ less: a sample, one of `every`; last those of equal counts that
     * differ as much. */
    struct alike_pair *other;
    size_t nother, nequal;
    uint64_t every;
    size_t equal_differ, molecules;
    double seconds;
};

void cliffs_free(struct cliffs *c)
{
    if (!c)
        return;
    dataset_unref(c->data);
    free(c->row);
    free(c->pairs.at);
    free(c->other);
    free(c);
}

static void job_free(struct job *job)
{
    cliffs_free(job->arg);
    job->arg = NULL;
}

static double target_at(const struct cliffs *c, size_t i)
{
    return column_at(&c->data->table->col[c->target], c->row[i]);
}

static bool differs(const struct cliffs *c, size_t a, size_t b)
{
    return fabs(target_at(c, a) - target_at(c, b)) >= c->difference;
}

/* Keeps what differs, and of the others one of `every` for the plot. */
static bool keeps(const void *ctx, size_t a, size_t b, double similarity)
{
    const struct cliffs *c = ctx;

    (void)similarity;
    return differs(c, a, b) || rng_u64(0, rng_stream(RNG_SAMPLE, CLIFFS), a * c->n + b) %
                                       c->every == 0;
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

/* Takes what is no cliff out of the pairs: equal counts, which have no slope, and a sample of those
 * that differ less, thinned to what a plot shows. */
static void set_apart(struct cliffs *c, struct sloped *s, size_t *n)
{
    size_t less = 0, k = 0;

    for (size_t i = 0; i < c->pairs.n; i++)
        less += !differs(c, c->pairs.at[i].a, c->pairs.at[i].b);
    const size_t step = 1 + less / OTHERS_MOST;
    c->every *= step;
    for (size_t i = 0; i < c->pairs.n; i++)
        if (!differs(c, c->pairs.at[i].a, c->pairs.at[i].b) && k++ % step == 0)
            c->other[c->nother++] = c->pairs.at[i];
    for (size_t i = 0; i < c->pairs.n; i++) {
        const struct alike_pair *p = &c->pairs.at[i];
        if (!differs(c, p->a, p->b))
            continue;
        if (p->similarity < 1.0)
            s[(*n)++] = (struct sloped){ *p, slope(c, p) };
        else if (c->equal_differ++ < OTHERS_MOST)
            c->other[c->nother + c->nequal++] = *p;
    }
}

/* Leaves the pairs with a slope, the steepest first, and counts the others and the rows. */
static enum status order(struct cliffs *c, struct err *err)
{
    struct sloped *s = mem_calloc(c->pairs.n + 1, sizeof *s, "pairs", err);
    bool *in = s ? mem_calloc(c->n + 1, sizeof *in, "rows", err) : NULL;
    size_t n = 0;

    c->other = in ? mem_calloc(c->pairs.n + 1, sizeof *c->other, "pairs", err) : NULL;
    const bool good = c->other != NULL;
    if (good) {
        set_apart(c, s, &n);
        qsort(s, n, sizeof *s, by_slope);
    }
    for (size_t k = 0; good && k < n; k++) {
        c->pairs.at[k] = s[k].pair;
        c->molecules += !in[s[k].pair.a];
        in[s[k].pair.a] = true;
        c->molecules += !in[s[k].pair.b];
        in[s[k].pair.b] = true;
    }
    c->pairs.n = n;
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

static enum status compare(struct cliffs *c, struct job *job, struct err *err)
{
    const double t0 = job_now();
    enum status rc = find_rows(c, err);

    if (isnan(c->difference))
        c->difference = c->sd;
    const struct alike_rows rows = { counts_of(&c->data->table->col[c->column]), c->row, c->n };
    const struct alike_ask ask = { .a = &rows, .least = c->similar, .keep = keeps, .ctx = c,
                                   .pool = job->pool };
    c->every = 1 + (uint64_t)c->n * c->n / 2 / OTHERS_TRIED;
    if (rc == ST_OK)
        rc = alike_compare(&ask, &c->pairs, NULL, &job->ctl, err);
    if (rc == ST_OK)
        rc = order(c, err);
    c->seconds = job_now() - t0;
    return rc;
}

static enum status cliffs_work(struct job *job, struct err *err)
{
    return compare(job->arg, job, err);
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

/* "before NAME / NAME", if the rows have names. */
static void both_names(const struct cliffs *c, size_t a, size_t b, const char *before, size_t most,
                       struct buf *out)
{
    if (!*name_of(c, a) && !*name_of(c, b))
        return;
    buf_puts(out, before);
    text_safe(out, name_of(c, a), most);
    buf_puts(out, " / ");
    text_safe(out, name_of(c, b), most);
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
    both_names(c, a, b, "", SHOWN, &r->text);
}

/* The plot. */

/* Adds pairs as points; `group` (NULL: none) is the class of each. */
static struct series *add_pairs(const struct cliffs *c, struct figure *f, const char *title,
                                const struct alike_pair *p, size_t n, struct err *err)
{
    double *x = mem_calloc(2 * n + 1, sizeof *x, "plot", err), *y = x ? x + n : NULL;

    for (size_t k = 0; x && k < n; k++) {
        x[k] = 1.0 - p[k].similarity;
        y[k] = fabs(target_at(c, p[k].a) - target_at(c, p[k].b));
    }
    struct series *s = x ? figure_add(f, title, MARK_POINTS, n, x, y, err) : NULL;
    free(x);
    return s;
}

/* The steepest pairs, each with a name of its own in the key. */
static bool add_labelled(const struct cliffs *c, struct figure *f, size_t n, struct err *err)
{
    static const int each[LABELLED] = { 0, 1, 2, 3 };
    struct series *s = add_pairs(c, f, "", c->pairs.at, n, err);
    struct buf names = { 0 };

    for (size_t k = 0; s && k < n; k++) {
        const size_t a = c->row[c->pairs.at[k].a], b = c->row[c->pairs.at[k].b];
        buf_printf(&names, "%srows %zu, %zu", k ? "\n" : "", a + 1, b + 1);
        both_names(c, a, b, ": ", LABEL, &names);
    }
    if (s)
        s->foremost = true;
    const bool good = s && !names.failed && figure_classes(s, each, err) == ST_OK &&
                      figure_class_names(s, buf_str(&names), err) == ST_OK;
    buf_free(&names);
    return good;
}

static bool add_lines(const struct cliffs *c, struct figure *f, struct err *err)
{
    struct buf name = { 0 };
    struct series *s = figure_add_hline(f, "from here on a cliff", c->difference, err);

    if (s)
        s->faint = true;
    buf_printf(&name, "noise of %s (sd of a difference)", c->run);
    if (s && isfinite(c->noise)) {
        s = figure_add_hline(f, buf_str(&name), c->noise, err);
        if (s)
            s->dashed = true;
    }
    buf_free(&name);
    return s != NULL;
}

static struct figure *cliffs_draw(const void *work, struct err *err)
{
    const struct cliffs *c = work;
    const size_t some = c->pairs.n < LABELLED ? c->pairs.n : LABELLED;
    struct figure *f = figure_new("cliffs", "Alike pairs with different targets", err);
    struct buf y = { 0 }, others = { 0 };

    buf_puts(&y, "|difference| of ");
    text_safe(&y, c->data->table->col[c->target].name, 32);
    buf_puts(&others, "other alike pairs");
    if (c->every > 1)
        buf_printf(&others, " (1 of %llu)", (unsigned long long)c->every);
    bool ok = f && figure_label(f, "1 - similarity", buf_str(&y), err) == ST_OK;
    if (ok && c->nother)
        ok = add_pairs(c, f, buf_str(&others), c->other, c->nother, err) != NULL;
    if (ok && c->nequal)
        ok = add_pairs(c, f, "equal counts", c->other + c->nother, c->nequal, err) != NULL;
    if (ok && c->pairs.n > some)
        ok = add_pairs(c, f, "cliffs", c->pairs.at + some, c->pairs.n - some, err) != NULL;
    if (ok && some)
        ok = add_labelled(c, f, some, err);
    if (ok && (c->pairs.n || c->nother || c->nequal))
        ok = add_lines(c, f, err);
    else if (ok)
        ok = (f->reason = mem_strdup("No pairs are so alike. try: cliffs similar=0.5", err));
    if (ok)
        ok = figure_verdict(f, err, "%zu of %zu alike pairs differ by %.4g or more: %zu rows%s",
                            c->pairs.n, c->pairs.alike - c->pairs.equal, c->difference,
                            c->molecules,
                            !isfinite(c->noise) ? ""
                            : c->noise < c->difference
                                ? "; the noise of the fit alone does not explain them"
                                : "; the noise of the fit is as large") == ST_OK;
    buf_free(&y);
    buf_free(&others);
    if (!ok) {
        figure_free(f);
        return NULL;
    }
    f->y.lo = 0.0;
    f->x.lo = 0.0;
    return f;
}

struct figure *cliffs_figure(struct cliffs *c, struct job *job, struct err *err)
{
    return compare(c, job, err) == ST_OK ? cliffs_draw(c, err) : NULL;
}

/* The record. */

/* The pairs for plot molecules: two beside each other. */
static void cliffs_pictured(struct workspace *ws, const struct cliffs *c)
{
    const struct column *col = &c->data->table->col[c->column];
    struct molecule_list *l =
        smiles_column_is(col) && c->pairs.n
            ? molecule_list_new("cliffs", "Cliffs: alike molecules with different targets",
                                "similarity", true, NULL) : NULL;
    bool ok = l != NULL;

    for (size_t k = 0; ok && k < c->pairs.n && k < c->count; k++) {
        const struct alike_pair *p = &c->pairs.at[k];
        const size_t two[2] = { c->row[p->a], c->row[p->b] };
        for (size_t i = 0; ok && i < 2; i++) {
            char head[MOLECULE_LIST_HEAD], value[48], like[64] = "";
            const double y = target_at(c, i ? p->b : p->a);
            molecule_list_head(c->data->table, two[i], c->column, head);
            snprintf(value, sizeof value, "target %.4g", y);
            if (i)
                snprintf(like, sizeof like, "similarity %.3f, slope %.3g", p->similarity,
                         slope(c, p));
            const struct molecule_item item = { smiles_column_of(col)->text[two[i]],
                                                { head, value, like }, p->similarity };
            ok = molecule_list_add(l, &item, NULL) == ST_OK;
        }
    }
    if (ok)
        molecule_list_keep(ws, l);
    else
        molecule_list_free(l);
}

static void cliffs_tell(struct workspace *ws, const void *work)
{
    const struct cliffs *c = work;
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
    cliffs_pictured(ws, c);
}

static void cliffs_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    static const struct kept_end end = { .verb = "cliffs", .view = "cliffs", .draw = cliffs_draw,
                                         .tell = cliffs_tell };
    kept_job_done(ws, job, rc, err, &end, "");
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

struct cliffs *cliffs_new(struct workspace *ws, const struct dataset *d,
                          const struct cliffs_opts *o, struct err *err)
{
    size_t column;
    enum status rc = find_column(d, o->column, &column, err);

    if (rc == ST_OK && (dataset_target(d) == SIZE_MAX ||
                        d->table->col[dataset_target(d)].type != COL_REAL)) {
        rc = err_named(err, ST_STATE, "no-target", "cliffs need a target of numbers");
        err_hint(err, "cols NAME role=target");
    }
    struct cliffs *c = rc == ST_OK ? mem_calloc(1, sizeof *c, "a job", err) : NULL;
    if (!c)
        return NULL;
    *c = (struct cliffs){ .data = dataset_snapshot(d, err), .column = column,
                          .target = dataset_target(d), .count = o->count, .similar = o->similar,
                          .difference = o->difference };
    if (!c->data) {
        free(c);
        return NULL;
    }
    find_noise(ws, c);
    return c;
}

enum status cliffs_start(struct workspace *ws, const struct dataset *d,
                         const struct cliffs_opts *o, const char *line, struct err *err)
{
    static const struct job_ops ops = { "cliffs", cliffs_work, cliffs_done, NULL, job_free };
    struct cliffs *c = cliffs_new(ws, d, o, err);

    return c ? ws_submit(ws, &ops, "cliffs", c, line, err) : err->code;
}
