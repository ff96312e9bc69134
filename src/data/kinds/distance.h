/* data/kinds/distance.h -- how far rows lie from the training rows, counted in the parts that cells
 * of a kind are made of. */
#ifndef GPDESK_DISTANCE_H
#define GPDESK_DISTANCE_H

#include "data/kinds/kind.h"

/* The training rows of a column. */
struct row_distance {
    const struct row_kind *kind;
    const struct column *c;    /* lent */
    size_t *train, ntrain;     /* its rows */
    void *own;                 /* the kind's */
    size_t median, most, q99;  /* parts that differ from what most rows have, over these rows */
    bool related;              /* variants of one row: few do */
    size_t affordable;         /* rows whose nearest training row is found in a moment */
};
/* What a kind has to tell of the rows in `train`. */
struct distance_ops {
    enum status (*open)(struct row_distance *, struct err *); /* own, and all behind it */
    void (*close)(void *own);
    size_t (*changes)(const struct row_distance *, size_t row); /* from what most rows have */
    size_t (*nearest)(const struct row_distance *, size_t row); /* from the row most like it */
};

/* Of the first input whose kind can tell.  NOT_FOUND: none can; STATE: nothing trains. */
enum status distance_open(const struct dataset *, struct row_distance *, struct err *);
void distance_close(struct row_distance *);
/* In how many parts a row of the dataset differs from most training rows where these are variants
 * of one, else from the nearest of them. */
size_t distance_of(const struct row_distance *, size_t row);

/* Rows beside the training rows: medians, the most, and the share with more changes than 99 % of
 * the latter.  have false: there is nothing to compare. */
struct row_drift {
    bool have, related, same; /* same: of the same kind as the training rows */
    size_t median, most, train_median, train_most, nearest, train_nearest;
    double beyond;
    const char *part; /* what is counted */
};
enum status distance_drift(const struct dataset *, const size_t *row, size_t n, struct row_drift *,
                           struct err *);

#endif
