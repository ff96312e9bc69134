/* app/session/store_guard.c -- checks the files beside a session before SQLite sees them.
 *
 * SQLite trusts a rollback journal, a write-ahead log and a shared-memory file that are beside a
 * database, with its name and "-journal", "-wal" or "-shm" appended. A journal can name a
 * super-journal, a file that SQLite removes after the rollback, and its pages replace those of the
 * database. So a file beside a session is accepted only if a killed gpdesk could have left it:
 *   - It is a regular file with one name and is no larger than our transactions can make it.
 *   - A journal has the header that SQLite writes, the page size of the session, the session's
 *     application id on every copy of page 1, and no super-journal (we attach no databases).
 *   - It is not alone: a journal or a log without its session would be applied to a new one.
 * A journal that passes is first rolled back in a copy. The copy replaces the session only after
 * its contents have been checked. A log changes nothing until a checkpoint, and store_db.c makes
 * none before its checks have passed.
 *
 * Formats: https://www.sqlite.org/fileformat2.html, sections 1.3, 3 and 4. */
#include "app/session/store_impl.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/readat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Magic, records, nonce, pages before the transaction, sector size, page size. */
    JOURNAL_HEADER = 28,
    RECORD_EXTRA = 8,    /* page number and checksum of each record */
    SUPER_TAIL = 16,     /* length, checksum and magic after the name of a super-journal */
    PAGE_SIZE_AT = 16,   /* offset in the header of a database */
    LOCK_BYTE = 0x40000000, LOCK_BYTES = 512,
    SLACK = 1 << 20,
};
/* Bytes; one transaction writes at most a few factors of 1 GiB. */
#define LOG_MOST ((off_t)64 << 30)

static const unsigned char journal_magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };

struct journal {
    int fd;
    off_t size;
    uint32_t page, sector, pages_before;
    bool has_first; /* it contains a copy of page 1 */
    int why;        /* errno of a read that was refused, or 0 */
};

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static const char *kind_of(mode_t mode)
{
    return S_ISLNK(mode) ? "a symbolic link" : S_ISDIR(mode) ? "a directory"
         : S_ISFIFO(mode) ? "a named pipe" : S_ISREG(mode) ? "a regular file" : "a special file";
}

/* Refuses the file SHOWN plus TAIL for the given reason and says what to do. */
static enum status refuse(const char *shown, const char *tail, const char *why, struct err *err)
{
    err_named(err, ST_FORMAT, "session-beside",
              "%s%s %s; gpdesk does not open the session beside it", shown, tail, why);
    err_hint(err, "look at it, then move it away: mv %s%s ELSEWHERE", shown, tail);
    return ST_FORMAT;
}

/* The size of the file PATH plus TAIL; -1 if there is none. */
static enum status look_at(const char *path, const char *shown, const char *tail, off_t *size,
                           struct err *err)
{
    struct buf name = { 0 };
    struct stat st;
    char why[120];

    *size = -1;
    buf_printf(&name, "%s%s", path, tail);
    if (name.failed)
        return err_nomem(err, 0, "a path");
    const int rc = lstat(buf_str(&name), &st), no = errno;
    buf_free(&name);
    if (rc != 0 && no == ENOENT)
        return ST_OK;
    if (rc != 0)
        return err_system(err, no, "session", "%s%s: %s", shown, tail, strerror(no));
    if (!S_ISREG(st.st_mode)) {
        snprintf(why, sizeof why, "is %s, not a regular file", kind_of(st.st_mode));
        return refuse(shown, tail, why, err);
    }
    if (st.st_nlink > 1)
        return refuse(shown, tail, "is also the file of another name (a hard link)", err);
    *size = st.st_size;
    return ST_OK;
}

/* Reads exactly n bytes. Returns false at the end of the file or on an error, which j keeps. */
static bool read_at(struct journal *j, void *to, size_t n, off_t at)
{
    const ssize_t have = readat(j->fd, to, n, at);

    if (have < 0)
        j->why = errno;
    return have == (ssize_t)n;
}

/* Reads the header at `at`. *records: the number of records that follow it. */
static bool journal_header(struct journal *j, off_t at, uint64_t *records)
{
    unsigned char h[JOURNAL_HEADER];

    if (!read_at(j, h, sizeof h, at) || memcmp(h, journal_magic, sizeof journal_magic) != 0)
        return false;
    const uint32_t sector = big_endian(h + 20), page = big_endian(h + 24), n = big_endian(h + 8);
    if (at == 0) {
        j->sector = sector;
        j->page = page;
        j->pages_before = big_endian(h + 12);
        if (sector < 32 || sector > 65536 || (sector & (sector - 1)) || page < 512 ||
            page > 65536 || (page & (page - 1)))
            return false;
    }
    const uint64_t rest = (uint64_t)(j->size - at) / (j->page + RECORD_EXTRA);
    *records = n == UINT32_MAX || n > rest ? rest : n;
    return true;
}

/* SQLite writes the magic of a header last, over zeros. If the program was killed within that
 * write, a part of it stands there; nothing in the database was changed yet, and SQLite rolls
 * nothing back. */
static bool torn_magic(struct journal *j)
{
    unsigned char h[sizeof journal_magic + 4];
    size_t n = 0;

    if (!read_at(j, h, sizeof h, 0))
        return false;
    while (n < sizeof journal_magic && h[n] == journal_magic[n])
        n++;
    if (n == sizeof journal_magic)
        return false;
    while (n < sizeof h && h[n] == 0)
        n++;
    return n == sizeof h;
}

/* Every copy of page 1 must be the first page of a session. Checksums are ignored, so that no
 * record that SQLite would apply is skipped. */
static enum status journal_pages(struct journal *j, const char *shown, struct err *err)
{
    uint64_t records;
    bool first = true;

    for (off_t at = 0; at < j->size && journal_header(j, at, &records); first = false) {
        at += j->sector;
        for (uint64_t i = 0; i < records; i++, at += j->page + RECORD_EXTRA) {
            unsigned char h[4 + SDB_HEADER];
            if (!read_at(j, h, sizeof h, at))
                return ST_OK; /* it is cut off; SQLite stops here, too */
            if (big_endian(h) != 1)
                continue;
            j->has_first = true;
            if (store_db_check_header(h + 4, (off_t)j->pages_before * j->page, shown, err) != ST_OK)
                return refuse(shown, "-journal", "would replace the session by other contents",
                              err);
            const uint32_t size = (uint32_t)h[4 + PAGE_SIZE_AT] << 8 | h[5 + PAGE_SIZE_AT];
            if ((size == 1 ? 65536 : size) != j->page)
                return refuse(shown, "-journal", "has another page size than the session", err);
        }
        at = (at + j->sector - 1) / j->sector * j->sector;
    }
    return first && !torn_magic(j) ? refuse(shown, "-journal", "is not a journal of SQLite", err)
                                   : ST_OK;
}

/* *hot: SQLite will roll it back. *has_first: it contains a copy of page 1. */
static enum status check_journal(const char *path, const char *shown, off_t session, off_t size,
                                 struct store_guard *g, struct err *err)
{
    struct journal j = { .size = size };
    struct buf name = { 0 };
    unsigned char first = 0, tail[8];

    buf_printf(&name, "%s-journal", path);
    j.fd = name.failed ? -1 : open(buf_str(&name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    buf_free(&name);
    if (j.fd < 0)
        return err_system(err, errno, "session", "%s-journal: %s", shown, strerror(errno));
    enum status rc = ST_OK;
    if (size >= SUPER_TAIL && read_at(&j, tail, sizeof tail, size - (off_t)sizeof tail) &&
        memcmp(tail, journal_magic, sizeof tail) == 0)
        rc = refuse(shown, "-journal", "names a second file that opening it would remove", err);
    else if (read_at(&j, &first, 1, 0) && first != 0)
        rc = journal_pages(&j, shown, err);
    close(j.fd);
    if (j.why != 0) { /* what was not read is not known to be harmless, nor to be anything else */
        err_clear(err);
        rc = err_system(err, j.why, "session", "%s-journal: %s", shown, strerror(j.why));
    }
    if (rc == ST_OK && first != 0 && size > 2 * (session + (off_t)j.pages_before * j.page) + SLACK)
        rc = refuse(shown, "-journal", "is larger than the session that it belongs to", err);
    g->hot = first != 0;
    g->has_first = j.has_first;
    return rc;
}

enum status store_guard_check(const char *path, const char *shown, off_t size,
                              struct store_guard *g, struct err *err)
{
    off_t journal, log, shm;

    *g = (struct store_guard){ 0 };
    enum status rc = look_at(path, shown, "-journal", &journal, err);
    if (rc == ST_OK)
        rc = look_at(path, shown, "-wal", &log, err);
    if (rc == ST_OK)
        rc = look_at(path, shown, "-shm", &shm, err);
    if (rc != ST_OK)
        return rc;
    if (size < 0 && (journal > 0 || log > 0))
        return refuse(shown, log > 0 ? "-wal" : "-journal",
                      "belongs to a session that is not there", err);
    if (size == 0 && log > 0)
        return refuse(shown, "-wal", "belongs to another session: this one is empty", err);
    if (log > LOG_MOST)
        return refuse(shown, "-wal", "is larger than any session writes it", err);
    if (journal > 0)
        rc = check_journal(path, shown, size, journal, g, err);
    g->log = log > 0;
    if (rc == ST_OK && g->hot && g->log)
        rc = refuse(shown, "-journal", "and a -wal file cannot both belong to one session", err);
    return rc;
}

/* Makes sure that nobody else has the session open: takes the locks that SQLite would take, for as
 * long as *fd is open. */
static enum status lock_session(const char *path, const char *shown, int *fd, struct err *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE,
                          .l_len = LOCK_BYTES };

    *fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return err_system(err, errno, "session", "%s: %s", shown, strerror(errno));
    if (fcntl(*fd, F_SETLK, &lock) == 0)
        return ST_OK;
    close(*fd);
    *fd = -1;
    return store_db_locked(shown, err);
}

bool store_guard_locked(const char *path)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE,
                          .l_len = LOCK_BYTES };
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;
    const bool locked = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return locked;
}

/* Copies IN from its start to the new file TO and syncs it. IN stays open, because closing it would
 * release the locks that this process has on its file. */
static enum status copy_file(int in, const char *to, const char *shown, struct err *err)
{
    const int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char some[1 << 16];
    ssize_t n = out < 0 ? -1 : 0;

    for (off_t from = 0; n >= 0 && (n = readat(in, some, sizeof some, from)) > 0; from += n)
        for (ssize_t at = 0; at < n;) {
            const ssize_t k = write(out, some + at, (size_t)(n - at));
            if (k < 0 && errno != EINTR) {
                n = -1;
                break;
            }
            at += k > 0 ? k : 0;
        }
    if (n == 0 && fsync(out) != 0)
        n = -1;
    const int why = errno;
    if (out >= 0)
        close(out);
    return n == 0 ? ST_OK
                  : err_system(err, why, why == ENOSPC ? "disk" : "session",
                              "%s cannot be recovered: %s", shown, strerror(why));
}

enum status store_guard_copy(const char *from, const char *to, const char *shown, struct err *err)
{
    const int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const enum status rc = copy_file(in, to, shown, err);

    if (in >= 0)
        close(in);
    return rc;
}

/* The copy, rolled back and checked, replaces the session; then the journal is removed. */
static enum status swap_in(const char *copy, const char *path, const char *journal,
                           const char *shown, struct err *err)
{
    struct stat st;

    if (stat(path, &st) != 0 || chmod(copy, st.st_mode & 07777) != 0 || rename(copy, path) != 0 ||
        outfile_sync_dir(path) != 0 || unlink(journal) != 0 || outfile_sync_dir(path) != 0)
        return err_system(err, errno, "session", "%s cannot be recovered: %s", shown,
                         strerror(errno));
    return ST_OK;
}

enum status store_guard_recover(const char *path, const char *shown, store_guard_try *try,
                                struct err *err)
{
    struct buf copy = { 0 }, beside = { 0 }, journal = { 0 };
    int fd = -1, from = -1;

    buf_printf(&copy, "%s.recover-%ld", path, (long)getpid());
    buf_printf(&beside, "%s-journal", buf_str(&copy));
    buf_printf(&journal, "%s-journal", path);
    enum status rc = copy.failed || beside.failed || journal.failed ? err_nomem(err, 0, "a path")
                                                                     : ST_OK;
    if (rc == ST_OK)
        rc = lock_session(path, shown, &fd, err);
    if (rc == ST_OK)
        rc = copy_file(fd, buf_str(&copy), shown, err);
    if (rc == ST_OK) {
        from = open(buf_str(&journal), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        rc = copy_file(from, buf_str(&beside), shown, err);
    }
    if (rc == ST_OK && (rc = try(buf_str(&copy), shown, err)) != ST_OK) {
        struct err why = *err;
        err_named(err, ST_FORMAT, "session-beside",
                  "%s-journal does not lead back to a whole session; nothing was changed (%.150s)",
                  shown, why.msg);
        err_hint(err, "keep a copy of both files, then move the journal away: mv %s-journal "
                 "ELSEWHERE", shown);
        rc = ST_FORMAT;
    }
    if (rc == ST_OK)
        rc = swap_in(buf_str(&copy), path, buf_str(&journal), shown, err);
    unlink(buf_str(&copy));
    unlink(buf_str(&beside));
    if (from >= 0)
        close(from);
    if (fd >= 0)
        close(fd);
    buf_free(&copy);
    buf_free(&beside);
    buf_free(&journal);
    return rc;
}
