/* app/runs/row_columns.h -- `explain-row` for rows of numbers and categories: how each column moves
 * the prediction of one row (share/doc/methods.md 14.6), and the training rows nearest to it. */
#ifndef GPDESK_ROW_COLUMNS_H
#define GPDESK_ROW_COLUMNS_H

#include "app/core/workspace.h"

/* Queues the job. row: of the table, from 0. out: a CSV file, or NULL. */
enum status row_columns_start(struct workspace *, const struct run *, size_t row,
                              const char *target, const char *out, const char *line, struct err *);

#endif
