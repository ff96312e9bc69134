/* compute/stats/judgement.h -- whether predictive intervals hold: the one judgement of coverage and
 * of mean z^2, each with its standard error (share/doc/methods.md 11.9). */
#ifndef GPDESK_JUDGEMENT_H
#define GPDESK_JUDGEMENT_H

#include "compute/stats/metrics.h"

/* What is called right: a share of 0.93 to 0.97 inside the 95 % interval, and a mean z^2 of 0.816
 * to 1.170, at which normal errors would have just these shares.  A figure outside counts only when
 * it is more than judgement_errors standard errors from its nominal value. */
extern const double judgement_errors; /* 2.5 */

enum judged_side { JUDGED_NARROW = -1, JUDGED_RIGHT, JUDGED_WIDE };
/* The intervals are as they should be; too narrow; too wide; of the right sd, but a few errors are
 * far larger than a normal distribution allows, so that at 95 % the intervals are right or wide; of
 * the right sd, but wide at 95 %, because no error is far outside. */
enum judged_verdict {
    INTERVALS_HOLD,
    INTERVALS_NARROW,
    INTERVALS_WIDE,
    INTERVALS_TAILS,
    INTERVALS_BOUNDED,
};
struct judged {
    size_t n;
    double coverage95, coverage95_se; /* the error of the nominal share in n rows */
    double z2, z2_se;                 /* at least that of normal errors of this size */
    double kurtosis; /* mean z^4 / (mean z^2)^2: 3 of normal errors; NaN: unknown */
    enum judged_side coverage, spread;
    enum judged_verdict verdict;
};
/* The judgement of figures known already; n rows.  z2_se NaN: that of normal errors; z2 NaN: the
 * share alone is judged. */
struct judged judgement_of(size_t n, double coverage95, double z2, double z2_se);
/* The judgement of n squared errors e2[i] / variance with intervals of that reach. */
struct judged judgement_squares(size_t n, const double *e2, double variance, const struct reach *);
/* The judgement of a score. */
struct judged judgement_score(const struct metrics *);
/* The standard error of a nominal share of n rows, binomial. */
double judgement_share_se(size_t n, double nominal);
/* The side on which a share inside a central interval lies: outside of nominal -+ tolerance, and by
 * more than judgement_errors standard errors. */
enum judged_side judgement_share(size_t n, double share, double nominal, double tolerance);
/* The side of the 95 % interval by the verdict: wide also where the share says nothing, as 100 % of
 * few rows, but mean z^2 does. */
enum judged_side judgement_side(const struct judged *);
/* What intervals do: "hold", "are too narrow", ... */
const char *judgement_word(enum judged_verdict);

/* The same of probabilities: the mean probability of the likeliest class of n rows against the
 * share of rows whose class it is, which has the standard error se where the probabilities hold
 * (share/doc/methods.md 17.14). */
enum judged_probabilities { PROBABILITIES_HOLD, PROBABILITIES_SURE, PROBABILITIES_CAUTIOUS };
struct judged_classes {
    size_t n;
    double confidence, share, se;
    enum judged_probabilities verdict;
};
/* var: the mean of p (1 - p) over the rows.  A difference up to 0.01 is none, nor one within
 * judgement_errors standard errors. */
struct judged_classes judgement_classes(size_t n, double confidence, double share, double var);
/* What probabilities do: "hold", "are too sure", ... */
const char *judgement_classes_word(enum judged_probabilities);

#endif
