/* compute/fold.h -- sums of float64 numbers whose bits do not depend on the order of the terms nor
 * on how they are grouped, so that threads and machines may add them as they come (J. Demmel and
 * H. D. Nguyen, Fast reproducible floating-point summation, ARITH 2013).
 *
 * A sum has at most `count` terms.  A bound on their sizes is known before they are added: it can
 * follow from the data, or be the largest of them, which does not depend on an order either.  Each
 * term is rounded to a multiple of a power of two u, so coarse that sums of count such multiples
 * are exact in float64.  What rounding leaves can be summed in the same way as a second fold.
 *
 *   C = 1.5 2^(52 + log2 u),   q_i = (s_i + C) - C,   |s_i - q_i| <= u / 2,
 *   u <= 2^(lg - 52) bound,  lg = log2 of count, rounded up (at least 2).
 *
 * So the error of one fold is at most count u / 2: with 64 terms 2^-41 of the largest.  With two
 * folds it is below that of adding the terms in float64.
 *
 * All functions work on n sums at once, entry by entry.  Bounds must be below 2^900; with infinite
 * terms, or NaN, a sum is not finite. */
#ifndef GPDESK_FOLD_H
#define GPDESK_FOLD_H

#include <stdbool.h>
#include <stddef.h>

/* most[j] = the larger of most[j] and |s[j]|. */
void fold_bound(size_t n, const double *s, double *most);
/* bound[j] (bounds of terms) becomes the C of sums of at most `count` terms. */
void fold_units(size_t n, size_t count, double *bound);
/* The same for bounds x[j] d, which are left as they are. */
void fold_units_of(size_t n, size_t count, const double *x, double d, double *unit);
/* sum[j] += s[j], rounded.  Sums of groups of terms are then added as they are. */
void fold_add(size_t n, const double *s, const double *C, double *sum);
/* The same, and rest[j] += what rounding has left, itself rounded.  The result is sum[j] +
 * rest[j]. */
void fold_add_both(size_t n, size_t count, const double *s, const double *C, double *sum,
                   double *rest);
/* fold_add, or with `rest` fold_add_both, for terms whose bound was guessed: true when one of them
 * is beyond it, so that the sum is of no use.  This does not depend on an order, either. */
bool fold_add_within(size_t n, size_t count, const double *s, const double *C, double *sum,
                     double *rest);

#endif
