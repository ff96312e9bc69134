/* data/import_option.h -- options of reading a file, such as sep= or graph=.  Each stands once, in
 * the row of the format or kind of rows that reads it; command rows, arguments, sessions and the
 * cache are made from there. */
#ifndef GPDESK_IMPORT_OPTION_H
#define GPDESK_IMPORT_OPTION_H

#include "data/table.h"

enum import_option_type {
    IMPORT_WORD,   /* without blanks */
    IMPORT_TEXT,
    IMPORT_PATH,   /* of a file */
    IMPORT_CHOICE, /* one of `choices` */
    IMPORT_SWITCH, /* -1, 0, 1 */
    IMPORT_MARK,   /* one character, or its name: comma, tab; `choices` NULL: any */
};
enum {
    IMPORT_CELLS = 1,    /* how cells are read, not what rows are: listed behind the roles */
    IMPORT_NEW_DATA = 2, /* also where a fitted model reads a file (predict) */
    IMPORT_PARSES = 4,   /* how text becomes cells: other tables beside the data are read so, too,
                          * and the cache keeps a table for each value */
};
struct import_option {
    const char *name;
    enum import_option_type type;
    unsigned flags;
    int place;            /* in lists of options and canonical lines: lower ones first */
    const char *choices;  /* "keep|missing|stop" */
    const char *marks;    /* IMPORT_MARK: the characters that it may be; NULL: any */
    const char *expected; /* IMPORT_MARK: what to say instead, for the message */
    size_t field;         /* in struct import_opts; IMPORT_OWN: import_option_own() tells it */
    const char *help;
};
/* An option for one format alone needs no field of struct import_opts. */
#define IMPORT_OWN ((size_t)-1)

/* All options in their order; NULL past the end. */
const struct import_option *import_option_at(size_t i);
/* Sets an option from its words, which must outlive opts; in the order of the list, so that marks
 * that exclude each other are seen.  USAGE: no such mark, or too many of IMPORT_OWN. */
enum status import_option_set(struct import_opts *opts, const struct import_option *,
                              const char *words, struct err *err);
/* Only what says how text becomes cells, for a second file. */
struct import_opts import_option_text(const struct import_opts *);

#endif
