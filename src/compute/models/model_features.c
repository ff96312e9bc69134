/* compute/models/model_features.c -- a model on random features: weights by a direct or an
 * iterative solver, then the Cholesky factor for the variances (Parkinson & Wang, equation 1).
 *
 * Everything is computed at amplitude 1 and noise ratio rho (share/doc/methods.md 6.1), where Z1 is
 * n x M and A1 = Z1'Z1 + rho I = L L' is M x M:
 *   A1 w = Z1'y,  mean = z'w,  var_f = amplitude^2 rho z'A1^-1 z = amplitude^2 rho |L^-1 z|^2.
 * The variance is a sum of squares and cannot become negative.  It is linear in rho times the
 * amplitude squared, which is the noise variance. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/models/functions.h"
#include "compute/models/tuning.h"
#include "compute/preconds/precond.h"
#include "compute/stats/ritz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When the effective dimension grows by more than this factor as the features are doubled, the
 * features limit it, and with it the variances.  On the golden set "big" it grows by 1.1 for RBF,
 * whose variances are 20 % too small, and by 1.4 for Matern 3/2, whose variances are 91 % too
 * small. */
static const double starved_growth = 1.2;

/* The direct solver. */

/* The true relative residual |b - A1 w| / |b| of each target and the worst of them into info, by a
 * pass over the data. A stop leaves them out and keeps the fit; any other failure ends it. */
static enum status look_at_residual(struct fit *ft, struct err *err)
{
    const size_t M = ft->m->M;
    double worst = 0.0, *Aw = mem_calloc(ft->t * M, sizeof *Aw, "the residual", err);
    enum status rc = Aw ? fop_pass(ft->z.f, ft->t, ft->m->w, Aw, ft->on.ctl, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < ft->t; j++) {
        double r2 = 0.0, b2 = 0.0;
        for (size_t i = j * M; i < (j + 1) * M; i++) {
            const double r = ft->b[i] - Aw[i] - ft->ratio * ft->m->w[i];
            r2 += r * r;
            b2 += ft->b[i] * ft->b[i];
        }
        const double rel = b2 > 0.0 ? sqrt(r2 / b2) : 0.0;
        ft->info->target[j].residual = ft->info->target[j].true_residual = rel;
        worst = rel > worst ? rel : worst;
    }
    free(Aw);
    if (rc == ST_OK)
        ft->info->residual = ft->info->true_residual = worst;
    if (rc != ST_CANCELLED)
        return rc;
    err_clear(err);
    return ST_OK;
}

/* The factor with M columns.  When rounding of single precision features makes the Gram matrix
 * indefinite at this noise, the map is opened again in double precision.  z is the operator last
 * used; the caller closes it. */
static enum status factor_at(struct fit *ft, size_t M, struct model_map *z, struct gram_factor *g,
                             const struct ctl *ctl, struct err *err)
{
    struct model *m = ft->m;
    struct fop_opts fo = {.pool = ft->on.pool,
                          .ctl = ft->on.ctl,
                          .precision = m->precision,
                          .row_scale = ft->src->row_scale};
    enum status rc = ST_OK;

    g->ratio = ft->ratio;
    if (z->f == NULL)
        rc = model_open(m, M, ft->src, &fo, ft->on.be, z, err);
    if (rc == ST_OK)
        rc = model_factor(z->f, ft->t, ft->y, g, ctl, err);
    if (rc != ST_OK || !(g->jitter > 0.0) || m->precision == PREC_DOUBLE)
        return rc;
    free(g->L);
    g->L = NULL;
    model_close(z);
    fo.precision = PREC_DOUBLE;
    rc = model_open(m, M, ft->src, &fo, ft->on.be, z, err);
    return rc == ST_OK ? model_factor(z->f, ft->t, ft->y, g, ctl, err) : rc;
}

/* Keeps the factor with M columns as that of the variances if those use M columns, too. */
static enum status keep_factor(struct fit *ft, size_t M, struct gram_factor *g,
                               const struct ctl *ctl, struct err *err)
{
    if (ft->plan.Mv != M)
        return ST_OK;
    ft->m->L = g->L;
    ft->m->Mv = M;
    g->L = NULL;
    return model_effdim(ft->on.pool, M, ft->m->L, ft->ratio + g->jitter,
                        &ft->info->effective_dimension, NULL, ctl, err);
}

/* The functions of the fit by its factor L. */
static enum status direct_functions(struct fit *ft, const double *L, struct err *err)
{
    struct model *m = ft->m;
    const size_t M = m->M;
    enum status rc = functions_sides_features(m, ft->z.f, ft->ratio, m->a, ft->on.ctl, err);

    if (rc == ST_OK)
        rc = blas_dtrsm(ft->on.pool, false, M, m->S, L, M, m->a, M, err);
    return rc == ST_OK ? blas_dtrsm(ft->on.pool, true, M, m->S, L, M, m->a, M, err) : rc;
}

/* The factor with all columns at the ratio in g, from which the search moves it where `look`.  A
 * search by some of the columns needs none before; where rounding leaves none at its result, there
 * is one first. */
static enum status factor_all(struct fit *ft, bool look, struct gram_factor *g, struct err *err)
{
    const size_t M = ft->m->M;
    struct phase_ctl phase;
    const struct ctl *ctl = model_phase(&phase, ft->on.ctl, PHASE_GRAM);
    const bool later = look && model_refine_thins(&ft->z);
    enum status rc = later ? model_gram(ft->z.f, ft->t, ft->y, g, ctl, err)
                           : factor_at(ft, M, &ft->z, g, ctl, err);

    if (rc == ST_OK && look)
        rc = model_refine_factor(&ft->z, ft->t, ft->y, g, ft->on.ctl, err);
    if (!later || rc != ST_NOT_PD)
        return rc;
    free(g->L);
    g->L = NULL;
    err_clear(err);
    rc = factor_at(ft, M, &ft->z, g, ctl, err);
    return rc == ST_OK ? model_refine_factor(&ft->z, ft->t, ft->y, g, ft->on.ctl, err) : rc;
}

/* w = L'^-1 L^-1 Z'y: one Cholesky factor, which is backward stable, and two triangular solves. */
static enum status fit_direct(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const size_t M = m->M;
    double t = fit_now();
    struct gram_factor g = {.b = ft->b,
                            .diag = mem_calloc(M, sizeof *g.diag, "the Gram's diagonal", err)};
    const bool look = ft->free_scale && !ft->o->keep_ratio;
    const bool rows = look && model_refine_by_rows(ft->src->n, M);
    enum status rc = g.diag ? ST_OK : ST_NOMEM;

    info->seconds.features = 0.0; /* made and used up inside the Gram */
    if (rc == ST_OK && rows)
        rc = model_refine_rows(ft->z.f, ft->t, ft->y, &ft->ratio, ft->on.ctl, err);
    g.ratio = ft->ratio;
    if (rc == ST_OK)
        rc = factor_all(ft, look && !rows, &g, err);
    if (rc == ST_OK)
        ft->ratio = g.ratio;
    free(g.diag);
    if (rc == ST_OK) {
        memcpy(m->w, ft->b, ft->t * M * sizeof *m->w);
        rc = blas_dtrsm(ft->on.pool, false, M, ft->t, g.L, M, m->w, M, err);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm(ft->on.pool, true, M, ft->t, g.L, M, m->w, M, err);
    if (rc == ST_OK && m->S)
        rc = direct_functions(ft, g.L, err);
    if (rc == ST_OK)
        rc = look_at_residual(ft, err);
    info->seconds.solve = fit_now() - t;
    info->why = OUT_DIRECT;
    info->rank = 0;
    t = fit_now();
    if (rc == ST_OK)
        rc = keep_factor(ft, M, &g, ft->on.ctl, err);
    free(g.L);
    info->seconds.variance = fit_now() - t;
    if (g.jitter > 0.0)
        fit_warn(info, "indefinite",
                 "rounding made the Gram matrix indefinite at noise ratio %.2g: %.2g was added; "
                 "precision=double or more noise avoids it",
                 ft->ratio, g.jitter);
    return rc;
}

/* The iterative solvers. */

/* Moves the noise ratio to the one that suits the features (model_refine.c): with few rows judged
 * at all of them, otherwise at as many as the automatic variance has.  If the variance was asked
 * for at that number, its factor is kept. */
static enum status refine_ratio(struct fit *ft, struct err *err)
{
    if (model_refine_by_rows(ft->src->n, ft->m->M))
        return model_refine_rows(ft->z.f, ft->t, ft->y, &ft->ratio, ft->on.ctl, err);
    const size_t M = ft->m->M < AUTO_VARIANCE ? ft->m->M : AUTO_VARIANCE;
    struct model_map z = { .f = NULL };
    struct phase_ctl phase;
    const struct ctl *ctl = model_phase(&phase, ft->on.ctl, PHASE_VARIANCE);
    const double t = fit_now();
    struct gram_factor g = { .diag = mem_calloc((1 + ft->t) * M, sizeof *g.diag, "Z'y", err) };

    g.b = g.diag ? g.diag + M : NULL;
    enum status rc = g.b ? factor_at(ft, M, &z, &g, ctl, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = model_refine_factor(&z, ft->t, ft->y, &g, ctl, err);
    if (rc == ST_OK)
        ft->ratio = g.ratio;
    if (rc == ST_OK)
        rc = keep_factor(ft, M, &g, ctl, err);
    free(g.L);
    free(g.diag);
    model_close(&z);
    ft->info->seconds.variance += fit_now() - t;
    return rc;
}

/* *rank: the rank asked for, or the one with the least predicted time (model_rank.c). */
static enum status choose_rank(struct fit *ft, const struct precond_ops *pre, size_t *rank,
                               struct err *err)
{
    struct fit_info *info = ft->info;
    struct phase_ctl phase;
    struct rank_choice c;

    *rank = ft->plan.rank;
    if (ft->o->rank == 0 && pre->rank != NULL) {
        *rank = pre->rank(ft->o->features);
        return ST_OK;
    }
    if (ft->o->rank != 0 || ft->o->features < 4 * RANK_LEAST)
        return ST_OK;
    const struct rank_question q = { .d = ft->src->d, .o = ft->o, .plan = &ft->plan,
                                     .ratio = ft->ratio, .solves = 1 };
    const enum status rc = model_rank_choose(ft->z.f, ft->y, &q, &c,
                                             model_phase(&phase, ft->on.ctl, PHASE_PRECOND), err);
    if (rc != ST_OK)
        return rc;
    *rank = c.at[c.best].rank;
    info->rank_chosen = true;
    info->rank_iterations = c.at[c.best].iterations;
    info->rank_seconds = c.at[c.best].seconds;
    info->rank_rows = c.rows;
    info->nguess = c.n;
    memcpy(info->guess, c.at, sizeof info->guess);
    info->peak_bytes = (size_t)model_plan_bytes(ft->src->n, ft->src->d, ft->o, &ft->plan, *rank);
    return ST_OK;
}

/* Builds the preconditioner for A1 at the noise ratio of the fit, with the chosen rank. */
static enum status build_precond(struct fit *ft, const struct solver_ops *solver,
                                 struct precond **pre, struct err *err)
{
    const struct precond_ops *ops = precond_find(ft->o->precond, err);
    struct precond_opts po = { .seed = ft->o->seed, .lam2 = ft->ratio };
    struct phase_ctl phase;
    enum status rc = ops ? ST_OK : ST_NOT_FOUND;

    if (rc == ST_OK && ops->ranked) {
        rc = choose_rank(ft, ops, &po.rank, err);
        if (po.rank == 0)
            ops = &precond_none;
    }
    if (rc == ST_OK)
        rc = ops->build(SOLVE_RIDGE(ft->z.f, ft->ratio), &po,
                        model_phase(&phase, ft->on.ctl, PHASE_PRECOND), pre, err);
    if (rc != ST_OK)
        return rc;
    precond_set_noise(*pre, ft->ratio);
    if (!solver->krylov) /* the prediction counts iterations of conjugate gradients */
        ft->info->rank_iterations = NAN;
    ft->info->rank = precond_rank(*pre);
    ft->info->ratio = precond_ratio(*pre);
    return ST_OK;
}

/* Solves A1 w = b for all targets.  When features rounded to float16 keep it from the tolerance,
 * because their rounding outweighs the noise, it continues from the last iterate with features that
 * are computed anew in each pass. */
static enum status fit_solve(struct fit *ft, const struct solver_ops *solver, struct solve_opts *so,
                             const struct fit_block *k, struct solve_info *each, struct err *err)
{
    double *start = NULL, passes = 0.0;
    size_t before = 0;
    bool stuck = false;
    enum status rc = solver->solve(SOLVE_RIDGE(ft->z.f, ft->ratio), k->k, k->B, k->X, so,
                                   ft->on.ctl, each, err);

    for (size_t j = 0; rc == ST_OK && j < k->k; j++) {
        stuck = stuck || each[j].float_limit || each[j].why == OUT_BREAKDOWN;
        before = each[j].iterations > before ? each[j].iterations : before;
        passes = fmax(passes, each[j].passes);
    }
    if (rc != ST_OK || !stuck || !fop_half(ft->z.f) || (so->maxit && before >= so->maxit))
        return rc;
    start = mem_calloc(k->k, ft->m->M * sizeof *start, "the weights", err);
    if (start == NULL)
        return ST_NOMEM;
    memcpy(start, k->X, k->k * ft->m->M * sizeof *start);
    fop_unhalve(ft->z.f);
    so->x0 = start;
    so->maxit = so->maxit ? so->maxit - before : 0;
    for (size_t j = 0; j < k->k; j++)
        solve_info_free(&each[j]);
    rc = solver->solve(SOLVE_RIDGE(ft->z.f, ft->ratio), k->k, k->B, k->X, so, ft->on.ctl, each,
                       err);
    for (size_t j = 0; rc == ST_OK && j < k->k; j++) {
        each[j].iterations += before;
        each[j].passes += passes;
    }
    free(start);
    stuck = false;
    for (size_t j = 0; rc == ST_OK && j < k->k; j++)
        stuck = stuck || each[j].float_limit;
    if (!stuck) /* otherwise float32 did no better, and float16 was not the reason */
        fit_warn(ft->info, "float16",
             "features in float16 are too coarse for this little noise: after %zu "
             "iterations they were made anew (store=float32, plan=regenerate)",
             before);
    return rc;
}

/* Sets so->x0 to the weights of the given start, or to its projection (own, the caller frees). */
static enum status begin(struct fit *ft, const struct precond *pre, const struct fit_block *k,
                         double *own[2], struct solve_opts *so, struct err *err)
{
    const struct model *s = ft->o->start;
    struct phase_ctl phase;
    const struct tools on = { ft->on.be, ft->on.pool,
                              model_phase(&phase, ft->on.ctl, PHASE_START) };
    enum status rc = ST_OK;

    ft->info->projected = !model_start_same(s, ft->m);
    if (ft->info->projected)
        rc = model_start_project(s, ft->src, ft->z.f, pre, &on, &own[0], err);
    if (rc != ST_OK)
        return rc;
    so->x0 = fit_block_start(ft, k, ft->info->projected ? own[0] : s->w, NULL, &own[1], err);
    return so->x0 ? ST_OK : ST_NOMEM;
}

/* The factor of the variances from the matrix on which the solver has iterated, if they have its
 * columns.  After a stop there is none, which fit_variance tells. */
static enum status factor_formed(struct fit *ft, struct err *err)
{
    const double t = fit_now();
    struct phase_ctl phase;
    const struct ctl *ctl = model_phase(&phase, ft->on.ctl, PHASE_VARIANCE);
    struct gram_factor g = { .ratio = ft->ratio };

    if (!ft->plan.formed || ft->plan.Mv != ft->m->M || ft->m->L || ft->info->why == OUT_CANCELLED)
        return ST_OK;
    enum status rc = model_factor(ft->z.f, 1, NULL, &g, ctl, err);
    if (rc == ST_OK && (g.jitter == 0.0 || ft->m->precision == PREC_DOUBLE))
        rc = keep_factor(ft, ft->m->M, &g, ctl, err);
    free(g.L);
    ft->info->seconds.variance += fit_now() - t;
    if (rc != ST_CANCELLED)
        return rc;
    err_clear(err);
    return ST_OK;
}

/* The iterative fit: Z'y, the noise ratio, Z'Z if the plan forms it, the preconditioner, the
 * solve; then the figures of the solve and the condition numbers (share/doc/methods.md 10.1,
 * 8.8). */
static enum status fit_iterative(struct fit *ft, const struct solver_ops *solver, struct err *err)
{
    struct fit_info *info = ft->info;
    struct precond *pre = NULL;
    struct phase_ctl phase;
    struct solve_opts so = { .rtol = ft->o->rtol, .maxit = ft->o->maxit, .seed = ft->o->seed,
                             .params = ft->o->solver_params };
    double t = fit_now(), *x0[2] = { NULL };
    struct fit_block k = { 0 };
    struct solve_info *each = mem_calloc(ft->t + ft->m->S, sizeof *each, "the targets' solves",
                                         err);
    enum status rc = each ? fop_ztv(ft->z.f, ft->t, ft->y, ft->b,
                                    model_phase(&phase, ft->on.ctl, PHASE_FEATURES), err)
                          : ST_NOMEM;

    info->seconds.features = fit_now() - t;
    if (rc == ST_OK && ft->free_scale && !ft->o->keep_ratio)
        rc = refine_ratio(ft, err);
    t = fit_now();
    if (rc == ST_OK && ft->plan.formed)
        rc = fop_form(ft->z.f, model_phase(&phase, ft->on.ctl, PHASE_GRAM), err);
    info->seconds.features += fit_now() - t;
    t = fit_now();
    if (rc == ST_OK && solver->uses_precond)
        rc = build_precond(ft, solver, &pre, err);
    info->seconds.precond = fit_now() - t;
    t = fit_now();
    so.pre = pre;
    if (rc == ST_OK)
        rc = fit_block_new(ft, ft->b, &k, err);
    if (rc == ST_OK && ft->m->S)
        rc = functions_sides_features(ft->m, ft->z.f, ft->ratio, fit_block_sides(ft, &k),
                                      ft->on.ctl, err);
    if (rc == ST_OK && ft->o->start != NULL)
        rc = begin(ft, pre, &k, x0, &so, err);
    if (rc == ST_OK)
        rc = fit_solve(ft, solver, &so, &k, each, err);
    fit_block_end(ft, &k, each, rc);
    free(x0[0]);
    free(x0[1]);
    info->seconds.solve = fit_now() - t;
    if (pre != NULL && precond_eigenvalues(pre) != NULL)
        info->condition_plain = (precond_eigenvalues(pre)[0] + ft->ratio) / ft->ratio;
    if (pre != NULL)
        snprintf(info->precond, sizeof info->precond, "%s", precond_row(pre)->name);
    const bool plain = pre == NULL || precond_row(pre)->identity;
    precond_free(pre);
    if (rc == ST_OK)
        fit_gather(ft, each);
    for (size_t j = 0; each && j < ft->t + ft->m->S; j++)
        solve_info_free(&each[j]);
    free(each);
    if (rc != ST_OK)
        return rc;
    info->warm = ft->o->start != NULL;
    if (info->projected)
        info->passes += 1.0;
    rc = ritz_condition(ft->trace, &info->condition, &info->ritz_min, &info->ritz_max, err);
    if (rc != ST_OK)
        return rc;
    if (plain)
        info->condition_plain = info->condition;
    if (info->float_limit)
        fit_warn(info, "float-limit", "the true residual stopped at %.2g: %s", info->true_residual,
             ft->o->precision == PREC_DOUBLE
                 ? "double precision can go no lower; a larger noise can"
                 : "single precision features allow no less; precision=double does");
    return factor_formed(ft, err);
}

/* The functions of the registry row. */

static enum status features_fit(struct fit *ft, struct err *err)
{
    const bool direct = ft->plan.plan == PLAN_DIRECT && !ft->plan.formed;
    const struct solver_ops *solver = direct                          ? &direct_solver
                                      : solver_is_free(ft->o->solver) ? solver_usual()
                                                                      : solver_find(ft->o->solver,
                                                                                    err);
    const struct fop_opts fo = {.pool = ft->on.pool,
                                .ctl = ft->on.ctl,
                                .precision = ft->m->precision,
                                .store = ft->plan.plan == PLAN_STORE && !ft->plan.bits,
                                .half = ft->plan.half,
                                .row_scale = ft->src->row_scale};

    if (solver == NULL)
        return ST_NOT_FOUND;
    snprintf(ft->info->solver, sizeof ft->info->solver, "%s", solver->name);
    const enum status rc = model_open(ft->m, ft->m->M, ft->src, &fo, ft->on.be, &ft->z, err);
    if (rc != ST_OK)
        return rc;
    return direct ? fit_direct(ft, err) : fit_iterative(ft, solver, err);
}

/* For each target r = y - Z1 w (n), rr = r'r and c = y' (K1 + ratio I)^-1 y = (r'r + ratio w'w) /
 * ratio (share/doc/methods.md 6.3), a sum of positive terms.  Its right-hand side is the minimum
 * over w, so that an inexact w makes c, and with it the amplitude, slightly too large and never too
 * small. */
static enum status features_moments(struct fit *ft, double *rr, double *c, struct err *err)
{
    const size_t n = ft->src->n, M = ft->m->M;
    double *r = mem_calloc(ft->t * n, sizeof *r, "the residuals", err);
    const enum status rc = r ? fop_zp(ft->z.f, ft->t, ft->m->w, r, NULL, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < ft->t; j++) {
        const double *w = ft->m->w + j * M, *y = ft->y + j * n;
        rr[j] = 0.0;
        for (size_t i = 0; i < n; i++)
            rr[j] += (y[i] - r[j * n + i]) * (y[i] - r[j * n + i]);
        for (size_t i = 0; i < n; i++)
            r[j * n + i] = y[i] - r[j * n + i];
        c[j] = rr[j] / ft->ratio + blas_ddot(M, w, w);
    }
    ft->residual = r;
    return rc;
}

static void features_end(struct fit *ft, enum status rc)
{
    struct err why;

    ft->info->not_there = rc == ST_OK && fop_declined(ft->z.f);
    const bool ranks = ft->on.be && ft->on.be->spent; /* their loss is told for any job */
    if (rc == ST_OK && !ranks && fop_lost(ft->z.f, &why))
        fit_warn(ft->info, "device-lost", "%.180s; the processor went on", why.msg);
    model_close(&ft->z);
}

static size_t features_size(const struct fit_opts *o, size_t n)
{
    (void)n;
    return o->features;
}

/* Warns when the variances are limited by the number of features.  It is a diagnosis only: if it
 * fails, the fit does not. */
static void features_check(struct fit *ft)
{
    const struct model *m = ft->m;
    const double all = ft->info->effective_dimension;
    double half;

    if (m->L == NULL || m->Mv < 64)
        return;
    if (!kernel_is_radial(&m->kernel)) /* half of the columns is not a map of the same kernel */
        return;
    if (model_effdim_half(ft->on.pool, m->Mv, m->L, ft->ratio, &half, ft->on.ctl, NULL) != ST_OK)
        return;
    if (all > starved_growth * half)
        fit_warn(
            ft->info, "starved",
            "the effective dimension is %.0f with %zu features and would be "
            "%.0f with half of them: it still grows, so the function's own variances (sd_latent) "
            "are too small; more features for the variance, or solver=exact, help",
            all, m->Mv, half);
}

/* Variances. */

/* SHAPE unless the number of inputs agrees.  Features of sequences do not depend on the length of
 * the longest one. */
static bool features_suits(const struct model *m, const struct source *src, struct err *err)
{
    if (src->d == m->d || kernel_reads_windows(&m->kernel))
        return true;
    err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, src->d);
    return false;
}

/* The Cholesky factor of Zv'Zv + ratio I with Mv columns (0: the automatic number) from the
 * training rows. */
static enum status features_variance(struct model *m, const struct source *train, size_t Mv,
                                     const struct tools *on, double *effdim, struct err *err)
{
    struct fop_opts fo = {
        .pool = on->pool, .ctl = on->ctl, .precision = m->precision, .row_scale = train->row_scale};
    struct model_map z = { .f = NULL };
    struct gram_factor g = { .ratio = model_ratio(m->amplitude, m->noise) };

    if (Mv == 0)
        Mv = m->M < AUTO_VARIANCE ? m->M : AUTO_VARIANCE;
    if (!features_suits(m, train, err))
        return ST_SHAPE;
    enum status rc = model_open(m, Mv, train, &fo, on->be, &z, err);
    if (rc == ST_OK)
        rc = model_factor(z.f, 1, NULL, &g, on->ctl, err);
    if (rc == ST_OK && g.jitter > 0.0 && m->precision == PREC_FLOAT) { /* as in factor_at */
        model_close(&z);
        free(g.L);
        g.L = NULL;
        fo.precision = PREC_DOUBLE;
        rc = model_open(m, Mv, train, &fo, on->be, &z, err);
        if (rc == ST_OK)
            rc = model_factor(z.f, 1, NULL, &g, on->ctl, err);
    }
    if (rc == ST_OK && effdim != NULL)
        rc = model_effdim(on->pool, Mv, g.L, g.ratio + g.jitter, effdim, NULL, on->ctl, err);
    model_close(&z);
    if (rc != ST_OK) {
        free(g.L);
        return rc;
    }
    free(m->L);
    m->L = g.L;
    m->Mv = Mv;
    return ST_OK;
}

/* Predictions. */

/* var_f = noise^2 |L^-1 z|^2, because amplitude^2 ratio = noise^2 (share/doc/methods.md 6.1); the
 * features have the same rounding as those in the factor. */
static enum status features_variances(const struct prediction *p, struct fop *f, struct err *err)
{
    const struct fop_factors of = { p->m->L, 1, p->m->precision };
    double *q = p->varf;
    const enum status rc = fop_forms(f, &of, q, p->on.ctl, err);

    for (size_t j = p->m->t; rc == ST_OK && j-- > 0;)
        for (size_t i = 0; i < p->n; i++)
            p->varf[j * p->n + i] = p->m->noises[j] * p->m->noises[j] * q[i];
    return rc;
}

/* mean = Z w by one pass; then the variances tile by tile, with a map of Mv columns if that
 * differs from M. */
static enum status features_predict(struct prediction *p, struct err *err)
{
    const struct model *m = p->m;
    const struct fop_opts fo = {.pool = p->on.pool, .ctl = p->on.ctl, .precision = m->precision};
    struct model_map z = { .f = NULL };
    enum status rc = model_open(m, m->M, p->src, &fo, p->on.be, &z, err);

    if (rc == ST_OK)
        rc = fop_zp(z.f, m->t, m->w, p->mean, p->on.ctl, err);
    if (rc == ST_OK && p->varf != NULL && m->L == NULL) {
        model_close(&z);
        return functions_spread(m, p->src, p->varf, &p->on, err);
    }
    if (rc == ST_OK && p->varf != NULL && m->Mv != m->M) {
        model_close(&z);
        rc = model_open(m, m->Mv, p->src, &fo, p->on.be, &z, err);
    }
    if (rc == ST_OK && p->varf != NULL)
        rc = features_variances(p, z.f, err);
    model_close(&z);
    return rc;
}

const struct model_ops features_model = {
    .name = "features",
    .words = "random features",
    .cite = "random features, preconditioned conjugate gradients and tuning after "
            "Parkinson & Wang (xGPR)",
    .draws = true,
    .size = features_size,
    .plan = model_plan_features,
    .fit = features_fit,
    .moments = features_moments,
    .end = features_end,
    .check = features_check,
    .left_out = model_left_out_features,
    .variance = features_variance,
    .suits = features_suits,
    .predict = features_predict,
    .average = model_average_features,
    .functions = functions_features,
    .solved = functions_features_solved,
    .tuning = &features_tuning,
};
