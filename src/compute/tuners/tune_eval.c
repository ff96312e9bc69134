/* compute/tuners/tune_eval.c -- positions between the bounds, and the evaluation of the NMLL (or of
 * another objective) at two fidelities. */
#include "compute/tuners/tune_impl.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Positions. */

/* hp_i = exp(log lo_i + u (log hi_i - log lo_i)), with the bounds themselves at u = 0 and 1. */
void tune_to_hp(const struct tune_job *job, const double *u, double *hp)
{
    for (size_t i = 0; i < job->nhp; i++)
        hp[i] = job->lo[i];
    for (size_t f = 0; f < job->nfree; f++) {
        const size_t i = job->free_at[f];
        const double t = fmin(fmax(u[f], 0.0), 1.0), a = log(job->lo[i]), b = log(job->hi[i]);
        hp[i] = t <= 0.0 ? job->lo[i] : t >= 1.0 ? job->hi[i] : exp(a + t * (b - a));
    }
}

void tune_from_hp(const struct tune_job *job, const double *hp, double *u)
{
    for (size_t f = 0; f < job->nfree; f++) {
        const size_t i = job->free_at[f];
        const double a = log(job->lo[i]), b = log(job->hi[i]);
        u[f] = fmin(fmax((log(hp[i]) - a) / (b - a), 0.0), 1.0);
    }
}

size_t tune_evals_left(const struct tune_job *job)
{
    const size_t used = job->res->evaluations;
    return used < job->max_evals ? job->max_evals - used : 0;
}

size_t tune_starts(const struct tune_job *job, size_t most)
{
    return job->opts->restarts > 1 ? 1 : most;
}

uint64_t tune_stream(const struct tune_job *job, uint32_t base)
{
    enum { APART = 1u << 16 }; /* more streams than any search uses */

    return rng_stream(RNG_TUNE, base + (uint32_t)job->opts->restart * APART);
}

void tune_scatter(const struct tune_job *job, uint32_t stream, size_t which, double *u)
{
    tune_from_hp(job, job->start, u);
    for (size_t f = 0; f < job->nfree; f++) {
        const double t = rng_uniform(job->opts->seed, rng_stream(RNG_TUNE, stream),
                                     which * job->nfree + f);
        u[f] = fmin(fmax(u[f] + (t - 0.5) * 0.66, 0.05), 0.95);
    }
}

bool tune_profiles_full(const struct tune_job *job)
{
    return (!job->kind->joint && !job->opts->approx) || !job->have_low;
}

bool tune_is_smooth(const struct tune_job *job)
{
    return (job->kind->in_double || job->full.precision == PREC_DOUBLE) &&
           job->full.n < TUNE_MANY_ROWS;
}

double tune_tolerance(const struct tune_job *job)
{
    return (tune_is_smooth(job) ? 1e-9 : 5e-6) * (double)job->full.n;
}

/* Evaluation. */

const char *const tune_objective_words[] = { "nmll", "loo", "validation", NULL };

const char *tune_objective_name(enum tune_objective o)
{
    return tune_objective_words[o];
}

/* True when a is better than b. */
static bool better(const struct tune_point *a, const struct tune_point *b)
{
    if (a->subsampled != b->subsampled && isfinite(a->score) && isfinite(b->score))
        return b->subsampled; /* a value on all rows is preferred to an estimate */
    return a->score < b->score || isnan(b->score);
}

/* Appends a point to the trace, keeps the best ones, and reports. */
static enum status record(struct tune_job *job, const struct tune_point *p, struct err *err)
{
    struct tune_result *res = job->res;
    const size_t most = job->opts->max_evals ? job->opts->max_evals : job->max_evals;
    double point[KERNEL_MAX_HP + 2];
    enum status rc = mem_grow((void **)&res->trace, &job->trace_cap, res->ntrace + 1,
                              sizeof *res->trace, "the trace", err);

    if (rc != ST_OK)
        return rc;
    res->trace[res->ntrace++] = *p;
    res->evaluations++;
    if (isfinite(p->score)) {
        if (better(p, &res->best)) {
            res->best = *p;
            if (job->terms && p->se > 0.0)
                memcpy(job->best_terms, job->terms, job->nprobes * sizeof *job->terms);
        }
        if (p->score < job->best_low.score && p->subsampled == job->have_low)
            job->best_low = *p;
    }
    memcpy(point, p->hp, job->nhp * sizeof *point);
    point[job->nhp] = p->amplitude;
    point[job->nhp + 1] = p->noise;
    ctl_tick(job->ctl,
             &(struct tick){.phase = job->opts->objective == TUNE_LOO     ? PHASE_TUNE_LOO
                                     : job->opts->objective == TUNE_VALID ? PHASE_TUNE_VALIDATION
                                                                          : PHASE_TUNE,
                            .done = res->evaluations,
                            .total = res->evaluations < most ? most : 0,
                            .value = p->score,
                            .value2 = res->best.score,
                            .target = NAN,
                            .sampled = p->subsampled,
                            .point = point,
                            .npoint = job->nhp + 2});
    return ST_OK;
}

/* The chain rule from log hp to u for the free hyperparameters: d log hp / d u = log(hi / lo). */
static void chain(const struct tune_job *job, const double *g, double *gradu)
{
    for (size_t f = 0; f < job->nfree; f++) {
        const size_t i = job->free_at[f];
        gradu[f] = g[i] * log(job->hi[i] / job->lo[i]);
    }
}

/* A point without a value in this precision is a bad point, not a failure of the tuning. */
static enum status forgive(enum status rc, struct tune_point *p, struct err *err)
{
    if (rc != ST_NOT_PD)
        return rc;
    err_clear(err);
    p->nmll = p->score = INFINITY;
    return ST_OK;
}

static bool at_start(const struct tune_job *job, const double *hp)
{
    for (size_t i = 0; i < job->nhp; i++)
        if (fabs(log(hp[i] / job->start[i])) > 1e-9)
            return false;
    return true;
}

bool tune_scored(const struct tune_job *job, struct tune_point *start)
{
    const struct tune_result *res = job->res;

    for (size_t i = 0; tune_profiles_full(job) && i < res->ntrace; i++)
        if (!res->trace[i].subsampled && at_start(job, res->trace[i].hp)) {
            *start = res->trace[i];
            return true;
        }
    return false;
}

/* Before an evaluation: CANCELLED if there is none left. */
static enum status may_go_on(const struct tune_job *job, struct err *err)
{
    const size_t most = job->opts->max_evals;

    if (ctl_stopped(job->ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    return most > 0 && job->res->evaluations >= most
               ? err_set(err, ST_CANCELLED, "the %zu evaluations are made", most)
               : ST_OK;
}

static double ratio_of(const struct tune_point *p)
{
    return p->noise * p->noise / (p->amplitude * p->amplitude);
}

/* The question to the likelihood at a point, and the place for its answer (nmll.h). */
static struct nmll_ask ask_of(const struct tune_job *job, const struct tuning_level *l,
                              const struct tune_point *p, enum nmll_scale scale)
{
    return (struct nmll_ask){ .t = job->targets, .y = l->y, .hp = p->hp, .nhp = job->nhp,
                              .scale = scale, .amplitude = p->amplitude, .noise = p->noise,
                              .ratio = ratio_of(p), .within = &job->within };
}

static struct nmll_told told_of(struct tune_point *p, double *grad)
{
    return (struct nmll_told){ .value = &p->nmll, .amplitude = p->amplitudes, .noise = p->noises,
                               .grad = grad, .effdim = &p->effdim };
}

/* LOO and VALID: score = n/2 (1 + log(2 pi mse)), so that it is in nats like the NMLL. */
static enum status by_errors(struct tune_job *job, struct tuning_level *l, struct tune_point *out,
                             struct err *err)
{
    const struct nmll_ask ask = ask_of(job, l, out, NMLL_BEST);
    struct nmll_told told = told_of(out, NULL);
    double mse = NAN;

    told.mse = &mse;
    const enum status rc = job->kind->errors(l, &ask, &told, err);
    out->score = 0.5 * (double)(job->targets * l->n) * (1.0 + log(2.0 * M_PI * mse));
    return rc;
}

/* The NMLL with amplitude and noise at their best.  When single precision limits a result that
 * could be the best one, the level uses double precision from then on.  That takes twice the time,
 * and only data with almost no noise need it. */
static enum status at_best(struct tune_job *job, struct tuning_level *l, struct tune_point *out,
                           double *g, struct err *err)
{
    const struct nmll_ask ask = ask_of(job, l, out, NMLL_BEST);
    struct nmll_told told = told_of(out, g);

    for (;;) {
        bool limited = false;
        told.limited = l->precision == PREC_FLOAT && !job->kind->in_double ? &limited : NULL;
        const enum status rc = job->kind->best(l, &ask, &told, err);
        const bool hopeless = l == &job->low && isfinite(out->nmll) && rc == ST_OK &&
                              (out->nmll - l->log_scale) * (double)job->full.n / (double)l->n >
                                  job->best_low.score + 0.05 * (double)job->full.n;
        if (!limited || hopeless || (rc != ST_OK && rc != ST_NOT_PD))
            return rc;
        l->precision = PREC_DOUBLE;
        job->kind->close(l);
        err_clear(err);
    }
}

static void first_target(struct tune_point *p)
{
    p->amplitude = p->amplitudes[0];
    p->noise = p->noises[0];
}

enum status tune_eval(struct tune_job *job, const double *u, bool full, double *gradu,
                      struct tune_point *out, struct err *err)
{
    struct tuning_level *l = full || !job->have_low ? &job->full : &job->low;
    double g[KERNEL_MAX_HP] = { 0 };
    enum status rc;

    *out = (struct tune_point){ .nmll = INFINITY, .effdim = NAN, .amplitude = l->amplitude,
                                .noise = l->noise, .subsampled = l != &job->full,
                                .score = NAN };
    for (size_t j = 0; j < job->targets; j++) {
        out->amplitudes[j] = l->amplitude;
        out->noises[j] = l->noise;
    }
    tune_to_hp(job, u, out->hp);
    rc = may_go_on(job, err);
    if (rc != ST_OK)
        return rc;
    rc = job->opts->objective != TUNE_NMLL ? by_errors(job, l, out, err)
                                           : at_best(job, l, out, gradu ? g : NULL, err);
    first_target(out);
    rc = forgive(rc, out, err);
    if (rc != ST_OK)
        return rc;
    out->nmll -= l->log_scale;
    if (isnan(out->score))
        out->score = out->nmll;
    if (isfinite(out->score)) { /* the next search over the ratio starts here */
        l->amplitude = out->amplitude;
        l->noise = out->noise;
    }
    const double scale = (double)job->full.n / (double)l->n; /* from the sample to all rows */
    out->nmll *= scale;
    out->score *= scale;
    if (gradu != NULL) {
        for (size_t i = 0; i < job->nhp; i++)
            g[i] *= scale;
        chain(job, g, gradu);
    }
    if (l != &job->full && isnan(job->start_low) && at_start(job, out->hp))
        job->start_low = out->score;
    return record(job, out, err);
}

size_t tune_ahead(struct tune_job *job, const double *u, size_t count)
{
    enum { MOST = 16 };
    struct tuning_level *l = job->have_low ? &job->low : &job->full;
    const size_t left = tune_evals_left(job), some = count < left ? count : left,
                 n = some < MOST ? some : MOST;
    const struct tune_point p = { .amplitude = l->amplitude, .noise = l->noise };
    struct nmll_ask ask[MOST];
    double *hp = job->kind->ahead && job->opts->objective == TUNE_NMLL && n > 1
                     ? mem_calloc(n, KERNEL_MAX_HP * sizeof *hp, "points", NULL)
                     : NULL;
    size_t done = 0;

    for (size_t i = 0; hp && i < n; i++) {
        tune_to_hp(job, u + i * job->nfree, hp + i * KERNEL_MAX_HP);
        ask[i] = ask_of(job, l, &p, NMLL_BEST);
        ask[i].hp = hp + i * KERNEL_MAX_HP;
    }
    if (hp)
        done = job->kind->ahead(l, ask, n);
    free(hp);
    return done ? done : 1;
}

enum status tune_eval_at(struct tune_job *job, const double *u, double amplitude, double noise,
                         double *gradu, struct tune_point *out, struct err *err)
{
    double g[KERNEL_MAX_HP + 2] = { 0 };
    struct tuning_level *l = &job->full;
    enum status rc;

    *out = (struct tune_point){ .nmll = INFINITY, .effdim = NAN, .amplitude = amplitude,
                                .noise = noise, .amplitudes = { amplitude },
                                .noises = { noise } };
    tune_to_hp(job, u, out->hp);
    rc = may_go_on(job, err);
    if (rc != ST_OK)
        return rc;
    const struct nmll_ask ask = ask_of(job, l, out, job->targets > 1 ? NMLL_RATIO : NMLL_GIVEN);
    struct nmll_told told = told_of(out, gradu ? g : NULL);
    if (job->opts->approx) {
        const struct tuning_probes p = { .n = job->nprobes, .error = job->error,
                                         .given = job->opts->rank, .terms = job->terms,
                                         .rank = &job->res->rank, .used = &job->res->probes,
                                         .other = &job->other_probes };
        told.effdim = NULL;
        told.se = &out->se;
        rc = job->kind->probes(l, &ask, &told, &p, err);
    } else {
        rc = job->kind->at(l, &ask, &told, err);
    }
    first_target(out);
    rc = forgive(rc, out, err);
    if (rc != ST_OK)
        return rc;
    out->nmll -= l->log_scale;
    out->score = out->nmll;
    if (gradu != NULL) {
        chain(job, g, gradu);
        gradu[job->nfree] = job->targets > 1 ? 0.0 : g[job->nhp];
        gradu[job->nfree + 1] = job->targets > 1 ? g[job->nhp] : g[job->nhp + 1];
    }
    return record(job, out, err);
}
