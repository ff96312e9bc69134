/* app/session/transcript.h -- a session written as a script that does it again. */
#ifndef GPDESK_TRANSCRIPT_H
#define GPDESK_TRANSCRIPT_H

#include "app/core/workspace.h"

/* The shortest list of commands that leads to what is current (all: everything that changed
 * something), with absolute paths, seeds, and the figures to expect as comments. */
enum status transcript(const struct workspace *, bool all, struct buf *out, struct err *err);
/* Which lines of the script were interrupted, as a comment or with a result that is not whole. */
enum status transcript_interrupted(const struct workspace *, bool *out, struct err *err);

#endif
