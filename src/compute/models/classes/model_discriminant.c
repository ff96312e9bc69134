/* compute/models/classes/model_discriminant.c -- several classes by a linear discriminant on
 * random features (compute/likelihood/discriminant.h; share/doc/methods.md 26).  Its targets are
 * the labels of the rows, 0 to classes - 1; it predicts a function for each class, without
 * variances.
 *
 * The state is that of a Dirichlet model (model_dirichlet.h), with the constants of the functions
 * in place of means. */
#include "compute/models/classes/model_dirichlet.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/discriminant.h"
#include "compute/likelihood/held.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/likelihood/softmax.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVALUATIONS = 13 }; /* of the search for the amplitude, for the forecast of time */
/* Amplitudes that a fit searches, and factors of the functions. */
static const double amplitudes[2] = { 0.3, 100.0 }, factors[2] = { 0.005, 20.0 };

static enum status discriminant_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                     struct fit_plan *p, char note[256], struct err *err)
{
    const double M = (double)o->features, C = (double)o->labels.classes;
    const double folds = (double)held_folds(n);
    char mem[24], time[32];

    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->bytes = 16.0 * M * M * (folds + 1.0) + 16.0 * M * C * (folds + 1.0) +
               16.0 * C * HELD_ROWS + 24.0 * (double)n + 8.0 * (double)d +
               fop_product_bytes(n, o->features, 0, o->precision, threads) +
               (double)threads * MODEL_BLAS_PACK;
    const enum status rc = model_dirichlet_fits(o, p, err);
    if (rc != ST_OK)
        return rc;
    mem_format(mem, sizeof mem, p->bytes);
    const double flops = 1.3 * (double)n * M * M + (EVALUATIONS * folds + 1.0) * M * M * M / 3.0;
    text_seconds(time, sizeof time, flops / 40e9 / (double)(threads ? threads : 1));
    snprintf(note, 256, "direct: %zu classes by one factor of %zu features in %s, about %s",
             o->labels.classes, o->features, mem, time);
    return ST_OK;
}

static size_t discriminant_size(const struct fit_opts *o, size_t n)
{
    (void)n;
    return o->features;
}

/* The search for the amplitude and for the factor of the functions, by rows left out (26.4). */
struct search {
    struct fit *ft;
    struct held held[HELD_FOLDS];
    struct discriminant of[HELD_FOLDS];
    size_t folds, evaluations;
    double *W, *constant; /* of one fold */
    double *f, *p, *share; /* of each fold: functions without the shares, probabilities, shares */
    double best, factor;  /* the least loss, and the factor there */
    double now;           /* the factor of this evaluation, from which the next one starts */
    struct ctl quiet;
    enum status rc;
    struct err *err;
};

static size_t place(const struct search *s, size_t k)
{
    return k * s->ft->m->t * HELD_ROWS;
}

/* The loss of the left-out rows at a factor of their functions. */
static double loss_of(void *ctx, double log_factor)
{
    const struct search *s = ctx;
    const size_t C = s->ft->m->t;
    double loss = 0.0, weight = 0.0, own;

    for (size_t k = 0; k < s->folds; k++) {
        held_softmax(s->held[k].out.src->n, C, s->f + place(s, k), exp(log_factor),
                     s->share + k * C, s->p + place(s, k));
        loss += held_loss(&s->held[k], s->p + place(s, k), &own);
        weight += own;
    }
    return loss / weight;
}

static double loss_at(void *ctx, double log_amplitude)
{
    struct search *s = ctx;
    double at;

    for (size_t k = 0; k < s->folds && s->rc == ST_OK; k++) {
        s->rc = discriminant_at(&s->of[k], exp(-2.0 * log_amplitude), s->W, s->constant, s->err);
        if (s->rc == ST_OK)
            s->rc = softmax_functions(&s->held[k].out, s->constant, s->W, s->f + place(s, k),
                                      s->err);
    }
    if (s->rc == ST_NOT_PD) { /* this amplitude is too large */
        err_clear(s->err);
        s->rc = ST_OK;
        return INFINITY;
    }
    if (s->rc != ST_OK)
        return INFINITY;
    const double loss = nmll_search_few(loss_of, s, log(factors[0]), log(factors[1]), log(s->now),
                                        &at);
    s->now = exp(at);
    ctl_tell(s->ft->on.ctl, PHASE_AMPLITUDE, ++s->evaluations, 0, loss);
    if (loss < s->best) {
        s->best = loss;
        s->factor = s->now;
        s->ft->m->amplitude = exp(log_amplitude);
    }
    return loss;
}

static enum status search_open(struct search *s, const struct dirichlet_rows *rows)
{
    const struct model *m = s->ft->m;
    const size_t C = m->t;
    struct dirichlet_rows quiet = *rows;

    s->folds = s->ft->o->nunseen ? 1 : held_folds(rows->src->n);
    quiet.unseen = s->ft->o->unseen;
    quiet.nunseen = s->ft->o->nunseen;
    s->quiet = (struct ctl){ .cancel = s->ft->on.ctl ? s->ft->on.ctl->cancel : NULL };
    quiet.on.ctl = &s->quiet;
    s->W = mem_calloc(C, (m->M + 1) * sizeof *s->W, "weights of the search", s->err);
    s->f = s->W ? mem_calloc(s->folds, (2 * C * HELD_ROWS + C) * sizeof *s->f, "functions", s->err)
                : NULL;
    if (s->f == NULL)
        return ST_NOMEM;
    s->constant = s->W + C * m->M;
    s->p = s->f + s->folds * C * HELD_ROWS;
    s->share = s->p + s->folds * C * HELD_ROWS;
    for (size_t k = 0; k < s->folds; k++) {
        enum status rc = held_make(&s->held[k], &quiet, k, m->seed, s->err);
        if (rc == ST_OK) {
            softmax_offset(&s->held[k].train, s->share + k * C);
            rc = discriminant_open(&s->of[k], &s->held[k].train, s->err);
        }
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

static enum status search(struct fit *ft, const struct dirichlet_rows *rows, double *factor,
                          struct err *err)
{
    struct search s = { .ft = ft, .best = INFINITY, .factor = 1.0, .now = 1.0, .err = err };
    const double given = ft->m->amplitude;
    double at;

    s.rc = search_open(&s, rows);
    if (s.rc == ST_OK && ft->free_scale)
        nmll_search_few(loss_at, &s, log(amplitudes[0]), log(amplitudes[1]), log(given), &at);
    else if (s.rc == ST_OK)
        loss_at(&s, log(given)); /* the factor alone */
    ft->m->amplitude = ft->free_scale ? ft->m->amplitude : given;
    ft->info->left_out_nlpd = isfinite(s.best) ? s.best : NAN;
    *factor = s.factor;
    for (size_t k = 0; k < s.folds; k++) {
        discriminant_close(&s.of[k]);
        held_free(&s.held[k]);
    }
    free(s.W);
    free(s.f);
    return s.rc;
}

/* Weights and constants of all rows. */
static enum status solve(struct model *m, const struct dirichlet_rows *rows, double factor,
                         struct err *err)
{
    struct discriminant d = { .A = NULL };
    double share[TARGETS_MOST];
    enum status rc = discriminant_open(&d, rows, err);

    if (rc == ST_OK)
        rc = discriminant_at(&d, 1.0 / (m->amplitude * m->amplitude), m->w, m->state + 1, err);
    discriminant_close(&d);
    if (rc != ST_OK)
        return rc;
    softmax_offset(rows, share);
    blas_dscal(m->t * m->M, factor, m->w);
    for (size_t c = 0; c < m->t; c++) {
        m->state[1 + c] = factor * m->state[1 + c] + share[c];
        m->amplitudes[c] = m->amplitude;
        m->noises[c] = 1.0;
    }
    return ST_OK;
}

static enum status discriminant_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    const double start = fit_now();
    struct phase_ctl phase;
    const struct tools on = { ft->on.be, ft->on.pool,
                              model_phase(&phase, ft->on.ctl, PHASE_GRAM) };
    enum status rc = model_dirichlet_keep(ft, err);
    double factor = 1.0;

    if (rc != ST_OK)
        return rc;
    struct featmap *map = featmap_new(&m->kernel, ft->src->d, m->M, m->seed, err);
    if (map == NULL)
        return err_status(err);
    const struct dirichlet_rows rows = model_dirichlet_rows(m, map, ft->src, &on);
    rc = search(ft, &rows, &factor, err);
    if (rc == ST_OK)
        rc = solve(m, &rows, factor, err);
    featmap_free(map);
    ft->info->why = OUT_DIRECT;
    ft->info->means_only = false;
    ft->info->seconds.solve = fit_now() - start;
    return rc;
}

static enum status discriminant_variance(struct model *m, const struct source *train, size_t Mv,
                                         const struct tools *on, double *effdim, struct err *err)
{
    (void)m, (void)train, (void)Mv, (void)on, (void)effdim;
    return err_set(err, ST_UNSUPPORTED, "a discriminant has no variances");
}

static enum status discriminant_predict(struct prediction *p, struct err *err)
{
    struct model_map z = { .f = NULL };
    const enum status rc = model_dirichlet_means(p, &z, err);

    if (rc == ST_OK && p->varf != NULL)
        memset(p->varf, 0, p->m->t * p->n * sizeof *p->varf);
    model_close(&z);
    return rc;
}

/* A session may hold anything. */
static enum status discriminant_loaded(const struct model *m, size_t rows, struct err *err)
{
    enum status rc = model_dirichlet_check(m, rows, err);

    for (size_t c = 0; rc == ST_OK && c < m->t; c++)
        if (!isfinite(m->state[1 + c]))
            rc = err_set(err, ST_FORMAT, "the constant of class %zu is %g", c + 1,
                         m->state[1 + c]);
    return rc == ST_OK && m->Mv != 0
               ? err_set(err, ST_FORMAT, "a discriminant has no variances, but here of %zu "
                         "features", m->Mv)
               : rc;
}

static void words(const struct fit_info *i, char *out, size_t n)
{
    char left_out[64] = "";

    if (isfinite(i->left_out_nlpd))
        snprintf(left_out, sizeof left_out, "; left-out rows have a log loss of %.4f",
                 i->left_out_nlpd);
    snprintf(out, n, "solved directly, one covariance for all classes, at amplitude %.4g%s",
             i->amplitude, left_out);
}

const struct model_ops discriminant_model = {
    .name = "discriminant",
    .words = "random features, a linear discriminant",
    .cite = "discriminant analysis on random features: Mika et al. 1999, Parkinson & Wang (xGPR)",
    .classes = true,
    .several = true,
    .of = &discriminant_likelihood,
    .point = true,
    .draws = true,
    .size = discriminant_size,
    .plan = discriminant_plan,
    .fit = discriminant_fit,
    .end = model_dirichlet_end,
    .loaded = discriminant_loaded,
    .variance = discriminant_variance,
    .suits = model_dirichlet_suits,
    .predict = discriminant_predict,
    .verdict = words,
    .tuning = &model_dirichlet_tuning,
};
