/* compute/stats/label_scores.h -- scores of predicted probabilities of several classes
 * (share/doc/methods.md 17.8 to 17.11).  Probabilities are `classes` vectors of n; labels are 0 to
 * classes - 1. */
#ifndef GPDESK_LABEL_SCORES_H
#define GPDESK_LABEL_SCORES_H

#include "compute/stats/metrics.h"

/* The likeliest class of row i; the first of equal ones. */
size_t label_scores_class(size_t n, size_t classes, const double *p, size_t i);
/* The members of *m for classes: accuracy, balanced_accuracy, majority, log_loss,
 * log_loss_constant, brier, ece, mce, and the means of auroc and auprc over the classes, each
 * against all others (of two classes: those of the second); all others but n are NaN.  RANGE for
 * other labels and values. */
enum status label_scores(size_t n, size_t classes, const double *label, const double *p,
                         struct metrics *m, struct err *err);
/* count[a classes + b]: rows of class a that are taken for class b. */
void label_scores_confusion(size_t n, size_t classes, const double *label, const double *p,
                            size_t *count);
#endif
