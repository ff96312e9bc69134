/* cuda/steps.h -- the interpreter of lists of steps, in single and double arithmetic. */
#ifndef GPDESK_CUDA_STEPS_H
#define GPDESK_CUDA_STEPS_H

#include "compute/features/featmap.h"
#include "cuda/kernels.h"

DEV void turns_exact_f32(float t, float *sine, float *cosine)
{
    turns_f32(t, 0, sine, cosine);
}

#define REAL float
#define N(name) name##_f32
#define TURNS turns_exact_f32
#define REAL_ERF erff
#include "cuda/steps_real.h"
#undef REAL
#undef N
#undef TURNS
#undef REAL_ERF
#define REAL double
#define N(name) name##_f64
#define TURNS turns_f64
#define REAL_ERF erf
#include "cuda/steps_real.h"
#undef REAL
#undef N
#undef TURNS
#undef REAL_ERF

/* Blocks of the term in one dimension, chunks of rows in the other. */
struct steps_grid { int blocks, chunks, threads; size_t smem; };

static inline struct steps_grid steps_grid(const struct steps_args *a)
{
    const struct dev_term *t = &a->term;
    struct steps_grid g;
    int threads = t->copied ? 32 : t->D / 4;

    threads = threads < 32 ? 32 : threads > 256 ? 256 : threads;
    g.blocks = t->copied ? 1 : t->nb;
    g.chunks = (int)((a->rows + (size_t)a->per - 1) / (size_t)a->per);
    g.threads = threads;
    g.smem = t->copied ? 16 : (size_t)(t->width ? 6 : 4) * (size_t)t->D * (a->wide ? 8 : 4);
    return g;
}

#endif
