/* app/runs/export.h -- the command `export`: a run as a file for other programs. */
#ifndef GPDESK_EXPORT_H
#define GPDESK_EXPORT_H

#include "app/shell/command.h"

struct workspace;
struct run;
/* Appends the paragraph for a paper: data, model, how it was found, scores, sources. */
void export_words(const struct workspace *, const struct run *, struct buf *out);

extern const struct command export_rows[]; /* The list ends with an entry whose name is NULL. */

#endif
