/* compute/kernels/layers/windows.h -- functions that layers with windows share: the number of
 * windows of a row, the factor of a sum over them, exact sums, and settings
 * (share/doc/methods.md 4.1, 4.5). */
#ifndef GPDESK_WINDOWS_H
#define GPDESK_WINDOWS_H

#include "compute/kernels/layers/layer.h"

#include <math.h>

struct kterm;

/* The number of windows L - width + 1 of a sequence of length L (row_layout.h); 0 when it is
 * shorter than a window. */
static inline size_t windows_count(const struct layer *l, const double *row)
{
    return row[0] >= (double)l->width ? (size_t)row[0] - l->width + 1 : 0;
}

/* The factor c of a sum over that many windows (4.5). */
static inline double windows_factor(const struct layer *l, size_t windows)
{
    const double m = (double)(windows ? windows : 1);

    return l->average == AVERAGE_NONE ? 1.0 : l->average == AVERAGE_FULL ? 1.0 / m : 1.0 / sqrt(m);
}

/* c c' sum_a sum_b k(a, b') over all windows a of x and b of y, which point at the sequences of two
 * rows (layer_ops.exact; share/doc/methods.md 4.1 to 4.3).  For vectors it takes an evaluation of k
 * for each pair of windows, for symbols at most 2 width + 1. */
double windows_exact(const struct kterm *, const double *hp, const double *x, const double *y,
                     double *grad);
/* layer_ops.check: accepts one stationary kernel with one lengthscale. */
enum status windows_check(const struct kernel *, size_t from, struct err *err);

extern const struct layer_setting windows_settings[]; /* width, norm, average */
extern const struct layer_setting windows_settings_one_position[]; /* norm, average */

#endif
