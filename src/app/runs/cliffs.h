/* app/runs/cliffs.h -- activity cliffs: pairs of rows that are alike by their counts and have very
 * different targets. */
#ifndef GPDESK_CLIFFS_H
#define GPDESK_CLIFFS_H

#include "app/core/job.h"
#include "app/core/workspace.h"
#include "figure/figure.h"

#define CLIFFS_SIMILAR 0.7 /* unless a user says otherwise */
struct cliffs_opts {
    const char *column; /* of counts or molecules; NULL: the input that is one */
    double similar;     /* pairs at least so alike */
    double difference;  /* of the target, from which on a pair is a cliff; NaN: its sd */
    size_t count;       /* pairs that are listed */
};
/* Queues a job over all rows of the dataset, of training and of test.  NOT_FOUND, STATE when there
 * is no such column or no target. */
enum status cliffs_start(struct workspace *, const struct dataset *, const struct cliffs_opts *,
                         const char *line, struct err *);
/* The same for a plot: made on the main thread, compared and drawn by the worker. */
struct cliffs;
struct cliffs *cliffs_new(struct workspace *, const struct dataset *, const struct cliffs_opts *,
                          struct err *);
struct figure *cliffs_figure(struct cliffs *, struct job *, struct err *);
void cliffs_free(struct cliffs *);

#endif
