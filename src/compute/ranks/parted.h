/* compute/ranks/parted.h -- operators of ranks that use devices.  What a device sums to depends on
 * how it cuts the rows, so that segments of rows (share.h) are summed apart, each by the device as
 * if there were no others, and what they sum to is folded.  Any number of ranks with the same kind
 * of device then gives the same bits, but others than the processor's.
 *
 * A rank without a device, or whose device has failed, sums its segments by the processor: ranks
 * can meet in the same order then, whatever each of them computes with. */
#ifndef GPDESK_PARTED_H
#define GPDESK_PARTED_H

#include "compute/backend.h"

/* The backend of such operators over a device (its `range` is wanted; NULL: there is none).  There
 * is one device for the process. */
const struct backend_ops *parted_backend(const struct backend_ops *device);
/* Copies why the processor took the place of the device since the last call; false: it did not. */
bool parted_lost(struct err *why);

#endif
