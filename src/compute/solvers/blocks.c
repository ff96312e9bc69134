/* compute/solvers/blocks.c -- blocks of random rows of an exact kernel, one after the other, each
 * solved exactly for its own weights while all others stay: block Gauss-Seidel in random order,
 * which is sketch and project with coordinates as sketches (Gower & Richtarik, SIAM J. Matrix Anal.
 * Appl. 36 (2015); for kernel ridge regression Rathore, Frangella and others, 2024;
 * share/doc/methods.md 9.17).  It has no step length and needs no eigenvalue.
 *
 * A step takes the same rows of the kernel as one of sdd, and the Cholesky factor of a block; it
 * mends at once what neighbouring rows share, for which gradients take as many steps as the block's
 * condition number: small eigenvalues no longer set the pace. */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/solvers/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH, MOMENTUM, AVERAGE };
enum { MANY = 12, CURVATURE = 5 }; /* blocks from which steps are accelerated; mu C^2 of 9.19 */
static const double most_momentum = 0.999;
enum { STREAM_ORDER = 0x7ffffffa }; /* of RNG_BATCH, and on: a stream for each epoch */

static const struct solver_param blocks_params[] = {
    { "batch", 1, 1e4, 512, true, .help = "rows of a block, at most" },
    { "momentum", 0, 0.99, 0, false, .zero = true,
      .help = "of the step from block to block; auto: accelerated where there are many blocks" },
    { "average", 1, 3, 3, true, .help = "the mean that is returned (arithmetic: of the last 30 %)",
      .words = DUAL_AVERAGES },
    { .name = NULL },
};

struct blocks {
    size_t count, epoch;  /* blocks of an epoch; the one whose order is known, SIZE_MAX: none */
    size_t *order;        /* n */
    double *K;            /* batch x batch */
    bool chooses;         /* acceleration by the number of blocks */
};

/* Accelerated steps (share/doc/methods.md 9.19) for `count` blocks. */
static void accelerate(struct dual *d, double count)
{
    for (double mu = CURVATURE / (count * count);; mu *= 1.25) {
        const double fade = 1.0 - sqrt(mu / count), gain = 1.0 / sqrt(mu * count);
        const double rho = fade * gain * count / (1.0 + gain * count);
        if (rho > most_momentum)
            continue;
        d->momentum = rho;
        d->kept = 1.0 - (gain - 1.0) / (fade * gain * count);
        return;
    }
}

static enum status begin(struct dual *d)
{
    struct blocks *s = d->own;
    const size_t n = d->n, most = d->batch < n ? d->batch : n;

    s->count = (n + most - 1) / most;
    s->epoch = SIZE_MAX;
    d->batch = most;
    d->m = (n + s->count - 1) / s->count;
    d->cost = 1.0 / (double)s->count;
    d->limit = d->unit = 1.0;
    if (s->chooses && s->count >= MANY && (d->free_momentum || d->momentum > 0.0))
        accelerate(d, (double)s->count);
    d->at = mem_calloc(d->m, sizeof *d->at, "a block", d->err);
    s->order = d->at ? mem_calloc(n, sizeof *s->order, "the order of rows", d->err) : NULL;
    s->K = s->order ? mem_aligned(d->m * d->m, sizeof *s->K, "a block", d->err) : NULL;
    return s->K ? ST_OK : ST_NOMEM;
}

/* The rows of this step: every row is in one block of an epoch, and each epoch has another order,
 * which seed and number of the epoch give. */
static void choose(struct dual *d)
{
    struct blocks *s = d->own;
    const size_t epoch = d->it / s->count, b = d->it % s->count;
    const size_t r0 = b * d->n / s->count, r1 = (b + 1) * d->n / s->count;

    if (s->epoch != epoch)
        rng_permutation(d->seed, rng_stream(RNG_BATCH, STREAM_ORDER) + epoch, d->n, s->order);
    s->epoch = epoch;
    d->m = r1 - r0;
    memcpy(d->at, s->order + r0, d->m * sizeof *d->at);
}

/* K <- the factor of A at the block.  Rounding of the kernel's values may be larger than lam2; more
 * is then added: the block is solved less exactly, and the solution of the whole stays. */
static enum status factor(struct dual *d)
{
    const struct blocks *s = d->own;
    const size_t m = d->m;
    double more = 0.0;

    for (;;) {
        enum status rc = d->A->block(d->A->ctx, m, d->at, s->K, d->ctl, d->err);
        for (size_t i = 0; rc == ST_OK && i < m; i++)
            s->K[i + i * m] += d->A->lam2 + more;
        if (rc == ST_OK)
            rc = blas_dpotrf(d->A->pool, m, s->K, m, d->ctl, NULL, d->err);
        if (rc != ST_NOT_PD || more > 1.0)
            return rc;
        err_clear(d->err);
        more = more > 0.0 ? 10.0 * more : 1e-6;
    }
}

/* E <- A_BB^-1 (A u - b)_B, and the squares of (A u - b)_B, n / m of those of all rows. */
static enum status gradient(struct dual *d)
{
    const struct blocks *s = d->own;
    const size_t n = d->n;

    choose(d);
    const size_t m = d->m;
    enum status rc = d->A->rows(d->A->ctx, m, d->at, d->k, d->u, d->E, d->ctl, d->err);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        double *e = d->E + c * m;
        for (size_t j = 0; j < m; j++)
            e[j] += d->A->lam2 * d->u[c * n + d->at[j]] - d->B[c * n + d->at[j]];
        d->square[c] = blas_ddot(m, e, e) * (double)n / (double)m;
    }
    if (rc == ST_OK)
        rc = factor(d);
    if (rc == ST_OK)
        rc = blas_dtrsm(d->A->pool, false, m, d->k, s->K, m, d->E, m, d->err);
    return rc == ST_OK ? blas_dtrsm(d->A->pool, true, m, d->k, s->K, m, d->E, m, d->err) : rc;
}

static const struct dual_method method = { .name = "blocks", .code = 7, .begin = begin,
                                           .gradient = gradient, .sampled = true,
                                           .exact_step = true };

static enum status blocks_solve(const struct linop *A, size_t k, const double *B, double *X,
                                const struct solve_opts *o, const struct ctl *ctl,
                                struct solve_info *info, struct err *err)
{
    struct blocks s = { .chooses = !o->params || o->params[MOMENTUM] == 0.0 };
    struct dual d = { .how = &method, .A = A, .k = k, .B = B, .o = o, .ctl = ctl, .info = info,
                      .err = err, .batch = (size_t)solve_param(blocks_params, o, BATCH),
                      .momentum = solve_param(blocks_params, o, MOMENTUM), .own = &s,
                      .free_momentum = s.chooses,
                      .average = (enum dual_average)solve_param(blocks_params, o, AVERAGE) };
    enum status rc = solve_suits(&blocks_solver, A, err);

    d.step = 1.0 - d.momentum; /* in all a block then moves by its whole solution */
    if (rc == ST_OK)
        rc = dual_run(&d, X);
    free(s.order);
    free(s.K);
    return rc;
}

const struct solver_ops blocks_solver = {
    .name = "blocks", .title = "Random blocks, each solved exactly",
    .help = "sketch and project (Gower & Richtarik 2015): exact kernels of many rows, without a "
            "step length",
    .iterative = true, .stochastic = true, .dual = true, .factors = true,
    .params = blocks_params, .solve = blocks_solve,
};
