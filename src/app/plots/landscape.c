/* app/plots/landscape.c -- see landscape.h.
 *
 * The likelihood is computed in nmll_landscape.h. This file makes axes, grids, words and
 * figures. */
#include "app/plots/landscape.h"

#include "app/runs/fitting.h"
#include "app/core/job.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "app/plots/plots.h"
#include "app/runs/fit_setup.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/nmll_landscape.h"
#include "compute/models/exact.h"
#include "compute/models/exact_op.h"
#include "compute/preconds/precond.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID_MOST = 101,
    APPROX_ROWS = 20000,
    GRAM_MOST = 8192,
    EXACT_ROWS = 800,
    EXACT_MOST = 3000,
    PRODUCTS_ROWS = 2000,
    PATH_MOST = 400
};

/* One axis: a hyperparameter, or several lengthscales of one name that change by a common factor.
 * The value is then their geometric mean. */
struct direction {
    char name[KERNEL_NAME_MAX];
    double lo, hi;
    size_t slot,
        /* Set on the worker: `count` elements of hp from `slot`; nhp is the amplitude, nhp + 1 the
         * noise. */
        count;
    size_t n;
    double v[GRID_MOST];
};

struct landscape {
    struct fit_setup study;
    struct direction d[2];
    size_t nd;
    bool exact, split; /* split: for tradeoff */
    /* Estimated with probes: amplitude and noise keep their values unless they are an axis. */
    bool approx;
    size_t rank, probes;
    size_t features, rows_most, used, all;
    bool fixed_amplitude, fixed_noise; /* given in the command line */
    double amplitude, noise;
    char tuning[16], kernel[256];
    struct tune_point *path; size_t npath;
    /* Results: value (ny x nx); for tradeoff value, fit and complexity (nx each). */
    double *z, *fit, *complexity;
    /* Approx: the standard error of each place, and the contribution of each probe. */
    double *se, *terms;
    size_t best, ties; /* ties: other places that differ from the least by no more than the error */
    bool *tie;
    double seconds;
};

static void landscape_free(struct job *job)
{
    struct landscape *l = job->arg;

    if (!l)
        return;
    fit_setup_free(&l->study);
    free(l->path), free(l->z), free(l->fit), free(l->complexity);
    free(l->se), free(l->terms), free(l->tie);
    free(l);
    job->arg = NULL;
}

/* The system at one kernel setting. */

struct system {
    struct job *job;
    /* Stops with the job but reports no progress of its own, because only places of the grid
     * count. */
    struct ctl quiet;
    struct nmll_landscape *at;
};

static enum status system_open(struct system *s, struct landscape *l, struct err *err)
{
    const struct encoded *e = &l->study.e;
    const size_t used = e->base.n < l->rows_most ? e->base.n : l->rows_most;
    const struct nmll_landscape_opts o = { .kernel = &l->study.o.kernel, .exact = l->exact,
                                           .store = exact_op_keeps(used, s->job->limits.memory),
                                           .features = l->features, .seed = l->study.o.seed,
                                           .precision = l->study.o.precision,
                                           .backend = s->job->backend, .pool = s->job->pool };
    const struct nmll_landscape_rows rows = { .rows = &e->base, .y = e->y,
                                              .row_scale = e->row_scale,
                                              .t = l->split ? 1 : e->t };

    l->all = e->base.n;
    l->used = used;
    s->at = nmll_landscape_open(&o, &rows, l->used, err);
    return s->at ? ST_OK : err->code;
}

/* Grids. */

static double middle(const double *v, size_t n)
{
    double s = 0;

    for (size_t i = 0; i < n; i++)
        s += log(v[i]) / (double)n;
    return exp(s);
}

/* Finds the hyperparameters of an axis, now that the kernel is bound, and their values. */
static enum status resolve(struct landscape *l, struct direction *d, struct err *err)
{
    const struct kernel *k = &l->study.o.kernel;
    const size_t nhp = kernel_nhp(k);
    struct hparam h = { .lo = 0, .hi = INFINITY };
    char own[KERNEL_NAME_MAX];
    enum status rc = hyper_args_slot(k, d->name, &d->slot, &d->count, err);

    if (rc != ST_OK)
        return rc;
    const double now = d->slot < nhp    ? middle(l->study.o.hp + d->slot, d->count)
                       : d->slot == nhp ? l->amplitude
                                        : l->noise;
    if (d->slot < nhp)
        kernel_hp_info(k, d->slot, own, &h);
    else
        h.lo = (d->slot == nhp ? tune_amplitude_range : tune_noise_range)[0],
        h.hi = (d->slot == nhp ? tune_amplitude_range : tune_noise_range)[1];
    if (!(d->hi > d->lo)) {
        d->lo = fmax(h.lo, now / 10);
        d->hi = fmin(h.hi, now * 10);
    }
    if (!(d->lo > 0))
        return err_set(err, ST_RANGE,
                       "%s=%g..%g: a hyperparameter must be above zero", d->name, d->lo,
                       d->hi);
    for (size_t i = 0; i < d->n; i++)
        d->v[i] = d->lo * pow(d->hi / d->lo, (double)i / (double)(d->n - 1));
    return ST_OK;
}

static bool of_kernel(const struct landscape *l, const struct direction *d)
{
    return d->slot < kernel_nhp(&l->study.o.kernel);
}

static void put(const struct direction *d, double v, double *hp)
{
    const double factor = v / middle(hp + d->slot, d->count);

    for (size_t i = 0; i < d->count; i++)
        hp[d->slot + i] *= factor;
}

/* The least value at a kernel setting, over amplitude and noise unless they are an axis or
 * fixed. */
static double value_at(const struct landscape *l, const struct system *s,
                             const struct nmll_eig *q, double amplitude, double noise)
{
    struct nmll_bounds in = {{tune_amplitude_range[0], tune_amplitude_range[1]},
                             {tune_noise_range[0], tune_noise_range[1]}};

    if (isfinite(amplitude) || l->fixed_amplitude)
        in.amplitude[0] = in.amplitude[1] = isfinite(amplitude) ? amplitude : l->amplitude;
    if (isfinite(noise) || l->fixed_noise)
        in.noise[0] = in.noise[1] = isfinite(noise) ? noise : l->noise;
    return nmll_landscape_best(s->at, q, &in);
}

/* Amplitude and noise at grid place (i, j), if they are axes. */
static void scales_at(const struct landscape *l, size_t i, size_t j, double *amplitude,
                      double *noise)
{
    const size_t nhp = kernel_nhp(&l->study.o.kernel), at[2] = { i, j };

    *amplitude = *noise = NAN;
    for (size_t k = 0; k < l->nd; k++) {
        if (l->d[k].slot == nhp)
            *amplitude = l->d[k].v[at[k]];
        if (l->d[k].slot == nhp + 1)
            *noise = l->d[k].v[at[k]];
    }
}

static enum status fill(struct landscape *l, struct system *s, struct err *err)
{
    const size_t nx = l->d[0].n, ny = l->nd > 1 ? l->d[1].n : 1;
    const bool kx = of_kernel(l, &l->d[0]), ky = l->nd > 1 && of_kernel(l, &l->d[1]);
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < (ky ? ny : 1); j++)
        for (size_t i = 0; rc == ST_OK && i < (kx ? nx : 1); i++) {
            double hp[KERNEL_MAX_HP];
            struct nmll_eig q = { 0 };
            memcpy(hp, l->study.o.hp, sizeof hp);
            if (kx)
                put(&l->d[0], l->d[0].v[i], hp);
            if (ky)
                put(&l->d[1], l->d[1].v[j], hp);
            ctl_tell(&s->job->ctl, PHASE_LANDSCAPE, j * nx + i, (kx ? nx : 1) * (ky ? ny : 1), NAN);
            rc = nmll_landscape_at(s->at, hp, &q, &s->quiet, err);
            for (size_t jj = ky ? j : 0; rc == ST_OK && jj < (ky ? j + 1 : ny); jj++)
                for (size_t ii = kx ? i : 0; ii < (kx ? i + 1 : nx); ii++) {
                    double a, w;
                    scales_at(l, ii, jj, &a, &w);
                    l->z[jj * nx + ii] = value_at(l, s, &q, a, w);
                }
            nmll_eig_free(&q);
        }
    return rc;
}

/* Estimates with probes, for sizes where a Gram matrix would cost too much. */

/* One place of the grid. Amplitude and noise are the same for all targets. */
static enum status probe_place(struct landscape *l, struct system *s, size_t i, size_t j,
                               struct precond **kept, struct err *err)
{
    const size_t nhp = kernel_nhp(&l->study.o.kernel), k = j * l->d[0].n + i, at[2] = { i, j };
    double hp[KERNEL_MAX_HP], a = l->amplitude, w = l->noise;

    memcpy(hp, l->study.o.hp, sizeof hp);
    for (size_t q = 0; q < l->nd; q++) {
        const double v = l->d[q].v[at[q]];
        if (l->d[q].slot < nhp)
            put(&l->d[q], v, hp);
        else
            *(l->d[q].slot == nhp ? &a : &w) = v;
    }
    const struct nmll_slq_opts so = {.rank = l->rank,
                                     .probes = l->probes,
                                     .rtol = 1e-4,
                                     .seed = l->study.o.seed,
                                     .kept = kept,
                                     .terms = l->terms + k * l->probes};
    const struct nmll_landscape_point at_place = { hp, a, w };
    return nmll_landscape_probe(s->at, &at_place, &so, &l->z[k], &l->se[k], &s->quiet, err);
}

static enum status fill_probes(struct landscape *l, struct system *s, struct err *err)
{
    const size_t nx = l->d[0].n, ny = l->nd > 1 ? l->d[1].n : 1;
    struct precond *kept = NULL;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < nx; i++)
        for (size_t j = 0; rc == ST_OK && j < ny; j++) {
            ctl_tell(&s->job->ctl, PHASE_LANDSCAPE, i * ny + j, nx * ny, NAN);
            rc = probe_place(l, s, i, i % 2 ? ny - 1 - j : j, &kept,
                             /* Rows alternate in direction, so that consecutive places are
                              * neighbours. */
                             err);
            if (rc == ST_OK && ctl_stopped(&s->job->ctl))
                rc = err_set(err, ST_CANCELLED, "stopped");
        }
    precond_free(kept);
    return rc;
}

/* Marks places whose difference to the least is at most twice its standard error. */
static void find_ties(struct landscape *l, size_t cells)
{
    for (size_t i = 0; i < cells; i++) {
        const double d = l->z[i] - l->z[l->best];
        l->tie[i] = i != l->best && isfinite(d) &&
                    d <= 2.0 * nmll_slq_difference(l->probes, l->terms + i * l->probes,
                                                   l->terms + l->best * l->probes);
        l->ties += l->tie[i];
    }
}

/* The two parts of the likelihood at the current amplitude and noise. */
static enum status fill_parts(struct landscape *l, struct system *s, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < l->d[0].n; i++) {
        double hp[KERNEL_MAX_HP];
        struct nmll_eig q = { 0 };
        memcpy(hp, l->study.o.hp, sizeof hp);
        put(&l->d[0], l->d[0].v[i], hp);
        ctl_tell(&s->job->ctl, PHASE_TRADEOFF, i, l->d[0].n, NAN);
        rc = nmll_landscape_at(s->at, hp, &q, &s->quiet, err);
        if (rc == ST_OK) {
            const struct nmll_parts p =
                nmll_landscape_parts(s->at, &q, l->amplitude, l->noise);
            l->z[i] = p.value;
            l->fit[i] = p.fit;
            l->complexity[i] = p.complexity;
        }
        nmll_eig_free(&q);
    }
    return rc;
}

static enum status landscape_work(struct job *job, struct err *err)
{
    struct landscape *l = job->arg;
    const double t0 = job_now();
    enum status rc = fit_setup_open(&l->study, err);
    struct system s = { .job = job, .quiet = { .cancel = job->ctl.cancel } };
    size_t cells = 0;

    for (size_t k = 0; rc == ST_OK && k < l->nd; k++)
        rc = resolve(l, &l->d[k], err);
    if (rc == ST_OK && l->nd > 1 && l->d[0].slot == l->d[1].slot)
        rc = err_set(err, ST_USAGE, "both axes are %s", l->d[0].name);
    if (rc == ST_OK && l->split && !of_kernel(l, &l->d[0])) {
        rc = err_set(err, ST_USAGE,
                     "tradeoff varies a hyperparameter of the kernel; %s only scales it",
                     l->d[0].name);
        err_hint(err, "landscape %s=%g..%g", l->d[0].name, l->d[0].lo, l->d[0].hi);
    }
    if (rc == ST_OK && l->exact)
        rc = exact_allowed(l->study.e.base.n < l->rows_most ? l->study.e.base.n : l->rows_most, 2,
                           job->limits.memory, err);
    if (rc == ST_OK) {
        cells = l->d[0].n * (l->nd > 1 ? l->d[1].n : 1);
        l->z = mem_calloc(cells, sizeof *l->z, "a landscape", err);
        l->fit = mem_calloc(cells, sizeof *l->fit, "a landscape", err);
        l->complexity = mem_calloc(cells, sizeof *l->complexity, "a landscape", err);
        l->se = mem_calloc(cells, sizeof *l->se, "a landscape", err);
        l->tie = mem_calloc(cells, sizeof *l->tie, "a landscape", err);
        l->terms = mem_calloc(cells * l->probes + 1, sizeof *l->terms, "a landscape", err);
        rc = l->z && l->fit && l->complexity && l->se && l->tie && l->terms
                 ? system_open(&s, l, err)
                 : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = l->split    ? fill_parts(l, &s, err)
             : l->approx ? fill_probes(l, &s, err)
                         : fill(l, &s, err);
    for (size_t i = 0; rc == ST_OK && i < cells; i++) {
        l->z[i] = isfinite(l->z[i]) ? l->z[i] : NAN;
        if (l->z[i] < l->z[l->best] || isnan(l->z[l->best]))
            l->best = i;
    }
    if (rc == ST_OK && isnan(l->z[l->best]))
        rc = err_set(err, ST_NOT_PD,
                     "no point of this grid has a usable likelihood: try larger noise, or other "
                     "lengthscales");
    if (rc == ST_OK && l->approx)
        find_ties(l, cells);
    nmll_landscape_close(s.at);
    l->seconds = job_now() - t0;
    return rc;
}

/* Figures. */

static const char *title_of(const struct landscape *l, const char *what, char *out, size_t len)
{
    snprintf(out, len, "%s, %s", what, l->kernel);
    return out;
}

static const char *axis_name(const struct direction *d, char *out, size_t len)
{
    snprintf(out, len, "%.44s%s", d->name, d->count > 1 ? " (geometric mean)" : "");
    return out;
}

static double coordinate(const struct landscape *l, const struct direction *d,
                         const struct tune_point *p)
{
    const size_t nhp = kernel_nhp(&l->study.o.kernel);
    return d->slot < nhp    ? middle(p->hp + d->slot, d->count)
           : d->slot == nhp ? p->amplitude
                            : p->noise;
}

/* Draws every evaluation as a point, and the best value so far as a line. */
static bool add_path(struct figure *f, const struct landscape *l, struct err *err)
{
    double *x = mem_calloc(4 * l->npath + 1, sizeof *x, "plot", err);
    size_t n = 0;
    char title[64];

    if (!l->npath || !x) {
        free(x);
        return l->npath == 0;
    }
    double *y = x + l->npath, *bx = y + l->npath, *by = bx + l->npath, best = INFINITY;
    for (size_t i = 0; i < l->npath; i++) {
        const struct tune_point *p = &l->path[i];
        x[i] = coordinate(l, &l->d[0], p);
        y[i] = coordinate(l, &l->d[1], p);
        if (p->score < best)
            best = p->score, bx[n] = x[i], by[n++] = y[i];
    }
    snprintf(title, sizeof title, "evaluations of %s", l->tuning);
    struct series *s = figure_add(f, title, MARK_POINTS, l->npath, x, y, err);
    bool ok = s != NULL;
    if (s)
        s->color = 7;
    s = ok ? figure_add(f, "best so far", MARK_LINE, n, bx, by, err) : NULL;
    if (s)
        s->color = 7, s->dashed = true;
    free(x);
    return s != NULL;
}

static struct figure_surface surface_of(const struct landscape *l)
{
    return (struct figure_surface){ l->d[0].n, l->d[1].n, l->d[0].v, l->d[1].v, l->z };
}

/* Contours at heights above the least that grow by a factor of about three. The region below 3 nats
 * contains about 95 %. */
static bool add_contours(struct figure *f, const struct landscape *l, double least, double most,
                         struct err *err)
{
    const struct figure_surface nmll = surface_of(l);
    const double span = (most - least) / 3;
    const double step = span > 500 ? 10 : sqrt(10);
    int color = 1;
    bool ok = true;

    const double error = l->approx ? 2 * l->se[l->best] : 0; /* smaller heights are noise */

    for (double k = error > 100  ? 300
                    : error > 10 ? 30
                    : error > 3  ? 10
                                 : 3,
                i = 0;
         ok && i < 6 && k < most - least; k *= step, i++) {
        const double level =
            k > 9 ? pow(10, floor(log10(k))) * (k / pow(10, floor(log10(k))) > 2 ? 3 : 1) : k;
        char title[32];
        snprintf(title, sizeof title, "+%.0f nats", level);
        struct series *s = figure_add_contour(f, title, &nmll, least + level, err);
        ok = s != NULL;
        if (s)
            s->color = color++;
    }
    return ok;
}

/* Marks the places that the probes cannot distinguish from the least. */
static bool add_ties(struct figure *f, const struct landscape *l, struct err *err)
{
    const size_t nx = l->d[0].n, cells = nx * (l->nd > 1 ? l->d[1].n : 1);
    size_t n = 0;

    if (l->ties == 0)
        return true;
    double *x = mem_calloc(2 * l->ties, sizeof *x, "plot", err);
    if (!x)
        return false;
    double *y = x + l->ties;
    for (size_t i = 0; i < cells; i++)
        if (l->tie[i])
            x[n] = l->d[0].v[i % nx], y[n++] = l->nd > 1 ? l->d[1].v[i / nx] : l->z[i];
    struct series *s = figure_add(f, "within the error", MARK_POINTS, n, x, y, err);
    if (s)
        s->color = 0;
    free(x);
    return s != NULL;
}

/* Writes " (+- 2.1)" and how many places are equally good; nothing without probes. */
static void error_words(const struct landscape *l, char *error, size_t nerror, char *ties,
                        size_t nties)
{
    *error = *ties = '\0';
    if (!l->approx)
        return;
    snprintf(error, nerror, " (+- %.2g)", l->se[l->best]);
    if (l->ties)
        snprintf(ties, nties, "; %zu more place%s within the error", l->ties,
                 l->ties == 1 ? " is" : "s are");
}

static struct figure *plane(const struct landscape *l, struct err *err)
{
    const struct figure_surface nmll = surface_of(l);
    const size_t nx = nmll.nx, ny = nmll.ny;
    const double least = l->z[l->best], bx = l->d[0].v[l->best % nx], by = l->d[1].v[l->best / nx];
    char title[320], xl[64], yl[64], error[32], ties[64];
    double most = least;

    for (size_t i = 0; i < nx * ny; i++)
        most = l->z[i] > most ? l->z[i] : most;
    struct figure *f = figure_new("landscape", title_of(l, "NMLL", title, sizeof title), err);
    bool ok = f && figure_label(f, axis_name(&l->d[0], xl, sizeof xl),
                                axis_name(&l->d[1], yl, sizeof yl), err) == ST_OK;
    if (ok)
        f->x.log = f->y.log = true;
    struct series *s = ok ? figure_add_cells(f, "NMLL (nats)", &nmll, err) : NULL;
    if (s)
        s->steep = true;
    ok = s && add_contours(f, l, least, most, err) && add_path(f, l, err) && add_ties(f, l, err);
    s = ok ? figure_add(f, "least", MARK_POINTS, 1, &bx, &by, err) : NULL;
    ok = s != NULL;
    if (s)
        s->color = 0;
    const bool edge =
        l->best % nx == 0 || l->best % nx == nx - 1 || l->best / nx == 0 || l->best / nx == ny - 1;
    error_words(l, error, sizeof error, ties, sizeof ties);
    ok = ok && figure_verdict(f, err, "least %.2f%s nats near %s %.3g, %s %.3g%s%s", least, error,
                              l->d[0].name, bx, l->d[1].name, by,
                              edge ? ", at the edge of the grid: widen it" : "", ties) == ST_OK;
    return plots_finish(f, ok);
}

static struct figure *line(const struct landscape *l, struct err *err)
{
    char title[320], xl[64], error[32], ties[64];
    const double at = l->d[0].v[l->best];
    struct figure *f = figure_new("landscape", title_of(l, "NMLL", title, sizeof title), err);
    bool ok = f && figure_label(f, axis_name(&l->d[0], xl, sizeof xl),
                                "negative log marginal likelihood (nats)", err) == ST_OK;

    if (ok)
        f->x.log = true, f->x.lo = l->d[0].v[0], f->x.hi = l->d[0].v[l->d[0].n - 1];
    ok = ok && figure_add(f, "NMLL", MARK_LINEPOINTS, l->d[0].n, l->d[0].v, l->z, err)
         && figure_add_vline(f, "least", at, err) && add_ties(f, l, err);
    const bool edge = l->best == 0 || l->best == l->d[0].n - 1;
    error_words(l, error, sizeof error, ties, sizeof ties);
    ok = ok &&
         figure_verdict(f, err,
                        "least %.2f%s nats near %s %.3g%s%s", l->z[l->best], error, l->d[0].name,
                        at, edge ? ", at the edge of the grid: widen it" : "", ties) == ST_OK;
    return plots_finish(f, ok);
}

static struct figure *parts(const struct landscape *l, struct err *err)
{
    const size_t n = l->d[0].n;
    const double *x = l->d[0].v, at = x[l->best];
    char title[320], xl[64];
    struct figure *f =
        figure_new("tradeoff", title_of(l, "Fit against complexity", title, sizeof title), err);
    bool ok = f && figure_label(f, axis_name(&l->d[0], xl, sizeof xl), "nats", err) == ST_OK;

    if (ok)
        f->x.log = true, f->x.lo = x[0], f->x.hi = x[n - 1];
    ok = ok && figure_add(f, "data fit", MARK_LINE, n, x, l->fit, err)
         && figure_add(f, "complexity", MARK_LINE, n, x, l->complexity, err)
         && figure_add(f, "NMLL, their sum and a constant", MARK_LINE, n, x, l->z, err)
         && figure_add_vline(f, "least", at, err);
    const double *hp = l->study.o.hp + l->d[0].slot, now = middle(hp, l->d[0].count);
    if (ok && now >= x[0] && now <= x[n - 1] &&
        fabs(log(now / at)) > log(x[n - 1] / x[0]) / (double)(n - 1)) {
        struct series *s = figure_add_vline(f, l->tuning[0] ? "as tuned" : "as it is", now, err);
        ok = s != NULL;
        if (s)
            s->faint = true;
    }
    if (ok) { /* the fit term grows without bound where the model is too stiff */
        double top = -INFINITY, bottom = INFINITY;
        const double most = 3 * (double)l->used;
        for (size_t i = 0; i < n; i++) {
            top = fmax(top, fmax(l->complexity[i], fmin(l->z[i], l->z[l->best] + most)));
            top = fmax(top, fmin(l->fit[i], l->fit[l->best] + most));
            bottom = fmin(bottom, fmin(l->fit[i], fmin(l->complexity[i], l->z[i])));
        }
        f->y.hi = top;
        f->y.lo = bottom;
    }
    ok = ok && figure_verdict(
                   f, err,
                   "least at %s %.3g: data fit %.1f nats, complexity %.1f nats; a smaller value "
                   "fits better but is more complex, a larger one the reverse (amplitude %.3g, "
                   "noise %.3g)",
                   l->d[0].name, at, l->fit[l->best], l->complexity[l->best], l->amplitude,
                   l->noise) == ST_OK;
    return plots_finish(f, ok);
}

/* Writing the record. */

static void record(struct workspace *ws, const struct landscape *l, const struct figure *f)
{
    const size_t nx = l->d[0].n, ny = l->nd > 1 ? l->d[1].n : 1;
    struct rec rec;
    char sec[32];

    rec_init(&rec, REC_RESULT, l->split ? "tradeoff" : "landscape");
    rec_str(&rec, "kernel", l->kernel);
    rec_int(&rec, "rows", (int64_t)l->used);
    rec_bool(&rec, "exact", l->exact);
    if (!l->exact)
        rec_int(&rec, "features", (int64_t)l->features);
    rec_str(&rec, "x", l->d[0].name);
    rec_nums(&rec, "x_values", l->d[0].v, nx);
    if (l->nd > 1) {
        rec_str(&rec, "y", l->d[1].name);
        rec_nums(&rec, "y_values", l->d[1].v, ny);
    }
    rec_nums(&rec, "nmll", l->z, nx * ny);
    if (l->split) {
        rec_nums(&rec, "fit", l->fit, nx);
        rec_nums(&rec, "complexity", l->complexity, nx);
        rec_num(&rec, "amplitude", l->amplitude);
        rec_num(&rec, "noise", l->noise);
    }
    if (l->approx) {
        rec_nums(&rec, "nmll_error", l->se, nx * ny);
        rec_int(&rec, "within_error", (int64_t)l->ties);
        rec_num(&rec, "amplitude", l->amplitude);
        rec_num(&rec, "noise", l->noise);
    }
    rec_num(&rec, "least", l->z[l->best]);
    rec_num(&rec, "x_best", l->d[0].v[l->best % nx]);
    if (l->nd > 1)
        rec_num(&rec, "y_best", l->d[1].v[l->best / nx]);
    rec_str(&rec, "tuning", l->npath ? l->tuning : NULL);
    rec_num(&rec, "seconds", l->seconds);
    text_seconds(sec, sizeof sec, l->seconds);
    rec_text(&rec, "%s over %s", l->split ? "fit and complexity" : "NMLL", l->d[0].name);
    if (l->nd > 1)
        rec_text(&rec, " and %s", l->d[1].name);
    rec_text(&rec, ", %zu", nx);
    if (l->nd > 1)
        rec_text(&rec, " x %zu", ny);
    rec_text(&rec, " values, %zu rows, ", l->used);
    if (l->exact)
        rec_text(&rec, "exact%s", l->approx ? " kernel" : "");
    else
        rec_text(&rec, "%zu features", l->features);
    rec_text(&rec, "%s", l->approx ? ", by probes" : "");
    rec_text(&rec, " (%s)\n  %s\n  plot %s draws it", sec, f->verdict, f->name);
    ws_emit(ws, &rec);
}

static void landscape_done(struct workspace *ws, struct job *job, enum status rc,
                           const struct err *err)
{
    struct landscape *l = job->arg;
    struct err own = { 0 };

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped before it was complete", job->ops->verb);
        ws->unconverged = true;
        return;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    if (l->used < l->all)
        ws_note(ws, "sample",
                "%zu of %zu training rows were used (an even sample): the likelihood is that of "
                "these rows",
                l->used, l->all);
    struct figure *f = l->split ? parts(l, &own) : l->nd > 1 ? plane(l, &own) : line(l, &own);
    if (!f) {
        ws_error(ws, &own, job->line);
        return;
    }
    record(ws, l, f);
    const char *name = l->split ? "tradeoff" : "landscape";
    if (kept_take(ws, f, &own) != ST_OK)
        ws_error(ws, &own, job->line);
    else
        ws_screen_show(ws, name, "");
}

static const struct job_ops landscape_ops = { .verb = "landscape", .work = landscape_work,
                                              .done = landscape_done, .free = landscape_free };
static const struct job_ops tradeoff_ops = {
    .verb = "tradeoff", .work = landscape_work, .done = landscape_done, .free = landscape_free};

/* The commands. */

/* Intervals in the line become axes, in their order; single values are fixed. */
static enum status take_line(struct workspace *ws, struct landscape *l, const struct args *a,
                             struct fit_opts *o, struct err *err)
{
    struct tune_bound hpb[KERNEL_MAX_HP] = { 0 }, ab = { 0 }, nb = { 0 };
    const size_t most = l->split ? 1 : 2;

    o->kernel = ws->kernel;
    memcpy(o->hp, ws->hp, sizeof o->hp);
    l->amplitude = ws->amplitude, l->noise = ws->noise;
    enum status rc =
        hyper_args_merge(&o->kernel, a, &(struct ws_hyper){ o->hp, &l->amplitude, &l->noise },
                    &(struct ws_hyper_bounds){ hpb, &ab, &nb }, err);
    for (size_t i = 0; rc == ST_OK && i < args_hp(a); i++) {
        double lo, hi;
        const char *name = args_hp_at(a, i, &lo, &hi);
        if (isfinite(lo) && isfinite(hi) && lo < hi) {
            if (l->nd == most) {
                rc = err_set(err, ST_USAGE, "%s is over %s", l->split ? "tradeoff" : "landscape",
                             most == 1 ? "one hyperparameter" : "at most two hyperparameters");
                break;
            }
            snprintf(l->d[l->nd].name, sizeof l->d[0].name, "%s", name);
            l->d[l->nd].lo = lo, l->d[l->nd++].hi = hi;
        } else if (lo != hi) {
            rc = err_set(err, ST_USAGE, "%s.min and %s.max bound a tuning; here say %s=0.1..10",
                         name, name, name);
        }
    }
    l->fixed_amplitude = ab.fixed, l->fixed_noise = nb.fixed;
    return rc;
}

/* Without intervals the axes are the kernel's first hyperparameter and the noise. If the noise is
 * already the first axis, the kernel's hyperparameter is the second. */
static void default_axes(struct landscape *l, const struct kernel *k)
{
    char first[KERNEL_NAME_MAX] = "amplitude";

    if (kernel_nhp(k)) {
        kernel_hp_info(k, 0, first, NULL);
        first[strcspn(first, "[")] = '\0';
    }
    if (l->nd == 0)
        snprintf(l->d[l->nd++].name, sizeof l->d[0].name, "%s", first);
    else if (l->split)
        return;
    else if (l->nd == 1 && !strcmp(l->d[0].name, "noise")) {
        l->d[1] = l->d[0];
        l->d[0] = (struct direction){ 0 };
        snprintf(l->d[0].name, sizeof l->d[0].name, "%s", first);
        l->nd = 2;
        return;
    }
    if (!l->split && l->nd == 1 && !l->fixed_noise)
        snprintf(l->d[l->nd++].name, sizeof l->d[0].name, "noise");
}

/* The last tuning of this kernel on this dataset: it gives the path and the way the likelihood was
 * computed. */
static const struct run *tuning_of(struct workspace *ws, const struct dataset *d,
                                   const struct kernel *k)
{
    for (size_t i = ws->nrun; i-- > 0;) {
        const struct run *r = ws->run[i];
        if (r->kind == RUN_TUNE && r->tune.ntrace && !strcmp(r->dataset_name, d->name) &&
            r->tune.nhp == kernel_nhp(k) && r->fit.kernel.nterms == k->nterms &&
            r->fit.kernel.term[0].ops == k->term[0].ops)
            return r;
    }
    return NULL;
}

static enum status take_path(struct landscape *l, const struct run *t, struct err *err)
{
    l->npath = t->tune.ntrace < PATH_MOST ? t->tune.ntrace : PATH_MOST;
    l->path = mem_calloc(l->npath, sizeof *l->path, "a path", err);
    if (!l->path)
        return ST_NOMEM;
    memcpy(l->path, t->tune.trace, l->npath * sizeof *l->path);
    snprintf(l->tuning, sizeof l->tuning, "%s", t->id);
    return ST_OK;
}

static size_t training_rows(const struct dataset *d)
{
    return d->split.part ? d->split.count[PART_TRAIN] : d->table->n;
}

static enum status set_up(struct workspace *ws, struct landscape *l, const struct args *a,
                          struct err *err)
{
    struct dataset *d = ws_dataset(ws, args_text(a, "data"), err);
    struct fit_opts o = { .precision = PREC_DOUBLE, .seed = ws->opt.seed };
    const struct model_ops *named = model_kind_named(args_text(a, "solver")); /* NULL: auto */
    struct buf name = { 0 };
    enum status rc = d ? take_line(ws, l, a, &o, err) : err->code;

    if (rc != ST_OK)
        return rc;
    default_axes(l, &o.kernel);
    const struct run *t = tuning_of(ws, d, &o.kernel);
    const size_t rows = training_rows(d), grid = (size_t)args_int(a, "grid", 0);
    /* Fit and complexity are shown with the exact kernel, because few features cannot represent
     * short lengthscales. */
    l->approx = !l->split && !strcmp(args_text(a, "nmll"), "approx");
    const bool only = kernel_draws_none(&o.kernel), few = rows <= EXACT_ROWS || only;
    const struct model_ops *kind = t ? run_model_kind(t) : model_kind_usual(few);
    /* Probes are for many features, unless the last tuning had them of the exact kernel. */
    const bool usual = l->approx ? only || (t && kind->exact && t->topt.approx)
                                 : l->split || kind->exact;
    l->exact = named ? named->exact : !args_given(a, "features") && usual;
    l->features =
        (size_t)args_int(a, "features", t && kind->draws ? (long)t->topt.features : 1024);
    l->features += l->features & 1;
    if (!l->exact && !l->approx && l->features > GRAM_MOST) {
        err_set(err, ST_RANGE, "features=%zu: the decomposition at each point takes at most %d",
                l->features, GRAM_MOST);
        if (l->split)
            err_hint(err, "tradeoff features=%d", GRAM_MOST);
        else
            err_hint(err, "landscape features=%zu nmll=approx", l->features);
        return ST_RANGE;
    }
    if (l->approx) {
        l->rank = (size_t)args_int(a, "rank", 128);
        l->probes = (size_t)args_int(a, "probes", 8);
    }
    l->rows_most = (size_t)args_int(a, "rows",
                                    l->approx   ? (l->exact ? PRODUCTS_ROWS : APPROX_ROWS)
                                    : !l->exact ? 4000
                                    : l->split  ? 500
                                                : 1500);
    if (l->exact && !l->approx && l->rows_most > EXACT_MOST) {
        err_set(err, ST_RANGE, "rows=%zu: a grid of exact likelihoods takes at most %d rows",
                l->rows_most, EXACT_MOST);
        if (!l->split)
            err_hint(err, "landscape solver=exact nmll=approx rows=%zu", l->rows_most);
        return ST_RANGE;
    }
    if (t)
        o.seed = t->topt.seed;
    if (args_given(a, "seed"))
        o.seed = (uint64_t)args_int(a, "seed", 0);
    for (size_t k = 0; k < l->nd; k++)
        l->d[k].n = grid                     ? grid
                    : l->split || l->nd == 1 ? (l->approx ? 15 : 41)
                    : l->approx              ? 9
                                             : 25;
    /* Exact sums over windows take seconds for each matrix. */
    if (kernel_reads_windows(&o.kernel) && l->exact)
        l->rows_most = l->rows_most < 400 ? l->rows_most : 400;
    kernel_print(&o.kernel, &name);
    snprintf(l->kernel, sizeof l->kernel, "%s", buf_str(&name));
    buf_free(&name);
    rc = fit_setup_of_data(&l->study, d, &o, err);
    if (rc == ST_OK && t && l->nd == 2 && t->tune.nhp == kernel_nhp(&o.kernel))
        rc = take_path(l, t, err);
    return rc;
}

static enum status launch(struct workspace *ws, const struct args *a, bool split, struct err *err)
{
    struct landscape *l = mem_calloc(1, sizeof *l, "job", err);

    if (!l)
        return ST_NOMEM;
    l->split = split;
    const enum status rc = set_up(ws, l, a, err);
    if (rc != ST_OK) {
        struct job tmp = { .arg = l };
        landscape_free(&tmp);
        return rc;
    }
    return ws_submit(ws, split ? &tradeoff_ops : &landscape_ops, NULL, l, args_line(a), err);
}

enum status cmd_landscape(struct workspace *ws, const struct args *a, struct err *err)
{
    return launch(ws, a, false, err);
}

enum status cmd_tradeoff(struct workspace *ws, const struct args *a, struct err *err)
{
    return launch(ws, a, true, err);
}
