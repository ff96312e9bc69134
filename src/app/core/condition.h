/* app/core/condition.h -- the condition number in words.  The program knows three of it, which may
 * differ by orders of magnitude for one matrix; each is always named for what it is. */
#ifndef GPDESK_CONDITION_H
#define GPDESK_CONDITION_H

#include <stdbool.h>
#include <stddef.h>

enum condition_kind {
    CONDITION_SEEN,      /* extreme Ritz values of conjugate gradients: a lower bound */
    CONDITION_ESTIMATED, /* both ends of a spectrum, from a sample of rows or from all */
    CONDITION_BOUND,     /* the largest eigenvalue over the noise ratio: an upper bound */
};
/* False for NaN, infinity and whatever is below 1, as 0 in a run that never came to know it. */
bool condition_known(double value);
/* Writes "at least 7.84e+05 (seen by the iteration)", "about 1.28e+09 (by the spectrum)", "at most
 * 8.08e+10 (largest eigenvalue over noise)" or "not known". */
void condition_words(char *out, size_t len, enum condition_kind, double value);
/* The same without what stands in brackets. */
void condition_short(char *out, size_t len, enum condition_kind, double value);

#endif
