/* compute/solvers/dual.c -- the course of a descent in dual variables (dual.h): the length of its
 * steps, the running estimate of the residual, looks at the true one, divergence, the end.
 *
 * The length is a share of the longest stable one, for which the largest eigenvalue of G is found
 * by power iterations (share/doc/methods.md 9.13).  A batch's errors estimate the residual of the
 * iterate; the average, which is what a descent returns, is better than that.  Its true residual
 * takes a product with A, which is made when twenty times as much work has gone into steps. */
#include "compute/solvers/dual.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRODUCTS = 200,      /* work of a descent by default */
    LOOK_EVERY = 20,     /* passes of steps for each look */
    POWER_ROWS = 4096,   /* rows of the sample for the largest eigenvalue */
    POWER_STEPS = 20,
    WINDOW = 32,         /* batches in the running estimate of the residual */
    SETTLED = 8,         /* ... and those after which it counts as the least so far */
    SETTLING = 10,       /* times in a descent that a velocity dies away, at the least */
    TICKS = 1000,        /* reports of a descent, about */
    HALVED_MOST = 60,
    STREAM_BATCH = 0x7ffffffe, STREAM_POWER, /* of RNG_BATCH */
};
/* An estimate over the least one, and a true residual over the last, from which a descent diverges;
 * what is below the tolerance may move as rounding does. */
static const double grown = 30.0, worse = 4.0;
static const double least_brake = 0.01; /* 1 less momentum that is chosen */

/* True when it is time for the caller to look. */
static bool watched(const struct dual *d)
{
    return d->o->watch && d->passes - d->watched >= d->o->watch->every;
}

/* Reports; truth: the average's true residual, or NaN; done: it is small enough.  u is free between
 * steps. */
static void tell(struct dual *d, double truth, bool done)
{
    struct tick t = { .phase = PHASE_ITERATE, .done = d->it - d->begun,
                      .total = d->maxit - d->begun, .value = 0.0, .value2 = truth,
                      .target = d->rtol, .passes = d->passes, .counted = true,
                      .method = d->how->name };

    for (size_t c = 0; c < d->k; c++)
        if (d->bnorm[c] > 0.0 && !(sqrt(d->run[c]) <= t.value))
            t.value = sqrt(d->run[c]);
    if (d->o->watch)
        dual_there_get(d);
    if (watched(d) || (d->o->watch && (done || d->it == d->begun || d->it == d->maxit))) {
        dual_path_result(&d->path, d->u);
        d->o->watch->look(d->o->watch, d->u, d->ctl, &t);
        d->watched = d->passes;
    }
    t.apart = d->o->watch ? d->o->watch->apart : 0.0;
    ctl_tick(d->ctl, &t);
}

/* Allocation and the start. */

static void dual_free(struct dual *d)
{
    dual_there_close(d);
    dual_path_free(&d->path);
    free(d->bnorm);
    free(d->u);
    free(d->E);
    free(d->at);
}

static enum status dual_new(struct dual *d)
{
    const size_t kn = d->k * d->n;

    d->bnorm = mem_calloc(6 * d->k, sizeof *d->bnorm, "a descent", d->err);
    d->u = d->bnorm ? mem_calloc(kn, 2 * sizeof *d->u, "a descent", d->err) : NULL;
    if (!d->u)
        return ST_NOMEM;
    d->square = d->bnorm + d->k;
    d->run = d->square + d->k;
    d->least = d->run + d->k;
    d->rel = d->least + d->k;
    d->seen = d->rel + d->k;
    d->work = d->u + kn;
    return ST_OK;
}

/* A descent that continues another one draws other batches than that. */
static uint64_t seed_of(const struct dual *d)
{
    const double size = d->o->x0 ? blas_ddot(d->n, d->o->x0, d->o->x0) : 0.0;
    uint64_t bits;

    memcpy(&bits, &size, sizeof bits);
    return d->o->seed ^ bits;
}

/* X = s x0 with s = b'x0 / x0'A x0, the best point on the line through 0 and x0 in the A-norm
 * (share/doc/methods.md 9.8), and its residual. */
static enum status warm(struct dual *d, double *X)
{
    const size_t n = d->n;
    const enum status rc = d->A->apply(d->A->ctx, d->k, d->o->x0, d->work, d->ctl, d->err);

    d->passes += 1.0;
    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        const double *x = d->o->x0 + c * n, *q = d->work + c * n, *b = d->B + c * n;
        const double s = blas_ddot(n, x, b) / blas_ddot(n, x, q);
        double r2 = 0.0;
        if (!isfinite(s) || d->bnorm[c] == 0.0)
            continue;
        for (size_t i = 0; i < n; i++) {
            X[c * n + i] = s * x[i];
            r2 += (b[i] - s * q[i]) * (b[i] - s * q[i]);
        }
        d->rel[c] = sqrt(r2) / d->bnorm[c];
    }
    return rc;
}

static enum status start(struct dual *d, double *X)
{
    const size_t n = d->n;
    enum status rc = ST_OK;

    memset(X, 0, d->k * n * sizeof *X);
    d->seed = seed_of(d);
    for (size_t c = 0; c < d->k; c++) {
        const double norm = blas_dnrm2(n, d->B + c * n);
        const bool good = norm > 0.0 && isfinite(norm);
        d->bnorm[c] = good ? norm : 0.0;
        d->rel[c] = 1.0;
        d->info[c] = (struct solve_info){ .true_residual = NAN, .drift = NAN, .start = 1.0 };
        if (good)
            continue;
        d->info[c].why = norm == 0.0 ? OUT_RTOL : OUT_BREAKDOWN; /* b = 0: x = 0; or no number */
        d->info[c].residual = d->info[c].true_residual = norm == 0.0 ? 0.0 : NAN;
    }
    if (d->o->x0 && !dual_state_fits(d))
        rc = warm(d, X);
    for (size_t c = 0; c < d->k; c++) {
        d->least[c] = d->rel[c];
        d->run[c] = d->rel[c] * d->rel[c];
        if (d->bnorm[c] > 0.0)
            d->info[c].start = d->rel[c];
    }
    return rc;
}

/* The length of a step. */

enum status dual_diagonal(struct dual *d, double *most)
{
    enum status rc = ST_UNSUPPORTED;

    *most = 0.0;
    if (d->A->diagonal)
        rc = d->A->diagonal(d->A->ctx, d->work, d->ctl, d->err);
    else
        err_set(d->err, rc, "this system does not tell its diagonal");
    for (size_t i = 0; rc == ST_OK && i < d->n; i++)
        *most = fmax(*most, d->work[i]);
    return rc;
}

double dual_limit(const struct dual *d, double top, double noise)
{
    const double n = (double)d->n, rho = d->momentum;
    return n / (top * (1.0 + 2.0 * rho) / (2.0 + 2.0 * rho) + n * noise / (2.0 - 2.0 * rho));
}

double dual_momentum(const struct dual *d, double top, double noise)
{
    const double steps = d->maxit ? (double)d->maxit : PRODUCTS / d->cost;
    const double balanced = (double)d->n * noise / (1.5 * top);

    return fmax(d->momentum, 1.0 - fmax(fmax(balanced, least_brake), SETTLING / steps));
}

/* y (m) <- the sampled block of G times x (m), or all of G; u and work serve as vectors of n. */
static enum status power_product(struct dual *d, size_t m, const size_t *at, const double *x,
                                 double *y)
{
    const size_t n = d->n;
    enum status rc;

    if (at != NULL) {
        memset(d->u, 0, n * sizeof *d->u);
        for (size_t i = 0; i < m; i++)
            d->u[at[i]] = x[i];
        rc = d->A->rows(d->A->ctx, m, at, 1, d->u, y, d->ctl, d->err);
    } else {
        rc = d->A->apply(d->A->ctx, 1, x, y, d->ctl, d->err);
        if (rc == ST_OK)
            blas_daxpy(n, -d->A->lam2, x, y);
    }
    d->passes += (double)m / (double)n;
    return rc;
}

/* lambda1: the largest eigenvalue of G by power iterations, which end when one of them gains less
 * than a thousandth.  More than POWER_ROWS rows are represented by that many, spread evenly: the
 * eigenvalue grows in proportion to the rows, and that of a sample is rather too large. */
static enum status largest_eigenvalue(struct dual *d)
{
    const size_t n = d->n, m = d->A->rows && n > POWER_ROWS ? POWER_ROWS : n;
    size_t *at = m < n ? mem_calloc(m, sizeof *at, "power iterations", d->err) : NULL;
    double *x = mem_calloc(2 * m, sizeof *x, "power iterations", d->err), *y = x ? x + m : NULL;
    enum status rc = x && (at || m == n) ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < m; i++) {
        x[i] = rng_normal(d->o->seed, rng_stream(RNG_BATCH, STREAM_POWER), i);
        if (at)
            at[i] = (size_t)(((double)i + 0.5) * (double)n / (double)m);
    }
    d->lambda1 = 0.0;
    for (int s = 0; rc == ST_OK && s < POWER_STEPS; s++) {
        const double norm = blas_dnrm2(m, x), before = d->lambda1;
        for (size_t i = 0; i < m; i++)
            x[i] /= norm;
        rc = power_product(d, m, at, x, y);
        if (rc != ST_OK)
            break;
        d->lambda1 = fmax(before, blas_ddot(m, x, y));
        memcpy(x, y, m * sizeof *x);
        if (s > 2 && d->lambda1 < 1.001 * before)
            break;
    }
    d->lambda1 *= (double)n / (double)m;
    free(at);
    free(x);
    return rc;
}

static enum status prepare(struct dual *d, double *X)
{
    const bool resumed = dual_state_fits(d);
    enum status rc = ST_OK;

    if (resumed)
        dual_state_system(d);
    else if (!d->how->exact_step)
        rc = largest_eigenvalue(d);
    if (rc == ST_OK)
        rc = d->how->begin(d);
    if (rc != ST_OK)
        return rc;
    if (resumed)
        dual_state_plan(d);
    else if (d->maxit == 0)
        d->maxit = (size_t)fmax(1.0, ceil(PRODUCTS / d->cost));
    d->E = mem_calloc(d->m, d->k * sizeof *d->E, "the gradient of a descent", d->err);
    d->path = (struct dual_path){ .n = d->n, .k = d->k, .rho = d->momentum, .kept = d->kept,
                                  .pool = d->A->pool, .average = d->average,
                                  .r = fmin(1.0, 100.0 / (double)d->maxit),
                                  .from = d->maxit - d->maxit * 3 / 10 };
    rc = d->E ? dual_path_new(&d->path, d->err) : ST_NOMEM;
    if (rc == ST_OK && resumed)
        dual_state_restore(d, X);
    else if (rc == ST_OK)
        dual_path_start(&d->path, X);
    if (rc == ST_OK)
        dual_there_open(d);
    return rc;
}

static const size_t *given; /* indices that a test gives */

void dual_draws_for_tests(const size_t *at)
{
    given = at;
}

void dual_draw(const struct dual *d, size_t m, size_t *at)
{
    const uint64_t stream = rng_stream(RNG_BATCH, STREAM_BATCH);

    for (size_t j = 0; j < m; j++)
        at[j] = given ? given[d->it * m + j]
                      : (size_t)rng_below(d->seed, stream, (uint64_t)d->it * m + j, d->n);
}

/* Steps. */

/* Takes the squares of a step into the running estimates; false when the descent diverges. */
static bool settle(struct dual *d)
{
    const size_t window = d->how->sampled ? WINDOW : 1;
    const double share = 1.0 / (double)(++d->since < window ? d->since : window);
    bool good = true;

    d->near = true;
    for (size_t c = 0; c < d->k; c++) {
        if (d->bnorm[c] == 0.0)
            continue;
        const double square = d->square[c] / (d->bnorm[c] * d->bnorm[c]);
        d->run[c] = share < 1.0 ? d->run[c] + share * (square - d->run[c]) : square;
        const double rel = sqrt(d->run[c]);
        good = good && rel <= grown * fmax(d->least[c], d->rtol);
        d->near = d->near && rel <= d->rtol;
        if (d->since >= SETTLED || !d->how->sampled)
            d->least[c] = fmin(d->least[c], rel);
    }
    return good;
}

/* Goes back to X, the last good average, with half the step. */
static void step_back(struct dual *d, const double *X)
{
    d->step *= 0.5;
    d->halved++;
    d->since = 0;
    dual_path_start(&d->path, X);
    for (size_t c = 0; c < d->k; c++) {
        d->least[c] = d->rel[c];
        d->run[c] = d->rel[c] * d->rel[c];
    }
    dual_there_put(d);
}

static enum status take_step(struct dual *d, const double *X)
{
    dual_path_ahead(&d->path, d->u);
    const enum status rc = d->how->gradient(d);

    if (rc != ST_OK)
        return rc;
    d->it++;
    d->passes += d->cost;
    d->walked += d->cost;
    if (settle(d))
        dual_path_step(&d->path, d->m, d->at, d->step * d->limit / d->unit, d->E);
    else
        step_back(d, X);
    return ST_OK;
}

/* Steps until the next look or report of the caller is due, at least one. */
static size_t until_due(const struct dual *d)
{
    const double first = (double)(LOOK_EVERY * (d->looks + 1)), second = first + LOOK_EVERY;
    double work = (d->walked < first ? first : second) - d->walked;

    if (d->o->watch)
        work = fmin(work, d->watched + d->o->watch->every - d->passes);
    const double steps = fmin(ceil(work / d->cost), (double)(d->maxit - d->it));
    return steps > 1.0 ? (size_t)steps : 1;
}

/* The same as take_step for some steps on the device; none where it is lost. */
static enum status take_steps_there(struct dual *d, const double *X)
{
    const double each = (double)d->n / (double)d->m;
    const double *square;
    size_t done;
    const enum status rc = dual_there_run(d, until_due(d), &square, &done);

    for (size_t s = 0; rc == ST_OK && s < done; s++) {
        d->it++;
        d->passes += d->cost;
        d->walked += d->cost;
        for (size_t c = 0; c < d->k; c++)
            d->square[c] = square[s * d->k + c] * each;
        if (!settle(d)) { /* the steps behind it are void */
            step_back(d, X);
            break;
        }
        d->path.t++;
    }
    return rc;
}

/* The true residual of the average, which then is the last good one in X.  *good is false where it
 * has grown; *done: all columns have converged. */
static enum status look(struct dual *d, double *X, bool *good, bool *done)
{
    const size_t n = d->n;
    double most = 0.0;

    dual_there_get(d);
    dual_path_result(&d->path, d->u);
    const enum status rc = d->A->apply(d->A->ctx, d->k, d->u, d->work, d->ctl, d->err);
    if (rc != ST_OK)
        return rc;
    d->passes += 1.0;
    d->looks++;
    *good = *done = true;
    for (size_t c = 0; c < d->k; c++) {
        if (d->bnorm[c] == 0.0)
            continue;
        blas_daxpy(n, -1.0, d->B + c * n, d->work + c * n);
        d->seen[c] = blas_dnrm2(n, d->work + c * n) / d->bnorm[c];
        *good = *good && d->seen[c] <= worse * fmax(d->rel[c], d->rtol);
        *done = *done && d->seen[c] <= d->rtol;
        if (!(d->seen[c] <= most))
            most = d->seen[c];
    }
    for (size_t c = 0; *good && c < d->k; c++)
        d->rel[c] = d->info[c].true_residual = d->bnorm[c] > 0.0 ? d->seen[c] : d->rel[c];
    if (*good)
        memcpy(X, d->u, d->k * n * sizeof *X);
    tell(d, most, *done);
    return ST_OK;
}

/* Steps and looks until the end.  One look is kept in reserve for the last step, or for when the
 * estimates are within the tolerance. */
static enum status walk(struct dual *d, double *X, enum outcome *why, bool *seen)
{
    const size_t every = d->maxit > TICKS ? d->maxit / TICKS : 1;
    bool good = true, done = false;
    enum status rc = ST_OK;

    while (rc == ST_OK && d->it < d->maxit && !done) {
        if (ctl_stopped(d->ctl))
            return err_set(d->err, ST_CANCELLED, "stopped");
        const bool there = d->there != NULL;
        if (!d->due)
            rc = there ? take_steps_there(d, X) : take_step(d, X);
        const bool last = d->it == d->maxit, reserve = last || d->near;
        d->due = *seen = rc == ST_OK && d->path.t > 0 &&
                         d->walked >= (double)(LOOK_EVERY * (d->looks + (reserve ? 1 : 2)));
        if (*seen)
            rc = look(d, X, &good, &done);
        else if (rc == ST_OK && (there || d->it % every == 0 || last || watched(d)))
            tell(d, NAN, false);
        d->due = d->due && rc != ST_OK;
        if (rc == ST_OK && *seen && !good)
            step_back(d, X);
        if (d->halved > HALVED_MOST) {
            *why = OUT_BREAKDOWN;
            return rc;
        }
    }
    if (done)
        *why = OUT_RTOL;
    return rc;
}

/* X <- the average, where steps have been made and it is finite. */
static void finish(struct dual *d, double *X)
{
    const size_t n = d->n;

    if (d->path.w == NULL || d->path.t == 0)
        return;
    dual_path_result(&d->path, d->u);
    for (size_t c = 0; c < d->k; c++) {
        bool finite = d->bnorm[c] > 0.0;
        for (size_t i = 0; finite && i < n; i++)
            finite = isfinite(d->u[c * n + i]);
        if (finite)
            memcpy(X + c * n, d->u + c * n, n * sizeof *X);
    }
}

static void report(struct dual *d, enum outcome why, bool seen)
{
    for (size_t c = 0; c < d->k; c++) {
        struct solve_info *in = &d->info[c];
        in->passes = d->passes;
        in->halved = d->halved;
        in->batch = d->batch;
        in->lambda1 = d->lambda1 / (double)d->n;
        in->step_limit = d->how->exact_step ? 0.0 : d->limit;
        in->step = d->step * d->limit;
        in->momentum = d->momentum;
        if (d->bnorm[c] == 0.0)
            continue;
        in->why = why;
        in->iterations = d->it - d->begun;
        in->resumed = d->begun;
        in->residual = seen ? in->true_residual : sqrt(d->run[c]);
    }
}

enum status dual_run(struct dual *d, double *X)
{
    enum outcome why = OUT_MAXIT;
    bool seen = false, zero = true;
    enum status rc;

    d->n = d->A->n;
    d->maxit = d->o->maxit;
    d->given = d->step;
    d->rtol = d->o->rtol > 0.0 ? d->o->rtol : 1e-6;
    for (size_t c = 0; c < d->k; c++)
        d->info[c] = (struct solve_info){ .true_residual = NAN, .drift = NAN };
    rc = dual_new(d);
    if (rc == ST_OK)
        rc = start(d, X);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++)
        zero = zero && d->bnorm[c] == 0.0;
    if (rc == ST_OK && !zero)
        rc = prepare(d, X);
    if (rc == ST_OK && !zero) {
        tell(d, NAN, false);
        rc = walk(d, X, &why, &seen);
    }
    if (rc == ST_CANCELLED && ctl_stopped(d->ctl)) {
        err_clear(d->err);
        rc = ST_OK;
        why = OUT_CANCELLED;
        seen = false;
    }
    dual_there_get(d);
    if (rc == ST_OK) {
        if (why != OUT_BREAKDOWN)
            dual_state_take(d, X);
        finish(d, X);
        report(d, why, seen);
    }
    dual_free(d);
    return rc;
}
