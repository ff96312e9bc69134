/* app/shell/args_values.c -- the values of arguments: numbers with units, lists, intervals,
 * choices.  Checks whether a text is valid, and gives the message when it is not. */
#include "app/shell/args_impl.h"

#include "app/shell/options.h"
#include "app/shell/words.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/kernels/kernel.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool command_choice(const char *choices, size_t i, char *out, size_t len)
{
    for (; choices; i--) {
        const char *end = strchr(choices, '|');
        const size_t n = end ? (size_t)(end - choices) : strlen(choices);
        if (i == 0) {
            snprintf(out, len, "%.*s", (int)n, choices);
            return true;
        }
        choices = end ? end + 1 : NULL;
    }
    return false;
}

bool args_value_bool(const char *s, bool *out)
{
    static const char *const yes[] = { "yes", "on", "true", "1" };
    static const char *const no[] = { "no", "off", "false", "0" };

    for (size_t i = 0; i < 4; i++)
        if (!strcmp(s, yes[i]) || !strcmp(s, no[i])) {
            *out = !strcmp(s, yes[i]);
            return true;
        }
    return false;
}

/* Describes the values that an argument accepts, for messages. */
static void expects(const struct arg *a, char *out, size_t len)
{
    static const char *const kind[] = {
        [ARG_INT] = "a whole number", [ARG_REAL] = "a number", [ARG_BYTES] = "a size (64MB, 4GB)",
        [ARG_SHARE] = "a share (20% or 0.2)", [ARG_SECONDS] = "a time (30s, 5m, 2h)",
        [ARG_BOUND] = "a number, or an interval a..b",
        [ARG_INTS] = "whole numbers: n, a,b,c, a..b, a..b/step or a..b*2",
    };
    struct buf b = { 0 };
    char lo[32], hi[32];

    buf_puts(&b, (size_t)a->type < sizeof kind / sizeof *kind && kind[a->type] ? kind[a->type]
                                                                              : "a value");
    if (a->lo != 0.0 || a->hi != 0.0) {
        text_number(lo, sizeof lo, a->lo);
        text_number(hi, sizeof hi, a->hi);
        if (a->type == ARG_INT && a->lo >= 0.0 && a->hi <= 0x1p53) {
            text_count(lo, sizeof lo, (uint64_t)a->lo);
            text_count(hi, sizeof hi, (uint64_t)a->hi);
        }
        if (a->type == ARG_BYTES) {
            mem_format(lo, sizeof lo, a->lo);
            mem_format(hi, sizeof hi, a->hi);
        }
        if (isinf(a->hi))
            buf_printf(&b, ", at least %s", lo);
        else
            buf_printf(&b, " from %s to %s", lo, hi);
    }
    if (a->unit && *a->unit)
        buf_printf(&b, " (%s)", a->unit);
    if (a->choices) {
        buf_puts(&b, ", or ");
        char word[48];
        for (size_t i = 0; command_choice(a->choices, i, word, sizeof word); i++)
            buf_printf(&b, "%s%s", i ? ", " : "", word);
    }
    snprintf(out, len, "%s", buf_str(&b));
    buf_free(&b);
}

enum status args_value_bad(const struct arg *a, const char *text, enum status code,
                             const char *what, struct err *err)
{
    char want[256];

    expects(a, want, sizeof want);
    return err_set(err, code, "%s=%.80s: %s; expected %s", a->name, text, what, want);
}

/* Finds the factor of a unit suffix; false if this type has no such unit. */
static bool unit_factor(enum arg_type type, const char *u, double *f)
{
    static const struct { const char *u; double f; } counts[] = {
        { "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 },
    }, bytes[] = {
        { "", 1 }, { "B", 1 }, { "k", 0x1p10 }, { "K", 0x1p10 }, { "M", 0x1p20 }, { "G", 0x1p30 },
        { "T", 0x1p40 }, { "kB", 0x1p10 }, { "KB", 0x1p10 }, { "MB", 0x1p20 }, { "GB", 0x1p30 },
        { "TB", 0x1p40 }, { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 },
        { "TiB", 0x1p40 },
    }, share[] = { { "", 1 }, { "%", 0.01 } },
       seconds[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 },
                     { "h", 3600 } };
#define LOOK(table)                                            \
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)  \
        if (!strcmp(u, table[i].u)) {                          \
            *f = table[i].f;                                   \
            return true;                                       \
        }
    if (type == ARG_BYTES) {
        LOOK(bytes)
    } else if (type == ARG_SHARE) {
        LOOK(share)
    } else if (type == ARG_SECONDS) {
        LOOK(seconds)
    } else {
        LOOK(counts)
    }
#undef LOOK
    return false;
}

static bool plain_number(enum arg_type type, const char *text, double *out)
{
    size_t n = strlen(text), m = n;
    double x, f;

    if (n == 0 || n > 64)
        return false;
    /* The unit is made of the letters and % at the end. The exponent of 1e5 is no unit, because
     * digits follow it. */
    while (m > 0 && (isalpha((unsigned char)text[m - 1]) || text[m - 1] == '%'))
        m--;
    if (!text_double(text, m, &x) || !isfinite(x) || !unit_factor(type, text + m, &f))
        return false;
    /* 7% must equal 0.07: division rounds only once. */
    *out = f == 0.01 ? x / 100.0 : x * f;
    return isfinite(*out);
}

enum status command_number(const struct arg *a, const char *text, double *out, struct err *err)
{
    char word[48];

    for (size_t i = 0; a->choices && command_choice(a->choices, i, word, sizeof word); i++)
        if (!strcmp(word, text)) {
            *out = NAN;
            return ST_OK;
        }
    if (!plain_number(a->type, text, out))
        return args_value_bad(a, text, ST_USAGE, "not a number", err);
    if (a->type == ARG_INT && (*out != floor(*out) || fabs(*out) > 0x1p53))
        return args_value_bad(a, text, ST_USAGE, "not a whole number", err);
    double lo = a->lo, hi = a->hi;
    if (a->type == ARG_SHARE && lo == 0.0 && hi == 0.0)
        hi = 1.0;
    if ((lo != 0.0 || hi != 0.0) && !(*out >= lo && *out <= hi))
        return args_value_bad(a, text, ST_RANGE, "out of range", err);
    return ST_OK;
}

/* Parses "a..b" or a number. */
enum status args_value_bound(const struct arg *a, const char *text, double *lo, double *hi,
                              struct err *err)
{
    const char *dots = strstr(text, "..");
    struct arg one = *a;
    enum status rc;

    one.type = ARG_REAL;
    if (!dots) {
        double x;
        if (!plain_number(ARG_REAL, text, &x))
            return args_value_bad(a, text, ST_USAGE, "not a number", err);
        rc = command_number(&one, text, lo, err);
        *hi = *lo;
        return rc;
    }
    char left[72];
    if (dots - text >= (ptrdiff_t)sizeof left)
        return args_value_bad(a, text, ST_USAGE, "not an interval", err);
    snprintf(left, sizeof left, "%.*s", (int)(dots - text), text);
    if (!plain_number(ARG_REAL, left, lo) || !plain_number(ARG_REAL, dots + 2, hi))
        return args_value_bad(a, text, ST_USAGE, "not an interval", err);
    if (!(*lo < *hi))
        return args_value_bad(a, text, ST_RANGE, "the lower end must be below the upper end", err);
    if ((a->lo != 0.0 || a->hi != 0.0) && (*lo < a->lo || *hi > a->hi))
        return args_value_bad(a, text, ST_RANGE, "out of range", err);
    return ST_OK;
}

enum { INTS_MAX = 100000 };

/* Parses one item of a list: n, a..b, a..b/step, a..b*factor. Appends to *v; if v is NULL it only
 * checks. */
static enum status read_ints_item(const struct arg *a, const char *item, size_t **v, size_t *n,
                                  size_t *cap, struct err *err)
{
    char part[72], *dots, *by;
    double lo, hi, step = 1.0;
    bool times = false;

    if (strlen(item) >= sizeof part)
        return args_value_bad(a, item, ST_USAGE, "not a whole number", err);
    strcpy(part, item);
    dots = strstr(part, "..");
    if (dots) {
        *dots = '\0';
        by = strpbrk(dots + 2, "/*");
        if (by) {
            times = *by == '*';
            *by = '\0';
            if (!plain_number(ARG_INT, by + 1, &step) || (!times && step != floor(step)))
                return args_value_bad(a, item, ST_USAGE, "the step is not a whole number", err);
            if (step < 1.0 || (times && step <= 1.0))
                return args_value_bad(a, item, ST_RANGE,
                                      "a step must be 1 or more, a factor above 1", err);
        } else if (a->unit && !strcmp(a->unit, "doubling")) {
            times = true;
            step = 2.0;
        }
    }
    struct arg one = *a;
    one.type = ARG_INT;
    one.choices = NULL;
    if (command_number(&one, part, &lo, err) != ST_OK ||
        command_number(&one, dots ? dots + 2 : part, &hi, err) != ST_OK)
        return err ? err->code : ST_USAGE;
    if (lo < 0 || lo > hi)
        return args_value_bad(a, item, ST_RANGE, "the first value must not be above the last", err);
    if (times && lo < 1.0)
        return args_value_bad(a, item, ST_RANGE, "doubling must start at 1 or more", err);
    for (double x = lo; x <= hi; x = times ? floor(x * step) : x + step) {
        if (*n == INTS_MAX)
            return args_value_bad(a, item, ST_RANGE, "more than 100,000 numbers", err);
        enum status rc = mem_grow((void **)v, cap, *n + 1, sizeof **v, "a list", err);
        if (rc != ST_OK)
            return rc;
        (*v)[(*n)++] = (size_t)x;
    }
    return ST_OK;
}

enum status args_value_ints(const struct arg *a, const char *text, size_t **out, size_t *n,
                             struct err *err)
{
    char *copy = mem_strdup(text, err);
    size_t cap = 0;
    enum status rc = copy ? ST_OK : ST_NOMEM;

    *out = NULL;
    *n = 0;
    for (char *item = copy, *next; rc == ST_OK && item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        rc = read_ints_item(a, item, out, n, &cap, err);
    }
    free(copy);
    if (rc != ST_OK) {
        free(*out);
        *out = NULL;
        *n = 0;
    }
    return rc;
}

/* Parses a choice: an exact match or a unique prefix. *text is replaced by the full word. */
static enum status read_choice(const struct arg *a, char **text, struct err *err)
{
    const char *names[64];
    char store[64][48], found[48] = "", near[160];
    size_t n = 0, hits = 0;

    for (; n < 64 && command_choice(a->choices, n, store[n], sizeof store[n]); n++) {
        names[n] = store[n];
        if (!strcmp(store[n], *text))
            return ST_OK;
        if (**text && !strncmp(store[n], *text, strlen(*text))) {
            memcpy(found, store[n], sizeof found);
            hits++;
        }
    }
    if (hits == 1) {
        char *full = mem_strdup(found, err);
        if (!full)
            return ST_NOMEM;
        free(*text);
        *text = full;
        return ST_OK;
    }
    struct buf all = { 0 };
    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    err_set(err, ST_USAGE, "%s=%.80s: %s; choose one of %s", a->name, *text,
            hits ? "several choices begin like that" : "there is no such choice", buf_str(&all));
    if (!hits && command_nearest(*text, names, n, near, sizeof near))
        err_hint(err, "%s", near);
    buf_free(&all);
    return ST_USAGE;
}

bool args_looks_like_run(const char *s)
{
    if (!strncmp(s, "run:", 4))
        return s[4] != '\0';
    if (!strcmp(s, ".") || !strcmp(s, "*"))
        return true;
    if (*s == '-' || *s == 'r' || *s == 't') {
        s++;
        if (*s == '*' && !s[1])
            return true;
        if (!*s)
            return false;
        for (; isdigit((unsigned char)*s); s++)
            ;
        return !*s;
    }
    return false;
}

/* ~/x is relative to the home directory, as in a shell. */
static enum status expand_home(char **text, struct err *err)
{
    const char *home = getenv("HOME");
    struct buf b = { 0 };

    if (strncmp(*text, "~/", 2) || !home || *home != '/')
        return ST_OK;
    buf_printf(&b, "%s%s", home, *text + 1);
    char *full = buf_take(&b);
    buf_free(&b);
    if (!full)
        return err_nomem(err, strlen(*text), "a path");
    free(*text);
    *text = full;
    return ST_OK;
}

/* Checks a value. It may replace *text by its canonical form. */
enum status args_value_check(const struct arg *a, char **text, struct err *err)
{
    double lo, hi;
    struct err own = { 0 };
    bool flag;

    if (!err)
        err = &own;
    if (!**text && a->type != ARG_TEXT)
        return args_value_bad(a, *text, ST_USAGE, "a value is missing", err);
    switch (a->type) {
    case ARG_INT: case ARG_REAL: case ARG_BYTES: case ARG_SHARE: case ARG_SECONDS:
        return command_number(a, *text, &lo, err);
    case ARG_BOUND:
        return args_value_bound(a, *text, &lo, &hi, err);
    case ARG_INTS: {
        size_t *v, n;
        char word[48];
        for (size_t i = 0; a->choices && command_choice(a->choices, i, word, sizeof word); i++)
            if (!strcmp(word, *text))
                return ST_OK;
        enum status rc = args_value_ints(a, *text, &v, &n, err);
        free(v);
        return rc;
    }
    case ARG_BOOL:
        if (args_value_bool(*text, &flag))
            return ST_OK;
        return err_set(err, ST_USAGE, "%s=%.80s: answer yes or no", a->name, *text);
    case ARG_CHOICE:
        return read_choice(a, text, err);
    case ARG_KERNEL: {
        struct kernel k;
        double hp[KERNEL_MAX_HP];
        return strcmp(*text, ".") ? kernel_parse(*text, &k, hp, err) : ST_OK;
    }
    case ARG_RUN:
        if (args_looks_like_run(*text))
            return ST_OK;
        err_set(err, ST_USAGE,
                "%s=%.80s is not the name of a run; runs are r1, r2, ... and t1, t2, ..", a->name,
                *text);
        err_hint(err, "runs");
        return ST_USAGE;
    case ARG_FILE: case ARG_OUT:
        return expand_home(text, err);
    case ARG_OPTION:
        return option_find(*text, err) ? ST_OK : err->code;
    default: {
        const struct words_row *w = words_of(a->type);
        return w && w->check ? w->check(*text, err) : ST_OK;
    }
    }
}
