/* figure/sketch.c -- see sketch.h.  For gnuplot the parts are blocks of numbers, drawn one after
 * the other, and labels, which it puts in front. */
#include "figure/sketch.h"

#include "figure/figure_letters.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define END_MARK "GPX7Q"
enum { ATOM = 14, SMALL = 10, WHITE = 0xffffff };

struct sketch {
    double w, h;
    /* Layers of the SVG document, from the lowest, and blocks and labels for gnuplot. */
    struct buf discs, lines, blanks, words;
    struct buf circles, whole, dashed, holes, labels;
};

struct sketch *sketch_new(double w, double h, struct err *err)
{
    struct sketch *s = mem_calloc(1, sizeof *s, "a drawing", err);

    if (s != NULL)
        *s = (struct sketch){ .w = ceil(w), .h = ceil(h) };
    return s;
}

static void sketch_free(struct sketch *s)
{
    if (s == NULL)
        return;
    struct buf *const all[] = { &s->discs, &s->lines, &s->blanks, &s->words, &s->circles,
                                &s->whole, &s->dashed, &s->holes, &s->labels };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
    free(s);
}

/* Words as SVG has them. */
static void put_text(struct buf *out, const char *s)
{
    for (const char *p = s; *p != '\0'; p++)
        switch (*p) {
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '&': buf_puts(out, "&amp;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        default: buf_putc(out, *p);
        }
}

static void put_circle(struct buf *out, const struct sketch_circle *c)
{
    buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#%06x\"/>", c->x, c->y, c->r,
               c->rgb);
}

static void put_block(const struct sketch *s, struct buf *out, const struct sketch_circle *c)
{
    buf_printf(out, "%.1f %.1f %.1f %u\n", c->x, s->h - c->y, c->r, c->rgb);
}

void sketch_disc(struct sketch *s, const struct sketch_circle *c, const char *title)
{
    struct buf safe = { 0 };

    text_safe(&safe, title != NULL ? title : "", 0);
    buf_puts(&s->discs, "<g>");
    if (title != NULL) {
        buf_puts(&s->discs, "<title>");
        put_text(&s->discs, buf_str(&safe));
        buf_puts(&s->discs, "</title>");
    }
    put_circle(&s->discs, c);
    buf_puts(&s->discs, "</g>\n");
    put_block(s, &s->circles, c);
    buf_free(&safe);
}

void sketch_blank(struct sketch *s, const struct sketch_circle *c)
{
    put_circle(&s->blanks, c);
    buf_putc(&s->blanks, '\n');
    put_block(s, &s->holes, c);
}

void sketch_line(struct sketch *s, const struct sketch_line *l)
{
    buf_printf(&s->lines, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s/>\n", l->x0,
               l->y0, l->x1, l->y1, l->dashed ? " stroke-dasharray=\"4 3\"" : "");
    buf_printf(l->dashed ? &s->dashed : &s->whole, "%.1f %.1f %.1f %.1f\n", l->x0, s->h - l->y0,
               l->x1 - l->x0, l->y0 - l->y1);
}

void sketch_words(struct sketch *s, double x, double y, double size, size_t cols, const char *text)
{
    struct buf safe = { 0 }, usual = { 0 };

    text_safe(&safe, text, cols);
    buf_printf(&s->words, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"%g\">",
               x, y + 0.36 * size, size);
    put_text(&s->words, buf_str(&safe));
    buf_puts(&s->words, "</text>\n");
    figure_letters(&usual, buf_str(&safe));
    buf_puts(&s->labels, "set label ");
    figure_gnuplot_quote(&s->labels, buf_str(&usual));
    buf_printf(&s->labels, " at %.1f,%.1f center front noenhanced font ',%.3g'\n", x, s->h - y,
               0.75 * size);
    s->words.failed |= safe.failed || usual.failed;
    buf_free(&safe);
    buf_free(&usual);
}

void sketch_atom(struct sketch *s, double x, double y, const char *letters, int count,
                 const char *after)
{
    buf_printf(&s->words, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s", x, y + 5,
               letters);
    if (count > 0)
        buf_printf(&s->words, "<tspan font-size=\"%d\">%d</tspan>", SMALL, count);
    buf_printf(&s->words, "%s</text>\n", after);
    buf_printf(&s->labels, "set label '%s", letters);
    if (count > 0)
        buf_printf(&s->labels, "_{%d}", count);
    buf_printf(&s->labels, "%s' at %.1f,%.1f center front enhanced font ',%.3g'\n", after, x,
               s->h - y, 0.75 * ATOM);
}

/* A block of numbers; the first line lies outside of the picture, so that none is empty. */
static void block(struct buf *out, const char *name, const char *outside, const struct buf *lines)
{
    buf_printf(out, "$%s << " END_MARK "\n%s\n%s" END_MARK "\n", name, outside,
               buf_str(lines));
}

static void for_gnuplot(const struct sketch *s, struct buf *out)
{
    buf_puts(out, "unset border\nunset tics\nunset key\nset margins 0,0,0,0\n"
                  "set style fill solid noborder\n");
    buf_printf(out, "set xrange [0:%g]\nset yrange [0:%g]\n", s->w, s->h);
    block(out, "discs", "-99 -99 1 0", &s->circles);
    block(out, "lines", "-99 -99 1 1", &s->whole);
    block(out, "dashed", "-99 -99 1 1", &s->dashed);
    block(out, "blanks", "-99 -99 1 0", &s->holes);
    buf_puts(out, buf_str(&s->labels));
    buf_puts(out, "plot $discs with circles lc rgb variable, "
                  "$lines with vectors nohead lw 1.4 lc rgb '#333333', "
                  "$dashed with vectors nohead dt 2 lw 1.4 lc rgb '#333333', "
                  "$blanks with circles lc rgb variable\n");
}

static void as_svg(const struct sketch *s, struct buf *out)
{
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "font-family=\"sans-serif\" font-size=\"%d\" stroke=\"none\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n", s->w, s->h, ATOM,
               (unsigned)WHITE);
    buf_puts(out, buf_str(&s->discs));
    buf_puts(out, "<g stroke=\"#333333\" stroke-width=\"1.6\" stroke-linecap=\"round\">\n");
    buf_puts(out, buf_str(&s->lines));
    buf_puts(out, "</g>\n");
    buf_puts(out, buf_str(&s->blanks));
    buf_puts(out, buf_str(&s->words));
    buf_puts(out, "</svg>\n");
}

enum status sketch_into(struct sketch *s, struct figure *f, struct err *err)
{
    struct buf svg = { 0 }, commands = { 0 };
    const bool failed = s->discs.failed || s->lines.failed || s->blanks.failed || s->words.failed ||
                        s->circles.failed || s->whole.failed || s->dashed.failed ||
                        s->holes.failed || s->labels.failed;

    as_svg(s, &svg);
    for_gnuplot(s, &commands);
    free(f->picture);
    free(f->drawn);
    f->picture = failed ? NULL : buf_take(&svg);
    f->drawn = failed ? NULL : buf_take(&commands);
    f->picture_w = (size_t)s->w;
    f->picture_h = (size_t)s->h;
    sketch_free(s);
    buf_free(&svg);
    buf_free(&commands);
    return f->picture != NULL && f->drawn != NULL ? ST_OK : err_nomem(err, 0, "a drawing");
}
