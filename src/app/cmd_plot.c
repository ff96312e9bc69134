/* app/cmd_plot.c -- plot and describe: the rows of the command table.  Making a figure is quick and
 * happens at once; writing a picture runs gnuplot and is a job. */
#include "app/commands.h"
#include "app/gnuplot.h"
#include "app/job.h"
#include "app/workspace.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct export { struct figure *fig; char *path; size_t w, h; bool dark; struct buf note; };

static void export_free(struct job *job)
{
    struct export *e = job->arg;

    if (!e)
        return;
    figure_free(e->fig);
    free(e->path);
    buf_free(&e->note);
    free(e);
    job->arg = NULL;
}

static enum status export_work(struct job *job, struct err *err)
{
    struct export *e = job->arg;
    return plot_export(e->fig, e->path, e->w, e->h, e->dark, &e->note, err);
}

static void figure_record(struct workspace *ws, const char *verb, const struct figure *f,
                          const char *out, bool words)
{
    struct rec rec;
    struct buf b = { 0 };

    rec_init(&rec, REC_RESULT, verb);
    rec_str(&rec, "plot", f->name);
    rec_str(&rec, "out", out);
    rec_str(&rec, "verdict", f->verdict);
    rec_str(&rec, "reason", f->reason);
    if (words || ws->opt.json || ws->opt.plain || out) {
        figure_describe(f, &b);
        rec_str(&rec, "describe", buf_str(&b));
    }
    if (out) {
        rec_text(&rec, "plot %s written to ", f->name);
        text_safe(&rec.text, out, 0);
        if (f->reason)
            rec_text(&rec, " (it shows why there is nothing to draw: %s)", f->reason);
    } else if (words || ws->opt.plain) {
        rec_text(&rec, "%s", buf_str(&b));
    } else {
        buf_clear(&b);
        figure_text(f, 78, 20, MB_CUR_MAX > 1, &b);
        rec_text(&rec, "%s", buf_str(&b));
        if (f->verdict)
            rec_text(&rec, "%s%s", rec.text.len && rec.text.s[rec.text.len - 1] == '\n' ? "" : "\n",
                     f->verdict);
    }
    while (rec.text.len && rec.text.s[rec.text.len - 1] == '\n')
        rec.text.s[--rec.text.len] = '\0';
    buf_free(&b);
    ws_emit(ws, &rec);
}

static void export_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    struct export *e = job->arg;

    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    if (e->note.len)
        ws_note(ws, "gnuplot", "%s", buf_str(&e->note));
    figure_record(ws, "plot", e->fig, e->path, false);
}

static const struct job_ops export_ops = { .verb = "plot", .work = export_work,
                                           .done = export_done, .free = export_free };

static enum status export_start(struct workspace *ws, struct figure *f, const struct args *a,
                                struct err *err)
{
    struct export *e = mem_calloc(1, sizeof *e, "job", err);

    if (!e) {
        figure_free(f);
        return ST_NOMEM;
    }
    struct job tmp = { .arg = e };
    e->fig = f;
    e->dark = !strcmp(args_text(a, "theme"), "dark");
    e->path = mem_strdup(args_text(a, "out"), err);
    const char *size = args_text(a, "size");
    if (size && (sscanf(size, "%zux%zu", &e->w, &e->h) != 2 || !e->w || !e->h || e->w > 20000
                 || e->h > 20000)) {
        export_free(&tmp);
        return err_set(err, ST_RANGE, "size=%s is not WIDTHxHEIGHT, as in size=800x480", size);
    }
    if (!e->path) {
        export_free(&tmp);
        return ST_NOMEM;
    }
    return ws_submit(ws, &export_ops, NULL, e, args_line(a), err);
}

static struct figure *make(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct plot_ops *p = plot_find(args_text(a, "name"), err);
    struct run *r = NULL;
    struct err ignored;

    if (!p)
        return NULL;
    if (args_many(a, "runs") && strcmp(p->name, "columns")) {
        r = ws_run(ws, args_many_at(a, "runs", 0), err);
        if (!r)
            return NULL;
    } else {
        r = ws_newest_running(ws);
        if (!r || r->kind != RUN_FIT || strcmp(p->name, "residual"))
            r = ws_run(ws, NULL, &ignored);
    }
    struct figure *f = p->make(ws, r, a, err);
    for (struct figure *q = f; q; q = q->next) {
        const char *x = args_text(a, "x"), *y = args_text(a, "y");
        if (x)
            q->x.log = !strcmp(x, "log");
        if (y)
            q->y.log = !strcmp(y, "log");
    }
    return f;
}

/* What the screen's pictures of predictions show from now on: the target named, else the first. */
static void look_at(struct workspace *ws, const struct args *a, const char *plot)
{
    static const char *const of_target[] = { "parity", "calibration", "sd", "sderror" };
    struct err ignored;
    struct run *r = ws_run(ws, args_many(a, "runs") ? args_many_at(a, "runs", 0) : NULL, &ignored);

    for (size_t i = 0; i < sizeof of_target / sizeof *of_target; i++)
        if (!strcmp(plot, of_target[i]))
            (void)ws_run_target(r, args_text(a, "target"), &ws->look, &ignored);
}

static enum status cmd_plot(struct workspace *ws, const struct args *a, struct err *err)
{
    struct figure *f = make(ws, a, err);

    if (!f)
        return err->code;
    if (ws->show && !args_given(a, "out"))
        look_at(ws, a, f->name);
    if (args_given(a, "out"))
        return export_start(ws, f, a, err);
    const char *run = args_many(a, "runs") ? args_many_at(a, "runs", 0) : "";
    if (ws->show && ws->show(ws->show_ctx, f->name, run)) { /* the workbench shows it in a pane */
        struct rec rec;
        rec_init(&rec, REC_RESULT, "plot");
        rec_text(&rec, "%s: %s", f->name, f->verdict ? f->verdict : f->reason ? f->reason : "shown");
        ws_emit(ws, &rec);
    } else {
        figure_record(ws, "plot", f, NULL, false);
    }
    figure_free(f);
    return ST_OK;
}

static enum status cmd_describe(struct workspace *ws, const struct args *a, struct err *err)
{
    struct figure *f = make(ws, a, err);

    if (!f)
        return err->code;
    figure_record(ws, "describe", f, NULL, true);
    figure_free(f);
    return ST_OK;
}

#define RUNS_ARG { "runs", ARG_WORD, ARGF_POS | ARGF_MANY, NULL, 0, 0, NULL, NULL, "runs (columns: column names); default: the last fit" }
#define TARGET_ARG { "target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "of several targets, which one (parity, calibration, sd, sderror); default: the first" }
#define AXIS_ARGS { "x", ARG_CHOICE, 0, NULL, 0, 0, "log|linear", NULL, "horizontal axis" }, \
                  { "y", ARG_CHOICE, 0, NULL, 0, 0, "log|linear", NULL, "vertical axis" }, \
                  { "by", ARG_CHOICE, 0, "iteration", 0, 0, "iteration|seconds|passes", NULL, "residual: the clock along the horizontal axis" }

const struct command cmd_plot_rows[] = {
    { "plot", "look", "Draw a plot on screen or into a file", "plot columns",
      { { "name", ARG_PLOT, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "columns, parity, residual, nmll, calibration, sd, sderror, pca" },
        RUNS_ARG, TARGET_ARG, AXIS_ARGS,
        { "out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "file: .svg .png .pdf .txt .csv" },
        { "theme", ARG_CHOICE, 0, "light", 0, 0, "light|dark", NULL, "background of the file" },
        { "size", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "WIDTHxHEIGHT in pixels (cells for .txt)" } },
      0, cmd_plot,
      "A plot without data draws its reason. .csv writes the numbers behind the picture." },
    { "describe", "look", "A plot in words: range, slope, knees, crossings", "describe columns",
      { { "name", ARG_PLOT, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "columns, parity, residual, nmll, calibration, sd, sderror, pca" },
        RUNS_ARG, TARGET_ARG, AXIS_ARGS },
      0, cmd_describe, NULL },
    { .name = NULL },
};
