/* compute/tuners/learn.h -- the tuning of a kernel that learns its features: Adam on the NMLL of
 * random subsets of the rows (share/doc/methods.md 23.5 to 23.8; Kingma & Ba 2015). */
#ifndef GPDESK_LEARN_H
#define GPDESK_LEARN_H

#include "compute/tuners/tune.h"

enum { LEARN_SUBSETS_MOST = 64, LEARN_WATCHED_MOST = 2000 };

/* As tune_run, which calls it for such kernels: steps, rate, subsets and subsample (the most rows
 * of a subset) are in the options, the net that was learned is in the result. */
enum status learn_run(const struct kernel *, const struct source *, const double *y,
                      const struct tune_opts *, const struct tools *, struct tune_result *,
                      struct err *);
/* order (n) <- the order in which n rows are dealt out; the number of those at its beginning that
 * are kept aside, which nothing is learned from.  Of the options labels.classes, stop_valid, seed
 * and restart count. */
size_t learn_aside(const struct tune_opts *, size_t n, size_t *order);
/* A number by which the same rows of a table are known again, never 0 and below 2^48. */
uint64_t learn_mark(const size_t *row, size_t n);

#endif
