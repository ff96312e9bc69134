/* app/runs/sweep_measures.c -- see sweep_measures.h. */
#include "app/runs/sweep_measures.h"

#include <math.h>

/* The run of point i: the last of its kind before the next point began. */
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

bool sweep_measures_has(const struct sweep *s, const struct measure *m)
{
    return measure_find(m->name, s->fits ? RUN_FIT : RUN_TUNE) == m;
}

const struct measure *sweep_measures_shown(const struct sweep *s)
{
    return measure_brief(s->show, s->fits ? RUN_FIT : RUN_TUNE);
}

double sweep_measured(const struct run *r, const struct measure *m)
{
    if (!r || (m->of == MEASURE_OF_INFO && r->info.why == OUT_RUNNING) ||
        (m->of == MEASURE_OF_POINT && r->state == RUN_FAILED))
        return NAN;
    const double v = measure_mean(m, r);

    return !m->whole ? v : v > 0.0 ? round(v) : NAN;
}
