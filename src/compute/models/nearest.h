/* compute/models/nearest.h -- the training rows that are nearest to a row by the kernel itself:
 * those with the largest prior correlation k(x, x') / sqrt(k(x, x) k(x', x')), so that rows of any
 * kind have neighbours (share/doc/methods.md 24).  Among equal ones the smaller row numbers
 * count. */
#ifndef GPDESK_NEAREST_H
#define GPDESK_NEAREST_H

#include "compute/models/exact.h"

enum { NEAREST_GROUP = 12 }; /* rows that are compared with all others together */
struct nearest;
/* Packs the rows for the search; kernel, hp and X are borrowed and must outlive it.  The caller
 * closes it. */
enum status nearest_open(const struct exact_rows *, struct nearest **out, struct err *);
void nearest_close(struct nearest *); /* NULL is fine */

/* What a search for m neighbours needs beside it, for one thread at a time. */
struct nearest_room;
struct nearest_room *nearest_room_new(const struct nearest *, size_t m, struct err *);
void nearest_room_free(struct nearest_room *); /* NULL is fine */
/* For each of up to NEAREST_GROUP rows of Y, `wide` numbers apart: at[r * m] and on <- the numbers
 * of its m nearest rows, ascending.  without[r] is a row that does not count (NULL: all do).  The
 * result is their number, less than m where there are not so many.  A row has the same neighbours
 * whichever rows are searched for with it. */
size_t nearest_find(const struct nearest *, struct nearest_room *, size_t rows, const double *Y,
                    size_t wide, const size_t *without, size_t *at);

#endif
