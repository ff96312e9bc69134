/* tests/fuzz/fuzz_npy.c -- the NPY reader under any bytes: it ends, allocates no more than the file
 * can fill, and accepts only finite numbers in a consistent shape, or NaN for what is missing where
 * that is said. */
#include "fuzz.h"

#include "data/formats/import.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* No infinite number is ever read; one that is NaN is counted as missing, which an array has none
 * of unless the user said that NaN stands for it. */
static void look(const struct table *t, const struct column *c, bool finite)
{
    size_t nan = 0;

    for (size_t i = 0; c->type == COL_REAL && i < t->n; i++) {
        if (isinf(c->v[i]))
            fuzz_fail("an infinite number");
        nan += isnan(c->v[i]);
    }
    if (finite && nan > 0)
        fuzz_fail("no number, where none may be missing");
    if (c->type == COL_REAL && nan != c->missing)
        fuzz_fail("numbers are missing and not counted");
}

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
    const bool npy = n > 7 && memcmp(data + 1, "\x93NUMPY", 6) == 0;
    if (npy && t->n * t->ncols > n)
        fuzz_fail("more numbers than bytes");
    for (size_t j = 0; j < t->ncols; j++)
        look(t, &t->col[j], npy && o.missing == NULL);
    table_unref(t);
    return 0;
}
