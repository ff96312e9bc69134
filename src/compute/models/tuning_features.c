/* compute/models/tuning_features.c -- how models by random features are tuned: the NMLL from Z'Z
 * (M x M) with amplitude and noise at their best (share/doc/methods.md 6), leave-one-out and
 * validation errors (6.9), and the NMLL by conjugate gradients and probes where Z'Z would be too
 * large (10). */
#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/models/tuning.h"
#include "compute/preconds/precond.h"

#include <stdlib.h>
#include <string.h>

/* The most rows and columns that a search uses.  With fewer than all, the profile over the
 * lengthscale keeps its shape and shifts a little, which the polish on all rows corrects. */
enum { SEARCH_COLS = 1024, SEARCH_ROWS = 10000 };

/* The most work for a final approximate value, in evaluations. */
static const double SHARPEN_MOST = 6.0;

/* Settings evaluated ahead at most, by bytes of their Gram matrices, and by rows: an evaluation of
 * many rows keeps all threads busy by itself, and is worth telling at once. */
enum { AHEAD = 10, AHEAD_BYTES = 32 << 20, AHEAD_ROWS = 1000000 };

/* The answer at a setting that was evaluated ahead. */
struct answer {
    double hp[KERNEL_MAX_HP], value, effdim, amplitude[TARGETS_MOST], noise[TARGETS_MOST];
    bool limited;
};
struct ahead { size_t n, at; struct answer answer[AHEAD]; }; /* those from `at` on are not used */

/* What a level holds: one map of its columns. */
struct held {
    struct ahead *ahead;   /* or NULL */
    struct featmap *map;
    struct fop *fop, *valid;
    bool stored;           /* the operator keeps its features */
    struct precond *basis; /* of the last setting with probes, or NULL */
    double rank_ratio;     /* the noise ratio where the rank was chosen */
};

static struct tuning_sizes features_sizes(const struct kernel *k, size_t n, size_t d,
                                          size_t features, size_t rows)
{
    size_t cols = features < SEARCH_COLS ? features : SEARCH_COLS;

    if (cols < features) { /* a linear kernel of many inputs fills columns of its own */
        const size_t least = featmap_least(k, d) + SEARCH_COLS / 2;
        cols = cols < least ? least : cols;
        cols = cols < features ? cols : features;
    }
    if (rows == 0)
        rows = 4 * cols > SEARCH_ROWS ? 4 * cols : SEARCH_ROWS;
    return (struct tuning_sizes){ rows < n ? rows : n, cols, features, n };
}

static enum status features_allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    (void)n;
    (void)mem_limit;
    if (features < 2 || features % 2)
        return err_set(err, ST_RANGE, "features=%zu must be even and at least 2", features);
    return ST_OK;
}

static void features_close(struct tuning_level *l)
{
    struct held *h = l->held;

    if (h == NULL)
        return;
    free(h->ahead);
    precond_free(h->basis);
    fop_free(h->fop);
    fop_free(h->valid);
    featmap_free(h->map);
    free(h);
    l->held = NULL;
}

/* Draws the map of a level and opens its operator, once. */
static enum status features_open(struct tuning_level *l, struct err *err)
{
    const struct tuning_task *task = l->task;
    const double bytes = (double)l->n * (double)l->M * (l->precision == PREC_FLOAT ? 4.0 : 8.0);
    const double room = task->mem_limit ? (double)task->mem_limit : (double)mem_physical() * 0.5;
    struct fop_opts fo = {.pool = task->on.pool,
                          .ctl = task->on.ctl,
                          .precision = l->precision,
                          .row_scale = l->src->row_scale,
                          .store = l->many_passes && bytes < 0.5 * room};

    if (l->held != NULL)
        return ST_OK;
    struct held *h = l->held = mem_calloc(1, sizeof *h, "the operator", err);
    if (h == NULL)
        return ST_NOMEM;
    h->stored = fo.store;
    h->map = featmap_new(task->kernel, l->src->d, l->M, task->seed, err);
    if (h->map == NULL && kernel_draws_none(task->kernel))
        err_hint(err, "tune, without features=");
    h->fop = h->map ? fop_new(task->on.be, h->map, l->src, &fo, err) : NULL;
    if (h->fop && task->valid) {
        fo.row_scale = NULL; /* errors of prediction are not weighted */
        h->valid = fop_new(task->on.be, h->map, task->valid, &fo, err);
    }
    if (h->fop && (h->valid || !task->valid))
        return ST_OK;
    features_close(l);
    return err ? err->code : ST_NOMEM;
}

/* How many of `count` settings are worth evaluating side by side. */
static size_t ahead_most(const struct tuning_level *l, size_t count)
{
    const size_t most[3] = { AHEAD, AHEAD_BYTES / (8 * l->M * l->M), AHEAD_ROWS / l->n };
    const struct backend_ops *be = l->task->on.be;

    if (nmll_is_dual(l->n, l->M) || (be && be->dense && be->dense->tridiag))
        return 0;
    for (size_t i = 0; i < 3; i++)
        count = count < most[i] ? count : most[i];
    return count;
}

static size_t features_ahead(struct tuning_level *l, const struct nmll_ask *ask, size_t count)
{
    struct nmll_told told[AHEAD];
    enum status each[AHEAD];
    struct err err = { 0 };
    const size_t most = ahead_most(l, count);

    if (most < 2 || features_open(l, &err) != ST_OK)
        return 0;
    struct held *h = l->held;
    if (!h->ahead)
        h->ahead = mem_calloc(1, sizeof *h->ahead, "evaluations ahead", NULL);
    if (!h->ahead)
        return 0;
    h->ahead->n = h->ahead->at = 0;
    for (size_t i = 0; i < most; i++) {
        struct answer *a = &h->ahead->answer[i];
        memcpy(a->hp, ask[i].hp, ask[i].nhp * sizeof *a->hp);
        a->limited = false;
        told[i] = (struct nmll_told){ .value = &a->value, .amplitude = a->amplitude,
                                      .noise = a->noise, .effdim = &a->effdim,
                                      .limited = &a->limited };
    }
    if (nmll_features_ahead(h->fop, most, ask, told, each, l->task->on.ctl, &err) != ST_OK)
        return 0;
    while (h->ahead->n < most && each[h->ahead->n] == ST_OK)
        h->ahead->n++;
    return most;
}

/* Takes the answer that was found ahead; false where this setting is not the next of them. */
static bool known(struct held *h, const struct nmll_ask *ask, const struct nmll_told *told)
{
    const size_t t = ask->t ? ask->t : 1;
    struct ahead *all = h->ahead;

    if (!all || all->at == all->n || told->grad ||
        memcmp(all->answer[all->at].hp, ask->hp, ask->nhp * sizeof *ask->hp) != 0)
        return false;
    const struct answer *a = &all->answer[all->at++];
    *told->value = a->value;
    memcpy(told->amplitude, a->amplitude, t * sizeof *a->amplitude);
    memcpy(told->noise, a->noise, t * sizeof *a->noise);
    if (told->effdim)
        *told->effdim = a->effdim;
    if (told->limited)
        *told->limited = a->limited;
    return true;
}

static enum status features_best(struct tuning_level *l, const struct nmll_ask *ask,
                                 const struct nmll_told *told, struct err *err)
{
    const enum status rc = features_open(l, err);

    if (rc == ST_OK && known(l->held, ask, told))
        return ST_OK;
    return rc == ST_OK ? nmll_features(((struct held *)l->held)->fop, ask, told, l->task->on.ctl,
                                       err)
                       : rc;
}

static enum status features_at(struct tuning_level *l, const struct nmll_ask *ask,
                               const struct nmll_told *told, struct err *err)
{
    if (ask->scale == NMLL_RATIO) /* features are profiled: features_best */
        return err_set(err, ST_INTERNAL, "several targets at one amplitude");
    return features_best(l, ask, told, err);
}

static enum status features_errors(struct tuning_level *l, const struct nmll_ask *ask,
                                   const struct nmll_told *told, struct err *err)
{
    const enum status rc = features_open(l, err);
    const struct held *h = l->held;

    return rc == ST_OK ? nmll_loo(h->fop, ask, h->valid, l->task->yvalid, told, l->task->on.ctl,
                                  err)
                       : rc;
}

/* Chooses the rank of the preconditioner, unless it was given.  A rank does not suit a noise ratio
 * ten times as large or as small as the one it was chosen for; there it is chosen anew. */
static enum status suit_rank(struct tuning_level *l, const struct nmll_ask *at,
                             const struct tuning_probes *p, struct err *err)
{
    static const double apart = 10.0;
    struct held *h = l->held;
    const double moved = at->ratio / h->rank_ratio;
    size_t rank = p->given;
    enum status rc = ST_OK;

    if (*p->rank && (rank || (moved < apart && moved > 1.0 / apart)))
        return ST_OK;
    if (rank == 0)
        rc = tuning_rank(l, h->fop, h->stored, at, p->n, &rank, err);
    if (rc != ST_OK)
        return rc;
    h->rank_ratio = at->ratio;
    if (rank == *p->rank)
        return ST_OK;
    *p->other = *p->rank > 0;
    *p->rank = rank;
    precond_free(h->basis); /* it has another number of columns */
    h->basis = NULL;
    return ST_OK;
}

static enum status features_probes(struct tuning_level *l, const struct nmll_ask *ask,
                                   const struct nmll_told *told, const struct tuning_probes *p,
                                   struct err *err)
{
    enum status rc = features_open(l, err);
    struct held *h = l->held;

    if (rc == ST_OK)
        rc = suit_rank(l, ask, p, err);
    if (rc != ST_OK)
        return rc;
    const struct nmll_slq_opts so = { .rank = *p->rank, .probes = p->n,
                                      .rtol = TUNING_DATA_RTOL, .probe_rtol = TUNING_PROBE_RTOL,
                                      .seed = l->task->seed, .kept = &h->basis,
                                      .terms = p->terms, .error = p->error,
                                      .most = SHARPEN_MOST, .used = p->used };

    return nmll_slq(h->fop, ask, &so, told, l->task->on.ctl, err);
}

const struct model_tuning features_tuning = {
    .sizes = features_sizes,
    .allowed = features_allowed,
    .best = features_best,
    .ahead = features_ahead,
    .at = features_at,
    .errors = features_errors,
    .probes = features_probes,
    .close = features_close,
};
