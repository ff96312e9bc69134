/* app/runs/sweep_measures.c -- see sweep_measures.h. */
#include "app/runs/sweep_measures.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The run that point i made: the last of its kind before the next point began. */
const struct run *sweep_run(const struct workspace *ws, const struct sweep *s, size_t i)
{
    if (s->first[i] == SIZE_MAX)
        return NULL;
    const size_t end =
        i + 1 < s->npoints && s->first[i + 1] != SIZE_MAX ? s->first[i + 1] : ws->runs_made;
    const struct run *found = NULL;

    for (size_t r = 0; r < ws->nrun; r++)
        if (ws->run[r]->serial >= s->first[i] && ws->run[r]->serial < end &&
            (ws->run[r]->kind == RUN_FIT) == s->fits)
            found = ws->run[r];
    return found;
}

const struct sweep_measure_row sweep_measures[SWEEP_MEASURES] = {
    { "rmse_scaled", "rmse/sd", "rmse", "RMSE over the target's sd" },
    { "nlpd_scaled", "nlpd", "nlpd", "NLPD (nats a row, scaled)" },
    { "coverage95", "cover95", "coverage", "share inside the 95 % interval" },
    { "nmll", "nmll", "nmll", "NMLL (nats)" },
    { "effective_dimension", "effdim", "effdim", "effective dimension" },
    { "iterations", "it", "iterations", "iterations" },
    { "seconds", "seconds", "seconds", "seconds" },
};

/* A scaled score, the mean over the run's targets. */
static double score_mean(const struct run *r, size_t at)
{
    const struct metrics *m;
    double sum = 0.0, v;
    size_t n = 0;

    for (; (m = run_metrics(r, n, false)); n++) {
        memcpy(&v, (const char *)m + at, sizeof v);
        sum += v;
    }
    return n ? sum / (double)n : NAN;
}

double sweep_measured(const struct run *r, enum sweep_measure m)
{
    const bool fit = r && r->kind == RUN_FIT;

    switch (m) {
    case SWEEP_RMSE: return score_mean(r, offsetof(struct metrics, rmse));
    case SWEEP_NLPD: return score_mean(r, offsetof(struct metrics, nlpd));
    case SWEEP_COVERAGE: return score_mean(r, offsetof(struct metrics, coverage95));
    case SWEEP_NMLL: return r && !fit && r->state != RUN_FAILED ? r->tune.best.nmll : NAN;
    case SWEEP_EFFDIM:
        return fit && r->info.effective_dimension > 0.0 ? round(r->info.effective_dimension) : NAN;
    case SWEEP_ITERATIONS:
        return fit && r->info.why != OUT_DIRECT && r->info.why != OUT_RUNNING
                   ? (double)r->info.iterations
                   : NAN;
    case SWEEP_SECONDS: return r && r->ended > r->started ? r->ended - r->started : NAN;
    case SWEEP_MEASURES: break;
    }
    return NAN;
}
