/* ui/picker.c -- see picker.h. */
#include "ui/picker.h"

#include "app/shell/palette.h"
#include "app/commands/palette_fill.h"
#include "base/text.h"
#include "ui/keys.h"
#include "ui/desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_list(const struct ask *a)
{
    return a->kind == ASK_PALETTE || a->kind == ASK_KEYS;
}

void picker_close(struct desk *d)
{
    palette_free(&d->ask.list);
    free(d->ask.order);
    d->ask = (struct ask){ .kind = ASK_NONE };
}

static void match(struct ask *a)
{
    a->n = a->order ? palette_match(&a->list, a->text, a->order) : 0;
    a->sel = a->top = 0;
}

/* Views come first, because they are used most. */
static enum status fill(struct desk *d, struct palette *p, struct err *err)
{
    enum status rc = ST_OK;
    char label[60], line[20], keys[20];

    for (size_t i = 0; rc == ST_OK && i < N_VIEWS; i++) {
        const struct view_ops *o = view_table[i];
        const char key = view_key(o);
        snprintf(label, sizeof label, "view %c %s", key, o->title);
        snprintf(line, sizeof line, "view %c", key);
        snprintf(keys, sizeof keys, "Alt-%c", key);
        rc = palette_add(p, label, "", line, keys, 0, err);
    }
    if (rc == ST_OK)
        rc = palette_fill(p, d->ws, err);
    const struct keyrow *const tables[] = { keymap_both, keymap_view };
    for (size_t t = 0; rc == ST_OK && t < 2; t++)        /* actions that are not commands */
        for (const struct keyrow *r = tables[t]; rc == ST_OK && r->keys; r++)
            if (!r->line && r->act > ACT_OF_DESK && r->act != ACT_PALETTE && r->act != ACT_EDITOR) {
                struct buf k = { 0 };
                keymap_keys(r, NULL, false, &k);
                rc = palette_add(p, r->name, r->does, NULL, buf_str(&k), (int)r->act, err);
                buf_free(&k);
            }
    return rc;
}

/* If a key runs a command, the key is shown with it. */
static void add_keys(struct palette *p)
{
    const struct keyrow *const tables[] = { keymap_both, keymap_view };
    const struct binding *b;

    for (size_t i = 0; i < p->n; i++) {
        if (*p->v[i].keys || !*p->v[i].line)
            continue;
        for (size_t k = 0; (b = binding_at(k)) != NULL; k++)
            if (strcmp(b->line, p->v[i].line) == 0) {
                free(p->v[i].keys);
                p->v[i].keys = strdup(b->key);
                break;
            }
        for (size_t t = 0; t < 2 && p->v[i].keys && !*p->v[i].keys; t++)
            for (const struct keyrow *r = tables[t]; r->keys; r++)
                if (r->line && strcspn(r->line, " ") == strlen(p->v[i].label) &&
                    strncmp(r->line, p->v[i].label, strlen(p->v[i].label)) == 0 &&
                    strncmp(r->line, "view", 4) && strncmp(r->line, "set", 3)) {
                    free(p->v[i].keys);
                    p->v[i].keys = strndup(r->keys, strcspn(r->keys, " "));
                    break;
                }
        if (!p->v[i].keys)
            p->v[i].keys = strdup("");
    }
}

void picker_open(struct desk *d, enum ask_kind kind, const char *text)
{
    struct err err = { 0 };
    enum status rc = ST_OK;

    picker_close(d);
    d->ask.kind = kind;
    snprintf(d->ask.text, sizeof d->ask.text, "%s", text ? text : "");
    d->ask.list.words = kind == ASK_KEYS;
    if (kind == ASK_KEYS)
        rc = keymap_fill(&d->ask.list, desk_view(d), &err);
    else if (kind == ASK_PALETTE)
        rc = fill(d, &d->ask.list, &err);
    if (kind == ASK_PALETTE && rc == ST_OK)
        add_keys(&d->ask.list);
    if (has_list(&d->ask)) {
        d->ask.order = rc == ST_OK ? calloc(d->ask.list.n + 1, sizeof *d->ask.order) : NULL;
        if (!d->ask.order) {
            picker_close(d);
            logbook_add(&d->log, LOG_ERROR, "out of memory for the list");
            return;
        }
        match(&d->ask);
    }
    d->quiet = true;
}

/* Its keys. */

static void choose(struct desk *d)
{
    struct ask *a = &d->ask;
    if (!has_list(a) || a->sel >= a->n) {
        picker_close(d);
        return;
    }
    const struct palette_item *it = &a->list.v[a->order[a->sel]];
    const int act = it->act;
    char *line = *it->line ? strdup(it->line) : NULL;
    picker_close(d);
    desk_page_close(d);
    if (line)
        keys_line(d, line);
    else if (act && act != ACT_EDITOR)
        keys_act(d, (enum act)act);
    free(line);
}

static void done(struct desk *d)
{
    const enum ask_kind kind = d->ask.kind;
    char text[sizeof d->ask.text];
    snprintf(text, sizeof text, "%s", d->ask.text);
    if (kind == ASK_PALETTE || kind == ASK_KEYS) {
        choose(d);
        return;
    }
    picker_close(d);
    if (kind == ASK_SEARCH && *text) {
        free(d->find);
        d->find = strdup(text);
        keys_act(d, ACT_NEXT);
    }
}

static void edited(struct desk *d)
{
    struct view *v = desk_view(d);
    if (has_list(&d->ask))
        match(&d->ask);
    else if (d->ask.kind == ASK_FILTER && v->ops->filter)
        v->ops->filter(v, d->ask.text);
}

static void erase(struct ask *a, bool word)
{
    size_t n = strlen(a->text);
    if (word)
        while (n && a->text[n - 1] == ' ')
            n--;
    do
        while (n && ((unsigned char)a->text[--n] & 0xc0) == 0x80)
            ;
    while (word && n && a->text[n - 1] != ' ');
    a->text[n] = '\0';
}

static void move(struct ask *a, long by)
{
    const long to = (long)a->sel + by;
    a->sel = to < 0 ? 0 : a->n == 0 ? 0 : (size_t)to >= a->n ? a->n - 1 : (size_t)to;
}

static void type(struct desk *d, const char *bytes, size_t n)
{
    struct ask *a = &d->ask;
    const size_t have = strlen(a->text);
    if (n == 0 || have + n + 1 > sizeof a->text)
        return;
    memcpy(a->text + have, bytes, n);
    a->text[have + n] = '\0';
    edited(d);
}

void picker_event(struct desk *d, const struct input_event *e)
{
    struct ask *a = &d->ask;
    const long page = a->page > 1 ? a->page - 1 : 1;

    if (e->kind == INPUT_PASTE) {
        const size_t n = strcspn(e->bytes, "\n");
        type(d, e->bytes, n < 60 ? n : 0);
        return;
    }
    switch (e->key) {
    case UK_ESC: case UK_CTRLKEY('C'): case UK_CTRLKEY('G'):
        if (a->kind == ASK_FILTER) {
            *a->text = '\0';
            edited(d);
        }
        picker_close(d);
        return;
    case UK_ENTER: done(d); return;
    case UK_CTRLKEY('L'): d->clear = true; return;
    case UK_UP: case UK_CTRLKEY('P'): move(a, -1); return;
    case UK_DOWN: case UK_CTRLKEY('N'): case UK_TAB: move(a, 1); return;
    case UK_BACKTAB: move(a, -1); return;
    case UK_PGUP: move(a, -page); return;
    case UK_PGDN: move(a, page); return;
    case UK_HOME: move(a, -1000000); return;
    case UK_END: move(a, 1000000); return;
    case UK_DEL: case 8: erase(a, false); edited(d); return;
    case UK_CTRLKEY('W'): erase(a, true); edited(d); return;
    case UK_CTRLKEY('U'): *a->text = '\0'; edited(d); return;
    default: break;
    }
    if (e->key >= 0x20 && e->key <= 0x10ffff && e->key != 0x7f)
        type(d, e->bytes, e->n);
}

/* Drawing. */

static void draw_item(const struct canvas *c, int row, const struct palette_item *it, bool on,
                      bool keys)
{
    const unsigned long a = theme_attr(on ? R_SELECT : R_TEXT);
    const int keyw = keys ? 14 : 10, linew = c->w >= 100 ? 34 : c->w >= 60 ? 22 : 0;
    const int namew = keys ? c->w - keyw - linew - 4 : c->w >= 60 ? 24 : c->w - keyw - 3;

    if (on)
        draw_fill(c, row, 0, c->w, a, " ");
    draw_field(c, row, 1, keyw - 1, false, on ? a : theme_attr(R_KEY), it->keys);
    draw_field(c, row, keyw + 1, namew, false, a, it->label);
    int x = keyw + namew + 2;
    if (linew && *it->line && (keys || strcmp(it->line, it->label)))
        draw_field(c, row, x, linew, false, on ? a : theme_attr(R_COMMAND), it->line);
    x += linew + 1;
    if (!keys && c->w - x > 12)
        draw_field(c, row, x, c->w - x - 1, false, on ? a : theme_attr(R_DIM), it->about);
}

static void draw_list(struct ask *a, const struct canvas *c)
{
    draw_clear(c);
    a->page = c->h - 1;
    if (a->page < 1)
        return;
    if (a->sel < a->top)
        a->top = a->sel;
    if (a->sel >= a->top + (size_t)a->page)
        a->top = a->sel - (size_t)a->page + 1;
    draw_printf(c, 0, 1, theme_attr(R_TITLE), "%s   %zu of %zu   Enter %s   Esc closes",
                a->kind == ASK_KEYS ? "Keys of this view" : "Palette", a->n, a->list.n,
                a->kind == ASK_KEYS ? "does it" : "runs the line");
    for (int i = 0; i < a->page && a->top + (size_t)i < a->n; i++)
        draw_item(c, i + 1, &a->list.v[a->order[a->top + (size_t)i]], a->top + (size_t)i == a->sel,
                  a->kind == ASK_KEYS);
    if (a->n == 0)
        draw_text(c, 1, 2, theme_attr(R_DIM), "nothing is called like that");
}

void picker_draw(struct desk *d, const struct canvas *body, const struct canvas *line, int *y,
                 int *x)
{
    static const char *const head[] = { "", "find> ", "key or word> ", "/", "only runs with: " };
    struct ask *a = &d->ask;
    struct buf b = { 0 };

    if (has_list(a) && body->h > 1)
        draw_list(a, body);
    draw_fill(line, 0, 0, line->w, theme_attr(R_TEXT), " ");
    int used = draw_text(line, 0, 0, theme_attr(R_PROMPT), head[a->kind]);
    text_safe(&b, a->text, 0);
    used += draw_text(line, 0, used, theme_attr(R_TEXT), buf_str(&b));
    *y = line->y;
    *x = line->x + (used < line->w ? used : line->w - 1);
    /* on a tiny screen only the best item is shown, on the line */
    if (has_list(a) && body->h <= 1 && a->sel < a->n)
        draw_printf(line, 0, used + 2, theme_attr(R_DIM), "%s", a->list.v[a->order[a->sel]].label);
    buf_free(&b);
}
