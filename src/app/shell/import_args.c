/* app/shell/import_args.c -- see import_args.h. */
#include "app/shell/import_args.h"

#include <string.h>

static char separator(const char *s)
{
    static const struct {
        const char *word;
        char c;
    } words[] = { { "tab", '\t' },  { "\\t", '\t' },      { "space", ' ' },
                  { "comma", ',' }, { "semicolon", ';' }, { "point", '.' } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(s, words[i].word) == 0)
            return words[i].c;
    return s[0] && !s[1] ? s[0] : '\0';
}

enum status import_args_options(const struct args *a, size_t mem_limit, struct import_opts *out,
                            struct err *err)
{
    const char *sep = args_text(a, "sep"), *decimal = args_text(a, "decimal");
    const char *thousands = args_text(a, "thousands");

    *out = (struct import_opts){.header = args_text(a, "header") ? args_bool(a, "header") : -1,
                                .missing = args_text(a, "missing"),
                                .types = args_text(a, "types"),
                                .target = args_text(a, "target"),
                                .inputs = args_text(a, "inputs"),
                                .targets = args_text(a, "targets"),
                                .graph = args_text(a, "graph"),
                                .describe = args_text(a, "describe"),
                                .lengths = args_text(a, "lengths"),
                                .window = args_text(a, "window"),
                                .unknown = args_text(a, "unknown"),
                                .twice = args_text(a, "twice"),
                                .unmatched = args_text(a, "unmatched"),
                                .mem_limit = mem_limit};
    if (sep && !(out->sep = separator(sep)))
        return err_set(err, ST_USAGE,
                       "sep=%.20s: say one character, or tab, space, comma, semicolon", sep);
    if (decimal)
        out->decimal = separator(decimal);
    if (decimal && out->decimal != '.' && out->decimal != ',')
        return err_set(err, ST_USAGE, "decimal=%.20s: say . or , (or point, comma)", decimal);
    if (thousands)
        out->thousands = separator(thousands);
    if (thousands &&
        (!out->thousands || !strchr(".,'_ ", out->thousands) || out->thousands == out->decimal))
        return err_set(err, ST_USAGE,
                       "thousands=%.20s: say point, comma, space or ', and not what decimal= is",
                       thousands);
    return ST_OK;
}
