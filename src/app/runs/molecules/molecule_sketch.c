/* app/runs/molecules/molecule_sketch.c -- see molecule_sketch.h.  Lengths are in pixels; a bond is
 * BOND long where there is room. */
#include "app/runs/molecules/molecule_sketch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BOND = 46, MARGIN = 48, LABEL = 10, DISC = 19, WHITE = 0xffffff };
/* Of other plots (figure), as red, green and blue. */
static const double raises[3] = { 0, 114, 178 }, lowers[3] = { 213, 94, 0 };

struct extent { double x0, x1, y0, y1; };

static struct extent extent_of(const struct drawing *d)
{
    struct extent e = { INFINITY, -INFINITY, INFINITY, -INFINITY };

    for (size_t i = 0; i < d->atoms; i++) {
        e.x0 = fmin(e.x0, d->atom[i].x);
        e.x1 = fmax(e.x1, d->atom[i].x);
        e.y0 = fmin(e.y0, d->atom[i].y);
        e.y1 = fmax(e.y1, d->atom[i].y);
    }
    return e;
}

void molecule_sketch_size(const struct drawing *d, double *w, double *h)
{
    const struct extent e = extent_of(d);

    *w = (e.x1 - e.x0) * BOND + 2 * MARGIN;
    *h = (e.y1 - e.y0) * BOND + 2 * MARGIN;
}

/* Where the atoms are: x0, y0 is that of the molecule's middle; share: of the usual length. */
struct frame_at { double x0, y0, x, y, share; };

static double x_at(const struct frame_at *f, const struct drawing_atom *a)
{
    return f->x + (a->x - f->x0) * BOND * f->share;
}

static double y_at(const struct frame_at *f, const struct drawing_atom *a)
{
    return f->y + (f->y0 - a->y) * BOND * f->share;
}

/* A line of a bond, moved sideways. */
static void put_line(struct sketch *s, const double at[4], double aside, bool dashed)
{
    const double dx = at[2] - at[0], dy = at[3] - at[1], length = fmax(hypot(dx, dy), 1e-9),
                 sx = -dy / length * aside, sy = dx / length * aside;

    sketch_line(s, &(struct sketch_line){ at[0] + sx, at[1] + sy, at[2] + sx, at[3] + sy,
                                          dashed });
}

static void put_bonds(struct sketch *s, const struct drawing *d, const struct frame_at *f)
{
    const double near = 2.5 * fmax(f->share, 0.6), far = 4.0 * fmax(f->share, 0.6);

    for (size_t k = 0; k < d->bonds; k++) {
        const struct drawing_atom *a = &d->atom[d->bond[k].a], *b = &d->atom[d->bond[k].b];
        const double at[4] = { x_at(f, a), y_at(f, a), x_at(f, b), y_at(f, b) };
        const int order = d->bond[k].order;
        if (order != 2)
            put_line(s, at, order == 4 ? -near : 0.0, false);
        if (order == 2 || order == 3)
            put_line(s, at, order == 2 ? near : far, false);
        if (order == 2 || order == 3)
            put_line(s, at, order == 2 ? -near : -far, false);
        if (order == 4)
            put_line(s, at, near, true);
    }
}

/* A colour between white and that of the sign: few programs know opacity. */
static unsigned colour(double value, double most)
{
    const double share = most > 0.0 ? 0.75 * fabs(value) / most : 0.0;
    const double *full = value > 0 ? raises : lowers;
    unsigned rgb = 0;

    for (size_t k = 0; k < 3; k++)
        rgb = rgb << 8 | (unsigned)(255.0 + share * (full[k] - 255.0) + 0.5);
    return rgb;
}

/* Carbons are corners of the lines, unless they are charged or alone. */
static void put_label(struct sketch *s, const struct drawing *d, const struct drawing_atom *a,
                      const struct sketch_circle *hole)
{
    char letters[8], after[16] = "";

    if (strcmp(a->element, "C") == 0 && a->charge == 0 && d->bonds > 0)
        return;
    sketch_blank(s, hole);
    snprintf(letters, sizeof letters, "%s%s", a->element, a->hydrogens > 0 ? "H" : "");
    if (a->charge == 1 || a->charge == -1)
        snprintf(after, sizeof after, "%s", a->charge > 0 ? "+" : "-");
    else if (a->charge != 0)
        snprintf(after, sizeof after, "%+d", a->charge);
    sketch_atom(s, hole->x, hole->y, letters, a->hydrogens > 1 ? a->hydrogens : 0, after);
}

void molecule_sketch(struct sketch *s, const struct drawing *d, const struct molecule_box *b,
                     const double *value)
{
    const struct extent e = extent_of(d);
    const double w = (e.x1 - e.x0) * BOND, h = (e.y1 - e.y0) * BOND;
    const double room_w = fmax(b->w - MARGIN, 1.0), room_h = fmax(b->h - MARGIN, 1.0);
    const double share = fmin(1.0, fmin(w > 0.0 ? room_w / w : 1.0, h > 0.0 ? room_h / h : 1.0));
    const struct frame_at f = { (e.x0 + e.x1) / 2, (e.y0 + e.y1) / 2, b->x, b->y, share };
    double most = 0.0;

    for (size_t i = 0; value != NULL && i < d->atoms; i++)
        most = fmax(most, fabs(value[i]));
    for (size_t i = 0; i < d->atoms && most > 0.0; i++) {
        char title[48];
        snprintf(title, sizeof title, "%s%zu %.4g", d->atom[i].element, i + 1, value[i]);
        sketch_disc(s, &(struct sketch_circle){ x_at(&f, &d->atom[i]), y_at(&f, &d->atom[i]),
                                                DISC * share, colour(value[i], most) }, title);
    }
    put_bonds(s, d, &f);
    for (size_t i = 0; i < d->atoms; i++) {
        const struct drawing_atom *a = &d->atom[i];
        const struct sketch_circle hole = { x_at(&f, a), y_at(&f, a), LABEL * fmax(share, 0.6),
                                            most > 0.0 ? colour(value[i], most) : WHITE };
        put_label(s, d, a, &hole);
    }
}
