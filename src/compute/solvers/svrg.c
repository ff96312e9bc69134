/* compute/solvers/svrg.c -- stochastic variance-reduced gradient (SVRG; Johnson & Zhang 2013),
 * plain and preconditioned: baselines of Figure 1 of Parkinson & Wang (share/doc/methods.md 9.3,
 * 9.4).
 *
 * At a snapshot the whole gradient G = A w - b (M) is known.  At a distance v from it a batch of B
 * rows tells how the gradient has changed: Z'Z v ~ (n/B) Z_B'(Z_B v), which is unbiased and whose
 * error shrinks with v.  The steps are
 *   v -= eta P^-1 ((n/B) Z_B'(Z_B v) + lam2 v + G),  eta = step / L,                    (9.3)
 *   L = top + n lev / B,  top = eigenvalue_1 of P^-1 A,  lev = max z'P^-1 z.            (9.4)
 * The rule for L is empirical: the iteration is stable up to steps of about 2 / L.  A step that
 * diverges all the same is halved, from the best iterate.  One iteration is a snapshot with the
 * epochs that follow it. */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/solvers/batch.h"
#include "compute/solvers/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH, EPOCHS, STEP, HALVED_MOST = 30 };

static const struct solver_param svrg_params[] = {
    { "batch", 1, 1e6, 512, true, .help = "rows of a batch" },
    { "epochs", 1, 100, 2, true, .help = "epochs between two snapshots of the whole gradient" },
    { "step", 1e-6, 100, 1, false, .help = "step, relative to that of the rule" },
    { .name = NULL },
};

enum status svrg_step(struct descent *s, const struct precond *pre, double eta, double *v)
{
    const size_t kM = s->k * s->M;
    const double lam2 = s->A.lam2, *G = s->G;
    double *Q = s->work;

    for (size_t i = 0; i < kM; i++)
        Q[i] += lam2 * v[i] + G[i];
    const enum status rc = pre ? precond_apply(pre, s->A.pool, s->k, Q, Q, s->err) : ST_OK;
    for (size_t i = 0; rc == ST_OK && i < kM; i++)
        v[i] -= eta * Q[i];
    return rc;
}

/* *eta = 1 / L (9.4); with a whole pass as a batch the gradient is exact, and L = top. */
static enum status step_rule(struct descent *s, struct batch *b, const struct precond *pre,
                             double *eta)
{
    double top = 0.0, lev = 0.0;
    enum status rc = descent_top(s, pre, &top);

    if (rc == ST_OK && b->per < b->blocks)
        rc = batch_leverage(b->f, pre, &lev, s->err);
    const double n = (double)fop_rows(b->f);
    *eta = 1.0 / (top + n * lev / (double)batch_size(b));
    return rc;
}

/* The epochs after a snapshot, from v = 0; then W += v. */
static enum status leave(struct descent *s, struct batch *b, const struct precond *pre, double eta,
                         size_t epochs, size_t *epoch, double *v)
{
    enum status rc = ST_OK;

    memset(v, 0, s->k * s->M * sizeof *v);
    for (size_t e = 0; e < epochs; e++) {
        batch_shuffle(b, s->o->seed, (*epoch)++);
        for (size_t i = 0; rc == ST_OK && i < b->count; i++) {
            if (ctl_stopped(s->ctl))
                return err_set(s->err, ST_CANCELLED, "stopped");
            rc = batch_pass(b, i, v, s->work, s->err);
            s->passes += (double)b->per / (double)b->blocks;
            if (rc == ST_OK)
                rc = svrg_step(s, pre, eta, v);
        }
    }
    for (size_t i = 0; rc == ST_OK && i < s->k * s->M; i++)
        s->W[i] += v[i];
    return rc;
}

/* s: prepared for descent_new. */
static enum status run(struct descent s, const struct precond *pre, size_t k, const double *B,
                       double *X)
{
    struct fop *f = s.A.fop;
    struct batch b = { .f = NULL };
    enum look look = LOOK_ON;
    enum outcome why = OUT_MAXIT;
    double eta = 0.0, *v = NULL;
    size_t epoch = 0;
    enum status rc = descent_new(&s, k, B);

    if (rc == ST_OK)
        rc = descent_look(&s, true, &look);
    if (rc == ST_OK && look != LOOK_DONE) {
        rc = batch_new(&b, f, (size_t)solve_param(svrg_params, s.o, BATCH), k, s.err);
        v = rc == ST_OK ? mem_calloc(k * s.M, sizeof *v, "gradient descent", s.err) : NULL;
        rc = v ? step_rule(&s, &b, pre, &eta) : rc == ST_OK ? ST_NOMEM : rc;
        eta *= solve_param(svrg_params, s.o, STEP);
    }
    while (rc == ST_OK && look != LOOK_DONE && s.it < s.maxit) {
        rc = leave(&s, &b, pre, eta, (size_t)solve_param(svrg_params, s.o, EPOCHS), &epoch, v);
        s.it += rc == ST_OK;
        if (rc == ST_OK)
            rc = descent_look(&s, false, &look);
        if (rc != ST_OK || look != LOOK_WORSE)
            continue;
        descent_back(&s);
        eta *= 0.5;
        if (++s.halved > HALVED_MOST) {
            why = OUT_BREAKDOWN;
            break;
        }
    }
    free(v);
    batch_free(&b);
    return descent_end(&s, rc, why, false, X);
}

static enum status svrg_solve(const struct linop *A, size_t k, const double *B, double *X,
                              const struct solve_opts *o, const struct ctl *ctl,
                              struct solve_info *info, struct err *err)
{
    const enum status rc = solve_suits(&svrg_solver, A, err);
    if (rc != ST_OK)
        return rc;
    return run((struct descent){ .method = svrg_solver.name, .A = *A, .o = o, .ctl = ctl,
                                 .info = info, .err = err }, NULL, k, B, X);
}

static enum status psvrg_solve(const struct linop *A, size_t k, const double *B, double *X,
                               const struct solve_opts *o, const struct ctl *ctl,
                               struct solve_info *info, struct err *err)
{
    const enum status rc = solve_suits(&psvrg_solver, A, err);
    if (rc != ST_OK)
        return rc;
    return run((struct descent){ .method = psvrg_solver.name, .A = *A, .o = o, .ctl = ctl,
                                 .info = info, .err = err }, o->pre, k, B, X);
}

const struct solver_ops svrg_solver = {
    .name = "svrg", .title = "Stochastic variance-reduced gradient",
    .help = "Johnson & Zhang 2013, for comparison: slow where the noise is small",
    .iterative = true, .stochastic = true, .primal = true, .params = svrg_params,
    .solve = svrg_solve,
};
const struct solver_ops psvrg_solver = {
    .name = "psvrg", .title = "Preconditioned SVRG",
    .help = "svrg with the preconditioner of pcg: few passes where its rank is enough",
    .uses_precond = true, .iterative = true, .stochastic = true, .primal = true,
    .params = svrg_params, .solve = psvrg_solve,
};
