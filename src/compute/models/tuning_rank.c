/* compute/models/tuning_rank.c -- the rank of the preconditioner for an approximate likelihood: the
 * one with the least predicted time of an evaluation, from the spectrum of a sample of rows
 * (share/doc/methods.md 13).  An evaluation is a sketch, a solve for the data to its tolerance, and
 * as many iterations for the probes as those need. */
#include "compute/models/model_impl.h"
#include "compute/models/tuning.h"
#include "compute/stats/spectrum.h"

#include <math.h>

/* Iterations of a probe: log(2 / rtol) sqrt(kappa) / 2 with kappa = 1 + ratio behind the
 * preconditioner, from the bound 9.2 for large kappa.  Probes have components in all directions,
 * for which the bound is realistic. */
static double probe_steps(double ratio)
{
    return 0.5 * sqrt(1.0 + ratio) * log(2.0 / TUNING_PROBE_RTOL);
}

static double evaluation_seconds(const struct tuning_level *l, struct fit_opts o, size_t probes,
                                 const struct fit_plan *plan, const struct rank_guess *g)
{
    /* One sketch: the first one is replaced by the last setting's basis. */
    const struct rank_cost one = model_plan_costs(l->n, l->src->d, &o, plan, g->rank, 1);
    o.targets += probes;
    const struct rank_cost all = model_plan_costs(l->n, l->src->d, &o, plan, g->rank, 1);
    return all.build + g->iterations * one.iteration +
           fmin(probe_steps(g->ratio), g->iterations) * (all.iteration - one.iteration);
}

enum status tuning_rank(struct tuning_level *l, struct fop *fop, bool stored,
                        const struct nmll_ask *at, size_t probes, size_t *rank, struct err *err)
{
    const struct tuning_task *task = l->task;
    struct fit_opts o = { .solver = solver_usual()->name, .features = l->M,
                          .rtol = TUNING_DATA_RTOL, .maxit = 1000,
                          .variance = VAR_NONE, .precision = l->precision, .keep_scale = true,
                          .mem_limit = task->mem_limit, .seed = task->seed,
                          .targets = at->t, .kernel = *task->kernel };
    const struct fit_plan plan = { .plan = stored ? PLAN_STORE : PLAN_REGENERATE,
                                   .threads = pool_threads(task->on.pool) };
    struct spectrum s;
    struct rank_choice c;
    double least = INFINITY;
    enum status rc = fop_set(fop, at->hp, err);

    if (rc == ST_OK)
        rc = spectrum_sample(fop, &(struct spectrum_ask){ at->t, l->y, 0, o.mem_limit, false }, &s,
                             NULL, task->on.ctl, err);
    if (rc != ST_OK)
        return rc;
    const struct rank_question q = { .d = l->src->d, .o = &o, .plan = &plan, .ratio = at->ratio,
                                     .solves = 1 };
    rc = model_rank_table(&s, NULL, &q, task->on.pool, &c, task->on.ctl, err);
    spectrum_free(&s);
    *rank = RANK_LEAST;
    for (size_t i = 0; rc == ST_OK && i < c.n; i++) {
        const double seconds = evaluation_seconds(l, o, probes, &plan, &c.at[i]);
        if (c.at[i].rank < RANK_LEAST || !(seconds < least))
            continue;
        least = seconds;
        *rank = c.at[i].rank;
    }
    return rc;
}
