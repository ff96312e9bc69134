/* ui/views/log.c -- view 9: the log with its scrollback. */
#include "ui/view.h"

static void log_draw(struct view *v, const struct canvas *c)
{
    v->page = c->h;
    logbook_draw(&v->desk->log, c, &v->desk->log_scroll);
}

static bool log_key(struct view *v, int key)
{
    size_t *s = &v->desk->log_scroll, page = v->page > 1 ? (size_t)v->page - 1 : 1;
    switch (key) {
    case 'k': case UK_UP: ++*s; return true;
    case 'j': case UK_DOWN: *s -= *s > 0; return true;
    case UK_PGUP: *s += page; return true;
    case UK_PGDN: *s -= *s > page ? page : *s; return true;
    case 'g': case UK_HOME: *s = 1000000; return true;
    case 'G': case UK_END: *s = 0; return true;
    default: return false;
    }
}

static void log_verdict(struct view *v, struct buf *b)
{
    const struct logbook *l = &v->desk->log;
    buf_printf(b, "%zu lines, %zu warning%s, %zu error%s.", l->n, l->warnings,
               l->warnings == 1 ? "" : "s", l->errors, l->errors == 1 ? "" : "s");
}

static const struct keyhelp keys[] = {
    { "arrows, jk, PgUp PgDn", "scroll" },
    { "g G", "the oldest line, the newest" },
    { NULL, NULL }
};
const struct view_ops view_log = {
    '9', "Log", "Log",
    "Every line that was run, typed or by a key, and what came of it: results, notes (a decision "
    "taken for you), warnings (done, but look), errors (nothing was changed). A line that came "
    "several times is counted.",
    keys, 0, log_draw, log_key, log_verdict, NULL, false,
};
