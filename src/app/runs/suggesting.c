/* app/runs/suggesting.c -- see suggesting.h.  The worker reads or makes the candidates, leaves out
 * those that were measured, lets compute/models/propose.h choose, and writes the proposals. */
#include "app/runs/suggesting.h"

#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/asking.h"
#include "app/runs/molecules/molecule_list.h"
#include "app/runs/scoring/scoring_impl.h"
#include "app/shell/import_args.h"
#include "app/shell/text_table.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/models/exact.h"
#include "compute/models/propose.h"
#include "data/candidates.h"
#include "data/prepare.h"
#include "data/prepare_rows.h"
#include "data/row_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_PROPOSALS = 3, DRAWN_CANDIDATES = 3000 };

/* nearest: the similarity to the training row most like it; NaN: not measured. */
struct proposal { size_t row; double mean, sd, chance, nearest; };

/* What `pick test` knows, in units of the target: means of the observed values. */
struct picked_means { double chosen, best, by_mean, chance; };

struct suggesting {
    struct scoring s;       /* run, data, model, encoding; of its scoring job nothing else */
    struct dataset *now;    /* the data as they are now: those of the run and what was told since */
    struct prepare_rows asked; /* its proposals so far */
    size_t first;           /* the number of the first id to give out */
    const struct args *a;
    bool picks, test;       /* the command pick; from the test rows */
    struct picked_means means;
    double diversity;       /* mean of 1 - similarity between two that were chosen */
    struct import_opts import;
    text_csv_fn *csv;
    struct propose_opts o;
    /* What was found. */
    double *local;          /* calibrated sd of the candidates (scoring_local), or NULL */
    struct table *raw;      /* the candidates as read */
    size_t pool;            /* candidates */
    size_t measured, repeated; /* of them, left out */
    struct proposal *at; size_t n;
    double best;            /* measured, in units of the target */
    struct buf ranges;
    struct buf steps;       /* what the data are to remember: `ask` for each proposal, */
    char unkept[64];        /* or "": a column of which steps cannot have the cells */
    struct figure *figure;  /* the plot suggest */
    double seconds;
};

static const char *verb_of(const struct suggesting *g)
{
    return g->picks ? "pick" : "suggest";
}

static void suggesting_free(struct job *job)
{
    struct suggesting *g = job->arg;

    if (!g)
        return;
    dataset_unref(g->s.data);
    dataset_unref(g->now);
    prepare_rows_free(&g->asked);
    model_unref(g->s.model);
    encoding_free(&g->s.enc);
    table_unref(g->raw);
    args_free((struct args *)(uintptr_t)g->a);
    free(g->at);
    figure_free(g->figure);
    buf_free(&g->ranges);
    buf_free(&g->steps);
    buf_free(&g->s.notes);
    free(g);
    job->arg = NULL;
}

/* The inputs of the model that a table has, by name: their columns, ended by SIZE_MAX. */
static size_t *input_columns(const struct encoding *e, const struct table *t, struct err *err)
{
    size_t *col = mem_calloc(e->ncol + e->nheld + 1, sizeof *col, "columns", err), n = 0;

    for (size_t k = 0; col && k < e->ncol + e->nheld; k++) {
        const char *name = k < e->ncol ? e->col[k].column : e->held[k - e->ncol].column;
        const size_t j = table_find(t, name);
        bool have = j == SIZE_MAX;
        for (size_t i = 0; i < n; i++)
            have |= col[i] == j;
        if (!have)
            col[n++] = j;
    }
    if (col)
        col[n] = SIZE_MAX;
    return col;
}

/* What was measured. */

/* The utility of each row of the data; NaN where there is no value of the target.  Where the test
 * rows are the candidates, their values are unknown. */
static enum status utilities(struct suggesting *g, double **out, struct err *err)
{
    const struct encoding one = encoding_for(&g->s.enc, g->o.target);
    const struct table *t = g->now->table;
    const size_t j = table_find(t, one.target);
    double *u = mem_calloc(t->n + 1, sizeof *u, "the rows", err);
    size_t best = SIZE_MAX;

    *out = u;
    if (!u)
        return ST_NOMEM;
    if (j == SIZE_MAX || t->col[j].type != COL_REAL)
        return err_set(err, ST_STATE, "the data have no numbers of the target %.60s", one.target);
    for (size_t i = 0; i < t->n; i++) {
        const double y = encoding_scaled(&one, column_at(&t->col[j], i));
        const bool hidden = g->test && g->now->split.part && g->now->split.part[i] != PART_TRAIN;
        u[i] = isfinite(y) && !hidden ? acquisition_utility(&g->o.goal, y) : NAN;
        if (isfinite(u[i]) && (best == SIZE_MAX || u[i] > u[best]))
            best = i;
    }
    if (best == SIZE_MAX)
        return err_set(err, ST_STATE, "no row has a value of the target %.60s", one.target);
    g->o.goal.best = u[best];
    g->best = column_at(&t->col[j], best);
    return ST_OK;
}

/* The rows that wait for their measurement, as rows behind those of the data. */
static enum status pending_table(const struct suggesting *g, struct table **out, struct err *err)
{
    struct buf b = { 0 };
    const char **step = mem_calloc(g->asked.n + 1, sizeof *step, "proposals", err);
    char **text = step ? mem_calloc(g->asked.n + 1, sizeof *text, "proposals", err) : NULL;
    size_t n = 0;
    enum status rc = text ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < g->asked.n; i++) {
        if (g->asked.at[i].state == ROWS_MEASURED)
            continue;
        buf_printf(&b, "row %s", g->asked.at[i].cells);
        step[n] = text[n] = buf_take(&b);
        buf_free(&b);
        rc = text[n] ? ST_OK : err_nomem(err, 64, "a proposal");
        n++;
    }
    if (rc == ST_OK && n > 0)
        rc = prepare_rows_append(g->now->table, step, n, out, err);
    else if (rc == ST_OK)
        *out = table_ref(g->now->table);
    for (size_t i = 0; text && i < n; i++)
        free(text[i]);
    free(text);
    free(step);
    return rc;
}

/* Marks the candidates that were measured or wait for it, or that repeat an earlier one. */
static enum status leave_out(struct suggesting *g, const struct table *t, const struct encoded *e,
                             const double *u, bool *left, struct err *err)
{
    struct table *d = NULL;
    size_t *of = input_columns(&g->s.enc, g->now->table, err),
           *at = of ? input_columns(&g->s.enc, t, err) : NULL;
    enum status rc = at ? pending_table(g, &d, err) : ST_NOMEM;
    struct row_set *had = rc == ST_OK ? row_set_new(d->n + e->n, err) : NULL;

    if (rc == ST_OK && !had)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < d->n; i++)
        if (i >= g->now->table->n || isfinite(u[i]))
            row_set_add(had, d, of, i);
    for (size_t i = 0; rc == ST_OK && i < e->n; i++) {
        left[i] = !row_set_add(had, t, at, e->row[i]);
        g->measured += left[i];
    }
    table_unref(d);
    row_set_free(had);
    free(of);
    free(at);
    return rc;
}

/* On the worker thread. */

static enum status read_candidates(struct suggesting *g, struct job *job, const double *u,
                                   struct err *err)
{
    const char *pool = args_text(g->a, "pool");
    const size_t n = args_many(g->a, "column");

    if (g->test) {
        g->raw = table_ref(g->s.data->table);
        return ST_OK;
    }
    if (pool)
        return import_file(pool, &g->import, &job->ctl, &g->raw, err);
    const char **range = mem_calloc(n + 1, sizeof *range, "ranges", err);
    for (size_t i = 0; range && i < n; i++)
        range[i] = args_many_at(g->a, "column", i);
    const struct candidates_from from = { .d = g->now, .range = range, .nrange = n,
                                          .utility = u, .seed = g->o.seed,
                                          .most = (size_t)args_int(g->a, "candidates", 0) };
    const enum status rc = range ? candidates_make(&from, &g->raw, &g->ranges, err) : ST_NOMEM;
    free(range);
    return rc;
}

/* The variance of a new measurement at candidate k of the target, in scaled units. */
static double measured(const struct suggesting *g, const struct encoded *e,
                       const struct proposed *p, size_t k)
{
    const double noise = g->s.model->noises[g->o.target], *local = g->local;

    k += e->n * g->o.target;
    return local ? local[k] * local[k] : p->varf[k] + noise * noise;
}

/* The predictions of the chosen rows in units of the target. */
static enum status keep(struct suggesting *g, const struct encoded *e, const struct proposed *p,
                        struct err *err)
{
    const struct encoding one = encoding_for(&g->s.enc, g->o.target);

    g->at = mem_calloc(p->n + 1, sizeof *g->at, "proposals", err);
    g->n = g->at ? p->n : 0;
    for (size_t i = 0; i < g->n; i++) {
        const size_t k = g->o.target * e->n + p->row[i];
        const double var = measured(g, e, p, p->row[i]);
        g->at[i].row = e->row[p->row[i]];
        g->at[i].nearest = -INFINITY;
        encoding_unscale(&one, 1, &p->mean[k], &var, &g->at[i].mean, &g->at[i].sd);
        g->at[i].chance = acquisition_chance(&g->o.goal, p->mean[k], sqrt(p->varf[k]));
    }
    return g->at ? ST_OK : ST_NOMEM;
}

/* The candidates, at most some thousands of them, and the chosen rows among them. */
static enum status draw(struct suggesting *g, const struct encoded *e, const struct proposed *p,
                        struct err *err)
{
    const struct encoding one = encoding_for(&g->s.enc, g->o.target);
    const size_t step = e->n / DRAWN_CANDIDATES + 1, n = (e->n + step - 1) / step,
                 k0 = e->n * g->o.target;
    double *x = mem_calloc(2 * (n + g->n) + 1, sizeof *x, "a plot", err), *y = x + n + g->n;
    struct figure *f = x ? figure_new("suggest", "Proposals", err) : NULL;
    bool ok = f && figure_label(f, "sd of a new measurement", one.target, err) == ST_OK;

    for (size_t i = 0; ok && i < n; i++) {
        const double var = measured(g, e, p, i * step);
        encoding_unscale(&one, 1, &p->mean[k0 + i * step], &var, &y[i], &x[i]);
    }
    for (size_t i = 0; ok && i < g->n; i++)
        x[n + i] = g->at[i].sd, y[n + i] = g->at[i].mean;
    ok = ok && figure_add(f, "candidates", MARK_POINTS, n, x, y, err) != NULL;
    struct series *chosen = ok ? figure_add(f, "proposed", MARK_POINTS, g->n, x + n, y + n, err)
                               : NULL;
    ok = chosen && figure_add_hline(f, "best measured", g->best, err);
    if (chosen)
        chosen->foremost = true;
    if (ok && g->n)
        ok = figure_verdict(f, err, "%zu of %zu rows by %s; the first has mean %.4g and sd "
                            "%.3g, the best measured value is %.4g", g->n, e->n,
                            args_text(g->a, "by"),
                            g->at[0].mean, g->at[0].sd, g->best) == ST_OK;
    free(x);
    if (ok)
        g->figure = f;
    else
        figure_free(f);
    return ok ? ST_OK : ST_NOMEM;
}

/* What pick tells of its rows. */

static double alike(double k, double a, double b)
{
    return 2.0 * k / (a + b);
}

/* The similarity of each of the chosen rows X, wide numbers each with k(x, x) in own, to the
 * training row most like it; blocks of training rows, so that memory is bounded. */
static enum status nearest_trained(struct suggesting *g, struct job *job, const double *X,
                                   const double *own, size_t wide, struct err *err)
{
    enum { BLOCK = 512 };
    const struct model *m = g->s.model;
    struct encoded e = { 0 };
    size_t *rows = NULL, n = 0;
    double *Y = NULL, *C = NULL;
    enum status rc = dataset_rows(g->s.data, PART_TRAIN, &rows, &n, err);

    if (rc == ST_OK)
        rc = encode(&g->s.enc, g->s.data->table, rows, n, true, &e, err);
    const size_t d = rc == ST_OK ? e.base.d : 0;
    if (rc == ST_OK && d <= wide) {
        Y = mem_calloc(BLOCK, d * sizeof *Y, "training rows", err);
        C = Y ? mem_calloc(BLOCK, (g->n + 1) * sizeof *C, "similarities", err) : NULL;
        rc = C ? ST_OK : ST_NOMEM;
    }
    for (size_t r0 = 0; rc == ST_OK && C && r0 < e.n; r0 += BLOCK) {
        const size_t b = e.n - r0 < BLOCK ? e.n - r0 : BLOCK;
        const struct exact_rows at = { .k = &m->kernel, .hp = m->hp, .X = Y, .n = b, .d = d,
                                       .pool = job->pool };
        rc = e.base.rows(&e.base, r0, r0 + b, Y, err);
        if (rc != ST_OK)
            break;
        exact_cross_wide(&at, X, wide, g->n, C);
        for (size_t j = 0; j < b; j++) {
            const double *y = Y + j * d;
            const double yy = kernel_exact(&m->kernel, m->hp, d, y, y, NULL);
            for (size_t i = 0; i < g->n; i++)
                g->at[i].nearest = fmax(g->at[i].nearest, alike(C[i * b + j], own[i], yy));
        }
        if (ctl_stopped(&job->ctl))
            rc = err_set(err, ST_CANCELLED, "stopped while the nearest training rows were sought");
    }
    encode_free(&e);
    free(rows);
    free(Y);
    free(C);
    return rc;
}

/* How unlike the chosen rows are to one another and to those of training. */
static enum status compare(struct suggesting *g, struct job *job, const struct encoded *e,
                           const struct proposed *p, struct err *err)
{
    const struct model *m = g->s.model;
    const size_t d = e->base.d;
    double *X = mem_calloc(g->n + 1, d * sizeof *X, "the chosen rows", err);
    double *own = X ? mem_calloc(g->n + 1, sizeof *own, "the chosen rows", err) : NULL;
    double sum = 0.0;
    enum status rc = own ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < g->n; i++) {
        double *x = X + i * d;
        rc = e->base.rows(&e->base, p->row[i], p->row[i] + 1, x, err);
        if (rc != ST_OK)
            break;
        own[i] = kernel_exact(&m->kernel, m->hp, d, x, x, NULL);
        for (size_t k = 0; k < i; k++)
            sum += 1.0 - alike(kernel_exact(&m->kernel, m->hp, d, X + k * d, x, NULL), own[i],
                               own[k]);
    }
    g->diversity = g->n > 1 ? sum / (0.5 * (double)g->n * (double)(g->n - 1)) : (double)NAN;
    if (rc == ST_OK && g->n)
        rc = nearest_trained(g, job, X, own, d, err);
    free(X);
    free(own);
    return rc;
}

static int down(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

static double mean_at(const double *y, const size_t *row, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += y[row[i]];
    return n ? sum / (double)n : (double)NAN;
}

/* What the chosen test rows are worth, beside the best, those of by=mean, and all candidates. */
static enum status judge(struct suggesting *g, const struct encoded *e, const struct tools *on,
                         struct proposed *p, struct err *err)
{
    const double *y = e->yraw + g->o.target * e->n;
    const double sign = g->o.goal.goal == GOAL_MIN ? -1.0 : 1.0;
    double *v = mem_calloc(e->n + 1, sizeof *v, "values", err), sum = 0.0, top = 0.0;
    struct propose_opts by_mean = g->o;
    size_t n = 0;

    if (!v)
        return ST_NOMEM;
    for (size_t i = 0; i < e->n; i++)
        if (!g->o.left[i]) {
            v[n++] = sign * y[i];
            sum += y[i];
        }
    qsort(v, n, sizeof *v, down);
    for (size_t i = 0; i < g->n; i++)
        top += sign * v[i];
    free(v);
    g->means = (struct picked_means){ mean_at(y, p->row, g->n), top / (double)g->n, NAN,
                                      sum / (double)n };
    by_mean.by = PROPOSE_MEAN;
    by_mean.count = g->n;
    double *varf = p->varf;
    p->varf = NULL; /* the mean weighs none */
    const enum status rc = propose(g->s.model, &e->base, &by_mean, on, p, err);
    p->varf = varf;
    if (rc == ST_OK)
        g->means.by_mean = mean_at(y, p->row, p->n);
    return rc;
}

/* The variances of the chosen rows alone: for a rule that weighs none, those of a large pool take
 * far longer than its choice. */
static enum status weigh(struct suggesting *g, const struct table *t, const struct encoded *e,
                         const struct tools *on, struct proposed *p, struct err *err)
{
    const size_t n = p->n, targets = g->s.model->t;
    size_t *rows = mem_calloc(n + 1, sizeof *rows, "the chosen rows", err);
    double *mean = rows ? mem_calloc(2 * n * targets + 1, sizeof *mean, "predictions", err) : NULL,
           *varf = mean ? mean + n * targets : NULL;
    struct encoded few = { 0 };
    enum status rc = mean ? ST_OK : ST_NOMEM;

    for (size_t i = 0; mean && i < n; i++)
        rows[i] = e->row[p->row[i]];
    if (rc == ST_OK && n > 0)
        rc = encode(&g->s.enc, t, rows, n, false, &few, err);
    if (rc == ST_OK && few.n != n)
        rc = err_set(err, ST_STATE, "the chosen rows have changed");
    if (rc == ST_OK && n > 0)
        rc = model_predict(g->s.model, &few.base, mean, varf, on, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        p->varf[g->o.target * e->n + p->row[i]] = varf[g->o.target * n + i];
    encode_free(&few);
    free(rows);
    free(mean);
    return rc;
}

/* propose, without the variances of rows that are not chosen where its rule needs none. */
static enum status propose_rows(struct suggesting *g, const struct table *t,
                                const struct encoded *e, const struct tools *on,
                                struct proposed *p, struct err *err)
{
    const bool bare = g->picks && (g->o.by == PROPOSE_THOMPSON || g->o.by == PROPOSE_MEAN);
    double *varf = p->varf;

    p->varf = bare ? NULL : varf;
    const enum status rc = propose(g->s.model, &e->base, &g->o, on, p, err);
    p->varf = varf;
    return rc == ST_OK && bare ? weigh(g, t, e, on, p, err) : rc;
}

static enum status choose(struct suggesting *g, struct job *job, const struct table *t,
                          const struct encoded *e, const double *u, struct err *err)
{
    const struct tools on = { job->backend, job->pool, &job->ctl };
    const size_t n = e->n * g->s.model->t + 1;
    struct proposed p = { .mean = mem_calloc(n, sizeof *p.mean, "predictions", err) };
    bool *left = NULL;

    p.varf = p.mean ? mem_calloc(n, sizeof *p.varf, "predictions", err) : NULL;
    p.row = p.varf ? mem_calloc(g->o.count, sizeof *p.row, "proposals", err) : NULL;
    left = p.row ? mem_calloc(e->n + 1, sizeof *left, "candidates", err) : NULL;
    enum status rc = left ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && !args_bool(g->a, "again"))
        rc = leave_out(g, t, e, u, left, err);
    g->o.left = left;
    if (rc == ST_OK)
        rc = propose_rows(g, t, e, &on, &p, err);
    const bool none = rc != ST_OK && (!strcmp(err->name, "no-features") ||
                                      (g->s.model->kind->local &&
                                       !strcmp(err->name, "no-functions")));
    if (none && g->o.by == PROPOSE_THOMPSON)
        err_hint(err, "%s ... by=%s  |  by=ucb  |  by=mean", verb_of(g),
                 g->picks ? "improvement" : "ei");
    if (rc == ST_OK)
        rc = scoring_local(g->s.model, &e->base, p.mean, &on, &g->local, err);
    if (rc == ST_OK)
        rc = keep(g, e, &p, err);
    if (rc == ST_OK)
        rc = g->picks ? compare(g, job, e, &p, err) : draw(g, e, &p, err);
    if (rc == ST_OK && g->test && g->n)
        rc = judge(g, e, &on, &p, err);
    g->o.left = NULL;
    free(g->local);
    g->local = NULL;
    free(p.mean);
    free(p.varf);
    free(p.row);
    free(left);
    return rc;
}

static enum status write_csv(struct suggesting *g, struct err *err);

/* What the data are to remember of the proposals: their inputs as the model reads them. */
static enum status remember(struct suggesting *g, const struct table *t, struct err *err)
{
    const struct dataset *d = g->now;
    char id[32];

    for (size_t j = 0; j < d->table->ncols; j++)
        if (!prepare_rows_in_words(&d->table->col[j]))
            text_quoted(d->table->col[j].name, g->unkept, sizeof g->unkept);
    for (size_t i = 0; i < g->n && !*g->unkept; i++) {
        snprintf(id, sizeof id, "s%zu", g->first + i);
        buf_printf(&g->steps, "%sask {\"id\":\"%s\"", i ? "\n" : "", id);
        for (size_t j = 0; j < d->table->ncols; j++) {
            const size_t at = d->role[j] == ROLE_TARGET ? SIZE_MAX
                                                        : table_find(t, d->table->col[j].name);
            if (at != SIZE_MAX)
                prepare_rows_cell(&g->steps, &t->col[at], g->at[i].row);
        }
        buf_putc(&g->steps, '}');
    }
    return g->steps.failed ? err_nomem(err, g->steps.len, "proposals") : ST_OK;
}

/* The rows of the candidates: the test rows of the run, or all that a file or ranges give. */
static enum status pool_rows(struct suggesting *g, struct job *job, struct table **t,
                             size_t **rows, size_t *n, struct err *err)
{
    if (!g->test)
        return prepare_new_data(&g->s.enc, t, rows, n, &job->ctl, &g->s.notes, err);
    const enum status rc = dataset_rows(g->s.data, PART_TEST, rows, n, err);
    if (rc != ST_OK || *n > 0)
        return rc;
    err_named(err, ST_STATE, "no-rows", "dataset %s has no test rows to pick from",
              g->s.data->name);
    err_hint(err, "split test=20%% and fit again, or pick FILE");
    return ST_STATE;
}

static enum status suggest_work(struct job *job, struct err *err)
{
    struct suggesting *g = job->arg;
    const double t0 = job_now();
    struct encoded e = { 0 };
    struct table *t = NULL;
    size_t *rows = NULL, n = 0;
    double *u = NULL;
    enum status rc = scoring_need_factor(&g->s, job, err);

    if (rc == ST_OK && !model_has_variance(g->s.model)) {
        rc = err_named(err, ST_STATE, "no-variance",
                       "%s has no variances, and %s weighs them", g->s.run, verb_of(g));
        err_hint(err, "fit%s, then %s", g->s.model->kind->classes ? "" : " variance=auto",
                 verb_of(g));
    }
    if (rc == ST_OK)
        rc = utilities(g, &u, err);
    if (rc == ST_OK)
        rc = read_candidates(g, job, u, err);
    if (rc == ST_OK) {
        t = table_ref(g->raw);
        rc = pool_rows(g, job, &t, &rows, &n, err);
    }
    if (rc == ST_OK)
        rc = encode(&g->s.enc, t, rows, n, g->test, &e, err);
    g->pool = e.n;
    g->s.missing_cells = e.missing_cells, g->s.unseen_levels = e.unseen_levels;
    g->s.dropped = e.dropped, g->s.cut = e.cut, g->s.strange = e.strange;
    if (rc == ST_OK)
        rc = choose(g, job, t, &e, u, err);
    if (rc == ST_OK && !g->picks)
        rc = remember(g, t, err);
    encode_free(&e);
    free(rows);
    free(u);
    table_unref(t);
    if (rc == ST_OK && g->n > 0 && args_text(g->a, "out"))
        rc = write_csv(g, err);
    g->seconds = job_now() - t0;
    return rc;
}

/* The file. */

/* True for a column of the candidates that is no input: the target, which is to be measured, or an
 * identifier. */
static bool is_target(const struct suggesting *g, const char *name)
{
    for (size_t j = 0; j < encoding_targets(&g->s.enc); j++)
        if (!strcmp(encoding_for(&g->s.enc, j).target, name))
            return true;
    return false;
}

/* The file's own columns: the first, and those behind the candidates'. */
enum { OWN_COLUMNS = 4 };
static const char *const *own_columns(const struct suggesting *g)
{
    static const char *const suggested[] = { "id", "mean", "sd", "chance" };
    static const char *const picked[] = { "row", "mean", "sd", "nearest" };

    return g->picks ? picked : suggested;
}

static void csv_head(const struct suggesting *g, struct buf *b)
{
    const char *const *own = own_columns(g);

    buf_puts(b, own[0]);
    for (size_t c = 0; c < g->raw->ncols; c++) {
        const char *name = g->raw->col[c].name;
        bool taken = false;
        if (is_target(g, name) && !g->test)
            continue;
        for (size_t k = 0; k < OWN_COLUMNS; k++)
            taken |= !strcmp(name, own[k]);
        buf_puts(b, taken ? ",pool_" : ",");
        g->csv(b, name);
    }
    buf_printf(b, ",%s,%s,%s\n", own[1], own[2], own[3]);
}

static void csv_row(const struct suggesting *g, size_t i, struct buf *b)
{
    const struct proposal *p = &g->at[i];

    if (g->picks)
        buf_printf(b, "%zu", p->row + 1);
    else
        buf_printf(b, "s%zu", g->first + i);
    for (size_t c = 0; c < g->raw->ncols; c++) {
        const struct column *col = &g->raw->col[c];
        struct buf room = { 0 };
        if (is_target(g, col->name) && !g->test)
            continue;
        buf_putc(b, ',');
        if (col->type == COL_REAL && isfinite(column_at(col, p->row)))
            buf_json_double(b, column_at(col, p->row));
        const char *s =
            col->type == COL_REAL ? NULL : table_column_text(col, p->row, &room);
        if (s)
            g->csv(b, s);
        buf_free(&room);
    }
    const double v[] = { p->mean, p->sd, g->picks ? p->nearest : p->chance };
    for (size_t k = 0; k < 3; k++) {
        buf_putc(b, ',');
        buf_json_double(b, v[k]);
    }
    buf_putc(b, '\n');
}

static enum status write_csv(struct suggesting *g, struct err *err)
{
    struct buf b = { 0 };
    enum status rc;

    csv_head(g, &b);
    for (size_t i = 0; i < g->n; i++)
        csv_row(g, i, &b);
    rc = b.failed ? err_nomem(err, b.len, "proposals")
                  : outfile_put(args_text(g->a, "out"), 0666, b.s, b.len, err);
    if (rc == ST_IO)
        err_hint(err, "out=FILE.csv in a directory that you may write to");
    buf_free(&b);
    return rc;
}

/* On the main thread. */

static void tell_json(struct rec *rec, const struct suggesting *g)
{
    char id[32];

    rec_str(rec, "run", g->s.run);
    rec_str(rec, "out", g->n ? args_text(g->a, "out") : NULL);
    rec_int(rec, "count", (int64_t)g->n);
    rec_int(rec, "pool", (int64_t)g->pool);
    rec_int(rec, "left_out", (int64_t)g->measured);
    rec_int(rec, "pending",
            (int64_t)(prepare_rows_pending(&g->asked) + (*g->unkept ? 0 : g->n)));
    rec_str(rec, "by", args_text(g->a, "by"));
    rec_num(rec, "best", g->best);
    rec_array(rec, "rows");
    for (size_t i = 0; i < g->n; i++) {
        rec_item(rec);
        snprintf(id, sizeof id, "s%zu", g->first + i);
        rec_str(rec, "id", id);
        rec_int(rec, "row", (int64_t)g->at[i].row + 1);
        rec_num(rec, "mean", g->at[i].mean);
        rec_num(rec, "sd", g->at[i].sd);
        rec_num(rec, "chance", g->at[i].chance);
        rec_close(rec);
    }
    rec_array_close(rec);
    rec_num(rec, "seconds", g->seconds);
}

static void tell_text(struct rec *rec, const struct suggesting *g)
{
    const size_t shown = g->n < SHOWN_PROPOSALS ? g->n : SHOWN_PROPOSALS;
    char a[32], b[32], pool[32];

    text_count(pool, sizeof pool, g->pool);
    text_number(a, sizeof a, g->best);
    rec_text(rec, "%s suggests %zu of %s rows by %s; the best measured is %s", g->s.run, g->n, pool,
             args_text(g->a, "by"), a);
    for (size_t i = 0; i < shown; i++) {
        const struct proposal *p = &g->at[i];
        text_number(a, sizeof a, p->mean);
        text_number(b, sizeof b, p->sd);
        rec_text(rec, "\n  s%zu  row %zu  mean %s  sd %s  chance to beat the best %.3g",
                 g->first + i, p->row + 1, a, b, p->chance);
    }
    if (args_text(g->a, "out") && g->n) {
        rec_text(rec, "\n  %swritten to ", g->n > shown ? "all " : "");
        rec_safe(rec, args_text(g->a, "out"));
    } else if (g->n) {
        rec_text(rec, "\n  suggest ... out=FILE.csv writes them with their inputs");
    }
}

static void suggest_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    struct suggesting *g = job->arg;
    struct dataset *now = ws_dataset(ws, g->now->name, NULL);
    struct err why = { 0 };
    struct rec rec;

    if (rc == ST_OK && !now)
        rc = err_set(&why, ST_STATE, "the data of %s were dropped", g->s.run), err = &why;
    if (scoring_ended_early(ws, job, rc, err))
        return;
    if (g->steps.len && prepare_dataset(now, buf_str(&g->steps), NULL, NULL, &why) != ST_OK) {
        ws_error(ws, &why, job->line);
        job->rc = why.code;
        return;
    }
    asking_made(ws, g->first + g->n - 1);
    scoring_tell_counts(ws, &g->s);
    if (g->ranges.len)
        ws_tell(ws, REC_NOTE, g->s.run, "ranges", "suggest 8 NAME=20..80 NAME=5..9/0.5",
                "candidates: %.600s", buf_str(&g->ranges));
    if (g->measured)
        ws_note(ws, "measured", "%zu of %zu candidates were measured already or repeat another, "
                                "and are left out (again=yes allows them)", g->measured, g->pool);
    if (*g->unkept)
        ws_tell(ws, REC_NOTE, g->s.run, "unkept", "open FILE, with the measured rows in it",
                "these proposals are not kept: the column %s has more than words, and rows of it "
                "cannot be told one by one", g->unkept);
    if (g->n < g->o.count)
        ws_tell(ws, REC_WARNING, g->s.run, "few", "suggest 8 apart=0 candidates=50000",
                "only %zu of %zu rows could be proposed: the others were measured, or are too near "
                "to one that is proposed (apart=%g)", g->n, g->o.count, g->o.apart);
    rec_init(&rec, REC_RESULT, "suggest");
    snprintf(rec.run, sizeof rec.run, "%s", g->s.run);
    tell_json(&rec, g);
    tell_text(&rec, g);
    ws_emit(ws, &rec);
    if (g->figure)
        (void)kept_take(ws, g->figure, NULL);
    g->figure = NULL;
    ws->serial++;
}

static const struct job_ops suggest_ops = { .verb = "suggest", .work = suggest_work,
                                            .done = suggest_done, .free = suggesting_free };

/* The column that names the rows of the pool: an identifier of the data, else words that are no
 * input; SIZE_MAX: there is none. */
static size_t name_column(const struct suggesting *g)
{
    const struct dataset *d = g->s.data;
    size_t found = SIZE_MAX;

    for (size_t k = 0; k < g->raw->ncols; k++) {
        const size_t j = table_find(d->table, g->raw->col[k].name);
        if (j != SIZE_MAX && d->role[j] == ROLE_ID)
            return k;
        const bool word = g->raw->col[k].type == COL_TEXT || g->raw->col[k].type == COL_CATEGORY;
        if (found == SIZE_MAX && word && (j == SIZE_MAX || d->role[j] == ROLE_SKIP))
            found = k;
    }
    return found;
}

static void name_json(struct rec *rec, const struct suggesting *g, size_t k, size_t row)
{
    struct buf room = { 0 };
    const struct column *c = k == SIZE_MAX ? NULL : &g->raw->col[k];

    if (c && c->type == COL_REAL)
        buf_json_double(&room, column_at(c, row));
    rec_str(rec, "name", !c                    ? NULL
                         : c->type == COL_REAL ? buf_str(&room)
                                               : table_column_text(c, row, &room));
    buf_free(&room);
}

static void pick_json(struct rec *rec, const struct suggesting *g)
{
    const size_t name = name_column(g);

    rec_str(rec, "run", g->s.run);
    rec_str(rec, "out", args_text(g->a, "out"));
    rec_int(rec, "count", (int64_t)g->n);
    rec_int(rec, "pool", (int64_t)g->pool);
    rec_int(rec, "left_out", (int64_t)g->measured);
    rec_str(rec, "by", args_text(g->a, "by"));
    rec_array(rec, "picked");
    for (size_t i = 0; i < g->n; i++) {
        rec_item(rec);
        name_json(rec, g, name, g->at[i].row);
        rec_int(rec, "row", (int64_t)g->at[i].row + 1);
        rec_num(rec, "mean", g->at[i].mean);
        rec_num(rec, "sd", g->at[i].sd);
        rec_num(rec, "nearest", g->at[i].nearest);
        rec_close(rec);
    }
    rec_array_close(rec);
    rec_num(rec, "diversity", g->diversity);
    if (g->test) {
        rec_num(rec, "mean_chosen", g->means.chosen);
        rec_num(rec, "mean_best", g->means.best);
        rec_num(rec, "mean_by_mean", g->means.by_mean);
        rec_num(rec, "mean_chance", g->means.chance);
    }
    rec_num(rec, "seconds", g->seconds);
}

static void pick_text(struct rec *rec, const struct suggesting *g)
{
    const size_t shown = g->n < SHOWN_PROPOSALS ? g->n : SHOWN_PROPOSALS;
    char a[32], b[32], c[32], d[32];

    text_count(a, sizeof a, g->pool);
    rec_text(rec, "%s picks %zu of %s rows by %s", g->s.run, g->n, a, args_text(g->a, "by"));
    if (isfinite(g->diversity))
        rec_text(rec, "; diversity %.3g", g->diversity);
    for (size_t i = 0; i < shown; i++) {
        const struct proposal *p = &g->at[i];
        text_number(a, sizeof a, p->mean);
        text_number(b, sizeof b, p->sd);
        rec_text(rec, "\n  row %zu  mean %s  sd %s", p->row + 1, a, b);
        if (isfinite(p->nearest))
            rec_text(rec, "  similarity to training %.3g", p->nearest);
    }
    if (g->test && g->n) {
        text_number(a, sizeof a, g->means.chosen);
        text_number(b, sizeof b, g->means.best);
        text_number(c, sizeof c, g->means.by_mean);
        text_number(d, sizeof d, g->means.chance);
        rec_text(rec, "\n  observed mean of the chosen %s; of the best %s, by=mean %s, chance %s",
                 a, b, c, d);
    }
    if (args_text(g->a, "out") && g->n) {
        rec_text(rec, "\n  %swritten to ", g->n > shown ? "all " : "");
        rec_safe(rec, args_text(g->a, "out"));
    } else if (g->n > shown) {
        rec_text(rec, "\n  pick ... out=FILE.csv writes them all");
    }
}

/* The picked rows for plot molecules. */
static void pick_pictured(struct workspace *ws, const struct suggesting *g)
{
    const size_t of = molecule_list_column(g->s.data);
    const char *name = of == SIZE_MAX ? NULL : g->s.data->table->col[of].name;
    const size_t j = name ? table_find(g->raw, name) : SIZE_MAX;
    char title[80];

    snprintf(title, sizeof title, "%zu picked by %s, %s", g->n, g->s.run, args_text(g->a, "by"));
    struct molecule_list *l = j == SIZE_MAX || !g->n
                                  ? NULL
                                  : molecule_list_new("pick", title,
                                                      "similarity to training", false, NULL);
    bool ok = l != NULL;
    for (size_t i = 0; ok && i < g->n; i++) {
        const struct proposal *p = &g->at[i];
        struct buf room = { 0 };
        char head[MOLECULE_LIST_HEAD], value[64], like[64] = "";
        molecule_list_head(g->raw, p->row, j, head);
        snprintf(value, sizeof value, "mean %.4g, sd %.3g", p->mean, p->sd);
        if (isfinite(p->nearest))
            snprintf(like, sizeof like, "nearest training %.3f", p->nearest);
        const char *text = table_column_text(&g->raw->col[j], p->row, &room);
        const struct molecule_item item = { text ? text : "", { head, value, like }, p->nearest };
        ok = molecule_list_add(l, &item, NULL) == ST_OK;
        buf_free(&room);
    }
    if (ok)
        molecule_list_keep(ws, l);
    else
        molecule_list_free(l);
}

static void pick_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct suggesting *g = job->arg;
    struct rec rec;

    if (scoring_ended_early(ws, job, rc, err))
        return;
    scoring_tell_counts(ws, &g->s);
    if (g->measured)
        ws_note(ws, "measured", "%zu of %zu candidates are rows of training, were measured or "
                                "repeat another, and are left out", g->measured, g->pool);
    if (g->n < g->o.count)
        ws_tell(ws, REC_WARNING, g->s.run, "few", "pick ... similar=1",
                "only %zu of %zu rows could be picked: the others were left out, or are too like "
                "one that is picked", g->n, g->o.count);
    rec_init(&rec, REC_RESULT, "pick");
    snprintf(rec.run, sizeof rec.run, "%s", g->s.run);
    pick_json(&rec, g);
    pick_text(&rec, g);
    ws_emit(ws, &rec);
    pick_pictured(ws, g);
    ws->serial++;
}

static const struct job_ops pick_ops = { .verb = "pick", .work = suggest_work,
                                         .done = pick_done, .free = suggesting_free };

/* Starting. */

/* The words of pick's by=, in the order of enum propose_rule. */
static const char *const pick_words[] = { "thompson", "improvement", "ucb", "mean", NULL };

static enum status read_goal(struct suggesting *g, const char *goal, struct err *err)
{
    const struct encoding one = encoding_for(&g->s.enc, g->o.target);
    double v;

    g->o.goal.goal = !strcmp(goal, "max") ? GOAL_MAX : !strcmp(goal, "min") ? GOAL_MIN : GOAL_VALUE;
    if (g->o.goal.goal != GOAL_VALUE)
        return ST_OK;
    if (text_double(goal, strlen(goal), &v))
        g->o.goal.value = encoding_scaled(&one, v);
    else
        g->o.goal.value = NAN;
    if (isfinite(g->o.goal.value))
        return ST_OK;
    err_set(err, ST_USAGE, "goal=%.40s is neither max nor min nor a value of the target", goal);
    err_hint(err, "suggest 8 goal=max  |  goal=min  |  goal=1.5");
    return ST_USAGE;
}

static enum status read_asked(struct suggesting *g, const struct workspace *ws,
                              const struct args *a, struct err *err)
{
    const char *by = args_text(a, "by");
    enum status rc = encoding_find(&g->s.enc, args_text(a, "target"), &g->o.target, err);

    g->csv = strcmp(args_text(a, "quote"), "formulas") ? text_csv : text_csv_guarded;
    g->o.count = (size_t)args_int(a, "count", 1);
    g->o.by_inputs = !g->picks;
    g->o.apart = g->picks ? fmax(1.0 - args_num(a, "similar"), 0.0) : args_num(a, "apart");
    g->o.seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    const char *const *words = g->picks ? pick_words : propose_words;
    for (size_t i = 0; words[i]; i++)
        if (!strcmp(by, words[i]))
            g->o.by = (enum propose_rule)i;
    if (rc == ST_OK)
        rc = read_goal(g, args_text(a, "goal"), err);
    if (rc == ST_OK)
        rc = import_args_options(a, ws->opt.mem, &g->import, err);
    if (rc == ST_OK && args_text(a, "pool") && args_many(a, "column")) {
        rc = err_set(err, ST_USAGE, "suggest takes its candidates from a file or from ranges, and "
                                    "%.60s is a range beside pool=", args_many_at(a, "column", 0));
        err_hint(err, "suggest 8 pool=FILE  |  suggest 8 %.60s", args_many_at(a, "column", 0));
    }
    return rc;
}

/* The data of the run as they are now in the workspace. */
static enum status take_now(struct suggesting *g, struct workspace *ws, struct err *err)
{
    struct dataset *d = ws_dataset(ws, g->s.data->name, NULL);

    if (g->test) {
        g->now = dataset_ref(g->s.data);
        return ST_OK;
    }
    if (!d) {
        err_named(err, ST_STATE, "no-data", "the data of %s are no longer open", g->s.run);
        err_hint(err, "open the file again, then fit");
        return ST_STATE;
    }
    g->now = dataset_snapshot(d, err);
    const enum status rc = g->now ? prepare_rows_read(g->now->steps, &g->asked, err) : ST_NOMEM;
    g->first = asking_next(ws, &g->asked);
    return rc;
}

/* Rows are chosen by how large a number will be: of classes there is none. */
static enum status need_numbers(const struct run *r, const struct args *a, bool picks,
                                struct err *err)
{
    const char *verb = picks ? "pick" : "suggest";
    char word[64];
    size_t j = 0;
    const enum status rc = r->has_enc ? encoding_find(&r->enc, args_text(a, "target"), &j, err)
                                      : ST_OK;

    const struct encoding one = rc == ST_OK && r->has_enc ? encoding_for(&r->enc, j)
                                                          : (struct encoding){ 0 };
    if (one.nclasses == 0)
        return rc;
    err_named(err, ST_UNSUPPORTED, "classes",
              "%s weighs numbers, and the target %s of %s is a class", verb,
              text_quoted(one.target, word, sizeof word), r->id);
    err_hint(err, "predict FILE out=p.csv for the probabilities of its rows  |  a target of 0 and "
             "1 with likelihood gaussian, then fit and %s", verb);
    return ST_UNSUPPORTED;
}

static enum status start(struct workspace *ws, struct run *r, const struct args *a, bool picks,
                         struct err *err)
{
    struct suggesting *g;
    enum status rc = scoring_need_model(r, err);

    if (rc == ST_OK)
        rc = need_numbers(r, a, picks, err);
    if (rc == ST_OK)
        rc = run_one_function(r, err);
    if (rc == ST_OK)
        rc = scoring_need_data(r, err);
    if (rc == ST_OK)
        rc = scoring_csv_name(args_text(a, "out"), err);
    if (rc != ST_OK)
        return rc;
    g = mem_calloc(1, sizeof *g, "job", err);
    if (!g)
        return ST_NOMEM;
    g->a = args_ref(a);
    g->picks = picks;
    g->o.joint = picks;
    g->test = picks && !strcmp(args_text(a, "pool"), "test");
    rc = scoring_take(&g->s, r, err);
    if (rc == ST_OK)
        rc = take_now(g, ws, err);
    if (rc == ST_OK)
        rc = read_asked(g, ws, a, err);
    if (rc == ST_OK)
        return ws_submit(ws, picks ? &pick_ops : &suggest_ops, NULL, g, args_line(a), err);
    struct job tmp = { .arg = g };
    suggesting_free(&tmp);
    return rc;
}

enum status suggesting_start(struct workspace *ws, struct run *r, const struct args *a,
                             struct err *err)
{
    return start(ws, r, a, false, err);
}

enum status suggesting_pick(struct workspace *ws, struct run *r, const struct args *a,
                            struct err *err)
{
    return start(ws, r, a, true, err);
}
