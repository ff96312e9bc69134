/* data/kinds/letter_distance.h -- how far rows of sequences lie from the training rows, counted in
 * letters. */
#ifndef GPDESK_LETTER_DISTANCE_H
#define GPDESK_LETTER_DISTANCE_H

#include "data/dataset.h"

/* The training rows of a dataset whose input is a sequence.  Sequences are compared place by place
 * from their first letters; places that only one of two has count as different. */
struct letter_distance {
    const struct sequences *seq;   /* lent: the dataset's */
    size_t *train, ntrain;         /* its rows */
    char *consensus; /* the most frequent letter of each place, as long as most rows are */
    size_t length;
    size_t median, most, q99;      /* letters that differ from it, over the training rows */
    bool related;                  /* variants of one sequence: few do */
};
/* NOT_FOUND: no input is a sequence of letters; STATE: nothing trains. */
enum status letter_distance_open(const struct dataset *, struct letter_distance *, struct err *);
void letter_distance_free(struct letter_distance *);
/* Letters of a row that differ from the consensus. */
size_t letter_distance_changes(const struct letter_distance *, size_t row);
/* Letters that differ from the training row most like it, itself left out. */
size_t letter_distance_nearest(const struct letter_distance *, size_t row);
/* How many rows may be asked for the latter in a moment. */
size_t letter_distance_affordable(const struct letter_distance *);

/* Rows beside the training rows: medians, the most, and the share with more changes than 99 % of
 * the latter. */
struct variants_look {
    bool have, related;
    size_t median, most, train_median, train_most, nearest, train_nearest;
    double beyond;
};
/* Leaves have false where rows are no sequences. */
enum status letter_distance_compare(const struct dataset *, const size_t *row, size_t n,
                                    struct variants_look *, struct err *);
bool letter_distance_same(const struct variants_look *); /* the same kind of rows? */

#endif
