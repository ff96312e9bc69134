/* data/decision.h -- which class is chosen by predicted probabilities of several: the likeliest, or
 * one by a rule.  A rule is kept as text,
 *   decision=NAME:0.3            NAME when its probability is at least 0.3, otherwise the likeliest
 *                                of the others
 *   cost=TRUE>PREDICTED:5,...    the class with the least expected cost; taking TRUE for PREDICTED
 *                                costs 5, another mistake 1 and the right class nothing
 * Labels and probabilities do not depend on it. */
#ifndef GPDESK_DATA_DECISION_H
#define GPDESK_DATA_DECISION_H

#include "base/status.h"

#include <stddef.h>

struct decision {
    size_t classes;
    size_t named; /* the class of decision=; SIZE_MAX: none */
    double least;
    double *cost; /* classes x classes, the true class first; NULL: none */
};
/* rule NULL: the likeliest.  USAGE with what the rule should look like; NOT_FOUND for a name that
 * is no class.  Free it also after a failure. */
enum status decision_parse(const char *rule, size_t classes, char *const *name, struct decision *,
                           struct err *);
void decision_free(struct decision *);
/* The class of row i of probabilities p (classes vectors of n); the first of equal ones. */
size_t decision_choose(const struct decision *, size_t n, const double *p, size_t i);

#endif
