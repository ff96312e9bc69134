/* ui/lifecycle.h -- what the full screen and line mode share: signals, the end of the program,
 * paths of files. */
#ifndef GPDESK_LIFECYCLE_H
#define GPDESK_LIFECYCLE_H

#include <stdbool.h>

struct job_view;

struct workspace;
/* Ignores SIGPIPE and sets a UTF-8 locale with plain numbers. */
void lifecycle_prepare(void);
bool lifecycle_ascii(void); /* true if the locale asks for ASCII; valid after lifecycle_prepare */
/* Returns a descriptor that becomes readable on HUP, TERM, INT, WINCH, TSTP and CONT, or -1. Call
 * it after newterm, because curses installs handlers of its own. */
int lifecycle_signal_open(void);
int lifecycle_signal_next(void);          /* the next signal that has arrived; 0 if there is none */
/* For the end, or until the next open: Ctrl-C and Ctrl-Z are ignored, and the other signals act at
 * once. */
void lifecycle_signal_close(void);
/* A job that takes at least this many seconds (30) rings the bell when it ends, if the option is
 * on. Tests set GPDESK_BELL_AFTER=SECONDS. */
double lifecycle_ring_after(void);
/* After HUP or TERM the process ends within GPDESK_END_WITHIN seconds (30), whatever blocks it;
 * most likely a terminal that accepts no bytes. `restore` resets the terminal from a signal
 * handler, so it may use only safe calls. Writing the session may take longer. */
void lifecycle_signal_late(void (*restore)(void));
/* Stops every job, keeping its best iterate; waits at most 10 s for the results; and has the
 * session written. A signal ends the wait; if `keys`, so does Ctrl-C or Ctrl-D at the terminal. */
void lifecycle_finish(struct workspace *, bool keys);
/* The line that Ctrl-C runs for the running job: stop r7; for a tuning with restarts, all of its
 * line. */
void lifecycle_stop_line(struct workspace *, const struct job_view *, char line[40]);
/* $XDG_STATE_HOME/gpdesk/history; its directory is created. NULL if impossible. The caller frees
 * it. *first: it did not exist. */
char *lifecycle_history_path(bool *first);
/* Stops the process as Ctrl-Z asks and returns when it continues. The system ignores it if nobody
 * could continue the process. */
void lifecycle_suspend(void);
char **lifecycle_complete(void *ws, const char *line, unsigned long pos, unsigned long *start);

#endif
