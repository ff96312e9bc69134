/* compute/preconds/jacobi.c -- the diagonal of A as a preconditioner.  It helps little with random
 * features, whose columns all have the same size, but it is cheap, and right where linear or scaled
 * features are among them. */
#include "compute/preconds/precond_impl.h"

#include "base/mem.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { GROUPS = 32, STEP = 32 }; /* number of partial sums; rows of features made at once */

struct diagonal {
    struct fop *f;
    const struct ctl *ctl;
    double *part;  /* GROUPS x M */
    double *tiles; /* for each worker: STEP x M features in either precision */
    atomic_int failed;
    struct err errs[GROUPS];
};

/* Sums z_ij^2 over a fixed share of the rows, so that the result does not depend on the number of
 * threads. */
static void diagonal_group(void *ctx, size_t g, size_t worker)
{
    struct diagonal *s = ctx;
    const size_t n = fop_rows(s->f), M = fop_cols(s->f), end = n * (g + 1) / GROUPS;
    const bool single = fop_precision(s->f) == PREC_FLOAT;
    double *sum = s->part + g * M, *z = s->tiles + worker * STEP * M;
    float *zf = (float *)z;
    for (size_t r = n * g / GROUPS; r < end; r += STEP) {
        const size_t to = r + STEP < end ? r + STEP : end;
        if (s->failed || ctl_stopped(s->ctl))
            return;
        const enum status rc = single ? fop_tile(s->f, r, to, zf, M, &s->errs[g])
                                      : fop_tile64(s->f, r, to, z, M, &s->errs[g]);
        if (rc != ST_OK) {
            s->failed = 1;
            return;
        }
        for (size_t i = 0; i < to - r; i++)
            for (size_t j = 0; j < M; j++) {
                const double v = single ? (double)zf[i * M + j] : z[i * M + j];
                sum[j] += v * v;
            }
    }
}

enum status precond_diagonal(struct fop *f, double *diag, const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f);
    size_t ld;
    const double *G = fop_formed(f, &ld);
    for (size_t j = 0; G && j < M; j++)
        diag[j] = G[j * ld + j];
    if (G)
        return ST_OK;
    struct diagonal *s = mem_calloc(1, sizeof *s, "the diagonal of Z'Z", err);
    enum status rc = s ? ST_OK : ST_NOMEM;
    if (rc == ST_OK) {
        s->f = f;
        s->ctl = ctl;
        s->part = mem_calloc(GROUPS, M * sizeof *s->part, "the diagonal of Z'Z", err);
        s->tiles = s->part ? mem_aligned(pool_threads(fop_pool(f)), STEP * M * sizeof *s->tiles,
                                         "the diagonal of Z'Z", err)
                           : NULL;
        rc = s->tiles ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        ctl_tell(ctl, PHASE_DIAGONAL, 0, 1, NAN);
        pool_run(fop_pool(f), GROUPS, diagonal_group, s);
        for (size_t g = 0; g < GROUPS && rc == ST_OK; g++)
            if ((rc = s->errs[g].code) != ST_OK && err)
                *err = s->errs[g];
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped while summing the diagonal");
    }
    if (rc == ST_OK)
        for (size_t j = 0; j < M; j++) {
            diag[j] = 0.0;
            for (size_t g = 0; g < GROUPS; g++)
                diag[j] += s->part[g * M + j];
        }
    if (s) {
        free(s->tiles);
        free(s->part);
    }
    free(s);
    return rc;
}

static enum status jacobi_build(const struct linop *A, const struct precond_opts *opts,
                                const struct ctl *ctl, struct precond **out, struct err *err)
{
    (void)opts;
    const size_t M = A->n;
    struct precond *p = *out = precond_new(&precond_jacobi, M, err);
    enum status rc = p ? ST_OK : ST_NOMEM;
    if (rc == ST_OK) {
        p->diag = mem_calloc(M, sizeof *p->diag, "the diagonal of A", err);
        rc = p->diag ? A->diagonal(A->ctx, p->diag, ctl, err) : ST_NOMEM;
    }
    if (rc != ST_OK) {
        precond_free(p);
        *out = NULL;
    }
    return rc;
}

const struct precond_ops precond_jacobi = {
    .name = "jacobi", .title = "Diagonal of A",
    .help = "divides by the diagonal; for features of unequal size", .build = jacobi_build,
};
