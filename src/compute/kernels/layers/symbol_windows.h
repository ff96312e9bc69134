/* compute/kernels/layers/symbol_windows.h -- how far apart the windows of two rows of symbols are.
 *
 * As unit vectors two symbols have squared distance 0 or 2, and 1 where one of them is outside the
 * alphabet (the zero vector), so that between windows it is a whole number up to twice the width
 * and a kernel needs to be evaluated once for each (share/doc/methods.md 4.1 to 4.3). */
#ifndef GPDESK_SYMBOL_WINDOWS_H
#define GPDESK_SYMBOL_WINDOWS_H

#include "compute/kernels/layers/layer.h"

#include <stddef.h>

/* Counts the pairs of the m windows of x and the n of y (m, n > 0) at each squared distance, 0 to
 * 2 width.  x and y point at the first symbols. */
void symbol_windows_count(const struct layer *, const double *x, size_t m, const double *y,
                          size_t n, size_t count[2 * KERNEL_WIDTH_MOST + 1]);
/* Nanoseconds of one core at 3.6 GHz for a pair of windows. */
double symbol_windows_ns(const struct layer *);

#endif
