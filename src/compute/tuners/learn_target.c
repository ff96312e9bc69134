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

size_t learn_target_size(struct learn_target *t, size_t q, struct source_labels labels,
                         size_t watched)
{
    const size_t C = labels.classes, k = C ? C : 1;

    *t = (struct learn_target){ .q = q, .labels = labels, .count = C ? C : 2 };
    return k * (q * q + q + 1) + (C ? watched * (q + 3 * C) : 0);
}

void learn_target_room(struct learn_target *t, double *room)
{
    const size_t k = t->labels.classes ? t->labels.classes : 1;

    t->inverse = room;
    t->w = t->inverse + k * t->q * t->q;
    t->mean = t->w + k * t->q;
    t->work = t->mean + k;
}

void learn_target_begin(struct learn_target *t, double size, size_t n, const double *y)
{
    struct dirichlet_value of[2];

    if (!t->labels.classes) {
        t->theta[0] = -log(size);
        t->theta[1] = log(0.1);
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

void learn_target_from(struct learn_target *t, double amplitude, double noise)
{
    for (size_t i = 0; i < t->count; i++)
        t->theta[i] = 2.0 * log(t->labels.classes || i == 0 ? amplitude : noise);
}

void learn_target_least(struct learn_target *t, double least)
{
    if (!t->labels.classes && least > 0.0)
        t->theta[1] = fmax(t->theta[1], log(least));
}

void learn_target_hold(struct learn_target *t, const struct tune_opts *o)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_bound *b = t->labels.classes || i == 0 ? &o->amplitude : &o->noise;
        const double lo = b->fixed ? b->value : b->lo, hi = b->fixed ? b->value : b->hi;
        if (lo > 0.0 && t->theta[i] < 2.0 * log(lo))
            t->theta[i] = 2.0 * log(lo);
        if (hi > 0.0 && t->theta[i] > 2.0 * log(hi))
            t->theta[i] = 2.0 * log(hi);
    }
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
    struct nmll_columns c = { .n = r->n, .q = t->q, .F = r->F, .y = r->y,
                              .log_scale = t->theta[0], .log_noise = t->theta[1], .w = t->w,
                              .inverse = t->inverse, .dF = r->dF };
    const enum status rc = nmll_columns(&c, pool, err);
    t->grad[0] = c.dscale;
    t->grad[1] = c.dnoise;
    r->nmll = c.nmll;
    r->effdim = c.effdim;
    return rc;
}

/* Rows of numbers. */
static struct learn_told numbers(const struct learn_target *t, size_t n, const double *F,
                                 const double *y)
{
    const double s2 = exp(t->theta[1]);
    struct learn_told told = { 0.0, 0.0 };

    for (size_t i = 0; i < n; i++) {
        const double *f = F + i * t->q;
        double var = 0.0;
        for (size_t j = 0; j < t->q; j++)
            var += f[j] * blas_ddot(t->q, t->inverse + j * t->q, f);
        var = s2 * (1.0 + var);
        const double r = y[i] - blas_ddot(t->q, t->w, f);
        told.density += 0.5 * (log(2.0 * M_PI * var) + r * r / var) / (double)n;
        told.error += r * r / (double)n;
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
    struct learn_told told = { 0.0, 0.0 };
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
        *told = numbers(t, n, r->F, r->y);
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
    p->amplitude = exp(0.5 * (t->labels.classes ? sum : t->theta[0]));
    p->noise = t->labels.classes ? sqrt(of[0].var) : exp(0.5 * t->theta[1]);
    p->amplitudes[0] = p->amplitude;
    p->noises[0] = p->noise;
}
