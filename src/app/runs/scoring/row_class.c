/* app/runs/scoring/row_class.c -- see row_class.h. */
#include "app/runs/scoring/row_class.h"

#include "app/runs/scoring/scoring.h"
#include "base/text.h"
#include "compute/likelihood/temperature.h"
#include "data/decision.h"


enum { PROBABILITIES_TOLD = 3 };

/* The class that the rule of a run chooses, else the likeliest one. */
static enum status choose(const struct encoding *enc, size_t classes, const double *p,
                          size_t *taken, struct err *err)
{
    struct decision rule = { .cost = NULL };
    const enum status rc = decision_parse(enc->rule, classes, enc->classes, &rule, err);

    if (rc == ST_OK)
        *taken = decision_choose(&rule, 1, p, 0);
    decision_free(&rule);
    return rc;
}

/* Of one function.  Without a rule the positive class is chosen from a probability of 1/2 on, as in
 * all scores. */
static enum status one_function(const struct model *m, const struct encoding *enc,
                                const struct source *row, const struct tools *on,
                                struct row_class *c, struct err *err)
{
    const bool with_sd = model_has_variance(m);
    double mean, var = 0.0;

    c->known = with_sd || m->kind->probability;
    if (!c->known)
        return ST_OK;
    const enum status rc = model_predict(m, row, &mean, with_sd ? &var : NULL, on, err);
    if (rc != ST_OK)
        return rc;
    model_probabilities(m, 1, &mean, &var, &c->p);
    const double p[2] = { 1.0 - c->p, c->p };
    c->taken = c->p >= 0.5;
    return enc->rule ? choose(enc, 2, p, &c->taken, err) : ST_OK;
}

/* Of a function for each class. */
static enum status functions(const struct model *m, const struct encoding *enc,
                             const struct source *row, const struct tools *on,
                             struct row_class *c, struct err *err)
{
    const size_t C = m->t;
    double mean[2 * TARGETS_MOST];

    c->several = c->known = true;
    if (enc->nclasses != C)
        return err_set(err, ST_STATE, "the model has %zu classes, but its encoding %zu", C,
                       enc->nclasses);
    enum status rc = model_predict(m, row, mean, mean + C, on, err);
    const struct temperature_rows rows = { .of = m->likelihood, .n = 1, .classes = C, .mean = mean,
                                           .var = mean + C, .pool = on->pool };
    if (rc == ST_OK)
        rc = temperature_apply(&rows, m->temperature, c->of, err);
    if (rc == ST_OK)
        rc = choose(enc, C, c->of, &c->taken, err);
    c->second = c->taken == 0;
    for (size_t k = 0; k < C; k++)
        if (k != c->taken && c->of[k] > c->of[c->second])
            c->second = k;
    return rc;
}

enum status row_class_of(struct model *m, const struct dataset *d, struct encoding *enc,
                         const struct source *src, struct job *job, struct row_class *c,
                         struct err *err)
{
    const struct tools on = { job->backend, job->pool, &job->ctl };
    const size_t first = 0;
    struct source_subset one;

    *c = (struct row_class){ .known = false };
    if (!enc->nclasses || !(m->kind->several || (enc->nclasses == 2 && m->t == 1)))
        return ST_OK;
    const enum status rc =
        m->kind->several || m->Mv > 0 ? scoring_factor(m, d, enc, job, err) : ST_OK;
    if (rc != ST_OK)
        return rc;
    source_subset_init(&one, src, &first, 1);
    return (m->kind->several ? functions : one_function)(m, enc, &one.base, &on, c, err);
}

void row_class_contrast(const struct row_class *c, size_t n, double *means)
{
    const double *a = means + c->taken * n, *b = means + c->second * n;

    for (size_t i = 0; c->several && i < n; i++)
        means[i] = a[i] - b[i]; /* row i of every function is read before it is written */
}

void row_class_words(const struct row_class *c, const struct encoding *enc, size_t most,
                     struct buf *out)
{
    text_safe(out, enc->classes[c->taken], most);
    buf_puts(out, " less ");
    text_safe(out, enc->classes[c->second], most);
}

/* All probabilities, the greatest first; the predicted class may be another one, by a rule. */
static void tell_all(const struct row_class *c, const struct encoding *enc, struct rec *rec)
{
    bool told[TARGETS_MOST] = { false };
    size_t shown = 0;

    rec_array(rec, "probabilities");
    for (size_t i = 0; i < enc->nclasses; i++) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k < enc->nclasses; k++)
            if (!told[k] && (best == SIZE_MAX || c->of[k] > c->of[best]))
                best = k;
        told[best] = true;
        rec_item(rec);
        rec_str(rec, "class", enc->classes[best]);
        rec_num(rec, "p", c->of[best]);
        rec_close(rec);
        if (best == c->taken || ++shown >= PROBABILITIES_TOLD)
            continue;
        rec_text(rec, ", ");
        rec_safe(rec, enc->classes[best]);
        rec_text(rec, " %.4g", c->of[best]);
    }
    rec_array_close(rec);
}

void row_class_tell(const struct row_class *c, const struct encoding *enc, struct rec *rec)
{
    if (!c->known)
        return;
    rec_str(rec, "predicted", enc->classes[c->taken]);
    rec_num(rec, "p", c->several ? c->of[c->taken] : c->p);
    rec_text(rec, "predicted ");
    rec_safe(rec, enc->classes[c->taken]);
    rec_text(rec, " (p %.4g", c->several ? c->of[c->taken] : c->p);
    if (c->several) {
        rec_str(rec, "runner_up", enc->classes[c->second]);
        tell_all(c, enc, rec);
    } else {
        rec_text(rec, " of ");
        rec_safe(rec, enc->classes[1]);
    }
    rec_text(rec, ")");
}
