/* compute/solvers/pcg.c -- the default solver for many features: conjugate gradients with the
 * preconditioner that the fit has built (share/doc/methods.md 9.1). */
#include "compute/solvers/solver.h"

static enum status pcg_solve(const struct ridge *r, size_t k, const double *B, double *X,
                             const struct solve_opts *opts, const struct ctl *ctl,
                             struct solve_info *info, struct err *err)
{
    const struct linop A = solve_ridge(r);
    return cg_solve(&A, k, B, X, opts, ctl, info, err);
}

const struct solver_ops pcg_solver = {
    .name = "pcg", .title = "Preconditioned conjugate gradients",
    .help = "Z'Z is never formed: memory and time per iteration are linear in the number of "
            "features",
    .uses_precond = true, .iterative = true, .krylov = true, .corrects = true, .solve = pcg_solve,
};
