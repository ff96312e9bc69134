/* app/variants.h -- how far rows of sequences lie from the training rows, counted in letters. */
#ifndef GPDESK_VARIANTS_H
#define GPDESK_VARIANTS_H

#include "app/dataset.h"

/* The training rows of a dataset whose input is a sequence.  Sequences are compared place by place from their first
 * letters; places that only one of two has count as different. */
struct variants {
    const struct sequences *seq;   /* lent: the dataset's */
    size_t *train, ntrain;         /* its rows */
    char *consensus;               /* the most frequent letter of each place, as long as most rows are */
    size_t length;
    size_t median, most, q99;      /* letters that differ from it, over the training rows */
    bool related;                  /* variants of one sequence: few do */
};
/* NOT_FOUND: no input is a sequence of letters; STATE: nothing trains. */
enum status variants_open(const struct dataset *, struct variants *, struct err *);
void variants_free(struct variants *);
/* Letters of a row that differ from the consensus. */
size_t variants_changes(const struct variants *, size_t row);
/* Letters that differ from the training row most like it, itself left out. */
size_t variants_nearest(const struct variants *, size_t row);
/* How many rows may be asked for the latter in a moment. */
size_t variants_affordable(const struct variants *);

/* Rows beside the training rows: medians, the most, and the share with more changes than 99 % of the latter. */
struct variants_look {
    bool have, related;
    size_t median, most, train_median, train_most, nearest, train_nearest;
    double beyond;
};
/* Leaves have false where rows are no sequences. */
enum status variants_compare(const struct dataset *, const size_t *row, size_t n, struct variants_look *, struct err *);
bool variants_same(const struct variants_look *); /* the same kind of rows? */

#endif
