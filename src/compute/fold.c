/* compute/fold.c -- float64 sums that do not depend on an order (fold.h). */
#include "compute/fold.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

void fold_bound(size_t n, const double *s, double *most)
{
    for (size_t j = 0; j < n; j++) {
        const double size = fabs(s[j]);
        most[j] = size > most[j] ? size : most[j];
    }
}

/* log2 of a number of terms, rounded up, and at least 2. */
static int log_up(size_t count)
{
    int lg = 2;

    while (((size_t)1 << lg) < count)
        lg++;
    return lg;
}

/* The largest power of two in v > 0: its exponent alone.  0 below the normal numbers, where sums
 * are exact as they are. */
static double power_of(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    bits &= UINT64_C(0x7ff0000000000000);
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* With p the power in the bound, terms are below 2 p and sums of them below 2^(lg + 1) p = 2^53 u,
 * u = 2^(lg - 52) p, up to which multiples of u are exact.  C = 1.5 2^lg p rounds to multiples of
 * u, as C + s stays between 2^lg p and 2^(lg + 1) p. */
void fold_units(size_t n, size_t count, double *bound)
{
    const double factor = 1.5 * ldexp(1.0, log_up(count));

    for (size_t j = 0; j < n; j++)
        bound[j] = factor * power_of(bound[j]);
}

void fold_add(size_t n, const double *s, const double *C, double *sum)
{
    for (size_t j = 0; j < n; j++) {
        const double raised = s[j] + C[j];
        sum[j] += raised - C[j];
    }
}

/* A remainder is exact and at most u / 2, and sums of them are at most 2^(lg - 1) u = 2^53 v with
 * v = 2^(lg - 54) u, the unit of remainders. */
void fold_add_both(size_t n, size_t count, const double *s, const double *C, double *sum,
                   double *rest)
{
    const double finer = ldexp(1.0, log_up(count) - 54);

    for (size_t j = 0; j < n; j++) {
        const double raised = s[j] + C[j], q = raised - C[j], left = s[j] - q, D = finer * C[j];
        const double raised_left = left + D;
        sum[j] += q;
        rest[j] += raised_left - D;
    }
}
