/* tests/campaign/faults.c -- preloaded into the program: its calls of one class are counted, and
 * the FAULT_AT-th of them is refused, cut short, or the last thing that the process does.
 *
 *   FAULT_CLASS  alloc, thread, write, sync, rename, open, read, map, poll, fork, pipe, size
 *   FAULT_AT     the number of the call, from 1; 0 or nothing: all are let through
 *   FAULT_FROM   set: every later call of the class fails, too
 *   FAULT_ERROR  ENOSPC, EIO, EINTR, EMFILE, ENOMEM, EAGAIN; "short" (half of the bytes are written
 *                or read), "kill" (kill -9 before the call), "half" (half of the bytes are written,
 *                then kill -9)
 *   FAULT_COUNT  a file that gets the number of calls of each class when the process ends, and of
 *                the blocks of memory that are held then
 *   FAULT_TRACE  a file that gets the calls that led to the first refused one
 *   FAULT_LOG    a file that gets every change of a file, in order, with its bytes (faults.h)
 *   FAULT_CLOCK  seconds by which the time of day moves each time that it is asked for
 *
 * Requests for memory count where the program itself, SQLite, LAPACKE or the C library makes them:
 * readline and ncurses end the process when memory runs out, by their own decision.  Writes and
 * reads are those of regular files; those of pipes, sockets and terminals are the class pipe, for
 * a disk that is full means nothing to them.  Writes of stdio inside the C library are seen on
 * stdout only.  Children inherit nothing of this. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

enum class { ALLOC, THREAD, WRITE, SYNC, RENAME, OPEN, READ, MAP, POLL, FORK, PIPE, SIZE, CLASSES };
static const char *const class_name[CLASSES] = { "alloc", "thread", "write", "sync", "rename",
                                                 "open", "read", "map", "poll", "fork", "pipe",
                                                 "size" };
enum how { LET, FAIL, SHORT, KILL, HALF };

static const struct { const char *name; int value; enum how how; } errors[] = {
    { "ENOSPC", ENOSPC, FAIL }, { "EIO", EIO, FAIL }, { "EINTR", EINTR, FAIL },
    { "EMFILE", EMFILE, FAIL }, { "ENOMEM", ENOMEM, FAIL }, { "EAGAIN", EAGAIN, FAIL },
    { "short", 0, SHORT }, { "kill", 0, KILL }, { "half", 0, HALF },
};

enum { OBJECTS = 8 };
static struct { uintptr_t first, last; } counted[OBJECTS]; /* code whose requests count */
static size_t ncounted;
static atomic_size_t calls[CLASSES];
static enum class chosen = CLASSES;
static size_t at;
static bool onward, on;
static enum how how;
static int why, log_fd = -1;
static const char *count_path, *trace_path;
static pid_t self; /* a fork of the process is not the process */

static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const wanted[] = { "libsqlite3", "liblapacke", "libc.so" };
    bool take = ncounted == 0; /* the first object is the program */

    (void)size, (void)ctx;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        take |= strstr(info->dlpi_name, wanted[i]) != NULL;
    for (int i = 0; take && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && ncounted < OBJECTS) {
            counted[ncounted].first = info->dlpi_addr + p->p_vaddr;
            counted[ncounted].last = counted[ncounted].first + p->p_memsz;
            ncounted++;
        }
    }
    return 0;
}

/* What to do with the next call of class c. */
static enum how verdict(enum class c)
{
    if (!on || getpid() != self)
        return LET;
    const size_t n = ++calls[c];
    if (c != chosen || at == 0 || (onward ? n < at : n != at))
        return LET;
    if (how == KILL)
        kill(self, SIGKILL);
    if (trace_path) {
        void *frame[24];
        const int fd = (int)syscall(SYS_openat, AT_FDCWD, trace_path,
                                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        trace_path = NULL;
        backtrace_symbols_fd(frame, backtrace(frame, 24), fd);
        syscall(SYS_close, fd);
    }
    errno = why;
    return how;
}

static bool refused(enum class c)
{
    const int keep = errno;
    const bool yes = verdict(c) == FAIL;

    if (!yes)
        errno = keep;
    return yes;
}

/* Memory. */

/* True of code in the objects from..to - 1; the first is the program. */
static bool within(const void *caller, size_t from, size_t to)
{
    const uintptr_t p = (uintptr_t)caller;

    for (size_t i = from; i < to && i < ncounted; i++)
        if (p >= counted[i].first && p < counted[i].last)
            return true;
    return false;
}

static bool no_memory(const void *caller)
{
    return on && within(caller, 0, ncounted) && refused(ALLOC);
}

#define CALLER __builtin_return_address(0)

/* The blocks of memory that the program itself holds: a table by address, in which a search ends at
 * 0.  Those of libraries are left out, whose number changes by one from run to run. */
enum { PLACES = 1 << 20 };
static uintptr_t block[PLACES];
static atomic_flag busy = ATOMIC_FLAG_INIT;
static long held;

static size_t home(uintptr_t p)
{
    return (size_t)((p >> 4) * 0x9e3779b97f4a7c15u >> 44);
}

static size_t place_of(uintptr_t p)
{
    size_t i = home(p);

    while (block[i] != p && block[i] != 0)
        i = (i + 1) % PLACES;
    return i;
}

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        sched_yield();
}

static void *own(void *p)
{
    lock();
    if (p && held < PLACES / 2) {
        block[place_of((uintptr_t)p)] = (uintptr_t)p;
        held++;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return p;
}

/* True if it was one of them.  Those that stand behind it for lack of room move up. */
static bool disown(void *p)
{
    lock();
    size_t i = p ? place_of((uintptr_t)p) : 0;
    const bool had = p && block[i] != 0;
    for (size_t k = (i + 1) % PLACES; had && block[k] != 0; k = (k + 1) % PLACES)
        if ((k - home(block[k])) % PLACES >= (k - i) % PLACES) {
            block[i] = block[k];
            i = k;
        }
    if (had) {
        block[i] = 0;
        held--;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return had;
}

static void *given(void *p, const void *caller)
{
    return on && within(caller, 0, 1) ? own(p) : p;
}

void *malloc(size_t n) { return no_memory(CALLER) ? NULL : given(__libc_malloc(n), CALLER); }
void *calloc(size_t n, size_t size)
{
    return no_memory(CALLER) ? NULL : given(__libc_calloc(n, size), CALLER);
}
void *realloc(void *p, size_t n)
{
    if (no_memory(CALLER))
        return NULL;
    const bool had = disown(p);
    void *got = __libc_realloc(p, n);

    if (got == NULL && had && n > 0)
        own(p); /* it is still there */
    return had ? own(got) : p == NULL ? given(got, CALLER) : got;
}
void free(void *p)
{
    disown(p);
    __libc_free(p);
}
void *aligned_alloc(size_t align, size_t n)
{
    return no_memory(CALLER) ? NULL : given(__libc_memalign(align, n), CALLER);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    void *got = no_memory(CALLER) ? NULL : given(__libc_memalign(align, n), CALLER);

    if (got)
        *p = got;
    return got ? 0 : ENOMEM;
}

char *strndup(const char *s, size_t most)
{
    const size_t n = strnlen(s, most);
    char *copy = no_memory(CALLER) ? NULL : given(__libc_malloc(n + 1), CALLER);

    if (copy) {
        memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}

char *strdup(const char *s)
{
    const size_t n = strlen(s) + 1;
    char *copy = no_memory(CALLER) ? NULL : given(__libc_malloc(n), CALLER);

    return copy ? memcpy(copy, s, n) : NULL;
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    const uintptr_t p = (uintptr_t)CALLER;

    for (size_t i = 0; on && i < ncounted; i++)
        if (p >= counted[i].first && p < counted[i].last && refused(MAP))
            return MAP_FAILED;
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}
void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

/* The log of changes. */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void name_of(int fd, char *path, size_t len)
{
    char link[64];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, len - 1);
    path[n > 0 ? n : 0] = '\0';
}

static void record(enum faults_what what, const char *path, const char *other, int64_t offset,
                   const void *bytes, size_t n)
{
    if (log_fd < 0 || !on || getpid() != self)
        return;
    const int keep = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const struct faults_record r = {
        .what = what, .offset = offset, .bytes = n, .path = (uint32_t)strlen(path),
        .other = (uint32_t)strlen(other), .ms = now.tv_sec * 1000 + now.tv_nsec / 1000000,
    };
    const struct iovec part[] = { { (void *)&r, sizeof r }, { (void *)path, r.path },
                                  { (void *)other, r.other }, { (void *)bytes, n } };
    if (syscall(SYS_writev, log_fd, part, 4) < 0)
        _exit(99);
    errno = keep;
}

/* Files. */

static bool regular(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Writes with a verdict; offset -1: where the descriptor stands. */
static ssize_t put(int fd, const void *bytes, size_t n, off_t offset)
{
    const bool file = on && fd != log_fd && regular(fd);
    char path[4096] = "";
    int64_t where = offset;

    const enum how h = fd == log_fd ? LET : verdict(file ? WRITE : PIPE);
    if (h == FAIL)
        return -1;
    if ((h == SHORT || h == HALF) && n > 1)
        n /= 2;
    if (file && log_fd >= 0) {
        pthread_mutex_lock(&log_lock);
        name_of(fd, path, sizeof path);
        if (offset < 0)
            where = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    }
    const ssize_t k = offset < 0 ? syscall(SYS_write, fd, bytes, n)
                                 : syscall(SYS_pwrite64, fd, bytes, n, offset);
    if (*path) {
        if (k > 0)
            record(FAULTS_WRITE, path, "", where, bytes, (size_t)k);
        pthread_mutex_unlock(&log_lock);
    }
    if (h == HALF)
        kill(self, SIGKILL);
    return k;
}

ssize_t write(int fd, const void *bytes, size_t n) { return put(fd, bytes, n, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t o) { return put(fd, bytes, n, o); }
ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t o) { return put(fd, bytes, n, o); }
ssize_t writev(int fd, const struct iovec *v, int n)
{
    return n > 0 ? put(fd, v[0].iov_base, v[0].iov_len, -1) : 0; /* a short write is allowed */
}

static ssize_t take(int fd, void *bytes, size_t n, off_t offset)
{
    const enum how h = verdict(on && regular(fd) ? READ : PIPE);

    if (h == FAIL)
        return -1;
    if (h == SHORT && n > 1)
        n /= 2;
    return offset < 0 ? syscall(SYS_read, fd, bytes, n)
                      : syscall(SYS_pread64, fd, bytes, n, offset);
}
ssize_t read(int fd, void *bytes, size_t n) { return take(fd, bytes, n, -1); }
ssize_t pread(int fd, void *bytes, size_t n, off_t o) { return take(fd, bytes, n, o); }
ssize_t pread64(int fd, void *bytes, size_t n, off_t o) { return take(fd, bytes, n, o); }

static int sync_fd(int fd, long call)
{
    char path[4096];

    if (refused(SYNC))
        return -1;
    if (log_fd < 0)
        return (int)syscall(call, fd);
    pthread_mutex_lock(&log_lock); /* what is on the disk is decided from the log */
    name_of(fd, path, sizeof path);
    record(FAULTS_SYNC, path, "", 0, NULL, 0);
    pthread_mutex_unlock(&log_lock);
    return 0;
}
int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t n)
{
    char path[4096];

    if (refused(SIZE))
        return -1;
    pthread_mutex_lock(&log_lock);
    name_of(fd, path, sizeof path);
    const int rc = (int)syscall(SYS_ftruncate, fd, n);
    if (rc == 0)
        record(FAULTS_SIZE, path, "", n, NULL, 0);
    pthread_mutex_unlock(&log_lock);
    return rc;
}
int ftruncate64(int fd, off_t n) __attribute__((alias("ftruncate")));

/* A path that a relative name has from here. */
static void whole_name(const char *name, char *path, size_t len)
{
    char here[2048];

    if (*name == '/' || !getcwd(here, sizeof here))
        snprintf(path, len, "%s", name);
    else
        snprintf(path, len, "%s/%s", here, name);
}

static int move(int from_dir, const char *from, int to_dir, const char *to)
{
    char a[4096], b[4096];

    if (refused(RENAME))
        return -1;
    pthread_mutex_lock(&log_lock);
    whole_name(from, a, sizeof a);
    whole_name(to, b, sizeof b);
    const int rc = (int)syscall(SYS_renameat, from_dir, from, to_dir, to);
    if (rc == 0)
        record(FAULTS_RENAME, a, b, 0, NULL, 0);
    pthread_mutex_unlock(&log_lock);
    return rc;
}
int rename(const char *from, const char *to) { return move(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int d, const char *from, int e, const char *to) { return move(d, from, e, to); }

int link(const char *from, const char *to)
{
    char a[4096], b[4096];

    if (refused(RENAME))
        return -1;
    pthread_mutex_lock(&log_lock);
    whole_name(from, a, sizeof a);
    whole_name(to, b, sizeof b);
    const int rc = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (rc == 0)
        record(FAULTS_LINK, a, b, 0, NULL, 0);
    pthread_mutex_unlock(&log_lock);
    return rc;
}

int unlink(const char *name)
{
    char path[4096];

    pthread_mutex_lock(&log_lock);
    whole_name(name, path, sizeof path);
    const int rc = (int)syscall(SYS_unlink, name);
    if (rc == 0)
        record(FAULTS_UNLINK, path, "", 0, NULL, 0);
    pthread_mutex_unlock(&log_lock);
    return rc;
}

static int open_at(int dir, const char *name, int flags, mode_t mode)
{
    if (refused(OPEN))
        return -1;
    if (log_fd < 0 || !(flags & (O_CREAT | O_TRUNC)))
        return (int)syscall(SYS_openat, dir, name, flags, mode);
    pthread_mutex_lock(&log_lock);
    const bool there = faccessat(dir, name, F_OK, 0) == 0;
    const int fd = (int)syscall(SYS_openat, dir, name, flags, mode);
    char path[4096];
    if (fd >= 0 && (!there || flags & O_TRUNC)) {
        name_of(fd, path, sizeof path);
        record(there ? FAULTS_SIZE : FAULTS_CREATE, path, "", 0, NULL, 0);
    }
    pthread_mutex_unlock(&log_lock);
    return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}
#define WITH_MODE(call) \
    va_list ap; \
    va_start(ap, flags); \
    const mode_t mode = mode_of(flags, ap); \
    va_end(ap); \
    return call
int open(const char *name, int flags, ...) { WITH_MODE(open_at(AT_FDCWD, name, flags, mode)); }
int open64(const char *name, int flags, ...) { WITH_MODE(open_at(AT_FDCWD, name, flags, mode)); }
int openat(int d, const char *name, int flags, ...) { WITH_MODE(open_at(d, name, flags, mode)); }
int openat64(int d, const char *name, int flags, ...) { WITH_MODE(open_at(d, name, flags, mode)); }

/* The next definition of a function; types of functions are not those of objects. */
#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) \
        *(void **)&next = dlsym(RTLD_NEXT, #name)

int mkostemp(char *name, int flags)
{
    static atomic_uint made; /* names that are the same in every run */
    char *const x = name + strlen(name) - 6;

    for (int fd, tries = 0; tries < 1000; tries++) {
        char six[16];
        snprintf(six, sizeof six, "%06u", ++made % 1000000);
        memcpy(x, six, 6);
        if ((fd = open_at(AT_FDCWD, name, flags | O_RDWR | O_CREAT | O_EXCL, 0600)) >= 0 ||
            errno != EEXIST)
            return fd;
    }
    return -1;
}
int mkostemp64(char *name, int flags) __attribute__((alias("mkostemp")));
int mkstemp(char *name) { return mkostemp(name, 0); }
int mkstemp64(char *name) { return mkostemp(name, 0); }

FILE *fopen(const char *name, const char *mode)
{
    NEXT(fopen);
    return refused(OPEN) ? NULL : next(name, mode);
}
FILE *fopen64(const char *name, const char *mode)
{
    NEXT(fopen64);
    return refused(OPEN) ? NULL : next(name, mode);
}
DIR *opendir(const char *name)
{
    NEXT(opendir);
    return refused(OPEN) ? NULL : next(name);
}

/* Waiting, threads and children. */

int poll(struct pollfd *fds, nfds_t n, int ms)
{
    return refused(POLL) ? -1 : (int)syscall(SYS_poll, fds, n, ms);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *ctx)
{
    NEXT(pthread_create);
    return refused(THREAD) ? EAGAIN : next(t, a, f, ctx);
}
pid_t fork(void)
{
    NEXT(fork);
    return refused(FORK) ? -1 : next();
}
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
                const posix_spawnattr_t *how_to, char *const *argv, char *const *env)
{
    NEXT(posix_spawn);
    return refused(FORK) ? EAGAIN : next(pid, path, files, how_to, argv, env);
}
int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
                 const posix_spawnattr_t *how_to, char *const *argv, char *const *env)
{
    NEXT(posix_spawnp);
    return refused(FORK) ? EAGAIN : next(pid, path, files, how_to, argv, env);
}
int pipe2(int fd[2], int flags)
{
    return refused(OPEN) ? -1 : (int)syscall(SYS_pipe2, fd, flags);
}

/* The time of day.  The monotonic clock is that of the machine. */

static atomic_llong clock_steps;
static long long clock_step;

int clock_gettime(clockid_t id, struct timespec *t)
{
    const int rc = (int)syscall(SYS_clock_gettime, id, t);

    if (rc == 0 && clock_step != 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += clock_step * ++clock_steps;
    return rc;
}
time_t time(time_t *out)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    *out = (struct timeval){ .tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000 };
    return 0;
}

/* stdout of stdio goes through put(). */
static ssize_t put_stdout(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    size_t done = 0;
    for (ssize_t k; done < n; done += (size_t)k) /* as stdio itself does */
        if ((k = put(STDOUT_FILENO, bytes + done, n - done, -1)) < 0)
            return 0;
    return (ssize_t)n;
}

static void __attribute__((constructor)) begin(void)
{
    const char *class = getenv("FAULT_CLASS"), *n = getenv("FAULT_AT"), *e = getenv("FAULT_ERROR");
    const char *log = getenv("FAULT_LOG"), *clock = getenv("FAULT_CLOCK");
    void *frame[2];

    count_path = getenv("FAULT_COUNT");
    unsetenv("LD_PRELOAD");
    for (int i = 0; class && i < CLASSES; i++)
        if (!strcmp(class, class_name[i]))
            chosen = i;
    for (size_t i = 0; e && i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(e, errors[i].name))
            why = errors[i].value, how = errors[i].how;
    if ((class && chosen == CLASSES) || (e && how == LET)) {
        fputs("faults: an unknown FAULT_CLASS or FAULT_ERROR\n", stderr);
        _exit(98);
    }
    at = n ? strtoul(n, NULL, 10) : 0;
    clock_step = clock ? strtoll(clock, NULL, 10) : 0;
    onward = getenv("FAULT_FROM") != NULL;
    trace_path = getenv("FAULT_TRACE");
    backtrace(frame, 2); /* loads what it needs */
    if (log)
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, log,
                              O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put_stdout });
    if (f) {
        f->_fileno = STDOUT_FILENO;
        stdout = f;
    }
    dl_iterate_phdr(find_code, NULL);
    self = getpid();
    on = true;
}

static void __attribute__((destructor)) end(void)
{
    if (!on || getpid() != self)
        return;
    fflush(stdout);
    on = false;
    const int fd = count_path ? open(count_path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    for (int i = 0; fd >= 0 && i < CLASSES; i++)
        dprintf(fd, "%s %zu\n", class_name[i], (size_t)calls[i]);
    if (fd >= 0)
        dprintf(fd, "held %ld\n", held);
    if (fd >= 0)
        close(fd);
}
