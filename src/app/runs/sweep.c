/* app/runs/sweep.c -- see sweep.h. */
#include "app/runs/sweep.h"

#include "app/core/measures.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 7 };

void sweep_key_free(struct sweep_key *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->value[i]);
    free(k->value);
    *k = (struct sweep_key){ 0 };
}

void sweep_free(struct sweep *s)
{
    for (size_t k = 0; k < s->nkeys; k++)
        sweep_key_free(&s->key[k]);
    free(s->tune);
    free(s->fit);
    free(s->split);
    free(s->first);
    *s = (struct sweep){ 0 };
}

static void state_free(void *state)
{
    sweep_free(state);
    free(state);
}

const struct owner sweep_owner = { .name = "sweep", .free = state_free };

struct sweep *sweep_of(const struct workspace *ws)
{
    return owner_state(ws, &sweep_owner);
}

/* Values. */

static enum status add_value(struct sweep_key *k, const char *text, size_t len, struct err *err)
{
    if (k->n >= SWEEP_VALUES)
        return err_set(err, ST_LIMIT, "%s: more than %d values", k->name, SWEEP_VALUES);
    if (!k->value)
        k->value = mem_calloc(SWEEP_VALUES, sizeof *k->value, "a sweep", err);
    char *copy = k->value ? strndup(text, len) : NULL;
    if (!copy)
        return err_nomem(err, len, "a sweep");
    k->value[k->n++] = copy;
    return ST_OK;
}

static enum status add_number(struct sweep_key *k, double v, struct err *err)
{
    struct buf b = { 0 };

    buf_printf(&b, "%.12g", v); /* the user expects 0.3 + 0.37 to print as 0.67 */
    const enum status rc = add_value(k, buf_str(&b), b.len, err);
    buf_free(&b);
    return rc;
}

static bool doubles(const char *name)
{
    return !strcmp(name, "rank") || !strcmp(name, "features") || !strcmp(name, "probes") ||
           !strcmp(name, "batch") || !strcmp(name, "rows");
}

static enum status add_steps(struct sweep_key *k, double a, double b, char op, double step,
                             struct err *err)
{
    enum status rc = ST_OK;

    if (op == '/' && step > 0.0)
        for (size_t i = 0; rc == ST_OK && a + (double)i * step <= b * (1.0 + 1e-12); i++)
            rc = add_number(k, a + (double)i * step, err);
    else if (op == '*' && step > 1.0 && a > 0.0)
        for (double v = a; rc == ST_OK && v <= b * (1.0 + 1e-12); v *= step)
            rc = add_number(k, v, err);
    else if (op == '\0' &&
             a > 0.0) /* steps are equal on the log scale */
        for (int i = 0; rc == ST_OK && i < STEPS; i++) {
            char text[32];
            const double v = a * pow(b / a, i / (STEPS - 1.0));
            snprintf(text, sizeof text, "%.4g", v);
            rc = add_value(k, text, strlen(text), err);
        }
    else
        rc = err_set(err, ST_USAGE,
                     "%s: an interval that begins at 0 or below needs a step: %s=%g..%g/STEP",
                     k->name, k->name, a, b);
    return rc;
}

/* Parses "128..2048*2", "0.1..10", "2..8" or "split0..split4". *is is false if the text is not an
 * interval. */
static enum status add_interval(struct sweep_key *k, const char *s, size_t len, bool *is,
                                struct err *err)
{
    const char *dots = memmem(s, len, "..", 2), *end = s + len, *op;
    double a, b, step = 0.0;

    *is = dots != NULL && dots > s && dots + 2 < end;
    if (!*is)
        return ST_OK;
    for (op = dots + 2; op < end && *op != '/' && *op != '*'; op++)
        ;
    if (text_scaled(strndupa(s, (size_t)(dots - s)), &a) &&
        text_scaled(strndupa(dots + 2, (size_t)(op - dots - 2)), &b)) {
        if (!(a < b)) {
            err_set(err, ST_USAGE, "%s: the interval %.*s is empty", k->name, (int)len, s);
            err_hint(err, "write the smaller end first: l=0.1..10");
            return ST_USAGE;
        }
        char how = op < end ? *op : '\0';
        if (op < end && !text_scaled(strndupa(op + 1, (size_t)(end - op - 1)), &step)) {
            err_set(err, ST_USAGE, "%s: the step of %.*s is missing", k->name, (int)len, s);
            err_hint(err, "write l=0..1/0.1 to add, rank=64..1024*2 to multiply");
            return ST_USAGE;
        }
        if (!how && doubles(k->name)) {
            how = '*';
            step = 2.0;
        } else if (!how && a == floor(a) && b == floor(b) && b - a <= 20.0 && a >= 1.0) {
            how = '/';
            step = 1.0;
        }
        return add_steps(k, a, b, how, step, err);
    }
    /* name0..name4 */
    const char *p = dots, *q = end;
    while (p > s && isdigit((unsigned char)p[-1]))
        p--;
    while (q > dots + 2 && isdigit((unsigned char)q[-1]))
        q--;
    const size_t stem = (size_t)(p - s);
    const long from = atol(p), to = atol(q);
    *is = p < dots && q < end && stem == (size_t)(q - dots - 2) && !strncmp(s, dots + 2, stem) &&
          from < to;
    enum status rc = ST_OK;
    for (long i = from; *is && rc == ST_OK && i <= to; i++) {
        char text[128];
        snprintf(text, sizeof text, "%.*s%ld", (int)stem, s, i);
        rc = add_value(k, text, strlen(text), err);
    }
    return rc;
}

/* Commas outside quotes and parentheses separate the values. */
enum status sweep_values(struct sweep_key *k, const char *s, struct err *err)
{
    enum status rc = ST_OK;

    while (rc == ST_OK && *s) {
        const size_t len = text_span(s, ",");
        const bool quoted = len >= 2 && (*s == '\'' || *s == '"') && s[len - 1] == *s;
        bool interval = false;
        if (!quoted)
            rc = add_interval(k, s, len, &interval, err);
        if (rc == ST_OK && !interval)
            rc = len ? add_value(k, s + quoted, len - 2 * quoted, err)
                     : err_set(err, ST_USAGE, "%s: a value is empty", k->name);
        s += len + (s[len] == ',');
    }
    return rc;
}

/* Writing values as words. */

static char *fixed_value(const char *s, struct err *err)
{
    const size_t len = strlen(s);
    const bool quoted = len >= 2 && (*s == '\'' || *s == '"') && s[len - 1] == *s;

    char *copy = strndup(s + quoted, len - 2 * quoted);
    if (!copy)
        err_nomem(err, len, "a sweep");
    return copy;
}

static enum status read_word(struct sweep *s, const char *word, struct err *err)
{
    const char *eq = strchr(word, '=');

    if (!eq || eq == word)
        return err_set(err, ST_USAGE, "sweep: %.60s is not of the form key=values", word);
    const size_t len = (size_t)(eq - word);
    char **fixed = len == 4 && !strncmp(word, "tune", 4)   ? &s->tune
                   : len == 3 && !strncmp(word, "fit", 3)  ? &s->fit
                   : len == 4 && !strncmp(word, "file", 4) ? &s->split
                                                           : NULL;
    if (fixed) {
        free(*fixed);
        return (*fixed = fixed_value(eq + 1, err)) ? ST_OK : ST_NOMEM;
    }
    if (len == 4 && !strncmp(word, "show", 4)) {
        for (size_t i = 0; measure_of_sweep(i); i++)
            if (!strcmp(eq + 1, measure_of_sweep(i)->brief))
                return snprintf(s->show, sizeof s->show, "%s", eq + 1), ST_OK;
        return err_set(err, ST_USAGE,
                       "sweep show=%.40s is not one of rmse, nlpd, nmll, coverage, effdim, "
                       "iterations, seconds, accuracy, log_loss",
                       eq + 1);
    }
    if (s->nkeys == SWEEP_KEYS || len >= sizeof s->key[0].name)
        return err_set(err, ST_LIMIT, "sweep: at most %d keys", SWEEP_KEYS);
    struct sweep_key *k = &s->key[s->nkeys++];
    snprintf(k->name, sizeof k->name, "%.*s", (int)len, word);
    const enum status rc = sweep_values(k, eq + 1, err);
    return rc == ST_OK && k->n == 0 ? err_set(err, ST_USAGE,
                                              "sweep %s: there are no values", k->name) : rc;
}

static const struct sweep_key *has_key(const struct sweep *s, const char *name)
{
    for (size_t k = 0; k < s->nkeys; k++)
        if (!strcmp(s->key[k].name, name))
            return &s->key[k];
    return NULL;
}

enum status sweep_parse(const char *text, struct sweep *out, struct err *err)
{
    enum status rc = ST_OK;

    *out = (struct sweep){ .fits = true };
    while (rc == ST_OK && *text) {
        size_t len = 0;
        char quote = '\0';
        for (; isspace((unsigned char)*text); text++)
            ;
        for (; text[len] && (quote || !isspace((unsigned char)text[len])); len++)
            if (quote ? text[len] == quote : text[len] == '\'' || text[len] == '"')
                quote = quote ? '\0' : text[len];
        if (len)
            rc = read_word(out, strndupa(text, len), err);
        text += len;
    }
    if (rc == ST_OK && out->nkeys == 0)
        rc = err_set(err, ST_USAGE, "sweep: there is no setting to vary");
    if (rc != ST_OK) {
        err_hint(err, "sweep rank=256,512,1024");
        sweep_free(out);
        return rc;
    }
    out->npoints = 1;
    for (size_t k = 0; k < out->nkeys; k++)
        out->npoints *= out->key[k].n;
    /* Another split or kernel or more rows need other hyperparameters. */
    if (!out->tune && (has_key(out, "split") || has_key(out, "kernel") || has_key(out, "data") ||
                       has_key(out, "rows")))
        out->tune = fixed_value("", err);
    if (out->tune && !strcmp(out->tune, "no")) {
        free(out->tune);
        out->tune = NULL;
    }
    out->fits = strcmp(out->show, "nmll") != 0;
    if (!*out->show)
        strcpy(out->show, "rmse");
    if (out->npoints <= SWEEP_POINTS)
        return ST_OK;
    rc = err_set(err, ST_LIMIT, "sweep: %zu points are too many; %d at most", out->npoints,
                 SWEEP_POINTS);
    sweep_free(out);
    return rc;
}

/* Writing the statements. */

size_t sweep_index(const struct sweep *s, size_t i, size_t k)
{
    for (size_t j = 0; j < k; j++)
        i /= s->key[j].n;
    return i % s->key[k].n;
}

static void quoted(struct buf *b, const char *s)
{
    const char q = strchr(s, '\'') ? '"' : '\'';

    if (!strpbrk(s, " \t;#'\"*"))
        buf_puts(b, s);
    else
        buf_printf(b, "%c%s%c", q, s, q);
}

void sweep_statements(const struct sweep *s, size_t i, struct buf *out)
{
    struct buf args = { 0 };
    const char *rows = NULL;

    buf_printf(out, "sweep point=%zu\n", i);
    for (size_t k = 0; k < s->nkeys; k++) {
        const char *name = s->key[k].name, *v = s->key[k].value[sweep_index(s, i, k)];
        if (!strcmp(name, "split")) {
            buf_puts(out, "split");
            if (s->split) {
                buf_puts(out, " file=");
                quoted(out, s->split);
            }
            buf_puts(out, " column=");
            quoted(out, v);
            buf_putc(out, '\n');
        } else if (!strcmp(name, "kernel")) {
            buf_printf(out, "kernel %s\n", v);
        } else if (!strcmp(name, "data")) {
            buf_puts(out, "use ");
            quoted(out, v);
            buf_putc(out, '\n');
        } else if (!strcmp(name, "rows")) {
            rows = v;
        } else {
            buf_printf(&args, " %s=", name);
            quoted(&args, v);
        }
    }
    if (rows) { /* for any split */
        buf_puts(out, "split train=");
        quoted(out, rows);
        buf_putc(out, '\n');
    }
    if (s->tune || !s->fits)
        buf_printf(out, "tune %s%s\n", s->tune ? s->tune : "", s->fits ? "" : buf_str(&args));
    if (s->fits)
        buf_printf(out, "fit %s%s\nscore\n", s->fit ? s->fit : "", buf_str(&args));
    buf_free(&args);
}

void sweep_after(const struct sweep *s, struct buf *out)
{
    const struct sweep_key *data = has_key(s, "data");

    for (size_t i = 0; has_key(s, "rows") && i < (data ? data->n : 1); i++) {
        if (data) {
            buf_puts(out, "use ");
            quoted(out, data->value[i]);
            buf_putc(out, '\n');
        }
        buf_puts(out, "split train=all\n");
    }
    buf_puts(out, "sweep\n");
}
