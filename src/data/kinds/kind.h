/* data/kinds/kind.h -- kinds of rows: what the cells of a column can be, and how they are read,
 * kept, encoded, stored and put into words.  A kind is one file with one row; the list below names
 * it.  All that only one kind knows is behind pointers that nobody else looks through: the cells of
 * a column (column.held), what an encoding keeps of it (enc_held.state), and what is found out when
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

/* Numbers that an encoding makes of such cells (ENC_CELL), as sessions call them. */
struct kind_number {
    const char *word; /* "letter" */
    bool anew; /* far more room than the cells: made again whenever rows of many are asked for */
};

enum { KIND_SHARES_MOST = 64, KIND_CHOICES_MOST = 80 };
/* A cell with one part changed. */
struct row_variants {
    size_t positions, choices;
    char choice[KIND_CHOICES_MOST]; /* letters that may stand at a position, the last for none; */
    bool leaves_out;                /* or, as the one choice, the part is left out */
};

struct row_kind {
    const char *name;             /* "letters" */
    const char *whole, *part;     /* one cell and what it is made of: "sequence", "letter" */
    const char *several;          /* cells: "sequences" */
    const struct cell_ops *cells; /* of its columns; NULL: numbers and categories */
    unsigned rows;      /* ROWS_..., what kernels and layers can read of it (layer.h) */
    bool spelled;       /* a cell is a word that has a letter for each position */
    bool sole;          /* such a column is the only input until `cols` says otherwise */
    bool shorter_width; /* a kernel with a narrower window is the way out for rows too short */

    /* Reading. */
    const struct import_option *options; /* ends at .name == NULL; NULL: none */
    /* A kind whose columns are not made from words has NULL for all of these. */
    /* Is column j, of words, one of this kind, by its name and cells?  NULL: types= says so. */
    bool (*guess)(const struct table *, size_t j);
    /* Is column j, which is to be of this type, of this kind rather than of the next? */
    bool (*claims)(const struct table *, size_t j);
    /* Makes such a column from the words of column j, without a name.  FORMAT with the row. */
    enum status (*make)(const struct table *, size_t j, struct column *to, struct err *);
    /* The same of words in new data that were not taken for this kind; NULL: STATE. */
    enum status (*adopt)(const struct table *, size_t j, struct column *to, struct err *);
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
    const struct kind_number *numbers; /* these are, by enc_col.number; ends at .word == NULL */
    bool stateless; /* they are what they are without a state, too */
    /* May these cells be encoded as `cols encoding=WORD` says?  STATE, LIMIT, NOT_FOUND.  NULL:
     * there is no choice. */
    enum status (*coding)(const struct column *, const char *word, struct err *);
    /* What an encoding keeps of a column (enc_held.state): bytes, all zero at first; what they
     * point to.  0: nothing. */
    size_t state_bytes;
    void (*state_free)(void *state);
    enum status (*state_copy)(void *to, const void *from, struct err *);

    /* Kinds with positions (positions.h), ROWS_SYMBOLS or ROWS_VECTORS.  Positions of a cell, and
     * of the longest; also what plots and colours call the length of a cell.  NULL: it has none. */
    size_t (*length)(const struct column *, size_t row);
    size_t (*longest)(const struct column *);
    /* Parts that a position takes beyond its own, by the word of `cols encoding=` or, where an
     * encoding is applied, by its state; NULL: 0. */
    size_t (*beyond)(const char *coding, const void *state);
    /* Fills the state: what stands at a position, and f->e->held.layer's channels and symbols. */
    enum status (*fit_positions)(struct encoding_fitting *, const struct column *);
    /* Writes a row as windows and filters read it: source.h.  map: encode_group.map, or NULL for a
     * column of the training data. */
    void (*positions)(const struct enc_held *, const struct column *, const void *map, size_t row,
                      size_t room, double *x);

    /* Applying an encoding.  Finds in the table's column, which is of this kind, what the group's
     * columns read: group.map.  STATE: it is not there.  NULL: nothing is to be found. */
    enum status (*map)(const struct encoding *, struct encode_group *, struct err *);
    void (*unmap)(void *map); /* NULL is fine */
    /* NULL: missing or there. */
    enum cell_state (*judge)(const struct encoding *, const struct encode_group *, size_t row);
    /* The group's columns of a row, x being the whole row; not called for windows and filters. */
    void (*encode)(const struct encoding *, const struct encode_group *, size_t row, double *x,
                   size_t *cut);
    /* Counts rows that training could not tell apart (encoded.strange); NULL: there are none. */
    enum status (*count_strange)(const struct encoding *, const struct encode_group *,
                                 struct encoded *, struct err *);
    /* A warning about those that were counted, and its name. */
    const char *(*tell_strange)(const struct encoding *, const struct strange_rows *, struct buf *);

    /* Storage of the state, in the object "sequence" of an encoding.  mark: the member that tells
     * this kind from others in sessions written before kinds were named; NULL: "kind" names it. */
    const char *mark;
    const char *(*alphabet)(const void *state); /* a member of its own; NULL: it has none */
    void (*write)(struct buf *, const struct enc_held *); /* further members ,"key":value */
    /* Reads one of them; *mine false: it is none.  FORMAT. */
    enum status (*member)(struct json_reader *, const char *key, struct enc_held *, bool *mine);
    /* Completes a state that was read, with layer.symbols; what is wrong with it, NULL: nothing.
     * And may a column of numbers be so?  NULL: whatever its level. */
    const char *(*check)(struct enc_held *);
    bool (*suits)(const struct enc_held *, const struct enc_col *);

    /* Wording.  What an input of this kind is, as `open` tells it; NULL: numbers and categories are
     * counted. */
    void (*words)(const struct column *, struct buf *);
    /* What its cells measure, for the view of the data. */
    void (*measure)(const struct column *, struct buf *);
    /* Lines of a file that are read as this kind: the name of a column, then cells, each another;
     * for the tests of all kinds. */
    const char *example;
    const char *reopen; /* how new data are read so that they have such a column; NULL: by itself */

    /* Looking at rows; NULL: there is nothing of the kind. */
    /* How often parts occur among at most `some` of the rows, evenly spread, for a plot: words of
     * one letter and shares, KIND_SHARES_MOST at most; returns how many, 0: lengths say more. */
    size_t (*shares)(const struct column *, size_t rows, size_t some, char word[][2],
                     double *share);
    const struct distance_ops *distance; /* from the training rows, in parts (distance.h) */
    /* What can be changed in a cell, part by part; STATE: nothing. */
    enum status (*variants)(const struct column *, size_t row, struct row_variants *, struct err *);
    /* The cell as it is, and then for each choice the cell with each position in turn so changed,
     * into an empty column without a name. */
    enum status (*vary)(const struct column *, size_t row, const struct row_variants *,
                        struct column *to, struct err *);
};

/* One row for each kind, with the word by which types= asks for a column of it (NULL: none; several
 * kinds may have one word, see `claims`).  The order is the one in which they look at a column of
 * words. */
#define KIND_ROWS(X)            \
    X(kind_nodes, "sequence")   \
    X(kind_letters, "sequence") \
    X(kind_columns, NULL)

#define KIND_DECLARE(name, type) extern const struct row_kind name;
KIND_ROWS(KIND_DECLARE)
#undef KIND_DECLARE

const struct row_kind *kind_at(size_t i); /* NULL past the end */
const struct row_kind *kind_find(const char *name); /* NULL: there is none */
const struct row_kind *kind_of(const struct column *);
/* Which of its numbers has a word; false: none. */
bool kind_number_find(const struct row_kind *, const char *word, unsigned *number);
/* What cells of a column can be, as types= calls it: real, category, text and those of kinds, each
 * once, in this order; NULL past the end. */
const char *kind_type_at(size_t i);
const char *kind_type(const struct column *);
const char *kind_type_choices(void); /* "real|category|text|sequence" */

/* The words of column j as the type that types= calls so: into a column without a name. */
enum status kind_make(const struct table *, size_t j, const char *type, struct column *to,
                      struct err *);
/* Turns the columns that are of some kind, or said to be (types: "a=sequence,b=text"), into such,
 * and tells of each in the table's notes. */
enum status kind_find_columns(struct table *, const char *types, struct err *);
/* What the options of all kinds do, in their order. */
enum status kind_gather(struct table **, const struct import_opts *, const struct ctl *,
                        struct err *);
enum status kind_finish(struct table *, const struct import_opts *, struct err *);
/* For notes of kinds: a warning where cells are missing; "24 letters each", "3 to 9 nodes". */
void kind_note_empty(const struct table *, const struct column *, const char *whole,
                     const char *part, struct buf *notes);
void kind_note_lengths(size_t shortest, size_t longest, const char *part, struct buf *out);

#endif
