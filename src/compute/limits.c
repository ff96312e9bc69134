/* compute/limits.c -- see limits.h. */
#include "compute/limits.h"

#include <stdatomic.h>

static _Atomic size_t block_bytes = 256 << 20;

void limits_memory(size_t bytes)
{
    const size_t most = (size_t)256 << 20, least = (size_t)8 << 20, share = bytes / 12;

    block_bytes = bytes == 0 || share > most ? most : share < least ? least : share;
}

size_t limits_block_bytes(void)
{
    return block_bytes;
}
