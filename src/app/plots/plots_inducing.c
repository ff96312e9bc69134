/* app/plots/plots_inducing.c -- the plot inducing: how the bound of a sparse fit rose while its
 * points were chosen, live, and which targets its points have. */
#include "app/plots/plots.h"

#include "app/runs/inducing_run.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bound, or likelihood, over the rounds; while they run, those so far. */
static struct figure *rounds_panel(const struct run *r, const double *round, size_t n,
                                   struct err *err)
{
    const bool bound = r->fit.inducing.approx == BOUND_VFE;
    double *v = mem_calloc(3 * n + 1, sizeof *v, "plot", err);
    char title[96];
    size_t some = 0, apart = 0;

    if (!v)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const double *p = round + MODEL_ROUND * i;
        if (!isfinite(p[1]))
            continue;
        v[some] = p[0];
        v[n + some] = p[1];
        v[2 * n + some] = p[2];
        apart += p[1] != p[2];
        some++;
    }
    snprintf(title, sizeof title, "Choosing the points of %s", r->id);
    struct figure *f = figure_new("inducing", title, err);
    bool ok = f && figure_label(f, "step of the choice", bound ? "bound (nats)"
                                                              : "log likelihood (nats)",
                                err) == ST_OK;
    ok = ok && (!some || figure_add(f, "of the set", MARK_LINE, some, v, v + n, err));
    ok = ok && (!apart || figure_add(f, "best so far", MARK_STAIRS, some, v, v + 2 * n, err));
    if (ok && n) {
        const double *last = round + MODEL_ROUND * (n - 1);
        f->x.whole = true;
        ok = figure_verdict(f, err, "%s: step %.0f, best %.2f nats, %.0f %% of the moves accepted",
                            r->id, last[0], last[2], 100.0 * last[3]) == ST_OK;
    }
    free(v);
    return plots_finish(f, ok);
}

/* Which classes the numbers of word targets are. */
static void class_names(const struct run *r, const struct column *c, struct buf *out)
{
    buf_free(out);
    for (size_t k = 0; c->type != COL_REAL && k < r->enc.nclasses; k++) {
        buf_printf(out, "%s%zu is ", k ? ", " : "; ", k);
        text_safe(out, r->enc.classes[k], 24);
    }
}

/* The targets of all training rows and of those that are points. */
static struct figure *targets_panel(const struct run *r, struct err *err)
{
    size_t n = 0, own = 0;
    size_t *rows = r->model ? inducing_run_rows(r, &n) : NULL;
    const struct model *m = r->model;
    double *v = rows ? mem_calloc(n + m->M, sizeof *v, "plot", err) : NULL;
    struct figure_cells cells = { NAN, NAN, 0 };
    struct buf name = { 0 };

    if (!v) {
        free(rows);
        return NULL;
    }
    const struct column *c = &r->data->table->col[dataset_target(r->data)];
    for (size_t i = 0; i < n; i++)
        v[i] = inducing_run_target(r, c, rows[i]);
    for (size_t i = 0; i < m->M; i++)
        if (m->origin[i] >= 0.0 && m->origin[i] < (double)n)
            v[n + own++] = v[(size_t)m->origin[i]];
    text_safe(&name, c->name, 32);
    cells.n = figure_bins(n, v, &cells.lo, &cells.hi);
    struct figure *f = figure_new("inducing", own ? "Targets of the points"
                                                  : "Targets of the training rows: no point is one",
                                  err);
    bool ok = f && figure_label(f, buf_str(&name), "share", err) == ST_OK &&
              figure_histogram(f, "training rows", MARK_STEPS, n, v, &cells, true, err) &&
              (!own || figure_histogram(f, "points", MARK_BARS, own, v + n, &cells, true, err));
    class_names(r, c, &name);
    if (ok)
        ok = figure_verdict(f, err, "%zu of %zu points are training rows; %s%s", own, m->M,
                            own ? "shares of both" : "the others have no target",
                            buf_str(&name)) == ST_OK;
    buf_free(&name);
    free(v);
    free(rows);
    return plots_finish(f, ok);
}

static bool keeps_points(const struct run *r)
{
    return r->nrounds || (r->model && r->model->origin && !r->model->kind->margin);
}

static struct run *sparse_run(struct workspace *ws, struct run *r, const struct args *a,
                              struct err *err)
{
    struct run *runs[1];

    if (a && args_many(a, "runs") > 0)
        return plots_runs(ws, r, a, runs, 1, err) == 1 ? runs[0] : NULL;
    if (r && keeps_points(r))
        return r;
    for (size_t i = ws->nrun; i-- > 0;)
        if (keeps_points(ws->run[i]))
            return ws->run[i];
    return NULL;
}

static struct figure *plot_inducing(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    struct run *of = sparse_run(ws, r, a, err);

    if (!of && err && err->code != ST_OK)
        return NULL;
    const struct model *m = of ? of->model : NULL;
    const bool kept = m && m->nrounds;
    const double *round = kept ? m->rounds : of ? of->rounds : NULL;
    size_t n = kept ? m->nrounds : of ? of->nrounds : 0;
    for (size_t i = n; i-- > 1;) /* of several choices, the last */
        if (round[MODEL_ROUND * i] <= round[MODEL_ROUND * (i - 1)]) {
            round += MODEL_ROUND * i;
            n -= i;
            break;
        }
    if (!of || !keeps_points(of))
        return plots_nothing("inducing", "No fit keeps inducing points. try: fit solver=sparse "
                             "select=greedy", err);
    struct figure *first = n ? rounds_panel(of, round, n, err) : NULL;
    if (n && !first)
        return NULL;
    struct figure *second = targets_panel(of, err);
    if (!first && !second)
        return err && err->code != ST_OK
                   ? NULL
                   : plots_nothing("inducing", "The points were chosen at once, and the data of "
                                   "the fit is not loaded. try: open FILE", err);
    if (!first)
        return second;
    first->next = second;
    return first;
}

const struct plot_ops plots_inducing_row = {
    .name = "inducing",
    .title = "Inducing points: their choice and their targets",
    .axes = "step, bound; target, share",
    .help = "How the bound of a sparse fit rises while its points are chosen, live, and a "
            "histogram of the targets of its points beside that of all training rows.",
    .make = plot_inducing,
    .live = PLOT_OF_FIT,
};
