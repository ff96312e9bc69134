/* app/core/ws_tell.h -- what the user is told: results, notes, warnings and errors. They are
 * records that go to the sinks and into the session. */
#ifndef GPDESK_WS_TELL_H
#define GPDESK_WS_TELL_H

#include "app/shell/rec.h"
#include "base/status.h"

struct workspace;

void ws_emit(struct workspace *, struct rec *); /* to all sinks; frees the record's content */
void ws_note(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_warn(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_error(struct workspace *, const struct err *, const char *in);
/* A note or a warning with all its fields. run: "" or NULL for none; hint: what to try, NULL for
 * none. */
void ws_tell(struct workspace *, enum rec_type, const char *run, const char *name,
             const char *hint, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Emits one record for each line of the form "note[name]: text" or "warning[name]: text", as
 * tables, datasets and encodings keep them. */
void ws_tell_lines(struct workspace *, const char *lines);
/* True for commands that do not count as the last one when `explain` has no argument. */
bool ws_tell_silent(const char *command);

#endif
