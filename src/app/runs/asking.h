/* app/runs/asking.h -- ask: rows of one's own beside those that `suggest` proposed. */
#ifndef GPDESK_ASKING_H
#define GPDESK_ASKING_H

#include "app/core/workspace.h"
#include "data/prepare_rows.h"

/* Takes the rows of `ask` (app/commands/cmd_suggest.c) as proposals of the current data, which wait
 * for their measurement under the next ids: from values by column, or, as scripts have them, from a
 * JSON list of steps with the ids that were given out (data/prepare_rows.h).  All or none. */
enum status asking_run(struct workspace *, const struct args *a, struct err *err);

/* The next id is this number, and `made` ids from it on are given out. */
size_t asking_next(const struct workspace *, const struct prepare_rows *);
void asking_made(struct workspace *, size_t last);

#endif
