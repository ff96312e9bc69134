/* cuda/gradients.h -- derivatives of features, in single and double arithmetic. */
#ifndef GPDESK_GRADIENTS_H
#define GPDESK_GRADIENTS_H

#include "cuda/steps.h"

/* For a block of threads, D numbers each: the current values of a step, scratch, phase and gain
 * (steps_real.h); the base pair; the derivative with respect to the emitted pair. */
struct back_room_f32 { float *v, *w, *p, *g, *c, *s, *bc, *bs; };
struct back_room_f64 { double *v, *w, *p, *g, *c, *s, *bc, *bs; };

#define REAL float
#define N(name) name##_f32
#define TURNS turns_exact_f32
#define REAL_ERF erff
#define REAL_EXP expf
#include "cuda/gradients_real.h"
#undef REAL
#undef N
#undef TURNS
#undef REAL_ERF
#undef REAL_EXP
#define REAL double
#define N(name) name##_f64
#define TURNS turns_f64
#define REAL_ERF erf
#define REAL_EXP exp
#include "cuda/gradients_real.h"
#undef REAL
#undef N
#undef TURNS
#undef REAL_ERF
#undef REAL_EXP

static inline struct steps_grid back_grid(const struct back_args *a)
{
    struct steps_grid g = steps_grid(&a->s);

    if (!a->s.term.copied)
        g.smem = 8 * (size_t)a->s.term.D * (a->s.wide ? 8 : 4);
    return g;
}

/* Sums one slot over all blocks of a grid, in their order. */
DEV void back_sum_one(size_t blocks, size_t slots, const double *part, size_t i, double *out)
{
    double s = 0.0;

    for (size_t b = 0; b < blocks; b++)
        s += part[b * slots + i];
    out[i] = s;
}

#endif
