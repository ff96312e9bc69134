/* compute/solvers/sdd.c -- stochastic dual descent (Lin, Padhy, Antoran and others, ICLR 2024,
 * algorithm 1; share/doc/methods.md 9.10): momentum steps on random coordinates of the dual
 * objective a'A a / 2 - a'b, A = G + lam2 I (n x n), whose gradient in coordinate i takes row i of
 * the kernel alone.  The error of a batch vanishes with the residual, so that the steps need not
 * become shorter. */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/solvers/dual.h"

enum { BATCH, MOMENTUM, STEP, AVERAGE };

static const struct solver_param sdd_params[] = {
    { "batch", 1, 1e6, 512, true, .help = "rows of a step, drawn with replacement" },
    { "momentum", 0, 0.99, 0.9, false, .help = "Nesterov's momentum", .zero = true },
    { "step", 1e-6, 1e3, 0.8, false, .help = "length of a step, in longest stable ones" },
    { "average", 1, 3, 1, true, .help = "the mean that is returned (arithmetic: of the last 30 %)",
      .words = DUAL_AVERAGES },
    { .name = NULL },
};

static enum status begin(struct dual *d)
{
    double most;
    const enum status rc = dual_diagonal(d, &most);

    d->m = d->batch = d->batch < d->n ? d->batch : d->n;
    d->cost = (double)d->m / (double)d->n;
    d->limit = dual_limit(d, d->lambda1 + d->A->lam2, (most + d->A->lam2) / (double)d->m);
    d->unit = (double)d->m; /* length n / B of the gradient, n beta / n of the step */
    d->at = rc == ST_OK ? mem_calloc(d->m, sizeof *d->at, "a batch", d->err) : NULL;
    return rc == ST_OK && !d->at ? ST_NOMEM : rc;
}

/* E = A u - b at the batch, whose squares are n / B of those of all rows. */
static enum status gradient(struct dual *d)
{
    const size_t n = d->n, m = d->m;

    dual_draw(d, m, d->at);
    const enum status rc = d->A->rows(d->A->ctx, m, d->at, d->k, d->u, d->E, d->ctl, d->err);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        double sum = 0.0;
        for (size_t j = 0; j < m; j++) {
            const size_t i = d->at[j];
            double *e = &d->E[c * m + j];
            *e += d->A->lam2 * d->u[c * n + i] - d->B[c * n + i];
            sum += *e * *e;
        }
        d->square[c] = sum * (double)n / (double)m;
    }
    return rc;
}

static const struct dual_method method = { .name = "sdd", .code = 1, .begin = begin,
                                           .gradient = gradient, .sampled = true };

static enum status sdd_solve(const struct linop *A, size_t k, const double *B, double *X,
                             const struct solve_opts *o, const struct ctl *ctl,
                             struct solve_info *info, struct err *err)
{
    struct dual d = { .how = &method, .A = A, .k = k, .B = B, .o = o, .ctl = ctl, .info = info,
                      .err = err, .batch = (size_t)solve_param(sdd_params, o, BATCH),
                      .momentum = solve_param(sdd_params, o, MOMENTUM),
                      .step = solve_param(sdd_params, o, STEP),
                      .average = (enum dual_average)solve_param(sdd_params, o, AVERAGE) };
    const enum status rc = solve_suits(&sdd_solver, A, err);

    return rc == ST_OK ? dual_run(&d, X) : rc;
}

const struct solver_ops sdd_solver = {
    .name = "sdd", .title = "Stochastic dual descent",
    .help = "Lin and others 2024: exact kernels of many rows; good predictions long before a small "
            "residual",
    .iterative = true, .stochastic = true, .dual = true, .coarse = true, .params = sdd_params,
    .solve = sdd_solve,
};
