/* data/kinds/kind.h -- kinds of rows: what the cells of a column can be, and how they are read,
 * encoded, stored and put into words.  A kind is one file with one row; this list names it. */
#ifndef GPDESK_KIND_H
#define GPDESK_KIND_H

#include "data/encoding.h"
#include "data/import_option.h"
#include "data/table.h"

struct encode_group;
struct json_reader;
struct encoding_fitting;

/* What an encoding finds in a cell of the data that it is applied to. */
enum cell_state {
    CELL_THERE,
    CELL_MISSING,
    CELL_UNSEEN, /* a level that no training row has */
    CELL_SHORT,  /* too few positions for a window, or none */
};

struct row_kind {
    const char *name;             /* "letters" */
    const char *whole, *part;     /* one cell and what it is made of: "sequence", "letter" */
    const struct cell_ops *cells; /* of its columns; NULL: numbers and categories */
    bool shorter_width; /* a kernel with a narrower window is the way out for rows too short */

    const struct import_option *options; /* of reading; ends at .name == NULL; NULL: none */
    /* Reading; a kind whose columns are not made from words has NULL for all of these. */
    const char *type; /* what types= calls a column of it: "sequence" */
    /* Is column j, of words, one of this kind, by its name and cells? */
    bool (*guess)(const struct table *, size_t j);
    /* Is column j, which is to be of this type, of this kind rather than of the next? */
    bool (*claims)(const struct table *, size_t j);
    /* Makes such a column from the words of column j, without a name.  FORMAT with the row. */
    enum status (*make)(const struct table *, size_t j, struct column *to, struct err *);
    /* What a column is, in one line or two of notes. */
    void (*note)(const struct table *, const struct column *, struct buf *notes);
    /* A warning about a column that is nearly one; NULL: none. */
    void (*near_miss)(const struct table *, size_t j, struct buf *notes);
    /* What the options of this kind do to a table just read (graph=, window=), before columns are
     * looked for; it may replace the table. */
    enum status (*gather)(struct table **, const struct import_opts *, const struct ctl *,
                          struct err *);
    /* The same behind that (unknown=). */
    enum status (*finish)(struct table *, const struct import_opts *, struct err *);

    /* Fitting an encoding.  Adds the columns that kernels of columns read. */
    enum status (*fit)(struct encoding_fitting *, const struct column *);
    /* Kinds with positions (positions.h); NULL: it has none.  What stands at a position: the
     * alphabet and its numbers, or the numbers of nodes. */
    enum status (*fit_positions)(struct encoding_fitting *, const struct column *);
    /* Writes a row as windows and filters read it: source.h.  from: encode_group.from or NULL. */
    void (*positions)(const struct enc_sequence *, const struct column *, const uint8_t code[256],
                      const size_t *from, size_t row, size_t room, double *x);

    /* Applying it.  Do columns of an encoding come from this kind?  windows: the row behind them */
    bool (*encodes)(const struct encoding *, enum enc_kind, bool windows);
    /* Finds in the table's column what the group's columns read.  STATE: it is not there. */
    enum status (*map)(const struct encoding *, const struct table *, struct encode_group *,
                       struct err *);
    enum cell_state (*judge)(const struct encoding *, const struct encode_group *, size_t row);
    /* The group's columns of a row, x being the whole row; not called for windows and filters. */
    void (*encode)(const struct encoding *, const struct encode_group *, size_t row, double *x,
                   size_t *cut);
    /* Counts rows that training could not tell apart (encoded.strange); NULL: there are none. */
    enum status (*count_strange)(const struct encoding *, const struct encode_group *,
                                 struct encoded *, struct err *);

    /* Storage: the members ,"key":value of the object "sequence" that are this kind's, and one of
     * them read back; *mine false: it is none.  NULL: it has none.  FORMAT. */
    void (*write)(struct buf *, const struct enc_sequence *);
    enum status (*member)(struct json_reader *, const char *key, struct enc_sequence *,
                          bool *mine);

    /* Wording.  What an input of this kind is, as `open` tells it; NULL: numbers and categories are
     * counted. */
    void (*words)(const struct column *, struct buf *);
    /* What its cells measure, for the view of the data. */
    void (*measure)(const struct column *, struct buf *);
};

/* One line for each kind.  The order is the one in which they look at a column of words. */
#define KIND_ROWS(X) X(kind_nodes) X(kind_letters) X(kind_columns)
#define KIND_DECLARE(name) extern const struct row_kind name;
KIND_ROWS(KIND_DECLARE)
#undef KIND_DECLARE

const struct row_kind *kind_at(size_t i); /* NULL past the end */
const struct row_kind *kind_of(const struct column *);

/* The words of column j as the type that types= calls `sequence`: into a column without a name. */
enum status kind_make(const struct table *, size_t j, struct column *to, struct err *);
/* Turns the columns that are of some kind, or said to be (types: "a=sequence,b=text"), into such,
 * and tells of each in the table's notes. */
enum status kind_find_columns(struct table *, const char *types, struct err *);
/* What the options of all kinds do, in their order. */
enum status kind_gather(struct table **, const struct import_opts *, const struct ctl *,
                        struct err *);
enum status kind_finish(struct table *, const struct import_opts *, struct err *);

#endif
