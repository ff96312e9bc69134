/* compute/stats/crossfit.h -- intervals from folds, CV+ (share/doc/methods.md 6.23): each training
 * row is predicted by a fit of the other folds, and an interval asks all of these fits.  The model
 * keeps their weights and the errors. */
#ifndef GPDESK_CROSSFIT_H
#define GPDESK_CROSSFIT_H

#include "compute/models/model.h"
#include "compute/stats/calibration.h"

/* How the rows are dealt and what their intervals are for; o: the options of the model's own fit,
 * with its kernel bound. */
struct crossfit { size_t folds; uint64_t seed; double level; const struct fit_opts *o; };
/* Fits the folds at the hyperparameters, amplitude and noise of a model, which nobody else has yet,
 * on its training rows and their targets y (t vectors, scaled); of[j] is what the errors say of
 * target j, whose reach the model takes.  UNSUPPORTED for kinds of model without weights of all
 * training rows in one basis; RANGE for too few rows. */
enum status crossfit_fit(struct model *, const struct source *train, const double *y,
                         const struct crossfit *, const struct tools *, struct calibration *of,
                         struct err *);
/* s (t vectors of n) <- standard deviations at the rows of a source, whose predictions by the model
 * are `mean`: mean -+ reach s at the level, with the model's reach, is the smallest interval around
 * the mean that holds the one of CV+. */
enum status crossfit_at(const struct model *, const struct source *, const double *mean, double *s,
                        const struct tools *, struct err *);

#endif
