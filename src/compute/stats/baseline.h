/* compute/stats/baseline.h -- what a simple model predicts at the same rows, beside which a score
 * is read: ridge regression (share/doc/methods.md 11.10). */
#ifndef GPDESK_BASELINE_H
#define GPDESK_BASELINE_H

#include "compute/features/source.h"
#include "compute/tools.h"

#include <stdbool.h>

/* True if baseline_ridge on n rows of d inputs is so dear that it should be asked for: more than
 * 4096 inputs, or about ten seconds of one core. */
bool baseline_is_dear(size_t n, size_t d);

struct baseline_ridge {
    double lambda; /* |y - b - X w|^2 + lambda |w|^2: noise over prior variance of a weight */
    double *mean, *var; /* t vectors of n test rows; var includes the noise.  The caller's arrays */
};
/* Ridge regression of t targets y (t vectors of n) on the inputs of `train` with an intercept: the
 * linear kernel and a constant one, in double precision.  lambda is the likeliest one, common to
 * the targets, and the noise of each the likeliest there (share/doc/methods.md 6.4).  y need not be
 * centred; weights of rows (source.h) count.  O(n d^2 + d^3), in chunks of rows.  SHAPE for rows
 * that a linear kernel cannot read, RANGE for a constant target, CANCELLED. */
enum status baseline_ridge(const struct source *train, size_t t, const double *y,
                           const struct source *test, const struct tools *,
                           struct baseline_ridge *, struct err *);
#endif
