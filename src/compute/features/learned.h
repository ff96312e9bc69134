/* compute/features/learned.h -- rows of a source with what maps that learn make of them behind
 * their inputs: features, which the steps of a kernel copy (FM_COPY), or coordinates, which those
 * of the kernel behind a map read. */
#ifndef GPDESK_LEARNED_H
#define GPDESK_LEARNED_H

#include "compute/backend.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

struct learned_rows;
/* They are made at once for all rows, in groups over the pool, and kept in single precision where
 * they take little memory; otherwise for each call anew.  A backend that knows learned maps makes
 * them while it works (backend_nets; NULL: none).  The kernel and src are borrowed.  NULL and *err
 * on failure. */
struct learned_rows *learned_rows_new(const struct kernel *, const struct source *src,
                                      const struct backend_nets *, struct pool *,
                                      struct err *err);
/* True, and why: the device of these maps has failed, and the processor made the features. */
bool learned_rows_lost(struct learned_rows *, struct err *why);
const struct source *learned_rows_source(const struct learned_rows *);
void learned_rows_free(struct learned_rows *); /* NULL is fine */

#endif
