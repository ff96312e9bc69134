/* compute/stats/judgement.c -- whether predictive intervals hold.
 *
 * With z_i = e_i / sd_i, two figures tell (share/doc/methods.md 11.9).  The share of |z| <= 1.96
 * has the binomial error sqrt(0.95 0.05 / n) where the intervals are right.  The mean of z^2 has
 * the error sd(z^2) / sqrt(n), which heavy tails make larger than the sqrt(2 / n) of normal errors;
 * it is compared on the logarithmic scale, on which a factor of the variances is a shift.
 *
 * The two figures can disagree, and then no scale of the variances serves both.  Where mean z^2 is
 * right and the share is high, the error of the former tells why: (se / mean z^2)^2 n + 1 is the
 * kurtosis mean z^4 / (mean z^2)^2.  Above 3 a few large errors have made the sd large for all
 * rows; below 3 the errors have a bound that normal ones do not have (1.8 of uniform errors). */
#include "compute/stats/judgement.h"

#include <math.h>

const double judgement_errors = 2.5;
static const double tolerance95 = 0.02;
static const double normal_kurtosis = 3.0;
static const double tolerance_classes = 0.01;
/* (Phi^-1(0.975) / Phi^-1(0.985))^2 and (Phi^-1(0.975) / Phi^-1(0.965))^2 */
static const double bounds[2] = { 0.81572, 1.17010 };

double judgement_share_se(size_t n, double nominal)
{
    return n ? sqrt(nominal * (1.0 - nominal) / (double)n) : NAN;
}

enum judged_side judgement_share(size_t n, double share, double nominal, double tolerance)
{
    const double off = share - nominal;

    /* 1e-9: a share just at the tolerance, as 0.93, is not outside because of rounding */
    if (!(fabs(off) > tolerance + 1e-9) ||
        !(fabs(off) > judgement_errors * judgement_share_se(n, nominal)))
        return JUDGED_RIGHT;
    return off < 0.0 ? JUDGED_NARROW : JUDGED_WIDE;
}

/* The side of a mean z^2 with its standard error. */
static enum judged_side spread_of(double z2, double se)
{
    if (!(z2 > 0.0) || !(fabs(log(z2)) > judgement_errors * se / z2))
        return z2 == 0.0 ? JUDGED_WIDE : JUDGED_RIGHT;
    return z2 > bounds[1] ? JUDGED_NARROW : z2 < bounds[0] ? JUDGED_WIDE : JUDGED_RIGHT;
}

struct judged judgement_of(size_t n, double coverage95, double z2, double z2_se)
{
    const double normal = z2 * sqrt(2.0 / (double)(n ? n : 1));
    struct judged j = { .n = n, .coverage95 = coverage95, .z2 = z2,
                        .coverage95_se = judgement_share_se(n, 0.95),
                        .z2_se = z2_se > normal ? z2_se : normal,
                        .kurtosis = 1.0 + (double)n * (z2_se / z2) * (z2_se / z2) };
    /* an error that was raised to that of normal errors says 3 and stands for less */
    const bool bounded = j.kurtosis <= normal_kurtosis * (1.0 + 1e-9);

    j.coverage = judgement_share(n, coverage95, 0.95, tolerance95);
    j.spread = spread_of(z2, j.z2_se);
    if (j.coverage == JUDGED_NARROW)
        j.verdict = INTERVALS_NARROW;
    else if (j.spread == JUDGED_NARROW)
        j.verdict = bounded && j.coverage == JUDGED_WIDE ? INTERVALS_BOUNDED : INTERVALS_TAILS;
    else if (j.coverage != JUDGED_WIDE)
        j.verdict = j.spread == JUDGED_WIDE ? INTERVALS_WIDE : INTERVALS_HOLD;
    else if (j.spread == JUDGED_WIDE || (isnan(j.kurtosis) && !(z2 >= 1.0)))
        j.verdict = INTERVALS_WIDE;
    else
        j.verdict = bounded ? INTERVALS_BOUNDED : INTERVALS_TAILS;
    return j;
}

struct judged judgement_squares(size_t n, const double *e2, double variance,
                                const struct reach *reach)
{
    const double edge = reach_at(reach, 0.95);
    double sum = 0.0, squares = 0.0;
    size_t inside = 0;

    for (size_t i = 0; i < n; i++) {
        sum += e2[i] / variance;
        inside += e2[i] <= edge * edge * variance;
    }
    const double rows = (double)n, mean = sum / rows;
    for (size_t i = 0; i < n; i++)
        squares += (e2[i] / variance - mean) * (e2[i] / variance - mean);
    return judgement_of(n, (double)inside / rows, mean, sqrt(squares) / rows);
}

struct judged judgement_score(const struct metrics *m)
{
    return judgement_of(m->n, m->coverage95, m->mean_z2, m->mean_z2_se);
}

enum judged_side judgement_side(const struct judged *j)
{
    return j->verdict == INTERVALS_WIDE ? JUDGED_WIDE : j->coverage;
}

const char *judgement_word(enum judged_verdict v)
{
    static const char *const words[] = {
        [INTERVALS_HOLD] = "hold",
        [INTERVALS_NARROW] = "are too narrow",
        [INTERVALS_WIDE] = "are too wide",
        [INTERVALS_TAILS] = "are not those of normal errors, a few of which are far outside",
        [INTERVALS_BOUNDED] =
            "have the right sd but are wide at 95 %, because no error is far outside",
    };
    return words[v];
}

struct judged_classes judgement_classes(size_t n, double confidence, double share, double var)
{
    struct judged_classes j = { .n = n, .confidence = confidence, .share = share,
                                .se = n ? sqrt(var / (double)n) : NAN };
    const double off = share - confidence;

    if (n && fabs(off) > tolerance_classes + 1e-9 && fabs(off) > judgement_errors * j.se + 1e-9)
        j.verdict = off < 0.0 ? PROBABILITIES_SURE : PROBABILITIES_CAUTIOUS;
    return j;
}

const char *judgement_classes_word(enum judged_probabilities verdict)
{
    return verdict == PROBABILITIES_HOLD   ? "hold"
           : verdict == PROBABILITIES_SURE ? "are too sure"
                                           : "are too cautious";
}
