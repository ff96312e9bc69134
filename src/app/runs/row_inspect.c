/* app/runs/row_inspect.c -- see row_inspect.h. */
#include "app/runs/row_inspect.h"

#include "app/runs/fitting.h"
#include "data/formats/import.h"
#include "app/core/job.h"
#include "data/kinds/kind.h"
#include "data/molecules/drawing.h"
#include "data/molecules/smiles_column.h"
#include "data/molecules/smiles_syntax.h"
#include "data/prepare.h"
#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/fit_setup.h"
#include "app/runs/row_columns.h"
#include "app/runs/scoring/row_class.h"
#include "app/runs/molecules/molecule_list.h"
#include "app/runs/molecules/molecule_sketch.h"
#include "app/runs/words/word_profile.h"
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

static const double PARTS_MOST = 1e10; /* of all changed rows of explain-row */
enum { FEATURES_MOST = 2048, NAMED = 8, NAMED_POSITIONS = 60, SHOWN = 40 };

struct looking {
    struct fit_setup study;
    struct model *model;
    char run[16];
    size_t row, count, target;
    char *out; /* path of a CSV file; NULL: none */
    /* for neighbours: SMILES that are no row of the data; NULL: a row is.  Owned by the job. */
    const char *molecule;
    /* for neighbours */
    struct neighbour *like;
    size_t n, features;
    /* for explain: changes of the predicted mean, choices x positions */
    double *change, mean, sd;
    struct row_class class; /* predicted */
    struct row_variants v;
    struct word_profile words; /* of a kernel of words: what those over each position weigh */
    size_t column;
    double seconds;
};

enum status row_inspect_number(const char *word, size_t *row, struct err *err)
{
    const char *p = strncmp(word, "row:", 4) == 0 ? word + 4 : word;
    char *end;
    const unsigned long v = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : 0;

    if (v == 0 || *end != '\0') {
        err_set(err, ST_USAGE, "%.40s is not a row: rows are numbered from 1, as in row:123",
                word);
        return ST_USAGE;
    }
    *row = v - 1;
    return ST_OK;
}

/* True if a column of text has the word as its cell in this row. */
static bool is_called(const struct table *t, size_t row, const char *word)
{
    for (size_t j = 0; j < t->ncols; j++) {
        const bool words = t->col[j].type == COL_TEXT || smiles_column_is(&t->col[j]);
        const char *cell = words ? column_word(&t->col[j], row) : NULL;
        if (cell && strcmp(cell, word) == 0)
            return true;
    }
    return false;
}

enum status row_inspect_find(const struct run *r, const char *word, size_t *row, struct err *err)
{
    const struct table *t = r->data ? r->data->table : NULL;
    const enum status rc = row_inspect_number(word, row, err);
    size_t found = 0, first = 0;

    if (rc == ST_OK || !t)
        return rc;
    for (size_t i = 0; i < t->n; i++)
        if (is_called(t, i, word) && found++ == 0)
            first = i;
    if (found == 0)
        return rc;
    *row = first;
    err_clear(err);
    if (found == 1)
        return ST_OK;
    err_set(err, ST_USAGE, "%zu rows have the cell %.40s, the first of them is row %zu", found,
            word, first + 1);
    err_hint(err, "neighbours row:%zu  |  explain-row row:%zu", first + 1, first + 1);
    return ST_USAGE;
}

static void looking_clear(struct looking *w)
{
    if (!w)
        return;
    fit_setup_free(&w->study);
    model_unref(w->model);
    free(w->like);
    free(w->change);
    free(w->v.names);
    word_profile_free(&w->words);
    free(w->out);
    free((char *)(uintptr_t)w->molecule);
    free(w);
}

static void looking_free(struct job *job)
{
    looking_clear(job->arg);
    job->arg = NULL;
}

static const struct table *table_of(const struct looking *w)
{
    return w->study.data->table;
}

/* The name of a row: its text in a column of text or with role id; "" if there is none.  Of a new
 * molecule its SMILES. */
static const char *name_of(const struct looking *w, size_t row)
{
    const struct table *t = table_of(w);

    if (row == SIZE_MAX)
        return w->molecule;
    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].type == COL_TEXT && column_word(&t->col[j], row))
            return column_word(&t->col[j], row);
    return "";
}

/* Neighbours. */

/* Turns rows of the encoding into rows of the table and leaves out the row itself. */
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

/* A molecule that is no row of the data, read as new rows are; *held is the table of `own`. */
static enum status encode_molecule(struct looking *w, struct job *job, struct encoded *own,
                                   struct table **held, struct err *err)
{
    const struct column *of = &table_of(w)->col[w->column];
    struct grow g = { .type = COL_TEXT };
    struct table *t = table_new("molecule", 1, err);
    struct buf notes = { 0 };
    size_t *rows = NULL, n = 0;
    enum status rc = t ? table_grow_reserve(&g, 2, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = table_grow_text(&g, 0, w->molecule, strlen(w->molecule), err);
    if (rc == ST_OK)
        rc = table_grow_finish(&g, 1, &t->col[0], err);
    if (rc == ST_OK && !(t->col[0].name = mem_strdup(of->name, err)))
        rc = ST_NOMEM;
    if (t)
        t->n = 1;
    if (rc == ST_OK)
        rc = prepare_new_data(&w->study.enc, &t, &rows, &n, &job->ctl, &notes, err);
    if (rc == ST_OK)
        rc = encode(&w->study.enc, t, rows, n, false, own, err);
    if (rc == ST_OK && own->n == 0) {
        rc = err_set(err, ST_STATE, "%.60s cannot be read as a molecule%s", w->molecule,
                     own->missing_cells ? ", or the model reads other columns, too" : "");
        err_hint(err, "neighbours row:12  |  predict FILE for rows with all inputs");
    }
    table_grow_free(&g);
    *held = t;
    free(rows);
    buf_free(&notes);
    return rc;
}

static enum status neighbours_work(struct job *job, struct err *err)
{
    struct looking *w = job->arg;
    const double t0 = job_now();
    struct encoded own = { 0 };
    struct table *held = NULL;
    enum status rc = fit_setup_open(&w->study, err);

    if (rc == ST_OK && w->molecule)
        rc = encode_molecule(w, job, &own, &held, err);
    else if (rc == ST_OK)
        rc = encode(&w->study.enc, table_of(w), &w->row, 1, false, &own, err);
    if (rc == ST_OK && own.n == 0)
        rc = err_set(err, ST_STATE, "row %zu has missing cells and was left out", w->row + 1);
    const bool exact = rc == ST_OK && neighbours_exact(&w->study.o.kernel);
    const size_t least = rc == ST_OK ? featmap_least(&w->study.o.kernel, w->study.e.base.d) : 2;
    const size_t want = w->model->M < FEATURES_MOST && w->model->kind->draws
                            ? w->model->M
                            : FEATURES_MOST;
    w->features = exact ? 0 : (want > least ? want : least) / 2 * 2;
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
    table_unref(held);
    return rc;
}

/* The target of a row in its own units; NaN if it has none. */
static double target_of(const struct looking *w, size_t row)
{
    const struct encoding e = encoding_for(&w->study.enc, w->target);
    const size_t j = e.target ? table_find(table_of(w), e.target) : SIZE_MAX;

    return row != SIZE_MAX && j != SIZE_MAX && table_of(w)->col[j].type == COL_REAL
               ? column_at(&table_of(w)->col[j], row)
               : (double)NAN;
}

/* The column of a target that holds classes as words; SIZE_MAX: it is none. */
static size_t class_column(const struct looking *w)
{
    const struct encoding e = encoding_for(&w->study.enc, w->target);
    const size_t j = e.target && e.nclasses ? table_find(table_of(w), e.target) : SIZE_MAX;

    return j != SIZE_MAX && table_of(w)->col[j].type != COL_REAL ? j : SIZE_MAX;
}

static bool has_classes(const struct looking *w)
{
    return class_column(w) != SIZE_MAX;
}

/* Its class, in a column of its own. */
static void tell_class(const struct looking *w, size_t row, struct rec *rec)
{
    const char *word = column_word(&table_of(w)->col[class_column(w)], row);

    rec_str(rec, "class", word ? word : "");
    rec_safe(rec, word ? word : "-");
    rec_text(rec, "%*s", 2 + (int)fmax(20.0 - (double)strlen(word ? word : "-"), 0.0), "");
}

/* Is column j an input that the model reads, whose cells are words with a letter for each
 * position? */
static bool is_spelled(const struct looking *w, size_t j)
{
    return kind_of(&table_of(w)->col[j])->spelled && w->study.data->role[j] == ROLE_INPUT &&
           encoding_reads(&w->study.enc, table_of(w)->col[j].name);
}

/* The sequence of the row, cut to the space there is. */
static void cell_words(const struct looking *w, size_t row, struct rec *rec)
{
    const struct table *t = table_of(w);

    for (size_t j = 0; j < t->ncols; j++)
        if (is_spelled(w, j) && column_word(&t->col[j], row)) {
            rec_text(rec, "  %.*s%s", SHOWN, column_word(&t->col[j], row),
                     strlen(column_word(&t->col[j], row)) > SHOWN ? ".." : "");
            return;
        }
}

/* The differences of another row's sequence from this one, as mutations such as E9K, and their
 * number. */
static bool cell_changes(const struct looking *w, size_t row, struct rec *rec)
{
    const struct table *t = table_of(w);
    size_t j = 0, n, m, differ = 0;

    while (j < t->ncols && !is_spelled(w, j))
        j++;
    if (j == t->ncols)
        return false;
    const char *own = column_word(&t->col[j], w->row), *other = column_word(&t->col[j], row);
    own = own ? own : "";
    other = other ? other : "";
    n = strlen(own);
    m = strlen(other);
    for (size_t i = 0; i < n && n == m; i++)
        differ += own[i] != other[i];
    if (n != m || 3 * differ > n) { /* too different to be called a variant */
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

/* The row and its neighbours for plot molecules. */
static void neighbours_pictured(struct workspace *ws, const struct looking *w)
{
    const struct table *t = table_of(w);
    const size_t j = molecule_list_column(w->study.data);
    char title[80];

    if (w->molecule)
        snprintf(title, sizeof title, "A molecule and its neighbours by %s", w->run);
    else
        snprintf(title, sizeof title, "Row %zu and its neighbours by %s", w->row + 1, w->run);
    struct molecule_list *l = j == SIZE_MAX ? NULL
                                            : molecule_list_new("neighbours", title, "similarity",
                                                                false, NULL);
    bool ok = l != NULL;
    for (size_t i = 0; ok && i <= w->n && i <= w->count; i++) {
        const size_t row = i ? w->like[i - 1].row : w->row;
        const char *text = row == SIZE_MAX ? w->molecule : smiles_column_of(&t->col[j])->text[row];
        char head[MOLECULE_LIST_HEAD] = "new", value[48] = "", like[64] = "";
        if (row != SIZE_MAX)
            molecule_list_head(t, row, j, head);
        if (isfinite(target_of(w, row)))
            snprintf(value, sizeof value, "target %.4g", target_of(w, row));
        if (i && w->molecule)
            snprintf(like, sizeof like, "similarity %.3f", w->like[i - 1].cosine);
        else if (i)
            snprintf(like, sizeof like, "similarity %.3f, difference %.3g", w->like[i - 1].cosine,
                     target_of(w, row) - target_of(w, w->row));
        const struct molecule_item item = { text ? text : "", { head, value, like },
                                            i ? w->like[i - 1].cosine : 1.0 };
        ok = molecule_list_add(l, &item, NULL) == ST_OK;
    }
    if (ok)
        molecule_list_keep(ws, l);
    else
        molecule_list_free(l);
}

/* The sd of the difference of two measurements of rows so far apart, by the fit; NaN where the
 * target is a logarithm or a class. */
static double sd_apart(const struct looking *w, double distance)
{
    const struct encoding e = encoding_for(&w->study.enc, w->target);
    if (e.nclasses)
        return (double)NAN;
    const double far = w->model->amplitudes[w->target] * distance,
                 noise = w->model->noises[w->target];

    return e.yscale == Y_LOG ? (double)NAN : e.ysd * sqrt(far * far + 2.0 * noise * noise);
}

static void neighbours_record(struct workspace *ws, const void *work)
{
    const struct looking *w = work;
    struct rec rec;

    rec_init(&rec, REC_RESULT, "neighbours");
    rec_str(&rec, "run", w->run);
    if (w->molecule)
        rec_str(&rec, "molecule", w->molecule);
    else
        rec_int(&rec, "row", (int64_t)w->row + 1);
    if (w->features > 0)
        rec_int(&rec, "features", (int64_t)w->features);
    else
        rec_null(&rec, "features");
    rec_num(&rec, "target", target_of(w, w->row));
    const bool classes = has_classes(w);
    if (w->molecule) {
        rec_safe(&rec, w->molecule);
    } else {
        rec_text(&rec, "row %zu %s  ", w->row + 1, name_of(w, w->row));
        if (classes)
            tell_class(w, w->row, &rec);
        else
            rec_text(&rec, "target %.6g", target_of(w, w->row));
        cell_words(w, w->row, &rec);
    }
    rec_text(&rec, "\n  %8s  %10s  %10s  ", "row", "similarity", "distance");
    if (classes)
        rec_text(&rec, "class");
    else
        rec_text(&rec, "%10s  %10s  %10s", "target", "difference", "sd");
    bool changes = false;
    rec_array(&rec, "neighbours");
    for (size_t i = 0; i < w->n && i < w->count; i++) {
        const struct neighbour *k = &w->like[i];
        const double y = target_of(w, k->row), more = y - target_of(w, w->row);
        rec_item(&rec);
        rec_int(&rec, "row", (int64_t)k->row + 1);
        rec_num(&rec, "similarity", k->cosine);
        rec_num(&rec, "distance", k->distance);
        rec_num(&rec, "target", y);
        rec_num(&rec, "difference", more);
        rec_num(&rec, "sd", sd_apart(w, k->distance));
        rec_str(&rec, "name", name_of(w, k->row));
        rec_text(&rec, "\n  %8zu  %10.4f  %10.4g  ", k->row + 1, k->cosine, k->distance);
        if (classes)
            tell_class(w, k->row, &rec);
        else if (w->molecule)
            rec_text(&rec, "%10.6g  %10s  %10.4g  ", y, "", sd_apart(w, k->distance));
        else
            rec_text(&rec, "%10.6g  %10.4g  %10.4g  ", y, more, sd_apart(w, k->distance));
        rec_safe(&rec, name_of(w, k->row));
        changes |= !w->molecule && cell_changes(w, k->row, &rec);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_num(&rec, "seconds", w->seconds);
    if (changes)
        rec_text(
            &rec,
            "\n  letters that differ from row %zu, and which: its own, position, the neighbour's",
            w->row + 1);
    char how[48] = "by exact values";
    if (w->features > 0)
        snprintf(how, sizeof how, "%zu features", w->features);
    rec_text(&rec,
             "\n  the training rows nearest to it in the feature space of %s (%s); "
             "similarity is the kernel's\n  correlation: 1 for equal rows, 0 for unrelated ones; "
             "sd: that of the difference of two measurements so\n  far apart, by the fit",
             w->run, how);
    ws_emit(ws, &rec);
    neighbours_pictured(ws, w);
}

/* The command explain-row. */

/* Cells that hold more than their words. */
static enum status repeat_held(const struct column *c, size_t row, size_t n, struct column *to,
                               struct err *err)
{
    size_t *rows = mem_calloc(n + 1, sizeof *rows, "row numbers", err);

    if (!rows)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        rows[i] = row;
    const enum status rc = c->cells->take(c, rows, n, to, err);
    free(rows);
    return rc;
}

/* A column that repeats one cell n times. */
static enum status repeat_cell(const struct column *c, size_t row, size_t n, struct column *to,
                               struct err *err)
{
    struct grow g = { .type = c->type == COL_REAL ? COL_REAL : COL_TEXT };
    struct buf room = { 0 };

    if (c->type == COL_HELD && c->cells->take)
        return repeat_held(c, row, n, to, err);
    const char *w = c->type == COL_REAL ? NULL : table_column_text(c, row, &room);
    enum status rc = table_grow_reserve(&g, n + 1, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        if (g.type == COL_REAL)
            g.v[i] = column_at(c, row);
        else if (!w)
            g.off[i] = SIZE_MAX;
        else
            rc = table_grow_text(&g, i, w, strlen(w), err);
    }
    buf_free(&room);
    if (rc == ST_OK)
        rc = table_grow_finish(&g, n, to, err);
    table_grow_free(&g);
    return rc;
}

/* A table of the row and its variants, with the columns that the model reads. */
static enum status variants(struct looking *w, struct table **out, struct err *err)
{
    const struct table *t = table_of(w);
    const struct row_kind *kind = kind_of(&t->col[w->column]);
    const size_t n = 1 + w->v.choices * w->v.positions;
    struct table *to = *out = table_new("variants", t->ncols, err);
    enum status rc = to ? ST_OK : ST_NOMEM;

    if (to)
        to->n = n;
    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++) {
        struct column *c = &to->col[j];
        if (j == w->column)
            rc = kind->vary(&t->col[j], w->row, &w->v, c, err);
        else
            rc = repeat_cell(&t->col[j], w->row, n, c, err);
        if (rc == ST_OK && !(c->name = mem_strdup(t->col[j].name, err)))
            rc = ST_NOMEM;
    }
    return rc;
}

/* True if column j is an input that the model reads, whose cells can be changed part by part. */
static bool has_variants(const struct dataset *d, const struct encoding *e, size_t j)
{
    return d->role[j] == ROLE_INPUT && kind_of(&d->table->col[j])->variants &&
           encoding_reads(e, d->table->col[j].name);
}

/* What can be changed in the cell. */
static enum status choose(struct looking *w, struct err *err)
{
    const struct column *c = &w->study.data->table->col[w->column];

    return column_missing(c, w->row) ? err_set(err, ST_STATE, "row %zu is empty", w->row + 1)
                                     : kind_of(c)->variants(c, w->row, &w->v, err);
}

/* Of a kernel of words, from the scaled means m of the row and its variants. */
static enum status explain_words(struct looking *w, const struct source *rows, const double *m,
                                 struct err *err)
{
    const struct encoding one = encoding_for(&w->study.enc, w->target);
    const struct column *c = &table_of(w)->col[w->column];

    if (w->v.leaves_out || !kind_of(c)->spelled || !word_profile_has(&w->model->kernel))
        return ST_OK;
    double *mean = mem_calloc(rows->n, sizeof *mean, "a profile", err);
    for (size_t i = 0; mean && i < rows->n; i++)
        mean[i] = one.nclasses ? m[i] : one.ysd * m[i];
    w->words = (struct word_profile){ .positions = w->v.positions, .letter = w->v.choice,
                                      .letters = w->v.choices - 1,
                                      .own = column_word(c, w->row) };
    if (one.nclasses)
        snprintf(w->words.unit, sizeof w->words.unit, "latent units");
    else
        snprintf(w->words.unit, sizeof w->words.unit, "%s%.40s",
                 one.yscale == Y_LOG ? "log of " : "", one.target);
    const enum status rc =
        mean ? word_profile_make(&w->model->kernel, rows, mean, &w->words, err) : ST_NOMEM;
    free(mean);
    return rc;
}

static enum status explain(struct looking *w, struct job *job, struct err *err)
{
    const double t0 = job_now();
    struct encoded e = { 0 };
    struct table *t = NULL;
    enum status rc = choose(w, err);
    const size_t n = 1 + w->v.choices * w->v.positions;

    if (rc == ST_OK && (double)n * (double)w->v.positions > PARTS_MOST) {
        rc = err_set(err, ST_LIMIT, "row %zu has %zu %ss: to change each of them makes %zu rows as "
                     "long, which is too much", w->row + 1, w->v.positions,
                     kind_of(&table_of(w)->col[w->column])->part, n);
        err_hint(err, "words, for what a kernel of words looks at  |  a shorter row");
    }

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
    if (rc == ST_OK)
        rc = row_class_of(w->model, w->study.data, &w->study.enc, &e.base, job, &w->class, err);
    if (rc == ST_OK)
        row_class_contrast(&w->class, n, mean);
    if (rc == ST_OK)
        rc = explain_words(w, &e.base, mean + w->target * n, err);
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

static enum status explain_work(struct job *job, struct err *err)
{
    return explain(job->arg, job, err);
}

/* Reporting the result. */

static const char *own_letters(const struct looking *w)
{
    return column_word(&table_of(w)->col[w->column], w->row);
}

/* "letter", "node" */
static const char *part_word(const struct looking *w)
{
    return w->v.part ? w->v.part : kind_of(&table_of(w)->col[w->column])->part;
}

/* The name of a part that is left out: by default its number. */
static const char *part_name(const struct looking *w, size_t p, char *out, size_t len)
{
    const char *s = w->v.names;

    snprintf(out, len, "%zu", p + 1);
    for (size_t k = 0; s && k < p; k++)
        s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL;
    if (s)
        snprintf(out, len, "%.*s", (int)strcspn(s, "\n"), s);
    return out;
}

/* What is explained: "mean", or of several classes "A less B". */
enum { MEAN_WORDS = 64 };
static const char *mean_words(const struct looking *w, char out[MEAN_WORDS])
{
    struct buf b = { 0 };

    if (w->class.several)
        row_class_words(&w->class, &w->study.enc, 24, &b);
    snprintf(out, MEAN_WORDS, "%s", w->class.several ? buf_str(&b) : "mean");
    buf_free(&b);
    return out;
}

/* The change of the mean when position p is masked, or node p is left out. */
static double masked(const struct looking *w, size_t p)
{
    return w->change[(w->v.choices - 1) * w->v.positions + p];
}

/* Often only few of many positions matter, as in variants of one protein. Finds the stretch that
 * contains them, first and last counted from 1. Returns false if most positions matter. */
static bool matters(const struct looking *w, size_t *first, size_t *last)
{
    *first = *last = 0;
    for (size_t p = 0; p < w->v.positions; p++)
        for (size_t k = 0; k < w->v.choices; k++)
            if (w->change[k * w->v.positions + p] != 0.0) {
                *first = *first ? *first : p + 1;
                *last = p + 1;
            }
    return *first && 2 * (*last - *first + 1) < w->v.positions;
}

static struct figure *explain_figure(const void *work, struct err *err)
{
    const struct looking *w = work;
    char title[192], mean[MEAN_WORDS], part[MEAN_WORDS + 16];
    struct figure *f;
    double *x = mem_calloc(w->v.positions + w->v.choices, sizeof *x, "plot", err),
           *y = x ? x + w->v.positions : NULL;
    bool ok = x != NULL;

    for (size_t p = 0; ok && p < w->v.positions; p++)
        x[p] = (double)p + 1.0;
    for (size_t k = 0; ok && k < w->v.choices; k++)
        y[k] = (double)k;
    snprintf(title, sizeof title,
             w->v.leaves_out ? "Row %zu by %s: change of the %s without each %s"
                             : "Row %zu by %s: the %s when one %s is changed",
             w->row + 1, w->run, mean_words(w, mean), part_word(w));
    snprintf(part, sizeof part, "change of the %s", mean);
    f = ok ? figure_new("row", title, err) : NULL;
    ok = f && figure_label(f, w->v.leaves_out ? part_word(w) : "position",
                           w->v.leaves_out ? part : part_word(w), err) == ST_OK;
    if (ok && w->v.leaves_out) {
        ok = figure_add(f, "change", MARK_LINEPOINTS, w->v.positions, x, w->change, err) != NULL;
    } else if (ok) {
        char words[KIND_CHOICES_MOST][2];
        const char *name[KIND_CHOICES_MOST];
        for (size_t k = 0; k < w->v.choices; k++) {
            words[k][0] = w->v.choice[k];
            words[k][1] = '\0';
            name[k] = words[k];
        }
        size_t first, last;
        if (matters(w, &first, &last)) {
            f->x.lo = fmax(0.5, (double)first - 1.5);
            f->x.hi = fmin((double)w->v.positions + 0.5, (double)last + 1.5);
            f->x.whole = true;
        }
        const struct figure_surface change = { w->v.positions, w->v.choices, x, y, w->change };
        ok = figure_add_signed(f, w->class.several ? "towards the class" : "raises the mean",
                               w->class.several ? "away from it" : "lowers the mean", &change,
                               err) == ST_OK &&
             figure_names(&f->y, w->v.choices, name, err) == ST_OK;
    }
    free(x);
    size_t most = 0;
    double low = 0.0, high = 0.0;
    for (size_t i = 0; i < w->v.choices * w->v.positions; i++) {
        low = fmin(low, w->change[i]);
        high = fmax(high, w->change[i]);
        if ((w->v.leaves_out || i < (w->v.choices - 1) * w->v.positions) &&
            fabs(w->change[i]) > fabs(w->change[most]))
            most = i;
    }
    const size_t p = most % w->v.positions;
    char name[32];
    if (ok && w->v.leaves_out)
        ok = figure_verdict(f, err, "%s %.4g; without %s %s it changes most, by %.3g", mean,
                            w->mean, part_word(w), part_name(w, p, name, sizeof name),
                            w->change[most]) == ST_OK;
    else if (ok)
        ok = figure_verdict(f, err, "%s %.4g; changes from %.3g to %.3g, most with %c%zu%c", mean,
                            w->mean, low, high, own_letters(w)[p], p + 1,
                            w->v.choice[most / w->v.positions]) == ST_OK;
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static enum status explain_csv(const void *work, struct err *err)
{
    const struct looking *w = work;
    FILE *f = fopen(w->out, "w");
    char name[32];

    if (!f)
        return err_set(err, ST_IO, "%.200s cannot be written", w->out);
    fprintf(f, !w->v.leaves_out ? "position,%s,changed_to,change%s\n"
               : w->v.names     ? "%s,name,change%s\n"
                                : "%s,change%s\n", part_word(w), w->words.weight ? ",weight" : "");
    for (size_t k = 0; k < w->v.choices; k++)
        for (size_t p = 0; p < w->v.positions; p++)
            if (w->v.leaves_out && w->v.names)
                fprintf(f, "%zu,\"%s\",%.17g\n", p + 1, part_name(w, p, name, sizeof name),
                        w->change[p]);
            else if (w->v.leaves_out)
                fprintf(f, "%zu,%.17g\n", p + 1, w->change[p]);
            else {
                fprintf(f, "%zu,%c,%c,%.17g", p + 1, own_letters(w)[p], w->v.choice[k],
                        w->change[k * w->v.positions + p]);
                if (w->words.weight) /* of the words over that letter; without it there is none */
                    fprintf(f, ",%.17g", k < w->words.letters
                                             ? w->words.with[k * w->v.positions + p] : 0.0);
                putc('\n', f);
            }
    return fclose(f) == 0 ? ST_OK : err_set(err, ST_IO, "%.200s cannot be written", w->out);
}

struct place { double size; size_t at; };

static int by_size(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->at > y->at) - (x->at < y->at);
}

/* The row and, of several sequences that the model reads, which one this is. */
static void head_line(const struct looking *w, struct rec *rec)
{
    const struct table *t = table_of(w);
    struct buf others = { 0 };
    char words[MEAN_WORDS];

    const struct encoding one = encoding_for(&w->study.enc, w->target);
    const size_t y = one.target ? table_find(t, one.target) : SIZE_MAX;
    if (one.nclasses && y != SIZE_MAX) {
        struct buf level = { 0 };
        table_cell(t, w->row, y, &level);
        rec_str(rec, "class", buf_str(&level));
        rec_text(rec, "row %zu %s  latent %s %.6g  class ", w->row + 1, name_of(w, w->row),
                 mean_words(w, words), w->mean);
        rec_safe(rec, buf_str(&level));
        rec_text(rec, "%s", w->class.known ? "  " : "");
        row_class_tell(&w->class, &w->study.enc, rec);
        buf_free(&level);
    } else {
        rec_text(rec, "row %zu %s  mean %.6g  target %.6g", w->row + 1, name_of(w, w->row),
                 w->mean, target_of(w, w->row));
    }
    for (size_t j = 0; j < t->ncols; j++)
        if (j != w->column && has_variants(w->study.data, &w->study.enc, j)) {
            buf_puts(&others, others.len > 0 ? ", " : "");
            text_safe(&others, t->col[j].name, 40);
        }
    if (others.len > 0) {
        rec_text(rec, "   parts of ");
        rec_safe(rec, t->col[w->column].name);
        rec_text(rec, "  (also column=");
        rec_safe(rec, buf_str(&others));
        rec_text(rec, ")");
    }
    buf_free(&others);
}

static void explain_record(struct workspace *ws, const void *work)
{
    const struct looking *w = work;
    const size_t n = w->v.choices * w->v.positions,
                 letters = w->v.leaves_out ? n : n - w->v.positions;
    struct place *order = mem_calloc(n + w->v.positions, sizeof *order, "changes", NULL),
                 *where = order ? order + n : NULL;
    struct rec rec;

    rec_init(&rec, REC_RESULT, "explain-row");
    rec_str(&rec, "run", w->run);
    rec_int(&rec, "row", (int64_t)w->row + 1);
    rec_str(&rec, "column", table_of(w)->col[w->column].name);
    rec_num(&rec, "mean", w->mean);
    rec_num(&rec, "target", target_of(w, w->row));
    rec_int(&rec, "positions", (int64_t)w->v.positions);
    head_line(w, &rec);
    for (size_t i = 0; order && i < n; i++)
        order[i] = (struct place){i < letters ? fabs(w->change[i]) : -1.0,
                                  i}; /* masking is not a mutation, so it comes last */
    for (size_t p = 0; order && p < w->v.positions; p++)
        where[p] = (struct place){ fabs(masked(w, p)), p };
    if (order) {
        qsort(order, n, sizeof *order, by_size);
        qsort(where, w->v.positions, sizeof *where, by_size);
    }
    char parts[32], part[32];
    snprintf(parts, sizeof parts, "%ss", part_word(w));
    rec_array(&rec, w->v.leaves_out ? parts : "masked");
    if (w->v.leaves_out)
        rec_text(&rec, "\n  without %s   change", part_word(w));
    else
        rec_text(&rec, "\n  masked    change       mutated    change");
    for (size_t i = 0; order && i < w->v.positions && i < NAMED_POSITIONS; i++) {
        rec_item(&rec);
        rec_int(&rec, "position", (int64_t)where[i].at + 1);
        if (w->v.names)
            rec_str(&rec, "name", part_name(w, where[i].at, part, sizeof part));
        rec_num(&rec, "change", masked(w, where[i].at));
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_array(&rec, "mutations");
    for (size_t i = 0; order && !w->v.leaves_out && i < letters && i < NAMED_POSITIONS; i++) {
        char word[48];
        const size_t p = order[i].at % w->v.positions;
        snprintf(word, sizeof word, "%c%zu%c", own_letters(w)[p], p + 1,
                 w->v.choice[order[i].at / w->v.positions]);
        rec_item(&rec);
        rec_str(&rec, "mutation", word);
        rec_num(&rec, "change", w->change[order[i].at]);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    for (size_t i = 0; order && i < NAMED && i < w->v.positions; i++) {
        const size_t at = where[i].at, q = order[i].at % w->v.positions;
        if (w->v.leaves_out)
            rec_text(&rec, "\n  %12s %8.4g", part_name(w, at, part, sizeof part), masked(w, at));
        else if (where[i].size > 0.0)
            rec_text(&rec, "\n  %c%-6zu %8.4g", own_letters(w)[at], at + 1, masked(w, at));
        else if (order[i].size > 0.0) /* no further position matters */
            rec_text(&rec, "\n  %16s", "");
        if (!w->v.leaves_out && order[i].size > 0.0)
            rec_text(&rec, "       %c%zu%c %*s %8.4g", own_letters(w)[q], q + 1,
                     w->v.choice[order[i].at / w->v.positions],
                     q < 9 ? 4 : q < 99 ? 3 : 2, "", w->change[order[i].at]);
    }
    size_t first, last;
    if (!w->v.leaves_out && order && matters(w, &first, &last))
        rec_text(&rec,
                 "\n  only positions %zu to %zu of %zu change anything; the model reads no others",
                 first, last, w->v.positions);
    if (w->words.weight)
        word_profile_record(&w->words, &rec);
    rec_text(&rec, "\n  plot row draws all of it%s", w->out ? "; written to " : "");
    rec_safe(&rec, w->out ? w->out : "");
    rec_num(&rec, "seconds", w->seconds);
    ws_emit(ws, &rec);
    free(order);
}

static void explain_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *why)
{
    const struct looking *w = job->arg;
    const struct kept_end end = { "explain-row", "row", explain_figure,
                                  w->out ? explain_csv : NULL, explain_record };
    struct err err = *why;
    char title[128];

    snprintf(title, sizeof title, "Row %zu by %s: the weights of the words over each position",
             w->row + 1, w->run);
    if (rc == ST_OK && !job->discard && w->words.weight) {
        struct figure *f = word_profile_draw(&w->words, title, &err);
        rc = f ? kept_take(ws, f, &err) : err.code;
    }
    kept_job_done(ws, job, rc, &err, &end, w->run);
}

static void neighbours_done(struct workspace *ws, struct job *job, enum status rc,
                            const struct err *why)
{
    const struct looking *w = job->arg;
    const struct kept_end end = { .verb = "neighbours", .tell = neighbours_record };

    kept_job_done(ws, job, rc, why, &end, w->run);
}

static const struct job_ops neighbours_ops = {
    .verb = "neighbours", .work = neighbours_work, .done = neighbours_done, .free = looking_free};
static const struct job_ops explain_ops = {
    .verb = "explain-row", .work = explain_work, .done = explain_done, .free = looking_free};

static enum status looking_new(const struct run *r, struct looking w, const char *out,
                               struct looking **made, struct err *err)
{
    *made = NULL;
    if (r->kind != RUN_FIT || !r->model || !r->has_enc) {
        err_set(err, ST_STATE, "%s has no model", r->id);
        err_hint(err, "fit");
        return ST_STATE;
    }
    struct looking *own = mem_calloc(1, sizeof *own, "a job", err);
    /* Of classes the latent functions are explained, and neighbours read rows alone. */
    enum status rc = own ? fit_setup_of_any(&w.study, r, err) : ST_NOMEM;
    if (own) {
        *own = w;
        own->molecule = NULL;
    }
    if (rc == ST_OK && !w.molecule && w.row >= w.study.data->table->n)
        rc = err_set(err, ST_RANGE, "row %zu: the data have %zu rows", w.row + 1,
                     w.study.data->table->n);
    if (rc == ST_OK) {
        own->model = model_ref(r->model);
        snprintf(own->run, sizeof own->run, "%s", r->id);
        own->out = out ? mem_strdup(out, err) : NULL;
        rc = out && !own->out ? ST_NOMEM : ST_OK;
        if (rc == ST_OK && w.molecule && !(own->molecule = mem_strdup(w.molecule, err)))
            rc = ST_NOMEM;
    }
    if (rc != ST_OK)
        looking_clear(own);
    else
        *made = own;
    return rc;
}

static enum status start(struct workspace *ws, const struct run *r, struct looking w,
                         const struct job_ops *ops, const char *out, const char *line,
                         struct err *err)
{
    struct looking *own;
    const enum status rc = looking_new(r, w, out, &own, err);

    return rc == ST_OK ? ws_submit(ws, ops, NULL, own, line, err) : rc;
}

enum status row_inspect_neighbours(struct workspace *ws, const struct run *r, const char *word,
                                   size_t count, const char *line, struct err *err)
{
    struct looking w = { .count = count };
    const size_t j = r->has_enc ? molecule_list_column(r->data) : SIZE_MAX;
    size_t at;
    enum status rc = row_inspect_find(r, word, &w.row, err);

    /* What names no row, or several, may be a molecule. */
    if (rc == ST_USAGE && j != SIZE_MAX && encoding_reads(&r->enc, r->data->table->col[j].name) &&
        smiles_syntax_wrong(word, strlen(word), &at) == NULL) {
        w.row = SIZE_MAX;
        w.column = j;
        w.molecule = word;
        rc = ST_OK;
        err_clear(err);
    }
    return rc == ST_OK ? start(ws, r, w, &neighbours_ops, NULL, line, err) : rc;
}

/* The input whose cells are changed part by part: the one of this name, or the first (NULL), which
 * may be of counts where the model reads nothing else.
 * SIZE_MAX: there is none, and columns as a whole tell more. */
static enum status find_sequence(const struct run *r, const char *name, size_t *column,
                                 struct err *err)
{
    const struct table *t = r->data->table;
    struct buf names = { 0 };
    char word[64];
    size_t n = 0, inputs = 0;

    *column = SIZE_MAX;
    for (size_t j = 0; j < t->ncols; j++)
        inputs += r->data->role[j] == ROLE_INPUT && encoding_reads(&r->enc, t->col[j].name);
    for (size_t j = 0; j < t->ncols; j++) {
        if (!has_variants(r->data, &r->enc, j))
            continue;
        buf_puts(&names, n++ > 0 ? ", " : "");
        text_safe(&names, t->col[j].name, 40);
        /* Counts beside other columns are left as a whole unless they are named. */
        const bool counts = (kind_of(&t->col[j])->rows & ROWS_COUNTS) != 0;
        if (*column == SIZE_MAX && (name ? !strcmp(name, t->col[j].name) : !counts || inputs == 1))
            *column = j;
    }
    if (name && *column == SIZE_MAX) {
        err_set(err, ST_NOT_FOUND, "column=%s is no sequence that %s reads",
                text_quoted(name, word, sizeof word), r->id);
        err_hint(err, n ? "one of: %s" : "explain-row row:1  without column=", buf_str(&names));
    }
    buf_free(&names);
    return name && *column == SIZE_MAX ? ST_NOT_FOUND : ST_OK;
}

enum status row_inspect_explain(struct workspace *ws, const struct run *r,
                                const struct row_inspect_ask *q, const char *line, struct err *err)
{
    struct looking w = { .row = q->row, .target = q->target };

    if (r->model && r->data && r->has_enc) {
        const enum status rc = find_sequence(r, q->column, &w.column, err);
        if (rc != ST_OK)
            return rc;
        if (w.column == SIZE_MAX)
            return row_columns_start(ws, r, q->row, encoding_for(&r->enc, q->target).target,
                                     q->out, line, err);
    }
    return start(ws, r, w, &explain_ops, q->out, line, err);
}

/* A molecule with its atoms coloured. */

enum status row_inspect_molecule_new(const struct run *r, size_t row, size_t target, void **out,
                                     struct err *err)
{
    struct looking w = { .row = row, .target = target }, *own = NULL;
    const struct table *t = r->data ? r->data->table : NULL;
    struct fingerprint how;
    size_t j = 0;

    *out = NULL;
    while (t && r->has_enc && j < t->ncols &&
           !(smiles_column_is(&t->col[j]) && has_variants(r->data, &r->enc, j)))
        j++;
    if (!t || !r->has_enc || j == t->ncols) {
        err_set(err, ST_STATE, "%s reads no molecule", r->id);
        err_hint(err, t ? "cols NAME type=smiles, then fit" : "open the file again, then fit");
        return ST_STATE;
    }
    enum status rc = fingerprint_parse(smiles_column_of(&t->col[j])->how, "encoding", &how, err);
    if (rc == ST_OK && how.lingo) {
        err_set(err, ST_STATE, "the counts are those of pieces of text, not of atoms: a molecule "
                "is drawn and coloured with RDKit");
        err_hint(err, "cols NAME encoding=morgan, then fit (needs librdkit-dev, libboost-dev and "
                 "g++ when gpdesk is built)  |  explain-row row:%zu", row + 1);
        return ST_STATE;
    }
    w.column = j;
    if (rc == ST_OK)
        rc = looking_new(r, w, NULL, &own, err);
    *out = own;
    return rc;
}

void row_inspect_molecule_free(void *work)
{
    looking_clear(work);
}

/* Draws the molecule into the figure, and below it words: of the row, if it has a name, and its
 * text. */
static enum status picture_of(const struct looking *w, const double *raises, struct figure *f,
                              struct err *err)
{
    enum { LINE = 20, WIDTH_LEAST = 420, LETTERS = 100 };
    const struct smiles_column *s = smiles_column_of(&table_of(w)->col[w->column]);
    struct fingerprint how;
    struct drawing d = { 0 };
    struct sketch *to = NULL;
    char line[160], words[MEAN_WORDS], raise[MEAN_WORDS + 48];
    double wide, high;

    snprintf(line, sizeof line, "row %zu by %s: %s %.4g", w->row + 1, w->run,
             mean_words(w, words), w->mean);
    if (!w->class.several)
        snprintf(line + strlen(line), sizeof line - strlen(line), ", target %.4g",
                 target_of(w, w->row));
    snprintf(raise, sizeof raise, "blue atoms raise the %s, orange ones lower it", words);
    const char *const lines[] = { s->text[w->row], line, raise,
                                  name_of(w, w->row) };
    const size_t n = *lines[3] ? 4 : 3;
    enum status rc = fingerprint_parse(s->how, "encoding", &how, err);
    if (rc == ST_OK)
        rc = drawing_read(s->text[w->row], &how, &d, err);
    if (rc == ST_OK && d.atoms != w->v.positions)
        rc = err_set(err, ST_FORMAT, "the molecule was drawn twice, and not alike");
    if (rc == ST_OK) {
        molecule_sketch_size(&d, &wide, &high);
        wide = fmax(wide, WIDTH_LEAST);
        to = sketch_new(wide, high + LINE * (double)(n + 1), err);
        rc = to ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        molecule_sketch(to, &d, &(struct molecule_box){ wide / 2, high / 2, wide, high }, raises);
        for (size_t i = 0; i < n; i++)
            sketch_words(to, wide / 2, high + LINE * ((double)i + 0.75), 14, LETTERS, lines[i]);
        rc = sketch_into(to, f, err);
    }
    drawing_free(&d);
    return rc;
}

struct figure *row_inspect_molecule(void *work, struct job *job, struct err *err)
{
    struct looking *w = work;
    enum status rc = explain(w, job, err);
    const size_t n = w->v.positions;
    double *x = rc == ST_OK ? mem_calloc(2 * n + 1, sizeof *x, "plot", err) : NULL,
           *raises = x ? x + n : NULL;
    char title[160], words[MEAN_WORDS], rise[MEAN_WORDS + 16];

    snprintf(title, sizeof title, "Row %zu by %s: how much each atom raises the %s", w->row + 1,
             w->run, mean_words(w, words));
    snprintf(rise, sizeof rise, "rise of the %s", words);
    struct figure *f = x ? figure_new("molecule", title, err) : NULL;
    bool ok = f && figure_label(f, "atom", rise, err) == ST_OK;
    size_t most = 0;
    for (size_t i = 0; ok && i < n; i++) {
        x[i] = (double)i + 1.0;
        raises[i] = -w->change[i];
        most = fabs(raises[i]) > fabs(raises[most]) ? i : most;
    }
    char name[32];
    ok = ok && figure_add(f, "", MARK_BARS, n, x, raises, err) &&
         picture_of(w, raises, f, err) == ST_OK &&
         figure_verdict(f, err, "%s %.4g; atom %s changes it most, by %.3g (the molecule itself "
                        "is drawn in files: out=FILE.svg)", words, w->mean,
                        part_name(w, most, name, sizeof name), raises[most]) == ST_OK;
    free(x);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}
