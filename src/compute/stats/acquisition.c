/* compute/stats/acquisition.c -- see acquisition.h. */
#include "compute/stats/acquisition.h"

#include "compute/stats/metrics.h"

#include <math.h>

static const double tiny = 1e-12, deviations = 2.0;

double acquisition_utility(const struct acquisition *a, double y)
{
    return a->goal == GOAL_MAX ? y : a->goal == GOAL_MIN ? -y : -fabs(y - a->value);
}

/* E max(f - x, 0) for f ~ N(mean, sd^2).  Far below x the two terms cancel to their last digits. */
static double excess(double mean, double sd, double x)
{
    const double z = (mean - x) / sd;
    const double density = exp(-0.5 * z * z) / sqrt(2.0 * M_PI);

    return fmax(sd * (density + z * metrics_normal_cdf(z)), 0.0);
}

double acquisition_improvement(const struct acquisition *a, double mean, double sd)
{
    sd = fmax(sd, tiny);
    if (a->goal == GOAL_MAX)
        return excess(mean, sd, a->best);
    if (a->goal == GOAL_MIN)
        return excess(-mean, sd, a->best);
    const double reach = -a->best; /* max(reach - |f - v|, 0) is a sum of three hinges */
    return fmax(excess(mean, sd, a->value - reach) - 2.0 * excess(mean, sd, a->value) +
                    excess(mean, sd, a->value + reach),
                0.0);
}

double acquisition_chance(const struct acquisition *a, double mean, double sd)
{
    sd = fmax(sd, tiny);
    if (a->goal == GOAL_MAX)
        return metrics_normal_cdf((mean - a->best) / sd);
    if (a->goal == GOAL_MIN)
        return metrics_normal_cdf((-mean - a->best) / sd);
    const double reach = -a->best;
    return metrics_normal_cdf((a->value + reach - mean) / sd) -
           metrics_normal_cdf((a->value - reach - mean) / sd);
}

double acquisition_bound(const struct acquisition *a, double mean, double sd)
{
    if (a->goal == GOAL_VALUE)
        return -fmax(fabs(mean - a->value) - deviations * sd, 0.0);
    return acquisition_utility(a, mean) + deviations * sd;
}
