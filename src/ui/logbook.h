/* ui/logbook.h -- the log: what was typed, what came of it; a bounded scrollback. */
#ifndef GPDESK_LOGBOOK_H
#define GPDESK_LOGBOOK_H

#include "app/shell/rec.h"
#include "ui/draw.h"

enum log_kind { LOG_COMMAND, LOG_RESULT, LOG_NOTE, LOG_WARNING, LOG_ERROR, LOG_KINDS };
enum { LOGBOOK_MAX = 5000 };    /* lines kept */
struct log_line {
    enum log_kind kind;
    unsigned group;             /* lines of one record share it */
    unsigned repeat;            /* the same record came that often */
    char *text;                 /* safe for the terminal */
};
struct logbook {
    struct log_line *line;      /* a ring of LOGBOOK_MAX; NULL until first used */
    size_t first, n;
    unsigned groups;
    size_t total;               /* ever added */
    size_t warnings, errors;
};
void logbook_free(struct logbook *);
/* Splits text into lines and makes them safe.  A record equal to the one before is counted. */
void logbook_add(struct logbook *, enum log_kind, const char *text);
void logbook_rec(struct logbook *, const struct rec *);    /* ticks are no news */
const struct log_line *logbook_at(const struct logbook *, size_t i);  /* 0: the oldest kept */
/* Rows that the newest record takes at this width. */
size_t logbook_last_rows(const struct logbook *, size_t cols);
size_t logbook_rows(const struct logbook *, size_t i, size_t cols);    /* of line i */
/* Draws the end of the log, *scroll rows further back (clamped to what there is). */
void logbook_draw(const struct logbook *, const struct canvas *, size_t *scroll);

#endif
