/* data/encoding_moments.h -- mean, standard deviation and range of numeric columns over the
 * training rows. */
#ifndef GPDESK_ENCODING_MOMENTS_H
#define GPDESK_ENCODING_MOMENTS_H

#include "data/encoding_column.h"

/* Computes m[j] for each numeric column that is an input or a target, over rows[0..n). logs: of the
 * logarithm of the target. Every caller gets the same bits. */
void encoding_moments_take(const struct dataset *, const size_t *rows, size_t n, bool logs,
                           struct encoding_moments *m);
/* Computes the moments of one column, without a logarithm. */
struct encoding_moments encoding_moments_of(const struct column *, const size_t *rows, size_t n);
/* STATE for a column whose moments are not finite: it is not "constant", but its squares overflow
 * or underflow. */
enum status encoding_moments_check(struct encoding_fitting *, const struct column *, bool target);

#endif
