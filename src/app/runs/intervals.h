/* app/runs/intervals.h -- what a run's predictive intervals are worth, in words: the judgement of
 * compute/stats/judgement.h as fit, score, check, why and export tell it, and what a fit did to
 * amplitude and noise. */
#ifndef GPDESK_INTERVALS_H
#define GPDESK_INTERVALS_H

#include "app/core/workspace.h"
#include "compute/stats/judgement.h"

/* The judgement of the rows that a fit left out in turn, n = 0 where it has none. */
struct judged intervals_left_out(const struct run *);
/* "mean z^2 1.26 (standard error 0.05), 92.1 % of the targets inside the 95 % interval (standard
 * error 0.8 %)". */
void intervals_figures(struct buf *, const struct judged *);
/* True if the fit moved amplitude or noise by more than this share. */
bool intervals_moved(const struct run *, double share);
/* By which rule it moved them: "the ratio by the leave-one-out error of its own features, ...". */
void intervals_rule(struct buf *, const struct run *);
/* True if the 95 % interval of the first target reaches further than 1.96 sd, or less far, by more
 * than this share; and why: "intervals at 95 % reach 2.40 sd instead of 1.96, because ...". */
bool intervals_reached(const struct run *, double share);
void intervals_reach(struct buf *, const struct run *);
/* Notes of a finished fit: what it moved and why, and whether left-out rows bear the intervals
 * out. */
void intervals_notes(struct workspace *, const struct run *);
/* Says where a map has learned variances that are too small: the rows kept aside tell it. */
void intervals_parted(struct workspace *, const struct run *);

#endif
