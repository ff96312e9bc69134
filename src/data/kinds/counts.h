/* data/kinds/counts.h -- columns of counts: cells like "33:4 80:1", places in ascending order with
 * a value at each, as fingerprints of molecules are.  Only places with a value above 0 are kept. */
#ifndef GPDESK_COUNTS_H
#define GPDESK_COUNTS_H

#include "data/table.h"

/* A place and its value, above 0.  Equal counts have equal bytes. */
struct count { double value; uint32_t place, none; };
struct counts {
    size_t *at;           /* n + 1 offsets: where the places of a row begin (spill.h) */
    struct count *count;  /* places ascend within a row (spill.h) */
    bool *missing;        /* n, for rows without a cell; a cell "0:0" is a row without places */
    size_t shortest, longest; /* places of the rows that are not missing; 0: there are none */
    bool whole;           /* all values are whole numbers */
    double most;          /* the largest value */
};
extern const struct cell_ops counts_cells;
static inline struct counts *counts_of(const struct column *c)
{
    return c->held;
}
void counts_clear(struct counts *); /* frees what it points to */
static inline size_t counts_places(const struct counts *c, size_t row)
{
    return c->at[row + 1] - c->at[row];
}

/* True if all words of column j are counts, and at least one has several places: a single pair may
 * be a time of day. */
bool counts_guess(const struct table *, size_t j);
/* Converts column j of words to counts, into an empty column without a name.  FORMAT names row,
 * column and character: no pair, a place that is not above the one before it or too large, a value
 * that is negative or not finite. */
enum status counts_make(const struct table *, size_t j, struct column *to, struct err *err);

/* The row, and then for each of its places the row without it, into an empty column without a
 * name. */
enum status counts_leave_out(const struct counts *, size_t row, struct column *to, struct err *);
/* The places of a row, one a line; NULL: NOMEM. */
char *counts_names(const struct counts *, size_t row, struct err *);

/* Makes such a column, into an empty column without a name, of n rows: row i has `places` counts
 * from from[i] on, which ascend. */
enum status counts_gather(size_t n, const size_t *from, const size_t *places,
                          const struct count *count, const bool *missing, struct column *to,
                          struct err *);

#endif
