/* app/runs/fitting.c -- tuning and fitting as background jobs. See fitting.h.
 *
 * A job holds references to everything it reads, so that the workspace may change meanwhile. Its
 * results move into the run on the main thread, in its `done`. */
#include "app/runs/fitting.h"
#include "app/runs/words/word_repeats.h"
#include "app/runs/inducing_run.h"
#include "app/runs/intervals.h"

#include "app/runs/advise.h"
#include "app/runs/fit_setup.h"
#include "app/runs/fit_start.h"
#include "app/runs/race.h"
#include "app/runs/restarts.h"
#include "app/runs/scoring/map_unseen.h"
#include "app/runs/verdict.h"
#include "app/session/store.h"
#include "app/core/condition.h"
#include "app/core/measures.h"
#include "app/core/trace.h"
#include "app/core/ws_tell.h"
#include "app/shell/words.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/models/tuning.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Lengthscale of an idle input in units of its standard deviation: moving the input by one sd
 * changes the kernel by at most 1 %. */
static const double IDLE_SCALE = 100.0;
enum { NAMED_INPUTS = 8 };

struct fitting {                     /* inputs and outputs of a job */
    struct dataset *data;
    struct encoding enc;
    struct kernel kernel;
    struct tune_opts topt;
    double start[KERNEL_MAX_HP];     /* topt.start points to this array */
    struct fit_opts fopt;
    struct tune_result tune;
    struct model *model;
    struct fit_info info;
    struct solve_info solve;
    size_t rows;
    struct buf notes;                /* notes of the encoding, one per line */
    double seconds;
    /* widths to choose among, of layers in which they have that name; none: those of the kernel */
    size_t width[FITTING_WIDTHS], nwidths;
    const char *width_name;
    struct restarts *group;         /* the tunings of the same line; NULL if this is the only one */
    struct fit_start from;          /* the run that a fit starts from */
    struct map_unseen unseen;       /* rows that the kernel's maps have not seen */
};

static void fitting_free(struct job *job)
{
    struct fitting *f = job->arg;

    if (!f)
        return;
    dataset_unref(f->data), encoding_free(&f->enc);
    tune_result_free(&f->tune);
    model_unref(f->model);
    model_unref((struct model *)f->fopt.start);
    model_unref((struct model *)f->fopt.against);
    fit_start_free(&f->from), map_unseen_free(&f->unseen);
    solve_info_free(&f->solve), buf_free(&f->notes);
    restarts_unref(f->group);
    free(f);
    job->arg = NULL;
}

enum status fitting_rows(const struct dataset *d, enum part part, bool fit_encoding,
                         struct encoding *enc, struct encoded *out, struct buf *notes,
                         struct err *err)
{
    size_t *rows = NULL, n = 0;
    enum status rc = dataset_rows(d, part, &rows, &n, err);

    if (rc == ST_OK && n == 0) {
        rc = err_named(err, ST_STATE, "no-rows", "dataset %s has no %s rows", d->name,
                       dataset_part_names[part]);
        err_hint(err, part == PART_TRAIN   ? "split test=20%%"
                      : part == PART_VALID ? "split valid=20%% test=20%%"
                                           : "split test=20%%, then fit");
    }
    if (rc == ST_OK && fit_encoding)
        rc = encoding_fit(d, rows, n, enc, notes, err);
    if (rc == ST_OK)
        rc = encode(enc, d->table, rows, n, true, out, err);
    free(rows);
    return rc;
}

/* On the worker thread. */

/* Notes that windows of few numbers get dense filters, unless the user asked for those. */
static void note_filters(struct fitting *f)
{
    for (size_t t = 0; t < f->kernel.nterms; t++) {
        const struct layer *l = &f->kernel.term[t].layer;
        if (!l->chosen)
            continue;
        buf_printf(
            &f->notes,
            "note[plan]: windows of %zu x %zu = %zu %s: dense random filters are cheaper than "
            "structured ones and as accurate (kernel %s, same values)\n",
            l->width, l->channels, l->width * l->channels, l->symbols ? "letters" : "numbers",
            l->ops->name);
        return;
    }
}

/* With ARD there is one lengthscale for each input or group of inputs. Their number is known only
 * once the rows are encoded. What was set for "the lengthscale" so far applies to each of them. */
static enum status bind_kernel(struct fitting *f, const struct source *rows, struct err *err)
{
    size_t from[KERNEL_MAX_HP], *group = NULL;
    struct tune_bound bound[KERNEL_MAX_HP];
    double start[KERNEL_MAX_HP], hp[KERNEL_MAX_HP];

    enum status rc = fit_setup_bind_rows(&f->enc, &f->kernel, rows, err);
    f->fopt.kernel = f->kernel;
    if (rc != ST_OK || !kernel_has_ard(&f->kernel))
        return rc;
    if (kernel_has_groups(&f->kernel)) {
        group = mem_calloc(rows->d, sizeof *group, "groups of inputs", err);
        rc = group ? dataset_groups(f->data, &f->enc, group, &f->notes, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = kernel_bind_groups(&f->kernel, rows->d, group, from, err);
    free(group);
    if (rc != ST_OK)
        return rc;
    memcpy(bound, f->topt.hp, sizeof bound);
    memcpy(start, f->start, sizeof start);
    memcpy(hp, f->fopt.hp, sizeof hp);
    for (size_t i = 0; i < kernel_nhp(&f->kernel); i++) {
        f->topt.hp[i] = bound[from[i]];
        f->start[i] = start[from[i]];
        f->fopt.hp[i] = hp[from[i]];
    }
    f->fopt.kernel = f->kernel;
    return ST_OK;
}

static enum status tune_once(struct job *job, struct err *err)
{
    struct fitting *f = job->arg;
    struct encoded e = { 0 }, valid = { 0 };
    enum status rc = fitting_rows(f->data, PART_TRAIN, true, &f->enc, &e, &f->notes, err);

    if (rc == ST_OK)
        rc = bind_kernel(f, &e.base, err);
    if (rc == ST_OK) { /* the NMLL is that of the rows that the last descent uses */
        f->rows = tune_kind(&f->topt)
                      ->tuning->sizes(&f->kernel, e.n, e.base.d, f->topt.features,
                                      f->topt.subsample)
                      .all_rows;
        f->topt.targets = e.t;
        f->topt.labels = encoding_labels(&f->enc);
        f->topt.mem_limit = job->limits.memory;
        f->topt.dealt = learn_mark(e.row, e.n);
        if (f->topt.objective == TUNE_VALID || f->topt.stop_valid)
            rc = fitting_rows(f->data, PART_VALID, false, &f->enc, &valid, NULL, err);
        f->topt.valid = &valid.base;
        f->topt.yvalid = valid.y;
    }
    if (rc == ST_OK) {
        rc = tune_run(&f->kernel, &e.base, e.y, &f->topt,
                      &(struct tools){job->backend, job->pool, &job->ctl}, &f->tune, err);
    }
    if (rc == ST_OK && f->tune.learned) {
        kernel_learned_take(&f->kernel, &f->tune.nets);
        kernel_learned_take(&f->fopt.kernel, &f->tune.nets);
    }
    f->topt.valid = NULL, f->topt.yvalid = NULL;
    encode_free(&e), encode_free(&valid);
    return rc;
}

static bool has_width(const struct kernel *k, size_t term, const char *name)
{
    const char *own = layer_width_name(k->term[term].layer.ops);

    return own && !strcmp(own, name);
}

static void set_width(struct fitting *f, size_t width)
{
    kernel_unbind(&f->kernel);
    for (size_t t = 0; t < f->kernel.nterms; t++)
        if (has_width(&f->kernel, t, f->width_name))
            f->kernel.term[t].layer.width = width;
    f->data->kernel = f->kernel;
}

/* Whether the rows allow the largest of the widths, before anything is tuned. */
static enum status check_widths(struct fitting *f, struct err *err)
{
    struct encoded e = { 0 };
    struct encoding enc = { 0 };
    size_t most = 0;

    for (size_t i = 0; i < f->nwidths; i++)
        most = f->width[i] > most ? f->width[i] : most;
    set_width(f, most);
    enum status rc = fitting_rows(f->data, PART_TRAIN, true, &enc, &e, NULL, err);
    if (rc == ST_OK)
        rc = fit_setup_bind_rows(&enc, &f->kernel, &e.base, err);
    encode_free(&e);
    encoding_free(&enc);
    return rc;
}

static void note_width(struct fitting *f, size_t chosen, const char *tried)
{
    const bool letters = strcmp(f->width_name, "width") != 0;

    buf_printf(&f->notes, "note[width]: %s%s%zu has the least %s (%s)\n", f->width_name,
               letters ? "=" : " ", chosen, f->topt.objective == TUNE_NMLL ? "NMLL" : "score",
               tried);
}

/* Tunes once for each width and keeps the tuning with the least objective. */
static enum status tune_widths(struct job *job, struct err *err)
{
    struct fitting *f = job->arg;
    struct tune_result best = { 0 };
    struct encoding enc = { 0 };
    struct buf words = { 0 };
    struct kernel kernel = f->kernel;
    size_t chosen = 0, made = 0;
    enum status rc = check_widths(f, err);

    for (size_t i = 0; rc == ST_OK && i < f->nwidths && !(made && ctl_stopped(&job->ctl)); i++) {
        set_width(f, f->width[i]);
        buf_clear(&f->notes); /* the notes of the last tuning say everything */
        rc = tune_once(job, err);
        if (rc == ST_CANCELLED && made)
            rc = ST_OK; /* keep the best so far */
        else if (rc == ST_OK) {
            buf_printf(&words, "%s%zu: %.2f", i ? ", " : "", f->width[i], f->tune.best.score);
            if (made++ == 0 || f->tune.best.score < best.best.score) {
                tune_result_free(&best);
                encoding_free(&enc);
                best = f->tune;
                enc = f->enc;
                kernel = f->kernel;
                chosen = f->width[i];
                memset(&f->tune, 0, sizeof f->tune);
                f->enc = (struct encoding){ 0 };
            }
        }
        tune_result_free(&f->tune);
        encoding_free(&f->enc);
        memset(&f->tune, 0, sizeof f->tune);
    }
    f->tune = best;
    f->enc = enc;
    f->kernel = f->fopt.kernel = f->data->kernel = kernel;
    if (rc == ST_OK)
        note_width(f, chosen, buf_str(&words));
    buf_free(&words);
    return rc;
}

static enum status tune_work(struct job *job, struct err *err)
{
    struct fitting *f = job->arg;
    const double t0 = job_now();
    const enum status rc = f->nwidths ? tune_widths(job, err) : tune_once(job, err);

    note_filters(f);
    f->seconds = job_now() - t0;
    return rc;
}

static enum status fit_work(struct job *job, struct err *err)
{
    struct fitting *f = job->arg;
    struct encoded e = { 0 }, test = { 0 }, old = { 0 };
    enum status rc = fitting_rows(f->data, PART_TRAIN, true, &f->enc, &e, &f->notes, err);

    if (rc == ST_OK)
        rc = bind_kernel(f, &e.base, err);
    if (rc == ST_OK && f->fopt.against && f->data->split.part &&
        f->data->split.count[PART_TEST] > 0) {
        rc = fitting_rows(f->data, PART_TEST, false, &f->enc, &test, NULL, err);
        f->fopt.test = &test.base;
        f->fopt.ytest = test.y;
    }
    if (rc == ST_OK) {
        note_filters(f);
        rc = word_repeats_note(&f->kernel, &e, &f->notes, err);
    }
    if (rc == ST_OK) {
        f->rows = e.n;
        f->fopt.targets = e.t;
        f->fopt.labels = encoding_labels(&f->enc);
        f->fopt.mem_limit = job->limits.memory;
        model_on(&f->fopt, job->backend, pool_threads(job->pool));
        fit_start_rows(&f->from, &f->enc, &e, &old, &f->fopt);
        rc = map_unseen_rows(&f->unseen, &e, &f->fopt, err);
    }
    if (rc == ST_OK)
        rc = model_fit(&e.base, e.y, &f->fopt, &(struct tools){job->backend, job->pool, &job->ctl},
                       &f->model, &f->info, &f->solve, err);
    f->fopt.test = NULL, f->fopt.unseen = NULL, f->fopt.nunseen = 0;
    f->fopt.ytest = f->fopt.start_rows = NULL;
    encode_free(&e), encode_free(&test), encode_free(&old);
    return rc;
}

/* On the main thread. */

static void fitting_tick(struct workspace *ws, struct job *job, const struct tick *t)
{
    struct run *r = ws_run(ws, job->name, NULL);

    if (!r)
        return;
    if (r->state == RUN_QUEUED) {
        r->state = RUN_RUNNING;
        r->started = job->started;
    }
    const enum phase_kind kind = phase_kind(t->phase);
    if (kind == PHASE_CHOICE) {
        job->gaps += trace_append_round(r, t, NULL) != ST_OK;
    } else if (kind != PHASE_STEPS && isfinite(t->value)) {
        if (isfinite(t->target))
            r->trace_target = t->target;
        job->gaps += trace_append(r, t, job->tick_seconds, NULL) != ST_OK;
    }
    r->last = *t;
    r->last.point = NULL;
    if (store_of(ws))
        store_trace(store_of(ws), r);
    race_watch(ws, r);
    ws->serial++;
}

/* Copies the kernel that the job bound to its inputs into the run. */
static void adopt_kernel(struct run *r, const struct fitting *f)
{
    struct buf text = { 0 };

    if (!kernel_has_ard(&f->kernel) && !kernel_reads_windows(&f->kernel) &&
        !kernel_reads_parts(&f->kernel) && !kernel_learns(&f->kernel))
        return;
    kernel_print(&f->kernel, &text);
    char *words = buf_take(&text);
    if (words) {
        free(r->kernel_text);
        r->kernel_text = words;
    }
    r->fit.kernel = f->kernel;
    memcpy(r->fit.hp, f->fopt.hp, sizeof r->fit.hp);
    memcpy(r->topt.hp, f->topt.hp, sizeof r->topt.hp);
}

/* True if input i has no influence in any kernel that reads it. */
static bool is_idle(const struct kernel *k, const double *hp, size_t i)
{
    bool seen = false;

    for (size_t t = 0; t < k->nterms; t++) {
        const size_t at = kernel_lengthscale_of(k, t, i);
        if (k->term[t].ops->blind || !kernel_reads_input(k, t, i))
            continue;
        if (at == SIZE_MAX || hp[at] < IDLE_SCALE)
            return false;
        seen = true;
    }
    return seen;
}

/* Reports inputs whose lengthscale a tuning has made so long that they no longer matter. */
static void idle_inputs(struct workspace *ws, const struct run *r)
{
    const struct tune_result *t = &r->tune;
    struct buf names = { 0 };
    size_t idle = 0, named = 0;

    if (!kernel_has_ard(&r->fit.kernel))
        return;
    /* the inputs of one column are consecutive */
    for (size_t i = 0, end; i < r->enc.ncol; i = end) {
        const char *column = r->enc.col[i].column;
        size_t n = 0;
        for (end = i; end < r->enc.ncol && !strcmp(r->enc.col[end].column, column); end++)
            n += is_idle(&r->fit.kernel, t->best.hp, end);
        idle += n;
        for (size_t j = i; n > 0 && j < end; j++) { /* name the category, or only its idle levels */
            const char *level = n < end - i ? r->enc.col[j].level : NULL;
            if ((j > i && n == end - i) || !is_idle(&r->fit.kernel, t->best.hp, j) ||
                named++ >= NAMED_INPUTS)
                continue;
            buf_puts(&names, named > 1 ? ", " : "");
            text_safe(&names, column, 40);
            buf_puts(&names, level ? "=" : "");
            text_safe(&names, level ? level : "", 40);
        }
    }
    if (idle)
        ws_note(ws, "no-influence", "%zu of %zu inputs hardly matter (lengthscale above %g): %s%s",
                idle, r->enc.ncol, IDLE_SCALE, buf_str(&names),
                named > NAMED_INPUTS ? ", ..." : "");
    buf_free(&names);
}

/* Reports a run that ended without a result. alone: no other run of the same line can have one. */
static void run_failed(struct workspace *ws, struct run *r, enum status rc, const struct err *err,
                       const char *line, bool alone)
{
    r->ended = r->started > 0.0 ? job_now() : 0.0; /* it may not have begun */
    r->state = rc == ST_CANCELLED ? RUN_STOPPED : RUN_FAILED;
    if (err)
        r->failure = *err;
    if (rc == ST_CANCELLED) {
        snprintf(r->verdict, sizeof r->verdict, "%s was stopped before there was a result.", r->id);
        if (alone ||
            r->started > 0.0) /* the table at the end shows restarts that never began */
            ws_note(ws, "stopped", "%s was stopped before there was a result", r->id);
        ws->unconverged = true;
    } else {
        snprintf(r->verdict, sizeof r->verdict, "%s failed: %.200s", r->id, r->failure.msg);
        if (alone)
            ws_error(ws, err, line);
        else
            ws_tell(ws, REC_NOTE, r->id, err->name[0] ? err->name : status_name(rc),
                    err->hint[0] ? err->hint : NULL, "%s failed: %.200s; the other restarts "
                                                     "continue",
                    r->id, err->msg);
    }
    if (store_of(ws))
        store_run(store_of(ws), r);
    ws->serial++;
}

static void adopt_encoding(struct run *r, struct encoding *enc)
{
    if (r->has_enc)
        encoding_free(&r->enc);
    r->enc = *enc;
    r->has_enc = true;
    memset(enc, 0, sizeof *enc);
}

/* The standard error that was asked for, and the one that the allowed work achieved. */
static void approx_words(struct workspace *ws, const struct run *r, const struct tune_result *t,
                         size_t rows)
{
    const double floor = 1e-4 * (double)(rows * r->topt.targets), got = t->best.se;

    if (r->topt.approx && r->topt.error > 0.0 && t->why != TUNE_CANCELLED &&
        got > 1.02 * fmax(floor, r->topt.error * fabs(t->best.nmll)))
        ws_tell(ws, REC_NOTE, NULL, "approx", "tune nmll=approx rank=N, a larger one",
                "the standard error of the NMLL is %.2g %% of its value after %zu probes, above "
                "the limit of %.2g %%: a preconditioner of larger rank lowers it",
                100.0 * got / fabs(t->best.nmll), t->probes, 100.0 * r->topt.error);
}

static void tune_words(struct workspace *ws, const struct run *r, const struct tune_result *t)
{
    size_t shown = 0;

    intervals_parted(ws, r);
    for (size_t i = 0; i < t->nhp + 2; i++) {
        const bool lo = t->at_lower & tune_bit(t->nhp, i), hi = t->at_upper & tune_bit(t->nhp, i);
        char name[KERNEL_NAME_MAX] = "amplitude";
        const double *each = i == t->nhp ? t->best.amplitudes : t->best.noises;
        double v = i < t->nhp ? t->best.hp[i] : each[0];
        if (!lo && !hi)
            continue;
        for (size_t j = 1; i >= t->nhp && j < r->topt.targets;
             j++) /* the target that exists */
            v = lo ? fmin(v, each[j]) : fmax(v, each[j]);
        if (i < t->nhp)
            kernel_hp_info(&r->fit.kernel, i, name, NULL);
        else if (i > t->nhp)
            snprintf(name, sizeof name, "noise");
        ws_warn(ws, "at-bound",
                "tuned %s = %.3g is at its %s bound; widen the bound with `tune %s=LOW..HIGH`, or "
                "fix the value",
                name, v, lo ? "lower" : "upper", name);
        shown++;
    }
    if (t->nlower + t->nupper > shown) /* a wide ARD kernel has more than there are bits */
        ws_warn(ws, "at-bound", "%zu more tuned hyperparameters are at a bound",
                t->nlower + t->nupper - shown);
    if (t->degenerate)
        ws_warn(
            ws, "degenerate",
            "the noise explains nearly all of the target: the model has learnt little more than "
            "a constant; try another kernel, or tune restarts=4");
}

static void tune_json(struct rec *rec, const struct run *r)
{
    const struct tune_result *t = &r->tune;

    if (run_model_kind(r)->draws)
        rec_int(rec, "features", (int64_t)r->topt.features);
    else
        rec_null(rec, "features");
    rec_str(rec, "method", kernel_learns(&r->fit.kernel) ? "adam"
                           : r->topt.method              ? r->topt.method
                                                         : tuner_find(NULL, NULL)->name);
    if (r->topt.restarts > 1) {
        rec_int(rec, "restart", (int64_t)r->topt.restart + 1);
        rec_int(rec, "restarts", (int64_t)r->topt.restarts);
    }
    rec_str(rec, "outcome", t->why == TUNE_CANCELLED ? "cancelled"
                            : t->why == TUNE_EVALS   ? "evals"
                            : t->why == TUNE_TIE     ? "tie"
                                                     : "done");
    measures_json(rec, r, MEASURE_SEARCH);
    rec_str(rec, "objective", tune_objective_name(r->topt.objective));
    measures_json(rec, r, MEASURE_OBJECTIVE);
    if (r->topt.approx) {
        measures_json(rec, r, MEASURE_PROBES);
        if (t->rank)
            rec_int(rec, "rank", (int64_t)t->rank);
        else
            rec_null(rec, "rank");
    }
    if (r->topt.objective != TUNE_NMLL)
        rec_num(rec, tune_objective_name(r->topt.objective), t->best.score);
    fitting_scales_json(rec, &r->fit.kernel, t->best.hp, r->topt.targets, t->best.amplitudes,
                run_model_kind(r)->classes ? NULL : t->best.noises);
    fitting_targets_json(rec, &r->enc);
    measures_json(rec, r, MEASURE_SEARCHED);
    if (t->learned) {
        rec_int(rec, "halved", (int64_t)t->halved);
        rec_open(rec, "aside");
        rec_int(rec, "rows", (int64_t)t->aside.rows);
        const bool classes = run_model_kind(r)->classes;
        rec_num(rec, classes ? "error" : "mse", t->aside.error);
        rec_num(rec, classes ? "log_loss" : "nlpd", t->aside.density);
        rec_num(rec, classes ? "log_loss_least" : "nlpd_least", t->aside.least);
        rec_int(rec, "step", (int64_t)t->aside.step);
        rec_close(rec);
    }
}

static void tune_result_record(struct workspace *ws, const struct run *r, const struct fitting *f)
{
    const struct tune_result *t = &r->tune;
    struct rec rec;
    char sec[32];

    rec_init(&rec, REC_RESULT, "tune");
    snprintf(rec.run, sizeof rec.run, "%s", r->id);
    rec_str(&rec, "run", r->id);
    rec_str(&rec, "kernel", r->kernel_text);
    tune_json(&rec, r);
    rec_int(&rec, "rows", (int64_t)f->rows);
    rec_num(&rec, "seconds", f->seconds);
    text_seconds(sec, sizeof sec, f->seconds);
    rec_text(&rec, "%s  %s  ", r->id, r->kernel_text);
    if (r->topt.restarts > 1)
        rec_text(&rec, "restart %zu of %zu  ", r->topt.restart + 1, r->topt.restarts);
    rec_text(&rec, "%zu evaluations  %s  %s\n", t->evaluations, sec,
             t->why == TUNE_CANCELLED ? "stopped; the best so far is kept" : "done");
    rec_text(&rec, "  NMLL %.2f nats (%.4f per row, %zu rows, %s", t->best.nmll,
             t->best.nmll / (double)f->rows, f->rows,
             kernel_learns(&r->fit.kernel) ? "learned features" : tune_kind(&f->topt)->words);
    if (t->rounds)
        rec_text(&rec, ", %s; points chosen %zu time%s",
                 r->topt.inducing.approx == BOUND_VFE ? "a bound from above" : "no bound",
                 t->rounds, t->rounds == 1 ? "" : "s");
    if (r->topt.targets > 1)
        rec_text(&rec, "; the sum over %zu targets", r->topt.targets);
    if (t->best.subsampled)
        rec_text(&rec,
                 "; estimated from a sample, as the tuning stopped before a value from all rows");
    rec_text(&rec, ")\n  ");
    if (f->topt.approx && t->best.se > 0.0)
        rec_text(&rec, "approximate: standard error %.3g over %zu probes, rank %zu\n  ", t->best.se,
                 t->probes, t->rank);
    if (f->topt.objective != TUNE_NMLL)
        rec_text(&rec, "chosen by %s error: rmse %.4g of the scaled target\n  ",
                 f->topt.objective == TUNE_LOO ? "leave-one-out" : "validation",
                 sqrt(exp(2.0 * t->best.score / (double)(f->rows * r->topt.targets) - 1.0) /
                      (2.0 * M_PI)));
    fitting_scales_text(&rec.text, &r->fit.kernel, t->best.hp, r->topt.targets, t->best.amplitudes,
                        run_model_kind(r)->classes ? NULL : t->best.noises);
    rec_text(&rec, "   (standard deviations, in units of the scaled x and %s)",
             run_model_kind(r)->classes ? "the latent function" : "y");
    if (t->verdict[0])
        rec_text(&rec, "\n  %s", t->verdict);
    ws_emit(ws, &rec);
}

/* The run of a job that has finished its work; its notes have been reported. NULL if there is no
 * result to take. */
static struct run *run_ended(struct workspace *ws, struct job *job, enum status rc,
                             const struct err *err)
{
    struct fitting *f = job->arg;
    struct run *r = ws_run(ws, job->name, NULL);

    if (!r)
        return NULL;
    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc != ST_OK) {
        run_failed(ws, r, rc, err, job->line, !f->group);
        return NULL;
    }
    ws_tell_lines(ws, buf_str(&f->notes));
    buf_clear(&f->notes);
    r->ended = job_now();
    return r;
}

/* Makes the values that a tuning found the current ones. */
static void tune_adopt(struct workspace *ws, const struct run *r)
{
    for (size_t i = 0; i < r->tune.nhp; i++) {
        ws->hp[i] = r->tune.best.hp[i];
        if (kernel_has_ard(&r->fit.kernel))
            ws->hp_bound[i] = r->topt.hp[i];
    }
    ws->kernel = r->fit.kernel;
    ws->amplitude = r->tune.best.amplitude;
    if (!run_model_kind(r)->classes)
        ws->noise = r->tune.best.noise;
    ws->hp_tuned = ws->scale_tuned = true;
}

/* Called when one of several tunings has ended. After the last one, the best becomes current;
 * together they are one statement. */
static void restart_done(struct workspace *ws, struct job *job, struct restarts *g, enum status rc,
                         const struct err *err)
{
    restarts_ended(g, rc, err);
    job->more = !restarts_over(g);
    job->rc = ST_OK;
    if (job->more)
        return;
    const struct run *best = restarts_best(ws, g);
    const struct err *failure = restarts_failure(g);
    if (best) {
        tune_adopt(ws, best);
        restarts_tell(ws, g);
    } else {
        job->rc = failure->code != ST_OK ? failure->code : ST_CANCELLED;
        if (failure->code != ST_OK)
            ws_error(ws, failure, job->line);
    }
}

/* Moves the result of a tuning into its run and reports it. */
static void tune_taken(struct workspace *ws, struct run *r, struct fitting *f)
{
    r->tune = f->tune, r->topt.dealt = f->topt.dealt;
    if (r->tune.rank) /* what was chosen */
        r->topt.rank = r->tune.rank;
    memset(&f->tune, 0, sizeof f->tune);
    adopt_kernel(r, f);
    adopt_encoding(r, &f->enc);
    r->state = r->tune.why == TUNE_CANCELLED ? RUN_STOPPED : RUN_DONE;
    snprintf(r->verdict, sizeof r->verdict, "%s", r->tune.verdict);
    if (r->tune.why == TUNE_CANCELLED)
        ws->unconverged = true;
    tune_words(ws, r, &r->tune);
    approx_words(ws, r, &r->tune, f->rows);
    idle_inputs(ws, r);
    tune_result_record(ws, r, f);
}

static void tune_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct fitting *f = job->arg;
    struct run *r = run_ended(ws, job, rc, err);

    if (r)
        tune_taken(ws, r, f);
    if (r && !f->group)
        tune_adopt(ws, r);
    if (f->group)
        restart_done(ws, job, f->group, r ? ST_OK : rc != ST_OK ? rc : ST_CANCELLED, err);
    if (store_of(ws) && r) {
        store_run(store_of(ws), r);
        store_trace(store_of(ws), r);
    }
    if (store_of(ws) && !job->more)
        store_state(store_of(ws), ws);
    ws->serial++;
}

/* The table from which the rank was chosen. */
static void ranks_json(struct rec *rec, const struct run *r)
{
    const struct fit_info *i = &r->info;

    rec_array(rec, "ranks");
    for (size_t k = 0; k < i->nguess; k++) {
        rec_item(rec);
        rec_int(rec, "rank", (int64_t)i->guess[k].rank);
        rec_num(rec, "ratio", i->guess[k].ratio);
        rec_num(rec, "iterations", i->guess[k].iterations);
        rec_num(rec, "core_seconds", i->guess[k].seconds);
        rec_close(rec);
    }
    rec_array_close(rec);
}

static void rank_note(struct workspace *ws, const struct run *r)
{
    const struct fit_info *i = &r->info;
    char chosen[64] = "no preconditioner", was[96] = "";

    if (!i->rank_chosen)
        return;
    if (i->rank)
        snprintf(chosen, sizeof chosen, "rank %zu (ratio %.3g)", i->rank, i->ratio);
    if (!isfinite(i->rank_iterations)) {
        ws_tell(ws, REC_NOTE, r->id, "rank", NULL,
                "%s has the least predicted time for pcg by the spectrum of %zu rows", chosen,
                i->rank_rows);
        return;
    }
    if (i->why == OUT_RTOL && (i->iterations == 0 || i->rank_iterations == (double)i->iterations))
        snprintf(was, sizeof was, "; it took %zu", i->iterations);
    else if (i->why == OUT_RTOL)
        snprintf(was, sizeof was, "; it took %zu, %.0f %% %s", i->iterations,
                 100.0 * fabs(i->rank_iterations / (double)i->iterations - 1.0),
                 i->rank_iterations > (double)i->iterations ? "less" : "more");
    ws_tell(ws, REC_NOTE, r->id, "rank", NULL,
            "%s has the least predicted time by the spectrum of %zu rows: %.0f%s iteration%s "
            "expected%s", chosen, i->rank_rows, i->rank_iterations,
            i->rank_iterations >= (double)r->fit.maxit ? " or more" : "",
            i->rank_iterations == 1.0 ? "" : "s", was);
}

/* Convergence in words; nothing for a direct solve. */
static void convergence_words(struct rec *rec, const struct fit_info *i)
{
    const struct solver_ops *solver = solver_find(i->solver, NULL);
    char words[80];

    if (i->why == OUT_DIRECT || !solver || !solver->krylov)
        return;
    condition_words(words, sizeof words, CONDITION_SEEN, i->condition);
    rec_text(rec, "\n  condition number %s", words);
    if (condition_known(i->condition_plain) && i->condition_plain != i->condition) {
        condition_short(words, sizeof words, CONDITION_BOUND, i->condition_plain);
        rec_text(rec, ", without the preconditioner %s", words);
    }
    rec_text(rec, ";  %.0f passes", i->passes);
}

/* With several targets, the figures of each, in order. */
static void fit_targets_json(struct rec *rec, const struct run *r)
{
    const struct fit_info *i = &r->info;
    double v[3][TARGETS_MOST];

    if (r->model->t < 2 || i->targets != r->model->t)
        return;
    fitting_targets_json(rec, &r->enc);
    for (size_t j = 0; j < i->targets; j++) {
        v[0][j] = i->target[j].iterations;
        v[1][j] = i->target[j].residual;
        v[2][j] = i->target[j].true_residual;
    }
    rec_nums(rec, "target_iterations", v[0], i->targets);
    rec_nums(rec, "target_residual", v[1], i->targets);
    rec_nums(rec, "target_true_residual", v[2], i->targets);
}

static void fit_json(struct rec *rec, const struct run *r)
{
    measures_json(rec, r, MEASURE_SYSTEM);
    fit_targets_json(rec, r);
    measures_json(rec, r, MEASURE_ITERATION);
    ranks_json(rec, r);
    measures_json(rec, r, MEASURE_VARIANCE);
    fitting_scales_json(rec, &r->fit.kernel, r->model->hp, r->model->t, r->model->amplitudes,
                r->model->kind->classes ? NULL : r->model->noises);
    measures_json(rec, r, MEASURE_ROWS);
    rec_open(rec, "seconds");
    measures_json(rec, r, MEASURE_SECONDS);
    rec_close(rec);
    measures_json(rec, r, MEASURE_COST);
}

void fitting_json(struct rec *rec, const struct run *r)
{
    if (r->kind == RUN_FIT && r->model)
        fit_json(rec, r);
    else if (r->kind == RUN_TUNE && r->tune.evaluations)
        tune_json(rec, r);
}

static void fit_result_record(struct workspace *ws, const struct run *r)
{
    const struct fit_info *i = &r->info;
    const struct precond_ops *p = i->precond[0] ? precond_find(i->precond, NULL) : NULL;
    const bool factored = p && p->factored;
    struct rec rec;
    char total[32], solve[32], pre[32], var[32], mem[32];

    rec_init(&rec, REC_RESULT, "fit");
    snprintf(rec.run, sizeof rec.run, "%s", r->id);
    rec_str(&rec, "run", r->id);
    rec_str(&rec, "kernel", r->kernel_text);
    fit_json(&rec, r);
    text_seconds(total, sizeof total, i->seconds.total);
    text_seconds(solve, sizeof solve, i->seconds.solve);
    text_seconds(pre, sizeof pre, i->seconds.precond);
    text_seconds(var, sizeof var, i->seconds.variance);
    mem_format(mem, sizeof mem, (double)i->peak_bytes);
    rec_text(&rec, "%s  %s  %zu rows  ", r->id, r->kernel_text, i->rows);
    if (r->model->t > 1)
        rec_text(&rec, "%zu %s  ", r->model->t, r->model->kind->classes ? "classes" : "targets");
    if (r->model->kind->draws)
        rec_text(&rec, "features=%zu  %s", i->features, i->solver);
    else if (strcmp(i->solver, r->model->kind->name) == 0)
        rec_text(&rec, "%s", r->model->kind->name);
    else
        rec_text(&rec, "%s  %s", r->model->kind->name, i->solver);
    if (i->why != OUT_DIRECT && i->rank)
        rec_text(&rec, " rank=%zu (%s)", i->rank, i->precond);
    else if (i->why != OUT_DIRECT && factored)
        rec_text(&rec, " precond=%s", i->precond);
    rec_text(&rec, "  %s\n  %s\n  ", total, r->verdict);
    fitting_scales_text(&rec.text, &r->fit.kernel, r->model->hp, r->model->t, r->model->amplitudes,
                        r->model->kind->classes ? NULL : r->model->noises);
    rec_text(&rec, "\n  ");
    if (i->rank || factored)
        rec_text(&rec, "preconditioner %s   ", pre);
    rec_text(&rec, "solve %s   variance %s   peak %s", solve, var, mem);
    convergence_words(&rec, i);
    inducing_run_text(&rec, r);
    if (isfinite(i->effective_dimension))
        rec_text(&rec, "\n  effective dimension %.0f%s", i->effective_dimension,
                 i->variance_features && i->variance_features < i->features
                     ? " (of the variance features)"
                     : "");
    ws_emit(ws, &rec);
}

/* What functions that stand in for a factor of the variances can be trusted with.  The residual of
 * their solves, a share of values of variance 1, is the most by which a function may still differ
 * at training rows: it has to be small beside the noise. */
static void samples_note(struct workspace *ws, const struct run *r)
{
    static const double small = 0.2; /* squared, 4 % of the noise's variance */
    const size_t S = r->model->S;
    const double noise = r->model->noise / r->model->amplitude;
    char further[64];

    if (r->info.step_limit > 0.0)
        snprintf(further, sizeof further, "fit solver=blocks samples=%zu", S);
    else
        snprintf(further, sizeof further, "fit rtol=%.1g, with a larger maxit=", small * noise);
    if (S == 0 || r->model->L)
        return;
    if (r->info.samples_residual > small * noise)
        ws_tell(ws, REC_NOTE, r->id, "samples", further,
                "variances come from %zu functions whose solves ended at a residual of %.2g, "
                "beside a noise of %.2g: unfinished ones make variances too large", S,
                r->info.samples_residual, noise);
    else
        ws_tell(ws, REC_NOTE, r->id, "samples", "fit samples=256",
                "variances come from %zu functions and scatter by %.0f %%", S,
                100.0 * sqrt(2.0 / (double)S));
}

/* What stands in for the likelihood of all rows where each row has a system of its own. */
static void nearest_note(struct workspace *ws, const struct run *r)
{
    const struct fit_info *i = &r->info;
    char rows[32];

    if (i->neighbours == 0)
        return;
    text_count(rows, sizeof rows, i->left_out_rows);
    ws_note(ws, "nearest",
            "%s training rows, each predicted from its %zu nearest without itself, gave %s: "
            "NLPD %.4g (scaled) at noise / amplitude %.3g", rows, i->neighbours,
            r->fit.keep_scale   ? "a check and moved nothing"
            : r->fit.keep_ratio ? "the amplitude"
                                : "noise and amplitude",
            i->left_out_nlpd, r->model->noise / r->model->amplitude);
}

/* Notes what the features of kernels of words are. */
static void words_note(struct workspace *ws, const struct run *r)
{
    double kinds;
    size_t columns;

    for (size_t i = 0; r->model->kind->draws &&
                       featmap_words(&r->fit.kernel, r->model->d, r->model->M, i, &kinds, &columns);
         i++)
        if (kinds > 0.0 && kinds <= (double)columns)
            ws_note(ws, "plan", "a column for each of the %.0f words that there can be", kinds);
        else
            ws_note(ws, "plan", "signed hashing: the %.0f words that there can be share %zu "
                    "columns; with as many columns as words each has its own", kinds, columns);
}

static void fit_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct fitting *f = job->arg;
    struct run *r = run_ended(ws, job, rc, err);

    if (!r)
        return;
    r->model = f->model, f->model = NULL;
    r->info = f->info;
    if (r->info.means_only) /* nobody is to make a factor later */
        r->fit.variance = VAR_NONE;
    r->solve = f->solve;
    memset(&f->solve, 0, sizeof f->solve);
    adopt_kernel(r, f);
    adopt_encoding(r, &f->enc);
    r->state = r->info.why > 0 ? RUN_DONE : RUN_STOPPED;
    verdict_write(r);
    snprintf(ws->last_fit, sizeof ws->last_fit, "%s", r->id);
    if (r->info.plan_note[0])
        ws_note(ws, "plan", "%s", r->info.plan_note);
    nearest_note(ws, r);
    words_note(ws, r);
    rank_note(ws, r);
    fit_start_note(ws, r, &f->from, f->fopt.start != NULL);
    if (r->info.halved)
        ws_tell(ws, REC_NOTE, r->id, "step", "fit solver=pcg",
                "the step of %s was halved %zu time%s because the residual had begun to grow; the "
                "solver continued from the best iterate", r->info.solver, r->info.halved,
                r->info.halved == 1 ? "" : "s");
    if (r->info.not_there)
        ws_tell(ws, REC_NOTE, r->id, "device",
                r->fit.features ? NULL : "fit model=features",
                "the processor computed the kernel: the device has no form of %s", r->kernel_text);
    map_unseen_note(ws, r, &f->unseen);
    intervals_notes(ws, r);
    samples_note(ws, r);
    inducing_run_notes(ws, r);
    if (r->info.warning[0])
        ws_warn(ws, r->info.warning_name[0] ? r->info.warning_name : "fit", "%s", r->info.warning);
    if (r->info.why <= 0 && !verdict_planned(&r->info))
        ws->unconverged = true;
    fit_result_record(ws, r);
    advise_learn(ws, r);
    if (store_of(ws)) {
        store_run(store_of(ws), r);
        store_trace(store_of(ws), r);
        store_model(store_of(ws), r, true);
    }
    ws->serial++;
}

static const struct job_ops tune_job_ops = {
    .verb = "tune", .work = tune_work, .done = tune_done, .tick = fitting_tick, .free = fitting_free
};
static const struct job_ops fit_job_ops = {
    .verb = "fit", .work = fit_work, .done = fit_done, .tick = fitting_tick, .free = fitting_free
};

/* Makes a run in the workspace and a job with private copies. Either both are made or neither
 * is. */
static enum status launch(struct workspace *ws, struct dataset *d, struct fitting *f,
                          enum run_kind kind, const char *line, struct err *err)
{
    const struct job_ops *ops = kind == RUN_TUNE ? &tune_job_ops : &fit_job_ops;
    struct buf text = { 0 };
    struct run *r;
    enum status rc;

    kernel_unbind(&f->kernel); /* its inputs may have changed, so it is bound again */
    kernel_unbind(&f->fopt.kernel);
    f->data = dataset_snapshot(d, err);
    if (f->data)
        f->data->kernel = f->kernel;
    /* A session does not take back a run without these, so they come first. */
    kernel_print(&f->kernel, &text);
    char *words[] = { buf_take(&text), mem_strdup(d->name, err), mem_strdup(line, err) };
    if (!words[0])
        err_nomem(err, 0, "the kernel of a run");
    r = f->data && words[0] && words[1] && words[2] ? ws_run_new(ws, kind, err) : NULL;
    if (!r) {
        struct job tmp = { .arg = f };
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            free(words[i]);
        fitting_free(&tmp);
        return err ? err->code : ST_NOMEM;
    }
    r->kernel_text = words[0], r->dataset_name = words[1], r->command = words[2];
    r->data = dataset_ref(f->data);
    r->fit = f->fopt;
    r->fit.start = r->fit.against = NULL; /* the job owns its own copies */
    r->fit.start_rows = NULL;
    r->fit.kernel = f->kernel;
    r->topt = f->topt;
    r->topt.start = NULL;
    r->trace_target = kind == RUN_FIT ? f->fopt.rtol : NAN;
    r->created = (int64_t)time(NULL);
    r->state = RUN_QUEUED;
    ws->serial++;
    rc = ws_submit(ws, ops, r->id, f, line, err);
    if (rc != ST_OK)
        ws_run_drop(ws, r);
    return rc;
}

/* In a dry run: reports what the fit would take, on at most `most` rows (0: all), instead of
 * running it. */
static enum status plan_only(struct workspace *ws, const struct dataset *d, struct fit_opts o,
                             size_t most, const char *line, struct err *err)
{
    struct encoding enc = { 0 };
    enum plan plan = PLAN_AUTO;
    size_t *rows = NULL, n = 0, bytes = 0;
    char note[256] = "", peak[32], limit[32], count[32];
    struct rec rec;
    struct dataset *own = dataset_snapshot(d, err);
    enum status rc = own ? dataset_rows(d, PART_TRAIN, &rows, &n, err) : ST_NOMEM;

    if (own)
        own->kernel = o.kernel;
    if (rc == ST_OK)
        rc = encoding_fit(own, rows, n, &enc, NULL, err);
    dataset_unref(own);
    if (rc == ST_OK)
        rc = encoding_bind(&enc, &o.kernel, err);
    o.mem_limit = ws->opt.mem;
    model_on(&o, ws->backend, ws->opt.threads);
    o.targets = dataset_targets(d);
    o.labels = encoding_labels(&enc);
    n = most && most < n ? most : n;
    if (rc == ST_OK)
        rc = model_plan(n, enc.d, &o, ws->opt.threads, &plan, &bytes, note, err);
    free(rows);
    if (rc != ST_OK) {
        encoding_free(&enc);
        return rc;
    }
    /* The table and its encoded rows are in memory beside what the fit needs. */
    bytes += n * enc.d * sizeof(double) + d->table->n * d->table->ncols * sizeof(double);
    mem_format(peak, sizeof peak, (double)bytes);
    mem_format(limit, sizeof limit, (double)ws->opt.mem);
    text_count(count, sizeof count, n);
    rec_init(&rec, REC_RESULT, "dry");
    rec_str(&rec, "line", line);
    rec_int(&rec, "rows", (int64_t)n);
    rec_int(&rec, "inputs", (int64_t)enc.d);
    rec_str(&rec, "solver", o.solver);
    const struct model_ops *kind = model_kind_of(&o);
    rec_str(&rec, "plan", kind->draws ? model_plan_words[plan] : kind->name);
    rec_int(&rec, "bytes", (int64_t)bytes);
    rec_safe(&rec, line);
    rec_text(&rec, "\n  %s rows x %zu inputs; about %s of %s\n  %s", count, enc.d, peak, limit,
             note);
    ws_emit(ws, &rec);
    encoding_free(&enc);
    return ST_OK;
}

/* Queues one tuning, or one of several from different starts. */
static enum status tune_launch(struct workspace *ws, struct dataset *d, const struct kernel *k,
                               const struct tune_opts *o, struct fitting_widths widths,
                               struct restarts *group, const char *line, struct err *err)
{
    struct fitting *f = mem_calloc(1, sizeof *f, "job", err);

    if (!f)
        return ST_NOMEM;
    f->kernel = *k;
    f->nwidths = widths.n;
    f->width_name = widths.name;
    memcpy(f->width, widths.v ? widths.v : f->width, widths.n * sizeof *f->width);
    f->topt = *o;
    f->topt.targets = dataset_targets(d);
    if (o->start) {
        memcpy(f->start, o->start, kernel_nhp(k) * sizeof *f->start);
        f->topt.start = f->start;
    }
    f->group = restarts_ref(group);
    return launch(ws, d, f, RUN_TUNE, line, err);
}

static enum status tune_starts_of(struct workspace *ws, struct dataset *d, const struct kernel *k,
                                  const struct tune_opts *o, struct fitting_widths widths,
                                  const char *line, struct err *err)
{
    struct tune_opts each = *o;
    enum status rc = ST_OK;

    if (o->restarts < 2)
        return tune_launch(ws, d, k, o, widths, NULL, line, err);
    if (o->restarts > RESTARTS_MOST)
        return err_set(err, ST_RANGE, "restarts=%zu: at most %d", o->restarts, RESTARTS_MOST);
    struct restarts *group = restarts_new(err);
    if (!group)
        return ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < o->restarts; i++) {
        each.restart = i;
        rc = tune_launch(ws, d, k, &each, widths, group, line, err);
        if (rc == ST_OK)
            restarts_add(group, ws->run[ws->nrun - 1]->id);
    }
    restarts_unref(group);
    return rc;
}

/* No layer of the kernel has a width of that name; the hint is about one of another name. */
static enum status no_widths(const struct kernel *k, const char *name, struct err *err)
{
    const bool windows = !strcmp(name, "width");
    const char *own = NULL;
    struct buf names = { 0 };

    for (size_t t = 0; t < k->nterms && !own; t++)
        own = layer_width_name(k->term[t].layer.ops);
    words_expand(windows ? "{windows}" : "{words}", &names);
    err_set(err, ST_USAGE, "%s= sets %s of %s, but this kernel has none", name,
            windows ? "the windows" : "the letters of the words", buf_str(&names));
    buf_free(&names);
    err_hint(err, own ? "tune %s=2..6" : windows ? "kernel conv(rbf)" : "kernel spectrum(n=3)",
             own);
    return ST_USAGE;
}

static enum status widths_allowed(const struct kernel *k, struct fitting_widths widths,
                                  struct err *err)
{
    size_t least = 1;
    bool some = false;

    for (size_t t = 0; t < k->nterms; t++)
        if (has_width(k, t, widths.name)) {
            some = true;
            least = k->term[t].layer.shortest > least ? k->term[t].layer.shortest : least;
        }
    if (!some)
        return no_widths(k, widths.name, err);
    for (size_t i = 0; i < widths.n; i++)
        if (widths.n > FITTING_WIDTHS || widths.v[i] < least || widths.v[i] > KERNEL_WIDTH_MOST)
            return err_set(err, ST_RANGE, "%s: at most %d values, each from %zu to %d",
                           widths.name, FITTING_WIDTHS, least, KERNEL_WIDTH_MOST);
    return ST_OK;
}

enum status fitting_tune_widths(struct workspace *ws, struct dataset *d, const struct kernel *k,
                                const struct tune_opts *o, struct fitting_widths widths,
                                const char *line, struct err *err)
{
    const enum status rc = widths.n ? widths_allowed(k, widths, err) : ST_OK;

    if (rc != ST_OK)
        return rc;
    if (ws->opt.dry) {
        /* Each evaluation forms and factorises a matrix, as a direct fit does. */
        const struct model_ops *kind = tune_kind(o);
        const struct fit_opts like = {
            .solver = kind->solver ? kind->solver : direct_solver.name,
            .features = o->features, .kernel = *k, .likelihood = o->likelihood,
            .inducing = o->inducing,
            .variance = VAR_NONE, .precision = o->precision, .rtol = 1e-6, .maxit = 500,
            .amplitude = 1.0, .noise = 0.1,
        };
        /* Rows that are asked for are all that an exact kernel uses. */
        return plan_only(ws, d, like, kind->exact ? o->subsample : 0, line, err);
    }
    return tune_starts_of(ws, d, k, o, widths, line, err);
}

enum status fitting_fit(struct workspace *ws, struct dataset *d, const struct fit_opts *o,
                        const char *line, struct err *err)
{
    if (ws->opt.dry)
        return plan_only(ws, d, *o, 0, line, err);
    struct fitting *f = mem_calloc(1, sizeof *f, "job", err);

    if (!f)
        return ST_NOMEM;
    f->kernel = o->kernel;
    f->fopt = *o;
    f->fopt.targets = dataset_targets(d);
    map_unseen_look(ws, o, &f->unseen);
    f->fopt.start = model_ref((struct model *)fit_start_choose(ws, d, o, &f->from));
    if (o->against)
        f->fopt.against = model_ref((struct model *)o->against);
    return launch(ws, d, f, RUN_FIT, line, err);
}
