/* tests/cuda/wrong_abi.c -- modules that are none: of another version; with -DNO_ENTRY, of another
 * kind. */
#include "compute/backend.h"

#ifndef NO_ENTRY
static const struct backend_ops old = { .abi = BACKEND_ABI - 1, .name = "old" };

const struct backend_ops *gpdesk_backend(void);
const struct backend_ops *gpdesk_backend(void)
{
    return &old;
}
#else
int nothing_of_gpdesk(void);
int nothing_of_gpdesk(void)
{
    return 0;
}
#endif
