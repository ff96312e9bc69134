/* app/commands/cmd_general.c -- settings, background work, runs, help, scripts: set, get, jobs,
 * stop, wait, runs, compare, note, help, about, source, quit. */
#include "config.h"

#include "data/cache.h"
#include "data/formats/import.h"
#include "app/shell/args.h"
#include "app/commands/commands.h"
#include "app/runs/fitting.h"
#include "app/shell/text_table.h"
#include "app/core/job.h"
#include "app/core/measures.h"
#include "app/shell/options.h"
#include "app/runs/restarts.h"
#include "app/shell/script.h"
#include "app/session/store.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/backend_load.h"

#include <inttypes.h>
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set, get. */

static double *hp_place(struct workspace *ws, size_t slot)
{
    const size_t n = kernel_nhp(&ws->kernel);

    return slot < n ? &ws->hp[slot] : slot == n ? &ws->amplitude : &ws->noise;
}

static struct tune_bound *hp_bound(struct workspace *ws, size_t slot)
{
    const size_t n = kernel_nhp(&ws->kernel);

    return slot < n ? &ws->hp_bound[slot] : slot == n ? &ws->amp_bound : &ws->noise_bound;
}

static void hp_name(const struct workspace *ws, size_t slot, char name[KERNEL_NAME_MAX],
                    struct hparam *h)
{
    const size_t n = kernel_nhp(&ws->kernel);

    if (slot < n) {
        kernel_hp_info(&ws->kernel, slot, name, h);
        return;
    }
    snprintf(name, KERNEL_NAME_MAX, "%s", slot == n ? "amplitude" : "noise");
    *h = (struct hparam){ name, "", 0.0, 0.0, slot == n ? 1.0 : 0.1, "" };
}

/* Who is behind a hyperparameter's value: a tuning run, `set`, or nobody. */
static void hp_origin(const struct workspace *ws, size_t slot, double value, char *out, size_t len)
{
    char name[KERNEL_NAME_MAX];
    struct hparam h;

    hp_name(ws, slot, name, &h);
    for (size_t i = ws->nrun; i-- > 0 && (ws->hp_tuned || value != h.init);) {
        const struct run *r = ws->run[i];
        const struct tune_point *p = &r->tune.best;
        if (r->kind != RUN_TUNE || !r->tune.evaluations)
            continue;
        const double best = slot < r->tune.nhp ? p->hp[slot]
                          : slot == r->tune.nhp ? p->amplitude : p->noise;
        if (best == value) {
            snprintf(out, len, "tuned by %s", r->id);
            return;
        }
    }
    snprintf(out, len, "%s", value == h.init ? "starting value" : "set");
}

static void hp_row(struct workspace *ws, size_t slot, struct text_table *g, struct rec *r)
{
    const struct tune_bound *b = hp_bound(ws, slot);
    const double v = *hp_place(ws, slot);
    char name[KERNEL_NAME_MAX], origin[40], lo[32], hi[32];
    struct hparam h;

    hp_name(ws, slot, name, &h);
    hp_origin(ws, slot, v, origin, sizeof origin);
    rec_item(r);
    rec_str(r, "name", name);
    rec_num(r, "value", v);
    rec_str(r, "by", origin);
    rec_num(r, "min", b->hi > 0.0 ? b->lo : NAN);
    rec_num(r, "max", b->hi > 0.0 ? b->hi : NAN);
    rec_close(r);
    text_table_cell(g, name, 0);
    text_table_printf(g, "%.5g", v);
    text_table_cell(g, origin, 0);
    if (b->hi > 0.0) {
        text_number(lo, sizeof lo, b->lo);
        text_number(hi, sizeof hi, b->hi);
        text_table_printf(g, "tuned within %s..%s", lo, hi);
    } else {
        text_table_cell(g, "", 0);
    }
}

static void option_line(const struct workspace *ws, const struct option_row *o,
                        struct text_table *g, struct rec *r)
{
    struct buf value = { 0 };

    o->show(&ws->opt, &value);
    rec_item(r);
    rec_str(r, "name", o->arg.name);
    rec_str(r, "value", buf_str(&value));
    rec_str(r, "by", option_origin(ws->origin, o->arg.name));
    rec_close(r);
    text_table_cell(g, o->arg.name, 0);
    text_table_cell(g, buf_str(&value), 0);
    text_table_cell(g, option_origin(ws->origin, o->arg.name), 0);
    text_table_cell(g, o->arg.help, 70);
    buf_free(&value);
}

/* name NULL: all. */
static enum status tell_settings(struct workspace *ws, const char *command, const char *name,
                                 struct err *err)
{
    const size_t slots = kernel_nhp(&ws->kernel) + 2;
    struct buf kernel = { 0 };
    struct text_table g;
    struct rec r;
    char own[KERNEL_NAME_MAX];
    int side;
    size_t slot = SIZE_MAX, count = 0, told = 0;
    const struct option_row *only = NULL;

    if (name && ws_hp_slot(&ws->kernel, args_hp_name(name, own, sizeof own, &side) ? own : name,
                           &slot, &count, NULL) != ST_OK && !(only = option_find(name, err)))
        return err->code;
    rec_init(&r, REC_RESULT, command);
    kernel_print(&ws->kernel, &kernel);
    rec_str(&r, "kernel", buf_str(&kernel));
    rec_array(&r, "settings");
    text_table_init(&g, 4);
    for (size_t i = 0; i < slots; i++)
        if (!name || (i >= slot && i < slot + count)) {
            hp_row(ws, i, &g, &r);
            told++;
        }
    const struct option_row *o;
    for (size_t i = 0; (o = option_at(i)) != NULL; i++)
        if (!name || o == only) {
            option_line(ws, o, &g, &r);
            told++;
        }
    rec_array_close(&r);
    if (!name)
        rec_text(&r, "kernel %s\n", buf_str(&kernel));
    text_table_print(&g, NULL, &r.text);
    text_table_free(&g);
    buf_free(&kernel);
    ws_emit(ws, &r);
    return told ? ST_OK : ST_INTERNAL;
}

static enum status set_one(struct workspace *ws, size_t slot, const char *name, double lo,
                           double hi, struct err *err)
{
    struct tune_bound *b = hp_bound(ws, slot), old = *b;

    if (lo == hi) {
        *hp_place(ws, slot) = lo;
        ws->scale_tuned &= slot < kernel_nhp(&ws->kernel);
        ws->hp_tuned = true; /* chosen by somebody: a fit need not say that they are untuned */
        return ST_OK;
    }
    if (!isnan(lo))
        b->lo = lo;
    if (!isnan(hi))
        b->hi = hi;
    b->fixed = false;
    if (b->hi > 0.0 && !(b->lo < b->hi)) {
        err_set(err, ST_RANGE, "%s: the bounds %g..%g are empty", name, b->lo, b->hi);
        *b = old;
        return ST_RANGE;
    }
    return ST_OK;
}

static enum status set_hyper(struct workspace *ws, const char *name, double lo, double hi,
                             struct err *err)
{
    size_t first, count;
    enum status rc = ws_hp_slot(&ws->kernel, name, &first, &count, err);

    for (size_t slot = first; rc == ST_OK && slot < first + count; slot++)
        rc = set_one(ws, slot, name, lo, hi, err);
    return rc;
}

/* What was set, as typed. */
static void tell_set(struct workspace *ws, const struct args *a)
{
    struct rec r;
    const char *value;
    double lo, hi;

    rec_init(&r, REC_RESULT, "set");
    rec_open(&r, "set");
    for (size_t i = 0; i < args_hp(a); i++) {
        const char *name = args_hp_at(a, i, &lo, &hi);
        if (lo == hi) {
            rec_num(&r, name, lo);
            rec_text(&r, "%s%s = %.6g", r.text.len ? "\n" : "", name, lo);
            continue;
        }
        rec_nums(&r, name, (double[]){ lo, hi }, 2);
        rec_text(&r, "%s%s is tuned within", r.text.len ? "\n" : "", name);
        if (!isnan(lo))
            rec_text(&r, " %.6g", lo);
        rec_text(&r, "..");
        if (!isnan(hi))
            rec_text(&r, "%.6g", hi);
    }
    for (size_t i = 0; i < args_opts(a); i++) {
        const char *name = args_opt_at(a, i, &value);
        rec_str(&r, name, value);
        rec_text(&r, "%s%s = ", r.text.len ? "\n" : "", name);
        rec_safe(&r, value);
    }
    rec_close(&r);
    ws_emit(ws, &r);
}

static enum status cmd_set(struct workspace *ws, const struct args *a, struct err *err)
{
    enum status rc = ST_OK;
    const char *value;
    double lo, hi;

    if (!args_opts(a) && !args_hp(a))
        return tell_settings(ws, "set", args_text(a, "name"), err);
    for (size_t i = 0; i < args_hp(a) && rc == ST_OK; i++) {
        const char *name = args_hp_at(a, i, &lo, &hi);
        rc = set_hyper(ws, name, lo, hi, err);
    }
    for (size_t i = 0; i < args_opts(a) && rc == ST_OK; i++) {
        const char *name = args_opt_at(a, i, &value);
        rc = option_set(&ws->opt, ws->origin, name, value, BY_SET, err);
    }
    if (rc == ST_OK)
        tell_set(ws, a);
    return rc;
}

static enum status cmd_get(struct workspace *ws, const struct args *a, struct err *err)
{
    return tell_settings(ws, "get", args_text(a, "name"), err);
}

/* Jobs, stop, wait. */

static enum status cmd_jobs(struct workspace *ws, const struct args *a, struct err *err)
{
    struct job_view v;
    struct rec r;
    unsigned long number;
    const char *line;

    (void)a, (void)err;
    rec_init(&r, REC_RESULT, "jobs");
    rec_array(&r, "jobs");
    for (size_t i = 0; jobs_view(ws->jobs, i, &v); i++) {
        rec_item(&r);
        rec_str(&r, "name", v.name);
        rec_str(&r, "state", v.stopping ? "stopped" : v.paused ? "paused"
                               : v.running ? "running" : "queued");
        rec_str(&r, "line", v.line);
        rec_num(&r, "seconds", v.seconds);
        rec_num(&r, "left", v.progress.left);
        rec_close(&r);
        job_words(&v, &r.text);
        rec_text(&r, "   (");
        rec_safe(&r, v.line);
        rec_text(&r, ")\n");
    }
    /* Without a keyboard what waits is the rest of the script, which is not news. */
    for (size_t i = 0; ws->interactive && (line = workspace_waiting_at(ws, i, &number)) != NULL;
         i++) {
        char name[32];
        snprintf(name, sizeof name, "q%lu", number);
        rec_item(&r);
        rec_str(&r, "name", name);
        rec_str(&r, "state", "waiting");
        rec_str(&r, "line", line);
        rec_null(&r, "seconds");
        rec_null(&r, "left");
        rec_close(&r);
        rec_text(&r, "%s waits: ", name);
        rec_safe(&r, line);
        rec_text(&r, "\n");
    }
    rec_array_close(&r);
    if (!r.text.len)
        rec_text(&r, "no job is running");
    ws_emit(ws, &r);
    return ST_OK;
}

static void mark_stopped(struct workspace *ws, const char *name)
{
    for (size_t i = 0; i < ws->nrun; i++) {
        struct run *r = ws->run[i];
        if ((r->state == RUN_RUNNING || r->state == RUN_QUEUED) &&
            (!strcmp(name, "*") || !strcmp(name, r->id)))
            r->state = RUN_STOPPED;
    }
    ws->serial++;
}

/* What becomes of what the stopped ones have done; before the first iterate there is nothing to
 * keep. */
static const char *kept_words(struct workspace *ws, const char *what, bool now)
{
    if (*what == 'q' || (*what != '*' && !isdigit((unsigned char)what[1]))) /* no run: r1, t1 */
        return "";
    if (now)
        return "; nothing is kept";
    if (*what == '*')
        return "; what has an iterate keeps its best";
    const struct run *r = ws_run(ws, what, NULL);
    return r && r->ntrace ? "; the best iterate is kept" : "; it had no iterate yet";
}

/* stop restarts: the one that runs and those of its line that wait.  Told with how many had not
 * begun. */
static enum status stop_restarts(struct workspace *ws, bool now, struct buf *told, struct err *err)
{
    struct job_view v;
    const struct run *r = jobs_view(ws->jobs, 0, &v) ? ws_run(ws, v.name, NULL) : NULL, *o;
    size_t waiting = 0;

    if (!r || r->kind != RUN_TUNE || r->topt.restarts < 2) {
        err_set(err, ST_STATE, "no tuning with restarts= is running");
        err_hint(err, "jobs, or stop * for all of them");
        return ST_STATE;
    }
    while ((o = restarts_left(ws, r, 0)) != NULL) { /* one that is stopped is left no more */
        waiting += o != r;
        jobs_stop(ws->jobs, o->id, now, NULL); /* it may have ended at this moment */
        mark_stopped(ws, o->id);
    }
    buf_printf(told, "%s stopped", r->id);
    if (waiting)
        buf_printf(told, ", and %zu restart%s of its line that had not begun", waiting,
                   waiting == 1 ? "" : "s");
    buf_puts(told, now ? "; of these nothing is kept" : "; the best so far counts");
    return ST_OK;
}

/* What stop has named: q3 (waits in line), * or all, a job; without a name the one that runs. */
static enum status stop_named(struct workspace *ws, const char *name, bool now, char what[24],
                              struct err *err)
{
    struct job_view v;

    if (name && *name == 'q' && strspn(name + 1, "0123456789") == strlen(name + 1)) {
        snprintf(what, 24, "%s", name);
        return workspace_forget(ws, strtoul(name + 1, NULL, 10), err);
    }
    snprintf(what, 24, "*");
    if (name && (!strcmp(name, "*") || !strcmp(name, "all")))
        workspace_forget(ws, 0, NULL);
    else if ((!name || !strcmp(name, ".")) && jobs_view(ws->jobs, 0, &v))
        snprintf(what, 24, "%s", v.name);
    else if (name && strcmp(name, "."))
        snprintf(what, 24, "%.23s", name);
    const enum status rc = jobs_stop(ws->jobs, what, now, err);
    if (rc == ST_OK)
        mark_stopped(ws, what);
    return rc;
}

static enum status cmd_stop(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *name = args_text(a, "job");
    const bool now = args_bool(a, "now"), line = name && !strcmp(name, "restarts");
    struct buf told = { 0 };
    struct rec r;
    char what[24] = "restarts";

    if (name && !strncmp(name, "run:", 4))
        name += 4;
    const enum status rc =
        line ? stop_restarts(ws, now, &told, err) : stop_named(ws, name, now, what, err);
    if (rc != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "stop");
    rec_str(&r, "job", what);
    rec_bool(&r, "keep", !now && *what != 'q');
    if (line)
        rec_text(&r, "%s", buf_str(&told));
    else
        rec_text(&r, "%s stopped%s", !strcmp(what, "*") ? "all jobs" : what,
                 kept_words(ws, what, now));
    ws_emit(ws, &r);
    buf_free(&told);
    return ST_OK;
}

/* It has waited in line: nothing is left to do. */
static enum status cmd_wait(struct workspace *ws, const struct args *a, struct err *err)
{
    struct rec r;

    (void)a, (void)err;
    rec_init(&r, REC_RESULT, "wait");
    ws_emit(ws, &r);
    return ST_OK;
}

/* Runs, compare, note. */

static void run_number(struct text_table *g, double x)
{
    char num[40];

    if (isfinite(x))
        text_number(num, sizeof num, x);
    else
        snprintf(num, sizeof num, "-");
    text_table_cell(g, num, 0);
}

/* A figure of such a run by its name; NaN: it has none, or it means nothing there. */
static double figure(const struct run *r, const char *name)
{
    const struct measure *m = measure_find(name, r->kind);

    return m && measure_applies(m, r) ? measure_number(m, r, 0) : NAN;
}

/* A score of each target: an array, of one target a number. */
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
                      : r->topt.exact ? NAN : (double)r->topt.features);
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

/* by: the brief name of a figure (measures.h), of which the best comes first; NULL: none. */
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

/* Is it one of the kind, and does the word stand in what the table says of it? */
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

/* Those of the bin, or those shown, that are asked for, in the order asked for; caller frees. */
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
             : ws->nrun ? "no such run (runs alone lists them all)"
                        : "no runs yet: tune, fit");
    free(run);
    text_table_free(&g);
    ws_emit(ws, &r);
    return ST_OK;
}

/* One row of a comparison: the same words for all, or marked. */
struct aspect { const char *name; void (*write)(const struct run *, size_t target, struct buf *);
                bool result; /* came out, was not chosen */ };

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
/* A hyperparameter; with ARD all of them while they fit a column, else the shortest and the
 * longest. */
static void hp_words(const struct run *r, const char *name, struct buf *b)
{
    enum { SHOWN = 4 };
    const double *hp = is_fit(r) ? r->fit.hp : r->tune.best.hp;
    size_t first, n;

    if (ws_hp_slot(&r->fit.kernel, name, &first, &n, NULL) != ST_OK) {
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
ASPECT(amplitude, put(b, scale_of(r, j, false)))
ASPECT(noise, put(b, scale_of(r, j, true)))
/* Features against effective dimension: how much of what the data ask for there is room for. */
static void effective_words(const struct run *r, struct buf *b)
{
    const double effective = is_fit(r) ? r->info.effective_dimension : r->tune.effective_dimension;
    const size_t of = !is_fit(r) ? (r->topt.exact ? 0 : r->topt.features)
                      : r->info.features ? r->info.variance_features : r->info.rows;

    put(b, effective > 0.0 ? round(effective) : NAN);
    if (effective > 0.0 && of)
        buf_printf(b, " of %zu", of);
}
static void features_words(const struct run *r, struct buf *b)
{
    const bool exact = is_fit(r) ? !r->info.features : r->topt.exact;

    if (exact)
        buf_puts(b, "exact");
    else
        put(b, is_fit(r) ? (double)r->info.features : (double)r->topt.features);
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
    {"kernel", aspect_kernel, false},
    {NULL, NULL, false}, /* here stand the kernels' hyperparameters */
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
/* In place of the bare number. */
static const struct aspect written[] = {
    {"effective_dimension", aspect_effective, true},
};

enum { COMPARE_MAX = 8 };

/* Which runs: those named, else the last two fits. */
static enum status compared(struct workspace *ws, const struct args *a,
                            const struct run *out[COMPARE_MAX], size_t *n, struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < args_many(a, "runs"); i++) {
        if (*n == COMPARE_MAX)
            return err_set(err, ST_LIMIT, "at most %d runs are compared at once", COMPARE_MAX);
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
        err_named(err, ST_STATE, "no-run", "two runs are needed to compare");
        err_hint(err, "fit; then compare r1 r2");
        return ST_STATE;
    }
    return ST_OK;
}

/* What differs stands in a row each, what is the same in one line. */
struct comparison { struct text_table settings, results; struct buf same; };

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

/* One row; aspect NULL: the hyperparameter of that name. */
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

/* A figure of the table; a tuning has evaluations where a fit has iterations. */
static void compare_measure(const struct run **run, const size_t *target, size_t n,
                            const struct measure *m, struct comparison *c, struct rec *r)
{
    struct buf cell[COMPARE_MAX] = { { 0 } };

    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (!strcmp(m->name, written[i].name)) {
            compare_row(run, target, n, m->name, &written[i], c, r);
            return;
        }
    for (size_t i = 0; i < n; i++) {
        const struct measure *own = measure_find(m->name, run[i]->kind);
        if (!own && m->brief)
            own = measure_brief(m->brief, run[i]->kind);
        put(&cell[i], own ? measure_number(own, run[i], target[i]) : NAN);
    }
    compare_cells(m->name, cell, n, true, c, r);
}

/* The hyperparameters that any of the kernels has, each once. */
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

/* Marginal likelihoods from random probes that are closer than their own error. */
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

static void compare_head(struct text_table *g, const struct run **run, size_t n, const char *what)
{
    text_table_init(g, n + 2);
    text_table_cell(g, "", 0);
    text_table_cell(g, what, 0);
    for (size_t i = 0; i < n; i++)
        text_table_cell(g, run[i]->id, 0);
}

/* Settings that differ, results that differ, and what is the same; the curves over each other: on a
 * screen at once, else by which line. */
static void compare_text(struct workspace *ws, struct comparison *c, const struct run **run,
                         size_t n, struct rec *r)
{
    struct buf curves = { 0 };
    size_t traced = 0, fits = 0;

    text_table_print(&c->settings, NULL, &r->text);
    text_table_print(&c->results, NULL, &r->text);
    rec_text(r, "* differs.  The same: %s", c->same.len ? buf_str(&c->same) : "nothing");
    for (size_t i = 0; i < n; i++)
        fits += is_fit(run[i]) && run[i]->ntrace > 0;
    for (size_t i = 0; i < n; i++)
        if (is_fit(run[i]) == (fits >= 2) && run[i]->ntrace > 0)
            buf_printf(&curves, "%s%s", traced++ ? " " : "", run[i]->id);
    const char *plot = fits >= 2 ? "residual" : "nmll";
    if (traced >= 2 && !ws_screen_show(ws, plot, buf_str(&curves)))
        rec_text(r, "\nplot %s %s lays their curves over each other", plot, buf_str(&curves));
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
    compare_ties(run, n, &r);
    text_table_free(&c.settings);
    text_table_free(&c.results);
    buf_free(&c.same);
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

/* Help, about. */

static enum status cmd_help(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *topic = args_text(a, "topic");
    struct buf page = { 0 };
    struct rec r;

    if (!topic) {
        help_overview(&page);
    } else if (*topic == '/' && topic[1]) {
        if (!help_search(topic + 1, &page)) {
            err_set(err, ST_NOT_FOUND, "no page speaks of '%.60s'", topic + 1);
            err_hint(err, "help");
        }
    } else if (!help_topic(topic, &page)) {
        struct buf plot = { 0 };
        const bool drawn = help_plot(topic, &plot);
        const struct command *c = command_find(topic, err);
        if (c && (!drawn || !strcmp(c->name, topic)))
            command_help(c, &page);
        if (drawn)
            buf_printf(&page, "%s%s", page.len ? "\n" : "", buf_str(&plot));
        buf_free(&plot);
        if (!page.len)
            err_hint(err, "help /%.60s   (searches all pages)", topic);
    }
    if (!page.len) {
        buf_free(&page);
        return err->code;
    }
    rec_init(&r, REC_RESULT, "help");
    rec_str(&r, "topic", topic);
    rec_str(&r, "text", buf_str(&page));
    rec_text(&r, "%s", buf_str(&page));
    buf_free(&page);
    ws_emit(ws, &r);
    return ST_OK;
}

static void about_path(struct rec *r, const char *key, enum dirs which)
{
    struct buf path = { 0 };

    (void)dirs_path(which, NULL, &path); /* "": there is none */
    rec_str(r, key, buf_str(&path));
    rec_text(r, "\n  %-9s ", key);
    rec_safe(r, buf_str(&path));
    buf_free(&path);
}

static void about_cache(const struct workspace *ws, struct rec *r)
{
    char used[32], most[32];
    uint64_t bytes;
    size_t n;

    cache_size(&n, &bytes);
    mem_format(used, sizeof used, (double)bytes);
    mem_format(most, sizeof most, (double)ws->opt.cache);
    rec_str(r, "cache", cache_dir());
    rec_int(r, "cache_tables", (int64_t)n);
    rec_int(r, "cache_bytes", (int64_t)bytes);
    rec_int(r, "cache_limit", (int64_t)ws->opt.cache);
    rec_text(r, "\n  cache     ");
    rec_safe(r, *cache_dir() ? cache_dir() : "none: no directory can be made");
    rec_text(r, "   %zu table%s, %s of %s   (set cache=SIZE)", n, n == 1 ? "" : "s", used, most);
}

static void about_formats(struct rec *r)
{
    const char *hdf5 = import_hdf5_version();

    rec_str(r, "hdf5", hdf5);
    rec_text(r, "\n  reads     CSV, TSV, NPY, also .gz and .zst; HDF5 %s",
             hdf5 ? hdf5 : "not built in (libhdf5-dev)");
}

/* "cpu (..)", then what CUDA has, or why nothing. */
static void about_devices(const struct workspace *ws, struct rec *r)
{
    const struct backend_ops *module;
    const char *why = "";

    rec_text(r, "\n  devices   cpu: %s", backend_cpu()->summary);
    rec_str(r, "device", ws->opt.device);
    module = backend_module(&why);
    rec_array(r, "cuda");
    for (size_t i = 0, n = module && module->devices ? module->devices(NULL, 0) : 0; i < n; i++) {
        struct backend_device d = { 0 };
        struct err err = { 0 };
        char all[24], left[24];
        if (module->describe(i, &d, &err) != ST_OK) {
            rec_text(r, "\n            cuda:%zu: %s", i, err.msg);
            continue;
        }
        mem_format(all, sizeof all, (double)d.memory);
        mem_format(left, sizeof left, (double)d.free);
        rec_item(r);
        rec_str(r, "name", d.name);
        rec_int(r, "memory", (int64_t)d.memory);
        rec_int(r, "free", (int64_t)d.free);
        rec_close(r);
        rec_text(r, "\n            cuda:%zu: %s, %s of %s free", i, d.name, left, all);
    }
    rec_array_close(r);
    if (!module) {
        rec_str(r, "cuda_why", why);
        rec_text(r, "\n            ");
        rec_safe(r, why);
    }
    rec_text(r, "\n            device=%s   (set device=auto, cpu or cuda:N)", ws->opt.device);
}

static enum status cmd_about(struct workspace *ws, const struct args *a, struct err *err)
{
    char ram[32], limit[32], rss[32];
    const struct kernel_ops *k;
    struct rec r;

    (void)a, (void)err;
    mem_format(ram, sizeof ram, (double)mem_physical());
    mem_format(limit, sizeof limit, (double)ws->opt.mem);
    mem_format(rss, sizeof rss, (double)mem_peak_rss());
    rec_init(&r, REC_RESULT, "about");
    rec_str(&r, "version", PACKAGE_VERSION);
    rec_str(&r, "cpu", cpu_level());
    rec_str(&r, "blas", cpu_blas());
    rec_int(&r, "threads", (int64_t)ws->opt.threads);
    rec_int(&r, "cores", (int64_t)sysconf(_SC_NPROCESSORS_ONLN));
    rec_int(&r, "memory", (int64_t)mem_physical());
    rec_int(&r, "memory_limit", (int64_t)ws->opt.mem);
    rec_int(&r, "memory_peak", (int64_t)mem_peak_rss());
    rec_str(&r, "backend", ws->backend->name);
    rec_str(&r, "session", store_of(ws) ? store_path(store_of(ws)) : NULL);
    rec_text(&r, "gpdesk %s: scalable Gaussian processes in the terminal; GPL-3.0-or-later\n"
             "  cpu       %s kernels, %zu of %ld threads\n  blas      %s\n"
             "  memory    %s used at most so far; limit %s of %s",
             PACKAGE_VERSION, cpu_level(), ws->opt.threads, sysconf(_SC_NPROCESSORS_ONLN),
             cpu_blas(), rss, limit, ram);
    about_devices(ws, &r);
    rec_text(&r, "\n  kernels  ");
    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++)
        rec_text(&r, " %s", k->name);
    for (size_t i = 0; layer_at(i); i++)
        rec_text(&r, " %s", layer_at(i)->name);
    rec_open(&r, "built");
    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++)
        if (k->built) {
            rec_str(&r, k->name, k->built);
            rec_text(&r, "\n  %-10s%s", k->name, k->built);
        }
    rec_close(&r);
    about_formats(&r);
    if (store_of(ws)) {
        rec_text(&r, "\n  session   ");
        rec_safe(&r, store_path(store_of(ws)));
    }
    about_path(&r, "config", DIRS_CONFIG);
    about_path(&r, "state", DIRS_STATE);
    about_cache(ws, &r);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Source, quit. */

/* At the keyboard nothing is read that may never come: the screen would stand still meanwhile. */
static enum status comes_at_once(const struct workspace *ws, const char *path, struct err *err)
{
    struct stat st;

    if (!ws->interactive)
        return ST_OK;
    if (ws_no_keyboard(ws, path, err) != ST_OK)
        return ST_USAGE;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return ST_OK;
    err_set(err, ST_UNSUPPORTED,
            "%.300s is no regular file: who works at the keyboard would wait for it", path);
    err_hint(err, "gpdesk -f %.80s, or a copy in a file", path);
    return ST_UNSUPPORTED;
}

static enum status cmd_source(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *path = args_text(a, "file");
    char *text = NULL;
    enum status rc = comes_at_once(ws, path, err);

    if (rc == ST_OK)
        rc = script_read(path, &text, err);

    if (rc != ST_OK)
        return rc;
    rc = workspace_exec_from(ws, text, path, 1);
    free(text);
    if (rc != ST_OK)
        err_set(err, rc, "%.300s does not parse; nothing of it was run", path);
    return rc;
}

static enum status cmd_quit(struct workspace *ws, const struct args *a, struct err *err)
{
    (void)a, (void)err;
    ws->quit = true;
    return ST_OK;
}

/* Rows. */

const struct command cmd_general_rows[] = {
    {"set",
     "settings",
     "Set hyperparameters and options; alone: list them all",
     "set l=0.8 noise=0.05",
     {{"name", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL, "show this one only"}},
     CMD_CHANGES | CMD_HP_KEYS | CMD_OPTION_KEYS,
     cmd_set,
     "set l=0.1..10 sets the bounds within which tune searches; l.min= and l.max= one of them.\n"
     "Stronger than the command line, which is stronger than GPDESK_NAME, then the config file."},
    {"get",
     "settings",
     "Show a setting, and who set it",
     "get seed",
     {{"name", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "hyperparameter or option (default: all)"}},
     0,
     cmd_get,
     NULL},
    {"jobs", "work", "List what runs and what waits", "jobs", {{.name = NULL}}, 0, cmd_jobs, NULL},
    {"stop",
     "work",
     "Stop a job, keeping its best iterate",
     "stop *",
     {{"job", ARG_JOB, ARGF_POS, NULL, 0, 0, "restarts", NULL,
       "r7, t2, q3 (waiting), restarts (of the tuning that runs), * (all); default: the running "
       "one"},
      {"now", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "keep nothing"}},
     0,
     cmd_stop,
     NULL},
    {"wait",
     "work",
     "Go on when all jobs have ended",
     "wait",
     {{.name = NULL}},
     CMD_BARRIER,
     cmd_wait,
     NULL},
    {"runs",
     "work",
     "Table of tunings and fits",
     "runs",
     {{"kind", ARG_CHOICE, ARGF_POS, "all", 0, 0, "all|fits|tunings|stars|failed|short|bin", NULL,
       "which; short: fits that stopped short of their tolerance"},
      {"where", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "only those with this in name, data, kernel, solver, state or note"},
      {"sort", ARG_CHOICE, 0, "oldest", 0, 0,
       "oldest|newest|nmll|rmse|nlpd|coverage|seconds|iterations|rank|features|effdim", NULL,
       "the best first: the least, of coverage the nearest to 95 %"},
      {"last", ARG_INT, 0, NULL, 1, 1e6, NULL, "runs", "only the newest so many"}},
     0,
     cmd_runs,
     "runs sort=nlpd where=matern   runs stars   runs bin   (rmse and nlpd in units of sd)"},
    {"compare",
     "work",
     "Runs side by side, differences marked",
     "compare r1 r2",
     {{"runs", ARG_RUN, ARGF_POS | ARGF_MANY, NULL, 0, 0, NULL, NULL,
       "which (default: the last two fits)"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "of several targets, which one; default: the first"}},
     0,
     cmd_compare,
     NULL},
    {"note",
     "work",
     "A remark for a run",
     "note r1 looks good",
     {{"run", ARG_RUN, ARGF_POS, NULL, 0, 0, NULL, NULL, "which (default: the last fit)"},
      {"text", ARG_TEXT, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "the rest of the line"}},
     CMD_CHANGES,
     cmd_note,
     NULL},
    {"source",
     "session",
     "Run a script",
     "source share/examples/demo.gps",
     {{"file", ARG_FILE, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "the script"}},
     0,
     cmd_source,
     "All of it is parsed before its first line runs."},
    {"help",
     "general",
     "This overview, a command, a page, or a search",
     "help fit",
     {{"topic", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "command, plot or page; /word searches"}},
     0,
     cmd_help,
     NULL},
    {"about",
     "general",
     "Version, processor, libraries, memory, paths",
     "about",
     {{.name = NULL}},
     0,
     cmd_about,
     NULL},
    {"quit", "general", "End the program", "quit", {{.name = NULL}}, 0, cmd_quit, NULL},
    {.name = NULL},
};
