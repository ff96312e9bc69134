/* figure/figure.h -- a plot as data: what every plot command produces, once, for screen, picture,
 * text and numbers.  Pure: no child process, no files.
 *
 * A figure may hold anything a computation can produce: NaN, infinities, constants, no points at
 * all, values <= 0 on a log axis, hostile text.  Every renderer leaves out what cannot be drawn
 * (figure_dropped_for_tests counts it) and none fails because of it. */
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
    MARK_STEPS, /* a histogram's outline: each y holds around its x, half way to the neighbours */
    MARK_STAIRS, /* each y holds until the next x: "best so far" */
    MARK_BAND,  /* the area between y and y2 */
    MARK_HLINE, /* a line across the panel at y[0] */
    MARK_VLINE, /* a line up the panel at x[0] */
    MARK_CELLS  /* a surface: cells around (x, y), equally spaced on their axes, shaded by y2 */
};

/* One curve.  Arrays are owned by the figure.  x NULL: 0..n-1.  NaN: a gap. */
struct series {
    char *title; /* key entry; NULL or "": none */
    enum mark mark;
    int color; /* index into the theme's cycle, -1: by order among the curves */
    size_t n;
    double *x, *y, *y2; /* y2: MARK_BAND, and the heights of MARK_CELLS */
    size_t across;      /* MARK_CELLS: values of x; those of one y follow each other */
    int sign; /* MARK_CELLS: +1, -1: those above, below 0 of figure_add_signed, a hue each, the
               * latter hatched; 0: any surface */
    double reach;       /* of these: the largest size of both, which is shaded most */
    bool steep;         /* MARK_CELLS: shaded by the logarithm of 1 + the height above the lowest */
    int *group;         /* points coloured by class 0, 1, ..; the key says "title 0", ..; or NULL */
    char *class_names;  /* or "title name", from a line for each class */
    bool dashed;
    bool faint; /* a reference (diagonal, zero line): drawn thin and grey, no colour used up */
};

struct axis {
    char *label; /* with its unit: "sd (ppm)" */
    bool log;
    bool whole;    /* the values are counts: no tick between 1 and 2 */
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
    char *verdict; /* one sentence made from the same numbers; drawn by the caller */
    char *reason;  /* when there is nothing to draw: why, and what to do; else NULL */
    bool square;   /* both axes share one range and scale (parity) */
    struct figure *next; /* the next panel, or NULL; owned */
    size_t across;       /* in the first panel: panels side by side; 0: stacked */
};

struct figure *figure_new(const char *name, const char *title, struct err *);
void figure_free(struct figure *); /* and all panels after it; NULL is fine */
struct figure *figure_empty(const char *name, const char *reason, struct err *);
struct figure *figure_copy(const struct figure *, struct err *); /* all panels */

/* Adds a curve, copying n values (x may be NULL); NULL and *err on exhaustion.  The pointer is good
 * until the next figure_add to this figure. */
struct series *figure_add(struct figure *, const char *title, enum mark, size_t n, const double *x,
                          const double *y, struct err *);
/* The same for an area between lo and hi. */
struct series *figure_add_band(struct figure *, const char *title, size_t n, const double *x,
                               const double *lo, const double *hi, struct err *);
struct series *figure_add_hline(struct figure *, const char *title, double y, struct err *);
struct series *figure_add_vline(struct figure *, const char *title, double x, struct err *);
/* Colours the points of a series by class (n values are copied; negative: no class). */
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
/* A surface around 0: two series, of what is above it (`up`) and below it (`down`), shaded by their
 * size on one scale; told apart by hue, in grey by hatching and in the key, in plain text by + and
 * -. */
enum status figure_add_signed(struct figure *, const char *up, const char *down,
                              const struct figure_surface *, struct err *err);
/* The line where a surface has the height `level`, as one curve with gaps (nothing to draw where
 * it has none); straight in each cell on the scale of the axes. */
struct series *figure_add_contour(struct figure *, const char *title,
                                  const struct figure_surface *, double level, struct err *err);
/* Words along an axis for its values 0..n-1 (copied). */
enum status figure_names(struct axis *, size_t n, const char *const *name, struct err *err);

struct figure_cells { double lo, hi; size_t n; }; /* n equal cells of lo..hi */
/* A histogram of the finite values among n: bars or steps; values outside the cells fall into those
 * at the ends.  share: heights are shares of the whole instead of counts. */
struct series *figure_histogram(struct figure *, const char *title, enum mark, size_t n,
                                const double *values, const struct figure_cells *, bool share,
                                struct err *);
/* Chooses cells for it: robust against far outliers, few enough for a screen (5..60), whole edges
 * for small whole numbers (Freedman & Diaconis 1981).  Widens *lo..*hi when these are finite on
 * entry, so that calls for several samples give common cells. */
size_t figure_bins(size_t n, const double *values, double *lo, double *hi);

enum status figure_label(struct figure *, const char *x, const char *y, struct err *);
enum status figure_verdict(struct figure *, struct err *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Thins every series of every panel to at most `points` values (min and max per bucket of the x
 * axis; extremes, ends and gaps stay).  Renderers thin a copy by themselves: csv never does. */
enum status figure_thin(struct figure *, size_t points, struct err *);

/* Values of the first panel and all after it that no picture shows: not finite, or <= 0 on a log
 * axis. */
size_t figure_dropped_for_tests(const struct figure *);

/* The ranges and ticks every renderer uses for this panel, for about nx and ny ticks. */
#define FIGURE_TICKS 24
struct ticks {
    size_t n;
    double at[FIGURE_TICKS];
    char text[FIGURE_TICKS][16];   /* "0.25", "20,000", "1e-06" */
    bool power[FIGURE_TICKS];      /* the text is a bare power of ten that may be typeset as one */
};
struct figure_scale {
    double xlo, xhi, ylo, yhi; /* always finite, lo < hi, > 0 on a log axis */
    bool xlog, ylog;
    struct ticks xt, yt;
};
void figure_scale(const struct figure *, size_t nx, size_t ny, struct figure_scale *out);
/* The same with no more ticks along x than have room, letters being so wide. */
void figure_scale_fit(const struct figure *, size_t nx, size_t ny, double room, double letter,
                      struct figure_scale *);
/* Where a value lies between the ends of an axis, 0..1 inside; NaN when it cannot be drawn. */
double figure_place(double v, double lo, double hi, bool log);

/* Renderings that need no child process. */

/* panel,series,x,y,y2,class: y2 is the other side of a band, the height of a surface.  One line a
 * value, full precision, all values, missing ones empty. */
void figure_csv(const struct figure *, struct buf *out);
/* Words for those who do not see it: range, start, end, rate, knees, plateaus, crossings of target
 * lines, outliers; one fact a line. */
void figure_describe(const struct figure *, struct buf *out);

/* Cells of a text screen: UTF-8 text and a terminal colour each. */
struct frame_cell {
    char ch[5]; /* one character; empty: the second column of a wide one before it */
    short fg;   /* 0..colors-1; -1: the terminal's own */
};
struct frame {
    size_t w, h;
    struct frame_cell *cell; /* h rows of w */
    unsigned serial;         /* changes with every picture */
};
struct figure_style {
    bool utf8;  /* braille and frames, else ASCII */
    bool dark;  /* dark background */
    int colors; /* of the terminal: 256, 16, 8, or 0: none */
};
/* The built-in plot, also used without gnuplot.  w, h of 0 give an empty frame. */
enum status figure_frame(const struct figure *, size_t w, size_t h, const struct figure_style *,
                         struct frame *out, struct err *);
void frame_free(struct frame *); /* leaves an empty one */
/* The same as plain lines, h of them, trailing blanks cut; utf8: braille, else ASCII. */
void figure_text(const struct figure *, size_t w, size_t h, bool utf8, struct buf *out);
/* A simple SVG document by ourselves: what exports fall back to. */
void figure_svg(const struct figure *, size_t w, size_t h, bool dark, struct buf *out);

/* gnuplot commands for a terminal line such as "set term svg size 800,480"; every user string goes
 * through figure_gnuplot_quote, every number is printed by us.  With `bare`, no tics, labels or
 * key. */
void figure_gnuplot(const struct figure *, const char *term, const char *output, bool bare,
                    bool dark, struct buf *out);
/* Appends s as a gnuplot string in single quotes: the only way for text to reach gnuplot.  Control
 * characters become blanks, bytes that are not UTF-8 become '?', ' becomes the typographic one, so
 * that no quote is ever inside, and ]]> gets a blank, which keeps gnuplot's SVG well-formed. */
void figure_gnuplot_quote(struct buf *, const char *s);

#endif
