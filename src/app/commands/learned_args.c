/* app/commands/learned_args.c -- see learned_args.h. */
#include "app/commands/learned_args.h"

#include "app/core/ws_tell.h"
#include "base/buf.h"
#include "compute/likelihood/likelihood.h"

#include <string.h>

enum { DRAWN = 256 }; /* random features of a step, beside those of maps */

/* Says which of these arguments have no effect on a kernel that learns. */
static void unused_learned(struct workspace *ws, const struct args *a, const struct kernel *k,
                           const char *const *names, const char *try_)
{
    struct buf list = { 0 };

    for (; *names; names++)
        if (args_given(a, *names))
            buf_printf(&list, "%s%s=", list.len ? ", " : "", *names);
    if (list.len)
        ws_tell(ws, REC_NOTE, NULL, "unused", try_, "%s has the features that it learned: this "
                "does not use %s", kernel_learned_map(k)->name, buf_str(&list));
    buf_free(&list);
}

/* A map learns by its features alone, which are the exact kernel where no other stands beside. */
static enum status tunes_by_features(const struct kernel *k, const struct model_ops *kind,
                                     struct err *err)
{
    if (!kind || kind->draws)
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "learned",
              "%s learns by its features: tune solver=%s would only take longer",
              kernel_learned_map(k)->name, kind->name);
    err_hint(err, "tune, then fit solver=%s", kind->name);
    return ST_UNSUPPORTED;
}

/* The columns of an expression with maps and random features: those that the line names, or those
 * of the maps with `drawn` others. */
static size_t learned_columns(const struct args *a, const struct kernel *k, size_t drawn)
{
    bool all;
    const size_t n = args_given(a, "features") ? (size_t)args_int(a, "features", 0)
                                               : kernel_learned_copied(k, &all) + drawn;

    return n + (n & 1);
}

/* Where learning begins: at random weights, or with continue= at those of a run. */
static enum status learn_from(struct workspace *ws, const struct args *a, struct kernel *k,
                              struct tune_opts *o, struct err *err)
{
    const struct run *r = NULL;

    const struct kernel_nets none = { { NULL } };

    kernel_learned_take(k, &none);
    if (!args_given(a, "continue"))
        return ST_OK;
    r = ws_run(ws, args_text(a, "continue"), err);
    if (!r)
        return err->code;
    if (r->kind != RUN_TUNE || !kernel_learns(&r->fit.kernel) ||
        kernel_learned_ready(&r->fit.kernel, 0, NULL) != ST_OK) {
        err_named(err, ST_STATE, "learned", "%s has learned no weights from which to continue",
                  r->id);
        err_hint(err, "tune");
        return ST_STATE;
    }
    o->goes_on = true;
    o->from = kernel_learned_nets(&r->fit.kernel);
    memcpy(o->from_hp, r->tune.best.hp, sizeof o->from_hp);
    memcpy(o->from_amplitudes, r->tune.best.amplitudes, sizeof o->from_amplitudes);
    o->from_noise = r->tune.best.noise;
    o->before = r->topt.steps + r->topt.before;
    return ST_OK;
}

enum status learned_args_tune(struct workspace *ws, const struct args *a, struct kernel *k,
                              struct tune_opts *o, struct err *err)
{
    static const char *const others[] = {
        "features", "method", "inducing", "approx", "select", "probes", "error", "rank", "evals",
        "polish", "width", "n", "precision", NULL
    };

    if (!kernel_learns(k)) {
        if (args_given(a, "steps") || args_given(a, "rate") || args_given(a, "subsets") ||
            args_given(a, "continue") || args_given(a, "stop"))
            ws_tell(ws, REC_NOTE, NULL, "unused", "kernel mlp, then tune steps=200",
                    "steps=, rate=, subsets=, stop= and continue= are for a kernel that learns "
                    "its features, so they are not used");
        return ST_OK;
    }
    if (o->likelihood && !o->likelihood->several) {
        err_named(err, ST_UNSUPPORTED, "learned",
                  "%s learns from a target of numbers or by likelihood dirichlet",
                  kernel_learned_map(k)->name);
        err_hint(err, "likelihood dirichlet, then tune, then likelihood bernoulli, then fit  |  "
                      "likelihood gaussian  (regression on the class)");
        return ST_UNSUPPORTED;
    }
    const size_t own = kernel_learned_features(k);
    unused_learned(ws, a, k, own ? others : others + 1, "tune steps=200 rate=0.01 subsets=4");
    o->steps = (size_t)args_int(a, "steps", 0);
    o->subsets = (size_t)args_int(a, "subsets", 0);
    o->rate = args_num(a, "rate");
    o->features = own ? own : learned_columns(a, k, DRAWN);
    const enum status on = learn_from(ws, a, k, o, err);
    if (on != ST_OK)
        return on;
    o->stop_valid = !strcmp(args_text(a, "stop"), "valid");
    const enum status rc = tunes_by_features(k, o->kind, err);
    o->kind = o->likelihood ? o->kind : model_kind_usual(false);
    return rc;
}

enum status learned_args_two(const struct kernel *k, struct err *err)
{
    const enum status rc = kernel_learned_ready(k, 0, err);

    if (rc != ST_OK)
        err_hint(err, "likelihood dirichlet, then tune, then likelihood bernoulli, then fit");
    return rc;
}

enum status learned_args_fit(struct workspace *ws, const struct args *a, struct fit_opts *o,
                             struct err *err)
{
    static const char *const others[] = { "features", "precision", "rescale", NULL };
    const size_t own = kernel_learned_features(&o->kernel);
    bool all;

    if (!kernel_learns(&o->kernel))
        return ST_OK;
    const bool some = kernel_learned_copied(&o->kernel, &all) > 0;
    unused_learned(ws, a, &o->kernel, own ? others : others + 1 + !some, "fit");
    o->features = own ? own : learned_columns(a, &o->kernel, o->features);
    o->precision = some ? PREC_DOUBLE : o->precision;
    return kernel_learned_ready(&o->kernel, 0, err);
}
