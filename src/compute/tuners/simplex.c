/* compute/tuners/simplex.c -- searches without gradients and without a surrogate, by NLopt: Nelder &
 * Mead 1965 and Powell's BOBYQA (2009), from the start and from scattered points. */
#include "compute/rng.h"
#include "compute/tune_impl.h"

#include <math.h>

enum { RESTARTS = 3 };
static const double first_step = 0.12; /* of the log bounds: a factor of 4 over 100,000 */

static enum status free_search(struct tune_job *job, enum tune_free how, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t s = 0; rc == ST_OK && s < RESTARTS; s++) {
        const size_t left = tune_evals_left(job), share = left / (RESTARTS - s);
        struct tune_point from = { .amplitude = 1.0, .noise = 0.1 };
        double u[KERNEL_MAX_HP];

        if (share < 2)
            break;
        tune_from_hp(job, job->start, u);
        for (size_t f = 0; s > 0 && f < job->nfree; f++) { /* within a third of the start */
            const double t = rng_uniform(job->opts->seed, rng_stream(RNG_TUNE, 5),
                                         s * job->nfree + f);
            u[f] = fmin(fmax(u[f] + (t - 0.5) * 0.66, 0.05), 0.95);
        }
        tune_to_hp(job, u, from.hp);
        rc = tune_descend_free(job, &from, false, how, first_step, share, err);
    }
    return rc;
}

static enum status simplex_search(struct tune_job *job, struct err *err)
{
    return free_search(job, TUNE_SIMPLEX, err);
}

static enum status bobyqa_search(struct tune_job *job, struct err *err)
{
    return free_search(job, TUNE_BOBYQA, err);
}

const struct tuner_ops tuner_simplex = {
    .name = "neldermead",
    .title = "Nelder-Mead",
    .help = "moves a simplex downhill from the start and from two scattered points; no gradients; "
            "the best is then polished",
    .search = simplex_search,
};

const struct tuner_ops tuner_bobyqa = {
    .name = "bobyqa",
    .title = "BOBYQA",
    .help = "follows quadratic models of the objective from the start and from two scattered points; "
            "no gradients; with one free hyperparameter the simplex of neldermead; the best is then "
            "polished",
    .search = bobyqa_search,
};
