/* app/session/store.h -- the session file: SQLite behind one thread that owns the connection.
 *
 * Writers hand over immutable records and never wait; a commit every few seconds and after each
 * command.  What is read is never believed: checksums on every blob, JSON parsed strictly. */
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
/* Opens or creates the session and, when it existed, restores dataset, split, kernel,
 * hyperparameters, seed and runs into ws.  Refuses what is damaged with the reason, or loads
 * without what is damaged and says so (warnings through ws). */
enum status store_open(struct workspace *ws, const char *path, struct err *err);
/* The part that it takes in every statement: a commit around it, its records (store_owner.c); and,
 * for somebody at the keyboard, the session that begins by itself (store_files.c). */
extern const struct owner store_owner, store_files_owner;
struct store *store_of(const struct workspace *); /* NULL: no session */
/* Copies what is whole in the damaged session PATH into the new session TO; PATH is only read. */
struct store_salvaged {
    size_t rows, runs, datasets, lines;
    struct buf lost; size_t nlost; /* what is lost, a line each; of more than 40 only the first */
    bool failed;
};
enum status store_salvage(const struct store *current, const char *path, const char *to,
                          struct store_salvaged *, struct err *);
void store_salvaged_free(struct store_salvaged *);
void store_close(struct store *);          /* flushes; joins the thread */
const char *store_path(const struct store *);
const char *store_shown(const struct store *);   /* as it was named, safe to print */
enum status store_flush(struct store *,
                        struct err *); /* waits until all is on disk: `save`, tests */
int64_t store_saved_at(const struct store *);           /* unix time of the last commit; 0: none */
/* How long the oldest row has not been on disk, in seconds; 0: all rows are.  From
 * STORE_UNSAVED_SHOWN on whoever sits at the keyboard is told. */
double store_unsaved(const struct store *);
#define STORE_UNSAVED_SHOWN 0.2
/* What is told now is on disk when store_durable has reached this ticket. */
uint64_t store_ticket(const struct store *);
uint64_t store_durable(const struct store *);
const char *store_trouble(const struct store *);        /* "" or "disk full: ..." */

/* What is handed over between the two goes into one transaction: all of it is in the file after a
 * crash, or nothing.  They nest; NULL is taken.  Who waits for the disk in between ends the first
 * part. */
void store_hold(struct store *);
void store_release(struct store *);
/* Called by the workspace; each copies what it needs and returns at once. */
void store_command(struct store *, const char *line, enum status rc, double seconds);
void store_state(struct store *, const struct workspace *);      /* datasets, kernel, options */
/* Lines of the script from `at` (from 0) on have moved: they are written again with the state. */
void store_script_from(struct store *, size_t at);
struct run;
/* Takes all of a run out of the session, for good. */
void store_forget_run(struct store *, const struct run *);
void store_run(struct store *, const struct run *);              /* settings, info, score, note */
void store_trace(struct store *, const struct run *);            /* points added since last time */
void store_model(struct store *, const struct run *, bool with_factor);
struct rec;
void store_message(struct store *, const struct rec *);
/* `save FILE`: a clean copy (VACUUM INTO), or makes FILE the session when there is none. */
enum status store_save_as(struct workspace *ws, const char *path, struct err *err);
/* Puts the files of all data into the session, those not in it yet: how many, and their bytes. */
enum status store_pack(struct workspace *ws, size_t *files, uint64_t *bytes, struct err *err);
/* A copy at a path that does not exist yet; waits for the thread. */
enum status store_copy(struct store *, const char *path, struct err *err);
/* The session that starts by itself when somebody works without one, in the state directory. */
enum status store_begin(struct workspace *ws, struct err *err);
/* NAME, NAME.gpd or a path, to a path: here first, then in the state directory. Caller frees. */
char *store_find(const char *name, struct err *err);
/* The newest session of the state directory but `except` (may be NULL). Caller frees. */
char *store_newest(const struct store *except, struct err *err);
/* Can it be opened? (`resume` asks before it lets go of the current session.) */
enum status store_probe(const char *path, struct err *err);
/* `sessions`: lists session files in the state directory with time, runs and datasets. */
enum status store_list(struct workspace *ws, struct err *err);

#endif
