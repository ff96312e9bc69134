/* data/formats/import_sqlite.c -- one table of an SQLite database, read as text by the CSV reader,
 * which knows types, dates and missing cells.
 *
 * A database is data from a stranger. SQLite gets its bytes, not its name: it opens no file, so no
 * journal or log beside it is applied, and nothing is written. Only tables are read: views,
 * triggers and virtual tables, which run what the file says, are not, and generated columns may
 * call harmless functions only. */
#include "data/formats/format.h"
#include "data/formats/import_csv.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 100, WRITE_VERSION = 18, READ_VERSION = 19, APPLICATION_AT = 68, NAMED = 12 };
enum { STEPS = 10000 };                     /* between two looks at ctl */
static const char session_id[4] = { 'g', 'p', 'D', 'e' }; /* a session of gpdesk is no table */

static bool sniff(const struct inbuf *in)
{
    const char *b = in->b + in->pos;

    return in->len - in->pos >= HEADER && memcmp(b, "SQLite format 3", 16) == 0 &&
           memcmp(b + APPLICATION_AT, session_id, sizeof session_id) != 0;
}

static size_t budget_of(const struct import_opts *o)
{
    return o->mem_limit > 0 ? o->mem_limit : mem_physical();
}

static enum status too_big(const struct inbuf *in, const struct import_opts *o, struct err *err)
{
    char have[32];

    mem_format(have, sizeof have, (double)budget_of(o));
    err_named(err, ST_NOMEM, "memory", "%s is larger than the limit of memory, %s",
              stream_name(in->st), have);
    err_hint(err, "a smaller file, or start with --mem");
    return ST_NOMEM;
}

/* Reads the rest of the file; the bytes belong to SQLite afterwards. */
static enum status all_bytes(struct inbuf *in, const struct import_opts *o, unsigned char **out,
                             size_t *len, struct err *err)
{
    size_t cap = in->len - in->pos + (1 << 16), got = 1;
    unsigned char *b = sqlite3_malloc64(cap);

    *out = NULL;
    if (b == NULL)
        return err_nomem(err, cap, "a database");
    *len = in->len - in->pos;
    memcpy(b, in->b + in->pos, *len);
    in->pos = in->len;
    enum status rc = ST_OK;
    while (rc == ST_OK && got > 0) {
        if (*len == cap) {
            unsigned char *grown = cap < budget_of(o) ? sqlite3_realloc64(b, cap *= 2) : NULL;
            rc = grown != NULL ? ST_OK : too_big(in, o, err);
            b = grown != NULL ? grown : b;
        }
        if (rc == ST_OK)
            rc = stream_read(in->st, b + *len, cap - *len, &got, err);
        *len += rc == ST_OK ? got : 0;
    }
    if (rc != ST_OK) {
        sqlite3_free(b);
        return rc;
    }
    /* A database with a log is read as one without: the log is not here. */
    b[WRITE_VERSION] = b[READ_VERSION] = 1;
    *out = b;
    return ST_OK;
}

static int stop(void *ctl)
{
    return ctl_stopped(ctl);
}

static enum status failed(sqlite3 *db, const struct inbuf *in, struct err *err)
{
    const int code = sqlite3_errcode(db);
    struct buf words = { 0 };

    if (code == SQLITE_INTERRUPT)
        return err_set(err, ST_CANCELLED, "reading %s was stopped", stream_name(in->st));
    if (code == SQLITE_NOMEM)
        return err_nomem(err, 0, "a database");
    text_safe(&words, sqlite3_errmsg(db), 200);
    err_named(err, ST_FORMAT, "sqlite", "%s cannot be read by SQLite: %s", stream_name(in->st),
              buf_str(&words));
    err_hint(err, "look at it with sqlite3 FILE 'PRAGMA integrity_check'");
    buf_free(&words);
    return ST_FORMAT;
}

static enum status open_bytes(struct inbuf *in, unsigned char *bytes, size_t len,
                              const struct ctl *ctl, sqlite3 **db, struct err *err)
{
    if (sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) !=
        SQLITE_OK) {
        sqlite3_free(bytes);
        return *db != NULL ? failed(*db, in, err) : err_nomem(err, 0, "a database");
    }
    sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, (int)IMPORT_MAX_LINE);
    sqlite3_limit(*db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(*db, STEPS, stop, (void *)(uintptr_t)ctl);
    if (sqlite3_deserialize(*db, "main", bytes, (sqlite3_int64)len, (sqlite3_int64)len,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
            SQLITE_OK ||
        sqlite3_exec(*db, "PRAGMA cell_size_check=ON; PRAGMA query_only=ON", NULL, NULL, NULL) !=
            SQLITE_OK)
        return failed(*db, in, err);
    return ST_OK;
}

/* Finds the table that is meant: the named one, or the only one. Virtual tables have no root
 * page. */
static enum status find_table(sqlite3 *db, const struct inbuf *in, const char *wanted,
                              struct buf *name, size_t *n, struct err *err)
{
    static const char sql[] = "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage>0 "
                              "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    sqlite3_stmt *q = NULL;
    struct buf list = { 0 };
    bool found = false;
    int code = sqlite3_prepare_v2(db, sql, -1, &q, NULL);

    *n = 0;
    while (code == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        const char *s = (const char *)sqlite3_column_text(q, 0);
        if (s == NULL)
            continue;
        if (wanted != NULL ? strcmp(s, wanted) == 0 : *n == 0) {
            buf_clear(name);
            buf_puts(name, s);
            found = true;
        }
        if (++*n <= NAMED) {
            buf_puts(&list, *n > 1 ? ", " : "");
            text_safe(&list, s, 40);
        }
    }
    if (q == NULL || sqlite3_finalize(q) != SQLITE_OK) {
        buf_free(&list);
        return failed(db, in, err);
    }
    enum status rc = ST_OK;
    if (*n == 0) {
        rc = err_named(err, ST_FORMAT, "sqlite", "%s has no tables", stream_name(in->st));
        err_hint(err, "a database with a table");
    } else if (!found || (wanted == NULL && *n > 1)) {
        rc = err_named(err, ST_USAGE, "sqlite", "%s has the tables %s%s", stream_name(in->st),
                       buf_str(&list), *n > NAMED ? ", .." : "");
        err_hint(err, "open FILE table=NAME");
    }
    buf_free(&list);
    return rc;
}

/* All texts are quoted, so that no line is blank or a comment. */
static void write_text(struct buf *out, const char *s, size_t len)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"')
            buf_putc(out, '"');
        buf_putc(out, s[i]);
    }
    buf_putc(out, '"');
}

static enum status write_cell(sqlite3_stmt *q, int col, const struct inbuf *in, size_t row,
                              struct buf *out, struct err *err)
{
    char name[64];

    switch (sqlite3_column_type(q, col)) {
    case SQLITE_NULL: buf_puts(out, "\"\""); break;
    case SQLITE_INTEGER: buf_printf(out, "%" PRId64, (int64_t)sqlite3_column_int64(q, col)); break;
    case SQLITE_FLOAT: buf_printf(out, "%.17g", sqlite3_column_double(q, col)); break;
    case SQLITE_TEXT: {
        const char *s = (const char *)sqlite3_column_text(q, col);
        if (s == NULL)
            return err_nomem(err, 0, "a cell");
        write_text(out, s, (size_t)sqlite3_column_bytes(q, col));
        break;
    }
    default:
        err_named(err, ST_FORMAT, "sqlite", "%s row %zu, column %s holds bytes, not a number or "
                  "text", stream_name(in->st), row,
                  text_quoted(sqlite3_column_name(q, col), name, sizeof name));
        err_hint(err, "make a table without this column");
        return ST_FORMAT;
    }
    return ST_OK;
}

static enum status write_rows(sqlite3 *db, const struct inbuf *in, const char *table,
                              const struct import_opts *o, struct buf *out, struct err *err)
{
    char *sql = sqlite3_mprintf("SELECT * FROM main.\"%w\"", table);
    sqlite3_stmt *q = NULL;
    int code = sql != NULL ? sqlite3_prepare_v2(db, sql, -1, &q, NULL) : SQLITE_NOMEM;
    enum status rc = code == SQLITE_OK ? ST_OK : failed(db, in, err);

    sqlite3_free(sql);
    const int cols = q != NULL ? sqlite3_column_count(q) : 0;
    for (int j = 0; rc == ST_OK && j < cols; j++) {
        const char *name = sqlite3_column_name(q, j);
        buf_puts(out, j > 0 ? "," : "");
        write_text(out, name != NULL ? name : "", name != NULL ? strlen(name) : 0);
    }
    buf_putc(out, '\n');
    for (size_t row = 1; rc == ST_OK && (code = sqlite3_step(q)) == SQLITE_ROW; row++) {
        for (int j = 0; rc == ST_OK && j < cols; j++) {
            buf_puts(out, j > 0 ? "," : "");
            rc = write_cell(q, j, in, row, out, err);
        }
        buf_putc(out, '\n');
        if (rc == ST_OK && out->failed)
            rc = err_nomem(err, out->len, "a table of a database");
        if (rc == ST_OK && out->len > budget_of(o))
            rc = too_big(in, o, err);
    }
    if (rc == ST_OK && code != SQLITE_DONE)
        rc = failed(db, in, err);
    sqlite3_finalize(q);
    return rc;
}

static enum status read_sqlite(struct inbuf *in, const struct import_opts *o,
                               const struct ctl *ctl, struct table *t, struct err *err)
{
    unsigned char *bytes = NULL;
    size_t len = 0, tables = 0;
    sqlite3 *db = NULL;
    struct buf name = { 0 }, csv = { 0 }, what = { 0 };
    enum status rc = all_bytes(in, o, &bytes, &len, err);

    if (rc == ST_OK)
        rc = open_bytes(in, bytes, len, ctl, &db, err);
    if (rc == ST_OK)
        rc = find_table(db, in, o->table, &name, &tables, err);
    if (rc == ST_OK)
        rc = write_rows(db, in, buf_str(&name), o, &csv, err);
    sqlite3_close_v2(db);
    if (rc == ST_OK) {
        buf_puts(&what, "SQLite, table ");
        text_safe(&what, buf_str(&name), 60);
        if (tables > 1)
            buf_printf(&what, " of %zu", tables);
        rc = import_csv_text(in, &csv, buf_str(&what), o, ctl, t, err);
    }
    buf_free(&name);
    buf_free(&csv);
    buf_free(&what);
    return rc;
}

static const struct import_option options[] = {
    { .name = "table", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA | IMPORT_PARSES, .place = 7,
      .field = offsetof(struct import_opts, table),
      .help = "SQLite: the table to read (default: the only one)" },
    { .name = NULL },
};

const struct format import_sqlite_format = {
    .name = "SQLite", .sniff = sniff, .read = read_sqlite, .text = true, .options = options };
