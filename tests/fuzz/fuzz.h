/* tests/fuzz/fuzz.h -- one entry point, two drivers: libFuzzer, or fuzz_main.c in `make check`. */
#ifndef GPDESK_TESTS_FUZZ_H
#define GPDESK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void fuzz_fail(const char *why)
{
    fprintf(stderr, "fuzz: %s\n", why);
    abort();
}

#endif
