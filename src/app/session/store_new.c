/* app/session/store_new.c -- makes the file of a new session, so that a power cut leaves either no
 * file of that name or a whole session.
 *
 * SQLite would fill the file page by page, and what a power cut leaves of that may have no first
 * page, which nobody can tell from a file that is not ours. So the empty session is made in memory,
 * written to a file of another name in the same directory, synced, and only then linked to its
 * name. */
#include "app/session/store_impl.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    /* The versions of the format that a reader and a writer need; 2 is the write-ahead log. With
     * them in place the first opening changes nothing in the file. */
    WRITE_VERSION = 18, READ_VERSION = 19, WITH_LOG = 2,
};

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

enum status store_new_session(const char *path, const char *shown, struct err *err)
{
    struct buf image = { 0 }, made = { 0 };
    enum status rc = store_db_empty(store_migration, PAGE, true, &image, err);

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
        if (fd >= 0)
            close(fd);
        if (why == 0 && name_it(buf_str(&made), path) != 0)
            why = errno;
        if (why != 0) {
            if (fd >= 0)
                (void)unlink(buf_str(&made));
            rc = err_system(err, why, why == ENOSPC || why == EDQUOT ? "disk" : "session",
                            "%s cannot be created: %s", shown, strerror(why));
        } else {
            (void)outfile_sync_dir(path);
        }
    }
    buf_free(&made);
    buf_free(&image);
    return rc;
}
