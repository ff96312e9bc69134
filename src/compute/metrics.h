/* compute/metrics.h -- scores of predictions (methods.md K; golden met_*). */
#ifndef GPDESK_METRICS_H
#define GPDESK_METRICS_H

#include "base/status.h"

#include <stddef.h>

struct metrics {
    size_t n;
    double rmse, mae, r2, pearson, spearman;
    double nlpd, nlpd_constant; /* constant: the same means, the one variance best for these rows */
    double crps, coverage50, coverage90, coverage95, mean_z2, ence;
};
/* y, mean, var_y (noise included; NULL: probabilistic scores are NaN), n each, same units. */
enum status metrics_compute(size_t n, const double *y, const double *mean, const double *var_y,
                            struct metrics *, struct err *);
/* Shares of |z| inside the central interval of each nominal level. */
void metrics_coverage(size_t n, const double *y, const double *mean, const double *var_y,
                      size_t nlevels, const double *levels, double *share);
/* Equal-count bins by sd: per bin mean sd, MAE, RMSE (arrays of nbins; returns bins used). */
size_t metrics_bins(size_t n, const double *y, const double *mean, const double *var_y,
                    size_t nbins, double *sd, double *mae, double *rmse, struct err *);
double metrics_normal_cdf(double z);
double metrics_normal_quantile(double p);

#endif
