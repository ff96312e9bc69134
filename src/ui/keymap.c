/* ui/keymap.c -- see keymap.h. */
#include "ui/keymap.h"

#include "app/shell/command.h"
#include "ui/desk.h"

#include <stdio.h>
#include <string.h>

const struct keyrow keymap_both[] = {
    {"F1 Alt-h", ACT_HELP, "help", "help for what is on the screen", NULL, 0},
    {"F2 Alt-x", ACT_PALETTE, "palette",
     "find anything: commands, views, runs, columns, options, pages", NULL, 0},
    {"F3 Alt-e", ACT_EXPLAIN, "explain", "explain what is on the screen", NULL, 0},
    {"F4 Alt-m", ACT_NONE, "mouse", "mouse on or off (off: the terminal's own selection works)",
     "set mouse={mouse}", 0},
    {"F5 Alt-l", ACT_NONE, "plain", "plain line mode: no panes, one event a line; F5 comes back",
     "set plain=yes", 0},
    {"F6", ACT_PANE, "pane", "the view, then its next pane", NULL, 0},
#define VIEW_ROW(id, file, key, word, shows, line) \
    {"Alt-" key, ACT_NONE, "view-" key, "view " key ": " shows, "view " word, 0},
    WS_SCREEN_VIEWS(VIEW_ROW)
#undef VIEW_ROW
    {"PgUp", ACT_PGUP, "page-up", "a page up", NULL, 0},
    {"PgDn", ACT_PGDN, "page-down", "a page down", NULL, 0},
    {"Ctrl-c", ACT_INTERRUPT, "interrupt",
     "clear the line; with nothing typed ask the job on show to stop; never quits", NULL, 0},
    {"Ctrl-l", ACT_REDRAW, "redraw", "draw the screen again", NULL, 0},
    {"Ctrl-z", ACT_SUSPEND, "suspend", "suspend (fg comes back)", NULL, 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
const struct keyrow keymap_view[] = {
    {"Up k", ACT_UP, "up", "up, or the run before", NULL, 0},
    {"Down j", ACT_DOWN, "down", "down, or the next run", NULL, 0},
    {"Left h", ACT_LEFT, "left", "left, or the page before", NULL, 0},
    {"Right l", ACT_RIGHT, "right", "right, or the next page", NULL, 0},
    {"g Home", ACT_TOP, "top", "the first row", NULL, KIND_TABLE | KIND_TEXT | KIND_RUNS},
    {"G End", ACT_END, "end", "the last row", NULL, KIND_TABLE | KIND_TEXT | KIND_RUNS},
    {": i", ACT_PROMPT, "prompt", "to the prompt; the half-typed line is still there", NULL, 0},
    {"?", ACT_KEYS, "keys", "these keys; type to search, by key or by word", NULL, 0},
    {"/", ACT_SEARCH, "search", "search in what is on show", NULL,
     KIND_TABLE | KIND_TEXT | KIND_RUNS},
    {"n", ACT_NEXT, "next", "the next place found", NULL, KIND_TABLE | KIND_TEXT | KIND_RUNS},
    {"N", ACT_PREV, "previous", "the place before", NULL, KIND_TABLE | KIND_TEXT | KIND_RUNS},
    {"e", ACT_EXPLAIN, "explain-view", "explain what is on the screen", NULL, 0},
    {"Tab", ACT_PANE_NEXT, "next-pane", "the next pane", NULL, 0},
    {"Shift-Tab", ACT_PANE_PREV, "previous-pane", "the pane before", NULL, 0},
#define VIEW_ROW(id, file, key, word, shows, line) \
    {key, ACT_NONE, "view" key, "view " key, "view " word, 0},
    WS_SCREEN_VIEWS(VIEW_ROW)
#undef VIEW_ROW
    {"z", ACT_ZOOM, "zoom", "this pane alone, and back", NULL, 0},
    {"P", ACT_FULL, "full", "the plot over the whole screen, and back", NULL, KIND_PLOT},
    {"q Esc", ACT_CLOSE, "close", "close what is on top (never the program)", NULL, 0},
    {"< Shift-Left", ACT_NARROWER, "narrower", "the left column narrower", NULL, 0},
    {"> Shift-Right", ACT_WIDER, "wider", "the left column wider", NULL, 0},
    {"Shift-Up", ACT_TALLER, "taller", "the log taller", NULL, 0},
    {"Shift-Down", ACT_LOWER, "lower", "the log lower", NULL, 0},
    {"Space", ACT_MARK, "mark", "mark the run, or take the mark away", NULL,
     KIND_RUNS | KIND_TRACE},
    {"=", ACT_NONE, "compare", "compare the marked runs", "compare {marks}",
     KIND_RUNS | KIND_TRACE},
    {"w", ACT_NONE, "why", "why is it slow, or wrong", "why {run}", KIND_RUNS | KIND_TRACE},
    {"*", ACT_NONE, "star", "star the run, or take the star away", "star {run}",
     KIND_RUNS | KIND_TRACE},
    {"d", ACT_NONE, "describe", "the plot in words", "describe {plot}", KIND_PLOT},
    {"o", ACT_NONE, "export", "write the plot to a file: the line waits on the prompt",
     "plot {plot} out={file}.svg ", KIND_PLOT},
    {"x", ACT_LOGX, "log-x", "x axis logarithmic, or linear", NULL, KIND_PLOT},
    {"y", ACT_LOGY, "log-y", "y axis logarithmic, or linear", NULL, KIND_PLOT},
    {"X", ACT_AXES, "axes", "both axes as they were", NULL, KIND_PLOT},
    {"+", ACT_ZOOM_IN, "zoom-in", "half of the x axis; y follows", NULL, KIND_PLOT},
    {"_", ACT_ZOOM_OUT, "zoom-out", "twice as much of it", NULL, KIND_PLOT},
    {"0", ACT_ZOOM_ALL, "zoom-all", "all of it", NULL, KIND_PLOT},
    {",", ACT_PAN_LEFT, "pan-left", "when zoomed: to the left", NULL, KIND_PLOT},
    {".", ACT_PAN_RIGHT, "pan-right", "when zoomed: to the right", NULL, KIND_PLOT},
    {"{", ACT_BACK, "back", "iterations of the run: back", NULL, KIND_TRACE},
    {"}", ACT_FORTH, "forth", "iterations of the run: forth, to the end", NULL, KIND_TRACE},
    {"[", ACT_NONE, "earlier", "the session one command earlier", "at -1", 0},
    {"]", ACT_NONE, "later", "the session one command later", "at +1", 0},
    {"u", ACT_NONE, "undo", "take the last change back", "undo", 0},
    {"U", ACT_NONE, "redo", "and again", "redo", 0},
    {"c", ACT_NONE, "copy", "copy the cell, or the plot's sentence", "copy cell", 0},
    {"C", ACT_NONE, "copy-view", "copy what is on show as CSV", "copy view", 0},
    {"Ctrl-d", ACT_QUIT, "quit", "leave; asks once while jobs run", NULL, 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
const struct keyrow keymap_prompt[] = {
    {"Esc", ACT_EDITOR, "to-view", "to the view; the half-typed line stays", NULL, 0},
    {"Tab", ACT_EDITOR, "complete", "complete verbs, names, keys, values, columns, files", NULL, 0},
    {"Up Down", ACT_EDITOR, "history", "earlier lines that begin like this one", NULL, 0},
    {"Ctrl-r", ACT_EDITOR, "find-line", "search the lines of all sessions", NULL, 0},
    {"Ctrl-d", ACT_EDITOR, "leave", "on an empty line: leave; asks once while jobs run", NULL, 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};

/* Names. */

static const struct { int key; const char *name; } named[] = {
    { ' ', "Space" }, { UK_ENTER, "Enter" }, { UK_TAB, "Tab" }, { UK_ESC, "Esc" },
    { UK_DEL, "Backspace" }, { 8, "Backspace" }, { UK_UP, "Up" }, { UK_DOWN, "Down" },
    { UK_LEFT, "Left" }, { UK_RIGHT, "Right" }, { UK_HOME, "Home" }, { UK_END, "End" },
    { UK_PGUP, "PgUp" }, { UK_PGDN, "PgDn" }, { UK_INSERT, "Insert" }, { UK_DELETE, "Delete" },
    { UK_BACKTAB, "Shift-Tab" }, { UK_F1, "F1" }, { UK_F2, "F2" }, { UK_F3, "F3" }, { UK_F4, "F4" },
    { UK_F5, "F5" }, { UK_F6, "F6" }, { UK_F7, "F7" }, { UK_F8, "F8" }, { UK_F9, "F9" },
    { UK_F10, "F10" }, { UK_F11, "F11" }, { UK_F12, "F12" },
};

static void put_utf8(int c, char *s)
{
    if (c < 0x80) {
        *s++ = (char)c;
    } else if (c < 0x800) {
        *s++ = (char)(0xc0 | c >> 6);
        *s++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *s++ = (char)(0xe0 | c >> 12);
        *s++ = (char)(0x80 | (c >> 6 & 63));
        *s++ = (char)(0x80 | (c & 63));
    } else {
        *s++ = (char)(0xf0 | c >> 18);
        *s++ = (char)(0x80 | (c >> 12 & 63));
        *s++ = (char)(0x80 | (c >> 6 & 63));
        *s++ = (char)(0x80 | (c & 63));
    }
    *s = '\0';
}

void keymap_name(int key, char out[BIND_KEY_MAX])
{
    const int code = key & ~(UK_ALT | UK_CTRL | UK_SHIFT);
    bool ctrl = key & UK_CTRL;
    const char *name = NULL;
    char one[8];

    for (size_t i = 0; i < sizeof named / sizeof *named && !name; i++)
        if (named[i].key == code)
            name = named[i].name;
    if (!name && code >= 1 && code <= 26) {
        ctrl = true;
        one[0] = (char)(code + 'a' - 1);
        one[1] = '\0';
        name = one;
    } else if (!name && code > 0x20 && code <= 0x10ffff) {
        put_utf8(code, one);
        name = one;
    }
    *out = '\0';
    if (name)
        snprintf(out, BIND_KEY_MAX, "%s%s%s%s", ctrl ? "Ctrl-" : "", key & UK_ALT ? "Alt-" : "",
                 key & UK_SHIFT ? "Shift-" : "", name);
}

/* True if one of the row's keys has this name. */
static bool has_key(const char *keys, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = keys; n && *p; p += strspn(p, " ")) {
        const size_t k = strcspn(p, " ");
        if (k == n && strncmp(p, name, n) == 0)
            return true;
        p += k;
    }
    return false;
}

/* Rows. */

/* Commands depend on what is built in: a key whose command does not exist is ignored. */
static bool command_there(const char *line)
{
    char verb[32];
    snprintf(verb, sizeof verb, "%.*s", (int)strcspn(line, " "), line);
    const struct command *c = command_find(verb, NULL);
    return c && strcmp(c->name, verb) == 0;
}

bool keymap_applies(const struct keyrow *r, const struct view *v)
{
    if (r->kinds && !(v && v->ops->kinds & r->kinds))
        return false;
    return !r->line || command_there(r->line);
}

static const struct keyrow *find_in(const struct keyrow *rows, const struct view *v,
                                    const char *key)
{
    for (; rows && rows->keys; rows++)
        if (has_key(rows->keys, key) && keymap_applies(rows, v))
            return rows;
    return NULL;
}

const struct keyrow *keymap_find(const struct view *v, bool prompt, const char *key)
{
    const struct keyrow *r = NULL;

    if (!prompt && v)
        r = find_in(v->ops->keys, v, key);
    if (!r && !prompt)
        r = find_in(keymap_view, v, key);
    return r ? r : find_in(keymap_both, v, key);
}

const struct keyrow *keymap_by_name(const struct view *v, const char *name)
{
    const struct keyrow *const tables[] = { v ? v->ops->keys : NULL, keymap_view, keymap_both };

    for (size_t i = 0; i < 3; i++)
        for (const struct keyrow *r = tables[i]; r && r->keys; r++)
            if (strcmp(r->name, name) == 0 && keymap_applies(r, v))
                return r;
    return NULL;
}

void keymap_keys(const struct keyrow *r, const struct view *v, bool prompt, struct buf *out)
{
    char key[BIND_KEY_MAX];
    const size_t from = out->len;
    const struct binding *b;

    for (const char *p = r->keys; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        snprintf(key, sizeof key, "%.*s", (int)n, p);
        const struct keyrow *now = v && r->act != ACT_EDITOR ? keymap_find(v, prompt, key) : r;
        if (now == r && !binding_find(prompt ? BIND_PROMPT : BIND_VIEW, key))
            buf_printf(out, "%s%s", out->len > from ? " " : "", key);
        p += n;
    }
    /* keys that the user has bound to it by name */
    for (size_t i = 0; (b = binding_at(i)) != NULL; i++)
        if (*b->line == '@' && strcmp(b->line + 1, r->name) == 0)
            buf_printf(out, "%s%s", out->len > from ? " " : "", b->key);
}

static enum status fill_rows(struct palette *p, const struct keyrow *rows, const struct view *v,
                             bool prompt, struct err *err)
{
    enum status rc = ST_OK;

    for (; rc == ST_OK && rows && rows->keys; rows++) {
        struct buf keys = { 0 }, line = { 0 };
        const char *why = NULL;
        if (!keymap_applies(rows, v))
            continue;
        keymap_keys(rows, v, prompt, &keys);
        if (!keys.len) {
            buf_free(&keys);
            continue;
        }
        if (rows->line && !keymap_line((struct view *)v, rows->line, &line, &why)) {
            buf_clear(&line);
            buf_puts(&line, rows->line);
        }
        char name[40];
        snprintf(name, sizeof name, "%s%s", rows->name, prompt ? ", at the prompt" : "");
        rc = palette_add(p, rows->does, name, buf_str(&line), buf_str(&keys),
                         rows->line ? ACT_NONE : (int)rows->act, err);
        buf_free(&keys);
        buf_free(&line);
    }
    return rc;
}

enum status keymap_fill(struct palette *p, const struct view *v, struct err *err)
{
    const struct binding *b;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && (b = binding_at(i)) != NULL; i++)
        rc = palette_add(p, "your own key", bindings_focus_name(b->focus), b->line, b->key,
                         ACT_NONE, err);
    if (rc == ST_OK && v)
        rc = fill_rows(p, v->ops->keys, v, false, err);
    if (rc == ST_OK)
        rc = fill_rows(p, keymap_view, v, false, err);
    if (rc == ST_OK)
        rc = fill_rows(p, keymap_both, v, false, err);
    return rc == ST_OK ? fill_rows(p, keymap_prompt, v, true, err) : rc;
}

/* Conflicts. */

static void covers(const struct binding *b, const struct keyrow *rows, enum bind_focus focus,
                   const char *where, struct buf *out)
{
    if (!(b->focus & focus))
        return;
    for (; rows && rows->keys; rows++)
        if (has_key(rows->keys, b->key))
            buf_printf(out, "%s %s now runs '%s'; built in%s: %s\n", bindings_focus_name(b->focus),
                       b->key, b->line, where, rows->does);
}

/* A row of a view may replace one of all views on purpose. The same key twice in one table is a
 * mistake. */
static void doubled(const struct keyrow *rows, const char *where, struct buf *out)
{
    for (const struct keyrow *r = rows; r && r->keys; r++)
        for (const char *p = r->keys; *p; p += strspn(p, " ")) {
            const size_t n = strcspn(p, " ");
            char key[BIND_KEY_MAX];
            snprintf(key, sizeof key, "%.*s", (int)n, p);
            for (const struct keyrow *q = r + 1; q->keys; q++)
                if (has_key(q->keys, key) && (!q->kinds || !r->kinds || q->kinds & r->kinds))
                    buf_printf(out, "%s: %s is both '%s' and '%s'\n", where, key, r->does, q->does);
            p += n;
        }
}

void keymap_conflicts(struct buf *out)
{
    const struct binding *b;

    for (size_t i = 0; (b = binding_at(i)) != NULL; i++) {
        covers(b, keymap_both, BIND_BOTH, "", out);
        covers(b, keymap_view, BIND_VIEW, "", out);
        covers(b, keymap_prompt, BIND_PROMPT, "", out);
        for (size_t k = 0; k < N_VIEWS; k++)
            covers(b, view_table[k]->keys, BIND_VIEW, view_table[k]->title, out);
    }
    doubled(keymap_both, "both", out);
    doubled(keymap_view, "view", out);
    for (size_t k = 0; k < N_VIEWS; k++)
        doubled(view_table[k]->keys, view_table[k]->title, out);
}

/* Lines. */

static bool put_marks(const struct desk *d, struct buf *out)
{
    const struct run *r = desk_selected(d);

    for (size_t i = 0; i < d->nmarks; i++)
        buf_printf(out, "%s%s", i ? " " : "", d->mark[i]);
    if (d->nmarks == 1 && r && !desk_marked(d, r))
        buf_printf(out, " %s", r->id);
    return d->nmarks > 0;
}

static bool put_value(struct view *v, const char *name, size_t n, struct buf *out, const char **why)
{
    const struct desk *d = v->desk;
    const size_t at = out->len;

    if (n == 3 && strncmp(name, "run", n) == 0) {
        const struct run *r = v->ops->run ? v->ops->run(v) : desk_selected(d);
        if (r)
            buf_puts(out, r->id);
        *why = "there is no run yet";
    } else if (n == 5 && strncmp(name, "marks", n) == 0) {
        put_marks(d, out);
        *why = "no run is marked: Space marks the selected one";
    } else if (n == 4 && strncmp(name, "plot", n) == 0) {
        if (v->ops->plot_words)
            v->ops->plot_words(v, out);
        *why = "there is no plot here yet";
    } else if (n == 4 && strncmp(name, "file", n) == 0) { /* the plot's words as a file name */
        if (v->ops->plot_words)
            v->ops->plot_words(v, out);
        for (size_t i = at; i < out->len; i++)
            if (strchr(" =\"'/", out->s[i]))
                out->s[i] = '-';
        *why = "there is no plot here yet";
    } else if (n == 4 && strncmp(name, "view", n) == 0) {
        buf_printf(out, "%c", view_key(v->ops) ? view_key(v->ops) : view_key(&runs_view));
    } else if (n == 5 && strncmp(name, "mouse", n) == 0) {
        buf_puts(out, d->ws->opt.mouse ? "no" : "yes");
    } else {
        *why = "a line may hold {run}, {marks}, {plot}, {file} and {view}";
    }
    return out->len > at;
}

bool keymap_line(struct view *v, const char *tmpl, struct buf *out, const char **why)
{
    *why = NULL;
    while (*tmpl) {
        const char *end = *tmpl == '{' ? strchr(tmpl, '}') : NULL;
        if (!end) {
            buf_putc(out, *tmpl++);
            continue;
        }
        if (!put_value(v, tmpl + 1, (size_t)(end - tmpl - 1), out, why))
            return false;
        tmpl = end + 1;
    }
    return true;
}
