/* app/runs/scoring/paired.h -- two scored runs row by row: the mean difference of their squared
 * errors and log densities, with its standard error (share/doc/methods.md 11.11). */
#ifndef GPDESK_PAIRED_H
#define GPDESK_PAIRED_H

#include "app/core/run.h"
#include "app/shell/rec.h"

/* For tests: the mean of n differences and its standard error. With a group for each row (below
 * ngroups, at most 8; NULL: none) the rows of a group count as one observation, because their
 * errors are alike; the error is NaN for fewer than two of them. */
double paired_mean_for_tests(size_t n, const double *difference, uint32_t *group, size_t ngroups,
                             double *se);
/* For `compare`: adds "paired" and a sentence for each run after the first, against the first:
 * by the predictions of the last score or check of both, target[i] of run[i]. Differences are the
 * run less the first one, so below 0 it is better. Where the predictions are not of the same rows
 * and the same target, "skipped" and a sentence say so. Nothing if fewer than two were scored.
 * NOMEM. */
enum status paired_tell(const struct run *const *run, const size_t *target, size_t n, struct rec *,
                        struct err *);

#endif
