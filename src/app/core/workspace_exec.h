/* app/core/workspace_exec.h -- command lines: parses them, queues them, runs them, and handles
 * their end. */
#ifndef GPDESK_WORKSPACE_EXEC_H
#define GPDESK_WORKSPACE_EXEC_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct job;
struct workspace;

/* Runs one line, which may hold several statements or a whole script. Everything is parsed before
 * the first statement runs. Jobs are queued and the call returns. When it returns an error, that
 * error has already been emitted as a record and the rest of the line has been dropped. A statement
 * that depends on the result of an unfinished job waits in the queue (`jobs` lists it), so that a
 * session typed ahead gives the same results as a script. */
enum status workspace_exec(struct workspace *, const char *line);
/* Does the same for text from a named source such as a script: messages say "line 12 of NAME".
 * first_line is the number of its first line. */
enum status workspace_exec_from(struct workspace *, const char *text, const char *name,
                                size_t first_line);
/* For a command that is being executed: runs the text, but a failure drops only the rest of this
 * text. */
enum status workspace_exec_apart(struct workspace *, const char *text, const char *name);
/* The number of waiting statements; the i-th one as text, with its number (NULL if i is past the
 * end). */
size_t workspace_waiting(const struct workspace *);
const char *workspace_waiting_at(const struct workspace *, size_t i, unsigned long *number);
/* Removes a waiting statement (`stop q3`); number 0 removes all. NOT_FOUND if no such statement
 * waits. */
enum status workspace_forget(struct workspace *, unsigned long number, struct err *);
bool workspace_busy(const struct workspace *); /* true if a job runs or a statement waits */
/* Returns when no job runs and nothing waits. */
void workspace_drain(struct workspace *);
/* A file descriptor for the poll loop: readable while events wait. */
int workspace_fd(const struct workspace *);
void workspace_pump(struct workspace *);   /* handles all events and calls the sinks */
/* Inserts MARK and COMMAND as one line into the script at position `at` (from 0), which is earlier
 * than the end if other commands finished while the command's job was running. A command that was
 * interrupted without a result stands there as a comment. */
#define WORKSPACE_INTERRUPTED "# interrupted: "
bool workspace_remember(struct workspace *, const char *mark, const char *command, size_t at);
/* Called around job_ops.done (job.c): messages name the job's position in the script; afterwards
 * the script, the session and the rest of its line take note of the outcome. */
void workspace_job_begin(struct workspace *, const struct job *);
void workspace_job_end(struct workspace *, const struct job *, enum status rc);

#endif
