/* app/runs/scoring/calibrating.c -- see calibrating.h.
 *
 * A calibration makes a new run: the model of the old one with other variances and intervals, its
 * means to the bit where the old fit had not seen the calibration rows; otherwise a fit with the
 * same settings that leaves these rows out. */
#include "app/runs/scoring/calibrating.h"
#include "app/runs/scoring/calibrating_classes.h"
#include "app/runs/scoring/map_unseen.h"
#include "app/runs/scoring/scoring_impl.h"

#include "app/core/trace.h"
#include "app/core/ws_tell.h"
#include "app/runs/fit_setup.h"
#include "app/runs/fitting.h"
#include "app/session/store.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/stats/crossfit.h"
#include "compute/stats/metrics.h"
#include "compute/stats/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct calibrating {
    struct scoring s;               /* the old run: data, model, encoding, settings */
    struct calibrating_ask ask;
    struct model *model;            /* the new one */
    struct fit_info info;
    struct solve_info solve;
    struct calibration of[TARGETS_MOST];
    struct calibrating_classes classes; /* of a model of classes instead */
    size_t rows;
    double seconds;
};

static void calibrating_free(struct job *job)
{
    struct calibrating *c = job->arg;

    if (!c)
        return;
    dataset_unref(c->s.data);
    model_unref(c->s.model);
    encoding_free(&c->s.enc);
    run_prediction_free(&c->s.pred);
    buf_free(&c->s.notes);
    model_unref(c->model);
    solve_info_free(&c->solve);
    free(c);
    job->arg = NULL;
}

/* On the worker thread. */

/* Fits anew, as the run was fitted, on the training rows that are left; what a kernel has learned
 * from all rows is learned anew, too. */
static enum status fit_anew(struct calibrating *c, struct job *job, struct err *err)
{
    struct scoring *s = &c->s;
    struct encoded e = { 0 };
    struct fit_opts o = s->fit;
    struct map_unseen unseen = { .wanted = false };

    kernel_unbind(&o.kernel);
    s->data->kernel = o.kernel;
    encoding_free(&s->enc);
    s->enc = (struct encoding){ 0 };
    enum status rc = fitting_rows(s->data, PART_TRAIN, true, &s->enc, &e, &s->notes, err);
    if (rc == ST_OK)
        rc = fit_setup_bind_kernel(s->data, &s->enc, &e.base, &o.kernel, o.hp, err);
    if (rc == ST_OK) {
        o.targets = e.t;
        o.labels = encoding_labels(&s->enc); /* what a map is learned by, too */
    }
    if (rc == ST_OK && kernel_learns(&o.kernel))
        rc = scoring_folds_tune(s, job, &e, &o, err);
    if (rc == ST_OK)
        rc = map_unseen_again(&unseen, &s->topt, &e, &o, err);
    if (rc == ST_OK) {
        o.mem_limit = job->limits.memory;
        model_on(&o, job->backend, pool_threads(job->pool));
        model_unref(s->model);
        s->model = NULL;
        rc = model_fit(&e.base, e.y, &o, &(struct tools){ job->backend, job->pool, &job->ctl },
                       &s->model, &c->info, &c->solve, err);
    }
    if (rc == ST_OK && ctl_stopped(&job->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    o.unseen = NULL, o.nunseen = 0;
    if (rc == ST_OK)
        s->fit = o;
    map_unseen_free(&unseen);
    encode_free(&e);
    return rc;
}

static enum status no_variances(const char *run, struct err *err)
{
    err_named(err, ST_STATE, "no-variance", "%s has no variances that could be calibrated", run);
    err_hint(err, "fit variance=auto");
    return ST_STATE;
}

/* What the calibration rows ask of each target. */
static enum status measure_rows(struct calibrating *c, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < c->s.pred.t; j++) {
        const struct prediction p = scoring_prediction(&c->s.pred, j);
        double *e = mem_calloc(p.n, sizeof *e, "calibration rows", err);
        if (!e)
            return ST_NOMEM;
        for (size_t i = 0; i < p.n; i++)
            e[i] = p.y_scaled[i] - p.mean_scaled[i];
        rc = calibration_of(p.n, e, p.var_scaled, c->ask.way, c->ask.level, &c->of[j], err);
        free(e);
    }
    return rc;
}

/* Gives the new model a local scale by the errors of its own training rows, of which a sample is
 * enough: the shape of a scale is wanted, whose size the calibration rows set. */
static enum status find_spread(struct calibrating *c, struct job *job, struct err *err)
{
    enum { ROWS = 4000 };
    const struct scoring *s = &c->s;
    struct model *m = c->model;
    const struct tools on = { job->backend, job->pool, &job->ctl };
    struct encoded e = { 0 };
    size_t *rows = NULL, n = 0;
    enum status rc = dataset_rows(s->data, PART_TRAIN, &rows, &n, err);

    for (size_t i = 0; rc == ST_OK && n > ROWS && i < ROWS; i++)
        rows[i] = rows[(size_t)((double)i * (double)n / ROWS)];
    if (rc == ST_OK)
        rc = encode(&s->enc, s->data->table, rows, n < ROWS ? n : ROWS, true, &e, err);
    double *mean = rc == ST_OK ? mem_calloc(m->t, (e.n + 1) * sizeof *mean, "errors", err) : NULL;
    if (rc == ST_OK)
        rc = mean ? model_predict(m, &e.base, mean, NULL, &on, err) : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < m->t * e.n; i++)
        mean[i] = (e.y[i] - mean[i]) * (e.row_scale ? e.row_scale[i % e.n] : 1.0);
    if (rc == ST_OK)
        rc = spread_fit(m, &e.base, mean, &on, err);
    free(mean);
    free(rows);
    encode_free(&e);
    return rc;
}

/* The new model, before the calibration rows are seen. */
static enum status begin(struct calibrating *c, struct job *job, struct err *err)
{
    struct model *m = c->model = model_copy(c->s.model, err);

    if (!m)
        return ST_NOMEM;
    free(m->cv);
    free(m->cv_w);
    m->cv = m->cv_w = NULL;
    m->ncv = m->ncv_errors = 0;
    const enum calibration_way way = c->ask.way;
    const bool local = way == CALIBRATION_LOCAL, all = way == CALIBRATION_ABSOLUTE;
    if (!local && !all && way != CALIBRATION_CV)
        return ST_OK;
    free(m->spread);
    m->spread = NULL;
    m->nspread = 0;
    m->one_spread = false;
    return local ? find_spread(c, job, err) : all ? spread_of_all(m, err) : ST_OK;
}

/* Its ratio of noise to amplitude, and with it its factor, is that of the old. */
static enum status apply(struct calibrating *c, struct err *err)
{
    struct fit_info *i = &c->info;
    struct model *m = c->model;

    (void)err;
    for (size_t j = 0; j < m->t; j++) {
        const double root = m->ncv ? 1.0 : sqrt(c->of[j].factor);
        if (m->spread)
            spread_multiply(m, j, root);
        m->amplitudes[j] *= m->spread ? 1.0 : root;
        m->noises[j] *= m->spread ? 1.0 : root;
        m->reach[j] = c->of[j].reach;
    }
    m->amplitude = m->amplitudes[0];
    m->noise = m->noises[0];
    i->amplitude = m->amplitude;
    i->noise = m->noise;
    i->scale *= m->spread || m->ncv ? 1.0 : sqrt(c->of[0].factor);
    i->reach95 = reach_at(&m->reach[0], 0.95);
    i->left_out_rows = 0; /* the rows that were kept aside say more */
    i->left_out_before = i->left_out_z2 = i->left_out_z2_se = i->left_out_coverage95 = NAN;
    i->left_out_within196 = NAN;
    snprintf(i->calibration, sizeof i->calibration, "%s", calibration_words[c->ask.way]);
    i->calibration_rows = c->rows;
    i->calibration_level = c->ask.level;
    i->calibration_factor = m->ncv ? 0.0 : c->of[0].factor; /* 0: none */
    i->calibration_reach = reach_at(&m->reach[0], c->ask.level);
    return ST_OK;
}

/* What they ask of a model of classes, and the new model. */
static enum status calibrate_classes(struct calibrating *c, const struct encoded *e,
                                     struct job *job, struct err *err)
{
    c->classes.level = c->ask.level;
    enum status rc = calibrating_classes_measure(c->s.model, &c->s.enc, e, job, &c->classes, err);

    c->rows = e->n;
    c->model = rc == ST_OK ? model_copy(c->s.model, err) : NULL;
    if (c->model)
        calibrating_classes_apply(&c->classes, c->model, &c->info);
    return rc == ST_OK && !c->model ? ST_NOMEM : rc;
}

/* The same of a model of numbers. */
static enum status calibrate_numbers(struct calibrating *c, const struct encoded *e,
                                     struct job *job, struct err *err)
{
    enum status rc = begin(c, job, err);

    if (rc == ST_OK)
        rc = scoring_rows(c->model, &c->s.enc, e, job, &c->s.pred, err);
    c->rows = c->s.pred.n;
    if (rc == ST_OK)
        rc = measure_rows(c, err);
    return rc == ST_OK ? apply(c, err) : rc;
}

/* By folds of the training rows. */
static enum status calibrate_folds(struct calibrating *c, const struct encoded *e, struct job *job,
                                   struct err *err)
{
    const struct crossfit ask = { .folds = c->ask.folds, .seed = c->ask.seed,
                                  .level = c->ask.level, .o = &c->s.fit };
    const struct tools on = { job->backend, job->pool, &job->ctl };
    enum status rc = begin(c, job, err);

    c->s.fit.kernel = c->s.model->kernel;
    c->s.fit.mem_limit = job->limits.memory;
    c->rows = e->n;
    if (rc == ST_OK)
        rc = crossfit_fit(c->model, &e->base, e->y, &ask, &on, c->of, err);
    return rc == ST_OK ? apply(c, err) : rc;
}

static enum status calibrate_work(struct job *job, struct err *err)
{
    struct calibrating *c = job->arg;
    struct scoring *s = &c->s;
    struct encoded e = { 0 };
    const double t0 = job_now();
    const bool anew = c->ask.rows > 0, folds = c->ask.way == CALIBRATION_CV;
    enum status rc = anew ? fit_anew(c, job, err) : scoring_need_factor(s, job, err);

    if (rc == ST_OK && !model_has_variance(s->model) && !s->model->kind->margin)
        rc = no_variances(s->run, err);
    if (rc == ST_OK)
        rc = fitting_rows(s->data, folds ? PART_TRAIN : PART_VALID, false, &s->enc, &e, NULL, err);
    if (rc == ST_OK)
        rc = s->model->kind->classes ? calibrate_classes(c, &e, job, err)
             : folds                 ? calibrate_folds(c, &e, job, err)
                                     : calibrate_numbers(c, &e, job, err);
    encode_free(&e);
    c->seconds = job_now() - t0;
    return rc;
}

/* On the main thread. */

/* The members that numbers have, and in *rec the words of them. */
static void tell_numbers(struct rec *rec, const struct calibrating *c, const struct run *r)
{
    const size_t t = r->model->t;
    double factor[TARGETS_MOST], reach[TARGETS_MOST];

    rec_num(rec, "level", c->ask.level);
    for (size_t j = 0; j < t; j++) {
        factor[j] = r->model->ncv ? NAN : c->of[j].factor;
        reach[j] = reach_at(&r->model->reach[j], c->ask.level);
    }
    if (t > 1) {
        rec_nums(rec, "factor", factor, t);
        rec_nums(rec, "quantile", reach, t);
    } else {
        rec_num(rec, "factor", factor[0]);
        rec_num(rec, "quantile", reach[0]);
    }
    if (r->model->ncv) {
        rec_int(rec, "folds", (int64_t)r->model->ncv);
        rec_text(rec, "%sintervals at %g %% by the errors of %zu fits, each without a fold: root "
                      "mean square %.3g (scaled)", t > 1 ? "first target: " : "",
                 100.0 * c->ask.level, r->model->ncv, sqrt(c->of[0].z2));
        return;
    }
    if (r->model->one_spread) {
        rec_text(rec, "%severy row has the sd %.3g of the errors there (scaled);  intervals at "
                      "%g %% reach %.3g sd", t > 1 ? "first target: " : "",
                 exp(r->model->spread[0]), 100.0 * c->ask.level, reach[0]);
        return;
    }
    rec_text(rec, "%smean z^2 %.3g there: %svariances times %.3g;  "
                  "intervals at %g %% reach %.3g sd",
             t > 1 ? "first target: " : "", c->of[0].z2, r->model->spread ? "local " : "",
             factor[0], 100.0 * c->ask.level, reach[0]);
}

/* Rows that would have probabilities ever surer are taken to be wrong with a small probability
 * each, which makes sure probabilities surer or, where they were surer than that, less sure.  At
 * the lower end a class is as sure as the mean is far from the threshold in standard deviations,
 * which a temperature does not change: more rows would not help, but a likelihood without variances
 * would. */
static void tell_bound(struct workspace *ws, const struct run *r, const struct calibrating *c)
{
    const struct temperature *t = &c->classes.temperature;
    const size_t rows = c->rows;
    const char *way = t->best < 1.01 * TEMPERATURE_LEAST ? "likelihood softmax, then fit"
                      : c->ask.share < 0.2               ? "calibrate share=0.2"
                                                         : "calibrate share=0.4";

    if (!t->at_bound)
        return;
    if (t->best < 1.01 * TEMPERATURE_LEAST)
        ws_tell(ws, REC_NOTE, r->id, "temperature-bound", way,
                "%zu rows ask for surer probabilities than a temperature gives: at %.3g, the end "
                "of its range, variances have shrunk with the means",
                rows, t->best);
    else if (t->best > 0.99 * TEMPERATURE_MOST)
        ws_tell(ws, REC_NOTE, r->id, "temperature-bound", way,
                "%zu rows do not say how sure probabilities may be: the temperature %.3g is at the "
                "end of its range",
                rows, t->best);
    else
        ws_tell(ws, REC_NOTE, r->id, "temperature-bound", way,
                "%zu rows do not say how sure probabilities may be: the temperature %.3g takes "
                "each to be wrong with probability 1/%zu",
                rows, t->best, rows + 2);
}

static void tell(struct workspace *ws, const struct calibrating *c, const struct run *r)
{
    struct rec rec;
    char sec[32];

    rec_init(&rec, REC_RESULT, "calibrate");
    snprintf(rec.run, sizeof rec.run, "%s", r->id);
    rec_str(&rec, "run", r->id);
    rec_str(&rec, "from", c->s.run);
    rec_str(&rec, "method", r->info.calibration);
    rec_int(&rec, "rows", (int64_t)c->rows);
    text_seconds(sec, sizeof sec, c->seconds);
    rec_text(&rec, "%s  %s calibrated by %zu %s%s (%s)\n  ", r->id, c->s.run, c->rows,
             c->ask.rows ? "rows that were left out of a new fit"
             : r->model->ncv ? "training rows, fold by fold" : "validation rows",
             c->ask.rows && kernel_learns(&r->fit.kernel) ? ", whose features were learned without "
                                                            "them" : "", sec);
    if (r->model->kind->classes)
        calibrating_classes_tell(&rec, &c->classes);
    else
        tell_numbers(&rec, c, r);
    rec_bool(&rec, "fitted_anew", c->ask.rows > 0);
    if (kernel_learns(&r->fit.kernel))
        rec_bool(&rec, "learned_anew", c->ask.rows > 0);
    rec_num(&rec, "seconds", c->seconds);
    ws_emit(ws, &rec);
    if (r->model->kind->classes)
        tell_bound(ws, r, c);
}

static void calibrate_failed(struct workspace *ws, struct job *job, struct run *r, enum status rc,
                             const struct err *err)
{
    r->state = rc == ST_CANCELLED ? RUN_STOPPED : RUN_FAILED;
    r->failure = *err;
    snprintf(r->verdict, sizeof r->verdict, rc == ST_CANCELLED
             ? "%s was stopped before there was a result." : "%s failed: %.200s", r->id, err->msg);
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped before there was a result", r->id);
        ws->unconverged = true;
    } else {
        ws_error(ws, err, job->line);
    }
    if (store_of(ws))
        store_run(store_of(ws), r);
    ws->serial++;
}

/* A kernel that learned anew has other weights than that of the old run. */
static void name_weights(struct run *r)
{
    struct buf text = { 0 };

    if (!kernel_learns(&r->fit.kernel))
        return;
    kernel_print(&r->fit.kernel, &text);
    char *words = buf_take(&text);
    if (words) {
        free(r->kernel_text);
        r->kernel_text = words;
    }
}

static void name_verdict(struct run *r, const struct calibrating *c)
{
    const char *anew = c->ask.rows ? ", fitted anew without them," : "";

    if (r->model->ncv)
        snprintf(r->verdict, sizeof r->verdict,
                 "%s is %s with intervals by %zu training rows, each predicted by a fit of the "
                 "other folds.", r->id, c->s.run, c->rows);
    else if (!r->model->kind->classes)
        snprintf(r->verdict, sizeof r->verdict,
                 "%s is %s%s with variances times %.3g and intervals by %zu rows kept aside.",
                 r->id, c->s.run, anew, c->of[0].factor, c->rows);
    else if (c->classes.way == CALIBRATION_TEMPERATURE)
        snprintf(r->verdict, sizeof r->verdict,
                 "%s is %s%s at temperature %.3g by %zu rows kept aside.", r->id, c->s.run, anew,
                 c->classes.temperature.best, c->rows);
    else
        snprintf(r->verdict, sizeof r->verdict,
                 "%s is %s%s with prediction sets by %zu rows kept aside.", r->id, c->s.run, anew,
                 c->rows);
}

static void calibrate_done(struct workspace *ws, struct job *job, enum status rc,
                           const struct err *err)
{
    struct calibrating *c = job->arg;
    struct run *r = ws_run(ws, job->name, NULL);

    if (!r)
        return;
    r->ended = job_now();
    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc != ST_OK) {
        calibrate_failed(ws, job, r, rc, err);
        return;
    }
    ws_tell_lines(ws, buf_str(&c->s.notes));
    r->model = c->model, c->model = NULL;
    r->info = c->info;
    r->fit = c->s.fit;
    r->fit.start = r->fit.against = NULL;
    name_weights(r);
    r->solve = c->solve;
    memset(&c->solve, 0, sizeof c->solve);
    r->enc = c->s.enc;
    r->has_enc = true;
    memset(&c->s.enc, 0, sizeof c->s.enc);
    r->state = RUN_DONE;
    name_verdict(r, c);
    snprintf(ws->last_fit, sizeof ws->last_fit, "%s", r->id);
    tell(ws, c, r);
    if (store_of(ws)) {
        store_run(store_of(ws), r);
        store_model(store_of(ws), r, true);
    }
    ws->serial++;
}

static void calibrate_tick(struct workspace *ws, struct job *job, const struct tick *t)
{
    struct run *r = ws_run(ws, job->name, NULL);

    if (r && r->state == RUN_QUEUED) {
        r->state = RUN_RUNNING;
        r->started = job->started;
    }
    if (r) {
        if (phase_kind(t->phase) == PHASE_SEARCH && t->point)
            job->gaps += trace_append_learned(r, t, job->tick_seconds, NULL) != ST_OK;
        r->last = *t;
        r->last.point = NULL;
    }
    ws->serial++;
}

static const struct job_ops calibrate_ops = {
    .verb = "calibrate", .work = calibrate_work, .done = calibrate_done, .tick = calibrate_tick,
    .free = calibrating_free
};

/* The rows that the calibration is to be by. */
static enum status choose_rows(struct calibrating *c, struct err *err)
{
    struct dataset *d = c->s.data;
    const size_t train = d->split.part ? d->split.count[PART_TRAIN] : d->table->n;

    if (c->ask.way == CALIBRATION_CV)
        return ST_OK;
    if (c->ask.share > 0.0)
        c->ask.rows = (size_t)llround(c->ask.share * (double)train);
    if (c->ask.rows || c->ask.share > 0.0)
        return split_aside(d, c->ask.rows ? c->ask.rows : 1, c->ask.seed, err);
    if (d->split.part && d->split.count[PART_VALID])
        return ST_OK;
    err_named(err, ST_STATE, "no-rows", "%s has no validation rows: its fit has seen every row "
              "but the test rows", c->s.run);
    err_hint(err, "calibrate share=0.1  |  split test=20%% valid=10%%, then fit");
    return ST_STATE;
}

static enum status refuse(const struct run *r, struct err *err)
{
    const enum status rc = scoring_need_model(r, err);
    return rc == ST_OK ? scoring_need_data(r, err) : rc;
}

/* The run takes over what the old one tells of itself. */
static enum status new_run(struct workspace *ws, struct calibrating *c, const struct run *old,
                           const char *line, struct err *err)
{
    struct run *r = ws_run_new(ws, RUN_FIT, err);

    if (!r)
        return ST_NOMEM;
    r->kernel_text = mem_strdup(old->kernel_text, err);
    r->dataset_name = mem_strdup(old->dataset_name, err);
    r->command = mem_strdup(line, err);
    r->data = dataset_ref(c->s.data);
    r->fit = old->fit;
    r->fit.start = r->fit.against = NULL;
    ws->serial++;
    enum status rc = ST_NOMEM;
    if (r->kernel_text && r->dataset_name && r->command)
        rc = ws_submit(ws, &calibrate_ops, r->id, c, line, err);
    else
        calibrate_ops.free(&(struct job){ .arg = c });
    if (rc != ST_OK)
        ws_run_drop(ws, r);
    return rc;
}

/* The tuning that learned the features of r.  A run that calibrate made has none: the message then
 * names the last run before it that has. */
static enum status take_tuning(const struct workspace *ws, const struct run *r,
                               struct calibrating *c, struct err *err)
{
    const enum status rc = scoring_take_tuning(ws, r, &c->s.topt, err);

    if (rc == ST_OK)
        return rc;
    err_hint(err, "tune, then fit, then calibrate rows=%zu", c->ask.rows);
    for (size_t i = ws->nrun; i-- > 0;) {
        const struct run *f = ws->run[i];
        if (f->kind != RUN_FIT || f->serial >= r->serial || !f->model ||
            strcmp(f->dataset_name, r->dataset_name) != 0 || f->info.calibration_rows ||
            !ws_tuning_of(ws, f))
            continue;
        err_hint(err, "calibrate %s rows=%zu", f->id, c->ask.rows);
        break;
    }
    return rc;
}

enum status calibrating_start(struct workspace *ws, struct run *r,
                              const struct calibrating_ask *ask, const char *line,
                              struct err *err)
{
    enum status rc = refuse(r, err);
    struct calibrating *c = rc == ST_OK ? mem_calloc(1, sizeof *c, "job", err) : NULL;

    if (!c)
        return rc != ST_OK ? rc : ST_NOMEM;
    struct job tmp = { .arg = c };
    c->ask = *ask;
    c->info = r->info;
    rc = calibrating_classes_way(r, &c->ask.way, err);
    c->classes.way = c->ask.way;
    if (rc == ST_OK)
        rc = scoring_take(&c->s, r, err);
    if (rc == ST_OK)
        rc = choose_rows(c, err);
    if (rc == ST_OK && c->ask.rows && kernel_learns(&r->fit.kernel))
        rc = take_tuning(ws, r, c, err);
    if (rc != ST_OK) {
        calibrating_free(&tmp);
        return rc;
    }
    return new_run(ws, c, r, line, err);
}

/* Scores. */

/* The share of a target's rows inside the interval of the level, and its mean width. */
static void interval_of(const struct run *r, const struct prediction *all, size_t j, double *share,
                        double *width)
{
    const struct prediction p = scoring_prediction(all, j);
    const struct encoding one = encoding_for(&r->enc, j);
    const double reach = reach_at(p.reach, r->info.calibration_level);
    size_t inside = 0;

    *width = 0.0;
    for (size_t i = 0; i < p.n; i++) {
        const double far = reach * sqrt(p.var_scaled[i]), m = p.mean_scaled[i];
        inside += fabs(p.y_scaled[i] - m) <= far;
        *width += (encoding_value(&one, m + far) - encoding_value(&one, m - far)) / (double)p.n;
    }
    *share = (double)inside / (double)p.n;
}

void calibrating_score_json(struct rec *rec, const struct run *r, const struct prediction *p)
{
    const struct fit_info *i = &r->info;
    double share[TARGETS_MOST], width[TARGETS_MOST];

    if (r->enc.nclasses) {
        calibrating_classes_score_json(rec, r, p);
        return;
    }
    if (!i->calibration_rows || !p->var_scaled || p->n == 0)
        return;
    for (size_t j = 0; j < p->t; j++)
        interval_of(r, p, j, &share[j], &width[j]);
    rec_open(rec, "calibration");
    rec_str(rec, "method", i->calibration);
    rec_int(rec, "rows", (int64_t)i->calibration_rows);
    rec_num(rec, "factor", i->calibration_factor > 0.0 ? i->calibration_factor : NAN);
    rec_num(rec, "quantile", i->calibration_reach);
    rec_close(rec);
    rec_num(rec, "interval_level", i->calibration_level);
    if (p->t > 1) {
        rec_nums(rec, "interval_coverage", share, p->t);
        rec_nums(rec, "interval_width", width, p->t);
    } else {
        rec_num(rec, "interval_coverage", share[0]);
        rec_num(rec, "interval_width", width[0]);
    }
}

void calibrating_score_text(struct rec *rec, const struct run *r, const struct prediction *p)
{
    const struct fit_info *i = &r->info;
    double share, width;
    char text[32];

    if (r->enc.nclasses) {
        calibrating_classes_score_text(rec, r, p);
        return;
    }
    if (!i->calibration_rows || !p->var_scaled || p->n == 0 || p->t > 1)
        return;
    interval_of(r, p, 0, &share, &width);
    text_number(text, sizeof text, width);
    rec_text(rec, "\n  calibrated by %zu rows (%s): %.1f %% inside %g %% intervals of width %s",
             i->calibration_rows, i->calibration, 100.0 * share, 100.0 * i->calibration_level,
             text);
}
