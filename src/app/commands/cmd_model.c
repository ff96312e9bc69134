/* app/commands/cmd_model.c -- kernels, tuning, fitting: the rows of the command table and the jobs
 * they start. The work itself is in app/runs/fitting.c. */
#include "app/shell/args.h"
#include "app/commands/commands.h"
#include "app/runs/fitting.h"
#include "app/commands/learned_args.h"
#include "app/shell/options.h"
#include "app/runs/race.h"
#include "app/shell/registry_words.h"
#include "app/runs/restarts.h"
#include "app/session/store.h"
#include "app/core/ws_tell.h"
#include "base/buf.h"
#include "base/text.h"
#include "compute/likelihood/likelihood.h"
#include "compute/models/exact.h"
#include "compute/models/rescale.h"
#include "compute/models/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DOUBLE_ENTRIES = 2e7; /* rows x features up to which double is the default */
/* EXACT_ONLY_ROWS: up to there a Cholesky factor is taken for kernels without random features, and
 * for those whose features cost accuracy. */
enum { SAMPLES = 64, /* functions of variance=samples */
       EXACT_TUNE_ROWS = 1500, EXACT_FIT_ROWS = 4000, EXACT_ONLY_ROWS = 10000,
       DEFAULT_FEATURES = 4096, DEFAULT_TUNE_FEATURES = 2048,
       /* Of several classes, unless features= is given: twice the training rows, within these. */
       CLASS_FEATURES_LEAST = 512, CLASS_FEATURES_MOST = 2048, CLASS_TUNE_FEATURES = 512,
       LABELS_EXACT_ROWS = 1500 }; /* up to there the exact kernel */

/* Kernel. */

static void kernel_list(struct workspace *ws)
{
    struct rec rec;
    struct buf b = { 0 };
    const struct kernel_ops *k;

    rec_init(&rec, REC_RESULT, "kernel");
    kernel_print(&ws->kernel, &b);
    rec_str(&rec, "kernel", buf_str(&b));
    rec_text(&rec, "current: %s\n", buf_str(&b));
    rec_open(&rec, "kernels");
    for (size_t i = 0; (k = kernel_at(i)); i++) {
        rec_str(&rec, k->name, k->title);
        rec_text(&rec, "%s  %-10s %-24s %s", i ? "\n" : "", k->name, k->title, k->formula);
    }
    const struct layer_ops *l;
    for (size_t i = 0; (l = layer_at(i)); i++) {
        rec_str(&rec, l->name, l->title);
        rec_text(&rec, "\n  %-10s %-24s %s", l->name, l->title, l->formula);
    }
    rec_close(&rec);
    rec_text(&rec, "\n"
                   "  to choose one: kernel matern(nu=5/2)   for sequences: kernel "
                   "conv(rbf,width=9)");
    ws_emit(ws, &rec);
    buf_free(&b);
}

static enum status cmd_kernel(struct workspace *ws, const struct args *a, struct err *err)
{
    double hp[KERNEL_MAX_HP];
    struct kernel k;
    struct rec rec;
    struct buf b = { 0 };

    if (!args_given(a, "kernel")) {
        kernel_list(ws);
        return ST_OK;
    }
    enum status rc = kernel_parse(args_text(a, "kernel"), &k, hp, err);
    if (rc == ST_OK && ws->ndata)
        rc = encoding_can_read(ws_dataset(ws, NULL, NULL), &k, err);
    if (rc != ST_OK)
        return rc;
    ws_kernel_take(ws, &k, hp);
    rec_init(&rec, REC_RESULT, "kernel");
    kernel_print(&k, &b);
    rec_str(&rec, "kernel", buf_str(&b));
    fitting_hp_json(&rec, &k, ws->hp, ws->amplitude, ws->noise);
    rec_text(&rec, "kernel %s: %s; %s\n  ", buf_str(&b), k.term[0].ops->title,
             k.term[0].ops->formula);
    for (size_t i = 1; i < k.nterms; i++)
        rec_text(&rec, "%s %s; %s\n  ", k.term[i].times ? "times" : "plus", k.term[i].ops->title,
                 k.term[i].ops->formula);
    fitting_hp_text(&rec.text, &k, ws->hp, ws->amplitude, ws->noise);
    ws_emit(ws, &rec);
    buf_free(&b);
    return ST_OK;
}

/* Helpers of tune and fit. */

static size_t train_rows(const struct dataset *d)
{
    return d->split.part ? d->split.count[PART_TRAIN] : d->table->n;
}

/* Takes kernel= from the line, else the current kernel; hp gets start values. */
static enum status line_kernel(struct workspace *ws, const struct args *a, struct kernel *k,
                               double *hp, struct err *err)
{
    if (args_given(a, "kernel")) {
        double set[KERNEL_MAX_HP];
        const enum status rc = kernel_parse(args_text(a, "kernel"), k, set, err);
        if (rc != ST_OK)
            return rc;
        ws_kernel_take(ws, k, set);
    }
    *k = ws->kernel;
    memcpy(hp, ws->hp, sizeof ws->hp);
    return ST_OK;
}

/* The precision that the line names, else that of `set precision` (ws). */
static enum precision line_precision(const struct workspace *ws, const struct args *a)
{
    if (!args_given(a, "precision"))
        return ws->opt.precision;
    return strcmp(args_text(a, "precision"), "double") ? PREC_FLOAT : PREC_DOUBLE;
}

/* inducing=, approx= and select=, with the kind that they ask for where the line names none. */
static enum status line_inducing(struct workspace *ws, const struct args *a, bool named,
                                 const struct model_ops **kind, struct select_opts *o,
                                 struct err *err)
{
    const bool given =
        args_given(a, "inducing") || args_given(a, "approx") || args_given(a, "select");

    if (given && !named && !*kind)
        *kind = model_kind_points();
    if (!*kind || !(*kind)->points) {
        if (given)
            ws_tell(ws, REC_NOTE, NULL, "unused", "fit solver=sparse inducing=100",
                    "inducing=, approx= and select= are for solver=sparse, so they are not used");
        return ST_OK;
    }
    o->m = (size_t)args_int(a, "inducing", 100);
    for (int i = 0; bound_approx_words[i]; i++)
        if (!strcmp(args_text(a, "approx"), bound_approx_words[i]))
            o->approx = (enum bound_approx)i;
    return select_parse(args_text(a, "select"), o, err);
}

/* Tune. */

/* Says before the work that `score` will have no rows to score on. */
static void tell_no_test(struct workspace *ws, const struct dataset *d)
{
    char rows[32];

    if (d->split.part && d->split.count[PART_TEST] > 0)
        return;
    text_count(rows, sizeof rows, d->table->n);
    ws_tell(ws, REC_NOTE, NULL, "no-test", "split test=20%, then tune",
            "all %s rows train: none are held out to score on", rows);
}

/* Arguments that a posterior of two classes does not have are refused by name. */
static enum status only_classes(const struct args *a, const char *verb, const char *const *names,
                                struct err *err)
{
    for (; *names; names++)
        if (args_given(a, *names)) {
            err_named(err, ST_UNSUPPORTED, "classes",
                      "%s= belongs to a regression, and the target is a class", *names);
            err_hint(err, "%s  |  likelihood gaussian  (regression on the class)",
                     verb);
            return ST_UNSUPPORTED;
        }
    return ST_OK;
}

/* Two classes have no random features: what takes as many rows instead are inducing points. */
static enum status no_features(const struct args *a, const char *verb, struct err *err)
{
    if (!args_given(a, "features"))
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "classes",
              "features= belongs to a regression, and the target is a class");
    err_hint(err, "%s solver=sparse inducing=100  |  likelihood gaussian  (regression on the "
             "class)", verb);
    return ST_UNSUPPORTED;
}

/* The model of two classes is that of the exact kernel or of inducing points; solver= and model=
 * may say so. */
static enum status class_kind(const struct args *a, const char *verb, const char *arg,
                              struct err *err)
{
    const char *word = args_text(a, arg);
    const struct model_ops *kind = model_kind_named(word);

    if (!word || solver_is_free(word) || (kind && (kind->exact || (kind->alone && !kind->local))))
        return ST_OK;
    err_named(err, ST_UNSUPPORTED, "classes",
              "%s=%s is for a regression; two classes take the exact kernel or inducing points",
              arg, word);
    err_hint(err, "%s  |  %s solver=sparse  |  likelihood gaussian  (regression on the class)",
             verb, verb);
    return ST_UNSUPPORTED;
}

/* The kind that the line names by model= (fit) or solver=; NULL: none, or a solver of several. */
static const struct model_ops *named_kind(const struct args *a, bool model)
{
    const struct model_ops *by_solver = model_kind_named(args_text(a, "solver"));

    return by_solver ? by_solver : model ? model_kind_named(args_text(a, "model")) : NULL;
}

/* A support vector machine, which takes C=, is for two classes and cannot be tuned. */
static enum status margin_suits(const struct args *a, const struct dataset *d, struct err *err)
{
    const struct model_ops *kind = named_kind(a, true);

    if (kind && kind->margin && (!d->link || d->alpha > 0.0)) {
        err_named(err, ST_UNSUPPORTED, "svm",
                  "a support vector machine separates two classes, and the likelihood is that of "
                  "%s", d->link ? "several" : "a number");
        err_hint(err, "likelihood bernoulli, then fit solver=svm  |  fit");
        return ST_UNSUPPORTED;
    }
    if (args_given(a, "C") && !(kind && kind->margin)) {
        err_named(err, ST_USAGE, "svm", "C= is the price of errors of a support vector machine");
        err_hint(err, "fit solver=svm C=%s", args_text(a, "C"));
        return ST_USAGE;
    }
    return ST_OK;
}

/* Inducing points where the line asks for them, by solver= or by what only they have; *sparse says
 * whether it does.  Of the approximations FITC alone has a posterior of classes. */
static enum status class_points(struct workspace *ws, const struct args *a, const char *verb,
                                bool *sparse, struct select_opts *o, struct err *err)
{
    const struct model_ops *kind = named_kind(a, strcmp(verb, "tune") != 0);
    enum status rc = line_inducing(ws, a, kind != NULL, &kind, o, err);
    *sparse = kind && kind->points;
    if (rc == ST_OK && *sparse && args_given(a, "approx") && o->approx != BOUND_FITC) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "approx=%s is for a regression; two classes take fitc at inducing points",
                       bound_approx_words[o->approx]);
        err_hint(err, "%s solver=sparse inducing=100", verb);
    }
    if (*sparse)
        o->approx = BOUND_FITC;
    return rc;
}

/* Of several classes: their noise is far below the functions of smooth kernels, so that features in
 * single precision would limit the amplitudes. */
static enum precision label_precision(const struct workspace *ws, const struct args *a)
{
    return args_given(a, "precision") ? line_precision(ws, a) : PREC_DOUBLE;
}

/* The kind of model of classes that a fit by the solver of `asked` has; NULL: by any. */
static const struct model_ops *kind_under(const struct likelihood_ops *likelihood,
                                          const struct model_ops *asked)
{
    return model_kind_of(&(struct fit_opts){ .likelihood = likelihood,
                                             .solver = asked ? asked->solver : "auto" });
}

/* Of several classes, whether the kernel itself is used: as solver= and model= say; otherwise where
 * its factors, one for each class, are cheap and features= is not given. */
static enum status labels_exact(const struct args *a, const char *verb, const struct dataset *d,
                                const struct kernel *k, const struct likelihood_ops *l,
                                bool *exact, struct err *err)
{
    const char *solver = args_text(a, "solver");
    const char *model = strcmp(verb, "tune") ? args_text(a, "model") : NULL;
    const struct model_ops *kind = named_kind(a, model != NULL);
    const bool few = train_rows(d) <= LABELS_EXACT_ROWS;
    const bool has_exact = kind_under(l, model_kind_usual(true))->several;

    for (size_t i = 0; i < 2; i++) {
        const char *word = i ? model : solver;
        const struct model_ops *named = model_kind_named(word);
        if (!word || solver_is_free(word) || (named && model_kind_usual(named->exact) == named))
            continue;
        err_named(err, ST_UNSUPPORTED, "classes",
                  "%s=%s is for a regression; several classes take the exact kernel or random "
                  "features", i ? "model" : "solver", word);
        err_hint(err, "%s solver=exact  |  %s features=1024", verb, verb);
        return ST_UNSUPPORTED;
    }
    *exact = kind && kind->exact;
    if (*exact && kernel_learns(k)) {
        err_named(err, ST_UNSUPPORTED, "classes", "what a map learns are features");
        err_hint(err, "%s", verb);
        return ST_UNSUPPORTED;
    }
    if (!kind && !kernel_learns(k))
        *exact = kernel_draws_none(k) || (few && has_exact && !args_given(a, "features"));
    if (*exact && !has_exact) {
        err_named(err, ST_UNSUPPORTED, "classes",
                  "likelihood %s works on random features%s", l->name,
                  kernel_draws_none(k) ? ", of which this kernel has none" : "");
        err_hint(err, kernel_draws_none(k) ? "likelihood dirichlet, then fit"
                                           : "fit features=1024  |  likelihood dirichlet, then "
                                             "fit solver=exact");
        return ST_UNSUPPORTED;
    }
    return ST_OK;
}

/* tune of several classes: by the Dirichlet regressions, whose marginal likelihood has a closed
 * form, whatever the likelihood. */
static enum status tune_labels(const struct args *a, const struct dataset *d,
                               const struct kernel *k, struct tune_opts *o, struct err *err)
{
    static const char *const others[] = {
        "rank", "probes", "error", "objective", "inducing", "select", "approx", NULL
    };
    bool exact = false;
    enum status rc = only_classes(a, "tune features=1024", others, err);

    if (rc == ST_OK && o->approx) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "nmll=approx estimates the marginal likelihood of a regression");
        err_hint(err, "tune");
    }
    if (rc == ST_OK && d->balanced && kernel_learns(k)) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "a kernel that learns its features gives all rows the same weight");
        err_hint(err, "likelihood dirichlet classweights=no  |  kernel rbf");
    }
    if (rc == ST_OK)
        rc = labels_exact(a, "tune", d, k, &dirichlet_likelihood, &exact, err);
    o->likelihood = &dirichlet_likelihood;
    o->kind = kind_under(o->likelihood, exact ? model_kind_usual(true) : NULL);
    return rc;
}

static enum status tune_classes(struct workspace *ws, const struct args *a, const struct dataset *d,
                                const struct kernel *k, struct tune_opts *o, struct err *err)
{
    static const char *const others[] = {
        "rank", "probes", "error", "objective", "precision", NULL
    };
    if (d->alpha > 0.0)
        return tune_labels(a, d, k, o, err);
    enum status rc = no_features(a, "tune", err);
    bool sparse = false;

    if (rc == ST_OK)
        rc = only_classes(a, "tune", others, err);
    if (rc == ST_OK)
        rc = class_kind(a, "tune", "solver", err);
    if (rc == ST_OK && o->approx) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "nmll=approx estimates the marginal likelihood of a regression");
        err_hint(err, "tune");
    }
    if (rc == ST_OK)
        rc = class_points(ws, a, "tune", &sparse, &o->inducing, err);
    o->likelihood = likelihood_linked(d->link);
    o->kind = kind_under(o->likelihood, sparse ? model_kind_points() : NULL);
    return rc;
}

/* What nmll=approx costs beside the other way. */
static void tell_probes(struct workspace *ws, const struct tune_opts *o, size_t rows)
{
    char note[256];

    if (!o->approx)
        return;
    if (o->kind->draws && o->features <= DEFAULT_TUNE_FEATURES)
        ws_note(ws, "approx",
                "with features=%zu the Gram matrix gives the exact value at a lower cost "
                "(nmll=exact)",
                o->features);
    if (!o->kind->tuning->probes_note)
        return;
    o->kind->tuning->probes_note(o->subsample && o->subsample < rows ? o->subsample : rows,
                                 ws_limits(ws).memory, note);
    ws_note(ws, "approx", "%s", note);
}

/* Tunes at each of the widths that the line names, in the windows or the words of the kernel. */
static enum status tune_widths(struct workspace *ws, struct dataset *d, const struct kernel *k,
                               const struct tune_opts *o, const struct args *a, struct err *err)
{
    struct fitting_widths widths = { .name = args_given(a, "n") ? "n" : "width" };
    size_t *v = NULL;
    enum status rc = ST_OK;

    if (args_given(a, "width") && args_given(a, "n")) {
        err_set(err, ST_USAGE, "width= sets windows and n= words, one of them at a time");
        err_hint(err, "tune n=%s, then tune width=%s", args_text(a, "n"), args_text(a, "width"));
        return ST_USAGE;
    }
    if (args_given(a, widths.name))
        rc = args_ints(a, widths.name, &v, &widths.n, err);
    widths.v = v;
    if (rc == ST_OK)
        rc = fitting_tune_widths(ws, d, k, o, widths, args_line(a), err);
    free(v);
    return rc;
}

static enum status cmd_tune(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, args_text(a, "data"), err);
    struct tune_opts o = { 0 };
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    enum status rc = d ? line_kernel(ws, a, &k, hp, err) : err->code;

    memcpy(o.hp, ws->hp_bound, sizeof o.hp);
    o.amplitude = ws->amp_bound;
    o.noise = ws->noise_bound;
    double amplitude = ws->amplitude, noise = ws->noise; /* fixed values go into the bounds */
    if (rc == ST_OK)
        rc = hyper_args_bind(a, d, &k, hp, o.hp, err);
    if (rc == ST_OK)
        rc = hyper_args_merge(&k, a, &(struct ws_hyper){ hp, &amplitude, &noise },
                         &(struct ws_hyper_bounds){ o.hp, &o.amplitude, &o.noise }, err);
    if (rc != ST_OK)
        return rc;
    const struct tuner_ops *t = tuner_find(args_text(a, "method"), err);
    if (!t)
        return err->code;
    o.method = t->name;
    for (enum tune_objective i = TUNE_NMLL; i <= TUNE_VALID; i++)
        if (!strcmp(args_text(a, "objective"), tune_objective_name(i)))
            o.objective = i;
    tell_no_test(ws, d);
    const char *on = args_text(a, "solver");
    if (named_kind(a, false) && named_kind(a, false)->margin)
        return named_kind(a, false)->tuning->allowed(0, 0, 0, err);
    o.approx = !strcmp(args_text(a, "nmll"), "approx");
    o.kind = model_kind_named(on);
    rc = d->link ? tune_classes(ws, a, d, &k, &o, err)
                 : line_inducing(ws, a, o.kind != NULL, &o.kind, &o.inducing, err);
    if (rc != ST_OK)
        return rc;
    o.features = d->alpha > 0.0 && !args_given(a, "features")
                     ? CLASS_TUNE_FEATURES
                     : (size_t)args_int(a, "features", DEFAULT_TUNE_FEATURES);
    o.features += o.features & 1;
    rc = learned_args_tune(ws, a, &k, &o, err);
    if (rc != ST_OK)
        return rc;
    const bool exact = !o.kind && !args_given(a, "features") &&
                       (kernel_draws_none(&k) || kernel_counts_words(&k));
    const size_t most = kernel_is_flat(&k) ? EXACT_ONLY_ROWS : EXACT_TUNE_ROWS;
    const bool few = exact || (!o.approx && o.objective == TUNE_NMLL &&
                               !args_given(a, "features") && train_rows(d) <= most);
    if (!o.kind && few && !exact)
        ws_note(ws, "exact", "%zu training rows are tuned with the exact kernel (tune features=%d "
                             "uses random features)", train_rows(d), DEFAULT_TUNE_FEATURES);
    if (!o.kind)
        o.kind = model_kind_usual(few);
    o.rank = (size_t)args_int(a, "rank", 0);
    o.probes = (size_t)args_int(a, "probes", 0);
    o.error = args_given(a, "error") || !args_given(a, "probes") ? args_num(a, "error") : 0.0;
    o.subsample = (size_t)args_int(a, "rows", 0);
    tell_probes(ws, &o, train_rows(d));
    o.max_evals = (size_t)args_int(a, "evals", 0);
    o.restarts = (size_t)args_int(a, "restarts", 1);
    o.polish = args_bool(a, "polish");
    o.seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    o.precision = d->alpha > 0.0 ? label_precision(ws, a) : line_precision(ws, a);
    o.start = hp;
    return tune_widths(ws, d, &k, &o, a, err);
}

/* Fit. */

/* True if the line has an amplitude or a noise. */
static bool sets_scale(const struct args *a)
{
    for (size_t i = 0; i < args_hp(a); i++) {
        double lo, hi;
        const char *name = args_hp_at(a, i, &lo, &hi);
        if (!strcmp(name, "amplitude") || !strcmp(name, "noise"))
            return true;
    }
    return false;
}

static enum status fit_hp(struct workspace *ws, const struct args *a, const struct dataset *d,
                          struct fit_opts *o, struct err *err)
{
    const bool set = sets_scale(a);

    o->amplitude = ws->amplitude;
    o->noise = ws->noise;
    enum status rc = hyper_args_bind(a, d, &o->kernel, o->hp, NULL, err);
    if (rc == ST_OK)
        rc = hyper_args_merge(&o->kernel, a,
                              &(struct ws_hyper){ o->hp, &o->amplitude, &o->noise }, NULL, err);
    if (rc != ST_OK)
        return rc;
    /* A value that the user has set is kept; one from a tuning may follow these features. */
    const struct rescale *rule = rescale_find(args_text(a, "rescale"));
    rescale_apply(rule, o);
    /* Left-out rows tell nothing new to features that were learned from them. */
    o->keep_scale |= !ws->scale_tuned || kernel_learns(&o->kernel);
    o->keep_scale |= set;
    /* A tuning of several targets finds one ratio; each target keeps its own amplitude for it. */
    if (o->keep_scale && ws->scale_tuned && !set && dataset_targets(d) > 1) {
        o->keep_scale = false;
        o->keep_ratio = true;
        o->scale = SCALE_LIKELIEST;
    }
    if (!ws->hp_tuned && !args_hp(a))
        ws_tell(ws, REC_NOTE, NULL, "untuned", "tune, then fit",
                "the hyperparameters are starting values, not tuned ones");
    return ST_OK;
}

static enum status fit_variance(const struct args *a, struct fit_opts *o, struct err *err)
{
    const char *v = args_text(a, "variance");
    double n;

    if (args_given(a, "samples"))
        o->samples = (size_t)args_int(a, "samples", 0);
    if (!strcmp(v, "samples")) {
        o->variance = VAR_SAMPLES;
        o->samples = o->samples ? o->samples : SAMPLES;
        return ST_OK;
    }
    if (!strcmp(v, "auto") || !strcmp(v, "all") || !strcmp(v, "none")) {
        o->variance = v[1] == 'u' ? VAR_AUTO : v[0] == 'a' ? VAR_ALL : VAR_NONE;
        return ST_OK;
    }
    if (!text_scaled(v, &n) || n < 2 || n != floor(n) || n > 1e6) {
        err_set(err, ST_RANGE,
                "variance=%s is not auto, all, none, samples or a number of features", v);
        err_hint(err, "fit variance=4096");
        return ST_RANGE;
    }
    o->variance = VAR_COUNT;
    o->variance_count = (size_t)n + ((size_t)n & 1);
    return ST_OK;
}

/* model= and solver=, where both are given, must go together. */
static enum status fit_kind(const struct args *a, const struct model_ops *asked,
                            struct fit_opts *o, struct err *err)
{
    const char *solver = args_text(a, "solver");

    o->kind = model_kind_named(args_text(a, "model")); /* NULL: auto */
    if (!o->kind || !asked || asked == o->kind)
        return ST_OK;
    err_set(err, ST_USAGE, "solver=%s works on the %s, not on model=%s", solver, asked->words,
            o->kind->name);
    err_hint(err, "fit model=%s solver=%s, or fit model=%s solver=pcg", asked->name, solver,
             o->kind->name);
    return ST_USAGE;
}

/* What solver= stands for where it is free: the exact kernel by Cholesky for few rows. */
static void fit_free(struct workspace *ws, const struct args *a, const struct dataset *d,
                     struct fit_opts *o)
{
    const size_t rows = train_rows(d), features = (size_t)args_int(a, "features", 0);

    o->solver = "auto";
    if (o->kind || args_given(a, "rank"))
        return;
    const size_t most = kernel_is_flat(&o->kernel) ? EXACT_ONLY_ROWS : EXACT_FIT_ROWS;
    if (!args_given(a, "features") && rows <= most) {
        o->solver = model_kind_usual(true)->solver;
        ws_note(ws, "exact",
                "%zu training rows are fitted exactly, by Cholesky (fit features=%d uses random "
                "features)", rows, DEFAULT_FEATURES);
    } else if (features > rows && exact_allowed(rows, 1, ws->opt.mem, NULL) == ST_OK) {
        ws_note(ws, "exact",
                "features=%zu are more than the %zu training rows: fit solver=exact takes less "
                "time and approximates nothing", features, rows);
    }
}

static enum status fit_methods(struct workspace *ws, const struct args *a, const struct dataset *d,
                               struct fit_opts *o, struct err *err)
{
    const char *name = args_text(a, "solver");
    const struct model_ops *asked = model_kind_by(name);
    const struct solver_ops *s = NULL;
    const bool own = model_kind_own(name) != NULL;
    enum status rc = ST_OK;

    if (own)
        rc = solver_params_parse("solver", asked->solver, asked->params, name + strcspn(name, "("),
                                 o->solver_params, err);
    else if (!solver_is_free(name))
        rc = solver_parse(name, &s, o->solver_params, err);
    if (rc == ST_OK)
        rc = fit_kind(a, s ? model_kind_by(s->name) : asked, o, err);
    if (rc == ST_OK) {
        const struct model_ops *kind = asked ? asked : s ? model_kind_by(s->name) : o->kind;
        rc = line_inducing(ws, a, kind || s, &kind, &o->inducing, err);
        o->kind = o->kind ? o->kind : kind;
    }
    if (rc == ST_OK && kernel_learns(&o->kernel) && !o->kind)
        o->kind = model_kind_usual(false);
    if (rc != ST_OK)
        return rc;
    const bool exact = !o->kind && !args_given(a, "features") &&
                       (kernel_draws_none(&o->kernel) || kernel_counts_words(&o->kernel));
    if (exact)
        o->kind = model_kind_usual(true);
    if (solver_is_free(name) && o->kind &&
        (o->kind->alone || (exact && train_rows(d) <= EXACT_ONLY_ROWS)))
        o->solver = o->kind->solver;
    else if (solver_is_free(name))
        fit_free(ws, a, d, o);
    else
        o->solver = own ? asked->solver : s->name;
    if (args_given(a, "precond")) {
        const struct precond_ops *p = precond_find(args_text(a, "precond"), err);
        if (!p)
            return err->code;
        o->precond = p->name;
    }
    for (int i = 0; model_plan_words[i]; i++)
        if (!strcmp(args_text(a, "plan"), model_plan_words[i]))
            o->plan = (enum plan)i;
    for (int i = 0; model_store_words[i]; i++)
        if (!strcmp(args_text(a, "store"), model_store_words[i]))
            o->store = (enum storing)i;
    return ST_OK;
}

/* Small, nearly noiseless data reach the limit of single precision first, and double costs them
 * least.  A precision that the user names is used. */
static bool small_enough(const struct workspace *ws, const struct args *a, size_t rows,
                         const struct fit_opts *o)
{
    return !args_given(a, "precision") && model_kind_of(o)->draws &&
           !strcmp(option_origin(ws->origin, "precision"), "default") &&
           (double)rows * (double)o->features <= DOUBLE_ENTRIES;
}

/* Reads features, tolerance, precision and seed. */
static void fit_sizes(struct workspace *ws, const struct args *a, const struct dataset *d,
                      struct fit_opts *o)
{
    o->features = (size_t)args_int(a, "features", DEFAULT_FEATURES);
    o->features += o->features & 1;
    o->rtol = args_num(a, "rtol");
    o->maxit = args_given(a, "maxit") || model_kind_of(o)->draws
                   ? (size_t)args_int(a, "maxit", 500) : 0; /* 0: the solver's own */
    o->precision = line_precision(ws, a);
    if (o->precision == PREC_FLOAT && !kernel_learns(&o->kernel) &&
        small_enough(ws, a, train_rows(d), o)) {
        o->precision = PREC_DOUBLE;
        ws_note(ws, "precision", "%zu rows x %zu features are few enough for double precision at "
                                 "hardly any cost (fit precision=float uses single "
                                 "precision)", train_rows(d),
                o->features);
    }
    o->seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
}

enum status cmd_model_fit(struct workspace *ws, const struct args *a, struct dataset *d,
                         struct fit_opts *o, struct err *err)
{
    enum status rc = line_kernel(ws, a, &o->kernel, o->hp, err);

    if (rc == ST_OK)
        rc = fit_hp(ws, a, d, o, err);
    o->solver = solver_usual()->name;
    o->variance = VAR_AUTO;
    if (rc == ST_OK)
        fit_sizes(ws, a, d, o);
    return rc;
}

/* Finds the run whose weights are the start. */
static enum status fit_start(struct workspace *ws, const char *name, struct run **r,
                             struct fit_opts *o, struct err *err)
{
    *r = ws_run(ws, name, err);
    if (!*r)
        return err->code;
    if ((*r)->kind != RUN_FIT || !(*r)->model) {
        err_set(err, ST_STATE, "%s has no fit to start from", (*r)->id);
        err_hint(err, "runs");
        return ST_STATE;
    }
    o->start = (*r)->model;
    return ST_OK;
}

/* The fit whose weights are the solution. */
static enum status fit_against(struct workspace *ws, const struct args *a, struct fit_opts *o,
                               struct err *err)
{
    if (!args_given(a, "against"))
        return ST_OK;
    const struct run *r = ws_run(ws, args_text(a, "against"), err);
    if (!r)
        return err->code;
    if (r->kind != RUN_FIT || !r->model || !r->model->kind->exact || !model_kind_of(o)->exact) {
        err_set(err, ST_STATE, "against= compares the weights of two fits of the exact kernel");
        err_hint(err, "fit model=exact solver=exact, then fit model=exact solver=pcg against=it");
        return ST_STATE;
    }
    o->against = r->model;
    return ST_OK;
}

/* Beside continue=, the line may only say how far to go, and how. */
static enum status continue_changes(const struct args *a, struct fit_opts *o, struct err *err)
{
    static const char *const fixed[] = {"data",    "kernel", "seed", "from",
                                        "rescale", "plan",   "store", "model", "C"};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (args_given(a, fixed[i]) || args_hp(a)) {
            err_set(err, ST_USAGE, "continue= takes data, kernel, hyperparameters, seed and plan "
                                   "from the run; leave %s out, or start another fit from the run",
                    args_given(a, fixed[i]) ? fixed[i] : "hyperparameters");
            err_hint(err, "fit from=RUN");
            return ST_USAGE;
        }
    const size_t features =
        args_given(a, "features") ? (size_t)args_int(a, "features", 0) : o->features;
    const size_t even = features + (features & 1);
    if (even != o->features) { /* the rank and noise ratio belong to the earlier features */
        o->features = even;
        o->rank = 0;
        o->keep_ratio = false;
    }
    if (args_given(a, "rank"))
        o->rank = (size_t)args_int(a, "rank", 0);
    if (args_given(a, "precond")) {
        const struct precond_ops *p = precond_find(args_text(a, "precond"), err);
        if (!p)
            return err->code;
        o->precond = p->name;
    }
    if (args_given(a, "rtol"))
        o->rtol = args_num(a, "rtol");
    if (args_given(a, "maxit"))
        o->maxit = (size_t)args_int(a, "maxit", 500);
    if (args_given(a, "precision"))
        o->precision = strcmp(args_text(a, "precision"), "double") ? PREC_FLOAT : PREC_DOUBLE;
    return args_given(a, "variance") || args_given(a, "samples") ? fit_variance(a, o, err)
                                                                : ST_OK;
}

/* What the lines of several classes refuse: all that belongs to a regression, but for a likelihood
 * whose fits are iterated. */
static enum status only_labels(const struct args *a, const struct likelihood_ops *l,
                               struct err *err)
{
    static const char *const others[] = {
        "rank", "precond", "samples", "plan", "store", "inducing", "select", "approx", "rescale",
        "against", NULL
    };
    static const char *const iterated[] = { "rtol", "maxit", "variance", "from", NULL };
    const struct model_ops *kind = model_kind_of(&(struct fit_opts){ .likelihood = l });
    enum status rc = only_classes(a, "fit features=2048", others, err);

    if (rc == ST_OK && !kind->iterates)
        rc = only_classes(a, "fit features=2048", iterated, err);
    if (rc == ST_OK && kind->iterates && args_given(a, "variance") &&
        strcmp(args_text(a, "variance"), "none") && strcmp(args_text(a, "variance"), "all")) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "variance=%s is for a regression; of several classes it is none or all",
                       args_text(a, "variance"));
        err_hint(err, "fit variance=all  |  fit");
    }
    return rc;
}

/* fit continue=r7: the same fit from where it stopped; with features=, a fit with other features
 * that starts there. */
static enum status fit_continue(struct workspace *ws, const struct args *a, struct err *err)
{
    struct fit_opts o = { 0 }, given = { 0 };
    struct run *r;
    enum status rc = fit_start(ws, args_text(a, "continue"), &r, &o, err);

    if (rc != ST_OK)
        return rc;
    const bool classes = r->model && r->model->kind->classes;
    if (r->info.why == OUT_DIRECT || (classes && !r->model->kind->iterates)) {
        err_set(err, ST_STATE, "%s was solved directly, so there is nothing to continue", r->id);
        err_hint(err, "score %s", r->id);
        return ST_STATE;
    }
    if (!r->data) {
        err_set(err, ST_STATE, "the data of %s are no longer available", r->id);
        err_hint(err, "open FILE, then fit");
        return ST_STATE;
    }
    o = r->fit;
    if (solver_is_free(o.solver) && !classes) { /* the one that the fit chose */
        const struct solver_ops *chosen = solver_find(r->info.solver, NULL);
        o.solver = chosen ? chosen->name : solver_usual()->name;
    }
    o.start = r->model;
    o.amplitude = r->model->amplitude;
    o.noise = r->model->noise;
    o.keep_ratio = true;
    if (r->info.rank) /* keep the rank that was chosen */
        o.rank = r->info.rank;
    if (r->model->state && !classes) { /* it goes on to the end that was planned */
        o.amplitude = r->fit.amplitude;
        o.noise = r->fit.noise;
        o.maxit = 0;
    }
    bool exact = false;
    if (classes && (rc = only_labels(a, o.likelihood, err)) == ST_OK)
        rc = labels_exact(a, "fit", r->data, &o.kernel, o.likelihood, &exact, err);
    if (rc == ST_OK)
        rc = continue_changes(a, &o, err);
    if (rc == ST_OK && args_given(a, "solver") && !classes) {
        rc = fit_methods(ws, a, r->data, &given, err);
        o.solver = given.solver;
        memcpy(o.solver_params, given.solver_params, sizeof o.solver_params);
    }
    if (rc == ST_OK)
        rc = fit_against(ws, a, &o, err);
    return rc == ST_OK ? fitting_fit(ws, r->data, &o, args_line(a), err) : rc;
}

/* Notes options that have no effect together with the rest of the line. */
static void unused(struct workspace *ws, const struct args *a, const struct fit_opts *o)
{
    static const char *const of_rows[] = { "features", "rank", "precond", "plan", "store", NULL };
    static const char *const of_exact[] = { "features", NULL };
    static const char *const of_points[] = { "features", "rank",  "precond", "plan",
                                             "store",    "maxit", "rtol",    NULL };
    static const char *const of_nearest[] = { "features", "rank", "precond", "plan", "store",
                                              "maxit",    "rtol", "variance", "from", NULL };
    static const char *const of_steps[] = { "features", "rank", "precond", NULL };
    static const char *const of_direct[] = { "rank", "precond", "rtol", "maxit", NULL };
    static const char *const of_plain[] = { "rank", "precond", NULL };
    const struct solver_ops *s = solver_find(o->solver, NULL);
    const struct precond_ops *p = o->precond ? precond_find(o->precond, NULL) : NULL;
    const bool drawn = model_kind_of(o)->draws, plain = s && !s->uses_precond;
    const bool products = !drawn && (s ? s->uses_precond : solver_is_free(o->solver));
    const char *const *names = model_kind_of(o)->local       ? of_nearest
                               : model_kind_of(o)->alone     ? of_points
                               : products                    ? of_exact
                               : !drawn && s && s->iterative ? of_steps
                               : !drawn                      ? of_rows
                               : plain && !s->iterative      ? of_direct
                                                             : of_plain;
    struct buf list = { 0 };

    for (; (!drawn || plain) && *names; names++)
        if (args_given(a, *names))
            buf_printf(&list, "%s%s=", list.len ? ", " : "", *names);
    if (list.len)
        ws_tell(ws, REC_NOTE, NULL, "unused", drawn ? "fit solver=pcg" : "fit features=2048",
                "a fit with %s=%s does not use %s", products ? "model" : "solver",
                products ? model_kind_of(o)->name : o->solver, buf_str(&list));
    buf_free(&list);
    if (drawn && !plain && p && !p->ranked && args_given(a, "rank"))
        ws_tell(ws, REC_NOTE, NULL, "unused", "fit precond=srht2",
                "precond=%s has no rank, so rank= is not used", p->name);
    else if (drawn && !plain && o->rank > o->features)
        ws_tell(ws, REC_NOTE, NULL, "unused", NULL,
                "rank=%zu is more than the %zu features, so all of them are used",
                o->rank, o->features);
    if (drawn && (args_int(a, "features", 0) & 1))
        ws_tell(ws, REC_NOTE, NULL, "unused", NULL, "features come in pairs, so %zu are used",
                o->features);
}

/* Says where an exact fit takes the noise of a tuning with random features, which holds what these
 * miss. */
static void tell_noise(struct workspace *ws, const struct fit_opts *o)
{
    for (size_t i = ws->nrun; i-- > 0 && model_kind_of(o)->exact;) {
        const struct run *t = ws->run[i];
        if (t->kind != RUN_TUNE || !t->tune.evaluations || t->tune.best.noise != o->noise ||
            t->tune.best.amplitude != o->amplitude)
            continue;
        if (run_model_kind(t)->draws && !kernel_learned_features(&o->kernel))
            ws_tell(ws, REC_NOTE, NULL, "noise-of-features",
                    kernel_learns(&o->kernel) ? "tune features=2048, then fit solver=exact"
                                              : "tune solver=exact rows=3000, then fit",
                    "%s found the noise with %zu random features: it contains what these miss, "
                    "and is probably too large for the exact kernel", t->id, t->topt.features);
        return;
    }
}

/* fit of several classes: on random features, or where the likelihood has it the exact kernel. */
static enum status fit_labels(struct workspace *ws, const struct args *a, struct dataset *d,
                              struct fit_opts *o, struct err *err)
{
    bool exact = false;
    struct run *from;
    enum status rc = margin_suits(a, d, err);

    o->likelihood = likelihood_linked(d->link);
    if (rc == ST_OK)
        rc = only_labels(a, o->likelihood, err);
    if (rc == ST_OK)
        rc = fit_hp(ws, a, d, o, err);
    if (rc == ST_OK)
        rc = labels_exact(a, "fit", d, &o->kernel, o->likelihood, &exact, err);
    if (rc == ST_OK && args_given(a, "from"))
        rc = fit_start(ws, args_text(a, "from"), &from, o, err);
    if (rc != ST_OK)
        return rc;
    o->solver = exact ? model_kind_usual(true)->solver : "auto";
    o->noise = 1.0;
    const bool all = args_given(a, "variance") && !strcmp(args_text(a, "variance"), "all");
    o->variance = all ? VAR_ALL : VAR_AUTO;
    o->rtol = args_given(a, "rtol") ? args_num(a, "rtol") : 0.0;
    o->maxit = args_given(a, "maxit") ? (size_t)args_int(a, "maxit", 0) : 0;
    /* An amplitude that the user has given serves all classes; otherwise each finds its own. */
    o->keep_scale = sets_scale(a) || (!ws->scale_tuned && o->amplitude != 1.0);
    o->features = 2 * train_rows(d);
    if (args_given(a, "features"))
        o->features = (size_t)args_int(a, "features", CLASS_FEATURES_MOST);
    else if (o->features < CLASS_FEATURES_LEAST || o->features > CLASS_FEATURES_MOST)
        o->features = o->features < CLASS_FEATURES_LEAST ? CLASS_FEATURES_LEAST
                                                         : CLASS_FEATURES_MOST;
    o->features += o->features & 1;
    o->precision = label_precision(ws, a);
    o->seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    rc = learned_args_fit(ws, a, o, err);
    return rc == ST_OK ? fitting_fit(ws, d, o, args_line(a), err) : rc;
}

/* fit under likelihood bernoulli. */
static enum status fit_classes(struct workspace *ws, const struct args *a, struct dataset *d,
                               struct fit_opts *o, struct err *err)
{
    static const char *const others[] = {
        "rank", "precond", "rtol", "maxit", "variance", "samples", "plan", "store",
        "precision", "rescale", "from", "against", NULL
    };
    if (d->alpha > 0.0)
        return fit_labels(ws, a, d, o, err);
    const struct model_ops *kind = named_kind(a, true);
    enum status rc = no_features(a, "fit", err);
    bool sparse = false;

    if (rc == ST_OK)
        rc = only_classes(a, "fit", others, err);
    if (rc == ST_OK)
        rc = margin_suits(a, d, err);
    if (rc == ST_OK)
        rc = class_kind(a, "fit", "solver", err);
    if (rc == ST_OK)
        rc = class_kind(a, "fit", "model", err);
    if (rc == ST_OK)
        rc = class_points(ws, a, "fit", &sparse, &o->inducing, err);
    if (rc == ST_OK && (rc = learned_args_two(&o->kernel, err)) == ST_OK)
        rc = fit_hp(ws, a, d, o, err);
    if (rc != ST_OK)
        return rc;
    o->likelihood = likelihood_linked(d->link);
    o->solver = sparse                 ? model_kind_points()->solver
                : kind && kind->margin ? kind->solver
                                       : "auto";
    o->cost = kind && kind->margin ? args_num(a, "C") : 0.0;
    o->noise = 1.0;
    o->keep_scale = true;
    o->seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    return fitting_fit(ws, d, o, args_line(a), err);
}

static enum status cmd_fit(struct workspace *ws, const struct args *a, struct err *err)
{
    if (args_given(a, "continue"))
        return fit_continue(ws, a, err);
    struct dataset *d = ws_dataset(ws, args_text(a, "data"), err);
    struct fit_opts o = { 0 };
    enum status rc = d ? line_kernel(ws, a, &o.kernel, o.hp, err) : err->code;

    if (rc == ST_OK && d->link)
        return fit_classes(ws, a, d, &o, err);
    if (rc == ST_OK)
        rc = margin_suits(a, d, err);
    if (rc == ST_OK)
        rc = fit_hp(ws, a, d, &o, err);
    if (rc == ST_OK)
        rc = fit_variance(a, &o, err);
    if (rc == ST_OK)
        rc = fit_methods(ws, a, d, &o, err);
    if (rc != ST_OK)
        return rc;
    fit_sizes(ws, a, d, &o);
    rc = learned_args_fit(ws, a, &o, err);
    if (rc != ST_OK)
        return rc;
    o.rank = (size_t)args_int(a, "rank", 0);
    unused(ws, a, &o);
    tell_noise(ws, &o);
    struct run *from;
    if ((rc = fit_against(ws, a, &o, err)) != ST_OK)
        return rc;
    if (args_given(a, "from") &&
        (rc = fit_start(ws, args_text(a, "from"), &from, &o, err)) != ST_OK)
        return rc;
    return fitting_fit(ws, d, &o, args_line(a), err);
}

#define DATA_ARG                                                                                   \
    {                                                                                              \
        "data", ARG_DATASET, ARGF_POS, ".", 0, 0, NULL, NULL, "dataset; . is the current one"      \
    }
#define SEED_ARG                                                                                   \
    {                                                                                              \
        "seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL,                                             \
            "seed of the random features; default: set seed"                                       \
    }
#define PRECISION_ARG                                                                              \
    {                                                                                              \
        "precision", ARG_CHOICE, 0, "float", 0, 0, "float|double", NULL,                           \
            "precision of the computed features; sums are always double"                           \
    }
#define INDUCING_ARGS                                                                              \
    {"inducing", ARG_INT, 0, "100", 1, 65536, NULL, "points",                                      \
     "solver=sparse: how many points the model keeps"},                                            \
        {"approx", ARG_CHOICE, 0, "vfe", 0, 0, "vfe|fitc|dtc", NULL,                               \
         "solver=sparse: vfe, whose figure is a bound of the log likelihood, fitc or dtc"},        \
    {                                                                                              \
        "select", ARG_SELECT, 0, "random", 0, 0, NULL, NULL,                                       \
            "solver=sparse: how the points are chosen: {selections}; greedy(subset=20), "          \
            "anneal(steps=20m)"                                                                    \
    }
#define KERNEL_ARG                                                                                 \
    {                                                                                              \
        "kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "kernel; default: the current one"        \
    }

struct command cmd_model_rows[] = {
    {"kernel",
     "model",
     "List kernels, or set the current one",
     "kernel matern(nu=5/2)",
     {{"kernel", ARG_KERNEL, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "rbf, matern(nu=3/2,ard), rbf(ard=group), rbf(l=0.3), rbf * periodic + linear; help "
       "kernels"}},
     CMD_CHANGES | CMD_DRY,
     cmd_kernel,
     "l= (lengthscale) is in units of the standardised inputs; a value given here is where tuning "
     "starts."},
    {"tune",
     "model",
     "Choose hyperparameters by the marginal likelihood",
     "tune features=512 evals=12",
     {DATA_ARG,
      KERNEL_ARG,
      {"features", ARG_INT, 0, "2048", 2, 32768, NULL, "columns",
       "number of random features for the tuning; of several classes 512, unless given"},
      {"solver", ARG_CHOICE, 0, "auto", 0, 0, REGISTRY_WORDS_MODELS, NULL,
       "exact kernel (few rows), random features, sparse: inducing points, or nn: the exact kernel "
       "on 2000 rows"},
      INDUCING_ARGS,
      {"method", ARG_TUNER, 0, "bayes", 0, 0, NULL, NULL,
       "search method: {tuners}"},
      {"objective", ARG_CHOICE, 0, "nmll", 0, 0, "nmll|loo|validation", NULL,
       "what to minimise: nmll; loo: the leave-one-out error; validation: the error on the rows of "
       "split valid="},
      {"nmll", ARG_CHOICE, 0, "exact", 0, 0, "exact|approx", NULL,
       "how to compute it on all rows: by a factor of the matrix, or by PCG and random probes "
       "(many features, or solver=exact beyond the rows of a Cholesky factor)"},
      {"probes", ARG_INT, 0, "16", 2, 1024, NULL, "probes",
       "random probes for each evaluation of nmll=approx"},
      {"error", ARG_SHARE, 0, "0.1%", 1e-5, 1, NULL, NULL,
       "add probes until the last nmll=approx has this relative standard error; not with probes="},
      {"rank", ARG_INT, 0, "auto", 16, 16384, "auto", "columns",
       "rank of the preconditioner of nmll=approx; auto: the least predicted time (a note says "
       "which)"},
      {"evals", ARG_INT, 0, NULL, 1, 10000, NULL, "evaluations",
       "largest number of evaluations, search and refinement together (default 30 for the search, "
       "90 with ARD or many hyperparameters, and more to refine)"},
      {"restarts", ARG_INT, 0, "1", 1, RESTARTS_MOST, NULL, "runs",
       "number of searches from different starts, each its own run; the best is used"},
      {"rows", ARG_INT, 0, NULL, 10, 1e12, NULL, "rows",
       "rows for the search (default: the program chooses, with a note); the last points use all "
       "rows, but with solver=exact these; kernel mlp, cnn: the most rows of a subset (20000)"},
      {"steps", ARG_INT, 0, "200", 1, 1e6, NULL, "steps",
       "kernel mlp, cnn: steps of Adam, each on one subset of the rows"},
      {"rate", ARG_REAL, 0, "0.01", 1e-8, 1, NULL, NULL,
       "kernel mlp, cnn: rate of the first step, which falls to 0 along a cosine"},
      {"subsets", ARG_INT, 0, "4", 1, 64, NULL, "subsets",
       "kernel mlp, cnn: into how many the rows are dealt at random"},
      {"stop", ARG_CHOICE, 0, "steps", 0, 0, "steps|valid", NULL,
       "kernel mlp, cnn: valid keeps the best weights by the validation rows, and ends when these "
       "have got no better for a quarter of the steps"},
      {"continue", ARG_RUN, 0, NULL, 0, 0, NULL, NULL,
       "kernel mlp, cnn: begin at the weights of a tuning; steps= more, at a rate that falls anew"},
      {"polish", ARG_BOOL, 0, "yes", 0, 0, NULL, NULL,
       "refine on all rows, by L-BFGS with exact gradients or, in one dimension, Brent's method"},
      {"width", ARG_INTS, 0, NULL, 1, KERNEL_WIDTH_MOST, NULL, "positions",
       "widths of the windows of {windows} to tune, such as 3,5,9; the best is kept"},
      {"n", ARG_INTS, 0, NULL, 1, KERNEL_WIDTH_MOST, NULL, "letters",
       "letters of the words of {words} to tune, such as 2..6; the best is kept"},
      PRECISION_ARG,
      SEED_ARG},
     CMD_JOB | CMD_SETS | CMD_NEEDS_DATA | CMD_CHANGES | CMD_HP_KEYS | CMD_DRY,
     cmd_tune,
     "Hyperparameters can be fixed (noise=0.1) or bounded (l=0.01..10). The result becomes\n"
     "current: the next fit uses it. With several targets, the sum of their NMLL is minimised\n"
     "(help targets).\n"
     "restarts=4 makes four runs, the first from the current values, the others from starts of\n"
     "their own. The one with the least NMLL is used; compare t1 t2 t3 t4 shows them side by\n"
     "side. Ctrl-C (or stop restarts) ends the running search and those that wait, and the best\n"
     "so far counts; stop t2 ends only that one, and the next begins."},
    {"fit",
     "model",
     "Fit a Gaussian process at the current hyperparameters",
     "fit features=1024",
     {DATA_ARG,
      KERNEL_ARG,
      {"model", ARG_CHOICE, 0, "auto", 0, 0, REGISTRY_WORDS_MODELS, NULL,
       "random features, the exact kernel on any number of rows, inducing points, or the nearest "
       "rows of each; auto: exact for few rows"},
      {"solver", ARG_SOLVER, 0, "auto", 0, 0, NULL, NULL,
       "{solvers}; svrg(batch=256,step=0.5), nn(neighbours=400)"},
      {"features", ARG_INT, 0, "4096", 2, 1048576, NULL, "columns",
       "number of random features (columns of Z); of several classes, unless given, twice the "
       "training rows between 512 and 2048"},
      INDUCING_ARGS,
      {"C", ARG_REAL, 0, "1", 1e-9, 1e9, NULL, NULL,
       "solver=svm: the price of errors; amplitude^2 C decides"},
      {"rank", ARG_INT, 0, "auto", 1, 65536, "auto", "columns",
       "rank of the preconditioner; auto: the least predicted time (a note says which)"},
      {"precond", ARG_PRECOND, 0, NULL, 0, 0, NULL, NULL,
       "{preconditioners}"},
      {"rtol", ARG_REAL, 0, "1e-6", 1e-15, 1, NULL, NULL,
       "relative residual at which the fit ends"},
      {"maxit", ARG_INT, 0, "500", 1, 1e7, NULL, "iterations", "largest number of iterations"},
      {"variance", ARG_WORD, 0, "auto", 0, 0, NULL, NULL,
       "auto, all, none, samples, or a number of features"},
      {"samples", ARG_INT, 0, "0", 0, 4096, NULL, "functions",
       "functions of the posterior to solve for beside the weights: for predict samples=, suggest "
       "and variances where there is no factor"},
      {"from", ARG_RUN, 0, NULL, 0, 0, NULL, NULL,
       "start the iteration at a run's weights, or with other features at its predictions"},
      {"continue", ARG_RUN, 0, NULL, 0, 0, NULL, NULL,
       "continue a stopped fit; rtol=, maxit=, solver=, rank= and features= may change"},
      {"against", ARG_RUN, 0, NULL, 0, 0, NULL, NULL,
       "an exact fit with the solution: looks on the way compare weights and errors with it"},
      {"rescale", ARG_CHOICE, 0, "yes", 0, 0, RESCALE_CHOICES, NULL,
       "after a tuning, move the ratio of noise to amplitude, their scale and the reach of "
       "intervals (yes), only the ratio (ratio), all but it (scale) or none (no) to what suits "
       "left-out rows"},
      {"plan", ARG_CHOICE, 0, "auto", 0, 0, "auto|store|regenerate|direct", NULL,
       "store features (or the matrix of an exact kernel), regenerate them in each pass, or form "
       "Z'Z"},
      {"store", ARG_CHOICE, 0, "auto", 0, 0, "auto|float32|float16|bits", NULL,
       "how plan=store keeps them; auto: float16 only where float32 exceeds --mem, signs as bits"},
      PRECISION_ARG,
      SEED_ARG},
     CMD_JOB | CMD_NEEDS_DATA | CMD_CHANGES | CMD_HP_KEYS | CMD_DRY,
     cmd_fit,
     "With few rows the fit is exact, unless features= is given. Hyperparameters can be given\n"
     "here: fit l=0.5 noise=0.1."},
    {"race",
     "model",
     "Compare solvers, ranks, preconditioners or kernels on one clock",
     "race pcg(rank=64),cg,lbfgs features=512 rtol=1e-3",
     {{"solvers", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "pcg(rank=256),psvrg(rank=256,batch=64),lbfgs; default pcg"},
      {"by", ARG_CHOICE, 0, "passes", 0, 0, "passes|seconds|iteration", NULL,
       "what the horizontal axis counts"},
      {"for", ARG_SECONDS, 0, NULL, 0.001, 1e9, NULL, "seconds",
       "stop each fit after this time: 60s, 5m"},
      {"losers", ARG_REAL, 0, NULL, 1, 1e6, NULL, "times",
       "stop each fit at this multiple of the fastest one's clock"},
      {"settings", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "settings of fit; rank=, features=, precond=, kernel=, precision= and plan= can be lists"}},
     CMD_BARRIER | CMD_NEEDS_DATA,
     cmd_race,
     "Each contender is fitted without variances, one after the other; plot race shows them\n"
     "live. race alone shows the table again.\n"
     "  race rank=64,256,1024 features=4096\n"
     "  race precond=gauss,srht,srht2 rank=256\n"
     "  race sdd,gd,pcg(precond=pchol) model=exact against=r1   (r1 is solver=exact)\n"
     "  race kernel=rbf,matern(nu=3/2) rank=256 l=1 noise=0.1   (the last kernel becomes current)\n"
     "Ctrl-C stops the running fit, and the next begins; losers=3 stops slow fits\n"
     "automatically; stop * ends the race. Seconds count from the start of each fit."},
    {.name = NULL},
};
