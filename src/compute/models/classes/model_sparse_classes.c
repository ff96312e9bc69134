/* compute/models/classes/model_sparse_classes.c -- two classes at m inducing points: expectation
 * propagation in the form of FITC (compute/inducing/sites.h; share/doc/methods.md 16.15 to 16.18).
 *
 * With F and u of likelihood/latent.h and L the factor of the points, the model predicts as the
 * sparse regression does (22.3): weights w = amplitude L'^-1 u, and F as the factor of its
 * variances.  Its state is the precision of each row's site, from which F can be made again. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/inducing/sites.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"
#include "compute/models/sparse_level.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS_EXPECTED = 15, SEARCH_ROWS = 2000 };

static enum status suited(const struct likelihood_ops *of, bool weighted, struct err *err)
{
    enum status rc = ST_OK;

    if (!of->low) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "solver=sparse has no %s: link=%s takes all rows", of->method, of->link);
        err_hint(err, "likelihood bernoulli link=probit  |  fit");
    } else if (weighted) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "weights of rows belong to Gaussian noise; two classes have none");
        err_hint(err, "cols NAME role=skip");
    }
    return rc;
}

static enum status plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                        struct fit_plan *p, char note[256], struct err *err)
{
    struct fit_opts points = *o;
    char way[SELECT_TEXT_MAX], mem[24];
    enum status rc = suited(o->likelihood, false, err);

    if (rc == ST_OK)
        rc = sparse_model.plan(&points, n, d, threads, p, note, err);
    if (rc != ST_OK)
        return rc;
    if (p->Mv == 0) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "a probability needs the variance of its row, by the factor and not by "
                       "drawn ones");
        err_hint(err, "fit variance=auto samples=0");
        return rc;
    }
    select_print(&o->inducing, way, sizeof way);
    mem_format(mem, sizeof mem, p->bytes);
    snprintf(note, 256, "two classes: %zu inducing points of %zu rows by select=%s, %s; %s, about "
                        "%d sweeps", select_count(&o->inducing, n), n, way, o->likelihood->method,
             mem, SWEEPS_EXPECTED);
    return ST_OK;
}

static size_t size(const struct fit_opts *o, size_t n)
{
    return sparse_model.size(o, n);
}

static void report(struct fit *ft, const struct latent *l)
{
    struct fit_info *info = ft->info;

    snprintf(info->solver, sizeof info->solver, "%s", ft->o->likelihood->link);
    info->iterations = l->sweeps;
    if (info->why != OUT_CANCELLED)
        info->why = l->converged ? OUT_RTOL : OUT_MAXIT;
    info->evidence = l->evidence;
    info->objective = info->objective_best = info->bound_given = l->evidence;
    info->bound = NAN;
    info->noise_best = ft->o->noise;
    if (!l->converged)
        fit_warn(info, "sweeps",
                 "%s had not converged after %zu sweeps: the probabilities are approximate; a "
                 "smaller amplitude helps", ft->o->likelihood->method, l->sweeps);
    else if (l->held > 0)
        fit_warn(info, "held", "%zu of %zu rows are explained so well that they no longer count: "
                 "their site precision is held at %.0e", l->held, l->n, LATENT_TAU_LEAST);
}

/* Points, the posterior there of rows with their weights (NULL: 1), and what predicts. */
static enum status fit_at(struct fit *ft, const struct columns_of *rows, const double *weight,
                          struct sites *s, struct select_points *p, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double start = fit_now();
    const struct select_job job = { .rows = rows, .src = ft->src, .y = ft->y,
                                    .o = &ft->o->inducing, .seed = ft->o->seed,
                                    .mem_limit = ft->o->mem_limit, .ctl = ft->on.ctl, .out = p };
    bool stopped = false;
    enum status rc = sites_choose(&job, NULL, &stopped, err);

    info->seconds.precond = fit_now() - start;
    info->choices = 1;
    if (rc == ST_OK)
        rc = sites_make(rows, p->Z, p->m, m->likelihood, ft->y, s, ft->on.ctl, err);
    s->l.weight = weight;
    if (rc == ST_OK)
        rc = sites_at(s, m->amplitude, 0.0, ft->on.ctl, err);
    if (rc != ST_OK)
        return rc;
    info->level = m->level = s->l.level;
    info->skipped = p->skipped;
    info->inducing = m->M = p->m;
    m->X = p->Z;
    m->origin = p->origin;
    *p = (struct select_points){ 0 };
    for (size_t i = 0; i < m->M; i++) {
        info->outside += m->origin[i] < 0.0;
        m->w[i] = m->amplitude * s->low.u[i];
    }
    rc = blas_dtrsm(ft->on.pool, true, m->M, 1, s->b.L, m->M, m->w, m->M, err);
    report(ft, &s->l);
    if (stopped)
        info->why = OUT_CANCELLED;
    if (s->b.jitter > 0.0)
        fit_warn(info, "jitter", "the kernel matrix of the inducing points is singular in double "
                                 "precision: %.2g of its mean diagonal was added", s->b.jitter);
    return rc;
}

/* F becomes the model's factor. */
static enum status take_factor(struct model *m, const double *F, struct err *err)
{
    free(m->L);
    m->Mv = m->M;
    m->L = mem_aligned(m->M * m->M, sizeof *m->L, "the variance factor", err);
    if (m->L == NULL)
        return ST_NOMEM;
    memcpy(m->L, F, m->M * m->M * sizeof *m->L);
    return ST_OK;
}

static enum status fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    const size_t n = ft->src->n;
    const double start = fit_now();
    struct sites s = { 0 };
    struct select_points p = { 0 };
    enum status rc = suited(ft->o->likelihood, ft->src->row_scale != NULL, err);

    if (rc != ST_OK)
        return rc;
    m->likelihood = ft->o->likelihood;
    m->approx = BOUND_FITC;
    ft->info->residual = ft->info->true_residual = NAN;
    double *X = exact_inputs(ft->src, err);
    const struct columns_of rows = { .k = &m->kernel, .hp = m->hp, .X = X, .n = n, .d = m->d,
                                     .pool = ft->on.pool };
    m->state = X ? mem_calloc(n, sizeof *m->state, "the sites", err) : NULL;
    double *weight = m->state ? mem_calloc(n, sizeof *weight, "the weights of rows", err) : NULL;
    if (weight)
        latent_balance(n, ft->y, weight);
    rc = weight ? fit_at(ft, &rows, ft->o->labels.balanced ? weight : NULL, &s, &p, err)
                : err_status(err);
    if (rc == ST_OK) {
        m->nstate = n;
        memcpy(m->state, s.l.tau, n * sizeof *m->state);
        rc = take_factor(m, s.low.F, err);
    }
    sites_free(&s);
    select_points_free(&p);
    free(weight);
    free(X);
    ft->info->seconds.solve = fit_now() - start - ft->info->seconds.precond;
    return rc;
}

static void end(struct fit *ft, enum status rc)
{
    (void)ft;
    (void)rc; /* nothing is held */
}

/* F once more, from the training rows, the points and the sites of the model. */
static enum status variance(struct model *m, const struct source *train, size_t Mv,
                            const struct tools *on, double *effdim, struct err *err)
{
    const size_t n = train->n;
    struct sites s = { 0 };

    (void)Mv;
    if (effdim != NULL)
        *effdim = NAN;
    if (m->nstate != n || train->d != m->d)
        return err_set(err, ST_STATE, "the model keeps no sites of these rows: fit again");
    for (size_t i = 0; i < n; i++)
        if (!(m->state[i] >= LATENT_TAU_LEAST) || !isfinite(m->state[i]))
            return err_set(err, ST_FORMAT, "the sites of the model are damaged: fit again");
    double *X = exact_inputs(train, err), *work = X ? mem_calloc(5 * n, sizeof *work, "the sites",
                                                                 err) : NULL;
    const struct columns_of rows = { .k = &m->kernel, .hp = m->hp, .X = X, .n = n, .d = m->d,
                                     .pool = on->pool };
    enum status rc = work ? sites_make(&rows, m->X, m->M, m->likelihood, work, &s, on->ctl, err)
                          : err_status(err);
    if (rc == ST_OK) {
        memcpy(s.l.tau, m->state, n * sizeof *m->state);
        s.low.amplitude = m->amplitude;
        s.l.low = &s.low;
        rc = latent_moments(&s.l, work + n, work + 2 * n, work + 3 * n, work + 4 * n, on->ctl, err);
    }
    if (rc == ST_OK)
        rc = take_factor(m, s.low.F, err);
    sites_free(&s);
    free(work);
    free(X);
    return rc;
}

static bool suits(const struct model *m, const struct source *src, struct err *err)
{
    return sparse_model.suits(m, src, err);
}

static enum status predict(struct prediction *p, struct err *err)
{
    const enum status rc = sparse_model.predict(p, err);

    for (size_t i = 0; rc == ST_OK && i < p->n; i++)
        p->mean[i] += p->m->level;
    return rc;
}

static double constant(const struct model *m)
{
    return m->level;
}

/* Tuning: as the exact model of two classes, at points that stay until the search asks for
 * others. */

static struct tuning_sizes sizes(const struct kernel *k, size_t n, size_t d, size_t features,
                                 size_t rows)
{
    (void)k;
    (void)d;
    (void)features;
    return sparse_level_sizes(n, rows, SEARCH_ROWS);
}

static enum status allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    return sparse_model.tuning->allowed(n, features, mem_limit, err);
}

static enum status choose(struct tuning_level *l, const struct nmll_ask *ask,
                          const struct select_points *by, struct select_points *out,
                          struct err *err)
{
    const struct columns_of rows = sparse_level_rows(l, ask->hp);
    const struct select_job job = { .rows = &rows, .src = l->src, .y = ask->y,
                                    .o = l->task->inducing, .seed = l->task->seed,
                                    .mem_limit = l->task->mem_limit, .ctl = l->task->on.ctl,
                                    .out = out };
    bool stopped;
    enum status rc = sites_choose(&job, by, &stopped, err);

    if (rc == ST_OK && ctl_stopped(l->task->on.ctl)) /* half of a choice is none to compare with */
        rc = err_set(err, ST_CANCELLED, "stopped");
    return rc;
}

static enum status held_open(struct tuning_level *l, const struct nmll_ask *ask, struct err *err)
{
    enum status rc = suited(l->task->likelihood, l->src->row_scale != NULL, err);

    if (rc != ST_OK || l->held != NULL)
        return rc;
    struct sparse_level *h = sparse_level_open(l, err);
    rc = h ? choose(l, ask, NULL, &h->points, err) : err_status(err);
    if (rc != ST_OK)
        sparse_level_close(l);
    return rc;
}

/* The negative log evidence at these points. */
static enum status value_at(struct tuning_level *l, const struct nmll_ask *ask,
                            const struct select_points *p, const struct nmll_told *told,
                            struct err *err)
{
    const struct columns_of rows = sparse_level_rows(l, ask->hp);
    double amplitude = ask->amplitude, grad[KERNEL_MAX_HP + 2];
    struct sites s = { 0 };
    enum status rc = sites_make(&rows, p->Z, p->m, l->task->likelihood, ask->y, &s,
                                l->task->on.ctl, err);

    if (rc == ST_OK && ask->scale == NMLL_BEST) {
        amplitude = told->amplitude ? told->amplitude[0] : 0.0;
        rc = sites_best(&s, ask->within->amplitude, &amplitude, l->task->on.ctl, err);
    } else if (rc == ST_OK) {
        rc = sites_at(&s, amplitude, 0.0, l->task->on.ctl, err);
    }
    if (rc == ST_OK && told->value)
        *told->value = -s.l.evidence;
    if (rc == ST_OK && told->grad) {
        const size_t scale = ask->scale == NMLL_GIVEN ? 2 : 0;
        rc = sites_slope(&rows, p->Z, &s, grad, l->task->on.ctl, err);
        memcpy(told->grad, grad, (kernel_nhp(l->task->kernel) + scale) * sizeof *grad);
    }
    if (told->amplitude)
        told->amplitude[0] = amplitude;
    if (told->noise)
        told->noise[0] = ask->within ? ask->within->noise[0] : ask->noise;
    if (told->effdim)
        *told->effdim = NAN;
    sites_free(&s);
    return rc;
}

static enum status value(struct tuning_level *l, const struct nmll_ask *ask,
                         const struct nmll_told *told, struct err *err)
{
    const enum status rc = held_open(l, ask, err);
    const struct sparse_level *h = l->held;

    return rc == ST_OK ? value_at(l, ask, &h->points, told, err) : rc;
}

/* Points of the setting; they are kept if the evidence there is better than with those before. */
static enum status again(struct tuning_level *l, const struct nmll_ask *ask, bool *moved,
                         struct err *err)
{
    struct sparse_level *h = l->held;
    struct select_points points = { 0 };
    double before, after, amplitude = 0.0;
    struct nmll_told told = { .value = &before, .amplitude = &amplitude };

    *moved = false;
    if (h == NULL || !l->task->inducing->ops || l->task->inducing->ops->drawn)
        return ST_OK;
    enum status rc = value_at(l, ask, &h->points, &told, err);
    if (rc == ST_OK)
        rc = choose(l, ask, &h->points, &points, err);
    told.value = &after;
    if (rc == ST_OK)
        rc = value_at(l, ask, &points, &told, err);
    if (rc == ST_OK && after < before - 1e-6 * fabs(before)) {
        select_points_free(&h->points);
        h->points = points;
        *moved = true;
        return ST_OK;
    }
    select_points_free(&points);
    return rc;
}

static const struct model_tuning tuning = {
    .joint = true,
    .in_double = true,
    .no_noise = true,
    .sizes = sizes,
    .allowed = allowed,
    .best = value,
    .at = value,
    .again = again,
    .no_errors = "is the squared error of a regression; two classes are tuned by their evidence",
    .no_probes = "nmll=approx estimates the marginal likelihood of a regression; two classes have "
                 "their own evidence",
    .close = sparse_level_close,
};

const struct model_ops sparse_classes_model = {
    .name = "sparse-classes",
    .words = "inducing points, two classes",
    .cite = "inducing points with expectation propagation: Naish-Guzman & Holden 2008",
    .classes = true,
    .alone = true,
    .points = true,
    .keeps_inputs = true,
    .size = size,
    .plan = plan,
    .fit = fit,
    .end = end,
    .variance = variance,
    .suits = suits,
    .predict = predict,
    .constant = constant,
    .tuning = &tuning,
};
