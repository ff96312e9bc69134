/* base/limits.c -- the limits of the calling thread (limits.h). */
#include "base/limits.h"

static _Thread_local struct limits now = { .cache = UINT64_C(10) << 30 };

struct limits limits_of(size_t memory, uint64_t cache)
{
    return (struct limits){ .memory = memory, .arrays = memory / 4, .cache = cache };
}

struct limits limits_enter(struct limits l)
{
    const struct limits before = now;

    now = l;
    return before;
}

struct limits limits_now(void)
{
    return now;
}

size_t limits_block_bytes(void)
{
    const size_t most = (size_t)256 << 20, least = (size_t)8 << 20, share = now.memory / 12;

    return now.memory == 0 || share > most ? most : share < least ? least : share;
}
