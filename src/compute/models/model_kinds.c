/* compute/models/model_kinds.c -- the registry of kinds of model, and the plan of a fit by the kind
 * that it will have. */
#include "compute/likelihood/likelihood.h"
#include "compute/models/model_impl.h"

#include <string.h>

#define MODEL_ADDRESS(name) &name,
static const struct model_ops *const kinds[] = { MODEL_KINDS(MODEL_ADDRESS) };
#undef MODEL_ADDRESS
enum { NKINDS = sizeof kinds / sizeof *kinds };

const struct model_ops *model_kind_at(size_t i)
{
    return i < NKINDS ? kinds[i] : NULL;
}

const struct model_ops *model_kind_by(const char *solver)
{
    const struct solver_ops *s = solver_is_free(solver) ? NULL : solver_find(solver, NULL);

    if (model_kind_own(solver))
        return model_kind_own(solver);
    return s && s->dual ? model_kind_usual(true) : s && s->primal ? model_kind_usual(false) : NULL;
}

const struct model_ops *model_kind_own(const char *text)
{
    for (size_t i = 0; text && i < NKINDS; i++)
        if (kinds[i]->solver && strlen(kinds[i]->solver) == strcspn(text, "(") &&
            strncmp(kinds[i]->solver, text, strlen(kinds[i]->solver)) == 0)
            return kinds[i];
    return NULL;
}

const struct model_ops *model_kind_of(const struct fit_opts *o)
{
    const struct model_ops *asked = model_kind_by(o->solver);

    if (asked && asked->classes)
        return asked;
    for (size_t i = 0; o->likelihood && i < NKINDS; i++)
        if (o->likelihood->classes && kinds[i]->classes &&
            kinds[i]->several == o->likelihood->several &&
            (!kinds[i]->several || (kinds[i]->of == o->likelihood &&
                                    kinds[i]->exact == (asked && asked->exact))) &&
            kinds[i]->alone == (asked && asked->alone))
            return kinds[i];
    return asked ? asked : o->kind ? o->kind : kinds[0];
}

const struct model_ops *model_kind_named(const char *name)
{
    for (size_t i = 0; name && i < NKINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const struct model_ops *model_kind_usual(bool exact)
{
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i]->exact == exact)
            return kinds[i];
    return kinds[0];
}

const struct model_ops *model_kind_points(void)
{
    for (size_t i = 0; i < NKINDS; i++)
        if (kinds[i]->points)
            return kinds[i];
    return NULL;
}

enum status model_plan_make(size_t n, size_t d, const struct fit_opts *o, size_t threads,
                            struct fit_plan *p, char note[256], struct err *err)
{
    *p = (struct fit_plan){ .plan = PLAN_AUTO };
    return model_kind_of(o)->plan(o, n, d, threads, p, note, err);
}

enum status model_plan(size_t n, size_t d, const struct fit_opts *o, size_t threads,
                       enum plan *plan, size_t *bytes, char note[256], struct err *err)
{
    struct fit_plan p;
    enum status rc = model_plan_make(n, d, o, threads, &p, note, err);

    *plan = p.plan;
    *bytes = p.bytes < 1e18 ? (size_t)p.bytes : (size_t)1e18;
    return rc;
}
