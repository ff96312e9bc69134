/* data/molecules/drawing_svg.c -- see drawing_svg.h.  Lengths are in pixels; a bond is BOND
 * long. */
#include "data/molecules/drawing_svg.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

enum { BOND = 46, MARGIN = 48, LINE = 20, WIDTH_LEAST = 420, LETTERS = 100 };
/* Of other plots (figure), as red, green and blue. */
static const double raises[3] = { 0, 114, 178 }, lowers[3] = { 213, 94, 0 };

struct frame { double x0, y1, w, h; }; /* of the molecule: left and upper end, size */

static struct frame frame_of(const struct drawing *d)
{
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;

    for (size_t i = 0; i < d->atoms; i++) {
        x0 = fmin(x0, d->atom[i].x);
        x1 = fmax(x1, d->atom[i].x);
        y0 = fmin(y0, d->atom[i].y);
        y1 = fmax(y1, d->atom[i].y);
    }
    const double w = (x1 - x0) * BOND + 2 * MARGIN, wide = fmax(w, WIDTH_LEAST);
    return (struct frame){ x0 - (wide - w) / 2 / BOND, y1, wide, (y1 - y0) * BOND + 2 * MARGIN };
}

static double x_at(const struct frame *f, const struct drawing_atom *a)
{
    return MARGIN + (a->x - f->x0) * BOND;
}

static double y_at(const struct frame *f, const struct drawing_atom *a)
{
    return MARGIN + (f->y1 - a->y) * BOND;
}

static void put_text(struct buf *out, const char *s)
{
    struct buf safe = { 0 };

    text_safe(&safe, s, LETTERS);
    for (const char *p = buf_str(&safe); *p; p++)
        switch (*p) {
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '&': buf_puts(out, "&amp;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        default: buf_putc(out, *p);
        }
    buf_free(&safe);
}

/* A line of a bond, moved sideways. */
static void put_line(struct buf *out, const double at[4], double aside, bool dashed)
{
    const double dx = at[2] - at[0], dy = at[3] - at[1], length = fmax(hypot(dx, dy), 1e-9),
                 sx = -dy / length * aside, sy = dx / length * aside;

    buf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s/>\n", at[0] + sx,
               at[1] + sy, at[2] + sx, at[3] + sy, dashed ? " stroke-dasharray=\"4 3\"" : "");
}

static void put_bonds(const struct drawing *d, const struct frame *f, struct buf *out)
{
    buf_puts(out, "<g stroke=\"#333333\" stroke-width=\"1.6\" stroke-linecap=\"round\">\n");
    for (size_t k = 0; k < d->bonds; k++) {
        const struct drawing_atom *a = &d->atom[d->bond[k].a], *b = &d->atom[d->bond[k].b];
        const double at[4] = { x_at(f, a), y_at(f, a), x_at(f, b), y_at(f, b) };
        const int order = d->bond[k].order;
        if (order != 2)
            put_line(out, at, order == 4 ? -2.5 : 0.0, false);
        if (order == 2 || order == 3)
            put_line(out, at, order == 2 ? 2.5 : 4.0, false);
        if (order == 2 || order == 3)
            put_line(out, at, order == 2 ? -2.5 : -4.0, false);
        if (order == 4)
            put_line(out, at, 2.5, true);
    }
    buf_puts(out, "</g>\n");
}

/* A colour between white and that of the sign, as an attribute: few programs know opacity. */
static void put_fill(struct buf *out, double value, double most)
{
    const double share = most > 0.0 ? 0.75 * fabs(value) / most : 0.0;
    const double *full = value > 0 ? raises : lowers;

    buf_puts(out, " fill=\"#");
    for (size_t k = 0; k < 3; k++)
        buf_printf(out, "%02x", (unsigned)(255.0 + share * (full[k] - 255.0) + 0.5));
    buf_puts(out, "\"");
}

/* Carbons are corners of the lines, unless they are charged or alone. */
static void put_label(const struct drawing *d, const struct drawing_atom *a, double x, double y,
                      double value, double most, struct buf *out)
{
    if (strcmp(a->element, "C") == 0 && a->charge == 0 && d->bonds > 0)
        return;
    buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"10\"", x, y);
    put_fill(out, value, most);
    buf_printf(out, "/>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s%s", x, y + 5,
               a->element, a->hydrogens > 0 ? "H" : "");
    if (a->hydrogens > 1)
        buf_printf(out, "<tspan font-size=\"10\">%d</tspan>", a->hydrogens);
    if (a->charge != 0)
        buf_printf(out, "%s", a->charge > 0 ? "+" : "-");
    if (a->charge > 1 || a->charge < -1)
        buf_printf(out, "%d", a->charge > 0 ? a->charge : -a->charge);
    buf_puts(out, "</text>\n");
}

void drawing_svg(const struct drawing *d, const double *value, const char *const *lines,
                 size_t nlines, struct buf *out)
{
    const struct frame f = frame_of(d);
    const double high = f.h + LINE * (double)(nlines + 1);
    double most = 0.0;

    buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
               "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"14\" stroke=\"none\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
               f.w, high);
    for (size_t i = 0; i < d->atoms; i++)
        most = fmax(most, fabs(value[i]));
    for (size_t i = 0; i < d->atoms && most > 0.0; i++) {
        buf_printf(out, "<g><title>%s%zu %.4g</title><circle cx=\"%.1f\" cy=\"%.1f\" r=\"19\"",
                   d->atom[i].element, i + 1, value[i], x_at(&f, &d->atom[i]),
                   y_at(&f, &d->atom[i]));
        put_fill(out, value[i], most);
        buf_puts(out, "/></g>\n");
    }
    put_bonds(d, &f, out);
    for (size_t i = 0; i < d->atoms; i++)
        put_label(d, &d->atom[i], x_at(&f, &d->atom[i]), y_at(&f, &d->atom[i]), value[i], most,
                  out);
    for (size_t i = 0; i < nlines; i++) {
        buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", f.w / 2,
                   f.h + LINE * (double)(i + 1));
        put_text(out, lines[i]);
        buf_puts(out, "</text>\n");
    }
    buf_puts(out, "</svg>\n");
}
