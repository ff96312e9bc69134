/* ui/views/figures.c -- see figures.h. */
#include "ui/views/figures.h"

#include "app/core/trace.h"
#include "app/plots/plot_rows.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds the curves of another run's figure to the first panel, labelled with its run. */
static enum status merge(struct figure *to, const struct figure *from, const char *id,
                         struct err *err)
{
    for (size_t i = 0; i < from->ns; i++) {
        const struct series *s = &from->s[i];
        if (s->mark == MARK_HLINE || s->mark == MARK_VLINE || s->mark == MARK_BAND || s->faint)
            continue;
        char title[80];
        const char *own = s->title ? s->title : "";
        bool named = strncmp(own, id, strlen(id)) == 0;
        snprintf(title, sizeof title, "%s%s%s", named ? "" : id, named ? "" : " ", own);
        struct series *n = figure_add(to, title, s->mark, s->n, s->x, s->y, err);
        if (!n)
            return ST_NOMEM;
        n->dashed = s->dashed;
    }
    return ST_OK;
}

struct figure *figures_make(void *ctx, struct err *err)
{
    struct figures_request *q = ctx;
    const struct plot_ops *ops = plot_find(q->name, err);
    struct run then, *run = q->run;
    const size_t at = axes_scrub_at(q->desk, run);
    if (at) {                                    /* as it was when it had that many points */
        then = *run;
        then.ntrace = at;
        then.state = RUN_RUNNING;
        then.verdict[0] = '\0';
        run = &then;
    }
    struct figure *f = ops ? ops->make(q->desk->ws, run, NULL, err) : NULL;
    if (!f)
        return NULL;
    struct run *r;
    if (q->marks && q->run && !f->reason && !f->next)
        for (size_t i = 0; (r = desk_over(q->desk, i)) != NULL; i++) {
            if (r == q->run || r->kind != q->run->kind)
                continue;
            struct figure *g = ops->make(q->desk->ws, r, NULL, err);
            if (g && !g->reason)
                merge(f, g, r->id, err);
            figure_free(g);
        }
    if (q->axes)
        axes_apply(f, q->axes);
    return f;
}

void figures_verdict(struct view *v, struct buf *b)
{
    const struct figure *f = v->plot ? plotpane_figure(v->plot) : NULL;
    if (f && f->verdict && !f->reason)
        text_safe(b, f->verdict, 0);
}

bool figures_copy(struct view *v, bool all, struct buf *out)
{
    const struct figure *f = v->plot ? plotpane_figure(v->plot) : NULL;
    if (!f || f->reason)
        return false;
    if (all)
        figure_csv(f, out);
    else
        buf_puts(out, f->verdict ? f->verdict : f->title ? f->title : "");
    return out->len > 0;
}
