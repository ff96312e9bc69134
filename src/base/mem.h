/* base/mem.h -- allocation with overflow checks, alignment and a byte budget's arithmetic. */
#ifndef GPDESK_MEM_H
#define GPDESK_MEM_H

#include "base/status.h"

#include <stddef.h>

/* count * size zeroed bytes; NULL and *err on overflow or exhaustion.  Release with free(). */
void *mem_calloc(size_t count, size_t size, const char *what, struct err *err);
/* Grows *p to hold `need` items of `size` bytes, doubling; *cap is updated.  *p survives failure.
 */
enum status mem_grow(void **p, size_t *cap, size_t need, size_t size, const char *what,
                     struct err *err);
/* Aligned to 64 bytes, not zeroed; advised for huge pages above 4 MiB.  Release with free(). */
void *mem_aligned(size_t count, size_t size, const char *what, struct err *err);
/* Bytes rounded up to whole cache lines: what is laid out behind them is aligned, too. */
static inline size_t mem_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
/* Workspaces that wait for their next use, whichever thread's: take asks for memory only when none
 * of `bytes` waits, give keeps what was taken, aligned to 64 bytes.  Zeroed is empty. */
enum { MEM_SPARES = 64 };
struct mem_spares { _Atomic(void *) at[MEM_SPARES]; };
void *mem_spare_take(struct mem_spares *, size_t bytes, const char *what, struct err *err);
void mem_spare_give(struct mem_spares *, void *p); /* p may be NULL */
void mem_spares_free(struct mem_spares *);         /* those that wait */
char *mem_strdup(const char *s, struct err *err); /* NULL and *err on exhaustion */
/* For tests: makes the n-th allocation from now on fail (0: none).  Counts per process. */
void mem_fail_after_for_tests(size_t n);
size_t mem_peak_rss(void);    /* bytes, of this process so far (VmHWM) */
size_t mem_physical(void);    /* bytes of RAM: of the machine, or of the container it runs in */
void mem_format(char *out, size_t len, double bytes); /* "1.4 GB" */

#endif
