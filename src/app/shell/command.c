/* app/shell/command.c -- the command table: look-up, usage, help, and splitting a text into
 * statements. */
#include "app/shell/command.h"

#include "app/shell/args.h"
#include "app/shell/words.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const none[] = { NULL };
static const struct command *const *tables = none;

void command_use(const struct command *const *list)
{
    tables = list;
}

const struct command *command_at(size_t i)
{
    for (size_t t = 0; tables[t]; t++)
        for (const struct command *c = tables[t]; c->name; c++)
            if (i-- == 0)
                return c;
    return NULL;
}

bool command_nearest(const char *word, const char *const *names, size_t n, char *out, size_t len)
{
    const size_t limit = strlen(word) < 4 ? 1 : strlen(word) < 8 ? 2 : 3;
    size_t best[3], dist[3], found = 0;

    for (size_t i = 0; i < n; i++) {
        size_t d = text_distance(word, names[i], limit), k;
        /* "solve" for "solver", "resid" inside "plot residual": close, with letters missing. */
        if (d > limit && strlen(word) >= 3 && strstr(names[i], word))
            d = limit;
        if (d > limit)
            continue;
        for (k = found < 3 ? found : 3; k > 0 && dist[k - 1] > d; k--)
            if (k < 3) {
                dist[k] = dist[k - 1];
                best[k] = best[k - 1];
            }
        if (k < 3) {
            dist[k] = d;
            best[k] = i;
            found += found < 3;
        }
    }
    struct buf b = { 0 };
    for (size_t k = 0; k < found; k++)
        buf_printf(&b, "%s%s", k == 0 ? "" : k + 1 == found ? " or " : ", ", names[best[k]]);
    snprintf(out, len, "%s", buf_str(&b));
    buf_free(&b);
    return found > 0;
}

enum { COMMANDS_MAX = 256 };

const struct command *command_find(const char *word, struct err *err)
{
    const char *names[COMMANDS_MAX];
    const struct command *c, *hit = NULL;
    struct buf list = { 0 };
    size_t n = 0, hits = 0;
    char near[200];

    for (size_t i = 0; i < COMMANDS_MAX && (c = command_at(i)) != NULL; i++) {
        names[n++] = c->name;
        if (!strcmp(c->name, word)) {
            buf_free(&list);
            return c;
        }
        if (*word && !strncmp(c->name, word, strlen(word))) {
            buf_printf(&list, "%s%s", hits++ ? ", " : "", c->name);
            hit = c;
        }
    }
    if (hits > 1) {
        hit = NULL;
        err_set(err, ST_AMBIGUOUS, "'%.60s' may be %s", word, buf_str(&list));
        err_hint(err, "one letter more, or Tab");
    } else if (hits == 0) {
        err_set(err, ST_NOT_FOUND, "there is no command '%.60s'", word);
        if (access(word, R_OK) == 0)
            err_hint(err, "open %.200s", word);
        else if (command_nearest(word, names, n, near, sizeof near))
            err_hint(err, "%s", near);
        else
            err_hint(err, "help");
    }
    buf_free(&list);
    return hit;
}

/* Usage and help. */

/* Writes the placeholder of a value in a usage line. */
static const char *placeholder(const struct arg *a)
{
    static const char *const words[] = {
        [ARG_WORD] = "WORD", [ARG_TEXT] = "TEXT", [ARG_FILE] = "FILE", [ARG_OUT] = "FILE",
        [ARG_INT] = "N", [ARG_REAL] = "X", [ARG_BYTES] = "SIZE", [ARG_SHARE] = "SHARE",
        [ARG_BOOL] = "yes|no", [ARG_BOUND] = "X|A..B", [ARG_INTS] = "N,..", [ARG_SECONDS] = "TIME",
        [ARG_KERNEL] = "KERNEL", [ARG_DATASET] = "DATASET", [ARG_RUN] = "RUN",
        [ARG_COLUMN] = "COLUMN", [ARG_PLOT] = "PLOT", [ARG_COMMAND] = "COMMAND",
        [ARG_OPTION] = "OPTION", [ARG_JOB] = "JOB",
        [ARG_EXPR] = "EXPR",
    };
    if (a->type == ARG_CHOICE)
        return a->choices;
    return a->type < sizeof words / sizeof *words && words[a->type] ? words[a->type]
                                                                    : words[ARG_WORD];
}

static void usage_word(const struct arg *a, struct buf *out)
{
    const bool required = a->flags & ARGF_REQUIRED;

    buf_puts(out, required ? " " : " [");
    if (a->flags & ARGF_POS) {
        if (a->type == ARG_CHOICE)
            buf_puts(out, a->choices);
        else
            for (const char *p = a->name; *p; p++)
                buf_putc(out, (char)toupper((unsigned char)*p));
        buf_puts(out, a->flags & ARGF_PAIRS ? "=.. ..." : a->flags & ARGF_MANY ? " ..." : "");
    } else if (a->type == ARG_BOOL) {
        buf_puts(out, a->name);
    } else {
        buf_printf(out, "%s=%s", a->name, placeholder(a));
        if (a->choices && a->type != ARG_CHOICE)
            buf_printf(out, "|%s", a->choices);
    }
    if (!required)
        buf_putc(out, ']');
}

void command_usage(const struct command *c, struct buf *out)
{
    buf_puts(out, c->name);
    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        usage_word(&c->args[i], out);
    if (c->flags & CMD_HP_KEYS)
        buf_puts(out, " [l=X|A..B] [amplitude=..] [noise=..]");
    if (c->flags & CMD_OPTION_KEYS)
        buf_puts(out, " [OPTION=VALUE]");
}

static void help_range(const struct arg *a, struct buf *out)
{
    char lo[32], hi[32];

    if (a->lo == 0.0 && a->hi == 0.0)
        return;
    if (a->type == ARG_BYTES) {
        mem_format(lo, sizeof lo, a->lo);
        mem_format(hi, sizeof hi, a->hi);
    } else if (a->type == ARG_INT && a->lo >= 0.0 && a->hi <= 0x1p53) {
        text_count(lo, sizeof lo, (uint64_t)a->lo);
        text_count(hi, sizeof hi, (uint64_t)a->hi);
    } else {
        text_number(lo, sizeof lo, a->lo);
        text_number(hi, sizeof hi, a->hi);
    }
    if (a->hi >= 1e12) /* such a large limit is not worth showing */
        return;
    if (isinf(a->hi))
        buf_printf(out, ", at least %s", lo);
    else
        buf_printf(out, ", %s to %s", lo, hi);
}

static void help_arg(const struct arg *a, struct buf *out)
{
    struct buf left = { 0 };

    buf_printf(&left, "%s=%s", a->name, placeholder(a));
    if (a->choices && a->type != ARG_CHOICE)
        buf_printf(&left, "|%s", a->choices);
    const bool wide = left.len > 26; /* its text begins on the next line */
    buf_printf(out, "  %-26s%s%*s", buf_str(&left), wide ? "\n" : "", wide ? 29 : 1, "");
    words_expand(a->help ? a->help : "", out);
    if (a->type == ARG_REAL && a->unit && *a->unit)
        buf_printf(out, ", in %s", a->unit);
    help_range(a, out);
    if (a->flags & ARGF_REQUIRED)
        buf_puts(out, " (required)");
    else if (a->fallback)
        buf_printf(out, " (default %s)", a->fallback);
    buf_putc(out, '\n');
    buf_free(&left);
}

void command_help(const struct command *c, struct buf *out)
{
    buf_printf(out, "%s: %s\n", c->name, c->summary);
    buf_puts(out, "usage    ");
    command_usage(c, out);
    buf_putc(out, '\n');
    /* Several examples are separated by line ends. */
    for (const char *p = c->example; p && *p;) {
        const size_t n = strcspn(p, "\n");
        buf_printf(out, "%s%.*s\n", p == c->example ? "example  " : "         ", (int)n, p);
        p += n + (p[n] != '\0');
    }
    if (c->args[0].name)
        buf_puts(out, "arguments\n");
    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        help_arg(&c->args[i], out);
    if (c->flags & CMD_HP_KEYS)
        buf_puts(out, "  l=, amplitude=, noise=     hyperparameters in scaled units (standard "
                      "deviations); a value, or an interval A..B as bounds\n");
    if (c->flags & CMD_JOB)
        buf_puts(out, "Runs in the background; watch it with jobs, end it with stop.\n");
    if (c->more)
        buf_printf(out, "%s%s", c->more, c->more[strlen(c->more) - 1] == '\n' ? "" : "\n");
}

/* Statements. */

struct cut {
    struct statement *v; size_t n, cap;
    struct buf text;
    size_t line, first;  /* current line; the line where the statement began, 0: not begun */
};

static enum status cut_end(struct cut *c, struct err *err)
{
    while (c->text.len && isspace((unsigned char)c->text.s[c->text.len - 1]))
        c->text.s[--c->text.len] = '\0';
    if (c->text.failed)
        return err_nomem(err, c->text.cap, "a script");
    if (c->text.len) {
        enum status rc = mem_grow((void **)&c->v, &c->cap, c->n + 1, sizeof *c->v, "a script", err);
        if (rc != ST_OK)
            return rc;
        char *text = buf_take(&c->text);
        if (!text)
            return err_nomem(err, 0, "a script");
        c->v[c->n++] = (struct statement){ text, c->first };
    }
    buf_clear(&c->text);
    c->first = 0;
    return ST_OK;
}

/* Copies a quoted run that opens at s; returns its length, or 0 if it is never closed. */
static size_t cut_quoted(struct cut *c, const char *s)
{
    size_t i = 1;

    for (; s[i] && s[i] != '\n' && s[i] != *s; i++)
        if (*s == '"' && s[i] == '\\' && s[i + 1] && s[i + 1] != '\n')
            i++;
    if (s[i] != *s)
        return 0;
    buf_putn(&c->text, s, i + 1);
    return i + 1;
}

/* Length of a continuation (a backslash, optional blanks, the line end), else 0. */
static size_t continuation(const char *s)
{
    size_t i = 1;

    if (*s != '\\')
        return 0;
    while (s[i] == ' ' || s[i] == '\t' || s[i] == '\r')
        i++;
    return s[i] == '\n' ? i + 1 : s[i] == '\0' ? i : 0;
}

static enum status cut_text(struct cut *c, const char *s, struct err *err)
{
    char prev = '\0';
    enum status rc = ST_OK;

    if (!strncmp(s, "\xef\xbb\xbf", 3))
        s += 3;
    while (*s && rc == ST_OK) {
        const bool fresh = prev == '\0' || isspace((unsigned char)prev);
        size_t n;
        if ((n = continuation(s)) > 0) {
            buf_putc(&c->text, ' ');
            c->line += s[n - 1] == '\n';
            s += n;
            prev = ' ';
            continue;
        }
        if (*s == '#' && fresh) {
            s += strcspn(s, "\n");
            continue;
        }
        if (*s == ';' || *s == '\n') {
            rc = cut_end(c, err);
            c->line += *s++ == '\n';
            prev = '\0';
            continue;
        }
        if (!c->first && !isspace((unsigned char)*s))
            c->first = c->line;
        if ((*s == '"' || *s == '\'') && args_quote_opens(prev)) {
            n = cut_quoted(c, s);
            if (n == 0) {
                err_set(err, ST_USAGE, "line %zu: the quote %c is not closed on its line", c->line,
                        *s);
                err_hint(err, "inside \"..\" write \\\" for a quote and \\n for a line end");
                return ST_USAGE;
            }
            s += n;
            prev = '"';
            continue;
        }
        if (c->text.len || !isspace((unsigned char)*s))
            buf_putc(&c->text, *s == '\r' ? ' ' : *s);
        prev = *s++;
    }
    return rc == ST_OK ? cut_end(c, err) : rc;
}

enum status command_split(const char *text, struct statement **out, size_t *n, struct err *err)
{
    struct cut c = { .line = 1 };
    enum status rc = cut_text(&c, text, err);

    buf_free(&c.text);
    if (rc != ST_OK) {
        command_statements_free(c.v, c.n);
        c.v = NULL;
        c.n = 0;
    }
    *out = c.v;
    *n = c.n;
    return rc;
}

void command_statements_free(struct statement *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].text);
    free(v);
}
