/* app/runs/scoring/scoring_folds.c -- score folds: on each fold of the split the model is fitted
 * again, and with tune=yes tuned again, on the rows outside of it (in a split by time: before it).
 * */
#include "app/runs/scoring/scoring_impl.h"

#include "app/core/measures.h"
#include "app/core/ws_tell.h"
#include "app/runs/fitting.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/features/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS_SHOWN = 1024, FOLD_EVALS = 50 };

/* Progress of folds that are tuned: the evaluations of all of them, so that the time left is that
 * of the whole. Ticks of any work in a fold come here and go on as that. */
struct fold_ctl {
    struct ctl outer;
    size_t fold, folds, evals, done; /* done: evaluations in this fold */
};

static void fold_tick(void *ctx, const struct tick *t)
{
    struct fold_ctl *c = ctx;

    if (phase_kind(t->phase) == PHASE_SEARCH && t->done > c->done)
        c->done = t->done < c->evals ? t->done : c->evals;
    ctl_tell(&c->outer, PHASE_FOLDS, c->fold * c->evals + c->done, c->folds * c->evals, NAN);
}

/* From the kernel's own start. */
enum status scoring_folds_tune(const struct scoring *s, struct job *job,
                               const struct encoded *train, struct fit_opts *o, struct err *err)
{
    struct tune_opts topt = s->topt;
    struct tune_result found = { 0 };

    topt.targets = train->t;
    topt.labels = o->labels;
    topt.mem_limit = job->limits.memory;
    enum status rc = tune_run(&o->kernel, &train->base, train->y, &topt,
                              &(struct tools){ job->backend, job->pool, &job->ctl }, &found, err);
    if (rc == ST_OK && ctl_stopped(&job->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK) {
        memcpy(o->hp, found.best.hp, sizeof o->hp);
        o->amplitude = found.best.amplitude;
        o->noise = found.best.noise;
        if (found.learned)
            kernel_learned_take(&o->kernel, &found.nets);
    }
    tune_result_free(&found);
    return rc;
}

/* The rows of a fold, those that it trains on, and what is made of them. */
struct fold {
    size_t *in, *out, nin, nout;
    struct encoding enc;
    struct encoded train, test;
    struct model *model;
    struct prediction pred;
};

static void fold_free(struct fold *f)
{
    run_prediction_free(&f->pred);
    model_unref(f->model);
    encode_free(&f->train);
    encode_free(&f->test);
    encoding_free(&f->enc);
    free(f->in);
    free(f->out);
}

static enum status fit_fold(struct scoring *s, struct job *job, size_t fold, struct fold *f,
                            struct err *err)
{
    struct fit_opts o = s->fit; /* the set of letters may differ between folds */
    struct fit_info info;
    struct solve_info solve = { 0 };
    kernel_unbind(&o.kernel);
    enum status rc = dataset_fold_rows(s->data, fold, false, &f->in, &f->nin, err);

    if (rc == ST_OK)
        rc = dataset_fold_rows(s->data, fold, true, &f->out, &f->nout, err);
    if (rc == ST_OK)
        rc = encoding_fit(s->data, f->in, f->nin, &f->enc, NULL, err);
    if (rc == ST_OK)
        rc = encoding_bind(&f->enc, &o.kernel, err);
    if (rc == ST_OK)
        rc = encode(&f->enc, s->data->table, f->in, f->nin, true, &f->train, err);
    if (rc == ST_OK)
        rc = tensor_norms(&o.kernel, &f->train.base, err);
    o.labels = encoding_labels(&f->enc);
    if (rc == ST_OK && s->how.tune)
        rc = scoring_folds_tune(s, job, &f->train, &o, err);
    if (rc == ST_OK)
        rc = model_fit(&f->train.base, f->train.y, &o,
                       &(struct tools){ job->backend, job->pool, &job->ctl }, &f->model, &info,
                       &solve, err);
    if (rc == ST_OK && ctl_stopped(&job->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped at fold %zu", fold + 1);
    solve_info_free(&solve);
    return rc;
}

static enum status one_fold(struct scoring *s, struct job *job, size_t fold, struct err *err)
{
    struct metrics scaled[TARGETS_MOST];
    struct fold f = { 0 };
    enum status rc = fit_fold(s, job, fold, &f, err);

    if (rc == ST_OK)
        rc = encode(&f.enc, s->data->table, f.out, f.nout, true, &f.test, err);
    if (rc == ST_OK)
        rc = scoring_rows(f.model, &f.enc, &f.test, job, &f.pred, err);
    if (rc == ST_OK)
        rc = scoring_all_metrics(&f.enc, &f.pred, scaled, s->fold + fold * f.pred.t, err);
    if (rc == ST_OK)
        rc = scoring_baselines(s, job, &(struct baseline_ask){ f.in, f.nin, &f.enc, &f.pred },
                               &s->fold_baseline[fold], err);
    fold_free(&f);
    return rc;
}

enum status scoring_folds_work(struct job *job, struct err *err)
{
    struct scoring *s = job->arg;
    const double t0 = job_now();
    struct fold_ctl c = { .outer = job->ctl, .folds = s->data->split.nfolds,
                          .evals = s->topt.steps       ? s->topt.steps
                                   : s->topt.max_evals ? s->topt.max_evals
                                                       : FOLD_EVALS };
    enum status rc = ST_OK;

    s->nfolds = s->data->split.nfolds;
    s->fold =
        mem_calloc(s->nfolds * encoding_targets(&s->enc), sizeof *s->fold, "fold scores", err);
    s->fold_baseline = mem_calloc(s->nfolds, sizeof *s->fold_baseline, "fold scores", err);
    if (!s->fold || !s->fold_baseline)
        return ST_NOMEM;
    if (s->how.tune)
        job->ctl = (struct ctl){ .cancel = c.outer.cancel, .tick = fold_tick, .ctx = &c };
    for (size_t f = 0; f < s->nfolds && rc == ST_OK; f++) {
        c.fold = f;
        c.done = 0;
        if (!s->how.tune)
            ctl_tell(&job->ctl, PHASE_FOLDS, f, s->nfolds, NAN);
        rc = one_fold(s, job, f, err);
    }
    job->ctl = c.outer;
    s->seconds = job_now() - t0;
    return rc;
}

/* The mean over the folds of a score of target j, and the standard error of that mean. v receives
 * the value of each fold. */
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

/* The figures that `score folds` reports: not those that nothing here has. */
static size_t fold_measures(const struct scoring *s, size_t nfolds,
                            const struct measure *out[MEASURES_FOLDS])
{
    const struct measure *m;
    size_t n = 0;

    for (size_t i = 0; (m = measure_at(i)) != NULL && n < MEASURES_FOLDS; i++) {
        bool there = m->folds && !m->omit;
        for (size_t k = 0; m->folds && !there && k < nfolds * encoding_targets(&s->enc); k++)
            there = !isnan(measure_score(m, &s->fold[k]));
        if (there)
            out[n++] = m;
    }
    return n;
}

static void folds_measures_json(struct rec *rec, const struct scoring *s,
                                const struct measure *const *key_of, size_t keys, size_t n)
{
    const size_t t = encoding_targets(&s->enc);
    double v[FOLDS_SHOWN], mean[TARGETS_MOST], error;
    char key[48];

    for (size_t k = 0; k < keys; k++) {
        snprintf(key, sizeof key, "%s_folds", key_of[k]->name);
        for (size_t j = 0; j < t; j++)
            mean[j] = fold_mean(s, key_of[k], j, v, n, &error);
        if (t == 1) {
            rec_num(rec, key_of[k]->name, mean[0]);
            rec_nums(rec, key, v, n);
            continue;
        }
        rec_nums(rec, key_of[k]->name, mean, t);
        rec_open(rec, key); /* one array per target */
        for (size_t j = 0; j < t; j++) {
            fold_mean(s, key_of[k], j, v, n, &error);
            rec_nums(rec, encoding_for(&s->enc, j).target, v, n);
        }
        rec_close(rec);
    }
}

/* The mean over the folds of the scores of the simple models. A model that one fold lacks is left
 * out. */
static void baseline_mean(const struct scoring *s, struct baseline *mean)
{
    const size_t t = encoding_targets(&s->enc);
    const double n = (double)s->nfolds;

    *mean = s->fold_baseline[0];
    mean->seconds = mean->lambda = 0.0;
    for (size_t k = 0; k < BASELINES; k++) {
        for (size_t j = 0; j < t; j++) {
            struct metrics *m[2] = { &mean->of[k].raw[j], &mean->of[k].scaled[j] };
            *m[0] = *m[1] = (struct metrics){ 0 };
            for (size_t f = 0; f < s->nfolds; f++) {
                const struct baseline *b = &s->fold_baseline[f];
                const struct metrics *of[2] = { &b->of[k].raw[j], &b->of[k].scaled[j] };
                for (size_t i = 0; i < 2; i++) {
                    m[i]->rmse += of[i]->rmse / n;
                    m[i]->r2 += of[i]->r2 / n;
                    m[i]->nlpd += of[i]->nlpd / n;
                    m[i]->coverage95 += of[i]->coverage95 / n;
                }
            }
        }
        for (size_t f = 0; f < s->nfolds; f++)
            if (!s->fold_baseline[f].of[k].have) {
                mean->of[k].have = false;
                memcpy(mean->why, s->fold_baseline[f].why, sizeof mean->why);
            }
    }
    for (size_t f = 0; f < s->nfolds; f++) {
        mean->seconds += s->fold_baseline[f].seconds;
        mean->lambda += s->fold_baseline[f].lambda / n;
    }
}

static void folds_text(struct rec *rec, const struct scoring *s,
                       const struct measure *const *key_of, size_t keys, size_t n)
{
    const size_t t = encoding_targets(&s->enc);
    const enum split_by by = s->data->split.by;
    double v[FOLDS_SHOWN], error;
    char sec[32];

    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(rec, "%s %s on %zu folds%s (%s)", s->run, s->how.tune ? "tuned and fitted again"
             : "refitted", s->nfolds,
             by == SPLIT_BY_GROUP  ? " of whole groups"
             : by == SPLIT_BY_TIME ? ", each predicted from the rows before it"
                                   : "", sec);
    for (size_t j = 0; j < t; j++) {
        rec_text(rec, "\n  ");
        if (t > 1) {
            rec_safe(rec, encoding_for(&s->enc, j).target);
            rec_text(rec, ":  ");
        }
        for (size_t k = 0; k < keys; k++) {
            const double m = fold_mean(s, key_of[k], j, v, n, &error);
            if (isfinite(m) || !s->enc.nclasses)
                rec_text(rec, "%s %.4g +- %.2g   ", key_of[k]->name, m, error);
        }
    }
    rec_text(rec, "(mean and its standard error)");
}

void scoring_folds_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    const struct measure *key_of[MEASURES_FOLDS];
    struct scoring *s = job->arg;
    const size_t t = encoding_targets(&s->enc),
                 n = s->nfolds < FOLDS_SHOWN ? s->nfolds : FOLDS_SHOWN;
    struct rec rec;

    if (scoring_ended_early(ws, job, rc, err))
        return;
    const size_t keys = fold_measures(s, n, key_of);
    baseline_mean(s, &s->baseline);
    rec_init(&rec, REC_RESULT, "score");
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "on", "folds");
    rec_int(&rec, "folds", (int64_t)s->nfolds);
    rec_str(&rec, "by", split_by_words[s->data->split.by]);
    rec_bool(&rec, "tuned", s->how.tune);
    scoring_baseline_json(&rec, t, &s->baseline);
    fitting_targets_json(&rec, &s->enc);
    folds_measures_json(&rec, s, key_of, keys, n);
    folds_text(&rec, s, key_of, keys, n);
    scoring_baseline_text(&rec, t, &s->baseline);
    rec_num(&rec, "seconds", s->seconds);
    ws_emit(ws, &rec);
    const struct run *r = ws_run(ws, s->run, NULL), *tuned = r ? ws_tuning_of(ws, r) : NULL;
    if (tuned && !s->how.tune)
        ws_tell(ws, REC_NOTE, s->run, "folds-not-tuned", "score folds tune=yes",
                "each fold was fitted again, but with the hyperparameters of %s, which had seen "
                "the rows of every fold: the scores are a little better than those of new rows",
                tuned->id);
    ws->serial++;
}
