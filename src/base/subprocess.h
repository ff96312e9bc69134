/* base/subprocess.h -- processes that the program starts and talks to over one socket.
 *
 * One end of a pair is their standard input and output, because writing to a pipe without a reader
 * would raise SIGPIPE.  They are in a process group of their own, so that a Ctrl-C of the terminal
 * does not reach them; what they say of errors goes nowhere. */
#ifndef GPDESK_SUBPROCESS_H
#define GPDESK_SUBPROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts argv[0], which without a slash is looked for in PATH, without a shell, with all signals at
 * their defaults and no other file of ours.  Returns an errno; then *pid is 0. */
int subprocess_start(char *const argv[], int end, pid_t *pid);
/* Waits for one that was killed or is about to end; false: it has not after so long.  *status
 * (NULL: not wanted) as from waitpid, -1 where it is not known.  A process that waits for a disk
 * does not die even from SIGKILL, and is then left behind. */
bool subprocess_collect(pid_t, int milliseconds, int *status);
void subprocess_kill(pid_t); /* and its group */

#endif
