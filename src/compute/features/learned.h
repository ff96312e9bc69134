/* compute/features/learned.h -- rows of a source with the features of a learned map behind their
 * inputs, from which the steps of its kernel copy them (FM_COPY). */
#ifndef GPDESK_LEARNED_H
#define GPDESK_LEARNED_H

#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

struct learned_rows;
/* The features of all rows are made at once, in groups over the pool, and kept in single precision
 * where they take little memory; otherwise for each call anew.  src is borrowed.  NULL and *err on
 * failure. */
struct learned_rows *learned_rows_new(const struct kernel *, const struct source *src,
                                      struct pool *, struct err *err);
const struct source *learned_rows_source(const struct learned_rows *);
void learned_rows_free(struct learned_rows *); /* NULL is fine */

#endif
