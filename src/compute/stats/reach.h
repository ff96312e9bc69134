/* compute/stats/reach.h -- how many predictive standard deviations the central interval of a level
 * reaches to either side of the mean (share/doc/methods.md 6.20): the one owner of this fact.
 * Whatever shows or counts an interval of a new measurement asks reach_at. */
#ifndef GPDESK_REACH_H
#define GPDESK_REACH_H

#include <stdbool.h>
#include <stddef.h>

/* The levels of the table, ascending. */
enum { REACH_LEVELS = 5 };
double reach_level(size_t i);

/* The intervals of one target of a model: their reach at those levels, in standard deviations,
 * which grows with the level.  All 0: that of the normal distribution (1.96 at 95 %). */
struct reach { double at[REACH_LEVELS]; };

/* The reach at a level between 0 and 1; NULL: of the normal distribution. */
double reach_at(const struct reach *, double level);
/* How many sd lie between the mean and the quantile at which a normal distribution has z, and back:
 * z may be negative.  reach_at(r, p) is that of z = Phi^-1((1 + p)/2). */
double reach_from_normal(const struct reach *, double z);
double reach_to_normal(const struct reach *, double z);
/* True for the normal distribution. */
bool reach_is_normal(const struct reach *);
/* True if the numbers are a reach: all 0, or positive, finite and growing. */
bool reach_holds(const struct reach *);
/* The reach that left-out rows want: z2 are their n squared errors over variance, in ascending
 * order.  A level moves half of the way, on the logarithmic scale, where its share is `doubt`
 * standard errors away. */
struct reach reach_left_out(size_t n, const double *z2, double variance, double doubt);

#endif
