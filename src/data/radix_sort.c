/* data/radix_sort.c -- see radix_sort.h. A radix sort on the bits of doubles. */
#include "data/radix_sort.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Maps the bits of a double to an unsigned integer with the same order. */
static uint64_t to_key(double x)
{
    uint64_t k;
    x += 0.0;
    memcpy(&k, &x, sizeof k);
    return k >> 63 ? ~k : k | (uint64_t)1 << 63;
}

static double from_key(uint64_t k)
{
    double x;
    k = k >> 63 ? k & ~((uint64_t)1 << 63) : ~k;
    memcpy(&x, &k, sizeof x);
    return x;
}

/* Sorts by eleven bits at a time, lowest first. A digit that all keys share needs no pass. */
static void sort_keys(double *v, uint64_t *a, uint64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = to_key(v[i]);
    for (unsigned shift = 0; shift < 64; shift += 11) {
        size_t at[2048] = { 0 };
        for (size_t i = 0; i < n; i++)
            at[a[i] >> shift & 2047]++;
        if (n > 0 && at[a[0] >> shift & 2047] == n)
            continue;
        for (size_t k = 0, sum = 0; k < 2048; k++) {
            size_t count = at[k];
            at[k] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            b[at[a[i] >> shift & 2047]++] = a[i];
        uint64_t *t = a;
        a = b;
        b = t;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = from_key(a[i]);
}

enum status radix_sort(double *v, size_t n, struct err *err)
{
    uint64_t *a = mem_calloc(n, sizeof *a, "sorting", err);
    uint64_t *b = mem_calloc(n, sizeof *b, "sorting", err);
    enum status rc = a != NULL && b != NULL ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        sort_keys(v, a, b, n);
    free(a);
    free(b);
    return rc;
}
