/* app/core/hyper_args.c -- arguments that name hyperparameters of a kernel (l=, noise=0.01..1,
 * l.min=). */
#include "app/core/workspace.h"

#include "base/mem.h"
#include "data/dataset.h"
#include "data/encoding.h"

#include <math.h>
#include <stdlib.h>
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

enum status hyper_args_count(const struct kernel *k, const char *name, size_t slots, size_t values,
                             struct err *err)
{
    struct buf text = { 0 };

    if (values <= 1 || values == slots)
        return ST_OK;
    kernel_print(k, &text);
    if (slots == 1 && !kernel_has_ard(k)) {
        err_set(err, ST_USAGE, "%s: %zu values, but the kernel %s has one", name, values,
                buf_str(&text));
        err_hint(err, "kernel rbf(ard)  has a lengthscale for each input, rbf(ard=group) for each "
                      "group");
    } else {
        err_set(err, ST_USAGE, "%s: %zu values are needed, one for each input or group of inputs; "
                "%zu are given", name, slots, values);
        err_hint(err, "get %s", name);
    }
    buf_free(&text);
    return ST_USAGE;
}

/* True if the line has a list. */
static bool has_list(const struct args *a)
{
    const double *value;

    for (size_t i = 0; i < args_hp(a); i++)
        if (args_hp_list(a, i, &value) > 1)
            return true;
    return false;
}

static bool has_unbound(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].ard == KERNEL_ARD)
            return true;
    return false;
}

/* Binds the kernel to the inputs that the training rows of d have with it. */
static enum status bind_to(const struct dataset *d, struct kernel *k, size_t from[KERNEL_MAX_HP],
                           struct err *err)
{
    struct encoding enc = { 0 };
    size_t *rows = NULL, n = 0, *group = NULL;
    struct dataset *own = dataset_snapshot(d, err);
    enum status rc = own ? dataset_rows(d, PART_TRAIN, &rows, &n, err) : ST_NOMEM;

    if (own)
        own->kernel = *k;
    if (rc == ST_OK)
        rc = encoding_fit(own, rows, n, &enc, NULL, err);
    const bool fitted = rc == ST_OK;
    if (rc == ST_OK)
        rc = encoding_bind(&enc, k, err);
    if (rc == ST_OK && kernel_has_groups(k)) {
        group = mem_calloc(enc.d, sizeof *group, "groups of inputs", err);
        rc = group ? dataset_groups(d, &enc, group, NULL, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = kernel_bind_groups(k, enc.d, group, from, err);
    if (fitted)
        encoding_free(&enc);
    free(group);
    free(rows);
    dataset_unref(own);
    return rc;
}

/* Classes have no noise: a likelihood says how probable each is. */
static enum status noise_suits(const struct args *a, const struct dataset *d, struct err *err)
{
    double lo, hi;

    for (size_t i = 0; d && d->link && i < args_hp(a); i++) {
        if (strcmp(args_hp_at(a, i, &lo, &hi), "noise") != 0)
            continue;
        err_named(err, ST_USAGE, "classes",
                  "noise=%.100s: noise belongs to numbers, and the target is a class",
                  args_hp_text(a, i));
        err_hint(err, "without noise=  |  likelihood gaussian  (regression on the class)");
        return ST_USAGE;
    }
    return ST_OK;
}

enum status hyper_args_bind(const struct args *a, const struct dataset *d, struct kernel *k,
                            double *hp, struct tune_bound *bound, struct err *err)
{
    size_t from[KERNEL_MAX_HP];
    struct tune_bound bounds[KERNEL_MAX_HP];
    double old[KERNEL_MAX_HP];
    struct kernel now = *k;

    if (noise_suits(a, d, err) != ST_OK)
        return err->code;
    if (!has_list(a) || !has_unbound(k))
        return ST_OK;
    if (!d) {
        err_set(err, ST_STATE, "a list has a lengthscale for each input; there are no data yet");
        err_hint(err, "open FILE, then set l=..");
        return ST_STATE;
    }
    kernel_unbind(&now);
    const enum status rc = bind_to(d, &now, from, err);
    if (rc != ST_OK)
        return rc;
    kernel_unbind(&now); /* but for its lengthscales: a fit binds it to its rows */
    memcpy(old, hp, kernel_nhp(k) * sizeof *old);
    if (bound)
        memcpy(bounds, bound, kernel_nhp(k) * sizeof *bounds);
    *k = now;
    for (size_t i = 0; i < kernel_nhp(k); i++) {
        hp[i] = old[from[i]];
        if (bound)
            bound[i] = bounds[from[i]];
    }
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
        const double *list;
        const size_t values = args_hp_list(a, i, &list);
        enum status rc = hyper_args_slot(k, name, &first, &count, err);
        if (rc == ST_OK)
            rc = hyper_args_count(k, name, count, values, err);
        for (size_t slot = first; rc == ST_OK && slot < first + count; slot++)
            rc = merge_one(name, values > 1 ? list[slot - first] : lo,
                           values > 1 ? list[slot - first] : hi,
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
