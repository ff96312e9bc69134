/* data/classes.h -- a target that is a class: which cells are which. Of two classes of a bernoulli
 * likelihood compute reads -1 and +1; the class that is +1 is the positive one, whose probability
 * is predicted. Of several it reads their numbers in the order of their values. */
#ifndef GPDESK_DATA_CLASSES_H
#define GPDESK_DATA_CLASSES_H

#include "data/encoding.h"
#include "data/table.h"

struct dataset;

/* The two values of the target of a dataset as text: level[0] the negative one, level[1] the
 * positive one, which is d->positive, or if that is NULL the greater of two numbers, or the rarer
 * of two words. The caller frees both. STATE, with the values and how often each occurs, unless the
 * target is one column of exactly two values over all rows of the table. */
enum status classes_find(const struct dataset *, char *level[2], struct err *err);
/* All values of the target over all rows of the table, as text, in ascending order: of numbers, or
 * of words by their bytes. *n of them, 2 to TARGETS_MOST. The caller frees them and *level. STATE
 * as for classes_find. */
enum status classes_list(const struct dataset *, char ***level, size_t *n, struct err *err);
/* What a target's cells look like: words (not numbers, nor cells of a kind of its own), whole
 * numbers; how many different values, of words counted up to TARGETS_MOST, of whole numbers up to
 * CLASSES_FEW, and not beyond (more). */
enum { CLASSES_FEW = 20 };
struct classes_look { bool words, whole, more; size_t levels; };
/* Of a dataset with one target; no values at all otherwise, where words and whole are false. */
enum status classes_look(const struct dataset *, struct classes_look *, struct err *);
/* The number of a cell among the classes of an encoding; NaN for another value, and for a missing
 * cell. */
double classes_label(const struct encoding *, const struct column *, size_t row);
/* "splice_site 1 (25 %)"-like words about rows of a target for messages: appends the values with
 * their counts, most frequent first, at most eight. */
void classes_counts(const struct table *, size_t col, struct buf *out);

#endif
