/* data/formats/format.h -- the formats of table files.  A format is one file that ends in one row;
 * this list names it, and import.c goes over the list. */
#ifndef GPDESK_FORMAT_H
#define GPDESK_FORMAT_H

#include "data/import_option.h"
#include "data/formats/import.h"

struct format {
    const char *name; /* as help lists it */
    /* Does a file that begins so have this format?  NULL: any text that is no other's. */
    bool (*sniff)(const struct inbuf *);
    /* Reads it from the window, which holds the first bytes. */
    enum status (*read)(struct inbuf *, const struct import_opts *, const struct ctl *,
                        struct table *, struct err *);
    /* Formats of several files instead: *out stays NULL where the path means no such set. */
    enum status (*read_set)(const char *path, const struct import_opts *, const struct ctl *,
                            struct table **out, struct err *);
    const char *records; /* what the decisions say of a table of named records, to which targets=
                          * joins another table; NULL: it has none */
    bool text; /* parsing it takes time: the table is worth keeping (cache.h) */
    const struct import_option *options; /* ends at .name == NULL; NULL: it has none */
};

/* One line for each format, in the order in which they look at a file; CSV takes what is left. */
#define FORMAT_ROWS(X)     \
    X(npy_set_format)      \
    X(import_npy_format)   \
    X(import_hdf5_format)  \
    X(import_fasta_format) \
    X(import_csv_format)
#define FORMAT_DECLARE(name) extern const struct format name;
FORMAT_ROWS(FORMAT_DECLARE)
#undef FORMAT_DECLARE

const struct format *format_at(size_t i); /* NULL past the end */
/* The format of a file, of which the window holds the first bytes; FORMAT: of none, with its name
 * where it is a well-known one and a way out. */
enum status format_find(const struct inbuf *, const struct format **, struct err *);
/* The format of named records that a table was read from; NULL: of another. */
const struct format *format_of_records(const struct table *);
/* The values of all options of text formats, for finding a table that was read before. */
void format_text_words(const struct import_opts *, struct buf *);

#endif
