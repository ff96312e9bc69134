/* compute/features/interp.h -- a plain interpreter of a drawn feature map: one row, one step at a
 * time, in float64.  It is the reference that the vector code is tested against. */
#ifndef GPDESK_INTERP_H
#define GPDESK_INTERP_H

#include "compute/features/featmap.h"

/* The length of the workspace of interp_row_for_tests, in doubles. */
size_t interp_work_for_tests(const struct featmap *fm);
/* z (M) of one row x (d), and unless dz is NULL dz / dlog hp[ihp] (M), for the lengthscale of a
 * plain term (without ard) and for weights. */
void interp_row_for_tests(const struct featmap *fm, const double *hp, const double *x, double *z,
                          double *dz, size_t ihp, double *work);

#endif
