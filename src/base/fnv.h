/* base/fnv.h -- the hash FNV-1a of Fowler, Noll and Vo with 64 bits, for tables in memory and to
 * notice that something has changed.  It is not keyed, and no defence against who looks for two
 * texts with one hash. */
#ifndef GPDESK_FNV_H
#define GPDESK_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

/* The hash h continued by one byte, or by a word in one step (which is a hash of its own). */
static inline uint64_t fnv_step(uint64_t h, uint64_t word)
{
    return (h ^ word) * UINT64_C(0x100000001b3);
}

/* The hash h (FNV_START at first) continued by n bytes. */
static inline uint64_t fnv_bytes(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        h = fnv_step(h, p[i]);
    return h;
}

#endif
