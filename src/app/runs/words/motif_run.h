/* app/runs/words/motif_run.h -- the command motif: training strings aligned at the window that a
 * fit finds heaviest. */
#ifndef GPDESK_MOTIF_RUN_H
#define GPDESK_MOTIF_RUN_H

#include "app/core/workspace.h"

struct motif_run_opts {
    size_t width;       /* letters of the window */
    const char *target; /* NULL: the first */
    const char *out;    /* a logo as SVG; NULL: none */
};
/* Queues the job.  UNSUPPORTED for a kernel that does not count words, USAGE for a window of less
 * letters than its words. */
enum status motif_run_start(struct workspace *, const struct run *, const struct motif_run_opts *,
                            const char *line, struct err *);

#endif
