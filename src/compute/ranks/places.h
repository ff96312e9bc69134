/* compute/ranks/places.h -- where rows lie in files (source.h) as a part of a message, and reading
 * them there.
 *
 * A reader opens regular files only, reads numbers that were described and no others, and takes a
 * file that is missing, shorter or otherwise not as described for rows that are not there.  It does
 * not map files: one that is cut off meanwhile gives fewer bytes, and no signal. */
#ifndef GPDESK_PLACES_H
#define GPDESK_PLACES_H

#include "base/buf.h"
#include "compute/features/source.h"
#include "compute/pool.h"

/* Appends the description, padded to eights; and the rows row[r0] to row[r1 - 1] of the arrays, two
 * bytes or a few more for each run of neighbours. */
void places_put(struct buf *, const struct source_places *);
void places_put_rows(struct buf *, const struct source_places *, size_t r0, size_t r1);
/* A description of `d` inputs in `bytes` bytes, and `listed` rows in others.  x (n x d) receives
 * rows `from` to from + n - 1 of those listed.  False where they cannot be read, or the description
 * is none. */
struct places_told { const char *places, *rows; size_t bytes, row_bytes, d, listed; };
bool places_read(const struct places_told *, struct pool *, size_t from, size_t n, double *x);

#endif
