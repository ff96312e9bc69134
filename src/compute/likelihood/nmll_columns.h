/* compute/likelihood/nmll_columns.h -- the NMLL of given features and its derivatives in them, for
 * maps that learn (share/doc/methods.md 23.5 to 23.7). */
#ifndef GPDESK_NMLL_COLUMNS_H
#define GPDESK_NMLL_COLUMNS_H

#include "base/status.h"
#include "compute/pool.h"

#include <stddef.h>

/* F: n rows of q features, in double, beside each other; y: n targets; the logarithms of the
 * squared amplitude and of the noise variance.  Out: w (q), the weights of the mean; inverse (q x
 * q, both triangles), that of F'F + ratio I; dF (n rows of q; or NULL), the derivatives in F; the
 * NMLL, its derivatives in the two logarithms, and the effective dimension.
 *
 * Several targets (23.14): y and w have `targets` vectors, log_scales as many squared amplitudes
 * (of which log_scale is not used), and log_ratio is the ratio of noise to amplitude of all.
 * Out: the NMLL is the sum, dscales its derivatives in log_scales, dnoise that in log_ratio.
 *
 * Rows of unequal weight (23.15): scale has the roots of the weights (NULL: all 1), by which the
 * noise variance of a row is divided. */
struct nmll_columns {
    size_t n, q, targets; /* targets 0: one */
    const double *F, *y, *scale, *log_scales;
    double log_scale, log_noise, log_ratio;
    double *w, *inverse, *dF, *dscales;
    double nmll, dscale, dnoise, effdim;
};
/* O(n q^2), and O(n q) for each target.  NOT_PD where the features are not finite, or are too large
 * for their noise. */
enum status nmll_columns(struct nmll_columns *, struct pool *, struct err *);

#endif
