/* compute/solvers/lbfgs.c -- L-BFGS on the primal weights (Nocedal 1980; Nocedal & Wright 2006,
 * algorithm 7.4; share/doc/methods.md 9.7).
 *
 * The loss is quadratic, so that one product A d tells everything about the line w + t d: value,
 * slope, the gradient there, and the exact minimiser t = -g'd / d'A d.  A general library (NLopt)
 * would ask for value and gradient point by point, one pass each; it could not share a pass between
 * right-hand sides, could not be stopped within a pass, and has no relative residual to end on.
 *
 * With exact steps the iterates are those of conjugate gradients, to rounding (Nocedal & Wright,
 * theorem 7.4).  wolfe=1 takes the unit step where it meets the strong Wolfe conditions (c1 1e-4,
 * c2 0.9), as general codes do; Figure 1 of Parkinson & Wang shows such a code.  Curvature pairs
 * satisfy s'y = t^2 d'A d > 0 by construction, which keeps the inverse Hessian positive
 * definite. */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/solvers/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY, WOLFE };

static const struct solver_param lbfgs_params[] = {
    { "memory", 1, 100, 10, true, .help = "steps remembered" },
    { "wolfe", 0, 1, 0, true, .help = "1: unit steps where the strong Wolfe conditions allow" },
    { .name = NULL },
};

struct lbfgs {
    struct descent s;
    size_t memory;
    bool wolfe;
    double *D;                   /* directions, k vectors of M */
    double *S, *Y;               /* steps s and changes of gradient y, memory x k vectors of M */
    double *rho, *a;             /* 1 / s'y, memory x k; coefficients of the recursion, memory */
    size_t have, next;           /* pairs remembered; slot of the next pair */
    double *replaced;            /* by column: true residual at the last replacement */
};

static double *pair(const struct lbfgs *l, double *of, size_t slot, size_t column)
{
    return of + (slot * l->s.k + column) * l->s.M;
}

/* d = -H g for one column by the two-loop recursion, with H0 = (s'y / y'y) I of the newest pair. */
static void direction(struct lbfgs *l, size_t c)
{
    const size_t M = l->s.M, k = l->s.k, m = l->memory;
    double *d = l->D + c * M;

    for (size_t i = 0; i < M; i++)
        d[i] = -l->s.G[c * M + i];
    for (size_t i = 0; i < l->have; i++) { /* newest first */
        const size_t at = (l->next + m - 1 - i) % m;
        l->a[at] = l->rho[at * k + c] * blas_ddot(M, pair(l, l->S, at, c), d);
        blas_daxpy(M, -l->a[at], pair(l, l->Y, at, c), d);
    }
    if (l->have) {
        const size_t at = (l->next + m - 1) % m;
        const double *y = pair(l, l->Y, at, c), yy = blas_ddot(M, y, y);
        if (l->rho[at * k + c] > 0.0 && yy > 0.0)
            blas_dscal(M, 1.0 / (l->rho[at * k + c] * yy), d);
    }
    for (size_t i = l->have; i-- > 0;) {
        const size_t at = (l->next + m - 1 - i) % m;
        const double b = l->rho[at * k + c] * blas_ddot(M, pair(l, l->Y, at, c), d);
        blas_daxpy(M, l->a[at] - b, pair(l, l->S, at, c), d);
    }
}

/* The length of the step from slope g'd < 0 and curvature d'A d: the exact minimiser, or with wolfe
 * the unit step where it has sufficient decrease and small enough slope. */
static double length(const struct lbfgs *l, size_t c, double slope, double curvature)
{
    const double exact = -slope / curvature;
    double unit = l->have ? 1.0 : 1.0 / blas_dnrm2(l->s.M, l->s.G + c * l->s.M);

    if (!l->wolfe)
        return exact;
    const double decrease = unit * slope + 0.5 * unit * unit * curvature;
    const bool first = decrease <= 1e-4 * unit * slope;
    const bool second = fabs(slope + unit * curvature) <= 0.9 * fabs(slope);
    return first && second ? unit : exact;
}

/* One step of every column, by one pass.  A column that cannot move stays where it is. */
static enum status step(struct lbfgs *l, bool *broken)
{
    struct descent *s = &l->s;
    const size_t M = s->M;

    for (size_t c = 0; c < s->k; c++)
        direction(l, c);
    const enum status rc = descent_apply(s, l->D, s->work);
    for (size_t c = 0; rc == ST_OK && c < s->k; c++) {
        const double *d = l->D + c * M, *q = s->work + c * M;
        double *g = s->G + c * M, *ps = pair(l, l->S, l->next, c), *py = pair(l, l->Y, l->next, c);
        const double slope = blas_ddot(M, g, d), curvature = blas_ddot(M, d, q);
        l->rho[l->next * s->k + c] = 0.0;
        memset(ps, 0, M * sizeof *ps);
        memset(py, 0, M * sizeof *py);
        if (s->bnorm[c] == 0.0 || s->rel[c] == 0.0)
            continue;
        const double t = length(l, c, slope, curvature);
        if (!(curvature > 0.0) || !(slope < 0.0) || !isfinite(t)) {
            *broken = true;
            continue;
        }
        blas_daxpy(M, t, d, s->W + c * M);
        blas_daxpy(M, t, q, g);
        blas_daxpy(M, t, d, ps);
        blas_daxpy(M, t, q, py);
        l->rho[l->next * s->k + c] = 1.0 / (t * t * curvature);
        s->rel[c] = blas_dnrm2(M, g);
    }
    if (rc == ST_OK) {
        l->next = (l->next + 1) % l->memory;
        l->have += l->have < l->memory;
    }
    return rc;
}

/* Where the recursive gradient has parted from the true one, the memory is discarded.  Where that
 * has happened before without halving the residual, the precision is exhausted. */
static void judge(struct lbfgs *l, const double *recursive, bool *limit)
{
    struct descent *s = &l->s;
    bool restart = false;

    for (size_t c = 0; c < s->k; c++) {
        struct solve_info *in = &s->info[c];
        if (s->bnorm[c] == 0.0 || in->why == OUT_RTOL)
            continue;
        in->drift = s->rel[c] / recursive[c];
        if (in->drift <= 2.0)
            continue;
        if (s->rel[c] > 0.5 * l->replaced[c])
            *limit = in->float_limit = true;
        l->replaced[c] = s->rel[c];
        in->replaced++;
        restart = true;
    }
    if (restart)
        l->have = l->next = 0;
}

/* Steps with the recursive gradient G; true gradients at intervals, before convergence and after
 * a breakdown. */
static enum status iterate(struct lbfgs *l, enum outcome *why)
{
    struct descent *s = &l->s;
    const size_t every = s->o->check_every ? s->o->check_every : 25;
    double *recursive = l->replaced + s->k;
    enum look look = LOOK_ON;
    enum status rc = descent_look(s, true, &look);

    while (rc == ST_OK && look != LOOK_DONE) {
        bool broken = false, limit = false, near = true;
        if (ctl_stopped(s->ctl))
            return err_set(s->err, ST_CANCELLED, "stopped");
        if (s->it == s->maxit)
            break;
        rc = step(l, &broken);
        if (rc != ST_OK)
            break;
        s->it++;
        for (size_t c = 0; c < s->k; c++) {
            near = near && !(s->bnorm[c] > 0.0 && s->rel[c] > s->rtol && s->least[c] > s->rtol);
            recursive[c] = s->rel[c];
        }
        if (near || broken || s->it % every == 0 || s->it == s->maxit) {
            rc = descent_look(s, false, &look);
            if (rc == ST_OK && look != LOOK_DONE)
                judge(l, recursive, &limit);
        } else {
            descent_tell(s, false);
        }
        if (rc == ST_OK && look != LOOK_DONE && (broken || limit)) {
            *why = broken ? OUT_BREAKDOWN : OUT_MAXIT;
            break;
        }
    }
    return rc;
}

static enum status lbfgs_solve(const struct linop *A, size_t k, const double *B, double *X,
                               const struct solve_opts *o, const struct ctl *ctl,
                               struct solve_info *info, struct err *err)
{
    struct lbfgs l = { .s = { .method = lbfgs_solver.name, .A = *A, .o = o, .ctl = ctl,
                              .info = info, .err = err },
                       .memory = (size_t)solve_param(lbfgs_params, o, MEMORY),
                       .wolfe = solve_param(lbfgs_params, o, WOLFE) != 0.0 };
    enum outcome why = OUT_MAXIT;
    const size_t kM = k * A->n;
    enum status rc = descent_new(&l.s, k, B);

    if (rc == ST_OK) {
        l.D = mem_calloc((2 * l.memory + 1) * kM, sizeof *l.D, "the memory of L-BFGS", err);
        l.rho = l.D ? mem_calloc(l.memory * (k + 1) + 2 * k, sizeof *l.rho, "the memory of L-BFGS",
                                 err)
                    : NULL;
        rc = l.rho ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        l.S = l.D + kM;
        l.Y = l.S + l.memory * kM;
        l.a = l.rho + l.memory * k;
        l.replaced = l.a + l.memory;
        for (size_t c = 0; c < k; c++)
            l.replaced[c] = INFINITY;
        rc = iterate(&l, &why);
    }
    free(l.D);
    free(l.rho);
    return descent_end(&l.s, rc, why, true, X);
}

const struct solver_ops lbfgs_solver = {
    .name = "lbfgs", .title = "L-BFGS",
    .help = "limited-memory quasi-Newton on the weights, for comparison",
    .iterative = true, .params = lbfgs_params, .solve = lbfgs_solve,
};
