/* compute/model_plan.c -- what a fit will do and need, from sizes alone: never from a stopwatch, so
 * that the same command gives the same bits tomorrow.
 *
 * Costs per core (performance.md 3.2, 3.3): float32 products 100 GFLOP/s, float64 50; a pass over
 * stored features 0.18 ns an entry, over regenerated ones 0.32. */
#include "compute/model_impl.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIRECT_ALWAYS = 2048, TYPICAL_ITERATIONS = 60 };
static const double panel_bytes = 256e6; /* row blocks of a product, at most */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static size_t first_rank(size_t M, size_t asked)
{
    if (asked)
        return asked < M ? asked : M;
    size_t r = M / 8 / 16 * 16;
    r = r > RANK_FIRST ? RANK_FIRST : r < 32 ? 32 : r;
    return r < M / 2 ? r : M / 2 > 0 ? M / 2 : 1;
}

static size_t variance_columns(const struct fit_opts *o, bool direct)
{
    switch (o->variance) {
    case VAR_NONE: return 0;
    case VAR_ALL: return o->features;
    case VAR_COUNT: return o->variance_count < o->features ? o->variance_count : o->features;
    case VAR_AUTO: break;
    }
    return direct || o->features <= AUTO_VARIANCE ? o->features : AUTO_VARIANCE;
}

static double product_seconds(double n, double M, const struct fit_opts *o)
{
    return n * M * M / (o->precision == PREC_DOUBLE ? 50e9 : 100e9);
}

/* One core's seconds of a direct and of an iterative fit, variance included. */
static double direct_seconds(double n, const struct fit_opts *o)
{
    const double M = (double)o->features;
    const double factors = o->keep_scale ? 1.0 : 6.0; /* looks at other noise ratios */
    return product_seconds(n, M, o) + factors * M * M * M / 3.0 / 45e9;
}

static double iterative_seconds(double n, const struct fit_opts *o, double rank, bool store)
{
    const double M = (double)o->features, Mv = (double)variance_columns(o, false);
    const double entry = store ? 0.18e-9 : 0.32e-9;
    const double speed = o->precision == PREC_DOUBLE ? 50e9 : 100e9;
    return 2.0 * 4.0 * n * M * rank / speed + TYPICAL_ITERATIONS * n * M * entry +
           product_seconds(n, Mv, o) + Mv * Mv * Mv / 3.0 / 45e9;
}

static void plan_bytes(double n, double d, const struct fit_opts *o, struct fit_plan *p)
{
    const double M = (double)o->features, r = (double)p->rank;
    const double size = o->precision == PREC_DOUBLE ? 8.0 : 4.0;
    const double rows = 8.0 * n * 4.0 + 8.0 * d * 64.0, z = n * M * size;
    const double panel = least(panel_bytes, n * M * size) + 8.0 * M * 64.0;
    const double Mv = (double)variance_columns(o, false), Md = (double)variance_columns(o, true);
    const double sketch = 8.0 * M * r * 5.0 + panel, var = 8.0 * Mv * Mv + panel;
    const double direct_var = Md > 0.0 && Md < M ? 8.0 * Md * Md : 0.0;

    p->bytes_regenerate = rows + (sketch > var ? sketch : var);
    p->bytes_store = p->bytes_regenerate + z;
    p->bytes_direct = rows + 8.0 * M * M + panel + direct_var;
}

static bool wants(const struct fit_opts *o, const char *name)
{
    return o->solver != NULL && strcmp(o->solver, name) == 0;
}

static enum status choose(size_t n, const struct fit_opts *o, double budget, struct fit_plan *p,
                          struct err *err)
{
    const bool free_choice = o->solver == NULL || wants(o, "auto");

    if (wants(o, "direct") && o->plan != PLAN_AUTO && o->plan != PLAN_DIRECT)
        return err_set(err, ST_USAGE, "solver=direct has no other plan than direct");
    if (!free_choice && !wants(o, "direct") && o->plan == PLAN_DIRECT)
        return err_set(err, ST_USAGE, "plan=direct goes with solver=direct or auto, not with %s",
                       o->solver);
    if (o->plan != PLAN_AUTO) {
        p->plan = o->plan;
        return ST_OK;
    }
    p->plan = p->bytes_store <= budget ? PLAN_STORE : PLAN_REGENERATE;
    if (wants(o, "direct")) {
        p->plan = PLAN_DIRECT;
    } else if (free_choice && p->bytes_direct <= budget) {
        const double it = iterative_seconds((double)n, o, (double)p->rank, p->plan == PLAN_STORE);
        if (o->features <= DIRECT_ALWAYS || direct_seconds((double)n, o) <= it)
            p->plan = PLAN_DIRECT;
    }
    return ST_OK;
}

static void describe(size_t n, const struct fit_opts *o, size_t threads, double budget,
                     const struct fit_plan *p, char note[256])
{
    static const char *const words[] = { "auto", "store", "regenerate", "direct" };
    char a[24], b[24], c[24], lim[24], t1[24], t2[24];
    const double cores = threads ? (double)threads : 1.0;

    mem_format(a, sizeof a, p->bytes_store);
    mem_format(b, sizeof b, p->bytes_regenerate);
    mem_format(c, sizeof c, p->bytes_direct);
    mem_format(lim, sizeof lim, budget);
    text_seconds(t1, sizeof t1, direct_seconds((double)n, o) / cores);
    text_seconds(t2, sizeof t2,
                 iterative_seconds((double)n, o, (double)p->rank, p->plan != PLAN_REGENERATE) /
                     cores);
    snprintf(note, 256, "%s: store needs %s, regenerate %s, direct %s of %s; about %s direct, %s "
             "iterative", words[p->plan], a, b, c, lim, t1, t2);
}

static enum status plan_exact(size_t n, size_t d, const struct fit_opts *o, struct fit_plan *p,
                              char note[256], struct err *err)
{
    char mem[24];
    enum status rc = exact_allowed(n, 1, o->mem_limit, err);

    if (rc != ST_OK)
        return rc;
    p->exact = true;
    p->plan = PLAN_DIRECT;
    p->Mv = o->variance == VAR_NONE ? 0 : n;
    p->bytes = 8.0 * (double)n * (double)n + 16.0 * (double)n * (double)d;
    mem_format(mem, sizeof mem, p->bytes);
    snprintf(note, 256, "exact: Cholesky of %zu rows in %s", n, mem);
    return ST_OK;
}

enum status model_plan_make(size_t n, size_t d, const struct fit_opts *o, size_t threads,
                            struct fit_plan *p, char note[256], struct err *err)
{
    const double ram = (double)mem_physical();
    const double budget = o->mem_limit ? (double)o->mem_limit : 0.5 * ram;
    char need[24], have[24];

    *p = (struct fit_plan){ .plan = PLAN_AUTO };
    if (wants(o, "exact"))
        return plan_exact(n, d, o, p, note, err);
    if (o->features < 2 || o->features % 2 != 0)
        return err_set(err, ST_RANGE, "features=%zu must be even and at least 2", o->features);
    if (o->variance == VAR_COUNT && (o->variance_count < 2 || o->variance_count % 2 != 0))
        return err_set(err, ST_RANGE, "variance=%zu must be even and at least 2",
                       o->variance_count);
    p->rank = first_rank(o->features, o->rank);
    plan_bytes((double)n, (double)d, o, p);
    enum status rc = choose(n, o, budget, p, err);
    if (rc != ST_OK)
        return rc;
    p->Mv = variance_columns(o, p->plan == PLAN_DIRECT);
    p->bytes = p->plan == PLAN_DIRECT  ? p->bytes_direct
               : p->plan == PLAN_STORE ? p->bytes_store
                                       : p->bytes_regenerate;
    describe(n, o, threads, budget, p, note);
    const double most = o->mem_limit ? budget : 0.95 * ram;
    if (most > 0.0 && p->bytes > most) {
        mem_format(need, sizeof need, p->bytes);
        mem_format(have, sizeof have, most);
        err_named(err, ST_LIMIT, "memory", "features=%zu needs %s; %s is allowed", o->features,
                  need, have);
        err_hint(err, "fit features=%zu, or variance=none, or a larger --mem",
                 o->features / 2 / 2 * 2);
        return ST_LIMIT;
    }
    return ST_OK;
}

enum status model_plan(size_t n, size_t d, const struct fit_opts *o, size_t threads,
                       enum plan *plan, size_t *bytes, char note[256], struct err *err)
{
    struct fit_plan p;
    enum status rc = model_plan_make(n, d, o, threads, &p, note, err);

    *plan = p.plan;
    *bytes = p.bytes < 1e18 ? (size_t)p.bytes : (size_t)1e18;
    return rc;
}
