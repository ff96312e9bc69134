/* compute/solvers/gd.c -- gradient descent with momentum on all rows of an exact kernel, for
 * comparison: what stochastic dual descent becomes without batches, and what the primal objective
 * makes of it (Figure 1 of Lin, Padhy, Antoran and others, ICLR 2024).
 *
 * The gradients are A a - b and G (A a - b) (share/doc/methods.md 9.9), by one and by two products,
 * their Hessians A and G A. */
#include "compute/solvers/solver.h"

#include "compute/linalg/blas.h"
#include "compute/solvers/dual.h"

enum { OBJECTIVE, MOMENTUM, STEP };

static const struct solver_param gd_params[] = {
    { "objective", 1, 2, 1, true, .help = "what descends: the dual or the primal objective",
      .words = "dual,primal" },
    { "momentum", 0, 0.99, 0.9, false, .help = "Nesterov's momentum", .zero = true },
    { "step", 1e-6, 1e3, 0.8, false, .help = "length of a step, in longest stable ones" },
    { .name = NULL },
};

static enum status begin_dual(struct dual *d)
{
    d->m = d->n;
    d->cost = 1.0;
    d->unit = (double)d->n;
    d->limit = dual_limit(d, d->lambda1 + d->A->lam2, 0.0);
    return ST_OK;
}

static enum status begin_primal(struct dual *d)
{
    d->m = d->n;
    d->cost = 2.0;
    d->unit = (double)d->n;
    d->limit = dual_limit(d, d->lambda1 * (d->lambda1 + d->A->lam2), 0.0);
    return ST_OK;
}

/* r = A u - b. */
static enum status residual(struct dual *d, double *r)
{
    const size_t n = d->n;
    const enum status rc = d->A->apply(d->A->ctx, d->k, d->u, r, d->ctl, d->err);

    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        blas_daxpy(n, -1.0, d->B + c * n, r + c * n);
        d->square[c] = blas_ddot(n, r + c * n, r + c * n);
    }
    return rc;
}

static enum status gradient_dual(struct dual *d)
{
    return residual(d, d->E);
}

static enum status gradient_primal(struct dual *d)
{
    const size_t n = d->n;
    enum status rc = residual(d, d->work);

    if (rc == ST_OK)
        rc = d->A->apply(d->A->ctx, d->k, d->work, d->E, d->ctl, d->err);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++)
        blas_daxpy(n, -d->A->lam2, d->work + c * n, d->E + c * n);
    return rc;
}

static const struct dual_method methods[] = {
    { .name = "gd", .code = 2, .begin = begin_dual, .gradient = gradient_dual },
    { .name = "gd", .code = 3, .begin = begin_primal, .gradient = gradient_primal },
};

static enum status gd_solve(const struct linop *A, size_t k, const double *B, double *X,
                            const struct solve_opts *o, const struct ctl *ctl,
                            struct solve_info *info, struct err *err)
{
    const size_t objective = (size_t)solve_param(gd_params, o, OBJECTIVE);
    struct dual d = { .how = &methods[objective - 1], .A = A, .k = k, .B = B, .o = o, .ctl = ctl,
                      .info = info, .err = err, .momentum = solve_param(gd_params, o, MOMENTUM),
                      .step = solve_param(gd_params, o, STEP), .average = DUAL_NONE };
    const enum status rc = solve_suits(&gd_solver, A, err);

    return rc == ST_OK ? dual_run(&d, X) : rc;
}

const struct solver_ops gd_solver = {
    .name = "gd", .title = "Gradient descent",
    .help = "on all rows of an exact kernel, for comparison with sdd",
    .iterative = true, .dual = true, .params = gd_params, .solve = gd_solve,
};
