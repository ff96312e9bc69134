/* compute/models/model_copy.c -- a copy of a model, whose amplitude, noise and intervals may then
 * differ. */
#include "compute/models/model.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

static bool copied(double **to, const double *from, size_t n, struct err *err)
{
    *to = NULL;
    if (from == NULL)
        return true;
    *to = mem_calloc(n, sizeof **to, "a copy of the model", err);
    if (*to != NULL)
        memcpy(*to, from, n * sizeof **to);
    return *to != NULL;
}

struct model *model_copy(struct model *m, struct err *err)
{
    struct model *c = mem_calloc(1, sizeof *c, "a model", err);

    if (c == NULL)
        return NULL;
    model_alias(m, c);
    c->refs = 1;
    c->state = NULL; /* that of a solver which has ended; but classes are predicted from theirs */
    c->nstate = m->kind->classes ? m->nstate : 0;
    c->lender = m->factors ? model_ref(m->lender ? m->lender : m) : NULL; /* they are large */
    c->w = c->L = c->a = c->X = c->spread = c->cv = c->cv_w = c->row_scale = NULL;
    c->origin = c->rounds = NULL;
    if (copied(&c->w, m->w, m->t * m->M, err) && copied(&c->L, m->L, m->Mv * m->Mv, err) &&
        copied(&c->a, m->a, m->S * m->M, err) && copied(&c->X, m->X, m->M * m->d, err) &&
        copied(&c->cv, m->cv, m->ncv_errors, err) &&
        copied(&c->cv_w, m->cv_w, m->ncv * m->t * m->M, err) &&
        copied(&c->spread, m->spread, m->t * (m->nspread + 1), err) &&
        copied(&c->row_scale, m->row_scale, m->M, err) &&
        copied(&c->origin, m->origin, m->M, err) &&
        copied(&c->state, c->nstate ? m->state : NULL, c->nstate, err) &&
        copied(&c->rounds, m->rounds, m->nrounds * MODEL_ROUND, err))
        return c;
    model_unref(c);
    return NULL;
}
