/* figure/figure.h -- a plot as data: every plot command makes one figure for screen, image, text
 * and numbers. This is pure code: no child process, no files.
 *
 * A figure may hold anything a computation can produce: NaN, infinities, constants, no points at
 * all, values <= 0 on a log axis, hostile text. Every renderer leaves out what cannot be drawn
 * (figure_dropped_for_tests counts it), and none fails because of it. */
#ifndef GPDESK_FIGURE_H
#define GPDESK_FIGURE_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum mark {
    MARK_LINE,
    MARK_POINTS,
    MARK_LINEPOINTS,
    MARK_BARS,  /* x: bar centres, equally spaced; y: heights from 0 */
    MARK_STEPS, /* the outline of a histogram: each y extends half way to the neighbouring x */
    MARK_STAIRS, /* each y extends to the next x: "best so far" */
    MARK_BAND,  /* the area between y and y2 */
    MARK_HLINE, /* a horizontal line at y[0] */
    MARK_VLINE, /* a vertical line at x[0] */
    MARK_CELLS  /* a surface: cells around (x, y), equally spaced on their axes, shaded by y2 */
};

/* One curve. The figure owns the arrays. x NULL: 0..n-1. NaN: a gap. */
struct series {
    char *title; /* its entry in the key; NULL or "": none */
    enum mark mark;
    int color; /* index into the colours of the theme; -1: by order among the curves */
    size_t n;
    double *x, *y, *y2; /* y2: for MARK_BAND, and the heights of MARK_CELLS */
    size_t across;  /* MARK_CELLS: number of values of x; cells with the same y are consecutive */
    /* MARK_CELLS: +1 for the cells above 0 of figure_add_signed, -1 for those below, which have
     * another hue and are hatched; 0: any surface. */
    int sign;
    double reach;       /* with a sign: the largest absolute height of both, which is shaded most */
    bool steep;         /* MARK_CELLS: shaded by the logarithm of 1 + height above the lowest */
    /* MARK_CELLS of a table of shares: a whole number in each cell, written where there is room,
     * and what they are called in figure_csv, which then names the places of the axes, too.  NULL:
     * none. */
    double *count;
    char *count_title;
    /* Class 0, 1, .. of each point, or NULL; the key says "title 0", ..  Of MARK_CELLS: the hue,
     * stronger with the height, which is a probability; -1: grey. */
    int *group;
    char *class_names;  /* or "title name", with one name per line */
    int classes_in_order; /* their number if they are ranges of one value: light to dark; or 0 */
    bool dashed;
    /* a reference (diagonal, zero line): thin and grey; it uses no colour of the theme. */
    bool faint;
    bool foremost; /* MARK_POINTS: few among many; in text each has its sign, whatever is there */
};

struct axis {
    char *label; /* with its unit: "sd (ppm)" */
    bool log;
    bool whole;    /* the values are counts: no ticks between 1 and 2 */
    double lo, hi; /* NaN: automatic */
    char **name;   /* words for the values 0, 1, .. instead of numbers; owned; NULL: none */
    size_t nname;
};

struct figure {
    char *name; /* "residual" */
    char *title;
    struct axis x, y;
    size_t ns, cap;
    struct series *s;
    char *verdict; /* one sentence about the same numbers; drawn by the caller */
    char *reason;  /* if there is nothing to draw: the reason, and what to do; otherwise NULL */
    /* Of the first panel: a drawing of its own (sketch.h), a whole SVG document and gnuplot's
     * commands for it, of a size in pixels; files of pictures get it, all else shows the curves.
     * NULL: none. */
    char *picture, *drawn;
    size_t picture_w, picture_h;
    /* Why there is no such drawing though there should be one, " try: " and what to do: files of
     * pictures are then refused.  NULL: none is missing. */
    char *undrawn;
    char *listing; /* lines that a text screen shows instead of the curves; NULL: none */
    bool square;   /* both axes have the same range and scale (parity) */
    struct figure *next; /* the next panel, or NULL; owned */
    size_t across;       /* in the first panel: number of panels side by side; 0: stacked */
};

struct figure *figure_new(const char *name, const char *title, struct err *);
void figure_free(struct figure *); /* and all panels after it; NULL is allowed */
struct figure *figure_empty(const char *name, const char *reason, struct err *);
/* All panels; the caller owns the copy. */
struct figure *figure_copy(const struct figure *, struct err *);

/* Adds a curve and copies n values (x may be NULL). Returns NULL and fills err if memory is
 * exhausted. The pointer is valid until the next figure_add to this figure. */
struct series *figure_add(struct figure *, const char *title, enum mark, size_t n, const double *x,
                          const double *y, struct err *);
/* Adds an area between lo and hi. */
struct series *figure_add_band(struct figure *, const char *title, size_t n, const double *x,
                               const double *lo, const double *hi, struct err *);
struct series *figure_add_hline(struct figure *, const char *title, double y, struct err *);
struct series *figure_add_vline(struct figure *, const char *title, double x, struct err *);
/* Colours the points of a series by class. n values are copied; a negative one means no class. */
enum status figure_classes(struct series *, const int *group, struct err *);
enum status figure_class_names(struct series *, const char *lines, struct err *); /* copied */

/* Heights over nx x ny places (each ascending): z[j nx + i] stands at x[i], y[j]; NaN: none. */
struct figure_surface {
    size_t nx, ny;
    const double *x, *y, *z;
};
/* A surface: the highest cell is shaded most.  On a screen of text the cells are dotted, unless
 * lines are drawn over them. */
struct series *figure_add_cells(struct figure *, const char *title, const struct figure_surface *,
                                struct err *err);
/* Adds a surface around 0 as two series: what is above it (`up`) and below it (`down`), shaded by
 * absolute height on one scale. They differ by hue, in grey by hatching and in the key, in plain
 * text by + and -. */
enum status figure_add_signed(struct figure *, const char *up, const char *down,
                              const struct figure_surface *, struct err *err);
/* The line where a surface has the height `level`, as one curve with gaps (nothing to draw where
 * it has none); straight in each cell on the scale of the axes. */
struct series *figure_add_contour(struct figure *, const char *title,
                                  const struct figure_surface *, double level, struct err *err);
/* Gives the cells of a table their whole numbers; n of the series are copied. */
enum status figure_counts(struct series *, const char *title, const double *count, struct err *);
/* Sets words along an axis for its values 0..n-1; they are copied. */
enum status figure_names(struct axis *, size_t n, const char *const *name, struct err *err);

struct figure_cells { double lo, hi; size_t n; }; /* n equal cells of lo..hi */
/* A histogram of the finite values among n: bars or steps; values outside the cells fall into those
 * at the ends.  share: heights are shares of the whole instead of counts. */
struct series *figure_histogram(struct figure *, const char *title, enum mark, size_t n,
                                const double *values, const struct figure_cells *, bool share,
                                struct err *);
/* Chooses the number of bins and their range: robust against outliers, few enough for a screen
 * (5..60), with whole edges for small whole numbers (Freedman & Diaconis 1981). If *lo and *hi are
 * finite on entry, they are widened, so that calls for several samples give common bins. */
size_t figure_bins(size_t n, const double *values, double *lo, double *hi);

enum status figure_label(struct figure *, const char *x, const char *y, struct err *);
enum status figure_verdict(struct figure *, struct err *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Thins every series of every panel to at most `points` values (minimum and maximum per bucket of
 * the x axis; extremes, ends and gaps stay). Renderers thin a copy by themselves; figure_csv never
 * thins. */
enum status figure_thin(struct figure *, size_t points, struct err *);

/* NULL if this panel or one after it has something to draw; otherwise why not. */
const char *figure_nothing(const struct figure *);

/* The number of values in this panel and all after it that no image shows: not finite, or <= 0 on a
 * log axis. */
size_t figure_dropped_for_tests(const struct figure *);

/* The ranges and ticks that every renderer uses for this panel, with about nx and ny ticks. */
#define FIGURE_TICKS 64
struct ticks {
    size_t n;
    double at[FIGURE_TICKS];
    char text[FIGURE_TICKS][16];   /* "0.25", "20,000", "1e-06" */
    bool power[FIGURE_TICKS];      /* the text is a pure power of ten and may be typeset as one */
};
struct figure_scale {
    double xlo, xhi, ylo, yhi; /* always finite with lo < hi, and > 0 on a log axis */
    bool xlog, ylog;
    struct ticks xt, yt;
};
void figure_scale(const struct figure *, size_t nx, size_t ny, struct figure_scale *out);
/* As figure_scale, but with only as many ticks along x as there is room for, given the width of a
 * letter. */
void figure_scale_fit(const struct figure *, size_t nx, size_t ny, double room, double letter,
                      struct figure_scale *);
/* The position of a value between the ends of an axis, 0..1 inside; NaN if it cannot be drawn. */
double figure_place(double v, double lo, double hi, bool log);

/* Renderings that need no child process. */

/* Writes panel,series,x,y,y2,class, where y2 is the other side of a band or the height of a
 * surface: one line per value, full precision, all values, empty where missing. */
void figure_csv(const struct figure *, struct buf *out);
/* Describes the figure for those who cannot see it: range, start, end, rate, knees, plateaus,
 * crossings of target lines, outliers; one fact per line. */
void figure_describe(const struct figure *, struct buf *out);

/* The cells of a text screen: UTF-8 text and a terminal colour each. */
struct frame_cell {
    char ch[5]; /* one character; empty: the second column of a wide character before it */
    short fg;   /* 0..colors-1; -1: the default of the terminal */
};
struct frame {
    size_t w, h;
    struct frame_cell *cell; /* h rows of w cells */
    unsigned serial;         /* changes with every frame */
};
struct figure_style {
    bool utf8;  /* braille and line drawing; otherwise ASCII */
    bool dark;  /* dark background */
    int colors; /* number of colours of the terminal: 256, 16, 8; 0: none */
};
/* Draws the built-in plot, which is also used if gnuplot is missing. If w or h is 0, the frame is
 * empty. Free it with frame_free. */
enum status figure_frame(const struct figure *, size_t w, size_t h, const struct figure_style *,
                         struct frame *out, struct err *);
void frame_free(struct frame *); /* leaves it empty */
/* Draws the built-in plot as h plain lines without trailing blanks. utf8: braille, otherwise
 * ASCII. */
void figure_text(const struct figure *, size_t w, size_t h, bool utf8, struct buf *out);
/* Writes a simple SVG document without gnuplot: the fallback of exports. */
void figure_svg(const struct figure *, size_t w, size_t h, bool dark, struct buf *out);

/* Writes gnuplot commands for a terminal line such as "set term svg size 800,480". Every user
 * string goes through figure_gnuplot_quote, and every number is printed by us. `bare`: no tics,
 * labels or key. */
void figure_gnuplot(const struct figure *, const char *term, const char *output, bool bare,
                    bool dark, struct buf *out);
/* A part of a page on which other things are drawn as well. */
struct figure_part {
    double x, y, w, h; /* its lower left corner and its size, as shares of the page */
    double wide, high; /* its size in pixels, of which a letter is 13 high */
    double font;       /* the size of that letter in points */
};
/* Writes the commands for a figure, light, in a part of a page: between `set multiplot` and `unset
 * multiplot`, without objects or labels. */
void figure_gnuplot_part(const struct figure *, const struct figure_part *, struct buf *out);
/* Appends s as a gnuplot string in single quotes: the only way for text to reach gnuplot. Control
 * characters become blanks, invalid UTF-8 becomes '?', and ' becomes the typographic quote, so that
 * the string never contains a quote. ]]> gets a blank, which keeps gnuplot's SVG well-formed. */
void figure_gnuplot_quote(struct buf *, const char *s);

#endif
