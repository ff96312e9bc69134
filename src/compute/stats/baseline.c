/* compute/stats/baseline.c -- ridge regression as a Gaussian process: the linear kernel and a
 * constant one, whose features are the inputs and a one.  See baseline.h. */
#include "compute/stats/baseline.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/nmll.h"
#include "compute/models/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool baseline_is_dear(size_t n, size_t d)
{
    const double rows = (double)n, inputs = (double)d;

    /* The reduction to tridiagonal form waits for memory: it takes as long as 20 d^3 in a
     * product. */
    return d > 4096 || inputs * inputs * (rows + 20.0 * fmin(rows, inputs)) > 2e11;
}

/* The prior standard deviation of the intercept over that of a weight, so large that the intercept
 * is hardly shrunk. */
static const double intercept = 100.0;

/* The mean and the standard deviation of n numbers (divided by n). */
static void moments(size_t n, const double *y, double *mean, double *sd)
{
    double sum = 0.0, squares = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += y[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - *mean) * (y[i] - *mean);
    *sd = sqrt(squares / (double)n);
}

/* The likeliest amplitude and noise of each target, all with one ratio. */
static enum status likeliest(const struct source *train, const struct fit_opts *o, const double *y,
                             const struct tools *on, double *amplitude, double *noise,
                             struct err *err)
{
    const struct fop_opts fo = {
        .pool = on->pool, .ctl = on->ctl, .precision = PREC_DOUBLE, .row_scale = train->row_scale};
    const struct nmll_bounds within = { { 1e-6, 1e3 }, { 1e-4, 1e2 } };
    const struct nmll_ask ask = { .t = o->targets, .y = y, .hp = o->hp,
                                  .nhp = kernel_nhp(&o->kernel), .scale = NMLL_BEST,
                                  .within = &within };
    double value;
    const struct nmll_told told = { .value = &value, .amplitude = amplitude, .noise = noise };
    struct featmap *map = featmap_new(&o->kernel, train->d, o->features, 0, err);
    struct fop *f = map ? fop_new(on->be, map, train, &fo, err) : NULL;
    enum status rc = f ? nmll_features(f, &ask, &told, on->ctl, err) : err ? err->code : ST_NOMEM;

    if (rc == ST_OK && !isfinite(value))
        rc = err_set(err, ST_RANGE, "ridge regression has no likeliest parameter here");
    fop_free(f);
    featmap_free(map);
    return rc;
}

/* z: y centred and divided by its sd. */
static enum status standardise(size_t n, size_t t, const double *y, double *z, double *mean,
                               double *sd, struct err *err)
{
    for (size_t j = 0; j < t; j++) {
        moments(n, y + j * n, &mean[j], &sd[j]);
        if (!(sd[j] > 0.0))
            return err_named(err, ST_RANGE, "constant-target",
                             "the target is constant on the %zu training rows", n);
        for (size_t i = 0; i < n; i++)
            z[j * n + i] = (y[j * n + i] - mean[j]) / sd[j];
    }
    return ST_OK;
}

/* The likelihood wants targets times the row factors, the fit multiplies by itself. */
static void weigh(const struct source *train, size_t t, double *z, bool divide)
{
    for (size_t i = 0; train->row_scale && i < t * train->n; i++) {
        const double f = train->row_scale[i % train->n];
        z[i] *= divide ? 1.0 / f : f;
    }
}

static enum status predict(const struct model *m, const struct source *test, const double *mean,
                           const double *sd, const struct tools *on, struct baseline_ridge *out,
                           struct err *err)
{
    const enum status rc = model_predict(m, test, out->mean, out->var, on, err);

    for (size_t j = 0; rc == ST_OK && j < m->t; j++)
        for (size_t i = 0; i < test->n; i++) {
            const size_t k = j * test->n + i;
            const double f = test->row_scale ? test->row_scale[i] : 1.0;
            const double noise = m->noises[j] / f;
            out->mean[k] = mean[j] + sd[j] * out->mean[k];
            out->var[k] = sd[j] * sd[j] * (out->var[k] + noise * noise);
        }
    return rc;
}

enum status baseline_ridge(const struct source *train, size_t t, const double *y,
                           const struct source *test, const struct tools *on,
                           struct baseline_ridge *out, struct err *err)
{
    struct fit_opts o = { .targets = t, .rtol = 1e-6, .maxit = 1, .variance = VAR_ALL,
                          .precision = PREC_DOUBLE, .solver = "direct", .keep_ratio = true,
                          .scale = SCALE_LIKELIEST };
    double mean[TARGETS_MOST], sd[TARGETS_MOST], amplitude[TARGETS_MOST] = { 0 },
                                                 noise[TARGETS_MOST] = { 0 };
    double *z = mem_calloc(t * train->n, sizeof *z, "ridge regression", err);
    struct fit_info info;
    struct model *m = NULL;
    enum status rc = z ? ST_OK : ST_NOMEM;

    if (rc == ST_OK)
        rc = kernel_parse("linear + constant", &o.kernel, o.hp, err);
    if (rc == ST_OK)
        rc = source_suits(train, &o.kernel, err);
    if (rc == ST_OK)
        rc = standardise(train->n, t, y, z, mean, sd, err);
    o.hp[0] = intercept; /* the weight of the constant, the only hyperparameter */
    o.features = featmap_least(&o.kernel, train->d);
    o.features += o.features % 2;
    if (rc == ST_OK) {
        weigh(train, t, z, false);
        rc = likeliest(train, &o, z, on, amplitude, noise, err);
        weigh(train, t, z, true);
    }
    o.amplitude = amplitude[0];
    o.noise = noise[0];
    if (rc == ST_OK)
        rc = model_fit(train, z, &o, on, &m, &info, NULL, err);
    if (rc == ST_OK && ctl_stopped(on->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = predict(m, test, mean, sd, on, out, err);
    if (rc == ST_OK)
        out->lambda = o.noise * o.noise / (o.amplitude * o.amplitude);
    model_unref(m);
    free(z);
    return rc;
}
