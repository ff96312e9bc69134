/* base/spill.c -- arrays in memory or in mapped files (spill.h).  The blocks of a file are reserved
 * when it is made, so that a full disk is an error there and never a signal later. */
#include "base/spill.h"

#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct mapping {
    char *start;     /* of the mapping */
    const char *p;   /* the caller's pointer */
    size_t len, bytes;
    bool own;        /* a file made here, not one that was mapped */
};

enum { WINDOW_LEAST = 8 << 20, WINDOW_MOST = 128 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* This state belongs to the process, like memory itself: the arrays of all jobs share it, code that
 * reads an array may not know which job made it, and the signal of a file that was cut short gives
 * only an address.  How many bytes may stay in memory is set for each job (limits.h). */
static struct mapping *list;
static size_t nlist, caplist;
static size_t inside, outside;        /* bytes in memory now, on disk now */
static const char *(*where)(void);
static atomic_size_t used;            /* bytes used since pages were last released */

void spill_directory(const char *(*dir)(void))
{
    pthread_mutex_lock(&lock);
    where = dir;
    pthread_mutex_unlock(&lock);
}

bool spill_active(void)
{
    return limits_now().arrays > 0;
}

bool spill_fits(double bytes)
{
    const size_t limit = limits_now().arrays;

    pthread_mutex_lock(&lock);
    const bool fits = limit == 0 || (double)inside + bytes <= (double)limit;
    pthread_mutex_unlock(&lock);
    return fits;
}

size_t spill_out_for_tests(void)
{
    pthread_mutex_lock(&lock);
    const size_t bytes = outside;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* The index in the list, or nlist if it is not there.  Under the lock. */
static size_t find(const void *p)
{
    size_t i = 0;

    while (i < nlist && list[i].p != p)
        i++;
    return i;
}

bool spill_is_out(const void *p)
{
    pthread_mutex_lock(&lock);
    const bool out = p && find(p) < nlist;
    pthread_mutex_unlock(&lock);
    return out;
}

static void drop_pages(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < nlist; i++) /* shared mappings: written pages are not lost */
        (void)madvise(list[i].start, list[i].len, MADV_DONTNEED);
    pthread_mutex_unlock(&lock);
}

void spill_used(size_t bytes)
{
    const size_t now = atomic_fetch_add_explicit(&used, bytes, memory_order_relaxed) + bytes;
    const size_t share = limits_now().arrays / 4;
    const size_t window = share > WINDOW_MOST ? WINDOW_MOST : share;

    if (now < window || now < WINDOW_LEAST)
        return;
    atomic_store_explicit(&used, 0, memory_order_relaxed);
    drop_pages();
}

/* Files. */

/* An open, unlinked file of that many bytes; -1 and *err on failure. */
static int scratch_file(size_t bytes, const char *what, struct err *err)
{
    char dir[4096], name[4200], need[32], have[32] = "an unknown amount";
    struct statvfs fs;

    pthread_mutex_lock(&lock);
    const char *(*ask)(void) = where;
    pthread_mutex_unlock(&lock);
    const char *tmp = ask ? ask() : "";
    if (!*tmp)
        tmp = getenv("TMPDIR") && *getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(dir, sizeof dir, "%s", tmp);
    snprintf(name, sizeof name, "%s/gpdesk-XXXXXX", dir);
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        err_system(err, errno, "disk",
                  "%s does not fit in memory, and no file can be made in %.200s: "
                  "%s",
                  what, dir, strerror(errno));
        err_hint(err, "a larger --mem, or TMPDIR=DIRECTORY");
        return -1;
    }
    unlink(name);
    const int rc = posix_fallocate(fd, 0, (off_t)bytes);
    if (rc == 0)
        return fd;
    mem_format(need, sizeof need, (double)bytes);
    if (fstatvfs(fd, &fs) == 0)
        mem_format(have, sizeof have, (double)fs.f_bavail * (double)fs.f_frsize);
    close(fd);
    err_system(err, rc, "disk", "%s needs %s on disk in %.200s, which has %s: %s", what, need,
              dir, have, strerror(rc));
    err_hint(err, "a larger --mem, or room on the disk, or TMPDIR=DIRECTORY");
    return -1;
}

/* Files that are cut short
 *
 * Reading a page that a mapped file no longer has raises SIGBUS.  If the address is in one of our
 * mappings, a page of zeros is mapped there, and spill_cut counts it. */
enum { MOST_FILES = 16384 };

static struct { _Atomic uintptr_t lo, hi; } guard[MOST_FILES];
static atomic_size_t guards, cuts;
static struct sigaction before;

static void on_bus(int sig, siginfo_t *si, void *context)
{
    const uintptr_t at = (uintptr_t)si->si_addr, page = 4096;
    const size_t n = atomic_load(&guards);
    const int error = errno;

    (void)context;
    for (size_t i = 0; i < n; i++)
        if (at >= atomic_load(&guard[i].lo) && at < atomic_load(&guard[i].hi)) {
            if (mmap((void *)(at & ~(page - 1)), page, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
                break;
            atomic_fetch_add(&cuts, 1);
            errno = error;
            return;
        }
    sigaction(sig, &before,
              NULL); /* not our mapping: the instruction is repeated and ends the program */
}

/* Under the lock.  False: too many files. */
static bool guard_add(const char *start, size_t len)
{
    struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;
    size_t i = 0;

    while (i < atomic_load(&guards) && atomic_load(&guard[i].hi) != 0)
        i++;
    if (i == MOST_FILES)
        return false;
    atomic_store(&guard[i].lo, (uintptr_t)start);
    atomic_store(&guard[i].hi, (uintptr_t)start + len);
    if (i == atomic_load(&guards))
        atomic_store(&guards, i + 1);
    if (sigaction(SIGBUS, NULL, &now) == 0 &&
        !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus)) {
        before = now; /* also when the screen has installed a handler in the meantime */
        sigemptyset(&sa.sa_mask);
        sigaction(SIGBUS, &sa, NULL);
    }
    return true;
}

static void guard_remove(const char *start)
{
    for (size_t i = 0; i < atomic_load(&guards); i++)
        if (atomic_load(&guard[i].lo) == (uintptr_t)start) {
            atomic_store(&guard[i].hi, 0);
            atomic_store(&guard[i].lo, 0);
        }
}

size_t spill_cut(void)
{
    return atomic_load(&cuts);
}

static enum status add(struct mapping m, struct err *err)
{
    pthread_mutex_lock(&lock);
    void *p = list;
    enum status rc = mem_grow(&p, &caplist, nlist + 1, sizeof *list, "the list of arrays", err);
    list = p;
    if (rc == ST_OK && !m.own && !guard_add(m.start, m.len)) {
        rc = err_named(err, ST_LIMIT, "files",
                       "more than %d files cannot be read in place at a time", MOST_FILES);
        err_hint(err, "numpy.save(FILE, numpy.concatenate(ARRAYS))");
    }
    if (rc == ST_OK) {
        list[nlist++] = m;
        outside += m.own ? m.bytes : 0;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static void *outside_array(size_t bytes, const char *what, struct err *err)
{
    const int fd = scratch_file(bytes ? bytes : 1, what, err);

    if (fd < 0)
        return NULL;
    const size_t len = bytes ? bytes : 1;
    char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) {
        err_nomem(err, bytes, what);
        return NULL;
    }
    if (add((struct mapping){ p, p, len, bytes, true }, err) != ST_OK) {
        munmap(p, len);
        return NULL;
    }
    return p;
}

const void *spill_map(const char *path, size_t at, size_t bytes, struct err *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = at % page;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || (uint64_t)st.st_size < (uint64_t)at + bytes ||
        bytes == 0) {
        err_system(err, errno, NULL, "%.300s: %s", path, fd < 0 ? strerror(errno) : "too short");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *p = mmap(NULL, bytes + skip, PROT_READ, MAP_SHARED, fd, (off_t)(at - skip));
    close(fd);
    if (p == MAP_FAILED) {
        err_nomem(err, bytes, path);
        return NULL;
    }
    if (add((struct mapping){ p, p + skip, bytes + skip, bytes, false }, err) != ST_OK) {
        munmap(p, bytes + skip);
        return NULL;
    }
    return p + skip;
}

/* Arrays. */

static void count_inside(const void *p, bool plus)
{
    const size_t bytes = malloc_usable_size((void *)(uintptr_t)p);

    pthread_mutex_lock(&lock);
    inside = plus ? inside + bytes : inside > bytes ? inside - bytes : 0;
    pthread_mutex_unlock(&lock);
}

void *spill_array(size_t count, size_t size, const char *what, struct err *err)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        err_nomem(err, SIZE_MAX, what);
        return NULL;
    }
    if (!spill_fits((double)bytes))
        return outside_array(bytes, what, err);
    void *p = mem_calloc(count, size, what, err);
    if (p)
        count_inside(p, true);
    return p;
}

enum status spill_grow(void **p, size_t *cap, size_t need, size_t size, const char *what,
                       struct err *err)
{
    size_t want = *cap < 8 ? 8 : *cap, bytes;

    if (need <= *cap)
        return ST_OK;
    while (want < need && want <= SIZE_MAX / 2)
        want *= 2;
    if (want < need || __builtin_mul_overflow(want, size, &bytes)) {
        want = need;
        if (__builtin_mul_overflow(want, size, &bytes))
            return err_nomem(err, SIZE_MAX, what);
    }
    if (!spill_is_out(*p)) {
        const size_t was = *p ? malloc_usable_size(*p) : 0;
        if (spill_fits((double)bytes - (double)was)) {
            if (*p)
                count_inside(*p, false);
            const enum status rc = mem_grow(p, cap, need, size, what, err);
            if (*p)
                count_inside(*p, true);
            return rc;
        }
    }
    void *q = outside_array(bytes, what, err);
    if (!q)
        return err ? err->code : ST_NOMEM;
    if (*p)
        memcpy(q, *p, *cap * size);
    spill_free(*p);
    spill_used(*cap * size);
    *p = q;
    *cap = want;
    return ST_OK;
}

void spill_free(const void *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    const size_t i = find(p);
    struct mapping m = { 0 };
    if (i < nlist) {
        m = list[i];
        list[i] = list[--nlist];
        outside -= m.own ? m.bytes : 0;
        if (!m.own)
            guard_remove(m.start);
        if (nlist == 0) {
            free(list);
            list = NULL;
            caplist = 0;
        }
    }
    pthread_mutex_unlock(&lock);
    if (m.start) {
        munmap(m.start, m.len);
        return;
    }
    count_inside(p, false);
    free((void *)(uintptr_t)p);
}
