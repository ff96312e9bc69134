/* compute/inducing/greedy.c -- inducing points one after the other: each time the training row that
 * raises the bound or likelihood most, of all rows or of a random subset of them
 * (share/doc/methods.md 22.5).  Ties go to the smallest index.
 *
 * With E = S (K - Q) (n x n) a candidate's r is a column of E, and E loses a matrix of rank one
 * with each point: O(n^2) a round for all candidates.  With r'P r in P = (Q1 + ratio I)^-1 as a sum
 * over vectors U_k (C = sum of w_k w_k', U_k = V w_k), which never change, nothing of O(n^2 m) is
 * left.  A subset, or rows whose E does not fit in memory, is computed from the basis: O(s n m) a
 * round.  The likelihood of FITC has no such identity: each candidate takes a factorisation. */
#include "compute/inducing/basis.h"
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
    /* All rows by residuals: */
    double *E, *norm, *d, *ry, *F, *U, *beta; /* n x n; n each (ry: t x n); m x n; n x m; t x m */
    double *step;         /* n: what a round takes off, over q */
    const double *u, *q;  /* of the round under way */
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

/* All rows by residuals. */

/* Columns of a block: they lose q step', then their norms and their products with u. */
static void columns_task(void *ctx, size_t task, size_t worker)
{
    struct greedy *g = ctx;
    const size_t n = g->n, j0 = task * BATCH, j1 = j0 + BATCH < n ? j0 + BATCH : n, m = g->b.m;

    (void)worker;
    for (size_t j = j0; j < j1; j++) {
        double *e = g->E + j * n;
        if (g->q)
            blas_daxpy(n, -g->step[j], g->q, e);
        g->norm[j] = blas_ddot(n, e, e);
        if (g->u)
            g->F[(m - 1) * n + j] = blas_ddot(n, g->u, e);
    }
}

/* After point q was added: U and all that follows from it. h = C g and s of the set before. */
static void residuals_add(struct greedy *g, const double *q, const double *h, double s)
{
    const size_t n = g->n, m = g->b.m;
    const double *scale = g->job->rows->row_scale;
    double *u = g->U + (m - 1) * n;

    memcpy(u, q, n * sizeof *u);
    if (m > 1)
        blas_dgemv1(false, n, m - 1, 1.0, g->b.V, n, h, -1.0, u);
    else
        blas_dscal(n, -1.0, u);
    blas_dscal(n, 1.0 / sqrt(s), u);
    for (size_t j = 0; j < n; j++) {
        g->step[j] = scale ? q[j] / scale[j] : q[j];
        g->d[j] -= g->step[j] * g->step[j];
    }
    for (size_t k = 0; k + 1 < m; k++)
        blas_daxpy(n, -blas_ddot(n, g->U + k * n, q), g->step, g->F + k * n);
    for (size_t j = 0; j < g->job->t; j++) {
        blas_daxpy(n, -blas_ddot(n, q, g->job->y + j * n), g->step, g->ry + j * n);
        g->beta[j * g->b.most + m - 1] = blas_ddot(n, u, g->job->y + j * n);
    }
    g->q = q;
    g->u = u;
    pool_run(g->job->rows->pool, (n + BATCH - 1) / BATCH, columns_task, g);
}

static enum status residuals_open(struct greedy *g, struct err *err)
{
    const size_t n = g->n, m = g->b.most, t = g->job->t;
    const double *scale = g->job->rows->row_scale;

    g->E = mem_aligned(n * n, sizeof *g->E, "residuals of all rows", err);
    g->norm = g->E ? mem_calloc(n * (3 + t + 2 * m) + t * m, sizeof *g->norm,
                                "residuals of all rows", err) : NULL;
    if (g->norm == NULL)
        return ST_NOMEM;
    g->d = g->norm + n;
    g->step = g->d + n;
    g->ry = g->step + n;
    g->F = g->ry + t * n;
    g->U = g->F + m * n;
    g->beta = g->U + m * n;
    const enum status rc = columns_at(g->b.rows, n, g->job->rows->X, g->E, err);
    if (rc != ST_OK)
        return rc;
    for (size_t j = 0; j < n; j++) {
        g->d[j] = g->E[j + j * n] / (scale ? scale[j] : 1.0);
        for (size_t k = 0; k < t; k++)
            g->ry[k * n + j] = blas_ddot(n, g->E + j * n, g->job->y + k * n);
    }
    pool_run(g->job->rows->pool, (n + BATCH - 1) / BATCH, columns_task, g);
    return ST_OK;
}

/* The change of the value with candidate j (share/doc/methods.md 22.5). */
static double change(const struct greedy *g, size_t j)
{
    const struct basis *b = &g->b;
    const double ratio = b->of.ratio, d = g->d[j], t = (double)b->of.t;
    double through = 0.0, sum, s;

    for (size_t k = 0; k < b->m; k++)
        through += g->F[k * g->n + j] * g->F[k * g->n + j];
    s = ratio + (g->norm[j] - through) / d;
    if (!(s > 0.0))
        return INFINITY;
    sum = 0.5 * t * (log(s / ratio) - (b->of.bound ? g->norm[j] / (d * ratio) : 0.0));
    for (size_t i = 0; i < b->of.t; i++) {
        double e = g->ry[i * g->n + j];
        for (size_t k = 0; k < b->m; k++)
            e -= g->F[k * g->n + j] * g->beta[i * b->most + k];
        sum -= e * e / (2.0 * d * ratio * s * b->of.amplitude[i] * b->of.amplitude[i]);
    }
    return sum;
}

static void best_by_residuals(struct greedy *g, size_t *best, double *value)
{
    *best = g->n;
    *value = INFINITY;
    for (size_t j = 0; j < g->n; j++) {
        const double own = g->b.own[j], s = g->job->rows->row_scale ? g->job->rows->row_scale[j]
                                                                    : 1.0;
        if (g->taken[j])
            continue;
        if (!(g->d[j] > BASIS_SPANNED * own / (s * s))) {
            g->job->out->skipped += g->b.m == 0;
            g->taken[j] = true;
            continue;
        }
        const double c = change(g, j);
        if (c < *value) {
            *value = c;
            *best = j;
        }
    }
}

/* The course. */

static bool by_residuals(const struct greedy *g)
{
    const double bytes = 8.0 * (double)g->n * (double)g->n, most = 2e9;
    const double room = g->job->mem_limit ? 0.25 * (double)g->job->mem_limit : most;

    return select_param(g->job, 0) == 0.0 && g->job->o->approx != BOUND_FITC &&
           bytes <= fmin(room, most);
}

/* Adds the row, unless it proves to be spanned. */
static enum status add(struct greedy *g, size_t row, struct err *err)
{
    const double *x = g->job->rows->X + row * g->job->rows->d;
    struct basis_try *t = g->t;
    const enum status rc = basis_tries(&g->b, 1, x, t, err);

    g->taken[row] = true;
    if (rc != ST_OK || t->spanned)
        return rc;
    select_take(g->job, g->b.m, row);
    basis_add(&g->b, x, t);
    if (g->E)
        residuals_add(g, t->q, t->h, t->s);
    return ST_OK;
}

static enum status rounds(struct greedy *g, struct err *err)
{
    struct select_job *job = g->job;
    const size_t m = job->out->m;
    size_t best;
    double value;
    enum status rc = by_residuals(g) ? residuals_open(g, err) : ST_OK;

    for (size_t round = 0; rc == ST_OK && g->b.m < m && round < 2 * m + 10; round++) {
        draw(g, round);
        if (g->nwhich == 0)
            break;
        if (g->E)
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
    free(g.E);
    free(g.norm);
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
