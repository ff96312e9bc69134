/* app/shell/text_table.h -- a table of words for people, with columns as wide as their widest
 * cell. */
#ifndef GPDESK_TEXT_TABLE_H
#define GPDESK_TEXT_TABLE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct text_table { char **cell; size_t n, cap, cols; bool failed; };

void text_table_init(struct text_table *, size_t cols);
void text_table_free(struct text_table *);
/* Adds the next cell, row by row. The text is escaped for a terminal and cut at `width` columns (0:
 * 40). */
void text_table_cell(struct text_table *, const char *text, size_t width);
void text_table_printf(struct text_table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes the rows with two blanks between columns. right[i]: column i is right-aligned (NULL:
 * none). */
void text_table_print(const struct text_table *, const bool *right, struct buf *out);

#endif
