/* compute/features/words.h -- features of kernels that count words (layer_ops.words;
 * share/doc/methods.md 4.11): a column for each word that there can be, where a term has as many
 * columns, otherwise signed hashing. */
#ifndef GPDESK_WORDS_H
#define GPDESK_WORDS_H

#include "compute/features/featmap.h"

/* The columns of a term at a sequence x, z[0] to z[mf - 1], without the factor of its columns. */
void words_row(const struct fm_term *, const double *x, double *z);

#endif
