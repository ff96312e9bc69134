/* compute/model_refine.c -- the noise ratio that suits a fit's own features.
 *
 * A tuning at few features counts as noise what those features miss; a fit at more of them is then
 * smoothed too much and claims too much uncertainty.  With the kernel's hyperparameters fixed, the
 * ratio is moved to the minimum of generalised cross-validation (Craven & Wahba 1979),
 *   GCV = (r'r / n) / (1 - gamma / n)^2,   gamma = M - ratio tr A1^-1,
 * the leave-one-out error up to the leverages' spread.  It is chosen over the likelihood because
 * the kernel is never quite right, and what a fit is for is prediction.  gamma, the effective
 * dimension, comes from a few random probes that share the factor or the conjugate gradients. */
#include "compute/model_impl.h"

#include "base/mem.h"
#include "compute/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES = 3, LOOKS_MOST = 8, ITERATIONS_MOST = 80 };
static const double first_step = 1.1;  /* in the log ratio: a factor of 3 */
static const double farthest = 2.6;    /* from the given ratio: a factor of 13, 3.7 in the noise */
static const double close_enough = 0.25;
static const double probe_rtol = 1e-4;

/* ---- the search: downhill by steps, then parabolas ---- */

struct look { double x, f; };
struct search { size_t n; double start; struct look at[LOOKS_MOST]; };

static double gcv(double n, double gamma, double rr)
{
    if (!(gamma > 0.0) || !(gamma < n) || !(rr > 0.0))
        return INFINITY;
    return log(rr / n) - 2.0 * log1p(-gamma / n);
}

/* The best look, and its neighbours on either side (NULL: none yet). */
static const struct look *search_best(const struct search *s, const struct look **left,
                                      const struct look **right)
{
    const struct look *best = &s->at[0];

    for (size_t i = 1; i < s->n; i++)
        if (s->at[i].f < best->f)
            best = &s->at[i];
    *left = *right = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct look *l = &s->at[i];
        if (l->x < best->x && (*left == NULL || l->x > (*left)->x))
            *left = l;
        if (l->x > best->x && (*right == NULL || l->x < (*right)->x))
            *right = l;
    }
    return best;
}

/* Where to look next; false when the best is known well enough.  best: where that is. */
static bool search_next(struct search *s, double *next, double *best)
{
    const struct look *l, *r, *b = search_best(s, &l, &r);
    const double lo = s->start - farthest, hi = s->start + farthest;

    *best = b->x;
    if (s->n >= LOOKS_MOST)
        return false;
    if (r == NULL && b->x < hi) {
        *next = fmin(b->x + first_step, hi);
    } else if (l == NULL && b->x > lo) {
        *next = fmax(b->x - first_step, lo);
    } else if (l == NULL || r == NULL || !isfinite(l->f) || !isfinite(r->f)) {
        return false; /* on the end of what is allowed, or of what precision allows */
    } else {
        const double d1 = b->x - l->x, d2 = r->x - b->x;
        const double den = d1 * (r->f - b->f) + d2 * (l->f - b->f);
        *next = b->x - 0.5 * (d1 * d1 * (r->f - b->f) - d2 * d2 * (l->f - b->f)) / den;
        if (!(den > 1e-9))
            return false;
    }
    return fabs(*next - b->x) > close_enough;
}

static void probe(uint64_t seed, size_t p, size_t M, double *out)
{
    for (size_t i = 0; i < M; i++)
        out[i] = rng_u64(seed, rng_stream(RNG_PROBE, (uint32_t)p), i) & 1 ? 1.0 : -1.0;
}

/* ---- with a factor ---- */

/* GCV from the factor of A1 at `ratio`. */
static enum status factor_score(struct pool *pool, size_t n, size_t M, const double *L,
                                 const double *b, double yty, double ratio, uint64_t seed,
                                 double *work, double *score, struct err *err)
{
    double *w = work, *p = work + M, trace = 0.0;

    memcpy(w, b, M * sizeof *w);
    for (size_t k = 0; k < PROBES; k++)
        probe(seed, k, M, p + k * M);
    enum status rc = blas_dtrsm(pool, false, M, 1 + PROBES, L, M, work, M, err);
    const double quad = blas_ddot(M, w, w); /* b'A^-1 b */
    for (size_t k = 0; k < PROBES; k++)
        trace += blas_ddot(M, p + k * M, p + k * M) / PROBES;
    if (rc == ST_OK)
        rc = blas_dtrsm(pool, true, M, 1, L, M, w, M, err);
    *score = gcv((double)n, (double)M - ratio * trace,
                 yty - quad - ratio * blas_ddot(M, w, w));
    return rc;
}

enum status model_refine_factor(struct pool *pool, size_t n, size_t M, double *L,
                                const double *diag, const double *b, double yty, uint64_t seed,
                                double *ratio, double *jitter, const struct ctl *ctl,
                                struct err *err)
{
    struct search s = { .start = log(*ratio) };
    double *work = mem_aligned((1 + PROBES) * M, sizeof *work, "probes", err);
    double at = *ratio, next = s.start, best = s.start;
    enum status rc = work ? ST_OK : ST_NOMEM;

    while (rc == ST_OK && *jitter == 0.0) { /* with jitter rounding has the last word already */
        struct look *l = &s.at[s.n++];
        *l = (struct look){ next, INFINITY };
        if (s.n > 1) {
            at = model_round(exp(next));
            rc = model_refactor(pool, M, L, diag, at, 0.0, ctl, err);
        }
        if (rc == ST_OK)
            rc = factor_score(pool, n, M, L, b, yty, at, seed, work, &l->f, err);
        if (rc == ST_NOT_PD) { /* too little noise for these digits */
            err_clear(err);
            rc = ST_OK;
        }
        if (rc == ST_OK && !search_next(&s, &next, &best))
            break;
    }
    if (best != s.start)
        *ratio = model_round(exp(best));
    if (rc == ST_OK && at != *ratio)
        rc = model_refactor(pool, M, L, diag, *ratio, 0.0, ctl, err);
    free(work);
    return rc;
}

/* ---- with conjugate gradients ---- */

struct block { double *B, *X, *t; struct solve_info info[1 + PROBES]; };

static enum status block_score(struct fop *f, const double *y, const struct solver_ops *solver,
                               struct precond *pre, double ratio, struct block *v, double *score,
                               const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f), n = fop_rows(f);
    struct solve_opts so = { .rtol = probe_rtol, .maxit = ITERATIONS_MOST, .pre = pre };
    double rr = 0.0, trace = 0.0;
    bool good = true;

    precond_set_noise(pre, ratio);
    memset(v->X, 0, (1 + PROBES) * M * sizeof *v->X);
    memset(v->info, 0, sizeof v->info);
    enum status rc = solver->solve(f, ratio, 1 + PROBES, v->B, v->X, &so, ctl, v->info, err);
    for (size_t c = 0; c < 1 + PROBES; c++) {
        good = good && v->info[c].why == OUT_RTOL;
        solve_info_free(&v->info[c]);
    }
    *score = INFINITY;
    if (rc != ST_OK || !good) /* too hard a system for a ratio this small */
        return rc;
    for (size_t c = 1; c <= PROBES; c++)
        trace += blas_ddot(M, v->B + c * M, v->X + c * M) / PROBES;
    rc = fop_zp(f, 1, v->X, v->t, ctl, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        rr += (y[i] - v->t[i]) * (y[i] - v->t[i]);
    *score = gcv((double)n, (double)M - ratio * trace, rr);
    return rc;
}

enum status model_refine_iterative(struct fop *f, const double *y, const double *b,
                                   const struct solver_ops *solver, struct precond *pre,
                                   uint64_t seed, double *ratio, const struct ctl *ctl,
                                   struct err *err)
{
    const size_t M = fop_cols(f);
    struct search s = { .start = log(*ratio) };
    struct block v = { .B = NULL };
    double next = s.start, best = s.start;
    enum status rc = ST_NOMEM;

    v.B = mem_aligned((1 + PROBES) * M, sizeof *v.B, "probes", err);
    v.X = v.B ? mem_aligned((1 + PROBES) * M, sizeof *v.X, "probes", err) : NULL;
    v.t = v.X ? mem_calloc(fop_rows(f), sizeof *v.t, "the residual", err) : NULL;
    if (v.t != NULL) {
        rc = ST_OK;
        memcpy(v.B, b, M * sizeof *b);
        for (size_t k = 0; k < PROBES; k++)
            probe(seed, k, M, v.B + (k + 1) * M);
    }
    while (rc == ST_OK) {
        struct look *l = &s.at[s.n++];
        l->x = next;
        rc = block_score(f, y, solver, pre, s.n > 1 ? model_round(exp(next)) : *ratio, &v, &l->f,
                         ctl, err);
        const bool hard = s.n == 2 && !isfinite(fmin(s.at[0].f, s.at[1].f));
        if (rc != ST_OK || hard || !search_next(&s, &next, &best))
            break;
    }
    if (rc == ST_OK && best != s.start)
        *ratio = model_round(exp(best));
    precond_set_noise(pre, *ratio);
    free(v.B);
    free(v.X);
    free(v.t);
    return rc;
}
