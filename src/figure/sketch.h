/* figure/sketch.h -- a drawing of circles, lines and words that is no plot, such as a molecule:
 * an SVG document of its own, and the same for gnuplot, which makes png and pdf files of it.
 *
 * Lengths are in pixels from the upper left corner.  Circles lie below lines, lines below blanks,
 * and words above all. */
#ifndef GPDESK_SKETCH_H
#define GPDESK_SKETCH_H

#include "figure/figure.h"

struct sketch;
/* Of this size; NULL: NOMEM.  It ends with sketch_into. */
struct sketch *sketch_new(double w, double h, struct err *);
struct sketch_circle { double x, y, r; unsigned rgb; };
/* title: words that a browser shows over it; NULL: none. */
void sketch_disc(struct sketch *, const struct sketch_circle *, const char *title);
void sketch_blank(struct sketch *, const struct sketch_circle *); /* hides lines */
struct sketch_line { double x0, y0, x1, y1; bool dashed; };
void sketch_line(struct sketch *, const struct sketch_line *);
/* Words around x, y; any bytes, at most `cols` columns of them (0: all). */
void sketch_words(struct sketch *, double x, double y, double size, size_t cols, const char *);
/* The name of an atom: letters, a small number below the line (0: none), and what follows. */
void sketch_atom(struct sketch *, double x, double y, const char *letters, int count,
                 const char *after);
/* Gives the figure the drawing, and frees it. */
enum status sketch_into(struct sketch *, struct figure *, struct err *);

#endif
