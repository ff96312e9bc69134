/* ui/views/trace.c -- what the views of a running job share: its live plot, with the marked
 * runs. */
#include "ui/views/trace.h"
#include "ui/views/figures.h"
#include "ui/views/runs.h"
#include "ui/views/words.h"

void trace_draw(struct view *v, const struct canvas *c, const char *plot, struct run *r)
{
    struct trace_state *s = v->state;
    struct desk *d = v->desk;
    struct figures_request q = { d, plot, r, &s->axes, true };
    uint64_t what = (uint64_t)(view_key(v->ops) - '0') + (uint64_t)(uintptr_t)r * 16 +
                    axes_stamp(&s->axes) * 31 + axes_scrub_at(d, r) * 7919;
    uint64_t stamp = r->ntrace * 8 + (uint64_t)r->state;
    const struct run *m;
    for (size_t i = 0; (m = desk_over(d, i)) != NULL; i++) {
        what = what * 31 + (uint64_t)(uintptr_t)m;
        stamp = stamp * 31 + m->ntrace;
    }
    plotpane_draw(v->plot, c, what, stamp, figures_make, &q, desk_now());
}

bool trace_act(struct view *v, enum act act)
{
    struct trace_state *s = v->state;
    if (axes_act(v, act, &s->axes) || axes_scrub(v, act, v->ops->run(v)))
        return true;
    switch (act) {
    case ACT_UP: case ACT_LEFT: runs_move(v->desk, -1); return true;
    case ACT_DOWN: case ACT_RIGHT: runs_move(v->desk, 1); return true;
    default: return false;
    }
}

void trace_verdict(struct view *v, struct buf *b)
{
    const struct run *r = v->ops->run(v);
    if (!r)
        return;
    figures_verdict(v, b);
    if (b->len == 0)
        words_line(r, b);
}
