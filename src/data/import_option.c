/* data/import_option.c -- see import_option.h. */
#include "data/import_option.h"

#include "data/beside.h"
#include "data/join.h"
#include "data/formats/format.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

/* Inserts a list of options, which ends with an entry whose name is NULL, in their positions. */
static size_t take(const struct import_option *from, const struct import_option **list, size_t n)
{
    for (; from != NULL && from->name != NULL && n < MOST; from++, n++) {
        size_t k = n;
        for (; k > 0 && list[k - 1]->place > from->place; k--)
            list[k] = list[k - 1];
        list[k] = from;
    }
    return n;
}

const struct import_option *import_option_at(size_t i)
{
    const struct import_option *list[MOST];
    size_t n = 0;

    for (size_t k = 0; format_at(k) != NULL; k++)
        n = take(format_at(k)->options, list, n);
    for (size_t k = 0; kind_at(k) != NULL; k++)
        n = take(kind_at(k)->options, list, n);
    n = take(join_options, list, n);
    n = take(smiles_options, list, n);
    n = take(beside_options, list, n);
    return i < n ? list[i] : NULL;
}

/* A character, or its name; '\0' if it is neither. */
static char mark(const char *s)
{
    static const struct {
        const char *word;
        char c;
    } words[] = { { "tab", '\t' },  { "\\t", '\t' },      { "space", ' ' },
                  { "comma", ',' }, { "semicolon", ';' }, { "point", '.' } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(s, words[i].word) == 0)
            return words[i].c;
    return s[0] != '\0' && s[1] == '\0' ? s[0] : '\0';
}

static enum status bad_mark(const struct import_option *o, const char *words, struct err *err)
{
    return err_set(err, ST_USAGE, "%s=%.20s: %s", o->name, words, o->expected);
}

static enum status set_own(struct import_opts *opts, const struct import_option *o,
                           const char *words, struct err *err)
{
    for (size_t i = 0; i < IMPORT_OWN_MOST; i++)
        if (opts->own[i].name == NULL) {
            opts->own[i] = (struct import_own){ o->name, words };
            return ST_OK;
        }
    return err_set(err, ST_USAGE, "%s=: there are too many options", o->name);
}

enum status import_option_set(struct import_opts *opts, const struct import_option *o,
                              const char *words, struct err *err)
{
    void *field = (char *)opts + (o->field == IMPORT_OWN ? 0 : o->field);

    if (o->field == IMPORT_OWN)
        return set_own(opts, o, words, err);
    if (o->type == IMPORT_SWITCH) {
        *(int *)field = strcmp(words, "yes") == 0;
        return ST_OK;
    }
    if (o->type == IMPORT_COUNT) {
        char *end;
        const unsigned long n = strtoul(words, &end, 10);
        *(size_t *)field = n;
        return *words >= '0' && *words <= '9' && *end == '\0' && n <= IMPORT_COUNT_MOST
                   ? ST_OK
                   : bad_mark(o, words, err);
    }
    if (o->type != IMPORT_MARK) {
        *(const char **)field = words;
        return ST_OK;
    }
    const char c = *(char *)field = mark(words);
    const bool taken = o->field == offsetof(struct import_opts, thousands) && c == opts->decimal;
    return c != '\0' && !taken && (o->marks == NULL || strchr(o->marks, c) != NULL)
               ? ST_OK
               : bad_mark(o, words, err);
}

struct import_opts import_option_text(const struct import_opts *opts)
{
    struct import_opts text = { .header = opts->header,
                                .sep = opts->sep,
                                .decimal = opts->decimal,
                                .thousands = opts->thousands,
                                .missing = opts->missing,
                                .dates = opts->dates,
                                .types = opts->types,
                                .mem_limit = opts->mem_limit };
    size_t n = 0;

    for (size_t i = 0; i < IMPORT_OWN_MOST && opts->own[i].name != NULL; i++)
        for (size_t k = 0; import_option_at(k) != NULL; k++)
            if (strcmp(import_option_at(k)->name, opts->own[i].name) == 0 &&
                import_option_at(k)->flags & IMPORT_PARSES)
                text.own[n++] = opts->own[i];
    return text;
}
