/* app/runs/telling.c -- see telling.h. */
#include "app/runs/telling.h"

#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/prepare.h"
#include "data/prepare_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One measurement: a value for each target of the data, or none where it failed. */
struct told { char id[64]; char where[48]; bool failed; double y[TARGET_COLUMNS_MOST]; };

struct telling {
    const struct args *a;
    char *target[TARGET_COLUMNS_MOST]; size_t t; /* names */
    struct told *at; size_t n, cap;
    size_t empty; /* rows of the file without a value */
    struct dataset *d;         /* the data when the job was made, for a file alone, */
    struct prepare_rows asked; /* and their proposals */
    enum goal { MOST, LEAST, NEAREST } goal; double near; /* which value is the best */
};

static void telling_clear(struct telling *g)
{
    for (size_t j = 0; j < g->t; j++)
        free(g->target[j]);
    free(g->at);
    dataset_unref(g->d);
    prepare_rows_free(&g->asked);
    args_free((struct args *)(uintptr_t)g->a);
}

static void telling_free(struct job *job)
{
    if (job->arg) {
        telling_clear(job->arg);
        free(job->arg);
    }
    job->arg = NULL;
}

/* Reading. */

static enum status bad_value(const struct told *m, const char *text, struct err *err)
{
    char word[48];

    err_named(err, ST_USAGE, "told", "%s: %s is neither a number nor the word failed", m->where,
              text_quoted(text, word, sizeof word));
    err_hint(err, "tell s3=0.82 s4=failed");
    return ST_USAGE;
}

static enum status room(struct telling *g, struct told **out, struct err *err)
{
    const enum status rc =
        mem_grow((void **)&g->at, &g->cap, g->n + 1, sizeof *g->at, "measurements", err);

    if (rc == ST_OK)
        *(*out = &g->at[g->n]) = (struct told){ .failed = false };
    return rc;
}

/* A value in words; it may be "failed". */
static enum status read_word(struct told *m, size_t j, const char *text, struct err *err)
{
    if (!strcmp(text, "failed"))
        m->failed = true;
    else if (!text_double(text, strlen(text), &m->y[j]) || !isfinite(m->y[j]))
        return bad_value(m, text, err);
    return ST_OK;
}

/* The values of one row with commas between them, or the word failed. */
static enum status read_words(const struct telling *g, struct told *m, const char *text,
                              struct err *err)
{
    size_t j = 0;
    enum status rc = ST_OK;

    for (const char *p = text; rc == ST_OK; j++) {
        char word[64];
        const size_t len = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)(len < 63 ? len : 63), p);
        if (j < g->t)
            rc = read_word(m, j, word, err);
        if (p[len] == '\0')
            break;
        p += len + 1;
    }
    if (rc != ST_OK || m->failed || j + 1 == g->t)
        return rc;
    err_named(err, ST_USAGE, "told", "%s: there %s %zu target%s, and %zu value%s", m->where,
              g->t == 1 ? "is" : "are", g->t, g->t == 1 ? "" : "s", j + 1, j ? "s" : "");
    err_hint(err, "tell s3=0.82, with a comma between the values of several targets");
    return ST_USAGE;
}

/* s3=0.82, with two targets s3=0.82,1.4 */
static enum status read_line(struct telling *g, const struct args *a, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < args_many(a, "id"); i++) {
        const char *text = args_many_at(a, "id", i), *value = strchr(text, '=');
        struct told *m = NULL;
        rc = room(g, &m, err);
        if (rc != ST_OK)
            break;
        g->n++;
        snprintf(m->where, sizeof m->where, "%.40s", text);
        snprintf(m->id, sizeof m->id, "%.*s", (int)(value ? value - text : 0), text);
        rc = value ? read_words(g, m, value + 1, err) : bad_value(m, text, err);
    }
    return rc;
}

/* A row of the file; *has is false where all its values are missing. */
static enum status read_row(const struct telling *g, const struct table *t, const size_t *col,
                            size_t row, struct told *m, bool *has, struct err *err)
{
    size_t missing = 0;
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < g->t; j++) {
        const struct column *c = &t->col[col[j]];
        struct buf cell = { 0 };
        if (column_missing(c, row)) {
            missing++;
            continue;
        }
        table_cell(t, row, col[j], &cell);
        rc = c->type == COL_REAL ? (m->y[j] = column_at(c, row), ST_OK)
                                 : read_word(m, j, buf_str(&cell), err);
        buf_free(&cell);
    }
    *has = missing < g->t;
    if (rc == ST_OK && *has && missing > 0 && !m->failed)
        rc = err_named(err, ST_USAGE, "told", "%s has values of some targets and not of others",
                       m->where);
    return rc;
}

static enum status find_columns(const struct telling *g, const struct table *t, size_t *id,
                                size_t *col, struct err *err)
{
    enum status rc = dataset_find_column(t, "id", err);

    *id = table_find(t, "id");
    if (rc != ST_OK)
        err_hint(err, "the file that suggest out= wrote has the column id");
    for (size_t j = 0; rc == ST_OK && j < g->t; j++) {
        rc = dataset_find_column(t, g->target[j], err);
        col[j] = table_find(t, g->target[j]);
        if (rc != ST_OK)
            err_hint(err, "tell FILE, with a column %.80s of measured values", g->target[j]);
    }
    return rc;
}

/* Inputs of the file that are not those of the proposal: of another plate, or changed.  A number
 * may be off by a hundredth of its column's standard deviation, as by rounding. */

static double spread(const struct column *c, size_t n)
{
    double sum = 0.0, sq = 0.0;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const double v = column_at(c, i);
        if (!isfinite(v))
            continue;
        const double off = v - sum;
        sum += off / (double)++k; /* the mean so far */
        sq += off * (v - sum);
    }
    return k > 1 ? sqrt(sq / (double)k) : 0.0;
}

static bool cell_same(const struct telling *g, const char *name, const char *cell, const char *had)
{
    const size_t j = table_find(g->d->table, name);
    const struct column *c = j == SIZE_MAX ? NULL : &g->d->table->col[j];
    double a, b;

    if (!strcmp(cell, had))
        return true;
    return c && c->type == COL_REAL && text_double(cell, strlen(cell), &a) &&
           text_double(had, strlen(had), &b) &&
           fabs(a - b) <= fmax(0.01 * spread(c, g->d->table->n), 1e-6 * fabs(b));
}

/* Row `row` of the file against its proposal, if there is one. */
static enum status check_inputs(const struct telling *g, const struct table *t, size_t id,
                                size_t row, const struct told *m, struct err *err)
{
    const struct prepare_rows_asked *p = NULL;
    enum status rc = ST_OK;

    for (size_t i = 0; i < g->asked.n; i++)
        if (!strcmp(g->asked.at[i].id, m->id))
            p = &g->asked.at[i];
    for (size_t k = 0; p && rc == ST_OK && k < t->ncols; k++) {
        char *had = k == id ? NULL : prepare_rows_text(p->cells, t->col[k].name);
        struct buf cell = { 0 };
        if (had && !column_missing(&t->col[k], row)) {
            char is[48], was[48];
            table_cell(t, row, k, &cell);
            if (!cell_same(g, t->col[k].name, buf_str(&cell), had)) {
                rc = err_named(err, ST_STATE, "told",
                               "%s: %.60s is %s where %s was proposed with %s, and nothing is "
                               "changed", m->where, t->col[k].name,
                               text_quoted(buf_str(&cell), is, sizeof is), m->id,
                               text_quoted(had, was, sizeof was));
                err_hint(err, "tell the file of these proposals, or tell %.20s=VALUE", m->id);
            }
        }
        buf_free(&cell);
        free(had);
    }
    return rc;
}

static enum status tell_work(struct job *job, struct err *err)
{
    struct telling *g = job->arg;
    struct buf types = { 0 };
    struct table *t = NULL;
    size_t id = 0, col[TARGET_COLUMNS_MOST];

    for (size_t j = 0; j < g->t; j++) /* among values the word failed may stand */
        buf_printf(&types, "%s%s=text", j ? "," : "", g->target[j]);
    const struct import_opts opts = { .header = 1, .types = buf_str(&types) };
    enum status rc = types.failed ? err_nomem(err, types.len, "a type")
                                  : import_file(args_text(g->a, "file"), &opts, &job->ctl, &t, err);

    buf_free(&types);
    if (rc == ST_NOT_FOUND)
        err_hint(err, "tell FILE, with a column %.80s of measured values", g->target[0]);
    if (rc == ST_OK)
        rc = find_columns(g, t, &id, col, err);
    for (size_t i = 0; rc == ST_OK && i < t->n; i++) {
        struct told *m = NULL;
        struct buf cell = { 0 };
        bool has = false;
        rc = room(g, &m, err);
        if (rc != ST_OK)
            break;
        table_cell(t, i, id, &cell);
        snprintf(m->id, sizeof m->id, "%s", buf_str(&cell));
        buf_free(&cell);
        snprintf(m->where, sizeof m->where, "row %zu (%.20s)", i + 1, m->id);
        rc = read_row(g, t, col, i, m, &has, err);
        if (rc == ST_OK && has)
            rc = check_inputs(g, t, id, i, m, err);
        g->n += has;
        g->empty += !has;
    }
    table_unref(t);
    return rc;
}

/* Applying. */

static enum status clash(const struct told *m, const char *had, struct err *err)
{
    err_named(err, ST_STATE, "told", "%s: %.40s was told before, as %.40s, and nothing is changed",
              m->where, m->id, had);
    err_hint(err, "undo takes back what was told");
    return ST_STATE;
}

/* The proposal that is meant; *same: it has this outcome already. */
static enum status find_asked(const struct telling *g, const struct prepare_rows *asked,
                              const struct told *m, const struct prepare_rows_asked **out,
                              bool *same, struct err *err)
{
    const struct prepare_rows_asked *p = NULL;
    enum status rc = ST_OK;

    for (size_t i = 0; i < asked->n; i++)
        if (!strcmp(asked->at[i].id, m->id))
            p = &asked->at[i];
    *out = p;
    *same = false;
    if (!p) {
        char word[48];
        err_named(err, ST_NOT_FOUND, "told",
                  "%s: no proposal has the id %s, and nothing is changed", m->where,
                  text_quoted(m->id, word, sizeof word));
        err_hint(err, asked->n ? "suggest made the ids %s to %s" : "suggest 8 out=plate.csv",
                 asked->n ? asked->at[0].id : "", asked->n ? asked->at[asked->n - 1].id : "");
        return ST_NOT_FOUND;
    }
    if (p->state == ROWS_PENDING)
        return ST_OK;
    *same = p->state == ROWS_FAILED ? m->failed : !m->failed;
    if (!*same)
        return clash(m, p->state == ROWS_FAILED ? "failed" : "a value", err);
    for (size_t j = 0; rc == ST_OK && !m->failed && j < g->t; j++) {
        char *text = prepare_rows_text(p->measured, g->target[j]);
        double had = NAN;
        if (!text || !text_double(text, strlen(text), &had) || had != m->y[j])
            rc = clash(m, text ? text : "missing", err);
        free(text);
    }
    return rc;
}

/* Writes a step: the cells of the proposal, the values, and what every row needs. */
static void write_step(const struct telling *g, const struct dataset *d,
                       const struct prepare_rows_asked *p, const struct told *m, struct buf *steps)
{
    const size_t weight = dataset_weight(d);

    buf_puts(steps, steps->len ? "\n" : "");
    if (m->failed) {
        buf_printf(steps, "failed {\"id\":\"%s\"}", p->id);
        return;
    }
    buf_printf(steps, "row %.*s", (int)strlen(p->cells) - 1, p->cells);
    for (size_t j = 0; j < g->t; j++) {
        struct column one = { .name = g->target[j], .type = COL_REAL,
                              .v = (double *)(uintptr_t)&m->y[j] };
        prepare_rows_cell(steps, &one, 0);
    }
    if (weight != SIZE_MAX) {
        double v = 1.0;
        struct column one = { .name = d->table->col[weight].name, .type = COL_REAL, .v = &v };
        prepare_rows_cell(steps, &one, 0);
    }
    buf_putc(steps, '}');
}

struct counts { size_t told, failed, again; };

/* All measurements as steps. */
static enum status write_steps(const struct telling *g, const struct dataset *d,
                               struct buf *steps, struct counts *o, struct err *err)
{
    struct prepare_rows asked;
    enum status rc = prepare_rows_read(d->steps, &asked, err);

    for (size_t i = 0; rc == ST_OK && i < g->n; i++) {
        const struct prepare_rows_asked *p;
        bool same;
        for (size_t k = 0; rc == ST_OK && k < i; k++)
            if (!strcmp(g->at[k].id, g->at[i].id))
                rc = err_named(err, ST_USAGE, "told", "%s: the id is there twice", g->at[i].where);
        if (rc == ST_OK)
            rc = find_asked(g, &asked, &g->at[i], &p, &same, err);
        if (rc != ST_OK)
            break;
        o->again += same;
        o->failed += !same && g->at[i].failed;
        o->told += !same && !g->at[i].failed;
        if (!same)
            write_step(g, d, p, &g->at[i], steps);
    }
    prepare_rows_free(&asked);
    return rc == ST_OK && steps->failed ? err_nomem(err, steps->len, "measurements") : rc;
}

/* The best measured value of the first target. */
static double best_of(const struct telling *g, const struct dataset *d)
{
    const size_t j = table_find(d->table, g->target[0]);
    double best = NAN, least = INFINITY;

    for (size_t i = 0; j != SIZE_MAX && i < d->table->n; i++) {
        const double y = column_at(&d->table->col[j], i);
        const double cost = g->goal == MOST ? -y : g->goal == LEAST ? y : fabs(y - g->near);
        if (cost < least)
            best = y, least = cost;
    }
    return best;
}

static enum status read_goal(struct telling *g, struct err *err)
{
    const char *goal = args_text(g->a, "goal");

    g->goal = !strcmp(goal, "max") ? MOST : !strcmp(goal, "min") ? LEAST : NEAREST;
    if (g->goal != NEAREST || (text_double(goal, strlen(goal), &g->near) && isfinite(g->near)))
        return ST_OK;
    err_set(err, ST_USAGE, "goal=%.40s is neither max nor min nor a value of the target", goal);
    err_hint(err, "tell ... goal=max  |  goal=min  |  goal=1.5");
    return ST_USAGE;
}

static enum status apply(struct workspace *ws, const struct telling *g, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    struct buf steps = { 0 };
    struct counts o = { 0 };
    struct prepare_rows asked = { 0 };
    struct rec rec;
    char number[32];
    enum status rc = d ? write_steps(g, d, &steps, &o, err) : err->code;

    if (rc == ST_OK && steps.len)
        rc = prepare_dataset(d, buf_str(&steps), NULL, NULL, err);
    if (rc == ST_OK)
        rc = prepare_rows_read(d->steps, &asked, err);
    if (rc == ST_OK) {
        const size_t pending = prepare_rows_pending(&asked);
        const double best = best_of(g, d);
        rec_init(&rec, REC_RESULT, "tell");
        rec_str(&rec, "dataset", d->name);
        rec_int(&rec, "told", (int64_t)o.told);
        rec_int(&rec, "pending", (int64_t)pending);
        rec_int(&rec, "failed", (int64_t)o.failed);
        rec_num(&rec, "best", best);
        rec_int(&rec, "rows", (int64_t)d->table->n);
        text_number(number, sizeof number, best);
        rec_text(&rec, "%zu measured and %zu failed; %zu pending; the best measured is %s\n  ",
                 o.told, o.failed, pending, number);
        rec_safe(&rec, d->name);
        rec_text(&rec, " now has %zu rows; fit uses them, at the same hyperparameters until tune",
                 d->table->n);
        ws_emit(ws, &rec);
        if (o.again)
            ws_note(ws, "told", "%zu value%s known already", o.again,
                    o.again == 1 ? " was" : "s were");
        ws->serial++;
    }
    prepare_rows_free(&asked);
    buf_free(&steps);
    return rc;
}

static void tell_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct err own = { 0 };

    if (rc == ST_CANCELLED || job->discard) {
        ws_note(ws, "stopped", "tell was stopped; nothing was changed");
        ws->unconverged = true;
        return;
    }
    if (rc == ST_OK) {
        rc = apply(ws, job->arg, &own);
        err = &own;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        job->rc = rc;
    }
}

static const struct job_ops tell_ops = { .verb = "tell", .work = tell_work, .done = tell_done,
                                         .free = telling_free };

static enum status take_targets(struct telling *g, const struct dataset *d, struct err *err)
{
    for (size_t j = 0; j < d->table->ncols; j++)
        if (d->role[j] == ROLE_TARGET && g->t < TARGET_COLUMNS_MOST) {
            g->target[g->t] = mem_strdup(d->table->col[j].name, err);
            if (!g->target[g->t])
                return ST_NOMEM;
            g->t++;
        }
    return ST_OK;
}

enum status telling_start(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    struct telling *g = d ? mem_calloc(1, sizeof *g, "job", err) : NULL;

    if (!g)
        return err->code;
    g->a = args_ref(a);
    enum status rc = take_targets(g, d, err);
    if (rc == ST_OK && !args_text(a, "file") == !args_many(a, "id")) {
        rc = err_set(err, ST_USAGE, "tell takes either a file or values");
        err_hint(err, "tell plate.csv  |  tell s3=0.82 s4=failed");
    }
    if (rc == ST_OK)
        rc = read_goal(g, err);
    if (rc == ST_OK && args_text(a, "file")) {
        g->d = dataset_snapshot(d, err);
        rc = g->d ? prepare_rows_read(d->steps, &g->asked, err) : ST_NOMEM;
    }
    if (rc == ST_OK && args_text(a, "file"))
        return ws_submit(ws, &tell_ops, NULL, g, args_line(a), err);
    if (rc == ST_OK)
        rc = read_line(g, a, err);
    if (rc == ST_OK)
        rc = apply(ws, g, err);
    telling_clear(g);
    free(g);
    return rc;
}
