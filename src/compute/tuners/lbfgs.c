/* compute/tuners/lbfgs.c -- descent by L-BFGS with exact gradients (share/doc/methods.md 6.6) from
 * the start and from scattered points: the choice when there are many hyperparameters. */
#include "compute/tuners/tune_impl.h"

enum { STARTS = 3, STREAM = 3 };

static enum status lbfgs_search(struct tune_job *job, struct err *err)
{
    const size_t starts = tune_starts(job, STARTS);
    enum status rc = ST_OK;

    for (size_t s = 0; rc == ST_OK && s < starts; s++) {
        struct tune_point p;
        double u[KERNEL_MAX_HP];
        const size_t left = tune_evals_left(job), share = left / (starts - s);

        if (share < 2)
            break;
        if (s > 0)
            tune_scatter(job, STREAM, s, u);
        else
            tune_from_hp(job, job->start, u);
        if (job->kind->joint) { /* no gradients on the sample: only score the point */
            rc = tune_eval(job, u, false, NULL, &p, err);
            continue;
        }
        p = (struct tune_point){ .amplitude = 1.0, .noise = 0.1 };
        tune_to_hp(job, u, p.hp);
        rc = tune_descend(job, &p, false, share, err);
    }
    return rc;
}

const struct tuner_ops tuner_lbfgs = {
    .name = "lbfgs",
    .title = "L-BFGS",
    .help = "descends along exact gradients from the start and from scattered points, on a sample "
            "when rows are many; the best is then polished on all rows",
    .gradients = true,
    .search = lbfgs_search,
};
