/* data/radix_sort.h -- numbers in order. */
#ifndef GPDESK_RADIX_SORT_H
#define GPDESK_RADIX_SORT_H

#include "base/status.h"

#include <stddef.h>

/* Sorts finite numbers upwards in linear time; -0 becomes 0. */
enum status radix_sort(double *v, size_t n, struct err *err);

#endif
