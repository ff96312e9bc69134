/* cuda/chosen.c -- the device on which new operators are opened. */
#include "cuda/backend_impl.h"

static size_t chosen;

size_t chosen_device(void)
{
    return chosen;
}

void chosen_set(size_t index)
{
    chosen = index;
}
