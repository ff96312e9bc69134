/* ui/views/nmll.c -- view 4: the tuning of the hyperparameters, live. */
#include "ui/view.h"

#include <stdio.h>

struct nmll_state { int x, y; };

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
    struct plot_request q = { d, "nmll", r, s->x, s->y, true };
    uint64_t what = 4 + (uint64_t)(uintptr_t)r * 16 + (uint64_t)(s->x * 4 + s->y);
    uint64_t stamp = r->ntrace * 8 + (uint64_t)r->state;
    for (size_t i = 0; i < d->nmarks; i++) {
        const struct run *m = desk_find(d, d->mark[i]);
        what = what * 31 + (uint64_t)(uintptr_t)m;
        stamp = stamp * 31 + (m ? m->ntrace : 0);
    }
    plotpane_draw(v->plot, c, what, stamp, plot_request_make, &q, desk_now());
}

static bool nmll_key(struct view *v, int key)
{
    struct nmll_state *s = v->state;
    const struct run *r = shown(v);
    if (axis_key(v, key, &s->x, &s->y))
        return true;
    switch (key) {
    case 'k': case UK_UP: case UK_LEFT: desk_move(v->desk, -1); return true;
    case 'j': case UK_DOWN: case UK_RIGHT: desk_move(v->desk, 1); return true;
    case 'd':
        if (r)
            desk_execf(v->desk, "describe nmll %s", r->id);
        return true;
    case 'p':
        if (r) {
            char line[80];
            snprintf(line, sizeof line, "plot nmll %s out=nmll-%s.svg", r->id, r->id);
            desk_prompt(v->desk, line);
        }
        return true;
    default: return false;
    }
}

static void nmll_title(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, ": %s %s", r->id, run_state_name(r->state));
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

static const struct keyhelp keys[] = {
    { "arrows, jk", "another run" },
    { "x y X", "logarithmic or linear axes; as they were" },
    { "d", "the plot in words (runs: describe nmll)" },
    { "p", "put an export on the prompt (plot ... out=FILE.svg)" },
    { NULL, NULL }
};
const struct view_ops view_nmll = {
    '4', "NMLL", "NMLL and tuning",
    "The negative log marginal likelihood (of y as scaled for the fit, natural logarithm, smaller "
    "is better) of each evaluation, and the best so far. It weighs fit against complexity, so its "
    "minimum is where the hyperparameters explain the data without memorising them. When the best "
    "lies at a bound of the search the log says so.",
    keys, sizeof(struct nmll_state), nmll_draw, nmll_key, nmll_verdict, nmll_title, true,
};
