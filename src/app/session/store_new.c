/* app/session/store_new.c -- makes the file of a new session, so that a power cut leaves either no
 * file of that name or a whole session, and locks the files of sessions.
 *
 * SQLite would fill the file page by page, and what a power cut leaves of that may have no first
 * page, which nobody can tell from a file that is not ours. So the empty session is made in memory,
 * written to a file of another name in the same directory, synced, and only then linked to its
 * name. */
#include "app/session/store_impl.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    /* The versions of the format that a reader and a writer need; 2 is the write-ahead log. With
     * them in place the first opening changes nothing in the file. */
    WRITE_VERSION = 18, READ_VERSION = 19, WITH_LOG = 2,
    /* A byte beyond those that SQLite locks (0x40000000 to 0x400001ff), which need not exist. */
    GATE_BYTE = 0x40000400, PATIENCE_MS = 20,
};

/* The lock belongs to the open file, not to the process. 1: somebody else has it; -1: there are no
 * such locks here. */
static int lock_gate(int fd)
{
#ifdef F_OFD_SETLK
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = GATE_BYTE,
                          .l_len = 1 };

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? 1 : -1;
#else
    (void)fd;
    return -1;
#endif
}

/* Is the open file still the one that the path names? */
static bool same_file(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

enum status store_new_gate(const char *path, const char *shown, int ms, int *gate, struct err *err)
{
    for (;; ms -= PATIENCE_MS) {
        *gate = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (*gate < 0)
            return err_system(err, errno, "session", "%s: %s", shown, strerror(errno));
        const int taken = lock_gate(*gate);
        if (taken == 0 && same_file(*gate, path))
            return ST_OK;
        close(*gate);
        *gate = -1;
        if (taken < 0)
            return ST_OK;
        if (ms <= 0)
            return store_db_locked(shown, err);
        (void)poll(NULL, 0, PATIENCE_MS);
    }
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t k = write(fd, bytes, n);
        if (k < 0 && errno != EINTR)
            return -1;
        bytes += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return 0;
}

/* Gives the finished file its name, which must be free. Some file systems have no links. */
static int name_it(const char *made, const char *path)
{
    struct stat st;

    if (link(made, path) == 0) {
        (void)unlink(made);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS)
        return -1;
    if (lstat(path, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(made, path);
}

enum status store_new_session(const char *path, const char *shown, int *gate, bool *made_it,
                              struct err *err)
{
    struct buf image = { 0 }, made = { 0 };
    enum status rc = store_db_empty(store_migration, PAGE, true, &image, err);

    *gate = -1;
    *made_it = false;
    buf_printf(&made, "%.*s/.gpdesk-%ld.new", (int)(strrchr(path, '/') - path), path,
               (long)getpid());
    if (rc == ST_OK && (image.len < PAGE || made.failed))
        rc = err_nomem(err, PAGE, "a new session");
    if (rc == ST_OK) {
        image.s[WRITE_VERSION] = image.s[READ_VERSION] = WITH_LOG;
        (void)unlink(buf_str(&made)); /* left by a program that was killed and had this number */
        const int fd = open(buf_str(&made), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            0600);
        int why = fd < 0 || write_all(fd, image.s, image.len) != 0 || fsync(fd) != 0 ? errno : 0;
        const bool locked = why == 0 && lock_gate(fd) == 0;
        if (why == 0 && name_it(buf_str(&made), path) != 0)
            why = errno;
        if (why == 0 && locked)
            *gate = fd;
        else if (fd >= 0)
            close(fd);
        if (why != 0 && fd >= 0)
            (void)unlink(buf_str(&made));
        *made_it = why == 0;
        if (why == 0)
            (void)outfile_sync_dir(path);
        else if (why != EEXIST)
            rc = err_system(err, why, why == ENOSPC || why == EDQUOT ? "disk" : "session",
                            "%s cannot be created: %s", shown, strerror(why));
    }
    buf_free(&made);
    buf_free(&image);
    return rc;
}
