/* tests/fuzz/fuzz.h -- one entry point, two drivers: libFuzzer, or fuzz_main.c in `make check`. */
#ifndef GPDESK_TESTS_FUZZ_H
#define GPDESK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
/* A harness may change inputs in ways of its own, in room for `most` bytes; both drivers then use
 * this.  Returns the new length. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

static inline void fuzz_fail(const char *why)
{
    fprintf(stderr, "fuzz: %s\n", why);
    abort();
}

/* Goes a program with a generator of its own on?  For `most` runs, or, with FUZZ_SECONDS in the
 * environment (make fuzz), for so long. */
static inline int fuzz_goes_on(size_t runs, size_t most)
{
    static time_t end;
    const char *seconds = getenv("FUZZ_SECONDS");

    if (seconds == NULL)
        return runs < most;
    if (end == 0)
        end = time(NULL) + strtol(seconds, NULL, 10);
    return time(NULL) < end;
}

#endif
