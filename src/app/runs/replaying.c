/* app/runs/replaying.c -- see replaying.h.  For each rule and seed: rows to start with at random,
 * then rounds of tuning, fitting and choosing among the rows that were not measured.  The rules
 * share the rows that a seed starts with. */
#include "app/runs/replaying.h"

#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/models/propose.h"
#include "compute/rng.h"
#include "compute/tuners/tune.h"
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MOST = 8, EXACT_ROWS = 4000, FEATURES = 4096 };
enum { STREAM_START = 1u << 31 }; /* beside those of data/candidates.c */

/* A round of one replay. */
struct replay_round { size_t rule, seed, round, measured; double best, found, seconds; };

struct replaying {
    struct dataset *data;
    struct fit_opts fit;
    struct propose_opts o;
    double value;              /* goal=VALUE, in units of the target */
    int rule[RULES_MOST];      /* of enum propose_rule; -1: at random */
    size_t nrules, start, rounds, batch, seeds;
    uint64_t seed;
    bool tune_each, tune_start;
    struct replay_round *at; size_t n;
};

static void replaying_free(struct job *job)
{
    struct replaying *g = job->arg;

    if (!g)
        return;
    dataset_unref(g->data);
    free(g->at);
    free(g);
    job->arg = NULL;
}

/* A replay under way: the rows of the pool in a random order, of which the measured ones come
 * first. */
struct replay {
    struct replaying *g;
    struct job *job;
    const double *u;   /* utility of each row of the table, in units of the target */
    size_t *row, n, measured;
    double top;        /* the utility of the last row of the pool's best 1 % */
    double hp[KERNEL_MAX_HP], amplitude, noise;
    uint64_t seed;
};

static double utility(const struct replaying *g, double y)
{
    const struct acquisition a = { .goal = g->o.goal.goal, .value = g->value };

    return acquisition_utility(&a, y);
}

static void note_round(const struct replay *p, size_t rule, size_t seed, size_t round,
                       double seconds)
{
    struct replay_round *r = &p->g->at[p->g->n++];
    size_t all = 0, found = 0, best = p->row[0];

    for (size_t i = 0; i < p->n; i++) {
        const bool top = p->u[p->row[i]] >= p->top;
        all += top;
        found += top && i < p->measured;
        if (i < p->measured && p->u[p->row[i]] > p->u[best])
            best = p->row[i];
    }
    const size_t target = dataset_target(p->g->data);
    *r = (struct replay_round){ .rule = rule, .seed = seed, .round = round,
                                .measured = p->measured, .seconds = seconds,
                                .best = column_at(&p->g->data->table->col[target], best),
                                .found = (double)found / (double)all };
}

static enum status tune(struct replay *p, const struct kernel *k, const struct encoded *e,
                        const struct tools *on, struct err *err)
{
    const struct tune_opts o = { .kind = model_kind_usual(e->n <= EXACT_ROWS), .polish = true,
                                 .features = FEATURES / 2, .seed = p->seed, .start = p->hp,
                                 .restarts = 1, .precision = PREC_DOUBLE, .targets = 1,
                                 .mem_limit = p->job->limits.memory };
    struct tune_result t = { 0 };
    const enum status rc = tune_run(k, &e->base, e->y, &o, on, &t, err);

    if (rc == ST_OK) {
        memcpy(p->hp, t.best.hp, sizeof p->hp);
        p->amplitude = t.best.amplitude;
        p->noise = t.best.noise;
    }
    tune_result_free(&t);
    return rc;
}

/* Fits to the measured rows. */
static enum status learn(struct replay *p, bool tuned, struct encoding *enc, struct model **m,
                         const struct tools *on, struct err *err)
{
    struct fit_opts o = p->g->fit;
    struct encoded e = { 0 };
    struct fit_info info;

    kernel_unbind(&o.kernel); /* letters and levels differ between rounds */
    enum status rc = encoding_fit(p->g->data, p->row, p->measured, enc, NULL, err);
    if (rc == ST_OK)
        rc = encoding_bind(enc, &o.kernel, err);
    if (rc == ST_OK)
        rc = encode(enc, p->g->data->table, p->row, p->measured, true, &e, err);
    if (rc == ST_OK && tuned)
        rc = tune(p, &o.kernel, &e, on, err);
    if (rc == ST_OK) {
        const struct model_ops *kind = model_kind_usual(e.n <= EXACT_ROWS);
        memcpy(o.hp, p->hp, sizeof o.hp);
        o.amplitude = p->amplitude;
        o.noise = p->noise;
        o.solver = kind->solver ? kind->solver : "auto";
        o.mem_limit = p->job->limits.memory;
        rc = model_fit(&e.base, e.y, &o, on, m, &info, NULL, err);
    }
    encode_free(&e);
    return rc;
}

/* Moves the chosen rows of the rest, which e holds, behind the measured ones. */
static void measure(struct replay *p, const struct encoded *e, const struct proposed *c)
{
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = p->measured; i < p->n; i++)
            if (p->row[i] == e->row[c->row[k]]) {
                p->row[i] = p->row[p->measured];
                p->row[p->measured++] = e->row[c->row[k]];
                break;
            }
}

static enum status choose(struct replay *p, enum propose_rule by, bool tuned, struct err *err)
{
    const struct ctl quiet = { .cancel = p->job->ctl.cancel };
    const struct tools on = { p->job->backend, p->job->pool, &quiet };
    struct propose_opts o = p->g->o;
    struct encoding enc = { 0 };
    struct encoded e = { 0 };
    struct model *m = NULL;
    struct proposed c = { .mean = mem_calloc(p->n + 1, sizeof *c.mean, "predictions", err) };
    double best = -INFINITY;

    c.varf = c.mean ? mem_calloc(p->n + 1, sizeof *c.varf, "predictions", err) : NULL;
    c.row = c.varf ? mem_calloc(o.count, sizeof *c.row, "proposals", err) : NULL;
    enum status rc = c.row ? learn(p, tuned, &enc, &m, &on, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = encode(&enc, p->g->data->table, p->row + p->measured, p->n - p->measured, false, &e,
                    err);
    if (rc == ST_OK) {
        const size_t target = dataset_target(p->g->data);
        o.by = by;
        o.seed = p->seed + p->measured;
        o.goal.value = encoding_scaled(&enc, p->g->value);
        for (size_t i = 0; i < p->measured; i++) {
            const double y = column_at(&p->g->data->table->col[target], p->row[i]);
            best = fmax(best, acquisition_utility(&o.goal, encoding_scaled(&enc, y)));
        }
        o.goal.best = best;
        rc = propose(m, &e.base, &o, &on, &c, err);
    }
    if (rc == ST_OK)
        measure(p, &e, &c);
    model_unref(m);
    encode_free(&e);
    encoding_free(&enc);
    free(c.mean);
    free(c.varf);
    free(c.row);
    return rc;
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* The pool of a seed: the rows with a value of the target, in a random order. */
static enum status shuffle(struct replay *p, struct err *err)
{
    const size_t n = p->g->data->table->n;
    size_t *order = mem_calloc(n + 1, sizeof *order, "rows", err);
    double *sorted = order ? mem_calloc(n + 1, sizeof *sorted, "rows", err) : NULL;

    p->n = 0;
    if (sorted) {
        rng_permutation(p->seed, rng_stream(RNG_SUGGEST, STREAM_START), n, order);
        for (size_t i = 0; i < n; i++)
            if (isfinite(p->u[order[i]])) {
                sorted[p->n] = p->u[order[i]];
                p->row[p->n++] = order[i];
            }
        qsort(sorted, p->n, sizeof *sorted, descending);
        p->top = p->n ? sorted[(p->n + 99) / 100 - 1] : NAN;
    }
    free(order);
    free(sorted);
    return sorted ? ST_OK : ST_NOMEM;
}

static enum status one_replay(struct replay *p, size_t rule, size_t seed, struct err *err)
{
    struct replaying *g = p->g;
    const size_t steps = g->nrules * g->seeds * g->rounds;
    enum status rc = shuffle(p, err);

    if (rc == ST_OK && p->n <= g->start) {
        rc = err_set(err, ST_STATE, "%zu rows have a value of the target, and start=%zu of them "
                                    "leave none to choose from", p->n, g->start);
        err_hint(err, "bo table start=%zu", p->n / 10 + 2);
    }
    p->measured = g->start;
    memcpy(p->hp, g->fit.hp, sizeof p->hp);
    p->amplitude = g->fit.amplitude;
    p->noise = g->fit.noise;
    for (size_t r = 0; rc == ST_OK && r <= g->rounds; r++) {
        const double t0 = job_now();
        if (r > 0 && p->measured < p->n && g->rule[rule] < 0)
            p->measured += p->n - p->measured < g->o.count ? p->n - p->measured : g->o.count;
        else if (r > 0 && p->measured < p->n)
            rc = choose(p, (enum propose_rule)g->rule[rule],
                        g->tune_each || (g->tune_start && r == 1), err);
        if (rc == ST_OK)
            note_round(p, rule, seed, r, r ? job_now() - t0 : 0.0);
        ctl_tell(&p->job->ctl, PHASE_ROUNDS, (seed * g->nrules + rule) * g->rounds + r, steps, NAN);
        if (rc == ST_OK && ctl_stopped(&p->job->ctl))
            rc = err_set(err, ST_CANCELLED, "stopped in round %zu", r);
    }
    return rc;
}

static enum status replay_work(struct job *job, struct err *err)
{
    struct replaying *g = job->arg;
    const struct table *t = g->data->table;
    const struct column *y = &t->col[dataset_target(g->data)];
    struct replay p = { .g = g, .job = job };
    double *u = mem_calloc(t->n + 1, sizeof *u, "rows", err);
    enum status rc;

    p.row = u ? mem_calloc(t->n + 1, sizeof *p.row, "rows", err) : NULL;
    g->at = p.row ? mem_calloc(g->nrules * g->seeds * (g->rounds + 1), sizeof *g->at, "rounds", err)
                  : NULL;
    for (size_t i = 0; g->at && i < t->n; i++)
        u[i] = utility(g, column_at(y, i));
    p.u = u;
    rc = g->at ? ST_OK : ST_NOMEM;
    for (size_t s = 0; rc == ST_OK && s < g->seeds; s++)
        for (size_t k = 0; rc == ST_OK && k < g->nrules; k++) {
            p.seed = g->seed + s;
            rc = one_replay(&p, k, s, err);
        }
    free(p.row);
    free(u);
    return rc;
}

/* On the main thread. */

static const char *rule_word(const struct replaying *g, size_t rule)
{
    return g->rule[rule] < 0 ? "random" : propose_words[g->rule[rule]];
}

static void tell_round(struct workspace *ws, const struct replaying *g,
                       const struct replay_round *r)
{
    struct rec rec;
    char best[32], seconds[32];

    rec_init(&rec, REC_RESULT, "bo");
    rec_str(&rec, "by", rule_word(g, r->rule));
    rec_int(&rec, "seed", (int64_t)(g->seed + r->seed));
    rec_int(&rec, "round", (int64_t)r->round);
    rec_int(&rec, "measured", (int64_t)r->measured);
    rec_num(&rec, "best", r->best);
    rec_num(&rec, "found1", r->found);
    rec_num(&rec, "seconds", r->seconds);
    text_number(best, sizeof best, r->best);
    text_seconds(seconds, sizeof seconds, r->seconds);
    rec_text(&rec, "%s seed %zu  round %zu  %zu measured  best %s  %.0f %% of the best 1 %% of the "
                   "rows found  (%s)", rule_word(g, r->rule), (size_t)g->seed + r->seed, r->round,
             r->measured, best, 100.0 * r->found, seconds);
    ws_emit(ws, &rec);
}

static void replay_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    const struct replaying *g = job->arg;

    for (size_t i = 0; i < g->n && !job->discard; i++)
        tell_round(ws, g, &g->at[i]);
    if (rc == ST_CANCELLED || job->discard) {
        ws_note(ws, "stopped", "bo was stopped after %zu rounds", g->n);
        ws->unconverged = true;
    } else if (rc != ST_OK) {
        ws_error(ws, err, job->line);
    }
}

static const struct job_ops replay_ops = { .verb = "bo", .work = replay_work, .done = replay_done,
                                           .free = replaying_free };

/* Starting. */

static enum status read_rules(struct replaying *g, const char *list, struct err *err)
{
    for (const char *p = list; *p;) {
        const size_t n = strcspn(p, ",");
        int found = n == 6 && !strncmp(p, "random", n) ? -1 : -2;
        for (int i = 0; propose_words[i]; i++)
            if (strlen(propose_words[i]) == n && !strncmp(propose_words[i], p, n))
                found = i;
        if (found < -1 || g->nrules == RULES_MOST) {
            err_set(err, ST_USAGE, "by=%.60s: rules are thompson, ei, ucb, mean, sd and random, "
                                   "at most %d", list, (int)RULES_MOST);
            err_hint(err, "bo table by=thompson,mean,random");
            return ST_USAGE;
        }
        g->rule[g->nrules++] = found;
        p += n + (p[n] == ',');
    }
    return ST_OK;
}

static enum status read_goal(struct replaying *g, const char *goal, struct err *err)
{
    g->o.goal.goal = !strcmp(goal, "max") ? GOAL_MAX : !strcmp(goal, "min") ? GOAL_MIN : GOAL_VALUE;
    if (g->o.goal.goal != GOAL_VALUE || text_double(goal, strlen(goal), &g->value))
        return ST_OK;
    err_set(err, ST_USAGE, "goal=%.40s is neither max nor min nor a value of the target", goal);
    err_hint(err, "bo table goal=max  |  goal=min  |  goal=1.5");
    return ST_USAGE;
}

static enum status suits(const struct dataset *d, const struct workspace *ws, struct err *err)
{
    if (dataset_targets(d) > 1) {
        err_set(err, ST_UNSUPPORTED, "bo replays one target, and the data have %zu",
                dataset_targets(d));
        err_hint(err, "cols NAME role=skip, then bo table");
        return ST_UNSUPPORTED;
    }
    if (!kernel_has_ard(&ws->kernel))
        return ST_OK;
    err_set(err, ST_UNSUPPORTED, "bo tunes one lengthscale for all inputs, because their number "
                                 "may change from round to round, and the kernel has one for each");
    err_hint(err, "kernel rbf, then bo table");
    return ST_UNSUPPORTED;
}

enum status replaying_start(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    enum status rc = d ? suits(d, ws, err) : err->code;
    struct replaying *g = rc == ST_OK ? mem_calloc(1, sizeof *g, "job", err) : NULL;

    if (!g)
        return rc != ST_OK ? rc : ST_NOMEM;
    g->data = dataset_snapshot(d, err);
    if (g->data)
        g->data->kernel = ws->kernel;
    g->start = (size_t)args_int(a, "start", 96);
    g->rounds = (size_t)args_int(a, "rounds", 5);
    g->seeds = (size_t)args_int(a, "seeds", 1);
    g->seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    g->o.count = (size_t)args_int(a, "batch", 96);
    g->o.apart = args_num(a, "apart");
    g->tune_each = !strcmp(args_text(a, "tune"), "each");
    g->tune_start = !strcmp(args_text(a, "tune"), "start");
    g->fit = (struct fit_opts){ .kernel = ws->kernel, .amplitude = ws->amplitude,
                                .noise = ws->noise, .variance = VAR_ALL, .features = FEATURES,
                                .rtol = 1e-6, .maxit = 500, .precision = PREC_DOUBLE,
                                .seed = g->seed, .targets = 1, .keep_scale = true };
    memcpy(g->fit.hp, ws->hp, sizeof g->fit.hp);
    rc = g->data ? read_rules(g, args_text(a, "by"), err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = read_goal(g, args_text(a, "goal"), err);
    if (rc == ST_OK)
        return ws_submit(ws, &replay_ops, NULL, g, args_line(a), err);
    struct job tmp = { .arg = g };
    replaying_free(&tmp);
    return rc;
}
