/* app/commands/cols_molecules.c -- see cols_molecules.h.  Reading molecules takes seconds, so a job
 * applies the step (data/molecules/molecule_step.h) to a copy of the dataset, which takes the place
 * of the dataset when it is complete. */
#include "app/commands/cols_molecules.h"

#include "app/commands/data_words.h"
#include "app/core/job.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "data/molecules/molecule_step.h"
#include "data/prepare.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct encoding_job {
    struct dataset *was, *is; /* the state that it began with; what becomes of it */
    struct buf notes;
    struct molecule_step step;
    bool *in;                 /* the columns */
    bool usual;               /* they are SMILES since now: what `open` does to such a column */
    bool changed;
};

/* The columns of SMILES among those that are named. */
static bool *chosen(const struct dataset *d, const char *patterns, size_t *n, struct err *err)
{
    bool *in = mem_calloc(d->table->ncols, sizeof *in, "columns", err);

    *n = 0;
    if (in && dataset_select(d->table, patterns, in, err) != ST_OK) {
        free(in);
        return NULL;
    }
    for (size_t j = 0; in && j < d->table->ncols; j++) {
        in[j] = in[j] && smiles_column_is(&d->table->col[j]);
        *n += in[j];
    }
    return in;
}

/* type=smiles */
static bool becomes(const struct args *a)
{
    return args_given(a, "type") && !strcmp(args_text(a, "type"), "smiles");
}

bool cols_molecules_asked(const struct dataset *d, const struct args *a)
{
    const char *patterns = args_text(a, "columns");
    size_t n = 0;

    if (!patterns)
        return false;
    if (args_bool(a, "descriptors") || args_bool(a, "scaffold"))
        return true;
    if (!args_given(a, "encoding") && !becomes(a))
        return false;
    free(chosen(d, patterns, &n, NULL));
    return n > 0;
}

static void job_free(struct job *job)
{
    struct encoding_job *e = job->arg;

    if (!e)
        return;
    dataset_unref(e->was);
    dataset_unref(e->is);
    buf_free(&e->notes);
    free(e->in);
    free(e);
    job->arg = NULL;
}

static enum status work(struct job *job, struct err *err)
{
    struct encoding_job *e = job->arg;
    const struct table *was = e->is->table;
    struct buf steps = { 0 };
    enum status rc = ST_OK;

    for (size_t j = 0; j < e->was->table->ncols && rc == ST_OK; j++)
        if (e->in[j] && e->usual)
            molecule_step_opened(e->was->table, &e->was->table->col[j], &steps, &e->notes);
        else if (e->in[j])
            rc = molecule_step_write(e->was->table->col[j].name, &e->step, &steps, err);
    if (rc == ST_OK && steps.failed)
        rc = err_nomem(err, 64, "a step");
    if (rc == ST_OK && steps.len > 0)
        rc = prepare_dataset(e->is, buf_str(&steps), &job->ctl, &e->notes, err);
    e->changed = e->is->table != was;
    buf_free(&steps);
    return rc;
}

static void tell(struct workspace *ws, const struct encoding_job *e, const struct dataset *d)
{
    const size_t more = d->table->ncols - e->was->table->ncols;
    struct rec r;

    rec_init(&r, REC_RESULT, "cols");
    rec_int(&r, "changed", (int64_t)(e->changed ? more > 0 ? more : 1 : 0));
    rec_int(&r, "inputs", (int64_t)data_words_inputs(d));
    data_words_target_json(&r, d);
    rec_text(&r, e->changed ? "%s; now %zu inputs, target%s " : "%s; %zu inputs, target%s ",
             !e->changed ? "the molecules are encoded so already"
             : more      ? "columns were added" : "the molecules are encoded",
             data_words_inputs(d), dataset_targets(d) > 1 ? "s" : "");
    data_words_target(d, &r.text);
    ws_emit(ws, &r);
    ws_tell_lines(ws, buf_str(&e->notes));
}

static void done(struct workspace *ws, struct job *job, enum status rc, const struct err *why)
{
    struct encoding_job *e = job->arg;
    struct err err = *why;
    size_t i = 0;

    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "the columns of %s are as they were", e->was->name);
        return;
    }
    while (i < ws->ndata && ws->data[i]->table != e->was->table)
        i++;
    if (rc == ST_OK && i == ws->ndata) {
        rc = err_named(&err, ST_STATE, "changed", "the rows of %.80s were changed meanwhile",
                       e->was->name);
        err_hint(&err, "%s", job->line);
    }
    if (rc != ST_OK) {
        job->rc = rc;
        ws_error(ws, &err, job->line);
        return;
    }
    if (e->changed)
        dataset_exchange(ws->data[i], e->is);
    tell(ws, e, ws->data[i]);
}

static enum status read_settings(const struct dataset *d, const struct args *a,
                                 struct encoding_job *e, struct err *err)
{
    const char *word = args_text(a, "encoding");
    size_t n = 0;

    e->step.described = args_bool(a, "descriptors");
    e->step.scaffold = args_bool(a, "scaffold");
    e->step.counted = word != NULL;
    e->usual = becomes(a) && !word && !e->step.described && !e->step.scaffold;
    if (!(e->in = chosen(d, args_text(a, "columns"), &n, err)))
        return err->code;
    if (n == 0) {
        err_named(err, ST_STATE, "smiles", "none of these columns holds SMILES");
        err_hint(err, "cols NAME type=smiles   |   cols   (lists the types)");
        return ST_STATE;
    }
    return word ? fingerprint_parse(word, "encoding", &e->step.how, err) : ST_OK;
}

enum status cols_molecules_start(struct workspace *ws, const struct dataset *d,
                                 const struct args *a, struct err *err)
{
    static const struct job_ops ops = { "cols", work, done, NULL, job_free };
    struct encoding_job *e = mem_calloc(1, sizeof *e, "a job", err);

    if (!e)
        return ST_NOMEM;
    enum status rc = read_settings(d, a, e, err);
    e->was = rc == ST_OK ? dataset_snapshot(d, err) : NULL;
    e->is = e->was ? dataset_snapshot(d, err) : NULL;
    if (e->is)
        return ws_submit(ws, &ops, "cols", e, args_line(a), err);
    job_free(&(struct job){ .arg = e });
    return rc != ST_OK ? rc : ST_NOMEM;
}
