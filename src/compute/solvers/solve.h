/* compute/solvers/solve.h -- the common part of all solvers of A w = b, A = G + lam2 I (linop.h;
 * share/doc/methods.md 1.5, 9): the system of random features, the options, outcome and figures of
 * a solve, conjugate gradients, and a solver's row in the registry (solver.h).  Nothing here
 * depends on which solvers there are.
 *
 * An iteration that stops early is not an error: the best iterate is returned with an outcome.
 * Vectors of several right-hand sides follow one another (column-major). */
#ifndef GPDESK_SOLVE_H
#define GPDESK_SOLVE_H

#include "compute/ctl.h"
#include "compute/features/fop.h"
#include "compute/linop.h"
#include "compute/preconds/precond.h"

#include <stdint.h>

enum outcome {
    OUT_RUNNING = 0,
    OUT_RTOL = 1,       /* ||b - A x|| <= rtol ||b||, checked on the true residual */
    OUT_DIRECT = 2,     /* solved by a factorisation */
    OUT_MAXIT = -1, OUT_CANCELLED = -2,
    OUT_BREAKDOWN = -3, /* p'Ap <= 0 or NaN: A is not positive definite in this precision */
};
/* "rtol" "direct" "maxit" "cancelled" "breakdown" "running" */
const char *solve_outcome(enum outcome);

/* A = Z'Z + lam2 I over a feature operator.  The ridge must outlive the linop made from it. */
struct ridge { struct fop *fop; double lam2; };
struct linop solve_ridge(const struct ridge *);
/* The same for one call: a pointer that lives to the end of the block. */
#define SOLVE_RIDGE(fop, lam2) \
    ((const struct linop[]){ solve_ridge(&(const struct ridge){ (fop), (lam2) }) })

/* Looks at the iterates of a solve, about each time that `every` passes have been made: fills
 * the figures of the tick from X (k vectors), which is what the solve would return now. */
struct solve_watch {
    void (*look)(struct solve_watch *, const double *X, const struct ctl *, struct tick *);
    double every, apart; /* apart: seconds that went into looks */
};

struct solve_opts {
    double rtol; size_t maxit;   /* 0: 1e-6, 500 */
    size_t check_every;          /* iterations between two true residuals (0: 25) */
    size_t nprobes;              /* cg: the first columns are probes, solved for their
                                  * coefficients, */
    double probe_rtol;           /* to this recursive residual, without a check of the true one */
    const struct precond *pre;   /* NULL: none */
    const double *x0;            /* warm start, k vectors; NULL: 0.  It is scaled so that it is
                                  * never
                                    worse than 0 in the A-norm (share/doc/methods.md 9.8) */
    const double *params;        /* values for the solver's table, in its order; 0 or NULL:
                                  * default */
    uint64_t seed;               /* of random batches */
    /* The state in which an earlier solve of this system ended (NULL: none): where the solver can,
     * it goes on from there as if it had not been stopped, for maxit more steps (0: to the end that
     * was planned), and needs no x0. */
    const double *state; size_t nstate;
    struct solve_watch *watch;   /* NULL: none; for dual descents and conjugate gradients */
};
/* The figures of one right-hand side.  Lanczos matrices are made from the histories of alpha and
 * beta (share/doc/methods.md 10.1). */
struct solve_info {
    enum outcome why;
    size_t iterations;
    double residual, true_residual; /* relative to ||b||; the true one at the last check (NaN:
                                     * none) */
    double drift;                   /* true over recursive residual at the last check; NaN: none */
    bool float_limit;               /* the true residual no longer follows the recursive one: more
                                       iterations cannot help (why is OUT_MAXIT) */
    double start;                   /* relative residual of the start; 1 without x0 */
    double passes;                  /* passes over the data, those of checks included */
    size_t halved;                  /* how often a step was halved because it diverged */
    size_t batch;                   /* rows of a step of a dual descent; 0: none, or all */
    double step, step_limit;        /* its n beta at the end, and the longest stable one
                                     * (share/doc/methods.md 9.13); 0: none */
    double momentum;                /* of a dual descent */
    double lambda1;                 /* largest eigenvalue of G over n; 0: not computed */
    size_t replaced;                /* how often the true residual replaced the recursive one */
    double *alpha, *beta;           /* nhist long: the coefficients of one unbroken recursion, up to
                                       the first replacement; owned, freed by solve_info_free */
    size_t nhist;
    double *state;                  /* of the first right-hand side, for all of them: what lets this
                                     * solve go on; numbers for that solver alone; owned; NULL: it
                                     * cannot */
    size_t nstate;
    size_t resumed;                 /* steps made before, where it went on from a state */
};
void solve_info_free(struct solve_info *);
/* The Lanczos matrix of the first n <= nhist steps (share/doc/methods.md 10.1): its diagonal d (n)
 * and off-diagonal e (n-1). */
void solve_lanczos(const struct solve_info *, size_t n, double *d, double *e);

/* Preconditioned conjugate gradients (Hestenes & Stiefel 1952; share/doc/methods.md 9.1) for k
 * right-hand sides at once.  A column that has ended is frozen and costs nothing more.  B and X: k
 * vectors of n, which do not overlap; info: k entries, overwritten (free each with solve_info_free,
 * after an error too).  A column converges only on its true residual, which is also recomputed
 * every check_every iterations; where it has drifted from the recursive one, it replaces that and
 * the recursion restarts.  A column that ended early holds its last iterate, which is its best in
 * the A-norm.  Each iteration reports a tick: value is the largest recursive residual of the active
 * columns, value2 the largest true one if just computed. */
enum status cg_solve(const struct linop *A, size_t k, const double *B, double *X,
                     const struct solve_opts *, const struct ctl *, struct solve_info *info,
                     struct err *);

/* A parameter of a solver, written solver=svrg(batch=256); the value 0, written `auto`, means its
 * default.  SOLVER_TEXT_MAX is the longest text of a solver with its parameters. */
enum { SOLVER_MAX_PARAMS = 5, SOLVER_TEXT_MAX = 112 };
struct solver_param {
    const char *name;
    double lo, hi, init;
    bool whole;
    const char *help;
    const char *words; /* "one,two": what the values 1, 2, ... are called; NULL: numbers */
    bool zero;         /* 0 may be chosen, too, and is kept as SOLVER_ZERO */
    bool each;         /* 20m is 20 of each inducing point, and kept as -20 */
};
#define SOLVER_ZERO (-1.0)

/* A solver's row.  B and X are k vectors of n, one after the other.  A stop on request is an
 * outcome, not a failure.  A solver that factorises returns NOT_PD when A is not positive definite
 * in double precision.  UNSUPPORTED for a system that it cannot work on. */
struct solver_ops {
    const char *name, *title, *help;   /* "pcg", ... */
    bool uses_precond, iterative;
    bool krylov;                       /* conjugate gradients: the coefficients give the condition
                                        * number of P^-1 A, and predicted iterations apply to it */
    bool stochastic;                   /* steps on random batches of rows */
    bool primal;                       /* these are rows of Z: features only */
    bool dual;                         /* these are rows of the kernel: the exact kernel only */
    bool factors;                      /* ... in blocks, each of which takes a factor */
    bool corrects;                     /* takes residuals from the operator's exact form, so that
                                        * its products may be rounded (fop_half) */
    bool coarse; /* reaches two or three digits only: its stochastic error does not vanish */
    const struct solver_param *params; /* ends at .name == NULL; may be NULL */
    enum status (*solve)(const struct linop *, size_t k, const double *B, double *X,
                         const struct solve_opts *, const struct ctl *, struct solve_info *info,
                         struct err *);
};
/* UNSUPPORTED, with the command that works, unless the solver can work on that system. */
enum status solve_suits(const struct solver_ops *, const struct linop *, struct err *);
/* The value of parameter i of a solver's table: the given one, else the default. */
double solve_param(const struct solver_param *, const struct solve_opts *, size_t i);

#endif
