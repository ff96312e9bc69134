/* ui/views/runs.h -- the runs as sorted and filtered, which other views walk through, too. */
#ifndef GPDESK_VIEWS_RUNS_H
#define GPDESK_VIEWS_RUNS_H

#include "ui/desk.h"

void runs_move(struct desk *, int by);                   /* the selection */
void runs_list(struct desk *);                           /* brings desk.table up to date */
void runs_list_free(struct desk *);

#endif
