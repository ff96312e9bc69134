/* compute/cpu/simd_term.c -- preparation of a term for the loops, common to all levels. */
#include "compute/cpu/simd.h"

#include <stdlib.h>

void simd_term_free(struct simd_term *t)
{
    if (!t)
        return;
    if (t->wide)
        simd_term_free(t->wide);
    free(t->wide);
    free(t->signs);
    free(t->scale);
    free(t->inv);
    *t = (struct simd_term){ 0 };
}
