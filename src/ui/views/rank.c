/* ui/views/rank.c -- view 5: the cost of a fit by rank, predicted and measured; or its spectrum. */
#include "ui/views/figures.h"

#include "app/runs/advise.h"
#include "app/runs/spectrum_run.h"
#include "app/core/advise_state.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct rank_state { struct axes axes; bool spectrum; };

static const char *shown(const struct view *v)
{
    const struct rank_state *s = v->state;
    return s->spectrum ? "spectrum" : "rank";
}

static void rank_show(struct view *v, const char *plot, const char *run)
{
    (void)run;
    struct rank_state *s = v->state;
    s->spectrum = strcmp(plot, "spectrum") == 0;
}

static void rank_draw(struct view *v, const struct canvas *c)
{
    const struct rank_state *s = v->state;
    struct desk *d = v->desk;
    const struct advise_state *a = advise_state_of(d->ws);
    const struct spectrum_run_state *p = spectrum_run_of(d->ws);
    const bool have = s->spectrum ? p && p->have : a && a->have;

    if (!have) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       s->spectrum
                           ? "No spectrum yet. Type  spectrum  for the eigenvalues of the last "
                             "fit's system, or of the fit to come; r shows the ranks."
                           : "No advice yet. Type  advise  for what a fit will cost at each "
                             "rank, before it; s shows the spectrum.");
        return;
    }
    struct figures_request q = { d, shown(v), NULL, &s->axes, false };
    const uint64_t what = 5 + (uint64_t)s->spectrum * 16 + axes_stamp(&s->axes) * 64;
    plotpane_draw(v->plot, c, what, d->ws->serial, figures_make, &q, desk_now());
}

static bool rank_act(struct view *v, enum act act)
{
    struct rank_state *s = v->state;

    if (axes_act(v, act, &s->axes))
        return true;
    switch (act) {
    case ACT_OWN_1: s->spectrum = false; return true;
    case ACT_OWN_2: s->spectrum = true; return true;
    case ACT_LEFT: case ACT_RIGHT: s->spectrum = !s->spectrum; return true;
    default: return false;
    }
}

static void rank_plot(const struct view *v, struct buf *b)
{
    buf_puts(b, shown(v));
}

static void rank_title(struct view *v, struct buf *b)
{
    const struct rank_state *s = v->state;
    const struct spectrum_run_state *p = spectrum_run_of(v->desk->ws);
    const struct advise_state *a = advise_state_of(v->desk->ws);

    if (s->spectrum && p && p->have)
        buf_printf(b, ": spectrum of %s", p->run[0] ? p->run : "the fit to come");
    else if (!s->spectrum && a && a->have)
        buf_printf(b, a->features ? ": %zu features" : ": exact kernel", a->features);
}

static const struct keyrow keys[] = {
    {"r", ACT_OWN_1, "ranks", "iterations and seconds by rank", NULL, 0},
    {"s", ACT_OWN_2, "spectrum", "the spectrum", NULL, 0},
    {"a", ACT_NONE, "advise", "ask what a fit will cost: the line waits on the prompt", "advise ",
     0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
const struct view_ops rank_view = {
    .tab = "Rank",
    .title = "Rank",
    .about = "What advise expects of a fit at each rank of its preconditioner: iterations with "
             "their range, and seconds to build and solve; fits that were then made lie over it. "
             "The upright line is the rank of least time. s turns to the spectrum: eigenvalues "
             "above the noise take iterations, and those before the rank are taken care of by the "
             "preconditioner.",
    .keys = keys,
    .kinds = KIND_PLOT,
    .beside = VIEW_RESIDUAL,
    .plots = "rank spectrum",
    .state_size = sizeof(struct rank_state),
    .draw = rank_draw,
    .act = rank_act,
    .verdict = figures_verdict,
    .title_more = rank_title,
    .plot_words = rank_plot,
    .show = rank_show,
    .copy = figures_copy,
};
