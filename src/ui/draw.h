/* ui/draw.h -- drawing into a rectangle of the screen: clipped by columns, never by bytes.
 *
 * Strings from outside (names, cells, messages) go through text_safe first; draw_safe does both.
 * A canvas that has no room draws nothing, so callers need no size checks. */
#ifndef GPDESK_DRAW_H
#define GPDESK_DRAW_H

#include "ui/theme.h"

#include <stdarg.h>
#include <stddef.h>

struct canvas { int y, x, h, w; };

/* Writes text at (row, col); returns the columns used. */
int draw_text(const struct canvas *, int row, int col, unsigned long attr, const char *text);
int draw_printf(const struct canvas *, int row, int col, unsigned long attr, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* In a field of `width` columns: cut with .. , right > 0 aligns right; blanks fill the field. */
void draw_field(const struct canvas *, int row, int col, int width, bool right, unsigned long attr,
                const char *text);
/* The same for a string that may hold anything. */
int draw_safe(const struct canvas *, int row, int col, int width, unsigned long attr,
              const char *any);
void draw_fill(const struct canvas *, int row, int col, int n, unsigned long attr,
               const char *glyph);
void draw_clear(const struct canvas *);
/* A frame with a title; returns the canvas inside.  Frames may share their edges: where lines meet
 * the right junction is drawn.  draw_begin forgets the lines of the last picture; draw_frame_mark
 * draws the top and the sides of a frame again, as the active one. */
void draw_begin(int rows, int cols);
struct canvas draw_frame(const struct canvas *, const char *title);
void draw_frame_mark(const struct canvas *, const char *title);
struct canvas draw_inner(const struct canvas *, int y, int x, int h, int w);  /* clipped part */
void draw_bar(const struct canvas *, int row, int col, int width, double share);
/* Wraps text (already safe) at blanks into lines of at most `cols` columns, later lines indented:
 * calls put(ctx, start, bytes, first) for each; returns how many lines. */
typedef void draw_line_fn(void *ctx, size_t index, const char *line, size_t bytes);
size_t draw_wrap(const char *text, size_t cols, size_t indent, draw_line_fn *put, void *ctx);
/* Columns by which the wrapped lines of a text are set in: its own leading blanks and two more. */
size_t draw_indent(const char *text);
/* Wrapped paragraph from `row` on; returns the rows used. */
int draw_paragraph(const struct canvas *, int row, int col, unsigned long attr, const char *text);

#endif
