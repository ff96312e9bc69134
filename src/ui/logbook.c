/* ui/logbook.c -- the lines of the log and how they are drawn. See logbook.h. */
#include "ui/logbook.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Continuation rows of a line are indented more than the line itself. */
static size_t indent_of(const char *text, size_t cols)
{
    const size_t own = draw_indent(text), n = own ? own : 2;
    return n + 8 > cols ? 0 : n;
}

void logbook_free(struct logbook *l)
{
    if (l->line)
        for (size_t i = 0; i < LOGBOOK_MAX; i++)
            free(l->line[i].text);
    free(l->line);
    *l = (struct logbook){ 0 };
}

const struct log_line *logbook_at(const struct logbook *l, size_t i)
{
    return i < l->n ? &l->line[(l->first + i) % LOGBOOK_MAX] : NULL;
}

static void add_line(struct logbook *l, enum log_kind kind, char *text)
{
    if (!l->line)
        l->line = calloc(LOGBOOK_MAX, sizeof *l->line);
    if (!l->line) {
        free(text);
        return;
    }
    struct log_line *to;
    if (l->n == LOGBOOK_MAX) {
        to = &l->line[l->first];
        l->first = (l->first + 1) % LOGBOOK_MAX;
        free(to->text);
    } else {
        to = &l->line[(l->first + l->n++) % LOGBOOK_MAX];
    }
    *to = (struct log_line){ kind, l->groups, 1, text };
    l->total++;
}

/* If the newest record has the same text, increments its counter and returns true. */
static bool repeats(struct logbook *l, enum log_kind kind, const char *text)
{
    size_t k = l->n;
    if (kind == LOG_COMMAND || !l->n || strchr(text, '\n'))
        return false;
    struct log_line *last = &l->line[(l->first + k - 1) % LOGBOOK_MAX];
    const struct log_line *before = k > 1 ? logbook_at(l, k - 2) : NULL;
    if (last->kind != kind || strcmp(last->text, text) || (before && before->group == last->group))
        return false;
    last->repeat++;
    return true;
}

void logbook_add(struct logbook *l, enum log_kind kind, const char *text)
{
    struct buf safe = { 0 };
    const char *end = text + strlen(text);
    while (end > text && end[-1] == '\n')
        end--;
    for (const char *p = text;;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((nl ? nl : end) - p);
        char *raw = strndup(p, n);
        buf_clear(&safe);
        if (raw)
            text_safe(&safe, raw, 0);
        free(raw);
        if (p == text && !nl && repeats(l, kind, buf_str(&safe)))
            break;
        if (p == text)
            l->groups++;
        char *line = strdup(buf_str(&safe));
        if (line)
            add_line(l, kind, line);
        if (!nl)
            break;
        p = nl + 1;
    }
    l->warnings += kind == LOG_WARNING;
    l->errors += kind == LOG_ERROR;
    buf_free(&safe);
}

void logbook_rec(struct logbook *l, const struct rec *r)
{
    static const enum log_kind kind[] = {
        [REC_RESULT] = LOG_RESULT, [REC_NOTE] = LOG_NOTE, [REC_WARNING] = LOG_WARNING,
        [REC_ERROR] = LOG_ERROR,
    };
    if (r->type == REC_TICK)
        return;
    struct buf b = { 0 };
    rec_text_lines(r, &b);
    if (b.len)
        logbook_add(l, kind[r->type], buf_str(&b));
    buf_free(&b);
}

static size_t rows_of(const struct log_line *l, size_t cols)
{
    return draw_wrap(l->text, cols, indent_of(l->text, cols), NULL, NULL);
}

size_t logbook_rows(const struct logbook *l, size_t i, size_t cols)
{
    const struct log_line *x = logbook_at(l, i);
    return x ? rows_of(x, cols) : 0;
}

size_t logbook_last_rows(const struct logbook *l, size_t cols)
{
    size_t rows = 0;
    for (size_t i = l->n; i-- > 0;) {
        const struct log_line *x = logbook_at(l, i);
        if (x->group != l->groups)
            break;
        rows += rows_of(x, cols);
    }
    return rows;
}

struct put { const struct canvas *c; int row; const struct log_line *line; size_t rows; };

static void put_row(void *ctx, size_t i, const char *text, size_t n)
{
    struct put *p = ctx;
    static const enum role roles[] = { R_COMMAND, R_TEXT, R_NOTE, R_WARN, R_BAD };
    unsigned long attr = theme_attr(roles[p->line->kind]);
    char *s = strndup(text, n);
    if (s && p->row + (int)i >= 0) {
        int in = i ? (int)indent_of(p->line->text, (size_t)p->c->w) : 0;
        int w = draw_text(p->c, p->row + (int)i, in, attr, s);
        if (p->line->repeat > 1 && i + 1 == p->rows)
            draw_printf(p->c, p->row + (int)i, in + w, attr, "  x%u", p->line->repeat);
    }
    free(s);
}

void logbook_draw(const struct logbook *l, const struct canvas *c, size_t *scroll)
{
    if (c->h <= 0 || c->w <= 0)
        return;
    size_t total = 0;
    if (*scroll)
        for (size_t i = 0; i < l->n; i++)
            total += rows_of(logbook_at(l, i), (size_t)c->w);
    size_t most = total > (size_t)c->h ? total - (size_t)c->h : 0;
    if (*scroll > most)
        *scroll = most;
    int row = c->h + (int)*scroll;
    size_t i = l->n;
    while (i > 0 && row > 0) {
        const struct log_line *x = logbook_at(l, --i);
        size_t rows = rows_of(x, (size_t)c->w);
        row -= (int)rows;
        if (row < c->h) {
            struct put p = { c, row, x, rows };
            draw_wrap(x->text, (size_t)c->w, indent_of(x->text, (size_t)c->w), put_row, &p);
        }
    }
    if (*scroll && c->w > 24)
        draw_printf(c, c->h - 1, c->w - 20, theme_attr(R_SELECT), " %zu row%s below (G) ", *scroll,
                    *scroll == 1 ? "" : "s");
}
