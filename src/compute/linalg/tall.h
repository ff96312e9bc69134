/* compute/linalg/tall.h -- products U diag(c) U' y with a tall matrix U (M x L), for which
 * processes may have rows of U each.
 *
 * U'y is a sum over rows.  It is cut into pieces of rows by M alone, the product of each piece is
 * added to the others by fold.h, and so the bits do not depend on who has which piece, nor on
 * threads. */
#ifndef GPDESK_TALL_H
#define GPDESK_TALL_H

#include "compute/share.h"

/* Rows r0 to r1 - 1 of U, in columns of ldu; they begin and end with pieces. */
struct tall { size_t M, L, r0, r1; const double *U; size_t ldu; };
/* The number of pieces of M rows, a power of two up to SHARE_SEGMENTS; the first row of one
 * (pieces: M). */
size_t tall_pieces(size_t M);
size_t tall_row(size_t M, size_t piece);
/* Numbers of workspace for k vectors. */
size_t tall_work(const struct tall *, size_t k);
/* Bounds on the products of pieces of U with k vectors of M numbers, whatever they are, where no
 * column of U has a norm above 2; those of a preconditioner have 1. */
void tall_bounds(size_t M, size_t k, const double *Y, size_t ldy, double *bound);
/* Y += U diag(c) U' Y for k vectors, of which Y has these rows (columns of ldy).  c: L numbers and
 * then the k bounds of all rows of Y; where one does not hold, the processes meet twice more.
 * meet: the processes that have the other rows, of which its collective calls are used; NULL: all
 * are here. */
enum status tall_add(const struct tall *, const struct share *meet, struct pool *, size_t k,
                      const double *c, double *Y, size_t ldy, double *work, struct err *);

#endif
