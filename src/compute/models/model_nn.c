/* compute/models/model_nn.c -- an exact Gaussian process on the nearest training rows of each row
 * (share/doc/methods.md 24).  With the m nearest rows N of x (nearest.h), k their covariances with
 * it and C = K_NN + ratio S^-2 = L L' (m x m, amplitude 1):
 *   mean = k' C^-1 y_N,   var_f = amplitude^2 (k(x, x) - |L^-1 k|^2).
 * The model keeps the training rows (X), their targets (w) and row factors; a factor is made for
 * each predicted row.  There is no one matrix whose determinant would give amplitude and noise:
 * they come from a sample of training rows, each predicted from its neighbours without itself. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/nearest.h"
#include "compute/models/tuning.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEIGHBOURS = 400,     /* unless neighbours= says otherwise */
    SAMPLE = 2000,        /* training rows that are left out, and */
    SAMPLE_LARGE = 1000,  /* with more than FEW neighbours */
    FEW = 200,
    FIRST_ROWS = 200,     /* of them for the first look at ratios */
    FIRST = 13, SECOND = 5, /* ratios of the first and of the second look */
    TOGETHER = 4 * NEAREST_GROUP, /* rows of a worker between two reports */
};
#define PAIR_SECONDS 25e-9 /* a kernel value in double precision */
#define FLOPS 15e9         /* of one core in a small factorisation */

static const struct solver_param nn_params[] = {
    { "neighbours", 2, 20000, NEIGHBOURS, true,
      .help = "the nearest training rows that predict a row" },
    { .name = NULL },
};

/* The system of one row. */

/* What a worker holds: the neighbours of a group of rows, and X (m x d), K (m x m), B = [k, y]
 * (m x (1 + t)) of one, and the copies L and U that a factorisation overwrites. */
struct local {
    struct nearest_room *room;
    size_t *at;
    double *Y, *X, *K, *B, *L, *U;
    struct err err;
};

/* A pass over rows: those of `src` from row `first` on, or training rows `rows` without
 * themselves, predicted at each of `nratios` ratios. */
struct pass {
    const struct model *m;
    const struct nearest *nearest;
    const struct source *src;
    const size_t *rows;
    size_t first, n, wide, nratios;
    const double *ratio;
    double *mean, *latent; /* mean[(g n + i) t + j]; latent[g n + i], at amplitude 1 */
    struct local *local;   /* one for each thread */
    const struct ctl *ctl;
    int failed;
};

static void local_free(struct local *l, size_t threads)
{
    for (size_t i = 0; l && i < threads; i++) {
        nearest_room_free(l[i].room);
        free(l[i].at);
        free(l[i].Y);
        free(l[i].K);
    }
    free(l);
}

static struct local *local_new(const struct pass *p, size_t threads, struct err *err)
{
    const struct model *m = p->m;
    const size_t n = m->neighbours, d = m->d, all = n * (2 * n + 2 * (1 + m->t) + d);
    struct local *l = mem_calloc(threads, sizeof *l, "the systems of rows", err);

    for (size_t i = 0; l && i < threads; i++) {
        l[i].room = nearest_room_new(p->nearest, n, err);
        l[i].at = mem_calloc(NEAREST_GROUP * n, sizeof *l[i].at, "neighbours", err);
        l[i].Y = mem_calloc(NEAREST_GROUP * p->wide + 1, sizeof *l[i].Y, "rows", err);
        l[i].K = mem_aligned(all + 1, sizeof *l[i].K, "the system of a row", err);
        if (!l[i].room || !l[i].at || !l[i].Y || !l[i].K) {
            local_free(l, threads);
            return NULL;
        }
        l[i].L = l[i].K + n * n;
        l[i].B = l[i].L + n * n;
        l[i].U = l[i].B + n * (1 + m->t);
        l[i].X = l[i].U + n * (1 + m->t);
    }
    return l;
}

/* K and B of a row y with the n neighbours `at`. */
static enum status local_system(const struct pass *p, struct local *l, const double *y,
                                const size_t *at, size_t n, struct err *err)
{
    const struct model *m = p->m;
    const struct exact_rows near = { .k = &m->kernel, .hp = m->hp, .X = l->X, .n = n, .d = m->d };

    for (size_t i = 0; i < n; i++) {
        memcpy(l->X + i * m->d, m->X + at[i] * m->d, m->d * sizeof *l->X);
        for (size_t j = 0; j < m->t; j++)
            l->B[(1 + j) * n + i] = m->w[j * m->M + at[i]];
    }
    exact_cross_wide(&near, y, p->wide, 1, l->B);
    return exact_matrix(&near, 0.0, l->K, p->ctl, err);
}

/* L L' = K + ratio S^-2.  Where rounding leaves that indefinite it gets a jitter, as the matrix of
 * all rows does (exact.h). */
static enum status local_factor(const struct pass *p, struct local *l, const size_t *at, size_t n,
                                double ratio, struct err *err)
{
    const double *s = p->m->row_scale;

    for (double jitter = 0.0;; jitter = jitter > 0.0 ? jitter * 100.0 : 1e-14 * (double)n + 1e-12) {
        for (size_t j = 0; j < n; j++) {
            memcpy(l->L + j + j * n, l->K + j + j * n, (n - j) * sizeof *l->L);
            l->L[j + j * n] += jitter + ratio / (s ? s[at[j]] * s[at[j]] : 1.0);
        }
        const enum status rc = blas_dpotrf(NULL, n, l->L, n, NULL, NULL, err);
        if (rc != ST_NOT_PD || jitter >= 1e-4)
            return rc;
        err_clear(err);
    }
}

/* The means of all targets and the latent variance of a row at one ratio. */
static enum status local_predict(const struct pass *p, struct local *l, const double *y,
                                 const size_t *at, size_t n, double ratio, double *mean,
                                 double *latent)
{
    const struct model *m = p->m;
    const double prior = kernel_exact(&m->kernel, m->hp, m->d, y, y, NULL);
    enum status rc = local_factor(p, l, at, n, ratio, &l->err);

    memcpy(l->U, l->B, n * (1 + m->t) * sizeof *l->U);
    if (rc == ST_OK)
        rc = blas_dtrsm(NULL, false, n, 1 + m->t, l->L, n, l->U, n, &l->err);
    if (rc != ST_OK)
        return rc;
    for (size_t j = 0; j < m->t; j++)
        mean[j] = blas_ddot(n, l->U, l->U + (1 + j) * n);
    *latent = fmax(prior - blas_ddot(n, l->U, l->U), 0.0);
    return ST_OK;
}

static void pass_task(void *ctx, size_t task, size_t worker)
{
    struct pass *p = ctx;
    struct local *l = &p->local[worker];
    const size_t r0 = p->first + task * NEAREST_GROUP, left = p->n - r0, t = p->m->t,
                 rows = left < NEAREST_GROUP ? left : NEAREST_GROUP, m = p->m->neighbours;
    enum status rc = ST_OK;

    if (__atomic_load_n(&p->failed, __ATOMIC_RELAXED) || ctl_stopped(p->ctl))
        return;
    if (p->rows == NULL)
        rc = p->src->rows(p->src, r0, r0 + rows, l->Y, &l->err);
    for (size_t r = 0; p->rows && r < rows; r++)
        memcpy(l->Y + r * p->wide, p->m->X + p->rows[r0 + r] * p->m->d, p->wide * sizeof *l->Y);
    const size_t n = rc == ST_OK ? nearest_find(p->nearest, l->room, rows, l->Y, p->wide,
                                                p->rows ? p->rows + r0 : NULL, l->at)
                                 : 0;
    for (size_t r = 0; r < rows && rc == ST_OK && !ctl_stopped(p->ctl); r++) {
        rc = local_system(p, l, l->Y + r * p->wide, l->at + r * m, n, &l->err);
        for (size_t g = 0; g < p->nratios && rc == ST_OK; g++) {
            const size_t i = g * p->n + r0 + r;
            rc = local_predict(p, l, l->Y + r * p->wide, l->at + r * m, n, p->ratio[g],
                               p->mean + i * t, p->latent + i);
        }
    }
    if (rc != ST_OK && rc != ST_CANCELLED)
        __atomic_store_n(&p->failed, (int)worker + 1, __ATOMIC_RELAXED);
}

/* Runs a pass in parts, with a report after each. */
static enum status pass_run(struct pass *p, struct pool *pool, enum phase phase, struct err *err)
{
    const size_t threads = pool_threads(pool), some = threads * TOGETHER;
    enum status rc = ST_OK;

    p->local = local_new(p, threads, err);
    if (p->local == NULL)
        return ST_NOMEM;
    for (p->first = 0; p->first < p->n && rc == ST_OK; p->first += some) {
        const size_t left = p->n - p->first, now = left < some ? left : some;
        ctl_tell(p->ctl, phase, p->first, p->n, NAN);
        pool_run(pool, (now + NEAREST_GROUP - 1) / NEAREST_GROUP, pass_task, p);
        if (p->failed) {
            const struct err *e = &p->local[p->failed - 1].err;
            if (err != NULL)
                *err = *e;
            rc = err_status(e);
        } else if (ctl_stopped(p->ctl)) {
            rc = err_set(err, ST_CANCELLED, "stopped");
        }
    }
    if (rc == ST_OK)
        ctl_tell(p->ctl, phase, p->n, p->n, NAN);
    local_free(p->local, threads);
    return rc;
}

static enum status open_nearest(const struct model *m, struct pool *pool, struct nearest **out,
                                struct err *err)
{
    return nearest_open(&(struct exact_rows){ .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M,
                                              .d = m->d, .pool = pool }, out, err);
}

/* Plan. */

static size_t neighbours_of(const struct fit_opts *o, size_t n)
{
    const size_t m = o->solver_params[0] > 0.0 ? (size_t)o->solver_params[0] : NEIGHBOURS;

    return m < n ? m : n;
}

static enum status nn_plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                           struct fit_plan *p, char note[256], struct err *err)
{
    const double m = (double)neighbours_of(o, n), rows = (double)n, cores = (double)threads;
    char mem[24], time[32];

    if (o->samples > 0 || o->variance == VAR_SAMPLES) {
        err_set(err, ST_UNSUPPORTED, "solver=nn has a posterior of its own for each row, and no "
                                     "functions of all rows: it takes no samples=");
        err_hint(err, "fit model=features, then predict samples=4");
        return ST_UNSUPPORTED;
    }
    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->Mv = (size_t)m;
    p->bytes = 8.0 * rows * (2.0 * (double)d + 4.0) +
               cores * (8.0 * m * (2.0 * m + 2.0 * (double)d + 64.0) + MODEL_BLAS_PACK);
    if (o->mem_limit && p->bytes > (double)o->mem_limit) {
        mem_format(mem, sizeof mem, p->bytes);
        err_set(err, ST_LIMIT, "%.0f neighbours of %zu rows on %zu threads need %s", m, n, threads,
                mem);
        err_hint(err, "fit solver=nn(neighbours=%.0f)", fmax(2.0, floor(m / 4.0)));
        return ST_LIMIT;
    }
    mem_format(mem, sizeof mem, p->bytes);
    text_seconds(time, sizeof time,
                 1000.0 * (rows * exact_op_cost(&o->kernel, d, 0) +
                           0.5 * m * m * PAIR_SECONDS + m * m * m / 3.0 / FLOPS) /
                     (cores > 0.0 ? cores : 1.0));
    snprintf(note, 256, "nn: %.0f nearest of %zu training rows for each row; %s, about %s for "
                        "1,000 rows", m, n, mem, time);
    return ST_OK;
}

static size_t nn_size(const struct fit_opts *o, size_t n)
{
    (void)o;
    return n;
}

/* Fit. */

/* Left-out predictions of sampled training rows; latent and mean as in struct pass. */
struct sample { size_t n, *rows; double *mean, *latent; };

static void sample_free(struct sample *s)
{
    free(s->rows);
    free(s->mean);
}

/* Draws the rows: the first ones of a random order, so that fewer of them are a sample, too. */
static enum status sample_draw(const struct fit *ft, struct sample *s, struct err *err)
{
    const size_t n = ft->m->M, most = ft->m->neighbours > FEW ? SAMPLE_LARGE : SAMPLE;
    size_t *order = mem_calloc(n, sizeof *order, "a sample of rows", err);

    s->n = n < most ? n : most;
    s->rows = order;
    s->mean = order ? mem_calloc(FIRST * s->n * (ft->t + 1), sizeof *s->mean,
                                 "left-out predictions", err)
                    : NULL;
    if (s->mean == NULL)
        return ST_NOMEM;
    s->latent = s->mean + FIRST * s->n * ft->t;
    rng_permutation(ft->o->seed, rng_stream(RNG_SAMPLE, UINT32_MAX - 24), n, order);
    return ST_OK;
}

static enum status leave_out(struct fit *ft, const struct nearest *nearest, struct sample *s,
                             size_t rows, size_t g, const double *ratio, struct err *err)
{
    struct pass p = { .m = ft->m, .nearest = nearest, .rows = s->rows, .n = rows,
                      .wide = ft->m->d, .nratios = g, .ratio = ratio, .mean = s->mean,
                      .latent = s->latent, .ctl = ft->on.ctl };
    return pass_run(&p, ft->on.pool, PHASE_NOISE_SEARCH, err);
}

/* The noise of training row i at a ratio. */
static double noise_of(const struct model *m, size_t i, double ratio)
{
    return ratio / (m->row_scale ? m->row_scale[i] * m->row_scale[i] : 1.0);
}

/* Mean of the NLPD over targets, each at its own best amplitude: for target j with left-out errors
 * e_i and variances v_i at amplitude 1 that is amplitude^2 = mean e_i^2 / v_i, and
 * 2 NLPD = log 2 pi + 1 + mean log v_i + log amplitude^2. */
static double nlpd_of(const struct fit *ft, const struct sample *s, size_t rows, size_t g,
                      double ratio)
{
    const struct model *m = ft->m;
    double sum[TARGETS_MOST] = { 0 }, logs = 0.0, all = log(2.0 * M_PI) + 1.0;

    for (size_t i = 0; i < rows; i++) {
        const size_t row = s->rows[i];
        const double v = s->latent[g * rows + i] + noise_of(m, row, ratio);
        logs += log(v);
        for (size_t j = 0; j < m->t; j++) {
            const double e = m->w[j * m->M + row] - s->mean[(g * rows + i) * m->t + j];
            sum[j] += e * e / v;
        }
    }
    all += logs / (double)rows;
    for (size_t j = 0; j < m->t; j++)
        all += log(fmax(sum[j] / (double)rows, 1e-300)) / (double)m->t;
    return 0.5 * all;
}

/* The least of g values at ratios that grow by a constant factor, between them by a parabola. */
static double least(size_t g, const double *ratio, const double *value)
{
    size_t best = 0;

    for (size_t i = 1; i < g; i++)
        if (value[i] < value[best])
            best = i;
    if (best == 0 || best + 1 == g)
        return ratio[best];
    const double a = value[best - 1], b = value[best], c = value[best + 1],
                 bend = a - 2.0 * b + c, step = log(ratio[best + 1] / ratio[best]);
    const double move = bend > 0.0 ? 0.5 * (a - c) / bend : 0.0;
    return ratio[best] * exp(fmax(-0.5, fmin(0.5, move)) * step);
}

/* The ratio with the least left-out NLPD: 13 ratios from a thousandth of the given one to a
 * thousand times it on some rows, then around the best on all of the sample. */
static enum status search(struct fit *ft, const struct nearest *nearest, struct sample *s,
                          struct err *err)
{
    const size_t first = s->n < FIRST_ROWS ? s->n : FIRST_ROWS;
    double ratio[FIRST], value[FIRST], middle = ft->ratio;
    enum status rc = ST_OK;

    for (size_t look = 0; look < 2 && rc == ST_OK; look++) {
        const size_t g = look ? SECOND : FIRST, rows = look ? s->n : first;
        for (size_t i = 0; i < g; i++)
            ratio[i] = middle * pow(10.0, (look ? 0.25 : 0.5) * ((double)i - (double)(g / 2)));
        rc = leave_out(ft, nearest, s, rows, g, ratio, err);
        for (size_t i = 0; i < g && rc == ST_OK; i++)
            value[i] = nlpd_of(ft, s, rows, i, ratio[i]);
        if (rc == ST_OK)
            middle = least(g, ratio, value);
    }
    if (rc == ST_OK)
        ft->ratio = model_round(middle);
    return rc;
}

/* ft->residual <- the squares of left-out errors over their variances (t x n of the sample),
 * ft->inverse <- the latent variances. */
static enum status judge(struct fit *ft, const struct nearest *nearest, struct sample *s,
                         struct err *err)
{
    const struct model *m = ft->m;
    enum status rc = leave_out(ft, nearest, s, s->n, 1, &ft->ratio, err);

    if (rc != ST_OK)
        return rc;
    ft->residual = mem_calloc(ft->t, s->n * sizeof *ft->residual, "left-out residuals", err);
    ft->inverse = mem_calloc(s->n, sizeof *ft->inverse, "left-out variances", err);
    if (!ft->residual || !ft->inverse)
        return ST_NOMEM;
    for (size_t i = 0; i < s->n; i++) {
        const size_t row = s->rows[i];
        const double v = s->latent[i] + noise_of(m, row, ft->ratio);
        ft->inverse[i] = s->latent[i];
        for (size_t j = 0; j < m->t; j++) {
            const double e = m->w[j * m->M + row] - s->mean[i * m->t + j];
            ft->residual[j * s->n + i] = e * e / v;
        }
    }
    ft->info->neighbours = m->neighbours;
    ft->info->left_out_rows = s->n;
    ft->info->left_out_nlpd = nlpd_of(ft, s, s->n, 0, ft->ratio);
    return ST_OK;
}

static enum status nn_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    const double *scale = ft->src->row_scale, t0 = fit_now();
    struct nearest *nearest = NULL;
    struct sample s = { 0 };

    m->neighbours = neighbours_of(ft->o, m->M);
    m->X = exact_inputs(ft->src, err);
    m->row_scale = m->X && scale ? mem_calloc(m->M, sizeof *scale, "the weights", err) : NULL;
    if (!m->X || (scale && !m->row_scale))
        return err_status(err);
    if (scale)
        memcpy(m->row_scale, scale, m->M * sizeof *scale);
    for (size_t i = 0; i < m->t * m->M; i++)
        m->w[i] = ft->y[i] / (scale ? scale[i % m->M] : 1.0);
    enum status rc = open_nearest(m, ft->on.pool, &nearest, err);
    if (rc == ST_OK)
        rc = sample_draw(ft, &s, err);
    if (rc == ST_OK && ft->free_scale && !ft->o->keep_ratio)
        rc = search(ft, nearest, &s, err);
    if (rc == ST_OK)
        rc = judge(ft, nearest, &s, err);
    nearest_close(nearest);
    sample_free(&s);
    ft->info->why = OUT_DIRECT;
    ft->info->seconds.solve = fit_now() - t0;
    return rc;
}

/* amplitude^2 = c / n is the mean of e^2 / v over the left-out rows. */
static enum status nn_moments(struct fit *ft, double *rr, double *c, struct err *err)
{
    const size_t n = ft->info->left_out_rows;

    (void)err;
    for (size_t j = 0; j < ft->t; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += ft->residual[j * n + i];
        rr[j] = NAN; /* rows predict themselves too well to tell anything */
        c[j] = (double)ft->src->n * sum / (double)n;
    }
    return ST_OK;
}

static void nn_end(struct fit *ft, enum status rc)
{
    (void)ft; /* what the model keeps is all that there is */
    (void)rc;
}

static enum status nn_left_out(struct fit *ft, struct left_out *out, struct err *err)
{
    const size_t n = ft->info->left_out_rows;

    out->m = n;
    out->z2 = mem_calloc(ft->t, n * sizeof *out->z2, "left-out residuals", err);
    out->latent = out->z2 ? mem_calloc(n, sizeof *out->latent, "left-out variances", err) : NULL;
    if (out->latent == NULL)
        return ST_NOMEM;
    memcpy(out->z2, ft->residual, ft->t * n * sizeof *out->z2);
    memcpy(out->latent, ft->inverse, n * sizeof *out->latent);
    return ST_OK;
}

/* Variances are made with each prediction. */
static enum status nn_variance(struct model *m, const struct source *train, size_t Mv,
                               const struct tools *on, double *effdim, struct err *err)
{
    (void)m, (void)train, (void)Mv, (void)on, (void)err;
    if (effdim != NULL)
        *effdim = NAN;
    return ST_OK;
}

/* Predictions. */

static bool nn_suits(const struct model *m, const struct source *src, struct err *err)
{
    if (src->d == m->d || (src->d > m->d && kernel_reads_windows(&m->kernel)))
        return true;
    err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, src->d);
    return false;
}

static enum status nn_predict(struct prediction *p, struct err *err)
{
    const struct model *m = p->m;
    struct nearest *nearest = NULL;
    double *room = mem_calloc(p->n, (m->t + 1) * sizeof *room, "predictions", err);
    const double ratio = model_ratio(m->amplitude, m->noise);
    enum status rc = room ? open_nearest(m, p->on.pool, &nearest, err) : ST_NOMEM;

    if (rc == ST_OK) {
        struct pass pass = { .m = m, .nearest = nearest, .src = p->src, .n = p->n,
                             .wide = p->src->d, .nratios = 1, .ratio = &ratio, .mean = room,
                             .latent = room + p->n * m->t, .ctl = p->on.ctl };
        rc = pass_run(&pass, p->on.pool, PHASE_PREDICT, err);
    }
    for (size_t i = 0; i < p->n && rc == ST_OK; i++)
        for (size_t j = 0; j < m->t; j++) {
            p->mean[j * p->n + i] = room[i * m->t + j];
            if (p->varf)
                p->varf[j * p->n + i] =
                    m->amplitudes[j] * m->amplitudes[j] * room[p->n * m->t + i];
        }
    nearest_close(nearest);
    free(room);
    return rc;
}

const struct model_ops nn_model = {
    .name = "nn",
    .solver = "nn",
    .words = "nearest training rows",
    .cite = "nearest rows: GPnn, Allison et al. 2023",
    .params = nn_params,
    .alone = true,
    .local = true,
    .keeps_inputs = true,
    .keeps_rows = true,
    .size = nn_size,
    .plan = nn_plan,
    .fit = nn_fit,
    .moments = nn_moments,
    .end = nn_end,
    .left_out = nn_left_out,
    .variance = nn_variance,
    .suits = nn_suits,
    .predict = nn_predict,
    .tuning = &nn_tuning,
};
