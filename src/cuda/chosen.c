/* cuda/chosen.c -- which device opens what is opened from now on. */
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
