/* ui/lifecycle.h -- what the full screen and line mode share: signals, the end, where files are. */
#ifndef GPDESK_LIFECYCLE_H
#define GPDESK_LIFECYCLE_H

#include <stdbool.h>

struct job_view;

struct workspace;
/* Ignores SIGPIPE and chooses a UTF-8 locale with plain numbers. */
void lifecycle_prepare(void);
bool lifecycle_ascii(void);               /* the locale asks for ASCII; after lifecycle_prepare */
/* From now on HUP, TERM, INT, WINCH, TSTP and CONT make this descriptor readable (after newterm:
 * curses installs handlers of its own); -1: not possible. */
int lifecycle_signal_open(void);
int lifecycle_signal_next(void);          /* the next signal that came; 0: no more */
/* For the end, or until the next open: Ctrl-C and Ctrl-Z are nothing any more, the others act at
 * once. */
void lifecycle_signal_close(void);
/* Seconds from which on a job that ends rings the bell, if that is on: 30; tests say
 * GPDESK_BELL_AFTER=SECONDS. */
double lifecycle_ring_after(void);
/* From HUP or TERM on the process ends within GPDESK_END_WITHIN seconds (30), whatever holds it up:
 * a terminal that takes no bytes, most likely.  `restore` gives the terminal back (a signal
 * handler: safe calls only); writing the session may take longer. */
void lifecycle_signal_late(void (*restore)(void));
/* Stops every job keeping its best iterate, waits (10 s at most) for the results to arrive, and has
 * the session written.  A signal ends the waiting, with `keys` so does Ctrl-C or Ctrl-D at the
 * terminal. */
void lifecycle_finish(struct workspace *, bool keys);
/* What Ctrl-C runs for the job that runs: stop r7; of a tuning with restarts, all of its line. */
void lifecycle_stop_line(struct workspace *, const struct job_view *, char line[40]);
/* $XDG_STATE_HOME/gpdesk/history, its directory made; NULL: nowhere. Caller frees. *first: it did
 * not exist yet. */
char *lifecycle_history_path(bool *first);
/* The process stops as Ctrl-Z asks; returns when it goes on.  Ignored by the system where nobody
 * could wake it up. */
void lifecycle_suspend(void);
char **lifecycle_complete(void *ws, const char *line, unsigned long pos, unsigned long *start);

#endif
