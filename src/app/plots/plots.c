/* app/plots/plots.c -- turns runs and data into figures, one row for each plot. The screen, images,
 * text and numbers are all made from the same figure. */
#include "app/plots/plots.h"

#include "app/runs/advise.h"
#include "app/plots/draws.h"
#include "app/plots/plots_labels.h"
#include "app/runs/scoring/scoring.h"
#include "app/runs/spectrum_run.h"
#include "app/core/condition.h"
#include "app/core/trace.h"
#include "app/core/workspace.h"
#include "app/runs/clustering.h"
#include "compute/stats/judgement.h"
#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARITY_POINTS = 4000, MAX_PANELS = 12, CLASSES = 8, LEVELS = 19, BINS = 10,
       /* Sample size of a histogram: with more rows the screen would have to wait. */
       COLUMN_ROWS = 100000 };

struct figure *plots_nothing(const char *name, const char *reason, struct err *err)
{
    return figure_empty(name, reason, err);
}

struct figure *plots_no_iterations(const char *name, const struct run *r, struct err *err)
{
    char why[200];

    /* No solver that iterates on weights serves classes: their kinds have ways of their own. */
    snprintf(why, sizeof why, "%s has no iterations to show: %s", r->id,
             r->state == RUN_DONE && run_model_kind(r)->classes
                 ? "classes are fitted without them, but under softmax. try: score, then plot "
                   "reliability"
             : r->state == RUN_DONE   ? "it was solved directly. try: fit solver=pcg"
             : r->state == RUN_FAILED ? "it failed. try: why"
                                      : "it has not begun to iterate.");
    return plots_nothing(name, why, err);
}

/* Ends a maker: returns the figure, or frees it and returns NULL if not ok. */
struct figure *plots_finish(struct figure *f, bool ok)
{
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

struct figure *plots_whole(struct figure *f, size_t lost, struct err *err)
{
    if (!f || err_unreported() == lost)
        return f;
    figure_free(f);
    err_nomem(err, 0, "a plot");
    return NULL;
}

size_t plots_runs(struct workspace *ws, struct run *first, const struct args *a, struct run **out,
                  size_t max, struct err *err)
{
    size_t n = a ? args_many(a, "runs") : 0, got = 0;

    if (!n && first)
        out[got++] = first;
    for (size_t i = 0; i < n && got < max; i++) {
        struct run *r = ws_run(ws, args_many_at(a, "runs", i), err);
        if (!r)
            return SIZE_MAX;
        out[got++] = r;
    }
    return got;
}

/* Convergence. */

/* The horizontal axis of residuals: iterations, or the passes and seconds by which solvers are
 * compared. */
enum clock { BY_ITERATION, BY_SECONDS, BY_PASSES };
static const char *const clock_words[] = { "iteration", "seconds", "passes over the data" };

static enum clock residual_clock(const struct args *a)
{
    const char *by = a ? args_text(a, "by") : NULL;
    return by && *by == 's' ? BY_SECONDS : by && *by == 'p' ? BY_PASSES : BY_ITERATION;
}

static double point_at(const struct trace_point *t, enum clock by)
{
    return by == BY_SECONDS ? (double)t->seconds : by == BY_PASSES ? t->passes : t->step;
}

/* What the line of a run's residuals is called: by what they are, or by the solver. */
static void residual_title(const struct run *r, bool plain, bool several, char *out, size_t len)
{
    const bool named = (plain || several) && r->info.solver[0];

    if (trace_estimated(r))
        snprintf(out, len, "%s%s%s estimate", r->id, named ? " " : "",
                 named ? r->info.solver : "");
    else
        snprintf(out, len, "%s %s", r->id, named   ? r->info.solver
                                           : plain ? "residual"
                                                   : trace_word(r));
}

/* The residuals of one run: those of the iteration as a line, true ones as points, the forecast
 * dashed. */
static bool add_residual(struct figure *f, const struct run *r, enum clock by, bool several,
                         struct err *err)
{
    double *x = mem_calloc(r->ntrace, sizeof *x, "plot", err);
    double *y = mem_calloc(r->ntrace, sizeof *y, "plot", err);
    char title[64];
    bool ok = x && y;
    size_t n = 0;

    for (size_t i = 0; ok && i < r->ntrace; i++)
        x[i] = point_at(&r->trace[i], by), y[i] = r->trace[i].value;
    size_t checked = 0; /* gradient methods compute the true residual at every point */
    for (size_t i = 0; i < r->ntrace; i++)
        checked += isfinite(r->trace[i].value2);
    const bool plain = checked == r->ntrace;
    residual_title(r, plain, several, title, sizeof title);
    ok = ok && figure_add(f, title, MARK_LINE, r->ntrace, x, y, err);
    const int color = (int)f->ns - 1;
    for (size_t i = 0; ok && !plain && i < r->ntrace; i++)
        if (isfinite(r->trace[i].value2))
            x[n] = point_at(&r->trace[i], by), y[n++] = r->trace[i].value2;
    if (ok && n) {
        snprintf(title, sizeof title, "%s true", r->id);
        struct series *s = figure_add(f, title, MARK_POINTS, n, x, y, err);
        ok = s != NULL;
        if (s)
            s->color = color;
    }
    struct trace_fit tf;
    trace_fit_run(r, &tf);
    if (ok && by == BY_ITERATION && r->state == RUN_RUNNING && r->ntrace && isfinite(tf.forecast) &&
        tf.r2 > 0.9 && !tf.more) {
        const struct trace_point *t = &r->trace[r->ntrace - 1];
        const double fx[2] = { t->step, tf.forecast }, fy[2] = { trace_last(r), r->trace_target };
        snprintf(title, sizeof title, "forecast of %s", r->id);
        struct series *s = figure_add(f, title, MARK_LINE, 2, fx, fy, err);
        ok = s != NULL;
        if (s)
            s->dashed = true, s->color = color;
    }
    free(x), free(y);
    return ok;
}

static bool residual_verdict(struct figure *f, const struct run *r, struct err *err)
{
    struct trace_fit tf;

    trace_fit_run(r, &tf);
    const bool cut_off = !r->info.solver[0]; /* by a kill: it never came to its figures */
    if (r->state != RUN_RUNNING && !r->verdict[0]) /* its result is on its way */
        return figure_verdict(f, err, "%s has ended.", r->id) == ST_OK;
    if (r->state != RUN_RUNNING && (condition_known(r->info.condition) || cut_off)) {
        char words[80];
        condition_words(words, sizeof words, CONDITION_SEEN, r->info.condition);
        return figure_verdict(f, err, "%s %s; condition number %s", r->id, r->verdict, words)
               == ST_OK;
    }
    if (r->state != RUN_RUNNING)
        return figure_verdict(f, err, "%s %s", r->id, r->verdict) == ST_OK;
    if (!isfinite(tf.rate))
        return figure_verdict(f, err, "%s has just begun.", r->id) == ST_OK;
    if (!isfinite(tf.forecast) || tf.rate > 0.9995)
        return figure_verdict(f, err,
                              "%s makes no progress: x%.4f per iteration.", r->id, tf.rate)
               == ST_OK;
    return figure_verdict(
               f, err, "%s converges %s: x%.3f an iteration (R2 %.2f). %.0e expected %s it %.0f.",
               r->id, tf.r2 > 0.95 ? "steadily" : "unevenly", tf.rate, tf.r2, r->trace_target,
               tf.more ? "after" : "near", tf.more ? tf.lo : tf.forecast) == ST_OK;
}

static struct figure *plots_residual(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    struct run *runs[8];
    const size_t n = plots_runs(ws, r, a, runs, 8, err);
    const enum clock by = residual_clock(a);
    double target = NAN;
    char title[128];
    size_t drawn = 0;

    if (n == SIZE_MAX)
        return NULL;
    if (!n)
        return plots_nothing("residual", "There is no fit yet. try: fit", err);
    snprintf(title, sizeof title, "Residual of %s%s", runs[0]->id, n > 1 ? " and others" : "");
    struct figure *f = figure_new("residual", title, err);
    bool ok =
        f && figure_label(f, clock_words[by], "relative residual |b - Aw| / |b|", err) == ST_OK;
    if (ok)
        f->y.log = true, f->x.whole = by == BY_ITERATION;
    for (size_t i = 0; ok && i < n; i++) {
        if (!runs[i]->ntrace || runs[i]->kind != RUN_FIT)
            continue;
        ok = add_residual(f, runs[i], by, n > 1, err);
        target = isfinite(runs[i]->trace_target) ? runs[i]->trace_target : target;
        drawn++;
    }
    if (ok && !drawn) {
        figure_free(f);
        return plots_no_iterations("residual", runs[0], err);
    }
    if (ok && isfinite(target)) {
        struct series *s = figure_add_hline(f, "target rtol", target, err);
        ok = s != NULL;
        if (s)
            s->dashed = true;
    }
    return plots_finish(f, ok && residual_verdict(f, runs[n - 1], err));
}

const struct plot_ops plots_residual_row = {
    .name = "residual",
    .title = "Convergence of the solver",
    .axes = "iteration, relative residual (log)",
    .help = "The recursive residual (of sdd and sgd an estimate from their batches) is a line, the "
            "true one points, the target a horizontal line; several runs are drawn together.",
    .make = plots_residual,
    .live = PLOT_OF_FIT,
};

struct run *plots_tuning(struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0;)
        if (ws->run[i]->kind == RUN_TUNE && ws->run[i]->ntrace)
            return ws->run[i];
    return NULL;
}

/* Evaluations by a sample of the rows, or those by all of them; none is no failure.  v: room for
 * two numbers of each. */
static bool add_evaluations(struct figure *f, const struct run *r, bool sampled, const char *name,
                            double *v, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < r->ntrace; i++)
        if (trace_sampled(r, i) == sampled) {
            v[n] = r->trace[i].step;
            v[r->ntrace + n++] = r->trace[i].value;
        }
    struct series *s = n ? figure_add(f, name, MARK_POINTS, n, v, v + r->ntrace, err) : NULL;
    if (s)
        s->color = sampled;
    return s || !n;
}

/* Draws evaluations and the best value so far, which begins anew where all rows follow a sample. A
 * run among several shows only the latter, under its name. Returns the least value, of those by all
 * rows if there are any, and its position. */
static bool add_tuning(struct figure *f, const struct run *r, bool named, double *best, size_t *at,
                       struct err *err)
{
    const size_t n = r->ntrace;
    double *v = mem_calloc(4 * n + 2, sizeof *v, "plot", err), *bx = v + 2 * n, *b = bx + n + 1;
    char name[48];
    bool ok = v != NULL, sampled = ok && trace_sampled(r, 0), some = false;
    size_t m = 0;

    *best = INFINITY;
    *at = 0;
    for (size_t i = 0; ok && i < n; i++) {
        some = some || trace_sampled(r, i);
        if (sampled && !trace_sampled(r, i)) {
            sampled = false;
            *best = INFINITY;
            bx[m] = r->trace[i].step;
            b[m++] = NAN;
        }
        if (r->trace[i].value < *best && (sampled || !trace_sampled(r, i)))
            *best = r->trace[i].value, *at = i;
        bx[m] = r->trace[i].step;
        b[m++] = isfinite(r->trace[i].value2) ? r->trace[i].value2 : *best;
    }
    snprintf(name, sizeof name, "%s", named ? r->id : "best so far");
    if (named && r->topt.restarts > 1)
        snprintf(name, sizeof name, "%s restart %zu", r->id, r->topt.restart + 1);
    if (ok && !named)
        ok = add_evaluations(f, r, false, some ? "evaluation by all rows" : "evaluation", v, err) &&
             add_evaluations(f, r, true, "evaluation by a sample", v, err);
    ok = ok && figure_add(f, name, MARK_STAIRS, m, bx, b, err);
    free(v);
    return ok;
}

static struct figure *no_tuning(const struct workspace *ws, struct err *err)
{
    char why[160] = "There is no tuning with evaluations yet. try: tune";

    for (size_t i = ws->nrun; i-- > 0;)
        if (ws->run[i]->kind == RUN_TUNE) {
            if (ws->run[i]->state == RUN_FAILED)
                snprintf(why, sizeof why, "%s failed before its first evaluation. try: why %s",
                         ws->run[i]->id, ws->run[i]->id);
            break;
        }
    return plots_nothing("nmll", why, err);
}

static struct figure *plot_nmll(struct workspace *ws, struct run *r, const struct args *a,
                                struct err *err)
{
    struct run *runs[8];
    size_t n = plots_runs(ws, NULL, a, runs, 8, err), kept = 0;
    char title[96];

    if (n == SIZE_MAX)
        return NULL;
    if (n == 0)
        runs[n++] = r && r->kind == RUN_TUNE && (r->ntrace || !a) ? r : plots_tuning(ws);
    for (size_t i = 0; i < n; i++)
        if (runs[i] && runs[i]->ntrace && runs[i]->kind == RUN_TUNE)
            runs[kept++] = runs[i];
    if (!kept)
        return no_tuning(ws, err);
    const struct run *first = runs[0], *least = first;
    const bool loo = first->topt.objective == TUNE_LOO, valid = first->topt.objective == TUNE_VALID;
    const char *what = loo ? "Leave-one-out score" : valid ? "Validation score" : "NMLL";
    if (kept > 1)
        snprintf(title, sizeof title, "%s of %s and %zu other%s: the best so far", what, first->id,
                 kept - 1, kept > 2 ? "s" : "");
    else
        snprintf(title, sizeof title, "%s of %s: each evaluation, and the best so far", what,
                 first->id);
    struct figure *f = figure_new("nmll", title, err);
    bool ok = f && figure_label(f, "evaluation", loo     ? "leave-one-out score (nats)"
                                                      : valid ? "validation score (nats)"
                                                      : "negative log marginal likelihood (nats)",
                                   err) == ST_OK;
    double best = INFINITY, v;
    size_t at = 0, k;
    if (ok)
        f->x.whole = true;
    for (size_t i = 0; ok && i < kept; i++) {
        ok = add_tuning(f, runs[i], kept > 1, &v, &k, err);
        if (v < best)
            best = v, at = k, least = runs[i];
    }
    ok = ok && figure_verdict(f, err, "%s: %s %s %.2f at evaluation %u of %zu%s", least->id,
                              kept > 1 ? "least" : "best", loo ? "score" : "NMLL", best,
                              least->trace[at].step, least->ntrace,
                              least->state == RUN_RUNNING ? ", still searching" : "") == ST_OK;
    return plots_finish(f, ok);
}

const struct plot_ops plots_nmll_row = {
    .name = "nmll",
    .title = "Progress of the tuning",
    .axes = "evaluation, NMLL",
    .help = "Every evaluation and the best so far. A search of many rows begins with a sample of "
            "them (and fewer columns); where all rows follow, values and the best begin anew.",
    .make = plot_nmll,
    .live = PLOT_OF_TUNING,
};

/* Predictions. */

const struct prediction *plots_prediction(const struct run *r)
{
    return !r ? NULL : r->has_test ? &r->test_pred : r->has_train ? &r->train_pred : NULL;
}

/* Plots of predictions that mean something for probabilities, of two classes or of several. */
static bool of_classes(const char *name, bool several)
{
    static const char *const names[] = { "check", "roc", "pr", "confusion", "reliability",
                                         "calibration", "mutations", "similarity" };
    const size_t n = several ? 6 : sizeof names / sizeof *names;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

struct figure *plots_no_prediction(const char *name, const struct run *r, bool sd, struct err *err)
{
    if (!r)
        return plots_nothing(name, "There is no fit yet. try: fit, then score", err);
    if (!plots_prediction(r))
        return plots_nothing(name, r->has_score ? "The session keeps the scores of this run and "
                                                  "not its predictions. try: score"
                                                : "This run has not been scored yet. try: score",
                             err);
    if (plots_prediction(r)->classes)
        return of_classes(name, true) ? NULL
               : plots_nothing(name, "This plot is of two classes or of numbers, and this run "
                                     "predicts several classes. try: plot reliability, plot "
                                     "confusion, plot roc or plot pr", err);
    if (r->has_enc && r->enc.nclasses && !of_classes(name, false))
        return plots_nothing(name, "This plot is of predicted numbers, and this run predicts two "
                                   "classes. try: plot calibration, plot confusion, plot roc or "
                                   "plot pr", err);
    return sd && !plots_prediction(r)->sd
               ? plots_nothing(name, "This run has no predictive variance. try: fit variance=auto",
                               err)
               : NULL;
}

/* The target named by target=, by default the first, and its predictions. On the screen (args is
 * NULL) the target that the screen shows. */
enum status plots_target(const struct workspace *ws, const struct run *r, const struct args *a,
                         size_t *j, struct prediction *p, struct err *err)
{
    const enum status rc = run_target(r, a ? args_text(a, "target") : NULL, j, err);

    if (!a && ws->look < run_targets(r))
        *j = ws->look;
    if (rc == ST_OK)
        *p = scoring_prediction(plots_prediction(r), *j < plots_prediction(r)->t ? *j : 0);
    return rc;
}

/* The points are divided into classes; those of the training sample are not. */
static struct figure *plot_parity(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    struct figure *f = plots_no_prediction("parity", r, false, err);
    struct prediction one, *p = &one;
    double lo = INFINITY, hi = -INFINITY;
    struct metrics m;
    size_t target;

    if (f || !plots_prediction(r) || plots_target(ws, r, a, &target, p, err) != ST_OK)
        return f;
    const size_t n = p->n < PARITY_POINTS ? p->n : PARITY_POINTS;
    double *x = mem_calloc(n, sizeof *x, "plot", err), *y = mem_calloc(n, sizeof *y, "plot", err);
    struct buf title = { 0 };
    char of[40];
    buf_printf(&title, "Predicted against observed%s, %s (%s rows)",
               run_suffix(r, target, of, sizeof of), r->id,
               p->part == PART_TRAIN ? "training" : "held-out");
    f = x && y ? figure_new("parity", buf_str(&title), err) : NULL;
    bool ok = f != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const size_t j = (size_t)((double)i * (double)p->n / (double)n);
        x[i] = p->y[j], y[i] = p->mean[j];
        if (isfinite(x[i]) && isfinite(y[i]))
            lo = fmin(lo, fmin(x[i], y[i])), hi = fmax(hi, fmax(x[i], y[i]));
    }
    buf_clear(&title);
    buf_puts(&title, "observed ");
    text_safe(&title, r->has_enc ? encoding_for(&r->enc, target).target : "y", 40);
    ok = ok && metrics_compute(p->n, p->y, p->mean, NULL, NULL, &m, err) == ST_OK
         && figure_label(f, buf_str(&title), "predicted mean", err) == ST_OK
         && figure_add(f, "rows", MARK_POINTS, n, x, y, err);
    const double d[2] = { lo, hi };
    struct series *s = ok ? figure_add(f, "perfect", MARK_LINE, 2, d, d, err) : NULL;
    ok = s != NULL;
    if (s) {
        s->faint = true;
        f->square = true;
        ok = figure_verdict(f, err, "R2 %.4f, RMSE %.4g%s", m.r2, m.rmse,
                            p->n > n ? " (an even sample of the rows is drawn)" : "") == ST_OK;
    }
    buf_free(&title);
    free(x), free(y);
    return plots_finish(f, ok);
}

const struct plot_ops plots_parity_row = {
    .name = "parity",
    .title = "Predicted against observed",
    .axes = "observed, predicted",
    .help = "Points on the diagonal are perfect predictions. From the last score of the run.",
    .make = plot_parity,
    .of_target = true,
};

struct figure *plots_calibration(struct workspace *ws, struct run *r, const struct args *a,
                                       struct err *err)
{
    const bool classes = plots_prediction(r) && plots_prediction(r)->classes;
    struct figure *f = plots_no_prediction("calibration", r, !classes, err);
    struct prediction one, *p = &one;
    double level[LEVELS + 2], share[LEVELS + 2];
    struct metrics m;
    size_t target;

    if (f || !plots_prediction(r) || plots_target(ws, r, a, &target, p, err) != ST_OK)
        return f;
    if (classes)
        return plots_labels_calibration(r, err);
    if (r->has_enc && r->enc.nclasses)
        return plots_reliability(r, err);
    for (size_t i = 0; i < LEVELS; i++)
        level[i + 1] = (double)(i + 1) / (LEVELS + 1);
    metrics_coverage(p->n, p->y_scaled, p->mean_scaled, p->var_scaled, p->reach, LEVELS, level + 1,
                     share + 1);
    level[0] = share[0] = 0, level[LEVELS + 1] = share[LEVELS + 1] = 1;
    if (metrics_compute(p->n, p->y_scaled, p->mean_scaled, p->var_scaled, p->reach, &m, err) !=
        ST_OK)
        return NULL;
    char title[96], of[40];
    snprintf(title, sizeof title, "Calibration%s, %s", run_suffix(r, target, of, sizeof of), r->id);
    if (!*of)
        snprintf(title, sizeof title, "Calibration of %s", r->id);
    f = figure_new("calibration", title, err);
    bool ok = f &&
              figure_label(f, "nominal level of the central interval", "share of targets inside",
                           err) == ST_OK &&
              figure_add(f, r->id, MARK_LINEPOINTS, LEVELS + 2, level, share, err);
    struct series *s =
        ok ? figure_add(f, "perfect", MARK_LINE, LEVELS + 2, level, level, err) : NULL;
    ok = s != NULL;
    if (s) {
        s->faint = f->square = true;
        f->x.lo = f->y.lo = 0, f->x.hi = f->y.hi = 1;
        ok = figure_verdict(
                 f, err,
                 "%.1f %% of the targets lie inside the 95 %% interval of %.2f sd (standard error "
                 "%.1f %%), %.1f %% inside the 50 %% one (%.1f %%): %s",
                 100 * m.coverage95, reach_at(p->reach, 0.95),
                 100 * judgement_share_se(p->n, 0.95), 100 * m.coverage50,
                 100 * judgement_share_se(p->n, 0.5),
                 p->part == PART_TRAIN ? "rows that the model was fitted to"
                                       : scoring_coverage_words(&m)) == ST_OK;
    }
    return plots_finish(f, ok);
}

const struct plot_ops plots_calibration_row = {
    .name = "calibration",
    .title = "Nominal and actual coverage",
    .axes = "level, share inside",
    .help = "Above the diagonal: too cautious; below: overconfident. The intervals are those that "
            "predict writes, whose reach follows left-out rows; plot residuals compares the "
            "errors with a normal distribution of the sd. Of two classes: the observed share over "
            "the predicted probability; of several, the first panel of plot reliability.",
    .make = plots_calibration,
    .of_target = true,
};

static double mean_of(size_t n, const double *v)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += v[i] / (double)n;
    return s;
}

struct figure *plots_sd(struct workspace *ws, struct run *r, const struct args *a,
                              struct err *err)
{
    struct figure *f = plots_no_prediction("sd", r, true, err);
    struct prediction one, *p = &one;
    struct figure_cells cells = { NAN, NAN, 0 };
    char title[120], of[40];
    size_t target;

    if (f || !plots_prediction(r) || plots_target(ws, r, a, &target, p, err) != ST_OK)
        return f;
    const bool train = r->has_train && r->train_pred.sd && plots_prediction(r) != &r->train_pred;
    const struct prediction seen = scoring_prediction(&r->train_pred, train ? target : 0);
    cells.n = figure_bins(p->n, p->sd, &cells.lo, &cells.hi);
    if (train)
        cells.n = figure_bins(seen.n, seen.sd, &cells.lo, &cells.hi);
    run_suffix(r, target, of, sizeof of);
    snprintf(title, sizeof title, "Predictive sd%s%s %s (noise included)", of, *of ? "," : " of",
             r->id);
    f = figure_new("sd", title, err);
    struct buf label = { 0 };
    buf_puts(&label, "sd, in units of ");
    text_safe(&label, r->has_enc ? encoding_for(&r->enc, target).target : "y", 40);
    bool ok = f && figure_label(f, buf_str(&label), "share of rows", err) == ST_OK;
    if (ok && train)
        ok = figure_histogram(f, "training rows (sample)", MARK_STEPS, seen.n, seen.sd, &cells,
                              true, err) != NULL;
    ok = ok && figure_histogram(f, p->part == PART_TRAIN ? "training rows" : "held-out rows",
                                MARK_STEPS, p->n, p->sd, &cells, true, err);
    if (ok && train)
        ok = figure_verdict(f, err, "mean sd %.4g on training rows, %.4g on held-out rows: %s",
                            mean_of(seen.n, seen.sd), mean_of(p->n, p->sd),
                            mean_of(p->n, p->sd) < 1.5 * mean_of(seen.n, seen.sd)
                                ? "the same kind of rows"
                                : "held-out rows lie further from the data") == ST_OK;
    else if (ok)
        ok = figure_verdict(f, err, "mean sd %.4g", mean_of(p->n, p->sd)) == ST_OK;
    buf_free(&label);
    return plots_finish(f, ok);
}

const struct plot_ops plots_sd_row = {
    .name = "sd",
    .title = "Predictive sd on training and held-out rows",
    .axes = "sd, share of rows",
    .help = "A shift to the right on held-out rows means that they lie further from the data.",
    .make = plots_sd,
    .of_target = true,
};

struct figure *plots_sderror(struct workspace *ws, struct run *r, const struct args *a,
                                   struct err *err)
{
    struct figure *f = plots_no_prediction("sderror", r, true, err);
    struct prediction one, *p = &one;
    double sd[BINS], mae[BINS], rmse[BINS];
    char title[192], of[40];
    size_t target;

    if (f || !plots_prediction(r) || plots_target(ws, r, a, &target, p, err) != ST_OK)
        return f;
    double *var = mem_calloc(p->n, sizeof *var, "plot", err);
    if (!var)
        return NULL;
    for (size_t i = 0; i < p->n; i++)
        var[i] = p->sd[i] * p->sd[i];
    const struct metrics_bins bins = { sd, mae, rmse };
    const size_t n = metrics_bins(p->n, p->y, p->mean, var, BINS, &bins, err);
    free(var);
    if (!n) /* without memory nothing is said of the rows */
        return p->n > 0 ? NULL
                        : plots_nothing("sderror", "There are no rows to make bins of.", err);
    run_suffix(r, target, of, sizeof of);
    snprintf(title, sizeof title, "Does the sd%s%s %s tell the error? (%zu bins of equal counts)",
             of, *of ? "," : " of", r->id, n);
    f = figure_new("sderror", title, err);
    bool ok = f && figure_label(f, "mean predicted sd of the bin", "error in the bin", err) == ST_OK
              && figure_add(f, "RMSE", MARK_LINEPOINTS, n, sd, rmse, err)
              && figure_add(f, "MAE", MARK_LINEPOINTS, n, sd, mae, err);
    struct series *s = ok ? figure_add(f, "RMSE = sd", MARK_LINE, n, sd, sd, err) : NULL;
    ok = s != NULL;
    if (s) {
        s->faint = true;
        ok = figure_verdict(f, err,
                            "RMSE is %.2f x the sd in the surest bin and %.2f x in the least sure",
                            rmse[0] / sd[0], rmse[n - 1] / sd[n - 1]) == ST_OK;
    }
    return plots_finish(f, ok);
}

const struct plot_ops plots_sderror_row = {
    .name = "sderror",
    .title = "Does the sd tell the error?",
    .axes = "mean sd per bin, RMSE per bin",
    .help = "Bins of equal counts by sd; on the diagonal the sd is honest.",
    .make = plots_sderror,
    .of_target = true,
};

/* Data. */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The name of a value of the colour: the level of a category, otherwise the number. */
static void value_name(const struct column *c, double v, struct buf *out)
{
    char word[32];

    if (c && c->type == COL_CATEGORY && v >= 0 && v < (double)c->nlevels) {
        text_safe(out, c->level[(size_t)v], 20);
    } else {
        snprintf(word, sizeof word, "%.4g", v);
        buf_puts(out, word);
    }
}

/* Where the classes of m sorted values begin: each value is a class of its own if there are few,
 * otherwise there are five classes of equal size. */
static size_t class_starts(size_t m, const double *v, double from[CLASSES])
{
    size_t n = 0, few = 0;

    for (size_t i = 0; i < m && few <= CLASSES; i++)
        if (i == 0 || v[i] > v[i - 1]) {
            if (few < CLASSES)
                from[few] = v[i];
            few++;
        }
    if (few <= CLASSES)
        return few;
    for (size_t k = 0; k < 5; k++)
        if (n == 0 || v[m * k / 5] > from[n - 1])
            from[n++] = v[m * k / 5];
    return n;
}

/* The most frequent of many classes, and the name of each; the others are -1. */
static int *frequent_classes(const struct pca_state *p, const struct column *c, size_t m,
                             const double *v, struct buf *names, struct err *err)
{
    int *g = mem_calloc(p->n, sizeof *g, "plot", err);
    double *label = mem_calloc(m + 1, 2 * sizeof *label, "plot", err), *value = label + m + 1;
    size_t which[CLASSES], k = 0;

    for (size_t i = 0; label && i < m; i++) {
        k += i > 0 && v[i] > v[i - 1];
        label[i] = (double)k;
        value[k] = v[i];
    }
    const size_t n = g && label ? plots_labels_frequent(m, k + 1, label, CLASSES, which) : 0;
    for (size_t i = 0; n && i < p->n; i++) {
        g[i] = -1;
        for (size_t j = 0; j < n; j++)
            g[i] = p->color[i] == value[which[j]] ? (int)j : g[i];
    }
    for (size_t j = 0; j < n; j++) {
        value_name(c, value[which[j]], names);
        buf_putc(names, '\n');
    }
    free(label);
    return g;
}

/* The class of each row, and a name for each class: the value, or the range of its values. */
static int *value_classes(const struct pca_state *p, const struct column *c, size_t m,
                          const double *v, struct buf *names, struct err *err)
{
    int *g = mem_calloc(p->n, sizeof *g, "plot", err);
    double from[CLASSES] = { 0 };
    const size_t n = class_starts(m, v, from);

    for (size_t i = 0; g && i < p->n; i++) {
        g[i] = -1;
        for (size_t k = 0; k < n; k++)
            g[i] += p->color[i] >= from[k];
    }
    for (size_t k = 0, at = 0; k < n; k++) {
        value_name(c, from[k], names);
        while (at < m && (k + 1 == n || v[at] < from[k + 1]))
            at++;
        if (at > 0 && v[at - 1] > from[k]) {
            buf_puts(names, " to ");
            value_name(c, v[at - 1], names);
        }
        buf_putc(names, '\n');
    }
    return g;
}

static size_t value_count(size_t m, const double *v)
{
    size_t n = m > 0;

    for (size_t i = 1; i < m; i++)
        n += v[i] > v[i - 1];
    return n;
}

static int *color_classes(const struct pca_state *p, const struct column *c, bool classes,
                          struct buf *names, struct err *err)
{
    double *v = p->have_clusters ? NULL : mem_calloc(p->n, sizeof *v, "plot", err);
    int *g = NULL;
    size_t m = 0;

    if (p->have_clusters) {
        g = mem_calloc(p->n, sizeof *g, "plot", err);
        for (size_t i = 0; g && i < p->n; i++)
            g[i] = (int)p->clusters.label[i];
        return g;
    }
    for (size_t i = 0; v && i < p->n; i++)
        if (isfinite(p->color[i]))
            v[m++] = p->color[i];
    if (v) {
        qsort(v, m, sizeof *v, by_value);
        g = classes && value_count(m, v) > CLASSES ? frequent_classes(p, c, m, v, names, err)
                                                   : value_classes(p, c, m, v, names, err);
    }
    free(v);
    return g;
}

/* The number of classes if they are ranges of numbers, one line of names for each; otherwise 0. */
static int classes_in_order(const char *names, const struct column *c)
{
    int n = 0;

    if (c && c->type != COL_REAL)
        return 0;
    for (; names && (names = strchr(names, '\n')); names++)
        n++;
    return n > 2 ? n : 0;
}

/* Points of classes that have no colour, if there are any. */
static bool other_points(struct figure *f, size_t n, const double *x, const double *y,
                         const int *group, struct err *err)
{
    double *at = mem_calloc(2 * n + 1, sizeof *at, "plot", err);
    struct series *s = NULL;
    size_t k = 0;

    for (size_t i = 0; at && i < n; i++)
        if (group[i] < 0) {
            at[k] = x[i];
            at[n + k++] = y[i];
        }
    if (at && k > 0)
        s = figure_add(f, "other classes", MARK_POINTS, k, at, at + n, err);
    if (s)
        s->faint = true;
    const bool ok = at && (k == 0 || s);
    free(at);
    return ok;
}

static struct figure *plot_pca(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    const struct pca_state *p = clustering_state_of(ws);
    char xl[48], yl[48];
    struct buf b = { 0 };

    (void)r, (void)a;
    if (!p->have)
        return plots_nothing("pca", "There are no coordinates yet. try: pca, or cluster k=2..8",
                             err);
    if (p->dims < 2)
        return plots_nothing("pca", "Only one component was computed. try: pca dims=2", err);
    double *x = mem_calloc(p->n, sizeof *x, "plot", err),
           *y = mem_calloc(p->n, sizeof *y, "plot", err);
    struct buf names = { 0 };
    const struct dataset *d = ws_dataset(ws, NULL, NULL);
    const size_t j = d && p->color_name ? table_find(d->table, p->color_name) : SIZE_MAX;
    const struct column *column = j != SIZE_MAX ? &d->table->col[j] : NULL;
    const bool classes = column && (column->type == COL_CATEGORY ||
                                    (d->link && d->role[j] == ROLE_TARGET));
    int *g = color_classes(p, column, classes, &names, err);
    for (size_t i = 0; x && y && i < p->n; i++)
        x[i] = p->coords[i * p->dims], y[i] = p->coords[i * p->dims + 1];
    buf_printf(&b, "Kernel PCA%s%s", p->run[0] ? " with the kernel of " : "", p->run);
    struct figure *f = x && y && g ? figure_new("pca", buf_str(&b), err) : NULL;
    snprintf(xl, sizeof xl, "PC1 (%.1f %% of variance)", 100 * p->k.ev[0] / p->k.total);
    snprintf(yl, sizeof yl, "PC2 (%.1f %% of variance)", 100 * p->k.ev[1] / p->k.total);
    buf_clear(&b);
    if (p->have_clusters)
        buf_puts(&b, "cluster");
    else
        text_safe(&b, p->color_name, 24);
    bool ok = f && figure_label(f, xl, yl, err) == ST_OK &&
              (!classes || p->have_clusters || other_points(f, p->n, x, y, g, err));
    struct series *s = ok ? figure_add(f, buf_str(&b), MARK_POINTS, p->n, x, y, err) : NULL;
    if (s && !p->have_clusters)
        s->classes_in_order = classes ? 0 : classes_in_order(names.s, column);
    ok = s && figure_classes(s, g, err) == ST_OK &&
         (p->have_clusters || figure_class_names(s, buf_str(&names), err) == ST_OK);
    buf_free(&names);
    if (ok && p->nfresh) {
        double *nx = mem_calloc(2 * p->nfresh, sizeof *nx, "plot", err), *ny = nx + p->nfresh;
        for (size_t i = 0; nx && i < p->nfresh; i++)
            nx[i] = p->fresh[i * p->dims], ny[i] = p->fresh[i * p->dims + 1];
        s = nx ? figure_add(f, "new rows", MARK_POINTS, p->nfresh, nx, ny, err) : NULL;
        ok = s != NULL;
        if (s)
            s->color = 7;
        free(nx);
    }
    if (ok && p->have_clusters)
        ok = figure_verdict(f, err, "%zu clusters, silhouette %.2f: %s", p->clusters.k,
                            p->clusters.silhouette,
                            p->clusters.silhouette > 0.5    ? "well apart"
                            : p->clusters.silhouette > 0.25 ? "partly apart"
                                                            : "no clear groups") == ST_OK;
    else if (ok)
        ok = figure_verdict(f, err, "two components hold %.1f %% of the variance of %zu rows%s",
                            100 * (p->k.ev[0] + p->k.ev[1]) / p->k.total, p->n,
                            p->sampled ? " (a sample)" : "") == ST_OK;
    buf_free(&b);
    free(x), free(y), free(g);
    return plots_finish(f, ok);
}

const struct plot_ops plots_pca_row = {
    .name = "pca",
    .title = "Kernel PCA and clusters",
    .axes = "PC1, PC2",
    .help = "Rows in the two leading directions of feature space, coloured by cluster or by a "
            "column: its values, or fifths of them.",
    .make = plot_pca,
};

/* How often each part occurs, of kinds that can tell; *told false: lengths say more. */
static bool part_bars(struct figure *f, const struct column *c, size_t rows, bool *told,
                      struct err *err)
{
    const struct row_kind *kind = kind_of(c);
    double share[KIND_SHARES_MOST] = { 0 };
    char word[KIND_SHARES_MOST][2], label[48];
    const char *name[KIND_SHARES_MOST];
    const size_t n = kind->shares ? kind->shares(c, rows, COLUMN_ROWS, word, share) : 0;

    *told = n > 0;
    for (size_t k = 0; k < n; k++)
        name[k] = word[k];
    snprintf(label, sizeof label, "share of %ss", kind->part);
    return n == 0 || (figure_add(f, "", MARK_BARS, n, NULL, share, err) &&
                      figure_names(&f->x, n, name, err) == ST_OK &&
                      figure_label(f, kind->part, label, err) == ST_OK);
}

/* How long cells are. */
static bool length_bars(struct figure *f, const struct column *c, size_t rows, struct err *err)
{
    const struct row_kind *kind = kind_of(c);
    const size_t n = rows < COLUMN_ROWS ? rows : COLUMN_ROWS;
    struct figure_cells cells = { NAN, NAN, 0 };
    double *v = mem_calloc(n ? n : 1, sizeof *v, "plot", err);
    char label[48];

    for (size_t i = 0; v && i < n; i++)
        v[i] = (double)kind->length(c, (size_t)((double)i * (double)rows / (double)n));
    snprintf(label, sizeof label, "%ss", kind->part);
    cells.n = v ? figure_bins(n, v, &cells.lo, &cells.hi) : 0;
    const bool ok = v && figure_histogram(f, "", MARK_BARS, n, v, &cells, false, err) &&
                    figure_label(f, label, "rows", err) == ST_OK;
    free(v);
    return ok;
}

static struct figure *column_panel(const struct column *c, size_t rows, struct err *err)
{
    struct buf name = { 0 };
    struct figure *f;
    struct figure_cells cells = { NAN, NAN, 0 };
    bool ok;

    text_safe(&name, c->name, 32);
    f = figure_new("columns", buf_str(&name), err);
    ok = f && figure_label(f, buf_str(&name), "rows", err) == ST_OK;
    buf_free(&name);
    if (ok && c->type == COL_REAL) {
        const double *v = c->v;
        double *sample = NULL;
        if (rows > COLUMN_ROWS || !v) {
            const size_t n = rows < COLUMN_ROWS ? rows : COLUMN_ROWS;
            sample = mem_calloc(n, sizeof *sample, "plot", err);
            ok = sample != NULL;
            for (size_t i = 0; sample && i < n; i++)
                sample[i] = column_at(c, (size_t)((double)i * (double)rows / (double)n));
            v = sample;
            rows = n;
        }
        cells.n = ok ? figure_bins(rows, v, &cells.lo, &cells.hi) : 0;
        ok = ok && figure_histogram(f, "", MARK_BARS, rows, v, &cells, false, err);
        free(sample);
    } else if (ok && c->type == COL_HELD) {
        bool told;
        ok = part_bars(f, c, rows, &told, err) &&
             (told || !kind_of(c)->length || length_bars(f, c, rows, err));
    } else if (ok) {
        const size_t n = c->type == COL_CATEGORY ? (c->nlevels < 30 ? c->nlevels : 30) : 0;
        double count[30] = { 0 };
        for (size_t i = 0; n && i < rows; i++)
            if (c->code[i] < n)
                count[c->code[i]]++;
        f->x.whole = true;
        if (n > 0) {
            struct buf of = { 0 };
            text_safe(&of, c->name, 32);
            if (n < c->nlevels)
                buf_printf(&of, " (the first %zu of %zu levels)", n, c->nlevels);
            ok = figure_add(f, "", MARK_BARS, n, NULL, count, err) &&
                 figure_names(&f->x, n, (const char *const *)c->level, err) == ST_OK &&
                 figure_label(f, buf_str(&of), "rows", err) == ST_OK;
            buf_free(&of);
        }
    }
    return plots_finish(f, ok);
}

static struct figure *plots_columns(struct workspace *ws, struct run *r, const struct args *a,
                                   struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, NULL);
    struct figure *first = NULL, **tail = &first;
    size_t n = 0, pick[MAX_PANELS];
    const size_t asked = a ? args_many(a, "runs") : 0;

    (void)r;
    if (!d)
        return plots_nothing("columns", "No data is loaded. try: demo co2, or open FILE.csv", err);
    for (size_t i = 0; i < asked && n < MAX_PANELS; i++) {
        pick[n] = table_find(d->table, args_many_at(a, "runs", i));
        if (pick[n++] == SIZE_MAX) {
            err_set(err, ST_NOT_FOUND, "there is no column %s", args_many_at(a, "runs", i));
            err_hint(err, "cols");
            return NULL;
        }
    }
    for (size_t j = 0; !asked && j < d->table->ncols && n < MAX_PANELS; j++)
        if (d->role[j] == ROLE_INPUT || d->role[j] == ROLE_TARGET)
            pick[n++] = j;
    if (!n)
        return plots_nothing("columns",
                             "No column is an input or the target. try: cols NAME role=input", err);
    for (size_t i = 0; i < n; i++) {
        *tail = column_panel(&d->table->col[pick[i]], d->table->n, err);
        if (!*tail) {
            figure_free(first);
            return NULL;
        }
        tail = &(*tail)->next;
    }
    first->across = n <= 3 ? n : n <= 8 ? 3 : 4;
    const bool ok =
        figure_verdict(
            first, err, "%zu of %zu columns of %zu rows%s", n, d->table->ncols, d->table->n,
            d->table->n > COLUMN_ROWS ? " (an even sample of 100,000 rows)" : "") == ST_OK;
    return plots_finish(first, ok);
}

const struct plot_ops plots_columns_row = {
    .name = "columns",
    .title = "Shape of each column",
    .axes = "value, rows",
    .help = "A histogram of each input and the target; name columns to choose them.",
    .make = plots_columns,
    .columns = true,
};

static struct figure *kept_slice(struct workspace *ws, struct run *r, const struct args *a,
                                 struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "slice", "No slice has been computed yet. try: plot slice COLUMN", err);
}

const struct plot_ops plots_slice_row = {
    .name = "slice",
    .title = "The function along one or two inputs",
    .axes = "input, target",
    .help = "Mean and 95 % bands along an input, other numbers at their median, categories at "
            "their most frequent level, or all at those of a row (row:12); two inputs make "
            "surfaces of the mean and the sd.",
    .make = kept_slice,
    .columns = true,
    .prepare = plots_slice,
};

static struct figure *kept_posterior(struct workspace *ws, struct run *r, const struct args *a,
                                     struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "posterior",
                     "No functions have been drawn yet. try: draw posterior along=COLUMN", err);
}

const struct plot_ops plots_posterior_row = {
    .name = "posterior",
    .title = "Functions from the posterior along one input",
    .axes = "input, target",
    .help = "Mean, 95 % bands and functions drawn from the posterior of a fit along an input, "
            "through a row (row:12) or with the others at typical values; see draw. Without an "
            "input it is the line of the last draw.",
    .make = kept_posterior,
    .columns = true,
    .prepare = plots_posterior,
};

static struct figure *kept_parts(struct workspace *ws, struct run *r, const struct args *a,
                                 struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "parts", "No parts have been computed yet. try: plot parts", err);
}

const struct plot_ops plots_parts_row = {
    .name = "parts",
    .title = "The parts of a sum of kernels",
    .axes = "input, part",
    .help = "Posterior mean and 95 % band of each summand along an input; together with the "
            "target's mean they are the prediction.",
    .make = kept_parts,
    .columns = true,
    .prepare = plots_parts,
};

static struct figure *kept_features(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "features",
                      "The error of features has not been computed yet. try: plot features", err);
}

const struct plot_ops plots_features_row = {
    .name = "features",
    .title = "Error of random features",
    .axes = "features (log), relative error of the kernel (log)",
    .help = "The relative error of the kernel matrix of 256 rows, with three draws at each number "
            "of features; it falls as 1 over the square root of that number.",
    .make = kept_features,
    .prepare = plots_features,
};

static struct figure *kept_landscape(struct workspace *ws, struct run *r, const struct args *a,
                                     struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "landscape", "There is no landscape yet. try: landscape", err);
}

const struct plot_ops plots_landscape_row = {
    .name = "landscape",
    .title = "NMLL over two hyperparameters",
    .axes = "lengthscale (log), noise (log)",
    .help = "From landscape: contours of the NMLL above its least value, every evaluation of the "
            "last tuning and its best so far. The contour at 3 nats bounds a 95 % confidence "
            "region of the two.",
    .make = kept_landscape,
};

static struct figure *kept_tradeoff(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "tradeoff",
                      "Fit and complexity have not been computed yet. try: tradeoff", err);
}

const struct plot_ops plots_tradeoff_row = {
    .name = "tradeoff",
    .title = "Fit against complexity",
    .axes = "lengthscale (log), nats",
    .help = "From tradeoff: the parts of the NMLL over a lengthscale, at fixed amplitude and "
            "noise; their sum is least between too short and too long a lengthscale.",
    .make = kept_tradeoff,
};

static struct figure *kept_row(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "row", "No row has been explained yet. try: explain-row row:12", err);
}

const struct plot_ops plots_row_row = {
    .name = "row",
    .title = "What a prediction depends on",
    .axes = "position, letter",
    .help = "From explain-row: the change of the predicted mean with each letter at each position; "
            "the last row masks the position. Darker is a larger change, in one hue down and in "
            "another up. For graphs: the change without each node. For numbers and categories: by "
            "how much the row's value of each column raises the mean.",
    .make = kept_row,
};
