/* compute/stats/spread.h -- a local scale of errors: a second regression, of log |e| on random
 * features of a model's own kernel with hyperparameters of their own (share/doc/methods.md 6.22).
 * The model keeps its weights; where it has them, predictive standard deviations are the local
 * scale. */
#ifndef GPDESK_SPREAD_H
#define GPDESK_SPREAD_H

#include "compute/models/model.h"

/* Gives the model, which nobody else has yet, the scale of its errors e (t vectors of train->n,
 * scaled units, multiplied by the row factors of the source if there are any), at which the mean of
 * (e/s)^2 is 1.  UNSUPPORTED for a
 * kernel without random features. */
enum status spread_fit(struct model *, const struct source *train, const double *e,
                       const struct tools *, struct err *);
/* Gives it one scale for all rows instead, of 1 in scaled units. */
enum status spread_of_all(struct model *, struct err *);
/* s (t vectors of n) <- the local standard deviations at the rows of a source, of a weight of 1, in
 * scaled units. */
enum status spread_at(const struct model *, const struct source *, double *s,
                      const struct tools *, struct err *);
/* Multiplies those of target j. */
void spread_multiply(struct model *, size_t j, double factor);

#endif
