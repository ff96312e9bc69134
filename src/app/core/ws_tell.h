/* app/core/ws_tell.h -- what the user is told: results, notes, warnings and errors, as records that
 * go to the sinks and into the session. */
#ifndef GPDESK_WS_TELL_H
#define GPDESK_WS_TELL_H

#include "app/shell/rec.h"
#include "base/status.h"

struct workspace;

void ws_emit(struct workspace *, struct rec *); /* to all sinks; frees the rec's content */
void ws_note(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_warn(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_error(struct workspace *, const struct err *, const char *in);
/* note or warning with everything: run ("" or NULL: none), way out (NULL: none). */
void ws_tell(struct workspace *, enum rec_type, const char *run, const char *name,
             const char *hint, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Lines "note[name]: text" and "warning[name]: text", as tables, datasets and encodings keep them:
 * one record each. */
void ws_tell_lines(struct workspace *, const char *lines);
/* Commands that do not count as the last one, which `explain` alone explains. */
bool ws_tell_silent(const char *command);

#endif
