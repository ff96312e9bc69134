/* app/core/run.c -- see run.h. */
#include "app/core/run.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *run_state_name(enum run_state s)
{
    static const char *const names[] = { "queued", "running", "done", "stopped", "failed" };

    return names[s];
}

const char *const run_baseline_words[] = { "mean", "ridge", NULL };

void run_prediction_free(struct prediction *p)
{
    free(p->row), free(p->y), free(p->mean), free(p->sd_latent), free(p->sd);
    free(p->prob), free(p->taken);
    free(p->y_scaled), free(p->mean_scaled), free(p->var_scaled), free(p->reach);
    memset(p, 0, sizeof *p);
}

double run_prediction_class(const struct prediction *p, size_t i)
{
    return p->classes ? p->mean[i] : p->taken ? p->taken[i] : (double)(p->mean[i] >= 0.5);
}

/* A copy of n things; NULL stays so. */
static bool copied(void **to, const void *from, size_t n, size_t each, struct err *err)
{
    *to = from ? mem_calloc(n + 1, each, "predictions", err) : NULL;
    if (*to)
        memcpy(*to, from, n * each);
    return *to || !from;
}

enum status run_prediction_copy(const struct prediction *p, struct prediction *out,
                                struct err *err)
{
    const double *const from[] = { p->y, p->mean, p->sd_latent, p->sd, p->y_scaled,
                                   p->mean_scaled, p->var_scaled, p->taken };
    double **const to[] = { &out->y, &out->mean, &out->sd_latent, &out->sd, &out->y_scaled,
                            &out->mean_scaled, &out->var_scaled, &out->taken };

    *out = (struct prediction){ .part = p->part, .n = p->n, .t = 1 };
    bool ok = copied((void **)&out->row, p->row, p->n, sizeof *p->row, err) &&
              copied((void **)&out->reach, p->reach, 1, sizeof *p->reach, err);
    for (size_t i = 0; ok && i < sizeof to / sizeof *to; i++)
        ok = copied((void **)to[i], from[i], p->n, sizeof(double), err);
    if (!ok)
        run_prediction_free(out);
    return ok ? ST_OK : ST_NOMEM;
}

void run_free(struct run *r)
{
    if (!r)
        return;
    dataset_unref(r->data);
    free(r->dataset_name);
    free(r->kernel_text);
    free(r->command);
    if (r->has_enc)
        encoding_free(&r->enc);
    model_unref(r->model);
    tune_result_free(&r->tune);
    solve_info_free(&r->solve);
    free(r->trace);
    free(r->learned);
    free(r->rounds);
    run_prediction_free(&r->train_pred);
    run_prediction_free(&r->test_pred);
    free(r->more);
    free(r->baseline);
    free(r->note);
    free(r);
}

const struct metrics *run_metrics(const struct run *r, size_t j, bool raw)
{
    if (!r || !r->has_score || j > r->nmore)
        return NULL;
    return j > 0 ? &r->more[j - 1][raw] : raw ? &r->score_raw : &r->score_scaled;
}

struct run_baseline *run_baseline_new(size_t targets, struct err *err)
{
    const size_t scores = (size_t)BASELINES * 2 * targets;
    struct run_baseline *b =
        mem_calloc(1, sizeof *b + scores * sizeof *b->of, "scores of simple models", err);

    if (b)
        b->targets = targets;
    return b;
}

const struct metrics *run_baseline(const struct run *r, size_t which, size_t j, bool raw)
{
    const struct run_baseline *b = r && r->has_score ? r->baseline : NULL;

    return b && j < b->targets && b->have[which] ? &b->of[(2 * which + raw) * b->targets + j]
                                                 : NULL;
}

size_t run_targets(const struct run *r)
{
    return r && r->has_enc ? encoding_targets(&r->enc) : 1;
}

enum status run_target(const struct run *r, const char *name, size_t *j, struct err *err)
{
    *j = 0;
    if (!name || !r)
        return ST_OK;
    if (!r->has_enc)
        return err_set(err, ST_STATE, "%s has no result yet, so it has no target to show", r->id);
    return encoding_find(&r->enc, name, j, err);
}

const struct model_ops *run_model_kind(const struct run *r)
{
    if (r->kind == RUN_TUNE)
        return tune_kind(&r->topt);
    if (r->model)
        return r->model->kind;
    const struct model_ops *kind = model_kind_named(r->info.plan);
    return kind ? kind : model_kind_of(&r->fit);
}

const char *run_suffix(const struct run *r, size_t j, char *out, size_t len)
{
    struct buf b = { 0 };

    *out = '\0';
    if (run_targets(r) < 2)
        return out;
    text_safe(&b, encoding_for(&r->enc, j).target, 24);
    snprintf(out, len, " of %s", buf_str(&b));
    buf_free(&b);
    return out;
}

bool run_interrupted(const struct run *r)
{
    if (r->state != RUN_STOPPED)
        return false;
    if (r->kind == RUN_TUNE)
        return !r->tune.evaluations || r->tune.why == TUNE_CANCELLED;
    return r->info.why == OUT_CANCELLED || (!r->model && !r->info.solver[0]);
}

enum status run_one_function(const struct run *r, struct err *err)
{
    if (!r->model || !r->model->kind->several)
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "classes",
              "%s has a function for each of %zu classes, and this is for one function", r->id,
              r->model->t);
    err_hint(err, "score  |  check  |  explain-row row:1  |  likelihood bernoulli, then fit");
    return ST_UNSUPPORTED;
}
