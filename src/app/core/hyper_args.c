/* app/core/hyper_args.c -- arguments that name hyperparameters of a kernel (l=, noise=0.01..1,
 * l.min=). */
#include "app/core/workspace.h"

#include <math.h>
#include <string.h>

/* True if `name` is the whole group that `own` belongs to: "2.lengthscale" for
 * "2.lengthscale[7]". */
static bool is_group(const char *own, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(own, name, n) == 0 && own[n] == '[';
}

/* *count is the number of slots from *slot on: with ARD, "lengthscale" means all of them. */
enum status hyper_args_slot(const struct kernel *k, const char *name, size_t *slot, size_t *count,
                       struct err *err)
{
    const size_t n = kernel_nhp(k);
    struct buf all = { 0 };

    *count = 1;
    if (!strcmp(name, "amplitude") || !strcmp(name, "noise")) {
        *slot = n + (*name == 'n');
        return ST_OK;
    }
    for (size_t i = 0; i < n; i++) {
        char own[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(k, i, own, &h);
        if (!strcmp(own, name) || is_group(own, name)) {
            *slot = i;
            for (*count = 1; strcmp(own, name) && i + *count < n; ++*count) {
                char next[KERNEL_NAME_MAX];
                kernel_hp_info(k, i + *count, next, &h);
                if (!is_group(next, name))
                    break;
            }
            buf_free(&all);
            return ST_OK;
        }
        char *bracket = strchr(own, '[');
        if (bracket && strncmp(bracket, "[1]", 3) != 0)
            continue;
        if (bracket)
            *bracket = '\0';
        buf_printf(&all, "%s, ", own);
    }
    struct buf text = { 0 };
    kernel_print(k, &text);
    err_set(err, ST_NOT_FOUND, "the kernel %s has no %s; it has %samplitude and noise",
            buf_str(&text), name, buf_str(&all));
    err_hint(err, "kernel");
    buf_free(&text);
    buf_free(&all);
    return ST_NOT_FOUND;
}

static void merge_bound(struct tune_bound *b, double lo, double hi)
{
    b->fixed = lo == hi;
    if (lo == hi)
        b->value = lo;
    if (!isnan(lo) && lo != hi)
        b->lo = lo;
    if (!isnan(hi) && lo != hi)
        b->hi = hi;
}

static enum status merge_one(const char *name, double lo, double hi, double *value,
                             struct tune_bound *bound, struct err *err)
{
    if (lo != hi && !bound) {
        err_set(err, ST_USAGE, "%s: one value is needed here, not an interval", name);
        err_hint(err, "tune %s=..   searches an interval", name);
        return ST_USAGE;
    }
    if (lo == hi && value)
        *value = lo;
    if (bound)
        merge_bound(bound, lo, hi);
    if (bound && !bound->fixed && bound->hi > 0.0 && !(bound->lo < bound->hi))
        return err_set(err, ST_RANGE, "%s: the bounds %g..%g are empty", name, bound->lo,
                       bound->hi);
    return ST_OK;
}

enum status hyper_args_merge(const struct kernel *k, const struct args *a,
                        const struct ws_hyper *value, const struct ws_hyper_bounds *bound,
                        struct err *err)
{
    const size_t n = kernel_nhp(k);

    for (size_t i = 0; i < args_hp(a); i++) {
        double lo, hi;
        const char *name = args_hp_at(a, i, &lo, &hi);
        size_t first, count;
        enum status rc = hyper_args_slot(k, name, &first, &count, err);
        for (size_t slot = first; rc == ST_OK && slot < first + count; slot++)
            rc = merge_one(name, lo, hi,
                           slot < n    ? &value->hp[slot]
                           : slot == n ? value->amplitude
                                       : value->noise,
                           !bound      ? NULL
                           : slot < n  ? &bound->hp[slot]
                           : slot == n ? bound->amplitude
                                       : bound->noise,
                           err);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}
