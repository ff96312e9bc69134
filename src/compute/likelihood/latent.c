/* compute/likelihood/latent.c -- see latent.h. */
#include "compute/likelihood/latent.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a task. */
enum { COLS = 64 };

struct scale_job { const struct latent *l; double *diag; };

/* B = I + S K S (lower triangle) and V = S K, a block of columns. */
static void fill_task(void *ctx, size_t task, size_t worker)
{
    const struct latent *l = ((struct scale_job *)ctx)->l;
    const size_t n = l->n, j0 = task * COLS, j1 = j0 + COLS < n ? j0 + COLS : n;

    (void)worker;
    for (size_t j = j0; j < j1; j++) {
        const double sj = sqrt(l->tau[j]);
        for (size_t i = 0; i < n; i++)
            l->V[i + j * n] = sqrt(l->tau[i]) * l->K[i + j * n];
        for (size_t i = j; i < n; i++)
            l->B[i + j * n] = l->V[i + j * n] * sj;
        l->B[j + j * n] += 1.0;
    }
}

static void diag_task(void *ctx, size_t task, size_t worker)
{
    const struct scale_job *s = ctx;
    const struct latent *l = s->l;
    const size_t n = l->n, j0 = task * COLS, j1 = j0 + COLS < n ? j0 + COLS : n;

    (void)worker;
    for (size_t j = j0; j < j1; j++)
        s->diag[j] = l->K[j + j * n] - blas_ddot(n, l->V + j * n, l->V + j * n);
}

enum status latent_factor(struct latent *l, double *diag, const struct ctl *ctl, struct err *err)
{
    struct scale_job s = { .l = l, .diag = diag };
    const size_t n = l->n, tasks = (n + COLS - 1) / COLS;

    pool_run(l->pool, tasks, fill_task, &s);
    enum status rc = blas_dpotrf(l->pool, n, l->B, n, ctl, NULL, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, false, n, n, l->B, n, l->V, n, err);
    if (rc == ST_OK)
        pool_run(l->pool, tasks, diag_task, &s);
    return rc;
}

/* What row i has on its own, as a variance, and the share of it that a site leaves. */
static double own_var(const struct latent *l, size_t i)
{
    return l->low->amplitude * l->low->amplitude * l->low->missed[i];
}

static double left(const struct latent *l, size_t i)
{
    return 1.0 / (1.0 + own_var(l, i) * l->tau[i]);
}

struct low_job { struct latent *l; const double *nu; double *mean, *var, *work; };

/* W <- S^(1/2) V of a block of rows with the sites that the directions see, and their targets. */
static void low_task(void *ctx, size_t task, size_t worker)
{
    const struct low_job *job = ctx;
    const struct latent *l = job->l;
    const size_t n = l->n, i0 = task * COLS, i1 = i0 + COLS < n ? i0 + COLS : n;
    double s[COLS];

    (void)worker;
    for (size_t i = i0; i < i1; i++) {
        s[i - i0] = l->low->amplitude * sqrt(l->tau[i] * left(l, i));
        job->work[i] = l->low->amplitude * job->nu[i] * left(l, i);
    }
    for (size_t j = 0; j < l->low->m; j++)
        for (size_t i = i0; i < i1; i++)
            l->low->W[i + j * n] = s[i - i0] * l->low->V[i + j * n];
}

/* The moments of a block of rows: those of the directions, in mean and the rows of W, and of what
 * the row has on its own (16.16). */
static void moments_task(void *ctx, size_t task, size_t worker)
{
    const struct low_job *job = ctx;
    struct latent *l = job->l;
    const size_t n = l->n, i0 = task * COLS, i1 = i0 + COLS < n ? i0 + COLS : n;
    const double scale = l->low->amplitude * l->low->amplitude;

    (void)worker;
    for (size_t i = i0; i < i1; i++)
        job->var[i] = 0.0;
    for (size_t j = 0; j < l->low->m; j++)
        for (size_t i = i0; i < i1; i++)
            job->var[i] += l->low->W[i + j * n] * l->low->W[i + j * n];
    for (size_t i = i0; i < i1; i++) {
        const double r = left(l, i), d = own_var(l, i);
        job->mean[i] = r * (job->mean[i] + d * job->nu[i]);
        job->var[i] = r * (r * scale * job->var[i] + d);
        l->alpha[i] = job->nu[i] - l->tau[i] * job->mean[i];
    }
}

/* Everything goes through m x m matrices: O(n m^2). */
static enum status low_moments(struct latent *l, const double *nu, double *mean, double *var,
                               double *work, struct err *err)
{
    struct latent_low *w = l->low;
    struct low_job job = { .l = l, .nu = nu, .mean = mean, .var = var, .work = work };
    const size_t n = l->n, m = w->m, tasks = (n + COLS - 1) / COLS;

    pool_run(l->pool, tasks, low_task, &job);
    enum status rc = blas_dgram(l->pool, n, m, w->W, n, w->F, m, err);
    for (size_t j = 0; j < m; j++)
        w->F[j + j * m] += 1.0;
    if (rc == ST_OK)
        rc = blas_dpotrf(l->pool, m, w->F, m, NULL, NULL, err);
    if (rc == ST_OK)
        rc = blas_dgemm(l->pool, true, false, m, 1, n, 1.0, w->V, n, work, n, 0.0, w->u, m, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, false, m, 1, w->F, m, w->u, m, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, true, m, 1, w->F, m, w->u, m, err);
    if (rc == ST_OK)
        rc = blas_dgemm(l->pool, false, false, n, 1, m, w->amplitude, w->V, n, w->u, m, 0.0, mean,
                        n, err);
    memcpy(w->W, w->V, n * m * sizeof *w->W);
    if (rc == ST_OK)
        rc = blas_dtrsm_right(l->pool, true, n, m, w->F, m, w->W, n, err);
    if (rc == ST_OK)
        pool_run(l->pool, tasks, moments_task, &job);
    return rc;
}

/* var, and mean = Sigma nu = K alpha with alpha = nu - S B^-1 S K nu. */
enum status latent_moments(struct latent *l, const double *nu, double *mean, double *var,
                           double *work, const struct ctl *ctl, struct err *err)
{
    const size_t n = l->n;

    if (l->low != NULL)
        return low_moments(l, nu, mean, var, work, err);
    enum status rc = latent_factor(l, var, ctl, err);
    if (rc != ST_OK)
        return rc;
    blas_dsymv1(true, n, l->K, n, nu, mean);
    for (size_t i = 0; i < n; i++)
        work[i] = sqrt(l->tau[i]) * mean[i];
    rc = blas_dtrsm(l->pool, false, n, 1, l->B, n, work, n, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, true, n, 1, l->B, n, work, n, err);
    for (size_t i = 0; i < n; i++)
        l->alpha[i] = nu[i] - sqrt(l->tau[i]) * work[i];
    blas_dsymv1(true, n, l->K, n, l->alpha, mean);
    return rc;
}

/* With constant sites the level is the mean of a regression on nu / tau, whose covariance is that
 * of the function and the sites: the slope is 1' alpha, and it falls by 1' S B^-1 S 1 (16.18), as
 * the least sum of squares that the directions leave of a constant, which loses no digit. */
enum status latent_level(const struct latent *l, double *work, double *slope, double *fall,
                         struct err *err)
{
    const struct latent_low *w = l->low;
    const size_t n = l->n, m = w->m;
    double *seen = mem_calloc(m, sizeof *seen, "the level", err);

    if (seen == NULL)
        return ST_NOMEM;
    *slope = *fall = 0.0;
    for (size_t i = 0; i < n; i++) {
        *slope += l->alpha[i];
        work[i] = w->amplitude * l->tau[i] * left(l, i);
    }
    enum status rc = blas_dgemm(l->pool, true, false, m, 1, n, 1.0, w->V, n, work, n, 0.0, seen, m,
                                err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, false, m, 1, w->F, m, seen, m, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(l->pool, true, m, 1, w->F, m, seen, m, err);
    if (rc == ST_OK)
        rc = blas_dgemm(l->pool, false, false, n, 1, m, w->amplitude, w->V, n, seen, m, 0.0, work,
                        n, err);
    for (size_t i = 0; i < n; i++)
        *fall += l->tau[i] * left(l, i) * (1.0 - work[i]) * (1.0 - work[i]);
    *fall += blas_ddot(m, seen, seen);
    free(seen);
    return rc;
}

double latent_half(const struct latent *l, size_t i)
{
    const struct latent_low *w = l->low;

    if (w == NULL)
        return log(l->B[i + i * l->n]);
    return 0.5 * log1p(own_var(l, i) * l->tau[i]) + (i < w->m ? log(w->F[i + i * w->m]) : 0.0);
}

void latent_balance(size_t n, const double *y, double *weight)
{
    double rows[2] = { 0.0, 0.0 };

    for (size_t i = 0; i < n; i++)
        rows[y[i] > 0.0] += 1.0;
    for (size_t i = 0; i < n; i++)
        weight[i] = rows[0] * rows[1] > 0.0 ? 0.5 * (double)n / rows[y[i] > 0.0] : 1.0;
}

struct slope_job { const struct latent *l; double *W; };

/* The evidence has the slope 1/2 tr((alpha alpha' - S B^-1 S) dK) + u' dK g (16.8, 16.9). */
static void slope_task(void *ctx, size_t task, size_t worker)
{
    const struct slope_job *s = ctx;
    const struct latent *l = s->l;
    const size_t n = l->n, j0 = task * COLS, j1 = j0 + COLS < n ? j0 + COLS : n;

    (void)worker;
    for (size_t j = j0; j < j1; j++) {
        const double sj = sqrt(l->tau[j]);
        for (size_t i = j; i < n; i++) {
            double w = l->alpha[i] * l->alpha[j] - sqrt(l->tau[i]) * l->B[i + j * n] * sj;
            if (l->u != NULL)
                w += l->u[i] * l->g[j] + l->u[j] * l->g[i];
            s->W[i + j * n] = 0.5 * w;
        }
    }
}

enum status latent_slope(struct latent *l, double *W, struct err *err)
{
    struct slope_job s = { .l = l, .W = W };
    const enum status rc = blas_dpotri(l->pool, l->n, l->B, l->n, err);

    if (rc == ST_OK)
        pool_run(l->pool, (l->n + COLS - 1) / COLS, slope_task, &s);
    return rc;
}
