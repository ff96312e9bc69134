/* app/session/store_read_run.c -- reads fits and tunings from the session: settings, figures,
 * traces. */
#include "app/session/store_load.h"

#include "app/core/measures.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/models/rescale.h"
#include "compute/tuners/learn.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Settings point to the names that the registries own. */
static const char *solver_name(struct jdoc *j)
{
    const char *found = NULL;
    char *text = store_doc_str(j, "$.fit.solver");

    if (text && solver_is_free(text))
        found = "auto";
    for (size_t i = 0; text && !found && model_kind_at(i); i++) {
        const char *own = model_kind_at(i)->solver;
        found = own && strcmp(own, text) == 0 ? own : NULL;
    }
    for (size_t i = 0; text && !found && solver_at(i); i++)
        found = strcmp(solver_at(i)->name, text) == 0 ? solver_at(i)->name : NULL;
    if (text && !found)
        store_doc_wrong(j, "$.fit.solver is not known");
    free(text);
    return found;
}

/* The kind of model that was asked for; NULL: none was. */
static const struct model_ops *read_kind(struct jdoc *j)
{
    char *text = store_doc_has(j, "$.fit.model") ? store_doc_str(j, "$.fit.model") : NULL;
    const struct model_ops *found = model_kind_named(text);

    if (text && !found)
        store_doc_wrong(j, "$.fit.model is not known");
    free(text);
    return found;
}

static const char *read_precond_name(struct jdoc *j)
{
    const char *found = NULL;
    char *text = store_doc_str(j, "$.fit.precond");

    for (size_t i = 0; text && !found && precond_at(i); i++)
        found = strcmp(precond_at(i)->name, text) == 0 ? precond_at(i)->name : NULL;
    if (text && !found)
        store_doc_wrong(j, "$.fit.precond is not known");
    free(text);
    return found;
}

/* The points that a sparse model was to have; what is missing is none. */
static void read_inducing(struct jdoc *j, const char *in, struct select_opts *o)
{
    struct err why = { 0 };

    if (!store_doc_has(j, "%s.inducing", in))
        return;
    o->m = (size_t)store_doc_int(j, 1, STORE_MANY, "%s.inducing.points", in);
    o->approx = (enum bound_approx)store_doc_word(j, bound_approx_words, "%s.inducing.approx", in);
    char *text = store_doc_str(j, "%s.inducing.select", in);
    if (text && select_parse(text, o, &why) != ST_OK)
        store_doc_wrong(j, "%s.inducing.select: %.100s", in, why.msg);
    free(text);
}

/* The rule for the amplitude; files without one come from fits at the likeliest amplitude. */
static enum scale_rule read_scale_rule(struct jdoc *j)
{
    const struct rescale *found = NULL;
    char *text = store_doc_has(j, "$.fit.rescale") ? store_doc_str(j, "$.fit.rescale") : NULL;

    if (text) {
        found = rescale_find(text);
        if (!found)
            store_doc_wrong(j, "$.fit.rescale is not known");
    }
    free(text);
    return found ? found->scale : SCALE_LIKELIEST;
}

static const char *tuner_name(struct jdoc *j)
{
    const char *found = NULL;
    char *text = store_doc_str(j, "$.tune.method");

    for (size_t i = 0; text && !found && tuner_at(i); i++)
        found = strcmp(tuner_at(i)->name, text) == 0 ? tuner_at(i)->name : NULL;
    if (text && !found)
        store_doc_wrong(j, "$.tune.method is not known");
    free(text);
    return found;
}

/* One figure of the table (app/core/measures.h), into the struct that contains it. */
static void measure(struct jdoc *j, const char *in, const struct measure *m, void *base)
{
    char *p = (char *)base + m->at, path[96];

    snprintf(path, sizeof path, "%s.%s", in, m->session);
    const bool there = m->age == MEASURE_ALWAYS || store_doc_has(j, "%s", path);

    switch (m->type) {
    case MEASURE_REAL: *(double *)p = there ? store_doc_num(j, "%s", path) : NAN; break;
    case MEASURE_COUNT:
        *(size_t *)p = !there ? 0
                       : !strcmp(m->unit ? m->unit : "", "bytes")
                           ? (size_t)store_doc_u64(j, "%s", path)
                           : store_read_field_size(j, path);
        break;
    case MEASURE_FLAG: *(bool *)p = there && store_doc_bool(j, "%s", path); break;
    case MEASURE_WORD: store_doc_strn(j, p, m->size, "%s", path); break;
    case MEASURE_OUTCOME: *(enum outcome *)p = store_read_field_outcome(j, path); break;
    }
}

static void measures(struct jdoc *j, const char *in, enum measure_of of, void *base)
{
    const struct measure *m;

    for (size_t i = 0; (m = measure_at(i)) != NULL; i++)
        if (m->session && (m->of == MEASURE_OF_SCALED ? MEASURE_OF_RAW : m->of) == of)
            measure(j, in, m, base);
}

static void read_targets_info(struct jdoc *j, struct run *r)
{
    struct fit_info *f = &r->info;

    r->fit.targets = store_doc_has(j, "$.fit.targets")
                         ? (size_t)store_doc_int(j, 1, TARGETS_MOST, "$.fit.targets")
                         : 1;
    f->targets = store_read_field_targets(j, "$.info.target_iterations");
    f->target[0].iterations = f->why == OUT_DIRECT ? NAN : (double)f->iterations;
    f->target[0].residual = f->residual;
    f->target[0].true_residual = f->true_residual;
    for (size_t i = 0; f->targets > 1 && i < f->targets; i++) {
        f->target[i].iterations = store_doc_num(j, "$.info.target_iterations[%zu]", i);
        f->target[i].residual = store_doc_num(j, "$.info.target_residual[%zu]", i);
        f->target[i].true_residual = store_doc_num(j, "$.info.target_true_residual[%zu]", i);
    }
}

static void read_solver_info(struct jdoc *j, struct run *r)
{
    const struct model_ops *kind = model_kind_own(r->fit.solver);
    const struct solver_ops *s = r->fit.solver && !kind ? solver_find(r->fit.solver, NULL) : NULL;
    const struct solver_param *params = kind ? kind->params : s ? s->params : NULL;

    for (size_t i = 0; params && params[i].name; i++) {
        const struct solver_param *p = &params[i];
        const double v = store_doc_has(j, "$.fit.solver_params[%zu]", i)
                             ? store_doc_num(j, "$.fit.solver_params[%zu]", i)
                             : 0.0;
        if (!solver_param_holds(p, v))
            store_doc_wrong(j, "$.fit.solver_params[%zu] is out of range", i);
        r->fit.solver_params[i] = v;
    }
    r->fit.keep_scale =
        store_doc_has(j, "$.fit.keep_scale") && store_doc_bool(j, "$.fit.keep_scale");
    r->fit.scale = read_scale_rule(j);
}

static void read_fit(struct jdoc *j, struct run *r)
{
    struct fit_opts *o = &r->fit;
    struct fit_info *f = &r->info;

    o->kind = read_kind(j);
    o->likelihood = store_read_field_link(j, "$.fit.link");
    o->solver = solver_name(j);
    o->precond = read_precond_name(j);
    o->features = store_read_field_size(j, "$.fit.features");
    o->rank = store_read_field_size(j, "$.fit.rank");
    o->rtol = store_doc_num(j, "$.fit.rtol");
    o->maxit = store_read_field_size(j, "$.fit.maxit");
    o->variance = (enum variance_mode)store_doc_word(j, store_variances, "$.fit.variance");
    o->variance_count = store_read_field_size(j, "$.fit.variance_count");
    if (store_doc_has(j, "$.fit.samples"))
        o->samples = store_read_field_size(j, "$.fit.samples");
    o->plan = (enum plan)store_doc_word(j, model_plan_words, "$.fit.plan");
    o->store = store_doc_has(j, "$.fit.store")
                   ? (enum storing)store_doc_word(j, model_store_words, "$.fit.store")
                   : STORE_AUTO; /* older sessions do not have it */
    o->precision = (enum precision)store_doc_word(j, store_precisions, "$.fit.precision");
    o->mem_limit = (size_t)store_doc_u64(j, "$.fit.mem_limit");
    o->seed = store_doc_u64(j, "$.fit.seed");
    if (store_read_field_kernel(j, &o->kernel, "$.fit.kernel"))
        store_read_field_hp(j, o->hp, kernel_nhp(&o->kernel), "$.fit.hp");
    o->amplitude = store_read_field_positive(j, "$.fit.amplitude", false);
    o->noise = store_read_field_positive(j, "$.fit.noise", true);
    read_inducing(j, "$.fit", &o->inducing);
    if (store_doc_has(j, "$.fit.cost"))
        o->cost = store_read_field_positive(j, "$.fit.cost", false);
    read_solver_info(j, r);
    measures(j, "$.info", MEASURE_OF_INFO, f);
    f->rank_seconds = NAN; /* not stored */
    if (!store_doc_has(j, "$.info.predicted_bytes"))
        f->predicted_bytes = f->peak_bytes;
    read_targets_info(j, r);
}

static void read_solve(struct loader *l, struct jdoc *j, struct run *r)
{
    struct solve_info *s = &r->solve;
    const size_t n = (size_t)store_doc_int(j, 0, STORE_MANY, "$.solve.history");

    s->why = store_read_field_outcome(j, "$.solve.why");
    s->iterations = store_read_field_size(j, "$.solve.iterations");
    s->residual = store_doc_num(j, "$.solve.residual");
    s->true_residual = store_doc_num(j, "$.solve.true_residual");
    s->drift = store_doc_num(j, "$.solve.drift");
    s->float_limit = store_doc_bool(j, "$.solve.float_limit");
    if (n == 0)
        return;
    double *both = store_read_model_doubles(l, r->id, "cg", 2 * n, NULL);
    s->alpha = both ? mem_calloc(n, sizeof *s->alpha, "a trace", NULL) : NULL;
    s->beta = both ? mem_calloc(n, sizeof *s->beta, "a trace", NULL) : NULL;
    if (s->alpha && s->beta) {
        memcpy(s->alpha, both, n * sizeof *both);
        memcpy(s->beta, both + n, n * sizeof *both);
        s->nhist = n;
    } else {
        store_load_damaged(l, "the coefficients of the solver of %s are damaged", r->id);
        free(s->alpha);
        free(s->beta);
        s->alpha = s->beta = NULL;
    }
    free(both);
}

static void read_point(struct jdoc *j, struct tune_point *p, size_t nhp, size_t targets,
                       const char *in)
{
    char path[80];

    snprintf(path, sizeof path, "%s.hp", in);
    store_read_field_hp(j, p->hp, nhp, path);
    p->amplitude = store_doc_num(j, "%s.amplitude", in);
    p->noise = store_doc_num(j, "%s.noise", in);
    p->amplitudes[0] = p->amplitude;
    p->noises[0] = p->noise;
    snprintf(path, sizeof path, "%s.amplitudes", in);
    store_read_field_each(j, path, targets, p->amplitudes);
    snprintf(path, sizeof path, "%s.noises", in);
    store_read_field_each(j, path, targets, p->noises);
    measures(j, in, MEASURE_OF_POINT, p);
}

/* Every evaluation of a tuning. If they cannot be read, its result remains. */
static void read_tuning(struct loader *l, struct run *r, size_t n)
{
    struct tune_result *t = &r->tune;
    const size_t width = t->nhp + STORE_TUNE_EXTRA;
    double *all = n ? store_read_model_doubles(l, r->id, "tuning", n * width, NULL) : NULL;

    t->trace = all ? mem_calloc(n, sizeof *t->trace, "a trace", NULL) : NULL;
    if (n && !t->trace)
        store_load_damaged(l, "the evaluations of %s are damaged", r->id);
    for (size_t i = 0; t->trace && i < n; i++) {
        struct tune_point *p = &t->trace[t->ntrace++];
        const double *from = all + i * width, *tail = from + t->nhp;
        memcpy(p->hp, from, t->nhp * sizeof *from);
        p->amplitude = p->amplitudes[0] = tail[0];
        p->noise = p->noises[0] = tail[1];
        p->nmll = tail[2];
        p->effdim = tail[3];
        p->subsampled = tail[4] != 0;
        p->score = tail[5];
        p->se = tail[6];
    }
    free(all);
}

/* The flag tells the two kinds of the first sessions apart; another kind has its name. */
static const struct model_ops *tuned_kind(struct jdoc *j)
{
    const struct model_ops *kind = model_kind_usual(store_doc_bool(j, "$.tune.exact"));
    char *name = store_doc_has(j, "$.tune.kind") ? store_doc_str(j, "$.tune.kind") : NULL;

    if (name && !(kind = model_kind_named(name)))
        store_doc_wrong(j, "$.tune.kind is not known");
    free(name);
    return kind;
}

static void read_tune(struct loader *l, struct jdoc *j, struct run *r)
{
    struct tune_opts *o = &r->topt;
    struct tune_result *t = &r->tune;
    struct kernel k;

    if (!store_read_field_kernel(j, &k, "$.kernel"))
        return;
    r->fit.kernel = k;
    o->method = tuner_name(j);
    o->objective = (enum tune_objective)store_doc_word(j, tune_objective_words, "$.tune.objective");
    o->targets = store_doc_has(j, "$.tune.targets")
                     ? (size_t)store_doc_int(j, 1, TARGETS_MOST, "$.tune.targets")
                     : 1;
    o->kind = tuned_kind(j);
    o->likelihood = store_read_field_link(j, "$.tune.link");
    if (o->kind->classes != (o->likelihood != NULL))
        store_doc_wrong(j, "$.tune.kind and its likelihood contradict each other");
    o->approx = store_doc_bool(j, "$.tune.approx");
    o->rank = store_read_field_size(j, "$.tune.rank");
    o->probes = store_read_field_size(j, "$.tune.probes");
    o->error = store_doc_has(j, "$.tune.error") ? store_doc_num(j, "$.tune.error") : 0.0;
    o->features = store_read_field_size(j, "$.tune.features");
    o->max_evals = store_read_field_size(j, "$.tune.max_evals");
    o->restart =
        store_doc_has(j, "$.tune.restart") ? store_read_field_size(j, "$.tune.restart") : 0;
    o->restarts =
        store_doc_has(j, "$.tune.restarts") ? store_read_field_size(j, "$.tune.restarts") : 0;
    o->subsample = store_read_field_size(j, "$.tune.subsample");
    if (store_doc_has(j, "$.tune.steps")) {
        o->steps = store_read_field_size(j, "$.tune.steps");
        o->subsets = (size_t)store_doc_int(j, 1, LEARN_SUBSETS_MOST, "$.tune.subsets");
        o->rate = store_doc_num(j, "$.tune.rate");
        o->stop_valid = store_doc_bool(j, "$.tune.stop_valid");
        o->before = store_read_field_size(j, "$.tune.before");
        o->dealt = store_doc_has(j, "$.tune.dealt") ? store_doc_u64(j, "$.tune.dealt") : 0;
    }
    o->polish = store_doc_bool(j, "$.tune.polish");
    o->seed = store_doc_u64(j, "$.tune.seed");
    o->precision = (enum precision)store_doc_word(j, store_precisions, "$.tune.precision");
    o->plan = (enum plan)store_doc_word(j, model_plan_words, "$.tune.plan");
    o->mem_limit = (size_t)store_doc_u64(j, "$.tune.mem_limit");
    store_read_field_bounds(j, "$.tune", o->hp, kernel_nhp(&k), &o->amplitude, &o->noise);
    read_inducing(j, "$.tune", &o->inducing);
    t->why = (enum outcome_tune)store_doc_word(j, store_tune_outcomes, "$.result.why");
    t->nhp = (size_t)store_doc_int(j, 0, KERNEL_MAX_HP, "$.result.nhp");
    measures(j, "$.result", MEASURE_OF_RESULT, t);
    t->at_lower = (unsigned)store_doc_int(j, 0, UINT32_MAX, "$.result.at_lower");
    t->at_upper = (unsigned)store_doc_int(j, 0, UINT32_MAX, "$.result.at_upper");
    if (store_doc_has(j, "$.result.nlower")) {
        t->nlower = store_read_field_size(j, "$.result.nlower");
        t->nupper = store_read_field_size(j, "$.result.nupper");
        t->idle = store_read_field_size(j, "$.result.idle");
    }
    if (t->evaluations) /* 0: it never reached a first point */
        read_point(j, &t->best, t->nhp, o->targets, "$.result.best");
    read_tuning(l, r, (size_t)store_doc_int(j, 0, STORE_MANY, "$.result.points"));
}

static void read_metrics(struct jdoc *j, struct metrics *m, const char *in)
{
    measures(j, in, MEASURE_OF_RAW, m);
}

/* Scores of the targets after the first. */
static void read_more(struct jdoc *j, struct run *r)
{
    char path[64];
    const size_t n =
        store_doc_has(j, "$.score.more") ? store_doc_len(j, TARGETS_MOST - 1, "$.score.more") : 0;

    r->more = n ? mem_calloc(n, sizeof *r->more, "scores", NULL) : NULL;
    r->nmore = r->more ? n : 0;
    for (size_t i = 0; i < r->nmore; i++)
        for (int raw = 0; raw < 2; raw++) {
            snprintf(path, sizeof path, "$.score.more[%zu].%s", i, raw ? "raw" : "scaled");
            read_metrics(j, &r->more[i][raw], path);
        }
}

/* Scores of simple models; sessions of earlier versions have none. */
static void read_baseline(struct jdoc *j, struct run *r)
{
    char path[64];

    if (!store_doc_has(j, "$.score.baseline"))
        return;
    const size_t t = (size_t)store_doc_int(j, 1, TARGETS_MOST, "$.score.baseline.targets");
    struct run_baseline *b = store_doc_ok(j) ? run_baseline_new(t, NULL) : NULL;
    r->baseline = b;
    if (!b)
        return;
    store_doc_strn(j, b->why, sizeof b->why, "$.score.baseline.why");
    b->inputs = store_read_field_size(j, "$.score.baseline.inputs");
    b->lambda = store_doc_num(j, "$.score.baseline.lambda");
    for (size_t k = 0; k < BASELINES; k++) {
        b->have[k] = store_doc_has(j, "$.score.baseline.%s", run_baseline_words[k]);
        for (size_t i = 0; b->have[k] && i < 2 * t; i++) {
            snprintf(path, sizeof path, "$.score.baseline.%s[%zu].%s", run_baseline_words[k],
                     i % t, i < t ? "scaled" : "raw");
            read_metrics(j, &b->of[2 * k * t + i], path);
        }
    }
}

static void read_trace(struct loader *l, struct jdoc *j, struct run *r, size_t *parts)
{
    const size_t expected = (size_t)store_doc_int(j, 0, STORE_MANY, "$.points");
    void *bytes = NULL;
    size_t n = 0;
    bool cut = false;

    if (store_db_get_parts(l->db, r->id, "trace", &bytes, &n, parts, &cut, NULL) != ST_OK)
        cut = true;
    const size_t points = bytes ? n / STORE_POINT : 0;
    if (cut || points < expected)
        store_load_damaged(l, "the trace of %s is damaged after point %zu", r->id, points);
    r->trace = points ? mem_calloc(points, sizeof *r->trace, "a trace", NULL) : NULL;
    if (r->trace) {
        store_unpack_points(r->trace, bytes, points);
        r->ntrace = r->captrace = points;
    }
    free(bytes);
}

/* The steps of a map that a fit learned anew, all of them or none. */
static void read_learned(struct loader *l, struct jdoc *j, struct run *r)
{
    const size_t n = store_doc_has(j, "$.learned")
                         ? (size_t)store_doc_int(j, 0, STORE_MANY, "$.learned") : 0;
    void *bytes = NULL;
    size_t have = 0, parts;
    bool cut = false;

    if (n == 0)
        return;
    if (store_db_get_parts(l->db, r->id, "learned", &bytes, &have, &parts, &cut, NULL) == ST_OK &&
        !cut && bytes && have == n * STORE_POINT)
        r->learned = mem_calloc(n, sizeof *r->learned, "a trace", NULL);
    if (r->learned) {
        store_unpack_points(r->learned, bytes, n);
        r->nlearned = r->caplearned = n;
    } else {
        store_load_damaged(l, "the steps in which %s learned its features are damaged", r->id);
    }
    free(bytes);
}

static void read_encoding(struct loader *l, struct jdoc *j, struct run *r)
{
    struct err why = { 0 };
    void *text = NULL;
    size_t n = 0, parts;
    bool cut = true;

    if (!store_doc_bool(j, "$.encoding"))
        return;
    (void)store_db_get_parts(l->db, r->id, "encoding", &text, &n, &parts, &cut, NULL);
    if (cut || !text || memchr(text, '\0', n)) {
        store_load_damaged(l, "the encoding of %s is damaged: fit it again", r->id);
    } else {
        ((char *)text)[n] = '\0'; /* store_db_get_parts leaves room for it */
        r->has_enc = encoding_from_json(text, &r->enc, &why) == ST_OK;
        if (!r->has_enc)
            store_load_damaged(l, "the encoding of %s is damaged (%.200s): fit it again", r->id,
                               why.msg);
    }
    free(text);
}

static void read_failure(struct jdoc *j, struct run *r)
{
    char name[32];

    store_doc_strn(j, name, sizeof name, "$.failure.status");
    r->failure.code = ST_INTERNAL;
    for (int i = 0; i < N_STATUS; i++)
        if (strcmp(status_name((enum status)i), name) == 0)
            r->failure.code = (enum status)i;
    store_doc_strn(j, r->failure.name, sizeof r->failure.name, "$.failure.name");
    store_doc_strn(j, r->failure.msg, sizeof r->failure.msg, "$.failure.msg");
    store_doc_strn(j, r->failure.hint, sizeof r->failure.hint, "$.failure.hint");
}

static void read_common(struct jdoc *j, struct run *r)
{
    r->state = (enum run_state)store_doc_word(j, store_states, "$.state");
    r->dataset_name = store_doc_str(j, "$.dataset");
    r->kernel_text = store_doc_str(j, "$.kernel");
    r->command = store_doc_str(j, "$.command");
    r->created = store_doc_int(j, 0, INT64_MAX, "$.created");
    r->trace_target = store_doc_num(j, "$.target");
    r->started = 0;
    r->ended = store_doc_num(j, "$.seconds");
    r->note = store_doc_str(j, "$.note");
    r->star = store_doc_bool(j, "$.star");
    r->dropped = store_doc_has(j, "$.dropped") && store_doc_bool(j, "$.dropped");
    if (store_doc_has(j, "$.serial"))
        r->serial = (size_t)store_doc_int(j, 0, STORE_MANY, "$.serial");
    store_doc_strn(j, r->verdict, sizeof r->verdict, "$.verdict");
    if (!r->dataset_name || !r->kernel_text)
        store_doc_wrong(j, "dataset or kernel is missing");
    if (!(r->ended >= 0))
        r->ended = 0;
}

/* The weights that the maps of a run's kernel have learned, before its text is parsed: damaged ones
 * are refused by their checksums, and the run with them. */
static void read_weights(struct loader *l, const struct run *r)
{
    static const char word[] = "weights=";
    const char *at = r->kernel_text ? strstr(r->kernel_text, word) : NULL;
    const size_t n = at ? store_db_blob_size(l->db, r->id, STORE_WEIGHTS) : 0;
    struct err why = { 0 };

    unsigned char *bytes = n ? mem_calloc(n, 1, "weights", NULL) : NULL;
    bool good = bytes && store_db_get_blob(l->db, r->id, STORE_WEIGHTS, bytes, n, &why) == ST_OK;
    for (size_t from = 0; good && at; at = strstr(at + 1, word)) {
        const uint64_t sum = strtoull(at + strlen(word), NULL, 16);
        const size_t next = strstr(at + 1, word) ? net_length(bytes + from, n - from) : n - from;
        good = net_read(bytes + from, next, sum, &why) != NULL;
        from += next;
    }
    free(bytes);
    if (why.code != ST_OK)
        store_load_damaged(l, "%s: %.160s", r->id, why.msg);
}

static void read_run(struct loader *l, struct jdoc *j, struct run *r, size_t *parts)
{
    read_common(j, r);
    read_weights(l, r);
    read_encoding(l, j, r);
    if (r->kind == RUN_FIT) {
        read_fit(j, r);
        read_solve(l, j, r);
        if (store_doc_has(j, "$.model"))
            store_read_model(l, j, r);
    } else {
        read_tune(l, j, r);
    }
    if (store_doc_has(j, "$.score")) {
        r->has_score = true;
        r->score_part = (enum part)store_doc_word(j, dataset_part_words, "$.score.part");
        r->score_rows = store_read_field_size(j, "$.score.rows");
        read_metrics(j, &r->score_scaled, "$.score.scaled");
        read_metrics(j, &r->score_raw, "$.score.raw");
        read_more(j, r);
        read_baseline(j, r);
    }
    if (store_doc_has(j, "$.failure"))
        read_failure(j, r);
    read_trace(l, j, r, parts);
    read_learned(l, j, r);
    const int64_t id = store_doc_int(j, 0, INT64_MAX, "$.data");
    if (id && store_doc_ok(j)) {
        bool changed;
        struct dataset *ds = store_read_dataset(l, id, &changed);
        /* A run keeps its data only if that is unchanged. */
        r->data = ds && !changed ? dataset_ref(ds) : NULL;
    }
    if (r->state == RUN_QUEUED || r->state == RUN_RUNNING) {
        r->state = RUN_STOPPED;
        snprintf(r->verdict, sizeof r->verdict, "interrupted at step %u, when gpdesk ended",
                 r->ntrace ? (unsigned)r->trace[r->ntrace - 1].step : 0u);
        char **grown = r->command ? realloc(l->interrupted,
                                            (l->ninterrupted + 1) * sizeof *grown) : NULL;
        if (grown) {
            l->interrupted = grown;
            l->interrupted[l->ninterrupted] = mem_strdup(r->command, NULL);
            l->ninterrupted += l->interrupted[l->ninterrupted] != NULL;
        }
    }
}

/* The number in "r7" or "t2"; 0 if the name is neither. */
size_t store_read_run_number(const char *name)
{
    char *end;

    if ((name[0] != 'r' && name[0] != 't') || !isdigit((unsigned char)name[1]))
        return 0;
    const unsigned long n = strtoul(name + 1, &end, 10);
    return *end || n > STORE_MANY ? 0 : n;
}

static void remember_run(struct loader *l, const struct run *r, int64_t row, int64_t data,
                         size_t parts, const char *body)
{
    struct store_loaded *o = l->out;

    if (store_load_fatal(l, mem_grow((void **)&o->run, &l->caprun, o->nrun + 1, sizeof *o->run,
                                     "the session",
                          &l->err)))
        return;
    o->run[o->nrun].body = mem_strdup(body, NULL); /* NULL: the run is only written again */
    o->run[o->nrun].row = row;
    o->run[o->nrun].parts = parts;
    o->run[o->nrun].data = data;
    o->run[o->nrun].points = r->ntrace;
    o->run[o->nrun].model = r->model != NULL;
    /* store_read_model_factors sets these */
    o->run[o->nrun].factor = o->run[o->nrun].unfinished = false;
    snprintf(o->run[o->nrun].name, sizeof o->run[o->nrun].name, "%s", r->id);
    o->nrun++;
}

bool store_read_run(void *ctx, int64_t row, const char *name, const char *body, bool good)
{
    struct loader *l = ctx;
    struct workspace *ws = l->ws;
    struct jdoc j = { 0 };
    const size_t number = good ? store_read_run_number(name) : 0;
    size_t parts = 0;

    if (row >= l->out->next_run && row < INT64_MAX)
        l->out->next_run = row + 1;
    if (!number || !store_doc_open(&j, l->db, body)) {
        store_load_damaged(l, "a run%s%.16s is damaged and left out", number ? " " : "",
                           number ? name : "");
        return true;
    }
    const enum run_kind kind = (enum run_kind)store_doc_word(&j, store_kinds, "$.kind");
    struct run *r = ws_run_new(ws, kind, &l->err);
    if (store_load_fatal(l, r ? ST_OK : ST_NOMEM)) {
        store_doc_close(&j);
        return false;
    }
    if ((name[0] == 'r') != (kind == RUN_FIT))
        store_doc_wrong(&j, "its kind does not fit its name");
    snprintf(r->id, sizeof r->id, "%s", name);
    size_t *counter = kind == RUN_FIT ? &ws->nfit : &ws->ntune;
    --*counter; /* undo the count of ws_run_new */
    if (number > *counter)
        *counter = number;
    read_run(l, &j, r, &parts);
    const int64_t data =
        store_doc_has(&j, "$.data") ? store_doc_int(&j, 0, INT64_MAX, "$.data") : 0;
    store_doc_close(&j);
    if (!store_doc_ok(&j)) {
        store_load_damaged(l, "run %s is damaged and left out (%.160s)", r->id, j.bad);
        ws->nrun--;
        run_free(r);
        return true;
    }
    ws->runs_made = r->serial >= ws->runs_made ? r->serial + 1 : ws->runs_made;
    remember_run(l, r, row, data, parts, body);
    return l->rc == ST_OK;
}
