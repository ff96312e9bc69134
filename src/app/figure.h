/* app/figure.h -- a plot as data: what every plot command produces, once, for screen, picture,
 * text and numbers.  Pure: no gnuplot, no files. */
#ifndef GPDESK_FIGURE_H
#define GPDESK_FIGURE_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum mark { MARK_LINE, MARK_POINTS, MARK_LINEPOINTS, MARK_BARS, MARK_STEPS, MARK_BAND, MARK_HLINE,
            MARK_VLINE };
/* One curve. Arrays are owned by the figure. x NULL: 0..n-1. MARK_BAND: y..y2. NaN: a gap. */
struct series {
    char *title; enum mark mark; int color;  /* index into the theme's cycle, -1: by order */
    size_t n; double *x, *y, *y2;
    int *group;       /* points coloured by class; NULL */
    bool dashed;
};
struct axis { char *label; bool log; double lo, hi; /* NaN: automatic */ };
struct figure {
    char *name;       /* "residual" */
    char *title;
    struct axis x, y;
    size_t ns; struct series *s;
    char *verdict;    /* one sentence made from the same numbers */
    char *reason;     /* when there is nothing to draw: why, and what to do; else NULL */
    struct figure *next; /* a second panel below, or NULL */
};
struct figure *figure_new(const char *name, const char *title, struct err *);
void figure_free(struct figure *);
struct figure *figure_empty(const char *name, const char *reason, struct err *);
/* Adds a curve, copying n values; returns NULL and *err on exhaustion. */
struct series *figure_add(struct figure *, const char *title, enum mark, size_t n, const double *x,
                          const double *y, struct err *);
enum status figure_label(struct figure *, const char *x, const char *y, struct err *);
enum status figure_verdict(struct figure *, struct err *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Thins every series to at most `points` visible points (min/max per bucket), keeping extremes. */
enum status figure_thin(struct figure *, size_t points, struct err *);

/* Renderings that need no child process. */
void figure_csv(const struct figure *, struct buf *out);
void figure_describe(const struct figure *, struct buf *out);  /* words: range, start, end, slope, knees */
/* Text picture of w x h cells; utf8: braille, else ASCII. */
void figure_text(const struct figure *, size_t w, size_t h, bool utf8, struct buf *out);

/* gnuplot commands for a terminal line such as "set term svg size 800,480"; every user string goes
 * through gp_quote, every number is printed by us. With `bare`, no tics, labels or key. */
void figure_gnuplot(const struct figure *, const char *term, const char *output, bool bare,
                    bool dark, struct buf *out);
void gp_quote(struct buf *, const char *s);

#endif
