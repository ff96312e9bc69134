/* compute/models/classes/model_softmax.c -- several classes by the multinomial logistic model on
 * random features (compute/likelihood/softmax.h; share/doc/methods.md 25).  Its targets are the
 * labels of the rows, 0 to classes - 1; it predicts a latent function for each class.
 *
 * The state is that of a Dirichlet model (model_dirichlet.h), with the offsets of the classes in
 * place of their means.  Functions have no variances, so that probabilities are those at the
 * weights of largest posterior density; a fit with variance=all makes the factors of Laplace's
 * method, and Mv = M then says so. */
#include "compute/models/classes/model_dirichlet.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/held.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/likelihood/softmax.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MOST = 100,     /* Newton steps, unless maxit= says otherwise */
    SEARCH_STEPS = 20,    /* and of a fit of the search for the amplitude */
    PASSES_EXPECTED = 250 /* for the forecast of time */
};
#define RTOL 1e-3        /* of the gradient, unless rtol= says otherwise */
#define SEARCH_RTOL 1e-2
#define KEPT_BYTES 4e9   /* features are kept in memory up to there */
static const double amplitudes[2] = { 0.3, 100.0 }; /* that a fit searches */

static enum status softmax_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                struct fit_plan *p, char note[256], struct err *err)
{
    const size_t M = o->features, C = o->labels.classes;
    const double most = o->mem_limit ? (double)o->mem_limit : 0.95 * (double)mem_physical();
    const double features = 8.0 * (double)n * (double)M;
    char mem[24], time[32];

    p->plan = PLAN_REGENERATE;
    p->threads = threads;
    p->Mv = o->variance == VAR_ALL ? M : 0;
    p->bytes = 2.0 * softmax_bytes(n, M, C, threads) + 24.0 * (double)n + 8.0 * (double)d +
               (double)threads * MODEL_BLAS_PACK +
               (p->Mv ? 8.0 * (double)softmax_factors_of(C) * (double)M * (double)M : 0.0);
    const enum status rc = model_dirichlet_fits(o, p, err);
    if (rc != ST_OK)
        return rc;
    p->bytes_store = features <= KEPT_BYTES && p->bytes + 2.0 * features <= most ? features : 0.0;
    p->plan = p->bytes_store > 0.0 ? PLAN_STORE : PLAN_REGENERATE;
    p->bytes += p->bytes_store;
    mem_format(mem, sizeof mem, p->bytes);
    const double pass = (double)n * (double)M * (4.0 * (double)C + (p->bytes_store > 0 ? 0 : 60.0));
    text_seconds(time, sizeof time,
                 (pass * PASSES_EXPECTED + (double)n * (double)M * (double)M) / 40e9 /
                     (double)(threads ? threads : 1));
    snprintf(note, 256, "newton: %zu classes together on %zu features, %s, in %s, about %s", C, M,
             p->bytes_store > 0.0 ? "which are kept" : "made anew in each pass", mem, time);
    return ST_OK;
}

static size_t softmax_size(const struct fit_opts *o, size_t n)
{
    (void)n;
    return o->features;
}

/* The search for the amplitude, by rows left out (25.6). */
struct search {
    struct fit *ft;
    struct held held[HELD_FOLDS];
    struct softmax of[HELD_FOLDS];
    size_t folds, evaluations;
    double *W, *f, *p, *offset; /* W: weights of each fold, then the best ones of the first */
    double best;
    struct ctl quiet;
    enum status rc;
    struct err *err;
};

static enum status fold_loss(struct search *s, size_t k, double prior, double *loss,
                             double *weight)
{
    const struct model *m = s->ft->m;
    const size_t C = m->t, n = s->held[k].out.src->n;
    double *W = s->W + k * C * m->M;
    struct softmax_end end;
    enum status rc = softmax_solve(&s->of[k], prior, SEARCH_RTOL, SEARCH_STEPS, W, &end, s->err);

    if (rc == ST_OK && end.why == SOFTMAX_STOPPED)
        rc = err_set(s->err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = softmax_functions(&s->held[k].out, s->offset + k * C, W, s->f, s->err);
    if (rc != ST_OK)
        return rc;
    double zero[TARGETS_MOST] = { 0.0 }, own;
    held_softmax(n, C, s->f, 1.0, zero, s->p);
    *loss += held_loss(&s->held[k], s->p, &own);
    *weight += own;
    return ST_OK;
}

static double loss_at(void *ctx, double log_amplitude)
{
    struct search *s = ctx;
    const size_t one = s->ft->m->t * s->ft->m->M;
    double loss = 0.0, weight = 0.0;

    for (size_t k = 0; k < s->folds && s->rc == ST_OK; k++)
        s->rc = fold_loss(s, k, exp(-2.0 * log_amplitude), &loss, &weight);
    if (s->rc != ST_OK)
        return INFINITY;
    ctl_tell(s->ft->on.ctl, PHASE_AMPLITUDE, ++s->evaluations, 0, loss / weight);
    if (loss / weight < s->best) {
        s->best = loss / weight;
        s->ft->m->amplitude = exp(log_amplitude);
        memcpy(s->W + s->folds * one, s->W, one * sizeof *s->W);
    }
    return loss / weight;
}

static enum status search_open(struct search *s, const struct dirichlet_rows *rows)
{
    const struct model *m = s->ft->m;
    const size_t C = m->t, one = C * m->M;
    struct dirichlet_rows quiet = *rows;

    s->folds = s->ft->o->nunseen ? 1 : held_folds(rows->src->n);
    quiet.unseen = s->ft->o->unseen;
    quiet.nunseen = s->ft->o->nunseen;
    s->quiet = (struct ctl){ .cancel = s->ft->on.ctl ? s->ft->on.ctl->cancel : NULL };
    quiet.on.ctl = &s->quiet;
    s->W = mem_calloc(s->folds + 1, one * sizeof *s->W, "weights of the search", s->err);
    s->f = s->W ? mem_calloc(2 * C, HELD_ROWS * sizeof *s->f, "functions", s->err) : NULL;
    s->offset = s->f ? mem_calloc(s->folds, C * sizeof *s->offset, "offsets", s->err) : NULL;
    if (s->offset == NULL)
        return ST_NOMEM;
    s->p = s->f + C * HELD_ROWS;
    for (size_t k = 0; k < s->folds; k++) {
        enum status rc = held_make(&s->held[k], &quiet, k, m->seed, s->err);
        if (rc != ST_OK)
            return rc;
        softmax_offset(&s->held[k].train, s->offset + k * C);
        rc = softmax_open(&s->of[k], &s->held[k].train, s->offset + k * C,
                          s->ft->plan.bytes_store > 0.0 ? KEPT_BYTES : 0.0, s->err);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

/* Moves the amplitude of the model, and its weights to those of the search, from which the fit
 * starts.  A search that is stopped leaves the best ones so far; CANCELLED if there are none. */
static enum status search(struct fit *ft, const struct dirichlet_rows *rows, struct err *err)
{
    struct search s = { .ft = ft, .best = INFINITY, .err = err };
    double at;

    s.rc = search_open(&s, rows);
    if (s.rc == ST_OK)
        nmll_search_few(loss_at, &s, log(amplitudes[0]), log(amplitudes[1]),
                        log(ft->m->amplitude), &at);
    if (s.rc == ST_CANCELLED && isfinite(s.best)) {
        err_clear(err);
        s.rc = ST_OK;
    }
    if (s.rc == ST_OK) {
        const size_t one = ft->m->t * ft->m->M;
        memcpy(ft->m->w, s.W + s.folds * one, one * sizeof *s.W);
        ft->info->left_out_nlpd = s.best;
    }
    for (size_t k = 0; k < s.folds; k++) {
        softmax_close(&s.of[k]);
        held_free(&s.held[k]);
    }
    free(s.W);
    free(s.f);
    free(s.offset);
    return s.rc;
}

static enum softmax_why stopped(const struct softmax_end *e, bool started, enum status *rc,
                                struct err *err)
{
    if (*rc == ST_CANCELLED && started) { /* before the first step */
        err_clear(err);
        *rc = ST_OK;
        return SOFTMAX_STOPPED;
    }
    return e->why;
}

static void report(struct fit *ft, const struct softmax_end *e, enum softmax_why why)
{
    struct fit_info *info = ft->info;

    info->why = why == SOFTMAX_STOPPED ? OUT_CANCELLED
                : why == SOFTMAX_RTOL  ? OUT_RTOL
                                       : OUT_MAXIT;
    info->iterations = e->steps;
    info->passes = (double)e->passes;
    info->residual = info->true_residual = e->residual;
    info->start_residual = e->start;
    info->means_only = false;
    for (size_t c = 0; c < ft->m->t; c++) {
        ft->m->amplitudes[c] = ft->m->amplitude;
        ft->m->noises[c] = 1.0;
    }
    if (why == SOFTMAX_MAXIT)
        fit_warn(info, "newton", "the gradient is still %.1e of its start after %zu steps: a "
                 "smaller amplitude is solved sooner", e->residual, e->steps);
}

static enum status softmax_run(struct fit *ft, const struct featmap *map, struct err *err)
{
    struct model *m = ft->m;
    const struct fit_opts *o = ft->o;
    struct phase_ctl phase;
    const struct dirichlet_rows rows = model_dirichlet_rows(m, map, ft->src, &ft->on);
    struct dirichlet_rows first = rows;
    struct softmax s = { .f = NULL };
    struct softmax_end end = { .residual = NAN };
    bool started = o->start && model_start_same(o->start, m);
    enum status rc = ST_OK;

    softmax_offset(&rows, m->state + 1);
    ft->info->warm = started;
    if (started)
        memcpy(m->w, o->start->w, m->t * m->M * sizeof *m->w);
    else if (ft->free_scale && !o->keep_ratio && ft->plan.Mv == 0) {
        rc = search(ft, &rows, err);
        started = rc == ST_OK;
    }
    first.on.ctl = model_phase(&phase, ft->on.ctl, PHASE_GRAM);
    if (rc == ST_OK)
        rc = softmax_open(&s, &first, m->state + 1, ft->plan.bytes_store, err);
    s.rows.on.ctl = ft->on.ctl;
    if (rc == ST_OK)
        rc = softmax_solve(&s, 1.0 / (m->amplitude * m->amplitude), o->rtol > 0.0 ? o->rtol : RTOL,
                           o->maxit ? o->maxit : STEPS_MOST, m->w, &end, err);
    const enum softmax_why why = stopped(&end, started, &rc, err);
    softmax_close(&s);
    if (rc == ST_OK)
        report(ft, &end, why);
    return rc;
}

static enum status softmax_fit(struct fit *ft, struct err *err)
{
    const double start = fit_now();
    enum status rc = model_dirichlet_keep(ft, err);

    if (rc != ST_OK)
        return rc;
    struct featmap *map = featmap_new(&ft->m->kernel, ft->src->d, ft->m->M, ft->m->seed, err);
    rc = map ? softmax_run(ft, map, err) : err_status(err);
    featmap_free(map);
    ft->info->seconds.solve = fit_now() - start;
    return rc;
}

/* The factors of Laplace's method, from the weights, the labels and the training rows. */
static enum status softmax_variance(struct model *m, const struct source *train, size_t Mv,
                                    const struct tools *on, double *effdim, struct err *err)
{
    const size_t M = m->M;

    (void)Mv;
    if (effdim != NULL)
        *effdim = NAN;
    enum status rc = model_dirichlet_check(m, train->n, err);
    if (rc != ST_OK)
        return rc;
    if (!model_dirichlet_suits(m, train, err))
        return ST_SHAPE;
    model_dirichlet_forget(m);
    struct featmap *map = featmap_new(&m->kernel, train->d, M, m->seed, err);
    struct softmax s = { .f = NULL };
    m->factors = map ? mem_aligned(softmax_factors_of(m->t) * M * M, sizeof *m->factors,
                                   "a factor of each class", err)
                     : NULL;
    if (m->factors) {
        const struct dirichlet_rows rows = model_dirichlet_rows(m, map, train, on);
        rc = softmax_open(&s, &rows, m->state + 1, 0.0, err);
        if (rc == ST_OK)
            rc = softmax_factors(&s, 1.0 / (m->amplitude * m->amplitude), m->w, m->factors, err);
    } else {
        rc = err_status(err);
    }
    softmax_close(&s);
    featmap_free(map);
    m->Mv = rc == ST_OK ? M : m->Mv;
    if (rc != ST_OK)
        model_dirichlet_forget(m);
    return rc;
}

/* Two classes share a factor. */
static enum status softmax_variances(const struct prediction *p, struct fop *f, struct err *err)
{
    const size_t factors = softmax_factors_of(p->m->t);
    const enum status rc = model_dirichlet_variances(p, f, factors, err);

    for (size_t c = factors; rc == ST_OK && c < p->m->t; c++)
        memcpy(p->varf + c * p->n, p->varf, p->n * sizeof *p->varf);
    return rc;
}

static enum status softmax_predict(struct prediction *p, struct err *err)
{
    struct model_map z = { .f = NULL };
    enum status rc = model_dirichlet_means(p, &z, err);

    if (rc == ST_OK && p->varf != NULL && p->m->factors == NULL)
        memset(p->varf, 0, p->m->t * p->n * sizeof *p->varf);
    else if (rc == ST_OK && p->varf != NULL)
        rc = softmax_variances(p, z.f, err);
    model_close(&z);
    return rc;
}

/* A session may hold anything. */
static enum status softmax_loaded(const struct model *m, size_t rows, struct err *err)
{
    enum status rc = model_dirichlet_check(m, rows, err);

    for (size_t c = 0; rc == ST_OK && c < m->t; c++)
        if (!isfinite(m->state[1 + c]))
            rc = err_set(err, ST_FORMAT, "the offset of class %zu is %g", c + 1, m->state[1 + c]);
    if (rc == ST_OK && m->Mv != 0 && m->Mv != m->M)
        rc = err_set(err, ST_FORMAT, "it has variances of %zu features, and %zu features", m->Mv,
                     m->M);
    return rc;
}

static void words(const struct fit_info *i, char *out, size_t n)
{
    char left_out[64] = "", gradient[64] = "";

    if (isfinite(i->left_out_nlpd))
        snprintf(left_out, sizeof left_out, "; left-out rows have a log loss of %.4f",
                 i->left_out_nlpd);
    if (isfinite(i->residual))
        snprintf(gradient, sizeof gradient, ": the gradient is %.1e of its start", i->residual);
    snprintf(out, n, "%s %zu Newton steps and %.0f passes%s, at amplitude %.4g%s",
             i->why == OUT_CANCELLED ? "stopped on request after"
             : i->why == OUT_MAXIT   ? "not solved after"
                                     : "solved in",
             i->iterations, i->passes, gradient, i->amplitude, left_out);
}

const struct model_ops softmax_model = {
    .name = "softmax",
    .words = "random features, a multinomial logistic model",
    .cite = "multinomial logistic regression on random features: Parkinson & Wang (xGPR)",
    .classes = true,
    .several = true,
    .of = &softmax_likelihood,
    .point = true,
    .iterates = true,
    .draws = true,
    .size = softmax_size,
    .plan = softmax_plan,
    .fit = softmax_fit,
    .end = model_dirichlet_end,
    .loaded = softmax_loaded,
    .variance = softmax_variance,
    .suits = model_dirichlet_suits,
    .predict = softmax_predict,
    .verdict = words,
    .tuning = &model_dirichlet_tuning,
};
