/* compute/models/classes/model_classes.c -- two classes under an exact kernel: the Gaussian
 * approximation of the posterior of the latent function, by the likelihood's own method
 * (compute/likelihood; share/doc/methods.md 16).
 *
 * With K = amplitude^2 K1 and site precisions tau the approximation is that of a regression on rows
 * with noise variances 1 / tau_i, so that the model predicts as the exact one does (5.1, 5.2):
 * weights w = amplitude^2 alpha, and a factor L = diag(1 / (amplitude sqrt tau)) L_B of K1 + diag(1
 * / (amplitude^2 tau)).  Its state is tau, from which the factor can be made again. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/latent.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MOST = 5000,    /* of a fit: three n x n matrices, and n^3 operations a sweep */
    SEARCH_ROWS = 500,   /* of the search for hyperparameters, */
    POLISH_ROWS = 2000,  /* and of its last descent, unless rows= says otherwise */
    SWEEPS_EXPECTED = 12 /* for the forecast of time */
};

static enum status too_many(size_t n, struct err *err)
{
    char rows[32];

    if (n <= ROWS_MOST)
        return ST_OK;
    text_count(rows, sizeof rows, n);
    err_named(err, ST_LIMIT, "classes-size",
              "a posterior of two classes takes n^3 operations a sweep: %s training rows are more "
              "than %d", rows, ROWS_MOST);
    err_hint(err, "fit solver=sparse inducing=100  |  split train=%d  |  likelihood gaussian  "
             "(regression on the class)", ROWS_MOST);
    return ST_LIMIT;
}

static enum status classes_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                struct fit_plan *p, char note[256], struct err *err)
{
    char mem[24], time[32];
    enum status rc = too_many(n, err);

    if (rc == ST_OK && !solver_is_free(o->solver) && strcmp(o->solver, exact_model.solver) != 0) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "solver=%s solves a regression; two classes take the exact kernel",
                       o->solver);
        err_hint(err, "fit solver=exact  |  likelihood gaussian  (regression on the class)");
    }
    if (rc == ST_OK && (o->samples > 0 || o->variance == VAR_SAMPLES || o->variance == VAR_NONE)) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "a probability needs the variance of its row, by the factor and not by "
                       "drawn ones");
        err_hint(err, "fit variance=auto samples=0");
    }
    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->Mv = n;
    p->bytes = 8.0 * (3.0 * (double)n * (double)n + (double)n * (double)d) +
               (double)threads * MODEL_BLAS_PACK;
    if (rc == ST_OK)
        rc = exact_allowed(n, 3, o->mem_limit, err);
    if (rc != ST_OK)
        return rc;
    mem_format(mem, sizeof mem, p->bytes);
    text_seconds(time, sizeof time,
                 4.0 * SWEEPS_EXPECTED * exact_seconds(n) / (double)(threads ? threads : 1));
    snprintf(note, 256, "classes: %s on %zu rows in %s, about %s", o->likelihood->method, n, mem,
             time);
    return ST_OK;
}

static size_t classes_size(const struct fit_opts *o, size_t n)
{
    (void)o;
    return n;
}

/* Memory of a posterior. */
struct room { double *K, *all; struct latent l; };

static void room_free(struct room *r)
{
    free(r->K);
    free(r->l.B);
    free(r->all);
}

/* K = amplitude^2 K1 in full, and space for the rest. */
static enum status room_make(struct room *r, const struct model *m, const struct tools *on,
                             struct err *err)
{
    const size_t n = m->M;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n, .d = m->d,
                                     .pool = on->pool };
    struct phase_ctl phase;

    *r = (struct room){ .K = mem_aligned(n * n, sizeof *r->K, "the kernel matrix", err) };
    r->l = (struct latent){ .pool = on->pool, .n = n, .K = r->K };
    r->l.B = r->K ? mem_aligned(n * n, sizeof *r->l.B, "the posterior", err) : NULL;
    r->all = r->l.B ? mem_aligned(n * n + 3 * n, sizeof *r->all, "the posterior", err) : NULL;
    if (r->all == NULL)
        return ST_NOMEM;
    r->l.V = r->all;
    r->l.tau = r->all + n * n;
    r->l.alpha = r->l.tau + n;
    const enum status rc =
        exact_matrix(&rows, 0.0, r->K, model_phase(&phase, on->ctl, PHASE_KERNEL), err);
    if (rc == ST_OK)
        blas_dscal(n * n, m->amplitude * m->amplitude, r->K);
    if (rc == ST_OK)
        blas_mirror(0, n, 0, n, r->K, n);
    return rc;
}

/* The factor of the model from that of B = I + S K S; it takes l->B. */
static void take_factor(struct model *m, struct latent *l)
{
    const size_t n = m->M;

    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            l->B[i + j * n] /= m->amplitude * sqrt(l->tau[i]);
    free(m->L);
    m->L = l->B;
    m->Mv = n;
    l->B = NULL;
}

static void report(struct fit *ft, const struct latent *l)
{
    struct fit_info *info = ft->info;

    snprintf(info->solver, sizeof info->solver, "%s", ft->o->likelihood->link);
    info->iterations = l->sweeps;
    info->why = l->converged ? OUT_RTOL : OUT_MAXIT;
    info->evidence = l->evidence;
    info->residual = info->true_residual = NAN;
    if (!l->converged)
        fit_warn(info, "sweeps",
                 "%s had not converged after %zu sweeps: the probabilities are approximate; a "
                 "smaller amplitude helps", ft->o->likelihood->method, l->sweeps);
    else if (l->held > 0)
        fit_warn(info, "held", "%zu of %zu rows are explained so well that they no longer count: "
                 "their site precision is held at %.0e", l->held, l->n, LATENT_TAU_LEAST);
}

static enum status classes_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    const size_t n = m->M;
    struct room r = { .K = NULL };
    const double start = fit_now();
    enum status rc = ST_OK;

    if (ft->src->row_scale != NULL) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "weights of rows belong to Gaussian noise; two classes have none");
        err_hint(err, "cols NAME role=skip");
        return rc;
    }
    m->likelihood = ft->o->likelihood;
    m->X = exact_inputs(ft->src, err);
    m->state = m->X ? mem_calloc(n, sizeof *m->state, "the sites", err) : NULL;
    double *weight = m->state ? mem_calloc(n, sizeof *weight, "the weights of rows", err) : NULL;
    rc = weight ? room_make(&r, m, &ft->on, err) : err_status(err);
    if (rc == ST_OK && ft->o->labels.balanced) {
        latent_balance(n, ft->y, weight);
        r.l.weight = weight;
    }
    if (rc == ST_OK) {
        r.l.y = ft->y;
        rc = m->likelihood->posterior(&r.l, ft->on.ctl, err);
    }
    if (rc == ST_OK) {
        report(ft, &r.l);
        m->nstate = n;
        memcpy(m->state, r.l.tau, n * sizeof *m->state);
        for (size_t i = 0; i < n; i++)
            m->w[i] = m->amplitude * m->amplitude * r.l.alpha[i];
        take_factor(m, &r.l);
    }
    room_free(&r);
    free(weight);
    ft->info->seconds.solve = fit_now() - start;
    return rc;
}

static void classes_end(struct fit *ft, enum status rc)
{
    (void)ft;
    (void)rc; /* nothing is held */
}

/* The factor once more, from the inputs and sites of the model. */
static enum status classes_variance(struct model *m, const struct source *train, size_t Mv,
                                    const struct tools *on, double *effdim, struct err *err)
{
    struct room r = { .K = NULL };

    (void)Mv;
    (void)train;
    if (effdim != NULL)
        *effdim = NAN;
    if (m->X == NULL || m->nstate != m->M)
        return err_set(err, ST_STATE, "the model keeps no sites: fit again");
    for (size_t i = 0; i < m->M; i++)
        if (!(m->state[i] >= LATENT_TAU_LEAST) || !isfinite(m->state[i]))
            return err_set(err, ST_FORMAT, "the sites of the model are damaged: fit again");
    enum status rc = room_make(&r, m, on, err);
    if (rc == ST_OK) {
        memcpy(r.l.tau, m->state, m->M * sizeof *m->state);
        rc = latent_factor(&r.l, r.l.alpha, on->ctl, err);
    }
    if (rc == ST_OK)
        take_factor(m, &r.l);
    room_free(&r);
    return rc;
}

/* Predictions of the latent function are those of the exact model. */

static bool classes_suits(const struct model *m, const struct source *src, struct err *err)
{
    return exact_model.suits(m, src, err);
}

static enum status classes_predict(struct prediction *p, struct err *err)
{
    return exact_model.predict(p, err);
}

/* Tuning: the evidence at a given amplitude with its gradient, or at the best one, of unweighted
 * rows.  That of weighted ones is the evidence of repeats, which agree with each other:
 * lengthscales would shrink to the distances of single rows. */

static struct tuning_sizes classes_sizes(const struct kernel *k, size_t n, size_t d,
                                         size_t features, size_t rows)
{
    const size_t all = rows ? (rows < n ? rows : n) : n < POLISH_ROWS ? n : POLISH_ROWS;
    const size_t low = all < SEARCH_ROWS ? all : SEARCH_ROWS;

    (void)k;
    (void)d;
    (void)features;
    return (struct tuning_sizes){ .rows = low, .cols = low, .all_cols = all, .all_rows = all };
}

static enum status classes_allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    const enum status rc = too_many(n, err);

    (void)features;
    return rc == ST_OK ? exact_allowed(n, 4, mem_limit, err) : rc;
}

static enum status classes_value(struct tuning_level *l, const struct nmll_ask *ask,
                                 const struct nmll_told *told, struct err *err)
{
    if (l->src->row_scale != NULL)
        return err_set(err, ST_UNSUPPORTED,
                       "weights of rows belong to Gaussian noise; two classes have none");
    return nmll_classes(l->task->likelihood, l->task->kernel, l->src, ask, told, l->task->on.pool,
                        l->task->on.ctl, err);
}

static void classes_close(struct tuning_level *l)
{
    (void)l; /* an evaluation frees its matrices */
}

static const struct model_tuning classes_tuning = {
    .joint = true,
    .in_double = true,
    .no_noise = true,
    .sizes = classes_sizes,
    .allowed = classes_allowed,
    .best = classes_value,
    .at = classes_value,
    .no_errors = "is the squared error of a regression; two classes are tuned by their evidence",
    .no_probes = "nmll=approx estimates the marginal likelihood of a regression; two classes have "
                 "their own evidence",
    .close = classes_close,
};

const struct model_ops classes_model = {
    .name = "classes",
    .words = "exact kernel, two classes",
    .cite = "expectation propagation and the Laplace approximation: Rasmussen & Williams 2006, "
            "chapter 3",
    .exact = true,
    .classes = true,
    .keeps_inputs = true,
    .keeps_rows = true,
    .size = classes_size,
    .plan = classes_plan,
    .fit = classes_fit,
    .end = classes_end,
    .variance = classes_variance,
    .suits = classes_suits,
    .predict = classes_predict,
    .tuning = &classes_tuning,
};
