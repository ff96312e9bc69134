/* ui/keys.c -- turns keys into actions. See keys.h. There are two focuses: the prompt takes all
 * typing; a view takes single keys. Function and Alt keys work in both. The meaning of each key is
 * in keymap.c and in the views' own tables; this file carries it out. */
#include "ui/keys.h"

#include "app/core/job.h"
#include "ui/lifecycle.h"
#include "ui/prompt.h"
#include "ui/screen.h"
#include "ui/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEARN_USES = 3 };

/* Help. */

static void key_lines(const struct keyrow *r, const struct view *v, bool prompt, struct buf *b)
{
    for (; r && r->keys; r++) {
        struct buf k = { 0 };
        if (keymap_applies(r, v))
            keymap_keys(r, v, prompt, &k);
        if (k.len)
            buf_printf(b, "%s\t%s\n", buf_str(&k), r->does);
        buf_free(&k);
    }
}

/* F1: the view on show and its keys. */
static void show_help(struct desk *d)
{
    struct buf b = { 0 };
    const struct view *v = &d->view[d->main];
    const struct view_ops *o = v->ops;
    const struct binding *own;
    if (d->pager.open && strncmp(d->pager.title, "Help", 4) == 0) {
        desk_page_close(d);
        return;
    }
    buf_printf(&b, "%s\n \nKeys of this view (Esc first; ? lists and searches them)\n", o->about);
    key_lines(o->keys, v, false, &b);
    for (size_t i = 0; (own = binding_at(i)) != NULL; i++)
        buf_printf(&b, "%s\t%s   (your own, %s)\n", own->key, own->line,
                   bindings_focus_name(own->focus));
    buf_puts(&b, " \nAt the prompt\n");
    key_lines(keymap_prompt, v, true, &b);
    buf_puts(&b, " \nIn both\n");
    key_lines(keymap_both, v, true, &b);
    buf_puts(&b, " \nIn every view\n");
    key_lines(keymap_view, v, false, &b);
    buf_puts(&b, " \nThe commands: type  help.  One of them: type  help fit.  All of it: F2.\n");
    char title[64];
    snprintf(title, sizeof title, "Help: view %c %s", view_key(o), o->title);
    desk_page(d, title, buf_str(&b));
    buf_free(&b);
}

/* F3 and e: shows the page about the current view; the command for it inserts the current
 * numbers. */
static void explain(struct desk *d)
{
    const struct view *v = desk_view(d);
    const struct command *c = command_find("explain", NULL);
    struct buf b = { 0 };
    char title[64];
    if (v->ops->plot_words)
        v->ops->plot_words(v, &b);
    b.len = b.len ? strcspn(b.s, " ") : 0;         /* the name of its plot */
    if (b.s)
        b.s[b.len] = '\0';
    if (c && strcmp(c->name, "explain") == 0 && b.len) {
        desk_execf(d, "explain %s", buf_str(&b));
    } else {
        buf_clear(&b);
        buf_printf(&b, "%s\n \n",
                   v->ops->about && *v->ops->about ? v->ops->about : runs_view.about);
        if (v->ops->verdict)
            v->ops->verdict((struct view *)v, &b);
        snprintf(title, sizeof title, "Explain: %s", v->ops->title);
        desk_page(d, title, buf_str(&b));
    }
    buf_free(&b);
}

/* Panes. */

static void next_pane(struct desk *d, int dir)
{
    for (int i = 0; i < N_PANES; i++) {
        d->active = (enum pane)(((int)d->active + dir + N_PANES) % N_PANES);
        if (d->panes.has[d->active])
            return;
    }
    d->active = PANE_MAIN;
}

static bool pager_act(struct desk *d, enum act act)
{
    struct pager *p = &d->pager;
    size_t page = p->page > 1 ? (size_t)p->page - 1 : 1;
    if (!p->open)
        return false;
    switch (act) {
    case ACT_PGUP: p->top -= p->top > page ? page : p->top; return true;
    case ACT_PGDN: case ACT_MARK: p->top += page; return true;
    case ACT_UP: p->top -= p->top > 0; return true;
    case ACT_DOWN: p->top++; return true;
    case ACT_TOP: p->top = 0; return true;
    case ACT_END: p->top = p->rows; return true;
    case ACT_LEFT: p->left -= p->left > 8 ? 8 : p->left; return true;
    case ACT_RIGHT: p->left += p->cut ? 8 : 0; return true;
    case ACT_CLOSE: case ACT_OPEN: desk_page_close(d); return true;
    default: return false;
    }
}

static void search(struct desk *d, int dir)
{
    struct view *v = desk_view(d);
    bool found = false;
    if (!d->find) {
        logbook_add(&d->log, LOG_NOTE, "nothing was searched for yet: / asks for it");
        return;
    }
    if (d->pager.open)
        found = screen_pager_find(d, d->find, dir);
    else if (v->ops->find)
        found = v->ops->find(v, d->find, dir);
    if (!found) {
        char text[200];
        snprintf(text, sizeof text, "'%.100s' is not %s here", d->find,
                 dir < 0 ? "above" : "below");
        logbook_add(&d->log, LOG_NOTE, text);
        d->quiet = false;
    }
}

void keys_interrupt(struct desk *d)
{
    struct job_view j;
    char line[40];
    if (!prompt_empty()) {
        prompt_clear();
        d->focus = FOCUS_PROMPT;
    } else if (jobs_view(d->ws->jobs, 0, &j)) {
        if (j.stopping) {
            logbook_add(&d->log, LOG_NOTE, "it is already stopping, after the current step");
        } else {
            lifecycle_stop_line(d->ws, &j, line);
            desk_exec(d, line);
        }
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

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Actions of a view. A page over it takes them first; a plot does not scroll, so the log does. */
static void view_act(struct desk *d, enum act act)
{
    struct view *v = d->focus == FOCUS_VIEW ? desk_view(d) : &d->view[d->main];
    d->quiet = true;
    if (pager_act(d, act))
        return;
    if (v->ops->act && v->ops->act(v, act))
        return;
    if (act == ACT_MARK) {
        const struct run *r = v->ops->run ? v->ops->run(v) : desk_selected(d);
        if (r)
            desk_mark(d, r);
    } else if (act == ACT_PGUP || act == ACT_PGDN) {
        log_view.act(&d->view[VIEW_LOG], act);
    }
}

void keys_act(struct desk *d, enum act act)
{
    switch (act) {
    case ACT_HELP: show_help(d); return;
    case ACT_KEYS: picker_open(d, ASK_KEYS, ""); return;
    case ACT_PALETTE: picker_open(d, ASK_PALETTE, ""); return;
    case ACT_EXPLAIN: explain(d); return;
    case ACT_SEARCH: picker_open(d, ASK_SEARCH, ""); return;
    case ACT_NEXT: search(d, 1); return;
    case ACT_PREV: search(d, -1); return;
    case ACT_PANE:
        if (d->focus == FOCUS_VIEW)
            next_pane(d, 1);
        d->focus = FOCUS_VIEW;
        return;
    case ACT_PANE_NEXT: next_pane(d, 1); return;
    case ACT_PANE_PREV: next_pane(d, -1); return;
    case ACT_PROMPT: d->focus = FOCUS_PROMPT; return;
    case ACT_ZOOM: d->zoom = !d->zoom; d->full = false; return;
    case ACT_FULL: d->full = !d->full; d->zoom = d->full; return;
    case ACT_CLOSE:
        if (d->pager.open)
            desk_page_close(d);
        else if (d->zoom || d->full)
            d->zoom = d->full = false;
        else if (d->table.filter && runs_view.filter)
            runs_view.filter(&d->view[VIEW_RUNS], "");
        return;
    case ACT_WIDER: d->dx = clamp(d->dx + 2, -20, d->cols / 3); return;
    case ACT_NARROWER: d->dx = clamp(d->dx - 2, -20, d->cols / 3); return;
    case ACT_TALLER: d->dy = clamp(d->dy + 1, -8, d->rows / 3); return;
    case ACT_LOWER: d->dy = clamp(d->dy - 1, -8, d->rows / 3); return;
    case ACT_REDRAW: d->clear = true; return;
    case ACT_SUSPEND: terminal_suspend(d); return;
    case ACT_INTERRUPT: keys_interrupt(d); return;
    case ACT_QUIT: end_of_input(d); return;
    case ACT_FILTER: {
        const struct view *v = desk_view(d);
        if (v->ops->filter)
            picker_open(d, ASK_FILTER, d->table.filter ? d->table.filter : "");
        return;
    }
    default: view_act(d, act); return;
    }
}

/* Lines run by keys. */

void keys_line(struct desk *d, const char *line)
{
    const size_t n = strlen(line);
    if (n && (line[n - 1] == ' ' || line[n - 1] == '='))
        desk_prompt(d, line);
    else
        desk_exec(d, line);
}

/* In the first session a key shows its line before running it; after three times the line counts as
 * learned. */
static bool teach(struct desk *d, const struct keyrow *r)
{
    const char *learn = d->ws->opt.learn;
    const bool on = strcmp(learn, "on") == 0 ||
                    (strcmp(learn, "auto") == 0 && d->learn.first_session);
    if (!on || d->focus != FOCUS_VIEW || strncmp(r->line, "view ", 5) == 0)
        return false;
    for (size_t i = 0; i < d->learn.nknown; i++)
        if (strcmp(d->learn.known[i].name, r->name) == 0)
            return d->learn.known[i].uses++ < LEARN_USES;
    struct desk_learned *grown = realloc(d->learn.known, (d->learn.nknown + 1) * sizeof *grown);
    if (!grown)
        return false;
    d->learn.known = grown;
    snprintf(d->learn.known[d->learn.nknown].name, sizeof d->learn.known->name, "%s", r->name);
    d->learn.known[d->learn.nknown++].uses = 1;
    return true;
}

static void forget_lesson(struct desk *d)
{
    d->learn.row = NULL;
    free(d->learn.line);
    d->learn.line = NULL;
}

static void run_row(struct desk *d, struct view *v, const struct keyrow *r)
{
    struct buf line = { 0 };
    const char *why;
    if (!r->line) {
        keys_act(d, r->act);
        return;
    }
    if (!keymap_line(v, r->line, &line, &why)) {
        logbook_add(&d->log, LOG_NOTE, why);
        d->quiet = false;
    } else if (teach(d, r)) {
        d->learn.row = r;
        d->learn.line = strdup(buf_str(&line));
    } else {
        if (strncmp(buf_str(&line), "view ", 5) == 0)
            d->picked = true;
        keys_line(d, buf_str(&line));
    }
    buf_free(&line);
}

/* A key of the user: a line, or @NAME for an action of the screen. */
static bool run_bound(struct desk *d, struct view *v, bool prompt, const char *key)
{
    const char *own = binding_find(prompt ? BIND_PROMPT : BIND_VIEW, key), *why;
    struct buf line = { 0 };
    if (!own)
        return false;
    if (*own == '@') {
        const struct keyrow *r = keymap_by_name(v, own + 1);
        if (r)
            run_row(d, v, r);
        else
            logbook_add(&d->log, LOG_NOTE,
                        "the key is bound to a name that is not there (? lists them)");
        return true;
    }
    char *copy = strdup(own);                        /* the line may rebind the key */
    if (copy && keymap_line(v, copy, &line, &why))
        keys_line(d, buf_str(&line));
    else if (copy)
        logbook_add(&d->log, LOG_NOTE, why);
    free(copy);
    buf_free(&line);
    return true;
}

/* The two focuses. */

static void prompt_key(struct desk *d, const struct input_event *e)
{
    if (e->key == UK_ESC && !prompt_vi()) {
        if (d->nmatch)
            return;                              /* the completions have just been removed */
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
    if (prompt_empty() && (e->key == UK_LEFT || e->key == UK_RIGHT) &&
        pager_act(d, e->key == UK_LEFT ? ACT_LEFT : ACT_RIGHT))
        return;                                  /* the view cannot move, so the page moves */
    if (e->n)
        prompt_feed(e->bytes, e->n);
}

/* Handles a key that has a name. Returns false if it has no meaning. */
static bool named_key(struct desk *d, bool prompt, const char *key)
{
    struct view *v = desk_view(d);
    if (!*key)
        return false;
    if (run_bound(d, v, prompt, key))
        return true;
    if (!prompt && d->pager.open && strcmp(key, "Enter") == 0) {
        desk_page_close(d);
        return true;
    }
    const struct keyrow *r = keymap_find(v, prompt, key);
    if (!prompt && d->pager.open) { /* a page is a text, whatever lies below it */
        const struct keyrow *text = keymap_find(&d->view[VIEW_LOG], false, key);
        if (text && text->kinds & KIND_TEXT)
            r = text;
    }
    if (!r || (d->pager.open && !prompt && !r->line && pager_act(d, r->act)))
        return r != NULL;
    run_row(d, v, r);
    return true;
}

/* Mouse. */

static bool in_canvas(const struct canvas *c, int y, int x)
{
    return c->h > 0 && y >= c->y && y < c->y + c->h && x >= c->x && x < c->x + c->w;
}

static void wheel(struct desk *d, int y, int x, enum act act)
{
    enum pane old = d->active;
    for (int i = 0; i < N_PANES; i++)
        if (in_canvas(&d->panes.pane[i], y, x))
            d->active = (enum pane)i;
    struct view *v = desk_view(d);
    for (int i = 0; i < 3; i++)
        if (!pager_act(d, act) &&
            !(v->ops->act && !(v->ops->kinds & KIND_PLOT) && v->ops->act(v, act)))
            log_view.act(&d->view[VIEW_LOG], act);
    d->active = old;
}

/* The edges between panes can be dragged. */
static int edge_at(const struct desk *d, int y, int x)
{
    const struct canvas *list = &d->panes.pane[PANE_LIST], *log = &d->panes.pane[PANE_LOG];
    if (list->h > 0 && x >= list->x + list->w - 2 && x <= list->x + list->w - 1)
        return 'x';
    return list->h > 0 && log->h > 0 && y == log->y && x >= log->x ? 'y' : 0;
}

static void click(struct desk *d, int y, int x)
{
    for (size_t i = 0; i < N_VIEWS; i++)
        if (in_canvas(&d->panes.tab[i], y, x)) {
            d->picked = true;
            desk_execf(d, "view %c", view_key(view_table[i]));
            return;
        }
    if ((d->panes.drag = edge_at(d, y, x)) != 0)
        return;
    for (int i = 0; i < N_PANES; i++)
        if (in_canvas(&d->panes.pane[i], y, x)) {
            d->active = (enum pane)i;
            d->focus = FOCUS_VIEW;
            struct view *v = desk_view(d);
            if (v->ops->click && in_canvas(&v->at, y, x))
                v->ops->click(v, y - v->at.y, x - v->at.x);
            return;
        }
    if (y >= d->rows - 1)
        d->focus = FOCUS_PROMPT;
}

static void mouse_event(struct desk *d, const struct input_event *e)
{
    if (e->release) {
        d->panes.drag = 0;
    } else if (e->button == 64 || e->button == 65) {
        wheel(d, e->y, e->x, e->button == 64 ? ACT_UP : ACT_DOWN);
    } else if (e->button == 0) {
        click(d, e->y, e->x);
    } else if (e->button == 32 && d->panes.drag == 'x') {
        const struct canvas *list = &d->panes.pane[PANE_LIST];
        d->dx = clamp(d->dx + e->x - (list->x + list->w - 1), -20, d->cols / 3);
    } else if (e->button == 32 && d->panes.drag == 'y') {
        d->dy = clamp(d->dy + d->panes.pane[PANE_LOG].y - e->y, -8, d->rows / 3);
    }
}

/* Events. */

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
        logbook_add(&d->log, LOG_WARNING,
                    "the pasted text was longer than 1 MB and was cut; better "
                    "put it in a file: source FILE.gps");
}

/* A line is being taught: Enter or the same key runs it, any other key cancels it. */
static bool answer_lesson(struct desk *d, const char *key)
{
    const struct keyrow *r = d->learn.row;
    char *line = d->learn.line;
    if (!r)
        return false;
    d->learn.row = NULL;
    d->learn.line = NULL;
    const bool yes = strcmp(key, "Enter") == 0 || strcmp(key, "Space") == 0 ||
                     (*key && keymap_find(desk_view(d), false, key) == r);
    if (yes && line)
        keys_line(d, line);
    free(line);
    return yes || strcmp(key, "Esc") == 0;
}

void keys_event(struct desk *d, const struct input_event *e)
{
    bool asked = d->quit_asked;
    bool had_matches = d->nmatch > 0;
    char key[BIND_KEY_MAX];
    d->urgent = true;
    if (e->kind == INPUT_MOUSE) {
        forget_lesson(d);
        mouse_event(d, e);
        return;
    }
    d->quit_asked = false;
    forget_matches(d);
    if (d->ask.kind != ASK_NONE) {
        picker_event(d, e);
        return;
    }
    if (e->kind == INPUT_PASTE) {
        forget_lesson(d);
        paste(d, e);
        return;
    }
    if (had_matches && e->key == UK_ESC)
        return;
    if (e->key == UK_CTRLKEY('D'))
        d->quit_asked = asked;
    keymap_name(e->key, key);
    if (answer_lesson(d, key) || named_key(d, d->focus == FOCUS_PROMPT, key))
        return;
    if (d->focus == FOCUS_PROMPT)
        prompt_key(d, e);
}
