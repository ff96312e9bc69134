/* compute/solver.c -- the list of solvers, and the ridge operator they work on. */
#include "compute/solver.h"

#include "compute/blas.h"

#include <stdlib.h>
#include <string.h>

static const struct solver_ops *const solvers[] = { &pcg_solver, &cg_solver, &direct_solver };
enum { NSOLVERS = sizeof solvers / sizeof *solvers };

const struct solver_ops *solver_at(size_t i)
{
    return i < NSOLVERS ? solvers[i] : NULL;
}

const struct solver_ops *solver_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < NSOLVERS; i++)
        if (strcmp(name, solvers[i]->name) == 0)
            return solvers[i];
    err_set(err, ST_NOT_FOUND, "no solver is called \"%.60s\"", name);
    err_hint(err, "solver=pcg, cg or direct");
    return NULL;
}

const char *outcome_name(enum outcome why)
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

struct linop ridge_linop(struct ridge *r)
{
    return (struct linop){ .n = fop_cols(r->fop), .apply = ridge_apply, .ctx = r,
                           .pool = fop_pool(r->fop) };
}
