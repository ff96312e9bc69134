/* data/table.h -- a data table as it was read: immutable, with counted references shared by
 * jobs. */
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
/* How a column of COL_HELD keeps its cells, which are neither numbers nor categories nor text. Only
 * its kind of rows knows `held` (kinds/kind.h). */
struct cell_ops {
    /* The cell as a word, if the column keeps one; NULL: it is missing. */
    const char *(*word)(const struct column *, size_t row);
    /* For columns without words (word is NULL): whether the cell is missing, and its text. */
    bool (*missing)(const struct column *, size_t row);
    void (*print)(const struct column *, size_t row, struct buf *out);
    /* What a cell holds besides its word, for comparisons; NULL: nothing. */
    const void *(*beside)(const struct column *, size_t row, size_t *bytes);
    /* Copies the cells of n rows into an empty column without a name; NULL: they are made again
     * from their words. */
    enum status (*take)(const struct column *, const size_t *row, size_t n, struct column *to,
                        struct err *);
    /* Copies n cells into arrays of their own, into an empty column without a name. */
    enum status (*copy)(const struct column *, size_t n, struct column *to, struct err *);
    void (*free)(struct column *);                    /* frees held, which may be NULL */
    size_t (*bytes)(const struct column *, size_t n); /* bytes that n cells occupy */
    /* Bytes that one row brings into memory, approximately. */
    size_t (*row_bytes)(const struct column *);
    bool (*is_out)(const struct column *);      /* whether it is on disk (spill.h); NULL: never */
    /* Number of letters with which all words begin; NULL: none. */
    size_t (*alike)(const struct column *);
    size_t (*line)(const struct column *, size_t row); /* line of the file; NULL or 0: unknown */
};

enum col_type { COL_REAL, COL_CATEGORY, COL_TEXT, COL_HELD };
struct column {
    char *name;           /* UTF-8 with any legal byte; show it through text_safe */
    enum col_type type;
    double *v;            /* COL_REAL: n values, NaN if missing; NULL: they are in their file, */
    struct mapped_array *in;   /* which is this one: read them through column_at */
    size_t incol;
    uint32_t *code;       /* COL_CATEGORY: index into level, UINT32_MAX if missing */
    char **level; size_t nlevels;
    char **text;          /* COL_TEXT: n strings, NULL if missing */
    char *arena;          /* storage of level[] or text[] */
    void *held;           /* COL_HELD: what its kind of rows keeps, */
    const struct cell_ops *cells; /* and its operations */
    size_t missing;
    bool integers;        /* COL_REAL: every value is a whole number */
    bool date;            /* COL_REAL: ISO 8601 dates as decimal years */
    bool named;           /* false: the file has no name for it, and "x3" was made up */
    bool lent;            /* its arrays belong to table.base */
};
static inline double column_at(const struct column *c, size_t row)
{
    return c->v != NULL ? c->v[row] : mapped_array_at(c->in, c->incol, row);
}
/* The cell of a column of text, of categories or of a kind that keeps words; NULL if it is missing,
 * and for all other columns. */
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
/* The cell of any column but a numeric one as text, which the column keeps or which is made in
 * `room`; NULL if it is missing. */
const char *table_column_text(const struct column *, size_t row, struct buf *room);
/* A cell in at most `width` columns, so that it can be distinguished from others: if all words
 * begin alike, the letters from shortly before the first difference on, after ".." (in out). */
const char *table_column_glance(const struct column *, size_t row, size_t width, struct buf *out);
struct table {
    int refs;             /* atomic reference count */
    char *path;           /* absolute; "demo:co2 n=.." if generated; "-" for standard input */
    uint64_t file_size;   /* size on disk */
    char checksum[72];    /* "crc32:..." or "xxh..." of the bytes on disk; "" for standard input */
    size_t n, ncols;
    struct column *col;
    size_t missing;       /* number of missing cells */
    int64_t duplicates;   /* number of rows that repeat another; -1: not counted exactly */
    size_t targets;       /* the last columns, this many, were read as targets; 0: unknown */
    /* Numbers of a node, if the file has three dimensions and nodes_fold has not run yet. */
    size_t depth;
    bool parsed;          /* read from text, so worth caching */
    char *kept;           /* where the cache keeps its columns (cache.h); NULL: nowhere */
    size_t first_line;    /* of the file, of row 1, if each row is one line; 0: unknown */
    size_t cuts;          /* spill_cut() when it was made */
    double seconds;       /* seconds to read it */
    char *decisions;      /* one line: "comma, header (line 1 ...), no quotes, ... UTF-8" */
    char *notes;          /* lines "note[name]: text" or "warning[name]: text"; may be "" */
    struct table *base;   /* from which columns are lent, or strings of columns; NULL: none */
};
struct table *table_ref(struct table *);
void table_unref(struct table *);
/* A table with all columns of `base`, lent by it, and room for `more` columns behind them. Its
 * decisions, notes and origin are copied. */
struct table *table_derive(struct table *base, size_t more, struct err *err);
/* For making a table. */
struct table *table_new(const char *path, size_t ncols, struct err *);
/* Computes sums over the columns and counts repeated rows. */
enum status table_finish(struct table *, const struct ctl *, struct err *);
void table_column_clear(struct column *);
/* Converts words to text: levels of nearly unique words are no categories. */
enum status table_column_to_text(struct column *, size_t n, struct err *);
/* Appends lines "note[..]: .." to the notes of a table. */
enum status table_add_notes(struct table *, const struct buf *, struct err *);
size_t table_find(const struct table *, const char *name); /* SIZE_MAX if there is none */
/* The cell as text for people and for matching levels: numbers with the fewest digits that read
 * back to the same value; "" if missing. */
void table_cell(const struct table *, size_t row, size_t col, struct buf *out);
/* "row 4 ('d', line 7)": how to find a row again, by the first column of text and by the line on
 * which the cell of c begins. */
void table_where(const struct table *, const struct column *c, size_t row, struct buf *out);
/* Counts exactly the rows that equal an earlier one in the chosen columns (use NULL: all). With
 * parts (0, 1 or 2 for each row), *shared is the number of rows of part 2 that equal a row of part
 * 0. */
enum status table_repeats(const struct table *, const bool *use, const uint8_t *part,
                          const struct ctl *, int64_t *repeated, int64_t *shared, struct err *);
/* The bytes that the table occupies in memory. */
size_t table_bytes(const struct table *);
/* True if some of its columns are on disk (spill.h): code that reads many cells must then call
 * spill_used. */
bool table_is_out(const struct table *);
/* Checks that the files of columns that are read in place have not changed. IO "changed". */
enum status table_check(const struct table *, size_t first_row, size_t last_row, struct err *err);

/* The value of an option that only one format has (import_option.h). */
struct import_own { const char *name, *value; };
enum { IMPORT_OWN_MOST = 8 };
/* How to read a file. Zero, NULL or 0 (header: -1) means: guess, and report the decision. */
struct import_opts {
    char sep;                  /* ',' '\t' ';' ... */
    size_t skiplines;          /* lines of text before the table */
    int header;                /* -1: guess; 0: no; 1: yes */
    const char *missing;       /* "NA,?,-": marks separated by commas, besides the empty cell */
    char decimal;              /* '.' or ',' */
    char thousands; /* mark between groups of three digits; '\0': guessed from the cells */
    const char *dates; /* order of the parts of dates: ymd, dmy, mdy; NULL: guessed */
    /* "x7=category,zip=text,#3=real": by name or number of the column; real, category, text, date,
     * or a type of a kind (kind.h). */
    const char *types;
    /* An NPY file or files with the targets of the rows; for an HDF5 file, a dataset. */
    const char *target;
    const char *table;         /* SQLite: the table */
    const char *inputs;        /* HDF5: the dataset of the inputs */
    /* FASTA, graphs: a table file with further columns for the records, matched by name. */
    const char *targets;
    const char *beside; /* a table file of as many rows, whose columns are appended */
    const char *graph;      /* rows are nodes: the column that names the graph of each (nodes.h) */
    const char *describe;      /* how atoms are described */
    /* For an array of three dimensions: an NPY file with the number of nodes of each row. */
    const char *lengths;
    const char *smiles; /* the column of SMILES; NULL: the one called so (molecules/smiles.h) */
    const char *fingerprint; /* how their counts are made (molecules/fingerprint.h); NULL: not */
    int descriptors;    /* 1: columns with descriptors of the molecules are added */
    const char *invalid; /* molecules that cannot be read: missing (the same as NULL), stop */
    const char *window; /* "column:12": adds a column with its values in the 12 rows before each */
    /* What to do about irregular records. NULL: the first of each list. */
    const char *unknown; /* sequences with letters outside the alphabet: keep, missing, stop */
    /* Repeated names in targets=: stop, first, mean. Records take the row of their name, which is
     * reported; with stop they are an error, with first later ones get none. */
    const char *twice;
    /* Records without a row of targets=, and rows without a record: tell, stop. */
    const char *unmatched;
    struct import_own own[IMPORT_OWN_MOST]; /* up to the first without a name */
    size_t mem_limit;          /* limit of bytes for the table; 0: what the machine has */
};
/* Reads CSV, TSV or semicolons (plain, .gz, .zst; "-": standard input), NPY or HDF5, recognised by
 * content; or many NPY files (npy_set.h): a directory, a pattern, a list. Errors name file, line,
 * column and cell, and say what to do; on failure nothing is kept. Statuses: IO and FORMAT (the
 * file), USAGE (the options), NOMEM, CANCELLED. opts NULL: everything is guessed. */
enum status import_file(const char *path, const struct import_opts *, const struct ctl *,
                        struct table **out, struct err *);
/* Makes generated and bundled data: co2, robot, friedman1, draw, toy. n 0, noise < 0, kernel NULL:
 * the default; opts NULL: all defaults. noise: standard deviation in units of the target. */
/* xy: for demo points, "1:2,3:4". */
struct demo_opts { size_t n; uint64_t seed; const char *kernel; double noise; const char *xy; };
struct demo { const char *name, *summary; };
const struct demo *demo_at(size_t i);
enum status demo_make(const char *name, const struct demo_opts *, struct table **out,
                      struct err *);

#endif
