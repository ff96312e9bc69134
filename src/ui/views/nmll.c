/* ui/views/nmll.c -- view 4: the tuning of the hyperparameters, live. */
#include "ui/view.h"

#include <stdio.h>

struct nmll_state { struct axes axes; };

static struct run *shown(const struct view *v)
{
    return desk_selected_of(v->desk, RUN_TUNE);
}

static void nmll_draw(struct view *v, const struct canvas *c)
{
    struct nmll_state *s = v->state;
    struct desk *d = v->desk;
    struct run *r = shown(v);
    if (!r) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No tuning yet. This view follows the negative log marginal likelihood while "
                       "the hyperparameters are searched: type  tune.");
        return;
    }
    struct plot_request q = { d, "nmll", r, &s->axes, true };
    uint64_t what = 4 + (uint64_t)(uintptr_t)r * 16 + axes_stamp(&s->axes) * 31 + scrub_at(d, r) * 7919;
    uint64_t stamp = r->ntrace * 8 + (uint64_t)r->state;
    for (size_t i = 0; i < d->nmarks; i++) {
        const struct run *m = desk_find(d, d->mark[i]);
        what = what * 31 + (uint64_t)(uintptr_t)m;
        stamp = stamp * 31 + (m ? m->ntrace : 0);
    }
    plotpane_draw(v->plot, c, what, stamp, plot_request_make, &q, desk_now());
}

static bool nmll_act(struct view *v, enum act act)
{
    struct nmll_state *s = v->state;
    if (axes_act(v, act, &s->axes) || scrub_act(v, act, shown(v)))
        return true;
    switch (act) {
    case ACT_UP: case ACT_LEFT: desk_move(v->desk, -1); return true;
    case ACT_DOWN: case ACT_RIGHT: desk_move(v->desk, 1); return true;
    default: return false;
    }
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
    if (scrub_at(v->desk, r))
        buf_printf(b, ", as after evaluation %zu ({ } step)", scrub_at(v->desk, r));
}

static void nmll_verdict(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (!r)
        return;
    plot_verdict(v, b);
    if (b->len == 0)
        run_line(r, b);
}

static const struct keyrow keys[] = { { NULL, ACT_NONE, NULL, NULL, NULL, 0 } };
const struct view_ops view_nmll = {
    '4', "NMLL", "NMLL and tuning",
    "The negative log marginal likelihood (of y as scaled for the fit, natural logarithm, smaller "
    "is better) of each evaluation, and the best so far. It weighs fit against complexity, so its "
    "minimum is where the hyperparameters explain the data without memorising them. When the best "
    "lies at a bound of the search the log says so.",
    keys, KIND_PLOT | KIND_TRACE, sizeof(struct nmll_state), nmll_draw, nmll_act, nmll_verdict, nmll_title,
    shown, nmll_plot, NULL, NULL, plot_copy, NULL, NULL,
};
