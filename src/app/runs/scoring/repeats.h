/* app/runs/scoring/repeats.h -- encoded rows with equal inputs: those whose numbers differ, and
 * those whose classes contradict each other. */
#ifndef GPDESK_REPEATS_H
#define GPDESK_REPEATS_H

#include "base/status.h"
#include "data/encoding.h"

#include <stddef.h>

/* What rows with equal inputs show about a target y, a vector of e->n. */
struct repeats {
    size_t rows;        /* rows that have the inputs of another one */
    double free_rows;   /* rows less different inputs among them, */
    double squares;     /* and their squared deviations from the mean y of their inputs */
    /* Of classes: rows whose inputs occur with several, the different inputs among them, and how
     * many of these rows any prediction by the inputs gets wrong, at least. */
    size_t conflicts, conflict_inputs, least_wrong;
    size_t first[2];    /* two rows of the table with equal inputs and different classes */
};
/* O(n log n); a block of rows is encoded at a time.  Rows are compared by a hash of 64 bits. */
enum status repeats_find(const struct encoded *e, const double *y, struct repeats *out,
                         struct err *err);

#endif
