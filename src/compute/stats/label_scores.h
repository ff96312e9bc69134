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
 * against all others (of two classes: those of the second); all others but n are NaN.  taken: the
 * class that was chosen in each row, of which accuracy and balanced_accuracy are (NULL: the
 * likeliest, of which ece and mce always are).  RANGE for other labels and values. */
enum status label_scores(size_t n, size_t classes, const double *label, const double *p,
                         const double *taken, struct metrics *m, struct err *err);
/* count[a classes + b]: rows of class a that are taken for class b. */
void label_scores_confusion(size_t n, size_t classes, const double *label, const double *taken,
                            size_t *count);

/* The rows by the probability of the class that was chosen, in bins of equal width, (k / B,
 * (k + 1) / B], the first one with 0: how many, the mean of that probability and the share that is
 * right (both NaN in an empty bin), and the range in which this share lies with at least 95 %
 * where the probabilities are true (of a sum of Bernoulli numbers; of more than 1,000 by the normal
 * distribution).  right[i] is 1 or 0.  NOMEM. */
enum { LABEL_SCORES_BINS = 15 };
struct label_bin { size_t n; double confidence, share, lo, hi; };
enum status label_scores_bins(size_t n, const double *confidence, const double *right,
                              struct label_bin bin[LABEL_SCORES_BINS], struct err *err);
#endif
