/* compute/inducing/weigh.h -- what each inducing point of a model is worth, and how far it is from
 * the training rows. */
#ifndef GPDESK_WEIGH_H
#define GPDESK_WEIGH_H

#include "compute/features/source.h"
#include "compute/inducing/bound.h"

/* loss (m) <- by how much the bound, or the log likelihood of FITC and DTC, is lower without the
 * point, at the amplitudes and the ratio of `at` (share/doc/methods.md 22.6).  O(m^3); FITC
 * O(n m^3).  CANCELLED. */
enum status weigh_points(const struct columns_of *, const double *Z, const struct bound *,
                         const struct bound_at *, const double *amplitude, double *loss,
                         const struct ctl *, struct err *);
/* For rows with parts of letters (ROWS_SYMBOLS): in how many letters point z differs from the
 * nearest of n rows of the same lengths, and that row; SIZE_MAX: there is no such row, or the rows
 * hold no letters. */
size_t weigh_letters(const struct source *, const double *X, size_t n, size_t d, const double *z,
                     size_t *row);

#endif
