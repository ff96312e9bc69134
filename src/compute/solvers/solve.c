/* compute/solvers/solve.c -- the ridge operator A = Z'Z + lam2 I that solvers work on, and the
 * figures of a solve. */
#include "compute/solvers/solve.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>

double solve_param(const struct solver_param *table, const struct solve_opts *o, size_t i)
{
    const double v = o->params ? o->params[i] : 0.0;
    return v == 0.0 ? table[i].init : table[i].zero && v == SOLVER_ZERO ? 0.0 : v;
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
    free(info->state);
    info->alpha = info->beta = info->state = NULL;
    info->nhist = info->nstate = 0;
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

static enum status ridge_product(void *ctx, size_t k, const double *X, double *GX,
                                 const struct ctl *ctl, struct err *err)
{
    const struct ridge *r = ctx;
    return fop_pass(r->fop, k, X, GX, ctl, err);
}

/* Columns of Z'Z (M x m): products with unit vectors, in one pass. */
static enum status ridge_columns(void *ctx, size_t m, const size_t *at, double *C,
                                 const struct ctl *ctl, struct err *err)
{
    const struct ridge *r = ctx;
    const size_t M = fop_cols(r->fop);
    double *E = mem_calloc(m * M, sizeof *E, "columns of Z'Z", err);

    if (E == NULL)
        return ST_NOMEM;
    for (size_t c = 0; c < m; c++)
        E[c * M + at[c]] = 1.0;
    const enum status rc = fop_pass(r->fop, m, E, C, ctl, err);
    free(E);
    return rc;
}

static enum status ridge_diagonal(void *ctx, double *diag, const struct ctl *ctl, struct err *err)
{
    const struct ridge *r = ctx;
    return fop_diagonal(r->fop, diag, ctl, err);
}

struct linop solve_ridge(const struct ridge *r)
{
    return (struct linop){ .n = fop_cols(r->fop), .apply = ridge_apply,
                           .exact = fop_half(r->fop) ? ridge_exact : NULL, .ctx = (void *)r,
                           .pool = fop_pool(r->fop), .fop = r->fop, .lam2 = r->lam2,
                           .single = fop_precision(r->fop) == PREC_FLOAT,
                           .product = ridge_product, .columns = ridge_columns,
                           .diagonal = ridge_diagonal };
}

enum status solve_suits(const struct solver_ops *s, const struct linop *A, struct err *err)
{
    if (s->primal && !A->fop) {
        err_named(err, ST_UNSUPPORTED, "solver-primal",
                  "solver=%s steps on rows of random features, which an exact kernel does not have",
                  s->name);
        err_hint(err, "fit model=exact solver=pcg, or fit model=features solver=%s", s->name);
        return ST_UNSUPPORTED;
    }
    if (s->dual && !A->rows) {
        err_named(err, ST_UNSUPPORTED, "solver-dual",
                  "solver=%s steps on rows of the exact kernel, which features do not have",
                  s->name);
        err_hint(err, "fit model=exact solver=%s, or fit model=features solver=pcg", s->name);
        return ST_UNSUPPORTED;
    }
    return ST_OK;
}
