/* app/session/transcript_rows.h -- proposals and measurements in a script: as rows and values. */
#ifndef GPDESK_TRANSCRIPT_ROWS_H
#define GPDESK_TRANSCRIPT_ROWS_H

#include "app/core/workspace.h"

/* A `suggest`, or a `tell` of a file, as line `number` (from 1) of the script. */
struct transcript_rows {
    const char *line; size_t number;
    const char *goal; /* of tell; NULL: the default */
    size_t most;      /* how many commands may stand for it */
};

/* Writes `ask` with the rows that the line proposed, or `tell` with the values of its file, behind
 * the line as a comment. Run again, `suggest` might propose other rows under the same ids (on
 * another processor, after another fit) and would write over its file, and the file of `tell` might
 * be another one by then; the plates on a bench are those of the session. Returns how many
 * commands it wrote; 0: none, the line stands for itself. */
size_t transcript_rows_put(struct buf *out, const struct workspace *,
                           const struct transcript_rows *);

#endif
