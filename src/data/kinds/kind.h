/* data/kinds/kind.h -- kinds of rows: what the cells of a column can be, and how they are read,
 * kept, encoded, stored and described. A kind is one file with one row; the list below names it.
 * What only one kind knows is behind pointers that no other code dereferences: the cells of a
 * column (column.held), what an encoding keeps about it (enc_held.state), and what is prepared when
 * an encoding is applied (encode_group.map). */
#ifndef GPDESK_KIND_H
#define GPDESK_KIND_H

#include "data/dataset.h"
#include "data/encode_group.h"
#include "data/import_option.h"
#include "data/table.h"

struct json_reader;
struct encoding_fitting;
struct distance_ops;

/* What an encoding finds in a cell of the data that it is applied to. */
enum cell_state {
    CELL_THERE,
    CELL_MISSING,
    CELL_UNSEEN, /* a level that no training row has */
    CELL_SHORT,  /* too few positions for a window, or none */
};

/* Numbers that an encoding makes from such cells (ENC_CELL), with their names in sessions. */
struct kind_number {
    const char *word; /* "letter" */
    /* They take far more room than the cells, so they are recomputed when many rows are needed. */
    bool anew;
};

enum { KIND_SHARES_MOST = 256, KIND_CHOICES_MOST = 257 };
/* A cell with one part changed. */
struct row_variants {
    size_t positions, choices;
    /* Letters that may replace one at a position; the last means none; */
    char choice[KIND_CHOICES_MOST];
    bool leaves_out;                /* or, as the only choice, the part is left out */
    const char *part;               /* what is left out; NULL: the kind's own part */
    char *names;                    /* of the parts, one a line; NULL: they have numbers. The caller
                                     * frees them */
};

struct row_kind {
    const char *name;             /* "letters" */
    const char *whole, *part;     /* a cell and what it consists of: "sequence", "letter" */
    const char *several;          /* several cells: "sequences" */
    const struct cell_ops *cells; /* operations of its columns; NULL: numbers and categories */
    unsigned rows;      /* ROWS_...: how kernels and layers can read it (layer.h) */
    bool spelled;       /* a cell is a word with a letter for each position */
    bool sole;          /* such a column is the only input until `cols` says otherwise */
    bool meek;          /* unless a column of another such kind is there */
    bool hollow;        /* a cell without parts is no missing one */
    bool shorter_width; /* if rows are too short, a kernel with a narrower window helps */

    /* Reading. */
    const struct import_option *options; /* ends with an entry whose name is NULL; NULL: none */
    /* For a kind whose columns are not made from words, all of these are NULL. */
    /* True if column j of words is of this kind, by its name and cells. NULL: only types= says
     * so. */
    bool (*guess)(const struct table *, size_t j);
    /* True if column j, which has this type, is of this kind rather than of the next one. */
    bool (*claims)(const struct table *, size_t j);
    /* Makes such a column, without a name, from the words of column j. FORMAT names the row. */
    enum status (*make)(const struct table *, size_t j, struct column *to, struct err *);
    /* Does the same with words of new data that were not recognised as this kind; NULL: STATE. */
    enum status (*adopt)(const struct table *, size_t j, struct column *to, struct err *);
    /* Describes a column in one or two lines of notes. */
    void (*note)(const struct table *, const struct column *, struct buf *notes);
    /* For a column that `open` has just read and that is to be an input: writes the steps
     * (prepare.h) that it goes through next, and notes. NULL: none. */
    void (*opened)(const struct table *, const struct column *, struct buf *steps,
                   struct buf *notes);
    /* Warns about a column that is almost of this kind; NULL: never. */
    void (*near_miss)(const struct table *, size_t j, struct buf *notes);
    /* Applies the options of this kind to a table just read (graph=, window=), before columns are
     * recognised. It may replace the table. */
    enum status (*gather)(struct table **, const struct import_opts *, const struct ctl *,
                          struct err *);
    /* Applies further options afterwards (unknown=). */
    enum status (*finish)(struct table *, const struct import_opts *, struct err *);

    /* Fitting an encoding. Adds the columns that kernels of columns read. */
    enum status (*fit)(struct encoding_fitting *, const struct column *);
    /* Their sorts, by enc_col.number; ends with an entry whose word is NULL. */
    const struct kind_number *numbers;
    bool stateless; /* they need no state */
    /* Checks that these cells can be encoded as `cols encoding=WORD` says. STATE, LIMIT, NOT_FOUND.
     * NULL: there is no choice. */
    enum status (*coding)(const struct column *, const char *word, struct err *);
    /* The size of what an encoding keeps about a column (enc_held.state), initially all zero, and
     * of what it points to. 0: nothing. */
    size_t state_bytes;
    void (*state_free)(void *state);
    enum status (*state_copy)(void *to, const void *from, struct err *);

    /* For kinds with positions (positions.h), any ROWS_... but ROWS_NUMBERS: the number of
     * positions of a cell; plots and colours call it the length. NULL: the kind has no positions.
     */
    size_t (*length)(const struct column *, size_t row);
    size_t (*longest)(const struct column *);
    /* True if position i of one row and of another of the same length are the same place: letters
     * and series have such an order, nodes of a graph have none. For kinds with positions. */
    bool (*ordered)(const void *state);
    /* The number of further parts that a position needs, by the word of `cols encoding=` or, when
     * an encoding is applied, by its state. NULL: 0. */
    size_t (*beyond)(const char *coding, const void *state);
    /* Fills the state: what is at a position, and the channels and symbols of the layer, whose norm
     * is there. */
    enum status (*fit_positions)(struct encoding_fitting *, struct enc_held *,
                                 const struct column *);
    /* Writes a row as windows and filters read it: row_layout.h. map: encode_group.map, or NULL for
     * a column of the training data. */
    void (*positions)(const struct enc_held *, const struct column *, const void *map, size_t row,
                      size_t room, double *x);

    /* Applying an encoding. Finds in the table's column, which is of this kind, what the columns of
     * the group read: group.map. STATE if it is not there. NULL: there is nothing to find. */
    enum status (*map)(const struct encoding *, struct encode_group *, struct err *);
    void (*unmap)(void *map); /* NULL is allowed */
    /* NULL: a cell is missing or present. */
    enum cell_state (*judge)(const struct encoding *, const struct encode_group *, size_t row);
    /* Writes the columns of the group for a row; x is the whole row. It is not called for windows
     * and filters. */
    void (*encode)(const struct encoding *, const struct encode_group *, size_t row, double *x,
                   size_t *cut);
    /* Counts rows that training could not distinguish (encoded.strange). NULL: there are none. */
    enum status (*count_strange)(const struct encoding *, const struct encode_group *,
                                 struct encoded *, struct err *);
    /* Writes a warning about the rows that were counted, and returns its name. */
    const char *(*tell_strange)(const struct strange_rows *, struct buf *);

    /* Storing the state, in the object "sequence" of an encoding. mark: the member by which this
     * kind is recognised in sessions written before kinds had names; NULL: "kind" names it. */
    const char *mark;
    const char *(*alphabet)(const void *state); /* a separate member; NULL: none */
    void (*write)(struct buf *, const struct enc_held *); /* writes further members ,"key":value */
    /* Reads one of them. *mine is false if it belongs to another kind. FORMAT. */
    enum status (*member)(struct json_reader *, const char *key, struct enc_held *, bool *mine);
    /* Completes a state that was read, with layer.symbols. Returns what is wrong with it, or NULL.
     * Then checks a column of numbers, about which nothing may be kept (NULL); no function: any
     * level is valid. */
    const char *(*check)(struct enc_held *);
    bool (*suits)(const struct enc_held *, const struct enc_col *);

    /* Describing. What an input of this kind is, for `open`. NULL: numbers and categories are
     * counted. */
    void (*words)(const struct column *, struct buf *);
    /* What its cells measure, for the view of the data. */
    void (*measure)(const struct column *, struct buf *);
    /* Lines of a file that are read as this kind: the name of a column, then different cells. The
     * tests of all kinds use it. */
    const char *example;
    /* How new data must be read to have such a column; NULL: no options are needed. */
    const char *reopen;

    /* Examining rows; NULL if the kind does not support it. */
    /* How often parts occur among at most `some` evenly spaced rows, for a plot: words of one
     * letter with their shares, at most KIND_SHARES_MOST. Returns their number; 0: lengths are more
     * informative. */
    size_t (*shares)(const struct column *, size_t rows, size_t some, char word[][2],
                     double *share);
    const struct distance_ops *distance; /* distance to the training rows, in parts (distance.h) */
    /* What can be changed in a cell, part by part. STATE if nothing can. */
    enum status (*variants)(const struct column *, size_t row, struct row_variants *, struct err *);
    /* The cell as it is, followed by one cell for each choice and position with that change, in an
     * empty column without a name. */
    enum status (*vary)(const struct column *, size_t row, const struct row_variants *,
                        struct column *to, struct err *);
};

/* One row for each kind, with the word by which types= asks for such a column (NULL: none; several
 * kinds may share one word, see `claims`). Kinds examine a column of words in this order. */
#define KIND_ROWS(X)            \
    X(kind_counts, "counts")    \
    X(kind_smiles, "smiles")    \
    X(kind_nodes, "sequence")   \
    X(kind_letters, "sequence") \
    X(kind_columns, NULL)

#define KIND_DECLARE(name, type) extern const struct row_kind name;
KIND_ROWS(KIND_DECLARE)
#undef KIND_DECLARE

const struct row_kind *kind_at(size_t i); /* NULL if i is past the end */
const struct row_kind *kind_find(const char *name); /* NULL if there is none */
const struct row_kind *kind_of(const struct column *);
/* Finds the number with this word among those of the kind. Returns false if there is none. */
bool kind_number_find(const struct row_kind *, const char *word, unsigned *number);
/* The types of columns, as in types=: real, category, text and those of kinds, each once, in this
 * order. NULL if i is past the end. */
const char *kind_type_at(size_t i);
const char *kind_type(const struct column *);
const char *kind_type_choices(void); /* "real|category|text|sequence" */

/* Converts the words of column j to this type, into a column without a name. */
enum status kind_make(const struct table *, size_t j, const char *type, struct column *to,
                      struct err *);
/* Converts the columns that are of some kind, or are declared so (types: "a=sequence,b=text"), and
 * notes each of them. */
enum status kind_find_columns(struct table *, const char *types, struct err *);
/* Apply the options of all kinds, in their order. */
enum status kind_gather(struct table **, const struct import_opts *, const struct ctl *,
                        struct err *);
enum status kind_finish(struct table *, const struct import_opts *, struct err *);
/* For notes of kinds: a warning if cells are missing; "24 letters each", "3 to 9 nodes". */
void kind_note_empty(const struct table *, const struct column *, const char *whole,
                     const char *part, struct buf *notes);
void kind_note_lengths(size_t shortest, size_t longest, const char *part, struct buf *out);

#endif
