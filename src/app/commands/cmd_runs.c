/* app/commands/cmd_runs.c -- tunings and fits side by side: runs, compare, note. */
#include "app/commands/commands.h"
#include "app/runs/fitting.h"
#include "app/runs/scoring/paired.h"
#include "app/runs/scoring/scoring.h"
#include "app/shell/text_table.h"
#include "app/core/measures.h"
#include "app/session/store.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_number(struct text_table *g, double x)
{
    char num[40];

    if (isfinite(x))
        text_number(num, sizeof num, x);
    else
        snprintf(num, sizeof num, "-");
    text_table_cell(g, num, 0);
}

/* A figure of a run by its name; NaN if the run has none or it has no meaning there. */
static double figure(const struct run *r, const char *name)
{
    const struct measure *m = measure_find(name, r->kind);

    return m && measure_applies(m, r) ? measure_number(m, r, 0) : NAN;
}

/* The score of each target: an array, or with one target a number. */
static void run_score(struct rec *rec, const char *name, const struct run *r)
{
    const struct measure *m = measure_find(name, r->kind);
    double v[TARGETS_MOST];
    size_t t = 0;

    for (; m && t < TARGETS_MOST && run_metrics(r, t, true); t++)
        v[t] = measure_number(m, r, t);
    if (t > 1)
        rec_nums(rec, name, v, t);
    else
        rec_num(rec, name, t ? v[0] : NAN);
}

static void run_json(struct rec *rec, const struct run *r)
{
    const bool fit = r->kind == RUN_FIT;

    rec_item(rec);
    rec_str(rec, "run", r->id);
    rec_str(rec, "kind", fit ? "fit" : "tune");
    rec_str(rec, "state", run_state_name(r->state));
    rec_str(rec, "dataset", r->dataset_name);
    rec_str(rec, "kernel", r->kernel_text);
    rec_str(rec, "solver", fit && *r->info.solver ? r->info.solver : NULL);
    rec_num(rec, "features", figure(r, "features"));
    rec_num(rec, "rank", fit && r->info.rank ? (double)r->info.rank : NAN);
    rec_num(rec, "iterations", figure(r, "iterations"));
    rec_num(rec, "passes", figure(r, "passes"));
    rec_str(rec, "outcome", fit && r->info.why ? solve_outcome(r->info.why) : NULL);
    rec_num(rec, "nmll", figure(r, "nmll"));
    rec_num(rec, "nmll_error", figure(r, "nmll_error"));
    if (r->has_enc)
        fitting_targets_json(rec, &r->enc);
    run_score(rec, "rmse", r);
    run_score(rec, "rmse_scaled", r);
    run_score(rec, "coverage95", r);
    scoring_run_baseline_json(rec, r);
    rec_num(rec, "seconds", figure(r, "seconds"));
    if (!fit && r->topt.restarts > 1)
        rec_int(rec, "restart", (int64_t)r->topt.restart + 1);
    rec_str(rec, "note", r->note);
    rec_bool(rec, "star", r->star);
    rec_close(rec);
}

static void run_row(struct text_table *g, const struct workspace *ws, const struct run *r)
{
    const bool fit = r->kind == RUN_FIT;
    char mark = r->state == RUN_RUNNING ? '>' : r->state == RUN_FAILED ? 'x'
              : r->state == RUN_QUEUED ? '.' : fit && (int)r->info.why < 0 ? '!' : ' ';

    if (mark == ' ' && !strcmp(r->id, ws->last_fit))
        mark = '*';
    text_table_printf(g, "%c%s", mark, r->id);
    text_table_cell(g, run_state_name(r->state), 0);
    text_table_cell(g, r->dataset_name, 16);
    text_table_cell(g, r->kernel_text, 24);
    text_table_cell(g, fit ? r->info.solver : "tune", 0);
    run_number(g, fit ? (r->info.features ? (double)r->info.features : NAN)
                      : run_model_kind(r)->draws ? (double)r->topt.features : NAN);
    run_number(g, fit && r->info.rank ? (double)r->info.rank : NAN);
    run_number(g, fit ? (double)r->info.iterations : (double)r->tune.evaluations);
    run_number(g, figure(r, "nmll"));
    run_number(g, figure(r, "rmse"));
    run_number(g, figure(r, "coverage95"));
    char sec[32] = "-";
    if (isfinite(figure(r, "seconds")))
        text_seconds(sec, sizeof sec, figure(r, "seconds"));
    text_table_cell(g, sec, 0);
    struct buf words = { 0 };
    buf_printf(&words, "%s%s", r->star ? "[star] " : "", r->note ? r->note : "");
    if (!fit && !r->note && r->topt.restarts > 1)
        buf_printf(&words, "restart %zu of %zu", r->topt.restart + 1, r->topt.restarts);
    text_table_cell(g, buf_str(&words), 40);
    buf_free(&words);
}

/* by: the brief name of the figure (measures.h) to sort by, best first; NULL: no sorting. */
struct order { const char *by; bool newest; };

static double order_value(const struct order *o, const struct run *r)
{
    const struct measure *m = o->by ? measure_brief(o->by, r->kind) : NULL;

    return m ? measure_order(m, r) : NAN;
}

static int by_order(const void *a, const void *b, void *ctx)
{
    const struct run *x = *(const struct run *const *)a, *y = *(const struct run *const *)b;
    const struct order *o = ctx;
    const double u = order_value(o, x), v = order_value(o, y);

    if (isfinite(u) != isfinite(v))
        return isfinite(u) ? -1 : 1;
    if (u < v || u > v)
        return u < v ? -1 : 1;
    return o->newest ? (x->serial < y->serial) - (x->serial > y->serial)
                     : (x->serial > y->serial) - (x->serial < y->serial);
}

static bool holds(const char *text, const char *word)
{
    return text && strcasestr(text, word);
}

/* True if the run is of this kind and its row of the table contains the word. */
static bool wanted_run(const struct run *r, const char *kind, const char *word)
{
    const bool fit = r->kind == RUN_FIT;

    if ((!strcmp(kind, "fits") && !fit) || (!strcmp(kind, "tunings") && fit) ||
        (!strcmp(kind, "stars") && !r->star) ||
        (!strcmp(kind, "failed") && r->state != RUN_FAILED) ||
        (!strcmp(kind, "short") && !(fit && (int)r->info.why < 0)))
        return false;
    return !word || holds(r->id, word) || holds(r->dataset_name, word) ||
           holds(r->kernel_text, word) || holds(r->note, word) ||
           holds(run_state_name(r->state), word) || holds(fit ? r->info.solver : "tune", word);
}

/* The requested runs, from the bin or from the table, in the requested order; caller frees. */
static const struct run **chosen_runs(const struct workspace *ws, const struct args *a, size_t *n,
                                      struct err *err)
{
    const char *kind = args_text(a, "kind"), *by = args_text(a, "sort");
    const bool bin = !strcmp(kind, "bin");
    struct run *const *from = bin ? ws->bin : ws->run;
    const size_t have = bin ? ws->nbin : ws->nrun, last = (size_t)args_int(a, "last", 0);
    const struct run **out = mem_calloc(have ? have : 1, sizeof *out, "the runs", err);
    struct order o = { .newest = !strcmp(by, "newest") };

    *n = 0;
    for (size_t i = 0; out && i < have; i++)
        if ((!bin || from[i]->dropped) && wanted_run(from[i], kind, args_text(a, "where")))
            out[(*n)++] = from[i];
    if (measure_brief(by, RUN_FIT) || measure_brief(by, RUN_TUNE))
        o.by = by;
    if (out && *n && last && *n > last) {
        memmove(out, out + *n - last, last * sizeof *out);
        *n = last;
    }
    if (out && *n && (o.by || o.newest))
        qsort_r(out, *n, sizeof *out, by_order, &o);
    return out;
}

static enum status cmd_runs(struct workspace *ws, const struct args *a, struct err *err)
{
    static const bool right[] = { false, false, false, false, false, true, true, true, true, true,
                                  true, true, false };
    static const char *const head[] = { " run", "state", "data", "kernel", "solver", "features",
                                        "rank", "it", "nmll", "rmse", "cover95", "time", "note" };
    struct text_table g;
    struct rec r;
    size_t n = 0;
    const struct run **run = chosen_runs(ws, a, &n, err);

    if (!run)
        return ST_NOMEM;
    rec_init(&r, REC_RESULT, "runs");
    rec_array(&r, "runs");
    text_table_init(&g, 13);
    for (size_t i = 0; i < 13; i++)
        text_table_cell(&g, head[i], 0);
    for (size_t i = 0; i < n; i++) {
        run_row(&g, ws, run[i]);
        run_json(&r, run[i]);
    }
    rec_array_close(&r);
    rec_int(&r, "of", (int64_t)ws->nrun);
    if (n)
        text_table_print(&g, right, &r.text);
    if (n < ws->nrun && n)
        rec_text(&r, "%zu of %zu runs   ", n, ws->nrun);
    rec_text(&r, "%s",
             n          ? "* last fit   > running   ! stopped short   x failed"
             : ws->nrun ? "no run matches (runs alone lists them all)"
                        : "no runs yet: tune, fit");
    free(run);
    text_table_free(&g);
    ws_emit(ws, &r);
    return ST_OK;
}

/* One row of a comparison: equal words are not shown, different ones are marked. */
struct aspect { const char *name; void (*write)(const struct run *, size_t target, struct buf *);
                bool result; /* a result, not a setting */ };

static void put(struct buf *b, double x)
{
    char num[40];

    if (isfinite(x))
        text_number(num, sizeof num, x);
    else
        snprintf(num, sizeof num, "-");
    buf_puts(b, num);
}

#define ASPECT(id, expr)                                              \
    static void aspect_##id(const struct run *r, size_t j, struct buf *b) \
    {                                                                 \
        (void)j;                                                      \
        expr;                                                         \
    }
static bool is_fit(const struct run *r)
{
    return r->kind == RUN_FIT;
}
ASPECT(data, buf_puts(b, r->dataset_name ? r->dataset_name : "-"))
ASPECT(split, buf_puts(b, r->data && r->data->split.how ? r->data->split.how : "-"))
ASPECT(kernel, buf_puts(b, r->kernel_text ? r->kernel_text : "-"))
/* A hyperparameter; with ARD, all lengthscales if they fit into a column, otherwise the shortest
 * and the longest. */
static void hp_words(const struct run *r, const char *name, struct buf *b)
{
    enum { SHOWN = 4 };
    const double *hp = is_fit(r) ? r->fit.hp : r->tune.best.hp;
    size_t first, n;

    if (hyper_args_slot(&r->fit.kernel, name, &first, &n, NULL) != ST_OK) {
        buf_putc(b, '-');
        return;
    }
    double least = hp[first], most = hp[first];
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, hp[first + i]);
        most = fmax(most, hp[first + i]);
        if (n <= SHOWN) {
            buf_puts(b, i ? " " : "");
            put(b, hp[first + i]);
        }
    }
    if (n > SHOWN) {
        put(b, least);
        if (most > least) {
            buf_puts(b, "..");
            put(b, most);
        }
        buf_printf(b, " (%zu)", n);
    }
}

static double scale_of(const struct run *r, size_t j, bool noise)
{
    if (is_fit(r) && (!r->model || j >= r->model->t))
        return noise ? r->info.noise : r->info.amplitude;
    return is_fit(r) ? (noise ? r->model->noises : r->model->amplitudes)[j]
                     : (noise ? r->tune.best.noises : r->tune.best.amplitudes)[j];
}
static void target_of(const struct run *r, size_t j, struct buf *b)
{
    if (r->has_enc)
        text_safe(b, encoding_for(&r->enc, j).target, 24);
    else
        buf_putc(b, '-');
    if (run_targets(r) > 1)
        buf_printf(b, " (1 of %zu)", run_targets(r));
}
ASPECT(target, target_of(r, j, b))
static void scale_words(const struct run *r, struct buf *b)
{
    if (r->has_enc)
        buf_printf(b, "y=%s", encoding_yscale_words[r->enc.yscale]);
    else
        buf_putc(b, '-');
}
ASPECT(scale, scale_words(r, b))
ASPECT(amplitude, put(b, scale_of(r, j, false)))
ASPECT(noise, put(b, scale_of(r, j, true)))
/* Effective dimension of features: how much of what the data determine the features can hold. */
static void effective_words(const struct run *r, struct buf *b)
{
    const double effective = is_fit(r) ? r->info.effective_dimension : r->tune.effective_dimension;
    const size_t of = !is_fit(r) ? (run_model_kind(r)->draws ? r->topt.features : 0)
                      : r->info.features ? r->info.variance_features : r->info.rows;

    put(b, effective > 0.0 ? round(effective) : NAN);
    if (effective > 0.0 && of)
        buf_printf(b, " of %zu", of);
}
static void features_words(const struct run *r, struct buf *b)
{
    const struct model_ops *kind = run_model_kind(r);

    if (!kind->draws)
        buf_puts(b, kind->name);
    else if (is_fit(r))
        put(b, (double)(r->info.features ? r->info.features : r->fit.features));
    else
        put(b, (double)r->topt.features);
}
ASPECT(effective, effective_words(r, b))
ASPECT(solver, buf_puts(b, is_fit(r) ? r->info.solver : "tune"))
ASPECT(features, features_words(r, b))
ASPECT(rank, put(b, is_fit(r) && r->info.rank ? (double)r->info.rank : NAN))
ASPECT(precond, buf_puts(b, is_fit(r) && *r->info.precond ? r->info.precond : "-"))
ASPECT(rtol, put(b, is_fit(r) ? r->fit.rtol : NAN))
ASPECT(seed, put(b, is_fit(r) ? (double)r->fit.seed : (double)r->topt.seed))
ASPECT(state, buf_puts(b, run_state_name(r->state)))
ASPECT(outcome, buf_puts(b, is_fit(r) && r->info.why ? solve_outcome(r->info.why) : "-"))
static const struct aspect settings[] = {
    {"data", aspect_data, false},
    {"split", aspect_split, false},
    {"target", aspect_target, false},
    {"scale", aspect_scale, false},
    {"kernel", aspect_kernel, false},
    {NULL, NULL, false}, /* place of the kernels' hyperparameters */
    {"amplitude", aspect_amplitude, false},
    {"noise", aspect_noise, false},
    {"solver", aspect_solver, false},
    {"features", aspect_features, false},
    {"rank", aspect_rank, false},
    {"precond", aspect_precond, false},
    {"rtol", aspect_rtol, false},
    {"seed", aspect_seed, false},
    {"state", aspect_state, true},
    {"outcome", aspect_outcome, true},
};
/* A text that replaces the number. */
static const struct aspect written[] = {
    {"effective_dimension", aspect_effective, true},
};

enum { COMPARE_MAX = 8 };

/* The runs to compare: those named, else the last two fits. */
static enum status compared(struct workspace *ws, const struct args *a,
                            const struct run *out[COMPARE_MAX], size_t *n, struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < args_many(a, "runs"); i++) {
        if (*n == COMPARE_MAX)
            return err_set(err, ST_LIMIT, "at most %d runs can be compared at once", COMPARE_MAX);
        if (!(out[(*n)++] = ws_run(ws, args_many_at(a, "runs", i), err)))
            return err->code;
    }
    if (*n)
        return ST_OK;
    for (size_t i = ws->nrun; i-- > 0 && *n < 2;)
        if (ws->run[i]->kind == RUN_FIT) {
            out[1 - *n] = ws->run[i];
            ++*n;
        }
    if (*n < 2) {
        err_named(err, ST_STATE, "no-run", "compare needs two runs");
        err_hint(err, "fit; then compare r1 r2");
        return ST_STATE;
    }
    return ST_OK;
}

/* Each difference has a row; everything that is the same is in one line. */
struct comparison { struct text_table settings, results; struct buf same, units; };

static void compare_cells(const char *name, struct buf cell[COMPARE_MAX], size_t n, bool result,
                          struct comparison *c, struct rec *r)
{
    struct text_table *g = result ? &c->results : &c->settings;
    bool same = true;

    for (size_t i = 0; i < n; i++)
        same &= !strcmp(buf_str(&cell[i]), buf_str(&cell[0]));
    rec_bool(r, name, !same);
    if (same && strcmp(buf_str(&cell[0]), "-") != 0)
        buf_printf(&c->same, "%s%s %s", c->same.len ? ", " : "", name, buf_str(&cell[0]));
    if (!same) {
        text_table_cell(g, "*", 0);
        text_table_cell(g, name, 0);
    }
    for (size_t i = 0; i < n; i++) {
        if (!same)
            text_table_cell(g, buf_str(&cell[i]), 28);
        buf_free(&cell[i]);
    }
}

/* One row. If aspect is NULL, it is the hyperparameter of that name. */
static void compare_row(const struct run **run, const size_t *target, size_t n, const char *name,
                        const struct aspect *aspect, struct comparison *c, struct rec *r)
{
    struct buf cell[COMPARE_MAX] = { { 0 } };

    for (size_t i = 0; i < n; i++)
        if (aspect)
            aspect->write(run[i], target[i], &cell[i]);
        else
            hp_words(run[i], name, &cell[i]);
    compare_cells(name, cell, n, aspect && aspect->result, c, r);
}

/* What a figure is measured in: the target's name where it is in units of the target, and also the
 * scale for the marginal likelihood, which is of the target as the model sees it.  False if the
 * figure has no such unit or this run does not have the figure. */
static bool unit_of(const struct measure *m, const struct run *r, size_t j, struct buf *b)
{
    const bool raw = m->of == MEASURE_OF_RAW && (!strcmp(m->unit, "target") ||
                                                 !strcmp(m->unit, "nats"));
    const bool objective = m->brief && !strcmp(m->brief, "nmll");

    buf_clear(b);
    if ((!raw && !objective) || !r->has_enc || !isfinite(measure_number(m, r, j)))
        return false;
    text_safe(b, encoding_for(&r->enc, j).target, 24);
    if (objective)
        buf_printf(b, ", y=%s", encoding_yscale_words[r->enc.yscale]);
    return true;
}

/* True if the runs have the figure in different units.  It then stands in a line of its own, with
 * the units: in a row, the smaller number would be read as the better one. */
static bool compare_units(const struct run **run, const size_t *target, size_t n,
                          const struct measure *m, struct comparison *c)
{
    struct buf unit = { 0 }, first = { 0 };
    bool differ = false, found = false, begun = false;

    for (size_t i = 0; i < n; i++) {
        const struct measure *own = measure_find(m->name, run[i]->kind);
        if (!own || !unit_of(own, run[i], target[i], &unit))
            continue;
        if (!found)
            buf_puts(&first, buf_str(&unit));
        differ = differ || strcmp(buf_str(&unit), buf_str(&first)) != 0;
        found = true;
    }
    for (size_t i = 0; differ && i < n; i++) {
        const struct measure *own = measure_find(m->name, run[i]->kind);
        if (!own || !unit_of(own, run[i], target[i], &unit))
            continue;
        buf_printf(&c->units, "%s%s %s ", begun ? ";" : "\n", begun ? "" : m->name,
                   run[i]->id);
        begun = true;
        put(&c->units, measure_number(own, run[i], target[i]));
        buf_printf(&c->units, " (%s)", buf_str(&unit));
    }
    buf_free(&unit);
    buf_free(&first);
    return differ;
}

/* A figure of the table. A tuning has evaluations where a fit has iterations. */
static void compare_measure(const struct run **run, const size_t *target, size_t n,
                            const struct measure *m, struct comparison *c, struct rec *r)
{
    struct buf cell[COMPARE_MAX] = { { 0 } };

    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (!strcmp(m->name, written[i].name)) {
            compare_row(run, target, n, m->name, &written[i], c, r);
            return;
        }
    if (compare_units(run, target, n, m, c)) {
        rec_bool(r, m->name, true);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct measure *own = measure_find(m->name, run[i]->kind);
        if (!own && m->brief)
            own = measure_brief(m->brief, run[i]->kind);
        put(&cell[i], own && measure_applies(own, run[i]) ? measure_number(own, run[i], target[i])
                                                          : NAN);
    }
    compare_cells(m->name, cell, n, true, c, r);
}

/* The hyperparameters of all the kernels, each once. */
static void compare_hp(const struct run **run, size_t n, struct comparison *c, struct rec *r)
{
    enum { MOST = 128 };
    char told[MOST][KERNEL_NAME_MAX];
    size_t rows = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < kernel_nhp(&run[i]->fit.kernel) && rows < MOST; h++) {
            size_t k = 0;
            kernel_hp_info(&run[i]->fit.kernel, h, told[rows], NULL);
            told[rows][strcspn(told[rows], "[")] = '\0'; /* all lengthscales of a kernel */
            while (strcmp(told[k], told[rows]) != 0)
                k++;
            if (k == rows)
                compare_row(run, NULL, n, told[rows++], NULL, c, r);
        }
}

/* Reports marginal likelihoods from random probes that differ by less than their error. */
static void compare_ties(const struct run **run, size_t n, struct rec *r)
{
    rec_array(r, "ties");
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            const double gap = fabs(figure(run[i], "nmll") - figure(run[j], "nmll"));
            const double error =
                fmax(figure(run[i], "nmll_error"), figure(run[j], "nmll_error"));
            if (!(gap < error))
                continue;
            rec_item(r);
            rec_str(r, "run", run[i]->id);
            rec_str(r, "with", run[j]->id);
            rec_num(r, "difference", gap);
            rec_num(r, "error", error);
            rec_close(r);
            rec_text(
                r,
                "\n%s and %s tie: their NMLL differ by %.3g, less than the standard error of %.3g",
                run[i]->id, run[j]->id, gap, error);
        }
    rec_array_close(r);
}

/* The scores of the simple models, once for all runs that have the same: they hang on the rows of
 * the split and on the inputs, not on the fit. */
static void compare_baselines(const struct run **run, const size_t *target, size_t n,
                              struct rec *r)
{
    struct buf words[COMPARE_MAX] = { { 0 } };

    for (size_t i = 0; i < n; i++)
        scoring_run_baseline_words(&words[i], run[i], target[i]);
    for (size_t i = 0; i < n; i++) {
        if (!words[i].len)
            continue;
        rec_text(r, "\nbaselines of %s", run[i]->id);
        for (size_t j = i + 1; j < n; j++)
            if (!strcmp(buf_str(&words[j]), buf_str(&words[i]))) {
                rec_text(r, " %s", run[j]->id);
                buf_clear(&words[j]);
            }
        rec_text(r, ": %s", buf_str(&words[i]));
    }
    for (size_t i = 0; i < n; i++)
        buf_free(&words[i]);
}

static void compare_head(struct text_table *g, const struct run **run, size_t n, const char *what)
{
    text_table_init(g, n + 2);
    text_table_cell(g, "", 0);
    text_table_cell(g, what, 0);
    for (size_t i = 0; i < n; i++)
        text_table_cell(g, run[i]->id, 0);
}

/* Shows settings that differ, results that differ, and what is the same.  On a screen it draws the
 * curves together; without one it names the line that does. */
static void compare_text(struct workspace *ws, struct comparison *c, const struct run **run,
                         size_t n, struct rec *r)
{
    struct buf curves = { 0 };
    size_t traced = 0, fits = 0;

    text_table_print(&c->settings, NULL, &r->text);
    text_table_print(&c->results, NULL, &r->text);
    if (c->units.len)
        rec_text(r, "In different units, so not compared:%s\n", buf_str(&c->units));
    rec_text(r, "* differs.  The same: %s", c->same.len ? buf_str(&c->same) : "nothing");
    for (size_t i = 0; i < n; i++)
        fits += is_fit(run[i]) && run[i]->ntrace > 0;
    for (size_t i = 0; i < n; i++)
        if (is_fit(run[i]) == (fits >= 2) && run[i]->ntrace > 0)
            buf_printf(&curves, "%s%s", traced++ ? " " : "", run[i]->id);
    const char *plot = fits >= 2 ? "residual" : "nmll";
    if (traced >= 2 && !ws_screen_show(ws, plot, buf_str(&curves)))
        rec_text(r, "\n"
                    "plot %s %s draws their curves together", plot, buf_str(&curves));
    buf_free(&curves);
}

static enum status cmd_compare(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct run *run[COMPARE_MAX];
    size_t n, target[COMPARE_MAX];
    struct comparison c = { .same = { 0 } };
    struct rec r;
    enum status rc = compared(ws, a, run, &n, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++)
        rc = run_target(run[i], args_text(a, "target"), &target[i], err);
    if (rc != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "compare");
    rec_array(&r, "runs");
    for (size_t i = 0; i < n; i++)
        run_json(&r, run[i]);
    rec_array_close(&r);
    rec_open(&r, "differs");
    compare_head(&c.settings, run, n, "settings");
    compare_head(&c.results, run, n, "results");
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        if (settings[k].name)
            compare_row(run, target, n, settings[k].name, &settings[k], &c, &r);
        else
            compare_hp(run, n, &c, &r);
    }
    for (size_t k = 0; measure_at(k); k++)
        if (measure_at(k)->compare)
            compare_measure(run, target, n, measure_at(k), &c, &r);
    rec_close(&r);
    compare_text(ws, &c, run, n, &r);
    compare_baselines(run, target, n, &r);
    compare_ties(run, n, &r);
    rc = paired_tell(run, target, n, &r, err);
    text_table_free(&c.settings);
    text_table_free(&c.results);
    buf_free(&c.same);
    buf_free(&c.units);
    if (rc != ST_OK) {
        rec_free(&r);
        return rc;
    }
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_note(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *text = args_text(a, "text");
    struct run *run = NULL;
    struct rec r;

    if (args_given(a, "run") || *ws->last_fit) {
        run = ws_run(ws, args_text(a, "run"), err);
        if (!run)
            return err->code;
        char *copy = mem_strdup(text, err);
        if (!copy)
            return ST_NOMEM;
        free(run->note);
        run->note = copy;
        if (store_of(ws))
            store_run(store_of(ws), run);
    }
    rec_init(&r, REC_RESULT, "note");
    rec_str(&r, "run", run ? run->id : NULL);
    rec_str(&r, "text", text);
    rec_text(&r, "noted%s%s", run ? " at " : " in the log", run ? run->id : "");
    ws_emit(ws, &r);
    return ST_OK;
}

const struct command cmd_runs_rows[] = {
    {"runs",
     "work",
     "Show the table of tunings and fits",
     "runs",
     {{"kind", ARG_CHOICE, ARGF_POS, "all", 0, 0, "all|fits|tunings|stars|failed|short|bin", NULL,
       "which runs; short: fits that stopped short of their tolerance"},
      {"where", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "only runs with this text in name, data, kernel, solver, state or note"},
      {"sort", ARG_CHOICE, 0, "oldest", 0, 0,
       "oldest|newest|nmll|rmse|nlpd|coverage|log_loss|accuracy|seconds|iterations|rank|"
       "features|effdim", NULL,
       "the best first: the smallest value, for coverage the nearest to 95 %"},
      {"last", ARG_INT, 0, NULL, 1, 1e6, NULL, "runs", "only this many, the newest"}},
     0,
     cmd_runs,
     "runs sort=nlpd where=matern   runs stars   runs bin   (rmse and nlpd in units of sd)"},
    {"compare",
     "work",
     "Show runs side by side with their differences marked",
     "compare r1 r2",
     {{"runs", ARG_RUN, ARGF_POS | ARGF_MANY, NULL, 0, 0, NULL, NULL,
       "runs to compare (default: the last two fits)"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "with several targets, which one; default: the first"}},
     0,
     cmd_compare,
     "Of runs that were scored on the same rows it gives the paired difference to the first one,\n"
     "in RMSE and NLPD, with its standard error: by whole groups in a split by group. A\n"
     "difference of less than two standard errors is called chance. The scores of the training\n"
     "mean and of ridge regression on the same inputs stand beside, as score found them."},
    {"note",
     "work",
     "Add a note to a run",
     "note r1 looks good",
     {{"run", ARG_RUN, ARGF_POS, NULL, 0, 0, NULL, NULL, "run (default: the last fit)"},
      {"text", ARG_TEXT, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "text of the note: the rest of the line"}},
     CMD_CHANGES,
     cmd_note,
     NULL},
    {.name = NULL},
};
