/* ui/draw.h -- draws into a rectangle of the screen, clipped by columns and never by bytes.
 *
 * Strings from outside (names, cells, messages) must go through text_safe first; draw_safe does
 * both. A canvas without room draws nothing, so callers need not check sizes. */
#ifndef GPDESK_DRAW_H
#define GPDESK_DRAW_H

#include "ui/theme.h"

#include <stdarg.h>
#include <stddef.h>

struct canvas { int y, x, h, w; };

/* Writes text at (row, col) and returns the number of columns used. */
int draw_text(const struct canvas *, int row, int col, unsigned long attr, const char *text);
int draw_printf(const struct canvas *, int row, int col, unsigned long attr, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Writes into a field of `width` columns: cuts with .. , aligns to the right if `right`, and fills
 * with blanks. */
void draw_field(const struct canvas *, int row, int col, int width, bool right, unsigned long attr,
                const char *text);
/* Does the same with a string that may contain anything. */
int draw_safe(const struct canvas *, int row, int col, int width, unsigned long attr,
              const char *any);
void draw_fill(const struct canvas *, int row, int col, int n, unsigned long attr,
               const char *glyph);
void draw_clear(const struct canvas *);
/* Draws a frame with a title and returns the canvas inside it. Frames may share edges: where lines
 * meet, the right junction is drawn. draw_begin forgets the lines of the last drawing.
 * draw_frame_mark draws the top and sides of a frame again, as those of the active one. */
void draw_begin(int rows, int cols);
struct canvas draw_frame(const struct canvas *, const char *title);
void draw_frame_mark(const struct canvas *, const char *title);
/* a part, clipped to the canvas */
struct canvas draw_inner(const struct canvas *, int y, int x, int h, int w);
void draw_bar(const struct canvas *, int row, int col, int width, double share);
/* Wraps text (already safe) at blanks into lines of at most `cols` columns; later lines are
 * indented. Calls put(ctx, index, line, bytes) for each and returns their number. */
typedef void draw_line_fn(void *ctx, size_t index, const char *line, size_t bytes);
size_t draw_wrap(const char *text, size_t cols, size_t indent, draw_line_fn *put, void *ctx);
/* The indentation of the wrapped lines of a text: that of the text itself and two columns more. */
size_t draw_indent(const char *text);
/* Draws a wrapped paragraph from `row` on and returns the number of rows used. */
int draw_paragraph(const struct canvas *, int row, int col, unsigned long attr, const char *text);

#endif
