/* app/shell/import_args.c -- see import_args.h. */
#include "app/shell/import_args.h"

#include "data/import_option.h"
#include "data/kinds/kind.h"

#include <string.h>

/* The argument of a command that corresponds to an option. */
static struct arg arg_of(const struct import_option *o)
{
    static const enum arg_type types[] = {
        [IMPORT_WORD] = ARG_WORD,     [IMPORT_TEXT] = ARG_TEXT,   [IMPORT_PATH] = ARG_FILE,
        [IMPORT_CHOICE] = ARG_CHOICE, [IMPORT_SWITCH] = ARG_BOOL, [IMPORT_MARK] = ARG_WORD,
        [IMPORT_COUNT] = ARG_WORD,
    };

    return (struct arg){ .name = o->name,
                         .type = o->choices ? ARG_CHOICE : types[o->type],
                         .choices = o->choices,
                         .help = o->help };
}

/* Replaces the placeholder at[k] among n arguments. Returns the new number of arguments. */
static size_t expand(struct arg at[ARGS_MAX], size_t n, size_t k)
{
    const bool cells = !strcmp(at[k].name, "@cells"), fresh = at[k].hi != 0;
    const struct import_option *o;

    memmove(&at[k], &at[k + 1], (n - k - 1) * sizeof *at);
    n--;
    for (size_t i = 0; (o = import_option_at(i)) != NULL && n < ARGS_MAX; i++) {
        if (!(o->flags & IMPORT_CELLS) == cells || (fresh && !(o->flags & IMPORT_NEW_DATA)))
            continue;
        memmove(&at[k + 1], &at[k], (n - k) * sizeof *at);
        at[k++] = arg_of(o);
        n++;
    }
    if (n < ARGS_MAX)
        at[n] = (struct arg){ .name = NULL };
    return n;
}

void import_args_expand(struct command *rows)
{
    for (struct command *c = rows; c->name; c++) {
        size_t n = 0;
        while (n < ARGS_MAX && c->args[n].name)
            n++;
        for (size_t k = 0; k < n; k++) {
            if (*c->args[k].name == '@')
                n = expand(c->args, n, k);
            if (c->args[k].choices && !strcmp(c->args[k].choices, IMPORT_ARGS_TYPES))
                c->args[k].choices = kind_type_choices();
        }
    }
}

bool import_args_skips_lines(const struct args *a)
{
    const char *skip = args_text(a, "skip");

    return skip && *skip && strspn(skip, "0123456789") == strlen(skip);
}

enum status import_args_options(const struct args *a, size_t mem_limit, struct import_opts *out,
                                struct err *err)
{
    const struct import_option *o;
    enum status rc = ST_OK;

    *out = (struct import_opts){
        .header = -1, .target = args_text(a, "target"), .mem_limit = mem_limit};
    for (size_t i = 0; rc == ST_OK && (o = import_option_at(i)) != NULL; i++) {
        const char *words = args_text(a, o->name);
        if (!words && o->type == IMPORT_COUNT && import_args_skips_lines(a))
            words = args_text(a, "skip");
        if (words && o->type == IMPORT_SWITCH)
            words = args_bool(a, o->name) ? "yes" : "no";
        if (words)
            rc = import_option_set(out, o, words, err);
    }
    return rc;
}
