/* app/runs/movable.c -- see movable.h. */
#include "app/runs/movable.h"

#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/models/exact.h"
#include "compute/rng.h"
#include "data/calendar.h"
#include "data/kinds/kind.h"
#include "data/prepare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DONORS_MOST = 4000, DONOR_CELLS_MOST = 1 << 24 };

static void rows_free(struct movable_rows *r)
{
    encode_free(&r->e);
    free(r->x);
    *r = (struct movable_rows){ 0 };
}

void movable_drop_columns(struct movable *m)
{
    for (size_t c = 0; c < m->ncol; c++) {
        free(m->col[c].name);
        free(m->col[c].moves);
    }
    free(m->col);
    m->col = NULL;
    m->ncol = 0;
}

void movable_free(struct movable *m)
{
    movable_drop_columns(m);
    rows_free(&m->sample);
    rows_free(&m->train);
    encoding_free(&m->enc);
    model_unref(m->model);
    dataset_unref(m->data);
    *m = (struct movable){ 0 };
}

/* Columns. */

size_t movable_inputs(const struct encoding *e)
{
    return e->ncol + encoding_layout(e).nparts;
}

/* The column of the table that input j of the encoding reads; from ncol on parts of a row. */
static const char *source_of(const struct encoding *e, size_t j)
{
    return j < e->ncol ? e->col[j].column : encoding_part(e, j - e->ncol)->column;
}

/* What moves a column: the group that it is in, the column that it was computed from, or itself. */
static void mover_of(const struct movable *m, const char *column, bool by_group, struct buf *out)
{
    struct buf origin = { 0 };
    const struct dataset *d = m->data;

    if (!prepare_origin(d->steps, column, &origin))
        buf_puts(&origin, column);
    size_t j = by_group ? table_find(d->table, column) : SIZE_MAX;
    if (j != SIZE_MAX && !d->group[j])
        j = table_find(d->table, buf_str(&origin));
    buf_puts(out, j != SIZE_MAX && d->group[j] ? d->group[j] : buf_str(&origin));
    buf_free(&origin);
}

static enum movable_kind kind_at_column(const struct table *t, size_t j)
{
    if (j == SIZE_MAX || (t->col[j].type != COL_REAL && t->col[j].type != COL_CATEGORY))
        return MOVABLE_OTHER;
    return t->col[j].type == COL_REAL ? MOVABLE_NUMBER : MOVABLE_LEVELS;
}

/* Adds input j to the column that moves it, which may be new. */
static enum status add_input(struct movable *m, size_t j, bool by_group, size_t *cap,
                             struct err *err)
{
    struct buf name = { 0 };
    size_t c = 0;

    mover_of(m, source_of(&m->enc, j), by_group, &name);
    while (c < m->ncol && strcmp(m->col[c].name, buf_str(&name)))
        c++;
    enum status rc = ST_OK;
    if (c == m->ncol) {
        rc = mem_grow((void **)&m->col, cap, c + 1, sizeof *m->col, "columns", err);
        if (rc == ST_OK) {
            m->col[c] = (struct movable_column){ .name = mem_strdup(buf_str(&name), err),
                                                 .at = SIZE_MAX };
            m->ncol++;
            m->col[c].moves = m->col[c].name ? mem_calloc(movable_inputs(&m->enc), sizeof(bool),
                                                          "columns", err)
                                             : NULL;
            rc = m->col[c].moves ? ST_OK : ST_NOMEM;
        }
    }
    if (rc == ST_OK)
        m->col[c].moves[j] = true;
    buf_free(&name);
    return rc;
}

/* A column that moves a single column of the table has the name of that one; one that moves several
 * has the values of the column that they were computed from. */
static enum status name_column(struct movable *m, struct movable_column *c, bool by_group,
                               struct err *err)
{
    const char *only = NULL;
    bool one = true;

    for (size_t j = 0; j < movable_inputs(&m->enc); j++) {
        const char *s = c->moves[j] ? source_of(&m->enc, j) : NULL;
        one = one && (!s || !only || !strcmp(s, only));
        only = s ? s : only;
    }
    if (one && !(by_group && strcmp(only, c->name))) {
        char *name = mem_strdup(only, err);
        if (!name)
            return ST_NOMEM;
        free(c->name);
        c->name = name;
    }
    c->at = table_find(m->data->table, one ? only : c->name);
    if (!one && by_group && c->at != SIZE_MAX && m->data->group[c->at])
        c->at = SIZE_MAX;
    c->kind = kind_at_column(m->data->table, c->at);
    return ST_OK;
}

static enum status find_columns(struct movable *m, bool by_group, struct err *err)
{
    const size_t n = movable_inputs(&m->enc);
    size_t cap = 0;
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < n; j++)
        rc = add_input(m, j, by_group, &cap, err);
    for (size_t c = 0; rc == ST_OK && c < m->ncol; c++)
        rc = name_column(m, &m->col[c], by_group, err);
    return rc;
}

enum status movable_take(struct movable *m, const struct run *r, const char *target, bool by_group,
                         struct err *err)
{
    *m = (struct movable){ 0 };
    return run_one_function(r, err) == ST_OK ? movable_take_any(m, r, target, by_group, err)
                                             : ST_UNSUPPORTED;
}

enum status movable_take_any(struct movable *m, const struct run *r, const char *target,
                             bool by_group, struct err *err)
{
    *m = (struct movable){ 0 };
    if (r->kind != RUN_FIT || !r->model || !r->has_enc) {
        err_set(err, ST_STATE, "%s has no model", r->id);
        err_hint(err, "fit");
        return ST_STATE;
    }
    if (!r->data) {
        err_set(err, ST_STATE, "the data of %s is no longer loaded", r->id);
        err_hint(err, "open FILE, then fit");
        return ST_STATE;
    }
    m->data = dataset_ref(r->data);
    m->model = model_ref(r->model);
    snprintf(m->run, sizeof m->run, "%s", r->id);
    enum status rc = encoding_copy(&m->enc, &r->enc, err);
    if (rc == ST_OK)
        rc = run_target(r, target, &m->target, err);
    return rc == ST_OK ? find_columns(m, by_group, err) : rc;
}

size_t movable_find(const struct movable *m, const char *name)
{
    for (size_t c = 0; c < m->ncol; c++)
        if (!strcmp(m->col[c].name, name))
            return c;
    for (size_t c = 0; c < m->ncol; c++)
        for (size_t j = 0; j < movable_inputs(&m->enc); j++)
            if (m->col[c].moves[j] && !strcmp(source_of(&m->enc, j), name))
                return c;
    return SIZE_MAX;
}

enum status movable_unknown(const struct movable *m, const char *name, struct err *err)
{
    const char **names = mem_calloc(m->ncol + 1, sizeof *names, "names", err);
    char near[120] = "", word[64];

    for (size_t c = 0; names && c < m->ncol; c++)
        names[c] = m->col[c].name;
    const bool found = names && command_nearest(name, names, m->ncol, near, sizeof near);
    free(names);
    err_set(err, ST_NOT_FOUND, "%s is not an input of %s", text_quoted(name, word, sizeof word),
            m->run);
    if (found)
        err_hint(err, "%s", near);
    else
        err_hint(err, "cols lists them");
    return ST_NOT_FOUND;
}

/* Rows. */

static int by_index(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Keeps k of n row numbers, at random, in their order. */
static enum status draw_rows(const struct movable *m, uint32_t purpose, size_t *rows, size_t *n,
                             size_t k, struct err *err)
{
    if (*n <= k)
        return ST_OK;
    size_t *order = mem_calloc(*n, sizeof *order, "a sample of rows", err);
    if (!order)
        return ST_NOMEM;
    rng_permutation(m->model->seed, rng_stream(RNG_EFFECTS, purpose), *n, order);
    qsort(order, k, sizeof *order, by_index);
    for (size_t i = 0; i < k; i++)
        rows[i] = rows[order[i]]; /* order is ascending, so nothing is lost */
    *n = k;
    free(order);
    return ST_OK;
}

static enum status encode_rows(const struct movable *m, const size_t *rows, size_t n, bool want_y,
                               struct movable_rows *out, struct err *err)
{
    enum status rc = encode(&m->enc, m->data->table, rows, n, want_y, &out->e, err);

    if (rc == ST_OK && out->e.n == 0)
        rc = err_set(err, ST_STATE, "none of these rows is complete");
    if (rc == ST_OK) {
        out->x = exact_inputs(&out->e.base, err);
        rc = out->x ? ST_OK : err_status(err);
    }
    return rc;
}

enum status movable_sample(struct movable *m, size_t rows, struct err *err)
{
    static const enum part order[] = { PART_TEST, PART_VALID, PART_TRAIN };
    size_t *row = NULL, n = 0;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && n == 0 && i < sizeof order / sizeof *order; i++) {
        free(row);
        row = NULL;
        m->part = order[i];
        rc = dataset_rows(m->data, m->part, &row, &n, err);
    }
    m->available = n;
    if (rc == ST_OK)
        rc = draw_rows(m, 1, row, &n, rows, err);
    if (rc == ST_OK)
        rc = encode_rows(m, row, n, true, &m->sample, err);
    free(row);
    return rc;
}

enum status movable_donors(struct movable *m, size_t first, struct err *err)
{
    const size_t room = DONOR_CELLS_MOST / (m->enc.d ? m->enc.d : 1),
                 most = room < 16 ? 16 : room < DONORS_MOST ? room : DONORS_MOST;
    size_t *row = NULL, n = 0;
    enum status rc = dataset_rows(m->data, PART_TRAIN, &row, &n, err);

    if (rc == ST_OK)
        rc = draw_rows(m, 2, row, &n, most, err);
    if (rc == ST_OK && first != SIZE_MAX) {
        size_t *more = mem_calloc(n + 1, sizeof *more, "a sample of rows", err);
        if (more) {
            more[0] = first;
            memcpy(more + 1, row, n * sizeof *row);
            n++;
        }
        free(row);
        row = more;
        rc = row ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = encode_rows(m, row, n, first == SIZE_MAX, &m->train, err);
    free(row);
    return rc;
}

bool *movable_mask(const struct movable *m, size_t c, size_t d, struct err *err)
{
    bool *mask = mem_calloc(d, sizeof *mask, "inputs", err);

    const struct movable_column *col = &m->col[c];
    for (size_t j = 0; mask && j < d; j++)
        mask[j] = (j >= col->from && j < col->to) || (j < m->enc.ncol && col->moves[j]);
    for (size_t p = 0; mask && encoding_part(&m->enc, p); p++) {
        const size_t from = encoding_part_first(&m->enc, p);
        const size_t to = encoding_part(&m->enc, p + 1) ? encoding_part_first(&m->enc, p + 1) : d;
        for (size_t j = from; j < to && j < d; j++)
            mask[j] |= col->moves[m->enc.ncol + p];
    }
    return mask;
}

struct effects_ask movable_ask(const struct movable *m, const struct tools *on)
{
    return (struct effects_ask){ .m = m->model, .target = m->target, .on = on,
                                 .rows = { &m->sample.e.base, m->sample.x, m->sample.e.n } };
}

void movable_cell(const struct movable *m, size_t c, size_t row, struct buf *out)
{
    if (m->col[c].kind != MOVABLE_OTHER)
        table_cell(m->data->table, row, m->col[c].at, out);
}

void movable_show(const struct movable *m, size_t c, size_t row, struct buf *out)
{
    const struct column *of =
        m->col[c].kind == MOVABLE_NUMBER ? &m->data->table->col[m->col[c].at] : NULL;

    if (!of)
        movable_cell(m, c, row, out);
    else if (of->date && isfinite(column_at(of, row)))
        calendar_print(column_at(of, row), out);
    else
        buf_printf(out, "%.6g", column_at(of, row));
}

void movable_csv(const struct movable *m, size_t c, const char *cell, struct buf *out)
{
    if (m->col[c].kind == MOVABLE_NUMBER)
        buf_puts(out, cell);
    else
        text_csv_guarded(out, cell);
}

/* Measured: 0.7 ns for a feature, 2.4 ns for an input of a pair of rows. */
void movable_tell_cost(struct workspace *ws, const struct movable *m, double predictions,
                       double pairs, bool always)
{
    static const double felt = 5.0;
    const double pair = 2.4e-9 * (double)m->model->d,
                 each = (m->model->kind->draws ? 0.7e-9 : pair) * (double)m->model->M,
                 seconds = predictions * each + pairs * pair;
    char takes[32], count[32];

    if (!always && seconds < felt)
        return;
    text_seconds(takes, sizeof takes, seconds);
    text_count(count, sizeof count, (uint64_t)predictions);
    ws_note(ws, "cost", "at most %s predictions, about %s of one core; Ctrl-C or stop ends it",
            count, takes);
}

void movable_words(const struct movable *m, struct buf *out)
{
    const size_t n = m->sample.e.n;

    buf_printf(out, "%zu", n);
    if (n < m->available)
        buf_printf(out, " of %zu", m->available);
    buf_printf(out, " %s rows", dataset_part_names[m->part]);
}
