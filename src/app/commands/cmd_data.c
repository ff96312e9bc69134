/* app/commands/cmd_data.c -- listing and preparing data: data, use, show, summary, cols, missing,
 * scale, split. */
#include "app/commands/commands.h"
#include "app/commands/cols_molecules.h"
#include "app/commands/data_words.h"
#include "app/shell/import_args.h"
#include "app/shell/text_table.h"
#include "app/runs/fitting.h"
#include "app/core/job.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "data/calendar.h"
#include "data/kinds/kind.h"
#include "data/prepare_rows.h"
#include "data/split_by.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOW_ROWS = 20, SHOW_COLS = 12, SHOW_MAX = 1000, INLINE_CELLS = 4000000 };

/* Data, use. */

/* Proposals of suggest that wait for their measurement. */
static size_t pending_rows(const struct dataset *d)
{
    struct prepare_rows asked;
    size_t n = 0;

    if (prepare_rows_read(d->steps, &asked, NULL) == ST_OK)
        n = prepare_rows_pending(&asked);
    prepare_rows_free(&asked);
    return n;
}

static enum status cmd_list(struct workspace *ws, const struct args *a, struct err *err)
{
    static const bool right[] = { false, true, true, false, false, false };
    struct text_table g;
    struct rec r;

    (void)a, (void)err;
    rec_init(&r, REC_RESULT, "data");
    rec_array(&r, "datasets");
    text_table_init(&g, 6);
    for (size_t i = 0; i < ws->ndata; i++) {
        const struct dataset *d = ws->data[i];
        struct buf y = { 0 };
        char n[32];
        text_count(n, sizeof n, d->table->n);
        text_table_printf(&g, "%s%s", i == ws->cur ? "*" : " ", d->name);
        const size_t pending = pending_rows(d);
        if (pending)
            text_table_printf(&g, "%s rows (%zu pending)", n, pending);
        else
            text_table_printf(&g, "%s rows", n);
        text_table_printf(&g, "%zu inputs", data_words_inputs(d));
        data_words_target(d, &y);
        text_table_printf(&g, "-> %s", buf_str(&y));
        buf_free(&y);
        text_table_cell(&g, d->split.how ? d->split.how : "not split", 40);
        text_table_cell(&g, d->table->path, 60);
        rec_item(&r);
        rec_str(&r, "dataset", d->name);
        rec_bool(&r, "current", i == ws->cur);
        rec_int(&r, "rows", (int64_t)d->table->n);
        rec_int(&r, "pending", (int64_t)pending);
        rec_int(&r, "inputs", (int64_t)data_words_inputs(d));
        data_words_target_json(&r, d);
        rec_str(&r, "split", d->split.how);
        rec_str(&r, "path", d->table->path);
        rec_close(&r);
    }
    rec_array_close(&r);
    text_table_print(&g, right, &r.text);
    if (!ws->ndata)
        rec_text(&r, "no data is loaded; use open FILE, or demo co2");
    text_table_free(&g);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_use(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, args_text(a, "dataset"), err);
    struct rec r;

    if (!d)
        return err->code;
    for (size_t i = 0; i < ws->ndata; i++)
        if (ws->data[i] == d)
            ws->cur = i;
    rec_init(&r, REC_RESULT, "use");
    rec_str(&r, "dataset", d->name);
    rec_text(&r, "current: ");
    rec_safe(&r, d->name);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Show. */

enum { SHOW_WIDTH = 18 }; /* width of a cell in columns */

static void cell_text(const struct column *c, size_t row, struct buf *out)
{
    char num[40];

    buf_clear(out);
    if (c->type == COL_REAL) {
        const double x = column_at(c, row);
        if (isnan(x))
            return;
        if (c->date) {
            calendar_print(x, out);
            return;
        }
        text_number(num, sizeof num, x);
        buf_puts(out, num);
    } else {
        table_column_glance(c, row, SHOW_WIDTH, out);
    }
}

static void cell_json(const struct column *c, size_t row, struct rec *r)
{
    struct buf room = { 0 };

    if (c->type == COL_REAL)
        rec_num(r, c->name, column_at(c, row));
    else
        rec_str(r, c->name, table_column_text(c, row, &room));
    buf_free(&room);
}

/* Shows rows first..last, counted from 1. */
static enum status show_rows(struct workspace *ws, const struct dataset *d, size_t first,
                             size_t last)
{
    const struct table *t = d->table;
    const size_t shown = t->ncols < SHOW_COLS ? t->ncols : SHOW_COLS;
    bool right[SHOW_COLS + 1] = { true };
    struct buf cell = { 0 };
    struct text_table g;
    struct rec r;

    rec_init(&r, REC_RESULT, "show");
    rec_str(&r, "dataset", d->name);
    rec_array(&r, "rows");
    text_table_init(&g, shown + 1);
    text_table_cell(&g, "row", 0);
    for (size_t c = 0; c < shown; c++) {
        text_table_cell(&g, t->col[c].name, SHOW_WIDTH);
        right[c + 1] = t->col[c].type == COL_REAL;
    }
    for (size_t i = first; i <= last; i++) {
        text_table_printf(&g, "%zu", i);
        rec_item(&r);
        rec_int(&r, "row", (int64_t)i);
        rec_open(&r, "cells");
        for (size_t c = 0; c < t->ncols; c++) {
            cell_json(&t->col[c], i - 1, &r);
            if (c >= shown)
                continue;
            cell_text(&t->col[c], i - 1, &cell);
            text_table_cell(&g, buf_str(&cell), t->col[c].date ? 19 : SHOW_WIDTH);
        }
        rec_close(&r);
        rec_close(&r);
    }
    rec_array_close(&r);
    text_table_print(&g, right, &r.text);
    if (shown < t->ncols)
        rec_text(&r, "... and %zu columns more (cols)", t->ncols - shown);
    text_table_free(&g);
    buf_free(&cell);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status show_data(struct workspace *ws, const struct dataset *d)
{
    struct rec r;

    rec_init(&r, REC_RESULT, "show");
    rec_str(&r, "dataset", d->name);
    rec_int(&r, "rows", (int64_t)d->table->n);
    rec_int(&r, "inputs", (int64_t)data_words_inputs(d));
    rec_str(&r, "path", d->table->path);
    rec_str(&r, "split", d->split.how);
    data_words_text(d, &r);
    rec_text(&r, "\n  split     %s", d->split.how ? d->split.how : "none: all rows train");
    if (d->split.part)
        rec_text(&r, "  (train %zu, valid %zu, test %zu)", d->split.count[PART_TRAIN],
                 d->split.count[PART_VALID], d->split.count[PART_TEST]);
    if (d->split.count[PART_LEFT])
        rec_text(&r, ", %zu set aside", d->split.count[PART_LEFT]);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status show_run(struct workspace *ws, const struct run *run)
{
    struct rec r;
    struct buf num = { 0 };

    rec_init(&r, REC_RESULT, "show");
    rec_str(&r, "run", run->id);
    rec_str(&r, "kind", run->kind == RUN_FIT ? "fit" : "tune");
    rec_str(&r, "state", run_state_name(run->state));
    rec_str(&r, "dataset", run->dataset_name);
    rec_str(&r, "kernel", run->kernel_text);
    rec_str(&r, "line", run->command);
    fitting_json(&r, run);
    rec_str(&r, "note", run->note);
    rec_text(&r, "%s  %s  %s\n  data      ", run->id, run_state_name(run->state),
             run->command ? run->command : "");
    rec_safe(&r, run->dataset_name ? run->dataset_name : "?");
    rec_text(&r, "\n  kernel    %s", run->kernel_text ? run->kernel_text : "?");
    if (run->kind == RUN_FIT && run->state == RUN_DONE) {
        const struct fit_info *f = &run->info;
        rec_text(&r, "\n  hyper     ");
        if (run->model)
            fitting_scales_text(&r.text, &run->fit.kernel, run->fit.hp, run->model->t,
                                run->model->amplitudes, run->model->noises);
        else
            fitting_hp_text(&r.text, &run->fit.kernel, run->fit.hp, f->amplitude, f->noise);
        rec_text(&r, "\n  solver    %s", f->solver);
        if (f->features)
            rec_text(&r, ", %zu features", f->features);
        if (f->why != OUT_DIRECT)
            rec_text(&r, ", rank %zu, rtol %g, %s after %zu iterations", f->rank, run->fit.rtol,
                     solve_outcome(f->why), f->iterations);
        rec_text(&r,
                 "\n  seconds   features %.2f  precond %.2f  solve %.2f  variance %.2f  total %.2f",
                 f->seconds.features, f->seconds.precond, f->seconds.solve, f->seconds.variance,
                 f->seconds.total);
        if (*f->plan_note)
            rec_text(&r, "\n  plan      %s", f->plan_note);
    }
    if (run->kind == RUN_TUNE && run->tune.evaluations) {
        const struct tune_point *p = &run->tune.best;
        rec_text(&r, "\n  hyper     ");
        fitting_scales_text(&r.text, &run->fit.kernel, p->hp, run->topt.targets, p->amplitudes,
                            p->noises);
        rec_text(&r, "\n  nmll      %.2f after %zu evaluations", p->nmll, run->tune.evaluations);
    }
    if (*run->verdict)
        rec_text(&r, "\n  verdict   %s", run->verdict);
    if (run->note) {
        rec_text(&r, "\n  note      ");
        rec_safe(&r, run->note);
    }
    buf_free(&num);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status show_column(struct workspace *ws, const struct dataset *d, size_t c,
                               struct err *err);

static enum status cmd_show(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *what = args_text(a, "object");
    size_t first, last;
    char tail;

    if (what && (!strncmp(what, "run:", 4) ||
                 ((*what == 'r' || *what == 't') && ws->nrun && strspn(what + 1, "0123456789") ==
                  strlen(what + 1) && what[1]))) {
        const struct run *run = ws_run(ws, what, err);
        return run ? show_run(ws, run) : err->code;
    }
    const bool named = what && !strncmp(what, "dataset:", 8);
    struct dataset *d = ws_dataset(ws, named ? what : NULL, err);
    if (!d)
        return err->code;
    if (!what || named || !strcmp(what, ".") || !strcmp(what, d->name))
        return !what ? show_rows(ws, d, d->table->n ? 1 : 0,
                                 d->table->n < SHOW_ROWS ? d->table->n : SHOW_ROWS)
                     : show_data(ws, d);
    const int got = sscanf(what, "%zu..%zu%c", &first, &last, &tail);
    if (got == 1 && strspn(what, "0123456789") == strlen(what))
        last = first;
    if (got == 2 || (got == 1 && strspn(what, "0123456789") == strlen(what))) {
        if (first < 1 || last > d->table->n || first > last) {
            err_set(err, ST_RANGE, "rows %zu..%zu: %s has rows 1..%zu", first, last, d->name,
                    d->table->n);
            return ST_RANGE;
        }
        if (last - first + 1 > SHOW_MAX)
            return err_set(err, ST_RANGE, "%zu rows: at most %d are shown at once",
                           last - first + 1, SHOW_MAX);
        return show_rows(ws, d, first, last);
    }
    const size_t c = table_find(d->table, what);
    if (c != SIZE_MAX)
        return show_column(ws, d, c, err);
    err_set(err, ST_NOT_FOUND, "%.80s is not a run, a column of %.80s or a range of rows", what,
            d->name);
    err_hint(err, "show 1..20   |   show run:r1   |   cols");
    return ST_NOT_FOUND;
}

/* Summary. */

struct summary {         /* inputs and outputs of the job */
    struct dataset *data;
    size_t *col, ncol;
    struct col_summary *sum;
    struct buf leaks;    /* inputs that may give the target away */
};

static void summary_free(struct job *job)
{
    struct summary *s = job->arg;

    if (!s)
        return;
    dataset_unref(s->data);
    free(s->col);
    free(s->sum);
    buf_free(&s->leaks);
    free(s);
    job->arg = NULL;
}

static enum status summary_work(struct job *job, struct err *err)
{
    struct summary *s = job->arg;
    enum status rc = ST_OK;

    for (size_t i = 0; i < s->ncol && rc == ST_OK; i++) {
        if (ctl_stopped(&job->ctl))
            return err_set(err, ST_CANCELLED, "stopped");
        ctl_tell(&job->ctl, PHASE_SUMMARY, i, s->ncol, NAN);
        rc = column_summary(s->data->table, s->col[i], NULL, s->data->table->n, &s->sum[i], err);
    }
    return rc == ST_OK ? summary_leaks(s->data, true, &s->leaks, err) : rc;
}

/* A histogram of ten counts as one word with eight levels, so that a row fits into 80 columns:
 * " .:##:. " */
static void bars(const struct col_summary *s, struct buf *out)
{
    static const char steps[] = " .:-=+*#";
    size_t most = 0;

    for (size_t i = 0; i < 20; i += 2)
        most = s->bins[i] + s->bins[i + 1] > most ? s->bins[i] + s->bins[i + 1] : most;
    for (size_t i = 0; i < 20; i += 2) {
        const size_t n = s->bins[i] + s->bins[i + 1];
        buf_putc(out, !most || !n ? ' ' : steps[1 + n * 6 / most]);
    }
}

/* date: x is a decimal year. */
static void summary_number(struct text_table *g, double x, bool date)
{
    struct buf when = { 0 };
    char num[40];

    text_number(num, sizeof num, x);
    if (date && isfinite(x))
        calendar_print(x, &when);
    text_table_cell(g, when.len ? buf_str(&when) : num, 0);
    buf_free(&when);
}

static void summary_row(const struct summary *s, size_t i, struct text_table *g, struct rec *r)
{
    const struct column *c = &s->data->table->col[s->col[i]];
    const struct col_summary *m = &s->sum[i];
    const bool real = c->type == COL_REAL;
    struct buf hist = { 0 };

    text_table_cell(g, c->name, 24);
    text_table_cell(g, dataset_role_name(s->data->role[s->col[i]]), 0);
    text_table_cell(g, kind_type(c), 0);
    text_table_printf(g, "%zu", m->missing);
    text_table_printf(g, "%s%zu", m->unique_exact ? "" : ">", m->unique);
    const double v[] = { m->mean, m->sd, m->min, m->median, m->max };
    for (size_t k = 0; k < 5; k++)
        if (real)
            summary_number(g, v[k], c->date && k != 1); /* the sd is in years */
        else
            text_table_cell(g, "", 0);
    if (real)
        bars(m, &hist);
    text_table_cell(g, buf_str(&hist), 0);
    buf_free(&hist);
    rec_item(r);
    rec_str(r, "column", c->name);
    rec_str(r, "role", dataset_role_name(s->data->role[s->col[i]]));
    rec_str(r, "type", kind_type(c));
    rec_int(r, "missing", (int64_t)m->missing);
    rec_int(r, "unique", (int64_t)m->unique);
    rec_bool(r, "unique_exact", m->unique_exact);
    const char *const keys[] = { "mean", "sd", "min", "q25", "median", "q75", "max" };
    const double w[] = { m->mean, m->sd, m->min, m->q25, m->median, m->q75, m->max };
    for (size_t k = 0; k < 7; k++)
        rec_num(r, keys[k], real ? w[k] : NAN);
    rec_close(r);
}

static void summary_tell(struct workspace *ws, const struct summary *s)
{
    static const bool right[] = { false, false, false, true, true, true, true, true, true, true,
                                  false };
    static const char *const head[] = { "column", "role", "type", "missing", "unique", "mean", "sd",
                                        "min", "median", "max", "histogram" };
    struct text_table g;
    struct rec r;

    rec_init(&r, REC_RESULT, "summary");
    rec_str(&r, "dataset", s->data->name);
    rec_int(&r, "rows", (int64_t)s->data->table->n);
    rec_int(&r, "missing", (int64_t)s->data->table->missing);
    if (s->data->table->duplicates >= 0)
        rec_int(&r, "duplicates", s->data->table->duplicates);
    else
        rec_null(&r, "duplicates");
    rec_array(&r, "columns");
    text_table_init(&g, 11);
    for (size_t i = 0; i < 11; i++)
        text_table_cell(&g, head[i], 0);
    for (size_t i = 0; i < s->ncol; i++)
        summary_row(s, i, &g, &r);
    rec_array_close(&r);
    text_table_print(&g, right, &r.text);
    rec_text(&r, "%zu rows, %zu missing cells", s->data->table->n, s->data->table->missing);
    if (s->data->table->duplicates >= 0)
        rec_text(&r, ", %" PRId64 " duplicate rows", s->data->table->duplicates);
    text_table_free(&g);
    ws_emit(ws, &r);
    ws_tell_lines(ws, buf_str(&s->leaks));
}

static void summary_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    if (rc == ST_OK)
        summary_tell(ws, job->arg);
    else if (rc == ST_CANCELLED)
        ws_note(ws, "stopped", "the summary was stopped");
    else
        ws_error(ws, err, job->line);
}

/* Matches a name with a pattern that may have *. */
static bool matches(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
    return *pattern == *name && (!*pattern || matches(pattern + 1, name + 1));
}

static bool listed(const char *patterns, const char *name)
{
    if (!patterns)
        return true;
    char *copy = strdup(patterns), *save = NULL;
    bool hit = false;
    if (!copy)
        err_nomem(NULL, strlen(patterns), "a list of names");
    for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p && !hit;
         p = strtok_r(NULL, ",", &save))
        hit = strlen(p) < 64 ? matches(p, name) : !strcmp(p, name);
    hit |= !strcmp(patterns, name);
    free(copy);
    return hit;
}

static enum status run_summary(struct workspace *ws, const struct dataset *d, const char *patterns,
                               const char *line, struct err *err)
{
    static const struct job_ops ops = { "summary", summary_work, summary_done, NULL, summary_free };
    struct summary *s = mem_calloc(1, sizeof *s, "a summary", err);
    struct job inline_job = { .ops = &ops, .arg = s };
    enum status rc = ST_OK;

    if (!s)
        return ST_NOMEM;
    s->data = dataset_snapshot(d, err);
    s->col = mem_calloc(d->table->ncols, sizeof *s->col, "a summary", err);
    s->sum = mem_calloc(d->table->ncols, sizeof *s->sum, "a summary", err);
    if (!s->data || !s->col || !s->sum)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < d->table->ncols; i++)
        if (listed(patterns, d->table->col[i].name))
            s->col[s->ncol++] = i;
    if (rc == ST_OK && s->ncol == 0) {
        rc = err_set(err, ST_NOT_FOUND, "no column is called %.80s", patterns);
        err_hint(err, "cols");
    }
    /* A large table takes a while, so it is done in the background. */
    if (rc == ST_OK && d->table->n * s->ncol > INLINE_CELLS)
        return ws_submit(ws, &ops, "summary", s, line, err);
    if (rc == ST_OK)
        rc = summary_work(&inline_job, err);
    if (rc == ST_OK)
        summary_tell(ws, s);
    summary_free(&inline_job);
    return rc;
}

static enum status cmd_summary(struct workspace *ws, const struct args *a, struct err *err)
{
    return run_summary(ws, ws_dataset(ws, NULL, err), args_text(a, "columns"), args_line(a), err);
}

static enum status show_column(struct workspace *ws, const struct dataset *d, size_t c,
                               struct err *err)
{
    return run_summary(ws, d, d->table->col[c].name, "summary", err);
}

/* Cols, missing, scale. */

static enum status list_columns(struct workspace *ws, const struct dataset *d, const char *patterns)
{
    static const bool right[] = { false, false, false, true, true, false };
    static const char *const head[] = { "column", "role", "type", "levels", "missing", "group" };
    struct text_table g;
    struct rec r;
    bool groups = false;

    for (size_t i = 0; i < d->table->ncols; i++)
        groups |= d->group[i] != NULL;
    rec_init(&r, REC_RESULT, "cols");
    rec_str(&r, "dataset", d->name);
    rec_array(&r, "columns");
    text_table_init(&g, groups ? 6 : 5);
    for (size_t i = 0; i < (groups ? 6 : 5); i++)
        text_table_cell(&g, head[i], 0);
    for (size_t i = 0; i < d->table->ncols; i++) {
        const struct column *c = &d->table->col[i];
        if (!listed(patterns, c->name))
            continue;
        text_table_cell(&g, c->name, 40);
        text_table_cell(&g, dataset_role_name(d->role[i]), 0);
        text_table_cell(&g, kind_type(c), 0);
        if (c->type == COL_CATEGORY)
            text_table_printf(&g, "%zu", c->nlevels);
        else
            text_table_cell(&g, "", 0);
        text_table_printf(&g, "%zu", c->missing);
        if (groups)
            text_table_cell(&g, d->group[i] ? d->group[i] : "", 40);
        rec_item(&r);
        rec_str(&r, "column", c->name);
        rec_str(&r, "role", dataset_role_name(d->role[i]));
        rec_str(&r, "type", kind_type(c));
        rec_int(&r, "missing", (int64_t)c->missing);
        if (d->group[i])
            rec_str(&r, "group", d->group[i]);
        rec_close(&r);
    }
    rec_array_close(&r);
    text_table_print(&g, right, &r.text);
    text_table_free(&g);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_cols(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *patterns = args_text(a, "columns"), *role = args_text(a, "role"),
               *type = args_text(a, "type"), *group = args_text(a, "group"),
               *coding = args_text(a, "encoding");
    size_t changed = 0, retyped = 0, grouped = 0;
    enum status rc = ST_OK;

    if (!role && !type && !group && !coding && !args_given(a, "descriptors") &&
        !args_given(a, "scaffold"))
        return list_columns(ws, d, patterns);
    if (!patterns) {
        err_set(err, ST_USAGE, "cols: name the columns");
        err_hint(err, "cols x1,x2* role=skip");
        return ST_USAGE;
    }
    if (type)
        rc = dataset_set_type(d, patterns, type, &retyped, err);
    for (size_t i = 0; role && rc == ST_OK && i <= ROLE_WEIGHT; i++)
        if (!strcmp(role, dataset_role_name((enum col_role)i)))
            rc = dataset_set_role(d, patterns, (enum col_role)i, &changed, err);
    if (group && rc == ST_OK)
        rc = dataset_set_group(d, patterns, strcmp(group, "none") ? group : NULL, &grouped, err);
    if (rc == ST_OK && cols_molecules_asked(d, a))
        return cols_molecules_start(ws, d, a, err);
    if (coding && rc == ST_OK) {
        rc = dataset_set_coding(d, coding, err);
        changed++;
    }
    if (rc != ST_OK)
        return rc;
    changed += grouped;
    struct rec r;
    rec_init(&r, REC_RESULT, "cols");
    rec_int(&r, "changed", (int64_t)(changed + retyped));
    rec_int(&r, "inputs", (int64_t)data_words_inputs(d));
    data_words_target_json(&r, d);
    rec_text(&r, "%zu column%s changed; now %zu inputs, target%s ", changed + retyped,
             changed + retyped == 1 ? "" : "s", data_words_inputs(d),
             dataset_targets(d) > 1 ? "s" : "");
    data_words_target(d, &r.text);
    ws_emit(ws, &r);
    if (role && !strcmp(role, "target"))
        data_words_leaks(ws, d);
    return role || type ? data_words_classes(ws, d, role && !strcmp(role, "target"), err) : ST_OK;
}

static enum status cmd_missing(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *const *words = encoding_missing_words;
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *policy = args_text(a, "policy");
    struct rec r;

    for (size_t i = 0; policy && words[i]; i++)
        if (!strcmp(policy, words[i]))
            d->missing = (enum missing_policy)i;
    if (args_given(a, "flag"))
        d->missing_flag = args_bool(a, "flag");
    rec_init(&r, REC_RESULT, "missing");
    rec_str(&r, "policy", words[d->missing]);
    rec_bool(&r, "flag", d->missing_flag);
    rec_int(&r, "missing", (int64_t)d->table->missing);
    rec_text(&r, "%zu missing cells in ", d->table->missing);
    rec_safe(&r, d->name);
    rec_text(&r, "; policy %s%s", words[d->missing],
             d->missing_flag ? ", with a 0/1 input that marks them" : "");
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_scale(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *const *ys = encoding_yscale_words, *const *xs = encoding_xscale_words;
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *y = args_text(a, "y"), *x = args_text(a, "x");
    struct rec r;

    for (size_t t = 0; y && !strcmp(y, "log") && t < d->table->ncols; t++)
        for (size_t i = 0; d->role[t] == ROLE_TARGET && d->table->col[t].type == COL_REAL &&
                           i < d->table->n; i++)
            if (column_at(&d->table->col[t], i) <= 0.0) {
                err_set(err, ST_RANGE,
                        "scale y=log needs a positive target; row %zu of %.80s is %g", i + 1,
                        d->table->col[t].name, column_at(&d->table->col[t], i));
                err_hint(err, "scale y=standard");
                return ST_RANGE;
            }
    for (size_t i = 0; y && ys[i]; i++)
        if (!strcmp(y, ys[i]))
            d->yscale = (enum y_scale)i;
    for (size_t i = 0; x && xs[i]; i++)
        if (!strcmp(x, xs[i]))
            d->xscale = (enum x_scale)i;
    rec_init(&r, REC_RESULT, "scale");
    rec_str(&r, "x", xs[d->xscale]);
    rec_str(&r, "y", ys[d->yscale]);
    rec_text(&r, "x %s, y %s (mean and standard deviation of the training rows; scores are in "
             "units of the target)", xs[d->xscale], ys[d->yscale]);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Split. */

/* Reads train=2000, 2k or all. */
static enum status thin_split(struct dataset *d, const char *text, uint64_t seed, struct err *err)
{
    double rows = 0.0;

    if (strcmp(text, "all") != 0 &&
        (!text_scaled(text, &rows) || rows < 2.0 || rows > 0x1p53 || rows != floor(rows))) {
        err_set(err, ST_USAGE, "split train=%.40s: give a number of rows, 2 or more, or all", text);
        err_hint(err, "split train=2000");
        return ST_USAGE;
    }
    return split_train(d, (size_t)rows, seed, err);
}

/* One way to split, read from the arguments. */
struct split_way {
    struct split_ask ask;
    enum split_by by;
    struct split_told told;
};

/* split group= or time=, with shares or folds. */
static enum status split_along(struct dataset *d, const struct args *a, struct split_way *w,
                               struct err *err)
{
    const bool shares = args_given(a, "test") || args_given(a, "valid");

    if (args_given(a, "folds") && shares) {
        err_set(err, ST_USAGE, "split: choose shares (test=, valid=) or folds=");
        err_hint(err, "split %s=%.60s folds=5", split_by_words[w->by], w->ask.column);
        return ST_USAGE;
    }
    if (args_given(a, "folds"))
        w->ask.folds = (size_t)args_int(a, "folds", 5);
    return w->by == SPLIT_BY_GROUP ? split_grouped(d, &w->ask, &w->told, err)
                                   : split_timed(d, &w->ask, &w->told, err);
}

static enum status split_parts(struct workspace *ws, struct dataset *d, const struct args *a,
                               struct split_way *w, struct err *err)
{
    const char *file = args_text(a, "file"), *column = args_text(a, "column"),
               *group = args_text(a, "group"), *time = args_text(a, "time");
    const uint64_t seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    const bool shares = args_given(a, "test") || args_given(a, "valid"), along = group || time;
    const double test =
                     args_given(a, "test") || !args_given(a, "valid") ? args_num(a, "test") : 0.0,
                 valid = args_given(a, "valid") ? args_num(a, "valid") : 0.0;
    const bool even = args_bool(a, "stratify");
    const int ways = (file || column) + (!along && args_given(a, "folds")) + args_bool(a, "none") +
                     (group != NULL) + (time != NULL) +
                     ((!along && shares) || args_given(a, "ordered"));

    if (ways > 1) {
        err_set(err, ST_USAGE, "split: choose one way: test= and valid=, group=, time=, column=, "
                "or folds=");
        err_hint(err, "help split");
        return ST_USAGE;
    }
    if (even && (file || column || along || args_given(a, "ordered") || args_bool(a, "none"))) {
        err_set(err, ST_USAGE, "stratify=yes is for a random split: test=, valid= or folds=");
        err_hint(err, "split test=20%% stratify=yes");
        return ST_USAGE;
    }
    if (args_bool(a, "none")) {
        dataset_split_none(d);
        return ST_OK;
    }
    if (ways == 0 && args_given(a, "train")) /* changes the current split */
        return ST_OK;
    if (file && !column) {
        err_set(err, ST_USAGE, "split file=%.80s: name its column, too", file);
        err_hint(err, "split file=%.80s column=NAME", file);
        return ST_USAGE;
    }
    if (column)
        return split_column(d, file, column, err);
    if (along) {
        w->by = group ? SPLIT_BY_GROUP : SPLIT_BY_TIME;
        w->ask = (struct split_ask){ .column = group ? group : time, .test = test, .valid = valid,
                                     .seeded = args_given(a, "seed"), .seed = seed };
        return split_along(d, a, w, err);
    }
    if (even && args_given(a, "folds"))
        return split_stratified(d, 0.0, 0.0, (size_t)args_int(a, "folds", 5), seed, err);
    if (args_given(a, "folds"))
        return split_folds(d, (size_t)args_int(a, "folds", 5), seed, err);
    if (test + valid >= 1.0)
        return err_set(err, ST_RANGE,
                       "split: test and valid take %g%%, so no rows are left to train on",
                       100.0 * (test + valid));
    if (even)
        return split_stratified(d, test, valid, 0, seed, err);
    return args_bool(a, "ordered") ? split_ordered(d, test, valid, err)
                                   : split_random(d, test, valid, seed, err);
}

static enum status do_split(struct workspace *ws, struct dataset *d, const struct args *a,
                            struct split_way *w, struct err *err)
{
    const enum status rc = split_parts(ws, d, a, w, err);

    return rc == ST_OK && args_given(a, "train")
               ? thin_split(d, args_text(a, "train"),
                            args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed,
                            err)
               : rc;
}

/* What a split by a column was about: groups, missing cells, ties, and an input that will only have
 * unseen levels. */
static void split_notes(struct workspace *ws, const struct dataset *d, const struct split_way *w)
{
    const size_t col = w->ask.column ? table_find(d->table, w->ask.column) : SIZE_MAX;
    char name[64], look[96];

    if (col == SIZE_MAX)
        return;
    const struct column *c = &d->table->col[col];
    text_quoted(c->name, name, sizeof name);
    if (w->by == SPLIT_BY_GROUP && w->told.missing)
        ws_note(ws, "missing-group", "%zu row%s without a cell in %s %s a group of %s own",
                w->told.missing, w->told.missing == 1 ? "" : "s", name,
                w->told.missing == 1 ? "is" : "are", w->told.missing == 1 ? "its" : "their");
    if (w->told.left_out) {
        snprintf(look, sizeof look, "cols %s role=input", name);
        ws_tell(ws, REC_NOTE, NULL, "group-input", look,
                "%s is not an input any more: training never sees the groups of the test rows",
                name);
    }
    if (w->told.nties)
        ws_note(ws, "ties", "%zu rows share the time at %s and stay on one side of it",
                w->told.ties, w->told.nties == 1 ? "the border" : "a border");
}

/* The keys of a split by a column: by, column, groups, and the groups of each part. */
static void split_json(struct rec *r, const struct split *s, const struct split_way *w)
{
    rec_str(r, "by", s->how ? split_by_words[s->by] : NULL);
    rec_str(r, "column", s->column);
    if (s->by != SPLIT_BY_GROUP || !w->told.groups) {
        rec_null(r, "groups");
        return;
    }
    rec_int(r, "groups", (int64_t)w->told.groups);
    if (s->nfolds)
        return;
    rec_int(r, "train_groups", (int64_t)w->told.count[PART_TRAIN]);
    rec_int(r, "valid_groups", (int64_t)w->told.count[PART_VALID]);
    rec_int(r, "test_groups", (int64_t)w->told.count[PART_TEST]);
}

static void split_text(struct rec *r, const struct dataset *d, const struct split_way *w)
{
    const struct split *s = &d->split;
    const size_t n = d->table->n;

    rec_safe(r, d->name);
    if (s->nfolds) {
        rec_text(r, "  %zu folds of about %zu rows", s->nfolds,
                 n / (s->nfolds + (s->by == SPLIT_BY_TIME)));
        if (s->by == SPLIT_BY_TIME)
            rec_text(r, ", each predicted from all rows before it");
        else if (s->by == SPLIT_BY_GROUP && w->told.groups)
            rec_text(r, ", of %zu whole groups", w->told.groups);
    } else {
        rec_text(r, "  train %zu", s->part ? s->count[PART_TRAIN] : n);
        if (s->part && s->count[PART_VALID])
            rec_text(r, "  valid %zu", s->count[PART_VALID]);
        rec_text(r, "  test %zu rows", s->part ? s->count[PART_TEST] : 0);
        if (s->count[PART_LEFT])
            rec_text(r, ", %zu set aside", s->count[PART_LEFT]);
        if (s->part && w->by == SPLIT_BY_GROUP && w->told.groups)
            rec_text(r, ": %zu of %zu groups, %.1f %% of the rows", w->told.count[PART_TEST],
                     w->told.groups, 100.0 * (double)s->count[PART_TEST] / (double)n);
    }
    if (s->how) {
        rec_text(r, "  (");
        rec_safe(r, s->how);
        rec_text(r, ")");
    }
}

static enum status cmd_split(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    struct split_way w = { .by = SPLIT_BY_ROWS };
    const enum status rc = do_split(ws, d, a, &w, err);
    struct rec r;

    if (rc != ST_OK)
        return rc;
    const struct split *s = &d->split;
    split_notes(ws, d, &w);
    data_words_molecules(ws, d, false);
    rec_init(&r, REC_RESULT, "split");
    rec_str(&r, "dataset", d->name);
    rec_str(&r, "how", s->how);
    rec_int(&r, "train", (int64_t)(s->part ? s->count[PART_TRAIN] : d->table->n));
    rec_int(&r, "valid", (int64_t)(s->part ? s->count[PART_VALID] : 0));
    rec_int(&r, "test", (int64_t)(s->part ? s->count[PART_TEST] : 0));
    rec_int(&r, "left", (int64_t)s->count[PART_LEFT]);
    if (s->nfolds)
        rec_int(&r, "folds", (int64_t)s->nfolds);
    else
        rec_null(&r, "folds");
    split_json(&r, s, &w);
    split_text(&r, d, &w);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Rows. */

struct command cmd_data_rows[] = {
    {"data", "data", "List the datasets", "data", {{.name = NULL}}, 0, cmd_list, NULL},
    {"use",
     "data",
     "Choose the current dataset",
     "use .",
     {{"dataset", ARG_DATASET, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "its name; -1 is the previous one"}},
     CMD_CHANGES | CMD_DRY,
     cmd_use,
     NULL},
    {"show",
     "data",
     "Show rows, a column, a dataset or a run",
     "show 1..5",
     {{"object", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "rows a..b, a column, . (the dataset), run:r7 (default: the first rows)"}},
     0,
     cmd_show,
     NULL},
    {"summary",
     "data",
     "Describe each column: missing, unique, moments, histogram",
     "summary",
     {{"columns", ARG_COLUMN, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "columns to describe: x1,x2* (default: all)"}},
     CMD_NEEDS_DATA,
     cmd_summary,
     NULL},
    {"cols",
     "data",
     "List columns; set role, type or group by pattern",
     "cols *",
     {{"columns", ARG_COLUMN, ARGF_POS, NULL, 0, 0, NULL, NULL, "columns: zip,id*"},
      {"role", ARG_CHOICE, 0, NULL, 0, 0, "input|target|weight|id|split|skip", NULL,
       "what the column is used for"},
      {"type", ARG_CHOICE, 0, NULL, 0, 0, IMPORT_ARGS_TYPES, NULL,
       "what its cells hold"},
      {"group", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "with kernel rbf(ard=group), inputs of one group share a lengthscale; none: no group"},
      {"encoding", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "numbers for a sequence's letters: onehot, blosum62, scales, kmer3, or a table file "
       "letter,number,..; counts of a molecule: morgan(radius=2,size=0), lingo(length=4)"},
      {"descriptors", ARG_BOOL, 0, NULL, 0, 0, NULL, NULL,
       "of SMILES: add ten descriptors as inputs, by RDKit"},
      {"scaffold", ARG_BOOL, 0, NULL, 0, 0, NULL, NULL,
       "of SMILES: add the Murcko scaffold, a category for split group="}},
     CMD_NEEDS_DATA | CMD_CHANGES | CMD_SETS | CMD_DRY,
     cmd_cols,
     "role=target makes these columns the targets and earlier targets inputs (help targets).\n"
     "Molecules: morgan(radius=2,size=0,values=counts|bits,chirality=no|yes,salts=keep|largest)\n"
     "counts surroundings of atoms by RDKit; size=0 keeps whole identifiers, a size folds them.\n"
     "lingo(length=4) counts pieces of the text and needs no RDKit."},
    {"missing",
     "data",
     "Choose what to do about missing cells",
     "missing mean flag=yes",
     {{"policy", ARG_CHOICE, ARGF_POS, NULL, 0, 0, "error|mean|median|drop", NULL,
       "stop; fill with the mean or median of the training rows; or drop the row"},
      {"flag", ARG_BOOL, 0, NULL, 0, 0, NULL, NULL, "add a 0/1 input that marks filled cells"}},
     CMD_NEEDS_DATA | CMD_CHANGES | CMD_DRY,
     cmd_missing,
     NULL},
    {"scale",
     "data",
     "Choose the scaling of inputs and target",
     "scale y=standard",
     {{"y", ARG_CHOICE, 0, NULL, 0, 0, "standard|log|none", NULL, "scaling of the target"},
      {"x", ARG_CHOICE, 0, NULL, 0, 0, "standard|none|common", NULL,
       "scaling of the inputs: each by its own sd, none, or all by one sd (pixels, spectra)"}},
     CMD_NEEDS_DATA | CMD_CHANGES | CMD_DRY,
     cmd_scale,
     "Only training rows determine the scaling. Scores are in units of the target with any\n"
     "scaling. x=common divides all inputs by the root of the mean of their variances: for\n"
     "numbers of one kind, as the pixels of an image, whose own sd would make the edge as large\n"
     "as the middle.  open chooses it (note[unit]) where 64 inputs or more are all whole numbers\n"
     "from 0 to one top, which a quarter of them reach."},
    {"split",
     "data",
     "Choose which rows train, validate and test",
     "split test=20% seed=7\nsplit group=x1 test=20%\nsplit time=x1 test=20%",
     {{"test", ARG_SHARE, 0, "20%", 0, 0.99, NULL, NULL, "share of test rows"},
      {"valid", ARG_SHARE, 0, NULL, 0, 0.99, NULL, NULL, "share of validation rows"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL,
       "seed of the random split (default: the option seed)"},
      {"ordered", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "hold out the last rows, not random ones"},
      {"file", ARG_FILE, 0, NULL, 0, 0, NULL, NULL,
       "a table with the column that says which part a row is in"},
      {"column", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "0/1 with 1 = test, or the words train, valid, test"},
      {"group", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "rows with equal cells here stay together: no group is on both sides"},
      {"time", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "hold out the last rows by this column of numbers or dates"},
      {"folds", ARG_INT, 0, NULL, 2, 1000, NULL, "folds", "number of folds for score folds"},
      {"stratify", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "give each part the same share of every value of the target"},
      {"train", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "train on at most this many rows, chosen at random; the others are set aside; all: use all"},
      {"none", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "remove the split: all rows train"}},
     CMD_NEEDS_DATA | CMD_CHANGES | CMD_DRY,
     cmd_split,
     "A column used by a split is not an input. Validation rows are neither trained on nor\n"
     "scored, except by score on=valid. split train=2000 alone keeps the current split; with\n"
     "one seed, a smaller number of rows is a subset of a larger one (sweep rows=500..16k makes\n"
     "a learning curve).\n"
     "  split group=patient test=20%   whole groups, until the share is reached as nearly as they\n"
     "allow: the smallest are tested and the largest train; seed= draws them at random. Missing\n"
     "cells are a group. A column of numbers stays an input.\n"
     "  split time=date test=20%       the last rows; rows of one time stay on one side\n"
     "With folds=5, group= makes folds of whole groups; time= cuts six blocks, and each but the\n"
     "first is predicted from all rows before it."},
    {.name = NULL},
};
