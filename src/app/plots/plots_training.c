/* app/plots/plots_training.c -- how a map is learned: likelihood, noise, and rows kept aside, which
 * nothing is learned from, against the steps (methods.md 23.8). */
#include "app/plots/plots.h"

#include "app/core/run.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What tune_learned reports of a step (learn.c): behind amplitude and noise, of the rows kept aside
 * the negative log density and the squared error per row, of classes the log loss and the share of
 * wrong ones; NaN between looks. */
enum { NOISE = 1, DENSITY = 2, ERROR = 3 };

/* The steps of a run: of a tuning its trace, of a fit that learned anew (calibrate) those of
 * that. */
struct steps { const struct trace_point *p; size_t n; };

static struct steps steps_of(const struct run *r)
{
    return r->kind == RUN_TUNE ? (struct steps){ r->trace, r->ntrace }
                               : (struct steps){ r->learned, r->nlearned };
}

static bool learned(const struct run *r)
{
    return r && steps_of(r).n && kernel_learns(&r->fit.kernel);
}

static const struct run *last_learned(const struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0;)
        if (learned(ws->run[i]))
            return ws->run[i];
    return NULL;
}

/* The looks: their steps, and errors or densities. */
static size_t looks(const struct run *r, size_t what, double *x, double *y)
{
    const struct steps s = steps_of(r);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        const double v = s.p[i].point[what];
        if (!isfinite(v))
            continue;
        x[n] = s.p[i].step;
        y[n++] = v;
    }
    return n;
}

static struct figure *likelihoods(const struct run *r, double rows, double *x, double *y,
                                  struct err *err)
{
    struct figure *f = figure_new("training", run_model_kind(r)->classes
                                      ? "What is learned: the likelihood of all classes"
                                      : "What is learned: likelihood, and rows kept aside", err);
    const struct steps s = steps_of(r);
    bool ok = f && figure_label(f, "step", "nats a row", err) == ST_OK;

    for (size_t i = 0; i < s.n; i++) {
        x[i] = s.p[i].step;
        y[i] = s.p[i].value / rows;
    }
    ok = ok && figure_add(f, "NMLL", MARK_LINE, s.n, x, y, err);
    const size_t n = run_model_kind(r)->classes ? 0 : looks(r, DENSITY, x, y);
    ok = ok && (n == 0 || figure_add(f, "rows kept aside", MARK_LINEPOINTS, n, x, y, err));
    if (ok)
        f->x.whole = true;
    return plots_finish(f, ok);
}

static struct figure *errors(const struct run *r, double *x, double *y, struct err *err)
{
    const struct steps s = steps_of(r);
    struct figure *f = figure_new("training", "Noise, and errors of rows kept aside", err);
    bool ok = f && figure_label(f, "step", "sd of the target", err) == ST_OK;

    for (size_t i = 0; i < s.n; i++) {
        x[i] = s.p[i].step;
        y[i] = s.p[i].point[NOISE];
    }
    ok = ok && figure_add(f, "noise", MARK_LINE, s.n, x, y, err);
    const size_t n = looks(r, ERROR, x, y);
    for (size_t i = 0; i < n; i++)
        y[i] = sqrt(y[i]);
    ok = ok && (n == 0 || figure_add(f, "error kept aside", MARK_LINEPOINTS, n, x, y, err));
    if (ok)
        f->x.whole = true;
    return plots_finish(f, ok);
}

/* Of classes, whose noise is known. */
static struct figure *wrong(const struct run *r, double *x, double *y, struct err *err)
{
    struct figure *f = figure_new("training", "Classes of rows kept aside", err);
    bool ok = f && figure_label(f, "step", "log loss, share", err) == ST_OK;
    size_t n = looks(r, DENSITY, x, y);

    ok = ok && (n == 0 || figure_add(f, "log loss", MARK_LINEPOINTS, n, x, y, err));
    n = looks(r, ERROR, x, y);
    ok = ok && (n == 0 || figure_add(f, "share of wrong classes", MARK_LINEPOINTS, n, x, y, err));
    if (ok)
        f->x.whole = true;
    return plots_finish(f, ok);
}

/* The look with the least density, and the last one. */
static enum status say(struct figure *f, const struct run *r, double *x, double *y,
                       struct err *err)
{
    const size_t n = looks(r, DENSITY, x, y);
    const bool at_it = r->state == RUN_RUNNING &&
                       (r->kind == RUN_TUNE || phase_kind(r->last.phase) == PHASE_SEARCH);
    const char *more = at_it ? ", still learning"
                       : r->kind == RUN_FIT ? "; learned without the calibration rows"
                                            : "";
    size_t at = 0;

    if (n == 0)
        return figure_verdict(f, err, "%s: %zu steps, no rows kept aside were looked at yet%s",
                              r->id, steps_of(r).n, more);
    for (size_t i = 1; i < n; i++)
        at = y[i] < y[at] ? i : at;
    if (at + 1 == n)
        return figure_verdict(f, err, "%s: rows kept aside are told best at the last look, step "
                              "%.0f: %.3f nats a row%s", r->id, x[at], y[at], more);
    return figure_verdict(f, err, "%s: rows kept aside were told best at step %.0f, %.3f nats a "
                          "row, and at step %.0f %.3f%s", r->id, x[at], y[at], x[n - 1], y[n - 1],
                          more);
}

static struct figure *plot_training(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    const struct run *t = learned(r) ? r : last_learned(ws);

    (void)a;
    if (!t)
        return plots_nothing("training",
                             "No map has been learned yet. try: kernel mlp, then tune", err);
    const struct dataset *d = t->data;
    const size_t n = steps_of(t).n;
    const double rows = d && d->split.part ? (double)d->split.count[PART_TRAIN]
                        : d && d->table    ? (double)d->table->n
                                           : 1.0;
    double *x = mem_calloc(2 * n, sizeof *x, "plot", err), *y = x + n;
    struct figure *f = x ? likelihoods(t, rows, x, y, err) : NULL;
    bool ok = f != NULL;
    if (ok)
        f->next = (run_model_kind(t)->classes ? wrong : errors)(t, x, y, err);
    ok = ok && f->next && say(f, t, x, y, err) == ST_OK;
    free(x);
    return plots_finish(f, ok);
}

const struct plot_ops plots_training_row = {
    .name = "training",
    .title = "How a map is learned",
    .axes = "step, nats a row and standard deviations",
    .help = "The NMLL of the subsets and the noise at each step, and the density and error of "
            "rows that nothing is learned from; of a run that calibrate made, those of its own "
            "learning.",
    .make = plot_training,
    .live = PLOT_OF_LEARNING,
};
