/* ui/loop.h -- what the full screen and line mode share: signals, the end, where files are. */
#ifndef GPDESK_LOOP_H
#define GPDESK_LOOP_H

#include <stdbool.h>

struct workspace;
int loop_signal_fd(void);            /* of the signals that ui_prepare blocked; -1: none */
int loop_signal_next(int fd);        /* 0: no more */
/* Stops every job keeping its best iterate, waits (some seconds at most) for the results to arrive,
 * and has the session written. */
void loop_finish(struct workspace *);
/* $XDG_STATE_HOME/gpdesk/history, its directory made; NULL: nowhere. Caller frees. *first: it did
 * not exist yet. */
char *loop_history_path(bool *first);
/* The process stops as Ctrl-Z asks; returns when it goes on.  Ignored by the system where nobody
 * could wake it up. */
void loop_suspend(void);
char **loop_complete(void *ws, const char *line, unsigned long pos, unsigned long *start);

#endif
