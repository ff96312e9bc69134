/* compute/solvers/batch.h -- products with a few rows of Z at a time, for solvers that step on
 * mini-batches (share/doc/methods.md 9.3 to 9.6).  For solvers/ and tests only. */
#ifndef GPDESK_SOLVERS_BATCH_H
#define GPDESK_SOLVERS_BATCH_H

#include "compute/features/fop_rows.h"

#include <stdint.h>

/* A batch is `per` blocks of `rows` neighbouring rows each, because the CPU makes features of
 * several rows at once.  Blocks are drawn without replacement, in a new order for each epoch. */
struct batch {
    struct fop *f;
    size_t rows, blocks, per, count; /* rows of a block; blocks of the data, of a batch; batches of
                                      * an epoch */
    size_t k, M;                     /* vectors; columns */
    size_t *order;                   /* the order of blocks in this epoch */
    struct fop_blocks *products;
};

/* About `want` rows a batch (0: 512), for k vectors. */
enum status batch_new(struct batch *, struct fop *, size_t want, size_t k, struct err *);
/* Batches of `per` blocks of `rows` rows. */
enum status batch_new_of(struct batch *, struct fop *, size_t rows, size_t per, size_t k,
                         struct err *);
void batch_free(struct batch *);
size_t batch_size(const struct batch *); /* rows of a batch */
/* A new order, a function of (seed, epoch) alone. */
void batch_shuffle(struct batch *, uint64_t seed, size_t epoch);
/* W[c] = (blocks / per) Z_B'(Z_B P[c]) over batch i < count, an unbiased estimate of Z'Z P[c] over
 * the random orders.  k vectors of M, which do not overlap.  The same bits for any number of
 * threads. */
enum status batch_pass(struct batch *, size_t i, const double *P, double *W, struct err *);
/* batch_pass over the given blocks. */
enum status batch_pass_at(struct batch *, const size_t *blocks, const double *P, double *W,
                          struct err *);
/* *most = max z_i'P^-1 z_i (pre NULL: z_i'z_i) over a sample of rows (share/doc/methods.md 9.4). */
struct precond;
enum status batch_leverage(struct fop *, const struct precond *, double *most, struct err *);

#endif
