/* app/plots/plots_sweep.c -- plots of the last sweep: a figure against the first key, and the
 * learning curve of a sweep over rows=. */
#include "app/plots/plots.h"
#include "app/runs/sweep_measures.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool numeric(const struct sweep_key *k, double *x)
{
    for (size_t i = 0; i < k->n; i++)
        if (!text_scaled(k->value[i], &x[i]))
            return false;
    return true;
}

/* True if the values are more evenly spaced on the log scale than on the linear one. */
static bool wants_log(const double *x, size_t n)
{
    return n > 2 && x[0] > 0.0 && x[n - 1] / x[0] >= 4.0 && x[2] - x[1] > 1.4 * (x[1] - x[0]);
}

static enum status add_curve(struct figure *f, const struct workspace *ws, const struct sweep *s,
                             size_t outer, const struct measure *m, const double *x,
                             struct err *err)
{
    double y[SWEEP_VALUES];
    struct buf title = { 0 };
    const size_t n = s->key[0].n;

    for (size_t i = 0; i < n; i++)
        y[i] = sweep_measured(sweep_run(ws, s, outer * n + i), m);
    for (size_t k = 1; k < s->nkeys; k++)
        buf_printf(&title, "%s%s=%s", k > 1 ? " " : "", s->key[k].name,
                   s->key[k].value[sweep_index(s, outer * n, k)]);
    const bool ok =
        figure_add(f, s->nkeys > 1 ? buf_str(&title) : NULL, MARK_LINEPOINTS, n, x, y, err) != NULL;
    buf_free(&title);
    return ok ? ST_OK : ST_NOMEM;
}

/* True if all values lie within a thousandth of each other. */
static bool no_difference(const struct workspace *ws, const struct sweep *s,
                          const struct measure *m)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t n = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        const double v = sweep_measured(sweep_run(ws, s, i), m);
        if (!isfinite(v))
            continue;
        lo = fmin(lo, v);
        hi = fmax(hi, v);
        n++;
    }
    return n > 1 && lo > 0.0 && hi - lo <= 1e-3 * hi && strcmp(m->name, "seconds") != 0;
}

static struct figure *plots_sweep(struct workspace *ws, struct run *r, const struct args *a,
                            struct err *err)
{
    const struct sweep *s = sweep_of(ws);
    double x[SWEEP_VALUES], best = INFINITY;
    size_t at = SIZE_MAX;

    (void)r, (void)a;
    if (!s)
        return figure_empty("sweep", "Nothing has been swept yet. try: sweep rank=256,512,1024",
                            err);
    const struct measure *m = sweep_measures_shown(s);
    const bool numbers = numeric(&s->key[0], x);
    for (size_t i = 0; !numbers && i < s->key[0].n; i++)
        x[i] = (double)i;
    struct figure *f = figure_new("sweep", "Sweep", err);
    bool ok = f && figure_label(f, s->key[0].name, m->words, err) == ST_OK;
    if (ok) {
        f->x.log = numbers && wants_log(x, s->key[0].n);
        ok = numbers ||
             figure_names(&f->x, s->key[0].n, (const char *const *)s->key[0].value, err) == ST_OK;
    }
    for (size_t outer = 0; ok && outer < s->npoints / s->key[0].n; outer++)
        ok = add_curve(f, ws, s, outer, m, x, err) == ST_OK;
    for (size_t i = 0; i < s->npoints; i++)
        if (sweep_measured(sweep_run(ws, s, i), m) < best) {
            best = sweep_measured(sweep_run(ws, s, i), m);
            at = i;
        }
    const bool same = ok && at != SIZE_MAX && no_difference(ws, s, m);
    if (same) { /* do not magnify rounding errors to the full height */
        f->y.lo = best - 0.05 * fabs(best);
        f->y.hi = best + 0.05 * fabs(best);
    }
    if (ok && at == SIZE_MAX) {
        const bool iterations = !strcmp(m->name, "iterations");
        const struct run *first = sweep_run(ws, s, 0);
        char why[200];
        figure_free(f);
        snprintf(why, sizeof why, "No point of the sweep has %s%s",
                 iterations ? "iterations: " : "a value of ",
                 iterations && first && run_model_kind(first)->classes
                     ? "classes are fitted without them, but under softmax. try: sweep ... "
                       "show=log_loss"
                 : iterations
                     ? "the fits were solved directly. try: sweep ... fit='solver=pcg'"
                     : s->show);
        return figure_empty("sweep", why, err);
    }
    if (same) {
        ok = figure_verdict(f, err, "%s: %.4g at every point (they differ by less than 0.1 %%)",
                            m->head, best) == ST_OK;
    } else if (ok && m->better == MEASURE_LOWER) {
        struct buf words = { 0 };
        for (size_t k = 0; k < s->nkeys; k++)
            buf_printf(&words, " %s=%s", s->key[k].name, s->key[k].value[sweep_index(s, at, k)]);
        ok = figure_verdict(f, err, "least %s: %.4g at%s", m->words, best,
                            buf_str(&words)) == ST_OK;
        buf_free(&words);
    }
    if (!ok) {
        figure_free(f);
        return NULL;
    }
    return f;
}

const struct plot_ops plots_sweep_row = {
    .name = "sweep",
    .title = "The last sweep",
    .axes = "first setting, the figure named by show=",
    .help = "A curve over the first setting for each value of the others.",
    .make = plots_sweep,
};

/* The learning curve. */

/* Fits error ~ rows^-slope by least squares of the logarithms over the larger half of the rows. */
static bool power_law(const double *x, const double *y, size_t n, double *slope)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, k = 0;

    for (size_t i = n > 3 ? n / 2 : 0; i < n; i++) {
        if (!(x[i] > 0.0) || !(y[i] > 0.0) || !isfinite(y[i]))
            continue;
        const double a = log(x[i]), b = log(y[i]);
        sx += a, sy += b, sxx += a * a, sxy += a * b, k += 1.0;
    }
    const double det = k * sxx - sx * sx;
    *slope = -(k * sxy - sx * sy) / det;
    return k >= 2.0 && det > 1e-9 * sxx;
}

/* The learning curve of the settings `outer`, at the numbers of rows that its fits really had. */
static size_t learning_points(const struct workspace *ws, const struct sweep *s, size_t outer,
                              const struct measure *m, double *x, double *y)
{
    const size_t n = s->key[0].n;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const struct run *r = sweep_run(ws, s, outer * n + i);
        if (r == NULL || !isfinite(sweep_measured(r, m)))
            continue;
        x[k] = (double)r->info.rows;
        y[k++] = sweep_measured(r, m);
    }
    return k;
}

static enum status learning_verdict(struct figure *f, const double *x, const double *y, size_t n,
                                    struct err *err)
{
    double slope;
    char rows[32], more[32];

    if (n == 0)
        return figure_verdict(f, err, "no fit has been scored yet");
    text_count(rows, sizeof rows, (uint64_t)x[n - 1]);
    text_count(more, sizeof more, (uint64_t)(2.0 * x[n - 1]));
    if (!f->y.log || !power_law(x, y, n, &slope))
        return figure_verdict(f, err, "%.4g at %s rows", y[n - 1], rows);
    if (slope < 0.02)
        return figure_verdict(f, err,
                              "%.4g at %s rows, and more rows no longer help: noise or the model "
                              "limits it",
                              y[n - 1], rows);
    return figure_verdict(f, err,
                          "%.4g at %s rows; it falls as rows^-%.2f: %s rows would give about %.3g",
                          y[n - 1], rows, slope, more, y[n - 1] * pow(2.0, -slope));
}

static struct figure *plots_learning(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    const struct sweep *s = sweep_of(ws);
    double x[SWEEP_VALUES], y[SWEEP_VALUES];
    size_t n = 0;

    (void)r, (void)a;
    if (!s || strcmp(s->key[0].name, "rows") != 0 || !s->fits)
        return figure_empty("learning", "No learning curve yet. try: sweep rows=500..16000", err);
    const struct measure *m = sweep_measures_shown(s);
    struct figure *f = figure_new("learning", "Learning curve", err);
    bool ok = f && figure_label(f, "training rows", m->words, err) == ST_OK;
    if (ok) {
        f->x.log = true;
        f->y.log = m->better == MEASURE_LOWER && strcmp(m->unit, "nats") != 0;
    }
    for (size_t outer = 0; ok && outer < s->npoints / s->key[0].n; outer++) {
        struct buf title = { 0 };
        for (size_t k = 1; k < s->nkeys; k++)
            buf_printf(&title, "%s%s=%s", k > 1 ? " " : "", s->key[k].name,
                       s->key[k].value[sweep_index(s, outer * s->key[0].n, k)]);
        n = learning_points(ws, s, outer, m, x, y);
        ok = figure_add(f, s->nkeys > 1 ? buf_str(&title) : NULL, MARK_LINEPOINTS, n, x, y, err) !=
             NULL;
        buf_free(&title);
        if (ok && outer == 0)
            ok = learning_verdict(f, x, y, n, err) == ST_OK;
    }
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

const struct plot_ops plots_learning_row = {
    .name = "learning",
    .title = "Error against training size",
    .axes = "training rows (log), RMSE (log)",
    .help = "From sweep rows=500..16000: how much more data would help. The sentence with the "
            "figure extrapolates the line.",
    .make = plots_learning,
};
