/* data/kinds/letter_distance.h -- how far rows of sequences are from the training rows, counted in
 * letters. Sequences are compared place by place from their first letters; places that only one of
 * them has count as different. */
#ifndef GPDESK_LETTER_DISTANCE_H
#define GPDESK_LETTER_DISTANCE_H

#include "data/kinds/distance.h"

/* own: the consensus, a string of the most frequent letter at each place among the training rows,
 * as long as most of them. */
extern const struct distance_ops letter_distance_ops;

#endif
