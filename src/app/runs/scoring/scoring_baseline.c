/* app/runs/scoring/scoring_baseline.c -- simple models beside which a score is read: the training
 * mean with the training standard deviation, and ridge regression on the same inputs. */
#include "app/runs/scoring/scoring_impl.h"

#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/stats/baseline.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A prediction of the same rows, which borrows the observed values. */
static enum status prediction_like(const struct prediction *at, struct prediction *p,
                                   struct err *err)
{
    const size_t n = at->n * at->t;

    *p = (struct prediction){ .n = at->n, .t = at->t, .y = at->y, .y_scaled = at->y_scaled };
    p->mean = mem_calloc(n, sizeof *p->mean, "a baseline", err);
    p->sd = mem_calloc(n, sizeof *p->sd, "a baseline", err);
    p->mean_scaled = mem_calloc(n, sizeof *p->mean_scaled, "a baseline", err);
    p->var_scaled = mem_calloc(n, sizeof *p->var_scaled, "a baseline", err);
    return p->mean && p->sd && p->mean_scaled && p->var_scaled ? ST_OK : ST_NOMEM;
}

static void prediction_drop(struct prediction *p)
{
    p->y = p->y_scaled = NULL;
    run_prediction_free(p);
}

static enum status score_of(const struct encoding *enc, struct prediction *p, struct baseline *b,
                            size_t which, struct err *err)
{
    for (size_t j = 0; j < p->t; j++) {
        const struct encoding one = encoding_for(enc, j);
        const struct prediction q = scoring_prediction(p, j);
        encoding_unscale(&one, q.n, q.mean_scaled, q.var_scaled, q.mean, q.sd);
    }
    const enum status rc = scoring_all_metrics(enc, p, b->of[which].scaled, b->of[which].raw, err);
    b->of[which].have = rc == ST_OK;
    return rc;
}

/* Sums of (v - from)^power over the targets of the training rows as the model sees them, without
 * missing ones; their number. */
static double target_sum(const struct scoring *s, const struct encoding *one,
                         const struct baseline_ask *ask, double from, int power, size_t *n)
{
    const struct table *t = s->data->table;
    const size_t col = table_find(t, one->target);
    const double sd = one->ysd > 0.0 ? one->ysd : 1.0;
    double sum = 0.0;

    *n = 0;
    for (size_t i = 0; col != SIZE_MAX && t->col[col].type == COL_REAL && i < ask->n; i++) {
        const double v = column_at(&t->col[col], ask->train[i]);
        if (!isfinite(v) || (one->yscale == Y_LOG && v <= 0.0))
            continue;
        const double y = ((one->yscale == Y_LOG ? log(v) : v) - one->ymean) / sd - from;
        sum += power == 2 ? y * y : y;
        ++*n;
    }
    spill_used(ask->n * sizeof(double));
    return sum;
}

static enum status mean_score(const struct scoring *s, const struct baseline_ask *ask,
                              struct prediction *p, struct baseline *b, struct err *err)
{
    for (size_t j = 0; j < p->t; j++) {
        const struct encoding one = encoding_for(ask->enc, j);
        size_t n;
        double mean = target_sum(s, &one, ask, 0.0, 1, &n);
        mean /= (double)n;
        const double var = target_sum(s, &one, ask, mean, 2, &n) / (double)n;
        if (!(var > 0.0))
            return err_set(err, ST_RANGE, "the target is constant on the training rows");
        for (size_t i = 0; i < p->n; i++) {
            p->mean_scaled[j * p->n + i] = mean;
            p->var_scaled[j * p->n + i] = var;
        }
    }
    return score_of(ask->enc, p, b, BASELINE_MEAN, err);
}

/* True if ridge regression on d inputs costs more than one would wait for unasked. */
static bool is_dear(const struct scoring *s, size_t n, size_t d, struct baseline *b)
{
    if (s->how.baseline != BASELINE_AUTO)
        return false;
    if (table_is_out(s->data->table))
        snprintf(b->why, sizeof b->why, "the data are on disk; score baseline=yes does it");
    else if (baseline_is_dear(n, d))
        snprintf(b->why, sizeof b->why,
                 "%zu inputs, %zu rows take long; score baseline=yes does it", d, n);
    return *b->why != '\0';
}

static enum status ridge_encoded(const struct scoring *s, struct job *job, struct encoding *enc,
                                 const struct baseline_ask *ask, struct prediction *p,
                                 struct baseline *b, struct err *err)
{
    struct encoded train = { 0 }, test = { 0 };
    struct baseline_ridge ridge = { .mean = p->mean_scaled, .var = p->var_scaled };
    enum status rc = encode(enc, s->data->table, ask->train, ask->n, true, &train, err);

    if (rc == ST_OK)
        rc = encode(enc, s->data->table, ask->at->row, ask->at->n, true, &test, err);
    if (rc == ST_OK && test.n != p->n)
        rc = err_set(err, ST_SHAPE, "other rows have missing inputs");
    if (rc == ST_OK)
        rc = baseline_ridge(&train.base, train.t, train.y, &test.base,
                            &(struct tools){ job->backend, job->pool, &job->ctl }, &ridge, err);
    b->inputs = train.base.d;
    b->lambda = ridge.lambda;
    encode_free(&train);
    encode_free(&test);
    return rc;
}

/* Ridge regression reads the inputs as a linear kernel does: of sequences, for example, a number
 * for each letter at each position. */
static enum status ridge_score(const struct scoring *s, struct job *job,
                               const struct baseline_ask *ask, struct prediction *p,
                               struct baseline *b, struct err *err)
{
    struct dataset *d = dataset_snapshot(s->data, err);
    struct encoding enc = { 0 };
    double hp[KERNEL_MAX_HP];
    enum status rc = d ? kernel_parse("linear + constant", &d->kernel, hp, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = encoding_fit(d, ask->train, ask->n, &enc, NULL, err);
    if (rc == ST_OK && is_dear(s, ask->n, enc.d, b))
        rc = ST_LIMIT;
    if (rc == ST_OK)
        rc = ridge_encoded(s, job, &enc, ask, p, b, err);
    if (rc == ST_OK)
        rc = score_of(&enc, p, b, BASELINE_RIDGE, err);
    encoding_free(&enc);
    dataset_unref(d);
    return rc;
}

enum status scoring_baselines(const struct scoring *s, struct job *job,
                              const struct baseline_ask *ask, struct baseline *b, struct err *err)
{
    const double t0 = job_now();
    struct prediction p = { 0 };
    struct err own = { 0 };

    /* Of two classes the constant predictions are scores of their own. */
    b->asked = s->how.baseline != BASELINE_NO && !s->enc.nclasses;
    if (!b->asked || !s->data)
        return ST_OK;
    enum status rc = prediction_like(ask->at, &p, &own);
    if (rc == ST_OK)
        rc = mean_score(s, ask, &p, b, &own);
    if (rc == ST_OK)
        rc = ridge_score(s, job, ask, &p, b, &own);
    if (rc != ST_OK && !*b->why)
        snprintf(b->why, sizeof b->why, "%.110s", own.msg);
    prediction_drop(&p);
    b->seconds = job_now() - t0;
    if (rc == ST_CANCELLED || ctl_stopped(&job->ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    if (rc != ST_NOMEM && rc != ST_IO) /* other data and kernels have no such baseline */
        return ST_OK;
    *err = own;
    return rc;
}

/* Words. */

static void key_of(struct rec *r, const char *key, size_t t, const struct metrics *m, size_t at)
{
    double v[TARGETS_MOST];

    for (size_t j = 0; j < t; j++)
        v[j] = *(const double *)((const char *)&m[j] + at);
    if (t > 1)
        rec_nums(r, key, v, t);
    else
        rec_num(r, key, v[0]);
}

/* The simple models of a score or of a run. */
struct baseline_rows {
    const struct metrics *scaled[BASELINES], *raw[BASELINES]; /* NULL: there is none */
    const char *why;
    size_t inputs;
    double lambda;
};

static void rows_json(struct rec *r, size_t t, const struct baseline_rows *b)
{
    rec_array(r, "baseline");
    for (size_t k = 0; k < BASELINES; k++) {
        const struct metrics *raw = b->raw[k], *scaled = b->scaled[k];
        rec_item(r);
        rec_str(r, "name", run_baseline_words[k]);
        if (!raw || !scaled) {
            rec_str(r, "skipped", b->why);
            rec_close(r);
            continue;
        }
        key_of(r, "rmse", t, raw, offsetof(struct metrics, rmse));
        key_of(r, "rmse_scaled", t, scaled, offsetof(struct metrics, rmse));
        key_of(r, "r2", t, raw, offsetof(struct metrics, r2));
        key_of(r, "nlpd", t, raw, offsetof(struct metrics, nlpd));
        key_of(r, "nlpd_scaled", t, scaled, offsetof(struct metrics, nlpd));
        key_of(r, "coverage95", t, raw, offsetof(struct metrics, coverage95));
        if (k == BASELINE_RIDGE) {
            rec_int(r, "inputs", (int64_t)b->inputs);
            rec_num(r, "lambda", b->lambda);
        }
        rec_close(r);
    }
    rec_array_close(r);
}

void scoring_baseline_json(struct rec *r, size_t t, const struct baseline *b)
{
    struct baseline_rows rows = { .why = b->why, .inputs = b->inputs, .lambda = b->lambda };

    for (size_t k = 0; k < BASELINES; k++)
        if (b->of[k].have)
            rows.scaled[k] = b->of[k].scaled, rows.raw[k] = b->of[k].raw;
    if (b->asked)
        rows_json(r, t, &rows);
    else
        rec_null(r, "baseline");
}

void scoring_run_baseline_json(struct rec *rec, const struct run *r)
{
    const struct run_baseline *b = r->has_score ? r->baseline : NULL;
    struct baseline_rows rows = { 0 };

    if (!b) {
        rec_null(rec, "baseline");
        return;
    }
    rows = (struct baseline_rows){ .why = b->why, .inputs = b->inputs, .lambda = b->lambda };
    for (size_t k = 0; k < BASELINES; k++) {
        rows.scaled[k] = run_baseline(r, k, 0, false);
        rows.raw[k] = run_baseline(r, k, 0, true);
    }
    rows_json(rec, b->targets, &rows);
}

void scoring_run_baseline_words(struct buf *b, const struct run *r, size_t j)
{
    bool told = false;

    for (size_t k = 0; k < BASELINES; k++) {
        const struct metrics *m = run_baseline(r, k, j, true);
        if (m)
            buf_printf(b, "%s%s RMSE %.4g, NLPD %.4g", told ? ";  " : "", run_baseline_words[k],
                       m->rmse, m->nlpd);
        told |= m != NULL;
    }
}

void scoring_baseline_keep(struct run *r, struct scoring *s)
{
    const struct baseline *b = &s->baseline;
    const size_t t = s->pred.t;
    struct run_baseline *kept = s->keep;

    s->keep = NULL;
    free(r->baseline);
    r->baseline = kept;
    if (!kept)
        return;
    memcpy(kept->why, b->why, sizeof kept->why);
    kept->inputs = b->inputs;
    kept->lambda = b->lambda;
    for (size_t k = 0; k < BASELINES; k++) {
        kept->have[k] = b->of[k].have;
        memcpy(&kept->of[2 * k * t], b->of[k].scaled, t * sizeof *kept->of);
        memcpy(&kept->of[(2 * k + 1) * t], b->of[k].raw, t * sizeof *kept->of);
    }
}

/* One line. Of several targets, the means of their scaled scores. */
void scoring_baseline_text(struct rec *r, size_t t, const struct baseline *b)
{
    char sec[32];

    if (!b->asked)
        return;
    rec_text(r, "\n  baselines: ");
    for (size_t k = 0; k < BASELINES && b->of[k].have; k++) {
        const struct metrics *m = t > 1 ? b->of[k].scaled : b->of[k].raw;
        double rmse = 0.0, nlpd = 0.0;
        for (size_t j = 0; j < t; j++) {
            rmse += m[j].rmse / (double)t;
            nlpd += m[j].nlpd / (double)t;
        }
        rec_text(r, "%s%s RMSE%s %.4g, NLPD %.4g", k ? ";  " : "", run_baseline_words[k],
                 t > 1 ? "/sd" : "", rmse, nlpd);
    }
    if (b->seconds >= 1.0) {
        text_seconds(sec, sizeof sec, b->seconds);
        rec_text(r, " (%s)", sec);
    }
    if (!b->of[BASELINE_RIDGE].have) {
        rec_text(r, "%sno ridge: ", b->of[BASELINE_MEAN].have ? ";  " : "");
        rec_safe(r, b->why);
    }
}
