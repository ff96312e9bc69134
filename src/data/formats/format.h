/* data/formats/format.h -- the formats of table files. A format is one file that ends with one row;
 * this list names it, and import.c goes over the list. */
#ifndef GPDESK_FORMAT_H
#define GPDESK_FORMAT_H

#include "data/import_option.h"
#include "data/formats/import.h"

struct format {
    const char *name; /* as help lists it */
    /* True if a file with this beginning has the format. NULL: any text that no other format
     * accepts. */
    bool (*sniff)(const struct inbuf *);
    /* Reads the file from the window, which contains its first bytes. */
    enum status (*read)(struct inbuf *, const struct import_opts *, const struct ctl *,
                        struct table *, struct err *);
    /* For formats of several files instead: *out stays NULL if the path does not name such a
     * set. */
    enum status (*read_set)(const char *path, const struct import_opts *, const struct ctl *,
                            struct table **out, struct err *);
    const char *records; /* what the decisions say of a table of named records, to which targets=
                          * joins another table; NULL: it has none */
    bool text; /* parsing takes time, so the table is worth caching (cache.h) */
    const struct import_option *options; /* ends with an entry whose name is NULL; NULL: none */
};

/* One line for each format, in the order in which they examine a file. CSV takes what is left. */
#define FORMAT_ROWS(X)     \
    X(npy_set_format)      \
    X(import_npy_format)   \
    X(import_hdf5_format)  \
    X(import_fasta_format) \
    X(import_sqlite_format) \
    X(import_arff_format)  \
    X(import_smi_format)   \
    X(import_csv_format)
#define FORMAT_DECLARE(name) extern const struct format name;
FORMAT_ROWS(FORMAT_DECLARE)
#undef FORMAT_DECLARE

const struct format *format_at(size_t i); /* NULL if i is past the end */
/* The format of a file whose first bytes are in the window. FORMAT if it has none; the error names
 * well-known kinds of files and says what to do. */
enum status format_find(const struct inbuf *, const struct format **, struct err *);
/* The format of named records that a table was read from; NULL: of another. */
const struct format *format_of_records(const struct table *);
/* Writes the values of all options of text formats, to find a table that was read before. */
void format_text_words(const struct import_opts *, struct buf *);

#endif
