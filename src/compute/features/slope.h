/* compute/features/slope.h -- the value and the gradient in the inputs of a function z(x)'w on the
 * columns of a drawn feature map, by reverse accumulation through its steps
 * (share/doc/methods.md 5.13).  For rows of columns; a map over windows of sequences has none. */
#ifndef GPDESK_SLOPE_H
#define GPDESK_SLOPE_H

#include "compute/features/featmap.h"

/* The length of the workspace of slope_row, in doubles. */
size_t slope_work(const struct featmap *);
/* The value z(x)'w at one row x (d inputs), in double precision, for M weights w at hyperparameters
 * hp; dx (d) <- its gradient.  Thread-safe with a workspace for each caller. */
double slope_row(const struct featmap *, const double *hp, const double *w, const double *x,
                 double *dx, double *work);

#endif
