/* compute/features/hash.h -- random features of the kernel tanimoto: consistent weighted sampling
 * (share/doc/methods.md 4.10; Ioffe 2010, as corrected there), keyed by seed, feature and place.
 *
 * A feature takes the place of a row whose key ln a is least, together with the bin t of that
 * place's value: two rows take the same (place, t) with probability tanimoto.  The value of the
 * feature is drawn for that pair: a sign or a normal number.
 *
 * Keys are compared in single precision.  A pair's sign is in the lowest bit of its key, so that
 * the least key of a row tells the sign, and what is equal up to it is equal everywhere. */
#ifndef GPDESK_HASH_H
#define GPDESK_HASH_H

#include "compute/cpu/simd.h"
#include "compute/features/featmap.h"

#include <stddef.h>
#include <stdint.h>

/* What a feature draws for a place: r of Gamma(2, 1), the logarithm of c of Gamma(2, 1), b uniform
 * on (0, 1). */
struct hash_draw { double r, lnc, b; };

struct hash_draw hash_draw_for_tests(const struct fm_term *, size_t feature, uint32_t place);
/* The place of a row of counts whose key is least, the lowest of several, and its bin t, a whole
 * number; draw: that of each of its places.  SIZE_MAX: the row has none. */
size_t hash_least_for_tests(const double *x, const struct hash_draw *draw, double *t);
/* The value of a feature at a row of counts, one place at a time. */
double hash_value(const struct fm_term *, size_t feature, const double *x);

/* Rows of counts, as lists of the pairs (place, value) that occur in them. */
struct hash_rows;
/* NULL: no memory.  hash_rows_add adds n rows, ldx apart; hash_rows_end comes after the last. */
struct hash_rows *hash_rows_new(struct err *err);
enum status hash_rows_add(struct hash_rows *, size_t n, const double *x, size_t ldx,
                          struct err *err);
enum status hash_rows_end(struct hash_rows *, struct err *err);
void hash_rows_free(struct hash_rows *); /* NULL is fine */

/* HASH_GROUP features are made at once, in workspace of hash_work_bytes (aligned to 64 bytes). */
enum { HASH_GROUP = HASH_LANES };
size_t hash_work_bytes(const struct hash_rows *);
/* The signs of features HASH_GROUP g to HASH_GROUP (g + 1) - 1, where they exist, at all rows: a
 * bit for each row, 1 for -1, in words of 64 from bits on, those of a feature `words` after those
 * of the one before.  Bits past the last row are 0. */
void hash_signs(const struct fm_term *, size_t g, const struct hash_rows *,
                const struct hash_loops *, void *work, uint64_t *bits, size_t words);
/* Their values (signs or normal numbers): feature j of row i at z[i * ldz + j % HASH_GROUP]. */
void hash_values(const struct fm_term *, size_t g, const struct hash_rows *,
                 void *work, double *z, size_t ldz);

#endif
