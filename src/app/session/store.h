/* app/session/store.h -- the session file: SQLite, accessed by one thread that owns the
 * connection.
 *
 * The main thread hands over immutable records and never waits. Records are committed after each
 * command and every few seconds. Nothing in a file is trusted: every blob has a checksum, and JSON
 * is parsed strictly. */
#ifndef GPDESK_STORE_H
#define GPDESK_STORE_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owner;
struct workspace;
struct store;
/* Opens or creates the session. An existing one restores dataset, split, kernel, hyperparameters,
 * seed and runs into ws. A damaged file is refused with the reason, or loaded without its damaged
 * parts, which are reported as warnings through ws. */
enum status store_open(struct workspace *ws, const char *path, struct err *err);
/* Their parts in every statement: store_owner.c makes one transaction of its records; store_files.c
 * begins a session automatically when somebody is at the keyboard. */
extern const struct owner store_owner, store_files_owner;
struct store *store_of(const struct workspace *); /* NULL if there is no session */
/* Copies what is whole in the damaged session PATH into the new session TO; PATH is only read. */
struct store_salvaged {
    size_t rows, runs, datasets, lines;
    struct buf lost; size_t nlost; /* what is lost, a line each; of more than 40 only the first */
    bool failed;
};
enum status store_salvage(const struct store *current, const char *path, const char *to,
                          struct store_salvaged *, struct err *);
void store_salvaged_free(struct store_salvaged *);
/* Writes everything, then joins the thread. False, and a warning: something could not be written.
 * NULL is allowed. */
bool store_close(struct store *);
const char *store_path(const struct store *);
const char *store_shown(const struct store *);   /* the path as it was given, safe to print */
enum status store_flush(struct store *,
                        struct err *); /* waits until everything is on disk: for `save` and tests */
int64_t store_saved_at(const struct store *);           /* Unix time of the last commit; 0: none */
/* For how many seconds the oldest record has been waiting to be on disk; 0 if all are. From
 * STORE_UNSAVED_SHOWN on, the screen says so. */
double store_unsaved(const struct store *);
#define STORE_UNSAVED_SHOWN 0.2
/* What is reported now is on disk once store_durable has reached this ticket. */
uint64_t store_ticket(const struct store *);
uint64_t store_durable(const struct store *);
const char *store_trouble(const struct store *);        /* "" or "disk full: ..." */

/* Records between these two calls go into one transaction: after a crash the file contains all of
 * them or none. The calls nest. NULL is allowed. A call that waits for the disk in between ends the
 * first transaction. */
void store_hold(struct store *);
void store_release(struct store *);
/* Called by the workspace. Each copies what it needs and returns at once. */
void store_command(struct store *, const char *line, enum status rc, double seconds);
void store_state(struct store *, const struct workspace *);      /* datasets, kernel and options */
/* Lines of the script from `at` on (counted from 0) have moved: they are written again with the
 * next state. */
void store_script_from(struct store *, size_t at);
struct run;
/* Permanently removes everything of a run from the session. */
void store_forget_run(struct store *, const struct run *);
void store_run(struct store *, const struct run *);         /* settings, figures, scores, note */
void store_trace(struct store *, const struct run *);   /* the points added since the last call */
void store_model(struct store *, const struct run *, bool with_factor);
struct rec;
void store_message(struct store *, const struct rec *);
/* `save FILE`: writes a compact copy (VACUUM INTO), or makes FILE the session if there is none. */
enum status store_save_as(struct workspace *ws, const char *path, struct err *err);
/* Copies the data files into the session, except those that are already there. *files and *bytes:
 * how many, and their total size. */
enum status store_pack(struct workspace *ws, size_t *files, uint64_t *bytes, struct err *err);
/* Writes a copy at a path that does not exist yet. Waits for the thread. */
enum status store_copy(struct store *, const char *path, struct err *err);
/* Begins the automatic session in the state directory, for somebody who works without one. */
enum status store_begin(struct workspace *ws, struct err *err);
/* Finds the path of NAME, NAME.gpd or a path, in the current directory first and then in the state
 * directory. The caller frees it. */
char *store_find(const char *name, struct err *err);
/* The newest session in the state directory other than `except`, which may be NULL. The caller
 * frees it. */
char *store_newest(const struct store *except, struct err *err);
/* Checks whether a file can be opened as a session. `resume` asks before it closes the current
 * one. */
enum status store_probe(const char *path, struct err *err);
/* `sessions`: lists the session files in the state directory with time, runs and datasets. */
enum status store_list(struct workspace *ws, struct err *err);

#endif
