/* data/encoding_column.h -- the columns of an encoding: how they are added while it is fitted, and
 * the value that a cell has in one. */
#ifndef GPDESK_ENCODING_COLUMN_H
#define GPDESK_ENCODING_COLUMN_H

#include "data/dataset.h"

#include <math.h>

/* An encoded value is cut at so many times the largest one of training. */
#define ENCODING_COLUMN_CUT 10.0

/* Of one column of numbers over the training rows, two passes in row order. */
struct encoding_moments {
    size_t n;
    double mean, sd, min, max, magnitude;
    bool constant;
    bool beyond; /* too great or too small for its squares to be numbers */
    bool wanted;
    double sum, rest, squares; /* on the way */
    size_t width;              /* bytes of the column that a row brings */
};

/* An encoding while it is fitted: what kinds of rows work on. */
struct encoding_fitting {
    const struct dataset *d;
    size_t *rows, n; /* training rows that count */
    struct encoding_moments *m; /* of each column of the table */
    struct encoding *e;
    size_t cap;
    struct buf *notes;
    size_t constants;
    char first_constant[64];
    struct err *err;
};

/* Appends a column with sd 1, of that kind of rows; NULL: no memory, which the error says. */
struct enc_col *encoding_column_add(struct encoding_fitting *, const struct row_kind *,
                                    const struct column *, enum enc_kind);
/* Likewise one of the kind's own numbers (ENC_CELL): of which sort, and which of them. */
struct enc_col *encoding_column_cell(struct encoding_fitting *, const struct row_kind *,
                                     const struct column *, unsigned number, const char *level);
/* What the encoding keeps of a column (enc_held), with the kind's state for it to fill: once, and
 * *fresh false where it was there.  STATE: it is kept of a column of another kind already. */
enum status encoding_column_keep(struct encoding_fitting *, const struct row_kind *,
                                 const struct column *, bool *fresh);
/* Counts an input that does not vary on the training rows, for a note. */
void encoding_column_constant(struct encoding_fitting *, const char *name);
/* The value of a cell in units of training; ++*cut where it lies beyond the column's limit. */
static inline double encoding_column_value(const struct enc_col *c, double x, size_t *cut)
{
    if (c->constant)
        return 0.0;
    double z = (x - c->mean) / c->sd;
    if (c->limit > 0.0 && fabs(z) > c->limit) {
        z = copysign(c->limit, z);
        ++*cut;
    }
    return z;
}

#endif
