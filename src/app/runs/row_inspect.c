/* app/runs/row_inspect.c -- see row_inspect.h. */
#include "app/runs/row_inspect.h"

#include "app/runs/fitting.h"
#include "data/formats/import.h"
#include "app/core/job.h"
#include "data/kinds/nodes.h"
#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "app/runs/fit_setup.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/models/model.h"
#include "compute/stats/neighbours.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES_MOST = 2048, NAMED = 8, NAMED_POSITIONS = 60, SHOWN = 40 };

struct looking {
    struct fit_setup study;
    struct model *model;
    char run[16];
    size_t row, count, target;
    char *out; /* CSV; NULL: none */
    /* neighbours */
    struct neighbour *like;
    size_t n, features;
    /* explain: changes of the mean, choices x positions */
    double *change, mean, sd;
    size_t choices, positions, column;
    char choice[80];
    bool nodes;
    double seconds;
};

enum status row_inspect_number(const char *word, size_t *row, struct err *err)
{
    const char *p = strncmp(word, "row:", 4) == 0 ? word + 4 : word;
    char *end;
    const unsigned long v = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : 0;

    if (v == 0 || *end != '\0') {
        err_set(err, ST_USAGE, "%.40s: a row of the data by its number, from 1, as in row:123",
                word);
        return ST_USAGE;
    }
    *row = v - 1;
    return ST_OK;
}

static void looking_free(struct job *job)
{
    struct looking *w = job->arg;

    if (!w)
        return;
    fit_setup_free(&w->study);
    model_unref(w->model);
    free(w->like);
    free(w->change);
    free(w->out);
    free(w);
    job->arg = NULL;
}

static const struct table *table_of(const struct looking *w)
{
    return w->study.data->table;
}

/* What a row is called: a column of text, an id; "" without one. */
static const char *name_of(const struct looking *w, size_t row)
{
    const struct table *t = table_of(w);

    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].type == COL_TEXT && column_word(&t->col[j], row))
            return column_word(&t->col[j], row);
    return "";
}

/* Neighbours. */

/* Rows of the encoding as rows of the table, without the row itself. */
static void keep_others(struct looking *w)
{
    for (size_t i = 0; i < w->study.e.n; i++) {
        const size_t row = w->study.e.row[i];
        if (row == w->row)
            continue;
        w->like[w->n] = w->like[i];
        w->like[w->n++].row = row;
    }
    neighbours_sort(w->like, w->n);
}

static enum status neighbours_work(struct job *job, struct err *err)
{
    struct looking *w = job->arg;
    const double t0 = job_now();
    struct encoded own = { 0 };
    enum status rc = fit_setup_open(&w->study, err);

    if (rc == ST_OK)
        rc = encode(&w->study.enc, table_of(w), &w->row, 1, false, &own, err);
    if (rc == ST_OK && own.n == 0)
        rc = err_set(err, ST_STATE, "row %zu has missing cells and was left out", w->row + 1);
    const size_t least = rc == ST_OK ? featmap_least(&w->study.o.kernel, w->study.e.base.d) : 2;
    const size_t want = w->model->M < FEATURES_MOST && w->model->kind->draws
                            ? w->model->M
                            : FEATURES_MOST;
    w->features = (want > least ? want : least) / 2 * 2;
    if (rc == ST_OK) {
        w->like = mem_calloc(w->study.e.n + 1, sizeof *w->like, "neighbours", err);
        rc = w->like ? ST_OK : ST_NOMEM;
    }
    const struct neighbours_opts o = { .kernel = &w->study.o.kernel, .hp = w->model->hp,
                                       .features = w->features, .seed = w->model->seed,
                                       .backend = job->backend, .pool = job->pool };
    if (rc == ST_OK)
        rc = neighbours_measure(&o, &w->study.e.base, &own.base, w->like, &job->ctl, err);
    if (rc == ST_OK)
        keep_others(w);
    w->seconds = job_now() - t0;
    encode_free(&own);
    return rc;
}

/* The target of a row in its own units; NaN: none. */
static double target_of(const struct looking *w, size_t row)
{
    const struct encoding e = encoding_for(&w->study.enc, w->target);
    const size_t j = e.target ? table_find(table_of(w), e.target) : SIZE_MAX;

    return j != SIZE_MAX && table_of(w)->col[j].type == COL_REAL
               ? column_at(&table_of(w)->col[j], row)
               : (double)NAN;
}

/* A sequence of the row, as far as it fits. */
static void cell_words(const struct looking *w, size_t row, struct rec *rec)
{
    const struct table *t = table_of(w);

    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].type == COL_SEQUENCE && !t->col[j].seq->nodes &&
            w->study.data->role[j] == ROLE_INPUT && column_word(&t->col[j], row)) {
            rec_text(rec, "  %.*s%s", SHOWN, column_word(&t->col[j], row),
                     strlen(column_word(&t->col[j], row)) > SHOWN ? ".." : "");
            return;
        }
}

/* Where another row's sequence is not the row's own, as changes: E9K, and how many. */
static bool cell_changes(const struct looking *w, size_t row, struct rec *rec)
{
    const struct table *t = table_of(w);
    size_t j = 0, n, m, differ = 0;

    while (j < t->ncols && (t->col[j].type != COL_SEQUENCE || t->col[j].seq->nodes ||
                            w->study.data->role[j] != ROLE_INPUT))
        j++;
    if (j == t->ncols)
        return false;
    const char *own = sequence_at(t->col[j].seq, w->row, &n),
               *other = sequence_at(t->col[j].seq, row, &m);
    for (size_t i = 0; i < n && n == m; i++)
        differ += own[i] != other[i];
    if (n != m || 3 * differ > n) { /* no variant of it */
        cell_words(w, row, rec);
        return false;
    }
    rec_int(rec, "letters", (int64_t)differ);
    rec_text(rec, "  %zu:", differ);
    for (size_t i = 0, said = 0; i < n && said < 8; i++)
        if (own[i] != other[i])
            rec_text(rec, said++ == 7 ? " .." : " %c%zu%c", own[i], i + 1, other[i]);
    return true;
}

static void neighbours_record(struct workspace *ws, const struct looking *w)
{
    struct rec rec;

    rec_init(&rec, REC_RESULT, "neighbours");
    rec_str(&rec, "run", w->run);
    rec_int(&rec, "row", (int64_t)w->row + 1);
    rec_int(&rec, "features", (int64_t)w->features);
    rec_num(&rec, "target", target_of(w, w->row));
    rec_text(&rec, "row %zu %s  target %.6g", w->row + 1, name_of(w, w->row), target_of(w, w->row));
    cell_words(w, w->row, &rec);
    rec_text(&rec, "\n  %8s  %10s  %10s  %10s", "row", "similarity", "distance", "target");
    bool changes = false;
    rec_array(&rec, "neighbours");
    for (size_t i = 0; i < w->n && i < w->count; i++) {
        const struct neighbour *k = &w->like[i];
        rec_item(&rec);
        rec_int(&rec, "row", (int64_t)k->row + 1);
        rec_num(&rec, "similarity", k->cosine);
        rec_num(&rec, "distance", k->distance);
        rec_num(&rec, "target", target_of(w, k->row));
        rec_str(&rec, "name", name_of(w, k->row));
        rec_text(&rec, "\n  %8zu  %10.4f  %10.4g  %10.6g  ", k->row + 1, k->cosine, k->distance,
                 target_of(w, k->row));
        rec_safe(&rec, name_of(w, k->row));
        changes |= cell_changes(w, k->row, &rec);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_num(&rec, "seconds", w->seconds);
    if (changes)
        rec_text(
            &rec,
            "\n  letters that differ from row %zu, and which: its own, position, the neighbour's",
            w->row + 1);
    rec_text(&rec,
             "\n  the training rows nearest to it in the feature space of %s (%zu features); "
             "similarity is the "
             "kernel's\n  correlation: 1 is the same, 0 unrelated",
             w->run, w->features);
    ws_emit(ws, &rec);
}

/* Explain. */

/* A column that repeats one cell. */
static enum status repeat_cell(const struct column *c, size_t row, size_t n, struct column *to,
                               struct err *err)
{
    struct grow g = { .type = c->type == COL_REAL ? COL_REAL : COL_TEXT };
    const char *w = c->type == COL_REAL ? NULL : column_word(c, row);
    enum status rc = table_grow_reserve(&g, n + 1, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        if (g.type == COL_REAL)
            g.v[i] = column_at(c, row);
        else if (!w)
            g.off[i] = SIZE_MAX;
        else
            rc = table_grow_text(&g, i, w, strlen(w), err);
    }
    if (rc == ST_OK)
        rc = table_grow_finish(&g, n, to, err);
    table_grow_free(&g);
    return rc;
}

static struct sequences *sequences_room(const struct sequences *of, size_t rows, size_t len,
                                        struct err *err)
{
    struct sequences *s = mem_calloc(1, sizeof *s, "sequences", err);

    if (!s)
        return NULL;
    s->kind = of->kind;
    memcpy(s->order, of->order, sizeof s->order);
    s->at = spill_array(rows + 1, sizeof *s->at, "sequences", err);
    s->letters = s->at ? spill_array(rows * (len + 1), 1, "sequences", err) : NULL;
    s->shortest = s->longest = len;
    if (s->letters)
        return s;
    sequences_free(s);
    return NULL;
}

/* Row 0 as it is; then for each choice and position the letter there changed. */
static enum status change_letters(struct looking *w, const struct sequences *of, struct column *to,
                                  struct err *err)
{
    size_t len;
    const char *own = sequence_at(of, w->row, &len);
    const size_t rows = 1 + w->choices * len;
    struct sequences *s = sequences_room(of, rows, len, err);

    *to = (struct column){ .type = COL_SEQUENCE, .seq = s, .cells = &sequence_cells };
    for (size_t i = 0; s && i < rows; i++) {
        char *word = s->letters + i * (len + 1);
        memcpy(word, own, len + 1);
        s->at[i + 1] = (i + 1) * (len + 1);
        if (i > 0)
            word[(i - 1) % len] = w->choice[(i - 1) / len];
    }
    return s ? ST_OK : ST_NOMEM;
}

/* Row 0 as it is; then without each node.  Of a series each value is replaced by the row's mean. */
static enum status leave_nodes(struct looking *w, const struct sequences *of, struct column *to,
                               struct err *err)
{
    const size_t m = of->at[w->row + 1] - of->at[w->row] - 1, d = of->nodes->d, rows = 1 + m;
    const bool series = of->nodes->series;
    const double *v = nodes_at(of, w->row);
    struct sequences *s = sequences_room(of, rows, m, err);
    struct nodes *o = s ? mem_calloc(1, sizeof *o, "nodes", err) : NULL;
    double mean = 0.0;

    *to = (struct column){ .type = COL_SEQUENCE, .seq = s, .cells = &nodes_cells };
    if (!o)
        return ST_NOMEM;
    s->nodes = o;
    o->d = d;
    o->series = series;
    o->name = mem_calloc(d, sizeof *o->name, "nodes", err);
    o->flag = mem_calloc(d, sizeof *o->flag, "nodes", err);
    o->v = spill_array(rows * m * d, sizeof *o->v, "nodes", err);
    if (!o->name || !o->flag || !o->v)
        return ST_NOMEM;
    for (size_t k = 0; k < m * d; k++)
        mean += v[k] / (double)(m * d);
    for (size_t k = 0; k < d; k++) {
        o->flag[k] = of->nodes->flag[k];
        if (!(o->name[k] = mem_strdup(of->nodes->name[k], err)))
            return ST_NOMEM;
    }
    for (size_t i = 0, at = 0; i < rows; i++) {
        size_t len = 0;
        for (size_t p = 0; p < m; p++) {
            if (i == p + 1 && !series)
                continue;
            for (size_t k = 0; k < d; k++)
                o->v[o->n * d + k] = i == p + 1 ? mean : v[p * d + k];
            o->n++;
            s->letters[at + len++] = 'o';
        }
        s->letters[at + len] = '\0';
        s->at[i + 1] = at += len + 1;
    }
    s->shortest = m - (series ? 0 : 1);
    return ST_OK;
}

/* The row and its variants, in a table with the columns that the model reads. */
static enum status variants(struct looking *w, struct table **out, struct err *err)
{
    const struct table *t = table_of(w);
    const struct sequences *s = t->col[w->column].seq;
    const size_t n = 1 + w->choices * w->positions;
    struct table *to = *out = table_new("variants", t->ncols, err);
    enum status rc = to ? ST_OK : ST_NOMEM;

    if (to)
        to->n = n;
    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++) {
        struct column *c = &to->col[j];
        if (j == w->column)
            rc = w->nodes ? leave_nodes(w, s, c, err) : change_letters(w, s, c, err);
        else
            rc = repeat_cell(&t->col[j], w->row, n, c, err);
        if (rc == ST_OK && !(c->name = mem_strdup(t->col[j].name, err)))
            rc = ST_NOMEM;
    }
    return rc;
}

/* The column of sequences among the inputs, and what can be changed in it. */
static enum status choose(struct looking *w, struct err *err)
{
    const struct dataset *d = w->study.data;
    size_t j = 0;

    while (j < d->table->ncols &&
           (d->table->col[j].type != COL_SEQUENCE || d->role[j] != ROLE_INPUT))
        j++;
    if (j == d->table->ncols) {
        err_set(err, ST_STATE, "the model reads no sequence and no set of nodes");
        err_hint(err, "plot slice COLUMN  shows how the mean changes with a column");
        return ST_STATE;
    }
    const struct sequences *s = d->table->col[j].seq;
    w->column = j;
    w->nodes = s->nodes != NULL;
    w->positions = s->at[w->row + 1] - s->at[w->row] - 1;
    if (w->positions == 0)
        return err_set(err, ST_STATE, "row %zu is empty", w->row + 1);
    if (w->nodes) {
        w->choices = 1;
        if (w->positions < 2)
            return err_set(err, ST_STATE, "row %zu has one node: nothing is left without it",
                           w->row + 1);
        return ST_OK;
    }
    w->choices = strlen(s->order); /* the letters, and none of them */
    memcpy(w->choice, s->order, w->choices);
    w->choice[w->choices++] = s->kind == ALPHABET_PROTEIN ? 'X'
                              : s->kind == ALPHABET_OTHER ? '?'
                                                          : 'N';
    return ST_OK;
}

static enum status explain_work(struct job *job, struct err *err)
{
    struct looking *w = job->arg;
    const double t0 = job_now();
    struct encoded e = { 0 };
    struct table *t = NULL;
    enum status rc = choose(w, err);
    const size_t n = 1 + w->choices * w->positions;

    if (rc == ST_OK)
        rc = variants(w, &t, err);
    if (rc == ST_OK)
        rc = encode(&w->study.enc, t, NULL, n, false, &e, err);
    if (rc == ST_OK && e.n != n)
        rc = err_set(err, ST_STATE,
                     "row %zu has missing cells, or no window is left in one of its variants",
                     w->row + 1);
    double *mean =
        rc == ST_OK ? mem_calloc(n * w->model->t, sizeof *mean, "predictions", err) : NULL;
    w->change = mean ? mem_calloc(n, sizeof *w->change, "changes", err) : NULL;
    if (rc == ST_OK && !w->change)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        rc = model_predict(w->model, &e.base, mean, NULL,
                           &(struct tools){job->backend, job->pool, &job->ctl}, err);
    if (rc == ST_OK) {
        const struct encoding one = encoding_for(&w->study.enc, w->target);
        double *m = mean + w->target * n;
        for (size_t i = 0; i < n; i++)
            m[i] = encoding_value(&one, m[i]);
        w->mean = m[0];
        for (size_t i = 1; i < n; i++)
            w->change[i - 1] = m[i] - m[0];
    }
    w->seconds = job_now() - t0;
    free(mean);
    encode_free(&e);
    table_unref(t);
    return rc;
}

/* What it found. */

static const char *own_letters(const struct looking *w)
{
    size_t len;

    return sequence_at(table_of(w)->col[w->column].seq, w->row, &len);
}

/* The change at a position with nothing known there: masked, or the node left out. */
static double masked(const struct looking *w, size_t p)
{
    return w->change[(w->choices - 1) * w->positions + p];
}

/* Of many positions few may matter, as in variants of one protein: the stretch of these, first and
 * last from 1; false: most of them. */
static bool matters(const struct looking *w, size_t *first, size_t *last)
{
    *first = *last = 0;
    for (size_t p = 0; p < w->positions; p++)
        for (size_t k = 0; k < w->choices; k++)
            if (w->change[k * w->positions + p] != 0.0) {
                *first = *first ? *first : p + 1;
                *last = p + 1;
            }
    return *first && 2 * (*last - *first + 1) < w->positions;
}

static struct figure *explain_figure(const struct looking *w, struct err *err)
{
    char title[128];
    struct figure *f;
    double *x = mem_calloc(w->positions + w->choices, sizeof *x, "plot", err),
           *y = x ? x + w->positions : NULL;
    bool ok = x != NULL;

    for (size_t p = 0; ok && p < w->positions; p++)
        x[p] = (double)p + 1.0;
    for (size_t k = 0; ok && k < w->choices; k++)
        y[k] = (double)k;
    snprintf(title, sizeof title, w->nodes ? "Row %zu by %s: change of the mean without each node"
                                           : "Row %zu by %s: the mean with one letter changed",
             w->row + 1, w->run);
    f = ok ? figure_new("row", title, err) : NULL;
    ok = f && figure_label(f, w->nodes ? "node" : "position",
                           w->nodes ? "change of the mean" : "letter", err) == ST_OK;
    if (ok && w->nodes) {
        ok = figure_add(f, "change", MARK_LINEPOINTS, w->positions, x, w->change, err) != NULL;
    } else if (ok) {
        char words[80][2];
        const char *name[80];
        for (size_t k = 0; k < w->choices; k++) {
            words[k][0] = w->choice[k];
            words[k][1] = '\0';
            name[k] = words[k];
        }
        size_t first, last;
        if (matters(w, &first, &last)) {
            f->x.lo = fmax(0.5, (double)first - 1.5);
            f->x.hi = fmin((double)w->positions + 0.5, (double)last + 1.5);
            f->x.whole = true;
        }
        const struct figure_surface change = { w->positions, w->choices, x, y, w->change };
        ok = figure_add_signed(f, "raises the mean", "lowers the mean", &change, err) == ST_OK &&
             figure_names(&f->y, w->choices, name, err) == ST_OK;
    }
    free(x);
    size_t most = 0;
    double low = 0.0, high = 0.0;
    for (size_t i = 0; i < w->choices * w->positions; i++) {
        low = fmin(low, w->change[i]);
        high = fmax(high, w->change[i]);
        if ((w->nodes || i < (w->choices - 1) * w->positions) &&
            fabs(w->change[i]) > fabs(w->change[most]))
            most = i;
    }
    const size_t p = most % w->positions;
    if (ok && w->nodes)
        ok = figure_verdict(f, err, "mean %.4g; without node %zu it changes most, by %.3g", w->mean,
                            p + 1, w->change[most]) == ST_OK;
    else if (ok)
        ok = figure_verdict(f, err, "mean %.4g; changes from %.3g to %.3g, most with %c%zu%c",
                            w->mean, low, high, own_letters(w)[p], p + 1,
                            w->choice[most / w->positions]) == ST_OK;
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static enum status explain_csv(const struct looking *w, struct err *err)
{
    FILE *f = fopen(w->out, "w");

    if (!f)
        return err_set(err, ST_IO, "%.200s cannot be written", w->out);
    fprintf(f, w->nodes ? "node,change\n" : "position,letter,changed_to,change\n");
    for (size_t k = 0; k < w->choices; k++)
        for (size_t p = 0; p < w->positions; p++)
            if (w->nodes)
                fprintf(f, "%zu,%.17g\n", p + 1, w->change[p]);
            else
                fprintf(f, "%zu,%c,%c,%.17g\n", p + 1, own_letters(w)[p], w->choice[k],
                        w->change[k * w->positions + p]);
    return fclose(f) == 0 ? ST_OK : err_set(err, ST_IO, "%.200s cannot be written", w->out);
}

struct place { double size; size_t at; };

static int by_size(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->at > y->at) - (x->at < y->at);
}

static void explain_record(struct workspace *ws, const struct looking *w)
{
    const size_t n = w->choices * w->positions, letters = w->nodes ? n : n - w->positions;
    struct place *order = mem_calloc(n + w->positions, sizeof *order, "changes", NULL),
                 *where = order ? order + n : NULL;
    struct rec rec;

    rec_init(&rec, REC_RESULT, "explain-row");
    rec_str(&rec, "run", w->run);
    rec_int(&rec, "row", (int64_t)w->row + 1);
    rec_num(&rec, "mean", w->mean);
    rec_num(&rec, "target", target_of(w, w->row));
    rec_int(&rec, "positions", (int64_t)w->positions);
    rec_text(&rec, "row %zu %s  mean %.6g  target %.6g", w->row + 1, name_of(w, w->row), w->mean,
             target_of(w, w->row));
    for (size_t i = 0; order && i < n; i++)
        order[i] = (struct place){i < letters ? fabs(w->change[i]) : -1.0,
                                  i}; /* masked is no mutation: last */
    for (size_t p = 0; order && p < w->positions; p++)
        where[p] = (struct place){ fabs(masked(w, p)), p };
    if (order) {
        qsort(order, n, sizeof *order, by_size);
        qsort(where, w->positions, sizeof *where, by_size);
    }
    rec_array(&rec, w->nodes ? "nodes" : "masked");
    rec_text(&rec, w->nodes ? "\n  without node   change"
                            : "\n  masked    change       mutated    change");
    for (size_t i = 0; order && i < w->positions && i < NAMED_POSITIONS; i++) {
        rec_item(&rec);
        rec_int(&rec, "position", (int64_t)where[i].at + 1);
        rec_num(&rec, "change", masked(w, where[i].at));
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_array(&rec, "mutations");
    for (size_t i = 0; order && !w->nodes && i < letters && i < NAMED_POSITIONS; i++) {
        char word[48];
        const size_t p = order[i].at % w->positions;
        snprintf(word, sizeof word, "%c%zu%c", own_letters(w)[p], p + 1,
                 w->choice[order[i].at / w->positions]);
        rec_item(&rec);
        rec_str(&rec, "mutation", word);
        rec_num(&rec, "change", w->change[order[i].at]);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    for (size_t i = 0; order && i < NAMED && i < w->positions; i++) {
        const size_t at = where[i].at, q = order[i].at % w->positions;
        if (w->nodes)
            rec_text(&rec, "\n  %12zu %8.4g", at + 1, masked(w, at));
        else if (where[i].size > 0.0)
            rec_text(&rec, "\n  %c%-6zu %8.4g", own_letters(w)[at], at + 1, masked(w, at));
        else if (order[i].size > 0.0) /* no further position matters */
            rec_text(&rec, "\n  %16s", "");
        if (!w->nodes && order[i].size > 0.0)
            rec_text(&rec, "       %c%zu%c %*s %8.4g", own_letters(w)[q], q + 1,
                     w->choice[order[i].at / w->positions],
                     q < 9    ? 4
                     : q < 99 ? 3
                              : 2,
                     "", w->change[order[i].at]);
    }
    size_t first, last;
    if (!w->nodes && order && matters(w, &first, &last))
        rec_text(&rec,
                 "\n  only positions %zu to %zu of %zu change anything: elsewhere the model reads "
                 "nothing",
                 first, last, w->positions);
    rec_text(&rec, "\n  plot row draws all of it%s", w->out ? "; written to " : "");
    rec_safe(&rec, w->out ? w->out : "");
    rec_num(&rec, "seconds", w->seconds);
    ws_emit(ws, &rec);
    free(order);
}

static void looking_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *why)
{
    struct looking *w = job->arg;
    struct err err = *why;
    const bool explains = w->change != NULL;

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped before there was a result",
                explains ? "explain-row" : "neighbours");
        ws->unconverged = true;
        return;
    }
    if (rc == ST_OK && explains) {
        struct figure *f = explain_figure(w, &err);
        rc = f ? kept_take(ws, f, &err) : err.code;
    }
    if (rc == ST_OK && explains && w->out)
        rc = explain_csv(w, &err);
    if (rc != ST_OK) {
        ws_error(ws, &err, job->line);
        return;
    }
    if (explains)
        explain_record(ws, w);
    else
        neighbours_record(ws, w);
    if (explains)
        ws_screen_show(ws, "row", w->run);
    ws->serial++;
}

static const struct job_ops neighbours_ops = {
    .verb = "neighbours", .work = neighbours_work, .done = looking_done, .free = looking_free};
static const struct job_ops explain_ops = {
    .verb = "explain-row", .work = explain_work, .done = looking_done, .free = looking_free};

static enum status start(struct workspace *ws, const struct run *r, struct looking w,
                         const struct job_ops *ops, const char *out, const char *line,
                         struct err *err)
{
    if (r->kind != RUN_FIT || !r->model || !r->has_enc) {
        err_set(err, ST_STATE, "%s has no model", r->id);
        err_hint(err, "fit");
        return ST_STATE;
    }
    struct looking *own = mem_calloc(1, sizeof *own, "a job", err);
    enum status rc = own ? fit_setup_of_run(&w.study, r, err) : ST_NOMEM;
    if (own)
        *own = w;
    if (rc == ST_OK && w.row >= w.study.data->table->n)
        rc = err_set(err, ST_RANGE, "row %zu: the data have %zu rows", w.row + 1,
                     w.study.data->table->n);
    if (rc == ST_OK) {
        own->model = model_ref(r->model);
        snprintf(own->run, sizeof own->run, "%s", r->id);
        own->out = out ? mem_strdup(out, err) : NULL;
        rc = out && !own->out ? ST_NOMEM : ST_OK;
    }
    if (rc != ST_OK) {
        struct job tmp = { .arg = own };
        looking_free(&tmp);
        return rc;
    }
    return ws_submit(ws, ops, NULL, own, line, err);
}

enum status row_inspect_neighbours(struct workspace *ws, const struct run *r, size_t row,
                                   size_t count, const char *line, struct err *err)
{
    return start(ws, r, (struct looking){.row = row, .count = count}, &neighbours_ops, NULL, line,
                 err);
}

enum status row_inspect_explain(struct workspace *ws, const struct run *r, size_t row,
                                size_t target, const char *out, const char *line, struct err *err)
{
    return start(ws, r, (struct looking){.row = row, .target = target}, &explain_ops, out, line,
                 err);
}
