/* base/outfile.c -- files are written beside the target, synced and renamed (outfile.h). */
#include "base/outfile.h"

#include "base/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status failed(const char *path, int why, bool direct, struct err *err)
{
    err_system(err, why, why == ENOSPC ? "disk" : why == ENXIO ? "no-reader" : "write",
                     "cannot write %.200s: %s%s", path,
                     why == ENXIO ? "nothing reads from this pipe" : strerror(why),
                     direct ? "" : "; what was there before is untouched");
    err_hint(err, why == ENOSPC ? "make room on the disk, or a name on another one"
                  : why == ENXIO ? "start the reader first, or out=FILE"
                                 : "choose a name in a directory that exists and can be written");
    return ST_IO;
}

static enum status open_direct(struct outfile *f, struct err *err)
{
    /* Without O_NONBLOCK the open would wait for a pipe's reader; writing is allowed to wait. */
    f->direct = true;
    f->fd = open(f->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->fd >= 0)
        fcntl(f->fd, F_SETFL, 0);
    return f->fd >= 0 ? ST_OK : failed(f->path, errno, true, err);
}

/* The umask can only be read by setting it. */
static mode_t current_umask(void)
{
    const mode_t mask = umask(0);

    umask(mask);
    return mask;
}

enum status outfile_open(struct outfile *f, const char *path, mode_t mode, struct err *err)
{
    struct stat st;
    const bool there = stat(path, &st) == 0;

    *f = (struct outfile){ .fd = -1 };
    /* As it stands: a new file, or one without a name (/dev/stdout into a pipe). */
    f->path = dirs_real(path, err);
    enum status rc = f->path ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && there && !S_ISREG(st.st_mode)) {
        rc = open_direct(f, err);
    } else if (rc == ST_OK && asprintf(&f->part, "%s.gpdesk-XXXXXX", f->path) < 0) {
        f->part = NULL;
        rc = err_nomem(err, strlen(path), "a path");
    } else if (rc == ST_OK) {
        f->fd = mkostemp(f->part, O_CLOEXEC);
        if (f->fd < 0 || fchmod(f->fd, there ? st.st_mode & 07777 : mode & ~current_umask()) != 0)
            rc = failed(path, errno, false, err);
    }
    if (rc != ST_OK)
        outfile_abort(f);
    return rc;
}

enum status outfile_write(struct outfile *f, const void *bytes, size_t n, struct err *err)
{
    for (const char *p = bytes; n > 0;) {
        const ssize_t k = write(f->fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return failed(f->path, errno, f->direct, err);
        p += k, n -= (size_t)k;
    }
    return ST_OK;
}

int outfile_sync_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = !slash ? strdup(".") : slash == path ? strdup("/")
                                                      : strndup(path, (size_t)(slash - path));
    const int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    /* Without permission to read the directory, or on a file system that cannot sync it, nothing
     * can be done. */
    const bool good = fd < 0 ? dir && errno == EACCES
                             : fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ||
                               errno == EROFS;
    const int why = dir ? errno : ENOMEM;
    if (fd >= 0)
        close(fd);
    free(dir);
    errno = why;
    return good ? 0 : -1;
}

enum status outfile_commit(struct outfile *f, struct err *err)
{
    bool good = f->direct || fsync(f->fd) == 0;
    int why = errno;

    if (close(f->fd) != 0 && good)
        good = false, why = errno;
    f->fd = -1;
    if (good && !f->direct && rename(f->part, f->path) != 0)
        good = false, why = errno;
    if (good)
        free(f->part), f->part = NULL; /* there is no temporary file any more */
    bool moved = good && !f->direct;
    if (moved && outfile_sync_dir(f->path) != 0)
        good = false, why = errno;
    const enum status rc = good ? ST_OK : failed(f->path, why, f->direct || moved, err);
    outfile_abort(f);
    return rc;
}

void outfile_abort(struct outfile *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->part)
        unlink(f->part);
    free(f->part), free(f->path);
    *f = (struct outfile){ .fd = -1 };
}

enum status outfile_put(const char *path, mode_t mode, const void *bytes, size_t n, struct err *err)
{
    struct outfile f;
    enum status rc = outfile_open(&f, path, mode, err);

    if (rc == ST_OK)
        rc = outfile_write(&f, bytes, n, err);
    if (rc == ST_OK)
        return outfile_commit(&f, err);
    outfile_abort(&f);
    return rc;
}

/* Copies into a target that must not be replaced, or that is on another file system. */
static enum status pour(int from, const char *path, struct err *err)
{
    struct outfile f;
    char some[1 << 14];
    ssize_t n = 0;
    enum status rc = outfile_open(&f, path, 0666, err);

    while (rc == ST_OK && (n = read(from, some, sizeof some)) > 0)
        rc = outfile_write(&f, some, (size_t)n, err);
    if (rc == ST_OK && n < 0)
        rc = failed(path, errno, true, err);
    if (rc == ST_OK)
        return outfile_commit(&f, err);
    outfile_abort(&f);
    return rc;
}

enum status outfile_publish(const char *made, const char *path, struct err *err)
{
    const int fd = open(made, O_RDONLY | O_CLOEXEC);
    struct stat st;
    enum status rc;

    if (fd < 0 || fsync(fd) != 0) {
        rc = failed(path, errno, false, err);
    } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        rc = pour(fd, path, err);
    } else {
        char *real = dirs_real(path, err);
        if (!real)
            rc = ST_NOMEM;
        else if (rename(made, real) == 0)
            rc = outfile_sync_dir(real) == 0 ? ST_OK : failed(path, errno, true, err);
        else
            rc = errno == EXDEV ? pour(fd, path, err) /* a link to another file system */
                                : failed(path, errno, false, err);
        free(real);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}
