/* figure/figure_pane.c -- the image in a pane: gnuplot draws only the curves, as a small bitmap (or
 * as characters), and its pixels become the dots of the layout.
 *
 * Every curve has a colour by which it is recognised again. Both terminals place values exactly on
 * the dots of the built-in plot: margins are given in fractions of the last dot, (size - 1). The
 * bitmap terminal rounds its size up to a multiple of 8. */
#include "figure/figure_layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t n)
{
    return (n + 7) / 8 * 8;
}

/* Colours of linetypes 1..8 of "pbm color". */
static const unsigned char bitmap_rgb[LAYOUT_IDS][3] = {
    { 255, 85, 85 },  { 85, 255, 85 },  { 85, 85, 255 }, { 255, 85, 255 },
    { 85, 255, 255 }, { 255, 255, 85 }, { 170, 0, 0 },   { 0, 170, 0 }
};
/* For "dumb ansi256": the requested colour, and the number that appears in the output. */
static const struct {
    unsigned rgb;
    int code;
} dumb_color[LAYOUT_IDS] = { { 0xff0000, 196 }, { 0x00ff00, 46 },  { 0x0000ff, 21 },
                             { 0xffff00, 226 }, { 0xff00ff, 201 }, { 0x00ffff, 51 },
                             { 0xff8700, 214 }, { 0x8700ff, 129 } };

/* Writing. */

#define END_MARK "GPX7Q"

static void numbers(struct buf *b, double x, double y)
{
    if (isfinite(x) && isfinite(y))
        buf_printf(b, "%.9g %.9g\n", x, y);
    else
        buf_putc(b, '\n');
}

/* The value at a place 0..1 of an axis. */
static double value_at(double u, double lo, double hi, bool log)
{
    return log ? pow(10, log10(lo) + u * (log10(hi) - log10(lo))) : lo + u * (hi - lo);
}

static double column_x(const struct layout *l, const struct panel *p, double column)
{
    return value_at(column / (double)(p->w * l->sx - 1), p->sc.xlo, p->sc.xhi, p->sc.xlog);
}

/* A value as gnuplot should see it: NaN if it cannot be drawn. */
static double shown(double v, bool log)
{
    return isfinite(v) && fabs(v) <= 1e300 && (!log || v > 0) ? v : NAN;
}

static void upright(struct buf *b, const struct figure_scale *sc, double x, double y0, double y1)
{
    numbers(b, x, fmin(fmax(y0, sc->ylo), sc->yhi));
    numbers(b, x, fmin(fmax(y1, sc->ylo), sc->yhi));
    buf_putc(b, '\n');
}

/* Neither terminal fills areas well, so bars are vertical lines, one for each column of dots. */
static void bars(const struct layout *l, const struct panel *p, const struct series *s,
                 struct buf *b)
{
    const struct figure_scale *sc = &p->sc;
    const double half = figure_bar(p->f, s), last = (double)(p->w * l->sx - 1);
    const double foot = sc->ylog || sc->ylo > 0 ? sc->ylo : sc->yhi < 0 ? sc->yhi : 0;

    for (size_t i = 0; i < s->n; i++) {
        const double x = figure_x(s, i), y = shown(s->y[i], sc->ylog);
        double a = figure_place(x - half, sc->xlo, sc->xhi, sc->xlog) * last;
        double c = figure_place(x + half, sc->xlo, sc->xhi, sc->xlog) * last;
        if (isnan(y) || y == foot || isnan(c))
            continue;
        a = isnan(a) || a < 0 ? 0 : round(a);
        c = fmin(round(c), last + 1);
        c = c - a >= 4 ? c - 2 : c > a ? c - 1 : a;
        for (double k = a; k <= c; k++)
            upright(b, sc, column_x(l, p, k), foot, y);
    }
}

/* Writes the dots of a band in one column, between two places 0..1 of the axis: its edges, and
 * sparse dots between them (layout_in_band), so that curves on it remain visible. */
static void band_dots(const struct layout *l, const struct panel *p, int depth, long column,
                      double from, double to, struct buf *b)
{
    const struct figure_scale *sc = &p->sc;
    const double last = (double)(p->h * l->sy - 1), x = column_x(l, p, (double)column);
    const long lo = lround(fmax(0, fmin(from, to)) * last),
               hi = lround(fmin(1, fmax(from, to)) * last);

    /* Counted from the bottom; layout_in_band counts from the top. */
    for (long y = lo; y <= hi; y++)
        if (layout_in_band(column, lround(last) - y,
                           y == lround(from * last) || y == lround(to * last), depth)) {
            const double at = value_at((double)y / last, sc->ylo, sc->yhi, sc->ylog);
            upright(b, sc, x, at, at);
        }
}

/* Characters: every second column is hatched. */
static void band(const struct layout *l, const struct panel *p, const struct entry *e,
                 struct buf *b)
{
    const struct series *s = e->s;
    const struct figure_scale *sc = &p->sc;
    const double last = (double)(p->w * l->sx - 1), step = 2;

    for (size_t i = 0; i + 1 < s->n; i++) {
        const double a = figure_place(figure_x(s, i), sc->xlo, sc->xhi, sc->xlog) * last;
        const double c = figure_place(figure_x(s, i + 1), sc->xlo, sc->xhi, sc->xlog) * last;
        const double v[4] = { shown(s->y[i], sc->ylog), shown(s->y[i + 1], sc->ylog),
                              shown(s->y2[i], sc->ylog), shown(s->y2[i + 1], sc->ylog) };
        if (!(c > a) || isnan(v[0] + v[1] + v[2] + v[3]))
            continue;
        for (double k = fmax(0, ceil(a / step) * step); k <= fmin(c, last); k += step) {
            const double t = (k - a) / (c - a);
            const double y0 = v[0] + t * (v[1] - v[0]), y1 = v[2] + t * (v[3] - v[2]);
            if (l->style.utf8)
                band_dots(l, p, e->depth, lround(k), figure_place(y0, sc->ylo, sc->yhi, sc->ylog),
                          figure_place(y1, sc->ylo, sc->yhi, sc->ylog), b);
            else
                upright(b, sc, column_x(l, p, k), y0, y1);
        }
    }
}

static void steps(const struct panel *p, const struct series *s, struct buf *b)
{
    const struct figure_scale *sc = &p->sc;
    const double half = figure_half_bar(s);
    const double foot = sc->ylog || sc->ylo > 0 ? sc->ylo : sc->yhi < 0 ? sc->yhi : 0;
    double end = NAN;

    for (size_t i = 0; i < s->n; i++) {
        const double x = shown(figure_x(s, i), false), y = shown(s->y[i], sc->ylog);
        if (isnan(x) || isnan(y) || (sc->xlog && x - half <= 0))
            continue;
        if (isnan(end))
            numbers(b, x - half, foot);
        numbers(b, x - half, y);
        numbers(b, x + half, y);
        end = x + half;
    }
    numbers(b, end, foot);
}

/* Dashes are cut here, because the bitmap terminal draws every line solid. */
static void dashes(const struct layout *l, const struct panel *p, const struct series *s,
                   struct buf *b)
{
    enum { ON = 5, PERIOD = 8, MOST = 4000 };
    const struct figure_scale *sc = &p->sc;
    const double w = (double)(p->w * l->sx), h = (double)(p->h * l->sy);
    double walked = 0;
    size_t pieces = 0;

    for (size_t i = 0; i + 1 < s->n; i++) {
        const double u0 = figure_place(figure_x(s, i), sc->xlo, sc->xhi, sc->xlog);
        const double u1 = figure_place(figure_x(s, i + 1), sc->xlo, sc->xhi, sc->xlog);
        const double v0 = figure_place(s->y[i], sc->ylo, sc->yhi, sc->ylog);
        const double v1 = figure_place(s->y[i + 1], sc->ylo, sc->yhi, sc->ylog);
        const double length = fmax(fabs(u1 - u0) * w, fabs(v1 - v0) * h);
        if (!(length >= 0) || length > 1e5)
            continue;
        for (double at = 0; at < length && pieces < MOST; pieces++) {
            const double phase = fmod(walked + at, PERIOD);
            const double end = fmin(length, at + (phase < ON ? ON : PERIOD) - phase + 1e-9);
            if (phase < ON) {
                for (int k = 0; k < 2; k++) {
                    const double t = (k == 0 ? at : end) / length;
                    numbers(b, value_at(u0 + t * (u1 - u0), sc->xlo, sc->xhi, sc->xlog),
                            value_at(v0 + t * (v1 - v0), sc->ylo, sc->yhi, sc->ylog));
                }
                buf_putc(b, '\n');
            }
            at = end;
        }
        walked = fmod(walked + length, PERIOD);
    }
}

static void plain(const struct panel *p, const struct entry *e, struct buf *b)
{
    const struct series *s = e->s;

    for (size_t i = 0; i < s->n; i++) {
        if (s->mark == MARK_STAIRS && i > 0)
            numbers(b, shown(figure_x(s, i), p->sc.xlog), shown(s->y[i - 1], p->sc.ylog));
        if (e->group < 0 || s->group[i] == e->group)
            numbers(b, shown(figure_x(s, i), p->sc.xlog), shown(s->y[i], p->sc.ylog));
    }
}

static void data(const struct layout *l, const struct panel *p, const struct entry *e, size_t index,
                 struct buf *b)
{
    buf_printf(b, "$p%zu << " END_MARK "\n", index);
    switch (e->s->mark) {
    case MARK_BARS:
        bars(l, p, e->s, b);
        break;
    case MARK_STEPS:
        steps(p, e->s, b);
        break;
    case MARK_BAND:
        if (e->s->y2 != NULL)
            band(l, p, e, b);
        break;
    default:
        if (e->s->dashed && l->style.utf8 && e->s->mark != MARK_POINTS &&
            e->s->mark != MARK_STAIRS)
            dashes(l, p, e->s, b);
        else
            plain(p, e, b);
    }
    /* A point outside the plot, because an empty block would be an error. */
    buf_printf(b, "\n%.9g %.9g\n" END_MARK "\n", p->sc.xlo,
               p->sc.ylog ? p->sc.yhi * 10 : p->sc.yhi + (p->sc.yhi - p->sc.ylo));
}

static void panel(const struct layout *l, const struct panel *p, struct buf *b)
{
    const double w = (double)(l->w * l->sx - 1);
    const double h = (double)((l->style.utf8 ? round_up(l->h * l->sy) : l->h) - 1);
    const double left = (double)(p->x * l->sx), top = (double)(p->y * l->sy);
    const double right = left + (double)(p->w * l->sx - 1);
    const double bottom = top + (double)(p->h * l->sy - 1);
    const struct figure_scale *sc = &p->sc;

    if (right <= left || bottom <= top)
        return;
    buf_printf(b, "set lmargin at screen %.9g\nset rmargin at screen %.9g\n", left / w, right / w);
    buf_printf(b, "set tmargin at screen %.9g\nset bmargin at screen %.9g\n", (h - top) / h,
               (h - bottom) / h);
    buf_printf(b, "%sset logscale x\n%sset logscale y\n", sc->xlog ? "" : "un",
               sc->ylog ? "" : "un");
    buf_printf(b, "set xrange [%.9g:%.9g] noextend\nset yrange [%.9g:%.9g] noextend\n", sc->xlo,
               sc->xhi, sc->ylo, sc->yhi);
    for (size_t i = 0; i < p->ne; i++)
        if (p->e[i].id != 0 && p->e[i].s->mark != MARK_CELLS)
            data(l, p, &p->e[i], i, b);
    const char *sep = "plot ";
    for (int k = 0; k < LAYERS; k++)
        for (size_t i = 0; i < p->ne; i++) {
            const struct entry *e = &p->e[i];
            if (e->id == 0 || figure_layer(e->s) != k || e->s->mark == MARK_CELLS)
                continue;
            const char *dots = l->style.utf8 ? "dots" : "points pt 1";
            buf_printf(b, "%s$p%zu u 1:2 w %s ", sep, i,
                       e->s->mark != MARK_POINTS ? "lines" : dots);
            if (l->style.utf8)
                buf_printf(b, "lt %d", e->id);
            else
                buf_printf(b, "lc rgb '#%06x'", dumb_color[e->id - 1].rgb);
            sep = ", ";
        }
    buf_puts(b, *sep == ',' ? "\n" : "");
}

void layout_gnuplot(const struct layout *l, struct buf *out)
{
    buf_puts(out, "unset multiplot\nreset\nset encoding utf8\n");
    if (l->style.utf8)
        buf_printf(out, "set term pbm color small size %zu,%zu\n", l->w * l->sx,
                   round_up(l->h * l->sy));
    else
        buf_printf(out, "set term dumb size %zu,%zu ansi256\n", l->w, l->h);
    buf_puts(out, "set output\nunset key\nunset tics\nunset border\nset multiplot\n");
    for (size_t i = 0; i < l->np; i++)
        if (l->p[i].f->reason == NULL && l->p[i].f->listing == NULL &&
            figure_has_values(l->p[i].f))
            panel(l, &l->p[i], out);
    buf_puts(out, "unset multiplot\nset output\n");
}

/* Reading. */

size_t layout_read_limit(const struct layout *l)
{
    const size_t dots = round_up(l->w * l->sx) * round_up(l->h * l->sy);
    return (l->style.utf8 ? 3 : 24) * dots + 65536;
}

static unsigned char rgb_id(const unsigned char *c)
{
    for (unsigned char i = 0; i < LAYOUT_IDS; i++)
        if (memcmp(c, bitmap_rgb[i], 3) == 0)
            return i + 1;
    return 0;
}

/* Enlarges the dots if there are few points, as in the built-in plot. */
static void enlarge(struct layout *l, const struct panel *p, unsigned char id)
{
    const size_t stride = l->w * l->sx, x0 = p->x * l->sx, y0 = p->y * l->sy;

    for (size_t y = y0 + p->h * l->sy - 1; y-- > y0;)
        for (size_t x = x0 + p->w * l->sx - 1; x-- > x0;) {
            unsigned char *d = l->raster + y * stride + x;
            if (*d != id)
                continue;
            d[1] = d[1] == 0 ? id : d[1];
            d[stride] = d[stride] == 0 ? id : d[stride];
            d[stride + 1] = d[stride + 1] == 0 ? id : d[stride + 1];
        }
}

static bool read_bitmap(struct layout *l, const char *bytes, size_t n)
{
    const size_t w = round_up(l->w * l->sx), h = round_up(l->h * l->sy);
    char head[64];

    const int len = snprintf(head, sizeof head, "P6\n%zu %zu\n255\n", w, h);
    const char *at = memmem(bytes, n, head, (size_t)len);
    if (at == NULL || (size_t)(bytes + n - at) < (size_t)len + 3 * w * h)
        return false;
    const unsigned char *px = (const unsigned char *)at + len;
    for (size_t y = 0; y < l->h * l->sy; y++)
        for (size_t x = 0; x < l->w * l->sx; x++)
            l->raster[y * l->w * l->sx + x] = rgb_id(px + 3 * (y * w + x));
    for (size_t i = 0; i < l->np; i++)
        for (size_t k = 0; k < l->p[i].ne; k++) {
            const struct entry *e = &l->p[i].e[k];
            if (e->id != 0 && e->s->mark == MARK_POINTS && e->s->n <= 200)
                enlarge(l, &l->p[i], e->id);
        }
    return true;
}

/* Reads h lines of w cells after a form feed. Colours come as CSI .. m; all other controls are
 * dropped. */
static bool read_dumb(struct layout *l, const char *bytes, size_t n)
{
    const char *p = memchr(bytes, '\f', n), *end = bytes + n;
    size_t x = 0, y = 0;
    unsigned char id = 0;

    if (p == NULL)
        return false;
    for (p++; p < end && y < l->h; p++) {
        if (*p == '\x1b' && p + 1 < end && p[1] == '[') {
            const char *q = p + 2;
            while (q < end && (*q == ';' || (*q >= '0' && *q <= '9')))
                q++;
            int code = 0;
            if (q < end && *q == 'm' && sscanf(p + 2, "38;5;%d", &code) == 1) {
                id = 0;
                for (unsigned char i = 0; i < LAYOUT_IDS; i++)
                    id = dumb_color[i].code == code ? i + 1 : id;
            } else {
                id = 0;
            }
            p = q < end ? q : end - 1;
        } else if (*p == '\n') {
            y++;
            x = 0;
        } else if ((unsigned char)*p >= 0x20) {
            if (x < l->w)
                l->raster[y * l->w + x] = *p != ' ' ? id : 0;
            x += ((unsigned char)*p & 0xc0) != 0x80;
        }
    }
    return y + 1 >= l->h;
}

bool layout_read(struct layout *l, const char *bytes, size_t n)
{
    memset(l->raster, 0, l->w * l->sx * l->h * l->sy);
    if (!(l->style.utf8 ? read_bitmap(l, bytes, n) : read_dumb(l, bytes, n)))
        return false;
    for (size_t i = 0; i < l->np; i++) /* the dots of a surface are ours; gnuplot adds nothing */
        layout_cells(l, &l->p[i]);
    return true;
}
