/* data/encoding_moments.h -- mean, deviation and range of the columns of numbers over the training
 * rows. */
#ifndef GPDESK_ENCODING_MOMENTS_H
#define GPDESK_ENCODING_MOMENTS_H

#include "data/encoding_column.h"

/* m[j] of each column of numbers that is an input or a target, over rows[0..n); logs: of the
 * target's logarithm.  The same bits whoever asks. */
void encoding_moments_take(const struct dataset *, const size_t *rows, size_t n, bool logs,
                           struct encoding_moments *m);
/* The same for one column, of its values as they are. */
struct encoding_moments encoding_moments_of(const struct column *, const size_t *rows, size_t n);
/* STATE for a column whose moments are no numbers: it is not "constant", its squares overflow or
 * vanish. */
enum status encoding_moments_check(struct encoding_fitting *, const struct column *, bool target);

#endif
