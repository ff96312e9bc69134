/* figure/gnuplot_child.h -- starts and ends a gnuplot process. Private to the plot files. */
#ifndef GPDESK_GNUPLOT_CHILD_H
#define GPDESK_GNUPLOT_CHILD_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Our ends are non-blocking and closed on exec; -1: closed. */
struct child {
    pid_t pid; /* 0: no process */
    int in, out, err;
};

/* The path of the program, which the caller frees: $GPDESK_GNUPLOT or "gnuplot", looked up in PATH.
 * NULL and NOT_FOUND if it does not exist. */
char *child_program(struct err *);
/* Starts `program -d` in the directory `dir` (NULL: the current one), in its own process group,
 * without a shell, with a clean environment. */
enum status child_start(struct child *, const char *program, const char *dir, struct err *);
/* Does the same, and lets it open windows: it is told where the display is. */
enum status child_start_display(struct child *, const char *program, struct err *);
void child_close_input(struct child *);
/* True if it has ended. *status as from waitpid; -1 if it is unknown. */
bool child_ended(struct child *, int *status);
/* Kills its process group, waits for it at most 2 s, and closes everything. */
void child_kill(struct child *);
/* As write(2), but never raises SIGPIPE. */
ssize_t child_write(struct child *, const void *bytes, size_t n);
long long child_now_ms(void); /* a monotonic clock */

#endif
