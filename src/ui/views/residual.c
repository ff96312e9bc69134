/* ui/views/residual.c -- view 3: how the solver converges, live. */
#include "ui/views/figures.h"
#include "ui/views/trace.h"

#include <stdio.h>

static struct run *shown(const struct view *v)
{
    return desk_selected_of(v->desk, RUN_FIT);
}

static void residual_draw(struct view *v, const struct canvas *c)
{
    struct run *r = shown(v);
    if (!r) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No fit yet. This view follows the residual of an iterative fit while it "
                       "runs: type  fit  or  fit solver=pcg features=4096 rank=256.");
        return;
    }
    trace_draw(v, c, "residual", r);
}

static void residual_plot(const struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, "residual %s", r->id);
}

static void residual_title(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, ": %s %s", r->id, desk_over(v->desk, 0) ? "" : run_state_name(r->state));
    if (axes_scrub_at(v->desk, r))
        buf_printf(b,
                   ", as at iteration %u ({ } step)", r->trace[axes_scrub_at(v->desk, r) - 1].step);
    const struct run *m;
    for (size_t i = 0; r && (m = desk_over(v->desk, i)) != NULL; i++)
        if (m != r && m->kind == r->kind)
            buf_printf(b, "%s%s", i ? " " : "", m->id);
}

static const struct keyrow keys[] = { { NULL, ACT_NONE, NULL, NULL, NULL, 0 } };
const struct view_ops residual_view = {
    .tab = "Resid",
    .title = "Residual",
    .about = "The relative residual |b - A w| / |b| of the linear system against the iteration, "
             "on a logarithmic axis: the recursive one that the method carries along (of sdd and "
             "sgd an estimate from the last batches), the true one where it was recomputed, "
             "which alone counts, and the tolerance asked for. A straight fall means "
             "steady convergence; a flat stretch means the preconditioner is too weak (try a "
             "larger rank) or the noise is very small. Marked runs (Space in view 2) are drawn "
             "together, and those of compare and plot residual r1 r2.",
    .keys = keys,
    .kinds = KIND_PLOT | KIND_TRACE,
    .news = VIEW_NEWS_TRACE,
    .beside = VIEW_NMLL,
    .plots = "residual",
    .state_size = sizeof(struct trace_state),
    .draw = residual_draw,
    .act = trace_act,
    .verdict = trace_verdict,
    .title_more = residual_title,
    .run = shown,
    .plot_words = residual_plot,
    .copy = figures_copy,
};
