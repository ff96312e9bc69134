/* app/session/store_impl.h -- shared by the files of the session store and by nobody else.
 *
 *   store.c        the public side: what the main thread hands over
 *   store_queue.c  the queue, and the thread that writes; store_write.c  how each record is written
 *   store_guard.c  which files beside a session SQLite may see; recovery from a journal
 *   store_db.c     the SQLite side: opening with suspicion, checked rows, blobs, JSON reading
 *   store_new.c    the file of a new session
 *   store_salvage.c  what is whole in a damaged file, into a new one
 *   store_json.c   datasets, runs and the workspace as JSON
 *   store_load.c   and back again, with store_read_*.c (store_load.h)
 *   store_files.c  where sessions live; listing, copies */
#ifndef GPDESK_STORE_IMPL_H
#define GPDESK_STORE_IMPL_H

#include "app/session/store.h"
#include "app/session/timeline.h"
#include "app/core/workspace.h"
#include "base/buf.h"


#include <search.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The variance factor of a fit: its lower triangle by columns, in double or in single precision. */
#define STORE_FACTOR "L"
#define STORE_FACTOR_SINGLE "L4"
#define STORE_STATE "state" /* of the solver of a run, from which it can go on */
#define STORE_WEIGHTS "weights" /* of a kernel that learns: a block of net.h */

extern const char *const store_migration[]; /* share/schema/NNN.sql, embedded; ends in NULL */

/* Files beside a session (store_guard.c). hot: there is a journal that SQLite would roll back;
 * has_first: it contains a copy of page 1; log: there is a write-ahead log that is not empty. */
struct store_guard { bool hot, has_first, log; };
/* Refuses files beside PATH that no gpdesk can have left there. size: that of the session; -1 if it
 * is absent. */
enum status store_guard_check(const char *path, const char *shown, off_t size,
                              struct store_guard *, struct err *);
bool store_guard_locked(const char *path); /* true if another process has it open */
/* Copies the file FROM to the new file TO. Never of a session that this process has open: closing
 * FROM would release its locks. */
enum status store_guard_copy(const char *from, const char *to, const char *shown, struct err *);
/* Rolls the journal back in a copy, and replaces PATH by the copy if `try` accepts it. */
typedef enum status store_guard_try(const char *copy, const char *shown, struct err *);
enum status store_guard_recover(const char *path, const char *shown, store_guard_try *,
                                struct err *);

/* The database (store_db.c). */
struct sdb;
/* LOOK: for a list; no thorough check, no writing. */
enum sdb_mode { SDB_CREATE, SDB_OPEN, SDB_LOOK };
/* Opens PATH with every suspicion: it must be a regular file and no link, with our application_id
 * and a schema equal to the embedded one, and must pass quick_check within a time limit. CREATE
 * makes the file if there is none. *fresh: it was empty. */
struct sdb *store_db_open(const char *path, enum sdb_mode, bool *fresh, struct err *err);
void store_db_close(struct sdb *);

/* For store_salvage.c, on a copy that belongs to it. as_session: *schema says whether its tables
 * are those of a session; otherwise the copy's schema is ours and may be changed. */
struct sdb *store_db_open_copy(const char *path, const char *shown, bool as_session, bool *schema,
                               struct err *err);
struct sqlite3 *store_db_handle(struct sdb *);
/* The first page, of `size` bytes, of an empty database that the statements in `sql` make, or all
 * pages of it; the statements end with NULL. */
enum status store_db_empty(const char *const *sql, uint32_t size, bool whole, struct buf *out,
                           struct err *err);
/* Makes the file of a new session at PATH, which is absolute (store_new.c). *gate: the lock of the
 * file, held before it has its name. *made is false without an error if another program has just
 * given a file that name. */
enum status store_new_session(const char *path, const char *shown, int *gate, bool *made,
                              struct err *err);
/* Takes the lock that one program has on a session as long as *gate is open; it waits for up to ms.
 * SQLite's own locks are shared until the first change, so that two programs that open one file at
 * the same moment would both be refused. *gate must be closed last: closing a file lets go of the
 * locks of SQLite. -1: the file system has no such locks. */
enum status store_new_gate(const char *path, const char *shown, int ms, int *gate,
                           struct err *err);
enum status store_db_set_root(struct sdb *, const char *table, uint32_t page, struct err *err);

/* Checks whether the first bytes of an SQLite database are those of a session. size: of the whole
 * file. */
enum { SDB_HEADER = 100 };
enum status store_db_check_header(const unsigned char h[SDB_HEADER], off_t size, const char *shown,
                             struct err *err);
/* The error "is open in another gpdesk". */
enum status store_db_locked(const char *shown, struct err *err);
const char *store_db_path(const struct sdb *);  /* absolute */
const char *store_db_shown(const struct sdb *); /* as it was named, safe to print */
enum status store_db_begin(struct sdb *, struct err *);
enum status store_db_commit(struct sdb *, struct err *);
void store_db_rollback(struct sdb *);
/* True if the last failure may pass: disk full, locked, I/O. */
bool store_db_retry(const struct sdb *);
void store_db_checkpoint(struct sdb *);  /* empties the log after large writes */
/* Removes a database that is closed, or was never finished, with the files that SQLite keeps beside
 * it. */
void store_db_unlink(const char *path);
enum status store_db_copy(struct sdb *, const char *path,
                          struct err *); /* a compact copy; nothing may exist at path */

enum status store_db_put_meta(struct sdb *, const char *key, const char *value, struct err *);
enum status store_db_put_state(struct sdb *, const char *key, const char *body, struct err *);
enum status store_db_put_command(struct sdb *, int64_t at, const char *line, const char *status,
                            double seconds, struct err *);
enum status store_db_put_script(struct sdb *, int64_t id, const char *line, struct err *);
enum status store_db_put_message(struct sdb *, int64_t at, const char *type, const char *name,
                            const char *run, const char *body, struct err *);
enum status store_db_put_dataset(struct sdb *, int64_t id, const char *body, struct err *);
enum status store_db_put_run(struct sdb *, int64_t id, const char *name, const char *body,
                             struct err *);
enum status store_db_put_snapshot(struct sdb *, int64_t id, const char *body, struct err *err);
/* p->id is the id of its state. */
enum status store_db_put_past(struct sdb *, int64_t line, const struct past *p, struct err *err);
enum status store_db_forget_run(struct sdb *, const char *name, struct err *err);
/* The body of a state, which the caller frees; NULL with the reason in err. */
char *store_db_snapshot(struct sdb *, int64_t id, struct err *err);
int64_t store_db_last_snapshot(struct sdb *); /* the largest id; 0: none */
/* Reads lines 1..n into out[n]. Elements of absent or damaged lines are left unchanged. *bad: the
 * number of damaged ones. */
enum status store_db_get_past(struct sdb *, struct past *out, size_t n, size_t *bad,
                              struct err *err);
/* Writes one part of a blob and replaces the one that is there. */
enum status store_db_put_part(struct sdb *, const char *owner, const char *what, int64_t part,
                         const void *data, size_t n, struct err *);
enum status store_db_drop_blob(struct sdb *, const char *owner, const char *what, struct err *);

/* Visits rows in order. `good` says that the checksum of the row is right. The visitor returns
 * false to stop. */
typedef bool sdb_row_fn(void *ctx, int64_t id, const char *name, const char *body, bool good);
enum status store_db_each_state(struct sdb *, sdb_row_fn *, void *ctx, struct err *);
enum status store_db_each_dataset(struct sdb *, sdb_row_fn *, void *ctx, struct err *);
enum status store_db_each_run(struct sdb *, sdb_row_fn *, void *ctx, struct err *);
enum status store_db_each_script(struct sdb *, sdb_row_fn *, void *ctx, struct err *);
/* NULL if absent or damaged; the caller frees it. */
char *store_db_meta(struct sdb *, const char *key);
/* Reads a blob of exactly n bytes into dst. NOT_FOUND, or FORMAT if it is damaged or of another
 * size. */
enum status store_db_get_blob(struct sdb *, const char *owner, const char *what, void *dst,
                              size_t n, struct err *);
/* All undamaged parts from 0 on, concatenated; the caller frees *out. *damaged: parts at the end
 * are missing. */
enum status store_db_get_parts(struct sdb *, const char *owner, const char *what, void **out,
                               size_t *n, size_t *parts, bool *damaged, struct err *);
size_t store_db_blob_size(struct sdb *, const char *owner,
                          const char *what); /* bytes of all parts */

enum { SDB_PART = 8 << 20 };

/* Strict reading of a JSON body. The first error is kept in `bad`; further reads are harmless and
 * return defaults. Paths are formats: "$.hp[%zu]". */
struct jnode;
struct jdoc {
    struct sdb *db;
    struct jnode *node; size_t nnode, capnode;  /* every value of the text */
    struct hsearch_data table; bool tabled;     /* by path */
    struct buf paths, raw;
    char *plain;
    char bad[160];
};
/* Returns false if the text is no JSON object; there is then nothing to close. The text is borrowed
 * and not changed. */
bool store_doc_open(struct jdoc *, struct sdb *, const char *text);
void store_doc_close(struct jdoc *);                 /* `bad` stays valid */
bool store_doc_ok(const struct jdoc *);
bool store_doc_has(struct jdoc *, const char *path, ...) __attribute__((format(printf, 2, 3)));
double store_doc_num(struct jdoc *, const char *path, ...) __attribute__((format(printf, 2, 3)));
int64_t store_doc_int(struct jdoc *, int64_t lo, int64_t hi, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
uint64_t store_doc_u64(struct jdoc *, const char *path, ...) __attribute__((format(printf, 2, 3)));
bool store_doc_bool(struct jdoc *, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Allocated; "" if the value is no string (bad is then set); NULL for null. */
char *store_doc_str(struct jdoc *, const char *path, ...) __attribute__((format(printf, 2, 3)));
void store_doc_strn(struct jdoc *, char *out, size_t len, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* The index of the string in `words` (NULL-terminated). If it is not there, 0 and bad is set. */
int store_doc_word(struct jdoc *, const char *const *words, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
size_t store_doc_len(struct jdoc *, size_t most, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
char *store_doc_raw_for_tests(struct jdoc *, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* Visits each object of a list with four of its fields as text. The visitor returns false to
 * stop. */
typedef bool jdoc_row_fn(void *ctx, const char *const text[4]);
bool store_doc_each(struct jdoc *, const char *path, const char *const field[4], jdoc_row_fn *,
                    void *);
/* Out of memory: counted by err_refused(), by which store_load refuses the whole session. */
void store_doc_nomem(struct jdoc *);
void store_doc_wrong(struct jdoc *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For lists: the number of runs, and the names of the datasets, which the caller frees. */
char *store_db_about(struct sdb *, size_t *runs);

/* JSON (store_json.c). */
/* The words of each enumeration that is not named elsewhere, shared by writer and reader. */
extern const char *const store_roles[], *const store_kinds[], *const store_states[],
    *const store_outcomes[], *const store_tune_outcomes[], *const store_precisions[],
    *const store_variances[];
extern const int store_outcome_values[];

/* The line that made the table of a dataset, from the script so far; NULL if none is known. */
const char *store_recipe(const struct workspace *, const struct dataset *);
void store_json_dataset(struct buf *, const struct dataset *, const char *recipe);
/* ids: those of ws->data in order, followed by `away` datasets that could not be loaded this
 * time. */
void store_json_state(struct buf *, const struct workspace *, const int64_t *ids, size_t away);
void store_json_run(struct buf *, const struct run *, int64_t dataset_id); /* 0: no dataset */
void store_json_snapshot(struct buf *, const struct snapshot *, const int64_t *ids);

/* Trace points as stored: 72 bytes each, little-endian. */
enum { STORE_POINT = 4 + 4 + 8 * 8 };
void store_pack_points(unsigned char *out, const struct trace_point *, size_t n);
void store_unpack_points(struct trace_point *out, const unsigned char *in, size_t n);
/* Points of a tuning as doubles: hp..., amplitude, noise, nmll, effective dimension, subsampled. */
enum { STORE_TUNE_EXTRA = 7 };
void store_pack_tuning(double *out, const struct tune_result *);
/* Converts doubles in place to or from little-endian. */
void store_pack_doubles(double *, size_t n);

/* Loading (store_load.c). */
/* A version of a dataset that is in the file. */
struct store_version { int64_t id; char *body; };
/* A dataset whose file is missing now. The session keeps it in case the file comes back. */
struct store_away { int64_t id; char *name; };
struct store_loaded {
    struct store_version *version; size_t nversion;
    int64_t next_dataset, next_run, next_snapshot;
    size_t nscript;
    size_t skipped;              /* rows and arrays left out because they are damaged */
    struct {
        char name[16];
        int64_t row, data;
        size_t parts, points;
        /* Unfinished: only a part of the factor was written, so it is useless. */
        bool model, factor, unfinished;
        char *body;
    } * run;
    size_t nrun;
    struct store_away *away; size_t naway;
};
enum status store_load(struct workspace *, struct sdb *, struct store_loaded *, struct err *);
void store_loaded_free(struct store_loaded *);
/* A state from its `body`. version: those of the datasets in the file. */
enum status store_load_snapshot(struct workspace *, struct sdb *,
                                const struct store_version *version, size_t nversion,
                                const char *body, struct snapshot **out, struct err *err);

/* Data files (store_pack.c; the first three functions are in store.c). */
/* Takes ownership of data. False: there was no memory for it. */
bool store_put_part(struct store *, const char *owner, const char *what, int64_t part, void *data,
                    size_t n);
void store_drop_blob(struct store *, const char *owner, const char *what);
bool store_has_blob(struct store *, const char *owner, const char *what, uint64_t bytes);
enum { STORE_PACK_NAME = 100 };
void store_unpack_name(char out[STORE_PACK_NAME], const char *checksum, uint64_t size);
/* Writes the session's copy of a file to the cache directory. Returns its path, which the caller
 * frees; NULL if there is no copy. */
char *store_unpack(struct sdb *, const char *path, const char *checksum, uint64_t size,
                   struct err *err);

/* Says once that nothing can be written, and once that writing works again (store.c). */
void store_tell_trouble(struct store *);
/* Makes the records again that there was no memory for, if there are any (store.c). */
void store_mend(struct store *);
/* Called when a run gets its name: makes sure that the number is never used again, even after a
 * crash (store.c). */
void store_named(struct store *, const struct run *);

/* Files (store_files.c). */

#endif
