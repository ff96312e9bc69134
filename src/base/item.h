/* base/item.h -- a number as bytes in a file: a real ('f'), signed ('i'), unsigned ('u') or truth
 * value ('b') of so many bytes, in the machine's byte order or in the other one. */
#ifndef GPDESK_ITEM_H
#define GPDESK_ITEM_H

#include <stdbool.h>
#include <stddef.h>

/* The number as a double.  A kind and size that there is not counts as a truth value. */
double item_read(char kind, size_t size, bool swap, const char *p);

#endif
