/* compute/features/source.h -- rows of inputs, wherever they live.  compute reads data only through
 * this; the program implements it over its tables (scaled, gathered), tests over arrays. */
#ifndef GPDESK_SOURCE_H
#define GPDESK_SOURCE_H

#include "base/status.h"

#include <stddef.h>

/* Targets that one model can have: one kernel and one noise ratio for all of them. */
enum { TARGETS_MOST = 64 };

/* Rows of ROW_SYMBOLS and ROW_VECTORS are sequences of different lengths: after `flat` numbers as
 * any (0: none) one that tells how many positions there are, then each position, a symbol (below
 * `channels` it stands for that unit vector, else for the zero vector) or `channels` numbers; what
 * follows the last position up to d means nothing.  Kernels over windows read them (LAYER_WINDOWS),
 * no others; these read the numbers before. */
enum source_row { ROW_FLAT, ROW_SYMBOLS, ROW_VECTORS };
struct source {
    size_t n, d; /* rows, inputs (numbers of a row) */
    /* Writes rows r0..r1-1 into x, row-major, (r1-r0) x d, already standardised.  Called from any
     * pool thread at the same time; must not keep state between calls. */
    enum status (*rows)(const struct source *, size_t r0, size_t r1, double *x, struct err *);
    void *ctx;
    /* n square roots of the rows' weights (the noise variance of row i is noise^2 / w_i), NULL:
     * all 1.  What trains multiplies rows and targets by them; predictions do not look. */
    const double *row_scale;
    enum source_row row;
    size_t channels; /* ROW_SYMBOLS, ROW_VECTORS */
    size_t flat;     /* likewise */
};

/* Over a row-major n x d array that outlives the source. */
struct source_array { struct source base; const double *x; size_t ld; };
void source_array_init(struct source_array *, const double *x, size_t n, size_t d, size_t ld);
/* Rows idx[0..n) of another source; both outlive it.  Its row_scale, where that has one, is the
 * caller's to gather. */
struct source_subset { struct source base; const struct source *of; const size_t *idx; };
void source_subset_init(struct source_subset *, const struct source *of, const size_t *idx,
                        size_t n);

/* May this kernel read these rows?  SHAPE. */
struct kernel;
enum status source_suits(const struct source *, const struct kernel *, struct err *);

#endif
