/* compute/cpu/cpu_grad.c -- the derivatives in all hyperparameters at once, from the features Z and
 * B = d value / dZ (share/doc/methods.md 6.12, 3.13), by the transposed steps in reverse order
 * (reverse accumulation).  For a stationary term with phases p = S H D3 H D2 H D1 (x / l):
 *   b_j = B_sin,j z_cos,j - B_cos,j z_sin,j  (the derivative in p_j),
 *   u = D1 H D2 H D3 H S b,   d value / dlog l_i = -sum over rows of u_i x_i / l_i.
 * All in float64; every H is symmetric and every D diagonal. */
#include "compute/cpu/cpu_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* u += D1 H D2 H D3 H S b for one block of D, b the derivative in the phases (in v). */
static void block_back(const struct simd_real *real, const struct fm_term *t, size_t b, double *v,
                       double *u)
{
    const size_t L = real->lanes, D = t->D;

    for (int s = 3; s-- > 0;) {
        const int8_t *sign = t->signs + ((size_t)s * t->nb + b) * D;
        real->fht(v, D);
        for (size_t i = 0; i < D; i++)
            for (size_t k = 0; sign[i] < 0 && k < L; k++)
                v[i * L + k] = -v[i * L + k];
    }
    for (size_t i = 0; i < t->d * L; i++)
        u[i] += v[i];
}

/* b of all blocks of a term: d/dp (c cos p, c sin p) = (-c sin p, c cos p), so that the features
 * themselves are all that is needed. */
static void term_back(const struct simd_real *real, const struct fm_term *t, size_t n,
                      const double *z, const double *B, size_t ld, double *v, double *u)
{
    const size_t L = real->lanes;

    memset(u, 0, t->d * L * sizeof *u);
    for (size_t b = 0; b < t->nb; b++) {
        memset(v, 0, t->D * L * sizeof *v);
        for (size_t i = 0; i < t->D && b * t->D + i < t->mf; i++) {
            const size_t j = b * t->D + i, at = t->col0 + 2 * j;
            for (size_t k = 0; k < n; k++)
                v[i * L + k] = t->scale[j] * (z[k * ld + at] * B[k * ld + at + 1] -
                                              z[k * ld + at + 1] * B[k * ld + at]);
        }
        block_back(real, t, b, v, u);
    }
}

/* The derivatives in the weights of products: dZ / dlog w = Z on their columns. */
static void weights_back(const struct cpu *c, size_t rows, const double *z, const double *B,
                         size_t ld, double *grad)
{
    for (size_t i = 0; i < c->fm->nterms; i++) {
        const struct fm_term *t = &c->fm->term[i];
        for (size_t r = 0; t->weight != FM_NONE && r < rows; r++)
            for (size_t j = t->col0; j < t->col0 + t->cols; j++)
                grad[t->weight] += z[r * ld + j] * B[r * ld + j];
    }
}

/* The derivatives in the lengthscales of plain terms for some rows; z and B as wide as the map, ld
 * apart; v: workspace of L (D + d). */
static void plain_back(const struct cpu *c, const struct simd_inputs *in, const double *z,
                       const double *B, size_t ld, size_t D, double *v, double *grad)
{
    const struct simd_real *real = &c->simd->f64;
    const size_t L = real->lanes;
    double *u = v + L * D;

    for (size_t i = 0; i < c->nseg; i++) {
        const struct fm_term *t = c->seg[i].fm;
        if (!t || featmap_is_windowed(t))
            continue;
        term_back(real, t, in->n, z, B, ld, v, u);
        for (size_t k = 0; k < in->n; k++)
            for (size_t j = 0; j < t->d; j++) {
                const size_t h = fm_lengthscale(&t->steps[0], j);
                grad[h] -= u[j * L + k] * in->x[k * in->ldx + t->first + j] / c->hp[h];
            }
    }
}

/* Terms over windows.  The features are sums, from which the phases cannot be recovered: the
 * columns of each window are made again. */
static enum status windows_grad(struct cpu *c, size_t r0, size_t r1, const double *B, size_t ld,
                                double *grad, struct err *err)
{
    const size_t inputs = mem_lines(c->R * c->src->d * sizeof(double));
    const size_t end = inputs + mem_lines(cpu_scratch_bytes(c));
    enum status rc = c->signs ? cpu_bits_need(c, err) : ST_OK;
    if (rc != ST_OK) /* what follows reads the bits, which another thread may be making */
        return rc;
    char *work = mem_spare_take(&c->spares, end + cpu_room_bytes(c, true),
                                "tile of derivatives", err);
    double *x = (double *)(void *)work;

    rc = work ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r += c->R) {
        const struct simd_inputs in = {x, c->src->d, r1 - r < c->R ? r1 - r : c->R};
        const struct steps_back back = {B + (r - r0) * ld, ld,
                                        c->opts.row_scale ? c->opts.row_scale + r : NULL};
        rc = c->src->rows(c->src, r, r + in.n, x, err);
        for (size_t i = 0; rc == ST_OK && i < c->nseg; i++) {
            const struct windows w = windows_of(c, i, r, work + end, work + inputs);
            if (is_windows(&c->seg[i]))
                windows_back(&w, &in, c->seg[i].out, &back, grad);
        }
    }
    mem_spare_give(&c->spares, work);
    return rc;
}

enum status cpu_grad(void *state, size_t r0, size_t r1, const double *z, const double *B,
                     size_t ld, double *grad, struct err *err)
{
    struct cpu *c = state;
    const size_t L = c->simd->f64.lanes, d = c->src->d;
    size_t D = 1;

    for (size_t i = 0; i < c->fm->nterms; i++)
        D = c->fm->term[i].D > D ? c->fm->term[i].D : D;
    double *x = mem_aligned(L * d, sizeof *x, "tile of inputs", err);
    double *v = x ? mem_aligned(L * (D + d), sizeof *v, "tile of derivatives", err) : NULL;
    void *scratch = v && c->steps ? mem_aligned(steps_scratch(c->steps, &c->simd->f64), 1,
                                                "tile scratch", err) : NULL;
    enum status rc = v && (scratch || !c->steps) ? ST_OK : ST_NOMEM;
    const struct steps_work work = {c->steps, c->simd, &c->simd->f64, c->hp, scratch};
    for (size_t r = r0; rc == ST_OK && r < r1; r += L) {
        const size_t at = (r - r0) * ld;
        const struct simd_inputs in = {x, d, r1 - r < L ? r1 - r : L};
        const struct steps_back back = {B + at, ld,
                                        c->opts.row_scale ? c->opts.row_scale + r : NULL};
        rc = c->src->rows(c->src, r, r + in.n, x, err);
        if (rc == ST_OK)
            plain_back(c, &in, z + at, B + at, ld, D, v, grad);
        if (rc == ST_OK && c->steps)
            steps_grad(&work, &in, &back, grad);
    }
    if (rc == ST_OK && c->windows)
        rc = windows_grad(c, r0, r1, B, ld, grad, err);
    if (rc == ST_OK)
        weights_back(c, r1 - r0, z, B, ld, grad);
    free(x);
    free(v);
    free(scratch);
    return rc;
}
