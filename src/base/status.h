/* base/status.h -- how a function reports a failure.
 *
 * Every function that can fail returns enum status and fills a struct err that its caller owns.
 * Nothing is allocated, so that it works when memory is short, and nothing is shared between
 * threads. */
#ifndef GPDESK_STATUS_H
#define GPDESK_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* One row for each kind of failure: identifier, stable name, and words for when nothing better is
 * known.  The stable name is shown in brackets, and used by `explain` and in JSON. */
#define STATUS_LIST(_)                                             \
    _(OK, "ok", "ok")                                              \
    _(NOMEM, "memory", "out of memory")                            \
    _(SHAPE, "shape", "dimensions do not agree")                   \
    _(RANGE, "range", "value out of range")                        \
    _(NOT_FOUND, "not-found", "no such name")                      \
    _(AMBIGUOUS, "ambiguous", "more than one thing has that name") \
    _(NOT_PD, "not-pd", "matrix is not positive definite")         \
    _(BACKEND, "backend", "compute backend failed")                \
    _(USAGE, "usage", "the command line is not understood")        \
    _(STATE, "state", "not possible now")                          \
    _(IO, "io", "input or output failed")                          \
    _(FORMAT, "format", "the file is malformed")                   \
    _(LIMIT, "limit", "a limit was reached")                       \
    _(CANCELLED, "cancelled", "stopped on request")                \
    _(UNSUPPORTED, "unsupported", "not supported")                 \
    _(INTERNAL, "internal", "a fault in gpdesk itself")

enum status {
#define _(id, name, words) ST_##id,
    STATUS_LIST(_)
#undef _
        N_STATUS
};

/* A failure, ready to be shown as: error[name]: msg / try hint. */
struct err {
    enum status code;
    char name[32];  /* stable; that of the status, or a more specific one ("delimiter") */
    char msg[768];  /* one sentence: what happened, where, the value and what was expected */
    char hint[256]; /* what to type next; empty when there is nothing useful to say */
    bool machine;   /* memory, disk or descriptors ran out, or a disk failed: exit status 5 */
};

const char *status_name(enum status code);  /* "memory" */
const char *status_words(enum status code); /* "out of memory" */

/* Fills *err (may be NULL) and returns `code`, so that a failure is one line. */
enum status err_set(struct err *err, enum status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* err_set with a more specific stable name than that of the status. */
enum status err_named(struct err *err, enum status code, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A failure of a system call, ST_IO; `why` is its errno, which also decides err->machine.  Without
 * a name (NULL) it has that of the status. */
enum status err_system(struct err *err, int why, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds to a failure what to do next. */
void err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts words in front of a message that is passed on ("line 12: "). */
void err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum status err_nomem(struct err *err, size_t bytes, const char *what);
/* How often memory was short where there was no struct err to report it.  Something that was shown
 * or written may then be incomplete, and the exit status of the program has to tell.  Counts for
 * the process. */
size_t err_unreported(void);
/* How many requests for less than 1 MB (or of unknown size) have been refused so far, told or not.
 * Where one was, what seems to be damaged may only have had no memory. */
size_t err_refused(void);
/* The status of a failure of which only a null pointer tells: that in *err, or else ST_NOMEM. */
enum status err_status(const struct err *err);
void err_clear(struct err *err);

#endif
