/* compute/models/model_fit.c -- fitting: the weights by a direct or an iterative solver, then the
 * factor behind the variances.  Everything at amplitude 1: A1 = Z1'Z1 + ratio I, A1 w = Z1'y. */
#include "compute/models/model.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/model_impl.h"
#include "compute/preconds/precond.h"
#include "compute/stats/ritz.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An effective dimension that grows by this when the features are doubled is limited by them, and
 * with it the variances (B.6; on golden "big": RBF grows by 1.1, its variances are 20 % short;
 * Matern 3/2 by 1.4, 91 % short). */
static const double starved_growth = 1.2;

struct fit {
    const struct fit_opts *o;
    const struct source *src;
    const double *y;
    const struct backend_ops *be;
    struct pool *pool;
    const struct ctl *ctl;
    struct fit_plan plan;
    struct model *m;
    struct fit_info *info;
    struct solve_info *trace;
    struct featmap *map;
    struct fop *f;
    size_t t;               /* targets: vectors in y, b and the model's weights */
    double ratio, *b;       /* ratio: of noise to amplitude, squared, in force */
    double weights;         /* sum of the rows' weights */
    bool free_scale;        /* amplitude and noise may follow the data */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void warn(struct fit_info *info, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void warn(struct fit_info *info, const char *name, const char *fmt, ...)
{
    va_list ap;

    if (info->warning[0] != '\0') /* the first one matters most */
        return;
    snprintf(info->warning_name, sizeof info->warning_name, "%s", name);
    va_start(ap, fmt);
    vsnprintf(info->warning, sizeof info->warning, fmt, ap);
    va_end(ap);
}

static enum status check(const struct source *src, const double *y, const struct fit_opts *o,
                         struct err *err)
{
    const size_t targets = o->targets ? o->targets : 1;

    if (targets > TARGETS_MOST)
        return err_set(err, ST_RANGE, "%zu targets; at most %d are possible", targets,
                       TARGETS_MOST);
    for (size_t j = 0; j < targets; j++, y += src->n) {
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < src->n; i++) {
            if (!isfinite(y[i]))
                return err_set(err, ST_RANGE, "target of training row %zu is %g", i + 1, y[i]);
            lo = fmin(lo, y[i]);
            hi = fmax(hi, y[i]);
        }
        if (src->n < 2 || !(hi > lo))
            return err_named(err, ST_RANGE, "constant-target",
                             "the target is constant on the %zu training rows: nothing to learn",
                             src->n);
    }
    if (!(o->amplitude > 0.0) || !(o->noise > 0.0) || !isfinite(o->amplitude) ||
        !isfinite(o->noise))
        return err_set(err, ST_RANGE, "amplitude=%g and noise=%g must be positive", o->amplitude,
                       o->noise);
    for (size_t i = 0; i < kernel_nhp(&o->kernel); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam hp;
        kernel_hp_info(&o->kernel, i, name, &hp);
        if (!(o->hp[i] > 0.0) || !isfinite(o->hp[i]))
            return err_set(err, ST_RANGE, "%s=%g must be positive", name, o->hp[i]);
    }
    return ST_OK;
}

/* Weights of rows: targets multiplied as the rows of Z are.  *own: the caller frees it. */
static enum status weigh(struct fit *ft, double **own, struct err *err)
{
    const size_t n = ft->src->n;
    const double *s = ft->src->row_scale;

    ft->weights = (double)n;
    if (s == NULL)
        return ST_OK;
    *own = mem_calloc(ft->t * n, sizeof **own, "the weighted targets", err);
    if (*own == NULL)
        return ST_NOMEM;
    ft->weights = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(s[i] > 0.0) || !isfinite(s[i]))
            return err_set(err, ST_RANGE, "the weight of training row %zu is %g", i + 1,
                           s[i] * s[i]);
        for (size_t j = 0; j < ft->t; j++)
            (*own)[j * n + i] = s[i] * ft->y[j * n + i];
        ft->weights += s[i] * s[i];
    }
    ft->y = *own;
    return ST_OK;
}

static enum status fit_new(struct fit *ft, struct err *err)
{
    struct model *m = mem_calloc(1, sizeof *m, "the model", err);

    if (m == NULL)
        return ST_NOMEM;
    m->refs = 1;
    m->kind = ft->plan.exact ? MODEL_EXACT : MODEL_FEATURES;
    m->kernel = ft->o->kernel;
    memcpy(m->hp, ft->o->hp, sizeof m->hp);
    m->amplitude = ft->o->amplitude;
    m->noise = ft->o->noise;
    m->t = ft->t;
    for (size_t j = 0; j < m->t; j++) {
        m->amplitudes[j] = m->amplitude;
        m->noises[j] = m->noise;
    }
    m->seed = ft->o->seed;
    m->precision = ft->o->precision;
    m->d = ft->src->d;
    m->M = ft->plan.exact ? ft->src->n : ft->o->features;
    ft->m = m;
    m->w = mem_calloc(m->t * m->M, sizeof *m->w, "the weights", err);
    ft->b = m->w && !ft->plan.exact ? mem_calloc(m->t * m->M, sizeof *ft->b, "Z'y", err) : NULL;
    return m->w && (ft->b || ft->plan.exact) ? ST_OK : ST_NOMEM;
}

/* Residuals on the training rows; then the likeliest amplitude of each target at the ratio in
 * force, amplitude^2 = y' (K1 + ratio I)^-1 y / n = (r'r + ratio w'w) / (n ratio),   r = y - Z1 w,
 * which with an inexact w errs to the safe side.  The weights do not depend on it. */
static enum status fit_scale(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const size_t n = ft->src->n;
    double all = 0.0, *r = mem_calloc(ft->t * n, sizeof *r, "the residuals", err);
    enum status rc = r ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && !ft->plan.exact)
        rc = fop_zp(ft->f, ft->t, m->w, r, NULL, err);
    for (size_t j = 0; rc == ST_OK && j < ft->t; j++) {
        const double *w = m->w + j * m->M, *y = ft->y + j * n;
        double rr = 0.0, c;
        if (ft->plan.exact) { /* r = ratio alpha */
            rr = ft->ratio * ft->ratio * blas_ddot(n, w, w);
            c = blas_ddot(n, y, w);
        } else {
            for (size_t i = 0; i < n; i++)
                rr += (y[i] - r[j * n + i]) * (y[i] - r[j * n + i]);
            c = rr / ft->ratio + blas_ddot(m->M, w, w);
        }
        all += rr;
        const double amplitude = sqrt(c / (double)n);
        if (ft->free_scale && isfinite(amplitude) && amplitude > 0.0) {
            m->amplitudes[j] = amplitude;
            m->noises[j] = amplitude * sqrt(ft->ratio);
        }
    }
    free(r);
    if (rc != ST_OK)
        return rc;
    m->amplitude = m->amplitudes[0];
    m->noise = m->noises[0];
    info->train_rmse = sqrt(all / (ft->weights * (double)ft->t));
    info->scale = m->amplitude / ft->o->amplitude;
    info->amplitude = m->amplitude;
    info->noise = m->noise;
    return ST_OK;
}

/* Exact. */

static enum status fit_exact(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const size_t n = m->M;
    struct phase_ctl phase;
    double t = now(), jitter = 0.0;

    m->X = exact_inputs(ft->src, err);
    double *K = m->X ? mem_aligned(n * n, sizeof *K, "the kernel matrix", err) : NULL;
    if (K == NULL)
        return ST_NOMEM;
    enum status rc =
        exact_factor(&(struct exact_rows){.k = &m->kernel,
                                          .hp = m->hp,
                                          .X = m->X,
                                          .n = n,
                                          .d = m->d,
                                          .row_scale = ft->src->row_scale,
                                          .pool = ft->pool},
                     ft->ratio, K, &jitter, model_phase(&phase, ft->ctl, PHASE_SOLVE), err);
    if (rc == ST_OK) {
        memcpy(m->w, ft->y, ft->t * n * sizeof *m->w);
        rc = blas_dtrsm(ft->pool, false, n, ft->t, K, n, m->w, n, err);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm(ft->pool, true, n, ft->t, K, n, m->w, n, err);
    info->seconds.solve = now() - t;
    t = now();
    if (rc == ST_OK && ft->plan.Mv > 0) {
        rc = model_effdim(ft->pool, n, K, ft->ratio + jitter, &info->effective_dimension, ft->ctl,
                          err);
        m->L = K;
        m->Mv = n;
        K = NULL;
    }
    free(K);
    info->seconds.variance = now() - t;
    info->why = OUT_DIRECT;
    if (rc == ST_OK)
        rc = fit_scale(ft, err);
    if (rc == ST_OK)
        model_exact_unscale(n, ft->t, ft->src->row_scale, m->L, m->w);
    info->residual = info->true_residual = NAN;
    if (jitter > 0.0)
        warn(info, "jitter", "the kernel matrix is singular in double precision: %.2g was added "
             "to its diagonal (noise variance over amplitude squared is %.2g)", jitter, ft->ratio);
    return rc;
}

/* Of all targets: the worst outcome and residual, the most iterations.  The one that took these is
 * the trace that stays. */
static void gather(struct fit *ft, struct solve_info *each)
{
    struct fit_info *info = ft->info;
    size_t keep = 0;

    for (size_t j = 0; j < ft->t; j++) {
        const struct solve_info *in = &each[j];
        if (in->iterations > each[keep].iterations)
            keep = j;
        info->target[j].iterations = (double)in->iterations;
        info->target[j].residual = in->residual;
        info->target[j].true_residual = in->true_residual;
        if (j == 0 || in->why < info->why) /* what went wrong is below 0 */
            info->why = in->why;
        if (j == 0 || !(in->residual <= info->residual))
            info->residual = in->residual;
        if (j == 0 || !(in->true_residual <= info->true_residual))
            info->true_residual = in->true_residual;
        if (j == 0 || !(in->start <= info->start_residual))
            info->start_residual = in->start;
        info->float_limit |= in->float_limit;
        info->passes = fmax(info->passes, in->passes);
        info->halved = in->halved > info->halved ? in->halved : info->halved;
    }
    *ft->trace = each[keep];
    each[keep] = (struct solve_info){ .why = OUT_RUNNING };
    info->iterations = ft->trace->iterations;
}

/* S K1 S + ratio I as a product. */
struct exact_system {
    struct exact_op *op;
    const double *row_scale;
    double ratio;
    size_t n;
    double *temp; /* of as many vectors as there are targets */
};

static enum status exact_times(void *ctx, size_t k, const double *X, double *AX,
                               const struct ctl *ctl, struct err *err)
{
    const struct exact_system *s = ctx;
    const double *from = X;

    for (size_t i = 0; s->row_scale && i < k * s->n; i++)
        s->temp[i] = s->row_scale[i % s->n] * X[i];
    if (s->row_scale)
        from = s->temp;
    const enum status rc = exact_op_apply(s->op, s->n, NULL, k, from, AX, ctl, err);
    for (size_t i = 0; rc == ST_OK && i < k * s->n; i++)
        AX[i] = (s->row_scale ? s->row_scale[i % s->n] : 1.0) * AX[i] + s->ratio * X[i];
    return rc;
}

/* The weights of an exact GP on more rows than a matrix is made of. */
static enum status fit_products(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    struct phase_ctl phase;
    struct exact_system s = { .row_scale = ft->src->row_scale, .ratio = ft->ratio, .n = m->M };
    struct linop A = { .n = m->M, .apply = exact_times, .ctx = &s, .pool = ft->pool };
    const struct model *start = ft->o->start;
    const bool same = start && !s.row_scale && model_start_same(start, m);
    const struct solve_opts so = {
        .rtol = ft->o->rtol, .maxit = ft->o->maxit, .x0 = same ? start->w : NULL};
    const double t = now();
    struct solve_info *each = mem_calloc(ft->t, sizeof *each, "the targets' solves", err);

    m->X = each ? exact_inputs(ft->src, err) : NULL;
    s.temp = m->X ? mem_aligned(ft->t * s.n, sizeof *s.temp, "the targets", err) : NULL;
    enum status rc = s.temp ? exact_op_open(ft->be,
                                            &(struct exact_rows){.k = &m->kernel,
                                                                 .hp = m->hp,
                                                                 .X = m->X,
                                                                 .n = s.n,
                                                                 .d = m->d,
                                                                 .pool = ft->pool},
                                            &s.op, err)
                            : ST_NOMEM;
    if (rc == ST_OK)
        rc =
            cg_solve(&A, ft->t, ft->y, m->w, &so, model_phase(&phase, ft->ctl, PHASE_SOLVE), each, err);
    info->seconds.solve = now() - t;
    if (rc == ST_OK)
        gather(ft, each);
    for (size_t j = 0; each && j < ft->t; j++)
        solve_info_free(&each[j]);
    struct err why = { 0 };
    if (rc == ST_OK && !exact_op_there(s.op, &why) && why.code == ST_BACKEND)
        warn(info, "device-lost", "the device failed in the middle; the processor went on: %.200s",
             why.msg);
    exact_op_close(s.op);
    free(s.temp);
    free(each);
    info->warm = same;
    if (rc == ST_OK)
        info->condition = info->condition_plain =
            ritz_condition(ft->trace, &info->ritz_min, &info->ritz_max);
    if (rc == ST_OK)
        rc = fit_scale(ft, err);
    if (rc == ST_OK)
        model_exact_unscale(s.n, ft->t, ft->src->row_scale, NULL, m->w);
    if (rc == ST_OK && info->float_limit)
        warn(info, "float-limit",
             "the true residual stopped at %.2g: single precision kernels allow no less",
             info->true_residual);
    return rc;
}

/* Direct. */

/* Of each target; the worst. */
static double relative_residual(struct fit *ft, struct err *err)
{
    const size_t M = ft->m->M;
    double worst = 0.0, *Aw = mem_calloc(ft->t * M, sizeof *Aw, "the residual", err);

    if (Aw == NULL || fop_pass(ft->f, ft->t, ft->m->w, Aw, ft->ctl, err) != ST_OK) {
        free(Aw);
        err_clear(err);
        return NAN;
    }
    for (size_t j = 0; j < ft->t; j++) {
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
    return worst;
}

/* Factor, Z'y and the Gram's diagonal at M columns; in double precision when single is too coarse
 * for this little noise.  *f and *map are those last used. */
static enum status factor_at(struct fit *ft, size_t M, struct featmap **map, struct fop **f,
                             double **L, double *b, double *diag, double *jitter,
                             const struct ctl *ctl, struct err *err)
{
    struct model *m = ft->m;
    enum status rc = ST_OK;

    if (*f == NULL)
        rc = model_open(m, M, ft->src, ft->src->row_scale, m->precision, STORE_AUTO, ft->be,
                        ft->pool, map, f, err);
    if (rc == ST_OK)
        rc = model_factor(*f, ft->t, ft->y, ft->ratio, L, b, diag, jitter, ctl, err);
    if (rc != ST_OK || !(*jitter > 0.0) || m->precision == PREC_DOUBLE)
        return rc;
    free(*L);
    *L = NULL;
    fop_free(*f);
    featmap_free(*map);
    *f = NULL;
    *map = NULL;
    rc = model_open(m, M, ft->src, ft->src->row_scale, PREC_DOUBLE, STORE_AUTO, ft->be, ft->pool,
                    map, f, err);
    return rc == ST_OK ? model_factor(*f, ft->t, ft->y, ft->ratio, L, b, diag, jitter, ctl, err)
                       : rc;
}

static enum status fit_direct(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    double t = now(), jitter = 0.0, *L = NULL;
    const size_t M = m->M;
    struct phase_ctl phase;
    double *diag = mem_calloc(M, sizeof *diag, "the Gram's diagonal", err);
    enum status rc = diag ? factor_at(ft, M, &ft->map, &ft->f, &L, ft->b, diag, &jitter,
                                      model_phase(&phase, ft->ctl, PHASE_GRAM), err)
                          : ST_NOMEM;

    info->seconds.features = 0.0; /* made and used up inside the Gram */
    if (rc == ST_OK && ft->free_scale && !ft->o->keep_ratio)
        rc = model_refine_factor(ft->f, ft->t, ft->y, L, diag, ft->b, &ft->ratio, &jitter, ft->ctl,
                                 err);
    free(diag);
    if (rc == ST_OK) {
        memcpy(m->w, ft->b, ft->t * M * sizeof *m->w);
        rc = blas_dtrsm(ft->pool, false, M, ft->t, L, M, m->w, M, err);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm(ft->pool, true, M, ft->t, L, M, m->w, M, err);
    if (rc == ST_OK)
        info->residual = info->true_residual = relative_residual(ft, err);
    info->seconds.solve = now() - t;
    info->why = OUT_DIRECT;
    info->rank = 0;
    t = now();
    if (rc == ST_OK && ft->plan.Mv == M) {
        rc = model_effdim(ft->pool, M, L, ft->ratio + jitter, &info->effective_dimension, ft->ctl,
                          err);
        m->L = L;
        m->Mv = M;
        L = NULL;
    }
    free(L);
    info->seconds.variance = now() - t;
    if (jitter > 0.0)
        warn(info, "indefinite", "rounding made the Gram matrix indefinite at noise ratio %.2g: "
             "%.2g was added; precision=double or more noise avoids it", ft->ratio, jitter);
    return rc;
}

/* Iterative. */

/* The noise ratio that suits the features, at as many of them as the automatic variance has; where
 * that is the variance asked for, its factor stays. */
static enum status refine_ratio(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    const size_t M = m->M < AUTO_VARIANCE ? m->M : AUTO_VARIANCE;
    struct featmap *map = NULL;
    struct fop *f = NULL;
    struct phase_ctl phase;
    const struct ctl *ctl = model_phase(&phase, ft->ctl, PHASE_VARIANCE);
    const double t = now();
    double *L = NULL, jitter = 0.0, *diag = mem_calloc((1 + ft->t) * M, sizeof *diag, "Z'y", err);
    double *b = diag ? diag + M : NULL;
    enum status rc = b ? factor_at(ft, M, &map, &f, &L, b, diag, &jitter, ctl, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = model_refine_factor(f, ft->t, ft->y, L, diag, b, &ft->ratio, &jitter, ctl, err);
    if (rc == ST_OK && ft->plan.Mv == M) {
        rc = model_effdim(ft->pool, M, L, ft->ratio + jitter, &ft->info->effective_dimension, ctl,
                          err);
        m->L = L;
        m->Mv = M;
        L = NULL;
    }
    free(L);
    free(diag);
    fop_free(f);
    featmap_free(map);
    ft->info->seconds.variance += now() - t;
    return rc;
}

/* The rank asked for, or that of least predicted time. */
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
    const enum status rc = model_rank_choose(ft->f, ft->y, ft->src->d, ft->o, &ft->plan, ft->ratio,
                                             1, &c, model_phase(&phase, ft->ctl, PHASE_PRECOND), err);
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
        rc = ops->build(ft->f, &po, model_phase(&phase, ft->ctl, PHASE_PRECOND), pre, err);
    if (rc != ST_OK)
        return rc;
    precond_set_noise(*pre, ft->ratio);
    if (!solver->krylov) /* the table is of conjugate gradients' iterations */
        ft->info->rank_iterations = NAN;
    ft->info->rank = precond_rank(*pre);
    ft->info->ratio = precond_ratio(*pre);
    return ST_OK;
}

/* The solve itself.  Where rounded features do not let it get there (their rounding outweighs the
 * noise), it goes on from its last iterate with features made anew. */
static enum status fit_solve(struct fit *ft, const struct solver_ops *solver, struct solve_opts *so,
                             struct solve_info *each, struct err *err)
{
    double *w = ft->m->w, *start = NULL, passes = 0.0;
    size_t before = 0;
    bool stuck = false;
    enum status rc =
        solver->solve(&(struct ridge){ft->f, ft->ratio}, ft->t, ft->b, w, so, ft->ctl, each, err);

    for (size_t j = 0; rc == ST_OK && j < ft->t; j++) {
        stuck = stuck || each[j].float_limit || each[j].why == OUT_BREAKDOWN;
        before = each[j].iterations > before ? each[j].iterations : before;
        passes = fmax(passes, each[j].passes);
    }
    if (rc != ST_OK || !stuck || !fop_half(ft->f) || (so->maxit && before >= so->maxit))
        return rc;
    start = mem_calloc(ft->t, ft->m->M * sizeof *start, "the weights", err);
    if (start == NULL)
        return ST_NOMEM;
    memcpy(start, w, ft->t * ft->m->M * sizeof *start);
    fop_unhalve(ft->f);
    so->x0 = start;
    so->maxit = so->maxit ? so->maxit - before : 0;
    for (size_t j = 0; j < ft->t; j++)
        solve_info_free(&each[j]);
    rc = solver->solve(&(struct ridge){ft->f, ft->ratio}, ft->t, ft->b, w, so, ft->ctl, each, err);
    for (size_t j = 0; rc == ST_OK && j < ft->t; j++) {
        each[j].iterations += before;
        each[j].passes += passes;
    }
    free(start);
    stuck = false;
    for (size_t j = 0; rc == ST_OK && j < ft->t; j++)
        stuck = stuck || each[j].float_limit;
    if (!stuck) /* else float32 was no better */
        warn(ft->info, "float16",
             "features in float16 are too coarse for this little noise: after %zu "
             "iterations they were made anew (store=float32, plan=regenerate)",
             before);
    return rc;
}

/* Where the iterations begin; *own: the caller frees it. */
static enum status begin(struct fit *ft, const struct precond *pre, double **own,
                         struct solve_opts *so, struct err *err)
{
    const struct model *s = ft->o->start;
    struct phase_ctl phase;
    enum status rc = ST_OK;

    ft->info->projected = !model_start_same(s, ft->m);
    if (ft->info->projected)
        rc = model_start_project(s, ft->src, ft->f, pre, ft->be, ft->pool,
                                 model_phase(&phase, ft->ctl, PHASE_START), own, err);
    so->x0 = ft->info->projected ? *own : s->w;
    return rc;
}

static enum status fit_iterative(struct fit *ft, const struct solver_ops *solver, struct err *err)
{
    struct fit_info *info = ft->info;
    struct precond *pre = NULL;
    struct phase_ctl phase;
    struct solve_opts so = { .rtol = ft->o->rtol, .maxit = ft->o->maxit, .seed = ft->o->seed,
                             .params = ft->o->solver_params };
    double t = now(), *x0 = NULL;
    struct solve_info *each = mem_calloc(ft->t, sizeof *each, "the targets' solves", err);
    enum status rc = each ? fop_ztv(ft->f, ft->t, ft->y, ft->b,
                                    model_phase(&phase, ft->ctl, PHASE_FEATURES), err)
                          : ST_NOMEM;

    info->seconds.features = now() - t;
    if (rc == ST_OK && ft->free_scale && !ft->o->keep_ratio)
        rc = refine_ratio(ft, err);
    t = now();
    if (rc == ST_OK && ft->plan.formed)
        rc = fop_form(ft->f, model_phase(&phase, ft->ctl, PHASE_GRAM), err);
    info->seconds.features += now() - t;
    t = now();
    if (rc == ST_OK && solver->uses_precond)
        rc = build_precond(ft, solver, &pre, err);
    info->seconds.precond = now() - t;
    t = now();
    so.pre = pre;
    if (rc == ST_OK && ft->o->start != NULL)
        rc = begin(ft, pre, &x0, &so, err);
    if (rc == ST_OK)
        rc = fit_solve(ft, solver, &so, each, err);
    free(x0);
    info->seconds.solve = now() - t;
    if (pre != NULL && precond_eigenvalues(pre) != NULL)
        info->condition_plain = (precond_eigenvalues(pre)[0] + ft->ratio) / ft->ratio;
    if (pre != NULL)
        snprintf(info->precond, sizeof info->precond, "%s", precond_row(pre)->name);
    const bool plain = pre == NULL || precond_row(pre)->identity;
    precond_free(pre);
    if (rc == ST_OK)
        gather(ft, each);
    for (size_t j = 0; each && j < ft->t; j++)
        solve_info_free(&each[j]);
    free(each);
    if (rc != ST_OK)
        return rc;
    info->warm = ft->o->start != NULL;
    if (info->projected)
        info->passes += 1.0;
    info->condition = ritz_condition(ft->trace, &info->ritz_min, &info->ritz_max);
    if (plain)
        info->condition_plain = info->condition;
    if (info->float_limit)
        warn(info, "float-limit", "the true residual stopped at %.2g: %s", info->true_residual,
             ft->o->precision == PREC_DOUBLE
                 ? "double precision allows no less; more noise does"
                 : "single precision features allow no less; precision=double does");
    return ST_OK;
}

/* Only a diagnosis: its failure is none of the fit's. */
static void check_starvation(struct fit *ft)
{
    const struct model *m = ft->m;
    const double all = ft->info->effective_dimension;
    double half;

    if (!kernel_is_radial(&m->kernel)) /* the halves of their columns are not alike */
        return;
    if (model_effdim_half(ft->pool, m->Mv, m->L, ft->ratio, &half, ft->ctl, NULL) != ST_OK)
        return;
    if (all > starved_growth * half)
        warn(ft->info, "starved", "the effective dimension is %.0f with %zu features and would be "
             "%.0f with half of them: it still grows, so the function's own variances (sd_latent) "
             "are too small; more features for the variance, or solver=exact, help", all, m->Mv,
             half);
}

/* Variances of their own when the solver left no factor.  Being stopped here loses only them. */
static enum status fit_variance(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double t = now();
    enum status rc = ST_OK;

    if (ft->plan.Mv > 0 && m->L == NULL) {
        if (info->why == OUT_CANCELLED)
            rc = ST_CANCELLED;
        else
            rc = model_variance(m, ft->src, ft->plan.Mv, ft->be, ft->pool, ft->ctl,
                                &info->effective_dimension, err);
        if (rc == ST_CANCELLED) {
            err_clear(err);
            rc = ST_OK;
            warn(info, "no-variance", "stopped before the variances: the model predicts means");
        }
        info->seconds.variance += now() - t;
    }
    info->variance_features = m->kind == MODEL_EXACT ? 0 : m->Mv;
    if (rc == ST_OK && m->kind == MODEL_FEATURES && m->L != NULL && m->Mv >= 64)
        check_starvation(ft);
    return rc;
}

static enum status fit_features(struct fit *ft, struct err *err)
{
    const bool direct = ft->plan.plan == PLAN_DIRECT && !ft->plan.formed;
    const struct solver_ops *solver = direct                          ? &direct_solver
                                      : solver_is_free(ft->o->solver) ? solver_usual()
                                                                      : solver_find(ft->o->solver,
                                                                                    err);

    if (solver == NULL)
        return ST_NOT_FOUND;
    snprintf(ft->info->solver, sizeof ft->info->solver, "%s", solver->name);
    enum status rc = model_open(ft->m, ft->m->M, ft->src, ft->src->row_scale, ft->m->precision,
                                ft->plan.plan != PLAN_STORE ? STORE_AUTO
                                : ft->plan.half ? STORE_FLOAT16
                                                : STORE_FLOAT32, ft->be, ft->pool, &ft->map, &ft->f,
                                err);
    if (rc == ST_OK)
        rc = direct ? fit_direct(ft, err) : fit_iterative(ft, solver, err);
    if (rc == ST_OK)
        rc = fit_scale(ft, err);
    struct err why;
    if (rc == ST_OK && fop_lost(ft->f, &why))
        warn(ft->info, "device-lost", "%.180s; the processor went on", why.msg);
    fop_free(ft->f);
    featmap_free(ft->map);
    ft->f = NULL;
    ft->map = NULL;
    return rc;
}

static void describe(struct fit *ft)
{
    static const char *const plans[] = { "auto", "store", "regenerate", "direct" };
    struct fit_info *info = ft->info;

    info->rows = ft->src->n;
    info->inputs = ft->src->d;
    info->features = ft->plan.exact ? 0 : ft->o->features;
    info->targets = ft->t;
    info->half = ft->plan.half;
    for (size_t j = 0; j < ft->t; j++)
        info->target[j].iterations = info->target[j].residual = info->target[j].true_residual = NAN;
    info->ratio = info->effective_dimension = NAN;
    info->rank_iterations = info->rank_seconds = NAN;
    info->condition = info->condition_plain = info->ritz_min = info->ritz_max = NAN;
    info->residual = info->true_residual = NAN;
    info->predicted_bytes = info->peak_bytes = (size_t)ft->plan.bytes;
    snprintf(info->plan, sizeof info->plan, "%s", ft->plan.exact ? "exact" : plans[ft->plan.plan]);
    snprintf(info->solver, sizeof info->solver, "exact");
}

enum status model_fit(const struct source *src, const double *y, const struct fit_opts *o,
                      const struct backend_ops *be, struct pool *pool, const struct ctl *ctl,
                      struct model **out, struct fit_info *info, struct solve_info *trace,
                      struct err *err)
{
    struct solve_info own = { 0 };
    double *weighted = NULL;
    struct fit ft = { .o = o, .src = src, .y = y, .be = be, .pool = pool, .ctl = ctl,
                      .info = info, .trace = trace ? trace : &own,
                      .t = o->targets ? o->targets : 1 };
    const double start = now();

    *out = NULL;
    *info = (struct fit_info){ .why = OUT_RUNNING };
    *ft.trace = (struct solve_info){ .why = OUT_DIRECT };
    enum status rc = source_suits(src, &o->kernel, err);
    if (rc == ST_OK)
        rc = check(src, y, o, err);
    if (rc == ST_OK)
        rc = model_start_check(o->start, src, ft.t, err);
    if (rc == ST_OK)
        rc = weigh(&ft, &weighted, err);
    if (rc == ST_OK)
        rc = model_plan_make(src->n, src->d, o, pool_threads(pool), &ft.plan, info->plan_note,
                             err);
    if (rc == ST_OK)
        rc = fit_new(&ft, err);
    if (rc == ST_OK) {
        describe(&ft);
        ft.ratio = model_ratio(o->amplitude, o->noise);
        ft.free_scale = !o->keep_scale;
        rc = ft.plan.products ? fit_products(&ft, err)
             : ft.plan.exact  ? fit_exact(&ft, err)
                              : fit_features(&ft, err);
    }
    if (rc == ST_OK)
        rc = fit_variance(&ft, err);
    free(ft.b);
    free(weighted);
    solve_info_free(&own);
    info->seconds.total = now() - start;
    if (rc != ST_OK) {
        model_unref(ft.m);
        if (trace != NULL)
            solve_info_free(trace);
        return rc;
    }
    *out = ft.m;
    return ST_OK;
}
