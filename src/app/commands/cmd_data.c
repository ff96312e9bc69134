/* app/commands/cmd_data.c -- reading, listing and preparing data: open, demo, data, use, show,
 * summary, cols, missing, scale, split. */
#include "app/commands/commands.h"
#include "app/shell/text_table.h"
#include "app/runs/fitting.h"
#include "app/core/job.h"
#include "data/kinds/nodes.h"
#include "data/formats/npy_set.h"
#include "app/shell/import_args.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOW_ROWS = 20, SHOW_COLS = 12, SHOW_MAX = 1000, LEVELS_WARN = 1000,
       INLINE_CELLS = 4000000 };

/* Words about a dataset. */

static const char *type_name(enum col_type t)
{
    static const char *const name[] = { "real", "category", "text", "sequence" };
    return name[t];
}

static size_t target_col(const struct dataset *d)
{
    for (size_t i = 0; i < d->table->ncols; i++)
        if (d->role[i] == ROLE_TARGET)
            return i;
    return SIZE_MAX;
}

/* "y1", "y1, y2", "y1, y2, y3 and 9 more"; "none". */
static void target_words(const struct dataset *d, struct buf *out)
{
    enum { NAMED = 4 };
    const size_t n = dataset_targets(d);
    size_t k = 0;

    for (size_t j = 0; j < d->table->ncols && k < NAMED; j++)
        if (d->role[j] == ROLE_TARGET) {
            buf_puts(out, k++ ? ", " : "");
            text_safe(out, d->table->col[j].name, 40);
        }
    if (n > k)
        buf_printf(out, " and %zu more", n - k);
    if (n == 0)
        buf_puts(out, "none");
}

/* "target": the first one's name, or null; and where there are several "targets", all names. */
static void target_json(struct rec *r, const struct dataset *d)
{
    const char *names[TARGETS_MOST];
    const size_t y = target_col(d);
    size_t n = 0;

    rec_str(r, "target", y == SIZE_MAX ? NULL : d->table->col[y].name);
    for (size_t j = 0; j < d->table->ncols && n < TARGETS_MOST; j++)
        if (d->role[j] == ROLE_TARGET)
            names[n++] = d->table->col[j].name;
    if (n > 1)
        rec_strs(r, "targets", names, n);
}

/* Inputs after encoding: a category gives one column a level. */
static size_t encoded_inputs(const struct dataset *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->table->ncols; i++) {
        const struct column *c = &d->table->col[i];
        if (d->role[i] == ROLE_INPUT)
            n += c->type == COL_CATEGORY ? c->nlevels : 1;
    }
    return n;
}

static void columns_words(const struct dataset *d, struct buf *out)
{
    size_t real = 0, cat = 0, wide = 0, other = 0, seq = 0;

    for (size_t i = 0; i < d->table->ncols; i++) {
        if (d->role[i] == ROLE_INPUT && d->table->col[i].type == COL_CATEGORY) {
            cat++;
            wide += d->table->col[i].nlevels;
        } else if (d->role[i] == ROLE_INPUT && d->table->col[i].type == COL_SEQUENCE) {
            const struct sequences *s = d->table->col[i].seq;
            buf_printf(out, "%s%s of %zu", seq++ ? ", " : "", s->nodes ? "sets" : "sequence",
                       s->shortest);
            if (s->longest > s->shortest)
                buf_printf(out, " to %zu", s->longest);
            if (s->nodes)
                buf_printf(out, " nodes of %zu number%s", s->nodes->d, s->nodes->d == 1 ? "" : "s");
            else
                buf_printf(out, " letters (%s)", alphabet_name(s->kind));
        } else if (d->role[i] == ROLE_INPUT) {
            real++;
        } else if (d->role[i] != ROLE_TARGET) {
            other++;
        }
    }
    if (real || !seq)
        buf_printf(out, "%s%zu real input%s", seq ? ", " : "", real, real == 1 ? "" : "s");
    if (cat)
        buf_printf(out, ", %zu categor%s (%zu columns one-hot)", cat, cat == 1 ? "y" : "ies", wide);
    if (other)
        buf_printf(out, ", %zu not used", other);
}

static void constant_words(const struct dataset *d, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < d->table->ncols; i++) {
        const struct column *c = &d->table->col[i];
        bool same = c->type == COL_CATEGORY ? c->nlevels < 2 : c->type == COL_REAL;
        for (size_t r = 1; c->type == COL_REAL && r < d->table->n && same; r++)
            same = column_at(c, r) == column_at(c, 0);
        if (!same || d->role[i] != ROLE_INPUT)
            continue;
        buf_puts(out, n++ ? ", " : "");
        text_safe(out, c->name, 24);
    }
    if (!n)
        buf_puts(out, "none");
}

static void open_text(const struct dataset *d, struct rec *r)
{
    const struct table *t = d->table;
    const size_t y = target_col(d);
    char n[32], size[32], sec[32];

    text_count(n, sizeof n, t->n);
    text_seconds(sec, sizeof sec, t->seconds);
    rec_safe(r, d->name);
    rec_text(r, "  %s row%s x %zu column%s", n, t->n == 1 ? "" : "s", t->ncols,
             t->ncols == 1 ? "" : "s");
    if (t->file_size) {
        mem_format(size, sizeof size, (double)t->file_size);
        rec_text(r, ", %s read in %s", size, sec);
    } else {
        rec_text(r, ", made in %s", sec);
    }
    if (t->decisions && *t->decisions) {
        rec_text(r, "\n  read as   ");
        /* Several lines of decisions hang below the first. */
        for (const char *p = t->decisions; *p;) {
            const size_t len = strcspn(p, "\n");
            rec_text(r, "%s%.*s", p == t->decisions ? "" : "\n            ", (int)len, p);
            p += len + (p[len] != '\0');
        }
    }
    rec_text(r, "\n  columns   ");
    columns_words(d, &r->text);
    if (y != SIZE_MAX) {
        rec_text(r, ";  target%s ", dataset_targets(d) > 1 ? "s" : "");
        target_words(d, &r->text);
        rec_text(r, "  (change: cols NAME role=target)");
    }
    rec_text(r, "\n  missing   ");
    if (t->missing)
        rec_text(r, "%zu cells  (missing mean|median|drop)", t->missing);
    else
        rec_text(r, "none");
    if (t->duplicates >= 0)
        rec_text(r, "    duplicates %" PRId64 " row%s", t->duplicates,
                 t->duplicates == 1 ? "" : "s");
    rec_text(r, "    constant inputs ");
    constant_words(d, &r->text);
    /* a tuning stops at a missing cell as long as nothing is said about them */
    rec_text(r, t->missing && d->missing == MISSING_ERROR
                    ? "\n  next      missing mean  |  split test=20%%  |  summary"
                    : "\n  next      split test=20%%  |  summary  |  tune");
}

static void open_record(struct workspace *ws, const struct dataset *d, const char *command,
                        double seconds)
{
    const struct table *t = d->table;
    struct rec r;

    rec_init(&r, REC_RESULT, command);
    rec_str(&r, "dataset", d->name);
    rec_str(&r, "path", t->path);
    rec_int(&r, "rows", (int64_t)t->n);
    rec_int(&r, "columns", (int64_t)t->ncols);
    rec_int(&r, "inputs", (int64_t)encoded_inputs(d));
    target_json(&r, d);
    rec_int(&r, "missing", (int64_t)t->missing);
    if (t->duplicates >= 0)
        rec_int(&r, "duplicates", t->duplicates);
    else
        rec_null(&r, "duplicates");
    rec_str(&r, "checksum", *t->checksum ? t->checksum : NULL);
    rec_num(&r, "seconds", seconds);
    open_text(d, &r);
    ws_emit(ws, &r);
    ws_tell_lines(ws, t->notes);
    ws_tell_lines(ws, d->notes);
}

/* Taking a dataset in. */

static void leak_warnings(struct workspace *ws, const struct dataset *d)
{
    struct buf notes = { 0 };
    struct err ignored; /* memory: then nothing is warned of, and nothing else is at stake */

    if (dataset_leaks(d, false, &notes, &ignored) == ST_OK)
        ws_tell_lines(ws, buf_str(&notes));
    buf_free(&notes);
}

static void open_warnings(struct workspace *ws, const struct dataset *d)
{
    const struct table *t = d->table;
    const size_t inputs = encoded_inputs(d);
    char name[128], bytes[32];

    if (table_is_out(t) && t->duplicates < 0) {
        mem_format(bytes, sizeof bytes, (double)table_bytes(t));
        ws_tell(ws, REC_NOTE, NULL, "disk", "a larger --mem",
                "the table (%s) %s disk, as it takes more than "
                "a quarter of the memory allowed; repeated rows were not counted",
                bytes, t->col[0].in ? "is read from" : "is kept on");
    }
    for (size_t i = 0; i < t->ncols; i++) {
        struct buf safe = { 0 };
        text_safe(&safe, t->col[i].name, 60);
        snprintf(name, sizeof name, "%s", buf_str(&safe));
        buf_free(&safe);
        if (d->role[i] != ROLE_INPUT)
            continue;
        if (t->col[i].type == COL_CATEGORY && t->col[i].nlevels > LEVELS_WARN) {
            mem_format(bytes, sizeof bytes, 8.0 * (double)t->n * (double)t->col[i].nlevels);
            ws_tell(ws, REC_WARNING, NULL, "levels", "cols NAME role=skip",
                    "%s has %zu levels: one-hot makes %zu columns, %s", name, t->col[i].nlevels,
                    t->col[i].nlevels, bytes);
        }
    }
    leak_warnings(ws, d);
    if (inputs > t->n)
        ws_warn(ws, "wide", "%zu inputs for %zu rows: more columns than rows; the fit will follow "
                "the noise unless the lengthscale is long", inputs, t->n);
    if (t->n == 1)
        ws_warn(ws, "one-row", "one row only: nothing can be scored");
}

/* Makes it the current one; one of the same name is replaced. */
static enum status take_dataset(struct workspace *ws, struct dataset *d, struct err *err)
{
    for (size_t i = 0; i < ws->ndata; i++)
        if (!strcmp(ws->data[i]->name, d->name)) {
            ws_note(ws, "replaced",
                    "%s was loaded before and is replaced; runs keep what they used", d->name);
            dataset_unref(ws->data[i]);
            ws->data[i] = d;
            ws->cur = i;
            return ST_OK;
        }
    struct dataset **grown = realloc(ws->data, (ws->ndata + 1) * sizeof *grown);
    if (!grown)
        return err_nomem(err, (ws->ndata + 1) * sizeof *grown, "the list of datasets");
    ws->data = grown;
    ws->data[ws->ndata] = d;
    ws->cur = ws->ndata++;
    return ST_OK;
}

static enum status set_roles(struct dataset *d, const char *patterns, enum col_role role,
                             struct err *err)
{
    size_t changed = 0;

    return patterns ? dataset_set_role(d, patterns, role, &changed, err) : ST_OK;
}

/* Open. */

struct loading {         /* a job's inputs and output */
    struct args *args;   /* strings of the options live here */
    struct import_opts opts;
    char *path;
    char *target;        /* demo: NULL */
    struct demo_opts demo;
    char *demo_name;
    struct table *table;
};

static void loading_free(struct job *job)
{
    struct loading *l = job->arg;

    if (!l)
        return;
    table_unref(l->table);
    args_free(l->args);
    free(l->path);
    free(l->target);
    free(l->demo_name);
    free(l);
    job->arg = NULL;
}

static enum status open_work(struct job *job, struct err *err)
{
    struct loading *l = job->arg;

    return import_file(l->path, &l->opts, &job->ctl, &l->table, err);
}

/* The column that target= means: it may have named a file or a dataset of targets. */
static const char *target_name(const struct table *t, const char *target)
{
    char first[300];

    if (!target || table_find(t, target) != SIZE_MAX || !t->targets)
        return target;
    snprintf(first, sizeof first, "%s1", target); /* a dataset of several columns */
    return npy_set_is_npy(target) || !strcmp(first, t->col[t->ncols - t->targets].name) ? NULL
                                                                                        : target;
}

static enum status open_take(struct workspace *ws, struct loading *l, struct err *err)
{
    const struct args *a = l->args;
    struct dataset *d = dataset_new(l->table, args_text(a, "name"),
                                    target_name(l->table, args_text(a, "target")), err);
    enum status rc = d ? ST_OK : err->code;

    if (rc == ST_OK)
        rc = set_roles(d, args_text(a, "skip"), ROLE_SKIP, err);
    if (rc == ST_OK)
        rc = set_roles(d, args_text(a, "id"), ROLE_ID, err);
    if (rc == ST_OK)
        rc = set_roles(d, args_text(a, "weight"), ROLE_WEIGHT, err);
    if (rc == ST_OK && target_col(d) == SIZE_MAX) {
        bool numbers = false;
        for (size_t j = 0; j < l->table->ncols; j++)
            numbers |= l->table->col[j].type == COL_REAL && l->table->col[j].missing < l->table->n;
        rc = numbers ? err_set(err, ST_USAGE, "the target column is skipped too")
                     : err_named(err, ST_STATE, "no-target",
                                 "no column holds numbers: there is nothing to predict");
        err_hint(err, numbers ? "open FILE target=NAME"
                              : "open FILE types=NAME=real  shows the cell that is no number");
    }
    if (rc == ST_OK)
        rc = take_dataset(ws, d, err);
    if (rc != ST_OK) {
        dataset_unref(d);
        return rc;
    }
    open_record(ws, d, "open", l->table->seconds);
    open_warnings(ws, d);
    return ST_OK;
}

static void open_done(struct workspace *ws, struct job *job, enum status rc, const struct err *why)
{
    struct loading *l = job->arg;
    struct err err = *why;

    if (rc == ST_CANCELLED)
        ws_note(ws, "stopped", "%s was not loaded", l->path ? l->path : l->demo_name);
    else if (rc != ST_OK)
        ws_error(ws, &err, job->line);
    else if (open_take(ws, l, &err) != ST_OK)
        ws_error(ws, &err, job->line);
}

static enum status cmd_open(struct workspace *ws, const struct args *a, struct err *err)
{
    static const struct job_ops ops = { "open", open_work, open_done, NULL, loading_free };
    struct import_opts opts;
    enum status rc = ws_no_keyboard(ws, args_text(a, "file"), err);

    if (rc == ST_OK)
        rc = import_args_options(a, ws->opt.mem, &opts, err);
    if (rc != ST_OK)
        return rc;
    struct loading *l = mem_calloc(1, sizeof *l, "a job", err);
    if (!l)
        return ST_NOMEM;
    l->args = args_ref(a);
    l->path = mem_strdup(args_text(a, "file"), err);
    l->opts = opts;
    if (!l->path) {
        struct job orphan = { .arg = l };
        loading_free(&orphan);
        return ST_NOMEM;
    }
    return ws_submit(ws, &ops, "open", l, args_line(a), err);
}

/* Demo. */

static enum status demo_work(struct job *job, struct err *err)
{
    struct loading *l = job->arg;

    return demo_make(l->demo_name, &l->demo, &l->table, err);
}

static void demo_done(struct workspace *ws, struct job *job, enum status rc, const struct err *why)
{
    struct loading *l = job->arg;
    struct err err = *why;
    struct dataset *d = NULL;

    if (rc == ST_OK && !(d = dataset_new(l->table, args_given(l->args, "as")
                                         ? args_text(l->args, "as") : l->demo_name, NULL, &err)))
        rc = err.code;
    if (rc == ST_OK && !strcmp(l->demo_name, "points")) /* one more does not move the others */
        d->xscale = X_NONE, d->yscale = Y_NONE;
    if (rc == ST_OK)
        rc = take_dataset(ws, d, &err);
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was not loaded", l->demo_name);
    } else if (rc != ST_OK) {
        dataset_unref(d);
        ws_error(ws, &err, job->line);
    } else {
        open_record(ws, d, "demo", l->table->seconds);
    }
}

static enum status demo_list(struct workspace *ws)
{
    const struct demo *d;
    struct rec r;

    rec_init(&r, REC_RESULT, "demo");
    rec_open(&r, "demos");
    for (size_t i = 0; (d = demo_at(i)) != NULL; i++) {
        rec_str(&r, d->name, d->summary);
        rec_text(&r, "%sdemo %-10s %s", i ? "\n" : "", d->name, d->summary);
    }
    rec_close(&r);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status demo_known(const char *name, struct err *err)
{
    const char *names[16];
    const struct demo *d;
    size_t n = 0;
    char near[120];

    for (; n < 16 && (d = demo_at(n)) != NULL; n++) {
        names[n] = d->name;
        if (!strcmp(d->name, name))
            return ST_OK;
    }
    err_set(err, ST_NOT_FOUND, "there is no demo '%.40s'", name);
    if (command_nearest(name, names, n, near, sizeof near))
        err_hint(err, "demo %s", near);
    else
        err_hint(err, "demo   (lists them)");
    return ST_NOT_FOUND;
}

static enum status cmd_demo(struct workspace *ws, const struct args *a, struct err *err)
{
    static const struct job_ops ops = { "demo", demo_work, demo_done, NULL, loading_free };
    const char *name = args_text(a, "name");

    if (!name)
        return demo_list(ws);
    enum status rc = demo_known(name, err);
    if (rc != ST_OK)
        return rc;
    struct loading *l = mem_calloc(1, sizeof *l, "a job", err);
    if (!l)
        return ST_NOMEM;
    l->args = args_ref(a);
    l->demo_name = mem_strdup(name, err);
    l->demo.n = (size_t)args_int(a, "n", 0);
    l->demo.seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    l->demo.kernel = args_text(a, "kernel");
    l->demo.noise = args_num(a, "noise");
    l->demo.xy = args_text(a, "xy");
    if (!l->demo_name) {
        struct job orphan = { .arg = l };
        loading_free(&orphan);
        return ST_NOMEM;
    }
    return ws_submit(ws, &ops, "demo", l, args_line(a), err);
}

/* Data, use. */

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
        text_table_printf(&g, "%s rows", n);
        text_table_printf(&g, "%zu inputs", encoded_inputs(d));
        target_words(d, &y);
        text_table_printf(&g, "-> %s", buf_str(&y));
        buf_free(&y);
        text_table_cell(&g, d->split.how ? d->split.how : "not split", 40);
        text_table_cell(&g, d->table->path, 60);
        rec_item(&r);
        rec_str(&r, "dataset", d->name);
        rec_bool(&r, "current", i == ws->cur);
        rec_int(&r, "rows", (int64_t)d->table->n);
        rec_int(&r, "inputs", (int64_t)encoded_inputs(d));
        target_json(&r, d);
        rec_str(&r, "split", d->split.how);
        rec_str(&r, "path", d->table->path);
        rec_close(&r);
    }
    rec_array_close(&r);
    text_table_print(&g, right, &r.text);
    if (!ws->ndata)
        rec_text(&r, "no data is loaded: open FILE, or demo co2");
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

enum { SHOW_WIDTH = 18 }; /* columns of a cell */

static void cell_text(const struct column *c, size_t row, struct buf *out)
{
    char num[40];

    buf_clear(out);
    if (c->type == COL_REAL) {
        if (isnan(column_at(c, row)))
            return;
        text_number(num, sizeof num, column_at(c, row));
        buf_puts(out, num);
    } else {
        column_glance(c, row, SHOW_WIDTH, out);
    }
}

static void cell_json(const struct column *c, size_t row, struct rec *r)
{
    if (c->type == COL_REAL)
        rec_num(r, c->name, column_at(c, row));
    else
        rec_str(r, c->name, column_word(c, row));
}

/* Rows first..last, from 1. */
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
            text_table_cell(&g, buf_str(&cell), SHOW_WIDTH);
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
    rec_int(&r, "inputs", (int64_t)encoded_inputs(d));
    rec_str(&r, "path", d->table->path);
    rec_str(&r, "split", d->split.how);
    open_text(d, &r);
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
    err_set(err, ST_NOT_FOUND, "%.80s is no run, no column of %.80s and no row range", what,
            d->name);
    err_hint(err, "show 1..20   |   show run:r1   |   cols");
    return ST_NOT_FOUND;
}

/* Summary. */

struct summary {         /* a job's inputs and outputs */
    struct dataset *data;
    size_t *col, ncol;
    struct col_summary *sum;
    struct buf leaks;    /* what may give the target away */
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
    return rc == ST_OK ? dataset_leaks(s->data, true, &s->leaks, err) : rc;
}

/* Counts in ten cells as one word of eight steps, so that a row fits in 80 columns: " .:##:. " */
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

static void summary_number(struct text_table *g, double x)
{
    char num[40];

    text_number(num, sizeof num, x);
    text_table_cell(g, num, 0);
}

static void summary_row(const struct summary *s, size_t i, struct text_table *g, struct rec *r)
{
    const struct column *c = &s->data->table->col[s->col[i]];
    const struct col_summary *m = &s->sum[i];
    const bool real = c->type == COL_REAL;
    struct buf hist = { 0 };

    text_table_cell(g, c->name, 24);
    text_table_cell(g, role_name(s->data->role[s->col[i]]), 0);
    text_table_cell(g, type_name(c->type), 0);
    text_table_printf(g, "%zu", m->missing);
    text_table_printf(g, "%s%zu", m->unique_exact ? "" : ">", m->unique);
    const double v[] = { m->mean, m->sd, m->min, m->median, m->max };
    for (size_t k = 0; k < 5; k++)
        if (real)
            summary_number(g, v[k]);
        else
            text_table_cell(g, "", 0);
    if (real)
        bars(m, &hist);
    text_table_cell(g, buf_str(&hist), 0);
    buf_free(&hist);
    rec_item(r);
    rec_str(r, "column", c->name);
    rec_str(r, "role", role_name(s->data->role[s->col[i]]));
    rec_str(r, "type", type_name(c->type));
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

/* name against a pattern with * */
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
    /* What takes longer than a blink goes to the background. */
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
        text_table_cell(&g, role_name(d->role[i]), 0);
        text_table_cell(&g, type_name(c->type), 0);
        if (c->type == COL_CATEGORY)
            text_table_printf(&g, "%zu", c->nlevels);
        else
            text_table_cell(&g, "", 0);
        text_table_printf(&g, "%zu", c->missing);
        if (groups)
            text_table_cell(&g, d->group[i] ? d->group[i] : "", 40);
        rec_item(&r);
        rec_str(&r, "column", c->name);
        rec_str(&r, "role", role_name(d->role[i]));
        rec_str(&r, "type", type_name(c->type));
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
    static const char *const types[] = { "real", "category", "text", "sequence" };
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *patterns = args_text(a, "columns"), *role = args_text(a, "role"),
               *type = args_text(a, "type"), *group = args_text(a, "group"),
               *coding = args_text(a, "encoding");
    size_t changed = 0, retyped = 0, grouped = 0;
    enum status rc = ST_OK;

    if (!role && !type && !group && !coding)
        return list_columns(ws, d, patterns);
    if (!patterns) {
        err_set(err, ST_USAGE, "cols: which columns?");
        err_hint(err, "cols x1,x2* role=skip");
        return ST_USAGE;
    }
    for (size_t i = 0; type && i < 4; i++)
        if (!strcmp(type, types[i]))
            rc = dataset_set_type(d, patterns, (enum col_type)i, &retyped, err);
    for (size_t i = 0; role && rc == ST_OK && i <= ROLE_WEIGHT; i++)
        if (!strcmp(role, role_name((enum col_role)i)))
            rc = dataset_set_role(d, patterns, (enum col_role)i, &changed, err);
    if (group && rc == ST_OK)
        rc = dataset_set_group(d, patterns, strcmp(group, "none") ? group : NULL, &grouped, err);
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
    rec_int(&r, "inputs", (int64_t)encoded_inputs(d));
    target_json(&r, d);
    rec_text(&r, "%zu column%s changed; now %zu inputs, target%s ", changed + retyped,
             changed + retyped == 1 ? "" : "s", encoded_inputs(d),
             dataset_targets(d) > 1 ? "s" : "");
    target_words(d, &r.text);
    ws_emit(ws, &r);
    if (role && !strcmp(role, "target"))
        leak_warnings(ws, d);
    return ST_OK;
}

static enum status cmd_missing(struct workspace *ws, const struct args *a, struct err *err)
{
    static const char *const words[] = { "error", "mean", "median", "drop" };
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *policy = args_text(a, "policy");
    struct rec r;

    for (size_t i = 0; policy && i < 4; i++)
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
             d->missing_flag ? ", with a 0/1 input that says where" : "");
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_scale(struct workspace *ws, const struct args *a, struct err *err)
{
    static const char *const ys[] = { "standard", "log", "none" };
    static const char *const xs[] = { "standard", "none" };
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
    for (size_t i = 0; y && i < 3; i++)
        if (!strcmp(y, ys[i]))
            d->yscale = (enum y_scale)i;
    for (size_t i = 0; x && i < 2; i++)
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

/* train=2000, 2k or all. */
static enum status thin_split(struct dataset *d, const char *text, uint64_t seed, struct err *err)
{
    double rows = 0.0;

    if (strcmp(text, "all") != 0 &&
        (!text_scaled(text, &rows) || rows < 2.0 || rows > 0x1p53 || rows != floor(rows))) {
        err_set(err, ST_USAGE, "split train=%.40s: how many rows, 2 or more, or all", text);
        err_hint(err, "split train=2000");
        return ST_USAGE;
    }
    return split_train(d, (size_t)rows, seed, err);
}

static enum status split_parts(struct workspace *ws, struct dataset *d, const struct args *a,
                            struct err *err)
{
    const char *file = args_text(a, "file"), *column = args_text(a, "column");
    const uint64_t seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    const bool shares = args_given(a, "test") || args_given(a, "valid");
    const double test =
                     args_given(a, "test") || !args_given(a, "valid") ? args_num(a, "test") : 0.0,
                 valid = args_given(a, "valid") ? args_num(a, "valid") : 0.0;
    const int ways = (file || column) + args_given(a, "folds") + args_bool(a, "none") +
                     (shares || args_given(a, "ordered"));

    if (ways > 1) {
        err_set(err, ST_USAGE, "split: one way at a time: test= and valid=, or column=, or folds=");
        err_hint(err, "help split");
        return ST_USAGE;
    }
    if (args_bool(a, "none")) {
        split_none(d);
        return ST_OK;
    }
    if (ways == 0 && args_given(a, "train")) /* of the split in force */
        return ST_OK;
    if (file && !column) {
        err_set(err, ST_USAGE, "split file=%.80s: which column of it?", file);
        err_hint(err, "split file=%.80s column=NAME", file);
        return ST_USAGE;
    }
    if (column)
        return split_column(d, file, column, err);
    if (args_given(a, "folds"))
        return split_folds(d, (size_t)args_int(a, "folds", 5), seed, err);
    if (test + valid >= 1.0)
        return err_set(err, ST_RANGE,
                       "split: test and valid take %g%%: nothing is left to train on",
                       100.0 * (test + valid));
    return args_bool(a, "ordered") ? split_ordered(d, test, valid, err)
                                   : split_random(d, test, valid, seed, err);
}

static enum status do_split(struct workspace *ws, struct dataset *d, const struct args *a,
                            struct err *err)
{
    const enum status rc = split_parts(ws, d, a, err);

    return rc == ST_OK && args_given(a, "train")
               ? thin_split(d, args_text(a, "train"),
                            args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed,
                            err)
               : rc;
}

static enum status cmd_split(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    const enum status rc = do_split(ws, d, a, err);
    struct rec r;

    if (rc != ST_OK)
        return rc;
    const struct split *s = &d->split;
    const size_t train = s->part ? s->count[PART_TRAIN] : d->table->n;
    rec_init(&r, REC_RESULT, "split");
    rec_str(&r, "dataset", d->name);
    rec_str(&r, "how", s->how);
    rec_int(&r, "train", (int64_t)train);
    rec_int(&r, "valid", (int64_t)(s->part ? s->count[PART_VALID] : 0));
    rec_int(&r, "test", (int64_t)(s->part ? s->count[PART_TEST] : 0));
    rec_int(&r, "left", (int64_t)s->count[PART_LEFT]);
    if (s->nfolds)
        rec_int(&r, "folds", (int64_t)s->nfolds);
    else
        rec_null(&r, "folds");
    rec_safe(&r, d->name);
    if (s->nfolds) {
        rec_text(&r, "  %zu folds of about %zu rows", s->nfolds, d->table->n / s->nfolds);
    } else {
        rec_text(&r, "  train %zu", train);
        if (s->part && s->count[PART_VALID])
            rec_text(&r, "  valid %zu", s->count[PART_VALID]);
        rec_text(&r, "  test %zu rows", s->part ? s->count[PART_TEST] : 0);
        if (s->count[PART_LEFT])
            rec_text(&r, ", %zu set aside", s->count[PART_LEFT]);
    }
    if (s->how) {
        rec_text(&r, "  (");
        rec_safe(&r, s->how);
        rec_text(&r, ")");
    }
    ws_emit(ws, &r);
    return ST_OK;
}

/* Rows. */

struct command cmd_data_rows[] = {
    {"open",
     "data",
     "Read a table: CSV, TSV, FASTA, NPY (.gz, .zst), HDF5, many NPY files",
     "open share/data/co2.csv",
     {{"file", ARG_FILE, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "the file; - is standard input; or a directory, a pattern, a list of NPY files"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "column to predict (default: the last), or several: y1,y2; the NPY file, pattern or HDF5 "
       "dataset with the targets"},
      IMPORT_ARGS_ROWS(false),
      {"skip", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "columns to leave out: id,tmp*"},
      {"id", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "columns that name a row; kept, not learnt from"},
      {"weight", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "column of weights: a row's noise variance is noise^2 over it"},
      {"name", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "name of the dataset (default: from the file)"},
      IMPORT_ARGS_CELLS(false)},
     CMD_JOB | CMD_SETS | CMD_CHANGES,
     cmd_open,
     "Types are guessed on a sample and proven on every row; what does not fit stops with line,\n"
     "column and cell. Nothing is dropped or guessed in silence.\n"
     "Arrays: open X.npy target=y.npy; open 'x_*.npy' target='y_*.npy'; a.npy,b.npy "
     "target=ya.npy,yb.npy;\n"
     "a directory with such pairs; a text file with one file or one pair a line. Columns are "
     "x1..xd and y;\n"
     "large plain files are read in place. open FILE.h5 inputs=NAME target=NAME reads datasets of "
     "HDF5.\n"
     "Sequences: a column named sequence, or types=NAME=sequence, is the input, and other columns "
     "wait\n"
     "for cols NAME role=input. open x.fasta targets=y.csv joins a table to the records by name."},
    {"demo",
     "data",
     "Bundled or generated data",
     "demo friedman1 n=200 seed=3",
     {{"name", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL, "which; demo alone lists them"},
      {"n", ARG_INT, 0, NULL, 1, 1e8, NULL, "rows", "how many rows (all but co2)"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL,
       "of the generator (default: the option seed)"},
      {"kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "draw: kernel of the drawn function"},
      {"noise", ARG_REAL, 0, NULL, 0, 1e6, NULL, NULL, "standard deviation of the noise"},
      {"xy", ARG_TEXT, 0, NULL, 0, 0, NULL, NULL, "points: the rows, as x:y,x:y"},
      {"as", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "name of the dataset"}},
     CMD_JOB | CMD_SETS | CMD_CHANGES,
     cmd_demo,
     NULL},
    {"data", "data", "List the datasets", "data", {{.name = NULL}}, 0, cmd_list, NULL},
    {"use",
     "data",
     "Choose the current dataset",
     "use .",
     {{"dataset", ARG_DATASET, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "its name; -1 is the one before"}},
     CMD_CHANGES,
     cmd_use,
     NULL},
    {"show",
     "data",
     "Rows, a column, a dataset or a run",
     "show 1..5",
     {{"object", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "rows a..b, a column, . (the dataset), run:r7 (default: the first rows)"}},
     0,
     cmd_show,
     NULL},
    {"summary",
     "data",
     "Each column: missing, unique, moments, histogram",
     "summary",
     {{"columns", ARG_COLUMN, ARGF_POS, NULL, 0, 0, NULL, NULL, "which: x1,x2* (default: all)"}},
     CMD_NEEDS_DATA,
     cmd_summary,
     NULL},
    {"cols",
     "data",
     "List columns; set role, type or group by pattern",
     "cols *",
     {{"columns", ARG_COLUMN, ARGF_POS, NULL, 0, 0, NULL, NULL, "which: zip,id*"},
      {"role", ARG_CHOICE, 0, NULL, 0, 0, "input|target|weight|id|split|skip", NULL,
       "what it is for"},
      {"type", ARG_CHOICE, 0, NULL, 0, 0, "real|category|text|sequence", NULL,
       "what its cells are"},
      {"group", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "inputs of one name share a lengthscale of "
       "kernel rbf(ard=group); none: of its own"},
      {"encoding", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "of a sequence's letters: onehot, blosum62, "
       "scales, kmer3, or a table file letter,number,.."}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_cols,
     "The columns of role=target are all targets then, the former ones inputs (help targets)."},
    {"missing",
     "data",
     "What to do about missing cells",
     "missing mean flag=yes",
     {{"policy", ARG_CHOICE, ARGF_POS, NULL, 0, 0, "error|mean|median|drop", NULL,
       "stop, fill with the training rows' mean or median, or drop the row"},
      {"flag", ARG_BOOL, 0, NULL, 0, 0, NULL, NULL, "an extra 0/1 input that says where"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_missing,
     NULL},
    {"scale",
     "data",
     "Scaling of inputs and target",
     "scale y=standard",
     {{"y", ARG_CHOICE, 0, NULL, 0, 0, "standard|log|none", NULL, "of the target"},
      {"x", ARG_CHOICE, 0, NULL, 0, 0, "standard|none", NULL, "of the inputs"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_scale,
     "Fitted on training rows only. Scores are in units of the target whatever the scaling."},
    {"split",
     "data",
     "Which rows train, validate, test",
     "split test=20% seed=7",
     {{"test", ARG_SHARE, 0, "20%", 0, 0.99, NULL, NULL, "share of test rows"},
      {"valid", ARG_SHARE, 0, NULL, 0, 0.99, NULL, NULL, "share of validation rows"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL, "of the draw (default: the option seed)"},
      {"ordered", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "the last rows, not random ones"},
      {"file", ARG_FILE, 0, NULL, 0, 0, NULL, NULL, "a table whose column says it"},
      {"column", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "0/1 with 1 = test, or the words train, valid, test"},
      {"folds", ARG_INT, 0, NULL, 2, 1000, NULL, "folds", "k folds for score folds"},
      {"train", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "at most so many training rows, at random; the others are set aside; all: none is"},
      {"none", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "undo: all rows train"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_split,
     "A column used by a split is no input. Valid rows are neither trained on nor scored unless\n"
     "score on=valid asks for them. split train=2000 alone keeps the split in force; of one seed "
     "fewer\n"
     "rows are some of the more (sweep rows=500..16k makes a learning curve)."},
    {.name = NULL},
};
