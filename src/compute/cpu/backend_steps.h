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
/* Bytes of scratch that one worker needs for any of these functions. */
size_t steps_scratch(const struct steps *, const struct simd_real *);
/* Makes the scaled columns of all those terms for `lanes` rows (x row-major, n valid), and the
 * map's columns of zeros: column c of the map goes to z + (c - col0) * cs. */
void steps_fill(const struct steps *, const struct simd *, const struct simd_real *,
                const double *hp, const double *x, size_t ldx, size_t n, size_t col0, void *z,
                size_t cs, void *scratch);
/* grad[i] += sum of B o dZ / dlog hp[i] over n <= lanes rows (of simd->f64), but for weights; B:
 * rows as wide as the map; factor: n row factors by which B is multiplied here, or NULL. */
void steps_grad(const struct steps *, const struct simd *, const double *hp, const double *x,
                size_t ldx, size_t n, const double *B, size_t ld, const double *factor,
                double *grad, void *scratch);

/* Terms over windows.  True when the sum is a factor of a product with other kernels. */
bool steps_turns(const struct steps *, const struct fm_term *);
/* Sums over windows whose steps are not a plain chain, for n rows of sequences x; z: row-major,
 * times `out` and the factor of each row. */
void steps_sum_rows(const struct steps *, const struct fm_term *, const struct simd_real *,
                    const double *hp, double out, const double *x, size_t ldx, size_t n, void *z,
                    size_t ldz, void *scratch);
/* Multiplies such sums (float64, lds apart) by the other factors of the product, computed from the
 * same whole rows x. */
void steps_turn_rows(const struct steps *, const struct fm_term *, const struct simd *,
                     const struct simd_real *, const double *hp, const double *x, size_t ldx,
                     size_t n, const double *sum, size_t lds, void *z, size_t ldz, void *scratch);
/* The derivatives for n <= lanes rows: grad of the other factors, as steps_grad has it, and
 * sum_back, the derivatives in the sums. */
void steps_turn_grad(const struct steps *, const struct fm_term *, const struct simd *,
                     const double *hp, const double *x, size_t ldx, size_t n, const double *sum,
                     double *sum_back, size_t lds, const double *B, size_t ld, const double *factor,
                     double *grad, void *scratch);

#endif
