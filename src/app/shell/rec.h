/* app/shell/rec.h -- the one event stream: everything that gpdesk reports is a record.
 *
 * A record has a type, a short name, text for people (may hold line ends) and JSON members for
 * programs.  Sinks receive records on the main thread: the text renderer, the JSON lines writer,
 * the screen's log, the session store. */
#ifndef GPDESK_REC_H
#define GPDESK_REC_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum rec_type { REC_RESULT, REC_NOTE, REC_WARNING, REC_ERROR, REC_TICK };
const char *rec_type_name(enum rec_type); /* "result" ... */

struct rec {
    enum rec_type type;
    /* Result: the command; note, warning, error: the name in brackets; tick: the phase. */
    char name[40];
    char run[16];   /* "r7", "t2" or ""; for ticks and messages (results write it with rec_str) */
    struct buf
        text; /* for people, without the "note[name]: " prefix; no line end after the last line */
    struct buf json;   /* members after type and name, each written as `,"key":value` */
    char hint[256];    /* what to type next ("try"), or "" */
    char in[256];      /* the command concerned, with its line in a script ("in"); "" if none */
    size_t unreported; /* failures that nobody had told when it was begun (status.h) */
};
void rec_init(struct rec *, enum rec_type, const char *name);
void rec_free(struct rec *);
/* Writing JSON members. */
void rec_str(struct rec *, const char *key, const char *value); /* NULL is written as null */
void rec_num(struct rec *, const char *key, double value);      /* NaN is written as null */
void rec_int(struct rec *, const char *key, int64_t value);
void rec_bool(struct rec *, const char *key, bool value);
void rec_null(struct rec *, const char *key);
void rec_nums(struct rec *, const char *key, const double *v, size_t n);
void rec_strs(struct rec *, const char *key, const char *const *v, size_t n);
/* ,"key":{ -- what follows are its members, up to rec_close. */
void rec_open(struct rec *, const char *key);
void rec_close(struct rec *);
/* ,"key":[ -- what follows are its items, up to rec_array_close. */
void rec_array(struct rec *, const char *key);
void rec_item(struct rec *);                   /* { -- one object of an array, up to rec_close */
void rec_array_close(struct rec *);
void rec_text(struct rec *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends a string from outside (a name, a path) to the text, escaped for a terminal. */
void rec_safe(struct rec *, const char *s);
/* Writes one complete JSON line: {"v":1,"type":"result","command":"fit",...}\n. */
void rec_json_line(const struct rec *, struct buf *out);
/* The line of an error that there is no memory to write in full. */
const char *rec_no_memory(bool json);
/* Writes lines for people: "note[plan]: ..."; results are unchanged. */
void rec_text_lines(const struct rec *, struct buf *out);

/* A listener.  take() must not keep the record. */
struct sink { void (*take)(void *ctx, const struct rec *); void *ctx; struct sink *next; };

/* Writes records to files: JSON lines to `out`; or text, with results to `out` and everything else
 * to `err`. Flushes after each record. As text, progress is one line each 10 % or 10 s of a
 * phase. */
struct rec_writer {
    struct sink sink;        /* link this into the list of sinks */
    FILE *out, *err;
    bool json, quiet;        /* quiet: no notes and no progress */
    bool broken;             /* `out` cannot be written: EPIPE (its reader has gone), ENOSPC, ... */
    int broken_errno;
    char tick_run[16], tick_phase[24];
    double tick_at, tick_share;
    struct buf line;
    uint64_t (*ticket)(void *ctx); void *ticket_ctx; /* NULL: lines are written at once */
    struct rec_held *held, **held_end;
};
void rec_writer_init(struct rec_writer *, FILE *out, FILE *err, bool json, bool quiet);
void rec_writer_free(struct rec_writer *);   /* writes the lines that wait */
/* From now on, lines wait, each under the number that `ticket` gives when it is reported (0 for
 * progress), until rec_writer_release lets them through in the order in which they came. If ticket
 * is NULL, later lines are written at once; those that wait continue to wait. */
void rec_writer_hold(struct rec_writer *, uint64_t (*ticket)(void *ctx), void *ctx);
/* Writes the lines at the head of the queue whose number is at most `ticket`. */
void rec_writer_release(struct rec_writer *, uint64_t ticket);

#endif
