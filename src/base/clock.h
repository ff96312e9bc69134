/* base/clock.h -- seconds of a clock that is never set. */
#ifndef GPDESK_CLOCK_H
#define GPDESK_CLOCK_H

#include <time.h>

static inline double clock_now(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
