/* compute/cpu/backend_steps.h -- for the CPU backend, the terms of a feature map that the fused
 * loops of simd.h do not handle: chains of any kernels, their products, copied columns
 * (share/doc/methods.md 3.7 to 3.11).
 *
 * The steps of a term are cut into links: an input, projections, and an output to phase or gain.
 * Rows lie in vector lanes as in simd.h, whose loops do the transforms and sines. */
#ifndef GPDESK_BACKEND_STEPS_H
#define GPDESK_BACKEND_STEPS_H

#include "compute/cpu/simd.h"

struct steps;

/* Prepares all terms that are not plain (featmap_is_plain), including sums over windows of plain
 * chains.  *out is NULL when there are none.  UNSUPPORTED for steps that cannot be cut into
 * links. */
enum status steps_new(const struct featmap *, struct steps **out, struct err *);
void steps_free(struct steps *);
/* What any of these functions works with: the loops of a level, those of one of its precisions, the
 * hyperparameters, and scratch of one worker. */
struct steps_work {
    const struct steps *steps;
    const struct simd *simd;
    const struct simd_real *real;
    const double *hp;
    void *scratch;
};
/* B = d value / dZ of some rows, each as wide as the map and ld apart; factor: one for each row, by
 * which B is multiplied where it is used, or NULL. */
struct steps_back {
    const double *B;
    size_t ld;
    const double *factor;
};

/* Bytes of scratch that one worker needs for any of these functions. */
size_t steps_scratch(const struct steps *, const struct simd_real *);
/* Makes the scaled columns of all those terms for `lanes` rows, and the map's columns of zeros:
 * column c of the map goes to z + (c - col0) * cs. */
void steps_fill(const struct steps_work *, const struct simd_inputs *, size_t col0, void *z,
                size_t cs);
/* grad[i] += sum of B o dZ / dlog hp[i] over at most `lanes` rows, but for weights; real is f64. */
void steps_grad(const struct steps_work *, const struct simd_inputs *, const struct steps_back *,
                double *grad);

/* Terms over windows.  True when the sum is a factor of a product with other kernels. */
bool steps_turns(const struct steps *, const struct fm_term *);
/* Sums over windows whose steps are not a plain chain, for rows of sequences; z: row-major, times
 * `out` and the factor of each row. */
void steps_sum_rows(const struct steps_work *, const struct fm_term *, const struct simd_inputs *,
                    double out, void *z, size_t ldz);
/* Multiplies such sums (float64, lds apart) by the other factors of the product, computed from the
 * same whole rows. */
void steps_turn_rows(const struct steps_work *, const struct fm_term *, const struct simd_inputs *,
                     const double *sum, size_t lds, void *z, size_t ldz);
/* The derivatives for at most `lanes` rows: grad of the other factors, as steps_grad has it, and
 * sum_back, the derivatives in the sums, lds apart as they are. */
void steps_turn_grad(const struct steps_work *, const struct fm_term *, const struct simd_inputs *,
                     const double *sum, double *sum_back, size_t lds, const struct steps_back *,
                     double *grad);

#endif
