/* data/expr_eval.c -- checks the types of an expression and computes it, column by column in blocks
 * of rows. A missing operand gives a missing result; `and` and `or` follow the three-valued logic
 * of SQL. Where a function has no value (division by zero), the result is missing and counted. */
#include "data/expr_impl.h"

#include "data/calendar.h"
#include "data/formats/import.h"
#include "data/page_use.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Functions. */

#define OF_ONE(name, value) \
    static double name(const double *x, size_t n) \
    { \
        (void)n; \
        return value; \
    }
OF_ONE(f_negate, -x[0])
OF_ONE(f_log, log(x[0]))
OF_ONE(f_log10, log10(x[0]))
OF_ONE(f_log2, log2(x[0]))
OF_ONE(f_log1p, log1p(x[0]))
OF_ONE(f_exp, exp(x[0]))
OF_ONE(f_sqrt, sqrt(x[0]))
OF_ONE(f_abs, fabs(x[0]))
OF_ONE(f_sign, (x[0] > 0.0) - (x[0] < 0.0))
OF_ONE(f_floor, floor(x[0]))
OF_ONE(f_ceil, ceil(x[0]))
OF_ONE(f_round, round(x[0]))
OF_ONE(f_sin, sin(x[0]))
OF_ONE(f_cos, cos(x[0]))
OF_ONE(f_tan, tan(x[0]))
OF_ONE(f_atan, atan(x[0]))
OF_ONE(f_tanh, tanh(x[0]))
OF_ONE(f_plus, x[0] + x[1])
OF_ONE(f_minus, x[0] - x[1])
OF_ONE(f_times, x[0] * x[1])
OF_ONE(f_over, x[0] / x[1])
OF_ONE(f_power, pow(x[0], x[1]))
OF_ONE(f_mod, x[0] - x[1] * floor(x[0] / x[1]))
OF_ONE(f_pi, ((void)x, M_PI))
OF_ONE(f_year, floor(x[0]))
OF_ONE(f_yearshare, x[0] - floor(x[0]))
#undef OF_ONE

static double f_min(const double *x, size_t n)
{
    double least = x[0];
    for (size_t i = 1; i < n; i++)
        least = x[i] < least ? x[i] : least;
    return least;
}

static double f_max(const double *x, size_t n)
{
    double most = x[0];
    for (size_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static double f_coalesce(const double *x, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && isnan(x[i]))
        i++;
    return x[i];
}

static double f_month(const double *x, size_t n)
{
    int month, day;
    (void)n;
    calendar_date(x[0], &month, &day);
    return month;
}

static double f_day(const double *x, size_t n)
{
    int month, day;
    (void)n;
    calendar_date(x[0], &month, &day);
    return day;
}

static double f_dayshare(const double *x, size_t n)
{
    (void)n;
    const double day = calendar_day(x[0]);
    return day - floor(day);
}

static double f_hour(const double *x, size_t n)
{
    return floor(24.0 * f_dayshare(x, n) + 1e-6);
}

static double f_weekday(const double *x, size_t n)
{
    (void)n;
    return floor(calendar_weekday(x[0])) + 1.0;
}

static double f_weekshare(const double *x, size_t n)
{
    (void)n;
    return calendar_weekday(x[0]) / 7.0;
}

enum { MANY = 64 };
#define NOT_FINITE "a result that is too large for a number"
const struct expr_fn expr_plus = { "+", 2, 2, f_plus, false, NOT_FINITE, NULL },
                     expr_minus = { "-", 2, 2, f_minus, false, NOT_FINITE, NULL },
                     expr_times = { "*", 2, 2, f_times, false, NOT_FINITE, NULL },
                     expr_over = { "/", 2, 2, f_over, false, "division by zero", NULL },
                     expr_power = { "^", 2, 2, f_power, false, "a power without a finite value",
                                    NULL },
                     expr_negate = { "-", 1, 1, f_negate, false, NOT_FINITE, NULL };

/* The registry of functions: help, completion and the tests read it. */
static const struct expr_fn functions[] = {
    { "log", 1, 1, f_log, false, "log of a number that is not above 0", "logarithm to base e" },
    { "log10", 1, 1, f_log10, false, "log10 of a number that is not above 0",
      "logarithm to base 10" },
    { "log2", 1, 1, f_log2, false, "log2 of a number that is not above 0", "logarithm to base 2" },
    { "log1p", 1, 1, f_log1p, false, "log1p of a number that is not above -1", "log(1 + x)" },
    { "exp", 1, 1, f_exp, false, "exp of a number that is too large", "e to the power x" },
    { "sqrt", 1, 1, f_sqrt, false, "sqrt of a number below 0", "square root" },
    { "abs", 1, 1, f_abs, false, NOT_FINITE, "absolute value" },
    { "sign", 1, 1, f_sign, false, NOT_FINITE, "-1, 0 or 1" },
    { "floor", 1, 1, f_floor, false, NOT_FINITE, "next whole number below" },
    { "ceil", 1, 1, f_ceil, false, NOT_FINITE, "next whole number above" },
    { "round", 1, 1, f_round, false, NOT_FINITE, "nearest whole number" },
    { "min", 1, MANY, f_min, false, NOT_FINITE, "least of its arguments" },
    { "max", 1, MANY, f_max, false, NOT_FINITE, "greatest of its arguments" },
    { "mod", 2, 2, f_mod, false, "mod by zero", "remainder of x / y, with the sign of y" },
    { "sin", 1, 1, f_sin, false, NOT_FINITE, "sine of an angle in radians" },
    { "cos", 1, 1, f_cos, false, NOT_FINITE, "cosine of an angle in radians" },
    { "tan", 1, 1, f_tan, false, NOT_FINITE, "tangent of an angle in radians" },
    { "atan", 1, 1, f_atan, false, NOT_FINITE, "inverse of tan" },
    { "tanh", 1, 1, f_tanh, false, NOT_FINITE, "hyperbolic tangent" },
    { "pi", 0, 0, f_pi, false, NOT_FINITE, "3.14159.., written pi()" },
    { "coalesce", 1, MANY, f_coalesce, true, NOT_FINITE, "first argument that is not missing" },
    { "year", 1, 1, f_year, false, NOT_FINITE, "year of a date" },
    { "month", 1, 1, f_month, false, NOT_FINITE, "month of a date, 1 to 12" },
    { "day", 1, 1, f_day, false, NOT_FINITE, "day of the month of a date" },
    { "hour", 1, 1, f_hour, false, NOT_FINITE, "hour of a date, 0 to 23" },
    { "weekday", 1, 1, f_weekday, false, NOT_FINITE, "day of the week of a date: 1 is Monday" },
    { "yearshare", 1, 1, f_yearshare, false, NOT_FINITE, "share of the year, from 0 to 1" },
    { "weekshare", 1, 1, f_weekshare, false, NOT_FINITE, "share of the week since Monday" },
    { "dayshare", 1, 1, f_dayshare, false, NOT_FINITE, "share of the day since midnight" },
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

const struct expr_fn *expr_function(const char *name)
{
    for (size_t i = 0; i < NFUNCTIONS; i++)
        if (strcasecmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

bool expr_function_at(size_t i, const char **name, const char **help)
{
    if (i == NFUNCTIONS) { /* chosen by a condition, so it is no function of numbers alone */
        *name = "if";
        *help = "if(condition, a, b): a where the condition holds, b where it does not";
    }
    if (i >= NFUNCTIONS)
        return i == NFUNCTIONS;
    *name = functions[i].name;
    *help = functions[i].help;
    return true;
}

enum status expr_no_function(const char *name, struct err *err)
{
    struct buf near = { 0 };
    char word[64];

    for (size_t i = 0; i < NFUNCTIONS; i++)
        if (text_distance(name, functions[i].name, 2) <= 2)
            buf_printf(&near, "%s%s", near.len > 0 ? ", " : "", functions[i].name);
    err_set(err, ST_NOT_FOUND, "there is no function %s", text_quoted(name, word, sizeof word));
    if (near.len > 0)
        err_hint(err, "near: %s", buf_str(&near));
    else
        err_hint(err, "help where   (lists the functions)");
    buf_free(&near);
    return ST_NOT_FOUND;
}

/* Types. */

struct value {           /* on the stack while types are checked */
    enum expr_type type;
    size_t at;           /* the instruction that made it */
    bool date;           /* a column of dates */
};

static const char *type_word(enum expr_type t)
{
    return t == EXPR_NUMBER ? "a number" : t == EXPR_WORD ? "a word" : "a condition";
}

static enum status bind_column(struct expr *e, struct expr_instr *in, struct value *v,
                               struct err *err)
{
    const struct table *t = e->table;
    char name[64];

    in->col = table_find(t, in->text);
    if (in->col == SIZE_MAX) {
        size_t near = SIZE_MAX, best = 4;
        free(e->absent);
        e->absent = mem_strdup(in->text, NULL);
        for (size_t j = 0; j < t->ncols; j++) {
            const size_t d = text_distance(in->text, t->col[j].name, 3);
            if (d < best)
                best = d, near = j;
        }
        err_set(err, ST_NOT_FOUND, "there is no column %s",
                text_quoted(in->text, name, sizeof name));
        if (in->quoted) /* double quotes are those of names, as in SQL */
            err_hint(err, "where COLUMN = '%.60s'   (words have single quotes)", in->text);
        else if (near != SIZE_MAX)
            err_hint(err, "near: %s", text_quoted(t->col[near].name, name, sizeof name));
        else
            err_hint(err, "cols   (words are written in single quotes)");
        return ST_NOT_FOUND;
    }
    const struct column *c = &t->col[in->col];
    if (c->type == COL_HELD && c->cells->word == NULL)
        return err_set(err, ST_USAGE, "column %s holds no numbers and no words",
                       text_quoted(in->text, name, sizeof name));
    v->type = c->type == COL_REAL ? EXPR_NUMBER : EXPR_WORD;
    v->date = c->type == COL_REAL && c->date;
    return ST_OK;
}

/* A word that is compared with a date is read as a date. */
static bool word_as_date(struct expr *e, const struct value *word, const struct value *date)
{
    struct expr_instr *in = &e->code[word->at];
    double x;

    if (!date->date || in->code != EXPR_PUSH_WORD || !scan_date(in->text, strlen(in->text), &x))
        return false;
    in->code = EXPR_PUSH_NUMBER;
    in->number = x;
    return true;
}

static enum status bind_compare(struct expr *e, struct expr_instr *in, struct value *a,
                                struct value *b, struct err *err)
{
    const bool words = a->type == EXPR_WORD;
    char name[64];

    in->words = words && b->type == EXPR_WORD;
    if (words == (b->type == EXPR_WORD) || word_as_date(e, a, b) || word_as_date(e, b, a))
        return ST_OK;
    const struct expr_instr *w = &e->code[words ? a->at : b->at];
    if (w->code == EXPR_PUSH_COLUMN) {
        err_set(err, ST_USAGE, "column %s holds words, and is compared with a number",
                text_quoted(w->text, name, sizeof name));
        err_hint(err, "cols %.60s type=real; or write the number in single quotes", w->text);
    } else {
        err_set(err, ST_USAGE, "a number is compared with the word %s",
                text_quoted(w->code == EXPR_PUSH_WORD ? w->text : "?", name, sizeof name));
        err_hint(err, "write numbers without quotes");
    }
    return ST_USAGE;
}

static enum status need(const struct value *v, bool good, const char *what, const char *of,
                        struct err *err)
{
    if (good)
        return ST_OK;
    err_set(err, ST_USAGE, "%s needs %s, and gets %s", of, what, type_word(v->type));
    err_hint(err, "help where");
    return ST_USAGE;
}

/* Checks the operands at v, which are replaced by the result v[0]. */
static enum status bind_one(struct expr *e, struct expr_instr *in, struct value *v,
                            struct err *err)
{
    enum status rc = ST_OK;
    const char *of = in->code == EXPR_AND ? "and" : in->code == EXPR_OR ? "or" : "not";

    switch (in->code) {
    case EXPR_PUSH_NUMBER: v->type = EXPR_NUMBER; break;
    case EXPR_PUSH_WORD: v->type = EXPR_WORD; break;
    case EXPR_PUSH_COLUMN: return bind_column(e, in, v, err);
    case EXPR_CALL:
        for (size_t k = 0; k < in->nargs && rc == ST_OK; k++)
            rc = need(&v[k], v[k].type != EXPR_WORD, "numbers", in->fn->name, err);
        v->type = EXPR_NUMBER;
        break;
    case EXPR_COMPARE:
        rc = bind_compare(e, in, &v[0], &v[1], err);
        v->type = EXPR_TRUTH;
        break;
    case EXPR_AND: case EXPR_OR: case EXPR_NOT:
        rc = need(&v[0], v[0].type == EXPR_TRUTH, "conditions such as x > 1", of, err);
        if (rc == ST_OK && in->code != EXPR_NOT)
            rc = need(&v[1], v[1].type == EXPR_TRUTH, "conditions such as x > 1", of, err);
        break;
    case EXPR_IS_MISSING:
        in->words = v->type == EXPR_WORD;
        v->type = EXPR_TRUTH;
        break;
    case EXPR_IF:
        rc = need(&v[0], v[0].type == EXPR_TRUTH, "a condition first", "if", err);
        if (rc == ST_OK)
            rc = need(&v[2], (v[1].type == EXPR_WORD) == (v[2].type == EXPR_WORD),
                      type_word(v[1].type), "if", err);
        in->words = v[1].type == EXPR_WORD;
        v->type = v[1].type;
        break;
    }
    v->date = false;
    return rc;
}

size_t expr_operands(const struct expr_instr *in)
{
    return in->code == EXPR_CALL ? in->nargs
         : in->code == EXPR_COMPARE || in->code == EXPR_AND || in->code == EXPR_OR ? 2
         : in->code == EXPR_NOT || in->code == EXPR_IS_MISSING ? 1
         : in->code == EXPR_IF ? 3 : 0;
}

enum status expr_bind(struct expr *e, const struct table *t, struct err *err)
{
    struct value *stack = mem_calloc(e->n + 1, sizeof *stack, "an expression", err);
    size_t top = 0;
    enum status rc = stack != NULL ? ST_OK : ST_NOMEM;

    e->table = t;
    e->depth = 0;
    free(e->absent);
    e->absent = NULL;
    for (size_t i = 0; i < e->n && rc == ST_OK; i++) {
        struct expr_instr *in = &e->code[i];
        top -= expr_operands(in);
        rc = bind_one(e, in, &stack[top], err);
        stack[top++].at = i;
        e->depth = top > e->depth ? top : e->depth;
        in->faults = 0;
    }
    if (rc == ST_OK)
        e->type = stack[0].type;
    free(stack);
    free(e->slot);
    free(e->word);
    e->slot = rc == ST_OK ? mem_calloc(e->depth * EXPR_BLOCK, sizeof *e->slot, "rows", err) : NULL;
    e->word = rc == ST_OK ? mem_calloc(e->depth * EXPR_BLOCK, sizeof *e->word, "rows", err) : NULL;
    if (rc == ST_OK && (e->slot == NULL || e->word == NULL))
        rc = ST_NOMEM;
    if (rc != ST_OK)
        e->table = NULL;
    return rc;
}

enum expr_type expr_type(const struct expr *e)
{
    return e->type;
}

const char *expr_absent(const struct expr *e)
{
    return e->absent;
}

/* Rows. */

/* slot[k * EXPR_BLOCK + i] is operand k of row i. The result replaces operand 0. */
static void call(struct expr_instr *in, size_t first, size_t n, const bool *use, double *slot)
{
    double x[MANY];

    for (size_t i = 0; i < n; i++) {
        bool absent = false;
        for (size_t k = 0; k < in->nargs; k++) {
            x[k] = slot[k * EXPR_BLOCK + i];
            absent |= isnan(x[k]);
        }
        double value = absent && !in->fn->absent ? NAN : in->fn->f(x, in->nargs);
        if (!absent && !isfinite(value) && (use == NULL || use[first + i]) && in->faults++ == 0)
            in->first = first + i;
        slot[i] = isfinite(value) ? value : NAN;
    }
}

static bool holds(enum expr_compare c, int order)
{
    switch (c) {
    case EXPR_EQ: return order == 0;
    case EXPR_NE: return order != 0;
    case EXPR_LT: return order < 0;
    case EXPR_LE: return order <= 0;
    case EXPR_GT: return order > 0;
    case EXPR_GE: return order >= 0;
    }
    return false;
}

static void compare(const struct expr_instr *in, size_t n, double *slot, const char **word)
{
    for (size_t i = 0; i < n; i++) {
        const double a = slot[i], b = slot[EXPR_BLOCK + i];
        const char *s = word[i], *t = word[EXPR_BLOCK + i];
        if (in->words)
            slot[i] = s == NULL || t == NULL ? (double)NAN : holds(in->compare, strcmp(s, t));
        else
            slot[i] = isnan(a) || isnan(b) ? (double)NAN : holds(in->compare, (a > b) - (a < b));
    }
}

/* Three-valued logic: false and missing is false, true or missing is true. */
static void join(bool both, size_t n, double *slot)
{
    for (size_t i = 0; i < n; i++) {
        const double a = slot[i], b = slot[EXPR_BLOCK + i], decides = both ? 0.0 : 1.0;
        slot[i] = a == decides || b == decides ? decides : 0.0 * (a + b) + 1.0 - decides;
    }
}

static void choose(const struct expr_instr *in, size_t n, double *slot, const char **word)
{
    for (size_t i = 0; i < n; i++) {
        const double c = slot[i];
        const size_t from = (c == 1.0 ? 1 : 2) * EXPR_BLOCK + i;
        if (in->words)
            word[i] = isnan(c) ? NULL : word[from];
        else
            slot[i] = isnan(c) ? (double)NAN : slot[from];
    }
}

static void push_column(const struct column *c, size_t first, size_t n, double *slot,
                        const char **word)
{
    for (size_t i = 0; i < n && c->type == COL_REAL; i++)
        slot[i] = column_at(c, first + i);
    for (size_t i = 0; i < n && c->type != COL_REAL; i++)
        word[i] = column_word(c, first + i);
    spill_used(n * page_use_row_bytes(c));
}

static void run_one(const struct expr *e, struct expr_instr *in, size_t first, size_t n,
                    const bool *use, double *slot, const char **word)
{
    switch (in->code) {
    case EXPR_PUSH_NUMBER:
        for (size_t i = 0; i < n; i++)
            slot[i] = in->number;
        break;
    case EXPR_PUSH_WORD:
        for (size_t i = 0; i < n; i++)
            word[i] = in->text;
        break;
    case EXPR_PUSH_COLUMN: push_column(&e->table->col[in->col], first, n, slot, word); break;
    case EXPR_CALL: call(in, first, n, use, slot); break;
    case EXPR_COMPARE: compare(in, n, slot, word); break;
    case EXPR_AND: join(true, n, slot); break;
    case EXPR_OR: join(false, n, slot); break;
    case EXPR_NOT:
        for (size_t i = 0; i < n; i++)
            slot[i] = 1.0 - slot[i];
        break;
    case EXPR_IS_MISSING:
        for (size_t i = 0; i < n; i++)
            slot[i] = in->words ? word[i] == NULL : isnan(slot[i]);
        break;
    case EXPR_IF: choose(in, n, slot, word); break;
    }
}

enum status expr_rows(struct expr *e, size_t first, size_t n, const bool *use, double *number,
                      const char **word, struct err *err)
{
    size_t top = 0;
    const enum status rc = n > 0 ? page_use_check(e->table, first, first + n - 1, err) : ST_OK;

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < e->n; i++) {
        top -= expr_operands(&e->code[i]);
        run_one(e, &e->code[i], first, n, use, e->slot + top * EXPR_BLOCK,
                e->word + top * EXPR_BLOCK);
        top++;
    }
    if (number != NULL)
        memcpy(number, e->slot, n * sizeof *number);
    if (word != NULL)
        memcpy(word, e->word, n * sizeof *word);
    return ST_OK;
}

void expr_faults(const struct expr *e, struct buf *out)
{
    size_t told = 0;

    for (size_t i = 0; i < e->n; i++) {
        const struct expr_instr *in = &e->code[i];
        if (in->code != EXPR_CALL || in->faults == 0)
            continue;
        buf_printf(out, "%s%s in %zu row%s, first in ", told++ ? "; " : "", in->fn->fault,
                   in->faults, in->faults == 1 ? "" : "s");
        table_where(e->table, &e->table->col[0], in->first, out);
    }
}
