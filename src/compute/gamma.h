/* compute/gamma.h -- quantiles of gamma distributions, as logarithms. */
#ifndef GPDESK_GAMMA_H
#define GPDESK_GAMMA_H

/* ln q, where Gamma(shape, 1) is below q with probability p; shape > 0, 0 < p < 1.  With small
 * shapes q is often far below the least double, its logarithm never is.  q is right to 1e-12 of
 * itself, near p = 1 to what 1 - p leaves of p. */
double gamma_log_quantile(double shape, double p);

#endif
