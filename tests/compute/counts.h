/* tests/compute/counts.h -- rows of counts for the tests of kernels that read them. */
#ifndef GPDESK_TESTS_COUNTS_H
#define GPDESK_TESTS_COUNTS_H

#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/layer.h"

#include <check.h>

/* The kernel of a text, bound to rows of `flat` numbers whose one part is counts. */
static inline struct kernel counts_kernel(const char *text, size_t flat)
{
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, NULL, &err) == ST_OK, "%s: %s", text, err.msg);
    const struct row_layout rows = {
        .flat = flat, .nparts = 1, .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 } }
    };
    ck_assert_int_eq(kernel_bind_rows(&k, &rows, NULL, &err), ST_OK);
    return k;
}

/* A row of `places` values as counts: the places of values above 0, times `step`. */
static inline void counts_write(const double *v, size_t places, double step, double *x)
{
    size_t n = 0;

    for (size_t p = 0; p < places; p++)
        if (v[p] > 0.0) {
            x[1 + 2 * n] = step * (double)p;
            x[2 + 2 * n++] = v[p];
        }
    x[0] = (double)n;
}

#endif
