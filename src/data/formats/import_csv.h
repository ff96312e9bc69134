/* data/formats/import_csv.h -- between the two halves of the CSV reader: import_csv_sniff.c decides
 * from a sample how to read, import_csv.c reads every row so and proves it. */
#ifndef GPDESK_IMPORT_CSV_H
#define GPDESK_IMPORT_CSV_H

#include "data/formats/csv_cell.h"
#include "data/formats/import.h"

enum csv_kind { KIND_REAL, KIND_CATEGORY, KIND_TEXT, KIND_DATE, KIND_EMPTY };

/* Lines that hold no record: counted, with the first three places. */
struct csv_skipped {
    size_t n, line[3];
};

/* How to read the file. */
struct csv_plan {
    char sep, dec;
    char thousands;         /* mark between each three digits; '\0': none */
    bool header, quotes, crlf, bom, leading_zeros;
    size_t ncols, rows;     /* rows: of data in the sample */
    double row_bytes;       /* mean length of a record of the sample */
    char **name;            /* ncols; NULL: to be made up */
    enum csv_kind *kind;    /* ncols */
    bool *forced;           /* by types= */
    char **mark;            /* what counts as missing, besides the empty cell */
    size_t nmark;
    bool marks_given;
    struct buf why;         /* why a header was seen or not */
};
void csv_plan_free(struct csv_plan *);
/* Looks at the first bytes of the file, which the window holds. */
enum status csv_sniff(struct inbuf *, const struct import_opts *, struct csv_plan *, struct err *);
bool csv_is_mark(const struct csv_plan *, const char *s, size_t len);
/* "column 3 'price'", cut short, safe to print. */
void csv_column_words(const struct csv_plan *, size_t col, char *out, size_t len);
/* What types= and other options take: the name where it is plain, else "#3". */
void csv_column_key(const struct csv_plan *, size_t col, char *out, size_t len);
/* Letters, digits, _ and . only: may stand in a hint as it is. */
bool csv_plain_word(const char *s, size_t len);
/* A cell for a message: cut short, safe to print, in quotes. */
void csv_cell_words(const char *s, size_t n, char *out, size_t len);

#endif
