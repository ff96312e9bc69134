/* app/session/store_write.h -- how each record of the queue becomes rows and arrays of the file. */
#ifndef GPDESK_STORE_WRITE_H
#define GPDESK_STORE_WRITE_H

#include "app/session/store_queue.h"

/* True for a factor that is too large to be written with the rows: store_write_factor writes it
 * after them. */
bool store_write_bulky(const struct op *);
/* Writes one record within the open transaction. Does nothing for large factors, FLUSH, COPY and
 * VISIT. */
enum status store_write_op(struct sdb *, const struct op *, struct err *);
/* Does a part of what decides whether a FACTOR is written in single precision. False: it is
 * decided, and store_write_factor can begin. */
bool store_write_weigh(struct op *);
/* Writes the next `parts` parts of a FACTOR and advances op->at. The factor is complete when
 * op->at.column has reached its size. */
enum status store_write_factor(struct sdb *, struct op *, size_t parts, struct err *);
/* The approximate number of bytes that store_write_op writes. */
size_t store_write_bytes(const struct op *);

#endif
