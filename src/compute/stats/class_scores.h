/* compute/stats/class_scores.h -- scores of predicted probabilities of two classes, and whether
 * these are honest (share/doc/methods.md 16.11 to 16.14). */
#ifndef GPDESK_CLASS_SCORES_H
#define GPDESK_CLASS_SCORES_H

#include "compute/stats/metrics.h"

/* Probabilities nearer than this to 0 and 1 count as this far from them in the log loss. */
#define CLASS_SCORES_CLIP 1e-15
enum { CLASS_SCORES_BINS = 10 };

/* The scores of n rows: y 0 or 1, p the probability of 1.  Fills all members of *m for classes but
 * mce, auroc and auprc too, and sets all others but n to NaN.  taken: the class that was chosen in
 * each row, of which accuracy and balanced_accuracy are (NULL: 1 from a p of 0.5 on).  RANGE for
 * other values. */
enum status class_scores(size_t n, const double *y, const double *p, const double *taken,
                         struct metrics *m, struct err *err);

/* The rows by probability in bins of equal width: how many, their mean probability and the share of
 * class 1 (both NaN in an empty bin). */
struct class_bin { size_t n; double mean, share; };
void class_scores_bins(size_t n, const double *y, const double *p,
                       struct class_bin bin[CLASS_SCORES_BINS]);

/* Two tests of honest probabilities, each with mean 0 and sd 1 if y is drawn with them: of their
 * mean against the share of class 1, and of their spread (Spiegelhalter 1986), which is positive
 * where they are too sure.  NaN where all are 0 or 1, or all 1/2. */
struct class_honesty { double mean_z, spread_z; };
struct class_honesty class_scores_honesty(size_t n, const double *y, const double *p);

/* A point of a curve over falling thresholds, rows of equal p together: the share of class 1 found
 * (recall), the share of class 0 taken for 1, and the precision.  Points of the returned array (*k,
 * at most n); the caller frees it.  NULL: no memory. */
struct class_point { double recall, false_share, precision; };
struct class_point *class_scores_curve(size_t n, const double *y, const double *p, size_t *k,
                                       struct err *err);

#endif
