/* compute/solvers/solver.c -- the list of solvers, and their parameters as text. */
#include "compute/solvers/solver.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SOLVER_ADDRESS(name) &name,
static const struct solver_ops *const solvers[] = { SOLVER_ROWS(SOLVER_ADDRESS) };
#undef SOLVER_ADDRESS
enum { NSOLVERS = sizeof solvers / sizeof *solvers };

const struct solver_ops *solver_at(size_t i)
{
    return i < NSOLVERS ? solvers[i] : NULL;
}

const struct solver_ops *solver_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < NSOLVERS; i++)
        if (strcmp(name, solvers[i]->name) == 0)
            return solvers[i];
    err_set(err, ST_NOT_FOUND, "no solver is called \"%.60s\"", name);
    char all[120] = "solver=";
    for (size_t i = 0; i < NSOLVERS; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i == 0 ? "" : i + 1 < NSOLVERS ? ", " : " or ", solvers[i]->name);
    err_hint(err, "%s", all);
    return NULL;
}

const struct solver_ops *solver_usual(void)
{
    return &pcg_solver;
}

bool solver_estimates(const char *name)
{
    const struct solver_ops *s = name && *name ? solver_find(name, NULL) : NULL;
    return s && s->dual && s->stochastic;
}

bool solver_corrects(const struct solver_ops *s)
{
    return s->corrects;
}

void solver_names(bool (*has)(const struct solver_ops *), char *out, size_t len)
{
    size_t left = 0, at = 0;

    *out = '\0';
    for (size_t i = 0; i < NSOLVERS; i++)
        left += has(solvers[i]);
    for (size_t i = 0; i < NSOLVERS; i++)
        if (has(solvers[i])) {
            const char *between = at == 0 ? "" : left == 1 ? " and " : ", ";
            snprintf(out + at, len - at, "%s%s", between, solvers[i]->name);
            at = strlen(out);
            left--;
        }
}

bool solver_is_free(const char *name)
{
    return name == NULL || strcmp(name, "auto") == 0;
}

/* Parameters. */

void solver_param_range(const struct solver_param *p, char *out, size_t len)
{
    if (p->words)
        snprintf(out, len, "%s", p->words);
    else
        snprintf(out, len, "%g to %g", p->lo, p->hi);
}

void solver_param_value(const struct solver_param *p, double value, char *out, size_t len)
{
    const char *w = p->words;

    if (!w) {
        snprintf(out, len, p->each && value < 0.0 ? "%gm" : "%g", fabs(value));
        return;
    }
    for (int i = 1; i < (int)value && strchr(w, ','); i++)
        w = strchr(w, ',') + 1;
    snprintf(out, len, "%.*s", (int)strcspn(w, ","), w);
}

bool solver_param_holds(const struct solver_param *p, double v)
{
    return v == 0.0 || (p->zero && v == SOLVER_ZERO) || (v >= p->lo && v <= p->hi) ||
           (p->each && -v >= p->lo && -v <= p->hi);
}

/* The place of a word in a list as "one,two": 1, 2, ...; 0: it is not there. */
static double place_of(const char *words, const char *value, size_t n)
{
    double at = 1.0;

    for (const char *w = words; w; w = strchr(w, ',') ? strchr(w, ',') + 1 : NULL, at += 1.0)
        if (strcspn(w, ",") == n && strncmp(w, value, n) == 0)
            return at;
    return 0.0;
}

/* Reads the value of a parameter; false when it is none of its values. */
static bool read_value(const struct solver_param *p, const char *value, size_t n, double *out)
{
    *out = 0.0;
    if (n == 4 && strncmp(value, "auto", n) == 0)
        return true;
    if (p->words)
        return (*out = place_of(p->words, value, n)) > 0.0;
    const bool each = p->each && n > 1 && value[n - 1] == 'm';
    if (!text_double(value, each ? n - 1 : n, out) || !(*out >= p->lo) || !(*out <= p->hi) ||
        (p->whole && *out != floor(*out)))
        return false;
    if (*out == 0.0 && p->zero)
        *out = SOLVER_ZERO;
    if (each)
        *out = -*out;
    return true;
}

/* What the parameters belong to: "solver", "svrg". */
struct owner { const char *what, *name; const struct solver_param *params; };

static enum status set_param(const struct owner *of, const char *name, size_t nlen,
                             const char *value, size_t vlen, double *params, struct err *err)
{
    char list[SOLVER_TEXT_MAX] = "", range[64];

    for (size_t i = 0; of->params && of->params[i].name; i++) {
        const struct solver_param *p = &of->params[i];
        if (strlen(p->name) != nlen || strncmp(p->name, name, nlen) != 0) {
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     p->name);
            continue;
        }
        if (read_value(p, value, vlen, &params[i]))
            return ST_OK;
        solver_param_range(p, range, sizeof range);
        return err_set(err, ST_RANGE, "%s: %s=%.*s is not possible; %s, %s", of->name, p->name,
                       vlen < 20 ? (int)vlen : 20, value, p->help, range);
    }
    err_set(err, ST_NOT_FOUND, "%s %s has no parameter \"%.*s\"", of->what, of->name,
            nlen < 20 ? (int)nlen : 20, name);
    if (*list)
        err_hint(err, "its parameters: %s", list);
    return ST_NOT_FOUND;
}

enum status solver_parse(const char *text, const struct solver_ops **ops,
                         double params[SOLVER_MAX_PARAMS], struct err *err)
{
    const size_t n = strcspn(text, "(");
    char name[24] = "";

    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, text);
    *ops = solver_find(name, err);
    if (*ops == NULL)
        return ST_NOT_FOUND;
    return solver_params_parse("solver", (*ops)->name, (*ops)->params, text + n, params, err);
}

enum status solver_params_parse(const char *what, const char *name, const struct solver_param *list,
                                const char *text, double params[SOLVER_MAX_PARAMS], struct err *err)
{
    const struct owner of = { what, name, list };

    memset(params, 0, SOLVER_MAX_PARAMS * sizeof *params);
    if (*text == '\0')
        return ST_OK;
    for (const char *p = text + 1;; p++) {
        const size_t eq = strcspn(p, "=,)"), end = strcspn(p, ",)");
        if (p[eq] != '=' || p[end] == '\0' || (p[end] == ')' && p[end + 1] != '\0')) {
            err_set(err, ST_USAGE, "\"%s%.60s\" is not a %s with its parameters", name, text, what);
            err_hint(err, strcmp(what, "solver") ? "fit select=greedy(subset=20)"
                                                 : "solver=svrg(batch=256,step=0.5)");
            return ST_USAGE;
        }
        const enum status rc = set_param(&of, p, eq, p + eq + 1, end - eq - 1, params, err);
        if (rc != ST_OK || p[end] == ')')
            return rc;
        p += end;
    }
}
