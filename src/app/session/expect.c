/* app/session/expect.c -- the command `expect`: scripts that check themselves.  See expect.h.
 *
 * Figures are compared one by one with what the script says they were.  On the same machine they
 * agree to the last digit; another processor sums in another order, so that agreement to `within`
 * is agreement, and how close it was is told at the end. */
#include "app/session/expect.h"
#include "app/core/ws_tell.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = KERNEL_MAX_HP };
_Static_assert((int)TARGETS_MOST <= (int)KERNEL_MAX_HP, "a value for each target");
static const double WITHIN = 1e-6;

/* A figure of a run: numbers, or a word. */
struct value { double v[VALUES_MOST]; size_t n; char word[24]; };

/* A run's figures. */

static void scores(const struct run *r, size_t at, struct value *out)
{
    const struct metrics *m;

    for (; out->n < TARGETS_MOST && (m = run_metrics(r, out->n, false)) != NULL; out->n++)
        memcpy(&out->v[out->n], (const char *)m + at, sizeof(double));
}

static void numbers(const double *v, size_t n, struct value *out)
{
    memcpy(out->v, v, n * sizeof *v);
    out->n = n;
}

static void number(double v, struct value *out)
{
    numbers(&v, 1, out);
}

static bool tuned(const struct run *r)
{
    return r->kind == RUN_TUNE && r->tune.evaluations;
}

static bool fitted(const struct run *r)
{
    return r->kind == RUN_FIT && r->model;
}

/* A hyperparameter of a tuning; of a kernel with one for each input all of them. */
static bool hyper(const struct run *r, const char *name, struct value *out)
{
    size_t first, n;

    if (!tuned(r) || ws_hp_slot(&r->fit.kernel, name, &first, &n, NULL) != ST_OK ||
        first + n > r->tune.nhp)
        return false;
    numbers(r->tune.best.hp + first, n, out);
    return true;
}

static const char *const tune_names[] = { "nmll", "amplitude", "noise" };
static const char *const fit_names[] = { "outcome", "features", "iterations", "true_residual" };
static const struct { const char *name; size_t at; } score_names[] = {
    { "rmse_scaled", offsetof(struct metrics, rmse) },
    { "nlpd_scaled", offsetof(struct metrics, nlpd) },
    { "coverage95", offsetof(struct metrics, coverage95) },
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool tune_value(const struct run *r, const char *name, struct value *out)
{
    const size_t t = r->topt.targets ? r->topt.targets : 1;

    if (!strcmp(name, "nmll"))
        number(r->tune.best.nmll, out);
    else if (!strcmp(name, "amplitude"))
        numbers(r->tune.best.amplitudes, t, out);
    else if (!strcmp(name, "noise"))
        numbers(r->tune.best.noises, t, out);
    else
        return hyper(r, name, out);
    return true;
}

static bool fit_value(const struct run *r, const char *name, struct value *out)
{
    if (!strcmp(name, "outcome"))
        snprintf(out->word, sizeof out->word, "%s", solve_outcome(r->info.why));
    else if (!strcmp(name, "features"))
        number((double)r->info.features, out);
    else if (!strcmp(name, "iterations"))
        number((double)r->info.iterations, out);
    else if (!strcmp(name, "true_residual"))
        number(r->info.true_residual, out);
    else
        return false;
    return true;
}

static bool value_of(const struct run *r, const char *name, struct value *out)
{
    *out = (struct value){ .n = 0 };
    for (size_t i = 0; i < COUNT(score_names); i++)
        if (!strcmp(name, score_names[i].name)) {
            scores(r, score_names[i].at, out);
            return out->n > 0;
        }
    return tuned(r) ? tune_value(r, name, out) : fitted(r) && fit_value(r, name, out);
}

static void put_value(const struct run *r, const char *name, struct buf *out)
{
    struct value *v = mem_calloc(1, sizeof *v, "a figure", NULL);

    if (v && value_of(r, name, v) && (*v->word || isfinite(v->v[0]))) {
        buf_printf(out, "%s%s", out->len ? ", " : "", name);
        if (*v->word)
            buf_printf(out, " %s", v->word);
        for (size_t i = 0; i < v->n; i++) {
            buf_putc(out, ' ');
            buf_json_double(out, v->v[i]);
        }
    }
    free(v);
}

/* The kernel's hyperparameters, those of one lengthscale an input as one. */
static void put_hyper(const struct run *r, struct buf *out)
{
    char name[KERNEL_NAME_MAX], last[KERNEL_NAME_MAX] = "";

    for (size_t i = 0; i < r->tune.nhp && i < kernel_nhp(&r->fit.kernel); i++) {
        kernel_hp_info(&r->fit.kernel, i, name, NULL);
        name[strcspn(name, "[")] = '\0';
        if (strcmp(name, last) != 0)
            put_value(r, name, out);
        memcpy(last, name, sizeof last);
    }
}

void expect_figures(const struct run *r, bool score, struct buf *out)
{
    if (score) {
        for (size_t i = 0; r->has_score && i < COUNT(score_names); i++)
            put_value(r, score_names[i].name, out);
    } else if (tuned(r)) {
        put_value(r, tune_names[0], out);
        put_hyper(r, out);
        put_value(r, tune_names[1], out);
        put_value(r, tune_names[2], out);
    } else if (fitted(r)) {
        for (size_t i = 0; i < COUNT(fit_names); i++)
            put_value(r, fit_names[i], out);
    }
}

/* Comparing. */

static double apart(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0.0;
    const double scale = fmax(fabs(a), fabs(b));

    return isfinite(scale) ? fabs(a - b) / scale : INFINITY;
}

/* What rounding may do to a residual is no difference: below the tolerance all are the same. */
static bool agrees(const struct run *r, const char *name, double is, double was, double within,
                   double *worst)
{
    const double gap = apart(is, was);

    if (!strcmp(name, "true_residual") &&
        fmax(fabs(is), fabs(was)) <= fmax(1e-9, 1e-3 * r->fit.rtol))
        return true;
    *worst = gap <= within && gap > *worst ? gap : *worst;
    return gap <= within;
}

static void differs(struct workspace *ws, const struct run *r, const char *name, const char *is,
                    const char *was, double gap)
{
    struct expect_tally *t = &ws->expected;
    char off[48] = "";

    if (isfinite(gap) && gap < 1.0)
        snprintf(off, sizeof off, " (%.2g %% off)", 100.0 * gap);
    if (t->differ++ == 0)
        snprintf(t->first, sizeof t->first, "%s %.60s is %.40s, not %.40s%s", r->id, name, is, was,
                 off);
}

/* One figure: a name and its values. */
static enum status compare_one(struct workspace *ws, const struct run *r, char *text, double within,
                               struct err *err)
{
    char *save = NULL, *name = strtok_r(text, " \t", &save), is[40], *was;
    struct value *v = mem_calloc(1, sizeof *v, "a figure", err);
    enum status rc = v ? ST_OK : ST_NOMEM;
    size_t i = 0;

    if (rc == ST_OK && name && !value_of(r, name, v)) {
        rc = err_named(err, ST_NOT_FOUND, "no-figure", "%s has no figure '%.60s'", r->id, name);
        err_hint(err, "help expect");
    }
    for (; rc == ST_OK && name && (was = strtok_r(NULL, " \t", &save)) != NULL; i++) {
        double x = NAN;
        ws->expected.figures++;
        if (*v->word || i >= v->n || !text_double(was, strlen(was), &x)) {
            if (!*v->word || strcmp(v->word, was) != 0)
                differs(ws, r, name, *v->word ? v->word : "another one", was, INFINITY);
            continue;
        }
        snprintf(is, sizeof is, "%.10g", v->v[i]);
        if (!agrees(r, name, v->v[i], x, within, &ws->expected.worst))
            differs(ws, r, name, is, was, apart(v->v[i], x));
    }
    if (rc == ST_OK && name && i != (*v->word ? 1 : v->n)) {
        rc = err_named(err, ST_USAGE, "no-figure",
                       "%s of %s: %zu values are expected, there are %zu", name, r->id, i,
                       *v->word ? (size_t)1 : v->n);
    }
    free(v);
    return rc;
}

static enum status compare_all(struct workspace *ws, const struct run *r, const char *figures,
                               double within, struct err *err)
{
    char *copy = mem_strdup(figures, err), *save = NULL;
    enum status rc = copy ? ST_OK : ST_NOMEM;

    for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p && rc == ST_OK;
         p = strtok_r(NULL, ",", &save))
        rc = compare_one(ws, r, p, within, err);
    free(copy);
    return rc;
}

/* `expect` alone: how it went so far. */
static enum status tell_all(struct workspace *ws, struct err *err)
{
    const struct expect_tally *t = &ws->expected;
    struct rec r;

    if (t->differ) {
        err_named(err, ST_STATE, "differs", "%zu of %zu figures differ; the first: %s", t->differ,
                  t->figures, t->first);
        err_hint(err, "about   (seed, precision and processor make the figures)");
        return ST_STATE;
    }
    rec_init(&r, REC_RESULT, "expect");
    rec_bool(&r, "same", true);
    rec_int(&r, "figures", (int64_t)t->figures);
    rec_num(&r, "worst", t->worst);
    rec_text(&r, "same: %zu figure%s", t->figures, t->figures == 1 ? "" : "s");
    if (t->worst > 0.0)
        rec_text(&r, ", the last digits apart (%.1g at most)", t->worst);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_expect(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *figures = args_text(a, "figures");
    const size_t differed = ws->expected.differ;
    struct rec r;

    if (!args_given(a, "run"))
        return tell_all(ws, err);
    struct run *run = ws_run(ws, args_text(a, "run"), err);
    if (!run)
        return err->code;
    if (!figures) {
        err_set(err, ST_USAGE, "expect %s: which figures?", run->id);
        err_hint(err, "expect %s rmse_scaled 0.1, nlpd_scaled -0.8", run->id);
        return ST_USAGE;
    }
    const double within = args_given(a, "within") ? args_num(a, "within") : WITHIN;
    const enum status rc = compare_all(ws, run, figures, within, err);
    if (rc != ST_OK)
        return rc;
    if (ws->expected.differ > differed) {
        err_named(err, ST_STATE, "differs", "%s", ws->expected.first);
        err_hint(err, "-k goes on and counts them all; about tells the processor");
        return ST_STATE;
    }
    rec_init(&r, REC_RESULT, "expect");
    rec_str(&r, "run", run->id);
    rec_bool(&r, "same", true);
    ws_emit(ws, &r);
    return ST_OK;
}

const struct command expect_rows[] = {
    {"expect",
     "session",
     "Compare a run's figures with those of before",
     "expect",
     {{"run", ARG_RUN, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "which; without one: how all comparisons went"},
      {"within", ARG_REAL, 0, "1e-6", 0, 1, NULL, NULL, "relative difference that counts as none"},
      {"figures", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "name value, name value ...; of several targets or inputs a value each"}},
     0,
     cmd_expect,
     "What `script` writes behind each tuning, fit and score, so that running it again says `same` "
     "or the\n"
     "first difference. Of a tuning nmll, amplitude, noise and the kernel's hyperparameters; of a "
     "fit\n"
     "outcome, features, iterations, true_residual; of a score rmse_scaled, nlpd_scaled, "
     "coverage95."},
    {.name = NULL},
};
