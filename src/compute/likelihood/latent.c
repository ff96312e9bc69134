/* compute/likelihood/latent.c -- see latent.h. */
#include "compute/likelihood/latent.h"

#include "compute/linalg/blas.h"

#include <math.h>

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
