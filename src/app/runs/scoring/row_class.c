/* app/runs/scoring/row_class.c -- see row_class.h. */
#include "app/runs/scoring/row_class.h"

#include "data/decision.h"

/* Without a rule the positive class is chosen from a probability of 1/2 on, as in all scores. */
static enum status choose(const struct encoding *enc, struct row_class *c, struct err *err)
{
    const double p[2] = { 1.0 - c->p, c->p };
    struct decision rule = { .cost = NULL };

    c->taken = c->p >= 0.5;
    if (enc->rule == NULL)
        return ST_OK;
    const enum status rc = decision_parse(enc->rule, 2, enc->classes, &rule, err);
    if (rc == ST_OK)
        c->taken = decision_choose(&rule, 1, p, 0);
    decision_free(&rule);
    return rc;
}

enum status row_class_of(const struct model *m, const struct encoding *enc,
                         const struct source *src, const struct tools *on, struct row_class *c,
                         struct err *err)
{
    const size_t first = 0;
    const bool with_sd = model_has_variance(m);
    struct source_subset one;
    double mean, var = 0.0;

    *c = (struct row_class){ .known = enc->nclasses == 2 && m->t == 1 };
    if (!c->known || !(with_sd || m->kind->probability)) {
        c->known = false;
        return ST_OK;
    }
    source_subset_init(&one, src, &first, 1);
    enum status rc = model_predict(m, &one.base, &mean, with_sd ? &var : NULL, on, err);
    if (rc == ST_OK)
        model_probabilities(m, 1, &mean, &var, &c->p);
    return rc == ST_OK ? choose(enc, c, err) : rc;
}

void row_class_tell(const struct row_class *c, const struct encoding *enc, struct rec *rec)
{
    if (!c->known)
        return;
    rec_str(rec, "predicted", enc->classes[c->taken]);
    rec_num(rec, "p", c->p);
    rec_text(rec, "predicted ");
    rec_safe(rec, enc->classes[c->taken]);
    rec_text(rec, " (p %.4g of ", c->p);
    rec_safe(rec, enc->classes[1]);
    rec_text(rec, ")");
}
