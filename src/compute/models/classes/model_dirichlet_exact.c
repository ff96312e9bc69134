/* compute/models/classes/model_dirichlet_exact.c -- several classes under the exact kernel, a
 * regression for each (compute/likelihood/dirichlet_exact.h; share/doc/methods.md 17.15).  Its
 * targets are the labels of the rows, 0 to classes - 1; it predicts a latent function for each
 * class.
 *
 * The state of the model is alpha, the mean of each class, the labels of the training rows and,
 * where rows are weighed by their class, the weight of each class, from which and its inputs the
 * factors can be made again. */
#include "compute/models/classes/model_dirichlet.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/dirichlet_exact.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEARCH_ROWS = 500,  /* of the search for hyperparameters, */
    POLISH_ROWS = 1500, /* and of its last descent, unless rows= says otherwise */
    EVALUATIONS = 13    /* of a class in the search for its amplitude, for the forecast of time */
};

static enum status exact_labels_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                     struct fit_plan *p, char note[256], struct err *err)
{
    const double C = (double)o->labels.classes, N = (double)n;
    char mem[24], time[32];
    enum status rc = exact_allowed(n, o->labels.classes + 1, o->mem_limit, err);

    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->Mv = n;
    p->bytes = 8.0 * (N * N * (C + 1.0) + N * (double)d) + (double)threads * MODEL_BLAS_PACK;
    if (rc != ST_OK) {
        err_hint(err, "fit features=2048");
        return rc;
    }
    mem_format(mem, sizeof mem, p->bytes);
    text_seconds(time, sizeof time,
                 (1.0 + C * (EVALUATIONS + 1)) * exact_seconds(n) /
                     (double)(threads ? threads : 1));
    snprintf(note, 256, "exact: %zu classes, a factor of %zu rows for each in %s, about %s",
             o->labels.classes, n, mem, time);
    return ST_OK;
}

static size_t exact_labels_size(const struct fit_opts *o, size_t n)
{
    (void)o;
    return n;
}

/* Weights and a factor for each class; amplitudes first, unless they are given. */
static enum status solve(struct model *m, const struct dirichlet_exact *d, bool search,
                         double *evidence, struct err *err)
{
    struct dirichlet_value of[2];
    enum status rc = ST_OK;

    dirichlet_values(d->alpha, of);
    for (size_t c = 0; rc == ST_OK && c < m->t; c++) {
        double value = 0.0, *L = m->factors + c * d->n * d->n, *w = m->w + c * d->n;
        if (search) {
            m->amplitudes[c] = fmin(fmax(m->amplitude, model_dirichlet_amplitudes[0]),
                                    model_dirichlet_amplitudes[1]);
            rc = dirichlet_exact_best(d, c, model_dirichlet_amplitudes, L, w,
                                      &m->amplitudes[c], err);
        }
        if (rc == ST_OK)
            rc = dirichlet_exact_at(d, c, m->amplitudes[c], L, w, &value, err);
        m->state[1 + c] = dirichlet_exact_mean(d, c);
        m->noises[c] = sqrt(of[0].var);
        *evidence -= value;
        model_step(d->ctl, PHASE_FACTOR, c + 1);
    }
    return rc;
}

/* Fills weights and factors of a model that has its inputs, alpha and labels. */
static enum status run(struct model *m, bool search, const struct tools *on, double *evidence,
                       struct err *err)
{
    const size_t n = m->M;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n, .d = m->d,
                                     .pool = on->pool };
    double *K = mem_aligned(n * n, sizeof *K, "the kernel matrix", err);
    struct phase_ctl phase;
    struct dirichlet_exact d = { .n = n, .classes = m->t, .K = K, .labels = model_dirichlet_of(m),
                                 .alpha = m->state[0], .pool = on->pool, .ctl = on->ctl,
                                 .weight = model_dirichlet_weight(m, n) };

    m->factors = K ? mem_aligned(m->t * n * n, sizeof *m->factors, "a factor of each class", err)
                   : NULL;
    enum status rc = m->factors ? exact_matrix(&rows, 0.0, K,
                                               model_phase(&phase, on->ctl, PHASE_KERNEL), err)
                                : ST_NOMEM;
    if (rc == ST_OK)
        rc = solve(m, &d, search, evidence, err);
    free(K);
    return rc;
}

static enum status exact_labels_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double start = fit_now();

    info->evidence = 0.0;
    enum status rc = model_dirichlet_keep(ft, err);
    if (rc == ST_OK && (m->X = exact_inputs(ft->src, err)) == NULL)
        rc = err_status(err);
    if (rc == ST_OK)
        rc = run(m, ft->free_scale, &ft->on, &info->evidence, err);
    info->why = OUT_DIRECT;
    info->means_only = false;
    info->seconds.solve = fit_now() - start;
    return rc;
}

static void exact_labels_end(struct fit *ft, enum status rc)
{
    (void)ft;
    (void)rc; /* nothing is held */
}

static bool exact_labels_suits(const struct model *m, const struct source *src, struct err *err)
{
    return exact_model.suits(m, src, err);
}

/* The factors once more, from the labels and inputs of the model. */
static enum status exact_labels_variance(struct model *m, const struct source *train, size_t Mv,
                                         const struct tools *on, double *effdim, struct err *err)
{
    double evidence = 0.0;

    (void)Mv;
    (void)train;
    if (effdim != NULL)
        *effdim = NAN;
    if (m->X == NULL)
        return err_set(err, ST_STATE, "the model keeps no inputs of its rows: fit again");
    const enum status rc = model_dirichlet_check(m, m->M, err);
    if (rc != ST_OK)
        return rc;
    model_dirichlet_forget(m);
    return run(m, false, on, &evidence, err);
}

/* Mean and variance of each class's function in a tile of rows. */
static enum status exact_labels_tile(const struct prediction *p, size_t r0, size_t r1,
                                     double *work, struct err *err)
{
    const struct model *m = p->m;
    const size_t n = m->M, rows = r1 - r0, d = p->src->d;
    double *Xt = work, *C = work + MODEL_TILE * d, *V = C + MODEL_TILE * n;
    const struct exact_rows train = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n, .d = m->d };
    enum status rc = p->src->rows(p->src, r0, r1, Xt, err);

    if (rc != ST_OK)
        return rc;
    exact_cross_wide(&train, Xt, d, rows, C);
    memset(C + rows * n, 0, (MODEL_TILE - rows) * n * sizeof *C);
    for (size_t c = 0; rc == ST_OK && c < m->t; c++) {
        for (size_t i = 0; i < rows; i++)
            p->mean[c * p->n + r0 + i] = m->state[1 + c] +
                                         blas_ddot(n, C + i * n, m->w + c * n);
        if (p->varf == NULL)
            continue;
        memcpy(V, C, MODEL_TILE * n * sizeof *V);
        rc = blas_dtrsm(NULL, false, n, MODEL_TILE, m->factors + c * n * n, n, V, n, err);
        for (size_t i = 0; rc == ST_OK && i < rows; i++) {
            const double *x = Xt + i * d;
            const double prior = kernel_exact(&m->kernel, m->hp, m->d, x, x, NULL);
            p->varf[c * p->n + r0 + i] = m->amplitudes[c] * m->amplitudes[c] *
                fmax(prior - blas_ddot(n, V + i * n, V + i * n), 0.0);
        }
    }
    return rc;
}

static enum status exact_labels_predict(struct prediction *p, struct err *err)
{
    if (p->m->nstate < 1 + p->m->t)
        return err_set(err, ST_STATE, "the model keeps no means of its classes: fit again");
    p->tile = exact_labels_tile;
    p->work_len = MODEL_TILE * (p->src->d + 2 * p->m->M) + 8;
    return model_tiles(p, err);
}

/* Tuning: the sum over the classes, each at its best amplitude, with the gradient. */

static struct tuning_sizes exact_labels_sizes(const struct kernel *k, size_t n, size_t d,
                                              size_t features, size_t rows)
{
    const size_t all = rows ? (rows < n ? rows : n) : n < POLISH_ROWS ? n : POLISH_ROWS;
    const size_t low = all < SEARCH_ROWS ? all : SEARCH_ROWS;

    (void)k;
    (void)d;
    (void)features;
    return (struct tuning_sizes){ .rows = low, .cols = low, .all_cols = all, .all_rows = all };
}

static enum status exact_labels_allowed(size_t n, size_t features, size_t mem_limit,
                                        struct err *err)
{
    const enum status rc = exact_allowed(n, 3, mem_limit, err);

    (void)features;
    if (rc != ST_OK)
        err_hint(err, "tune rows=1500  |  tune features=512");
    return rc;
}

static enum status exact_labels_value(struct tuning_level *l, const struct nmll_ask *ask,
                                      const struct nmll_told *told, struct err *err)
{
    const struct tuning_task *task = l->task;
    const bool balanced = task->labels.balanced;
    double weight[TARGETS_MOST];
    const struct dirichlet_exact d = { .classes = task->labels.classes, .labels = l->y,
                                       .alpha = task->labels.alpha,
                                       .weight = balanced ? weight : NULL,
                                       .pool = task->on.pool, .ctl = task->on.ctl };

    if (balanced)
        dirichlet_balance(l->src->n, d.classes, l->y, weight);
    return l->src->row_scale != NULL
               ? model_dirichlet_no_weights(err)
               : dirichlet_exact_nmll(task->kernel, l->src, &d, ask, told, err);
}

static void exact_labels_close(struct tuning_level *l)
{
    (void)l; /* an evaluation frees its matrices */
}

static const struct model_tuning exact_labels_tuning = {
    .in_double = true,
    .no_noise = true,
    .sizes = exact_labels_sizes,
    .allowed = exact_labels_allowed,
    .best = exact_labels_value,
    .at = exact_labels_value,
    .no_errors = "is the squared error of a regression; classes are tuned by their marginal "
                 "likelihood",
    .no_probes = "nmll=approx estimates the marginal likelihood of a regression; classes have "
                 "their own",
    .close = exact_labels_close,
};

const struct model_ops dirichlet_exact_model = {
    .name = "dirichlet-exact",
    .words = "exact kernel, a regression for each class",
    .cite = "Dirichlet regressions: Milios et al. 2018",
    .exact = true,
    .classes = true,
    .several = true,
    .of = &dirichlet_likelihood,
    .keeps_inputs = true,
    .keeps_rows = true,
    .size = exact_labels_size,
    .plan = exact_labels_plan,
    .fit = exact_labels_fit,
    .end = exact_labels_end,
    .variance = exact_labels_variance,
    .suits = exact_labels_suits,
    .predict = exact_labels_predict,
    .tuning = &exact_labels_tuning,
};
