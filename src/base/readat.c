/* base/readat.c -- see readat.h. */
#include "base/readat.h"

#include <errno.h>
#include <unistd.h>

ssize_t readat(int fd, void *to, size_t n, off_t at)
{
    size_t have = 0;

    while (have < n) {
        const ssize_t k = pread(fd, (char *)to + have, n - have, at + (off_t)have);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        if (k == 0)
            break;
        have += (size_t)k;
    }
    return (ssize_t)have;
}
