/* compute/preconds/jacobi.c -- the diagonal of A as a preconditioner.  It helps little with random
 * features, whose columns all have the same size, but it is cheap, and right where linear or scaled
 * features are among them. */
#include "compute/preconds/precond_impl.h"

#include "base/mem.h"

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
