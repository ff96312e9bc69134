/* compute/tuners/bayes.c -- Bayesian optimisation over the kernel's hyperparameters
 * (share/doc/methods.md 7; Parkinson & Wang, Algorithm S4, with the corrections given there): a GP
 * surrogate is fitted to the scores so far, and the next point is chosen by Thompson sampling.  Of
 * joint posterior samples over random candidates, it is the candidate that has the least value of
 * all samples.
 *
 * Scores span orders of magnitude between the bounds and units near the optimum, so that the
 * surrogate is fitted to log(1 + excess / typical excess) (7.1). */
#include "compute/tuners/tune_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INITIAL = 10, CANDIDATES = 500, SAMPLES = 15, MAX_POINTS = 256, MAX_DIM = 4,
       TIED_POINTS = 16 };
/* Bound of the noise in descend_held, and the noise from which it is used; standard deviations. */
static const double HELD_NOISE = 0.3, MUCH_NOISE = 0.6;

struct surrogate {
    bool tied; /* one coordinate for all lengthscales: ard starts from the best single one */
    size_t m, dim;                  /* points; coordinates */
    double u[MAX_POINTS][MAX_DIM];
    double nmll[MAX_POINTS];        /* the scores */
    double t[MAX_POINTS];           /* the scores by 7.1, with mean 0 and variance 1 */
    double length;                  /* lengthscale */
    double *L, *alpha, *work;       /* m x m factor; L^-1 t (m); L^-1 k (m x CANDIDATES) */
    double *cov, *mean, *cand;      /* posterior of the candidates, C x C and C; C x dim points */
};

/* The matern 5/2 kernel (share/doc/methods.md 2.4). */
static double mat52(const double *a, const double *b, size_t dim, double length)
{
    double r2 = 0.0;

    for (size_t i = 0; i < dim; i++)
        r2 += (a[i] - b[i]) * (a[i] - b[i]);
    const double s = sqrt(5.0 * r2) / length;
    return (1.0 + s + s * s / 3.0) * exp(-s);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* t = log(1 + (f - min f) / s), s the lower quartile of the excess f - min f, then standardised
 * (7.1).  Points without a value count as worse than the worst. */
static void transform(struct surrogate *s)
{
    double sorted[MAX_POINTS], mean = 0.0, var = 0.0;
    size_t finite = 0;

    for (size_t i = 0; i < s->m; i++)
        if (isfinite(s->nmll[i]))
            sorted[finite++] = s->nmll[i];
    qsort(sorted, finite, sizeof *sorted, by_value);
    const double best = finite ? sorted[0] : 0.0, worst = finite ? sorted[finite - 1] : 1.0;
    const double low = finite ? sorted[finite / 4] : 1.0;
    const double scale = fmax(low - best, 1e-6 * (1.0 + fabs(best)));
    for (size_t i = 0; i < s->m; i++) {
        const double f = isfinite(s->nmll[i]) ? s->nmll[i] : worst + (worst - best);
        s->t[i] = log1p((f - best) / scale);
        mean += s->t[i] / (double)s->m;
    }
    for (size_t i = 0; i < s->m; i++)
        var += (s->t[i] - mean) * (s->t[i] - mean) / (double)s->m;
    for (size_t i = 0; i < s->m; i++)
        s->t[i] = (s->t[i] - mean) / sqrt(fmax(var, 1e-12));
}

/* L L' = K + 1e-6 I at one lengthscale, alpha = L^-1 t; returns |alpha|^2 / 2 + sum log L_ii, the
 * NMLL of the surrogate without its constant (5.3). */
static double factor(struct surrogate *s, double length)
{
    const size_t m = s->m;
    double nll = 0.0;

    for (size_t j = 0; j < m; j++)
        for (size_t i = j; i < m; i++)
            s->L[i + j * m] = mat52(s->u[i], s->u[j], s->dim, length) + (i == j ? 1e-6 : 0.0);
    if (blas_dpotrf(NULL, m, s->L, m, NULL, NULL, NULL) != ST_OK)
        return INFINITY;
    memcpy(s->alpha, s->t, m * sizeof *s->alpha);
    if (blas_dtrsm(NULL, false, m, 1, s->L, m, s->alpha, m, NULL) != ST_OK)
        return INFINITY;
    for (size_t i = 0; i < m; i++)
        nll += 0.5 * s->alpha[i] * s->alpha[i] + log(s->L[i + i * m]);
    return nll; /* alpha = L^-1 t */
}

/* The likeliest lengthscale on a grid from 0.05 to 2.5 (of the unit range). */
static bool fit_surrogate(struct surrogate *s)
{
    double best = INFINITY;

    transform(s);
    for (double length = 0.05; length < 2.5; length *= 1.3) {
        const double nll = factor(s, length);
        if (nll < best) {
            best = nll;
            s->length = length;
        }
    }
    return isfinite(best) && isfinite(factor(s, s->length));
}

/* next: the candidate with the least value of all joint posterior samples.  With W = L^-1 k (m x C)
 * the posterior mean is W'alpha and the covariance K_cc + 1e-6 I - W'W = R R' (C x C); a sample is
 * mean + R e, e ~ N(0, I). */
static enum status thompson(const struct tune_job *job, struct surrogate *s, uint32_t round,
                            double *next, struct err *err)
{
    const size_t m = s->m, C = CANDIDATES;
    const uint64_t seed = job->opts->seed, where = tune_stream(job, 1000 + 2 * round);
    const uint64_t noise = tune_stream(job, 1001 + 2 * round);
    double least = INFINITY;
    size_t at = 0;

    for (size_t i = 0; i < C * s->dim; i++)
        s->cand[i] = rng_uniform(seed, where, i);
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < m; i++)
            s->work[i + c * m] = mat52(s->u[i], s->cand + c * s->dim, s->dim, s->length);
        for (size_t b = c; b < C; b++)
            s->cov[b + c * C] = mat52(s->cand + b * s->dim, s->cand + c * s->dim, s->dim,
                                      s->length) + (b == c ? 1e-6 : 0.0);
    }
    enum status rc = blas_dtrsm(NULL, false, m, C, s->L, m, s->work, m, err);
    if (rc == ST_OK)
        blas_dgemm1(true, false, C, C, m, -1.0, s->work, m, s->work, m, 1.0, s->cov, C);
    if (rc == ST_OK)
        rc = blas_dpotrf(NULL, C, s->cov, C, NULL, NULL, err);
    if (rc != ST_OK)
        return rc;
    for (size_t c = 0; c < C; c++)
        s->mean[c] = blas_ddot(m, s->work + c * m, s->alpha);
    for (size_t k = 0; k < SAMPLES; k++) {
        double e[CANDIDATES];
        for (size_t c = 0; c < C; c++)
            e[c] = rng_normal(seed, noise, k * C + c);
        for (size_t c = 0; c < C; c++) {
            double v = s->mean[c];
            for (size_t b = 0; b <= c; b++)
                v += s->cov[c + b * C] * e[b];
            if (v < least) {
                least = v;
                at = c;
            }
        }
    }
    memcpy(next, s->cand + at * s->dim, s->dim * sizeof *next);
    return ST_OK;
}

/* If hp is a lengthscale of inputs (of a kernel with ard, or a stationary one): how many of them
 * its kernel has.  0 for anything else (a weight, a period, the lengthscale of a circle). */
static size_t lengthscales_at(const struct tune_job *job, size_t hp)
{
    const struct kernel *k = job->kernel;

    for (size_t t = 0; t < k->nterms; t++) {
        const struct kernel_place p = kernel_place(k, t);
        if (hp >= p.hp0 && hp < p.hp0 + p.nl && hp < p.hp0 + p.nhp)
            return k->term[t].ard != 0 || k->term[t].ops->exact ? p.nl : 0;
    }
    return 0;
}

/* True when the single coordinate of a tied search moves a hyperparameter: lengthscales, and others
 * (a period, a bias) unless they were given.  Weights do not move: all summands are present until a
 * descent decides. */
static bool is_tied(const struct tune_job *job, size_t hp)
{
    char name[KERNEL_NAME_MAX];
    struct hparam info;

    if (lengthscales_at(job, hp))
        return true;
    for (size_t t = 0; t < job->kernel->nterms; t++)
        if (kernel_place(job->kernel, t).weight == hp)
            return false;
    kernel_hp_info(job->kernel, hp, name, &info);
    return job->start[hp] == info.init;
}

/* The position (nfree) of a point of the surrogate's space. */
static void whole(const struct tune_job *job, const struct surrogate *s, const double *u,
                  double *all)
{
    if (s->tied)
        tune_from_hp(job, job->start, all);
    for (size_t f = 0; f < job->nfree; f++)
        if (!s->tied || is_tied(job, job->free_at[f]))
            all[f] = u[s->tied ? 0 : f];
}

/* Evaluates a point of the surrogate's space and adds it. */
static enum status look(struct tune_job *job, struct surrogate *s, const double *u,
                        struct err *err)
{
    struct tune_point p;
    double all[KERNEL_MAX_HP];

    whole(job, s, u, all);
    enum status rc = tune_eval(job, all, false, NULL, &p, err);

    if (rc == ST_OK && s->m < MAX_POINTS) {
        memcpy(s->u[s->m], u, s->dim * sizeof *u);
        s->nmll[s->m++] = p.score;
    }
    return rc;
}

static double nearest(const struct surrogate *s, const double *u)
{
    double least = INFINITY;

    for (size_t i = 0; i < s->m; i++) {
        double r2 = 0.0;
        for (size_t k = 0; k < s->dim; k++)
            r2 += (u[k] - s->u[i][k]) * (u[k] - s->u[i][k]);
        least = fmin(least, sqrt(r2));
    }
    return least;
}

/* The start, and ten points: evenly spaced in one dimension, random in several. */
static enum status initial_points(struct tune_job *job, struct surrogate *s, struct err *err)
{
    double first[KERNEL_MAX_HP], u[INITIAL][MAX_DIM] = { { 0.0 } };
    double *all = mem_calloc(INITIAL, (job->nfree + 1) * sizeof *all, "points", err);
    enum status rc = all ? ST_OK : ST_NOMEM;
    size_t ahead = 0;

    for (size_t i = 0; rc == ST_OK && i < INITIAL; i++) {
        for (size_t k = 0; k < s->dim; k++)
            u[i][k] = s->dim == 1
                          ? (double)i / (INITIAL - 1)
                          : rng_uniform(job->opts->seed, tune_stream(job, 4), i * s->dim + k);
        whole(job, s, u[i], all + i * job->nfree);
    }
    if (rc == ST_OK && job->have_start) {
        tune_from_hp(job, job->start, first);
        rc = look(job, s, first, err);
    }
    for (size_t i = 0; rc == ST_OK && i < INITIAL && tune_evals_left(job) > 0; i++) {
        if (i == ahead)
            ahead += tune_ahead(job, all + i * job->nfree, INITIAL - i);
        rc = look(job, s, u[i], err);
    }
    free(all);
    return rc;
}

static enum status surrogate_alloc(struct surrogate *s, struct err *err)
{
    const size_t C = CANDIDATES;

    s->L = mem_calloc((size_t)MAX_POINTS * MAX_POINTS, sizeof *s->L, "the surrogate", err);
    s->alpha = s->L ? mem_calloc(MAX_POINTS, sizeof *s->alpha, "the surrogate", err) : NULL;
    s->work = s->alpha ? mem_calloc(MAX_POINTS * C, sizeof *s->work, "the surrogate", err) : NULL;
    s->cov = s->work ? mem_calloc(C * C, sizeof *s->cov, "the surrogate", err) : NULL;
    s->mean = s->cov ? mem_calloc(C, sizeof *s->mean, "the surrogate", err) : NULL;
    s->cand = s->mean ? mem_calloc(C * MAX_DIM, sizeof *s->cand, "the surrogate", err) : NULL;
    return s->cand ? ST_OK : ST_NOMEM;
}

static enum status descend_left(struct tune_job *job, const struct tune_point *from, size_t share,
                                struct err *err)
{
    const size_t left = tune_evals_left(job) / share;

    return left > 1 ? tune_descend(job, from, false, left, err) : ST_OK;
}

/* A descent with the noise held down.  Where only few of many inputs matter, no single lengthscale
 * explains anything, and the best point attributes everything to noise: the gradient there is
 * almost zero.  The noise is therefore bounded first, starting from lengthscales sqrt(d), at which
 * rows are neighbours.  The kernel then has to explain what it can, and relevant inputs separate
 * from the others.  After that the bound is lifted. */
static enum status descend_held(struct tune_job *job, struct err *err)
{
    const double most = job->within.noise[1], held = fmax(job->within.noise[0], HELD_NOISE);
    const struct tune_point before = job->best_low;
    struct tune_point from = before;
    enum status rc = ST_OK;

    if (most <= held)
        return ST_OK;
    for (size_t f = 0; f < job->nfree; f++) {
        const size_t i = job->free_at[f], n = lengthscales_at(job, i);
        if (n > 0)
            from.hp[i] = fmin(fmax(sqrt((double)n), job->lo[i]), job->hi[i]);
    }
    job->best_low.score = INFINITY;
    job->within.noise[1] = held;
    rc = descend_left(job, &from, 2, err);
    job->within.noise[1] = most;
    from = job->best_low;
    if (rc == ST_OK && isfinite(from.score))
        rc = descend_left(job, &from, 1, err);
    if (before.score < job->best_low.score)
        job->best_low = before;
    return rc;
}

/* The descent from one lengthscale for all inputs to one for each, with exact gradients. */
static enum status descend_untied(struct tune_job *job, struct err *err)
{
    const struct tune_point from = job->best_low;
    enum status rc = descend_left(job, &from, 1, err);

    double noise = job->best_low.noise; /* the least over targets */

    for (size_t j = 1; j < job->targets; j++)
        noise = fmin(noise, job->best_low.noises[j]);
    if (rc == ST_OK && noise > MUCH_NOISE)
        rc = descend_held(job, err);
    return rc;
}

/* The start of the descent of a further search: the best single lengthscale, multiplied for each
 * input by a log-normal factor of its own (about e).  It need not be better than earlier points. */
static enum status apart(struct tune_job *job, struct err *err)
{
    struct tune_point p = job->best_low;
    double u[KERNEL_MAX_HP];

    for (size_t f = 0; f < job->nfree; f++) {
        const size_t i = job->free_at[f];
        if (lengthscales_at(job, i))
            p.hp[i] *= exp(rng_normal(job->opts->seed, tune_stream(job, 7), f));
        p.hp[i] = fmin(fmax(p.hp[i], job->lo[i]), job->hi[i]);
    }
    tune_from_hp(job, p.hp, u);
    const enum status rc = tune_eval(job, u, false, NULL, &p, err);
    if (rc == ST_OK && isfinite(p.score))
        job->best_low = p;
    return rc;
}

/* The descent in all lengthscales after the search over a single one. */
static enum status untie(struct tune_job *job, struct err *err)
{
    const struct tune_point before = job->best_low;
    enum status rc = job->opts->restart > 0 ? apart(job, err) : ST_OK;

    if (job->kind->joint) /* the polish makes the descent */
        return rc;
    if (rc == ST_OK)
        rc = descend_untied(job, err);
    if (before.score < job->best_low.score)
        job->best_low = before;
    return rc;
}

/* The search: initial points, then rounds of surrogate and Thompson sampling until the next
 * point is close to an old one; with ard the descent in all lengthscales. */
static enum status bayes_search(struct tune_job *job, struct err *err)
{
    const bool tied = job->nfree > MAX_DIM && kernel_has_ard(job->kernel);

    if (job->nfree > MAX_DIM && job->opts->objective != TUNE_NMLL) {
        err_set(err, ST_USAGE, "objective=%s has no gradients: at most %d free hyperparameters",
                tune_objective_name(job->opts->objective),
                (int)MAX_DIM);
        err_hint(err, "tune objective=nmll");
        return ST_USAGE;
    }
    if (job->nfree > MAX_DIM && !tied) /* 30 points are too few for a surrogate in many
                                        * dimensions */
        return tuner_lbfgs.search(job, err);
    struct surrogate *s = mem_calloc(1, sizeof *s, "the surrogate", err);
    if (s == NULL)
        return ST_NOMEM;
    s->tied = tied;
    s->dim = tied ? 1 : job->nfree;
    /* When a descent follows, it is enough to find the right valley. */
    const double close_enough = job->opts->polish ? 0.006 : 0.003;
    enum status rc = surrogate_alloc(s, err);
    if (rc == ST_OK)
        rc = initial_points(job, s, err);
    for (uint32_t round = 0; rc == ST_OK && tune_evals_left(job) > 0 && s->m < MAX_POINTS &&
                           !(tied && s->m >= TIED_POINTS);
         round++) {
        double next[MAX_DIM];
        if (!fit_surrogate(s))
            break;
        rc = thompson(job, s, round, next, err);
        if (rc == ST_NOT_PD) {
            err_clear(err);
            rc = ST_OK;
            break;
        }
        if (rc == ST_OK && nearest(s, next) < close_enough)
            break;
        if (rc == ST_OK)
            rc = look(job, s, next, err);
    }
    free(s->L);
    free(s->alpha);
    free(s->work);
    free(s->cov);
    free(s->mean);
    free(s->cand);
    free(s);
    return rc == ST_OK && tied && isfinite(job->best_low.score) ? untie(job, err) : rc;
}

const struct tuner_ops tuner_bayes = {
    .name = "bayes",
    .title = "Bayesian optimisation, then L-BFGS",
    .help = "evaluates ten points over the bounds (with ARD: with one lengthscale for all inputs, "
            "and then a descent), then the points where samples of a Gaussian process through the "
            "scores are lowest; each point has its best amplitude and noise; L-BFGS with exact "
            "gradients on all rows finishes (with a single hyperparameter and 4,000 rows or more "
            "Brent's method, by values alone)",
    .search = bayes_search,
};
