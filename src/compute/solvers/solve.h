/* compute/solvers/solve.h -- what every solver of A w = b with A = Z'Z + lam2 I is made of: the
 * operator, options, outcome and numbers of a solve, conjugate gradients, and a solver's row in the
 * registry (solver.h).  Nothing here knows which solvers there are.
 *
 * An iteration that stops is not an error: the best iterate is returned with an outcome. */
#ifndef GPDESK_SOLVE_H
#define GPDESK_SOLVE_H

#include "compute/ctl.h"
#include "compute/features/fop.h"
#include "compute/preconds/precond.h"

#include <stdint.h>

enum outcome {
    OUT_RUNNING = 0,
    OUT_RTOL = 1,       /* ||b - A x|| <= rtol ||b||, checked on the true residual */
    OUT_DIRECT = 2,     /* factorised */
    OUT_MAXIT = -1, OUT_CANCELLED = -2,
    OUT_BREAKDOWN = -3, /* p'Ap <= 0 or NaN: A is not positive definite in this precision */
};
/* "rtol" "direct" "maxit" "cancelled" "breakdown" "running" */
const char *solve_outcome(enum outcome);

typedef enum status apply_fn(void *ctx, size_t k, const double *X, double *AX, const struct ctl *,
                             struct err *);
/* A is used, never formed.  pool serves the preconditioner; NULL is fine. */
struct linop {
    size_t n;
    apply_fn *apply;
    apply_fn *exact; /* apply is rounded, and residuals are of this; NULL: apply itself is meant */
    void *ctx;
    struct pool *pool;
    struct fop *fop; /* A is Z'Z + lam2 I of it, which may keep the recursion's vectors; or NULL */
    double lam2;
};

/* A = Z'Z + lam2 I over a feature operator; must outlive the linop made of it. */
struct ridge { struct fop *fop; double lam2; };
struct linop solve_ridge(const struct ridge *);

struct solve_opts {
    double rtol; size_t maxit;   /* 0: 1e-6, 500 */
    size_t check_every;          /* true residual every so many iterations (0: 25) */
    size_t nprobes;              /* cg: the first columns, wanted for their coefficients and to */
    double probe_rtol;           /* this recursive residual, which nobody checks */
    const struct precond *pre;   /* NULL: none */
    const double *x0;            /* warm start, k vectors; NULL: 0.  Scaled so that it is never
                                    worse than 0 in the A-norm */
    const double *params;        /* of the solver's own table, in its order; 0 or NULL: default */
    uint64_t seed;               /* of random batches */
};
/* Per right-hand side; alpha/beta histories feed Lanczos (share/doc/methods.md 10.1). */
struct solve_info {
    enum outcome why;
    size_t iterations;
    double residual, true_residual; /* relative: / ||b||; true: at the last check, NaN: none */
    double drift;                   /* true / recursive at the last check; NaN: none */
    bool float_limit;               /* the true residual stopped following the recursive one: more
                                       iterations cannot help (why is OUT_MAXIT) */
    double start;                   /* relative residual of the start: 1 without x0 */
    double passes;                  /* over the data, those of checks included */
    size_t halved;                  /* times that a step was halved because it diverged */
    size_t replaced;                /* times the recursive residual was replaced by the true one */
    double *alpha, *beta;           /* nhist long: the steps of one unbroken recursion (up to the
                                       first replacement); owned: solve_info_free */
    size_t nhist;
};
void solve_info_free(struct solve_info *);

/* Preconditioned conjugate gradients (Hestenes & Stiefel 1952; share/doc/methods.md 9.1) for k
 * right-hand sides at once; a column that has ended is frozen and costs nothing more.  B, X: k
 * vectors of n, no overlap; info: k of them, filled anew (free each with solve_info_free, also
 * after an error). Converged only on the true residual, which is also recomputed every check_every
 * iterations; where it has drifted from the recursive one the latter is replaced and the recursion
 * restarts. A column that ended early holds its last iterate, which is its best in the A-norm.
 * Ticks: "cg", one per iteration; value the largest recursive residual of the columns at work,
 * value2 the largest true one where just computed. */
enum status cg_solve(const struct linop *A, size_t k, const double *B, double *X,
                     const struct solve_opts *, const struct ctl *, struct solve_info *info,
                     struct err *);

/* A parameter of a solver, written solver=svrg(batch=256); 0 stands for its default. */
enum { SOLVER_MAX_PARAMS = 4, SOLVER_TEXT_MAX = 96 }; /* the latter: of such a text */
struct solver_param { const char *name; double lo, hi, init; bool whole; const char *help; };

/* A solver's row.  B and X are k vectors of M, one after the other.  A stop on request is an
 * outcome, not a failure; a solver that factorises needs A positive definite to double precision,
 * else NOT_PD. */
struct solver_ops {
    const char *name, *title, *help;   /* "pcg", ... */
    bool uses_precond, iterative;
    bool krylov;                       /* conjugate gradients: their coefficients tell the condition
                                        * of P^-1 A, and predicted iterations are theirs */
    bool stochastic;                   /* steps on random batches of rows */
    bool corrects;                     /* its residuals are those of an operator's exact form: the
                                        * other may be rounded (fop_half) */
    bool coarse; /* ends after two or three digits: its errors do not vanish */
    const struct solver_param *params; /* ends at .name == NULL; may be NULL */
    enum status (*solve)(const struct ridge *, size_t k, const double *B, double *X,
                         const struct solve_opts *, const struct ctl *, struct solve_info *info,
                         struct err *);
};
/* Parameter i of a solver's table as it is used: the given value, else the default. */
double solve_param(const struct solver_param *, const struct solve_opts *, size_t i);

#endif
