/* data/candidates.h -- rows that could be measured next, made from ranges of the inputs. */
#ifndef GPDESK_CANDIDATES_H
#define GPDESK_CANDIDATES_H

#include "data/dataset.h"

/* What rows are made from: the columns of a dataset, ranges for some of them, and the utility of
 * each row of its table (NaN: not measured), near the best of which half of the rows are. A range
 * is a word "column=20..80", "column=5..9/0.5", "column=1,2,5", "column=water,dmso" or
 * "column=40". An input without a range takes the values that the table has: from its least to its
 * largest, in whole numbers if all of them are, or its categories. */
struct candidates_from {
    const struct dataset *d;
    const char *const *range;
    size_t nrange;
    const double *utility;
    size_t most; /* rows, at most */
    uint64_t seed;
};
/* Makes the table: every combination, if there are at most `most`; else `most` rows at random, half
 * of them spread evenly and half around good rows. Has a column for each input and each range,
 * named as in the dataset. told receives the ranges in words ("temp 20..80, ph 5..9 by 0.5").
 * NOT_FOUND for a column that there is not, USAGE for a range that cannot be read, STATE for an
 * input that is neither numbers nor categories. The caller owns *out. */
enum status candidates_make(const struct candidates_from *, struct table **out, struct buf *told,
                            struct err *);

#endif
