/* compute/fold.c -- float64 sums that do not depend on an order (fold.h). */
#include "compute/fold.h"

#include "compute/cpu/simd.h"

#include <math.h>

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

/* With p the power in the bound, terms are below 2 p and sums of them below 2^(lg + 1) p = 2^53 u,
 * u = 2^(lg - 52) p, up to which multiples of u are exact.  C = 1.5 2^lg p rounds to multiples of
 * u, as C + s stays between 2^lg p and 2^(lg + 1) p. */
void fold_units_of(size_t n, size_t count, const double *x, double d, double *unit)
{
    cpu_simd_now()->units(n, 1.5 * ldexp(1.0, log_up(count)), x, d, unit);
}

void fold_units(size_t n, size_t count, double *bound)
{
    fold_units_of(n, count, bound, 1.0, bound);
}

void fold_add(size_t n, const double *s, const double *C, double *sum)
{
    cpu_simd_now()->fold(n, 1.0, s, C, sum);
}

/* A remainder is exact and at most u / 2, and sums of them are at most 2^(lg - 1) u = 2^53 v with
 * v = 2^(lg - 54) u, the unit of remainders.  Terms may be as large as 2 p (fold_units). */
bool fold_add_within(size_t n, size_t count, const double *s, const double *C, double *sum,
                     double *rest)
{
    const int lg = log_up(count);
    const double part = ldexp(4.0 / 3.0, -lg);

    return rest ? cpu_simd_now()->fold_both(n, part, ldexp(1.0, lg - 54), s, C, sum, rest)
                : cpu_simd_now()->fold(n, part, s, C, sum);
}

void fold_add_both(size_t n, size_t count, const double *s, const double *C, double *sum,
                   double *rest)
{
    fold_add_within(n, count, s, C, sum, rest);
}
