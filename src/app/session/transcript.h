/* app/session/transcript.h -- writes a session as a script that repeats it. */
#ifndef GPDESK_TRANSCRIPT_H
#define GPDESK_TRANSCRIPT_H

#include "app/core/workspace.h"

/* Writes the shortest list of commands that leads to the present state (all: every command that
 * changed something), with absolute paths, seeds, and the expected figures as comments. */
enum status transcript(const struct workspace *, bool all, struct buf *out, struct err *err);
/* Which lines of the script were interrupted, as a comment or with a result that is not whole. */
enum status transcript_interrupted(const struct workspace *, bool *out, struct err *err);

#endif
