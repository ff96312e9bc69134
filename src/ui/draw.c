/* ui/draw.c -- clipped text, fields, frames, bars; see draw.h. */
#include "ui/draw.h"

#include "base/buf.h"
#include "base/text.h"

#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int draw_text(const struct canvas *c, int row, int col, unsigned long attr, const char *text)
{
    if (row < 0 || row >= c->h || col < 0 || col >= c->w)
        return 0;
    size_t n = text_fit(text, (size_t)(c->w - col));
    attrset((attr_t)attr);
    if (theme_glyph.utf8) {
        mvaddnstr(c->y + row, c->x + col, text, (int)n);
    } else {                                /* without UTF-8, each other character becomes one ? */
        move(c->y + row, c->x + col);
        for (size_t i = 0; i < n; i++)
            if ((text[i] & 0xc0) != 0x80)
                addch((chtype)(unsigned char)((text[i] & 0x80) ? '?' : text[i]));
    }
    attrset(A_NORMAL);
    char stack[512], *s = n < sizeof stack ? stack : malloc(n + 1);
    if (!s)
        return 0;
    memcpy(s, text, n);
    s[n] = '\0';
    int w = (int)text_width(s);
    if (s != stack)
        free(s);
    return w;
}

int draw_printf(const struct canvas *c, int row, int col, unsigned long attr, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return draw_text(c, row, col, attr, line);
}

void draw_fill(const struct canvas *c, int row, int col, int n, unsigned long attr, const char *g)
{
    if (row < 0 || row >= c->h || col < 0)
        return;
    if (n > c->w - col)
        n = c->w - col;
    if (n <= 0)
        return;
    attrset((attr_t)attr);
    move(c->y + row, c->x + col);
    for (int i = 0; i < n; i++)
        addstr(g);
    attrset(A_NORMAL);
}

void draw_clear(const struct canvas *c)
{
    for (int i = 0; i < c->h; i++)
        draw_fill(c, i, 0, c->w, theme_attr(R_TEXT), " ");
}

void draw_field(const struct canvas *c, int row, int col, int width, bool right, unsigned long attr,
                const char *text)
{
    if (width <= 0)
        return;
    int w = (int)text_width(text);
    struct canvas f = draw_inner(c, row, col, 1, width);
    draw_fill(&f, 0, 0, width, attr, " ");
    if (w > width) {
        struct canvas cut = draw_inner(&f, 0, 0, 1, width > 2 ? width - 1 : width);
        int used = draw_text(&cut, 0, 0, attr, text);
        if (width > 2)
            draw_text(&f, 0, used, attr, theme_glyph.dots);
    } else {
        draw_text(&f, 0, right ? width - w : 0, attr, text);
    }
}

int draw_safe(const struct canvas *c, int row, int col, int width, unsigned long attr,
              const char *any)
{
    struct buf b = { 0 };
    if (width > c->w - col)
        width = c->w - col;
    if (width <= 0)
        return 0;
    text_safe(&b, any, (size_t)width);
    int w = draw_text(c, row, col, attr, buf_str(&b));
    buf_free(&b);
    return w;
}

struct canvas draw_inner(const struct canvas *c, int y, int x, int h, int w)
{
    struct canvas r = { c->y + y, c->x + x, h, w };
    if (y < 0 || x < 0 || y >= c->h || x >= c->w)
        return (struct canvas){ c->y, c->x, 0, 0 };
    if (r.h > c->h - y)
        r.h = c->h - y;
    if (r.w > c->w - x)
        r.w = c->w - x;
    return r;
}

/* The directions of the lines in each cell of the screen, so that frames can share edges. */
enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8 };
static unsigned char *line_mask;
static int mask_rows, mask_cols;

void draw_begin(int rows, int cols)
{
    if (rows != mask_rows || cols != mask_cols) {
        free(line_mask);
        line_mask = rows && cols ? malloc((size_t)rows * (size_t)cols) : NULL;
        mask_rows = rows;
        mask_cols = cols;
    }
    if (line_mask)
        memset(line_mask, 0, (size_t)rows * (size_t)cols);
}

static void line_cell(const struct canvas *c, int row, int col, int ways, unsigned long attr)
{
    static const char *const joint[16] = { " ", "│", "│", "│", "─", "┘", "┐", "┤",
                                           "─", "└", "┌", "├", "─", "┴", "┬", "┼" };
    const int y = c->y + row, x = c->x + col;
    if (line_mask && y >= 0 && y < mask_rows && x >= 0 && x < mask_cols)
        ways = line_mask[y * mask_cols + x] |= (unsigned char)ways;
    const char *ascii = ways & ~(UP | DOWN) ? ways & ~(LEFT | RIGHT) ? "+" : "-" : "|";
    draw_text(c, row, col, attr, theme_glyph.utf8 ? joint[ways & 15] : ascii);
}

static void frame_lines(const struct canvas *c, unsigned long a, bool bottom)
{
    const int h = c->h - 1, w = c->w - 1;
    line_cell(c, 0, 0, DOWN | RIGHT, a);
    line_cell(c, 0, w, DOWN | LEFT, a);
    for (int i = 1; i < w; i++)
        line_cell(c, 0, i, LEFT | RIGHT, a);
    for (int i = 1; i < h; i++) {
        line_cell(c, i, 0, UP | DOWN, a);
        line_cell(c, i, w, UP | DOWN, a);
    }
    if (!bottom)
        return;
    line_cell(c, h, 0, UP | RIGHT, a);
    line_cell(c, h, w, UP | LEFT, a);
    for (int i = 1; i < w; i++)
        line_cell(c, h, i, LEFT | RIGHT, a);
}

static void frame_title(const struct canvas *c, const char *title)
{
    if (!title || !*title || c->w <= 8)
        return;
    struct canvas t = draw_inner(c, 0, 2, 1, c->w - 4);
    draw_text(&t, 0, 0, theme_attr(R_TITLE), " ");
    struct canvas u = draw_inner(&t, 0, 1, 1, t.w - 2);
    int w = draw_text(&u, 0, 0, theme_attr(R_TITLE), title);
    draw_text(&t, 0, 1 + w, theme_attr(R_TITLE), " ");
}

struct canvas draw_frame(const struct canvas *c, const char *title)
{
    if (c->h < 2 || c->w < 4)
        return (struct canvas){ c->y, c->x, 0, 0 };
    frame_lines(c, theme_attr(R_FRAME), true);
    frame_title(c, title);
    return draw_inner(c, 1, 1, c->h - 2, c->w - 2);
}

void draw_frame_mark(const struct canvas *c, const char *title)
{
    if (c->h < 2 || c->w < 4)
        return;
    frame_lines(c, theme_attr(R_FRAME_ON), false);
    frame_title(c, title);
}

void draw_bar(const struct canvas *c, int row, int col, int width, double share)
{
    if (width < 3)
        return;
    share = share > 0 ? share < 1 ? share : 1 : 0;
    int full = (int)(share * width + 1e-9);
    draw_fill(c, row, col, full, theme_attr(R_BAR), theme_glyph.bar);
    int rest = width - full;
    if (rest > 0 && full > 0) {
        draw_text(c, row, col + full, theme_attr(R_BAR), theme_glyph.bar_end);
        full++;
        rest--;
    }
    draw_fill(c, row, col + full, rest, theme_attr(R_BAR_REST), theme_glyph.bar_rest);
}

size_t draw_wrap(const char *text, size_t cols, size_t indent, draw_line_fn *put, void *ctx)
{
    size_t n = 0;
    if (cols == 0)
        return 0;
    if (indent + 8 > cols)
        indent = 0;
    do {
        size_t room = n ? cols - indent : cols;
        size_t fit = text_fit(text, room), len = fit;
        if (text[fit]) {
            size_t cut = fit;
            if (fit == 0)       /* a wide character does not fit into one column: leave it out */
                do
                    fit++;
                while (((unsigned char)text[fit] & 0xc0) == 0x80);
            while (cut > 0 && text[cut] != ' ')
                cut--;
            if (len && cut > fit / 3)
                len = fit = cut;
        }
        if (put)
            put(ctx, n, text, len);
        n++;
        text += fit;
        while (*text == ' ' && n)
            text++;
    } while (*text);
    return n;
}

size_t draw_indent(const char *text)
{
    const size_t own = strspn(text, " ");
    return own ? own + 2 : 0;
}

struct para { const struct canvas *c; int row, col; unsigned long attr; size_t indent; };

static void para_line(void *ctx, size_t i, const char *line, size_t n)
{
    struct para *p = ctx;
    char *s = strndup(line, n);
    if (s)
        draw_text(p->c, p->row + (int)i, p->col + (int)(i ? p->indent : 0), p->attr, s);
    free(s);
}

int draw_paragraph(const struct canvas *c, int row, int col, unsigned long attr, const char *text)
{
    struct para p = { c, row, col, attr, draw_indent(text) };
    if (c->w <= col)
        return 0;
    if (p.indent + 8 > (size_t)(c->w - col))
        p.indent = 0;
    return (int)draw_wrap(text, (size_t)(c->w - col), p.indent, para_line, &p);
}
