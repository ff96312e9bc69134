/* app/core/workspace_exec.h -- lines of commands: parsing, waiting in line, running, and what
 * follows their end. */
#ifndef GPDESK_WORKSPACE_EXEC_H
#define GPDESK_WORKSPACE_EXEC_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct job;
struct workspace;

/* Runs one line (several statements; also a whole script).  Everything is parsed before the first
 * runs.  Jobs are queued and the call returns; failures have already been emitted as error records
 * and drop the rest of the line.  A statement that depends on what a job in hand will leave behind
 * waits for it in line (`jobs` lists it), so that a session typed ahead gives what a script gives.
 */
enum status workspace_exec(struct workspace *, const char *line);
/* The same for a text from a named place (a script): messages say "line 12 of NAME". */
enum status workspace_exec_from(struct workspace *, const char *text, const char *name,
                                size_t first_line);
/* From a command that is being executed: the same, but a failure drops no more than this text. */
enum status workspace_exec_apart(struct workspace *, const char *text, const char *name);
/* Statements that wait in line; and each (NULL past the end). */
size_t workspace_waiting(const struct workspace *);
const char *workspace_waiting_at(const struct workspace *, size_t i, unsigned long *number);
/* Takes one out again (`stop q3`): NOT_FOUND; 0: all. */
enum status workspace_forget(struct workspace *, unsigned long number, struct err *);
bool workspace_busy(const struct workspace *); /* a job runs, or something waits */
/* Runs until no job is left and nothing waits. */
void workspace_drain(struct workspace *);
/* For the poll loop. */
int workspace_fd(const struct workspace *);
void workspace_pump(struct workspace *);   /* takes all events; calls sinks */
/* Around job_ops.done (job.c): messages get the job's place in the script; then the script, the
 * session and the rest of its line take note of the outcome. */
void workspace_job_begin(struct workspace *, const struct job *);
void workspace_job_end(struct workspace *, const struct job *, enum status rc);

#endif
