/* compute/inducing/random.c -- inducing points at random: distinct training rows, none of them in
 * the span of the others. */
#include "compute/inducing/basis.h"
#include "compute/inducing/select.h"

static enum status random_choose(struct select_job *job, struct err *err)
{
    struct basis span;
    enum status rc = select_basis(job, job->out->m, true, &span, err);

    if (rc != ST_OK)
        return rc;
    rc = select_fill(job, &span, 0, err);
    basis_free(&span);
    return rc;
}

const struct select_ops random_select = {
    .name = "random",
    .help = "training rows at random",
    .drawn = true,
    .choose = random_choose,
};
