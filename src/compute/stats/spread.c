/* compute/stats/spread.c -- see spread.h.  The weights of target j are m->spread[j (c + 1)] and
 * on, c of them and then a constant: log s(x) = z(x)'w + constant.  Errors may
 * depend on inputs on which the mean does not, so that the regression has hyperparameters of its
 * own, by its marginal likelihood; the ratio of noise to amplitude is then the one that predicts
 * left-out log |e| best, as in any fit by features: errors that do not depend on the row give a
 * constant scale. */
#include "compute/stats/spread.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/models/model_impl.h"
#include "compute/tuners/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 512, EVALS = 40 };
/* Errors below this share of their root mean square say no more than it. */
static const double LEAST = 1e-4, FARTHEST = 30.0;

/* y <- log |e| of a target, of mean 0 and variance 1; returns the mean, *sd is the root of the
 * variance. */
static double logs(size_t n, const double *e, double *y, double *sd)
{
    double square = 0.0, mean = 0.0, all = 0.0;

    for (size_t i = 0; i < n; i++)
        square += e[i] * e[i] / (double)n;
    const double least = fmax(LEAST * sqrt(square), 1e-300);
    for (size_t i = 0; i < n; i++) {
        y[i] = log(fmax(fabs(e[i]), least));
        mean += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        all += (y[i] - mean) * (y[i] - mean) / (double)n;
    *sd = sqrt(all);
    for (size_t i = 0; i < n; i++)
        y[i] = *sd > 0.0 ? (y[i] - mean) / *sd : 0.0;
    return mean;
}

static enum status refuse(const struct model *m, struct err *err)
{
    if (!kernel_draws_none(&m->kernel))
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "calibration-method",
              "method=local needs random features of the kernel, and this one has none");
    err_hint(err, "calibrate method=conformal");
    return ST_UNSUPPORTED;
}

/* The hyperparameters of the regression, by its marginal likelihood. */
static enum status tune(const struct fit_opts *o, const struct source *train, const double *y,
                        const struct tools *on, double *hp, struct err *err)
{
    struct tune_result found = { 0 };
    const struct tune_opts t = { .method = "bayes", .kind = model_kind_usual(false),
                                 .targets = o->targets, .features = o->features / 2,
                                 .max_evals = EVALS, .polish = true, .seed = o->seed,
                                 .precision = PREC_DOUBLE };
    const enum status rc = tune_run(&o->kernel, train, y, &t, on, &found, err);

    if (rc == ST_OK)
        memcpy(hp, found.best.hp, sizeof found.best.hp);
    tune_result_free(&found);
    return rc == ST_OK && ctl_stopped(on->ctl) ? err_set(err, ST_CANCELLED, "stopped") : rc;
}

/* Makes the mean of (e/s)^2 over the training rows 1; s: t vectors of n for its use. */
static enum status level(struct model *m, const struct source *train, const double *e, double *s,
                         const struct tools *on, struct err *err)
{
    const size_t n = train->n;
    const enum status rc = spread_at(m, train, s, on, err);

    for (size_t j = 0; rc == ST_OK && j < m->t; j++) {
        double sum = 0.0;
        for (size_t i = j * n; i < (j + 1) * n; i++)
            sum += e[i] / s[i] * (e[i] / s[i]) / (double)n;
        if (sum > 0.0 && isfinite(sum))
            spread_multiply(m, j, sqrt(sum));
    }
    return rc;
}

enum status spread_fit(struct model *m, const struct source *train, const double *e,
                       const struct tools *on, struct err *err)
{
    const size_t n = train->n, c = kernel_learns(&m->kernel) ? m->M : FEATURES;
    double sd[TARGETS_MOST], mean[TARGETS_MOST];
    struct fit_opts o = { .kind = model_kind_usual(false), .solver = "direct", .features = c,
                          .variance = VAR_NONE, .precision = PREC_DOUBLE, .rtol = 1e-8,
                          .maxit = 1, .seed = m->seed, .targets = m->t, .kernel = m->kernel,
                          .amplitude = 1.0, .noise = 1.0, .scale = SCALE_LIKELIEST };
    struct fit_info info;
    struct model *log_scale = NULL;
    double *y = NULL;
    enum status rc = refuse(m, err);

    memcpy(o.hp, m->hp, sizeof o.hp);
    if (rc == ST_OK)
        y = mem_calloc(m->t, (n + 1) * sizeof *y, "logarithms of errors", err);
    if (rc == ST_OK && y)
        m->spread = mem_calloc(m->t, (c + 1) * sizeof *m->spread, "the local scale", err);
    if (rc == ST_OK && (!y || !m->spread))
        rc = ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < m->t; j++)
        mean[j] = logs(n, e + j * n, y + j * n, &sd[j]);
    if (rc == ST_OK && !kernel_learns(&m->kernel))
        rc = tune(&o, train, y, on, o.hp, err);
    memcpy(m->spread_hp, o.hp, sizeof o.hp);
    if (rc == ST_OK)
        rc = model_fit(train, y, &o, on, &log_scale, &info, NULL, err);
    for (size_t j = 0; rc == ST_OK && j < m->t; j++) {
        double *to = m->spread + j * (c + 1);
        for (size_t i = 0; i < c; i++)
            to[i] = sd[j] * log_scale->w[j * c + i];
        to[c] = mean[j];
    }
    m->nspread = rc == ST_OK ? c : 0;
    m->one_spread = false;
    if (rc == ST_OK)
        rc = level(m, train, e, y, on, err);
    model_unref(log_scale);
    free(y);
    return rc;
}

enum status spread_of_all(struct model *m, struct err *err)
{
    m->nspread = 0;
    m->spread = mem_calloc(m->t, sizeof *m->spread, "the scale of errors", err);
    m->one_spread = m->spread != NULL;
    return m->spread ? ST_OK : ST_NOMEM;
}

enum status spread_at(const struct model *m, const struct source *src, double *s,
                      const struct tools *on, struct err *err)
{
    const struct fop_opts fo = {.pool = on->pool, .ctl = on->ctl, .precision = PREC_DOUBLE};
    const size_t n = src->n, c = m->nspread;
    struct model_map z = { .f = NULL };
    struct model own; /* with the hyperparameters of the scale */

    model_alias(m, &own);
    for (size_t i = 0; m->one_spread && i < m->t * n; i++)
        s[i] = exp(m->spread[i / n]);
    if (m->one_spread)
        return ST_OK;
    double *w = mem_calloc(m->t, c * sizeof *w, "the local scale", err);

    memcpy(own.hp, m->spread_hp, sizeof own.hp);
    enum status rc = w ? model_open(&own, c, src, &fo, on->be, &z, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < m->t; j++)
        memcpy(w + j * c, m->spread + j * (c + 1), c * sizeof *w);
    if (rc == ST_OK)
        rc = fop_zp(z.f, m->t, w, s, on->ctl, err);
    for (size_t j = 0; rc == ST_OK && j < m->t; j++) {
        const double constant = m->spread[j * (c + 1) + c];
        for (size_t i = 0; i < n; i++)
            s[j * n + i] = exp(constant + fmax(-FARTHEST, fmin(FARTHEST, s[j * n + i])));
    }
    model_close(&z);
    free(w);
    return rc;
}

void spread_multiply(struct model *m, size_t j, double factor)
{
    m->spread[j * (m->nspread + 1) + m->nspread] += log(factor);
}
