/* app/runs/importance.h -- `importance`: the rise of the error on held-out rows when a column, a
 * group of columns or a position of a sequence is permuted, and interactions of the most important
 * ones (share/doc/methods.md 14.3, 14.5). */
#ifndef GPDESK_IMPORTANCE_H
#define GPDESK_IMPORTANCE_H

#include "app/core/workspace.h"

enum importance_by { IMPORTANCE_COLUMN, IMPORTANCE_GROUP, IMPORTANCE_POSITION };
struct importance_opts {
    enum importance_by by;
    bool pairs;
    size_t window; /* positions that are permuted together; 0: so many that the plot shows them */
    size_t rows, repeats, top; /* rows of the sample; permutations; columns in the text */
    const char *target, *out;
};
/* Queues the job, and tells its cost first where that is felt. */
enum status importance_start(struct workspace *, const struct run *, const struct importance_opts *,
                             const char *line, struct err *);

#endif
