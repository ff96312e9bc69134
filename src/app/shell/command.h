/* app/shell/command.h -- the table of commands. Parsing, usage, completion, help, dry runs and the
 * manual all use these rows. */
#ifndef GPDESK_COMMAND_H
#define GPDESK_COMMAND_H

#include "app/shell/rec.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum arg_type {
    ARG_WORD, ARG_TEXT, ARG_FILE, ARG_OUT, ARG_INT, ARG_REAL, ARG_BYTES, ARG_SHARE, ARG_BOOL,
    ARG_CHOICE,  /* one of arg.choices, which are separated by | */
    ARG_BOUND,   /* a number (fixed) or an interval a..b */
    ARG_INTS,    /* n | a,b,c | a..b | a..b/step | a..b*2 */
    ARG_SECONDS, /* 30s, 5m, 2h, or plain seconds */
    ARG_KERNEL,  /* may have blanks around + and * */
    ARG_DATASET, ARG_RUN, ARG_COLUMN, ARG_PLOT, ARG_COMMAND, ARG_OPTION, ARG_JOB,
    /* Words whose command says which there are; words.h has a row of those to offer. */
    ARG_SOLVER, ARG_SELECT, ARG_PRECOND, ARG_SKETCH, ARG_TUNER, ARG_DEMO, ARG_SETTING, ARG_THEME,
    ARG_TOPIC, ARG_COPIED, ARG_PREDICTED, ARG_PLOTS,
    ARG_EXPR,    /* an expression over columns (data/expr.h) */
    ARG_LISTED, /* of no argument: a list that only help reads */
};
enum { ARGF_POS = 1,      /* may be given without its name, in table order */
       ARGF_REQUIRED = 2,
       ARGF_MANY = 4,     /* positional: takes all remaining words */
       ARGF_REST = 8,     /* positional: takes the rest of the line unchanged (notes) */
       ARGF_RUN = 16,     /* a file, or a run: a file of that name is ./r2 */
       /* with ARGF_MANY: takes every key=value whose key is no argument of the command, as one
        * word; bare words are not for it */
       ARGF_PAIRS = 32 };
struct arg {
    const char *name; enum arg_type type; unsigned flags;
    const char *fallback;          /* the default, which help shows; NULL: none */
    double lo, hi;          /* range of numbers (both 0: any); ARG_BYTES in bytes, ARG_SHARE 0..1 */
    const char *choices, *unit;
    const char *help;              /* "{solvers}": words_expand writes the names there are */
};
enum { ARGS_MAX = 40 };

/* Parsed and checked arguments: immutable, with counted references. */
struct args;
struct args *args_ref(const struct args *);
void args_free(struct args *);                              /* drops a reference; NULL is allowed */
struct command;
bool args_given(const struct args *, const char *name);          /* true if the user typed it */
const char *args_text(const struct args *, const char *name);    /* value or default; NULL: none */
double args_num(const struct args *, const char *name);          /* NaN if absent */
long args_int(const struct args *, const char *name, long absent);
bool args_bool(const struct args *, const char *name);
/* False if absent. */
bool args_bound(const struct args *, const char *name, double *lo, double *hi);
/* For ARG_INTS. The caller frees *out. */
enum status args_ints(const struct args *, const char *name, size_t **out, size_t *n, struct err *);
size_t args_many(const struct args *, const char *name);         /* for ARGF_MANY: how many words */
const char *args_many_at(const struct args *, const char *name, size_t i);
/* Keys that are not in the table: hyperparameters and bounds (CMD_HP_KEYS), such as l= and
 * noise=. */
size_t args_hp(const struct args *);
/* The i-th such key by its canonical name ("lengthscale", "2.lengthscale", "noise"). A single value
 * has lo == hi; l.min= has hi NaN, and l.max= has lo NaN. */
const char *args_hp_at(const struct args *, size_t i, double *lo, double *hi);
/* The values of that key: a list as in l=0.5,0.6,2 (of which args_hp_at gives the first), one, or 0
 * of an interval; lent.  And the text that was typed. */
size_t args_hp_list(const struct args *, size_t i, const double **value);
const char *args_hp_text(const struct args *, size_t i);
/* Keys that name options (CMD_OPTION_KEYS), as in `set threads=2`. */
size_t args_opts(const struct args *);
const char *args_opt_at(const struct args *, size_t i, const char **value);
bool args_any(const struct args *); /* true if any argument was given */
const char *args_line(const struct args *); /* the canonical line, for log and script */

enum {
    CMD_JOB = 1, /* long: runs in the background (a batch waits for it) */
    CMD_NEEDS_DATA = 2,
    CMD_NEEDS_MODEL = 4,
    CMD_CHANGES = 8,      /* changes the state of the workspace, so it goes into the script */
    CMD_HP_KEYS = 16,     /* accepts hyperparameter keys */
    CMD_OPTION_KEYS = 32, /* accepts option names as keys */
    CMD_SETS = 64,     /* with CMD_JOB: its outcome changes what later commands mean (open, tune) */
    CMD_BARRIER = 128, /* waits its turn like a job (wait) */
    CMD_ANYTIME = 256, /* with CMD_CHANGES: allowed while an earlier state is shown */
    CMD_DRY = 512,     /* executed by a dry run too: it reads, prepares, sets, or plans its job */
};
struct workspace;
struct command {
    const char *name, *group, *summary, *example; /* the example runs on bundled data */
    struct arg args[ARGS_MAX];                    /* ends with an entry whose name is NULL */
    unsigned flags;
    enum status (*exec)(struct workspace *, const struct args *, struct err *);
    const char *more;                             /* further help, a paragraph or two; NULL: none */
};
/* Sets the table: a list of arrays of rows that ends in NULL and must live as long as the process.
 * It comes from the top layer (app/commands/app.c); the shell knows no command by name. */
void command_use(const struct command *const *tables);
const struct command *command_at(size_t i);
/* Finds a command by its exact name or a unique prefix. NOT_FOUND suggests the nearest three;
 * AMBIGUOUS lists the candidates. */
const struct command *command_find(const char *word, struct err *err);
void command_usage(const struct command *, struct buf *out);   /* generated from args */
void command_help(const struct command *, struct buf *out);    /* usage, examples, options, more */

/* A text may hold several commands separated by ; or line ends -- split into statements (quotes
 * respected, # comments dropped, a backslash at the end continues a line). */
struct statement { char *text; size_t line; /* from 1 */ };
enum status command_split(const char *text, struct statement **out, size_t *n, struct err *err);
void command_statements_free(struct statement *, size_t n);
/* Parses one statement. Free *args with args_free. There are no side effects, so that `-n` and the
 * check of a whole script use it. `verb ?` and `verb --help` parse as `help verb`. */
enum status command_parse(const char *statement, const struct command **cmd, struct args **args,
                          struct err *err);
/* Appends a value as it must be written in a line: bare, or quoted with escapes. */
void command_quote(struct buf *out, const char *value);
/* Parses a number with its unit, as arguments and options do. USAGE and RANGE name the argument. */
enum status command_number(const struct arg *, const char *text, double *out, struct err *err);
/* Copies the i-th word of a choice list "a|b|c" to out. Returns false if i is past the end. */
bool command_choice(const char *choices, size_t i, char *out, size_t len);
/* Writes the three names nearest to `word` as "a, b or c". Returns false if none is near. */
bool command_nearest(const char *word, const char *const *names, size_t n, char *out, size_t len);
/* Completions of the word that ends at byte `pos` of line: a sorted NULL-terminated array of whole
 * words. *start is the first byte of the word. The caller frees the array and its strings. ws may
 * be NULL. */
char **command_complete(struct workspace *ws, const char *line, size_t pos, size_t *start);

#endif
