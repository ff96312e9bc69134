/* ui/views/residual.c -- view 3: how the solver converges, live. */
#include "ui/view.h"

#include <stdio.h>

struct residual_state { struct axes axes; };

static struct run *shown(const struct view *v)
{
    return desk_selected_of(v->desk, RUN_FIT);
}

static void residual_draw(struct view *v, const struct canvas *c)
{
    struct residual_state *s = v->state;
    struct desk *d = v->desk;
    struct run *r = shown(v);
    if (!r) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No fit yet. This view follows the residual of an iterative fit while it "
                       "runs: type  fit  or  fit solver=pcg features=4096 rank=256.");
        return;
    }
    struct plot_request q = { d, "residual", r, &s->axes, true };
    uint64_t what = 3 + (uint64_t)(uintptr_t)r * 16 + axes_stamp(&s->axes) * 31 + scrub_at(d, r) * 7919;
    uint64_t stamp = r->ntrace * 8 + (uint64_t)r->state;
    for (size_t i = 0; i < d->nmarks; i++) {
        const struct run *m = desk_find(d, d->mark[i]);
        what = what * 31 + (uint64_t)(uintptr_t)m;
        stamp = stamp * 31 + (m ? m->ntrace : 0);
    }
    plotpane_draw(v->plot, c, what, stamp, plot_request_make, &q, desk_now());
}

static bool residual_act(struct view *v, enum act act)
{
    struct residual_state *s = v->state;
    if (axes_act(v, act, &s->axes) || scrub_act(v, act, shown(v)))
        return true;
    switch (act) {
    case ACT_UP: case ACT_LEFT: desk_move(v->desk, -1); return true;
    case ACT_DOWN: case ACT_RIGHT: desk_move(v->desk, 1); return true;
    default: return false;
    }
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
        buf_printf(b, ": %s %s", r->id, run_state_name(r->state));
    if (scrub_at(v->desk, r))
        buf_printf(b, ", as at it %u ({ } step)", r->trace[scrub_at(v->desk, r) - 1].step);
    if (v->desk->nmarks)
        buf_puts(b, " and the marked");
}

static void residual_verdict(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (!r)
        return;
    plot_verdict(v, b);
    if (b->len == 0)
        run_line(r, b);
}

static const struct keyrow keys[] = { { NULL, ACT_NONE, NULL, NULL, NULL, 0 } };
const struct view_ops view_residual = {
    '3', "Resid", "Residual",
    "The relative residual |b - A w| / |b| of the linear system against the iteration, on a "
    "logarithmic axis: the recursive one that the method carries along, the true one where it was "
    "recomputed, and the tolerance asked for. A straight fall means steady convergence; a flat "
    "stretch means the preconditioner is too weak (try a larger rank) or the noise is very small. "
    "Marked runs (Space in view 2) are drawn together.",
    keys, KIND_PLOT | KIND_TRACE, sizeof(struct residual_state), residual_draw, residual_act,
    residual_verdict, residual_title, shown, residual_plot, NULL, NULL, plot_copy, NULL, NULL,
};
