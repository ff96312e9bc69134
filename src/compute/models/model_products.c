/* compute/models/model_products.c -- an exact kernel by products with K1, which is stored where
 * that is cheaper and memory has room: the choice of a solver by counted cost, weights by any
 * solver of the registry on S K1 S + ratio I (exact_system.h; share/doc/methods.md 5, 9), and
 * means.  There are no variances without a Cholesky factor of the whole matrix. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"
#include "compute/models/functions.h"
#include "compute/models/model_forecast.h"
#include "compute/stats/ritz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREDICT_ROWS = 4096,   /* rows of new inputs that are in memory at once */
    STEPS_PRODUCTS = 200,  /* the work of a solver that steps on rows, in products */
    COLUMNS = 32,          /* columns that a preconditioner holds beside its factor */
    SAMPLED_FROM = 2048,   /* rows from which a sample is taken, and the part of them that it is */
    SAMPLED_PART = 4,
    BLOCK_ROWS = 512,      /* of a solver that factors blocks, as a default */
};
#define DEVICE_PAIR 5e-11 /* seconds of a kernel value on a device */
/* Seconds of one core up to which a Cholesky factor is taken for its variances, even where products
 * cost less. */
static const double hardly_felt = 5.0;

/* Plan. */

/* A way to the weights: its counted seconds of one core and bytes. */
struct way {
    const struct solver_ops *solver; /* NULL: a Cholesky factor */
    const char *name;
    double products, seconds, bytes;
    bool forecast;       /* the products are those of a sample of the rows */
    enum storing stored; /* how K1 is stored; STORE_AUTO: it is not, and each product computes it */
    /* The same way with the other choice: its seconds, and bytes if that is to store K1. */
    double other_seconds, other_bytes;
};

/* The solver that steps on rows of the kernel, if there is one. */
static const struct solver_ops *stepping(void)
{
    for (size_t i = 0; solver_at(i); i++)
        if (solver_at(i)->dual && solver_at(i)->stochastic)
            return solver_at(i);
    return NULL;
}

static const struct precond_ops *precond_of(const struct fit_opts *o, const struct solver_ops *s,
                                            struct err *err)
{
    return !s->uses_precond ? &precond_none
           : o->precond     ? precond_find(o->precond, err)
                            : &precond_pchol;
}

/* The rank of a preconditioner for n rows: the one asked for, else its own or that of pchol. */
static size_t rank_of(const struct fit_opts *o, const struct precond_ops *pre, size_t n)
{
    if (!pre->ranked)
        return 0;
    const size_t usual = (pre->rank ? pre->rank : precond_pchol.rank)(n);
    const size_t rank = o->rank ? o->rank : usual;
    return rank < n ? rank : n;
}

/* Products of conjugate gradients to the tolerance: by forecast, else by 9.2 with a condition
 * number of 1 + n / (1000 ratio), as an eigenvalue of 1/1000 of the trace is what a preconditioner
 * of rank 100 often leaves first. */
static double cg_products(const struct fit_opts *o, const struct solver_ops *s, size_t n)
{
    const double ratio = model_ratio(o->amplitude, o->noise), known = o->products[s->uses_precond];
    const double rtol = o->rtol > 0.0 ? o->rtol : 1e-6, most = o->maxit ? (double)o->maxit : 500.0;
    const double k = 0.5 * sqrt(1.0 + 1e-3 * (double)n / ratio) * log(2.0 / rtol);

    return fmax(1.0, fmin(known > 0.0 ? known : k, most));
}

/* Bytes that a plan may take where none are given. */
static double budget_of(const struct fit_opts *o)
{
    return o->mem_limit ? (double)o->mem_limit : 0.5 * (double)mem_physical();
}

/* About how far the rounding of float16 moves eigenvalues of K1: errors of at most 2^-12 of the
 * largest value, independent of each other, make a matrix of norm 2^-12 sqrt n. */
static double half_moves(const struct fit_opts *o, size_t n)
{
    double most = 1.0;

    for (size_t f = 1; f < o->kernel.nterms; f++) {
        const size_t weight = kernel_place(&o->kernel, f).weight;
        most += weight == SIZE_MAX ? 0.0 : o->hp[weight] * o->hp[weight];
    }
    return most * 0x1p-12 * sqrt((double)n);
}

/* UNSUPPORTED unless K1 may be stored in float16: its rounding has to be corrected by the solver,
 * and small beside the noise. */
static enum status half_suits(const struct fit_opts *o, const struct solver_ops *s, size_t n,
                              struct err *err)
{
    const double moves = half_moves(o, n), ratio = model_ratio(o->amplitude, o->noise);
    char names[128];

    if (s == NULL || !solver_corrects(s)) {
        solver_names(solver_corrects, names, sizeof names);
        err_set(err, ST_UNSUPPORTED, "store=float16: only %s correct its rounding", names);
    } else if (!(moves <= 0.5 * ratio)) {
        err_set(err, ST_UNSUPPORTED,
                "store=float16: its rounding moves eigenvalues of the kernel matrix by about %.2g, "
                "beside a noise of %.2g", moves, ratio);
    } else {
        return ST_OK;
    }
    err_hint(err, "fit model=exact plan=store store=float32");
    return ST_UNSUPPORTED;
}

/* Decides whether a way that computes `pair` seconds for a value stores K1 instead: if the user
 * wants that, or if it is cheaper and memory has room.  The device computes unless asked to. */
static void choose_storing(const struct fit_opts *o, size_t n, size_t d, double pair,
                           struct way *w)
{
    const double rows = (double)n, room = budget_of(o) - w->bytes;
    const size_t k = (o->targets ? o->targets : 1) + o->samples;
    const bool asked = o->plan == PLAN_STORE || o->store != STORE_AUTO;
    const bool half = o->store == STORE_FLOAT16 ||
                      (o->store == STORE_AUTO && exact_op_stored_bytes(n, false) > room &&
                       exact_op_stored_bytes(n, true) <= room &&
                       half_suits(o, w->solver, n, NULL) == ST_OK);
    const double bytes = exact_op_stored_bytes(n, half),
                 fill = rows * rows * exact_op_cost(&o->kernel, d, 0),
                 read = w->products * rows * rows * exact_op_stored_cost(half, k),
                 anew = w->products * rows * rows * pair;
    const bool cheaper = o->plan == PLAN_AUTO && !o->device_exact && bytes <= room &&
                         fill + read < anew;

    w->other_seconds = w->seconds + fill + read - anew;
    w->other_bytes = w->bytes + bytes;
    if (!asked && !cheaper)
        return;
    const double seconds = w->seconds;
    w->seconds = w->other_seconds;
    w->other_seconds = seconds;
    w->bytes = w->other_bytes;
    w->stored = half ? STORE_FLOAT16 : STORE_FLOAT32;
}

/* Seconds of one core for the matrix and its factor. */
static double factor_seconds(const struct fit_opts *o, size_t n, size_t d)
{
    return exact_seconds_of(n, exact_op_pair(&o->kernel, d));
}

/* The counted cost of a solver on products. */
static struct way count(const struct fit_opts *o, const struct solver_ops *s, size_t n, size_t d)
{
    const double rows = (double)n, k = (double)((o->targets ? o->targets : 1) + o->samples);
    const struct precond_ops *pre = precond_of(o, s, NULL);
    const double rank = pre ? (double)rank_of(o, pre, n) : 0.0;
    const double pair = o->device_exact ? DEVICE_PAIR : exact_op_cost(&o->kernel, d, (size_t)k);
    struct way w = { .solver = s, .name = s->name };

    w.forecast = s->krylov && o->products[s->uses_precond] > 0.0;
    const bool steps = s->dual && s->stochastic;
    w.products = steps ? STEPS_PRODUCTS : s->iterative ? cg_products(o, s, n) : 1.0;
    w.seconds = w.products * rows * rows * pair + 4.0 * rows * rank * (rank + w.products) / 20e9;
    if (s->factors) /* of blocks, in each product, and their solves */
        w.seconds += w.products * rows * BLOCK_ROWS * (BLOCK_ROWS / 3.0 + 2.0 * k) / 20e9;
    w.bytes = 8.0 * rows * (1.5 * (double)d + 8.0 * k + 2.0 * rank + (rank > 0.0 ? COLUMNS : 0.0));
    if (!s->iterative) {
        w.seconds = factor_seconds(o, n, d);
        w.bytes += 8.0 * rows * rows;
    } else {
        choose_storing(o, n, d, pair, &w);
    }
    return w;
}

void model_products_cost(const struct fit_opts *o, size_t n, size_t d, double solves,
                         struct rank_guess *at)
{
    struct fit_opts with = *o;
    const double rows = (double)n, rank = (double)at->rank;

    with.rank = at->rank;
    with.precond = at->rank ? o->precond : precond_none.name;
    with.maxit = (size_t)fmax(1.0, ceil(at->iterations));
    with.products[solver_usual()->uses_precond] = at->iterations;
    const struct way w = count(&with, solver_usual(), n, d);
    at->build = 4.0 * rows * rank * rank / 20e9;
    at->iteration = fmax(0.0, w.seconds - at->build) / fmax(1.0, w.products);
    at->seconds = at->build + solves * at->iterations * at->iteration;
    at->bytes = w.bytes;
}

bool model_products_stepping(const struct fit_opts *o, size_t n, size_t d, size_t i,
                             struct advice_way *way)
{
    const struct solver_ops *s = NULL;

    for (size_t k = 0; (s = solver_at(k)) != NULL; k++)
        if (s->dual && s->stochastic && i-- == 0)
            break;
    if (s == NULL)
        return false;
    const struct way w = count(o, s, n, d);
    snprintf(way->name, sizeof way->name, "%s", s->name);
    way->seconds = w.seconds;
    way->bytes = w.bytes;
    return true;
}

/* Appends "NAME about TIME and MEMORY" to the note, with the forecast number of products. */
static void tell(char note[256], const char *before, const struct way *w, double threads)
{
    char mem[24], time[32];
    const size_t at = strlen(note);

    mem_format(mem, sizeof mem, w->bytes);
    text_seconds(time, sizeof time, fmax(w->seconds / threads, 0.01));
    if (w->forecast)
        snprintf(note + at, 256 - at, "%s%s about %.0f products, %s and %s", before, w->name,
                 w->products, time, mem);
    else
        snprintf(note + at, 256 - at, "%s%s about %s and %s", before, w->name, time, mem);
}

/* Appends to the note how the chosen way has the values of K1, and what the other choice costs. */
static void tell_storing(char note[256], const struct way *w, double threads)
{
    char time[32], mem[24];
    const size_t at = strlen(note);

    if (w->solver == NULL || !w->solver->iterative)
        return;
    text_seconds(time, sizeof time, fmax(w->other_seconds / threads, 0.01));
    mem_format(mem, sizeof mem, w->other_bytes);
    if (w->stored != STORE_AUTO)
        snprintf(note + at, 256 - at, ", kernel matrix stored in %s (computed in each product: %s)",
                 model_store_words[w->stored], time);
    else if (w->other_seconds < w->seconds)
        snprintf(note + at, 256 - at, " (with the kernel matrix stored: %s and %s)", time, mem);
}

/* The note: the way that is taken, what the others cost, and whether there are no variances. */
static void write_note(const struct way *all, size_t ways, size_t chosen, size_t n,
                       const struct fit_plan *p, bool means, char note[256])
{
    const double threads = p->threads ? (double)p->threads : 1.0;

    snprintf(note, 256, "exact: ");
    tell(note, "", &all[chosen], threads);
    snprintf(note + strlen(note), 256 - strlen(note), " for %zu rows", n);
    tell_storing(note, &all[chosen], threads);
    for (size_t i = 0; i < ways; i++)
        if (i != chosen)
            tell(note, "; ", &all[i], threads);
    if (means)
        snprintf(note + strlen(note), 256 - strlen(note),
                 "; means only (variance=all makes the factor)");
}

/* Writes the plan of a way: a Cholesky factor as p describes it, or products. */
static enum status take(const struct fit_opts *o, const struct way *w, size_t n,
                        struct fit_plan *p, struct err *err)
{
    const bool wanted = o->variance == VAR_ALL || o->variance == VAR_COUNT;

    p->solver = w->solver;
    if (o->store == STORE_FLOAT16 && half_suits(o, w->solver, n, err) != ST_OK)
        return ST_UNSUPPORTED;
    if (w->solver == NULL)
        return ST_OK;
    const struct precond_ops *pre = precond_of(o, w->solver, err);
    if (pre == NULL)
        return ST_NOT_FOUND;
    if ((wanted || !w->solver->iterative) && exact_allowed(n, 1, o->mem_limit, err) != ST_OK)
        return ST_LIMIT;
    p->plan = w->stored == STORE_AUTO ? PLAN_REGENERATE : PLAN_STORE;
    p->half = w->stored == STORE_FLOAT16;
    p->rank = rank_of(o, pre, n);
    p->Mv = wanted ? n : 0;
    p->bytes = wanted ? fmax(p->bytes, w->bytes) : w->bytes;
    if (o->mem_limit == 0 || p->bytes <= (double)o->mem_limit)
        return ST_OK;
    char mem[24], most[24];
    mem_format(mem, sizeof mem, p->bytes);
    mem_format(most, sizeof most, (double)o->mem_limit);
    err_named(err, ST_LIMIT, "exact-size", "%s on %zu rows of an exact kernel needs %s; %s is "
              "allowed", w->name, n, mem, most);
    if (p->plan == PLAN_STORE)
        err_hint(err, "fit model=exact plan=regenerate, or fit features=2048");
    else
        err_hint(err, "fit model=exact solver=pcg rank=20, or fit features=2048");
    return ST_LIMIT;
}

/* USAGE for values of plan= and store= that contradict each other or the solver. */
static enum status check_storing(const struct fit_opts *o, struct err *err)
{
    if (o->plan == PLAN_DIRECT) {
        err_set(err, ST_USAGE, "solver=%s has no plan=direct with an exact kernel", o->solver);
        err_hint(err, "fit solver=exact, or fit model=exact plan=store");
        return ST_USAGE;
    }
    if (o->store == STORE_AUTO || o->plan == PLAN_AUTO || o->plan == PLAN_STORE)
        return ST_OK;
    err_set(err, ST_USAGE, "store= is how plan=store keeps the kernel matrix: no other plan does");
    err_hint(err, "fit model=exact plan=store");
    return ST_USAGE;
}

enum status model_products_plan(const struct fit_opts *o, size_t n, size_t d, bool factor,
                                struct fit_plan *p, char note[256], struct err *err)
{
    const struct solver_ops *asked = solver_is_free(o->solver) ? NULL : solver_find(o->solver, err);
    const struct solver_ops *steps = stepping();
    struct way all[4] = { { .name = "Cholesky", .seconds = factor_seconds(o, n, d),
                            .bytes = p->bytes } };
    size_t ways = 1, chosen = 0;

    if (asked == NULL && !solver_is_free(o->solver))
        return ST_NOT_FOUND;
    if (check_storing(o, err) != ST_OK)
        return ST_USAGE;
    factor = factor && o->plan == PLAN_AUTO && o->store == STORE_AUTO;
    if (p->Mv) /* the diagonal of the inverse */
        all[0].seconds += exact_seconds_of(n, 0.0);
    all[ways++] = count(o, solver_usual(), n, d);
    if (steps)
        all[ways++] = count(o, steps, n, d);
    chosen = factor ? 0 : 1;
    for (size_t i = chosen + 1; i < ways && !(factor && all[0].seconds <= hardly_felt); i++)
        if (all[i].seconds < all[chosen].seconds)
            chosen = i;
    for (size_t i = 0; asked && i < ways; i++)
        if (all[i].solver == asked)
            chosen = i;
    if (asked && all[chosen].solver != asked) {
        chosen = ways;
        all[ways++] = count(o, asked, n, d);
    }
    const enum status rc = take(o, &all[chosen], n, p, err);
    if (rc == ST_OK)
        write_note(all, ways, chosen, n, p,
                   all[chosen].solver && p->Mv == 0 && o->samples == 0, note);
    return rc;
}

/* True where a sample of the rows decides, or tells the cost: where there are enough of them, and a
 * factor would not be taken anyway. */
static bool takes_sample(const struct fit_opts *o, size_t n, size_t d)
{
    const bool chosen = solver_is_free(o->solver), direct = o->plan == PLAN_DIRECT;
    const struct solver_ops *s = chosen ? NULL : solver_find(o->solver, NULL);
    const bool factor = chosen && exact_allowed(n, 1, o->mem_limit, NULL) == ST_OK &&
                        factor_seconds(o, n, d) <= hardly_felt && o->plan == PLAN_AUTO &&
                        o->store == STORE_AUTO;

    return n >= SAMPLED_FROM && !direct && !factor && (chosen || (s && s->iterative));
}

enum status model_products_sample(const struct fit *ft, struct fit_opts *o, struct err *err)
{
    const size_t n = ft->src->n, rank = rank_of(o, precond_of(o, solver_usual(), NULL), n),
                 part = n / SAMPLED_PART;
    const size_t ranks[2] = { 0, rank };
    struct rank_guess g[2];
    struct phase_ctl phase;
    const struct tools on = { ft->on.be, ft->on.pool,
                              model_phase(&phase, ft->on.ctl, PHASE_RANKS) };
    const struct forecast_ask q = { .rows = ft->src, .y = ft->y, .opts = o,
                                    .ratio = model_ratio(o->amplitude, o->noise),
                                    .precond = precond_of(o, solver_usual(), NULL),
                                    .ranks = ranks, .count = 2,
                                    .sample = part < FORECAST_ROWS ? part : FORECAST_ROWS,
                                    .most = o->maxit ? o->maxit : 500 };
    size_t rows;

    if (!takes_sample(o, n, ft->src->d) || q.precond == NULL || q.precond->factored)
        return ST_OK;
    const enum status rc = model_forecast(&q, &on, g, &rows, err);
    for (size_t i = 0; rc == ST_OK && i < 2; i++)
        o->products[i] = g[i].low > 0.0 ? fmin(g[i].iterations, (double)q.most) : 0.0;
    return rc;
}

/* Fit. */

static enum status build_precond(struct fit *ft, const struct linop *A, struct precond **pre,
                                 struct err *err)
{
    const struct precond_ops *ops = precond_of(ft->o, ft->plan.solver, err);
    const struct precond_opts po = { .rank = ft->plan.rank, .seed = ft->o->seed,
                                     .lam2 = ft->ratio };
    struct phase_ctl phase;

    if (ops == NULL)
        return ST_NOT_FOUND;
    const enum status rc =
        ops->build(A, &po, model_phase(&phase, ft->on.ctl, PHASE_PRECOND), pre, err);
    if (rc != ST_OK)
        return rc;
    precond_set_noise(*pre, ft->ratio);
    ft->info->rank = precond_rank(*pre);
    ft->info->ratio = precond_ratio(*pre);
    snprintf(ft->info->precond, sizeof ft->info->precond, "%s", ops->name);
    return ST_OK;
}

/* The start (t x n, the caller frees it) of a solve of (S K1 S + ratio I) x = S y: weights w of a
 * fit that shares rows, x = S^-1 w there and 0 at all others; or from predictions f of these rows,
 * as if K1 w were f, x = (S y - S f) / ratio. */
static enum status begin(struct fit *ft, double **x0, struct err *err)
{
    const struct model *start = ft->o->start;
    const size_t n = ft->m->M, all = ft->t * n;
    const double *s = ft->src->row_scale;
    const double *rows = ft->o->start_rows ? ft->o->start_rows : start->X;
    struct phase_ctl phase;
    const struct tools on = { ft->on.be, ft->on.pool,
                              model_phase(&phase, ft->on.ctl, PHASE_START) };
    double *x = mem_calloc(all, sizeof *x, "the start", err);
    enum status rc = ST_OK;

    *x0 = x;
    if (x == NULL)
        return ST_NOMEM;
    if (rows && model_start_same(start, ft->m))
        rc = model_start_rows(start, rows, ft->m, &ft->start_from, &ft->info->start_rows, err);
    ft->info->projected = ft->info->start_rows == 0;
    for (size_t i = 0; rc == ST_OK && !ft->info->projected && i < all; i++) {
        const size_t at = ft->start_from[i % n];
        if (at != SIZE_MAX)
            x[i] = start->w[i / n * start->M + at] / (s ? s[i % n] : 1.0);
    }
    if (rc != ST_OK || !ft->info->projected)
        return rc;
    rc = model_predict(start, ft->src, x, NULL, &on, err);
    for (size_t i = 0; rc == ST_OK && i < all; i++)
        x[i] = (ft->y[i] - (s ? s[i % n] : 1.0) * x[i]) / ft->ratio;
    return rc;
}

/* Weights by the solver of the plan, with its figures. */
static enum status solve(struct fit *ft, const struct linop *A, struct solve_opts *so,
                         struct solve_info *each, struct err *err)
{
    struct fit_info *info = ft->info;
    struct precond *pre = NULL;
    struct fit_block k = { 0 };
    double t = fit_now(), *x0 = NULL, *all = NULL;
    enum status rc = ft->plan.solver->uses_precond ? build_precond(ft, A, &pre, err) : ST_OK;

    info->seconds.precond = fit_now() - t;
    t = fit_now();
    if (rc == ST_OK)
        rc = fit_block_new(ft, ft->y, &k, err);
    if (rc == ST_OK && ft->m->S)
        rc = functions_sides_exact(ft->m, ft->src->row_scale, ft->ratio, fit_block_sides(ft, &k),
                                   &ft->on, err);
    if (rc == ST_OK && ft->o->start)
        rc = begin(ft, &x0, err);
    so->pre = pre;
    if (ft->o->start && ft->o->keep_ratio) {
        so->state = ft->o->start->state;
        so->nstate = ft->o->start->nstate;
    }
    so->x0 = rc == ST_OK && x0 ? fit_block_start(ft, &k, x0, ft->src->row_scale, &all, err) : NULL;
    if (rc == ST_OK && x0 && !so->x0)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        rc = ft->plan.solver->solve(A, k.k, k.B, k.X, so, ft->on.ctl, each, err);
    fit_block_end(ft, &k, each, rc);
    info->seconds.solve = fit_now() - t;
    if (pre && precond_eigenvalues(pre))
        info->condition_plain = (precond_eigenvalues(pre)[0] + ft->ratio) / ft->ratio;
    free(x0);
    free(all);
    free(ft->start_from);
    ft->start_from = NULL;
    precond_free(pre);
    if (rc == ST_OK) {
        ft->m->state = each[0].state;
        ft->m->nstate = each[0].nstate;
        each[0].state = NULL;
        info->resumed = each[0].resumed;
        fit_gather(ft, each);
    }
    for (size_t j = 0; j < ft->t + ft->m->S; j++)
        solve_info_free(&each[j]);
    return rc;
}

/* The least ratio at which K1 in single precision stays definite beside it: values near 1 are off
 * by about 2^-24, independently of each other, which is a matrix of norm 2^-23 sqrt n, and vectors
 * by as much. */
static double least_ratio(size_t n)
{
    return 0x1p-22 * sqrt((double)n);
}

/* Raises a ratio that single precision cannot hold, and says so. */
static void hold_ratio(struct fit *ft)
{
    const double least = least_ratio(ft->m->M);

    if (!exact_op_single(exact_system_op(ft->system)) || ft->ratio >= least)
        return;
    fit_warn(ft->info, "noise-floor",
             "the weights are those of a noise variance of %.2g times amplitude squared, not %.2g: "
             "products in single precision allow no less", least, ft->ratio);
    ft->ratio = least;
}

enum status model_products_fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    struct solve_opts so = { .rtol = ft->o->rtol, .maxit = ft->o->maxit, .seed = ft->o->seed,
                             .params = ft->o->solver_params };
    struct solve_info *each = mem_calloc(ft->t + m->S, sizeof *each, "the targets' solves", err);
    struct err why = { 0 };

    snprintf(info->solver, sizeof info->solver, "%s", ft->plan.solver->name);
    m->X = each ? exact_inputs(ft->src, err) : NULL;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M, .d = m->d,
                                     .row_scale = ft->src->row_scale, .pool = ft->on.pool };
    enum status rc = m->X ? exact_system_open(ft->on.be, &rows, &ft->system, err) : err_status(err);
    if (rc == ST_OK && ft->plan.plan == PLAN_STORE) {
        const double t = fit_now();
        rc = exact_system_store(ft->system, ft->plan.half, ft->on.ctl, err);
        info->seconds.features = fit_now() - t;
    }
    if (rc == ST_OK)
        hold_ratio(ft);
    if (rc == ST_OK) {
        const struct linop A = exact_system_linop(ft->system, ft->ratio);
        if (ft->o->against)
            rc = model_watch_open(ft, &so.watch, err);
        if (rc == ST_OK)
            rc = solve(ft, &A, &so, each, err);
        model_watch_close(so.watch);
    }
    free(each);
    if (rc != ST_OK)
        return rc;
    const bool there = exact_op_there(exact_system_op(ft->system), &why);
    info->not_there = !there && why.code == ST_OK && ft->plan.plan != PLAN_STORE && ft->on.be &&
                      ft->on.be->exact;
    if (!there && why.code == ST_BACKEND)
        fit_warn(info, "device-lost",
                 "the device failed in the middle; the processor went on: %.200s", why.msg);
    info->warm = ft->o->start != NULL;
    rc = ritz_condition(ft->trace, &info->condition, &info->ritz_min, &info->ritz_max, err);
    if (rc != ST_OK)
        return rc;
    if (info->rank == 0)
        info->condition_plain = info->condition;
    if (info->float_limit)
        fit_warn(info, "float-limit",
                 "the true residual stopped at %.2g: single precision kernels allow no less",
                 info->true_residual);
    return ST_OK;
}

/* The true residual of what a descent returns, which comes with the product that the amplitude
 * needs: its outcome, and the last point of its trace. */
static void tell_end(struct fit *ft, const double *true_residual)
{
    struct fit_info *info = ft->info;
    struct tick t = { .phase = PHASE_ITERATE, .done = info->iterations, .total = info->iterations,
                      .target = ft->o->rtol, .passes = info->passes, .counted = true,
                      .method = ft->plan.solver->name, .value = info->residual };

    info->true_residual = 0.0;
    for (size_t j = 0; j < ft->t; j++) {
        info->target[j].true_residual = true_residual[j];
        if (!(true_residual[j] <= info->true_residual))
            info->true_residual = true_residual[j];
    }
    t.value2 = info->true_residual;
    if (t.value > 0.0)
        ctl_tick(ft->on.ctl, &t);
}

/* For each target, with r = y - A w: the residual y - K1 w is r + ratio w, and c =
 * y' (K1 + ratio I)^-1 y = y'w + r'w up to r'A^-1 r, the square of the error of an unfinished
 * solve, which is at most r'r / ratio (share/doc/methods.md 9.18). */
enum status model_products_moments(struct fit *ft, double *rr, double *c, struct err *err)
{
    const size_t n = ft->m->M;
    const struct linop A = exact_system_linop(ft->system, ft->ratio);
    double left_over[TARGETS_MOST], *Aw = mem_calloc(ft->t * n, sizeof *Aw, "the residuals", err);
    apply_fn *apply = A.exact ? A.exact : A.apply;
    const enum status rc = Aw ? apply(A.ctx, ft->t, ft->m->w, Aw, NULL, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < ft->t; j++) {
        const double *w = ft->m->w + j * n, *y = ft->y + j * n, *a = Aw + j * n;
        double left2 = 0.0;
        rr[j] = c[j] = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double r = y[i] - a[i], left = r + ft->ratio * w[i];
            rr[j] += left * left;
            c[j] += (y[i] + r) * w[i];
            left2 += r * r;
        }
        ft->slack[j] = left2 / ft->ratio;
        left_over[j] = sqrt(left2) / blas_dnrm2(n, y);
    }
    if (rc == ST_OK && ft->plan.solver->dual)
        tell_end(ft, left_over);
    free(Aw);
    return rc;
}

/* Predictions. */

enum status model_products_predict(struct prediction *p, struct err *err)
{
    const struct model *m = p->m;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M, .d = m->d,
                                     .pool = p->on.pool };
    const size_t most = p->n < PREDICT_ROWS ? p->n : PREDICT_ROWS;
    double *Y = mem_aligned(most * (m->d + m->t) + 1, sizeof *Y, "new rows", err);
    struct exact_op *op = NULL;
    enum status rc = Y ? exact_op_open(p->on.be, &rows, &op, err) : ST_NOMEM;

    for (size_t r0 = 0; rc == ST_OK && r0 < p->n; r0 += most) {
        const size_t r1 = r0 + most < p->n ? r0 + most : p->n, k = r1 - r0;
        double *W = Y + most * m->d;
        rc = p->src->rows(p->src, r0, r1, Y, err);
        if (rc == ST_OK)
            rc = exact_op_apply(op, k, Y, m->t, m->w, W, p->on.ctl, err);
        for (size_t j = 0; rc == ST_OK && j < m->t; j++)
            memcpy(p->mean + j * p->n + r0, W + j * k, k * sizeof *W);
        ctl_tell(p->on.ctl, PHASE_PREDICT, r1, p->n, NAN);
    }
    exact_op_close(op);
    free(Y);
    return rc;
}
