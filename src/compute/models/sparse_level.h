/* compute/models/sparse_level.h -- what a level of a tuning at inducing points holds: its rows, and
 * the points chosen from them; for regressions (tuning_sparse.c) and for two classes
 * (model_sparse_classes.c). */
#ifndef GPDESK_SPARSE_LEVEL_H
#define GPDESK_SPARSE_LEVEL_H

#include "compute/models/exact.h"
#include "compute/models/tuning.h"

struct sparse_level { double *X; struct select_points points; };

/* The sizes of a search over so many of n rows (0: over `most`). */
struct tuning_sizes sparse_level_sizes(size_t n, size_t rows, size_t most);
/* Makes the level, with the inputs of its rows and without points; `close` frees it, and does
 * nothing where there is none. */
struct sparse_level *sparse_level_open(struct tuning_level *, struct err *);
void sparse_level_close(struct tuning_level *);
struct columns_of sparse_level_rows(const struct tuning_level *, const double *hp);

#endif
