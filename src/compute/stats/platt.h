/* compute/stats/platt.h -- probabilities from decision values by a sigmoid (Platt, Advances in
 * Large Margin Classifiers (2000); share/doc/methods.md 18.5). */
#ifndef GPDESK_PLATT_H
#define GPDESK_PLATT_H

#include <stddef.h>

/* P(y = +1 | f) = 1/(1 + exp(a f + b)); a is below 0 where f is greater for the positive class. */
struct platt { double a, b; };

/* The likeliest sigmoid for n decision values f of rows with labels y of -1 and +1, whose targets
 * are (N+ + 1)/(N+ + 2) and 1/(N- + 2) instead of 1 and 0, so that a and b are finite also where f
 * separates the classes.  f: values of rows that the decision function has not been trained on. */
struct platt platt_fit(size_t n, const double *f, const double *y);
double platt_probability(const struct platt *, double f);
/* The log loss of such probabilities, -mean of log p(y). */
double platt_loss(size_t n, const double *f, const double *y, const struct platt *);

#endif
