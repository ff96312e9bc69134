/* compute/solvers/cg.c -- preconditioned conjugate gradients for several right-hand sides, each
 * with its own scalars (share/doc/methods.md 9.1; Hestenes & Stiefel 1952; Saad, algorithm 9.1):
 *   alpha = r.z / p.Ap,  x += alpha p,  r -= alpha Ap,  z = P^-1 r,
 *   beta = (r.z)_new / (r.z)_old,  p = z + beta p.
 * Right-hand sides are scaled to norm 1, so that residuals are relative ones.
 *
 * Stability.  The recursive residual r is cheap but too optimistic: in float32 it continues to fall
 * after b - A x has stopped.  True residuals are therefore computed at intervals and before a
 * column counts as converged.  Where the two have parted, the true one replaces the recursive one
 * (van der Vorst & Ye 2000) and the directions start anew; where that brings no progress either,
 * the precision is exhausted and the column ends.
 *
 * With a rounded operator (features stored in float16), true residuals are those of its exact form.
 * The same replacements are then iterative refinement: each recursion is a solve with the rounded
 * operator, and rtol holds for the exact one.
 *
 * An operator that keeps the vectors itself (fop_cg_open) takes steps of the same recursion by
 * itself, up to the next check or to the first event of any column.  All decisions are made here.
 * The last X that was checked is kept here, too: if the device fails, the columns continue from it.
 *
 * Active columns occupy the first `active` slots of every work array, so that A is applied to
 * them and to nothing else. */
#include "compute/solvers/solver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double drifted = 2.0;  /* true over recursive residual from which they have parted */
static const double progress = 0.5; /* factor that must be gained between two replacements */

struct slot {
    size_t col;         /* index of the right-hand side */
    double bnorm, rz, rel; /* |b|; r.z; recursive residual */
    double goal;        /* recursive residual at which convergence is checked */
    double replaced_at; /* true residual at the last replacement; infinite: none yet */
    bool probe, check, restart;
    enum outcome why;
    size_t acap, bcap;  /* allocated lengths of the histories */
};

struct cg {
    const struct linop *A;
    const struct solve_opts *opts;
    const struct ctl *ctl;
    size_t n, k, active, it, maxit, every, passes;
    double watched; /* passes at which the caller looked last */
    size_t ritz_at; /* the iteration from which the smallest Ritz value is computed again */
    double rtol, worst_true;
    const double *B;
    double *Xout, *X, *R, *P, *Q, *Z; /* n x k; all by slot, but B and Xout by column */
    struct slot *slot;
    struct solve_info *info;
    struct err *err;
    struct fop_cg *there;    /* the operator's copy of X, R and P, if it keeps them; else NULL */
    /* The preconditioner by the processes of the operator, if they have it (shared): c of
     * backend_inverse; NULL: not asked yet. */
    double *weights;
    bool shared;
    struct cg_slot *column;  /* k, and */
    struct cg_step *history; /* every x k: input and output of a run of steps there */
};

/* True when the operator stopped because the caller asked for it. */
static bool stop_wanted(struct cg *s, enum status rc)
{
    return rc == ST_CANCELLED && ctl_stopped(s->ctl);
}

static enum status apply(struct cg *s, size_t k, const double *X, double *AX)
{
    s->passes++;
    return s->A->apply(s->A->ctx, k, X, AX, s->ctl, s->err);
}

/* A product for a true residual. */
static enum status apply_exact(struct cg *s, size_t k, const double *X, double *AX)
{
    s->passes++;
    return (s->A->exact ? s->A->exact : s->A->apply)(s->A->ctx, k, X, AX, s->ctl, s->err);
}

/* Appends alpha to the history of a column (until its first replacement).  Room for a usual solve
 * is allocated at once, so that iterations allocate nothing. */
static enum status remember(struct cg *s, struct slot *t, double alpha)
{
    struct solve_info *in = &s->info[t->col];
    const size_t usual = s->maxit < 4096 ? s->maxit : 4096,
                 need = in->nhist < usual ? usual : in->nhist + 1;
    if (in->replaced)
        return ST_OK;
    void *a = in->alpha, *b = in->beta;
    enum status rc = mem_grow(&a, &t->acap, need, sizeof alpha, "step history", s->err);
    in->alpha = a;
    if (rc == ST_OK)
        rc = mem_grow(&b, &t->bcap, need, sizeof alpha, "step history", s->err);
    in->beta = b;
    if (rc != ST_OK)
        return rc;
    in->alpha[in->nhist] = alpha;
    in->beta[in->nhist++] = 0.0;
    return ST_OK;
}

/* Exchanges two slots in every array, and on the device. */
static void swap_slots(struct cg *s, size_t i, size_t j)
{
    double *arrays[] = { s->X, s->R, s->P };
    for (size_t a = 0; i != j && a < 3; a++)
        for (size_t r = 0; r < s->n; r++) {
            const double v = arrays[a][i * s->n + r];
            arrays[a][i * s->n + r] = arrays[a][j * s->n + r];
            arrays[a][j * s->n + r] = v;
        }
    const struct slot t = s->slot[i];
    s->slot[i] = s->slot[j];
    s->slot[j] = t;
    if (s->there && i != j) /* a failure of the device shows in the next run */
        fop_cg_swap(s->there, i, j, NULL);
}

/* Writes out and deactivates every slot that has an outcome. */
static void freeze(struct cg *s)
{
    for (size_t i = 0; i < s->active;) {
        struct slot *t = &s->slot[i];
        if (t->why == OUT_RUNNING) {
            i++;
            continue;
        }
        double *x = s->Xout + t->col * s->n;
        if (s->there) /* the iterate here is older; it serves if the device fails now */
            fop_cg_get(s->there, i, s->X + i * s->n, NULL, NULL);
        memcpy(x, s->X + i * s->n, s->n * sizeof *x);
        blas_dscal(s->n, t->bnorm, x);
        s->info[t->col].why = t->why;
        s->info[t->col].residual = t->rel;
        s->info[t->col].passes = (double)s->passes;
        swap_slots(s, i, --s->active);
    }
}

static void freeze_all(struct cg *s, enum outcome why)
{
    for (size_t i = 0; i < s->active; i++)
        s->slot[i].why = why;
    freeze(s);
}

/* Decides about slot t from its true residual r (n), of relative size tr: converged; still close to
 * the recursive one (continue, and check again when convergence is possible); parted without
 * progress (the precision is exhausted); or parted (replace and restart). */
static void judge(struct cg *s, struct slot *t, double *R, const double *r, double tr)
{
    struct solve_info *in = &s->info[t->col];
    in->true_residual = tr;
    in->drift = tr / t->rel;
    if (tr <= s->rtol) {
        t->why = OUT_RTOL;
    } else if (!isfinite(tr)) {
        t->why = OUT_BREAKDOWN;
    } else if (tr <= drifted * t->rel) {
        if (t->rel <= t->goal)
            t->goal = 0.9 * t->rel * (s->rtol / tr);
    } else if (tr > progress * t->replaced_at) {
        in->float_limit = true;
        t->why = OUT_MAXIT;
    } else {
        memcpy(R, r, s->n * sizeof *R);
        t->rel = t->replaced_at = tr;
        t->goal = s->rtol;
        t->restart = true;
        in->replaced++;
    }
}

/* True residuals b - A x of the slots marked `check`, in one application of A. */
static enum status check_true(struct cg *s)
{
    size_t m = 0;
    s->worst_true = NAN;
    for (size_t i = 0; i < s->active; i++)
        m += s->slot[i].check;
    for (size_t i = 0; s->there && m && i < s->active; i++)
        if (fop_cg_get(s->there, i, s->X + i * s->n, NULL, NULL) != ST_OK)
            break;
    m = 0;
    for (size_t i = 0; i < s->active; i++)
        if (s->slot[i].check)
            memcpy(s->Q + m++ * s->n, s->X + i * s->n, s->n * sizeof *s->Q);
    if (m == 0)
        return ST_OK;
    const enum status rc = apply_exact(s, m, s->Q, s->Z);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0, q = 0; i < s->active; i++) {
        struct slot *t = &s->slot[i];
        if (!t->check)
            continue;
        t->check = false;
        double *r = s->Z + q++ * s->n;
        blas_dscal(s->n, -1.0, r);
        blas_daxpy(s->n, 1.0 / t->bnorm, s->B + t->col * s->n, r);
        const double tr = blas_dnrm2(s->n, r);
        if (!(tr <= s->worst_true))
            s->worst_true = tr;
        judge(s, t, s->R + i * s->n, r, tr);
        if (s->there && t->restart)
            fop_cg_put(s->there, i, NULL, s->R + i * s->n, NULL);
    }
    return ST_OK;
}

/* After the first application, which took so many seconds: hands the preconditioner out to the
 * processes of the operator, where that is faster. */
static void hand_out(struct cg *s, double seconds)
{
    struct backend_inverse pre;
    const size_t work = precond_inverse_work(s->opts->pre);

    s->weights = mem_calloc(work + 1, sizeof *s->weights, "the preconditioner", NULL);
    if (s->weights && s->A->fop && precond_inverse(s->opts->pre, s->weights, &pre) && pre.U)
        s->shared = fop_basis(s->A->fop, pre.L, pre.U, seconds);
}

static void take_back(struct cg *s)
{
    if (s->shared)
        fop_basis_drop(s->A->fop);
    s->shared = false;
}

/* Z = P^-1 R, with the same bits wherever. */
static enum status precondition(struct cg *s)
{
    const double begun = clock_now();
    enum status rc = ST_UNSUPPORTED;

    if (!s->opts->pre || s->shared)
        memcpy(s->Z, s->R, s->active * s->n * sizeof *s->Z);
    if (!s->opts->pre)
        return ST_OK;
    if (s->shared)
        rc = fop_basis_add(s->A->fop, s->active, s->weights, s->Z, s->ctl, s->err);
    if (rc != ST_UNSUPPORTED)
        return rc;
    take_back(s);
    rc = precond_apply(s->opts->pre, s->A->pool, s->active, s->R, s->Z, s->err);
    if (rc == ST_OK && !s->weights)
        hand_out(s, clock_now() - begun);
    return rc;
}

/* z = P^-1 r, beta = (r.z)_new / (r.z)_old, p = z + beta p; slots that restart have beta = 0.
 * r.z <= 0 or NaN is a breakdown: P is not positive definite. */
static enum status directions(struct cg *s, bool first)
{
    const enum status rc = precondition(s);
    for (size_t i = 0; i < s->active && rc == ST_OK; i++) {
        struct slot *t = &s->slot[i];
        const double *z = s->Z + i * s->n;
        double *p = s->P + i * s->n, rz = blas_ddot(s->n, s->R + i * s->n, z);
        if (!(rz > 0.0) || !isfinite(rz)) {
            t->why = OUT_BREAKDOWN;
            continue;
        }
        struct solve_info *in = &s->info[t->col];
        const double beta = first || t->restart ? 0.0 : rz / t->rz;
        if (!first && !t->restart && !in->replaced)
            in->beta[in->nhist - 1] = beta;
        t->rz = rz;
        t->restart = false;
        for (size_t r = 0; r < s->n; r++)
            p[r] = z[r] + beta * p[r];
    }
    return rc;
}

/* alpha = r.z / p.Ap, x += alpha p, r -= alpha Ap.  p.Ap <= 0 or NaN is a breakdown: A is not
 * positive definite in this precision. */
static enum status step(struct cg *s)
{
    enum status rc = apply(s, s->active, s->P, s->Q);
    if (rc != ST_OK)
        return rc;
    s->it++;
    for (size_t i = 0; i < s->active && rc == ST_OK; i++) {
        struct slot *t = &s->slot[i];
        const double *p = s->P + i * s->n, *q = s->Q + i * s->n;
        const double pq = blas_ddot(s->n, p, q), alpha = t->rz / pq;
        if (!(pq > 0.0) || !isfinite(alpha)) {
            t->why = OUT_BREAKDOWN;
            continue;
        }
        blas_daxpy(s->n, alpha, p, s->X + i * s->n);
        blas_daxpy(s->n, -alpha, q, s->R + i * s->n);
        t->rel = blas_dnrm2(s->n, s->R + i * s->n);
        if (!t->probe)
            t->check = t->rel <= t->goal || s->it % s->every == 0 || s->it == s->maxit;
        else if (t->rel <= t->goal)
            t->why = OUT_RTOL;
        s->info[t->col].iterations = s->it;
        rc = remember(s, t, alpha);
    }
    return rc;
}

/* The smallest Ritz value so far of a column that is still at work, at iterations that grow by a
 * fifth, so that the values together cost no more than a few iterations; 0 between them.  It falls
 * like 1/it^2 until it has found the end of the spectrum: only then does the rate of the residual
 * say how long the rest will take. */
static double least_ritz(struct cg *s)
{
    const struct solve_info *in = s->active ? &s->info[s->slot[0].col] : NULL;
    double least = NAN, most, *d = NULL;

    if (!s->ctl || !s->ctl->tick || !in || s->it < s->ritz_at || in->replaced || in->nhist < 2)
        return 0.0;
    s->ritz_at = s->it + 1 + s->it / 5;
    d = mem_calloc(2 * in->nhist, sizeof *d, "Ritz values", NULL);
    if (d) {
        solve_lanczos(in, in->nhist, d, d + in->nhist);
        blas_tridiag_ends(in->nhist, d, d + in->nhist, &least, &most, NULL);
    }
    free(d);
    return least > 0.0 ? least : 0.0;
}

/* True when no step follows the iterate at hand. */
static bool at_end(const struct cg *s)
{
    for (size_t i = 0; i < s->active && s->it < s->maxit; i++)
        if (s->slot[i].why == OUT_RUNNING)
            return false;
    return true;
}

/* Lets the caller look at all columns, those that have ended and those in slots: at the start, now
 * and then, and at the end. */
static void watch(struct cg *s, struct tick *t)
{
    struct solve_watch *w = s->opts->watch;
    double *X = NULL;

    if (w && !s->there &&
        (s->it == 0 || (double)s->passes - s->watched >= w->every || at_end(s)))
        X = mem_calloc(s->k, s->n * sizeof *X, "the iterate", NULL);
    if (X) {
        memcpy(X, s->Xout, s->k * s->n * sizeof *X);
        for (size_t i = 0; i < s->active; i++) {
            double *x = X + s->slot[i].col * s->n;
            memcpy(x, s->X + i * s->n, s->n * sizeof *x);
            blas_dscal(s->n, s->slot[i].bnorm, x);
        }
        w->look(w, X, s->ctl, t);
        s->watched = (double)s->passes;
        free(X);
    }
    t->apart = w ? w->apart : 0.0;
}

static void tell(struct cg *s)
{
    struct tick t = { .phase = PHASE_ITERATE, .done = s->it, .total = s->maxit, .value = 0.0,
                      .value2 = s->worst_true, .target = s->rtol,
                      .passes = (double)s->passes, .ritz = least_ritz(s) };
    for (size_t i = 0; i < s->active; i++)
        if (!(s->slot[i].rel <= t.value))
            t.value = s->slot[i].rel;
    watch(s, &t);
    ctl_tick(s->ctl, &t);
}

/* Steps on the device of the operator. */

/* Copies the recursion to the operator, if it takes it with this preconditioner. */
static void go_there(struct cg *s)
{
    struct backend_inverse pre = { 0 };
    const size_t work = s->opts->pre ? precond_inverse_work(s->opts->pre) : 0;
    double *temp =
        s->A->fop ? mem_calloc(work + 1, sizeof *temp, "the preconditioner", NULL) : NULL;

    if (!temp)
        return;
    if (!s->opts->pre || precond_inverse(s->opts->pre, temp, &pre))
        s->there = fop_cg_open(s->A->fop, s->k, s->A->lam2, &pre);
    free(temp);
    if (!s->there)
        return;
    s->column = mem_calloc(s->k, sizeof *s->column, "conjugate gradients", NULL);
    s->history = mem_calloc(s->k * s->every, sizeof *s->history, "conjugate gradients", NULL);
    enum status rc = s->column && s->history ? ST_OK : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < s->active; i++)
        rc = fop_cg_put(s->there, i, s->X + i * s->n, s->R + i * s->n, NULL);
    if (rc == ST_OK)
        return;
    fop_cg_close(s->there);
    s->there = NULL;
}

/* The device is lost: restarts the recursion here from the last X that was copied back. */
static enum status come_back(struct cg *s)
{
    fop_cg_close(s->there);
    s->there = NULL;
    err_clear(s->err);
    enum status rc = apply_exact(s, s->active, s->X, s->Q);
    for (size_t i = 0; rc == ST_OK && i < s->active; i++) {
        struct slot *t = &s->slot[i];
        double *r = s->R + i * s->n;
        for (size_t j = 0; j < s->n; j++)
            r[j] = s->B[t->col * s->n + j] / t->bnorm - s->Q[i * s->n + j];
        t->rel = blas_dnrm2(s->n, r);
        t->restart = t->check = true;
        s->info[t->col].replaced++;
    }
    return rc;
}

/* Records one step that the operator took for slot i, as directions() and step() do. */
static enum status heard(struct cg *s, size_t i, const struct cg_step *h, bool fresh)
{
    struct slot *t = &s->slot[i];
    struct solve_info *in = &s->info[t->col];

    if (h->event == CG_BAD_RZ) {
        t->why = OUT_BREAKDOWN;
        return ST_OK;
    }
    if (!fresh && !in->replaced)
        in->beta[in->nhist - 1] = h->beta;
    t->rz = h->rz;
    t->restart = false;
    if (h->event == CG_BAD_PQ) {
        t->why = OUT_BREAKDOWN;
        return ST_OK;
    }
    t->rel = h->rel;
    if (!t->probe)
        t->check = t->rel <= t->goal || s->it % s->every == 0 || s->it == s->maxit;
    else if (t->rel <= t->goal)
        t->why = OUT_RTOL;
    in->iterations = s->it;
    return remember(s, t, h->alpha);
}

static void tell(struct cg *s);

/* Takes steps on the device up to the next check, or to the first event of a column. */
static enum status steps(struct cg *s, bool first)
{
    const size_t left = s->maxit - s->it, next = s->every - s->it % s->every;
    size_t done = 0;

    for (size_t i = 0; i < s->active; i++)
        s->column[i] = (struct cg_slot){ s->slot[i].rz, s->slot[i].goal,
                                         first || s->slot[i].restart };
    enum status rc = fop_cg_run(s->there, s->active, next < left ? next : left, s->column,
                                s->history, &done, s->ctl, s->err);
    if (rc == ST_BACKEND)
        return come_back(s);
    s->passes += done;
    for (size_t q = 0; q < done; q++) {
        enum status said = ST_OK;
        s->it++;
        for (size_t i = 0; said == ST_OK && i < s->active; i++)
            said = heard(s, i, &s->history[q * s->active + i], q == 0 && s->column[i].fresh);
        if (said != ST_OK)
            return said;
        s->worst_true = NAN;
        if (q + 1 < done)
            tell(s);
    }
    return rc;
}

/* The start: x = 0 and r = b, or x = a x0 and r = b - a A x0 with a = b'x0 / x0'A x0
 * (share/doc/methods.md 9.8), which is at least as good as 0 in the A-norm. */
static enum status start(struct cg *s)
{
    const size_t n = s->n;
    const double *x0 = s->opts->x0;
    if (x0) {
        const enum status rc = apply_exact(s, s->k, x0, s->Q);
        if (rc != ST_OK)
            return rc;
        memset(s->X, 0, s->k * n * sizeof *s->X);
    }
    for (size_t c = 0; c < s->k; c++) {
        struct slot *t = &s->slot[c];
        double *x = s->X + c * n, *r = s->R + c * n;
        const double bnorm = blas_dnrm2(n, s->B + c * n);
        *t = (struct slot){ .col = c, .bnorm = bnorm, .goal = s->rtol, .replaced_at = INFINITY,
                            .probe = c < s->opts->nprobes };
        if (t->probe)
            t->goal = s->opts->probe_rtol;
        s->info[c] = (struct solve_info){ .true_residual = NAN, .drift = NAN };
        if (!(bnorm > 0.0) || !isfinite(bnorm)) { /* b = 0: x = 0; or not a number */
            t->why = bnorm == 0.0 ? OUT_RTOL : OUT_BREAKDOWN;
            t->rel = s->info[c].true_residual = bnorm == 0.0 ? 0.0 : NAN;
            t->bnorm = 0.0;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            r[i] = s->B[c * n + i] / bnorm;
        const double xax = x0 ? blas_ddot(n, x0 + c * n, s->Q + c * n) : 0.0;
        const double a = xax > 0.0 ? blas_ddot(n, x0 + c * n, r) / xax : 0.0;
        if (isfinite(a) && a != 0.0) {
            blas_daxpy(n, a, x0 + c * n, x);
            blas_daxpy(n, -a, s->Q + c * n, r);
        }
        t->rel = s->info[c].start = blas_dnrm2(n, r);
        t->check = t->rel <= s->rtol;
    }
    s->active = s->k;
    return ST_OK;
}

/* The loop: checks, freezing of finished columns, then one step here or a run of steps on the
 * device. */
static enum status iterate(struct cg *s)
{
    enum status rc = start(s);
    for (bool first = true; rc == ST_OK; first = false) {
        rc = check_true(s);
        if (rc == ST_OK)
            tell(s);
        if (rc == ST_OK)
            freeze(s);
        if (rc != ST_OK || s->active == 0)
            break;
        if (ctl_stopped(s->ctl)) {
            freeze_all(s, OUT_CANCELLED);
            break;
        }
        if (s->it == s->maxit) {
            freeze_all(s, OUT_MAXIT);
            break;
        }
        if (first)
            go_there(s);
        if (s->there) {
            rc = steps(s, first);
        } else {
            rc = directions(s, first);
            freeze(s);
            if (rc == ST_OK && s->active)
                rc = step(s);
        }
        freeze(s);
        if (s->active == 0)
            break;
    }
    if (stop_wanted(s, rc)) {
        err_clear(s->err);
        freeze_all(s, OUT_CANCELLED);
        rc = ST_OK;
    }
    return rc;
}

enum status cg_solve(const struct linop *A, size_t k, const double *B, double *X,
                     const struct solve_opts *opts, const struct ctl *ctl, struct solve_info *info,
                     struct err *err)
{
    const size_t n = A->n, nk = n * k;
    struct err local = { 0 };
    for (size_t c = 0; c < k; c++)
        info[c] = (struct solve_info){ .true_residual = NAN, .drift = NAN };
    if (nk == 0)
        return ST_OK;
    double *work = mem_calloc(nk, 5 * sizeof *work, "conjugate gradients", err);
    struct slot *slot = work ? mem_calloc(k, sizeof *slot, "conjugate gradients", err) : NULL;
    if (!slot) {
        free(work);
        return ST_NOMEM;
    }
    struct cg s = { .A = A, .opts = opts, .ctl = ctl, .n = n, .k = k,
                    .maxit = opts->maxit ? opts->maxit : 500,
                    .every = opts->check_every ? opts->check_every : 25,
                    .ritz_at = 8,
                    .rtol = opts->rtol > 0.0 ? opts->rtol : 1e-6, .worst_true = NAN, .B = B,
                    .Xout = X, .X = work, .R = work + nk, .P = work + 2 * nk, .Q = work + 3 * nk,
                    .Z = work + 4 * nk, .slot = slot, .info = info, .err = err ? err : &local };
    for (size_t c = 0; c < k; c++) /* for a stop before the first residual */
        slot[c] = (struct slot){ .col = c, .bnorm = 1.0, .rel = 1.0 };
    if (opts->x0)
        memcpy(s.X, opts->x0, nk * sizeof *s.X);
    s.active = k;
    const enum status rc = iterate(&s);
    fop_cg_close(s.there);
    take_back(&s);
    free(s.weights);
    free(s.column);
    free(s.history);
    free(slot);
    free(work);
    return rc;
}

static enum status cg_plain(const struct linop *A, size_t k, const double *B, double *X,
                            const struct solve_opts *opts, const struct ctl *ctl,
                            struct solve_info *info, struct err *err)
{
    struct solve_opts plain = *opts;
    plain.pre = NULL;
    return cg_solve(A, k, B, X, &plain, ctl, info, err);
}

const struct solver_ops cg_solver = {
    .name = "cg", .title = "Conjugate gradients",
    .help = "Hestenes & Stiefel 1952, without a preconditioner: slow where the noise is small",
    .iterative = true, .krylov = true, .corrects = true, .solve = cg_plain,
};
