/* app/runs/bo/bo_rounds.c -- the rounds of bo: see bo_impl.h.  For each seed and contender: a world
 * with its first measurements, then rounds of tuning, fitting, choosing and measuring.  Contenders
 * share the worlds of the seeds. */
#include "app/runs/bo/bo_impl.h"

#include "app/runs/fit_setup.h"
#include "base/mem.h"
#include "compute/tuners/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_ROWS = 4000, FEATURES = 4096,
    TUNE_ROWS = 3000, /* of an exact kernel where there are more than EXACT_ROWS */
    SPREAD = 64       /* functions whose spread is the variance */
};

/* The rounds of one contender in one world. */
struct search {
    struct bo *g;
    struct job *job;
    const struct bo_contender *who;
    struct bo_world *w;
    struct kernel kernel; double hp[KERNEL_MAX_HP]; /* bound once the inputs are known */
    double amplitude, noise;
    uint64_t seed;
    struct model *last; /* of the round before: solves on products start from its weights */
};

double bo_rounds_utility(const struct bo *g, double y)
{
    const struct acquisition a = { .goal = g->o.goal.goal, .value = g->value };

    return acquisition_utility(&a, y);
}

/* What the worker says about a fit, once. */
static void warn(struct bo *g, const char *name, const char *text)
{
    if (*g->warning || !*text)
        return;
    snprintf(g->warning_name, sizeof g->warning_name, "%s", name);
    snprintf(g->warning, sizeof g->warning, "%s", text);
}

/* True where the kernel itself is used: for few rows, and for kernels without random features. */
static bool exactly(const struct search *s, size_t n)
{
    return (n <= EXACT_ROWS && !kernel_learns(&s->kernel)) || kernel_draws_none(&s->kernel);
}

static enum status tune(struct search *s, const struct encoded *e, const struct tools *on,
                        struct err *err)
{
    const bool exact = exactly(s, e->n);
    const struct tune_opts o = { .kind = model_kind_usual(exact), .polish = true,
                                 .subsample = exact && e->n > EXACT_ROWS ? TUNE_ROWS : 0,
                                 .features = FEATURES / 2, .seed = s->seed, .start = s->hp,
                                 .restarts = 1, .precision = PREC_DOUBLE, .targets = 1,
                                 .mem_limit = s->job->limits.memory };
    struct tune_result t = { 0 };
    const enum status rc = tune_run(&s->kernel, &e->base, e->y, &o, on, &t, err);

    if (rc == ST_OK) {
        memcpy(s->hp, t.best.hp, sizeof s->hp);
        s->amplitude = t.best.amplitude;
        s->noise = t.best.noise;
        if (t.learned)
            kernel_learned_take(&s->kernel, &t.nets);
    }
    tune_result_free(&t);
    return rc;
}

/* Lengthscales of ard that belonged to other inputs become one, which binding gives to each. */
static void free_lengthscales(struct search *s)
{
    const struct kernel was = s->kernel;
    double hp[KERNEL_MAX_HP];

    memcpy(hp, s->hp, sizeof hp);
    s->kernel.ngrouped = 0;
    for (size_t t = 0; t < was.nterms; t++)
        if (was.term[t].ard)
            s->kernel.term[t].ard = KERNEL_ARD;
    for (size_t t = 0; t < was.nterms; t++) {
        const struct kernel_place a = kernel_place(&was, t), b = kernel_place(&s->kernel, t);
        double logs = 0.0;
        for (size_t i = 0; i < a.nl; i++)
            logs += log(hp[a.hp0 + i]) / (double)a.nl;
        for (size_t i = 0; i < b.nl; i++)
            s->hp[b.hp0 + i] = exp(logs);
        for (size_t i = a.nl; i < a.nhp; i++)
            s->hp[b.hp0 + b.nl + i - a.nl] = hp[a.hp0 + i];
        if (a.weight != SIZE_MAX)
            s->hp[b.weight] = hp[a.weight];
    }
}

static enum status bind(struct search *s, const struct encoding *enc, const struct source *rows,
                        struct err *err)
{
    const size_t *row;
    size_t n;
    const struct dataset *data = bo_world_data(s->w, &row, &n);

    kernel_unbind(&s->kernel); /* what it keeps of its rows changes with them */
    enum status rc = fit_setup_bind_kernel(data, enc, rows, &s->kernel, s->hp, err);

    if (rc != ST_SHAPE || !kernel_has_ard(&s->kernel))
        return rc;
    err_clear(err);
    free_lengthscales(s);
    return fit_setup_bind_kernel(data, enc, rows, &s->kernel, s->hp, err);
}

/* The least noise of a solver whose products are in single precision: entries of K rounded by 2^-24
 * move its eigenvalues by about 2^-24 times sqrt(n) (a random symmetric matrix), and where points
 * cluster the least ones are far below that (share/doc/methods.md 15.8). */
static double least_noise(const struct search *s, size_t n)
{
    return s->amplitude * sqrt(8.0 * ldexp(1.0, -24) * sqrt((double)n));
}

static void choose_solver(const struct search *s, size_t n, struct fit_opts *o)
{
    const struct bo_contender *who = s->who;
    char text[256];

    if (!*who->solver) {
        o->kind = model_kind_usual(exactly(s, n));
        o->solver = n <= EXACT_ROWS && o->kind->solver ? o->kind->solver : "auto";
        o->rtol = 1e-6;
        o->maxit = 500;
        return;
    }
    o->kind = who->kind;
    o->solver = who->name;
    memcpy(o->solver_params, who->params, sizeof o->solver_params);
    if (who->kind->solver && !strcmp(who->kind->solver, who->name))
        return;
    const double least = least_noise(s, n);
    if (o->noise >= least)
        return;
    snprintf(text, sizeof text, "%s fits in single precision, where %zu rows need a noise of %.2g "
             "at least, not %.2g; solver=exact is in double precision", who->name, n, least,
             o->noise);
    warn(s->g, "noise", text);
    o->noise = least;
}

/* A solver on products leaves no factor, and none is made for the variances alone: new functions in
 * each round stand in for it, one for each proposal or those whose spread is the variance.  Only
 * kernels without random features, which have no such functions, need the factor still.  The solver
 * starts from the weights of the round before. */
static void choose_functions(const struct search *s, size_t n, struct fit_opts *o)
{
    const struct bo_contender *who = s->who;

    if (!*who->solver || (who->kind->solver && !strcmp(who->kind->solver, who->name)))
        return;
    o->start = s->last;
    if (o->variance == VAR_NONE || kernel_draws_none(&o->kernel))
        return;
    o->variance = VAR_SAMPLES;
    o->samples = who->rule == PROPOSE_THOMPSON ? s->g->batch : SPREAD;
    o->seed = s->seed + n;
}

/* Fits to the measured rows. */
static enum status learn(struct search *s, bool tuned, struct encoding *enc, struct model **m,
                         const struct tools *on, struct err *err)
{
    struct fit_opts o = s->g->fit;
    struct encoded e = { 0 };
    struct fit_info info;
    const size_t *row;
    size_t n;
    const struct dataset *d = bo_world_data(s->w, &row, &n);

    enum status rc = bo_world_encoding(s->w, enc, err);
    if (rc == ST_OK)
        rc = encode(enc, d->table, row, n, true, &e, err);
    if (rc == ST_OK)
        rc = bind(s, enc, &e.base, err);
    if (rc == ST_OK && tuned)
        rc = tune(s, &e, on, err);
    if (rc == ST_OK && ctl_stopped(on->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK) {
        o.kernel = s->kernel;
        memcpy(o.hp, s->hp, sizeof o.hp);
        o.amplitude = s->amplitude;
        o.noise = s->noise;
        o.variance = s->who->rule == PROPOSE_MEAN ? VAR_NONE : VAR_ALL;
        o.mem_limit = s->job->limits.memory;
        choose_solver(s, e.n, &o);
        choose_functions(s, e.n, &o);
        if (o.start && o.start->d != e.base.d)
            o.start = NULL;
        rc = model_fit(&e.base, e.y, &o, on, m, &info, NULL, err);
        if (rc == ST_OK)
            warn(s->g, info.warning_name, info.warning);
    }
    encode_free(&e);
    return rc;
}

/* The rows that the model proposes among those of c, as indices into c->row. */
static enum status propose_rows(struct search *s, const struct model *m, const struct encoding *enc,
                                const struct bo_rows *c, const struct tools *on,
                                struct proposed *p, struct err *err)
{
    const size_t *row;
    size_t n;
    const struct dataset *d = bo_world_data(s->w, &row, &n);
    const struct column *y = &d->table->col[dataset_target(d)];
    struct propose_opts o = s->g->o;
    struct encoded e = { 0 };
    double lo[BO_DIMS_MOST], hi[BO_DIMS_MOST];
    enum status rc = encode(enc, c->t, c->row, c->n, false, &e, err);

    if (rc != ST_OK)
        return rc;
    o.by = (enum propose_rule)s->who->rule;
    o.seed = s->seed + n;
    o.goal.value = encoding_scaled(enc, s->g->value);
    o.goal.best = -INFINITY;
    for (size_t i = 0; i < n; i++)
        o.goal.best = fmax(o.goal.best, acquisition_utility(
                                            &o.goal, encoding_scaled(enc, column_at(y, row[i]))));
    if (o.by == PROPOSE_THOMPSON && bo_world_ranges(s->w, enc, lo, hi)) {
        o.lo = lo, o.hi = hi;
        p->x = mem_calloc(o.count, e.base.d * sizeof *p->x, "proposals", err);
        rc = p->x ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = propose(m, &e.base, &o, on, p, err);
    /* Rows that the encoding drops are not among those of e. */
    for (size_t k = 0, at = 0; rc == ST_OK && k < p->n; k++) {
        for (at = p->row[k]; at < c->n && c->row[at] != e.row[p->row[k]]; at++)
            ;
        p->row[k] = at;
        if (o.lo)
            bo_world_move(s->w, enc, c, at, p->x + k * e.base.d);
    }
    free(p->x);
    p->x = NULL;
    encode_free(&e);
    return rc;
}

static enum status choose(struct search *s, size_t round, const struct tools *on, struct err *err)
{
    const bool tuned = s->g->tune == BO_TUNE_EACH || (s->g->tune == BO_TUNE_START && round == 1);
    struct bo_rows c = { 0 };
    struct encoding enc = { 0 };
    struct model *m = NULL;
    struct proposed p = { 0 };
    enum status rc = bo_world_rows(s->w, round, s->who->rule < 0, s->g->batch, &c, err);

    if (rc == ST_OK) {
        p.mean = mem_calloc(c.n + 1, sizeof *p.mean, "predictions", err);
        p.varf = p.mean ? mem_calloc(c.n + 1, sizeof *p.varf, "predictions", err) : NULL;
        p.row = p.varf ? mem_calloc(c.n + s->g->batch, sizeof *p.row, "proposals", err) : NULL;
        rc = p.row ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && s->who->rule < 0) {
        for (; p.n < c.n; p.n++)
            p.row[p.n] = p.n;
    } else if (rc == ST_OK && c.n > 0) {
        struct proposed asked = p;
        if (s->who->rule == PROPOSE_MEAN)
            asked.varf = NULL;
        rc = learn(s, tuned, &enc, &m, on, err);
        if (rc == ST_OK)
            rc = propose_rows(s, m, &enc, &c, on, &asked, err);
        p.n = asked.n;
        model_unref(s->last);
        s->last = model_ref(m);
    }
    if (rc == ST_OK)
        rc = bo_world_measure(s->w, &c, p.row, p.n, on, err);
    model_unref(m);
    encoding_free(&enc);
    bo_world_rows_free(&c);
    free(p.mean);
    free(p.varf);
    free(p.row);
    return rc;
}

/* The main thread reads a round once it is counted. */
static void note_round(struct search *s, size_t who, size_t seed, size_t round, double seconds)
{
    struct bo *g = s->g;
    const size_t at = atomic_load_explicit(&g->n, memory_order_relaxed),
                 steps = g->nwho * g->seeds * (g->rounds + 1);
    struct bo_round *r = &g->at[at];
    const size_t *row;

    *r = (struct bo_round){ .who = who, .seed = seed, .round = round, .seconds = seconds };
    bo_world_data(s->w, &row, &r->measured);
    bo_world_score(s->w, &r->best, &r->found);
    atomic_store_explicit(&g->n, at + 1, memory_order_release);
    ctl_tell(&s->job->ctl, PHASE_ROUNDS, at + 1, steps, NAN);
}

static enum status search_run(struct job *job, size_t who, size_t seed, struct err *err)
{
    struct bo *g = job->arg;
    const struct ctl quiet = { .cancel = job->ctl.cancel };
    const struct tools on = { job->backend, job->pool, &quiet };
    struct search s = { .g = g, .job = job, .who = &g->who[who], .kernel = g->fit.kernel,
                        .amplitude = g->fit.amplitude, .noise = g->fit.noise,
                        .seed = g->seed + seed };
    enum status rc = bo_world_open(g, s.seed, &on, &s.w, err);

    memcpy(s.hp, g->fit.hp, sizeof s.hp);
    kernel_unbind(&s.kernel);
    for (size_t r = 0; rc == ST_OK && r <= g->rounds; r++) {
        const double t0 = job_now();
        if (r > 0)
            rc = choose(&s, r, &on, err);
        if (rc == ST_OK)
            note_round(&s, who, seed, r, r ? job_now() - t0 : 0.0);
        if (rc == ST_OK && ctl_stopped(&quiet))
            rc = err_set(err, ST_CANCELLED, "stopped in round %zu", r);
    }
    bo_world_close(s.w);
    model_unref(s.last);
    return rc;
}

enum status bo_rounds_work(struct job *job, struct err *err)
{
    struct bo *g = job->arg;
    enum status rc = ST_OK;

    g->at = mem_calloc(g->nwho * g->seeds * (g->rounds + 1), sizeof *g->at, "rounds", err);
    if (!g->at)
        return ST_NOMEM;
    for (size_t seed = 0; rc == ST_OK && seed < g->seeds; seed++)
        for (size_t who = 0; rc == ST_OK && who < g->nwho; who++)
            rc = search_run(job, who, seed, err);
    return rc;
}
