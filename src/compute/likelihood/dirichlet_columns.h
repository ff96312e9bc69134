/* compute/likelihood/dirichlet_columns.h -- the NMLL of several classes on given features, summed
 * over the regressions of the classes, and its derivatives in the features, for maps that learn
 * (dirichlet.h; share/doc/methods.md 17.4, 23.9). */
#ifndef GPDESK_DIRICHLET_COLUMNS_H
#define GPDESK_DIRICHLET_COLUMNS_H

#include "base/status.h"
#include "compute/pool.h"

#include <stddef.h>

/* F: n rows of q features, in double, beside each other; labels: n numbers from 0 to classes - 1;
 * log_scale: for each class the logarithm of its squared amplitude.  Out: for each class the
 * weights w (q) and the mean that is added to F w, and inverse (q x q), so that the variance of its
 * function at features f is v_off f' inverse f; dF (n rows of q; or NULL), the derivatives in F;
 * the NMLL, and dscale (classes), its derivatives in log_scale. */
struct dirichlet_columns {
    size_t n, q, classes;
    const double *F, *labels, *log_scale;
    double alpha;
    double *w, *mean, *inverse, *dF, *dscale;
    double nmll, v_off;
};
/* O(n q (q + classes) + classes q^3).  NOT_PD where the features are not finite, or too large. */
enum status dirichlet_columns(struct dirichlet_columns *, struct pool *, struct err *);

#endif
