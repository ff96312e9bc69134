/* tests/check_command.c -- the grammar of command lines: what parses, as what, and with which words
 * the rest is refused; the table itself; completion. */
#include "app/commands/app.h"
#include "app/shell/args.h"
#include "app/shell/command.h"
#include "app/commands/commands.h"
#include "app/shell/options.h"
#include "app/core/workspace.h"
#include "compute/kernels/kernel.h"
#include "compute/preconds/precond.h"
#include "compute/solvers/solver.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Statements. */

static const struct {
    const char *text;
    size_t n;
    const char *first, *last;
    size_t line;
} splits[] = {
    {"", 0, NULL, NULL, 0},
    {"  \n ; ;\n# only a remark\n", 0, NULL, NULL, 0},
    {"fit", 1, "fit", "fit", 1},
    {"open a.csv; fit", 2, "open a.csv", "fit", 1},
    {"#!/usr/bin/env -S gpdesk -f\nfit # now\nscore", 2, "fit", "score", 3},
    {"fit \\\n  rank=5\nscore", 2, "fit    rank=5", "score", 3},
    {"note \"a;b # c\"; fit", 2, "note \"a;b # c\"", "fit", 1},
    {"note 'a;b'", 1, "note 'a;b'", "note 'a;b'", 1},
    {"note it's fine; fit", 2, "note it's fine", "fit", 1},
    {"note \"say \\\"x;y\\\"\"", 1, "note \"say \\\"x;y\\\"\"", "note \"say \\\"x;y\\\"\"", 1},
    {"open a#b.csv", 1, "open a#b.csv", "open a#b.csv", 1},
    {"\xef\xbb\xbf"
     "fit\r\nscore\r\n",
     2, "fit", "score", 2},
    {"fit \\", 1, "fit", "fit", 1},
    {"\n\n\nfit", 1, "fit", "fit", 4},
};

START_TEST(text_is_cut_into_statements)
{
    struct statement *st;
    struct err err = { 0 };
    size_t n;

    ck_assert_int_eq(command_split(splits[_i].text, &st, &n, &err), ST_OK);
    ck_assert_uint_eq(n, splits[_i].n);
    if (n) {
        ck_assert_str_eq(st[0].text, splits[_i].first);
        ck_assert_str_eq(st[n - 1].text, splits[_i].last);
        ck_assert_uint_eq(st[n - 1].line, splits[_i].line);
    }
    command_statements_free(st, n);
}
END_TEST

START_TEST(open_quotes_are_refused_with_their_line)
{
    struct statement *st;
    struct err err = { 0 };
    size_t n;

    ck_assert_int_eq(command_split("fit\nopen \"a b\nscore", &st, &n, &err), ST_USAGE);
    ck_assert_ptr_null(st);
    ck_assert(strstr(err.msg, "line 2"));
}
END_TEST

/* Lines that parse: their canonical form. */

static const struct { const char *line, *canonical; } good[] = {
    { "fit", "fit" },
    { "  fit   ", "fit" },
    { "fit rank=512", "fit rank=512" },
    { "fit --rank=512", "fit rank=512" },
    { "fit --rank 512", "fit rank=512" },
    { "fit fea=8192 rt=1e-4", "fit features=8192 rtol=1e-4" },
    { "sco", "score" },
    { "score r7 on=test", "score r7 on=test" },
    { "score on=te r7", "score r7 on=test" },
    { "score folds", "score folds=yes" },
    { "score --folds", "score folds=yes" },
    { "score run:r7", "score run:r7" },
    { "stop now", "stop now=yes" },
    { "stop r3 now", "stop r3 now=yes" },
    { "stop *", "stop *" },
    { "set l=0.8 noise=0.05", "set lengthscale=0.8 noise=0.05" },
    { "set l=0.1..10", "set lengthscale=0.1..10" },
    { "set l.min=1e-3 l.max=5", "set lengthscale.min=1e-3 lengthscale.max=5" },
    { "set threads=2 mem=4GB", "set threads=2 mem=4GB" },
    { "tune noise=0.1 l=0.01..10", "tune noise=0.1 lengthscale=0.01..10" },
    { "tune 1.l=2", "tune 1.lengthscale=2" },
    { "open 'my data.csv'", "open \"my data.csv\"" },
    { "open \"my \\\"data\\\".csv\" target=y", "open \"my \\\"data\\\".csv\" target=y" },
    { "open a.csv target='x=y'", "open a.csv target=\"x=y\"" },
    { "open a.csv target=\"a\\nb\"", "open a.csv target=\"a\\nb\"" },
    { "open \"C:\\data.csv\"", "open \"C:\\\\data.csv\"" },
    { "open -", "open -" },
    { "fit kernel=matern(nu=3/2)", "fit kernel=matern(nu=3/2)" },
    { "note r1 it went well, 100% = good", "note r1 \"it went well, 100% = good\"" },
    { "note r1 \"quoted\"", "note r1 quoted" },
    { "note don't", "note \"don't\"" },
    { "race rank=16,64 features=128", "race settings=\"rank=16,64 features=128\"" },
    { "race pcg,cg rank=16", "race pcg,cg \"rank=16\"" },
    { "split test=20% seed=7", "split test=20% seed=7" },
    { "split test=0.2 ordered", "split test=0.2 ordered=yes" },
    { "compare r1 r2 r3", "compare r1 r2 r3" },
    { "missing mean flag=on", "missing mean flag=on" },
    { "help fit", "help fit" },
    { "fit ?", "help fit" },
    { "fit --help", "help fit" },
    { "?", "help" },
    { "cluster k=2..12", "cluster k=2..12" },
    { "cluster k=2,4,8", "cluster k=2,4,8" },
    { "demo draw n=2k", "demo draw n=2k" },
};

START_TEST(lines_have_a_canonical_form)
{
    const struct command *cmd;
    struct args *a = NULL, *again = NULL;
    struct err err = { 0 };

    enum status rc = command_parse(good[_i].line, &cmd, &a, &err);
    ck_assert_msg(rc == ST_OK, "%s: %s", good[_i].line, err.msg);
    ck_assert_str_eq(args_line(a), good[_i].canonical);
    /* The canonical line means the same. */
    rc = command_parse(args_line(a), &cmd, &again, &err);
    ck_assert_msg(rc == ST_OK, "%s: %s", args_line(a), err.msg);
    ck_assert_str_eq(args_line(again), args_line(a));
    args_free(a);
    args_free(again);
}
END_TEST

static void check_canonical(const char *line)
{
    const struct command *cmd, *cmd2;
    struct args *a, *b;
    struct err err = { 0 };

    if (command_parse(line, &cmd, &a, &err) != ST_OK)
        return;
    ck_assert_msg(command_parse(args_line(a), &cmd2, &b, &err) == ST_OK, "%s, from %s: %s",
                  args_line(a), line, err.msg);
    ck_assert_str_eq(args_line(a), args_line(b));
    ck_assert_ptr_eq(cmd, cmd2);
    for (size_t k = 0; k < ARGS_MAX && cmd->args[k].name; k++) {
        const char *name = cmd->args[k].name, *x = args_text(a, name), *y = args_text(b, name);
        ck_assert_int_eq(args_given(a, name), args_given(b, name));
        ck_assert_uint_eq(args_many(a, name), args_many(b, name));
        ck_assert_msg((!x && !y) || (x && y && !strcmp(x, y)), "%s of %s", name, line);
    }
    args_free(a);
    args_free(b);
}

/* A value that an argument takes. */
static void sample(const struct arg *a, char *out, size_t len)
{
    static const char *const text[] = {
        [ARG_WORD] = "abc", [ARG_TEXT] = "abc", [ARG_FILE] = "f.csv", [ARG_OUT] = "f.csv",
        [ARG_BYTES] = "1GB", [ARG_SHARE] = "0.2", [ARG_BOOL] = "yes", [ARG_BOUND] = "0.5",
        [ARG_INTS] = "2,4", [ARG_SECONDS] = "2", [ARG_KERNEL] = "rbf", [ARG_DATASET] = "toy",
        [ARG_RUN] = "r1", [ARG_COLUMN] = "x", [ARG_PLOT] = "pairs", [ARG_COMMAND] = "fit",
        [ARG_OPTION] = "seed", [ARG_JOB] = "r1", [ARG_SOLVER] = "cg", [ARG_PRECOND] = "srht",
        [ARG_SKETCH] = "srht", [ARG_TUNER] = "bayes", [ARG_DEMO] = "toy", [ARG_SETTING] = "seed",
        [ARG_THEME] = "dark", [ARG_TOPIC] = "fit", [ARG_COPIED] = "cell",
        [ARG_PREDICTED] = "mean,sd", [ARG_PLOTS] = "parity,check", [ARG_EXPR] = "x > 1",
    };

    if (a->type == ARG_CHOICE)
        command_choice(a->choices, 0, out, len);
    else if (a->type == ARG_INT || a->type == ARG_REAL)
        snprintf(out, len, "%g", a->lo > 0.0 ? ceil(a->lo) : 1.0);
    else {
        ck_assert_msg(a->type < sizeof text / sizeof *text && text[a->type], "no sample for %s",
                      a->name);
        snprintf(out, len, "%s", text[a->type]);
    }
}

/* Up to three arguments in every order, each with its name or without: what parses has a canonical
 * line that parses to itself, with the same values. */
START_TEST(canonical_lines_parse_to_themselves)
{
    static const unsigned char order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                               { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    const struct command *c = command_at((size_t)_i);
    size_t place[3], n = 0;

    for (size_t k = 0; k < ARGS_MAX && c->args[k].name && n < 3; k++)
        if (c->args[k].flags & ARGF_POS)
            place[n++] = k;
    for (size_t k = 0; k < ARGS_MAX && c->args[k].name && n < 3; k++)
        if (!(c->args[k].flags & ARGF_POS))
            place[n++] = k;
    for (size_t o = 0; n && o < 6; o++)
        for (unsigned named = 0; named < 8; named++)
            for (size_t upto = 1; upto <= n; upto++) {
                char line[400] = "", word[80];
                snprintf(line, sizeof line, "%s", c->name);
                for (size_t j = 0; j < upto; j++) {
                    const size_t q = order[o][j];
                    if (q >= n)
                        continue;
                    const struct arg *a = &c->args[place[q]];
                    sample(a, word, sizeof word);
                    const size_t len = strlen(line);
                    snprintf(line + len, sizeof line - len, named >> q & 1 ? " %s=%s" : " %.0s%s",
                             a->name, word);
                }
                check_canonical(line);
            }
}
END_TEST


/* Lines that do not: code, and words that must be in the message or the way out. */

static const struct { const char *line; enum status code; const char *words, *hint; } bad[] = {
    { "", ST_USAGE, "no command", NULL },
    { "fitt", ST_NOT_FOUND, "no command 'fitt'", "fit" },
    { "sumary", ST_NOT_FOUND, "sumary", "summary" },
    { "s", ST_AMBIGUOUS, "score", NULL },
    { "xyzzyplugh", ST_NOT_FOUND, "xyzzyplugh", "help" },
    { "rank=5", ST_USAGE, "starts with a command", "set" },
    { "fit rnk=5", ST_NOT_FOUND, "no argument rnk", "rank" },
    { "fit r=5", ST_AMBIGUOUS, "rank", NULL },
    { "fit rank=abc", ST_USAGE, "rank=abc: not a number", NULL },
    { "fit rank=1.5", ST_USAGE, "whole number", NULL },
    { "fit rank=0", ST_RANGE, "from 1 to 65,536", NULL },
    { "fit rank=", ST_USAGE, "missing", NULL },
    { "fit rank=5 rank=6", ST_USAGE, "twice", NULL },
    { "fit rtol=3", ST_RANGE, "rtol=3", NULL },
    { "fit rtol=nan", ST_USAGE, "not a number", NULL },
    { "fit rtol=inf", ST_USAGE, "not a number", NULL },
    { "fit rtol=1e999", ST_USAGE, "not a number", NULL },
    { "fit rtol=0x10", ST_USAGE, "not a number", NULL },
    { "fit --rank", ST_USAGE, "--rank needs a value", NULL },
    { "fit rank = 5", ST_USAGE, NULL, NULL },
    { "fit plan=fast", ST_USAGE, "auto, store, regenerate, direct", NULL },
    { "missing me", ST_USAGE, "several choices begin like that", NULL },
    { "fit kernel=foo", ST_NOT_FOUND, "foo", "rbf" },
    { "fit kernel=rbf(", ST_USAGE, "not closed", "quotes" },
    { "open", ST_USAGE, "needs file", "open FILE" },
    { "open a b", ST_USAGE, "the word b is one too many", NULL },
    { "open \"a", ST_USAGE, "not closed", NULL },
    { "score r7x", ST_USAGE, "r7x", NULL },
    { "split test=120%", ST_RANGE, "out of range", NULL },
    { "set l=5..1", ST_RANGE, "below", NULL },
    { "set l=a..b", ST_USAGE, "interval", NULL },
    { "set l=1 l=2", ST_USAGE, "twice", NULL },
    { "set threads=0", ST_RANGE, "threads=0", NULL },
    { "set mem=lots", ST_USAGE, "size", NULL },
    { "set colour=auto", ST_NOT_FOUND, "colour", "color" },
    { "cluster k=9..2", ST_RANGE, NULL, NULL },
    { "cluster k=2..1000000000/1", ST_RANGE, NULL, NULL },
    { "plot nosuchplot", ST_NOT_FOUND, "nosuchplot", NULL },
    { "jobs now please", ST_USAGE, "too many", NULL },
    { "help a b", ST_USAGE, "too many", NULL },
};

START_TEST(refusals_name_the_cause)
{
    const struct command *cmd;
    struct args *a = NULL;
    struct err err = { 0 };
    const enum status rc = command_parse(bad[_i].line, &cmd, &a, &err);

    ck_assert_msg(rc == bad[_i].code, "%s: %s (%s)", bad[_i].line, status_name(rc), err.msg);
    ck_assert_int_eq(err.code, rc);
    ck_assert_ptr_null(a);
    ck_assert_msg(*err.msg, "%s", bad[_i].line);
    if (bad[_i].words)
        ck_assert_msg(strstr(err.msg, bad[_i].words), "%s: %s", bad[_i].line, err.msg);
    if (bad[_i].hint)
        ck_assert_msg(strstr(err.hint, bad[_i].hint), "%s: try %s", bad[_i].line, err.hint);
}
END_TEST

/* Values. */

static struct args *parsed(const char *line)
{
    const struct command *cmd;
    struct args *a = NULL;
    struct err err = { 0 };
    const enum status rc = command_parse(line, &cmd, &a, &err);

    ck_assert_msg(rc == ST_OK, "%s: %s", line, err.msg);
    return a;
}

START_TEST(values_have_units)
{
    struct args *a = parsed("fit features=8k rank=1.5k rtol=1e-3");
    ck_assert_int_eq(args_int(a, "features", -1), 8000);
    ck_assert_int_eq(args_int(a, "rank", -1), 1500);
    ck_assert_double_eq(args_num(a, "rtol"), 1e-3);
    ck_assert(args_given(a, "rank") && !args_given(a, "maxit"));
    ck_assert_int_eq(args_int(a, "maxit", -1), 500); /* from the table */
    args_free(a);
    a = parsed("split test=7%");
    ck_assert_double_eq(args_num(a, "test"), 0.07);
    args_free(a);

    const struct arg size = { "mem", ARG_BYTES, 0, NULL, 0, 0, NULL, NULL, NULL };
    const struct arg time = { "for", ARG_SECONDS, 0, NULL, 0, 0, NULL, NULL, NULL };
    double x;
    ck_assert_int_eq(command_number(&size, "4GB", &x, NULL), ST_OK);
    ck_assert_double_eq(x, 4294967296.0);
    ck_assert_int_eq(command_number(&size, "64k", &x, NULL), ST_OK);
    ck_assert_double_eq(x, 65536.0);
    ck_assert_int_eq(command_number(&time, "5m", &x, NULL), ST_OK);
    ck_assert_double_eq(x, 300.0);
    ck_assert_int_eq(command_number(&time, "250ms", &x, NULL), ST_OK);
    ck_assert_double_eq(x, 0.25);
    ck_assert_int_eq(command_number(&time, "5x", &x, NULL), ST_USAGE);
}
END_TEST

static const struct { const char *text; size_t n, first, last; } lists[] = {
    { "5", 1, 5, 5 }, { "2,4,8", 3, 2, 8 }, { "2..6", 5, 2, 6 }, { "2..10/4", 3, 2, 10 },
    { "2..32*2", 5, 2, 32 }, { "1..100*3", 5, 1, 81 }, { "2,4..6", 4, 2, 6 },
};

START_TEST(lists_are_expanded)
{
    char line[64];
    size_t *v, n;
    struct err err = { 0 };

    snprintf(line, sizeof line, "cluster k=%s", lists[_i].text);
    const struct command *cmd;
    struct args *a = NULL;
    if (command_parse(line, &cmd, &a, &err) != ST_OK) {
        ck_assert_int_eq(err.code, ST_RANGE); /* beyond what the row allows */
        return;
    }
    ck_assert_int_eq(args_ints(a, "k", &v, &n, &err), ST_OK);
    ck_assert_uint_eq(n, lists[_i].n);
    ck_assert_uint_eq(v[0], lists[_i].first);
    ck_assert_uint_eq(v[n - 1], lists[_i].last);
    free(v);
    args_free(a);
}
END_TEST

START_TEST(hyperparameter_keys)
{
    struct args *a = parsed("tune 1.l=0.5..2 noise=0.1 l.max=3");
    double lo, hi;

    ck_assert_uint_eq(args_hp(a), 3);
    ck_assert_str_eq(args_hp_at(a, 0, &lo, &hi), "1.lengthscale");
    ck_assert(lo == 0.5 && hi == 2.0);
    ck_assert_str_eq(args_hp_at(a, 1, &lo, &hi), "noise");
    ck_assert(lo == 0.1 && hi == 0.1);
    ck_assert_str_eq(args_hp_at(a, 2, &lo, &hi), "lengthscale");
    ck_assert(isnan(lo) && hi == 3.0);
    ck_assert_ptr_null(args_hp_at(a, 3, &lo, &hi));
    args_free(a);
}
END_TEST

START_TEST(quoting_comes_back)
{
    static const char *const names[] = {
        "plain",
        "two words",
        "a\"b",
        "back\\slash",
        "new\nline",
        "tab\t",
        "\x1b[31mred",
        "semi;colon",
        "hash # tag",
        "'single'",
        "",
        "--dash",
        "?",
        "a=b",
        "x(1",
        "$(rm -rf /)",
        "`id`",
        "%s%n",
        "\xc3\xa4\xe2\x82\xac",
        "rbf(l=0.3)",
        "*",
        "a,b",
        "\x01\x02",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf b = { 0 };
        buf_puts(&b, "open x target=");
        command_quote(&b, names[i]);
        if (!*names[i]) { /* an empty column name is no column: refused, not misread */
            const struct command *cmd;
            struct args *a = NULL;
            ck_assert_int_eq(command_parse(buf_str(&b), &cmd, &a, NULL), ST_USAGE);
        } else {
            struct args *a = parsed(buf_str(&b));
            ck_assert_str_eq(args_text(a, "target"), names[i]);
            args_free(a);
        }
        buf_free(&b);
    }
}
END_TEST

START_TEST(hostile_lines_end)
{
    static const char *const lines[] = {
        "\x1b]0;x\x07",
        "fit \xff\xfe=1",
        "((((((((",
        "))))",
        "=",
        "==",
        "a==b",
        "fit =5",
        "fit 5=5",
        "-- --",
        "fit --",
        "fit -- x",
        "fit ---rank=5",
        "\"\"",
        "''",
        "\"\" x",
        "fit \"rank\"=5",
        "open \"\" \"\"",
        "%s%s%n",
        "open %n",
        "set \"l\"=1",
        "fit\trank=5\t",
        "fit\vrank=5",
        "note",
        "note \"",
        "help /",
        "help \\",
        "\\",
        "\\\\",
        "l=1",
        "cols '*' role=",
        "?? ?",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct command *cmd;
        struct args *a = NULL;
        struct err err = { 0 };
        const enum status rc = command_parse(lines[i], &cmd, &a, &err);
        ck_assert((rc == ST_OK) == (a != NULL));
        ck_assert(rc == ST_OK || *err.msg);
        args_free(a);
    }
    char *longest = malloc(200001);
    memset(longest, 'a', 200000);
    longest[200000] = '\0';
    const struct command *cmd;
    struct args *a = NULL;
    struct err err = { 0 };
    ck_assert_int_eq(command_parse(longest, &cmd, &a, &err), ST_USAGE);
    ck_assert(strstr(err.msg, "too long"));
    free(longest);
}
END_TEST

/* The table. */

START_TEST(rows_are_whole)
{
    const struct command *c;

    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        struct buf usage = { 0 }, help = { 0 };
        ck_assert_msg(c->group && c->summary && c->example && c->exec, "%s", c->name);
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(strcmp(command_at(k)->name, c->name), "%s twice", c->name);
        for (size_t k = 0; k < ARGS_MAX && c->args[k].name; k++) {
            ck_assert_msg(c->args[k].help, "%s %s=", c->name, c->args[k].name);
            for (size_t q = 0; q < k; q++)
                ck_assert_msg(strcmp(c->args[k].name, c->args[q].name), "%s %s= twice", c->name,
                              c->args[k].name);
        }
        ck_assert_ptr_eq(command_find(c->name, NULL), c);
        command_usage(c, &usage);
        command_help(c, &help);
        ck_assert(!strncmp(buf_str(&usage), c->name, strlen(c->name)));
        ck_assert(strstr(buf_str(&help), c->summary));
        buf_free(&usage);
        buf_free(&help);
    }
}
END_TEST

/* Each line of an example parses, and so does each default. */
START_TEST(examples_and_defaults_parse)
{
    const struct command *c;

    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        struct statement *st;
        size_t n;
        ck_assert_int_eq(command_split(c->example, &st, &n, NULL), ST_OK);
        for (size_t k = 0; k < n; k++)
            args_free(parsed(st[k].text));
        command_statements_free(st, n);
        for (size_t k = 0; k < ARGS_MAX && c->args[k].name; k++) {
            const struct arg *a = &c->args[k];
            struct buf line = { 0 };
            if (!a->fallback || a->flags & (ARGF_REQUIRED | ARGF_REST))
                continue;
            buf_printf(&line, "%s %s=", c->name, a->name);
            command_quote(&line, a->fallback);
            const struct command *cmd;
            struct args *args = NULL;
            struct err err = { 0 };
            command_parse(buf_str(&line), &cmd, &args, &err);
            /* A required neighbour may be missing; the value itself must do. */
            ck_assert_msg(args || strstr(err.msg, " needs "), "%s: %s", buf_str(&line), err.msg);
            args_free(args);
            buf_free(&line);
        }
    }
}
END_TEST

START_TEST(options_are_whole)
{
    struct options o;
    const struct option_row *row;

    options_default(&o);
    struct options_origin *who = options_origin_new(NULL);
    for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
        struct buf value = { 0 };
        struct err err = { 0 };
        row->show(&o, &value);
        /* What is shown can be set again. */
        ck_assert_msg(option_set(&o, who, row->arg.name, buf_str(&value), BY_CONFIG, &err) == ST_OK,
                      "%s: %s", row->arg.name, err.msg);
        ck_assert_str_eq(option_origin(who, row->arg.name), "config file");
        buf_free(&value);
    }
    /* The stronger one stays. */
    ck_assert_int_eq(option_set(&o, who, "seed", "7", BY_COMMAND_LINE, NULL), ST_OK);
    ck_assert_int_eq(option_set(&o, who, "seed", "8", BY_ENV, NULL), ST_OK);
    ck_assert_uint_eq(o.seed, 7);
    ck_assert_int_eq(option_set(&o, who, "seed", "9", BY_SET, NULL), ST_OK);
    ck_assert_uint_eq(o.seed, 9);
    free(who);
}
END_TEST

/* Completion. */

static const struct { const char *line; const char *want; size_t start; } completions[] = {
    { "predict columns=row,lo", "columns=row,lo95", 8 },
    { "report plots=parity,ch", "plots=parity,check", 7 },
    { "export as=p", "as=python", 7 },
    { "su", "summary", 0 }, { "fit so", "solver=", 4 }, { "fit plan=st", "plan=store", 4 },
    { "fit kernel=mat", "kernel=matern(nu=3/2)", 4 }, { "tune len", "lengthscale=", 5 },
    { "set thr", "threads=", 4 }, { "demo fr", "demo", 0 }, { "fit solver=pc", "solver=pcg", 4 },
    { "help gra", "grammar", 5 }, { "open x; spl", "split", 8 }, { "missing med", "median", 8 },
    { "set color=al", "color=always", 4 }, { "score fo", "folds", 6 },
    { "kernel rbf*pe", "rbf*periodic", 7 }, { "fit kernel=rbf+lin", "kernel=rbf+linear", 4 },
    { "kernel conv(rb", "conv(rbf", 7 }, { "copy resi", "residual", 5 }, { "theme hi", "high", 6 },
    { "view cal", "calibration", 5 }, { "layout thr", "three", 7 },
};

START_TEST(completion_offers)
{
    size_t start;
    char **v = command_complete(NULL, completions[_i].line, strlen(completions[_i].line), &start);
    bool found = false;

    if (!strcmp(completions[_i].line, "demo fr")) { /* by the demo's own name */
        found = v[0] && !strcmp(v[0], "friedman1");
        ck_assert_uint_eq(start, 5);
    } else {
        ck_assert_uint_eq(start, completions[_i].start);
    }
    for (size_t i = 0; v[i]; i++)
        found |= !strcmp(v[i], completions[_i].want);
    ck_assert_msg(found, "%s", completions[_i].line);
    for (size_t i = 0; v[i]; i++)
        free(v[i]);
    free(v);
}
END_TEST

/* Completes a line and returns how many of the words begin with `want`; each word goes to `see`. */
static size_t complete(const char *line, const char *want, void (*see)(const char *word))
{
    size_t start, n = 0;
    char **v = command_complete(NULL, line, strlen(line), &start);

    ck_assert_ptr_nonnull(v);
    for (size_t i = 0; v[i]; i++) {
        n += strncmp(v[i], want, strlen(want)) == 0;
        if (see)
            see(v[i]);
        free(v[i]);
    }
    free(v);
    return n;
}

/* With its brackets closed, what was offered is a kernel. */
static void is_kernel(const char *word)
{
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    struct err err = { 0 };
    char text[200];
    int open = 0;

    if (word[0] && word[strlen(word) - 1] == '=') /* a value of one's own follows */
        return;
    snprintf(text, sizeof text, "%s", word);
    for (const char *s = word; *s; s++)
        open += (*s == '(') - (*s == ')');
    for (; open > 0; open--)
        strcat(text, ")");
    ck_assert_msg(kernel_parse(text, &k, hp, &err) == ST_OK, "%s: %s", text, err.msg);
}

static void is_solver(const char *word)
{
    const struct solver_ops *s;
    double v[SOLVER_MAX_PARAMS];
    char text[200];

    if (word[strlen(word) - 1] == '=') /* a value of one's own follows */
        return;
    snprintf(text, sizeof text, "%s)", word + strlen("solver="));
    ck_assert_msg(solver_parse(text, &s, v, NULL) == ST_OK, "%s", text);
}

/* In the brackets of every kernel, layer and solver: each parameter, and what the parser takes. */
START_TEST(completion_knows_what_stands_in_brackets)
{
    char line[200], want[200];

    for (size_t i = 0; kernel_at(i); i++) {
        const struct kernel_ops *k = kernel_at(i);
        snprintf(line, sizeof line, "kernel rbf * %s(", k->name);
        complete(line, "", is_kernel);
        for (const struct kparam *p = k->params; p && p->name; p++) {
            snprintf(want, sizeof want, "%s(%s=", k->name, p->name);
            ck_assert_msg(complete(line, want, NULL) > 0, "%s", want);
        }
        for (const struct hparam *h = k->hparams; h && h->name; h++) {
            const bool length = strcmp(h->name, "lengthscale") == 0;
            snprintf(want, sizeof want, "%s(%s=", k->name, length ? "l" : h->name);
            ck_assert_msg(complete(line, want, NULL) == 1, "%s", want);
            snprintf(want, sizeof want, "%s(ard", k->name);
            ck_assert_uint_eq(complete(line, want, NULL),
                              strcmp(k->hparams->name, "lengthscale") ? 0 : 2);
        }
    }
    for (size_t i = 0; layer_at(i); i++) {
        const struct layer_ops *l = layer_at(i);
        snprintf(line, sizeof line, "kernel %s", l->example);
        const bool bare = line[strlen(line) - 1] != ')'; /* an example without brackets */
        if (!bare)
            line[strlen(line) - 1] = '\0';
        snprintf(want, sizeof want, "%s", line + strlen("kernel "));
        strcat(line, bare ? "(" : ",");
        complete(line, "", is_kernel);
        for (const struct layer_setting *s = l->settings; s && s->name; s++) {
            char given[80], offered[300];
            snprintf(given, sizeof given, "%s=", s->name);
            snprintf(offered, sizeof offered, "%s%c%s", want, bare ? '(' : ',', given);
            size_t words = 0; /* graphpoly refuses one of the three of norm= */
            while (s->words && s->words[words])
                words++;
            const size_t n = complete(line, offered, NULL);
            ck_assert_msg(strstr(want, given) ? n == 0
                          : s->words          ? n == words || n + 1 == words
                                              : n == 1, "%s", offered);
        }
    }
    for (size_t i = 0; solver_at(i); i++) {
        const struct solver_ops *s = solver_at(i);
        snprintf(line, sizeof line, "fit solver=%s(", s->name);
        complete(line, "", is_solver);
        for (const struct solver_param *p = s->params; p && p->name; p++) {
            snprintf(want, sizeof want, "solver=%s(%s=", s->name, p->name);
            ck_assert_msg(complete(line, want, NULL) == 1, "%s", want);
        }
    }
    ck_assert_uint_eq(complete("kernel matern(nu=", "matern(nu=", NULL), 3);
    ck_assert_uint_eq(complete("kernel matern(nu=3/2, l=2, n", "", NULL), 0); /* given already */
    ck_assert_uint_eq(complete("kernel rbf(rb", "", NULL), 0);                /* no kernel there */
    ck_assert_uint_eq(complete("kernel conv(lin", "", NULL), 0);              /* nor every one */
    ck_assert_uint_eq(complete("kernel rbf on li", "", NULL), 0);             /* but a column */
    ck_assert_uint_eq(complete("kernel rbf on x + li", "linear", NULL), 1);
    ck_assert_uint_eq(complete("fit kernel=conv(matern(nu=5/2),av", "kernel=conv(matern(nu=5/2),av",
                               NULL), 3);
}
END_TEST

/* Every argument with a list of words, and every option: each word behind "key=". */
START_TEST(completion_offers_every_word_of_a_list)
{
    char line[200], want[200], word[64];

    for (size_t i = 0; command_at(i); i++)
        for (size_t j = 0; j < ARGS_MAX && command_at(i)->args[j].name; j++) {
            const struct arg *a = &command_at(i)->args[j];
            snprintf(line, sizeof line, "%s %s=", command_at(i)->name, a->name);
            for (size_t k = 0;
                 a->choices && command_choice(a->choices, k, word, sizeof word); k++) {
                snprintf(want, sizeof want, "%s=%s", a->name, word);
                ck_assert_msg(complete(line, want, NULL) > 0, "%s: %s", line, want);
            }
        }
    for (size_t i = 0; option_at(i); i++)
        for (size_t k = 0; option_at(i)->arg.choices &&
                           command_choice(option_at(i)->arg.choices, k, word, sizeof word); k++) {
            snprintf(line, sizeof line, "set %s=", option_at(i)->arg.name);
            snprintf(want, sizeof want, "%s=%s", option_at(i)->arg.name, word);
            ck_assert_msg(complete(line, want, NULL) > 0, "%s: %s", line, want);
        }
    for (size_t i = 0; precond_at(i); i++) {
        snprintf(want, sizeof want, "precond=%s", precond_at(i)->name);
        ck_assert_msg(complete("fit precond=", want, NULL) > 0, "%s", want);
    }
}
END_TEST

START_TEST(completion_takes_any_line)
{
    static const char *const lines[] = {"",           " ",           ";",        "\"",
                                        "fit \"",     "fit kernel=", "open ../", "open '",
                                        "nonsense x", "set ",        "\xff",     "fit solver=\""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t pos = 0; pos <= strlen(lines[i]); pos++) {
            size_t start;
            char **v = command_complete(NULL, lines[i], pos, &start);
            ck_assert_uint_le(start, pos);
            for (size_t k = 0; v && v[k]; k++)
                free(v[k]);
            free(v);
        }
}
END_TEST

/* Records. */

START_TEST(records_are_json_lines)
{
    struct rec r;
    struct buf line = { 0 };

    rec_init(&r, REC_RESULT, "fit");
    rec_str(&r, "run", "r1");
    rec_num(&r, "residual", NAN);
    rec_open(&r, "seconds");
    rec_num(&r, "total", 0.5);
    rec_close(&r);
    rec_array(&r, "rows");
    rec_item(&r);
    rec_str(&r, "a,{\"", ",[,{");
    rec_close(&r);
    rec_item(&r);
    rec_close(&r);
    rec_array_close(&r);
    rec_json_line(&r, &line);
    ck_assert_str_eq(
        buf_str(&line),
        "{\"v\":1,\"type\":\"result\",\"command\":\"fit\",\"run\":\"r1\",\"residual\":null,"
        "\"seconds\":{\"total\":0.5},\"rows\":[{\"a,{\\\"\":\",[,{\"},{}]}\n");
    rec_free(&r);
    buf_clear(&line);

    rec_init(&r, REC_ERROR, "memory");
    rec_text(&r, "too big\nby \x1b[31mfar");
    strcpy(r.hint, "fit rank=2");
    rec_json_line(&r, &line);
    ck_assert_str_eq(buf_str(&line),
                     "{\"v\":1,\"type\":\"error\",\"name\":\"memory\",\"run\":null,\"message\":"
                     "\"too big\\nby \\u001b[31mfar\",\"try\":\"fit rank=2\",\"in\":null}\n");
    buf_clear(&line);
    rec_text_lines(&r, &line);
    ck_assert_str_eq(buf_str(&line),
                     "error[memory]: too big\n  by \\x1b[31mfar\n  try  fit rank=2\n");
    rec_free(&r);
    buf_free(&line);
}
END_TEST

/* A line of a result from which memory took a part, say a name, is not printed at all; the next one
 * is. */
START_TEST(a_result_that_lost_a_part_is_not_printed)
{
    struct rec_writer w;
    struct rec r;
    struct buf line = {0};
    char said[400] = "";
    FILE *out = tmpfile();

    ck_assert_ptr_nonnull(out);
    rec_writer_init(&w, out, stderr, true, true);
    rec_init(&r, REC_RESULT, "fit");
    rec_str(&r, "run", "r1");
    err_nomem(NULL, 8, "a name");
    w.sink.take(w.sink.ctx, &r);
    rec_free(&r);
    rec_init(&r, REC_RESULT, "export"); /* for a file: no half of it is written there either */
    rec_str(&r, "program", "gpdesk");
    r.json.failed = true;
    rec_json_line(&r, &line);
    ck_assert(line.failed);
    buf_free(&line);
    rec_free(&r);
    rec_init(&r, REC_RESULT, "fit");
    rec_str(&r, "run", "r2");
    w.sink.take(w.sink.ctx, &r);
    rec_free(&r);
    rewind(out);
    ck_assert_uint_gt(fread(said, 1, sizeof said - 1, out), 0);
    ck_assert_str_eq(said, "{\"v\":1,\"type\":\"result\",\"command\":\"fit\",\"run\":\"r2\"}\n");
    rec_writer_free(&w);
    fclose(out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("command");
    TCase *t = tcase_create("command");

    app_begin();
    tcase_set_timeout(t, 60);
#define LOOP(test, table) tcase_add_loop_test(t, test, 0, (int)(sizeof table / sizeof *table))
    LOOP(text_is_cut_into_statements, splits);
    tcase_add_test(t, open_quotes_are_refused_with_their_line);
    LOOP(lines_have_a_canonical_form, good);
    int commands = 0;
    while (command_at((size_t)commands))
        commands++;
    tcase_add_loop_test(t, canonical_lines_parse_to_themselves, 0, commands);
    LOOP(refusals_name_the_cause, bad);
    tcase_add_test(t, values_have_units);
    LOOP(lists_are_expanded, lists);
    tcase_add_test(t, hyperparameter_keys);
    tcase_add_test(t, quoting_comes_back);
    tcase_add_test(t, hostile_lines_end);
    tcase_add_test(t, rows_are_whole);
    tcase_add_test(t, examples_and_defaults_parse);
    tcase_add_test(t, options_are_whole);
    LOOP(completion_offers, completions);
    tcase_add_test(t, completion_knows_what_stands_in_brackets);
    tcase_add_test(t, completion_offers_every_word_of_a_list);
    tcase_add_test(t, completion_takes_any_line);
    tcase_add_test(t, records_are_json_lines);
    tcase_add_test(t, a_result_that_lost_a_part_is_not_printed);
    suite_add_tcase(s, t);
    return support_run(s);
}
