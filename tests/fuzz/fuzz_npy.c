/* tests/fuzz/fuzz_npy.c -- the NPY reader under any bytes: it ends, allocates no more than the file
 * can fill, and accepts only finite numbers in a consistent shape. */
#include "fuzz.h"

#include "data/formats/import.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    const struct import_opts o = { .header = -1, .missing = data[0] & 1 ? "nan" : NULL,
                                   .mem_limit = (size_t)64 << 20 };
    struct table *t;
    struct err err = { 0 };
    enum status rc = import_bytes_for_tests(data + 1, n - 1, &o, &t, &err);
    if (rc != ST_OK) {
        if (t != NULL || err.code != rc || err.msg[0] == '\0')
            fuzz_fail("refused without words");
        return 0;
    }
    if (n > 7 && memcmp(data + 1, "\x93NUMPY", 6) == 0 && t->n * t->ncols > n)
        fuzz_fail("more numbers than bytes");
    for (size_t j = 0; j < t->ncols; j++)
        for (size_t i = 0; t->col[j].type == COL_REAL && i < t->n; i++)
            if (isinf(t->col[j].v[i]))
                fuzz_fail("an infinite number");
    table_unref(t);
    return 0;
}
