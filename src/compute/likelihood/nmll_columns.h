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
 * NMLL, its derivatives in the two logarithms, and the effective dimension. */
struct nmll_columns {
    size_t n, q;
    const double *F, *y;
    double log_scale, log_noise;
    double *w, *inverse, *dF;
    double nmll, dscale, dnoise, effdim;
};
/* O(n q^2).  NOT_PD where the features are not finite, or are too large for their noise. */
enum status nmll_columns(struct nmll_columns *, struct pool *, struct err *);

#endif
