/* data/decision.c -- see decision.h. */
#include "data/decision.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The class that is called so; SIZE_MAX: none. */
static size_t class_called(size_t n, char *const *name, const char *word, size_t len)
{
    for (size_t c = 0; c < n; c++)
        if (strlen(name[c]) == len && memcmp(name[c], word, len) == 0)
            return c;
    return SIZE_MAX;
}

static enum status no_class(const char *word, size_t len, struct err *err)
{
    char part[64], quoted[80];

    snprintf(part, sizeof part, "%.*s", (int)(len < 60 ? len : 60), word);
    err_set(err, ST_NOT_FOUND, "there is no class %s", text_quoted(part, quoted, sizeof quoted));
    err_hint(err, "likelihood  (lists the classes)");
    return ST_NOT_FOUND;
}

/* The number behind the last colon of len bytes; *name_len: the bytes before it. */
static bool number_behind(const char *s, size_t len, size_t *name_len, double *number)
{
    size_t at = len;
    char *end;

    while (at > 0 && s[at - 1] != ':')
        at--;
    if (at == 0 || at == len)
        return false;
    *name_len = at - 1;
    *number = strtod(s + at, &end);
    return end == s + len && isfinite(*number);
}

static enum status parse_decision(const char *s, char *const *name, struct decision *d,
                                  struct err *err)
{
    size_t len;

    if (!number_behind(s, strlen(s), &len, &d->least) || !(d->least > 0.0 && d->least < 1.0)) {
        err_set(err, ST_USAGE, "decision=%.60s is not of the form NAME:PROBABILITY, above 0 and "
                "below 1", s);
        err_hint(err, "likelihood dirichlet decision=%.40s:0.3", name[0]);
        return ST_USAGE;
    }
    d->named = class_called(d->classes, name, s, len);
    return d->named == SIZE_MAX ? no_class(s, len, err) : ST_OK;
}

/* TRUE>PREDICTED in len bytes; a name may hold a > as well. */
static enum status parse_pair(const char *s, size_t len, char *const *name, double number,
                              struct decision *d, struct err *err)
{
    for (size_t k = 0; k < len; k++) {
        const size_t a = s[k] == '>' ? class_called(d->classes, name, s, k) : SIZE_MAX;
        const size_t b = a != SIZE_MAX
                             ? class_called(d->classes, name, s + k + 1, len - k - 1) : SIZE_MAX;
        if (b == SIZE_MAX)
            continue;
        if (a == b) {
            err_set(err, ST_USAGE, "cost=%.*s is of the right class, which costs nothing",
                    (int)len, s);
            err_hint(err, "likelihood dirichlet cost=%.40s>%.40s:5", name[0], name[1]);
            return ST_USAGE;
        }
        d->cost[a * d->classes + b] = number;
        return ST_OK;
    }
    const char *end = memchr(s, '>', len);
    if (end && class_called(d->classes, name, s, (size_t)(end - s)) != SIZE_MAX)
        return no_class(end + 1, len - (size_t)(end - s) - 1, err);
    return no_class(s, end ? (size_t)(end - s) : len, err);
}

/* The end of an item: a comma behind :NUMBER, or the end of all. */
static size_t item_length(const char *s)
{
    for (size_t k = 0; s[k]; k++) {
        size_t len;
        double number;
        if (s[k] == ',' && number_behind(s, k, &len, &number))
            return k;
    }
    return strlen(s);
}

static enum status parse_cost(const char *s, char *const *name, struct decision *d,
                              struct err *err)
{
    const size_t C = d->classes;

    d->cost = mem_calloc(C, C * sizeof *d->cost, "costs", err);
    if (d->cost == NULL)
        return ST_NOMEM;
    for (size_t k = 0; k < C * C; k++)
        d->cost[k] = k / C != k % C;
    while (*s) {
        const size_t len = item_length(s);
        size_t pair;
        double number;
        if (!number_behind(s, len, &pair, &number) || !(number >= 0.0 && number <= 1e6) ||
            memchr(s, '>', pair) == NULL) {
            err_set(err, ST_USAGE, "cost=%.60s is not of the form TRUE>PREDICTED:NUMBER,.. with "
                    "numbers of 0 to 1e6", s);
            err_hint(err, "likelihood dirichlet cost=%.40s>%.40s:5", name[0], name[1]);
            return ST_USAGE;
        }
        const enum status rc = parse_pair(s, pair, name, number, d, err);
        if (rc != ST_OK)
            return rc;
        s += len + (s[len] == ',');
    }
    return ST_OK;
}

enum status decision_parse(const char *rule, size_t classes, char *const *name,
                           struct decision *d, struct err *err)
{
    static const char decision[] = "decision=", cost[] = "cost=";

    *d = (struct decision){ .classes = classes, .named = SIZE_MAX };
    if (rule == NULL)
        return ST_OK;
    if (strncmp(rule, decision, sizeof decision - 1) == 0)
        return parse_decision(rule + sizeof decision - 1, name, d, err);
    if (strncmp(rule, cost, sizeof cost - 1) == 0)
        return parse_cost(rule + sizeof cost - 1, name, d, err);
    return err_set(err, ST_USAGE, "%.60s is no rule of a decision", rule);
}

void decision_free(struct decision *d)
{
    free(d->cost);
    d->cost = NULL;
}

size_t decision_choose(const struct decision *d, size_t n, const double *p, size_t i)
{
    size_t best = SIZE_MAX;
    double value = 0.0;

    if (d->named != SIZE_MAX && p[d->named * n + i] >= d->least)
        return d->named;
    for (size_t c = 0; c < d->classes; c++) {
        double of = p[c * n + i];
        if (d->cost != NULL) { /* less its expected cost */
            of = 0.0;
            for (size_t t = 0; t < d->classes; t++)
                of -= p[t * n + i] * d->cost[t * d->classes + c];
        }
        if (c != d->named && (best == SIZE_MAX || of > value)) {
            best = c;
            value = of;
        }
    }
    return best;
}
