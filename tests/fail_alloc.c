/* tests/fail_alloc.c -- preloaded into the program: the GPDESK_FAIL_AT-th request for memory that
 * the program's own code makes fails (tests/scripts/faults.sh).  Requests of libraries are not
 * counted.  At the end the number of requests goes to the file GPDESK_FAIL_COUNT; with
 * GPDESK_FAIL_TRACE the calls that led to the failed one go to stderr. */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static uintptr_t first, last; /* the program's own code */
static atomic_size_t asked;
static size_t fail_at;

static int find_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
            first = info->dlpi_addr + p->p_vaddr;
            last = first + p->p_memsz;
        }
    }
    return 1; /* the first object is the program */
}

static void __attribute__((constructor)) begin(void)
{
    const char *at = getenv("GPDESK_FAIL_AT");

    fail_at = at ? strtoul(at, NULL, 10) : 0;
    dl_iterate_phdr(find_program, NULL);
}

static void __attribute__((destructor)) end(void)
{
    const char *path = getenv("GPDESK_FAIL_COUNT");
    const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

    if (fd >= 0) {
        dprintf(fd, "%zu\n", (size_t)asked);
        close(fd);
    }
}

static bool fails(const void *caller)
{
    const uintptr_t p = (uintptr_t)caller;

    if (p < first || p >= last || ++asked != fail_at)
        return false;
    if (getenv("GPDESK_FAIL_TRACE")) { /* for addr2line -f -e gpdesk */
        void *frame[12];
        backtrace_symbols_fd(frame, backtrace(frame, 12), STDERR_FILENO);
    }
    errno = ENOMEM;
    return true;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t n)
{
    return fails(CALLER) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(CALLER) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails(CALLER) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return fails(CALLER) ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    *p = fails(CALLER) ? NULL : __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

char *strdup(const char *s)
{
    const size_t n = strlen(s) + 1;
    char *copy = fails(CALLER) ? NULL : __libc_malloc(n);

    return copy ? memcpy(copy, s, n) : NULL;
}

char *strndup(const char *s, size_t most)
{
    const size_t n = strnlen(s, most);
    char *copy = fails(CALLER) ? NULL : __libc_malloc(n + 1);

    if (copy) {
        memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}
