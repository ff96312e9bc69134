/* base/readat.h -- bytes of a file from a place on, with no attempt given up too early. */
#ifndef GPDESK_BASE_READAT_H
#define GPDESK_BASE_READAT_H

#include <stddef.h>
#include <sys/types.h>

/* Reads n bytes from offset `at` on: a call that is interrupted, or that gives only a part, is
 * made again.  Returns how many there are, fewer than n only where the file ends; -1: the disk
 * refused, errno says why. */
ssize_t readat(int fd, void *to, size_t n, off_t at);

#endif
