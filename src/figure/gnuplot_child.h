/* figure/gnuplot_child.h -- starting and ending a gnuplot process.  Private to the plot files. */
#ifndef GPDESK_GNUPLOT_CHILD_H
#define GPDESK_GNUPLOT_CHILD_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Our ends are non-blocking and closed on exec; -1 when closed. */
struct child {
    pid_t pid; /* 0: none */
    int in, out, err;
};

/* The program's path: $GPDESK_GNUPLOT or "gnuplot", looked up in PATH; NULL and NOT_FOUND when it
 * is not there.  Freed by the caller. */
char *child_program(struct err *);
/* Starts `program -d` in directory `dir` (NULL: here), in a process group of its own, without a
 * shell, with a clean environment. */
enum status child_start(struct child *, const char *program, const char *dir, struct err *);
/* The same, and it may open windows: it learns where the display is. */
enum status child_start_display(struct child *, const char *program, struct err *);
void child_close_input(struct child *);
/* Has it ended?  *status as from waitpid (-1 when it cannot be known). */
bool child_ended(struct child *, int *status);
/* Kills its process group and waits for it (2 s at most); closes everything. */
void child_kill(struct child *);
/* Writes without SIGPIPE; as write(2). */
ssize_t child_write(struct child *, const void *bytes, size_t n);
long long child_now_ms(void); /* a clock that only goes forward */

#endif
