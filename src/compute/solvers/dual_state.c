/* compute/solvers/dual_state.c -- the state in which a descent was stopped (dual.h): iterate,
 * velocity and average as they stand in lazy form, the last good average, counters and running
 * estimates, so that a descent that goes on from it takes the steps of an unbroken one, bit for
 * bit.
 *
 * It is a list of doubles, which a session can keep: the head below, for each right-hand side four
 * numbers, then X, w, v and the sum of the average, and the step at which each coordinate is. */
#include "compute/solvers/dual.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* What is solved, and how: */
    S_CODE, S_ROWS, S_VECTORS, S_BATCH, S_MOMENTUM, S_GIVEN, S_AVERAGE, S_NOISE,
    /* Its course: */
    S_LAMBDA1, S_SEED_HIGH, S_SEED_LOW,
    S_STEPS, S_PLANNED, S_LENGTH, S_HALVED, S_SINCE, S_LOOKS, S_WALKED, S_NEAR, S_DUE,
    S_PATH_STEPS, S_R, S_FROM, S_CHANGED, S_LOG_BEFORE,
    S_COLUMNS
};
enum { EACH = 4, WORD = 32 };

static size_t length(const struct dual *d)
{
    const size_t parts = 1 + (d->average == DUAL_NONE ? 2 : 3);
    return S_COLUMNS + EACH * d->k + parts * d->k * d->n + d->n;
}

static double rows_of_step(const struct dual *d)
{
    return (double)(d->batch < d->n ? d->batch : d->n);
}

/* The part of the head that a descent must share with the one that it goes on from. */
static void identify(const struct dual *d, double *v)
{
    v[S_CODE] = d->how->code;
    v[S_ROWS] = (double)d->n;
    v[S_VECTORS] = (double)d->k;
    v[S_BATCH] = rows_of_step(d);
    v[S_MOMENTUM] = d->momentum;
    v[S_GIVEN] = d->given;
    v[S_AVERAGE] = (double)d->average;
    v[S_NOISE] = d->A->lam2;
}

static void put_head(const struct dual *d, double *v)
{
    const struct dual_path *p = &d->path;

    identify(d, v);
    v[S_LAMBDA1] = d->lambda1;
    v[S_SEED_HIGH] = (double)(d->seed >> WORD);
    v[S_SEED_LOW] = (double)(uint32_t)d->seed;
    v[S_STEPS] = (double)d->it;
    v[S_PLANNED] = (double)d->maxit;
    v[S_LENGTH] = d->step;
    v[S_HALVED] = (double)d->halved;
    v[S_SINCE] = (double)d->since;
    v[S_LOOKS] = (double)d->looks;
    v[S_WALKED] = d->walked;
    v[S_NEAR] = d->near;
    v[S_DUE] = d->due;
    v[S_PATH_STEPS] = (double)p->t;
    v[S_R] = p->r;
    v[S_FROM] = (double)p->from;
    v[S_CHANGED] = (double)p->changed;
    v[S_LOG_BEFORE] = p->log_before;
}

void dual_state_take(const struct dual *d, const double *X)
{
    const size_t kn = d->k * d->n;
    const struct dual_path *p = &d->path;
    double *v = p->power && d->it > 0 ? mem_calloc(length(d), sizeof *v, "a state", NULL) : NULL;

    if (v == NULL)
        return;
    d->info[0].state = v;
    d->info[0].nstate = length(d);
    put_head(d, v);
    v += S_COLUMNS;
    for (size_t c = 0; c < d->k; c++, v += EACH) {
        v[0] = d->bnorm[c];
        v[1] = d->run[c];
        v[2] = d->least[c];
        v[3] = d->rel[c];
    }
    memcpy(v, X, kn * sizeof *v);
    memcpy(v + kn, p->w, (p->a ? 3 : 2) * kn * sizeof *v); /* w, v and a are one array */
    v += (p->a ? 4 : 3) * kn;
    for (size_t i = 0; i < d->n; i++)
        v[i] = (double)p->last[i];
}

/* Nothing in a file is trusted: numbers that are used as counts or as powers are in order. */
static bool sound(const struct dual *d, const double *v)
{
    const double *last = v + length(d) - d->n;
    const double most = 1e15; /* counts are exact */
    bool good = (v[S_LAMBDA1] > 0.0 || d->how->exact_step) && v[S_LENGTH] > 0.0 &&
                v[S_R] > 0.0 && v[S_R] <= 1.0 &&
                v[S_LOG_BEFORE] <= 0.0 && v[S_STEPS] <= v[S_PLANNED] &&
                v[S_PATH_STEPS] <= v[S_STEPS] && v[S_CHANGED] <= v[S_PATH_STEPS] &&
                v[S_SEED_HIGH] <= UINT32_MAX && v[S_SEED_LOW] <= UINT32_MAX;

    for (size_t i = S_SEED_HIGH; i < S_LOG_BEFORE; i++)
        good = good && v[i] >= 0.0 && v[i] < most;
    for (size_t i = 0; i < d->n; i++)
        good = good && last[i] >= 0.0 && last[i] <= v[S_PATH_STEPS];
    return good;
}

bool dual_state_fits(const struct dual *d)
{
    const double *v = d->o->state;
    double own[S_COLUMNS] = { 0 };

    if (v == NULL || d->o->nstate != length(d))
        return false;
    identify(d, own);
    if (d->free_momentum && v[S_MOMENTUM] >= d->momentum && v[S_MOMENTUM] < 1.0)
        own[S_MOMENTUM] = v[S_MOMENTUM];
    if (memcmp(own, v, (S_NOISE + 1) * sizeof *v) != 0 || !sound(d, v))
        return false;
    for (size_t c = 0; c < d->k; c++)
        if (v[S_COLUMNS + EACH * c] != d->bnorm[c])
            return false;
    return true;
}

void dual_state_system(struct dual *d)
{
    d->lambda1 = d->o->state[S_LAMBDA1];
    d->momentum = d->o->state[S_MOMENTUM];
    d->free_momentum = false;
}

void dual_state_plan(struct dual *d)
{
    const double *v = d->o->state;
    const size_t planned = (size_t)v[S_PLANNED];

    d->begun = (size_t)v[S_STEPS];
    if (d->maxit > 0)
        d->maxit += d->begun;
    else
        d->maxit = planned > d->begun ? planned : 2 * planned;
}

void dual_state_restore(struct dual *d, double *X)
{
    const size_t kn = d->k * d->n;
    const double *v = d->o->state;
    const double r = d->path.r;
    const size_t from = d->path.from;
    struct dual_path *p = &d->path;

    d->seed = (uint64_t)v[S_SEED_HIGH] << WORD | (uint64_t)v[S_SEED_LOW];
    d->it = d->begun;
    d->step = v[S_LENGTH];
    d->halved = (size_t)v[S_HALVED];
    d->since = (size_t)v[S_SINCE];
    d->looks = (size_t)v[S_LOOKS];
    d->walked = v[S_WALKED];
    d->near = v[S_NEAR] != 0.0;
    d->due = v[S_DUE] != 0.0;
    p->t = (size_t)v[S_PATH_STEPS];
    p->r = v[S_R];
    p->from = (size_t)v[S_FROM];
    p->changed = (size_t)v[S_CHANGED];
    p->log_before = v[S_LOG_BEFORE];
    v += S_COLUMNS;
    for (size_t c = 0; c < d->k; c++, v += EACH) {
        d->run[c] = v[1];
        d->least[c] = v[2];
        d->rel[c] = d->info[c].start = v[3];
    }
    memcpy(X, v, kn * sizeof *X);
    memcpy(p->w, v + kn, (p->a ? 3 : 2) * kn * sizeof *v);
    v += (p->a ? 4 : 3) * kn;
    for (size_t i = 0; i < d->n; i++)
        p->last[i] = (size_t)v[i];
    dual_path_reweigh(p, r, from);
}
