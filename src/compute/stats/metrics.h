/* compute/stats/metrics.h -- scores of predictions (share/doc/methods.md 11). */
#ifndef GPDESK_METRICS_H
#define GPDESK_METRICS_H

#include "base/status.h"

#include <stddef.h>

/* NaN where a score does not exist (a constant target has no r2, no variances no coverage). */
struct metrics {
    size_t n;
    double rmse, mae, r2, pearson, spearman;
    double nlpd, nlpd_constant; /* constant: the same means, the one variance best for these rows */
    double crps, coverage50, coverage90, coverage95;
    double mean_z2; /* mean of (y - mean)^2 / var: the factor that recalibrates the variances */
    double ence;    /* expected normalised calibration error, 10 equal-count bins */
};
/* y, mean, var_y (noise included; NULL: probabilistic scores are NaN), n each, same units. */
enum status metrics_compute(size_t n, const double *y, const double *mean, const double *var_y,
                            struct metrics *, struct err *);
/* Shares of |z| inside the central interval of each nominal level. */
void metrics_coverage(size_t n, const double *y, const double *mean, const double *var_y,
                      size_t nlevels, const double *levels, double *share);
/* Equal-count bins by sd, nbins at most: of each the mean sd, MAE and RMSE.  Returns bins used. */
struct metrics_bins { double *sd, *mae, *rmse; };
size_t metrics_bins(size_t n, const double *y, const double *mean, const double *var_y,
                    size_t nbins, const struct metrics_bins *out, struct err *);
/* Rank correlation, ties sharing their average rank. */
enum status metrics_spearman(size_t n, const double *a, const double *b, double *rho,
                             struct err *err);
/* Largest distance of two empirical distribution functions (two-sample Kolmogorov-Smirnov). */
enum status metrics_ks(size_t n, const double *a, size_t m, const double *b, double *ks,
                       struct err *err);
/* The variance, noise included, that a training row's target would have had if the row had been
 * left out: with h = (var_y - noise2) / noise2, the row's leverage, it is noise2 / (1 - h).  Exact
 * for a Gaussian posterior at fixed hyperparameters; same units in and out.  var_y unchanged where
 * the noise is not positive; h is held below 1 - 1e-9. */
double metrics_left_out_variance(double var_y, double noise2);
/* Mean interval score of central intervals of the given level (Gneiting & Raftery 2007). */
double metrics_interval_score_for_tests(size_t n, const double *y, const double *mean,
                                        const double *var_y, double level);
double metrics_normal_cdf(double z);
double metrics_normal_quantile(double p); /* -inf, +inf at 0, 1; NaN outside */

#endif
