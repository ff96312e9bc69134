/* app/runs/scoring/scoring.c -- predictions as background jobs. See scoring.h. */
#include "app/runs/scoring/calibrating.h"
#include "app/runs/scoring/scoring_impl.h"

#include "app/core/measures.h"

#include "app/runs/fitting.h"
#include "app/shell/text_table.h"
#include "app/session/store.h"
#include "app/core/ws_tell.h"
#include "data/classes.h"
#include "data/decision.h"
#include "data/kinds/letter_distance.h"
#include "data/prepare.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/features/tensor.h"
#include "compute/likelihood/temperature.h"
#include "compute/stats/crossfit.h"
#include "compute/stats/judgement.h"
#include "compute/stats/label_scores.h"
#include "compute/stats/spread.h"
#include "compute/rng.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRAIN_SAMPLE = 1000, SHOWN_ROWS = 10 };
static void scoring_free(struct job *job)
{
    struct scoring *s = job->arg;

    if (!s)
        return;
    dataset_unref(s->data);
    model_unref(s->model);
    encoding_free(&s->enc);
    free(s->path), free(s->out), free(s->sep_missing), free(s->types), free(s->dates);
    free(s->table), free(s->fold), free(s->fold_baseline);
    free(s->keep), free(s->keep_more);
    free(s->ids), free(s->id), free(s->no_y), free(s->more.sample);
    run_prediction_free(&s->pred);
    run_prediction_free(&s->train);
    buf_free(&s->text);
    buf_free(&s->notes);
    free(s);
    job->arg = NULL;
}

/* Predictions. */

static enum status prediction_alloc(struct prediction *p, size_t rows, size_t t, bool with_sd,
                                    struct err *err)
{
    const size_t n = rows * t;

    p->n = rows;
    p->t = t;
    p->row = mem_calloc(rows, sizeof *p->row, "predictions", err);
    p->y = mem_calloc(n, sizeof *p->y, "predictions", err);
    p->mean = mem_calloc(n, sizeof *p->mean, "predictions", err);
    p->y_scaled = mem_calloc(n, sizeof *p->y_scaled, "predictions", err);
    p->mean_scaled = mem_calloc(n, sizeof *p->mean_scaled, "predictions", err);
    if (!p->row || !p->y || !p->mean || !p->y_scaled || !p->mean_scaled)
        return ST_NOMEM;
    if (!with_sd)
        return ST_OK;
    p->sd = mem_calloc(n, sizeof *p->sd, "predictions", err);
    p->sd_latent = mem_calloc(n, sizeof *p->sd_latent, "predictions", err);
    p->var_scaled = mem_calloc(n, sizeof *p->var_scaled, "predictions", err);
    p->reach = mem_calloc(t, sizeof *p->reach, "predictions", err);
    return p->sd && p->sd_latent && p->var_scaled && p->reach ? ST_OK : ST_NOMEM;
}

/* The classes that the rule of an encoding chooses by probabilities, C vectors of n. */
static enum status choose(const struct encoding *enc, size_t n, size_t C, const double *prob,
                          double *taken, struct err *err)
{
    struct decision rule = { .cost = NULL };
    const enum status rc = decision_parse(enc->rule, C, enc->classes, &rule, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++)
        taken[i] = (double)decision_choose(&rule, n, prob, i);
    decision_free(&rule);
    return rc;
}

/* By a rule of two classes; without one nothing is kept. */
static enum status choose_of_two(const struct encoding *enc, struct prediction *p, struct err *err)
{
    const size_t n = p->n;

    if (enc->rule == NULL)
        return ST_OK;
    double *prob = mem_calloc(2, (n + 1) * sizeof *prob, "probabilities", err);
    p->taken = prob ? mem_calloc(n + 1, sizeof *p->taken, "classes", err) : NULL;
    for (size_t i = 0; p->taken && i < n; i++) {
        prob[i] = 1.0 - p->mean[i];
        prob[n + i] = p->mean[i];
    }
    const enum status rc = p->taken ? choose(enc, n, 2, prob, p->taken, err) : ST_NOMEM;
    free(prob);
    return rc;
}

/* Of two classes: the mean is the probability of the positive one, and sd that of a 0 or 1 with
 * that probability; scaled values and sd_latent are those of the latent function.  The variance of
 * a model that has none is NaN. */
static void unscale_classes(const struct model *m, const struct encoded *e,
                            const struct prediction *p)
{
    model_probabilities(m, e->n, p->mean_scaled, p->var_scaled, p->mean);
    for (size_t i = 0; i < e->n; i++) {
        p->y[i] = e->yraw ? e->yraw[i] : NAN;
        p->y_scaled[i] = e->y ? e->y[i] : NAN;
        p->sd[i] = sqrt(p->mean[i] * (1.0 - p->mean[i]));
        p->sd_latent[i] = sqrt(p->var_scaled[i]);
    }
}

/* For target j: computes everything that a score or a file needs from scaled means and latent
 * variances.  local: standard deviations of the rows that stand for these and the noise; or
 * NULL. */
static void unscale_target(const struct model *m, const struct encoding *enc,
                           const struct encoded *e, size_t j, const double *local,
                           const struct prediction *all)
{
    const struct encoding one = encoding_for(enc, j);
    const struct prediction p = scoring_prediction(all, j);
    const double noise2 = m->noises[j] * m->noises[j];
    const double *scale = e->row_scale;

    for (size_t i = 0; i < e->n; i++) {
        p.y[i] = e->yraw ? e->yraw[j * e->n + i] : NAN;
        p.y_scaled[i] = e->y ? e->y[j * e->n + i] : NAN;
    }
    if (p.var_scaled) {
        encoding_unscale(&one, e->n, p.mean_scaled, p.var_scaled, p.mean, p.sd_latent);
        for (size_t i = 0; i < e->n; i++) {
            const double own = local ? local[i] * local[i] : noise2;
            p.var_scaled[i] = (local ? 0.0 : p.var_scaled[i]) +
                              (scale ? own / (scale[i] * scale[i]) : own);
        }
    }
    encoding_unscale(&one, e->n, p.mean_scaled, p.var_scaled, p.mean, p.sd);
}

enum status scoring_latent(const struct model *m, const struct encoded *e, struct job *job,
                           double **mean, struct err *err)
{
    *mean = mem_calloc(2 * m->t, (e->n + 1) * sizeof **mean, "functions", err);
    return *mean ? model_predict(m, &e->base, *mean, *mean + m->t * e->n,
                                 &(struct tools){ job->backend, job->pool, &job->ctl }, err)
                 : ST_NOMEM;
}

/* Predictions of several classes: functions, then probabilities. */
static enum status class_rows(const struct model *m, const struct encoding *enc,
                              const struct encoded *e, struct job *job, struct prediction *p,
                              struct err *err)
{
    const size_t n = e->n, C = m->t;
    double *mean = NULL;
    enum status rc = enc->nclasses != C
                         ? err_set(err, ST_STATE, "the model has %zu classes, but its encoding %zu",
                                   C, enc->nclasses)
                         : prediction_alloc(p, n, 1, false, err);

    if (rc == ST_OK) {
        p->classes = C;
        p->prob = mem_calloc(C, (n + 1) * sizeof *p->prob, "probabilities", err);
        rc = p->prob ? scoring_latent(m, e, job, &mean, err) : ST_NOMEM;
    }
    const struct temperature_rows rows = { .of = m->likelihood, .n = n, .classes = C, .mean = mean,
                                           .var = mean ? mean + C * n : NULL,
                                           .pool = job->pool };
    if (rc == ST_OK)
        rc = temperature_apply(&rows, m->temperature, p->prob, err);
    if (rc == ST_OK)
        rc = choose(enc, n, C, p->prob, p->mean, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        p->row[i] = e->row[i];
        p->y[i] = p->y_scaled[i] = e->yraw ? e->yraw[i] : NAN;
        p->mean_scaled[i] = p->prob[(size_t)p->mean[i] * n + i];
    }
    free(mean);
    return rc;
}

enum status scoring_local(const struct model *m, const struct source *rows, const double *mean,
                          const struct tools *on, double **sd, struct err *err)
{
    *sd = NULL;
    if (!m->spread && !m->ncv)
        return ST_OK;
    double *own = mem_calloc(2 * m->t, (rows->n + 1) * sizeof *own, "local scales", err);
    enum status rc = own ? ST_OK : ST_NOMEM;
    double *means = own ? own + m->t * rows->n : NULL;

    if (rc == ST_OK && !mean)
        rc = model_predict(m, rows, means, NULL, on, err);
    if (rc == ST_OK)
        rc = m->ncv ? crossfit_at(m, rows, mean ? mean : means, own, on, err)
                    : spread_at(m, rows, own, on, err);
    if (rc == ST_OK)
        *sd = own;
    else
        free(own);
    return rc;
}

enum status scoring_rows(const struct model *m, const struct encoding *enc,
                         const struct encoded *e, struct job *job, struct prediction *p,
                         struct err *err)
{
    if (m->kind->several)
        return class_rows(m, enc, e, job, p, err);
    const bool with_sd = model_has_variance(m);
    enum status rc = m->t != encoding_targets(enc)
                         ? err_set(err, ST_STATE,
                                   "the model has %zu targets, but its encoding has %zu",
                                   m->t, encoding_targets(enc))
                         : prediction_alloc(p, e->n, m->t, with_sd || m->kind->probability, err);
    const struct tools on = { job->backend, job->pool, &job->ctl };
    double *local = NULL;

    for (size_t i = 0; rc == ST_OK && p->var_scaled && i < e->n; i++)
        p->var_scaled[i] = NAN;
    if (rc == ST_OK)
        rc = model_predict(m, &e->base, p->mean_scaled, with_sd ? p->var_scaled : NULL, &on, err);
    if (rc == ST_OK && p->var_scaled)
        rc = scoring_local(m, &e->base, p->mean_scaled, &on, &local, err);
    if (rc != ST_OK) {
        free(local);
        return rc;
    }
    for (size_t i = 0; i < e->n; i++)
        p->row[i] = e->row[i];
    if (p->reach)
        memcpy(p->reach, m->reach, m->t * sizeof *p->reach);
    if (m->kind->classes)
        unscale_classes(m, e, p);
    for (size_t j = 0; j < m->t && !m->kind->classes; j++)
        unscale_target(m, enc, e, j, local ? local + j * e->n : NULL, p);
    free(local);
    return m->kind->classes ? choose_of_two(enc, p, err) : ST_OK;
}

/* Counts the rows whose counts the features of the model shorten. */
static enum status see_shortened(struct scoring *s, const struct encoded *e, struct err *err)
{
    return s->model->kind->draws ? tensor_longer(&s->model->kernel, &e->base, &s->shortened, err)
                                 : ST_OK;
}

static enum status predict_part(struct scoring *s, struct job *job, enum part part, size_t sample,
                                struct prediction *p, struct err *err)
{
    size_t *rows = NULL, n = 0;
    struct encoded e = { 0 };
    enum status rc = dataset_rows(s->data, part, &rows, &n, err);

    if (rc == ST_OK && n == 0) {
        rc = err_named(err, ST_STATE, "no-rows", "dataset %s has no %s rows to score on",
                       s->data->name, dataset_part_names[part]);
        err_hint(err, "split test=20%% and fit again, or score on=train");
    }
    /* an evenly spaced, fixed sample: the same rows every time */
    if (rc == ST_OK && sample && n > sample) {
        for (size_t i = 0; i < sample; i++)
            rows[i] = rows[(size_t)((double)i * (double)n / (double)sample)];
        n = sample;
    }
    if (rc == ST_OK)
        rc = encode(&s->enc, s->data->table, rows, n, true, &e, err);
    if (rc == ST_OK)
        rc = scoring_rows(s->model, &s->enc, &e, job, p, err);
    if (rc == ST_OK && p == &s->pred)
        rc = scoring_functions_draw(s, &e, job, err);
    if (rc == ST_OK && !sample)
        rc = see_shortened(s, &e, err);
    p->part = part;
    if (!sample) { /* a sample of training rows is only used for plots */
        s->missing_cells = e.missing_cells;
        s->unseen_levels = e.unseen_levels;
        s->dropped = e.dropped;
        s->cut = e.cut;
    }
    encode_free(&e);
    free(rows);
    return rc;
}

/* Metrics. */

/* On the worker thread. */

enum status scoring_factor(struct model *m, const struct dataset *d, struct encoding *enc,
                           struct job *job, struct err *err)
{
    const struct tools tools = { job->backend, job->pool, &job->ctl };
    const bool own = m->kind->keeps_rows && !enc->weight; /* the model has all that it needs */
    struct source_array inputs;
    struct encoded e = { 0 };
    enum status rc;

    if (m->L || m->factors || ((m->S || m->kind->point) && !m->Mv) || m->kind->local)
        return ST_OK;
    if (own) {
        source_array_init(&inputs, m->X, m->M, m->d, m->d);
        return model_variance(m, &inputs.base, m->Mv, &tools, NULL, err);
    }
    if (!d) {
        err_named(err, ST_STATE, "no-data",
                  "the variance of this run must be rebuilt, and its data is not loaded");
        err_hint(err, "open the data file again, then fit");
        return ST_STATE;
    }
    rc = fitting_rows(d, PART_TRAIN, false, enc, &e, NULL, err);
    if (rc == ST_OK)
        rc = model_variance(m, &e.base, m->Mv, &tools, NULL, err);
    encode_free(&e);
    return rc;
}

enum status scoring_need_factor(struct scoring *s, struct job *job, struct err *err)
{
    return s->fit.variance == VAR_NONE ? ST_OK
                                       : scoring_factor(s->model, s->data, &s->enc, job, err);
}

static enum status score_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    const double t0 = job_now();
    enum status rc = scoring_need_factor(s, job, err);

    if (rc == ST_OK)
        rc = predict_part(s, job, s->part, 0, &s->pred, err);
    if (rc == ST_OK && s->part != PART_TRAIN) {
        struct err own = { 0 }; /* the sample is only used for plots: it may be missing, */
        const enum status with = predict_part(s, job, PART_TRAIN, TRAIN_SAMPLE, &s->train, &own);
        if (with != ST_OK)
            run_prediction_free(&s->train);
        if (with == ST_NOMEM) { /* but not be lost without a word */
            *err = own;
            rc = with;
        }
    }
    if (rc == ST_OK)
        rc = scoring_all_metrics(&s->enc, &s->pred, s->scaled, s->raw, err);
    s->have_metrics = rc == ST_OK;
    s->seconds = job_now() - t0;
    return rc;
}

/* Room for what the run keeps, so that no memory for it is a failure of the command. */
static enum status make_room(struct scoring *s, struct err *err)
{
    const size_t t = s->pred.t;

    s->keep = s->baseline.asked ? run_baseline_new(t, err) : NULL;
    s->keep_more = t > 1 ? mem_calloc(t - 1, sizeof *s->keep_more, "scores", err) : NULL;
    return (s->baseline.asked && !s->keep) || (t > 1 && !s->keep_more) ? ST_NOMEM : ST_OK;
}

/* `score`: the scores, and those of simple models. */
static enum status score_and_compare(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    size_t *rows = NULL, n = 0;
    enum status rc = score_work(job, err);

    if (rc == ST_OK)
        rc = dataset_rows(s->data, PART_TRAIN, &rows, &n, err);
    if (rc == ST_OK)
        rc = scoring_baselines(s, job, &(struct baseline_ask){ rows, n, &s->enc, &s->pred },
                               &s->baseline, err);
    if (rc == ST_OK)
        rc = make_room(s, err);
    free(rows);
    return rc;
}

/* Does the model read column j, whose kind tells distances? */
static bool is_measured(const struct scoring *s, size_t j)
{
    const struct column *c = &s->data->table->col[j];

    return s->data->role[j] == ROLE_INPUT && kind_of(c)->distance &&
           encoding_reads(&s->enc, c->name);
}

/* Training rows of different classes with the same inputs. */
static enum status look_repeats(struct scoring *s, struct err *err)
{
    struct encoded e = { 0 };
    enum status rc = fitting_rows(s->data, PART_TRAIN, false, &s->enc, &e, NULL, err);

    if (rc == ST_OK)
        rc = repeats_find(&e, e.yraw, &s->repeats, err);
    s->have_repeats = rc == ST_OK;
    encode_free(&e);
    return rc;
}

static enum status check_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    enum status rc = score_work(job, err);

    if (rc == ST_OK && s->data && s->enc.nclasses)
        rc = look_repeats(s, err);

    if (rc != ST_OK || !s->data || s->part == PART_TRAIN || s->pred.n == 0 || s->pred.classes)
        return rc;
    for (size_t j = 0; rc == ST_OK && j < s->data->table->ncols; j++)
        if (s->ndrift < DOMAIN_COLUMNS && is_measured(s, j)) {
            rc = distance_drift(s->data, j, s->pred.row, s->pred.n, &s->drift[s->ndrift], err);
            s->ndrift += rc == ST_OK;
        }
    const struct prediction one = scoring_prediction(&s->pred, s->target);
    const struct prediction train = scoring_prediction(&s->train, s->train.n ? s->target : 0);
    const struct domain_ask ask = { .data = s->data, .enc = &s->enc, .at = &one, .train = &train,
                                    .target = encoding_for(&s->enc, s->target).target,
                                    .job = job };
    return rc == ST_OK ? domain_measure(&ask, s->domain, DOMAIN_COLUMNS, &s->ndomain, err) : rc;
}

/* The table goes through the steps that the training data went through. */
static enum status predict_table(struct scoring *s, struct job *job, struct table **t,
                                 struct err *err)
{
    struct encoded e = { 0 };
    size_t *rows = NULL, n = 0;
    enum status rc = prepare_new_data(&s->enc, t, &rows, &n, &job->ctl, &s->notes, err);

    if (rc == ST_OK)
        rc = encode(&s->enc, *t, rows, n, false, &e, err);
    free(rows);

    if (rc == ST_OK)
        rc = scoring_rows(s->model, &s->enc, &e, job, &s->pred, err);
    if (rc == ST_OK)
        rc = scoring_functions_draw(s, &e, job, err);
    if (rc == ST_OK)
        rc = see_shortened(s, &e, err);
    s->missing_cells = e.missing_cells;
    s->unseen_levels = e.unseen_levels;
    s->dropped = e.dropped;
    s->cut = e.cut;
    s->strange = e.strange;
    encode_free(&e);
    return rc;
}

/* Takes the class of row i of the prediction, and counts those that the model does not know. */
static void observe_class(struct scoring *s, const struct table *t, size_t col, size_t i)
{
    const size_t row = s->pred.row[i];
    struct buf cell = { 0 };

    s->pred.y[i] = classes_label(&s->enc, &t->col[col], row);
    if (!isnan(s->pred.y[i]) || column_missing(&t->col[col], row))
        return;
    if (s->new_class++ == 0) {
        table_cell(t, row, col, &cell);
        text_quoted(buf_str(&cell), s->new_name, sizeof s->new_name);
    }
    buf_free(&cell);
}

/* Takes the observed values of new rows from their table, if it has the targets as numbers. */
static enum status observe(struct scoring *s, const struct table *t, struct err *err)
{
    struct prediction *p = &s->pred;
    struct buf why = { 0 };

    for (size_t j = 0; j < p->t; j++) {
        const char *name = encoding_for(&s->enc, j).target;
        const size_t col = table_find(t, name);
        const struct column *c = col == SIZE_MAX ? NULL : &t->col[col];
        const bool classes = s->enc.nclasses > 0;
        for (size_t i = 0; c && classes && i < p->n; i++)
            observe_class(s, t, col, i);
        for (size_t i = 0; c && !classes && c->type == COL_REAL && i < p->n; i++)
            p->y[j * p->n + i] = column_at(c, p->row[i]);
        if (!c || (c->type != COL_REAL && !classes)) {
            buf_puts(&why, why.len ? ", " : "");
            text_safe(&why, name, 40);
            buf_puts(&why, c ? " (it holds no numbers here)" : "");
        }
    }
    if (!why.len)
        return ST_OK;
    s->no_y = buf_take(&why);
    return s->no_y ? ST_OK : err_nomem(err, 64, "a name");
}

static size_t rows_observed(const struct prediction *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        size_t j = 0;
        while (j < p->t && !isnan(p->y[j * p->n + i]))
            j++;
        n += j == p->t;
    }
    return n;
}

/* What the chosen columns need besides the predictions. */
static enum status prepare_columns(struct scoring *s, const struct table *t, struct err *err)
{
    enum status rc = ST_OK;

    if (s->ids) {
        s->id = mem_calloc(t->ncols, sizeof *s->id, "columns", err);
        rc = s->id ? dataset_select(t, s->ids, s->id, err) : ST_NOMEM;
    }
    if (rc == ST_OK && s->path && predict_columns_need(&s->columns, PREDICT_OBSERVED))
        rc = observe(s, t, err);
    s->observed = rows_observed(&s->pred);
    return rc;
}

/* The default columns leave out what a fit without variances lacks; columns= may not name it. */
static enum status columns_exist(struct scoring *s, struct err *err)
{
    const bool more = s->more.nquantiles > 0 || s->more.has_above;

    if (predict_columns_need(&s->columns, PREDICT_SET) && !(s->model->set_reach > 0.0)) {
        err_named(err, ST_STATE, "no-sets", "columns=: %s has no prediction sets", s->run);
        err_hint(err, "calibrate method=conformal level=0.9, then predict columns=row,set");
        return ST_STATE;
    }
    if (model_has_variance(s->model) ||
        (!more && !predict_columns_need(&s->columns, PREDICT_VARIANCE)))
        return ST_OK;
    if (!s->chosen && !more) {
        predict_columns_without_variance(&s->columns);
        return ST_OK;
    }
    err_named(err, ST_STATE, "no-variance",
              "%s has no variances, and so neither standard deviations nor intervals", s->run);
    err_hint(err, s->model->kind->classes ? "fit  |  predict columns=row,p,class,mean_latent"
                                          : "fit variance=auto  |  predict columns=row,mean");
    return ST_STATE;
}

static enum status predict_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    struct table *t = NULL;
    const double t0 = job_now();
    enum status rc = scoring_need_factor(s, job, err);

    if (rc == ST_OK)
        rc = columns_exist(s, err);
    if (rc == ST_OK && s->path)
        rc = import_file(s->path, &s->import, &job->ctl, &t, err);
    if (rc == ST_OK)
        rc = s->path ? predict_table(s, job, &t, err)
                     : predict_part(s, job, PART_TEST, 0, &s->pred, err);
    const struct table *src = s->path ? t : s->data ? s->data->table : NULL;
    if (rc == ST_OK)
        rc = prepare_columns(s, src, err);
    if (rc == ST_OK && s->out) {
        rc = scoring_csv_write(s, src, err);
        s->formulas = s->csv == text_csv ? predict_columns_formulas(s, src) : 0;
    } else if (rc == ST_OK) {
        scoring_csv_head(&s->text, s, src);
        for (size_t i = 0; i < s->pred.n && i < SHOWN_ROWS; i++)
            scoring_csv_row(&s->text, s, src, i);
    }
    s->written = s->pred.n;
    for (size_t i = 0; rc == ST_OK && i < s->pred.n; i++) /* else there may be no prediction */
        s->unlike += scoring_unlike(s, i) > 0.0;
    table_unref(t);
    s->seconds = job_now() - t0;
    return rc;
}

/* On the main thread. */

void scoring_move_prediction(struct prediction *dst, bool *has, struct prediction *src)
{
    if (!src->n)
        return;
    if (*has)
        run_prediction_free(dst);
    *dst = *src;
    *has = true;
    memset(src, 0, sizeof *src);
}

/* Reports failure or cancellation of a job that makes no run. */
bool scoring_ended_early(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped; nothing was written", job->ops->verb);
        ws->unconverged = true;
    } else if (rc != ST_OK) {
        ws_error(ws, err, job->line);
    }
    return rc != ST_OK;
}

/* Moves the scores into the run. Those of the first target have a place of their own. */
static void keep_scores(struct run *r, struct scoring *s)
{
    const size_t t = s->pred.t;
    struct metrics (*more)[2] = s->keep_more;

    s->keep_more = NULL;
    free(r->more);
    r->more = more;
    r->nmore = more ? t - 1 : 0;
    for (size_t j = 1; more && j < t; j++) {
        more[j - 1][0] = s->scaled[j];
        more[j - 1][1] = s->raw[j];
    }
    r->has_score = true;
    r->score_raw = s->raw[0], r->score_scaled = s->scaled[0];
    r->score_part = s->part, r->score_rows = s->pred.n;
    scoring_baseline_keep(r, s);
}

/* The encoded number that is furthest from its training mean in this row; NULL if none is far. */
static const struct enc_col *strangest(const struct scoring *s, size_t row, double *cell, double *z)
{
    const struct enc_col *found = NULL;

    *z = 5.0;
    for (size_t k = 0; k < s->enc.ncol; k++) {
        const struct enc_col *c = &s->enc.col[k];
        const size_t at =
            c->kind == ENC_REAL && !c->constant ? table_find(s->data->table, c->column) : SIZE_MAX;
        const double x = at == SIZE_MAX ? NAN : column_at(&s->data->table->col[at], row);
        if (fabs(x - c->mean) / c->sd > *z)
            found = c, *cell = x, *z = fabs(x - c->mean) / c->sd;
    }
    return found;
}

/* Warns if one row makes up most of the squared error: the RMSE then says nothing about the
 * others. */
static void tell_dominated(struct workspace *ws, const struct scoring *s)
{
    const struct prediction p = scoring_prediction(&s->pred, 0);
    double sum = 0.0, most = 0.0, cell = NAN, z = NAN;
    size_t worst = 0;
    struct buf why = { 0 };
    char look[64];

    for (size_t i = 0; i < p.n; i++) {
        const double e = p.y[i] - p.mean[i];
        sum += e * e;
        if (e * e > most)
            most = e * e, worst = i;
    }
    if (p.classes || p.n < 50 || !(most > 0.5 * sum))
        return;
    const struct enc_col *c = s->data ? strangest(s, p.row[worst], &cell, &z) : NULL;
    if (c) {
        buf_puts(&why, ": its ");
        text_safe(&why, c->column, 40);
        buf_printf(&why,
                   ", %.6g, lies %.1f sd from the training mean, far outside what the model has "
                   "seen",
                   cell, z);
    }
    snprintf(look, sizeof look, "show %zu..%zu, and read MAE and NLPD", p.row[worst] + 1,
             p.row[worst] + 1);
    ws_tell(ws, REC_WARNING, s->run, "dominated", look,
            "row %zu accounts for %.0f %% of the squared error (without it the RMSE is %.4g)%s",
            p.row[worst] + 1, 100 * most / sum, sqrt((sum - most) / (double)(p.n - 1)),
            buf_str(&why));
    buf_free(&why);
}

static void score_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct scoring *s = job->arg;
    struct run *r;
    struct rec rec;
    char sec[32], cnt[32];

    if (scoring_ended_early(ws, job, rc, err))
        return;
    scoring_tell_counts(ws, s);
    rec_init(&rec, REC_RESULT, "score");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "on", dataset_part_words[s->part]);
    rec_int(&rec, "rows", (int64_t)s->pred.n);
    scoring_baseline_json(&rec, s->pred.t, &s->baseline);
    fitting_targets_json(&rec, &s->enc);
    scoring_tell_json(&rec, s->pred.t, s->raw, s->scaled);
    if (s->raw->clipped > 0)
        rec_int(&rec, "clipped", (int64_t)s->raw->clipped);
    if (s->enc.nclasses)
        scoring_labels_json(&rec, &s->enc, &s->pred);
    r = ws_run(ws, s->run, NULL);
    if (r)
        calibrating_score_json(&rec, r, &s->pred);
    rec_num(&rec, "seconds", s->seconds);
    text_count(cnt, sizeof cnt, s->pred.n);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(&rec, "%s on %s %s rows (%s)\n", s->run, cnt, dataset_part_words[s->part], sec);
    if (s->pred.classes)
        scoring_labels_text(&rec, &s->enc, &s->pred, s->raw);
    else if (s->pred.t > 1)
        scoring_tell_table(&rec, &s->enc, s->raw, s->scaled);
    else
        scoring_tell_text(&rec, s->raw, s->scaled, s->part != PART_TRAIN);
    if (s->enc.nclasses && !s->pred.classes)
        scoring_labels_rule(&rec, &s->enc, s->raw);
    if (r)
        calibrating_score_text(&rec, r, &s->pred);
    scoring_baseline_text(&rec, s->pred.t, &s->baseline);
    ws_emit(ws, &rec);
    tell_dominated(ws, s);
    if (r) {
        keep_scores(r, s);
        if (s->part == PART_TRAIN)
            scoring_move_prediction(&r->train_pred, &r->has_train, &s->pred);
        else
            scoring_move_prediction(&r->test_pred, &r->has_test, &s->pred);
        scoring_move_prediction(&r->train_pred, &r->has_train, &s->train);
        if (store_of(ws))
            store_run(store_of(ws), r);
    }
    ws->serial++;
}

/* The number of rows beyond the 99 % quantile that chance explains: 2.5 standard errors. */
static double unlike_most(double n)
{
    return 1.0 + 0.01 * n + judgement_errors * sqrt(0.01 * 0.99 * n);
}

static void predict_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    struct scoring *s = job->arg;
    const char *names[PREDICT_COLUMNS_MOST];
    struct rec rec;
    char sec[32], cnt[32];

    if (scoring_ended_early(ws, job, rc, err))
        return;
    scoring_tell_counts(ws, s);
    if (s->no_y)
        ws_tell(ws, REC_NOTE, s->run, "unobserved", "predict columns=id,mean,sd",
                "this file has no observed values of %s: the cells of y and error are empty",
                s->no_y);
    if (s->new_class)
        ws_tell(ws, REC_NOTE, s->run, "new-class", "predict columns=id,class,p",
                "%zu of %zu rows are of classes that no training data has, such as %s: their cells "
                "of y are empty", s->new_class, s->written, s->new_name);
    if ((double)s->unlike > unlike_most((double)s->written))
        ws_tell(ws, REC_NOTE, s->run, "unlike", "predict columns=row,mean,sd,unlike",
                "%zu of %zu rows are unlike the training rows: the function is less certain there "
                "than at 99 %% of the training rows, each predicted from the others",
                s->unlike, s->written);
    rec_init(&rec, REC_RESULT, "predict");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "out", s->out);
    rec_int(&rec, "rows", (int64_t)s->written);
    rec_int(&rec, "missing", (int64_t)s->missing_cells);
    rec_int(&rec, "unseen", (int64_t)s->unseen_levels);
    rec_int(&rec, "letters", (int64_t)s->strange.n);
    rec_int(&rec, "dropped", (int64_t)s->dropped);
    for (size_t i = 0; i < s->columns.n; i++)
        names[i] = s->columns.at[i]->name;
    rec_strs(&rec, "columns", names, s->columns.n);
    if (predict_columns_need(&s->columns, PREDICT_OBSERVED))
        rec_int(&rec, "observed", (int64_t)s->observed);
    if (s->latent99 >= 0.0)
        rec_int(&rec, "unlike", (int64_t)s->unlike);
    scoring_functions_json(&rec, s);
    rec_num(&rec, "seconds", s->seconds);
    text_count(cnt, sizeof cnt, s->written);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(&rec, "%s predicted %s rows in %s", s->run, cnt, sec);
    if (s->out) {
        rec_text(&rec, "; written to ");
        text_safe(&rec.text, s->out, 0);
    } else {
        rec_text(&rec, "; the first %zu:\n", s->written < SHOWN_ROWS ? s->written : SHOWN_ROWS);
        text_safe(&rec.text, "", 0);
        for (const char *q = buf_str(&s->text); *q;) { /* one line at a time, with our line ends */
            const char *e = strchr(q, '\n');
            char line[512];
            snprintf(line, sizeof line, "%.*s", (int)(e ? e - q : (long)strlen(q)), q);
            rec_text(&rec, "  ");
            text_safe(&rec.text, line, 0);
            rec_text(&rec, e && e[1] ? "\n" : "");
            q = e ? e + 1 : q + strlen(q);
        }
        rec_text(&rec, "\n  predict ... out=FILE.csv writes all of them");
    }
    ws_emit(ws, &rec);
    ws->serial++;
}

static const struct job_ops ops[] = {
    [DO_SCORE] = {.verb = "score",
                  .work = score_and_compare,
                  .done = score_done,
                  .free = scoring_free},
    [DO_FOLDS] = {.verb = "score",
                  .work = scoring_folds_work,
                  .done = scoring_folds_done,
                  .free = scoring_free},
    [DO_CHECK] = {.verb = "check",
                  .work = check_work,
                  .done = scoring_check_done,
                  .free = scoring_free},
    [DO_PREDICT] = {.verb = "predict",
                    .work = predict_work,
                    .done = predict_done,
                    .free = scoring_free},
};

/* Starting the jobs. */

enum status scoring_need_model(const struct run *r, struct err *err)
{
    if (r->model)
        return ST_OK;
    err_set(err, ST_STATE, "%s has no fitted model", r->id);
    err_hint(err, r->kind == RUN_TUNE ? "fit" : "wait, or fit");
    return ST_STATE;
}

enum status scoring_take(struct scoring *s, struct run *r, struct err *err)
{
    s->model = model_ref(r->model);
    s->latent99 = r->info.left_out_latent99;
    s->data = r->data ? dataset_snapshot(r->data, err) : NULL;
    if (s->data)
        s->data->kernel = r->fit.kernel; /* each fold is encoded again */
    s->fit = r->fit;
    snprintf(s->run, sizeof s->run, "%s", r->id);
    if (r->data && !s->data)
        return ST_NOMEM;
    return encoding_copy(&s->enc, &r->enc, err);
}

static struct scoring *scoring_new(struct run *r, enum scoring_what what, struct err *err)
{
    struct scoring *s = scoring_need_model(r, err) == ST_OK
                            ? mem_calloc(1, sizeof *s, "job", err) : NULL;

    if (!s)
        return NULL;
    s->what = what;
    if (scoring_take(s, r, err) != ST_OK) {
        struct job tmp = { .arg = s };
        scoring_free(&tmp);
        return NULL;
    }
    return s;
}

static enum status launch(struct workspace *ws, struct scoring *s, const char *line,
                          struct err *err)
{
    return ws_submit(ws, &ops[s->what], NULL, s, line, err);
}

enum status scoring_need_data(const struct run *r, struct err *err)
{
    if (r->data)
        return ST_OK;
    err_named(err, ST_STATE, "no-data", "the data of %s is not loaded", r->id);
    err_hint(err, "open its file again, then fit; or predict NEW.csv");
    return ST_STATE;
}

enum status scoring_score(struct workspace *ws, struct run *r, enum part part,
                          const struct scoring_how *how, const char *line, struct err *err)
{
    struct scoring *s;

    if (scoring_need_data(r, err) != ST_OK)
        return ST_STATE;
    s = scoring_new(r, DO_SCORE, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->part = part;
    s->how = *how;
    return launch(ws, s, line, err);
}

enum status scoring_take_tuning(const struct workspace *ws, const struct run *r,
                                struct tune_opts *out, struct err *err)
{
    const struct run *t = ws_tuning_of(ws, r);

    if (t && t->topt.objective != TUNE_VALID && !t->topt.stop_valid) {
        *out = t->topt;
        out->steps += out->before;
        out->goes_on = false;
        out->from = (struct kernel_nets){ { NULL } };
        out->start = NULL;
        out->restart = out->restarts = 0;
        return ST_OK;
    }
    if (t) {
        err_set(err, ST_STATE, "%s was tuned on validation rows, which its repetition on fewer "
                "rows does not have", t->id);
        err_hint(err, "tune, then fit, then score folds tune=yes");
        return ST_STATE;
    }
    err_named(err, ST_STATE, "not-tuned", "the hyperparameters of %s come from no tuning of this "
              "session, so there is none to repeat", r->id);
    err_hint(err, "tune, then fit, then score folds tune=yes  |  score folds");
    return ST_STATE;
}

enum status scoring_folds(struct workspace *ws, struct run *r, const struct scoring_how *how,
                          const char *line, struct err *err)
{
    struct tune_opts topt = { 0 };
    struct scoring *s;

    if (scoring_need_data(r, err) != ST_OK)
        return ST_STATE;
    if (!r->data->split.nfolds) {
        err_named(err, ST_STATE, "no-folds", "the split of %s has no folds", r->id);
        err_hint(err, "split folds=5, then fit, then score folds");
        return ST_STATE;
    }
    if (!how->tune && kernel_learns(&r->fit.kernel)) {
        err_named(err, ST_STATE, "learned", "the features of %s were learned from the rows of "
                  "every fold, which would then be scored far too well", r->id);
        err_hint(err, "score folds tune=yes");
        return ST_STATE;
    }
    const enum status rc = how->tune ? scoring_take_tuning(ws, r, &topt, err) : ST_OK;
    if (rc != ST_OK)
        return rc;
    s = scoring_new(r, DO_FOLDS, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->how = *how;
    s->topt = topt;
    return launch(ws, s, line, err);
}

enum status scoring_check(struct workspace *ws, struct run *r, size_t j, const char *line,
                          struct err *err)
{
    struct scoring *s;

    if (scoring_need_data(r, err) != ST_OK)
        return ST_STATE;
    s = scoring_new(r, DO_CHECK, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->target = j;
    s->part = r->data->split.part && r->data->split.count[PART_TEST] ? PART_TEST : PART_TRAIN;
    return launch(ws, s, line, err);
}

enum status scoring_predict(struct workspace *ws, struct run *r, const char *path,
                            const struct scoring_out *to, const struct import_opts *import,
                            const char *line, struct err *err)
{
    struct scoring *s;
    const char *out = to->path;
    struct predict_columns columns;

    if (scoring_csv_name(out, err) != ST_OK)
        return ST_USAGE;
    struct scoring_more more = { .samples = to->samples, .seed = to->seed,
                                 .has_above = to->has_above, .above = to->above };
    enum status rc = predict_columns_parse(to->columns,
                                           r->enc.nclasses == 0  ? PREDICT_NUMBER
                                           : r->enc.alpha > 0.0 ? PREDICT_LABEL
                                                                : PREDICT_CLASS,
                                           to->ids,
                                           &columns, err);
    if (rc == ST_OK)
        rc = scoring_functions_quantiles(to->quantiles, &more, err);
    if (rc == ST_OK && r->enc.nclasses && (to->samples || more.nquantiles || to->has_above)) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "samples=, quantiles= and above= are of a predicted number; %s predicts two "
                       "classes", r->id);
        err_hint(err, "predict columns=row,p,class,mean_latent,sd_latent");
    }
    if (rc != ST_OK)
        return rc;
    if (!path && scoring_need_data(r, err) != ST_OK)
        return ST_STATE;
    s = scoring_new(r, DO_PREDICT, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->import = *import;
    s->path = path ? mem_strdup(path, err) : NULL;
    s->out = out ? mem_strdup(out, err) : NULL;
    s->csv = to->guard ? text_csv_guarded : text_csv;
    s->columns = columns;
    s->more = more;
    s->chosen = to->columns != NULL;
    s->ids = to->ids ? mem_strdup(to->ids, err) : NULL;
    s->sep_missing = import->missing ? mem_strdup(import->missing, err) : NULL;
    s->types = import->types ? mem_strdup(import->types, err) : NULL;
    s->import.missing = s->sep_missing;
    s->import.types = s->types;
    s->dates = import->dates ? mem_strdup(import->dates, err) : NULL;
    s->import.dates = s->dates;
    s->table = import->table ? mem_strdup(import->table, err) : NULL;
    s->import.table = s->table;
    if ((path && !s->path) || (out && !s->out) || (to->ids && !s->ids)) {
        struct job tmp = { .arg = s };
        scoring_free(&tmp);
        return ST_NOMEM;
    }
    return launch(ws, s, line, err);
}
