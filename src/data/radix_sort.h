/* data/radix_sort.h -- sorts numbers. */
#ifndef GPDESK_RADIX_SORT_H
#define GPDESK_RADIX_SORT_H

#include "base/status.h"

#include <stddef.h>

/* Sorts finite numbers in ascending order in linear time; -0 becomes 0. NOMEM if there is no memory
 * for a copy. */
enum status radix_sort(double *v, size_t n, struct err *err);

#endif
