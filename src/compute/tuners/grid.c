/* compute/tuners/grid.c -- the plainest search: a grid over one hyperparameter's bounds on the log
 * scale, or scattered points over several. */
#include "compute/rng.h"
#include "compute/tune_impl.h"

static enum status grid_search(struct tune_job *job, struct err *err)
{
    const size_t total = job->max_evals;
    struct tune_point p;
    double u[KERNEL_MAX_HP];

    for (size_t i = 0; i < total; i++) {
        for (size_t f = 0; f < job->nfree; f++)
            u[f] = job->nfree == 1
                       ? (total > 1 ? (double)i / (double)(total - 1) : 0.5)
                       : rng_uniform(job->opts->seed, rng_stream(RNG_TUNE, 2),
                                     i * job->nfree + f);
        enum status rc = tune_eval(job, u, false, NULL, &p, err);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

const struct tuner_ops tuner_grid = {
    .name = "grid",
    .title = "Grid",
    .help = "scores evenly spaced values of the kernel's hyperparameter (scattered ones when there "
            "are several), each with its best amplitude and noise; the best is then polished",
    .search = grid_search,
};
