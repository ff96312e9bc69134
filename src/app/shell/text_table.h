/* app/shell/text_table.h -- a table of words for people: columns as wide as their widest cell. */
#ifndef GPDESK_TEXT_TABLE_H
#define GPDESK_TEXT_TABLE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct text_table { char **cell; size_t n, cap, cols; bool failed; };

void text_table_init(struct text_table *, size_t cols);
void text_table_free(struct text_table *);
/* The next cell, row by row; made safe for a terminal, cut at `width` columns (0: 40). */
void text_table_cell(struct text_table *, const char *text, size_t width);
void text_table_printf(struct text_table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Rows with two blanks between columns; right[i]: align column i to the right (NULL: none). */
void text_table_print(const struct text_table *, const bool *right, struct buf *out);

#endif
