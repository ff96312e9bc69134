/* data/row_set.h -- a set of rows, equal where the cells of chosen columns are: which rows were
 * measured, or are there twice. */
#ifndef GPDESK_ROW_SET_H
#define GPDESK_ROW_SET_H

#include "data/table.h"

struct row_set;
/* Has room for n rows. NULL and *err if memory is exhausted; free it with row_set_free. */
struct row_set *row_set_new(size_t n, struct err *err);
void row_set_free(struct row_set *); /* NULL is fine */
/* Adds a row by the columns of a list that SIZE_MAX ends; false if a row with such cells is there
 * already. Rows of several tables may be added, with lists of as many columns. */
bool row_set_add(struct row_set *, const struct table *, const size_t *col, size_t row);

#endif
