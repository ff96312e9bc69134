/* compute/stats/calibration.h -- what rows that were kept aside ask of the variances and the
 * intervals of a model (share/doc/methods.md 6.21). */
#ifndef GPDESK_CALIBRATION_H
#define GPDESK_CALIBRATION_H

#include "base/status.h"
#include "compute/stats/reach.h"

/* The ways, in the order of calibration_words:
 * SCALE      all variances times the mean of e^2/v, intervals as of normal distributions;
 * CONFORMAL  variances as they are, intervals by the quantiles of |e|/sd (split conformal);
 * BOTH       variances by the first, intervals by the second;
 * LOCAL      the same of variances that follow the size of errors from row to row (spread.h);
 * ABSOLUTE   the same of one variance for all rows: intervals by the quantiles of |e| (spread.h);
 * CV         intervals from folds of the training rows (crossfit.h);
 * TEMPERATURE of classes: compute/likelihood/temperature.h. */
enum calibration_way {
    CALIBRATION_BOTH,
    CALIBRATION_SCALE,
    CALIBRATION_CONFORMAL,
    CALIBRATION_TEMPERATURE,
    CALIBRATION_LOCAL,
    CALIBRATION_CV,
    CALIBRATION_ABSOLUTE,
};
extern const char *const calibration_words[]; /* "auto" "scale" ...; NULL ends */

struct calibration {
    double z2;           /* the mean of e^2/v that was found */
    double factor;       /* all variances are to be multiplied by it */
    struct reach reach;  /* in the new standard deviations */
};
/* From n errors e with predicted variances v (noise included), in any unit.  level: the level that
 * the caller needs; RANGE if there are too few rows for it, as n = 8 for 0.9.  Where there are too
 * few for another level, its reach grows with that of the last one as a normal distribution's. */
enum status calibration_of(size_t n, const double *e, const double *v, enum calibration_way,
                           double level, struct calibration *, struct err *);

/* Prediction sets of classes (17.13): lack[i] is 1 minus the probability of the observed class of
 * row i; the n values are sorted.  *reach, above 0, is such that a set of all classes that lack no
 * more (calibration_holds) holds that of a new row with a probability of at least `level`.  RANGE
 * if there are too few rows for it. */
enum status calibration_sets(size_t n, double *lack, double level, double *reach, struct err *);
/* Is a class of probability p in the set? */
bool calibration_holds(double p, double reach);

#endif
