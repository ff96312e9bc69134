/* app/commands/cmd_settings.c -- hyperparameters and options: set, get. */
#include "app/shell/args.h"
#include "app/commands/commands.h"
#include "app/shell/text_table.h"
#include "app/shell/options.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

static double *hp_place(struct workspace *ws, size_t slot)
{
    const size_t n = kernel_nhp(&ws->kernel);

    return slot < n ? &ws->hp[slot] : slot == n ? &ws->amplitude : &ws->noise;
}

static struct tune_bound *hp_bound(struct workspace *ws, size_t slot)
{
    const size_t n = kernel_nhp(&ws->kernel);

    return slot < n ? &ws->hp_bound[slot] : slot == n ? &ws->amp_bound : &ws->noise_bound;
}

static void hp_name(const struct workspace *ws, size_t slot, char name[KERNEL_NAME_MAX],
                    struct hparam *h)
{
    const size_t n = kernel_nhp(&ws->kernel);

    if (slot < n) {
        kernel_hp_info(&ws->kernel, slot, name, h);
        return;
    }
    snprintf(name, KERNEL_NAME_MAX, "%s", slot == n ? "amplitude" : "noise");
    *h = (struct hparam){ name, "", 0.0, 0.0, slot == n ? 1.0 : 0.1, "" };
}

/* Where a hyperparameter's value comes from: a tuning run, `set`, or the starting value. */
static void hp_origin(const struct workspace *ws, size_t slot, double value, char *out, size_t len)
{
    char name[KERNEL_NAME_MAX];
    struct hparam h;

    hp_name(ws, slot, name, &h);
    for (size_t i = ws->nrun; i-- > 0 && (ws->hp_tuned || value != h.init);) {
        const struct run *r = ws->run[i];
        const struct tune_point *p = &r->tune.best;
        if (r->kind != RUN_TUNE || !r->tune.evaluations)
            continue;
        const double best = slot < r->tune.nhp ? p->hp[slot]
                          : slot == r->tune.nhp ? p->amplitude : p->noise;
        if (best == value) {
            snprintf(out, len, "tuned by %s", r->id);
            return;
        }
    }
    snprintf(out, len, "%s", value == h.init ? "starting value" : "set");
}

static void hp_row(struct workspace *ws, size_t slot, struct text_table *g, struct rec *r)
{
    const struct tune_bound *b = hp_bound(ws, slot);
    const double v = *hp_place(ws, slot);
    char name[KERNEL_NAME_MAX], origin[40], lo[32], hi[32];
    struct hparam h;

    hp_name(ws, slot, name, &h);
    hp_origin(ws, slot, v, origin, sizeof origin);
    rec_item(r);
    rec_str(r, "name", name);
    rec_num(r, "value", v);
    rec_str(r, "by", origin);
    rec_num(r, "min", b->hi > 0.0 ? b->lo : NAN);
    rec_num(r, "max", b->hi > 0.0 ? b->hi : NAN);
    rec_close(r);
    text_table_cell(g, name, 0);
    text_table_printf(g, "%.5g", v);
    text_table_cell(g, origin, 0);
    if (b->hi > 0.0) {
        text_number(lo, sizeof lo, b->lo);
        text_number(hi, sizeof hi, b->hi);
        text_table_printf(g, "tuned within %s..%s", lo, hi);
    } else {
        text_table_cell(g, "", 0);
    }
}

static void option_line(const struct workspace *ws, const struct option_row *o,
                        struct text_table *g, struct rec *r)
{
    struct buf value = { 0 };

    o->show(&ws->opt, &value);
    rec_item(r);
    rec_str(r, "name", o->arg.name);
    rec_str(r, "value", buf_str(&value));
    rec_str(r, "by", option_origin(ws->origin, o->arg.name));
    rec_close(r);
    text_table_cell(g, o->arg.name, 0);
    text_table_cell(g, buf_str(&value), 0);
    text_table_cell(g, option_origin(ws->origin, o->arg.name), 0);
    text_table_cell(g, o->arg.help, 70);
    buf_free(&value);
}

/* Shows one setting; name NULL: all of them. */
static enum status tell_settings(struct workspace *ws, const char *command, const char *name,
                                 struct err *err)
{
    const size_t slots = kernel_nhp(&ws->kernel) + 2;
    struct buf kernel = { 0 };
    struct text_table g;
    struct rec r;
    char own[KERNEL_NAME_MAX];
    int side;
    size_t slot = SIZE_MAX, count = 0, told = 0;
    const struct option_row *only = NULL;

    if (name &&
        hyper_args_slot(&ws->kernel, args_hp_name(name, own, sizeof own, &side) ? own : name, &slot,
                        &count, NULL) != ST_OK &&
        !(only = option_find(name, err)))
        return err->code;
    rec_init(&r, REC_RESULT, command);
    kernel_print(&ws->kernel, &kernel);
    rec_str(&r, "kernel", buf_str(&kernel));
    rec_array(&r, "settings");
    text_table_init(&g, 4);
    for (size_t i = 0; i < slots; i++)
        if (!name || (i >= slot && i < slot + count)) {
            hp_row(ws, i, &g, &r);
            told++;
        }
    const struct option_row *o;
    for (size_t i = 0; (o = option_at(i)) != NULL; i++)
        if (!name || o == only) {
            option_line(ws, o, &g, &r);
            told++;
        }
    rec_array_close(&r);
    if (!name)
        rec_text(&r, "kernel %s\n", buf_str(&kernel));
    text_table_print(&g, NULL, &r.text);
    text_table_free(&g);
    buf_free(&kernel);
    ws_emit(ws, &r);
    return told ? ST_OK : ST_INTERNAL;
}

static enum status set_one(struct workspace *ws, size_t slot, const char *name, double lo,
                           double hi, struct err *err)
{
    struct tune_bound *b = hp_bound(ws, slot), old = *b;

    if (lo == hi) {
        *hp_place(ws, slot) = lo;
        ws->scale_tuned &= slot < kernel_nhp(&ws->kernel);
        ws->hp_tuned = true; /* chosen by the user: fit need not note that they are untuned */
        return ST_OK;
    }
    if (!isnan(lo))
        b->lo = lo;
    if (!isnan(hi))
        b->hi = hi;
    b->fixed = false;
    if (b->hi > 0.0 && !(b->lo < b->hi)) {
        err_set(err, ST_RANGE, "%s: the bounds %g..%g are empty", name, b->lo, b->hi);
        *b = old;
        return ST_RANGE;
    }
    return ST_OK;
}

/* Sets what key i of the line names. */
static enum status set_hyper(struct workspace *ws, const struct args *a, size_t i, struct err *err)
{
    size_t first, count;
    double lo, hi;
    const double *list;
    const char *name = args_hp_at(a, i, &lo, &hi);
    const size_t values = args_hp_list(a, i, &list);
    enum status rc = hyper_args_slot(&ws->kernel, name, &first, &count, err);

    if (rc == ST_OK)
        rc = hyper_args_count(&ws->kernel, name, count, values, err);
    for (size_t slot = first; rc == ST_OK && slot < first + count; slot++)
        rc = values > 1 ? set_one(ws, slot, name, list[slot - first], list[slot - first], err)
                        : set_one(ws, slot, name, lo, hi, err);
    return rc;
}

/* "lengthscale = 26 values, 0.525 to 10.6" */
static void tell_list(struct rec *r, const char *name, const double *v, size_t n)
{
    double least = v[0], most = v[0];

    for (size_t i = 1; i < n; i++)
        least = fmin(least, v[i]), most = fmax(most, v[i]);
    rec_nums(r, name, v, n);
    rec_text(r, "%s%s = %zu values, %.4g to %.4g", r->text.len ? "\n" : "", name, n, least, most);
}

/* Shows what was set, as typed. */
static void tell_set(struct workspace *ws, const struct args *a)
{
    struct rec r;
    const char *value;
    const double *list;
    double lo, hi;

    rec_init(&r, REC_RESULT, "set");
    rec_open(&r, "set");
    for (size_t i = 0; i < args_hp(a); i++) {
        const char *name = args_hp_at(a, i, &lo, &hi);
        const size_t values = args_hp_list(a, i, &list);
        if (values > 1) {
            tell_list(&r, name, list, values);
            continue;
        }
        if (lo == hi) {
            rec_num(&r, name, lo);
            rec_text(&r, "%s%s = %.6g", r.text.len ? "\n" : "", name, lo);
            continue;
        }
        rec_nums(&r, name, (double[]){ lo, hi }, 2);
        rec_text(&r, "%s%s is tuned within", r.text.len ? "\n" : "", name);
        if (!isnan(lo))
            rec_text(&r, " %.6g", lo);
        rec_text(&r, "..");
        if (!isnan(hi))
            rec_text(&r, "%.6g", hi);
    }
    for (size_t i = 0; i < args_opts(a); i++) {
        const char *name = args_opt_at(a, i, &value);
        rec_str(&r, name, value);
        rec_text(&r, "%s%s = ", r.text.len ? "\n" : "", name);
        rec_safe(&r, value);
    }
    rec_close(&r);
    ws_emit(ws, &r);
}

static enum status cmd_set(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *value;

    if (!args_opts(a) && !args_hp(a))
        return tell_settings(ws, "set", args_text(a, "name"), err);
    enum status rc = hyper_args_bind(a, ws_dataset(ws, NULL, NULL), &ws->kernel, ws->hp,
                                     ws->hp_bound, err);
    for (size_t i = 0; i < args_hp(a) && rc == ST_OK; i++)
        rc = set_hyper(ws, a, i, err);
    for (size_t i = 0; i < args_opts(a) && rc == ST_OK; i++) {
        const char *name = args_opt_at(a, i, &value);
        rc = option_set(&ws->opt, ws->origin, name, value, BY_SET, err);
    }
    if (rc == ST_OK)
        tell_set(ws, a);
    return rc;
}

static enum status cmd_get(struct workspace *ws, const struct args *a, struct err *err)
{
    return tell_settings(ws, "get", args_text(a, "name"), err);
}

const struct command cmd_settings_rows[] = {
    {"set",
     "settings",
     "Set hyperparameters and options; set alone lists them",
     "set l=0.8 noise=0.05",
     {{"name", ARG_SETTING, ARGF_POS, NULL, 0, 0, NULL, NULL, "show only this one"}},
     CMD_CHANGES | CMD_HP_KEYS | CMD_OPTION_KEYS | CMD_DRY,
     cmd_set,
     "set l=0.1..10 sets the bounds within which tune searches; l.min= and l.max= set one of\n"
     "them. With a kernel like rbf(ard), set l=0.5,0.6,2 sets the lengthscales of all inputs in\n"
     "their order. set overrides the command line, which overrides GPDESK_NAME in the\n"
     "environment, which overrides the config file."},
    {"get",
     "settings",
     "Show a setting and where it comes from",
     "get seed",
     {{"name", ARG_SETTING, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "hyperparameter or option (default: all)"}},
     0,
     cmd_get,
     NULL},
    {.name = NULL},
};
