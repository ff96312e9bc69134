/* compute/solvers/batch.h -- products with few rows of Z at a time, for solvers that step on
 * mini-batches: for solvers/ and tests only. */
#ifndef GPDESK_SOLVERS_BATCH_H
#define GPDESK_SOLVERS_BATCH_H

#include "compute/features/fop.h"

#include <stdint.h>

/* A batch is `per` blocks of `rows` neighbouring rows each (a processor makes features of several
 * rows at once); the blocks are drawn without replacement, in a new order for each epoch. */
struct batch {
    struct fop *f;
    size_t rows, blocks, per, count; /* of a block, of the data; of a batch; batches an epoch */
    size_t k, M, groups;
    size_t *order;                   /* blocks, of the epoch at hand */
    const size_t *at;                /* the batch at hand: per blocks */
    const double *P;
    double *W, *part;                /* groups x k x M */
    char *z, *t, *w, *p;             /* by worker; p: P in the operator's precision */
    enum status *rc;                 /* by group */
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
/* W[c] = (blocks / per) Z_B'(Z_B P[c]) over batch i < count: on average over an epoch's orders it
 * is Z'Z P.  k vectors of M, no overlap.  The same bits for any thread count. */
enum status batch_pass(struct batch *, size_t i, const double *P, double *W, struct err *);
/* The same over the given blocks. */
enum status batch_pass_at(struct batch *, const size_t *blocks, const double *P, double *W,
                          struct err *);
/* max over a sample of rows of z'P^-1 z (pre NULL: z'z). */
struct precond;
enum status batch_leverage(struct fop *, const struct precond *, double *most, struct err *);

#endif
