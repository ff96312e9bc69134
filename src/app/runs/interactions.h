/* app/runs/interactions.h -- how much of what a model says of two columns neither says alone:
 * Friedman's H (share/doc/methods.md 14.5). */
#ifndef GPDESK_INTERACTIONS_H
#define GPDESK_INTERACTIONS_H

#include "app/runs/movable.h"

enum { INTERACTIONS_ROWS = 100 }; /* places, and rows averaged at each */
/* a, b: columns.  h: 0 for an additive model, 1 where only both together matter; NaN where neither
 * does. part: the root mean square of what only both together explain, in scaled units. */
struct interaction { size_t a, b; double h, part; };

/* Worker: measures all pairs of n columns into out (n (n - 1) / 2, pairs in order). The question is
 * that of movable_ask, with the steps that it counts. */
enum status interactions_measure(const struct movable *, size_t n, const size_t *col,
                                 struct interaction *out, const struct effects_ask *, struct err *);
/* The predictions that this makes of n columns and a sample of so many rows. */
size_t interactions_predictions(size_t rows, size_t n);
/* The largest H first. */
void interactions_sort(struct interaction *, size_t n);

#endif
