/* compute/cpu/pairs.c -- how vectors and their sums are laid out for products with tiles of kernel
 * values; the same for every vector level. */
#include "compute/cpu/pairs.h"

#include <math.h>

struct pairs_value pairs_value(const struct kernel_closed *k, double *scale)
{
    const double log2e = M_LOG2E;
    struct pairs_value v = { .form = k->form, .p1 = (float)k->p1, .weight = 1.0F };

    *scale = 1.0;
    if (k->form == KERNEL_GAUSS) {
        *scale = sqrt(k->c * log2e);
    } else if (k->form == KERNEL_DECAY) {
        *scale = k->c * log2e;
        v.p1 = (float)(k->p1 / log2e);
        v.p2 = (float)(k->p2 / (log2e * log2e));
    } else if (k->form == KERNEL_POWER) {
        *scale = sqrt(k->c);
    } else if (k->form == KERNEL_DOT) {
        v.c = (float)k->c;
    }
    return v;
}

struct pairs_vectors pairs_vectors(size_t k)
{
    struct pairs_vectors v = { .k = k, .units = k / PAIRS_UNIT };

    if (k % PAIRS_UNIT > PAIRS_SINGLE)
        v.units++;
    v.single = k > v.units * PAIRS_UNIT ? k - v.units * PAIRS_UNIT : 0;
    return v;
}

size_t pairs_vectors_size(struct pairs_vectors v)
{
    return (v.units * PAIRS_UNIT + v.single) * PAIRS_COLS;
}

size_t pairs_sums_size(struct pairs_vectors v)
{
    return v.units * PAIRS_UNIT + v.single * PAIRS_LANES;
}

double pairs_sum(struct pairs_vectors v, const double *sums, size_t c)
{
    double sum = 0.0;

    if (c < v.units * PAIRS_UNIT)
        return sums[c];
    sums += v.units * PAIRS_UNIT + (c - v.units * PAIRS_UNIT) * PAIRS_LANES;
    for (size_t i = 0; i < PAIRS_LANES; i++)
        sum += sums[i];
    return sum;
}
