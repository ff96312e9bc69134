/* data/kinds/distance.h -- how far rows are from the training rows, counted in the parts that cells
 * of a kind consist of. */
#ifndef GPDESK_DISTANCE_H
#define GPDESK_DISTANCE_H

#include "data/kinds/kind.h"

/* The training rows of a column. */
struct row_distance {
    const struct row_kind *kind;
    const struct column *c;    /* borrowed */
    size_t *train, ntrain;     /* rows in it */
    void *own;                 /* belongs to the kind */
    /* Number of parts that differ from what most rows have, over the training rows. */
    size_t median, most, q99;
    bool related;              /* the rows are variants of one row: few parts differ */
    size_t affordable;      /* number of rows for which the nearest training row is found quickly */
};
/* What a kind provides to measure distances to the rows in `train`. */
struct distance_ops {
    /* Fills own and the members after it. */
    enum status (*open)(struct row_distance *, struct err *);
    void (*close)(void *own);
    size_t (*changes)(const struct row_distance *, size_t row); /* from what most rows have */
    /* From the most similar training row. */
    size_t (*nearest)(const struct row_distance *, size_t row);
    /* The largest share of equal parts, of all that the longer row has, in any other training row:
     * 0 to 1. Several threads call it. */
    double (*alike)(const struct row_distance *, size_t row);
};

/* The first input whose kind can measure distances; the number of columns if there is none. */
size_t distance_first(const struct dataset *);
/* For such a column. NOT_FOUND if it is none; STATE if there are no training rows. */
enum status distance_open(const struct dataset *, size_t column, struct row_distance *,
                          struct err *);
void distance_close(struct row_distance *);
/* The number of parts in which a row differs: from what most training rows have if these are
 * variants of one row, otherwise from the nearest of them. */
size_t distance_of(const struct row_distance *, size_t row);

/* Compares rows with the training rows by one column: medians, maxima, and the share with more
 * changes than 99 % of the training rows. */
struct row_drift {
    const char *column;       /* borrowed */
    bool related, same;       /* same: similar to the training rows */
    size_t median, most, train_median, train_most, nearest, train_nearest;
    double beyond;
    const char *part; /* what is counted */
};
enum status distance_drift(const struct dataset *, size_t column, const size_t *row, size_t n,
                           struct row_drift *, struct err *);

#endif
