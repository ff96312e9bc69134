/* base/mem.h -- allocation with checks for overflow, aligned memory, kept workspaces, and how much
 * memory there is. */
#ifndef GPDESK_MEM_H
#define GPDESK_MEM_H

#include "base/status.h"

#include <stddef.h>

/* count * size zeroed bytes; NULL and *err on overflow or when memory is short.  Release with
 * free(). */
void *mem_calloc(size_t count, size_t size, const char *what, struct err *err);
/* Grows *p to at least `need` items of `size` bytes, by doubling, and updates *cap.  After a
 * failure
 * *p is unchanged. */
enum status mem_grow(void **p, size_t *cap, size_t need, size_t size, const char *what,
                     struct err *err);
/* Memory aligned to 64 bytes and not zeroed; above 4 MiB the system is advised to use huge pages.
 * Release with free(). */
void *mem_aligned(size_t count, size_t size, const char *what, struct err *err);
/* Bytes rounded up to whole cache lines, so that what follows is aligned, too. */
static inline size_t mem_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
/* Workspaces that are kept for their next use, by any thread.  mem_spare_take returns a kept one of
 * at least `bytes`, aligned to 64 bytes, or allocates one; mem_spare_give keeps it again.  A zeroed
 * struct is empty. */
enum { MEM_SPARES = 64 };
struct mem_spares { _Atomic(void *) at[MEM_SPARES]; };
void *mem_spare_take(struct mem_spares *, size_t bytes, const char *what, struct err *err);
void mem_spare_give(struct mem_spares *, void *p); /* p may be NULL */
void mem_spares_free(struct mem_spares *);         /* frees the kept ones */
char *mem_strdup(const char *s, struct err *err); /* NULL and *err when memory is short */
/* For tests: makes the n-th allocation from now on fail (0: none).  Counts per process. */
void mem_fail_after_for_tests(size_t n);
size_t mem_peak_rss(void);    /* bytes, of this process so far (VmHWM) */
size_t mem_physical(void);    /* bytes of RAM of the machine, or of the container */
void mem_format(char *out, size_t len, double bytes); /* "1.4 GB" */

#endif
