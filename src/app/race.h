/* app/race.h -- several solvers on one system: fits that differ in nothing else, one after the
 * other, and their residuals on one clock. */
#ifndef GPDESK_RACE_H
#define GPDESK_RACE_H

#include "app/workspace.h"

/* "pcg(rank=256),svrg(batch=64),lbfgs" as lines of `fit` with `settings`, a `plot residual` of all
 * by `by`, runs counted from `first`, at the end.  What stands in brackets and is no parameter of
 * the solver is one of fit. */
enum status race_text(const char *solvers, const char *settings, const char *by, size_t first,
                      struct buf *out, struct err *err);
enum status cmd_race(struct workspace *, const struct args *, struct err *);

#endif
