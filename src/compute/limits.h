/* compute/limits.h -- how much memory the loops of compute may take at a time.  Set once for the
 * process, by who opens the program's state. */
#ifndef GPDESK_LIMITS_H
#define GPDESK_LIMITS_H

#include <stddef.h>

/* bytes: the memory that the program may use; 0: no limit.  Blocks of rows of a product take a
 * twelfth of it, at least 8 MiB and at most 256 MiB. */
void limits_memory(size_t bytes);
size_t limits_block_bytes(void);

#endif
