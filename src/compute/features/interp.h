/* compute/features/interp.h -- the plain reading of a drawn feature map: one row, one step at a
 * time, in float64.  The reference that fused code is tested against, and the way to run maps that
 * no fused path recognises. */
#ifndef GPDESK_INTERP_H
#define GPDESK_INTERP_H

#include "compute/features/featmap.h"

/* Doubles of workspace that interp_row_for_tests needs. */
size_t interp_work_for_tests(const struct featmap *fm);
/* z (M) of one row x (d); where dz is not NULL also dz/dlog hp[ihp] (M), for the lengthscale
 * (without ARD) of a plain term and for weights. */
void interp_row_for_tests(const struct featmap *fm, const double *hp, const double *x, double *z,
                          double *dz, size_t ihp, double *work);

#endif
