/* app/runs/scoring.c -- predictions as background jobs: see scoring.h. */
#include "app/runs/scoring.h"

#include "app/core/measures.h"

#include "app/runs/fitting.h"
#include "app/shell/text_table.h"
#include "app/session/store.h"
#include "app/core/ws_tell.h"
#include "data/kinds/letter_distance.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/rng.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRAIN_SAMPLE = 2000, SHOWN_ROWS = 10 };
enum scoring_what { DO_SCORE, DO_FOLDS, DO_CHECK, DO_PREDICT };

struct scoring {
    enum scoring_what what;
    struct dataset *data;
    struct model *model;
    struct encoding enc;
    struct fit_opts fit;                 /* folds */
    enum part part;
    char *path, *out;
    struct import_opts import;
    char *sep_missing;                   /* storage behind import.missing / types */
    char *types;
    struct prediction pred, train;       /* train: a sample of the training rows */
    struct variants_look letters;        /* check: sequences */
    struct metrics scaled[TARGETS_MOST], raw[TARGETS_MOST]; /* of each target */
    size_t target;                       /* check: which */
    bool have_metrics;
    size_t missing_cells, unseen_levels, dropped, cut, written;
    size_t strange, strange_first; /* rows of new data with letters that training has not */
    bool strange_place;
    struct buf text;                     /* predict without out=: the first rows */
    size_t nfolds; struct metrics *fold; /* folds: raw metrics of each, target by target */
    double seconds;
    char run[16];
};

struct prediction prediction_for(const struct prediction *p, size_t j)
{
    struct prediction one = *p;
    double **const at[] = { &one.y, &one.mean, &one.sd_latent, &one.sd,
                            &one.y_scaled, &one.mean_scaled, &one.var_scaled };

    for (size_t i = 0; j > 0 && i < sizeof at / sizeof *at; i++)
        if (*at[i])
            *at[i] += j * p->n;
    one.t = 1;
    return one;
}

static void scoring_free(struct job *job)
{
    struct scoring *s = job->arg;

    if (!s)
        return;
    dataset_unref(s->data);
    model_unref(s->model);
    encoding_free(&s->enc);
    free(s->path), free(s->out), free(s->sep_missing), free(s->types), free(s->fold);
    run_prediction_free(&s->pred);
    run_prediction_free(&s->train);
    buf_free(&s->text);
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
    return p->sd && p->sd_latent && p->var_scaled ? ST_OK : ST_NOMEM;
}

/* Of target j: from scaled means and latent variances to everything that a score or a file needs.
 */
static void unscale_target(const struct model *m, const struct encoding *enc,
                           const struct encoded *e, size_t j, const struct prediction *all)
{
    const struct encoding one = encoding_for(enc, j);
    const struct prediction p = prediction_for(all, j);
    const double noise2 = m->noises[j] * m->noises[j];
    const double *scale = e->row_scale;

    for (size_t i = 0; i < e->n; i++) {
        p.y[i] = e->yraw ? e->yraw[j * e->n + i] : NAN;
        p.y_scaled[i] = e->y ? e->y[j * e->n + i] : NAN;
    }
    if (p.var_scaled) {
        encoding_unscale(&one, e->n, p.mean_scaled, p.var_scaled, p.mean, p.sd_latent);
        for (size_t i = 0; i < e->n; i++)
            p.var_scaled[i] += scale ? noise2 / (scale[i] * scale[i]) : noise2;
    }
    encoding_unscale(&one, e->n, p.mean_scaled, p.var_scaled, p.mean, p.sd);
}

static enum status predict_rows(const struct model *m, const struct encoding *enc,
                                const struct encoded *e, struct job *job, struct prediction *p,
                                struct err *err)
{
    enum status rc = m->t != encoding_targets(enc)
                         ? err_set(err, ST_STATE, "the model has %zu targets, its encoding %zu",
                                   m->t, encoding_targets(enc))
                         : prediction_alloc(p, e->n, m->t, m->L != NULL, err);

    if (rc == ST_OK)
        rc = model_predict(m, &e->base, p->mean_scaled, p->var_scaled,
                           &(struct tools){job->backend, job->pool, &job->ctl}, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < e->n; i++)
        p->row[i] = e->row[i];
    for (size_t j = 0; j < m->t; j++)
        unscale_target(m, enc, e, j, p);
    return ST_OK;
}

static enum status predict_part(struct scoring *s, struct job *job, enum part part, size_t sample,
                                struct prediction *p, struct err *err)
{
    size_t *rows = NULL, n = 0;
    struct encoded e = { 0 };
    enum status rc = dataset_rows(s->data, part, &rows, &n, err);

    if (rc == ST_OK && n == 0) {
        static const char *const words[] = { "training", "validation", "test" };
        rc = err_named(err, ST_STATE, "no-rows", "dataset %s has no %s rows to score on",
                       s->data->name, words[part]);
        err_hint(err, "split test=20%% and fit again, or score on=train");
    }
    if (rc == ST_OK && sample && n > sample) { /* an even, fixed sample: same rows every time */
        for (size_t i = 0; i < sample; i++)
            rows[i] = rows[(size_t)((double)i * (double)n / (double)sample)];
        n = sample;
    }
    if (rc == ST_OK)
        rc = encode(&s->enc, s->data->table, rows, n, true, &e, err);
    if (rc == ST_OK)
        rc = predict_rows(s->model, &s->enc, &e, job, p, err);
    p->part = part;
    if (!sample) { /* a sample of training rows only feeds pictures */
        s->missing_cells = e.missing_cells;
        s->unseen_levels = e.unseen_levels;
        s->dropped = e.dropped;
        s->cut = e.cut;
    }
    encoded_free(&e);
    free(rows);
    return rc;
}

/* Metrics. */

/* CRPS of a log-normal forecast (Baran & Lerch 2015, eq. for the log-normal). */
static double crps_lognormal(double y, double mu, double sd)
{
    const double w = (log(y) - mu) / sd;

    return y * (2 * metrics_normal_cdf(w) - 1)
           - 2 * exp(mu + 0.5 * sd * sd)
                 * (metrics_normal_cdf(w - sd) + metrics_normal_cdf(sd / sqrt(2.0)) - 1);
}

/* Under `scale y=log` the model is Gaussian in log y: densities get the Jacobian, point errors and
 * CRPS are computed in y itself, coverage is the same in both. */
static void metrics_log_target(const struct encoding *enc, const struct prediction *p,
                               const struct metrics *model, struct metrics *raw)
{
    double jac = 0, crps = 0;
    const double n = (double)p->n;

    for (size_t i = 0; i < p->n; i++)
        jac += log(p->y[i]) / n;
    raw->nlpd = model->nlpd + log(enc->ysd) + jac;
    raw->nlpd_constant = model->nlpd_constant + log(enc->ysd) + jac;
    if (p->var_scaled) {
        for (size_t i = 0; i < p->n; i++)
            crps += crps_lognormal(p->y[i], enc->ymean + enc->ysd * p->mean_scaled[i],
                                   enc->ysd * sqrt(p->var_scaled[i])) / n;
        raw->crps = crps;
    }
}

static double raw_y_sd(const struct encoding *enc)
{
    if (enc->yscale != Y_LOG)
        return enc->ysd > 0 ? enc->ysd : 1.0;
    /* sd of a log-normal with the training moments of log y */
    const double v = enc->ysd * enc->ysd;
    return exp(enc->ymean + 0.5 * v) * sqrt(expm1(v));
}

enum status scoring_metrics(const struct encoding *enc, const struct prediction *p,
                            struct metrics *scaled, struct metrics *raw, struct err *err)
{
    struct metrics model;
    const double sd = raw_y_sd(enc);
    enum status rc = metrics_compute(p->n, p->y_scaled, p->mean_scaled, p->var_scaled, &model, err);

    if (rc == ST_OK) /* point scores in the target's own units */
        rc = metrics_compute(p->n, p->y, p->mean, NULL, raw, err);
    if (rc != ST_OK)
        return rc;
    raw->coverage50 = model.coverage50;
    raw->coverage90 = model.coverage90;
    raw->coverage95 = model.coverage95;
    raw->mean_z2 = model.mean_z2;
    raw->ence = model.ence;
    if (enc->yscale == Y_LOG) {
        metrics_log_target(enc, p, &model, raw);
    } else {
        raw->nlpd = model.nlpd + log(sd);
        raw->nlpd_constant = model.nlpd_constant + log(sd);
        raw->crps = model.crps * sd;
    }
    *scaled = *raw; /* "scaled" is always: divided by the training sd of the target */
    scaled->rmse = raw->rmse / sd;
    scaled->mae = raw->mae / sd;
    scaled->crps = raw->crps / sd;
    scaled->nlpd = raw->nlpd - log(sd);
    scaled->nlpd_constant = raw->nlpd_constant - log(sd);
    return ST_OK;
}

/* Of every target. */
static enum status all_metrics(const struct encoding *enc, const struct prediction *p,
                               struct metrics *scaled, struct metrics *raw, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < p->t; j++) {
        const struct encoding e = encoding_for(enc, j);
        const struct prediction one = prediction_for(p, j);
        rc = scoring_metrics(&e, &one, &scaled[j], &raw[j], err);
    }
    return rc;
}

/* Files. */

static void csv_cell(struct buf *b, const struct column *c, size_t row)
{
    if (c->type == COL_REAL) {
        if (isfinite(column_at(c, row)))
            buf_json_double(b, column_at(c, row));
    } else if (column_word(c, row)) {
        text_csv(b, column_word(c, row));
    }
}

/* Columns with role id, by name in the training data, present in this table. */
static bool is_id(const struct dataset *d, const struct table *t, size_t col)
{
    if (!d) /* a resumed run whose data is not loaded: no roles are known */
        return false;
    const size_t j = table_find(d->table, t->col[col].name);
    return j != SIZE_MAX && d->role[j] == ROLE_ID;
}

static void csv_named(struct buf *b, const char *what, const char *target)
{
    struct buf name = { 0 };

    buf_printf(&name, "%s_%s", what, target);
    buf_putc(b, ',');
    text_csv(b, buf_str(&name));
    buf_free(&name);
}

static void csv_head(struct buf *b, const struct dataset *d, const struct table *t,
                     const struct encoding *enc, bool sd)
{
    buf_puts(b, "row");
    for (size_t c = 0; c < t->ncols; c++)
        if (is_id(d, t, c)) {
            buf_putc(b, ',');
            text_csv(b, t->col[c].name);
        }
    const size_t targets = encoding_targets(enc);
    for (size_t j = 0; targets > 1 && j < targets; j++) {
        const char *name = encoding_for(enc, j).target;
        csv_named(b, "mean", name);
        if (sd) {
            csv_named(b, "sd_latent", name);
            csv_named(b, "sd", name);
        }
    }
    buf_puts(b, targets > 1 ? "\n" : sd ? ",mean,sd_latent,sd\n" : ",mean\n");
}

static void csv_row(struct buf *b, const struct dataset *d, const struct table *t,
                    const struct prediction *p, size_t i)
{
    buf_printf(b, "%zu", p->row[i] + 1);
    for (size_t c = 0; c < t->ncols; c++)
        if (is_id(d, t, c)) {
            buf_putc(b, ',');
            csv_cell(b, &t->col[c], p->row[i]);
        }
    for (size_t j = 0, at = i; j < p->t; j++, at += p->n) {
        buf_putc(b, ',');
        buf_json_double(b, p->mean[at]);
        if (p->sd) {
            buf_putc(b, ',');
            buf_json_double(b, p->sd_latent[at]);
            buf_putc(b, ',');
            buf_json_double(b, p->sd[at]);
        }
    }
    buf_putc(b, '\n');
}

/* A full disk or a crash leaves the old file as it was. */
static enum status write_csv(const char *path, const struct dataset *d, const struct table *t,
                             const struct encoding *enc, const struct prediction *p,
                             struct err *err)
{
    struct outfile f;
    struct buf b = { 0 };
    enum status rc = outfile_open(&f, path, 0666, err);

    if (rc != ST_OK) {
        err_hint(err, "predict ... out=FILE.csv in a directory that you may write to");
        return rc;
    }
    csv_head(&b, d, t, enc, p->sd != NULL);
    for (size_t i = 0; i < p->n && rc == ST_OK; i++) {
        csv_row(&b, d, t, p, i);
        if (b.failed)
            rc = err_nomem(err, b.len, "predictions");
        else if (b.len > 1 << 20 || i + 1 == p->n)
            rc = outfile_write(&f, b.s, b.len, err), buf_clear(&b);
    }
    if (rc == ST_OK && b.len)
        rc = outfile_write(&f, b.s, b.len, err);
    if (rc == ST_OK)
        rc = outfile_commit(&f, err);
    else
        outfile_abort(&f);
    buf_free(&b);
    return rc;
}

/* On the worker. */

static enum status need_factor(struct scoring *s, struct job *job, struct err *err)
{
    struct encoded e = { 0 };
    enum status rc;

    /* After a resume the variance factor of old runs is not kept: rebuilt from the data. */
    if (s->model->L || s->fit.variance == VAR_NONE)
        return ST_OK;
    if (!s->data) {
        err_named(err, ST_STATE, "no-data",
                  "the variance of this run must be rebuilt, and its data is not loaded");
        err_hint(err, "open the data file again, then fit");
        return ST_STATE;
    }
    rc = fitting_rows(s->data, PART_TRAIN, false, &s->enc, &e, NULL, err);
    if (rc == ST_OK)
        rc = model_variance(s->model, &e.base, s->model->Mv,
                            &(struct tools){job->backend, job->pool, &job->ctl}, NULL, err);
    encoded_free(&e);
    return rc;
}

static enum status score_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    const double t0 = job_now();
    enum status rc = need_factor(s, job, err);

    if (rc == ST_OK)
        rc = predict_part(s, job, s->part, 0, &s->pred, err);
    if (rc == ST_OK && s->part != PART_TRAIN) {
        struct err ignored; /* the sample only feeds pictures */
        if (predict_part(s, job, PART_TRAIN, TRAIN_SAMPLE, &s->train, &ignored) != ST_OK)
            run_prediction_free(&s->train);
    }
    if (rc == ST_OK)
        rc = all_metrics(&s->enc, &s->pred, s->scaled, s->raw, err);
    s->have_metrics = rc == ST_OK;
    s->seconds = job_now() - t0;
    return rc;
}

static enum status check_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    enum status rc = score_work(job, err);

    if (rc == ST_OK && s->data && s->part != PART_TRAIN)
        rc = letter_distance_compare(s->data, s->pred.row, s->pred.n, &s->letters, err);
    return rc;
}

static enum status one_fold(struct scoring *s, struct job *job, size_t fold, struct err *err)
{
    size_t *in = NULL, *out = NULL, nin = 0, nout = 0;
    struct encoding enc = { 0 };
    struct encoded etrain = { 0 }, etest = { 0 };
    struct model *m = NULL;
    struct fit_info info;
    struct solve_info solve = { 0 };
    struct prediction p = { 0 };
    struct metrics scaled[TARGETS_MOST];
    struct fit_opts o = s->fit; /* letters that occur may be others in each fold */
    kernel_unbind(&o.kernel);
    enum status rc = dataset_fold_rows(s->data, fold, false, &in, &nin, err);

    if (rc == ST_OK)
        rc = dataset_fold_rows(s->data, fold, true, &out, &nout, err);
    if (rc == ST_OK)
        rc = encoding_fit(s->data, in, nin, &enc, NULL, err);
    if (rc == ST_OK)
        rc = encoding_bind(&enc, &o.kernel, err);
    if (rc == ST_OK)
        rc = encode(&enc, s->data->table, in, nin, true, &etrain, err);
    if (rc == ST_OK)
        rc = model_fit(&etrain.base, etrain.y, &o,
                       &(struct tools){job->backend, job->pool, &job->ctl}, &m, &info, &solve, err);
    if (rc == ST_OK && ctl_stopped(&job->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped at fold %zu", fold + 1);
    if (rc == ST_OK)
        rc = encode(&enc, s->data->table, out, nout, true, &etest, err);
    if (rc == ST_OK)
        rc = predict_rows(m, &enc, &etest, job, &p, err);
    if (rc == ST_OK)
        rc = all_metrics(&enc, &p, scaled, s->fold + fold * p.t, err);
    run_prediction_free(&p);
    solve_info_free(&solve);
    model_unref(m);
    encoded_free(&etrain);
    encoded_free(&etest);
    encoding_free(&enc);
    free(in);
    free(out);
    return rc;
}

static enum status folds_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    const double t0 = job_now();
    enum status rc = ST_OK;

    s->nfolds = s->data->split.nfolds;
    s->fold =
        mem_calloc(s->nfolds * encoding_targets(&s->enc), sizeof *s->fold, "fold scores", err);
    if (!s->fold)
        return ST_NOMEM;
    for (size_t f = 0; f < s->nfolds && rc == ST_OK; f++) {
        ctl_tell(&job->ctl, PHASE_FOLDS, f, s->nfolds, NAN);
        rc = one_fold(s, job, f, err);
    }
    s->seconds = job_now() - t0;
    return rc;
}

static enum status predict_table(struct scoring *s, struct job *job, const struct table *t,
                                 struct err *err)
{
    struct encoded e = { 0 };
    enum status rc = encode(&s->enc, t, NULL, t->n, false, &e, err);

    if (rc == ST_OK)
        rc = predict_rows(s->model, &s->enc, &e, job, &s->pred, err);
    s->missing_cells = e.missing_cells;
    s->unseen_levels = e.unseen_levels;
    s->dropped = e.dropped;
    s->cut = e.cut;
    s->strange = e.strange;
    s->strange_first = e.strange_first;
    s->strange_place = e.strange_place;
    encoded_free(&e);
    return rc;
}

static enum status predict_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    struct table *t = NULL;
    const double t0 = job_now();
    enum status rc = need_factor(s, job, err);

    if (rc == ST_OK && s->path)
        rc = import_file(s->path, &s->import, &job->ctl, &t, err);
    if (rc == ST_OK)
        rc = s->path ? predict_table(s, job, t, err)
                     : predict_part(s, job, PART_TEST, 0, &s->pred, err);
    const struct table *src = s->path ? t : s->data ? s->data->table : NULL;
    if (rc == ST_OK && s->out) {
        rc = write_csv(s->out, s->data, src, &s->enc, &s->pred, err);
    } else if (rc == ST_OK) {
        csv_head(&s->text, s->data, src, &s->enc, s->pred.sd != NULL);
        for (size_t i = 0; i < s->pred.n && i < SHOWN_ROWS; i++)
            csv_row(&s->text, s->data, src, &s->pred, i);
    }
    s->written = s->pred.n;
    table_unref(t);
    s->seconds = job_now() - t0;
    return rc;
}

/* On the main thread. */

static void move_prediction(struct prediction *dst, bool *has, struct prediction *src)
{
    if (!src->n)
        return;
    if (*has)
        run_prediction_free(dst);
    *dst = *src;
    *has = true;
    memset(src, 0, sizeof *src);
}

/* Failure and cancel of jobs that make no run. */
static bool ended_early(struct workspace *ws, struct job *job, enum status rc,
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

static void tell_counts(struct workspace *ws, const struct scoring *s)
{
    if (s->missing_cells && s->enc.missing != MISSING_DROP)
        ws_note(ws, "missing", "%zu missing cell%s filled as the missing policy says",
                s->missing_cells, s->missing_cells == 1 ? " was" : "s were");
    if (s->unseen_levels)
        ws_warn(ws, "unseen",
                "%zu cell%s a category never seen in training, encoded as none of the known ones",
                s->unseen_levels, s->unseen_levels == 1 ? " holds" : "s hold");
    if (s->strange)
        ws_warn(ws, "letters", "%zu row%s hold%s letters %s, first row %zu: they count as %s",
                s->strange, s->strange == 1 ? "" : "s", s->strange == 1 ? "s" : "",
                s->strange_place ? "that no training row has at their positions"
                                 : "outside the training alphabet",
                s->strange_first + 1,
                !s->strange_place && !s->enc.seq.value && !s->enc.seq.kmer &&
                        s->enc.seq.layer.channels > strlen(s->enc.seq.order)
                    ? "one letter more"
                    : "none");
    if (s->cut)
        ws_warn(ws, "extreme",
                "%zu value%s far outside what training has seen (more than ten times "
                "its largest, standardised) %s cut to that limit",
                s->cut, s->cut == 1 ? "" : "s", s->cut == 1 ? "was" : "were");
    if (s->dropped)
        ws_note(ws, "dropped", "%zu row%s left out as the missing policy says", s->dropped,
                s->dropped == 1 ? " was" : "s were");
}

static const char *part_name(enum part p)
{
    return p == PART_TRAIN ? "train" : p == PART_VALID ? "valid" : "test";
}

/* Of one target numbers, of several arrays in their order. */
static void score_json(struct rec *rec, size_t t, const struct metrics *raw,
                       const struct metrics *scaled)
{
    const struct measure *m;
    double v[TARGETS_MOST];

    for (size_t k = 0; (m = measure_at(k)) != NULL; k++) {
        if (m->group != MEASURE_SCORES)
            continue;
        for (size_t j = 0; j < t; j++)
            v[j] = measure_score(m, m->of == MEASURE_OF_SCALED ? &scaled[j] : &raw[j]);
        if (t > 1)
            rec_nums(rec, m->name, v, t);
        else
            rec_num(rec, m->name, v[0]);
    }
}

static void number_cell(struct text_table *g, double v)
{
    char text[32] = "-";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    text_table_cell(g, text, 0);
}

/* A row for each target. */
static void score_table(struct rec *rec, const struct encoding *enc, const struct metrics *raw,
                        const struct metrics *scaled)
{
    static const char *const head[] = { "  target", "RMSE", "/sd", "R2", "NLPD", "scaled", "50 %",
                                        "90 %", "95 %" };
    enum { COLS = sizeof head / sizeof *head };
    static const bool right[COLS] = { false, true, true, true, true, true, true, true, true };
    struct text_table g;

    text_table_init(&g, COLS);
    for (size_t c = 0; c < COLS; c++)
        text_table_cell(&g, head[c], 0);
    for (size_t j = 0; j < encoding_targets(enc); j++) {
        const struct metrics *r = &raw[j], *s = &scaled[j];
        struct buf name = { 0 };
        buf_puts(&name, "  ");
        buf_puts(&name, encoding_for(enc, j).target);
        text_table_cell(&g, buf_str(&name), 26);
        buf_free(&name);
        const double v[COLS - 1] = { r->rmse, s->rmse, r->r2, r->nlpd, s->nlpd,
                                     100 * r->coverage50, 100 * r->coverage90,
                                     100 * r->coverage95 };
        for (size_t c = 0; c < COLS - 1; c++)
            number_cell(&g, v[c]);
    }
    text_table_print(&g, right, &rec->text);
    text_table_free(&g);
    rec_text(rec, "  /sd, scaled: by the training sd; 50, 90, 95 %%: share of rows inside");
}

static void score_text(struct rec *rec, const struct metrics *raw, const struct metrics *sc)
{
    char a[32], b[32];

    text_number(a, sizeof a, raw->rmse);
    text_number(b, sizeof b, raw->mae);
    rec_text(rec, "  RMSE %s (%.4f of the training sd)   MAE %s (%.4f)   R2 %.4f   Spearman %.4f",
             a, sc->rmse, b, sc->mae, raw->r2, raw->spearman);
    if (isnan(raw->nlpd))
        return;
    text_number(a, sizeof a, raw->nlpd);
    text_number(b, sizeof b, raw->crps);
    rec_text(rec, "\n  NLPD %s (scaled %.4f; with one constant variance %.4f)   CRPS %s\n", a,
             sc->nlpd, sc->nlpd_constant, b);
    rec_text(rec, "  share of targets inside the 50 / 90 / 95 %% interval: %.1f / %.1f / %.1f %%",
             100 * raw->coverage50, 100 * raw->coverage90, 100 * raw->coverage95);
}

/* Into the run: the first target's in their own place. */
static void keep_scores(struct run *r, const struct scoring *s)
{
    const size_t t = s->pred.t;
    struct metrics (*more)[2] = t > 1 ? mem_calloc(t - 1, sizeof *more, "scores", NULL) : NULL;

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
}

/* The number of the encoding that row has furthest from the mean of training; NULL: none far. */
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

/* One row can be most of a squared error: nothing else is then to be read from the RMSE. */
static void tell_dominated(struct workspace *ws, const struct scoring *s)
{
    const struct prediction p = prediction_for(&s->pred, 0);
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
    if (p.n < 50 || !(most > 0.5 * sum))
        return;
    const struct enc_col *c = s->data ? strangest(s, p.row[worst], &cell, &z) : NULL;
    if (c) {
        buf_puts(&why, ": its ");
        text_safe(&why, c->column, 40);
        buf_printf(&why,
                   ", %.6g, lies %.1f sd from the mean of training, far outside what the model has "
                   "seen",
                   cell, z);
    }
    snprintf(look, sizeof look, "show %zu..%zu, and read MAE and NLPD", p.row[worst] + 1,
             p.row[worst] + 1);
    ws_tell(ws, REC_WARNING, s->run, "dominated", look,
            "row %zu makes %.0f %% of the squared error (without it the RMSE is %.4g)%s",
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

    if (ended_early(ws, job, rc, err))
        return;
    tell_counts(ws, s);
    rec_init(&rec, REC_RESULT, "score");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "on", part_name(s->part));
    rec_int(&rec, "rows", (int64_t)s->pred.n);
    fitting_targets_json(&rec, &s->enc);
    score_json(&rec, s->pred.t, s->raw, s->scaled);
    rec_num(&rec, "seconds", s->seconds);
    text_count(cnt, sizeof cnt, s->pred.n);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(&rec, "%s on %s %s rows (%s)\n", s->run, cnt, part_name(s->part), sec);
    if (s->pred.t > 1)
        score_table(&rec, &s->enc, s->raw, s->scaled);
    else
        score_text(&rec, s->raw, s->scaled);
    ws_emit(ws, &rec);
    tell_dominated(ws, s);
    r = ws_run(ws, s->run, NULL);
    if (r) {
        keep_scores(r, s);
        if (s->part == PART_TRAIN)
            move_prediction(&r->train_pred, &r->has_train, &s->pred);
        else
            move_prediction(&r->test_pred, &r->has_test, &s->pred);
        move_prediction(&r->train_pred, &r->has_train, &s->train);
        if (store_of(ws))
            store_run(store_of(ws), r);
    }
    ws->serial++;
}

enum { FOLDS_SHOWN = 1024 };

/* A score of target j: its mean over the folds and that mean's standard error; each fold's into v.
 */
static double fold_mean(const struct scoring *s, const struct measure *m, size_t j, double *v,
                        size_t n, double *error)
{
    const size_t t = encoding_targets(&s->enc);
    double mean = 0, var = 0;

    for (size_t f = 0; f < n; f++) {
        v[f] = measure_score(m, &s->fold[f * t + j]);
        mean += v[f] / (double)n;
    }
    for (size_t f = 0; f < n; f++)
        var += (v[f] - mean) * (v[f] - mean) / (double)(n > 1 ? n - 1 : 1);
    *error = sqrt(var / (double)n);
    return mean;
}

enum { MEASURES_FOLDS = 16 };

/* The figures that `score folds` tells. */
static size_t fold_measures(const struct measure *out[MEASURES_FOLDS])
{
    const struct measure *m;
    size_t n = 0;

    for (size_t i = 0; (m = measure_at(i)) != NULL && n < MEASURES_FOLDS; i++)
        if (m->folds)
            out[n++] = m;
    return n;
}

static void folds_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    const struct measure *key_of[MEASURES_FOLDS];
    const size_t keys = fold_measures(key_of);
    struct scoring *s = job->arg;
    const size_t t = encoding_targets(&s->enc),
                 n = s->nfolds < FOLDS_SHOWN ? s->nfolds : FOLDS_SHOWN;
    double v[FOLDS_SHOWN], mean[TARGETS_MOST], error;
    struct rec rec;
    char sec[32], key[48];

    if (ended_early(ws, job, rc, err))
        return;
    rec_init(&rec, REC_RESULT, "score");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "on", "folds");
    rec_int(&rec, "folds", (int64_t)s->nfolds);
    fitting_targets_json(&rec, &s->enc);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(&rec, "%s refitted on %zu folds (%s)", s->run, s->nfolds, sec);
    for (size_t k = 0; k < keys; k++) {
        snprintf(key, sizeof key, "%s_folds", key_of[k]->name);
        for (size_t j = 0; j < t; j++)
            mean[j] = fold_mean(s, key_of[k], j, v, n, &error);
        if (t == 1) {
            rec_num(&rec, key_of[k]->name, mean[0]);
            rec_nums(&rec, key, v, n);
            continue;
        }
        rec_nums(&rec, key_of[k]->name, mean, t);
        rec_open(&rec, key); /* by target */
        for (size_t j = 0; j < t; j++) {
            fold_mean(s, key_of[k], j, v, n, &error);
            rec_nums(&rec, encoding_for(&s->enc, j).target, v, n);
        }
        rec_close(&rec);
    }
    for (size_t j = 0; j < t; j++) {
        rec_text(&rec, "\n  ");
        if (t > 1) {
            rec_safe(&rec, encoding_for(&s->enc, j).target);
            rec_text(&rec, ":  ");
        }
        for (size_t k = 0; k < keys; k++) {
            const double m = fold_mean(s, key_of[k], j, v, n, &error);
            rec_text(&rec, "%s %.4g +- %.2g   ", key_of[k]->name, m, error);
        }
    }
    rec_text(&rec, "(mean and its standard error)");
    rec_num(&rec, "seconds", s->seconds);
    ws_emit(ws, &rec);
    ws->serial++;
}

/* Check: one sentence each. */

struct finding { const char *name; bool ok; char text[320]; };

/* Kolmogorov-Smirnov distance of the sd of these rows and of training rows (methods.md K; xGPR's
 * Figure 2b), each training row seen as one that was left out: its own target narrows its sd, with
 * few rows so much that any new row would look strange.  Weighted rows are taken as they are, as
 * what their own target did is not known here.  NaN where most training rows are passed through:
 * what is left of their variance is rounding.  *larger: the root mean variance of these rows
 * against that of the training rows. */
static double sd_distance(const struct scoring *s, const struct run *r,
                          const struct prediction *train, const struct prediction *p,
                          double *larger)
{
    const double noise2 = r ? r->info.noise * r->info.noise : 0.0;
    double *a = malloc(train->n * sizeof *a), ks = NAN;
    size_t passed = 0;
    double own = 0.0, these = 0.0;
    struct err ignored;

    for (size_t i = 0; a && i < train->n; i++) {
        passed += train->var_scaled[i] > (2.0 - 1e-3) * noise2;
        a[i] = s->enc.weight ? train->var_scaled[i]
                             : metrics_left_out_variance(train->var_scaled[i], noise2);
        own += a[i] / (double)train->n;
    }
    for (size_t i = 0; i < p->n; i++)
        these += p->var_scaled[i] / (double)p->n;
    *larger = sqrt(these / own);
    if (!a || 2 * passed > train->n ||
        metrics_ks(train->n, a, p->n, p->var_scaled, &ks, &ignored) != ST_OK)
        ks = NAN;
    free(a);
    return ks;
}

static double rank_correlation(const struct prediction *p)
{
    struct metrics m;
    double *e = malloc(p->n * sizeof *e), r = NAN;

    if (e) {
        for (size_t i = 0; i < p->n; i++)
            e[i] = fabs(p->y[i] - p->mean[i]);
        if (metrics_compute(p->n, e, p->sd, NULL, &m, NULL) == ST_OK)
            r = m.spearman;
    }
    free(e);
    return r;
}

/* Of sequences: how many letters lie between these rows and the training rows. */
static struct finding letters_finding(const struct variants_look *l)
{
    struct finding f = { "changes", letter_distance_same(l), "" };
    size_t at = 0;

    if (l->related)
        at = (size_t)snprintf(f.text, sizeof f.text,
                              "%zu letters differ from the training consensus at the median "
                              "(most %zu), in training rows %zu (most %zu); ",
                              l->median, l->most, l->train_median, l->train_most);
    at += (size_t)snprintf(f.text + at, sizeof f.text - at,
                           "nearest training row %zu letter%s away (of training rows: "
                           "%zu): ",
                           l->nearest, l->nearest == 1 ? "" : "s", l->train_nearest);
    if (l->related && l->beyond > 0.1)
        snprintf(f.text + at, sizeof f.text - at,
                 "%.0f %% have more changes than 99 %% of the training rows: an "
                 "extrapolation",
                 100 * l->beyond);
    else
        snprintf(f.text + at, sizeof f.text - at,
                 f.ok ? "the same kind of rows" : "further from the training data");
    return f;
}

const char *score_coverage_words(size_t n, double half, double most)
{
    const double least = 2 / sqrt((double)(n ? n : 1));
    const double off_half = fmax(0.06, 0.5 * least), off_most = fmax(0.03, 0.218 * least);
    const bool wide = half > 0.5 + off_half, narrow = half < 0.5 - off_half;

    if (most < 0.95 - off_most)
        return narrow ? "overconfident"
             : wide   ? "too cautious for most rows, overconfident about the worst"
                      : "overconfident about the worst rows (heavy tails)";
    if (most > 0.95 + off_most)
        return narrow ? "overconfident near the mean" : "too cautious";
    return wide   ? "honest at 95 %, too cautious for most rows"
         : narrow ? "honest at 95 %, overconfident near the mean"
                  : "honest";
}

static size_t check_findings(const struct scoring *s, const struct run *r, struct finding *f)
{
    const struct metrics *m = &s->raw[s->target];
    const struct prediction one = prediction_for(&s->pred, s->target), *p = &one;
    const struct prediction train = prediction_for(&s->train, s->target);
    size_t n = 0, out = 0, worst = 0;
    double zmax = 0;

    const char *honest = score_coverage_words(p->n, m->coverage50, m->coverage95);
    f[n] = (struct finding){ "calibration", !strncmp(honest, "honest", 6), "" };
    snprintf(f[n].text, sizeof f[n].text,
             "%.1f %% of the targets lie inside the 95 %% interval, %.1f %% inside the 50 %% "
             "one: %s",
             100 * m->coverage95, 100 * m->coverage50, honest),
        n++;
    f[n] = (struct finding){ "spread", m->mean_z2 > 0.7 && m->mean_z2 < 1.4, "" };
    snprintf(f[n].text, sizeof f[n].text,
             "squared errors are %.2f x the predicted variance on average (1 is right)",
             m->mean_z2),
        n++;
    for (size_t i = 0; i < p->n; i++) {
        const double z = fabs(p->y_scaled[i] - p->mean_scaled[i]) / sqrt(p->var_scaled[i]);
        out += z > 4;
        if (z > zmax)
            zmax = z, worst = i;
    }
    f[n] = (struct finding){ "outliers", (double)out <= 1 + 1e-3 * (double)p->n, "" };
    snprintf(
        f[n].text, sizeof f[n].text,
        "%zu of %zu errors exceed 4 sd (a normal error would give %.1f); the largest, %.1f sd, is "
        "row %zu",
        out, p->n, 6.3e-5 * (double)p->n, zmax, p->row[worst] + 1),
        n++;
    const double rho = rank_correlation(p);
    f[n] = (struct finding){ "sd-error", isfinite(rho) && rho > 0.05, "" };
    snprintf(f[n].text, sizeof f[n].text,
             "rank correlation of sd and absolute error %.2f, ENCE %.3f: the sd %s", rho, m->ence,
             f[n].ok ? "tells where errors are larger" : "says little about where errors are"), n++;
    if (s->train.n && s->train.sd) {
        double larger;
        const double ks = sd_distance(s, r, &train, p, &larger);
        f[n] = (struct finding){ "shift", !(ks >= 0.2), "" };
        if (isnan(ks))
            snprintf(f[n].text, sizeof f[n].text,
                     "not judged: with so little noise (%.2g) the model "
                     "passes through its training rows",
                     r ? r->info.noise : NAN);
        else
            snprintf(f[n].text, sizeof f[n].text,
                     "sd of these rows against sd of left-out training rows: %.2f x on average, KS "
                     "distance %.2f: %s",
                     larger, ks,
                     f[n].ok ? "the same kind of rows"
                             : "these rows lie further from the training data");
        n++;
    }
    if (s->letters.have)
        f[n++] = letters_finding(&s->letters);
    if (r && r->model && r->model->kind->draws &&
        isfinite(r->info.effective_dimension)) {
        const double share =
            r->info.effective_dimension / (double)(r->model->Mv ? r->model->Mv : 1);
        const bool covered = m->coverage95 >= 0.92;
        f[n] = (struct finding){ "starvation", share < 0.5 || covered, "" };
        snprintf(f[n].text, sizeof f[n].text,
                 "effective dimension %.0f of %zu variance features (%.0f %%): %s",
                 r->info.effective_dimension, r->model->Mv, 100 * share,
                 share < 0.5 ? "variances are not starved"
                 : covered   ? "near the limit, yet the coverage is right"
                             : "variances are too small; try more features, or variance=all"), n++;
    }
    return n;
}

static void check_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct scoring *s = job->arg;
    struct run *r = ws_run(ws, s->run, NULL);
    struct finding f[8];
    struct rec rec;

    if (rc == ST_OK && !s->pred.sd) {
        struct err e;
        rc = err_named(&e, ST_STATE, "no-variance", "%s has no predictive variance to check",
                       s->run);
        err_hint(&e, "fit variance=auto");
        ended_early(ws, job, rc, &e);
        return;
    }
    if (ended_early(ws, job, rc, err))
        return;
    tell_counts(ws, s);
    const size_t n = check_findings(s, r, f);
    rec_init(&rec, REC_RESULT, "check");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "on", part_name(s->part));
    rec_int(&rec, "rows", (int64_t)s->pred.n);
    if (s->pred.t > 1)
        rec_str(&rec, "target", encoding_for(&s->enc, s->target).target);
    score_json(&rec, 1, &s->raw[s->target], &s->scaled[s->target]);
    rec_num(&rec, "mean_z2", s->raw[s->target].mean_z2);
    rec_num(&rec, "ence", s->raw[s->target].ence);
    rec_text(&rec, "%s checked on %zu %s rows", s->run, s->pred.n, part_name(s->part));
    if (s->pred.t > 1) {
        rec_text(&rec, ": target ");
        rec_safe(&rec, encoding_for(&s->enc, s->target).target);
    }
    rec_open(&rec, "findings");
    for (size_t i = 0; i < n; i++) {
        rec_open(&rec, f[i].name);
        rec_bool(&rec, "ok", f[i].ok);
        rec_str(&rec, "text", f[i].text);
        rec_close(&rec);
        char first[32];
        snprintf(first, sizeof first, "  %s %-12s ", f[i].ok ? "ok" : "! ", f[i].name);
        rec_text(&rec, "\n");
        text_wrap(&rec.text, f[i].text, 78, first, "                  ");
    }
    rec_close(&rec);
    rec_num(&rec, "seconds", s->seconds);
    if (r) {
        move_prediction(&r->test_pred, &r->has_test, &s->pred);
        move_prediction(&r->train_pred, &r->has_train, &s->train);
    }
    ws_emit(ws, &rec);
    ws->serial++;
}

static void predict_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    struct scoring *s = job->arg;
    struct rec rec;
    char sec[32], cnt[32];

    if (ended_early(ws, job, rc, err))
        return;
    tell_counts(ws, s);
    rec_init(&rec, REC_RESULT, "predict");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "out", s->out);
    rec_int(&rec, "rows", (int64_t)s->written);
    rec_int(&rec, "missing", (int64_t)s->missing_cells);
    rec_int(&rec, "unseen", (int64_t)s->unseen_levels);
    rec_int(&rec, "letters", (int64_t)s->strange);
    rec_int(&rec, "dropped", (int64_t)s->dropped);
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
        for (const char *q = buf_str(&s->text); *q;) { /* a line at a time: line ends are ours */
            const char *e = strchr(q, '\n');
            char line[512];
            snprintf(line, sizeof line, "%.*s", (int)(e ? e - q : (long)strlen(q)), q);
            rec_text(&rec, "  ");
            text_safe(&rec.text, line, 0);
            rec_text(&rec, e && e[1] ? "\n" : "");
            q = e ? e + 1 : q + strlen(q);
        }
        rec_text(&rec, "\n  all of them: predict ... out=FILE.csv");
    }
    ws_emit(ws, &rec);
    ws->serial++;
}

static const struct job_ops ops[] = {
    [DO_SCORE] = { .verb = "score", .work = score_work, .done = score_done, .free = scoring_free },
    [DO_FOLDS] = { .verb = "score", .work = folds_work, .done = folds_done, .free = scoring_free },
    [DO_CHECK] = { .verb = "check", .work = check_work, .done = check_done, .free = scoring_free },
    [DO_PREDICT] = { .verb = "predict", .work = predict_work, .done = predict_done,
                     .free = scoring_free },
};

/* Starting. */

static struct scoring *scoring_new(struct run *r, enum scoring_what what, struct err *err)
{
    struct scoring *s;

    if (!r->model) {
        err_set(err, ST_STATE, "%s has no fitted model", r->id);
        err_hint(err, r->kind == RUN_TUNE ? "fit" : "wait, or fit");
        return NULL;
    }
    s = mem_calloc(1, sizeof *s, "job", err);
    if (!s)
        return NULL;
    s->what = what;
    s->model = model_ref(r->model);
    s->data = r->data ? dataset_snapshot(r->data, err) : NULL;
    if (s->data)
        s->data->kernel = r->fit.kernel; /* folds are encoded anew */
    s->fit = r->fit;
    snprintf(s->run, sizeof s->run, "%s", r->id);
    if ((r->data && !s->data) || encoding_copy(&s->enc, &r->enc, err) != ST_OK) {
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

static enum status need_data(const struct run *r, struct err *err)
{
    if (r->data)
        return ST_OK;
    err_named(err, ST_STATE, "no-data", "the data of %s is not loaded", r->id);
    err_hint(err, "open its file again, then fit; or predict NEW.csv");
    return ST_STATE;
}

enum status scoring_score(struct workspace *ws, struct run *r, enum part part, const char *line,
                          struct err *err)
{
    struct scoring *s;

    if (need_data(r, err) != ST_OK)
        return ST_STATE;
    s = scoring_new(r, DO_SCORE, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->part = part;
    return launch(ws, s, line, err);
}

enum status scoring_folds(struct workspace *ws, struct run *r, const char *line, struct err *err)
{
    struct scoring *s;

    if (need_data(r, err) != ST_OK)
        return ST_STATE;
    if (!r->data->split.nfolds) {
        err_named(err, ST_STATE, "no-folds", "the split of %s has no folds", r->id);
        err_hint(err, "split folds=5, then fit, then score folds");
        return ST_STATE;
    }
    s = scoring_new(r, DO_FOLDS, err);
    return s ? launch(ws, s, line, err) : err ? err->code : ST_NOMEM;
}

enum status scoring_check(struct workspace *ws, struct run *r, size_t j, const char *line,
                          struct err *err)
{
    struct scoring *s;

    if (need_data(r, err) != ST_OK)
        return ST_STATE;
    s = scoring_new(r, DO_CHECK, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->target = j;
    s->part = r->data->split.part && r->data->split.count[PART_TEST] ? PART_TEST : PART_TRAIN;
    return launch(ws, s, line, err);
}

enum status scoring_predict(struct workspace *ws, struct run *r, const char *path, const char *out,
                            const struct import_opts *import, const char *line, struct err *err)
{
    struct scoring *s;

    if (!path && need_data(r, err) != ST_OK)
        return ST_STATE;
    s = scoring_new(r, DO_PREDICT, err);
    if (!s)
        return err ? err->code : ST_NOMEM;
    s->import = *import;
    s->path = path ? mem_strdup(path, err) : NULL;
    s->out = out ? mem_strdup(out, err) : NULL;
    s->sep_missing = import->missing ? mem_strdup(import->missing, err) : NULL;
    s->types = import->types ? mem_strdup(import->types, err) : NULL;
    s->import.missing = s->sep_missing;
    s->import.types = s->types;
    if ((path && !s->path) || (out && !s->out)) {
        struct job tmp = { .arg = s };
        scoring_free(&tmp);
        return ST_NOMEM;
    }
    return launch(ws, s, line, err);
}
