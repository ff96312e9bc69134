/* figure/figure_cells.c -- surfaces: cells, their shades, and the contours of marching squares
 * (Lorensen and Cline 1987, in the plane). */
#include "figure/figure_layout.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>

/* Absolute heights below this share of the largest are hardly visible. */
static const double FAINT = 0.15;

/* Makes arrays for all cells from those of the axes. */
struct series *figure_add_cells(struct figure *f, const char *title,
                                const struct figure_surface *of, struct err *err)
{
    const size_t nx = of->nx, ny = of->ny;
    double *all = mem_calloc(2 * nx * ny + 1, sizeof *all, "a surface", err);

    if (all == NULL)
        return NULL;
    for (size_t j = 0; j < ny; j++)
        for (size_t i = 0; i < nx; i++) {
            all[j * nx + i] = of->x[i];
            all[nx * ny + j * nx + i] = of->y[j];
        }
    struct series *s = figure_add_band(f, title, nx * ny, all, all + nx * ny, of->z, err);
    free(all);
    if (s != NULL) {
        s->mark = MARK_CELLS;
        s->across = nx;
    }
    return s;
}

enum status figure_add_signed(struct figure *f, const char *up, const char *down,
                              const struct figure_surface *of, struct err *err)
{
    const size_t cells = of->nx * of->ny;
    const double *z = of->z;
    double *part = mem_calloc(cells + 1, sizeof *part, "a surface", err), reach = 0.0;
    struct figure_surface half = *of;
    bool ok = part != NULL;

    half.z = part;
    for (size_t i = 0; i < cells; i++)
        reach = isfinite(z[i]) ? fmax(reach, fabs(z[i])) : reach;
    for (int sign = 1; ok && sign >= -1; sign -= 2) {
        for (size_t i = 0; i < cells; i++)
            part[i] = sign * z[i] > 0 ? z[i] : NAN;
        struct series *s = figure_add_cells(f, sign > 0 ? up : down, &half, err);
        ok = s != NULL;
        if (ok) {
            s->sign = sign;
            s->reach = reach;
        }
    }
    free(part);
    return ok ? ST_OK : ST_NOMEM;
}

/* Contours: marching squares. */

struct contour {
    const double *x, *y, *z;
    size_t nx, ny;
    bool xlog, ylog;
    double level, *out; /* pairs x, y of segments, with a gap after each */
    size_t n;
};

static double between(double a, double b, double t, bool log)
{
    return log && a > 0 && b > 0 ? a * pow(b / a, t) : a + t * (b - a);
}

/* The crossing on the edge from corner (i, j) to (k, l). Returns false if there is none. */
static bool crossing(const struct contour *c, size_t i, size_t j, size_t k, size_t l, double p[2])
{
    const double a = c->z[j * c->nx + i] - c->level, b = c->z[l * c->nx + k] - c->level;

    if (!isfinite(a) || !isfinite(b) || (a < 0) == (b < 0))
        return false;
    const double t = a / (a - b);
    p[0] = between(c->x[i], c->x[k], t, c->xlog);
    p[1] = between(c->y[j], c->y[l], t, c->ylog);
    return true;
}

static void segment(struct contour *c, const double *p, const double *q)
{
    double *o = c->out + 2 * c->n;

    o[0] = p[0], o[1] = p[1], o[2] = q[0], o[3] = q[1];
    o[4] = o[5] = NAN;
    c->n += 3;
}

static void contour_cell(struct contour *c, size_t i, size_t j)
{
    double p[4][2];
    size_t n = 0;

    /* below, right, above, left */
    const size_t from[4][4] = { { i, j, i + 1, j }, { i + 1, j, i + 1, j + 1 },
                                { i, j + 1, i + 1, j + 1 }, { i, j, i, j + 1 } };
    for (size_t e = 0; e < 4; e++)
        if (crossing(c, from[e][0], from[e][1], from[e][2], from[e][3], p[n]))
            n++;
    if (n == 2)
        segment(c, p[0], p[1]);
    if (n == 4) { /* a saddle: the mean height decides which corners are connected */
        const size_t at = j * c->nx + i;
        const double mid = c->z[at] / 4 + c->z[at + 1] / 4 + c->z[at + c->nx] / 4 +
                           c->z[at + c->nx + 1] / 4 - c->level;
        const bool same = (mid < 0) == (c->z[at] - c->level < 0);
        segment(c, p[0], same ? p[1] : p[3]);
        segment(c, p[2], same ? p[3] : p[1]);
    }
}

struct series *figure_add_contour(struct figure *f, const char *title,
                                  const struct figure_surface *of, double level, struct err *err)
{
    const size_t nx = of->nx, ny = of->ny;
    struct contour c = { of->x, of->y, of->z, nx, ny, f->x.log, f->y.log, level, NULL, 0 };
    struct series *s = NULL;

    c.out = mem_calloc(12 * nx * ny + 2, sizeof *c.out, "a contour", err);
    double *xs = mem_calloc(12 * nx * ny + 2, sizeof *xs, "a contour", err);
    if (c.out != NULL && xs != NULL) {
        for (size_t j = 0; j + 1 < ny; j++)
            for (size_t i = 0; i + 1 < nx; i++)
                contour_cell(&c, i, j);
        double *ys = xs + 6 * nx * ny;
        for (size_t i = 0; i < c.n; i++) {
            xs[i] = c.out[2 * i];
            ys[i] = c.out[2 * i + 1];
        }
        s = figure_add(f, title, MARK_LINE, c.n, xs, ys, err);
    }
    free(c.out);
    free(xs);
    return s;
}

/* The edges of a cell around v, on the scale of its axis. */
void figure_cell(const struct series *s, const struct axis *a, double v, bool along_x,
                 double edge[2])
{
    const double *all = along_x ? s->x : s->y;
    const size_t next = along_x ? 1 : s->across;
    const double first = all[0], second = next < s->n ? all[next] : first;

    if (a->log && first > 0 && second > first) {
        const double half = sqrt(second / first);
        edge[0] = v / half;
        edge[1] = v * half;
    } else {
        const double half = second > first ? (second - first) / 2 : 0.5;
        edge[0] = v - half;
        edge[1] = v + half;
    }
}

void figure_heights(const struct series *s, double *lowest, double *highest)
{
    *lowest = s->count != NULL ? 0 : INFINITY; /* the heights of a table are shares */
    *highest = s->count != NULL ? 1 : -INFINITY;
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->y2[i])) {
            *lowest = fmin(*lowest, s->y2[i]);
            *highest = fmax(*highest, s->y2[i]);
        }
}

double figure_shade(const struct series *s, size_t i, double lowest, double highest)
{
    if (!isfinite(s->y2[i]))
        return NAN;
    if (s->sign != 0)
        return s->reach > 0 ? s->y2[i] / s->reach : 0.0;
    if (s->steep && highest > lowest)
        return log1p(s->y2[i] - lowest) / log1p(highest - lowest);
    return highest > lowest ? (s->y2[i] / 2 - lowest / 2) / (highest / 2 - lowest / 2) : 0.5;
}

bool figure_hatched(const struct series *s, size_t i)
{
    return s->sign < 0 && fabs(figure_shade(s, i, 0, 0)) >= FAINT; /* false for NaN */
}

/* The height that has this shade: the inverse of figure_shade. */
static double height_of(const struct series *s, double shade, double lowest, double highest)
{
    if (s->sign != 0)
        return shade * s->reach;
    if (s->steep && highest > lowest)
        return lowest + expm1(shade * log1p(highest - lowest));
    return lowest + shade * (highest - lowest);
}

bool figure_color_bar(const struct figure *f, struct color_bar *out)
{
    const struct series *s = NULL;
    double lowest, highest;

    for (size_t i = 0; i < f->ns && s == NULL; i++)
        s = f->s[i].mark == MARK_CELLS ? &f->s[i] : NULL;
    if (s == NULL || s->group != NULL)
        return false;
    figure_heights(s, &lowest, &highest);
    if (s->sign == 0 ? !(lowest <= highest) : !(s->reach > 0))
        return false;
    *out = (struct color_bar){ .title = s->sign == 0 && s->title != NULL ? s->title : "",
                               .lo = s->sign == 0 ? 0 : -1, .pale = figure_has_lines(f) };
    const bool flat = s->sign == 0 && !(lowest < highest);
    for (int k = 0; k <= 4; k += flat ? 9 : 1, out->n++) {
        const double u = flat ? 0.5 : out->lo + k * (1 - out->lo) / 4;
        const double h = flat ? lowest : height_of(s, u, lowest, highest);
        out->at[out->n] = u;
        snprintf(out->text[out->n], sizeof out->text[0], "%.3g", h);
    }
    return true;
}

/* The value of an axis that is nearest to the place u, 0..1 between lo and hi. */
static size_t nearest(const double *v, size_t n, size_t step, double u, double lo, double hi,
                      bool log)
{
    const double first = figure_place(v[0], lo, hi, log);
    const double last = figure_place(v[(n - 1) * step], lo, hi, log);
    const double at = n > 1 ? round((u - first) / (last - first) * (double)(n - 1)) : 0;

    return at >= 0 && at < (double)n ? (size_t)at : SIZE_MAX;
}

double figure_shade_at(const struct series *s, const struct figure_scale *sc, double u, double v,
                       double lowest, double highest)
{
    const size_t i = nearest(s->x, s->across, 1, u, sc->xlo, sc->xhi, sc->xlog);
    const size_t j = nearest(s->y, s->n / s->across, s->across, v, sc->ylo, sc->yhi, sc->ylog);

    return i == SIZE_MAX || j == SIZE_MAX ? NAN
                                          : figure_shade(s, j * s->across + i, lowest, highest);
}

bool figure_marked(double shade)
{
    return fabs(shade) >= FAINT;
}

bool figure_dotted(double shade, size_t x, size_t y)
{
    static const unsigned char order[4][4] = { { 0, 8, 2, 10 }, { 12, 4, 14, 6 }, { 3, 11, 1, 9 },
                                               { 15, 7, 13, 5 } };
    return fabs(shade) * 16 > order[y % 4][x % 4] + 0.5; /* Bayer 1973; false for NaN */
}

bool figure_has_lines(const struct figure *f)
{
    for (size_t i = 0; i < f->ns; i++)
        if (f->s[i].mark == MARK_LINE || f->s[i].mark == MARK_LINEPOINTS)
            return true;
    return false;
}

unsigned figure_ramp(double shade, bool pale, bool dark)
{
    static const unsigned char stop[4][3][3] = {
        { { 0xf6, 0xf8, 0xfa }, { 0x6f, 0xa8, 0xd2 }, { 0x0a, 0x38, 0x66 } },
        { { 0x1b, 0x1f, 0x25 }, { 0x2d, 0x6b, 0x9c }, { 0xd6, 0xec, 0xff } },
        { { 0xf6, 0xf8, 0xfa }, { 0xe2, 0x96, 0x5a }, { 0x8a, 0x30, 0x08 } }, /* below 0 */
        { { 0x1b, 0x1f, 0x25 }, { 0xb0, 0x5a, 0x1e }, { 0xff, 0xe0, 0xc4 } }
    };
    const double u = fmin(fabs(shade), 1) * (pale ? 0.8 : 2);
    const int k = u >= 1, of = dark + (shade < 0 ? 2 : 0);
    unsigned rgb = 0;

    for (int c = 0; c < 3; c++)
        rgb = rgb << 8 | (unsigned)lround(stop[of][k][c] +
                                          (u - k) * (stop[of][k + 1][c] - stop[of][k][c]));
    return rgb;
}

unsigned figure_cell_rgb(const struct series *s, size_t i, double shade, bool pale, bool dark)
{
    unsigned rgb = 0;

    if (s->group == NULL)
        return figure_ramp(shade, pale, dark);
    const double p = fmin(fmax(s->y2[i], 0), 1), part = 0.1 + 0.35 * p * p;
    const unsigned hue = figure_rgb(s->group[i] >= 0 ? s->group[i] : -2, dark);
    const unsigned under = figure_rgb(-4, dark);
    for (int k = 16; k >= 0; k -= 8)
        rgb = rgb << 8 |
              (unsigned)lround(part * (hue >> k & 255) + (1 - part) * (under >> k & 255));
    return rgb;
}

unsigned figure_ink(unsigned rgb)
{
    const double luma = 0.299 * (rgb >> 16 & 255) + 0.587 * (rgb >> 8 & 255) + 0.114 * (rgb & 255);

    return luma > 140 ? 0x1a1a1a : 0xffffff;
}

size_t figure_digits(const struct series *s)
{
    size_t most = 0;

    for (size_t i = 0; s->count != NULL && i < s->n; i++) {
        const size_t n = (size_t)snprintf(NULL, 0, "%.0f", s->count[i]);
        most = n > most ? n : most;
    }
    return most;
}

unsigned figure_entry_rgb(const struct entry *e, bool dark)
{
    const int n = e->s->classes_in_order;

    return n > 0 && e->group >= 0 && e->group < n
               ? figure_ramp((e->group + 1.0) / n, false, dark)
               : figure_rgb(e->s->faint ? -2 : e->slot, dark);
}

double figure_band_alpha(const struct entry *e)
{
    return 1 - pow(0.78, e->depth + 1);
}
