/* compute/likelihood/temperature.h -- one number by which latent functions of classes are divided,
 * so that their probabilities are right on rows that the fit has not seen (Guo et al., ICML 2017;
 * share/doc/methods.md 17.12). */
#ifndef GPDESK_TEMPERATURE_H
#define GPDESK_TEMPERATURE_H

#include "compute/ctl.h"
#include "compute/likelihood/likelihood.h"
#include "compute/pool.h"

/* Latent means and variances of n rows: one vector of n for each class, or a single one where the
 * likelihood has one function of two classes.  All is borrowed. */
struct temperature_rows {
    const struct likelihood_ops *of;
    size_t n, classes;
    const double *mean, *var;
    const double *label; /* n: 0 to classes - 1 */
    struct pool *pool;
    const struct ctl *ctl;
};

/* The probabilities at a temperature (0: as at 1): p[c n + i], which sum to 1.  Of one function p
 * is that of the second class alone (n). */
enum status temperature_apply(const struct temperature_rows *, double temperature, double *p,
                              struct err *);

struct temperature {
    double best;          /* the least log loss is here, within TEMPERATURE_LEAST and _MOST */
    double before, after; /* the log loss at 1 and there, nats a row */
    bool at_bound;        /* no temperature is too small, or too large, for these rows */
};
#define TEMPERATURE_LEAST 0.02
#define TEMPERATURE_MOST 50.0
/* The temperature with the least log loss on these rows, by a search over its logarithm.  Where no
 * temperature is too small, because all rows are right, it is that of rows whose class is another
 * one with probability 1/(n + 2), as of n rows without an error (Platt 1999).  RANGE for
 * fewer rows than TEMPERATURE_ROWS, and for labels that are none; CANCELLED. */
enum { TEMPERATURE_ROWS = 10 };
enum status temperature_find(const struct temperature_rows *, struct temperature *, struct err *);

#endif
