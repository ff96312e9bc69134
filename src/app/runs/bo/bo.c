/* app/runs/bo/bo.c -- bo: reads the line, and tells each round when it is over.  See bo.h. */
#include "app/runs/bo/bo.h"

#include "app/core/kept.h"
#include "app/core/ws_screen.h"
#include "app/core/ws_tell.h"
#include "app/runs/bo/bo_impl.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "data/candidates.h"
#include "data/expr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bo_free(struct job *job)
{
    struct bo *g = job->arg;

    if (!g)
        return;
    dataset_unref(g->data);
    args_free((struct args *)(uintptr_t)g->a);
    free(g->at);
    free(g);
    job->arg = NULL;
}

/* Telling. */

static const char *solver_word(const struct bo_contender *c)
{
    return c->rule < 0 ? NULL : *c->solver ? c->solver : "auto";
}

static void tell_round(struct workspace *ws, const struct bo *g, const struct bo_round *r)
{
    const struct bo_contender *c = &g->who[r->who];
    char best[32], seconds[32];
    struct rec rec;

    rec_init(&rec, REC_RESULT, "bo");
    rec_str(&rec, "by", c->word);
    rec_str(&rec, "solver", solver_word(c));
    rec_int(&rec, "seed", (int64_t)(g->seed + r->seed));
    rec_int(&rec, "round", (int64_t)r->round);
    rec_int(&rec, "measured", (int64_t)r->measured);
    rec_num(&rec, "best", r->best);
    rec_num(&rec, "found1", r->found);
    rec_num(&rec, "seconds", r->seconds);
    text_number(best, sizeof best, r->best);
    text_seconds(seconds, sizeof seconds, r->seconds);
    rec_text(&rec, "%s%s%s seed %zu round %zu: %zu measured, best %s", c->word,
             *c->solver ? " " : "", c->solver, (size_t)g->seed + r->seed, r->round, r->measured,
             best);
    if (isfinite(r->found))
        rec_text(&rec, ", %.0f %% of the best 1 %% found", 100.0 * r->found);
    if (r->round)
        rec_text(&rec, " (%s)", seconds);
    ws_emit(ws, &rec);
}

static void tell_rounds(struct workspace *ws, struct bo *g)
{
    const size_t n = atomic_load_explicit(&g->n, memory_order_acquire);

    if (g->told == n)
        return;
    for (; g->told < n; g->told++)
        tell_round(ws, g, &g->at[g->told]);
    struct figure *f = bo_figure(g, NULL);
    if (f)
        (void)kept_take(ws, f, NULL);
}

static void bo_tick(struct workspace *ws, struct job *job, const struct tick *t)
{
    (void)t;
    if (!job->discard)
        tell_rounds(ws, job->arg);
}

static void bo_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct bo *g = job->arg;

    if (!job->discard)
        tell_rounds(ws, g);
    if (*g->warning && !job->discard)
        ws_note(ws, g->warning_name, "%s", g->warning);
    if (rc == ST_CANCELLED || job->discard) {
        ws_note(ws, "stopped", "bo was stopped after %zu rounds", g->told);
        ws->unconverged = true;
    } else if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        job->rc = rc;
    }
}

static const struct job_ops bo_ops = { .verb = "bo", .work = bo_rounds_work, .done = bo_done,
                                       .tick = bo_tick, .free = bo_free };

/* Contenders: each rule with each solver; the choice at random once, because nothing is fitted. */

static enum status read_rule(struct bo_contender *c, const char *word, size_t n, struct err *err)
{
    int found = n == 6 && !strncmp(word, "random", n) ? -1 : -2;

    for (int i = 0; propose_words[i]; i++)
        if (strlen(propose_words[i]) == n && !strncmp(propose_words[i], word, n))
            found = i;
    if (found < -1) {
        err_set(err, ST_USAGE, "by=%.*s is not one of the rules thompson, ei, ucb, mean, sd and "
                               "random", (int)(n < 40 ? n : 40), word);
        err_hint(err, "bo table by=thompson,mean,random");
        return ST_USAGE;
    }
    c->rule = found;
    snprintf(c->word, sizeof c->word, "%.*s", (int)n, word);
    return ST_OK;
}

static enum status read_solver(struct bo_contender *c, const char *word, size_t n, struct err *err)
{
    const struct model_ops *exact = model_kind_usual(true);
    const struct solver_ops *s = NULL;

    if (n >= sizeof c->solver) {
        err_set(err, ST_USAGE, "solver=%.40s... is too long", word);
        err_hint(err, "bo draw dims=8 solver=sdd,pcg,exact");
        return ST_USAGE;
    }
    snprintf(c->solver, sizeof c->solver, "%.*s", (int)n, word);
    c->kind = exact;
    c->name = exact->solver;
    if (exact->solver && !strcmp(exact->solver, c->solver))
        return ST_OK;
    const enum status rc = solver_parse(c->solver, &s, c->params, err);
    if (rc == ST_OK && model_kind_by(s->name) && model_kind_by(s->name) != exact) {
        err_set(err, ST_USAGE, "solver %s does not solve systems of an exact kernel", s->name);
        err_hint(err, "bo draw dims=8 solver=sdd,pcg,exact");
        return ST_USAGE;
    }
    c->name = rc == ST_OK ? s->name : NULL;
    return rc;
}

static enum status add_contender(struct bo *g, const char *rule, size_t nrule, const char *solver,
                                 size_t nsolver, struct err *err)
{
    struct bo_contender c = { .rule = 0 };
    enum status rc = read_rule(&c, rule, nrule, err);

    if (rc == ST_OK && nsolver)
        rc = read_solver(&c, solver, nsolver, err);
    if (rc != ST_OK)
        return rc;
    if (c.rule < 0) {
        for (size_t i = 0; i < g->nwho; i++)
            if (g->who[i].rule < 0)
                return ST_OK;
        *c.solver = '\0';
    }
    if (g->nwho == BO_CONTENDERS_MOST) {
        err_set(err, ST_USAGE, "at most %d rules and solvers can be compared", BO_CONTENDERS_MOST);
        err_hint(err, "bo table by=thompson,random");
        return ST_USAGE;
    }
    g->who[g->nwho++] = c;
    return ST_OK;
}

static enum status read_contenders(struct bo *g, const struct args *a, struct err *err)
{
    const char *rules = args_text(a, "by"), *solvers = args_text(a, "solver");
    enum status rc = ST_OK;

    for (const char *p = rules; rc == ST_OK && *p;) {
        const size_t n = text_span(p, ",");
        const char *q = solvers ? solvers : "";
        do {
            const size_t m = text_span(q, ",");
            rc = add_contender(g, p, n, q, m, err);
            q += m + (q[m] == ',');
        } while (rc == ST_OK && *q);
        p += n + (p[n] == ',');
    }
    return rc;
}

/* What is measured. */

static enum status suits(const struct dataset *d, struct err *err)
{
    if (dataset_targets(d) == 1)
        return ST_OK;
    err_set(err, ST_UNSUPPORTED, "bo replays one target, and the data have %zu",
            dataset_targets(d));
    err_hint(err, "cols NAME role=skip, then bo table");
    return ST_UNSUPPORTED;
}

static enum status open_table(struct bo *g, struct workspace *ws, struct err *err)
{
    const struct dataset *d = ws_dataset(ws, NULL, err);
    const enum status rc = d ? suits(d, err) : err->code;

    if (rc != ST_OK)
        return rc;
    g->data = dataset_snapshot(d, err);
    return g->data ? ST_OK : ST_NOMEM;
}

/* A dataset without rows: columns of numbers, the target last. */
static enum status empty_data(struct bo *g, char *const *name, size_t inputs, struct err *err)
{
    struct table *t = table_new("bo", inputs + 1, err);
    bool taken = false;

    if (!t)
        return ST_NOMEM;
    for (size_t j = 0; j < inputs; j++)
        taken |= !strcmp(name[j], "y");
    for (size_t j = 0; j <= inputs; j++) {
        t->col[j].type = COL_REAL;
        t->col[j].named = true;
        t->col[j].name = mem_strdup(j < inputs ? name[j] : taken ? "y (value)" : "y", err);
        t->col[j].v = t->col[j].name ? spill_array(1, sizeof(double), "a column", err) : NULL;
        if (!t->col[j].v) {
            table_unref(t);
            return ST_NOMEM;
        }
    }
    g->dims = inputs;
    g->data = dataset_new(t, "bo", t->col[inputs].name, err);
    table_unref(t);
    for (size_t j = 0; g->data && j <= inputs; j++)
        g->data->role[j] = j < inputs ? ROLE_INPUT : ROLE_TARGET;
    return g->data ? ST_OK : err_status(err);
}

static void free_names(char **name, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        free(name[i]);
    free(name);
}

/* The kernel of a draw, bound to its inputs: all lengthscales are l, in units of the cube's edge,
 * and the amplitude is 1. */
static enum status draw_kernel(struct bo *g, double l, struct err *err)
{
    struct kernel *k = &g->fit.kernel;
    size_t from[KERNEL_MAX_HP];

    if (kernel_reads_windows(k) || kernel_reads_parts(k)) {
        err_set(err, ST_UNSUPPORTED, "bo draw takes kernels that read all inputs as numbers");
        err_hint(err, "kernel matern(nu=3/2), then bo draw dims=8 l=0.3");
        return ST_UNSUPPORTED;
    }
    kernel_unbind(k);
    k->ngrouped = 0;
    for (size_t t = 0; t < k->nterms; t++) {
        k->term[t].ard = k->term[t].ard ? KERNEL_ARD : 0;
        k->term[t].grouped = false;
    }
    const enum status rc = kernel_bind(k, g->dims, from, err);
    for (size_t i = 0; rc == ST_OK && i < kernel_nhp(k); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(k, i, name, &h);
        g->fit.hp[i] = strstr(name, "lengthscale") ? l : h.init;
    }
    g->fit.amplitude = 1.0;
    g->fit.noise = g->noise > 0.0 ? g->noise : 1e-4;
    return rc;
}

static enum status open_draw(struct bo *g, const struct args *a, struct err *err)
{
    const size_t dims = (size_t)args_int(a, "dims", 8);
    char **name = mem_calloc(dims, sizeof *name, "columns", err);
    enum status rc = name ? ST_OK : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < dims; j++)
        if (asprintf(&name[j], "x%zu", j + 1) < 0) {
            name[j] = NULL;
            rc = err_nomem(err, 8, "a column");
        }
    if (rc == ST_OK && args_many(a, "column")) {
        rc = err_set(err, ST_USAGE, "a draw has inputs x1 to x%zu between 0 and 1, and takes no "
                                    "ranges such as %.40s", dims, args_many_at(a, "column", 0));
        err_hint(err, "bo draw dims=8 l=0.3");
    }
    if (rc == ST_OK)
        rc = empty_data(g, name, dims, err);
    free_names(name, dims);
    if (rc != ST_OK)
        return rc;
    g->data->xscale = X_NONE;
    g->data->yscale = Y_NONE;
    return draw_kernel(g, args_given(a, "l") ? args_num(a, "l") : 0.3, err);
}

/* A formula computes a number from columns that have ranges. */
static enum status check_formula(const struct bo *g, struct expr *e, struct err *err)
{
    const char *without = NULL;

    for (size_t i = 0; expr_column(e, i); i++)
        if (table_find(g->data->table, expr_column(e, i)) >= g->dims)
            without = expr_column(e, i);
    if (without) {
        err_set(err, ST_USAGE, "%.60s has no range", without);
        err_hint(err, "bo 'sin(5*x)' x=-2..2  |  bo draw dims=8  |  bo table");
        return ST_USAGE;
    }
    const enum status rc = expr_bind(e, g->data->table, err);
    if (rc != ST_OK || expr_type(e) == EXPR_NUMBER)
        return rc;
    err_set(err, ST_USAGE, "the formula is no number");
    err_hint(err, "bo 'sin(5*x)*(1-tanh(x^2))' x=-2..2");
    return ST_USAGE;
}

/* Reads the ranges as the rounds will. */
static enum status check_ranges(const struct bo *g, const struct args *a, struct err *err)
{
    const char *range[BO_DIMS_MOST];
    struct buf told = { 0 };
    struct table *t = NULL;

    for (size_t j = 0; j < g->dims; j++)
        range[j] = args_many_at(a, "column", j);
    const struct candidates_from from = { .d = g->data, .range = range, .nrange = g->dims,
                                          .most = 10 };
    const enum status rc = candidates_make(&from, &t, &told, err);
    table_unref(t);
    buf_free(&told);
    return rc;
}

static enum status open_formula(struct bo *g, const struct args *a, struct err *err)
{
    const size_t n = args_many(a, "column");
    struct expr *e = NULL;
    enum status rc = expr_parse(args_text(a, "of"), &e, err);

    if (rc == ST_OK && n > BO_DIMS_MOST) {
        rc = err_set(err, ST_LIMIT, "a formula of at most %d inputs can be searched",
                     BO_DIMS_MOST);
        err_hint(err, "give fewer ranges");
    }
    char **name = rc == ST_OK ? mem_calloc(n + 1, sizeof *name, "columns", err) : NULL;
    if (rc == ST_OK && !name)
        rc = ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < n; j++) {
        const char *s = args_many_at(a, "column", j);
        name[j] = strndup(s, strcspn(s, "="));
        rc = name[j] ? ST_OK : err_nomem(err, 8, "a column");
        for (size_t i = 0; rc == ST_OK && i < j; i++)
            if (!strcmp(name[i], name[j])) {
                rc = err_set(err, ST_USAGE, "%.60s has two ranges", name[j]);
                err_hint(err, "bo 'sin(5*x)' x=-2..2");
            }
    }
    if (rc == ST_OK)
        rc = empty_data(g, name, n, err);
    free_names(name, n);
    if (rc == ST_OK)
        rc = check_formula(g, e, err);
    if (rc == ST_OK)
        rc = check_ranges(g, a, err);
    expr_free(e);
    return rc;
}

/* Starting. */

static enum status read_goal(struct bo *g, const char *goal, struct err *err)
{
    g->o.goal.goal = !strcmp(goal, "max") ? GOAL_MAX : !strcmp(goal, "min") ? GOAL_MIN : GOAL_VALUE;
    if (g->o.goal.goal != GOAL_VALUE || text_double(goal, strlen(goal), &g->value))
        return ST_OK;
    err_set(err, ST_USAGE, "goal=%.40s is neither max nor min nor a value of the target", goal);
    err_hint(err, "bo table goal=max  |  goal=min  |  goal=1.5");
    return ST_USAGE;
}

/* Sizes, whose defaults depend on what is measured. */
static void read_sizes(struct bo *g, const struct args *a)
{
    static const struct {
        size_t start, rounds, batch;
        double noise;
        enum bo_tune tune;
    } usual[] = {
        [BO_TABLE] = { 96, 5, 96, 0.0, BO_TUNE_EACH },
        [BO_DRAW] = { 5000, 10, 200, 1e-3, BO_TUNE_NO },
        [BO_FORMULA] = { 3, 10, 1, 0.0, BO_TUNE_EACH },
    };
    const size_t more = g->kind == BO_FORMULA ? 2 * args_many(a, "column") : 0;

    g->start = (size_t)args_int(a, "start", (long)(usual[g->kind].start + more));
    g->rounds = (size_t)args_int(a, "rounds", (long)usual[g->kind].rounds);
    g->batch = (size_t)args_int(a, "batch", (long)usual[g->kind].batch);
    g->seeds = (size_t)args_int(a, "seeds", 1);
    g->candidates = (size_t)args_int(a, "candidates", 10000);
    g->noise = args_given(a, "noise") ? args_num(a, "noise") : usual[g->kind].noise;
    g->tune = usual[g->kind].tune;
    if (args_given(a, "tune"))
        g->tune = !strcmp(args_text(a, "tune"), "each")    ? BO_TUNE_EACH
                  : !strcmp(args_text(a, "tune"), "start") ? BO_TUNE_START
                                                           : BO_TUNE_NO;
}

static enum status open_kind(struct bo *g, struct workspace *ws, const struct args *a,
                             struct err *err)
{
    static const char *const only[] = { "dims", "l" };

    for (size_t i = 0; g->kind != BO_DRAW && i < sizeof only / sizeof *only; i++)
        if (args_given(a, only[i])) {
            err_set(err, ST_USAGE, "%s= belongs to bo draw", only[i]);
            err_hint(err, "bo draw dims=8 l=0.3");
            return ST_USAGE;
        }
    if (g->kind == BO_TABLE && (args_given(a, "noise") || args_many(a, "column"))) {
        err_set(err, ST_USAGE, "bo table measures the rows of the data as they are: it takes no %s",
                args_given(a, "noise") ? "noise=" : "ranges");
        err_hint(err, "bo table  |  bo 'sin(5*x)' x=-2..2 noise=0.1");
        return ST_USAGE;
    }
    return g->kind == BO_TABLE  ? open_table(g, ws, err)
           : g->kind == BO_DRAW ? open_draw(g, a, err)
                                : open_formula(g, a, err);
}

static enum status bo_read(struct bo *g, struct workspace *ws, const struct args *a,
                           struct err *err)
{
    const char *of = args_text(a, "of");

    g->kind = !strcmp(of, "table") ? BO_TABLE : !strcmp(of, "draw") ? BO_DRAW : BO_FORMULA;
    read_sizes(g, a);
    g->seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    g->o.count = g->batch;
    g->o.by_inputs = true;
    g->o.apart = args_num(a, "apart");
    g->fit = (struct fit_opts){ .kernel = ws->kernel, .amplitude = ws->amplitude,
                                .noise = ws->noise, .features = 4096, .rtol = args_num(a, "rtol"),
                                .maxit = (size_t)args_int(a, "maxit", 0),
                                .precision = PREC_DOUBLE, .seed = g->seed, .targets = 1,
                                .keep_scale = true };
    memcpy(g->fit.hp, ws->hp, sizeof g->fit.hp);
    enum status rc = read_contenders(g, a, err);
    if (rc == ST_OK)
        rc = read_goal(g, args_text(a, "goal"), err);
    if (rc == ST_OK)
        rc = open_kind(g, ws, a, err);
    if (rc == ST_OK)
        g->data->kernel = g->fit.kernel;
    return rc;
}

enum status bo_start(struct workspace *ws, const struct args *a, struct err *err)
{
    struct bo *g = mem_calloc(1, sizeof *g, "job", err);

    if (!g)
        return ST_NOMEM;
    g->a = args_ref(a);
    atomic_init(&g->n, 0);
    const enum status rc = bo_read(g, ws, a, err);
    if (rc == ST_OK) {
        ws_screen_show(ws, "bo", ""); /* the plot follows the rounds */
        return ws_submit(ws, &bo_ops, NULL, g, args_line(a), err);
    }
    struct job tmp = { .arg = g };
    bo_free(&tmp);
    return rc;
}
