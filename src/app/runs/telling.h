/* app/runs/telling.h -- tell: the measurements of rows that `suggest` proposed. */
#ifndef GPDESK_TELLING_H
#define GPDESK_TELLING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* Takes the measurements of `tell` (app/commands/cmd_suggest.c): from a file, which a job reads, or
 * from the line.  They become steps of the current data (data/prepare_rows.h), all or none. */
enum status telling_start(struct workspace *, const struct args *, struct err *);

#endif
