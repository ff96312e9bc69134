/* tests/fuzz/fuzz.h -- one entry point, two drivers: libFuzzer, or fuzz_main.c in `make check`. */
#ifndef GPDESK_TESTS_FUZZ_H
#define GPDESK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
/* A harness may change inputs in ways of its own, in room for `most` bytes; both drivers then use
 * this.  Returns the new length. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

static inline void fuzz_fail(const char *why)
{
    fprintf(stderr, "fuzz: %s\n", why);
    abort();
}

#endif
