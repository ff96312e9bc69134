/* app/commands/learned_args.c -- see learned_args.h. */
#include "app/commands/learned_args.h"

#include "app/core/ws_tell.h"
#include "base/buf.h"
#include "compute/likelihood/likelihood.h"

#include <string.h>

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
                "does not use %s", k->term[0].ops->name, buf_str(&list));
    buf_free(&list);
}

enum status learned_args_kind(const struct kernel *k, const struct model_ops *kind,
                              const char *verb, struct err *err)
{
    if (!kind || kind->draws)
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "learned",
              "%s has few features, by which a model is exact: solver=%s would only take longer",
              k->term[0].ops->name, kind->name);
    err_hint(err, "%s", verb);
    return ST_UNSUPPORTED;
}

/* Where learning begins: at random weights, or with continue= at those of a run. */
static enum status learn_from(struct workspace *ws, const struct args *a, struct kernel *k,
                              struct tune_opts *o, struct err *err)
{
    const struct run *r = NULL;

    k->term[0].net = NULL;
    if (!args_given(a, "continue"))
        return ST_OK;
    r = ws_run(ws, args_text(a, "continue"), err);
    if (!r)
        return err->code;
    if (r->kind != RUN_TUNE || !kernel_learns(&r->fit.kernel) || !r->fit.kernel.term[0].net) {
        err_named(err, ST_STATE, "learned", "%s has learned no weights from which to continue",
                  r->id);
        err_hint(err, "tune");
        return ST_STATE;
    }
    o->from = r->fit.kernel.term[0].net;
    o->from_amplitude = r->tune.best.amplitude;
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
                  k->term[0].ops->name);
        err_hint(err, "likelihood dirichlet  |  likelihood gaussian  (regression on the class)");
        return ST_UNSUPPORTED;
    }
    unused_learned(ws, a, k, others, "tune steps=200 rate=0.01 subsets=4");
    o->steps = (size_t)args_int(a, "steps", 0);
    o->subsets = (size_t)args_int(a, "subsets", 0);
    o->rate = args_num(a, "rate");
    o->features = kernel_net_shape(k, 1).out;
    const enum status on = learn_from(ws, a, k, o, err);
    if (on != ST_OK)
        return on;
    o->stop_valid = !strcmp(args_text(a, "stop"), "valid");
    const enum status rc = learned_args_kind(k, o->kind, "tune", err);
    o->kind = o->likelihood ? o->kind : model_kind_usual(false);
    return rc;
}

enum status learned_args_fit(struct workspace *ws, const struct args *a, struct fit_opts *o,
                             struct err *err)
{
    static const char *const others[] = { "features", "precision", "rescale", NULL };
    const struct net *net = kernel_learns(&o->kernel) ? o->kernel.term[0].net : NULL;

    if (!kernel_learns(&o->kernel))
        return ST_OK;
    unused_learned(ws, a, &o->kernel, others, "fit");
    o->features = kernel_net_shape(&o->kernel, 1).out;
    o->precision = PREC_DOUBLE;
    return kernel_net(&o->kernel, net ? net->shape.inputs : 0, &net, err);
}
