/* app/plots/plots_run.c -- plots of what runs left behind: rates, races, the path of a tuning,
 * relevance of inputs, seconds and bytes. */
#include "app/plots/plots.h"

#include "app/runs/spectrum_run.h"
#include "app/runs/advise.h"
#include "app/runs/race.h"
#include "app/core/trace.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/likelihood.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The plot rate. */

enum { RATE_WINDOW = 10 };      /* a local rate is the mean over this many iterations */
static const double plateau = 0.99; /* above this factor per iteration the residual stagnates */

/* For each point, the mean factor per iteration over the window that ends there. */
static size_t local_rates(const struct run *r, double *x, double *y)
{
    size_t n = 0, from = 0;

    for (size_t i = 1; i < r->ntrace; i++) {
        while (r->trace[i].step - r->trace[from].step > RATE_WINDOW && from + 1 < i)
            from++;
        const struct trace_point *a = &r->trace[from], *b = &r->trace[i];
        if (!(a->value > 0) || !(b->value > 0) || b->step <= a->step)
            continue;
        x[n] = b->step;
        y[n++] = exp(log(b->value / a->value) / (double)(b->step - a->step));
    }
    return n;
}

static bool add_rate(struct figure *f, const struct run *r, size_t *slow, size_t *all, double *mean,
                     struct err *err)
{
    double *x = mem_calloc(2 * r->ntrace + 1, sizeof *x, "plot", err), *y = x + r->ntrace;

    if (!x)
        return false;
    const size_t n = local_rates(r, x, y);
    *all = n;
    *slow = 0;
    for (size_t i = 0; i < n; i++)
        *slow += y[i] > plateau;
    const struct trace_point *a = &r->trace[0], *b = &r->trace[r->ntrace - 1];
    *mean = n && a->value > 0 && b->value > 0 && b->step > a->step
                ? exp(log(b->value / a->value) / (double)(b->step - a->step))
                : NAN;
    const bool ok = !n || figure_add(f, r->id, MARK_LINE, n, x, y, err);
    free(x);
    return ok;
}

static struct figure *plots_rate(struct workspace *ws, struct run *r, const struct args *a,
                          struct err *err)
{
    struct run *runs[8];
    const size_t n = plots_runs(ws, r, a, runs, 8, err);
    size_t slow = 0, all = 0, drawn = 0;
    double mean = NAN;
    struct run *last = NULL;

    if (n == SIZE_MAX)
        return NULL;
    if (!n)
        return plots_nothing("rate", "There is no fit yet. try: fit solver=pcg", err);
    struct figure *f = figure_new("rate", "Local rate of convergence", err);
    bool ok =
        f && figure_label(f, "iteration", "factor of the residual per iteration", err) == ST_OK;
    for (size_t i = 0; ok && i < n; i++) {
        if (runs[i]->kind != RUN_FIT || runs[i]->ntrace < 2)
            continue;
        ok = add_rate(f, runs[i], &slow, &all, &mean, err);
        drawn += all > 0;
        last = all > 0 ? runs[i] : last;
    }
    if (ok && !drawn) {
        figure_free(f);
        return plots_no_iterations("rate", runs[0], err);
    }
    if (ok) {
        f->x.whole = true;
        struct series *s = figure_add_hline(f, "no progress", 1, err);
        ok = s != NULL;
        if (s)
            s->faint = true;
        if (ok && isfinite(mean)) {
            char of[48];
            snprintf(of, sizeof of, "mean of %s", last->id);
            s = figure_add_hline(f, of, mean, err);
            ok = s != NULL;
        }
    }
    ok = ok && figure_verdict(f, err,
                              "%s: x%.3f per iteration overall; %zu of %zu stretches of %d "
                              "iterations make no progress (above x%.2f)",
                              last->id, mean, slow, all, RATE_WINDOW, plateau) == ST_OK;
    return plots_finish(f, ok);
}

const struct plot_ops plots_rate_row = {
    .name = "rate",
    .title = "Local rate of convergence",
    .axes = "iteration, factor per iteration",
    .help = "The factor by which each iteration multiplies the residual, as a mean over ten "
            "iterations; at 1 there is no progress.",
    .make = plots_rate,
    .live = PLOT_OF_FIT,
};

/* The plot race. */

/* The runs compared when none is named: those of the last race, otherwise the last fits of one
 * dataset and one system. */
static size_t last_group(struct workspace *ws, struct run **out, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; race_of(ws) && i < race_of(ws)->n && n < max; i++) {
        struct run *r = race_run(ws, i);
        if (r && r->ntrace > 1)
            out[n++] = r;
    }
    if (n)
        return n;
    for (size_t i = ws->nrun; i-- > 0 && n < max;) {
        struct run *r = ws->run[i];
        if (r->kind != RUN_FIT || r->ntrace < 2)
            continue;
        if (n &&
            (strcmp(r->dataset_name, out[0]->dataset_name) || r->fit.noise != out[0]->fit.noise ||
             strcmp(r->kernel_text, out[0]->kernel_text) ||
             r->info.features != out[0]->info.features))
            break;
        out[n++] = r;
    }
    for (size_t i = 0; i < n / 2; i++) { /* in the order in which they ran */
        struct run *swap = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = swap;
    }
    return n;
}

static void race_name(const struct workspace *ws, const struct run *r, char *out, size_t len)
{
    const size_t at = race_index(ws, r);

    if (at != SIZE_MAX)
        snprintf(out, len, "%s %s", r->id, race_of(ws)->label[at]);
    else if (r->info.rank)
        snprintf(out, len, "%s %s rank=%zu", r->id, r->info.solver, r->info.rank);
    else
        snprintf(out, len, "%s %s", r->id, r->info.solver[0] ? r->info.solver : "fit");
}

/* What a race draws: its words, its axis, and the value of a point. */
enum race_of { OF_RESIDUAL, OF_K, OF_K2, OF_RMSE };
static const char *const race_words[] = { "residual", "k", "k2", "rmse" };
static const char *const race_axes[] = {
    "relative residual", "|a - a*|^2 in the norm of K", "|a - a*|^2 in the norm of K^2",
    "RMSE of test rows (scaled)",
};

static double race_value(const struct run *r, size_t i, enum race_of of)
{
    const struct trace_point *t = &r->trace[i];
    return of == OF_K ? t->error_k : of == OF_K2 ? t->error_k2 : of == OF_RMSE ? t->rmse
         : trace_residual(r, i);
}

static struct series *race_curve(struct figure *f, const struct workspace *ws, const struct run *r,
                                 const char *by, enum race_of of, struct err *err)
{
    double *x = mem_calloc(2 * r->ntrace, sizeof *x, "plot", err), *y = x + r->ntrace;
    struct series *s = NULL;
    char title[128];
    size_t n = 0;

    if (!x)
        return NULL;
    for (size_t i = 0; i < r->ntrace; i++) {
        x[n] = race_clock(&r->trace[i], by);
        y[n] = race_value(r, i, of);
        n += y[n] > 0.0;
    }
    race_name(ws, r, title, sizeof title);
    s = figure_add(f, title, MARK_LINE, n, x, y, err);
    free(x);
    return s;
}

/* Says which run ends with the least error. */
static bool race_errors(struct figure *f, const struct workspace *ws, struct run *const *runs,
                        size_t n, enum race_of of, struct err *err)
{
    const struct run *least = NULL;
    double best = INFINITY;
    char name[128];

    for (size_t i = 0; i < n; i++) {
        const struct trace_point *p = trace_look(runs[i]);
        const double v = p ? race_value(runs[i], (size_t)(p - runs[i]->trace), of) : NAN;
        if (v < best)
            best = v, least = runs[i];
    }
    if (!least)
        return figure_verdict(f, err, "no fit was compared with another: race ... against=r1") ==
               ST_OK;
    race_name(ws, least, name, sizeof name);
    return figure_verdict(f, err, "%s has come nearest: %.2e", name, best) == ST_OK;
}

/* Says which run is first, and which are still running. */
static bool race_verdict(struct figure *f, const struct workspace *ws, struct run *const *runs,
                         size_t n, const char *by, struct err *err)
{
    double best = INFINITY, next = INFINITY;
    const struct run *first = NULL, *now = NULL;
    char name[128], running[64] = "";

    for (size_t i = 0; i < n; i++) {
        const double at = race_arrival(runs[i], by);
        now = runs[i]->state == RUN_RUNNING ? runs[i] : now;
        next = at < best ? best : fmin(next, at);
        if (at < best)
            best = at, first = runs[i];
    }
    if (now)
        snprintf(running, sizeof running, "; %s runs", now->id);
    if (!first)
        return figure_verdict(f, err, "none of the %zu has reached its target yet%s", n, running) ==
               ST_OK;
    race_name(ws, first, name, sizeof name);
    if (isfinite(next))
        return figure_verdict(f, err, "%s reaches %.0e first: %.3g %s, the next one %.3g%s", name,
                              first->trace_target, best, race_unit(by), next, running) == ST_OK;
    return figure_verdict(f, err, "%s reaches %.0e first: %.3g %s; no other has reached it%s", name,
                          first->trace_target, best, race_unit(by), running) == ST_OK;
}

static struct figure *plots_race(struct workspace *ws, struct run *r, const struct args *a,
                          struct err *err)
{
    struct run *runs[8];
    const bool named = a && args_many(a, "runs");
    size_t n = named ? plots_runs(ws, r, a, runs, 8, err) : last_group(ws, runs, 8);
    const char *by = a && args_given(a, "by") ? args_text(a, "by")
                     : race_of(ws)               ? race_of(ws)->by
                                              : "seconds";
    const char *what = a ? args_text(a, "of") : NULL;
    enum race_of of = race_of(ws) && race_of(ws)->against && !named && !what ? OF_K : OF_RESIDUAL;
    bool ok;

    if (n == SIZE_MAX)
        return NULL;
    for (size_t i = 0; what && i < sizeof race_words / sizeof *race_words; i++)
        of = strcmp(what, race_words[i]) ? of : (enum race_of)i;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (runs[i]->kind == RUN_FIT && runs[i]->ntrace > 1)
            runs[k++] = runs[i];
    n = k;
    if (n < 2 && !(n && race_index(ws, runs[0]) != SIZE_MAX))
        return plots_nothing("race",
                             "There are no two iterative fits of the same system. try: race "
                             "pcg(rank=128),lbfgs",
                             err);
    struct figure *f = figure_new("race", of == OF_RESIDUAL ? "Race: residuals on one clock"
                                                            : "Race: errors on one clock", err);
    ok = f &&
         figure_label(f, *by == 'p' ? "passes over the data" : by, race_axes[of], err) == ST_OK;
    if (ok)
        f->y.log = true, f->x.lo = 0, f->x.whole = *by == 'i';
    for (size_t i = 0; ok && i < n; i++)
        ok = race_curve(f, ws, runs[i], by, of, err);
    if (ok && of == OF_RESIDUAL && isfinite(runs[0]->trace_target)) {
        struct series *s = figure_add_hline(f, "target rtol", runs[0]->trace_target, err);
        ok = s != NULL;
        if (s)
            s->dashed = true;
    }
    ok = ok && (of == OF_RESIDUAL ? race_verdict(f, ws, runs, n, by, err)
                                  : race_errors(f, ws, runs, n, of, err));
    return plots_finish(f, ok);
}

const struct plot_ops plots_race_row = {
    .name = "race",
    .title = "Race between fits",
    .axes = "seconds or passes, relative residual (log)",
    .help = "Residuals of the last fits of one system, or of those named, against seconds; "
            "by=passes counts passes over the data; of=k, k2 and rmse draw what race against= "
            "has compared.",
    .make = plots_race,
};

/* The plot path. */

/* Hyperparameter i (then amplitude and noise) at evaluation e: from the finished result, or from
 * the ticks of a running tuning. NaN if unknown. */
static double path_at(const struct run *r, size_t nhp, size_t e, size_t i)
{
    if (r->tune.ntrace) {
        const struct tune_point *p = &r->tune.trace[e];
        return i < nhp ? p->hp[i] : i == nhp ? p->amplitude : p->noise;
    }
    return i < 6 ? r->trace[e].point[i] : NAN;
}

static void path_bounds(const struct run *r, size_t nhp, size_t i, double *lo, double *hi)
{
    const struct tune_bound *b = i < nhp    ? &r->topt.hp[i]
                                 : i == nhp ? &r->topt.amplitude
                                            : &r->topt.noise;
    struct hparam h = { .lo = NAN, .hi = NAN };
    char name[KERNEL_NAME_MAX];

    *lo = b->lo;
    *hi = b->hi;
    if (i < nhp && !(*hi > *lo)) {
        kernel_hp_info(&r->fit.kernel, i, name, &h);
        *lo = h.lo;
        *hi = h.hi;
    } else if (!(*hi > *lo)) {
        *lo = (i == nhp ? tune_amplitude_range : tune_noise_range)[0];
        *hi = (i == nhp ? tune_amplitude_range : tune_noise_range)[1];
    }
    if (!(*lo > 0) || !(*hi > *lo) || b->fixed)
        *lo = *hi = NAN;
}

/* "lengthscale[3]" is drawn in the panel "lengthscale". */
static size_t panel_name(const struct kernel *k, size_t nhp, size_t i, char out[KERNEL_NAME_MAX])
{
    if (i >= nhp)
        return (size_t)snprintf(out, KERNEL_NAME_MAX, "%s", i == nhp ? "amplitude" : "noise");
    kernel_hp_info(k, i, out, NULL);
    return strcspn(out, "[");
}

static void input_name(const struct enc_col *c, struct buf *out)
{
    text_safe(out, c->column, 24);
    if (c->level) {
        buf_putc(out, '=');
        text_safe(out, c->level, 12);
    }
}

/* The evaluation whose values were kept; SIZE_MAX if unknown. The last evaluation may be the
 * starting point, evaluated again for comparison. */
static size_t path_kept(const struct run *r, size_t nhp)
{
    for (size_t e = r->tune.ntrace; e-- > 0;)
        if (!memcmp(r->tune.trace[e].hp, r->tune.best.hp, nhp * sizeof(double)))
            return e;
    return SIZE_MAX;
}

/* Draws a bound if the search came near it. */
static bool add_bounds(struct figure *f, const struct run *r, size_t nhp, size_t from, size_t to,
                       size_t evals, struct err *err)
{
    double lo, hi;
    bool ok = true, bounds = false;

    path_bounds(r, nhp, from, &lo, &hi);
    for (int side = 0; ok && side < 2; side++) {
        const double b = side ? hi : lo;
        bool near = false;
        for (size_t i = from; i < to; i++)
            for (size_t e = 0; e < evals; e++) {
                const double v = path_at(r, nhp, e, i);
                near |= isfinite(b) && v > 0 && fabs(log(v / b)) < log(10);
            }
        struct series *s = near ? figure_add_hline(f, bounds ? "" : "bounds", b, err) : NULL;
        ok = !near || s;
        bounds |= near;
        if (s)
            s->faint = true;
    }
    return ok;
}

static struct figure *path_panel(const struct run *r, size_t nhp, size_t from, size_t to,
                                 size_t evals, struct err *err)
{
    char name[KERNEL_NAME_MAX], title[KERNEL_NAME_MAX + 40];
    double *x = mem_calloc(2 * evals + 1, sizeof *x, "plot", err), *y = x + evals;
    const size_t shown = to - from < 7 ? to - from : 7, kept = path_kept(r, nhp);

    name[panel_name(&r->fit.kernel, nhp, from, name)] = '\0';
    snprintf(title, sizeof title, "%s of %s", name, r->id);
    struct figure *f = x ? figure_new("path", title, err) : NULL;
    bool ok = f && figure_label(f, "evaluation", name, err) == ST_OK;
    if (ok)
        f->y.log = f->x.whole = true;
    for (size_t i = from; ok && i < from + shown; i++) {
        size_t n = 0;
        for (size_t e = 0; e < evals; e++)
            x[n] = (double)e + 1, y[n++] = path_at(r, nhp, e, i);
        struct buf curve = { 0 };
        if (to - from > 1 && r->has_enc && to - from == r->enc.d)
            input_name(&r->enc.col[i - from], &curve);
        else if (to - from > 1) {
            panel_name(&r->fit.kernel, nhp, i, name);
            buf_puts(&curve, name);
        }
        ok = figure_add(f, buf_str(&curve), MARK_LINEPOINTS, n, x, y, err);
        buf_free(&curve);
    }
    for (size_t i = from; ok && kept != SIZE_MAX && evals > 2 && i < from + shown; i++) {
        const double at = (double)kept + 1, v = i < nhp    ? r->tune.best.hp[i]
                                                : i == nhp ? r->tune.best.amplitude
                                                           : r->tune.best.noise;
        struct series *s = figure_add(f, i == from ? "kept" : "", MARK_POINTS, 1, &at, &v, err);
        ok = s != NULL;
        if (s)
            s->color = 7;
    }
    ok = ok && add_bounds(f, r, nhp, from, from + shown, evals, err);
    free(x);
    return plots_finish(f, ok);
}

static struct figure *plots_path(struct workspace *ws, struct run *r, const struct args *a,
                          struct err *err)
{
    struct run *runs[1];
    const size_t n = plots_runs(ws, NULL, a, runs, 1, err);
    struct figure *first = NULL, **tail = &first;
    size_t panels = 0;

    if (n == SIZE_MAX)
        return NULL;
    r = n ? runs[0] : r && r->kind == RUN_TUNE ? r : plots_tuning(ws);
    if (!r || r->kind != RUN_TUNE || !r->ntrace)
        return plots_nothing("path", "There is no tuning with evaluations yet. try: tune", err);
    const size_t nhp = r->tune.ntrace ? r->tune.nhp : kernel_nhp(&r->fit.kernel);
    const size_t evals = r->tune.ntrace ? r->tune.ntrace : r->ntrace;
    /* Classes have an amplitude and no noise. */
    const size_t all = nhp + (r->topt.likelihood && r->topt.likelihood->classes ? 1 : 2);
    for (size_t from = 0, to; from < all; from = to) {
        char own[KERNEL_NAME_MAX], next[KERNEL_NAME_MAX];
        const size_t len = panel_name(&r->fit.kernel, nhp, from, own);
        for (to = from + 1; to < all; to++)
            if (panel_name(&r->fit.kernel, nhp, to, next) != len || strncmp(own, next, len))
                break;
        *tail = path_panel(r, nhp, from, to, evals, err);
        if (!*tail) {
            figure_free(first);
            return NULL;
        }
        tail = &(*tail)->next;
        panels++;
    }
    first->across = panels > 1 ? panels > 4 ? 3 : 2 : 1;
    char at[64] = "no bound is reached";
    if (r->tune.at_lower || r->tune.at_upper || r->tune.nlower || r->tune.nupper)
        snprintf(at, sizeof at, "a value ended at its bound: widen the bound");
    else if (r->tune.idle)
        snprintf(at, sizeof at, "%zu lengthscales ended at their upper bound", r->tune.idle);
    const size_t kept = path_kept(r, nhp);
    char which[48] = "";
    if (kept != SIZE_MAX)
        snprintf(which, sizeof which, "; kept: evaluation %zu", kept + 1);
    const bool ok =
        figure_verdict(first, err, "%s: %zu evaluations of %zu values%s; %s%s", r->id, evals,
                       all, which, at,
                       nhp > 7 ? " (of each kind the first seven are drawn)" : "") == ST_OK;
    return plots_finish(first, ok);
}

const struct plot_ops plots_path_row = {
    .name = "path",
    .title = "Hyperparameters in a tuning",
    .axes = "evaluation, value (log)",
    .help = "A panel for each; bounds are drawn where the search came near them. With a "
            "lengthscale an input, the first seven.",
    .make = plots_path,
};

/* The plot ard. */

struct relevance { const struct enc_col *col; double value; size_t input; };

static int most_first(const void *a, const void *b)
{
    const struct relevance *x = a, *y = b;
    return x->value != y->value ? (x->value < y->value) - (x->value > y->value)
                                : (x->input > y->input) - (x->input < y->input);
}

static const struct kernel *ard_of(const struct run *r, const double **hp)
{
    *hp = r->model ? r->model->hp : r->tune.best.hp;
    return r->model ? &r->model->kernel : &r->fit.kernel;
}

/* 1 / lengthscale for every input, the largest over the factors that have one. Returns how many
 * there are. */
static size_t relevances(const struct run *r, struct relevance *v)
{
    const double *hp;
    const struct kernel *k = ard_of(r, &hp);
    size_t n = 0;

    for (size_t i = 0; i < r->enc.d; i++) {
        double most = NAN;
        for (size_t t = 0; t < k->nterms; t++) {
            const size_t at = k->term[t].ard ? kernel_lengthscale_of(k, t, i) : SIZE_MAX;
            if (at != SIZE_MAX && hp[at] > 0)
                most = fmax(1 / hp[at], isnan(most) ? 0 : most);
        }
        if (isfinite(most))
            v[n++] = (struct relevance){ &r->enc.col[i], most, i };
    }
    qsort(v, n, sizeof *v, most_first);
    return n;
}

static bool ard_bars(struct figure *f, struct relevance *v, size_t n, struct err *err)
{
    double y[40];
    char *name[40];
    bool ok = true;

    for (size_t i = 0; i < n; i++) {
        struct buf b = { 0 };
        y[i] = v[i].value;
        input_name(v[i].col, &b);
        name[i] = buf_take(&b);
        ok = ok && name[i];
    }
    ok = ok && figure_add(f, "", MARK_BARS, n, NULL, y, err)
         && figure_names(&f->x, n, (const char *const *)name, err) == ST_OK;
    for (size_t i = 0; i < n; i++)
        free(name[i]);
    return ok;
}

static struct figure *plots_ard(struct workspace *ws, struct run *r, const struct args *a,
                                struct err *err)
{
    enum { MOST = 40 };
    struct run *runs[1];
    const size_t named = plots_runs(ws, r, a, runs, 1, err);
    const double *hp;

    if (named == SIZE_MAX)
        return NULL;
    r = named ? runs[0] : plots_tuning(ws);
    if (!r || !r->has_enc || (r->kind == RUN_FIT && !r->model) ||
        (r->kind == RUN_TUNE && r->state != RUN_DONE && r->state != RUN_STOPPED))
        return plots_nothing(
            "ard", "There is no finished tuning or fit yet. try: kernel rbf(ard), tune", err);
    const struct kernel *k = ard_of(r, &hp);
    if (!kernel_has_ard(k) || kernel_has_layer(k))
        return plots_nothing(
            "ard",
            "This kernel has one lengthscale for all inputs. try: kernel rbf(ard), "
            "tune",
            err);
    struct relevance *v = mem_calloc(r->enc.d + 1, sizeof *v, "plot", err);
    if (!v)
        return NULL;
    const size_t n = relevances(r, v), shown = n < MOST ? n : MOST;
    char title[64];
    snprintf(title, sizeof title, "Relevance of the inputs, %s", r->id);
    struct figure *f = figure_new("ard", title, err);
    bool ok = f && figure_label(f, "input", "1 / lengthscale, per sd of the input", err) == ST_OK
              && ard_bars(f, v, shown, err);
    size_t idle = 0;
    for (size_t i = 0; i < n; i++)
        idle += v[i].value < 0.02 * v[0].value;
    struct buf best = { 0 };
    for (size_t i = 0; i < n && i < 3; i++) {
        buf_puts(&best, i ? ", " : "");
        input_name(v[i].col, &best);
    }
    ok = ok && figure_verdict(
                   f, err,
                   "the function varies fastest along %s; %zu of %zu inputs hardly matter. "
                   "That is how fast it varies, not how much an input explains%s",
                   buf_str(&best), idle, n, n > shown ? " (the first 40 are drawn)" : "") == ST_OK;
    buf_free(&best);
    free(v);
    return plots_finish(f, ok);
}

const struct plot_ops plots_ard_row = {
    .name = "ard",
    .title = "Relevance of the inputs",
    .axes = "input, 1 / lengthscale",
    .help = "How fast the function varies along each input, per standard deviation of the input; "
            "this is not how much the input explains. From the last tuning, or the run named.",
    .make = plots_ard,
};

/* The plot cost. */

static struct figure *bars_of(const char *title, const char *what, const char *unit, size_t n,
                              const char *const *name, const double *y, struct err *err)
{
    struct figure *f = figure_new("cost", title, err);
    bool ok = f && figure_label(f, what, unit, err) == ST_OK
              && figure_add(f, "", MARK_BARS, n, NULL, y, err)
              && figure_names(&f->x, n, name, err) == ST_OK;
    return plots_finish(f, ok);
}

static struct figure *plots_cost(struct workspace *ws, struct run *r, const struct args *a,
                          struct err *err)
{
    static const char *const phase[] = { "features", "precond", "solve", "variance", "other" };
    static const char *const memory[] = { "predicted", "taken" };
    struct run *runs[1];
    const size_t named = plots_runs(ws, r, a, runs, 1, err);
    char title[80];

    if (named == SIZE_MAX)
        return NULL;
    r = named ? runs[0] : r;
    if (!r || r->kind != RUN_FIT || !(r->info.seconds.total > 0))
        return plots_nothing("cost", "There is no finished fit yet. try: fit", err);
    const struct fit_info *i = &r->info;
    double s[5] = {i->seconds.features, i->seconds.precond, i->seconds.solve, i->seconds.variance,
                   0};
    double known = 0;
    size_t most = 0;
    for (size_t k = 0; k < 4; k++)
        known += s[k];
    s[4] = fmax(0, i->seconds.total - known);
    for (size_t k = 1; k < 5; k++)
        most = s[k] > s[most] ? k : most;
    const double mb[2] = { (double)i->predicted_bytes / 1e9, (double)i->peak_bytes / 1e9 };
    snprintf(title, sizeof title, "Seconds of %s (%.3g in all)", r->id, i->seconds.total);
    struct figure *f = bars_of(title, "phase", "seconds", 5, phase, s, err);
    if (!f)
        return NULL;
    f->next = bars_of("Memory of the fit, without the inputs", "", "GB", 2, memory, mb, err);
    f->across = 2;
    const bool ok =
        f->next &&
        figure_verdict(f, err,
                       "%s: %s takes %.0f %% of %.3g s; %.3g GB at the peak, "
                       "%.3g GB had been predicted",
                       r->id, most == 4 ? "the rest" : phase[most],
                       100 * s[most] / i->seconds.total, i->seconds.total, mb[1], mb[0]) == ST_OK;
    return plots_finish(f, ok);
}

const struct plot_ops plots_cost_row = {
    .name = "cost",
    .title = "Seconds and memory of a fit",
    .axes = "phase, seconds and GB",
    .help = "The time that each phase of a fit took, and its memory as predicted and as used.",
    .make = plots_cost,
};

const struct plot_ops plots_rank_row = {
    .name = "rank",
    .title = "Cost of a fit by the preconditioner's rank",
    .axes = "rank (log), iterations and seconds (log)",
    .help = "What advise expects, with its range, and what fits then took. The upright line is "
            "the rank of least time; the level ones are no preconditioner and a direct solve.",
    .make = advise_figure,
};

const struct plot_ops plots_spectrum_row = {
    .name = "spectrum",
    .title = "Eigenvalues of a fit's system",
    .axes = "index (log), eigenvalue (log)",
    .help = "From a sample of rows, dashed where carried on beyond it; as points what "
            "conjugate gradients saw of the preconditioned system. What lies above the noise "
            "takes iterations.",
    .make = spectrum_run_figure,
};
