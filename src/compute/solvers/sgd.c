/* compute/solvers/sgd.c -- stochastic gradient descent on the primal objective of an exact kernel
 * (Lin, Antoran, Padhy and others, NeurIPS 2023; share/doc/methods.md 9.14), the baseline of
 * stochastic dual descent: batches of rows for the fit, fresh random features for the
 * regulariser, clipped gradients, momentum and a geometric average. */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/solvers/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH, MOMENTUM, STEP, AVERAGE };
enum { FEATURES = 100, COLUMNS = 64, STREAM_FEATURES = 0x7ffffffd };
static const double clip = 0.1; /* largest norm of a gradient over n, of one right-hand side */

static const struct solver_param sgd_params[] = {
    { "batch", 1, 1e6, 512, true, .help = "rows of a step, drawn with replacement" },
    { "momentum", 0, 0.99, 0.9, false, .help = "Nesterov's momentum", .zero = true },
    { "step", 1e-6, 1e3, 0.8, false, .help = "length of a step, in longest stable ones" },
    { "average", 1, 3, 1, true, .help = "the mean that is returned (arithmetic: of the last 30 %)",
      .words = DUAL_AVERAGES },
    { .name = NULL },
};

struct sgd {
    double *C, *r; /* columns of G (n x COLUMNS); errors of their rows (COLUMNS x k) */
    size_t *at;    /* the batch */
};

/* *most: the largest sum of squares of a column of G, among a sample. */
static enum status largest_column(struct dual *d, double *C, double *most)
{
    const size_t n = d->n, m = n < COLUMNS ? n : COLUMNS;
    size_t at[COLUMNS] = { 0 };

    for (size_t i = 0; i < m; i++)
        at[i] = (size_t)(((double)i + 0.5) * (double)n / (double)m);
    const enum status rc = d->A->columns(d->A->ctx, m, at, C, d->ctl, d->err);
    *most = 0.0;
    for (size_t i = 0; rc == ST_OK && i < m; i++)
        *most = fmax(*most, blas_ddot(n, C + i * n, C + i * n));
    d->passes += (double)m / (double)n;
    return rc;
}

/* The Hessian is G (G + lam2 I); a batch adds at most the largest squared row over B. */
static enum status begin(struct dual *d)
{
    struct sgd *s = d->own;
    double most = 0.0;

    d->batch = d->batch < d->n ? d->batch : d->n;
    s->C = mem_calloc(COLUMNS, d->n * sizeof *s->C, "columns of the kernel", d->err);
    s->r = s->C ? mem_calloc(COLUMNS, d->k * sizeof *s->r, "a batch", d->err) : NULL;
    s->at = s->r ? mem_calloc(d->batch, sizeof *s->at, "a batch", d->err) : NULL;
    const enum status rc = s->at ? largest_column(d, s->C, &most) : ST_NOMEM;
    d->m = d->n;
    d->cost = (double)d->batch / (double)d->n;
    d->limit = dual_limit(d, d->lambda1 * (d->lambda1 + d->A->lam2), most / (double)d->batch);
    d->unit = 1.0; /* the gradient comes divided by n */
    return rc;
}

/* E += sum of K_i (K_i'u - b_i) / B over some rows i, and their errors into the squares. */
static enum status some_rows(struct dual *d, size_t m, const size_t *at)
{
    const size_t n = d->n;
    struct sgd *s = d->own;
    const double share = 1.0 / (double)d->batch;
    const enum status rc = d->A->columns(d->A->ctx, m, at, s->C, d->ctl, d->err);

    if (rc != ST_OK)
        return rc;
    blas_dgemm1(true, false, m, d->k, n, 1.0, s->C, n, d->u, n, 0.0, s->r, m);
    for (size_t c = 0; c < d->k; c++)
        for (size_t j = 0; j < m; j++) {
            double *r = &s->r[c * m + j];
            *r -= d->B[c * n + at[j]];
            const double e = *r + d->A->lam2 * d->u[c * n + at[j]];
            d->square[c] += share * (double)n * e * e;
        }
    blas_dgemm1(false, false, n, d->k, m, share, s->C, n, s->r, m, 1.0, d->E, n);
    return ST_OK;
}

/* E = (n / B sum K_i (K_i'u - b_i) + lam2 F F'u) / n, clipped. */
static enum status gradient(struct dual *d)
{
    const struct sgd *s = d->own;
    const size_t n = d->n, batch = d->batch;
    const uint64_t draw = rng_u64(d->seed, rng_stream(RNG_BATCH, STREAM_FEATURES), d->it);
    enum status rc = ST_OK;

    dual_draw(d, batch, s->at);
    memset(d->E, 0, d->k * n * sizeof *d->E);
    memset(d->square, 0, d->k * sizeof *d->square);
    for (size_t j = 0; rc == ST_OK && j < batch; j += COLUMNS)
        rc = some_rows(d, batch - j < COLUMNS ? batch - j : COLUMNS, s->at + j);
    if (rc == ST_OK)
        rc = d->A->sketch(d->A->ctx, FEATURES, draw, d->k, d->u, d->work, d->ctl, d->err);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        double *g = d->E + c * n;
        blas_daxpy(n, d->A->lam2 / (double)n, d->work + c * n, g);
        const double norm = blas_dnrm2(n, g);
        for (size_t i = 0; norm > clip && i < n; i++)
            g[i] *= clip / norm;
    }
    return rc;
}

static const struct dual_method method = { .name = "sgd", .code = 4, .begin = begin,
                                           .gradient = gradient, .sampled = true };

static enum status sgd_solve(const struct linop *A, size_t k, const double *B, double *X,
                             const struct solve_opts *o, const struct ctl *ctl,
                             struct solve_info *info, struct err *err)
{
    struct sgd s = { NULL };
    struct dual d = { .how = &method, .A = A, .k = k, .B = B, .o = o, .ctl = ctl, .info = info,
                      .err = err, .batch = (size_t)solve_param(sgd_params, o, BATCH),
                      .momentum = solve_param(sgd_params, o, MOMENTUM),
                      .step = solve_param(sgd_params, o, STEP), .own = &s,
                      .average = (enum dual_average)solve_param(sgd_params, o, AVERAGE) };
    enum status rc = solve_suits(&sgd_solver, A, err);

    if (rc == ST_OK && !A->sketch)
        rc = err_set(err, ST_UNSUPPORTED, "solver=sgd needs random features of the kernel");
    if (rc == ST_OK)
        rc = dual_run(&d, X);
    free(s.C);
    free(s.r);
    free(s.at);
    return rc;
}

const struct solver_ops sgd_solver = {
    .name = "sgd", .title = "Stochastic gradient descent",
    .help = "Lin and others 2023, on the primal objective of an exact kernel, for comparison with "
            "sdd",
    .iterative = true, .stochastic = true, .dual = true, .coarse = true, .params = sgd_params,
    .solve = sgd_solve,
};
