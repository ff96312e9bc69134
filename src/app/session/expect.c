/* app/session/expect.c -- the command `expect`: scripts that check themselves. See expect.h.
 *
 * Figures are compared one by one with those in the script. On the same machine they agree to the
 * last digit. Another CPU sums in another order, so values that differ by at most `within` count as
 * equal, and the largest difference is reported at the end. */
#include "app/session/expect.h"
#include "app/core/ws_tell.h"

#include "app/core/measures.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = KERNEL_MAX_HP };
_Static_assert((int)TARGETS_MOST <= (int)KERNEL_MAX_HP, "a value for each target");
static const double WITHIN = 1e-6;

/* A figure of a run: one or more numbers, or a word. */
struct value { double v[VALUES_MOST]; size_t n; char word[24]; };

/* A run's figures. */

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

/* A hyperparameter of a tuning; if the kernel has one for each input, all of them. */
static bool hyper(const struct run *r, const char *name, struct value *out)
{
    size_t first, n;

    if (!tuned(r) || hyper_args_slot(&r->fit.kernel, name, &first, &n, NULL) != ST_OK ||
        first + n > r->tune.nhp)
        return false;
    numbers(r->tune.best.hp + first, n, out);
    return true;
}

/* Amplitudes and noises, one for each target. */
static bool scale_of(const struct run *r, const char *name, struct value *out)
{
    const size_t t = r->topt.targets ? r->topt.targets : 1;

    if (!tuned(r) || (strcmp(name, "amplitude") != 0 && strcmp(name, "noise") != 0))
        return false;
    numbers(*name == 'a' ? r->tune.best.amplitudes : r->tune.best.noises, t, out);
    return true;
}

static bool value_of(const struct run *r, const char *name, struct value *out)
{
    const struct measure *m = measure_find(name, r->kind);

    *out = (struct value){ .n = 0 };
    if (!m || !m->expect)
        return scale_of(r, name, out) || hyper(r, name, out);
    if (!tuned(r) && !fitted(r) && !r->has_score)
        return false;
    if (m->type == MEASURE_WORD || m->type == MEASURE_OUTCOME)
        snprintf(out->word, sizeof out->word, "%s", measure_word(m, r) ? measure_word(m, r) : "");
    else if (m->group == MEASURE_SCORES)
        for (; out->n < TARGETS_MOST && run_metrics(r, out->n, false); out->n++)
            out->v[out->n] = measure_number(m, r, out->n);
    else
        number(measure_number(m, r, 0), out);
    return *out->word || out->n > 0;
}

static void put_value(const struct run *r, const char *name, struct buf *out)
{
    struct value *v = mem_calloc(1, sizeof *v, "a figure", NULL);

    if (!v)
        out->failed = true; /* a script that expects less is not the one that was asked for */
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

/* Writes the kernel's hyperparameters; lengthscales of the inputs count as one figure. */
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

/* Writes the figures that scripts expect: scores, or what the run itself found. */
static void put_measures(const struct run *r, bool score, struct buf *out)
{
    const struct measure *m;

    for (size_t i = 0; (m = measure_of_expect(i)) != NULL; i++)
        if ((m->group == MEASURE_SCORES) == score && measure_find(m->name, r->kind) == m)
            put_value(r, m->name, out);
}

void expect_figures(const struct run *r, bool score, struct buf *out)
{
    if (score ? !r->has_score : !tuned(r) && !fitted(r))
        return;
    put_measures(r, score, out);
    if (score || !tuned(r))
        return;
    put_hyper(r, out);
    put_value(r, "amplitude", out);
    put_value(r, "noise", out);
}

/* Comparing. */

static double apart(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0.0;
    const double scale = fmax(fabs(a), fabs(b));

    return isfinite(scale) ? fabs(a - b) / scale : INFINITY;
}

/* Rounding changes residuals: all residuals below the tolerance count as equal. */
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

/* Compares one figure, given by its name and its values. */
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

/* `expect` without arguments: the result so far. */
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
        err_set(err, ST_USAGE, "expect %s: name the figures", run->id);
        err_hint(err, "expect %s rmse_scaled 0.1, nlpd_scaled -0.8", run->id);
        return ST_USAGE;
    }
    const double within = args_given(a, "within") ? args_num(a, "within") : WITHIN;
    const enum status rc = compare_all(ws, run, figures, within, err);
    if (rc != ST_OK)
        return rc;
    if (ws->expected.differ > differed) {
        err_named(err, ST_STATE, "differs", "%s", ws->expected.first);
        err_hint(err, "-k continues and counts them all; about shows the processor");
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
     "Compare a run's figures with earlier ones",
     "expect",
     {{"run", ARG_RUN, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "run to compare; without one, show the result of all comparisons"},
      {"within", ARG_REAL, 0, "1e-6", 0, 1, NULL, NULL,
       "relative difference up to which figures count as equal"},
      {"figures", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "name value, name value ...; with several targets or inputs, a value for each"}},
     0,
     cmd_expect,
     "`script` writes such lines after each tuning, fit and score, so that running it again\n"
     "reports `same` or the first difference. For a tuning they have nmll, amplitude, noise and\n"
     "the kernel's hyperparameters; for a fit outcome, features, iterations, true_residual; for\n"
     "a score rmse_scaled, nlpd_scaled, coverage95."},
    {.name = NULL},
};
