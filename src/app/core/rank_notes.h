/* app/core/rank_notes.h -- what the ranks (compute/ranks) did for a job: told when it has ended,
 * and kept for `plot ranks`. */
#ifndef GPDESK_RANK_NOTES_H
#define GPDESK_RANK_NOTES_H

#include "app/core/job.h"
#include "compute/ranks/ranks.h"

struct rank_notes {
    size_t count;
    struct ranks_sums sums;
    struct ranks_one one[RANKS_MOST];
};
/* Of the job that is running, as far as it is, or the last one that had any: its ranks, with their
 * seconds and sums. */
struct rank_notes rank_notes_now(void);
/* Before the result of each job: warns of ranks that were lost or could not be had. */
void rank_notes_warn(struct workspace *, const struct job *);
/* After it: of a fit or a tuning notes what each has done. */
void rank_notes_tell(struct workspace *, const struct job *);

#endif
