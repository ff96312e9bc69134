/* app/commands/cmd_sweep.c -- the command `sweep`: queues the statements of each point as `source`
 * does, each point separately so that a failure does not stop the others, and finally its table. */
#include "app/commands/commands.h"
#include "app/shell/text_table.h"
#include "app/runs/sweep_measures.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void mean_and_sd(const struct workspace *ws, const struct sweep *s, const struct measure *m,
                        double *mean, double *sd)
{
    double sum = 0.0, squares = 0.0, n = 0.0;

    for (size_t i = 0; i < s->npoints; i++) {
        const double v = sweep_measured(sweep_run(ws, s, i), m);
        if (isfinite(v)) {
            sum += v;
            n += 1.0;
        }
    }
    *mean = n > 0.0 ? sum / n : NAN;
    for (size_t i = 0; i < s->npoints; i++) {
        const double v = sweep_measured(sweep_run(ws, s, i), m);
        if (isfinite(v))
            squares += (v - *mean) * (v - *mean);
    }
    *sd = n > 1.0 ? sqrt(squares / (n - 1.0)) : NAN;
}

/* Figures that the runs of the sweep have: of classes or of numbers. */
static bool listed(const struct workspace *ws, const struct sweep *s, const struct measure *m)
{
    bool has = false, classes = false;

    if (!sweep_measures_has(s, m))
        return false;
    for (size_t i = 0; i < s->npoints; i++) {
        const struct run *r = sweep_run(ws, s, i);
        has = has || isfinite(sweep_measured(r, m));
        classes = classes || (r && r->has_enc && r->enc.nclasses);
    }
    return has || (!m->omit && (m->group != MEASURE_SCORES || !classes));
}

static void put(struct text_table *g, double v)
{
    char text[32] = "";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    text_table_cell(g, text, 0);
}

static void sweep_rows(const struct workspace *ws, const struct sweep *s, const bool *shown,
                       struct text_table *g, struct rec *r)
{
    const struct measure *m;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct run *run = sweep_run(ws, s, i);
        rec_item(r);
        for (size_t k = 0; k < s->nkeys; k++) {
            const char *v = s->key[k].value[sweep_index(s, i, k)];
            rec_str(r, s->key[k].name, v);
            text_table_cell(g, v, 32);
        }
        rec_str(r, "run", run ? run->id : NULL);
        rec_str(r, "state", run ? run_state_name(run->state) : NULL);
        text_table_cell(g, run ? run->id : "-", 0);
        for (size_t k = 0; (m = measure_of_sweep(k)) != NULL; k++) {
            if (!shown[k])
                continue;
            rec_num(r, m->name, sweep_measured(run, m));
            put(g, sweep_measured(run, m));
        }
        rec_close(r);
    }
}

static void sweep_means(const struct workspace *ws, const struct sweep *s, const bool *shown,
                        struct text_table *g, struct rec *r)
{
    double mean[SWEEP_MEASURES], sd[SWEEP_MEASURES];
    const struct measure *m;

    for (size_t k = 0; (m = measure_of_sweep(k)) != NULL; k++)
        mean_and_sd(ws, s, m, &mean[k], &sd[k]);
    for (int which = 0; which < 2; which++) {
        rec_open(r, which ? "sd" : "mean");
        text_table_cell(g, which ? "sd" : "mean", 0);
        for (size_t k = 0; k < s->nkeys; k++)
            text_table_cell(g, "", 0);
        for (size_t k = 0; (m = measure_of_sweep(k)) != NULL; k++)
            if (shown[k]) {
                rec_num(r, m->name, which ? sd[k] : mean[k]);
                put(g, which ? sd[k] : mean[k]);
            }
        rec_close(r);
    }
}

static enum status sweep_table(struct workspace *ws, struct err *err)
{
    const struct sweep *s = sweep_of(ws);
    bool right[SWEEP_KEYS + 1 + SWEEP_MEASURES] = { false }, shown[SWEEP_MEASURES] = { false };
    const struct measure *m;
    struct text_table g;
    struct rec r;
    size_t cols = 0;

    if (!s) {
        err_set(err, ST_STATE, "nothing has been swept yet");
        err_hint(err, "sweep rank=256,512,1024");
        return ST_STATE;
    }
    rec_init(&r, REC_RESULT, "sweep");
    cols = s->nkeys + 1;
    for (size_t k = 0; (m = measure_of_sweep(k)) != NULL; k++)
        if ((shown[k] = listed(ws, s, m)))
            right[cols++] = true;
    text_table_init(&g, cols);
    for (size_t k = 0; k < s->nkeys; k++)
        text_table_cell(&g, s->key[k].name, 0);
    text_table_cell(&g, "run", 0);
    for (size_t k = 0; (m = measure_of_sweep(k)) != NULL; k++)
        if (shown[k])
            text_table_cell(&g, m->head, 0);
    rec_str(&r, "show", s->show);
    rec_array(&r, "points");
    sweep_rows(ws, s, shown, &g, &r);
    rec_array_close(&r);
    sweep_means(ws, s, shown, &g, &r);
    text_table_print(&g, right, &r.text);
    const struct run *first = sweep_run(ws, s, 0);
    if (run_targets(first) > 1)
        rec_text(&r, "  scores are means over %zu targets\n", run_targets(first));
    rec_text(&r, "  plot sweep draws it");
    text_table_free(&g);
    ws_emit(ws, &r);
    return ST_OK;
}

/* The statements of a point begin with `sweep point=i`. */
static enum status sweep_mark(struct workspace *ws, const char *text, struct err *err)
{
    size_t i;
    char more;

    if (!sweep_of(ws) || sscanf(text, "point=%zu%c", &i, &more) != 1 || i >= sweep_of(ws)->npoints)
        return err_set(err, ST_USAGE, "sweep point= is for the program's own use");
    sweep_of(ws)->first[i] = ws->runs_made;
    return ST_OK;
}

static enum status sweep_start(struct workspace *ws, struct sweep *s, struct err *err)
{
    enum status rc = ST_OK;

    s->first = mem_calloc(s->npoints, sizeof *s->first, "a sweep", err);
    if (!s->first)
        return ST_NOMEM;
    for (size_t i = 0; i < s->npoints; i++)
        s->first[i] = SIZE_MAX;
    for (size_t i = 0; rc == ST_OK && i < s->npoints; i++) {
        struct buf lines = { 0 };
        sweep_statements(s, i, &lines);
        rc = lines.failed ? err_nomem(err, lines.len, "a sweep")
                          : workspace_exec_apart(ws, buf_str(&lines), "sweep");
        buf_free(&lines);
    }
    struct buf after = { 0 };
    sweep_after(s, &after);
    if (rc == ST_OK)
        rc = after.failed ? err_nomem(err, after.len, "a sweep")
                          : workspace_exec_apart(ws, buf_str(&after), "sweep");
    buf_free(&after);
    return rc;
}

/* A column that the dataset lacks is looked up in the file of the current split. */
static enum status same_file(const struct workspace *ws, struct sweep *s, struct err *err)
{
    const struct dataset *d = ws->cur < ws->ndata ? ws->data[ws->cur] : NULL;
    static const char begins[] = "file=\"";
    const struct sweep_key *split = NULL;

    for (size_t k = 0; k < s->nkeys; k++)
        split = strcmp(s->key[k].name, "split") ? split : &s->key[k];
    if (s->split || !split || !d || !d->split.how ||
        strncmp(d->split.how, begins, sizeof begins - 1))
        return ST_OK;
    const char *path = d->split.how + sizeof begins - 1, *end = strchr(path, '"');
    if (!end || memchr(path, '\\', (size_t)(end - path)) ||
        table_find(d->table, split->value[0]) != SIZE_MAX)
        return ST_OK;
    s->split = strndup(path, (size_t)(end - path));
    return s->split ? ST_OK : err_nomem(err, strlen(path), "a sweep");
}

static enum status cmd_sweep(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *text = args_text(a, "grid");
    struct sweep s;

    if (!text || !*text)
        return sweep_table(ws, err);
    if (!strncmp(text, "point=", 6))
        return sweep_mark(ws, text, err);
    enum status rc = sweep_parse(text, &s, err);
    if (rc != ST_OK)
        return rc;
    const struct dataset *d = ws_dataset(ws, NULL, NULL);
    if (d && d->link && !strcmp(s.show, "rmse"))
        snprintf(s.show, sizeof s.show, "log_loss"); /* classes have no RMSE */
    rc = same_file(ws, &s, err);
    if (rc != ST_OK) {
        sweep_free(&s);
        return rc;
    }
    struct sweep *kept = mem_calloc(1, sizeof *kept, "a sweep", err);
    if (!kept) {
        sweep_free(&s);
        return ST_NOMEM;
    }
    *kept = s;
    owner_take(ws, &sweep_owner, kept);
    rc = sweep_start(ws, kept, err);
    if (rc != ST_OK && err->code == ST_OK) /* a point that cannot be parsed is already reported */
        err_set(err, rc, "sweep: a point cannot be run");
    return rc;
}

const struct command cmd_sweep_rows[] = {
    {"sweep",
     "work",
     "Run a grid of settings; show one table and plot",
     "sweep rank=32,64,128",
     {{"grid", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "key=values of fit and tune, kernel=, data=, rows=, split= (columns; file=FILE); show=, "
       "tune='..', fit='..'"}},
     CMD_BARRIER,
     cmd_sweep,
     "Each point is a fit and a score, or with show=nmll a tuning at the given values. Values\n"
     "are a,b,c; a..b; a..b/step; a..b*2; name0..name4. sweep alone shows the last table again,\n"
     "and plot sweep draws it. show=rmse|nlpd|nmll|coverage|effdim|iterations|seconds, of classes\n"
     "log_loss|accuracy; effdim is the effective dimension. A sweep over split=, kernel=, data=\n"
     "or rows= tunes at each point, unless tune=no is given. rows= is the number of training\n"
     "rows; plot learning draws the error against it.\n"
     "  sweep rows=500..16000 tune='features=1024' fit='features=4096'\n"
     "  sweep l=0.1..10 noise=0.01,0.1 show=nmll\n"
     "  sweep split=split0..split4 file=splits.csv tune='features=1024' fit='features=4096'"},
    {.name = NULL},
};
