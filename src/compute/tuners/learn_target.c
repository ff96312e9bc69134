/* compute/tuners/learn_target.c -- see learn_target.h. */
#include "compute/tuners/learn_target.h"

#include "compute/likelihood/dirichlet.h"
#include "compute/likelihood/dirichlet_columns.h"
#include "compute/likelihood/nmll_columns.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <string.h>

/* A probability is at least this in a log loss. */
static const double LEAST = 1e-15;

size_t learn_target_size(struct learn_target *t, size_t q, size_t targets,
                         struct source_labels labels, size_t watched)
{
    const size_t C = labels.classes, k = C ? C : 1, vectors = C ? C : targets;

    *t = (struct learn_target){ .q = q, .labels = labels, .targets = targets,
                                .count = C ? C : targets + 1 };
    return k * q * q + vectors * (q + 1) + (C ? watched * (q + 3 * C) : 0);
}

void learn_target_room(struct learn_target *t, double *room)
{
    const size_t C = t->labels.classes, k = C ? C : 1, vectors = C ? C : t->targets;

    t->inverse = room;
    t->w = t->inverse + k * t->q * t->q;
    t->mean = t->w + vectors * t->q;
    t->work = t->mean + vectors;
}

void learn_target_begin(struct learn_target *t, double size, size_t n, const double *y)
{
    struct dirichlet_value of[2];

    if (!t->labels.classes) {
        for (size_t j = 0; j < t->targets; j++)
            t->theta[j] = -log(size);
        t->theta[t->targets] = log(0.1) + (t->targets > 1 ? log(size) : 0.0);
        return;
    }
    dirichlet_values(t->labels.alpha, of);
    for (size_t c = 0; c < t->count; c++) {
        size_t own = 0;
        for (size_t i = 0; i < n; i++)
            own += y[i] == (double)c;
        const double share = (double)(own + 1) / (double)(n + 2), step = of[1].y - of[0].y;
        t->theta[c] = log(share * (1.0 - share) * step * step) - log(size);
    }
}

void learn_target_from(struct learn_target *t, const struct tune_opts *o)
{
    for (size_t i = 0; i < (t->labels.classes ? t->count : t->targets); i++) {
        const double own = t->labels.classes ? 0.0 : o->from_amplitudes[i];
        t->theta[i] = 2.0 * log(own > 0.0 ? own : o->from_amplitudes[0]);
    }
    if (!t->labels.classes)
        t->theta[t->targets] = 2.0 * (log(o->from_noise) -
                                      (t->targets > 1 ? log(o->from_amplitudes[0]) : 0.0));
}

void learn_target_least(struct learn_target *t, double least)
{
    double scale = 0.0; /* of several targets, on average */

    for (size_t j = 0; t->targets > 1 && j < t->targets; j++)
        scale += exp(t->theta[j]) / (double)t->targets;
    if (!t->labels.classes && least > 0.0)
        t->theta[t->targets] = fmax(t->theta[t->targets],
                                    log(least) - (t->targets > 1 ? log(scale) : 0.0));
}

/* Into a range of standard deviations, whose squares theta is as logarithms, less those of
 * amplitudes from `least` to `most`. */
static void hold(double *theta, const struct tune_bound *b, double least, double most)
{
    const double lo = b->fixed ? b->value : b->lo, hi = b->fixed ? b->value : b->hi;

    if (lo > 0.0 && *theta < 2.0 * log(lo) - least)
        *theta = 2.0 * log(lo) - least;
    if (hi > 0.0 && *theta > 2.0 * log(hi) - most)
        *theta = 2.0 * log(hi) - most;
}

void learn_target_hold(struct learn_target *t, const struct tune_opts *o)
{
    const bool several = !t->labels.classes && t->targets > 1;
    double least = several ? INFINITY : 0.0, most = several ? -INFINITY : 0.0;

    for (size_t i = 0; i < (t->labels.classes ? t->count : t->targets); i++) {
        hold(&t->theta[i], &o->amplitude, 0.0, 0.0);
        least = several ? fmin(least, t->theta[i]) : 0.0;
        most = several ? fmax(most, t->theta[i]) : 0.0;
    }
    if (!t->labels.classes)
        hold(&t->theta[t->targets], &o->noise, least, most);
}

enum status learn_target_ask(struct learn_target *t, struct learn_rows *r, struct pool *pool,
                             struct err *err)
{
    if (t->labels.classes) {
        struct dirichlet_columns c = { .n = r->n, .q = t->q, .F = r->F, .labels = r->y,
                                       .classes = t->labels.classes, .log_scale = t->theta,
                                       .alpha = t->labels.alpha, .w = t->w, .mean = t->mean,
                                       .inverse = t->inverse, .dF = r->dF, .dscale = t->grad };
        const enum status rc = dirichlet_columns(&c, pool, err);
        r->nmll = c.nmll;
        r->effdim = NAN;
        return rc;
    }
    const bool several = t->targets > 1;
    struct nmll_columns c = { .n = r->n, .q = t->q, .targets = t->targets, .F = r->F, .y = r->y,
                              .scale = r->scale,
                              .log_scales = several ? t->theta : NULL,
                              .log_scale = t->theta[0], .log_noise = t->theta[t->targets],
                              .log_ratio = t->theta[t->targets], .w = t->w,
                              .inverse = t->inverse, .dF = r->dF,
                              .dscales = several ? t->grad : NULL };
    const enum status rc = nmll_columns(&c, pool, err);
    if (!several)
        t->grad[0] = c.dscale;
    t->grad[t->targets] = c.dnoise;
    r->nmll = c.nmll;
    r->effdim = c.effdim;
    return rc;
}

/* The noise of target j, a standard deviation. */
static double noise_of(const struct learn_target *t, size_t j)
{
    return exp(0.5 * (t->theta[t->targets] + (t->targets > 1 ? t->theta[j] : 0.0)));
}

/* Rows of numbers. */
static struct learn_told numbers(const struct learn_target *t, const struct learn_rows *rows)
{
    const size_t n = rows->n, q = t->q;
    const double all = (double)n * (double)t->targets;
    struct learn_told told = { 0.0, 0.0, 0.0 };
    double s2[TARGETS_MOST];

    for (size_t j = 0; j < t->targets; j++)
        s2[j] = exp(t->theta[t->targets] + (t->targets > 1 ? t->theta[j] : 0.0));
    for (size_t i = 0; i < n; i++) {
        const double *f = rows->F + i * q;
        const double weight = rows->scale ? rows->scale[i] * rows->scale[i] : 1.0;
        double spread = 0.0;
        for (size_t j = 0; j < q; j++)
            spread += f[j] * blas_ddot(q, t->inverse + j * q, f);
        for (size_t j = 0; j < t->targets; j++) {
            const double var = s2[j] * (1.0 / weight + spread);
            const double r = rows->y[j * n + i] - blas_ddot(q, t->w + j * q, f);
            told.density += 0.5 * (log(2.0 * M_PI * var) + r * r / var) / all;
            told.error += r * r / all;
            told.weighted += weight * r * r / all;
        }
    }
    return told;
}

/* Means and variances (n numbers for each class) of the functions of the classes. */
static void functions(const struct learn_target *t, size_t n, const double *F, double v_off,
                      double *mean, double *var, double *G)
{
    const size_t q = t->q;

    for (size_t c = 0; c < t->labels.classes; c++) {
        blas_dgemm1(false, false, q, n, q, 1.0, t->inverse + c * q * q, q, F, q, 0.0, G, q);
        for (size_t i = 0; i < n; i++) {
            mean[c * n + i] = t->mean[c] + blas_ddot(q, t->w + c * q, F + i * q);
            var[c * n + i] = fmax(v_off * blas_ddot(q, G + i * q, F + i * q), 0.0);
        }
    }
}

/* Log loss and error of the rows whose class is known. */
static struct learn_told labels(const struct learn_target *t, size_t n, const double *y,
                                const double *p)
{
    struct learn_told told = { 0.0, 0.0, 0.0 };
    size_t known = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t C = t->labels.classes;
        size_t most = 0;
        if (!(y[i] >= 0.0 && y[i] < (double)C))
            continue;
        for (size_t c = 1; c < C; c++)
            most = p[c * n + i] > p[most * n + i] ? c : most;
        known++;
        told.density -= log(fmax(p[(size_t)y[i] * n + i], LEAST));
        told.error += (double)most != y[i];
    }
    told.density /= (double)known;
    told.error /= (double)known;
    return told;
}

enum status learn_target_look(const struct learn_target *t, const struct learn_rows *r,
                              struct learn_told *told, struct pool *pool, struct err *err)
{
    const size_t C = t->labels.classes, n = r->n;
    struct dirichlet_value of[2];

    if (!C) {
        *told = numbers(t, r);
        return ST_OK;
    }
    double *mean = t->work, *var = mean + n * C, *p = var + n * C;
    dirichlet_values(t->labels.alpha, of);
    functions(t, n, r->F, of[0].var, mean, var, p + n * C);
    const enum status rc = dirichlet_softmax(pool, n, C, mean, var, 1.0, p, err);
    if (rc == ST_OK)
        *told = labels(t, n, r->y, p);
    return rc;
}

void learn_target_point(const struct learn_target *t, struct tune_point *p)
{
    struct dirichlet_value of[2];
    double sum = 0.0;

    for (size_t i = 0; i < t->labels.classes; i++)
        sum += t->theta[i] / (double)t->labels.classes;
    if (t->labels.classes)
        dirichlet_values(t->labels.alpha, of);
    for (size_t j = 0; !t->labels.classes && j < t->targets; j++) {
        p->amplitudes[j] = exp(0.5 * t->theta[j]);
        p->noises[j] = noise_of(t, j);
    }
    if (t->labels.classes) {
        p->amplitudes[0] = exp(0.5 * sum);
        p->noises[0] = sqrt(of[0].var);
    }
    p->amplitude = p->amplitudes[0];
    p->noise = p->noises[0];
}
