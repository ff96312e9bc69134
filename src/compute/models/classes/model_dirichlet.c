/* compute/models/classes/model_dirichlet.c -- several classes on random features, a regression
 * for each (compute/likelihood/dirichlet.h; share/doc/methods.md 17).  Its targets are the labels
 * of the rows, 0 to classes - 1; it predicts a latent function for each class.
 *
 * The state of the model is alpha, the mean of each class, the labels of the training rows and,
 * where rows are weighed by their class, the weight of each class, from
 * which and their inputs the factors can be made again. */
#include "compute/models/classes/model_dirichlet.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/features/fop_rows.h"
#include "compute/likelihood/dirichlet.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"
#include "compute/models/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEARCH_COLS = 512,  /* features and rows of the search for hyperparameters */
    SEARCH_ROWS = 4000,
    EVALUATIONS = 13    /* of a class in the search for its amplitude, for the forecast of time */
};

/* What both kinds of model of several classes keep (fit.h). */

/* Targets are between log alpha - 3 and 0. */
const double model_dirichlet_amplitudes[2] = { 0.01, 300.0 };

enum status model_dirichlet_no_weights(struct err *err)
{
    err_named(err, ST_UNSUPPORTED, "classes",
              "weights of rows belong to Gaussian noise; classes have none");
    err_hint(err, "cols NAME role=skip");
    return ST_UNSUPPORTED;
}

enum status model_dirichlet_keep(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    const size_t n = ft->src->n;

    if (ft->src->row_scale != NULL)
        return model_dirichlet_no_weights(err);
    m->likelihood = ft->o->likelihood;
    m->nstate = 1 + m->t + n + (ft->o->labels.balanced ? m->t : 0);
    m->state = mem_calloc(m->nstate, sizeof *m->state, "the labels", err);
    if (m->state == NULL)
        return ST_NOMEM;
    m->state[0] = ft->o->labels.alpha;
    memcpy(m->state + 1 + m->t, ft->y, n * sizeof *m->state);
    if (ft->o->labels.balanced)
        dirichlet_balance(n, m->t, ft->y, m->state + 1 + m->t + n);
    return ST_OK;
}

const double *model_dirichlet_of(const struct model *m)
{
    return m->state + 1 + m->t;
}

const double *model_dirichlet_weight(const struct model *m, size_t n)
{
    return m->nstate == 1 + 2 * m->t + n ? m->state + 1 + m->t + n : NULL;
}

enum status model_dirichlet_check(const struct model *m, size_t n, struct err *err)
{
    const double *weight = model_dirichlet_weight(m, n);
    bool ok = (m->nstate == 1 + m->t + n || weight) && m->state[0] > 0.0;

    for (size_t i = 0; ok && i < n; i++) {
        const double c = model_dirichlet_of(m)[i];
        ok = c >= 0.0 && c < (double)m->t && c == floor(c);
    }
    for (size_t c = 0; ok && weight && c < m->t; c++)
        ok = weight[c] > 0.0 && isfinite(weight[c]);
    return ok ? ST_OK
              : err_set(err, ST_STATE, "the model does not keep the labels of %zu rows in %zu "
                        "classes: fit again", n, m->t);
}

void model_dirichlet_forget(struct model *m)
{
    if (m->lender)
        model_unref(m->lender);
    else
        free(m->factors);
    m->lender = NULL;
    m->factors = NULL;
}

/* On random features. */

struct dirichlet_rows model_dirichlet_rows(const struct model *m, const struct featmap *map,
                                           const struct source *src, const struct tools *on)
{
    return (struct dirichlet_rows){ .map = map, .src = src, .labels = model_dirichlet_of(m),
                                    .hp = m->hp,
                                    .classes = m->t, .alpha = m->state[0],
                                    .weight = model_dirichlet_weight(m, src->n),
                                    .precision = m->precision, .on = *on };
}

enum status model_dirichlet_fits(const struct fit_opts *o, const struct fit_plan *p,
                                 struct err *err)
{
    const double most = o->mem_limit ? (double)o->mem_limit : 0.95 * (double)mem_physical();
    char mem[24], have[24];

    if (o->features < 2 || o->features % 2 != 0)
        return err_set(err, ST_RANGE, "features=%zu must be even and at least 2", o->features);
    if (!(most > 0.0 && p->bytes > most))
        return ST_OK;
    mem_format(mem, sizeof mem, p->bytes);
    mem_format(have, sizeof have, most);
    err_named(err, ST_LIMIT, "memory", "features=%zu with %zu classes needs %s; %s is allowed",
              o->features, o->labels.classes, mem, have);
    err_hint(err, "fit features=%zu", o->features / 2 + o->features / 2 % 2);
    return ST_LIMIT;
}

static enum status dirichlet_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                  struct fit_plan *p, char note[256], struct err *err)
{
    const double M = (double)o->features, C = (double)o->labels.classes;
    char mem[24], time[32];

    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->bytes = 8.0 * M * M * (3.0 + C) + 16.0 * (double)n + 8.0 * (double)d +
               fop_product_bytes(n, o->features, 0, o->precision, threads) +
               (double)threads * MODEL_BLAS_PACK;
    const enum status rc = model_dirichlet_fits(o, p, err);
    if (rc != ST_OK)
        return rc;
    mem_format(mem, sizeof mem, p->bytes);
    const double flops = 4.0 * (double)n * M * M + C * (EVALUATIONS + 1) * M * M * M / 3.0;
    text_seconds(time, sizeof time, flops / 40e9 / (double)(threads ? threads : 1));
    snprintf(note, 256, "direct: %zu classes, a factor of %zu features for each in %s, about %s",
             o->labels.classes, o->features, mem, time);
    return ST_OK;
}

static size_t dirichlet_size(const struct fit_opts *o, size_t n)
{
    (void)n;
    return o->features;
}

/* A factor and weights for each class; amplitudes first, unless they are given. */
static enum status solve(struct model *m, struct dirichlet *d, bool search, double *evidence,
                         struct err *err)
{
    const size_t M = m->M;
    enum status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < m->t; c++) {
        if (search)
            m->amplitudes[c] = fmin(fmax(m->amplitude, model_dirichlet_amplitudes[0]),
                                    model_dirichlet_amplitudes[1]);
        double value = 0.0, *L = m->factors + c * M * M, *w = m->w + c * M;
        rc = dirichlet_take(d, c, err);
        if (rc == ST_OK && search)
            rc = dirichlet_best(d, model_dirichlet_amplitudes, L, w, &m->amplitudes[c], err);
        if (rc == ST_OK)
            rc = dirichlet_at(d, m->amplitudes[c], L, w, &value, err);
        m->state[1 + c] = d->mean;
        m->noises[c] = sqrt(d->of[0].var);
        *evidence -= value;
        model_step(d->rows.on.ctl, PHASE_FACTOR, c + 1);
    }
    return rc;
}

/* Fills weights and factors of a model whose state has alpha and labels. */
static enum status run(struct model *m, const struct source *src, bool search,
                       const struct tools *on, double *evidence, struct err *err)
{
    struct featmap *map = featmap_new(&m->kernel, src->d, m->M, m->seed, err);
    const struct dirichlet_rows rows = model_dirichlet_rows(m, map, src, on);
    struct dirichlet d = { .all = NULL };

    m->factors = map ? mem_aligned(m->t * m->M * m->M, sizeof *m->factors, "a factor of each class",
                                   err)
                     : NULL;
    enum status rc = m->factors ? dirichlet_open(&d, &rows, err) : err_status(err);
    if (rc == ST_OK)
        rc = solve(m, &d, search, evidence, err);
    dirichlet_close(&d);
    featmap_free(map);
    return rc;
}

static enum status dirichlet_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double start = fit_now();
    struct phase_ctl phase;
    const struct tools on = { ft->on.be, ft->on.pool,
                              model_phase(&phase, ft->on.ctl, PHASE_GRAM) };

    info->evidence = 0.0;
    enum status rc = model_dirichlet_keep(ft, err);
    if (rc == ST_OK)
        rc = run(m, ft->src, ft->free_scale, &on, &info->evidence, err);
    info->why = OUT_DIRECT;
    info->means_only = false;
    info->seconds.solve = fit_now() - start;
    return rc;
}

void model_dirichlet_end(struct fit *ft, enum status rc)
{
    (void)ft;
    (void)rc; /* nothing is held */
}

bool model_dirichlet_suits(const struct model *m, const struct source *src, struct err *err)
{
    return features_model.suits(m, src, err);
}

/* The factors once more, from the labels of the model and the inputs of its training rows. */
static enum status dirichlet_variance(struct model *m, const struct source *train, size_t Mv,
                                      const struct tools *on, double *effdim, struct err *err)
{
    double evidence = 0.0;

    (void)Mv;
    if (effdim != NULL)
        *effdim = NAN;
    const enum status rc = model_dirichlet_check(m, train->n, err);
    if (rc != ST_OK)
        return rc;
    if (!model_dirichlet_suits(m, train, err))
        return ST_SHAPE;
    model_dirichlet_forget(m);
    return run(m, train, false, on, &evidence, err);
}

enum status model_dirichlet_variances(const struct prediction *p, struct fop *f, size_t factors,
                                      struct err *err)
{
    const struct model *m = p->m;
    const struct fop_factors of = { m->factors, factors, PREC_DOUBLE };
    const enum status rc = fop_forms(f, &of, p->varf, p->on.ctl, err);

    for (size_t c = 0; rc == ST_OK && c < factors; c++)
        for (size_t i = 0; i < p->n; i++)
            p->varf[c * p->n + i] *= m->noises[c] * m->noises[c];
    return rc;
}

enum status model_dirichlet_means(struct prediction *p, struct model_map *z, struct err *err)
{
    const struct model *m = p->m;
    const struct fop_opts fo = {.pool = p->on.pool, .ctl = p->on.ctl, .precision = m->precision};

    if (m->nstate < 1 + m->t)
        return err_set(err, ST_STATE, "the model keeps no means of its classes: fit again");
    enum status rc = model_open(m, m->M, p->src, &fo, p->on.be, z, err);
    if (rc == ST_OK)
        rc = fop_zp(z->f, m->t, m->w, p->mean, p->on.ctl, err);
    for (size_t c = 0; rc == ST_OK && c < m->t; c++)
        for (size_t i = 0; i < p->n; i++)
            p->mean[c * p->n + i] += m->state[1 + c];
    return rc;
}

static enum status dirichlet_predict(struct prediction *p, struct err *err)
{
    struct model_map z = { .f = NULL };
    enum status rc = model_dirichlet_means(p, &z, err);

    if (rc == ST_OK && p->varf != NULL)
        rc = model_dirichlet_variances(p, z.f, p->m->t, err);
    model_close(&z);
    return rc;
}

/* Tuning: the sum over the classes, each at its best amplitude, with the gradient. */

static struct tuning_sizes dirichlet_sizes(const struct kernel *k, size_t n, size_t d,
                                           size_t features, size_t rows)
{
    size_t low = rows ? rows : SEARCH_ROWS;

    low = low < n ? low : n;
    (void)k;
    (void)d;
    return (struct tuning_sizes){ .rows = low, .cols = features < SEARCH_COLS ? features
                                                                              : SEARCH_COLS,
                                  .all_cols = features, .all_rows = rows ? low : n };
}

static enum status dirichlet_allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    return features_tuning.allowed(n, features, mem_limit, err);
}

static void dirichlet_close_level(struct tuning_level *l)
{
    featmap_free(l->held);
    l->held = NULL;
}

static enum status dirichlet_value_at(struct tuning_level *l, const struct nmll_ask *ask,
                                      const struct nmll_told *told, struct err *err)
{
    const struct tuning_task *task = l->task;
    double weight[TARGETS_MOST];

    if (l->src->row_scale != NULL)
        return model_dirichlet_no_weights(err);
    if (task->labels.balanced)
        dirichlet_balance(l->src->n, task->labels.classes, l->y, weight);
    if (l->held == NULL)
        l->held = featmap_new(task->kernel, l->src->d, l->M, task->seed, err);
    if (l->held == NULL)
        return err_status(err);
    return dirichlet_nmll(&(struct dirichlet_rows){
                              .map = l->held, .src = l->src, .labels = l->y, .hp = ask->hp,
                              .classes = task->labels.classes, .alpha = task->labels.alpha,
                              .weight = task->labels.balanced ? weight : NULL,
                              .precision = l->precision, .on = task->on },
                          ask, told, err);
}

const struct model_tuning model_dirichlet_tuning = {
    .no_noise = true,
    .sizes = dirichlet_sizes,
    .allowed = dirichlet_allowed,
    .best = dirichlet_value_at,
    .at = dirichlet_value_at,
    .no_errors = "is the squared error of a regression; classes are tuned by their marginal "
                 "likelihood",
    .no_probes = "nmll=approx estimates the marginal likelihood of a regression; classes have "
                 "their own",
    .close = dirichlet_close_level,
};

const struct model_ops dirichlet_model = {
    .name = "dirichlet",
    .words = "random features, a regression for each class",
    .cite = "Dirichlet regressions: Milios et al. 2018; random features and "
            "tuning: Parkinson & Wang (xGPR)",
    .classes = true,
    .several = true,
    .of = &dirichlet_likelihood,
    .draws = true,
    .size = dirichlet_size,
    .plan = dirichlet_plan,
    .fit = dirichlet_fit,
    .end = model_dirichlet_end,
    .variance = dirichlet_variance,
    .suits = model_dirichlet_suits,
    .predict = dirichlet_predict,
    .tuning = &model_dirichlet_tuning,
};
