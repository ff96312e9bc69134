/* app/runs/verdict.c -- why a fit ended, in a sentence. See verdict.h. */
#include "app/runs/verdict.h"

#include "app/core/trace.h"
#include "compute/likelihood/likelihood.h"

#include <math.h>
#include <stdio.h>

/* True if a larger rank helps this solver. */
static bool uses_rank(const char *name)
{
    const struct solver_ops *s = solver_find(name, NULL);
    return s && (s->uses_precond || s->krylov);
}

/* What to do when the limit of iterations was reached: the number of iterations still missing if
 * that is small, otherwise a better preconditioner. */
static void stopped_short(const struct run *r, const struct trace_fit *tf, char *v, size_t n)
{
    const struct fit_info *i = &r->info;
    const double left = tf->forecast - (double)i->iterations, its = (double)i->iterations;
    const bool known =
        isfinite(tf->forecast) && left > 0.0 && left < 1e6; /* otherwise it makes no progress */
    const size_t more = 2 * (i->rank ? i->rank : 128);
    int at = snprintf(v, n,
                      "stopped at iteration %zu: residual %.1e, %.0f times the target. ",
                      i->iterations,
                      i->true_residual, i->true_residual / r->fit.rtol);

    if (known && !i->float_limit && (size_t)at < n)
        at += snprintf(v + at, n - (size_t)at, "Rate %.3f an iteration: %s %.0f more. ", tf->rate,
                       tf->more ? "at least" : "about", tf->more ? tf->lo - its : left);
    if ((size_t)at >= n)
        return;
    if (i->float_limit)
        snprintf(v + at, n - (size_t)at, "%s", r->fit.precision == PREC_DOUBLE
                     ? "Double precision can go no lower. try: fit noise=X, a larger one"
                     : "Single precision can go no lower. try: fit precision=double");
    else if (!known && solver_find(i->solver, NULL) != solver_usual())
        snprintf(v + at, n - (size_t)at, "try: fit continue=%s solver=pcg", r->id);
    else if ((known && left < fmax(3.0 * its, 100.0)) || 2 * more > i->features)
        snprintf(v + at, n - (size_t)at, "try: fit continue=%s maxit=%.0f", r->id,
                 ceil(known ? fmax(1.5 * left, 2.0 * its) : 4.0 * its));
    else
        snprintf(v + at, n - (size_t)at, "try: fit continue=%s solver=pcg rank=%zu", r->id, more);
}

bool verdict_planned(const struct fit_info *i)
{
    const struct solver_ops *s = solver_find(i->solver, NULL);
    return i->why == OUT_MAXIT && s && s->dual;
}

static void steps_verdict(const struct run *r, char *v, size_t n)
{
    const struct fit_info *i = &r->info;
    const bool known = isfinite(i->true_residual);
    char rows[32] = "all";

    if (i->batch)
        snprintf(rows, sizeof rows, "%zu", i->batch);
    snprintf(v, n,
             "made its %zu steps of %s rows: %sresidual %.1e, after the work of %.0f products. "
             "More: fit continue=%s maxit=%zu",
             i->iterations, rows, known ? "" : "estimated ", known ? i->true_residual : i->residual,
             i->passes, r->id, 2 * i->iterations);
}

static void classes_verdict(const struct run *r, char *v, size_t n)
{
    const struct fit_info *i = &r->info;

    if (r->fit.likelihood->several) {
        snprintf(v, n, "solved directly, a regression for each class: evidence %.2f nats (%.4f a "
                       "row)", i->evidence, i->evidence / (double)(i->rows ? i->rows : 1));
        return;
    }
    snprintf(v, n, "%s %s %zu sweeps: evidence %.2f nats (%.4f a row; a coin has %.4f)",
             r->fit.likelihood->method,
             i->why == OUT_RTOL ? "converged in" : "had not converged after", i->iterations,
             i->evidence, i->evidence / (double)(i->rows ? i->rows : 1), -M_LN2);
}

void verdict_write(struct run *r)
{
    const struct fit_info *i = &r->info;
    struct trace_fit tf;
    char *v = r->verdict;
    const size_t n = sizeof r->verdict;

    if (run_model_kind(r)->verdict) {
        run_model_kind(r)->verdict(i, v, n);
        return;
    }
    if (r->fit.likelihood && r->fit.likelihood->classes) {
        classes_verdict(r, v, n);
        return;
    }
    trace_fit_run(r, &tf);
    switch (i->why) {
    case OUT_RTOL:
        snprintf(v, n,
                 "stopped: reached rtol %.0e at iteration %zu (true residual %.1e)", r->fit.rtol,
                 i->iterations, i->true_residual);
        break;
    case OUT_DIRECT:
        if (isnan(i->true_residual))
            snprintf(v, n, "solved directly (Cholesky)");
        else
            snprintf(v, n, "solved directly (Cholesky), relative residual %.1e", i->true_residual);
        break;
    case OUT_MAXIT:
        if (verdict_planned(i))
            steps_verdict(r, v, n);
        else if (!uses_rank(i->solver))
            snprintf(v, n,
                     "stopped at iteration %zu: residual %.1e, %.0f times the target, after %.0f "
                     "passes over the data. try: fit solver=pcg, which needs fewer",
                     i->iterations, i->true_residual, i->true_residual / r->fit.rtol, i->passes);
        else
            stopped_short(r, &tf, v, n);
        break;
    case OUT_CANCELLED:
        if (i->inducing) {
            snprintf(v, n, "stopped on request while its points were chosen; the best %zu until "
                     "then are kept", i->inducing);
            break;
        }
        snprintf(v, n,
                 "stopped on request at iteration %zu: residual %.1e; the best iterate is kept. "
                 "Continue with: fit continue=%s",
                 i->iterations, isfinite(i->true_residual) ? i->true_residual : i->residual, r->id);
        break;
    case OUT_BREAKDOWN:
        snprintf(
            v, n,
            "broke down at iteration %zu (the matrix is not positive definite in this precision); "
            "the last good iterate is kept. try: fit precision=double, or a larger noise",
            i->iterations);
        break;
    default: v[0] = '\0';
    }
}
