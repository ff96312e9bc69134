/* compute/tuners/grid.c -- the simplest search: a grid on the log scale over the bounds of one
 * hyperparameter, or random points over those of several. */
#include "compute/rng.h"
#include "compute/tuners/tune_impl.h"

#include <math.h>

/* Position i of n on the unit scale: the two ends and evenly between.  The grids of further
 * restarts are shifted by multiples of the golden section of a step, so that all together are a
 * finer one. */
static double place(const struct tune_job *job, size_t i, size_t n)
{
    const double shift = 0.61803398874989484820 * (double)job->opts->restart;

    if (n < 2)
        return 0.5;
    return job->opts->restart == 0 ? (double)i / (double)(n - 1)
                                   : ((double)i + shift - floor(shift)) / (double)n;
}

static enum status grid_search(struct tune_job *job, struct err *err)
{
    const size_t total = job->max_evals;
    struct tune_point p;
    double u[KERNEL_MAX_HP];

    for (size_t i = 0; i < total; i++) {
        for (size_t f = 0; f < job->nfree; f++)
            u[f] = job->nfree == 1 ? place(job, i, total)
                                   : rng_uniform(job->opts->seed, tune_stream(job, 2),
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
