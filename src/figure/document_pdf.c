/* figure/document_pdf.c -- a document as A4 pages of a PDF file, drawn by gnuplot.
 *
 * gnuplot has no text flow, so that lines are broken here, by the widths of letters of the widest
 * usual fonts: another font leaves some room at the right. A page is a multiplot: its words are
 * labels of an empty plot, its figures are the plots after it. Everything is measured in points
 * from the upper left corner of the page. Text reaches gnuplot through figure_gnuplot_quote
 * alone. */
#include "figure/document.h"

#include "base/mem.h"
#include "base/text.h"
#include "figure/figure_letters.h"
#include "figure/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_W 595.276
#define PAGE_H 841.89
#define LEFT 57.0
#define WIDTH (PAGE_W - 2 * LEFT)
#define TOP 54.0
#define BOTTOM (PAGE_H - 62)
#define FIGURE_FONT 7.5 /* of the words in figures */

enum font { SANS, BOLD, MONO };
struct face {
    enum font font;
    double size, line; /* of the letters, and from line to line */
    unsigned rgb;
};
enum { INK = 0x1a1c1f, SOFT = 0x5c6370, RULE = 0xd0d4da, MARK = 0x0b5cad, CARD = 0xf4f5f7 };

static const struct face body = { SANS, 9.5, 13.5, INK }, soft = { SANS, 8.5, 12, SOFT },
                         title = { BOLD, 17, 22, INK }, heading = { BOLD, 12.5, 17, INK },
                         verdict = { SANS, 10.5, 14.5, MARK }, strong = { BOLD, 9.5, 13.5, INK },
                         cell = { SANS, 8.5, 11.5, INK }, name = { BOLD, 8.5, 11.5, INK },
                         code = { MONO, 7.8, 10.8, INK }, foot = { SANS, 7.5, 10, SOFT };

struct page { struct buf words, figures; };
struct pages {
    size_t n, cap;
    struct page *page;
    double y;    /* where the next block begins */
    size_t rare; /* letters that are written as numbers */
    bool failed;
};

/* Lines. */

static double letter(uint32_t u, enum font font)
{
    return font == MONO ? figure_letters_mono(u) : figure_letters_width(u, font == BOLD);
}

static double width_of(const char *s, size_t n, const struct face *f)
{
    double w = 0;

    for (size_t i = 0; i < n;) {
        uint32_t u;
        const size_t k = text_decode(s + i, &u);
        w += letter(u, f->font);
        i += k ? k : 1;
    }
    return w * f->size;
}

/* The length in bytes of the first line of s when it may be w wide. It ends at a blank or a line
 * end; within a word only if that is longer than a line, then after a sign if one is near. */
static size_t line_length(const char *s, double w, const struct face *f)
{
    size_t n = 0, blank = 0, sign = 0;
    double used = 0;

    while (s[n] && s[n] != '\n') {
        uint32_t u;
        const size_t k = text_decode(s + n, &u);
        used += letter(u, f->font) * f->size;
        if (used > w && n > 0 && letter(u, f->font) > 0) {
            if (s[n] == ' ')
                return n;
            return blank ? blank : sign > n / 2 ? sign : n;
        }
        if (s[n] == ' ' && n > 0 && s[n - 1] != ' ' && width_of(s, n, f) > 0)
            blank = n;
        n += k ? k : 1;
        if (strchr("/,;:_-+*()[]=.\\", s[n - 1]))
            sign = n;
    }
    return n;
}

/* What follows a line of n bytes. */
static const char *next_line(const char *s, size_t n)
{
    s += n;
    if (*s == '\n')
        return s + 1;
    while (*s == ' ')
        s++;
    return s;
}

static size_t count_lines(const char *s, double w, const struct face *f)
{
    size_t n = 0;

    while (*s) {
        s = next_line(s, line_length(s, w, f));
        n++;
    }
    return n;
}

/* A copy that every font can show: a tab as blanks, what no document shows as a question mark, rare
 * letters by their numbers. NULL is "". */
static char *printable(struct pages *p, const char *s)
{
    struct buf plain = { 0 }, out = { 0 };

    while (s && *s) {
        uint32_t u;
        const size_t n = document_char(s, &u);
        if (u == 0xfffd)
            buf_putc(&plain, '?');
        else if (u == '\t')
            buf_puts(&plain, "    ");
        else
            buf_putn(&plain, s, n);
        s += n;
    }
    p->rare += figure_letters(&out, buf_str(&plain));
    out.failed |= plain.failed;
    buf_free(&plain);
    char *copy = buf_take(&out);
    p->failed |= !copy;
    return copy;
}

/* Pages. */

static struct page *new_page(struct pages *p)
{
    void *grown = p->page;

    p->y = TOP;
    if (mem_grow(&grown, &p->cap, p->n + 1, sizeof *p->page, "a report", NULL) != ST_OK) {
        p->failed = true;
        return NULL;
    }
    p->page = grown;
    p->page[p->n] = (struct page){ 0 };
    return &p->page[p->n++];
}

/* Begins another page unless there is room for a block of this height. */
static void room(struct pages *p, double height)
{
    if (p->n == 0 || (p->y + height > BOTTOM && p->y > TOP))
        new_page(p);
}

/* Leaves a space above the next block, but not at the top of a page. */
static void space(struct pages *p, double height)
{
    if (p->y > TOP)
        p->y += height;
}

static void place(struct buf *b, double x, double y)
{
    buf_printf(b, "screen %.5f,%.5f", x / PAGE_W, 1 - y / PAGE_H);
}

/* A string of gnuplot. figure_gnuplot_quote would make another sign of ', which a script must not
 * lose: it stands between the pieces as a constant. */
static void quote(struct buf *b, const char *s, size_t n)
{
    struct buf piece = { 0 };

    for (size_t i = 0; i <= n; i++) {
        if (i < n && s[i] != '\'') {
            buf_putc(&piece, s[i]);
            continue;
        }
        figure_gnuplot_quote(b, buf_str(&piece));
        if (i < n)
            buf_puts(b, ".\"\\047\".");
        b->failed |= piece.failed;
        buf_clear(&piece);
    }
    buf_free(&piece);
}

/* Writes n bytes of one line; y is the top of the line. */
static void put(struct pages *p, double x, double y, bool right, const struct face *f,
                const char *s, size_t n)
{
    static const char *const fonts[] = { "Sans", "Sans:Bold", "Monospace" };

    if (p->n == 0 || n == 0)
        return;
    struct buf *b = &p->page[p->n - 1].words;
    buf_puts(b, "set label ");
    quote(b, s, n);
    buf_puts(b, " at ");
    place(b, x, y + f->line / 2);
    buf_printf(b, " %s noenhanced font '%s,%.1f' tc rgb '#%06x'\n", right ? "right" : "left",
               fonts[f->font], f->size, f->rgb);
}

static void rule(struct pages *p, double x, double y, double w)
{
    if (p->n == 0)
        return;
    struct buf *b = &p->page[p->n - 1].words;
    buf_puts(b, "set arrow from ");
    place(b, x, y);
    buf_puts(b, " to ");
    place(b, x + w, y);
    buf_printf(b, " nohead lw 0.8 lc rgb '#%06x'\n", RULE);
}

static void card(struct pages *p, double x, double y, double w, double h)
{
    if (p->n == 0)
        return;
    struct buf *b = &p->page[p->n - 1].words;
    buf_puts(b, "set object rectangle from ");
    place(b, x, y);
    buf_puts(b, " to ");
    place(b, x + w, y + h);
    buf_printf(b, " behind fs solid noborder fc rgb '#%06x'\n", CARD);
}

/* Writes text from x on, line by line. */
static void flow(struct pages *p, double x, const struct face *f, const char *s)
{
    while (*s) {
        const size_t n = line_length(s, LEFT + WIDTH - x, f);
        room(p, f->line);
        put(p, x, p->y, false, f, s, n);
        p->y += f->line;
        s = next_line(s, n);
    }
}

/* Tables. */

enum { GAP = 12 }; /* between columns, in points */
#define PAD 2.2    /* above and below the words of a row */

struct grid {
    const struct document_table *t;
    char **cell, *head[DOCUMENT_COLUMNS]; /* printable; owned */
    double x[DOCUMENT_COLUMNS], w[DOCUMENT_COLUMNS];
};

static const struct face *face_of(const struct grid *g, size_t c)
{
    return g->t->column[c] == DOCUMENT_NAME ? &name : &cell;
}

/* The width of the longest line of a text. */
static double natural(const char *s, const struct face *f)
{
    double w = 0;

    for (; *s; s += s[strcspn(s, "\n")] ? strcspn(s, "\n") + 1 : strlen(s))
        w = fmax(w, width_of(s, strcspn(s, "\n"), f));
    return w;
}

/* Columns are as wide as what is in them. Where that is too much, numbers stay whole and the others
 * share what is left: the narrow ones get what they need, the rest equal parts. */
static void share_width(struct grid *g)
{
    const size_t n = g->t->ncols;
    double want[DOCUMENT_COLUMNS], left = WIDTH - GAP * (double)(n - 1), x = LEFT;
    bool done[DOCUMENT_COLUMNS] = { 0 };
    size_t open = n;

    for (size_t c = 0; c < n; c++) {
        want[c] = g->t->head[0] ? natural(g->head[c], &name) : 0;
        for (size_t i = c; i < g->t->n; i += n)
            want[c] = fmax(want[c], natural(g->cell[i], face_of(g, c)));
        want[c] += 0.5; /* for rounding */
    }
    for (bool numbers = true, again = true; again;) {
        const double part = left / (double)(open ? open : 1);
        again = numbers;
        for (size_t c = 0; c < n; c++) {
            const bool number = g->t->column[c] == DOCUMENT_NUMBER;
            if (done[c] || (numbers ? !number || want[c] > left / 3 : want[c] > part))
                continue;
            g->w[c] = want[c];
            left -= want[c];
            done[c] = again = true;
            open--;
        }
        numbers = false;
    }
    for (size_t c = 0; c < n; c++) {
        if (!done[c])
            g->w[c] = left / (double)open;
        g->x[c] = x;
        x += g->w[c] + GAP;
    }
}

static size_t row_lines(const struct grid *g, char *const *row, const struct face *all)
{
    size_t most = 1;

    for (size_t c = 0; c < g->t->ncols; c++) {
        const size_t k = count_lines(row[c], g->w[c], all ? all : face_of(g, c));
        most = k > most ? k : most;
    }
    return most;
}

static double row_height(size_t lines)
{
    return (double)lines * cell.line + 2 * PAD;
}

/* Writes up to `most` lines of each cell of a row, and moves the texts behind them. */
static void row_part(struct pages *p, const struct grid *g, const char **at, size_t most,
                     const struct face *all)
{
    for (size_t c = 0; c < g->t->ncols; c++) {
        const bool right = g->t->column[c] == DOCUMENT_NUMBER;
        const struct face *f = all ? all : face_of(g, c);
        for (size_t i = 0; i < most && *at[c]; i++) {
            const size_t n = line_length(at[c], g->w[c], f);
            put(p, g->x[c] + (right ? g->w[c] : 0), p->y + PAD + (double)i * f->line, right, f,
                at[c], n);
            at[c] = next_line(at[c], n);
        }
    }
    p->y += row_height(most);
    rule(p, LEFT, p->y, g->x[g->t->ncols - 1] + g->w[g->t->ncols - 1] - LEFT);
}

static void put_head(struct pages *p, const struct grid *g)
{
    const char *at[DOCUMENT_COLUMNS];

    if (!g->t->head[0])
        return;
    memcpy(at, g->head, g->t->ncols * sizeof *at);
    row_part(p, g, at, row_lines(g, g->head, &name), &name);
}

/* Writes a row; one that is higher than a page goes on on the next one. */
static void put_row(struct pages *p, const struct grid *g, char *const *row)
{
    const char *at[DOCUMENT_COLUMNS];
    size_t lines = row_lines(g, row, NULL);
    const double highest = BOTTOM - TOP - 60;

    memcpy(at, row, g->t->ncols * sizeof *at);
    while (lines > 0) {
        const double left = BOTTOM - p->y;
        if (row_height(lines < 3 || row_height(lines) < highest ? lines : 3) > left) {
            new_page(p);
            put_head(p, g);
        }
        size_t most = (size_t)fmax((BOTTOM - p->y - 2 * PAD) / cell.line, 1);
        most = most < lines ? most : lines;
        row_part(p, g, at, most, NULL);
        lines -= most;
    }
}

static void put_table(struct pages *p, const struct document_block *block)
{
    const struct document_table *t = &block->table;
    struct grid g = { .t = t, .cell = mem_calloc(t->n ? t->n : 1, sizeof *g.cell, "a report",
                                                 NULL) };
    char *caption = printable(p, block->text);
    bool whole = g.cell && caption;

    for (size_t c = 0; c < t->ncols; c++)
        whole &= (g.head[c] = printable(p, t->head[c])) != NULL;
    for (size_t i = 0; g.cell && i < t->n; i++)
        whole &= (g.cell[i] = printable(p, t->cell[i])) != NULL;
    p->failed |= !whole;
    if (whole && t->ncols > 0 && t->n >= t->ncols) {
        share_width(&g);
        const size_t lines = count_lines(caption, WIDTH, &soft) + row_lines(&g, g.cell, NULL) +
                             (t->head[0] ? row_lines(&g, g.head, &name) : 0);
        space(p, 6);
        room(p, fmin((double)lines * soft.line + 6 * PAD, 300));
        flow(p, LEFT, &soft, caption);
        put_head(p, &g);
        for (size_t i = 0; i + t->ncols <= t->n; i += t->ncols)
            put_row(p, &g, &g.cell[i]);
        p->y += 6;
    }
    for (size_t c = 0; c < t->ncols; c++)
        free(g.head[c]);
    for (size_t i = 0; g.cell && i < t->n; i++)
        free(g.cell[i]);
    free(g.cell);
    free(caption);
}

/* Figures. */

/* The height of a figure of the full width. */
static double figure_height(const struct figure *f)
{
    size_t panels = 0;

    for (const struct figure *p = f; p; p = p->next)
        panels++;
    const size_t across = f->across > 1 ? f->across : 1, down = (panels + across - 1) / across;
    const double one = across > 1 ? fmax(WIDTH / (double)across * 0.68, 110) : 190;
    return down == 1 && across == 1 ? 238 : one * (double)down;
}

/* The sentences under a figure, one a line. */
static char *sentences(struct pages *p, const struct figure *f)
{
    struct buf b = { 0 };

    for (; f; f = f->next)
        if (f->verdict && *f->verdict)
            buf_printf(&b, "%s%s", b.len ? "\n" : "", f->verdict);
    char *s = printable(p, buf_str(&b));
    p->failed |= b.failed;
    buf_free(&b);
    return s;
}

static void put_figure(struct pages *p, const struct document_block *block)
{
    char *head = printable(p, block->text), *under = sentences(p, block->figure);
    double high = figure_height(block->figure);

    if (head && under) {
        const double words = (double)count_lines(head, WIDTH, &name) * name.line +
                             (double)count_lines(under, WIDTH, &soft) * soft.line + 4;
        high = fmax(fmin(high, BOTTOM - TOP - words), 200);
        space(p, 10);
        const double left = BOTTOM - p->y - words;
        if (left < high && left > 0.78 * high)
            high = left; /* a little smaller rather than on the next page */
        room(p, high + words);
        const struct figure_part part = { .x = LEFT / PAGE_W, .y = 1 - (p->y + high) / PAGE_H,
                                          .w = WIDTH / PAGE_W, .h = high / PAGE_H,
                                          .wide = WIDTH * 13 / FIGURE_FONT,
                                          .high = high * 13 / FIGURE_FONT,
                                          .font = FIGURE_FONT };
        if (p->n > 0)
            figure_gnuplot_part(block->figure, &part, &p->page[p->n - 1].figures);
        p->y += high + 4;
        flow(p, LEFT, &name, head);
        flow(p, LEFT, &soft, under);
        p->y += 6;
    }
    free(head);
    free(under);
}

/* Other blocks. */

/* How much of the block after a heading has to be on the page of the heading. */
static double least(const struct document_block *next)
{
    return next && next->kind == DOCUMENT_FIGURE ? figure_height(next->figure) + 40 : 90;
}

static void put_heading(struct pages *p, const char *s, const struct document_block *next)
{
    space(p, 16);
    room(p, (double)count_lines(s, WIDTH, &heading) * heading.line + 8 + least(next));
    flow(p, LEFT, &heading, s);
    rule(p, LEFT, p->y + 2, WIDTH);
    p->y += 8;
}

/* Lines as they are on a grey ground; what does not fit goes on, indented, on the next one. */
static void put_code(struct pages *p, const char *s)
{
    enum { INSET = 7, TOGETHER = 6 }; /* lines of a beginning that is not alone on a page */
    const double letter_w = letter('x', MONO) * code.size, w = WIDTH - 2 * INSET;

    const size_t lines = count_lines(s, w, &code);
    space(p, 4);
    room(p, (double)(lines < TOGETHER ? lines : TOGETHER) * code.line + 8);
    for (bool first = true, goes_on = false; *s;) {
        const double x = LEFT + INSET + (goes_on ? 4 * letter_w : 0);
        const size_t n = line_length(s, w - (goes_on ? 4 * letter_w : 0), &code);
        room(p, code.line + 2);
        first |= p->y == TOP;
        const bool last = !*next_line(s, n);
        const bool bottom = last || p->y + 2 * code.line + 2 > BOTTOM;
        const double over = first ? 4 : 0, under = bottom ? 4 : 0.2;
        card(p, LEFT, p->y, WIDTH, code.line + over + under);
        put(p, x, p->y + over, false, &code, s, n);
        p->y += code.line + over + (bottom ? 4 : 0);
        goes_on = s[n] && s[n] != '\n';
        s = next_line(s, n);
        first = false;
    }
    p->y += 4;
}

static void put_step(struct pages *p, const char *s, size_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%zu.", number);
    room(p, code.line + 2);
    put(p, LEFT + 20, p->y, true, &soft, text, strlen(text));
    flow(p, LEFT + 28, &code, s);
    p->y += 2;
}

static void put_text(struct pages *p, const struct document *d, size_t i, size_t step)
{
    const struct document_block *block = &d->block[i];
    const char *const begin = "Warning:";
    char *s = printable(p, block->text);

    if (s && *s)
        switch (block->kind) {
        case DOCUMENT_HEADING:
            put_heading(p, s, i + 1 < d->n ? block + 1 : NULL);
            break;
        case DOCUMENT_WARNING:
            room(p, 2 * body.line);
            put(p, LEFT, p->y, false, &strong, begin, strlen(begin));
            flow(p, LEFT + width_of(begin, strlen(begin), &strong) + 4, &body, s);
            p->y += 4;
            break;
        case DOCUMENT_CODE:
            put_code(p, s);
            break;
        case DOCUMENT_STEP:
            put_step(p, s, step);
            break;
        default:
            flow(p, LEFT, block->kind == DOCUMENT_VERDICT  ? &verdict
                          : block->kind == DOCUMENT_REMARK ? &soft
                                                           : &body, s);
            p->y += 4;
        }
    free(s);
}

/* Lays out the whole document. */
static void lay_out(struct pages *p, const struct document *d)
{
    char *headline = printable(p, d->headline), *made_by = printable(p, d->made_by);
    size_t step = 0;

    new_page(p);
    if (headline)
        flow(p, LEFT, &title, headline);
    p->y += 4;
    for (size_t i = 0; i < d->n && !p->failed; i++) {
        step = d->block[i].kind == DOCUMENT_STEP ? step + 1 : 0;
        if (d->block[i].kind == DOCUMENT_TABLE)
            put_table(p, &d->block[i]);
        else if (d->block[i].kind == DOCUMENT_FIGURE)
            put_figure(p, &d->block[i]);
        else
            put_text(p, d, i, step);
    }
    p->y += 4;
    if (made_by)
        flow(p, LEFT, &soft, made_by);
    free(headline);
    free(made_by);
}

/* Title and number at the foot of every page. */
static void put_feet(struct pages *p, const struct document *d)
{
    const size_t n = p->n;
    char *s = printable(p, d->title), number[64];

    for (size_t i = 0; s && i < n; i++) {
        p->n = i + 1; /* put writes to the last page */
        snprintf(number, sizeof number, "page %zu of %zu", i + 1, n);
        put(p, LEFT, PAGE_H - 42, false, &foot, s, line_length(s, WIDTH - 80, &foot));
        put(p, LEFT + WIDTH, PAGE_H - 42, true, &foot, number, strlen(number));
    }
    free(s);
}

static void commands(const struct pages *p, struct buf *b)
{
    /* Pango takes sizes for an image of 96 dots per inch; the page has 72. */
    buf_printf(b, "set encoding utf8\nset term pdfcairo size %.5fin,%.5fin font 'Sans,%.1f' "
                  "fontscale 0.75 enhanced\nset output '" PLOT_EXPORT_PAGES "'\n",
               PAGE_W / 72, PAGE_H / 72, FIGURE_FONT);
    for (size_t i = 0; i < p->n; i++) {
        const struct page *page = &p->page[i];
        buf_puts(b, "reset\nset encoding utf8\nset multiplot\nset margins 0,0,0,0\nunset border\n"
                    "unset tics\nunset key\n");
        buf_putn(b, buf_str(&page->words), page->words.len);
        buf_puts(b, "plot [0:1] [0:1] NaN notitle\nunset label\nunset arrow\nunset object\n"
                    "set margins -1,-1,-1,-1\nset xtics nomirror\nset ytics nomirror\n");
        buf_putn(b, buf_str(&page->figures), page->figures.len);
        buf_puts(b, "unset multiplot\n");
        b->failed |= page->words.failed || page->figures.failed;
    }
    buf_puts(b, "set output\n");
    b->failed |= p->failed;
}

enum status document_pdf(const struct ctl *ctl, const struct document *d, const char *path,
                         size_t *rare, struct err *err)
{
    struct pages p = { 0 };
    struct buf b = { 0 };

    lay_out(&p, d);
    put_feet(&p, d);
    commands(&p, &b);
    const enum status rc = b.failed || d->failed
                               ? err_nomem(err, b.len, "a report")
                               : plot_export_pages(ctl, &b, path, "out=FILE.html", err);
    *rare = p.rare;
    for (size_t i = 0; i < p.n; i++) {
        buf_free(&p.page[i].words);
        buf_free(&p.page[i].figures);
    }
    free(p.page);
    buf_free(&b);
    return rc;
}
