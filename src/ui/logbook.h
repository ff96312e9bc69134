/* ui/logbook.h -- the log: what was typed and its results, with bounded scrollback. */
#ifndef GPDESK_LOGBOOK_H
#define GPDESK_LOGBOOK_H

#include "app/shell/rec.h"
#include "ui/draw.h"

enum log_kind { LOG_COMMAND, LOG_RESULT, LOG_NOTE, LOG_WARNING, LOG_ERROR, LOG_KINDS };
enum { LOGBOOK_MAX = 5000 };    /* number of lines kept */
struct log_line {
    enum log_kind kind;
    unsigned group;             /* shared by the lines of one record */
    unsigned repeat;            /* how often the same record came */
    char *text;                 /* safe for the terminal */
};
struct logbook {
    struct log_line *line;      /* a ring of LOGBOOK_MAX lines; NULL until first used */
    size_t first, n;
    unsigned groups;
    size_t total;               /* lines ever added */
    size_t warnings, errors;
};
void logbook_free(struct logbook *);
/* Splits text into lines and makes them safe. If the record equals the previous one, only a counter
 * is incremented. */
void logbook_add(struct logbook *, enum log_kind, const char *text);
void logbook_rec(struct logbook *, const struct rec *);    /* ticks are ignored */
const struct log_line *logbook_at(const struct logbook *, size_t i); /* 0 is the oldest line kept */
/* The number of rows that the newest record takes at this width. */
size_t logbook_last_rows(const struct logbook *, size_t cols);
size_t logbook_rows(const struct logbook *, size_t i, size_t cols);    /* of line i */
/* Draws the end of the log, scrolled back by *scroll rows (limited to what there is). */
void logbook_draw(const struct logbook *, const struct canvas *, size_t *scroll);

#endif
