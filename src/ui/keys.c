/* ui/keys.c -- keys into actions; see keys.h.  Two focuses: the prompt takes all typing, a view
 * takes single keys; function and Alt keys work in both. */
#include "ui/keys.h"

#include "app/job.h"
#include "ui/prompt.h"

#include <stdlib.h>
#include <string.h>

static const struct keyhelp global_keys[] = {
    { "F1, Alt-h", "this help" },
    { "Alt-1 .. Alt-9", "the view of that number" },
    { "PgUp PgDn", "scroll what is on show" },
    { "Tab", "at the prompt: complete; in a view: the next pane" },
    { "Up Down", "at the prompt: earlier lines that begin like this one; Ctrl-R searches" },
    { "Esc", "from the prompt to the view (the typed line stays); closes what is on top" },
    { ": or i", "from the view back to the prompt" },
    { "Ctrl-C", "clears the line; with nothing typed asks the running job to stop" },
    { "Ctrl-D", "on an empty line: leave; asks once while jobs run" },
    { "Ctrl-L Ctrl-Z", "draw again; suspend" },
    { "F4, Alt-m", "mouse on or off (off: the terminal's own selection works)" },
    { "F6", "the next pane" },
    { "z q", "in a view: zoom this pane; close what is on top" },
    { NULL, NULL }
};

static void key_lines(const struct keyhelp *k, struct buf *b)
{
    for (; k && k->keys; k++)
        buf_printf(b, "%s\t%s\n", k->keys, k->does);
}

void keys_help(struct desk *d)
{
    struct buf b = { 0 };
    const struct view_ops *o = view_table[d->main];
    if (d->pager.open && strncmp(d->pager.title, "Help", 4) == 0) {
        desk_page_close(d);
        return;
    }
    buf_printf(&b, "%s\n \nKeys of this view (Esc first)\n", o->about);
    key_lines(o->keys, &b);
    buf_puts(&b, " \nKeys everywhere\n");
    key_lines(global_keys, &b);
    buf_puts(&b, " \nThe commands: type  help.  One of them: type  help fit.\n");
    char title[64];
    snprintf(title, sizeof title, "Help: view %c %s", o->digit, o->title);
    desk_page(d, title, buf_str(&b));
    buf_free(&b);
}

static struct view *active_view(struct desk *d)
{
    switch (d->active) {
    case PANE_LIST: return &d->list;
    case PANE_LOG: return &d->view[VIEW_LOG];
    case PANE_SECOND: return &d->view[d->main];
    default: return &d->view[d->main];
    }
}

static void next_pane(struct desk *d, int dir)
{
    for (int i = 0; i < N_PANES; i++) {
        d->active = (enum pane)(((int)d->active + dir + N_PANES) % N_PANES);
        if (d->has[d->active] && d->active != PANE_SECOND)
            return;
    }
    d->active = PANE_MAIN;
}

static bool pager_key(struct desk *d, int key)
{
    struct pager *p = &d->pager;
    size_t page = p->page > 1 ? (size_t)p->page - 1 : 1;
    if (!p->open)
        return false;
    switch (key) {
    case UK_PGUP: p->top -= p->top > page ? page : p->top; return true;
    case UK_PGDN: case ' ': p->top += page; return true;
    case 'k': case UK_UP: p->top -= p->top > 0; return true;
    case 'j': case UK_DOWN: p->top++; return true;
    case 'g': case UK_HOME: p->top = 0; return true;
    case 'G': case UK_END: p->top = p->rows; return true;
    case UK_LEFT: case 'h': p->left -= p->left > 8 ? 8 : p->left; return true;
    case UK_RIGHT: case 'l': p->left += p->cut ? 8 : 0; return true;
    case 'q': case UK_ESC: case UK_ENTER: desk_page_close(d); return true;
    default: return false;
    }
}

static void scroll_page(struct desk *d, int key)
{
    d->quiet = true;
    struct view *v = d->focus == FOCUS_VIEW ? active_view(d) : &d->view[d->main];
    if (pager_key(d, key))
        return;
    if (v->ops->key && v->ops->key(v, key))
        return;
    view_log.key(&d->view[VIEW_LOG], key);      /* a plot does not scroll; the log does */
}

void keys_interrupt(struct desk *d)
{
    struct job_view j;
    if (!prompt_empty()) {
        prompt_clear();
        d->focus = FOCUS_PROMPT;
    } else if (jobs_view(d->ws->jobs, 0, &j)) {
        if (j.stopping)
            logbook_add(&d->log, LOG_NOTE, "it is stopping already: the step in hand ends first");
        else
            desk_execf(d, "stop %s", j.name);
    } else if (d->pager.open) {
        desk_page_close(d);
    } else {
        logbook_add(&d->log, LOG_NOTE, "nothing is running. To leave: quit, or Ctrl-D");
    }
}

static void end_of_input(struct desk *d)
{
    size_t jobs = jobs_count(d->ws->jobs);
    if (jobs && !d->quit_asked)
        d->quit_asked = true;
    else
        d->ws->quit = true;
}

/* Keys that mean the same in both focuses; true: done. */
static bool global_key(struct desk *d, int key)
{
    if ((key & UK_ALT) && (key & ~UK_ALT) >= '1' && (key & ~UK_ALT) <= '9') {
        for (size_t i = 0; i < N_VIEWS; i++)
            if (view_table[i]->digit == (key & ~UK_ALT)) {
                desk_show(d, i);
                d->picked = true;
            }
        return true;
    }
    switch (key) {
    case UK_F1: case 'h' | UK_ALT: keys_help(d); return true;
    case UK_F4: case 'm' | UK_ALT: ui_mouse(d, !d->mouse); return true;
    case UK_F6:
        if (d->focus == FOCUS_VIEW)
            next_pane(d, 1);
        d->focus = FOCUS_VIEW;
        return true;
    case UK_PGUP: case UK_PGDN: scroll_page(d, key); return true;
    case UK_CTRLKEY('L'): d->clear = true; return true;
    case UK_CTRLKEY('Z'): ui_suspend(d); return true;
    case UK_CTRLKEY('C'): keys_interrupt(d); return true;
    default: return false;
    }
}

static void prompt_key(struct desk *d, const struct input_event *e)
{
    if (e->key == UK_ESC && !prompt_vi()) {
        if (d->nmatch)
            return;                              /* the completions have just gone */
        if (prompt_searching())
            prompt_feed(e->bytes, e->n);
        else if (d->pager.open)
            desk_page_close(d);
        else
            d->focus = FOCUS_VIEW, d->quiet = true;
        return;
    }
    if (e->key == UK_CTRLKEY('D') && prompt_empty()) {
        end_of_input(d);
        return;
    }
    if (prompt_empty() && (e->key == UK_LEFT || e->key == UK_RIGHT) && pager_key(d, e->key))
        return;                                  /* nothing to move in: the page moves */
    if (e->n)
        prompt_feed(e->bytes, e->n);
}

static void view_key(struct desk *d, int key)
{
    struct view *v = active_view(d);
    if (pager_key(d, key))
        return;
    switch (key) {
    case ':': case 'i': d->focus = FOCUS_PROMPT; return;
    case '?': keys_help(d); return;
    case UK_TAB: next_pane(d, 1); return;
    case UK_BACKTAB: next_pane(d, -1); return;
    case 'z': d->zoom = !d->zoom; d->active = PANE_MAIN; return;
    case 'q': d->zoom = false; return;
    case UK_CTRLKEY('D'): end_of_input(d); return;
    default: break;
    }
    d->quiet = true;
    if (v->ops->key && v->ops->key(v, key))
        return;
    for (size_t i = 0; i < N_VIEWS; i++)
        if (view_table[i]->digit == key) {
            desk_show(d, i);
            d->picked = true;
        }
}

static void mouse_event(struct desk *d, const struct input_event *e)
{
    if (e->release)
        return;
    if (e->button == 64 || e->button == 65)
        for (int i = 0; i < 3; i++) {
            struct view *v = active_view(d);
            int key = e->button == 64 ? UK_UP : UK_DOWN;
            if (!pager_key(d, key) && !(v->ops->key && !v->ops->plot && v->ops->key(v, key)))
                view_log.key(&d->view[VIEW_LOG], key);
        }
}

static void forget_matches(struct desk *d)
{
    for (size_t i = 0; i < d->nmatch; i++)
        free(d->match[i]);
    free(d->match);
    d->match = NULL;
    d->nmatch = 0;
}

static void paste(struct desk *d, const struct input_event *e)
{
    d->focus = FOCUS_PROMPT;
    prompt_paste(e->bytes);
    if (strchr(e->bytes, '\n'))
        logbook_add(&d->log, LOG_NOTE, "pasted lines run when you press Enter; edit them first if "
                                       "you like (Ctrl-C drops them)");
    if (e->truncated)
        logbook_add(&d->log, LOG_WARNING, "the pasted text was longer than 1 MB and was cut; better "
                                          "put it in a file: source FILE.gps");
}

void keys_event(struct desk *d, const struct input_event *e)
{
    bool asked = d->quit_asked;
    bool had_matches = d->nmatch > 0;
    d->urgent = true;
    if (e->kind == INPUT_MOUSE) {
        mouse_event(d, e);
        return;
    }
    d->quit_asked = false;
    forget_matches(d);
    if (e->kind == INPUT_PASTE) {
        paste(d, e);
        return;
    }
    if (had_matches && e->key == UK_ESC)
        return;
    if (e->key == UK_CTRLKEY('D'))
        d->quit_asked = asked;
    if (global_key(d, e->key))
        return;
    if (d->focus == FOCUS_PROMPT)
        prompt_key(d, e);
    else
        view_key(d, e->key);
}
