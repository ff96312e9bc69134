/* ui/views/runs.h -- the sorted and filtered list of runs, which other views use, too. */
#ifndef GPDESK_VIEWS_RUNS_H
#define GPDESK_VIEWS_RUNS_H

#include "ui/desk.h"

void runs_move(struct desk *, int by);                   /* moves the selection */
void runs_list(struct desk *);                           /* brings desk.table up to date */
void runs_list_free(struct desk *);

#endif
