/* compute/cpu/backend_steps.h -- terms of a feature map that the fused loops of simd.h do not know,
 * for the processor backend: chains of any kernels, their products, columns copied.
 *
 * A term's steps are cut into links: an input, projections, and what becomes of the result.  Rows
 * lie in vector lanes as in simd.h; the transforms and sines are its loops. */
#ifndef GPDESK_BACKEND_STEPS_H
#define GPDESK_BACKEND_STEPS_H

#include "compute/cpu/simd.h"

struct steps;

/* Of all terms that are not plain (featmap_is_plain), sums over windows of plain chains among
 * these. *out NULL where there are none.  UNSUPPORTED: a list of steps that cannot be cut into
 * links. */
enum status steps_new(const struct featmap *, struct steps **out, struct err *);
void steps_free(struct steps *);
/* Bytes of scratch for one worker, for either function. */
size_t steps_scratch(const struct steps *, const struct simd_real *);
/* Columns of `lanes` rows (n of them valid; x row-major) of all those terms, scaled, and the map's
 * columns of zeros: column c of the map at z + (c - col0) * cs. */
void steps_fill(const struct steps *, const struct simd *, const struct simd_real *,
                const double *hp, const double *x, size_t ldx, size_t n, size_t col0, void *z,
                size_t cs, void *scratch);
/* grad[i] += sum of B o dZ / d log hp[i] over n <= lanes rows (of simd->f64), from rows B as wide
 * as the map; factor: n row factors that B has still to be multiplied by, or NULL.  Without the
 * weights' derivatives. */
void steps_grad(const struct steps *, const struct simd *, const double *hp, const double *x,
                size_t ldx, size_t n, const double *B, size_t ld, const double *factor,
                double *grad, void *scratch);

/* Terms over windows.  Is the sum a factor of a product, whose others turn it? */
bool steps_turns(const struct steps *, const struct fm_term *);
/* Sums over windows that are no plain chain (else windows_rows), for n rows of sequences x:
 * row-major, times `out` and each row's own factor. */
void steps_sum_rows(const struct steps *, const struct fm_term *, const struct simd_real *,
                    const double *hp, double out, const double *x, size_t ldx, size_t n, void *z,
                    size_t ldz, void *scratch);
/* Such sums (float64, lds apart) turned and multiplied by the other factors, of the same rows x
 * with all that stands before the sequence. */
void steps_turn_rows(const struct steps *, const struct fm_term *, const struct simd *,
                     const struct simd_real *, const double *hp, const double *x, size_t ldx,
                     size_t n, const double *sum, size_t lds, void *z, size_t ldz, void *scratch);
/* The way back for n <= lanes rows: grad of the other factors as steps_grad has it, and sum_back,
 * what comes back to the sums. */
void steps_turn_grad(const struct steps *, const struct fm_term *, const struct simd *,
                     const double *hp, const double *x, size_t ldx, size_t n, const double *sum,
                     double *sum_back, size_t lds, const double *B, size_t ld, const double *factor,
                     double *grad, void *scratch);

#endif
