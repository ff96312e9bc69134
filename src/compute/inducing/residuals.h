/* compute/inducing/residuals.h -- what each training row would add to a set of inducing points, for
 * all rows at once, as the set grows point by point (share/doc/methods.md 22.5).
 *
 * With r a row's column of S (K - Q) and P = (Q1 + ratio I)^-1 the gain of a row needs d, r'r, r'P
 * r and r'P y.  A point changes r by a multiple of one vector and P by a matrix of rank one, so
 * that all four follow from two products with K1 for each point: O(n^2), or O(n) times the words of
 * a row where the kernel counts words. */
#ifndef GPDESK_RESIDUALS_H
#define GPDESK_RESIDUALS_H

#include "compute/inducing/basis.h"

struct residuals;
/* Of a basis without points yet, over its rows and targets, borrowed.  Memory: `bytes` at most;
 * *out is NULL where that does not suffice, or where the kernel counts no words and `pairs` is
 * false, because a matrix of all rows would not pay.  NOMEM. */
enum status residuals_new(const struct basis *, double bytes, bool pairs, struct residuals **out,
                          struct err *err);
void residuals_free(struct residuals *); /* NULL is fine */
/* Computes row `row` for being added, as basis_tries does. */
void residuals_try(const struct residuals *, const struct basis *, size_t row, struct basis_try *);
/* After basis_add of what residuals_try computed. */
void residuals_added(struct residuals *, const struct basis *, const struct basis_try *);
/* True if the set spans row j. */
bool residuals_spanned(const struct residuals *, const struct basis *, size_t j);
/* The change of minus the log likelihood or bound with row j. */
double residuals_change(const struct residuals *, const struct basis *, size_t j);

#endif
