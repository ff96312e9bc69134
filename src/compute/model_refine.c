/* compute/model_refine.c -- the noise ratio that suits a fit's own features.
 *
 * A tuning at few features counts as noise what those features miss; a fit at more of them is then
 * smoothed too much and claims too much uncertainty.  With the kernel's hyperparameters fixed, the
 * ratio is moved to the minimum of generalised cross-validation (Craven & Wahba 1979),
 *   GCV = (r'r / n) / (1 - gamma / n)^2,   gamma = M - ratio tr A1^-1,
 * the leave-one-out error up to the leverages' spread.  It is chosen over the likelihood because
 * the kernel is never quite right, and what a fit is for is prediction.  gamma, the effective
 * dimension, comes from a few random probes.  An iterative fit asks this of the factor that its
 * variances need anyway, at up to 4096 columns: most of the way from a tuning's 2048. */
#include "compute/model_impl.h"

#include "base/mem.h"
#include "compute/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES = 3, LOOKS_MOST = 8 };
static const double first_step = 1.1;  /* in the log ratio: a factor of 3 */
static const double farthest = 2.6;    /* from the given ratio: a factor of 13, 3.7 in the noise */
static const double close_enough = 0.25;

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

/* ---- scores ---- */

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
