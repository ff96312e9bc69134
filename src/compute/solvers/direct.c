/* compute/solvers/direct.c -- A = G + lam2 I (M x M) is formed and factorised, A = L L', and
 * x = L'^-1 L^-1 b (share/doc/methods.md 1.5): for features O(n M^2 + M^3), the better way for
 * small M and for ill-conditioned A.
 *
 * Cholesky's method is backward stable for positive definite A, without pivoting.  It leaves the
 * strict upper triangle alone, so that A stays there for the residual and for one or two steps of
 * iterative refinement (Golub & Van Loan 2013, section 3.5). */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 }; /* columns that are fetched at once */

struct direct {
    size_t M;
    double *A, *diag, *r; /* factor below, A above the diagonal; diagonal of A; residual (M) */
    struct pool *pool;
};

/* r = b - A x (M); returns its norm.  dsymv reads the upper triangle and the diagonal of the
 * factor, which is corrected to that of A. */
static double residual(const struct direct *d, const double *b, const double *x)
{
    blas_dsymv1(false, d->M, d->A, d->M, x, d->r);
    for (size_t i = 0; i < d->M; i++)
        d->r[i] = b[i] - (d->r[i] + (d->diag[i] - d->A[i + i * d->M]) * x[i]);
    return blas_dnrm2(d->M, d->r);
}

static enum status back_substitute(const struct direct *d, double *x, struct err *err)
{
    const enum status rc = blas_dtrsm(d->pool, false, d->M, 1, d->A, d->M, x, d->M, err);
    return rc == ST_OK ? blas_dtrsm(d->pool, true, d->M, 1, d->A, d->M, x, d->M, err) : rc;
}

/* x = A^-1 b, refined at most twice, while that halves the residual. */
static enum status solve_one(const struct direct *d, const double *b, double *x,
                             struct solve_info *info, struct err *err)
{
    const double bnorm = blas_dnrm2(d->M, b);
    memcpy(x, b, d->M * sizeof *x);
    enum status rc = back_substitute(d, x, err);
    double norm = rc == ST_OK ? residual(d, b, x) : 0.0;
    for (int i = 0; rc == ST_OK && i < 2 && norm > 4.0 * DBL_EPSILON * bnorm; i++) {
        if ((rc = back_substitute(d, d->r, err)) != ST_OK)
            break;
        blas_daxpy(d->M, 1.0, d->r, x);
        const double was = norm;
        norm = residual(d, b, x);
        if (!(norm < 0.5 * was))
            break;
    }
    *info = (struct solve_info){ .why = OUT_DIRECT, .drift = 1.0 };
    info->residual = info->true_residual = bnorm > 0.0 ? norm / bnorm : norm;
    if (rc == ST_OK && !isfinite(norm)) {
        memset(x, 0, d->M * sizeof *x);
        info->why = OUT_BREAKDOWN;
    }
    return rc;
}

/* G (M x M) into A: Z'Z of features, else columns, BLOCK of them at a time. */
static enum status form(const struct linop *on, double *A, const struct ctl *ctl, struct err *err)
{
    const size_t M = on->n;
    enum status rc = ST_OK;

    if (on->fop)
        return fop_gram(on->fop, NULL, A, NULL, NULL, ctl, err);
    if (!on->columns)
        return err_set(err, ST_UNSUPPORTED, "a direct solve needs the columns of the matrix");
    for (size_t j = 0; rc == ST_OK && j < M; j += BLOCK) {
        const size_t m = j + BLOCK < M ? BLOCK : M - j;
        size_t at[BLOCK];
        for (size_t q = 0; q < m; q++)
            at[q] = j + q;
        ctl_tell(ctl, PHASE_GRAM, j, M, NAN);
        rc = on->columns(on->ctx, m, at, A + j * M, ctl, err);
    }
    return rc;
}

/* A = G + lam2 I into the upper triangle, its diagonal into diag, and the factor L into the lower
 * triangle. */
static enum status factorise(const struct linop *on, struct direct *d, const struct ctl *ctl,
                             struct err *err)
{
    const size_t M = d->M;
    const double lam2 = on->lam2;
    size_t pivot = 0;
    enum status rc = form(on, d->A, ctl, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < M; i++)
        d->diag[i] = d->A[i + i * M] += lam2;
    ctl_tell(ctl, PHASE_CHOLESKY, 0, 1, NAN);
    rc = blas_dpotrf(d->pool, M, d->A, M, ctl, &pivot, err);
    if (rc == ST_NOT_PD) {
        err_set(err, ST_NOT_PD,
                "%s + noise variance ratio %.3g is not positive definite (pivot %zu of %zu)",
                on->fop ? "Z'Z" : "K", lam2, pivot + 1, M);
        err_hint(err, "raise the noise (set noise=...), or fit solver=pcg");
    } else if (rc == ST_OK) {
        ctl_tell(ctl, PHASE_CHOLESKY, 1, 1, NAN);
    }
    return rc;
}

static enum status direct_solve(const struct linop *on, size_t k, const double *B, double *X,
                                const struct solve_opts *opts, const struct ctl *ctl,
                                struct solve_info *info, struct err *err)
{
    const size_t M = on->n;
    for (size_t c = 0; c < k; c++)
        info[c] = (struct solve_info){ .why = OUT_CANCELLED, .residual = 1.0, .true_residual = NAN,
                                       .drift = NAN };
    struct direct d = { .M = M, .pool = on->pool };
    d.A = mem_aligned(M * M, sizeof *d.A, "the Gram matrix of a direct solve", err);
    d.diag = d.A ? mem_calloc(2 * M, sizeof *d.diag, "a direct solve", err) : NULL;
    if (!d.diag) {
        free(d.A);
        return ST_NOMEM;
    }
    d.r = d.diag + M;
    enum status rc = factorise(on, &d, ctl, err);
    for (size_t c = 0; rc == ST_OK && c < k; c++)
        rc = solve_one(&d, B + c * M, X + c * M, &info[c], err);
    if (rc == ST_CANCELLED && ctl_stopped(ctl)) { /* an outcome, with the start as iterate */
        err_clear(err);
        if (opts->x0)
            memcpy(X, opts->x0, k * M * sizeof *X);
        else
            memset(X, 0, k * M * sizeof *X);
        rc = ST_OK;
    }
    free(d.diag);
    free(d.A);
    return rc;
}

const struct solver_ops direct_solver = {
    .name = "direct", .title = "Cholesky factorisation",
    .help = "exact to rounding; memory M^2, time n M^2: for up to some 10,000 features",
    .solve = direct_solve,
};
