/* data/table.h -- a data table as read: immutable, shared by reference between jobs. */
#ifndef GPDESK_TABLE_H
#define GPDESK_TABLE_H

#include "data/mapped_array.h"
#include "base/buf.h"
#include "base/status.h"
#include "compute/ctl.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct column;
/* How a column of COL_HELD keeps its cells, which are neither numbers nor categories nor text:
 * `held` is known to its kind of rows alone (kinds/kind.h). */
struct cell_ops {
    /* The cell as a word, where the column keeps one; NULL: it is missing. */
    const char *(*word)(const struct column *, size_t row);
    /* Columns without words (word NULL): is the cell missing, and its text. */
    bool (*missing)(const struct column *, size_t row);
    void (*print)(const struct column *, size_t row, struct buf *out);
    /* What a cell holds beside its word, to tell it from others; NULL: nothing. */
    const void *(*beside)(const struct column *, size_t row, size_t *bytes);
    /* The same n cells in arrays of their own, into an empty column without a name. */
    enum status (*copy)(const struct column *, size_t n, struct column *to, struct err *);
    void (*free)(struct column *);                    /* held, which may be NULL */
    size_t (*bytes)(const struct column *, size_t n); /* that n cells occupy */
    size_t (*row_bytes)(const struct column *);       /* that a row brings, about */
    bool (*is_out)(const struct column *);            /* on disk (spill.h)?  NULL: never */
    size_t (*alike)(const struct column *); /* letters with which all words begin; NULL: none */
    size_t (*line)(const struct column *, size_t row); /* of the file; NULL or 0: not known */
};

enum col_type { COL_REAL, COL_CATEGORY, COL_TEXT, COL_HELD };
struct column {
    char *name;           /* UTF-8, may hold any legal byte; show through text_safe */
    enum col_type type;
    double *v;            /* COL_REAL: n values, NaN where missing; NULL: they are in their file, */
    struct mapped_array *in;   /* here: read them through column_at */
    size_t incol;
    uint32_t *code;       /* COL_CATEGORY: index into level, UINT32_MAX where missing */
    char **level; size_t nlevels;
    char **text;          /* COL_TEXT: n strings, NULL where missing */
    char *arena;          /* the bytes of level[] or text[] */
    void *held;           /* COL_HELD: what its kind of rows keeps, */
    const struct cell_ops *cells; /* and how */
    size_t missing;
    bool integers;        /* real: every value is a whole number */
    bool date;            /* real: ISO 8601 dates, as decimal years */
    bool named;           /* false: the file gave no name, "x3" was made up */
};
static inline double column_at(const struct column *c, size_t row)
{
    return c->v != NULL ? c->v[row] : mapped_array_at(c->in, c->incol, row);
}
/* The cell of a column of text, of categories or of a kind that keeps words; NULL where it is
 * missing, and of all others. */
static inline const char *column_word(const struct column *c, size_t row)
{
    if (c->type == COL_HELD)
        return c->cells->word != NULL ? c->cells->word(c, row) : NULL;
    if (c->type == COL_CATEGORY)
        return c->code[row] == UINT32_MAX ? NULL : c->level[c->code[row]];
    return c->type == COL_TEXT ? c->text[row] : NULL;
}
static inline bool column_missing(const struct column *c, size_t row)
{
    if (c->type == COL_HELD && c->cells->missing != NULL)
        return c->cells->missing(c, row);
    return c->type == COL_REAL ? isnan(column_at(c, row)) : column_word(c, row) == NULL;
}
/* The cell of any column but one of numbers as text, which the column keeps or which is made in
 * `room`; NULL where it is missing. */
const char *table_column_text(const struct column *, size_t row, struct buf *room);
/* What tells the cell from others in as few columns as `width`: of words that begin alike, the
 * letters from shortly before the first difference on, behind ".." (into out). */
const char *table_column_glance(const struct column *, size_t row, size_t width, struct buf *out);
struct table {
    int refs;             /* atomic */
    char *path;           /* absolute; "demo:co2 n=.." for generated; "-" for stdin */
    uint64_t file_size;   /* bytes on disk */
    char checksum[72];    /* "crc32:..." / "xxh..." of the bytes as stored on disk; "" for stdin */
    size_t n, ncols;
    struct column *col;
    size_t missing;       /* cells */
    int64_t duplicates;   /* repeated whole rows; -1: not counted exactly */
    size_t targets;       /* the last so many columns were read as targets; 0: not known */
    size_t depth; /* numbers of a node, where the file has three dimensions and nodes_fold is to
                     come */
    bool parsed;          /* from text: worth keeping */
    size_t cuts;          /* spill_cut() when it was made */
    double seconds;       /* to read */
    char *decisions;      /* one line: "comma, header (line 1 ...), no quotes, ... UTF-8" */
    char *notes;          /* lines "note[name]: text" or "warning[name]: text"; may be "" */
};
struct table *table_ref(struct table *);
void table_unref(struct table *);
/* While it is made. */
struct table *table_new(const char *path, size_t ncols, struct err *);
/* Sums over the columns; counts repeated rows. */
enum status table_finish(struct table *, const struct ctl *, struct err *);
void table_column_clear(struct column *);
/* Words become text: the levels of nearly unique words are no categories. */
enum status table_column_to_text(struct column *, size_t n, struct err *);
/* Lines "note[..]: .." after those that a table has. */
enum status table_add_notes(struct table *, const struct buf *, struct err *);
size_t table_find(const struct table *, const char *name); /* SIZE_MAX when absent */
/* The cell as text for people and for matching levels: numbers with the fewest digits that read
 * back, "" when missing. */
void table_cell(const struct table *, size_t row, size_t col, struct buf *out);
/* "row 4 ('d', line 7)": a row as people find it again, by the first column of text and by the line
 * on which the cell of c begins. */
void table_where(const struct table *, const struct column *c, size_t row, struct buf *out);
/* Rows that equal an earlier one in the chosen columns (use NULL: all); exact. With parts (one of
 * 0, 1, 2 for each row): *shared rows of part 2 equal a row of part 0. */
enum status table_repeats(const struct table *, const bool *use, const uint8_t *part,
                          const struct ctl *, int64_t *repeated, int64_t *shared, struct err *);
/* Bytes that the table occupies. */
size_t table_bytes(const struct table *);
/* Some of its columns lie on disk (spill.h): whoever reads many cells calls spill_used. */
bool table_is_out(const struct table *);
/* Are the files of columns that are read in place what they were?  IO "changed". */
enum status table_check(const struct table *, size_t first_row, size_t last_row, struct err *err);

/* The value of an option that only one format has (import_option.h). */
struct import_own { const char *name, *value; };
enum { IMPORT_OWN_MOST = 8 };
/* How to read; zero / NULL / 0 (header: -1): guess and say so. */
struct import_opts {
    char sep;                  /* ',' '\t' ';' ... */
    int header;                /* -1 guess, 0 no, 1 yes */
    const char *missing;       /* "NA,?,-": comma separated marks on top of the empty cell */
    char decimal;              /* '.' or ',' */
    char thousands; /* mark between each three digits; '\0': as the cells tell, or none */
    const char *types;         /* "x7=category,zip=text,#3=real": by name or number of the column;
                                * real, category, text, date, or a kind's (kind.h) */
    const char *target;        /* an NPY file or files with the targets of the rows; or, in an HDF5
                                * file, a dataset */
    const char *inputs;        /* HDF5: the dataset of the inputs */
    const char *
        targets; /* FASTA, graphs: a table file with more columns for the records, by their names */
    const char *graph;         /* rows are nodes: the column that says of which graph (nodes.h) */
    const char *describe;      /* of atoms: how they are described */
    const char
        *lengths; /* of an array of three dimensions: an NPY file with the nodes of each row */
    const char *window; /* "column:12": its values in the 12 rows before each, as one more column */
    /* Records that are not as they should be; NULL: the first of each. */
    const char *unknown; /* sequences with letters outside the alphabet: keep, missing, stop */
    const char
        *twice; /* names that repeat, in targets=: stop, first, mean (records take the row of their
                 * name, which is told; with stop they stop, with first later ones get none) */
    const char
        *unmatched; /* records without a row of targets=, and rows without a record: tell, stop */
    struct import_own own[IMPORT_OWN_MOST]; /* up to the first without a name */
    size_t mem_limit;          /* bytes for the table; 0: what the machine has */
};
/* Reads CSV/TSV/semicolon (plain, .gz, .zst; "-": stdin), NPY or HDF5, told apart by content; or
 * many NPY files (npy_set.h): a directory, a pattern, a list. Errors name file, line, column, cell
 * and a way out; on failure nothing is kept.  Statuses: IO and FORMAT (the file), USAGE (the
 * options), NOMEM, CANCELLED.  opts NULL: all guessed. */
enum status import_file(const char *path, const struct import_opts *, const struct ctl *,
                        struct table **out, struct err *);
/* Generated and bundled data: co2, robot, friedman1, draw, toy.  n 0, noise < 0, kernel NULL: the
 * default; opts NULL: all of them.  noise: standard deviation in units of the target. */
/* xy: of demo points, "1:2,3:4". */
struct demo_opts { size_t n; uint64_t seed; const char *kernel; double noise; const char *xy; };
struct demo { const char *name, *summary; };
const struct demo *demo_at(size_t i);
enum status demo_make(const char *name, const struct demo_opts *, struct table **out,
                      struct err *);

#endif
