/* compute/inducing/word_counts.h -- a kernel that is linear in counts of few different words, as
 * the product of the matrix of these counts with itself, K1 = C C': products with K1 without any of
 * its values (layer_word_ops; share/doc/methods.md 4.11). */
#ifndef GPDESK_WORD_COUNTS_H
#define GPDESK_WORD_COUNTS_H

#include "compute/inducing/columns.h"

struct word_counts;
/* *out <- the counts of the rows, or NULL where the kernel is no sum of such kernels, or has more
 * different words than pay or than `bytes` hold the products of.  What columns_of borrows stays
 * borrowed.  NOMEM. */
enum status word_counts_new(const struct columns_of *, double bytes, struct word_counts **out,
                            struct err *err);
void word_counts_free(struct word_counts *); /* NULL is fine */
/* out (n) <- column `row` of S K1. */
void word_counts_column(const struct word_counts *, size_t row, double *out);
/* out (n x 2) <- K1 S x for both columns of x (n x 2). */
void word_counts_products(const struct word_counts *, const double *x, double *out);
/* out (n) <- the squared length of each column of S K1.  NOMEM. */
enum status word_counts_norms(const struct word_counts *, double *out, struct err *err);

#endif
