/* app/session/store_write.h -- how each record of the queue becomes rows and arrays of the file. */
#ifndef GPDESK_STORE_WRITE_H
#define GPDESK_STORE_WRITE_H

#include "app/session/store_queue.h"

/* A factor too large to be written with the rows: store_write_factor writes it behind them. */
bool store_write_bulky(const struct op *);
/* Writes one record within the open transaction; nothing for bulky ones, FLUSH, COPY, VISIT. */
enum status store_write_op(struct sdb *, const struct op *, struct err *);
/* Writes the next `parts` parts of a FACTOR and moves op->at on; all of it is written when
 * op->at.column has reached the factor's size. */
enum status store_write_factor(struct sdb *, struct op *, size_t parts, struct err *);
/* Roughly how many bytes store_write_op writes. */
size_t store_write_bytes(const struct op *);

#endif
