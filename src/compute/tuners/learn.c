/* compute/tuners/learn.c -- see learn.h.
 *
 * A step takes one subset: its features (learn_maps.h), the NMLL and its derivatives in them
 * (learn_target.h), and these back to weights and hyperparameters. */
#include "compute/tuners/learn.h"

#include "base/fnv.h"
#include "base/mem.h"
#include "compute/rng.h"
#include "compute/solvers/descent.h"
#include "compute/tuners/learn_maps.h"
#include "compute/tuners/learn_target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LOOKS: at rows kept aside, spread over the steps; LOOK_EVERY: steps from one to the next at most,
 * because the noise has no bound before the first. */
enum { STEPS = 200, SUBSETS = 4, ROWS = 20000, HALVINGS = 8, LOOKS = 20, LOOK_EVERY = 50,
       WATCHED_LABELS = 20000 /* classes times rows that are kept aside, at most */ };
static const double RATE = 0.01, WATCHED = 0.1;
/* The rate of hyperparameters, amplitude and noise, times that of weights.  The noise variance
 * stays above this share of the squared error of rows kept aside: few rows are learned by heart. */
static const double HP_RATE = 5.0, NOISE_LEAST = 0.5;
/* The NMLL per row, averaged over the last round of subsets, may rise by this much over the best
 * before the rate is halved; the rows kept aside by this much, before that is told. */
static const double DIVERGED = 1.0, PARTED = 0.1, ALL_MOST = 2e9; /* bytes */

/* n rows, their targets (targets x n), and the roots of their weights (NULL: all 1). */
struct rows { size_t n; float *x; double *y, *scale; };
struct learner {
    const struct tune_opts *o;
    const struct tools *on;
    struct learn_maps maps;
    size_t nsubsets, steps, halved, targets;
    double rate;
    struct rows set[LEARN_SUBSETS_MOST], watched;
    size_t largest; /* rows of the largest subset */
    struct learn_target to;
    size_t all; /* parameters: maps.count of the maps, then to.count of the likelihood */
    double *theta, *best, *grad, *first, *second; /* `all` numbers each */
    double *F, *dF; /* features, and their derivatives */
    double least;           /* the least average NMLL per row, and that of the last steps */
    double recent[LEARN_SUBSETS_MOST];
    size_t nrecent, best_step, watched_step;
    double watched_best, watched_last, watched_error; /* NaN between looks */
    double looked; /* the squared error of the last look; 0 before */
    double kept_last, kept_error; /* those of the last look, with stop_valid of the best */
    struct tune_result *res;
};

/* The NMLL of a subset per row, and the gradient in all parameters. */
static enum status evaluate(struct learner *l, const struct rows *at, double *nmll, struct err *err)
{
    struct learn_rows r = { .n = at->n, .F = l->F, .y = at->y, .scale = at->scale,
                           .dF = l->dF };

    enum status rc = learn_maps_forward(&l->maps, l->theta, at->n, at->x, true, l->F, err);
    if (rc == ST_OK)
        rc = learn_target_ask(&l->to, &r, l->on->pool, err);
    if (rc == ST_OK)
        rc = learn_maps_back(&l->maps, l->dF, l->grad, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = l->maps.count; i < l->all; i++)
        l->grad[i] /= (double)at->n;
    *nmll = r.nmll / (double)at->n;
    return ST_OK;
}

/* The parameters of this step are the best so far. */
static void keep(struct learner *l, size_t step)
{
    l->best_step = step;
    memcpy(l->best, l->theta, l->all * sizeof *l->best);
}

/* The rows kept aside under the model of the last subset.  Call before its parameters change. */
static enum status look(struct learner *l, size_t step, struct err *err)
{
    const struct learn_rows r = { .n = l->watched.n, .F = l->F, .y = l->watched.y,
                                  .scale = l->watched.scale };
    struct learn_told told;

    if (l->watched.n == 0)
        return ST_OK;
    enum status rc = learn_maps_forward(&l->maps, l->theta, l->watched.n, l->watched.x, false,
                                        l->F, err);
    if (rc == ST_OK)
        rc = learn_target_look(&l->to, &r, &told, l->on->pool, err);
    if (rc != ST_OK)
        return rc;
    l->watched_last = told.density;
    l->watched_error = told.error;
    l->looked = told.weighted;
    if (!l->o->stop_valid || told.density < l->watched_best) {
        l->kept_last = told.density;
        l->kept_error = told.error;
    }
    if (told.density < l->watched_best) {
        l->watched_best = told.density;
        l->watched_step = step;
        if (l->o->stop_valid)
            keep(l, step);
    }
    return ST_OK;
}

/* Whether the validation rows have got no better for a quarter of the steps. */
static bool enough(const struct learner *l, size_t step)
{
    return l->o->stop_valid && l->watched_step && step >= l->watched_step + (l->steps + 3) / 4;
}

/* The average NMLL per row over the last round of subsets. */
static double average(struct learner *l, double nmll)
{
    double sum = 0.0;

    l->recent[l->nrecent++ % l->nsubsets] = nmll;
    const size_t n = l->nrecent < l->nsubsets ? l->nrecent : l->nsubsets;
    for (size_t i = 0; i < n; i++)
        sum += l->recent[i] / (double)n;
    return sum;
}

/* Back to the best parameters, with half the rate. */
static bool step_back(struct learner *l)
{
    memcpy(l->theta, l->best, l->all * sizeof *l->theta);
    memset(l->first, 0, l->all * sizeof *l->first);
    memset(l->second, 0, l->all * sizeof *l->second);
    l->rate *= 0.5;
    l->nrecent = 0;
    return ++l->halved <= HALVINGS;
}

static void point_of(const struct learner *l, struct tune_point *p)
{
    learn_target_point(&l->to, p);
    for (size_t h = 0; h < l->maps.nhp; h++)
        p->hp[h] = exp(l->theta[l->maps.weights + h]);
}

static enum status trace(struct learner *l, double score, struct err *err)
{
    struct tune_result *r = l->res;
    double n = (double)l->watched.n;
    size_t cap = r->ntrace;

    for (size_t i = 0; i < l->nsubsets; i++)
        n += (double)l->set[i].n;
    if (r->ntrace % 64 == 0) {
        cap += 64;
        struct tune_point *more = realloc(r->trace, cap * sizeof *more);
        if (!more)
            return err_set(err, ST_NOMEM, "no memory for the trace of a tuning");
        r->trace = more;
    }
    struct tune_point *p = &r->trace[r->ntrace++];
    *p = (struct tune_point){ .nmll = score * n, .score = score * n, .effdim = NAN };
    point_of(l, p);
    r->evaluations = r->ntrace;
    const double point[4] = { p->amplitude, p->noise, l->watched_last, l->watched_error };
    ctl_tick(l->on->ctl, &(struct tick){ .phase = PHASE_TUNE, .done = r->ntrace, .total = l->steps,
                                         .value = score * n, .value2 = l->least * n,
                                         .target = NAN, .passes = NAN, .point = point,
                                         .npoint = 4 });
    return ST_OK;
}

/* A step of Adam (23.8), longer for hyperparameters. */
static void move(struct learner *l, double falling, size_t since)
{
    const size_t from[4] = { 0, l->maps.weights, l->maps.count, l->all };

    for (size_t i = 0; i < 3; i++)
        amsgrad_adam_step(from[i + 1] - from[i], since, (i ? HP_RATE : 1.0) * l->rate * falling,
                          l->grad + from[i], l->first + from[i], l->second + from[i],
                          l->theta + from[i]);
    learn_maps_hold(&l->maps, l->o, l->theta);
    learn_target_least(&l->to, NOISE_LEAST * l->looked);
    learn_target_hold(&l->to, l->o);
}

/* Steps from one look to the next. */
static size_t look_every(const struct learner *l)
{
    const size_t each = l->steps / LOOKS ? l->steps / LOOKS : 1;

    return each < LOOK_EVERY ? each : LOOK_EVERY;
}

/* All steps; stopped early it keeps the best so far. */
static enum status descend(struct learner *l, struct err *err)
{
    size_t since = 0; /* steps since the moments began */
    enum status rc = ST_OK;

    for (size_t step = 0; rc == ST_OK && step < l->steps; step++) {
        double nmll;
        const struct rows *at = &l->set[step % l->nsubsets];
        if (ctl_stopped(l->on->ctl)) {
            l->res->why = TUNE_CANCELLED;
            break;
        }
        const enum status made = evaluate(l, at, &nmll, err);
        if (made != ST_OK && made != ST_NOT_PD)
            return made;
        const double now = made == ST_OK ? average(l, nmll) : NAN;
        if (!isfinite(now) || now > l->least + DIVERGED) {
            err_clear(err);
            since = 0;
            if (!step_back(l))
                break;
            continue;
        }
        if (now < l->least) {
            l->least = now;
            if (!l->o->stop_valid)
                keep(l, step + 1);
        }
        l->watched_last = l->watched_error = NAN;
        if ((step + 1) % look_every(l) == 0 || step + 1 == l->steps)
            rc = look(l, step + 1, err);
        if (rc == ST_OK)
            rc = trace(l, now, err);
        if (enough(l, step + 1))
            break;
        move(l, 0.5 * (1.0 + cos(M_PI * (double)step / (double)l->steps)), ++since);
    }
    return rc;
}

/* The rows idx[0..n) of a source. */
static enum status take_rows(struct rows *r, const struct source *src, const double *y,
                             const size_t *idx, size_t n, size_t targets, struct err *err)
{
    const double *scale = src->row_scale;
    double *x = mem_aligned(src->d, sizeof *x, "a row", err);
    enum status rc = ST_OK;

    r->n = n;
    r->x = x ? mem_aligned(n * src->d + 1, sizeof *r->x, "rows to learn from", err) : NULL;
    r->y = r->x ? mem_aligned(targets * n + 1, sizeof *r->y, "targets to learn from", err) : NULL;
    r->scale = r->y && scale ? mem_aligned(n + 1, sizeof *scale, "weights of rows", err) : NULL;
    if (!r->y || (scale && !r->scale))
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        rc = src->rows(src, idx[i], idx[i] + 1, x, err);
        for (size_t j = 0; rc == ST_OK && j < src->d; j++)
            r->x[i * src->d + j] = (float)x[j];
        for (size_t t = 0; t < targets; t++)
            r->y[t * n + i] = y[t * src->n + idx[i]];
        if (scale)
            r->scale[i] = scale[idx[i]];
    }
    free(x);
    return rc;
}

static void free_rows(struct rows *r)
{
    free(r->x);
    free(r->y);
    free(r->scale);
}

static int by_index(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

size_t learn_aside(const struct tune_opts *o, size_t n, size_t *order)
{
    const size_t C = o->labels.classes, share = (size_t)(WATCHED * (double)n);
    const size_t most = C && WATCHED_LABELS / C < LEARN_WATCHED_MOST ? WATCHED_LABELS / C
                                                                     : LEARN_WATCHED_MOST;

    rng_permutation(o->seed, rng_stream(RNG_NET_ROWS, (uint32_t)o->restart), n, order);
    return o->stop_valid || share < 10 ? 0 : share < most ? share : most;
}

uint64_t learn_mark(const size_t *row, size_t n)
{
    uint64_t mark = FNV_START;

    for (size_t i = 0; i < n; i++)
        mark = fnv_step(mark, row[i]);
    mark = fnv_step(mark, n);
    return (mark ^ mark >> 48) & 0xffffffffffffu ? (mark ^ mark >> 48) & 0xffffffffffffu : 1;
}

/* Deals the rows out: some kept aside, the others into subsets, all at random by the seed. */
static enum status deal(struct learner *l, const struct source *src, const double *y,
                        struct err *err)
{
    const size_t most = l->o->subsample ? l->o->subsample : ROWS;
    size_t *order = mem_calloc(src->n, sizeof *order, "order of rows", err);
    enum status rc = order ? ST_OK : ST_NOMEM;
    const size_t aside = order ? learn_aside(l->o, src->n, order) : 0;

    if (rc == ST_OK && l->o->stop_valid) {
        size_t *all = mem_calloc(l->o->valid->n, sizeof *all, "order of rows", err);
        for (size_t i = 0; all && i < l->o->valid->n; i++)
            all[i] = i;
        rc = all ? take_rows(&l->watched, l->o->valid, l->o->yvalid, all, l->o->valid->n,
                             l->targets, err)
                 : ST_NOMEM;
        free(all);
    }
    if (rc == ST_OK && !l->o->stop_valid)
        rc = take_rows(&l->watched, src, y, order, aside, l->targets, err);
    const size_t left = src->n - aside;
    l->nsubsets = l->nsubsets > left / 2 ? left / 2 : l->nsubsets;
    l->nsubsets = l->nsubsets ? l->nsubsets : 1;
    for (size_t i = 0; rc == ST_OK && i < l->nsubsets; i++) {
        const size_t from = i * left / l->nsubsets, to = (i + 1) * left / l->nsubsets;
        const size_t n = to - from < most ? to - from : most;
        qsort(order + aside + from, n, sizeof *order, by_index);
        rc = take_rows(&l->set[i], src, y, order + aside + from, n, l->targets, err);
        l->largest = n > l->largest ? n : l->largest;
    }
    l->largest = l->watched.n > l->largest ? l->watched.n : l->largest;
    free(order);
    return rc;
}

static void begin(struct learner *l, size_t n, const double *y)
{
    learn_maps_begin(&l->maps, l->o, l->theta);
    learn_target_begin(&l->to, learn_maps_size(&l->maps), n, y);
    if (l->o->goes_on)
        learn_target_from(&l->to, l->o);
    learn_target_hold(&l->to, l->o);
    memcpy(l->best, l->theta, l->all * sizeof *l->best);
}

static enum status make_room(struct learner *l, struct err *err)
{
    const size_t n = l->largest, q = l->maps.q;
    const size_t own = learn_target_size(&l->to, q, l->targets, l->o->labels,
                                         l->watched.n);
    const size_t all = l->all = l->maps.count + l->to.count, doubles = 5 * all + 2 * n * q + own;
    const double bytes = learn_maps_bytes(&l->maps, n, pool_threads(l->on->pool)) +
                         (double)doubles * sizeof *l->F;

    if (l->o->mem_limit && bytes > (double)l->o->mem_limit) {
        err_set(err, ST_LIMIT, "a step on %zu rows takes %.2f GB, %.2f GB are allowed", n,
                1e-9 * bytes, 1e-9 * (double)l->o->mem_limit);
        err_hint(err, "tune rows=2000  |  kernel mlp(width=128)");
        return ST_LIMIT;
    }
    l->theta = mem_calloc(5 * all, sizeof *l->theta, "weights to learn", err);
    l->F = l->theta ? mem_aligned(2 * n * q + own, sizeof *l->F, "features", err) : NULL;
    if (!l->F)
        return ST_NOMEM;
    l->best = l->theta + all;
    l->grad = l->best + all;
    l->first = l->grad + all;
    l->second = l->first + all;
    l->dF = l->F + n * q;
    learn_target_room(&l->to, l->dF + n * q);
    l->to.theta = l->theta + l->maps.count;
    l->to.grad = l->grad + l->maps.count;
    return learn_maps_room(&l->maps, n, l->on->pool, err);
}

/* The features of all rows at the nets and hyperparameters that were learned. */
static enum status all_features(struct learner *l, const struct source *src, double *F,
                                struct err *err)
{
    struct kernel k = *l->maps.k;
    double hp[KERNEL_MAX_HP];
    const struct fop_opts fo = { .pool = l->on->pool, .precision = PREC_DOUBLE };
    const size_t q = l->maps.q;

    kernel_learned_take(&k, &l->res->nets);
    for (size_t h = 0; h < l->maps.nhp; h++)
        hp[h] = exp(l->theta[l->maps.weights + h]);
    struct featmap *fm = featmap_new(&k, src->d, q, l->o->seed, err);
    struct fop *f = fm ? fop_new(backend_cpu(), fm, src, &fo, err) : NULL;
    enum status rc = f ? fop_set(f, hp, err) : err_status(err);

    for (size_t r = 0; rc == ST_OK && r < src->n; r += NET_GROUP)
        rc = fop_tile64(f, r, r + NET_GROUP < src->n ? r + NET_GROUP : src->n, F + r * q, q, err);
    fop_free(f);
    featmap_free(fm);
    return rc;
}

/* The NMLL of all rows at the best parameters; of so many that their features take more than
 * ALL_MOST, that of the largest subset, per row. */
static enum status of_all(struct learner *l, const struct source *src, const double *y,
                          struct err *err)
{
    struct tune_point *p = &l->res->best;
    const bool few = (double)src->n * (double)l->maps.q * sizeof *l->F <= ALL_MOST;
    double *F = few ? mem_aligned(src->n * l->maps.q, sizeof *F, "features of all rows", err)
                    : NULL;
    const struct rows *set = &l->set[0];
    struct learn_rows all = { .n = src->n, .F = F, .y = y, .scale = src->row_scale };
    enum status rc = few && !F ? ST_NOMEM : ST_OK;

    if (rc == ST_OK && few)
        rc = all_features(l, src, F, err);
    if (rc == ST_OK && !few) {
        all = (struct learn_rows){ .n = set->n, .F = l->F, .y = set->y, .scale = set->scale };
        rc = learn_maps_forward(&l->maps, l->theta, set->n, set->x, false, l->F, err);
    }
    if (rc == ST_OK)
        rc = learn_target_ask(&l->to, &all, l->on->pool, err);
    free(F);
    if (rc != ST_OK)
        return rc;
    const double nmll = all.nmll / (double)all.n * (double)src->n;
    *p = (struct tune_point){ .nmll = nmll, .score = nmll, .effdim = all.effdim,
                              .subsampled = !few };
    point_of(l, p);
    l->res->effective_dimension = all.effdim;
    return ST_OK;
}

static void verdict(struct learner *l)
{
    struct tune_result *r = l->res;
    const bool classes = l->o->labels.classes > 0;
    char parted[120] = "", halved[64] = "", aside[120] = "";

    r->halved = l->halved;
    r->aside.rows = l->watched.n;
    r->aside.density = l->kept_last;
    r->aside.error = l->kept_error;
    r->aside.least = l->watched_step ? l->watched_best : NAN;
    r->aside.step = l->watched_step;
    r->aside.parted = !l->o->stop_valid && l->watched_step &&
                      l->kept_last > l->watched_best + PARTED;
    if (l->halved)
        snprintf(halved, sizeof halved, "; the rate was halved %zu time%s", l->halved,
                 l->halved == 1 ? "" : "s");
    if (r->aside.parted)
        snprintf(parted, sizeof parted, ", after %.3f at step %zu: %s",
                 l->watched_best, l->watched_step,
                 classes ? "probabilities may be too sure" : "variances may be too small");
    if (l->watched_step)
        snprintf(aside, sizeof aside, "; %zu rows kept aside: %s %.4g, %s %.3f a row",
                 l->watched.n, classes ? "share of wrong classes" : "squared error",
                 l->kept_error, classes ? "log loss" : "negative log density", l->kept_last);
    snprintf(r->verdict, sizeof r->verdict, "best at step %zu of %zu%s%s%s%s", l->best_step,
             l->steps, l->o->stop_valid ? " by the validation rows" : "", halved, aside, parted);
}

static enum status finish(struct learner *l, const struct source *src, const double *y,
                          struct err *err)
{
    if (!isfinite(l->least))
        return l->res->why == TUNE_CANCELLED
                   ? err_set(err, ST_CANCELLED, "stopped before the first step")
                   : err_set(err, ST_NOT_PD, "no step gives a usable likelihood");
    memcpy(l->theta, l->best, l->all * sizeof *l->theta);
    l->res->learned = true;
    enum status rc = learn_maps_nets(&l->maps, l->theta, &l->res->nets, err);
    if (rc == ST_OK)
        rc = of_all(l, src, y, err);
    if (rc == ST_OK)
        verdict(l);
    return rc;
}

/* The nets to continue from are those of this expression. */
static enum status check_from(const struct kernel *k, size_t d, const struct tune_opts *o,
                              struct err *err)
{
    for (size_t t = 0; o->goes_on && t < k->nterms; t++) {
        const struct net *from = o->from.of[t];
        if (!kterm_learns(&k->term[t]) && !from)
            continue;
        const struct net_shape s = kterm_learns(&k->term[t]) ? kernel_learned_shape(k, t, d)
                                                             : (struct net_shape){ 0 };
        if (from && net_same_shape(&from->shape, &s))
            continue;
        err_named(err, ST_SHAPE, "learned", "the weights to continue from belong to another map: "
                  "%zu hidden layers, out %zu, %zu inputs, %zu weights",
                  from ? from->shape.depth : 0, from ? from->shape.out : 0,
                  from ? from->shape.inputs : 0, from ? from->count : 0);
        err_hint(err, "tune  (from the start)");
        return ST_SHAPE;
    }
    return ST_OK;
}

static enum status check(const struct source *src, const struct tune_opts *o, struct err *err)
{
    if ((o->labels.classes && src->row_scale) || src->layout.nparts > 0) {
        err_named(err, ST_UNSUPPORTED, "learned", "a map is learned from %s",
                  src->layout.nparts ? "columns of numbers, not from sequences"
                                     : "rows of equal weight where they have classes");
        err_hint(err, "cols NAME role=skip  |  kernel matern(nu=5/2), then tune");
        return ST_UNSUPPORTED;
    }
    if (o->objective != TUNE_NMLL || o->approx)
        return err_named(err, ST_UNSUPPORTED, "learned",
                         "a map is learned by the exact marginal likelihood of subsets: without "
                         "objective= and nmll=");
    for (size_t i = 0; src->row_scale && i < src->n; i++)
        if (!(src->row_scale[i] > 0.0) || !isfinite(src->row_scale[i]))
            return err_set(err, ST_RANGE, "the weight of training row %zu is %g", i + 1,
                           src->row_scale[i] * src->row_scale[i]);
    return src->n < 20 ? err_set(err, ST_RANGE, "a map is learned from 20 rows or more") : ST_OK;
}

enum status learn_run(const struct kernel *k, const struct source *src, const double *y,
                      const struct tune_opts *o, const struct tools *on, struct tune_result *res,
                      struct err *err)
{
    struct learner l = { .o = o, .on = on, .least = INFINITY,
                         .steps = o->steps ? o->steps : STEPS, .watched_best = INFINITY,
                         .nsubsets = o->subsets ? o->subsets : SUBSETS,
                         .targets = o->targets ? o->targets : 1,
                         .rate = o->rate > 0.0 ? o->rate : RATE, .watched_error = NAN,
                         .watched_last = NAN, .kept_last = NAN, .kept_error = NAN, .res = res };

    *res = (struct tune_result){ .why = TUNE_DONE, .nhp = kernel_nhp(k) };
    enum status rc = check(src, o, err);
    if (rc == ST_OK)
        rc = kernel_learned_fits(k, src->d, err);
    if (rc == ST_OK)
        rc = check_from(k, src->d, o, err);
    if (rc == ST_OK)
        rc = learn_maps_open(&l.maps, k, src->d, o->features, o->seed, err);
    if (rc == ST_OK)
        rc = deal(&l, src, y, err);
    if (rc == ST_OK)
        rc = make_room(&l, err);
    if (rc == ST_OK) {
        begin(&l, src->n, y);
        rc = descend(&l, err);
    }
    if (rc == ST_OK)
        rc = finish(&l, src, y, err);
    learn_maps_close(&l.maps);
    for (size_t i = 0; i < LEARN_SUBSETS_MOST; i++)
        free_rows(&l.set[i]);
    free_rows(&l.watched);
    free(l.theta);
    free(l.F);
    if (rc != ST_OK)
        tune_result_free(res);
    return rc;
}
