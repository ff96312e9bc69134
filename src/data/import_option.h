/* data/import_option.h -- options of reading a file, such as sep= or graph=. Each is defined once,
 * in the row of the format or kind of rows that reads it. Rows of commands, arguments, sessions and
 * the cache are made from these. */
#ifndef GPDESK_IMPORT_OPTION_H
#define GPDESK_IMPORT_OPTION_H

#include "data/table.h"

enum import_option_type {
    IMPORT_WORD,   /* no blanks */
    IMPORT_TEXT,
    IMPORT_PATH,   /* of a file */
    IMPORT_CHOICE, /* one of `choices` */
    IMPORT_SWITCH, /* -1, 0, 1 */
    IMPORT_COUNT,  /* a whole number */
    IMPORT_MARK,   /* one character or its name: comma, tab; `choices` NULL: any */
};
enum {
    IMPORT_CELLS = 1,    /* says how cells are read, not what rows are: listed after the roles */
    IMPORT_NEW_DATA = 2, /* also allowed where a fitted model reads a file (predict) */
    /* Says how text becomes cells: it applies to other tables beside the data, too, and the cache
     * keeps a table for each value. */
    IMPORT_PARSES = 4,
};
enum { IMPORT_COUNT_MOST = 1000000 };
struct import_option {
    const char *name;
    enum import_option_type type;
    unsigned flags;
    int place;            /* position in lists of options and canonical lines: lower ones first */
    const char *choices;  /* "keep|missing|stop" */
    const char *marks;    /* IMPORT_MARK: the characters that are allowed; NULL: any */
    const char *expected; /* IMPORT_MARK, IMPORT_COUNT: for the message */
    size_t field;   /* offset in struct import_opts; IMPORT_OWN: read it with import_option_own() */
    const char *help;
};
/* An option that belongs to one format needs no field of struct import_opts. */
#define IMPORT_OWN ((size_t)-1)

/* All options in their order; NULL if i is past the end. */
const struct import_option *import_option_at(size_t i);
/* Sets an option from its words, which must outlive opts. Call it in the order of the list, so that
 * marks that exclude each other are detected. USAGE if there is no such mark, or there are too many
 * IMPORT_OWN options. */
enum status import_option_set(struct import_opts *opts, const struct import_option *,
                              const char *words, struct err *err);
/* A copy with only the options that say how text becomes cells, for a second file. */
struct import_opts import_option_text(const struct import_opts *);

#endif
