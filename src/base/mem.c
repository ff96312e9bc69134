/* base/mem.c -- checked allocation, and the memory of the machine and of this process. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ALIGNMENT = 64, HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20 };

/* Counts down to a forced failure; 0: off.  Set by tests only. */
static atomic_size_t fail_after;

static bool forced_failure(void)
{
    if (atomic_load_explicit(&fail_after, memory_order_relaxed) == 0)
        return false;
    return atomic_fetch_sub(&fail_after, 1) == 1;
}

void mem_fail_after_for_tests(size_t n)
{
    atomic_store(&fail_after, n);
}

static bool product(size_t count, size_t size, size_t *bytes)
{
    /* PTRDIFF_MAX: no object may be larger, and pointer differences stay defined. */
    return !__builtin_mul_overflow(count, size, bytes) && *bytes <= PTRDIFF_MAX - ALIGNMENT;
}

void *mem_calloc(size_t count, size_t size, const char *what, struct err *err)
{
    size_t bytes;
    if (!product(count, size, &bytes)) {
        err_nomem(err, SIZE_MAX, what);
        return NULL;
    }
    void *p = forced_failure() ? NULL : calloc(bytes ? bytes : 1, 1);
    if (!p)
        err_nomem(err, bytes, what);
    return p;
}

enum status mem_grow(void **p, size_t *cap, size_t need, size_t size, const char *what,
                     struct err *err)
{
    if (need <= *cap)
        return ST_OK;
    size_t want = *cap < 8 ? 8 : *cap, bytes;
    while (want < need)
        if (__builtin_mul_overflow(want, (size_t)2, &want))
            return err_nomem(err, SIZE_MAX, what);
    if (!product(want, size, &bytes)) {
        want = need;
        if (!product(want, size, &bytes))
            return err_nomem(err, SIZE_MAX, what);
    }
    void *q = forced_failure() ? NULL : realloc(*p, bytes);
    if (!q)
        return err_nomem(err, bytes, what);
    *p = q;
    *cap = want;
    return ST_OK;
}

void *mem_aligned(size_t count, size_t size, const char *what, struct err *err)
{
    size_t bytes;
    if (!product(count, size, &bytes)) {
        err_nomem(err, SIZE_MAX, what);
        return NULL;
    }
    size_t align = bytes >= HUGE_FROM ? HUGE_PAGE : ALIGNMENT;
    size_t padded = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *p = NULL;
    if (forced_failure() || posix_memalign(&p, align, padded) != 0) {
        err_nomem(err, bytes, what);
        return NULL;
    }
    if (bytes >= HUGE_FROM)
        (void)madvise(p, padded, MADV_HUGEPAGE); /* advice: refusal costs only speed */
    return p;
}

/* The header of a kept workspace: one cache line. */
union spare { size_t bytes; char line[ALIGNMENT]; };

void *mem_spare_take(struct mem_spares *s, size_t bytes, const char *what, struct err *err)
{
    for (size_t i = 0; i < MEM_SPARES; i++) {
        union spare *p = atomic_load(&s->at[i]) ? atomic_exchange(&s->at[i], NULL) : NULL;
        if (p && p->bytes >= bytes)
            return p + 1;
        free(p);
    }
    if (bytes > PTRDIFF_MAX / 2) {
        err_nomem(err, bytes, what);
        return NULL;
    }
    union spare *p = mem_aligned(bytes + sizeof *p, 1, what, err);
    if (!p)
        return NULL;
    p->bytes = bytes;
    return p + 1;
}

void mem_spare_give(struct mem_spares *s, void *p)
{
    union spare *mine = p ? (union spare *)p - 1 : NULL;

    for (size_t i = 0; mine && i < MEM_SPARES; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&s->at[i], &none, (void *)mine))
            return;
    }
    free(mine);
}

void mem_spares_free(struct mem_spares *s)
{
    for (size_t i = 0; i < MEM_SPARES; i++)
        free(atomic_exchange(&s->at[i], NULL));
}

char *mem_strdup(const char *s, struct err *err)
{
    size_t n = strlen(s) + 1;
    char *copy = mem_calloc(n, 1, "a string", err);
    if (copy)
        memcpy(copy, s, n);
    return copy;
}

size_t mem_peak_rss(void)
{
    size_t kb = 0;
    FILE *f = fopen("/proc/self/status", "re");
    if (f) {
        char line[256];
        while (fgets(line, sizeof line, f))
            if (sscanf(line, "VmHWM: %zu kB", &kb) == 1)
                break;
        fclose(f);
    }
    if (kb == 0) {
        struct rusage ru;
        if (getrusage(RUSAGE_SELF, &ru) == 0)
            kb = (size_t)ru.ru_maxrss;
    }
    return kb * 1024;
}

size_t mem_physical(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;

    /* In a container the limit of the control group counts. */
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
    if (f) {
        unsigned long long limit;
        if (fscanf(f, "%llu", &limit) == 1 && limit > 0 && limit < bytes)
            bytes = (size_t)limit;
        fclose(f);
    }
    return bytes;
}

void mem_format(char *out, size_t len, double bytes)
{
    static const char *const unit[] = { "bytes", "kB", "MB", "GB", "TB", "PB" };
    size_t u = 0;
    while (bytes >= 999.5 && u + 1 < sizeof unit / sizeof *unit) {
        bytes /= 1024.0;
        u++;
    }
    snprintf(out, len, u == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, unit[u]);
}
