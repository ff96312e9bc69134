/* app/grid.h -- a table of words for people: columns as wide as their widest cell. */
#ifndef GPDESK_GRID_H
#define GPDESK_GRID_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct grid { char **cell; size_t n, cap, cols; bool failed; };

void grid_init(struct grid *, size_t cols);
void grid_free(struct grid *);
/* The next cell, row by row; made safe for a terminal, cut at `width` columns (0: 40). */
void grid_cell(struct grid *, const char *text, size_t width);
void grid_printf(struct grid *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Rows with two blanks between columns; right[i]: align column i to the right (NULL: none). */
void grid_print(const struct grid *, const bool *right, struct buf *out);

#endif
