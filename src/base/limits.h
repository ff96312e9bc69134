/* base/limits.h -- how much memory and disk the work of a thread may use.
 *
 * Limits belong to a job and not to the process: the thread that works for a job enters the limits
 * of the job, and the threads of a pool (compute/pool.h) work under the limits of the thread that
 * gives them their tasks.  Two jobs with different limits therefore do not affect each other.  A
 * thread that has entered no limits has no limit of memory. */
#ifndef GPDESK_LIMITS_H
#define GPDESK_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct limits {
    size_t memory;   /* bytes that the job may use; 0: no limit */
    size_t arrays;   /* bytes of data arrays in memory before new ones go to disk (spill.h); 0: all
                      * of them stay in memory */
    uint64_t cache;  /* bytes of the tables in the cache (data/cache.h); 0: no table is kept */
    double molecule; /* seconds of processor time for reading a molecule; 0: 2 */
};

/* The limits of a job that may use `memory` bytes, a quarter of them for arrays of data. */
struct limits limits_of(size_t memory, uint64_t cache);
/* The calling thread works under these limits from now on.  Returns those that it had. */
struct limits limits_enter(struct limits);
struct limits limits_now(void);
/* Bytes of a block of rows in a product: a twelfth of the memory, at least 8 MiB and at most
 * 256 MiB. */
size_t limits_block_bytes(void);

#endif
