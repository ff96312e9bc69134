/* app/shell/words.h -- names in command lines: those of the registries below (registry_words.h),
 * and those that only higher folders know: datasets, runs, columns, plots.  The parser, completion
 * and help use these rows, which main passes down. */
#ifndef GPDESK_WORDS_H
#define GPDESK_WORDS_H

#include "app/shell/command.h"

struct words_row {
    enum arg_type type; /* of arguments that take these names; ARG_LISTED: of none */
    const char *name;   /* "{solvers}" in the help of a command stands for all of them; or NULL */
    /* The i-th existing name; NULL if i is past the end. The workspace may be NULL. */
    const char *(*at)(struct workspace *, size_t i);
    const char *behind; /* a name may stand behind one of these characters; NULL: only alone */
    /* The i-th text that may stand in brackets behind a name, "nu=5/2", or "step=" if a value of
     * one's own follows; valid until the next call. NULL: there is none. */
    const char *(*inside)(const char *name, size_t i);
    /* True if a name may stand first in the brackets behind `outer`; NULL: never. */
    bool (*fits)(const char *outer, const char *name);
    bool quoted; /* names come from outside and may need quotes */
    /* Checks a name; the message says what was expected.  NULL: the parser accepts any word. */
    enum status (*check)(const char *name, struct err *);
    /* A line about a name, and its help page (false if there is no such name). NULL: there are
     * none. */
    const char *(*about)(const char *name);
    bool (*page)(const char *name, struct buf *out);
};
/* Sets the rows: a list that ends in NULL and must live as long as the process. */
void words_use(const struct words_row *const *rows);
/* The row of a type; NULL if there is none. */
const struct words_row *words_of(enum arg_type);
/* Writes a text of help with the names of a row, separated by commas, for each "{NAME}" in it. */
void words_expand(const char *text, struct buf *out);

#endif
