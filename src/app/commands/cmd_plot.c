/* app/commands/cmd_plot.c -- plot and describe: the rows of the command table. A figure is made at
 * once; writing an image runs gnuplot and is a job. */
#include "app/shell/args.h"
#include "app/commands/commands.h"
#include "app/plots/landscape.h"
#include "app/plots/plot_job.h"
#include "app/plots/plots.h"
#include "figure/plot_show.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Returns a static string, log or linear. */
static const char *axis_word(const struct args *a, const char *key)
{
    const char *w = args_text(a, key);
    return !w ? NULL : !strcmp(w, "log") ? "log" : "linear";
}

static void set_axes(struct figure *f, const char *x, const char *y)
{
    for (; f; f = f->next) {
        if (x)
            f->x.log = !strcmp(x, "log");
        if (y)
            f->y.log = !strcmp(y, "log");
    }
}

static void drawn_free(void *state)
{
    args_free(state);
}

/* The state is the line of the last plot put on the screen. */
const struct owner cmd_plot_shown_owner = { .name = "plot", .free = drawn_free };

/* Shows a figure in a pane if there is a screen, otherwise as text. */
static void show(struct workspace *ws, struct figure *f, const struct args *a, const char *run)
{
    owner_take(ws, &cmd_plot_shown_owner, args_ref(a));
    if (ws_screen_show(ws, f->name, run)) {
        struct rec rec;
        rec_init(&rec, REC_RESULT, "plot");
        rec_text(&rec, "%s: %s", f->name,
                 f->verdict  ? f->verdict
                 : f->reason ? f->reason
                             : "shown");
        ws_emit(ws, &rec);
    } else {
        figure_record(ws, "plot", f, NULL, false);
    }
}

static void told(struct workspace *ws, struct figure *f, const struct args *a, const char *out,
                 bool words)
{
    const char *to = words ? NULL : args_text(a, "to");
    if (to && *to != 's') { /* windows and pictures are described in words here */
        struct rec rec;
        rec_init(&rec, REC_RESULT, "plot");
        rec_str(&rec, "plot", f->name);
        rec_str(&rec, "to", to);
        rec_str(&rec, "verdict", f->verdict);
        rec_text(&rec, "%s: %s", f->name,
                 f->verdict  ? f->verdict
                 : f->reason ? f->reason
                             : "shown");
        ws_emit(ws, &rec);
        return;
    }
    if (words)
        figure_record(ws, "describe", f, NULL, true);
    else if (out)
        figure_record(ws, "plot", f, out, false);
    else
        show(ws, f, a, "");
}

/* Queues the job; if f is NULL, the job makes the figure. */
static enum status start(struct workspace *ws, struct figure *f, struct plot_work *work,
                         const struct args *a, bool words, struct err *err)
{
    struct plot_out *e = mem_calloc(1, sizeof *e, "job", err);
    const char *size = words ? NULL : args_text(a, "size"),
               *out = words ? NULL : args_text(a, "out");

    if (!e) {
        figure_free(f);
        if (work && work->free)
            work->free(work->in);
        return ST_NOMEM;
    }
    e->fig = f;
    if (work)
        e->work = *work;
    e->words = words;
    e->told = told;
    e->args = args_ref(a);
    e->axes = set_axes;
    e->x = axis_word(a, "x"), e->y = axis_word(a, "y");
    e->dark = !words && !strcmp(args_text(a, "theme"), "dark");
    e->path = out ? mem_strdup(out, err) : NULL;
    enum status rc = out && !e->path ? ST_NOMEM : ST_OK;
    const char *to = words ? "screen" : args_text(a, "to");
    e->to = *to == 'w' ? 'w' : *to == 'p' ? 's' : '\0';
    if (e->to == 's')
        plot_show_sixel_size(STDIN_FILENO, &e->w, &e->h);
    if (rc == ST_OK && size && (sscanf(size, "%zux%zu", &e->w, &e->h) != 2 || !e->w || !e->h
                                || e->w > 20000 || e->h > 20000))
        rc = err_set(err, ST_RANGE, "size=%s is not WIDTHxHEIGHT, as in size=800x480", size);
    if (rc != ST_OK) {
        plot_out_free(e);
        return rc;
    }
    return plot_start(ws, e, args_line(a), err);
}

/* The run that the line names, or else the current one.  Among columns, a word that is not a column
 * and looks like a run is a run. */
static enum status pick_run(struct workspace *ws, const struct plot_ops *p, const struct args *a,
                            struct run **out, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, NULL);
    struct err ignored;

    *out = NULL;
    for (size_t i = 0; p->columns && i < args_many(a, "runs"); i++) {
        const char *w = args_many_at(a, "runs", i);
        if (args_looks_like_run(w) && (!d || table_find(d->table, w) == SIZE_MAX)) {
            *out = ws_run(ws, w, err);
            return *out ? ST_OK : err->code;
        }
    }
    if (args_many(a, "runs") && !p->columns) {
        *out = ws_run(ws, args_many_at(a, "runs", 0), err);
        return *out ? ST_OK : err->code;
    }
    *out = ws_newest_running(ws);
    if (!*out || !plot_follows(p, *out))
        *out = ws_run(ws, NULL, &ignored);
    return ST_OK;
}

/* Sets the target that the screen's plots of predictions show: the one named, else the first. */
static void look_at(struct workspace *ws, const struct args *a, const struct plot_ops *p)
{
    struct err ignored;
    struct run *r = ws_run(ws, args_many(a, "runs") ? args_many_at(a, "runs", 0) : NULL, &ignored);

    if (p->of_target)
        (void)run_target(r, args_text(a, "target"), &ws->look, &ignored);
}

/* Makes the figure at once, or queues a job if that takes time. */
static enum status figure_of(struct workspace *ws, const struct args *a, bool words,
                             struct figure **f, struct err *err)
{
    const struct plot_ops *p = plot_find(args_text(a, "name"), err);
    struct plot_work work = { 0 };
    struct run *r;

    *f = NULL;
    enum status rc = p ? pick_run(ws, p, a, &r, err) : err->code;
    if (rc != ST_OK)
        return rc;
    if (p->prepare) {
        rc = p->prepare(ws, r, a, &work, err);
        if (rc == ST_OK)
            return start(ws, NULL, &work, a, words, err);
        if (work.free)
            work.free(work.in);
        return rc;
    }
    const size_t lost = err_unreported();
    *f = plots_whole(p->make(ws, r, a, err), lost, err);
    if (*f)
        set_axes(*f, args_text(a, "x"), args_text(a, "y"));
    return *f ? ST_OK : err->code;
}

static enum status cmd_plot(struct workspace *ws, const struct args *a, struct err *err)
{
    struct figure *f;
    const enum status rc = figure_of(ws, a, false, &f, err);

    if (!f)
        return rc;
    const struct plot_ops *p = plot_find(f->name, NULL);
    if (p && ws->screen && !args_given(a, "out"))
        look_at(ws, a, p);
    if (args_given(a, "out") || *args_text(a, "to") != 's')
        return start(ws, f, NULL, a, false, err);
    struct buf runs = { 0 };
    for (size_t i = 0; p && !p->columns && i < args_many(a, "runs"); i++) {
        const struct run *r = ws_run(ws, args_many_at(a, "runs", i), NULL);
        buf_printf(&runs, "%s%s", runs.len ? " " : "", r ? r->id : args_many_at(a, "runs", i));
    }
    show(ws, f, a, buf_str(&runs));
    buf_free(&runs);
    snprintf(ws->shown, sizeof ws->shown, "%s", f->name); /* `explain` alone explains this plot */
    figure_free(f);
    return ST_OK;
}

struct figure *cmd_plot_shown(struct workspace *ws, const char *name, struct err *err)
{
    const struct args *drawn = owner_state(ws, &cmd_plot_shown_owner);
    const struct plot_ops *p = drawn ? plot_find(args_text(drawn, "name"), err) : NULL;
    struct run *r;

    if (!p || strcmp(p->name, name) || pick_run(ws, p, drawn, &r, err) != ST_OK)
        return NULL;
    struct figure *f = p->make(ws, r, drawn, err);
    if (f)
        set_axes(f, args_text(drawn, "x"), args_text(drawn, "y"));
    return f;
}

static enum status cmd_describe(struct workspace *ws, const struct args *a, struct err *err)
{
    struct figure *f;
    const enum status rc = figure_of(ws, a, true, &f, err);

    if (!f)
        return rc;
    figure_record(ws, "describe", f, NULL, true);
    figure_free(f);
    return ST_OK;
}

#define RUNS_ARG                                                                                   \
    {                                                                                              \
        "runs", ARG_WORD, ARGF_POS | ARGF_MANY, NULL, 0, 0, NULL, NULL,                            \
            "runs, or the columns of columns, pairs, slice, boundary, parts, features-learned; "   \
            "default: the last fit"                                                                \
    }
#define TARGET_ARG                                                                                 \
    {                                                                                              \
        "target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,                                           \
            "with several targets, which one; default: the first"                                  \
    }
#define AXIS_ARGS                                                                                  \
    {"x", ARG_CHOICE, 0, NULL, 0, 0, "log|linear", NULL, "horizontal axis"},                       \
        {"y", ARG_CHOICE, 0, NULL, 0, 0, "log|linear", NULL, "vertical axis"},                     \
    {"of", ARG_CHOICE, 0, NULL, 0, 0, "residual|k|k2|rmse", NULL,                                  \
     "race: residuals; with against= the error in K or K^2 norm, or of test rows"},                \
    {                                                                                              \
        "by", ARG_CHOICE, 0, "iteration", 0, 0, "iteration|seconds|passes", NULL,                  \
            "residual, race: what the horizontal axis counts"                                      \
    }

#define DATA_ARG                                                                                   \
    {                                                                                              \
        "data", ARG_DATASET, ARGF_POS, ".", 0, 0, NULL, NULL, "dataset; . is the current one"      \
    }
#define SOLVER_ARG                                                                                 \
    {                                                                                              \
        "solver", ARG_CHOICE, 0, "auto", 0, 0, "auto|features|exact", NULL,                        \
            "exact kernel (few rows) or random features; auto: as the last tuning of this "        \
            "kernel, tradeoff: exact"                                                              \
    }
#define FEATURES_ARG                                                                               \
    {                                                                                              \
        "features", ARG_INT, 0, NULL, 2, 65536, NULL, "columns",                                   \
            "number of random features; default: the tuning's, else 1024"                          \
    }
#define ROWS_ARG                                                                                   \
    {                                                                                              \
        "rows", ARG_INT, 0, NULL, 10, 1e6, NULL, "rows",                                           \
            "largest sample of rows; default 4000, exact 1500, tradeoff 500; by probes 20000, "    \
            "exact 2000"                                                                           \
    }
#define SEED_ARG                                                                                   \
    {                                                                                              \
        "seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL,                                             \
            "seed of the random features; default: the tuning's, else set seed"                    \
    }

const struct command cmd_plot_rows[] = {
    {"plot",
     "look",
     "Draw a plot on screen or into a file",
     "plot columns",
     {{"name", ARG_PLOT, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "help plots lists them"},
      RUNS_ARG,
      TARGET_ARG,
      AXIS_ARGS,
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "file: .svg .png .pdf .txt .csv; .six for terminals that show pictures"},
      {"to", ARG_CHOICE, 0, "screen", 0, 0, "screen|window|picture", NULL,
       "a window where there is a display; a picture where the terminal shows them (sixel)"},
      {"theme", ARG_CHOICE, 0, "light", 0, 0, "light|dark", NULL, "background of the file"},
      {"size", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "WIDTHxHEIGHT in pixels (cells for .txt)"}},
     0,
     cmd_plot,
     "A plot without data shows the reason, and no file is written.\n"
     ".csv writes the numbers behind the picture."},
    {"describe",
     "look",
     "Describe a plot in words: range, slope, knees, crossings",
     "describe columns",
     {{"name", ARG_PLOT, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "help plots lists them"},
      RUNS_ARG,
      TARGET_ARG,
      AXIS_ARGS},
     0,
     cmd_describe,
     NULL},
    {"landscape",
     "model",
     "Compute the NMLL over two hyperparameters",
     "landscape l=0.3..3 noise=0.05..0.5 grid=9 features=256",
     {DATA_ARG,
      SOLVER_ARG,
      FEATURES_ARG,
      ROWS_ARG,
      {"grid", ARG_INT, 0, NULL, 3, 101, NULL, "values",
       "values along each axis; default 25, with probes 9"},
      SEED_ARG,
      {"nmll", ARG_CHOICE, 0, "exact", 0, 0, "exact|approx", NULL,
       "approx: by probes, for many features or rows; amplitude and noise are fixed"},
      {"rank", ARG_INT, 0, "128", 1, 65536, NULL, "columns",
       "nmll=approx: rank of the preconditioner"},
      {"probes", ARG_INT, 0, "8", 2, 256, NULL, "probes", "nmll=approx: number of probes"}},
     CMD_JOB | CMD_NEEDS_DATA | CMD_HP_KEYS,
     cmd_landscape,
     "l=0.1..10 noise=0.01..1 are the axes (default: the kernel's first hyperparameter and the\n"
     "noise, a factor of ten about their values). A single value fixes a hyperparameter;\n"
     "otherwise amplitude and noise take their best value. plot landscape draws the result with\n"
     "the path of the last tuning. nmll=approx can use 8192 features and more: each value has\n"
     "an error, and places that it cannot tell from the minimum are marked."},
    {"tradeoff",
     "model",
     "Compute fit and complexity, the two parts of the NMLL",
     "tradeoff l=0.1..10 grid=15 features=256",
     {DATA_ARG,
      SOLVER_ARG,
      FEATURES_ARG,
      ROWS_ARG,
      {"grid", ARG_INT, 0, NULL, 3, 101, NULL, "values", "values along the axis; default 41"},
      SEED_ARG},
     CMD_JOB | CMD_NEEDS_DATA | CMD_HP_KEYS,
     cmd_tradeoff,
     "It varies one hyperparameter of the kernel (default: the first) at the current amplitude\n"
     "and noise. The fit is y'K^-1 y / 2, the complexity log|K| / 2. plot tradeoff draws them."},
    {.name = NULL},
};
