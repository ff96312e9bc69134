/* compute/stats/metrics.h -- scores of predictions (share/doc/methods.md 11). */
#ifndef GPDESK_METRICS_H
#define GPDESK_METRICS_H

#include "base/status.h"
#include "compute/stats/reach.h"

#include <stddef.h>

/* NaN where a score does not exist (a constant target has no r2; without variances there is no
 * coverage).  Errors are in the units of y, nlpd in nats. */
struct metrics {
    size_t n;
    double rmse, mae, r2, pearson, spearman;
    double nlpd, nlpd_constant; /* constant: with the single variance that is best for these rows */
    double crps, coverage50, coverage90, coverage95;
    double mean_z2; /* mean of (y - mean)^2 / var: the factor that recalibrates the variances */
    double mean_z2_se; /* its standard error */
    double ence;    /* expected normalised calibration error, 10 equal-count bins */
    /* Of a target with two values, of which the greater is the positive one: the area under the
     * curve of true over false positives, where pairs of equal means count half, and the average
     * precision, where rows of equal means are found together (share/doc/methods.md 11.12,
     * 11.13). */
    double auroc, auprc;
    /* Of predicted probabilities of two classes (class_scores.h): the share of rows whose class is
     * the likelier one, that of the commoner class and of the positive one; the mean of minus the
     * log of the probability of what was observed, in nats, and that of the constant base rate; the
     * mean squared error of the probability; its mean deviation from the observed shares over ten
     * bins, unweighted and weighted by rows. */
    double accuracy, majority, base_rate, log_loss, log_loss_constant, brier, calibration_ad, ece;
    /* Of several classes (label_scores.h): the mean over the classes of the share of their rows
     * that are found, and the largest deviation of a bin. */
    double balanced_accuracy, mce;
    size_t clipped; /* rows of classes whose probability of what was observed is clipped */
};
/* No score at all: every member NaN, and n 0. */
void metrics_none(struct metrics *);
/* All scores of n rows: y, mean and var_y (noise included; NULL: no probabilistic scores), in the
 * same units; shares inside of intervals are those of intervals with that reach (NULL: of the
 * normal distribution).  RANGE for values that are not finite and variances that are not
 * positive. */
enum status metrics_compute(size_t n, const double *y, const double *mean, const double *var_y,
                            const struct reach *, struct metrics *, struct err *);
/* share[l]: the share of rows inside the central interval of level levels[l] (11.5). */
void metrics_coverage(size_t n, const double *y, const double *mean, const double *var_y,
                      const struct reach *, size_t nlevels, const double *levels, double *share);
/* Bins of equal count by sd, at most nbins: mean sd, MAE and RMSE of each.  Returns how many bins
 * there are; 0 and *err when memory is short. */
struct metrics_bins { double *sd, *mae, *rmse; };
size_t metrics_bins(size_t n, const double *y, const double *mean, const double *var_y,
                    size_t nbins, const struct metrics_bins *out, struct err *);
/* Spearman's rank correlation; tied values share their average rank. */
enum status metrics_spearman(size_t n, const double *a, const double *b, double *rho,
                             struct err *err);
/* The largest distance between two empirical distribution functions (Kolmogorov-Smirnov). */
enum status metrics_ks(size_t n, const double *a, size_t m, const double *b, double *ks,
                       struct err *err);
/* The predictive variance, noise included, of a training row's target if the row were left out:
 * noise2 / (1 - h) with its leverage h = (var_y - noise2) / noise2 (share/doc/methods.md 6.10).  It
 * is exact for a Gaussian posterior at fixed hyperparameters; units as passed in.  Where the noise
 * is not positive, var_y is returned unchanged; h is kept at most 1 - 1e-9. */
double metrics_left_out_variance(double var_y, double noise2);
/* For tests: the mean interval score of central intervals of a level (11.7). */
double metrics_interval_score_for_tests(size_t n, const double *y, const double *mean,
                                        const double *var_y, double level);
/* The standard normal distribution function and its inverse, to about 1e-15 relative. */
double metrics_normal_cdf(double z);
double metrics_normal_quantile(double p); /* -inf, +inf at 0, 1; NaN outside */

#endif
