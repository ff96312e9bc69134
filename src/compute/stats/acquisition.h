/* compute/stats/acquisition.h -- how much a measurement at some inputs promises, from the normal
 * posterior of the function there (share/doc/methods.md 15).  All values are in scaled units. */
#ifndef GPDESK_ACQUISITION_H
#define GPDESK_ACQUISITION_H

/* What is wanted of the target: the largest or the smallest value, or one near `value`.  The
 * utility of y is y, -y or -|y - value| (15.1). */
enum acquisition_goal { GOAL_MAX, GOAL_MIN, GOAL_VALUE };
struct acquisition {
    enum acquisition_goal goal;
    double value; /* GOAL_VALUE */
    double best;  /* the largest utility that was measured */
};
double acquisition_utility(const struct acquisition *, double y);
/* For a function that is normal with this mean and standard deviation (> 0; 0 counts as a tiny
 * one): the expected improvement on the best (15.2, 15.3), the chance to improve on it (15.4), and
 * the utility that is reached two standard deviations on the good side of the mean (15.5). */
double acquisition_improvement(const struct acquisition *, double mean, double sd);
double acquisition_chance(const struct acquisition *, double mean, double sd);
double acquisition_bound(const struct acquisition *, double mean, double sd);

#endif
