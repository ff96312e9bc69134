/* app/order.h -- numbers in order. */
#ifndef GPDESK_ORDER_H
#define GPDESK_ORDER_H

#include "base/status.h"

#include <stddef.h>

/* Sorts finite numbers upwards in linear time; -0 becomes 0. */
enum status order_sort(double *v, size_t n, struct err *err);

#endif
