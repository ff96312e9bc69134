/* compute/solver.h -- linear solvers for A w = b with A = Z'Z + lam2 I: the registry and PCG.
 *
 * An iteration that stops is not an error: the best iterate is returned with an outcome. */
#ifndef GPDESK_SOLVER_H
#define GPDESK_SOLVER_H

#include "compute/ctl.h"
#include "compute/fop.h"
#include "compute/precond.h"

enum outcome {
    OUT_RUNNING = 0,
    OUT_RTOL = 1,       /* ||b - A x|| <= rtol ||b||, checked on the true residual */
    OUT_DIRECT = 2,     /* factorised */
    OUT_MAXIT = -1, OUT_CANCELLED = -2,
    OUT_BREAKDOWN = -3, /* p'Ap <= 0 or NaN: A is not positive definite in this precision */
};
const char *outcome_name(enum outcome); /* "rtol" "direct" "maxit" "cancelled" "breakdown" */

typedef enum status apply_fn(void *ctx, size_t k, const double *X, double *AX, const struct ctl *,
                             struct err *);
struct linop { size_t n; apply_fn *apply; void *ctx; }; /* A is used, never formed */

/* A = Z'Z + lam2 I over a feature operator. */
struct ridge { struct fop *fop; double lam2; };
struct linop ridge_linop(struct ridge *);

struct solve_opts {
    double rtol; size_t maxit;
    size_t check_every;          /* true residual every so many iterations (0: 25) */
    const struct precond *pre;   /* NULL: none */
    const double *x0;            /* warm start; NULL: 0 */
};
/* Per right-hand side; alpha/beta histories feed Lanczos (methods.md D). */
struct solve_info {
    enum outcome why;
    size_t iterations;
    double residual, true_residual; /* relative: / ||b|| */
    double drift;                   /* true / recursive at the last check */
    bool float_limit;               /* true residual stopped following the recursive one */
    double *alpha, *beta;           /* iterations long; owned: solve_info_free */
    size_t nhist;
};
void solve_info_free(struct solve_info *);

/* k right-hand sides at once, per-column convergence; B, X: k vectors of n.  info: k of them. */
enum status cg_solve(const struct linop *A, size_t k, const double *B, double *X,
                     const struct solve_opts *, const struct ctl *, struct solve_info *info,
                     struct err *);

/* The registry: what `fit solver=` offers. */
struct solver_ops {
    const char *name, *title, *help;  /* "pcg", ... */
    bool uses_precond, iterative;
    enum status (*solve)(struct fop *, double lam2, size_t k, const double *B, double *X,
                         const struct solve_opts *, const struct ctl *, struct solve_info *info,
                         struct err *);
};
const struct solver_ops *solver_at(size_t i);
const struct solver_ops *solver_find(const char *name, struct err *err);

#endif
