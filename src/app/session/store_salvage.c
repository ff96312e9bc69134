/* app/session/store_salvage.c -- copies what is whole in a damaged session into a new one, and
 * names what is lost.
 *
 * The damaged file is only read: everything happens in a copy, and nothing in it is executed. Every
 * row carries a checksum over its table's name and its values (store_db.c, rowsum), so a row is
 * either whole or left out.
 *   1. The tables are read as usual, as far as SQLite gets. If page 1 (the schema) is damaged, the
 *      page 1 of a new session takes its place first: a session's tables begin at fixed pages.
 *   2. For each table with damage, every leaf page of the file is read as if it were the whole
 *      table: page 1 of the copy is replaced by one that has the tables without indexes, and the
 *      table's root page is set to the leaf. SQLite decodes the rows, and the checksum says whose
 *      they are. So a damaged page costs that page and no other, also if it is an inner page.
 *      Unused pages (the freelist) may hold old rows and are skipped.
 *   3. What an index or a gap in the numbers says was there, and is not in the new session, is
 *      named.
 * Format: https://www.sqlite.org/fileformat2.html, sections 1.3, 1.5 and 1.6. */
#include "app/session/store_load.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_SIZE_AT = 16, CHANGES_AT = 24, FREE_AT = 32, VALID_FOR_AT = 92, /* in the header */
    LEAF = 0x0d,          /* first byte of a leaf page of a table */
    NAMED_MOST = 40,      /* losses that are named one by one */
    NEW_PAGE = 4096,      /* the page size of a session that gpdesk makes */
    FIRST_PAGES = 32,     /* more than a new session has tables and indexes */
};

/* The tables, with the columns before the checksum; the columns as declared, without an index; what
 * their rows are where they are numbered by `id` without gaps. A column declared REAL is stored in
 * another way and has to be declared so. The checksum of some is over the columns after `id`. */
static const struct { const char *name, *columns, *declared, *rows; bool unsummed_id; } tables[] = {
    { "meta", "key, value", "key, value", NULL, false },
    { "command", "id, at, line, status, seconds",
      "id INTEGER PRIMARY KEY, at, line, status, seconds REAL", "commands with their outcomes",
      true },
    { "script", "id, line", "id INTEGER PRIMARY KEY, line", "lines of the script", false },
    { "message", "id, at, type, name, run, body",
      "id INTEGER PRIMARY KEY, at, type, name, run, body", "messages", true },
    { "state", "key, body", "key, body", NULL, false },
    { "dataset", "id, body", "id INTEGER PRIMARY KEY, body", "descriptions of datasets", false },
    { "run", "id, name, body", "id INTEGER PRIMARY KEY, name, body", NULL, false },
    { "blob", "id, owner, what, part, data",
      "id INTEGER PRIMARY KEY, owner, what, part, data", NULL, true },
    { "snapshot", "id, body", "id INTEGER PRIMARY KEY, body", "earlier states", false },
    { "past", "id, kind, count, state, made, last, at, seconds",
      "id INTEGER PRIMARY KEY, kind, count, state, made, last, at, seconds REAL",
      "notes about lines of the script", false },
};
enum { TABLES = sizeof tables / sizeof *tables, STATE = 4 /* its row */ };

/* Something that an index of the file says is there. */
struct named { char table; char owner[120], what[24]; int64_t part; };

struct salvage {
    char *copy, *part;        /* the copy of the file; the new session before it has its name */
    const char *shown;
    uint32_t page, pages;
    bool *unused;             /* by page: on the freelist */
    struct sdb *from, *to;
    bool damaged[TABLES];
    struct named *named; size_t nnamed, capnamed;
    struct store_salvaged *told;
};

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The copy. */

static enum status copy_one(const char *from, const char *tail, const char *to,
                            const char *shown, struct err *err)
{
    struct buf in = { 0 }, out = { 0 };
    struct stat st;

    buf_printf(&in, "%s%s", from, tail);
    buf_printf(&out, "%s%s", to, tail);
    enum status rc = in.failed || out.failed ? err_nomem(err, 0, "a path") : ST_OK;
    if (rc == ST_OK && (!*tail || lstat(buf_str(&in), &st) == 0))
        rc = store_guard_copy(buf_str(&in), buf_str(&out), shown, err);
    buf_free(&in);
    buf_free(&out);
    return rc;
}

/* The file, with the log or journal that its last program left beside it. */
static enum status make_copy(struct salvage *s, const char *path, struct err *err)
{
    struct store_guard beside;
    struct stat st;

    if (lstat(path, &st) != 0)
        return err_named(err, errno == ENOENT ? ST_NOT_FOUND : ST_IO, "session", "%s: %s", s->shown,
                         strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_named(err, ST_IO, "session", "%s is not a regular file", s->shown);
    if (store_guard_locked(path))
        return store_db_locked(s->shown, err);
    enum status rc = store_guard_check(path, s->shown, st.st_size, &beside, err);
    if (rc == ST_OK)
        rc = copy_one(path, "", s->copy, s->shown, err);
    if (rc == ST_OK && beside.log)
        rc = copy_one(path, "-wal", s->copy, s->shown, err);
    if (rc == ST_OK && beside.hot)
        rc = copy_one(path, "-journal", s->copy, s->shown, err);
    return rc;
}

static bool read_page(int fd, uint32_t page, uint32_t size, unsigned char *to)
{
    return pread(fd, to, size, (off_t)(page - 1) * size) == (ssize_t)size;
}

/* The page size of the copy and, if page 1 is whole, which pages are unused. */
static enum status look_at_pages(struct salvage *s, bool whole, struct err *err)
{
    const int fd = open(s->copy, O_RDONLY | O_CLOEXEC);
    unsigned char head[SDB_HEADER] = { 0 }, *page = NULL;
    struct stat st = { .st_size = 0 };

    if (fd < 0 || fstat(fd, &st) != 0 || pread(fd, head, sizeof head, 0) < 0) {
        if (fd >= 0)
            close(fd);
        return err_system(err, errno, "session", "%s: %s", s->shown, strerror(errno));
    }
    const uint32_t size = (uint32_t)head[PAGE_SIZE_AT] << 8 | head[PAGE_SIZE_AT + 1];
    const bool good = size == 1 || (size >= 512 && (size & (size - 1)) == 0);
    s->page = !whole || !good ? NEW_PAGE : size == 1 ? 65536 : size;
    s->pages = (uint32_t)(st.st_size / s->page);
    s->unused = mem_calloc((size_t)s->pages + 2, sizeof *s->unused, "a list of pages", err);
    page = mem_calloc(s->page, 1, "a page", err);
    uint32_t trunk = whole ? big_endian(head + FREE_AT) : 0;
    for (uint32_t seen = 0; s->unused && page && trunk > 1 && trunk <= s->pages &&
         seen < s->pages && read_page(fd, trunk, s->page, page); seen++) {
        const uint32_t n = big_endian(page + 4);
        s->unused[trunk] = true;
        for (uint32_t i = 0; i < n && i < s->page / 4 - 2; i++)
            if (big_endian(page + 8 + 4 * i) <= s->pages)
                s->unused[big_endian(page + 8 + 4 * i)] = true;
        trunk = big_endian(page);
    }
    const bool made = s->unused && page;
    free(page);
    close(fd);
    return made ? ST_OK : ST_NOMEM;
}

/* Replaces page 1 of the copy by the first page of an empty database with the schema `sql`. */
static enum status replace_first(struct salvage *s, const char *const *sql, struct err *err)
{
    struct buf first = { 0 };
    enum status rc = store_db_empty(sql, s->page, false, &first, err);
    const int fd = rc == ST_OK ? open(s->copy, O_WRONLY | O_CLOEXEC) : -1;

    if (rc == ST_OK) {
        /* The number of pages in the header is not to be believed: it counts for another state. */
        memset(first.s + CHANGES_AT, 0, 4);
        memset(first.s + VALID_FOR_AT, 0xff, 4);
        /* Of a file that was cut off, the pages at which tables begin are empty. */
        const off_t least = (off_t)FIRST_PAGES * s->page;
        if (fd < 0 || pwrite(fd, first.s, first.len, 0) != (ssize_t)first.len ||
            (s->pages < FIRST_PAGES && ftruncate(fd, least) != 0))
            rc = err_system(err, errno, "session", "%s: %s", s->copy, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    buf_free(&first);
    return rc;
}

/* Rows. */

/* Copies the rows of table t that the copy shows now; false: SQLite found damage, or a row did. */
static bool take_rows(struct salvage *s, size_t t, bool count)
{
    struct buf select = { 0 }, insert = { 0 };
    int columns = 2;
    bool whole = true;

    const char *summed = tables[t].columns + (tables[t].unsummed_id ? strlen("id, ") : 0);
    for (const char *p = tables[t].columns; *p; p++)
        columns += *p == ',';
    buf_printf(&select, "SELECT %s, sum, sum IS rowsum('%s', %s) FROM %s NOT INDEXED",
               tables[t].columns, tables[t].name, summed, tables[t].name);
    buf_printf(&insert, "INSERT OR IGNORE INTO %s(%s, sum) VALUES(", tables[t].name,
               tables[t].columns);
    for (int i = 0; i < columns; i++)
        buf_puts(&insert, i ? ", ?" : "?");
    buf_puts(&insert, ")");
    sqlite3 *from = store_db_handle(s->from), *to = store_db_handle(s->to);
    sqlite3_stmt *q = NULL, *put = NULL;
    int rc = sqlite3_prepare_v2(from, buf_str(&select), -1, &q, NULL);
    if (sqlite3_prepare_v2(to, buf_str(&insert), -1, &put, NULL) != SQLITE_OK)
        s->told->failed = true;
    while (put && rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (sqlite3_column_int(q, columns) != 1) {
            whole = false;
            continue;
        }
        for (int i = 0; i < columns; i++)
            sqlite3_bind_value(put, i + 1, sqlite3_column_value(q, i));
        const int done = sqlite3_step(put);
        s->told->failed |= done != SQLITE_DONE;
        s->told->rows += count && done == SQLITE_DONE ? (size_t)sqlite3_changes(to) : 0;
        sqlite3_reset(put);
        sqlite3_clear_bindings(put);
    }
    sqlite3_finalize(q);
    sqlite3_finalize(put);
    buf_free(&select);
    buf_free(&insert);
    return whole && rc == SQLITE_DONE;
}

/* What the indexes know: the names of runs and the parts of arrays. */
static void take_names(struct salvage *s)
{
    static const char *const sql[] = {
        "SELECT 'r', name, '', 0 FROM run INDEXED BY sqlite_autoindex_run_1",
        "SELECT 'b', owner, what, part FROM blob INDEXED BY sqlite_autoindex_blob_1",
    };

    for (size_t k = 0; k < sizeof sql / sizeof *sql; k++) {
        sqlite3_stmt *q = NULL;
        if (sqlite3_prepare_v2(store_db_handle(s->from), sql[k], -1, &q, NULL) != SQLITE_OK)
            continue;
        while (sqlite3_step(q) == SQLITE_ROW) {
            const char *owner = (const char *)sqlite3_column_text(q, 1);
            const char *what = (const char *)sqlite3_column_text(q, 2);
            if (!owner || !what ||
                mem_grow((void **)&s->named, &s->capnamed, s->nnamed + 1, sizeof *s->named,
                         "a list of names", NULL) != ST_OK)
                break;
            struct named *n = &s->named[s->nnamed++];
            n->table = k ? 'b' : 'r';
            n->part = sqlite3_column_int64(q, 3);
            snprintf(n->owner, sizeof n->owner, "%s", owner);
            snprintf(n->what, sizeof n->what, "%s", what);
        }
        sqlite3_finalize(q);
    }
}

/* The tables as usual, as far as they can be read. */
static enum status read_tables(struct salvage *s, struct err *err)
{
    bool schema = false;
    struct err why = { 0 };

    s->from = store_db_open_copy(s->copy, s->shown, true, &schema, &why);
    if (s->from && schema)
        store_db_checkpoint(s->from);
    enum status rc = look_at_pages(s, s->from && schema, err);
    if (rc == ST_OK && !(s->from && schema)) {
        struct buf wal = { 0 };
        store_db_close(s->from);
        s->from = NULL;
        buf_printf(&wal, "%s-wal", s->copy);
        unlink(buf_str(&wal));
        buf_free(&wal);
        rc = replace_first(s, store_migration, err);
        if (rc == ST_OK && !(s->from = store_db_open_copy(s->copy, s->shown, true, &schema, err)))
            rc = err->code ? err->code : ST_FORMAT;
    }
    if (rc != ST_OK)
        return rc;
    take_names(s);
    for (size_t t = 0; t < TABLES; t++)
        s->damaged[t] = !take_rows(s, t, true);
    store_db_close(s->from);
    s->from = NULL;
    return ST_OK;
}

/* Every leaf page as if it were the whole of table t. */
static enum status read_leaves(struct salvage *s, struct err *err)
{
    struct buf create[TABLES] = { { 0 } };
    const char *sql[TABLES + 1] = { NULL };
    bool schema;

    for (size_t t = 0; t < TABLES; t++) {
        buf_printf(&create[t], "CREATE TABLE %s(%s, sum)", tables[t].name, tables[t].declared);
        sql[t] = buf_str(&create[t]);
    }
    enum status rc = replace_first(s, sql, err);
    if (rc == ST_OK && !(s->from = store_db_open_copy(s->copy, s->shown, false, &schema, err)))
        rc = err->code ? err->code : ST_FORMAT;
    const int fd = rc == ST_OK ? open(s->copy, O_RDONLY | O_CLOEXEC) : -1;
    for (uint32_t page = 2; rc == ST_OK && page <= s->pages; page++) {
        unsigned char type = 0;
        if (s->unused[page] || pread(fd, &type, 1, (off_t)(page - 1) * s->page) != 1 ||
            type != LEAF)
            continue;
        for (size_t t = 0; t < TABLES && rc == ST_OK; t++) {
            if (!s->damaged[t])
                continue;
            rc = store_db_set_root(s->from, tables[t].name, page, err);
            if (rc == ST_OK)
                (void)take_rows(s, t, true);
        }
    }
    if (fd >= 0)
        close(fd);
    for (size_t t = 0; t < TABLES; t++)
        buf_free(&create[t]);
    return rc;
}

/* What is lost. */

static void name_loss(struct salvage *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void name_loss(struct salvage *s, const char *fmt, ...)
{
    struct store_salvaged *o = s->told;
    char line[200];
    va_list ap;

    if (o->nlost++ >= NAMED_MOST)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_printf(&o->lost, "%s\n", line);
}

static int64_t ask(struct salvage *s, const char *sql, const struct named *n)
{
    sqlite3_stmt *q = NULL;
    int64_t out = -1;

    if (sqlite3_prepare_v2(store_db_handle(s->to), sql, -1, &q, NULL) != SQLITE_OK)
        return -1;
    if (n) {
        sqlite3_bind_text(q, 1, n->owner, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 2, n->what, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 3, n->part);
    }
    if (sqlite3_step(q) == SQLITE_ROW)
        out = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return out;
}

/* An array in words. */
static void name_array(struct salvage *s, const struct named *n)
{
    static const struct { const char *what, *words; } words[] = {
        { "w", "the weights of %s: fit it again" },
        { STORE_STATE, "the solver's state of %s (fit continue= starts at its weights)" },
        { "X", "the training inputs of %s: fit it again" },
        { "encoding", "the encoding of %s: fit it again" },
        { STORE_FACTOR, "the variance factor of %s (it is computed again from the data)" },
        { STORE_FACTOR_SINGLE, "the variance factor of %s (it is computed again from the data)" },
        { "trace", "part of the trace of %s" },
        { "cg", "the solver coefficients of %s" },
        { "tuning", "the evaluations of %s" },
        { "part", "the split of dataset version %s" },
        { "fold", "the folds of dataset version %s" },
    };
    struct buf safe = { 0 };

    text_safe(&safe, n->owner, 40);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(n->what, words[i].what) == 0) {
            char line[160];
            const char *at = strstr(words[i].words, "%s");
            snprintf(line, sizeof line, "%.*s%s%s", (int)(at - words[i].words), words[i].words,
                     buf_str(&safe), at + 2);
            name_loss(s, "%s", line);
            buf_free(&safe);
            return;
        }
    buf_clear(&safe);
    text_safe(&safe, strcmp(n->owner, "file") ? n->owner : n->what, 60);
    name_loss(s, strcmp(n->owner, "file") ? "an array of %s" : "the copy of the data file %s",
              buf_str(&safe));
    buf_free(&safe);
}

static void name_losses(struct salvage *s)
{
    char sql[160];

    for (size_t i = 0; i < s->nnamed; i++) {
        const struct named *n = &s->named[i], *last = i ? &s->named[i - 1] : NULL;
        if (n->table == 'r') {
            if (!store_read_run_number(n->owner) ||
                ask(s, "SELECT 1 FROM run WHERE name = ?1", n) == 1)
                continue;
            name_loss(s, "%s %s, with its settings and scores", *n->owner == 'r' ? "fit" : "tuning",
                      n->owner);
            continue;
        }
        if (ask(s, "SELECT 1 FROM blob WHERE owner = ?1 AND what = ?2 AND part = ?3", n) == 1)
            continue;
        /* One array, one loss: the index lists its parts one after another. */
        const bool again = last && last->table == 'b' && !strcmp(last->owner, n->owner) &&
                           !strcmp(last->what, n->what) &&
                           ask(s, "SELECT 1 FROM blob WHERE owner = ?1 AND what = ?2 AND part = ?3",
                               last) != 1;
        if (!again)
            name_array(s, n);
    }
    for (size_t t = 0; t < TABLES; t++) {
        if (!s->damaged[t] || !tables[t].rows)
            continue;
        snprintf(sql, sizeof sql, "SELECT coalesce(max(id), 0) - count(*) FROM %s WHERE id > 0",
                 tables[t].name);
        const int64_t gaps = ask(s, sql, NULL);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[t].name);
        if (ask(s, sql, NULL) < 1)
            name_loss(s, "%s: all of them", tables[t].rows);
        else if (gaps > 0)
            name_loss(s, "%s: %lld", tables[t].rows, (long long)gaps);
        else
            name_loss(s, "%s: perhaps the last ones", tables[t].rows);
    }
    if (s->damaged[STATE] && ask(s, "SELECT count(*) FROM state", NULL) < 1)
        name_loss(s, "what was current: dataset, kernel, hyperparameters, options");
}

/* The whole of it. */

static enum status write_new(struct salvage *s, struct err *err)
{
    bool fresh;

    s->to = store_db_open(s->part, SDB_CREATE, &fresh, err);
    enum status rc = s->to ? store_db_begin(s->to, err) : err->code;
    if (rc == ST_OK)
        rc = read_tables(s, err);
    bool any = false;
    for (size_t t = 0; t < TABLES; t++)
        any |= s->damaged[t];
    if (rc == ST_OK && any)
        rc = read_leaves(s, err);
    if (rc == ST_OK && s->told->failed)
        rc = err_named(err, ST_IO, "session", "the new session could not be written");
    if (rc == ST_OK && s->told->rows == 0)
        rc = err_named(err, ST_FORMAT, "session", "nothing in %s is whole, or it never was a "
                       "session", s->shown);
    if (rc == ST_OK) {
        name_losses(s);
        s->told->runs = (size_t)ask(s, "SELECT count(*) FROM run", NULL);
        s->told->datasets = (size_t)ask(s, "SELECT count(*) FROM dataset", NULL);
        s->told->lines = (size_t)ask(s, "SELECT count(*) FROM script", NULL);
        rc = store_db_commit(s->to, err);
    }
    store_db_close(s->from);
    store_db_close(s->to);
    return rc;
}

enum status store_salvage(const struct store *current, const char *path, const char *to,
                          struct store_salvaged *out, struct err *err)
{
    struct salvage s = { .told = out };
    struct buf shown = { 0 }, copy = { 0 }, part = { 0 };
    struct store_guard beside;
    struct stat st;

    if (lstat(to, &st) == 0) {
        err_named(err, ST_IO, "exists", "%.200s exists; a session is not written over", to);
        err_hint(err, "name another file, or remove it first");
        return ST_IO;
    }
    struct stat own;
    if (current && stat(path, &st) == 0 && stat(store_path(current), &own) == 0 &&
        st.st_dev == own.st_dev && st.st_ino == own.st_ino) {
        err_named(err, ST_STATE, "session", "%.200s is the session that is open", path);
        err_hint(err, "gpdesk -e 'salvage %.80s %.80s'   (in a shell, after quit)", path, to);
        return ST_STATE; /* closing another descriptor of it would release its lock */
    }
    text_safe(&shown, path, 150);
    buf_printf(&copy, "%s.copy-%ld", to, (long)getpid());
    buf_printf(&part, "%s.part-%ld", to, (long)getpid());
    s.copy = copy.s;
    s.part = part.s;
    s.shown = buf_str(&shown);
    enum status rc = shown.failed || copy.failed || part.failed ? err_nomem(err, 0, "a path")
                                                                : ST_OK;
    if (rc == ST_OK)
        rc = store_guard_check(to, to, -1, &beside, err);
    if (rc == ST_OK)
        rc = make_copy(&s, path, err);
    if (rc == ST_OK)
        rc = write_new(&s, err);
    if (rc == ST_OK && link(s.part, to) != 0)
        rc = err_system(err, errno, "write", "%.200s: %s", to, strerror(errno));
    if (rc == ST_OK && outfile_sync_dir(to) != 0)
        rc = err_system(err, errno, "write", "%.200s: %s", to, strerror(errno));
    if (copy.s)
        store_db_unlink(copy.s);
    if (part.s)
        store_db_unlink(part.s);
    free(s.unused);
    free(s.named);
    buf_free(&shown);
    buf_free(&copy);
    buf_free(&part);
    return rc;
}

void store_salvaged_free(struct store_salvaged *o)
{
    buf_free(&o->lost);
}
