/* figure/figure_svg.c -- a plain SVG drawing without gnuplot, with the same ranges, ticks and
 * colours. */
#include "figure/figure_layout.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct svg {
    struct buf *b;
    bool dark;
    double x, y, w, h; /* the plot area of the current panel, in pixels */
    double left;       /* room beside it for numbers or words and the label */
    const struct figure_scale *sc;
    bool turned; /* the words along x, for which there is no room beside each other */
};

/* User text, with invisible characters made visible, cut, and escaped for XML. */
static void xml_text(struct buf *b, const char *s, size_t cols)
{
    struct buf safe = { 0 };

    text_safe(&safe, s != NULL ? s : "", cols);
    for (const char *p = buf_str(&safe); *p != '\0'; p++) {
        switch (*p) {
        case '&': buf_puts(b, "&amp;"); break;
        case '<': buf_puts(b, "&lt;"); break;
        case '>': buf_puts(b, "&gt;"); break;
        case '"': buf_puts(b, "&quot;"); break;
        case '\'': buf_puts(b, "&#39;"); break;
        default: buf_putc(b, *p);
        }
    }
    buf_free(&safe);
}

static void words(struct svg *v, double x, double y, const char *anchor, const char *more,
                  const char *s, size_t cols)
{
    if (s == NULL || *s == '\0')
        return;
    buf_printf(v->b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
    xml_text(v->b, s, cols);
    buf_puts(v->b, "</text>\n");
}

static double px(const struct svg *v, double x)
{
    return v->x + figure_place(x, v->sc->xlo, v->sc->xhi, v->sc->xlog) * v->w;
}

static double py(const struct svg *v, double y)
{
    return v->y + (1 - figure_place(y, v->sc->ylo, v->sc->yhi, v->sc->ylog)) * v->h;
}

static bool near(const struct svg *v, double x, double y)
{
    return fabs(x - v->x) < 30 * v->w && fabs(y - v->y) < 30 * v->h; /* false for NaN */
}

static void line(struct svg *v, double x0, double y0, double x1, double y1, int slot)
{
    buf_printf(v->b, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#%06x\"/>\n", x0, y0, x1, y1,
               figure_rgb(slot, v->dark));
}

static void axes(struct svg *v, const struct figure *f)
{
    const struct ticks *xt = &v->sc->xt, *yt = &v->sc->yt;

    for (size_t i = 0; i < xt->n; i++) {
        const double x = px(v, xt->at[i]);
        if (!(x >= v->x - 0.5 && x <= v->x + v->w + 0.5))
            continue;
        line(v, x, v->y, x, v->y + v->h, -3);
        if (v->turned) {
            struct buf turn = { 0 };
            buf_printf(&turn, " transform=\"rotate(40 %.1f %.1f)\"", x - 3, v->y + v->h + 14);
            words(v, x - 3, v->y + v->h + 14, "start", buf_str(&turn), xt->text[i], 0);
            buf_free(&turn);
        } else {
            words(v, x, v->y + v->h + 18, "middle", "", xt->text[i], 0);
        }
    }
    for (size_t i = 0; i < yt->n; i++) {
        const double y = py(v, yt->at[i]);
        if (!(y >= v->y - 0.5 && y <= v->y + v->h + 0.5))
            continue;
        line(v, v->x, y, v->x + v->w, y, -3);
        words(v, v->x - 8, y + 4, "end", "", yt->text[i], 0);
    }
    line(v, v->x, v->y, v->x, v->y + v->h, -2);
    line(v, v->x, v->y + v->h, v->x + v->w, v->y + v->h, -2);
    words(v, v->x + v->w / 2, v->y + v->h + (v->turned ? 80 : 38), "middle", "", f->x.label, 80);
    words(v, v->x + v->w / 2, v->y - 12, "middle", "", figure_headline(f), 90);
    const double lx = v->x - v->left + 26, ly = v->y + v->h / 2;
    struct buf turn = { 0 };
    buf_printf(&turn, " transform=\"rotate(-90 %.1f %.1f)\"", lx, ly);
    words(v, lx, ly, "middle", buf_str(&turn), f->y.label, 50);
    buf_free(&turn);
}

static void polyline(struct svg *v, const struct series *s)
{
    bool pen = false;

    buf_puts(v->b, "<path d=\"");
    for (size_t i = 0; i < s->n; i++) {
        const double x = px(v, figure_x(s, i)), y = py(v, s->y[i]);
        const bool ok = near(v, x, y);
        if (ok && pen && s->mark == MARK_STAIRS)
            buf_printf(v->b, "H%.1f", x);
        if (ok)
            buf_printf(v->b, "%c%.1f %.1f", pen ? 'L' : 'M', x, y);
        pen = ok;
    }
    buf_puts(v->b, "\"/>\n");
}

static void outline(struct svg *v, const struct series *s)
{
    const double half = figure_half_bar(s);
    bool pen = false;

    buf_puts(v->b, "<path d=\"");
    for (size_t i = 0; i < s->n; i++) {
        const double x0 = px(v, figure_x(s, i) - half), x1 = px(v, figure_x(s, i) + half);
        const double y = py(v, s->y[i]);
        if (!near(v, x0, y) || !near(v, x1, y))
            continue;
        buf_printf(v->b, "%c%.1f %.1fL%.1f %.1f", pen ? 'L' : 'M', x0, y, x1, y);
        pen = true;
    }
    buf_puts(v->b, "\"/>\n");
}

static void blocks(struct svg *v, const struct figure *f, const struct series *s)
{
    const double half = figure_bar(f, s);
    const struct figure_scale *sc = v->sc;
    const double foot = sc->ylog || sc->ylo > 0 ? sc->ylo : sc->yhi < 0 ? sc->yhi : 0;

    for (size_t i = 0; i < s->n; i++) {
        const double x0 = px(v, figure_x(s, i) - half), x1 = px(v, figure_x(s, i) + half);
        const double y0 = py(v, foot), y1 = py(v, s->y[i]);
        if (near(v, x0, y0) && near(v, x1, y1))
            buf_printf(v->b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x0,
                       fmin(y0, y1), fmax(x1 - x0, 0.5), fabs(y1 - y0));
    }
}

static void area(struct svg *v, const struct series *s)
{
    for (size_t i = 0; i + 1 < s->n; i++) {
        const double x0 = px(v, figure_x(s, i)), x1 = px(v, figure_x(s, i + 1));
        const double a = py(v, s->y[i]), b = py(v, s->y[i + 1]);
        const double c = py(v, s->y2[i + 1]), d = py(v, s->y2[i]);
        if (near(v, x0, a) && near(v, x1, b) && near(v, x1, c) && near(v, x0, d))
            buf_printf(v->b, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"/>\n", x0, a, x1,
                       b, x1, c, x0, d);
    }
}

static void surface(struct svg *v, const struct figure *f, const struct series *s)
{
    const bool pale = figure_has_lines(f);
    double lowest, highest, ex[2], ey[2];

    figure_heights(s, &lowest, &highest);
    for (size_t i = 0; i < s->n; i++) {
        const double u = figure_shade(s, i, lowest, highest);
        figure_cell(s, &f->x, s->x[i], true, ex);
        figure_cell(s, &f->y, s->y[i], false, ey);
        const double x0 = px(v, ex[0]), x1 = px(v, ex[1]), y0 = py(v, ey[0]), y1 = py(v, ey[1]);
        if (isnan(u) || !near(v, x0, y0) || !near(v, x1, y1))
            continue;
        buf_printf(v->b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                   "fill=\"#%06x\"/>\n", x0, y1, x1 - x0 + 0.5, y0 - y1 + 0.5,
                   figure_cell_rgb(s, i, u, pale, v->dark));
        if (figure_hatched(s, i)) /* a stroke through the cell: recognisable without colour */
            line(v, x0, y0, x1, y1,
                 /* The background colour if the cell has the colour of text. */
                 fabs(u) > 0.6 ? -4 : -1);
    }
}

/* The numbers of a table's cells where they fit. */
static void counts(struct svg *v, const struct figure *f, const struct series *s)
{
    const double cw = v->w / (double)s->across;
    const double ch = v->h * (double)s->across / (double)s->n;
    const double font = fmin(fmin(cw / (0.65 * (double)figure_digits(s)), 0.8 * ch), 13);
    double lowest, highest;
    char more[64], text[32];

    if (s->count == NULL || font < 5)
        return;
    figure_heights(s, &lowest, &highest);
    for (size_t i = 0; i < s->n; i++) {
        const double u = figure_shade(s, i, lowest, highest);
        if (s->count[i] == 0 || isnan(u))
            continue;
        snprintf(more, sizeof more, " font-size=\"%.1f\" fill=\"#%06x\"", font,
                 figure_ink(figure_cell_rgb(s, i, u, figure_has_lines(f), v->dark)));
        snprintf(text, sizeof text, "%.0f", s->count[i]);
        words(v, px(v, s->x[i]), py(v, s->y[i]) + 0.35 * font, "middle", more, text, 0);
    }
}

/* Filled signs, hollow ones (whose group sets the stroke), then strokes. */
static void sign(struct svg *v, double x, double y, int look, double r)
{
    const double a = 1.4 * r;

    switch (look % LAYOUT_LOOKS < 2 * 4 ? look % 4 : look % LAYOUT_LOOKS - 4) {
    case 1:
        buf_printf(v->b, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>\n", x, y - r, r, 1.8 * r,
                   -2 * r);
        break;
    case 2:
        buf_printf(v->b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x - r,
                   y - r, 2 * r, 2 * r);
        break;
    case 3:
        buf_printf(v->b, "<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"/>\n", x, y - r, r,
                   r, -r, r, -r, -r);
        break;
    case 4:
        buf_printf(v->b, "<path d=\"M%.1f %.1fv%.1fM%.1f %.1fh%.1f\"/>\n", x, y - a, 2 * a, x - a,
                   y, 2 * a);
        break;
    case 5:
        buf_printf(v->b, "<path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/>\n", x - a, y - a,
                   2 * a, 2 * a, -2 * a, -2 * a, 2 * a);
        break;
    case 6:
        buf_printf(v->b, "<path d=\"M%.1f %.1fv%.1f\"/>\n", x, y - a, 2 * a);
        break;
    case 7:
        buf_printf(v->b, "<path d=\"M%.1f %.1fh%.1f\"/>\n", x - a, y, 2 * a);
        break;
    default:
        buf_printf(v->b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", x, y, r);
    }
}

static void signs(struct svg *v, const struct entry *e, size_t every, double r)
{
    for (size_t i = 0; i < e->s->n; i += every) {
        if (e->group >= 0 && e->s->group[i] != e->group)
            continue;
        const double x = px(v, figure_x(e->s, i)), y = py(v, e->s->y[i]);
        if (near(v, x, y))
            sign(v, x, y, e->look, r);
    }
}

/* Reference lines differ by their dashes. */
static const char *dashes(const struct entry *e)
{
    static const char *const rule[] = { " stroke-dasharray=\"7 5\"",
                                        " stroke-dasharray=\"7 3 2 3\"",
                                        " stroke-dasharray=\"2 3\"" };
    return rule[e->id == 0 ? e->look % 3 : 0];
}

static void curve(struct svg *v, const struct figure *f, const struct entry *e, bool several)
{
    const struct series *s = e->s;
    const unsigned rgb = figure_entry_rgb(e, v->dark);
    if (s->mark == MARK_CELLS) {
        surface(v, f, s);
        counts(v, f, s);
        return;
    }
    const bool filled = s->mark == MARK_POINTS || s->mark == MARK_BARS || s->mark == MARK_BAND;

    if (s->mark == MARK_POINTS && e->look >= 4)
        buf_printf(v->b, "<g fill=\"none\" stroke=\"#%06x\" stroke-width=\"1\">\n", rgb);
    else if (filled)
        buf_printf(v->b, "<g fill=\"#%06x\" stroke=\"%s\" fill-opacity=\"%s\">\n", rgb, "none",
                   s->mark == MARK_BAND ? "0.22" : s->mark == MARK_BARS ? "0.6" : "0.8");
    else
        buf_printf(v->b, "<g fill=\"none\" stroke=\"#%06x\" stroke-width=\"%s\"%s>\n", rgb,
                   s->faint ? "1.2" : "2",
                   s->dashed || e->id == 0 || (s->mark == MARK_STEPS && e->look % 2)
                       ? dashes(e) : "");
    if (s->mark == MARK_HLINE && near(v, v->x, py(v, s->n > 0 ? s->y[0] : NAN)))
        line(v, v->x, py(v, s->y[0]), v->x + v->w, py(v, s->y[0]), s->faint ? -2 : e->slot);
    else if (s->mark == MARK_VLINE && near(v, px(v, s->n > 0 ? figure_x(s, 0) : NAN), v->y))
        line(v, px(v, figure_x(s, 0)), v->y, px(v, figure_x(s, 0)), v->y + v->h,
             s->faint ? -2 : e->slot);
    else if (s->mark == MARK_BARS)
        blocks(v, f, s);
    else if (s->mark == MARK_STEPS)
        outline(v, s);
    else if (s->mark == MARK_BAND && s->y2 != NULL)
        area(v, s);
    else if (s->mark == MARK_POINTS)
        signs(v, e, 1, s->n > 800 ? 1.2 : s->n > 150 ? 2 : 3.5);
    else if (s->mark == MARK_LINE || s->mark == MARK_LINEPOINTS || s->mark == MARK_STAIRS)
        polyline(v, s);
    buf_puts(v->b, "</g>\n");
    const bool marked = s->mark == MARK_LINE && several && !s->dashed;
    if (e->id != 0 && (s->mark == MARK_LINEPOINTS || marked)) {
        buf_printf(v->b, "<g fill=\"#%06x\">\n", rgb);
        signs(v, e, s->mark == MARK_LINEPOINTS ? 1 : s->n / 9 + 1, 3.5);
        buf_puts(v->b, "</g>\n");
    }
}

/* What the key says of an entry; a surface has a colour bar instead. */
static void key_title(const struct entry *e, struct buf *b)
{
    if (e->s->mark != MARK_CELLS || e->s->sign != 0)
        figure_entry_title(e, b);
}

/* Draws the colour bar of a surface below the key, from y to the foot of the plot. */
static void color_bar(struct svg *v, const struct figure *f, double x, double y)
{
    enum { STEPS = 32 };
    struct color_bar bar;

    if (!figure_color_bar(f, &bar))
        return;
    words(v, x, y + 4, "start", "", bar.title, 30);
    y += 16;
    const double h = fmax(fmin(v->y + v->h - y, 220), 60), step = h / STEPS;
    for (int k = 0; k < STEPS; k++)
        buf_printf(v->b, "<rect x=\"%.1f\" y=\"%.2f\" width=\"14\" height=\"%.2f\" "
                   "fill=\"#%06x\"/>\n", x, y + h - (k + 1) * step, step + 0.3,
                   figure_ramp(bar.lo + (1 - bar.lo) * (k + 0.5) / STEPS, bar.pale, v->dark));
    for (size_t i = 0; i < bar.n; i++)
        words(v, x + 20, y + h - h * (bar.at[i] - bar.lo) / (1 - bar.lo) + 4, "start", "",
              bar.text[i], 0);
}

/* Draws the key to the right of the plot, and below it the colour bar. */
static void key(struct svg *v, const struct panel *p, double x)
{
    double y = v->y + 8;

    for (size_t i = 0; i < p->ne; i++) {
        struct buf t = { 0 };
        key_title(&p->e[i], &t);
        if (t.len > 0) {
            const int way = p->e[i].s->sign;
            const unsigned rgb = way != 0
                                     ? figure_ramp(0.6 * way, false, v->dark)
                                     : figure_entry_rgb(&p->e[i], v->dark);
            char fill[16] = "none";
            const bool hollow = p->e[i].s->mark == MARK_POINTS && p->e[i].look >= 4;
            if (!hollow)
                snprintf(fill, sizeof fill, "#%06x", rgb);
            buf_printf(v->b, "<g fill=\"%s\" stroke=\"#%06x\" stroke-width=\"%s\"%s>", fill, rgb,
                       hollow ? "1" : "2",
                       p->e[i].s->dashed || p->e[i].id == 0 ? dashes(&p->e[i]) : "");
            if (p->e[i].s->mark == MARK_POINTS)
                sign(v, x + 10, y, p->e[i].look, 3.5);
            else if (p->e[i].s->mark == MARK_BAND || p->e[i].s->mark == MARK_BARS ||
                     p->e[i].s->mark == MARK_CELLS)
                buf_printf(v->b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"9\" "
                           "stroke=\"none\" fill-opacity=\"%.2f\"/>", x, y - 5,
                           p->e[i].s->mark == MARK_BAND ? figure_band_alpha(&p->e[i]) : 0.6);
            else
                buf_printf(v->b, "<path d=\"M%.1f %.1fh20\"/>", x, y);
            if (way < 0)
                buf_printf(v->b,
                           "<path d=\"M%.1f %.1fl20 -9\" stroke-width=\"1\" stroke=\"#%06x\"/>", x,
                           y + 4, figure_rgb(-1, v->dark));
            buf_puts(v->b, "</g>\n");
            words(v, x + 26, y + 4, "start", "", buf_str(&t), 30);
            y += 18;
        }
        buf_free(&t);
    }
    color_bar(v, p->f, x, y);
}

static double key_width(const struct panel *p)
{
    size_t most = 0;

    for (size_t i = 0; i < p->ne; i++) {
        struct buf t = { 0 };
        key_title(&p->e[i], &t);
        const size_t n = text_width(buf_str(&t));
        most = n > most ? n : most;
        buf_free(&t);
    }
    struct color_bar bar;
    if (figure_color_bar(p->f, &bar)) {
        const size_t n = text_width(bar.title);
        most = n > most ? n : most < 8 ? 8 : most;
    }
    return most > 0 ? 36 + 7.5 * (double)(most > 30 ? 30 : most) : 0;
}

static void reason(struct svg *v, const struct figure *f, double cx, double cy)
{
    struct buf safe = { 0 };

    text_safe(&safe, figure_panel_nothing(f), 0);
    for (const char *s = buf_str(&safe); *s != '\0'; cy += 20) {
        const size_t k = figure_line(s, 70);
        if (k == 0)
            break;
        struct buf part = { 0 };
        buf_putn(&part, s, k);
        words(v, cx, cy, "middle", "", buf_str(&part), 0);
        buf_free(&part);
        s += k;
        s += *s == ' ';
    }
    buf_free(&safe);
}

/* The scale of the panel. Turns the words along x, and makes room for them, rather than leave some
 * out. */
static void scale(struct svg *v, const struct figure *f, struct figure_scale *sc)
{
    enum { TURNED = 16, ROOM = 42 }; /* pixels between turned words, and below the plot */
    const size_t ny = (size_t)(v->h / (f->y.nname > 0 ? 16 : 45));
    size_t letters = 0;

    v->turned = false;
    if (f->x.nname == 0) {
        figure_scale_fit(f, (size_t)(v->w / 60), ny, v->w, 7, sc);
        return;
    }
    figure_scale(f, (size_t)(v->w / TURNED), ny, sc);
    for (size_t i = 0; i < sc->xt.n; i++)
        letters += strlen(sc->xt.text[i]) + 2;
    v->turned = 7 * (double)letters > v->w;
    if (v->turned)
        v->h = fmax(v->h - ROOM, 20);
}

/* Words on the vertical axis may be longer than numbers. */
static double left_of(const struct figure *f)
{
    enum { LETTERS = 15 }; /* of struct ticks */
    size_t most = 0;

    for (size_t i = 0; i < f->y.nname; i++) {
        const size_t n = strnlen(f->y.name[i], LETTERS);
        most = n > most ? n : most;
    }
    return fmax(84, 7 * (double)most + 42);
}

static void panel_svg(struct svg *v, const struct figure *f, double x, double y, double w, double h,
                      size_t index)
{
    struct figure_scale sc;
    struct panel *p = mem_calloc(1, sizeof *p, "a plot", NULL);
    size_t lines = 0;

    if (p == NULL) {
        v->b->failed = true;
        return;
    }
    if (figure_panel_nothing(f) != NULL) {
        reason(v, f, x + w / 2, y + h / 2);
        free(p);
        return;
    }
    p->f = f;
    p->ne = figure_entries(f, p->e);
    double kw = key_width(p);
    kw = kw > w / 3 ? w / 3 : kw;
    v->left = left_of(f);
    v->x = x + v->left;
    v->y = y + 36;
    v->w = fmax(w - v->left - 24 - kw, 20);
    v->h = fmax(h - 36 - 56, 20);
    if (f->square)
        v->w = v->h = fmin(v->w, v->h);
    scale(v, f, &sc);
    v->sc = &sc;
    axes(v, f);
    buf_printf(v->b, "<clipPath id=\"c%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
               "height=\"%.1f\"/></clipPath>\n<g clip-path=\"url(#c%zu)\">\n", index, v->x - 1,
               v->y - 1, v->w + 2, v->h + 2, index);
    for (size_t i = 0; i < p->ne; i++)
        lines += p->e[i].id != 0 && p->e[i].s->mark == MARK_LINE;
    for (int k = 0; k < LAYERS; k++)
        for (size_t i = 0; i < p->ne; i++)
            if (figure_layer(p->e[i].s) == k)
                curve(v, f, &p->e[i], lines > 1);
    buf_puts(v->b, "</g>\n");
    key(v, p, v->x + v->w + 14);
    free(p);
}

void figure_svg(const struct figure *f, size_t w, size_t h, bool dark, struct buf *out)
{
    struct svg v = { .b = out, .dark = dark };
    struct figure *thin = figure_copy(f, NULL);
    size_t n = 0, i = 0;

    if (thin == NULL || figure_thin(thin, 8000, NULL) != ST_OK) {
        out->failed = true;
        figure_free(thin);
        return;
    }
    for (const struct figure *p = thin; p != NULL; p = p->next)
        n++;
    const size_t across = thin->across > 1 ? (thin->across < n ? thin->across : n) : 1;
    const size_t down = (n + across - 1) / across;
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
               "viewBox=\"0 0 %zu %zu\" font-family=\"sans-serif\" font-size=\"13\" "
               "fill=\"#%06x\">\n<rect width=\"%zu\" height=\"%zu\" "
               "fill=\"#%06x\"/>\n",
               w, h, w, h, figure_rgb(-1, dark), w, h, figure_rgb(-4, dark));
    const double pw = (double)w / (double)across, ph = (double)h / (double)down;
    for (const struct figure *p = thin; p != NULL; p = p->next, i++)
        panel_svg(&v, p, pw * (double)(i % across), ph * (double)(i / across), pw, ph, i);
    buf_puts(out, "</svg>\n");
    figure_free(thin);
}
