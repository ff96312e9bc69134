/* app/session/store_db.c -- the session file as an SQLite database: opened with suspicion, read
 * with checks.
 *
 * A session may come from anywhere. Nothing in it is executed: views, triggers and functions in the
 * schema are off, and the schema must equal the embedded one. Every row carries a checksum over its
 * values (`rowsum`), because quick_check does not detect flipped bits inside values. */
#include "app/session/store_impl.h"

#include "data/checksum.h"
#include "base/mem.h"
#include "base/readat.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x67704465, /* "gpDe" */
    HEADER_VERSION = 60, HEADER_APPLICATION = 68, /* offsets in an SQLite file */
    BUSY_MS = 3000,
    LENGTH_LIMIT = 64 << 20,
};

struct sdb {
    sqlite3 *db;
    char *path;
    char shown[200];          /* the path, safe to print */
    struct timespec deadline; /* for opening */
    bool timed, late;
    int last;                 /* the newest result code */
    int gate;                 /* the lock of the session (store_new.c); -1: none */
};

/* Failures. */

static void show_path(const char *path, char *out, size_t len)
{
    struct buf b = { 0 };

    text_safe(&b, path, len - 40);
    snprintf(out, len, "%s", buf_str(&b));
    buf_free(&b);
}

static enum status no_session(const char *shown, struct err *err)
{
    err_named(err, ST_FORMAT, "session", "%s is not a session: it is not an SQLite database",
              shown);
    const size_t n = strlen(shown);
    if (n > 4 && !strcmp(shown + n - 4, ".gpd"))
        err_hint(err, "salvage %.100s NEW.gpd, if it was a session; open FILE for data", shown);
    else
        err_hint(err, "open FILE for data, source FILE for a script, sessions for what there is");
    return ST_FORMAT;
}

enum status store_db_locked(const char *shown, struct err *err)
{
    err_named(err, ST_STATE, "session", "%s is open in another gpdesk", shown);
    err_hint(err, "gpdesk -s ANOTHER.gpd, or quit the other");
    return ST_STATE;
}

static enum status damaged(const char *shown, const char *why, struct err *err)
{
    err_named(err, ST_FORMAT, "session", "%s is damaged: %.200s", shown, why);
    err_hint(err, "salvage %.100s NEW.gpd   (copies what is whole)", shown);
    return ST_FORMAT;
}

/* SQLite reports a read that the disk refused as damage, too. */
static bool unread(struct sdb *s)
{
    int why = 0;

    return sqlite3_file_control(s->db, "main", SQLITE_FCNTL_LAST_ERRNO, &why) == SQLITE_OK &&
           why == EIO;
}

static enum status not_read(struct sdb *s, struct err *err)
{
    s->last = SQLITE_IOERR;
    return err_system(err, EIO, "session", "%s cannot be read: %s", s->shown, strerror(EIO));
}

/* Translates a failure of SQLite into our words. */
static enum status failed(struct sdb *s, struct err *err)
{
    const int rc = sqlite3_extended_errcode(s->db);
    const char *where = s->shown;

    s->last = rc;
    if (s->late)
        return err_named(err, ST_LIMIT, "session", "%s takes too long to open and is refused",
                         where);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        err_named(err, ST_LIMIT, "disk", "disk full: %s could not be written", where);
        err_hint(err, "make room on the disk, or save ELSEWHERE.gpd");
        return ST_LIMIT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return store_db_locked(where, err);
    case SQLITE_CORRUPT:
        return unread(s) ? not_read(s, err) : damaged(where, sqlite3_errmsg(s->db), err);
    case SQLITE_NOTADB:
        return no_session(where, err);
    case SQLITE_NOMEM:
        return err_nomem(err, 0, "the session");
    case SQLITE_TOOBIG:
        return err_named(err, ST_LIMIT, "session", "a value is too big for the session %s", where);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: /* check_file could open it, and write: descriptors, or the disk */
    case SQLITE_READONLY:
        return err_system(err, EIO, "session", "%s: %.200s", where, sqlite3_errmsg(s->db));
    case SQLITE_PERM:
        return err_named(err, ST_IO, "session", "%s: %.200s", where, sqlite3_errmsg(s->db));
    default:
        return err_named(err, ST_FORMAT, "session", "%s cannot be used as a session: %.200s", where,
                         sqlite3_errmsg(s->db));
    }
}

bool store_db_retry(const struct sdb *s)
{
    switch (s->last & 0xff) {
    case SQLITE_FULL:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
        return true;
    default:
        return false;
    }
}

/* Checked rows. */

/* rowsum(table, value...): CRC-32 over type, length and bytes of each value. */
static void rowsum(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    uint32_t sum = 0;

    for (int i = 0; i < argc; i++) {
        const int type = sqlite3_value_type(argv[i]);
        unsigned char head[9];
        const void *bytes = NULL;
        uint64_t n = 8, number = 0;

        if (type == SQLITE_INTEGER) {
            number = (uint64_t)sqlite3_value_int64(argv[i]);
        } else if (type == SQLITE_FLOAT) {
            const double x = sqlite3_value_double(argv[i]);
            memcpy(&number, &x, sizeof number);
        } else {
            /* Must come before _bytes, so that no conversion happens in between. */
            bytes = sqlite3_value_blob(argv[i]);
            n = (uint64_t)sqlite3_value_bytes(argv[i]);
            number = n;
        }
        head[0] = (unsigned char)type;
        for (int k = 0; k < 8; k++)
            head[1 + k] = (unsigned char)(number >> 8 * k);
        sum = checksum_add(sum, head, sizeof head);
        if (bytes)
            sum = checksum_add(sum, bytes, n);
    }
    sqlite3_result_int64(ctx, sum);
}

static sqlite3_stmt *prepare(struct sdb *s, const char *sql, struct err *err)
{
    sqlite3_stmt *q = NULL;

    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK) {
        failed(s, err);
        return NULL;
    }
    return q;
}

/* Runs a statement whose rows are not needed, and finalizes it. */
static enum status run_once(struct sdb *s, sqlite3_stmt *q, struct err *err)
{
    int rc;

    do
        rc = sqlite3_step(q);
    while (rc == SQLITE_ROW);
    enum status st = rc == SQLITE_DONE ? ST_OK : failed(s, err);
    sqlite3_finalize(q);
    return st;
}

static enum status exec(struct sdb *s, const char *sql, struct err *err)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return failed(s, err);
    return ST_OK;
}

/* The first column of the first row as a number; -1 if there is no row. */
static enum status ask(struct sdb *s, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *q = prepare(s, sql, err);

    if (!q)
        return err ? err->code : ST_FORMAT;
    const int rc = sqlite3_step(q);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
    enum status st = rc == SQLITE_ROW || rc == SQLITE_DONE ? ST_OK : failed(s, err);
    sqlite3_finalize(q);
    return st;
}

/* Opening. */

static int out_of_time(void *ctx)
{
    struct sdb *s = ctx;
    struct timespec now;

    if (!s->timed)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    s->late = now.tv_sec > s->deadline.tv_sec ||
              (now.tv_sec == s->deadline.tv_sec && now.tv_nsec > s->deadline.tv_nsec);
    return s->late;
}

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum status store_db_check_header(const unsigned char h[SDB_HEADER], off_t size, const char *shown,
                             struct err *err)
{
    if (memcmp(h, "SQLite format 3", 16) != 0)
        return no_session(shown, err);
    const uint32_t id = big_endian(h + HEADER_APPLICATION);
    if (id != APPLICATION_ID && (id != 0 || big_endian(h + HEADER_VERSION) != 0 || size > 4096))
        return err_named(err, ST_FORMAT, "session",
                         "%s is an SQLite database, but no session of gpdesk "
                         "(application id %08x, expected %08x)",
                         shown, (unsigned)id, (unsigned)APPLICATION_ID);
    return ST_OK;
}

static enum status check_header(const char *shown, int fd, off_t size, struct err *err)
{
    unsigned char h[SDB_HEADER];

    if (size == 0)
        return ST_OK;
    const ssize_t n = readat(fd, h, sizeof h, 0);
    if (n < 0)
        return err_system(err, errno, "session", "%s: %s", shown, strerror(errno));
    return n < SDB_HEADER ? no_session(shown, err) : store_db_check_header(h, size, shown, err);
}

/* Resolves the directory of a path, so that only the last name can be a link; that is refused. */
static char *resolve(const char *path, const char *shown, struct err *err)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char dir[PATH_MAX], full[PATH_MAX];

    if (*base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0) {
        err_named(err, ST_IO, "session", "%s is a directory", shown);
        err_hint(err, "name a file in it: save DIRECTORY/mine.gpd");
        return NULL;
    }
    if (!slash)
        snprintf(dir, sizeof dir, ".");
    else if ((size_t)snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path),
                              path) >= sizeof dir) {
        err_named(err, ST_IO, "session", "the path of the session is too long");
        return NULL;
    }
    if (!realpath(dir, full)) {
        err_system(err, errno, "session", "%s: %s", shown, strerror(errno));
        err_hint(err, "choose a name in a directory that exists and can be written");
        return NULL;
    }
    struct buf b = { 0 };
    buf_printf(&b, "%s/%s", strcmp(full, "/") ? full : "", base);
    char *out = buf_take(&b);
    if (!out)
        err_nomem(err, PATH_MAX, "a path");
    return out;
}

/* Accepts only a regular file of ours, or none. *size: -1 if there is none. *beside: the files
 * beside it, already checked. */
static enum status check_file(const char *path, const char *shown, bool write, off_t *size,
                              struct store_guard *beside, struct err *err)
{
    struct stat st;

    *size = -1;
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return store_guard_check(path, shown, -1, beside, err);
        return err_system(err, errno, "session", "%s: %s", shown, strerror(errno));
    }
    if (S_ISLNK(st.st_mode)) {
        err_named(err, ST_IO, "session", "%s is a symbolic link; sessions are not followed", shown);
        err_hint(err, "name the file itself");
        return ST_IO;
    }
    if (S_ISDIR(st.st_mode))
        return err_named(err, ST_IO, "session", "%s is a directory", shown);
    if (!S_ISREG(st.st_mode))
        return err_named(err, ST_IO, "session", "%s is not a regular file", shown);
    if (write && access(path, W_OK) != 0) {
        err_named(err, ST_IO, "session", "%s cannot be written: %s; a session is written as you "
                  "work", shown, strerror(errno));
        err_hint(err, "copy it, or change its permissions");
        return ST_IO;
    }
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_system(err, errno, "session", "%s: %s", shown, strerror(errno));
    enum status rc = store_guard_check(path, shown, st.st_size, beside, err);
    if (rc == ST_OK && !beside->has_first) /* otherwise page 1 of the journal replaces this one */
        rc = check_header(shown, fd, st.st_size, err);
    close(fd);
    *size = st.st_size;
    return rc;
}

static enum status settings(struct sdb *s, struct err *err)
{
    sqlite3 *db = s->db;
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, BUSY_MS);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_LIMIT);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
    sqlite3_progress_handler(db, 10000, out_of_time, s);
    if (sqlite3_create_function_v2(db, "rowsum", -1, flags, NULL, rowsum, NULL, NULL, NULL) !=
        SQLITE_OK)
        return failed(s, err);
    return exec(s,
                "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-8000;"
                "PRAGMA temp_store=MEMORY; PRAGMA locking_mode=EXCLUSIVE; PRAGMA foreign_keys=ON",
                err);
}

static enum status migrate(struct sdb *s, int64_t from, struct err *err)
{
    enum status rc = exec(s, "BEGIN IMMEDIATE", err);
    char sql[64];
    int64_t version = 0;

    for (; rc == ST_OK && store_migration[version]; version++)
        if (version >= from)
            rc = exec(s, store_migration[version], err);
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID,
             (int)version);
    if (rc == ST_OK)
        rc = exec(s, sql, err);
    if (rc == ST_OK)
        rc = exec(s, "COMMIT", err);
    if (rc != ST_OK)
        store_db_rollback(s);
    return rc;
}

/* All objects of a schema as one text. */
static enum status schema_text(struct sdb *s, struct buf *out, struct err *err)
{
    sqlite3_stmt *q = prepare(s,
                              "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
                              "ORDER BY type, name", err);
    int rc;

    if (!q)
        return ST_FORMAT;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW && out->len < 1 << 20)
        for (int i = 0; i < 4; i++) {
            const char *text = (const char *)sqlite3_column_text(q, i);
            buf_printf(out, "%s\n", text ? text : "");
        }
    enum status st = rc == SQLITE_DONE || rc == SQLITE_ROW ? ST_OK : failed(s, err);
    sqlite3_finalize(q);
    return st == ST_OK && out->failed ? err_nomem(err, out->cap, "the schema") : st;
}

/* The schema of the file must be the one that our migrations up to `version` produce. */
static enum status check_schema(struct sdb *s, int64_t version, struct err *err)
{
    struct sdb ours = { .path = s->path };
    struct buf want = { 0 }, have = { 0 };
    enum status rc = ST_OK;

    memcpy(ours.shown, s->shown, sizeof ours.shown);
    if (sqlite3_open_v2(":memory:", &ours.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK)
        rc = failed(&ours, err);
    for (int64_t v = 0; rc == ST_OK && v < version; v++)
        rc = exec(&ours, store_migration[v], err);
    if (rc == ST_OK)
        rc = schema_text(&ours, &want, err);
    if (rc == ST_OK)
        rc = schema_text(s, &have, err);
    if (rc == ST_OK && strcmp(buf_str(&want), buf_str(&have)) != 0)
{
        rc = err_named(err, ST_FORMAT, "session",
                       "%s is refused: its tables are not those of a session", s->shown);
        err_hint(err, "salvage %.100s NEW.gpd   (if it was a session, and is damaged)", s->shown);
    }
    sqlite3_close(ours.db);
    buf_free(&want);
    buf_free(&have);
    return rc;
}

static enum status quick_check(struct sdb *s, struct err *err)
{
    sqlite3_stmt *q = prepare(s, "PRAGMA quick_check(1)", err);
    enum status st = ST_OK;

    if (!q)
        return ST_FORMAT;
    const int rc = sqlite3_step(q);
    const char *word = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        st = failed(s, err);
    } else if ((!word || strcmp(word, "ok") != 0) && unread(s)) {
        st = not_read(s, err); /* it lists the page among the damaged ones */
    } else if (!word || strcmp(word, "ok") != 0) {
        char line[160];
        snprintf(line, sizeof line, "%s", word ? word : "no answer");
        for (char *p = line; *p; p++)
            if (*p == '\n')
                *p = ' ';
        st = damaged(s->shown, line, err);
    }
    sqlite3_finalize(q);
    return st;
}

static enum status check_contents(struct sdb *s, bool deep, bool *fresh, struct err *err)
{
    int64_t id, version, objects, known = 0;
    enum status rc = ask(s, "SELECT count(*) FROM sqlite_schema", &objects, err);

    while (store_migration[known])
        known++;
    if (rc == ST_OK)
        rc = ask(s, "PRAGMA application_id", &id, err);
    if (rc == ST_OK)
        rc = ask(s, "PRAGMA user_version", &version, err);
    if (rc != ST_OK)
        return rc;
    *fresh = objects == 0 && version == 0 && (id == 0 || id == APPLICATION_ID);
    if (*fresh)
        return ST_OK;
    if (id != APPLICATION_ID)
        return err_named(err, ST_FORMAT, "session",
                         "%s is an SQLite database, but no session of gpdesk", s->shown);
    if (version > known) {
        err_named(err, ST_UNSUPPORTED, "session",
                  "%s was written by a newer gpdesk (schema %lld, this one knows %lld)", s->shown,
                  (long long)version, (long long)known);
        err_hint(err, "open it with that version, or start a new session");
        return ST_UNSUPPORTED;
    }
    if (version < 1) {
        char why[40];
        snprintf(why, sizeof why, "schema number %lld", (long long)version);
        return damaged(s->shown, why, err);
    }
    rc = check_schema(s, version, err);
    if (rc == ST_OK && deep)
        rc = quick_check(s, err);
    return rc == ST_OK && deep && version < known ? migrate(s, version, err) : rc;
}

/* Opens the main file alone, for a list: without locks, journal, log or any writing. */
static enum status open_to_look(struct sdb *s, struct err *err)
{
    struct buf uri = { 0 };

    buf_puts(&uri, "file:");
    for (const char *p = s->path; *p; p++)
        if (strchr("?#%", *p))
            buf_printf(&uri, "%%%02X", (unsigned char)*p);
        else
            buf_putc(&uri, *p);
    buf_puts(&uri, "?immutable=1");
    const int rc = uri.failed ? SQLITE_NOMEM
                              : sqlite3_open_v2(buf_str(&uri), &s->db, SQLITE_OPEN_READONLY |
                                                SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW, NULL);
    buf_free(&uri);
    return rc == SQLITE_OK ? ST_OK : rc == SQLITE_NOMEM ? err_nomem(err, 0, "the session")
                                                        : failed(s, err);
}

static enum status open_db(struct sdb *s, enum sdb_mode mode, off_t size, bool *fresh,
                           struct err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
    enum status rc = ST_OK;

    if (mode == SDB_LOOK)
        rc = open_to_look(s, err);
    else if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
        rc = failed(s, err);
    if (rc != ST_OK)
        return rc;
    /* A log beside the file must not change it before the contents have been checked. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    /* quick_check reads the whole file: allow for a slow disk with 20 MB/s. */
    clock_gettime(CLOCK_MONOTONIC, &s->deadline);
    s->deadline.tv_sec += 15 + (mode == SDB_LOOK ? 0 : size / (20 << 20));
    s->timed = true;
    rc = settings(s, err);
    if (rc == ST_OK)
        rc = check_contents(s, mode != SDB_LOOK, fresh, err);
    if (rc == ST_OK && *fresh && mode == SDB_CREATE)
        rc = migrate(s, 0, err);
    s->timed = false;
    if (rc != ST_OK || mode == SDB_LOOK)
        return rc;
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    /* Some file systems do not support WAL; the rollback journal is then used. */
    (void)exec(s, "PRAGMA journal_mode=WAL", NULL);
    return exec(s, "PRAGMA synchronous=FULL", err);
}

/* Opens a copy of a session together with its journal: SQLite rolls the journal back, and all
 * checks run. */
static enum status try_copy(const char *path, const char *shown, struct err *err)
{
    struct sdb s = { .path = (char *)path };
    bool fresh;

    snprintf(s.shown, sizeof s.shown, "%s", shown);
    enum status rc = ST_OK;
    if (sqlite3_open_v2(path, &s.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) !=
        SQLITE_OK)
        rc = failed(&s, err);
    if (rc == ST_OK)
        rc = settings(&s, err);
    if (rc == ST_OK)
        rc = check_contents(&s, true, &fresh, err);
    sqlite3_close_v2(s.db);
    return rc;
}

/* Uses or refuses the files that a killed program left beside the session. */
static enum status recover(struct sdb *s, enum sdb_mode mode, const struct store_guard *beside,
                           struct err *err)
{
    if (mode == SDB_LOOK && store_guard_locked(s->path))
        return store_db_locked(s->shown, err);
    if (mode == SDB_LOOK && (beside->hot || beside->log)) {
        err_named(err, ST_STATE, "session", "%s was not closed; resume it to recover its last "
                  "commands", s->shown);
        return ST_STATE;
    }
    return beside->hot ? store_guard_recover(s->path, s->shown, try_copy, err) : ST_OK;
}

void store_db_unlink(const char *path)
{
    static const char *const tail[] = { "", "-journal", "-wal", "-shm" };
    char name[PATH_MAX + 16];

    for (size_t i = 0; i < sizeof tail / sizeof *tail; i++)
        if ((size_t)snprintf(name, sizeof name, "%s%s", path, tail[i]) < sizeof name)
            unlink(name);
}

/* Makes the file if there is none, and locks it for this program. What was checked before may have
 * changed while another program had the lock. */
static enum status lock_or_make(struct sdb *s, enum sdb_mode mode, off_t *size,
                                struct store_guard *beside, bool *made, struct err *err)
{
    enum status rc = ST_OK;

    if (*size < 0 && mode != SDB_CREATE)
        return err_named(err, ST_NOT_FOUND, "session", "there is no session %s", s->shown);
    if (*size < 0)
        rc = store_new_session(s->path, s->shown, &s->gate, made, err);
    if (rc != ST_OK || *made || mode == SDB_LOOK)
        return rc;
    rc = store_new_gate(s->path, s->shown, BUSY_MS, &s->gate, err);
    return rc == ST_OK ? check_file(s->path, s->shown, true, size, beside, err) : rc;
}

/* Recovery replaces the file by another one, which is to be locked as well. */
static enum status recover_locked(struct sdb *s, enum sdb_mode mode,
                                  const struct store_guard *beside, struct err *err)
{
    enum status rc = recover(s, mode, beside, err);

    if (rc != ST_OK || !beside->hot || s->gate < 0)
        return rc;
    close(s->gate);
    return store_new_gate(s->path, s->shown, BUSY_MS, &s->gate, err);
}

struct sdb *store_db_open(const char *path, enum sdb_mode mode, bool *fresh, struct err *err)
{
    struct sdb *s = mem_calloc(1, sizeof *s, "the session", err);
    struct store_guard beside = { 0 };
    off_t size = 0;
    bool made = false;

    *fresh = false;
    if (!s)
        return NULL;
    s->gate = -1;
    show_path(path, s->shown, sizeof s->shown);
    s->path = resolve(path, s->shown, err);
    enum status rc = s->path ? check_file(s->path, s->shown, mode != SDB_LOOK, &size, &beside, err)
                             : ST_IO;
    if (rc == ST_OK)
        rc = lock_or_make(s, mode, &size, &beside, &made, err);
    if (rc == ST_OK)
        rc = recover_locked(s, mode, &beside, err);
    if (rc == ST_OK)
        rc = open_db(s, mode, size, fresh, err);
    if (rc != ST_OK) {
        char *full = s->path;
        s->path = NULL;
        if (made) /* while the lock is held */
            store_db_unlink(full);
        store_db_close(s);
        free(full);
        return NULL;
    }
    *fresh |= made;
    return s;
}

/* Salvage. */

struct sdb *store_db_open_copy(const char *path, const char *shown, bool as_session, bool *schema,
                               struct err *err)
{
    struct sdb *s = mem_calloc(1, sizeof *s, "the session", err);
    int64_t version = 0, known = 0;
    struct stat st = { .st_size = 0 };
    struct err why = { 0 };

    if (!s)
        return NULL;
    s->gate = -1;
    snprintf(s->shown, sizeof s->shown, "%s", shown);
    s->path = mem_strdup(path, err);
    enum status rc = s->path ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
                                       NULL) != SQLITE_OK)
        rc = failed(s, err);
    (void)stat(path, &st);
    clock_gettime(CLOCK_MONOTONIC, &s->deadline); /* at least 1 MB/s */
    s->deadline.tv_sec += 120 + (st.st_size >> 20);
    s->timed = true;
    if (rc == ST_OK)
        rc = settings(s, err);
    while (store_migration[known])
        known++;
    if (rc == ST_OK && as_session)
        *schema = ask(s, "PRAGMA user_version", &version, &why) == ST_OK && version >= 1 &&
                  version <= known && check_schema(s, version, &why) == ST_OK;
    if (rc == ST_OK && !as_session) {
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
        rc = exec(s, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", err);
    }
    if (rc != ST_OK) {
        store_db_close(s);
        return NULL;
    }
    return s;
}

struct sqlite3 *store_db_handle(struct sdb *s)
{
    return s->db;
}

enum status store_db_empty(const char *const *sql, uint32_t size, bool whole, struct buf *out,
                           struct err *err)
{
    struct sdb s = { .shown = "a new session" };
    char text[80];
    sqlite3_int64 n = 0;
    int made = 0;
    enum status rc = ST_OK;

    if (sqlite3_open_v2(":memory:", &s.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK)
        rc = failed(&s, err);
    snprintf(text, sizeof text, "PRAGMA page_size=%u", (unsigned)size);
    if (rc == ST_OK)
        rc = exec(&s, text, err);
    for (; rc == ST_OK && sql[made]; made++)
        rc = exec(&s, sql[made], err);
    snprintf(text, sizeof text, "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID,
             made);
    if (rc == ST_OK)
        rc = exec(&s, text, err);
    unsigned char *all = rc == ST_OK ? sqlite3_serialize(s.db, "main", &n, 0) : NULL;
    if (all && n >= (sqlite3_int64)size)
        buf_putn(out, (const char *)all, whole ? (size_t)n : size);
    sqlite3_free(all);
    sqlite3_close(s.db);
    return rc == ST_OK && (out->len < size || out->failed) ? err_nomem(err, size, "a page") : rc;
}

enum status store_db_set_root(struct sdb *s, const char *table, uint32_t page, struct err *err)
{
    char sql[200];

    snprintf(sql, sizeof sql, "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage=%u "
             "WHERE name='%s'; PRAGMA writable_schema=RESET", (unsigned)page, table);
    return exec(s, sql, err);
}

void store_db_close(struct sdb *s)
{
    if (!s)
        return;
    s->timed = false;
    sqlite3_close_v2(s->db);
    if (s->gate >= 0)
        close(s->gate);
    free(s->path);
    free(s);
}

const char *store_db_path(const struct sdb *s)
{
    return s->path;
}

const char *store_db_shown(const struct sdb *s)
{
    return s->shown;
}

/* Writing. */

enum status store_db_begin(struct sdb *s, struct err *err)
{
    return exec(s, "BEGIN IMMEDIATE", err);
}

enum status store_db_commit(struct sdb *s, struct err *err)
{
    enum status rc = exec(s, "COMMIT", err);

    s->last = rc == ST_OK ? SQLITE_OK : s->last;
    return rc;
}

void store_db_rollback(struct sdb *s)
{
    const int last = s->last;

    if (!sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->last = last;
}

void store_db_checkpoint(struct sdb *s)
{
    (void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

enum status store_db_copy(struct sdb *s, const char *path, struct err *err)
{
    sqlite3_stmt *q = prepare(s, "VACUUM INTO ?1", err);

    if (!q)
        return ST_IO;
    sqlite3_bind_text(q, 1, path, -1, SQLITE_STATIC);
    enum status rc = run_once(s, q, err);
    /* The copy may be what a disk refuses to read, which SQLite calls damage of either. */
    if (rc != ST_OK && (sqlite3_extended_errcode(s->db) & 0xff) == SQLITE_CORRUPT) {
        err_clear(err);
        rc = quick_check(s, err);
        if (rc == ST_OK)
            rc = err_system(err, EIO, "session", "the copy of %s cannot be read: %s", s->shown,
                            strerror(EIO));
    }
    return rc;
}

/* Binds text, integers and doubles in order: 't', 'i', 'd' in `types`. */
static enum status put(struct sdb *s, struct err *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *q = prepare(s, sql, err);
    va_list ap;

    if (!q)
        return err && err->code ? err->code : ST_IO;
    va_start(ap, types);
    for (int i = 1; types[i - 1]; i++)
        switch (types[i - 1]) {
        case 't':
            sqlite3_bind_text(q, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
            break;
        case 'i':
            sqlite3_bind_int64(q, i, va_arg(ap, int64_t));
            break;
        default:
            sqlite3_bind_double(q, i, va_arg(ap, double));
        }
    va_end(ap);
    return run_once(s, q, err);
}

enum status store_db_put_meta(struct sdb *s, const char *key, const char *value, struct err *err)
{
    return put(s, err, "INSERT OR REPLACE INTO meta VALUES(?1, ?2, rowsum('meta', ?1, ?2))", "tt",
               key, value);
}

enum status store_db_put_state(struct sdb *s, const char *key, const char *body, struct err *err)
{
    return put(s, err, "INSERT OR REPLACE INTO state VALUES(?1, ?2, rowsum('state', ?1, ?2))", "tt",
               key, body);
}

enum status store_db_put_command(struct sdb *s, int64_t at, const char *line, const char *status,
                            double seconds, struct err *err)
{
    return put(s, err,
               "INSERT INTO command(at, line, status, seconds, sum) "
               "VALUES(?1, ?2, ?3, ?4, rowsum('command', ?1, ?2, ?3, ?4))", "ittd", at, line,
               status, seconds);
}

enum status store_db_put_script(struct sdb *s, int64_t id, const char *line, struct err *err)
{
    return put(s, err, "INSERT OR REPLACE INTO script VALUES(?1, ?2, rowsum('script', ?1, ?2))",
               "it", id, line);
}

enum status store_db_put_message(struct sdb *s, int64_t at, const char *type, const char *name,
                            const char *run, const char *body, struct err *err)
{
    return put(s, err,
               "INSERT INTO message(at, type, name, run, body, sum) "
               "VALUES(?1, ?2, ?3, ?4, ?5, rowsum('message', ?1, ?2, ?3, ?4, ?5))", "itttt", at,
               type, name, run, body);
}

enum status store_db_put_dataset(struct sdb *s, int64_t id, const char *body, struct err *err)
{
    return put(s, err, "INSERT OR REPLACE INTO dataset VALUES(?1, ?2, rowsum('dataset', ?1, ?2))",
               "it", id, body);
}

enum status store_db_put_run(struct sdb *s, int64_t id, const char *name, const char *body,
                        struct err *err)
{
    return put(s, err, "INSERT OR REPLACE INTO run VALUES(?1, ?2, ?3, rowsum('run', ?1, ?2, ?3))",
               "itt", id, name, body);
}

enum status store_db_put_snapshot(struct sdb *s, int64_t id, const char *body, struct err *err)
{
    return put(s, err, "INSERT OR REPLACE INTO snapshot VALUES(?1, ?2, rowsum('snapshot', ?1, ?2))",
               "it", id, body);
}

enum status store_db_put_past(struct sdb *s, int64_t line, const struct past *p, struct err *err)
{
    return put(s, err,
               "INSERT OR REPLACE INTO past VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
               "rowsum('past', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8))", "iiiiitid", line,
               (int64_t)p->kind, (int64_t)p->count, p->id, (int64_t)p->made, p->last, p->at,
               p->seconds);
}

enum status store_db_forget_run(struct sdb *s, const char *name, struct err *err)
{
    const enum status rc = put(s, err, "DELETE FROM blob WHERE owner = ?1", "t", name);

    return rc == ST_OK ? put(s, err, "DELETE FROM run WHERE name = ?1", "t", name) : rc;
}

enum status store_db_put_part(struct sdb *s, const char *owner, const char *what, int64_t part,
                         const void *data, size_t n, struct err *err)
{
    sqlite3_stmt *q = prepare(s,
                              "INSERT OR REPLACE INTO blob(owner, what, part, data, sum) "
                              "VALUES(?1, ?2, ?3, ?4, rowsum('blob', ?1, ?2, ?3, ?4))", err);

    if (!q)
        return err && err->code ? err->code : ST_IO;
    sqlite3_bind_text(q, 1, owner, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, what, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 3, part);
    sqlite3_bind_blob64(q, 4, n ? data : "", n, SQLITE_STATIC);
    return run_once(s, q, err);
}

enum status store_db_drop_blob(struct sdb *s, const char *owner, const char *what, struct err *err)
{
    return put(s, err, "DELETE FROM blob WHERE owner = ?1 AND what = ?2", "tt", owner, what);
}

/* Reading. */

/* The statement sql returns the columns id, name, body, good. */
/* A text of the row, NULL where there is none. One that there is no memory for is counted
 * (err_refused()), so that what seems to lack it is not taken for damaged. */
static const char *text_at(sqlite3_stmt *q, int i)
{
    const char *text = (const char *)sqlite3_column_text(q, i);

    if (!text && sqlite3_column_type(q, i) != SQLITE_NULL)
        (void)err_nomem(NULL, 0, "the session");
    return text;
}

/* True if there is a row. For queries without an error: no memory is counted here, too. */
static bool row_of(sqlite3_stmt *q)
{
    const int rc = sqlite3_step(q);

    if ((rc & 0xff) == SQLITE_NOMEM)
        (void)err_nomem(NULL, 0, "the session");
    return rc == SQLITE_ROW;
}

static enum status each(struct sdb *s, const char *sql, sdb_row_fn *fn, void *ctx, struct err *err)
{
    sqlite3_stmt *q = prepare(s, sql, err);
    int rc;

    if (!q)
        return ST_FORMAT;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        const char *name = text_at(q, 1), *body = text_at(q, 2);
        const bool good = name && body && sqlite3_column_int(q, 3) == 1 &&
                          strlen(body) == (size_t)sqlite3_column_bytes(q, 2);
        if (!fn(ctx, sqlite3_column_int64(q, 0), name ? name : "", body ? body : "", good)) {
            rc = SQLITE_DONE;
            break;
        }
    }
    enum status st = rc == SQLITE_DONE ? ST_OK : failed(s, err);
    sqlite3_finalize(q);
    return st;
}

enum status store_db_each_state(struct sdb *s, sdb_row_fn *fn, void *ctx, struct err *err)
{
    return each(s,
                "SELECT rowid, key, body, sum IS rowsum('state', key, body) FROM state "
                "NOT INDEXED ORDER BY rowid", fn, ctx, err);
}

enum status store_db_each_dataset(struct sdb *s, sdb_row_fn *fn, void *ctx, struct err *err)
{
    return each(s,
                "SELECT id, '', body, sum IS rowsum('dataset', id, body) FROM dataset "
                "NOT INDEXED ORDER BY id", fn, ctx, err);
}

enum status store_db_each_run(struct sdb *s, sdb_row_fn *fn, void *ctx, struct err *err)
{
    return each(s,
                "SELECT id, name, body, sum IS rowsum('run', id, name, body) FROM run "
                "NOT INDEXED ORDER BY id", fn, ctx, err);
}

enum status store_db_each_script(struct sdb *s, sdb_row_fn *fn, void *ctx, struct err *err)
{
    return each(s,
                "SELECT id, '', line, sum IS rowsum('script', id, line) FROM script "
                "NOT INDEXED ORDER BY id", fn, ctx, err);
}

char *store_db_snapshot(struct sdb *s, int64_t id, struct err *err)
{
    sqlite3_stmt *q = prepare(s,
                              "SELECT body FROM snapshot WHERE id = ?1 "
                              "AND sum IS rowsum('snapshot', id, body)", err);
    char *out = NULL;

    if (!q)
        return NULL;
    sqlite3_bind_int64(q, 1, id);
    const int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW && sqlite3_column_text(q, 0))
        out = mem_strdup((const char *)sqlite3_column_text(q, 0), err);
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        (void)failed(s, err);
    else
        err_named(err, ST_NOT_FOUND, "forgotten",
                  "the state of then is not in the session, or damaged");
    sqlite3_finalize(q);
    return out;
}

int64_t store_db_last_snapshot(struct sdb *s)
{
    int64_t last = 0;

    return ask(s, "SELECT coalesce(max(id), 0) FROM snapshot", &last, NULL) == ST_OK && last > 0
               ? last : 0;
}

enum status store_db_get_past(struct sdb *s, struct past *out, size_t n, size_t *bad,
                              struct err *err)
{
    sqlite3_stmt *q =
        prepare(s,
                "SELECT id, kind, count, state, made, last, at, seconds, "
                "sum IS rowsum('past', id, kind, count, state, made, last, at, seconds) "
                "FROM past NOT INDEXED ORDER BY id",
                err);
    int rc;

    if (!q)
        return ST_FORMAT;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0), kind = sqlite3_column_int64(q, 1),
                      count = sqlite3_column_int64(q, 2), state = sqlite3_column_int64(q, 3),
                      made = sqlite3_column_int64(q, 4);
        const char *last = text_at(q, 5);
        *bad += sqlite3_column_int(q, 8) != 1;
        if (sqlite3_column_int(q, 8) != 1 || id < 1 || (uint64_t)id > n || kind < PAST_STEPS ||
            kind > PAST_BRANCH || count < 0 || count > 1 << 24 || state < 0 || made < 0 ||
            made > 1 << 24 || !last || (kind == PAST_BRANCH && count >= id))
            continue;
        struct past *p = &out[id - 1];
        *p = (struct past){ .kind = (enum past_kind)kind, .count = (size_t)count, .id = state,
                            .made = (size_t)made, .at = sqlite3_column_int64(q, 6),
                            .seconds = sqlite3_column_double(q, 7) };
        snprintf(p->last, sizeof p->last, "%s", last);
    }
    const enum status st = rc == SQLITE_DONE ? ST_OK : failed(s, err);
    sqlite3_finalize(q);
    return st;
}

char *store_db_meta(struct sdb *s, const char *key)
{
    sqlite3_stmt *q = prepare(s,
                              "SELECT value FROM meta WHERE key = ?1 "
                              "AND sum IS rowsum('meta', key, value)", NULL);
    char *out = NULL;

    if (!q)
        return NULL;
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    const char *text = row_of(q) ? text_at(q, 0) : NULL;
    out = text ? mem_strdup(text, NULL) : NULL;
    sqlite3_finalize(q);
    return out;
}

size_t store_db_blob_size(struct sdb *s, const char *owner, const char *what)
{
    sqlite3_stmt *q = prepare(s,
                              "SELECT sum(length(data)) FROM blob WHERE owner = ?1 AND what = ?2",
                              NULL);
    int64_t n = 0;

    if (!q)
        return 0;
    sqlite3_bind_text(q, 1, owner, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, what, -1, SQLITE_STATIC);
    if (row_of(q))
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return n < 0 ? 0 : (size_t)n;
}

char *store_db_about(struct sdb *s, size_t *runs)
{
    sqlite3_stmt *q = prepare(s,
                              "SELECT (SELECT count(*) FROM run), (SELECT group_concat(name, ', ') "
                              "FROM (SELECT DISTINCT body ->> '$.name' AS name FROM dataset "
                              "WHERE json_valid(body) LIMIT 8))", NULL);
    char *names = NULL;

    *runs = 0;
    if (q && row_of(q)) {
        const int64_t n = sqlite3_column_int64(q, 0);
        const char *text = text_at(q, 1);
        *runs = n > 0 ? (size_t)n : 0;
        names = mem_strdup(text ? text : "", NULL);
    }
    sqlite3_finalize(q);
    return names;
}

static sqlite3_stmt *parts_of(struct sdb *s, const char *owner, const char *what, struct err *err)
{
    sqlite3_stmt *q = prepare(s,
                              "SELECT part, data, sum IS rowsum('blob', owner, what, part, data) "
                              "FROM blob WHERE owner = ?1 AND what = ?2 ORDER BY part", err);

    if (q) {
        sqlite3_bind_text(q, 1, owner, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 2, what, -1, SQLITE_STATIC);
    }
    return q;
}

/* The next part of a blob. Returns true while parts are undamaged and in order. */
static bool next_part(sqlite3_stmt *q, size_t expected, const void **data, size_t *n, bool *end)
{
    const int rc = sqlite3_step(q);

    *end = rc == SQLITE_DONE;
    if ((rc & 0xff) == SQLITE_NOMEM)
        (void)err_nomem(NULL, 0, "the session");
    if (rc != SQLITE_ROW || sqlite3_column_int64(q, 0) != (int64_t)expected ||
        sqlite3_column_int(q, 2) != 1 || sqlite3_column_type(q, 1) != SQLITE_BLOB)
        return false;
    *data = sqlite3_column_blob(q, 1);
    *n = (size_t)sqlite3_column_bytes(q, 1);
    return true;
}

enum status store_db_get_blob(struct sdb *s, const char *owner, const char *what, void *dst,
                              size_t n, struct err *err)
{
    sqlite3_stmt *q = parts_of(s, owner, what, err);
    const void *data = NULL;
    size_t at = 0, len = 0, part = 0;
    bool end = false;

    if (!q)
        return ST_FORMAT;
    while (next_part(q, part, &data, &len, &end)) {
        if (len > n - at)
            break;
        if (len)
            memcpy((char *)dst + at, data, len);
        at += len;
        part++;
    }
    sqlite3_finalize(q);
    if (end && at == n)
        return ST_OK;
    if (end && part == 0)
        return err_named(err, ST_NOT_FOUND, "session", "%s of %s is not in the session", what,
                         owner);
    return err_named(err, ST_FORMAT, "session", "%s of %s is damaged (part %zu)", what, owner,
                     part);
}

enum status store_db_get_parts(struct sdb *s, const char *owner, const char *what, void **out,
                               size_t *n, size_t *parts, bool *damaged, struct err *err)
{
    sqlite3_stmt *q = parts_of(s, owner, what, err);
    const void *data = NULL;
    size_t len = 0, cap = 0;
    bool end = false;
    enum status rc = ST_OK;

    *out = NULL;
    *n = *parts = 0;
    if (!q)
        return ST_FORMAT;
    while (rc == ST_OK && next_part(q, *parts, &data, &len, &end)) {
        rc = mem_grow(out, &cap, *n + len + 1, 1, "a trace", err);
        if (rc != ST_OK)
            break;
        if (len)
            memcpy((char *)*out + *n, data, len);
        *n += len;
        ++*parts;
    }
    sqlite3_finalize(q);
    *damaged = !end;
    if (rc != ST_OK) {
        free(*out);
        *out = NULL;
    }
    return rc;
}
