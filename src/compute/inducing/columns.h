/* compute/inducing/columns.h -- kernel values between a set of rows, prepared once, and points that
 * are not known beforehand: columns of S K1 with the row factors S of source.h.  The values are
 * those of kernel_exact, whatever the number of threads. */
#ifndef GPDESK_COLUMNS_H
#define GPDESK_COLUMNS_H

#include "base/status.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

/* Rows X (n x d, row-major) of a kernel at hyperparameters hp; row_scale: n factors, or NULL.
 * Everything is borrowed. */
struct columns_of {
    const struct kernel *k;
    const double *hp, *X;
    size_t n, d;
    const double *row_scale;
    struct pool *pool;
};
struct columns;
/* `few`: the rows change one by one (columns_put), and are prepared in small groups.  NOMEM. */
struct columns *columns_new(const struct columns_of *, bool few, struct err *);
void columns_free(struct columns *); /* NULL is fine */
/* Row i of X has changed: it is prepared anew, with those of its group. */
void columns_put(struct columns *, size_t i);
/* out (n x p, column-major) <- s_i k(x_i, z_j) for p points Z (p x d, row-major).  NOMEM. */
enum status columns_at(struct columns *, size_t p, const double *Z, double *out, struct err *);
/* The same for rows that are not needed again: nothing is prepared of them. */
enum status columns_once(const struct columns_of *, size_t p, const double *Z, double *out,
                         struct err *);
/* out (n) <- s_i^2 k(x_i, x_i). */
void columns_own(const struct columns_of *, double *out);

#endif
