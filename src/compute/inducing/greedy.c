/* compute/inducing/greedy.c -- inducing points one after the other: each time the training row that
 * raises the bound or likelihood most, of all rows or of a random subset of them
 * (share/doc/methods.md 22.5).  Ties go to the smallest index.
 *
 * Where the kernel counts few different words, or a matrix of all rows fits in memory and is worth
 * its price, all rows are judged at once by their residuals (residuals.h).  Otherwise candidates
 * are computed from the basis: O(s n m) a round for s of them.  The likelihood of FITC has no such
 * identity: each candidate takes a factorisation. */
#include "compute/inducing/basis.h"
#include "compute/inducing/residuals.h"
#include "compute/inducing/select.h"

#include "base/mem.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

struct greedy {
    struct select_job *job;
    struct basis b;
    struct basis_try *t;  /* BATCH of them */
    size_t n, *which, nwhich; /* candidates of a round */
    bool *taken;
    double *Z;            /* BATCH x d */
    struct residuals *r;  /* of all rows; NULL: candidates by the basis */
};

/* Candidates of a round, ascending: all that are not taken, or a random subset of them. */
static void draw(struct greedy *g, size_t round)
{
    const size_t n = g->n, want = (size_t)select_param(g->job, 0);
    const uint64_t stream = rng_stream(RNG_INDUCING, 1 + (uint32_t)round);
    size_t left = 0;

    for (size_t i = 0; i < n; i++)
        left += !g->taken[i];
    g->nwhich = 0;
    if (want == 0 || want >= left) {
        for (size_t i = 0; i < n; i++)
            if (!g->taken[i])
                g->which[g->nwhich++] = i;
        return;
    }
    for (uint64_t k = 0; g->nwhich < want; k++) {
        const size_t row = (size_t)rng_below(g->job->seed, stream, k, n);
        size_t at = g->nwhich;
        while (at > 0 && g->which[at - 1] > row)
            at--;
        if (g->taken[row] || (at > 0 && g->which[at - 1] == row))
            continue;
        memmove(g->which + at + 1, g->which + at, (g->nwhich++ - at) * sizeof *g->which);
        g->which[at] = row;
    }
}

/* FITC: the value with the candidate of each task. */
struct fitc { struct greedy *g; double *work; size_t each; int failed; };

static void fitc_task(void *ctx, size_t task, size_t worker)
{
    struct fitc *f = ctx;
    const struct basis *b = &f->g->b;
    struct basis_try *t = &f->g->t[task];
    const size_t n = b->n, m = b->m + 1;
    double *W = f->work + worker * f->each, *B = W + n * m, *v = B + m * m;
    double logdet = 0.0, yly[TARGETS_MOST] = { 0.0 };

    if (t->spanned)
        return;
    memset(v, 0, b->of.t * m * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        const double lambda = b->of.ratio + fmax(b->missed[i] - t->q[i] * t->q[i], 0.0);
        const double s = 1.0 / sqrt(lambda);
        logdet += log(lambda);
        for (size_t k = 0; k < m; k++)
            W[i + k * n] = s * (k + 1 < m ? b->V[i + k * n] : t->q[i]);
        for (size_t j = 0; j < b->of.t; j++) {
            const double y = s * b->of.y[i + j * n];
            yly[j] += y * y;
            for (size_t k = 0; k < m; k++)
                v[k + j * m] += y * W[i + k * n];
        }
    }
    blas_dsyrk1(true, true, m, n, 1.0, W, n, 0.0, B, m);
    for (size_t k = 0; k < m; k++)
        B[k + k * m] += 1.0;
    t->value = INFINITY;
    if (blas_dpotrf(NULL, m, B, m, NULL, NULL, NULL) != ST_OK ||
        blas_dtrsm(NULL, false, m, b->of.t, B, m, v, m, NULL) != ST_OK)
        return;
    for (size_t k = 0; k < m; k++)
        logdet += 2.0 * log(B[k + k * m]);
    t->value = 0.0;
    for (size_t j = 0; j < b->of.t; j++)
        t->value += nmll_from_terms((double)n, yly[j] - blas_ddot(m, v + j * m, v + j * m), logdet,
                                    b->of.amplitude[j]);
}

static enum status fitc_values(struct greedy *g, size_t p, struct err *err)
{
    const size_t m = g->b.m + 1;
    struct fitc f = { .g = g, .each = g->n * m + m * m + m * g->b.of.t };

    f.work = mem_aligned(pool_threads(g->job->rows->pool) * f.each, sizeof *f.work,
                         "candidates of FITC", err);
    if (f.work == NULL)
        return ST_NOMEM;
    pool_run(g->job->rows->pool, p, fitc_task, &f);
    free(f.work);
    return ST_OK;
}

/* The best of the candidates by the basis; n: all are spanned. */
static enum status best_by_basis(struct greedy *g, size_t *best, double *value, struct err *err)
{
    const size_t d = g->job->rows->d;
    enum status rc = ST_OK;

    *best = g->n;
    *value = INFINITY;
    for (size_t at = 0; rc == ST_OK && at < g->nwhich; at += BATCH) {
        const size_t p = g->nwhich - at < BATCH ? g->nwhich - at : BATCH;
        for (size_t i = 0; i < p; i++)
            memcpy(g->Z + i * d, g->job->rows->X + g->which[at + i] * d, d * sizeof *g->Z);
        rc = basis_tries(&g->b, p, g->Z, g->t, err);
        if (rc == ST_OK && g->job->o->approx == BOUND_FITC)
            rc = fitc_values(g, p, err);
        for (size_t i = 0; rc == ST_OK && i < p; i++) {
            g->job->out->skipped += g->t[i].spanned && g->b.m == 0;
            if (g->t[i].spanned)
                g->taken[g->which[at + i]] = true; /* what is spanned stays so */
            if (!g->t[i].spanned && g->t[i].value < *value) {
                *value = g->t[i].value;
                *best = g->which[at + i];
            }
        }
        if (ctl_stopped(g->job->ctl))
            break;
    }
    return rc;
}

/* The best of the candidates by residuals. */
static void best_by_residuals(struct greedy *g, size_t *best, double *value)
{
    *best = g->n;
    *value = INFINITY;
    for (size_t i = 0; i < g->nwhich; i++) {
        const size_t j = g->which[i];
        if (residuals_spanned(g->r, &g->b, j)) {
            g->job->out->skipped += g->b.m == 0;
            g->taken[j] = true;
            continue;
        }
        const double c = residuals_change(g->r, &g->b, j);
        if (c < *value) {
            *value = c;
            *best = j;
        }
    }
}

/* The course. */

/* Residuals of all rows, where they serve: FITC has no such identity; a subset of few rows costs
 * less by the basis than all pairs do. */
static enum status residuals(struct greedy *g, struct err *err)
{
    const double most = g->job->mem_limit ? fmin(0.25 * (double)g->job->mem_limit, 2e9) : 2e9;
    const double subset = select_param(g->job, 0), m = (double)g->job->out->m;
    const bool few = subset > 0.0 && (double)g->n > 4.0 * subset * m;

    return g->job->o->approx == BOUND_FITC ? ST_OK
                                           : residuals_new(&g->b, most, !few, &g->r, err);
}

/* Adds the row, unless it proves to be spanned. */
static enum status add(struct greedy *g, size_t row, struct err *err)
{
    const double *x = g->job->rows->X + row * g->job->rows->d;
    struct basis_try *t = g->t;
    enum status rc = ST_OK;

    if (g->r)
        residuals_try(g->r, &g->b, row, t);
    else
        rc = basis_tries(&g->b, 1, x, t, err);
    g->taken[row] = true;
    if (rc != ST_OK || t->spanned)
        return rc;
    select_take(g->job, g->b.m, row);
    basis_add(&g->b, x, t);
    if (g->r)
        residuals_added(g->r, &g->b, t);
    return ST_OK;
}

static enum status rounds(struct greedy *g, struct err *err)
{
    struct select_job *job = g->job;
    const size_t m = job->out->m;
    size_t best;
    double value;
    enum status rc = residuals(g, err);

    for (size_t round = 0; rc == ST_OK && g->b.m < m && round < 2 * m + 10; round++) {
        draw(g, round);
        if (g->nwhich == 0)
            break;
        if (g->r)
            best_by_residuals(g, &best, &value);
        else
            rc = best_by_basis(g, &best, &value, err);
        if (rc == ST_OK && best == g->n && g->nwhich == 0)
            break;
        if (rc == ST_OK && best < g->n)
            rc = add(g, best, err);
        if (rc == ST_OK && job->o->approx == BOUND_FITC && best < g->n)
            g->b.value = value;
        if (rc == ST_OK)
            select_tick(job, g->b.m, m, -g->b.value, -g->b.value, 1.0);
        job->stopped = ctl_stopped(job->ctl);
        if (job->stopped && g->b.m > 0)
            break;
    }
    return rc;
}

static enum status greedy_choose(struct select_job *job, struct err *err)
{
    const size_t n = job->rows->n;
    struct greedy g = { .job = job, .n = n };
    enum status rc = select_basis(job, job->out->m, false, &g.b, err);

    if (rc != ST_OK)
        return rc;
    g.t = basis_try_new(&g.b, BATCH, err);
    g.which = g.t ? mem_calloc(n, sizeof *g.which, "candidates", err) : NULL;
    g.taken = g.which ? mem_calloc(n, sizeof *g.taken, "candidates", err) : NULL;
    g.Z = g.taken ? mem_calloc(BATCH, job->rows->d * sizeof *g.Z, "candidates", err) : NULL;
    rc = g.Z ? rounds(&g, err) : ST_NOMEM;
    job->out->m = g.b.m;
    if (rc == ST_OK && g.b.m == 0)
        rc = err_set(err, ST_RANGE, "the kernel of every training row with itself is 0");
    residuals_free(g.r);
    free(g.Z);
    free(g.taken);
    free(g.which);
    basis_try_free(g.t);
    basis_free(&g.b);
    return rc;
}

static const struct solver_param params[] = {
    { .name = "subset", .lo = 1, .hi = 1e9, .whole = true,
      .help = "random rows that each round looks at; all, unless it is given" },
    { .name = NULL },
};

const struct select_ops greedy_select = {
    .name = "greedy",
    .help = "one after the other the row that raises the bound most, of all rows or of subset=20",
    .judged = true,
    .params = params,
    .choose = greedy_choose,
};
