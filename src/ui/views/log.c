/* ui/views/log.c -- view 9: the log with its scrollback. */
#include "ui/desk.h"

#include <stdint.h>
#include <string.h>

static void log_draw(struct view *v, const struct canvas *c)
{
    v->page = c->h;
    logbook_draw(&v->desk->log, c, &v->desk->log_scroll);
}

static bool log_act(struct view *v, enum act act)
{
    size_t *s = &v->desk->log_scroll, page = v->page > 1 ? (size_t)v->page - 1 : 1;
    switch (act) {
    case ACT_UP: ++*s; return true;
    case ACT_DOWN: *s -= *s > 0; return true;
    case ACT_PGUP: *s += page; return true;
    case ACT_PGDN: *s -= *s > page ? page : *s; return true;
    case ACT_TOP: *s = 1000000; return true;
    case ACT_END: *s = 0; return true;
    default: return false;
    }
}

/* Scrolls so that the next line that contains the text is at the bottom of the pane. */
static bool log_find(struct view *v, const char *what, int dir)
{
    const struct logbook *l = &v->desk->log;
    size_t below = 0, best = SIZE_MAX;
    for (size_t i = l->n; i-- > 0;) {
        const struct log_line *x = logbook_at(l, i);
        const bool hit = strcasestr(x->text, what) != NULL;
        if (hit && dir > 0 && below < v->desk->log_scroll)
            best = below;                        /* the last one found is the nearest below */
        if (hit && dir < 0 && below > v->desk->log_scroll && best == SIZE_MAX)
            best = below;
        below += logbook_rows(l, i, (size_t)(v->at.w > 1 ? v->at.w : 80));
    }
    if (best == SIZE_MAX)
        return false;
    v->desk->log_scroll = best;
    return true;
}

static bool log_copy(struct view *v, bool all, struct buf *b)
{
    const struct logbook *l = &v->desk->log;
    for (size_t i = all ? 0 : l->n ? l->n - 1 : 0; i < l->n; i++)
        buf_printf(b, "%s\n", logbook_at(l, i)->text);
    return b->len > 0;
}

static void log_verdict(struct view *v, struct buf *b)
{
    const struct logbook *l = &v->desk->log;
    buf_printf(b, "%zu lines, %zu warning%s, %zu error%s.", l->n, l->warnings,
               l->warnings == 1 ? "" : "s", l->errors, l->errors == 1 ? "" : "s");
}

static const struct keyrow keys[] = { { NULL, ACT_NONE, NULL, NULL, NULL, 0 } };
const struct view_ops log_view = {
    .tab = "Log",
    .title = "Log",
    .about = "Every line that was run, typed or by a key, and its outcome: results, notes (a "
             "decision made for you), warnings (done, but check it), errors (nothing was changed). "
             "A line that is repeated is shown once, with a count.",
    .keys = keys,
    .kinds = KIND_TEXT,
    .beside = VIEW_RESIDUAL,
    .draw = log_draw,
    .act = log_act,
    .verdict = log_verdict,
    .find = log_find,
    .copy = log_copy,
};
