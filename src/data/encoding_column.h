/* data/encoding_column.h -- the columns of an encoding: how they are added while it is fitted, and
 * the value of a cell in one. */
#ifndef GPDESK_ENCODING_COLUMN_H
#define GPDESK_ENCODING_COLUMN_H

#include "data/dataset.h"

#include <math.h>

/* An encoded value is limited to this multiple of the largest one in training. */
#define ENCODING_COLUMN_CUT 10.0

/* Statistics of a numeric column over the training rows, from two passes in row order. */
struct encoding_moments {
    size_t n;
    double mean, sd, min, max, magnitude;
    bool constant;
    bool beyond; /* too large or too small for its squares to be finite */
    bool wanted;
    double sum, rest, squares; /* intermediate results */
    size_t width;              /* bytes of the column that one row brings into memory */
};

/* An encoding while it is fitted, for the kinds of rows. */
struct encoding_fitting {
    const struct dataset *d;
    size_t *rows, n; /* the training rows that are used */
    struct encoding_moments *m; /* one for each column of the table */
    double common;              /* the sd of every number under X_COMMON; 0: its own */
    struct encoding *e;
    size_t cap, held_cap;
    struct buf *notes;
    size_t constants;
    char first_constant[64];
    struct err *err;
};

/* Appends a column with sd 1 for this kind of rows. NULL and an error if memory is exhausted. */
struct enc_col *encoding_column_add(struct encoding_fitting *, const struct row_kind *,
                                    const struct column *, enum enc_kind);
/* Appends one of the kind's own numbers (ENC_CELL): its sort, and which one it is. */
struct enc_col *encoding_column_cell(struct encoding_fitting *, const struct row_kind *,
                                     const struct column *, unsigned number, const char *level);
/* Appends what the encoding keeps about a column, with the kind's state for it to fill.  NULL and
 * an error if memory is exhausted. */
struct enc_held *encoding_column_keep(struct encoding_fitting *, const struct row_kind *,
                                      const struct column *);
/* Counts an input that does not vary on the training rows, for a note. */
void encoding_column_constant(struct encoding_fitting *, const char *name);
/* The value of a cell in units of the training sd; increments *cut if it exceeds the column's
 * limit. */
static inline double encoding_column_value(const struct enc_col *c, double x, size_t *cut)
{
    bool beyond = false;

    if (c->constant)
        return 0.0;
    const double z = source_scaled(x, c->mean, c->sd, c->limit, &beyond);
    *cut += beyond;
    return z;
}

#endif
