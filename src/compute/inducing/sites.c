/* compute/inducing/sites.c -- see sites.h. */
#include "compute/inducing/sites.h"

#include "base/mem.h"
#include "compute/inducing/weigh.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll_impl.h"

#include <math.h>
#include <stdlib.h>

#define SEARCHED 1e-4 /* tolerance while the amplitude is searched for */

static const struct nmll_bounds anywhere = { .amplitude = { 1e-2, 1e2 }, .noise = { 1e-4, 1e2 } };

void sites_free(struct sites *s)
{
    bound_free(&s->b);
    free(s->all);
    *s = (struct sites){ 0 };
}

enum status sites_make(const struct columns_of *rows, const double *Z, size_t m,
                       const struct likelihood_ops *of, const double *y, struct sites *s,
                       const struct ctl *ctl, struct err *err)
{
    const size_t n = rows->n;

    *s = (struct sites){ .of = of, .b = { .approx = BOUND_FITC, .m = m, .t = 1, .y = y } };
    enum status rc = bound_make(rows, Z, &s->b, ctl, err);
    if (rc != ST_OK)
        return rc;
    s->all = mem_aligned(n * m + m * m + m + 3 * n, sizeof *s->all, "the sites", err);
    if (s->all == NULL) {
        sites_free(s);
        return ST_NOMEM;
    }
    s->low = (struct latent_low){ .m = m, .V = s->b.V, .missed = s->b.missed, .W = s->all,
                                  .F = s->all + n * m, .u = s->all + n * m + m * m,
                                  .levelled = true };
    double *tau = s->low.u + m;
    s->l = (struct latent){ .pool = rows->pool, .n = n, .y = y, .tau = tau, .alpha = tau + n,
                            .nu = tau + 2 * n };
    return ST_OK;
}

enum status sites_at(struct sites *s, double amplitude, double tolerance, const struct ctl *ctl,
                     struct err *err)
{
    s->low.amplitude = amplitude;
    s->l.low = &s->low;
    s->l.tolerance = tolerance;
    return s->of->posterior(&s->l, ctl, err);
}

struct search { struct sites *s; const struct ctl *ctl; };

static enum status value_at(void *ctx, double amplitude, double *value, struct err *err)
{
    const struct search *q = ctx;
    const enum status rc = sites_at(q->s, amplitude, SEARCHED, q->ctl, err);

    *value = -q->s->l.evidence;
    return rc;
}

enum status sites_best(struct sites *s, const double within[2], double *amplitude,
                       const struct ctl *ctl, struct err *err)
{
    struct search q = { s, ctl };
    const enum status rc = nmll_search_amplitude(value_at, &q, within, amplitude, err);

    return rc == ST_OK ? sites_at(s, *amplitude, 0.0, ctl, err) : rc;
}

/* Sites that do not move are a regression on nu / tau with noise 1 / tau, thus of rows with the
 * factors sqrt(tau) and noise 1 (16.17). */
struct fixed { double *f; struct columns_of rows; struct bound b; struct bound_at at; };

static void fixed_free(struct fixed *x)
{
    bound_at_free(&x->at);
    bound_free(&x->b);
    free(x->f);
}

static enum status fixed_make(const struct columns_of *rows, const double *Z,
                              const struct sites *s, struct fixed *x, const struct ctl *ctl,
                              struct err *err)
{
    const size_t n = s->l.n;

    *x = (struct fixed){ .f = mem_calloc(2 * n, sizeof *x->f, "the sites", err), .rows = *rows };
    if (x->f == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        x->f[i] = sqrt(s->l.tau[i]);
        x->f[i + n] = s->l.nu[i] / x->f[i];
    }
    x->rows.row_scale = x->f;
    x->b = (struct bound){ .approx = BOUND_FITC, .m = s->b.m, .t = 1, .y = x->f + n };
    const enum status rc = bound_make(&x->rows, Z, &x->b, ctl, err);
    return rc == ST_OK ? bound_at(&x->b, 1.0 / (s->low.amplitude * s->low.amplitude), &x->at, err)
                       : rc;
}

/* Sites that are stationary move nothing: the slope is that of the regression. */
enum status sites_slope(const struct columns_of *rows, const double *Z, const struct sites *s,
                        double *grad, const struct ctl *ctl, struct err *err)
{
    struct fixed x;
    enum status rc = fixed_make(rows, Z, s, &x, ctl, err);

    if (rc == ST_OK)
        rc = bound_slope(&x.rows, Z, &x.b, &x.at, &s->low.amplitude, grad, ctl, err);
    if (rc == ST_OK)
        grad[kernel_nhp(rows->k) + 1] = 0.0;
    fixed_free(&x);
    return rc;
}

enum status sites_weigh(const struct columns_of *rows, const double *Z, const struct sites *s,
                        double *loss, const struct ctl *ctl, struct err *err)
{
    struct fixed x;
    enum status rc = fixed_make(rows, Z, s, &x, ctl, err);

    if (rc == ST_OK)
        rc = weigh_points(&x.rows, Z, &x.b, &x.at, &s->low.amplitude, loss, ctl, err);
    fixed_free(&x);
    return rc;
}

/* The likeliest amplitude and ratio of the regression with these points. */
static enum status judged_at(const struct select_job *job, const struct select_points *p,
                             double *amplitude, double *ratio, struct err *err)
{
    struct bound b = { .approx = job->o->approx, .m = p->m, .t = 1, .y = job->y };
    double value, noise = 0.0;
    const struct nmll_told told = { .value = &value, .amplitude = amplitude, .noise = &noise };
    enum status rc = bound_make(job->rows, p->Z, &b, job->ctl, err);

    if (rc == ST_OK)
        rc = bound_best(&b, &anywhere, &told, err);
    if (rc == ST_OK)
        *ratio = noise * noise / (*amplitude * *amplitude);
    bound_free(&b);
    return rc;
}

enum status sites_choose(const struct select_job *of, const struct select_points *by, bool *stopped,
                         struct err *err)
{
    struct select_opts o = *of->o;
    struct select_job job = *of;
    double amplitude = 1.0;
    enum status rc = ST_OK;

    o.approx = BOUND_VFE; /* sets are compared by what is a bound */
    job.o = &o;
    job.t = 1;
    job.amplitude = &amplitude;
    job.ratio = 1.0;
    if (o.ops && o.ops->judged) {
        struct select_points random = { 0 };
        struct select_opts drawn = o;
        drawn.ops = select_at(0);
        if (by == NULL) {
            job.o = &drawn;
            job.out = &random;
            rc = select_points(&job, err);
        }
        if (rc == ST_OK)
            rc = judged_at(&job, by ? by : &random, &amplitude, &job.ratio, err);
        select_points_free(&random);
        job.o = &o;
        job.out = of->out;
    }
    if (rc == ST_OK)
        rc = select_points(&job, err);
    *stopped = job.stopped;
    return rc;
}
