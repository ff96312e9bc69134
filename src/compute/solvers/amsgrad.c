/* compute/solvers/amsgrad.c -- AMSGrad (Reddi, Kale & Kumar 2018) on mini-batches, the adaptive
 * baseline of Figure 1 of Parkinson & Wang (share/doc/methods.md 9.5), and Adam (Kingma & Ba 2015;
 * 9.6), which AMSGrad modifies: Adam corrects the bias of its running moments and forgets large
 * gradients.
 *
 * The gradient of a batch of B rows, (n/B) Z_B'(Z_B w) + lam2 w - b (M), needs no targets.  A step
 * has about the length lr in every coordinate.  lr starts at the root mean square of the exact
 * first step of steepest descent and is halved when two checks in a row gain too little, because
 * the error of a batch does not shrink with w and only shorter steps average it out.  One iteration
 * is some epochs and a check of the true residual. */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/solvers/batch.h"
#include "compute/solvers/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH, EPOCHS, STEP, HALVED_MOST = 60 };
static const double gain = 0.95; /* a check gains when the residual falls below this share */

static const struct solver_param amsgrad_params[] = {
    { "batch", 1, 1e6, 512, true, .help = "rows of a batch" },
    { "epochs", 1, 100, 2, true, .help = "epochs between two looks at the true residual" },
    { "step", 1e-6, 1e3, 1, false, .help = "step, relative to that of the rule" },
    { .name = NULL },
};

void amsgrad_step(size_t n, double lr, const double *g, double *m, double *v, double *vh,
                  double *w)
{
    for (size_t i = 0; i < n; i++) {
        m[i] = 0.9 * m[i] + 0.1 * g[i];
        v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
        vh[i] = fmax(vh[i], v[i]);
        w[i] -= lr * m[i] / (sqrt(vh[i]) + 1e-8);
    }
}

void amsgrad_adam_step(size_t n, size_t t, double lr, const double *g, double *m, double *v,
                       double *w)
{
    const double c1 = 1.0 - pow(0.9, (double)t), c2 = 1.0 - pow(0.999, (double)t);

    for (size_t i = 0; i < n; i++) {
        m[i] = 0.9 * m[i] + 0.1 * g[i];
        v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
        w[i] -= lr * (m[i] / c1) / (sqrt(v[i] / c2) + 1e-8);
    }
}

struct amsgrad {
    struct descent s;
    struct batch b;
    bool adam;
    double *lr, *m, *v, *vh; /* step length by column; moments, k vectors of M (vh: largest v) */
    size_t epoch, epochs, steps; /* steps: t of Adam, since its moments were reset */
};

/* lr of each column: the root mean square of the entries of alpha g, alpha = g'g / g'A g, the exact
 * step of steepest descent for a quadratic. */
static enum status step_rule(struct amsgrad *a, double factor)
{
    struct descent *s = &a->s;
    const enum status rc = descent_apply(s, s->G, s->work);

    for (size_t c = 0; rc == ST_OK && c < s->k; c++) {
        const double *g = s->G + c * s->M, gg = blas_ddot(s->M, g, g);
        const double alpha = gg / blas_ddot(s->M, g, s->work + c * s->M);
        a->lr[c] = isfinite(alpha) ? factor * alpha * sqrt(gg / (double)s->M) : 0.0;
    }
    return rc;
}

static void step(struct amsgrad *a, size_t c)
{
    struct descent *s = &a->s;
    const size_t M = s->M, at = c * M;

    if (a->adam)
        amsgrad_adam_step(M, a->steps, a->lr[c], s->work + at, a->m + at, a->v + at, s->W + at);
    else
        amsgrad_step(M, a->lr[c], s->work + at, a->m + at, a->v + at, a->vh + at, s->W + at);
}

/* Returns to the best iterate without momentum.  Adam restarts its second moments too, because old
 * squares would bias its steps. */
static void step_back(struct amsgrad *a)
{
    struct descent *s = &a->s;
    const size_t kM = s->k * s->M;

    descent_back(s);
    memset(a->m, 0, kM * sizeof *a->m);
    if (a->adam) {
        memset(a->v, 0, kM * sizeof *a->v);
        a->steps = 0;
    }
    s->halved++;
}

/* The steps of some epochs. */
static enum status walk(struct amsgrad *a)
{
    struct descent *s = &a->s;
    const size_t M = s->M;
    enum status rc = ST_OK;

    for (size_t e = 0; e < a->epochs; e++) {
        batch_shuffle(&a->b, s->o->seed, a->epoch++);
        for (size_t i = 0; rc == ST_OK && i < a->b.count; i++) {
            if (ctl_stopped(s->ctl))
                return err_set(s->err, ST_CANCELLED, "stopped");
            rc = batch_pass(&a->b, i, s->W, s->work, s->err);
            s->passes += (double)a->b.per / (double)a->b.blocks;
            for (size_t j = 0; rc == ST_OK && j < s->k * M; j++)
                s->work[j] += s->A.lam2 * s->W[j] - s->B[j];
            a->steps++;
            for (size_t c = 0; rc == ST_OK && c < s->k; c++)
                step(a, c);
        }
    }
    return rc;
}

static void halve(struct amsgrad *a)
{
    for (size_t c = 0; c < a->s.k; c++)
        a->lr[c] *= 0.5;
}

static double worst(const struct descent *s)
{
    double most = 0.0;
    for (size_t c = 0; c < s->k; c++)
        most = s->bnorm[c] > 0.0 ? fmax(most, s->least[c]) : most;
    return most;
}

/* Epochs and checks until convergence; the step is halved after divergence, and after two checks
 * in a row that gain too little. */
static enum status iterate(struct amsgrad *a, enum outcome *why, enum look look)
{
    struct descent *s = &a->s;
    enum status rc = ST_OK;
    size_t idle = 0, halvings = 0;

    while (rc == ST_OK && look != LOOK_DONE && s->it < s->maxit) {
        const double before = worst(s);
        rc = walk(a);
        s->it += rc == ST_OK;
        if (rc == ST_OK)
            rc = descent_look(s, false, &look);
        if (rc != ST_OK)
            break;
        if (look == LOOK_WORSE)
            step_back(a);
        idle = worst(s) > gain * before ? idle + 1 : 0;
        if (look != LOOK_WORSE && idle < 2)
            continue;
        idle = 0;
        halve(a);
        if (++halvings > HALVED_MOST) {
            *why = s->halved > HALVED_MOST / 2 ? OUT_BREAKDOWN : OUT_MAXIT;
            break;
        }
    }
    return rc;
}

/* s: prepared for descent_new. */
static enum status solve(struct descent s, bool adam, size_t k, const double *B, double *X)
{
    struct fop *f = s.A.fop;
    const struct solve_opts *o = s.o;
    struct err *err = s.err;
    struct amsgrad a = { .s = s, .adam = adam,
                         .epochs = (size_t)solve_param(amsgrad_params, o, EPOCHS) };
    enum outcome why = OUT_MAXIT;
    enum look look = LOOK_ON;
    enum status rc = descent_new(&a.s, k, B);
    const size_t kM = k * fop_cols(f);

    if (rc == ST_OK)
        rc = descent_look(&a.s, true, &look);
    if (rc == ST_OK && look != LOOK_DONE) {
        rc = batch_new(&a.b, f, (size_t)solve_param(amsgrad_params, o, BATCH), k, err);
        a.lr = rc == ST_OK ? mem_calloc(k + 3 * kM, sizeof *a.lr, "gradient descent", err) : NULL;
        if (rc == ST_OK && !a.lr)
            rc = ST_NOMEM;
    }
    if (rc == ST_OK && look != LOOK_DONE) {
        a.m = a.lr + k;
        a.v = a.m + kM;
        a.vh = a.v + kM;
        rc = step_rule(&a, solve_param(amsgrad_params, o, STEP));
        if (rc == ST_OK)
            rc = iterate(&a, &why, look);
    }
    free(a.lr);
    batch_free(&a.b);
    return descent_end(&a.s, rc, why, false, X);
}

static enum status amsgrad_solve(const struct linop *A, size_t k, const double *B, double *X,
                                 const struct solve_opts *o, const struct ctl *ctl,
                                 struct solve_info *info, struct err *err)
{
    const enum status rc = solve_suits(&amsgrad_solver, A, err);
    if (rc != ST_OK)
        return rc;
    return solve((struct descent){ .method = amsgrad_solver.name, .A = *A, .o = o, .ctl = ctl,
                                   .info = info, .err = err }, false, k, B, X);
}

static enum status adam_solve(const struct linop *A, size_t k, const double *B, double *X,
                              const struct solve_opts *o, const struct ctl *ctl,
                              struct solve_info *info, struct err *err)
{
    const enum status rc = solve_suits(&adam_solver, A, err);
    if (rc != ST_OK)
        return rc;
    return solve((struct descent){ .method = adam_solver.name, .A = *A, .o = o, .ctl = ctl,
                                   .info = info, .err = err }, true, k, B, X);
}

const struct solver_ops amsgrad_solver = {
    .name = "amsgrad", .title = "AMSGrad",
    .help = "Reddi, Kale & Kumar 2018, for comparison: two or three digits, rarely more",
    .iterative = true, .stochastic = true, .primal = true, .coarse = true,
    .params = amsgrad_params, .solve = amsgrad_solve,
};

const struct solver_ops adam_solver = {
    .name = "adam", .title = "Adam",
    .help = "Kingma & Ba 2015, for comparison: as AMSGrad, bias-corrected, forgets large gradients",
    .iterative = true, .stochastic = true, .primal = true, .coarse = true,
    .params = amsgrad_params, .solve = adam_solve,
};
