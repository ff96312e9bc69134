/* compute/preconds/none.c -- the identity P = I, for comparison. */
#include "compute/preconds/precond_impl.h"

static enum status none_build(const struct linop *A, const struct precond_opts *opts,
                              const struct ctl *ctl, struct precond **out, struct err *err)
{
    (void)opts;
    (void)ctl;
    *out = precond_new(&precond_none, A->n, err);
    return *out ? ST_OK : ST_NOMEM;
}

const struct precond_ops precond_none = {
    .name = "none", .title = "No preconditioner",
    .help = "plain conjugate gradients, for comparison", .build = none_build,
    .identity = true,
};
