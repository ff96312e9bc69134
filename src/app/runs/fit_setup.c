/* app/runs/fit_setup.c -- see fit_setup.h. */
#include "app/runs/fit_setup.h"

#include "app/runs/fitting.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/features/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES_OF_EXACT = 8192 }; /* number of features used in place of an exact kernel */

void fit_setup_free(struct fit_setup *s)
{
    encode_free(&s->e);
    encoding_free(&s->enc);
    dataset_unref(s->data);
    memset(s, 0, sizeof *s);
}

/* A posterior of two classes has no system whose iterations could be looked at. */
static enum status not_classes(bool classes, struct err *err)
{
    if (!classes)
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "classes",
              "this looks at the linear system of a regression, and the target holds "
              "classes");
    err_hint(err, "check  |  plot calibration  |  likelihood gaussian, then fit");
    return ST_UNSUPPORTED;
}

enum status fit_setup_of_data(struct fit_setup *s, struct dataset *d, const struct fit_opts *o,
                          struct err *err)
{
    *s = (struct fit_setup){ 0 };
    if (not_classes(d->link != NULL, err) != ST_OK)
        return ST_UNSUPPORTED;
    *s = (struct fit_setup){ .o = *o };
    s->o.start = NULL;
    s->data = dataset_snapshot(d, err);
    if (s->data)
        s->data->kernel = o->kernel;
    return s->data ? ST_OK : ST_NOMEM;
}

enum status fit_setup_of_run(struct fit_setup *s, const struct run *r, struct err *err)
{
    *s = (struct fit_setup){ .data = NULL };
    const enum status rc = not_classes(r->has_enc && r->enc.nclasses, err);

    return rc == ST_OK ? fit_setup_of_any(s, r, err) : rc;
}

enum status fit_setup_of_any(struct fit_setup *s, const struct run *r, struct err *err)
{
    *s = (struct fit_setup){ .o = r->fit };
    s->o.start = NULL;
    s->o.keep_scale = true;
    if (!r->data) {
        err_set(err, ST_STATE, "the data of %s is no longer loaded", r->id);
        err_hint(err, "open FILE, then fit");
        return ST_STATE;
    }
    if (r->model) {
        s->o.kernel = r->model->kernel;
        memcpy(s->o.hp, r->model->hp, sizeof s->o.hp);
        s->o.amplitude = r->model->amplitude;
        s->o.noise = r->model->noise;
        s->o.precision = r->model->precision;
        s->o.seed = r->model->seed;
    }
    if (s->o.features == 0 || !model_kind_of(&s->o)->draws)
        s->o.features = FEATURES_OF_EXACT;
    s->o.solver = solver_usual()->name;
    s->o.kind = NULL;
    s->data = dataset_ref(r->data);
    s->has_enc = r->has_enc;
    return r->has_enc ? encoding_copy(&s->enc, &r->enc, err) : ST_OK;
}

void fit_setup_cost(struct workspace *ws, const struct fit_setup *s,
                    const struct diagnose_ask *ask, bool ranked, double further)
{
    static const double share = 0.2, felt = 0.1; /* of the fit; seconds that nobody would notice */
    const struct dataset *d = s->data;
    const size_t n = d->split.part ? d->split.count[PART_TRAIN] : d->table->n;
    const struct diagnose_cost c = diagnose_cost(n, &s->o, ask, ranked);
    const double advice = c.advice + further;
    char takes[32], fit[32];

    if (!(c.fit > 0.0) || advice < felt || advice <= share * c.fit)
        return;
    text_seconds(takes, sizeof takes, advice);
    text_seconds(fit, sizeof fit, fmax(c.fit, 0.01));
    ws_note(ws, "cost", "this takes about %s of one core, the cheapest fit that it speaks of %s "
            "%s; Ctrl-C or stop ends it", takes, c.fit < 0.01 ? "less than" : "about", fit);
}

enum status fit_setup_bind_rows(const struct encoding *enc, struct kernel *k,
                                const struct source *rows, struct err *err)
{
    const enum status rc = encoding_bind(enc, k, err);

    return rc == ST_OK ? tensor_norms(k, rows, err) : rc;
}

enum status fit_setup_bind_kernel(const struct dataset *data, const struct encoding *enc,
                                  const struct source *rows, struct kernel *k, double *hp,
                                  struct err *err)
{
    size_t from[KERNEL_MAX_HP], *group = NULL;
    double was[KERNEL_MAX_HP];
    enum status rc = fit_setup_bind_rows(enc, k, rows, err);

    if (rc != ST_OK || !kernel_has_ard(k))
        return rc;
    if (kernel_has_groups(k)) {
        group = mem_calloc(rows->d, sizeof *group, "groups of inputs", err);
        rc = group ? dataset_groups(data, enc, group, NULL, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = kernel_bind_groups(k, rows->d, group, from, err);
    free(group);
    memcpy(was, hp, sizeof was);
    for (size_t i = 0; rc == ST_OK && i < kernel_nhp(k); i++)
        hp[i] = was[from[i]];
    return rc;
}

enum status fit_setup_open(struct fit_setup *s, struct err *err)
{
    const enum status rc =
        fitting_rows(s->data, PART_TRAIN, !s->has_enc, &s->enc, &s->e, NULL, err);

    if (rc != ST_OK)
        return rc;
    s->has_enc = true;
    s->o.targets = s->e.t;
    return fit_setup_bind_kernel(s->data, &s->enc, &s->e.base, &s->o.kernel, s->o.hp, err);
}
