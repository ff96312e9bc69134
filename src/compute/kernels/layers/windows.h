/* compute/kernels/layers/windows.h -- what layers with windows share: how many windows a row has,
 * the factor of a sum over them, exact sums, and settings. */
#ifndef GPDESK_WINDOWS_H
#define GPDESK_WINDOWS_H

#include "compute/kernels/layers/layer.h"

#include <math.h>

struct kterm;

/* Windows of a row of a sequence (source.h); 0 for one shorter than a window. */
static inline size_t windows_count(const struct layer *l, const double *row)
{
    return row[0] >= (double)l->width ? (size_t)row[0] - l->width + 1 : 0;
}

/* The factor c of the sum over so many windows (enum layer_average). */
static inline double windows_factor(const struct layer *l, size_t windows)
{
    const double m = (double)(windows ? windows : 1);

    return l->average == AVERAGE_NONE ? 1.0 : l->average == AVERAGE_FULL ? 1.0 / m : 1.0 / sqrt(m);
}

/* c c' sum_a sum_b k(a, b') over all windows a of x and b of y, both rows at their sequences
 * (layer_ops.exact).  O(windows of x * windows of y) evaluations of k for vectors, at most 2 width
 * + 1 for symbols. */
double windows_exact(const struct kterm *, const double *hp, const double *x, const double *y,
                     double *grad);
/* layer_ops.check: one stationary kernel with one lengthscale. */
enum status windows_check(const struct kernel *, size_t from, struct err *err);

extern const struct layer_setting windows_settings[]; /* width, norm, average */
extern const struct layer_setting windows_settings_one_position[]; /* norm, average */

#endif
