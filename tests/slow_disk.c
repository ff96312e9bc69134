/* tests/slow_disk.c -- preloaded into the program: a disk that is slow, or that fails once.
 *
 * As long as the file that GPDESK_SLOW_DISK names exists, fsync and fdatasync do not return
 * (tests/screens/unsaved.sh).
 *
 * The GPDESK_DISK_FAIL_AT-th write to a regular file fails as on a full disk
 * (GPDESK_DISK_FAIL=write; truncations and renames count as writes), or the sync of a file or
 * directory as on a broken one (GPDESK_DISK_FAIL=sync; tests/scripts/faults.sh).  At the end how
 * many there were goes to the file GPDESK_DISK_COUNT, with the word "directory" where the failed
 * sync was one of a directory, "again" where a file of that name was synced later, and "none" where
 * there was no failure. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_size_t writes, syncs;
static size_t fail_at;
static bool fails_syncs;
static char broken[4096]; /* the path of what could not be synced */
static atomic_bool failed, again, directory;

static void __attribute__((constructor)) begin(void)
{
    const char *at = getenv("GPDESK_DISK_FAIL_AT"), *what = getenv("GPDESK_DISK_FAIL");

    fail_at = at ? strtoul(at, NULL, 10) : 0;
    fails_syncs = what && !strcmp(what, "sync");
}

static void __attribute__((destructor)) end(void)
{
    const char *path = getenv("GPDESK_DISK_COUNT");
    char text[80];

    if (!path)
        return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int n = snprintf(text, sizeof text, "%zu%s%s%s\n", fails_syncs ? syncs : writes,
                           directory ? " directory" : "", again ? " again" : "",
                           failed ? "" : " none");
    if (fd >= 0) {
        syscall(SYS_write, fd, text, n);
        close(fd);
    }
}

/* Whether this write is to fail; a pipe or a terminal is no disk. */
static bool full(int fd)
{
    struct stat st;

    if ((fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) || ++writes != fail_at ||
        fails_syncs)
        return false;
    failed = true;
    errno = ENOSPC;
    return true;
}

static bool unsynced(int fd)
{
    char link[40], path[sizeof broken];
    struct stat st;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    if (++syncs == fail_at && fails_syncs) {
        memcpy(broken, path, sizeof path);
        directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
        failed = true;
        errno = EIO;
        return true;
    }
    again = again || (failed && !strcmp(path, broken));
    return false;
}

static void wait_for_disk(void)
{
    const char *file = getenv("GPDESK_SLOW_DISK");

    while (file && access(file, F_OK) == 0)
        usleep(10000);
}

int fsync(int fd)
{
    wait_for_disk();
    return unsynced(fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return unsynced(fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

ssize_t write(int fd, const void *p, size_t n)
{
    return full(fd) ? -1 : syscall(SYS_write, fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return full(fd) ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return full(fd) ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

int ftruncate(int fd, off_t n)
{
    return full(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int ftruncate64(int fd, off64_t n)
{
    return full(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int rename(const char *from, const char *to)
{
    return full(-1) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
