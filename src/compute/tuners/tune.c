/* compute/tuners/tune.c -- the course of a tuning: bounds and fidelities, search, polish,
 * comparison with the start, verdict (share/doc/methods.md 7). */
#include "compute/tuners/tune.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"
#include "compute/tuners/learn.h"
#include "compute/tuners/tune_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defaults in units of the standardised target.  xGPR allows amplitudes of 0.1 to 10 and noise of
 * 1e-3 to 10; noise-free data need less noise, and rough kernels larger amplitudes. */
const double tune_amplitude_range[2] = { 0.05, 50.0 };
const double tune_noise_range[2] = { 1e-4, 10.0 };

enum { RESTART_STREAM = 6, ALL_ROWS_STREAM = 7 };

/* Setting up. */

/* out: the bounds of one parameter, equal when it is fixed; RANGE for impossible ones. */
static enum status bound_of(const struct tune_bound *b, double lo, double hi, const char *name,
                            double out[2], struct err *err)
{
    if (b->fixed) {
        if (!(b->value > 0.0) || !isfinite(b->value))
            return err_set(err, ST_RANGE, "%s=%g must be positive", name, b->value);
        out[0] = out[1] = b->value;
        return ST_OK;
    }
    out[0] = b->lo > 0.0 ? b->lo : lo;
    out[1] = b->hi > 0.0 ? b->hi : hi;
    if (!(out[0] <= out[1]) || !isfinite(out[1]))
        return err_set(err, ST_RANGE, "%s: the lower bound %g is above the upper bound %g", name,
                       out[0], out[1]);
    return ST_OK;
}

/* Bounds, start and the list of free hyperparameters. */
static enum status job_bounds(struct tune_job *job, struct err *err)
{
    const struct tune_opts *o = job->opts;
    enum status rc = bound_of(&o->amplitude, tune_amplitude_range[0], tune_amplitude_range[1],
                              "amplitude", job->within.amplitude, err);

    if (rc == ST_OK)
        rc = bound_of(&o->noise, tune_noise_range[0], tune_noise_range[1], "noise",
                      job->within.noise, err);
    if (job->kind->no_noise)
        job->within.noise[0] = job->within.noise[1] = 1.0;
    for (size_t i = 0; rc == ST_OK && i < job->nhp; i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam hp;
        double b[2];

        kernel_hp_info(job->kernel, i, name, &hp);
        rc = bound_of(&o->hp[i], hp.lo, hp.hi, name, b, err);
        if (rc != ST_OK)
            break;
        job->lo[i] = b[0];
        job->hi[i] = b[1];
        const double s = o->start != NULL && o->start[i] > 0.0 ? o->start[i] : hp.init;
        job->start[i] = fmin(fmax(s, b[0]), b[1]);
        if (b[1] > b[0] * (1.0 + 1e-12))
            job->free_at[job->nfree++] = i;
    }
    job->have_start = o->start != NULL || o->restart > 0;
    return rc;
}

/* Moves the start of every search but the first. */
static void move_start(struct tune_job *job)
{
    double u[KERNEL_MAX_HP];

    if (job->opts->restart == 0)
        return;
    tune_scatter(job, RESTART_STREAM, job->opts->restart, u);
    tune_to_hp(job, u, job->start);
}

/* The sum of log S_ii over rows and targets, by which the NMLL of S y exceeds that of y. */
static double log_scale(const struct tune_job *job, const struct source *s)
{
    double sum = 0.0;

    for (size_t i = 0; s->row_scale && i < s->n; i++)
        sum += log(s->row_scale[i]);
    return (double)job->targets * sum;
}

/* Replaces *y by S y if the source has row factors. */
static enum status weigh(struct tune_job *job, const struct source *src, const double **y,
                         struct err *err)
{
    const double *s = src->row_scale;

    if (s == NULL)
        return ST_OK;
    job->yown = mem_calloc(job->targets * src->n, sizeof *job->yown, "the weighted targets", err);
    if (job->yown == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < src->n; i++) {
        if (!(s[i] > 0.0) || !isfinite(s[i]))
            return err_set(err, ST_RANGE, "the weight of training row %zu is %g", i + 1,
                           s[i] * s[i]);
        for (size_t j = 0; j < job->targets; j++)
            job->yown[j * src->n + i] = s[i] * (*y)[j * src->n + i];
    }
    *y = job->yown;
    return ST_OK;
}

static void rows_free(struct tune_rows *r)
{
    free(r->idx);
    free(r->x);
    free(r->y);
    free(r->s);
}

/* Reduces a level to a sample of its rows: one random row from each of `rows` equal stretches of
 * the data, so that sorted files are covered evenly.  A function of the seed alone. */
static enum status subsample(struct tune_job *job, struct tuning_level *l, struct tune_rows *r,
                             uint32_t stream, size_t rows, struct err *err)
{
    const size_t n = l->n, d = l->src->d;
    const double *scale = l->src->row_scale;

    r->idx = mem_calloc(rows, sizeof *r->idx, "the sample's rows", err);
    r->y = r->idx ? mem_calloc(job->targets * rows, sizeof *r->y, "the sample's targets", err)
                  : NULL;
    if (r->y && scale)
        r->s = mem_calloc(rows, sizeof *r->s, "the sample's weights", err);
    if (r->y == NULL || (scale && r->s == NULL))
        return ST_NOMEM;
    for (size_t i = 0; i < rows; i++) {
        const size_t a = (size_t)((double)i * (double)n / (double)rows);
        const size_t b = i + 1 < rows ? (size_t)((double)(i + 1) * (double)n / (double)rows) : n;
        const uint64_t draw = rng_below(job->opts->seed, rng_stream(RNG_TUNE, stream), i,
                                        b > a ? b - a : 1);
        r->idx[i] = a + (size_t)draw;
        for (size_t j = 0; j < job->targets; j++)
            r->y[j * rows + i] = l->y[j * n + r->idx[i]];
        if (r->s)
            r->s[i] = scale[r->idx[i]];
    }
    source_subset_init(&r->subset, l->src, r->idx, rows);
    r->x = mem_aligned(rows * d, sizeof *r->x, "the sample's inputs", err);
    enum status rc = r->x ? ST_OK : ST_NOMEM;
    for (size_t at = 0, e; rc == ST_OK && at < rows; at = e) { /* in pieces: it may be on disk */
        e = at + 256 < rows ? at + 256 : rows;
        rc = r->subset.base.rows(&r->subset.base, at, e, r->x + at * d, err);
    }
    if (rc != ST_OK)
        return rc;
    source_array_init(&r->sample, r->x, rows, d, d);
    r->sample.base.row_scale = r->s;
    r->sample.base.layout = l->src->layout;
    l->log_scale = log_scale(job, &r->sample.base);
    l->src = &r->sample.base;
    l->y = r->y;
    l->n = rows;
    return ST_OK;
}

/* Sets the rows and columns of both fidelities. */
static enum status job_levels(struct tune_job *job, const struct source *src, const double *y,
                              struct err *err)
{
    const struct tune_opts *o = job->opts;
    const struct tuning_sizes z = job->kind->sizes(job->kernel, src->n, src->d, o->features,
                                                   o->subsample);

    job->full = (struct tuning_level){ .task = &job->task, .src = src, .y = y,
                                       .log_scale = log_scale(job, src), .n = src->n,
                                       .M = z.all_cols, .many_passes = o->approx,
                                       .precision = o->precision };
    enum status rc = ST_OK;
    if (z.all_rows < src->n)
        rc = subsample(job, &job->full, &job->some, ALL_ROWS_STREAM, z.all_rows, err);
    if (rc != ST_OK)
        return rc;
    job->low = (struct tuning_level){ .task = &job->task, .src = job->full.src, .y = job->full.y,
                                      .log_scale = job->full.log_scale, .n = job->full.n,
                                      .M = z.cols, .precision = o->precision };
    /* With probes even when the low level is no smaller, because values by the Gram matrix and by
     * probes cannot be compared. */
    job->have_low = z.rows < job->full.n || z.cols < job->full.M || o->approx;
    job->nprobes = o->probes ? o->probes : 16;
    if (o->approx) {
        job->terms = mem_calloc(3 * job->nprobes, sizeof *job->terms, "the probes", err);
        if (job->terms == NULL)
            return ST_NOMEM;
        job->best_terms = job->terms + job->nprobes;
        job->other_terms = job->best_terms + job->nprobes;
    }
    return z.rows < job->full.n ? subsample(job, &job->low, &job->few, 1, z.rows, err) : ST_OK;
}

/* The course. */

/* Of a limit on evaluations the polish gets a third, and what the search has left; one is kept for
 * scoring the start on all rows (compare_start).  With a lengthscale for each input the optimum of
 * few columns is far from that of all columns: of 60 steps on pol (26 inputs, 2048 columns) the
 * first 20 gained 370 nats, the next 20 180 and the last 20 40. */
static size_t start_share(const struct tune_job *job)
{
    struct tune_point p;

    return job->have_start && job->opts->max_evals > 1 && !tune_scored(job, &p);
}
static size_t polish_share(const struct tune_job *job)
{
    const struct tune_opts *o = job->opts;

    if (o->max_evals > 0) {
        const size_t left = o->max_evals - job->res->evaluations, kept = start_share(job);
        return left > kept ? left - kept : 0;
    }
    /* With ard the search on the sample may have found a single lengthscale only. */
    return kernel_has_ard(job->kernel) && !o->approx ? 60 : 20;
}
static size_t search_share(const struct tune_job *job)
{
    const struct tune_opts *o = job->opts;

    if (o->max_evals == 0)
        return kernel_has_ard(job->kernel) || kernel_nhp(job->kernel) > 4 ? TUNE_MANY_EVALS
                                                                          : TUNE_DEFAULT_EVALS;
    const size_t polish = o->max_evals / 3 > 1 ? o->max_evals / 3 : 1;
    return o->max_evals - polish - (job->have_low ? start_share(job) : 0);
}

static enum status run_search(struct tune_job *job, struct err *err)
{
    const struct tuner_ops *t = tuner_find(job->opts->method, err);

    if (t == NULL)
        return ST_NOT_FOUND;
    job->max_evals = search_share(job);
    if (job->nfree == 0 || job->max_evals == 0)
        return ST_OK;
    return t->search(job, err);
}

/* A descent on all rows and columns. */
static enum status descend_full(struct tune_job *job, const struct tune_point *from,
                                size_t max_evals, struct err *err)
{
    if (job->opts->objective != TUNE_NMLL)
        return tune_descend_free(job, from, true, TUNE_SIMPLEX, 0.04, max_evals, err);
    return tune_line_suits(job) ? tune_line(job, from, max_evals, err)
                                : tune_descend(job, from, true, max_evals, err);
}

/* The polish: a descent on all rows and columns from the best point of the search. */
static enum status run_polish(struct tune_job *job, struct err *err)
{
    struct tune_point from;
    double u[KERNEL_MAX_HP];
    enum status rc = ST_OK;

    if (!job->have_low && start_share(job)) { /* with few evaluations only the better is polished */
        tune_from_hp(job, job->start, u);
        rc = tune_eval(job, u, true, NULL, &from, err);
        if (rc != ST_OK)
            return rc;
    }
    from = job->best_low;
    if (!isfinite(from.score)) { /* nothing was searched: evaluate the start */
        tune_from_hp(job, job->start, u);
        rc = tune_eval(job, u, tune_profiles_full(job), NULL, &from, err);
        if (rc != ST_OK)
            return rc;
        if (!isfinite(from.score))
            from.noise = sqrt(job->within.noise[0] * job->within.noise[1]);
    }
    if (job->opts->polish)
        return descend_full(job, &from, polish_share(job), err);
    tune_from_hp(job, from.hp, u);
    if (!from.subsampled)
        return ST_OK;
    return tune_profiles_full(job)
               ? tune_eval(job, u, true, NULL, &from, err)
               : tune_eval_at(job, u, from.amplitude, from.noise, NULL, &from, err);
}

/* Makes sure that the result is not worse than the start: the start is scored at the full level,
 * too, and polished if it wins.  This is left out when the start is behind by more than a tenth of
 * a nat a row on the sample. */
static enum status compare_start(struct tune_job *job, struct err *err)
{
    struct tune_point p = { .nmll = INFINITY, .score = INFINITY };
    const struct tune_point before = job->res->best;
    double u[KERNEL_MAX_HP], tie = 0.0;
    enum status rc = ST_OK;

    if (!job->have_start || job->nfree == 0)
        return ST_OK;
    tune_from_hp(job, job->start, u);
    if (job->have_low && isnan(job->start_low) && job->opts->max_evals == 0)
        rc = tune_eval(job, u, false, NULL, &p, err);
    if (rc != ST_OK ||
        (job->have_low && job->start_low > job->best_low.score + 0.1 * (double)job->full.n))
        return rc;
    if (job->terms)
        memcpy(job->other_terms, job->best_terms, job->nprobes * sizeof *job->terms);
    if (!tune_scored(job, &p)) {
        if (tune_profiles_full(job))
            rc = tune_eval(job, u, true, NULL, &p, err);
        else
            rc = tune_eval_at(job, u, job->low.amplitude, job->low.noise, NULL, &p, err);
    }
    if (rc == ST_OK && p.se > 0.0 && before.se > 0.0)
        tie = nmll_slq_difference(job->nprobes, job->terms, job->other_terms);
    if (rc == ST_OK && p.score < before.score - tie && job->opts->polish)
        rc = descend_full(job, &p, 10, err);
    return rc;
}

/* What the search has held fixed (model_tuning.again) is chosen anew at its result, and the descent
 * goes on from there, at most ROUNDS times in all. */
static enum status run_rounds(struct tune_job *job, struct err *err)
{
    enum { ROUNDS = 3 };
    enum status rc = ST_OK;
    bool moved = true;

    job->res->rounds = job->kind->again != NULL;
    while (rc == ST_OK && job->kind->again && job->nfree > 0) {
        struct tune_point p = job->res->best;
        if (job->res->rounds == ROUNDS || !isfinite(p.score) || p.subsampled ||
            polish_share(job) == 0)
            break;
        const struct nmll_ask ask = { .t = job->targets, .y = job->full.y, .hp = p.hp,
                                      .nhp = job->nhp, .scale = NMLL_BEST, .within = &job->within };
        rc = job->kind->again(&job->full, &ask, &moved, err);
        if (rc != ST_OK || !moved)
            break;
        job->res->rounds++;
        rc = descend_full(job, &p, polish_share(job), err);
    }
    return rc;
}

/* Candidates are compared by differences, for which few probes are enough.  The value of the best
 * one is then computed anew with as many probes as its standard error needs. */
static enum status sharpen(struct tune_job *job, struct err *err)
{
    struct tune_point p = job->res->best;
    double u[KERNEL_MAX_HP];

    if (!job->opts->approx || !(job->opts->error > 0.0) || !(p.se > 0.0))
        return ST_OK;
    job->error = fmax(job->opts->error * fabs(p.nmll), 1e-4 * (double)(job->targets * job->full.n));
    if (p.se <= job->error)
        return ST_OK;
    tune_from_hp(job, p.hp, u);
    const enum status rc = tune_eval_at(job, u, p.amplitude, p.noise, NULL, &p, err);
    job->error = 0.0;
    if (rc == ST_OK && isfinite(p.score))
        job->res->best = p; /* the same point with a more accurate value, which may be larger */
    return rc;
}

enum reached { BOUND_NONE, BOUND_LOWER, BOUND_UPPER, BOUND_IDLE };

/* The bound that hyperparameter i of the best point has reached (i = nhp, nhp + 1: amplitude and
 * noise, of any target).  BOUND_IDLE is the upper bound of an ARD lengthscale: an input without
 * influence. */
static enum reached bound_reached(const struct tune_job *job, size_t i)
{
    const struct tune_point *p = &job->res->best;
    const double lo = i < job->nhp    ? job->lo[i]
                      : i == job->nhp ? job->within.amplitude[0]
                                      : job->within.noise[0];
    const double hi = i < job->nhp    ? job->hi[i]
                      : i == job->nhp ? job->within.amplitude[1]
                                      : job->within.noise[1];
    const double *each = i == job->nhp ? p->amplitudes : p->noises;
    double v = i < job->nhp ? p->hp[i] : each[0], most = v;

    if (!(hi > lo * (1.0 + 1e-12)))
        return BOUND_NONE;
    for (size_t j = 1; i >= job->nhp && j < job->targets; j++) {
        v = fmin(v, each[j]);
        most = fmax(most, each[j]);
    }
    if (v <= lo * 1.005)
        return BOUND_LOWER;
    if (!(most >= hi / 1.005))
        return BOUND_NONE;
    return i < job->nhp && kernel_hp_is_ard(job->kernel, i) ? BOUND_IDLE : BOUND_UPPER;
}

/* Marks hyperparameters, amplitude and noise that ended on a bound. */
static void flag_bounds(struct tune_job *job)
{
    struct tune_result *res = job->res;

    res->nlower = res->nupper = res->idle = 0;
    for (size_t i = 0; i < job->nhp + 2; i++) {
        const enum reached at = bound_reached(job, i);
        res->nlower += at == BOUND_LOWER;
        res->nupper += at == BOUND_UPPER;
        res->idle += at == BOUND_IDLE;
        if (at == BOUND_LOWER)
            res->at_lower |= tune_bit(job->nhp, i);
        else if (at == BOUND_UPPER)
            res->at_upper |= tune_bit(job->nhp, i);
    }
}

static const char *hp_name(const struct tune_job *job, size_t i, char name[KERNEL_NAME_MAX])
{
    struct hparam hp;

    if (i >= job->nhp)
        return i == job->nhp ? "amplitude" : "noise";
    kernel_hp_info(job->kernel, i, name, &hp);
    return name;
}

/* The share of noise in the variance of the targets: the least and the largest over targets. */
static void noise_shares(const struct tune_job *job, double *least, double *most)
{
    const struct tune_point *p = &job->res->best;
    const size_t n = job->full.n;

    *least = INFINITY;
    *most = 0.0;
    for (size_t j = 0; j < job->targets; j++) {
        const double *y = job->full.y + j * n;
        double mean = 0.0, var = 0.0;
        for (size_t i = 0; i < n; i++)
            mean += y[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            var += (y[i] - mean) * (y[i] - mean) / (double)n;
        const double share = p->noises[j] * p->noises[j] / fmax(var, 1e-300);
        *least = fmin(*least, share);
        *most = fmax(*most, share);
    }
}

static void verdict(struct tune_job *job)
{
    struct tune_result *res = job->res;
    const struct tune_point *p = &res->best;
    const size_t others = res->nlower + res->nupper;
    char name[KERNEL_NAME_MAX], val[32], more[128] = "";
    double least, most;

    noise_shares(job, &least, &most);
    res->degenerate = least > 0.9 && !job->kind->no_noise;
    if (res->degenerate) {
        snprintf(res->verdict, sizeof res->verdict,
                 "degenerate: noise explains nearly everything, the inputs explain little with "
                 "this kernel; try another kernel or other inputs");
        return;
    }
    for (size_t i = 0; i < job->nhp + 2; i++) {
        const enum reached at = bound_reached(job, i);
        if (at != BOUND_LOWER && at != BOUND_UPPER)
            continue;
        text_number(val, sizeof val, i < job->nhp ? p->hp[i] : i == job->nhp ? p->amplitude
                                                                           : p->noise);
        if (others > 1)
            snprintf(more, sizeof more, " (and %zu more are at a bound)", others - 1);
        snprintf(res->verdict, sizeof res->verdict,
                 "%s is at its %s bound, %s%s: the optimum may lie beyond; widen it, or try "
                 "another kernel",
                 hp_name(job, i, name), at == BOUND_LOWER ? "lower" : "upper", val, more);
        return;
    }
    size_t lengthscales = 0;
    for (size_t i = 0; i < job->nhp; i++)
        lengthscales += kernel_hp_is_ard(job->kernel, i);
    if (res->idle > 0)
        snprintf(more, sizeof more, " but for %zu of %zu lengthscales at their upper bound (inputs "
                 "that hardly matter)", res->idle, lengthscales);
    if (job->kind->no_noise)
        snprintf(res->verdict, sizeof res->verdict, "an optimum inside the bounds%s", more);
    else if (job->targets == 1)
        snprintf(res->verdict, sizeof res->verdict,
                 "an optimum inside the bounds%s; the noise is %.3g %% of the target's variance",
                 more, 100.0 * most);
    else
        snprintf(res->verdict, sizeof res->verdict,
                 "an optimum inside the bounds%s; the noise is %.3g to %.3g %% of the targets' "
                 "variances", more, 100.0 * least, 100.0 * most);
}

/* Why a descent by probes ended, where it did at what they can tell. */
static void say_tie(struct tune_result *res)
{
    const size_t len = strlen(res->verdict);

    if (res->why == TUNE_TIE)
        snprintf(res->verdict + len, sizeof res->verdict - len,
                 "; further steps would gain about %.2g nats, less than the standard error of that "
                 "difference, %.2g: a tie", res->tie_gain, res->tie_error);
}

static enum status finish(struct tune_job *job, struct err *err)
{
    struct tune_result *res = job->res;

    if (!isfinite(res->best.score)) {
        if (res->why == TUNE_CANCELLED)
            return err_set(err, ST_CANCELLED, "stopped before the first evaluation");
        err_set(err, ST_NOT_PD, "no setting within the bounds gives a usable likelihood");
        err_hint(err, "raise the lower bound of the noise, or use precision=double");
        return ST_NOT_PD;
    }
    res->effective_dimension = res->best.effdim;
    flag_bounds(job);
    verdict(job);
    say_tie(res);
    return ST_OK;
}

const struct model_ops *tune_kind(const struct tune_opts *o)
{
    return o->kind ? o->kind : model_kind_usual(false);
}

/* USAGE, RANGE or LIMIT for what the kind of model does not have or allow. */
static enum status check_kind(const struct kernel *k, const struct source *src,
                              const struct tune_opts *o, struct err *err)
{
    const struct model_tuning *kind = tune_kind(o)->tuning;
    const struct tuner_ops *tuner = tuner_find(o->method, NULL);
    const char *objective = tune_objective_name(o->objective);

    if (o->objective != TUNE_NMLL && (!kind->errors || (tuner && tuner->gradients))) {
        err_set(err, ST_USAGE, "objective=%s %s", objective,
                !kind->errors ? kind->no_errors : "has no gradients: method=bayes or grid");
        err_hint(err, "tune objective=%s features=2048", objective);
        return ST_USAGE;
    }
    if (o->objective == TUNE_VALID && (!o->valid || o->valid->n == 0 || o->valid->d != src->d))
        return err_set(err, ST_USAGE, "objective=validation needs rows kept for validation");
    if (o->approx && (!kind->probes || o->objective != TUNE_NMLL)) {
        if (!kind->probes)
            err_set(err, ST_USAGE, "%s", kind->no_probes);
        else
            err_set(err, ST_USAGE,
                    "nmll=approx is a way to the marginal likelihood; objective=%s does not ask "
                    "for it",
                    objective);
        err_hint(err, "tune nmll=approx features=2048");
        return ST_USAGE;
    }
    const struct tuning_sizes z = kind->sizes(k, src->n, src->d, o->features, o->subsample);
    return kind->allowed(o->approx ? z.rows : z.all_rows, o->features, o->mem_limit, err);
}

static enum status check_input(const struct kernel *k, const struct source *src, const double *y,
                               const struct tune_opts *o, struct err *err)
{
    if (o->targets > TARGETS_MOST)
        return err_set(err, ST_RANGE, "%zu targets; at most %d are possible", o->targets,
                       TARGETS_MOST);
    for (size_t j = 0; j < (o->targets ? o->targets : 1); j++) {
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < src->n; i++) {
            lo = fmin(lo, y[j * src->n + i]);
            hi = fmax(hi, y[j * src->n + i]);
        }
        if (src->n < 2 || !(hi > lo))
            return err_named(err, ST_RANGE, "constant-target",
                             "the target is constant on the %zu training rows: nothing to learn",
                             src->n);
    }
    return check_kind(k, src, o, err);
}

enum status tune_run(const struct kernel *k, const struct source *src, const double *y,
                     const struct tune_opts *opts, const struct tools *on,
                     struct tune_result *res, struct err *err)
{
    if (kernel_learns(k))
        return learn_run(k, src, y, opts, on, res, err);
    const struct ctl *ctl = on->ctl;
    struct tune_job job = { .kernel = k, .opts = opts, .kind = tune_kind(opts)->tuning, .ctl = ctl,
                            .res = res, .nhp = kernel_nhp(k),
                            .targets = opts->targets ? opts->targets : 1 };
    enum status rc = source_suits(src, k, err);
    if (rc == ST_OK)
        rc = check_input(k, src, y, opts, err);

    *res = (struct tune_result){ .why = TUNE_DONE, .nhp = job.nhp };
    res->best.nmll = job.best_low.nmll = INFINITY;
    res->best.score = job.best_low.score = INFINITY;
    job.start_low = NAN;
    res->best.subsampled = true;
    job.quiet = (struct ctl){ .cancel = ctl ? ctl->cancel : NULL };
    job.task = (struct tuning_task){ .kernel = k, .likelihood = opts->likelihood,
                                     .labels = opts->labels,
                                     .on = { on->be, on->pool, &job.quiet },
                                     .seed = opts->seed, .mem_limit = opts->mem_limit,
                                     .inducing = &opts->inducing };
    if (opts->objective == TUNE_VALID) {
        job.task.valid = opts->valid;
        job.task.yvalid = opts->yvalid;
    }
    if (rc == ST_OK)
        rc = job_bounds(&job, err);
    if (rc == ST_OK)
        move_start(&job);
    if (rc == ST_OK)
        rc = weigh(&job, src, &y, err);
    if (rc == ST_OK)
        rc = job_levels(&job, src, y, err);
    if (rc == ST_OK)
        rc = run_search(&job, err);
    if (rc == ST_OK)
        rc = run_polish(&job, err);
    if (rc == ST_OK)
        rc = compare_start(&job, err);
    if (rc == ST_OK)
        rc = run_rounds(&job, err);
    if (rc == ST_OK)
        rc = sharpen(&job, err);
    if (rc == ST_CANCELLED) {
        res->why = ctl_stopped(ctl) ? TUNE_CANCELLED : TUNE_EVALS;
        rc = ST_OK;
    }
    if (rc == ST_OK)
        rc = finish(&job, err);
    free(job.terms);
    job.kind->close(&job.low);
    job.kind->close(&job.full);
    rows_free(&job.few);
    rows_free(&job.some);
    free(job.yown);
    if (rc != ST_OK)
        tune_result_free(res);
    return rc;
}

void tune_result_free(struct tune_result *res)
{
    if (res == NULL)
        return;
    free(res->trace);
    res->trace = NULL;
    res->ntrace = 0;
}
