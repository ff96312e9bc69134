/* compute/tuners/tune_nlopt.c -- descent by L-BFGS with exact gradients (share/doc/methods.md 6.6),
 * and by a simplex or BOBYQA without gradients; the only file that uses NLopt.
 *
 * Variables: the free hyperparameters on the unit scale of their bounds, and where amplitude and
 * noise are not profiled out, their logarithms.  The first step of NLopt's L-BFGS is as long as the
 * gradient; the objective is scaled so that this step is a tenth of a unit. */
#include "compute/tuners/tune_impl.h"

#include "base/mem.h"
#include "compute/likelihood/nmll.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VARS = KERNEL_MAX_HP + 2 };

struct descent {
    struct tune_job *job;
    bool full, joint;
    size_t nvars, amp_at, noise_at; /* indices of log amplitude and log noise; MAX_VARS: fixed */
    double amplitude, noise;        /* those of the start, or the fixed ones */
    double scale;                   /* objective = scale * nmll */
    double lo[MAX_VARS], hi[MAX_VARS];
    double x[MAX_VARS], f, g[MAX_VARS]; /* the last good evaluation */
    bool have;
    double least;                   /* the least value so far, */
    size_t stale;                   /* and how many evaluations since have not improved it */
    size_t end;                     /* evaluations of the tuning when the limit is reached */
    double *terms;                  /* the probes' terms at x; NULL: values are exact */
    enum status rc;
    struct err *err;
    nlopt_opt opt;
};

/* The NMLL and its gradient at x.  False when the point has no value or the descent must end. */
static bool descent_eval(struct descent *d, const double *x, double *f, double *g)
{
    struct tune_job *job = d->job;
    double gradu[MAX_VARS] = { 0 };
    struct tune_point p;

    if (d->joint) {
        const double a = d->amp_at < MAX_VARS ? exp(x[d->amp_at]) : d->amplitude;
        const double s = d->noise_at < MAX_VARS ? exp(x[d->noise_at]) : d->noise;
        d->rc =
            job->targets > 1
                ? tune_eval_at(job, x, a, s, gradu, &p, d->err)
                : tune_eval_at(
                      job, x, fmin(fmax(a, job->within.amplitude[0]), job->within.amplitude[1]),
                      fmin(fmax(s, job->within.noise[0]), job->within.noise[1]), gradu, &p, d->err);
    } else {
        d->rc = tune_eval(job, x, d->full, gradu, &p, d->err);
    }
    if (d->rc != ST_OK) {
        if (d->opt != NULL)
            nlopt_force_stop(d->opt);
        return false;
    }
    *f = p.nmll;
    memcpy(g, gradu, job->nfree * sizeof *g);
    if (d->amp_at < MAX_VARS)
        g[d->amp_at] = gradu[job->nfree];
    if (d->noise_at < MAX_VARS)
        g[d->noise_at] = gradu[job->nfree + 1];
    for (size_t i = 0; i < d->nvars; i++)
        if (!isfinite(g[i]))
            return false;
    return isfinite(p.nmll);
}

/* The number of evaluations without improvement that ends a descent.  A line search may need more
 * for a sum or product, where one hyperparameter (a period) can be far stiffer than the others. */
enum { STALE = 3, STALE_SUM = 10 };

/* The expected gain of a further step, g'g / (2 h), with the curvature h = dx'dg / dx'dx between
 * the last two points.  Components that a bound holds do not count. */
static double promise(const struct descent *d, const double *x, const double *g)
{
    double dx2 = 0.0, dxdg = 0.0, gg = 0.0;

    for (size_t i = 0; i < d->nvars; i++) {
        const double dx = x[i] - d->x[i];
        const bool out = (x[i] <= d->lo[i] && g[i] > 0.0) || (x[i] >= d->hi[i] && g[i] < 0.0);
        dx2 += dx * dx;
        dxdg += dx * (g[i] - d->g[i]);
        gg += out ? 0.0 : g[i] * g[i];
    }
    return dxdg > 0.0 && dx2 > 0.0 ? 0.5 * gg * dx2 / dxdg : INFINITY;
}

/* True when the expected gain of the next step is less than the standard error of that difference.
 * The latter is taken as that of the last step (share/doc/methods.md 10.6), in proportion to the
 * lengths of the steps.  The probes are the same at all points, so that it is far smaller than the
 * error of a value. */
static bool tied(struct descent *d, const double *x, const double *g, double f, double gain)
{
    struct tune_job *job = d->job;
    double dx2 = 0.0, gg = 0.0;

    if (d->terms == NULL)
        return false;
    if (job->other_probes) {
        job->other_probes = false;
        memcpy(d->terms, job->terms, job->nprobes * sizeof *d->terms);
        return false;
    }
    const double error = nmll_slq_difference(job->nprobes, job->terms, d->terms);
    for (size_t i = 0; i < d->nvars; i++) {
        const bool out = (x[i] <= d->lo[i] && g[i] > 0.0) || (x[i] >= d->hi[i] && g[i] < 0.0);
        dx2 += (x[i] - d->x[i]) * (x[i] - d->x[i]);
        gg += out ? 0.0 : g[i] * g[i];
    }
    /* gain = |g|^2 / (2 h), the step |g| / h = 2 gain / |g| */
    const double ahead = error * 2.0 * gain / sqrt(gg * dx2);
    memcpy(d->terms, job->terms, job->nprobes * sizeof *d->terms);
    if (!isfinite(ahead) || !(gain < ahead) || !(f <= d->least + error))
        return false;
    if (d->full) {
        job->res->why = TUNE_TIE;
        job->res->tie_gain = gain;
        job->res->tie_error = ahead;
    }
    return true;
}

/* The scaled NMLL and its gradient for NLopt; ends the descent when neither further steps nor
 * the expected gain matter. */
static double objective(unsigned n, const double *x, double *grad, void *ctx)
{
    struct descent *d = ctx;

    if (!(d->have && memcmp(x, d->x, n * sizeof *x) == 0)) {
        double f, g[MAX_VARS];
        if (!descent_eval(d, x, &f, g)) { /* no value: a wall, with a gradient that points back */
            for (unsigned i = 0; grad != NULL && i < n; i++)
                grad[i] = d->scale * d->g[i] + (x[i] - d->x[i]);
            return d->scale * (d->f + fabs(d->f) + 1e3);
        }
        const double tol = tune_tolerance(d->job), more = promise(d, x, g);
        const bool tie = tied(d, x, g, f, more);
        memcpy(d->x, x, n * sizeof *x);
        memcpy(d->g, g, n * sizeof *g);
        d->f = f;
        /* NLopt's own test applies only to steps that it has accepted. */
        d->stale = f < d->least - tol ? 0 : d->stale + 1;
        d->least = fmin(d->least, f);
        if (d->stale >= (d->job->kernel->nterms > 1 ? STALE_SUM : STALE) ||
            (f <= d->least + tol && more < tol) || tie)
            nlopt_force_stop(d->opt);
        /* Its own count ends where a line search does. */
        if (d->job->opts->max_evals > 0 && d->job->res->evaluations >= d->end) {
            d->job->res->why = d->full ? TUNE_EVALS : d->job->res->why;
            nlopt_force_stop(d->opt);
        }
    }
    for (unsigned i = 0; grad != NULL && i < n; i++)
        grad[i] = d->scale * d->g[i];
    return d->scale * d->f;
}

static void clip_vars(const struct descent *d, double *x)
{
    for (size_t i = 0; i < d->nvars; i++)
        x[i] = fmin(fmax(x[i], d->lo[i]), d->hi[i]);
}

/* The variables, their start and bounds. */
static void descent_vars(struct descent *d, const struct tune_point *from, double *x)
{
    struct tune_job *job = d->job;
    double *lo = d->lo, *hi = d->hi;

    tune_from_hp(job, from->hp, x);
    for (size_t i = 0; i < job->nfree; i++) {
        lo[i] = 0.0;
        hi[i] = 1.0;
    }
    d->nvars = job->nfree;
    d->amp_at = d->noise_at = MAX_VARS;
    d->amplitude = fmin(fmax(from->amplitude, job->within.amplitude[0]), job->within.amplitude[1]);
    d->noise = fmin(fmax(from->noise, job->within.noise[0]), job->within.noise[1]);
    if (d->joint && job->targets > 1) { /* amplitudes are profiled: the variable is the ratio */
        const double low = job->within.noise[0] / job->within.amplitude[1],
                     high = job->within.noise[1] / job->within.amplitude[0];
        d->noise = fmin(fmax(d->noise / d->amplitude, low), high);
        d->amplitude = 1.0;
        if (high > low * (1.0 + 1e-12)) {
            d->noise_at = d->nvars++;
            x[d->noise_at] = log(d->noise);
            lo[d->noise_at] = log(low);
            hi[d->noise_at] = log(high);
        }
        clip_vars(d, x);
        return;
    }
    if (d->joint && job->within.amplitude[1] > job->within.amplitude[0] * (1.0 + 1e-12)) {
        d->amp_at = d->nvars++;
        x[d->amp_at] = log(d->amplitude);
        lo[d->amp_at] = log(job->within.amplitude[0]);
        hi[d->amp_at] = log(job->within.amplitude[1]);
    }
    if (d->joint && job->within.noise[1] > job->within.noise[0] * (1.0 + 1e-12)) {
        d->noise_at = d->nvars++;
        x[d->noise_at] = log(d->noise);
        lo[d->noise_at] = log(job->within.noise[0]);
        hi[d->noise_at] = log(job->within.noise[1]);
    }
    clip_vars(d, x);
}

/* Scales the objective by the gradient at the start and runs L-BFGS. */
static enum status descent_run(struct descent *d, double *x, size_t max_evals)
{
    const double *lo = d->lo, *hi = d->hi;
    double gmax = 0.0, minf;
    const unsigned n = (unsigned)d->nvars;

    if (max_evals == 0)
        return ST_OK;
    d->end = d->job->res->evaluations + max_evals;
    if (!descent_eval(d, x, &d->f, d->g))
        return d->rc; /* no value at the start: nothing to descend from */
    memcpy(d->x, x, n * sizeof *x);
    if (d->terms)
        memcpy(d->terms, d->job->terms, d->job->nprobes * sizeof *d->terms);
    d->have = true;
    d->least = d->f;
    for (unsigned i = 0; i < n; i++) { /* a component that pushes out of the box does not count */
        const bool out = (x[i] <= lo[i] && d->g[i] > 0.0) || (x[i] >= hi[i] && d->g[i] < 0.0);
        gmax = fmax(gmax, out ? 0.0 : fabs(d->g[i]));
    }
    const double tol = tune_tolerance(d->job);
    if (gmax * 1e-4 < 0.1 * tol || max_evals < 2)
        return ST_OK;
    d->scale = (d->joint ? 0.1 : 0.03) / gmax;
    d->opt = nlopt_create(NLOPT_LD_LBFGS, n);
    if (d->opt == NULL)
        return err_nomem(d->err, n * 64u, "the optimiser");
    nlopt_set_min_objective(d->opt, objective, d);
    nlopt_set_lower_bounds(d->opt, lo);
    nlopt_set_upper_bounds(d->opt, hi);
    nlopt_set_maxeval(d->opt, (int)max_evals);
    nlopt_set_ftol_abs(d->opt, tol * d->scale);
    nlopt_set_xtol_abs1(d->opt, tune_is_smooth(d->job) ? 1e-9 : 1e-4);
    /* Its failures (roundoff, line search) end the descent; the trace holds the best point. */
    const nlopt_result why = nlopt_optimize(d->opt, x, &minf);
    if (d->full && why == NLOPT_MAXEVAL_REACHED)
        d->job->res->why = TUNE_EVALS;
    nlopt_destroy(d->opt);
    d->opt = NULL;
    return d->rc;
}

enum status tune_descend(struct tune_job *job, const struct tune_point *from, bool full,
                         size_t max_evals, struct err *err)
{
    struct descent d = { .job = job, .full = full, .scale = 1.0, .err = err };
    double x[MAX_VARS] = { 0 };

    d.joint = job->kind->joint || (job->opts->approx && full);
    descent_vars(&d, from, x);
    if (d.nvars == 0) { /* everything fixed: one evaluation */
        struct tune_point p;
        if (!from->subsampled && isfinite(from->nmll))
            return ST_OK;
        return d.joint ? tune_eval_at(job, x, d.amplitude, d.noise, NULL, &p, err)
                       : tune_eval(job, x, full, NULL, &p, err);
    }
    if (d.joint && job->opts->approx) {
        d.terms = mem_calloc(job->nprobes, sizeof *d.terms, "the probes", err);
        if (d.terms == NULL)
            return ST_NOMEM;
    }
    const enum status rc = descent_run(&d, x, max_evals);
    free(d.terms);
    return rc;
}

/* Descent without gradients. */

struct simplex {
    struct tune_job *job;
    bool full;
    enum status rc;
    struct err *err;
    nlopt_opt opt;
};

static double simplex_value(unsigned n, const double *x, double *grad, void *ctx)
{
    struct simplex *s = ctx;
    struct tune_point p;

    (void)n;
    (void)grad;
    s->rc = tune_eval(s->job, x, s->full, NULL, &p, s->err);
    if (s->rc != ST_OK) {
        nlopt_force_stop(s->opt);
        return HUGE_VAL;
    }
    return isfinite(p.score) ? p.score : 1e300;
}

enum status tune_descend_free(struct tune_job *job, const struct tune_point *from, bool full,
                              enum tune_free how, double first, size_t max_evals, struct err *err)
{
    struct simplex s = { .job = job, .full = full, .rc = ST_OK, .err = err };
    double x[MAX_VARS] = { 0 }, lo[MAX_VARS] = { 0 }, hi[MAX_VARS], step[MAX_VARS], least;
    const nlopt_algorithm algorithm = how == TUNE_BOBYQA && job->nfree > 1 ? NLOPT_LN_BOBYQA
                                                                           : NLOPT_LN_NELDERMEAD;

    if (max_evals == 0)
        return ST_OK;
    if (job->nfree == 0) {
        struct tune_point p;
        return tune_eval(job, x, full, NULL, &p, err);
    }
    tune_from_hp(job, from->hp, x);
    for (size_t i = 0; i < job->nfree; i++) {
        hi[i] = 1.0;
        step[i] = x[i] > 0.5 ? -first : first;
    }
    s.opt = nlopt_create(algorithm, (unsigned)job->nfree);
    if (s.opt == NULL)
        return err_nomem(err, job->nfree * 64u, "the optimiser");
    nlopt_set_min_objective(s.opt, simplex_value, &s);
    nlopt_set_lower_bounds(s.opt, lo);
    nlopt_set_upper_bounds(s.opt, hi);
    nlopt_set_initial_step(s.opt, step);
    nlopt_set_maxeval(s.opt, (int)max_evals);
    nlopt_set_xtol_abs1(s.opt, 2e-3);
    nlopt_set_ftol_abs(s.opt, 1e-6 * (double)job->full.n);
    nlopt_optimize(s.opt, x, &least); /* however it ends, the trace holds the best point */
    nlopt_destroy(s.opt);
    return s.rc;
}
