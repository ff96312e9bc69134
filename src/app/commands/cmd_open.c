/* app/commands/cmd_open.c -- reading data: open, demo. */
#include "app/commands/commands.h"
#include "app/commands/data_words.h"
#include "app/core/job.h"
#include "data/formats/npy_set.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles_column.h"
#include "data/prepare.h"
#include "app/shell/import_args.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_WARN = 1000 };

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
    rec_int(&r, "inputs", (int64_t)data_words_inputs(d));
    data_words_target_json(&r, d);
    rec_int(&r, "missing", (int64_t)t->missing);
    if (t->duplicates >= 0)
        rec_int(&r, "duplicates", t->duplicates);
    else
        rec_null(&r, "duplicates");
    rec_str(&r, "checksum", *t->checksum ? t->checksum : NULL);
    rec_num(&r, "seconds", seconds);
    data_words_text(d, &r);
    ws_emit(ws, &r);
    ws_tell_lines(ws, t->notes);
    ws_tell_lines(ws, d->notes);
}

/* Adding a dataset. */

static void open_warnings(struct workspace *ws, const struct dataset *d)
{
    const struct table *t = d->table;
    const size_t inputs = data_words_inputs(d);
    char name[128], bytes[32];

    if (table_is_out(t) && t->duplicates < 0) {
        mem_format(bytes, sizeof bytes, (double)table_bytes(t));
        ws_tell(ws, REC_NOTE, NULL, "disk", "a larger --mem",
                "the table (%s) %s disk, because it takes more than a quarter of the memory "
                "allowed; repeated rows were not counted",
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
                    "%s has %zu levels, so one-hot encoding makes %zu columns, "
                    "%s", name, t->col[i].nlevels,
                    t->col[i].nlevels, bytes);
        }
    }
    data_words_leaks(ws, d);
    data_words_molecules(ws, d, true);
    if (inputs > t->n)
        ws_warn(ws, "wide", "there are more inputs (%zu) than rows (%zu), so the fit will follow "
                            "the noise unless the lengthscale is long", inputs, t->n);
    if (t->n == 1)
        ws_warn(ws, "one-row", "there is only one row, so nothing can be scored");
}

/* Makes it the current dataset. One of the same name is replaced. */
static enum status take_dataset(struct workspace *ws, struct dataset *d, struct err *err)
{
    for (size_t i = 0; i < ws->ndata; i++)
        if (!strcmp(ws->data[i]->name, d->name)) {
            ws_note(ws, "replaced",
                    "%s was loaded earlier and is replaced; runs keep the data that they "
                    "used", d->name);
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

struct loading {         /* inputs and output of a job */
    struct args *args;   /* it owns the strings of the options */
    struct import_opts opts;
    char *path;
    char *target;        /* demo: NULL */
    struct demo_opts demo;
    char *demo_name;
    struct table *table;
    struct buf steps;    /* what it went through after it was read (prepare.h) */
    struct unit_look *looks; /* of its columns; demo: NULL */
};

static void loading_free(struct job *job)
{
    struct loading *l = job->arg;

    if (!l)
        return;
    table_unref(l->table);
    buf_free(&l->steps);
    free(l->looks);
    args_free(l->args);
    free(l->path);
    free(l->target);
    free(l->demo_name);
    free(l);
    job->arg = NULL;
}

/* The steps that the column which is to be the input goes through. */
static enum status first_steps(struct loading *l, struct job *job, struct err *err)
{
    const size_t j = dataset_sole(l->table);
    const struct row_kind *kind = j < l->table->ncols ? kind_of(&l->table->col[j]) : NULL;
    struct buf notes = { 0 };
    enum status rc = ST_OK;

    if (!kind || !kind->opened)
        return ST_OK;
    kind->opened(l->table, &l->table->col[j], &l->steps, &notes);
    if (l->steps.len)
        rc = prepare_table(&l->table, buf_str(&l->steps), &job->ctl, &notes, err);
    if (rc == ST_OK)
        rc = table_add_notes(l->table, &notes, err);
    buf_free(&notes);
    return rc;
}

/* invalid=stop: molecules that cannot be read are an error. */
static enum status all_read(const struct loading *l, struct err *err)
{
    for (size_t j = 0; j < l->table->ncols; j++) {
        const struct column *c = &l->table->col[j];
        struct buf b = { 0 };
        if (!smiles_column_is(c) || smiles_column_of(c)->unread.n == 0)
            continue;
        smiles_column_tell(l->table, c, &smiles_column_of(c)->unread, &b);
        err_named(err, ST_FORMAT, "unreadable", "%.900s", buf_str(&b));
        err_hint(err, "open FILE   (without invalid=stop they are missing cells)");
        buf_free(&b);
        return ST_FORMAT;
    }
    return ST_OK;
}

static enum status open_work(struct job *job, struct err *err)
{
    struct loading *l = job->arg;
    enum status rc = import_file(l->path, &l->opts, &job->ctl, &l->table, err);

    if (rc == ST_OK)
        rc = first_steps(l, job, err);
    if (rc == ST_OK && l->opts.invalid && !strcmp(l->opts.invalid, "stop"))
        rc = all_read(l, err);
    if (rc == ST_OK && !(l->looks = data_words_looks(l->table, err)))
        rc = err->code;
    return rc;
}

/* The column that target= means; it may instead have named a file or a dataset of targets. */
static const char *target_name(const struct table *t, const char *target)
{
    char first[300];

    if (!target || table_find(t, target) != SIZE_MAX || !t->targets)
        return target;
    snprintf(first, sizeof first, "%s1", target); /* a dataset with several columns */
    return npy_set_is_npy(target) || !strcmp(first, t->col[t->ncols - t->targets].name) ? NULL
                                                                                        : target;
}

static enum status open_take(struct workspace *ws, struct loading *l, struct err *err)
{
    const struct args *a = l->args;
    struct dataset *d = dataset_new(l->table, args_text(a, "name"),
                                    target_name(l->table, args_text(a, "target")), err);
    enum status rc = d ? ST_OK : err->code;

    if (rc == ST_OK && l->steps.len && !(d->steps = mem_strdup(buf_str(&l->steps), err)))
        rc = ST_NOMEM;
    if (rc == ST_OK && !import_args_skips_lines(a))
        rc = set_roles(d, args_text(a, "skip"), ROLE_SKIP, err);
    if (rc == ST_OK)
        rc = set_roles(d, args_text(a, "id"), ROLE_ID, err);
    if (rc == ST_OK)
        rc = set_roles(d, args_text(a, "weight"), ROLE_WEIGHT, err);
    if (rc == ST_OK && data_words_target_col(d) == SIZE_MAX) {
        bool numbers = false;
        for (size_t j = 0; j < l->table->ncols; j++)
            numbers |= l->table->col[j].type == COL_REAL && l->table->col[j].missing < l->table->n;
        rc = numbers ? err_set(err, ST_USAGE, "the target column is skipped, too")
                     : err_named(err, ST_STATE, "no-target",
                                 "no column holds numbers, so there is nothing to predict");
        err_hint(err, numbers ? "open FILE target=NAME"
                              : "open FILE types=NAME=real  shows the cell that is not a number"
                                "  |  open FILE target=NAME  for classes");
    }
    if (rc == ST_OK)
        rc = take_dataset(ws, d, err);
    if (rc != ST_OK) {
        dataset_unref(d);
        return rc;
    }
    open_record(ws, d, "open", l->table->seconds);
    open_warnings(ws, d);
    data_words_units(ws, d, l->looks);
    return data_words_classes(ws, d, true, err);
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
    /* adding a point does not move the others */
    if (rc == ST_OK && !strcmp(l->demo_name, "points"))
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
        if (data_words_classes(ws, d, true, &err) != ST_OK)
            ws_error(ws, &err, job->line);
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

struct command cmd_open_rows[] = {
    {"open",
     "data",
     "Read a table from a file, or from several",
     "open share/data/co2.csv",
     {{"file", ARG_FILE, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "file ({formats}; text and NPY also as .gz, .zst); - is standard input; or a "
       "directory, a pattern, a list of NPY files"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "column to predict (default: the last), or several: y1,y2; or the NPY file, pattern or HDF5 "
       "dataset with the targets"},
      IMPORT_ARGS_ROWS(false),
      {"skip", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "columns to leave out: id,tmp*; a number: lines to leave out above the table"},
      {"id", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "columns that name a row; kept, but not used as inputs"},
      {"weight", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "column of weights; a row's noise variance is noise^2 / weight"},
      {"name", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "name of the dataset (default: from the file)"},
      IMPORT_ARGS_CELLS(false)},
     CMD_JOB | CMD_SETS | CMD_CHANGES | CMD_DRY,
     cmd_open,
     "Types are guessed from a sample and checked on every row; a cell that does not fit stops\n"
     "the command with its line, column and content. Nothing is dropped or guessed without a\n"
     "note.\n"
     "Arrays: open X.npy target=y.npy; open 'x_*.npy' target='y_*.npy'; a.npy,b.npy\n"
     "target=ya.npy,yb.npy; a directory with such pairs; a text file with one file or one pair\n"
     "on each line. Columns are x1..xd and y; large plain files are read in place. open FILE.h5\n"
     "inputs=NAME target=NAME reads HDF5 datasets.\n"
     "Sequences: a column named sequence, or types=NAME=sequence, is the input, and other\n"
     "columns are left out until cols NAME role=input. open x.fasta targets=y.csv joins a table\n"
     "to the records by name."},
    {"demo",
     "data",
     "Load bundled or generated data",
     "demo friedman1 n=200 seed=3",
     {{"name", ARG_DEMO, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "name of the data; demo alone lists them"},
      {"n", ARG_INT, 0, NULL, 1, 1e8, NULL, "rows", "number of rows (except co2)"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL,
       "seed of the generator (default: the option seed)"},
      {"kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "for draw: kernel of the drawn function"},
      {"noise", ARG_REAL, 0, NULL, 0, 1e6, NULL, NULL, "standard deviation of the noise"},
      {"xy", ARG_TEXT, 0, NULL, 0, 0, NULL, NULL, "for points: the rows, as x:y,x:y"},
      {"as", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "name of the dataset"}},
     CMD_JOB | CMD_SETS | CMD_CHANGES | CMD_DRY,
     cmd_demo,
     NULL},
    {.name = NULL},
};
