/* app/runs/effects_run.c -- see effects_run.h. */
#include "app/runs/effects_run.h"

#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/effects_draw.h"
#include "app/runs/scoring/scoring.h"
#include "app/shell/args.h"
#include "app/shell/text_table.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "data/calendar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words. */

static enum status add(struct effects_run *w, size_t a, size_t b, struct err *err)
{
    const bool pair = b != SIZE_MAX;

    for (size_t i = 0; !pair && i < w->n; i++)
        if (w->of[i].c == a)
            return ST_OK;
    if (pair) {
        const enum status rc = mem_grow((void **)&w->pair, &w->pairs_room, w->pairs + 1,
                                        sizeof *w->pair, "pairs", err);
        if (rc == ST_OK)
            w->pair[w->pairs++] = (struct effects_pair){ .a = a, .b = b };
        return rc;
    }
    const enum status rc =
        mem_grow((void **)&w->of, &w->room, w->n + 1, sizeof *w->of, "columns", err);
    if (rc == ST_OK)
        w->of[w->n++] = (struct effect){ .c = a };
    return rc;
}

/* A sequence cannot be set to a value. */
static enum status check_moves(const struct effects_run *w, size_t c, struct err *err)
{
    if (w->m.col[c].kind != MOVABLE_OTHER)
        return ST_OK;
    err_set(err, ST_UNSUPPORTED,
            "effects move numbers and categories, and %.60s has neither", w->m.col[c].name);
    err_hint(err, "explain-row row:1 changes each letter or node of a row");
    return ST_UNSUPPORTED;
}

/* "x1*x3" where both are columns. */
static bool is_pair(const struct movable *m, const char *word, size_t *a, size_t *b)
{
    for (const char *p = strchr(word, '*'); p; p = strchr(p + 1, '*')) {
        char *first = strndup(word, (size_t)(p - word));
        *a = first ? movable_find(m, first) : SIZE_MAX;
        *b = movable_find(m, p + 1);
        free(first);
        if (*a != SIZE_MAX && *b != SIZE_MAX)
            return true;
    }
    return false;
}

/* Patterns and lists, by the names in the table. */
static enum status add_list(struct effects_run *w, const char *word, struct err *err)
{
    const struct table *t = w->m.data->table;
    bool *in = mem_calloc(t->ncols, sizeof *in, "columns", err), any = false;
    enum status rc = in ? dataset_select(t, word, in, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++) {
        const size_t c = in[j] ? movable_find(&w->m, t->col[j].name) : SIZE_MAX;
        if (c == SIZE_MAX)
            continue;
        any = true;
        rc = check_moves(w, c, err);
        if (rc == ST_OK)
            rc = add(w, c, SIZE_MAX, err);
    }
    free(in);
    return rc == ST_OK && !any ? movable_unknown(&w->m, word, err) : rc;
}

static enum status add_word(struct effects_run *w, const char *word, struct err *err)
{
    const size_t c = movable_find(&w->m, word);
    size_t a, b;
    enum status rc;

    if (c != SIZE_MAX) {
        rc = check_moves(w, c, err);
        return rc == ST_OK ? add(w, c, SIZE_MAX, err) : rc;
    }
    if (!is_pair(&w->m, word, &a, &b))
        return add_list(w, word, err);
    rc = check_moves(w, a, err);
    if (rc == ST_OK)
        rc = check_moves(w, b, err);
    if (rc == ST_OK && a == b)
        rc = err_set(err, ST_USAGE, "%.60s is one column: a pair has two", word);
    return rc == ST_OK ? add(w, a, b, err) : rc;
}

static enum status add_all(struct effects_run *w, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < w->m.ncol; c++)
        if (w->m.col[c].kind == MOVABLE_OTHER)
            w->skipped++;
        else
            rc = add(w, c, SIZE_MAX, err);
    return rc == ST_OK && w->n == 0 && w->m.ncol ? check_moves(w, 0, err) : rc;
}

/* A word of the line: several names, pairs and patterns with commas between them. */
static enum status add_words(struct effects_run *w, const char *word, struct err *err)
{
    enum status rc = ST_OK;

    if (movable_find(&w->m, word) != SIZE_MAX) /* the name itself has a comma */
        return add_word(w, word, err);
    for (const char *p = word; rc == ST_OK && *p;) {
        const size_t n = text_span(p, ",");
        char *one = strndup(p, n);
        rc = one ? add_word(w, one, err) : err_nomem(err, n, "a name");
        free(one);
        p += n + (p[n] == ',');
    }
    return rc;
}

enum status effects_run_words(struct workspace *ws, const struct args *a, const char *key,
                              struct run **r, const char ***word, size_t *words, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, NULL);
    const size_t n = args_many(a, key);
    const char *name = NULL;

    *words = 0;
    *word = mem_calloc(n + 1, sizeof **word, "words", err);
    if (!*word)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *s = args_many_at(a, key, i);
        if (!name && args_looks_like_run(s) && (!d || table_find(d->table, s) == SIZE_MAX))
            name = s;
        else
            (*word)[(*words)++] = s;
    }
    *r = ws_run(ws, name, err);
    if (*r)
        return ST_OK;
    free(*word);
    *word = NULL;
    return err->code;
}

struct effects_run *effects_run_new(const struct run *r, const struct effects_opts *o,
                                    struct err *err)
{
    struct effects_run *w = mem_calloc(1, sizeof *w, "job", err);
    enum status rc = w ? movable_take(&w->m, r, o->target, false, err) : ST_NOMEM;

    if (rc == ST_OK) {
        w->variance = r->fit.variance != VAR_NONE;
        w->rows = o->rows;
        w->top = o->top;
        w->out = o->out ? mem_strdup(o->out, err) : NULL;
        rc = o->out && !w->out ? ST_NOMEM : ST_OK;
    }
    bool all = o->words == 0;
    for (size_t i = 0; rc == ST_OK && i < o->words; i++)
        if (!strcmp(o->word[i], "all") && movable_find(&w->m, "all") == SIZE_MAX)
            all = true;
        else
            rc = add_words(w, o->word[i], err);
    if (rc == ST_OK && all)
        rc = add_all(w, err);
    if (rc == ST_OK)
        return w;
    effects_run_free(w);
    return NULL;
}

void effects_run_free(void *work)
{
    struct effects_run *w = work;

    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++) {
        free(w->of[i].row);
        free(w->of[i].value);
    }
    for (size_t i = 0; i < w->pairs; i++) {
        free(w->pair[i].row);
        free(w->pair[i].z);
    }
    free(w->of);
    free(w->pair);
    free(w->out);
    movable_free(&w->m);
    free(w);
}

/* Places: rows of the training sample whose values a column takes. */

struct place { double v; size_t row; };

static int by_value(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->v != y->v ? (x->v > y->v) - (x->v < y->v) : (x->row > y->row) - (x->row < y->row);
}

static int by_count(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->v != y->v ? (x->v < y->v) - (x->v > y->v) : (x->row > y->row) - (x->row < y->row);
}

/* The cells of column c among the training rows, in order; the levels of a category as numbers. */
static struct place *cells_of(const struct movable *m, size_t c, size_t *n, struct err *err)
{
    const struct column *col = &m->data->table->col[m->col[c].at];
    const struct encoded *e = &m->train.e;
    struct place *p = mem_calloc(e->n, sizeof *p, "values", err);

    *n = 0;
    for (size_t i = 0; p && i < e->n; i++)
        if (!column_missing(col, e->row[i]))
            p[(*n)++] = (struct place){ m->col[c].kind == MOVABLE_NUMBER
                                            ? column_at(col, e->row[i])
                                            : (double)col->code[e->row[i]],
                                        i };
    if (p)
        qsort(p, *n, sizeof *p, by_value);
    return p;
}

/* Leaves each value once; for levels, v then is how many rows have it, most first. */
static size_t each_once(struct place *p, size_t n, bool count)
{
    size_t k = 0;

    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && p[j].v == p[i].v; j++)
            continue;
        p[k++] = (struct place){ count ? (double)(j - i) : p[i].v, p[i].row };
    }
    if (count)
        qsort(p, k, sizeof *p, by_count);
    return k;
}

/* Chooses at most `most` places of column c: all values if they are few, otherwise quantiles from
 * 1 to 99 %; of levels the most frequent. *row (the caller frees it): rows of the training
 * sample. */
static enum status choose_places(const struct movable *m, size_t c, size_t most, size_t **row,
                                 size_t *n, struct err *err)
{
    const bool number = m->col[c].kind == MOVABLE_NUMBER;
    size_t cells, k = 0;
    struct place *p = cells_of(m, c, &cells, err), *once = NULL;

    *row = p ? mem_calloc(most, sizeof **row, "places", err) : NULL;
    if (*row)
        once = mem_calloc(cells + 1, sizeof *once, "values", err);
    if (!once) {
        free(p);
        return ST_NOMEM;
    }
    if (cells)
        memcpy(once, p, cells * sizeof *once);
    const size_t distinct = each_once(once, cells, !number);
    if (distinct <= most || !number)
        for (; k < distinct && k < most; k++)
            (*row)[k] = once[k].row;
    for (size_t i = 0; distinct > most && number && i < most; i++) {
        const double q = 0.01 + 0.98 * (double)i / (double)(most - 1);
        const struct place *at = &p[(size_t)lround(q * (double)(cells - 1))];
        if (i == 0 || at->v > p[(*n)].v) {
            (*row)[k++] = at->row;
            *n = (size_t)(at - p);
        }
    }
    free(p);
    free(once);
    *n = k;
    return k ? ST_OK
             : err_set(err, ST_STATE, "column %.60s is empty in the training rows",
                       m->col[c].name);
}

/* Rows of d inputs from rows of the training sample, whose sequences may have other lengths. */
static void donor(const struct movable *m, size_t row, size_t d, double *x)
{
    const size_t n = m->enc.ncol < d ? m->enc.ncol : d;

    memcpy(x, m->train.x + row * m->train.e.base.d, n * sizeof *x);
}

/* Effects. */

static int by_double(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* From the predictions at one place and the variance of their average to the values of
 * effects_draw.h, in units of the target. */
static void place_values(const struct movable *m, double *each, size_t n, double var, double *v)
{
    const double two_sides = reach_at(NULL, 0.95); /* an average of the function, not a value */
    const struct encoding one = encoding_for(&m->enc, m->target);
    double mean = 0.0;

    for (size_t i = 0; i < n; i++)
        mean += each[i] / (double)n;
    qsort(each, n, sizeof *each, by_double);
    v[EFFECT_MEAN] = encoding_value(&one, mean);
    v[EFFECT_LO] = encoding_value(&one, mean - two_sides * sqrt(var));
    v[EFFECT_HI] = encoding_value(&one, mean + two_sides * sqrt(var));
    v[EFFECT_SD] = (v[EFFECT_HI] - v[EFFECT_LO]) / (2.0 * two_sides);
    v[EFFECT_P10] = encoding_value(&one, each[(size_t)(0.1 * (double)(n - 1))]);
    v[EFFECT_P90] = encoding_value(&one, each[(size_t)ceil(0.9 * (double)(n - 1))]);
}

static enum status one_effect(struct effects_run *w, struct effect *f,
                              const struct effects_ask *q, struct err *err)
{
    const size_t d = q->rows.like->d, n = q->rows.n,
                 most = w->m.col[f->c].kind == MOVABLE_NUMBER ? EFFECTS_PLACES : EFFECTS_LEVELS;
    enum status rc = choose_places(&w->m, f->c, most, &f->row, &f->n, err);
    if (rc != ST_OK)
        return rc;
    bool *mask = movable_mask(&w->m, f->c, d, err);
    double *x = mem_calloc(f->n * (d + n + 1), sizeof *x, "effects", err),
           *each = x ? x + f->n * d : NULL, *var = x ? each + f->n * n : NULL;
    size_t *from = mem_calloc(f->n, sizeof *from, "places", err);
    f->value = mem_calloc(f->n * EFFECT_VALUES, sizeof *f->value, "effects", err);
    rc = mask && x && from && f->value ? ST_OK : ST_NOMEM;
    for (size_t p = 0; rc == ST_OK && p < f->n; p++) {
        from[p] = p;
        donor(&w->m, f->row[p], d, x + p * d);
    }
    if (rc == ST_OK)
        rc = effects_curve(q, mask, x, from, f->n, each, w->bands ? var : NULL, err);
    for (size_t p = 0; rc == ST_OK && p < f->n; p++) {
        double *v = f->value + p * EFFECT_VALUES;
        const struct column *col = &w->m.data->table->col[w->m.col[f->c].at];
        place_values(&w->m, each + p * n, n, w->bands ? var[p] : (double)NAN, v);
        v[EFFECT_AT] = w->m.col[f->c].kind == MOVABLE_NUMBER
                           ? column_at(col, w->m.train.e.row[f->row[p]])
                           : (double)p;
        f->low = v[EFFECT_MEAN] < f->value[f->low * EFFECT_VALUES + EFFECT_MEAN] ? p : f->low;
        f->high = v[EFFECT_MEAN] > f->value[f->high * EFFECT_VALUES + EFFECT_MEAN] ? p : f->high;
    }
    free(mask);
    free(x);
    free(from);
    return rc;
}

/* Pairs. */

/* Donors that have the first column of one row and the second of another. */
static enum status pair_donors(const struct effects_run *w, const struct effects_pair *p,
                               size_t d, bool *mask, double *x, struct err *err)
{
    bool *second = movable_mask(&w->m, p->b, d, err);
    double *own = second ? mem_calloc(d, sizeof *own, "effects", err) : NULL;

    for (size_t r = 0; own && r < p->na * p->nb; r++) {
        donor(&w->m, p->row[r % p->na], d, x + r * d);
        donor(&w->m, p->row[p->na + r / p->na], d, own);
        for (size_t j = 0; j < d; j++)
            x[r * d + j] = second[j] ? own[j] : x[r * d + j];
    }
    for (size_t j = 0; own && j < d; j++)
        mask[j] |= second[j];
    free(second);
    const bool ok = own != NULL;
    free(own);
    return ok ? ST_OK : ST_NOMEM;
}

static enum status pair_places(const struct effects_run *w, struct effects_pair *p, struct err *err)
{
    size_t *b = NULL;
    enum status rc = choose_places(&w->m, p->a, EFFECTS_GRID, &p->row, &p->na, err);

    if (rc == ST_OK)
        rc = choose_places(&w->m, p->b, EFFECTS_GRID, &b, &p->nb, err);
    if (rc == ST_OK) {
        size_t *both = mem_calloc(p->na + p->nb, sizeof *both, "places", err);
        if (both) {
            memcpy(both, p->row, p->na * sizeof *both);
            memcpy(both + p->na, b, p->nb * sizeof *both);
        }
        free(p->row);
        p->row = both;
        rc = both ? ST_OK : ST_NOMEM;
    }
    free(b);
    return rc;
}

static enum status one_pair(struct effects_run *w, struct effects_pair *p,
                            const struct effects_ask *q, struct err *err)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    const size_t d = q->rows.like->d, n = q->rows.n;
    struct interaction measured;
    enum status rc = pair_places(w, p, err);
    if (rc != ST_OK)
        return rc;
    const size_t cells = p->na * p->nb;
    bool *mask = movable_mask(&w->m, p->a, d, err);
    double *x = mem_calloc(cells * (d + n), sizeof *x, "effects", err),
           *each = x ? x + cells * d : NULL;
    size_t *from = mem_calloc(cells, sizeof *from, "places", err);
    p->z = mem_calloc(cells, sizeof *p->z, "effects", err);
    rc = mask && x && from && p->z ? pair_donors(w, p, d, mask, x, err) : ST_NOMEM;
    for (size_t r = 0; rc == ST_OK && r < cells; r++)
        from[r] = r;
    if (rc == ST_OK)
        rc = effects_curve(q, mask, x, from, cells, each, NULL, err);
    for (size_t r = 0; rc == ST_OK && r < cells; r++) {
        double mean = 0.0;
        for (size_t i = 0; i < n; i++)
            mean += each[r * n + i] / (double)n;
        p->z[r] = encoding_value(&one, mean);
    }
    if (rc == ST_OK)
        rc = interactions_measure(&w->m, 2, (const size_t[]){ p->a, p->b }, &measured, q, err);
    if (rc == ST_OK)
        p->h = measured.h;
    free(mask);
    free(x);
    free(from);
    return rc;
}

/* The job. */

static int by_range(const void *a, const void *b)
{
    const double x = effects_draw_range(a), y = effects_draw_range(b);
    const size_t c = ((const struct effect *)a)->c, d = ((const struct effect *)b)->c;

    return x != y ? (x < y) - (x > y) : (c > d) - (c < d);
}

static enum status compute(struct effects_run *w, struct job *job, struct err *err)
{
    const struct tools on = { job->backend, job->pool, &job->ctl };
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    enum status rc = movable_sample(&w->m, w->rows, err);

    if (rc == ST_OK)
        rc = movable_donors(&w->m, SIZE_MAX, err);
    if (rc == ST_OK && w->variance) /* a session may keep the model without the factor */
        rc = scoring_factor(w->m.model, w->m.data, &w->m.enc, job, err);
    w->bands = w->m.model->L && w->m.model->kind->average;
    const size_t n = w->m.sample.e.n;
    double *all = rc == ST_OK ? mem_calloc(n * w->m.model->t, sizeof *all, "predictions", err)
                              : NULL;
    if (rc == ST_OK)
        rc = all ? model_predict(w->m.model, &w->m.sample.e.base, all, NULL, &on, err) : ST_NOMEM;
    double mean = 0.0;
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        mean += all[w->m.target * n + i] / (double)n;
    w->average = encoding_value(&one, mean);
    free(all);
    struct effects_steps steps = { 0 };
    struct effects_ask q = movable_ask(&w->m, &on);
    q.steps = &steps;
    steps.all = w->n * EFFECTS_PLACES * n +
                w->pairs * (EFFECTS_GRID * EFFECTS_GRID * n + interactions_predictions(n, 2));
    for (size_t i = 0; rc == ST_OK && i < w->n; i++) {
        steps.done = i * EFFECTS_PLACES * n; /* a column can have fewer or, of levels, more */
        rc = one_effect(w, &w->of[i], &q, err);
    }
    if (rc == ST_OK && w->n)
        qsort(w->of, w->n, sizeof *w->of, by_range);
    steps.done = w->n * EFFECTS_PLACES * n;
    for (size_t i = 0; rc == ST_OK && i < w->pairs; i++)
        rc = one_pair(w, &w->pair[i], &q, err);
    return rc;
}

struct figure *effects_run_figure(void *work, struct job *job, struct err *err)
{
    return compute(work, job, err) == ST_OK ? effects_draw(work, err) : NULL;
}

static enum status effects_work(struct job *job, struct err *err)
{
    return compute(job->arg, job, err);
}

static void effects_free(struct job *job)
{
    effects_run_free(job->arg);
    job->arg = NULL;
}

/* Reporting. */

/* The cells of a column at its places, as words. */
static void cells_json(const struct movable *m, size_t c, const size_t *row, size_t n,
                       const char *key, struct rec *rec)
{
    char *word[EFFECTS_LEVELS] = { NULL };

    for (size_t p = 0; p < n; p++) {
        struct buf b = { 0 };
        movable_cell(m, c, m->train.e.row[row[p]], &b);
        word[p] = buf_take(&b);
    }
    rec_strs(rec, key, (const char *const *)word, n);
    for (size_t p = 0; p < n; p++)
        free(word[p]);
}

static void effect_json(const struct effects_run *w, const struct effect *f, struct rec *rec)
{
    static const char *const key[EFFECT_VALUES] = { "value", "mean", "sd", "lo95", "hi95", "p10",
                                                    "p90" };
    const bool number = w->m.col[f->c].kind == MOVABLE_NUMBER;
    double v[EFFECTS_LEVELS];

    rec_item(rec);
    rec_str(rec, "column", w->m.col[f->c].name);
    rec_num(rec, "range", effects_draw_range(f));
    if (!number)
        cells_json(&w->m, f->c, f->row, f->n, "level", rec);
    for (size_t k = number ? 0 : 1; k < EFFECT_VALUES; k++) {
        for (size_t p = 0; p < f->n; p++)
            v[p] = f->value[p * EFFECT_VALUES + k];
        rec_nums(rec, key[k], v, f->n);
    }
    rec_close(rec);
}

static void pair_json(const struct effects_run *w, const struct effects_pair *p, struct rec *rec)
{
    rec_item(rec);
    rec_str(rec, "a", w->m.col[p->a].name);
    rec_str(rec, "b", w->m.col[p->b].name);
    rec_num(rec, "h", p->h);
    cells_json(&w->m, p->a, p->row, p->na, "at_a", rec);
    cells_json(&w->m, p->b, p->row + p->na, p->nb, "at_b", rec);
    rec_nums(rec, "mean", p->z, p->na * p->nb); /* rows of at_b, of na values each */
    rec_close(rec);
}

/* The value at a place, for the table. */
static void place_words(const struct effects_run *w, const struct effect *f, size_t p,
                        struct text_table *t)
{
    const struct movable_column *c = &w->m.col[f->c];
    const double at = f->value[p * EFFECT_VALUES + EFFECT_AT];
    struct buf b = { 0 };

    if (c->kind != MOVABLE_NUMBER)
        movable_cell(&w->m, f->c, w->m.train.e.row[f->row[p]], &b);
    else if (w->m.data->table->col[c->at].date)
        calendar_print(at, &b);
    else
        buf_printf(&b, "%.4g", at);
    text_table_cell(t, buf_str(&b), 16);
    buf_free(&b);
}

static void table(const struct effects_run *w, struct rec *rec)
{
    static const char *const head[] = { "  column", "range", "least", "at", "most", "at", "sd" };
    static const bool right[7] = { false, true, true, false, true, false, true };
    struct text_table t;

    text_table_init(&t, 7);
    for (size_t i = 0; i < 7; i++)
        text_table_cell(&t, head[i], 0);
    for (size_t i = 0; i < w->n && i < w->top; i++) {
        const struct effect *f = &w->of[i];
        struct buf name = { 0 };
        double sd = 0.0;
        buf_printf(&name, "  %s", w->m.col[f->c].name);
        text_table_cell(&t, buf_str(&name), 22);
        buf_free(&name);
        for (size_t p = 0; p < f->n; p++)
            sd = fmax(sd, f->value[p * EFFECT_VALUES + EFFECT_SD]);
        text_table_printf(&t, "%.4g", effects_draw_range(f));
        text_table_printf(&t, "%.4g", f->value[f->low * EFFECT_VALUES + EFFECT_MEAN]);
        place_words(w, f, f->low, &t);
        text_table_printf(&t, "%.4g", f->value[f->high * EFFECT_VALUES + EFFECT_MEAN]);
        place_words(w, f, f->high, &t);
        if (w->bands)
            text_table_printf(&t, "%.2g", sd);
        else
            text_table_cell(&t, "none", 0);
    }
    text_table_print(&t, right, &rec->text);
    text_table_free(&t);
    while (rec->text.len && rec->text.s[rec->text.len - 1] == '\n')
        rec->text.s[--rec->text.len] = '\0';
}

static void effects_record(struct workspace *ws, const struct effects_run *w)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    struct rec rec;
    struct buf rows = { 0 };

    rec_init(&rec, REC_RESULT, "effects");
    movable_words(&w->m, &rows);
    rec_str(&rec, "run", w->m.run);
    rec_str(&rec, "target", one.target);
    rec_str(&rec, "part", dataset_part_words[w->m.part]);
    rec_int(&rec, "rows", (int64_t)w->m.sample.e.n);
    rec_num(&rec, "average", w->average);
    rec_bool(&rec, "bands", w->bands);
    rec_text(&rec, "effects of %s on ", w->m.run);
    text_safe(&rec.text, one.target, 24);
    rec_text(&rec, ": average %.4g over %s", w->average, buf_str(&rows));
    buf_free(&rows);
    if (w->n > w->top)
        rec_text(&rec, ", %zu of %zu columns", w->top, w->n);
    rec_array(&rec, "columns");
    for (size_t i = 0; i < w->n; i++)
        effect_json(w, &w->of[i], &rec);
    rec_array_close(&rec);
    rec_array(&rec, "pairs");
    for (size_t i = 0; i < w->pairs; i++)
        pair_json(w, &w->pair[i], &rec);
    rec_array_close(&rec);
    rec_text(&rec, "\n");
    if (w->n)
        table(w, &rec);
    for (size_t i = 0; i < w->pairs && i < 3; i++) {
        rec_text(&rec, "%s  ", w->n || i ? "\n" : "");
        text_safe(&rec.text, w->m.col[w->pair[i].a].name, 24);
        rec_text(&rec, " * ");
        text_safe(&rec.text, w->m.col[w->pair[i].b].name, 24);
        rec_text(&rec, ": H %.3g (0: they add up, 1: only both together matter)",
                 w->pair[i].h);
    }
    ws_emit(ws, &rec);
}

/* Every value, one line for each place. */
static enum status effects_csv(const void *work, struct err *err)
{
    const struct effects_run *w = work;
    struct buf b = { 0 };

    buf_puts(&b, "column,value,mean,sd,lo95,hi95,p10,p90\n");
    for (size_t i = 0; i < w->n; i++)
        for (size_t p = 0; p < w->of[i].n; p++) {
            struct buf cell = { 0 };
            text_csv_guarded(&b, w->m.col[w->of[i].c].name);
            buf_putc(&b, ',');
            movable_cell(&w->m, w->of[i].c, w->m.train.e.row[w->of[i].row[p]], &cell);
            movable_csv(&w->m, w->of[i].c, buf_str(&cell), &b);
            buf_free(&cell);
            for (size_t k = 1; k < EFFECT_VALUES; k++) {
                const double v = w->of[i].value[p * EFFECT_VALUES + k];
                buf_puts(&b, ",");
                if (isfinite(v))
                    buf_printf(&b, "%.12g", v);
            }
            buf_putc(&b, '\n');
        }
    const enum status rc = b.failed ? err_nomem(err, b.len, "effects")
                                    : outfile_put(w->out, 0666, buf_str(&b), b.len, err);
    buf_free(&b);
    return rc;
}

static struct figure *effects_figure(const void *work, struct err *err)
{
    return effects_draw(work, err);
}

static void effects_tell(struct workspace *ws, const void *work)
{
    const struct effects_run *w = work;

    if (w->skipped)
        ws_note(ws, "sequence", "%zu column%s of sequences or nodes moved by no effect; "
                "explain-row row:1 changes them", w->skipped, w->skipped == 1 ? " is" : "s are");
    if (!w->bands)
        ws_note(ws, "no-variance", "%s has no factor for variances, so effects have no bands%s",
                w->m.run, w->m.model->kind->margin  ? ""
                          : w->m.model->kind->local ? " (fit model=features)"
                                                    : " (fit variance=auto)");
    effects_record(ws, w);
}

static void effects_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *why)
{
    const struct effects_run *w = job->arg;
    const struct kept_end end = { "effects", "effects", effects_figure,
                                  w->out ? effects_csv : NULL, effects_tell };

    kept_job_done(ws, job, rc, why, &end, w->m.run);
}

static const struct job_ops effects_ops = {
    .verb = "effects", .work = effects_work, .done = effects_done, .free = effects_free};

/* With variances every average takes as many features, or covariances, again; the exact kernel also
 * the covariances of the rows of each place among themselves. */
static void tell_cost(struct workspace *ws, const struct effects_run *w)
{
    const bool bands = w->variance && w->m.model->kind->average;
    const double rows = (double)w->rows, places = (double)w->n * EFFECTS_PLACES,
                 one = rows * places * (bands ? 2.0 : 1.0),
                 two = (double)w->pairs * (rows * EFFECTS_GRID * EFFECTS_GRID +
                                           (double)interactions_predictions(w->rows, 2));

    movable_tell_cost(ws, &w->m, one + two,
                      bands && !w->m.model->kind->draws ? rows * rows * places : 0.0, false);
}

enum status effects_run_start(struct workspace *ws, const struct run *r,
                              const struct effects_opts *o, const char *line, struct err *err)
{
    struct effects_run *w = effects_run_new(r, o, err);

    if (!w)
        return err_status(err);
    tell_cost(ws, w);
    return ws_submit(ws, &effects_ops, NULL, w, line, err);
}
