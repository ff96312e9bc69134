/* compute/solvers/solve.c -- the ridge operator A = Z'Z + lam2 I that solvers work on, and the
 * figures of a solve. */
#include "compute/solvers/solve.h"

#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>

double solve_param(const struct solver_param *table, const struct solve_opts *o, size_t i)
{
    return o->params && o->params[i] != 0.0 ? o->params[i] : table[i].init;
}

const char *solve_outcome(enum outcome why)
{
    switch (why) {
    case OUT_RUNNING: return "running";
    case OUT_RTOL: return "rtol";
    case OUT_DIRECT: return "direct";
    case OUT_MAXIT: return "maxit";
    case OUT_CANCELLED: return "cancelled";
    case OUT_BREAKDOWN: return "breakdown";
    }
    return "unknown";
}

void solve_info_free(struct solve_info *info)
{
    if (!info)
        return;
    free(info->alpha);
    free(info->beta);
    info->alpha = info->beta = NULL;
    info->nhist = 0;
}

void solve_lanczos(const struct solve_info *in, size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++) {
        d[i] = 1.0 / in->alpha[i] + (i ? in->beta[i - 1] / in->alpha[i - 1] : 0.0);
        if (i + 1 < n)
            e[i] = sqrt(in->beta[i]) / in->alpha[i];
    }
}

static enum status ridge_apply(void *ctx, size_t k, const double *X, double *AX,
                               const struct ctl *ctl, struct err *err)
{
    const struct ridge *r = ctx;
    const enum status rc = fop_pass(r->fop, k, X, AX, ctl, err);
    if (rc == ST_OK)
        for (size_t c = 0, M = fop_cols(r->fop); c < k; c++)
            blas_daxpy(M, r->lam2, X + c * M, AX + c * M);
    return rc;
}

static enum status ridge_exact(void *ctx, size_t k, const double *X, double *AX,
                               const struct ctl *ctl, struct err *err)
{
    const struct ridge *r = ctx;
    const enum status rc = fop_pass_exact(r->fop, k, X, AX, ctl, err);
    if (rc == ST_OK)
        for (size_t c = 0, M = fop_cols(r->fop); c < k; c++)
            blas_daxpy(M, r->lam2, X + c * M, AX + c * M);
    return rc;
}

struct linop solve_ridge(const struct ridge *r)
{
    return (struct linop){ .n = fop_cols(r->fop), .apply = ridge_apply,
                           .exact = fop_half(r->fop) ? ridge_exact : NULL, .ctx = (void *)r,
                           .pool = fop_pool(r->fop), .fop = r->fop, .lam2 = r->lam2 };
}
