/* data/formats/import_csv.h -- the interface between the two halves of the CSV reader:
 * import_csv_sniff.c decides from a sample how to read the file; import_csv.c reads every row in
 * that way and checks it. */
#ifndef GPDESK_IMPORT_CSV_H
#define GPDESK_IMPORT_CSV_H

#include "data/formats/csv_cell.h"
#include "data/formats/import.h"

enum csv_kind { KIND_REAL, KIND_CATEGORY, KIND_TEXT, KIND_DATE, KIND_PERCENT, KIND_EMPTY };

/* Lines without a record: their number, and the first three of them. */
struct csv_skipped {
    size_t n, line[3];
};

/* How to read the file. */
struct csv_plan {
    char sep, dec;
    char thousands;         /* mark between groups of three digits; '\0': none */
    bool header, quotes, crlf, bom, leading_zeros;
    size_t ncols, rows;     /* rows: data rows in the sample */
    double row_bytes;       /* mean length of a record in the sample */
    char **name;            /* ncols names; NULL: they must be made up */
    enum csv_kind *kind;    /* ncols */
    bool *forced;           /* ncols; the type was given by types= */
    enum date_order *order; /* ncols; of dates */
    int dates;              /* an enum date_order that was given; -1: none */
    int unclear;            /* a column whose dates may have either order, from 1; 0: none */
    int marked;             /* a column of words such as 1,234, from 1; 0: none */
    char **mark;            /* the marks that count as missing, besides the empty cell */
    size_t nmark;
    bool marks_given;
    struct buf renamed;     /* names that got a number because they repeat another one */
    struct buf why;         /* why a header was recognised or not */
};
void csv_plan_free(struct csv_plan *);
/* Makes a plan from the first bytes of the file, which are in the window. Free it with
 * csv_plan_free. */
enum status csv_sniff(struct inbuf *, const struct import_opts *, struct csv_plan *, struct err *);
/* The index of a usual mark of missing cells ("NA"), for csv_usual_mark; negative: it is none. */
int csv_find_mark(const char *s, size_t len);
const char *csv_usual_mark(int i);
/* Reads lines of CSV, made from a file of another format: comma, a header, quotes. `in` gives the
 * name for messages. what: the decisions of the table. */
enum status import_csv_text(const struct inbuf *in, const struct buf *csv, const char *what,
                            const struct import_opts *, const struct ctl *, struct table *,
                            struct err *);
bool csv_is_mark(const struct csv_plan *, const char *s, size_t len);
/* For messages: "column 3 'price'", shortened, safe to print. */
void csv_column_words(const struct csv_plan *, size_t col, char *out, size_t len);
/* The column as types= and other options accept it: its name if that needs no quotes, otherwise
 * "#3". */
void csv_column_key(const struct csv_plan *, size_t col, char *out, size_t len);
/* True if the word has only letters, digits, _ and ., so that a hint can contain it unchanged. */
bool csv_plain_word(const char *s, size_t len);
/* A cell for a message: shortened, safe to print, in quotes. */
void csv_cell_words(const char *s, size_t n, char *out, size_t len);

#endif
