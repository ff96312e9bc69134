/* compute/features/gram.h -- a stored symmetric matrix for products: Z'Z formed once, for
 * iterations that read M^2 / 2 numbers instead of making n M features. */
#ifndef GPDESK_GRAM_H
#define GPDESK_GRAM_H

#include "base/status.h"
#include "compute/pool.h"

#include <stddef.h>

struct gram {
    size_t M, ld;
    double *A;     /* M columns of ld, both triangles; filled by the caller */
    double *part;  /* partial products */
    size_t kcap;   /* right-hand sides that part has room for */
};
enum status gram_new(struct gram **, size_t M, struct err *);
void gram_free(struct gram *); /* NULL is fine */
double *gram_take(struct gram *); /* frees all but the matrix, M x M, which the caller frees */
size_t gram_bytes(size_t M, size_t k); /* for products with k right-hand sides */
/* W = A P for k vectors of M; reads one triangle, once.  The same bits for any number of
 * threads. */
enum status gram_apply(struct gram *, struct pool *, size_t k, const double *P, double *W,
                       struct err *);

#endif
