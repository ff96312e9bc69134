/* app/commands/cmd_screen.c -- commands about the screen: view, layout, theme, palette, copy, bind.
 * Without a screen, each prints the same as text or keeps the setting for a screen. */
#include "app/shell/bindings.h"
#include "app/commands/commands.h"
#include "app/shell/text_table.h"
#include "app/shell/options.h"
#include "app/shell/palette.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "app/commands/palette_fill.h"
#include "app/plots/plot_rows.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tell(struct workspace *ws, const char *verb, const char *key, const char *value,
                 const char *text)
{
    struct rec r;

    rec_init(&r, REC_RESULT, verb);
    rec_str(&r, key, value);
    rec_text(&r, "%s", text);
    ws_emit(ws, &r);
}

/* View. */

/* The views, and the line that prints the same without a screen. */
static const struct { const char *key, *name, *line; } views[] = {
#define VIEW_ROW(id, file, key, word, shows, line) { key, word, line },
    WS_SCREEN_VIEWS(VIEW_ROW)
#undef VIEW_ROW
};
enum { NVIEWS = sizeof views / sizeof *views };

/* "data|runs|...|1|2|...": the words and keys of all views. */
#define VIEW_WORD(id, file, key, word, shows, line) "|" word
#define VIEW_KEY(id, file, key, word, shows, line) "|" key
static const char view_choices[] = WS_SCREEN_VIEWS(VIEW_WORD) WS_SCREEN_VIEWS(VIEW_KEY);
#undef VIEW_WORD
#undef VIEW_KEY

static enum status cmd_view(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *name = args_text(a, "name");
    size_t i = 0;
    char text[120];

    while (i < NVIEWS && strcmp(views[i].name, name) && strcmp(views[i].key, name))
        i++;
    if (i == NVIEWS)
        return err_set(err, ST_NOT_FOUND, "there is no view '%.40s'", name);
    if (ws->screen)                          /* the user sees it, so print nothing */
        return ws->screen->view(ws->screen_ctx, *views[i].key, err);
    char verb[40];
    snprintf(verb, sizeof verb, "%.*s", (int)strcspn(views[i].line, " "), views[i].line);
    const struct command *c = command_find(verb, NULL);
    if (!c || strcmp(c->name, verb)) {
        snprintf(text, sizeof text, "view %s needs the full screen: start gpdesk without --plain",
                 views[i].name);
        tell(ws, "view", "view", views[i].name, text);
        return ST_OK;
    }
    return workspace_exec_apart(ws, views[i].line, "view");
}

/* Layout, theme: options that are also verbs. */

static void tell_screen(struct workspace *ws, const char *option, const char *value,
                        struct buf *said)
{
    if (!strcmp(option, "layout"))
        ws->screen->layout(ws->screen_ctx, value, said);
    else
        ws->screen->theme(ws->screen_ctx);
}

static enum status choose(struct workspace *ws, const char *option, const char *value,
                          struct err *err)
{
    struct buf b = { 0 };
    struct rec r;
    enum status rc = ST_OK;

    if (value)
        rc = option_set(&ws->opt, ws->origin, option, value, BY_SET, err);
    if (rc != ST_OK)
        return rc;
    option_find(option, NULL)->show(&ws->opt, &b);
    rec_init(&r, REC_RESULT, option);
    rec_str(&r, option, buf_str(&b));
    rec_text(&r, "%s %s", option, buf_str(&b));
    buf_clear(&b);
    if (value && ws->screen)
        tell_screen(ws, option, value, &b);
    else if (value)
        buf_puts(&b, "needs the full screen");
    if (!value)
        rec_text(&r, "   (%s)", option_origin(ws->origin, option));
    else if (b.len)
        rec_text(&r, "   (%s)", buf_str(&b));
    buf_free(&b);
    if (!value && !strcmp(option, "theme")) {
        struct buf names = { 0 };
        options_themes(&names);
        rec_str(&r, "themes", buf_str(&names));
        rec_text(&r, "\nthere are: %s", buf_str(&names));
        buf_free(&names);
    } else if (!value) {
        rec_text(&r,
                 "\nthere are: auto (by size), main (one view), two (list, view, inspector, log), "
                 "three (a second plot, too), slide (the plot alone)");
    }
    ws_emit(ws, &r);
    return rc;
}

static enum status cmd_layout(struct workspace *ws, const struct args *a, struct err *err)
{
    return choose(ws, "layout", args_text(a, "name"), err);
}

static enum status cmd_theme(struct workspace *ws, const struct args *a, struct err *err)
{
    return choose(ws, "theme", args_text(a, "name"), err);
}

/* Palette. */

static enum status cmd_palette(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *query = args_text(a, "text");
    struct palette p = { 0 };
    struct text_table g;
    struct rec r;

    if (ws->screen) {
        ws->screen->palette(ws->screen_ctx, query ? query : "");
        return ST_OK;
    }
    enum status rc = palette_fill(&p, ws, err);
    size_t *order = rc == ST_OK ? calloc(p.n + 1, sizeof *order) : NULL;
    if (order) {
        const size_t n = palette_match(&p, query ? query : "", order);
        rec_init(&r, REC_RESULT, "palette");
        rec_int(&r, "found", (int64_t)n);
        rec_array(&r, "items");
        text_table_init(&g, 3);
        for (size_t i = 0; i < n && i < 20; i++) {
            const struct palette_item *it = &p.v[order[i]];
            rec_item(&r);
            rec_str(&r, "name", it->label);
            rec_str(&r, "line", it->line);
            rec_str(&r, "about", it->about);
            rec_close(&r);
            text_table_cell(&g, it->label, 0);
            text_table_cell(&g, it->line, 0);
            text_table_cell(&g, it->about, 50);
        }
        rec_array_close(&r);
        if (n)
            text_table_print(&g, NULL, &r.text);
        else
            rec_text(&r, "nothing has a name like that");
        if (n > 20)
            rec_text(&r, "%s%zu more", r.text.len && r.text.s[r.text.len - 1] == '\n' ? "" : "\n",
                     n - 20);
        text_table_free(&g);
        ws_emit(ws, &r);
    } else if (rc == ST_OK) {
        rc = err_nomem(err, p.n * sizeof *order, "the palette");
    }
    free(order);
    palette_free(&p);
    return rc;
}

/* Copy. */

/* $XDG_RUNTIME_DIR/gpdesk/copy.txt, or a file beside the sessions. */
static bool copy_path(struct buf *out)
{
    return (dirs_path(DIRS_RUNTIME, "copy.txt", out) || dirs_path(DIRS_STATE, "copy.txt", out)) &&
           dirs_make_parent(out->s, NULL) == ST_OK;
}

/* Copies the numbers of a plot, as `C` does in a plot's view. */
static enum status copy_plot(struct workspace *ws, const char *what, const char *run,
                             struct buf *text, struct err *err)
{
    const struct plot_ops *p = plot_find(what, err);
    struct run *r = p && run ? ws_run(ws, run, err) : p ? ws_run(ws, NULL, NULL) : NULL;

    if (!p || (run && !r))
        return err->code;
    struct figure *f = p->make(ws, r, NULL, err);
    if (!f)
        return err->code;
    if (f->reason)
        err_set(err, ST_NOT_FOUND, "there is nothing to copy: %s", f->reason);
    else
        figure_csv(f, text);
    const enum status rc = f->reason ? ST_NOT_FOUND : ST_OK;
    figure_free(f);
    return rc;
}

/* Parts of the screen that can be copied, in the order of enum ws_screen_part. */
static const char *const parts[] = { "cell", "view", "line" };
enum { NPARTS = sizeof parts / sizeof *parts };

static const char *copied_at(struct workspace *ws, size_t i)
{
    (void)ws;
    return i < NPARTS ? parts[i] : plot_at(i - NPARTS) ? plot_at(i - NPARTS)->name : NULL;
}

const struct words_row cmd_screen_words_copied = { .type = ARG_COPIED, .at = copied_at };

static enum status cmd_copy(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *what = args_text(a, "what"), *out = args_text(a, "out");
    size_t part = 0;
    struct buf text = { 0 }, path = { 0 }, said = { 0 };
    enum status rc;

    while (part < NPARTS && strcmp(what, parts[part]))
        part++;
    if (part == NPARTS) {
        rc = copy_plot(ws, what, args_text(a, "run"), &text, err);
    } else if (ws->screen) {
        rc = ws->screen->copy(ws->screen_ctx, (enum ws_screen_part)part, &text, err);
    } else {
        rc = err_set(err, ST_USAGE, "copy %s needs the full screen", what);
        err_hint(err, "copy calibration   (the numbers of a plot)");
    }
    if (rc == ST_OK && !out && !copy_path(&path))
        rc = err_set(err, ST_IO, "there is no directory for a copy, because HOME is not set");
    if (rc == ST_OK)
        rc =
            outfile_put(out ? out : path.s, out ? 0666 : 0600, text.s ? text.s : "", text.len, err);
    if (rc == ST_OK) {
        struct rec r;
        char size[32];
        if (ws->screen)
            ws->screen->clipboard(ws->screen_ctx, buf_str(&text), &said);
        rec_init(&r, REC_RESULT, "copy");
        rec_str(&r, "what", what);
        rec_int(&r, "bytes", (int64_t)text.len);
        rec_str(&r, "file", out ? out : path.s);
        text_count(size, sizeof size, text.len);
        rec_text(&r, "copied %s bytes to ", size);
        rec_safe(&r, out ? out : path.s);
        if (said.len)
            rec_text(&r, "; %s", buf_str(&said));
        ws_emit(ws, &r);
    }
    buf_free(&text);
    buf_free(&path);
    buf_free(&said);
    return rc;
}

/* Bind. */

static void list_bindings(struct workspace *ws)
{
    struct text_table g;
    struct rec r;
    const struct binding *b;
    size_t n = 0;

    rec_init(&r, REC_RESULT, "bind");
    rec_array(&r, "keys");
    text_table_init(&g, 3);
    for (; (b = binding_at(n)) != NULL; n++) {
        rec_item(&r);
        rec_str(&r, "focus", bindings_focus_name(b->focus));
        rec_str(&r, "key", b->key);
        rec_str(&r, "line", b->line);
        rec_close(&r);
        text_table_cell(&g, bindings_focus_name(b->focus), 0);
        text_table_cell(&g, b->key, 0);
        text_table_cell(&g, b->line, 0);
    }
    rec_array_close(&r);
    if (n)
        text_table_print(&g, NULL, &r.text);
    else
        rec_text(&r, "no keys are bound yet; try bind view K \"compare .\"");
    text_table_free(&g);
    ws_emit(ws, &r);
}

/* Lists bound lines that cannot be parsed and, on a screen, built-in keys that they hide. */
static void conflicts(struct workspace *ws)
{
    struct buf said = { 0 };
    struct rec r;
    const struct binding *b;

    rec_init(&r, REC_RESULT, "bind");
    for (size_t i = 0; (b = binding_at(i)) != NULL; i++) {
        struct statement *st = NULL;
        struct err own = { 0 };
        size_t n = 0;
        if (command_split(b->line, &st, &n, &own) == ST_OK)
            for (size_t k = 0; k < n && own.code == ST_OK; k++) {
                const struct command *c;
                struct args *args = NULL;
                if (!strchr(st[k].text, '{')) /* the screen fills in {run} and the like */
                    command_parse(st[k].text, &c, &args, &own);
                args_free(args);
            }
        command_statements_free(st, n);
        if (own.code != ST_OK)
            buf_printf(&said, "%s %s: %s\n", bindings_focus_name(b->focus), b->key, own.msg);
    }
    if (ws->screen)
        ws->screen->conflicts(ws->screen_ctx, &said);
    rec_str(&r, "conflicts", buf_str(&said));
    rec_text(&r, "%s", said.len ? buf_str(&said) : "no conflicts: every key does one thing");
    while (r.text.len && r.text.s[r.text.len - 1] == '\n')
        r.text.s[--r.text.len] = '\0';
    buf_free(&said);
    ws_emit(ws, &r);
}

static enum status cmd_bind(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *focus = args_text(a, "focus"), *key = args_text(a, "key"),
               *line = args_text(a, "line");
    char name[BIND_KEY_MAX], text[400];

    if (!focus) {
        list_bindings(ws);
        return ST_OK;
    }
    if (!strcmp(focus, "conflict"))
        return conflicts(ws), ST_OK;
    if (!key) {
        err_set(err, ST_USAGE, "bind %s: give a key and a line", focus);
        err_hint(err, "bind view K \"compare .\"   (bind alone lists)");
        return ST_USAGE;
    }
    const enum bind_focus f = !strcmp(focus, "prompt") ? BIND_PROMPT
                            : !strcmp(focus, "view") ? BIND_VIEW : BIND_BOTH;
    enum status rc = binding_key(key, name, err);
    if (rc == ST_OK && !line) {
        const char *has = binding_find(f, name);
        snprintf(text, sizeof text, "%s %s = %.300s", focus, name, has ? has : "(as built in)");
    } else if (rc == ST_OK) {
        const bool off = !strcmp(line, "none");
        rc = binding_set(f, name, off ? NULL : line, err);
        snprintf(text, sizeof text, "%s %s = %.300s", focus, name, off ? "(as built in)" : line);
    }
    if (rc == ST_OK)
        tell(ws, "bind", "key", name, text);
    return rc;
}

/* Rows. */

const struct command cmd_screen_rows[] = {
    {"view",
     "screen",
     "Show a view",
     "view runs",
     {{"name", ARG_CHOICE, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0,
       view_choices + 1, NULL, "view by name or by its key (Alt and the key, from anywhere)"}},
     0,
     cmd_view,
     "Without a screen it prints the same as text: view runs then prints the table of runs."},
    {"layout",
     "screen",
     "Choose the panes of the screen",
     "layout auto",
     {{"name", ARG_CHOICE, ARGF_POS, NULL, 0, 0, "auto|main|two|three|slide", NULL,
       "auto: by the terminal's size; main: one view; two: lists and inspector; three: a second "
       "plot; "
       "slide: the plot alone"}},
     0,
     cmd_layout,
     "The choice is kept for the next start. z zooms a pane; < > { change the sizes."},
    {"theme",
     "screen",
     "Choose the colours of the screen",
     "theme mono",
     {{"name", ARG_THEME, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "{themes}, or a file in the themes directory"}},
     0,
     cmd_theme,
     "Your own theme is a file $XDG_CONFIG_HOME/gpdesk/themes/NAME with lines ROLE FOREGROUND\n"
     "BACKGROUND [bold] [dim] [underline] [reverse]; its first line can be  base dark.  Colours\n"
     "are 0..255, default or #rrggbb. NO_COLOR and --color=never remove all colours from every\n"
     "theme."},
    {"palette",
     "screen",
     "Find commands, plots, options, pages, runs and columns",
     "palette rank",
     {{"text", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "letters of the name, in order"}},
     0,
     cmd_palette,
     "On the screen (F2), Enter runs the line shown beside the name."},
    {"copy",
     "screen",
     "Copy a cell, a view or a plot's numbers",
     "copy calibration",
     {{"what", ARG_COPIED, ARGF_POS, "cell", 0, 0, NULL, NULL,
       "cell, view, line (the prompt's), or a plot: its numbers as CSV"},
      {"run", ARG_RUN, ARGF_POS, NULL, 0, 0, NULL, NULL, "run of the plot (default: the last fit)"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "file to write (default: copy.txt in $XDG_RUNTIME_DIR/gpdesk)"}},
     0,
     cmd_copy,
     "The text is written to the file and sent to the terminal (OSC 52; this works over ssh,\n"
     "and tmux needs set-clipboard on). The program cannot know whether the terminal accepted\n"
     "it."},
    {"bind",
     "screen",
     "Bind keys to lines; bind alone lists them",
     "bind view K \"compare .\"",
     {{"focus", ARG_CHOICE, ARGF_POS, NULL, 0, 0, "view|prompt|both|conflict", NULL,
       "where the key works; conflict: check all keys"},
      {"key", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL, "K, Ctrl-k, Alt-k, F7, PgUp ..."},
      {"line", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "line that the key runs; none: restore the built-in key"}},
     0,
     cmd_bind,
     "In a line, {run} stands for the selected run, {marks} for the marked runs and {plot} for\n"
     "the plot on screen. A line that ends in a blank is put on the prompt; @NAME is an action\n"
     "of the screen (bind view Z @zoom). The config file can have the same lines.\n"
     "undo does not change keys: bind view K none restores one."},
    {.name = NULL},
};
