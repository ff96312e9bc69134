/* app/runs/words/words_run.h -- the command words: what each word adds to the function of a fit,
 * and in which rows it occurs. */
#ifndef GPDESK_WORDS_RUN_H
#define GPDESK_WORDS_RUN_H

#include "app/core/workspace.h"

struct words_run_opts {
    size_t count;       /* of the heaviest words that are listed */
    const char *target; /* NULL: the first */
    const char *out;    /* CSV of all words; NULL: none */
};
/* Queues the job.  UNSUPPORTED for a kernel that does not count words. */
enum status words_run_start(struct workspace *, const struct run *, const struct words_run_opts *,
                            const char *line, struct err *);

#endif
