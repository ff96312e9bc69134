/* compute/gamma.c -- quantiles of gamma distributions (gamma.h).
 *
 * With y = ln x, both ln P(x) and ln(1 - P(x)) are concave in y, the one rising, the other falling:
 * a tangent meets the wanted level on the side from which Newton's steps then come closer from one
 * side only. */
#include "compute/gamma.h"

#include <math.h>
#include <stdbool.h>

enum { TERMS_MOST = 100000, STEPS_MOST = 200 };

/* ln of the density of x in y = ln x: x^shape e^-x / Gamma(shape). */
static double log_density(double shape, double y)
{
    return shape * y - exp(y) - lgamma(shape + 1.0) + log(shape);
}

/* ln P(x), by the series of the lower incomplete gamma function: x^shape e^-x / Gamma(shape + 1)
 * times 1 + x/(shape + 1) + x^2/((shape + 1)(shape + 2)) + .. (Abramowitz & Stegun, 6.5.29). */
static double log_below(double shape, double y)
{
    const double x = exp(y);
    double term = 1.0, sum = 1.0;

    for (int i = 1; i < TERMS_MOST && term > 1e-17 * sum; i++) {
        term *= x / (shape + i);
        sum += term;
    }
    return shape * y - x - lgamma(shape + 1.0) + log(sum);
}

/* ln(1 - P(x)) for x > shape + 1, by the continued fraction of the upper incomplete gamma function
 * (6.5.31), evaluated from the front by Lentz's method. */
static double log_above(double shape, double y)
{
    const double x = exp(y), tiny = 1e-300;
    double b = x + 1.0 - shape, c = 1.0 / tiny, d = 1.0 / b, h = d;

    for (int i = 1; i < TERMS_MOST; i++) {
        const double a = -i * (i - shape);
        b += 2.0;
        d = 1.0 / (fabs(a * d + b) < tiny ? tiny : a * d + b);
        c = fabs(b + a / c) < tiny ? tiny : b + a / c;
        h *= c * d;
        if (fabs(c * d - 1.0) < 1e-16)
            break;
    }
    return shape * y - x - lgamma(shape + 1.0) + log(shape) + log(h);
}

double gamma_log_quantile(double shape, double p)
{
    const double turn = log(shape + 1.0);
    /* P(x) is at most x^shape / Gamma(shape + 1), so that this is not above the quantile. */
    double y = (log(p) + lgamma(shape + 1.0)) / shape;

    for (int i = 0; i < STEPS_MOST; i++) {
        const bool above = y > turn;
        const double have = above ? log_above(shape, y) : log_below(shape, y);
        const double slope = exp(log_density(shape, y) - have);
        const double step = above ? (have - log1p(-p)) / slope : (log(p) - have) / slope;
        y += above ? fmin(fmax(step, -1.0), 1.0) : fmin(step, 1.0 + fmax(0.0, turn - y));
        if (fabs(step) < 1e-14 * fmax(1.0, fabs(y)))
            break;
    }
    return y;
}
