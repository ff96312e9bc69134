/* ui/views/nmll.c -- view 4: the tuning of the hyperparameters, live. */
#include "ui/views/figures.h"
#include "ui/views/trace.h"

#include <stdio.h>

static struct run *shown(const struct view *v)
{
    return desk_selected_of(v->desk, RUN_TUNE);
}

static void nmll_draw(struct view *v, const struct canvas *c)
{
    struct run *r = shown(v);
    if (!r) {
        draw_paragraph(
            c, 1, 2, theme_attr(R_DIM),
            "No tuning yet. This view follows the negative log marginal likelihood while "
            "the hyperparameters are searched: type  tune.");
        return;
    }
    trace_draw(v, c, "nmll", r);
}

static void nmll_plot(const struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, "nmll %s", r->id);
}

static void nmll_title(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, ": %s %s", r->id, run_state_name(r->state));
    if (axes_scrub_at(v->desk, r))
        buf_printf(b, ", as after evaluation %zu ({ } step)", axes_scrub_at(v->desk, r));
}

static const struct keyrow keys[] = { { NULL, ACT_NONE, NULL, NULL, NULL, 0 } };
const struct view_ops nmll_view = {
    .tab = "NMLL",
    .title = "NMLL and tuning",
    .about = "The negative log marginal likelihood (of y as scaled for the fit, natural "
             "logarithm, smaller is better) of each evaluation, and the best so far. It weighs "
             "fit against complexity, so its minimum is where the hyperparameters explain the "
             "data without memorising them. When the best lies at a bound of the search the log "
             "says so.",
    .keys = keys,
    .kinds = KIND_PLOT | KIND_TRACE,
    .news = VIEW_NEWS_TUNING,
    .beside = VIEW_RESIDUAL,
    .plots = "nmll",
    .state_size = sizeof(struct trace_state),
    .draw = nmll_draw,
    .act = trace_act,
    .verdict = trace_verdict,
    .title_more = nmll_title,
    .run = shown,
    .plot_words = nmll_plot,
    .copy = figures_copy,
};
