/* figure/figure_gnuplot.c -- a figure as gnuplot commands. Text goes in and text comes out; nothing
 * is run here.
 *
 * gnuplot has no safe mode: a backquote in double quotes, a lone ' or a newline in single quotes,
 * or a data line that equals the end mark would run a command. Hence user text passes only through
 * figure_gnuplot_quote, data are numbers printed here, the end mark is a constant made of letters,
 * and text appears only where gnuplot takes quoted strings. */
#include "figure/figure_layout.h"
#include "figure/figure_letters.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 13 }; /* size of the letters, in pixels */

/* Length of the valid UTF-8 sequence at s; 0 if there is none. */
static size_t utf8_sequence(const unsigned char *s)
{
    static const unsigned least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
                     : s[0] < 0xf5 ? 4 : 0;
    unsigned u = n == 2 ? s[0] & 0x1fu : n == 3 ? s[0] & 0x0fu : n == 4 ? s[0] & 0x07u : s[0];

    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        u = u << 6 | (s[i] & 0x3fu);
    }
    return n > 1 && (u < least[n] || u > 0x10ffff || (u >= 0xd800 && u < 0xe000)) ? 0 : n;
}

void figure_gnuplot_quote(struct buf *b, const char *text)
{
    const unsigned char *p = (const unsigned char *)(text != NULL ? text : "");

    buf_putc(b, '\'');
    while (*p != '\0') {
        const size_t n = utf8_sequence(p);
        if (n == 0) {
            buf_putc(b, '?');
            p++;
        } else if (*p < 0x20 || *p == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)) {
            /* C0, DEL, C1: ESC would reach a terminal, and a newline ends the line. */
            buf_putc(b, ' ');
            p += n;
        } else if (*p == '\'') {
            /* Not '': gnuplot 5.4 reads ''' as an empty string and the start of another. */
            buf_puts(b, "\u2019");
            p++;
        } else if (p[0] == ']' && p[1] == ']' && p[2] == '>') {
            buf_puts(b, "]] "); /* gnuplot's svg has text in CDATA, which this would end */
            p += 2;
        } else {
            buf_putn(b, (const char *)p, n);
            p += n;
        }
    }
    buf_putc(b, '\'');
}

/* Quotes a title or label: invisible characters are escaped, and what does not fit into so many
 * columns and pixels is cut. */
static void quote_label(struct buf *b, const char *s, size_t cols, double pixels)
{
    struct buf safe = { 0 };

    text_safe(&safe, s != NULL ? s : "", cols);
    const size_t fits = figure_letters_fit(buf_str(&safe), pixels / LETTER);
    if (fits < safe.len) {
        safe.len = figure_letters_fit(buf_str(&safe), pixels / LETTER - 0.7);
        safe.s[safe.len] = '\0';
        buf_puts(&safe, "..");
    }
    figure_gnuplot_quote(b, buf_str(&safe));
    b->failed |= safe.failed;
    buf_free(&safe);
}

#define END_MARK "GPX7Q"

static void number(struct buf *b, double v)
{
    if (isfinite(v))
        buf_printf(b, "%.9g", v);
    else
        buf_puts(b, "NaN");
}

static void numbers(struct buf *b, double x, double y)
{
    number(b, x);
    buf_putc(b, ' ');
    number(b, y);
    buf_putc(b, '\n');
}

/* How a panel is drawn: its scale and its size in pixels. */
struct view {
    struct figure_scale sc;
    double w, h;
    int turned; /* words along x stand beside each other (0), aslant (1) or upright (2) */
    bool dark;
    double font; /* points of a letter in this picture for one of LETTER pixels elsewhere */
};

static bool shown(double v, bool log)
{
    return isfinite(v) && (!log || v > 0) && fabs(v) <= 1e300;
}

static bool shown_at(const struct figure *f, const struct series *s, size_t i)
{
    return shown(figure_x(s, i), f->x.log) && shown(s->y[i], f->y.log) &&
           (s->y2 == NULL || shown(s->y2[i], f->y.log && s->mark != MARK_CELLS));
}

/* Data blocks. */

/* The value at the foot of bars. */
static double foot(const struct figure_scale *sc)
{
    return sc->ylog || sc->ylo > 0 ? sc->ylo : sc->yhi < 0 ? sc->yhi : 0;
}

static void steps_data(const struct figure *f, const struct figure_scale *sc,
                       const struct series *s, struct buf *b)
{
    const double half = figure_half_bar(s);
    bool begun = false;
    double end = 0;

    for (size_t i = 0; i < s->n; i++) {
        const double x = figure_x(s, i);
        if (!shown_at(f, s, i))
            continue;
        if (!begun)
            numbers(b, x - half, foot(sc));
        begun = true;
        end = x + half;
        numbers(b, x - half, s->y[i]);
        numbers(b, end, s->y[i]);
    }
    if (begun)
        numbers(b, end, foot(sc));
}

/* Writes x, y, the edges of each cell, and its colour. The edges reach over the next cell, which is
 * drawn later; otherwise thin lines of the background would show between them. The cell next to one
 * above 0 may be below 0 and in the other series; then the edges overlap only slightly. */
static void cells_data(const struct figure *f, const struct series *s, bool dark, struct buf *b)
{
    const bool pale = figure_has_lines(f);
    const double over = s->sign != 0 ? 0.03 : s->count != NULL ? 0 : 0.3;
    double lowest, highest, ex[2], ey[2];

    figure_heights(s, &lowest, &highest);
    for (size_t i = 0; i < s->n; i++) {
        const double u = figure_shade(s, i, lowest, highest);
        if (isnan(u) || !shown(s->x[i], f->x.log) || !shown(s->y[i], f->y.log))
            continue;
        figure_cell(s, &f->x, s->x[i], true, ex);
        figure_cell(s, &f->y, s->y[i], false, ey);
        buf_printf(b, "%.9g %.9g %.9g %.9g %.9g %.9g %u\n", s->x[i], s->y[i], ex[0],
                   ex[1] + over * (ex[1] - ex[0]), ey[0], ey[1] + over * (ey[1] - ey[0]),
                   figure_cell_rgb(s, i, u, pale, dark));
    }
}

/* The numbers of a table's cells other than 0, each with the colour of its letters. */
static void counts_data(const struct figure *f, const struct series *s, size_t index, bool dark,
                        struct buf *b)
{
    const bool pale = figure_has_lines(f);
    double lowest, highest;

    figure_heights(s, &lowest, &highest);
    buf_printf(b, "$c%zu << " END_MARK "\n", index);
    for (size_t i = 0; i < s->n; i++) {
        const double u = figure_shade(s, i, lowest, highest);
        if (s->count[i] != 0 && !isnan(u))
            buf_printf(b, "%.9g %.9g %.0f %u\n", s->x[i], s->y[i], s->count[i],
                       figure_ink(figure_cell_rgb(s, i, u, pale, dark)));
    }
    buf_puts(b, END_MARK "\n");
}

/* The size of letters that fit into the cells of a table drawn on w x h pixels; 0: none. */
static double counts_font(const struct figure *f, const struct series *s, double w, double h)
{
    const double side = f->square ? fmin(w, h) : 0, digits = (double)figure_digits(s);
    const double cw = (side > 0 ? side : w) / (double)s->across;
    const double ch = (side > 0 ? side : h) / ((double)s->n / (double)s->across);
    const double fit = fmin(fmin(cw / (0.95 * digits), ch / 1.7), 11);

    return s->count == NULL || fit < 4.5 ? 0 : fit;
}

/* Draws a stroke through each visibly shaded cell below 0, so that it can be distinguished from
 * those above without colour. */
static void hatch_data(const struct figure *f, const struct series *s, size_t index, bool dark,
                       struct buf *b)
{
    double ex[2], ey[2];

    buf_printf(b, "$h%zu << " END_MARK "\n", index);
    for (size_t i = 0; i < s->n; i++) {
        if (!figure_hatched(s, i) || !shown(s->x[i], f->x.log) || !shown(s->y[i], f->y.log))
            continue;
        figure_cell(s, &f->x, s->x[i], true, ex);
        figure_cell(s, &f->y, s->y[i], false, ey);
        const unsigned rgb = figure_rgb(fabs(figure_shade(s, i, 0, 0)) > 0.6 ? -4 : -1, dark);
        buf_printf(b, "%.9g %.9g %u\n%.9g %.9g %u\n\n", ex[0], ey[0], rgb, ex[1], ey[1], rgb);
    }
    buf_puts(b, END_MARK "\n");
}

/* Writes one block $dI per curve. A gap is an empty line. */
static void entry_data(const struct figure *f, const struct figure_scale *sc,
                       const struct entry *e, size_t index, bool dark, struct buf *b)
{
    const struct series *s = e->s;
    const double half = s->mark == MARK_BARS ? figure_bar(f, s) : 0;

    buf_printf(b, "$d%zu << " END_MARK "\n", index);
    if (s->mark == MARK_HLINE && s->n > 0 && shown(s->y[0], f->y.log)) {
        numbers(b, sc->xlo, s->y[0]);
        numbers(b, sc->xhi, s->y[0]);
    } else if (s->mark == MARK_VLINE && s->n > 0 && shown(figure_x(s, 0), f->x.log)) {
        numbers(b, figure_x(s, 0), sc->ylo);
        numbers(b, figure_x(s, 0), sc->yhi);
    } else if (s->mark == MARK_STEPS) {
        steps_data(f, sc, s, b);
    } else if (s->mark == MARK_CELLS) {
        cells_data(f, s, dark, b);
    } else if (s->mark != MARK_HLINE && s->mark != MARK_VLINE) {
        for (size_t i = 0; i < s->n; i++) {
            if (e->group >= 0 && s->group[i] != e->group)
                continue;
            if (!shown_at(f, s, i)) {
                buf_putc(b, '\n');
                continue;
            }
            number(b, figure_x(s, i));
            buf_putc(b, ' ');
            number(b, s->y[i]);
            if (s->mark == MARK_BARS || s->y2 != NULL) {
                buf_putc(b, ' ');
                number(b, s->y2 != NULL ? s->y2[i] : 2 * half);
            }
            buf_putc(b, '\n');
        }
    }
    buf_puts(b, END_MARK "\n");
}

static bool entry_shown(const struct figure *f, const struct entry *e)
{
    const struct series *s = e->s;

    if (s->mark == MARK_HLINE)
        return s->n > 0 && shown(s->y[0], f->y.log);
    if (s->mark == MARK_VLINE)
        return s->n > 0 && shown(figure_x(s, 0), f->x.log);
    if (s->mark == MARK_BAND && s->y2 == NULL)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if ((e->group < 0 || s->group[i] == e->group) && shown_at(f, s, i))
            return true;
    return false;
}

/* Pictures. */

/* Filled circle, triangle, square, diamond, ...: distinguishable without colour. */
static const int point_types[LAYOUT_LOOKS] = {7, 9, 5, 13, 11, 6, 8, 4, 1, 2, 3, 12, 10, 15, 14, 0};

static void color(struct buf *b, const char *what, unsigned rgb)
{
    buf_printf(b, " %s rgb '#%06x'", what, rgb & 0xffffffu);
}

static double point_size(size_t n)
{
    return n > 3000 ? 0.28 : n > 800 ? 0.4 : n > 150 ? 0.6 : 0.9;
}

/* Writes how a curve is drawn: " w lines ..". `several`: lines need marks to be distinguishable. */
static void entry_style(const struct entry *e, bool several, bool dark, bool key, struct buf *b)
{
    const struct series *s = e->s;
    /* Reference lines differ by their dashes. */
    static const char *const rule[] = { " dt (9,6)", " dt (9,4,2,4)", " dt (3,4)" };
    const unsigned rgb = figure_entry_rgb(e, dark);
    const int pt = point_types[e->look % LAYOUT_LOOKS];
    const char *dash = s->mark == MARK_HLINE || s->mark == MARK_VLINE ? rule[e->look % 3]
                       : s->dashed                                    ? " dt (9,6)"
                       : s->faint                                                  ? " dt (4,4)"
                       : s->mark == MARK_STEPS && e->look % 2                      ? " dt (7,3)"
                                                              : ""; /* distinguishable in grey */

    switch (s->mark) {
    case MARK_POINTS:
        buf_printf(b, " w points pt %d ps %.2f", pt, key ? 0.9 : point_size(s->n));
        if (s->n > 800 && !key)
            buf_printf(b, " lc rgb '#60%06x'", rgb);
        else
            color(b, "lc", rgb);
        return;
    case MARK_BARS:
        /* The colour comes first: after `border` it would be that of the border. */
        buf_puts(b, " w boxes");
        color(b, "lc", rgb);
        buf_puts(b, " fs transparent solid 0.55 border");
        return;
    case MARK_CELLS:
        if (key) {
            buf_puts(b, " w boxes");
            color(b, "lc", figure_ramp(s->sign < 0 ? -0.6 : 0.6, false, dark));
            buf_puts(b, s->sign < 0 ? " fs pattern 4 border"
                                    : " fs solid noborder"); /* 4: oblique lines */
        } else {
            buf_puts(b, " w boxxyerror lc rgb variable fs solid noborder");
        }
        return;
    case MARK_BAND:
        buf_puts(b, " w filledcurves");
        color(b, "lc", rgb);
        buf_printf(b, " fs transparent solid %.2f noborder", key ? figure_band_alpha(e) : 0.22);
        return;
    case MARK_LINEPOINTS:
        buf_printf(b, " w linespoints pt %d ps 0.8 lw 2%s", pt, dash);
        break;
    default:
        if (several && e->id != 0 && !s->dashed && s->mark == MARK_LINE && s->n > 1)
            buf_printf(b, " w linespoints pt %d ps 0.8 pi %zu lw 2", pt, s->n / 9 + 1);
        else
            buf_printf(b, " w %s lw %s%s", s->mark == MARK_STAIRS ? "steps" : "lines",
                       s->faint ? "1.2" : e->id == 0 ? "1.6" : "2", dash);
    }
    color(b, "lc", rgb);
}

/* Writes 10^{-6} if the tick is a pure power, and a true minus sign before numbers. */
static void tick_label(struct buf *b, const struct ticks *t, size_t i)
{
    const char *s = t->text[i];

    if (t->power[i])
        buf_printf(b, "'10^{%s%d}'", t->at[i] < 0.9 ? "\u2212" : "",
                   (int)lround(fabs(log10(t->at[i]))));
    else
        buf_printf(b, "'%s%s'", *s == '-' ? "\u2212" : "", *s == '-' ? s + 1 : s);
}

static void name_label(struct buf *b, const char *s)
{
    struct buf plain = { 0 };

    for (; *s != '\0'; s++) /* enhanced text would interpret some of them as markup */
        if (*s == '%')
            buf_puts(&plain, "%%"); /* the words of a tick are a format of its value */
        else
            buf_printf(&plain, strchr("_^@&~{}\\", *s) != NULL ? "\\%c" : "%c", *s);
    figure_gnuplot_quote(b, buf_str(&plain));
    b->failed |= plain.failed;
    buf_free(&plain);
}

static void set_tics(struct buf *b, char axis, const struct ticks *t, double lo, double hi,
                     bool log, bool named)
{
    buf_printf(b, "set %ctics (", axis);
    for (size_t i = 0; i < t->n; i++) {
        buf_puts(b, i > 0 ? ", " : "");
        if (named)
            name_label(b, t->text[i]);
        else
            tick_label(b, t, i);
        buf_printf(b, " %.9g", t->at[i]);
    }
    const double decades = log ? log10(hi) - log10(lo) : 99;
    for (double k = floor(log10(log ? lo : 1)); decades <= 8 && pow(10, k) <= hi; k++)
        for (int m = 2; m < 10; m++)
            if (m * pow(10, k) > lo && m * pow(10, k) < hi)
                buf_printf(b, ", '' %.9g 1", m * pow(10, k));
    buf_puts(b, ")\n");
}

static bool has_cells(const struct figure *f)
{
    for (size_t i = 0; i < f->ns; i++)
        if (f->s[i].mark == MARK_CELLS)
            return true;
    return false;
}

/* Puts the key where the layout of a text screen of the same shape has it. */
static void set_key(const struct panel *p, const struct view *v, struct buf *b)
{
    const bool dark = v->dark;

    buf_puts(b, "set key default\nset key noenhanced samplen 2 spacing 1.15 width 0.5 noautotitle");
    color(b, "tc", figure_rgb(-1, dark));
    if (has_cells(p->f) && (p->kline || p->kx >= p->x + p->w)) { /* the bar is at the right */
        const bool small = p->w < 45 || p->h < 14; /* letters */
        if (small)
            buf_printf(b, " inside right top vertical Left reverse spacing 0.8 font ',%.3g'",
                       7 * v->font);
        else
            buf_puts(b, " outside below horizontal Left reverse maxrows 4 height 1");
        if (small)
            color(b, "opaque fc", figure_rgb(-4, dark));
        buf_putc(b, '\n');
    } else if (p->kline)
        buf_puts(b, " outside above horizontal left Left reverse\n");
    else if (p->kx >= p->x + p->w)
        buf_puts(b, " outside right top vertical Left reverse\n");
    else {
        buf_printf(b, " inside %s %s vertical Left reverse",
                   p->kx <= p->x + 1 ? "left" : p->kx + p->kw >= p->x + p->w ? "right" : "center",
                   p->ky <= p->y ? "top" : "bottom");
        if (p->kover || has_cells(p->f))
            color(b, "opaque fc", figure_rgb(-4, dark));
        else
            buf_puts(b, " noopaque");
        buf_putc(b, '\n');
    }
}

static void set_label(struct buf *b, const char *what, const char *text, size_t cols, double pixels,
                      bool dark, const char *more)
{
    if (text == NULL || *text == '\0') {
        buf_printf(b, "unset %s\n", what);
        return;
    }
    buf_printf(b, "set %s ", what);
    quote_label(b, text, cols, pixels);
    buf_printf(b, " noenhanced%s", more);
    color(b, "tc", figure_rgb(-1, dark));
    buf_putc(b, '\n');
}

/* The colour bar beside a surface. gnuplot draws one where something uses its palette: the curve of
 * no points that picture_panel adds. */
static bool set_color_bar(const struct figure *f, const struct view *v, struct buf *b)
{
    enum { STOPS = 16 };
    struct color_bar bar;

    if (!figure_color_bar(f, &bar)) {
        buf_puts(b, "unset colorbox\nunset cblabel\nset rmargin -1\n");
        return false;
    }
    buf_puts(b, "set palette defined (");
    for (int k = 0; k <= STOPS; k++) {
        const double u = bar.lo + (1 - bar.lo) * k / STOPS;
        buf_printf(b, "%s%.6g '#%06x'", k > 0 ? ", " : "", u, figure_ramp(u, bar.pale, v->dark));
    }
    /* In letters: the bar, its numbers and its title. gnuplot itself leaves too little. */
    buf_printf(b, ")\nset rmargin %d", *bar.title != '\0' ? 16 : 13);
    buf_printf(b, "\nset cbrange [%.9g:1]\nset colorbox vertical noborder\nset cbtics scale 0 (",
               bar.lo);
    for (size_t i = 0; i < bar.n; i++) {
        const bool minus = bar.text[i][0] == '-';
        buf_printf(b, "%s'%s%s' %.9g", i > 0 ? ", " : "", minus ? "\u2212" : "",
                   bar.text[i] + minus, bar.at[i]);
    }
    buf_puts(b, ")\nset cbtics");
    color(b, "tc", figure_rgb(-1, v->dark));
    buf_putc(b, '\n');
    set_label(b, "cblabel", bar.title, 40, v->h, v->dark, " offset 0.8,0");
    return true;
}

/* Writes words in the middle of a panel that has nothing to draw. */
static void words_panel(const struct figure *f, const struct view *v, struct buf *b)
{
    const bool dark = v->dark;
    struct buf safe = { 0 };
    double y = 0.62;

    buf_puts(b, "unset label\nunset tics\nunset border\nunset key\nunset xlabel\nunset ylabel\n"
                "unset grid\nset size noratio\nset xrange [0:1]\nset yrange [0:1]\n");
    set_label(b, "title", f->title, 90, v->w, dark, "");
    text_safe(&safe, figure_panel_nothing(f), 0);
    int n = 0;
    for (const char *s = buf_str(&safe); *s != '\0' && n < 8; n++, y -= 0.09) {
        const size_t k = figure_line(s, 70);
        if (k == 0)
            break;
        struct buf line = { 0 };
        buf_putn(&line, s, k);
        buf_puts(b, "set label ");
        figure_gnuplot_quote(b, buf_str(&line));
        buf_printf(b, " at graph 0.5,%.3f center noenhanced", y);
        color(b, "tc", figure_rgb(-1, dark));
        buf_putc(b, '\n');
        buf_free(&line);
        s += k;
        s += *s == ' ';
    }
    buf_free(&safe);
    buf_puts(b, "plot NaN notitle\nunset label\n");
}

static void picture_axes(const struct panel *p, const struct view *v, struct buf *b)
{
    const struct figure *f = p->f;
    const struct figure_scale *sc = &v->sc;
    const bool dark = v->dark;

    buf_printf(b, "set border 3 lw 1");
    color(b, "lc", figure_rgb(-2, dark));
    buf_puts(b, "\nset tics out nomirror scale 0.7,0.35");
    color(b, "tc", figure_rgb(-1, dark));
    buf_puts(b, "\nset grid x y back lt 1 lw 0.8");
    color(b, "lc", figure_rgb(-3, dark));
    buf_printf(b, "\n%sset logscale x\n%sset logscale y\n", f->x.log ? "" : "un",
               f->y.log ? "" : "un");
    /* gnuplot leaves out a tick at the very end of a logarithmic axis. */
    const double x = f->x.log ? 1e-6 : 0, y = f->y.log ? 1e-6 : 0;
    buf_printf(b, "set xrange [%.9g:%.9g] noextend\nset yrange [%.9g:%.9g] noextend\n",
               sc->xlo * (1 - x), sc->xhi * (1 + x), sc->ylo * (1 - y), sc->yhi * (1 + y));
    set_tics(b, 'x', &sc->xt, sc->xlo, sc->xhi, sc->xlog, f->x.nname > 0);
    set_tics(b, 'y', &sc->yt, sc->ylo, sc->yhi, sc->ylog, f->y.nname > 0);
    set_label(b, "xlabel", f->x.label, 70, v->w, dark, "");
    set_label(b, "ylabel", f->y.label, 50, v->h, dark, "");
    /* It is centred above the axes, which a key at the right moves to the left. */
    const double key = p->kx >= p->x + p->w ? LETTER * 0.7 * (double)p->kw : 0;
    set_label(b, "title", figure_headline(f), 90, fmin(v->w, v->w + 95 - key), dark, "");
    buf_puts(b, v->turned == 2   ? "set xtics rotate by -90 left\n"
                : v->turned == 1 ? "set xtics rotate by -40 left\n"
                                 : "set xtics norotate autojustify\n");
    buf_puts(b, f->square ? "set size ratio 1\n" : "set size noratio\n");
    set_key(p, v, b);
}

static void picture_panel(const struct panel *p, const struct view *v, struct buf *b)
{
    size_t lines = 0;
    const struct figure *f = p->f;
    const bool dark = v->dark;

    if (figure_panel_nothing(f) != NULL) {
        words_panel(f, v, b);
        return;
    }
    picture_axes(p, v, b);
    const bool bar = set_color_bar(f, v, b);
    /* The last word reaches over the end of the axis. */
    if (v->turned == 1 && !bar && v->sc.xt.n > 0) {
        const double reach = 0.7 * (double)text_width(v->sc.xt.text[v->sc.xt.n - 1]) - 2;
        buf_printf(b, "set rmargin %.0f\n", fmax(reach, 3));
    }
    for (size_t i = 0; i < p->ne; i++) {
        entry_data(f, &v->sc, &p->e[i], i, dark, b);
        if (p->e[i].s->sign < 0)
            hatch_data(f, p->e[i].s, i, dark, b);
        if (p->e[i].s->count != NULL)
            counts_data(f, p->e[i].s, i, dark, b);
        lines += p->e[i].id != 0 && p->e[i].s->mark == MARK_LINE;
    }
    buf_puts(b, bar ? "plot '+' u (NaN):(NaN):(0) w points lc palette notitle" :
             "plot NaN notitle");
    for (int k = 0; k < LAYERS; k++)
        for (size_t i = 0; i < p->ne; i++) {
            const struct entry *e = &p->e[i];
            if (figure_layer(e->s) != k || !entry_shown(f, e))
                continue;
            buf_printf(b, ", $d%zu u 1:2%s", i,
                       e->s->mark == MARK_CELLS                               ? ":3:4:5:6:7"
                       : e->s->mark == MARK_BARS || e->s->mark == MARK_BAND ? ":3"
                                                                              : "");
            entry_style(e, lines > 1, dark, false, b);
            buf_puts(b, " notitle");
            if (e->s->sign < 0)
                buf_printf(b, ", $h%zu u 1:2:3 w lines lw 0.7 lc rgb variable notitle", i);
            const double font = counts_font(f, e->s, v->w - 230, v->h - 110);
            if (font > 0)
                buf_printf(b, ", $c%zu u 1:2:3:4 w labels font ',%.3g' tc rgb variable notitle", i,
                           font * v->font);
        }
    /* The key has the order of the curves and readable marks. */
    for (size_t i = 0; i < p->ne; i++) {
        struct buf t = { 0 };
        if (p->e[i].s->mark != MARK_CELLS || p->e[i].s->sign != 0) /* otherwise the colour bar */
            figure_entry_title(&p->e[i], &t);
        if (t.len > 0) {
            buf_puts(b, ", NaN");
            entry_style(&p->e[i], lines > 1, dark, true, b);
            buf_puts(b, " t ");
            quote_label(b, buf_str(&t), 56, v->w / 2);
            buf_puts(b, " noenhanced");
        }
        buf_free(&t);
    }
    buf_putc(b, '\n');
}

/* Pixels from "size 800,480" or "size 8in,4.8in" of a terminal line. */
static void term_size(const char *term, double *w, double *h)
{
    const char *s = strstr(term, "size ");
    char unit[3] = "";

    *w = 800;
    *h = 480;
    if (s == NULL)
        return;
    if (sscanf(s, "size %lf%*[i]%1[n],%lfin", w, unit, h) == 3) {
        *w *= 96;
        *h *= 96;
    } else {
        sscanf(s, "size %lf,%lf", w, h);
    }
    *w = fmin(fmax(*w, 100), 10000);
    *h = fmin(fmax(*h, 80), 10000);
}

/* The scale of a panel of w x h pixels. Returns whether the words along x are turned (struct view),
 * because they do not fit beside each other: none is left out as long as there is room for turned
 * ones. */
static int picture_scale(const struct figure *f, double w, double h, struct figure_scale *sc)
{
    enum { TURNED = 18, SLANT = 26 }; /* pixels between turned words, at least and at a slant */
    const size_t ny = (size_t)(h / (f->y.nname > 0 ? 20 : 60));
    struct color_bar bar;
    const bool beside = figure_color_bar(f, &bar);
    const double side = f->square ? fmin(w, h) : w, letter = 7.6;
    double room = side - (beside ? 180 : 90);
    bool touch = false;
    size_t most = 0;

    if (f->x.nname == 0) {
        figure_scale_fit(f, (size_t)(side / 75), ny, room, 8.5, sc);
        return 0;
    }
    figure_scale(f, (size_t)fmax(room / TURNED, 2), ny, sc);
    for (size_t i = 0; f->y.nname > 0 && i < sc->yt.n; i++)
        most = strlen(sc->yt.text[i]) > most ? strlen(sc->yt.text[i]) : most;
    if (f->square && f->y.nname > 0) /* words on the left and the bar leave so much */
        room = fmin(h - 110, w - 30 - letter * (double)most - (beside ? 150 : 30));
    const double apart = room / (double)(sc->xt.n > 0 ? sc->xt.n : 1);
    for (size_t i = 1; i < sc->xt.n; i++)
        touch = touch || letter * (double)(strlen(sc->xt.text[i - 1]) + strlen(sc->xt.text[i])) /
                                 2 + 6 > apart;
    return !touch ? 0 : apart < SLANT ? 2 : 1;
}

/* Where panel i of a grid is on the page. */
static void place_panel(const struct figure_part *part, size_t across, size_t down, size_t i,
                        struct buf *b)
{
    const double w = part->w / (double)across, h = part->h / (double)down;

    buf_printf(b, "set origin %.6f,%.6f\nset size %.6f,%.6f\n",
               part->x + w * (double)(i % across),
               part->y + part->h - h * (double)(i / across + 1), w, h);
}

/* Draws the panels of `w` x `h` pixels in the whole picture, or in a part of the page. */
static void picture(const struct figure *f, double w, double h, const struct figure_part *part,
                    bool bare, bool dark, struct buf *b)
{
    struct layout *l = mem_calloc(1, sizeof *l, "a plot", NULL);
    const struct figure_style st = { .utf8 = true, .dark = dark, .colors = 256 };

    const double wide = f->square && f->next == NULL ? fmin(w, h) : w;
    const size_t cols = (size_t)(wide / 9), rows = (size_t)(h / 22);
    if (l == NULL || layout_init(l, f, cols, rows, &st, 1, NULL) != ST_OK) {
        b->failed = true;
        free(l);
        return;
    }
    size_t across = f->across > 1 ? f->across : 1;
    across = across < l->np ? across : l->np > 0 ? l->np : 1;
    const size_t down = l->np > 0 ? (l->np + across - 1) / across : 1;
    if (!bare && part == NULL) {
        buf_puts(b, "set object 1 rectangle from screen 0,0 to screen 1,1 behind fs solid "
                    "noborder");
        color(b, "fc", figure_rgb(-4, dark));
        buf_putc(b, '\n');
    }
    if (l->np > 1 && part == NULL)
        buf_printf(b, "set multiplot layout %zu,%zu\n", down, across);
    for (size_t i = 0; i < l->np; i++) {
        struct view v = { .w = w / (double)across, .h = h / (double)down, .dark = dark,
                          .font = part != NULL ? part->font / LETTER : 1 };
        v.turned = picture_scale(l->p[i].f, v.w, v.h, &v.sc);
        if (bare)
            buf_puts(b, "set margins 0,0,0,0\n");
        if (part != NULL)
            place_panel(part, across, down, i, b);
        picture_panel(&l->p[i], &v, b);
        if (part == NULL)
            buf_puts(b, "unset object 1\n");
    }
    if (l->np > 1 && part == NULL)
        buf_puts(b, "unset multiplot\n");
    layout_free(l);
    free(l);
}

enum { MOST_POINTS = 12000 };

/* A copy with as many points as a picture can show; letters: without those that fonts may lack. */
static struct figure *drawable(const struct figure *f, bool letters, struct buf *out)
{
    struct figure *thin = figure_copy(f, NULL);

    if (thin != NULL && figure_thin(thin, MOST_POINTS, NULL) == ST_OK &&
        (!letters || figure_letters_all(thin, NULL) == ST_OK))
        return thin;
    out->failed = true;
    figure_free(thin);
    return NULL;
}

void figure_gnuplot(const struct figure *f, const char *term, const char *output, bool bare,
                    bool dark, struct buf *out)
{
    struct figure *thin = drawable(f, strstr(term, "pdfcairo") != NULL, out);
    double w, h;

    if (thin == NULL)
        return;
    term_size(term, &w, &h);
    buf_printf(out, "reset\nset encoding utf8\n%s\nset output", term);
    if (output != NULL) {
        buf_putc(out, ' ');
        figure_gnuplot_quote(out, output);
    }
    buf_putc(out, '\n');
    if (f->drawn != NULL)
        buf_puts(out, f->drawn);
    else
        picture(thin, w, h, NULL, bare, dark, out);
    buf_puts(out, "set output\n");
    figure_free(thin);
}

void figure_gnuplot_part(const struct figure *f, const struct figure_part *part, struct buf *out)
{
    struct figure *thin = drawable(f, true, out);

    if (thin != NULL)
        picture(thin, part->wide, part->high, part, false, false, out);
    figure_free(thin);
}
