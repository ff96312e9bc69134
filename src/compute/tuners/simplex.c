/* compute/tuners/simplex.c -- searches without gradients and without a surrogate, by NLopt: Nelder
 * & Mead 1965 and Powell's BOBYQA (2009), from the start and from scattered points. */
#include "compute/tuners/tune_impl.h"

enum { STARTS = 3, STREAM = 5 };
static const double first_step = 0.12; /* share of the log range: a factor of 4 for 1 : 100,000 */

static enum status free_search(struct tune_job *job, enum tune_free how, struct err *err)
{
    const size_t starts = tune_starts(job, STARTS);
    enum status rc = ST_OK;

    for (size_t s = 0; rc == ST_OK && s < starts; s++) {
        const size_t left = tune_evals_left(job), share = left / (starts - s);
        struct tune_point from = { .amplitude = 1.0, .noise = 0.1 };
        double u[KERNEL_MAX_HP];

        if (share < 2)
            break;
        if (s > 0)
            tune_scatter(job, STREAM, s, u);
        else
            tune_from_hp(job, job->start, u);
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
    .help =
        "follows quadratic models of the objective from the start and from two scattered points; "
        "no gradients; with one free hyperparameter the simplex of neldermead; the best is then "
        "polished",
    .search = bobyqa_search,
};
