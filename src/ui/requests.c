/* ui/requests.c -- see requests.h. */
#include "ui/requests.h"

#include "app/shell/options.h"
#include "base/outfile.h"
#include "ui/keys.h"
#include "ui/lifecycle.h"
#include "ui/prompt.h"
#include "ui/screen.h"
#include "ui/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* so many bytes give base64 that fits into the 100,000 characters of xterm */
enum { CLIPBOARD_MAX = 74994 };

/* Commands about the screen. */

static struct desk *asked(void *ctx)
{
    struct desk *d = ctx;
    d->dirty = true;
    return d;
}

static enum status ask_view(void *ctx, char key, struct err *err)
{
    struct desk *d = asked(ctx);
    const size_t at = view_of_key(key);
    if (at == N_VIEWS)
        return err_set(err, ST_NOT_FOUND, "view %c is not there", key);
    desk_show(d, at);
    d->picked = true;
    return ST_OK;
}

static void ask_layout(void *ctx, const char *name, struct buf *said)
{
    struct desk *d = asked(ctx);
    static const char *const words[] = { "", "one view", "list, view, inspector and log",
                                         "a second plot and notes, too", "the plot alone" };
    struct layout l;
    const struct layout_wish w = { .kind = screen_layout_named(name), .prompt_rows = 1 };
    const enum layout_kind got = screen_layout(d->rows, d->cols, &w, &l);
    d->zoom = d->full = false;
    d->active = PANE_MAIN;
    buf_puts(said, words[got]);
    if (w.kind != LAYOUT_AUTO && got != w.kind)
        buf_printf(said, "; %s needs a larger terminal than %dx%d", name, d->cols, d->rows);
}

bool requests_clipboard(const char *text, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t n = strlen(text);
    const unsigned char *s = (const unsigned char *)text;
    if (n > CLIPBOARD_MAX)
        return false;
    buf_puts(out, "\033]52;c;");
    for (size_t i = 0; i < n; i += 3) {
        const unsigned long b = (unsigned long)s[i] << 16 |
                                (i + 1 < n ? (unsigned long)s[i + 1] << 8 : 0) |
                                (i + 2 < n ? s[i + 2] : 0);
        buf_putc(out, digits[b >> 18]);
        buf_putc(out, digits[b >> 12 & 63]);
        buf_putc(out, i + 1 < n ? digits[b >> 6 & 63] : '=');
        buf_putc(out, i + 2 < n ? digits[b & 63] : '=');
    }
    buf_puts(out, "\007");
    return !out->failed;
}

static void ask_clipboard(void *ctx, const char *text, struct buf *said)
{
    struct buf b = { 0 };
    (void)asked(ctx);
    if (!requests_clipboard(text, &b)) {
        buf_puts(said, "too long for the terminal's own clipboard (75 KB)");
    } else {
        terminal_say(buf_str(&b));
        buf_puts(said, "sent to the terminal too (OSC 52; it does not tell whether it takes it)");
    }
    buf_free(&b);
}

static enum status ask_copy(void *ctx, enum ws_screen_part part, struct buf *text,
                            struct err *err)
{
    struct desk *d = asked(ctx);
    struct view *v = desk_view(d);
    const bool all = part == WS_SCREEN_VIEW;
    if (part == WS_SCREEN_LINE)
        buf_puts(text, prompt_text());
    else if (d->copy_page)
        buf_puts(text, d->copy_page);
    else if (v->ops->copy)
        v->ops->copy(v, all, text);
    return text->len ? ST_OK : err_set(err, ST_NOT_FOUND, "there is nothing to copy here yet");
}

static void ask_theme(void *ctx)
{
    (void)asked(ctx); /* it is redrawn with the new value of the option */
}

static void ask_palette(void *ctx, const char *letters)
{
    picker_open(asked(ctx), ASK_PALETTE, letters);
}

static void ask_conflicts(void *ctx, struct buf *said)
{
    (void)asked(ctx);
    keymap_conflicts(said);
}

void requests_fill(struct ws_screen *s)
{
    s->view = ask_view;
    s->layout = ask_layout;
    s->theme = ask_theme;
    s->palette = ask_palette;
    s->copy = ask_copy;
    s->clipboard = ask_clipboard;
    s->conflicts = ask_conflicts;
}

/* From one start to the next. */

static char *memory_path(void)
{
    bool first;
    char *history = lifecycle_history_path(&first), *slash = history ? strrchr(history, '/') : NULL,
         *path = NULL;
    if (slash) {
        *slash = '\0';
        if (asprintf(&path, "%s/screen", history) < 0)
            path = NULL;
    }
    free(history);
    return path;
}

static void learned_line(struct desk *d, const char name[24], unsigned uses)
{
    struct desk_learned *grown = realloc(d->learn.known, (d->learn.nknown + 1) * sizeof *grown);
    if (!grown)
        return;
    d->learn.known = grown;
    snprintf(d->learn.known[d->learn.nknown].name, sizeof d->learn.known->name, "%.23s", name);
    d->learn.known[d->learn.nknown++].uses = uses;
}

/* Unknown contents are ignored: the file is a convenience and never a reason for an error. */
void requests_remember(struct desk *d)
{
    char *path = memory_path(), line[200], word[24];
    FILE *f = path ? fopen(path, "re") : NULL;
    unsigned uses;
    int a, b;
    d->learn.first_session = path && !f && errno == ENOENT;
    for (int i = 0; f && i < 500 && fgets(line, sizeof line, f); i++) {
        if (sscanf(line, "layout %7s", word) == 1 &&
            strcmp(option_origin(d->ws->origin, "layout"), "default") == 0 &&
            screen_layout_named(word) != LAYOUT_AUTO &&
            screen_layout_named(word) != LAYOUT_SLIDE)
            snprintf(d->ws->opt.layout, sizeof d->ws->opt.layout, "%.7s", word);
        else if (sscanf(line, "panes %d %d", &a, &b) == 2 && a >= -20 && a < 200 && b >= -8 &&
                 b < 200)
            d->dx = a, d->dy = b;
        else if (sscanf(line, "knows %23s %u", word, &uses) == 2)
            learned_line(d, word, uses);
    }
    if (f)
        fclose(f);
    free(path);
}

void requests_save(const struct desk *d)
{
    char *path = memory_path();
    struct buf b = { 0 };
    struct err ignored; /* without the file the next start has its defaults */

    /* The slide layout has no tabs and no log, so the next start would look broken. */
    const bool slide = screen_layout_named(d->ws->opt.layout) == LAYOUT_SLIDE;
    buf_printf(&b, "layout %s\npanes %d %d\n", slide ? "auto" : d->ws->opt.layout, d->dx, d->dy);
    for (size_t i = 0; i < d->learn.nknown; i++)
        buf_printf(&b, "knows %s %u\n", d->learn.known[i].name, d->learn.known[i].uses);
    if (path && !b.failed)
        outfile_put(path, 0666, b.s, b.len, &ignored);
    buf_free(&b);
    free(path);
}
