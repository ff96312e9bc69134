/* compute/solvers/pcg.c -- the default solver for many features: conjugate gradients with the
 * preconditioner that the fit has built (share/doc/methods.md 9.1). */
#include "compute/solvers/solver.h"

const struct solver_ops pcg_solver = {
    .name = "pcg", .title = "Preconditioned conjugate gradients",
    .help = "Z'Z is never formed: memory and time per iteration are linear in the number of "
            "features",
    .uses_precond = true, .iterative = true, .krylov = true, .corrects = true, .solve = cg_solve,
};
