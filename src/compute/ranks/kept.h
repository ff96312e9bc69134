/* compute/ranks/kept.h -- the rows that a rank has, recognised by the sums of their segments
 * (content.h): operators over the same rows share them, and those of operators that were closed
 * stay for the next ones, so that a tuning, a fit and its scores need them sent once. */
#ifndef GPDESK_KEPT_H
#define GPDESK_KEPT_H

#include <stddef.h>
#include <stdint.h>

/* Rows r0 to r1 - 1 of n, of `inputs` numbers each, with the sums of their segments (lent). */
struct kept_key { size_t n, inputs, r0, r1; const uint64_t *sum; };
struct kept;
struct kept_store { struct kept *first; };

/* The rows of a key, or part of what is there; NULL: they are not there.  *x is the first of them.
 * What is found counts as in use until kept_give. */
struct kept *kept_find(struct kept_store *, const struct kept_key *, const double **x);
/* Adds rows that are in use from now on; x lies in `memory`, which is taken over (free).  With sum
 * NULL they are not found again.  NULL: no memory, and `memory` stays the caller's. */
struct kept *kept_add(struct kept_store *, const struct kept_key *, void *memory, const double *x);
void kept_give(struct kept_store *, struct kept *); /* NULL is fine */
/* Frees what is not in use: all but two, and all beyond the larger of `bytes` (of rows to come) and
 * 64 MB. */
void kept_trim(struct kept_store *, size_t bytes);
void kept_free_for_tests(struct kept_store *); /* all that are not in use */

#endif
