/* compute/solvers/descent.c -- functions that the gradient methods share (descent.h).  The gradient
 * of the loss is A w - b (M), by one pass over the data for all columns. */
#include "compute/solvers/descent.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POWER_STEPS = 6 };
static const double worse = 4.0; /* residual over the best one from which a method diverges */

static void descent_free(struct descent *s)
{
    free(s->bnorm);
    free(s->B);
    s->bnorm = s->B = NULL;
}

enum status descent_apply(struct descent *s, const double *X, double *AX)
{
    s->passes += 1.0;
    return s->A.apply(s->A.ctx, s->k, X, AX, s->ctl, s->err);
}

/* W = a x0 with a = b'x0 / x0'A x0 for each column, the best point on the line through 0 and x0 in
 * the A-norm (share/doc/methods.md 9.8); G follows without a further pass. */
static enum status warm(struct descent *s)
{
    const size_t M = s->M;
    const enum status rc = descent_apply(s, s->o->x0, s->work);

    for (size_t c = 0; rc == ST_OK && c < s->k; c++) {
        const double *x = s->o->x0 + c * M, *q = s->work + c * M;
        const double a = blas_ddot(M, x, s->B + c * M) / blas_ddot(M, x, q);
        if (!isfinite(a) || s->bnorm[c] == 0.0)
            continue;
        blas_daxpy(M, a, x, s->W + c * M);
        blas_daxpy(M, a, q, s->G + c * M);
    }
    return rc;
}

/* Scales right-hand sides to norm 1 and sets G = -b at w = 0, or continues from x0. */
static enum status start(struct descent *s, const double *B)
{
    const size_t M = s->M;

    for (size_t c = 0; c < s->k; c++) {
        const double norm = blas_dnrm2(M, B + c * M);
        s->info[c] = (struct solve_info){ .true_residual = NAN, .drift = 1.0 };
        s->least[c] = INFINITY;
        if (!(norm > 0.0) || !isfinite(norm)) { /* b = 0: x = 0; or not a number */
            s->info[c].why = norm == 0.0 ? OUT_RTOL : OUT_BREAKDOWN;
            s->info[c].residual = s->info[c].true_residual = norm == 0.0 ? 0.0 : NAN;
            continue;
        }
        s->bnorm[c] = norm;
        for (size_t i = 0; i < M; i++) {
            s->B[c * M + i] = B[c * M + i] / norm;
            s->G[c * M + i] = -s->B[c * M + i];
        }
    }
    return s->o->x0 ? warm(s) : ST_OK;
}

enum status descent_new(struct descent *s, size_t k, const double *B)
{
    const size_t M = s->A.n, kM = k * M;

    for (size_t c = 0; c < k; c++)
        s->info[c] = (struct solve_info){ .true_residual = NAN, .drift = NAN };
    s->M = M;
    s->k = k;
    s->maxit = s->o->maxit ? s->o->maxit : 500;
    s->rtol = s->o->rtol > 0.0 ? s->o->rtol : 1e-6;
    s->bnorm = mem_calloc(3 * k, sizeof *s->bnorm, "gradient descent", s->err);
    s->B = s->bnorm ? mem_calloc(kM, 6 * sizeof *s->B, "gradient descent", s->err) : NULL;
    if (!s->B) {
        descent_free(s);
        return ST_NOMEM;
    }
    s->rel = s->bnorm + k;
    s->least = s->rel + k;
    s->W = s->B + kM;
    s->G = s->W + kM;
    s->best = s->G + kM;
    s->best_G = s->best + kM;
    s->work = s->best_G + kM;
    return start(s, B);
}

void descent_tell(struct descent *s, bool checked)
{
    struct tick t = { .phase = PHASE_ITERATE, .done = s->it, .total = s->maxit, .value = 0.0,
                      .value2 = NAN, .target = s->rtol, .passes = s->passes,
                      .method = s->method };

    for (size_t c = 0; c < s->k; c++)
        if (s->bnorm[c] > 0.0 && !(s->rel[c] <= t.value))
            t.value = s->rel[c];
    if (checked)
        t.value2 = t.value;
    ctl_tick(s->ctl, &t);
}

enum status descent_look(struct descent *s, bool fresh, enum look *look)
{
    const size_t M = s->M;
    enum status rc = fresh ? ST_OK : descent_apply(s, s->W, s->G);

    if (rc != ST_OK)
        return rc;
    *look = LOOK_DONE;
    bool diverges = false;
    for (size_t c = 0; c < s->k; c++) {
        struct solve_info *in = &s->info[c];
        double *g = s->G + c * M;
        if (s->bnorm[c] == 0.0)
            continue;
        if (!fresh)
            blas_daxpy(M, -1.0, s->B + c * M, g);
        s->rel[c] = in->true_residual = blas_dnrm2(M, g);
        if (s->it == 0)
            in->start = s->rel[c];
        if (!(s->rel[c] <= worse * s->least[c]) || !isfinite(s->rel[c]))
            diverges = true;
        if (s->rel[c] < s->least[c]) {
            s->least[c] = s->rel[c];
            memcpy(s->best + c * M, s->W + c * M, M * sizeof *s->W);
            memcpy(s->best_G + c * M, g, M * sizeof *g);
        }
        if (s->least[c] > s->rtol)
            *look = LOOK_ON;
        else if (in->why == OUT_RUNNING)
            in->why = OUT_RTOL;
        if (in->why == OUT_RUNNING || in->iterations == 0)
            in->iterations = s->it;
    }
    if (*look == LOOK_ON && diverges)
        *look = LOOK_WORSE;
    descent_tell(s, true);
    return ST_OK;
}

void descent_back(struct descent *s)
{
    memcpy(s->W, s->best, s->k * s->M * sizeof *s->W);
    memcpy(s->G, s->best_G, s->k * s->M * sizeof *s->G);
    for (size_t c = 0; c < s->k; c++)
        s->rel[c] = s->least[c];
}

enum status descent_end(struct descent *s, enum status rc, enum outcome why, bool iterate,
                        double *X)
{
    const size_t M = s->M;

    if (rc == ST_CANCELLED && ctl_stopped(s->ctl)) {
        err_clear(s->err);
        rc = ST_OK;
        why = OUT_CANCELLED;
    }
    for (size_t c = 0; rc == ST_OK && s->B && c < s->k; c++) {
        struct solve_info *in = &s->info[c];
        const bool done = in->why == OUT_RTOL;
        const double *from = (iterate && !done ? s->W : s->best) + c * M;
        for (size_t i = 0; i < M; i++)
            X[c * M + i] = s->bnorm[c] * from[i];
        in->passes = s->passes;
        in->halved = s->halved;
        if (s->bnorm[c] == 0.0)
            continue;
        if (!done) {
            in->why = why;
            in->iterations = s->it;
        }
        if (!iterate || done)
            in->true_residual = isfinite(s->least[c]) ? s->least[c] : NAN;
        in->residual = iterate && !done ? s->rel[c] : in->true_residual;
    }
    descent_free(s);
    return rc;
}

enum status descent_top(struct descent *s, const struct precond *pre, double *top)
{
    const size_t M = s->M;
    enum status rc = ST_OK;
    double *u = mem_calloc(3 * M, sizeof *u, "power iterations", s->err);

    if (!u)
        return ST_NOMEM;
    double *x = u + M, *q = x + M;
    *top = 0.0;
    for (size_t i = 0; i < M; i++)
        u[i] = rng_normal(s->o->seed, rng_stream(RNG_BATCH, UINT32_MAX), i);
    /* With u = P x the Rayleigh quotient of P^-1/2 A P^-1/2 is x'A x / x'P x = x'q / x'u. */
    for (int i = 0; rc == ST_OK && i < POWER_STEPS; i++) {
        if (pre)
            rc = precond_apply(pre, s->A.pool, 1, u, x, s->err);
        else
            memcpy(x, u, M * sizeof *x);
        if (rc == ST_OK)
            rc = s->A.apply(s->A.ctx, 1, x, q, s->ctl, s->err);
        s->passes += 1.0;
        if (rc != ST_OK)
            break;
        *top = fmax(*top, blas_ddot(M, x, q) / blas_ddot(M, x, u));
        const double norm = blas_dnrm2(M, q);
        for (size_t j = 0; j < M; j++)
            u[j] = q[j] / norm;
    }
    *top *= 1.1;
    free(u);
    return rc;
}
